/* The page to create a repository: GET and POST /new. */
#include "server/page/page.h"
#include "server/page/page_routes.h"

#include <stdio.h>
#include <string.h>

struct new_choice {
	struct page *page;
	const char *chosen;
};

static void new_put_choice(struct new_choice *choice, const char *name)
{
	html(page_out(choice->page), "<option%s>", strcmp(choice->chosen, name) == 0 ? " selected" : "");
	html(page_out(choice->page), "%s</option>", name);
}

static void new_put_organisation(void *ctx, const struct cairn_index_account *account, enum cairn_index_role role)
{
	if (role >= CAIRN_INDEX_ROLE_WRITE)
		new_put_choice(ctx, account->name);
}

/* Appends the accounts in which the asker may create a repository. Operators may use any account, and type its name. */
static void new_put_namespaces(struct page *page)
{
	const struct cairn_hub_asker *asker = page_asker(page);
	const char *chosen = form_value(&page->form, "namespace");
	struct new_choice choice = {page, chosen};
	if (asker->kind == CAIRN_HUB_OPERATOR) {
		html(page_out(page),
		     "<input id=\"namespace\" name=\"namespace\" value=\"%s\" required maxlength=\"96\" "
		     "autocomplete=\"off\" spellcheck=\"false\">",
		     chosen[0] ? chosen : CAIRN_HUB_OPERATOR_NAME);
		return;
	}
	html(page_out(page), "<select id=\"namespace\" name=\"namespace\">");
	new_put_choice(&choice, asker->account.name);
	page->hub.call.status =
		cairn_hub_each_organisation(page_hub(page), asker->account.id, new_put_organisation, &choice);
	html(page_out(page), "</select>");
}

static enum cairn_index_repo_kind new_kind(const struct page *page)
{
	enum cairn_index_repo_kind kind = hub_kind_of_name(form_value(&page->form, "kind"));
	return kind != 0 ? kind : CAIRN_INDEX_MODEL;
}

static void new_put_kinds(struct page *page)
{
	static const enum cairn_index_repo_kind KINDS[] = {CAIRN_INDEX_MODEL, CAIRN_INDEX_DATASET, CAIRN_INDEX_SPACE,
							   CAIRN_INDEX_BUCKET};
	struct new_choice choice = {page, hub_kind_name(new_kind(page))};
	html(page_out(page), "<label for=\"kind\">Kind</label><select id=\"kind\" name=\"kind\">");
	for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++)
		new_put_choice(&choice, hub_kind_name(KINDS[i]));
	html(page_out(page), "</select>");
}

/* Is a new repository private by default? The setting hub_private decides, as for other clients. */
static bool new_is_private(struct page *page)
{
	const char *said = form_value(&page->form, "visibility"), *in = form_value(&page->form, "namespace");
	return said[0] ? strcmp(said, "private") == 0
		       : hub_call_makes_private(&page->hub.call, in[0] ? in : CAIRN_HUB_ME);
}

static void new_build(struct page *page)
{
	static const struct page_crumb CRUMBS[] = {{"/", "Repositories"}, {"", "New repository"}};
	struct cairn_buf *b = page_out(page);
	bool is_private = new_is_private(page);
	if (!page_is_signed_in(page, "/new"))
		return;
	page_begin(page, "New repository", CRUMBS, 2);
	html(b,
	     "<div class=\"narrow\"><h1>New repository</h1>\n<p>A model, a dataset and a space have a README, branches "
	     "and commits, and tools fill them with <code>hf upload</code>. A bucket holds files under paths, without "
	     "history, for <code>hf sync</code>.</p>\n");
	page_put_notice(page);
	html(b, "<form method=\"post\" action=\"/new\" class=\"stack\">");
	new_put_kinds(page);
	html(b, "<div class=\"pair\"><div><label for=\"namespace\">In</label>");
	new_put_namespaces(page);
	html(b,
	     "</div><div><label for=\"name\">Name</label><input id=\"name\" name=\"name\" value=\"%s\" required "
	     "maxlength=\"96\" autocomplete=\"off\" spellcheck=\"false\" aria-describedby=\"name-help\"></div></div>"
	     "<p class=\"help\" id=\"name-help\">Letters, digits, <code>-</code>, <code>_</code> and "
	     "<code>.</code></p>",
	     form_value(&page->form, "name"));
	html(b,
	     "<fieldset><legend>Who may read it</legend><label class=\"choice\"><input type=\"radio\" "
	     "name=\"visibility\" "
	     "value=\"public\"%s> Everybody who reaches this server</label>",
	     is_private ? "" : " checked");
	html(b,
	     "<label class=\"choice\"><input type=\"radio\" name=\"visibility\" value=\"private\"%s> Members of its "
	     "namespace; it shares no dedupe with other repositories</label></fieldset><button class=\"main\">Make "
	     "it</button></form></div>\n",
	     is_private ? " checked" : "");
	page_end(page);
}

static void new_get(struct http_request *req)
{
	if (page_get_new(req, sizeof(struct page), new_build))
		route_job_start(req);
}

static void new_make(struct page *page)
{
	struct cairn_index_repo repo;
	struct hub_call *call = &page->hub.call;
	const struct cairn_hub_new_repo wanted = {
		.kind = new_kind(page),
		.account = form_value(&page->form, "namespace"),
		.name = form_value(&page->form, "name"),
		.is_private = new_is_private(page),
	};
	if (!page_is_signed_in(page, "/new"))
		return;
	call->status = cairn_hub_make_repo(page_hub(page), &call->asker, &wanted, &repo, &call->diag);
	if (page_take_failure(page))
		new_build(page);
	else
		(void)snprintf(page->location, sizeof(page->location), "%s%s/%s", hub_kind_web(repo.kind),
			       repo.account_name, repo.name);
}

static void new_post_head(struct http_request *req)
{
	(void)page_post_new(req, sizeof(struct page), new_make);
}

const struct http_route ROUTES_PAGE_NEW[] = {
	PAGE_GET("/new", "page-new", new_get, page_free),
	PAGE_FORM("/new", "page-new", new_post_head, page_free),
	{0},
};
