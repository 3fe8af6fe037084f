/* What pages load: the stylesheet, the script and the icon, embedded when building. */
#ifndef CAIRN_SERVER_PAGE_ASSETS_H
#define CAIRN_SERVER_PAGE_ASSETS_H

#include <stddef.h>

struct page_asset {
	const char *name, *type;
	const char *version; /* of what is in it: part of the address, so that browsers may keep it for good */
	const unsigned char *bytes;
	size_t len;
};

extern const struct page_asset PAGE_ASSETS[]; /* ended by one without a name */

/** Of this name. @return NULL: there is none */
const struct page_asset *page_asset(const char *name);

#endif
