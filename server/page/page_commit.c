/* The page of a commit's changes: GET [/{type}]/{namespace}/{name}/commit/{revision} */
#include "hub/commit.h"
#include "server/page/page_changes.h"
#include "server/page/page_routes.h"

#include <stdio.h>
#include <string.h>

enum {
	COMMIT_MESSAGE_BYTES = 2000,
	COMMIT_TITLE_BYTES = 200,
};

static void commit_put_message(void *ctx, const struct cairn_index_commit *commit, const char *message)
{
	struct cairn_buf *b = ctx;
	(void)commit;
	if (!message[0])
		return;
	html(b, "<p class=\"message\"><bdi>");
	html_cut(b, message, COMMIT_MESSAGE_BYTES);
	html(b, "</bdi></p>\n");
}

static void commit_put_oid(struct page_changes *p, const char *what, const struct cairn_git_oid *of)
{
	struct cairn_buf *b = page_out(&p->place.page);
	char oid[CAIRN_GIT_OID_CHARS + 1];
	cairn_git_oid_text(oid, of);
	html(b, "<a href=\"");
	page_repo_put_address(b, &p->place.page);
	html(b, "/%s/%s\"><code>%s</code></a>", what, oid, oid);
}

static void commit_put_head(struct page_changes *p)
{
	const struct cairn_index_commit *commit = &p->place.page.hub.commit;
	struct cairn_buf *b = page_out(&p->place.page);
	char when[SHOW_BYTES], oid[CAIRN_GIT_OID_CHARS + 1];
	cairn_git_oid_text(oid, &commit->oid);
	html(b, "<div class=\"title\"><h2><bdi>");
	html_cut(b, commit->title[0] ? commit->title : "(nothing said)", COMMIT_TITLE_BYTES);
	html(b, "</bdi></h2><a class=\"button\" href=\"");
	page_repo_put_address(b, &p->place.page);
	html(b, "/tree/%s\">Files as of it</a></div>\n", oid);
	p->place.page.hub.call.status =
		cairn_hub_each_commit(page_hub(&p->place.page), commit, 0, 1, commit_put_message, b);
	html(b,
	     "<dl class=\"facts\"><dt>By</dt><dd>%s, %s</dd><dt>Commit</dt><dd><code>%s</code></dd><dt>After</dt><dd>",
	     commit->author, show_time(when, commit->at_unix_s), oid);
	if (p->has_before)
		commit_put_oid(p, "commit", &p->before.oid);
	else
		html(b, commit->parent == 0 ? "nothing: it is the first one" : "one that is not kept any more");
	html(b, "</dd></dl>\n");
}

static bool commit_find_changes(struct page_changes *p)
{
	struct page *page = &p->place.page;
	enum cairn_status status = cairn_hub_find_parent(page_hub(page), &page->hub.commit, &p->before);
	p->has_before = status == CAIRN_OK;
	p->is_lost = status == CAIRN_E_NOT_FOUND && page->hub.commit.parent != 0;
	if (status == CAIRN_OK || status == CAIRN_E_NOT_FOUND)
		return page_changes_find(p);
	page->hub.call.status = status;
	return false;
}

static void commit_build(struct page *page)
{
	struct page_changes *p = (struct page_changes *)page;
	char oid[CAIRN_GIT_OID_CHARS + 1], commits[256];
	const struct cairn_index_repo *repo = &page->hub.repo;
	if (!page_place_find(&p->place))
		return;
	if (p->place.path[0]) {
		page->hub.call.status = CAIRN_E_NOT_FOUND;
		return;
	}
	if (!commit_find_changes(p))
		return;
	cairn_git_oid_text(oid, &page->hub.commit.oid);
	oid[10] = '\0';
	(void)snprintf(commits, sizeof(commits), "%s%s/%s/commits/main", hub_kind_web(repo->kind), repo->account_name,
		       repo->name);
	const struct page_crumb crumbs[] = {{commits, "Commits"}, {"", oid}};
	if (!page_repo_begin(page, PAGE_REPO_COMMITS, crumbs, 2))
		return;
	commit_put_head(p);
	page_changes_put(p);
	page_end(page);
}

static void commit_get(struct http_request *req)
{
	struct page_changes *p = page_place_new(req, sizeof(*p), commit_build, true);
	if (!p)
		return;
	p->skip = http_query_number_or_0(req, "skip", UINT64_MAX);
	route_job_start(req);
}

const struct http_route ROUTES_PAGE_COMMIT[] = {
	HUB_EACH_KIND(PAGE_GET, "/commit/{place*}", "page-commit", commit_get, page_changes_free),
	{0},
};
