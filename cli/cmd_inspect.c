/* cairn inspect: shows every field of a shard, a xorb or an archive, and its first error. */
#include "cli/common/cli.h"
#include "cli/common/input.h"
#include "cli/common/options.h"
#include "cli/inspect/inspect.h"

#include <stdio.h>
#include <string.h>

static const char INSPECT_HELP[] = "Usage: cairn inspect [OPTION]... FILE\n"
				   "Show every field of a shard, a xorb, a FOLD file or a Read Shard with its\n"
				   "offset, and judge it as the server would. A file that begins with the shard\n"
				   "tag is a shard, one that begins with FOLDv1 a FOLD file, with SWHShard a Read\n"
				   "Shard (a pack), with a generic tile the schema of a TileDB array or the metadata\n"
				   "of a fragment, any other a xorb. A folder is a TileDB array, a fragment of one,\n"
				   "or an export with arrays in it: schema, tiles, R-tree and statistics are shown,\n"
				   "and compared with all cells.\n"
				   "A bad file is shown up to its first fault, followed by the rule that it breaks,\n"
				   "the offset and the two values that disagree.\n"
				   "\n"
				   "      --hash HASH  the hash that the xorb must have\n"
				   "  -q, --quiet      no progress bar (only FOLD files have one)\n"
				   "      --json       one JSON object, for programs\n"
				   "  -h, --help       this help\n"
				   "\n"
				   "Examples:\n"
				   "  cairn inspect upload.shard\n"
				   "  cairn inspect --json monday.fold\n"
				   "\n"
				   "Exit codes: 0 sound, 64 usage, 65 not valid, 66 the file cannot be opened.\n";

static void inspect_begin(struct report *r, const char *type)
{
	if (!r->is_json)
		return;
	cairn_json_put_text(&r->json, "type", type);
	cairn_json_open_array(&r->json, "records");
}

static void inspect_end(struct report *r)
{
	if (r->is_json)
		cairn_json_close(&r->json);
}

/* The kind of a file, found from its first bytes. */
enum inspect_kind { INSPECT_SHARD, INSPECT_FOLD, INSPECT_READSHARD, INSPECT_TILEDB, INSPECT_XORB };
static const char *const INSPECT_NAMES[] = {
	[INSPECT_SHARD] = "shard",   [INSPECT_FOLD] = "fold", [INSPECT_READSHARD] = "readshard",
	[INSPECT_TILEDB] = "tiledb", [INSPECT_XORB] = "xorb",
};

static enum inspect_kind inspect_kind_of(const uint8_t *bytes, size_t len)
{
	if (inspect_is_shard(bytes, len))
		return INSPECT_SHARD;
	if (inspect_is_fold(bytes, len))
		return INSPECT_FOLD;
	if (inspect_is_readshard(bytes, len))
		return INSPECT_READSHARD;
	return inspect_is_tiledb_file(bytes, len) ? INSPECT_TILEDB : INSPECT_XORB;
}

static enum cairn_status inspect_file(struct report *r, const char *path, const struct cairn_hash *expected, bool quiet,
				      struct inspect_result *result, struct cairn_diag *diag)
{
	struct progress bar;
	CLEANUP(input_fini) struct input in = {0};
	enum cairn_status status = input_open(&in, path, diag);
	if (status != CAIRN_OK)
		return status;
	enum inspect_kind kind = inspect_kind_of(in.bytes, in.len);
	const char *type = INSPECT_NAMES[kind];
	if (r->is_json)
		cairn_json_put_u64(&r->json, "bytes", in.len);
	else
		cli_line("%s, %zu bytes", type, in.len);
	inspect_begin(r, type);
	progress_init(&bar, !quiet, in.len, NULL);
	switch (kind) {
	case INSPECT_SHARD:
		status = inspect_shard(r, in.bytes, in.len, result, diag);
		break;
	case INSPECT_FOLD:
		status = inspect_fold(r, in.bytes, in.len, &bar, diag);
		break;
	case INSPECT_READSHARD:
		status = inspect_readshard(r, in.bytes, in.len, diag);
		break;
	case INSPECT_TILEDB:
		status = inspect_tiledb_file(r, path, in.bytes, in.len, result, diag);
		break;
	case INSPECT_XORB:
		status = inspect_xorb(r, in.bytes, in.len, expected, diag);
		break;
	}
	inspect_end(r);
	return status;
}

static enum cairn_status inspect_folder(struct report *r, const char *path, struct inspect_result *result,
					struct cairn_diag *diag)
{
	inspect_begin(r, "tiledb");
	enum cairn_status status = inspect_tiledb(r, path, result, diag);
	inspect_end(r);
	return status;
}

/* Returns the exit code. Inspecting creates nothing, so CAIRN_E_CONFLICT means contradictory data. */
static int inspect_exit_of(enum cairn_status status)
{
	return status == CAIRN_E_CONFLICT ? CLI_EXIT_DATA : cli_exit_of(status);
}

static int inspect_one(const char *path, const struct cairn_hash *expected, bool json, bool quiet)
{
	struct inspect_result result = {0};
	struct report r;
	struct cairn_diag diag = {0};
	report_init(&r, json);
	if (json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_text(&r.json, "path", path);
	}
	enum cairn_status status = inspect_is_tiledb(path) ? inspect_folder(&r, path, &result, &diag)
							   : inspect_file(&r, path, expected, quiet, &result, &diag);
	if (json) {
		cairn_json_put_bool(&r.json, "valid", status == CAIRN_OK);
		if (result.note)
			cairn_json_put_text(&r.json, "note", result.note);
		if (status != CAIRN_OK)
			report_error(&r, path, status, &diag, inspect_exit_of(status));
		cairn_json_close(&r.json);
	} else if (status == CAIRN_OK) {
		cli_line("valid%s%s", result.note ? "; " : "", result.note ? result.note : "");
	}
	report_flush(&r);
	(void)fflush(stdout); /* the records must come before the error, even if both go to the same place */
	if (status == CAIRN_OK)
		return report_end(&r, CLI_EXIT_OK);
	(void)cli_fail(path, status, &diag);
	return report_end(&r, inspect_exit_of(status));
}

static int inspect_run(const struct cli_command *command, int argc, char **argv)
{
	const char *hash_text = NULL;
	bool json = false, quiet = false;
	int first = 0;
	const struct cli_option options[] = {
		{"hash", NULL, &hash_text}, {"quiet", &quiet, NULL}, {"json", &json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	struct cairn_hash expected;
	if (first + 1 != argc)
		return cli_usage_error(command, "name one file");
	if (hash_text && cairn_hash_parse(&expected, hash_text, strlen(hash_text)) != CAIRN_OK)
		return cli_usage_error(command, "\"%s\" is not a hash of 64 hexadecimal digits", hash_text);
	return inspect_one(argv[first], hash_text ? &expected : NULL, json, quiet);
}

const struct cli_command CLI_INSPECT = {"inspect", "show every field of a shard, a xorb or an array", INSPECT_HELP,
					inspect_run};
