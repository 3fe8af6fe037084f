/* cairn claims: lists SHA-256 hashes that uploaders claimed and that were proved false. */
#include "cli/common/admin.h"
#include "cli/common/cli.h"
#include "cli/common/listing.h"

static const char CLAIMS_HELP[] = "Usage: cairn claims [OPTION]...\n"
				  "List the SHA-256 that uploaders gave for their files and that are not those of\n"
				  "the bytes, the newest files first: hash of the file, the SHA-256 given, the true\n"
				  "one, and repository (-: the operator). The server finds no file by a false\n"
				  "SHA-256. To mend one, upload the file again with the true SHA-256. Needs a token\n"
				  "with the scope admin.\n"
				  "\n"
				  "      --limit N          at most N claims (default: all)\n" SERVER_OPTIONS_HELP
				  "      --json             one JSON object, for programs\n"
				  "  -h, --help             this help\n"
				  "\n"
				  "Examples:\n"
				  "  cairn claims --limit 20\n"
				  "\n"
				  "Exit codes: 0 done, also when there are none, 64 usage, 65 refused by the\n"
				  "server, 69 server unavailable, 74 input/output error, 77 not permitted.\n";

static bool claims_print(struct report *r, const struct cairn_json *row)
{
	static const char *const NAMES[] = {"file", "said", "sha256", "repo"};
	const char *texts[sizeof(NAMES) / sizeof(NAMES[0])];
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
		texts[i] = cairn_json_text_of(row, NAMES[i]);
		if (!texts[i])
			return false;
	}
	if (!r->is_json) {
		cli_line("%s %s %s %s", texts[0], texts[1], texts[2], *texts[3] ? texts[3] : "-");
		return true;
	}
	cairn_json_open_object(&r->json, NULL);
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		cairn_json_put_text(&r->json, NAMES[i], texts[i]);
	cairn_json_close(&r->json);
	return true;
}

static int claims_run(const struct cli_command *command, int argc, char **argv)
{
	struct server_options server = {0};
	struct listing list = {
		.command = "claims", .path = "/v1/false-claims", .name = "claims", .print = claims_print};
	int first = 0;
	const struct cli_option options[] = {
		SERVER_OPTIONS(&server), {"limit", NULL, &list.limit}, {"json", &list.is_json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first != argc)
		return cli_usage_error(command, "takes no arguments");
	return listing_run(command, &server, &list);
}

const struct cli_command CLI_CLAIMS = {"claims", "list the false SHA-256 that uploaders gave", CLAIMS_HELP, claims_run};
