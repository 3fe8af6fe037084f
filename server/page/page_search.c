/* Searches for the thing that a hash names, or for paths with a text: GET /search?q= */
#include "hub/search.h"
#include "server/page/page.h"
#include "server/page/page_paths.h"
#include "server/page/page_routes.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SEARCH_TEXT_MAX = CAIRN_HUB_FIND_TEXT_MAX, SEARCH_ROWS = 100, SEARCH_HASH_CHARS = 64 };

struct search_page {
	struct page page;
	char text[SEARCH_TEXT_MAX + 1];
	bool is_hash; /* text is then in lower case */
	bool wrong;   /* the text is too long */
	unsigned n;
};

static void search_put(void *ctx, const struct cairn_hub_find *find)
{
	static const char *const KINDS[] = {
		[CAIRN_HUB_FIND_FILE] = "Xet hash of",        [CAIRN_HUB_FIND_SHA256] = "SHA-256 of",
		[CAIRN_HUB_FIND_XORB] = "Xorb with bytes of", [CAIRN_HUB_FIND_CHUNK] = "Chunk in a xorb with bytes of",
		[CAIRN_HUB_FIND_COMMIT] = "Commit",
	};
	struct search_page *p = ctx;
	const struct cairn_index_repo *repo = find->repo;
	struct cairn_buf *b = page_out(&p->page);
	char size[SHOW_BYTES];
	if (p->n++ == 0)
		html(b,
		     "<table class=\"rows\" id=\"found\"><thead><tr><th scope=\"col\">Where</th><th scope=\"col\">It "
		     "is</th><th scope=\"col\" class=\"num wide\">Size</th></tr></thead><tbody>\n");
	if (p->n > SEARCH_ROWS)
		return;
	html(b, "<tr><th scope=\"row\"><a href=\"%s%s/%s", hub_kind_web(repo->kind), repo->account_name, repo->name);
	if (find->kind == CAIRN_HUB_FIND_COMMIT)
		html(b, "/commit/%s", p->text);
	else if (find->path)
		html(b, repo->kind == CAIRN_INDEX_BUCKET ? "/tree/" : "/blob/main/");
	html_path(b, find->path ? find->path : "");
	html(b, "\"><span class=\"dim\">%s/%s</span>", repo->account_name, repo->name);
	if (find->path) {
		html(b, " ");
		html_name(b, find->path);
	}
	html(b, "</a> <span class=\"tag\">%s</span></th><td>%s%s</td><td class=\"num wide\">%s</td></tr>\n",
	     hub_kind_name(repo->kind), KINDS[find->kind],
	     find->path || find->kind == CAIRN_HUB_FIND_COMMIT ? "" : " a file that main has no more, or far behind",
	     find->kind == CAIRN_HUB_FIND_COMMIT ? "" : show_size(size, find->size_bytes));
}

static void search_put_form(struct search_page *p)
{
	html(page_out(&p->page),
	     "<form class=\"find\" role=\"search\" action=\"/search\"><label class=\"away\" for=\"q\">Hash or path</label><input "
	     "type=\"search\" id=\"q\" name=\"q\" value=\"%s\" placeholder=\"Hash, or a part of a path\" maxlength=\"%d\" "
	     "autocomplete=\"off\" spellcheck=\"false\"><button>Search</button></form>\n",
	     p->text, SEARCH_TEXT_MAX);
}

static void search_put_end(struct search_page *p, const struct cairn_hub_search_end *end)
{
	struct cairn_buf *b = page_out(&p->page);
	if (p->n > 0)
		html(b, "</tbody></table>\n");
	else
		html(b,
		     "<p class=\"empty\">Nothing that you may see has this hash. Text of up to 64 kB in a commit has "
		     "no SHA-256 here; its git number is on its page.</p>\n");
	if (p->n > SEARCH_ROWS)
		html(b, "<p class=\"dim\">There is more; these are the first %d.</p>\n", SEARCH_ROWS);
	if (end->more_repos)
		html(b, "<p class=\"dim\">Only the %d repositories that were changed last were asked.</p>\n",
		     CAIRN_HUB_REACH_REPOS_MAX);
	if (end->more_files)
		html(b, "<p class=\"dim\">Xorbs and chunks were not looked for in all repositories: those with many "
			"files were passed over.</p>\n");
	if (page_is_operator(&p->page))
		html(b, "<p class=\"dim\"><code>cairn info</code> also knows what belongs to no repository; "
			"<a href=\"/storage/files\">files that no repository has</a> are listed by their hash.</p>\n");
}

static void search_build(struct page *page)
{
	static const struct page_crumb CRUMBS[] = {{"/", "Repositories"}, {"", "Search"}};
	struct search_page *p = (struct search_page *)page;
	struct cairn_buf *b = page_out(page);
	struct cairn_hub_search_end end;
	page_begin(page, "Search", CRUMBS, 2);
	html(b,
	     "<h1>Search</h1>\n<p class=\"dim\">By a SHA-256, the hash of a file, a xorb or a chunk (64 digits), or a "
	     "commit (%d to 40); by a part of a path, in any case, as main and the buckets have it now. What you may not "
	     "see is not searched.</p>\n",
	     CAIRN_HUB_DIGITS_MIN);
	search_put_form(p);
	if (p->wrong)
		html(b,
		     "<p class=\"notice\" role=\"alert\">Nothing was searched: a part of a path has at most %d bytes.</p>\n",
		     SEARCH_TEXT_MAX);
	if (p->is_hash) {
		page->hub.call.status =
			cairn_hub_search(page_hub(page), page_asker(page), p->text, search_put, p, &end);
		search_put_end(p, &end);
	}
	/* a short text of hexadecimal digits may be part of a name, too */
	if (page->hub.call.status == CAIRN_OK && p->text[0] && (!p->is_hash || strlen(p->text) < SEARCH_HASH_CHARS)) {
		html(b, p->is_hash ? "<h2>In paths</h2>\n" : "");
		(void)page_paths_put_all(page, p->text, PAGE_PATHS_MAX);
	}
	page_end(page);
}

/* Reads the text. Only its length distinguishes a hash from part of a path. */
static void search_take(struct search_page *p, const char *q, size_t len)
{
	char lower[SEARCH_TEXT_MAX + 1] = "";
	for (size_t i = 0; i < len; i++)
		lower[i] = (char)tolower((unsigned char)q[i]);
	p->is_hash = cairn_hub_is_searched(lower);
	memcpy(p->text, p->is_hash ? lower : q, len);
}

static void search_get(struct http_request *req)
{
	struct search_page *p = page_get_new(req, sizeof(*p), search_build);
	const char *q = http_query_arg(req, "q");
	if (!p)
		return;
	q = q ? q + strspn(q, " ") : "";
	size_t len = strlen(q);
	while (len > 0 && q[len - 1] == ' ')
		len--;
	p->wrong = len > SEARCH_TEXT_MAX;
	if (p->wrong)
		p->page.hub.code = 400;
	else
		search_take(p, q, len);
	p->page.hub.call.job.work.lane = CAIRN_LANE_HEAVY; /* with many repositories this takes long */
	route_job_start(req);
}

const struct http_route ROUTES_PAGE_SEARCH[] = {
	PAGE_GET("/search", "page-search", search_get, page_free),
	{0},
};
