/* The whole of an index as it was at one moment, read beside a daemon that may be running: for exports. */
#ifndef CAIRN_INDEX_SNAPSHOT_H
#define CAIRN_INDEX_SNAPSHOT_H

#include "index/index.h"

/** One read transaction: the daemon goes on writing, but what it changes takes room until the snapshot is freed. Owned
 * by one thread at a time. */
struct cairn_index_snapshot;

/**
 * Open an index by its URL (index.h). Nothing of it is changed, so one of an older version is read as it is.
 * @return CAIRN_OK
 *         CAIRN_E_USAGE  no engine has such a URL (index.url), or it has a password (index.password)
 *         CAIRN_E_CONFLICT  it is of a newer version, or not Cairn's (index.newer, index.foreign)
 *         CAIRN_E_IO, also when it is missing; otherwise as every read (index.h)
 */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_open(struct cairn_index_snapshot **out, const char *url,
							   struct cairn_diag *diag);
/** For CLEANUP(). */
void cairn_index_snapshot_freep(struct cairn_index_snapshot **snapshot);

/** Numbers of xorbs and files rise and are never given again, so what came after some moment is what has a higher one.
 */
struct cairn_index_extent {
	int64_t last_xorb, last_file; /* the highest numbers ever given */
	uint64_t n_chunks;            /* of the xorbs asked about */
};
/** @param after_xorb  count the chunks of xorbs with a higher number. @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_extent(struct cairn_index_snapshot *snapshot, int64_t after_xorb,
							     struct cairn_index_extent *out, struct cairn_diag *diag);

/** What a visitor is handed is borrowed for the time of the call. @return CAIRN_OK, or what ends the walk */
typedef enum cairn_status cairn_index_visit_xorb(void *ctx, const struct cairn_index_xorb *xorb,
						 const struct cairn_chunk_list *list);
/** @param sha256  in plain byte order: what was computed here; else an uploader's word, the operator's, else that of
 * the owner who came first to the store; of several the least. NULL: nobody gave one */
typedef enum cairn_status cairn_index_visit_file(void *ctx, int64_t number, int64_t at_unix_s, const uint8_t *sha256,
						 const struct cairn_index_file *file);

/**
 * Visit all xorbs with a number above `after`, in the order in which they came; their chunks in memory one xorb at a
 * time. xorb.referenced is not told. @return CAIRN_OK; what the visitor answered; CAIRN_E_DAMAGED a row is
 * malformed; as every read
 */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_xorbs(struct cairn_index_snapshot *snapshot, int64_t after,
							    cairn_index_visit_xorb *visit, void *ctx,
							    struct cairn_diag *diag);
/** Likewise all files, with their terms. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_files(struct cairn_index_snapshot *snapshot, int64_t after,
							    cairn_index_visit_file *visit, void *ctx,
							    struct cairn_diag *diag);

/** Hash of the xorb with this number, as terms name it. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_snapshot_xorb_hash(struct cairn_index_snapshot *snapshot, int64_t number,
								struct cairn_hash *out);

#endif
