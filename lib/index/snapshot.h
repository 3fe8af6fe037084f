/* Reads a whole index as it was at one moment, for exports. A daemon may be running meanwhile. */
#ifndef CAIRN_INDEX_SNAPSHOT_H
#define CAIRN_INDEX_SNAPSHOT_H

#include "index/index.h"

/** A read transaction, for one thread at a time. Changes by the daemon take disk space until the snapshot is freed. */
struct cairn_index_snapshot;

/** Opens an index by its URL (index.h). Nothing is changed, so an index of an older version is read as it is.
 * @return CAIRN_OK
 *         CAIRN_E_USAGE  no engine has such a URL (index.url), or it has a password (index.password)
 *         CAIRN_E_CONFLICT  it is of a newer version, or not Cairn's (index.newer, index.foreign)
 *         CAIRN_E_IO, also when it is missing; otherwise as every read (index.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_open(struct cairn_index_snapshot **out, const char *url,
							   struct cairn_diag *diag);
void cairn_index_snapshot_freep(struct cairn_index_snapshot **snapshot);

/** Numbers of xorbs and files rise and are never reused, so rows that came after some moment have higher numbers. */
struct cairn_index_extent {
	int64_t last_xorb, last_file; /* the highest numbers ever given */
	uint64_t n_chunks;            /* of the xorbs asked about */
};
/** @param after_xorb  count the chunks of xorbs with a higher number. @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_extent(struct cairn_index_snapshot *snapshot, int64_t after_xorb,
							     struct cairn_index_extent *out, struct cairn_diag *diag);

/** Arguments of visitors are borrowed for the time of the call. @return CAIRN_OK, or what ends the walk */
typedef enum cairn_status cairn_index_visit_xorb(void *ctx, const struct cairn_index_xorb *xorb,
						 const struct cairn_chunk_list *list);
/** @param sha256  in plain byte order: the proved one; else an uploader's claim, of the operator, else of the owner who
 * was first in the store; of several the smallest. NULL: there is no claim */
typedef enum cairn_status cairn_index_visit_file(void *ctx, int64_t number, int64_t at_unix_s, const uint8_t *sha256,
						 const struct cairn_index_file *file);

/** Visits all xorbs with a number above `after`, in the order in which they came, with the chunks of one xorb in memory
 * at a time. xorb.referenced is not set. @return CAIRN_OK; what the visitor answered; CAIRN_E_DAMAGED a row is
 * malformed; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_xorbs(struct cairn_index_snapshot *snapshot, int64_t after,
							    cairn_index_visit_xorb *visit, void *ctx,
							    struct cairn_diag *diag);
/** Visits all files in the same way, with their terms. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_files(struct cairn_index_snapshot *snapshot, int64_t after,
							    cairn_index_visit_file *visit, void *ctx,
							    struct cairn_diag *diag);

/** Returns the hash of the xorb with this number. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_xorb_hash(struct cairn_index_snapshot *snapshot, int64_t number,
								struct cairn_hash *out);

#endif
