/* The storage of a git-like repository: GET [/{type}]/{namespace}/{name}/storage. Readers see what follows from the
 * repository's own files. Only the operator sees sharing, because it reveals other repositories. */
#include "base/clock.h"
#include "hub/footprint.h"
#include "hub/tree.h"
#include "server/ask/hub_usage.h"
#include "server/page/page_folders.h"
#include "server/page/page_repo.h"
#include "server/page/page_routes.h"

#include <stdlib.h>
#include <string.h>

enum {
	FOOTPRINT_LARGEST = 20,
	FOOTPRINT_LOOK = 20000,       /* paths of main among which the largest files are searched */
	FOOTPRINT_PATHS_BYTES = 9000, /* the table: names may be long */
	FOOTPRINT_WIDTH = 1000,
};

/* One of the largest files of main. */
struct footprint_file {
	char *path; /* owned */
	struct cairn_git_oid oid;
	uint64_t size_bytes;
};

struct footprint_page {
	struct page_place place;
	struct cairn_footprint found;
	struct footprint_file largest[FOOTPRINT_LARGEST + 1]; /* the largest first */
	uint32_t n, n_seen;
	bool is_short; /* out of memory */
};

static void footprint_free(void *state)
{
	struct footprint_page *p = state;
	for (uint32_t i = 0; p && i < p->n; i++)
		free(p->largest[i].path);
	page_free(state);
}

static bool footprint_take(void *ctx, const struct cairn_index_entry *entry)
{
	struct footprint_page *p = ctx;
	uint32_t at = p->n;
	p->n_seen++;
	bool goes_on = p->n_seen < FOOTPRINT_LOOK;
	if (entry->kind == CAIRN_INDEX_FOLDER)
		return goes_on;
	while (at > 0 && p->largest[at - 1].size_bytes < entry->size_bytes)
		at--;
	if (at == FOOTPRINT_LARGEST)
		return goes_on;
	char *path = cairn_hub_entry_path_new(entry);
	p->is_short = !path;
	if (!path)
		return false;
	memmove(&p->largest[at + 1], &p->largest[at], (p->n - at) * sizeof(p->largest[0]));
	p->largest[at] = (struct footprint_file){path, entry->oid, entry->size_bytes};
	if (p->n == FOOTPRINT_LARGEST)
		free(p->largest[p->n].path);
	else
		p->n++;
	return goes_on;
}

static enum cairn_status footprint_find_largest(struct footprint_page *p)
{
	struct cairn_diag unsaid = {0};
	enum cairn_status status =
		cairn_hub_list_all(page_hub(&p->place.page), &p->place.page.hub.commit, footprint_take, p, &unsaid);
	if (status == CAIRN_OK || status == CAIRN_E_NOT_FOUND) /* NOT_FOUND: the repository has no files */
		return p->is_short ? CAIRN_E_NOMEM : CAIRN_OK;
	return status;
}

/* Is the same content shown already, with another path? */
static bool footprint_is_again(const struct footprint_page *p, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (memcmp(&p->largest[i].oid, &p->largest[at].oid, sizeof(p->largest[at].oid)) == 0)
			return true;
	return false;
}

static void footprint_put_largest(struct footprint_page *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	char size[SHOW_BYTES];
	if (p->n == 0)
		return;
	html(b, "<h2>Largest files of main</h2>\n<table class=\"rows\" id=\"largest\"><thead><tr><th "
		"scope=\"col\">File</th><th scope=\"col\" class=\"num\">Size</th></tr></thead><tbody>\n");
	size_t end = b->len + FOOTPRINT_PATHS_BYTES;
	for (uint32_t i = 0; i < p->n && b->len < end; i++) {
		html(b, "<tr><th scope=\"row\"><a href=\"");
		page_place_put_address(b, &p->place, "blob", p->largest[i].path);
		html(b, "\">");
		html_name(b, p->largest[i].path);
		html(b, "</a>%s</th><td class=\"num\">%s</td></tr>\n",
		     footprint_is_again(p, i) ? " (the same as one above: counted once)" : "",
		     show_size(size, p->largest[i].size_bytes));
	}
	html(b, "</tbody></table>\n");
}

static void footprint_put_row(struct cairn_buf *b, const char *colour, const char *what, uint32_t n, uint64_t bytes)
{
	char size[SHOW_BYTES], count[SHOW_BYTES];
	html(b,
	     "<tr><th scope=\"row\"><svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"%s\" "
	     "width=\"10\" height=\"10\" rx=\"2\"/></svg> %s</th><td class=\"num\">%s</td><td "
	     "class=\"num\">%s</td></tr>\n",
	     colour, what, show_count(count, n), show_size(size, bytes));
}

static void footprint_put_bytes(struct footprint_page *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	const struct cairn_footprint *f = &p->found;
	uint64_t all = f->named_bytes + f->past_bytes;
	char seen[SHOW_BYTES], size[SHOW_BYTES];
	if (f->unknown) {
		html(b,
		     "<p class=\"empty\">It is too large to be counted here: it has over %d files or "
		     "pieces.</p>\n",
		     (int)CAIRN_FOOTPRINT_FILES_MAX);
		return;
	}
	if (all == 0) {
		html(b, "<p class=\"empty\">It has no files in the store; short texts are kept in the index.</p>\n");
		return;
	}
	int named = (int)((double)f->named_bytes / (double)all * FOOTPRINT_WIDTH);
	html(b,
	     "<p>As seen %s; each chunk counted once, %s.</p>\n<svg class=\"room\" viewBox=\"0 0 "
	     "%d 24\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Bytes of branches "
	     "and tags, and of the past alone; the table below has the figures\"><rect "
	     "class=\"used\" width=\"%d\" height=\"24\"/><rect class=\"kept\" x=\"%d\" "
	     "width=\"%d\" height=\"24\"/></svg>\n",
	     show_size(seen, f->seen_bytes), show_size(size, all), FOOTPRINT_WIDTH, named, named,
	     FOOTPRINT_WIDTH - named);
	html(b, "<table class=\"rows\" id=\"bytes\"><thead><tr><th scope=\"col\">Kept by</th><th scope=\"col\" "
		"class=\"num\">Files</th><th scope=\"col\" class=\"num\">Bytes</th></tr></thead><tbody>\n");
	footprint_put_row(b, "used", "Branches and tags, as they are now", f->n_named, f->named_bytes);
	footprint_put_row(b, "kept", "The past alone: older commits, uploads that no commit names", f->n_past,
			  f->past_bytes);
	html(b, "</tbody></table>\n<p class=\"help\">Bytes before compression. To free those of the "
		"past, as far as nobody else has them, use <code>super_squash_history</code> and "
		"then <code>permanently_delete_lfs_files</code>.</p>\n");
}

/* Appends how much is shared with others, as of the last collection. */
static void footprint_put_sharing(struct footprint_page *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	struct hub_usage *usage = p->place.page.hub.call.job.app->usage;
	const struct cairn_usage *figures = page_is_operator(&p->place.page) ? hub_usage_hold(usage) : NULL;
	const struct cairn_usage_owner *owner =
		figures ? cairn_usage_of_repo(figures, p->place.page.hub.repo.id) : NULL;
	char only[SHOW_BYTES], shared[SHOW_BYTES], frees[SHOW_BYTES];
	if (owner) {
		html(b,
		     "<h2>For the operator</h2>\n<dl class=\"facts\"><dt>Only here</dt><dd>%s</dd><dt>Shared with "
		     "others</dt><dd>%s</dd><dt>Deleting it frees</dt><dd>%s</dd></dl>\n<p class=\"help\">On the disk, "
		     "compressed, as of ",
		     show_size(only, owner->only_bytes), show_size(shared, owner->shared_bytes),
		     show_size(frees, owner->frees_bytes));
		show_age(b, figures->at_unix_s, cairn_clock_unix_s());
		html(b, ". <a href=\"/storage\">Storage</a> says with whom.</p>\n");
	}
	if (figures)
		hub_usage_release(usage, figures);
}

static void footprint_build(struct page *page)
{
	static const struct page_crumb CRUMB = {"", "Storage"};
	struct footprint_page *p = (struct footprint_page *)page;
	struct cairn_buf *b = page_out(page);
	if (!page_place_find(&p->place))
		return;
	enum cairn_status status =
		p->place.may_read ? cairn_hub_footprint(&p->found, page_hub(page), &page->hub.repo) : CAIRN_OK;
	if (status == CAIRN_OK && p->place.may_read)
		status = footprint_find_largest(p);
	if (status != CAIRN_OK) {
		page->hub.call.status = status;
		return;
	}
	if (!page_repo_begin(page, PAGE_REPO_STORAGE, &CRUMB, 1))
		return;
	html(b, "<h2>What it takes</h2>\n");
	if (p->place.may_read)
		footprint_put_bytes(p);
	else
		html(b, "<p class=\"empty\">Only members see this: the files of this repository are gated.</p>\n");
	footprint_put_sharing(p);
	if (p->place.may_read)
		page_put_folders(&p->place);
	footprint_put_largest(p);
	page_end(page);
}

static void footprint_get(struct http_request *req)
{
	struct footprint_page *p = page_place_new(req, sizeof(*p), footprint_build, false);
	if (!p)
		return;
	p->place.page.hub.call.job.work.lane = CAIRN_LANE_HEAVY; /* walking over many files takes a second */
	route_job_start(req);
}

const struct http_route ROUTES_PAGE_FOOTPRINT[] = {
	HUB_EACH_KIND(PAGE_GET, "/storage", "page-footprint", footprint_get, footprint_free),
	{0},
};
