/* Readiness: can uploads be taken now? The check writes to the disk, so all who ask within a second share one check. */
#ifndef CAIRN_SERVER_READY_H
#define CAIRN_SERVER_READY_H

#include "base/status.h"

#include <stdbool.h>

struct app;

/** Returns the last result, if it is fresh or a check is under way. Any thread; never waits. @return false: unknown */
bool ready_cached(struct app *app, enum cairn_status *status, struct cairn_diag *diag);

/** Combines the last answer of /ready, if it is at most five minutes old, with the health of the index as known in
 * memory. For the metrics, which write nothing. @return false: uploads cannot be taken */
bool ready_last_answer(struct app *app);

/** Returns the result of ready_cached(), or else checks. Call on a worker. @return as cairn_cas_ready() */
CAIRN_MUST_USE enum cairn_status ready_check(struct app *app, struct cairn_diag *diag);

#endif
