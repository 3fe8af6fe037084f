/* Decides how a file is uploaded, from what the client says before the upload. Pure. */
#ifndef CAIRN_HUB_UPLOAD_H
#define CAIRN_HUB_UPLOAD_H

#include "hub/pattern.h"

/** A file as the client announces it. Borrowed. */
struct cairn_hub_upload {
	const char *path;
	uint64_t size_bytes;
	const char *sample; /* its first bytes, in base64; NULL: nothing */
};

/** Returns true if the file comes inline in the commit and is kept in the index, false if it goes to the store first.
 * Inline are empty files, and text of at most CAIRN_INDEX_INLINE_MAX bytes that .gitattributes does not give to LFS.
 * @param attributes  .gitattributes of the revision */
bool cairn_hub_upload_is_inline(const struct cairn_hub_upload *upload, struct cairn_hub_patterns *attributes);

#endif
