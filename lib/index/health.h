/* The health of an index, derived from the outcome of its writes: can it accept uploads? */
#ifndef CAIRN_INDEX_HEALTH_H
#define CAIRN_INDEX_HEALTH_H

#include "index/index.h"

enum { CAIRN_HEALTH_HOLD_MS = 10000 };

/** Guarded by its owner's lock. Zeroed: healthy. */
struct cairn_health {
	/* status of the last write that the engine refused; CAIRN_OK: none, or the failure is over */
	enum cairn_status status;
	bool damaged; /* stays true, even if other writes succeed */
	int64_t failed_ms;
	struct cairn_diag diag;
};

/** Records the outcome of a batch. A failure of disk or engine is reported from then on. A full or failing disk is over
 * when an upload succeeds. A probe is too small to show that, so it counts only after CAIRN_HEALTH_HOLD_MS without a
 * failure. Any success ends the failure of a silent engine. A damaged index stays damaged until it is opened again. */
void cairn_health_note(struct cairn_health *h, const struct cairn_index_write *batch, int64_t now_ms);

/** Marks the index as damaged, because a check found damage. */
void cairn_health_condemn(struct cairn_health *h, const struct cairn_diag *diag);

#endif
