#include "server/page/page_room.h"

#include "server/ask/html.h"
#include "server/page/charts.h"
#include "server/page/show.h"

enum { ROOM_BAR = 1000, ROOM_DAY_S = 86400, ROOM_DATE = 10 };

static void room_put_fact(struct cairn_buf *b, const char *name, const char *value)
{
	html(b, "<div><dt>%s</dt><dd>%s</dd></div>", name, value);
}

/* Appends a bar of the disk: stored bytes, free space, and the reserve at the end. */
static void room_put_bar(struct cairn_buf *b, uint64_t stored, uint64_t left, uint64_t reserve)
{
	double all = (double)stored + (double)left;
	unsigned used = all > 0 ? (unsigned)((double)stored / all * ROOM_BAR) : 0;
	unsigned kept = all > 0 ? (unsigned)((double)(reserve < left ? reserve : left) / all * ROOM_BAR) : 0;
	html(b,
	     "<svg class=\"room\" viewBox=\"0 0 %d 24\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Stored, "
	     "free, and kept free\"><rect class=\"free\" width=\"%d\" height=\"24\"/><rect class=\"used\" width=\"%u\" "
	     "height=\"24\"/><rect class=\"kept\" x=\"%u\" width=\"%u\" height=\"24\"/></svg>\n",
	     ROOM_BAR, ROOM_BAR, used, ROOM_BAR - kept, kept);
}

static void room_put_figures(struct cairn_buf *b, const struct app *app, const struct cairn_cas_stats *s)
{
	char text[SHOW_BYTES];
	html(b, "<section aria-labelledby=\"room\"><h2 id=\"room\">Room</h2>\n");
	if (s->room.bytes != UINT64_MAX)
		room_put_bar(b, s->index.stored_bytes, s->room.bytes, app->config.reserve_bytes);
	html(b, "<dl class=\"figures\">");
	room_put_fact(b, "Stored xorbs", show_size(text, s->index.stored_bytes));
	if (s->room.bytes != UINT64_MAX)
		room_put_fact(b, "Free", show_size(text, s->room.bytes));
	room_put_fact(b, "Kept free", show_size(text, app->config.reserve_bytes));
	if (atomic_load(&app->garbage.counted_unix_s) != 0) {
		room_put_fact(b, "No file needs", show_size(text, atomic_load(&app->garbage.bytes)));
		room_put_fact(b, "Waits to be removed", show_size(text, atomic_load(&app->garbage.retired_bytes)));
	}
	room_put_fact(b, "Index", show_size(text, s->index.file_bytes));
	room_put_fact(b, "Files", show_count(text, s->index.n_files));
	room_put_fact(b, "Xorbs", show_count(text, s->index.n_xorbs));
	html(b, "</dl></section>\n");
}

static void room_put_more(struct cairn_buf *b, uint64_t stored_bytes, uint64_t then_bytes, int64_t then_day)
{
	char size[SHOW_BYTES], day[SHOW_BYTES];
	bool more = stored_bytes >= then_bytes;
	(void)show_time(day, then_day * ROOM_DAY_S);
	day[ROOM_DATE] = '\0';
	html(b, "%s %s than on %s.", show_size(size, more ? stored_bytes - then_bytes : then_bytes - stored_bytes),
	     more ? "more" : "less", day);
}

static void room_put_growth(struct cairn_buf *b, struct app *app, uint64_t stored_bytes)
{
	int64_t bytes[GROWTH_DAYS];
	int64_t newest_day = growth_read(&app->growth, bytes);
	size_t oldest = GROWTH_DAYS - 1;
	if (newest_day == 0)
		return;
	while (bytes[oldest] < 0)
		oldest--;
	html(b, "<section aria-labelledby=\"growth\"><h2 id=\"growth\">Growth</h2>\n");
	chart_put_days(b, "Stored bytes, day by day", bytes, GROWTH_DAYS, newest_day);
	html(b, "<p class=\"axis\"><span>%d days ago</span><span>Today</span></p>\n<p>", GROWTH_DAYS - 1);
	if (oldest > 0)
		room_put_more(b, stored_bytes, (uint64_t)bytes[oldest], newest_day - (int64_t)oldest);
	else
		html(b, "This is the first day that is known.");
	html(b, " <span class=\"dim\">A column is what was stored when the server was first seen on a day "
		"(UTC).</span></p></section>\n");
}

void page_put_room(struct cairn_buf *b, struct app *app, const struct cairn_cas_stats *s)
{
	room_put_figures(b, app, s);
	room_put_growth(b, app, s->index.stored_bytes);
}
