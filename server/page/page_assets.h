/* The files that pages load: stylesheet, script and icon, embedded by the build. */
#ifndef CAIRN_SERVER_PAGE_ASSETS_H
#define CAIRN_SERVER_PAGE_ASSETS_H

#include <stddef.h>

struct page_asset {
	const char *name, *type;
	const char *version; /* hash of the content; part of the address, so that browsers may cache the file forever */
	const unsigned char *bytes;
	size_t len;
};

extern const struct page_asset PAGE_ASSETS[]; /* the last one has no name */

/** Finds an asset by its name. @return NULL: not found */
const struct page_asset *page_asset(const char *name);

#endif
