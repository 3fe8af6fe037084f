/* The common layout of all pages. */
#include "server/page/page.h"

#include "base/clock.h"
#include "server/ask/hub_usage.h"
#include "server/page/page_assets.h"
#include "server/page/page_lost.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void layout_put_assets(struct cairn_buf *b)
{
	html(b,
	     "<link rel=\"icon\" href=\"/assets/icon.svg?v=%s\" type=\"image/svg+xml\">\n"
	     "<link rel=\"stylesheet\" href=\"/assets/style.css?v=%s\">\n"
	     "<script src=\"/assets/page.js?v=%s\" defer></script>\n",
	     page_asset("icon.svg")->version, page_asset("style.css")->version, page_asset("page.js")->version);
}

/* Appends the name and the personal links of the signed-in reader. */
static void layout_put_asker(struct page *page)
{
	struct cairn_buf *b = page_out(page);
	const struct cairn_hub_asker *asker = page_asker(page);
	const struct app *app = page->hub.call.job.app;
	if (asker->kind != CAIRN_HUB_NOBODY)
		html(b, "<a href=\"/new\">New</a>");
	if (page_is_operator(page))
		html(b, "<a href=\"/admin\">Server</a><a href=\"/storage\">Storage</a>");
	if (asker->kind == CAIRN_HUB_ACCOUNT) {
		html(b, "<a href=\"/settings/keys\">Keys</a><a class=\"me\" href=\"/%s\">", asker->account.name);
		html(b, "%s</a>", asker->account.name);
	} else if (asker->kind == CAIRN_HUB_OPERATOR) {
		html(b, "<span class=\"me\">operator</span>");
	}
	if (asker->kind == CAIRN_HUB_NOBODY)
		html(b, "<a class=\"me\" href=\"/login\">Sign in</a>");
	else if (app->auth.keys && !page->hub.call.browser.user[0])
		html(b, "<form method=\"post\" action=\"/logout\"><button class=\"link\">Sign out</button></form>");
}

static void layout_put_crumbs(struct cairn_buf *b, const struct page_crumb *crumbs, size_t n)
{
	html(b, "<nav class=\"crumbs\" aria-label=\"Breadcrumb\"><ol>");
	for (size_t i = 0; i < n; i++) {
		html(b, "<li>");
		if (i + 1 < n)
			html(b, "<a href=\"%s\">", crumbs[i].address);
		else
			html(b, "<span aria-current=\"page\">");
		html_name(b, crumbs[i].name);
		html(b, i + 1 < n ? "</a></li>" : "</span></li>");
	}
	html(b, "</ol></nav>\n");
}

static void layout_begin(struct cairn_buf *b, const char *title)
{
	html(b,
	     "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	     "<meta name=\"color-scheme\" content=\"light dark\">\n<title>%s · Cairn</title>\n",
	     title);
	layout_put_assets(b);
	html(b,
	     "</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n"
	     "<header><div class=\"bar\"><a class=\"brand\" href=\"/\">"
	     "<svg viewBox=\"0 0 24 24\" width=\"24\" height=\"24\" aria-hidden=\"true\"><ellipse cx=\"12\" cy=\"19\" "
	     "rx=\"9\" ry=\"3.4\"/><ellipse cx=\"11.4\" cy=\"12.2\" rx=\"6.4\" ry=\"2.9\"/><ellipse cx=\"12.4\" "
	     "cy=\"6.2\" rx=\"3.9\" ry=\"2.5\"/></svg>Cairn</a><nav aria-label=\"Main\">");
}

void page_begin(struct page *page, const char *title, const struct page_crumb *crumbs, size_t n_crumbs)
{
	struct cairn_buf *b = page_out(page);
	layout_begin(b, title);
	layout_put_asker(page);
	html(b, "</nav></div></header>\n<main id=\"main\" tabindex=\"-1\">\n");
	if (n_crumbs > 0)
		layout_put_crumbs(b, crumbs, n_crumbs);
}

static void layout_end(struct cairn_buf *b)
{
	html(b,
	     "</main>\n<footer><div class=\"bar\"><span>Cairn %s</span><a href=\"/health\">Health</a>"
	     "</div></footer>\n</body>\n</html>\n",
	     CAIRN_VERSION);
}

void page_end(struct page *page)
{
	layout_end(page_out(page));
	html_move(page_out(page), page->hub.base);
}

void page_put_error(struct cairn_buf *b, unsigned code, const char *title, const char *text)
{
	layout_begin(b, title);
	html(b,
	     "<a href=\"/\">Repositories</a></nav></div></header>\n<main id=\"main\" tabindex=\"-1\">\n<div "
	     "class=\"empty\"><p class=\"big\">%u</p><h1>%s</h1><p>%s</p><p><a href=\"/\">To the start "
	     "page</a></p></div>",
	     code, title, text);
	layout_end(b);
}

bool page_take_failure(struct page *page)
{
	struct hub_call *call = &page->hub.call;
	bool mends = call->status == CAIRN_E_USAGE || call->status == CAIRN_E_CONFLICT ||
		     call->status == CAIRN_E_DENIED || call->status == CAIRN_E_NOT_FOUND;
	if (!mends || !call->diag.text[0])
		return false;
	(void)snprintf(page->notice, sizeof(page->notice), "%s", call->diag.text);
	page->hub.code = call->status == CAIRN_E_DENIED ? 403 : call->status == CAIRN_E_CONFLICT ? 409 : 400;
	call->status = CAIRN_OK;
	call->diag = (struct cairn_diag){0};
	return true;
}

void page_put_notice(struct page *page)
{
	if (page->notice[0])
		html(page_out(page), "<p class=\"notice\" role=\"alert\">%s</p>\n", page->notice);
}

void page_put_copy(struct page *page, const char *id, const char *label, const char *lines)
{
	html(page_out(page),
	     "<div class=\"copy\"><p class=\"label\">%s</p><button type=\"button\" hidden "
	     "data-copy=\"%s\">Copy</button>"
	     "<pre id=\"%s\" tabindex=\"0\">%s</pre></div>\n",
	     label, id, id, lines);
}

void page_put_endpoint(struct page *page, const char *lines)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(8192);
	cairn_buf_printf(&text, "export HF_ENDPOINT=%s\n", page->hub.base);
	if (page->hub.call.job.app->auth.keys)
		cairn_buf_printf(&text, "export HF_TOKEN=hf_…\n");
	cairn_buf_printf(&text, "%s", lines);
	cairn_buf_add(&text, "", 1);
	if (text.status == CAIRN_OK)
		page_put_copy(page, "use", "In a shell", (const char *)text.bytes);
}

enum { LAYOUT_REPOS = 50 }; /* repositories on one page of a list; each row has the name three times */

struct layout_repos {
	struct page *page;
	int64_t now_unix_s;
	const struct cairn_usage *usage; /* the last figures of disk usage; NULL: none */
	bool with_account;
	unsigned n;
};

/* Appends the bytes of a repository's own chunks, each chunk counted once, which reveals nothing about others. */
static void layout_put_takes(const struct layout_repos *list, const struct cairn_index_repo *repo)
{
	char size[SHOW_BYTES];
	const struct cairn_usage_owner *owner = list->usage ? cairn_usage_of_repo(list->usage, repo->id) : NULL;
	html(page_out(list->page), "<td class=\"num wide\">%s</td>",
	     owner ? show_size(size, owner->only_bytes + owner->shared_bytes) : "–");
}

static void layout_put_repo(void *ctx, const struct cairn_index_repo *repo)
{
	struct layout_repos *list = ctx;
	struct cairn_buf *b = page_out(list->page);
	char size[SHOW_BYTES], count[SHOW_BYTES];
	if (list->n++ == 0)
		html(b,
		     "<table class=\"rows\" id=\"repos\"><thead><tr><th scope=\"col\">Name</th><th scope=\"col\" "
		     "class=\"num wide\">Files</th><th scope=\"col\" class=\"num\">Size</th><th scope=\"col\" "
		     "class=\"num wide\">Takes</th><th scope=\"col\" class=\"num wide\">Changed</th></tr></thead><tbody>\n");
	html(b, "<tr><th scope=\"row\"><a href=\"%s%s/%s\">", hub_kind_web(repo->kind), repo->account_name, repo->name);
	if (list->with_account)
		html(b, "<span class=\"dim\">%s/</span>", repo->account_name);
	html(b, "%s</a> <span class=\"tags\"><span class=\"tag\">%s</span>", repo->name, hub_kind_name(repo->kind));
	if (repo->is_private || repo->gate != CAIRN_INDEX_GATE_NONE)
		html(b, "<span class=\"tag lock\">%s</span>", repo->is_private ? "private" : "gated");
	page_put_lost_count(b, page_cas(list->page), repo->id);
	html(b, "</span></th><td class=\"num wide\">%s</td>", show_count(count, repo->n_files));
	html(b, "<td class=\"num\">%s</td>", show_size(size, repo->bytes));
	layout_put_takes(list, repo);
	html(b, "<td class=\"num wide\">");
	show_age(b, repo->updated_unix_ms / 1000, list->now_unix_s);
	html(b, "</td></tr>\n");
}

bool page_put_repos(struct page *page, const struct page_repos *repos)
{
	struct cairn_buf *b = page_out(page);
	char next[CAIRN_HUB_CURSOR_BYTES];
	bool chosen = repos->search[0] || repos->cursor || repos->kind != 0;
	const struct cairn_hub_repo_list wanted = {.kind = repos->kind,
						   .account = repos->account,
						   .search = repos->search,
						   .cursor = repos->cursor ? repos->cursor : "",
						   .limit = LAYOUT_REPOS};
	struct layout_repos list = {
		.page = page, .now_unix_s = cairn_clock_unix_s(), .with_account = repos->account == 0};
	struct hub_usage *usage = page->hub.call.job.app->usage;
	list.usage = hub_usage_hold(usage);
	page->hub.call.status =
		cairn_hub_list_repos(page_hub(page), page_asker(page), &wanted, layout_put_repo, &list, next);
	if (list.usage)
		hub_usage_release(usage, list.usage);
	if (list.n > 0)
		html(b, "</tbody></table>\n");
	if (next[0] && list.n == 0)
		html(b, "<p class=\"empty\">None of the repositories that changed last. Look among the older "
			"ones.</p>\n");
	if (next[0])
		html(b, "<p class=\"more\"><a href=\"%scursor=%s\">Older ones</a></p>\n", repos->more, next);
	else if (list.n == 0 && chosen)
		html(b, "<p class=\"empty\">%s</p>\n",
		     repos->search[0] ? "No name here contains that." : "There is none of that kind.");
	return list.n > 0 || chosen;
}
