/* Writes HTML into a buffer. Values between markup are always escaped: no call skips that. Pure. */
#ifndef CAIRN_SERVER_HTML_H
#define CAIRN_SERVER_HTML_H

#include "base/buf.h"

/** Appends markup, with values in it: %s for text, which is escaped so that it can stand between tags and in an
 * attribute with double quotes; %d, %u, %zu, %ld, %lu and the like for numbers; %% for "%". The markup must be the
 * program's own.
 *     html(b, "<a href=\"%s\">%s</a>", address, name); */
void html(struct cairn_buf *b, const char *format, ...) CAIRN_PRINTF(2, 3);

/** Appends text, escaped. Bytes that are not UTF-8, control characters and those that turn
 *  the direction of text become U+FFFD. */
void html_text(struct cairn_buf *b, const char *text);

/** Does what html_text() does, for len bytes, which may include zero bytes. */
void html_bytes(struct cairn_buf *b, const char *text, size_t len);

/** Appends at most the first max bytes of a text, cut between characters, and "…" if it was cut. */
void html_cut(struct cairn_buf *b, const char *text, size_t max);

/** Appends a name that a user chose, isolated so that its writing direction does not affect the text around it. Lines
 * may break after each "/". */
void html_name(struct cairn_buf *b, const char *name);

/** Appends a path percent-encoded for a URL: all bytes but unreserved ones and "/". */
void html_path(struct cairn_buf *b, const char *path);

/** Returns the path of a base address ("/hub" of "https://host/hub"); "" if it has none. */
const char *html_root(const char *base);

/** Puts the path of a base address before each local address in finished markup: of links, images, scripts and forms.
 *  Text has no such attribute, because its quotes are escaped. */
void html_move(struct cairn_buf *b, const char *base);

#endif
