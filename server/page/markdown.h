/* Converts untrusted Markdown into HTML that is safe on a page of this server. HTML in the Markdown is shown as text.
 * Links use http, https or mailto, or stay on this server. Pictures come from this server alone. Pure. */
#ifndef CAIRN_SERVER_PAGE_MARKDOWN_H
#define CAIRN_SERVER_PAGE_MARKDOWN_H

#include "base/buf.h"

enum {
	MARKDOWN_BYTES_MAX = 512 << 10, /* limit of the HTML: a short text can expand to much more */
	MARKDOWN_DEPTH_MAX = 24,        /* limit of nesting; deeper parts are shown at this depth */
};

/** The bases of links without a host: escaped addresses that end with a slash. */
struct markdown_base {
	const char *files;    /* base of links, such as "/ann/model/blob/main/" */
	const char *pictures; /* base of pictures, such as "/ann/model/resolve/main/" */
};

/** Appends Markdown (CommonMark with GitHub's tables, task lists and crossed out text) as HTML. Headings are one level
 * lower, because the page has a title. A block between lines of "---" at the start is shown literally. If the HTML
 * would exceed MARKDOWN_BYTES_MAX, or the Markdown cannot be parsed, the text is appended as plain text. */
void markdown_put(struct cairn_buf *b, const char *text, size_t len, const struct markdown_base *base);

#endif
