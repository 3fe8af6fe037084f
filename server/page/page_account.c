/* The page of a user or an organisation, with its repositories and members. GET /{account}, POST /settings/members */
#include "hub/quota.h"
#include "server/page/page.h"
#include "server/page/page_routes.h"

#include <stdio.h>
#include <string.h>

struct account_page {
	struct page page;
	const char *name, *cursor; /* borrowed from the request */
	bool may_change;           /* the reader may change the members */
};

static void account_put_role(struct cairn_buf *b, const char *role, enum cairn_index_role chosen)
{
	html(b, "<option%s>%s</option>", strcmp(role, cairn_hub_role_name(chosen)) == 0 ? " selected" : "", role);
}

static void account_put_member(void *ctx, const struct cairn_index_account *user, enum cairn_index_role role)
{
	const struct account_page *p = ctx;
	struct cairn_buf *b = page_out(ctx);
	html(b, "<tr><th scope=\"row\"><a href=\"/%s\">%s</a>", user->name, user->name);
	if (user->fullname[0]) {
		html(b, " <span class=\"dim\">");
		html_name(b, user->fullname);
		html(b, "</span>");
	}
	html(b, "</th><td>%s</td>", cairn_hub_role_name(role));
	if (p->may_change)
		html(b,
		     "<td class=\"num\"><form method=\"post\" action=\"/settings/members\"><input type=\"hidden\" "
		     "name=\"organisation\" value=\"%s\"><input type=\"hidden\" name=\"user\" value=\"%s\"><button "
		     "class=\"danger\" name=\"role\" value=\"none\" aria-label=\"Remove "
		     "%s\">Remove</button></form></td>",
		     p->name, user->name, user->name);
	html(b, "</tr>\n");
}

static void account_put_member_form(struct account_page *p)
{
	struct cairn_buf *b = page_out(&p->page);
	html(b,
	     "<form method=\"post\" action=\"/settings/members\" class=\"line\"><input type=\"hidden\" "
	     "name=\"organisation\" value=\"%s\"><label for=\"user\">User</label><input id=\"user\" name=\"user\" "
	     "required maxlength=\"96\" autocomplete=\"off\" spellcheck=\"false\"><label "
	     "for=\"role\">may</label><select "
	     "id=\"role\" name=\"role\">",
	     p->name);
	account_put_role(b, "read", CAIRN_INDEX_ROLE_WRITE);
	account_put_role(b, "write", CAIRN_INDEX_ROLE_WRITE);
	account_put_role(b, "admin", CAIRN_INDEX_ROLE_WRITE);
	html(b, "</select><button>Set</button></form>\n");
}

/* Appends the members. Only members may see them. */
static void account_put_members(struct account_page *p, enum cairn_hub_access access)
{
	struct hub_call *call = &p->page.hub.call;
	struct cairn_buf *b = page_out(&p->page);
	p->may_change = access >= CAIRN_HUB_ADMIN;
	html(b,
	     "<section aria-labelledby=\"members\"><h2 id=\"members\">Members</h2>\n<table class=\"rows\"><thead><tr>"
	     "<th scope=\"col\">User</th><th scope=\"col\">May</th>");
	if (p->may_change)
		html(b, "<th scope=\"col\"><span class=\"away\">Remove</span></th>");
	html(b, "</tr></thead><tbody>\n");
	call->status = cairn_hub_each_member(page_hub(&p->page), p->name, account_put_member, p, &call->diag);
	html(b, "</tbody></table>\n");
	if (p->may_change)
		account_put_member_form(p);
	html(b, "</section>\n");
}

static void account_put_title(struct cairn_buf *b, const struct cairn_index_account *account)
{
	html(b, "<div class=\"title\"><h1>%s</h1><span class=\"tags\"><span class=\"tag\">%s</span>", account->name,
	     account->kind == CAIRN_INDEX_USER ? "user" : "organisation");
	if (account->disabled_unix_s != 0)
		html(b, "<span class=\"tag lock\">disabled</span>");
	html(b, "</span>");
	if (account->fullname[0]) {
		html(b, "<p class=\"dim\">");
		html_name(b, account->fullname);
		html(b, "</p>");
	}
	html(b, "</div>\n");
}

/* Appends how many bytes count for the account's quota, and the quota, for readers who may add files. */
static void account_put_room(struct page *page, const struct cairn_index_account *account)
{
	struct cairn_buf *b = page_out(page);
	struct cairn_index_room room;
	struct cairn_diag unsaid = {0};
	char stored[SHOW_BYTES], limit[SHOW_BYTES];
	if (cairn_hub_quota(page_hub(page), account->name, &room, &unsaid) != CAIRN_OK)
		return;
	html(b, "<p class=\"dim\">Holds %s", show_size(stored, room.stored_bytes));
	if (room.limit_bytes != CAIRN_INDEX_NO_QUOTA)
		html(b, " of %s that it may hold", show_size(limit, room.limit_bytes));
	html(b, ".</p>\n");
}

static void account_build_found(struct account_page *p, const struct cairn_index_account *account,
				enum cairn_hub_access access)
{
	struct page *page = &p->page;
	struct cairn_buf *b = page_out(page);
	const struct page_crumb crumbs[] = {{"/", "Repositories"}, {"", account->name}};
	char more[CAIRN_INDEX_ACCOUNT_NAME_MAX + 8];
	(void)snprintf(more, sizeof(more), "/%s?", account->name);
	page_begin(page, account->name, crumbs, 2);
	account_put_title(b, account);
	if (access >= CAIRN_HUB_WRITE)
		account_put_room(page, account);
	page_put_notice(page);
	html(b, "<section aria-labelledby=\"repos-title\"><h2 id=\"repos-title\">Repositories</h2>\n");
	const struct page_repos repos = {.account = account->id, .search = "", .cursor = p->cursor, .more = more};
	if (!page_put_repos(page, &repos))
		html(b, "<p class=\"empty\">%s</p>\n",
		     access >= CAIRN_HUB_WRITE ? "Nothing is here yet. Make something with New, above."
					       : "Nothing is here that you may see.");
	html(b, "</section>\n");
	if (page->hub.call.status == CAIRN_OK && account->kind == CAIRN_INDEX_ORGANISATION && access >= CAIRN_HUB_READ)
		account_put_members(p, access);
	page_end(page);
}

static void account_build(struct page *page)
{
	struct account_page *p = (struct account_page *)page;
	struct hub_call *call = &page->hub.call;
	struct cairn_index_account account = {0};
	enum cairn_hub_access access;
	call->status = call->asker.shut_out
			       ? cairn_hub_no_account(&call->diag)
			       : cairn_hub_see_account(page_hub(page), &call->asker, p->name, &account, &call->diag);
	if (call->status == CAIRN_OK)
		call->status = cairn_hub_access_in(page_hub(page), &call->asker, account.id, &access);
	if (call->status == CAIRN_OK)
		account_build_found(p, &account, access);
}

static void account_get(struct http_request *req)
{
	struct account_page *p = page_get_new(req, sizeof(*p), account_build);
	if (!p)
		return;
	p->name = http_path_arg(req, "account");
	p->cursor = http_query_arg(req, "cursor");
	route_job_start(req);
}

static enum cairn_status account_set_member(struct page *page, const struct cairn_index_account *account)
{
	struct hub_call *call = &page->hub.call;
	enum cairn_hub_access access;
	enum cairn_index_role role;
	bool changed;
	enum cairn_status status = cairn_hub_access_in(page_hub(page), &call->asker, account->id, &access);
	if (status != CAIRN_OK)
		return status;
	bool by_operator = call->asker.kind == CAIRN_HUB_OPERATOR;
	/* An operator's key needs the scope admin, because members stay when the key that added them is gone. */
	if (access < CAIRN_HUB_ADMIN || (by_operator && !page_is_operator(page)))
		return cairn_fail(&call->diag, CAIRN_E_DENIED, "account.denied", CAIRN_NO_OFFSET,
				  "its admins say who belongs to an organisation");
	if (!cairn_hub_role_parse(form_value(&page->form, "role"), &role))
		return form_refuse(&call->diag);
	return cairn_hub_set_member(page_hub(page), by_operator, account->name, form_value(&page->form, "user"), role,
				    &changed, &call->diag);
}

static void account_change(struct page *page)
{
	struct account_page *p = (struct account_page *)page;
	struct hub_call *call = &page->hub.call;
	struct cairn_index_account account;
	p->name = form_value(&page->form, "organisation");
	call->status = cairn_hub_see_account(page_hub(page), &call->asker, p->name, &account, &call->diag);
	if (call->status != CAIRN_OK)
		return;
	call->status = account_set_member(page, &account);
	if (page_take_failure(page))
		account_build(page);
	else if (call->status == CAIRN_OK)
		(void)snprintf(page->location, sizeof(page->location), "/%s", account.name);
}

static void account_post_head(struct http_request *req)
{
	(void)page_post_new(req, sizeof(struct account_page), account_change);
}

const struct http_route ROUTES_PAGE_ACCOUNT[] = {
	PAGE_FORM("/settings/members", "page-members", account_post_head, page_free),
	PAGE_GET("/{account}", "page-account", account_get, page_free),
	{0},
};
