/* Text inside a JSON string. Writing a line of JSON needs no library; reading it does. */
#ifndef CAIRN_BASE_JSON_TEXT_H
#define CAIRN_BASE_JSON_TEXT_H

#include "base/buf.h"

/** Append text, without the quotes around it: quotes, backslashes and control characters escaped, bytes that are not
 *  UTF-8 replaced by U+FFFD. */
void cairn_json_text(struct cairn_buf *out, const char *text);

#endif
