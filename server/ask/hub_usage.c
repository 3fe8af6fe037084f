#include "server/ask/hub_usage.h"

#include "server/log/log.h"

#include <stdlib.h>

/* Computed figures. They are freed when nobody holds them and newer ones exist. */
struct usage_kept {
	struct usage_kept *next; /* the older figures that are still held */
	struct cairn_usage *figures;
	unsigned n_held;
};

struct hub_usage {
	struct cairn_work work; /* the job that computes new figures; must be the first member */
	struct app *app;
	pthread_mutex_t lock; /* guards the members below */
	bool computing, queued;
	struct usage_kept *last; /* the newest figures; older ones follow */
};

struct hub_usage *hub_usage_new(void)
{
	struct hub_usage *u = calloc(1, sizeof(*u));
	if (u)
		pthread_mutex_init(&u->lock, NULL);
	return u;
}

static void usage_free_kept(struct usage_kept *kept)
{
	cairn_usage_free(kept->figures);
	free(kept);
}

void hub_usage_free(struct hub_usage *usage)
{
	if (!usage)
		return;
	for (struct usage_kept *kept = usage->last, *next; kept; kept = next) {
		next = kept->next;
		usage_free_kept(kept);
	}
	pthread_mutex_destroy(&usage->lock);
	free(usage);
}

const struct cairn_usage *hub_usage_hold(struct hub_usage *usage)
{
	pthread_mutex_lock(&usage->lock);
	struct usage_kept *kept = usage->last;
	if (kept)
		kept->n_held++;
	pthread_mutex_unlock(&usage->lock);
	return kept ? kept->figures : NULL;
}

/* Frees older figures that nobody holds. Call with the lock held. */
static void usage_drop_old(struct hub_usage *u)
{
	for (struct usage_kept **link = u->last ? &u->last->next : NULL; link && *link;) {
		struct usage_kept *kept = *link;
		if (kept->n_held > 0) {
			link = &kept->next;
			continue;
		}
		*link = kept->next;
		usage_free_kept(kept);
	}
}

void hub_usage_release(struct hub_usage *usage, const struct cairn_usage *figures)
{
	pthread_mutex_lock(&usage->lock);
	for (struct usage_kept *kept = usage->last; kept; kept = kept->next)
		if (kept->figures == figures)
			kept->n_held--;
	usage_drop_old(usage);
	pthread_mutex_unlock(&usage->lock);
}

static bool usage_stops(void *ctx)
{
	const struct app *app = ctx;
	return atomic_load(&app->stopping);
}

static enum cairn_status usage_keep(struct hub_usage *u, struct cairn_usage *figures)
{
	struct usage_kept *kept = calloc(1, sizeof(*kept));
	if (!kept) {
		cairn_usage_free(figures);
		return CAIRN_E_NOMEM;
	}
	LOG(LOG_INFO, "usage", LOG_N("owners", figures->n_owners), LOG_N("held_bytes", figures->held_bytes),
	    LOG_N("took_ms", figures->took_ms));
	kept->figures = figures;
	pthread_mutex_lock(&u->lock);
	kept->next = u->last;
	u->last = kept;
	usage_drop_old(u);
	pthread_mutex_unlock(&u->lock);
	return CAIRN_OK;
}

enum cairn_status hub_usage_compute(struct app *app, struct cairn_diag *diag)
{
	struct hub_usage *u = app->usage;
	struct cairn_usage *figures;
	pthread_mutex_lock(&u->lock);
	bool others = u->computing;
	u->computing = true;
	pthread_mutex_unlock(&u->lock);
	if (others)
		return cairn_fail(diag, CAIRN_E_BUSY, "usage.running", CAIRN_NO_OFFSET,
				  "the usage is being computed already; try again in some seconds");
	enum cairn_status status =
		cairn_usage_compute(&figures, cairn_cas_index(app->cas), &CAIRN_USAGE_ROOM, usage_stops, app, diag);
	if (status == CAIRN_OK)
		status = usage_keep(u, figures);
	if (status != CAIRN_E_BUSY)
		atomic_store(&app->usage_wanted, false);
	pthread_mutex_lock(&u->lock);
	u->computing = false;
	pthread_mutex_unlock(&u->lock);
	return status;
}

static void usage_work(struct cairn_work *work)
{
	struct hub_usage *u = (struct hub_usage *)work;
	struct cairn_diag diag = {0};
	pthread_mutex_lock(&u->lock);
	u->queued = false;
	pthread_mutex_unlock(&u->lock);
	enum cairn_status status = hub_usage_compute(u->app, &diag);
	if (status != CAIRN_OK && status != CAIRN_E_BUSY)
		LOG(LOG_WARNING, "usage_failed", LOG_T("status", cairn_status_name(status)), LOG_T("cause", diag.text));
}

void hub_usage_refresh(struct app *app)
{
	struct hub_usage *u = app->usage;
	atomic_store(&app->usage_wanted, true);
	pthread_mutex_lock(&u->lock);
	bool queued = u->queued;
	u->queued = true;
	pthread_mutex_unlock(&u->lock);
	if (queued)
		return;
	u->app = app;
	u->work.run = usage_work;
	u->work.lane = CAIRN_LANE_HEAVY;
	if (cairn_workers_submit(app->long_workers, &u->work) == CAIRN_OK)
		return;
	pthread_mutex_lock(&u->lock);
	u->queued = false;
	pthread_mutex_unlock(&u->lock);
}
