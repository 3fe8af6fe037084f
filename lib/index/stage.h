/* Writes in several transactions, so other writes run in between. Their rows are invisible until the last. */
#ifndef CAIRN_INDEX_STAGE_H
#define CAIRN_INDEX_STAGE_H

#include "index/hub/history.h"

/** The head of the state of a write in several transactions. The engine makes it when it first applies the write. The
 * writer then applies the write repeatedly, each time in another transaction. Only the writer's thread uses it. */
struct cairn_index_stage {
	/* Set by the engine: the write ends with the current transaction. */
	bool done;
	/* Set by the engine, or by the writer after a failed transaction: the rows written are removed, and the write
	 * then ends with this status. */
	bool undoes;
	enum cairn_status status;
	struct cairn_diag diag;
	/* Set by the engine: a piece was begun. The writer clears it when the piece's transaction has ended. */
	bool in_try;
	/* Set by the writer: a transaction was committed, so there may be rows to remove. */
	bool is_kept;
	/** Frees the state, and changes nothing in the index. */
	void (*free)(struct cairn_index_stage *stage);
};

#endif
