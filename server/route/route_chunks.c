/* GET /v1/chunks/{prefix}/{hash}: what a client may deduplicate against. */
#include "server/app.h"

#include "base/clock.h"
#include "base/decimal.h"
#include "server/route/route_args.h"
#include "server/route/route_job.h"
#include "server/route/routes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNKS_MAX_AGE_S = 3600 }; /* xorbs that come in later are to be found, too */

static void chunks_release(void *answer)
{
	cairn_answer_unref(answer);
}

static void chunks_set_caching(struct http_request *req, const struct cairn_answer *answer)
{
	static const char HOW[] = "private, max-age=";
	int64_t left_s = answer->epoch_ends_unix_s - cairn_clock_unix_s();
	int64_t max_age_s = left_s < CHUNKS_MAX_AGE_S ? left_s : CHUNKS_MAX_AGE_S;
	char value[sizeof(HOW) + CAIRN_DECIMAL_TEXT_MAX];
	memcpy(value, HOW, sizeof(HOW) - 1);
	*cairn_decimal_text(value + sizeof(HOW) - 1, (uint64_t)(max_age_s > 0 ? max_age_s : 0)) = '\0';
	http_reply_header(req, "Cache-Control", value);
	http_reply_header(req, "ETag", answer->etag);
}

struct chunks_request {
	struct route_job job;
	struct cairn_index_screen screen;
	struct cairn_hash chunk;
	enum cairn_status status;
	const struct cairn_answer *answer; /* owned; NULL: none, or it is on its way */
};

static void chunks_free(void *state)
{
	struct chunks_request *c = state;
	cairn_answer_unref(c->answer);
	free(c);
}

static void chunks_query(struct route_job *job)
{
	struct chunks_request *c = (struct chunks_request *)job;
	struct cairn_cas_who who = auth_who(http_identity(job->req));
	c->status = cairn_cas_query(job->app->cas, &who, &c->chunk, &c->answer);
}

static void chunks_reply_answer(struct http_request *req, struct chunks_request *c)
{
	const struct cairn_answer *answer = c->answer;
	const char *known = http_header(req, "If-None-Match");
	c->answer = NULL;
	chunks_set_caching(req, answer);
	if (known && strstr(known, answer->etag)) {
		cairn_answer_unref(answer);
		http_reply_empty(req, 304, UINT64_MAX);
		return;
	}
	http_reply_bytes(req, 200, "application/octet-stream", answer->bytes, answer->len, chunks_release,
			 (void *)(uintptr_t)answer);
}

static void chunks_reply(struct http_request *req, struct route_job *job)
{
	struct chunks_request *c = (struct chunks_request *)job;
	if (c->status == CAIRN_OK)
		chunks_reply_answer(req, c);
	else if (c->status == CAIRN_E_NOT_FOUND)
		http_reply_empty(req, 404, UINT64_MAX); /* the commonest answer there is: clients look at the status */
	else
		http_reply_status(req, c->status, NULL);
}

/* Misses need no worker. */
static void chunks_screened(struct cairn_index_screen *screen)
{
	struct chunks_request *c = (struct chunks_request *)((char *)screen - offsetof(struct chunks_request, screen));
	c->status = screen->status;
	if (screen->status == CAIRN_OK)
		route_job_hand_over(&c->job);
	else
		http_resume(c->job.req);
}

/* Where the index is on another machine, nothing that is in memory waits for it, and what others ask goes along. */
static void chunks_ask_far(struct http_request *req, const struct cairn_hash *chunk)
{
	struct chunks_request *c = route_job_new(req, sizeof(*c), chunks_query, chunks_reply);
	if (!c)
		return;
	struct cairn_cas *cas = c->job.app->cas;
	struct cairn_cas_who who = auth_who(http_identity(req));
	c->chunk = *chunk;
	c->job.for_reply = true;
	c->answer = cairn_cas_query_kept(cas, &who, chunk);
	c->screen.done = chunks_screened;
	if (c->answer)
		chunks_reply_answer(req, c);
	else if (route_job_wait(req) && !cairn_cas_screen(cas, &who, chunk, &c->screen))
		route_job_hand_over(&c->job);
}

static void chunks_get(struct http_request *req)
{
	struct chunks_request c = {.job = {.run = chunks_query, .reply = chunks_reply}};
	if (!route_prefix(req, "default-merkledb") || !route_hash(req, &c.chunk))
		return;
	if (cairn_cas_is_remote(app_of(req)->cas))
		chunks_ask_far(req, &c.chunk);
	else
		route_ask(req, &c.job, sizeof(c));
}

const struct http_route ROUTES_CHUNKS[] = {
	{.method = "GET",
	 .pattern = "/v1/chunks/{prefix}/{hash}",
	 .older = (const char *const[]){"/chunks/{prefix}/{hash}", "/chunk/{prefix}/{hash}", NULL},
	 .name = "chunks",
	 .scope = CAIRN_TOKEN_READ,
	 .done = chunks_get,
	 .free = chunks_free},
	{0},
};
