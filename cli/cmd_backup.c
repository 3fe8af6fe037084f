/* cairn backup, cairn restore: a whole store in one FOLD file, and back. */
#include "archive/zstd.h"
#include "backup/backup.h"
#include "backup/backup_set.h"
#include "backup/restore.h"
#include "base/clock.h"
#include "base/decimal.h"
#include "cas/move/move.h"
#include "cli/common/cli.h"
#include "cli/common/options.h"
#include "cli/common/progress.h"
#include "cli/common/report.h"
#include "data_dir/data_dir.h"
#include "data_dir/note.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BACKUP_ZSTD_LEVEL = 1, BACKUP_PARITY_MAX = 128, BACKUP_AHEAD_S = 60, BACKUP_WORD_MS = 2000 };

static const char BACKUP_HELP[] = "Usage: cairn backup --data-dir DIR [OPTION]... OUT.fold\n"
				  "       cairn backup --data-dir DIR --incremental [OPTION]... DIR\n"
				  "       cairn backup --data-dir DIR [OPTION]... - | COMMAND\n"
				  "Write the index and the objects of a store to one file, which cairn fold verify\n"
				  "checks. The daemon may run: the backup is of one moment, and no collection\n"
				  "deletes anything until it is done. The file grows as OUT.fold.part; after an\n"
				  "interruption, run the command again to continue it. With -, the same file goes\n"
				  "to standard output, not compressed. After an interruption such a backup must\n"
				  "begin anew; a copy of the index lies in $TMPDIR (/var/tmp) while it runs.\n"
				  "\n"
				  "      --data-dir DIR     the daemon's folder\n"
				  "      --incremental      add to a folder of backups: an archive of the objects\n"
				  "                         that no earlier archive there has, and one of the\n"
				  "                         moment, with the index; see cairn help backups\n"
				  "      --zstd LEVEL       compress, 1 (default) to 19; 0: not at all. Chunks of\n"
				  "                         which a sample does not shrink are stored as they are\n"
				  "      --parity N         Reed-Solomon parity, N bytes in each 255, 2 to 128:\n"
				  "                         any N/2 wrong bytes of them can be repaired; 16, 32 or\n"
				  "                         64 are usual\n"
				  "      --mirror           include files that only mirrored repositories have;\n"
				  "                         else a restored store fetches them again\n"
				  "      --with-secret      include the server's secret; keep the file like a\n"
				  "                         password\n"
				  "      --secret-file FILE the daemon's secret_file, if it has one\n"
				  "  -q, --quiet            no progress bar\n"
				  "      --json             one JSON object, for programs\n"
				  "  -h, --help             this help\n"
				  "\n"
				  "Examples:\n"
				  "  cairn backup --data-dir /var/lib/cairn --parity 16 monday.fold\n"
				  "  cairn backup --data-dir /var/lib/cairn --incremental /backup\n"
				  "  cairn backup --data-dir /var/lib/cairn - | ssh HOST \"cat >monday.fold\"\n"
				  "\n"
				  "Exit codes: 0 done, 64 usage, 65 the store is damaged, 66 no such folder,\n"
				  "73 OUT.fold is there or cannot be made, 74 input/output error, also of the\n"
				  "pipe.\n";

static const char RESTORE_HELP[] = "Usage: cairn restore --data-dir DIR [OPTION]... IN.fold\n"
				   "       cairn restore --data-dir DIR [--at TIME] [OPTION]... DIR\n"
				   "       COMMAND | cairn restore --data-dir DIR [OPTION]... -\n"
				   "Make a daemon's data folder from a backup. Each chunk is verified, and repaired\n"
				   "from its parity if need be, before anything of it is used. DIR must be empty or\n"
				   "missing. After an interruption, run the command again to continue. From standard\n"
				   "input (-) nothing is repaired, and an interrupted restore must begin anew in\n"
				   "another folder.\n"
				   "\n"
				   "      --data-dir DIR  the folder to make\n"
				   "      --at TIME       from a folder of backups, restore the last moment up to\n"
				   "                      this time (UTC), like 20261123T06, 20261123T061000Z or\n"
				   "                      2026-11-23T06:10 (default: the last moment)\n"
				   "  -q, --quiet         no progress bar\n"
				   "      --json          one JSON object, for programs\n"
				   "  -h, --help          this help\n"
				   "\n"
				   "Examples:\n"
				   "  cairn restore --data-dir /var/lib/cairn monday.fold\n"
				   "  cairn restore --data-dir /var/lib/cairn --at 2026-11-23T06:10 /backup\n"
				   "\n"
				   "Exit codes: 0 done, 64 usage, 65 the backup is damaged or is none, 66 no such\n"
				   "file, 73 the folder is not empty or cannot be made, 74 input/output error.\n";

/* Shows progress on the terminal, and in the metrics of the folder's daemon. */
struct backup_watch {
	struct progress bar;
	const char *data_dir;
	int64_t started_unix_s;
	int64_t reported_ms; /* time of the last report to the daemon; 0: never */
};

/* Reports progress to the daemon. If that fails, the backup continues; its final message reports the failure. */
static void backup_report_to_daemon(struct backup_watch *w, const struct cairn_backup_report *so_far)
{
	int64_t now_ms = cairn_clock_mono_ms(), seen = cairn_clock_unix_s();
	int64_t done = (int64_t)so_far->object_bytes, total = (int64_t)so_far->total_bytes;
	const struct cairn_note_field fields[] = {
		{"started", &w->started_unix_s}, {"seen", &seen}, {"done", &done}, {"total", &total}};
	if (w->reported_ms != 0 && now_ms - w->reported_ms < BACKUP_WORD_MS)
		return;
	w->reported_ms = now_ms;
	(void)!cairn_note_write(w->data_dir, CAIRN_BACKUP_RUN_NOTE, fields, 4);
}

static bool backup_progress(void *ctx, const struct cairn_backup_report *so_far)
{
	struct backup_watch *w = ctx;
	w->bar.total_bytes = so_far->total_bytes;
	progress_draw(&w->bar, so_far->object_bytes, so_far->file_bytes);
	backup_report_to_daemon(w, so_far);
	return true;
}

static void backup_damaged(void *ctx, const char *why)
{
	struct backup_watch *w = ctx;
	progress_clear(&w->bar);
	cli_note("%s", why);
}

static int backup_show(const char *out, const struct cairn_backup_report *b, const char *frozen, bool json)
{
	struct report r;
	char objects[REPORT_SIZE_BYTES], file[REPORT_SIZE_BYTES];
	report_init(&r, json);
	if (json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_text(&r.json, "path", out);
		cairn_json_put_u64(&r.json, "objects", b->n_objects);
		cairn_json_put_u64(&r.json, "object_bytes", b->object_bytes);
		cairn_json_put_u64(&r.json, "objects_kept", b->n_kept);
		cairn_json_put_u64(&r.json, "objects_earlier", b->n_earlier);
		if (b->moment[0])
			cairn_json_put_text(&r.json, "moment", b->moment);
		cairn_json_put_u64(&r.json, "chunks", b->n_chunks);
		cairn_json_put_u64(&r.json, "file_bytes", b->file_bytes);
		cairn_json_put_u64(&r.json, "contents_damaged", b->n_contents_damaged);
		cairn_json_put_u64(&r.json, "mirrored_left_out", b->n_mirrored);
		cairn_json_put_u64(&r.json, "mirrored_bytes_left_out", b->mirrored_bytes);
		if (frozen)
			cairn_json_put_text(&r.json, "frozen", frozen);
		cairn_json_close(&r.json);
	} else if (b->moment[0]) {
		cli_line("%s: %s: %" PRIu64 " new objects, %s, and %" PRIu64 " that were there; %s", out, b->moment,
			 b->n_objects, report_size(objects, b->object_bytes), b->n_earlier,
			 report_size(file, b->file_bytes));
	} else {
		cli_line("%s: %" PRIu64 " objects, %s; %" PRIu64 " chunks, %s", out, b->n_objects,
			 report_size(objects, b->object_bytes), b->n_chunks, report_size(file, b->file_bytes));
	}
	return report_end(&r, CLI_EXIT_OK);
}

/* Prints a summary of a backup that was written to standard output, on standard error. */
static int backup_note(const struct cairn_backup_report *b, bool quiet)
{
	char objects[REPORT_SIZE_BYTES], file[REPORT_SIZE_BYTES];
	if (!quiet)
		cli_note("%" PRIu64 " objects, %s; %" PRIu64 " chunks, %s written", b->n_objects,
			 report_size(objects, b->object_bytes), b->n_chunks, report_size(file, b->file_bytes));
	return CLI_EXIT_OK;
}

/* Warns of a new archive whose name has a future time, because prune and restore --at rely on the names. */
static void backup_warn_of_clock(const char *folder, const char *moment)
{
	int64_t at_unix_s;
	if (moment[0] && cairn_backup_time_parse(moment, &at_unix_s) &&
	    at_unix_s > cairn_clock_unix_s() + BACKUP_AHEAD_S)
		cli_note("%s: this machine's clock is behind the newest archive there, so this moment is "
			 "called %s: correct the clock, or begin a new folder",
			 folder, moment);
}

static void backup_warn_of_contents(const char *where, uint64_t n)
{
	if (n > 0)
		cli_note("%s: %" PRIu64
			 " small files in the index are not what was committed, and are not served: run cairn "
			 "fsck, which names them",
			 where, n);
}

static void backup_tell_of_mirror(const struct cairn_backup_report *b, bool quiet)
{
	char bytes[REPORT_SIZE_BYTES];
	if (b->n_mirrored > 0 && !quiet)
		cli_note("%" PRIu64 " files of mirrored repositories, %s, are not in it: a restored store fetches them "
			 "again; --mirror includes them",
			 b->n_mirrored, report_size(bytes, b->mirrored_bytes));
}

/* Returns a warning if a move froze the store; else only a refused upload would show it. @return NULL: not frozen */
static const char *backup_warn_of_move(const char *data_dir)
{
	const char *state = NULL, *why = cairn_move_frozen(data_dir, &state);
	if (why)
		cli_note("%s takes no uploads, and neither will a store that is restored from this backup: "
			 "this store %s",
			 data_dir, why);
	return state;
}

/* Writes the note about this backup that the daemon's metrics use. */
static void backup_leave_word(const char *data_dir, enum cairn_status status, uint64_t file_bytes)
{
	int64_t ran = cairn_clock_unix_s(), good = 0, bytes = 0, failed = status != CAIRN_OK;
	const struct cairn_note_field before[] = {{"good", &good}, {"bytes", &bytes}};
	const struct cairn_note_field fields[] = {
		{"ran", &ran}, {"good", &good}, {"failed", &failed}, {"bytes", &bytes}};
	(void)!cairn_note_read(data_dir, CAIRN_BACKUP_NOTE, before, 2); /* this may be the first backup */
	if (status == CAIRN_OK) {
		good = ran;
		bytes = (int64_t)file_bytes;
	}
	if (cairn_note_write(data_dir, CAIRN_BACKUP_NOTE, fields, 4) != CAIRN_OK)
		cli_note("%s: this backup will not be in the metrics of the daemon: %s", data_dir, strerror(errno));
}

/* Prepares a backup to a pipe. @return CLI_RUN; else an error was printed */
static int backup_to_pipe(const struct cli_command *command, struct cairn_backup_options *backup, const char *zstd,
			  bool json)
{
	static const int STANDARD_OUTPUT = STDOUT_FILENO;
	const char *spool = getenv("TMPDIR");
	if (backup->incremental || json || isatty(STDOUT_FILENO))
		return cli_usage_error(command, "- writes to a pipe or a file, without --incremental and --json");
	if (zstd && backup->zstd_level > 0)
		return cli_usage_error(command, "what goes to standard output is not compressed: pipe it into zstd");
	backup->zstd_level = 0;
	backup->pipe_fd = &STANDARD_OUTPUT;
	backup->out = "standard output";
	backup->spool = spool && *spool ? spool : "/var/tmp";
	(void)signal(SIGPIPE, SIG_IGN); /* a closed pipe must be an error, so that the temporary index is removed */
	return CLI_RUN;
}

static int backup_write(const struct cairn_backup_options *backup, struct backup_watch *watch, bool quiet, bool json)
{
	struct cairn_backup_report report;
	struct cairn_diag diag = {0};
	char index[CAIRN_DATA_DIR_URL_BYTES];
	(void)umask(077);
	enum cairn_status status = cairn_data_dir_find(backup->data_dir, &diag);
	if (status == CAIRN_OK)
		/* else PostgreSQL backs the index up */
		status = cairn_data_dir_index_url(index, backup->data_dir, &diag);
	if (status != CAIRN_OK)
		return cli_fail(backup->data_dir, status, &diag);
	progress_init(&watch->bar, !quiet, 0, "written");
	status = cairn_backup(backup, &report, &diag);
	progress_clear(&watch->bar);
	backup_leave_word(backup->data_dir, status, report.file_bytes);
	if (status != CAIRN_OK)
		return cli_fail(backup->out, status, &diag);
	backup_warn_of_clock(backup->out, report.moment);
	const char *frozen = backup_warn_of_move(backup->data_dir);
	backup_warn_of_contents(backup->data_dir, report.n_contents_damaged);
	backup_tell_of_mirror(&report, quiet || json);
	return backup->pipe_fd ? backup_note(&report, quiet) : backup_show(backup->out, &report, frozen, json);
}

static int backup_run(const struct cli_command *command, int argc, char **argv)
{
	struct cairn_backup_options backup = {
		.zstd_level = BACKUP_ZSTD_LEVEL, .progress = backup_progress, .damaged = backup_damaged};
	struct backup_watch watch = {.started_unix_s = cairn_clock_unix_s()};
	const char *zstd = NULL, *parity = NULL;
	bool quiet = false, json = false;
	uint64_t level = BACKUP_ZSTD_LEVEL, n = 0;
	int first = 0;
	const struct cli_option options[] = {
		{"data-dir", NULL, &backup.data_dir},
		{"zstd", NULL, &zstd},
		{"parity", NULL, &parity},
		{"incremental", &backup.incremental, NULL},
		{"mirror", &backup.with_mirror, NULL},
		{"with-secret", &backup.with_secret, NULL},
		{"secret-file", NULL, &backup.secret_file},
		{"quiet", &quiet, NULL},
		{"json", &json, NULL},
	};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first + 1 != argc || !backup.data_dir)
		return cli_usage_error(command, "give --data-dir DIR, and the file to write, or the folder");
	if (zstd && !cairn_decimal_parse(zstd, 0, CAIRN_ZSTD_LEVEL_MAX, &level))
		return cli_usage_error(command, "--zstd takes 0 to 19, not \"%s\"", zstd);
	if (parity && !cairn_decimal_parse(parity, 2, BACKUP_PARITY_MAX, &n))
		return cli_usage_error(command, "--parity takes 2 to 128, not \"%s\"", parity);
	backup.out = argv[first];
	backup.zstd_level = (int)level;
	backup.parity = (unsigned)n;
	backup.ctx = &watch;
	watch.data_dir = backup.data_dir;
	end = strcmp(backup.out, "-") == 0 ? backup_to_pipe(command, &backup, zstd, json) : CLI_RUN;
	return end == CLI_RUN ? backup_write(&backup, &watch, quiet, json) : end;
}

static bool restore_progress(void *ctx, const struct cairn_restore_report *so_far)
{
	struct progress *p = ctx;
	p->total_bytes = so_far->total_bytes;
	progress_draw(p, so_far->done_bytes, so_far->object_bytes);
	return true;
}

static int restore_show(const char *data_dir, const struct cairn_restore_report *b, bool json)
{
	const char *frozen = backup_warn_of_move(data_dir);
	struct report r;
	char objects[REPORT_SIZE_BYTES];
	report_init(&r, json);
	if (json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_text(&r.json, "data_dir", data_dir);
		if (b->moment[0])
			cairn_json_put_text(&r.json, "moment", b->moment);
		cairn_json_put_u64(&r.json, "objects", b->n_objects);
		cairn_json_put_u64(&r.json, "object_bytes", b->object_bytes);
		cairn_json_put_u64(&r.json, "objects_found", b->n_found);
		cairn_json_put_u64(&r.json, "repaired_bytes", b->n_wrong);
		cairn_json_put_u64(&r.json, "contents_damaged", b->n_contents_damaged);
		cairn_json_put_bool(&r.json, "secret", b->has_secret);
		if (frozen)
			cairn_json_put_text(&r.json, "frozen", frozen);
		if (b->moment[0]) {
			cairn_json_put_u64(&r.json, "archives_damaged", b->n_damaged);
			cairn_json_put_u64(&r.json, "objects_damaged", b->n_damaged_objects);
		}
		cairn_json_close(&r.json);
	} else {
		cli_line("%s%s%s: %" PRIu64 " objects, %s%s", data_dir, b->moment[0] ? ": as of " : "", b->moment,
			 b->n_objects, report_size(objects, b->object_bytes),
			 b->has_secret ? "" : "; without the secret: the daemon will make another");
		if (b->n_wrong > 0)
			(void)printf("%" PRIu64
				     " wrong bytes of the backup were repaired by its parity: write a sound copy with "
				     "cairn fold repair\n",
				     b->n_wrong);
		if (b->n_damaged > 0)
			(void)printf("%" PRIu64 " archives of the folder are damaged and were not needed for this "
				     "moment: run cairn backups verify\n",
				     b->n_damaged);
		if (b->n_damaged_objects > 0)
			(void)printf("%" PRIu64 " objects are damaged in an archive, and were taken from another: run "
				     "cairn backups verify\n",
				     b->n_damaged_objects);
	}
	return report_end(&r, CLI_EXIT_OK);
}

/* Reads a time in the form of an archive's name, or of ISO 8601 as in 2026-11-23T06:10. @return false: not a time */
static bool restore_time(const char *text, int64_t *last_unix_s)
{
	char bare[sizeof("20261123T061000Z") + 1];
	size_t len = 0;
	for (size_t i = 0; text[i]; i++) {
		if (text[i] == (i == 4 || i == 7 ? '-' : i == 13 || i == 16 ? ':' : '\0'))
			continue;
		if (len + 1 == sizeof(bare))
			return false;
		bare[len++] = text[i];
	}
	bare[len] = '\0';
	return cairn_backup_time_parse(bare, last_unix_s);
}

static int restore_run(const struct cli_command *command, int argc, char **argv)
{
	struct cairn_restore_options restore = {.progress = restore_progress};
	struct cairn_restore_report report;
	struct progress progress;
	struct cairn_diag diag = {0};
	static const int STANDARD_INPUT = STDIN_FILENO;
	const char *at = NULL;
	bool quiet = false, json = false;
	int64_t until_unix_s = 0;
	int first = 0;
	const struct cli_option options[] = {
		{"data-dir", NULL, &restore.data_dir},
		{"at", NULL, &at},
		{"quiet", &quiet, NULL},
		{"json", &json, NULL},
	};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first + 1 != argc || !restore.data_dir)
		return cli_usage_error(command, "give --data-dir DIR, and the backup");
	if (at && !restore_time(at, &until_unix_s))
		return cli_usage_error(command,
				       "--at takes a time like 20261123, 20261123T061000Z or 2026-11-23T06:10, not "
				       "\"%s\"",
				       at);
	restore.until_unix_s = at ? &until_unix_s : NULL;
	restore.path = argv[first];
	if (strcmp(restore.path, "-") == 0) {
		restore.path = "standard input";
		restore.pipe_fd = &STANDARD_INPUT;
	}
	if (restore.pipe_fd && at)
		return cli_usage_error(command,
				       "--at chooses a moment of a folder of backups; a pipe has one moment only");
	restore.ctx = &progress;
	(void)umask(077);
	progress_init(&progress, !quiet, 0, "restored");
	enum cairn_status status = cairn_restore(&restore, &report, &diag);
	progress_clear(&progress);
	if (status == CAIRN_OK)
		backup_warn_of_contents(restore.data_dir, report.n_contents_damaged);
	return status == CAIRN_OK ? restore_show(restore.data_dir, &report, json)
				  : cli_fail(restore.path, status, &diag);
}

const struct cli_command CLI_BACKUP = {"backup", "write a whole store to one verified file", BACKUP_HELP, backup_run};
const struct cli_command CLI_RESTORE = {"restore", "make a data folder from a backup", RESTORE_HELP, restore_run};
