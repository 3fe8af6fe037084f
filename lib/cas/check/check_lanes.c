/* Checks xorbs whose objects are on another machine, several at a time, because each waits for a few answers. Each lane
 * is a run of its own, and adds its findings to the whole run after each xorb. */
#include "cas/check/check_run.h"

#include "base/workers.h"

#include <stdlib.h>

enum { CHECK_LANES = 8 };

/* The state that the lanes of a page share. */
struct check_page {
	struct check_run *run;
	pthread_mutex_t lock; /* guards the run's report and the members below; the listener is called under it */
	uint32_t next;
	enum cairn_status status; /* status of the first lane that failed */
};

struct check_lane {
	struct cairn_work work; /* first */
	struct check_page *page;
	struct check_run *run; /* owned */
	struct cairn_check_options options;
	struct cairn_check_report report;
};

static void check_lane_report(void *ctx, const struct cairn_check_problem *problem)
{
	struct check_page *page = ctx;
	const struct cairn_check_options *o = page->run->options;
	pthread_mutex_lock(&page->lock);
	if (o->problem)
		o->problem(o->ctx, problem);
	pthread_mutex_unlock(&page->lock);
}

/* Called with the lock. */
static void check_lane_add(struct check_lane *lane)
{
	struct check_run *all = lane->page->run;
	all->report->n_xorbs++;
	all->report->bytes_read += lane->report.bytes_read;
	all->report->n_problems += lane->report.n_problems;
	all->report->n_repaired += lane->report.n_repaired;
	for (uint32_t i = 0; i < lane->run->n_bad && all->n_bad < CHECK_BAD_MAX; i++)
		all->bad[all->n_bad++] = lane->run->bad[i];
	lane->report = (struct cairn_check_report){0};
	lane->run->n_bad = 0;
}

/* Takes the next xorb. @return NULL: no xorb is left, or the check is ending */
static const struct cairn_index_xorb *check_lane_take(struct check_page *page)
{
	pthread_mutex_lock(&page->lock);
	bool on = page->status == CAIRN_OK && page->next < page->run->n_page;
	const struct cairn_index_xorb *xorb = on ? &page->run->xorbs[page->next++] : NULL;
	pthread_mutex_unlock(&page->lock);
	return xorb;
}

static void check_lane_run(struct cairn_work *work)
{
	struct check_lane *lane = (struct check_lane *)work;
	struct check_page *page = lane->page;
	for (const struct cairn_index_xorb *xorb; (xorb = check_lane_take(page));) {
		enum cairn_status status = check_xorb(lane->run, xorb);
		pthread_mutex_lock(&page->lock);
		check_lane_add(lane);
		if (status == CAIRN_OK)
			status = check_step(page->run);
		if (page->status == CAIRN_OK)
			page->status = status;
		pthread_mutex_unlock(&page->lock);
	}
}

static bool check_lane_init(struct check_lane *lane, struct check_page *page)
{
	lane->page = page;
	lane->run = calloc(1, sizeof(*lane->run));
	if (!lane->run)
		return false;
	lane->work.run = check_lane_run;
	lane->options = *page->run->options;
	lane->options.problem = check_lane_report;
	lane->options.ctx = page;
	lane->run->cas = page->run->cas;
	lane->run->options = &lane->options;
	lane->run->report = &lane->report;
	lane->run->repair = page->run->repair;
	return true;
}

enum cairn_status check_page_in_lanes(struct check_run *run)
{
	struct check_page page = {.run = run};
	struct check_lane lanes[CHECK_LANES] = {0};
	struct cairn_workers *workers;
	bool ready = true;
	enum cairn_status status = cairn_workers_new(&workers, "check", CHECK_LANES, 0, (size_t)CHECK_LANES * 2);
	if (status != CAIRN_OK)
		return status;
	pthread_mutex_init(&page.lock, NULL);
	for (size_t i = 0; i < CHECK_LANES; i++)
		if (!check_lane_init(&lanes[i], &page))
			ready = false;
	if (!ready)
		page.status = CAIRN_E_NOMEM;
	for (size_t i = 0; ready && i < CHECK_LANES; i++)
		if (cairn_workers_submit(workers, &lanes[i].work) != CAIRN_OK)
			check_lane_run(&lanes[i].work);
	cairn_workers_free(workers); /* waits for all lanes */
	for (size_t i = 0; i < CHECK_LANES; i++)
		free(lanes[i].run);
	pthread_mutex_destroy(&page.lock);
	return page.status;
}
