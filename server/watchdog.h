/* Feeds the service manager's watchdog (service.h) while requests are served. Each quarter of its timeout, a thread
 * sends each server thread a request as a client would, and gives the workers a trivial task. If one does not answer,
 * it is logged, and the watchdog is not fed. */
#ifndef CAIRN_SERVER_WATCHDOG_H
#define CAIRN_SERVER_WATCHDOG_H

#include "base/status.h"

#include <stdint.h>

/** The thread that checks whether the service answers. */
struct watchdog;

struct watchdog_options {
	uint64_t bites_us; /* the watchdog's timeout */
	/** @param timeout_ms  for each question. @return NULL: all answered; else the name of the part that did not */
	const char *(*silent)(void *ctx, unsigned timeout_ms);
	void (*feed)(void);
	void *ctx;
};

/** Starts the thread. Signals must be blocked and privileges dropped. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status watchdog_start(struct watchdog **out, const struct watchdog_options *options);

/** Ends the thread, and waits for it. NULL is harmless. */
void watchdog_stop(struct watchdog *w);

#endif
