#include "cli/inspect/inspect.h"
#include "shard/reader.h"
#include "verify/verify.h"

#include <stdio.h>
#include <string.h>

bool inspect_is_shard(const uint8_t *bytes, size_t len)
{
	/* compares only the readable part, so that a shard with a damaged tag counts as a shard */
	return len >= 14 && memcmp(bytes, CAIRN_SHARD_TAG, 14) == 0;
}

/* Shows the last 16 bytes of a record, where these are reserved. */
static void inspect_reserved(struct report *r, const uint8_t *record)
{
	record_hex(r, "reserved", record + CAIRN_SHARD_RECORD_BYTES - 16, 16);
}

static void inspect_file(struct report *r, const struct cairn_shard_file *file)
{
	record_begin(r, 0, "file", file->offset);
	record_hash(r, "hash", &file->hash);
	record_flags(r, "flags", file->flags);
	record_u64(r, "terms", file->n_terms);
	record_u64(r, "reserved", file->reserved);
	record_end(r);
	for (uint32_t i = 0; i < file->n_terms; i++) {
		struct cairn_shard_term term = cairn_shard_file_term(file, i);
		record_begin(r, 1, "term", cairn_shard_file_term_offset(file, i));
		record_hash(r, "xorb", &term.xorb);
		record_flags(r, "flags", term.flags);
		record_u64(r, "start", term.start);
		record_u64(r, "end", term.end);
		record_u64(r, "bytes", term.unpacked_bytes);
		record_end(r);
	}
	for (uint32_t i = 0; file->verifications && i < file->n_terms; i++) {
		struct cairn_hash range = cairn_shard_file_range_hash(file, i);
		record_begin(r, 1, "verification", cairn_shard_file_verification_offset(file, i));
		record_hash(r, "hash", &range);
		inspect_reserved(r, file->verifications + (size_t)i * CAIRN_SHARD_RECORD_BYTES);
		record_end(r);
	}
	uint8_t sha256[CAIRN_SHA256_BYTES];
	if (cairn_shard_file_sha256(file, sha256)) {
		uint64_t records = 1 + (uint64_t)file->n_terms * (file->verifications ? 2 : 1);
		record_begin(r, 1, "metadata", file->offset + records * CAIRN_SHARD_RECORD_BYTES);
		record_hex(r, "sha256", sha256, sizeof(sha256));
		inspect_reserved(r, file->metadata);
		record_end(r);
	}
}

static void inspect_described_xorb(struct report *r, const struct cairn_shard_xorb *xorb)
{
	record_begin(r, 0, "xorb", xorb->offset);
	record_hash(r, "hash", &xorb->hash);
	record_flags(r, "flags", xorb->flags);
	record_u64(r, "chunks", xorb->n_chunks);
	record_u64(r, "bytes", xorb->unpacked_bytes);
	record_u64(r, "bytes_on_disk", xorb->bytes_on_disk);
	record_end(r);
	for (uint32_t i = 0; i < xorb->n_chunks; i++) {
		struct cairn_shard_chunk chunk = cairn_shard_xorb_chunk(xorb, i);
		record_begin(r, 1, "chunk", cairn_shard_xorb_chunk_offset(xorb, i));
		record_hash(r, "hash", &chunk.hash);
		record_u64(r, "start", chunk.start);
		record_u64(r, "bytes", chunk.unpacked_bytes);
		record_flags(r, "flags", chunk.flags);
		record_u64(r, "reserved", chunk.reserved);
		record_end(r);
	}
}

static void inspect_footer(struct report *r, const struct cairn_shard_footer *f)
{
	char name[24];
	record_begin(r, 0, "footer", f->footer_offset);
	record_u64(r, "file_info_offset", f->file_info_offset);
	record_u64(r, "cas_info_offset", f->cas_info_offset);
	record_u64(r, "file_lookup_offset", f->file_lookup_offset);
	record_u64(r, "file_lookup_count", f->file_lookup_count);
	record_u64(r, "cas_lookup_offset", f->cas_lookup_offset);
	record_u64(r, "cas_lookup_count", f->cas_lookup_count);
	record_u64(r, "chunk_lookup_offset", f->chunk_lookup_offset);
	record_u64(r, "chunk_lookup_count", f->chunk_lookup_count);
	record_hash(r, "chunk_hash_key", &f->chunk_hash_key);
	record_u64(r, "created_unix_s", f->created_unix_s);
	record_u64(r, "key_expiry_unix_s", f->key_expiry_unix_s);
	for (unsigned i = 0; i < 6; i++) {
		(void)snprintf(name, sizeof(name), "reserved_%u", i);
		record_u64(r, name, f->reserved[i]);
	}
	record_u64(r, "stored_bytes_on_disk", f->stored_bytes_on_disk);
	record_u64(r, "materialized_bytes", f->materialized_bytes);
	record_u64(r, "stored_bytes", f->stored_bytes);
	record_u64(r, "footer_offset", f->footer_offset);
	record_end(r);
}

/* Shows the bookend that the reader has just passed. */
static void inspect_bookend(struct report *r, const struct cairn_shard_reader *reader)
{
	record_begin(r, 0, "bookend", cairn_cur_offset(&reader->cur) - CAIRN_SHARD_RECORD_BYTES);
	inspect_reserved(r, reader->cur.p - CAIRN_SHARD_RECORD_BYTES);
	record_end(r);
}

static enum cairn_status inspect_sections(struct report *r, struct cairn_shard_reader *reader, struct cairn_diag *diag)
{
	struct cairn_shard_file file;
	struct cairn_shard_xorb xorb;
	bool more = true;
	for (;;) {
		enum cairn_status status = cairn_shard_next_file(reader, &file, &more, diag);
		if (status != CAIRN_OK)
			return status;
		if (!more)
			break;
		inspect_file(r, &file);
	}
	inspect_bookend(r, reader);
	for (;;) {
		enum cairn_status status = cairn_shard_next_xorb(reader, &xorb, &more, diag);
		if (status != CAIRN_OK)
			return status;
		if (!more)
			break;
		inspect_described_xorb(r, &xorb);
	}
	inspect_bookend(r, reader);
	return CAIRN_OK;
}

static enum cairn_status inspect_no_xorb(void *ctx, const struct cairn_hash *hash, bool described,
					 const struct cairn_chunk_list **list, int64_t *id)
{
	(void)described;
	(void)id;
	(void)ctx;
	(void)hash;
	*list = NULL;
	return CAIRN_E_NOT_FOUND;
}

static enum cairn_status inspect_verify(const uint8_t *bytes, size_t len, const struct cairn_shard_footer *footer,
					struct inspect_result *out, struct cairn_diag *diag)
{
	const struct cairn_verify_resolver nobody = {.chunk_list = inspect_no_xorb};
	struct cairn_verify_options options = CAIRN_VERIFY_DEFAULTS;
	struct cairn_verify_summary summary;
	struct cairn_diag why = {0};
	if (!cairn_hash_is_zero(&footer->chunk_hash_key)) {
		out->note = "chunk hashes are keyed, so hashes were not checked";
		return CAIRN_OK;
	}
	options.xorbs_external = true;
	enum cairn_status status = cairn_verify_shard(bytes, len, &options, &nobody, &summary, &why);
	if (status == CAIRN_E_NOT_FOUND) {
		out->note = "a term is on a xorb that is not described here, so files were checked up to there only";
		return CAIRN_OK;
	}
	if (status != CAIRN_OK && diag)
		*diag = why;
	return status;
}

enum cairn_status inspect_shard(struct report *r, const uint8_t *bytes, size_t len, struct inspect_result *out,
				struct cairn_diag *diag)
{
	struct cairn_shard_reader reader;
	struct cairn_shard_footer footer = {0};
	const uint8_t *tables = NULL;
	size_t tables_len = 0;
	bool has_footer = false;
	*out = (struct inspect_result){0};
	enum cairn_status status = cairn_shard_reader_init(&reader, bytes, len, diag);
	if (status != CAIRN_OK)
		return status;
	record_begin(r, 0, "header", 0);
	record_u64(r, "version", CAIRN_SHARD_HEADER_VERSION);
	record_u64(r, "footer_bytes", reader.footer_bytes);
	record_end(r);
	status = inspect_sections(r, &reader, diag);
	uint64_t tables_at = cairn_cur_offset(&reader.cur);
	if (status == CAIRN_OK)
		status = cairn_shard_reader_end(&reader, &footer, &has_footer, &tables, &tables_len, diag);
	if (status != CAIRN_OK)
		return status;
	if (tables_len > 0) {
		record_begin(r, 0, "lookup_tables", tables_at);
		record_u64(r, "bytes", tables_len);
		record_end(r);
	}
	if (has_footer)
		inspect_footer(r, &footer);
	return inspect_verify(bytes, len, &footer, out, diag);
}
