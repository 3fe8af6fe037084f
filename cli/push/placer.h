/* Where each chunk of the pushed files goes: to a xorb that the server has, to one of this push, or to the one being
 * filled; and the terms that this makes of each file. Does no I/O: it asks its owner. */
#ifndef CAIRN_CLI_PLACER_H
#define CAIRN_CLI_PLACER_H

#include "cli/common/hash_map.h"
#include "hash/chunk_list.h"

enum {
	PLACER_KEYS_MAX = 16,                 /* answers of one epoch share a key; more keys than this are ignored */
	PLACER_QUERY_SPACING = 256,           /* chunks between two questions within a file, as the stock clients do */
	PLACER_LEARNED_MAX = 8 * 1024 * 1024, /* chunks remembered from answers, 40 to 107 bytes each */
};

struct placer;

struct placer_ops {
	/** May call placer_learn(). NULL: nobody to ask. */
	enum cairn_status (*query)(void *ctx, struct placer *p, const struct cairn_hash *chunk,
				   struct cairn_diag *diag);
	/** A chunk that is new goes into the open xorb. May be NULL. */
	enum cairn_status (*add)(void *ctx, const struct cairn_hash *chunk, const uint8_t *raw, size_t len,
				 struct cairn_diag *diag);
	/** The open xorb is full. May be NULL. */
	enum cairn_status (*close)(void *ctx, const struct cairn_hash *xorb, const struct cairn_chunk_list *list,
				   struct cairn_diag *diag);
};

struct placer_xorb {
	struct cairn_hash hash;
	struct cairn_chunk_list list; /* owned; empty: the server has the xorb */
};

struct placer_term {
	uint32_t xorb; /* ordinal */
	uint32_t start, end;
	uint32_t bytes;
	struct cairn_hash range;
};

struct placer_file {
	struct cairn_hash hash;
	uint8_t sha256[32];
	size_t first_term, n_terms;
	uint64_t bytes, new_bytes;
};

/** Owned by one thread. */
struct placer {
	const struct placer_ops *ops;
	void *ctx;
	struct hash_map places; /* by chunk hash, and by keyed hash for what answers said */
	struct cairn_hash keys[PLACER_KEYS_MAX];
	size_t n_keys, n_learned;
	struct placer_xorb *xorbs;
	size_t n_xorbs, cap_xorbs;
	struct placer_term *terms;
	size_t n_terms, cap_terms;
	struct placer_file *files;
	size_t n_files, cap_files;
	uint32_t open;       /* ordinal of the xorb being filled; UINT32_MAX: none */
	uint64_t open_bytes; /* raw bytes in it */
	/* of the file being read */
	struct placer_file file;
	uint64_t n_chunks, last_query;   /* chunks so far; number of the one last asked about */
	struct cairn_range_hasher range; /* of its last term */
};

void placer_init(struct placer *p, const struct placer_ops *ops, void *ctx);
void placer_fini(struct placer *p);

/** Begin a file; then placer_chunk() for each chunk in order; then placer_file_end(). */
void placer_file_begin(struct placer *p);

/** @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT; what the operations answer */
CAIRN_MUST_USE enum cairn_status placer_chunk(struct placer *p, const struct cairn_hash *chunk, const uint8_t *raw,
					      size_t len, struct cairn_diag *diag);

/** @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status placer_file_end(struct placer *p, const struct cairn_hash *file,
						 const uint8_t sha256[static 32]);

/** Forget the file that was begun, but keep what it has put into xorbs. */
void placer_file_drop(struct placer *p);

/** Close the open xorb, if there is one. @return CAIRN_OK; what the operation answers */
CAIRN_MUST_USE enum cairn_status placer_end(struct placer *p, struct cairn_diag *diag);

/** A xorb that the server has. @return its ordinal in out; CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT nothing more is kept
 */
CAIRN_MUST_USE enum cairn_status placer_learn_xorb(struct placer *p, const struct cairn_hash *xorb, uint32_t *out);

/** A chunk of it, by keyed hash. @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT nothing more is kept */
CAIRN_MUST_USE enum cairn_status placer_learn_chunk(struct placer *p, const struct cairn_hash *key, uint32_t xorb,
						    uint32_t chunk, const struct cairn_hash *keyed);

/** Does the placer know where this chunk is? */
const struct hash_map_entry *placer_find(const struct placer *p, const struct cairn_hash *chunk);

#endif
