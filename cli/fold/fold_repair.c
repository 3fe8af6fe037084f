/* cairn fold repair: writes a sound copy of a damaged file. */
#include "archive/fold/writer.h"
#include "cli/common/cli.h"
#include "cli/common/output.h"
#include "cli/fold/fold.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct repair {
	const struct fold_options *o;
	struct fold_file file;
	struct output out;
	struct cairn_fold_writer *w;
	struct report r;
	struct progress progress;
	size_t n_lost, n_repaired;
	uint64_t n_wrong;
};

static void repair_report(struct repair *p, const struct cairn_fold_chunk *c, enum cairn_status status,
			  uint64_t n_wrong, const struct cairn_diag *diag)
{
	progress_clear(&p->progress);
	if (!p->r.is_json) {
		fold_print_chunk("repaired", c, status, n_wrong, diag);
	} else {
		cairn_json_open_object(&p->r.json, NULL);
		cairn_json_put_text(&p->r.json, "name", c->name);
		cairn_json_put_u64(&p->r.json, "wrong_bytes", n_wrong);
		cairn_json_put_bool(&p->r.json, "repaired", status == CAIRN_OK);
		if (status != CAIRN_OK)
			report_status(&p->r, "error", status, diag);
		cairn_json_close(&p->r.json);
		report_flush(&p->r);
	}
}

/* Repairs a chunk. Continues after a lost chunk, to report all of them. */
static enum cairn_status repair_chunk(struct repair *p, const struct cairn_fold_chunk *c)
{
	static const struct cairn_fold_read_options OPTIONS = {.check_parity = true, .keep_comp = true};
	CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
	struct cairn_diag diag = {0};
	enum cairn_status status = cairn_fold_read(p->file.f, c, &OPTIONS, &data, &diag);
	if (status == CAIRN_E_NOMEM)
		return status;
	if (status != CAIRN_OK || data.n_wrong > 0)
		repair_report(p, c, status, data.n_wrong, &diag);
	p->n_lost += status != CAIRN_OK;
	p->n_repaired += status == CAIRN_OK && data.n_wrong > 0;
	p->n_wrong += data.n_wrong;
	/* once a chunk is lost, nothing more is written */
	return p->n_lost > 0 ? CAIRN_OK : cairn_fold_writer_add_packed(p->w, c, data.comp);
}

static enum cairn_status repair_copy(struct repair *p)
{
	const struct cairn_fold_index *ix = cairn_fold_index_of(p->file.f);
	struct cairn_fold_writer_options options = {.parity = p->o->parity};
	uint64_t done = 0;
	for (size_t i = 0; !p->o->has_parity && i < ix->n_chunks; i++)
		if (ix->chunks[i].parity > options.parity)
			options.parity = ix->chunks[i].parity;
	enum cairn_status status = cairn_fold_writer_new(&p->w, p->out.fd, &options);
	for (size_t i = 0; status == CAIRN_OK && i < ix->n_chunks; i++) {
		status = repair_chunk(p, &ix->chunks[i]);
		done += cairn_fold_chunk_bytes(&ix->chunks[i]);
		progress_draw(&p->progress, done, done);
	}
	if (status != CAIRN_OK || p->n_lost > 0)
		return status;
	const char *text = (const char *)ix->text.bytes;
	char *metadata = ix->has_metadata ? strndup(text + ix->metadata.at, ix->metadata.len) : strdup("{}");
	char *created = ix->has_created ? strndup(text + ix->created.at, ix->created.len) : strdup("0");
	status = metadata && created ? cairn_fold_writer_finish(p->w, metadata, created) : CAIRN_E_NOMEM;
	free(metadata);
	free(created);
	return status;
}

static void repair_show(struct repair *p, enum cairn_status status, const struct cairn_diag *diag)
{
	size_t n = cairn_fold_index_of(p->file.f)->n_chunks;
	if (p->r.is_json) {
		cairn_json_close(&p->r.json);
		cairn_json_put_u64(&p->r.json, "chunks", n);
		cairn_json_put_u64(&p->r.json, "repaired", p->n_repaired);
		cairn_json_put_u64(&p->r.json, "wrong_bytes", p->n_wrong);
		cairn_json_put_u64(&p->r.json, "lost", p->n_lost);
		if (status != CAIRN_OK)
			report_error(&p->r, p->o->output, status, diag, cli_exit_of(status));
		cairn_json_close(&p->r.json);
	} else {
		(void)printf("%zu chunks: %zu repaired, %zu lost%s\n", n, p->n_repaired, p->n_lost,
			     p->n_lost > 0 || status != CAIRN_OK ? "; no copy was made" : "");
	}
}

int fold_repair(const struct fold_options *o)
{
	struct repair p = {.o = o, .file = {.fd = -1}, .out = {.fd = -1}};
	struct cairn_diag diag = {0};
	enum cairn_status status = fold_file_open(&p.file, o->path, &diag);
	if (status == CAIRN_OK)
		status = output_open(&p.out, o->output, 0600, &diag);
	if (status != CAIRN_OK) {
		fold_file_fini(&p.file);
		return cli_fail(p.out.path ? o->output : o->path, status, &diag);
	}
	report_init(&p.r, o->json);
	progress_init(&p.progress, !o->quiet, p.file.total_bytes, "repaired");
	if (o->json) {
		cairn_json_open_object(&p.r.json, NULL);
		cairn_json_put_text(&p.r.json, "path", o->output);
		cairn_json_open_array(&p.r.json, "problems");
	}
	status = repair_copy(&p);
	progress_clear(&p.progress);
	if (status == CAIRN_OK && p.n_lost == 0)
		status = output_commit(&p.out, &diag);
	repair_show(&p, status, &diag);
	int code = p.n_lost > 0 ? CLI_EXIT_DATA : CLI_EXIT_OK;
	if (status != CAIRN_OK)
		code = cli_fail(o->output, status, &diag);
	cairn_fold_writer_free(p.w);
	output_fini(&p.out);
	fold_file_fini(&p.file);
	return report_end(&p.r, code);
}
