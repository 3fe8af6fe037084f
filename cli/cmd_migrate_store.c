/* cairn migrate-store: moves a whole store to other engines, and back. */
#include "cas/move/move.h"
#include "cli/common/cli.h"
#include "cli/common/options.h"
#include "cli/common/progress.h"
#include "cli/common/report.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char MOVE_HELP[] = "Usage: cairn migrate-store --data-dir DIR --to DIR [OPTION]...\n"
				"       cairn migrate-store --data-dir DIR --reopen\n"
				"Move a store to other engines, from SQLite and files to PostgreSQL and S3 or\n"
				"back, while its daemon keeps running. Run it again after a kill, or to copy what\n"
				"is new; last, run it with --finish and start the other's daemon.\n"
				"\n"
				"      --data-dir DIR     data folder of the store that is moved\n"
				"      --to DIR           data folder of the other; made if it is missing\n"
				"      --index URL        index of the other store: postgres://... (default: the\n"
				"                         one that its folder names, or a file in that folder)\n"
				"      --store URL        objects of the other store: s3://... (default: as for\n"
				"                         --index)\n"
				"      --finish           end the move: the first store takes nothing new; once\n"
				"                         everything was compared, the other takes its place\n"
				"      --cancel           give up a move whose --finish did not end well: the\n"
				"                         first store takes uploads again\n"
				"      --reopen           let a store that was moved out, or was restored from a\n"
				"                         backup of one, take uploads again. Use it only if the\n"
				"                         other store is lost: the command does not look at it\n"
				"      --secret-file FILE the daemons' secret_file, if they have one\n"
				"      --store-credentials FILE\n"
				"                         as the daemon's setting (default: in the\n"
				"                         environment)\n"
				"  -q, --quiet            no progress bar\n"
				"      --json             one JSON object, for programs\n"
				"  -h, --help             this help\n"
				"\n"
				"Examples:\n"
				"  cairn migrate-store --data-dir old --to new --index postgres://db/cairn\n"
				"  cairn migrate-store --data-dir old --to new --finish\n"
				"\n"
				"Exit codes: 0 done, 64 usage, 65 done, but objects are damaged, 66 no such\n"
				"folder, 69 an engine does not answer, 73 a folder is in use, or not of\n"
				"this move, 74 input/output error.\n";

struct move_show {
	struct report report;
	struct progress progress;
};

static void move_damaged(void *ctx, const struct cairn_hash *xorb, const char *why)
{
	struct move_show *s = ctx;
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, xorb);
	progress_clear(&s->progress);
	if (!s->report.is_json) {
		cli_line("damaged %s %s", text, why);
		return;
	}
	cairn_json_open_object(&s->report.json, NULL);
	report_hash(&s->report, "hash", xorb);
	cairn_json_put_text(&s->report.json, "text", why);
	cairn_json_close(&s->report.json);
	report_flush(&s->report);
}

static bool move_progress(void *ctx, const struct cairn_move_report *so_far)
{
	struct move_show *s = ctx;
	s->progress.total_bytes = so_far->total_bytes;
	s->progress.name = so_far->table;
	progress_draw(&s->progress, so_far->done_bytes, so_far->object_bytes);
	return true;
}

static void move_put_tables(struct cairn_json_out *json, const struct cairn_move_report *m)
{
	cairn_json_open_object(json, "tables");
	for (int i = 0; i < CAIRN_TABLES; i++) {
		char digest[2 * CAIRN_SHA256_BYTES + 1];
		if (i == CAIRN_TABLE_LIST)
			continue;
		cairn_hex_text(digest, m->digests[i], sizeof(m->digests[i]));
		cairn_json_open_object(json, cairn_index_table_name(i));
		cairn_json_put_u64(json, "rows", m->n_rows[i]);
		cairn_json_put_text(json, "sha256", digest);
		cairn_json_close(json);
	}
	cairn_json_close(json);
}

static void move_print(struct report *r, const struct cairn_move_report *m)
{
	char size[REPORT_SIZE_BYTES];
	uint64_t n_rows = 0;
	for (int i = 0; i < CAIRN_TABLES; i++)
		n_rows += m->n_rows[i];
	if (!r->is_json) {
		cli_line("%" PRIu64 " rows compared, %" PRIu64 " written, %" PRIu64 " removed; %" PRIu64
			 " objects copied, %s, %" PRIu64 " damaged; %s",
			 n_rows, m->n_put, m->n_dropped, m->n_objects, report_size(size, m->object_bytes), m->n_damaged,
			 m->is_finished ? "finished: the other store is in use from now on"
					: "not finished: run the command again for what comes from now on");
		return;
	}
	cairn_json_put_bool(&r->json, "finished", m->is_finished);
	cairn_json_put_u64(&r->json, "passes", m->n_passes);
	cairn_json_put_u64(&r->json, "rows", n_rows);
	cairn_json_put_u64(&r->json, "rows_written", m->n_put);
	cairn_json_put_u64(&r->json, "rows_removed", m->n_dropped);
	cairn_json_put_u64(&r->json, "objects", m->n_objects);
	cairn_json_put_u64(&r->json, "object_bytes", m->object_bytes);
	cairn_json_put_u64(&r->json, "objects_damaged", m->n_damaged);
	move_put_tables(&r->json, m);
}

static int move_do(struct cairn_move_options *options, bool quiet, bool json)
{
	struct move_show s = {0};
	struct cairn_move_report report;
	struct cairn_diag diag = {0};
	report_init(&s.report, json);
	progress_init(&s.progress, !quiet, 0, "copied");
	options->damaged = move_damaged;
	options->progress = move_progress;
	options->ctx = &s;
	if (json) {
		cairn_json_open_object(&s.report.json, NULL);
		cairn_json_open_array(&s.report.json, "damaged");
	}
	enum cairn_status status = cairn_move(options, &report, &diag);
	progress_clear(&s.progress);
	if (json)
		cairn_json_close(&s.report.json);
	if (status == CAIRN_OK || json)
		move_print(&s.report, &report);
	if (json && status != CAIRN_OK)
		report_error(&s.report, options->from, status, &diag, cli_exit_of(status));
	if (json)
		cairn_json_close(&s.report.json);
	int code = report.n_damaged > 0 ? CLI_EXIT_DATA : CLI_EXIT_OK;
	if (status != CAIRN_OK)
		code = cli_fail(options->from, status, &diag);
	return report_end(&s.report, code);
}

/* Ends a move that has frozen its source. @param reopen  take uploads again, whatever the state of the target; else
 * cancel the move */
static int move_take_back(const struct cairn_move_options *options, bool reopen)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = reopen ? cairn_move_reopen(options->from, &diag) : cairn_move_cancel(options, &diag);
	if (status != CAIRN_OK)
		return cli_fail(options->from, status, &diag);
	cli_line("%s takes uploads", options->from);
	return CLI_EXIT_OK;
}

static int move_run(const struct cli_command *command, int argc, char **argv)
{
	struct cairn_move_options move = {0};
	bool quiet = false, json = false, cancel = false, reopen = false;
	int first = 0;
	const struct cli_option options[] = {
		{"data-dir", NULL, &move.from},
		{"to", NULL, &move.to},
		{"index", NULL, &move.index},
		{"store", NULL, &move.store},
		{"finish", &move.finish, NULL},
		{"cancel", &cancel, NULL},
		{"reopen", &reopen, NULL},
		{"secret-file", NULL, &move.secret_file},
		{"store-credentials", NULL, &move.credentials},
		{"quiet", &quiet, NULL},
		{"json", &json, NULL},
	};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (reopen && (first != argc || !move.from || move.to || move.finish || cancel || json))
		return cli_usage_error(command, "--reopen stands alone, with --data-dir DIR");
	if (first != argc || !move.from || (!move.to && !reopen))
		return cli_usage_error(command, "give --data-dir DIR and --to DIR, and no arguments");
	if (cancel && (move.finish || json))
		return cli_usage_error(command, "--cancel stands alone");
	(void)umask(077); /* as in the daemon: files created here are private to the user */
	(void)signal(SIGPIPE, SIG_IGN);
	return cancel || reopen ? move_take_back(&move, reopen) : move_do(&move, quiet, json);
}

const struct cli_command CLI_MIGRATE_STORE = {"migrate-store", "move a store to other engines, or back", MOVE_HELP,
					      move_run};
