/* Reads a JSON text piece by piece, without a tree: for texts of many megabytes, for numbers of any size, and for
 * callers that need the place of a value in the text. For small texts see json.h. */
#ifndef CAIRN_ARCHIVE_FOLD_JSON_PULL_H
#define CAIRN_ARCHIVE_FOLD_JSON_PULL_H

#include "base/buf.h"

enum { CAIRN_JSON_PULL_DEPTH_MAX = 32 };

/** Borrows the text, which must outlive it. Sticky: after an error every call returns false or 0. Accepts the numbers
 * NaN, Infinity and -Infinity, because Python writes them. Not for two threads at once. */
struct cairn_json_pull {
	const uint8_t *text;
	size_t len;
	size_t at;       /* offset of the next byte, or of the error */
	unsigned depth;  /* nesting of open objects and arrays */
	const char *bad; /* static: the error; NULL: none yet */
};

struct cairn_json_pull cairn_json_pull_init(const void *text, size_t len);

/** Returns the type of the next value: one of { [ " 0 (any number) t f n; 0: bad, or the text is at its end. */
char cairn_json_pull_peek(struct cairn_json_pull *p);

/** Steps into the next value, which must be an object ('{') or array ('['). */
bool cairn_json_pull_open(struct cairn_json_pull *p, char type);

/** Steps to the next member of the innermost object. @param first true before the first call
 *  @param[out] name  decoded; emptied first. @return false: the object has ended, or is bad */
bool cairn_json_pull_member(struct cairn_json_pull *p, bool *first, struct cairn_buf *name);

/** Steps to the next element of the innermost array, as cairn_json_member(). */
bool cairn_json_pull_element(struct cairn_json_pull *p, bool *first);

/** Decodes a string and appends it to out. @return false: not a string, not valid (half of a surrogate pair; not
 * UTF-8), or out is full (see its status) */
bool cairn_json_pull_string(struct cairn_json_pull *p, struct cairn_buf *out);

/** Reads a whole number from 0 to max, without sign, fraction or exponent. @return false: not such a number */
bool cairn_json_pull_u64(struct cairn_json_pull *p, uint64_t max, uint64_t *out);

/** Checks a value and steps over it. @param[out] from start of its text, which ends at p->at; may be NULL */
bool cairn_json_pull_skip(struct cairn_json_pull *p, size_t *from);

/** Checks that only white space is left; otherwise the text becomes bad. */
bool cairn_json_pull_end(struct cairn_json_pull *p);

/** Reports a fault of the value at p->at. @return false */
bool cairn_json_pull_fail(struct cairn_json_pull *p, const char *what);

#endif
