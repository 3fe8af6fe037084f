/* The listening socket: from the text of a setting, or from systemd. */
#ifndef CAIRN_SERVER_LISTEN_H
#define CAIRN_SERVER_LISTEN_H

#include "base/status.h"

#include <stddef.h>
#include <sys/socket.h>

enum { LISTEN_BACKLOG = 1024, LISTEN_TEXT_BYTES = 128 }; /* room for "[v6]:port" or "unix:/path", and a zero */

/** An address to listen at. Plain value. */
struct listen_address {
	struct sockaddr_storage addr;
	socklen_t len;
	unsigned mode; /* file mode of a Unix socket; 0: the default */
};

/**
 * Parses "127.0.0.1:8080", "[::1]:8080" or "localhost:8080" (which is 127.0.0.1). Accepts numbers only, and resolves no
 * names. "[::]:8080": all addresses of both families. Port 0: any free port. "unix:/path": a Unix socket.
 * @return CAIRN_OK; CAIRN_E_USAGE: diag says what to write instead */
CAIRN_MUST_USE enum cairn_status listen_parse(const char *text, struct listen_address *out, struct cairn_diag *diag);

/** Binds a socket and listens: non-blocking, close-on-exec, backlog of 1,024. Removes a stale Unix socket first.
 * @param[out] fd  owned by the caller; -1 on failure @return CAIRN_OK; CAIRN_E_IO with address and reason in diag */
CAIRN_MUST_USE enum cairn_status listen_open(const struct listen_address *address, int *fd, struct cairn_diag *diag);

/** Takes the socket that systemd passes (LISTEN_PID, LISTEN_FDS; the first descriptor is 3). @param[out] fd  -1: none
 * was passed @return CAIRN_OK; CAIRN_E_USAGE: more than one socket, or not a listening stream socket */
CAIRN_MUST_USE enum cairn_status listen_inherited(int *fd, struct cairn_diag *diag);

/** Returns the address to which a socket is bound, with the port that the system chose. @return CAIRN_OK; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status listen_address_of(int fd, struct listen_address *out);

/** Returns the path of a Unix socket. @return NULL: another kind of socket */
const char *listen_path(const struct listen_address *address);

/** Can only programs of this machine connect to the address? */
bool listen_is_loopback(const struct listen_address *address);

/** Writes an address in the form that listen_parse() reads. "unix:@name": an abstract socket; "-": another family. */
void listen_text(const struct listen_address *address, char out[static LISTEN_TEXT_BYTES]);

#endif
