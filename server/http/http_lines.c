#include "server/http/http_lines.h"

#include <stdint.h>
#include <string.h>

/* Are there exactly n bytes between the first place and the second? The two may be in different pieces of memory,
 * because the library moves a header that continues on a further line. */
static bool lines_are_apart(const char *from, const char *to, uintptr_t n)
{
	return (uintptr_t)to - (uintptr_t)from == n;
}

void http_lines_begin(struct http_lines *lines, const char *method, const char *target, size_t target_len,
		      const char *version)
{
	/* the library skips further spaces between method and target */
	const char *behind = method + strlen(method) + 1;
	uintptr_t n_spaces = 0;
	while (behind[n_spaces] == ' ')
		n_spaces++;
	lines->bad = !lines_are_apart(behind, target, n_spaces) || !lines_are_apart(target, version, target_len + 1);
	lines->end = version + strlen(version);
}

void http_lines_header(struct http_lines *lines, const char *name, const char *value, size_t value_len)
{
	if (!lines->end)
		return;
	lines->bad |= !lines_are_apart(lines->end, name, 2);
	lines->end = value + value_len;
}

void http_lines_end(struct http_lines *lines, const char *method, size_t head_bytes)
{
	if (lines->end)
		lines->bad |= !lines_are_apart(lines->end, method + head_bytes, 4);
}
