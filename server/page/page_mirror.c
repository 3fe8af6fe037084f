#include "server/page/page_mirror.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns an address without "https://". */
static const char *mirror_host(const char *url)
{
	const char *host = strstr(url, "://");
	return host ? host + 3 : url;
}

enum {
	MIRROR_FILES_COUNTED_MAX = 2000, /* files of a repository that a page counts */
	MIRROR_COMING_MAX = 16,          /* files being fetched that a page shows */
	MIRROR_TOP_MAX = 8,              /* repositories in each list of the largest and the oldest */
	MIRROR_DAY_S = 86400,
	MIRROR_DATE = 10, /* characters of a date */
};

/* Says how recent main is, and how many of its files are stored here. */
static void mirror_put_here(struct page *page)
{
	struct cairn_buf *b = page_out(page);
	struct cairn_mirror_here now;
	char here[SHOW_BYTES], all[SHOW_BYTES], bytes[SHOW_BYTES];
	if (!cairn_mirror_here(page->hub.call.job.app->mirror, &page->hub.repo, MIRROR_FILES_COUNTED_MAX, &now))
		return;
	html(b, "<p class=\"dim\">main as of ");
	show_age(b, now.looked_unix_s, cairn_clock_unix_s());
	if (now.is_counted)
		html(b, "; %s of %s files here, %s", show_count(here, now.main.n_here),
		     show_count(all, now.main.n_files), show_size(bytes, now.main.here_bytes));
	if (now.main.n_coming > 0)
		html(b, "; %s on the way", show_count(here, now.main.n_coming));
	html(b, now.is_kept ? "; kept.</p>\n" : ".</p>\n");
}

void page_put_mirror_of(struct page *page)
{
	struct cairn_buf *b = page_out(page);
	const struct cairn_index_repo *repo = &page->hub.repo;
	struct cairn_mirror *mirror = page->hub.call.job.app->mirror;
	if (!repo->is_mirrored)
		return;
	if (!mirror) {
		html(b, "<p class=\"dim\">From a hub that this server does not mirror now.</p>\n");
		return;
	}
	struct cairn_mirror_stats stats;
	cairn_mirror_stats(mirror, &stats);
	const char *url = cairn_mirror_upstream(mirror), *kind = hub_kind_web(repo->kind);
	html(b, "<p class=\"dim\">Mirror of <a href=\"%s%s%s/%s\" rel=\"noreferrer\">%s%s%s/%s</a>. ", url, kind,
	     repo->account_name, repo->name, mirror_host(url), kind, repo->account_name, repo->name);
	html(b, stats.up ? "Files come when they are first asked for.</p>\n"
			 : "The hub cannot be asked now, so this is as it was known.</p>\n");
	mirror_put_here(page);
}

void page_put_awaited_tag(struct cairn_buf *b, const struct page *page, const struct cairn_index_entry *entry)
{
	struct cairn_mirror *mirror = page->hub.call.job.app->mirror;
	if (!page->hub.repo.is_mirrored || !entry->is_absent)
		return;
	bool is_coming = mirror && cairn_mirror_is_coming(mirror, page->hub.repo.id, entry->content);
	html(b, " <span class=\"tag\">%s</span>", is_coming ? "coming" : "not here yet");
}

static void mirror_put_figure(struct cairn_buf *b, const char *name, const char *value)
{
	html(b, "<tr><th scope=\"row\">%s</th><td class=\"num\">%s</td></tr>\n", name, value);
}

static void mirror_put_failures(struct cairn_buf *b, const struct cairn_mirror_stats *stats)
{
	static const char *const WHY[CAIRN_MIRROR_WHYS] = {
		[CAIRN_MIRROR_WHY_UNREACHABLE] = "Failed: no connection, or no trust in it",
		[CAIRN_MIRROR_WHY_SILENT] = "Failed: no answer in time",
		[CAIRN_MIRROR_WHY_BUSY] = "Failed: the hub said 429 or 5xx",
		[CAIRN_MIRROR_WHY_WRONG] = "Failed: other bytes than its tree says",
		[CAIRN_MIRROR_WHY_ROOM] = "Failed: the mirror holds as much as it may",
		[CAIRN_MIRROR_WHY_OTHER] = "Failed otherwise; the log says why",
	};
	char count[SHOW_BYTES];
	for (size_t i = 0; i < CAIRN_MIRROR_WHYS; i++)
		if (stats->n_failures[i] > 0)
			mirror_put_figure(b, WHY[i], show_count(count, stats->n_failures[i]));
}

static void mirror_put_coming(struct cairn_buf *b, struct cairn_mirror *mirror)
{
	struct cairn_mirror_coming *coming = calloc(MIRROR_COMING_MAX, sizeof(*coming));
	char come[SHOW_BYTES], size[SHOW_BYTES];
	unsigned n = coming ? cairn_mirror_find_coming(mirror, coming, MIRROR_COMING_MAX) : 0;
	if (n > 0)
		html(b, "<h3 id=\"under-way\">On the way</h3>\n<table class=\"rows\" id=\"coming\" "
			"aria-labelledby=\"under-way\"><tbody>\n");
	for (unsigned i = 0; i < n; i++) {
		html(b, "<tr><th scope=\"row\">%s <bdi>", coming[i].name);
		html_name(b, coming[i].path);
		html(b, "</bdi></th><td class=\"num\">%s of %s%s</td></tr>\n", show_size(come, coming[i].come_bytes),
		     show_size(size, coming[i].size_bytes), coming[i].is_ahead ? ", ahead" : "");
	}
	if (n > 0)
		html(b, "</tbody></table>\n");
	free(coming);
}

/* Appends "every 1 h", "once", or nothing: how often a repository is fetched ahead of requests. */
static void mirror_put_every(struct cairn_buf *b, int64_t every_s)
{
	static const struct {
		int64_t s;
		const char *name;
	} UNITS[] = {{MIRROR_DAY_S, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
	size_t unit = 0;
	if (every_s == 0)
		return;
	while (every_s % UNITS[unit].s != 0)
		unit++;
	if (every_s == CAIRN_INDEX_AHEAD_ONCE_S)
		html(b, "once");
	else
		html(b, "every %d %s", (int)(every_s / UNITS[unit].s), UNITS[unit].name);
}

static void mirror_put_day(struct cairn_buf *b, int64_t day, int64_t today)
{
	char date[SHOW_BYTES];
	if (day == 0)
		return;
	(void)show_time(date, day * MIRROR_DAY_S);
	date[MIRROR_DATE] = '\0';
	html(b, "%s", day >= today ? "today" : day == today - 1 ? "yesterday" : date);
}

static void mirror_put_held(struct cairn_buf *b, struct cairn_mirror *mirror, const struct cairn_index_mirrored *m)
{
	static const char *const STATES[] = {[CAIRN_INDEX_MIRROR_GONE] = "gone upstream",
					     [CAIRN_INDEX_MIRROR_PRIVATE] = "private upstream",
					     [CAIRN_INDEX_MIRROR_DISABLED] = "disabled upstream"};
	const char *kind = hub_kind_web(m->repo.kind);
	char text[SHOW_BYTES], all[SHOW_BYTES], name[CAIRN_INDEX_ALIAS_MAX + 32];
	struct cairn_mirror_counts main;
	int64_t now_s = cairn_clock_unix_s();
	(void)snprintf(name, sizeof(name), "%s%s/%s", kind, m->repo.account_name, m->repo.name);
	html(b, "<tr><th scope=\"row\"><a href=\"%s\">", name);
	html_name(b, name + 1);
	html(b, "</a>");
	if (m->ahead.keeps)
		html(b, " <span class=\"tag\">kept</span>");
	if (m->state != CAIRN_INDEX_MIRROR_THERE)
		html(b, " <span class=\"tag\">%s</span>", STATES[m->state]);
	html(b, "</th><td class=\"num\">%s</td><td class=\"num wide\">", show_size(text, m->stored_bytes));
	if (cairn_mirror_count_main(mirror, &m->repo, MIRROR_FILES_COUNTED_MAX, &main))
		html(b, "%s of %s", show_count(text, main.n_here), show_count(all, main.n_files));
	html(b, "</td><td class=\"num wide\">");
	mirror_put_every(b, m->ahead.every_s);
	html(b, "</td><td class=\"num wide\">");
	show_age(b, m->looked_unix_s, now_s);
	html(b, "</td><td class=\"num\">");
	mirror_put_day(b, m->used_day, now_s / MIRROR_DAY_S);
	html(b, "</td></tr>\n");
}

/* Appends a table of a few repositories, unless there is none. */
static void mirror_put_top(struct cairn_buf *b, struct cairn_mirror *mirror, enum cairn_index_top top, const char *id,
			   const char *title)
{
	struct cairn_index_mirrored *all = calloc(MIRROR_TOP_MAX, sizeof(*all));
	unsigned n = all ? cairn_mirror_find_top(mirror, top, all, MIRROR_TOP_MAX) : 0;
	if (n > 0)
		html(b,
		     "<h3 id=\"%s-title\">%s</h3>\n<table class=\"rows\" id=\"%s\" aria-labelledby=\"%s-title\"><thead>"
		     "<tr><th scope=\"col\">Repository</th><th scope=\"col\" class=\"num\">Holds</th><th scope=\"col\" "
		     "class=\"num wide\">Files here</th><th scope=\"col\" class=\"num wide\">Fetched ahead</th><th "
		     "scope=\"col\" class=\"num wide\">main as of</th><th scope=\"col\" class=\"num\">Last "
		     "read</th></tr></thead><tbody>\n",
		     id, title, id, id);
	for (unsigned i = 0; i < n; i++)
		mirror_put_held(b, mirror, &all[i]);
	if (n > 0)
		html(b, "</tbody></table>\n");
	free(all);
}

void page_put_mirror(struct cairn_buf *b, struct app *app)
{
	const struct app_mirror *counts = &app->mirror_counts;
	struct cairn_mirror_stats stats;
	char text[SHOW_BYTES];
	if (!app->mirror)
		return;
	cairn_mirror_stats(app->mirror, &stats);
	uint64_t here = atomic_load(&counts->here_bytes), passed_on = atomic_load(&counts->passed_on_bytes);
	uint64_t sent = here + passed_on;
	const char *state = stats.is_offline ? "is not asked (mirror_offline)"
			    : stats.up       ? "answered the last call"
					     : "did not answer the last call: cairn mirror status says why";
	html(b,
	     "<section aria-labelledby=\"mirror\"><h2 id=\"mirror\">Mirror</h2>\n<p class=\"dim\"><a href=\"%s\" "
	     "rel=\"noreferrer\">%s</a> %s. Since the start:</p>\n<table class=\"rows\" id=\"mirrored\"><tbody>\n",
	     cairn_mirror_upstream(app->mirror), mirror_host(cairn_mirror_upstream(app->mirror)), state);
	mirror_put_figure(b, "Came over the line", show_size(text, stats.fetched_bytes));
	mirror_put_figure(b, "Sent to clients", show_size(text, sent));
	mirror_put_figure(b, "Saved", show_size(text, sent > stats.fetched_bytes ? sent - stats.fetched_bytes : 0));
	mirror_put_figure(b, "Clients that wait now", show_count(text, atomic_load(&counts->n_waiting)));
	mirror_put_figure(b, "Answers as it was known", show_count(text, atomic_load(&counts->n_stale)));
	mirror_put_failures(b, &stats);
	html(b, "</tbody></table>\n");
	mirror_put_coming(b, app->mirror);
	mirror_put_top(b, app->mirror, CAIRN_INDEX_TOP_LARGEST, "largest", "Largest repositories");
	mirror_put_top(b, app->mirror, CAIRN_INDEX_TOP_OLDEST, "oldest", "Repositories that were read least lately");
	html(b, "</section>\n");
}
