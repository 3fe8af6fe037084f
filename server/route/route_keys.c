/* API keys, with which clients get tokens from the hub's endpoints: POST and GET /v1/keys, DELETE /v1/keys/{id}. */
#include "base/base64.h"
#include "base/json.h"
#include "hash/crypto.h"
#include "index/operate.h"
#include "server/route/api_key.h"
#include "server/route/route_job.h"
#include "server/route/spill.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_BODY_BYTES_MAX = 4096 };

struct keys_request {
	struct route_job job;
	struct cairn_buf body; /* of the request, then of the answer */
	struct spill list;     /* the answer, when it has all keys */
	int64_t id;
	enum cairn_status status;
	unsigned n;
	char key[API_KEY_TEXT_BYTES];
	struct cairn_index_key row;
};

static void keys_free(void *state)
{
	struct keys_request *k = state;
	if (!k)
		return;
	explicit_bzero(k->key, sizeof(k->key));
	cairn_buf_fini(&k->body);
	spill_fini(&k->list);
	free(k);
}

static void keys_reply(struct http_request *req, struct route_job *job)
{
	struct keys_request *k = (struct keys_request *)job;
	enum cairn_status status = k->status != CAIRN_OK ? k->status : k->body.status;
	if (status == CAIRN_E_NOT_FOUND) {
		http_reply_error(req, 404, "key.unknown", "there is no key of this number", NULL);
	} else if (status != CAIRN_OK) {
		http_reply_status(req, status, NULL);
	} else {
		http_reply_header(req, "Cache-Control", "no-store");
		http_reply_bytes(req, 200, "application/json", k->body.bytes, k->body.len, free, k->body.bytes);
		k->body = cairn_buf_init(0);
	}
}

/* What may be told of a key: everything but the key. */
static void keys_write(struct cairn_json_out *w, const struct cairn_index_key *row)
{
	cairn_json_put_u64(w, "id", (uint64_t)row->id);
	cairn_json_put_text(w, "name", row->name);
	cairn_json_put_text(w, "repo", row->repo);
	cairn_json_put_text(w, "scope", row->scopes);
}

/* --- making one --------------------------------------------------------------------------------------------------- */

static uint64_t keys_body_max(void *app)
{
	(void)app;
	return KEYS_BODY_BYTES_MAX;
}

static void keys_make(struct route_job *job)
{
	struct keys_request *k = (struct keys_request *)job;
	struct cairn_index_write add = {.kind = CAIRN_INDEX_ADD_KEY};
	k->status = api_key_make(k->key);
	if (k->status == CAIRN_OK)
		k->status = api_key_digest(k->key, add.key.digest);
	if (k->status != CAIRN_OK)
		return;
	add.key.name = k->row.name;
	add.key.repo = k->row.repo;
	add.key.scopes = k->row.scopes;
	k->status = cairn_index_write(cairn_cas_index(job->app->cas), &add);
	k->row.id = add.key.id;
	k->body.len = 0;
	struct cairn_json_out w = cairn_json_out_init(&k->body);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "key", k->key);
	keys_write(&w, &k->row);
	cairn_json_close(&w);
	cairn_buf_add(&k->body, "\n", 1);
}

static void keys_post_head(struct http_request *req)
{
	struct keys_request *k = route_job_new(req, sizeof(*k), keys_make, keys_reply);
	if (k)
		k->body = cairn_buf_init(KEYS_BODY_BYTES_MAX);
}

static void keys_post_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct keys_request *k = http_state(req);
	cairn_buf_add(&k->body, bytes, len);
}

static bool keys_take_text(char *out, size_t out_len, const struct cairn_json *json, const char *name,
			   const char *otherwise)
{
	const struct cairn_json *value = cairn_json_get(json, name);
	const char *text = value ? cairn_json_string(value) : otherwise;
	int n = text ? snprintf(out, out_len, "%s", text) : -1;
	return n >= 0 && (size_t)n < out_len;
}

static void keys_post_done(struct http_request *req)
{
	struct keys_request *k = http_state(req);
	CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
	char repo[sizeof(k->row.repo)];
	bool ok = k->body.status == CAIRN_OK && k->body.len > 0 &&
		  cairn_json_parse(&json, (const char *)k->body.bytes, k->body.len) == CAIRN_OK &&
		  keys_take_text(k->row.name, sizeof(k->row.name), json, "name", NULL) && k->row.name[0] &&
		  keys_take_text(repo, sizeof(repo), json, "repo", "") &&
		  keys_take_text(k->row.scopes, sizeof(k->row.scopes), json, "scope", "read");
	if (!ok || !api_key_repo(k->row.repo, sizeof(k->row.repo), repo) || api_key_scopes(k->row.scopes) == 0) {
		http_reply_error(req, 400, "key.body",
				 "send {\"name\":TEXT,\"repo\":\"namespace/name\",\"scope\":\"read write\"}; repo may "
				 "be left out, "
				 "scope is of read, write and admin",
				 NULL);
		return;
	}
	route_job_start(req);
}

/* --- listing and revoking ------------------------------------------------------------------------------------------
 */

struct keys_list {
	struct keys_request *k;
	struct cairn_json_out w;
};

static void keys_visit(void *ctx, const struct cairn_index_key *row)
{
	struct keys_list *list = ctx;
	cairn_json_open_object(&list->w, NULL);
	keys_write(&list->w, row);
	cairn_json_put_u64(&list->w, "created", (uint64_t)row->created_unix_s);
	cairn_json_put_bool(&list->w, "revoked", row->revoked_unix_s != 0);
	cairn_json_close(&list->w);
	spill_check(&list->k->list);
}

static void keys_list(struct route_job *job)
{
	struct keys_request *k = (struct keys_request *)job;
	struct keys_list list = {.k = k, .w = cairn_json_out_init(&k->list.buf)};
	int64_t from_id = 0;
	cairn_json_open_object(&list.w, NULL);
	cairn_json_open_array(&list.w, "keys");
	do {
		k->status = cairn_index_each_key(cairn_cas_index(job->app->cas), from_id, CAIRN_INDEX_PAGE_MAX,
						 keys_visit, &list, &from_id);
	} while (k->status == CAIRN_OK && from_id != 0);
	cairn_json_close(&list.w);
	cairn_json_close(&list.w);
	cairn_buf_add(&k->list.buf, "\n", 1);
	spill_finish(&k->list);
}

static void keys_reply_list(struct http_request *req, struct route_job *job)
{
	struct keys_request *k = (struct keys_request *)job;
	if (k->status != CAIRN_OK) {
		http_reply_status(req, k->status, NULL);
		return;
	}
	http_reply_header(req, "Cache-Control", "no-store");
	spill_reply(&k->list, req, 200, "application/json");
}

static void keys_get(struct http_request *req)
{
	struct keys_request *k = route_job_new(req, sizeof(*k), keys_list, keys_reply_list);
	if (!k)
		return;
	spill_init(&k->list, cairn_cas_tmp_dir(k->job.app->cas), k->job.app->config.plan_bytes_max);
	route_job_start(req);
}

static void keys_revoke(struct route_job *job)
{
	struct keys_request *k = (struct keys_request *)job;
	struct cairn_index_write revoke = {.kind = CAIRN_INDEX_REVOKE_KEY, .key = {.id = k->id}};
	k->status = cairn_index_write(cairn_cas_index(job->app->cas), &revoke);
	cairn_buf_printf(&k->body, "{\"revoked\":%s}\n", revoke.added ? "true" : "false");
}

static void keys_delete(struct http_request *req)
{
	char *end;
	const char *text = http_path_arg(req, "id");
	int64_t id = strtoll(text, &end, 10);
	if (*end || id <= 0) {
		http_reply_error(req, 400, "key.id", "a key is named by its number, as GET /v1/keys lists it", NULL);
		return;
	}
	struct keys_request *k = route_job_new(req, sizeof(*k), keys_revoke, keys_reply);
	if (!k)
		return;
	k->id = id;
	k->body = cairn_buf_init(KEYS_BODY_BYTES_MAX);
	route_job_start(req);
}

const struct http_route ROUTES_KEYS[] = {
	{.method = "POST",
	 .pattern = "/v1/keys",
	 .name = "keys",
	 .scope = CAIRN_TOKEN_ADMIN,
	 .body_max = keys_body_max,
	 .head = keys_post_head,
	 .body = keys_post_body,
	 .done = keys_post_done,
	 .free = keys_free},
	{.method = "GET",
	 .pattern = "/v1/keys",
	 .name = "keys",
	 .scope = CAIRN_TOKEN_ADMIN,
	 .done = keys_get,
	 .free = keys_free},
	{.method = "DELETE",
	 .pattern = "/v1/keys/{id}",
	 .name = "keys",
	 .scope = CAIRN_TOKEN_ADMIN,
	 .done = keys_delete,
	 .free = keys_free},
	{0},
};
