/* Lists of repositories: GET /api/{type}, GET /api/settings/repositories, GET
 * /api/organizations/{namespace}/settings/repositories. */
#include "base/percent.h"
#include "server/ask/hub_reply.h"
#include "server/hub/hub_info.h"
#include "server/hub/hub_routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LIST_TEXT_BYTES_MAX = 256, /* of a search text */
	LIST_ESCAPED_BYTES = 3 * LIST_TEXT_BYTES_MAX + 1,
	LIST_CURSOR_ESCAPED_BYTES = 3 * CAIRN_HUB_CURSOR_BYTES,
};

struct list_request {
	struct hub_repo repo;
	struct cairn_hub_repo_list list;
	const char *path; /* the end of the address; NULL: the author's repositories */
	const char *sort; /* as in the request */
	bool settings;    /* the answer is about disk usage only */
	uint64_t bytes;   /* of all listed repositories; 0: not known, since there are further pages */
	struct cairn_json_out w;
	char next[CAIRN_HUB_CURSOR_BYTES];
};

static void list_visit(void *ctx, const struct cairn_index_repo *repo)
{
	struct list_request *l = ctx;
	struct cairn_json_out *w = &l->w;
	char when[HUB_TIME_BYTES];
	cairn_json_open_object(w, NULL);
	if (l->settings) {
		hub_repo_put_id(w, "id", repo);
		cairn_json_put_text(w, "type", hub_kind_name(repo->kind));
		cairn_json_put_text(w, "updatedAt", hub_time(when, repo->updated_unix_ms));
		cairn_json_put_text(w, "visibility", repo->is_private ? "private" : "public");
		cairn_json_put_u64(w, "storage", repo->bytes);
		if (l->bytes > 0)
			cairn_json_put_u64(w, "storagePercent",
					   (uint64_t)(100 * (double)repo->bytes / (double)l->bytes + 0.5));
	} else {
		hub_info_put(l->repo.call.job.app->cas, w, repo);
	}
	cairn_json_close(w);
}

static void list_add_up(void *ctx, const struct cairn_index_repo *repo)
{
	((struct list_request *)ctx)->bytes += repo->bytes;
}

/* Sums up the bytes: shares are of all that the asker sees. */
static enum cairn_status list_sum(struct list_request *l)
{
	struct hub_call *call = &l->repo.call;
	if (!l->settings || l->list.cursor[0])
		return CAIRN_OK;
	enum cairn_status status =
		cairn_hub_list_repos(call->job.app->cas, &call->asker, &l->list, list_add_up, l, l->next);
	l->bytes = l->next[0] ? 0 : l->bytes;
	return status;
}

static void list_run(struct hub_call *call)
{
	struct list_request *l = (struct list_request *)call;
	const struct cairn_hub_asker *asker = &call->asker;
	if (l->settings && !l->list.author) {
		if (asker->kind == CAIRN_HUB_NOBODY) {
			call->status = cairn_fail(&call->diag, CAIRN_E_DENIED, "key.missing", CAIRN_NO_OFFSET,
						  "send an API key in the Authorization header");
			return;
		}
		l->list.author = asker->kind == CAIRN_HUB_OPERATOR ? CAIRN_HUB_OPERATOR_NAME : asker->account.name;
	}
	call->status = list_sum(l);
	if (call->status != CAIRN_OK)
		return;
	l->w = cairn_json_out_init(&call->answer);
	cairn_json_open_array(&l->w, NULL);
	call->status = cairn_hub_list_repos(call->job.app->cas, asker, &l->list, list_visit, l, l->next);
	cairn_json_close(&l->w);
}

static const char *list_escape(char out[static LIST_ESCAPED_BYTES], const char *text)
{
	out[0] = '\0';
	if (text)
		cairn_percent_encode(out, text, CAIRN_PERCENT_UNRESERVED);
	return out;
}

static void list_show(struct http_request *req, struct hub_call *call)
{
	const struct list_request *l = (const struct list_request *)call;
	char author[LIST_ESCAPED_BYTES], search[LIST_ESCAPED_BYTES], sort[LIST_ESCAPED_BYTES];
	char cursor[LIST_CURSOR_ESCAPED_BYTES], path[LIST_ESCAPED_BYTES + 64];
	if (l->path)
		(void)snprintf(path, sizeof(path), "%s", l->path);
	else
		(void)snprintf(path, sizeof(path), "organizations/%s/settings/repositories",
			       list_escape(author, l->list.author));
	cairn_percent_encode(cursor, l->next, CAIRN_PERCENT_UNRESERVED);
	if (!l->next[0] ||
	    hub_reply_next(req, "%s/api/%s?author=%s&search=%s&sort=%s&direction=%s&limit=%" PRIu32 "&cursor=%s",
			   l->repo.base, path, list_escape(author, l->settings ? NULL : l->list.author),
			   list_escape(search, l->list.search), list_escape(sort, l->sort),
			   l->list.ascending ? "1" : "-1", l->list.limit, cursor))
		hub_repo_show(req, call);
}

/* Reads a search text. A text longer than any name matches nothing; an empty one counts as absent. */
static const char *list_text(struct http_request *req, const char *name)
{
	const char *text = http_query_arg(req, name);
	if (!text || !*text)
		return NULL;
	return strlen(text) < LIST_TEXT_BYTES_MAX ? text : "/";
}

static struct list_request *list_new(struct http_request *req, const char *path)
{
	const char *cursor = http_query_arg(req, "cursor");
	struct list_request *l = hub_repo_new(req, sizeof(*l), (enum cairn_index_repo_kind)0, list_run, list_show);
	if (!l)
		return NULL;
	l->path = path;
	l->list.cursor = cursor && strlen(cursor) < CAIRN_HUB_CURSOR_BYTES ? cursor : "";
	l->list.limit = hub_limit(req, CAIRN_INDEX_REPOS_MAX, CAIRN_INDEX_REPOS_MAX);
	return l;
}

/* There are no likes and no trends: a request for such an order gets the order by last change. */
static enum cairn_index_repo_sort list_sort(const char *sort)
{
	if (sort && strcmp(sort, "createdAt") == 0)
		return CAIRN_INDEX_BY_CREATION;
	return sort && strcmp(sort, "id") == 0 ? CAIRN_INDEX_BY_NAME : CAIRN_INDEX_BY_UPDATE;
}

static void list_get(struct http_request *req)
{
	const char *type = http_path_arg(req, "type"), *direction = http_query_arg(req, "direction");
	enum cairn_index_repo_kind kind = hub_kind_of_segment(type);
	struct list_request *l = list_new(req, type);
	if (!l)
		return;
	if (kind == 0) {
		http_reply_error(req, 404, HUB_NO_ROUTE.rule, HUB_NO_ROUTE.message, NULL);
		return;
	}
	l->list.kind = kind;
	l->list.author = list_text(req, "author");
	l->list.search = list_text(req, "search");
	l->sort = list_text(req, "sort");
	l->list.sort = list_sort(l->sort);
	l->list.ascending = direction && strcmp(direction, "1") == 0;
	route_job_start(req);
}

static void list_get_mine(struct http_request *req)
{
	struct list_request *l = list_new(req, "settings/repositories");
	if (!l)
		return;
	l->settings = true;
	route_job_start(req);
}

static void list_get_organisation(struct http_request *req)
{
	struct list_request *l = list_new(req, NULL);
	if (!l)
		return;
	l->settings = true;
	l->list.author = http_path_arg(req, "namespace");
	route_job_start(req);
}

const struct http_route ROUTES_LIST[] = {
	HUB_GET("/api/{type}", "repos", list_get, hub_repo_free),
	HUB_GET("/api/settings/repositories", "repos-storage", list_get_mine, hub_repo_free),
	HUB_GET("/api/organizations/{namespace}/settings/repositories", "repos-storage", list_get_organisation,
		hub_repo_free),
	{0},
};
