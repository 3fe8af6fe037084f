/* Caches the figures of disk usage in memory. Computing takes seconds; after a restart the first request does it. */
#ifndef CAIRN_SERVER_HUB_USAGE_H
#define CAIRN_SERVER_HUB_USAGE_H

#include "hub/usage.h"
#include "server/app.h"

/** The cached figures of a daemon. Any thread. */
struct hub_usage;

/** @return NULL without memory */
struct hub_usage *hub_usage_new(void);
/** Frees the cache. All held figures must have been released. */
void hub_usage_free(struct hub_usage *usage);

/** Takes a reference to the newest figures. @return NULL: none yet; else valid until hub_usage_release() */
const struct cairn_usage *hub_usage_hold(struct hub_usage *usage);
void hub_usage_release(struct hub_usage *usage, const struct cairn_usage *figures);

/** Computes the figures anew, on this thread; one computation at a time.
 *  @return as cairn_usage_compute(); CAIRN_E_BUSY: a computation is already running (usage.running) */
CAIRN_MUST_USE enum cairn_status hub_usage_compute(struct app *app, struct cairn_diag *diag);

/** Submits a computation of the figures to a worker. */
void hub_usage_refresh(struct app *app);

#endif
