#include "hub/pattern.h"

#include <string.h>

struct span {
	const char *at;
	size_t len;
};

enum {
	PATTERN_LINE_STEPS = 4,    /* steps to begin a line */
	PATTERN_BYTES_OF_STEP = 8, /* bytes searched in one step */
};

/* @return false: no steps are left, so the result of the match is meaningless */
static bool spend(struct cairn_hub_patterns *all, size_t steps)
{
	all->steps_left = all->steps_left > steps ? all->steps_left - steps : 0;
	return all->steps_left > 0;
}

/* --- a name ------------------------------------------------------------------------------------------------------- */

static bool span_is(const struct span *s, const char *text)
{
	return s->len == strlen(text) && memcmp(s->at, text, s->len) == 0;
}

/* Reads one character of a class, possibly after "\". @return its length */
static size_t class_char(const char *at, const char *end, unsigned char *out)
{
	size_t len = *at == '\\' && at + 1 < end ? 2 : 1;
	*out = (unsigned char)at[len - 1];
	return len;
}

/* Matches "[a-c]" or "[!x]". @return its length; 0: it has no end. @param[out] in  the class contains the character */
static size_t class_match(struct cairn_hub_patterns *all, const char *at, const char *end, unsigned char c, bool *in)
{
	const char *p = at + 1;
	bool negated = p < end && (*p == '!' || *p == '^'), found = false;
	p += negated;
	for (bool first = true; p < end && (first || *p != ']'); first = false) {
		unsigned char low, high;
		p += class_char(p, end, &low);
		high = low;
		if (p + 1 < end && *p == '-' && p[1] != ']') {
			p++;
			p += class_char(p, end, &high);
		}
		found = found || (low <= c && c <= high);
	}
	*in = found != negated;
	(void)spend(all, (size_t)(p - at));
	return p < end ? (size_t)(p + 1 - at) : 0;
}

/* Does the pattern at p match the character? @return length of this part of the pattern; 0: no */
static size_t name_step(struct cairn_hub_patterns *all, const char *p, const char *end, char c)
{
	bool in = false;
	size_t len = 1;
	if (*p == '?')
		return 1;
	if (*p == '[') {
		len = class_match(all, p, end, (unsigned char)c, &in);
		if (len > 0)
			return in ? len : 0;
		return c == '[' ? 1 : 0;
	}
	if (*p == '\\' && p + 1 < end)
		len = 2;
	return p[len - 1] == c ? len : 0;
}

/* Matches a name with a pattern without slashes. Only the last "*" is ever retried. */
static bool name_matches(struct cairn_hub_patterns *all, const struct span *pattern, const struct span *name)
{
	const char *p = pattern->at, *p_end = p + pattern->len, *t = name->at, *t_end = t + name->len;
	const char *star = NULL, *star_t = NULL;
	while (t < t_end) {
		if (!spend(all, 1))
			return false;
		size_t len = p < p_end && *p != '*' ? name_step(all, p, p_end, *t) : 0;
		if (p < p_end && *p == '*') {
			star = ++p;
			star_t = t;
		} else if (len > 0) {
			p += len;
			t++;
		} else if (star) {
			p = star;
			t = ++star_t;
		} else {
			return false;
		}
	}
	while (p < p_end && *p == '*')
		p++;
	return p == p_end;
}

/* --- a path ------------------------------------------------------------------------------------------------------- */

/* Takes the next name of a path. *at moves past its slash, and past the end after the last name. */
static bool path_next(const char **at, const char *end, struct span *out)
{
	if (*at > end)
		return false;
	const char *slash = *at < end ? memchr(*at, '/', (size_t)(end - *at)) : NULL;
	const char *stop = slash ? slash : end;
	*out = (struct span){*at, (size_t)(stop - *at)};
	*at = stop + 1;
	return true;
}

/* Matches name by name. "**" matches any number of names, at the end at least one. Only the last "**" is retried. */
static bool path_matches(struct cairn_hub_patterns *all, const struct span *pattern, const struct span *path)
{
	const char *p = pattern->at, *p_end = p + pattern->len, *t = path->at, *t_end = t + path->len;
	const char *star = NULL, *star_t = NULL;
	struct span want = {0}, have = {0};
	while (t <= t_end) {
		bool more = path_next(&p, p_end, &want);
		if (!spend(all, 1 + want.len / PATTERN_BYTES_OF_STEP))
			return false;
		if (more && span_is(&want, "**")) {
			if (p > p_end)
				return true;
			star = p;
			star_t = t;
			continue;
		}
		(void)path_next(&t, t_end, &have);
		if (more && name_matches(all, &want, &have))
			continue;
		if (!star)
			return false;
		p = star;
		(void)path_next(&star_t, t_end, &have);
		t = star_t;
	}
	return p > p_end;
}

/* Matches a pattern without a slash with the last name at any depth, and any other pattern with the whole path. */
static bool line_matches(struct cairn_hub_patterns *all, struct span pattern, const struct span *path)
{
	bool anchored = memchr(pattern.at, '/', pattern.len) != NULL;
	if (pattern.len > 0 && pattern.at[0] == '/') {
		pattern.at++;
		pattern.len--;
	}
	if (anchored)
		return path_matches(all, &pattern, path);
	const char *slash = memrchr(path->at, '/', path->len);
	struct span name = slash ? (struct span){slash + 1, (size_t)(path->at + path->len - slash - 1)} : *path;
	return name_matches(all, &pattern, &name);
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

/* @return false at the end, or if no steps are left */
static bool next_line(struct cairn_hub_patterns *all, const char **at, struct span *out)
{
	const char *end = all->text + all->len;
	if (*at >= end)
		return false;
	const char *newline = memchr(*at, '\n', (size_t)(end - *at)), *stop = newline ? newline : end;
	*out = (struct span){*at, (size_t)(stop - *at)};
	if (out->len > 0 && out->at[out->len - 1] == '\r')
		out->len--;
	*at = stop + 1;
	return spend(all, PATTERN_LINE_STEPS + out->len / PATTERN_BYTES_OF_STEP);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Takes the next word of a line. *line keeps the rest. */
static bool next_word(struct span *line, struct span *out)
{
	while (line->len > 0 && is_blank(line->at[0])) {
		line->at++;
		line->len--;
	}
	bool quoted = line->len > 0 && line->at[0] == '"';
	const char *end = line->at + line->len, *p = line->at + quoted;
	while (p < end && (quoted ? *p != '"' : !is_blank(*p)))
		p += *p == '\\' && p + 1 < end ? 2 : 1;
	*out = (struct span){line->at + quoted, (size_t)(p - line->at) - quoted};
	p += quoted && p < end;
	line->at = p;
	line->len = (size_t)(end - p);
	return out->len > 0;
}

/* Reads the attribute: "filter=lfs" means yes; "filter", "-filter", "!filter" and another filter mean no. @return
 * false: another attribute */
static bool attribute_read_filter(const struct span *word, bool *lfs)
{
	struct span rest = *word;
	if (rest.len > 0 && (rest.at[0] == '-' || rest.at[0] == '!')) {
		rest.at++;
		rest.len--;
	}
	if (!span_is(&rest, "filter") && !(rest.len > 7 && memcmp(rest.at, "filter=", 7) == 0))
		return false;
	*lfs = span_is(word, "filter=lfs");
	return true;
}

bool cairn_hub_pattern_is_lfs(struct cairn_hub_patterns *attributes, const char *path)
{
	struct span line, pattern, word, whole = {path, strlen(path)};
	const char *at = attributes->text;
	bool lfs = false;
	while (next_line(attributes, &at, &line)) {
		if (!next_word(&line, &pattern) || pattern.at[0] == '#' || pattern.at[0] == '!' ||
		    !line_matches(attributes, pattern, &whole))
			continue;
		while (next_word(&line, &word))
			(void)attribute_read_filter(&word, &lfs);
	}
	return lfs;
}

/* Removes trailing spaces, unless a "\" keeps them. */
static void trim_end(struct span *line)
{
	while (line->len > 0 && is_blank(line->at[line->len - 1]) &&
	       !(line->len > 1 && line->at[line->len - 2] == '\\'))
		line->len--;
}

/* Is one folder, or the file itself, ignored, whatever is above it? */
static bool is_left_out(struct cairn_hub_patterns *ignore, const struct span *path, bool folder)
{
	const char *at = ignore->text;
	struct span line;
	bool out = false;
	while (next_line(ignore, &at, &line)) {
		trim_end(&line);
		bool negated = line.len > 0 && line.at[0] == '!';
		line.at += negated;
		line.len -= negated;
		bool for_folders = line.len > 0 && line.at[line.len - 1] == '/';
		line.len -= for_folders;
		if (line.len == 0 || (line.at[0] == '#' && !negated) || (for_folders && !folder))
			continue;
		if (out == negated && line_matches(ignore, line, path))
			out = !negated;
	}
	return out;
}

bool cairn_hub_pattern_is_ignored(struct cairn_hub_patterns *ignore, const char *path)
{
	for (const char *slash = strchr(path, '/'); slash && ignore->steps_left > 0; slash = strchr(slash + 1, '/'))
		if (is_left_out(ignore, &(struct span){path, (size_t)(slash - path)}, true))
			return true;
	return is_left_out(ignore, &(struct span){path, strlen(path)}, false);
}
