#include "server/ask/hub_repo.h"

#include "base/clock.h"
#include "hub/stranger.h"
#include "server/ask/hub_mirror.h"
#include "server/ask/hub_reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- kinds -------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name, *segment, *api, *web;
} KINDS[] = {
	[CAIRN_INDEX_MODEL] = {"model", "models", "/api/models/", "/"},
	[CAIRN_INDEX_DATASET] = {"dataset", "datasets", "/api/datasets/", "/datasets/"},
	[CAIRN_INDEX_SPACE] = {"space", "spaces", "/api/spaces/", "/spaces/"},
	[CAIRN_INDEX_BUCKET] = {"bucket", "buckets", "/api/buckets/", "/buckets/"},
	[CAIRN_INDEX_KERNEL] = {"kernel", "kernels", "/api/kernels/", "/kernels/"},
};
enum { REPO_URL_BYTES = HUB_BASE_BYTES + CAIRN_INDEX_ACCOUNT_NAME_MAX + CAIRN_INDEX_REPO_NAME_MAX + 128 };
enum { N_KINDS = sizeof(KINDS) / sizeof(KINDS[0]) };

const char *hub_kind_name(enum cairn_index_repo_kind kind)
{
	return KINDS[kind].name;
}

const char *hub_kind_segment(enum cairn_index_repo_kind kind)
{
	return KINDS[kind].segment;
}

const char *hub_kind_api(enum cairn_index_repo_kind kind)
{
	return KINDS[kind].api;
}

const char *hub_kind_web(enum cairn_index_repo_kind kind)
{
	return KINDS[kind].web;
}

enum cairn_index_repo_kind hub_kind_of_name(const char *name)
{
	for (unsigned i = 1; i < N_KINDS; i++)
		if (strcmp(KINDS[i].name, name) == 0)
			return (enum cairn_index_repo_kind)i;
	return (enum cairn_index_repo_kind)0;
}

enum cairn_index_repo_kind hub_kind_of_segment(const char *segment)
{
	for (unsigned i = 1; i < N_KINDS; i++)
		if (i != CAIRN_INDEX_BUCKET && strcmp(KINDS[i].segment, segment) == 0)
			return (enum cairn_index_repo_kind)i;
	return (enum cairn_index_repo_kind)0;
}

enum cairn_index_repo_kind hub_kind_of_pattern(const struct http_request *req)
{
	const char *pattern = http_pattern(req);
	for (unsigned i = 1; i < N_KINDS; i++)
		if (strncmp(pattern, KINDS[i].api, strlen(KINDS[i].api)) == 0 ||
		    (i != CAIRN_INDEX_MODEL && strncmp(pattern, KINDS[i].web, strlen(KINDS[i].web)) == 0))
			return (enum cairn_index_repo_kind)i;
	return CAIRN_INDEX_MODEL; /* paths of models begin with the account */
}

void *hub_repo_new(struct http_request *req, size_t bytes, enum cairn_index_repo_kind kind,
		   void (*run)(struct hub_call *call), void (*show)(struct http_request *req, struct hub_call *call))
{
	struct hub_repo *r = hub_call_new(req, bytes, run, show);
	if (!r)
		return NULL;
	r->kind = kind;
	r->call.mirrors = kind != 0 && r->call.job.for_reply; /* pages and writing requests do not wait */
	http_base_url(req, r->base, sizeof(r->base));
	return r;
}

bool hub_repo_check_access(struct hub_repo *r, enum cairn_hub_access need)
{
	if ((need <= CAIRN_HUB_READ || hub_call_need_somebody(&r->call)) && hub_call_find_asker(&r->call))
		(void)hub_repo_find(r, need);
	return r->call.status == CAIRN_OK;
}

void hub_repo_begin_in(struct http_request *req, void *state, enum cairn_hub_access need)
{
	struct hub_repo *r = state;
	if (!r)
		return;
	/* The worker checks again. For a short body the early check would cost more than the body. */
	bool is_short = http_content_length(req) <= CAIRN_BODY_MEMORY_BYTES;
	if (!is_short && !hub_repo_check_access(r, need))
		hub_reply_failure(req, &r->call);
	else if (need <= CAIRN_HUB_READ)
		(void)route_body_begin(req, &r->body);
	else
		hub_repo_begin_write(req, state);
}

void hub_repo_begin_proposal(struct http_request *req, void *state, const char *raw)
{
	struct hub_repo *r = state;
	bool is_short = http_content_length(req) <= CAIRN_BODY_MEMORY_BYTES;
	if (!is_short && hub_call_need_somebody(&r->call) && hub_call_find_asker(&r->call))
		(void)hub_repo_find_proposed(r, raw);
	if (r->call.status != CAIRN_OK)
		hub_reply_failure(req, &r->call);
	else
		hub_repo_begin_write(req, state);
}

void hub_repo_begin_write(struct http_request *req, void *state)
{
	struct hub_repo *r = state;
	if (r && hub_call_admit(req, &r->call))
		(void)route_body_begin_as(req, &r->body, &r->call.sender);
}

void hub_repo_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct hub_repo *r = http_state(req);
	route_body_add(req, &r->body, bytes, len);
}

void hub_repo_done(struct http_request *req)
{
	struct hub_repo *r = http_state(req);
	route_body_start(req, &r->body);
}

void *hub_repo_new_git(struct http_request *req, size_t bytes, void (*run)(struct hub_call *call),
		       void (*show)(struct http_request *req, struct hub_call *call))
{
	enum cairn_index_repo_kind kind = hub_kind_of_segment(http_path_arg(req, "type"));
	struct hub_repo *r = hub_repo_new(req, bytes, kind, run, show);
	if (!r)
		return NULL;
	if (kind == 0) {
		http_reply_error(req, 404, HUB_NO_ROUTE.rule, HUB_NO_ROUTE.message, NULL);
		return NULL;
	}
	r->namespace = http_path_arg(req, "namespace");
	r->name = http_path_arg(req, "name");
	return r;
}

void hub_repo_fini(struct hub_repo *r)
{
	route_body_fini(&r->body);
	hub_call_fini(&r->call);
}

void hub_repo_free(void *state)
{
	struct hub_repo *r = state;
	if (!r)
		return;
	hub_repo_fini(r);
	free(r);
}

/* Adds to the message where people can ask for access: at the hub that has the gate. */
static void repo_say_where_to_ask(struct hub_repo *r)
{
	struct cairn_diag *diag = &r->call.diag;
	const struct cairn_mirror *mirror = r->repo.is_mirrored ? r->call.job.app->mirror : NULL;
	char where[sizeof(diag->text)];
	size_t len = strlen(diag->text);
	int n = snprintf(where, sizeof(where), " Visit %s%s%s/%s to ask for access.",
			 mirror ? cairn_mirror_upstream(mirror) : r->base, hub_kind_web(r->kind), r->repo.account_name,
			 r->repo.name);
	if (n > 0 && (size_t)n < sizeof(diag->text) - len)
		memcpy(diag->text + len, where, (size_t)n + 1);
}

bool hub_repo_find(struct hub_repo *r, enum cairn_hub_access need)
{
	struct hub_call *call = &r->call;
	if (!hub_mirror_takes(r, need))
		return false;
	call->status = cairn_hub_find_repo_access(&call->job.app->hub, &call->asker, r->kind, r->namespace, r->name,
						  need, &r->access, &r->repo, &call->diag);
	if (call->status == CAIRN_E_DENIED && cairn_diag_has(&call->diag, "repo.gated"))
		repo_say_where_to_ask(r);
	bool found = hub_mirror_find(r, need);
	if (!found && r->repo.is_private)
		r->repo = (struct cairn_index_repo){.id = 0}; /* the reply must not reveal the repository */
	return found;
}

void hub_repo_take_revision(const char *raw, char revision[static CAIRN_HUB_REVISION_MAX + 1])
{
	char path[CAIRN_INDEX_PATH_MAX + 1];
	/* A branch name whose slashes are not escaped takes the whole rest of the path. */
	unsigned n_segments = 1;
	for (const char *p = raw; *p; p++)
		n_segments += *p == '/';
	if (!cairn_hub_split_revision(raw, n_segments, revision, path))
		revision[0] = '\0';
}

bool hub_repo_find_proposed(struct hub_repo *r, const char *raw)
{
	struct hub_call *call = &r->call;
	char revision[CAIRN_HUB_REVISION_MAX + 1];
	if (raw)
		hub_repo_take_revision(raw, revision);
	if (hub_repo_find(r, CAIRN_HUB_READ))
		call->status = cairn_hub_may_propose(&call->job.app->hub, &call->asker, &r->repo, r->access,
						     raw ? revision : NULL, &call->diag);
	return call->status == CAIRN_OK;
}

bool hub_repo_is_stranger(const struct hub_repo *r)
{
	return r->access < CAIRN_HUB_WRITE;
}

bool hub_repo_mint(struct hub_repo *r, struct cairn_token_claims *claims, char **token)
{
	struct hub_call *call = &r->call;
	struct app *app = call->job.app;
	int64_t now_unix_s = cairn_clock_unix_s();
	claims->expires_unix_s = now_unix_s + (int64_t)atomic_load(&app->live.token_ttl_s);
	if (app->auth.keys) {
		call->status = auth_mint(&app->auth, claims, now_unix_s, token, &call->diag);
	} else if (asprintf(token, AUTH_SAID "%s", claims->repo) < 0) {
		*token = NULL;
		call->status = CAIRN_E_NOMEM;
	}
	if (call->status == CAIRN_E_USAGE) {
		call->diag = (struct cairn_diag){0};
		call->status = cairn_fail(&call->diag, CAIRN_E_IO, "token.no_key", CAIRN_NO_OFFSET,
					  "the server has no key that can sign tokens; give it a private one "
					  "with token_key");
	}
	return call->status == CAIRN_OK;
}

/* Notes the commit for the reply, because clients remember in which commit a file is missing. */
static void repo_note_commit(struct hub_repo *r)
{
	cairn_git_oid_text(r->call.commit, &r->commit.oid);
}

static bool repo_find_place_of_found(struct hub_repo *r, const char *raw, char path[static CAIRN_INDEX_PATH_MAX + 1])
{
	struct hub_call *call = &r->call;
	if (!hub_mirror_refresh(r, raw))
		return false;
	call->status =
		cairn_hub_find_place(&call->job.app->hub, &call->asker, &r->repo, raw, &r->commit, path, &call->diag);
	if (call->status == CAIRN_OK)
		repo_note_commit(r);
	else
		hub_mirror_explain(r);
	return call->status == CAIRN_OK;
}

bool hub_repo_find_commit_of_found(struct hub_repo *r, const char *raw)
{
	struct hub_call *call = &r->call;
	char path[CAIRN_INDEX_PATH_MAX + 1];
	if (raw && repo_find_place_of_found(r, raw, path) && path[0])
		call->status = cairn_fail(&call->diag, CAIRN_E_NOT_FOUND, "revision.unknown", CAIRN_NO_OFFSET,
					  "Invalid rev id: there is no such revision");
	if (raw)
		return call->status == CAIRN_OK;
	if (!hub_mirror_refresh(r, NULL))
		return false;
	call->status = cairn_hub_find_ref(&call->job.app->hub, &r->repo, CAIRN_HUB_MAIN, &r->commit, &call->diag);
	if (call->status == CAIRN_OK)
		repo_note_commit(r);
	return call->status == CAIRN_OK;
}

bool hub_repo_find_commit(struct hub_repo *r, enum cairn_hub_access need, const char *raw)
{
	return hub_repo_find(r, need) && hub_repo_find_commit_of_found(r, raw);
}

bool hub_repo_find_place(struct hub_repo *r, enum cairn_hub_access need, const char *raw,
			 char path[static CAIRN_INDEX_PATH_MAX + 1])
{
	return hub_repo_find(r, need) && repo_find_place_of_found(r, raw, path);
}

uint32_t hub_limit(const struct http_request *req, uint32_t absent, uint32_t max)
{
	uint64_t limit = http_query_number_or_0(req, "limit", UINT64_MAX);
	if (limit == 0)
		return absent;
	return limit < max ? (uint32_t)limit : max;
}

const char *hub_repo_narrows(const struct cairn_json *json)
{
	if (cairn_json_text_of(json, "resourceGroupId"))
		return "this server has no resource groups: leave out resourceGroupId, and make the repository private";
	if (cairn_json_text_of(json, "region"))
		return "this server has no regions: leave out region; its operator knows where it keeps its bytes";
	return NULL;
}

bool hub_query_is_true(const char *value)
{
	return value && (strcmp(value, "1") == 0 || strcasecmp(value, "true") == 0);
}

void hub_repo_put_id(struct cairn_json_out *w, const char *member, const struct cairn_index_repo *repo)
{
	char id[CAIRN_INDEX_ACCOUNT_NAME_MAX + CAIRN_INDEX_REPO_NAME_MAX + 2];
	(void)snprintf(id, sizeof(id), "%s/%s", repo->account_name, repo->name);
	cairn_json_put_text(w, member, id);
}

struct cairn_json_out hub_repo_open_made(struct hub_repo *r, enum cairn_status status)
{
	char url[REPO_URL_BYTES], error[REPO_URL_BYTES];
	struct cairn_json_out w = cairn_json_out_init(&r->call.answer);
	hub_repo_url(r, url, sizeof(url), hub_kind_web(r->kind), "");
	cairn_json_open_object(&w, NULL);
	if (status != CAIRN_OK) {
		(void)snprintf(error, sizeof(error), "A %s repository called %s/%s already exists",
			       hub_kind_name(r->kind), r->repo.account_name, r->repo.name);
		cairn_json_put_text(&w, "error", error);
		cairn_json_put_text(&w, "code", "repo.known");
		cairn_json_put_text(&w, "request_id", http_request_id(r->call.job.req));
	}
	cairn_json_put_text(&w, "url", url);
	return w;
}

void hub_repo_show(struct http_request *req, struct hub_call *call)
{
	const struct hub_repo *r = (const struct hub_repo *)call;
	hub_call_show_code(req, call, r->code ? r->code : 200, "application/json");
}

void hub_repo_url(const struct hub_repo *r, char *out, size_t size, const char *path, const char *rest)
{
	(void)snprintf(out, size, "%s%s%s/%s%s", r->base, path, r->repo.account_name, r->repo.name, rest);
}
