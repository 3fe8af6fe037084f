/* Access to repositories with a gate. For those who want it: POST [/{type}]/{namespace}/{name}/ask-access. For admins:
 * GET and POST [/{type}]/{namespace}/{name}/settings/access. */
#include "server/page/page_access.h"

#include "base/clock.h"
#include "hub/access.h"
#include "server/page/page_repo.h"
#include "server/page/page_routes.h"

#include <stdio.h>
#include <string.h>

enum { ACCESS_ROWS_BYTES = 34000 /* rows of the list on one page: names and reasons may be long */ };

struct access_page {
	struct page page;
	enum cairn_index_access_state state; /* state of the requests that are listed */
	const char *after;                   /* borrowed from the request */
	int64_t now_unix_s;
	uint32_t n;
	size_t end; /* rows begin only before this byte of the page */
	bool more;  /* there are further rows */
	char last[CAIRN_HUB_REQUEST_BYTES];
};

static void access_put_ask(struct page *page)
{
	struct cairn_buf *b = page_out(page);
	struct cairn_diag why = {0};
	if (page_asker(page)->kind == CAIRN_HUB_NOBODY) {
		html(b, "<p><a href=\"/login?next=");
		page_repo_put_address(b, page);
		html(b, "\">Sign in</a> to ask for access.</p>");
	} else if (cairn_hub_check_asks_access(page_asker(page), &why) != CAIRN_OK) {
		html(b, "<p class=\"help\">To ask for access, sign in with another key: %s.</p>", why.text);
	} else {
		html(b, "<form method=\"post\" action=\"");
		page_repo_put_address(b, page);
		html(b,
		     "/ask-access\"><p class=\"help\">The admins of %s see your name, and when you asked. Nobody "
		     "else does.</p><button class=\"main\">Ask for access</button></form>",
		     page->hub.repo.account_name);
	}
}

static void access_put_state(struct page *page, const struct cairn_index_access_request *own)
{
	struct cairn_buf *b = page_out(page);
	html(b, "<p role=\"status\">");
	if (own->state == CAIRN_INDEX_ACCESS_PENDING)
		html(b, "Your request is pending: its admins have not answered yet.");
	else if (own->state == CAIRN_INDEX_ACCESS_REJECTED)
		html(b, "Its admins rejected your request.");
	else
		html(b, "Your request was accepted, but the key that you are signed in with does not open it.");
	html(b, "</p>");
	if (own->reason[0])
		html(b, "<blockquote>%s</blockquote>", own->reason);
}

/* Says that the mirrored hub decides about access, and links to it. */
static void access_put_mirrors_gate(struct page *page, const char *upstream)
{
	const struct cairn_index_repo *repo = &page->hub.repo;
	html(page_out(page),
	     "<div class=\"empty\"><h2>Its files are gated</h2><p>Everybody sees that it is here. Its files are for those "
	     "whom the mirrored hub lets in: ask for access at <a href=\"%s%s%s/%s\">%s</a>.</p></div>\n",
	     upstream, hub_kind_web(repo->kind), repo->account_name, repo->name, upstream);
}

void page_put_gate(struct page *page)
{
	const struct cairn_index_repo *repo = &page->hub.repo;
	struct cairn_buf *b = page_out(page);
	struct hub_call *call = &page->hub.call;
	struct cairn_index_access_request own;
	const struct cairn_mirror *mirror = repo->is_mirrored ? call->job.app->mirror : NULL;
	if (mirror) {
		access_put_mirrors_gate(page, cairn_mirror_upstream(mirror));
		return;
	}
	call->status = cairn_hub_own_request(page_hub(page), page_asker(page), repo, &own);
	html(b,
	     "<div class=\"empty\"><h2>Its files are gated</h2><p>Everybody sees that it is here. Its members can read "
	     "its files, and so can every account %s.</p>",
	     repo->gate == CAIRN_INDEX_GATE_AUTO ? "that asks for access" : "whose request for access was accepted");
	if (own.state == CAIRN_INDEX_ACCESS_NONE)
		access_put_ask(page);
	else
		access_put_state(page, &own);
	html(b, "</div>\n");
}

static void access_ask(struct page *page)
{
	struct hub_repo *hub = &page->hub;
	enum cairn_index_access_state state;
	char address[CAIRN_INDEX_ACCOUNT_NAME_MAX + CAIRN_INDEX_REPO_NAME_MAX + 64];
	if (!hub_repo_find(hub, CAIRN_HUB_SEE))
		return;
	(void)snprintf(address, sizeof(address), "%s%s/%s", hub_kind_web(hub->repo.kind), hub->repo.account_name,
		       hub->repo.name);
	if (!page_is_signed_in(page, address))
		return;
	hub->call.status = cairn_hub_ask_access(page_hub(page), page_asker(page), &hub->repo, &state, &hub->call.diag);
	if (hub->call.status == CAIRN_OK)
		page_repo_go_to(page, "");
}

static void access_ask_head(struct http_request *req)
{
	struct page *page = page_post_new(req, sizeof(*page), access_ask);
	if (page)
		(void)page_repo_take(req, page);
}

static void access_put_tabs(struct access_page *p)
{
	static const struct {
		enum cairn_index_access_state state;
		const char *name;
	} TABS[] = {{CAIRN_INDEX_ACCESS_PENDING, "Pending"},
		    {CAIRN_INDEX_ACCESS_ACCEPTED, "Accepted"},
		    {CAIRN_INDEX_ACCESS_REJECTED, "Rejected"}};
	struct cairn_buf *b = page_out(&p->page);
	html(b, "<nav class=\"tabs\" aria-label=\"Requests\">");
	for (size_t i = 0; i < sizeof(TABS) / sizeof(TABS[0]); i++)
		html(b,
		     p->state == TABS[i].state ? "<a href=\"?state=%s\" aria-current=\"page\">%s</a>"
					       : "<a href=\"?state=%s\">%s</a>",
		     cairn_hub_access_name(TABS[i].state), TABS[i].name);
	html(b, "</nav>\n");
}

static void access_put_button(struct cairn_buf *b, const char *name, enum cairn_index_access_state state,
			      const char *text)
{
	html(b, state == CAIRN_INDEX_ACCESS_ACCEPTED ? "<button" : "<button class=\"danger\"");
	html(b, " name=\"state\" value=\"%s\" aria-label=\"%s %s\">%s</button> ", cairn_hub_access_name(state), text,
	     name, text);
}

static void access_put_answers(struct cairn_buf *b, const struct cairn_index_access_request *request)
{
	html(b,
	     "<form method=\"post\" class=\"line\"><input type=\"hidden\" name=\"action\" value=\"answer\"><input "
	     "type=\"hidden\" name=\"user\" value=\"%s\">",
	     request->name);
	if (request->state != CAIRN_INDEX_ACCESS_ACCEPTED)
		access_put_button(b, request->name, CAIRN_INDEX_ACCESS_ACCEPTED, "Accept");
	if (request->state != CAIRN_INDEX_ACCESS_REJECTED)
		html(b,
		     "<input name=\"reason\" size=\"10\" maxlength=\"%d\" autocomplete=\"off\" placeholder=\"Reason\" "
		     "aria-label=\"Reason to reject %s\">",
		     (int)CAIRN_INDEX_REASON_CHARS_MAX, request->name);
	if (request->state != CAIRN_INDEX_ACCESS_REJECTED)
		access_put_button(b, request->name, CAIRN_INDEX_ACCESS_REJECTED, "Reject");
	if (request->state != CAIRN_INDEX_ACCESS_PENDING)
		access_put_button(b, request->name, CAIRN_INDEX_ACCESS_PENDING, "Undo");
	html(b, "</form>");
}

static void access_put_request(void *ctx, const struct cairn_index_access_request *request)
{
	struct access_page *p = ctx;
	struct cairn_buf *b = page_out(&p->page);
	p->more = p->more || b->len > p->end || p->n == PAGE_ROWS;
	if (p->more)
		return;
	if (p->n++ == 0)
		html(b, "<table class=\"rows\" id=\"requests\"><thead><tr><th scope=\"col\">User</th><th scope=\"col\" "
			"class=\"num wide\">Asked</th><th scope=\"col\">Answer</th></tr></thead><tbody>\n");
	cairn_hex_text(p->last, request->request, sizeof(request->request));
	html(b, "<tr><th scope=\"row\"><a href=\"/%s\">%s</a>", request->name, request->name);
	if (request->fullname[0]) {
		html(b, " <span class=\"dim\">");
		html_name(b, request->fullname);
		html(b, "</span>");
	}
	if (request->reason[0])
		html(b, "<p class=\"help\">%s</p>", request->reason);
	html(b, "</th><td class=\"num wide\">");
	if (request->asked_unix_ms)
		show_age(b, request->asked_unix_ms / 1000, p->now_unix_s);
	else
		html(b, "did not ask");
	html(b, "</td><td>");
	access_put_answers(b, request);
	html(b, "</td></tr>\n");
}

static void access_put_requests(struct access_page *p)
{
	struct hub_repo *hub = &p->page.hub;
	struct cairn_buf *b = page_out(&p->page);
	p->end = b->len + ACCESS_ROWS_BYTES;
	hub->call.status = cairn_hub_each_request(page_hub(&p->page), &hub->repo, p->state, p->after, PAGE_ROWS + 1,
						  access_put_request, p, &hub->call.diag);
	html(b, p->n > 0 ? "</tbody></table>\n" : "<p class=\"empty\">There is none.</p>\n");
	if (p->more)
		html(b, "<p class=\"more\"><a href=\"?state=%s&amp;cursor=%s\">Newer ones</a></p>\n",
		     cairn_hub_access_name(p->state), p->last);
}

static void access_put_grant(struct cairn_buf *b)
{
	html(b,
	     "<form method=\"post\" class=\"line\"><input type=\"hidden\" name=\"action\" value=\"grant\"><label "
	     "for=\"user\">Give access to</label><input id=\"user\" name=\"user\" required maxlength=\"96\" "
	     "autocomplete=\"off\" spellcheck=\"false\" placeholder=\"name of a user\"><button>Accept</button></form>\n");
}

static void access_build_found(struct access_page *p)
{
	static const struct page_crumb CRUMB = {"", "Access"};
	struct page *page = &p->page;
	if (!page_repo_begin(page, PAGE_REPO_SETTINGS, &CRUMB, 1))
		return;
	p->now_unix_s = cairn_clock_unix_s();
	html(page_out(page), "<h2>Requests for access</h2>\n");
	page_put_notice(page);
	access_put_tabs(p);
	access_put_requests(p);
	access_put_grant(page_out(page));
	page_end(page);
}

static void access_build(struct page *page)
{
	if (hub_repo_find(&page->hub, CAIRN_HUB_ADMIN))
		access_build_found((struct access_page *)page);
}

static void access_get(struct http_request *req)
{
	const char *state = http_query_arg(req, "state"), *after = http_query_arg(req, "cursor");
	struct access_page *p = page_get_new(req, sizeof(*p), access_build);
	if (!p)
		return;
	p->state = cairn_hub_access_parse(state ? state : "");
	if (p->state == CAIRN_INDEX_ACCESS_NONE)
		p->state = CAIRN_INDEX_ACCESS_PENDING;
	p->after = after ? after : "";
	if (page_repo_take(req, &p->page))
		route_job_start(req);
}

static enum cairn_status access_change_one(struct page *page)
{
	struct hub_repo *hub = &page->hub;
	const struct cairn_hub_access_answer answer = {
		.user = form_value(&page->form, "user"),
		.state = cairn_hub_access_parse(form_value(&page->form, "state")),
		.reason = form_value(&page->form, "reason"),
	};
	if (strcmp(form_value(&page->form, "action"), "grant") == 0)
		return cairn_hub_grant_access(page_hub(page), page_asker(page), &hub->repo, answer.user,
					      &hub->call.diag);
	if (answer.state == CAIRN_INDEX_ACCESS_NONE)
		return form_refuse(&hub->call.diag);
	return cairn_hub_answer_request(page_hub(page), page_asker(page), &hub->repo, &answer, &hub->call.diag);
}

static void access_change(struct page *page)
{
	struct access_page *p = (struct access_page *)page;
	p->state = CAIRN_INDEX_ACCESS_PENDING;
	p->after = "";
	if (!hub_repo_find(&page->hub, CAIRN_HUB_ADMIN))
		return;
	page->hub.call.status = access_change_one(page);
	if (page_take_failure(page))
		access_build_found(p);
	else if (page->hub.call.status == CAIRN_OK)
		page_repo_go_to(page, "/settings/access");
}

static void access_post_head(struct http_request *req)
{
	struct access_page *p = page_post_new(req, sizeof(*p), access_change);
	if (p)
		(void)page_repo_take(req, &p->page);
}

const struct http_route ROUTES_PAGE_ACCESS[] = {
	HUB_EACH_KIND(PAGE_FORM, "/ask-access", "page-access", access_ask_head, page_free),
	HUB_EACH_KIND(PAGE_GET, "/settings/access", "page-access", access_get, page_free),
	HUB_EACH_KIND(PAGE_FORM, "/settings/access", "page-access", access_post_head, page_free),
	{0},
};
