/* Writes a JSON string. Writing a line of JSON needs no library; reading it does (json.h). */
#ifndef CAIRN_BASE_JSON_TEXT_H
#define CAIRN_BASE_JSON_TEXT_H

#include "base/buf.h"

#include <stdbool.h>

/** Append text as a JSON string with its quotes: quotes, backslashes and what steers a terminal (visible.h) escaped,
 *  bytes that are not UTF-8 replaced by U+FFFD.
 *  @param bytes_max  what is longer is cut at a character; SIZE_MAX: never */
void cairn_json_text(struct cairn_buf *out, const char *text, size_t bytes_max);

/** Returns whether len bytes of text need no escape and no replacement. */
bool cairn_json_text_is_plain(const char *text, size_t len);

#endif
