/* cairn fsck: checks a store. Its daemon must not run, unless several daemons share the store. */
#include "cas/check/check.h"
#include "cas/stats.h"
#include "cli/common/cli.h"
#include "cli/common/options.h"
#include "cli/common/progress.h"
#include "cli/common/report.h"
#include "data_dir/data_dir.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char FSCK_HELP[] = "Usage: cairn fsck --data-dir DIR [OPTION]...\n"
				"Check the data folder of a stopped daemon: the index against the objects, and\n"
				"every hash from the bytes. Each problem is one line. Nothing is changed without\n"
				"--repair. Daemons may run if the index is in PostgreSQL and the objects are in\n"
				"S3; the folder says where.\n"
				"\n"
				"      --data-dir DIR     the daemon's folder\n"
				"      --repair           mend the index: stop offering damaged objects, so that\n"
				"                         the next upload sends them again, and register objects\n"
				"                         that the index has lost; nothing is deleted\n"
				"      --skip-data        look for objects, but do not read them\n"
				"      --xorbs WHERE      store or external, as in the daemon's settings\n"
				"                         (default: store); with external it keeps no bytes\n"
				"      --secret-file FILE the daemon's secret_file, if it has one\n"
				"      --store-credentials FILE\n"
				"                         credentials of the S3 store (default: in the\n"
				"                         environment)\n"
				"  -q, --quiet            no progress bar\n"
				"      --json             one JSON object, for programs\n"
				"  -h, --help             this help\n"
				"\n"
				"Examples:\n"
				"  cairn fsck --data-dir /var/lib/cairn\n"
				"  cairn fsck --data-dir /var/lib/cairn --repair\n"
				"\n"
				"Exit codes: 0 nothing is wrong, or all is repaired, 64 usage, 65 problems are\n"
				"left, 66 no such folder, 73 the folder is in use, 74 input/output error.\n";

struct fsck {
	struct report report;
	struct progress progress;
};

static void fsck_problem(void *ctx, const struct cairn_check_problem *problem)
{
	struct fsck *f = ctx;
	struct report *r = &f->report;
	bool has_hash = cairn_check_kind_has_hash(problem->kind);
	progress_clear(&f->progress);
	if (!r->is_json) {
		char text[CAIRN_HASH_TEXT_BYTES] = "";
		if (has_hash)
			cairn_hash_text(text, &problem->hash);
		cli_line("%s %s%s%s%s", cairn_check_kind_name(problem->kind), text, has_hash ? " " : "", problem->text,
			 problem->repaired ? " (repaired)" : "");
		return;
	}
	cairn_json_open_object(&r->json, NULL);
	cairn_json_put_text(&r->json, "kind", cairn_check_kind_name(problem->kind));
	if (has_hash)
		report_hash(r, "hash", &problem->hash);
	cairn_json_put_text(&r->json, "text", problem->text);
	cairn_json_put_bool(&r->json, "repaired", problem->repaired);
	cairn_json_close(&r->json);
	report_flush(r);
}

static bool fsck_progress(void *ctx, const struct cairn_check_report *so_far)
{
	struct fsck *f = ctx;
	progress_draw(&f->progress, so_far->bytes_read, so_far->bytes_read);
	return true;
}

static void fsck_print_totals(struct report *r, const struct cairn_check_report *c)
{
	uint64_t left = c->n_problems - c->n_repaired;
	char size[REPORT_SIZE_BYTES];
	if (!r->is_json) {
		cli_line("%" PRIu64 " xorbs, %" PRIu64 " files, %" PRIu64 " objects, %s read: %" PRIu64
			 " problems, %" PRIu64 " repaired, %" PRIu64 " left",
			 c->n_xorbs, c->n_files, c->n_objects, report_size(size, c->bytes_read), c->n_problems,
			 c->n_repaired, left);
		return;
	}
	cairn_json_put_u64(&r->json, "xorbs", c->n_xorbs);
	cairn_json_put_u64(&r->json, "files", c->n_files);
	cairn_json_put_u64(&r->json, "objects", c->n_objects);
	cairn_json_put_u64(&r->json, "bytes_read", c->bytes_read);
	cairn_json_put_u64(&r->json, "problems_found", c->n_problems);
	cairn_json_put_u64(&r->json, "repaired", c->n_repaired);
	cairn_json_put_u64(&r->json, "left", left);
}

/* Makes the final message. The check has already reported each problem; its status says only the kind. */
static enum cairn_status fsck_explain(enum cairn_status status, struct cairn_diag *diag)
{
	if (status == CAIRN_E_DAMAGED)
		return cairn_fail(diag, status, "fsck.unfinished", CAIRN_NO_OFFSET,
				  "not all was checked: a row of the index is malformed; restore the index of a "
				  "backup");
	if (status == CAIRN_E_IO)
		return cairn_fail(diag, status, "fsck.unfinished", CAIRN_NO_OFFSET,
				  "not all was checked: the disk or the database failed; look at the system's log, "
				  "mend it and check again, or restore a backup");
	return status;
}

static int fsck_check(struct cairn_cas *cas, const char *data_dir, struct cairn_check_options *options, bool quiet,
		      bool json)
{
	struct fsck f = {0};
	struct cairn_check_report counts = {0};
	struct cairn_cas_stats stats;
	struct cairn_diag diag = {0};
	cairn_cas_stats(cas, &stats);
	report_init(&f.report, json);
	progress_init(&f.progress, !quiet && !options->skip_data, stats.index.stored_bytes, "read");
	options->problem = fsck_problem;
	options->progress = fsck_progress;
	options->ctx = &f;
	if (json) {
		cairn_json_open_object(&f.report.json, NULL);
		cairn_json_open_array(&f.report.json, "problems");
	}
	enum cairn_status status = cairn_cas_check(cas, options, &counts);
	progress_clear(&f.progress);
	if (json)
		cairn_json_close(&f.report.json);
	fsck_print_totals(&f.report, &counts);
	if (status != CAIRN_OK)
		status = fsck_explain(status, &diag);
	if (json && status != CAIRN_OK)
		report_error(&f.report, data_dir, status, &diag, cli_exit_of(status));
	if (json)
		cairn_json_close(&f.report.json);
	int code = counts.n_problems > counts.n_repaired ? CLI_EXIT_DATA : CLI_EXIT_OK;
	if (status != CAIRN_OK)
		code = cli_fail(data_dir, status, &diag);
	return report_end(&f.report, code);
}

static int fsck_folder(const struct cairn_data_dir_options *folder, const struct cairn_cas_options *options,
		       struct cairn_check_options *check, bool quiet, bool json)
{
	CLEANUP(cairn_data_dir_freep) struct cairn_data_dir *dir = NULL;
	CLEANUP(cairn_cas_freep) struct cairn_cas *cas = NULL;
	struct cairn_diag diag = {0};
	enum cairn_status status = cairn_data_dir_find(folder->path, &diag);
	if (status == CAIRN_OK)
		status = cairn_data_dir_open(&dir, folder, &diag);
	if (status == CAIRN_OK) {
		const struct cairn_cas_parts parts = cairn_cas_parts_of(dir);
		status = cairn_cas_open(&cas, &parts, options, &diag);
	}
	if (status == CAIRN_E_CONFLICT && cairn_diag_has(&diag, "data_dir.in_use")) {
		cli_error("%s: a daemon has it open; stop it first [data_dir.in_use]", folder->path);
		return CLI_EXIT_CANT_CREATE;
	}
	if (status != CAIRN_OK)
		return cli_fail(folder->path, status, &diag);
	return fsck_check(cas, folder->path, check, quiet, json);
}

static int fsck_run(const struct cli_command *command, int argc, char **argv)
{
	struct cairn_cas_options cas_options = CAIRN_CAS_DEFAULTS;
	struct cairn_data_dir_options folder = {.keep_bytes = cas_options.reserve_bytes, .maintains = true};
	struct cairn_check_options check = {0};
	const char *xorbs = NULL;
	bool quiet = false, json = false;
	int first = 0;
	const struct cli_option options[] = {
		{"data-dir", NULL, &folder.path},
		{"repair", &check.repair, NULL},
		{"skip-data", &check.skip_data, NULL},
		{"xorbs", NULL, &xorbs},
		{"secret-file", NULL, &folder.secret_file},
		{"store-credentials", NULL, &folder.credentials},
		{"quiet", &quiet, NULL},
		{"json", &json, NULL},
	};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first != argc || !folder.path)
		return cli_usage_error(command, "give --data-dir DIR, and no arguments");
	if (xorbs && strcmp(xorbs, "store") != 0 && strcmp(xorbs, "external") != 0)
		return cli_usage_error(command, "--xorbs takes store or external, not \"%s\"", xorbs);
	cas_options.xorbs_external = xorbs && strcmp(xorbs, "external") == 0;
	folder.read_only = !check.repair;
	(void)umask(077); /* as in the daemon: files created here are private to the user */
	return fsck_folder(&folder, &cas_options, &check, quiet, json);
}

const struct cli_command CLI_FSCK = {"fsck", "check and repair a daemon's data folder", FSCK_HELP, fsck_run};
