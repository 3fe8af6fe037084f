/* cairn rm, cairn share: remove or share one registered file. */
#include "cli/common/admin.h"
#include "cli/common/cli.h"
#include "hash/hash.h"

#include <stdio.h>
#include <string.h>

static const char RM_HELP[] =
	"Usage: cairn rm HASH [OPTION]...\n"
	"Make the server forget a file. Xorbs that only this file needs are collected\n"
	"later: see `cairn gc`. Needs a token with the scope admin.\n"
	"\n"
	"      --repo REPO        only as a file of this repository; \"\" is the operator,\n"
	"                         whose files everybody may read (default: of all)\n" SERVER_OPTIONS_HELP
	"      --json             one JSON object, for programs\n"
	"  -h, --help             this help\n"
	"\n"
	"Examples:\n"
	"  cairn rm HASH\n"
	"  cairn rm HASH --repo ann/cats\n"
	"\n"
	"Exit codes: 0 done, 64 usage, 65 refused by the server, 66 no such file is\n"
	"registered, 69 server unavailable, 77 not permitted.\n";

static const char SHARE_HELP[] =
	"Usage: cairn share HASH [OPTION]...\n"
	"Let others read a file that is registered already, as if they had uploaded it.\n"
	"Needs a token with the scope admin.\n"
	"\n"
	"      --repo REPO        the repository that may read it (default: everybody)\n" SERVER_OPTIONS_HELP
	"      --json             one JSON object, for programs\n"
	"  -h, --help             this help\n"
	"\n"
	"Examples:\n"
	"  cairn share HASH --repo ann/cats\n"
	"\n"
	"Exit codes: 0 done, 64 usage, 65 refused by the server, 66 no such file is\n"
	"registered, 69 server unavailable, 77 not permitted.\n";

static bool files_show_forgotten(const struct cairn_json *json)
{
	bool forgotten = false;
	if (!cairn_json_bool_of(json, "forgotten", &forgotten))
		return false;
	(void)puts(forgotten ? "forgotten" : "was not registered");
	return true;
}

static bool files_show_shared(const struct cairn_json *json)
{
	bool shared = false;
	if (!cairn_json_bool_of(json, "shared", &shared))
		return false;
	(void)puts(shared ? "shared" : "was shared already");
	return true;
}

static int files_run(const struct cli_command *command, int argc, char **argv)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf path = cairn_buf_init(4096);
	struct server_options server = {0};
	const char *repo = NULL;
	bool json = false, is_rm = command == &CLI_RM;
	int first = 0;
	struct cairn_hash hash;
	char text[CAIRN_HASH_TEXT_BYTES];
	const struct cli_option options[] = {SERVER_OPTIONS(&server), {"repo", NULL, &repo}, {"json", &json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first + 1 != argc)
		return cli_usage_error(command, "give one hash");
	if (cairn_hash_parse(&hash, argv[first], strlen(argv[first])) != CAIRN_OK)
		return cli_usage_error(command, "\"%s\" is not a hash of 64 hexadecimal digits", argv[first]);
	cairn_hash_text(text, &hash);
	cairn_buf_printf(&path, "/v1/files/%s%s", text, is_rm ? "" : "/share");
	admin_add_arg(&path, "repo", repo);
	const struct admin_call call = {.server = &server,
					.subject = text,
					.method = is_rm ? CLIENT_DELETE : CLIENT_POST,
					.path = admin_path(&path),
					.json = json,
					.show = is_rm ? files_show_forgotten : files_show_shared};
	return admin_ask(&call);
}

const struct cli_command CLI_RM = {"rm", "make a server forget a file", RM_HELP, files_run};
const struct cli_command CLI_SHARE = {"share", "let others read a file", SHARE_HELP, files_run};
