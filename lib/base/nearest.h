/* Finds the nearest known name to a mistyped one. */
#ifndef CAIRN_BASE_NEAREST_H
#define CAIRN_BASE_NEAREST_H

#include <stddef.h>

/** A search for a name. Plain value. */
struct cairn_nearest {
	const char *wanted; /* borrowed, without a final zero */
	size_t len;
	const char *best; /* the nearest name offered, borrowed; NULL: none is near */
	unsigned least;   /* edit distance of best, or the limit plus 1 */
};

/** Begins a search. A name is near within two inserted, omitted or replaced letters, as "psuh" is to "push"; within one
 * if it has fewer than four letters. */
struct cairn_nearest cairn_nearest_to(const char *wanted, size_t len);

/** Offers a known name. The first of equally near names counts. Names of more than 48 bytes are never near. */
void cairn_nearest_offer(struct cairn_nearest *n, const char *name);

#endif
