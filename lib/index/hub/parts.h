/* Parts of long files of the mirrored hub: bytes of a content that arrived before all of it. Each part is a file of the
 * store that the mirrored repository owns. */
#ifndef CAIRN_INDEX_HUB_PARTS_H
#define CAIRN_INDEX_HUB_PARTS_H

#include "index/hub/hub.h"

/** Bytes [first, end) of a content. Plain value. */
struct cairn_index_part {
	struct cairn_hash file;
	uint64_t first, end;
};

/** Finds the part with a byte, or else the last part before it. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_part(struct cairn_index *ix, int64_t content, uint64_t at,
						  struct cairn_index_part *out);
/** Finds how many bytes of a content are in parts without a gap, counted from its first byte. @param[out] end  0: none
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_parts_end(struct cairn_index *ix, int64_t content, uint64_t *end);

/** A content whose parts have not grown for a while. Plain value. */
struct cairn_index_idle_parts {
	int64_t repo, content;
	uint64_t bytes; /* sum of its parts */
};
/** Visits contents whose last part arrived before a time, the oldest first, but for those of repositories that are
 * kept.
 * @param limit  at most CAIRN_INDEX_PAGE_MAX (operate.h) count  @param visit  must not call the index
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_idle_parts(
	struct cairn_index *ix, int64_t before_unix_s, uint32_t limit,
	void (*visit)(void *ctx, const struct cairn_index_idle_parts *parts), void *ctx);

/** Adds a part to a content of a mirrored repository without bytes, and removes parts that begin at its first byte or
 * later. Changes nothing if the content has its bytes. CAIRN_E_NOT_FOUND: the content is gone, or the repository does
 * not own the file (content.unknown). */
struct cairn_index_add_part {
	struct cairn_index_write write;
	int64_t repo, content;
	uint64_t first;         /* end of the part before */
	struct cairn_hash file; /* owned by the repository */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_part(struct cairn_index *ix, struct cairn_index_add_part *add);

/** Removes all parts of a content of the repository. The next sweep removes their files from the repository. */
struct cairn_index_drop_parts {
	struct cairn_index_write write;
	int64_t repo, content;
};
CAIRN_MUST_USE enum cairn_status cairn_index_drop_parts(struct cairn_index *ix, struct cairn_index_drop_parts *drop);

#endif
