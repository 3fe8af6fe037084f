#include "cas/garbage.h"

#include "base/clock.h"
#include "base/crash_point.h"
#include "base/fd.h"
#include "base/workers.h"
#include "cas/hold.h"
#include "cas/internal.h"
#include "store/pack.h"

#include <stdlib.h>

/* Threads that remove objects: some file systems take milliseconds to give back the blocks of one file, but do it for
 * several at once. */
enum { GC_LANES = 8 };

struct collection {
	struct cairn_cas *cas;
	bool (*stop)(void *ctx);
	void *stop_ctx;
	struct cairn_gc_report *report;
	struct cairn_hash swept[CAIRN_INDEX_SWEEP_MAX];
};

static enum cairn_status cas_change_owner(struct cairn_cas *cas, enum cairn_index_write_kind kind,
					  const struct cairn_hash *file, const char *owner, bool *changed)
{
	struct cairn_index_write write = {.kind = kind, .file = {.hash = *file, .owner = owner}};
	enum cairn_status status = cairn_index_write(cas->index, &write);
	*changed = status == CAIRN_OK && write.added;
	return status;
}

enum cairn_status cairn_cas_forget(struct cairn_cas *cas, const struct cairn_hash *file, const char *owner,
				   bool *forgotten)
{
	return cas_change_owner(cas, CAIRN_INDEX_FORGET_FILE, file, owner, forgotten);
}

enum cairn_status cairn_cas_share(struct cairn_cas *cas, const struct cairn_hash *file, const char *owner, bool *shared)
{
	return cas_change_owner(cas, CAIRN_INDEX_SHARE_FILE, file, owner, shared);
}

static bool gc_stops(const struct collection *c)
{
	return c->stop && c->stop(c->stop_ctx);
}

static enum cairn_status gc_mark(struct collection *c)
{
	enum cairn_status status = CAIRN_OK;
	int64_t from_id = 0;
	do {
		struct cairn_index_write mark = {
			.kind = CAIRN_INDEX_GC_MARK,
			.mark = {.now_unix_s = cairn_clock_unix_s(),
				 .grace_s = c->cas->options.gc_grace_s,
				 .from_id = from_id},
		};
		status = cairn_index_write(c->cas->index, &mark);
		if (status != CAIRN_OK)
			break;
		c->report->n_retired += mark.mark.n_retired;
		from_id = mark.mark.next_id;
		cairn_crash_point(CAIRN_CRASH_GC_MARKED);
	} while (from_id != 0 && !gc_stops(c));
	return status;
}

/* One thread's part of the xorbs that were swept. */
struct gc_lane {
	struct cairn_work work;
	struct cairn_cas *cas;
	const struct cairn_hash *swept;
	uint32_t n, first;
	uint64_t bytes_freed;
	enum cairn_status status; /* of the last removal that failed */
};

/* The row is durably gone. Under the guard no upload of this xorb is between its object and its row, so an object
 * without a row is garbage, and one whose row has come back is not. */
static enum cairn_status gc_remove_object(struct gc_lane *lane, const struct cairn_hash *hash)
{
	struct cairn_cas *cas = lane->cas;
	struct cairn_guard guard;
	struct cairn_index_xorb row;
	uint64_t bytes = 0;
	cairn_guard_take(&cas->guards, &guard, hash);
	enum cairn_status status = cairn_index_xorb(cas->index, hash, &row);
	if (status == CAIRN_E_NOT_FOUND) {
		status = cairn_store_stat(cas->store, hash, &bytes);
		if (status == CAIRN_OK)
			status = cairn_store_remove(cas->store, hash);
		cairn_crash_point(CAIRN_CRASH_GC_REMOVED);
		if (status == CAIRN_OK)
			lane->bytes_freed += bytes;
		else if (status == CAIRN_E_NOT_FOUND)
			status = CAIRN_OK;
	}
	cairn_guard_release(&cas->guards, &guard);
	return status;
}

static void gc_run_lane(struct cairn_work *work)
{
	struct gc_lane *lane = (struct gc_lane *)work;
	for (uint32_t i = lane->first; i < lane->n; i += GC_LANES) {
		/* An object that cannot be removed now is found by fsck; the rest must not wait for it. */
		enum cairn_status status = gc_remove_object(lane, &lane->swept[i]);
		if (status != CAIRN_OK)
			lane->status = status;
	}
}

static enum cairn_status gc_remove_objects(struct collection *c, uint32_t n)
{
	struct gc_lane lanes[GC_LANES];
	struct cairn_workers *workers;
	enum cairn_status status = cairn_workers_new(&workers, GC_LANES, GC_LANES);
	if (status != CAIRN_OK)
		return status;
	for (uint32_t i = 0; i < GC_LANES; i++) {
		lanes[i] =
			(struct gc_lane){.work.run = gc_run_lane, .cas = c->cas, .swept = c->swept, .n = n, .first = i};
		if (cairn_workers_submit(workers, &lanes[i].work) != CAIRN_OK)
			gc_run_lane(&lanes[i].work);
	}
	cairn_workers_free(workers); /* waits for all of them */
	for (uint32_t i = 0; i < GC_LANES; i++) {
		c->report->bytes_freed += lanes[i].bytes_freed;
		if (lanes[i].status != CAIRN_OK)
			status = lanes[i].status;
	}
	return status;
}

static enum cairn_status gc_sweep(struct collection *c)
{
	bool more = true;
	while (more && !gc_stops(c)) {
		struct cairn_index_write sweep = {
			.kind = CAIRN_INDEX_GC_SWEEP,
			.sweep = {.now_unix_s = cairn_clock_unix_s(),
				  .grace_s = c->cas->options.gc_grace_s,
				  .swept = c->swept,
				  .n_max = CAIRN_INDEX_SWEEP_MAX},
		};
		enum cairn_status status = cairn_index_write(c->cas->index, &sweep);
		if (status != CAIRN_OK)
			return status;
		c->report->n_swept += sweep.sweep.n;
		more = sweep.sweep.more;
		cairn_crash_point(CAIRN_CRASH_GC_SWEPT);
		if (sweep.sweep.n == 0)
			continue;
		cairn_answer_cache_clear(c->cas->cache);
		status = gc_remove_objects(c, sweep.sweep.n);
		if (status != CAIRN_OK)
			return status;
	}
	return CAIRN_OK;
}

static enum cairn_status gc_run(struct collection *c)
{
	struct cairn_cas *cas = c->cas;
	CLEANUP(cairn_fd_closep) int hold_fd = -1;
	enum cairn_status status = cairn_hold_exclude(cas->data_dir, &hold_fd, NULL);
	c->report->held = status == CAIRN_E_BUSY;
	if (status != CAIRN_OK)
		return status;
	status = gc_mark(c);
	if (c->report->n_retired > 0)
		cairn_answer_cache_clear(cas->cache);
	if (status == CAIRN_OK)
		status = gc_sweep(c);
	return status == CAIRN_OK ? cairn_store_tidy_packs(cas->store) : status;
}

enum cairn_status cairn_cas_gc(struct cairn_cas *cas, bool (*stop)(void *ctx), void *stop_ctx,
			       struct cairn_gc_report *out)
{
	*out = (struct cairn_gc_report){0};
	if (atomic_exchange(&cas->collecting, true))
		return CAIRN_E_BUSY;
	struct collection *c = calloc(1, sizeof(*c));
	enum cairn_status status = CAIRN_E_NOMEM;
	if (c) {
		*c = (struct collection){.cas = cas, .stop = stop, .stop_ctx = stop_ctx, .report = out};
		status = gc_run(c);
		free(c);
	}
	atomic_store(&cas->collecting, false);
	return status;
}
