/* GET /v1/false-claims: lists uploaders' claims of SHA-256 that do not match the bytes. For the operator. */
#include "base/decimal.h"
#include "base/json.h"
#include "cas/keep/proof.h"
#include "server/ask/route_args.h"
#include "server/ask/route_job.h"
#include "server/ask/route_table.h"
#include "server/route/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CLAIMS_LIMIT_DEFAULT = 100,
	CLAIMS_ANSWER_BYTES_MAX = 1024 * 1024, /* one page of rows of at most 1 KiB, and some reserve */
	CLAIMS_DIGEST_DIGITS = 64,
	CLAIMS_NEXT_BYTES = CAIRN_DECIMAL_TEXT_MAX + 1 + CLAIMS_DIGEST_DIGITS + 1 + CAIRN_CAS_OWNER_TEXT_MAX + 1,
};

struct claims_list {
	struct route_job job;
	uint32_t limit;
	bool has_after;
	struct cairn_index_lie after; /* begin after this claim: from the request; then the last row's */
	char owner[CAIRN_CAS_OWNER_TEXT_MAX + 1];
	enum cairn_status status;
	struct cairn_buf buf;
	struct cairn_json_out json;
};

static void claims_free(void *state)
{
	struct claims_list *c = state;
	if (c)
		cairn_buf_fini(&c->buf);
	free(c);
}

static void claims_visit(void *ctx, const struct cairn_index_lie *lie)
{
	struct claims_list *c = ctx;
	char text[CLAIMS_DIGEST_DIGITS + 1];
	cairn_json_open_object(&c->json, NULL);
	cairn_hash_text(text, &lie->file);
	cairn_json_put_text(&c->json, "file", text);
	cairn_json_put_text(&c->json, "repo", lie->shown ? lie->shown : lie->owner);
	cairn_hex_text(text, lie->said, sizeof(lie->said));
	cairn_json_put_text(&c->json, "said", text);
	cairn_hex_text(text, lie->proof, sizeof(lie->proof));
	cairn_json_put_text(&c->json, "sha256", text);
	cairn_json_close(&c->json);
	c->after = *lie;
	(void)snprintf(c->owner, sizeof(c->owner), "%s", lie->owner);
}

/* Writes the last row's "NUMBER:SAID:OWNER", where the next page begins. */
static void claims_put_next(struct claims_list *c, bool more)
{
	char said[CLAIMS_DIGEST_DIGITS + 1], next[CLAIMS_NEXT_BYTES];
	cairn_hex_text(said, c->after.said, sizeof(c->after.said));
	(void)snprintf(next, sizeof(next), "%" PRId64 ":%s:%s", c->after.file_id, said, c->owner);
	cairn_json_put_text(&c->json, "next", more ? next : NULL);
}

static void claims_run(struct route_job *job)
{
	struct claims_list *c = (struct claims_list *)job;
	char owner[sizeof(c->owner)];
	struct cairn_index_lie after = c->after;
	bool more = false;
	memcpy(owner, c->owner, sizeof(owner));
	after.owner = owner;
	c->json = cairn_json_out_init(&c->buf);
	cairn_json_open_object(&c->json, NULL);
	cairn_json_open_array(&c->json, "claims");
	c->status = cairn_cas_each_lie(job->app->cas, c->has_after ? &after : NULL, c->limit, claims_visit, c, &more);
	cairn_json_close(&c->json);
	claims_put_next(c, more);
	cairn_json_close(&c->json);
	cairn_buf_printf(&c->buf, "\n");
}

static void claims_reply(struct http_request *req, struct route_job *job)
{
	struct claims_list *c = (struct claims_list *)job;
	route_reply_made(req, c->status, &c->buf);
}

/* Parses where a page begins. @return false: not a "next" of this server */
static bool claims_take_after(struct claims_list *c, const char *text)
{
	uint64_t id;
	if (!text)
		return true;
	if (!cairn_decimal_read(&text, &id) || id > INT64_MAX || *text != ':')
		return false;
	const char *said = text + 1;
	if (strlen(said) <= CLAIMS_DIGEST_DIGITS || said[CLAIMS_DIGEST_DIGITS] != ':' ||
	    cairn_hex_parse(c->after.said, sizeof(c->after.said), said, CLAIMS_DIGEST_DIGITS) != CAIRN_OK)
		return false;
	c->after.file_id = (int64_t)id;
	c->has_after = true;
	int n = snprintf(c->owner, sizeof(c->owner), "%s", said + CLAIMS_DIGEST_DIGITS + 1);
	return n >= 0 && (size_t)n < sizeof(c->owner);
}

static void claims_get(struct http_request *req)
{
	struct claims_list *c = route_job_new(req, sizeof(*c), claims_run, claims_reply);
	if (!c)
		return;
	c->buf = cairn_buf_init(CLAIMS_ANSWER_BYTES_MAX);
	c->job.work.lane = CAIRN_LANE_HEAVY;
	c->job.for_reply = true;
	if (route_limit(req, CLAIMS_LIMIT_DEFAULT, CAIRN_LIES_PAGE_MAX, &c->limit) &&
	    claims_take_after(c, http_query_arg(req, "after")))
		route_job_start(req);
	else
		http_reply_error(req, 400, "claims.argument",
				 "limit is 1 to 512, after is the \"next\" of an earlier answer", NULL);
}

const struct http_route ROUTES_CLAIMS[] = {
	ROUTE_GET("/v1/false-claims", "false-claims", CAIRN_TOKEN_ADMIN, claims_get, claims_free),
	{0},
};
