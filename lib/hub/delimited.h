/* Reads the rows of a CSV or TSV file (RFC 4180, as spreadsheets and pandas write it). Pure. */
#ifndef CAIRN_HUB_DELIMITED_H
#define CAIRN_HUB_DELIMITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The end of a field. */
enum cairn_delimited_end {
	CAIRN_DELIMITED_FIELD, /* a separator: another field of the row follows */
	CAIRN_DELIMITED_ROW,   /* the end of the row */
	CAIRN_DELIMITED_CUT,   /* the end of the bytes, but not of the file: the field may be incomplete */
	CAIRN_DELIMITED_NONE,  /* no field was left: all rows were read */
};

/** A position in a file. */
struct cairn_delimited {
	const char *at, *end; /* borrowed */
	char separator;
	bool is_cut; /* the file continues after the end */
	bool in_row; /* a field follows, perhaps an empty one */
};

/** Begins with the first bytes of a file. Skips a byte order mark of UTF-8.
 *  @param separator  0: comma, semicolon or tab, whichever is most frequent in the first row
 *  @param is_cut     the file has more bytes */
void cairn_delimited_begin(struct cairn_delimited *d, const char *bytes, size_t len, char separator, bool is_cut);

/** Reads the next field. A field in double quotes may contain separators, line ends and doubled quotes. Text after the
 * closing quote is returned as it is, and so are quotes in a field that does not begin with one. Rows end with LF, CR
 * or both.
 * @param[out] out  the text, without a zero at its end, cut to room bytes
 * @param[out] len  full length of the text, which may exceed room */
enum cairn_delimited_end cairn_delimited_next(struct cairn_delimited *d, char *out, size_t room, size_t *len);

#endif
