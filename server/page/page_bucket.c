/* A bucket: its files, folder by folder, and the page of a file. GET /buckets/{namespace}/{name}, …/tree/{path} */
#include "base/percent.h"
#include "server/page/page_map.h"
#include "server/page/page_paths.h"
#include "server/page/page_repo.h"

#include "base/clock.h"
#include "cas/losses.h"
#include "server/page/page_lost.h"
#include "server/page/page_routes.h"

#include <stdio.h>
#include <string.h>

enum {
	BUCKET_TREE_BYTES_MAX = 2 << 20,
	BUCKET_ROWS_BYTES = 34000, /* rows on one page: names may be long */
};

struct bucket_page {
	struct page page;
	const char *cursor; /* from the request; NULL: from the start */
	const char *find;   /* from the request: a part of a path to search for; "": list all */
	bool wrong;         /* the path or the cursor is invalid */
	char path[CAIRN_INDEX_PATH_MAX + 2];
	struct cairn_buf files;   /* rows of files, which follow those of folders; owned */
	size_t prefix_len, start; /* length of the path; offset of the rows in the page */
	int64_t now_unix_s;
	unsigned n;
	char next[CAIRN_INDEX_PATH_MAX + 1]; /* the first entry of the next page; empty: none */
};

/* --- a folder ----------------------------------------------------------------------------------------------------- */

static void bucket_put_address(struct page *page, const struct cairn_hub_path *found)
{
	html(page_out(page), "/buckets/%s/%s/tree/", found->repo->account_name, found->repo->name);
	html_path(page_out(page), found->path);
}

static void bucket_put_file(struct bucket_page *p, const char *path, const struct cairn_index_object *object)
{
	const struct cairn_index_repo *repo = &p->page.hub.repo;
	struct cairn_buf *b = &p->files;
	char size[SHOW_BYTES];
	int64_t at_unix_ms = object->has_mtime ? object->mtime_unix_ms : object->uploaded_unix_ms;
	html(b, "<tr><th scope=\"row\"><a href=\"/buckets/%s/%s/tree/", repo->account_name, repo->name);
	html_path(b, path);
	html(b, "\">");
	html_name(b, path + p->prefix_len);
	html(b, "</a>");
	bool lost = page_put_lost_tag(b, page_cas(&p->page), &object->file);
	html(b, "</th><td class=\"num\">%s</td><td class=\"num wide\">", show_size(size, object->size_bytes));
	show_age(b, at_unix_ms / 1000, p->now_unix_s);
	html(b, "</td><td class=\"num wide\">");
	if (!lost) {
		html(b, "<a href=\"/buckets/%s/%s/resolve/", repo->account_name, repo->name);
		html_path(b, path);
		html(b, "\" download aria-label=\"Download %s\">Download</a>", path + p->prefix_len);
	}
	html(b, "</td></tr>\n");
}

static void bucket_put_folder(struct bucket_page *p, const char *path)
{
	const struct cairn_index_repo *repo = &p->page.hub.repo;
	struct cairn_buf *b = page_out(&p->page);
	html(b, "<tr class=\"folder\"><th scope=\"row\"><a href=\"/buckets/%s/%s/tree/", repo->account_name,
	     repo->name);
	html_path(b, path);
	html(b, "\">");
	html_name(b, path + p->prefix_len);
	html(b, "/</a></th><td></td><td class=\"wide\"></td><td class=\"wide\"></td></tr>\n");
}

static void bucket_visit(void *ctx, const struct cairn_hub_entry *entry)
{
	struct bucket_page *p = ctx;
	if (p->next[0])
		return;
	if (p->n == PAGE_ROWS || page_out(&p->page)->len - p->start + p->files.len > BUCKET_ROWS_BYTES) {
		(void)snprintf(p->next, sizeof(p->next), "%s", entry->path);
		return;
	}
	p->n++;
	if (entry->object)
		bucket_put_file(p, entry->path, entry->object);
	else
		bucket_put_folder(p, entry->path);
}

static void bucket_put_use(struct bucket_page *p)
{
	const struct cairn_index_repo *repo = &p->page.hub.repo;
	CLEANUP(cairn_buf_fini) struct cairn_buf lines = cairn_buf_init(4096);
	cairn_buf_printf(&lines, "hf sync hf://buckets/%s/%s ./%s\nhf sync ./folder hf://buckets/%s/%s\n",
			 repo->account_name, repo->name, repo->name, repo->account_name, repo->name);
	cairn_buf_add(&lines, "", 1);
	page_put_endpoint(&p->page, lines.status == CAIRN_OK ? (const char *)lines.bytes : "");
}

static void bucket_put_more(struct bucket_page *p)
{
	struct cairn_buf *b = page_out(&p->page);
	if (!p->next[0])
		return;
	html(b, "<p class=\"more\"><a href=\"?from=");
	html_path(b, p->next);
	html(b, "\">More</a></p>\n");
}

/* Appends the rows of a folder, whose path ends with a slash, or of the whole bucket. @return false: the call failed */
static bool bucket_put_rows(struct bucket_page *p)
{
	struct hub_call *call = &p->page.hub.call;
	struct cairn_buf *b = page_out(&p->page);
	char behind[CAIRN_INDEX_PATH_MAX + 1];
	size_t at = p->start = b->len;
	p->prefix_len = strlen(p->path);
	p->files = cairn_buf_init(BUCKET_TREE_BYTES_MAX);
	html(b, "<table class=\"rows\" id=\"files\"><thead><tr><th scope=\"col\">Name</th><th scope=\"col\" "
		"class=\"num\">Size</th><th scope=\"col\" class=\"num wide\">Changed</th><th scope=\"col\" class=\"num "
		"wide\">"
		"<span class=\"away\">Download</span></th></tr></thead><tbody>\n");
	call->status = cairn_hub_list_bucket(page_hub(&p->page), &p->page.hub.repo, p->path, false,
					     p->cursor ? p->cursor : "", bucket_visit, p, behind);
	cairn_buf_add(b, p->files.bytes, p->files.len);
	if (call->status == CAIRN_OK)
		call->status = p->files.status;
	html(b, "</tbody></table>\n");
	if (p->n == 0)
		b->len = at;
	return call->status == CAIRN_OK;
}

/* Appends the search results below a folder, whose path ends with a slash, or in the whole bucket. */
static void bucket_put_found(struct bucket_page *p)
{
	struct page *page = &p->page;
	struct page_paths paths = {.page = page, .put_address = bucket_put_address, .prefix_len = strlen(p->path)};
	const struct cairn_hub_find_path find = {
		.text = p->find, .found_max = PAGE_PATHS_MAX, .visit = page_paths_visit, .ctx = &paths};
	page->hub.call.status = cairn_hub_find_in_bucket(page_hub(page), &page->hub.repo, p->path, &find,
							 p->cursor ? p->cursor : "", p->next);
	page_paths_put_found(&paths, p->find, p->next);
}

static void bucket_put_empty(struct bucket_page *p)
{
	html(page_out(&p->page), "<div class=\"empty\"><h2>This bucket is empty</h2><p>Fill it with the lines below."
				 "</p></div>\n");
}

static bool bucket_begin(struct bucket_page *p)
{
	const struct cairn_index_repo *repo = &p->page.hub.repo;
	struct page_crumb crumbs[PAGE_CRUMBS_MAX];
	char prefix[2 * CAIRN_INDEX_REPO_NAME_MAX + 32];
	CLEANUP(cairn_buf_fini) struct cairn_buf texts = cairn_buf_init(256 << 10);
	(void)snprintf(prefix, sizeof(prefix), "/buckets/%s/%s/tree/", repo->account_name, repo->name);
	size_t n = page_repo_crumbs(prefix, p->path, &texts, crumbs);
	return page_repo_begin(&p->page, PAGE_REPO_FILES, crumbs, n);
}

static enum cairn_status bucket_no_entry(struct bucket_page *p)
{
	return cairn_fail(&p->page.hub.call.diag, CAIRN_E_NOT_FOUND, "entry.unknown", CAIRN_NO_OFFSET,
			  "Entry not found");
}

static void bucket_build_folder(struct bucket_page *p)
{
	struct hub_call *call = &p->page.hub.call;
	if (!bucket_begin(p))
		return;
	if (p->find[0] || p->page.hub.repo.n_files > 0)
		page_paths_put_form(&p->page, p->find);
	if (p->find[0]) {
		bucket_put_found(p);
		page_end(&p->page);
		return;
	}
	if (!bucket_put_rows(p))
		return;
	if (p->n == 0 && (p->path[0] || p->cursor)) {
		call->status = bucket_no_entry(p);
		return;
	}
	if (p->n == 0)
		bucket_put_empty(p);
	bucket_put_more(p);
	bucket_put_use(p);
	page_end(&p->page);
}

/* --- a file ------------------------------------------------------------------------------------------------------- */

static void bucket_put_fact(struct cairn_buf *b, const char *name, const char *value)
{
	html(b, "<dt>%s</dt><dd>%s</dd>", name, value);
}

static void bucket_put_cp(struct bucket_page *p)
{
	const struct cairn_index_repo *repo = &p->page.hub.repo;
	CLEANUP(cairn_buf_fini) struct cairn_buf lines = cairn_buf_init(8192);
	cairn_buf_printf(&lines, "hf cp 'hf://buckets/%s/%s/%s' .\n", repo->account_name, repo->name, p->path);
	cairn_buf_add(&lines, "", 1);
	if (!strchr(p->path, '\'') && lines.status == CAIRN_OK) /* a shell would interpret a quote differently */
		page_put_endpoint(&p->page, (const char *)lines.bytes);
}

static void bucket_build_file(struct bucket_page *p, const struct cairn_index_object *object)
{
	const struct cairn_index_repo *repo = &p->page.hub.repo;
	struct cairn_buf *b = page_out(&p->page);
	const char *slash = strrchr(p->path, '/'), *name = slash ? slash + 1 : p->path;
	char hash[CAIRN_HASH_TEXT_BYTES], size[SHOW_BYTES], exact[SHOW_BYTES + 8], count[SHOW_BYTES], when[SHOW_BYTES];
	bool lost = cairn_losses_has(page_cas(&p->page), &object->file);
	if (!bucket_begin(p))
		return;
	cairn_hash_text(hash, &object->file);
	(void)snprintf(exact, sizeof(exact), "%s bytes", show_count(count, object->size_bytes));
	html(b, "<div class=\"title\"><h2 class=\"path\">");
	html_name(b, name);
	html(b, "</h2>");
	if (!lost) {
		html(b, "<a class=\"button\" href=\"/buckets/%s/%s/resolve/", repo->account_name, repo->name);
		html_path(b, p->path);
		html(b, "\" download>Download %s</a>", show_size(size, object->size_bytes));
	}
	html(b, "</div>\n");
	if (lost)
		page_put_lost_notice(b);
	html(b, "<dl class=\"facts\">");
	bucket_put_fact(b, "Size", exact);
	bucket_put_fact(b, "Uploaded", show_time(when, object->uploaded_unix_ms / 1000));
	if (object->has_mtime)
		bucket_put_fact(b, "Changed", show_time(when, object->mtime_unix_ms / 1000));
	if (object->type[0])
		bucket_put_fact(b, "Type, as uploaded", object->type);
	html(b, "<dt>Xet hash</dt><dd><code>%s</code></dd></dl>\n", hash);
	if (object->size_bytes > 0 && !lost)
		page_put_map(&p->page, &object->file);
	if (!lost)
		bucket_put_cp(p);
	page_end(&p->page);
}

static void bucket_build(struct page *page)
{
	struct bucket_page *p = (struct bucket_page *)page;
	struct hub_call *call = &page->hub.call;
	struct cairn_index_object object;
	struct cairn_diag unsaid = {0};
	p->now_unix_s = cairn_clock_unix_s();
	if (!hub_repo_find(&page->hub, CAIRN_HUB_READ))
		return;
	if (p->wrong) {
		call->status = bucket_no_entry(p);
		return;
	}
	enum cairn_status found = CAIRN_E_NOT_FOUND;
	if (p->path[0])
		found = cairn_hub_find_object(page_hub(page), &page->hub.repo, p->path, &object, &unsaid);
	if (found == CAIRN_OK)
		bucket_build_file(p, &object);
	else if (found != CAIRN_E_NOT_FOUND)
		call->status = found;
	else {
		if (p->path[0])
			(void)snprintf(p->path + strlen(p->path), 2, "/");
		bucket_build_folder(p);
	}
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void bucket_free(void *state)
{
	struct bucket_page *p = state;
	if (p)
		cairn_buf_fini(&p->files);
	page_free(state);
}

static void bucket_get_path(struct http_request *req, const char *path)
{
	struct bucket_page *p = page_get_new(req, sizeof(*p), bucket_build);
	if (!p)
		return;
	if (!page_repo_take(req, &p->page))
		return;
	p->find = page_paths_wanted(req);
	p->cursor = http_query_arg(req, p->find[0] ? "after" : "from");
	p->wrong = !cairn_percent_decode(p->path, CAIRN_INDEX_PATH_MAX + 1, path) ||
		   (p->cursor && strlen(p->cursor) > CAIRN_INDEX_PATH_MAX);
	if (p->find[0])
		p->page.hub.call.job.work.lane = CAIRN_LANE_HEAVY;
	route_job_start(req);
}

static void bucket_get(struct http_request *req)
{
	bucket_get_path(req, "");
}

static void bucket_get_tree(struct http_request *req)
{
	bucket_get_path(req, http_path_arg(req, "path"));
}

const struct http_route ROUTES_PAGE_BUCKET[] = {
	PAGE_GET("/buckets/{namespace}/{name}", "page-bucket", bucket_get, bucket_free),
	PAGE_GET("/buckets/{namespace}/{name}/tree/{path*}", "page-tree", bucket_get_tree, bucket_free),
	{0},
};
