/* FOLD, a container of named chunks (.fold, .mind). All integers are big-endian.
 *
 *   header   8 magic, 4 header_len (28), 8 index_off, 8 index_len; the last two are 0 until the file is complete
 *   chunks   each: 4 ctype, 4 flags, 8 uncomp_len, 8 comp_len, 4 crc32c, 4 ecc_len, comp_len bytes, ecc_len bytes
 *   index    JSON: format, version, created_at_unix, metadata (with chunk_hashes and manifest_hash), chunks,
 * merkle_root
 *
 * docs/formats.md has the rules. */
#ifndef CAIRN_ARCHIVE_FOLD_FORMAT_H
#define CAIRN_ARCHIVE_FOLD_FORMAT_H

#include "hash/crypto.h"

enum {
	CAIRN_FOLD_MAGIC_BYTES = 8,
	CAIRN_FOLD_HEADER_BYTES = 28,
	CAIRN_FOLD_CHUNK_HEADER_BYTES = 32,
	CAIRN_FOLD_CTYPE_BYTES = 4,
	CAIRN_FOLD_INDEX_BYTES_MAX = 100 << 20,
	CAIRN_FOLD_NAME_BYTES_MAX = 4096,
	CAIRN_FOLD_STORED = 0, /* flags */
	CAIRN_FOLD_ZSTD = 1,
};

/** The most bytes of a chunk's content, its stored bytes or its parity. */
#define CAIRN_FOLD_CHUNK_BYTES_MAX (UINT64_C(2) << 30)

extern const uint8_t CAIRN_FOLD_MAGIC[CAIRN_FOLD_MAGIC_BYTES];

/** The fields of a chunk's header and of its entry in the index. */
struct cairn_fold_chunk {
	const char *name; /* UTF-8 without zero bytes */
	char ctype[CAIRN_FOLD_CTYPE_BYTES + 1];
	uint32_t flags;
	uint64_t offset; /* offset of the chunk's header in the file */
	uint64_t uncomp_len;
	uint64_t comp_len;
	uint64_t ecc_len;
	uint32_t crc32c; /* CRC of the compressed bytes */
	uint8_t sha256[CAIRN_SHA256_BYTES];
	unsigned parity;   /* N of rs(N); 0: none */
	bool is_encrypted; /* content that only the later dialect can read */
};

/** Returns whether the bytes begin as a FOLD file does. */
bool cairn_fold_is(const uint8_t *bytes, size_t len);

/** Reads the offset and length of the index from the file's header.
 * @return CAIRN_OK; CAIRN_E_FORMAT "fold.magic", "fold.header", "fold.unfinished"; CAIRN_E_LIMIT "fold.index_bytes" */
CAIRN_MUST_USE enum cairn_status cairn_fold_header_get(const uint8_t bytes[static CAIRN_FOLD_HEADER_BYTES],
						       uint64_t *index_at, uint64_t *index_len,
						       struct cairn_diag *diag);

/** Writes a chunk's header, which has all fields but the name, the SHA-256 and N. */
void cairn_fold_chunk_header_put(uint8_t out[static CAIRN_FOLD_CHUNK_HEADER_BYTES], const struct cairn_fold_chunk *c);

/** Reads a chunk's header, and checks all that needs no other data.
 * @param at  offset of the header in the file
 * @return CAIRN_OK; CAIRN_E_FORMAT "fold.flags", "fold.ctype"; CAIRN_E_LIMIT "fold.chunk_bytes" */
CAIRN_MUST_USE enum cairn_status cairn_fold_chunk_header_get(struct cairn_fold_chunk *out,
							     const uint8_t bytes[static CAIRN_FOLD_CHUNK_HEADER_BYTES],
							     uint64_t at, struct cairn_diag *diag);

/** Returns the length from the chunk's header to the end of its parity. */
uint64_t cairn_fold_chunk_bytes(const struct cairn_fold_chunk *c);

/** Computes the root of the tree over all chunks (n > 0): BLAKE2b of names, offsets and hashes.
 *  @param prefix  text before each SHA-256 in the index: "" or "sha256:"
 *  @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT more chunks than a file may have */
CAIRN_MUST_USE enum cairn_status cairn_fold_merkle_root(uint8_t out[static CAIRN_SHA256_BYTES],
							const struct cairn_fold_chunk *chunks, size_t n,
							const char *prefix);

#endif
