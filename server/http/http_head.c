#include "server/http/http_head.h"

#include <string.h>
#include <strings.h>

static bool head_is_alnum(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool http_id_is_sane(const char *id)
{
	if (!id || !*id)
		return false;
	size_t n = 0;
	for (; id[n]; n++) {
		unsigned char c = (unsigned char)id[n];
		if (n == HTTP_ID_BYTES_MAX || (!head_is_alnum(c) && c != '.' && c != '_' && c != '-'))
			return false;
	}
	return true;
}

enum http_target_kind http_target_judge(const char *target)
{
	if (target[0] != '/')
		return HTTP_TARGET_ABSOLUTE;
	size_t len = strlen(target);
	uint8_t bad = 0; /* no jumps: the compiler makes vectors of it */
	for (size_t i = 0; i < len; i++)
		bad |= ((uint8_t)target[i] <= 0x20) | ((uint8_t)target[i] >= 0x7f);
	return bad || strstr(target, "%00") ? HTTP_TARGET_BAD : HTTP_TARGET_OK;
}

static bool head_name_is_secret(const char *name, size_t len)
{
	static const char *const WORDS[] = {"sig", "token", "key", "secret"};
	for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
		size_t n = strlen(WORDS[i]);
		for (size_t at = 0; at + n <= len; at++) {
			if (strncasecmp(name + at, WORDS[i], n) == 0)
				return true;
		}
	}
	return false;
}

void http_target_log(char *out, size_t out_len, const char *target)
{
	size_t n = (size_t)(strchrnul(target, '?') - target);
	n = n < out_len ? n : out_len - 1;
	memcpy(out, target, n);
	const char *p = target + n;
	const char *name = NULL; /* of the argument p is in; NULL: in the path, or in a value */
	while (*p && n + 1 < out_len) {
		bool hide = *p == '=' && name && head_name_is_secret(name, (size_t)(p - name));
		if (*p == '?' || *p == '&')
			name = p + 1;
		else if (*p == '=')
			name = NULL;
		out[n++] = *p++;
		if (!hide)
			continue;
		if (n + 1 < out_len)
			out[n++] = '-';
		p += strcspn(p, "&");
	}
	out[n] = '\0';
}

/* RFC 9110, 5.6.2 */
static bool head_is_token(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if (!head_is_alnum(c) && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return len > 0;
}

static bool head_value_is_clean(const char *text, size_t len)
{
	uint8_t bad = 0; /* no jumps, as above */
	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)text[i];
		bad |= ((c < 0x20) & (c != '\t')) | (c == 0x7f);
	}
	return !bad;
}

static bool head_is(const char *name, size_t name_len, const char *want)
{
	return name_len == strlen(want) && strncasecmp(name, want, name_len) == 0;
}

static void head_keep(const char **slot, const char *value)
{
	if (!*slot)
		*slot = value;
}

void http_head_note(struct http_head *head, const char *name, size_t name_len, const char *value, size_t value_len)
{
	head->bad_name |= !head_is_token(name, name_len);
	head->bad_value |= !head_value_is_clean(value, value_len);
	if (head_is(name, name_len, "Host")) {
		head->n_host++;
		head_keep(&head->host, value);
	} else if (head_is(name, name_len, "Content-Length")) {
		head->n_content_length++;
		head_keep(&head->content_length, value);
	} else if (head_is(name, name_len, "Transfer-Encoding")) {
		head->n_transfer_encoding++;
		head_keep(&head->transfer_encoding, value);
	} else if (head_is(name, name_len, "Authorization")) {
		head->n_authorization++;
		head_keep(&head->authorization, value);
	} else if (head_is(name, name_len, "Expect")) {
		head_keep(&head->expect, value);
	} else if (head_is(name, name_len, "X-Request-Id")) {
		head_keep(&head->request_id, value);
	} else if (head_is(name, name_len, "X-Xet-Session-Id")) {
		head_keep(&head->session_id, value);
	} else if (head_is(name, name_len, "User-Agent")) {
		head_keep(&head->user_agent, value);
	} else if (head_is(name, name_len, "Origin")) {
		head_keep(&head->origin, value);
	}
}

/* UINT64_MAX is what "not known" looks like, to us and to the library: not a length. */
static bool head_parse_length(const char *text, uint64_t *out)
{
	uint64_t n = 0;
	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		uint64_t digit = (uint64_t)(*text - '0');
		if (n > (UINT64_MAX - 1 - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*out = n;
	return true;
}

static bool head_host_is_sane(const char *host)
{
	for (const char *p = host; *p; p++) {
		if (!head_is_alnum((unsigned char)*p) && !strchr(".-_:[]", *p))
			return false;
	}
	return *host != '\0' && strlen(host) <= 255;
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
	if (head->bad_name || head->bad_value)
		return (struct http_refusal){400, "http.header",
					     "a header's name or value has characters that are not allowed there"};
	if (target == HTTP_TARGET_ABSOLUTE)
		return (struct http_refusal){400, "http.target",
					     "the request target must be a path that starts with /"};
	if (target == HTTP_TARGET_BAD)
		return (struct http_refusal){400, "http.target",
					     "the request target has bytes that must be percent-encoded, or %00"};
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
