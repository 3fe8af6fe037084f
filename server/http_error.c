#include "server/http_error.h"

#include "server/errors.h"

#include <inttypes.h>
#include <string.h>

enum { ERROR_TEXT_BYTES_MAX = 1024 }; /* of one string */

/* Length of the UTF-8 sequence at p; 0: not one (also overlong forms, surrogates and what is past U+10FFFF). */
static size_t error_utf8_len(const uint8_t *p)
{
	if (p[0] < 0x80)
		return 1;
	size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80) /* also stops at the terminating zero */
			return 0;
	}
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

static bool error_is_plain(uint8_t c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

void http_json_string(struct cairn_buf *b, const char *text)
{
	const uint8_t *p = (const uint8_t *)text;
	const uint8_t *end = p + ERROR_TEXT_BYTES_MAX;
	cairn_buf_add(b, "\"", 1);
	while (*p && p < end) {
		const uint8_t *run = p;
		while (p < end && error_is_plain(*p))
			p++;
		cairn_buf_add(b, run, (size_t)(p - run));
		if (p == end || !*p)
			break;
		size_t n = error_utf8_len(p);
		if (n > 1)
			cairn_buf_add(b, p, n);
		else if (n == 0)
			cairn_buf_add(b, "\xef\xbf\xbd", 3);
		else if (*p == '"' || *p == '\\')
			cairn_buf_add(b, (char[]){'\\', (char)*p}, 2);
		else
			cairn_buf_printf(b, "\\u%04x", *p);
		p += n ? n : 1;
	}
	cairn_buf_add(b, "\"", 1);
}

static void error_member(struct cairn_buf *b, const char *name_and_colon, const char *value)
{
	cairn_buf_add(b, name_and_colon, strlen(name_and_colon));
	http_json_string(b, value);
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
