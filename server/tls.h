/* The certificate that TLS is served with, and its exchange while connections are open. GnuTLS, since the HTTP library
 * speaks TLS through it. */
#ifndef CAIRN_SERVER_TLS_H
#define CAIRN_SERVER_TLS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/** A certificate chain and its key. One for each process: the library's callback is handed nothing to find it by. */
struct tls;

/**
 * Load a chain (PEM, the server's own certificate first) and its key (PEM, not encrypted; not readable by everybody).
 * @param certificate, key  paths; copied
 * @return CAIRN_OK; CAIRN_E_IO a file cannot be read; CAIRN_E_FORMAT not such a file; CAIRN_E_MISMATCH the key is not
 * the certificate's; CAIRN_E_DENIED everybody may read the key; CAIRN_E_NOMEM; always with the file in diag
 */
CAIRN_MUST_USE enum cairn_status tls_open(struct tls **out, const char *certificate, const char *key,
					  struct cairn_diag *diag);

/** After the service has stopped. NULL is harmless. */
void tls_free(struct tls *tls);

/** Load both files again. Connections go on with what they began with, new ones get the new pair. On failure the old
 * pair stays. From one thread at a time. @return as tls_open() */
CAIRN_MUST_USE enum cairn_status tls_reload(struct tls *tls, struct cairn_diag *diag);

/** When the certificate in use expires, in seconds since 1970. Any thread. */
int64_t tls_expires_unix_s(const struct tls *tls);

/** Write all of some bytes to an open session (gnutls_session_t), without waiting. @return false: they don't fit now,
 * and a part may have been sent */
bool tls_send(void *session, const void *bytes, size_t len);

/** Ask as a client that believes any certificate: what http_server_options.tls_ask wants. */
size_t tls_ask(int fd, const void *bytes, size_t len, char *reply, size_t reply_max);

/** What http_server_options.tls_retrieve wants. */
void (*tls_retrieve(void))(void);

#endif
