#include "server/scrub.h"

#include "base/clock.h"
#include "cas/keep/scrub.h"
#include "cas/stats.h"
#include "server/app.h"
#include "server/log/log.h"
#include "server/pace.h"
#include "server/scrub_kept.h"

#include <string.h>

enum {
	SCRUB_KEEP_EVERY_MS = 60 * 1000, /* how much is read again after a crash, at most */
	SCRUB_SHARE_EVERY_MS = 2 * 1000, /* the same where other daemons read the note and may take over */
	SCRUB_BYTES_MIN = 4096,          /* bytes counted for a xorb that has none here */
	SCRUB_DEFAULT_S = 7 * 24 * 3600, /* duration of a pass begun by hand if scrub_period is 0 */
};

/* A small store is read at least at this rate, so that damage in it is found earlier. */
#define SCRUB_BYTES_PER_S_MIN (INT64_C(1) << 20)

void scrub_init(struct scrub *s)
{
	pthread_mutex_init(&s->lock, NULL);
}

void scrub_open(struct app *app)
{
	scrub_kept_open(app);
}

void scrub_fini(struct scrub *s)
{
	pthread_mutex_destroy(&s->lock);
}

/* Drops this daemon's state after another daemon has taken over. */
static void scrub_lose_hold(struct app *app)
{
	struct scrub *s = &app->scrub;
	atomic_store(&s->holds, false);
	cairn_cas_give_scrub(app->cas,
			     /* only stops renewals: another has it */
			     &s->lease);
	pthread_mutex_lock(&s->lock);
	s->version = -1;
	pthread_mutex_unlock(&s->lock);
	(void)scrub_kept_hear(app, true);
}

static void scrub_keep(struct app *app)
{
	if (!scrub_kept_keep(app))
		scrub_lose_hold(app);
}

/* Takes the lease, then reads the progress, so that no other daemon is further. @return false: another daemon scrubs */
static bool scrub_take_hold(struct app *app)
{
	struct scrub *s = &app->scrub;
	if (!cairn_cas_is_shared(app->cas) || atomic_load(&s->holds))
		return true;
	if (cairn_cas_take_scrub(app->cas, &s->lease) != CAIRN_OK)
		return false;
	bool heard = scrub_kept_hear(app, true);
	atomic_store(&s->holds, heard);
	if (!heard)
		cairn_cas_give_scrub(app->cas, &s->lease);
	return heard;
}

static void scrub_give_hold(struct app *app)
{
	struct scrub *s = &app->scrub;
	if (!atomic_load(&s->holds))
		return;
	if (scrub_kept_copy(s).now.started_unix_s != 0)
		scrub_keep(app);
	if (atomic_exchange(&s->holds, false))
		cairn_cas_give_scrub(app->cas, &s->lease);
}

void scrub_leave(struct app *app)
{
	struct scrub *s = &app->scrub;
	if (cairn_cas_is_shared(app->cas))
		scrub_give_hold(app);
	else if (scrub_kept_copy(s).now.started_unix_s != 0)
		scrub_keep(app);
}

struct scrub_walk {
	struct app *app;
	int64_t bytes_per_s;
};

/* Waits as the rate demands after bytes were read, even if the thread is woken. */
static bool scrub_go_on(void *ctx, size_t bytes)
{
	struct scrub_walk *w = ctx;
	struct scrub *s = &w->app->scrub;
	int64_t us = pace_pay(&s->pace, bytes, (uint64_t)w->bytes_per_s);
	atomic_fetch_add(&s->n_bytes, bytes);
	do {
		if (!rest_for(&w->app->rest, us))
			return false;
		(void)scrub_kept_hear(w->app, false);
		if (scrub_kept_copy(s).paused)
			return false;
		us = pace_pay(&s->pace, 0, 1);
	} while (us > 0);
	return true;
}

/* Are xorbs kept on this machine? A store service checks its own data, and reading all of it may cost money, so it is
 * scrubbed only on request. */
static bool scrub_is_kept_here(const struct app *app)
{
	return app->config.xorbs != CONFIG_XORBS_EXTERNAL && !cairn_cas_is_remote(app->cas);
}

/* Returns when the next pass begins. Call with the lock held. @return 0: no pass is scheduled */
static int64_t scrub_next_unix_s(const struct app *app)
{
	const struct scrub_pass *last = &app->scrub.kept.last;
	int64_t period_s = (int64_t)atomic_load(&app->live.scrub_period_s), now_s = cairn_clock_unix_s();
	if (period_s == 0 || !scrub_is_kept_here(app))
		return 0;
	/* a start in the future means that somebody has moved the clock */
	bool known = last->started_unix_s > 0 && last->started_unix_s <= now_s;
	return known ? last->started_unix_s + period_s : now_s;
}

/* Makes a pass that begins now. */
static struct scrub_pass scrub_new_pass(struct app *app, int64_t within_s)
{
	struct cairn_cas_stats stats;
	int64_t period_s = (int64_t)atomic_load(&app->live.scrub_period_s);
	cairn_cas_stats(app->cas, &stats);
	return (struct scrub_pass){
		.started_unix_s = cairn_clock_unix_s(),
		.within_s = within_s > 0   ? within_s
			    : period_s > 0 ? period_s
					   : SCRUB_DEFAULT_S,
		.total_bytes = (int64_t)stats.index.stored_bytes,
	};
}

static void scrub_log_begun(const struct scrub_pass *pass)
{
	LOG(LOG_INFO, "scrub_begun", LOG_N("total_bytes", (uint64_t)pass->total_bytes),
	    LOG_N("within_s", (uint64_t)pass->within_s));
}

/* Is a pass under way? Begins one if it is due and there are stored bytes. @param[out] now the pass */
static bool scrub_is_due(struct app *app, struct scrub_pass *now)
{
	struct scrub *s = &app->scrub;
	struct cairn_cas_stats stats;
	cairn_cas_stats(app->cas, &stats);
	pthread_mutex_lock(&s->lock);
	int64_t next_unix_s = scrub_next_unix_s(app);
	if (!s->kept.paused && s->kept.now.started_unix_s == 0 && next_unix_s != 0 &&
	    next_unix_s <= cairn_clock_unix_s() && stats.index.n_xorbs > 0) {
		s->kept.now = scrub_new_pass(app, 0);
		scrub_log_begun(&s->kept.now);
	}
	*now = s->kept.now;
	bool due = !s->kept.paused && now->started_unix_s != 0;
	pthread_mutex_unlock(&s->lock);
	return due;
}

static void scrub_log(const struct scrub_pass *p)
{
	bool well = p->whole && p->damaged == 0 && p->lost == 0 && p->unread == 0;
	LOG(well ? LOG_INFO : LOG_WARNING, "scrub", LOG_T("status", p->whole ? "ok" : "index cannot be read"),
	    LOG_N("xorbs", (uint64_t)p->xorbs), LOG_N("bytes", (uint64_t)p->bytes),
	    LOG_N("damaged", (uint64_t)p->damaged), LOG_N("mended", (uint64_t)p->mended),
	    LOG_N("lost", (uint64_t)p->lost), LOG_N("unread", (uint64_t)p->unread),
	    LOG_N("duration_s",
		  (uint64_t)(p->ended_unix_s > p->started_unix_s ? p->ended_unix_s - p->started_unix_s : 0)));
}

static void scrub_apply_end(struct scrub_kept *kept, struct scrub_change *change)
{
	struct scrub_pass *ended = &change->pass;
	if (ended->started_unix_s != kept->now.started_unix_s)
		return;
	ended->within_s = kept->now.within_s;
	if (ended->whole && ended->unread == 0)
		kept->good_unix_s = ended->ended_unix_s;
	kept->last = *ended;
	kept->now = (struct scrub_pass){0};
}

/* Ends the pass. If the end cannot be stored now, the pass goes on. */
static void scrub_end(struct app *app, bool whole)
{
	struct scrub *s = &app->scrub;
	struct cairn_diag diag = {0};
	struct scrub_change change = {.apply = scrub_apply_end, .pass = scrub_kept_copy(s).now};
	change.pass.ended_unix_s = cairn_clock_unix_s();
	change.pass.whole = whole;
	if (scrub_kept_change(app, &s->lease, &change, &diag) != CAIRN_OK) {
		scrub_keep(app);
		return;
	}
	scrub_log(&change.pass);
	if (!cairn_cas_is_shared(app->cas))
		scrub_keep(app);
}

/* Counts the outcome of a suspect xorb. @return CAIRN_OK; CAIRN_E_NOMEM */
static enum cairn_status scrub_mend_suspect(struct app *app, const struct cairn_scrub_result *result,
					    struct scrub_pass *add)
{
	enum cairn_scrub_end end = CAIRN_SCRUB_SOUND;
	enum cairn_status status = result->suspect ? cairn_cas_scrub_mend(app->cas, &result->xorb, &end) : CAIRN_OK;
	bool unread = result->unread || end == CAIRN_SCRUB_UNREAD, lost = result->lost || end == CAIRN_SCRUB_LOST;
	char xorb[CAIRN_HASH_TEXT_BYTES];
	*add = (struct scrub_pass){
		.at = result->id,
		.xorbs = 1,
		.bytes = (int64_t)result->bytes,
		.damaged = result->n_damaged,
		.mended = result->suspect && end == CAIRN_SCRUB_SOUND,
		.lost = lost,
		.unread = unread && !lost,
	};
	/* During a stop, failures do not come from the disk: the next daemon checks the xorb again. */
	if (unread && status == CAIRN_OK && !rest_for(&app->rest, 0))
		return CAIRN_E_BUSY;
	if (unread && status == CAIRN_OK) {
		cairn_hash_text(xorb, &result->xorb);
		LOG(LOG_WARNING, "scrub_unread", LOG_T("xorb", xorb),
		    LOG_T("message", "the disk cannot read a copy of it, or its chunk list"));
	}
	return status;
}

/* Adds the result of a check to the pass. @param of the pass of that check: another daemon may have ended it */
static void scrub_add(struct app *app, const struct scrub_pass *of, const struct scrub_pass *add)
{
	struct scrub *s = &app->scrub;
	struct scrub_pass gone = {0};
	atomic_fetch_add(&s->n_xorbs, 1);
	pthread_mutex_lock(&s->lock);
	struct scrub_pass *now = s->kept.now.started_unix_s == of->started_unix_s ? &s->kept.now : &gone;
	now->at = add->at;
	now->xorbs += add->xorbs;
	now->bytes += add->bytes;
	now->damaged += add->damaged;
	now->mended += add->mended;
	now->lost += add->lost;
	now->unread += add->unread;
	pthread_mutex_unlock(&s->lock);
}

static int64_t scrub_keep_every_ms(const struct app *app)
{
	return cairn_cas_is_shared(app->cas) ? SCRUB_SHARE_EVERY_MS : SCRUB_KEEP_EVERY_MS;
}

bool scrub_turn(struct app *app)
{
	struct scrub_pass now, add;
	struct cairn_scrub_result result;
	if (atomic_exchange(&app->scrub.is_unsaved, false) && !cairn_cas_is_shared(app->cas))
		scrub_keep(app);
	(void)scrub_kept_hear(app, false);
	if (!scrub_is_due(app, &now)) {
		scrub_give_hold(app);
		return false;
	}
	if (!scrub_take_hold(app) || !scrub_is_due(app, &now))
		return false;
	struct scrub_walk walk = {.app = app, .bytes_per_s = now.total_bytes / now.within_s};
	if (walk.bytes_per_s < SCRUB_BYTES_PER_S_MIN)
		walk.bytes_per_s = SCRUB_BYTES_PER_S_MIN;
	const struct cairn_scrub_pace pace = {scrub_go_on, &walk};
	pace_be_idle(true);
	enum cairn_status status = cairn_cas_scrub_next(app->cas, now.at, &pace, &result);
	pace_be_idle(false); /* threads that wait for the guard wait for this thread */
	if (status == CAIRN_OK)
		status = scrub_mend_suspect(app, &result, &add);
	/* Pause even after a xorb without bytes; the pause also notices a stop. */
	if (status == CAIRN_OK && result.bytes == 0)
		(void)scrub_go_on(&walk, SCRUB_BYTES_MIN);
	if (status == CAIRN_OK) {
		scrub_add(app, &now, &add);
		if (cairn_clock_mono_ms() - app->scrub.kept_ms >= scrub_keep_every_ms(app))
			scrub_keep(app);
		return true;
	}
	if (status != CAIRN_E_BUSY && status != CAIRN_E_NOMEM) /* after BUSY or NOMEM, retry the same xorb later */
		scrub_end(app, status == CAIRN_E_NOT_FOUND);
	return false;
}

/* Finds which daemon reads. The index may show a lease that this daemon has released for up to a second. */
static void scrub_find(struct app *app, struct scrub_status *out)
{
	struct cairn_index_job_state state;
	bool here = atomic_load(&app->scrub.holds);
	if (!cairn_cas_is_shared(app->cas))
		return;
	cairn_cas_job(app->cas, CAIRN_INDEX_SCRUB, &state);
	if (here)
		memcpy(out->daemon, app->who, sizeof(out->daemon));
	else if (state.taken && strcmp(state.who, app->who) != 0)
		memcpy(out->daemon, state.who, sizeof(out->daemon));
}

/* Raises the total if more was read. Data stored since the pass began is read, too, and packs hold second copies. */
static void scrub_grow_total(struct scrub_pass *pass, int64_t stored_bytes)
{
	if (pass->ended_unix_s == 0 && pass->total_bytes < stored_bytes)
		pass->total_bytes = stored_bytes;
	if (pass->total_bytes < pass->bytes)
		pass->total_bytes = pass->bytes;
}

void scrub_status(struct app *app, struct scrub_status *out)
{
	struct scrub *s = &app->scrub;
	struct cairn_cas_stats stats;
	cairn_cas_stats(app->cas, &stats);
	pthread_mutex_lock(&s->lock);
	*out = (struct scrub_status){
		.period_s = (int64_t)atomic_load(&app->live.scrub_period_s),
		.next_unix_s = s->kept.paused || s->kept.now.started_unix_s ? 0 : scrub_next_unix_s(app),
		.kept = s->kept,
	};
	out->state = s->kept.paused               ? SCRUB_PAUSED
		     : s->kept.now.started_unix_s ? SCRUB_RUNNING
		     : out->next_unix_s != 0      ? SCRUB_WAITING
						  : SCRUB_OFF;
	pthread_mutex_unlock(&s->lock);
	if (out->kept.now.started_unix_s != 0)
		scrub_grow_total(&out->kept.now, (int64_t)stats.index.stored_bytes);
	scrub_grow_total(&out->kept.last, 0);
	if (out->state == SCRUB_RUNNING)
		scrub_find(app, out);
}

static void scrub_apply_start(struct scrub_kept *kept, struct scrub_change *change)
{
	kept->paused = 0;
	change->began = kept->now.started_unix_s == 0;
	if (change->began)
		kept->now = change->pass;
	else if (change->within_s > 0)
		kept->now.within_s = change->within_s;
}

static void scrub_apply_pause(struct scrub_kept *kept, struct scrub_change *change)
{
	(void)change;
	kept->paused = 1;
}

static enum cairn_status scrub_hear_order(struct app *app, struct scrub_change *change, struct cairn_diag *diag)
{
	enum cairn_status status = scrub_kept_change(app, NULL, change, diag);
	if (status != CAIRN_OK)
		return status;
	atomic_store(&app->scrub.is_unsaved, true);
	rest_wake(&app->rest);
	return CAIRN_OK;
}

enum cairn_status scrub_start(struct app *app, int64_t within_s, struct cairn_diag *diag)
{
	struct scrub_change change = {
		.apply = scrub_apply_start, .pass = scrub_new_pass(app, within_s), .within_s = within_s};
	enum cairn_status status = scrub_hear_order(app, &change, diag);
	if (status == CAIRN_OK && change.began)
		scrub_log_begun(&change.pass);
	return status;
}

enum cairn_status scrub_pause(struct app *app, struct cairn_diag *diag)
{
	struct scrub_change change = {.apply = scrub_apply_pause};
	enum cairn_status status = scrub_hear_order(app, &change, diag);
	if (status == CAIRN_OK)
		LOG(LOG_INFO, "scrub_paused", LOG_T("message", "until it is told to start"));
	return status;
}
