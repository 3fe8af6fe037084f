/* Shows what fills the disk: GET /storage. Only for the operator, because sharing reveals other repositories. */
#include "base/clock.h"
#include "server/ask/hub_usage.h"
#include "server/page/charts.h"
#include "server/page/page.h"
#include "server/page/page_files.h"
#include "server/page/page_room.h"
#include "server/page/page_routes.h"

#include <stdlib.h>
#include <string.h>

enum {
	STORAGE_OWNERS = 50,
	STORAGE_OWNERS_BYTES = 9000, /* the table: names may be long */
	STORAGE_PAIRS = 20,
	STORAGE_PAIRS_BYTES = 5000,
	STORAGE_MAP = 4096,
	STORAGE_NAME_BYTES = CAIRN_INDEX_ACCOUNT_NAME_MAX + 1,
};

static const char *storage_name(const struct cairn_usage_owner *owner)
{
	return owner->name[0] ? owner->name : "(the operator)";
}

/* Copies the account of a name, "ann" of "models/ann/cats". */
static const char *storage_account(char out[static STORAGE_NAME_BYTES], const char *name)
{
	const char *slash = strchr(name, '/'), *from = slash ? slash + 1 : name;
	size_t len = strcspn(from, "/");
	len = len < STORAGE_NAME_BYTES ? len : STORAGE_NAME_BYTES - 1;
	memcpy(out, from, len);
	out[len] = '\0';
	return out;
}

/* An owner and its account. */
struct storage_part {
	char account[STORAGE_NAME_BYTES];
	const struct cairn_usage_owner *owner;
};

static int storage_compare(const void *a, const void *b)
{
	const struct storage_part *x = a, *y = b;
	return strcmp(x->account, y->account);
}

/* Returns the name within the account, "cats" of "models/ann/cats". */
static const char *storage_within(const struct cairn_usage_owner *owner)
{
	const char *slash = strrchr(storage_name(owner), '/');
	return slash ? slash + 1 : storage_name(owner);
}

/* Makes parts: each account, followed by its owners. The owners are sorted by account. @param[out] out room for 2 n + 1
 * @return the number of parts */
static size_t storage_nest(struct chart_part *out, const struct storage_part *owners, uint32_t n)
{
	size_t n_out = 1, account = 0;
	out[0] = (struct chart_part){.name = "all"};
	for (uint32_t i = 0; i < n; i++) {
		uint64_t bytes = owners[i].owner->only_bytes;
		if (i == 0 || strcmp(owners[i - 1].account, owners[i].account) != 0) {
			account = n_out++;
			out[account] = (struct chart_part){.name = owners[i].account};
		}
		out[n_out++] = (struct chart_part){storage_within(owners[i].owner), (uint32_t)account, bytes};
		out[account].bytes += bytes;
		out[0].bytes += bytes;
	}
	return n_out;
}

/* Appends a treemap of the bytes that only one owner has, grouped by account. */
static enum cairn_status storage_put_map(struct cairn_buf *b, const struct cairn_usage *usage)
{
	uint32_t n = usage->n_owners < STORAGE_MAP ? usage->n_owners : STORAGE_MAP;
	struct chart_part *parts = calloc(2 * (size_t)n + 1, sizeof(*parts));
	struct storage_part *owners = calloc((size_t)n + 1, sizeof(*owners));
	for (uint32_t i = 0; owners && i < n; i++) {
		owners[i].owner = &usage->owners[i];
		(void)storage_account(owners[i].account, storage_name(&usage->owners[i]));
	}
	if (parts && owners) {
		qsort(owners, n, sizeof(*owners), storage_compare);
		html(b, "<h2>What only one has</h2>\n");
		chart_put_treemap(b,
				  "A field for each account, and in it one for each repository, as large as what only "
				  "it has; the table below has the figures",
				  "others", parts, storage_nest(parts, owners, n));
	}
	bool made = parts && owners;
	free(parts);
	free(owners);
	return made ? CAIRN_OK : CAIRN_E_NOMEM;
}

/* Collects the owners that share most. The pairs are sorted by shared bytes. @return the number of owners */
static uint32_t storage_sharers(const struct cairn_usage *usage, uint32_t out[static CHARTS_SIDE_MAX])
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < usage->n_pairs; i++) {
		const uint32_t both[] = {usage->pairs[i].a, usage->pairs[i].b};
		for (unsigned k = 0; k < 2 && n < CHARTS_SIDE_MAX; k++) {
			bool known = false;
			for (uint32_t j = 0; j < n; j++)
				known = known || out[j] == both[k];
			if (!known)
				out[n++] = both[k];
		}
	}
	return n;
}

static void storage_put_matrix(struct cairn_buf *b, const struct cairn_usage *usage)
{
	uint32_t owners[CHARTS_SIDE_MAX], n = storage_sharers(usage, owners);
	const char *names[CHARTS_SIDE_MAX];
	uint64_t bytes[CHARTS_SIDE_MAX * CHARTS_SIDE_MAX] = {0};
	for (uint32_t i = 0; i < n; i++)
		names[i] = storage_name(&usage->owners[owners[i]]);
	for (uint32_t i = 0; i < usage->n_pairs; i++) {
		uint32_t a = n, c = n;
		for (uint32_t j = 0; j < n; j++) {
			a = owners[j] == usage->pairs[i].a ? j : a;
			c = owners[j] == usage->pairs[i].b ? j : c;
		}
		if (a < n && c < n)
			bytes[a * n + c] = bytes[c * n + a] = usage->pairs[i].bytes;
	}
	chart_put_matrix(b, "Bytes that repositories share with each other; the table below has the figures", names, n,
			 bytes);
}

/* Appends a name with a link to the repository's storage page. A bucket has no such page. */
static void storage_put_name(struct cairn_buf *b, const struct cairn_usage_owner *owner)
{
	static const char MODELS[] = "models/", BUCKETS[] = "buckets/";
	const char *name = storage_name(owner), *at = name;
	bool is_bucket = strncmp(name, BUCKETS, sizeof(BUCKETS) - 1) == 0;
	if (owner->repo == 0) {
		html_name(b, name);
		return;
	}
	if (strncmp(name, MODELS, sizeof(MODELS) - 1) == 0)
		at += sizeof(MODELS) - 1;
	html(b, "<a href=\"/%s%s\">", at, is_bucket ? "" : "/storage");
	html_name(b, name);
	html(b, "</a>");
}

static void storage_put_owners(struct cairn_buf *b, const struct cairn_usage *usage)
{
	html(b, "<table class=\"rows\"><thead><tr><th scope=\"col\">Repository</th><th scope=\"col\" class=\"num "
		"wide\">As "
		"seen</th><th scope=\"col\" class=\"num\">Only here</th><th scope=\"col\" class=\"num "
		"wide\">Shared</th><th "
		"scope=\"col\" class=\"num\">Frees</th></tr></thead><tbody>\n");
	size_t end = b->len + STORAGE_OWNERS_BYTES;
	uint32_t i = 0;
	for (; i < usage->n_owners && i < STORAGE_OWNERS && b->len < end; i++) {
		const struct cairn_usage_owner *owner = &usage->owners[i];
		char seen[SHOW_BYTES], only[SHOW_BYTES], shared[SHOW_BYTES], frees[SHOW_BYTES];
		html(b, "<tr><th scope=\"row\">");
		storage_put_name(b, owner);
		html(b,
		     "</th><td class=\"num wide\">%s</td><td class=\"num\">%s</td><td class=\"num wide\">%s</td><td "
		     "class=\"num\">%s</td></tr>\n",
		     show_size(seen, owner->seen_bytes), show_size(only, owner->only_bytes),
		     show_size(shared, owner->shared_bytes), show_size(frees, owner->frees_bytes));
	}
	html(b, "</tbody></table>\n");
	if (i < usage->n_owners)
		html(b, "<p class=\"help\">These %u hold most; <code>cairn usage</code> names all %u.</p>\n", i,
		     usage->n_owners);
}

static void storage_put_pairs(struct cairn_buf *b, const struct cairn_usage *usage)
{
	if (usage->n_pairs == 0)
		return;
	html(b, "<h2>Who shares most</h2>\n");
	storage_put_matrix(b, usage);
	html(b, "<table class=\"rows\"><thead><tr><th scope=\"col\">Repositories</th><th "
		"scope=\"col\" class=\"num\">Both have</th></tr></thead><tbody>\n");
	size_t end = b->len + STORAGE_PAIRS_BYTES;
	for (uint32_t i = 0; i < usage->n_pairs && i < STORAGE_PAIRS && b->len < end; i++) {
		const struct cairn_usage_pair *pair = &usage->pairs[i];
		char size[SHOW_BYTES];
		html(b, "<tr><th scope=\"row\">");
		html_name(b, storage_name(&usage->owners[pair->a]));
		html(b, ", ");
		html_name(b, storage_name(&usage->owners[pair->b]));
		html(b, "</th><td class=\"num\">%s</td></tr>\n", show_size(size, pair->bytes));
	}
	html(b, "</tbody></table>\n");
}

static enum cairn_status storage_put_figures(struct cairn_buf *b, const struct cairn_usage *usage)
{
	enum cairn_status status = CAIRN_OK;
	char size[SHOW_BYTES];
	html(b, "<p class=\"dim\">%s held by files, computed ", show_size(size, usage->held_bytes));
	show_age(b, usage->at_unix_s, cairn_clock_unix_s());
	html(b, ". The column “Frees” has what a deletion of the repository frees, once collected: "
		"the bytes that have no other owner.</p>\n");
	if (usage->n_owners == 0)
		html(b, "<p class=\"empty\">No file is stored.</p>\n");
	else
		status = storage_put_map(b, usage);
	if (usage->n_owners > 0)
		storage_put_owners(b, usage);
	storage_put_pairs(b, usage);
	return status;
}

static void storage_build(struct page *page)
{
	static const struct page_crumb CRUMBS[] = {{"/", "Repositories"}, {"", "Storage"}};
	struct app *app = page->hub.call.job.app;
	struct hub_call *call = &page->hub.call;
	struct cairn_cas_stats stats;
	if (!page_is_operator(page)) {
		call->status =
			cairn_fail(&call->diag, CAIRN_E_NOT_FOUND, "entry.unknown", CAIRN_NO_OFFSET, "Entry not found");
		return;
	}
	page_begin(page, "Storage", CRUMBS, 2);
	html(page_out(page), "<h1>Storage</h1>\n");
	const struct cairn_usage *usage = hub_usage_hold(app->usage);
	if (usage) {
		call->status = storage_put_figures(page_out(page), usage);
		hub_usage_release(app->usage, usage);
	} else {
		hub_usage_refresh(app);
		html(page_out(page), "<p class=\"empty\">The figures are being computed; load this page again in some "
				     "seconds.</p>\n");
	}
	cairn_cas_stats(app->cas, &stats);
	page_put_room(page_out(page), app, &stats);
	page_put_files_link(page);
	page_end(page);
}

static void storage_get(struct http_request *req)
{
	if (page_get_new(req, sizeof(struct page), storage_build))
		route_job_start(req);
}

const struct http_route ROUTES_PAGE_STORAGE[] = {
	PAGE_GET("/storage", "page-storage", storage_get, page_free),
	{0},
};
