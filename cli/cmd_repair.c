/* cairn repair: sends a running server sound copies of xorbs that it has lost. */
#include "cli/common/admin.h"
#include "cli/common/cli.h"
#include "cli/common/progress.h"
#include "cli/common/report.h"
#include "cli/repair/source.h"
#include "xorb/verifier.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPAIR_PAGE_BYTES_MAX = 1024 * 1024, REPAIR_ANSWER_BYTES_MAX = 64 * 1024 };

static const char REPAIR_HELP[] = "Usage: cairn repair --from SOURCE [OPTION]...\n"
				  "Give a running server the xorbs that it has lost and that files need. SOURCE is\n"
				  "a data folder (which may be another running server's), a backup or a folder of\n"
				  "them (cairn backup), or a pack (cairn pack). The command verifies each xorb, and\n"
				  "the server verifies it again. Prints a line for each restored xorb. To find\n"
				  "damage that nobody noticed yet, scrub first: cairn scrub. Needs a token with\n"
				  "the scope admin.\n"
				  "\n"
				  "      --from SOURCE      folder or file with copies\n" SERVER_OPTIONS_HELP
				  "  -q, --quiet            no progress bar\n"
				  "      --json             one JSON object, for programs\n"
				  "  -h, --help             this help\n"
				  "\n"
				  "Examples:\n"
				  "  cairn repair --from /backup/monday.fold\n"
				  "\n"
				  "Exit codes: 0 nothing is lost now, 64 usage, 65 some are still lost, or\n"
				  "SOURCE is damaged, 66 no such SOURCE, 69 server unavailable, 74 input/output\n"
				  "error, 77 not permitted.\n";

struct repair {
	struct client *client;
	struct cairn_buf lost; /* sorted array of struct cairn_hash: lost xorbs that a file needs */
	bool *back;            /* which of these are back; owned */
	size_t n, n_back;
	uint64_t n_damaged; /* number of damaged copies */
	uint64_t total_bytes, done_bytes, sent_bytes;
	struct report report;
	struct progress progress;
};

static void repair_fini(struct repair *r)
{
	cairn_buf_fini(&r->lost);
	free(r->back);
}

static int repair_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct cairn_hash));
}

static const struct cairn_hash *repair_hashes(const struct repair *r)
{
	return (const struct cairn_hash *)(const void *)r->lost.bytes;
}

/* Notes the lost xorbs of a page. @return false: the answer lacks a member */
static bool repair_note_page(struct repair *r, const struct cairn_json *page, uint64_t *next)
{
	const struct cairn_json *rows = cairn_json_get(page, "xorbs");
	if (!cairn_json_is_array(rows))
		return false;
	for (size_t i = 0; i < cairn_json_count(rows); i++) {
		const struct cairn_json *row = cairn_json_at(rows, i);
		const char *text = cairn_json_text_of(row, "hash");
		struct cairn_hash hash;
		bool needed = false;
		uint64_t bytes;
		if (!text || cairn_hash_parse(&hash, text, strlen(text)) != CAIRN_OK ||
		    !cairn_json_bool_of(row, "needed", &needed) || !admin_number(row, "unpacked_bytes", &bytes))
			return false;
		if (!needed)
			continue;
		cairn_buf_add(&r->lost, &hash, sizeof(hash));
		r->total_bytes += bytes;
	}
	if (!admin_number(page, "next", next))
		*next = 0;
	return true;
}

static enum cairn_status repair_ask(struct repair *r, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf answer = cairn_buf_init(REPAIR_PAGE_BYTES_MAX);
	uint64_t next = 0;
	do {
		CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
		char path[64];
		(void)snprintf(path, sizeof(path), "/v1/lost-xorbs?after=%" PRIu64, next);
		enum cairn_status status = client_request(r->client, CLIENT_GET, path, NULL, 0, &answer, diag);
		if (status != CAIRN_OK)
			return status;
		if (client_json(&json, &answer) != CAIRN_OK || !repair_note_page(r, json, &next))
			return cairn_fail(diag, CAIRN_E_BUSY, "server.answer", CAIRN_NO_OFFSET,
					  "the answer is no list of xorbs: is the server older than this program?");
	} while (next != 0);
	if (r->lost.status != CAIRN_OK)
		return r->lost.status;
	r->n = r->lost.len / sizeof(struct cairn_hash);
	if (r->n == 0)
		return CAIRN_OK;
	qsort(r->lost.bytes, r->n, sizeof(struct cairn_hash), repair_compare);
	r->back = calloc(r->n, sizeof(*r->back));
	return r->back ? CAIRN_OK : CAIRN_E_NOMEM;
}

static bool *repair_find(const struct repair *r, const struct cairn_hash *xorb)
{
	const struct cairn_hash *hashes = repair_hashes(r);
	const struct cairn_hash *at = bsearch(xorb, hashes, r->n, sizeof(*hashes), repair_compare);
	return at ? &r->back[at - hashes] : NULL;
}

static bool repair_wants(void *ctx, const struct cairn_hash *xorb)
{
	const bool *back = repair_find(ctx, xorb);
	return back && !*back;
}

/* Verifies a copy. @return CAIRN_OK: the copy is sound; CAIRN_E_NOMEM; otherwise it is damaged */
static enum cairn_status repair_is_sound(const struct cairn_hash *xorb, const uint8_t *bytes, size_t len,
					 struct cairn_xorb_summary *summary)
{
	size_t n_data;
	CLEANUP(cairn_xorb_verifier_freep)
	struct cairn_xorb_verifier *v = cairn_xorb_verifier_new(&CAIRN_XORB_UPLOAD_OPTIONS);
	if (!v)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_xorb_verifier_feed(v, bytes, len, &n_data, NULL);
	return status == CAIRN_OK ? cairn_xorb_verifier_end(v, xorb, summary, NULL) : status;
}

static void repair_report(struct repair *r, const struct cairn_hash *xorb)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, xorb);
	progress_clear(&r->progress);
	if (r->report.is_json) {
		cairn_json_put_text(&r->report.json, NULL, text);
		report_flush(&r->report);
	} else {
		cli_line("repaired %s", text);
	}
}

static enum cairn_status repair_take(void *ctx, const struct cairn_hash *xorb, const uint8_t *bytes, size_t len,
				     struct cairn_diag *diag)
{
	struct repair *r = ctx;
	CLEANUP(cairn_buf_fini) struct cairn_buf answer = cairn_buf_init(REPAIR_ANSWER_BYTES_MAX);
	struct cairn_xorb_summary summary;
	char text[CAIRN_HASH_TEXT_BYTES], path[128];
	enum cairn_status status = repair_is_sound(xorb, bytes, len, &summary);
	if (status == CAIRN_E_NOMEM)
		return status;
	if (status != CAIRN_OK) {
		r->n_damaged++;
		return CAIRN_OK;
	}
	cairn_hash_text(text, xorb);
	(void)snprintf(path, sizeof(path), "/v1/xorbs/default/%s", text);
	status = client_request(r->client, CLIENT_POST, path, bytes, len, &answer, diag);
	if (status != CAIRN_OK)
		return status;
	*repair_find(r, xorb) = true;
	r->n_back++;
	r->sent_bytes += len;
	r->done_bytes += summary.unpacked_bytes;
	repair_report(r, xorb);
	progress_draw(&r->progress, r->done_bytes, r->sent_bytes);
	return CAIRN_OK;
}

static void repair_print_left(struct repair *r)
{
	for (size_t i = 0; i < r->n; i++) {
		char text[CAIRN_HASH_TEXT_BYTES];
		cairn_hash_text(text, &repair_hashes(r)[i]);
		if (r->back[i])
			continue;
		if (r->report.is_json)
			cairn_json_put_text(&r->report.json, NULL, text);
		else
			cli_line("lost %s", text);
		report_flush(&r->report);
	}
}

static void repair_print_sums(struct repair *r, const char *from, enum cairn_status status,
			      const struct cairn_diag *diag)
{
	if (!r->report.is_json) {
		repair_print_left(r);
		cli_line("%zu xorbs that files need were lost: %zu repaired, %zu still lost; %" PRIu64
			 " copies in the source are damaged, too",
			 r->n, r->n_back, r->n - r->n_back, r->n_damaged);
		return;
	}
	cairn_json_close(&r->report.json);
	cairn_json_open_array(&r->report.json, "lost");
	repair_print_left(r);
	cairn_json_close(&r->report.json);
	cairn_json_put_u64(&r->report.json, "damaged_copies", r->n_damaged);
	cairn_json_put_u64(&r->report.json, "sent_bytes", r->sent_bytes);
	if (status != CAIRN_OK)
		report_error(&r->report, from, status, diag, cli_exit_of(status));
	cairn_json_close(&r->report.json);
}

static int repair_from(struct repair *r, const char *from, bool quiet, bool json)
{
	CLEANUP(repair_source_fini) struct repair_source source = {.fd = -1};
	struct cairn_diag diag = {0};
	const struct repair_taker taker = {repair_wants, repair_take, r};
	enum cairn_status status = repair_source_open(&source, from, &diag);
	if (status != CAIRN_OK)
		return cli_fail(from, status, &diag);
	status = repair_ask(r, &diag);
	if (status != CAIRN_OK)
		return cli_fail("repair", status, &diag);
	report_init(&r->report, json);
	progress_init(&r->progress, !quiet, r->total_bytes, "sent");
	if (json) {
		cairn_json_open_object(&r->report.json, NULL);
		cairn_json_open_array(&r->report.json, "repaired");
	}
	if (r->n > 0)
		status = repair_source_each(&source, repair_hashes(r), r->n, &taker, &diag);
	progress_clear(&r->progress);
	repair_print_sums(r, from, status, &diag);
	int code = r->n_back < r->n ? CLI_EXIT_DATA : CLI_EXIT_OK;
	return report_end(&r->report, status == CAIRN_OK ? code : cli_fail(from, status, &diag));
}

static int repair_run(const struct cli_command *command, int argc, char **argv)
{
	struct server_options server = {0};
	/* bounded by a server's lost xorbs */
	CLEANUP(repair_fini) struct repair r = {.lost = cairn_buf_init(SIZE_MAX)};
	CLEANUP(client_freep) struct client *client = NULL;
	struct cairn_diag diag = {0};
	const char *from = NULL;
	bool quiet = false, json = false;
	int first = 0;
	const struct cli_option options[] = {
		SERVER_OPTIONS(&server), {"from", NULL, &from}, {"quiet", &quiet, NULL}, {"json", &json, NULL}};
	int end = cli_options_read(command, options, sizeof(options) / sizeof(options[0]), argc, argv, &first);
	if (end != CLI_RUN)
		return end;
	if (first != argc || !from)
		return cli_usage_error(command, "give --from SOURCE, and no arguments");
	enum cairn_status status = server_options_open(&server, &client, &diag);
	r.client = client;
	return status == CAIRN_OK ? repair_from(&r, from, quiet || server.verbose, json)
				  : cli_fail("repair", status, &diag);
}

const struct cli_command CLI_REPAIR = {"repair", "bring lost xorbs back to a server, from a copy", REPAIR_HELP,
				       repair_run};
