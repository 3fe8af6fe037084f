/* cairn usage: shows which owners and repositories fill a server's disk. */
#include "cli/common/admin.h"
#include "cli/common/report.h"

#include <inttypes.h>
#include <stdio.h>

static const char USAGE_HELP[] = "Usage: cairn usage [OPTION]...\n"
				 "Show what fills the disk of a server: for each repository, the sum of its files,\n"
				 "what only it holds, what it shares with others, and what its deletion would free\n"
				 "once collected; then which repositories share most. The figures are\n"
				 "those of the last collection. Needs a token with the scope admin.\n"
				 "\n" SERVER_OPTIONS_HELP "      --fresh            compute the figures now\n"
				 "      --json             one JSON object, for programs\n"
				 "  -h, --help             this help\n"
				 "\n"
				 "Examples:\n"
				 "  cairn usage --fresh\n"
				 "\n"
				 "Exit codes: 0 done, 64 usage, 69 server unavailable, 77 not permitted.\n";

static void usage_print_owner(const char *name)
{
	if (*name)
		admin_print_text(name);
	else
		(void)printf("(the operator)"); /* not a repository's name, so printed without quotes */
}

static bool usage_show_owner(const struct cairn_json *owner)
{
	static const char *const NAMES[] = {"seen_bytes", "only_bytes", "shared_bytes", "frees_bytes"};
	const char *name = cairn_json_text_of(owner, "name");
	if (!name)
		return false;
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		uint64_t bytes;
		char size[REPORT_SIZE_BYTES];
		if (!admin_number(owner, NAMES[i], &bytes))
			return false;
		(void)printf("%12s", report_size(size, bytes));
	}
	(void)printf("  ");
	usage_print_owner(name);
	(void)printf("\n");
	return true;
}

static bool usage_show_pair(const struct cairn_json *pair)
{
	const char *a = cairn_json_text_of(pair, "a"), *b = cairn_json_text_of(pair, "b");
	uint64_t bytes;
	char size[REPORT_SIZE_BYTES];
	if (!a || !b || !admin_number(pair, "bytes", &bytes))
		return false;
	(void)printf("%12s  ", report_size(size, bytes));
	usage_print_owner(a);
	(void)printf("  ");
	usage_print_owner(b);
	(void)printf("\n");
	return true;
}

static bool usage_show(const struct cairn_json *json)
{
	enum { USAGE_PAIRS_SHOWN = 20 };
	const struct cairn_json *owners = cairn_json_get(json, "owners"), *pairs = cairn_json_get(json, "pairs");
	uint64_t at, held;
	char when[ADMIN_TIME_BYTES], size[REPORT_SIZE_BYTES];
	if (!cairn_json_is_array(owners) || !cairn_json_is_array(pairs) || !admin_number(json, "at", &at) ||
	    !admin_number(json, "held_bytes", &held))
		return false;
	(void)printf("at %s, %s held by files\n\n%12s%12s%12s%12s  repository\n", admin_time(when, (int64_t)at),
		     report_size(size, held), "as seen", "only here", "shared", "frees");
	for (size_t i = 0; i < cairn_json_count(owners); i++)
		if (!usage_show_owner(cairn_json_at(owners, i)))
			return false;
	if (cairn_json_count(pairs) > 0)
		(void)printf("\n%12s  by\n", "shared");
	for (size_t i = 0; i < cairn_json_count(pairs) && i < USAGE_PAIRS_SHOWN; i++)
		if (!usage_show_pair(cairn_json_at(pairs, i)))
			return false;
	return true;
}

static int usage_run(const struct cli_command *command, int argc, char **argv)
{
	struct server_options server = {0};
	bool json = false, fresh = false;
	int first = 0;
	const struct cli_option options[] = {SERVER_OPTIONS(&server), {"fresh", &fresh, NULL}, {"json", &json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first != argc)
		return cli_usage_error(command, "takes no arguments");
	const struct admin_call call = {.server = &server,
					.subject = command->name,
					.method = CLIENT_GET,
					.path = fresh ? "/v1/usage?fresh=true" : "/v1/usage",
					.takes_long = true,
					.json = json,
					.show = usage_show};
	return admin_ask(&call);
}

const struct cli_command CLI_USAGE = {"usage", "show what fills the disk of a server", USAGE_HELP, usage_run};
