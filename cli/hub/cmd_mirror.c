/* cairn mirror: says whether the hub that a server mirrors answers. */
#include "cli/common/admin.h"
#include "cli/common/cli.h"

#include <inttypes.h>
#include <string.h>

static const char MIRROR_HELP[] = "Usage: cairn mirror status [OPTION]...\n"
				  "A server may mirror another hub, which its setting mirror names. status makes\n"
				  "the server ask that hub now, and says whether it answers, and if not, why.\n"
				  "Needs a token with the scope admin.\n"
				  "\n" SERVER_OPTIONS_HELP "      --json             one JSON object, for programs\n"
				  "  -h, --help             this help\n"
				  "\n"
				  "Examples:\n"
				  "  cairn mirror status\n"
				  "  cairn mirror status --json\n"
				  "\n"
				  "Exit codes: 0 done, also if the hub does not answer, 64 usage, 65 refused by the\n"
				  "server, 69 server unavailable, 77 not permitted.\n";

static void mirror_show_down(const struct cairn_json *json)
{
	const char *rule = cairn_json_text_of(json, "rule"), *message = cairn_json_text_of(json, "message");
	cli_line("why         %s [%s]", message ? message : "the server has no memory", rule ? rule : "no_memory");
}

static bool mirror_show(const struct cairn_json *json)
{
	const char *state = cairn_json_text_of(json, "state"), *upstream = cairn_json_text_of(json, "upstream");
	char when[ADMIN_TIME_BYTES];
	uint64_t asked, took_ms, code;
	if (state && strcmp(state, "off") == 0) {
		cli_line("off         the server mirrors no hub; its setting mirror names one");
		return true;
	}
	if (!state || !upstream || !admin_number(json, "asked", &asked) || !admin_number(json, "took_ms", &took_ms) ||
	    !admin_number(json, "answer", &code))
		return false;
	cli_line("%-11s %s", state, upstream);
	cli_line("asked       %s, %s in %" PRIu64 " ms", admin_time(when, (int64_t)asked),
		 code ? "answered" : "no answer", took_ms);
	if (strcmp(state, "up") != 0)
		mirror_show_down(json);
	return true;
}

static int mirror_run(const struct cli_command *command, int argc, char **argv)
{
	struct server_options server = {0};
	bool json = false;
	int first = 0;
	const struct cli_option options[] = {SERVER_OPTIONS(&server), {"json", &json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first + 1 != argc || strcmp(argv[first], "status") != 0)
		return cli_usage_error(command, "say status");
	const struct admin_call call = {.server = &server,
					.subject = "mirror",
					.method = CLIENT_GET,
					.path = "/v1/mirror",
					.takes_long = true,
					.json = json,
					.show = mirror_show};
	return admin_ask(&call);
}

const struct cli_command CLI_MIRROR = {"mirror", "say whether the hub that a server mirrors answers", MIRROR_HELP,
				       mirror_run};
