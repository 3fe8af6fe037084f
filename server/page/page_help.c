/* The operator's guide, to which alarms link. GET /admin/help, /admin/help/{part} */
#include "server/page/help.h"
#include "server/page/markdown.h"
#include "server/page/page.h"
#include "server/page/page_routes.h"

#include <string.h>

struct help_page {
	struct page page;
	const struct help_part *part; /* NULL: the list of sections */
	bool unknown;
};

const struct help_part *help_part(const char *name)
{
	for (const struct help_part *part = HELP_PARTS; part->name; part++)
		if (strcmp(part->name, name) == 0)
			return part;
	return NULL;
}

static void help_put_list(struct page *page)
{
	static const struct page_crumb CRUMBS[] = {{"/", "Repositories"}, {"/admin", "Server"}, {"", "Guide"}};
	struct cairn_buf *b = page_out(page);
	page_begin(page, "Guide", CRUMBS, 3);
	html(b, "<h1>Running Cairn %s</h1>\n<ul>\n", CAIRN_VERSION);
	for (const struct help_part *part = HELP_PARTS; part->name; part++)
		html(b, "<li><a href=\"/admin/help/%s\">%s</a></li>\n", part->name, part->title);
	html(b, "</ul>\n");
	page_end(page);
}

static void help_put_part(struct page *page, const struct help_part *part)
{
	static const struct markdown_base BASE = {"/admin/help/", "/admin/help/"};
	const struct page_crumb crumbs[] = {
		{"/", "Repositories"}, {"/admin", "Server"}, {"/admin/help", "Guide"}, {"", part->title}};
	struct cairn_buf *b = page_out(page);
	page_begin(page, part->title, crumbs, 4);
	html(b, "<h1>%s</h1>\n<article class=\"guide\">\n", part->title);
	markdown_put(b, (const char *)part->text, part->len, &BASE);
	html(b, "</article>\n");
	page_end(page);
}

static void help_build(struct page *page)
{
	struct help_page *p = (struct help_page *)page;
	if (p->unknown || !page_is_operator(page))
		page->hub.call.status = cairn_fail(&page->hub.call.diag, CAIRN_E_NOT_FOUND, "entry.unknown",
						   CAIRN_NO_OFFSET, "Entry not found");
	else if (p->part)
		help_put_part(page, p->part);
	else
		help_put_list(page);
}

static void help_get(struct http_request *req)
{
	if (page_get_new(req, sizeof(struct help_page), help_build))
		route_job_start(req);
}

static void help_get_part(struct http_request *req)
{
	struct help_page *p = page_get_new(req, sizeof(*p), help_build);
	if (!p)
		return;
	p->part = help_part(http_path_arg(req, "part"));
	p->unknown = !p->part;
	route_job_start(req);
}

const struct http_route ROUTES_PAGE_HELP[] = {
	PAGE_GET("/admin/help", "page-help", help_get, page_free),
	PAGE_GET("/admin/help/{part}", "page-help", help_get_part, page_free),
	{0},
};
