/* The settings of a repository, for its admins: GET and POST [/{type}]/{namespace}/{name}/settings */
#include "hub/stranger.h"
#include "server/page/page_repo.h"
#include "server/page/page_routes.h"

#include <stdio.h>
#include <string.h>

static void settings_put_choice(struct cairn_buf *b, const char *value, bool chosen, const char *text)
{
	html(b, "<label class=\"choice\"><input type=\"radio\" name=\"visibility\" value=\"%s\"", value);
	html(b, chosen ? " checked> %s</label>" : "> %s</label>", text);
}

static void settings_put_visibility(struct page *page)
{
	const struct cairn_index_repo *repo = &page->hub.repo;
	struct cairn_buf *b = page_out(page);
	enum cairn_index_gate gate = repo->is_private ? CAIRN_INDEX_GATE_NONE : repo->gate;
	html(b, "<section class=\"card\" aria-labelledby=\"who\"><h2 id=\"who\">Who may read it</h2><form "
		"method=\"post\" class=\"stack\"><input type=\"hidden\" name=\"action\" "
		"value=\"visibility\"><fieldset><legend class=\"away\">Visibility</legend>");
	settings_put_choice(b, "public", !repo->is_private && gate == CAIRN_INDEX_GATE_NONE,
			    "Everybody who reaches this server");
	if (repo->kind != CAIRN_INDEX_BUCKET) {
		settings_put_choice(
			b, "gated", gate == CAIRN_INDEX_GATE_MANUAL,
			"Everybody sees that it is here; members read its files, and accounts that you accept");
		settings_put_choice(
			b, "auto", gate == CAIRN_INDEX_GATE_AUTO,
			"Everybody sees that it is here; members read its files, and every account that asks for access");
	}
	settings_put_choice(b, "private", repo->is_private, "Members alone");
	html(b,
	     "</fieldset><p class=\"help\">Members are those of %s. Uploads to a private repository share dedupe with "
	     "it alone, so that nobody can find out by uploading what is in it. Uploads to a public one share it as "
	     "<code>dedupe_scope</code> says.</p><button>Change</button></form>",
	     repo->account_name);
	if (gate != CAIRN_INDEX_GATE_NONE) {
		html(b, "<p><a href=\"");
		page_repo_put_address(b, page);
		html(b, "/settings/access\">Requests for access</a></p>");
	}
	html(b, "</section>\n");
}

static void settings_put_pulls(struct page *page)
{
	const struct cairn_index_repo *repo = &page->hub.repo;
	if (repo->kind == CAIRN_INDEX_BUCKET)
		return;
	html(page_out(page),
	     "<section class=\"card\" aria-labelledby=\"pulls-title\"><h2 id=\"pulls-title\">Pull requests</h2><form "
	     "method=\"post\" class=\"stack\"><input type=\"hidden\" name=\"action\" value=\"pulls\"><p "
	     "class=\"help\">%s They count for the quota of whoever opens them until they are merged.</p><button "
	     "name=\"pulls\" value=\"%s\">%s</button></form></section>\n",
	     repo->pulls_closed ? "Only those who may write here can open them."
				: "Everybody who may read here can open them.",
	     repo->pulls_closed ? "open" : "closed",
	     repo->pulls_closed ? "Take them from all who may read" : "Take them only from those who may write");
}

static void settings_put_name(struct page *page)
{
	const struct cairn_index_repo *repo = &page->hub.repo;
	html(page_out(page),
	     "<section class=\"card\" aria-labelledby=\"name-title\"><h2 "
	     "id=\"name-title\">Name</h2><form method=\"post\" class=\"stack\"><input "
	     "type=\"hidden\" name=\"action\" value=\"move\"><div class=\"pair\"><div><label "
	     "for=\"namespace\">In</label><input id=\"namespace\" name=\"namespace\" value=\"%s\" "
	     "required maxlength=\"96\"></div><div><label for=\"name\">Name</label><input "
	     "id=\"name\" name=\"name\" value=\"%s\" required maxlength=\"96\"></div></div><p "
	     "class=\"help\">The old name is free at once%s; tokens already issued keep "
	     "working.</p><button>Rename</button></form></section>\n",
	     repo->account_name, repo->name,
	     repo->kind == CAIRN_INDEX_BUCKET ? " and leads nowhere" : ", and leads here until it is given again");
}

static void settings_put_deletion(struct page *page)
{
	const struct cairn_index_repo *repo = &page->hub.repo;
	char size[SHOW_BYTES], count[SHOW_BYTES];
	html(page_out(page),
	     "<section class=\"card bad\" aria-labelledby=\"away-title\"><h2 "
	     "id=\"away-title\">Delete</h2><p>All %s files (%s) are gone for everybody at once, "
	     "and there is no way back. Bytes that no other repository has are removed from the "
	     "disk by a collection, after the grace time.</p><form method=\"post\" "
	     "class=\"stack\"><input type=\"hidden\" name=\"action\" value=\"delete\"><label "
	     "for=\"confirm\">Type <code>%s/%s</code> to say that you mean it</label><input "
	     "id=\"confirm\" name=\"confirm\" required autocomplete=\"off\" "
	     "spellcheck=\"false\"><button class=\"danger\">Delete this "
	     "%s</button></form></section>\n",
	     show_count(count, repo->n_files), show_size(size, repo->bytes), repo->account_name, repo->name,
	     hub_kind_name(repo->kind));
}

static void settings_build_found(struct page *page)
{
	static const struct page_crumb CRUMB = {"", "Settings"};
	if (!page_repo_begin(page, PAGE_REPO_SETTINGS, &CRUMB, 1))
		return;
	html(page_out(page), "<div class=\"narrow\">");
	page_put_notice(page);
	settings_put_visibility(page);
	settings_put_pulls(page);
	settings_put_name(page);
	settings_put_deletion(page);
	html(page_out(page), "</div>");
	page_end(page);
}

static void settings_build(struct page *page)
{
	if (hub_repo_find(&page->hub, CAIRN_HUB_ADMIN))
		settings_build_found(page);
}

static void settings_get(struct http_request *req)
{
	struct page *page = page_get_new(req, sizeof(*page), settings_build);
	if (!page)
		return;
	if (page_repo_take(req, page))
		route_job_start(req);
}

static void settings_go_to(struct page *page, const char *namespace, const char *name, const char *rest)
{
	(void)snprintf(page->location, sizeof(page->location), "%s%s/%s%s", hub_kind_web(page->hub.kind), namespace,
		       name, rest);
}

static enum cairn_status settings_set_visibility(struct page *page)
{
	struct hub_repo *hub = &page->hub;
	const char *wanted = form_value(&page->form, "visibility");
	bool is_public = strcmp(wanted, "public") == 0;
	enum cairn_index_gate gate = strcmp(wanted, "gated") == 0  ? CAIRN_INDEX_GATE_MANUAL
				     : strcmp(wanted, "auto") == 0 ? CAIRN_INDEX_GATE_AUTO
								   : CAIRN_INDEX_GATE_NONE;
	if (hub->kind == CAIRN_INDEX_BUCKET)
		gate = CAIRN_INDEX_GATE_NONE;
	bool is_private = !is_public && gate == CAIRN_INDEX_GATE_NONE;
	settings_go_to(page, hub->repo.account_name, hub->repo.name, "/settings");
	return cairn_hub_set_repo(page_hub(page), page_asker(page), &hub->repo, &is_private, is_private ? NULL : &gate,
				  &hub->call.diag);
}

static enum cairn_status settings_set_pulls(struct page *page)
{
	struct hub_repo *hub = &page->hub;
	bool closed = strcmp(form_value(&page->form, "pulls"), "closed") == 0;
	settings_go_to(page, hub->repo.account_name, hub->repo.name, "/settings");
	return cairn_hub_close_to_strangers(page_hub(page), &hub->repo, closed, &hub->call.diag);
}

static enum cairn_status settings_move(struct page *page)
{
	struct hub_repo *hub = &page->hub;
	const char *namespace = form_value(&page->form, "namespace"), *name = form_value(&page->form, "name");
	settings_go_to(page, namespace, name, "/settings");
	return cairn_hub_move_repo(page_hub(page), &hub->call.asker, &hub->repo, namespace, name, &hub->call.diag);
}

static enum cairn_status settings_delete(struct page *page)
{
	struct hub_repo *hub = &page->hub;
	char full[2 * CAIRN_INDEX_REPO_NAME_MAX + 2];
	(void)snprintf(full, sizeof(full), "%s/%s", hub->repo.account_name, hub->repo.name);
	if (strcmp(form_value(&page->form, "confirm"), full) != 0)
		return cairn_fail(&hub->call.diag, CAIRN_E_USAGE, "repo.confirm", CAIRN_NO_OFFSET,
				  "nothing was deleted: the name that was typed is not that of this repository");
	(void)snprintf(page->location, sizeof(page->location), "/%s", hub->repo.account_name);
	return cairn_hub_drop_repo(page_hub(page), &hub->repo, &hub->call.diag);
}

static void settings_change(struct page *page)
{
	static const struct {
		const char *name;
		enum cairn_status (*act)(struct page *page);
	} ACTIONS[] = {{"visibility", settings_set_visibility},
		       {"pulls", settings_set_pulls},
		       {"move", settings_move},
		       {"delete", settings_delete}};
	struct hub_call *call = &page->hub.call;
	const char *action = form_value(&page->form, "action");
	if (!hub_repo_find(&page->hub, CAIRN_HUB_ADMIN))
		return;
	call->status = form_refuse(&call->diag);
	for (size_t i = 0; i < sizeof(ACTIONS) / sizeof(ACTIONS[0]); i++) {
		if (strcmp(action, ACTIONS[i].name) != 0)
			continue;
		call->diag = (struct cairn_diag){0};
		call->status = ACTIONS[i].act(page);
	}
	if (!page_take_failure(page))
		return;
	page->location[0] = '\0';
	settings_build_found(page);
}

static void settings_post_head(struct http_request *req)
{
	struct page *page = page_post_new(req, sizeof(*page), settings_change);
	if (page)
		(void)page_repo_take(req, page);
}

const struct http_route ROUTES_PAGE_SETTINGS[] = {
	PAGE_GET("/buckets/{namespace}/{name}/settings", "page-settings", settings_get, page_free),
	PAGE_FORM("/buckets/{namespace}/{name}/settings", "page-settings", settings_post_head, page_free),
	HUB_EACH_KIND(PAGE_GET, "/settings", "page-settings", settings_get, page_free),
	HUB_EACH_KIND(PAGE_FORM, "/settings", "page-settings", settings_post_head, page_free),
	{0},
};
