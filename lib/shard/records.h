/* Reads and writes each kind of record of a shard. Only lib/shard includes it, but for functions of reader.h. */
#ifndef CAIRN_SHARD_RECORDS_H
#define CAIRN_SHARD_RECORDS_H

#include "base/bytes.h"
#include "shard/format.h"

#include <string.h>

struct cairn_shard_header {
	uint64_t version;
	uint64_t footer_bytes;
};

struct cairn_shard_file_header {
	struct cairn_hash hash;
	uint32_t flags;
	uint32_t n_terms;
	uint64_t reserved;
};

struct cairn_shard_xorb_header {
	struct cairn_hash hash;
	uint32_t flags;
	uint32_t n_chunks;
	uint32_t unpacked_bytes;
	uint32_t bytes_on_disk;
};

/* Offsets of fields that the writer patches or that messages name. */
enum {
	CAIRN_SHARD_AT_VERSION = 32,
	CAIRN_SHARD_AT_FOOTER_BYTES = 40,
	CAIRN_SHARD_FILE_AT_N = 36,
	CAIRN_SHARD_XORB_AT_N = 36,
	CAIRN_SHARD_XORB_AT_UNPACKED_BYTES = 40,
	CAIRN_SHARD_FOOTER_AT_FILE_INFO = 8,
	CAIRN_SHARD_FOOTER_AT_CAS_INFO = 16,
	CAIRN_SHARD_FOOTER_AT_LOOKUPS = 24, /* three pairs of offset and count, 16 bytes each */
	CAIRN_SHARD_FOOTER_AT_OFFSET = 192,
	/* Entries of the lookup tables: u64 hash prefix, u32 index; an entry for a chunk has a second u32. */
	CAIRN_SHARD_FILE_LOOKUP_BYTES = 12,
	CAIRN_SHARD_CAS_LOOKUP_BYTES = 12,
	CAIRN_SHARD_CHUNK_LOOKUP_BYTES = 16,
};

/* The header: the tag, then two integers. */
bool cairn_shard_tag_is_right(const uint8_t rec[static CAIRN_SHARD_TAG_BYTES]);
void cairn_shard_header_get(struct cairn_shard_header *out, const uint8_t rec[static CAIRN_SHARD_HEADER_BYTES]);
void cairn_shard_header_put(uint8_t rec[static CAIRN_SHARD_HEADER_BYTES], uint64_t footer_bytes);

bool cairn_shard_is_bookend(const uint8_t rec[static CAIRN_SHARD_RECORD_BYTES]);
void cairn_shard_bookend_put(uint8_t rec[static CAIRN_SHARD_RECORD_BYTES]);

void cairn_shard_file_header_get(struct cairn_shard_file_header *out,
				 const uint8_t rec[static CAIRN_SHARD_RECORD_BYTES]);
void cairn_shard_file_header_put(uint8_t rec[static CAIRN_SHARD_RECORD_BYTES], const struct cairn_shard_file_header *h);

void cairn_shard_term_get(struct cairn_shard_term *out, const uint8_t rec[static CAIRN_SHARD_RECORD_BYTES]);
void cairn_shard_term_put(uint8_t rec[static CAIRN_SHARD_RECORD_BYTES], const struct cairn_shard_term *term);

/* A hash and 16 reserved bytes: a verification. */
void cairn_shard_range_hash_get(struct cairn_hash *out, const uint8_t rec[static CAIRN_SHARD_RECORD_BYTES]);
void cairn_shard_range_hash_put(uint8_t rec[static CAIRN_SHARD_RECORD_BYTES], const struct cairn_hash *range);

/* A digest, each group of 8 reversed, and 16 reserved bytes: a file's metadata. */
void cairn_shard_sha256_get(uint8_t out[static CAIRN_SHA256_BYTES], const uint8_t rec[static CAIRN_SHARD_RECORD_BYTES]);
void cairn_shard_sha256_put(uint8_t rec[static CAIRN_SHARD_RECORD_BYTES],
			    const uint8_t sha256[static CAIRN_SHA256_BYTES]);

void cairn_shard_xorb_header_get(struct cairn_shard_xorb_header *out,
				 const uint8_t rec[static CAIRN_SHARD_RECORD_BYTES]);
void cairn_shard_xorb_header_put(uint8_t rec[static CAIRN_SHARD_RECORD_BYTES], const struct cairn_shard_xorb_header *h);

/* Inline, because it runs twice for each chunk of an upload and a call costs more than the copy. */
static inline void cairn_shard_chunk_get(struct cairn_shard_chunk *out,
					 const uint8_t rec[static CAIRN_SHARD_RECORD_BYTES])
{
	memcpy(out->hash.b, rec, CAIRN_HASH_BYTES);
	out->start = cairn_get_u32le(rec + 32);
	out->unpacked_bytes = cairn_get_u32le(rec + 36);
	out->flags = cairn_get_u32le(rec + 40);
	out->reserved = cairn_get_u32le(rec + 44);
}
void cairn_shard_chunk_put(uint8_t rec[static CAIRN_SHARD_RECORD_BYTES], const struct cairn_shard_chunk *chunk);

/* @return the footer's version; the other fields are filled in only for CAIRN_SHARD_FOOTER_VERSION */
uint64_t cairn_shard_footer_get(struct cairn_shard_footer *out, const uint8_t rec[static CAIRN_SHARD_FOOTER_BYTES]);
void cairn_shard_footer_put(uint8_t rec[static CAIRN_SHARD_FOOTER_BYTES], const struct cairn_shard_footer *footer);

#endif
