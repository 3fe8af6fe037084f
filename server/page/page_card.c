/* A git-like repository: its README and how to get it. GET [/{type}]/{namespace}/{name}. */
#include "base/clock.h"
#include "server/page/markdown.h"
#include "server/page/page_repo.h"
#include "server/route/routes.h"

#include <stdio.h>
#include <string.h>

static const char CARD_README[] = "README.md";

/* --- the README --------------------------------------------------------------------------------------------------- */

static void card_put_text(struct page_place *p, const struct cairn_buf *text)
{
	struct cairn_buf *b = page_out(&p->page);
	CLEANUP(cairn_buf_fini) struct cairn_buf files = cairn_buf_init(4096), pictures = cairn_buf_init(4096);
	page_place_put_address(&files, p, "blob", "");
	cairn_buf_add(&files, "/", 2);
	page_place_put_address(&pictures, p, "resolve", "");
	cairn_buf_add(&pictures, "/", 2);
	if (files.status != CAIRN_OK || pictures.status != CAIRN_OK)
		return;
	const struct markdown_base base = {(const char *)files.bytes, (const char *)pictures.bytes};
	html(b, "<article class=\"readme\">\n");
	markdown_put(b, (const char *)text->bytes, text->len, &base);
	html(b, "</article>\n");
}

static void card_put_nothing(struct page_place *p, const char *title, const char *text)
{
	html(page_out(&p->page), "<div class=\"empty\"><h2>%s</h2><p>%s</p></div>\n", title, text);
}

static void card_put_bytes(struct page_place *p, const struct cairn_index_entry *entry)
{
	struct cairn_buf *b = page_out(&p->page);
	enum page_place_bytes found;
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(CAIRN_INDEX_INLINE_MAX);
	if (!page_place_read(p, entry, &text, &found))
		return;
	if (found != PAGE_PLACE_READ)
		card_put_nothing(p, "Its README.md is lost", page_place_say(found));
	else if (text.len > 0)
		card_put_text(p, &text);
	else
		card_put_nothing(p, "Its README.md is empty", "Write into it what this is.");
	if (text.len > 0 && text.len < entry->size_bytes) {
		html(b, "<p class=\"dim\">These are the first %zu bytes of ", text.len);
		html(b, "<a href=\"");
		page_place_put_address(b, p, "blob", CARD_README);
		html(b, "\">%s</a>.</p>\n", CARD_README);
	}
}

static void card_put_readme(struct page_place *p)
{
	struct hub_call *call = &p->page.hub.call;
	struct cairn_index_entry entry;
	struct cairn_diag unsaid = {0};
	enum cairn_status status =
		cairn_hub_find_entry(page_cas(&p->page), &p->page.hub.commit, CARD_README, &entry, &unsaid);
	if (status == CAIRN_E_NOT_FOUND || (status == CAIRN_OK && entry.kind == CAIRN_INDEX_FOLDER)) {
		card_put_nothing(
			p, "It has no README.md yet",
			"What it is, how it was made and what it is good for stands here, once a README.md says so.");
		return;
	}
	if (status != CAIRN_OK) {
		call->status = status;
		return;
	}
	if (!p->may_read) {
		card_put_nothing(p, "Its files are gated", "Everybody sees that it is here; its members may read it.");
		return;
	}
	card_put_bytes(p, &entry);
}

/* --- how to get it ------------------------------------------------------------------------------------------------ */

static void card_put_python(struct page_place *p)
{
	const struct cairn_index_repo *repo = &p->page.hub.repo;
	const char *account = repo->account_name, *name = repo->name;
	char lines[2 * CAIRN_INDEX_REPO_NAME_MAX + 256];
	if (repo->kind == CAIRN_INDEX_MODEL)
		(void)snprintf(lines, sizeof(lines),
			       "from transformers import AutoModel\n\nmodel = AutoModel.from_pretrained(\"%s/%s\")\n",
			       account, name);
	else if (repo->kind == CAIRN_INDEX_DATASET)
		(void)snprintf(lines, sizeof(lines),
			       "from datasets import load_dataset\n\ndata = load_dataset(\"%s/%s\")\n", account, name);
	else
		(void)snprintf(lines, sizeof(lines),
			       "from huggingface_hub import snapshot_download\n\n"
			       "path = snapshot_download(\"%s/%s\", repo_type=\"%s\")\n",
			       account, name, hub_kind_name(repo->kind));
	page_put_copy(&p->page, "python", "In Python, in the same shell", lines);
}

static void card_put_use(struct page_place *p)
{
	const struct cairn_index_repo *repo = &p->page.hub.repo;
	char lines[4 * CAIRN_INDEX_REPO_NAME_MAX + 128], type[32] = "";
	if (repo->kind != CAIRN_INDEX_MODEL)
		(void)snprintf(type, sizeof(type), " --repo-type %s", hub_kind_name(repo->kind));
	(void)snprintf(lines, sizeof(lines), "hf download %s/%s%s\nhf upload %s/%s ./folder .%s\n", repo->account_name,
		       repo->name, type, repo->account_name, repo->name, type);
	page_put_endpoint(&p->page, lines);
	card_put_python(p);
}

/* --- the page ----------------------------------------------------------------------------------------------------- */

static void card_build(struct page *page)
{
	struct page_place *p = (struct page_place *)page;
	struct cairn_buf *b = page_out(page);
	if (!page_place_find(p) || !page_repo_begin(page, PAGE_REPO_CARD, NULL, 0))
		return;
	html(b, "<div class=\"with-aside\"><section aria-label=\"README.md\">\n");
	card_put_readme(p);
	html(b, "</section>\n<aside aria-labelledby=\"use-title\"><h2 id=\"use-title\">Use it</h2>\n");
	card_put_use(p);
	html(b, "<h2>Last commit</h2>\n");
	page_place_put_commit(p, &page->hub.commit);
	html(b, "</aside></div>\n");
	page_end(page);
}

static void card_get(struct http_request *req)
{
	if (page_place_new(req, sizeof(struct page_place), card_build, false))
		route_job_start(req);
}

const struct http_route ROUTES_PAGE_CARD[] = {
	{.method = "GET",
	 .pattern = "/datasets/{namespace}/{name}",
	 .name = "page-repo",
	 .errors = HTTP_ERRORS_PAGE,
	 .done = card_get,
	 .free = page_free},
	{.method = "GET",
	 .pattern = "/spaces/{namespace}/{name}",
	 .name = "page-repo",
	 .errors = HTTP_ERRORS_PAGE,
	 .done = card_get,
	 .free = page_free},
	{.method = "GET",
	 .pattern = "/kernels/{namespace}/{name}",
	 .name = "page-repo",
	 .errors = HTTP_ERRORS_PAGE,
	 .done = card_get,
	 .free = page_free},
	{.method = "GET",
	 .pattern = "/{namespace}/{name}",
	 .name = "page-repo",
	 .errors = HTTP_ERRORS_PAGE,
	 .done = card_get,
	 .free = page_free},
	{0},
};
