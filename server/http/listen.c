#include "server/http/listen.h"

#include "base/decimal.h"
#include "base/fd.h"
#include "base/sys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { LISTEN_FIRST_FD = 3 }; /* the first descriptor that systemd passes, sd_listen_fds(3) */

static const char LISTEN_UNIX[] = "unix:";
enum { LISTEN_UNIX_LEN = sizeof(LISTEN_UNIX) - 1 };

static bool listen_set_path(struct listen_address *out, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	if (path[0] != '/' || len < 2 || len >= sizeof(address.sun_path))
		return false;
	memcpy(address.sun_path, path, len);
	memset(out, 0, sizeof(*out));
	memcpy(&out->addr, &address, sizeof(address));
	out->len = sizeof(address);
	return true;
}

static bool listen_set(struct listen_address *out, const char *host, bool bracketed, uint64_t port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
	memset(out, 0, sizeof(*out));
	if (bracketed && inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
		memcpy(&out->addr, &v6, sizeof(v6));
		out->len = sizeof(v6);
		return true;
	}
	if (!bracketed && inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &v4.sin_addr) == 1) {
		memcpy(&out->addr, &v4, sizeof(v4));
		out->len = sizeof(v4);
		return true;
	}
	return false;
}

enum cairn_status listen_parse(const char *text, struct listen_address *out, struct cairn_diag *diag)
{
	char host[INET6_ADDRSTRLEN];
	const char *colon = strrchr(text, ':');
	bool bracketed = text[0] == '[' && colon && colon > text + 1 && colon[-1] == ']';
	uint64_t port = 0;
	if (strncmp(text, LISTEN_UNIX, LISTEN_UNIX_LEN) == 0 && listen_set_path(out, text + LISTEN_UNIX_LEN))
		return CAIRN_OK;
	bool ok = colon && cairn_decimal_parse(colon + 1, 0, UINT16_MAX, &port);
	if (ok) {
		const char *from = text + bracketed;
		size_t len = (size_t)(colon - from) - bracketed;
		ok = len < sizeof(host);
		if (ok) {
			memcpy(host, from, len);
			host[len] = '\0';
			ok = listen_set(out, host, bracketed, port);
		}
	}
	if (ok)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_USAGE, "listen.address", CAIRN_NO_OFFSET,
			  "\"%s\" is not an address to listen on; write ADDRESS:PORT with a numeric address, such as "
			  "127.0.0.1:8080, [::1]:8080, or [::]:8080 for all, or unix:/PATH of at most 107 bytes",
			  text);
}

static bool listen_prepare(int fd, int family)
{
	int one = 1, zero = 0;
	if (family == AF_UNIX)
		return true;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0)
		return false;
	/* makes [::] serve IPv4, too, whatever the system's default is */
	return family != AF_INET6 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)) == 0;
}

const char *listen_path(const struct listen_address *address)
{
	const char *path = (const char *)&address->addr + offsetof(struct sockaddr_un, sun_path);
	return address->addr.ss_family == AF_UNIX && path[0] == '/' ? path : NULL;
}

/* Removes a stale socket file, left by a process that has ended. */
static void listen_remove_dead(const struct listen_address *address)
{
	const char *path = listen_path(address);
	const struct sockaddr_storage copy = address->addr;
	struct stat st;
	if (!path || cairn_sys_lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return;
	CLEANUP(cairn_fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && cairn_sys_connect(fd, (const struct sockaddr *)&copy, address->len) != 0 &&
	    errno == ECONNREFUSED)
		(void)cairn_sys_unlink(path);
}

static bool listen_let_in(const struct listen_address *address)
{
	const char *path = listen_path(address);
	return !path || address->mode == 0 || cairn_sys_chmod(path, (mode_t)address->mode) == 0;
}

/* Returns advice for an address that cannot be used. */
static const char *listen_advice(int error)
{
	switch (error) {
	case EADDRINUSE:
		return "; another process serves there: stop it, or choose another port with --listen HOST:PORT "
		       "(\"listen\" in the file of settings)";
	case EADDRNOTAVAIL:
		return "; this machine has no such address: give one of its own, or [::]:PORT for all of them";
	case EACCES:
		return "; only root may serve there: choose a port from 1024 on, or start as root with --user NAME";
	default:
		return "";
	}
}

enum cairn_status listen_open(const struct listen_address *address, int *out, struct cairn_diag *diag)
{
	int family = address->addr.ss_family;
	*out = -1;
	listen_remove_dead(address);
	CLEANUP(cairn_fd_closep) int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const struct sockaddr_storage copy = address->addr;
	if (fd < 0 || !listen_prepare(fd, family) || bind(fd, (const struct sockaddr *)&copy, address->len) != 0 ||
	    !listen_let_in(address) || listen(fd, LISTEN_BACKLOG) != 0) {
		int error = errno;
		char text[LISTEN_TEXT_BYTES], reason[80];
		listen_text(address, text);
		return cairn_fail(diag, CAIRN_E_IO, "listen.open", CAIRN_NO_OFFSET, "cannot listen on %s: %s%s", text,
				  strerror_r(error, reason, sizeof(reason)), listen_advice(error));
	}
	*out = fd;
	fd = -1;
	return CAIRN_OK;
}

static bool listen_is_listening(int fd)
{
	int listening = 0, type = 0;
	socklen_t len = sizeof(listening);
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) != 0 || !listening)
		return false;
	len = sizeof(type);
	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

enum cairn_status listen_inherited(int *fd, struct cairn_diag *diag)
{
	const char *pid_text = getenv("LISTEN_PID"), *fds_text = getenv("LISTEN_FDS");
	uint64_t pid = 0, n_fds = 0;
	*fd = -1;
	if (!pid_text || !fds_text || !cairn_decimal_parse(pid_text, 0, INT32_MAX, &pid) || (pid_t)pid != getpid())
		return CAIRN_OK;
	if (!cairn_decimal_parse(fds_text, 1, 1024, &n_fds))
		return CAIRN_OK;
	if (n_fds > 1)
		return cairn_fail(diag, CAIRN_E_USAGE, "listen.inherited", CAIRN_NO_OFFSET,
				  "%" PRIu64 " sockets were handed over; give the unit one ListenStream", n_fds);
	if (!listen_is_listening(LISTEN_FIRST_FD))
		return cairn_fail(diag, CAIRN_E_USAGE, "listen.inherited", CAIRN_NO_OFFSET,
				  "the descriptor handed over is not a listening stream socket; use ListenStream");
	int flags = fcntl(LISTEN_FIRST_FD, F_GETFL);
	if (flags < 0 || fcntl(LISTEN_FIRST_FD, F_SETFL, flags | O_NONBLOCK) != 0 ||
	    fcntl(LISTEN_FIRST_FD, F_SETFD, FD_CLOEXEC) != 0)
		return cairn_fail(diag, CAIRN_E_USAGE, "listen.inherited", CAIRN_NO_OFFSET,
				  "the socket handed over cannot be made non-blocking");
	*fd = LISTEN_FIRST_FD;
	return CAIRN_OK;
}

enum cairn_status listen_address_of(int fd, struct listen_address *out)
{
	struct sockaddr_storage addr = {0};
	socklen_t len = sizeof(addr);
	if (getsockname(fd, (struct sockaddr *)&addr, &len) != 0)
		return CAIRN_E_IO;
	*out = (struct listen_address){.addr = addr, .len = len};
	return CAIRN_OK;
}

static void listen_parts(const struct listen_address *address, struct sockaddr_in *v4, struct sockaddr_in6 *v6)
{
	memcpy(v4, &address->addr, sizeof(*v4));
	memcpy(v6, &address->addr, sizeof(*v6));
}

bool listen_is_loopback(const struct listen_address *address)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	listen_parts(address, &v4, &v6);
	if (address->addr.ss_family == AF_INET)
		return ntohl(v4.sin_addr.s_addr) >> 24 == 127;
	if (address->addr.ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ||
		       (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && v6.sin6_addr.s6_addr[12] == 127);
	return address->addr.ss_family == AF_UNIX;
}

static void listen_path_text(const struct listen_address *address, char out[static LISTEN_TEXT_BYTES])
{
	struct sockaddr_un at;
	memcpy(&at, &address->addr, sizeof(at));
	size_t len = address->len > offsetof(struct sockaddr_un, sun_path)
			     ? address->len - offsetof(struct sockaddr_un, sun_path)
			     : 0;
	bool named = len > 0 && at.sun_path[0] == 0;
	(void)snprintf(out, LISTEN_TEXT_BYTES, "%s%s%.*s", LISTEN_UNIX, named ? "@" : "",
		       (int)(named ? len - 1 : strnlen(at.sun_path, len)), at.sun_path + named);
}

void listen_text(const struct listen_address *address, char out[static LISTEN_TEXT_BYTES])
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	char host[INET6_ADDRSTRLEN];
	listen_parts(address, &v4, &v6);
	if (address->addr.ss_family == AF_INET && inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host)))
		(void)snprintf(out, LISTEN_TEXT_BYTES, "%s:%u", host, (unsigned)ntohs(v4.sin_port));
	else if (address->addr.ss_family == AF_INET6 && inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host)))
		(void)snprintf(out, LISTEN_TEXT_BYTES, "[%s]:%u", host, (unsigned)ntohs(v6.sin6_port));
	else if (address->addr.ss_family == AF_UNIX)
		listen_path_text(address, out);
	else
		memcpy(out, "-", 2);
}
