/* cairn backups: lists, verifies and prunes a folder of backups that build on each other. */
#include "backup/backup_prune.h"
#include "base/decimal.h"
#include "base/sys.h"
#include "cli/common/cli.h"
#include "cli/common/options.h"
#include "cli/common/progress.h"
#include "cli/common/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char BACKUPS_HELP[] = "Usage: cairn backups list [OPTION]... DIR\n"
				   "       cairn backups verify [OPTION]... DIR\n"
				   "       cairn backups prune --keep-RULE N [OPTION]... DIR\n"
				   "Work on a folder that cairn backup --incremental has made. list shows the\n"
				   "moments, which cairn restore --at takes, and the archives of objects; verify\n"
				   "reads everything and checks that each moment has all its objects; prune removes\n"
				   "the moments that no rule keeps, and the archives that no kept moment needs.\n"
				   "Before it removes a mostly unneeded archive, it writes the needed part to a new\n"
				   "one.\n"
				   "\n"
				   "      --keep-last N      of prune: the last N\n"
				   "      --keep-hourly N    the last one of each of the last N hours that have one\n"
				   "                         (UTC)\n"
				   "      --keep-daily N     the same for days\n"
				   "      --keep-weekly N    for weeks, which begin on Monday\n"
				   "      --keep-monthly N   for months\n"
				   "      --keep-yearly N    for years\n"
				   "      --max-unused PERCENT\n"
				   "                         rewrite an archive when no kept moment needs more than\n"
				   "                         this of its bytes (default 50; 100: rewrite none)\n"
				   "      --dry-run          change nothing; print what would be done\n"
				   "  -q, --quiet            no progress bar\n"
				   "      --json             one JSON object, for programs\n"
				   "  -h, --help             this help\n"
				   "\n"
				   "Examples:\n"
				   "  cairn backups list /backup\n"
				   "  cairn backups prune --keep-daily 7 --keep-weekly 4 --dry-run /backup\n"
				   "\n"
				   "Exit codes: 0 done, 64 usage, 65 something is damaged or missing, 66 no such\n"
				   "folder, 73 the folder is in use, 74 input/output error.\n";

enum { BACKUPS_RULES = 6, BACKUPS_UNUSED_PERCENT = 50 };

struct backups {
	struct report report;
	struct progress progress;
	struct cairn_backup_prune_options prune;
};

/* Prints a backup. @param fate  what pruning does with it; NULL: it is only listed */
static void backups_show(struct backups *b, const struct cairn_backup_archive *archive,
			 const enum cairn_backup_fate *fate, uint64_t unused_bytes)
{
	static const char *const VERBS[] = {"keep ", "remove ", "rewrite "};
	static const char *const WORDS[] = {"kept", "removed", "rewritten"};
	char name[CAIRN_BACKUP_FILE_BYTES], size[REPORT_SIZE_BYTES], unused[REPORT_SIZE_BYTES];
	cairn_backup_file_name(name, archive->time, archive->is_moment);
	if (!b->report.is_json) {
		bool partly = unused_bytes > 0 && fate && *fate != CAIRN_BACKUP_REMOVED;
		cli_line("%s%s, %s%s%s", fate ? VERBS[*fate] : "", name, report_size(size, archive->bytes),
			 partly ? ", unneeded " : "", partly ? report_size(unused, unused_bytes) : "");
		return;
	}
	cairn_json_open_object(&b->report.json, NULL);
	cairn_json_put_text(&b->report.json, "file", name);
	cairn_json_put_text(&b->report.json, "kind", archive->is_moment ? "moment" : "objects");
	cairn_json_put_text(&b->report.json, "time", archive->time);
	cairn_json_put_u64(&b->report.json, "bytes", archive->bytes);
	if (fate)
		cairn_json_put_bool(&b->report.json, WORDS[*fate], true);
	if (fate && !archive->is_moment)
		cairn_json_put_u64(&b->report.json, "unused_bytes", unused_bytes);
	cairn_json_close(&b->report.json);
	report_flush(&b->report);
}

static void backups_begin(struct backups *b, bool json, const char *list)
{
	report_init(&b->report, json);
	if (!json)
		return;
	cairn_json_open_object(&b->report.json, NULL);
	cairn_json_open_array(&b->report.json, list);
}

/* Ends the command. If JSON has begun, the failure becomes its last member. */
static int backups_end(struct backups *b, const char *folder, enum cairn_status status, const struct cairn_diag *diag,
		       int code)
{
	if (b->report.is_json && status != CAIRN_OK)
		report_error(&b->report, folder, status, diag, cli_exit_of(status));
	if (b->report.is_json)
		cairn_json_close(&b->report.json);
	return report_end(&b->report, status == CAIRN_OK ? code : cli_fail(folder, status, diag));
}

static int backups_list(struct backups *b, const struct cairn_backup_set *set, bool json)
{
	backups_begin(b, json, "archives");
	for (size_t i = 0; i < set->n; i++)
		backups_show(b, &set->archives[i], NULL, 0);
	if (json)
		cairn_json_close(&b->report.json);
	return backups_end(b, set->folder, CAIRN_OK, NULL, CLI_EXIT_OK);
}

static void backups_bad(void *ctx, const struct cairn_backup_archive *archive, const struct cairn_diag *why)
{
	struct backups *b = ctx;
	char name[CAIRN_BACKUP_FILE_BYTES];
	cairn_backup_file_name(name, archive->time, archive->is_moment);
	progress_clear(&b->progress);
	if (!b->report.is_json) {
		cli_line("bad %s: %s [%s]", name, why->text, why->rule ? why->rule : "-");
		return;
	}
	cairn_json_open_object(&b->report.json, NULL);
	cairn_json_put_text(&b->report.json, "file", name);
	cairn_json_put_text(&b->report.json, "rule", why->rule);
	cairn_json_put_text(&b->report.json, "message", why->text);
	cairn_json_close(&b->report.json);
	report_flush(&b->report);
}

static bool backups_progress(void *ctx, const struct cairn_backup_verify_report *so_far)
{
	struct backups *b = ctx;
	b->progress.total_bytes = so_far->bytes;
	progress_draw(&b->progress, so_far->done_bytes, so_far->done_bytes);
	return true;
}

static int backups_verify(struct backups *b, struct cairn_backup_set *set, bool json, bool quiet)
{
	struct cairn_backup_verify_report report;
	struct cairn_diag diag = {0};
	backups_begin(b, json, "bad");
	progress_init(&b->progress, !quiet, 0, "read");
	enum cairn_status status = cairn_backup_verify(set, backups_bad, backups_progress, b, &report, &diag);
	progress_clear(&b->progress);
	if (status == CAIRN_OK && report.n_moments == 0)
		status = cairn_fail(&diag, CAIRN_E_NOT_FOUND, "restore.moment", CAIRN_NO_OFFSET,
				    "it has archives and no moment, so nothing can be restored from it: run cairn "
				    "backup --incremental");
	if (json) {
		cairn_json_close(&b->report.json);
		cairn_json_put_u64(&b->report.json, "archives", report.n_archives);
		cairn_json_put_u64(&b->report.json, "moments", report.n_moments);
		cairn_json_put_u64(&b->report.json, "repairable_bytes", report.n_wrong);
	} else if (status == CAIRN_OK) {
		cli_line("%s: %" PRIu64 " archives, %" PRIu64 " moments; %" PRIu64 " bad", set->folder,
			 report.n_archives, report.n_moments, report.n_bad);
		if (report.n_wrong > 0)
			cli_line("%" PRIu64 " wrong bytes can be repaired by parity: run cairn fold repair",
				 report.n_wrong);
	}
	return backups_end(b, set->folder, status, &diag, report.n_bad > 0 ? CLI_EXIT_DATA : CLI_EXIT_OK);
}

static void backups_fate(void *ctx, const struct cairn_backup_archive *archive, enum cairn_backup_fate fate,
			 uint64_t unused_bytes)
{
	struct backups *b = ctx;
	backups_show(b, archive, &fate, unused_bytes);
}

static bool backups_rewriting(void *ctx, uint64_t done_bytes, uint64_t total_bytes)
{
	struct backups *b = ctx;
	b->progress.total_bytes = total_bytes;
	progress_draw(&b->progress, done_bytes, done_bytes);
	return true;
}

static void backups_pruned_json(struct backups *b, const struct cairn_backup_prune_report *report)
{
	cairn_json_close(&b->report.json);
	cairn_json_put_u64(&b->report.json, "moments_kept", report->n_kept);
	cairn_json_put_u64(&b->report.json, "moments_removed", report->n_dropped);
	cairn_json_put_u64(&b->report.json, "archives_removed", report->n_archives_dropped);
	cairn_json_put_u64(&b->report.json, "archives_rewritten", report->n_archives_rewritten);
	cairn_json_put_u64(&b->report.json, "freed_bytes", report->freed_bytes);
	cairn_json_put_u64(&b->report.json, "left_bytes", report->left_bytes);
	cairn_json_put_u64(&b->report.json, "unused_bytes", report->unused_bytes);
	cairn_json_put_bool(&b->report.json, "dry_run", b->prune.dry_run);
}

static void backups_pruned(const struct backups *b, const char *folder, const struct cairn_backup_prune_report *report)
{
	char freed[REPORT_SIZE_BYTES], left[REPORT_SIZE_BYTES], unused[REPORT_SIZE_BYTES];
	bool dry = b->prune.dry_run;
	const char *removed = dry ? "to remove" : "removed";
	cli_line("%s: moments: %" PRIu64 " kept, %" PRIu64 " %s; archives of objects: %" PRIu64 " %s, %" PRIu64
		 " %s; %s%s %s",
		 folder, report->n_kept, report->n_dropped, removed, report->n_archives_dropped, removed,
		 report->n_archives_rewritten, dry ? "to rewrite" : "rewritten", dry ? "about " : "",
		 report_size(freed, report->freed_bytes), dry ? "to free" : "freed");
	cli_line("%s left, with %s of objects that nobody needs", report_size(left, report->left_bytes),
		 report_size(unused, report->unused_bytes));
}

static int backups_prune(struct backups *b, struct cairn_backup_set *set, bool json, bool quiet)
{
	struct cairn_backup_prune_report report;
	struct cairn_diag diag = {0};
	b->prune.visit = backups_fate;
	b->prune.progress = backups_rewriting;
	b->prune.ctx = b;
	backups_begin(b, json, "archives");
	progress_init(&b->progress, !quiet, 0, "rewritten");
	enum cairn_status status = cairn_backup_prune(set, &b->prune, &report, &diag);
	progress_clear(&b->progress);
	if (json)
		backups_pruned_json(b, &report);
	else if (status == CAIRN_OK)
		backups_pruned(b, set->folder, &report);
	return backups_end(b, set->folder, status, &diag, CLI_EXIT_OK);
}

/* Reads the rules of pruning. @return false: an argument is not a number; an error was printed */
static bool backups_rules(const struct cli_command *command, const char *const texts[static BACKUPS_RULES],
			  struct cairn_backup_rules *rules, bool *any)
{
	uint64_t *const numbers[BACKUPS_RULES] = {&rules->last,   &rules->hourly,  &rules->daily,
						  &rules->weekly, &rules->monthly, &rules->yearly};
	*any = false;
	for (size_t i = 0; i < BACKUPS_RULES; i++) {
		if (!texts[i])
			continue;
		*any = true;
		if (cairn_decimal_parse(texts[i], 1, UINT32_MAX, numbers[i]))
			continue;
		(void)cli_usage_error(command, "--keep options take a number from 1 on, not \"%s\"", texts[i]);
		return false;
	}
	return true;
}

static int backups_do(const struct cli_command *command, const char *verb, const char *folder, struct backups *b,
		      bool json, bool quiet)
{
	CLEANUP(cairn_backup_set_close) struct cairn_backup_set set = {.dir_fd = -1, .lock_fd = -1};
	struct cairn_diag diag = {0};
	struct stat st;
	bool prune = strcmp(verb, "prune") == 0;
	if (!prune && strcmp(verb, "list") != 0 && strcmp(verb, "verify") != 0)
		return cli_usage_error(command, "say list, verify or prune");
	(void)umask(077);
	enum cairn_status status = CAIRN_OK;
	if (cairn_sys_stat(folder, &st) < 0) /* check first: opening for writing would create the folder */
		status =
			cairn_fail(&diag, CAIRN_E_NOT_FOUND, "backup.file", CAIRN_NO_OFFSET, "there is no such folder");
	if (status == CAIRN_OK)
		status = cairn_backup_set_open(&set, folder, prune, &diag);
	if (status != CAIRN_OK)
		return cli_fail(folder, status, &diag);
	if (prune)
		return backups_prune(b, &set, json, quiet);
	/* the disk may not be mounted: not sound */
	if (strcmp(verb, "verify") == 0 && set.n == 0) {
		status = cairn_fail(&diag, CAIRN_E_NOT_FOUND, "backup.file", CAIRN_NO_OFFSET,
				    "there are no backups in it");
		return cli_fail(folder, status, &diag);
	}
	const char *spool = getenv("TMPDIR");
	set.spool = spool && *spool ? spool : "/var/tmp";
	return strcmp(verb, "list") == 0 ? backups_list(b, &set, json) : backups_verify(b, &set, json, quiet);
}

static int backups_run(const struct cli_command *command, int argc, char **argv)
{
	struct backups b = {0};
	const char *texts[BACKUPS_RULES] = {NULL}, *unused = NULL;
	uint64_t percent = BACKUPS_UNUSED_PERCENT;
	bool json = false, quiet = false, any = false;
	int first = 0;
	const struct cli_option options[] = {
		{"keep-last", NULL, &texts[0]},    {"keep-hourly", NULL, &texts[1]},
		{"keep-daily", NULL, &texts[2]},   {"keep-weekly", NULL, &texts[3]},
		{"keep-monthly", NULL, &texts[4]}, {"keep-yearly", NULL, &texts[5]},
		{"max-unused", NULL, &unused},     {"dry-run", &b.prune.dry_run, NULL},
		{"quiet", &quiet, NULL},           {"json", &json, NULL},
	};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first + 2 != argc)
		return cli_usage_error(command, "say list, verify or prune, and the folder");
	if (!backups_rules(command, texts, &b.prune.rules, &any))
		return CLI_EXIT_USAGE;
	if (unused && !cairn_decimal_parse(unused, 0, 100, &percent))
		return cli_usage_error(command, "--max-unused takes 0 to 100, not \"%s\"", unused);
	b.prune.max_unused_percent = (unsigned)percent;
	if (any != (strcmp(argv[first], "prune") == 0) || ((b.prune.dry_run || unused) && !any))
		return cli_usage_error(command, "--keep options go with prune, which needs at least one of them");
	return backups_do(command, argv[first], argv[first + 1], &b, json, quiet);
}

const struct cli_command CLI_BACKUPS = {"backups", "list, verify and prune a folder of backups", BACKUPS_HELP,
					backups_run};
