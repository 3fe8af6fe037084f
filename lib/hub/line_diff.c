#include "hub/line_diff.h"

#include <stdlib.h>
#include <string.h>

struct diff_line {
	const char *text;
	size_t len;
};

struct diff_text {
	struct diff_line *lines; /* owned */
	uint32_t n;
	bool *other; /* owned; for each line: the other text lacks it there */
};

static void diff_text_fini(struct diff_text *text)
{
	free(text->lines);
	free(text->other);
}

static enum cairn_status diff_split(struct diff_text *out, const char *text, size_t len)
{
	uint32_t n = 0;
	const char *end = text + len;
	for (const char *at = text; at < end; n++) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		at = line ? line + 1 : end;
	}
	out->lines = calloc((size_t)n + 1, sizeof(*out->lines));
	out->other = calloc((size_t)n + 1, sizeof(*out->other));
	if (!out->lines || !out->other)
		return CAIRN_E_NOMEM;
	for (const char *at = text; at < end;) {
		const char *line = memchr(at, '\n', (size_t)(end - at)), *stop = line ? line : end;
		out->lines[out->n++] = (struct diff_line){at, (size_t)(stop - at)};
		at = stop + 1;
	}
	return CAIRN_OK;
}

static bool diff_is_same(const struct diff_line *a, const struct diff_line *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->text, b->text, a->len) == 0);
}

/* Finds the shortest edits between the common first lines and the common last lines: E. Myers, "An O(ND) Difference
 * Algorithm", 1986. far[d] has how far the paths with d edits reach on each diagonal k = x - y, from -d to d. */
struct diff_way {
	const struct diff_line *a, *b;
	int32_t n_a, n_b;
	int32_t *far; /* owned; row d begins at d * d */
	bool *other_a, *other_b;
};

static void diff_way_fini(struct diff_way *w)
{
	free(w->far);
}

static int32_t *diff_row(const struct diff_way *w, int32_t d)
{
	return w->far + (size_t)d * (size_t)d + d; /* the element of k = 0 */
}

/* Does the farthest path with d edits to diagonal k come from above, by a line of b? */
static bool diff_is_down(const int32_t *before, int32_t d, int32_t k)
{
	return k == -d || (k != d && before[k - 1] < before[k + 1]);
}

/* Finds the place of the last edit of the path to diagonal k. */
static int32_t diff_step(const struct diff_way *w, int32_t d, int32_t k)
{
	const int32_t *before = d > 0 ? diff_row(w, d - 1) : NULL;
	if (!before)
		return 0;
	return diff_is_down(before, d, k) ? before[k + 1] : before[k - 1] + 1;
}

/* Searches for the path to the ends of both. @return its number of edits; -1: more than the limit */
static int32_t diff_search(const struct diff_way *w)
{
	for (int32_t d = 0; d <= CAIRN_LINE_DIFF_EDITS_MAX; d++) {
		int32_t *row = diff_row(w, d);
		for (int32_t k = -d; k <= d; k += 2) {
			int32_t x = diff_step(w, d, k);
			while (x >= 0 && x - k >= 0 && x < w->n_a && x - k < w->n_b &&
			       diff_is_same(&w->a[x], &w->b[x - k]))
				x++;
			row[k] = x;
			if (x >= w->n_a && x - k >= w->n_b)
				return d;
		}
	}
	return -1;
}

/* Follows the path back, and marks the lines that it removes and adds. */
static void diff_mark(const struct diff_way *w, int32_t d)
{
	int32_t k = w->n_a - w->n_b;
	for (; d > 0; d--) {
		const int32_t *before = diff_row(w, d - 1);
		if (diff_is_down(before, d, k)) {
			k++;
			w->other_b[before[k] - k] = true;
		} else {
			k--;
			w->other_a[before[k]] = true;
		}
	}
}

static enum cairn_status diff_find(struct diff_text *a, struct diff_text *b)
{
	uint32_t first = 0, end_a = a->n, end_b = b->n;
	while (first < end_a && first < end_b && diff_is_same(&a->lines[first], &b->lines[first]))
		first++;
	while (end_a > first && end_b > first && diff_is_same(&a->lines[end_a - 1], &b->lines[end_b - 1])) {
		end_a--;
		end_b--;
	}
	CLEANUP(diff_way_fini)
	struct diff_way w = {.a = a->lines + first,
			     .b = b->lines + first,
			     .n_a = (int32_t)(end_a - first),
			     .n_b = (int32_t)(end_b - first),
			     .other_a = a->other + first,
			     .other_b = b->other + first};
	w.far = calloc((size_t)(CAIRN_LINE_DIFF_EDITS_MAX + 1) * (CAIRN_LINE_DIFF_EDITS_MAX + 1), sizeof(*w.far));
	if (!w.far)
		return CAIRN_E_NOMEM;
	int32_t d = diff_search(&w);
	if (d >= 0) {
		diff_mark(&w, d);
	} else {
		memset(w.other_a, true, (size_t)w.n_a);
		memset(w.other_b, true, (size_t)w.n_b);
	}
	return CAIRN_OK;
}

struct diff_place {
	const struct diff_text *a, *b;
	uint32_t at_a, at_b;
};

/* Counts the equal lines from here on, at most max. */
static uint32_t diff_count_same(const struct diff_place *p, uint32_t max)
{
	uint32_t n = 0;
	while (n < max && p->at_a + n < p->a->n && !p->a->other[p->at_a + n] && !p->b->other[p->at_b + n])
		n++;
	return n;
}

static bool diff_visit(struct diff_place *p, enum cairn_line_kind kind,
		       bool (*visit)(void *ctx, const struct cairn_diff_line *line), void *ctx)
{
	const struct diff_line *line = kind == CAIRN_LINE_ADDED ? &p->b->lines[p->at_b] : &p->a->lines[p->at_a];
	const struct cairn_diff_line visited = {
		.kind = kind, .before = p->at_a + 1, .after = p->at_b + 1, .text = line->text, .len = line->len};
	p->at_a += kind != CAIRN_LINE_ADDED;
	p->at_b += kind != CAIRN_LINE_REMOVED;
	return visit(ctx, &visited);
}

static void diff_walk(struct diff_place *p, uint32_t context,
		      bool (*visit)(void *ctx, const struct cairn_diff_line *line), void *ctx)
{
	bool goes_on = true, begun = false;
	while (goes_on && (p->at_a < p->a->n || p->at_b < p->b->n)) {
		uint32_t same = diff_count_same(p, UINT32_MAX);
		bool ends = p->at_a + same == p->a->n && p->at_b + same == p->b->n;
		uint32_t lead = ends ? 0 : context, trail = begun ? context : 0;
		uint32_t left_out = same > lead + trail ? same - lead - trail : 0;
		for (uint32_t i = 0; i < same && goes_on; i++) {
			if (i == trail && left_out > 0) {
				p->at_a += left_out;
				p->at_b += left_out;
				i += left_out;
				if (i == same)
					break;
			}
			goes_on = diff_visit(p, CAIRN_LINE_SAME, visit, ctx);
		}
		while (goes_on && p->at_a < p->a->n && p->a->other[p->at_a])
			goes_on = diff_visit(p, CAIRN_LINE_REMOVED, visit, ctx);
		while (goes_on && p->at_b < p->b->n && p->b->other[p->at_b])
			goes_on = diff_visit(p, CAIRN_LINE_ADDED, visit, ctx);
		begun = true;
	}
}

enum cairn_status cairn_line_diff(const char *before, size_t before_len, const char *after, size_t after_len,
				  uint32_t context, bool (*visit)(void *ctx, const struct cairn_diff_line *line),
				  void *ctx)
{
	CLEANUP(diff_text_fini) struct diff_text a = {0};
	CLEANUP(diff_text_fini) struct diff_text b = {0};
	if (before_len > CAIRN_LINE_DIFF_BYTES_MAX || after_len > CAIRN_LINE_DIFF_BYTES_MAX - before_len)
		return CAIRN_E_LIMIT;
	enum cairn_status status = diff_split(&a, before, before_len);
	if (status == CAIRN_OK)
		status = diff_split(&b, after, after_len);
	if (status == CAIRN_OK)
		status = diff_find(&a, &b);
	if (status != CAIRN_OK)
		return status;
	struct diff_place place = {.a = &a, .b = &b};
	diff_walk(&place, context, visit, ctx);
	return CAIRN_OK;
}
