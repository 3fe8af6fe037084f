#include "server/mirror_room.h"

#include "base/clock.h"
#include "cas/keep/withdraw.h"
#include "cas/room.h"
#include "mirror/evict.h"
#include "server/collect.h"
#include "server/log/log.h"

enum {
	MIRROR_ROOM_LOOK_MS = 5 * 1000,
	MIRROR_ROOM_DAY_S = 86400,
	/* Percentages of the limit: evicting begins at the first and goes down to the second. */
	MIRROR_ROOM_FULL = 90,
	MIRROR_ROOM_EASY = 85,
	/* Percentage of the limit up to which bytes are offered to uploaders, or were within gc_grace. */
	MIRROR_ROOM_OFFERED = 50,
	MIRROR_ROOM_WITHDRAW_S = 3600,
	MIRROR_ROOM_KEEP_S = 3600, /* evicted bytes stay for so long, or for fetch_ttl if longer */
	MIRROR_ROOM_AGAIN_S = 600, /* when a sweep is tried again that something held off */
	MIRROR_ROOM_MEASURE_MS = 60 * 1000,
	/* Percentage of the limit. When the mirror holds that much more or less, offers are measured at once. */
	MIRROR_ROOM_CHANGED = 1,
};

/* Returns a percentage of a number of bytes. */
static uint64_t mirror_room_share(uint64_t bytes, unsigned percent)
{
	return bytes / 100 * percent;
}

/* Forgets evicted bytes once a collection has freed them. Each collection counts the garbage that is left. */
static void mirror_room_note_freed(struct mirror_room *room, const struct app *app)
{
	const struct app_garbage *garbage = &app->garbage;
	uint64_t left = UINT64_MAX;
	if (atomic_load(&garbage->counted_unix_s) > room->evicted_s)
		left = atomic_load(&garbage->bytes);
	if (cairn_clock_unix_s() >= room->pending_until_s)
		left = 0;
	if (room->pending_bytes > left)
		room->pending_bytes = left;
}

/* Returns how many bytes mirrored repositories may take. Counts evicted bytes as free, although a collection has yet to
 * free them. */
static uint64_t mirror_room_limit(struct mirror_room *room, const struct app *app, uint64_t bytes, uint64_t free_bytes)
{
	uint64_t reserve = app->config.reserve_bytes;
	if (app->config.mirror_bytes_max != 0)
		return app->config.mirror_bytes_max;
	if (free_bytes == UINT64_MAX)
		return UINT64_MAX;
	mirror_room_note_freed(room, app);
	uint64_t all = bytes + room->pending_bytes + free_bytes;
	return all > reserve ? all - reserve : 0;
}

/* Returns how long one more file may be. Does not count bytes that a collection has yet to free, so that uploads do not
 * find the disk full. */
static uint64_t mirror_room_left(const struct app *app, uint64_t limit, uint64_t bytes, uint64_t free_bytes)
{
	uint64_t reserve = app->config.reserve_bytes;
	uint64_t left = limit > bytes ? limit - bytes : 0;
	uint64_t most = free_bytes > reserve ? free_bytes - reserve : 0;
	return app->config.mirror_bytes_max == 0 && most < left ? most : left;
}

/* Returns how many bytes to evict, to keep some free space, or to make room for a file that did not fit. */
static uint64_t mirror_room_lacks(struct app *app, uint64_t limit, uint64_t bytes)
{
	uint64_t wanted = cairn_mirror_take_wanted(app->mirror);
	uint64_t most = mirror_room_share(limit, MIRROR_ROOM_FULL), easy = mirror_room_share(limit, MIRROR_ROOM_EASY);
	if (wanted > 0 && wanted <= limit && limit - wanted < easy)
		most = easy = limit - wanted;
	return bytes > most ? bytes - easy : 0;
}

/* Adds the bytes that were evicted since the last call, here or by the operator's commands, to those that a collection
 * has yet to free. */
static void mirror_room_note_evicted(struct mirror_room *room, const struct app *app)
{
	uint64_t evicted = atomic_load(&app->mirror_counts.evicted_bytes);
	if (evicted == room->noted_bytes)
		return;
	room->pending_bytes += evicted - room->noted_bytes;
	room->noted_bytes = evicted;
	room->evicted_s = cairn_clock_unix_s();
	room->pending_until_s =
		room->evicted_s + 2 * (int64_t)cairn_cas_options_of(app->cas)->gc_grace_s + MIRROR_ROOM_DAY_S;
}

/* Returns how long evicted bytes stay: plans name them until their addresses expire. */
static uint32_t mirror_room_keep_s(const struct app *app)
{
	uint32_t ttl_s = (uint32_t)atomic_load(&app->live.fetch_ttl_s);
	return ttl_s > MIRROR_ROOM_KEEP_S ? ttl_s : MIRROR_ROOM_KEEP_S;
}

static void mirror_room_evict(struct mirror_room *room, struct app *app, uint64_t bytes, bool (*stops)(void *ctx),
			      void *ctx)
{
	struct cairn_mirror_evicted evicted, parts;
	int64_t now = cairn_clock_unix_s(), before_day = now / MIRROR_ROOM_DAY_S - 1;
	enum cairn_status status =
		cairn_mirror_evict_parts(&app->hub, bytes, now - MIRROR_ROOM_DAY_S, stops, ctx, &parts);
	uint64_t left = bytes > parts.bytes ? bytes - parts.bytes : 0;
	if (status == CAIRN_OK)
		status = cairn_mirror_evict(&app->hub, left, before_day, mirror_room_keep_s(app), stops, ctx, &evicted);
	else
		evicted = (struct cairn_mirror_evicted){0};
	evicted.n += parts.n;
	evicted.bytes += parts.bytes;
	atomic_fetch_add(&app->mirror_counts.evicted_bytes, evicted.bytes);
	mirror_room_note_evicted(room, app);
	if (evicted.n > 0 && room->sweep_s == 0)
		room->sweep_s = now + mirror_room_keep_s(app);
	if (evicted.n > 0)
		room->measure_ms = 0;
	if (evicted.n > 0 || status != CAIRN_OK)
		LOG(status == CAIRN_OK ? LOG_INFO : LOG_WARNING, "mirror_evict",
		    LOG_T("status", cairn_status_name(status)), LOG_N("files", evicted.n),
		    LOG_N("bytes", evicted.bytes), LOG_N("wanted_bytes", bytes),
		    LOG_T("message", "files of the mirrored hub that nobody has read for long were evicted"));
}

/* May collections run by themselves? An operator who copies the store file by file stops them. */
static bool mirror_room_may_sweep(const struct app *app)
{
	struct schedule schedule = atomic_load(&app->live.gc_schedule);
	return schedule.every_s != 0 || schedule.minutes != 0;
}

/* Sweeps if there is something to remove: a sweep examines the whole index first. @return CAIRN_E_BUSY: try again */
static enum cairn_status mirror_room_sweep_due(struct app *app, bool (*stops)(void *ctx), void *ctx,
					       struct cairn_gc_report *report)
{
	struct cairn_index_unoffered_sum sum;
	*report = (struct cairn_gc_report){0};
	enum cairn_status status = cairn_cas_sum_unoffered(app->cas, &sum);
	if (status != CAIRN_OK)
		return CAIRN_E_BUSY;
	return sum.due_bytes > 0 ? collect_sweep(app, stops, ctx, report) : CAIRN_OK;
}

/* Removes the bytes of evicted files, as soon as no plan can name them. A daemon that stopped meanwhile has forgotten
 * when that is, so the first call expects an eviction just before. */
static void mirror_room_sweep(struct mirror_room *room, struct app *app, bool (*stops)(void *ctx), void *ctx)
{
	struct cairn_gc_report report;
	int64_t now = cairn_clock_unix_s(), keep_s = mirror_room_keep_s(app);
	if (room->sweep_s > now + keep_s || room->look_ms == 0)
		room->sweep_s = now + keep_s; /* the clock was set back, or the daemon has just started */
	if (room->sweep_s == 0 || now < room->sweep_s || !mirror_room_may_sweep(app))
		return;
	if (mirror_room_sweep_due(app, stops, ctx, &report) == CAIRN_E_BUSY)
		room->sweep_s = now + MIRROR_ROOM_AGAIN_S;
	else
		room->sweep_s = room->evicted_s + keep_s > now ? room->evicted_s + keep_s : 0;
	room->pending_bytes -= report.bytes_freed < room->pending_bytes ? report.bytes_freed : room->pending_bytes;
	if (report.bytes_freed > 0)
		room->measure_ms = 0;
}

/* Withdraws xorbs well before their files are evicted, so that no client still counts on them. Offers others again, and
 * is due each hour. */
static void mirror_room_withdraw(struct mirror_room *room, struct app *app, uint64_t limit, uint64_t bytes,
				 bool (*stops)(void *ctx), void *ctx)
{
	uint64_t offered = mirror_room_share(limit, MIRROR_ROOM_OFFERED);
	int64_t now = cairn_clock_unix_s();
	room->withdraw_s = now + MIRROR_ROOM_WITHDRAW_S;
	enum cairn_status status = cairn_mirror_withdraw(&app->hub, bytes > offered ? bytes - offered : 0, room->offers,
							 now / MIRROR_ROOM_DAY_S - 1, stops, ctx);
	if (status != CAIRN_OK)
		LOG(LOG_WARNING, "mirror_withdraw", LOG_T("status", cairn_status_name(status)),
		    LOG_T("message", "what is evicted next could not be withdrawn, so its bytes leave the disk later"));
}

/* Measures how many bytes are bound: they are offered, or were within gc_grace, and would stay for that time when they
 * are evicted. Garbage of this server that waits to be removed counts, too. Revisions of a model share chunks, so what
 * the repositories hold may be more than the whole store. */
static enum cairn_status mirror_room_measure_offers(struct mirror_room *room, struct app *app, uint64_t limit,
						    uint64_t bytes)
{
	struct cairn_index_unoffered_sum sum;
	enum cairn_status status = cairn_cas_sum_unoffered(app->cas, &sum);
	if (status != CAIRN_OK)
		return status;
	uint64_t held = bytes < sum.needed_bytes ? bytes : sum.needed_bytes;
	uint64_t bound = (held > sum.free_bytes ? held - sum.free_bytes : 0) + sum.retired_bytes;
	uint64_t most = mirror_room_share(limit, MIRROR_ROOM_OFFERED);
	room->offers = most > bound ? most - bound : 0;
	room->measured_bytes = bytes;
	room->measure_ms = cairn_clock_mono_ms() + MIRROR_ROOM_MEASURE_MS;
	atomic_store(&app->mirror_counts.withdrawn_bytes, sum.withdrawn_bytes);
	atomic_store(&app->mirror_counts.bound_bytes, bound);
	return CAIRN_OK;
}

static bool mirror_room_measure_is_due(const struct mirror_room *room, uint64_t limit, uint64_t bytes)
{
	uint64_t changed = bytes > room->measured_bytes ? bytes - room->measured_bytes : room->measured_bytes - bytes;
	return cairn_clock_mono_ms() >= room->measure_ms || changed > mirror_room_share(limit, MIRROR_ROOM_CHANGED);
}

static bool mirror_room_withdraw_is_due(const struct mirror_room *room)
{
	int64_t now = cairn_clock_unix_s();
	return now >= room->withdraw_s || room->withdraw_s - now > MIRROR_ROOM_WITHDRAW_S;
}

/* Measures what is offered, seldom, because that reads each withdrawn xorb. Measures again after xorbs were offered, so
 * that no fetch gets the same room for offers. Bytes that came since the last time count as offered.
 * @param[out] offers  how much more may be offered */
static enum cairn_status mirror_room_settle_offers(struct mirror_room *room, struct app *app, uint64_t limit,
						   uint64_t bytes, uint64_t *offers, bool (*stops)(void *ctx),
						   void *ctx)
{
	bool withdraws = mirror_room_withdraw_is_due(room);
	enum cairn_status status = CAIRN_OK;
	if (withdraws || mirror_room_measure_is_due(room, limit, bytes))
		status = mirror_room_measure_offers(room, app, limit, bytes);
	if (status == CAIRN_OK && withdraws) {
		mirror_room_withdraw(room, app, limit, bytes, stops, ctx);
		status = mirror_room_measure_offers(room, app, limit, bytes);
	}
	uint64_t came = bytes > room->measured_bytes ? bytes - room->measured_bytes : 0;
	*offers = room->offers > came ? room->offers - came : 0;
	return status;
}

void mirror_room_keep(struct mirror_room *room, struct app *app, bool (*stops)(void *ctx), void *ctx)
{
	uint64_t bytes = 0, n_files = 0, offers;
	if (!app->mirror || cairn_clock_mono_ms() < room->look_ms)
		return;
	mirror_room_sweep(room, app, stops, ctx);
	room->look_ms = cairn_clock_mono_ms() + MIRROR_ROOM_LOOK_MS;
	cairn_mirror_begin_room(app->mirror);
	if (cairn_mirror_sum(&app->hub, &bytes, &n_files) != CAIRN_OK)
		return;
	mirror_room_note_evicted(room, app);
	uint64_t free_bytes = cairn_cas_free_bytes(app->cas);
	uint64_t limit = mirror_room_limit(room, app, bytes, free_bytes);
	uint64_t lacks = mirror_room_lacks(app, limit, bytes);
	if (lacks > 0) {
		mirror_room_evict(room, app, lacks, stops, ctx);
		cairn_mirror_begin_room(app->mirror);
		if (cairn_mirror_sum(&app->hub, &bytes, &n_files) != CAIRN_OK)
			return;
	}
	if (mirror_room_settle_offers(room, app, limit, bytes, &offers, stops, ctx) != CAIRN_OK)
		return;
	cairn_mirror_set_room(app->mirror, mirror_room_left(app, limit, bytes, free_bytes), limit, offers,
			      app->config.mirror_bytes_max == 0);
	atomic_store(&app->mirror_counts.bytes, bytes);
	atomic_store(&app->mirror_counts.n_files, n_files);
}
