#include "server/page/charts.h"

#include "server/page/html.h"
#include "server/page/show.h"

#include <stdio.h>
#include <string.h>

enum {
	CHARTS_WIDTH = 1000,
	CHARTS_HEIGHT = 380,
	CHARTS_CHAR_WIDTH = 8,   /* of a letter, about */
	CHARTS_LABEL_WIDTH = 40, /* narrower fields have no name */
	CHARTS_LABEL_HEIGHT = 22,
	CHARTS_FIELD = 28,
	CHARTS_NAMES = 420, /* width of the names beside a matrix, for which there is no more room */
	CHARTS_LEVELS = 5,
	CHARTS_DAYS_HEIGHT = 80,
	CHARTS_DAY_S = 86400,
};

/* --- treemap ------------------------------------------------------------------------------------------------------ */

struct chart_area {
	double x, y, width, height;
};

struct chart_map {
	struct cairn_buf *b;
	struct chart_area left; /* what is not covered so far */
	double scale;           /* area of a byte */
	const char *groups[CHARTS_COLOURS];
	unsigned n_groups;
};

static unsigned chart_colour(struct chart_map *m, const char *group)
{
	for (unsigned i = 0; i < m->n_groups && i < CHARTS_COLOURS; i++)
		if (strcmp(m->groups[i], group) == 0)
			return i;
	if (m->n_groups < CHARTS_COLOURS)
		m->groups[m->n_groups] = group;
	return m->n_groups++ % CHARTS_COLOURS;
}

/* A number with one digit behind the point: html() has none of these. */
static void chart_put_number(struct cairn_buf *b, const char *name, double value)
{
	cairn_buf_printf(b, " %s=\"%.1f\"", name, value);
}

/* As much of a name as there is room for. */
static void chart_put_name(struct cairn_buf *b, double x, double y, double width, const char *name)
{
	size_t room = (size_t)(width / CHARTS_CHAR_WIDTH);
	html(b, "<text");
	chart_put_number(b, "x", x);
	chart_put_number(b, "y", y);
	html(b, ">");
	html_cut(b, name, room > 1 ? room - 1 : 1);
	html(b, "</text>");
}

static void chart_put_part(struct chart_map *m, const struct chart_part *part, const struct chart_area *at)
{
	struct cairn_buf *b = m->b;
	char size[SHOW_BYTES];
	html(b, "<g><title>%s: %s</title><rect class=\"t%u\"", part->name, show_size(size, part->bytes),
	     chart_colour(m, part->group));
	chart_put_number(b, "x", at->x);
	chart_put_number(b, "y", at->y);
	chart_put_number(b, "width", at->width);
	chart_put_number(b, "height", at->height);
	html(b, "/>");
	if (at->width >= CHARTS_LABEL_WIDTH && at->height >= CHARTS_LABEL_HEIGHT)
		chart_put_name(b, at->x + 6, at->y + 16, at->width - 8, part->name);
	if (at->width >= 2 * CHARTS_LABEL_WIDTH && at->height >= 2 * CHARTS_LABEL_HEIGHT)
		chart_put_name(b, at->x + 6, at->y + 34, at->width - 8, size);
	html(b, "</g>\n");
}

/* How long the worst field of a row is for its width, when the row has this much along a side. */
static double chart_worst(double most, double least, double sum, double side)
{
	double thick = sum / side, a = most / thick / thick, c = thick * thick / least;
	double b = thick * thick / most, d = least / thick / thick;
	double wide = a > b ? a : b, narrow = c > d ? c : d;
	return wide > narrow ? wide : narrow;
}

/* @return how many parts make the next row: another one would make its fields longer, and not more like squares */
static size_t chart_row(const struct chart_map *m, const struct chart_part *parts, size_t n, double *area)
{
	double side = m->left.width < m->left.height ? m->left.width : m->left.height, worst = 0;
	*area = 0;
	for (size_t i = 0; i < n; i++) {
		double one = (double)parts[i].bytes * m->scale;
		double now = chart_worst((double)parts[0].bytes * m->scale, one, *area + one, side);
		if (i > 0 && now > worst)
			return i;
		worst = now;
		*area += one;
	}
	return n;
}

static void chart_put_row(struct chart_map *m, const struct chart_part *parts, size_t n, double area)
{
	struct chart_area *left = &m->left;
	bool upright = left->width >= left->height; /* the row stands at the left edge */
	double side = upright ? left->height : left->width, thick = area / side, at = 0;
	for (size_t i = 0; i < n; i++) {
		double length = (double)parts[i].bytes * m->scale / thick;
		struct chart_area one = upright ? (struct chart_area){left->x, left->y + at, thick, length}
						: (struct chart_area){left->x + at, left->y, length, thick};
		chart_put_part(m, &parts[i], &one);
		at += length;
	}
	left->x += upright ? thick : 0;
	left->width -= upright ? thick : 0;
	left->y += upright ? 0 : thick;
	left->height -= upright ? 0 : thick;
}

/* Those that are shown, the last of them in one. @return how many */
static size_t chart_take(struct chart_part out[static CHARTS_PARTS_MAX], const struct chart_part *parts, size_t n,
			 uint64_t *sum)
{
	size_t taken = 0;
	*sum = 0;
	for (size_t i = 0; i < n; i++) {
		*sum += parts[i].bytes;
		if (parts[i].bytes == 0)
			continue;
		if (taken < CHARTS_PARTS_MAX) {
			out[taken++] = parts[i];
		} else {
			out[taken - 1].bytes += parts[i].bytes;
			out[taken - 1].name = out[taken - 1].group = "others";
		}
	}
	return taken;
}

void chart_put_treemap(struct cairn_buf *b, const char *title, const struct chart_part *parts, size_t n)
{
	struct chart_part shown[CHARTS_PARTS_MAX];
	uint64_t sum;
	size_t n_shown = chart_take(shown, parts, n, &sum);
	if (n_shown == 0)
		return;
	struct chart_map m = {.b = b,
			      .left = {0, 0, CHARTS_WIDTH, CHARTS_HEIGHT},
			      .scale = (double)CHARTS_WIDTH * CHARTS_HEIGHT / (double)sum};
	html(b,
	     "<svg class=\"treemap\" viewBox=\"0 0 %d %d\" role=\"img\" "
	     "aria-label=\"%s\">\n",
	     CHARTS_WIDTH, CHARTS_HEIGHT, title);
	for (size_t at = 0, row; at < n_shown; at += row) {
		double area;
		row = chart_row(&m, shown + at, n_shown - at, &area);
		chart_put_row(&m, shown + at, row, area);
	}
	html(b, "</svg>\n");
}

/* --- matrix ------------------------------------------------------------------------------------------------------- */

/* 0 for nothing, then by how many halvings it is from the most. */
static unsigned chart_level(uint64_t bytes, uint64_t most)
{
	unsigned level = CHARTS_LEVELS;
	if (bytes == 0)
		return 0;
	for (; level > 1 && bytes < most / 4; level--)
		most /= 4;
	return level;
}

/* What says more than its place are the numbers beside it, and how much it is. */
static void chart_put_field(struct cairn_buf *b, size_t row, size_t column, uint64_t bytes, uint64_t most)
{
	char size[SHOW_BYTES];
	bool says = row != column && bytes > 0;
	if (says)
		html(b, "<g><title>%zu, %zu: %s</title>", row + 1, column + 1, show_size(size, bytes));
	html(b, "<rect class=\"");
	html(b, row == column ? "self" : "h%u", chart_level(bytes, most));
	html(b, "\" x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\" rx=\"3\"/>", (column + 1) * CHARTS_FIELD,
	     (row + 1) * CHARTS_FIELD, CHARTS_FIELD - 2, CHARTS_FIELD - 2);
	html(b, says ? "</g>" : "");
}

void chart_put_matrix(struct cairn_buf *b, const char *title, const char *const *names, size_t n, const uint64_t *bytes)
{
	uint64_t most = 0;
	n = n < CHARTS_SIDE_MAX ? n : CHARTS_SIDE_MAX;
	for (size_t i = 0; i < n * n; i++)
		most = i / n != i % n && bytes[i] > most ? bytes[i] : most;
	size_t width = (n + 1) * CHARTS_FIELD + CHARTS_NAMES, height = (n + 1) * CHARTS_FIELD;
	html(b,
	     "<div class=\"scroll\" tabindex=\"0\"><svg class=\"matrix\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu "
	     "%zu\" role=\"img\" aria-label=\"%s\">\n",
	     width, height, width, height, title);
	for (size_t row = 0; row < n; row++) {
		size_t y = (row + 2) * CHARTS_FIELD - 9;
		html(b, "<text class=\"number\" x=\"%zu\" y=\"%d\">%zu</text>",
		     (row + 1) * CHARTS_FIELD + CHARTS_FIELD / 2 - 1, CHARTS_FIELD - 8, row + 1);
		html(b, "<text class=\"number\" x=\"14\" y=\"%zu\">%zu</text>", y, row + 1);
		chart_put_name(b, (double)((n + 1) * CHARTS_FIELD + 8), (double)y, CHARTS_NAMES - 8, names[row]);
		for (size_t column = 0; column < n; column++)
			chart_put_field(b, row, column, bytes[row * n + column], most);
		html(b, "\n");
	}
	html(b, "</svg></div>\n");
}

/* --- days --------------------------------------------------------------------------------------------------------- */

void chart_put_days(struct cairn_buf *b, const char *title, const int64_t *bytes, size_t n, int64_t newest_day)
{
	int64_t most = 1;
	double width = (double)CHARTS_WIDTH / (double)n;
	for (size_t i = 0; i < n; i++)
		most = bytes[i] > most ? bytes[i] : most;
	html(b,
	     "<svg class=\"days\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s\">",
	     CHARTS_WIDTH, CHARTS_DAYS_HEIGHT, title);
	for (size_t i = n; i-- > 0;) {
		char size[SHOW_BYTES], when[SHOW_BYTES];
		double height = (double)bytes[i] / (double)most * CHARTS_DAYS_HEIGHT;
		if (bytes[i] < 0)
			continue;
		height = height < 1 ? 1 : height; /* that a day was empty is known, too */
		html(b, "<g><title>%s: %s</title><rect class=\"day\"",
		     show_time(when, (newest_day - (int64_t)i) * CHARTS_DAY_S), show_size(size, (uint64_t)bytes[i]));
		chart_put_number(b, "x", (double)(n - 1 - i) * width + 1);
		chart_put_number(b, "y", CHARTS_DAYS_HEIGHT - height);
		chart_put_number(b, "width", width - 2);
		chart_put_number(b, "height", height);
		html(b, "/></g>");
	}
	html(b, "</svg>\n");
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

/* What most of some chunks have; of several the lowest. */
static unsigned chart_mark(const uint8_t *marks, size_t n)
{
	size_t counts[CHARTS_MARKS_MAX] = {0};
	unsigned most = 0;
	for (size_t i = 0; i < n; i++)
		counts[marks[i] < CHARTS_MARKS_MAX ? marks[i] : CHARTS_MARKS_MAX - 1]++;
	for (unsigned mark = 1; mark < CHARTS_MARKS_MAX; mark++)
		most = counts[mark] > counts[most] ? mark : most;
	return most;
}

void chart_put_chunks(struct cairn_buf *b, const char *title, const uint8_t *marks, size_t n)
{
	size_t n_cells = n < CHARTS_CELLS_MAX ? n : CHARTS_CELLS_MAX, begun = 0;
	html(b,
	     "<svg class=\"room\" viewBox=\"0 0 %d 24\" preserveAspectRatio=\"none\" role=\"img\" "
	     "aria-label=\"%s\">",
	     CHARTS_WIDTH, title);
	for (size_t cell = 0; cell < n_cells; cell++) {
		size_t first = cell * n / n_cells, next = (cell + 1) * n / n_cells;
		unsigned mark = chart_mark(marks + first, next - first);
		bool goes_on = cell + 1 < n_cells && chart_mark(marks + next, (cell + 2) * n / n_cells - next) == mark;
		if (goes_on) /* neighbours alike are one field */
			continue;
		html(b, "<rect class=\"m%u\"", mark);
		chart_put_number(b, "x", (double)(begun * CHARTS_WIDTH) / (double)n_cells);
		chart_put_number(b, "width", (double)((cell + 1 - begun) * CHARTS_WIDTH) / (double)n_cells);
		html(b, " height=\"24\"/>");
		begun = cell + 1;
	}
	html(b, "</svg>\n");
}
