/* The operator's home: what is wrong, how much room there is, what runs, what was slow. GET /admin */
#include "cas/proof.h"
#include "server/page/charts.h"
#include "server/page/help.h"
#include "server/page/page.h"
#include "server/page/page_alarms.h"
#include "server/page/page_traffic.h"
#include "server/route/route_packs.h"
#include "server/route/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ADMIN_ROUTES = 10,
	ADMIN_LIES = 10,
	ADMIN_ROUTES_MAX = 256,
	ADMIN_BAR = 1000,
	ADMIN_DAY_S = 86400,
	ADMIN_DATE = 10
};

/* --- alarms ------------------------------------------------------------------------------------------------------- */

struct admin_alarms {
	struct cairn_buf *b;
	const char *before; /* the first of them */
	unsigned n;
};

static void admin_put_alarm(void *ctx, const struct page_alarm *alarm)
{
	struct admin_alarms *alarms = ctx;
	struct cairn_buf *b = alarms->b;
	if (alarms->n++ == 0)
		cairn_buf_add(b, alarms->before, strlen(alarms->before));
	const struct help_part *part = help_part(alarm->part);
	html(b, "<li>%s <span class=\"dim\">See <a href=\"/admin/help/%s\">%s</a></span></li>\n", alarm->text,
	     alarm->part, part ? part->title : "the guide");
}

static void admin_put_state(struct cairn_buf *b, const struct page_figures *f, struct app *app)
{
	struct admin_alarms alarms = {.b = b,
				      .before = "<section class=\"card bad\" aria-labelledby=\"alarms\"><h2 "
						"id=\"alarms\">To look at</h2><ul class=\"plain\">\n"};
	struct admin_alarms notes = {.b = b, .before = "<ul class=\"notes\">\n"};
	page_alarms_each(f, app, admin_put_alarm, &alarms);
	if (alarms.n > 0) {
		html(b, "</ul>\n");
		notes.before = "<p>And what is not set up:</p><ul class=\"notes\">\n";
	} else {
		html(b,
		     "<section class=\"card good\" aria-labelledby=\"alarms\"><h2 id=\"alarms\">Nothing is "
		     "wrong</h2><p>Uploads are taken, nothing was found damaged since the start, and what ran by itself "
		     "ended well.</p>\n");
	}
	page_notes_each(f, app, admin_put_alarm, &notes);
	if (notes.n > 0)
		html(b, "</ul>\n");
	html(b, "</section>\n");
}

/* --- room --------------------------------------------------------------------------------------------------------- */

static void admin_put_fact(struct cairn_buf *b, const char *name, const char *value)
{
	html(b, "<dt>%s</dt><dd>%s</dd>", name, value);
}

/* What is stored, what is free, and the reserve at its end. */
static void admin_put_bar(struct cairn_buf *b, uint64_t stored, uint64_t left, uint64_t reserve)
{
	double all = (double)stored + (double)left;
	unsigned used = all > 0 ? (unsigned)((double)stored / all * ADMIN_BAR) : 0;
	unsigned kept = all > 0 ? (unsigned)((double)(reserve < left ? reserve : left) / all * ADMIN_BAR) : 0;
	html(b,
	     "<svg class=\"room\" viewBox=\"0 0 %d 24\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Stored, "
	     "free, and kept free\"><rect class=\"free\" width=\"%d\" height=\"24\"/><rect class=\"used\" width=\"%u\" "
	     "height=\"24\"/><rect class=\"kept\" x=\"%u\" width=\"%u\" height=\"24\"/></svg>\n",
	     ADMIN_BAR, ADMIN_BAR, used, ADMIN_BAR - kept, kept);
}

static void admin_put_room(struct cairn_buf *b, const struct page_figures *f, const struct app *app)
{
	const struct cairn_cas_stats *s = &f->stats;
	char text[SHOW_BYTES];
	html(b, "<section aria-labelledby=\"room\"><h2 id=\"room\">Room</h2>\n");
	if (s->room.bytes != UINT64_MAX)
		admin_put_bar(b, s->index.stored_bytes, s->room.bytes, app->config.reserve_bytes);
	html(b, "<dl class=\"facts\">");
	admin_put_fact(b, "Stored xorbs", show_size(text, s->index.stored_bytes));
	if (s->room.bytes != UINT64_MAX)
		admin_put_fact(b, "Free", show_size(text, s->room.bytes));
	admin_put_fact(b, "Kept free", show_size(text, app->config.reserve_bytes));
	if (atomic_load(&app->garbage.counted_unix_s) != 0)
		admin_put_fact(b, "Garbage", show_size(text, atomic_load(&app->garbage.bytes)));
	admin_put_fact(b, "Index", show_size(text, s->index.file_bytes));
	admin_put_fact(b, "Files", show_count(text, s->index.n_files));
	admin_put_fact(b, "Xorbs", show_count(text, s->index.n_xorbs));
	html(b, "</dl></section>\n");
}

/* --- growth ------------------------------------------------------------------------------------------------------- */

static void admin_put_growth(struct cairn_buf *b, struct app *app, uint64_t stored_bytes)
{
	int64_t bytes[GROWTH_DAYS];
	int64_t newest_day = growth_told(&app->growth, bytes);
	char size[SHOW_BYTES], day[SHOW_BYTES];
	size_t oldest = GROWTH_DAYS - 1;
	if (newest_day == 0)
		return;
	while (bytes[oldest] < 0)
		oldest--;
	html(b, "<section aria-labelledby=\"growth\"><h2 id=\"growth\">Growth</h2>\n");
	chart_put_days(b, "Stored bytes, day by day", bytes, GROWTH_DAYS, newest_day);
	uint64_t then = (uint64_t)bytes[oldest];
	bool more = stored_bytes >= then;
	(void)show_time(day, (newest_day - (int64_t)oldest) * ADMIN_DAY_S);
	day[ADMIN_DATE] = '\0';
	html(b,
	     "<p>%s %s than on %s. <span class=\"dim\">A column is what was stored when the server was first seen on a "
	     "day (UTC).</span></p></section>\n",
	     show_size(size, more ? stored_bytes - then : then - stored_bytes), more ? "more" : "less", day);
}

/* --- jobs --------------------------------------------------------------------------------------------------------- */

static void admin_begin_job(struct cairn_buf *b, const char *name)
{
	html(b, "<tr><th scope=\"row\">%s</th><td>", name);
}

static void admin_end_job(struct cairn_buf *b, int64_t ended_unix_s, int64_t now_unix_s)
{
	html(b, "</td><td class=\"num\">");
	if (ended_unix_s != 0)
		show_age(b, ended_unix_s, now_unix_s);
	else
		html(b, "–");
	html(b, "</td></tr>\n");
}

static void admin_put_collection(struct cairn_buf *b, const struct page_figures *f, struct app *app)
{
	const struct app_garbage *g = &app->garbage;
	const struct schedule schedule = atomic_load(&app->live.gc_schedule);
	int64_t ran = atomic_load(&g->ran_unix_s);
	char text[SCHEDULE_TEXT_BYTES], freed[SHOW_BYTES];
	admin_begin_job(b, "Collection");
	html(b, "%s; schedule <code>%s</code>",
	     ran == 0                  ? "There was none so far"
	     : atomic_load(&g->failed) ? "The last one failed"
				       : "The last one ended well",
	     schedule_text(text, &schedule));
	if (ran != 0)
		html(b, "; %s freed since the start", show_size(freed, atomic_load(&g->freed_bytes)));
	admin_end_job(b, ran, f->now_unix_s);
}

static void admin_put_scrub(struct cairn_buf *b, const struct page_figures *f)
{
	static const char *const STATES[] = {[SCRUB_OFF] = "Off",
					     [SCRUB_WAITING] = "Waits for the next pass",
					     [SCRUB_RUNNING] = "Under way",
					     [SCRUB_PAUSED] = "Paused until it is told to start"};
	const struct scrub_pass *now = &f->scrub.kept.now, *last = &f->scrub.kept.last;
	char read[SHOW_BYTES], total[SHOW_BYTES], count[SHOW_BYTES];
	admin_begin_job(b, "Scrub");
	html(b, "%s", STATES[f->scrub.state]);
	if (now->started_unix_s != 0)
		html(b, ": %s of %s read", show_size(read, (uint64_t)now->bytes),
		     show_size(total, (uint64_t)now->total_bytes));
	if (last->started_unix_s != 0)
		html(b, ". The last pass looked at %s xorbs, and found %lu copies damaged and %lu xorbs lost",
		     show_count(count, (uint64_t)last->xorbs), (unsigned long)last->damaged, (unsigned long)last->lost);
	admin_end_job(b, last->ended_unix_s, f->now_unix_s);
}

static void admin_put_proof(struct cairn_buf *b, const struct page_figures *f, const struct app *app)
{
	uint64_t rate = atomic_load(&app->live.proof_rate);
	char count[SHOW_BYTES], size[SHOW_BYTES], speed[SHOW_BYTES];
	admin_begin_job(b, "Proof");
	if (f->claims.n_due == 0)
		html(b, "Each SHA-256 that was said is compared with its bytes");
	else
		html(b, "%s SHA-256 of %s were not compared with their bytes so far",
		     show_count(count, f->claims.n_due), show_size(size, f->claims.due_bytes));
	if (rate == 0)
		html(b, "; off by settings");
	else
		html(b, "; at most %s a second are read for it", show_size(speed, rate));
	admin_end_job(b, 0, f->now_unix_s);
}

static void admin_put_packing(struct cairn_buf *b, const struct page_figures *f)
{
	struct packs_state pack;
	char done[SHOW_BYTES], total[SHOW_BYTES];
	packs_state(&pack);
	if (pack.id == 0)
		return;
	admin_begin_job(b, "Packing");
	html_name(b, pack.name);
	if (pack.running)
		html(b, ": %s of %s copied, %lu xorbs moved", show_size(done, pack.report.bytes_packed),
		     show_size(total, pack.report.total_bytes), (unsigned long)pack.report.n_moved);
	else
		html(b, ": %s", pack.status == CAIRN_OK ? "done" : cairn_status_name(pack.status));
	admin_end_job(b, 0, f->now_unix_s);
}

static void admin_put_backup(struct cairn_buf *b, const struct page_figures *f, const struct app *app)
{
	const struct app_backup *backup = &app->backup;
	int64_t ran = atomic_load(&backup->ran_unix_s), good = atomic_load(&backup->good_unix_s);
	char size[SHOW_BYTES], when[SHOW_BYTES];
	admin_begin_job(b, "Backup");
	if (ran == 0)
		html(b, "None is known of: <code>cairn backup</code> makes one");
	else
		html(b, "%s", atomic_load(&backup->failed) ? "The last one failed" : "The last one ended well");
	if (good != 0)
		html(b, "; the last good one is of %s, %s", show_time(when, good),
		     show_size(size, (uint64_t)atomic_load(&backup->good_bytes)));
	admin_end_job(b, ran, f->now_unix_s);
}

static void admin_put_jobs(struct cairn_buf *b, const struct page_figures *f, struct app *app)
{
	html(b,
	     "<section aria-labelledby=\"jobs\"><h2 id=\"jobs\">Jobs</h2>\n<table class=\"rows jobs\"><thead><tr><th "
	     "scope=\"col\">Job</th><th scope=\"col\">How it stands</th><th scope=\"col\" class=\"num\">Ended</th>"
	     "</tr></thead><tbody>\n");
	admin_put_collection(b, f, app);
	admin_put_scrub(b, f);
	admin_put_proof(b, f, app);
	admin_put_packing(b, f);
	admin_put_backup(b, f, app);
	html(b, "</tbody></table></section>\n");
}

/* --- false claims ------------------------------------------------------------------------------------------------- */

static void admin_put_lie(void *ctx, const struct cairn_index_lie *lie)
{
	struct cairn_buf *b = ctx;
	char said[65], proof[65];
	const char *owner = lie->shown ? lie->shown : lie->owner;
	cairn_hex_text(said, lie->said, sizeof(lie->said));
	cairn_hex_text(proof, lie->proof, sizeof(lie->proof));
	html(b, "<tr><th scope=\"row\">");
	html_name(b, *owner ? owner : "the operator");
	html(b, "</th><td><code>%s</code> was said, <code>%s</code> is so</td></tr>\n", said, proof);
}

static void admin_put_lies(struct page *page, const struct page_figures *f)
{
	struct cairn_buf *b = page_out(page);
	char count[SHOW_BYTES];
	if (f->claims.n_false == 0)
		return;
	html(b,
	     "<section aria-labelledby=\"lied\"><h2 id=\"lied\">False claims</h2>\n<p class=\"dim\">%s SHA-256 that "
	     "uploaders said are not those of the bytes; they answer nobody. The newest files first; "
	     "<code>cairn claims</code> lists all. "
	     "<a href=\"/admin/help/false-claims\">False claims</a></p>\n<table class=\"rows\" id=\"lies\"><thead><tr>"
	     "<th scope=\"col\">Whose</th><th scope=\"col\">SHA-256</th></tr></thead><tbody>\n",
	     show_count(count, f->claims.n_false));
	bool more;
	enum cairn_status status =
		cairn_cas_each_lie(page->hub.call.job.app->cas, NULL, ADMIN_LIES, admin_put_lie, b, &more);
	html(b, "</tbody></table></section>\n");
	if (status != CAIRN_OK)
		page->hub.call.status = status;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

struct admin_routes {
	size_t n;
	struct metrics_sum all[ADMIN_ROUTES_MAX];
};

static void admin_take_route(void *ctx, const struct metrics_sum *sum)
{
	struct admin_routes *routes = ctx;
	if (routes->n < ADMIN_ROUTES_MAX)
		routes->all[routes->n++] = *sum;
}

/* Those that failed most first, then those that were slow most often, then the slowest on average. */
static int admin_compare(const void *a, const void *b)
{
	const struct metrics_sum *x = a, *y = b;
	if (x->failed != y->failed)
		return x->failed > y->failed ? -1 : 1;
	if (x->slow != y->slow)
		return x->slow > y->slow ? -1 : 1;
	uint64_t mean_x = x->duration_us / x->n, mean_y = y->duration_us / y->n;
	return mean_x > mean_y ? -1 : mean_x < mean_y;
}

static void admin_put_route(struct cairn_buf *b, const struct metrics_sum *sum)
{
	char n[SHOW_BYTES], failed[SHOW_BYTES], slow[SHOW_BYTES], mean[SHOW_BYTES];
	(void)snprintf(mean, sizeof(mean), "%.1f ms", (double)sum->duration_us / (double)sum->n / 1000);
	html(b,
	     "<tr><th scope=\"row\">%s</th><td class=\"num\">%s</td><td class=\"num\">%s</td><td class=\"num "
	     "wide\">%s</td><td class=\"num wide\">%s</td></tr>\n",
	     sum->route, show_count(failed, sum->failed), show_count(slow, sum->slow), mean, show_count(n, sum->n));
}

static void admin_put_requests(struct cairn_buf *b, struct app *app)
{
	struct admin_routes routes = {.n = 0};
	struct http_server_stats http = {0};
	if (app->http)
		http_server_stats(app->http, &http);
	metrics_each(app->metrics, admin_take_route, &routes);
	qsort(routes.all, routes.n, sizeof(routes.all[0]), admin_compare);
	html(b,
	     "<section aria-labelledby=\"requests\"><h2 id=\"requests\">Requests since the start</h2>\n<p "
	     "class=\"dim\">%u under way on %u connections. What failed or took long is in the log, with its "
	     "cause.</p>\n",
	     http.requests, http.connections);
	html(b, "<table class=\"rows\" id=\"routes\"><thead><tr><th scope=\"col\">Route</th><th scope=\"col\" "
		"class=\"num\">Failed</th><th scope=\"col\" class=\"num\">Over 1 s</th><th scope=\"col\" class=\"num "
		"wide\">Mean</th><th scope=\"col\" class=\"num wide\">Requests</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < routes.n && i < ADMIN_ROUTES; i++)
		admin_put_route(b, &routes.all[i]);
	html(b, "</tbody></table></section>\n");
}

/* --- the last hour ------------------------------------------------------------------------------------------------ */

static void admin_put_recent(struct cairn_buf *b, const char *id, const char *title, const struct recent_told *told,
			     int64_t now_unix_s)
{
	char ms[SHOW_BYTES], count[SHOW_BYTES];
	html(b,
	     "<h3>%s</h3>\n<table class=\"rows\" id=\"%s\"><thead><tr><th scope=\"col\">Route</th><th scope=\"col\" "
	     "class=\"num\">Status</th><th scope=\"col\" class=\"num\">Took</th><th scope=\"col\" class=\"wide\">Request "
	     "in the log</th><th scope=\"col\" class=\"num wide\">When</th></tr></thead><tbody>\n",
	     title, id);
	for (unsigned i = 0; i < told->n && i < ADMIN_ROUTES; i++) {
		const struct recent_request *one = &told->all[i];
		html(b,
		     "<tr><th scope=\"row\">%s</th><td class=\"num\">%u</td><td class=\"num\">%s ms</td><td "
		     "class=\"wide\"><code>%s</code></td><td class=\"num wide\">",
		     one->route, one->code, show_count(ms, one->duration_us / 1000), one->id);
		show_age(b, one->at_unix_s, now_unix_s);
		html(b, "</td></tr>\n");
	}
	html(b, "</tbody></table>\n");
	if (told->n > ADMIN_ROUTES)
		html(b, "<p class=\"dim\">And %s%s more, which are in the log.</p>\n",
		     show_count(count, told->n - ADMIN_ROUTES), told->more ? " or" : "");
}

static void admin_put_hour(struct cairn_buf *b, struct app *app, int64_t now_unix_s)
{
	struct recent_told *failed = malloc(sizeof(*failed)), *slow = malloc(sizeof(*slow));
	html(b, "<section aria-labelledby=\"hour\"><h2 id=\"hour\">The last hour</h2>\n");
	page_put_traffic(b, app, now_unix_s);
	if (failed && slow) {
		recent_failed(&app->recent, now_unix_s, failed);
		recent_slow(&app->recent, now_unix_s, slow);
		if (failed->n == 0 && slow->n == 0)
			html(b, "<p class=\"empty\">No request failed, and none took longer than a second.</p>\n");
		if (failed->n > 0)
			admin_put_recent(b, "failed", "Failed", failed, now_unix_s);
		if (slow->n > 0)
			admin_put_recent(b, "slow", "Slowest", slow, now_unix_s);
	}
	html(b, "</section>\n");
	free(failed);
	free(slow);
}

/* --- the page ----------------------------------------------------------------------------------------------------- */

static void admin_build(struct page *page)
{
	static const struct page_crumb CRUMBS[] = {{"/", "Repositories"}, {"", "Server"}};
	struct app *app = page->hub.call.job.app;
	struct hub_call *call = &page->hub.call;
	struct cairn_buf *b = page_out(page);
	struct page_figures figures;
	if (!page_is_operator(page)) {
		call->status =
			cairn_fail(&call->diag, CAIRN_E_NOT_FOUND, "entry.unknown", CAIRN_NO_OFFSET, "Entry not found");
		return;
	}
	page_figures_take(&figures, app);
	page_begin(page, "Server", CRUMBS, 2);
	html(b, "<div class=\"title\"><h1>Server</h1><p class=\"dim\">Cairn %s, started ", CAIRN_VERSION);
	show_age(b, app->started_unix_s, figures.now_unix_s);
	html(b, ". <a href=\"/admin/accounts\">Accounts and keys</a></p></div>\n");
	admin_put_state(b, &figures, app);
	admin_put_room(b, &figures, app);
	admin_put_growth(b, app, figures.stats.index.stored_bytes);
	admin_put_jobs(b, &figures, app);
	admin_put_lies(page, &figures);
	admin_put_hour(b, app, figures.now_unix_s);
	admin_put_requests(b, app);
	page_end(page);
}

static void admin_get(struct http_request *req)
{
	if (page_get_new(req, sizeof(struct page), admin_build))
		route_job_start(req);
}

const struct http_route ROUTES_PAGE_ADMIN[] = {
	{.method = "GET",
	 .pattern = "/admin",
	 .name = "page-admin",
	 .errors = HTTP_ERRORS_PAGE,
	 .done = admin_get,
	 .free = page_free},
	{0},
};
