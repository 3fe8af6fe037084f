/* The listening socket: from the text of a setting, or from systemd. */
#ifndef CAIRN_SERVER_LISTEN_H
#define CAIRN_SERVER_LISTEN_H

#include "base/status.h"

#include <stddef.h>
#include <sys/socket.h>

enum { LISTEN_BACKLOG = 1024, LISTEN_TEXT_BYTES = 128 }; /* "[v6]:port" or "unix:/path", and a zero */

/** An address to listen at. Plain value. */
struct listen_address {
	struct sockaddr_storage addr;
	socklen_t len;
	unsigned mode; /* of a socket with a path; 0: the default */
};

/**
 * Reads "127.0.0.1:8080", "[::1]:8080" or "localhost:8080" (which is 127.0.0.1). Numbers only, no look-ups; "[::]:8080"
 * means all addresses of both families. Port 0: a free one. "unix:/path" is a socket in the file system.
 * @return CAIRN_OK; CAIRN_E_USAGE with what to write instead in diag
 */
CAIRN_MUST_USE enum cairn_status listen_parse(const char *text, struct listen_address *out, struct cairn_diag *diag);

/** Bind and listen: non-blocking, close-on-exec, backlog of 1,024. A stale socket in the file system is removed first.
 * @param[out] fd  owned by the caller; -1 on failure
 * @return CAIRN_OK; CAIRN_E_IO with address and reason in diag
 */
CAIRN_MUST_USE enum cairn_status listen_open(const struct listen_address *address, int *fd, struct cairn_diag *diag);

/** Takes the socket that systemd hands over (LISTEN_PID, LISTEN_FDS; the first descriptor is 3).
 * @param[out] fd  -1: none was handed over
 * @return CAIRN_OK; CAIRN_E_USAGE: more than one socket, or not a listening stream socket
 */
CAIRN_MUST_USE enum cairn_status listen_inherited(int *fd, struct cairn_diag *diag);

/** The address a socket is bound to, with the true port. @return CAIRN_OK; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status listen_address_of(int fd, struct listen_address *out);

/** Returns the path of a socket in the file system; NULL: another kind of socket. */
const char *listen_path(const struct listen_address *address);

/** Can only programs of this machine connect to it? */
bool listen_is_loopback(const struct listen_address *address);

/** Writes an address as listen_parse() reads it. "unix:@name": an abstract socket; "-": another family. */
void listen_text(const struct listen_address *address, char out[static LISTEN_TEXT_BYTES]);

#endif
