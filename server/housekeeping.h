/* Housekeeping: one thread for what the daemon does by itself, a piece at a time, so that no two of these jobs are at
 * the disk at once. */
#ifndef CAIRN_SERVER_HOUSEKEEPING_H
#define CAIRN_SERVER_HOUSEKEEPING_H

#include "base/status.h"

struct app;

/** The thread. */
struct housekeeping;

/** Begin; app->rest is its rest. Signals must be blocked, and app->cas be open until the end. @return CAIRN_OK;
 * CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status housekeeping_start(struct housekeeping **out, struct app *app);

/** Wait until it has ended, and free it; rest_end() tells it to before. NULL is harmless. */
void housekeeping_stop(struct housekeeping *h);

#endif
