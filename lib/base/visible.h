/* Text of others on a terminal or in a log: what is shown must be what stands there. */
#ifndef CAIRN_BASE_VISIBLE_H
#define CAIRN_BASE_VISIBLE_H

#include "base/buf.h"

/** Does the character steer a terminal, end a line, or turn the direction in which others are shown? Control characters
 *  (also U+0080 to U+009F, which terminals obey, too), U+2028, U+2029 and the bidirectional controls. */
bool cairn_visible_steers(uint32_t character);

/** Append text with those characters as \xNN, from U+0080 on as \uNNNN, and bytes that are not UTF-8 as \xNN. */
void cairn_visible_text(struct cairn_buf *out, const char *text);

/** Append JSON that a parser took, with those characters, which can be in its strings only, escaped as JSON does. Its
 *  white space stays. */
void cairn_visible_json(struct cairn_buf *out, const char *json, size_t len);

#endif
