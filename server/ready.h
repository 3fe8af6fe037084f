/* Whether uploads can be taken now: one check for all who ask within a second, since it writes to the disk. */
#ifndef CAIRN_SERVER_READY_H
#define CAIRN_SERVER_READY_H

#include "base/status.h"

#include <stdbool.h>

struct app;

/** What the last check found, if that was just now, or if the next one is under way. Any thread; waits for nothing.
 *  @return false: that is not known */
bool ready_known(struct app *app, enum cairn_status *status, struct cairn_diag *diag);

/** The same, or else check; for workers. @return as cairn_cas_ready() */
CAIRN_MUST_USE enum cairn_status ready_check(struct app *app, struct cairn_diag *diag);

#endif
