/* Buckets: POST, GET and DELETE /api/buckets/{namespace}/{name}, GET /api/buckets/{namespace}, PUT …/settings. */
#include "base/percent.h"
#include "server/ask/hub_reply.h"
#include "server/ask/hub_repo.h"
#include "server/hub/hub_routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	BUCKETS_BODY_BYTES_MAX = 16384,
	BUCKETS_URL_BYTES = HUB_BASE_BYTES + 2 * CAIRN_INDEX_REPO_NAME_MAX + 64,
};

struct buckets_request {
	struct hub_repo bucket;
	bool is_private, says_private;
	const char *search; /* the search text of a list; borrowed from the request */
	int64_t from_id, next_id;
};

static void buckets_free(void *state)
{
	struct buckets_request *r = state;
	if (!r)
		return;
	hub_repo_fini(&r->bucket);
	free(r);
}

static struct buckets_request *buckets_new(struct http_request *req, void (*run)(struct hub_call *call),
					   void (*show)(struct http_request *req, struct hub_call *call), bool named)
{
	struct buckets_request *r = hub_repo_new(req, sizeof(*r), CAIRN_INDEX_BUCKET, run, show);
	if (!r)
		return NULL;
	r->bucket.namespace = http_path_arg(req, "namespace");
	r->bucket.name = named ? http_path_arg(req, "name") : NULL;
	return r;
}

static void buckets_begin(struct http_request *req, void (*run)(struct hub_call *call))
{
	struct buckets_request *r = buckets_new(req, run, hub_repo_show, true);
	hub_repo_begin_write(req, r);
}

/* Reads {"private":true}, or {"visibility":"private"}. @return true: one of them is present */
static bool buckets_take_visibility(const struct cairn_json *json, bool *is_private)
{
	const char *visibility = cairn_json_text_of(json, "visibility");
	if (visibility)
		*is_private = strcmp(visibility, "public") != 0;
	return visibility || cairn_json_bool_of(json, "private", is_private);
}

static void buckets_refuse_body(struct http_request *req, const char *expected)
{
	hub_reply_error(req, 400, NULL, "bucket.body", expected);
}

static void buckets_put(struct cairn_json_out *w, const struct cairn_index_repo *repo)
{
	char when[HUB_TIME_BYTES];
	cairn_json_open_object(w, NULL);
	hub_repo_put_id(w, "id", repo);
	cairn_json_put_bool(w, "private", repo->is_private);
	cairn_json_put_text(w, "createdAt", hub_time(when, repo->created_unix_ms));
	cairn_json_put_text(w, "updatedAt", hub_time(when, repo->updated_unix_ms));
	cairn_json_put_u64(w, "size", repo->bytes);
	cairn_json_put_u64(w, "totalFiles", repo->n_files);
	cairn_json_close(w);
}

static void buckets_info(struct hub_call *call)
{
	struct buckets_request *r = (struct buckets_request *)call;
	if (!hub_repo_find(&r->bucket, CAIRN_HUB_SEE))
		return;
	struct cairn_json_out w = cairn_json_out_init(&call->answer);
	buckets_put(&w, &r->bucket.repo);
}

static void buckets_get(struct http_request *req)
{
	if (buckets_new(req, buckets_info, hub_repo_show, true))
		route_job_start(req);
}

/* Writes the answer about a new bucket. Clients that accept an existing bucket read its address in the refusal, too. */
static void buckets_put_made(struct buckets_request *r, enum cairn_status status)
{
	struct hub_repo *b = &r->bucket;
	char url[BUCKETS_URL_BYTES];
	struct cairn_json_out w = cairn_json_out_init(&b->call.answer);
	hub_repo_url(b, url, sizeof(url), "/buckets/", "");
	cairn_json_open_object(&w, NULL);
	if (status != CAIRN_OK) {
		cairn_json_put_text(&w, "error", "A bucket of this name already exists");
		cairn_json_put_text(&w, "code", "repo.known");
		cairn_json_put_text(&w, "request_id", http_request_id(b->call.job.req));
	}
	cairn_json_put_text(&w, "url", url);
	hub_repo_put_id(&w, "name", &b->repo);
	hub_repo_put_id(&w, "id", &b->repo);
	cairn_json_close(&w);
}

static void buckets_make(struct hub_call *call)
{
	struct buckets_request *r = (struct buckets_request *)call;
	struct hub_repo *b = &r->bucket;
	bool is_private = r->says_private ? r->is_private : hub_call_makes_private(call, b->namespace);
	const struct cairn_hub_new_repo bucket = {
		.kind = b->kind, .account = b->namespace, .name = b->name, .is_private = is_private};
	call->status = cairn_hub_make_repo(&call->job.app->hub, &call->asker, &bucket, &b->repo, &call->diag);
	if (call->status != CAIRN_OK && (call->status != CAIRN_E_CONFLICT || b->repo.id == 0))
		return;
	buckets_put_made(r, call->status);
	b->code = call->status == CAIRN_OK ? 200 : 409;
	call->status = CAIRN_OK;
}

static void buckets_post_head(struct http_request *req)
{
	buckets_begin(req, buckets_make);
}

static void buckets_post_done(struct http_request *req)
{
	struct buckets_request *r = http_state(req);
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json(&r->bucket.body);
	r->says_private = buckets_take_visibility(json, &r->is_private);
	if (r->bucket.body.in.len > 0 && !cairn_json_is_object(json))
		buckets_refuse_body(req, "send a JSON object, such as {\"visibility\":\"private\"}, or nothing");
	else if (hub_repo_narrows(json))
		hub_reply_error(req, 400, NULL, "repo.narrow", hub_repo_narrows(json));
	else
		route_job_start(req);
}

static void buckets_visit(void *ctx, const struct cairn_index_repo *repo)
{
	buckets_put(ctx, repo);
}

static void buckets_list(struct hub_call *call)
{
	struct buckets_request *r = (struct buckets_request *)call;
	struct cairn_json_out w = cairn_json_out_init(&call->answer);
	cairn_json_open_array(&w, NULL);
	call->status = cairn_hub_each_repo(&call->job.app->hub, &call->asker, r->bucket.kind, r->bucket.namespace,
					   r->search, r->from_id, buckets_visit, &w, &r->next_id, &call->diag);
	cairn_json_close(&w);
}

static void buckets_show_list(struct http_request *req, struct hub_call *call)
{
	const struct buckets_request *r = (const struct buckets_request *)call;
	char search[3 * 256 + 1] = "";
	if (r->search && strlen(r->search) < 256)
		cairn_percent_encode(search, r->search, CAIRN_PERCENT_UNRESERVED);
	if (r->next_id == 0 || hub_reply_next(req, "%s/api/buckets/%s?search=%s&cursor=%" PRId64, r->bucket.base,
					      r->bucket.namespace, search, r->next_id))
		hub_repo_show(req, call);
}

static void buckets_get_list(struct http_request *req)
{
	struct buckets_request *r = buckets_new(req, buckets_list, buckets_show_list, false);
	if (!r)
		return;
	r->search = http_query_arg(req, "search");
	r->from_id = (int64_t)http_query_number_or_0(req, "cursor", INT64_MAX);
	route_job_start(req);
}

static void buckets_set(struct hub_call *call)
{
	struct buckets_request *r = (struct buckets_request *)call;
	if (hub_repo_find(&r->bucket, CAIRN_HUB_ADMIN))
		call->status = cairn_hub_set_repo(&call->job.app->hub, &call->asker, &r->bucket.repo, &r->is_private,
						  NULL, &call->diag);
	cairn_buf_printf(&call->answer, "{\"private\":%s}", r->is_private ? "true" : "false");
}

static void buckets_settings_head(struct http_request *req)
{
	buckets_begin(req, buckets_set);
}

static void buckets_settings_done(struct http_request *req)
{
	struct buckets_request *r = http_state(req);
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json(&r->bucket.body);
	if (buckets_take_visibility(json, &r->is_private))
		route_job_start(req);
	else
		buckets_refuse_body(req, "send {\"private\":true} or {\"private\":false}");
}

static void buckets_drop(struct hub_call *call)
{
	struct buckets_request *r = (struct buckets_request *)call;
	if (hub_repo_find(&r->bucket, CAIRN_HUB_ADMIN))
		call->status = cairn_hub_drop_repo(&call->job.app->hub, &r->bucket.repo, &call->diag);
}

static void buckets_show_dropped(struct http_request *req, struct hub_call *call)
{
	(void)call;
	http_reply_empty(req, 204, UINT64_MAX);
}

static void buckets_delete(struct http_request *req)
{
	if (buckets_new(req, buckets_drop, buckets_show_dropped, true))
		route_job_start(req);
}

/* Refuses an address with a single name, because buckets have a namespace and a name. */
static void buckets_none(struct hub_call *call)
{
	call->status =
		cairn_fail(&call->diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET, "Repository not found");
}

static void buckets_delete_none(struct http_request *req)
{
	if (buckets_new(req, buckets_none, hub_repo_show, false))
		route_job_start(req);
}

const struct http_route ROUTES_BUCKETS[] = {
	HUB_GET("/api/buckets/{namespace}/{name}", "bucket", buckets_get, buckets_free),
	HUB_POST("/api/buckets/{namespace}/{name}", "bucket", BUCKETS_BODY_BYTES_MAX, buckets_post_head,
		 buckets_post_done, buckets_free),
	HUB_DELETE("/api/buckets/{namespace}/{name}", "bucket", buckets_delete, buckets_free),
	HUB_PUT("/api/buckets/{namespace}/{name}/settings", "bucket-settings", BUCKETS_BODY_BYTES_MAX,
		buckets_settings_head, buckets_settings_done, buckets_free),
	HUB_GET("/api/buckets/{namespace}", "buckets", buckets_get_list, buckets_free),
	HUB_DELETE("/api/buckets/{namespace}", "buckets", buckets_delete_none, buckets_free),
	{0},
};
