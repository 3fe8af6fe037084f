#include "server/page/page_folders.h"

#include "hub/folders.h"
#include "server/page/charts.h"

#include <stdlib.h>
#include <string.h>

enum {
	FOLDERS_DEPTH = 3, /* levels of folders that are shown */
	FOLDERS_ROWS = 15,
	FOLDERS_ROWS_BYTES = 6000, /* the table: names may be long */
};

/* Makes parts of folders and files that are not too deep. @param[out] out room for folders->n @return the number */
static size_t folders_parts(struct chart_part *out, uint32_t *places, const struct cairn_folders *folders)
{
	size_t n = 0;
	for (uint32_t i = 0; i < folders->n; i++) {
		const struct cairn_folder *folder = &folders->all[i];
		const char *slash = strrchr(folder->path, '/');
		if (folder->depth > FOLDERS_DEPTH)
			continue;
		places[i] = (uint32_t)n;
		out[n++] = (struct chart_part){slash ? slash + 1 : folder->path, places[folder->parent], folder->bytes};
	}
	return n;
}

static int folders_compare(const void *a, const void *b)
{
	const struct cairn_folder *x = *(struct cairn_folder *const *)a, *y = *(struct cairn_folder *const *)b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return strcmp(x->path, y->path);
}

static void folders_put_row(struct page_place *p, const struct cairn_folder *folder, uint64_t all)
{
	struct cairn_buf *b = page_out(&p->page);
	char size[SHOW_BYTES];
	html(b, "<tr><th scope=\"row\"><a href=\"");
	page_place_put_address(b, p, folder->is_file ? "blob" : "tree", folder->path);
	html(b, "\">");
	html_name(b, folder->path);
	html(b, "%s</a></th><td class=\"num\">%lu %%</td><td class=\"num\">%s</td></tr>\n", folder->is_file ? "" : "/",
	     (unsigned long)((double)folder->bytes * 100 / (double)all + 0.5), show_size(size, folder->bytes));
}

/* Appends rows of the largest folders, each after its parent. */
static void folders_put_rows(struct page_place *p, const struct cairn_folder **by_size, size_t n)
{
	struct cairn_buf *b = page_out(&p->page);
	html(b, "<table class=\"rows\" id=\"folders\"><thead><tr><th scope=\"col\">Path</th><th scope=\"col\" "
		"class=\"num\">Part</th><th scope=\"col\" class=\"num\">Only there</th></tr></thead><tbody>\n");
	size_t end = b->len + FOLDERS_ROWS_BYTES;
	for (size_t i = 1; i < n && i <= FOLDERS_ROWS && b->len < end && by_size[i]->bytes > 0; i++)
		folders_put_row(p, by_size[i], by_size[0]->bytes);
	html(b, "</tbody></table>\n<p class=\"help\">Bytes before compression that only this folder "
		"or file of main has: without it, main would be that much smaller. Bytes that "
		"several files of a folder share count for the folder alone.</p>\n");
}

static void folders_put(struct page_place *p, const struct cairn_folders *folders)
{
	struct cairn_buf *b = page_out(&p->page);
	struct chart_part *parts = calloc(folders->n, sizeof(*parts));
	uint32_t *places = calloc(folders->n, sizeof(*places));
	const struct cairn_folder **by_size = (const struct cairn_folder **)calloc(folders->n, sizeof(void *));
	if (parts && places && by_size) {
		for (uint32_t i = 0; i < folders->n; i++)
			by_size[i] = &folders->all[i];
		qsort((void *)by_size, folders->n, sizeof(void *), folders_compare);
		html(b, "<h2>What fills main, by folder</h2>\n");
		chart_put_treemap(b,
				  "A field for each folder, and in it one for each file, as large as what only it has; "
				  "the table below has the figures",
				  "what several have, and others", parts, folders_parts(parts, places, folders));
		folders_put_rows(p, by_size, folders->n);
	} else {
		p->page.hub.call.status = CAIRN_E_NOMEM;
	}
	free(parts);
	free(places);
	free((void *)by_size);
}

void page_put_folders(struct page_place *p)
{
	CLEANUP(cairn_folders_fini) struct cairn_folders folders = {0};
	struct page *page = &p->page;
	enum cairn_status status =
		cairn_hub_weigh_folders(&folders, page_hub(page), &page->hub.repo, &page->hub.commit);
	if (status != CAIRN_OK)
		page->hub.call.status = status;
	else if (folders.unknown)
		html(page_out(page),
		     "<h2>What fills main, by folder</h2>\n<p class=\"empty\">It is too large to be "
		     "counted here: it has over %d files or pieces.</p>\n",
		     (int)CAIRN_FOLDERS_FILES_MAX);
	else if (folders.all[0].bytes > 0)
		folders_put(p, &folders);
}
