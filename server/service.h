/* Notifies the service manager (systemd): sends the datagrams of sd_notify(3) to the socket in NOTIFY_SOCKET, without
 * the library. Without NOTIFY_SOCKET all functions do nothing. */
#ifndef CAIRN_SERVER_SERVICE_H
#define CAIRN_SERVER_SERVICE_H

#include <stdint.h>

/** Connects to the socket of NOTIFY_SOCKET, and reads WATCHDOG_USEC and WATCHDOG_PID. Call before the sandbox, which
 * forbids connecting. Logs a failure to connect. */
void service_open(void);
void service_close(void);

/** Reports that the daemon serves, or that a reload has ended. @param status  text to show, without a newline */
void service_ready(const char *status);
/** Reports that the settings are being reloaded; service_ready() follows. */
void service_reloading(void);
/** Reports that the daemon ends within this time, whatever the manager allows. Stops feeding the watchdog. */
void service_stopping(uint64_t within_s);
/** Feeds the watchdog. */
void service_feed(void);

/** Returns the watchdog's timeout; 0: there is no watchdog. */
uint64_t service_watchdog_us(void);

#endif
