/* The folders of a git-like repository at a revision: GET [/{type}]/{namespace}/{name}/tree/{place}. */
#include "base/clock.h"
#include "server/ask/hub_entry.h"
#include "server/page/page_lost.h"
#include "server/page/page_mirror.h"
#include "server/page/page_paths.h"
#include "server/page/page_repo.h"
#include "server/page/page_routes.h"

#include <stdio.h>
#include <string.h>

enum {
	TREE_ROWS_BYTES = 34000, /* rows on one page: names may be long */
	TREE_ROWS_BYTES_MAX = 256 << 10,
	TREE_TITLE_BYTES = 60,
};

struct tree_page {
	struct page_place place;
	const char *cursor;         /* from the request; NULL: from the start */
	const char *find;           /* from the request: a part of a path to search for; "": list all */
	struct hub_entries entries; /* owned */
	struct cairn_buf folders, files;
	struct cairn_index_commit last; /* the commit that was looked up last; most rows have the same */
	int64_t now_unix_s;
	size_t prefix_len;
	char next[CAIRN_INDEX_PATH_MAX + 1]; /* the next page begins after this name; empty: no next page */
};

static void tree_free(void *state)
{
	struct tree_page *p = state;
	if (p) {
		hub_entries_fini(&p->entries);
		cairn_buf_fini(&p->folders);
		cairn_buf_fini(&p->files);
	}
	page_free(state);
}

static void tree_put_last(struct tree_page *p, struct cairn_buf *b, const struct cairn_index_entry *entry)
{
	bool known = p->last.id == entry->commit ||
		     cairn_hub_last_commit(page_hub(&p->place.page), entry, &p->last) == CAIRN_OK;
	html(b, "<td class=\"dim wide\">");
	if (known) {
		html(b, "<bdi>");
		html_cut(b, p->last.title, TREE_TITLE_BYTES);
		html(b, "</bdi>");
	}
	html(b, "</td><td class=\"num wide\">");
	if (known)
		show_age(b, p->last.at_unix_s, p->now_unix_s);
	html(b, "</td>");
}

static void tree_put_entry(struct tree_page *p, const struct hub_entry *e)
{
	bool is_folder = e->entry.kind == CAIRN_INDEX_FOLDER;
	struct cairn_buf *b = is_folder ? &p->folders : &p->files;
	char size[SHOW_BYTES];
	html(b, is_folder ? "<tr class=\"folder\"><th scope=\"row\"><a href=\"" : "<tr><th scope=\"row\"><a href=\"");
	page_place_put_address(b, &p->place, is_folder ? "tree" : "blob", e->path);
	html(b, "\">");
	html_name(b, e->path + p->prefix_len);
	html(b, "%s</a>", is_folder ? "/" : "");
	page_put_awaited_tag(b, &p->place.page, &e->entry);
	bool lost = e->entry.has_file && page_put_lost_tag(b, page_cas(&p->place.page), &e->entry.file);
	html(b, "</th><td class=\"num\">%s</td>", is_folder ? "" : show_size(size, e->entry.size_bytes));
	tree_put_last(p, b, &e->entry);
	html(b, "<td class=\"num wide\">");
	if (!is_folder && !lost) {
		html(b, "<a class=\"get\" href=\"");
		page_place_put_address(b, &p->place, "resolve", e->path);
		html(b, "\" download title=\"Download\" aria-label=\"Download ");
		html_cut(b, e->path + p->prefix_len, TREE_TITLE_BYTES);
		html(b, "\">↓</a>");
	}
	html(b, "</td></tr>\n");
}

static void tree_put_rows(struct tree_page *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	uint32_t n = 0;
	p->folders = cairn_buf_init(TREE_ROWS_BYTES_MAX);
	p->files = cairn_buf_init(TREE_ROWS_BYTES_MAX);
	for (; n < p->entries.n && p->folders.len + p->files.len < TREE_ROWS_BYTES; n++)
		tree_put_entry(p, &p->entries.all[n]);
	if (n < p->entries.n)
		(void)snprintf(p->next, sizeof(p->next), "%s", p->entries.all[n - 1].path);
	html(b, "<table class=\"rows\" id=\"files\"><thead><tr><th scope=\"col\">Name</th><th scope=\"col\" "
		"class=\"num\">Size</th><th scope=\"col\" class=\"wide\">Last commit</th><th scope=\"col\" "
		"class=\"num wide\">Changed</th><th scope=\"col\" class=\"num wide\"><span class=\"away\">Download"
		"</span></th></tr></thead><tbody>\n");
	cairn_buf_add(b, p->folders.bytes, p->folders.len);
	cairn_buf_add(b, p->files.bytes, p->files.len);
	html(b, "</tbody></table>\n");
	if (p->next[0]) {
		html(b, "<p class=\"more\"><a href=\"?after=");
		html_path(b, p->next);
		html(b, "\">More</a></p>\n");
	}
	if (p->folders.status != CAIRN_OK || p->files.status != CAIRN_OK)
		p->place.page.hub.call.status = CAIRN_E_LIMIT;
}

static void tree_put_address(struct page *page, const struct cairn_hub_path *found)
{
	page_place_put_address(page_out(page), (struct page_place *)page, "blob", found->path);
}

static void tree_put_found(struct tree_page *p)
{
	struct page *page = &p->place.page;
	struct page_paths paths = {.page = page, .put_address = tree_put_address, .prefix_len = p->prefix_len};
	const struct cairn_hub_find_path find = {
		.text = p->find, .found_max = PAGE_PATHS_MAX, .visit = page_paths_visit, .ctx = &paths};
	page->hub.call.status = cairn_hub_find_in_tree(page_hub(page), &page->hub.repo, &page->hub.commit,
						       p->place.path, &find, p->cursor ? p->cursor : "", p->next);
	page_paths_put_found(&paths, p->find, p->next);
}

static void tree_build_folder(struct tree_page *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	if (!page_place_begin(&p->place, PAGE_REPO_FILES))
		return;
	html(b, "<div class=\"line at\">");
	page_place_put_menu(&p->place, "tree");
	page_place_put_commit(&p->place, &p->place.page.hub.commit);
	if (p->place.page.access >= CAIRN_HUB_WRITE && strcmp(p->place.revision, p->place.page.hub.call.commit) != 0) {
		html(b, "<a class=\"button away-end\" href=\"");
		page_place_put_address(b, &p->place, "upload", p->place.path);
		html(b, "\">Upload files</a>");
	}
	html(b, "</div>\n");
	if (p->entries.n > 0 || p->find[0])
		page_paths_put_form(&p->place.page, p->find);
	if (p->find[0])
		tree_put_found(p);
	else if (p->entries.n > 0)
		tree_put_rows(p);
	else
		html(b, "<div class=\"empty\"><h2>Nothing is here</h2><p>This revision has no files%s.</p></div>\n",
		     p->cursor ? " behind that" : "");
	page_end(&p->place.page);
}

static void tree_build(struct page *page)
{
	struct tree_page *p = (struct tree_page *)page;
	struct hub_call *call = &page->hub.call;
	struct cairn_index_entry entry = {.kind = CAIRN_INDEX_FOLDER};
	if (!page_place_find(&p->place))
		return;
	p->now_unix_s = cairn_clock_unix_s();
	p->prefix_len = strlen(p->place.path) + (p->place.path[0] != '\0');
	if (p->place.path[0])
		call->status =
			cairn_hub_find_entry(page_hub(page), &page->hub.commit, p->place.path, &entry, &call->diag);
	if (call->status != CAIRN_OK)
		return;
	if (entry.kind != CAIRN_INDEX_FOLDER) {
		page_place_go(&p->place, "blob");
		return;
	}
	if (p->find[0]) {
		tree_build_folder(p);
		return;
	}
	const struct cairn_hub_tree_page listed = {
		.folder = p->place.path, .after = p->cursor ? p->cursor : "", .limit = PAGE_ROWS};
	call->status = cairn_hub_list_tree(page_hub(page), &page->hub.commit, &listed, hub_entries_visit, &p->entries,
					   p->next, &call->diag);
	if (call->status == CAIRN_OK)
		call->status = p->entries.status;
	if (call->status == CAIRN_OK)
		tree_build_folder(p);
}

static void tree_get(struct http_request *req)
{
	struct tree_page *p = page_place_new(req, sizeof(*p), tree_build, true);
	if (!p)
		return;
	p->find = page_paths_wanted(req);
	p->cursor = http_query_arg(req, "after");
	if (p->cursor && strlen(p->cursor) > CAIRN_INDEX_PATH_MAX)
		p->cursor = NULL;
	if (p->find[0])
		p->place.page.hub.call.job.work.lane = CAIRN_LANE_HEAVY;
	route_job_start(req);
}

const struct http_route ROUTES_PAGE_TREE[] = {
	HUB_EACH_KIND(PAGE_GET, "/tree/{place*}", "page-tree", tree_get, tree_free),
	{0},
};
