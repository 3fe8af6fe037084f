#include "shard/records.h"

#include "base/bytes.h"
#include "base/vec16.h"

#include <string.h>

const uint8_t CAIRN_SHARD_TAG[CAIRN_SHARD_TAG_BYTES] = {
	'H', 'F', 'R', 'e', 'p', 'o', 'M', 'e', 't', 'a', 'D', 'a', 't', 'a', 0,  85,
	105, 103, 69,  106, 123, 129, 87,  131, 165, 189, 217, 92,  205, 209, 74, 169,
};

bool cairn_shard_tag_is_right(const uint8_t rec[static CAIRN_SHARD_TAG_BYTES])
{
	return memcmp(rec, CAIRN_SHARD_TAG, CAIRN_SHARD_TAG_BYTES) == 0;
}

void cairn_shard_header_get(struct cairn_shard_header *out, const uint8_t rec[static CAIRN_SHARD_HEADER_BYTES])
{
	out->version = cairn_get_u64le(rec + CAIRN_SHARD_AT_VERSION);
	out->footer_bytes = cairn_get_u64le(rec + CAIRN_SHARD_AT_FOOTER_BYTES);
}

void cairn_shard_header_put(uint8_t rec[static CAIRN_SHARD_HEADER_BYTES], uint64_t footer_bytes)
{
	memcpy(rec, CAIRN_SHARD_TAG, CAIRN_SHARD_TAG_BYTES);
	cairn_put_u64le(rec + CAIRN_SHARD_AT_VERSION, CAIRN_SHARD_HEADER_VERSION);
	cairn_put_u64le(rec + CAIRN_SHARD_AT_FOOTER_BYTES, footer_bytes);
}

bool cairn_shard_is_bookend(const uint8_t rec[static CAIRN_SHARD_RECORD_BYTES])
{
	return cairn_vec16_is_zero(~(cairn_vec16_load(rec) & cairn_vec16_load(rec + 16)));
}

void cairn_shard_bookend_put(uint8_t rec[static CAIRN_SHARD_RECORD_BYTES])
{
	memset(rec, 0xff, CAIRN_HASH_BYTES);
	memset(rec + CAIRN_HASH_BYTES, 0, CAIRN_SHARD_RECORD_BYTES - CAIRN_HASH_BYTES);
}

void cairn_shard_file_header_get(struct cairn_shard_file_header *out,
				 const uint8_t rec[static CAIRN_SHARD_RECORD_BYTES])
{
	memcpy(out->hash.b, rec, CAIRN_HASH_BYTES);
	out->flags = cairn_get_u32le(rec + 32);
	out->n_terms = cairn_get_u32le(rec + CAIRN_SHARD_FILE_AT_N);
	out->reserved = cairn_get_u64le(rec + 40);
}

void cairn_shard_file_header_put(uint8_t rec[static CAIRN_SHARD_RECORD_BYTES], const struct cairn_shard_file_header *h)
{
	memcpy(rec, h->hash.b, CAIRN_HASH_BYTES);
	cairn_put_u32le(rec + 32, h->flags);
	cairn_put_u32le(rec + CAIRN_SHARD_FILE_AT_N, h->n_terms);
	cairn_put_u64le(rec + 40, h->reserved);
}

void cairn_shard_term_get(struct cairn_shard_term *out, const uint8_t rec[static CAIRN_SHARD_RECORD_BYTES])
{
	memcpy(out->xorb.b, rec, CAIRN_HASH_BYTES);
	out->flags = cairn_get_u32le(rec + 32);
	out->unpacked_bytes = cairn_get_u32le(rec + 36);
	out->start = cairn_get_u32le(rec + 40);
	out->end = cairn_get_u32le(rec + 44);
}

void cairn_shard_term_put(uint8_t rec[static CAIRN_SHARD_RECORD_BYTES], const struct cairn_shard_term *term)
{
	memcpy(rec, term->xorb.b, CAIRN_HASH_BYTES);
	cairn_put_u32le(rec + 32, term->flags);
	cairn_put_u32le(rec + 36, term->unpacked_bytes);
	cairn_put_u32le(rec + 40, term->start);
	cairn_put_u32le(rec + 44, term->end);
}

void cairn_shard_range_hash_get(struct cairn_hash *out, const uint8_t rec[static CAIRN_SHARD_RECORD_BYTES])
{
	memcpy(out->b, rec, CAIRN_HASH_BYTES);
}

void cairn_shard_range_hash_put(uint8_t rec[static CAIRN_SHARD_RECORD_BYTES], const struct cairn_hash *range)
{
	memcpy(rec, range->b, CAIRN_HASH_BYTES);
	memset(rec + CAIRN_HASH_BYTES, 0, CAIRN_SHARD_RECORD_BYTES - CAIRN_HASH_BYTES);
}

void cairn_shard_sha256_get(uint8_t out[static CAIRN_SHA256_BYTES], const uint8_t rec[static CAIRN_SHARD_RECORD_BYTES])
{
	for (size_t i = 0; i < 32; i++)
		out[i] = rec[i ^ 7];
}

void cairn_shard_sha256_put(uint8_t rec[static CAIRN_SHARD_RECORD_BYTES],
			    const uint8_t sha256[static CAIRN_SHA256_BYTES])
{
	for (size_t i = 0; i < 32; i++)
		rec[i ^ 7] = sha256[i];
	memset(rec + 32, 0, CAIRN_SHARD_RECORD_BYTES - 32);
}

void cairn_shard_xorb_header_get(struct cairn_shard_xorb_header *out,
				 const uint8_t rec[static CAIRN_SHARD_RECORD_BYTES])
{
	memcpy(out->hash.b, rec, CAIRN_HASH_BYTES);
	out->flags = cairn_get_u32le(rec + 32);
	out->n_chunks = cairn_get_u32le(rec + CAIRN_SHARD_XORB_AT_N);
	out->unpacked_bytes = cairn_get_u32le(rec + CAIRN_SHARD_XORB_AT_UNPACKED_BYTES);
	out->bytes_on_disk = cairn_get_u32le(rec + 44);
}

void cairn_shard_xorb_header_put(uint8_t rec[static CAIRN_SHARD_RECORD_BYTES], const struct cairn_shard_xorb_header *h)
{
	memcpy(rec, h->hash.b, CAIRN_HASH_BYTES);
	cairn_put_u32le(rec + 32, h->flags);
	cairn_put_u32le(rec + CAIRN_SHARD_XORB_AT_N, h->n_chunks);
	cairn_put_u32le(rec + CAIRN_SHARD_XORB_AT_UNPACKED_BYTES, h->unpacked_bytes);
	cairn_put_u32le(rec + 44, h->bytes_on_disk);
}

void cairn_shard_chunk_put(uint8_t rec[static CAIRN_SHARD_RECORD_BYTES], const struct cairn_shard_chunk *chunk)
{
	memcpy(rec, chunk->hash.b, CAIRN_HASH_BYTES);
	cairn_put_u32le(rec + 32, chunk->start);
	cairn_put_u32le(rec + 36, chunk->unpacked_bytes);
	cairn_put_u32le(rec + 40, chunk->flags);
	cairn_put_u32le(rec + 44, chunk->reserved);
}

uint64_t cairn_shard_footer_get(struct cairn_shard_footer *out, const uint8_t rec[static CAIRN_SHARD_FOOTER_BYTES])
{
	out->file_info_offset = cairn_get_u64le(rec + CAIRN_SHARD_FOOTER_AT_FILE_INFO);
	out->cas_info_offset = cairn_get_u64le(rec + CAIRN_SHARD_FOOTER_AT_CAS_INFO);
	out->file_lookup_offset = cairn_get_u64le(rec + CAIRN_SHARD_FOOTER_AT_LOOKUPS);
	out->file_lookup_count = cairn_get_u64le(rec + 32);
	out->cas_lookup_offset = cairn_get_u64le(rec + 40);
	out->cas_lookup_count = cairn_get_u64le(rec + 48);
	out->chunk_lookup_offset = cairn_get_u64le(rec + 56);
	out->chunk_lookup_count = cairn_get_u64le(rec + 64);
	memcpy(out->chunk_hash_key.b, rec + 72, CAIRN_HASH_BYTES);
	out->created_unix_s = cairn_get_u64le(rec + 104);
	out->key_expiry_unix_s = cairn_get_u64le(rec + 112);
	for (size_t i = 0; i < 6; i++)
		out->reserved[i] = cairn_get_u64le(rec + 120 + 8 * i);
	out->stored_bytes_on_disk = cairn_get_u64le(rec + 168);
	out->materialized_bytes = cairn_get_u64le(rec + 176);
	out->stored_bytes = cairn_get_u64le(rec + 184);
	out->footer_offset = cairn_get_u64le(rec + CAIRN_SHARD_FOOTER_AT_OFFSET);
	return cairn_get_u64le(rec);
}

void cairn_shard_footer_put(uint8_t rec[static CAIRN_SHARD_FOOTER_BYTES], const struct cairn_shard_footer *footer)
{
	cairn_put_u64le(rec, CAIRN_SHARD_FOOTER_VERSION);
	cairn_put_u64le(rec + CAIRN_SHARD_FOOTER_AT_FILE_INFO, footer->file_info_offset);
	cairn_put_u64le(rec + CAIRN_SHARD_FOOTER_AT_CAS_INFO, footer->cas_info_offset);
	cairn_put_u64le(rec + CAIRN_SHARD_FOOTER_AT_LOOKUPS, footer->file_lookup_offset);
	cairn_put_u64le(rec + 32, footer->file_lookup_count);
	cairn_put_u64le(rec + 40, footer->cas_lookup_offset);
	cairn_put_u64le(rec + 48, footer->cas_lookup_count);
	cairn_put_u64le(rec + 56, footer->chunk_lookup_offset);
	cairn_put_u64le(rec + 64, footer->chunk_lookup_count);
	memcpy(rec + 72, footer->chunk_hash_key.b, CAIRN_HASH_BYTES);
	cairn_put_u64le(rec + 104, footer->created_unix_s);
	cairn_put_u64le(rec + 112, footer->key_expiry_unix_s);
	for (size_t i = 0; i < 6; i++)
		cairn_put_u64le(rec + 120 + 8 * i, footer->reserved[i]);
	cairn_put_u64le(rec + 168, footer->stored_bytes_on_disk);
	cairn_put_u64le(rec + 176, footer->materialized_bytes);
	cairn_put_u64le(rec + 184, footer->stored_bytes);
	cairn_put_u64le(rec + CAIRN_SHARD_FOOTER_AT_OFFSET, footer->footer_offset);
}
