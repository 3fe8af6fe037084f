#include "server/http/router.h"

#include "base/vec16.h"

#include <stdio.h>
#include <string.h>

/* Methods that RFC 9110 and 5789 know: asked of a resource without them the answer is 405, not 501. */
static const char *const METHODS[] = {"GET",     "HEAD",    "POST",  "PUT",   "DELETE",
				      "CONNECT", "OPTIONS", "TRACE", "PATCH", NULL};

/* Not zero where there is anything but letters, digits, and "-._~/%". */
static cairn_vec16 router_wrong(cairn_vec16 c)
{
	cairn_vec16 is_letter = (cairn_vec16)((c | 0x20) - 'a' < 26);
	cairn_vec16 is_other = (cairn_vec16)(c - '-' < 13); /* "-./0123456789" */
	is_other |= (cairn_vec16)(c == '_') | (cairn_vec16)(c == '~') | (cairn_vec16)(c == '%');
	return ~(is_letter | is_other);
}

/* Every byte of every path passes here. */
static bool router_is_clean(const char *path, size_t len)
{
	cairn_vec16 wrong = {0};
	char last[16] = "////////////////";
	size_t i = 0;
	for (; i + 16 <= len; i += 16)
		wrong |= router_wrong(cairn_vec16_load(path + i));
	memcpy(last, path + i, len - i);
	return cairn_vec16_is_zero(wrong | router_wrong(cairn_vec16_load(last)));
}

/* Length of the path of a target; 0: not one that can match. */
static size_t router_path_len(const char *target)
{
	size_t len = (size_t)(strchrnul(target, '?') - target);
	return target[0] == '/' && len <= ROUTER_PATH_BYTES_MAX && router_is_clean(target, len) ? len : 0;
}

/* "." and ".." mean other paths to every client and proxy; they are nobody's name. Escapes are for those routes only
 * that ask for them, since "%2F" is a slash to some and not to others. */
static bool router_is_value(const char *segment, size_t len, bool escapes)
{
	if (!escapes && memchr(segment, '%', len))
		return false;
	return len > 0 && !(len == 1 && segment[0] == '.') && !(len == 2 && memcmp(segment, "..", 2) == 0);
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

/* names[i] and values[i] are set for each {name} on the way. */
static bool router_matches(const char *pattern, const char *path, const char *path_end,
			   struct router_span names[ROUTER_ARGS_MAX], struct router_span values[ROUTER_ARGS_MAX],
			   unsigned *n_args)
{
	const char *pattern_end = pattern + strlen(pattern);
	*n_args = 0;
	while (pattern < pattern_end && path < path_end) {
		if (*pattern++ != '/' || *path++ != '/')
			return false;
		size_t want = router_segment_len(pattern, pattern_end), have = router_segment_len(path, path_end);
		if (want > 0 && *pattern == '{') {
			bool escapes = pattern[want - 2] == '%';
			if (*n_args == ROUTER_ARGS_MAX || !router_is_value(path, have, escapes))
				return false;
			names[*n_args] = (struct router_span){pattern + 1, want - (escapes ? 3 : 2)};
			values[(*n_args)++] = (struct router_span){path, have};
		} else if (want != have || memcmp(pattern, path, have) != 0) {
			return false;
		}
		pattern += want;
		path += have;
	}
	return pattern == pattern_end && path == path_end;
}

static bool router_route_matches(const struct http_route *route, bool older, const char *path, const char *path_end,
				 struct router_span names[ROUTER_ARGS_MAX], struct router_span values[ROUTER_ARGS_MAX],
				 unsigned *n_args)
{
	if (!older)
		return router_matches(route->pattern, path, path_end, names, values, n_args);
	for (const char *const *pattern = route->older; pattern && *pattern; pattern++) {
		if (router_matches(*pattern, path, path_end, names, values, n_args))
			return true;
	}
	return false;
}

static void router_fill(struct router_match *out, const struct http_route *route, const struct router_span *names,
			const struct router_span *values, unsigned n_args)
{
	char *text = out->text;
	out->route = route;
	out->n_args = n_args;
	for (unsigned i = 0; i < n_args; i++) {
		out->args[i].name = names[i].at;
		out->args[i].name_len = names[i].len;
		out->args[i].value = text;
		text = mempcpy(text, values[i].at, values[i].len);
		*text++ = '\0';
	}
}

static void router_allow(char *allow, size_t allow_len, const char *method)
{
	size_t at = strlen(allow);
	(void)snprintf(allow + at, allow_len - at, "%s%s", at > 0 ? ", " : "", method);
}

static bool router_is_known(const struct http_route *const *tables, const char *method)
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

/* One look through all routes, by their patterns or by the older ones. */
static enum router_result router_look(const struct http_route *const *tables, bool older, const char *method,
				      const char *target, const char *path_end, struct router_match *out, char *allow,
				      size_t allow_len)
{
	struct router_span names[ROUTER_ARGS_MAX], values[ROUTER_ARGS_MAX];
	bool is_head = strcmp(method, "HEAD") == 0, found = false, head_listed = false, get_listed = false;
	unsigned n_args;
	out->route = NULL;
	allow[0] = '\0';
	for (const struct http_route *const *table = tables; *table; table++) {
		for (const struct http_route *r = *table; r->method; r++) {
			if (!router_route_matches(r, older, target, path_end, names, values, &n_args))
				continue;
			if (strcmp(r->method, method) == 0) {
				router_fill(out, r, names, values, n_args);
				return ROUTER_FOUND;
			}
			bool is_get = strcmp(r->method, "GET") == 0;
			if (is_head && is_get) /* unless a HEAD route comes later */
				router_fill(out, r, names, values, n_args);
			get_listed |= is_get;
			head_listed |= strcmp(r->method, "HEAD") == 0;
			found = true;
			router_allow(allow, allow_len, r->method);
		}
	}
	if (out->route)
		return ROUTER_FOUND;
	if (get_listed && !head_listed)
		router_allow(allow, allow_len, "HEAD");
	return found ? ROUTER_WRONG_METHOD : ROUTER_NOT_FOUND;
}

enum router_result router_find(const struct http_route *const *tables, const char *method, const char *target,
			       struct router_match *out, char *allow, size_t allow_len)
{
	const char *path_end = target + router_path_len(target);
	enum router_result result = router_look(tables, false, method, target, path_end, out, allow, allow_len);
	if (result == ROUTER_NOT_FOUND)
		result = router_look(tables, true, method, target, path_end, out, allow, allow_len);
	return result == ROUTER_FOUND || router_is_known(tables, method) ? result : ROUTER_UNKNOWN_METHOD;
}
