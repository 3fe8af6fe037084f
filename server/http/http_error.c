#include "server/http/http_error.h"

#include "base/json_text.h"
#include "server/http/errors.h"

#include <inttypes.h>
#include <string.h>

enum { ERROR_TEXT_BYTES_MAX = 1024 }; /* of one string */

static void error_member(struct cairn_buf *b, const char *name_and_colon, const char *value)
{
	cairn_buf_add(b, name_and_colon, strlen(name_and_colon));
	cairn_json_text(b, value, ERROR_TEXT_BYTES_MAX);
}

void http_error_body(struct cairn_buf *b, const char *rule, const char *message, const struct cairn_diag *diag,
		     const char *request_id)
{
	error_member(b, "{\"error\":{\"code\":", diag && diag->rule ? diag->rule : rule);
	error_member(b, ",\"message\":", diag && diag->text[0] ? diag->text : message);
	if (diag && diag->has_offset)
		cairn_buf_printf(b, ",\"offset\":%" PRIu64, diag->offset);
	if (diag && diag->expected[0])
		error_member(b, ",\"expected\":", diag->expected);
	if (diag && diag->actual[0])
		error_member(b, ",\"actual\":", diag->actual);
	error_member(b, "},\"request_id\":", request_id);
	cairn_buf_add(b, "}\n", 2);
}

void http_error_raw(struct cairn_buf *b, unsigned code, const char *rule, const char *message, const char *request_id)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(HTTP_ERROR_BYTES_MAX);
	http_error_body(&body, rule, message, NULL, request_id);
	cairn_buf_printf(b,
			 "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Type: application/json\r\n"
			 "Content-Length: %zu\r\nX-Request-Id: %s\r\n\r\n",
			 code, errors_reason(code), body.len, request_id);
	cairn_buf_add(b, body.bytes, body.len);
	if (body.status != CAIRN_OK)
		b->status = body.status;
}
