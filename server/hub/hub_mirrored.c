/* Repositories of the mirrored hub, for the operator: POST …/refresh and DELETE of
 * /v1/mirror/repositories/{type}/{namespace}/{name}, and DELETE /v1/mirror/namespaces/{namespace}. */
#include "base/json.h"
#include "hub/revision.h"
#include "mirror/operate.h"
#include "server/ask/hub_mirror.h"
#include "server/ask/route_args.h"
#include "server/ask/route_job.h"
#include "server/ask/route_table.h"
#include "server/hub/hub_mirror_place.h"
#include "server/hub/hub_routes.h"
#include "server/log/log.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIRRORED_JSON_BYTES_MAX = 4096 };

struct mirrored_request {
	struct route_job job;
	struct cairn_mirror_want want; /* the lookup of a refresh */
	struct hub_mirror_place place; /* name NULL: the whole namespace */
	struct cairn_index_repo repo;
	struct cairn_index_commit head;
	unsigned n_removed;
	bool more;
	enum cairn_status status;
	struct cairn_diag diag;
};

/* Makes the state of a request for one repository. @return NULL: an error was replied */
static struct mirrored_request *mirrored_new_repo(struct http_request *req, void (*run)(struct route_job *job),
						  void (*reply)(struct http_request *req, struct route_job *job))
{
	struct mirrored_request *m = route_job_new(req, sizeof(*m), run, reply);
	return m && hub_mirror_take_place(req, &m->place) ? m : NULL;
}

static void mirrored_log_removed(const struct mirrored_request *m)
{
	char name[HUB_MIRROR_TEXT_BYTES];
	LOG(LOG_INFO, "mirror_remove", LOG_T("repo", hub_mirror_text(name, &m->place)),
	    LOG_N("repositories", m->n_removed),
	    LOG_T("message", "the operator removed what came from the mirrored hub"));
}

static void mirrored_remove(struct route_job *job)
{
	struct mirrored_request *m = (struct mirrored_request *)job;
	struct app *app = job->app;
	if (m->place.name)
		m->status = cairn_mirror_remove_repo(&app->hub, app->mirror, m->place.kind, m->place.namespace,
						     m->place.name, &m->diag);
	else
		m->status = cairn_mirror_remove_namespace(&app->hub, app->mirror, m->place.namespace, &m->n_removed,
							  &m->more, &m->diag);
	if (m->place.name && m->status == CAIRN_OK)
		m->n_removed = 1;
	if (m->status == CAIRN_OK || m->n_removed > 0)
		mirrored_log_removed(m);
}

static void mirrored_reply_removed(struct http_request *req, struct route_job *job)
{
	const struct mirrored_request *m = (const struct mirrored_request *)job;
	char json[64];
	if (m->status != CAIRN_OK) {
		http_reply_status(req, m->status, &m->diag);
		return;
	}
	(void)snprintf(json, sizeof(json), "{\"removed\":%u,\"more\":%s}\n", m->n_removed, m->more ? "true" : "false");
	http_reply_json(req, 200, json);
}

static void mirrored_delete_repo(struct http_request *req)
{
	if (mirrored_new_repo(req, mirrored_remove, mirrored_reply_removed))
		route_job_start(req);
}

static void mirrored_delete_namespace(struct http_request *req)
{
	struct mirrored_request *m = route_job_new(req, sizeof(*m), mirrored_remove, mirrored_reply_removed);
	if (!m)
		return;
	m->place.namespace = http_path_arg(req, "namespace");
	m->job.work.lane = CAIRN_LANE_HEAVY;
	route_job_start(req);
}

static void mirrored_find(struct route_job *job)
{
	struct mirrored_request *m = (struct mirrored_request *)job;
	m->status = cairn_mirror_find_repo(&job->app->hub, m->place.kind, m->place.namespace, m->place.name, &m->repo,
					   &m->head, &m->diag);
}

static void mirrored_reply_found(struct http_request *req, struct route_job *job)
{
	const struct mirrored_request *m = (const struct mirrored_request *)job;
	CLEANUP(cairn_buf_fini) struct cairn_buf json = cairn_buf_init(MIRRORED_JSON_BYTES_MAX);
	struct cairn_json_out w = cairn_json_out_init(&json);
	char name[CAIRN_INDEX_ALIAS_MAX + 1], main[CAIRN_GIT_OID_CHARS + 1];
	if (m->status != CAIRN_OK) {
		http_reply_status(req, m->status, &m->diag);
		return;
	}
	(void)snprintf(name, sizeof(name), "%s/%s", m->repo.account_name, m->repo.name);
	cairn_git_oid_text(main, &m->head.oid);
	cairn_json_open_object(&w, NULL);
	cairn_json_put_text(&w, "type", hub_kind_segment(m->place.kind));
	cairn_json_put_text(&w, "name", name);
	cairn_json_put_text(&w, "main", main);
	cairn_json_close(&w);
	cairn_buf_add(&json, "\n", 1);
	route_reply_made(req, CAIRN_OK, &json);
}

/* Replies to a refresh. If the upstream redirected the name, an alias was kept, and no repository of this name is here.
 * */
static void mirrored_resumed(struct http_request *req)
{
	struct mirrored_request *m = http_state(req);
	const struct cairn_mirror_want *want = &m->want;
	if (want->status == CAIRN_OK)
		route_job_ask(req);
	else
		hub_mirror_reply_look(req, want);
}

static void mirrored_looked(struct cairn_mirror_want *want)
{
	const struct mirrored_request *m =
		(const struct mirrored_request *)((const char *)want - offsetof(struct mirrored_request, want));
	http_resume(m->job.req);
}

/* Refuses a namespace that is an account of this server, so that the upstream does not learn the names of its
 * repositories. */
static void mirrored_check(struct route_job *job)
{
	struct mirrored_request *m = (struct mirrored_request *)job;
	if (!cairn_mirror_may_have(job->app->mirror, m->place.namespace))
		m->status = cairn_fail(&m->diag, CAIRN_E_NOT_FOUND, "mirror.local", CAIRN_NO_OFFSET,
				       "the namespace is an account of this server");
}

static void mirrored_reply_checked(struct http_request *req, struct route_job *job)
{
	struct mirrored_request *m = (struct mirrored_request *)job;
	if (m->status != CAIRN_OK) {
		http_reply_status(req, m->status, &m->diag);
		return;
	}
	job->run = mirrored_find;
	job->reply = mirrored_reply_found;
	if (http_suspend(req, mirrored_resumed))
		cairn_mirror_look_again(job->app->mirror, &m->want);
}

static void mirrored_refresh(struct http_request *req)
{
	struct mirrored_request *m = mirrored_new_repo(req, mirrored_check, mirrored_reply_checked);
	struct app *app = app_of(req);
	if (!m)
		return;
	if (!app->mirror) {
		http_reply_error(req, 409, "mirror.off", "this server mirrors no hub; its setting mirror names one",
				 NULL);
		return;
	}
	m->want =
		(struct cairn_mirror_want){.done = mirrored_looked, .kind = m->place.kind, .revision = CAIRN_HUB_MAIN};
	int n = snprintf(m->want.name, sizeof(m->want.name), "%s/%s", m->place.namespace, m->place.name);
	if (n < 0 || (size_t)n >= sizeof(m->want.name)) {
		http_reply_error(req, 404, "repo.unknown", "no repository has so long a name", NULL);
		return;
	}
	route_job_ask(req);
}

/* Frees the state, and overwrites want, which may contain the token of a rule. */
static void mirrored_free(void *state)
{
	struct mirrored_request *m = state;
	explicit_bzero(m->want.token, sizeof(m->want.token));
	free(m);
}

const struct http_route ROUTES_MIRRORED[] = {
	ROUTE_DELETE("/v1/mirror/repositories/{type}/{namespace}/{name}", "mirrored", CAIRN_TOKEN_ADMIN,
		     mirrored_delete_repo, free),
	ROUTE_POST("/v1/mirror/repositories/{type}/{namespace}/{name}/refresh", "mirrored", CAIRN_TOKEN_ADMIN,
		   mirrored_refresh, mirrored_free),
	ROUTE_DELETE("/v1/mirror/namespaces/{namespace}", "mirrored", CAIRN_TOKEN_ADMIN, mirrored_delete_namespace,
		     free),
	{0},
};
