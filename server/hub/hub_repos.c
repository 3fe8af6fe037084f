/* Creates, deletes, moves and configures repositories: POST /api/repos/create, DELETE /api/repos/delete, POST
 * /api/repos/move, and of /api/{type}/{namespace}/{name} PUT …/settings, GET …/auth-check and …/auth-check/write. */
#include "hub/commit.h"
#include "hub/stranger.h"
#include "server/ask/hub_reply.h"
#include "server/ask/hub_repo.h"
#include "server/hub/hub_routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	REPOS_BODY_BYTES_MAX = 65536,
	REPOS_NEW_BODY_BYTES_MAX = 8 << 20, /* includes the files of the first commit */
	REPOS_NAME_BYTES = CAIRN_INDEX_REPO_NAME_MAX + 1,
	REPOS_ID_BYTES = 2 * REPOS_NAME_BYTES, /* room for "namespace/name" */
};

struct repos_request {
	struct hub_repo repo;
	struct cairn_json *json;       /* the body; owned */
	struct cairn_hub_commit first; /* the first files of a new repository; owned */
	bool is_private, for_writing;
	enum cairn_index_gate gate;
	bool says_private, says_gate, says_pulls, pulls_closed;
	char from[REPOS_ID_BYTES], to[REPOS_ID_BYTES];
};

static void repos_free(void *state)
{
	struct repos_request *r = state;
	if (!r)
		return;
	cairn_json_free(r->json);
	cairn_hub_commit_fini(&r->first);
	hub_repo_fini(&r->repo);
	free(r);
}

/* Begins a request whose body names the repository. */
static void repos_begin(struct http_request *req, void (*run)(struct hub_call *call))
{
	struct repos_request *r = hub_repo_new(req, sizeof(*r), CAIRN_INDEX_MODEL, run, hub_repo_show);
	hub_repo_begin_write(req, r);
}

static void repos_refuse_body(struct http_request *req, const char *expected)
{
	hub_reply_error(req, 400, NULL, "repo.body", expected);
}

static const char *repos_text(const struct repos_request *r, const char *member)
{
	return cairn_json_text_of(r->json, member);
}

/* Reads {"type","name","organization"} as namespace and name. Without a type, the kind is a model. @return true: they
 * are valid */
static bool repos_take_name(struct repos_request *r)
{
	const char *type = repos_text(r, "type"), *organization = repos_text(r, "organization");
	const char *name = repos_text(r, "name"), *slash = name ? strchr(name, '/') : NULL;
	r->repo.kind = type ? hub_kind_of_name(type) : CAIRN_INDEX_MODEL;
	if (!name || r->repo.kind == 0 || r->repo.kind == CAIRN_INDEX_BUCKET)
		return false;
	int len = slash ? snprintf(r->from, sizeof(r->from), "%s", name)
			: snprintf(r->from, sizeof(r->from), "%s/%s", organization ? organization : CAIRN_HUB_ME, name);
	char *middle = strchr(r->from, '/');
	if (len < 0 || (size_t)len >= sizeof(r->from) || !middle)
		return false;
	*middle = '\0';
	r->repo.namespace = r->from;
	r->repo.name = middle + 1;
	return true;
}

/* Replaces the namespace "me" by the asker's name. */
static void repos_name_me(struct repos_request *r)
{
	const struct cairn_hub_asker *asker = &r->repo.call.asker;
	if (strcmp(r->repo.namespace, CAIRN_HUB_ME) == 0)
		r->repo.namespace = asker->kind == CAIRN_HUB_OPERATOR ? CAIRN_HUB_OPERATOR_NAME : asker->account.name;
}

/* Reads {"private":true}, {"visibility":"private"}, {"gated":"auto"|"manual"|false}, {"discussionsDisabled":true}. */
static void repos_take_settings(struct repos_request *r)
{
	const char *visibility = repos_text(r, "visibility"), *gated = repos_text(r, "gated");
	bool no = true;
	r->says_private = visibility || cairn_json_bool_of(r->json, "private", &r->is_private);
	if (visibility)
		r->is_private = strcmp(visibility, "public") != 0;
	r->says_pulls = cairn_json_bool_of(r->json, "discussionsDisabled", &r->pulls_closed);
	r->says_gate = gated || (cairn_json_bool_of(r->json, "gated", &no) && !no);
	if (gated)
		r->gate = strcmp(gated, "manual") == 0 ? CAIRN_INDEX_GATE_MANUAL : CAIRN_INDEX_GATE_AUTO;
}

static void repos_put_made(struct repos_request *r, enum cairn_status status)
{
	struct hub_repo *repo = &r->repo;
	struct cairn_json_out w = hub_repo_open_made(repo, status);
	hub_repo_put_id(&w, "name", &repo->repo);
	hub_repo_put_id(&w, "id", &repo->repo);
	cairn_json_close(&w);
}

static void repos_put_file(struct cairn_json_out *w, const char *path, const char *content, const char *encoding)
{
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "key", "file");
	cairn_json_open_object(w, "value");
	cairn_json_put_text(w, "path", path);
	cairn_json_put_text(w, "content", content);
	cairn_json_put_text(w, "encoding", encoding);
	cairn_json_close(w);
	cairn_json_close(w);
	cairn_buf_add(w->buf, "\n", 1);
	w->comma = false;
}

/* Converts "files" and "license" of the JavaScript client to lines of a commit. */
static enum cairn_status repos_read_files(struct repos_request *r)
{
	const struct cairn_json *files = cairn_json_get(r->json, "files");
	const char *license = repos_text(r, "license");
	CLEANUP(cairn_buf_fini) struct cairn_buf lines = cairn_buf_init((size_t)2 * REPOS_NEW_BODY_BYTES_MAX);
	CLEANUP(cairn_buf_fini) struct cairn_buf card = cairn_buf_init(1024);
	struct cairn_json_out w = cairn_json_out_init(&lines);
	cairn_buf_printf(&lines, "{\"key\":\"header\",\"value\":{\"summary\":\"initial commit\"}}\n");
	for (size_t i = 0; i < cairn_json_count(files); i++) {
		const struct cairn_json *file = cairn_json_at(files, i);
		const char *encoding = cairn_json_text_of(file, "encoding");
		repos_put_file(&w, cairn_json_text_of(file, "path"), cairn_json_text_of(file, "content"),
			       encoding ? encoding : "utf-8");
	}
	if (license) {
		cairn_buf_printf(&card, "---\nlicense: %s\n---\n", license);
		cairn_buf_add(&card, "", 1);
		if (card.status != CAIRN_OK)
			return CAIRN_E_LIMIT;
		repos_put_file(&w, "README.md", (const char *)card.bytes, "utf-8");
	}
	if (lines.status != CAIRN_OK)
		return lines.status;
	return cairn_hub_commit_read(&r->first, (const char *)lines.bytes, lines.len, &r->repo.call.diag);
}

static void repos_make(struct hub_call *call)
{
	struct repos_request *r = (struct repos_request *)call;
	struct hub_repo *repo = &r->repo;
	r->json = route_body_json_list(&repo->body); /* parsed on a worker, because it may have many files */
	repos_take_settings(r);
	if (!repos_take_name(r)) {
		call->status = cairn_fail(&call->diag, CAIRN_E_USAGE, "repo.body", CAIRN_NO_OFFSET,
					  "send {\"name\":NAME,\"organization\":NAMESPACE,\"type\":TYPE}; types are "
					  "model, dataset, space and kernel");
		return;
	}
	const char *sdk = repos_text(r, "sdk"), *narrows = hub_repo_narrows(r->json);
	if (narrows) {
		call->status = cairn_fail(&call->diag, CAIRN_E_USAGE, "repo.narrow", CAIRN_NO_OFFSET, "%s", narrows);
		return;
	}
	bool is_private = r->says_private ? r->is_private : hub_call_makes_private(call, repo->namespace);
	struct cairn_hub_new_repo made = {.kind = repo->kind,
					  .account = repo->namespace,
					  .name = repo->name,
					  .is_private = is_private,
					  .sdk = sdk ? sdk : ""};
	if (cairn_json_get(r->json, "files") || cairn_json_get(r->json, "license"))
		call->status = repos_read_files(r);
	if (call->status != CAIRN_OK)
		return;
	made.operations = r->first.operations;
	made.n = r->first.n;
	call->status = cairn_hub_make_repo(&call->job.app->hub, &call->asker, &made, &repo->repo, &call->diag);
	if (call->status != CAIRN_OK && (call->status != CAIRN_E_CONFLICT || repo->repo.id == 0))
		return;
	repos_put_made(r, call->status);
	repo->code = call->status == CAIRN_OK ? 200 : 409;
	call->status = CAIRN_OK;
}

static void repos_create_head(struct http_request *req)
{
	repos_begin(req, repos_make);
}

static void repos_drop(struct hub_call *call)
{
	struct repos_request *r = (struct repos_request *)call;
	repos_name_me(r);
	if (hub_repo_find(&r->repo, CAIRN_HUB_ADMIN))
		call->status = cairn_hub_drop_repo(&call->job.app->hub, &r->repo.repo, &call->diag);
	cairn_buf_printf(&call->answer, "{}");
}

static void repos_delete_head(struct http_request *req)
{
	repos_begin(req, repos_drop);
}

static void repos_delete_done(struct http_request *req)
{
	struct repos_request *r = http_state(req);
	r->json = route_body_json(&r->repo.body);
	if (repos_take_name(r))
		route_job_start(req);
	else
		repos_refuse_body(req, "send {\"name\":NAME,\"organization\":NAMESPACE,\"type\":TYPE}");
}

/* Sets the message for a name that is taken. Clients search it for exactly these words. */
static void repos_name_taken(struct cairn_diag *diag, enum cairn_index_repo_kind kind, const char *account,
			     const char *name)
{
	cairn_diag_clear(diag);
	(void)cairn_fail(diag, CAIRN_E_CONFLICT, "repo.known", CAIRN_NO_OFFSET,
			 "A %s%s called %.100s/%.100s already exists", hub_kind_name(kind),
			 kind == CAIRN_INDEX_BUCKET ? "" : " repository", account, name);
}

static void repos_move(struct hub_call *call)
{
	struct repos_request *r = (struct repos_request *)call;
	struct hub_repo *repo = &r->repo;
	char *to = strchr(r->to, '/'), *from = strchr(r->from, '/');
	*to++ = *from++ = '\0';
	repo->namespace = r->from;
	repo->name = from;
	if (hub_repo_find(repo, CAIRN_HUB_ADMIN))
		call->status =
			cairn_hub_move_repo(&call->job.app->hub, &call->asker, &repo->repo, r->to, to, &call->diag);
	if (call->status == CAIRN_E_CONFLICT && cairn_diag_has(&call->diag, "repo.known"))
		repos_name_taken(&call->diag, repo->kind, r->to, to);
	cairn_buf_printf(&call->answer, "{}");
}

static bool repos_take_id(char out[static REPOS_ID_BYTES], const char *id)
{
	if (!id || strlen(id) >= REPOS_ID_BYTES || !strchr(id, '/'))
		return false;
	(void)snprintf(out, REPOS_ID_BYTES, "%s", id);
	return true;
}

static void repos_move_head(struct http_request *req)
{
	repos_begin(req, repos_move);
}

static void repos_move_done(struct http_request *req)
{
	struct repos_request *r = http_state(req);
	r->json = route_body_json(&r->repo.body);
	const char *type = repos_text(r, "type");
	if (type)
		r->repo.kind = hub_kind_of_name(type);
	if (repos_take_id(r->from, repos_text(r, "fromRepo")) && repos_take_id(r->to, repos_text(r, "toRepo")))
		route_job_start(req);
	else
		repos_refuse_body(req, "send {\"fromRepo\":\"namespace/name\",\"toRepo\":\"namespace/name\",\"type\":"
				       "TYPE}");
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

static void repos_set(struct hub_call *call)
{
	struct repos_request *r = (struct repos_request *)call;
	struct cairn_index_repo *repo = &r->repo.repo;
	if (!hub_repo_find(&r->repo, CAIRN_HUB_ADMIN))
		return;
	call->status =
		cairn_hub_set_repo(&call->job.app->hub, &call->asker, repo, r->says_private ? &r->is_private : NULL,
				   r->says_gate ? &r->gate : NULL, &call->diag);
	if (call->status == CAIRN_OK && r->says_pulls)
		call->status = cairn_hub_close_to_strangers(&call->job.app->hub, repo, r->pulls_closed, &call->diag);
	struct cairn_json_out w = cairn_json_out_init(&call->answer);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_bool(&w, "private", r->says_private ? r->is_private : repo->is_private);
	cairn_json_put_bool(&w, "gated", (r->says_gate ? r->gate : repo->gate) != CAIRN_INDEX_GATE_NONE);
	cairn_json_put_bool(&w, "discussionsDisabled", r->says_pulls ? r->pulls_closed : repo->pulls_closed);
	cairn_json_close(&w);
}

static void repos_settings_head(struct http_request *req)
{
	hub_repo_begin_write(req, hub_repo_new_git(req, sizeof(struct repos_request), repos_set, hub_repo_show));
}

static void repos_settings_done(struct http_request *req)
{
	struct repos_request *r = http_state(req);
	r->json = route_body_json(&r->repo.body);
	repos_take_settings(r);
	if (cairn_json_is_object(r->json))
		route_job_start(req);
	else
		repos_refuse_body(req, "send {\"private\":true|false} or {\"gated\":\"auto\"|\"manual\"|false}");
}

/* --- auth-check --------------------------------------------------------------------------------------------------- */

static void repos_check(struct hub_call *call)
{
	struct repos_request *r = (struct repos_request *)call;
	(void)hub_repo_find(&r->repo, r->for_writing ? CAIRN_HUB_WRITE : CAIRN_HUB_READ);
	cairn_buf_printf(&call->answer, "{}");
}

static void repos_get_check(struct http_request *req, bool for_writing)
{
	struct repos_request *r = hub_repo_new_git(req, sizeof(*r), repos_check, hub_repo_show);
	if (!r)
		return;
	r->for_writing = for_writing;
	route_job_start(req);
}

static void repos_get_read_check(struct http_request *req)
{
	repos_get_check(req, false);
}

static void repos_get_write_check(struct http_request *req)
{
	repos_get_check(req, true);
}

const struct http_route ROUTES_REPOS[] = {
	HUB_POST("/api/repos/create", "repos-create", REPOS_NEW_BODY_BYTES_MAX, repos_create_head, hub_repo_done,
		 repos_free),
	{.method = "DELETE",
	 .pattern = "/api/repos/delete",
	 .name = "repos-delete",
	 .errors = HTTP_ERRORS_HUB,
	 .body_max = REPOS_BODY_BYTES_MAX,
	 .head = repos_delete_head,
	 .body = hub_repo_body,
	 .done = repos_delete_done,
	 .free = repos_free},
	HUB_POST("/api/repos/move", "repos-move", REPOS_BODY_BYTES_MAX, repos_move_head, repos_move_done, repos_free),
	HUB_PUT("/api/{type}/{namespace}/{name}/settings", "repo-settings", REPOS_BODY_BYTES_MAX, repos_settings_head,
		repos_settings_done, repos_free),
	HUB_GET("/api/{type}/{namespace}/{name}/auth-check", "repo-auth-check", repos_get_read_check, repos_free),
	HUB_GET("/api/{type}/{namespace}/{name}/auth-check/write", "repo-auth-check", repos_get_write_check,
		repos_free),
	{0},
};
