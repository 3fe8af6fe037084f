/* The records that a verified shard registers. The verifier makes them, and the index does not check them again. */
#ifndef CAIRN_INDEX_NEW_SHARD_H
#define CAIRN_INDEX_NEW_SHARD_H

#include "hash/chunk_list.h"

/** A chunk of a described xorb that clients may ask about. */
struct cairn_index_eligible {
	uint64_t prefix; /* first 8 bytes of the chunk's hash, little-endian */
	uint32_t place;
};

/** A xorb that the shard describes, or only names in terms. */
struct cairn_index_new_xorb {
	struct cairn_hash hash;
	int64_t id; /* number of the row that the shard was verified against; 0: looked up by hash, and the caller
		       promises that its layout fits the terms */
	/** NULL: the xorb must be known. Else the shard describes it and its bytes are elsewhere: it is recorded
	 * without places. */
	const struct cairn_chunk_list *list;
	uint32_t first_eligible, n_eligible; /* range in the shard's eligible chunks; ascending places */
};

struct cairn_index_new_term {
	uint32_t xorb; /* index in the shard's xorbs */
	uint32_t unpacked_bytes;
	uint32_t first_byte, end_byte; /* range of its chunks in the xorb's object; both 0 while there is no object */
	uint32_t start, end;           /* chunks */
};

struct cairn_index_new_file {
	struct cairn_hash hash;
	uint64_t size_bytes;
	uint64_t first_chunk; /* first 8 bytes of its first chunk's hash, little-endian; of a file with terms */
	uint32_t n_terms;
	bool has_sha256;
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* the SHA-256 that the uploader claims, in plain byte order */
};

/** A whole shard. Borrows its arrays. */
struct cairn_index_new_shard {
	const struct cairn_index_new_xorb *xorbs;
	uint32_t n_xorbs;
	uint32_t n_described; /* described xorbs, which come first */
	uint32_t n_files;
	const struct cairn_index_eligible *eligible;
	const struct cairn_index_new_file *files;
	const struct cairn_index_new_term *terms; /* terms of all files, in the order of the files */
};

#endif
