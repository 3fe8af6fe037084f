/* cairn quota: shows and sets how many bytes an account or a repository may hold. */
#include "cli/common/admin.h"
#include "cli/common/cli.h"
#include "cli/common/listing.h"

#include "base/decimal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { QUOTA_BODY_BYTES_MAX = 4096 };

static const char QUOTA_HELP[] = "Usage: cairn quota PLACE [OPTION]...\n"
				 "       cairn quota PLACE SIZE|none [OPTION]...\n"
				 "       cairn quota [OPTION]...\n"
				 "Show how much a place of a server holds and may hold, or set how much it may\n"
				 "hold. Without a place, list all places that have a quota. A place is a user, an\n"
				 "organisation, or one of their repositories, such as models/ann/cats or\n"
				 "buckets/team/data. On a server without a hub it is a repository as tokens name\n"
				 "it, and need not exist yet. SIZE is in bytes; K, M, G or T after the number\n"
				 "means KiB, MiB, GiB or TiB. A place that holds more already can be read and\n"
				 "deleted from, but takes nothing new. Needs a token with the scope admin.\n"
				 "\n"
				 "      --limit N          list at most N places (default: all)\n" SERVER_OPTIONS_HELP
				 "      --json             one JSON object, for programs\n"
				 "  -h, --help             this help\n"
				 "\n"
				 "Examples:\n"
				 "  cairn quota ann 200G\n"
				 "  cairn quota models/team/big none\n"
				 "  cairn quota\n"
				 "\n"
				 "Exit codes: 0 done, 64 usage, 65 refused by the server, 66 no such place,\n"
				 "69 server unavailable, 74 input/output error, 77 not permitted.\n";

static bool quota_show(const struct cairn_json *json)
{
	uint64_t limit, stored;
	char size[REPORT_SIZE_BYTES];
	const char *place = cairn_json_text_of(json, "place");
	bool limited = cairn_json_get(json, "quota_bytes") != NULL;
	if (!place || !admin_number(json, "stored_bytes", &stored) ||
	    (limited && !admin_number(json, "quota_bytes", &limit)))
		return false;
	admin_print_text(place);
	(void)printf(" holds %s", report_size(size, stored));
	if (limited)
		(void)printf(" of %s (%" PRIu64 " of %" PRIu64 " bytes)\n", report_size(size, limit), stored, limit);
	else
		(void)printf(", without a quota\n");
	return true;
}

static int quota_get(struct admin_call *call)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf path = cairn_buf_init(QUOTA_BODY_BYTES_MAX);
	cairn_buf_printf(&path, "/v1/quotas");
	admin_add_arg(&path, "place", call->subject);
	call->path = admin_path(&path);
	return admin_ask(call);
}

static int quota_set(const struct cli_command *command, struct admin_call *call, const char *limit)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf body = cairn_buf_init(QUOTA_BODY_BYTES_MAX);
	struct cairn_json_out w = cairn_json_out_init(&body);
	bool none = strcmp(limit, "none") == 0;
	uint64_t bytes;
	if (!none && !cli_parse_size(limit, &bytes))
		return cli_usage_error(
			command, "a quota is \"none\" or a number of bytes, which K, M, G or T may follow; not \"%s\"",
			limit);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "place", call->subject);
	if (none)
		cairn_json_put_text(&w, "quota_bytes", "none");
	else
		cairn_json_put_u64(&w, "quota_bytes", bytes);
	cairn_json_close(&w);
	call->method = CLIENT_POST;
	call->path = "/v1/quotas";
	call->body = admin_path(&body);
	if (!call->body)
		return cli_usage_error(command, "the name of the place is too long");
	return admin_ask(call);
}

static bool quota_print(struct report *r, const struct cairn_json *row)
{
	const char *place = cairn_json_text_of(row, "place");
	uint64_t limit, stored;
	if (!place || !admin_number(row, "quota_bytes", &limit) || !admin_number(row, "stored_bytes", &stored))
		return false;
	if (!r->is_json) {
		cli_line("%s %" PRIu64 " %" PRIu64, place, stored, limit);
		return true;
	}
	cairn_json_open_object(&r->json, NULL);
	cairn_json_put_text(&r->json, "place", place);
	cairn_json_put_u64(&r->json, "quota_bytes", limit);
	cairn_json_put_u64(&r->json, "stored_bytes", stored);
	cairn_json_close(&r->json);
	return true;
}

static int quota_run(const struct cli_command *command, int argc, char **argv)
{
	struct server_options server = {0};
	struct listing list = {.command = "quota", .path = "/v1/quotas", .name = "quotas", .print = quota_print};
	int first = 0;
	const struct cli_option options[] = {
		SERVER_OPTIONS(&server), {"limit", NULL, &list.limit}, {"json", &list.is_json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	int n = argc - first;
	if (n == 0)
		return listing_run(command, &server, &list);
	if (n > 2 || list.limit)
		return cli_usage_error(
			command, "give a place, and a size to set its quota; --limit goes with the list of all places");
	struct admin_call call = {.server = &server,
				  .subject = argv[first],
				  .method = CLIENT_GET,
				  .json = list.is_json,
				  .show = quota_show};
	return n == 1 ? quota_get(&call) : quota_set(command, &call, argv[first + 1]);
}

const struct cli_command CLI_QUOTA = {"quota", "show or set how much an account or a repository may hold", QUOTA_HELP,
				      quota_run};
