/* Reads a shard in memory in one pass, record by record. Allocates nothing, and checks every value before use. */
#ifndef CAIRN_SHARD_READER_H
#define CAIRN_SHARD_READER_H

#include "base/cursor.h"
#include "shard/format.h"
#include "shard/records.h"

/** A file's block. Borrows the shard's bytes. */
struct cairn_shard_file {
	uint64_t offset; /* offset of its header in the shard */
	struct cairn_hash hash;
	uint32_t flags;
	uint32_t n_terms;
	uint64_t reserved;
	const uint8_t *terms;         /* n_terms records; see cairn_shard_file_term() */
	const uint8_t *verifications; /* n_terms records; NULL: not flagged */
	const uint8_t *metadata;      /* one record; NULL: not flagged */
};

/** A xorb's block. Borrows the shard's bytes. */
struct cairn_shard_xorb {
	uint64_t offset; /* of its header in the shard */
	struct cairn_hash hash;
	uint32_t flags; /* reserved */
	uint32_t n_chunks;
	uint32_t unpacked_bytes;
	uint32_t bytes_on_disk; /* a hint of the client, often 0; never judged */
	const uint8_t *chunks;  /* n_chunks records; see cairn_shard_xorb_chunk() */
};

/** The position of a pass. A plain value: copy it to remember a place. Owned by one thread at a time. */
struct cairn_shard_reader {
	struct cairn_cur cur;
	uint64_t footer_bytes;    /* from the header: 0 or 200 */
	uint64_t cas_info_offset; /* 0 until the file section has ended */
	enum { CAIRN_SHARD_IN_FILES, CAIRN_SHARD_IN_XORBS, CAIRN_SHARD_AT_END } at;
};

/** Checks the header; the reader is then before the first file. Borrows bytes for as long as the reader and its views
 * are used. @return CAIRN_OK; CAIRN_E_FORMAT too short, tag, version, or a footer size that is neither 0 nor 200 */
CAIRN_MUST_USE enum cairn_status cairn_shard_reader_init(struct cairn_shard_reader *r, const uint8_t *bytes, size_t len,
							 struct cairn_diag *diag);

/** Reads the next file. Checks that all its records are present.
 * @param[out] more  false: the bookend was reached, out is untouched
 * @return CAIRN_OK; CAIRN_E_FORMAT the shard ends inside the section, or a count is larger than the bytes left */
CAIRN_MUST_USE enum cairn_status cairn_shard_next_file(struct cairn_shard_reader *r, struct cairn_shard_file *out,
						       bool *more, struct cairn_diag *diag);

/** Reads the next xorb, as cairn_shard_next_file(). Call it after the last file.
 *  @return as cairn_shard_next_file() */
CAIRN_MUST_USE enum cairn_status cairn_shard_next_xorb(struct cairn_shard_reader *r, struct cairn_shard_xorb *out,
						       bool *more, struct cairn_diag *diag);

/** Checks the end of the shard, after the last xorb. Without a footer, nothing may follow the last bookend. Checks the
 * version and the offsets in a footer. A lookup table with offset 0 and count 0 is absent: the JavaScript client writes
 * it so.
 * @param[out] footer  zeroed when there is none
 * @param[out] tables, tables_len  bytes between the last bookend and the footer (lookup tables), borrowed
 * @return CAIRN_OK; CAIRN_E_FORMAT */
CAIRN_MUST_USE enum cairn_status cairn_shard_reader_end(struct cairn_shard_reader *r, struct cairn_shard_footer *footer,
							bool *has_footer, const uint8_t **tables, size_t *tables_len,
							struct cairn_diag *diag);

/** Returns the i-th term, range hash or chunk. The caller ensures that i is in range. */
struct cairn_shard_term cairn_shard_file_term(const struct cairn_shard_file *file, uint32_t i);
struct cairn_hash cairn_shard_file_range_hash(const struct cairn_shard_file *file, uint32_t i);
static inline struct cairn_shard_chunk cairn_shard_xorb_chunk(const struct cairn_shard_xorb *xorb, uint32_t i)
{
	struct cairn_shard_chunk chunk;
	cairn_shard_chunk_get(&chunk, xorb->chunks + (size_t)i * CAIRN_SHARD_RECORD_BYTES);
	return chunk;
}

/** Returns the SHA-256 of the file in plain byte order. The shard keeps it like a Xet hash, each group of 8 bytes
 * reversed.
 *  @return false: the file has no metadata */
bool cairn_shard_file_sha256(const struct cairn_shard_file *file, uint8_t out[static CAIRN_SHA256_BYTES]);

/** Returns the offset in the shard of the i-th term, verification or chunk record; for messages. */
uint64_t cairn_shard_file_term_offset(const struct cairn_shard_file *file, uint32_t i);
uint64_t cairn_shard_file_verification_offset(const struct cairn_shard_file *file, uint32_t i);
uint64_t cairn_shard_xorb_chunk_offset(const struct cairn_shard_xorb *xorb, uint32_t i);

#endif
