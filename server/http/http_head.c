#include "server/http/http_head.h"

#include "base/decimal.h"
#include "base/utf8.h"
#include "base/vec16.h"

#include <string.h>
#include <strings.h>

/* Test 16 bytes at once, since all bytes of all heads pass here: nonzero where a byte is not in the named set. */

/* nonzero: not in "[A-Za-z0-9._-]" */
static cairn_vec16 head_not_id(cairn_vec16 c)
{
	return ~(cairn_vec16_is_letter(c) | cairn_vec16_is_within(c, '0', '9') | cairn_vec16_is_within(c, '-', '.') |
		 (cairn_vec16)(c == '_'));
}

/* Nonzero: not in the letters, the digits and "!#$%&'*+-.^_`|~" (RFC 9110, 5.6.2). */
static cairn_vec16 head_not_token(cairn_vec16 c)
{
	cairn_vec16 is_mark = cairn_vec16_is_within(c, '#', '\'') | cairn_vec16_is_within(c, '*', '+') |
			      cairn_vec16_is_within(c, '-', '.') | cairn_vec16_is_within(c, '^', '`');
	is_mark |= (cairn_vec16)(c == '!') | (cairn_vec16)(c == '|') | (cairn_vec16)(c == '~');
	return ~(cairn_vec16_is_letter(c) | cairn_vec16_is_within(c, '0', '9') | is_mark);
}

/* Nonzero: not in the letters, the digits and ".-_:[]". */
static cairn_vec16 head_not_host(cairn_vec16 c)
{
	cairn_vec16 is_mark = cairn_vec16_is_within(c, '-', '.') | (cairn_vec16)(c == '_') | (cairn_vec16)(c == '[') |
			      (cairn_vec16)(c == ']');
	return ~(cairn_vec16_is_letter(c) | cairn_vec16_is_within(c, '0', ':') | is_mark);
}

/* Nonzero: a control character other than a tab. */
static cairn_vec16 head_not_value(cairn_vec16 c)
{
	return ((cairn_vec16)(c < 0x20) & (cairn_vec16)(c != '\t')) | (cairn_vec16)(c == 0x7f);
}

/* Nonzero: not in the letters, the digits and "-._~/" (from '-' to '9' they are contiguous). */
static cairn_vec16 head_not_plain_path(cairn_vec16 c)
{
	return ~(cairn_vec16_is_letter(c) | cairn_vec16_is_within(c, '-', '9') | (cairn_vec16)(c == '_') |
		 (cairn_vec16)(c == '~'));
}

static cairn_vec16 head_not_target(cairn_vec16 c)
{
	return ~(cairn_vec16_is_within(c, '!', '~') | (cairn_vec16)(c >= 0x80));
}

static cairn_vec16 head_not_ascii(cairn_vec16 c)
{
	return (cairn_vec16)(c >= 0x80);
}

static bool head_is_utf8(const char *text, size_t len)
{
	size_t at = cairn_vec16_none(text, len, head_not_ascii) ? len : 0; /* usually all bytes are ASCII */
	size_t n = 1;
	for (; at < len && n > 0; at += n)
		n = cairn_utf8_sequence((const uint8_t *)text + at, len - at);
	return n > 0;
}

bool http_id_is_sane(const char *id)
{
	size_t len = id ? strnlen(id, HTTP_ID_BYTES_MAX + 1) : 0;
	return len > 0 && len <= HTTP_ID_BYTES_MAX && cairn_vec16_none(id, len, head_not_id);
}

enum http_target_kind http_target_judge(const char *target)
{
	if (target[0] != '/')
		return HTTP_TARGET_ABSOLUTE;
	size_t len = strlen(target);
	if (cairn_vec16_none(target, len, head_not_plain_path))
		return HTTP_TARGET_PLAIN;
	bool good = cairn_vec16_none(target, len, head_not_target) && head_is_utf8(target, len);
	return !good || (memchr(target, '%', len) && strstr(target, "%00")) ? HTTP_TARGET_BAD : HTTP_TARGET_OK;
}

/* Arguments whose values are not secret. All other values may be secret, or may hide a secret behind an escape or a
 * separator that only a reader of the log understands. */
static const char *const HEAD_PLAIN_ARGUMENTS[] = {"file_id", "ranges", "expires",      "repo",
						   "name",    "limit",  "older_than_s", "before"};

/* Nonzero: not in the letters, digits and separators that occur in no secret (from ',' to ':' they are contiguous). */
static cairn_vec16 head_not_plain(cairn_vec16 c)
{
	return ~(cairn_vec16_is_within(c, ',', ':') | cairn_vec16_is_letter(c) | (cairn_vec16)(c == '_') |
		 (cairn_vec16)(c == '~'));
}

/* Returns how many of len bytes of a path or value are unambiguous: no separator, and no escape except that of "/". */
static size_t head_plain_run(const char *text, size_t len)
{
	size_t n = 0;
	if (cairn_vec16_none(text, len, head_not_plain)) /* usually all bytes are plain */
		return len;
	for (;;) {
		n += cairn_vec16_run(text + n, len - n, head_not_plain);
		if (len - n < 3 || strncasecmp(text + n, "%2f", 3) != 0)
			return n;
		n += 3;
	}
}

/* May the log show the value of this argument of len bytes, and is the value plain? */
static bool head_argument_is_plain(const char *argument, size_t len)
{
	for (size_t i = 0; i < sizeof(HEAD_PLAIN_ARGUMENTS) / sizeof(HEAD_PLAIN_ARGUMENTS[0]); i++) {
		size_t name = strlen(HEAD_PLAIN_ARGUMENTS[i]);
		if (strncmp(argument, HEAD_PLAIN_ARGUMENTS[i], name) == 0 && argument[name] == '=')
			return head_plain_run(argument + name + 1, len - name - 1) == len - name - 1;
	}
	return false;
}

struct head_log {
	char *out;
	size_t len, max;
};

static void head_log_add(struct head_log *log, const char *text, size_t len)
{
	if (len > log->max - log->len)
		len = log->max - log->len;
	memcpy(log->out + log->len, text, len);
	log->len += len;
}

/* Returns how much of a target is logged unchanged. In an absolute address, a password may come before the "@". */
static size_t head_plain_path(const char *target, size_t len, enum http_target_kind kind)
{
	if (kind == HTTP_TARGET_PLAIN)
		return len;
	return kind == HTTP_TARGET_ABSOLUTE && strchr(target, '@') ? 0 : head_plain_run(target, len);
}

void http_target_log(char *out, size_t out_len, const char *target, size_t target_len, enum http_target_kind kind)
{
	struct head_log log = {out, 0, out_len - 1};
	size_t path = head_plain_path(target, target_len, kind);
	head_log_add(&log, target, path);
	const char *p = target + path;
	if (*p && *p != '?')
		head_log_add(&log, "...", 3); /* the meaning of the rest depends on the part that was left out */
	while (*p == '?' || *p == '&') {
		head_log_add(&log, p++, 1);
		size_t len = strcspn(p, "&");
		bool plain = head_argument_is_plain(p, len);
		head_log_add(&log, plain ? p : "-", plain || len == 0 ? len : 1);
		p += len;
	}
	out[log.len] = '\0';
}

/* Compares a header's name. The length and first letter come first, so that most other names cost no call. This is a
 * macro, because the compiler would not inline a function and its strlen(). */
#define HEAD_IS(want)                                                                                                  \
	(name_len == sizeof(want) - 1 && (name[0] | 0x20) == ((want)[0] | 0x20) &&                                     \
	 strncasecmp(name, want, sizeof(want) - 1) == 0)

static void head_keep(const char **slot, const char *value)
{
	if (!*slot)
		*slot = value;
}

void http_head_note(struct http_head *head, const char *name, size_t name_len, const char *value, size_t value_len)
{
	http_lines_header(&head->lines, name, value, value_len);
	head->bad_value |= !cairn_vec16_none(value, value_len, head_not_value);
	if (HEAD_IS("Host")) {
		head->n_host++;
		head_keep(&head->host, value);
	} else if (HEAD_IS("Content-Length")) {
		head->n_content_length++;
		head_keep(&head->content_length, value);
	} else if (HEAD_IS("Transfer-Encoding")) {
		head->n_transfer_encoding++;
		head_keep(&head->transfer_encoding, value);
	} else if (HEAD_IS("Authorization")) {
		head->n_authorization++;
		head_keep(&head->authorization, value);
	} else if (HEAD_IS("Expect")) {
		head_keep(&head->expect, value);
	} else if (HEAD_IS("X-Request-Id")) {
		head_keep(&head->request_id, value);
	} else if (HEAD_IS("X-Amzn-Trace-Id")) {
		head_keep(&head->trace_id, value);
	} else if (HEAD_IS("X-Xet-Session-Id")) {
		head_keep(&head->session_id, value);
	} else if (HEAD_IS("User-Agent")) {
		head_keep(&head->user_agent, value);
	} else if (HEAD_IS("Origin")) {
		head_keep(&head->origin, value);
	} else if (HEAD_IS("If-Match")) {
		head_keep(&head->if_match, value);
	} else if (HEAD_IS("If-None-Match")) {
		head_keep(&head->if_none_match, value);
	} else if (HEAD_IS("Cookie")) {
		head_keep(&head->cookies, value);
	} else if (HEAD_IS("Access-Control-Request-Method")) {
		head_keep(&head->preflight_method, value);
	} else if (HEAD_IS("X-Forwarded-For")) {
		head->forwarded_for = value;
	} else {
		head->bad_name |= name_len == 0 || !cairn_vec16_none(name, name_len, head_not_token);
	}
}

/* Parses a length. UINT64_MAX is refused, because it means "unknown" here and in the library. */
static bool head_parse_length(const char *text, uint64_t *out)
{
	return cairn_decimal_parse(text, 0, UINT64_MAX - 1, out);
}

static bool head_host_is_sane(const char *host)
{
	size_t len = strlen(host);
	return len > 0 && len <= 255 && cairn_vec16_none(host, len, head_not_host);
}

static struct http_refusal head_check_framing(const struct http_head *head, const char *version,
					      struct http_head_body *out)
{
	*out = (struct http_head_body){0};
	if (head->n_transfer_encoding > 0) {
		if (head->n_content_length > 0)
			return (struct http_refusal){400, "http.framing",
						     "send either Content-Length or Transfer-Encoding, not both"};
		if (head->n_transfer_encoding > 1 || strcmp(version, "HTTP/1.0") == 0)
			return (struct http_refusal){400, "http.framing",
						     "Transfer-Encoding may be sent once, and only with HTTP/1.1"};
		if (strcasecmp(head->transfer_encoding, "chunked") != 0)
			return (struct http_refusal){501, "http.transfer_encoding",
						     "the only Transfer-Encoding served is chunked"};
		out->len = UINT64_MAX;
	} else if (head->n_content_length > 0) {
		if (head->n_content_length > 1 || !head_parse_length(head->content_length, &out->len))
			return (struct http_refusal){400, "http.framing",
						     "send one Content-Length, a decimal number of bytes"};
	}
	return (struct http_refusal){0};
}

struct http_refusal http_head_check(const struct http_head *head, enum http_target_kind target, const char *version,
				    size_t head_bytes, size_t head_bytes_max, struct http_head_body *out)
{
	*out = (struct http_head_body){0};
	if (head_bytes > head_bytes_max)
		return (struct http_refusal){431, "http.head_bytes",
					     "request line and headers are over this server's limit; send fewer"};
	if (head->lines.bad)
		return (struct http_refusal){400, "http.line",
					     "end each line of the head with CR LF, and send no zero byte in it"};
	if (head->bad_name || head->bad_value)
		return (struct http_refusal){400, "http.header",
					     "a header's name or value has characters that are not allowed there"};
	if (target == HTTP_TARGET_ABSOLUTE)
		return (struct http_refusal){400, "http.target",
					     "the request target must be a path that starts with /"};
	if (target == HTTP_TARGET_BAD)
		return (struct http_refusal){
			400, "http.target",
			"the request target has control characters, spaces, bytes that are not UTF-8, or %00"};
	if (head->n_host > 1 || (head->host && !head_host_is_sane(head->host)))
		return (struct http_refusal){400, "http.host", "send one Host header with a host name and a port"};
	if (head->n_authorization > 1)
		return (struct http_refusal){400, "http.authorization", "send one Authorization header"};
	struct http_refusal framing = head_check_framing(head, version, out);
	if (framing.code != 0)
		return framing;
	if (head->expect && strcmp(version, "HTTP/1.0") != 0) {
		if (strcasecmp(head->expect, "100-continue") != 0)
			return (struct http_refusal){417, "http.expect",
						     "the only expectation that can be met is 100-continue"};
		out->expects_100 = out->len > 0;
	}
	return (struct http_refusal){0};
}
