/* cairn backup, cairn restore: a whole store in one FOLD file, and back. */
#include "archive/zstd.h"
#include "cas/backup.h"
#include "cas/restore.h"
#include "cli/common/cli.h"
#include "cli/common/options.h"
#include "cli/common/progress.h"
#include "cli/common/report.h"
#include "data_dir/data_dir.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

enum { BACKUP_ZSTD_LEVEL = 1, BACKUP_PARITY_MAX = 128 };

static const char BACKUP_HELP[] = "Usage: cairn backup --data-dir DIR [OPTION]... OUT.fold\n"
				  "Write index and objects of a store to one file, verified as cairn fold verify\n"
				  "tells. The daemon may run: the backup is of one moment, and no collection\n"
				  "deletes anything until it is done. The file grows as OUT.fold.part; run again\n"
				  "after an interruption, the backup goes on with it.\n"
				  "\n"
				  "      --data-dir DIR     the daemon's folder\n"
				  "      --zstd LEVEL       compress, 1 (default) to 19; 0: not. What a sample\n"
				  "                         shows to be incompressible is stored\n"
				  "      --parity N         Reed-Solomon parity, N bytes to 255, 2 to 128: any N/2\n"
				  "                         wrong bytes of them can be repaired; 16, 32 or 64\n"
				  "                         are usual\n"
				  "      --with-secret      also the server's secret; keep the file like a password\n"
				  "      --secret-file FILE the daemon's secret_file, if it has one\n"
				  "  -q, --quiet            no progress bar\n"
				  "      --json             one JSON object, for programs\n"
				  "  -h, --help             this help\n"
				  "\n"
				  "Exit codes: 0 done, 64 usage, 65 the store is damaged, 66 no such folder,\n"
				  "73 OUT.fold is there or cannot be made, 74 input/output error.\n";

static const char RESTORE_HELP[] = "Usage: cairn restore --data-dir DIR [OPTION]... IN.fold\n"
				   "Make the data folder of a daemon of a backup. Each chunk is verified, and\n"
				   "repaired from its parity if need be, before anything of it is used. DIR must be\n"
				   "empty or not be there; run again after an interruption, the restore goes on.\n"
				   "\n"
				   "      --data-dir DIR  the folder to make\n"
				   "  -q, --quiet         no progress bar\n"
				   "      --json          one JSON object, for programs\n"
				   "  -h, --help          this help\n"
				   "\n"
				   "Exit codes: 0 done, 64 usage, 65 the backup is damaged or is none, 66 no such\n"
				   "file, 73 the folder is not empty or cannot be made, 74 input/output error.\n";

/* --- backup ------------------------------------------------------------------------------------------------------- */

static bool backup_progress(void *ctx, const struct cairn_backup_report *so_far)
{
	struct progress *p = ctx;
	p->total_bytes = so_far->total_bytes;
	progress_draw(p, so_far->object_bytes, so_far->file_bytes);
	return true;
}

static int backup_show(const char *out, const struct cairn_backup_report *b, bool json)
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
		cairn_json_put_u64(&r.json, "chunks", b->n_chunks);
		cairn_json_put_u64(&r.json, "file_bytes", b->file_bytes);
		cairn_json_close(&r.json);
	} else {
		cli_line("%s: %" PRIu64 " objects, %s; %" PRIu64 " chunks, %s", out, b->n_objects,
			 report_size(objects, b->object_bytes), b->n_chunks, report_size(file, b->file_bytes));
	}
	return report_end(&r, CLI_EXIT_OK);
}

static int backup_run(const struct cli_command *command, int argc, char **argv)
{
	struct cairn_backup_options backup = {.zstd_level = BACKUP_ZSTD_LEVEL, .progress = backup_progress};
	struct cairn_backup_report report;
	struct progress progress;
	struct cairn_diag diag = {0};
	const char *zstd = NULL, *parity = NULL;
	bool quiet = false, json = false;
	uint64_t level = BACKUP_ZSTD_LEVEL, n = 0;
	int first = 0;
	const struct cli_option options[] = {
		{"data-dir", NULL, &backup.data_dir},
		{"zstd", NULL, &zstd},
		{"parity", NULL, &parity},
		{"with-secret", &backup.with_secret, NULL},
		{"secret-file", NULL, &backup.secret_file},
		{"quiet", &quiet, NULL},
		{"json", &json, NULL},
	};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first + 1 != argc || !backup.data_dir)
		return cli_usage_error(command, "give --data-dir DIR, and the file to write");
	if (zstd && !cli_parse_number(zstd, 0, CAIRN_ZSTD_LEVEL_MAX, &level))
		return cli_usage_error(command, "--zstd takes 0 to 19, not \"%s\"", zstd);
	if (parity && !cli_parse_number(parity, 2, BACKUP_PARITY_MAX, &n))
		return cli_usage_error(command, "--parity takes 2 to 128, not \"%s\"", parity);
	backup.out = argv[first];
	backup.zstd_level = (int)level;
	backup.parity = (unsigned)n;
	backup.ctx = &progress;
	(void)umask(077);
	enum cairn_status status = cairn_data_dir_find(backup.data_dir, &diag);
	if (status != CAIRN_OK)
		return cli_fail(backup.data_dir, status, &diag);
	progress_init(&progress, !quiet, 0, "written");
	status = cairn_backup(&backup, &report, &diag);
	progress_clear(&progress);
	return status == CAIRN_OK ? backup_show(backup.out, &report, json) : cli_fail(backup.out, status, &diag);
}

/* --- restore ------------------------------------------------------------------------------------------------------ */

static bool restore_progress(void *ctx, const struct cairn_restore_report *so_far)
{
	struct progress *p = ctx;
	p->total_bytes = so_far->total_bytes;
	progress_draw(p, so_far->done_bytes, so_far->object_bytes);
	return true;
}

static int restore_show(const char *data_dir, const struct cairn_restore_report *b, bool json)
{
	struct report r;
	char objects[REPORT_SIZE_BYTES];
	report_init(&r, json);
	if (json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_text(&r.json, "data_dir", data_dir);
		cairn_json_put_u64(&r.json, "objects", b->n_objects);
		cairn_json_put_u64(&r.json, "object_bytes", b->object_bytes);
		cairn_json_put_u64(&r.json, "objects_found", b->n_found);
		cairn_json_put_u64(&r.json, "repaired_bytes", b->n_wrong);
		cairn_json_put_bool(&r.json, "secret", b->has_secret);
		cairn_json_close(&r.json);
	} else {
		cli_line("%s: %" PRIu64 " objects, %s%s", data_dir, b->n_objects, report_size(objects, b->object_bytes),
			 b->has_secret ? "" : "; without the secret: the daemon will make another");
		if (b->n_wrong > 0)
			(void)printf("%" PRIu64
				     " wrong bytes of the backup were put right by its parity: run cairn fold "
				     "repair\n",
				     b->n_wrong);
	}
	return report_end(&r, CLI_EXIT_OK);
}

static int restore_run(const struct cli_command *command, int argc, char **argv)
{
	struct cairn_restore_options restore = {.progress = restore_progress};
	struct cairn_restore_report report;
	struct progress progress;
	struct cairn_diag diag = {0};
	bool quiet = false, json = false;
	int first = 0;
	const struct cli_option options[] = {
		{"data-dir", NULL, &restore.data_dir},
		{"quiet", &quiet, NULL},
		{"json", &json, NULL},
	};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first + 1 != argc || !restore.data_dir)
		return cli_usage_error(command, "give --data-dir DIR, and the backup");
	restore.path = argv[first];
	restore.ctx = &progress;
	(void)umask(077);
	progress_init(&progress, !quiet, 0, "restored");
	enum cairn_status status = cairn_restore(&restore, &report, &diag);
	progress_clear(&progress);
	return status == CAIRN_OK ? restore_show(restore.data_dir, &report, json)
				  : cli_fail(restore.path, status, &diag);
}

const struct cli_command CLI_BACKUP = {"backup", "a whole store in one verified file", BACKUP_HELP, backup_run};
const struct cli_command CLI_RESTORE = {"restore", "make a data folder of a backup", RESTORE_HELP, restore_run};
