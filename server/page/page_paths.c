#include "server/page/page_paths.h"

#include <stdio.h>
#include <string.h>

enum { PATHS_BYTES = 30000 }; /* limit of all rows: names may be long */

static void paths_put_address(struct page *page, const struct cairn_hub_path *found)
{
	const struct cairn_index_repo *repo = found->repo;
	struct cairn_buf *b = page_out(page);
	html(b, "%s%s/%s%s", hub_kind_web(repo->kind), repo->account_name, repo->name,
	     repo->kind == CAIRN_INDEX_BUCKET ? "/tree/" : "/blob/main/");
	html_path(b, found->path);
}

static void paths_begin(struct page_paths *paths)
{
	struct cairn_buf *b = page_out(paths->page);
	paths->end = b->len + PATHS_BYTES;
	html(b, "<table class=\"rows\" id=\"paths\"><thead><tr><th scope=\"col\">File</th><th scope=\"col\" "
		"class=\"num\">Size</th></tr></thead><tbody>\n");
}

void page_paths_visit(void *ctx, const struct cairn_hub_path *found)
{
	struct page_paths *paths = ctx;
	struct cairn_buf *b = page_out(paths->page);
	char size[SHOW_BYTES];
	if (paths->n == 0)
		paths_begin(paths);
	paths->is_cut = paths->is_cut || b->len > paths->end;
	if (paths->is_cut)
		return;
	paths->n++;
	(void)snprintf(paths->last, sizeof(paths->last), "%s", found->path);
	html(b, "<tr><th scope=\"row\"><a href=\"");
	(paths->put_address ? paths->put_address : paths_put_address)(paths->page, found);
	html(b, "\">");
	if (!paths->put_address)
		html(b, "<span class=\"dim\">%s/%s</span> ", found->repo->account_name, found->repo->name);
	html_name(b, found->path + paths->prefix_len);
	html(b, "</a>");
	if (!paths->put_address)
		html(b, " <span class=\"tag\">%s</span>", hub_kind_name(found->repo->kind));
	html(b, "</th><td class=\"num\">%s</td></tr>\n", show_size(size, found->size_bytes));
}

/* Closes the table, if it has a row. */
static void paths_end(struct page_paths *paths)
{
	if (paths->n > 0)
		html(page_out(paths->page), "</tbody></table>\n");
}

void page_paths_put_form(struct page *page, const char *text)
{
	html(page_out(page),
	     "<form class=\"find small\" role=\"search\"><label class=\"away\" for=\"find\">Find a file by a part of its "
	     "path</label><input type=\"search\" id=\"find\" name=\"find\" value=\"%s\" placeholder=\"Find a file\" "
	     "maxlength=\"%d\" autocomplete=\"off\" spellcheck=\"false\"><button>Find</button></form>\n",
	     text, CAIRN_HUB_FIND_TEXT_MAX);
}

const char *page_paths_wanted(const struct http_request *req)
{
	const char *text = http_query_arg(req, "find");
	return text && strlen(text) <= CAIRN_HUB_FIND_TEXT_MAX ? text : "";
}

void page_paths_put_found(struct page_paths *paths, const char *text, char next[static CAIRN_INDEX_PATH_MAX + 1])
{
	struct cairn_buf *b = page_out(paths->page);
	paths_end(paths);
	if (paths->is_cut)
		(void)snprintf(next, CAIRN_INDEX_PATH_MAX + 1, "%s", paths->last);
	if (paths->n == 0)
		html(b, "<p class=\"empty\">No path %shas “%s” in it.</p>\n",
		     next[0] ? "of those that were looked at " : "below this ", text);
	html(b, "<p class=\"more\">");
	if (next[0]) {
		html(b, "<a href=\"?find=");
		html_path(b, text);
		html(b, "&amp;after=");
		html_path(b, next);
		html(b, "\">Look further</a> ");
	}
	html(b, "<a href=\"?\">All files</a></p>\n");
}

static void paths_put_end(struct page_paths *paths, const struct cairn_hub_find_end *end, uint32_t max)
{
	struct cairn_buf *b = page_out(paths->page);
	if (paths->n == 0)
		html(b, "<p class=\"empty\">No path of a file that you may see has that in it.</p>\n");
	if (end->more_files || paths->is_cut)
		html(b, "<p class=\"dim\">These are the first %u%s.</p>\n", paths->n,
		     paths->n < max ? ", and more was not looked at" : "");
	if (end->n_passed > 0)
		html(b,
		     "<p class=\"dim\">%u %s more files than are looked at here: find a file on %s own page "
		     "“Files”.</p>\n",
		     end->n_passed, end->n_passed == 1 ? "repository has" : "repositories have",
		     end->n_passed == 1 ? "its" : "their");
	if (end->more_repos)
		html(b, "<p class=\"dim\">Only the %d repositories that were changed last were looked at.</p>\n",
		     CAIRN_HUB_FIND_REPOS_MAX);
}

bool page_paths_put_all(struct page *page, const char *text, uint32_t max)
{
	struct page_paths paths = {.page = page};
	const struct cairn_hub_find_path find = {
		.text = text, .found_max = max, .visit = page_paths_visit, .ctx = &paths};
	struct cairn_hub_find_end end;
	page->hub.call.status = cairn_hub_find_paths(page_hub(page), page_asker(page), &find, &end);
	paths_end(&paths);
	if (page->hub.call.status == CAIRN_OK)
		paths_put_end(&paths, &end, max);
	return page->hub.call.status == CAIRN_OK;
}
