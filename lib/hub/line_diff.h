/* What two texts do not have in common, line by line. Pure. */
#ifndef CAIRN_HUB_LINE_DIFF_H
#define CAIRN_HUB_LINE_DIFF_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
	CAIRN_LINE_DIFF_BYTES_MAX = 256 << 10, /* of both texts together */
	CAIRN_LINE_DIFF_EDITS_MAX = 256,       /* that the shortest way is looked for among */
};

enum cairn_line_kind {
	CAIRN_LINE_SAME,
	CAIRN_LINE_REMOVED,
	CAIRN_LINE_ADDED,
};

/** A line, without what ends it. Borrowed from the texts. */
struct cairn_diff_line {
	enum cairn_line_kind kind;
	uint32_t before, after; /* its number in each text, from 1; in the one that lacks it that of the next line */
	const char *text;
	size_t len;
};

/**
 * Visit the lines that are other, and around each of them so many that are the same. Those that are only in the first
 * text come before those that take their place. The way is the shortest one, as long as that has at most
 * CAIRN_LINE_DIFF_EDITS_MAX lines; else all between the first difference and the last one counts as other. A last line
 * without an end is the same as one with it.
 * @param visit  answers false to end it there
 * @return CAIRN_OK; CAIRN_E_LIMIT the texts are too long; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_line_diff(const char *before, size_t before_len, const char *after,
						 size_t after_len, uint32_t context,
						 bool (*visit)(void *ctx, const struct cairn_diff_line *line),
						 void *ctx);

#endif
