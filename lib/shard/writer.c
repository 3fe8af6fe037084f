#include "shard/writer.h"

#include "base/bytes.h"
#include "shard/records.h"

#include <assert.h>

void cairn_shard_writer_init(struct cairn_shard_writer *w, size_t bytes_max)
{
	*w = (struct cairn_shard_writer){.buf = cairn_buf_init(bytes_max), .at = CAIRN_SHARD_WRITES_FILES};
	uint8_t *rec = cairn_buf_extend(&w->buf, CAIRN_SHARD_HEADER_BYTES);
	if (rec)
		cairn_shard_header_put(rec, 0);
}

void cairn_shard_writer_fini(struct cairn_shard_writer *w)
{
	cairn_buf_fini(&w->buf);
}

static uint32_t writer_flags(const struct cairn_shard_writer *w)
{
	return cairn_get_u32le(w->buf.bytes + w->block + 32);
}

/* Patches the count of the open block and checks that the caller wrote all its records. */
static void writer_end_block(struct cairn_shard_writer *w)
{
	if (w->block != 0 && w->buf.status == CAIRN_OK) {
		cairn_put_u32le(w->buf.bytes + w->block + CAIRN_SHARD_FILE_AT_N, w->n);
		assert(w->at != CAIRN_SHARD_WRITES_FILES || !(writer_flags(w) & CAIRN_SHARD_FILE_WITH_VERIFICATION) ||
		       w->n_verified == w->n);
	}
	w->block = 0;
	w->n = 0;
	w->n_verified = 0;
}

/* The metadata record of a file has already ended its block. */
static void writer_end_file(struct cairn_shard_writer *w)
{
	assert(w->block == 0 || w->buf.status != CAIRN_OK || !(writer_flags(w) & CAIRN_SHARD_FILE_WITH_METADATA));
	writer_end_block(w);
}

static void writer_bookend(struct cairn_shard_writer *w)
{
	uint8_t *rec = cairn_buf_extend(&w->buf, CAIRN_SHARD_RECORD_BYTES);
	if (rec)
		cairn_shard_bookend_put(rec);
}

void cairn_shard_write_file(struct cairn_shard_writer *w, const struct cairn_hash *file, uint32_t flags)
{
	assert(w->at == CAIRN_SHARD_WRITES_FILES);
	writer_end_file(w);
	size_t at = w->buf.len;
	uint8_t *rec = cairn_buf_extend(&w->buf, CAIRN_SHARD_RECORD_BYTES);
	if (!rec)
		return;
	cairn_shard_file_header_put(rec, &(struct cairn_shard_file_header){.hash = *file, .flags = flags});
	w->block = at;
}

void cairn_shard_write_term(struct cairn_shard_writer *w, const struct cairn_shard_term *term)
{
	assert(w->at == CAIRN_SHARD_WRITES_FILES && w->n_verified == 0);
	uint8_t *rec = cairn_buf_extend(&w->buf, CAIRN_SHARD_RECORD_BYTES);
	if (!rec)
		return;
	assert(w->block != 0);
	cairn_shard_term_put(rec, term);
	w->materialized_bytes += term->unpacked_bytes;
	w->n++;
}

void cairn_shard_write_range_hash(struct cairn_shard_writer *w, const struct cairn_hash *range)
{
	assert(w->at == CAIRN_SHARD_WRITES_FILES);
	uint8_t *rec = cairn_buf_extend(&w->buf, CAIRN_SHARD_RECORD_BYTES);
	if (!rec)
		return;
	assert(w->block != 0 && w->n_verified < w->n && (writer_flags(w) & CAIRN_SHARD_FILE_WITH_VERIFICATION));
	cairn_shard_range_hash_put(rec, range);
	w->n_verified++;
}

void cairn_shard_write_sha256(struct cairn_shard_writer *w, const uint8_t sha256[static CAIRN_SHA256_BYTES])
{
	assert(w->at == CAIRN_SHARD_WRITES_FILES);
	uint8_t *rec = cairn_buf_extend(&w->buf, CAIRN_SHARD_RECORD_BYTES);
	if (!rec)
		return;
	assert(w->block != 0 && (writer_flags(w) & CAIRN_SHARD_FILE_WITH_METADATA));
	cairn_shard_sha256_put(rec, sha256);
	writer_end_block(w);
}

static void writer_end_files(struct cairn_shard_writer *w)
{
	writer_end_file(w);
	writer_bookend(w);
	w->cas_info_offset = w->buf.len;
	w->at = CAIRN_SHARD_WRITES_XORBS;
}

void cairn_shard_write_xorb(struct cairn_shard_writer *w, const struct cairn_hash *xorb, uint32_t bytes_on_disk)
{
	assert(w->at != CAIRN_SHARD_WRITTEN);
	if (w->at == CAIRN_SHARD_WRITES_FILES)
		writer_end_files(w);
	writer_end_block(w);
	size_t at = w->buf.len;
	uint8_t *rec = cairn_buf_extend(&w->buf, CAIRN_SHARD_RECORD_BYTES);
	if (!rec)
		return;
	cairn_shard_xorb_header_put(rec,
				    &(struct cairn_shard_xorb_header){.hash = *xorb, .bytes_on_disk = bytes_on_disk});
	w->stored_bytes_on_disk += bytes_on_disk;
	w->block = at;
}

void cairn_shard_write_chunk(struct cairn_shard_writer *w, const struct cairn_hash *chunk, uint32_t unpacked_bytes,
			     uint32_t flags)
{
	assert(w->at == CAIRN_SHARD_WRITES_XORBS);
	uint8_t *rec = cairn_buf_extend(&w->buf, CAIRN_SHARD_RECORD_BYTES);
	if (!rec)
		return;
	assert(w->block != 0);
	/* Update the sum in the block's header after each chunk, so that the header is always right. */
	uint8_t *sum = w->buf.bytes + w->block + CAIRN_SHARD_XORB_AT_UNPACKED_BYTES;
	uint32_t start = cairn_get_u32le(sum);
	assert(unpacked_bytes <= UINT32_MAX - start);
	cairn_shard_chunk_put(
		rec, &(struct cairn_shard_chunk){
			     .hash = *chunk, .start = start, .unpacked_bytes = unpacked_bytes, .flags = flags});
	cairn_put_u32le(sum, start + unpacked_bytes);
	w->stored_bytes += unpacked_bytes;
	w->n++;
}

enum cairn_status cairn_shard_writer_end(struct cairn_shard_writer *w)
{
	assert(w->at != CAIRN_SHARD_WRITTEN);
	if (w->at == CAIRN_SHARD_WRITES_FILES)
		writer_end_files(w);
	writer_end_block(w);
	writer_bookend(w);
	w->at = CAIRN_SHARD_WRITTEN;
	return w->buf.status;
}

enum cairn_status cairn_shard_writer_end_keyed(struct cairn_shard_writer *w, const struct cairn_hash *key,
					       uint64_t created_unix_s, uint64_t key_expiry_unix_s)
{
	enum cairn_status status = cairn_shard_writer_end(w);
	if (status != CAIRN_OK)
		return status;
	cairn_shard_header_put(w->buf.bytes, CAIRN_SHARD_FOOTER_BYTES);
	uint64_t at = w->buf.len;
	struct cairn_shard_footer footer = {
		.file_info_offset = CAIRN_SHARD_HEADER_BYTES,
		.cas_info_offset = w->cas_info_offset,
		.file_lookup_offset = at,
		.cas_lookup_offset = at,
		.chunk_lookup_offset = at,
		.chunk_hash_key = *key,
		.created_unix_s = created_unix_s,
		.key_expiry_unix_s = key_expiry_unix_s,
		.stored_bytes_on_disk = w->stored_bytes_on_disk,
		.materialized_bytes = w->materialized_bytes,
		.stored_bytes = w->stored_bytes,
		.footer_offset = at,
	};
	cairn_shard_footer_write(&w->buf, &footer);
	return w->buf.status;
}

void cairn_shard_footer_write(struct cairn_buf *buf, const struct cairn_shard_footer *footer)
{
	uint8_t *rec = cairn_buf_extend(buf, CAIRN_SHARD_FOOTER_BYTES);
	if (rec)
		cairn_shard_footer_put(rec, footer);
}
