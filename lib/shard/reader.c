#include "shard/reader.h"

#include "shard/records.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum cairn_status cairn_shard_reader_init(struct cairn_shard_reader *r, const uint8_t *bytes, size_t len,
					  struct cairn_diag *diag)
{
	*r = (struct cairn_shard_reader){.cur = cairn_cur_init(bytes, len), .at = CAIRN_SHARD_IN_FILES};
	const uint8_t *rec = cairn_cur_take(&r->cur, CAIRN_SHARD_HEADER_BYTES);
	if (!rec) {
		cairn_fail(diag, CAIRN_E_FORMAT, "shard.truncated", len,
			   "a shard begins with a header of 48 bytes, but only %zu bytes were sent", len);
		cairn_diag_numbers(diag, CAIRN_SHARD_HEADER_BYTES, len);
		return CAIRN_E_FORMAT;
	}
	if (!cairn_shard_tag_is_right(rec))
		return cairn_fail(diag, CAIRN_E_FORMAT, "shard.tag", 0,
				  "the first 32 bytes are not the tag of a shard: send a shard, not another file");
	struct cairn_shard_header header;
	cairn_shard_header_get(&header, rec);
	if (header.version != CAIRN_SHARD_HEADER_VERSION) {
		cairn_fail(diag, CAIRN_E_FORMAT, "shard.version", CAIRN_SHARD_AT_VERSION,
			   "shards of header version %" PRIu64 " are not understood: write version 2", header.version);
		cairn_diag_numbers(diag, CAIRN_SHARD_HEADER_VERSION, header.version);
		return CAIRN_E_FORMAT;
	}
	if (header.footer_bytes != 0 && header.footer_bytes != CAIRN_SHARD_FOOTER_BYTES) {
		cairn_fail(diag, CAIRN_E_FORMAT, "shard.footer_size", CAIRN_SHARD_AT_FOOTER_BYTES,
			   "the header announces a footer of %" PRIu64
			   " bytes: it is 0 without a footer, 200 with one that follows",
			   header.footer_bytes);
		char actual[24];
		(void)snprintf(actual, sizeof(actual), "%" PRIu64, header.footer_bytes);
		cairn_diag_values(diag, "0 or 200", actual);
		return CAIRN_E_FORMAT;
	}
	r->footer_bytes = header.footer_bytes;
	return CAIRN_OK;
}

/* Reads the next record of a section: a block's header or the bookend. */
static const uint8_t *reader_take_header(struct cairn_shard_reader *r, const char *section, struct cairn_diag *diag)
{
	size_t left = r->cur.left;
	uint64_t at = cairn_cur_offset(&r->cur);
	const uint8_t *rec = cairn_cur_take(&r->cur, CAIRN_SHARD_RECORD_BYTES);
	if (!rec) {
		cairn_fail(diag, CAIRN_E_FORMAT, "shard.truncated", at,
			   "the shard ends inside its %s section, before the section's bookend: send it whole, "
			   "with both bookends and the right counts",
			   section);
		cairn_diag_numbers(diag, CAIRN_SHARD_RECORD_BYTES, left);
	}
	return rec;
}

enum cairn_status cairn_shard_next_file(struct cairn_shard_reader *r, struct cairn_shard_file *out, bool *more,
					struct cairn_diag *diag)
{
	assert(r->at == CAIRN_SHARD_IN_FILES);
	uint64_t at = cairn_cur_offset(&r->cur);
	const uint8_t *rec = reader_take_header(r, "file", diag);
	if (!rec)
		return CAIRN_E_FORMAT;
	*more = !cairn_shard_is_bookend(rec);
	if (!*more) {
		r->at = CAIRN_SHARD_IN_XORBS;
		r->cas_info_offset = cairn_cur_offset(&r->cur);
		return CAIRN_OK;
	}
	struct cairn_shard_file_header header;
	cairn_shard_file_header_get(&header, rec);
	*out = (struct cairn_shard_file){
		.offset = at,
		.hash = header.hash,
		.flags = header.flags,
		.n_terms = header.n_terms,
		.reserved = header.reserved,
	};
	uint64_t verified = header.flags & CAIRN_SHARD_FILE_WITH_VERIFICATION ? 1U : 0U;
	uint64_t described = header.flags & CAIRN_SHARD_FILE_WITH_METADATA ? 1U : 0U;
	uint64_t n_records = header.n_terms * (1 + verified) + described;
	uint64_t left = r->cur.left;
	out->terms = cairn_cur_array(&r->cur, header.n_terms, CAIRN_SHARD_RECORD_BYTES);
	if (verified)
		out->verifications = cairn_cur_array(&r->cur, header.n_terms, CAIRN_SHARD_RECORD_BYTES);
	if (described)
		out->metadata = cairn_cur_take(&r->cur, CAIRN_SHARD_RECORD_BYTES);
	if (r->cur.bad) {
		cairn_fail(diag, CAIRN_E_FORMAT, "file.num_entries", at + CAIRN_SHARD_FILE_AT_N,
			   "a file of %" PRIu32 " terms with its flags needs %" PRIu64
			   " more records of 48 bytes; the shard ends before",
			   header.n_terms, n_records);
		cairn_diag_numbers(diag, n_records * CAIRN_SHARD_RECORD_BYTES, left);
		return CAIRN_E_FORMAT;
	}
	return CAIRN_OK;
}

enum cairn_status cairn_shard_next_xorb(struct cairn_shard_reader *r, struct cairn_shard_xorb *out, bool *more,
					struct cairn_diag *diag)
{
	assert(r->at == CAIRN_SHARD_IN_XORBS);
	uint64_t at = cairn_cur_offset(&r->cur);
	const uint8_t *rec = reader_take_header(r, "xorb", diag);
	if (!rec)
		return CAIRN_E_FORMAT;
	*more = !cairn_shard_is_bookend(rec);
	if (!*more) {
		r->at = CAIRN_SHARD_AT_END;
		return CAIRN_OK;
	}
	struct cairn_shard_xorb_header header;
	cairn_shard_xorb_header_get(&header, rec);
	uint64_t left = r->cur.left;
	const uint8_t *chunks = cairn_cur_array(&r->cur, header.n_chunks, CAIRN_SHARD_RECORD_BYTES);
	if (!chunks) {
		cairn_fail(diag, CAIRN_E_FORMAT, "xorb.num_entries", at + CAIRN_SHARD_XORB_AT_N,
			   "a xorb of %" PRIu32 " chunks needs as many records of 48 bytes; the shard ends before",
			   header.n_chunks);
		cairn_diag_numbers(diag, (uint64_t)header.n_chunks * CAIRN_SHARD_RECORD_BYTES, left);
		return CAIRN_E_FORMAT;
	}
	*out = (struct cairn_shard_xorb){
		.offset = at,
		.hash = header.hash,
		.flags = header.flags,
		.n_chunks = header.n_chunks,
		.unpacked_bytes = header.unpacked_bytes,
		.bytes_on_disk = header.bytes_on_disk,
		.chunks = chunks,
	};
	return CAIRN_OK;
}

/* Compares an offset in the footer with the place that this reader found. */
static enum cairn_status reader_expect_offset(uint64_t expected, uint64_t actual, const char *name, uint64_t at,
					      struct cairn_diag *diag)
{
	if (expected == actual)
		return CAIRN_OK;
	cairn_fail(diag, CAIRN_E_FORMAT, "shard.footer_offset", at,
		   "%s of the footer is %" PRIu64 ", but what it points at is at %" PRIu64, name, actual, expected);
	cairn_diag_numbers(diag, expected, actual);
	return CAIRN_E_FORMAT;
}

/* The three lookup tables must fill the space between the sections and the footer. */
static enum cairn_status reader_check_lookups(const struct cairn_shard_footer *f, uint64_t tables_at,
					      uint64_t footer_at, struct cairn_diag *diag)
{
	const struct {
		const char *name;
		uint64_t offset, count, entry_bytes;
	} lookups[] = {
		{"file_lookup", f->file_lookup_offset, f->file_lookup_count, CAIRN_SHARD_FILE_LOOKUP_BYTES},
		{"cas_lookup", f->cas_lookup_offset, f->cas_lookup_count, CAIRN_SHARD_CAS_LOOKUP_BYTES},
		{"chunk_lookup", f->chunk_lookup_offset, f->chunk_lookup_count, CAIRN_SHARD_CHUNK_LOOKUP_BYTES},
	};
	uint64_t used_bytes = 0;
	for (size_t i = 0; i < sizeof(lookups) / sizeof(lookups[0]); i++) {
		if (lookups[i].offset == 0 && lookups[i].count == 0)
			continue;
		bool fits = lookups[i].offset >= tables_at && lookups[i].offset <= footer_at &&
			    lookups[i].count <= (footer_at - lookups[i].offset) / lookups[i].entry_bytes;
		if (!fits)
			return cairn_fail(diag, CAIRN_E_FORMAT, "shard.footer_lookup",
					  footer_at + CAIRN_SHARD_FOOTER_AT_LOOKUPS + 16 * i,
					  "%s of the footer, %" PRIu64 " entries at %" PRIu64
					  ", is not between the sections and the footer (%" PRIu64 " to %" PRIu64 ")",
					  lookups[i].name, lookups[i].count, lookups[i].offset, tables_at, footer_at);
		used_bytes += lookups[i].count * lookups[i].entry_bytes;
	}
	if (used_bytes == footer_at - tables_at)
		return CAIRN_OK;
	cairn_fail(diag, CAIRN_E_FORMAT, "shard.footer_lookup", footer_at + CAIRN_SHARD_FOOTER_AT_LOOKUPS,
		   "the lookup tables of the footer do not fill the bytes between the sections and the footer");
	cairn_diag_numbers(diag, footer_at - tables_at, used_bytes);
	return CAIRN_E_FORMAT;
}

static enum cairn_status reader_check_footer(const struct cairn_shard_reader *r, const struct cairn_shard_footer *f,
					     uint64_t tables_at, uint64_t footer_at, struct cairn_diag *diag)
{
	enum cairn_status status =
		reader_expect_offset(CAIRN_SHARD_HEADER_BYTES, f->file_info_offset, "file_info_offset",
				     footer_at + CAIRN_SHARD_FOOTER_AT_FILE_INFO, diag);
	if (status == CAIRN_OK)
		status = reader_expect_offset(r->cas_info_offset, f->cas_info_offset, "cas_info_offset",
					      footer_at + CAIRN_SHARD_FOOTER_AT_CAS_INFO, diag);
	if (status == CAIRN_OK)
		status = reader_expect_offset(footer_at, f->footer_offset, "footer_offset",
					      footer_at + CAIRN_SHARD_FOOTER_AT_OFFSET, diag);
	if (status == CAIRN_OK)
		status = reader_check_lookups(f, tables_at, footer_at, diag);
	return status;
}

enum cairn_status cairn_shard_reader_end(struct cairn_shard_reader *r, struct cairn_shard_footer *footer,
					 bool *has_footer, const uint8_t **tables, size_t *tables_len,
					 struct cairn_diag *diag)
{
	assert(r->at == CAIRN_SHARD_AT_END);
	*footer = (struct cairn_shard_footer){0};
	*has_footer = r->footer_bytes != 0;
	*tables = NULL;
	*tables_len = 0;
	uint64_t tables_at = cairn_cur_offset(&r->cur);
	size_t left = r->cur.left;
	if (!*has_footer && left == 0)
		return CAIRN_OK;
	if (!*has_footer) {
		cairn_fail(diag, CAIRN_E_FORMAT, "shard.trailing", tables_at,
			   "%zu bytes follow the last bookend, and the header announces no footer: remove them", left);
		cairn_diag_numbers(diag, 0, left);
		return CAIRN_E_FORMAT;
	}
	if (left < CAIRN_SHARD_FOOTER_BYTES) {
		cairn_fail(diag, CAIRN_E_FORMAT, "shard.footer_missing", tables_at,
			   "the header announces a footer of 200 bytes, but %zu bytes follow the last bookend", left);
		cairn_diag_numbers(diag, CAIRN_SHARD_FOOTER_BYTES, left);
		return CAIRN_E_FORMAT;
	}
	*tables_len = left - CAIRN_SHARD_FOOTER_BYTES;
	*tables = cairn_cur_take(&r->cur, *tables_len);
	uint64_t footer_at = cairn_cur_offset(&r->cur);
	uint64_t version = cairn_shard_footer_get(footer, cairn_cur_take(&r->cur, CAIRN_SHARD_FOOTER_BYTES));
	if (version != CAIRN_SHARD_FOOTER_VERSION) {
		cairn_fail(diag, CAIRN_E_FORMAT, "shard.footer_version", footer_at,
			   "footers of version %" PRIu64 " are not understood: write version 1, or no footer", version);
		cairn_diag_numbers(diag, CAIRN_SHARD_FOOTER_VERSION, version);
		return CAIRN_E_FORMAT;
	}
	return reader_check_footer(r, footer, tables_at, footer_at, diag);
}

struct cairn_shard_term cairn_shard_file_term(const struct cairn_shard_file *file, uint32_t i)
{
	struct cairn_shard_term term;
	cairn_shard_term_get(&term, file->terms + (size_t)i * CAIRN_SHARD_RECORD_BYTES);
	return term;
}

struct cairn_hash cairn_shard_file_range_hash(const struct cairn_shard_file *file, uint32_t i)
{
	struct cairn_hash range;
	cairn_shard_range_hash_get(&range, file->verifications + (size_t)i * CAIRN_SHARD_RECORD_BYTES);
	return range;
}

bool cairn_shard_file_sha256(const struct cairn_shard_file *file, uint8_t out[static CAIRN_SHA256_BYTES])
{
	if (!file->metadata)
		return false;
	cairn_shard_sha256_get(out, file->metadata);
	return true;
}

uint64_t cairn_shard_file_term_offset(const struct cairn_shard_file *file, uint32_t i)
{
	return file->offset + CAIRN_SHARD_RECORD_BYTES * (UINT64_C(1) + i);
}

uint64_t cairn_shard_file_verification_offset(const struct cairn_shard_file *file, uint32_t i)
{
	return file->offset + CAIRN_SHARD_RECORD_BYTES * (UINT64_C(1) + file->n_terms + i);
}

uint64_t cairn_shard_xorb_chunk_offset(const struct cairn_shard_xorb *xorb, uint32_t i)
{
	return xorb->offset + CAIRN_SHARD_RECORD_BYTES * (UINT64_C(1) + i);
}
