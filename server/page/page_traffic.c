#include "server/page/page_traffic.h"

#include "base/clock.h"
#include "server/app.h"
#include "server/ask/html.h"
#include "server/page/charts.h"
#include "server/page/show.h"

#include <inttypes.h>
#include <stdio.h>

enum { TRAFFIC_SAYS = 160, TRAFFIC_HOUR = 11, TRAFFIC_HOUR_CHARS = 5 };

struct traffic_chart {
	struct cairn_buf *b;
	struct traffic_step steps[TRAFFIC_STEPS];
	unsigned n;
	int64_t begun_unix_s; /* when the first step began */
	uint64_t most, most_us;
	uint64_t n_requests, n_failed;
};

/* Writes the time of a day, such as "14:04". */
static void traffic_put_hour(char out[static TRAFFIC_HOUR_CHARS + 1], int64_t unix_s)
{
	char when[SHOW_BYTES];
	(void)snprintf(out, TRAFFIC_HOUR_CHARS + 1, "%s", show_time(when, unix_s) + TRAFFIC_HOUR);
}

static void traffic_measure(struct traffic_chart *c)
{
	c->most = 1;
	c->most_us = metrics_bound_us(0);
	for (unsigned i = 0; i < c->n; i++) {
		const struct traffic_step *step = &c->steps[i];
		c->most = step->n > c->most ? step->n : c->most;
		c->most_us = step->most_us > c->most_us ? step->most_us : c->most_us;
		c->n_requests += step->n;
		c->n_failed += step->failed;
	}
}

static const char *traffic_show_us(char out[static SHOW_BYTES], uint64_t us)
{
	if (us < 1000)
		(void)snprintf(out, SHOW_BYTES, "%.1f ms", (double)us / 1000);
	else if (us < 1000000)
		(void)snprintf(out, SHOW_BYTES, "%" PRIu64 " ms", us / 1000);
	else
		(void)snprintf(out, SHOW_BYTES, "%.3g s", (double)us / 1000000);
	return out;
}

/* Returns the number of a bound, counted from 1. */
static double traffic_rank(uint64_t us)
{
	size_t b = 0;
	while (b + 2 < METRICS_BUCKETS && metrics_bound_us(b) < us)
		b++;
	return (double)b + 1;
}

static void traffic_put_axis(const struct traffic_chart *c)
{
	html(c->b, "<p class=\"axis\"><span>%d min ago</span><span>Now</span></p>\n",
	     TRAFFIC_STEPS * TRAFFIC_STEP_S / 60);
}

static void traffic_put_requests(const struct traffic_chart *c)
{
	html(c->b, "<h3>Requests</h3>\n");
	chart_begin_columns(c->b, "Requests, step by step", "days requests");
	for (unsigned i = c->n; i-- > 0;) {
		const struct traffic_step *step = &c->steps[i];
		char hour[TRAFFIC_HOUR_CHARS + 1], n[SHOW_BYTES], failed[SHOW_BYTES], says[TRAFFIC_SAYS];
		if (step->n == 0)
			continue;
		traffic_put_hour(hour, c->begun_unix_s - (int64_t)i * TRAFFIC_STEP_S);
		(void)snprintf(says, sizeof(says), "%s: %s%s, %s failed", hour, step->n_steps > 1 ? "about " : "",
			       show_count(n, step->n), show_count(failed, step->failed));
		chart_put_column(c->b, TRAFFIC_STEPS - 1 - i, TRAFFIC_STEPS, (double)step->n / (double)c->most,
				 (double)step->failed / (double)c->most, says);
	}
	chart_end_columns(c->b);
	traffic_put_axis(c);
}

static void traffic_put_pace(const struct traffic_chart *c)
{
	double highest = traffic_rank(c->most_us);
	html(c->b, "<h3>How long they took</h3>\n");
	chart_begin_columns(c->b, "How long they took, step by step", "days pace");
	for (unsigned i = c->n; i-- > 0;) {
		const struct traffic_step *step = &c->steps[i];
		char hour[TRAFFIC_HOUR_CHARS + 1], half[SHOW_BYTES], most[SHOW_BYTES], says[TRAFFIC_SAYS];
		if (step->n == 0)
			continue;
		traffic_put_hour(hour, c->begun_unix_s - (int64_t)i * TRAFFIC_STEP_S);
		(void)snprintf(says, sizeof(says), "%s: half in %s, 95 of 100 in %s%s", hour,
			       traffic_show_us(half, step->half_us), step->is_over ? "more than " : "",
			       traffic_show_us(most, step->most_us));
		chart_put_column(c->b, TRAFFIC_STEPS - 1 - i, TRAFFIC_STEPS, traffic_rank(step->most_us) / highest,
				 traffic_rank(step->half_us) / highest, says);
	}
	chart_end_columns(c->b);
	traffic_put_axis(c);
}

/* Appends the contents of the charts in words and numbers. */
static void traffic_put_words(const struct traffic_chart *c)
{
	char n[SHOW_BYTES], failed[SHOW_BYTES], most[SHOW_BYTES], us[SHOW_BYTES];
	html(c->b,
	     "<p>%s requests, %s of them failed. The fullest column has %s within %d minutes. In "
	     "the slowest, 95 of 100 took at most %s. <span class=\"dim\">A column has the "
	     "requests that ended within %d minutes, the newest on the right; failed ones are "
	     "highlighted. The lower chart shows how long 95 of 100 took at most, and within that "
	     "half of them. Its heights are the bounds of <code>/metrics</code>: 0.5, 1, 2.5, 5 "
	     "ms and so on.</span></p>\n",
	     show_count(n, c->n_requests), show_count(failed, c->n_failed), show_count(most, c->most),
	     TRAFFIC_STEP_S / 60, traffic_show_us(us, c->most_us), TRAFFIC_STEP_S / 60);
}

void page_put_traffic(struct cairn_buf *b, struct app *app, int64_t now_unix_s)
{
	struct traffic_chart chart = {.b = b};
	int64_t begun_ms = 0;
	chart.n = traffic_read(&app->traffic, app->metrics, cairn_clock_mono_ms(), chart.steps, &begun_ms);
	if (chart.n == 0)
		return;
	chart.begun_unix_s = now_unix_s - begun_ms / 1000;
	traffic_measure(&chart);
	traffic_put_requests(&chart);
	traffic_put_pace(&chart);
	traffic_put_words(&chart);
}
