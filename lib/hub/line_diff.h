/* Compares two texts line by line. Pure. */
#ifndef CAIRN_HUB_LINE_DIFF_H
#define CAIRN_HUB_LINE_DIFF_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum {
	CAIRN_LINE_DIFF_BYTES_MAX = 256 << 10, /* bytes of both texts together */
	CAIRN_LINE_DIFF_EDITS_MAX = 256,       /* changed lines up to which the shortest difference is searched */
};

enum cairn_line_kind {
	CAIRN_LINE_SAME,
	CAIRN_LINE_REMOVED,
	CAIRN_LINE_ADDED,
};

/** A line, without its line end. Borrowed from the texts. */
struct cairn_diff_line {
	enum cairn_line_kind kind;
	uint32_t before, after; /* its number in each text, from 1; in a text without it, the next line's number */
	const char *text;
	size_t len;
};

/** Visits the lines that differ, and `context` equal lines around each. Removed lines come before the added lines that
 * replace them. The difference is the shortest one if that has at most CAIRN_LINE_DIFF_EDITS_MAX lines. Otherwise all
 * lines between the first difference and the last one count as different. The last line equals the same line with a
 * line end.
 * @param visit  returns false to stop
 * @return CAIRN_OK; CAIRN_E_LIMIT the texts are too long; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_line_diff(const char *before, size_t before_len, const char *after,
						 size_t after_len, uint32_t context,
						 bool (*visit)(void *ctx, const struct cairn_diff_line *line),
						 void *ctx);

#endif
