/* The chunks of a xorb: hash, length and place of each. */
#ifndef CAIRN_HASH_CHUNK_LIST_H
#define CAIRN_HASH_CHUNK_LIST_H

#include "hash/hash.h"

enum {
	CAIRN_XORB_CHUNKS_MAX = 8192,            /* chunks in one xorb (reference client) */
	CAIRN_CHUNK_BYTES_MAX = 128 * 1024,      /* raw bytes of an uploaded chunk (reference client) */
	CAIRN_XORB_BYTES_MAX = 64 * 1024 * 1024, /* bytes of a xorb's chunk data (reference client) */
};

/** The extent of a chunk. */
struct cairn_span {
	uint32_t unpacked_bytes; /* raw length */
	uint32_t end; /* end in the serialized xorb; the chunk starts where the one before ends. Always 0 if the xorb's
			 bytes are stored elsewhere and its layout is unknown */
};

/** A list. Grows as chunks come; owns its arrays. Zeroed is empty. A complete list never changes and may be shared. */
struct cairn_chunk_list {
	uint32_t n;
	uint32_t cap;
	struct cairn_hash *hashes; /* n hashes */
	struct cairn_span *spans;  /* n spans */
};

/** Appends a chunk. @return CAIRN_OK; CAIRN_E_LIMIT past CAIRN_XORB_CHUNKS_MAX; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_chunk_list_add(struct cairn_chunk_list *list, const struct cairn_hash *hash,
						      struct cairn_span span);

/** Releases the arrays and makes the list empty. For CLEANUP(). */
void cairn_chunk_list_fini(struct cairn_chunk_list *list);

/** Computes the merkle root over the list: the xorb's hash. */
void cairn_chunk_list_root(const struct cairn_chunk_list *list, struct cairn_hash *out);

/** Returns a number, never 0, that identifies a layout of chunks: their lengths and places. It is the same on every
 * machine. Two layouts collide once in 2^64 cases. */
uint64_t cairn_spans_layout(const struct cairn_span *spans, uint32_t n);

/** Returns whether both have the same chunks in the same order, whatever their places. */
bool cairn_chunk_list_same_chunks(const struct cairn_chunk_list *a, const struct cairn_chunk_list *b);

/** Returns whether both have chunks of the same lengths and places, whatever their content. */
bool cairn_chunk_list_same_places(const struct cairn_chunk_list *a, const struct cairn_chunk_list *b);

/** Returns the raw length of chunks [start, end); end <= n. */
uint64_t cairn_chunk_list_bytes(const struct cairn_chunk_list *list, uint32_t start, uint32_t end);

#endif
