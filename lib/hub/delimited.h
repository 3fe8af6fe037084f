/* Rows of a CSV or TSV file: RFC 4180, as spreadsheets and pandas write them. Pure. */
#ifndef CAIRN_HUB_DELIMITED_H
#define CAIRN_HUB_DELIMITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What ended a field. */
enum cairn_delimited_end {
	CAIRN_DELIMITED_FIELD, /* the separator: another one of the same row follows */
	CAIRN_DELIMITED_ROW,   /* the end of its row */
	CAIRN_DELIMITED_CUT,   /* the bytes, and there are more of them in the file: what was read of it is a part */
	CAIRN_DELIMITED_NONE,  /* there was none: all rows were read */
};

/** A place in a file. */
struct cairn_delimited {
	const char *at, *end; /* borrowed */
	char separator;
	bool is_cut; /* the file goes on behind the end */
	bool in_row; /* a field follows, and be it empty */
};

/** Begin with the first bytes of a file, behind its mark of UTF-8, if it has one.
 *  @param separator  0: the one of comma, semicolon and tab that its first row has most of
 *  @param is_cut     the file has more bytes */
void cairn_delimited_begin(struct cairn_delimited *d, const char *bytes, size_t len, char separator, bool is_cut);

/**
 * Read the next field. One in double quotes may have separators, ends of lines, and quotes, each written twice; what
 * follows its last quote is taken as it is, and so are quotes within a field that does not begin with one. Rows end
 * with LF, CR or both.
 * @param[out] out  its text, no zero behind it; what there is no room for is left away
 * @param[out] len  how long it is; > room: of that much there was room
 */
enum cairn_delimited_end cairn_delimited_next(struct cairn_delimited *d, char *out, size_t room, size_t *len);

#endif
