/* How a file is to be uploaded, by what a client says of it beforehand. Pure. */
#ifndef CAIRN_HUB_UPLOAD_H
#define CAIRN_HUB_UPLOAD_H

#include "hub/pattern.h"

/** What is said of a file. Borrowed. */
struct cairn_hub_upload {
	const char *path;
	uint64_t size_bytes;
	const char *sample; /* its first bytes, in base64; NULL: nothing */
};

/**
 * Does it come within the commit, and is kept in the index, or first into the store? In the commit comes what is empty,
 * and text of at most CAIRN_INDEX_INLINE_MAX bytes that .gitattributes does not give to LFS.
 * @param attributes  the revision's
 */
bool cairn_hub_upload_is_inline(const struct cairn_hub_upload *upload, struct cairn_hub_patterns *attributes);

#endif
