#include "server/page/page_repo.h"

#include "base/clock.h"
#include "hub/commit.h"
#include "hub/name.h"
#include "server/ask/hub_usage.h"
#include "server/page/page_lost.h"
#include "server/page/page_mirror.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- the repository ----------------------------------------------------------------------------------------------- */

bool page_repo_take(struct http_request *req, struct page *page)
{
	struct hub_repo *hub = &page->hub;
	hub->kind = hub_kind_of_pattern(req);
	hub->namespace = http_path_arg(req, "namespace");
	hub->name = http_path_arg(req, "name");
	bool none = hub->kind == CAIRN_INDEX_MODEL && cairn_hub_name_is_reserved(hub->namespace) &&
		    strcasecmp(hub->namespace, CAIRN_HUB_OPERATOR_NAME) != 0;
	if (none) /* "/v1/nothing" belongs to no account, and is not a page */
		http_reply_error(req, 404, "route.unknown", "there is no such resource; check the path", NULL);
	return !none;
}

void page_repo_put_address(struct cairn_buf *b, const struct page *page)
{
	const struct cairn_index_repo *repo = &page->hub.repo;
	html(b, "%s%s/%s", hub_kind_web(repo->kind), repo->account_name, repo->name);
}

void page_repo_go_to(struct page *page, const char *rest)
{
	const struct cairn_index_repo *repo = &page->hub.repo;
	(void)snprintf(page->location, sizeof(page->location), "%s%s/%s%s", hub_kind_web(repo->kind),
		       repo->account_name, repo->name, rest);
}

static void repo_put_tab(struct page *page, const char *rest, const char *name, bool current)
{
	struct cairn_buf *b = page_out(page);
	html(b, "<a href=\"");
	page_repo_put_address(b, page);
	html(b, "%s\"", rest);
	if (current)
		html(b, " aria-current=\"page\"");
	html(b, ">%s</a>", name);
}

static void repo_put_tabs(struct page *page, enum page_repo_tab tab, bool with_settings)
{
	struct cairn_buf *b = page_out(page);
	bool is_bucket = page->hub.repo.kind == CAIRN_INDEX_BUCKET;
	if (is_bucket && !with_settings)
		return;
	html(b, "<nav class=\"tabs\" aria-label=\"Repository\">");
	if (!is_bucket)
		repo_put_tab(page, "", "Card", tab == PAGE_REPO_CARD);
	repo_put_tab(page, is_bucket ? "" : "/tree/main", "Files", tab == PAGE_REPO_FILES);
	if (!is_bucket) {
		repo_put_tab(page, "/commits/main", "Commits", tab == PAGE_REPO_COMMITS);
		repo_put_tab(page, "/refs", "Branches", tab == PAGE_REPO_REFS);
		repo_put_tab(page, "/discussions", "Pull requests", tab == PAGE_REPO_PULLS);
		repo_put_tab(page, "/storage", "Storage", tab == PAGE_REPO_STORAGE);
	}
	if (with_settings)
		repo_put_tab(page, "/settings", "Settings", tab == PAGE_REPO_SETTINGS);
	html(b, "</nav>\n");
}

/* Appends the size that the last collection found, if there was one. */
static void repo_put_takes(struct page *page)
{
	struct hub_usage *usage = page->hub.call.job.app->usage;
	const struct cairn_usage *figures = hub_usage_hold(usage);
	const struct cairn_usage_owner *owner = figures ? cairn_usage_of_repo(figures, page->hub.repo.id) : NULL;
	char size[SHOW_BYTES];
	if (owner && owner->n_files > 0)
		html(page_out(page), "; on the disk %s", show_size(size, owner->only_bytes + owner->shared_bytes));
	if (figures)
		hub_usage_release(usage, figures);
}

static void repo_put_title(struct page *page)
{
	const struct cairn_index_repo *repo = &page->hub.repo;
	struct cairn_buf *b = page_out(page);
	struct cairn_mirror *mirror = page->hub.call.job.app->mirror;
	char size[SHOW_BYTES], count[SHOW_BYTES];
	html(b,
	     "<div class=\"title\"><h1>%s</h1><span class=\"tags\"><span class=\"tag\">%s</span><span "
	     "class=\"tag%s\">%s</span>",
	     repo->name, hub_kind_name(repo->kind), repo->is_private ? " lock" : "",
	     repo->is_private ? "private" : "public");
	if (repo->gate != CAIRN_INDEX_GATE_NONE)
		html(b, "<span class=\"tag lock\">gated</span>");
	page_put_lost_count(b, page_cas(page), repo->id);
	html(b, "</span><p class=\"dim\">%s %s, %s", show_count(count, repo->n_files),
	     repo->n_files == 1 ? "file" : "files", show_size(size, repo->bytes));
	repo_put_takes(page);
	html(b, "</p>");
	page_put_mirror_of(page);
	if (repo->is_mirrored && mirror && cairn_mirror_is_gone(mirror, repo->id))
		html(b, "<p role=\"status\">The mirrored hub no longer has it: this is what came before.</p>");
	html(b, "</div>\n");
}

bool page_repo_begin(struct page *page, enum page_repo_tab tab, const struct page_crumb *crumbs, size_t n_crumbs)
{
	const struct cairn_index_repo *repo = &page->hub.repo;
	char account[CAIRN_INDEX_ACCOUNT_NAME_MAX + 2], self[2 * CAIRN_INDEX_REPO_NAME_MAX + 16];
	char title[2 * CAIRN_INDEX_REPO_NAME_MAX + 2];
	struct page_crumb all[PAGE_CRUMBS_MAX + 2] = {{account, repo->account_name}, {self, repo->name}};
	struct hub_call *call = &page->hub.call;
	call->status = cairn_hub_access_to(page_hub(page), &call->asker, repo, &page->access);
	if (call->status != CAIRN_OK)
		return false;
	(void)snprintf(account, sizeof(account), "/%s", repo->account_name);
	(void)snprintf(self, sizeof(self), "%s%s/%s", hub_kind_web(repo->kind), repo->account_name, repo->name);
	(void)snprintf(title, sizeof(title), "%s/%s", repo->account_name, repo->name);
	for (size_t i = 0; i < n_crumbs; i++)
		all[i + 2] = crumbs[i];
	page_begin(page, title, all, n_crumbs + 2);
	repo_put_title(page);
	repo_put_tabs(page, tab, page->access >= CAIRN_HUB_ADMIN);
	return true;
}

size_t page_repo_crumbs(const char *prefix, const char *path, struct cairn_buf *texts, struct page_crumb *out)
{
	size_t n = 0, ends[PAGE_CRUMBS_MAX];
	for (const char *step = path; *step && n < PAGE_CRUMBS_MAX;) {
		char whole[CAIRN_INDEX_PATH_MAX + 2];
		size_t len = strcspn(step, "/");
		cairn_buf_add(texts, step, len);
		cairn_buf_add(texts, "", 1);
		cairn_buf_add(texts, prefix, strlen(prefix));
		(void)snprintf(whole, sizeof(whole), "%.*s", (int)(step + len - path), path);
		html_path(texts, whole);
		cairn_buf_add(texts, "", 1);
		ends[n++] = texts->len;
		step += len + (step[len] == '/');
	}
	const char *text = (const char *)texts->bytes;
	for (size_t i = 0; i < n && texts->status == CAIRN_OK; i++) {
		out[i].name = text;
		out[i].address = text + strlen(text) + 1;
		text = (const char *)texts->bytes + ends[i];
	}
	return texts->status == CAIRN_OK ? n : 0;
}

/* --- at a revision ------------------------------------------------------------------------------------------------ */

void *page_place_new(struct http_request *req, size_t bytes, void (*build)(struct page *page), bool with_place)
{
	struct page_place *p = page_get_new(req, bytes, build);
	if (!p || !page_repo_take(req, &p->page))
		return NULL;
	p->raw = with_place ? http_path_arg(req, "place") : NULL;
	return p;
}

/* Finds the revision in the address, if the path is known. */
static void place_find_revision(struct page_place *p)
{
	char path[CAIRN_INDEX_PATH_MAX + 1];
	bool same = false;
	for (unsigned n = 1; n <= CAIRN_HUB_REVISION_MAX && !same; n++)
		same = cairn_hub_split_revision(p->raw, n, p->revision, path) && strcmp(path, p->path) == 0;
	if (!same)
		(void)snprintf(p->revision, sizeof(p->revision), "%s", p->page.hub.call.commit);
}

bool page_place_find(struct page_place *p)
{
	struct hub_repo *hub = &p->page.hub;
	struct cairn_index_repo same;
	struct cairn_diag unsaid = {0};
	(void)snprintf(p->revision, sizeof(p->revision), CAIRN_HUB_MAIN);
	bool found = p->raw ? hub_repo_find_place(hub, CAIRN_HUB_SEE, p->raw, p->path)
			    : hub_repo_find_commit(hub, CAIRN_HUB_SEE, NULL);
	if (!found) {
		if (hub->call.status == CAIRN_E_FORMAT) /* a malformed revision counts as missing */
			hub->call.status = CAIRN_E_NOT_FOUND;
		return false;
	}
	if (p->raw)
		place_find_revision(p);
	p->may_read = cairn_hub_find_repo(page_hub(&p->page), &hub->call.asker, hub->kind, hub->namespace, hub->name,
					  CAIRN_HUB_READ, &same, &unsaid) == CAIRN_OK;
	return true;
}

void page_place_put_address(struct cairn_buf *b, const struct page_place *p, const char *what, const char *path)
{
	page_repo_put_address(b, &p->page);
	html(b, "/%s/", what);
	html_path(b, p->revision);
	if (path[0]) {
		html(b, "/");
		html_path(b, path);
	}
}

bool page_place_begin(struct page_place *p, enum page_repo_tab tab)
{
	struct page_crumb crumbs[PAGE_CRUMBS_MAX];
	CLEANUP(cairn_buf_fini) struct cairn_buf texts = cairn_buf_init(256 << 10), prefix = cairn_buf_init(4096);
	page_place_put_address(&prefix, p, "tree", "");
	cairn_buf_add(&prefix, "/", 2);
	if (prefix.status != CAIRN_OK)
		return false;
	size_t n = page_repo_crumbs((const char *)prefix.bytes, p->path, &texts, crumbs);
	return page_repo_begin(&p->page, tab, crumbs, n);
}

struct place_menu {
	struct page_place *p;
	const char *what;
	unsigned n;
};
enum { PLACE_MENU_MAX = 20, PLACE_OID_CHARS = 10, PLACE_TITLE_BYTES = 100 };

static bool place_put_choice(void *ctx, const struct cairn_index_ref_row *ref)
{
	struct place_menu *menu = ctx;
	struct cairn_buf *b = page_out(&menu->p->page);
	if (ref->kind == CAIRN_INDEX_PULL || menu->n++ == PLACE_MENU_MAX)
		return false;
	html(b, "<a href=\"");
	page_repo_put_address(b, &menu->p->page);
	html(b, "/%s/", menu->what);
	html_path(b, ref->name);
	html(b, "\">");
	html_name(b, ref->name);
	html(b, ref->kind == CAIRN_INDEX_TAG ? " <span class=\"tag\">tag</span></a>" : "</a>");
	return true;
}

static void place_put_revision(struct cairn_buf *b, const struct page_place *p)
{
	if (strcmp(p->revision, p->page.hub.call.commit) != 0) {
		html_name(b, p->revision);
		return;
	}
	html(b, "<code>");
	html_bytes(b, p->revision, PLACE_OID_CHARS);
	html(b, "</code>");
}

void page_place_put_menu(struct page_place *p, const char *what)
{
	struct cairn_buf *b = page_out(&p->page);
	struct hub_call *call = &p->page.hub.call;
	struct place_menu menu = {p, what, 0};
	html(b, "<details class=\"menu\"><summary><span class=\"away\">Revision: </span>");
	place_put_revision(b, p);
	html(b, "</summary><div>");
	call->status = cairn_hub_each_ref(page_hub(&p->page), &p->page.hub.repo, place_put_choice, &menu);
	html(b, "<a href=\"");
	page_repo_put_address(b, &p->page);
	html(b, "/refs\">All branches and tags</a></div></details>");
}

void page_place_go(struct page_place *p, const char *what)
{
	struct page *page = &p->page;
	CLEANUP(cairn_buf_fini) struct cairn_buf to = cairn_buf_init((size_t)2 * PAGE_LOCATION_BYTES);
	page_place_put_address(&to, p, what, p->path);
	if (to.status == CAIRN_OK && to.len < sizeof(page->location))
		(void)snprintf(page->location, sizeof(page->location), "%.*s", (int)to.len, (const char *)to.bytes);
	else
		page->hub.call.status = to.status == CAIRN_OK ? CAIRN_E_LIMIT : to.status;
}

void page_place_put_commit(struct page_place *p, const struct cairn_index_commit *commit)
{
	struct cairn_buf *b = page_out(&p->page);
	char oid[CAIRN_GIT_OID_CHARS + 1];
	cairn_git_oid_text(oid, &commit->oid);
	html(b, "<p class=\"commit\"><strong><bdi>");
	html_cut(b, commit->title, PLACE_TITLE_BYTES);
	html(b, "</bdi></strong> <span class=\"dim\">%s, ", commit->author);
	show_age(b, commit->at_unix_s, cairn_clock_unix_s());
	html(b, "</span> <a href=\"");
	page_repo_put_address(b, &p->page);
	html(b, "/commit/%s\"><code>", oid);
	html_bytes(b, oid, PLACE_OID_CHARS);
	html(b, "</code></a></p>\n");
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

/* Does the status concern only the bytes of this file? */
static bool place_is_lost(enum cairn_status status)
{
	return status == CAIRN_E_NOT_FOUND || status == CAIRN_E_IO || status == CAIRN_E_DAMAGED ||
	       status == CAIRN_E_FORMAT || status == CAIRN_E_MISMATCH;
}

bool page_place_read(struct page_place *p, const struct cairn_index_entry *entry, struct cairn_buf *out,
		     enum page_place_bytes *found)
{
	struct cairn_diag diag = {0};
	enum cairn_status status;
	*found = cairn_hub_believe_entry(entry, &diag) == CAIRN_OK ? PAGE_PLACE_READ : PAGE_PLACE_FALSE;
	if (*found == PAGE_PLACE_FALSE)
		return true;
	if (p->page.hub.repo.is_mirrored && entry->is_absent) {
		*found = PAGE_PLACE_AWAITED;
		return true;
	}
	status = cairn_hub_read_start(page_hub(&p->page), &p->page.hub.repo, entry, out, &diag);
	if (status == CAIRN_OK)
		return true;
	if (!place_is_lost(status)) {
		p->page.hub.call.status = status;
		p->page.hub.call.diag = diag;
		return false;
	}
	cairn_buf_fini(out);
	*out = cairn_buf_init(out->max);
	*found = status == CAIRN_E_NOT_FOUND ? PAGE_PLACE_DELETED
		 : status == CAIRN_E_DAMAGED ? PAGE_PLACE_LOST
					     : PAGE_PLACE_UNREAD;
	if (*found != PAGE_PLACE_DELETED) {
		(void)cairn_fail(&diag, status, cairn_status_name(status), CAIRN_NO_OFFSET,
				 "the bytes of a file could not be read for its page");
		p->page.lost = diag;
	}
	return true;
}

const char *page_place_say(enum page_place_bytes found)
{
	static const char *const WORDS[] = {
		[PAGE_PLACE_READ] = "",
		[PAGE_PLACE_DELETED] = "The bytes of this file are not here: they were deleted from this server.",
		[PAGE_PLACE_AWAITED] =
			"The bytes of this file have not come from the mirrored hub yet: download the file, and they come.",
		[PAGE_PLACE_FALSE] =
			"The bytes that were uploaded for this file do not have the SHA-256 that its commit "
			"names. Upload the file again.",
		[PAGE_PLACE_LOST] = "The bytes of this file are lost: they are gone from this server, or damaged.",
		[PAGE_PLACE_UNREAD] = "The bytes of this file cannot be read; the server's log says why.",
	};
	return WORDS[found];
}
