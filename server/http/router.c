#include "server/http/router.h"

#include "base/vec16.h"

#include <stdio.h>
#include <string.h>

/* The methods of RFC 9110 and 5789. A resource that lacks one of them answers 405, not 501. */
static const char *const METHODS[] = {"GET",     "HEAD",    "POST",  "PUT",   "DELETE",
				      "CONNECT", "OPTIONS", "TRACE", "PATCH", NULL};

/* A path of a request, from the first byte of the target on. */
struct router_path {
	const char *at, *end; /* if end equals at, the path matches nothing */
	bool plain;           /* as in router_find() */
};

static struct router_path router_path_of(const char *target, bool plain)
{
	size_t len = (size_t)(strchrnul(target, '?') - target);
	bool good = target[0] == '/' && len <= ROUTER_TAILED_BYTES_MAX;
	return (struct router_path){target, target + (good ? len : 0), plain};
}

/* Test 16 bytes at once: nonzero where a byte is not in the named set. */

/* Nonzero: not in the letters, the digits, and "-._~". */
static cairn_vec16 router_wrong(cairn_vec16 c)
{
	cairn_vec16 is_mark = cairn_vec16_is_within(c, '-', '.') | (cairn_vec16)(c == '_') | (cairn_vec16)(c == '~');
	return ~(cairn_vec16_is_letter(c) | cairn_vec16_is_within(c, '0', '9') | is_mark);
}

/* Nonzero: not in the letters, the digits, "-._~" and "%". */
static cairn_vec16 router_wrong_but_escapes(cairn_vec16 c)
{
	return router_wrong(c) & ~(cairn_vec16)(c == '%');
}

/* Nonzero: not in the characters that clients leave unescaped in a path. These are sub-delims, ":" and "@" (RFC 3986,
 * 3.3), "[]\\^{|}", which Node's fetch sends as they are, and UTF-8. Quotes, angle brackets, "#" and "`" are not
 * allowed. The allowed bytes are contiguous from '$' to ';' and from '@' to '_'. */
static cairn_vec16 router_wrong_in_tail(cairn_vec16 c)
{
	cairn_vec16 is_mark = (cairn_vec16)(c == '!') | (cairn_vec16)(c == '=') | cairn_vec16_is_within(c, '@', '_') |
			      cairn_vec16_is_within(c, '{', '~') | (cairn_vec16)(c >= 0x80);
	return ~(cairn_vec16_is_letter(c) | cairn_vec16_is_within(c, '$', ';') | is_mark);
}

/* Is the segment a name? Clients and proxies resolve "." and "..", so these are not. */
static bool router_is_name(const char *segment, size_t len)
{
	return len > 0 && !(len == 1 && segment[0] == '.') && !(len == 2 && memcmp(segment, "..", 2) == 0);
}

/* Checks the value of a {name} only: the rest of a matching path equals the pattern. Escapes are allowed only for
 * routes that ask for them, because some treat "%2F" as a slash and others do not. */
static bool router_is_value(const struct router_path *path, const char *segment, size_t len, bool escapes)
{
	bool good = path->plain || (escapes ? cairn_vec16_none(segment, len, router_wrong_but_escapes)
					    : cairn_vec16_none(segment, len, router_wrong));
	return good && router_is_name(segment, len);
}

static size_t router_segment_len(const char *at, const char *end)
{
	const char *slash = memchr(at, '/', (size_t)(end - at));
	return (size_t)((slash ? slash : end) - at);
}

struct router_span {
	const char *at;
	size_t len;
};

/* The values that a path matched, {name} by {name}. */
struct router_found {
	const struct http_route *route; /* NULL: no route was found */
	unsigned n_args;
	struct router_span names[ROUTER_ARGS_MAX], values[ROUTER_ARGS_MAX];
};

/* A {name}, with a mark for the values it accepts. */
struct router_name {
	struct router_span text;
	char mark; /* '%', '*'; 0: no mark */
};

static struct router_name router_name_of(const char *segment, size_t len)
{
	char last = segment[len - 2];
	bool marked = last == '%' || last == '*';
	return (struct router_name){{segment + 1, len - (marked ? 3 : 2)}, marked ? last : '\0'};
}

/* Is it one segment or more, none of them empty, "." or ".."? */
static bool router_is_tail(const struct router_path *path, const char *at)
{
	const char *end = path->end;
	if (!path->plain && !cairn_vec16_none(at, (size_t)(end - at), router_wrong_in_tail))
		return false;
	for (;; at++) {
		size_t len = router_segment_len(at, end);
		if (!router_is_name(at, len))
			return false;
		at += len;
		if (at == end)
			return true;
	}
}

/* Returns the length of the value that a {name} matches from at on; 0: it does not match. */
static size_t router_take(const struct router_name *name, const struct router_path *path, const char *at)
{
	size_t len = router_segment_len(at, path->end);
	if (name->mark != '*')
		return router_is_value(path, at, len, name->mark == '%') ? len : 0;
	return router_is_tail(path, at) ? (size_t)(path->end - at) : 0;
}

static bool router_matches(const char *pattern, const struct router_path *path, struct router_found *out)
{
	const char *at = path->at, *end = path->end, *tail = end;
	out->n_args = 0;
	for (;;) {
		/* Compares byte by byte: most patterns differ from a path within the first few bytes. */
		for (; at < end && *pattern == *at && *pattern != '{'; pattern++)
			at++;
		if (*pattern != '{')
			return !*pattern && at == end && tail - path->at <= ROUTER_PATH_BYTES_MAX;
		size_t want = (size_t)(strchrnul(pattern, '/') - pattern);
		struct router_name name = router_name_of(pattern, want);
		size_t have = out->n_args < ROUTER_ARGS_MAX ? router_take(&name, path, at) : 0;
		if (have == 0)
			return false;
		out->names[out->n_args] = name.text;
		out->values[out->n_args++] = (struct router_span){at, have};
		tail = name.mark == '*' ? at : tail;
		pattern += want;
		at += have;
	}
}

/* The groups of patterns, in search order. Patterns that begin with a {name} come last: they are least specific. */
enum router_stage { ROUTER_FIXED, ROUTER_OLDER, ROUTER_FREE };

static bool router_is_free(const char *pattern)
{
	return strncmp(pattern, "/{", 2) == 0;
}

/* Do the first letters differ? They do for most of some hundred patterns, which then need no further comparison. */
static bool router_differs(const char *pattern, const struct router_path *path)
{
	return path->at == path->end || (pattern[1] != path->at[1] && pattern[1] && pattern[1] != '{');
}

static bool router_route_matches(const struct http_route *route, enum router_stage stage,
				 const struct router_path *path, struct router_found *out)
{
	if (stage != ROUTER_OLDER)
		return !router_differs(route->pattern, path) &&
		       router_is_free(route->pattern) == (stage == ROUTER_FREE) &&
		       router_matches(route->pattern, path, out);
	for (const char *const *pattern = route->older; pattern && *pattern; pattern++) {
		if (!router_differs(*pattern, path) && router_matches(*pattern, path, out))
			return true;
	}
	return false;
}

static void router_fill(struct router_match *out, const struct router_found *found, char *target)
{
	out->route = found->route;
	out->n_args = found->n_args;
	for (unsigned i = 0; i < found->n_args; i++) {
		const struct router_span *value = &found->values[i];
		out->args[i].name = found->names[i].at;
		out->args[i].name_len = found->names[i].len;
		out->args[i].value = value->at;
		/* over a slash, the "?" of the query, or the end */
		target[value->at - target + (ptrdiff_t)value->len] = '\0';
	}
}

static void router_allow(char *allow, size_t allow_len, const char *method)
{
	size_t at = strlen(allow);
	(void)snprintf(allow + at, allow_len - at, "%s%s", at > 0 ? ", " : "", method);
}

static bool router_is_method(const struct http_route *const *tables, const char *method)
{
	for (const char *const *m = METHODS; *m; m++) {
		if (strcmp(*m, method) == 0)
			return true;
	}
	for (; *tables; tables++) {
		for (const struct http_route *r = *tables; r->method; r++) {
			if (strcmp(r->method, method) == 0)
				return true;
		}
	}
	return false;
}

static enum router_result router_search_stage(const struct http_route *const *tables, enum router_stage stage,
					      const char *method, const struct router_path *path,
					      struct router_found *found, char *allow, size_t allow_len)
{
	struct router_found here;
	bool any = false, head_listed = false, get_listed = false;
	found->route = NULL;
	allow[0] = '\0';
	for (const struct http_route *const *table = tables; *table; table++) {
		for (const struct http_route *r = *table; r->method; r++) {
			if (!router_route_matches(r, stage, path, &here))
				continue;
			here.route = r;
			bool is_it = strcmp(r->method, method) == 0, is_get = !is_it && strcmp(r->method, "GET") == 0;
			if (is_it || (is_get && !found->route && strcmp(method, "HEAD") == 0))
				*found = here; /* a HEAD route replaces it, if one comes later */
			if (is_it)
				return ROUTER_FOUND;
			get_listed |= is_get;
			head_listed |= strcmp(r->method, "HEAD") == 0;
			any = true;
			router_allow(allow, allow_len, r->method);
		}
	}
	if (found->route)
		return ROUTER_FOUND;
	if (get_listed && !head_listed)
		router_allow(allow, allow_len, "HEAD");
	return any ? ROUTER_WRONG_METHOD : ROUTER_NOT_FOUND;
}

enum router_result router_find(const struct http_route *const *tables, const char *method, char *target, bool plain,
			       struct router_match *out, char *allow, size_t allow_len)
{
	struct router_found found = {0};
	struct router_path path = router_path_of(target, plain);
	enum router_result result = ROUTER_NOT_FOUND;
	for (enum router_stage stage = ROUTER_FIXED; stage <= ROUTER_FREE && result == ROUTER_NOT_FOUND; stage++)
		result = router_search_stage(tables, stage, method, &path, &found, allow, allow_len);
	out->route = NULL;
	if (result == ROUTER_FOUND)
		router_fill(out, &found, target);
	return result == ROUTER_FOUND || router_is_method(tables, method) ? result : ROUTER_UNKNOWN_METHOD;
}
