/* Writes error bodies, and whole error responses for when the HTTP library takes no reply. Pure. */
#ifndef CAIRN_SERVER_HTTP_ERROR_H
#define CAIRN_SERVER_HTTP_ERROR_H

#include "base/buf.h"
#include "server/http/http.h"

enum {
	HTTP_ERROR_BYTES_MAX = 8192, /* longest body; its parts are limited to far less */
	HTTP_ERROR_LINE_BYTES = 256,
};

/** Appends an error in this form, and a newline.
 * @param rule, message  used if diag has none
 * @param diag           may be NULL */
void http_error_body(struct cairn_buf *b, enum http_error_shape shape, const char *rule, const char *message,
		     const struct cairn_diag *diag, const char *request_id);

/** Converts a message to a header value: one line of visible characters, cut to fit. */
void http_error_line(char out[static HTTP_ERROR_LINE_BYTES], const char *message);

/** Appends a whole HTTP/1.1 response that closes the connection, with the error as its body. */
void http_error_raw(struct cairn_buf *b, unsigned code, const char *rule, const char *message, const char *request_id);

/** Appends the status line of an HTTP/1.1 response. */
void http_error_raw_status(struct cairn_buf *b, unsigned code);

#endif
