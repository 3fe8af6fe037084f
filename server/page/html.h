/* HTML into a buffer. What is put between the pieces of markup is escaped, always: there is no call that leaves it be.
 * Pure. */
#ifndef CAIRN_SERVER_PAGE_HTML_H
#define CAIRN_SERVER_PAGE_HTML_H

#include "base/buf.h"

/**
 * Append markup, with values in it: %s for text, which is escaped so that it can stand between tags and in an attribute
 * with double quotes; %d, %u, %zu, %ld, %lu and the like for numbers; %% for itself. The markup is the program's own.
 *     html(b, "<a href=\"%s\">%s</a>", address, name);
 */
void html(struct cairn_buf *b, const char *format, ...) CAIRN_PRINTF(2, 3);

/** Append text, escaped. Bytes that are not UTF-8, control characters and those that turn
 *  the direction of text become U+FFFD. */
void html_text(struct cairn_buf *b, const char *text);

/** Likewise text of so many bytes, which may have zero bytes in it. */
void html_bytes(struct cairn_buf *b, const char *text, size_t len);

/** Append the first so many bytes of a text, which end with a character, and "…" where it was cut. */
void html_cut(struct cairn_buf *b, const char *text, size_t max);

/** Append a name that others gave: whatever direction its letters have, what stands around it keeps its own. A line may
 *  end behind each "/". */
void html_name(struct cairn_buf *b, const char *name);

/** Append a path as it stands in an address: each byte but unreserved ones and "/" escaped by its number. */
void html_path(struct cairn_buf *b, const char *path);

#endif
