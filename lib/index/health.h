/* The health of an index, from the outcome of its writes: can it take uploads? */
#ifndef CAIRN_INDEX_HEALTH_H
#define CAIRN_INDEX_HEALTH_H

#include "index/index.h"

enum { CAIRN_HEALTH_HOLD_MS = 10000 };

/** Under its owner's lock. Zeroed: healthy. */
struct cairn_health {
	enum cairn_status status; /* of the last write that the engine refused; CAIRN_OK: none was, or it is over */
	bool damaged;             /* stays true, even if other writes succeed */
	int64_t failed_ms;
	struct cairn_diag diag;
};

/** Records the outcome of a batch. A failure of disk or engine is reported from then on. A full or failing disk is over
 * once an upload succeeds. A probe is too small to show that, so it counts only after CAIRN_HEALTH_HOLD_MS without a
 * failure. Any successful write ends the failure of a silent engine. A damaged index stays damaged until it is opened
 * again. */
void cairn_health_note(struct cairn_health *h, const struct cairn_index_write *batch, int64_t now_ms);

/** Marks the index as damaged, after a check found it so. */
void cairn_health_condemn(struct cairn_health *h, const struct cairn_diag *diag);

#endif
