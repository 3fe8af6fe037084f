/* Access to repositories with a gate: POST /api/{type}/{namespace}/{name}/ask-access, and for admins GET
 * …/user-access-request/{state}, POST …/user-access-request/handle and …/grant. */
#include "hub/access.h"
#include "server/ask/hub_reply.h"
#include "server/ask/hub_repo.h"
#include "server/hub/hub_routes.h"

#include <stdlib.h>
#include <string.h>

enum {
	ACCESS_BODY_BYTES_MAX = CAIRN_BODY_MEMORY_BYTES,
	ACCESS_PAGE = 100,
};

struct access_request {
	struct hub_repo repo;
	struct cairn_json *json; /* the parsed body; owned */
	enum cairn_index_access_state state;
	const char *after; /* from the query; borrowed from the request */
	uint32_t n;        /* number of requests written to the page */
	char last[CAIRN_HUB_REQUEST_BYTES];
	struct cairn_json_out w;
};

static void access_free(void *state)
{
	struct access_request *a = state;
	if (!a)
		return;
	cairn_json_free(a->json);
	hub_repo_fini(&a->repo);
	free(a);
}

/* Writes a request without the account's email: clients take a missing email for one that is not shared. */
static void access_put(void *ctx, const struct cairn_index_access_request *request)
{
	struct access_request *a = ctx;
	struct cairn_json_out *w = &a->w;
	char when[HUB_TIME_BYTES];
	int64_t at_unix_ms = request->asked_unix_ms ? request->asked_unix_ms : request->at_unix_ms;
	a->n++;
	cairn_hex_text(a->last, request->request, sizeof(request->request));
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "requestId", a->last);
	cairn_json_open_object(w, "user");
	cairn_json_put_text(w, "user", request->name);
	cairn_json_put_text(w, "fullname", request->fullname);
	cairn_json_put_text(w, "type", "user");
	cairn_json_close(w);
	cairn_json_put_text(w, "status", cairn_hub_access_name(request->state));
	cairn_json_put_text(w, "timestamp", hub_time(when, at_unix_ms));
	cairn_json_close(w);
}

static void access_list(struct hub_call *call)
{
	struct access_request *a = (struct access_request *)call;
	if (!hub_repo_find(&a->repo, CAIRN_HUB_ADMIN))
		return;
	a->w = cairn_json_out_init(&call->answer);
	cairn_json_open_array(&a->w, NULL);
	call->status = cairn_hub_each_request(&call->job.app->hub, &a->repo.repo, a->state, a->after, ACCESS_PAGE,
					      access_put, a, &call->diag);
	cairn_json_close(&a->w);
}

static void access_show_list(struct http_request *req, struct hub_call *call)
{
	const struct access_request *a = (const struct access_request *)call;
	const struct hub_repo *r = &a->repo;
	if (a->n < ACCESS_PAGE ||
	    hub_reply_next(req, "%s%s%s/%s/user-access-request/%s?cursor=%s", r->base, hub_kind_api(r->kind),
			   r->repo.account_name, r->repo.name, cairn_hub_access_name(a->state), a->last))
		hub_repo_show(req, call);
}

static void access_get_list(struct http_request *req)
{
	const char *after = http_query_arg(req, "cursor");
	enum cairn_index_access_state state = cairn_hub_access_parse(http_path_arg(req, "state"));
	if (state == CAIRN_INDEX_ACCESS_NONE) {
		http_reply_error(req, 404, HUB_NO_ROUTE.rule, HUB_NO_ROUTE.message, NULL);
		return;
	}
	struct access_request *a = hub_repo_new_git(req, sizeof(*a), access_list, access_show_list);
	if (!a)
		return;
	a->state = state;
	a->after = after ? after : "";
	route_job_start(req);
}

static void access_ask(struct hub_call *call)
{
	struct access_request *a = (struct access_request *)call;
	if (!hub_repo_find(&a->repo, CAIRN_HUB_SEE))
		return;
	call->status = cairn_hub_ask_access(&call->job.app->hub, &call->asker, &a->repo.repo, &a->state, &call->diag);
	if (call->status != CAIRN_OK)
		return;
	a->w = cairn_json_out_init(&call->answer);
	cairn_json_open_object(&a->w, NULL);
	cairn_json_put_text(&a->w, "status", cairn_hub_access_name(a->state));
	cairn_json_close(&a->w);
}

static void access_ask_head(struct http_request *req)
{
	hub_repo_begin_write(req, hub_repo_new_git(req, sizeof(struct access_request), access_ask, hub_repo_show));
}

/* Ignores the body, which has the fields of a form: repositories have no forms here. */
static void access_ask_done(struct http_request *req)
{
	route_job_start(req);
}

static void access_answer(struct hub_call *call)
{
	struct access_request *a = (struct access_request *)call;
	const struct cairn_hub_access_answer answer = {
		.user = cairn_json_text_of(a->json, "user"),
		.request = cairn_json_text_of(a->json, "requestId"),
		.state = a->state,
		.reason = cairn_json_text_of(a->json, "rejectionReason"),
	};
	if (hub_repo_find(&a->repo, CAIRN_HUB_ADMIN))
		call->status = cairn_hub_answer_request(&call->job.app->hub, &call->asker, &a->repo.repo, &answer,
							&call->diag);
	cairn_buf_printf(&call->answer, "{}");
}

static void access_answer_head(struct http_request *req)
{
	hub_repo_begin_write(req, hub_repo_new_git(req, sizeof(struct access_request), access_answer, hub_repo_show));
}

static void access_answer_done(struct http_request *req)
{
	struct access_request *a = http_state(req);
	a->json = route_body_json(&a->repo.body);
	const char *state = cairn_json_text_of(a->json, "status");
	a->state = state ? cairn_hub_access_parse(state) : CAIRN_INDEX_ACCESS_NONE;
	bool has_user = cairn_json_text_of(a->json, "user") != NULL;
	if (a->state != CAIRN_INDEX_ACCESS_NONE && has_user == !cairn_json_text_of(a->json, "requestId"))
		route_job_start(req);
	else
		hub_reply_error(
			req, 400, NULL, "repo.body",
			"send {\"user\":NAME,\"status\":STATUS} or {\"requestId\":ID,\"status\":STATUS}; a status is "
			"pending, accepted or rejected");
}

static void access_grant(struct hub_call *call)
{
	struct access_request *a = (struct access_request *)call;
	if (hub_repo_find(&a->repo, CAIRN_HUB_ADMIN))
		call->status = cairn_hub_grant_access(&call->job.app->hub, &call->asker, &a->repo.repo,
						      cairn_json_text_of(a->json, "user"), &call->diag);
	cairn_buf_printf(&call->answer, "{}");
}

static void access_grant_head(struct http_request *req)
{
	hub_repo_begin_write(req, hub_repo_new_git(req, sizeof(struct access_request), access_grant, hub_repo_show));
}

static void access_grant_done(struct http_request *req)
{
	struct access_request *a = http_state(req);
	a->json = route_body_json(&a->repo.body);
	if (cairn_json_text_of(a->json, "user"))
		route_job_start(req);
	else
		hub_reply_error(req, 400, NULL, "repo.body", "send {\"user\":NAME}");
}

const struct http_route ROUTES_ACCESS[] = {
	HUB_POST("/api/{type}/{namespace}/{name}/ask-access", "repo-access", ACCESS_BODY_BYTES_MAX, access_ask_head,
		 access_ask_done, access_free),
	HUB_GET("/api/{type}/{namespace}/{name}/user-access-request/{state}", "repo-access", access_get_list,
		access_free),
	HUB_POST("/api/{type}/{namespace}/{name}/user-access-request/handle", "repo-access", ACCESS_BODY_BYTES_MAX,
		 access_answer_head, access_answer_done, access_free),
	HUB_POST("/api/{type}/{namespace}/{name}/user-access-request/grant", "repo-access", ACCESS_BODY_BYTES_MAX,
		 access_grant_head, access_grant_done, access_free),
	{0},
};
