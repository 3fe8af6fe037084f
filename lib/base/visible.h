/* Makes untrusted text safe to show on a terminal or in a log. */
#ifndef CAIRN_BASE_VISIBLE_H
#define CAIRN_BASE_VISIBLE_H

#include "base/buf.h"

/** Does a character control a terminal, end a line, or change the text direction? Such are control characters (also
 * U+0080 to U+009F, which terminals obey, too), U+2028, U+2029 and the bidirectional controls. */
bool cairn_visible_steers(uint32_t character);

/** Appends text, with such characters as \xNN, from U+0080 on as \uNNNN, and bytes that are not UTF-8 as \xNN. */
void cairn_visible_text(struct cairn_buf *out, const char *text);

/** Appends valid JSON, with such characters, which occur only in its strings, escaped as in JSON. White space stays. */
void cairn_visible_json(struct cairn_buf *out, const char *json, size_t len);

#endif
