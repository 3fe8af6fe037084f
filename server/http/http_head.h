/* Validates the head of a request before any other code uses it. Refuses heads that the HTTP library accepts but that
 * two parsers could read differently (request smuggling). Pure. */
#ifndef CAIRN_SERVER_HTTP_HEAD_H
#define CAIRN_SERVER_HTTP_HEAD_H

#include "server/http/http_lines.h"

#include <stddef.h>
#include <stdint.h>

enum { HTTP_ID_BYTES_MAX = 64 }; /* longest X-Request-Id, X-Amzn-Trace-Id or X-Xet-Session-Id */

/** The kinds of a request target, checked before it is split. */
enum http_target_kind {
	HTTP_TARGET_PLAIN,    /* usual: a path of only letters, digits and "-._~/" */
	HTTP_TARGET_OK,       /* another path, or one with a query */
	HTTP_TARGET_ABSOLUTE, /* not a path: "http://host/x", "*" */
	HTTP_TARGET_BAD,      /* control characters, bytes that are not UTF-8, or %00 (which would cut strings) */
};

enum http_target_kind http_target_judge(const char *target);

/** Copies a target for logs, at most out_len - 1 bytes. The path is cut at its first byte that is not plain text, and
 * "..." replaces the rest. Values of query arguments that may be secret become "-". @param kind  from
 * http_target_judge() */
void http_target_log(char *out, size_t out_len, const char *target, size_t target_len, enum http_target_kind kind);

/** Facts of a head, gathered header by header. Borrows the values. Zeroed at first. */
struct http_head {
	struct http_lines lines;
	bool bad_name, bad_value; /* a name that is not a token; a value with a control character */
	unsigned n_host, n_content_length, n_transfer_encoding, n_authorization;
	/* the first header of each name; NULL: absent */
	const char *host, *content_length, *transfer_encoding, *authorization, *expect;
	const char *request_id, *trace_id, *session_id, *user_agent, *origin, *if_match, *if_none_match, *cookies;
	const char *preflight_method; /* Access-Control-Request-Method */
	const char *forwarded_for;    /* the last X-Forwarded-For, which the nearest proxy has added; NULL: absent */
};

/** Adds a header to the facts. Lengths are in bytes; value ends with a zero at value[value_len]. */
void http_head_note(struct http_head *head, const char *name, size_t name_len, const char *value, size_t value_len);

struct http_head_body {
	uint64_t len;     /* length of the body; UINT64_MAX: chunked, so unknown */
	bool expects_100; /* the client waits for 100 Continue before it sends the body */
};

/** Why a head is refused. Static strings. The connection may be out of sync, so it is closed. */
struct http_refusal {
	unsigned code; /* 0: the head is not refused */
	const char *rule, *message;
};

/** Checks a complete head. @param version  "HTTP/1.1" @return code 0: out is filled; 400, 417, 431 or 501 */
struct http_refusal http_head_check(const struct http_head *head, enum http_target_kind target, const char *version,
				    size_t head_bytes, size_t head_bytes_max, struct http_head_body *out);

/** Is it 1 to 64 characters of [A-Za-z0-9._-]? NULL is not. */
bool http_id_is_sane(const char *id);

#endif
