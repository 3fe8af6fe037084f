/* Shows the files that differ between two commits, and their lines. */
#include "server/page/page_changes.h"

#include "hub/line_diff.h"

#include <string.h>

enum {
	CHANGES_ROWS_BYTES = 12000,    /* the list of files on one page: names may be long */
	CHANGES_OLD_BYTES = 5000,      /* the list of origins of old bytes */
	CHANGES_TEXT_BYTES = 64 << 10, /* longer files are not compared */
	CHANGES_DIFFS = 16,            /* files whose lines are shown */
	CHANGES_DIFFS_BYTES = 16000,   /* all shown lines */
	CHANGES_LINE_BYTES = 400,      /* one shown line */
	CHANGES_CONTEXT = 3,
};

void page_changes_free(void *state)
{
	struct page_changes *p = state;
	if (p) {
		cairn_hub_changes_fini(&p->changes);
		cairn_new_bytes_fini(&p->counted);
		cairn_old_bytes_fini(&p->old);
	}
	page_free(state);
}

static void changes_put_size(struct cairn_buf *b, bool is, const struct cairn_index_entry *entry)
{
	char size[SHOW_BYTES];
	html(b, "<td class=\"num wide\">%s</td>", is ? show_size(size, entry->size_bytes) : "–");
}

/* Appends how many bytes a file has grown or shrunk. */
static void changes_put_growth(struct cairn_buf *b, uint64_t before, uint64_t after)
{
	char size[SHOW_BYTES];
	if (after == before)
		html(b, "<td class=\"num wide\">±0 B</td>");
	else
		html(b, "<td class=\"num wide\">%s%s</td>", after > before ? "+" : "−",
		     show_size(size, after > before ? after - before : before - after));
}

/* Appends how many bytes of a file were in no file of the earlier commit. */
static void changes_put_new(struct page_changes *p, const struct cairn_hub_change *change)
{
	struct cairn_buf *b = page_out(&p->place.page);
	char size[SHOW_BYTES];
	if (p->counted.bytes && change->kind != CAIRN_HUB_REMOVED)
		html(b, "<td class=\"num\">%s</td></tr>\n", show_size(size, p->counted.bytes[change - p->changes.all]));
	else
		html(b, "<td class=\"num\">–</td></tr>\n");
}

static void changes_put_change(struct page_changes *p, const struct cairn_hub_change *change)
{
	static const char *const KINDS[] = {
		[CAIRN_HUB_ADDED] = "added", [CAIRN_HUB_REMOVED] = "removed", [CAIRN_HUB_CHANGED] = "changed"};
	struct cairn_buf *b = page_out(&p->place.page);
	bool was = change->kind != CAIRN_HUB_ADDED, is = change->kind != CAIRN_HUB_REMOVED;
	char oid[CAIRN_GIT_OID_CHARS + 1];
	cairn_git_oid_text(oid, is ? &p->place.page.hub.commit.oid : &p->before.oid);
	html(b, "<tr><th scope=\"row\"><a href=\"");
	page_repo_put_address(b, &p->place.page);
	html(b, "/blob/%s/", oid);
	html_path(b, change->path);
	html(b, "\">");
	html_name(b, change->path);
	html(b, "</a></th><td><span class=\"tag %s\">%s</span></td>", KINDS[change->kind], KINDS[change->kind]);
	changes_put_size(b, was, &change->before);
	changes_put_size(b, is, &change->after);
	changes_put_growth(b, was ? change->before.size_bytes : 0, is ? change->after.size_bytes : 0);
	changes_put_new(p, change);
}

static void changes_put_steps(struct page_changes *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	bool first = p->skip == 0, last = p->end == p->changes.n;
	if (first && last)
		return;
	html(b, "<p class=\"more\">");
	if (!first)
		html(b, "<a href=\"?skip=0\">First ones</a> ");
	if (!last)
		html(b, "<a href=\"?skip=%lu\">More</a>", (unsigned long)p->end);
	html(b, "</p>\n");
}

/* Appends the sums over all files, including those on other pages. */
static void changes_put_sum(struct page_changes *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	uint64_t bytes = 0, new_bytes = 0;
	char size[SHOW_BYTES], new_size[SHOW_BYTES], count[SHOW_BYTES];
	if (p->counted.unknown)
		html(b, "<p class=\"help\">The new bytes were not counted: the files have too many "
			"pieces.</p>\n");
	if (!p->counted.bytes)
		return;
	for (uint32_t i = 0; i < p->changes.n; i++) {
		bytes += p->changes.all[i].kind != CAIRN_HUB_REMOVED ? p->changes.all[i].after.size_bytes : 0;
		new_bytes += p->counted.bytes[i];
	}
	html(b,
	     "<p class=\"help\">These files have %s, of which %s are new: in chunks that no file "
	     "of the commit before had",
	     show_size(size, bytes), show_size(new_size, new_bytes));
	if (p->counted.more)
		html(b, " (only the first %s of those were compared)", show_count(count, p->counted.n_files));
	html(b, ". The page of each file shows where else its chunks are.</p>\n");
}

static void changes_put_source(struct page_changes *p, const struct cairn_hub_change *change,
			       const struct cairn_old_source *source)
{
	struct cairn_buf *b = page_out(&p->place.page);
	char oid[CAIRN_GIT_OID_CHARS + 1];
	cairn_git_oid_text(oid, &p->before.oid);
	html(b, "<tr><th scope=\"row\">");
	html_name(b, change->path);
	html(b, "</th><td><a href=\"");
	page_repo_put_address(b, &p->place.page);
	html(b, "/blob/%s/", oid);
	html_path(b, source->path);
	html(b, "\">");
	html_name(b, strcmp(source->path, change->path) == 0 ? "the same file" : source->path);
	html(b, "</a></td><td class=\"num\">%u %%</td></tr>\n", source->percent);
}

/* Appends which files had the old bytes of the shown files. */
static void changes_put_old(struct page_changes *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	size_t end = b->len + CHANGES_OLD_BYTES;
	bool any = false;
	for (uint64_t i = p->skip; p->old.of && i < p->end && b->len < end; i++) {
		if (!p->old.of[i].path)
			continue;
		if (!any)
			html(b, "<h2>Where old bytes were before</h2>\n<table class=\"rows\" id=\"old\"><thead><tr><th "
				"scope=\"col\">File</th><th scope=\"col\">Most of them in</th><th scope=\"col\" "
				"class=\"num\">Part</th></tr></thead><tbody>\n");
		any = true;
		changes_put_source(p, &p->changes.all[i], &p->old.of[i]);
	}
	if (any)
		html(b, "</tbody></table>\n<p class=\"help\">The file of the commit before that has most of "
			"the old bytes, and about how much of the file they are.</p>\n");
}

static void changes_put_files(struct page_changes *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	char count[SHOW_BYTES];
	html(b, "<h2>%s %s%s</h2>\n", show_count(count, p->changes.n), p->changes.n == 1 ? "file" : "files",
	     p->changes.more ? " and more: this is where counting ends" : "");
	if (p->changes.n == 0) {
		html(b, "<p class=\"empty\">No file was changed.</p>\n");
		return;
	}
	html(b,
	     "<table class=\"rows\" id=\"changes\"><thead><tr><th scope=\"col\">File</th><th scope=\"col\">What</th><th "
	     "scope=\"col\" class=\"num wide\">Before</th><th scope=\"col\" class=\"num wide\">After</th><th "
	     "scope=\"col\" class=\"num wide\">Growth</th><th scope=\"col\" class=\"num\">New</th></tr></thead><tbody>\n");
	size_t begun = b->len;
	for (p->end = p->skip; p->end < p->changes.n; p->end++) {
		if (p->end - p->skip == PAGE_ROWS || b->len - begun > CHANGES_ROWS_BYTES)
			break;
		changes_put_change(p, &p->changes.all[p->end]);
	}
	html(b, "</tbody></table>\n");
	changes_put_sum(p);
	changes_put_steps(p);
	changes_put_old(p);
}

static void changes_put_text(struct cairn_buf *b, const struct cairn_diff_line *line)
{
	size_t len = line->len - (line->len > 0 && line->text[line->len - 1] == '\r');
	bool cut = len > CHANGES_LINE_BYTES;
	len = cut ? CHANGES_LINE_BYTES : len;
	while (cut && len > 0 && ((uint8_t)line->text[len] & 0xc0) == 0x80) /* do not cut within a character */
		len--;
	html_bytes(b, line->text, len);
	html(b, cut ? "…\n" : "\n");
}

static bool changes_visit_line(void *ctx, const struct cairn_diff_line *line)
{
	struct page_changes_diff *diff = ctx;
	struct cairn_buf *b = diff->b;
	diff->cut = b->len > diff->end;
	if (diff->cut)
		return false;
	if (line->before > diff->before || line->after > diff->after)
		html(b, "<b>Line %u\n</b>", line->after);
	diff->before = line->before + (line->kind != CAIRN_LINE_ADDED);
	diff->after = line->after + (line->kind != CAIRN_LINE_REMOVED);
	html(b, line->kind == CAIRN_LINE_ADDED ? "<ins>+" : line->kind == CAIRN_LINE_REMOVED ? "<del>-" : "<i> ");
	changes_put_text(b, line);
	html(b, line->kind == CAIRN_LINE_ADDED ? "</ins>" : line->kind == CAIRN_LINE_REMOVED ? "</del>" : "</i>");
	return true;
}

static void changes_put_diff(struct page_changes *p, const struct cairn_hub_change *change,
			     const struct cairn_buf *before, const struct cairn_buf *after)
{
	struct cairn_buf *b = page_out(&p->place.page);
	p->diff = (struct page_changes_diff){
		.b = b, .end = p->diffs_begun + CHANGES_DIFFS_BYTES, .before = 1, .after = 1};
	html(b, "<section class=\"diff\"><h3 class=\"path\">");
	html_name(b, change->path);
	html(b, "</h3><pre tabindex=\"0\" role=\"group\" aria-label=\"Lines of %s\">", change->path);
	p->place.page.hub.call.status =
		cairn_line_diff((const char *)before->bytes, before->len, (const char *)after->bytes, after->len,
				CHANGES_CONTEXT, changes_visit_line, &p->diff);
	html(b, "</pre>");
	if (p->diff.cut)
		html(b, "<p class=\"dim\">There is more than is shown here.</p>");
	html(b, "</section>\n");
	p->n_diffs++;
}

/* Reads a version of a file. @return false: not a text to show, unreadable, or the call has failed */
static bool changes_read(struct page_changes *p, bool is, const struct cairn_index_entry *entry, struct cairn_buf *out)
{
	enum page_place_bytes found;
	return !is || (page_place_read(&p->place, entry, out, &found) && found == PAGE_PLACE_READ &&
		       show_is_text(out->bytes, out->len, false));
}

static void changes_compare(struct page_changes *p, const struct cairn_hub_change *change)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf before = cairn_buf_init(CHANGES_TEXT_BYTES);
	CLEANUP(cairn_buf_fini) struct cairn_buf after = cairn_buf_init(CHANGES_TEXT_BYTES);
	bool was = change->kind != CAIRN_HUB_ADDED, is = change->kind != CAIRN_HUB_REMOVED;
	if ((was && change->before.size_bytes > CHANGES_TEXT_BYTES) ||
	    (is && change->after.size_bytes > CHANGES_TEXT_BYTES))
		return;
	if (changes_read(p, was, &change->before, &before) && changes_read(p, is, &change->after, &after) &&
	    before.len + after.len > 0)
		changes_put_diff(p, change, &before, &after);
}

static void changes_put_diffs(struct page_changes *p)
{
	struct cairn_buf *b = page_out(&p->place.page);
	p->diffs_begun = b->len;
	for (uint64_t i = p->skip; i < p->end && p->place.page.hub.call.status == CAIRN_OK; i++) {
		if (p->n_diffs == CHANGES_DIFFS || b->len - p->diffs_begun > CHANGES_DIFFS_BYTES) {
			html(b, "<p class=\"dim\">The lines of the other files are not shown.</p>\n");
			break;
		}
		changes_compare(p, &p->changes.all[i]);
	}
}

/* Is there a file with bytes that are not new? */
static bool changes_has_old(const struct page_changes *p)
{
	bool has = false;
	for (uint32_t i = 0; p->counted.bytes && i < p->changes.n; i++)
		has = has || (p->changes.all[i].kind != CAIRN_HUB_REMOVED &&
			      p->counted.bytes[i] < p->changes.all[i].after.size_bytes);
	return has;
}

bool page_changes_find(struct page_changes *p)
{
	struct page *page = &p->place.page;
	const struct cairn_index_commit *before = p->has_before ? &p->before : NULL;
	enum cairn_status status = CAIRN_OK;
	if (!p->is_lost)
		status = cairn_hub_compare(page_hub(page), before, &page->hub.commit, CAIRN_HUB_CHANGES_MAX,
					   &p->changes);
	if (status == CAIRN_OK && p->place.may_read && !p->is_lost)
		status = cairn_hub_count_new(&p->counted, page_hub(page), &page->hub.repo, before, &p->changes);
	if (status == CAIRN_OK && before && changes_has_old(p))
		status = cairn_hub_find_old(&p->old, page_hub(page), &page->hub.repo, before, &p->changes);
	if (status == CAIRN_OK && p->skip > 0 && p->skip >= p->changes.n)
		status = CAIRN_E_NOT_FOUND;
	page->hub.call.status = status;
	return status == CAIRN_OK;
}

void page_changes_put(struct page_changes *p)
{
	if (!p->is_lost)
		changes_put_files(p);
	if (p->place.may_read)
		changes_put_diffs(p);
}
