/* Where each chunk of the pushed files goes: to a xorb that the server has, to one of this push, or to the one being
 * filled; and the terms that this makes of each file. Does no I/O: it asks its owner. */
#ifndef CAIRN_CLI_PACKER_H
#define CAIRN_CLI_PACKER_H

#include "cli/common/hash_map.h"
#include "hash/chunk_list.h"

enum {
	PACKER_KEYS_MAX = 16,                 /* answers of one epoch share a key; more keys than this are ignored */
	PACKER_QUERY_SPACING = 256,           /* chunks between two questions within a file, as the stock clients do */
	PACKER_LEARNED_MAX = 8 * 1024 * 1024, /* chunks remembered from answers, 40 to 107 bytes each */
};

struct packer;

struct packer_ops {
	/** May call packer_learn(). NULL: nobody to ask. */
	enum cairn_status (*query)(void *ctx, struct packer *p, const struct cairn_hash *chunk,
				   struct cairn_diag *diag);
	/** A chunk that is new goes into the open xorb. May be NULL. */
	enum cairn_status (*add)(void *ctx, const struct cairn_hash *chunk, const uint8_t *raw, size_t len,
				 struct cairn_diag *diag);
	/** The open xorb is full. May be NULL. */
	enum cairn_status (*close)(void *ctx, const struct cairn_hash *xorb, const struct cairn_chunk_list *list,
				   struct cairn_diag *diag);
};

struct packer_xorb {
	struct cairn_hash hash;
	struct cairn_chunk_list list; /* owned; empty: the server has the xorb */
};

struct packer_term {
	uint32_t xorb; /* ordinal */
	uint32_t start, end;
	uint32_t bytes;
	struct cairn_hash range;
};

struct packer_file {
	struct cairn_hash hash;
	uint8_t sha256[32];
	size_t first_term, n_terms;
	uint64_t bytes, new_bytes;
};

/** Owned by one thread. */
struct packer {
	const struct packer_ops *ops;
	void *ctx;
	struct hash_map places; /* by chunk hash, and by keyed hash for what answers said */
	struct cairn_hash keys[PACKER_KEYS_MAX];
	size_t n_keys, n_learned;
	struct packer_xorb *xorbs;
	size_t n_xorbs, cap_xorbs;
	struct packer_term *terms;
	size_t n_terms, cap_terms;
	struct packer_file *files;
	size_t n_files, cap_files;
	uint32_t open;       /* ordinal of the xorb being filled; UINT32_MAX: none */
	uint64_t open_bytes; /* raw bytes in it */
	/* of the file being read */
	struct packer_file file;
	uint64_t n_chunks, last_query;   /* chunks so far; number of the one last asked about */
	struct cairn_range_hasher range; /* of its last term */
};

void packer_init(struct packer *p, const struct packer_ops *ops, void *ctx);
void packer_fini(struct packer *p);

/** Begin a file; then packer_chunk() for each chunk in order; then packer_file_end(). */
void packer_file_begin(struct packer *p);

/** @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT; what the operations answer */
CAIRN_MUST_USE enum cairn_status packer_chunk(struct packer *p, const struct cairn_hash *chunk, const uint8_t *raw,
					      size_t len, struct cairn_diag *diag);

/** @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status packer_file_end(struct packer *p, const struct cairn_hash *file,
						 const uint8_t sha256[static 32]);

/** Forget the file that was begun, but keep what it has put into xorbs. */
void packer_file_drop(struct packer *p);

/** Close the open xorb, if there is one. @return CAIRN_OK; what the operation answers */
CAIRN_MUST_USE enum cairn_status packer_end(struct packer *p, struct cairn_diag *diag);

/** A xorb that the server has. @return its ordinal in out; CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT nothing more is kept
 */
CAIRN_MUST_USE enum cairn_status packer_learn_xorb(struct packer *p, const struct cairn_hash *xorb, uint32_t *out);

/** A chunk of it, by keyed hash. @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT nothing more is kept */
CAIRN_MUST_USE enum cairn_status packer_learn_chunk(struct packer *p, const struct cairn_hash *key, uint32_t xorb,
						    uint32_t chunk, const struct cairn_hash *keyed);

/** Does the packer know where this chunk is? */
const struct hash_map_entry *packer_find(const struct packer *p, const struct cairn_hash *chunk);

#endif
