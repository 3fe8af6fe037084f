#include "verify/verify.h"

#include "verify/run.h"

#include <inttypes.h>
#include <stdlib.h>

const struct cairn_verify_options CAIRN_VERIFY_DEFAULTS = {
	.files_max = CAIRN_VERIFY_FILES_MAX,
	.terms_max = CAIRN_VERIFY_TERMS_MAX,
	.xorbs_max = CAIRN_VERIFY_XORBS_MAX,
	.term_chunks_max = CAIRN_VERIFY_TERM_CHUNKS_MAX,
};

/* Checks a file's header, without its terms. */
static enum cairn_status verify_file_shape(const struct cairn_shard_file *file,
					   const struct cairn_verify_options *options, struct cairn_diag *diag)
{
	if (file->n_terms == 0 && !cairn_hash_is_zero(&file->hash)) {
		cairn_fail(diag, CAIRN_E_FORMAT, "file.no_terms", file->offset,
			   "only the empty file, whose hash is zero, has no terms; if a file was not meant to start "
			   "here, the flags or the count of the file before are wrong");
		cairn_verify_diag_hashes(diag, &(struct cairn_hash){0}, &file->hash);
		return CAIRN_E_FORMAT;
	}
	if (!file->verifications) {
		cairn_fail(diag, CAIRN_E_FORMAT, "file.verification_missing", file->offset,
			   "a file has no verification entries: every file of an upload needs one for each term, and "
			   "flag 0x80000000");
		return CAIRN_E_FORMAT;
	}
	if (options->strict && !file->metadata)
		return cairn_fail(diag, CAIRN_E_FORMAT, "file.metadata_missing", file->offset,
				  "a file has no metadata (SHA-256): this server is strict and wants it, and flag "
				  "0x40000000");
	return CAIRN_OK;
}

static enum cairn_status verify_over_limit(struct verify_run *run, const char *rule, uint64_t max, uint64_t counted,
					   uint64_t offset, const char *what)
{
	cairn_fail(run->diag, CAIRN_E_LIMIT, rule, offset,
		   "the shard has more than %" PRIu64 " %s: send several smaller ones", max, what);
	cairn_diag_numbers(run->diag, max, counted);
	return CAIRN_E_LIMIT;
}

/* Counts the files. Keeps an offence in a file's header in *shape, and reports it only if the structure is valid: in a
 * cut or shifted shard, nonexistent files seem to appear. */
static enum cairn_status verify_count_files(struct verify_run *run, struct cairn_shard_reader *r,
					    enum cairn_status *shape, struct cairn_diag *shape_diag)
{
	struct cairn_shard_file file;
	bool more;
	for (;;) {
		enum cairn_status status = cairn_shard_next_file(r, &file, &more, run->diag);
		if (status != CAIRN_OK || !more)
			return status;
		run->sum.n_files++;
		run->sum.n_terms += file.n_terms;
		if (run->sum.n_files > run->options->files_max)
			return verify_over_limit(run, "limit.files", run->options->files_max, run->sum.n_files,
						 file.offset, "files");
		if (run->sum.n_terms > run->options->terms_max)
			return verify_over_limit(run, "limit.terms", run->options->terms_max, run->sum.n_terms,
						 file.offset, "terms");
		if (*shape == CAIRN_OK)
			*shape = verify_file_shape(&file, run->options, shape_diag);
	}
}

static enum cairn_status verify_count_xorbs(struct verify_run *run, struct cairn_shard_reader *r)
{
	struct cairn_shard_xorb xorb;
	bool more;
	for (;;) {
		enum cairn_status status = cairn_shard_next_xorb(r, &xorb, &more, run->diag);
		if (status != CAIRN_OK || !more)
			return status;
		run->sum.n_xorbs++;
		run->sum.n_chunks += xorb.n_chunks;
		if (run->sum.n_xorbs > run->options->xorbs_max)
			return verify_over_limit(run, "limit.xorbs", run->options->xorbs_max, run->sum.n_xorbs,
						 xorb.offset, "xorbs");
	}
}

static enum cairn_status verify_footer(struct verify_run *run, const struct cairn_shard_footer *footer)
{
	if (run->options->strict)
		return cairn_fail(run->diag, CAIRN_E_FORMAT, "shard.footer_unwanted", footer->footer_offset,
				  "the shard has a footer: this server is strict, leave it out of an upload");
	if (!cairn_hash_is_zero(&footer->chunk_hash_key))
		return cairn_fail(run->diag, CAIRN_E_FORMAT, "shard.keyed", footer->footer_offset,
				  "the footer has a key for chunk hashes: an answer of a server cannot be uploaded, "
				  "its chunk hashes are not those of the data");
	return CAIRN_OK;
}

/* First pass: header, sections, counts and what follows them. Afterwards every record is known to exist. */
static enum cairn_status verify_structure(struct verify_run *run, size_t len)
{
	struct cairn_shard_reader r;
	enum cairn_status status = cairn_shard_reader_init(&r, run->bytes, len, run->diag);
	if (status != CAIRN_OK)
		return status;
	run->files_start = r;
	enum cairn_status shape = CAIRN_OK;
	struct cairn_diag shape_diag = {0};
	status = verify_count_files(run, &r, &shape, &shape_diag);
	if (status != CAIRN_OK)
		return status;
	run->xorbs_start = r;
	status = verify_count_xorbs(run, &r);
	if (status != CAIRN_OK)
		return status;
	if (run->options->footer_may_be_cut && !run->options->strict && r.cur.left == 0)
		r.footer_bytes = 0;
	struct cairn_shard_footer footer;
	const uint8_t *tables;
	size_t tables_len;
	status = cairn_shard_reader_end(&r, &footer, &run->sum.has_footer, &tables, &tables_len, run->diag);
	if (status == CAIRN_OK && run->sum.has_footer)
		status = verify_footer(run, &footer);
	if (status != CAIRN_OK)
		return status;
	if (shape != CAIRN_OK && run->diag)
		*run->diag = shape_diag;
	run->total = run->sum.n_terms + run->sum.n_chunks;
	return shape;
}

static void verify_run_fini(struct verify_run *run)
{
	free(run->places);
	free(run->ends);
	cairn_id_set_fini(&run->outside);
	cairn_chunk_list_fini(&run->scratch);
	cairn_chunk_list_fini(&run->ahead_chunks);
}

enum cairn_status cairn_verify_shard(const uint8_t *bytes, size_t len, const struct cairn_verify_options *options,
				     const struct cairn_verify_resolver *resolver, struct cairn_verify_summary *out,
				     struct cairn_diag *diag)
{
	CLEANUP(verify_run_fini)
	struct verify_run run = {
		.bytes = bytes,
		.options = options ? options : &CAIRN_VERIFY_DEFAULTS,
		.resolver = resolver,
		.diag = diag,
	};
	run.records = run.options->records;
	enum cairn_status status = verify_structure(&run, len);
	if (status == CAIRN_OK && run.records)
		status = cairn_verify_record_counts(&run);
	if (status == CAIRN_OK)
		status = cairn_verify_xorbs(&run);
	if (status == CAIRN_OK)
		status = cairn_verify_files(&run);
	if (status == CAIRN_OK)
		status = cairn_verify_report(&run);
	if (status == CAIRN_OK)
		*out = run.sum;
	if (run.records && status == CAIRN_OK)
		cairn_verify_records_end(&run);
	else if (run.records)
		cairn_verified_fini(run.records);
	return status;
}
