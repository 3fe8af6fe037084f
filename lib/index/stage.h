/* Writes in several transactions, so that others get in between. Nobody sees them before the last one shows them. */
#ifndef CAIRN_INDEX_STAGE_H
#define CAIRN_INDEX_STAGE_H

#include "index/hub/history.h"

/** Begins the state of a write in several transactions. An engine makes it while it applies the write for the first
 * time, and the writer then applies the write again and again, each time in another transaction. On the writer's thread
 * alone. */
struct cairn_index_stage {
	/* The engine's: the write ends with the transaction at hand. */
	bool done;
	/* The engine's, or the writer's when a transaction failed: what was written is removed, and the write then ends
	 * with this status. */
	bool undoes;
	enum cairn_status status;
	struct cairn_diag diag;
	/* The engine's: a piece was begun. The writer sets it to false when the piece's transaction has ended. */
	bool in_try;
	/* The writer's: a transaction was committed, so there may be something to remove. */
	bool is_kept;
	/** Frees the state, and changes nothing in the index. */
	void (*free)(struct cairn_index_stage *stage);
};

#endif
