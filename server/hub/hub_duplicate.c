/* A copy of a repository: POST /api/{type}/{namespace}/{name}/duplicate. */
#include "hub/duplicate.h"
#include "server/hub/hub_reply.h"
#include "server/hub/hub_repo.h"
#include "server/route/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	DUPLICATE_BODY_BYTES_MAX = 65536,
	DUPLICATE_ID_BYTES = 2 * CAIRN_INDEX_REPO_NAME_MAX + 3,
};

struct duplicate_request {
	struct hub_repo repo;
	bool says_private, is_private;
	char to[DUPLICATE_ID_BYTES]; /* "namespace/name" */
};

static void duplicate_put_made(struct hub_repo *repo, enum cairn_status status)
{
	struct cairn_json_out w = hub_repo_open_made(repo, status);
	hub_repo_put_id(&w, "id", &repo->repo);
	cairn_json_close(&w);
}

static void duplicate_run(struct hub_call *call)
{
	struct duplicate_request *d = (struct duplicate_request *)call;
	struct hub_repo *repo = &d->repo;
	struct cairn_index_repo made;
	if (!hub_repo_find(repo, CAIRN_HUB_READ))
		return;
	char *name = strchr(d->to, '/');
	*name++ = '\0';
	const struct cairn_hub_new_repo copy = {.kind = repo->kind, .account = d->to, .name = name};
	if (!d->says_private && hub_call_makes_private(call, d->to))
		d->says_private = d->is_private = true;
	call->status = cairn_hub_duplicate(call->job.app->cas, &call->asker, &repo->repo, &copy,
					   d->says_private ? &d->is_private : NULL, &made, &call->diag);
	if (call->status != CAIRN_OK && (call->status != CAIRN_E_CONFLICT || made.id == 0))
		return;
	repo->repo = made;
	duplicate_put_made(repo, call->status);
	repo->code = call->status == CAIRN_OK ? 200 : 409;
	call->status = CAIRN_OK;
}

static uint64_t duplicate_body_max(void *app)
{
	(void)app;
	return DUPLICATE_BODY_BYTES_MAX;
}

static void duplicate_head(struct http_request *req)
{
	struct duplicate_request *d = hub_repo_new_git(req, sizeof(*d), duplicate_run, hub_repo_show);
	if (d)
		(void)route_body_begin(req, &d->repo.body, DUPLICATE_BODY_BYTES_MAX);
}

static void duplicate_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct duplicate_request *d = http_state(req);
	route_body_add(req, &d->repo.body, bytes, len);
}

static void duplicate_done(struct http_request *req)
{
	struct duplicate_request *d = http_state(req);
	CLEANUP(cairn_json_freep) struct cairn_json *json = route_body_json(&d->repo.body);
	const char *to = cairn_json_string(cairn_json_get(json, "repository"));
	const char *visibility = cairn_json_string(cairn_json_get(json, "visibility"));
	d->says_private = visibility || cairn_json_bool(cairn_json_get(json, "private"), &d->is_private);
	if (visibility)
		d->is_private = strcmp(visibility, "public") != 0;
	if (to && strchr(to, '/') && strlen(to) < sizeof(d->to)) {
		(void)snprintf(d->to, sizeof(d->to), "%s", to);
		route_job_start(req);
	} else {
		hub_reply_error(req, 400, NULL, "repo.body", "send {\"repository\":\"namespace/name\"}");
	}
}

const struct http_route ROUTES_DUPLICATE[] = {
	{.method = "POST",
	 .pattern = "/api/{type}/{namespace}/{name}/duplicate",
	 .name = "repo-duplicate",
	 .errors = HTTP_ERRORS_HUB,
	 .body_max = duplicate_body_max,
	 .head = duplicate_head,
	 .body = duplicate_body,
	 .done = duplicate_done,
	 .free = hub_repo_free},
	{0},
};
