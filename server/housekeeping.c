#include "server/housekeeping.h"

#include "backup/backup.h"
#include "base/clock.h"
#include "cas/body.h"
#include "cas/losses.h"
#include "cas/service/keys.h"
#include "cas/service/trim.h"
#include "data_dir/hold.h"
#include "data_dir/note.h"
#include "hash/crypto.h"
#include "hub/kept_card.h"
#include "server/app.h"
#include "server/collect.h"
#include "server/log/log.h"
#include "server/mirror_room.h"
#include "server/scrub.h"

#include <pthread.h>
#include <stdlib.h>

enum {
	HOUSEKEEPING_EVERY_US = 1000 * 1000,    /* how often it checks the clock, which tests and people move */
	HOUSEKEEPING_LOOK_MS = 900,             /* how often it searches for other work, even while it scrubs */
	HOUSEKEEPING_AGAIN_MS = 10 * 60 * 1000, /* when it retries a collection that was held off */
	HOUSEKEEPING_DAY_S = 86400,
	HOUSEKEEPING_KEYS_KEPT_S = CAIRN_KEY_KEPT_DAYS * HOUSEKEEPING_DAY_S,
	HOUSEKEEPING_TRIM_MS = 3600 * 1000,
	HOUSEKEEPING_CARDS_MS = HOUSEKEEPING_DAY_S * 1000,
	HOUSEKEEPING_USAGE_MS = 10 * 1000, /* when it retries after another daemon computed the figures */
	HOUSEKEEPING_SILENT_S = 3,         /* a running backup writes its note more often than this */
};

struct housekeeping {
	struct app *app;
	pthread_t thread;
	/* the earliest next time of each job, on the monotonic clock; only for this thread */
	int64_t look_ms, collect_ms, trim_ms, usage_ms, cards_ms;
	uint64_t salt; /* spreads the daily jobs of several servers over the time window (schedule.h) */
	struct mirror_room mirror;
	bool logged_lost; /* housekeeping has logged that the search for lost files failed */
};

static bool housekeeping_stops(void *ctx)
{
	const struct housekeeping *h = ctx;
	return atomic_load(&h->app->stopping);
}

static void housekeeping_collect(struct housekeeping *h)
{
	struct cairn_gc_report report;
	struct schedule schedule = atomic_load(&h->app->live.gc_schedule);
	int64_t ran = atomic_load(&h->app->garbage.ran_unix_s), now = cairn_clock_unix_s();
	int64_t next = schedule_next(&schedule, ran != 0 ? ran : h->app->started_unix_s, now, h->salt);
	if (next == 0 || now < next || cairn_clock_mono_ms() < h->collect_ms)
		return;
	if (collect_run(h->app, housekeeping_stops, h, &report) == CAIRN_E_BUSY)
		h->collect_ms = cairn_clock_mono_ms() + HOUSEKEEPING_AGAIN_MS;
}

static void housekeeping_trim_keys(struct housekeeping *h)
{
	uint64_t n;
	enum cairn_status status =
		cairn_cas_trim(h->app->cas, CAIRN_INDEX_TRIM_KEYS, cairn_clock_unix_s() - HOUSEKEEPING_KEYS_KEPT_S,
			       housekeeping_stops, h, &n);
	if (n > 0 || status != CAIRN_OK)
		LOG(status == CAIRN_OK ? LOG_INFO : LOG_WARNING, "keys_trimmed",
		    LOG_T("status", cairn_status_name(status)), LOG_N("dropped", n));
}

static void housekeeping_trim_telemetry(struct housekeeping *h)
{
	int64_t age_s = (int64_t)atomic_load(&h->app->live.telemetry_age_s);
	uint64_t n;
	if (age_s == 0)
		return;
	enum cairn_status status = cairn_cas_trim(h->app->cas, CAIRN_INDEX_TRIM_TELEMETRY, cairn_clock_unix_s() - age_s,
						  housekeeping_stops, h, &n);
	atomic_fetch_add(&h->app->telemetry_trimmed, n);
	if (n > 0 || status != CAIRN_OK)
		LOG(status == CAIRN_OK ? LOG_INFO : LOG_WARNING, "telemetry_trimmed",
		    LOG_T("status", cairn_status_name(status)), LOG_N("dropped", n));
}

static void housekeeping_trim(struct housekeeping *h)
{
	if (cairn_clock_mono_ms() < h->trim_ms)
		return;
	h->trim_ms = cairn_clock_mono_ms() + HOUSEKEEPING_TRIM_MS;
	housekeeping_trim_telemetry(h);
	housekeeping_trim_keys(h);
}

/* Keeps the cards that no commit has kept. Some are of an index older than cards, others of commits after which a
 * daemon ended at once. A failed card is retried on the next day, or by the next commit. */
static void housekeeping_keep_cards(struct housekeeping *h)
{
	if (!h->app->config.hub || cairn_clock_mono_ms() < h->cards_ms)
		return;
	h->cards_ms = cairn_clock_mono_ms() + HOUSEKEEPING_CARDS_MS;
	enum cairn_status status = cairn_hub_keep_cards(&h->app->hub, housekeeping_stops, h);
	if (status != CAIRN_OK)
		LOG(LOG_WARNING, "cards_failed", LOG_T("status", cairn_status_name(status)),
		    LOG_T("message", "lists may not find some repositories by their README.md until tomorrow"));
}

/* Reads the notes of the command cairn backup, which runs in another process. */
static void housekeeping_hear_of_backups(struct app *app)
{
	struct app_backup *b = &app->backup;
	int64_t ran = 0, good = 0, failed = 0, bytes = 0;
	const struct cairn_note_field fields[] = {
		{"ran", &ran}, {"good", &good}, {"failed", &failed}, {"bytes", &bytes}};
	if (cairn_note_read(app->config.data_dir, CAIRN_BACKUP_NOTE, fields, 4) != CAIRN_OK)
		return;
	atomic_store(&b->good_unix_s, good);
	atomic_store(&b->good_bytes, bytes);
	atomic_store(&b->failed, failed != 0);
	atomic_store(&b->ran_unix_s, ran);
}

/* Does a backup without news still run? It may be slow, or it was killed and no longer holds off collections. This is
 * tested once per backup, because the test itself holds off a collection for a moment. */
static bool housekeeping_backup_lives(const struct housekeeping *h, int64_t seen_unix_s)
{
	const struct app_backup *b = &h->app->backup;
	if (seen_unix_s <= atomic_load(&b->ran_unix_s))
		return false; /* the backup has ended */
	if (cairn_clock_unix_s() - seen_unix_s < HOUSEKEEPING_SILENT_S)
		return true;
	if (seen_unix_s == atomic_load(&b->seen_unix_s) && !atomic_load(&b->running))
		return false; /* the backup was found dead, and has written no note since then */
	return cairn_hold_is_held(h->app->config.data_dir);
}

static void housekeeping_hear_of_a_running_backup(struct housekeeping *h)
{
	struct app_backup *b = &h->app->backup;
	int64_t started = 0, seen = 0, done = 0, total = 0;
	const struct cairn_note_field fields[] = {
		{"started", &started}, {"seen", &seen}, {"done", &done}, {"total", &total}};
	if (cairn_note_read(h->app->config.data_dir, CAIRN_BACKUP_RUN_NOTE, fields, 4) != CAIRN_OK)
		return;
	bool running = housekeeping_backup_lives(h, seen);
	atomic_store(&b->started_unix_s, started);
	atomic_store(&b->total_bytes, total);
	atomic_store(&b->done_bytes, done);
	atomic_store(&b->seen_unix_s, seen);
	atomic_store(&b->running, running);
}

static void housekeeping_note_growth(struct app *app)
{
	int64_t day = cairn_clock_unix_s() / HOUSEKEEPING_DAY_S;
	struct cairn_cas_stats stats;
	if (!growth_misses(&app->growth, day))
		return;
	cairn_cas_stats(app->cas, &stats);
	if (growth_take(&app->growth, app->config.data_dir, day, (int64_t)stats.index.stored_bytes) != CAIRN_OK)
		LOG(LOG_WARNING, "note_failed", LOG_T("note", "growth"),
		    LOG_T("message", "after a restart this day's size is not known"));
}

static void housekeeping_renew_usage(struct housekeeping *h)
{
	if (!atomic_load(&h->app->usage_wanted) || cairn_clock_mono_ms() < h->usage_ms)
		return;
	h->usage_ms = cairn_clock_mono_ms() + HOUSEKEEPING_USAGE_MS;
	h->app->collected(h->app);
}

/* Searches for lost files. After a failure the next search tries again. A series of failures is logged once. */
static void housekeeping_search_losses(struct housekeeping *h)
{
	enum cairn_status status = cairn_losses_search(h->app->cas, housekeeping_stops, h);
	struct cairn_losses_sum sum;
	cairn_losses_sum(h->app->cas, &sum);
	if (status != CAIRN_OK && sum.has_failed && !h->logged_lost)
		LOG(LOG_WARNING, "lost_look_failed", LOG_T("status", cairn_status_name(status)),
		    LOG_T("message", "the files that need lost xorbs are not known until a search succeeds"));
	h->logged_lost = sum.has_failed;
}

static void housekeeping_do_due(struct housekeeping *h)
{
	if (cairn_clock_mono_ms() < h->look_ms)
		return;
	cairn_body_trim_memory();
	housekeeping_hear_of_backups(h->app);
	housekeeping_hear_of_a_running_backup(h);
	collect_hear_of_others(h->app);
	housekeeping_search_losses(h); /* before the collection, because that may take minutes */
	mirror_room_keep(&h->mirror, h->app, housekeeping_stops, h);
	housekeeping_collect(h);
	housekeeping_trim(h);
	housekeeping_renew_usage(h);
	housekeeping_keep_cards(h);
	housekeeping_note_growth(h->app);
	traffic_sample(&h->app->traffic, h->app->metrics, cairn_clock_mono_ms());
	h->look_ms = cairn_clock_mono_ms() + HOUSEKEEPING_LOOK_MS;
}

static void *housekeeping_loop(void *arg)
{
	struct housekeeping *h = arg;
	bool more;
	(void)pthread_setname_np(pthread_self(), "housekeeping");
	do {
		housekeeping_do_due(h);
		more = scrub_turn(h->app);
	} while (rest_for(&h->app->rest, more ? 0 : HOUSEKEEPING_EVERY_US));
	scrub_leave(h->app);
	return NULL;
}

enum cairn_status housekeeping_start(struct housekeeping **out, struct app *app)
{
	*out = NULL;
	struct housekeeping *h = calloc(1, sizeof(*h));
	if (!h)
		return CAIRN_E_NOMEM;
	h->app = app;
	housekeeping_note_growth(app); /* before any request is served, so that each day has the bytes at its start */
	/* without random bytes, all daemons collect at the same time of day */
	(void)!cairn_random((uint8_t *)&h->salt, sizeof(h->salt));
	if (pthread_create(&h->thread, NULL, housekeeping_loop, h) != 0) {
		free(h);
		return CAIRN_E_NOMEM;
	}
	*out = h;
	return CAIRN_OK;
}

void housekeeping_stop(struct housekeeping *h)
{
	if (!h)
		return;
	rest_end(&h->app->rest);
	pthread_join(h->thread, NULL);
	free(h);
}
