/* Manages the API keys that get tokens from the hub's endpoints: POST and GET /v1/keys, DELETE /v1/keys/{id}. */
#include "base/clock.h"
#include "base/decimal.h"
#include "base/json.h"
#include "cas/service/keys.h"
#include "server/ask/route_body.h"
#include "server/ask/route_job.h"
#include "server/ask/route_spill.h"
#include "server/ask/route_table.h"
#include "server/route/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_BODY_BYTES_MAX = 4096, KEYS_SCOPES_BYTES_MAX = 63 };

#define KEYS_LIFE_S_MAX (INT64_C(36500) * 86400)

struct keys_request {
	struct route_job job;
	struct route_body body;
	struct cairn_buf answer;
	struct cairn_spill list; /* the answer of GET, which lists the keys */
	int64_t id;
	int64_t life_s; /* lifetime of the new key; 0: no expiry */
	enum cairn_status status;
	char name[CAIRN_KEY_NAME_MAX + 1], repo[CAIRN_KEY_NAME_MAX + 1], scopes[KEYS_SCOPES_BYTES_MAX + 1],
		account[CAIRN_KEY_NAME_MAX + 1];
};

static void keys_free(void *state)
{
	struct keys_request *k = state;
	if (!k)
		return;
	route_body_fini(&k->body);
	cairn_buf_fini(&k->answer);
	cairn_spill_fini(&k->list);
	free(k);
}

static void keys_reply(struct http_request *req, struct route_job *job)
{
	struct keys_request *k = (struct keys_request *)job;
	enum cairn_status status = k->status != CAIRN_OK ? k->status : k->answer.status;
	if (status == CAIRN_E_NOT_FOUND) {
		http_reply_error(req, 404, "key.unknown", "there is no key of this number", NULL);
	} else if (status != CAIRN_OK) {
		http_reply_status(req, status, NULL);
	} else {
		http_reply_header(req, "Cache-Control", "no-store");
		http_reply_buf(req, 200, "application/json", &k->answer);
	}
}

static struct keys_request *keys_new(struct http_request *req, void (*run)(struct route_job *job))
{
	struct keys_request *k = route_job_new(req, sizeof(*k), run, keys_reply);
	if (k)
		k->answer = cairn_buf_init(KEYS_BODY_BYTES_MAX);
	return k;
}

static void keys_write(struct cairn_json_out *w, const struct cairn_key *key)
{
	cairn_json_put_u64(w, "id", (uint64_t)key->id);
	cairn_json_put_text(w, "name", key->name);
	cairn_json_put_text(w, "repo", key->repo);
	cairn_json_put_text(w, "scope", key->scopes);
	cairn_json_put_text(w, "account", key->account);
	cairn_json_put_u64(w, "expires", (uint64_t)key->expires_unix_s);
}

static void keys_make(struct route_job *job)
{
	struct keys_request *k = (struct keys_request *)job;
	char text[CAIRN_KEY_TEXT_BYTES], repo[CAIRN_KEY_NAME_MAX + 1];
	struct cairn_key key = {.name = k->name, .repo = k->repo, .scopes = k->scopes, .account = k->account};
	key.expires_unix_s = k->life_s ? cairn_clock_unix_s() + k->life_s : 0;
	k->status = cairn_cas_make_key(job->app->cas, &key, repo, text, &key.id);
	if (k->status != CAIRN_OK)
		return;
	key.repo = repo;
	struct cairn_json_out w = cairn_json_out_init(&k->answer);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "key", text);
	keys_write(&w, &key);
	cairn_json_close(&w);
	cairn_buf_add(&k->answer, "\n", 1);
	explicit_bzero(text, sizeof(text));
}

static void keys_reply_bad_body(struct http_request *req)
{
	http_reply_error(req, 400, "key.body",
			 "send a name, a scope of read, write and admin, and, if needed, account, repo "
			 "(NAMESPACE/NAME) and expires_s, up to 100 years",
			 NULL);
}

static void keys_reply_made(struct http_request *req, struct route_job *job)
{
	enum cairn_status status = ((struct keys_request *)job)->status;
	if (status == CAIRN_E_USAGE)
		keys_reply_bad_body(req);
	else if (status == CAIRN_E_NOT_FOUND)
		http_reply_error(req, 404, "account.unknown", "there is no account of this name", NULL);
	else
		keys_reply(req, job);
}

static void keys_post_head(struct http_request *req)
{
	struct keys_request *k = keys_new(req, keys_make);
	if (!k)
		return;
	k->job.reply = keys_reply_made;
	(void)route_body_begin(req, &k->body);
}

static void keys_post_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct keys_request *k = http_state(req);
	route_body_add(req, &k->body, bytes, len);
}

/* Reads the lifetime of a key. Absent: it does not expire. */
static bool keys_take_life(int64_t *out, const struct cairn_json *json)
{
	const struct cairn_json *value = cairn_json_get(json, "expires_s");
	*out = 0;
	return !value || (cairn_json_i64(value, out) && *out >= 1 && *out <= KEYS_LIFE_S_MAX);
}

static void keys_post_done(struct http_request *req)
{
	struct keys_request *k = http_state(req);
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json(&k->body);
	bool ok = json && cairn_json_copy_of(json, "name", NULL, k->name, sizeof(k->name)) &&
		  cairn_json_copy_of(json, "repo", "", k->repo, sizeof(k->repo)) &&
		  cairn_json_copy_of(json, "account", "", k->account, sizeof(k->account)) &&
		  cairn_json_copy_of(json, "scope", "read", k->scopes, sizeof(k->scopes)) &&
		  keys_take_life(&k->life_s, json);
	/* An empty name is probably a mistake. It does not ask for any repository, or for an operator's key. */
	if (!ok || (cairn_json_get(json, "repo") && !k->repo[0]) || (cairn_json_get(json, "account") && !k->account[0]))
		keys_reply_bad_body(req);
	else
		route_job_start(req);
}

struct keys_list {
	struct keys_request *k;
	struct cairn_json_out w;
};

static void keys_visit(void *ctx, const struct cairn_key *key)
{
	struct keys_list *list = ctx;
	cairn_json_open_object(&list->w, NULL);
	keys_write(&list->w, key);
	cairn_json_put_u64(&list->w, "created", (uint64_t)key->created_unix_s);
	cairn_json_put_u64(&list->w, "used", (uint64_t)key->used_unix_s);
	cairn_json_put_bool(&list->w, "revoked", key->revoked);
	cairn_json_close(&list->w);
	cairn_spill_check(&list->k->list);
}

static void keys_list(struct route_job *job)
{
	struct keys_request *k = (struct keys_request *)job;
	struct keys_list list = {.k = k, .w = cairn_json_out_init(&k->list.buf)};
	cairn_json_open_object(&list.w, NULL);
	cairn_json_open_array(&list.w, "keys");
	k->status = cairn_cas_each_key(job->app->cas, keys_visit, &list);
	cairn_json_close(&list.w);
	cairn_json_close(&list.w);
	cairn_buf_add(&k->list.buf, "\n", 1);
	cairn_spill_finish(&k->list);
}

static void keys_reply_list(struct http_request *req, struct route_job *job)
{
	struct keys_request *k = (struct keys_request *)job;
	if (k->status != CAIRN_OK) {
		http_reply_status(req, k->status, NULL);
		return;
	}
	http_reply_header(req, "Cache-Control", "no-store");
	route_reply_spill(req, &k->list, 200, "application/json");
}

static void keys_get(struct http_request *req)
{
	struct keys_request *k = route_job_new(req, sizeof(*k), keys_list, keys_reply_list);
	if (!k)
		return;
	route_spill_init(&k->list, req);
	route_job_start(req);
}

static void keys_revoke(struct route_job *job)
{
	struct keys_request *k = (struct keys_request *)job;
	bool revoked;
	k->status = cairn_cas_revoke_key(job->app->cas, k->id, &revoked);
	cairn_buf_printf(&k->answer, "{\"revoked\":%s}\n", revoked ? "true" : "false");
}

static void keys_delete(struct http_request *req)
{
	uint64_t id;
	if (!cairn_decimal_parse(http_path_arg(req, "id"), 1, INT64_MAX, &id)) {
		http_reply_error(req, 400, "key.id", "a key is named by its number, as GET /v1/keys lists it", NULL);
		return;
	}
	struct keys_request *k = keys_new(req, keys_revoke);
	if (!k)
		return;
	k->id = (int64_t)id;
	route_job_start(req);
}

const struct http_route ROUTES_KEYS[] = {
	ROUTE_BODY_POST("/v1/keys", "keys", CAIRN_TOKEN_ADMIN, KEYS_BODY_BYTES_MAX, keys_post_head, keys_post_body,
			keys_post_done, keys_free),
	ROUTE_GET("/v1/keys", "keys", CAIRN_TOKEN_ADMIN, keys_get, keys_free),
	ROUTE_DELETE("/v1/keys/{id}", "keys", CAIRN_TOKEN_ADMIN, keys_delete, keys_free),
	{0},
};
