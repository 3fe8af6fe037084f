/* What the manager of services (systemd) is told: datagrams to the socket that NOTIFY_SOCKET names, as sd_notify(3) has
 * it, and without its library. Where nobody asks for it, all of this does nothing. */
#ifndef CAIRN_SERVER_SERVICE_H
#define CAIRN_SERVER_SERVICE_H

#include "base/status.h"

#include <stdint.h>

/** Connect to the socket of NOTIFY_SOCKET, and read WATCHDOG_USEC and WATCHDOG_PID. Before the sandbox, which lets
 * nobody connect. One that cannot be reached is logged. */
void service_open(void);
void service_close(void);

/** It serves; also at the end of a reload. @param status  what to show of it, without a line's end */
void service_ready(const char *status);
/** The settings are being read again; service_ready() follows. */
void service_reloading(void);
/** It ends, within this time: longer than the manager's own is granted. The watchdog is not fed any more. */
void service_stopping(uint64_t within_s);
/** Feed the watchdog. */
void service_feed(void);

/** After how long without being fed the watchdog bites; 0: there is none. */
uint64_t service_watchdog_us(void);

#endif
