/* Plans to reconstruct files: GET /v1/reconstructions/{hash}, /v2/reconstructions/{hash},
 * /v1/reconstructions?file_id=..., and the last one also as POST with a list of files. */
#include "server/ask/range_header.h"
#include "server/ask/route_args.h"
#include "server/ask/route_body.h"
#include "server/ask/route_job.h"
#include "server/ask/route_spill.h"
#include "server/ask/route_table.h"
#include "server/route/plan_json.h"
#include "server/route/routes.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PLAN_BATCH_MAX = 256, /* most files of a batch; a longer query might not fit in the head of a request */
	PLAN_BASE_URL_BYTES = 1024,
	PLAN_POST_BYTES_MAX = 64 * 1024, /* 256 files, and room for other members */
};

/* A request for plans. They are made at once, or on a worker because large plans take long. */
struct plan_request {
	struct route_job job;
	enum { PLAN_V1, PLAN_V2, PLAN_BATCH } form;
	char base[PLAN_BASE_URL_BYTES];
	struct cairn_byte_range range;
	size_t n_files;
	struct route_body body; /* body of a POST */
	bool is_posted;
	bool bad_file;    /* a file_id is not a hash, or there are too many */
	uint64_t n_terms; /* terms of the plans made so far */
	struct cairn_hash files[PLAN_BATCH_MAX];
	enum cairn_status status;
	uint64_t file_bytes;
	struct cairn_spill out;
};

static void plan_free(void *state)
{
	struct plan_request *p = state;
	if (!p)
		return;
	cairn_spill_fini(&p->out);
	route_body_fini(&p->body);
	free(p);
}

static void plan_write(struct plan_request *p, const struct cairn_plan *plans)
{
	struct plan_urls urls = {
		.cas = p->job.app->cas,
		.base = p->base,
		.store_life_s = p->job.app->config.fetch_from_store ? atomic_load(&p->job.app->live.fetch_ttl_s) : 0,
		.expires_unix_s = cairn_clock_unix_s() + (int64_t)atomic_load(&p->job.app->live.fetch_ttl_s),
		.ranges_max = (unsigned)atomic_load(&p->job.app->live.fetch_ranges_max),
	};
	switch (p->form) {
	case PLAN_V1:
		plan_write_v1(&p->out, plans, &urls);
		break;
	case PLAN_V2:
		plan_write_v2(&p->out, plans, &urls);
		break;
	case PLAN_BATCH:
		plan_write_batch(&p->out, p->files, plans, p->n_files, p->range.kind != CAIRN_RANGE_ALL, &urls);
		break;
	}
	cairn_spill_finish(&p->out);
}

/* Does a batch leave out this file: is it missing, or does it end before the range? If all do, none is left out. */
static bool plan_leaves_out(const struct plan_request *p)
{
	return p->form == PLAN_BATCH && (p->status == CAIRN_E_NOT_FOUND || p->status == CAIRN_E_LIMIT);
}

/* Makes the plans of a request. @param plans  room for n_files; the first *n are made */
static void plan_make(struct plan_request *p, struct cairn_plan *plans, size_t *n)
{
	bool past_end = false;
	for (size_t i = 0; i < p->n_files; i++) {
		if (route_job_is_idle(&p->job)) {
			p->status = CAIRN_E_BUSY;
			return;
		}
		p->status =
			cairn_cas_plan(p->job.app->cas, route_job_viewer(&p->job), &p->files[i], &p->range, &plans[*n]);
		p->file_bytes = plans[*n].file_bytes;
		past_end = past_end || p->status == CAIRN_E_LIMIT;
		if (plan_leaves_out(p))
			continue;
		if (p->status != CAIRN_OK)
			return;
		p->n_terms += plans[*n].n_terms;
		p->files[(*n)++] = p->files[i];
		if (*n > 1 && p->n_terms > p->job.app->config.terms_max) {
			p->status = CAIRN_E_USAGE;
			return;
		}
	}
	p->status = *n == 0 && past_end ? CAIRN_E_LIMIT : CAIRN_OK;
	p->n_files = *n;
}

static bool plan_add_file(void *ctx, const char *value)
{
	struct plan_request *p = ctx;
	p->bad_file = p->n_files == PLAN_BATCH_MAX || !value ||
		      cairn_hash_parse(&p->files[p->n_files], value, strlen(value)) != CAIRN_OK;
	for (size_t i = 0; !p->bad_file && i < p->n_files; i++)
		if (cairn_hash_equal(&p->files[i], &p->files[p->n_files]))
			return true; /* a repeated file is answered once */
	p->n_files += !p->bad_file;
	return !p->bad_file;
}

/* Reads the files of a POST: [{"prefix":"default","hash":HASH}, ...] (source: protocol document 1.1.0). */
static void plan_take_posted(struct plan_request *p)
{
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json_list(&p->body);
	p->bad_file = !cairn_json_is_array(json) || cairn_json_count(json) == 0;
	for (size_t i = 0; !p->bad_file && i < cairn_json_count(json); i++)
		(void)plan_add_file(p, cairn_json_text_of(cairn_json_at(json, i), "hash"));
}

static void plan_run(struct route_job *job)
{
	struct plan_request *p = (struct plan_request *)job;
	if (p->is_posted)
		plan_take_posted(p);
	if (p->bad_file)
		return;
	struct cairn_plan *plans = calloc(p->n_files, sizeof(*plans));
	size_t n = 0;
	if (plans)
		plan_make(p, plans, &n);
	else
		p->status = CAIRN_E_NOMEM;
	if (p->status == CAIRN_OK)
		plan_write(p, plans);
	while (n > 0)
		cairn_plan_fini(&plans[--n]);
	free(plans);
}

/* Refuses a batch with too many terms, because all its plans are in memory together. */
static void plan_reply_many_terms(struct http_request *req, const struct plan_request *p)
{
	struct cairn_diag diag = {0};
	(void)cairn_fail(&diag, CAIRN_E_USAGE, "file_id", CAIRN_NO_OFFSET,
			 "the files have more terms together than fit one answer; ask for fewer files at once");
	cairn_diag_numbers(&diag, p->job.app->config.terms_max, p->n_terms);
	http_reply_error(req, 400, diag.rule, diag.text, &diag);
}

static void plan_reply(struct http_request *req, struct route_job *job)
{
	struct plan_request *p = (struct plan_request *)job;
	if (p->bad_file) {
		http_reply_error(
			req, 400, "file_id",
			"send a list of 1 to 256 files, [{\"prefix\":\"default\",\"hash\":HASH}, ...], each with the "
			"64 digits of a file hash",
			NULL);
	} else if (p->status == CAIRN_OK) {
		http_reply_header(req, "Cache-Control", "private, no-store");
		route_reply_spill(req, &p->out, 200, "application/json");
	} else if (p->status == CAIRN_E_LIMIT) {
		char range[64];
		(void)snprintf(range, sizeof(range), "bytes */%" PRIu64, p->file_bytes);
		http_reply_header(req, "Content-Range", range);
		http_reply_error(req, 416, "range.past_end", "the range starts past the end of the file", NULL);
	} else if (p->status == CAIRN_E_USAGE) {
		plan_reply_many_terms(req, p);
	} else {
		route_reply_no_file(req, p->status);
	}
}

static struct plan_request *plan_new(struct http_request *req)
{
	if (!route_xorbs_kept_here(req))
		return NULL;
	struct plan_request *p = route_job_new(req, sizeof(*p), plan_run, plan_reply);
	if (!p)
		return NULL;
	p->job.for_reply = true;
	http_base_url(req, p->base, sizeof(p->base));
	route_spill_init(&p->out, req);
	return p;
}

/* Reads the Range header. Absent or meaningless: the whole file. @return false: several ranges; a 400 was replied */
static bool plan_take_range(struct http_request *req, struct plan_request *p)
{
	if (range_header_parse(&p->range, 1, http_header(req, "Range")) <= 1)
		return true;
	http_reply_error(req, 400, "range.many", "ask for one range at a time", NULL);
	return false;
}

/* Makes a small plan at once, if the index is local: a worker would cost more. @return false: it is not small */
static bool plan_at_once(struct http_request *req, struct plan_request *p)
{
	struct cairn_plan plan;
	if (p->range.kind != CAIRN_RANGE_ALL || cairn_cas_is_remote(p->job.app->cas))
		return false;
	p->status = cairn_cas_plan_small(p->job.app->cas, route_job_viewer(&p->job), &p->files[0], &plan);
	if (p->status == CAIRN_E_BUSY)
		return false;
	if (p->status == CAIRN_OK)
		plan_write(p, &plan);
	cairn_plan_fini(&plan);
	plan_reply(req, &p->job);
	return true;
}

static void plan_one(struct http_request *req, int form)
{
	struct cairn_hash hash;
	if (!route_hash(req, &hash))
		return;
	struct plan_request *p = plan_new(req);
	if (!p)
		return;
	p->form = form;
	p->files[0] = hash;
	p->n_files = 1;
	if (plan_take_range(req, p) && !plan_at_once(req, p))
		route_job_start(req);
}

static void plan_v1(struct http_request *req)
{
	plan_one(req, PLAN_V1);
}

static void plan_v2(struct http_request *req)
{
	plan_one(req, PLAN_V2);
}

static void plan_batch(struct http_request *req)
{
	struct plan_request *p = plan_new(req);
	if (!p)
		return;
	p->form = PLAN_BATCH;
	http_query_each(req, "file_id", plan_add_file, p);
	if (p->bad_file || p->n_files == 0)
		http_reply_error(req, 400, "file_id",
				 "give 1 to 256 arguments file_id, each with the 64 digits of a file hash", NULL);
	else if (plan_take_range(req, p))
		route_job_start(req);
}

static void plan_post_head(struct http_request *req)
{
	struct plan_request *p = plan_new(req);
	if (!p)
		return;
	p->form = PLAN_BATCH;
	p->is_posted = true;
	if (plan_take_range(req, p))
		(void)route_body_begin(req, &p->body);
}

static void plan_post_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct plan_request *p = http_state(req);
	route_body_add(req, &p->body, bytes, len);
}

static void plan_post_done(struct http_request *req)
{
	struct plan_request *p = http_state(req);
	route_body_start(req, &p->body);
}

const struct http_route ROUTES_RECONSTRUCTIONS[] = {
	{.method = "GET",
	 .pattern = "/v1/reconstructions/{hash}",
	 .older = (const char *const[]){"/reconstructions/{hash}", "/reconstruction/{hash}", NULL},
	 .name = "reconstructions-v1",
	 .scope = CAIRN_TOKEN_READ,
	 .done = plan_v1,
	 .free = plan_free},
	ROUTE_GET("/v2/reconstructions/{hash}", "reconstructions-v2", CAIRN_TOKEN_READ, plan_v2, plan_free),
	{.method = "GET",
	 .pattern = "/v1/reconstructions",
	 .older = (const char *const[]){"/reconstructions", NULL},
	 .name = "reconstructions-batch",
	 .scope = CAIRN_TOKEN_READ,
	 .done = plan_batch,
	 .free = plan_free},
	{.method = "POST",
	 .pattern = "/v1/reconstructions",
	 .older = (const char *const[]){"/reconstructions", NULL},
	 .name = "reconstructions-batch",
	 .scope = CAIRN_TOKEN_READ,
	 .body_max = PLAN_POST_BYTES_MAX,
	 .head = plan_post_head,
	 .body = plan_post_body,
	 .done = plan_post_done,
	 .free = plan_free},
	{0},
};
