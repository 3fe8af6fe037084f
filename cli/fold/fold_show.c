/* The verbs list, verify and extract of cairn fold. */
#include "base/fd.h"
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/fold/fold.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void list_chunk(struct report *r, const struct cairn_fold_chunk *c)
{
	char sha256[CAIRN_HASH_TEXT_BYTES];
	cairn_hex_text(sha256, c->sha256, CAIRN_SHA256_BYTES);
	if (!r->is_json) {
		char parity[16] = "-";
		if (c->parity)
			(void)snprintf(parity, sizeof(parity), "rs(%u)", c->parity);
		cli_put_text(stdout, c->ctype);
		(void)printf(" %12" PRIu64 " %12" PRIu64 " %-6s %-7s ", c->uncomp_len, c->comp_len,
			     c->flags == CAIRN_FOLD_ZSTD ? "zstd" : "stored", parity);
		cli_put_text(stdout, c->name);
		(void)putchar('\n');
		return;
	}
	cairn_json_open_object(&r->json, NULL);
	cairn_json_put_text(&r->json, "name", c->name);
	cairn_json_put_text(&r->json, "ctype", c->ctype);
	cairn_json_put_u64(&r->json, "offset", c->offset);
	cairn_json_put_u64(&r->json, "bytes", c->uncomp_len);
	cairn_json_put_u64(&r->json, "stored_bytes", c->comp_len);
	cairn_json_put_text(&r->json, "compression", c->flags == CAIRN_FOLD_ZSTD ? "zstd" : "none");
	cairn_json_put_u64(&r->json, "parity", c->parity);
	cairn_json_put_text(&r->json, "sha256", sha256);
	cairn_json_close(&r->json);
	report_flush(r);
}

int fold_list(const struct fold_options *o)
{
	CLEANUP(fold_file_fini) struct fold_file file = {.fd = -1};
	struct cairn_diag diag = {0};
	struct report r;
	enum cairn_status status = fold_file_open(&file, o->path, &diag);
	if (status != CAIRN_OK)
		return cli_fail(o->path, status, &diag);
	const struct cairn_fold_index *ix = cairn_fold_index_of(file.f);
	report_init(&r, o->json);
	if (o->json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_text(&r.json, "path", o->path);
		cairn_json_put_text(&r.json, "version", ix->version);
		cairn_json_put_bool(&r.json, "manifest_hash", ix->has_manifest);
		cairn_json_put_bool(&r.json, "merkle_root", ix->has_merkle);
		cairn_json_open_array(&r.json, "chunks");
	}
	for (size_t i = 0; i < ix->n_chunks; i++)
		list_chunk(&r, &ix->chunks[i]);
	if (o->json) {
		cairn_json_close(&r.json);
		cairn_json_close(&r.json);
	} else {
		char size[REPORT_SIZE_BYTES];
		(void)printf("%zu chunks, %s\n", ix->n_chunks, report_size(size, file.total_bytes));
	}
	return report_end(&r, CLI_EXIT_OK);
}

static void verify_problem(struct report *r, const struct cairn_fold_chunk *c, enum cairn_status status,
			   uint64_t n_wrong, const struct cairn_diag *diag)
{
	if (!r->is_json) {
		fold_print_chunk("repairable", c, status, n_wrong, diag);
		return;
	}
	cairn_json_open_object(&r->json, NULL);
	cairn_json_put_text(&r->json, "name", c->name);
	cairn_json_put_u64(&r->json, "wrong_bytes", n_wrong);
	cairn_json_put_bool(&r->json, "repairable", status == CAIRN_OK);
	if (status != CAIRN_OK)
		report_status(r, "error", status, diag);
	cairn_json_close(&r->json);
	report_flush(r);
}

/* Verifies every chunk. @return CAIRN_OK, even if there are problems; CAIRN_E_NOMEM */
static enum cairn_status verify_chunks(struct fold_file *file, struct report *r, struct progress *progress,
				       size_t *n_lost, size_t *n_repairable)
{
	static const struct cairn_fold_read_options OPTIONS = {.check_parity = true};
	const struct cairn_fold_index *ix = cairn_fold_index_of(file->f);
	uint64_t done = 0;
	for (size_t i = 0; i < ix->n_chunks; i++) {
		CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
		struct cairn_diag diag = {0};
		enum cairn_status status = cairn_fold_read(file->f, &ix->chunks[i], &OPTIONS, &data, &diag);
		if (status == CAIRN_E_NOMEM)
			return status;
		*n_lost += status != CAIRN_OK;
		*n_repairable += status == CAIRN_OK && data.n_wrong > 0;
		if (status != CAIRN_OK || data.n_wrong > 0) {
			progress_clear(progress);
			verify_problem(r, &ix->chunks[i], status, data.n_wrong, &diag);
		}
		done += cairn_fold_chunk_bytes(&ix->chunks[i]);
		progress_draw(progress, done, done);
	}
	return CAIRN_OK;
}

int fold_verify(const struct fold_options *o)
{
	CLEANUP(fold_file_fini) struct fold_file file = {.fd = -1};
	struct cairn_diag diag = {0};
	struct progress progress;
	struct report r;
	size_t n_lost = 0, n_repairable = 0;
	enum cairn_status status = fold_file_open(&file, o->path, &diag);
	if (status != CAIRN_OK)
		return cli_fail(o->path, status, &diag);
	size_t n = cairn_fold_index_of(file.f)->n_chunks;
	report_init(&r, o->json);
	progress_init(&progress, !o->quiet, file.total_bytes, "verified");
	if (o->json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_text(&r.json, "path", o->path);
		cairn_json_open_array(&r.json, "problems");
	}
	status = verify_chunks(&file, &r, &progress, &n_lost, &n_repairable);
	progress_clear(&progress);
	if (o->json) {
		cairn_json_close(&r.json);
		cairn_json_put_u64(&r.json, "chunks", n);
		cairn_json_put_u64(&r.json, "repairable", n_repairable);
		cairn_json_put_u64(&r.json, "lost", n_lost);
		if (status != CAIRN_OK)
			report_error(&r, o->path, status, &diag, cli_exit_of(status));
		cairn_json_close(&r.json);
	} else {
		(void)printf("%zu chunks: %zu sound, %zu damaged and repairable, %zu lost\n", n,
			     n - n_lost - n_repairable, n_repairable, n_lost);
	}
	if (status != CAIRN_OK)
		return report_end(&r, cli_fail(o->path, status, &diag));
	return report_end(&r, n_lost + n_repairable > 0 ? CLI_EXIT_DATA : CLI_EXIT_OK);
}

static enum cairn_status extract_write(const struct fold_options *o, const struct cairn_fold_data *data,
				       struct cairn_diag *diag)
{
	if (strcmp(o->output, "-") == 0) {
		enum cairn_status status = cairn_fd_write_all(STDOUT_FILENO, data->bytes, data->len);
		return status == CAIRN_OK ? CAIRN_OK
					  : cairn_fail(diag, status, "file.write", CAIRN_NO_OFFSET,
						       "cannot write to standard output");
	}
	CLEANUP(output_fini) struct output out;
	enum cairn_status status = output_open(&out, o->output, 0600, diag);
	if (status == CAIRN_OK)
		status = cairn_fd_write_all(out.fd, data->bytes, data->len);
	return status == CAIRN_OK ? output_commit(&out, diag) : status;
}

int fold_extract(const struct fold_options *o)
{
	CLEANUP(fold_file_fini) struct fold_file file = {.fd = -1};
	CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
	struct cairn_diag diag = {0};
	enum cairn_status status = fold_file_open(&file, o->path, &diag);
	if (status != CAIRN_OK)
		return cli_fail(o->path, status, &diag);
	const struct cairn_fold_chunk *c = cairn_fold_index_find(cairn_fold_index_of(file.f), o->chunk);
	if (!c)
		status = cairn_fail(&diag, CAIRN_E_NOT_FOUND, "fold.chunk", CAIRN_NO_OFFSET,
				    "there is no chunk \"%.100s\"", o->chunk);
	if (status == CAIRN_OK)
		status = cairn_fold_read(file.f, c, NULL, &data, &diag);
	if (status != CAIRN_OK)
		return cli_fail(o->path, status, &diag);
	status = extract_write(o, &data, &diag);
	return status == CAIRN_OK ? CLI_EXIT_OK : cli_fail(o->output, status, &diag);
}
