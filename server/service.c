#include "server/service.h"

#include "base/clock.h"
#include "base/decimal.h"
#include "base/fd.h"
#include "base/sys.h"
#include "server/log/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { SERVICE_TEXT_BYTES = 512 };

/* The socket of the service manager; -1: there is none. */
static int service_fd = -1;
static uint64_t service_watchdog;

/* Parses a variable of digits only, within range. */
static uint64_t service_number(const char *name)
{
	const char *text = getenv(name);
	uint64_t n = 0;
	if (text)
		(void)cairn_decimal_parse(text, 0, INT64_MAX, &n);
	return n;
}

static void service_read_watchdog(void)
{
	uint64_t pid = service_number("WATCHDOG_PID");
	service_watchdog = getenv("WATCHDOG_PID") && pid != (uint64_t)getpid() ? 0 : service_number("WATCHDOG_USEC");
}

/* Connects to a path or an abstract socket ("@name"). @return an errno */
static int service_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	if ((path[0] != '/' && path[0] != '@') || len < 2 || len >= sizeof(address.sun_path))
		return EINVAL;
	memcpy(address.sun_path, path, len);
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	CLEANUP(cairn_fd_closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t used = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (path[0] == '/'));
	if (fd < 0 || cairn_sys_connect(fd, (const struct sockaddr *)&address, used) != 0)
		return errno;
	service_fd = fd;
	fd = -1;
	return 0;
}

void service_open(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	if (!path || !*path)
		return;
	int error = service_connect(path);
	if (error == 0)
		service_read_watchdog();
	else
		LOG(LOG_WARNING, "service_unheard", LOG_T("cause", strerror(error)),
		    LOG_T("message", "NOTIFY_SOCKET cannot be reached, so the service manager does not learn "
				     "the daemon's state"));
}

void service_close(void)
{
	cairn_fd_closep(&service_fd);
	service_watchdog = 0;
}

uint64_t service_watchdog_us(void)
{
	return service_watchdog;
}

/* Sends a message. Never waits: a manager that does not read must not block the daemon. */
static void service_notify(const char *fmt, ...) CAIRN_PRINTF(1, 2);
static void service_notify(const char *fmt, ...)
{
	char text[SERVICE_TEXT_BYTES];
	va_list ap;
	if (service_fd < 0)
		return;
	va_start(ap, fmt);
	int len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len > 0)
		(void)!cairn_sys_send(service_fd, text, len < (int)sizeof(text) ? (size_t)len : sizeof(text) - 1,
				      MSG_NOSIGNAL | MSG_DONTWAIT);
}

void service_ready(const char *status)
{
	service_notify("READY=1\nSTATUS=%.300s", status);
}

void service_reloading(void)
{
	service_notify("RELOADING=1\nMONOTONIC_USEC=%" PRIi64, cairn_clock_mono_ms() * 1000);
}

void service_stopping(uint64_t within_s)
{
	service_notify("STOPPING=1\nEXTEND_TIMEOUT_USEC=%" PRIu64 "\nWATCHDOG_USEC=%" PRIu64, within_s * 1000000,
		       within_s * 1000000);
}

void service_feed(void)
{
	service_notify("WATCHDOG=1");
}
