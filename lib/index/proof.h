/* What owners say of the SHA-256 of their files, and what came of looking at the bytes. A claim counts for its owner as
 * soon as it is made; what it is worth is known when somebody has read the file, which happens once a file, for all of
 * its owners. Each claim is settled by itself all the same, and in its owner's turn: when that happens must not tell
 * whether somebody else has the file. */
#ifndef CAIRN_INDEX_PROOF_H
#define CAIRN_INDEX_PROOF_H

#include "index/index.h"

/** A claim that nobody has looked at. Borrowed for the time of the call. */
struct cairn_index_due {
	int64_t file_id, owner_id;
	struct cairn_hash file;
	uint64_t size_bytes;
	const char *owner;                 /* "" is the operator */
	uint8_t said[CAIRN_SHA256_BYTES];  /* plain byte order, as all of these */
	bool is_known;                     /* the file was read, for another claim */
	uint8_t proof[CAIRN_SHA256_BYTES]; /* and this is what it has */
};

enum {
	CAIRN_INDEX_PUT_OFF_S =
		3600, /* a claim whose bytes cannot be read; if for longer, the clock was ahead: it is due */
};

/**
 * Visit the first claims that are due of the next owner, in the order in which the files came: so owners take turns.
 * @param after_owner  the number of the owner whose turn it was; -1: of the first. After the last one nobody is visited
 * @return CAIRN_OK; as every read
 */
CAIRN_MUST_USE enum cairn_status cairn_index_each_due(struct cairn_index *ix, int64_t after_owner, int64_t now_unix_s,
						      uint32_t limit,
						      void (*visit)(void *ctx, const struct cairn_index_due *due),
						      void *ctx);

/** A claim that is false. Borrowed for the time of the call. */
struct cairn_index_lie {
	int64_t file_id;
	struct cairn_hash file;
	const char *owner, *shown; /* as in struct cairn_index_owned */
	uint8_t said[CAIRN_SHA256_BYTES], proof[CAIRN_SHA256_BYTES];
};

typedef void cairn_index_visit_lie(void *ctx, const struct cairn_index_lie *lie);

/** Visit the false claims, those of the newest files first.
 *  @param after  behind which one a page begins, of which the file's number, the owner and what was said count; NULL:
 * at the beginning
 *  @param limit  rows of this page, at most CAIRN_INDEX_PAGE_MAX count
 *  @param[out] more  there are further ones
 *  @return as cairn_index_each_due() */
CAIRN_MUST_USE enum cairn_status cairn_index_each_lie(struct cairn_index *ix, const struct cairn_index_lie *after,
						      uint32_t limit, cairn_index_visit_lie *visit, void *ctx,
						      bool *more);

/** How many there are. In time with those that are due. */
struct cairn_index_claims {
	uint64_t n_due, due_bytes; /* not looked at, and how long their files are, each as often as it is claimed */
	uint64_t n_false;
};
/** Count them. @return as cairn_index_each_due() */
CAIRN_MUST_USE enum cairn_status cairn_index_claims(struct cairn_index *ix, struct cairn_index_claims *out);

/** What came of a claim. Plain value. */
struct cairn_index_outcome {
	int64_t file_id, owner_id;
	struct cairn_hash file;
	uint8_t said[CAIRN_SHA256_BYTES];
	bool is_unread; /* nothing is known: the bytes cannot be had now */
	uint8_t proof[CAIRN_SHA256_BYTES];
};

/** Write down what came of claims. One that is gone meanwhile is no failure, nor is one whose file's number another
 * file has: a server may give numbers again that were lost with the one before it. */
struct cairn_index_settle_claims {
	struct cairn_index_write write;
	const struct cairn_index_outcome *outcomes; /* borrowed */
	uint32_t n;
	int64_t again_unix_s; /* when to look again at what could not be read */
};
CAIRN_MUST_USE enum cairn_status cairn_index_settle_claims(struct cairn_index *ix,
							   struct cairn_index_settle_claims *settle);

/** An owner's file was hashed here while it came: a claim that is proved. CAIRN_E_NOT_FOUND: no longer the owner's. */
struct cairn_index_prove_file {
	struct cairn_index_write write;
	struct cairn_hash hash;
	const char *owner; /* borrowed */
	uint8_t sha256[CAIRN_SHA256_BYTES];
};
CAIRN_MUST_USE enum cairn_status cairn_index_prove_file(struct cairn_index *ix, struct cairn_index_prove_file *prove);

#endif
