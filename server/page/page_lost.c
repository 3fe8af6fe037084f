#include "server/page/page_lost.h"

#include "cas/losses.h"
#include "hub/search.h"
#include "server/ask/html.h"
#include "server/page/show.h"

#include <string.h>

enum { LOST_OWNERS = 20, LOST_FILES = 5, LOST_PLACES = 10 };

void page_put_lost_count(struct cairn_buf *b, struct cairn_cas *cas, int64_t repo)
{
	char count[SHOW_BYTES];
	uint64_t n = cairn_losses_of_repo(cas, repo);
	if (n > 0)
		html(b, "<span class=\"tag lost\">%s %s lost</span>", show_count(count, n), n == 1 ? "file" : "files");
}

bool page_put_lost_tag(struct cairn_buf *b, struct cairn_cas *cas, const struct cairn_hash *file)
{
	bool lost = cairn_losses_has(cas, file);
	if (lost)
		html(b, " <span class=\"tag lost\">lost</span>");
	return lost;
}

void page_put_lost_notice(struct cairn_buf *b)
{
	html(b, "<p class=\"notice\" role=\"alert\"><strong>This file is lost.</strong> Bytes of it are gone from this "
		"server, or damaged, so it cannot be downloaded. Uploading the same file again puts it right.</p>\n");
}

/* Appends a link to an owner. "models/ann/cats" is at /ann/cats, "datasets/ann/table" at /datasets/ann/table. */
static void lost_put_owner(struct cairn_buf *b, const struct cairn_losses_owner *owner)
{
	static const char MODELS[] = "models/";
	char count[SHOW_BYTES], size[SHOW_BYTES];
	bool in_hub = owner->in_hub, model = strncmp(owner->shown, MODELS, sizeof(MODELS) - 1) == 0;
	html(b, "<tr><th scope=\"row\">");
	if (in_hub)
		html(b, "<a href=\"/%s\">", owner->shown + (model ? sizeof(MODELS) - 1 : 0));
	html_name(b, owner->shown[0] ? owner->shown : "the operator's");
	html(b, in_hub ? "</a></th>" : "</th>");
	html(b, "<td class=\"num\">%s</td><td class=\"num\">%s</td></tr>\n", show_count(count, owner->n_files),
	     show_size(size, owner->file_bytes));
}

static void lost_put_owners(struct page *page, const struct cairn_losses_sum *sum)
{
	struct cairn_buf *b = page_out(page);
	struct cairn_losses_owner owners[LOST_OWNERS];
	char count[SHOW_BYTES];
	size_t n = cairn_losses_owners(page_cas(page), owners, LOST_OWNERS);
	if (n == 0)
		return;
	html(b, "<table class=\"rows\" id=\"lost-repos\"><thead><tr><th scope=\"col\">Repository</th><th scope=\"col\" "
		"class=\"num\">Lost files</th><th scope=\"col\" class=\"num\">Size</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < n; i++)
		lost_put_owner(b, &owners[i]);
	html(b, "</tbody></table>\n");
	if (sum->n_owners > n)
		html(b, "<p>And %s more.</p>\n", show_count(count, sum->n_owners - n));
}

struct lost_places {
	struct cairn_buf *b;
	unsigned n;
};

static void lost_put_place(void *ctx, const struct cairn_hub_find *find)
{
	struct lost_places *places = ctx;
	struct cairn_buf *b = places->b;
	const struct cairn_index_repo *repo = find->repo;
	char size[SHOW_BYTES];
	if (find->kind != CAIRN_HUB_FIND_FILE || !find->path || places->n >= LOST_PLACES)
		return;
	places->n++;
	html(b, "<li><a href=\"%s%s/%s%s", hub_kind_web(repo->kind), repo->account_name, repo->name,
	     repo->kind == CAIRN_INDEX_BUCKET ? "/tree/" : "/blob/main/");
	html_path(b, find->path);
	html(b, "\">");
	html_name(b, find->path);
	html(b, "</a> in %s/%s, %s</li>\n", repo->account_name, repo->name, show_size(size, find->size_bytes));
}

/* Appends the lost files. A file that is in no main, or far down in it, is shown by its hash. After a failed search,
 * all files are: when the index fails, the operator needs the rest of the page most. */
static void lost_put_files(struct page *page, const struct cairn_losses_sum *sum)
{
	struct cairn_buf *b = page_out(page);
	struct cairn_hash files[LOST_FILES];
	struct cairn_hub_search_end end;
	char count[SHOW_BYTES];
	enum cairn_status status = CAIRN_OK;
	size_t n = cairn_losses_files(page_cas(page), NULL, files, LOST_FILES);
	html(b, "<h3>Files</h3><ul class=\"plain\" id=\"lost-files\">\n");
	for (size_t i = 0; i < n; i++) {
		char text[CAIRN_HASH_TEXT_BYTES];
		struct lost_places places = {.b = b};
		cairn_hash_text(text, &files[i]);
		if (status == CAIRN_OK)
			status =
				cairn_hub_search(page_hub(page), page_asker(page), text, lost_put_place, &places, &end);
		if (places.n == 0)
			html(b, "<li><a href=\"/search?q=%s\">%s</a></li>\n", text, text);
	}
	html(b, "</ul>\n");
	if (status != CAIRN_OK)
		html(b, "<p>The search for the places of these files failed: %s.</p>\n", cairn_status_name(status));
	if (sum->n_files > n)
		html(b, "<p>And %s more. <code>cairn ls --lost</code> lists all.</p>\n",
		     show_count(count, sum->n_files - n));
}

void page_put_lost(struct page *page, const struct page_figures *f)
{
	const struct cairn_losses_sum *sum = &f->lost;
	struct cairn_buf *b = page_out(page);
	char files[SHOW_BYTES], bytes[SHOW_BYTES], xorbs[SHOW_BYTES], owners[SHOW_BYTES];
	if (sum->n_files == 0)
		return;
	html(b,
	     "<section class=\"card lost\" aria-labelledby=\"lost\"><h2 id=\"lost\">%s%s %s lost</h2>\n<p>%s %s gone, or "
	     "damaged in every copy. %s of files in %s %s cannot be downloaded until %s again.</p>\n<p>Upload the files "
	     "again, or bring the bytes back with <code>cairn repair --from</code> and a backup. <a "
	     "href=\"/admin/help/lost-xorbs\">What else helps</a></p>\n",
	     sum->more ? "At least " : "", show_count(files, sum->n_files), sum->n_files == 1 ? "file is" : "files are",
	     show_count(xorbs, sum->n_xorbs), sum->n_xorbs == 1 ? "xorb is" : "xorbs are",
	     show_size(bytes, sum->file_bytes), show_count(owners, sum->n_owners),
	     sum->n_owners == 1 ? "repository" : "repositories", sum->n_xorbs == 1 ? "it is there" : "they are there");
	lost_put_owners(page, sum);
	lost_put_files(page, sum);
	html(b, "</section>\n");
}
