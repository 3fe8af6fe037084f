#include "server/page/page_history.h"

#include "base/clock.h"
#include "hub/path_history.h"

#include <stdio.h>

enum {
	HISTORY_ROWS = 50,
	HISTORY_ROWS_BYTES = 24000, /* all rows: paths may be long */
	HISTORY_TITLE_BYTES = 200,
};

struct history_rows {
	struct page_place *p;
	int64_t now_unix_s;
	size_t end; /* limit of the page's length */
	unsigned n;
};

static void history_put_address(struct history_rows *rows, const char *what, const char *oid, const char *path)
{
	struct cairn_buf *b = page_out(&rows->p->page);
	page_repo_put_address(b, &rows->p->page);
	html(b, "/%s/%s", what, oid);
	if (path[0])
		html(b, "/");
	html_path(b, path);
}

static bool history_put(void *ctx, const struct cairn_index_commit *commit, const struct cairn_index_entry *entry)
{
	struct history_rows *rows = ctx;
	struct cairn_buf *b = page_out(&rows->p->page);
	char oid[CAIRN_GIT_OID_CHARS + 1], size[SHOW_BYTES];
	bool is_folder = entry->kind == CAIRN_INDEX_FOLDER;
	if (rows->n > 0 && b->len > rows->end)
		return false;
	rows->n++;
	cairn_git_oid_text(oid, &commit->oid);
	html(b, "<tr><th scope=\"row\"><a href=\"");
	history_put_address(rows, "commit", oid, "");
	html(b, "\"><bdi>");
	html_cut(b, commit->title[0] ? commit->title : "(nothing said)", HISTORY_TITLE_BYTES);
	html(b, "</bdi></a></th><td class=\"wide\">%s</td><td class=\"num\"><a href=\"", commit->author);
	history_put_address(rows, is_folder ? "tree" : "blob", oid, rows->p->path);
	html(b, "\" aria-label=\"As it was, %s\">As it was</a></td><td class=\"num wide\">%s</td><td class=\"num\">",
	     oid, is_folder ? "–" : show_size(size, entry->size_bytes));
	show_age(b, commit->at_unix_s, rows->now_unix_s);
	html(b, "</td></tr>\n");
	return true;
}

static void history_put_end(struct history_rows *rows, const struct cairn_index_commit *next, bool more)
{
	struct cairn_buf *b = page_out(&rows->p->page);
	char oid[CAIRN_GIT_OID_CHARS + 1];
	html(b, "</tbody></table>\n");
	if (!more) {
		html(b, "<p class=\"help\">Before that, the file was not there. Its former names are not "
			"followed.</p>\n");
		return;
	}
	cairn_git_oid_text(oid, &next->oid);
	html(b, "<p class=\"more\"><a href=\"");
	history_put_address(rows, "commits", oid, rows->p->path);
	html(b, "\">Older</a></p>\n");
}

void page_build_history(struct page_place *p)
{
	struct cairn_buf *b = page_out(&p->page);
	struct hub_call *call = &p->page.hub.call;
	struct history_rows rows = {.p = p, .now_unix_s = cairn_clock_unix_s()};
	struct cairn_index_commit next;
	struct cairn_index_entry entry;
	bool more;
	call->status = cairn_hub_find_entry(page_hub(&p->page), &p->page.hub.commit, p->path, &entry, &call->diag);
	if (call->status != CAIRN_OK || !page_place_begin(p, PAGE_REPO_COMMITS))
		return;
	html(b, "<div class=\"line at\">");
	page_place_put_menu(p, "commits");
	html(b, "</div>\n<div class=\"title\"><h2>History of <span class=\"path\">");
	html_name(b, p->path);
	html(b,
	     "</span></h2></div>\n<table class=\"rows\" id=\"history\"><thead><tr><th scope=\"col\">Commit</th><th "
	     "scope=\"col\" class=\"wide\">By</th><th scope=\"col\" class=\"num\">File</th><th scope=\"col\" class=\"num wide\">Size</th><th "
	     "scope=\"col\" class=\"num\">When</th></tr></thead><tbody>\n");
	rows.end = b->len + HISTORY_ROWS_BYTES;
	call->status = cairn_hub_each_change_of(page_hub(&p->page), &p->page.hub.commit, p->path, HISTORY_ROWS,
						history_put, &rows, &next, &more, &call->diag);
	if (call->status == CAIRN_OK)
		history_put_end(&rows, &next, more);
	page_end(&p->page);
}
