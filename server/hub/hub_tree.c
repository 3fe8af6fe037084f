/* The files and folders of a repository at a revision: GET /api/{type}/{namespace}/{name}/tree/{revision}[/{path}],
 * POST …/paths-info/{revision}. */
#include "base/percent.h"
#include "server/ask/hub_entry.h"
#include "server/ask/hub_reply.h"
#include "server/ask/hub_repo.h"
#include "server/hub/hub_routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TREE_BODY_BYTES_MAX = 8 << 20,
	TREE_ANSWER_BYTES_MAX = 32 << 20,
	TREE_PATHS_MAX = 1000,
	TREE_NAME_BYTES = 32, /* room for the name of a form's field */
	TREE_ESCAPED_BYTES = 3 * CAIRN_INDEX_PATH_MAX + 1,
};

struct tree_request {
	struct hub_repo repo;
	struct hub_entries entries; /* owned */
	const char *place;  /* the revision, and the path of a tree, as in the address; borrowed from the request */
	const char *cursor; /* as in the address; borrowed from the request */
	bool recursive, expand, is_form;
	uint32_t limit, n_asked;
	char folder[CAIRN_INDEX_PATH_MAX + 1];
	char next[CAIRN_INDEX_PATH_MAX + 1];
};

static void tree_free(void *state)
{
	struct tree_request *t = state;
	if (!t)
		return;
	hub_entries_fini(&t->entries);
	hub_repo_fini(&t->repo);
	free(t);
}

static struct tree_request *tree_new(struct http_request *req, void (*run)(struct hub_call *call),
				     void (*show)(struct http_request *req, struct hub_call *call))
{
	struct tree_request *t = hub_repo_new_git(req, sizeof(*t), run, show);
	if (!t)
		return NULL;
	t->place = http_path_arg(req, "revision");
	t->repo.call.answer = cairn_buf_init(TREE_ANSWER_BYTES_MAX);
	return t;
}

static void tree_put(struct tree_request *t)
{
	struct hub_call *call = &t->repo.call;
	struct cairn_json_out w = cairn_json_out_init(&call->answer);
	cairn_json_open_array(&w, NULL);
	call->status = hub_entries_put(&w, &call->job.app->hub, &t->entries, t->expand);
	cairn_json_close(&w);
}

static void tree_list(struct hub_call *call)
{
	struct tree_request *t = (struct tree_request *)call;
	if (!hub_repo_find_place(&t->repo, CAIRN_HUB_SEE, t->place, t->folder))
		return;
	struct cairn_hub_tree_page page = {
		.folder = t->folder, .recursive = t->recursive, .after = t->cursor, .limit = t->limit};
	call->status = cairn_hub_list_tree(&call->job.app->hub, &t->repo.commit, &page, hub_entries_visit, &t->entries,
					   t->next, &call->diag);
	if (call->status == CAIRN_OK)
		tree_put(t);
}

/* Replies with a page of the list. The next page's address has the commit, so pages fit even if the branch moves. */
static void tree_show_list(struct http_request *req, struct hub_call *call)
{
	const struct tree_request *t = (const struct tree_request *)call;
	char folder[TREE_ESCAPED_BYTES], cursor[TREE_ESCAPED_BYTES];
	cairn_percent_encode(folder, t->folder, CAIRN_PERCENT_PATH);
	cairn_percent_encode(cursor, t->next, CAIRN_PERCENT_UNRESERVED);
	if (!t->next[0] ||
	    hub_reply_next(req, "%s%s%s/%s/tree/%s%s%s?recursive=%s&expand=%s&limit=%" PRIu32 "&cursor=%s",
			   t->repo.base, hub_kind_api(t->repo.kind), t->repo.repo.account_name, t->repo.repo.name,
			   call->commit, *folder ? "/" : "", folder, t->recursive ? "true" : "false",
			   t->expand ? "true" : "false", t->limit, cursor))
		hub_repo_show(req, call);
}

static void tree_get(struct http_request *req)
{
	const char *cursor = http_query_arg(req, "cursor");
	struct tree_request *t = tree_new(req, tree_list, tree_show_list);
	if (!t)
		return;
	t->recursive = hub_query_is_true(http_query_arg(req, "recursive"));
	t->expand = hub_query_is_true(http_query_arg(req, "expand"));
	t->cursor = cursor && strlen(cursor) <= CAIRN_INDEX_PATH_MAX ? cursor : "";
	t->limit = hub_limit(req, CAIRN_HUB_TREE_PAGE_MAX, CAIRN_HUB_TREE_PAGE_MAX);
	route_job_start(req);
}

/* Writes the entry of a path. Writes nothing for a missing path. */
static void tree_write_path(struct tree_request *t, const char *path)
{
	struct hub_call *call = &t->repo.call;
	struct cairn_index_entry entry;
	struct cairn_diag unsaid = {0};
	if (call->status == CAIRN_OK && t->n_asked++ == TREE_PATHS_MAX)
		call->status = cairn_fail(&call->diag, CAIRN_E_USAGE, "paths.body", CAIRN_NO_OFFSET,
					  "more than %d paths; ask several times", TREE_PATHS_MAX);
	if (call->status != CAIRN_OK || !path[0])
		return;
	call->status = cairn_hub_find_entry(&call->job.app->hub, &t->repo.commit, path, &entry, &unsaid);
	if (call->status == CAIRN_OK)
		hub_entries_add(&t->entries, &entry, path);
	else if (call->status == CAIRN_E_NOT_FOUND)
		call->status = CAIRN_OK;
}

static void tree_write_of_json(struct tree_request *t, const struct cairn_json *json)
{
	const struct cairn_json *paths = cairn_json_get(json, "paths");
	(void)cairn_json_bool_of(json, "expand", &t->expand);
	for (size_t i = 0; i < cairn_json_count(paths); i++) {
		const char *path = cairn_json_string(cairn_json_at(paths, i));
		if (path)
			tree_write_path(t, path);
	}
}

/* Reads name=value of a form, where "+" is a space. @return true: both are valid */
static bool tree_form_pair(const char *pair, size_t len, char name[static TREE_NAME_BYTES],
			   char value[static CAIRN_INDEX_PATH_MAX + 1])
{
	char text[3 * TREE_NAME_BYTES + TREE_ESCAPED_BYTES];
	if (len >= sizeof(text))
		return false;
	for (size_t i = 0; i < len; i++)
		text[i] = pair[i] == '+' ? ' ' : pair[i];
	text[len] = '\0';
	char *equals = strchr(text, '=');
	if (!equals)
		return false;
	*equals = '\0';
	return cairn_percent_decode(name, TREE_NAME_BYTES, text) &&
	       cairn_percent_decode(value, CAIRN_INDEX_PATH_MAX + 1, equals + 1);
}

static void tree_write_of_form(struct tree_request *t, const char *form, size_t len)
{
	char name[TREE_NAME_BYTES], value[CAIRN_INDEX_PATH_MAX + 1];
	for (size_t at = 0, n; at < len; at += n + 1) {
		const char *end = memchr(form + at, '&', len - at);
		n = end ? (size_t)(end - form) - at : len - at;
		if (!tree_form_pair(form + at, n, name, value))
			continue;
		if (strcmp(name, "paths") == 0 || strcmp(name, "paths[]") == 0)
			tree_write_path(t, value);
		else if (strcmp(name, "expand") == 0)
			t->expand = hub_query_is_true(value);
	}
}

static void tree_write_paths(struct hub_call *call)
{
	struct tree_request *t = (struct tree_request *)call;
	const struct cairn_body *body = &t->repo.body.in;
	if (!hub_repo_find_commit(&t->repo, CAIRN_HUB_SEE, t->place))
		return;
	CLEANUP(cairn_json_freep) struct cairn_json *json = t->is_form ? NULL : route_body_json_list(&t->repo.body);
	if (!t->is_form && !cairn_json_is_array(cairn_json_get(json, "paths"))) {
		call->status = cairn_fail(&call->diag, CAIRN_E_USAGE, "paths.body", CAIRN_NO_OFFSET,
					  "send {\"paths\":[PATH, ...]}, or a form of paths=PATH");
		return;
	}
	if (t->is_form)
		tree_write_of_form(t, (const char *)body->bytes, body->len);
	else
		tree_write_of_json(t, json);
	if (call->status == CAIRN_OK)
		tree_put(t);
}

static void tree_paths_head(struct http_request *req)
{
	const char *type = http_header(req, "Content-Type");
	struct tree_request *t = tree_new(req, tree_write_paths, hub_repo_show);
	if (!t)
		return;
	t->is_form = type && strncasecmp(type, "application/x-www-form-urlencoded", 33) == 0;
	t->repo.call.mirrors = true; /* this POST only reads, so it may wait for the mirrored hub */
	hub_repo_begin_in(req, t, CAIRN_HUB_READ);
}

const struct http_route ROUTES_TREE[] = {
	HUB_GET("/api/{type}/{namespace}/{name}/tree/{revision*}", "repo-tree", tree_get, tree_free),
	HUB_POST("/api/{type}/{namespace}/{name}/paths-info/{revision*}", "repo-paths-info", TREE_BODY_BYTES_MAX,
		 tree_paths_head, hub_repo_done, tree_free),
	{0},
};
