/* cairn info: finds the objects that a hash names, and what refers to them. */
#include "base/decimal.h"
#include "cli/common/admin.h"
#include "cli/common/cli.h"
#include "cli/common/report.h"
#include "hash/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { INFO_PATH_BYTES_MAX = 512, INFO_LIMIT_MAX = 512 };

static const char INFO_HELP[] =
	"Usage: cairn info [OPTION]... HASH\n"
	"Tell what a hash stands for: a file, with its xorbs and repositories; a SHA-256\n"
	"of files; a xorb, with the files that need it; or a chunk, with the xorbs that\n"
	"have it (only chunks that clients ask the server about: one in several hundred).\n"
	"A repository's token shows only its own files. A token without a repository and\n"
	"with the scope admin, or none if none is needed, shows all.\n"
	"\n"
	"      --limit N          rows of each list, 1 to 512 (default 100)\n" SERVER_OPTIONS_HELP
	"      --json             one JSON object, for programs\n"
	"  -h, --help             this help\n"
	"\n"
	"Examples:\n"
	"  cairn info HASH\n"
	"\n"
	"Exit codes: 0 done, 64 usage, 66 nothing of that hash, 69 server unavailable,\n"
	"77 not permitted.\n";

static void info_show_time(const struct cairn_json *row)
{
	char when[ADMIN_TIME_BYTES];
	uint64_t at;
	if (admin_number(row, "at", &at))
		(void)printf(", since %s", admin_time(when, (int64_t)at));
}

/* Prints "41 chunks, 1.0 MiB, 900.0 KiB stored". @return false: the answer lacks a member */
static bool info_show_xorb(const struct cairn_json *xorb)
{
	char unpacked[REPORT_SIZE_BYTES], in_store[REPORT_SIZE_BYTES];
	uint64_t chunks, size, stored;
	bool retired = false, withdrawn = false, lost = false;
	if (!admin_number(xorb, "chunks", &chunks) || !admin_number(xorb, "size", &size) ||
	    !admin_number(xorb, "stored", &stored))
		return false;
	(void)printf("%" PRIu64 " chunks, %s, ", chunks, report_size(unpacked, size));
	if (stored > 0)
		(void)printf("%s stored", report_size(in_store, stored));
	else if (cairn_json_bool_of(xorb, "lost", &lost) && lost)
		(void)printf("lost");
	else
		(void)printf("not stored here");
	info_show_time(xorb);
	if (cairn_json_bool_of(xorb, "retired", &retired) && retired)
		(void)printf(", retired");
	if (cairn_json_bool_of(xorb, "withdrawn", &withdrawn) && withdrawn)
		(void)printf(", withdrawn");
	return true;
}

static bool info_row_xorb(const struct cairn_json *row)
{
	const char *hash = cairn_json_text_of(row, "hash");
	if (!hash)
		return false;
	(void)printf("  xorb ");
	cli_put_text(stdout, hash);
	(void)printf(": ");
	bool whole = info_show_xorb(row);
	(void)printf("\n");
	return whole;
}

static void info_show_owner(const struct cairn_json *row)
{
	const char *repo = cairn_json_text_of(row, "repo");
	const char *sha256 = cairn_json_text_of(row, "sha256");
	if (repo) {
		(void)printf(", ");
		cli_put_text(stdout, *repo ? repo : "the operator's");
	}
	if (sha256) {
		(void)printf(", SHA-256 ");
		cli_put_text(stdout, sha256);
	}
	info_show_time(row);
	(void)printf("\n");
}

static bool info_row_owner(const struct cairn_json *row)
{
	(void)printf("  registered");
	info_show_owner(row);
	return true;
}

static bool info_row_file(const struct cairn_json *row)
{
	const char *hash = cairn_json_text_of(row, "hash");
	uint64_t size;
	if (!hash || !admin_number(row, "size", &size))
		return false;
	(void)printf("  file ");
	cli_put_text(stdout, hash);
	(void)printf(", %" PRIu64 " bytes", size);
	info_show_owner(row);
	return true;
}

static bool info_row_place(const struct cairn_json *row)
{
	const char *xorb = cairn_json_text_of(row, "xorb");
	const char *scope = cairn_json_text_of(row, "scope");
	uint64_t at, size;
	if (!xorb || !admin_number(row, "at", &at) || !admin_number(row, "size", &size))
		return false;
	(void)printf("  %" PRIu64 " bytes, the one after %" PRIu64 " others in xorb ", size, at);
	cli_put_text(stdout, xorb);
	if (scope) {
		(void)printf(", for queries of ");
		cli_put_text(stdout, *scope ? scope : "everybody");
	}
	(void)printf("\n");
	return true;
}

/* Prints one list of the answer. @param title  a line before the first row; NULL: none */
static bool info_show_list(const struct cairn_json *json, const char *name, const char *title,
			   bool (*show)(const struct cairn_json *row))
{
	const struct cairn_json *rows = cairn_json_get(json, name);
	if (!cairn_json_is_array(rows))
		return false;
	if (title && cairn_json_count(rows) > 0)
		(void)printf("%s\n", title);
	for (size_t i = 0; i < cairn_json_count(rows); i++)
		if (!show(cairn_json_at(rows, i)))
			return false;
	return true;
}

static bool info_show_file(const struct cairn_json *json)
{
	const struct cairn_json *file = cairn_json_get(json, "file");
	uint64_t size, terms, xorbs;
	bool lost = false;
	if (!file)
		return true;
	if (!admin_number(file, "size", &size) || !admin_number(file, "terms", &terms) ||
	    !admin_number(file, "xorbs", &xorbs))
		return false;
	(void)printf("a file of %" PRIu64 " bytes, %" PRIu64 " terms over %" PRIu64 " xorbs\n", size, terms, xorbs);
	if (cairn_json_bool_of(file, "lost", &lost) && lost)
		(void)printf("  its bytes are lost: upload it again, or see cairn repair\n");
	return info_show_list(json, "owners", NULL, info_row_owner) &&
	       info_show_list(json, "xorbs", NULL, info_row_xorb);
}

static bool info_show_the_xorb(const struct cairn_json *json)
{
	const struct cairn_json *xorb = cairn_json_get(json, "xorb");
	if (!xorb)
		return true;
	(void)printf("a xorb of ");
	bool whole = info_show_xorb(xorb);
	const struct cairn_json *needed_by = cairn_json_get(json, "needed_by");
	(void)printf(cairn_json_count(needed_by) > 0 ? ", needed by\n" : ", which no file needs\n");
	return whole && info_show_list(json, "needed_by", NULL, info_row_file);
}

static bool info_show(const struct cairn_json *json)
{
	bool more = false;
	if (!info_show_file(json) ||
	    !info_show_list(json, "of_sha256", "the SHA-256 of, as uploaders said", info_row_file) ||
	    !info_show_the_xorb(json) || !info_show_list(json, "places", "a chunk of", info_row_place))
		return false;
	if (cairn_json_bool_of(json, "more", &more) && more)
		(void)printf("and more: see --limit\n");
	return true;
}

static int info_run(const struct cli_command *command, int argc, char **argv)
{
	struct server_options server = {0};
	struct cairn_hash hash;
	const char *limit = NULL;
	uint64_t n;
	bool json = false;
	int first = 0;
	const struct cli_option options[] = {SERVER_OPTIONS(&server), {"limit", NULL, &limit}, {"json", &json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first + 1 != argc || cairn_hash_parse(&hash, argv[first], strlen(argv[first])) != CAIRN_OK)
		return cli_usage_error(
			command, "takes a hash, which has 64 hexadecimal digits; of a file `cairn hash FILE` tells it");
	if (limit && !cairn_decimal_parse(limit, 1, INFO_LIMIT_MAX, &n))
		return cli_usage_error(command, "--limit takes 1 to %d, not \"%s\"", INFO_LIMIT_MAX, limit);
	CLEANUP(cairn_buf_fini) struct cairn_buf path = cairn_buf_init(INFO_PATH_BYTES_MAX);
	cairn_buf_printf(&path, "/v1/info/%s", argv[first]);
	admin_add_arg(&path, "limit", limit);
	const struct admin_call call = {.server = &server,
					.subject = argv[first],
					.method = CLIENT_GET,
					.path = admin_path(&path),
					.json = json,
					.show = info_show};
	return admin_ask(&call);
}

const struct cli_command CLI_INFO = {"info", "tell what a hash stands for, and who refers to it", INFO_HELP, info_run};
