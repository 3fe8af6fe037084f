/* The keys of the reader's account: GET and POST /settings/keys, POST /settings/keys/revoke. */
#include "base/clock.h"
#include "hub/own_key.h"
#include "server/page/page.h"
#include "server/page/page_routes.h"

#include <stdio.h>
#include <string.h>

enum {
	KEYS_ROWS_BYTES = 36000, /* rows on one page: names may be long */
	KEYS_NAME_BYTES = 120,
};
static const char KEYS_PATH[] = "/settings/keys";

struct keys_page {
	struct page page;
	char made[CAIRN_KEY_TEXT_BYTES]; /* the new key, shown once; empty: none was made */
	int64_t after;                   /* the list continues after this key */
};

struct keys_rows {
	struct page *page;
	int64_t now_unix_s;
	int64_t last; /* number of the last key that is shown */
	size_t end;   /* limit of the page's length */
	bool more;
};

static void keys_put_times(struct cairn_buf *b, const struct cairn_key *key, int64_t now_unix_s)
{
	char until[SHOW_BYTES];
	html(b, "<td class=\"num wide\">");
	show_age(b, key->created_unix_s, now_unix_s);
	html(b, "</td><td class=\"num wide\">");
	if (key->used_unix_s != 0)
		show_age(b, key->used_unix_s, now_unix_s);
	else
		html(b, "–");
	html(b, "</td><td class=\"num wide\">%s</td>",
	     key->expires_unix_s != 0 ? show_time(until, key->expires_unix_s) : "–");
}

/* Appends a button that revokes a key. A read-only key cannot revoke keys. */
static void keys_put_revoke(struct cairn_buf *b, const struct cairn_key *key, bool current)
{
	html(b, current ? "<details class=\"sure\"><summary>Revoke</summary><p>It signs you out, and revokes the "
			  "keys that were made with it.</p>"
			: "");
	html(b,
	     "<form method=\"post\" action=\"/settings/keys/revoke\"><input type=\"hidden\" name=\"id\" value=\"%ld\">"
	     "<button class=\"danger\" aria-label=\"Revoke ",
	     (long)key->id);
	html_cut(b, key->name, KEYS_NAME_BYTES);
	html(b, current ? "\">Revoke it</button></form></details>" : "\">Revoke</button></form>");
}

static void keys_put(void *ctx, const struct cairn_key *key)
{
	struct keys_rows *rows = ctx;
	struct cairn_buf *b = page_out(rows->page);
	bool current = key->id == page_asker(rows->page)->key;
	if (key->revoked || key->id <= rows->last)
		return;
	rows->more = rows->more || b->len > rows->end;
	if (rows->more)
		return;
	rows->last = key->id;
	html(b, "<tr><th scope=\"row\"><bdi>");
	html_cut(b, key->name, KEYS_NAME_BYTES);
	html(b, "</bdi>%s</th><td>%s", current ? " (signed in with it)" : "", key->scopes);
	if (key->repo[0]) {
		html(b, " in ");
		html_name(b, key->repo);
	}
	html(b, "</td>");
	keys_put_times(b, key, rows->now_unix_s);
	html(b, "<td class=\"num\">");
	if (page_asker(rows->page)->scopes & CAIRN_TOKEN_WRITE)
		keys_put_revoke(b, key, current);
	html(b, "</td></tr>\n");
}

static void keys_put_list(struct page *page)
{
	struct keys_rows rows = {
		.page = page, .now_unix_s = cairn_clock_unix_s(), .last = ((struct keys_page *)page)->after};
	struct hub_call *call = &page->hub.call;
	html(page_out(page),
	     "<table class=\"rows keys\"><thead><tr><th scope=\"col\">Name</th><th scope=\"col\">May</th><th "
	     "scope=\"col\" class=\"num wide\">Made</th><th scope=\"col\" class=\"num wide\">Used</th><th "
	     "scope=\"col\" class=\"num wide\">Until</th><th scope=\"col\"><span class=\"away\">Revoke</span>"
	     "</th></tr></thead><tbody>\n");
	rows.end = page_out(page)->len + KEYS_ROWS_BYTES;
	call->status = cairn_hub_each_own_key(page_hub(page), page_asker(page), keys_put, &rows, &call->diag);
	html(page_out(page), "</tbody></table>\n");
	if (rows.more)
		html(page_out(page), "<p class=\"more\"><a href=\"/settings/keys?after=%ld\">More keys</a></p>\n",
		     (long)rows.last);
}

static void keys_put_form(struct cairn_buf *b)
{
	html(b,
	     "<section class=\"card\" aria-labelledby=\"more\"><h2 id=\"more\">Another key</h2><form method=\"post\" "
	     "action=\"/settings/keys\" class=\"stack\"><label for=\"name\">What it is for</label><input id=\"name\" "
	     "name=\"name\" required maxlength=\"80\" autocomplete=\"off\" placeholder=\"laptop\"><fieldset>"
	     "<legend>It may</legend><label class=\"choice\"><input type=\"radio\" name=\"may\" value=\"read\" "
	     "checked> read</label><label class=\"choice\"><input type=\"radio\" name=\"may\" value=\"write\"> read "
	     "and write</label></fieldset><button class=\"main\">Make a key</button></form></section>\n");
}

static void keys_build(struct page *page)
{
	static const struct page_crumb CRUMBS[] = {{"/", "Repositories"}, {"", "Keys"}};
	const char *made = ((struct keys_page *)page)->made;
	struct cairn_buf *b = page_out(page);
	if (!page_is_signed_in(page, KEYS_PATH))
		return;
	page_begin(page, "Keys", CRUMBS, 2);
	html(b,
	     "<h1>Keys</h1>\n<p>A key stands for you: in <code>HF_TOKEN</code>, for <code>git</code> as the password, "
	     "and to sign in here. Revoking a key also revokes the keys that were made with it.</p>\n");
	page_put_notice(page);
	if (made[0]) {
		html(b, "<section class=\"card good\" role=\"status\"><h2>Your new key</h2><p>It is shown "
			"only once. Copy it now; the server keeps only its digest.</p>\n");
		page_put_copy(page, "made", "Key", made);
		html(b, "</section>\n");
	}
	keys_put_list(page);
	if (page_asker(page)->scopes & CAIRN_TOKEN_WRITE)
		keys_put_form(b);
	else
		html(b, "<p class=\"dim\">You are signed in with a key that may only read: it can neither "
			"make nor revoke keys.</p>\n");
	page_end(page);
}

static void keys_get(struct http_request *req)
{
	struct keys_page *keys = page_get_new(req, sizeof(*keys), keys_build);
	if (!keys)
		return;
	keys->after = (int64_t)http_query_number_or_0(req, "after", INT64_MAX);
	route_job_start(req);
}

static void keys_make(struct page *page)
{
	struct keys_page *keys = (struct keys_page *)page;
	struct hub_call *call = &page->hub.call;
	bool writing = strcmp(form_value(&page->form, "may"), "write") == 0;
	call->status = cairn_hub_make_own_key(page_hub(page), page_asker(page), form_value(&page->form, "name"),
					      writing, keys->made, &call->diag);
	if (call->status != CAIRN_OK && !page_take_failure(page))
		return;
	keys_build(page);
	explicit_bzero(keys->made, sizeof(keys->made));
}

static void keys_post_head(struct http_request *req)
{
	(void)page_post_new(req, sizeof(struct keys_page), keys_make);
}

static void keys_revoke(struct page *page)
{
	struct hub_call *call = &page->hub.call;
	uint64_t id;
	if (form_number(&page->form, "id", 1, INT64_MAX, &id))
		call->status = cairn_hub_revoke_own_key(page_hub(page), page_asker(page), (int64_t)id, &call->diag);
	else
		call->status = form_refuse(&call->diag);
	if (call->status == CAIRN_OK)
		(void)snprintf(page->location, sizeof(page->location), "%s", KEYS_PATH);
}

static void keys_revoke_head(struct http_request *req)
{
	(void)page_post_new(req, sizeof(struct keys_page), keys_revoke);
}

const struct http_route ROUTES_PAGE_KEYS[] = {
	PAGE_GET("/settings/keys", "page-keys", keys_get, page_free),
	PAGE_FORM("/settings/keys", "page-keys", keys_post_head, page_free),
	PAGE_FORM("/settings/keys/revoke", "page-keys", keys_revoke_head, page_free),
	{0},
};
