/* Charts as SVG, with classes of the stylesheet for their colours. Pure. */
#ifndef CAIRN_SERVER_PAGE_CHARTS_H
#define CAIRN_SERVER_PAGE_CHARTS_H

#include "base/buf.h"

enum {
	CHARTS_PARTS_MAX = 32, /* parts of a treemap; the rest of each folder is one more part */
	CHARTS_SIDE_MAX = 12,  /* rows of a matrix */
	CHARTS_COLOURS = 6,
	CHARTS_CELLS_MAX = 250, /* cells of a bar */
	CHARTS_MARKS_MAX = 8,   /* marks of chunks; higher marks count as the last one */
};

/** A node of a treemap. Borrowed. */
struct chart_part {
	const char *name;
	uint32_t parent; /* index of the parent, which must come before; the first part is the whole: 0 */
	uint64_t bytes;  /* at least the sum of its parts */
};

/** Appends a treemap: each part is an area about as large as its bytes, within its parent's area. The largest parts are
 * shown; the rest of a parent is one more area. Parts without bytes are left out. Each of the largest top parts has a
 * colour, which its own parts share.
 *  @param rest  label of a parent's rest @param title  read by programs in place of the chart */
void chart_put_treemap(struct cairn_buf *b, const char *title, const char *rest, const struct chart_part *parts,
		       size_t n);

/** Appends a matrix of n by n fields, at most CHARTS_SIDE_MAX: the more bytes a row and a column share, the darker.
 * @param names  n of them  @param bytes  n by n, row by row; the diagonal is ignored */
void chart_put_matrix(struct cairn_buf *b, const char *title, const char *const *names, size_t n,
		      const uint64_t *bytes);

/** Appends one column for each day, the oldest first. A day with -1 has no column. At least one day must be known.
 * @param bytes  n of them, the newest first @param title  read by programs in place of the chart */
void chart_put_days(struct cairn_buf *b, const char *title, const int64_t *bytes, size_t n, int64_t newest_day);

/** Begin and end a chart of columns, from left to right. The calls between append a column of a height up to 1, with a
 * second column of the inner height within it. Places count from 0. @param colours  a class of the stylesheet @param
 * says  the column's title */
void chart_begin_columns(struct cairn_buf *b, const char *title, const char *colours);
void chart_put_column(struct cairn_buf *b, size_t place, size_t n_places, double height, double inner,
		      const char *says);
void chart_end_columns(struct cairn_buf *b);

/** Appends a bar of n chunks. Each cell has class "m" with a mark; one of several chunks has their commonest mark. */
void chart_put_chunks(struct cairn_buf *b, const char *title, const uint8_t *marks, size_t n);

#endif
