/* Writes a JSON string. Writing a line of JSON needs no library; reading it does (json.h). */
#ifndef CAIRN_BASE_JSON_TEXT_H
#define CAIRN_BASE_JSON_TEXT_H

#include "base/buf.h"

#include <stdbool.h>

/** Appends text as a JSON string with its quotes. Escapes quotes, backslashes and characters that control a terminal
 * (visible.h); replaces bytes that are not UTF-8 by U+FFFD.
 * @param bytes_max  cut a longer text after a character; SIZE_MAX: no limit */
void cairn_json_text(struct cairn_buf *out, const char *text, size_t bytes_max);

/** Returns whether len bytes of text need no escape and no replacement. */
bool cairn_json_text_is_plain(const char *text, size_t len);

#endif
