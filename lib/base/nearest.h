/* What a mistyped name was meant to be: the nearest of those that there are. */
#ifndef CAIRN_BASE_NEAREST_H
#define CAIRN_BASE_NEAREST_H

#include <stddef.h>

/** Plain value. */
struct cairn_nearest {
	const char *wanted; /* borrowed, not ended by a zero */
	size_t len;
	const char *best; /* of those offered, borrowed; NULL: none is near */
	unsigned least;   /* letters that best differs in, or one more than may */
};

/** Begin. Near is what two letters put in, left out or exchanged make the same, as "psuh" is to "push"; of a name of
 * less than four letters, one. */
struct cairn_nearest cairn_nearest_to(const char *wanted, size_t len);

/** One of the names that there are. Of two that are as near the first one counts. Names of more than 48 bytes are near
 * to none. */
void cairn_nearest_offer(struct cairn_nearest *n, const char *name);

#endif
