/* Markdown of others into HTML that can stand on a page of this server: what it has of HTML is text, links lead by
 * http, https and mailto or stay on this server, and pictures come from this server alone. Pure. */
#ifndef CAIRN_SERVER_PAGE_MARKDOWN_H
#define CAIRN_SERVER_PAGE_MARKDOWN_H

#include "base/buf.h"

enum {
	MARKDOWN_BYTES_MAX = 512 << 10, /* of the HTML: a short text can ask for much */
	MARKDOWN_DEPTH_MAX = 24,        /* of what is nested; what is deeper is shown as if it were at this depth */
};

/** Where links without a host lead: addresses that end with a slash, escaped. */
struct markdown_base {
	const char *files;    /* of links, "/ann/model/blob/main/" */
	const char *pictures; /* "/ann/model/resolve/main/" */
};

/**
 * Append Markdown (CommonMark with GitHub's tables, task lists and crossed out text) as HTML. Headings are
 * one level lower: the page has a title. A block between lines of "---" at the start is shown as what it is. What would
 * be longer than MARKDOWN_BYTES_MAX, or cannot be read, is appended as plain text.
 */
void markdown_put(struct cairn_buf *b, const char *text, size_t len, const struct markdown_base *base);

#endif
