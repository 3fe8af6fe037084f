/* cairn hash: computes the hash, terms and chunks that a file would have in the store. */
#include "base/sys.h"
#include "cli/common/cli.h"
#include "cli/common/options.h"
#include "cli/common/progress.h"
#include "cli/common/report.h"
#include "cli/common/scan.h"
#include "dedupe/placer.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char HASH_HELP[] = "Usage: cairn hash [OPTION]... FILE...\n"
				"Print the hash by which the Xet protocol names each file. Files may have any\n"
				"size: each is read once, through a window of 1 MiB.\n"
				"\n"
				"      --chunks  also each chunk: hash, offset, length, and an asterisk when\n"
				"                clients may ask a server about it\n"
				"      --xorbs   also each xorb that a push of the file alone would make\n"
				"  -q, --quiet   no progress bar\n"
				"      --json    one JSON object, for programs\n"
				"  -h, --help    this help\n"
				"\n"
				"A line holds file hash, SHA-256, size in bytes and name.\n"
				"\n"
				"Examples:\n"
				"  cairn hash model.bin\n"
				"  cairn hash --chunks model.bin\n"
				"\n"
				"Exit codes: 0 done, 64 usage, 66 a file cannot be opened, 74 a file cannot\n"
				"be read. Other files are still done.\n";

struct hash_run {
	struct report report;
	bool chunks, xorbs;
	uint64_t offset; /* offset of the next chunk */
	uint64_t done_bytes;
	struct progress progress;
	struct cairn_placer placer;
};

static enum cairn_status hash_chunk(void *ctx, const struct cairn_hash *hash, const uint8_t *raw, size_t len,
				    struct cairn_diag *diag)
{
	struct hash_run *run = ctx;
	char text[CAIRN_HASH_TEXT_BYTES];
	bool eligible = run->offset == 0 || cairn_hash_is_eligible(hash);
	if (run->chunks && run->report.is_json) {
		cairn_json_open_object(&run->report.json, NULL);
		report_hash(&run->report, "hash", hash);
		cairn_json_put_u64(&run->report.json, "offset", run->offset);
		cairn_json_put_u64(&run->report.json, "bytes", len);
		cairn_json_put_bool(&run->report.json, "eligible", eligible);
		cairn_json_close(&run->report.json);
		report_flush(&run->report);
	} else if (run->chunks) {
		cairn_hash_text(text, hash);
		cli_line("  chunk %s %" PRIu64 " %zu%s", text, run->offset, len, eligible ? " *" : "");
	}
	run->offset += len;
	run->done_bytes += len;
	progress_draw(&run->progress, run->done_bytes, 0);
	return run->xorbs ? cairn_placer_chunk(&run->placer, hash, raw, len, diag) : CAIRN_OK;
}

static void hash_print_xorbs(struct hash_run *run)
{
	struct report *r = &run->report;
	if (r->is_json)
		cairn_json_open_array(&r->json, "xorbs");
	for (size_t i = 0; i < run->placer.n_xorbs; i++) {
		const struct cairn_placer_xorb *xorb = &run->placer.xorbs[i];
		uint64_t bytes = cairn_chunk_list_bytes(&xorb->list, 0, xorb->list.n);
		char text[CAIRN_HASH_TEXT_BYTES];
		cairn_hash_text(text, &xorb->hash);
		if (!r->is_json) {
			cli_line("  xorb %s %" PRIu32 " chunks, %" PRIu64 " bytes", text, xorb->list.n, bytes);
			continue;
		}
		cairn_json_open_object(&r->json, NULL);
		cairn_json_put_text(&r->json, "hash", text);
		cairn_json_put_u64(&r->json, "chunks", xorb->list.n);
		cairn_json_put_u64(&r->json, "bytes", bytes);
		cairn_json_close(&r->json);
		report_flush(r);
	}
	if (r->is_json)
		cairn_json_close(&r->json);
}

static void hash_print_file(struct hash_run *run, const char *path, const struct cairn_cutter_file *result)
{
	char file[CAIRN_HASH_TEXT_BYTES], sha256[2 * CAIRN_SHA256_BYTES + 1];
	cairn_hash_text(file, &result->hash);
	cairn_hex_text(sha256, result->sha256, CAIRN_SHA256_BYTES);
	if (!run->report.is_json) {
		cli_line("%s %s %" PRIu64 " %s", file, sha256, result->bytes, path);
		return;
	}
	cairn_json_put_text(&run->report.json, "hash", file);
	cairn_json_put_text(&run->report.json, "sha256", sha256);
	cairn_json_put_u64(&run->report.json, "bytes", result->bytes);
	cairn_json_put_u64(&run->report.json, "n_chunks", result->n_chunks);
}

static int hash_one(struct hash_run *run, const char *path)
{
	static const struct cairn_placer_ops none = {0};
	struct cairn_cutter_file result;
	struct cairn_diag diag = {0};
	struct report *r = &run->report;
	run->offset = 0;
	cairn_placer_init(&run->placer, &none, NULL);
	cairn_placer_file_begin(&run->placer);
	if (r->is_json) {
		cairn_json_open_object(&r->json, NULL);
		cairn_json_put_text(&r->json, "path", path);
		if (run->chunks)
			cairn_json_open_array(&r->json, "chunks");
	}
	run->progress.name = path;
	enum cairn_status status = scan_file(path, hash_chunk, run, &result, &diag);
	if (status == CAIRN_OK)
		status = cairn_placer_end(&run->placer, &diag);
	progress_clear(&run->progress);
	if (r->is_json && run->chunks)
		cairn_json_close(&r->json);
	if (status == CAIRN_OK) {
		hash_print_file(run, path, &result);
		if (run->xorbs)
			hash_print_xorbs(run);
	} else if (r->is_json) {
		report_status(r, "error", status, &diag);
	}
	if (r->is_json)
		cairn_json_close(&r->json);
	report_flush(r);
	cairn_placer_fini(&run->placer);
	return status == CAIRN_OK ? CLI_EXIT_OK : cli_fail(path, status, &diag);
}

/* Sums up the lengths of the files. @return 0: unknown, because an argument is not a readable file */
static uint64_t hash_measure(int n, char **paths)
{
	uint64_t total_bytes = 0;
	struct stat st;
	for (int i = 0; i < n; i++) {
		if (cairn_sys_stat(paths[i], &st) < 0 || !S_ISREG(st.st_mode))
			return 0;
		total_bytes += (uint64_t)st.st_size;
	}
	return total_bytes;
}

static int hash_run(const struct cli_command *command, int argc, char **argv)
{
	struct hash_run run = {0};
	bool json = false, quiet = false;
	int first = 0, code = CLI_EXIT_OK;
	const struct cli_option options[] = {{"chunks", &run.chunks, NULL},
					     {"xorbs", &run.xorbs, NULL},
					     {"quiet", &quiet, NULL},
					     {"json", &json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first == argc)
		return cli_usage_error(command, "name a file");
	report_init(&run.report, json);
	/* no progress bar if lines about chunks go to the same terminal */
	bool alone = !run.chunks || !isatty(STDOUT_FILENO);
	progress_init(&run.progress, !quiet && alone, hash_measure(argc - first, argv + first), NULL);
	if (json) {
		cairn_json_open_object(&run.report.json, NULL);
		cairn_json_open_array(&run.report.json, "files");
	}
	for (int i = first; i < argc; i++) {
		int one = hash_one(&run, argv[i]);
		code = code == CLI_EXIT_OK ? one : code;
	}
	if (json) {
		cairn_json_close(&run.report.json);
		cairn_json_close(&run.report.json);
	}
	return report_end(&run.report, code);
}

const struct cli_command CLI_HASH = {"hash", "print the hashes of files, their chunks and xorbs", HASH_HELP, hash_run};
