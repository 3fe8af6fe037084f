/* Commits and their names: GET /api/{type}/{namespace}/{name}/refs and …/commits/{revision}, POST and DELETE
 * …/branch/{branch} and …/tag/{tag}. */
#include "base/percent.h"
#include "hub/commit.h"
#include "hub/revision.h"
#include "server/ask/html.h"
#include "server/ask/hub_reply.h"
#include "server/ask/hub_repo.h"
#include "server/hub/hub_routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	HISTORY_BODY_BYTES_MAX = 65536,
	HISTORY_PAGE = 50,
	HISTORY_PAGE_MAX = 1000,
	HISTORY_ANSWER_BYTES_MAX = 128 << 20, /* enough for HISTORY_PAGE_MAX commits with long messages */
	HISTORY_TEXT_BYTES_MAX = 1 << 20,
	HISTORY_NAME_BYTES = CAIRN_INDEX_REF_NAME_MAX + 1,
};

struct history_request {
	struct hub_repo repo;
	const char *raw; /* revision, branch or tag in the address; borrowed from the request */
	bool with_pulls, formatted;
	uint64_t page; /* number of the requested page of commits */
	uint32_t limit;
	struct cairn_json_out w;
	enum cairn_index_ref_kind kind; /* kind of the ref to make or delete; while listing, of the open array */
	struct cairn_json *json;        /* the parsed body of a new ref; owned */
	bool overwrite, empty;
	char name[HISTORY_NAME_BYTES];
	char start[CAIRN_HUB_REVISION_MAX + 1];
};

static void history_free(void *state)
{
	struct history_request *h = state;
	if (!h)
		return;
	cairn_json_free(h->json);
	hub_repo_fini(&h->repo);
	free(h);
}

static struct history_request *history_new(struct http_request *req, const char *arg,
					   void (*run)(struct hub_call *call),
					   void (*show)(struct http_request *req, struct hub_call *call))
{
	struct history_request *h = hub_repo_new_git(req, sizeof(*h), run, show);
	if (!h)
		return NULL;
	h->repo.call.answer = cairn_buf_init(HISTORY_ANSWER_BYTES_MAX);
	h->raw = arg ? http_path_arg(req, arg) : NULL;
	return h;
}

/* --- refs --------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *member, *prefix;
} REFS[] = {
	[CAIRN_INDEX_BRANCH] = {"branches", "refs/heads/"},
	[CAIRN_INDEX_TAG] = {"tags", "refs/tags/"},
	[CAIRN_INDEX_PULL] = {"pullRequests", "refs/pr/"},
};

/* Closes the open array of refs, and opens the next ones up to that of this kind. */
static void history_open_refs(struct history_request *h, enum cairn_index_ref_kind kind)
{
	while (h->kind < kind) {
		h->kind++;
		cairn_json_close(&h->w);
		cairn_json_open_array(&h->w, REFS[h->kind].member);
	}
}

static bool history_put_ref(void *ctx, const struct cairn_index_ref_row *ref)
{
	struct history_request *h = ctx;
	char oid[CAIRN_GIT_OID_CHARS + 1], full[CAIRN_INDEX_REF_NAME_MAX + 16];
	if (ref->kind == CAIRN_INDEX_PULL && !h->with_pulls)
		return false; /* the visit may end, because pull requests come last */
	history_open_refs(h, ref->kind);
	cairn_git_oid_text(oid, &ref->commit);
	(void)snprintf(full, sizeof(full), "%s%s", REFS[ref->kind].prefix, ref->name);
	cairn_json_open_object(&h->w, NULL);
	cairn_json_put_text(&h->w, "name", ref->kind == CAIRN_INDEX_PULL ? full : ref->name);
	cairn_json_put_text(&h->w, "ref", full);
	cairn_json_put_text(&h->w, "targetCommit", oid);
	cairn_json_close(&h->w);
	return true;
}

static void history_list_refs(struct hub_call *call)
{
	struct history_request *h = (struct history_request *)call;
	if (!hub_repo_find(&h->repo, CAIRN_HUB_SEE))
		return;
	h->w = cairn_json_out_init(&call->answer);
	cairn_json_open_object(&h->w, NULL);
	cairn_json_open_array(&h->w, "converts");
	call->status = cairn_hub_each_ref(&call->job.app->hub, &h->repo.repo, history_put_ref, h);
	history_open_refs(h, h->with_pulls ? CAIRN_INDEX_PULL : CAIRN_INDEX_TAG);
	cairn_json_close(&h->w);
	cairn_json_close(&h->w);
}

static void history_get_refs(struct http_request *req)
{
	struct history_request *h = history_new(req, NULL, history_list_refs, hub_repo_show);
	if (!h)
		return;
	h->with_pulls = hub_query_is_true(http_query_arg(req, "include_prs"));
	route_job_start(req);
}

/* --- commits ------------------------------------------------------------------------------------------------------ */

/* Writes a commit message as HTML, for the member "formatted". */
static void history_put_html(struct cairn_json_out *w, const char *member, const char *text)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(HISTORY_TEXT_BYTES_MAX);
	html_text(&b, text);
	cairn_buf_add(&b, "", 1);
	cairn_json_put_text(w, member, b.status == CAIRN_OK ? (const char *)b.bytes : "");
}

static void history_put_commit(void *ctx, const struct cairn_index_commit *commit, const char *message)
{
	struct history_request *h = ctx;
	struct cairn_json_out *w = &h->w;
	char oid[CAIRN_GIT_OID_CHARS + 1], when[HUB_TIME_BYTES];
	cairn_git_oid_text(oid, &commit->oid);
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "id", oid);
	cairn_json_put_text(w, "title", commit->title);
	cairn_json_put_text(w, "message", message);
	cairn_json_open_array(w, "authors");
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "user", commit->author);
	cairn_json_close(w);
	cairn_json_close(w);
	cairn_json_put_text(w, "date", hub_time(when, commit->at_unix_s * 1000));
	if (h->formatted) {
		cairn_json_open_object(w, "formatted");
		history_put_html(w, "title", commit->title);
		history_put_html(w, "message", message);
		cairn_json_close(w);
	}
	cairn_json_close(w);
}

static void history_list_commits(struct hub_call *call)
{
	struct history_request *h = (struct history_request *)call;
	if (!hub_repo_find_commit(&h->repo, CAIRN_HUB_SEE, h->raw))
		return;
	h->w = cairn_json_out_init(&call->answer);
	cairn_json_open_array(&h->w, NULL);
	if (h->page < h->repo.commit.number) /* otherwise the page is empty, and the product might overflow */
		call->status = cairn_hub_each_commit(&call->job.app->hub, &h->repo.commit, h->page * h->limit, h->limit,
						     history_put_commit, h);
	cairn_json_close(&h->w);
}

static void history_show_commits(struct http_request *req, struct hub_call *call)
{
	const struct history_request *h = (const struct history_request *)call;
	const struct hub_repo *r = &h->repo;
	char total[24];
	(void)snprintf(total, sizeof(total), "%" PRIu64, r->commit.number);
	http_reply_header(req, "X-Total-Count", total);
	bool more = h->page < r->commit.number && (h->page + 1) * h->limit < r->commit.number;
	if (!more || hub_reply_next(req, "%s%s%s/%s/commits/%s?p=%" PRIu64 "&limit=%" PRIu32 "%s", r->base,
				    hub_kind_api(r->kind), r->repo.account_name, r->repo.name, call->commit,
				    h->page + 1, h->limit, h->formatted ? "&expand[]=formatted" : ""))
		hub_repo_show(req, call);
}

static bool history_is_formatted(void *ctx, const char *value)
{
	bool *formatted = ctx;
	*formatted = strcmp(value, "formatted") == 0;
	return !*formatted;
}

static void history_get_commits(struct http_request *req)
{
	struct history_request *h = history_new(req, "revision", history_list_commits, history_show_commits);
	if (!h)
		return;
	h->page = http_query_number_or_0(req, "p", UINT64_MAX);
	h->limit = hub_limit(req, HISTORY_PAGE, HISTORY_PAGE_MAX);
	http_query_each(req, "expand[]", history_is_formatted, &h->formatted);
	if (!h->formatted)
		http_query_each(req, "expand", history_is_formatted, &h->formatted);
	route_job_start(req);
}

/* --- branches and tags -------------------------------------------------------------------------------------------- */

static void history_add_ref(struct hub_call *call)
{
	struct history_request *h = (struct history_request *)call;
	/* Overwriting main loses its commits, like a squash, and needs admin. Other branches can be deleted anyway. */
	bool resets = h->kind == CAIRN_INDEX_BRANCH && h->overwrite && strcmp(h->name, CAIRN_HUB_MAIN) == 0;
	if (!hub_repo_find(&h->repo, resets ? CAIRN_HUB_ADMIN : CAIRN_HUB_WRITE))
		return;
	struct cairn_hub_new_ref ref = {.kind = h->kind,
					.name = h->name,
					.start = h->start[0] ? h->start : NULL,
					.empty = h->empty,
					.overwrite = h->overwrite};
	call->status = cairn_hub_add_ref(&call->job.app->hub, &call->asker, &h->repo.repo, &ref, &call->diag);
	cairn_buf_printf(&call->answer, "{}");
}

static void history_squash(struct hub_call *call)
{
	struct history_request *h = (struct history_request *)call;
	const char *title = cairn_json_text_of(h->json, "message");
	if (hub_repo_find(&h->repo, CAIRN_HUB_ADMIN))
		call->status = cairn_hub_squash(&call->job.app->hub, &call->asker, &h->repo.repo, h->name,
						title && title[0] ? title : "Super-squash branch", &call->diag);
	cairn_buf_printf(&call->answer, "{}");
}

static void history_drop_ref(struct hub_call *call)
{
	struct history_request *h = (struct history_request *)call;
	if (hub_repo_find(&h->repo, CAIRN_HUB_WRITE))
		call->status = cairn_hub_drop_ref(&call->job.app->hub, &h->repo.repo, h->kind, h->name, &call->diag);
	cairn_buf_printf(&call->answer, "{}");
}

static void history_refuse_body(struct http_request *req, const char *expected)
{
	hub_reply_error(req, 400, NULL, "repo.body", expected);
}

static void history_branch_head(struct http_request *req)
{
	struct history_request *h = history_new(req, "branch", history_add_ref, hub_repo_show);
	hub_repo_begin_write(req, h);
}

static void history_branch_done(struct http_request *req)
{
	struct history_request *h = http_state(req);
	h->kind = CAIRN_INDEX_BRANCH;
	h->json = route_body_json(&h->repo.body);
	(void)cairn_json_bool_of(h->json, "emptyBranch", &h->empty);
	(void)cairn_json_bool_of(h->json, "overwrite", &h->overwrite);
	bool good = h->repo.body.in.len == 0 || cairn_json_is_object(h->json);
	bool unsaid = cairn_json_is_null(cairn_json_get(h->json, "startingPoint"));
	if (good && cairn_percent_decode(h->name, sizeof(h->name), h->raw) &&
	    (unsaid || cairn_json_copy_of(h->json, "startingPoint", "", h->start, sizeof(h->start))))
		route_job_start(req);
	else
		history_refuse_body(req,
				    "send {\"startingPoint\":REVISION}, or nothing, to a name of at most 255 bytes");
}

static void history_tag_head(struct http_request *req)
{
	struct history_request *h = history_new(req, "revision", history_add_ref, hub_repo_show);
	hub_repo_begin_write(req, h);
}

static void history_tag_done(struct http_request *req)
{
	struct history_request *h = http_state(req);
	h->kind = CAIRN_INDEX_TAG;
	h->json = route_body_json(&h->repo.body);
	if (cairn_percent_decode(h->start, sizeof(h->start), h->raw) &&
	    cairn_json_copy_of(h->json, "tag", NULL, h->name, sizeof(h->name)) && h->name[0])
		route_job_start(req);
	else
		history_refuse_body(req, "send {\"tag\":NAME}, of at most 255 bytes");
}

static void history_squash_head(struct http_request *req)
{
	struct history_request *h = history_new(req, "branch", history_squash, hub_repo_show);
	hub_repo_begin_write(req, h);
}

static void history_squash_done(struct http_request *req)
{
	struct history_request *h = http_state(req);
	h->json = route_body_json(&h->repo.body);
	/* a name that is too long matches no ref */
	(void)cairn_percent_decode(h->name, sizeof(h->name), h->raw);
	if (h->repo.body.in.len == 0 || cairn_json_is_object(h->json))
		route_job_start(req);
	else
		history_refuse_body(req, "send {\"message\":TITLE}, or nothing");
}

static void history_delete(struct http_request *req, const char *arg, enum cairn_index_ref_kind kind)
{
	struct history_request *h = history_new(req, arg, history_drop_ref, hub_repo_show);
	if (!h)
		return;
	h->kind = kind;
	/* a name that is too long matches no ref */
	(void)cairn_percent_decode(h->name, sizeof(h->name), h->raw);
	route_job_start(req);
}

static void history_delete_branch(struct http_request *req)
{
	history_delete(req, "branch", CAIRN_INDEX_BRANCH);
}

static void history_delete_tag(struct http_request *req)
{
	history_delete(req, "revision", CAIRN_INDEX_TAG);
}

const struct http_route ROUTES_HISTORY[] = {
	HUB_GET("/api/{type}/{namespace}/{name}/refs", "repo-refs", history_get_refs, history_free),
	HUB_GET("/api/{type}/{namespace}/{name}/commits/{revision*}", "repo-commits", history_get_commits,
		history_free),
	HUB_POST("/api/{type}/{namespace}/{name}/branch/{branch*}", "repo-branch", HISTORY_BODY_BYTES_MAX,
		 history_branch_head, history_branch_done, history_free),
	HUB_DELETE("/api/{type}/{namespace}/{name}/branch/{branch*}", "repo-branch", history_delete_branch,
		   history_free),
	HUB_POST("/api/{type}/{namespace}/{name}/super-squash/{branch*}", "repo-squash", HISTORY_BODY_BYTES_MAX,
		 history_squash_head, history_squash_done, history_free),
	HUB_POST("/api/{type}/{namespace}/{name}/tag/{revision*}", "repo-tag", HISTORY_BODY_BYTES_MAX, history_tag_head,
		 history_tag_done, history_free),
	HUB_DELETE("/api/{type}/{namespace}/{name}/tag/{revision*}", "repo-tag", history_delete_tag, history_free),
	{0},
};
