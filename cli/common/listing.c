#include "cli/common/listing.h"

#include "base/decimal.h"
#include "cli/common/admin.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	LISTING_PAGE_ROWS = 512,
	LISTING_PAGE_BYTES_MAX = 4 * 1024 * 1024,
	LISTING_PATH_BYTES_MAX = 4096,
	LISTING_NEXT_BYTES_MAX = 1024,
};

struct listing_state {
	const struct listing *listing;
	struct client *client;
	struct report report;
	uint64_t left; /* rows still to list */
	char next[LISTING_NEXT_BYTES_MAX];
	bool begun, more;
	bool is_partial; /* the server's last page said that rows may be missing */
};

/* Begins the output. @param page  the first page; NULL: none came */
static bool listing_begin(struct listing_state *l, const struct cairn_json *page)
{
	bool good = true;
	if (l->begun)
		return true;
	l->begun = true;
	if (l->report.is_json)
		cairn_json_open_object(&l->report.json, NULL);
	if (l->listing->begin && page)
		good = l->listing->begin(&l->report, page);
	if (l->report.is_json)
		cairn_json_open_array(&l->report.json, l->listing->name);
	return good;
}

/* Prints a page. Even an empty page may name a next page, but not itself. @return false: the answer lacks a member */
static bool listing_print_page(struct listing_state *l, const struct cairn_json *page)
{
	const struct cairn_json *rows = cairn_json_get(page, l->listing->name);
	const char *next = cairn_json_text_of(page, "next");
	size_t n = cairn_json_count(rows);
	if (!listing_begin(l, page) || !cairn_json_is_array(rows) ||
	    (next && n == 0 && l->more && strcmp(next, l->next) == 0))
		return false;
	for (size_t i = 0; i < n && l->left > 0; i++, l->left--) {
		if (!l->listing->print(&l->report, cairn_json_at(rows, i)))
			return false;
		report_flush(&l->report);
	}
	bool complete = true;
	(void)cairn_json_bool_of(page, "complete", &complete);
	l->is_partial = l->is_partial || !complete;
	l->more = next && snprintf(l->next, sizeof(l->next), "%s", next) < (int)sizeof(l->next);
	return l->more || !next;
}

static enum cairn_status listing_page(struct listing_state *l, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf path = cairn_buf_init(LISTING_PATH_BYTES_MAX);
	CLEANUP(cairn_buf_fini) struct cairn_buf answer = cairn_buf_init(LISTING_PAGE_BYTES_MAX);
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	cairn_buf_printf(&path, "%s?limit=%" PRIu64, l->listing->path,
			 l->left < LISTING_PAGE_ROWS ? l->left : LISTING_PAGE_ROWS);
	if (l->listing->value)
		admin_add_arg(&path, l->listing->arg, l->listing->value);
	admin_add_arg(&path, "lost", l->listing->is_lost ? "1" : NULL);
	admin_add_arg(&path, "after", l->more ? l->next : NULL);
	const char *target = admin_path(&path);
	if (!target)
		return CAIRN_E_NOMEM;
	enum cairn_status status = client_request(l->client, CLIENT_GET, target, NULL, 0, &answer, diag);
	if (status != CAIRN_OK)
		return status;
	if (client_json(&json, &answer) != CAIRN_OK || !listing_print_page(l, json))
		return cairn_fail(diag, CAIRN_E_BUSY, "server.answer", CAIRN_NO_OFFSET,
				  "the answer is no list of %s: is it a server of another kind?", l->listing->name);
	return CAIRN_OK;
}

static int listing_all(struct listing_state *l)
{
	struct cairn_diag diag = {0};
	bool json = l->listing->is_json;
	report_init(&l->report, json);
	enum cairn_status status;
	do {
		status = listing_page(l, &diag);
	} while (status == CAIRN_OK && l->more && l->left > 0);
	(void)listing_begin(l, NULL);
	if (json) {
		cairn_json_close(&l->report.json);
		if (status != CAIRN_OK)
			report_error(&l->report, l->listing->command, status, &diag, cli_exit_of(status));
		else
			cairn_json_put_bool(&l->report.json, "more", l->more);
		if (status == CAIRN_OK && l->listing->is_lost)
			cairn_json_put_bool(&l->report.json, "complete", !l->is_partial);
		cairn_json_close(&l->report.json);
	}
	if (l->is_partial)
		cli_note("lost files may be missing from this list: the server has more than it keeps, or still looks "
			 "for them");
	return report_end(&l->report, status == CAIRN_OK ? CLI_EXIT_OK : cli_fail(l->listing->command, status, &diag));
}

int listing_run(const struct cli_command *command, const struct server_options *server, const struct listing *listing)
{
	struct listing_state l = {.listing = listing, .left = UINT64_MAX};
	struct cairn_diag diag = {0};
	if (listing->limit && !cairn_decimal_parse(listing->limit, 1, UINT64_MAX, &l.left))
		return cli_usage_error(command, "--limit takes a number from 1 on");
	CLEANUP(client_freep) struct client *client = NULL;
	enum cairn_status status = server_options_open(server, &client, &diag);
	if (status == CAIRN_OK)
		client_hurry(client);
	l.client = client;
	return status == CAIRN_OK ? listing_all(&l) : cli_fail(listing->command, status, &diag);
}
