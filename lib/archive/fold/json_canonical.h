/* Canonical JSON: equal values have equal bytes, as Python's json.dumps() writes them. Names are sorted by code point,
 * there are no spaces, and numbers keep their text. Metadata are hashed in this form. */
#ifndef CAIRN_ARCHIVE_FOLD_JSON_CANONICAL_H
#define CAIRN_ARCHIVE_FOLD_JSON_CANONICAL_H

#include "archive/fold/json_pull.h"

/** Appends a string of len bytes of UTF-8 with its quotes. @param ascii escape all but ASCII (ensure_ascii=True); else
 * escape only where JSON requires it, in the shortest form */
void cairn_json_canonical_string(struct cairn_buf *out, const void *text, size_t len, bool ascii);

/** Appends the next value of p in canonical form, in ASCII.
 * @param leave_out  a member of the outermost object to omit; NULL: none
 * @return CAIRN_OK; CAIRN_E_FORMAT p is bad, or a name repeats; CAIRN_E_LIMIT out is full; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_json_canonical(struct cairn_buf *out, struct cairn_json_pull *p,
						      const char *leave_out);

#endif
