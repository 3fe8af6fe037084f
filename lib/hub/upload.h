/* Decides how a file is uploaded, by what the client announces before the upload. Pure. */
#ifndef CAIRN_HUB_UPLOAD_H
#define CAIRN_HUB_UPLOAD_H

#include "hub/pattern.h"

/** A file as the client announces it. Borrowed. */
struct cairn_hub_upload {
	const char *path;
	uint64_t size_bytes;
	const char *sample; /* its first bytes, in base64; NULL: none */
};

/** Does the file come inline in the commit, to be stored in the index? Otherwise it is uploaded to the store first.
 * Inline are empty files, and text of at most CAIRN_INDEX_INLINE_MAX bytes that .gitattributes does not give to LFS.
 * @param attributes  .gitattributes of the revision */
bool cairn_hub_upload_is_inline(const struct cairn_hub_upload *upload, struct cairn_hub_patterns *attributes);

#endif
