/* JSON in a form in which equal values have equal bytes, as Python's json.dumps() writes it: names sorted by code
 * point, no spaces, numbers as they stand. Hashes of metadata are taken over it. */
#ifndef CAIRN_ARCHIVE_FOLD_JSON_CANONICAL_H
#define CAIRN_ARCHIVE_FOLD_JSON_CANONICAL_H

#include "archive/fold/json_pull.h"

/** Append a string of len bytes of UTF-8 with its quotes. @param ascii  escape all but ASCII (ensure_ascii=True); else
 *  only what must be, in the shortest form */
void cairn_json_canonical_string(struct cairn_buf *out, const void *text, size_t len, bool ascii);

/**
 * Append the next value of p in canonical form, in ASCII.
 * @param leave_out  a member of the outermost object that is left out; NULL: none
 * @return CAIRN_OK; CAIRN_E_FORMAT p is bad, also because a name repeats; CAIRN_E_LIMIT out is full; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_json_canonical(struct cairn_buf *out, struct cairn_json_pull *p,
						      const char *leave_out);

#endif
