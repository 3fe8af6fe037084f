/* GET /v1/chunks/{prefix}/{hash}: returns chunks that a client may deduplicate against. */
#include "cas/serve/query_chunk.h"
#include "server/app.h"

#include "base/clock.h"
#include "base/decimal.h"
#include "server/ask/route_args.h"
#include "server/ask/route_job.h"
#include "server/ask/route_piece.h"
#include "server/route/routes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNKS_MAX_AGE_S = 3600 }; /* limited, so that clients learn of newer xorbs */

static const char CHUNKS_TYPE[] = "application/octet-stream";

static void chunks_release(void *answer)
{
	cairn_answer_unref(answer);
}

/* The kept replies of an answer, valid as long as their headers do not change. */
struct chunks_kept {
	struct cairn_answer_kept kept;
	struct http_kept *whole, *known; /* whole: the answer; known: the 304 for clients that have it */
};

static void chunks_kept_free(struct cairn_answer_kept *kept)
{
	struct chunks_kept *k = (struct chunks_kept *)kept;
	http_kept_free(k->whole);
	http_kept_free(k->known);
	free(k);
}

struct chunks_caching {
	char text[sizeof("private, max-age=") + CAIRN_DECIMAL_TEXT_MAX];
};

static void chunks_caching(struct chunks_caching *out, int64_t max_age_s)
{
	static const char HOW[] = "private, max-age=";
	memcpy(out->text, HOW, sizeof(HOW) - 1);
	*cairn_decimal_text(out->text + sizeof(HOW) - 1, (uint64_t)max_age_s) = '\0';
}

static int64_t chunks_max_age_s(const struct cairn_answer *answer)
{
	int64_t left_s = answer->epoch_ends_unix_s - cairn_clock_unix_s();
	return left_s <= 0 ? 0 : left_s < CHUNKS_MAX_AGE_S ? left_s : CHUNKS_MAX_AGE_S;
}

/* Adds the headers to a reply. @param kept NULL: there was no memory @return false without memory */
static bool chunks_kept_headers(struct http_kept *kept, const struct cairn_answer *answer)
{
	struct chunks_caching caching;
	chunks_caching(&caching, CHUNKS_MAX_AGE_S);
	return kept && http_kept_header(kept, "Cache-Control", caching.text) &&
	       http_kept_header(kept, "ETag", answer->etag);
}

/* Makes the kept replies of an answer. @return NULL without memory */
static const struct chunks_kept *chunks_keep(const struct cairn_answer *answer)
{
	struct chunks_kept *k = (struct chunks_kept *)cairn_answer_kept(answer);
	if (k)
		return k;
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->kept.free = chunks_kept_free;
	k->whole = http_kept_new(CHUNKS_TYPE, answer->bytes, answer->len);
	k->known = http_kept_empty_new(304);
	if (!chunks_kept_headers(k->whole, answer) || !chunks_kept_headers(k->known, answer)) {
		chunks_kept_free(&k->kept);
		return NULL;
	}
	return (struct chunks_kept *)cairn_answer_keep(answer, &k->kept);
}

struct chunks_request {
	struct route_job job;
	struct cairn_index_screen screen;
	struct cairn_hash chunk;
	enum cairn_status status;
	const struct cairn_answer *answer; /* owned; NULL: none, or taken over by the reply */
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
	struct cairn_cas_who who = auth_cas_identity(http_identity(job->req));
	c->status = cairn_cas_query(job->app->cas, &who, &c->chunk, &c->answer);
}

/* Replies with a kept reply if the request allows it. Not in the last hour of an epoch, when the age counts down. */
static bool chunks_reply_kept(struct http_request *req, const struct cairn_answer *answer, bool is_known,
			      int64_t max_age_s)
{
	const struct chunks_kept *k = max_age_s == CHUNKS_MAX_AGE_S && http_is_plain(req) ? chunks_keep(answer) : NULL;
	if (k)
		http_reply_kept(req, is_known ? k->known : k->whole, chunks_release, (void *)(uintptr_t)answer);
	return k != NULL;
}

/* Does the client's list of ETags contain the answer's? The list nearly always has one entry. */
static bool chunks_has_etag(const char *etags, const char *etag)
{
	return etags && (strcmp(etags, etag) == 0 || strstr(etags, etag));
}

static void chunks_reply_answer(struct http_request *req, struct chunks_request *c)
{
	const struct cairn_answer *answer = c->answer;
	bool is_known = chunks_has_etag(http_if_none_match(req), answer->etag);
	int64_t max_age_s = chunks_max_age_s(answer);
	struct chunks_caching caching;
	c->answer = NULL;
	if (http_wants_other_etag(req, answer->etag)) {
		cairn_answer_unref(answer);
		http_reply_other_etag(req);
		return;
	}
	if (chunks_reply_kept(req, answer, is_known, max_age_s))
		return;
	chunks_caching(&caching, max_age_s);
	http_reply_header(req, "Cache-Control", caching.text);
	http_reply_header(req, "ETag", answer->etag);
	if (is_known) {
		cairn_answer_unref(answer);
		http_reply_empty(req, 304, UINT64_MAX);
		return;
	}
	http_reply_bytes(req, 200, CHUNKS_TYPE, answer->bytes, answer->len, chunks_release, (void *)(uintptr_t)answer);
}

static void chunks_reply(struct http_request *req, struct route_job *job)
{
	struct chunks_request *c = (struct chunks_request *)job;
	if (c->status == CAIRN_OK)
		chunks_reply_answer(req, c);
	else if (c->status == CAIRN_E_NOT_FOUND)
		http_reply_miss(req); /* the most frequent answer: clients read only its status */
	else
		http_reply_status(req, c->status, NULL);
}

/* Continues after the screen of known chunks. A chunk that is not there needs no worker. */
static void chunks_screened(struct cairn_index_screen *screen)
{
	struct chunks_request *c = (struct chunks_request *)((char *)screen - offsetof(struct chunks_request, screen));
	c->status = screen->status;
	if (screen->status == CAIRN_OK) {
		route_job_hand_over(&c->job);
		return;
	}
	route_explain_busy(c->job.req);
	http_resume(c->job.req);
}

/* Asks a remote index. Lookups that memory can answer do not wait for it, and concurrent lookups share a batch. */
static void chunks_ask_far(struct http_request *req, const struct cairn_hash *chunk)
{
	struct chunks_request *c = route_job_new(req, sizeof(*c), chunks_query, chunks_reply);
	if (!c)
		return;
	struct cairn_cas *cas = c->job.app->cas;
	struct cairn_cas_who who = auth_cas_identity(http_identity(req));
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
