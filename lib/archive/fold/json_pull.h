/* Reading a JSON text piece by piece, without a tree of it: for texts of many megabytes, for numbers of any size, and
 * to know where in the text a value stands. json.h is for small ones. */
#ifndef CAIRN_ARCHIVE_FOLD_JSON_PULL_H
#define CAIRN_ARCHIVE_FOLD_JSON_PULL_H

#include "base/buf.h"

enum { CAIRN_JSON_PULL_DEPTH_MAX = 32 };

/** Borrows the text, which must outlive it. Sticky: once bad it stays bad, and every call answers false or 0. The
 *  numbers NaN, Infinity and -Infinity are taken, since Python writes them. Not for use by two threads at once. */
struct cairn_json_pull {
	const uint8_t *text;
	size_t len;
	size_t at;       /* next byte; of the offence when bad */
	unsigned depth;  /* of what was opened */
	const char *bad; /* static: what is wrong; NULL: nothing yet */
};

struct cairn_json_pull cairn_json_pull_init(const void *text, size_t len);

/** Returns the type of the next value: one of { [ " 0 (any number) t f n; 0: bad, or the text is at its end. */
char cairn_json_pull_peek(struct cairn_json_pull *p);

/** Step into the next value, which must be an object ('{') or array ('['). */
bool cairn_json_pull_open(struct cairn_json_pull *p, char type);

/** Step to the next member of the object that was opened last. @param first  true before the first call
 *  @param[out] name  decoded; emptied first. @return false: that was the last, and it is closed; or bad */
bool cairn_json_pull_member(struct cairn_json_pull *p, bool *first, struct cairn_buf *name);

/** Step to the next element of the array that was opened last, likewise. */
bool cairn_json_pull_element(struct cairn_json_pull *p, bool *first);

/** Decode a string, appending it to out. @return false: not a string, not valid (a half of a surrogate pair; not
 *  UTF-8), or out is full (its status tells) */
bool cairn_json_pull_string(struct cairn_json_pull *p, struct cairn_buf *out);

/** A whole number from 0 to max, without sign, fraction or exponent. @return false: it is not */
bool cairn_json_pull_u64(struct cairn_json_pull *p, uint64_t max, uint64_t *out);

/** Step over a value, checking it. @param[out] from  where its text begins; it ends at p->at; may be NULL */
bool cairn_json_pull_skip(struct cairn_json_pull *p, size_t *from);

/** Returns whether only white space is left; otherwise the text becomes bad. */
bool cairn_json_pull_end(struct cairn_json_pull *p);

/** Reports a fault of the value at p->at. @return false */
bool cairn_json_pull_fail(struct cairn_json_pull *p, const char *what);

#endif
