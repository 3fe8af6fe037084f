/* Charts as SVG, with classes of the stylesheet for their colours. Pure. */
#ifndef CAIRN_SERVER_PAGE_CHARTS_H
#define CAIRN_SERVER_PAGE_CHARTS_H

#include "base/buf.h"

enum {
	CHARTS_PARTS_MAX = 32, /* of a treemap; of each folder, what is behind them is one more */
	CHARTS_SIDE_MAX = 12,  /* of a matrix */
	CHARTS_COLOURS = 6,
	CHARTS_CELLS_MAX = 250, /* of a bar */
	CHARTS_MARKS_MAX = 8,   /* that chunks have; higher ones count as the last */
};

/** A part of a whole, and perhaps a whole of parts. Borrowed. */
struct chart_part {
	const char *name;
	uint32_t parent; /* place of what it is a part of, which stands before it; of the first, which is all: 0 */
	uint64_t bytes;  /* at least as many as its parts have together */
};

/** Append a treemap: of each part an area as large as its bytes, about, within that of its parent. Those with most are
 *  shown, and what else a parent has as one more. Parts without bytes are left out; what is in one of the largest
 * wholes has its colour.
 *  @param rest  what else there is in a whole, for readers  @param title  what a program reads instead */
void chart_put_treemap(struct cairn_buf *b, const char *title, const char *rest, const struct chart_part *parts,
		       size_t n);

/** Append a matrix of n by n fields, at most CHARTS_SIDE_MAX: the darker, the more two have in common.
 *  @param names  n of them  @param bytes  n by n, row by row; what stands on the diagonal is passed over */
void chart_put_matrix(struct cairn_buf *b, const char *title, const char *const *names, size_t n,
		      const uint64_t *bytes);

/** Append columns, one a day, the oldest first; a day with -1 has none. At least one is known.
 *  @param bytes  n of them, the newest first  @param title  what a program reads instead */
void chart_put_days(struct cairn_buf *b, const char *title, const int64_t *bytes, size_t n, int64_t newest_day);

/** Append columns, from left to right. Between both: one column, as high as the chart at 1, and within it one as high
 * as the inner height; places are from 0. @param colours  a class of the stylesheet  @param says  what it stands for */
void chart_begin_columns(struct cairn_buf *b, const char *title, const char *colours);
void chart_put_column(struct cairn_buf *b, size_t place, size_t n_places, double height, double inner,
		      const char *says);
void chart_end_columns(struct cairn_buf *b);

/** Append a bar of n chunks, each with the class "m" and its mark: where there are more than there is room for, that of
 *  most of them. */
void chart_put_chunks(struct cairn_buf *b, const char *title, const uint8_t *marks, size_t n);

#endif
