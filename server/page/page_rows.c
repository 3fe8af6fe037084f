#include "server/page/page_rows.h"

#include "hub/delimited.h"
#include "server/ask/html.h"

#include <string.h>

enum {
	ROWS_MAX = 25, /* rows, including the first, which names the columns */
	ROWS_COLUMNS = 12,
	ROWS_CELL_BYTES = 60, /* longest shown part of a cell */
	ROWS_CELL_ROOM = 64,  /* the same, plus the rest of a character */
	ROWS_BYTES = 20000,   /* all shown cells together */
};

/* The shown part of a row. */
struct rows_row {
	struct rows_cell {
		char text[ROWS_CELL_ROOM + 1]; /* texts of the cells, each ended by a zero */
	} cells[ROWS_COLUMNS];
	unsigned n_columns; /* number of columns of the table */
};

/* Reads a row. @return false: there is none, or it is incomplete */
static bool rows_read(struct cairn_delimited *d, struct rows_row *row)
{
	enum cairn_delimited_end end = CAIRN_DELIMITED_FIELD;
	for (row->n_columns = 0; end == CAIRN_DELIMITED_FIELD;) {
		char cell[ROWS_CELL_ROOM];
		size_t len;
		end = cairn_delimited_next(d, cell, sizeof(cell), &len);
		if (end == CAIRN_DELIMITED_NONE || end == CAIRN_DELIMITED_CUT)
			return false;
		len = len < sizeof(cell) ? len : sizeof(cell);
		if (row->n_columns < ROWS_COLUMNS) {
			char *text = row->cells[row->n_columns].text;
			size_t kept = 0;
			for (size_t i = 0; i < len; i++) /* a cell may have several lines, with Windows line ends */
				if (cell[i] != '\r')
					text[kept++] = cell[i];
			text[kept] = '\0';
		}
		row->n_columns++;
	}
	return true;
}

static bool rows_is_number(const char *text)
{
	return text[0] && strspn(text, "0123456789+-.,eE%") == strlen(text) && strpbrk(text, "0123456789");
}

static void rows_put(struct cairn_buf *b, const struct rows_row *row, unsigned n_columns, bool is_head)
{
	html(b, "<tr>");
	for (unsigned i = 0; i < n_columns && i < ROWS_COLUMNS; i++) {
		const char *text = i < row->n_columns ? row->cells[i].text : "";
		html(b, is_head ? "<th scope=\"col\">" : rows_is_number(text) ? "<td class=\"num\">" : "<td>");
		html(b, "<bdi>");
		html_cut(b, text, ROWS_CELL_BYTES);
		html(b, is_head ? "</bdi></th>" : "</bdi></td>");
	}
	html(b, "</tr>\n");
}

bool page_put_rows(struct cairn_buf *b, const char *text, size_t len, char separator, bool is_cut)
{
	struct cairn_delimited d;
	struct rows_row row;
	unsigned n = 1, n_columns;
	size_t end = b->len + ROWS_BYTES;
	cairn_delimited_begin(&d, text, len, separator, is_cut);
	if (!rows_read(&d, &row) || row.n_columns < 2)
		return false;
	n_columns = row.n_columns;
	html(b, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"First rows\"><table class=\"cells\" "
		"id=\"rows\"><thead>");
	rows_put(b, &row, n_columns, true);
	html(b, "</thead><tbody>\n");
	bool more = rows_read(&d, &row);
	for (; more && n < ROWS_MAX && b->len < end; n++) {
		rows_put(b, &row, n_columns, false);
		more = rows_read(&d, &row);
	}
	html(b, "</tbody></table></div>\n<p class=\"dim\">");
	html(b, more || is_cut ? "The first %u rows" : "%u rows", n - 1);
	html(b, n_columns > ROWS_COLUMNS ? ", and %d of %u columns" : "", (int)ROWS_COLUMNS, n_columns);
	html(b, "%s</p>\n", more || is_cut || n_columns > ROWS_COLUMNS ? "; all of it comes with the file." : ".");
	return true;
}
