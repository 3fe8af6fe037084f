/* The sections of the operator's guide (docs/operations.md, troubleshooting.md, engines.md), embedded by the build. */
#ifndef CAIRN_SERVER_PAGE_HELP_H
#define CAIRN_SERVER_PAGE_HELP_H

#include <stddef.h>

struct help_part {
	const char *name;          /* the name in links, such as "full-disks" */
	const char *title;         /* the heading, such as "Full disks" */
	const unsigned char *text; /* the text in Markdown, with its subsections */
	size_t len;
};

extern const struct help_part HELP_PARTS[]; /* in the order of the documents; the last one has no name */

/** Finds a section by its name. @return NULL: not found */
const struct help_part *help_part(const char *name);

#endif
