/* Whether uploads can be taken now: one check for all who ask within a second, since it writes to the disk. */
#ifndef CAIRN_SERVER_READY_H
#define CAIRN_SERVER_READY_H

#include "base/status.h"

#include <stdbool.h>

struct app;

/** What the last check found, if that was just now, or if the next one is under way. Any thread; waits for nothing.
 *  @return false: that is not known */
bool ready_known(struct app *app, enum cairn_status *status, struct cairn_diag *diag);

/** What /ready last said, if that was within five minutes, and what is known of the index from memory: for the metrics,
 *  which write nothing. @return false: uploads cannot be taken */
bool ready_told(struct app *app);

/** As ready_known(), or else check; for workers. @return as cairn_cas_ready() */
CAIRN_MUST_USE enum cairn_status ready_check(struct app *app, struct cairn_diag *diag);

#endif
