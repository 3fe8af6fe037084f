/* POST /v1/packs: moves xorbs into a pack, in the background. GET /v1/packs: lists the packs, and shows progress. */
#include "server/ask/packing.h"

#include "server/ask/route_job.h"
#include "server/ask/route_table.h"
#include "server/route/routes.h"

#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PACKS_AGE_MAX_S (INT64_C(100) * 366 * 86400)

enum { PACKS_JSON_BYTES_MAX = 256 * 1024 };

static bool packs_take_age(struct http_request *req, int64_t *out)
{
	uint64_t age_s = 0;
	bool good = http_query_number(req, "older_than_s", 0, PACKS_AGE_MAX_S, &age_s);
	*out = (int64_t)age_s;
	if (!good)
		http_reply_error(req, 400, "pack.age", "older_than_s is a number of seconds, at most 100 years", NULL);
	return good;
}

static void packs_post(struct http_request *req)
{
	int64_t older_than_s;
	uint64_t id = 0;
	const char *name = http_query_arg(req, "name");
	if (!name || !cairn_cas_is_pack_name(name)) {
		http_reply_error(
			req, 400, "pack.name",
			"name the pack that is to be made: letters, digits, \"-\", \"_\", \".\", and .shard at the end",
			NULL);
		return;
	}
	if (!packs_take_age(req, &older_than_s))
		return;
	enum cairn_status status = packs_begin(app_of(req), name, older_than_s, &id);
	char json[64];
	(void)snprintf(json, sizeof(json), "{\"job\":%" PRIu64 "}\n", id);
	if (status == CAIRN_OK)
		http_reply_json(req, 202, json);
	else if (status == CAIRN_E_CONFLICT)
		http_reply_error(req, 409, "pack.running", "a packing is under way already; try again later", NULL);
	else
		http_reply_status(req, status, NULL);
}

struct packs_request {
	struct route_job job;
	enum cairn_status status;
	struct cairn_buf text;
	struct cairn_json_out json;
};

static void packs_put(void *ctx, const struct cairn_store_pack *pack)
{
	struct cairn_json_out *json = ctx;
	cairn_json_open_object(json, NULL);
	cairn_json_put_text(json, "name", pack->name);
	cairn_json_put_u64(json, "bytes", pack->file_bytes);
	cairn_json_put_u64(json, "objects", pack->n_objects);
	cairn_json_put_text(json, "fault", pack->fault ? pack->fault->rule : NULL);
	cairn_json_close(json);
}

static void packs_put_job(struct cairn_json_out *json)
{
	struct packs_state job;
	packs_state(&job);
	bool failed = !job.running && job.status != CAIRN_OK;
	cairn_json_open_object(json, "job");
	cairn_json_put_u64(json, "id", job.id);
	cairn_json_put_text(json, "name", job.name);
	cairn_json_put_bool(json, "running", job.running);
	cairn_json_put_u64(json, "total_bytes", job.report.total_bytes);
	cairn_json_put_u64(json, "bytes", job.report.bytes_packed);
	cairn_json_put_u64(json, "xorbs", job.report.n_packed);
	cairn_json_put_bool(json, "durable", job.report.durable);
	cairn_json_put_u64(json, "moved", job.report.n_moved);
	cairn_json_put_text(json, "code",
			    !failed         ? NULL
			    : job.diag.rule ? job.diag.rule
					    : cairn_status_name(job.status));
	cairn_json_put_text(json, "message",
			    !failed         ? NULL
			    : job.diag.rule ? job.diag.text
					    : cairn_status_name(job.status));
	cairn_json_close(json);
}

static void packs_list(struct route_job *job)
{
	struct packs_request *p = (struct packs_request *)job;
	p->text = cairn_buf_init(PACKS_JSON_BYTES_MAX);
	p->json = cairn_json_out_init(&p->text);
	cairn_json_open_object(&p->json, NULL);
	cairn_json_open_array(&p->json, "packs");
	p->status = cairn_cas_each_pack(job->app->cas, packs_put, &p->json);
	cairn_json_close(&p->json);
	packs_put_job(&p->json);
	cairn_json_close(&p->json);
	cairn_buf_add(&p->text, "\n", 2);
	if (p->status == CAIRN_OK)
		p->status = p->text.status;
}

static void packs_reply(struct http_request *req, struct route_job *job)
{
	const struct packs_request *p = (const struct packs_request *)job;
	if (p->status == CAIRN_OK)
		http_reply_json(req, 200, (const char *)p->text.bytes);
	else
		http_reply_status(req, p->status, NULL);
}

static void packs_free(void *state)
{
	struct packs_request *p = state;
	if (p)
		cairn_buf_fini(&p->text);
	free(p);
}

static void packs_get(struct http_request *req)
{
	if (route_job_new(req, sizeof(struct packs_request), packs_list, packs_reply))
		route_job_start(req);
}

const struct http_route ROUTES_PACKS[] = {
	ROUTE_POST("/v1/packs", "packs-make", CAIRN_TOKEN_ADMIN, packs_post, NULL),
	ROUTE_GET("/v1/packs", "packs", CAIRN_TOKEN_ADMIN, packs_get, packs_free),
	{0},
};
