/* Accounts and their keys, for the operator: GET /admin/accounts, POST /admin/accounts/revoke. */
#include "base/clock.h"
#include "hub/holders.h"
#include "server/page/page.h"
#include "server/page/page_routes.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	HOLDERS_BYTES = 26000, /* rows on one page: names may be long */
	HOLDERS_NAME_BYTES = 120,
};
static const char HOLDERS_PATH[] = "/admin/accounts";

struct holders_page {
	struct page page;
	int64_t from_id, now_unix_s;
	size_t end; /* limit of the page's length */
};

static bool holders_are_for(struct page *page)
{
	struct hub_call *call = &page->hub.call;
	if (!page_is_operator(page))
		call->status =
			cairn_fail(&call->diag, CAIRN_E_NOT_FOUND, "entry.unknown", CAIRN_NO_OFFSET, "Entry not found");
	return call->status == CAIRN_OK;
}

static void holders_put_when(struct cairn_buf *b, const char *columns, int64_t unix_s, int64_t now_unix_s)
{
	html(b, "<td class=\"num%s\">", columns);
	if (unix_s != 0)
		show_age(b, unix_s, now_unix_s);
	else
		html(b, "–");
	html(b, "</td>");
}

static void holders_put_end(struct cairn_buf *b, int64_t expires_unix_s, int64_t now_unix_s)
{
	char when[SHOW_BYTES];
	html(b, "<td class=\"num wide\">");
	if (expires_unix_s == 0)
		html(b, "never");
	else if (expires_unix_s <= now_unix_s)
		html(b, "<span class=\"tag lock\">expired</span>");
	else
		html(b, "%s", show_time(when, expires_unix_s));
	html(b, "</td>");
}

static void holders_put_key(struct holders_page *p, const struct cairn_held_key *key)
{
	struct cairn_buf *b = page_out(&p->page);
	html(b, "<tr><th scope=\"row\"><bdi>");
	html_cut(b, key->name, HOLDERS_NAME_BYTES);
	html(b, "</bdi>");
	if (key->repo[0]) {
		html(b, " <span class=\"dim\">for <bdi>");
		html_cut(b, key->repo, HOLDERS_NAME_BYTES);
		html(b, "</bdi> alone</span>");
	}
	html(b, "%s</th><td>%s</td>", key->id == page_asker(&p->page)->key ? " (signed in with it)" : "", key->scopes);
	holders_put_when(b, " wide", key->created_unix_s, p->now_unix_s);
	holders_put_when(b, "", key->used_unix_s, p->now_unix_s);
	holders_put_end(b, key->expires_unix_s, p->now_unix_s);
	html(b,
	     "<td class=\"num\"><form method=\"post\" action=\"/admin/accounts/revoke\"><input type=\"hidden\" "
	     "name=\"id\" value=\"%ld\"><input type=\"hidden\" name=\"from\" value=\"%ld\"><button class=\"danger\" "
	     "aria-label=\"Revoke ",
	     (long)key->id, (long)p->from_id);
	html_cut(b, key->name, HOLDERS_NAME_BYTES);
	html(b, "\">Revoke</button></form></td></tr>\n");
}

static void holders_put_keys(struct holders_page *p, const struct cairn_holder *holder)
{
	struct cairn_buf *b = page_out(&p->page);
	char count[SHOW_BYTES];
	uint32_t shown = 0;
	html(b, "<table class=\"rows keys\"><thead><tr><th scope=\"col\">Key</th><th scope=\"col\">May</th><th "
		"scope=\"col\" class=\"num wide\">Made</th><th scope=\"col\" class=\"num\">Used</th><th scope=\"col\" "
		"class=\"num wide\">Until</th><th scope=\"col\"><span class=\"away\">Revoke</span></th></tr></thead>"
		"<tbody>\n");
	for (; shown < holder->n_keys && (shown == 0 || b->len < p->end); shown++)
		holders_put_key(p, &holder->keys[shown]);
	html(b, "</tbody></table>\n");
	if (shown < holder->n_keys || holder->n_more > 0)
		html(b, "<p class=\"dim\">And %s more, which <code>cairn key list</code> shows.</p>\n",
		     show_count(count, (uint64_t)(holder->n_keys - shown) + holder->n_more));
}

static void holders_put(struct holders_page *p, const struct cairn_holder *holder)
{
	const struct cairn_index_account *account = &holder->account;
	struct cairn_buf *b = page_out(&p->page);
	html(b, "<section class=\"holder\"><div class=\"title\"><h2>");
	if (account->id == 0)
		html(b, "The operator</h2>");
	else
		html(b, "<a href=\"/%s\">%s</a></h2><span class=\"tags\"><span class=\"tag\">%s</span>", account->name,
		     account->name, account->kind == CAIRN_INDEX_USER ? "user" : "organisation");
	if (account->disabled_unix_s != 0)
		html(b, "<span class=\"tag lock\">disabled</span>");
	html(b, account->id == 0 ? "</div>\n" : "</span></div>\n");
	if (account->id != 0) {
		html(b, "<p class=\"dim\">");
		if (account->fullname[0]) {
			html(b, "<bdi>");
			html_cut(b, account->fullname, HOLDERS_NAME_BYTES);
			html(b, "</bdi>, ");
		}
		html(b, "made ");
		show_age(b, account->created_unix_s, p->now_unix_s);
		html(b, "</p>\n");
	}
	if (holder->n_keys > 0)
		holders_put_keys(p, holder);
	else
		html(b, "<p class=\"dim\">%s</p>\n",
		     account->kind == CAIRN_INDEX_ORGANISATION ? "Its members use their own keys." : "No key.");
	html(b, "</section>\n");
}

static void holders_put_all(struct holders_page *p, const struct cairn_holders *holders)
{
	struct cairn_buf *b = page_out(&p->page);
	int64_t next_id = holders->next_id;
	p->end = b->len + HOLDERS_BYTES;
	for (uint32_t i = 0; i < holders->n; i++) {
		/* one account must follow the operator's: the next page begins there */
		if (i > 1 && b->len >= p->end) {
			next_id = holders->all[i - 1].account.id;
			break;
		}
		holders_put(p, &holders->all[i]);
	}
	if (p->from_id == 0 && next_id == 0)
		return;
	html(b, "<p class=\"more\">");
	if (p->from_id > 0)
		html(b, "<a href=\"/admin/accounts\">First ones</a> ");
	if (next_id != 0)
		html(b, "<a href=\"?from=%ld\">More</a>", (long)next_id);
	html(b, "</p>\n");
}

static void holders_build(struct page *page)
{
	static const struct page_crumb CRUMBS[] = {{"/", "Repositories"}, {"/admin", "Server"}, {"", "Accounts"}};
	struct holders_page *p = (struct holders_page *)page;
	struct cairn_buf *b = page_out(page);
	if (!holders_are_for(page))
		return;
	struct cairn_holders *holders = calloc(1, sizeof(*holders));
	page->hub.call.status = holders ? cairn_hub_list_holders(holders, page_hub(page), p->from_id) : CAIRN_E_NOMEM;
	if (page->hub.call.status == CAIRN_OK) {
		p->now_unix_s = cairn_clock_unix_s();
		page_begin(page, "Accounts", CRUMBS, 3);
		html(b, "<h1>Accounts and keys</h1>\n<p class=\"dim\">Keys that are not revoked. The server "
			"stores only the digest of a key, and when it was last used, to about an hour. "
			"<code>cairn user</code>, <code>cairn org</code> and <code>cairn key</code> make "
			"more.</p>\n");
		page_put_notice(page);
		holders_put_all(p, holders);
		page_end(page);
		cairn_holders_fini(holders);
	}
	free(holders);
}

static void holders_get(struct http_request *req)
{
	struct holders_page *p = page_get_new(req, sizeof(*p), holders_build);
	if (!p)
		return;
	p->from_id = (int64_t)http_query_number_or_0(req, "from", INT64_MAX);
	route_job_start(req);
}

static void holders_revoke(struct page *page)
{
	struct hub_call *call = &page->hub.call;
	uint64_t id, from = 0; /* the page to return to; absent: the first one */
	bool revoked;
	if (!holders_are_for(page))
		return;
	(void)form_number(&page->form, "from", 1, INT64_MAX, &from);
	if (form_number(&page->form, "id", 1, INT64_MAX, &id))
		call->status = cairn_cas_revoke_key(page_cas(page), (int64_t)id, &revoked);
	else
		call->status = form_refuse(&call->diag);
	if (call->status == CAIRN_E_NOT_FOUND)
		(void)cairn_fail(&call->diag, CAIRN_E_NOT_FOUND, "key.unknown", CAIRN_NO_OFFSET,
				 "there is no key of this number");
	else if (call->status == CAIRN_OK && from > 0)
		(void)snprintf(page->location, sizeof(page->location), "%s?from=%ld", HOLDERS_PATH, (long)from);
	else if (call->status == CAIRN_OK)
		(void)snprintf(page->location, sizeof(page->location), "%s", HOLDERS_PATH);
}

static void holders_revoke_head(struct http_request *req)
{
	(void)page_post_new(req, sizeof(struct holders_page), holders_revoke);
}

const struct http_route ROUTES_PAGE_HOLDERS[] = {
	PAGE_GET("/admin/accounts", "page-accounts", holders_get, page_free),
	PAGE_FORM("/admin/accounts/revoke", "page-accounts", holders_revoke_head, page_free),
	{0},
};
