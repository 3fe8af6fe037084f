/* cairn scrub: starts verification of everything a server stores, and shows its progress. */
#include "cli/common/admin.h"
#include "cli/common/cli.h"
#include "cli/common/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char SCRUB_HELP[] =
	"Usage: cairn scrub status [OPTION]...\n"
	"       cairn scrub start [--within TIME] [OPTION]...\n"
	"       cairn scrub pause [OPTION]...\n"
	"A server reads and verifies everything that it has stored in the background,\n"
	"once in its scrub_period. status tells how far it is and what it found; start\n"
	"begins a pass now or continues the current one; pause stops it until start,\n"
	"even after a restart. cairn repair brings back from a copy what is lost. If\n"
	"servers share an index, one of them reads for all, and any of them takes these\n"
	"commands. Needs a token with the scope admin.\n"
	"\n"
	"      --within TIME      of start: read everything within this time, like 90s,\n"
	"                         15m, 1h or 30d (default: as before, or scrub_period)\n" SERVER_OPTIONS_HELP
	"      --json             one JSON object, for programs\n"
	"  -h, --help             this help\n"
	"\n"
	"Examples:\n"
	"  cairn scrub status\n"
	"  cairn scrub start --within 12h\n"
	"\n"
	"Exit codes: 0 done, 64 usage, 65 refused by the server, 69 server unavailable,\n"
	"77 not permitted.\n";

static bool scrub_show_pass(const struct cairn_json *pass, bool now)
{
	static const char *const NAMES[] = {"started", "bytes",  "total_bytes", "xorbs",
					    "damaged", "mended", "lost",        "unread"};
	enum { STARTED, BYTES, TOTAL, XORBS, DAMAGED, MENDED, LOST, UNREAD, N_NAMES };
	uint64_t n[N_NAMES], ended = 0;
	char when[ADMIN_TIME_BYTES], read[REPORT_SIZE_BYTES], total[REPORT_SIZE_BYTES];
	bool whole = false;
	for (size_t i = 0; i < N_NAMES; i++)
		if (!admin_number(pass, NAMES[i], &n[i]))
			return false;
	if (now)
		(void)printf("under way   since %s, %s of %s read\n", admin_time(when, (int64_t)n[STARTED]),
			     report_size(read, n[BYTES]), report_size(total, n[TOTAL]));
	else if (admin_number(pass, "ended", &ended) && cairn_json_bool_of(pass, "whole", &whole))
		(void)printf("last        ended %s, %s read%s\n", admin_time(when, (int64_t)ended),
			     report_size(read, n[BYTES]), whole ? "" : "; not all: the index cannot be read");
	else
		return false;
	(void)printf("            %" PRIu64 " xorbs, %" PRIu64 " copies damaged, %" PRIu64 " xorbs mended, %" PRIu64
		     " lost, %" PRIu64 " unread\n",
		     n[XORBS], n[DAMAGED], n[MENDED], n[LOST], n[UNREAD]);
	return true;
}

static bool scrub_show(const struct cairn_json *json)
{
	const char *state = cairn_json_text_of(json, "state");
	const struct cairn_json *now = cairn_json_get(json, "now"), *last = cairn_json_get(json, "last");
	const char *daemon = cairn_json_text_of(json, "daemon"); /* older servers do not send this member */
	char when[ADMIN_TIME_BYTES];
	uint64_t next;
	if (!state || !admin_number(json, "next", &next))
		return false;
	cli_line("%s%s%s%s%s", state, daemon ? " at " : "", daemon ? daemon : "", next ? ", next " : "",
		 next ? admin_time(when, (int64_t)next) : "");
	if (cairn_json_is_object(now) && !scrub_show_pass(now, true))
		return false;
	return !cairn_json_is_object(last) || scrub_show_pass(last, false);
}

static int scrub_ask(const struct server_options *server, enum client_method method, const char *path, bool json)
{
	const struct admin_call call = {
		.server = server, .subject = "scrub", .method = method, .path = path, .json = json, .show = scrub_show};
	return admin_ask(&call);
}

static int scrub_run(const struct cli_command *command, int argc, char **argv)
{
	struct server_options server = {0};
	const char *within = NULL;
	bool json = false;
	int64_t within_s = 0;
	char path[64] = "/v1/scrub/start";
	int first = 0;
	const struct cli_option options[] = {SERVER_OPTIONS(&server), {"within", NULL, &within}, {"json", &json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	const char *verb = first + 1 == argc ? argv[first] : "";
	bool start = strcmp(verb, "start") == 0;
	if (within && !start)
		return cli_usage_error(command, "--within goes with start");
	if (within && !cli_parse_seconds(within, &within_s))
		return cli_usage_error(command, "--within is a time like 90s, 15m, 1h or 30d, not \"%s\"", within);
	if (within)
		(void)snprintf(path, sizeof(path), "/v1/scrub/start?within=%" PRId64, within_s);
	if (start)
		return scrub_ask(&server, CLIENT_POST, path, json);
	if (strcmp(verb, "pause") == 0)
		return scrub_ask(&server, CLIENT_POST, "/v1/scrub/pause", json);
	if (strcmp(verb, "status") == 0)
		return scrub_ask(&server, CLIENT_GET, "/v1/scrub", json);
	return cli_usage_error(command, "say status, start or pause");
}

const struct cli_command CLI_SCRUB = {"scrub", "control the background check of everything stored", SCRUB_HELP,
				      scrub_run};
