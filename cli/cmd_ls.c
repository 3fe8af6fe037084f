/* cairn ls: the files of a repository, or of all, a page after the other. */
#include "cli/common/admin.h"
#include "cli/common/cli.h"
#include "cli/common/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	LS_PAGE_BYTES_MAX = 4 * 1024 * 1024,
	LS_PATH_BYTES_MAX = 2048,
	LS_NEXT_BYTES_MAX = 512,
	LS_REPO_BYTES_MAX = 255
};

static const char LS_HELP[] = "Usage: cairn ls [OPTION]...\n"
			      "List the files of the token's repository in the order of their hashes: hash,\n"
			      "size in bytes, since when, SHA-256 as the uploader said it, and repository.\n"
			      "Without tokens, or with one for no repository and the scope admin, those of all\n"
			      "repositories. What is not known, or not to be told, is a -.\n"
			      "\n"
			      "      --repo REPO        the files of this repository; \"\" is the operator\n"
			      "      --limit N          so many at most (default: all)\n" SERVER_OPTIONS_HELP
			      "      --json             one JSON object, for programs\n"
			      "  -h, --help             this help\n"
			      "\n"
			      "Exit codes: 0 done, 64 usage, 65 refused by the server, 66 no such repository,\n"
			      "69 server unavailable, 74 input/output error, 77 not permitted.\n";

struct ls {
	struct client *client;
	const char *repo;
	struct report report;
	uint64_t left; /* to be listed */
	char next[LS_NEXT_BYTES_MAX];
	bool more;
};

static void ls_print_text(const struct cairn_json *row, const char *hash, uint64_t size)
{
	const char *sha256 = cairn_json_string(cairn_json_get(row, "sha256"));
	const char *repo = cairn_json_string(cairn_json_get(row, "repo"));
	char when[ADMIN_TIME_BYTES];
	uint64_t at = 0;
	bool told = admin_number(row, "at", &at);
	cli_line("%s %" PRIu64 " %s %s %s", hash, size, told ? admin_time(when, (int64_t)at) : "-",
		 sha256 ? sha256 : "-", repo && *repo ? repo : "-");
}

static void ls_print_json(struct report *r, const struct cairn_json *row, const char *hash, uint64_t size)
{
	uint64_t at = 0;
	cairn_json_open_object(&r->json, NULL);
	cairn_json_put_text(&r->json, "hash", hash);
	cairn_json_put_u64(&r->json, "size", size);
	cairn_json_put_text(&r->json, "repo", cairn_json_string(cairn_json_get(row, "repo")));
	cairn_json_put_text(&r->json, "sha256", cairn_json_string(cairn_json_get(row, "sha256")));
	if (admin_number(row, "at", &at))
		cairn_json_put_u64(&r->json, "at", at);
	cairn_json_close(&r->json);
	report_flush(r);
}

/* @return false: the answer lacks something */
static bool ls_print_page(struct ls *l, const struct cairn_json *page)
{
	const struct cairn_json *rows = cairn_json_get(page, "files");
	const char *next = cairn_json_string(cairn_json_get(page, "next"));
	size_t n = cairn_json_count(rows);
	if (!cairn_json_is_array(rows) || (next && n == 0))
		return false;
	for (size_t i = 0; i < n && l->left > 0; i++, l->left--) {
		const struct cairn_json *row = cairn_json_at(rows, i);
		const char *hash = cairn_json_string(cairn_json_get(row, "hash"));
		uint64_t size = 0;
		if (!hash || !admin_number(row, "size", &size))
			return false;
		if (l->report.is_json)
			ls_print_json(&l->report, row, hash, size);
		else
			ls_print_text(row, hash, size);
	}
	l->more = next && snprintf(l->next, sizeof(l->next), "%s", next) < (int)sizeof(l->next);
	return l->more || !next;
}

static enum cairn_status ls_page(struct ls *l, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf path = cairn_buf_init(LS_PATH_BYTES_MAX);
	CLEANUP(cairn_buf_fini) struct cairn_buf answer = cairn_buf_init(LS_PAGE_BYTES_MAX);
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	cairn_buf_printf(&path, "/v1/files?limit=%" PRIu64, l->left < 512 ? l->left : 512);
	admin_add_arg(&path, "repo", l->repo);
	admin_add_arg(&path, "after", l->more ? l->next : NULL);
	const char *target = admin_path(&path);
	if (!target)
		return CAIRN_E_NOMEM;
	enum cairn_status status = client_request(l->client, CLIENT_GET, target, NULL, 0, &answer, diag);
	if (status != CAIRN_OK)
		return status;
	if (cairn_json_parse(&json, (const char *)answer.bytes, answer.len) != CAIRN_OK || !ls_print_page(l, json))
		return cairn_fail(diag, CAIRN_E_BUSY, "server.answer", CAIRN_NO_OFFSET,
				  "the answer is no list of files: is it a server of another kind?");
	return CAIRN_OK;
}

static int ls_all(struct ls *l, bool json)
{
	struct cairn_diag diag = {0};
	report_init(&l->report, json);
	if (json) {
		cairn_json_open_object(&l->report.json, NULL);
		cairn_json_open_array(&l->report.json, "files");
	}
	enum cairn_status status;
	do {
		status = ls_page(l, &diag);
	} while (status == CAIRN_OK && l->more && l->left > 0);
	if (json) {
		cairn_json_close(&l->report.json);
		if (status != CAIRN_OK)
			report_status(&l->report, "error", status, &diag);
		else
			cairn_json_put_bool(&l->report.json, "more", l->more);
		cairn_json_close(&l->report.json);
	}
	return report_end(&l->report, status == CAIRN_OK ? CLI_EXIT_OK : cli_fail("ls", status, &diag));
}

static int ls_run(const struct cli_command *command, int argc, char **argv)
{
	struct server_options server = {0};
	struct ls l = {.left = UINT64_MAX};
	struct cairn_diag diag = {0};
	const char *limit = NULL;
	bool json = false;
	int first = 0;
	const struct cli_option options[] = {
		SERVER_OPTIONS(&server), {"repo", NULL, &l.repo}, {"limit", NULL, &limit}, {"json", &json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first != argc)
		return cli_usage_error(command, "takes no arguments");
	if (l.repo && strlen(l.repo) > LS_REPO_BYTES_MAX)
		return cli_usage_error(command, "--repo takes at most %d bytes", LS_REPO_BYTES_MAX);
	if (limit && !cli_parse_number(limit, 1, UINT64_MAX, &l.left))
		return cli_usage_error(command, "--limit takes a number from 1 on");
	CLEANUP(client_freep) struct client *client = NULL;
	enum cairn_status status = server_options_open(&server, &client, &diag);
	l.client = client;
	return status == CAIRN_OK ? ls_all(&l, json) : cli_fail("ls", status, &diag);
}

const struct cli_command CLI_LS = {"ls", "list the files of a repository, or of all", LS_HELP, ls_run};
