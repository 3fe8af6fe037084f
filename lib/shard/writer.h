/* Writes a shard, record by record, into a bounded buffer. Patches the count of a block when the block ends. */
#ifndef CAIRN_SHARD_WRITER_H
#define CAIRN_SHARD_WRITER_H

#include "base/buf.h"
#include "shard/format.h"

/** Sticky: errors show in the status of cairn_shard_writer_end(). Calls must come in the order of the format; asserts
 * check that. Owned by one thread at a time. */
struct cairn_shard_writer {
	struct cairn_buf buf; /* owned; the shard, once ended */
	uint64_t cas_info_offset;
	size_t block;        /* offset of the open block's header; 0: none */
	uint32_t n;          /* records in the open block */
	uint32_t n_verified; /* verifications in the open block */
	uint64_t stored_bytes, stored_bytes_on_disk, materialized_bytes;
	enum { CAIRN_SHARD_WRITES_FILES, CAIRN_SHARD_WRITES_XORBS, CAIRN_SHARD_WRITTEN } at;
};

/** Starts a shard of at most bytes_max bytes. */
void cairn_shard_writer_init(struct cairn_shard_writer *w, size_t bytes_max);
void cairn_shard_writer_fini(struct cairn_shard_writer *w);

/** Writes a file: begin, its terms in order, its range hashes in order (if flagged), its SHA-256 (if flagged). */
void cairn_shard_write_file(struct cairn_shard_writer *w, const struct cairn_hash *file, uint32_t flags);
void cairn_shard_write_term(struct cairn_shard_writer *w, const struct cairn_shard_term *term);
void cairn_shard_write_range_hash(struct cairn_shard_writer *w, const struct cairn_hash *range);
void cairn_shard_write_sha256(struct cairn_shard_writer *w, const uint8_t sha256[static CAIRN_SHA256_BYTES]);

/** Writes a xorb: begin, its chunks in order. The first xorb ends the file section. Chunk starts are computed. */
void cairn_shard_write_xorb(struct cairn_shard_writer *w, const struct cairn_hash *xorb, uint32_t bytes_on_disk);
void cairn_shard_write_chunk(struct cairn_shard_writer *w, const struct cairn_hash *chunk, uint32_t unpacked_bytes,
			     uint32_t flags);

/** Ends an upload: a shard without a footer. @return CAIRN_OK; CAIRN_E_LIMIT over bytes_max; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_shard_writer_end(struct cairn_shard_writer *w);

/** Ends an answer: a shard with a footer, but without lookup tables. Fills in offsets and sums.
 * @param key  the key of the chunk hashes; zero: the hashes are not keyed
 * @return as cairn_shard_writer_end() */
CAIRN_MUST_USE enum cairn_status cairn_shard_writer_end_keyed(struct cairn_shard_writer *w,
							      const struct cairn_hash *key, uint64_t created_unix_s,
							      uint64_t key_expiry_unix_s);

/** Appends a footer as given. */
void cairn_shard_footer_write(struct cairn_buf *buf, const struct cairn_shard_footer *footer);

#endif
