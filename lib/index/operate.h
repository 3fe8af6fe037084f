/* Reads all of an index for its operator: lists of rows, owners, sums. */
#ifndef CAIRN_INDEX_OPERATE_H
#define CAIRN_INDEX_OPERATE_H

#include "index/index.h"

enum { CAIRN_INDEX_PAGE_MAX = 512 }; /* rows of one page of the lists below */

/** Visits xorbs, or files, in the order in which they came, a page at a time. Each page is one snapshot, held while its
 * rows are visited, so visit() must not call the index.
 * @param from_id  0, then *next_id of the page before
 * @param limit    rows of this page, at most CAIRN_INDEX_PAGE_MAX count
 * @param visit    its arguments are borrowed during the call
 * @param[out] next_id  0: that was the last page
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_xorb(struct cairn_index *ix, int64_t from_id, uint32_t limit,
						       void (*visit)(void *ctx, const struct cairn_index_xorb *xorb),
						       void *ctx, int64_t *next_id);
/** Does what cairn_index_each_xorb() does, for files. @param with_terms  pass each file with its terms */
CAIRN_MUST_USE enum cairn_status cairn_index_each_file(struct cairn_index *ix, int64_t from_id, uint32_t limit,
						       bool with_terms,
						       void (*visit)(void *ctx, const struct cairn_index_file *file),
						       void *ctx, int64_t *next_id);

/** A file as an owner has it. Borrowed during the call. */
struct cairn_index_owned {
	struct cairn_hash hash;
	uint64_t size_bytes;
	int64_t at_unix_s; /* when the first owner's upload came: not every caller may see it */
	const char *owner; /* "" is the operator */
	const char *shown; /* in a list of all owners, for a repository of the hub: "models/ann/cats"; else NULL */
	bool has_sha256;
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* SHA-256 that the owner claims, in plain byte order: of several the most
					       believed, then the smallest; never one proved false */
	enum cairn_index_belief belief;     /* belief in this claim */
};

/** The file after which a page begins. */
struct cairn_index_owned_after {
	const struct cairn_hash *hash; /* NULL: at the beginning */
	const char *owner;             /* used in a list of all owners only; NULL: after all owners of the file */
};

/** Visits an owner's files in the order of their hashes, or those of all owners in the order of hashes and then owners.
 * The time grows with the owner's files, not with the page.
 * @param owner  NULL: all
 * @param limit  rows of this page, at most CAIRN_INDEX_PAGE_MAX count
 * @param[out] more  there are further files
 * @return CAIRN_OK, also for an unknown owner; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_owned(struct cairn_index *ix, const char *owner,
							const struct cairn_index_owned_after *after, uint32_t limit,
							void (*visit)(void *ctx, const struct cairn_index_owned *file),
							void *ctx, bool *more);

/** Sums, each computed by a scan: about 0.1 s for 100,000 xorbs and a million files. */
struct cairn_index_totals {
	uint64_t n_files, file_bytes;                /* sizes as their owners see them */
	uint64_t n_retired, retired_bytes;           /* xorbs that wait to be swept */
	uint64_t n_unreferenced, unreferenced_bytes; /* xorbs that no file needs, retired ones included */
};
/** Computes the sums. @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_totals(struct cairn_index *ix, struct cairn_index_totals *out);

/** Visits the owners of files, with the numbers that cairn_index_each_owned_file() uses.
 *  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_owner(struct cairn_index *ix,
							void (*visit)(void *ctx, int64_t owner, const char *name),
							void *ctx);

/** Receives a file with its terms, and the numbers of its owners, ascending. Borrowed. */
typedef void cairn_index_visit_owned_file(void *ctx, const struct cairn_index_file *file, const int64_t *owners,
					  uint32_t n_owners);

/** Visits all files a page at a time, each page in one snapshot. @return as cairn_index_each_file() */
CAIRN_MUST_USE enum cairn_status cairn_index_each_owned_file(struct cairn_index *ix, int64_t from_id,
							     cairn_index_visit_owned_file *visit, void *ctx,
							     int64_t *next_id);

#endif
