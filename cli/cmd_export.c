/* cairn export: writes the index as tables, for programs that analyse. */
#include "cli/common/cli.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "cli/export/export.h"
#include "data_dir/data_dir.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char EXPORT_HELP[] = "Usage: cairn export --data-dir DIR --format FORMAT [OPTION]... OUT\n"
				  "Write the index of a daemon, which may be running, as four tables into the\n"
				  "folder OUT: chunks, xorbs, files, references. All show one moment.\n"
				  "\n"
				  "      --data-dir DIR     the daemon's folder\n"
				  "      --format FORMAT    tiledb or csv. tiledb: an array each, which\n"
				  "                         tiledb.open() reads; a later export to the same\n"
				  "                         folder adds the new rows. csv: a text file each,\n"
				  "                         with all rows; it replaces an older one\n"
				  "  -q, --quiet            no progress bar\n"
				  "      --json             one JSON object, for programs\n"
				  "  -h, --help             this help\n"
				  "\n"
				  "Examples:\n"
				  "  cairn export --data-dir /var/lib/cairn --format tiledb index\n"
				  "\n"
				  "Exit codes: 0 done, 64 usage, 65 arrays in OUT are damaged, 66 no such data\n"
				  "folder, 73 OUT cannot be written, is in use, or is of another index, 74\n"
				  "input/output error.\n";

/* Prints the result. @return an exit code */
static int export_show(const struct export *e, const char *format, bool json)
{
	struct report r;
	report_init(&r, json);
	if (json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_text(&r.json, "format", format);
		cairn_json_put_text(&r.json, "path", e->path);
		cairn_json_open_array(&r.json, "tables");
	}
	for (unsigned i = 0; i < EXPORT_TABLES; i++) {
		const struct export_result *result = &e->results[i];
		if (!json) {
			(void)printf("%-10s %" PRIu64 " rows\n", export_layout(i)->name, result->n_rows);
			continue;
		}
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_text(&r.json, "name", export_layout(i)->name);
		cairn_json_put_u64(&r.json, "rows", result->n_rows);
		cairn_json_put_text(&r.json, "fragment", result->fragment[0] ? result->fragment : NULL);
		cairn_json_close(&r.json);
	}
	if (json) {
		cairn_json_close(&r.json);
		cairn_json_close(&r.json);
	}
	return report_end(&r, CLI_EXIT_OK);
}

static int export_do(const char *data_dir, const char *format, const char *out, bool quiet, bool json)
{
	CLEANUP(export_fini) struct export e;
	struct cairn_diag diag = {0};
	bool is_tiledb = strcmp(format, "tiledb") == 0;
	enum cairn_status status = export_open(&e, out, &diag);
	progress_init(&e.progress, !quiet, 0, "sorted and written");
	if (status == CAIRN_OK && is_tiledb)
		status = export_tiledb_resume(&e, &diag);
	if (status == CAIRN_OK)
		status = export_gather(&e, data_dir, &diag);
	if (status == CAIRN_OK)
		status = is_tiledb ? export_tiledb_write(&e, &diag) : export_csv_write(&e, &diag);
	progress_clear(&e.progress);
	if (status != CAIRN_OK)
		return cli_fail(out, status, &diag);
	e.made = false; /* the export succeeded, so the folder stays */
	return export_show(&e, format, json);
}

static int export_run(const struct cli_command *command, int argc, char **argv)
{
	const char *data_dir = NULL, *format = NULL;
	struct cairn_diag diag = {0};
	bool quiet = false, json = false;
	int first = 0;
	const struct cli_option options[] = {{"data-dir", NULL, &data_dir},
					     {"format", NULL, &format},
					     {"quiet", &quiet, NULL},
					     {"json", &json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first + 1 != argc || !data_dir || !format)
		return cli_usage_error(command, "give --data-dir DIR, --format FORMAT and one folder");
	if (strcmp(format, "tiledb") != 0 && strcmp(format, "csv") != 0)
		return cli_usage_error(command, "--format takes tiledb or csv, not \"%s\"", format);
	enum cairn_status status = cairn_data_dir_find(data_dir, &diag);
	if (status != CAIRN_OK)
		return cli_fail(data_dir, status, &diag);
	(void)umask(077); /* only for the owner: the export has hashes of all tenants */
	return export_do(data_dir, format, argv[first], quiet, json);
}

const struct cli_command CLI_EXPORT = {"export", "write the index as tables, for analysis", EXPORT_HELP, export_run};
