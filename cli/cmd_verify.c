/* cairn verify: verifies a shard offline, as the daemon would. */
#include "cli/common/cli.h"
#include "cli/common/input.h"
#include "cli/common/options.h"
#include "cli/common/progress.h"
#include "cli/common/report.h"
#include "verify/verify.h"
#include "xorb/verifier.h"

#include <inttypes.h>
#include <stdio.h>

static const char VERIFY_HELP[] = "Usage: cairn verify [OPTION]... SHARD...\n"
				  "Check shards as the server does when they are uploaded: structure, chunk lists,\n"
				  "xorb hashes, terms, range hashes and file hashes. Xorbs that a shard describes\n"
				  "are taken as stored; others must be found with --xorbs.\n"
				  "\n"
				  "      --xorbs DIR  folder of xorbs in files named by their hash; they are\n"
				  "                   verified and compared with the shard's descriptions\n"
				  "      --strict     also refuse a footer, and files without metadata\n"
				  "  -q, --quiet      no progress bar\n"
				  "      --json       one JSON object, for programs\n"
				  "  -h, --help       this help\n"
				  "\n"
				  "Examples:\n"
				  "  cairn verify --xorbs ./xorbs upload.shard\n"
				  "\n"
				  "Exit codes: 0 all are valid, 64 usage, 65 one is not valid, 66 a file cannot be\n"
				  "opened or a xorb is not known.\n";

struct verify_run {
	struct report report;
	const char *xorbs;
	bool strict;
	struct cairn_verify_resolver resolver;
	struct cairn_chunk_list list; /* chunks of the xorb that was resolved last */
	struct cairn_hash list_of;
	struct progress progress;
	uint64_t read_bytes; /* bytes of xorbs that were read */
};

/* Reads and verifies the xorb DIR/hash. */
static enum cairn_status verify_load(struct verify_run *run, const struct cairn_hash *hash)
{
	CLEANUP(input_fini) struct input in = {0};
	CLEANUP(cairn_xorb_verifier_freep) struct cairn_xorb_verifier *v = NULL;
	struct cairn_xorb_summary summary;
	char text[CAIRN_HASH_TEXT_BYTES], path[4096];
	size_t n_data = 0;
	cairn_hash_text(text, hash);
	int n = snprintf(path, sizeof(path), "%s/%s", run->xorbs, text);
	if (n < 0 || (size_t)n >= sizeof(path))
		return CAIRN_E_IO;
	enum cairn_status status = input_open(&in, path, NULL);
	if (status != CAIRN_OK)
		return status;
	v = cairn_xorb_verifier_new(&CAIRN_XORB_UPLOAD_OPTIONS);
	if (!v)
		return CAIRN_E_NOMEM;
	struct cairn_diag why = {0};
	status = cairn_xorb_verifier_feed(v, in.bytes, in.len, &n_data, &why);
	if (status == CAIRN_OK)
		status = cairn_xorb_verifier_end(v, hash, &summary, &why);
	run->read_bytes += in.len;
	progress_draw(&run->progress, run->read_bytes, 0);
	if (status != CAIRN_OK) {
		progress_clear(&run->progress);
		(void)cli_fail(path, status, &why); /* report a damaged xorb, then treat it as missing */
		return CAIRN_E_NOT_FOUND;
	}
	cairn_chunk_list_fini(&run->list);
	run->list = cairn_xorb_verifier_take_list(v);
	run->list_of = *hash;
	return CAIRN_OK;
}

static enum cairn_status verify_resolve(void *ctx, const struct cairn_hash *hash, bool described,
					const struct cairn_chunk_list **list, int64_t *id)
{
	(void)described;
	(void)id;
	struct verify_run *run = ctx;
	enum cairn_status status = CAIRN_OK;
	if (!run->xorbs)
		return CAIRN_E_NOT_FOUND;
	if (run->list.n == 0 || !cairn_hash_equal(&run->list_of, hash))
		status = verify_load(run, hash);
	*list = status == CAIRN_OK ? &run->list : NULL;
	return status;
}

static void verify_print(struct verify_run *run, const char *path, enum cairn_status status,
			 const struct cairn_verify_summary *sum, const struct cairn_diag *diag)
{
	struct report *r = &run->report;
	if (!r->is_json) {
		if (status == CAIRN_OK)
			cli_line("%s: valid, %" PRIu64 " files of %" PRIu64 " bytes in %" PRIu64 " terms, %" PRIu64
				 " xorbs with %" PRIu64 " chunks%s",
				 path, sum->n_files, sum->file_bytes, sum->n_terms, sum->n_xorbs, sum->n_chunks,
				 sum->has_footer ? ", footer" : "");
		return;
	}
	cairn_json_open_object(&r->json, NULL);
	cairn_json_put_text(&r->json, "path", path);
	cairn_json_put_bool(&r->json, "valid", status == CAIRN_OK);
	if (status == CAIRN_OK) {
		cairn_json_put_u64(&r->json, "files", sum->n_files);
		cairn_json_put_u64(&r->json, "file_bytes", sum->file_bytes);
		cairn_json_put_u64(&r->json, "terms", sum->n_terms);
		cairn_json_put_u64(&r->json, "xorbs", sum->n_xorbs);
		cairn_json_put_u64(&r->json, "chunks", sum->n_chunks);
		cairn_json_put_bool(&r->json, "has_footer", sum->has_footer);
	} else {
		report_status(r, "error", status, diag);
	}
	cairn_json_close(&r->json);
	report_flush(r);
}

static int verify_one(struct verify_run *run, const char *path)
{
	CLEANUP(input_fini) struct input in = {0};
	struct cairn_verify_options options = CAIRN_VERIFY_DEFAULTS;
	struct cairn_verify_summary sum = {0};
	struct cairn_diag diag = {0};
	options.strict = run->strict;
	options.xorbs_external = true;
	enum cairn_status status = input_open(&in, path, &diag);
	run->progress.name = path;
	if (status == CAIRN_OK)
		status = cairn_verify_shard(in.bytes, in.len, &options, &run->resolver, &sum, &diag);
	progress_clear(&run->progress);
	verify_print(run, path, status, &sum, &diag);
	if (status == CAIRN_OK)
		return CLI_EXIT_OK;
	int code = cli_fail(path, status, &diag);
	return status == CAIRN_E_CONFLICT ? CLI_EXIT_DATA : code;
}

static int verify_run(const struct cli_command *command, int argc, char **argv)
{
	struct verify_run run = {0};
	bool json = false, quiet = false;
	int first = 0, code = CLI_EXIT_OK;
	const struct cli_option options[] = {{"xorbs", NULL, &run.xorbs},
					     {"strict", &run.strict, NULL},
					     {"quiet", &quiet, NULL},
					     {"json", &json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first == argc)
		return cli_usage_error(command, "name a shard");
	run.resolver = (struct cairn_verify_resolver){.ctx = &run, .chunk_list = verify_resolve};
	report_init(&run.report, json);
	progress_init(&run.progress, !quiet, 0, NULL);
	if (json) {
		cairn_json_open_object(&run.report.json, NULL);
		cairn_json_open_array(&run.report.json, "shards");
	}
	for (int i = first; i < argc; i++) {
		int one = verify_one(&run, argv[i]);
		code = one == CLI_EXIT_OK || code == CLI_EXIT_DATA ? code : one;
	}
	if (json) {
		cairn_json_close(&run.report.json);
		cairn_json_close(&run.report.json);
	}
	cairn_chunk_list_fini(&run.list);
	return report_end(&run.report, code);
}

const struct cli_command CLI_VERIFY = {"verify", "check shards as the server does, offline", VERIFY_HELP, verify_run};
