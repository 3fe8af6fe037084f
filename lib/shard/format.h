/* The MDB shard format as code (source: shard format document, the newer one; protocol document for the footer's
 * reserved fields, as the reference client writes and reads them). */
#ifndef CAIRN_SHARD_FORMAT_H
#define CAIRN_SHARD_FORMAT_H

#include "hash/hash.h"

/* shard   := header file* bookend xorb* bookend [lookup tables] [footer] header  := tag[32], u64 version (2), u64
 * footer size (0 or 200) file    := hash, u32 flags, u32 n, 8 reserved; n terms; n verifications if flagged; 1 metadata
 * if flagged term    := xorb hash, u32 reserved flags, u32 unpacked bytes, u32 first chunk, u32 end chunk (exclusive)
 * verification := range hash, 16 reserved          metadata := SHA-256, 16 reserved xorb    := hash, u32 reserved
 * flags, u32 n, u32 unpacked bytes, u32 bytes on disk; n chunks chunk   := hash, u32 start in the unpacked xorb, u32
 * unpacked bytes, u32 flags, u32 reserved bookend := 32 bytes ff, 16 reserved (zero when written) footer  := see struct
 * cairn_shard_footer All integers little-endian; every record but header tag and footer is CAIRN_SHARD_RECORD_BYTES
 * long. */
enum {
	CAIRN_SHARD_RECORD_BYTES = 48,
	CAIRN_SHARD_HEADER_BYTES = 48,
	CAIRN_SHARD_TAG_BYTES = 32,
	CAIRN_SHARD_FOOTER_BYTES = 200,
	CAIRN_SHARD_HEADER_VERSION = 2,
	CAIRN_SHARD_FOOTER_VERSION = 1,
};
#define CAIRN_SHARD_FILE_WITH_VERIFICATION UINT32_C(0x80000000)
#define CAIRN_SHARD_FILE_WITH_METADATA     UINT32_C(0x40000000)
#define CAIRN_SHARD_CHUNK_ELIGIBLE         UINT32_C(0x80000000) /* clients may ask about this chunk */

extern const uint8_t CAIRN_SHARD_TAG[CAIRN_SHARD_TAG_BYTES];

struct cairn_shard_term {
	struct cairn_hash xorb;
	uint32_t flags; /* reserved */
	uint32_t unpacked_bytes;
	uint32_t start; /* first chunk */
	uint32_t end;   /* one past the last chunk */
};

struct cairn_shard_chunk {
	struct cairn_hash hash;
	uint32_t start; /* in the unpacked xorb */
	uint32_t unpacked_bytes;
	uint32_t flags; /* CAIRN_SHARD_CHUNK_ELIGIBLE */
	uint32_t reserved;
};

/** Offsets are from the start of the shard. A shard without lookup tables has the three lookup offsets equal to
 *  footer_offset and counts of 0: both stock clients stop their scan at the first of them, so a zero breaks them. */
struct cairn_shard_footer {
	uint64_t file_info_offset;
	uint64_t cas_info_offset;
	uint64_t file_lookup_offset, file_lookup_count;
	uint64_t cas_lookup_offset, cas_lookup_count;
	uint64_t chunk_lookup_offset, chunk_lookup_count;
	struct cairn_hash chunk_hash_key;
	uint64_t created_unix_s;
	uint64_t key_expiry_unix_s;
	uint64_t reserved[6];
	uint64_t stored_bytes_on_disk; /* sums over the shard */
	uint64_t materialized_bytes;
	uint64_t stored_bytes;
	uint64_t footer_offset;
};

#endif
