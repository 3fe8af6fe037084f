/* Lists files that are in no repository, for the operator: GET /storage/files. `cairn push` sends such files. */
#include "server/page/page_files.h"
#include "base/clock.h"
#include "cas/file.h"
#include "server/page/page.h"
#include "server/page/page_lost.h"
#include "server/page/page_routes.h"

#include <stdio.h>
#include <string.h>

struct files_page {
	struct page page;
	bool has_after;
	struct cairn_hash after; /* begin after this file: from the request; then the last row's */
	unsigned n;
	int64_t now_unix_s;
};

static void files_note(void *ctx, const struct cairn_cas_owned *file)
{
	(void)file;
	*(bool *)ctx = true;
}

void page_put_files_link(struct page *page)
{
	const struct cairn_cas_files_after first = {.hash = NULL};
	bool found = false, more;
	if (!page_is_operator(page) ||
	    cairn_cas_each_file(page_cas(page), "", &first, 1, files_note, &found, &more) != CAIRN_OK || !found)
		return;
	html(page_out(page),
	     "<p class=\"dim\" id=\"pushed\"><a href=\"/storage/files\">Files that no repository has</a>, "
	     "such as those that <code>cairn push</code> sent.</p>\n");
}

static void files_put(void *ctx, const struct cairn_cas_owned *file)
{
	struct files_page *p = ctx;
	struct cairn_buf *b = page_out(&p->page);
	char hash[CAIRN_HASH_TEXT_BYTES], size[SHOW_BYTES];
	cairn_hash_text(hash, &file->hash);
	if (p->n++ == 0)
		html(b,
		     "<table class=\"rows\" id=\"files\"><thead><tr><th scope=\"col\">Hash</th><th scope=\"col\" "
		     "class=\"num\">Size</th><th scope=\"col\" class=\"num wide\">First sent</th></tr></thead><tbody>\n");
	html(b, "<tr><th scope=\"row\"><code>%s</code>", hash);
	(void)page_put_lost_tag(b, page_cas(&p->page), &file->hash);
	html(b, "</th><td class=\"num\">%s</td><td class=\"num wide\">", show_size(size, file->size_bytes));
	show_age(b, file->at_unix_s, p->now_unix_s);
	html(b, "</td></tr>\n");
	p->after = file->hash;
}

static void files_put_use(struct files_page *p)
{
	char hash[CAIRN_HASH_TEXT_BYTES], lines[PAGE_LOCATION_BYTES];
	cairn_hash_text(hash, &p->after);
	(void)snprintf(lines, sizeof(lines), "export CAIRN_SERVER=%s\ncairn pull %s -o FILE\ncairn rm %s\n",
		       p->page.hub.base, hash, hash);
	page_put_copy(&p->page, "use", "To get the last one, or to forget it", lines);
}

static void files_put_list(struct files_page *p)
{
	struct cairn_buf *b = page_out(&p->page);
	const struct cairn_hash from = p->after;
	const struct cairn_cas_files_after after = {.hash = p->has_after ? &from : NULL};
	char hash[CAIRN_HASH_TEXT_BYTES];
	bool more = false;
	p->page.hub.call.status = cairn_cas_each_file(page_cas(&p->page), "", &after, PAGE_ROWS, files_put, p, &more);
	if (p->n == 0) {
		html(b, "<p class=\"empty\">There is none%s.</p>\n", p->has_after ? " behind this place" : "");
		return;
	}
	html(b, "</tbody></table>\n");
	cairn_hash_text(hash, &p->after);
	if (more)
		html(b, "<p><a href=\"/storage/files?cursor=%s\">More files</a></p>\n", hash);
	files_put_use(p);
}

static void files_build(struct page *page)
{
	static const struct page_crumb CRUMBS[] = {
		{"/", "Repositories"}, {"/storage", "Storage"}, {"", "Files that no repository has"}};
	struct files_page *p = (struct files_page *)page;
	struct hub_call *call = &page->hub.call;
	if (!page_is_operator(page)) {
		call->status =
			cairn_fail(&call->diag, CAIRN_E_NOT_FOUND, "entry.unknown", CAIRN_NO_OFFSET, "Entry not found");
		return;
	}
	p->now_unix_s = cairn_clock_unix_s();
	page_begin(page, "Files that no repository has", CRUMBS, 3);
	html(page_out(page),
	     "<h1>Files that no repository has</h1>\n<p><code>cairn push</code>, and <code>hf_xet</code> without a "
	     "repository, store a file under its hash alone: the hash that the push printed. Such files are the "
	     "operator's. They stay until <code>cairn rm</code> forgets them. <code>hf upload</code> and <code>cairn "
	     "import</code> give a file a name in a repository, and send no bytes that are here already.</p>\n");
	files_put_list(p);
	page_end(page);
}

static void files_get(struct http_request *req)
{
	struct files_page *p = page_get_new(req, sizeof(*p), files_build);
	if (!p)
		return;
	const char *cursor = http_query_arg(req, "cursor");
	p->has_after = cursor && cairn_hash_parse(&p->after, cursor, strlen(cursor)) == CAIRN_OK;
	route_job_start(req);
}

const struct http_route ROUTES_PAGE_FILES[] = {
	PAGE_GET("/storage/files", "page-files", files_get, page_free),
	{0},
};
