/* The paragraphs of docs/operations.md, embedded when building: what alarms lead to. */
#ifndef CAIRN_SERVER_PAGE_HELP_H
#define CAIRN_SERVER_PAGE_HELP_H

#include <stddef.h>

struct help_part {
	const char *name;          /* as links to it have it: "full-disks" */
	const char *title;         /* "Full disks" */
	const unsigned char *text; /* Markdown, with what stands below it */
	size_t len;
};

extern const struct help_part HELP_PARTS[]; /* in the document's order; ended by one without a name */

/** Of this name. @return NULL: there is none */
const struct help_part *help_part(const char *name);

#endif
