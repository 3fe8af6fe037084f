#include "server/page/charts.h"

#include "server/ask/html.h"
#include "server/page/show.h"

#include <stdio.h>
#include <string.h>

enum {
	CHARTS_WIDTH = 1000,
	CHARTS_HEIGHT = 380,
	CHARTS_CHAR_WIDTH = 9,   /* rough width of a letter */
	CHARTS_LABEL_WIDTH = 40, /* narrower areas show no name */
	CHARTS_LABEL_HEIGHT = 22,
	CHARTS_FRAME = 4,        /* margin around the parts of a folder */
	CHARTS_TITLE_BYTES = 80, /* longest name in a title */
	CHARTS_FIELD = 28,
	CHARTS_NAMES = 420, /* largest width of the names beside a matrix */
	CHARTS_LEVELS = 5,
	CHARTS_DAYS_HEIGHT = 80,
	CHARTS_DAY_S = 86400,
};

/* --- treemap ------------------------------------------------------------------------------------------------------ */

struct chart_area {
	double x, y, width, height;
};

/* The area of a part in a treemap. */
struct chart_field {
	size_t part;           /* index of the part; CHART_REST: the rest of its parent */
	size_t parent;         /* index of the parent's area */
	uint64_t bytes, inner; /* inner: bytes of its parts that have areas */
	unsigned colour, n_inner;
	struct chart_area at; /* width 0: there is no room for it */
};

enum { CHARTS_FIELDS = 2 * CHARTS_PARTS_MAX + 2 };
static const size_t CHART_REST = SIZE_MAX;

struct chart_map {
	const struct chart_part *parts;
	struct chart_field fields[CHARTS_FIELDS]; /* the whole first; then the parts, largest first; then the rests */
	size_t n;
};

/* The free rectangle of an area, and how much of it a byte takes. */
struct chart_room {
	struct chart_area left;
	double scale;
};

/* Appends a number with one decimal, which html() cannot format. */
static void chart_put_number(struct cairn_buf *b, const char *name, double value)
{
	cairn_buf_printf(b, " %s=\"%.1f\"", name, value);
}

/* Appends as much of a name as fits. */
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

/* Returns the worst aspect ratio in a row of areas whose sum stands along this side. */
static double chart_worst(double most, double least, double sum, double side)
{
	double thick = sum / side, a = most / thick / thick, c = thick * thick / least;
	double b = thick * thick / most, d = least / thick / thick;
	double wide = a > b ? a : b, narrow = c > d ? c : d;
	return wide > narrow ? wide : narrow;
}

/* Returns how many areas make the next row: one more would make them less square. */
static size_t chart_row(const struct chart_room *room, const struct chart_field *const *fields, size_t n, double *area)
{
	double side = room->left.width < room->left.height ? room->left.width : room->left.height, worst = 0;
	*area = 0;
	for (size_t i = 0; i < n; i++) {
		double one = (double)fields[i]->bytes * room->scale;
		double now = chart_worst((double)fields[0]->bytes * room->scale, one, *area + one, side);
		if (i > 0 && now > worst)
			return i;
		worst = now;
		*area += one;
	}
	return n;
}

static void chart_lay_row(struct chart_room *room, struct chart_field *const *fields, size_t n, double area)
{
	struct chart_area *left = &room->left;
	bool upright = left->width >= left->height; /* the row stands along the left edge */
	double side = upright ? left->height : left->width, thick = area / side, at = 0;
	for (size_t i = 0; i < n; i++) {
		double length = (double)fields[i]->bytes * room->scale / thick;
		fields[i]->at = upright ? (struct chart_area){left->x, left->y + at, thick, length}
					: (struct chart_area){left->x + at, left->y, length, thick};
		at += length;
	}
	left->x += upright ? thick : 0;
	left->width -= upright ? thick : 0;
	left->y += upright ? 0 : thick;
	left->height -= upright ? 0 : thick;
}

static bool chart_has_label(const struct chart_area *at)
{
	return at->width >= CHARTS_LABEL_WIDTH && at->height >= CHARTS_LABEL_HEIGHT;
}

/* Returns the rectangle for the parts of an area, below its name. */
static struct chart_area chart_inside(const struct chart_area *at)
{
	bool named = chart_has_label(at) && at->height >= 2 * CHARTS_LABEL_HEIGHT;
	double top = named ? CHARTS_LABEL_HEIGHT : CHARTS_FRAME;
	return (struct chart_area){at->x + CHARTS_FRAME, at->y + top, at->width - 2 * CHARTS_FRAME,
				   at->height - top - CHARTS_FRAME};
}

/* Lays out the parts of an area. */
static void chart_lay(struct chart_map *m, size_t whole, const struct chart_area *at)
{
	struct chart_room room = {*at, at->width * at->height / (double)m->fields[whole].bytes};
	struct chart_field *inner[CHARTS_FIELDS];
	size_t n = 0;
	if (at->width <= CHARTS_FRAME || at->height <= CHARTS_FRAME)
		return;
	for (size_t i = 1; i < m->n; i++) {
		struct chart_field *field = &m->fields[i];
		if (field->parent != whole)
			continue;
		size_t place = n++; /* the rest comes last, and may be larger than the parts */
		for (; place > 0 && inner[place - 1]->bytes < field->bytes; place--)
			inner[place] = inner[place - 1];
		inner[place] = field;
	}
	for (size_t i = 0, row; i < n; i += row) {
		double area;
		row = chart_row(&room, (const struct chart_field *const *)inner + i, n - i, &area);
		chart_lay_row(&room, inner + i, row, area);
	}
}

static void chart_put_part(struct cairn_buf *b, const struct chart_field *field, const char *name)
{
	const struct chart_area *at = &field->at;
	char size[SHOW_BYTES];
	html(b, "<g><title>");
	html_cut(b, name, CHARTS_TITLE_BYTES);
	html(b, ": %s</title><rect class=\"t%u\"", show_size(size, field->bytes), field->colour);
	chart_put_number(b, "x", at->x);
	chart_put_number(b, "y", at->y);
	chart_put_number(b, "width", at->width);
	chart_put_number(b, "height", at->height);
	html(b, "/>");
	if (chart_has_label(at))
		chart_put_name(b, at->x + 6, at->y + 16, at->width - 8, name);
	if (field->n_inner == 0 && at->width >= 2 * CHARTS_LABEL_WIDTH && at->height >= 2 * CHARTS_LABEL_HEIGHT)
		chart_put_name(b, at->x + 6, at->y + 34, at->width - 8, size);
	html(b, "</g>\n");
}

/* Finds the area of a part. @return m->n: it has none */
static size_t chart_find(const struct chart_map *m, size_t part)
{
	size_t i = 0;
	while (i < m->n && m->fields[i].part != part)
		i++;
	return i;
}

/* Returns the largest part not taken so far; the first of equal ones. So a parent comes before its parts, or never. */
static size_t chart_next(const struct chart_map *m, size_t n)
{
	const struct chart_field *last = &m->fields[m->n - 1];
	size_t next = n;
	for (size_t i = 1; i < n; i++) {
		uint64_t bytes = m->parts[i].bytes;
		bool taken = bytes > last->bytes || (bytes == last->bytes && i <= last->part);
		if (bytes > 0 && !taken && (next == n || bytes > m->parts[next].bytes))
			next = i;
	}
	return next;
}

static void chart_take(struct chart_map *m, size_t n)
{
	unsigned n_colours = 0;
	m->fields[m->n++] = (struct chart_field){.bytes = m->parts[0].bytes};
	for (size_t part = chart_next(m, n); part < n && m->n <= CHARTS_PARTS_MAX; part = chart_next(m, n)) {
		size_t parent = chart_find(m, m->parts[part].parent);
		struct chart_field *whole = &m->fields[parent];
		m->fields[m->n++] =
			(struct chart_field){.part = part,
					     .parent = parent,
					     .bytes = m->parts[part].bytes,
					     .colour = parent > 0 ? whole->colour : n_colours++ % CHARTS_COLOURS};
		whole->inner += m->parts[part].bytes;
		whole->n_inner++;
	}
}

static void chart_take_rests(struct chart_map *m)
{
	for (size_t i = 0, n = m->n; i < n; i++) {
		const struct chart_field *whole = &m->fields[i];
		if (whole->n_inner > 0 && whole->inner < whole->bytes)
			m->fields[m->n++] = (struct chart_field){.part = CHART_REST,
								 .parent = i,
								 .bytes = whole->bytes - whole->inner,
								 .colour = i > 0 ? whole->colour : CHARTS_COLOURS};
	}
}

void chart_put_treemap(struct cairn_buf *b, const char *title, const char *rest, const struct chart_part *parts,
		       size_t n)
{
	struct chart_map m = {.parts = parts};
	if (n < 2 || parts[0].bytes == 0)
		return;
	chart_take(&m, n);
	chart_take_rests(&m);
	if (m.n < 2)
		return;
	chart_lay(&m, 0, &(struct chart_area){0, 0, CHARTS_WIDTH, CHARTS_HEIGHT});
	html(b, "<svg class=\"treemap\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", CHARTS_WIDTH,
	     CHARTS_HEIGHT, title);
	for (size_t i = 1; i < m.n; i++) { /* each part comes after its parent */
		const struct chart_field *field = &m.fields[i];
		struct chart_area inside = chart_inside(&field->at);
		if (field->at.width <= 0)
			continue;
		if (field->n_inner > 0)
			chart_lay(&m, i, &inside);
		chart_put_part(b, field, field->part == CHART_REST ? rest : parts[field->part].name);
	}
	html(b, "</svg>\n");
}

/* --- matrix ------------------------------------------------------------------------------------------------------- */

/* Returns the darkness of a field: 0 for no bytes, else by how often the maximum must be halved. */
static unsigned chart_level(uint64_t bytes, uint64_t most)
{
	unsigned level = CHARTS_LEVELS;
	if (bytes == 0)
		return 0;
	for (; level > 1 && bytes < most / 4; level--)
		most /= 4;
	return level;
}

/* Appends a field. Its title has the numbers of its row and column, and the bytes. */
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

/* --- columns ------------------------------------------------------------------------------------------------------ */

void chart_begin_columns(struct cairn_buf *b, const char *title, const char *colours)
{
	html(b, "<svg class=\"%s\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s\">",
	     colours, CHARTS_WIDTH, CHARTS_DAYS_HEIGHT, title);
}

void chart_end_columns(struct cairn_buf *b)
{
	html(b, "</svg>\n");
}

static void chart_put_bar(struct cairn_buf *b, const char *colour, double x, double width, double height)
{
	html(b, "<rect class=\"%s\"", colour);
	chart_put_number(b, "x", x);
	chart_put_number(b, "y", CHARTS_DAYS_HEIGHT - height);
	chart_put_number(b, "width", width);
	chart_put_number(b, "height", height);
	html(b, "/>");
}

void chart_put_column(struct cairn_buf *b, size_t place, size_t n_places, double height, double inner, const char *says)
{
	double width = (double)CHARTS_WIDTH / (double)n_places, x = (double)place * width + 1;
	html(b, "<g><title>%s</title>", says);
	height *= CHARTS_DAYS_HEIGHT;
	chart_put_bar(b, "day", x, width - 2, height < 1 ? 1 : height); /* a zero is drawn, too, if it is known */
	if (inner > 0)
		chart_put_bar(b, "part", x, width - 2, inner * CHARTS_DAYS_HEIGHT);
	html(b, "</g>");
}

void chart_put_days(struct cairn_buf *b, const char *title, const int64_t *bytes, size_t n, int64_t newest_day)
{
	int64_t most = 1;
	for (size_t i = 0; i < n; i++)
		most = bytes[i] > most ? bytes[i] : most;
	chart_begin_columns(b, title, "days");
	for (size_t i = n; i-- > 0;) {
		char size[SHOW_BYTES], when[SHOW_BYTES], says[2 * SHOW_BYTES];
		if (bytes[i] < 0)
			continue;
		(void)snprintf(says, sizeof(says), "%s: %s", show_time(when, (newest_day - (int64_t)i) * CHARTS_DAY_S),
			       show_size(size, (uint64_t)bytes[i]));
		chart_put_column(b, n - 1 - i, n, (double)bytes[i] / (double)most, 0, says);
	}
	chart_end_columns(b);
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

/* Returns the most frequent mark of some chunks; the lowest of equally frequent ones. */
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
		if (goes_on) /* equal neighbours become one field */
			continue;
		html(b, "<rect class=\"m%u\"", mark);
		chart_put_number(b, "x", (double)(begun * CHARTS_WIDTH) / (double)n_cells);
		chart_put_number(b, "width", (double)((cell + 1 - begun) * CHARTS_WIDTH) / (double)n_cells);
		html(b, " height=\"24\"/>");
		begun = cell + 1;
	}
	html(b, "</svg>\n");
}
