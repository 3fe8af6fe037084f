/* cairn telemetry: shows reports of clients about their transfers. */
#include "base/decimal.h"
#include "cli/common/admin.h"
#include "cli/common/cli.h"

#include <inttypes.h>
#include <stdio.h>

enum { TELEMETRY_LIMIT_DEFAULT = 20, TELEMETRY_LIMIT_MAX = 512 };

static const char TELEMETRY_HELP[] = "Usage: cairn telemetry [OPTION]...\n"
				     "List what clients reported to the server about their transfers, the newest\n"
				     "first: number, time and event; --json has all of it. Needs a token with the\n"
				     "scope admin.\n"
				     "\n"
				     "      --limit N          how many (default 20, at most 512)\n" SERVER_OPTIONS_HELP
				     "      --json             one JSON object, for programs\n"
				     "  -h, --help             this help\n"
				     "\n"
				     "Examples:\n"
				     "  cairn telemetry --limit 5 --json\n"
				     "\n"
				     "Exit codes: 0 done, 64 usage, 69 server unavailable, 77 not permitted.\n";

static bool telemetry_show(const struct cairn_json *json)
{
	const struct cairn_json *rows = cairn_json_get(json, "telemetry");
	if (!cairn_json_is_array(rows))
		return false;
	for (size_t i = 0; i < cairn_json_count(rows); i++) {
		const struct cairn_json *row = cairn_json_at(rows, i);
		uint64_t id, at;
		char when[ADMIN_TIME_BYTES];
		if (!admin_number(row, "id", &id) || !admin_number(row, "at", &at))
			return false;
		(void)printf("%" PRIu64 " %s ", id, admin_time(when, (int64_t)at));
		admin_print_text(cairn_json_text_of(cairn_json_get(row, "body"), "event"));
		(void)fputs("\n", stdout);
	}
	return true;
}

static int telemetry_run(const struct cli_command *command, int argc, char **argv)
{
	struct server_options server = {0};
	const char *limit = NULL;
	bool json = false;
	int first = 0;
	uint64_t n = TELEMETRY_LIMIT_DEFAULT;
	char path[64];
	const struct cli_option options[] = {SERVER_OPTIONS(&server), {"limit", NULL, &limit}, {"json", &json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first != argc)
		return cli_usage_error(command, "takes no arguments");
	if (limit && !cairn_decimal_parse(limit, 1, TELEMETRY_LIMIT_MAX, &n))
		return cli_usage_error(command, "--limit takes 1 to %d", TELEMETRY_LIMIT_MAX);
	(void)snprintf(path, sizeof(path), "/v1/telemetry?limit=%" PRIu64, n);
	const struct admin_call call = {.server = &server,
					.subject = "telemetry",
					.method = CLIENT_GET,
					.path = path,
					.json = json,
					.show = telemetry_show};
	return admin_ask(&call);
}

const struct cli_command CLI_TELEMETRY = {"telemetry", "list what clients reported about their transfers",
					  TELEMETRY_HELP, telemetry_run};
