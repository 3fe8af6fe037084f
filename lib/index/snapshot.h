/* Reads a whole index as it was at one moment, for exports. A daemon may run meanwhile. */
#ifndef CAIRN_INDEX_SNAPSHOT_H
#define CAIRN_INDEX_SNAPSHOT_H

#include "index/index.h"

/** A read transaction, for one thread at a time. Changes by the daemon take disk space until the snapshot is freed. */
struct cairn_index_snapshot;

/** Opens an index by its URL (index.h). Nothing is changed, so an index of an older version is read as it is.
 * @return CAIRN_OK
 *         CAIRN_E_USAGE  no engine has such a URL (index.url), or it has a password (index.password)
 *         CAIRN_E_CONFLICT  made by a newer version, or not Cairn's (index.newer, index.foreign)
 *         CAIRN_E_IO, also if it is missing; otherwise as every read (index.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_open(struct cairn_index_snapshot **out, const char *url,
							   struct cairn_diag *diag);
void cairn_index_snapshot_freep(struct cairn_index_snapshot **snapshot);

/** The highest numbers of an index. Numbers of xorbs and files rise and never recur, so later rows have higher ones. */
struct cairn_index_extent {
	int64_t last_xorb, last_file; /* the highest numbers ever given */
	uint64_t n_chunks;            /* chunks of the requested xorbs */
};
/** Reads the extent of an index. @param after_xorb  count chunks of xorbs with higher numbers. @return as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_extent(struct cairn_index_snapshot *snapshot, int64_t after_xorb,
							     struct cairn_index_extent *out, struct cairn_diag *diag);

/** Arguments of visitors are borrowed during the call. @return CAIRN_OK; any other status ends the visits */
typedef enum cairn_status cairn_index_visit_xorb(void *ctx, const struct cairn_index_xorb *xorb,
						 const struct cairn_chunk_list *list);
/** @param sha256  in plain byte order: the proved one; else the claim of the operator, or else of the file's first
 *                owner; of several the smallest. NULL: there is no claim */
typedef enum cairn_status cairn_index_visit_file(void *ctx, int64_t number, int64_t at_unix_s, const uint8_t *sha256,
						 const struct cairn_index_file *file);

/** Visits all xorbs with a number above `after`, in the order of arrival, with one xorb's chunks in memory at a time.
 * xorb.referenced is not set. @return CAIRN_OK; what the visitor returned; CAIRN_E_DAMAGED malformed; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_xorbs(struct cairn_index_snapshot *snapshot, int64_t after,
							    cairn_index_visit_xorb *visit, void *ctx,
							    struct cairn_diag *diag);
/** Visits all files in the same way, with their terms. @return as cairn_index_snapshot_xorbs() */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_files(struct cairn_index_snapshot *snapshot, int64_t after,
							    cairn_index_visit_file *visit, void *ctx,
							    struct cairn_diag *diag);

/** Returns the hash of the xorb with this number. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_xorb_hash(struct cairn_index_snapshot *snapshot, int64_t number,
								struct cairn_hash *out);

#endif
