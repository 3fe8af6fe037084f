/* The home page of a git-like repository, with its README and how to download it. GET [/{type}]/{namespace}/{name}. */
#include "base/bytes.h"
#include "base/clock.h"
#include "hub/tree.h"
#include "server/page/markdown.h"
#include "server/page/page_access.h"
#include "server/page/page_repo.h"
#include "server/page/page_routes.h"
#include "server/page/page_tensors.h"

#include <stdio.h>
#include <string.h>

static const char CARD_README[] = "README.md", CARD_TENSORS[] = ".safetensors";

enum { CARD_HEADS = 16 /* most tensor files whose headers are read */ };

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
		card_put_nothing(
			p, found == PAGE_PLACE_AWAITED ? "Its README.md is not here yet" : "Its README.md is lost",
			page_place_say(found));
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
	if (!p->may_read) {
		page_put_gate(&p->page);
		return;
	}
	enum cairn_status status =
		cairn_hub_find_entry(page_hub(&p->page), &p->page.hub.commit, CARD_README, &entry, &unsaid);
	if (status == CAIRN_E_NOT_FOUND || (status == CAIRN_OK && entry.kind == CAIRN_INDEX_FOLDER)) {
		card_put_nothing(p, "It has no README.md yet",
				 "A README.md can say here what it is, how it was made and what it is good for.");
		return;
	}
	if (status != CAIRN_OK) {
		call->status = status;
		return;
	}
	card_put_bytes(p, &entry);
}

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

static void card_put_lfs(struct page_place *p)
{
	const struct cairn_index_repo *repo = &p->page.hub.repo;
	CLEANUP(cairn_buf_fini) struct cairn_buf lines = cairn_buf_init(4096);
	cairn_buf_printf(&lines, "[lfs]\n\turl = %s%s%s/%s.git/info/lfs\n", p->page.hub.base, hub_kind_web(repo->kind),
			 repo->account_name, repo->name);
	cairn_buf_add(&lines, "", 1);
	if (lines.status == CAIRN_OK)
		page_put_copy(&p->page, "lfs", "For Git LFS, in .lfsconfig", (const char *)lines.bytes);
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
	card_put_lfs(p);
}

/* The tensor files in the top folder. */
struct card_heads {
	struct cairn_index_entry all[CARD_HEADS];
	unsigned n;
	bool more;
};

static void card_take_entry(void *ctx, const struct cairn_index_entry *entry)
{
	struct card_heads *heads = ctx;
	size_t len = strlen(entry->name), n = sizeof(CARD_TENSORS) - 1;
	if (entry->kind != CAIRN_INDEX_XET || !entry->has_file || len <= n ||
	    strcmp(entry->name + len - n, CARD_TENSORS) != 0)
		return;
	heads->more = heads->more || heads->n == CARD_HEADS;
	if (!heads->more)
		heads->all[heads->n++] = *entry;
}

/* Reads the header of a tensor file; its length is in the first 8 bytes. @return false: unreadable or malformed */
static bool card_read_head(struct page_place *p, const struct cairn_index_entry *entry, struct cairn_tensors *out)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf first = cairn_buf_init(sizeof(uint64_t));
	enum page_place_bytes found;
	if (!page_place_read(p, entry, &first, &found) || first.len < sizeof(uint64_t))
		return false;
	uint64_t len = cairn_get_u64le(first.bytes);
	if (len > CAIRN_TENSORS_HEAD_MAX)
		return false;
	CLEANUP(cairn_buf_fini) struct cairn_buf head = cairn_buf_init((size_t)len + sizeof(uint64_t));
	return page_place_read(p, entry, &head, &found) && found == PAGE_PLACE_READ &&
	       cairn_tensors_read(out, head.bytes, head.len, entry->size_bytes, NULL, NULL) == CAIRN_OK;
}

static void card_add(struct cairn_tensors *sum, const struct cairn_tensors *one)
{
	sum->n_tensors += one->n_tensors;
	sum->n_values += one->n_values;
	for (unsigned i = 0; i < one->n_types; i++) {
		unsigned k = 0;
		while (k < sum->n_types && strcmp(sum->types[k].name, one->types[i].name) != 0)
			k++;
		if (k == CAIRN_TENSOR_TYPES_MAX)
			continue;
		if (k == sum->n_types)
			sum->types[sum->n_types++] = one->types[i];
		else
			sum->types[k].n_values += one->types[i].n_values;
	}
}

/* Appends the number of parameters of a model, over its files. The page of a malformed file reports the fault. */
static void card_put_parameters(struct page_place *p)
{
	const struct cairn_hub_tree_page page = {.folder = "", .after = "", .limit = CAIRN_HUB_TREE_PAGE_MAX};
	struct card_heads heads = {.n = 0};
	struct cairn_tensors sum = {0}, one;
	struct cairn_diag unsaid = {0};
	char next[CAIRN_INDEX_PATH_MAX + 1];
	struct cairn_buf *b = page_out(&p->page);
	if (!p->may_read || cairn_hub_list_tree(page_hub(&p->page), &p->page.hub.commit, &page, card_take_entry, &heads,
						next, &unsaid) != CAIRN_OK)
		return;
	for (unsigned i = 0; i < heads.n && p->page.hub.call.status == CAIRN_OK; i++)
		if (card_read_head(p, &heads.all[i], &one))
			card_add(&sum, &one);
	if (sum.n_tensors == 0)
		return;
	html(b, "<h2>Tensors</h2>\n");
	page_put_tensor_sums(b, &sum);
	if (heads.more)
		html(b, "<p class=\"help\">In the first %d files that have tensors.</p>\n", (int)CARD_HEADS);
}

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
	card_put_parameters(p);
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
	HUB_EACH_KIND(PAGE_GET, "", "page-repo", card_get, page_free),
	{0},
};
