/* Files of mirrored repositories: sums those with bytes, finds those without, records the day of a file's last read,
 * and lists the files that may be evicted. */
#ifndef CAIRN_INDEX_HUB_MIRROR_FILES_H
#define CAIRN_INDEX_HUB_MIRROR_FILES_H

#include "index/hub/history.h"

/** Sums the bytes that mirrored repositories hold, as quotas count them, and their files in the store. Reads all
 * accounts and a row for each file: 0.1 s for a million files. @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_mirror_sum(struct cairn_index *ix, uint64_t *bytes, uint64_t *n_files);

/** A file of a mirrored repository that was not fetched yet, or was evicted. Plain value. */
struct cairn_index_absent {
	struct cairn_git_oid commit; /* a commit that has the file */
	char path[CAIRN_INDEX_PATH_MAX + 1];
	uint64_t size_bytes;
};

/** Finds a file without bytes of a mirrored repository by the SHA-256 in the upstream's tree. Returns the latest one if
 * several are equal. Takes one look-up in an index. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_find_absent(struct cairn_index *ix, int64_t repo,
							 const uint8_t sha256[static CAIRN_SHA256_BYTES],
							 struct cairn_index_absent *out);

/** Records that a content of a mirrored repository was read on a day. Does nothing if a later day is recorded, or the
 * content has no file. */
struct cairn_index_use_content {
	struct cairn_index_write write;
	int64_t content;
	int64_t day; /* days since 1970 */
};
CAIRN_MUST_USE enum cairn_status cairn_index_use_content(struct cairn_index *ix, struct cairn_index_use_content *use);

/** Removes the day on which a content was last read, after its file was evicted. The day stays if the content has a
 * file again. */
struct cairn_index_forget_use {
	struct cairn_index_write write;
	int64_t content;
};
CAIRN_MUST_USE enum cairn_status cairn_index_forget_use(struct cairn_index *ix, struct cairn_index_forget_use *forget);

/** A file of a mirrored repository that may be evicted. Plain value. */
struct cairn_index_evictable {
	int64_t content, repo;
	int64_t day; /* of the last read */
	uint64_t size_bytes;
	struct cairn_hash file;
};

/** Visits a page of the files of mirrored repositories that were last read before a day, the oldest first. Skips files
 * that the operator keeps, and files that an account of this server, or the operator, owns as well.
 * @param after  the last file of the page before; all zero at the beginning
 * @param limit  files of a page, at most CAIRN_INDEX_PAGE_MAX (operate.h)
 * @param visit  must not call the index
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_evictable(
	struct cairn_index *ix, const struct cairn_index_evictable *after, int64_t before_day, uint32_t limit,
	void (*visit)(void *ctx, const struct cairn_index_evictable *file), void *ctx);

#endif
