/* Writing a shard, record by record, into a bounded buffer. Counts are patched in when a block ends. */
#ifndef CAIRN_SHARD_WRITER_H
#define CAIRN_SHARD_WRITER_H

#include "base/buf.h"
#include "shard/format.h"

/** Sticky: errors show in the status of cairn_shard_writer_end(). Calls must come in the order of the format; anything
 *  else is our own bug (assert). Owned by one thread at a time. */
struct cairn_shard_writer {
	struct cairn_buf buf; /* owned; its bytes are the shard once ended */
	uint64_t cas_info_offset;
	size_t block;        /* offset of the open block's header; 0: none */
	uint32_t n;          /* records in the open block */
	uint32_t n_verified; /* verifications in the open block */
	uint64_t stored_bytes, stored_bytes_on_disk, materialized_bytes;
	enum { CAIRN_SHARD_WRITES_FILES, CAIRN_SHARD_WRITES_XORBS, CAIRN_SHARD_WRITTEN } at;
};

/** Start a shard of at most bytes_max bytes. */
void cairn_shard_writer_init(struct cairn_shard_writer *w, size_t bytes_max);
void cairn_shard_writer_fini(struct cairn_shard_writer *w);

/** A file: begin, its terms in order, its range hashes in order (if flagged), its SHA-256 (if flagged). */
void cairn_shard_write_file(struct cairn_shard_writer *w, const struct cairn_hash *file, uint32_t flags);
void cairn_shard_write_term(struct cairn_shard_writer *w, const struct cairn_shard_term *term);
void cairn_shard_write_range_hash(struct cairn_shard_writer *w, const struct cairn_hash *range);
void cairn_shard_write_sha256(struct cairn_shard_writer *w, const uint8_t sha256[static CAIRN_SHA256_BYTES]);

/** A xorb: begin, its chunks in order. The first one ends the file section. Chunk starts are computed. */
void cairn_shard_write_xorb(struct cairn_shard_writer *w, const struct cairn_hash *xorb, uint32_t bytes_on_disk);
void cairn_shard_write_chunk(struct cairn_shard_writer *w, const struct cairn_hash *chunk, uint32_t unpacked_bytes,
			     uint32_t flags);

/**
 * End without a footer: an upload.
 * @return CAIRN_OK; CAIRN_E_LIMIT over bytes_max; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_shard_writer_end(struct cairn_shard_writer *w);

/**
 * End with a footer without lookup tables: an answer. Offsets and sums are filled in.
 * @param key  what the chunk hashes were keyed with; zero: they are not
 * @return as cairn_shard_writer_end()
 */
CAIRN_MUST_USE enum cairn_status cairn_shard_writer_end_keyed(struct cairn_shard_writer *w,
							      const struct cairn_hash *key, uint64_t created_unix_s,
							      uint64_t key_expiry_unix_s);

/** Append a footer as it is given. */
void cairn_shard_footer_write(struct cairn_buf *buf, const struct cairn_shard_footer *footer);

#endif
