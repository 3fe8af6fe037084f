/* Requests for pages and forms, and their replies. */
#include "server/page/page.h"

#include "server/http/errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only scripts of this server run, only its content is shown, and forms lead only to this server. */
static const char PAGE_POLICY[] = "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; "
				  "form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

static const char PAGE_TYPE[] = "text/html; charset=utf-8";
/* the same text for missing and for hidden pages */
static const char PAGE_NOTHING[] = "There is nothing here, or nothing that you may see.";

enum { PAGE_ERROR_BYTES_MAX = 8192 };

static void page_run(struct hub_call *call)
{
	struct page *page = (struct page *)call;
	page->build(page);
}

static void page_add_policy(struct http_request *req)
{
	http_reply_header(req, "Content-Security-Policy", PAGE_POLICY);
	http_reply_header(req, "X-Content-Type-Options", "nosniff");
	http_reply_header(req, "Referrer-Policy", "same-origin"); /* without referrers, forms would have no origin */
	http_reply_header(req, "Cross-Origin-Opener-Policy", "same-origin");
}

static void page_add_headers(struct http_request *req, const struct page *page)
{
	page_add_policy(req);
	if (page->secure)
		http_reply_header(req, "Strict-Transport-Security", "max-age=31536000");
	if (page->cookie[0])
		http_reply_header(req, "Set-Cookie", page->cookie);
}

static void page_reply_away(struct http_request *req, struct page *page, const char *where)
{
	page_add_headers(req, page);
	http_reply_header(req, "Cache-Control", "no-store");
	CLEANUP(cairn_buf_fini) struct cairn_buf location = cairn_buf_init(PAGE_ERROR_BYTES_MAX);
	cairn_buf_printf(&location, "%s%s", where[0] == '/' ? html_root(page->hub.base) : "", where);
	cairn_buf_add(&location, "", 1);
	if (location.status != CAIRN_OK) {
		http_reply_status(req, location.status, NULL);
		return;
	}
	http_reply_header(req, "Location", (const char *)location.bytes);
	http_reply_empty(req, 303, UINT64_MAX);
}

static void page_show(struct http_request *req, struct hub_call *call)
{
	struct page *page = (struct page *)call;
	if (page->location[0]) {
		page_reply_away(req, page, page->location);
		return;
	}
	if (page->lost.rule)
		http_request_log_failure(req, 200, page->lost.rule, page->lost.text);
	page_add_headers(req, page);
	hub_call_show_code(req, call, page->hub.code ? page->hub.code : 200, PAGE_TYPE);
}

static const char *page_failure_title(unsigned code)
{
	return code == 404 ? "Not found" : "That was not done";
}

bool page_reply_error(struct http_request *req, unsigned code, const char *message)
{
	struct cairn_buf b = cairn_buf_init(PAGE_ERROR_BYTES_MAX);
	char base[HUB_BASE_BYTES];
	page_put_error(&b, code, page_failure_title(code), code == 404 ? PAGE_NOTHING : message);
	http_base_url(req, base, sizeof(base));
	html_move(&b, base);
	if (b.status != CAIRN_OK) {
		cairn_buf_fini(&b);
		return false;
	}
	page_add_policy(req);
	http_reply_header(req, "Cache-Control", "no-store");
	http_reply_buf(req, code, PAGE_TYPE, &b);
	return true;
}

static void page_build_failure(struct page *page, unsigned code, const char *text, const char *request_id)
{
	const char *title = page_failure_title(code);
	struct cairn_buf *b = page_out(page);
	b->len = 0;
	b->status = CAIRN_OK;
	page_begin(page, title, NULL, 0);
	html(b, "<div class=\"empty\"><p class=\"big\">%u</p><h1>%s</h1><p>%s</p>", code, title, text);
	if ((code == 404 || code == 403) && page_asker(page)->kind == CAIRN_HUB_NOBODY && page->hub.name)
		html(b, "<p>If only its members may see it, <a href=\"/login?next=%s%s/%s\">sign in</a>.</p>",
		     hub_kind_web(page->hub.kind), page->hub.namespace, page->hub.name);
	if (request_id)
		html(b, "<p>The server's log says more of the request <code>%s</code>.</p>", request_id);
	html(b, "<p><a href=\"/\">To the start page</a></p></div>");
	page_end(page);
}

static void page_log_failure(struct http_request *req, const struct hub_call *call, const struct errors_reply *reply)
{
	http_request_log_failure(req, reply->code, call->diag.rule ? call->diag.rule : reply->rule,
				 call->diag.text[0] ? call->diag.text : reply->message);
	if (reply->code == 503)
		http_reply_header(req, "Retry-After", "3");
}

static void page_reply_failure(struct http_request *req, struct page *page)
{
	struct hub_call *call = &page->hub.call;
	struct errors_reply reply = errors_of_failure(call->status, call->diag.rule, false);
	const char *rule = call->diag.rule ? call->diag.rule : "";
	bool gone = call->status == CAIRN_E_DENIED && call->browser.session[0] &&
		    (strcmp(rule, "key.unknown") == 0 || strcmp(rule, "key.expired") == 0);
	if (gone && page->wants_html) { /* the key was revoked or has expired, or its account is disabled */
		page_set_cookie(page, "", 0);
		page_reply_away(req, page, "/login");
		return;
	}
	if (!page->wants_html && reply.code == 404) { /* programs get the message about resources instead */
		http_reply_error(req, 404, "route.unknown", "there is no such resource; check the path", NULL);
		return;
	}
	if (!page->wants_html) {
		http_reply_error(req, reply.code, reply.rule, reply.message, &call->diag); /* logs it, too */
		return;
	}
	page->hub.code = reply.code;
	if (reply.code >= 500)
		page_log_failure(req, call, &reply);
	page->location[0] = '\0'; /* where a successful form leads */
	page_build_failure(page, reply.code,
			   reply.code == 404                         ? PAGE_NOTHING
			   : call->diag.text[0] && reply.code != 500 ? call->diag.text
								     : reply.message,
			   reply.code >= 500 ? http_request_id(req) : NULL);
	if (page_out(page)->status == CAIRN_OK)
		page_show(req, call);
	else
		http_reply_status(req, page_out(page)->status, NULL);
}

static void page_reply(struct http_request *req, struct route_job *job)
{
	struct page *page = (struct page *)job;
	if (page->hub.call.status == CAIRN_OK)
		page_show(req, &page->hub.call);
	else
		page_reply_failure(req, page);
}

static bool page_is_secure(const struct page *page)
{
	return strncmp(page->hub.base, "https://", 8) == 0;
}

static struct page *page_new(struct http_request *req, size_t bytes, void (*build)(struct page *page))
{
	struct page *page = hub_repo_new(req, bytes, (enum cairn_index_repo_kind)0, page_run, page_show);
	const char *accept = http_header(req, "Accept");
	if (!page)
		return NULL;
	page->hub.call.job.reply = page_reply;
	page->build = build;
	page->wants_html = accept && strstr(accept, "text/html");
	page->secure = page_is_secure(page);
	hub_call_take_browser(req, &page->hub.call);
	return page;
}

void *page_get_new(struct http_request *req, size_t bytes, void (*build)(struct page *page))
{
	return page_new(req, bytes, build);
}

void *page_post_new(struct http_request *req, size_t bytes, void (*build)(struct page *page))
{
	struct page *page = page_new(req, bytes, build);
	if (page)
		(void)route_body_begin(req, &page->hub.body);
	return page;
}

void page_body(struct http_request *req, const uint8_t *bytes, size_t len)
{
	struct page *page = http_state(req);
	route_body_add(req, &page->hub.body, bytes, len);
}

static void page_refuse_origin(struct page *page)
{
	struct hub_call *call = &page->hub.call;
	call->status = cairn_fail(&call->diag, CAIRN_E_DENIED, "origin.form", CAIRN_NO_OFFSET,
				  "this form came from a page of another server (its header Origin): open the page on "
				  "this server, and send it there");
}

static void page_refuse_form(struct page *page)
{
	page->hub.call.status = form_refuse(&page->hub.call.diag);
}

bool page_post_may(struct http_request *req, struct page *page, enum cairn_hub_access need)
{
	if (!http_is_own_origin(req))
		page_refuse_origin(page);
	else
		(void)hub_repo_check_access(&page->hub, need);
	if (page->hub.call.status != CAIRN_OK)
		page_reply_failure(req, page);
	return page->hub.call.status == CAIRN_OK;
}

void page_done_files(struct http_request *req)
{
	struct page *page = http_state(req);
	if (!http_is_own_origin(req))
		page->build = page_refuse_origin;
	hub_repo_done(req);
}

void page_done(struct http_request *req)
{
	struct page *page = http_state(req);
	const struct cairn_body *body = &page->hub.body.in;
	if (!http_is_own_origin(req))
		page->build = page_refuse_origin;
	else if (!form_read(&page->form, (const char *)body->bytes, body->len))
		page->build = page_refuse_form;
	route_job_start(req);
}

void page_free(void *state)
{
	struct page *page = state;
	if (!page)
		return;
	form_fini(&page->form);
	hub_repo_fini(&page->hub);
	free(page);
}
