/* The sections of docs/operations.md that alarms link to, embedded by the build. */
#ifndef CAIRN_SERVER_PAGE_HELP_H
#define CAIRN_SERVER_PAGE_HELP_H

#include <stddef.h>

struct help_part {
	const char *name;          /* as in links: "full-disks" */
	const char *title;         /* "Full disks" */
	const unsigned char *text; /* Markdown, with its subsections */
	size_t len;
};

extern const struct help_part HELP_PARTS[]; /* in the document's order; the last one has no name */

/** Finds a section by its name. @return NULL: not found */
const struct help_part *help_part(const char *name);

#endif
