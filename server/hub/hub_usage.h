/* The last figures of what fills the disk. In memory: they are computed anew in seconds, and after a restart by the
 * first who asks. */
#ifndef CAIRN_SERVER_HUB_USAGE_H
#define CAIRN_SERVER_HUB_USAGE_H

#include "hub/usage.h"
#include "server/app.h"

/** Of a daemon. Any thread. */
struct hub_usage;

/** @return NULL without memory */
struct hub_usage *hub_usage_new(void);
/** All that was held must be given back. */
void hub_usage_free(struct hub_usage *usage);

/** Hold the last figures. @return NULL: there are none yet; else until hub_usage_release() */
const struct cairn_usage *hub_usage_hold(struct hub_usage *usage);
void hub_usage_release(struct hub_usage *usage, const struct cairn_usage *figures);

/** Compute them anew, on this thread; one at a time.
 *  @return as cairn_usage_compute(); CAIRN_E_BUSY somebody else does already (usage.running) */
CAIRN_MUST_USE enum cairn_status hub_usage_compute(struct app *app, struct cairn_diag *diag);

/** Have them computed soon, by a worker: a collection has ended. */
void hub_usage_refresh(struct app *app);

#endif
