/* The home page: the repositories, and how tools connect. GET / */
#include "hub/search.h"
#include "server/page/page.h"
#include "server/page/page_files.h"
#include "server/page/page_paths.h"
#include "server/page/page_routes.h"

#include <stdio.h>
#include <string.h>

enum { HOME_SEARCH_MAX = CAIRN_HUB_FIND_TEXT_MAX, HOME_PATHS = 10 };

struct home {
	struct page page;
	const char *search, *cursor;     /* borrowed from the request */
	enum cairn_index_repo_kind kind; /* 0: any kind */
};

static void home_put_search(struct cairn_buf *b, const struct home *home)
{
	html(b, "<form class=\"find\" role=\"search\" action=\"/\">");
	if (home->kind != 0)
		html(b, "<input type=\"hidden\" name=\"kind\" value=\"%s\">", hub_kind_name(home->kind));
	html(b,
	     "<label class=\"away\" for=\"q\">Search by name, path or hash</label><input type=\"search\" id=\"q\" name=\"q\" "
	     "value=\"%s\" placeholder=\"Name, path, or any hash\" maxlength=\"%d\" data-filter=\"repos\" "
	     "autocomplete=\"off\"><button>Search</button></form>\n",
	     home->search, HOME_SEARCH_MAX);
}

/* Appends the arguments that are set, as "kind=model&q=cats&". */
static void home_put_query(struct cairn_buf *b, enum cairn_index_repo_kind kind, const char *search)
{
	if (kind != 0)
		html(b, "kind=%s&", hub_kind_name(kind));
	if (search[0]) {
		html(b, "q=");
		html_path(b, search);
		html(b, "&");
	}
}

static void home_put_kind(struct cairn_buf *b, const struct home *home, enum cairn_index_repo_kind kind,
			  const char *name)
{
	html(b, "<a href=\"/?");
	if (kind != 0)
		html(b, "kind=%s", hub_kind_name(kind));
	if (home->search[0]) {
		html(b, kind != 0 ? "&amp;q=" : "q=");
		html_path(b, home->search);
	}
	html(b, home->kind == kind ? "\" aria-current=\"page\">%s</a>" : "\">%s</a>", name);
}

static void home_put_kinds(struct cairn_buf *b, const struct home *home)
{
	html(b, "<nav class=\"kinds\" aria-label=\"Kinds\">");
	home_put_kind(b, home, (enum cairn_index_repo_kind)0, "All");
	home_put_kind(b, home, CAIRN_INDEX_MODEL, "Models");
	home_put_kind(b, home, CAIRN_INDEX_DATASET, "Datasets");
	home_put_kind(b, home, CAIRN_INDEX_SPACE, "Spaces");
	home_put_kind(b, home, CAIRN_INDEX_KERNEL, "Kernels");
	home_put_kind(b, home, CAIRN_INDEX_BUCKET, "Buckets");
	html(b, "</nav>\n");
}

static void home_put_nothing(struct page *page)
{
	struct cairn_buf *b = page_out(page);
	if (page_asker(page)->kind == CAIRN_HUB_NOBODY)
		html(b, "<div class=\"empty\"><h2>Nothing public is here</h2><p><a href=\"/login\">Sign in</a> to see "
			"what "
			"is yours, or that of an organisation of yours.</p></div>\n");
	else
		html(b, "<div class=\"empty\"><h2>Nothing is here yet</h2><p><a href=\"/new\">Make a repository or a "
			"bucket</a>, or type "
			"<code>hf buckets create NAME</code> or <code>hf upload</code> once the lines beside this are "
			"set.</p></div>\n");
}

/* Is the text a hash? A name may consist of hexadecimal digits, too, but hardly of so many. */
static bool home_is_hash(const char *text)
{
	return strlen(text) >= CAIRN_GIT_OID_CHARS && cairn_hub_is_searched(text);
}

/* Returns a namespace for an example. */
static const char *home_namespace(const struct cairn_hub_asker *asker)
{
	if (asker->kind == CAIRN_HUB_NOBODY)
		return "NAME";
	return asker->kind == CAIRN_HUB_OPERATOR ? CAIRN_HUB_OPERATOR_NAME : asker->account.name;
}

/* Appends files with the text in their paths. Repositories with the text in their names are listed before. */
static void home_put_paths(const struct home *home, struct page *page)
{
	struct cairn_buf *b = page_out(page);
	if (!home->search[0] || home->cursor || home->kind != 0)
		return;
	html(b, "<h2>In paths</h2>\n");
	if (page_paths_put_all(page, home->search, HOME_PATHS)) {
		html(b, "<p><a href=\"/search?q=");
		html_path(b, home->search);
		html(b, "\">More files</a></p>\n");
	}
}

static void home_build(struct page *page)
{
	const struct home *home = (const struct home *)page;
	CLEANUP(cairn_buf_fini) struct cairn_buf more = cairn_buf_init(4096);
	struct cairn_buf *b = page_out(page);
	const char *who = home_namespace(page_asker(page));
	char lines[CAIRN_INDEX_ACCOUNT_NAME_MAX + 128];
	bool chosen = home->search[0] || home->cursor || home->kind != 0;
	if (home_is_hash(home->search)) {
		(void)snprintf(page->location, sizeof(page->location), "/search?q=%s", home->search);
		return;
	}
	cairn_buf_printf(&more, "/?");
	home_put_query(&more, home->kind, home->search);
	cairn_buf_add(&more, "", 1);
	const struct page_repos repos = {.kind = home->kind,
					 .search = home->search,
					 .cursor = home->cursor,
					 .more = more.status == CAIRN_OK ? (const char *)more.bytes : "/?"};
	page_begin(page, "Repositories", NULL, 0);
	html(b, "<div class=\"with-aside\"><section aria-labelledby=\"title\"><h1 id=\"title\">Repositories</h1>\n");
	home_put_search(b, home);
	home_put_kinds(b, home);
	if (page->notice[0])
		page_put_notice(page);
	else if (!page_put_repos(page, &repos))
		home_put_nothing(page);
	home_put_paths(home, page);
	if (!chosen)
		page_put_files_link(page);
	if (chosen || page->notice[0])
		html(b, "<p><a href=\"/\">All of them</a></p>\n");
	html(b, "</section>\n<aside aria-labelledby=\"use-title\"><h2 id=\"use-title\">Use it</h2>\n");
	(void)snprintf(lines, sizeof(lines),
		       "hf upload model ./folder\nhf buckets create data\nhf sync ./folder hf://buckets/%s/data\n",
		       who);
	page_put_endpoint(page, lines);
	html(b, "<p>The tools of the hub work with nothing but this address: <code>hf</code>, "
		"<code>huggingface_hub</code>, <code>datasets</code>, <code>@huggingface/hub</code>.");
	if (page_asker(page)->kind != CAIRN_HUB_OPERATOR) /* the operator has no account, so there is no page of keys */
		html(b, " A key comes from <a href=\"/settings/keys\">your keys</a>, or from the operator.");
	html(b, "</p></aside></div>\n");
	page_end(page);
}

static void home_get(struct http_request *req)
{
	struct home *home = page_get_new(req, sizeof(*home), home_build);
	if (!home)
		return;
	home->search = http_query_arg(req, "q");
	if (!home->search)
		home->search = "";
	if (strlen(home->search) > HOME_SEARCH_MAX) {
		home->search = "";
		home->page.hub.code = 400;
		(void)snprintf(home->page.notice, sizeof(home->page.notice),
			       "Nothing was searched: a part of a name or a path has at most %d bytes.",
			       HOME_SEARCH_MAX);
	}
	home->cursor = http_query_arg(req, "cursor");
	const char *kind = http_query_arg(req, "kind");
	home->kind = kind ? hub_kind_of_name(kind) : (enum cairn_index_repo_kind)0;
	if (home->search[0]) /* the text is searched in paths, too */
		home->page.hub.call.job.work.lane = CAIRN_LANE_HEAVY;
	route_job_start(req);
}

const struct http_route ROUTES_PAGE_HOME[] = {
	PAGE_GET("/", "page-home", home_get, page_free),
	{0},
};
