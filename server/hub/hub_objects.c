/* A bucket's contents: GET /api/buckets/{namespace}/{name}/tree, …/tree/{prefix}, POST …/paths-info, POST …/batch. */
#include "base/percent.h"
#include "server/ask/hub_reply.h"
#include "server/ask/hub_repo.h"
#include "server/hub/hub_routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OBJECTS_BODY_BYTES_MAX = 8 << 20,    /* enough for 1,000 paths with every byte escaped */
	OBJECTS_ANSWER_BYTES_MAX = 16 << 20, /* enough for OBJECTS_PATHS_MAX entries */
	OBJECTS_PATHS_MAX = 1000,
	OBJECTS_ESCAPED_BYTES = 3 * CAIRN_INDEX_PATH_MAX + 1,
};

struct objects_request {
	struct hub_repo bucket;
	struct cairn_hub_operations operations; /* of a batch; owned */
	bool recursive, nothing; /* of a tree; nothing: the prefix is not a valid path, so the tree is empty */
	char prefix[CAIRN_INDEX_PATH_MAX + 1];
	char from[CAIRN_INDEX_PATH_MAX + 1];
	char next[CAIRN_INDEX_PATH_MAX + 1];
};

static void objects_free(void *state)
{
	struct objects_request *o = state;
	if (!o)
		return;
	cairn_hub_operations_fini(&o->operations);
	hub_repo_fini(&o->bucket);
	free(o);
}

static struct objects_request *objects_new(struct http_request *req, void (*run)(struct hub_call *call),
					   void (*show)(struct http_request *req, struct hub_call *call))
{
	struct objects_request *o = hub_repo_new(req, sizeof(*o), CAIRN_INDEX_BUCKET, run, show);
	if (!o)
		return NULL;
	o->bucket.namespace = http_path_arg(req, "namespace");
	o->bucket.name = http_path_arg(req, "name");
	o->bucket.call.answer = cairn_buf_init(OBJECTS_ANSWER_BYTES_MAX);
	return o;
}

static void objects_put_file(struct cairn_json_out *w, const char *path, const struct cairn_index_object *object)
{
	char hash[CAIRN_HASH_TEXT_BYTES], when[HUB_TIME_BYTES];
	cairn_hash_text(hash, &object->file);
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "type", "file");
	cairn_json_put_text(w, "path", path);
	cairn_json_put_u64(w, "size", object->size_bytes);
	cairn_json_put_text(w, "xetHash", hash);
	if (object->has_mtime)
		cairn_json_put_text(w, "mtime", hub_time(when, object->mtime_unix_ms));
	cairn_json_put_text(w, "uploadedAt", hub_time(when, object->uploaded_unix_ms));
	cairn_json_close(w);
}

/* --- tree --------------------------------------------------------------------------------------------------------- */

static void objects_visit(void *ctx, const struct cairn_hub_entry *entry)
{
	struct cairn_json_out *w = ctx;
	char when[HUB_TIME_BYTES];
	if (entry->object) {
		objects_put_file(w, entry->path, entry->object);
		return;
	}
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "type", "directory");
	cairn_json_put_text(w, "path", entry->path);
	cairn_json_put_text(w, "uploadedAt", hub_time(when, entry->uploaded_unix_ms));
	cairn_json_close(w);
}

static void objects_list(struct hub_call *call)
{
	struct objects_request *o = (struct objects_request *)call;
	if (!hub_repo_find(&o->bucket, CAIRN_HUB_READ))
		return;
	struct cairn_json_out w = cairn_json_out_init(&call->answer);
	cairn_json_open_array(&w, NULL);
	if (!o->nothing)
		call->status = cairn_hub_list_bucket(&call->job.app->hub, &o->bucket.repo, o->prefix, o->recursive,
						     o->from, objects_visit, &w, o->next);
	cairn_json_close(&w);
}

static void objects_show_list(struct http_request *req, struct hub_call *call)
{
	const struct objects_request *o = (const struct objects_request *)call;
	char prefix[OBJECTS_ESCAPED_BYTES], cursor[OBJECTS_ESCAPED_BYTES];
	cairn_percent_encode(prefix, o->prefix, CAIRN_PERCENT_UNRESERVED);
	cairn_percent_encode(cursor, o->next, CAIRN_PERCENT_UNRESERVED);
	if (!o->next[0] || hub_reply_next(req, "%s/api/buckets/%s/%s/tree%s%s?recursive=%s&cursor=%s", o->bucket.base,
					  o->bucket.repo.account_name, o->bucket.repo.name, *prefix ? "/" : "", prefix,
					  o->recursive ? "true" : "false", cursor))
		hub_repo_show(req, call);
}

static bool objects_says_no(const char *value)
{
	return value && (strcmp(value, "0") == 0 || strcasecmp(value, "false") == 0);
}

static void objects_get(struct http_request *req, const char *prefix)
{
	const char *cursor = http_query_arg(req, "cursor");
	struct objects_request *o = objects_new(req, objects_list, objects_show_list);
	if (!o)
		return;
	o->recursive = !objects_says_no(http_query_arg(req, "recursive"));
	o->nothing = !cairn_percent_decode(o->prefix, sizeof(o->prefix), prefix) ||
		     (cursor && strlen(cursor) > CAIRN_INDEX_PATH_MAX);
	if (cursor && !o->nothing)
		(void)snprintf(o->from, sizeof(o->from), "%s", cursor);
	route_job_start(req);
}

static void objects_get_all(struct http_request *req)
{
	objects_get(req, "");
}

static void objects_get_some(struct http_request *req)
{
	objects_get(req, http_path_arg(req, "prefix"));
}

/* --- paths-info --------------------------------------------------------------------------------------------------- */

static enum cairn_status objects_put_path(struct objects_request *o, struct cairn_json_out *w, const char *path)
{
	struct cairn_index_object object;
	struct cairn_diag unsaid = {0};
	enum cairn_status status =
		cairn_hub_find_object(&o->bucket.call.job.app->hub, &o->bucket.repo, path, &object, &unsaid);
	if (status == CAIRN_OK)
		objects_put_file(w, path, &object);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static void objects_write_found(struct hub_call *call)
{
	struct objects_request *o = (struct objects_request *)call;
	if (!hub_repo_find(&o->bucket, CAIRN_HUB_READ))
		return;
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json_list(&o->bucket.body);
	const struct cairn_json *paths = cairn_json_get(json, "paths");
	if (!cairn_json_is_array(paths) || cairn_json_count(paths) > OBJECTS_PATHS_MAX) {
		call->status = cairn_fail(&call->diag, CAIRN_E_USAGE, "paths.body", CAIRN_NO_OFFSET,
					  "send {\"paths\":[PATH, ...]}, with at most %d of them", OBJECTS_PATHS_MAX);
		return;
	}
	struct cairn_json_out w = cairn_json_out_init(&call->answer);
	cairn_json_open_array(&w, NULL);
	for (size_t i = 0; i < cairn_json_count(paths) && call->status == CAIRN_OK; i++) {
		const char *path = cairn_json_string(cairn_json_at(paths, i));
		if (path)
			call->status = objects_put_path(o, &w, path);
	}
	cairn_json_close(&w);
}

static void objects_paths_head(struct http_request *req)
{
	hub_repo_begin_in(req, objects_new(req, objects_write_found, hub_repo_show), CAIRN_HUB_READ);
}

/* --- batch -------------------------------------------------------------------------------------------------------- */

static void objects_put_batch(struct objects_request *o, uint32_t n_failed)
{
	const struct cairn_hub_operations *all = &o->operations;
	struct cairn_json_out w = cairn_json_out_init(&o->bucket.call.answer);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_bool(&w, "success", n_failed == 0);
	cairn_json_put_u64(&w, "processed", all->n);
	cairn_json_put_u64(&w, "succeeded", all->n - n_failed);
	cairn_json_open_array(&w, "failed");
	for (uint32_t i = 0; i < all->n; i++) {
		if (!all->all[i].fault)
			continue;
		cairn_json_open_object(&w, NULL);
		cairn_json_put_text(&w, "path", all->all[i].change.path);
		cairn_json_put_text(&w, "error", all->all[i].fault);
		cairn_json_close(&w);
	}
	cairn_json_close(&w);
	cairn_json_close(&w);
	o->bucket.code = n_failed > 0 && n_failed == all->n ? 422 : 200;
}

static void objects_change(struct hub_call *call)
{
	struct objects_request *o = (struct objects_request *)call;
	const struct cairn_body *body = &o->bucket.body.in;
	uint32_t n_failed = 0;
	if (!hub_repo_find(&o->bucket, CAIRN_HUB_WRITE))
		return;
	call->status = cairn_hub_operations_read(&o->operations, (const char *)body->bytes, body->len, &call->diag);
	if (call->status == CAIRN_OK)
		call->status = cairn_hub_change_bucket(&call->job.app->hub, &call->asker, &o->bucket.repo,
						       &o->operations, &n_failed, &call->diag);
	if (call->status == CAIRN_OK)
		objects_put_batch(o, n_failed);
}

static void objects_batch_head(struct http_request *req)
{
	hub_repo_begin_in(req, objects_new(req, objects_change, hub_repo_show), CAIRN_HUB_WRITE);
}

const struct http_route ROUTES_OBJECTS[] = {
	HUB_GET("/api/buckets/{namespace}/{name}/tree", "bucket-tree", objects_get_all, objects_free),
	HUB_GET("/api/buckets/{namespace}/{name}/tree/{prefix*}", "bucket-tree", objects_get_some, objects_free),
	HUB_POST("/api/buckets/{namespace}/{name}/paths-info", "bucket-paths-info", OBJECTS_BODY_BYTES_MAX,
		 objects_paths_head, hub_repo_done, objects_free),
	HUB_POST("/api/buckets/{namespace}/{name}/batch", "bucket-batch", OBJECTS_BODY_BYTES_MAX, objects_batch_head,
		 hub_repo_done, objects_free),
	{0},
};
