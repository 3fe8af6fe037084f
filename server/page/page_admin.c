/* The operator's home: alarms, disk usage, jobs, slow requests. GET /admin */
#include "cas/keep/proof.h"
#include "server/page/help.h"
#include "server/page/page.h"
#include "server/page/page_alarms.h"
#include "server/page/page_jobs.h"
#include "server/page/page_lost.h"
#include "server/page/page_mirror.h"
#include "server/page/page_room.h"
#include "server/page/page_routes.h"
#include "server/page/page_traffic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ADMIN_ROUTES = 10,
	ADMIN_LIES = 10,
	ADMIN_ROUTES_MAX = 256,
};

struct admin_alarms {
	struct cairn_buf *b;
	const char *before; /* the heading before the first alarm */
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
		notes.before = "<p>And to know:</p><ul class=\"notes\">\n";
	} else {
		html(b,
		     "<section class=\"card good\" aria-labelledby=\"alarms\"><h2 id=\"alarms\">Nothing "
		     "is wrong</h2><p>Uploads are accepted%s, and the last run of each job "
		     "succeeded.</p>\n",
		     f->lost.is_known ? ", nothing that files need is lost" : "");
	}
	page_notes_each(f, app, admin_put_alarm, &notes);
	if (notes.n > 0)
		html(b, "</ul>\n");
	html(b, "</section>\n");
}

static void admin_put_lie(void *ctx, const struct cairn_index_lie *lie)
{
	struct cairn_buf *b = ctx;
	char said[65], proof[65];
	const char *owner = lie->shown ? lie->shown : lie->owner;
	cairn_hex_text(said, lie->said, sizeof(lie->said));
	cairn_hex_text(proof, lie->proof, sizeof(lie->proof));
	html(b, "<tr><th scope=\"row\">");
	html_name(b, *owner ? owner : "the operator");
	html(b, "</th><td>given <code>%s</code>, true <code>%s</code></td></tr>\n", said, proof);
}

static void admin_put_lies(struct page *page, const struct page_figures *f)
{
	struct cairn_buf *b = page_out(page);
	char count[SHOW_BYTES];
	if (f->claims.n_false == 0)
		return;
	html(b,
	     "<section aria-labelledby=\"lied\"><h2 id=\"lied\">False claims</h2>\n<p class=\"dim\">%s SHA-256 that "
	     "uploaders gave are not those of the bytes, so no lookup uses them. The newest files first; "
	     "<code>cairn claims</code> lists all. "
	     "<a href=\"/admin/help/false-claims\">False claims</a></p>\n<table class=\"rows\" id=\"lies\"><thead><tr>"
	     "<th scope=\"col\">Whose</th><th scope=\"col\">SHA-256</th></tr></thead><tbody>\n",
	     show_count(count, f->claims.n_false));
	bool more;
	enum cairn_status status =
		cairn_cas_each_lie(page->hub.call.job.app->cas, NULL, ADMIN_LIES, admin_put_lie, b, &more);
	html(b, "</tbody></table>\n");
	if (status != CAIRN_OK)
		html(b, "<p>The list could not be read to its end: %s.</p>\n", cairn_status_name(status));
	html(b, "</section>\n");
}

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

/* Orders routes by failures, then by slow requests, then by average duration. */
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
	     "<section aria-labelledby=\"requests\"><h2 id=\"requests\">Requests since the "
	     "start</h2>\n<p class=\"dim\">%u under way on %u connections. The log has those that "
	     "failed or were slow, with the cause.</p>\n",
	     http.requests, http.connections);
	html(b, "<table class=\"rows\" id=\"routes\"><thead><tr><th scope=\"col\">Route</th><th scope=\"col\" "
		"class=\"num\">Failed</th><th scope=\"col\" class=\"num\">Over 1 s</th><th scope=\"col\" class=\"num "
		"wide\">Mean</th><th scope=\"col\" class=\"num wide\">Requests</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < routes.n && i < ADMIN_ROUTES; i++)
		admin_put_route(b, &routes.all[i]);
	html(b, "</tbody></table></section>\n");
}

static void admin_put_recent(struct cairn_buf *b, const char *id, const char *title, const struct recent_list *list,
			     int64_t now_unix_s)
{
	char ms[SHOW_BYTES], count[SHOW_BYTES];
	html(b,
	     "<h3>%s</h3>\n<table class=\"rows\" id=\"%s\"><thead><tr><th scope=\"col\">Route</th><th scope=\"col\" "
	     "class=\"num\">Status</th><th scope=\"col\" class=\"num\">Took</th><th scope=\"col\" class=\"wide\">Request "
	     "in the log</th><th scope=\"col\" class=\"num wide\">When</th></tr></thead><tbody>\n",
	     title, id);
	for (unsigned i = 0; i < list->n && i < ADMIN_ROUTES; i++) {
		const struct recent_request *one = &list->all[i];
		html(b,
		     "<tr><th scope=\"row\">%s</th><td class=\"num\">%u</td><td class=\"num\">%s ms</td><td "
		     "class=\"wide\"><code>%s</code></td><td class=\"num wide\">",
		     one->route, one->code, show_count(ms, one->duration_us / 1000), one->id);
		show_age(b, one->at_unix_s, now_unix_s);
		html(b, "</td></tr>\n");
	}
	html(b, "</tbody></table>\n");
	if (list->n > ADMIN_ROUTES)
		html(b, "<p class=\"dim\">And %s%s more, which are in the log.</p>\n",
		     show_count(count, list->n - ADMIN_ROUTES), list->more ? " or" : "");
}

static void admin_put_hour(struct cairn_buf *b, struct app *app, int64_t now_unix_s)
{
	struct recent_list *failed = malloc(sizeof(*failed)), *slow = malloc(sizeof(*slow));
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
	page_put_lost(page, &figures);
	admin_put_state(b, &figures, app);
	page_put_room(b, app, &figures.stats);
	page_put_mirror(b, app);
	page_put_jobs(b, &figures, app);
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
	PAGE_GET("/admin", "page-admin", admin_get, page_free),
	{0},
};
