/* Lists of repositories: GET /api/{type}, GET /api/settings/repositories, GET
 * /api/organizations/{namespace}/settings/repositories. */
#include "base/percent.h"
#include "server/ask/hub_reply.h"
#include "server/hub/hub_filter.h"
#include "server/hub/hub_info.h"
#include "server/hub/hub_routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LIST_TEXT_BYTES_MAX = 256, /* longest search text */
	LIST_ESCAPED_BYTES = 3 * LIST_TEXT_BYTES_MAX + 1,
	LIST_CURSOR_ESCAPED_BYTES = 3 * CAIRN_HUB_CURSOR_BYTES,
	LIST_QUERY_BYTES_MAX = 8192,
	/* enough for the long properties of LIST_LONG_MAX repositories */
	LIST_ANSWER_BYTES_MAX = 16 << 20,
	LIST_LONG_MAX = 100,
	LIST_SIBLINGS_MAX = 20,
	LIST_SIBLINGS_OF_ONE_MAX = 1000,
	LIST_SIBLINGS_BYTES_MAX = 512 * 1024, /* siblings of one repository */
};
_Static_assert(LIST_LONG_MAX *(CAIRN_INDEX_CARD_DATA_MAX + CAIRN_INDEX_CARD_TAGS_MAX + CAIRN_INDEX_CARD_CONFIG_MAX +
			       2048) < LIST_ANSWER_BYTES_MAX,
	       "a page with cards fits");
_Static_assert(CAIRN_INDEX_REPOS_MAX *(CAIRN_INDEX_CARD_TAGS_MAX + 2048) < LIST_ANSWER_BYTES_MAX,
	       "a page with tags fits");

/* A repository whose files are written later, when all repositories were read. */
struct list_item {
	struct cairn_index_repo repo;
	struct cairn_buf text; /* its description: an object that is still open; owned */
	struct cairn_json_out w;
};

struct list_request {
	struct hub_repo repo;
	struct cairn_hub_repo_list list;
	const char *path; /* the path of the route, for the next page; NULL: that of the author's repositories */
	const char *sort; /* the order, as in the request */
	bool settings;    /* the answer is only about disk usage */
	uint64_t bytes;   /* bytes of all listed repositories; 0: unknown, because there are further pages */
	struct hub_filter filter;
	const char *words[CAIRN_INDEX_WORDS_ASKED_MAX];
	unsigned wanted;         /* enum hub_property */
	struct list_item *items; /* room for LIST_SIBLINGS_MAX, owned; NULL: no files are listed */
	uint32_t n_items;
	struct cairn_json_out w;
	char next[CAIRN_HUB_CURSOR_BYTES];
};

static void list_free(void *state)
{
	struct list_request *l = state;
	if (!l)
		return;
	for (uint32_t i = 0; i < l->n_items; i++)
		cairn_buf_fini(&l->items[i].text);
	free(l->items);
	hub_repo_fini(&l->repo);
	free(l);
}

static void list_put_usage(const struct list_request *l, struct cairn_json_out *w, const struct cairn_index_repo *repo)
{
	char when[HUB_TIME_BYTES];
	hub_repo_put_id(w, "id", repo);
	cairn_json_put_text(w, "type", hub_kind_name(repo->kind));
	cairn_json_put_text(w, "updatedAt", hub_time(when, repo->updated_unix_ms));
	cairn_json_put_text(w, "visibility", repo->is_private ? "private" : "public");
	cairn_json_put_u64(w, "storage", repo->bytes);
	if (l->bytes > 0)
		cairn_json_put_u64(w, "storagePercent", (uint64_t)(100 * (double)repo->bytes / (double)l->bytes + 0.5));
}

/* Writes a repository of the list. Leaves out what config.json says, because a list does not check who may read the
 * files of each gated repository. */
static void list_put_repo(const struct list_request *l, struct cairn_json_out *w, const struct cairn_index_repo *repo)
{
	char oid[CAIRN_GIT_OID_CHARS + 1];
	unsigned hidden = repo->gate != CAIRN_INDEX_GATE_NONE ? HUB_CONFIG : 0;
	hub_info_put(l->repo.call.job.app->cas, w, repo, l->wanted);
	if (repo->card)
		hub_info_put_card(w, repo->card, l->wanted & ~hidden);
	if (l->wanted & HUB_STORAGE)
		cairn_json_put_u64(w, "usedStorage", repo->bytes);
	if (repo->head) {
		cairn_git_oid_text(oid, repo->head);
		cairn_json_put_text(w, "sha", oid);
	}
}

static void list_visit_item(struct list_request *l, const struct cairn_index_repo *repo)
{
	if (l->n_items == LIST_SIBLINGS_MAX)
		return;
	struct list_item *item = &l->items[l->n_items++];
	item->repo = *repo;
	item->repo.card = NULL;
	item->repo.head = NULL;
	item->text = cairn_buf_init(LIST_ANSWER_BYTES_MAX);
	item->w = cairn_json_out_init(&item->text);
	cairn_json_open_object(&item->w, NULL);
	list_put_repo(l, &item->w, repo);
}

static void list_visit(void *ctx, const struct cairn_index_repo *repo)
{
	struct list_request *l = ctx;
	if (l->items) {
		list_visit_item(l, repo);
		return;
	}
	cairn_json_open_object(&l->w, NULL);
	if (l->settings)
		list_put_usage(l, &l->w, repo);
	else
		list_put_repo(l, &l->w, repo);
	cairn_json_close(&l->w);
}

/* Writes an item with its files, unless the repository was removed meanwhile. */
static enum cairn_status list_put_item(struct list_request *l, struct list_item *item)
{
	struct hub_call *call = &l->repo.call;
	const struct cairn_hub *hub = &call->job.app->hub;
	struct cairn_diag unsaid = {0};
	struct cairn_index_commit head;
	enum cairn_status status = cairn_hub_find_ref(hub, &item->repo, CAIRN_HUB_MAIN, &head, &unsaid);
	if (status == CAIRN_E_NOT_FOUND)
		return CAIRN_OK;
	const struct hub_siblings how = {.n_max = LIST_SIBLINGS_OF_ONE_MAX,
					 .bytes_max = item->text.len + LIST_SIBLINGS_BYTES_MAX};
	if (status == CAIRN_OK)
		status = hub_info_put_siblings(hub, &item->w, &head, &how, &call->diag);
	cairn_json_close(&item->w);
	cairn_buf_add(&item->text, "", 1);
	if (status == CAIRN_OK)
		status = item->text.status;
	if (status == CAIRN_OK)
		cairn_json_put_raw(&l->w, NULL, (const char *)item->text.bytes);
	cairn_buf_fini(&item->text);
	return status;
}

static void list_add_up(void *ctx, const struct cairn_index_repo *repo)
{
	((struct list_request *)ctx)->bytes += repo->bytes;
}

/* Sums up the bytes of all repositories that the asker sees. The answer gives each repository's share of them. */
static enum cairn_status list_sum(struct list_request *l)
{
	struct hub_call *call = &l->repo.call;
	if (!l->settings || l->list.cursor[0])
		return CAIRN_OK;
	enum cairn_status status =
		cairn_hub_list_repos(&call->job.app->hub, &call->asker, &l->list, list_add_up, l, l->next);
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
	call->status = cairn_hub_list_repos(&call->job.app->hub, asker, &l->list, list_visit, l, l->next);
	for (uint32_t i = 0; i < l->n_items && call->status == CAIRN_OK; i++)
		call->status = list_put_item(l, &l->items[i]);
	cairn_json_close(&l->w);
}

static const char *list_escape(char out[static LIST_ESCAPED_BYTES], const char *text)
{
	out[0] = '\0';
	if (text)
		cairn_percent_encode(out, text, CAIRN_PERCENT_UNRESERVED);
	return out;
}

/* Appends the query arguments that the request for the next page repeats: "&filter=a&expand=tags". */
static void list_put_query(struct cairn_buf *out, const struct list_request *l)
{
	hub_filter_put(out, &l->filter);
	if (!l->settings && l->wanted != HUB_BRIEF)
		for (unsigned bit = 1; bit < HUB_FULL; bit <<= 1)
			if (l->wanted & bit)
				cairn_buf_printf(out, "&expand=%s", hub_property_name((enum hub_property)bit));
	cairn_buf_add(out, "", 1);
}

static void list_show(struct http_request *req, struct hub_call *call)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf query = cairn_buf_init(LIST_QUERY_BYTES_MAX);
	const struct list_request *l = (const struct list_request *)call;
	char author[LIST_ESCAPED_BYTES], search[LIST_ESCAPED_BYTES], sort[LIST_ESCAPED_BYTES];
	char cursor[LIST_CURSOR_ESCAPED_BYTES], path[LIST_ESCAPED_BYTES + 64];
	if (l->path)
		(void)snprintf(path, sizeof(path), "%s", l->path);
	else
		(void)snprintf(path, sizeof(path), "organizations/%s/settings/repositories",
			       list_escape(author, l->list.author));
	cairn_percent_encode(cursor, l->next, CAIRN_PERCENT_UNRESERVED);
	list_put_query(&query, l);
	if (!l->next[0] || query.status != CAIRN_OK ||
	    hub_reply_next(req, "%s/api/%s?author=%s&search=%s&sort=%s&direction=%s&limit=%" PRIu32 "%s&cursor=%s",
			   l->repo.base, path, list_escape(author, l->settings ? NULL : l->list.author),
			   list_escape(search, l->list.search), list_escape(sort, l->sort),
			   l->list.ascending ? "1" : "-1", l->list.limit, (const char *)query.bytes, cursor))
		hub_repo_show(req, call);
}

/* Reads a search text. A text longer than any name matches nothing, as "//" does, which no name has. An empty text
 * counts as absent. */
static const char *list_text(struct http_request *req, const char *name)
{
	const char *text = http_query_arg(req, name);
	if (!text || !*text)
		return NULL;
	return strlen(text) < LIST_TEXT_BYTES_MAX ? text : "//";
}

static struct list_request *list_new(struct http_request *req, const char *path)
{
	const char *cursor = http_query_arg(req, "cursor");
	struct list_request *l = hub_repo_new(req, sizeof(*l), (enum cairn_index_repo_kind)0, list_run, list_show);
	if (!l)
		return NULL;
	l->repo.call.answer = cairn_buf_init(LIST_ANSWER_BYTES_MAX);
	l->path = path;
	l->list.cursor = cursor && strlen(cursor) < CAIRN_HUB_CURSOR_BYTES ? cursor : "";
	l->list.limit = hub_limit(req, CAIRN_INDEX_REPOS_MAX, CAIRN_INDEX_REPOS_MAX);
	return l;
}

/* Returns the order of a list. There are no likes and no trends here: those orders become the order by last change. */
static enum cairn_index_repo_sort list_sort(const char *sort)
{
	if (sort && strcmp(sort, "createdAt") == 0)
		return CAIRN_INDEX_BY_CREATION;
	return sort && strcmp(sort, "id") == 0 ? CAIRN_INDEX_BY_NAME : CAIRN_INDEX_BY_UPDATE;
}

/* Reads which properties are wanted. Long properties make pages shorter. @return false: an error was replied */
static bool list_read_wanted(struct http_request *req, struct list_request *l)
{
	bool full = hub_query_is_true(http_query_arg(req, "full")), is_model = l->list.kind == CAIRN_INDEX_MODEL;
	unsigned otherwise = HUB_BRIEF;
	if (full)
		otherwise |= HUB_SHA | HUB_SIBLINGS | (is_model ? 0 : HUB_CARD_DATA);
	if (hub_query_is_true(http_query_arg(req, "cardData")))
		otherwise |= HUB_CARD_DATA;
	if (hub_query_is_true(http_query_arg(req, "config")))
		otherwise |= HUB_CONFIG;
	if (!hub_properties_read(req, otherwise, &l->wanted))
		return false;
	l->list.cards = (l->wanted & HUB_OF_CARD) != 0;
	l->list.heads = (l->wanted & HUB_SHA) != 0;
	if ((l->wanted & (HUB_CARD_DATA | HUB_CONFIG)) && l->list.limit > LIST_LONG_MAX)
		l->list.limit = LIST_LONG_MAX;
	if ((l->wanted & HUB_SIBLINGS) && l->list.limit > LIST_SIBLINGS_MAX)
		l->list.limit = LIST_SIBLINGS_MAX;
	return true;
}

/* Reads which repositories are wanted. @return false: an error was replied */
static bool list_read_filter(struct http_request *req, struct list_request *l)
{
	if (!hub_filter_read(req, &l->filter))
		return false;
	for (uint32_t i = 0; i < l->filter.n_words; i++)
		l->words[i] = l->filter.words[i];
	l->list.words = l->words;
	l->list.n_words = l->filter.n_words;
	l->list.gated = l->filter.gated;
	l->list.is_private = l->filter.is_private;
	return true;
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
	if (!list_read_wanted(req, l) || !list_read_filter(req, l))
		return;
	if (l->wanted & HUB_SIBLINGS) {
		l->items = calloc(LIST_SIBLINGS_MAX, sizeof(*l->items));
		if (!l->items) {
			http_reply_status(req, CAIRN_E_NOMEM, NULL);
			return;
		}
	}
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
	HUB_GET("/api/{type}", "repos", list_get, list_free),
	HUB_GET("/api/settings/repositories", "repos-storage", list_get_mine, list_free),
	HUB_GET("/api/organizations/{namespace}/settings/repositories", "repos-storage", list_get_organisation,
		list_free),
	{0},
};
