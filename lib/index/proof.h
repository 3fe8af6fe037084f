/* Owners' claims of the SHA-256 of their files, and the proof of these claims. A claim counts for its owner at once.
 * The bytes are read once a file, for all owners. Each claim is still decided by itself and in its owner's turn, so
 * that the time of the decision does not reveal other owners of the file. */
#ifndef CAIRN_INDEX_PROOF_H
#define CAIRN_INDEX_PROOF_H

#include "index/index.h"

/** A claim that is not proved yet. Borrowed during the call. */
struct cairn_index_due {
	int64_t file_id, owner_id;
	struct cairn_hash file;
	uint64_t size_bytes;
	const char *owner;                 /* "" is the operator */
	uint8_t said[CAIRN_SHA256_BYTES];  /* SHA-256 in plain byte order, as all here */
	bool is_known;                     /* the file was read for another claim */
	uint8_t proof[CAIRN_SHA256_BYTES]; /* if is_known: its SHA-256 */
};

enum {
	CAIRN_INDEX_PUT_OFF_S = 3600, /* a claim with unreadable bytes is due again after so long, or if its time lies
					 further ahead because of a wrong clock */
};

/** Visits the first due claims of the next owner, in the order in which the files came, so that owners take turns.
 * @param after_owner  number of the previous owner; -1: none. After the last owner nothing is visited
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_due(struct cairn_index *ix, int64_t after_owner, int64_t now_unix_s,
						      uint32_t limit,
						      void (*visit)(void *ctx, const struct cairn_index_due *due),
						      void *ctx);

/** A false claim. Borrowed during the call. */
struct cairn_index_lie {
	int64_t file_id;
	struct cairn_hash file;
	const char *owner, *shown; /* as in struct cairn_index_owned */
	uint8_t said[CAIRN_SHA256_BYTES], proof[CAIRN_SHA256_BYTES];
};

typedef void cairn_index_visit_lie(void *ctx, const struct cairn_index_lie *lie);

/** Visits the false claims, those of the newest files first.
 * @param after  the last claim of the page before, of which file_id, owner and said count; NULL: at the beginning
 * @param limit  rows of this page, at most CAIRN_INDEX_PAGE_MAX count
 * @param[out] more  there are further claims
 * @return as cairn_index_each_due() */
CAIRN_MUST_USE enum cairn_status cairn_index_each_lie(struct cairn_index *ix, const struct cairn_index_lie *after,
						      uint32_t limit, cairn_index_visit_lie *visit, void *ctx,
						      bool *more);

/** Counts of claims. Counting takes time in proportion to the due claims. */
struct cairn_index_claims {
	uint64_t n_due, due_bytes; /* due claims, and the sizes of their files, summed over the claims */
	uint64_t n_false;
};
/** Counts the claims. @return as cairn_index_each_due() */
CAIRN_MUST_USE enum cairn_status cairn_index_claims(struct cairn_index *ix, struct cairn_index_claims *out);

/** The outcome of a claim. Plain value. */
struct cairn_index_outcome {
	int64_t file_id, owner_id;
	struct cairn_hash file;
	uint8_t said[CAIRN_SHA256_BYTES];
	bool is_unread; /* undecided: the bytes cannot be read now */
	uint8_t proof[CAIRN_SHA256_BYTES];
};

/** Records the outcomes of claims. Skips a claim that was removed meanwhile, or whose file_id names another file now:
 * after a failover a server may reuse numbers that were lost. */
struct cairn_index_record_outcomes {
	struct cairn_index_write write;
	const struct cairn_index_outcome *outcomes; /* borrowed */
	uint32_t n;
	int64_t again_unix_s; /* when claims that could not be read are due again */
};
CAIRN_MUST_USE enum cairn_status cairn_index_record_outcomes(struct cairn_index *ix,
							     struct cairn_index_record_outcomes *record);

/** Records a proved claim: the file was hashed during its upload. CAIRN_E_NOT_FOUND: the owner no longer has the
 * file. */
struct cairn_index_prove_file {
	struct cairn_index_write write;
	struct cairn_hash hash;
	const char *owner; /* borrowed */
	uint8_t sha256[CAIRN_SHA256_BYTES];
};
CAIRN_MUST_USE enum cairn_status cairn_index_prove_file(struct cairn_index *ix, struct cairn_index_prove_file *prove);

#endif
