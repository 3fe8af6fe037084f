/* The body of an error, and a whole refusal for the moments when the HTTP library takes no reply. Pure. */
#ifndef CAIRN_SERVER_HTTP_ERROR_H
#define CAIRN_SERVER_HTTP_ERROR_H

#include "base/buf.h"
#include "server/http/http.h"

enum {
	HTTP_ERROR_BYTES_MAX = 8192, /* of a body; all its parts are bounded well below */
	HTTP_ERROR_LINE_BYTES = 256,
};

/**
 * Append an error of this shape and a newline.
 * @param rule, message  taken where diag has none
 * @param diag           may be NULL
 */
void http_error_body(struct cairn_buf *b, enum http_error_shape shape, const char *rule, const char *message,
		     const struct cairn_diag *diag, const char *request_id);

/** A message as the value of a header: one line of visible characters, cut. */
void http_error_line(char out[static HTTP_ERROR_LINE_BYTES], const char *message);

/** Append a whole HTTP/1.1 response that closes the connection, with such a body. */
void http_error_raw(struct cairn_buf *b, unsigned code, const char *rule, const char *message, const char *request_id);

/** Append the status line of such a response. */
void http_error_raw_status(struct cairn_buf *b, unsigned code);

#endif
