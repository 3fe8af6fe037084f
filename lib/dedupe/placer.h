/* Decides in which xorb each chunk of the pushed files lies: one that the server has, one of this push, or the one
 * being filled. Collects the terms of each file. Does no I/O: callbacks of its owner do. */
#ifndef CAIRN_DEDUPE_PLACER_H
#define CAIRN_DEDUPE_PLACER_H

#include "dedupe/hash_map.h"
#include "hash/chunk_list.h"

enum {
	CAIRN_PLACER_KEYS_MAX = 16,                 /* answers of one epoch share a key; further keys are ignored */
	CAIRN_PLACER_QUERY_SPACING = 256,           /* chunks between two queries within a file, as in stock clients */
	CAIRN_PLACER_LEARNED_MAX = 8 * 1024 * 1024, /* chunks remembered from answers, 40 to 107 bytes each */
};

struct cairn_placer;

struct cairn_placer_ops {
	/** Queries a server. May call cairn_placer_learn_xorb() and ..._chunk(). NULL: there is no server. */
	enum cairn_status (*query)(void *ctx, struct cairn_placer *p, const struct cairn_hash *chunk,
				   struct cairn_diag *diag);
	/** Called for a new chunk, which goes into the open xorb. May be NULL. */
	enum cairn_status (*add)(void *ctx, const struct cairn_hash *chunk, const uint8_t *raw, size_t len,
				 struct cairn_diag *diag);
	/** Query every chunk, because queries are cheap here. Otherwise only eligible chunks. */
	bool query_all;
	/** Shards mark every n-th chunk of a xorb as eligible. 0: only chunks that are eligible by their hash */
	uint32_t eligible_every;
	/** Called when the open xorb is full. May be NULL. */
	enum cairn_status (*close)(void *ctx, const struct cairn_hash *xorb, const struct cairn_chunk_list *list,
				   struct cairn_diag *diag);
};

struct cairn_placer_xorb {
	struct cairn_hash hash;
	struct cairn_chunk_list list; /* owned; empty: the server has the xorb */
};

struct cairn_placer_term {
	uint32_t xorb; /* ordinal of the xorb */
	uint32_t start, end;
	uint32_t bytes;
	struct cairn_hash range;
};

struct cairn_placer_file {
	struct cairn_hash hash;
	bool has_sha256;
	uint8_t sha256[CAIRN_SHA256_BYTES];
	size_t first_term, n_terms;
	uint64_t bytes, new_bytes;
};

/** A placer. For one thread. */
struct cairn_placer {
	const struct cairn_placer_ops *ops;
	void *ctx;
	struct cairn_hash_map places; /* by chunk hash; chunks of answers by keyed hash */
	struct cairn_hash keys[CAIRN_PLACER_KEYS_MAX];
	size_t n_keys, n_learned;
	struct cairn_placer_xorb *xorbs;
	size_t n_xorbs, cap_xorbs;
	struct cairn_placer_term *terms;
	size_t n_terms, cap_terms;
	struct cairn_placer_file *files;
	size_t n_files, cap_files;
	uint32_t open;       /* ordinal of the xorb being filled; UINT32_MAX: none */
	uint64_t open_bytes; /* raw bytes in the open xorb */
	uint64_t list_chunks;
	/* the file being read */
	struct cairn_placer_file file;
	size_t part_term;                /* first term of its current part */
	uint64_t n_chunks, last_query;   /* number of chunks so far; number of the chunk queried last */
	struct cairn_range_hasher range; /* hash of the file's last term */
};

void cairn_placer_init(struct cairn_placer *p, const struct cairn_placer_ops *ops, void *ctx);
void cairn_placer_fini(struct cairn_placer *p);

/** Begins a file. Call cairn_placer_chunk() for each chunk in order, then cairn_placer_file_end(). */
void cairn_placer_file_begin(struct cairn_placer *p);

/** Places the next chunk of the file. @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT a xorb or the number of xorbs is
 * too large for a shard; the status of a callback */
CAIRN_MUST_USE enum cairn_status cairn_placer_chunk(struct cairn_placer *p, const struct cairn_hash *chunk,
						    const uint8_t *raw, size_t len, struct cairn_diag *diag);

/** Completes the file. @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_placer_file_end(struct cairn_placer *p, const struct cairn_hash *file,
						       const uint8_t sha256[static CAIRN_SHA256_BYTES]);

/** Ends a part of the file, so that the next chunk begins a new term. There must be chunks since the last end. @param
 * part  their hash: they also become a file of their own, without a SHA-256; NULL: they do not @return CAIRN_OK;
 * CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_placer_part_end(struct cairn_placer *p, const struct cairn_hash *part);

/** Drops the completed files and the lists of closed xorbs, but keeps the places of chunks. Call it after shards have
 * described both, while no xorb is open. */
void cairn_placer_described(struct cairn_placer *p);

/** Drops the file that was begun, but keeps its chunks in their xorbs. */
void cairn_placer_file_drop(struct cairn_placer *p);

/** Closes the open xorb, if there is one. @return CAIRN_OK; the status of close() */
CAIRN_MUST_USE enum cairn_status cairn_placer_end(struct cairn_placer *p, struct cairn_diag *diag);

/** Adds a xorb that the server has. @param[out] out  its ordinal
 * @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT there is no room for more */
CAIRN_MUST_USE enum cairn_status cairn_placer_learn_xorb(struct cairn_placer *p, const struct cairn_hash *xorb,
							 uint32_t *out);

/** Adds a chunk of the xorb of an answer, by keyed hash. @param key  NULL: the hash is plain. @return CAIRN_OK;
 * CAIRN_E_NOMEM; CAIRN_E_LIMIT there is no room for more */
CAIRN_MUST_USE enum cairn_status cairn_placer_learn_chunk(struct cairn_placer *p, const struct cairn_hash *key,
							  uint32_t xorb, uint32_t chunk,
							  const struct cairn_hash *keyed);

/** Drops all chunks and their places, so that memory does not grow with a file. Call it after shards have described the
 * closed xorbs, while no xorb is open. */
void cairn_placer_forget(struct cairn_placer *p);

/** Returns the memory in use, in bytes. */
uint64_t cairn_placer_bytes(const struct cairn_placer *p);

/** Finds a known place of this chunk; NULL: there is none. */
const struct cairn_hash_map_entry *cairn_placer_find(const struct cairn_placer *p, const struct cairn_hash *chunk);

#endif
