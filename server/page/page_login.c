/* Signing in with a key, and out: GET and POST /login, POST /logout. */
#include "cas/service/keys.h"
#include "server/ask/session.h"
#include "server/page/page.h"
#include "server/page/page_routes.h"

#include <stdio.h>
#include <string.h>

struct login {
	struct page page;
	const char *next; /* where to go afterwards; from the request or the form */
};

/* Accepts only addresses of this server: not "//host" and "/\host", and none behind bytes that browsers ignore. */
static const char *login_next(const char *next)
{
	bool good = next && next[0] == '/' && next[1] != '/' && strlen(next) < PAGE_LOCATION_BYTES;
	for (const char *p = next; good && *p; p++)
		good = *p > ' ' && *p < 0x7f && *p != '\\';
	return good ? next : "/";
}

static void login_put_form(struct page *page, const char *next)
{
	struct cairn_buf *b = page_out(page);
	page_begin(page, "Sign in", NULL, 0);
	html(b, "<div class=\"narrow\"><h1>Sign in</h1>\n");
	page_put_notice(page);
	html(b,
	     "<form method=\"post\" action=\"/login\" class=\"stack\"><input type=\"hidden\" name=\"next\" "
	     "value=\"%s\">"
	     "<label for=\"key\">Key</label><input type=\"password\" id=\"key\" name=\"key\" required autofocus "
	     "autocomplete=\"current-password\" spellcheck=\"false\" placeholder=\"hf_…\" "
	     "aria-describedby=\"key-help\"><p class=\"help\" id=\"key-help\">The key that the tools use, too. The "
	     "operator of this server makes your first one: <code>cairn user add you --key</code>. You stay signed "
	     "in for 12 hours.</p><button class=\"main\">Sign in</button></form></div>\n",
	     next);
	page_end(page);
}

static void login_build(struct page *page)
{
	const char *next = login_next(((struct login *)page)->next);
	if (page_asker(page)->kind != CAIRN_HUB_NOBODY)
		(void)snprintf(page->location, sizeof(page->location), "%s", next);
	else
		login_put_form(page, next);
}

static void login_get(struct http_request *req)
{
	struct login *login = page_get_new(req, sizeof(*login), login_build);
	if (!login)
		return;
	login->next = http_query_arg(req, "next");
	route_job_start(req);
}

static enum cairn_status login_begin(struct page *page)
{
	uint8_t digest[CAIRN_SHA256_BYTES];
	char text[SESSION_TEXT_BYTES];
	struct cairn_hub_asker asker;
	struct cairn_diag *diag = &page->hub.call.diag;
	enum cairn_status status = cairn_key_digest(form_value(&page->form, "key"), digest);
	if (status == CAIRN_E_FORMAT)
		return cairn_fail(diag, CAIRN_E_DENIED, "key.unknown", CAIRN_NO_OFFSET,
				  "this is no key of this server; a key begins with hf_, and is copied whole");
	if (status == CAIRN_OK)
		status = cairn_hub_identify(page_hub(page), digest, &asker, diag);
	if (status == CAIRN_OK)
		status = sessions_begin(page->hub.call.job.app->sessions, digest,
					asker.kind == CAIRN_HUB_ACCOUNT ? asker.account.id : 0, text, diag);
	if (status == CAIRN_OK)
		page_set_cookie(page, text, SESSION_LIFE_S);
	explicit_bzero(text, sizeof(text));
	return status;
}

static void login_post_build(struct page *page)
{
	const char *next = login_next(form_value(&page->form, "next"));
	page->hub.call.status = login_begin(page);
	if (page_take_failure(page))
		login_put_form(page, next);
	else
		(void)snprintf(page->location, sizeof(page->location), "%s", next);
}

static void login_post_head(struct http_request *req)
{
	(void)page_post_new(req, sizeof(struct page), login_post_build);
}

static void login_end(struct page *page)
{
	struct hub_call *call = &page->hub.call;
	if (call->has_key)
		call->status = sessions_end(call->job.app->sessions, call->browser.session, &call->diag);
	if (call->status != CAIRN_OK)
		return;
	page_set_cookie(page, "", 0);
	(void)snprintf(page->location, sizeof(page->location), "/");
}

static void login_end_head(struct http_request *req)
{
	(void)page_post_new(req, sizeof(struct page), login_end);
}

const struct http_route ROUTES_PAGE_LOGIN[] = {
	PAGE_GET("/login", "page-login", login_get, page_free),
	PAGE_FORM("/login", "page-login", login_post_head, page_free),
	PAGE_FORM("/logout", "page-logout", login_end_head, page_free),
	{0},
};
