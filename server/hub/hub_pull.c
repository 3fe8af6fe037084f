/* Pull requests: GET and POST /api/{type}/{namespace}/{name}/discussions, GET …/discussions/{number}, POST
 * …/discussions/{number}/merge and …/status. Everybody who may read a repository may open one, also by a commit with
 * create_pr. Writers, and whoever opened a pull request, may commit to it and close it. Only writers may merge it. */
#include "base/decimal.h"
#include "hub/pull.h"
#include "hub/revision.h"
#include "hub/stranger.h"
#include "server/ask/hub_reply.h"
#include "server/ask/hub_repo.h"
#include "server/hub/hub_routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PULL_BODY_BYTES_MAX = CAIRN_BODY_MEMORY_BYTES,
	PULL_PAGE = 10,
	PULL_ANSWER_BYTES_MAX = 2 << 20,
	PULL_REVISION_BYTES = 32,
};

struct pull_request {
	struct hub_repo repo;
	struct cairn_json *json;    /* the parsed body; owned */
	struct cairn_hub_pull pull; /* owned */
	int64_t number;             /* from the address; 0: none */
	struct cairn_index_pull_list list;
	struct cairn_json_out w;
};

static void pull_free(void *state)
{
	struct pull_request *p = state;
	if (!p)
		return;
	cairn_json_free(p->json);
	cairn_hub_pull_fini(&p->pull);
	hub_repo_fini(&p->repo);
	free(p);
}

static struct pull_request *pull_new(struct http_request *req, void (*run)(struct hub_call *call))
{
	struct pull_request *p = hub_repo_new_git(req, sizeof(*p), run, hub_repo_show);
	if (p)
		p->repo.call.answer = cairn_buf_init(PULL_ANSWER_BYTES_MAX);
	return p;
}

/* Does what pull_new() does, for a pull request that the address names. */
static struct pull_request *pull_new_numbered(struct http_request *req, void (*run)(struct hub_call *call))
{
	struct pull_request *p = pull_new(req, run);
	uint64_t number = 0; /* no pull request has the number 0 */
	(void)cairn_decimal_parse(http_path_arg(req, "number"), 1, INT64_MAX, &number);
	if (p)
		p->number = (int64_t)number;
	return p;
}

/* Finds the pull request of the address, in the repository that was already found. */
static bool pull_find_of_found(struct pull_request *p)
{
	struct hub_call *call = &p->repo.call;
	call->status = cairn_hub_find_pull(&call->job.app->hub, &p->repo.repo, p->number, &p->pull, &call->diag);
	return call->status == CAIRN_OK;
}

/* Finds the repository, and the pull request of the address. */
static bool pull_find(struct pull_request *p, enum cairn_hub_access need)
{
	return hub_repo_find(&p->repo, need) && pull_find_of_found(p);
}

static const char *pull_state_name(enum cairn_index_pull_state state)
{
	static const char *const NAMES[] = {[CAIRN_INDEX_PULL_OPEN] = "open",
					    [CAIRN_INDEX_PULL_CLOSED] = "closed",
					    [CAIRN_INDEX_PULL_MERGED] = "merged"};
	return NAMES[state];
}

static void pull_put_author(struct cairn_json_out *w, const char *name)
{
	cairn_json_open_object(w, "author");
	cairn_json_put_text(w, "name", name);
	cairn_json_close(w);
}

/* Writes a pull request as an object, and leaves the object open. */
static void pull_put(struct pull_request *p, const struct cairn_index_pull *pull)
{
	char when[HUB_TIME_BYTES];
	struct cairn_json_out *w = &p->w;
	cairn_json_open_object(w, NULL);
	cairn_json_put_u64(w, "num", (uint64_t)pull->number);
	cairn_json_put_text(w, "title", pull->title);
	cairn_json_put_text(w, "status", pull_state_name(pull->state));
	cairn_json_put_bool(w, "isPullRequest", true);
	cairn_json_put_text(w, "createdAt", hub_time(when, pull->at_unix_s * 1000));
	pull_put_author(w, pull->author);
	cairn_json_open_object(w, "repo");
	hub_repo_put_id(w, "name", &p->repo.repo);
	cairn_json_put_text(w, "type", hub_kind_name(p->repo.kind));
	cairn_json_close(w);
}

/* An event of a pull request: what was done, by whom, and when. */
struct pull_event {
	const char *type, *author;
	int64_t at_unix_s;
	unsigned nth; /* number of the event in its pull request */
};

/* Opens the object of an event and its data, and leaves both open. */
static void pull_open_event(struct cairn_json_out *w, const char *member, const struct cairn_hub_pull *pull,
			    const struct pull_event *event)
{
	char id[64], when[HUB_TIME_BYTES];
	/* leave out the number of the repository: it would reveal how many repositories there are */
	(void)snprintf(id, sizeof(id), "%" PRId64 "-%u", pull->about.number, event->nth);
	cairn_json_open_object(w, member);
	cairn_json_put_text(w, "id", id);
	cairn_json_put_text(w, "type", event->type);
	cairn_json_put_text(w, "createdAt", hub_time(when, event->at_unix_s * 1000));
	pull_put_author(w, event->author);
	cairn_json_open_object(w, "data");
}

static void pull_put_status(struct cairn_json_out *w, const char *member, const struct cairn_hub_pull *pull)
{
	const struct cairn_index_pull *about = &pull->about;
	/* A pull request never reopens, so the status event of an open one has the pull request's author and time. */
	bool is_open = about->state == CAIRN_INDEX_PULL_OPEN;
	const struct pull_event event = {"status-change", is_open ? about->author : about->ended_by,
					 is_open ? about->at_unix_s : about->ended_unix_s, 2};
	pull_open_event(w, member, pull, &event);
	cairn_json_put_text(w, "status", pull_state_name(about->state));
	cairn_json_close(w);
	cairn_json_close(w);
}

static void pull_put_comment(struct cairn_json_out *w, const struct cairn_hub_pull *pull,
			     const struct pull_event *event, const char *text)
{
	char when[HUB_TIME_BYTES];
	pull_open_event(w, NULL, pull, event);
	cairn_json_put_bool(w, "edited", false);
	cairn_json_put_bool(w, "hidden", false);
	cairn_json_open_object(w, "latest");
	cairn_json_put_text(w, "raw", text);
	cairn_json_put_text(w, "updatedAt", hub_time(when, event->at_unix_s * 1000));
	pull_put_author(w, event->author);
	cairn_json_close(w);
	cairn_json_open_array(w, "history");
	cairn_json_close(w);
	cairn_json_close(w);
	cairn_json_close(w);
}

/* Writes the description as the first comment, as clients expect it. */
static void pull_put_events(struct cairn_json_out *w, const struct cairn_hub_pull *pull)
{
	const struct cairn_index_pull *about = &pull->about;
	const struct pull_event begun = {"comment", about->author, about->at_unix_s, 0};
	const struct pull_event said = {"comment", about->ended_by, about->ended_unix_s, 1};
	cairn_json_open_array(w, "events");
	pull_put_comment(w, pull, &begun, about->message);
	if (about->comment[0])
		pull_put_comment(w, pull, &said, about->comment);
	if (about->state != CAIRN_INDEX_PULL_OPEN)
		pull_put_status(w, NULL, pull);
	cairn_json_close(w);
}

static void pull_put_details(struct pull_request *p)
{
	const struct cairn_index_pull *about = &p->pull.about;
	char oid[CAIRN_GIT_OID_CHARS + 1], base[CAIRN_INDEX_REF_NAME_MAX + 16];
	struct cairn_json_out *w = &p->w;
	*w = cairn_json_out_init(&p->repo.call.answer);
	(void)snprintf(base, sizeof(base), "refs/heads/%s", about->base);
	pull_put(p, about);
	pull_put_events(w, &p->pull);
	cairn_json_open_array(w, "filesWithConflicts"); /* only the merge reports conflicts */
	cairn_json_close(w);
	cairn_json_open_object(w, "changes");
	cairn_json_put_text(w, "base", base);
	if (about->is_merged) {
		cairn_git_oid_text(oid, &about->merged);
		cairn_json_put_text(w, "mergeCommitId", oid);
	}
	cairn_json_close(w);
	cairn_json_close(w);
}

static void pull_visit(void *ctx, const struct cairn_index_pull *pull)
{
	struct pull_request *p = ctx;
	pull_put(p, pull);
	cairn_json_close(&p->w);
}

static void pull_list(struct hub_call *call)
{
	struct pull_request *p = (struct pull_request *)call;
	uint32_t n = 0;
	if (!hub_repo_find(&p->repo, CAIRN_HUB_SEE))
		return;
	p->w = cairn_json_out_init(&call->answer);
	cairn_json_open_object(&p->w, NULL);
	cairn_json_open_array(&p->w, "discussions");
	call->status = cairn_hub_each_pull(&call->job.app->hub, &p->repo.repo, &p->list, pull_visit, p, &n);
	cairn_json_close(&p->w);
	cairn_json_put_u64(&p->w, "count", n);
	cairn_json_put_u64(&p->w, "start", p->list.skip);
	cairn_json_close(&p->w);
}

static void pull_get_list(struct http_request *req)
{
	const char *type = http_query_arg(req, "type"), *status = http_query_arg(req, "status");
	struct pull_request *p = pull_new(req, pull_list);
	if (!p)
		return;
	uint64_t page = http_query_number_or_0(req, "p", UINT64_MAX);
	bool any = !status || strcmp(status, "all") == 0, none = type && strcmp(type, "discussion") == 0;
	p->list = (struct cairn_index_pull_list){
		.is_open = !none && (any || strcmp(status, "open") == 0),
		.is_ended = !none && (any || strcmp(status, "closed") == 0),
		.author = http_query_arg(req, "author"),
		.skip = (page < CAIRN_HUB_PULLS_MAX ? (uint32_t)page : CAIRN_HUB_PULLS_MAX) * PULL_PAGE,
		.limit = PULL_PAGE,
	};
	route_job_start(req);
}

static void pull_show_one(struct hub_call *call)
{
	struct pull_request *p = (struct pull_request *)call;
	if (pull_find(p, CAIRN_HUB_SEE))
		pull_put_details(p);
}

static void pull_get(struct http_request *req)
{
	if (pull_new_numbered(req, pull_show_one))
		route_job_start(req);
}

static const char *pull_text(const struct pull_request *p, const char *member)
{
	const char *text = cairn_json_text_of(p->json, member);
	return text ? text : "";
}

static void pull_make(struct hub_call *call)
{
	struct pull_request *p = (struct pull_request *)call;
	if (!hub_repo_find_proposed(&p->repo, NULL) || !hub_repo_find_commit_of_found(&p->repo, NULL))
		return;
	call->status = cairn_hub_add_pull(&call->job.app->hub, &call->asker, &p->repo.repo, CAIRN_HUB_MAIN,
					  &p->repo.commit, pull_text(p, "title"), pull_text(p, "description"),
					  hub_repo_is_stranger(&p->repo), &p->number, &call->diag);
	call->commit[0] = '\0';
	if (call->status == CAIRN_OK && pull_find(p, CAIRN_HUB_READ))
		pull_put_details(p);
}

static void pull_make_head(struct http_request *req)
{
	struct pull_request *p = pull_new(req, pull_make);
	hub_repo_begin_write(req, p);
}

static void pull_make_done(struct http_request *req)
{
	struct pull_request *p = http_state(req);
	bool is_pull = false;
	p->json = route_body_json(&p->repo.body);
	(void)cairn_json_bool_of(p->json, "pullRequest", &is_pull);
	if (!pull_text(p, "title")[0])
		hub_reply_error(req, 400, NULL, "repo.body",
				"send {\"title\":TITLE,\"description\":TEXT,\"pullRequest\":true}");
	else if (!is_pull)
		hub_reply_left_out(req, "Discussions are not kept here, but pull requests");
	else
		route_job_start(req);
}

static void pull_merge(struct hub_call *call)
{
	struct pull_request *p = (struct pull_request *)call;
	struct cairn_git_oid oid;
	if (!pull_find(p, CAIRN_HUB_WRITE))
		return;
	call->status = cairn_hub_merge_pull(&call->job.app->hub, &call->asker, &p->repo.repo, &p->pull,
					    pull_text(p, "comment"), &oid, &call->diag);
	cairn_hub_pull_fini(&p->pull);
	if (call->status == CAIRN_OK && pull_find(p, CAIRN_HUB_WRITE))
		pull_put_details(p);
}

/* Finds the pull request of the address for an asker who may close it. The account that opened it may close it even
 * after losing the right to read the repository, because the pull request counts for that account until then. */
static bool pull_find_to_close(struct pull_request *p)
{
	struct hub_call *call = &p->repo.call;
	char revision[PULL_REVISION_BYTES];
	(void)snprintf(revision, sizeof(revision), "refs/pr/%" PRId64, p->number);
	if (hub_repo_find_proposed(&p->repo, revision))
		return pull_find_of_found(p);
	if (call->status != CAIRN_E_NOT_FOUND && call->status != CAIRN_E_DENIED)
		return false;
	enum cairn_status status =
		cairn_hub_find_own_proposal(&call->job.app->hub, &call->asker, p->repo.kind, p->repo.namespace,
					    p->repo.name, revision, &p->repo.repo);
	if (status == CAIRN_E_NOT_FOUND)
		return false; /* keep the status of the first refusal */
	cairn_diag_clear(&call->diag);
	call->status = status;
	p->repo.access = CAIRN_HUB_SEE;
	return status == CAIRN_OK && pull_find_of_found(p);
}

/* Closes an open pull request. A closed or merged one cannot be reopened; a new one can begin at refs/pr/NUMBER. */
static void pull_set_status(struct hub_call *call)
{
	struct pull_request *p = (struct pull_request *)call;
	if (!pull_find_to_close(p))
		return;
	if (strcmp(pull_text(p, "status"), "closed") == 0 || p->pull.about.state != CAIRN_INDEX_PULL_OPEN) {
		call->status =
			cairn_hub_close_pull(&call->job.app->hub, &call->asker, &p->repo.repo, &p->pull,
					     pull_text(p, "comment"), hub_repo_is_stranger(&p->repo), &call->diag);
		cairn_hub_pull_fini(&p->pull);
		if (call->status != CAIRN_OK || !pull_find_of_found(p))
			return;
	}
	p->w = cairn_json_out_init(&call->answer);
	cairn_json_open_object(&p->w, NULL);
	pull_put_status(&p->w, "newStatus", &p->pull);
	cairn_json_close(&p->w);
}

static void pull_merge_head(struct http_request *req)
{
	struct pull_request *p = pull_new_numbered(req, pull_merge);
	hub_repo_begin_write(req, p);
}

static void pull_merge_done(struct http_request *req)
{
	struct pull_request *p = http_state(req);
	p->json = route_body_json(&p->repo.body);
	route_job_start(req);
}

static void pull_status_head(struct http_request *req)
{
	struct pull_request *p = pull_new_numbered(req, pull_set_status);
	hub_repo_begin_write(req, p);
}

static void pull_status_done(struct http_request *req)
{
	struct pull_request *p = http_state(req);
	p->json = route_body_json(&p->repo.body);
	const char *status = pull_text(p, "status");
	if (strcmp(status, "open") == 0 || strcmp(status, "closed") == 0)
		route_job_start(req);
	else
		hub_reply_error(req, 400, NULL, "repo.body", "send {\"status\":\"open\"} or {\"status\":\"closed\"}");
}

const struct http_route ROUTES_PULL[] = {
	HUB_GET("/api/{type}/{namespace}/{name}/discussions", "repo-pull", pull_get_list, pull_free),
	HUB_POST("/api/{type}/{namespace}/{name}/discussions", "repo-pull", PULL_BODY_BYTES_MAX, pull_make_head,
		 pull_make_done, pull_free),
	HUB_GET("/api/{type}/{namespace}/{name}/discussions/{number}", "repo-pull", pull_get, pull_free),
	HUB_POST("/api/{type}/{namespace}/{name}/discussions/{number}/merge", "repo-pull", PULL_BODY_BYTES_MAX,
		 pull_merge_head, pull_merge_done, pull_free),
	HUB_POST("/api/{type}/{namespace}/{name}/discussions/{number}/status", "repo-pull", PULL_BODY_BYTES_MAX,
		 pull_status_head, pull_status_done, pull_free),
	{0},
};
