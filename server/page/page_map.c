#include "server/page/page_map.h"

#include "server/page/charts.h"

static void map_end_row(struct cairn_buf *b, uint64_t bytes, uint64_t all)
{
	char size[SHOW_BYTES];
	html(b, "</th><td class=\"num\">%lu %%</td><td class=\"num\">%s</td></tr>\n",
	     (unsigned long)(all > 0 ? (uint64_t)((double)bytes * 100 / (double)all + 0.5) : 0),
	     show_size(size, bytes));
}

static void map_begin_row(struct cairn_buf *b, unsigned mark)
{
	html(b,
	     "<tr><th scope=\"row\"><svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"m%u\" "
	     "width=\"10\" height=\"10\" rx=\"2\"/></svg> ",
	     mark);
}

static void map_put_rows(struct cairn_buf *b, const struct cairn_chunk_map *map)
{
	uint64_t all = 0;
	for (unsigned mark = 0; mark < CAIRN_MAP_MARKS; mark++)
		all += map->bytes[mark];
	for (unsigned mark = 0; mark < CAIRN_MAP_MARKS; mark++) {
		if (map->bytes[mark] == 0 && mark != CAIRN_MAP_ALONE)
			continue;
		map_begin_row(b, mark);
		if (mark == CAIRN_MAP_ALONE) {
			html(b, "Only here");
		} else if (mark == CAIRN_MAP_SAME) {
			html(b, "Shared with other files of this repository");
		} else if (mark == CAIRN_MAP_FURTHER) {
			html(b, "Shared with further repositories");
		} else {
			const struct cairn_index_repo *repo = &map->others[mark - CAIRN_MAP_OTHERS];
			html(b, "Shared with <a href=\"%s%s/%s\">%s/%s</a>", hub_kind_web(repo->kind),
			     repo->account_name, repo->name, repo->account_name, repo->name);
		}
		map_end_row(b, map->bytes[mark], all);
	}
}

void page_put_map(struct page *page, const struct cairn_hash *file)
{
	CLEANUP(cairn_chunk_map_fini) struct cairn_chunk_map map = {0};
	struct cairn_buf *b = page_out(page);
	char count[SHOW_BYTES], files[SHOW_BYTES];
	enum cairn_status status = cairn_hub_map_file(&map, page_hub(page), page_asker(page), &page->hub.repo, file);
	if (status == CAIRN_E_NOT_FOUND || (status == CAIRN_OK && map.n_chunks == 0))
		return; /* the file was deleted meanwhile, or has too many chunks */
	if (status != CAIRN_OK) {
		page->hub.call.status = status;
		return;
	}
	html(b, "<section aria-labelledby=\"map\"><h2 id=\"map\">Where else its chunks are</h2>\n");
	chart_put_chunks(b, "The file from its start to its end; the table below has the figures", map.marks,
			 map.n_chunks);
	html(b, "<table class=\"rows\" id=\"chunks\"><thead><tr><th scope=\"col\">Chunks</th><th scope=\"col\" "
		"class=\"num\">Part</th><th scope=\"col\" class=\"num\">About</th></tr></thead><tbody>\n");
	map_put_rows(b, &map);
	html(b,
	     "</tbody></table>\n<p class=\"help\">%s %s, compared with %s other %s that you may read%s. The page does "
	     "not tell whether somebody else has them.</p></section>\n",
	     show_count(count, map.n_chunks), map.n_chunks == 1 ? "chunk" : "chunks", show_count(files, map.n_files),
	     map.n_files == 1 ? "file" : "files", map.more ? ", and not with all of them" : "");
}
