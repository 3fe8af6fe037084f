/* Evicts files of mirrored repositories that were not read for long. Their rows stay, and record that the bytes are
 * absent. Their bytes leave the disk later (cas/keep/withdraw.h). */
#ifndef CAIRN_MIRROR_EVICT_H
#define CAIRN_MIRROR_EVICT_H

#include "index/hub/mirror_files.h"
#include "mirror/mirror.h"

/** Sorts the files to evict to the front: the least recently read first; of one day, the largest first. Pure.
 * @return how many of these files have so many bytes together; `n` if all together have fewer */
uint32_t cairn_mirror_evict_choose(struct cairn_index_evictable *files, uint32_t n, uint64_t bytes);

/** Returns how many bytes and files mirrored repositories hold; see cairn_index_mirror_sum(). */
CAIRN_MUST_USE enum cairn_status cairn_mirror_sum(const struct cairn_hub *hub, uint64_t *bytes, uint64_t *n_files);

struct cairn_mirror_evicted {
	uint64_t n, bytes;
};

/** Evicts files until so many bytes are evicted, or no evictable file is left. On a thread that may wait.
 * @param before_day  only files that were read last before this day, since 1970
 * @param keep_s  how long bytes stay on the disk at least
 * @param stops  called between files; returns true to end
 * @param[out] out  set after a failure, too
 * @return CAIRN_OK; as index */
CAIRN_MUST_USE enum cairn_status cairn_mirror_evict(const struct cairn_hub *hub, uint64_t bytes, int64_t before_day,
						    uint32_t keep_s, bool (*stops)(void *ctx), void *ctx,
						    struct cairn_mirror_evicted *out);

/** Withdraws the xorbs of those files that are evicted next (cas/keep/withdraw.h), so that their bytes leave the disk
 * soon after the files are evicted. First offers xorbs again whose files were read since they were withdrawn.
 * @param bytes        length of all files to visit, in the order of their eviction
 * @param offer_bytes  how much to offer again at most (cairn_cas_offer_again())
 * @param before_day, stops  as for cairn_mirror_evict()  @return CAIRN_OK; as index */
CAIRN_MUST_USE enum cairn_status cairn_mirror_withdraw(const struct cairn_hub *hub, uint64_t bytes,
						       uint64_t offer_bytes, int64_t before_day,
						       bool (*stops)(void *ctx), void *ctx);

/** Evicts the parts of unfinished long files: of each file that has got no part since a time, all its parts. Otherwise
 * as cairn_mirror_evict(). */
CAIRN_MUST_USE enum cairn_status cairn_mirror_evict_parts(const struct cairn_hub *hub, uint64_t bytes,
							  int64_t before_unix_s, bool (*stops)(void *ctx), void *ctx,
							  struct cairn_mirror_evicted *out);

/** Evicts all evictable files of a repository, even those read today. Bytes stay for a day. Otherwise as
 * cairn_mirror_evict(). */
CAIRN_MUST_USE enum cairn_status cairn_mirror_evict_repo(const struct cairn_hub *hub, int64_t repo,
							 bool (*stops)(void *ctx), void *ctx,
							 struct cairn_mirror_evicted *out);

/** Records that a file of a mirrored repository is read today. Writes at most once a day for each file. Does not wait:
 * if the write fails, the next reader's may succeed. Any thread. @param content  id of the content */
void cairn_mirror_note_use(struct cairn_mirror *mirror, int64_t content);

#endif
