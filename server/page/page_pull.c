/* Pull requests: GET [/{type}]/{namespace}/{name}/discussions lists them. GET …/discussions/{number} shows the changes
 * of one, POST merges or closes it. */
#include "base/clock.h"
#include "base/decimal.h"
#include "hub/pull.h"
#include "hub/stranger.h"
#include "server/page/page_changes.h"
#include "server/page/page_routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	PULL_TITLE_BYTES = 200,
	PULL_TEXT_BYTES = 1200,
	PULL_ROWS = 50,
	PULL_ROWS_BYTES = 30000, /* rows of the list on one page */
	PULL_ADDRESS_BYTES = 256,
};

static const char *const PULL_STATES[] = {
	[CAIRN_INDEX_PULL_OPEN] = "open", [CAIRN_INDEX_PULL_CLOSED] = "closed", [CAIRN_INDEX_PULL_MERGED] = "merged"};

static void pull_put_state(struct cairn_buf *b, enum cairn_index_pull_state state)
{
	static const char *const TAGS[] = {[CAIRN_INDEX_PULL_OPEN] = "",
					   [CAIRN_INDEX_PULL_CLOSED] = " removed",
					   [CAIRN_INDEX_PULL_MERGED] = " added"};
	html(b, "<span class=\"tag%s\">%s</span>", TAGS[state], PULL_STATES[state]);
}

static void pull_put_title(struct cairn_buf *b, const struct cairn_index_pull *pull)
{
	html(b, "<bdi>");
	html_cut(b, pull->title[0] ? pull->title : "(nothing said)", PULL_TITLE_BYTES);
	html(b, "</bdi>");
}

struct pulls_page {
	struct page page;
	struct cairn_index_pull_list list;
	uint32_t n_shown;
	int64_t now_unix_s;
	size_t begun; /* where the rows begin in the page */
	bool is_full;
};

static void pulls_put(void *ctx, const struct cairn_index_pull *pull)
{
	struct pulls_page *p = ctx;
	struct cairn_buf *b = page_out(&p->page);
	p->is_full = p->is_full || b->len - p->begun > PULL_ROWS_BYTES;
	if (p->is_full)
		return;
	p->n_shown++;
	html(b, "<tr><th scope=\"row\"><a href=\"");
	page_repo_put_address(b, &p->page);
	html(b, "/discussions/%ld\">", (long)pull->number);
	pull_put_title(b, pull);
	html(b, "</a></th><td>");
	pull_put_state(b, pull->state);
	html(b, "</td><td class=\"wide\"><bdi>%s</bdi></td><td class=\"wide by\">%s</td>", pull->base, pull->author);
	html(b, "<td class=\"wide num\">%ld</td><td class=\"num\">", (long)pull->number);
	show_age(b, pull->at_unix_s, p->now_unix_s);
	html(b, "</td></tr>\n");
}

static void pulls_put_filter(struct pulls_page *p)
{
	struct cairn_buf *b = page_out(&p->page);
	html(b, "<p class=\"more\"><a href=\"?\"%s>Open</a> <a href=\"?status=closed\"%s>Merged and closed</a></p>\n",
	     p->list.is_open ? " aria-current=\"page\"" : "", p->list.is_open ? "" : " aria-current=\"page\"");
}

static void pulls_put_steps(struct pulls_page *p, uint32_t n)
{
	struct cairn_buf *b = page_out(&p->page);
	const char *status = p->list.is_open ? "" : "status=closed&";
	uint32_t next = p->list.skip + p->n_shown;
	if (p->list.skip == 0 && next >= n)
		return;
	html(b, "<p class=\"more\">");
	if (p->list.skip > 0)
		html(b, "<a href=\"?%sskip=0\">Newest ones</a> ", status);
	if (next < n)
		html(b, "<a href=\"?%sskip=%u\">Older</a>", status, next);
	html(b, "</p>\n");
}

static void pulls_put_help(struct pulls_page *p)
{
	html(page_out(&p->page),
	     "<p class=\"help\">Everybody who may read here can open one, with a key that may "
	     "write: <code>hf upload --create-pr</code> or <code>create_pr=True</code>. Its "
	     "commits are at <code>refs/pr/NUMBER</code> until it is merged into its branch.</p>\n");
}

static void pulls_build(struct page *page)
{
	static const struct page_crumb CRUMB = {"", "Pull requests"};
	struct pulls_page *p = (struct pulls_page *)page;
	struct cairn_buf *b = page_out(page);
	uint32_t n = 0;
	if (!hub_repo_find(&page->hub, CAIRN_HUB_SEE) || !page_repo_begin(page, PAGE_REPO_PULLS, &CRUMB, 1))
		return;
	p->now_unix_s = cairn_clock_unix_s();
	pulls_put_filter(p);
	html(b,
	     "<table class=\"rows\" id=\"pulls\"><thead><tr><th scope=\"col\">Pull request</th><th "
	     "scope=\"col\">State</th><th scope=\"col\" class=\"wide\">For</th><th scope=\"col\" "
	     "class=\"wide\">By</th><th scope=\"col\" class=\"wide num\">Number</th><th scope=\"col\" class=\"num\">Begun</th></tr></thead><tbody>\n");
	p->begun = b->len;
	page->hub.call.status = cairn_hub_each_pull(page_hub(page), &page->hub.repo, &p->list, pulls_put, p, &n);
	html(b, "</tbody></table>\n");
	if (n == 0)
		html(b, "<p class=\"empty\">There is none%s.</p>\n", p->list.is_open ? " that is open" : "");
	if (p->list.skip > 0 && p->list.skip >= n && page->hub.call.status == CAIRN_OK)
		page->hub.call.status = CAIRN_E_NOT_FOUND;
	pulls_put_steps(p, n);
	pulls_put_help(p);
	page_end(page);
}

static void pulls_get(struct http_request *req)
{
	struct pulls_page *p = page_get_new(req, sizeof(*p), pulls_build);
	const char *status = http_query_arg(req, "status");
	if (!p || !page_repo_take(req, &p->page))
		return;
	uint64_t n = http_query_number_or_0(req, "skip", UINT64_MAX);
	bool is_ended = status && strcmp(status, "closed") == 0;
	p->list = (struct cairn_index_pull_list){
		.is_open = !is_ended,
		.is_ended = is_ended,
		.skip = n < CAIRN_HUB_PULLS_MAX ? (uint32_t)n : CAIRN_HUB_PULLS_MAX,
		.limit = PULL_ROWS,
	};
	route_job_start(req);
}

struct pull_page {
	struct page_changes changes; /* between the commit where it left its branch and its head */
	int64_t number;
	struct cairn_hub_pull pull; /* owned */
};

static void pull_free(void *state)
{
	struct pull_page *p = state;
	if (p)
		cairn_hub_pull_fini(&p->pull);
	page_changes_free(state);
}

static bool pull_find(struct pull_page *p, enum cairn_hub_access need)
{
	struct page *page = &p->changes.place.page;
	struct hub_call *call = &page->hub.call;
	if (!hub_repo_find(&page->hub, need) || !page_place_find(&p->changes.place))
		return false;
	call->status = cairn_hub_find_pull(page_hub(page), &page->hub.repo, p->number, &p->pull, &call->diag);
	return call->status == CAIRN_OK;
}

static bool pull_find_changes(struct pull_page *p)
{
	struct page *page = &p->changes.place.page;
	page->hub.commit = p->pull.head;
	p->changes.before = p->pull.start;
	p->changes.has_before = p->pull.has_start;
	p->changes.is_lost = !p->pull.has_start;
	return page_changes_find(&p->changes);
}

static void pull_put_commit(struct pull_page *p, const struct cairn_git_oid *of)
{
	struct cairn_buf *b = page_out(&p->changes.place.page);
	char oid[CAIRN_GIT_OID_CHARS + 1];
	cairn_git_oid_text(oid, of);
	html(b, "<a href=\"");
	page_repo_put_address(b, &p->changes.place.page);
	html(b, "/commit/%s\"><code>%s</code></a>", oid, oid);
}

static void pull_put_texts(struct pull_page *p)
{
	const char *const texts[] = {p->pull.about.message, p->pull.about.comment};
	struct cairn_buf *b = page_out(&p->changes.place.page);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!texts[i][0])
			continue;
		html(b, "<p class=\"message\"><bdi>");
		html_cut(b, texts[i], PULL_TEXT_BYTES);
		html(b, "</bdi></p>\n");
	}
}

/* Writes the branch of the pull request, where it began, and how it ended. */
static void pull_put_facts(struct pull_page *p)
{
	const struct cairn_index_pull *about = &p->pull.about;
	struct cairn_buf *b = page_out(&p->changes.place.page);
	char when[SHOW_BYTES], count[SHOW_BYTES];
	/* a squashed pull request may have fewer commits than its start has */
	bool counts = p->pull.has_start && p->pull.head.number >= p->pull.start.number;
	uint64_t n = p->pull.head.number - (counts ? p->pull.start.number : 0);
	html(b, "<dl class=\"facts\"><dt>By</dt><dd>%s, %s</dd><dt>For</dt><dd><bdi>%s</bdi></dd>", about->author,
	     show_time(when, about->at_unix_s), about->base);
	html(b, "<dt>Commits</dt><dd><a href=\"");
	page_repo_put_address(b, &p->changes.place.page);
	html(b, "/commits/refs%%2Fpr%%2F%ld\">%s</a></dd><dt>Begun at</dt><dd>", (long)about->number,
	     show_count(count, n));
	if (p->changes.has_before)
		pull_put_commit(p, &p->changes.before.oid);
	else
		html(b, "a commit that is not kept any more");
	if (about->ended_unix_s != 0)
		html(b, "</dd><dt>Ended</dt><dd>%s, %s", about->ended_by, show_time(when, about->ended_unix_s));
	if (about->is_merged) {
		html(b, "</dd><dt>Merged as</dt><dd>");
		pull_put_commit(p, &about->merged);
	}
	html(b, "</dd></dl>\n");
}

static void pull_put_head(struct pull_page *p)
{
	const struct cairn_index_pull *about = &p->pull.about;
	struct page *page = &p->changes.place.page;
	struct cairn_buf *b = page_out(page);
	html(b, "<div class=\"title\"><h2>");
	pull_put_title(b, about);
	html(b, "</h2><span class=\"tags\">");
	pull_put_state(b, about->state);
	html(b, "</span><a class=\"button\" href=\"");
	page_repo_put_address(b, page);
	html(b, "/tree/refs%%2Fpr%%2F%ld\">Files as of it</a></div>\n", (long)about->number);
	pull_put_texts(p);
	pull_put_facts(p);
}

/* Appends a form with which a stranger may close their own pull request. */
static void pull_put_own_form(struct page *page)
{
	html(page_out(page), "<section class=\"card\" aria-labelledby=\"end-title\"><h2 "
			     "id=\"end-title\">Close</h2><form method=\"post\" class=\"stack\"><label "
			     "for=\"comment\">Comment</label><input id=\"comment\" name=\"comment\" "
			     "maxlength=\"1000\"><p class=\"help\">You opened it. Closing cannot be undone. Some "
			     "time later it is removed with its files, and counts for you no more.</p><div "
			     "class=\"pair\"><button class=\"danger\" name=\"action\" "
			     "value=\"close\">Close</button></div></form></section>\n");
}

static void pull_put_forms(struct pull_page *p)
{
	struct page *page = &p->changes.place.page;
	const struct cairn_hub_asker *asker = &page->hub.call.asker;
	bool is_own = cairn_hub_acts_for_account(asker) && asker->account.id == p->pull.about.account;
	if (p->pull.about.state != CAIRN_INDEX_PULL_OPEN)
		return;
	if (page->access < CAIRN_HUB_WRITE && is_own)
		pull_put_own_form(page);
	if (page->access < CAIRN_HUB_WRITE)
		return;
	char head[CAIRN_GIT_OID_CHARS + 1];
	cairn_git_oid_text(head, &p->pull.head.oid);
	html(page_out(page),
	     "<section class=\"card\" aria-labelledby=\"end-title\"><h2 id=\"end-title\">Merge or "
	     "close</h2><form method=\"post\" class=\"stack\"><input type=\"hidden\" "
	     "name=\"head\" value=\"%s\"><label for=\"comment\">Comment</label><input "
	     "id=\"comment\" name=\"comment\" maxlength=\"1000\"><p class=\"help\">Merging adds "
	     "one commit with all these changes to the branch. Neither can be undone: a closed "
	     "pull request cannot be opened again.</p><div class=\"pair\"><button name=\"action\" "
	     "value=\"merge\">Merge into <bdi>%s</bdi></button><button class=\"danger\" "
	     "name=\"action\" value=\"close\">Close</button></div></form></section>\n",
	     head, p->pull.about.base);
}

static void pull_build_found(struct pull_page *p)
{
	struct page *page = &p->changes.place.page;
	const struct cairn_index_repo *repo = &page->hub.repo;
	char all[PULL_ADDRESS_BYTES], name[32];
	if (!pull_find_changes(p))
		return;
	(void)snprintf(all, sizeof(all), "%s%s/%s/discussions", hub_kind_web(repo->kind), repo->account_name,
		       repo->name);
	(void)snprintf(name, sizeof(name), "%" PRId64, p->pull.about.number);
	const struct page_crumb crumbs[] = {{all, "Pull requests"}, {"", name}};
	if (!page_repo_begin(page, PAGE_REPO_PULLS, crumbs, 2))
		return;
	page_put_notice(page);
	pull_put_head(p);
	pull_put_forms(p);
	page_changes_put(&p->changes);
	page_end(page);
}

static void pull_build(struct page *page)
{
	struct pull_page *p = (struct pull_page *)page;
	if (pull_find(p, CAIRN_HUB_SEE))
		pull_build_found(p);
}

/* Did the page show the newest commit? The author must not change what is merged after the page was read. */
static bool pull_is_as_seen(const struct pull_page *p)
{
	char head[CAIRN_GIT_OID_CHARS + 1];
	const char *seen = form_value(&p->changes.place.page.form, "head");
	cairn_git_oid_text(head, &p->pull.head.oid);
	return !seen[0] || strcmp(seen, head) == 0;
}

/* Reads the number of the pull request from the address. @return false: not a number; an error was replied */
static bool pull_take(struct http_request *req, struct pull_page *p)
{
	uint64_t number = 0; /* no pull request has the number 0 */
	(void)cairn_decimal_parse(http_path_arg(req, "number"), 1, INT64_MAX, &number);
	p->number = (int64_t)number;
	p->changes.skip = http_query_number_or_0(req, "skip", UINT64_MAX);
	return page_repo_take(req, &p->changes.place.page);
}

static void pull_get(struct http_request *req)
{
	struct pull_page *p = page_get_new(req, sizeof(*p), pull_build);
	if (p && pull_take(req, p))
		route_job_start(req);
}

/* --- merging and closing ------------------------------------------------------------------------------------------ */

/* Finds the pull request for a reader who may merge or close it. Writers may do both to any pull request; other readers
 * may only close their own. */
static bool pull_find_to_end(struct pull_page *p)
{
	struct page *page = &p->changes.place.page;
	struct hub_call *call = &page->hub.call;
	char revision[40];
	bool closes = strcmp(form_value(&page->form, "action"), "close") == 0;
	(void)snprintf(revision, sizeof(revision), "refs/pr/%" PRId64, p->number);
	if (!pull_find(p, closes ? CAIRN_HUB_READ : CAIRN_HUB_WRITE))
		return false;
	call->status = cairn_hub_may_propose(page_hub(page), &call->asker, &page->hub.repo, page->hub.access, revision,
					     &call->diag);
	return call->status == CAIRN_OK;
}

static enum cairn_status pull_end(struct pull_page *p)
{
	struct page *page = &p->changes.place.page;
	struct hub_call *call = &page->hub.call;
	const char *action = form_value(&page->form, "action"), *comment = form_value(&page->form, "comment");
	struct cairn_git_oid oid;
	if (strcmp(action, "merge") == 0 && !pull_is_as_seen(p))
		return cairn_fail(&call->diag, CAIRN_E_CONFLICT, "commit.parent", CAIRN_NO_OFFSET,
				  "the pull request was updated since you opened this page: look at it again");
	if (strcmp(action, "merge") == 0)
		return cairn_hub_merge_pull(page_hub(page), &call->asker, &page->hub.repo, &p->pull, comment, &oid,
					    &call->diag);
	if (strcmp(action, "close") == 0)
		return cairn_hub_close_pull(page_hub(page), &call->asker, &page->hub.repo, &p->pull, comment,
					    hub_repo_is_stranger(&page->hub), &call->diag);
	return form_refuse(&call->diag);
}

static void pull_change(struct page *page)
{
	struct pull_page *p = (struct pull_page *)page;
	struct hub_repo *hub = &page->hub;
	char rest[40];
	(void)snprintf(rest, sizeof(rest), "/discussions/%" PRId64, p->number);
	if (!pull_find_to_end(p))
		return;
	hub->call.status = pull_end(p);
	if (page_take_failure(page))
		pull_build_found(p);
	else if (hub->call.status == CAIRN_OK)
		page_repo_go_to(page, rest);
}

static void pull_post_head(struct http_request *req)
{
	struct pull_page *p = page_post_new(req, sizeof(*p), pull_change);
	if (p)
		(void)pull_take(req, p);
}

const struct http_route ROUTES_PAGE_PULL[] = {
	HUB_EACH_KIND(PAGE_GET, "/discussions", "page-pulls", pulls_get, page_free),
	HUB_EACH_KIND(PAGE_GET, "/discussions/{number}", "page-pull", pull_get, pull_free),
	HUB_EACH_KIND(PAGE_FORM, "/discussions/{number}", "page-pull", pull_post_head, pull_free),
	{0},
};
