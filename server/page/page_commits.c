/* The history of a git-like repository, and its branches and tags: GET [/{type}]/{namespace}/{name}/commits/{revision}
 * and …/refs; commits/{revision}/{path} is of page_history.c. */
#include "base/clock.h"
#include "hub/commit.h"
#include "server/page/page_history.h"
#include "server/page/page_repo.h"
#include "server/page/page_routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	COMMITS_ROWS = 50,
	COMMITS_TITLE_BYTES = 200,
	COMMITS_MESSAGE_BYTES = 400,
	COMMITS_ROWS_BYTES = 30000, /* rows of all commits on one page */
	COMMITS_REFS_BYTES = 30000, /* rows of branches and tags on one page: names may be long */
};

struct commits_page {
	struct page_place place;
	uint64_t skip; /* number of rows on the pages before */
	uint64_t n;    /* commits shown, or branches and tags visited */
	size_t begun;  /* where the rows begin in the page */
	int64_t now_unix_s;
	enum cairn_index_ref_kind kind; /* kind of the open table; 0: none */
	bool more;
};

static void commits_start(struct http_request *req, struct commits_page *p)
{
	if (!p)
		return;
	p->skip = http_query_number_or_0(req, "skip", UINT64_MAX);
	route_job_start(req);
}

static void commits_put(void *ctx, const struct cairn_index_commit *commit, const char *message)
{
	struct commits_page *p = ctx;
	struct cairn_buf *b = page_out(&p->place.page);
	char oid[CAIRN_GIT_OID_CHARS + 1];
	p->more = p->more || b->len - p->begun > COMMITS_ROWS_BYTES;
	if (p->more)
		return;
	p->n++;
	cairn_git_oid_text(oid, &commit->oid);
	html(b, "<tr><th scope=\"row\"><a href=\"");
	page_repo_put_address(b, &p->place.page);
	html(b, "/commit/%s\"><bdi>", oid);
	html_cut(b, commit->title[0] ? commit->title : "(nothing said)", COMMITS_TITLE_BYTES);
	html(b, "</bdi></a>");
	if (message[0]) {
		html(b, "<p class=\"help\"><bdi>");
		html_cut(b, message, COMMITS_MESSAGE_BYTES);
		html(b, "</bdi></p>");
	}
	html(b, "</th><td class=\"by\">%s</td><td class=\"wide\"><code>", commit->author);
	html_bytes(b, oid, 10);
	html(b, "</code></td><td class=\"num\">");
	show_age(b, commit->at_unix_s, p->now_unix_s);
	html(b, "</td></tr>\n");
}

static void commits_put_steps(struct commits_page *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	bool newer = p->skip > 0, older = p->skip + p->n < p->place.page.hub.commit.number;
	if (!newer && !older)
		return;
	html(b, "<p class=\"more\">");
	if (newer)
		html(b, "<a href=\"?skip=%lu\">Newer</a> ",
		     (unsigned long)(p->skip > COMMITS_ROWS ? p->skip - COMMITS_ROWS : 0));
	if (older)
		html(b, "<a href=\"?skip=%lu\">Older</a>", (unsigned long)(p->skip + p->n));
	html(b, "</p>\n");
}

static void commits_build(struct page *page)
{
	static const struct page_crumb CRUMB = {"", "Commits"};
	struct commits_page *p = (struct commits_page *)page;
	struct cairn_buf *b = page_out(page);
	char count[SHOW_BYTES];
	if (!page_place_find(&p->place))
		return;
	if (p->place.path[0]) {
		page_build_history(&p->place);
		return;
	}
	if (p->skip >= page->hub.commit.number) {
		page->hub.call.status = CAIRN_E_NOT_FOUND;
		return;
	}
	p->now_unix_s = cairn_clock_unix_s();
	if (!page_repo_begin(page, PAGE_REPO_COMMITS, &CRUMB, 1))
		return;
	html(b, "<div class=\"line at\">");
	page_place_put_menu(&p->place, "commits");
	html(b,
	     "<p class=\"commit dim\">%s commits</p></div>\n<table class=\"rows\" id=\"commits\"><thead><tr><th "
	     "scope=\"col\">Commit</th><th scope=\"col\">By</th><th scope=\"col\" class=\"wide\">Number</th><th "
	     "scope=\"col\" class=\"num\">When</th></tr></thead><tbody>\n",
	     show_count(count, page->hub.commit.number));
	p->begun = b->len;
	page->hub.call.status =
		cairn_hub_each_commit(page_hub(page), &page->hub.commit, p->skip, COMMITS_ROWS, commits_put, p);
	html(b, "</tbody></table>\n");
	commits_put_steps(p);
	page_end(page);
}

static void commits_get(struct http_request *req)
{
	commits_start(req, page_place_new(req, sizeof(struct commits_page), commits_build, true));
}

/* Appends a button that deletes a branch or tag. Another button reveals it. */
static void commits_put_drop(struct commits_page *p, const struct cairn_index_ref_row *ref)
{
	struct cairn_buf *b = page_out(&p->place.page);
	bool is_branch = ref->kind == CAIRN_INDEX_BRANCH;
	html(b, "<td class=\"num\">");
	if (!is_branch || strcmp(ref->name, CAIRN_HUB_MAIN) != 0)
		html(b,
		     "<details><summary aria-label=\"Delete %s\">Delete</summary><form method=\"post\"><input "
		     "type=\"hidden\" name=\"action\" value=\"drop\"><input type=\"hidden\" name=\"kind\" "
		     "value=\"%s\"><input type=\"hidden\" name=\"name\" value=\"%s\"><button "
		     "class=\"danger\">Yes, delete</button></form></details>",
		     ref->name, is_branch ? "branch" : "tag", ref->name);
	html(b, "</td>");
}

static void commits_put_new(struct cairn_buf *b)
{
	html(b,
	     "<section class=\"card\" aria-labelledby=\"new-title\"><h2 id=\"new-title\">New branch or "
	     "tag</h2><form method=\"post\" class=\"stack\"><input type=\"hidden\" name=\"action\" "
	     "value=\"add\"><div class=\"pair\"><div><label for=\"kind\">Kind</label><select id=\"kind\" "
	     "name=\"kind\"><option value=\"branch\">Branch</option><option "
	     "value=\"tag\">Tag</option></select></div><div><label for=\"name\">Name</label><input id=\"name\" "
	     "name=\"name\" required maxlength=\"255\" autocomplete=\"off\" spellcheck=\"false\"></div><div><label "
	     "for=\"start\">At</label><input id=\"start\" name=\"start\" value=\"main\" required "
	     "maxlength=\"270\" autocomplete=\"off\" spellcheck=\"false\"></div></div><p class=\"help\">It begins at "
	     "a branch, a tag or the number of a commit. The next collection removes commits that only a deleted "
	     "one leads to.</p><button>Make it</button></form></section>\n");
}

static void commits_open_refs(struct commits_page *p, enum cairn_index_ref_kind kind)
{
	struct cairn_buf *b = page_out(&p->place.page);
	if (p->kind != 0)
		html(b, "</tbody></table>\n");
	p->kind = kind;
	html(b,
	     "<h2>%s</h2>\n<table class=\"rows\"><thead><tr><th scope=\"col\">Name</th><th "
	     "scope=\"col\">Commit</th><th "
	     "scope=\"col\" class=\"num\">Commits</th>",
	     kind == CAIRN_INDEX_BRANCH ? "Branches" : "Tags");
	if (p->place.page.access >= CAIRN_HUB_WRITE)
		html(b, "<th scope=\"col\" class=\"num\"><span class=\"away\">Delete</span></th>");
	html(b, "</tr></thead><tbody>\n");
}

static bool commits_put_ref(void *ctx, const struct cairn_index_ref_row *ref)
{
	struct commits_page *p = ctx;
	struct cairn_buf *b = page_out(&p->place.page);
	char oid[CAIRN_GIT_OID_CHARS + 1];
	if (ref->kind == CAIRN_INDEX_PULL)
		return false;
	if (p->n < p->skip) {
		p->n++;
		return true;
	}
	p->more = p->n - p->skip == PAGE_ROWS || b->len - p->begun >= COMMITS_REFS_BYTES;
	if (p->more)
		return false;
	p->n++;
	if (ref->kind != p->kind)
		commits_open_refs(p, ref->kind);
	cairn_git_oid_text(oid, &ref->commit);
	html(b, "<tr><th scope=\"row\"><a href=\"");
	page_repo_put_address(b, &p->place.page);
	html(b, "/tree/");
	html_path(b, ref->name);
	html(b, "\">");
	html_name(b, ref->name);
	html(b, "</a></th><td><code>");
	html_bytes(b, oid, 10);
	html(b, "</code></td><td class=\"num\"><a href=\"");
	page_repo_put_address(b, &p->place.page);
	html(b, "/commits/");
	html_path(b, ref->name);
	html(b, "\" aria-label=\"Commits of %s\">Commits</a></td>", ref->name);
	if (p->place.page.access >= CAIRN_HUB_WRITE)
		commits_put_drop(p, ref);
	html(b, "</tr>\n");
	return true;
}

static void refs_build_found(struct page *page)
{
	static const struct page_crumb CRUMB = {"", "Branches and tags"};
	struct commits_page *p = (struct commits_page *)page;
	struct cairn_buf *b = page_out(page);
	if (!page_repo_begin(page, PAGE_REPO_REFS, &CRUMB, 1))
		return;
	page_put_notice(page);
	p->begun = b->len;
	page->hub.call.status = cairn_hub_each_ref(page_hub(page), &page->hub.repo, commits_put_ref, p);
	if (page->hub.call.status == CAIRN_OK && p->kind == 0 && p->skip > 0)
		page->hub.call.status = CAIRN_E_NOT_FOUND;
	if (p->kind != 0)
		html(b, "</tbody></table>\n");
	if (p->skip > 0 || p->more)
		html(b, "<p class=\"more\">");
	if (p->skip > 0)
		html(b, "<a href=\"?skip=0\">First ones</a> ");
	if (p->more)
		html(b, "<a href=\"?skip=%lu\">More</a>", (unsigned long)p->n);
	if (p->skip > 0 || p->more)
		html(b, "</p>\n");
	if (page->access >= CAIRN_HUB_WRITE)
		commits_put_new(b);
	page_end(page);
}

static void refs_build(struct page *page)
{
	if (hub_repo_find(&page->hub, CAIRN_HUB_SEE))
		refs_build_found(page);
}

static void refs_get(struct http_request *req)
{
	commits_start(req, page_place_new(req, sizeof(struct commits_page), refs_build, false));
}

static enum cairn_status refs_do(struct page *page)
{
	struct hub_repo *hub = &page->hub;
	const char *action = form_value(&page->form, "action"), *kind = form_value(&page->form, "kind");
	const char *start = form_value(&page->form, "start");
	struct cairn_hub_new_ref ref = {
		.kind = CAIRN_INDEX_BRANCH, .name = form_value(&page->form, "name"), .start = start[0] ? start : NULL};
	if (strcmp(kind, "tag") == 0)
		ref.kind = CAIRN_INDEX_TAG;
	if (strcmp(action, "add") == 0)
		return cairn_hub_add_ref(page_hub(page), &hub->call.asker, &hub->repo, &ref, &hub->call.diag);
	if (strcmp(action, "drop") == 0)
		return cairn_hub_drop_ref(page_hub(page), &hub->repo, ref.kind, ref.name, &hub->call.diag);
	return form_refuse(&hub->call.diag);
}

static void refs_change(struct page *page)
{
	struct hub_repo *hub = &page->hub;
	if (!hub_repo_find(hub, CAIRN_HUB_WRITE))
		return;
	hub->call.status = refs_do(page);
	if (page_take_failure(page))
		refs_build_found(page);
	else if (hub->call.status == CAIRN_OK)
		page_repo_go_to(page, "/refs");
}

static void refs_post_head(struct http_request *req)
{
	struct page *page = page_post_new(req, sizeof(struct commits_page), refs_change);
	if (page)
		(void)page_repo_take(req, page);
}

const struct http_route ROUTES_PAGE_COMMITS[] = {
	HUB_EACH_KIND(PAGE_GET, "/commits/{place*}", "page-commits", commits_get, page_free),
	HUB_EACH_KIND(PAGE_GET, "/refs", "page-refs", refs_get, page_free),
	HUB_EACH_KIND(PAGE_FORM, "/refs", "page-refs", refs_post_head, page_free),
	{0},
};
