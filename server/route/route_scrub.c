/* The scrub: GET /v1/scrub, POST /v1/scrub/start and /v1/scrub/pause. The xorbs to repair: GET /v1/lost-xorbs. */
#include "base/json.h"
#include "cas/object/lost.h"
#include "cas/service/jobs.h"
#include "server/ask/route_args.h"
#include "server/ask/route_job.h"
#include "server/ask/route_table.h"
#include "server/route/routes.h"
#include "server/scrub.h"

#include <stdlib.h>

enum {
	SCRUB_JSON_BYTES_MAX = 4096,
	LOST_JSON_BYTES_MAX = 128 * 1024,
	SCRUB_WITHIN_S_MAX = 1000 * 86400,
};

/* Writes a pass as a member; null if there is none. @param name of the member */
static void scrub_put_pass(struct cairn_json_out *w, const char *name, const struct scrub_pass *p)
{
	const struct {
		const char *name;
		int64_t value;
	} numbers[] = {
		{"started", p->started_unix_s},
		{"within_s", p->within_s},
		{"total_bytes", p->total_bytes},
		{"bytes", p->bytes},
		{"xorbs", p->xorbs},
		{"damaged", p->damaged},
		{"mended", p->mended},
		{"lost", p->lost},
		{"unread", p->unread},
	};
	if (p->started_unix_s == 0) {
		cairn_json_put_text(w, name, NULL);
		return;
	}
	cairn_json_open_object(w, name);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		cairn_json_put_u64(w, numbers[i].name, (uint64_t)numbers[i].value);
	if (p->ended_unix_s != 0) {
		cairn_json_put_u64(w, "ended", (uint64_t)p->ended_unix_s);
		cairn_json_put_bool(w, "whole", p->whole != 0);
	}
	cairn_json_close(w);
}

static void scrub_reply(struct http_request *req)
{
	static const char *const STATES[] = {
		[SCRUB_OFF] = "off",
		[SCRUB_WAITING] = "waiting",
		[SCRUB_RUNNING] = "running",
		[SCRUB_PAUSED] = "paused",
	};
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(SCRUB_JSON_BYTES_MAX);
	struct cairn_json_out w = cairn_json_out_init(&text);
	struct scrub_status s;
	scrub_status(app_of(req), &s);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "state", STATES[s.state]);
	cairn_json_put_u64(&w, "period_s", (uint64_t)s.period_s);
	cairn_json_put_u64(&w, "next", (uint64_t)s.next_unix_s);
	cairn_json_put_text(&w, "daemon", s.daemon[0] ? s.daemon : NULL);
	scrub_put_pass(&w, "now", &s.kept.now);
	scrub_put_pass(&w, "last", &s.kept.last);
	cairn_json_close(&w);
	cairn_buf_add(&text, "\n", 1);
	http_reply_header(req, "Cache-Control", "no-store");
	route_reply_made(req, CAIRN_OK, &text);
}

static void scrub_get(struct http_request *req)
{
	scrub_reply(req);
}

/* An order to the scrub. It is stored in the index if several daemons share it, otherwise set in memory. */
struct scrub_order {
	struct route_job job;
	bool start;
	int64_t within_s;
	enum cairn_status status;
	struct cairn_diag diag;
};

static void scrub_order_run(struct route_job *job)
{
	struct scrub_order *o = (struct scrub_order *)job;
	o->status = o->start ? scrub_start(job->app, o->within_s, &o->diag) : scrub_pause(job->app, &o->diag);
}

static void scrub_order_reply(struct http_request *req, struct route_job *job)
{
	const struct scrub_order *o = (const struct scrub_order *)job;
	if (o->status == CAIRN_OK)
		scrub_reply(req);
	else
		http_reply_status(req, o->status == CAIRN_E_CONFLICT ? CAIRN_E_BUSY : o->status,
				  o->diag.rule ? &o->diag : NULL);
}

static void scrub_give_order(struct http_request *req, bool start, int64_t within_s)
{
	struct scrub_order *o = route_job_new(req, sizeof(*o), scrub_order_run, scrub_order_reply);
	if (!o)
		return;
	o->start = start;
	o->within_s = within_s;
	if (cairn_cas_is_shared(o->job.app->cas)) {
		route_job_start(req);
		return;
	}
	scrub_order_run(&o->job);
	scrub_order_reply(req, &o->job);
}

static void scrub_post_start(struct http_request *req)
{
	uint64_t within_s = 0; /* 0: absent */
	if (!route_xorbs_kept_here(req))
		return;
	if (!http_query_number(req, "within", 1, SCRUB_WITHIN_S_MAX, &within_s)) {
		http_reply_error(req, 400, "scrub.within", "within is a number of seconds, at most 1000 days", NULL);
		return;
	}
	scrub_give_order(req, true, (int64_t)within_s);
}

static void scrub_post_pause(struct http_request *req)
{
	if (route_xorbs_kept_here(req))
		scrub_give_order(req, false, 0);
}

struct lost_request {
	struct route_job job;
	int64_t after, next;
	struct cairn_buf text;
	struct cairn_json_out json;
	enum cairn_status status;
};

static void lost_free(void *state)
{
	struct lost_request *l = state;
	if (l)
		cairn_buf_fini(&l->text);
	free(l);
}

static void lost_put(void *ctx, const struct cairn_lost_xorb *xorb)
{
	struct lost_request *l = ctx;
	char text[CAIRN_HASH_TEXT_BYTES];
	cairn_hash_text(text, &xorb->hash);
	cairn_json_open_object(&l->json, NULL);
	cairn_json_put_text(&l->json, "hash", text);
	cairn_json_put_u64(&l->json, "unpacked_bytes", xorb->unpacked_bytes);
	cairn_json_put_bool(&l->json, "needed", xorb->needed);
	cairn_json_close(&l->json);
}

static void lost_run(struct route_job *job)
{
	struct lost_request *l = (struct lost_request *)job;
	l->json = cairn_json_out_init(&l->text);
	cairn_json_open_object(&l->json, NULL);
	cairn_json_open_array(&l->json, "xorbs");
	l->status = cairn_cas_each_lost(job->app->cas, l->after, lost_put, l, &l->next);
	cairn_json_close(&l->json);
	if (l->next != 0)
		cairn_json_put_u64(&l->json, "next", (uint64_t)l->next);
	else
		cairn_json_put_text(&l->json, "next", NULL);
	cairn_json_close(&l->json);
	cairn_buf_add(&l->text, "\n", 2);
	if (l->status == CAIRN_OK)
		l->status = l->text.status;
}

static void lost_reply(struct http_request *req, struct route_job *job)
{
	const struct lost_request *l = (const struct lost_request *)job;
	if (l->status != CAIRN_OK) {
		http_reply_status(req, l->status, NULL);
		return;
	}
	http_reply_header(req, "Cache-Control", "no-store");
	http_reply_json(req, 200, (const char *)l->text.bytes);
}

static void lost_get(struct http_request *req)
{
	uint64_t after = 0;
	if (!http_query_number(req, "after", 0, INT64_MAX, &after)) {
		http_reply_error(req, 400, "lost.after", "after is the \"next\" of an earlier answer", NULL);
		return;
	}
	struct lost_request *l = route_job_new(req, sizeof(*l), lost_run, lost_reply);
	if (!l)
		return;
	l->after = (int64_t)after;
	l->text = cairn_buf_init(LOST_JSON_BYTES_MAX);
	l->job.work.lane = CAIRN_LANE_HEAVY;
	l->job.for_reply = true;
	route_job_start(req);
}

const struct http_route ROUTES_SCRUB[] = {
	ROUTE_GET("/v1/scrub", "scrub", CAIRN_TOKEN_ADMIN, scrub_get, NULL),
	ROUTE_POST("/v1/scrub/start", "scrub-start", CAIRN_TOKEN_ADMIN, scrub_post_start, free),
	ROUTE_POST("/v1/scrub/pause", "scrub-pause", CAIRN_TOKEN_ADMIN, scrub_post_pause, free),
	ROUTE_GET("/v1/lost-xorbs", "lost-xorbs", CAIRN_TOKEN_ADMIN, lost_get, lost_free),
	{0},
};
