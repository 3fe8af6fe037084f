/* cairn gc, cairn stats: collect garbage, and count what a store has. */
#include "cli/common/admin.h"
#include "cli/common/cli.h"
#include "cli/common/report.h"

#include <inttypes.h>
#include <stdio.h>

static const char GC_HELP[] = "Usage: cairn gc [OPTION]...\n"
			      "Make the server collect xorbs that no file needs. Those older than the server's\n"
			      "grace time (gc_grace) are retired. A collection that comes when the grace time\n"
			      "has passed once more deletes them.\n"
			      "Needs a token with the scope admin.\n"
			      "\n" SERVER_OPTIONS_HELP "      --json             one JSON object, for programs\n"
			      "  -h, --help             this help\n"
			      "\n"
			      "Examples:\n"
			      "  cairn gc --token-file admin.token\n"
			      "\n"
			      "Exit codes: 0 done, 64 usage, 69 server unavailable or collecting already,\n"
			      "77 not permitted.\n";

static const char STATS_HELP[] = "Usage: cairn stats [OPTION]...\n"
				 "Show what a server holds: files, xorbs, and what no file needs any more.\n"
				 "Needs a token with the scope admin.\n"
				 "\n" SERVER_OPTIONS_HELP "      --json             one JSON object, for programs\n"
				 "  -h, --help             this help\n"
				 "\n"
				 "Examples:\n"
				 "  cairn stats --token-file admin.token\n"
				 "\n"
				 "Exit codes: 0 done, 64 usage, 69 server unavailable, 77 not permitted.\n";

struct store_unit {
	uint64_t s;
	const char *name;
};

/* Returns the largest unit in which a duration is a whole number. */
static const struct store_unit *store_unit_of(uint64_t time_s)
{
	static const struct store_unit UNITS[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
	const struct store_unit *unit = UNITS;
	while (time_s == 0 ? unit->s != 1 : time_s % unit->s != 0)
		unit++;
	return unit;
}

static bool store_show_gc(const struct cairn_json *json)
{
	uint64_t retired, swept, bytes_freed, grace_s;
	char size[REPORT_SIZE_BYTES];
	if (!admin_number(json, "retired", &retired) || !admin_number(json, "swept", &swept) ||
	    !admin_number(json, "bytes_freed", &bytes_freed) || !admin_number(json, "grace_s", &grace_s))
		return false;
	(void)printf("%" PRIu64 " xorbs retired, %" PRIu64 " deleted, %s freed\n", retired, swept,
		     report_size(size, bytes_freed));
	if (retired == 0)
		return true;
	const struct store_unit *unit = store_unit_of(grace_s);
	uint64_t n = grace_s / unit->s;
	(void)printf("retired xorbs are deleted by a collection %" PRIu64
		     " %s%s from now or later, unless they are needed again\n",
		     n, unit->name, n == 1 ? "" : "s");
	return true;
}

static bool store_show_stats(const struct cairn_json *json)
{
	static const struct {
		const char *name, *label;
		bool is_size;
	} rows[] = {
		{"files", "files", false},
		{"file_bytes", "  as their owners see them", true},
		{"shards", "shards", false},
		{"xorbs", "xorbs", false},
		{"stored_bytes", "  on the disk", true},
		{"unreferenced_xorbs", "  needed by no file", false},
		{"unreferenced_bytes", "  their size", true},
		{"retired_xorbs", "  waiting to be deleted", false},
		{"retired_bytes", "  their size", true},
		{"eligible_chunks", "chunks that may be asked for", false},
		{"index_bytes", "index", true},
		{"unproved_claims", "SHA-256 not compared so far", false},
		{"unproved_bytes", "  size of their files", true},
		{"false_claims", "SHA-256 that are false", false},
		{"free_bytes", "free on the disk", true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t number;
		char size[REPORT_SIZE_BYTES];
		if (!admin_number(json, rows[i].name, &number))
			return false;
		if (rows[i].is_size)
			(void)printf("%-30s %s\n", rows[i].label, report_size(size, number));
		else
			(void)printf("%-30s %" PRIu64 "\n", rows[i].label, number);
	}
	return true;
}

static int store_run(const struct cli_command *command, int argc, char **argv)
{
	struct server_options server = {0};
	bool json = false, is_gc = command == &CLI_GC;
	int first = 0;
	const struct cli_option options[] = {SERVER_OPTIONS(&server), {"json", &json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first != argc)
		return cli_usage_error(command, "takes no arguments");
	const struct admin_call call = {.server = &server,
					.subject = command->name,
					.method = is_gc ? CLIENT_POST : CLIENT_GET,
					.path = is_gc ? "/v1/gc" : "/v1/stats",
					.takes_long = is_gc,
					.json = json,
					.show = is_gc ? store_show_gc : store_show_stats};
	return admin_ask(&call);
}

const struct cli_command CLI_GC = {"gc", "make a server collect xorbs that no file needs", GC_HELP, store_run};
const struct cli_command CLI_STATS = {"stats", "show what a server holds", STATS_HELP, store_run};
