/* What failed writes say of an index: can uploads be taken? */
#ifndef CAIRN_INDEX_HEALTH_H
#define CAIRN_INDEX_HEALTH_H

#include "index/index.h"

enum { CAIRN_HEALTH_HOLD_MS = 10000 };

/** Under its owner's lock. Zeroed is well. */
struct cairn_health {
	enum cairn_status status; /* of the last write that the engine refused; CAIRN_OK: none did, or it is over */
	bool damaged;             /* what is damaged stays so, whatever else can still be written */
	int64_t failed_ms;
	struct cairn_diag diag;
};

/**
 * Take note of a batch that is done. A failure of disk or engine is told from then on. A full or failing disk is over
 * when an upload could be written again; a probe is too small to show that, and counts only when nothing has failed for
 * CAIRN_HEALTH_HOLD_MS. An engine that was silent is back with any write. A damaged index stays damaged until it is
 * opened anew.
 */
void cairn_health_note(struct cairn_health *h, const struct cairn_index_write *batch, int64_t now_ms);

/** Found damaged by somebody who looked. */
void cairn_health_condemn(struct cairn_health *h, const struct cairn_diag *diag);

#endif
