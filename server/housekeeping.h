/* Housekeeping: one thread runs the daemon's own jobs piece by piece, so that no two of them use the disk at once. */
#ifndef CAIRN_SERVER_HOUSEKEEPING_H
#define CAIRN_SERVER_HOUSEKEEPING_H

#include "base/status.h"

struct app;

/** The thread of housekeeping. */
struct housekeeping;

/** Starts the thread, which waits on app->rest. Signals must be blocked, and app->cas must stay open until the end.
 * @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status housekeeping_start(struct housekeeping **out, struct app *app);

/** Waits until the thread has ended, and frees it. Call rest_end() first. NULL is harmless. */
void housekeeping_stop(struct housekeeping *h);

#endif
