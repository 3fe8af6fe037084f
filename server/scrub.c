#include "server/scrub.h"

#include "base/clock.h"
#include "cas/scrub.h"
#include "cas/stats.h"
#include "data_dir/note.h"
#include "server/app.h"
#include "server/log.h"
#include "server/pace.h"

#include <errno.h>
#include <string.h>

enum {
	SCRUB_KEEP_EVERY_MS = 60 * 1000, /* so much is done again after a crash */
	SCRUB_BYTES_MIN = 4096,          /* what a xorb counts as that has no bytes here */
	SCRUB_DEFAULT_S = 7 * 24 * 3600, /* of a pass that is begun by hand where scrub_period is 0 */
};

/* A store that is read at this rate in less than its time is done earlier, and so is what is damaged found. */
#define SCRUB_BYTES_PER_S_MIN (INT64_C(1) << 20)

/* --- what outlasts the daemon ------------------------------------------------------------------------------------- */

static const char SCRUB_NOTE[] = "scrub";
enum { SCRUB_PASS_FIELDS = 12, SCRUB_FIELDS = 2 * SCRUB_PASS_FIELDS + 2 };

static void scrub_pass_fields(struct cairn_note_field out[static SCRUB_PASS_FIELDS], struct scrub_pass *p, bool now)
{
	const struct cairn_note_field fields[SCRUB_PASS_FIELDS] = {
		{now ? "started" : "last_started", &p->started_unix_s},
		{now ? "ended" : "last_ended", &p->ended_unix_s},
		{now ? "within" : "last_within", &p->within_s},
		{now ? "total_bytes" : "last_total_bytes", &p->total_bytes},
		{now ? "at" : "last_at", &p->at},
		{now ? "xorbs" : "last_xorbs", &p->xorbs},
		{now ? "bytes" : "last_bytes", &p->bytes},
		{now ? "damaged" : "last_damaged", &p->damaged},
		{now ? "mended" : "last_mended", &p->mended},
		{now ? "lost" : "last_lost", &p->lost},
		{now ? "unread" : "last_unread", &p->unread},
		{now ? "whole" : "last_whole", &p->whole},
	};
	memcpy(out, fields, sizeof(fields));
}

static void scrub_fields(struct cairn_note_field out[static SCRUB_FIELDS], struct scrub_kept *kept)
{
	scrub_pass_fields(out, &kept->now, true);
	scrub_pass_fields(out + SCRUB_PASS_FIELDS, &kept->last, false);
	out[SCRUB_FIELDS - 2] = (struct cairn_note_field){"good", &kept->good_unix_s};
	out[SCRUB_FIELDS - 1] = (struct cairn_note_field){"paused", &kept->paused};
}

void scrub_init(struct scrub *s)
{
	pthread_mutex_init(&s->lock, NULL);
}

void scrub_open(struct app *app)
{
	struct scrub *s = &app->scrub;
	struct cairn_note_field fields[SCRUB_FIELDS];
	scrub_fields(fields, &s->kept);
	if (cairn_note_read(app->config.data_dir, SCRUB_NOTE, fields, SCRUB_FIELDS) == CAIRN_E_IO)
		LOG(LOG_WARNING, "note_failed", LOG_T("note", SCRUB_NOTE), LOG_T("cause", strerror(errno)),
		    LOG_T("message", "how far the last scrub came is not known; it begins anew"));
	if (s->kept.now.within_s <= 0)
		s->kept.now = (struct scrub_pass){0};
}

void scrub_fini(struct scrub *s)
{
	pthread_mutex_destroy(&s->lock);
}

static struct scrub_kept scrub_copy(struct scrub *s)
{
	pthread_mutex_lock(&s->lock);
	struct scrub_kept kept = s->kept;
	pthread_mutex_unlock(&s->lock);
	return kept;
}

static void scrub_keep(struct app *app)
{
	struct scrub *s = &app->scrub;
	struct cairn_note_field fields[SCRUB_FIELDS];
	struct scrub_kept kept = scrub_copy(s);
	scrub_fields(fields, &kept);
	s->kept_ms = cairn_clock_mono_ms();
	bool failed = cairn_note_write(app->config.data_dir, SCRUB_NOTE, fields, SCRUB_FIELDS) != CAIRN_OK;
	if (failed && !s->cannot_keep)
		LOG(LOG_WARNING, "note_failed", LOG_T("note", SCRUB_NOTE), LOG_T("cause", strerror(errno)),
		    LOG_T("message", "after a restart the scrub goes on from an earlier place"));
	s->cannot_keep = failed;
}

void scrub_leave(struct app *app)
{
	if (scrub_copy(&app->scrub).now.started_unix_s != 0)
		scrub_keep(app);
}

/* --- pace --------------------------------------------------------------------------------------------------------- */

struct scrub_walk {
	struct app *app;
	int64_t bytes_per_s;
};

/* What was read is paid for by waiting, also when somebody wakes the thread. */
static bool scrub_go_on(void *ctx, size_t bytes)
{
	struct scrub_walk *w = ctx;
	struct scrub *s = &w->app->scrub;
	int64_t us = pace_pay(&s->pace, bytes, (uint64_t)w->bytes_per_s);
	atomic_fetch_add(&s->n_bytes, bytes);
	do {
		if (!rest_for(&w->app->rest, us) || scrub_copy(s).paused)
			return false;
		us = pace_pay(&s->pace, 0, 1);
	} while (us > 0);
	return true;
}

/* --- a pass ------------------------------------------------------------------------------------------------------- */

/* What another service keeps, it looks after, and reading all of it may cost: that is done only when somebody says so.
 */
static bool scrub_is_kept_here(const struct app *app)
{
	return app->config.xorbs != CONFIG_XORBS_EXTERNAL && !cairn_cas_is_remote(app->cas);
}

/* Under the lock. @return 0: nothing says when */
static int64_t scrub_next_unix_s(const struct app *app)
{
	const struct scrub_pass *last = &app->scrub.kept.last;
	int64_t period_s = (int64_t)atomic_load(&app->live.scrub_period_s), now_s = cairn_clock_unix_s();
	if (period_s == 0 || !scrub_is_kept_here(app))
		return 0;
	bool known = last->started_unix_s > 0 && last->started_unix_s <= now_s; /* or somebody moved the clock */
	return known ? last->started_unix_s + period_s : now_s;
}

/* Under the lock. */
static void scrub_begin(struct app *app, int64_t within_s)
{
	struct cairn_cas_stats stats;
	int64_t period_s = (int64_t)atomic_load(&app->live.scrub_period_s);
	cairn_cas_stats(app->cas, &stats);
	app->scrub.kept.now = (struct scrub_pass){
		.started_unix_s = cairn_clock_unix_s(),
		.within_s = within_s > 0   ? within_s
			    : period_s > 0 ? period_s
					   : SCRUB_DEFAULT_S,
		.total_bytes = (int64_t)stats.index.stored_bytes,
	};
	LOG(LOG_INFO, "scrub_begun", LOG_N("total_bytes", stats.index.stored_bytes),
	    LOG_N("within_s", (uint64_t)app->scrub.kept.now.within_s));
}

/* Is there a pass to go on with? Begins one when it is time, and there is something to read. @param[out] now  it */
static bool scrub_is_due(struct app *app, struct scrub_pass *now)
{
	struct scrub *s = &app->scrub;
	struct cairn_cas_stats stats;
	cairn_cas_stats(app->cas, &stats);
	pthread_mutex_lock(&s->lock);
	int64_t next_unix_s = scrub_next_unix_s(app);
	if (!s->kept.paused && s->kept.now.started_unix_s == 0 && next_unix_s != 0 &&
	    next_unix_s <= cairn_clock_unix_s() && stats.index.n_xorbs > 0)
		scrub_begin(app, 0);
	*now = s->kept.now;
	bool due = !s->kept.paused && now->started_unix_s != 0;
	pthread_mutex_unlock(&s->lock);
	return due;
}

static void scrub_tell(const struct scrub_pass *p)
{
	bool well = p->whole && p->damaged == 0 && p->lost == 0 && p->unread == 0;
	LOG(well ? LOG_INFO : LOG_WARNING, "scrub", LOG_T("status", p->whole ? "ok" : "index cannot be read"),
	    LOG_N("xorbs", (uint64_t)p->xorbs), LOG_N("bytes", (uint64_t)p->bytes),
	    LOG_N("damaged", (uint64_t)p->damaged), LOG_N("mended", (uint64_t)p->mended),
	    LOG_N("lost", (uint64_t)p->lost), LOG_N("unread", (uint64_t)p->unread),
	    LOG_N("duration_s",
		  (uint64_t)(p->ended_unix_s > p->started_unix_s ? p->ended_unix_s - p->started_unix_s : 0)));
}

static void scrub_end(struct app *app, bool whole)
{
	struct scrub *s = &app->scrub;
	pthread_mutex_lock(&s->lock);
	s->kept.now.ended_unix_s = cairn_clock_unix_s();
	s->kept.now.whole = whole;
	if (whole && s->kept.now.unread == 0)
		s->kept.good_unix_s = s->kept.now.ended_unix_s;
	s->kept.last = s->kept.now;
	s->kept.now = (struct scrub_pass){0};
	struct scrub_pass ended = s->kept.last;
	pthread_mutex_unlock(&s->lock);
	scrub_tell(&ended);
	scrub_keep(app);
}

/* What became of a suspect, which is counted. @return CAIRN_OK; CAIRN_E_NOMEM */
static enum cairn_status scrub_settle(struct app *app, const struct cairn_scrub_look *look, struct scrub_pass *add)
{
	enum cairn_scrub_end end = CAIRN_SCRUB_SOUND;
	enum cairn_status status = look->suspect ? cairn_cas_scrub_settle(app->cas, &look->xorb, &end) : CAIRN_OK;
	bool unread = look->unread || end == CAIRN_SCRUB_UNREAD, lost = look->lost || end == CAIRN_SCRUB_LOST;
	char xorb[CAIRN_HASH_TEXT_BYTES];
	*add = (struct scrub_pass){
		.at = look->id,
		.xorbs = 1,
		.bytes = (int64_t)look->bytes,
		.damaged = look->n_damaged,
		.mended = look->suspect && end == CAIRN_SCRUB_SOUND,
		.lost = lost,
		.unread = unread && !lost,
	};
	/* What stops refuses this and that, and says nothing about the disk: the next daemon looks again. */
	if (unread && status == CAIRN_OK && !rest_for(&app->rest, 0))
		return CAIRN_E_BUSY;
	if (unread && status == CAIRN_OK) {
		cairn_hash_text(xorb, &look->xorb);
		LOG(LOG_WARNING, "scrub_unread", LOG_T("xorb", xorb),
		    LOG_T("message", "the disk cannot read a copy of it, or its chunk list"));
	}
	return status;
}

static void scrub_add(struct app *app, const struct scrub_pass *add)
{
	struct scrub *s = &app->scrub;
	atomic_fetch_add(&s->n_xorbs, 1);
	pthread_mutex_lock(&s->lock);
	struct scrub_pass *now = &s->kept.now;
	now->at = add->at;
	now->xorbs += add->xorbs;
	now->bytes += add->bytes;
	now->damaged += add->damaged;
	now->mended += add->mended;
	now->lost += add->lost;
	now->unread += add->unread;
	pthread_mutex_unlock(&s->lock);
}

bool scrub_turn(struct app *app)
{
	struct scrub_pass now, add;
	struct cairn_scrub_look look;
	if (atomic_exchange(&app->scrub.told, false))
		scrub_keep(app);
	if (!scrub_is_due(app, &now))
		return false;
	struct scrub_walk walk = {.app = app, .bytes_per_s = now.total_bytes / now.within_s};
	if (walk.bytes_per_s < SCRUB_BYTES_PER_S_MIN)
		walk.bytes_per_s = SCRUB_BYTES_PER_S_MIN;
	const struct cairn_scrub_pace pace = {scrub_go_on, &walk};
	pace_be_idle(true);
	enum cairn_status status = cairn_cas_scrub_look(app->cas, now.at, &pace, &look);
	pace_be_idle(false); /* what waits for a guard waits for this thread */
	if (status == CAIRN_OK)
		status = scrub_settle(app, &look, &add);
	/* What is not there is no reason to hurry to the next. A stop is seen there. */
	if (status == CAIRN_OK && look.bytes == 0)
		(void)scrub_go_on(&walk, SCRUB_BYTES_MIN);
	if (status == CAIRN_OK) {
		scrub_add(app, &add);
		if (cairn_clock_mono_ms() - app->scrub.kept_ms >= SCRUB_KEEP_EVERY_MS)
			scrub_keep(app);
		return true;
	}
	if (status != CAIRN_E_BUSY && status != CAIRN_E_NOMEM) /* else: later, from here */
		scrub_end(app, status == CAIRN_E_NOT_FOUND);
	return false;
}

/* --- telling and being told --------------------------------------------------------------------------------------- */

void scrub_status(struct app *app, struct scrub_status *out)
{
	struct scrub *s = &app->scrub;
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
}

void scrub_start(struct app *app, int64_t within_s)
{
	struct scrub *s = &app->scrub;
	pthread_mutex_lock(&s->lock);
	s->kept.paused = false;
	if (s->kept.now.started_unix_s == 0)
		scrub_begin(app, within_s);
	else if (within_s > 0)
		s->kept.now.within_s = within_s;
	pthread_mutex_unlock(&s->lock);
	atomic_store(&s->told, true);
	rest_wake(&app->rest);
}

void scrub_pause(struct app *app)
{
	struct scrub *s = &app->scrub;
	pthread_mutex_lock(&s->lock);
	s->kept.paused = true;
	pthread_mutex_unlock(&s->lock);
	LOG(LOG_INFO, "scrub_paused", LOG_T("message", "until it is told to start"));
	atomic_store(&s->told, true);
	rest_wake(&app->rest);
}
