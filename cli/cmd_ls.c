/* cairn ls: lists the files of one repository or of all, page by page. */
#include "cli/common/admin.h"
#include "cli/common/cli.h"
#include "cli/common/listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LS_REPO_BYTES_MAX = 255 };

static const char LS_HELP[] = "Usage: cairn ls [OPTION]...\n"
			      "List the files of the token's repository in the order of their hashes: hash,\n"
			      "size in bytes, when it came, SHA-256 as the uploader gave it, and repository.\n"
			      "Without tokens, or with one for no repository and with the scope admin, list\n"
			      "those of all repositories. A - stands for what is unknown, or not shown to you.\n"
			      "The line of a file whose bytes are lost ends with the word lost.\n"
			      "\n"
			      "      --repo REPO        the files of this repository; \"\" is the operator\n"
			      "      --lost             only files whose bytes are lost\n"
			      "      --limit N          at most N files (default: all)\n" SERVER_OPTIONS_HELP
			      "      --json             one JSON object, for programs\n"
			      "  -h, --help             this help\n"
			      "\n"
			      "Examples:\n"
			      "  cairn ls --repo ann/cats\n"
			      "  cairn ls --limit 10 --json\n"
			      "\n"
			      "Exit codes: 0 done, 64 usage, 65 refused by the server, 66 no such repository,\n"
			      "69 server unavailable, 74 input/output error, 77 not permitted.\n";

static void ls_print_text(const struct cairn_json *row, const char *hash, uint64_t size)
{
	const char *sha256 = cairn_json_text_of(row, "sha256");
	const char *repo = cairn_json_text_of(row, "repo");
	char when[ADMIN_TIME_BYTES];
	uint64_t at = 0;
	bool has_time = admin_number(row, "at", &at);
	bool lost = false;
	(void)cairn_json_bool_of(row, "lost", &lost);
	cli_line("%s %" PRIu64 " %s %s %s%s", hash, size, has_time ? admin_time(when, (int64_t)at) : "-",
		 sha256 ? sha256 : "-", repo && *repo ? repo : "-", lost ? " lost" : "");
}

static void ls_print_json(struct report *r, const struct cairn_json *row, const char *hash, uint64_t size)
{
	uint64_t at = 0;
	bool lost = false;
	cairn_json_open_object(&r->json, NULL);
	cairn_json_put_text(&r->json, "hash", hash);
	cairn_json_put_u64(&r->json, "size", size);
	cairn_json_put_text(&r->json, "repo", cairn_json_text_of(row, "repo"));
	cairn_json_put_text(&r->json, "sha256", cairn_json_text_of(row, "sha256"));
	if (cairn_json_bool_of(row, "lost", &lost))
		cairn_json_put_bool(&r->json, "lost", lost);
	if (admin_number(row, "at", &at))
		cairn_json_put_u64(&r->json, "at", at);
	cairn_json_close(&r->json);
}

static bool ls_print(struct report *r, const struct cairn_json *row)
{
	const char *hash = cairn_json_text_of(row, "hash");
	uint64_t size = 0;
	if (!hash || !admin_number(row, "size", &size))
		return false;
	if (r->is_json)
		ls_print_json(r, row, hash, size);
	else
		ls_print_text(row, hash, size);
	return true;
}

static int ls_run(const struct cli_command *command, int argc, char **argv)
{
	struct server_options server = {0};
	struct listing list = {.command = "ls", .path = "/v1/files", .name = "files", .arg = "repo", .print = ls_print};
	int first = 0;
	const struct cli_option options[] = {SERVER_OPTIONS(&server),
					     {"repo", NULL, &list.value},
					     {"lost", &list.is_lost, NULL},
					     {"limit", NULL, &list.limit},
					     {"json", &list.is_json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first != argc)
		return cli_usage_error(command, "takes no arguments");
	if (list.value && strlen(list.value) > LS_REPO_BYTES_MAX)
		return cli_usage_error(command, "--repo takes at most %d bytes", LS_REPO_BYTES_MAX);
	return listing_run(command, &server, &list);
}

const struct cli_command CLI_LS = {"ls", "list the files of a repository, or of all", LS_HELP, ls_run};
