#include "server/http/http_error.h"

#include "base/json_text.h"
#include "server/http/errors.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ERROR_TEXT_BYTES_MAX = 1024 }; /* length of one text in a body */

static void error_member(struct cairn_buf *b, const char *name_and_colon, const char *value)
{
	cairn_buf_add(b, name_and_colon, strlen(name_and_colon));
	cairn_json_text(b, value, ERROR_TEXT_BYTES_MAX);
}

static void error_put_cas(struct cairn_buf *b, const char *rule, const char *message, const struct cairn_diag *diag)
{
	error_member(b, "{\"error\":{\"code\":", rule);
	error_member(b, ",\"message\":", message);
	if (diag && diag->has_offset)
		cairn_buf_printf(b, ",\"offset\":%" PRIu64, diag->offset);
	if (diag && diag->expected[0])
		error_member(b, ",\"expected\":", diag->expected);
	if (diag && diag->actual[0])
		error_member(b, ",\"actual\":", diag->actual);
	cairn_buf_add(b, "}", 1);
}

static void error_put_named(struct cairn_buf *b, const char *name, const char *rule, const char *message)
{
	error_member(b, name, message);
	error_member(b, ",\"code\":", rule);
}

void http_error_body(struct cairn_buf *b, enum http_error_shape shape, const char *rule, const char *message,
		     const struct cairn_diag *diag, const char *request_id)
{
	if (diag && diag->rule)
		rule = diag->rule;
	if (diag && diag->text[0])
		message = diag->text;
	switch (shape) {
	case HTTP_ERRORS_CAS:
	case HTTP_ERRORS_PAGE:
		error_put_cas(b, rule, message, diag);
		break;
	case HTTP_ERRORS_HUB:
		error_put_named(b, "{\"error\":", rule, message);
		break;
	case HTTP_ERRORS_LFS:
		error_put_named(b, "{\"message\":", rule, message);
		break;
	}
	error_member(b, ",\"request_id\":", request_id);
	cairn_buf_add(b, "}\n", 2);
}

void http_error_line(char out[static HTTP_ERROR_LINE_BYTES], const char *message)
{
	(void)snprintf(out, HTTP_ERROR_LINE_BYTES, "%s", message);
	for (char *p = out; *p; p++)
		if (*p < 0x20 || *p > 0x7e)
			*p = '?';
}

void http_error_raw_status(struct cairn_buf *b, unsigned code)
{
	cairn_buf_printf(b, "HTTP/1.1 %u %s\r\n", code, errors_reason(code));
}

void http_error_raw(struct cairn_buf *b, unsigned code, const char *rule, const char *message, const char *request_id)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(HTTP_ERROR_BYTES_MAX);
	http_error_body(&body, HTTP_ERRORS_CAS, rule, message, NULL, request_id);
	http_error_raw_status(b, code);
	cairn_buf_printf(b,
			 "Connection: close\r\nContent-Type: application/json\r\n"
			 "Content-Length: %zu\r\nX-Request-Id: %s\r\n\r\n",
			 body.len, request_id);
	cairn_buf_add(b, body.bytes, body.len);
	if (body.status != CAIRN_OK)
		b->status = body.status;
}
