/* The server's TLS certificate, and its replacement under open connections. Uses GnuTLS, as the HTTP library does. */
#ifndef CAIRN_SERVER_TLS_H
#define CAIRN_SERVER_TLS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/** A certificate chain and its key. A process can have only one, because the library's callback gets no context. */
struct tls;

/** Loads a chain (PEM, the server's own certificate first) and its key (PEM, not encrypted; not readable by everybody).
 * @param certificate, key  paths; copied @return CAIRN_OK; CAIRN_E_IO: a file cannot be read; CAIRN_E_FORMAT: a file is
 * not such PEM; CAIRN_E_MISMATCH: the key does not belong to the certificate; CAIRN_E_DENIED: everybody may read the
 * key; CAIRN_E_NOMEM. diag always has the file */
CAIRN_MUST_USE enum cairn_status tls_open(struct tls **out, const char *certificate, const char *key,
					  struct cairn_diag *diag);

/** Frees the certificate and key. Call after the service has stopped. NULL is harmless. */
void tls_free(struct tls *tls);

/** Reloads both files. Open connections keep the old pair, new ones get the new pair. On failure the old pair stays.
 * Not for two threads at once. @return as tls_open() */
CAIRN_MUST_USE enum cairn_status tls_reload(struct tls *tls, struct cairn_diag *diag);

/** Returns when the certificate in use expires, in seconds since 1970. Any thread. */
int64_t tls_expires_unix_s(const struct tls *tls);

/** Writes bytes to a session (gnutls_session_t), without waiting. @return false: at most a part was sent */
bool tls_send(void *session, const void *bytes, size_t len);

/** Implements http_server_options.tls_ask, as a client that accepts any certificate. */
size_t tls_ask(int fd, const void *bytes, size_t len, char *reply, size_t reply_max);

/** Returns the function for http_server_options.tls_retrieve. */
void (*tls_retrieve(void))(void);

#endif
