#include "cas/keep/garbage.h"

#include "base/clock.h"
#include "base/crash_point.h"
#include "base/fd.h"
#include "cas/internal.h"
#include "cas/keep/left_overs.h"
#include "cas/keep/removal.h"
#include "data_dir/hold.h"
#include "index/daemon/lease.h"
#include "index/examine.h"
#include "index/hub/hub.h"
#include "index/needs.h"
#include "store/pack.h"

#include <stdlib.h>
#include <string.h>

enum { GC_KEEP_S = 86400 }; /* for plans that name a xorb, and backups whose index does */

struct collection {
	struct cairn_cas *cas;
	bool (*stop)(void *ctx);
	void *stop_ctx;
	struct cairn_gc_report *report;
	bool sweeps_only;
	struct cairn_index_needs *needs; /* owned */
	struct cairn_index_lease lease;
	struct cas_removal removal;
	uint64_t n_doubted; /* xorbs kept because a file names them although no reference does */
	struct cairn_hash swept[CAIRN_INDEX_SWEEP_MAX];
	struct cairn_copy_id dead[CAIRN_INDEX_SWEEP_MAX]; /* copy ids of the xorbs, if rows name copies */
	struct cairn_index_copy found[CAIRN_INDEX_SWEEP_MAX];
	uint32_t n_dead;
};

enum cairn_status cairn_cas_forget(struct cairn_cas *cas, const struct cairn_hash *file, const char *owner,
				   bool *forgotten)
{
	struct cairn_index_forget_file forget = {.hash = *file, .owner = owner};
	enum cairn_status status = cairn_index_forget_file(cas->index, &forget);
	*forgotten = status == CAIRN_OK && forget.forgotten;
	return status;
}

enum cairn_status cairn_cas_share(struct cairn_cas *cas, const struct cairn_hash *file, const char *owner, bool *shared,
				  struct cairn_diag *diag)
{
	struct cairn_index_share_file share = {.hash = *file, .owner = owner};
	enum cairn_status status = cairn_index_share_file(cas->index, &share);
	*shared = status == CAIRN_OK && share.shared;
	*diag = share.write.diag;
	return status;
}

static void gc_step(struct collection *c, enum cairn_gc_step step, uint64_t total)
{
	atomic_store(&c->cas->gc_done, 0);
	atomic_store(&c->cas->gc_total, total);
	atomic_store(&c->cas->gc_step, step);
}

static bool gc_stops(const struct collection *c)
{
	return c->stop && c->stop(c->stop_ctx);
}

/* Ends the collection if another daemon has taken over the lease. */
static enum cairn_status gc_wrote(struct collection *c, enum cairn_status status, const struct cairn_index_write *write)
{
	if (status == CAIRN_E_BUSY && write->diag.rule)
		c->report->diag = write->diag;
	return status;
}

static enum cairn_status gc_mark(struct collection *c)
{
	enum cairn_status status = CAIRN_OK;
	int64_t from_id = 0;
	if (c->sweeps_only)
		return CAIRN_OK;
	gc_step(c, CAIRN_GC_RETIRE, (uint64_t)cairn_index_needs_last_xorb(c->needs));
	do {
		struct cairn_index_gc_mark mark = {
			.write.lease = &c->lease,
			.needs = c->needs,
			.now_unix_s = cairn_clock_unix_s(),
			.grace_s = c->cas->options.gc_grace_s,
			.keep_s = GC_KEEP_S,
			.from_id = from_id,
		};
		status = gc_wrote(c, cairn_index_gc_mark(c->cas->index, &mark), &mark.write);
		if (status != CAIRN_OK)
			break;
		c->report->n_retired += mark.n_retired;
		c->n_doubted += mark.n_doubted;
		from_id = mark.next_id;
		atomic_store(&c->cas->gc_done, (uint64_t)from_id);
		cairn_crash_point(CAIRN_CRASH_GC_MARKED);
	} while (from_id != 0 && !gc_stops(c));
	return status;
}

/* --- dead copies -------------------------------------------------------------------------------------------------- */

/* A list of the dead copies by name. It starts after the copy at which the last collection gave up. */
struct gc_walk {
	struct cairn_copy_id after;
	struct cairn_copy_id until; /* the end of the second lap; unset: this is the first lap, or the only one */
};

static enum cairn_status gc_find_dead(struct collection *c, struct gc_walk *walk)
{
	struct cairn_index_find_dead find = {
		.write.lease = &c->lease,
		.after = walk->after,
		.found = c->found,
		.n_max = CAIRN_INDEX_SWEEP_MAX,
	};
	enum cairn_status status = gc_wrote(c, cairn_index_find_dead(c->cas->index, &find), &find.write);
	c->n_dead = 0;
	for (uint32_t i = 0; status == CAIRN_OK && i < find.n; i++) {
		const struct cairn_copy_id *copy = &c->found[i].copy;
		if (cairn_copy_id_is_set(&walk->until) && memcmp(copy->b, walk->until.b, sizeof(copy->b)) > 0)
			break;
		c->swept[c->n_dead] = c->found[i].hash;
		c->dead[c->n_dead++] = *copy;
		walk->after = *copy;
	}
	return status;
}

/* Removes the objects of a page, and records which are gone, even if the store stopped removing midway. */
static enum cairn_status gc_bury_page(struct collection *c)
{
	bool gone[CAIRN_INDEX_SWEEP_MAX] = {false};
	uint64_t tried = c->removal.n_kept;
	enum cairn_status status = cas_removal_run(&c->removal, c->swept, c->dead, c->n_dead, gone);
	tried = c->removal.n_kept - tried;
	if (c->removal.ended == CAIRN_E_IO && tried > 0)
		c->cas->dead_from = c->dead[(tried < c->n_dead ? tried : c->n_dead) - 1];
	struct cairn_index_bury bury = {.write.lease = &c->lease, .copies = c->dead};
	for (uint32_t i = 0; i < c->n_dead; i++)
		if (gone[i])
			c->dead[bury.n++] = c->dead[i];
	if (bury.n == 0)
		return status;
	enum cairn_status buried = gc_wrote(c, cairn_index_bury(c->cas->index, &bury), &bury.write);
	return status == CAIRN_OK ? buried : status;
}

/* Removes the objects of dead copies, if rows name copies, even those that earlier collections could not remove. Skips
 * an object that the store does not remove, so that it does not block later ones. */
static enum cairn_status gc_bury(struct collection *c)
{
	struct gc_walk walk = {.after = c->cas->dead_from};
	struct cairn_copy_id from = c->cas->dead_from;
	enum cairn_status status = CAIRN_OK;
	if (!cas_names_copies(c->cas))
		return CAIRN_OK;
	do {
		status = gc_find_dead(c, &walk);
		if (status == CAIRN_OK && c->n_dead > 0) {
			status = gc_bury_page(c);
		} else if (status == CAIRN_OK && cairn_copy_id_is_set(&from)) {
			walk = (struct gc_walk){.until = from};
			from = (struct cairn_copy_id){0};
		} else if (status == CAIRN_OK) {
			c->cas->dead_from = (struct cairn_copy_id){0};
			return CAIRN_OK;
		}
	} while (status == CAIRN_OK && !gc_stops(c));
	return status;
}

/* --- the steps of a collection ------------------------------------------------------------------------------------ */

/* Reports how many objects were removed, and how many are left. @param status  the collection's status so far */
static enum cairn_status gc_sum_up(struct collection *c, enum cairn_status status)
{
	struct cas_removal *r = &c->removal;
	c->report->bytes_freed += r->bytes_freed;
	c->report->n_unremoved = r->n_kept;
	if (r->ended == CAIRN_E_BUSY)
		return cas_store_is_silent(&c->report->diag);
	if (status != CAIRN_OK && status != r->ended)
		return status;
	uint64_t n_left = 0;
	if (r->ended != CAIRN_OK)
		(void)!cairn_index_count_dead(c->cas->index, &n_left); /* stays 0 if unknown */
	enum cairn_status kept = cas_removal_result(r, n_left, &c->report->diag);
	return kept == CAIRN_OK ? status : kept;
}

static enum cairn_status gc_sweep(struct collection *c)
{
	bool more = true;
	while (more && !gc_stops(c)) {
		struct cairn_index_gc_sweep sweep = {
			.write.lease = &c->lease,
			.needs = c->needs,
			.now_unix_s = cairn_clock_unix_s(),
			.grace_s = c->cas->options.gc_grace_s,
			.swept = c->swept,
			.n_max = CAIRN_INDEX_SWEEP_MAX,
		};
		enum cairn_status status = gc_wrote(c, cairn_index_gc_sweep(c->cas->index, &sweep), &sweep.write);
		if (status != CAIRN_OK)
			return status;
		c->report->n_swept += sweep.n;
		c->n_doubted += sweep.n_doubted;
		more = sweep.more;
		cairn_crash_point(CAIRN_CRASH_GC_SWEPT);
		if (sweep.n == 0)
			continue;
		cairn_answer_cache_clear(c->cas->cache);
		if (!cas_names_copies(c->cas))
			status =
				cas_removal_run(&c->removal, c->swept, NULL, sweep.n, (bool[CAIRN_INDEX_SWEEP_MAX]){0});
		if (status != CAIRN_OK)
			return status;
		atomic_store(&c->cas->gc_done, c->report->n_swept);
	}
	return CAIRN_OK;
}

static enum cairn_status gc_sweep_left_overs(struct collection *c)
{
	struct cas_left_overs l = {
		.cas = c->cas, .lease = &c->lease, .removal = &c->removal, .stop = c->stop, .stop_ctx = c->stop_ctx};
	enum cairn_status status = cas_sweep_left_overs(&l);
	c->report->n_left_over = l.n;
	if (l.diag.rule)
		c->report->diag = l.diag;
	return status;
}

/* Dead copies are removed even if the bucket cannot be listed. A silent index is not waited for a second time. */
static enum cairn_status gc_remove_dead(struct collection *c)
{
	enum cairn_status left = gc_sweep_left_overs(c);
	if (left == CAIRN_E_BUSY && cairn_index_health(c->cas->index, NULL) != CAIRN_OK)
		return left;
	enum cairn_status status = gc_bury(c);
	return status == CAIRN_OK ? left : status;
}

static enum cairn_status gc_refuse(struct collection *c, const char *what)
{
	enum cairn_status status = cairn_fail(
		&c->report->diag, CAIRN_E_DAMAGED, "gc.index", CAIRN_NO_OFFSET,
		"the index is damaged, and nothing more is removed; stop the daemon and run cairn fsck: %s", what);
	cairn_index_condemn(c->cas->index, &c->report->diag);
	return status;
}

static void gc_note_fault(void *ctx, const struct cairn_index_fault *fault)
{
	struct collection *c = ctx;
	(void)!gc_refuse(c, fault->text);
}

/* Checks the index before it is trusted: looks up by hash each xorb that the files' terms need. A xorb that is not
 * found could be stored twice, and sweeping the row that was left would remove its object. */
static enum cairn_status gc_hear_witnesses(struct collection *c)
{
	struct cairn_index_stats stats;
	cairn_index_stats(c->cas->index, &stats);
	gc_step(c, CAIRN_GC_FILES, stats.n_files);
	enum cairn_status status =
		cairn_index_needs_new(&c->needs, c->cas->index, &c->cas->gc_done, c->stop, c->stop_ctx);
	if (status == CAIRN_E_DAMAGED)
		return gc_refuse(c, "the terms of a file are malformed");
	if (status == CAIRN_E_IO)
		return cairn_fail(&c->report->diag, status, "gc.unread", CAIRN_NO_OFFSET,
				  "the terms of a file cannot be read, and nothing is removed: look at the disk");
	gc_step(c, CAIRN_GC_XORBS, 0);
	if (status == CAIRN_OK)
		status = cairn_index_examine_xorbs(c->cas->index, gc_note_fault, c);
	return status == CAIRN_OK && c->report->diag.rule ? CAIRN_E_DAMAGED : status;
}

/* Called if a file names a xorb without a reference: the file was deleted meanwhile, or the index is wrong. */
static enum cairn_status gc_check_references(struct collection *c)
{
	bool agree = false;
	if (c->n_doubted == 0)
		return CAIRN_OK;
	c->n_doubted = 0;
	enum cairn_status status = cairn_index_needs_agree(c->cas->index, &agree);
	if (status != CAIRN_OK || agree)
		return status;
	return gc_refuse(c, "the table reference disagrees with the terms of the files");
}

/* Removes commits and entries that no branch or tag reaches any more. */
static enum cairn_status gc_sweep_repos(struct collection *c)
{
	struct cairn_index_sweep_repos sweep = {
		.write.lease = &c->lease, .grace_s = c->cas->options.upload_grace_s, .more = !c->sweeps_only};
	enum cairn_status status = CAIRN_OK;
	while (status == CAIRN_OK && sweep.more && !gc_stops(c))
		status = gc_wrote(c, cairn_index_sweep_repos(c->cas->index, &sweep), &sweep.write);
	return status;
}

static enum cairn_status gc_run(struct collection *c)
{
	struct cairn_cas *cas = c->cas;
	CLEANUP(cairn_fd_closep) int hold_fd = -1;
	enum cairn_status status = cairn_hold_exclude(cas->data_dir, &hold_fd, NULL);
	c->report->held = status == CAIRN_E_BUSY;
	if (status != CAIRN_OK)
		return status;
	gc_step(c, CAIRN_GC_REPOS, 0);
	status = gc_sweep_repos(c);
	if (status != CAIRN_OK)
		return status;
	status = gc_hear_witnesses(c);
	if (status == CAIRN_E_BUSY && gc_stops(c))
		return CAIRN_OK;
	if (status == CAIRN_OK)
		status = gc_mark(c);
	if (c->report->n_retired > 0)
		cairn_answer_cache_clear(cas->cache);
	if (status == CAIRN_OK)
		status = gc_check_references(c);
	gc_step(c, CAIRN_GC_REMOVE, 0);
	if (status == CAIRN_OK)
		status = gc_sweep(c);
	if (status == CAIRN_OK)
		status = gc_check_references(c);
	if (status == CAIRN_OK)
		status = c->sweeps_only ? gc_bury(c) : gc_remove_dead(c);
	cairn_index_needs_freep(&c->needs);
	return status == CAIRN_OK ? cairn_store_tidy_packs(cas->store) : status;
}

/* Collects under the lease, so that only one daemon at a time collects. A collection that was stopped or only swept
 * does not count as done. */
static enum cairn_status gc_run_alone(struct collection *c)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = cairn_index_take_lease(c->cas->index, CAIRN_INDEX_COLLECT, &c->lease, &diag);
	if (status == CAIRN_E_CONFLICT && cairn_diag_has(&diag, "lease.taken"))
		return CAIRN_E_BUSY;
	if (status != CAIRN_OK) {
		c->report->diag = diag;
		return status;
	}
	cas_removal_init(&c->removal, c->cas);
	status = gc_sum_up(c, gc_run(c));
	cas_removal_fini(&c->removal);
	if (status == CAIRN_E_BUSY && !c->report->held) {
		(void)cas_index_is_silent(&c->report->diag);
		cairn_index_leave_lease(c->cas->index, &c->lease);
		return status;
	}
	bool whole = !c->sweeps_only && !gc_stops(c) && status != CAIRN_E_BUSY;
	int64_t now_unix_s = whole ? cairn_clock_unix_s() : 0;
	(void)!cairn_index_give_lease(c->cas->index, &c->lease, now_unix_s, status == CAIRN_OK ? now_unix_s : 0);
	return status;
}

void cairn_cas_gc_progress(struct cairn_cas *cas, struct cairn_gc_progress *out)
{
	*out = (struct cairn_gc_progress){
		.step = (enum cairn_gc_step)atomic_load(&cas->gc_step),
		.started_unix_s = atomic_load(&cas->gc_started_unix_s),
		.done = atomic_load(&cas->gc_done),
		.total = atomic_load(&cas->gc_total),
	};
	/* Files may be added after they were counted, and the step may change between the loads. */
	if (out->total > 0 && out->done > out->total)
		out->done = out->total;
}

static enum cairn_status gc_begin(struct cairn_cas *cas, bool sweeps_only, bool (*stop)(void *ctx), void *stop_ctx,
				  struct cairn_gc_report *out)
{
	*out = (struct cairn_gc_report){0};
	if (atomic_exchange(&cas->collecting, true))
		return CAIRN_E_BUSY;
	struct collection *c = calloc(1, sizeof(*c));
	enum cairn_status status = CAIRN_E_NOMEM;
	if (c) {
		*c = (struct collection){
			.cas = cas, .sweeps_only = sweeps_only, .stop = stop, .stop_ctx = stop_ctx, .report = out};
		atomic_store(&cas->gc_started_unix_s, cairn_clock_unix_s());
		status = gc_run_alone(c);
		free(c);
	}
	atomic_store(&cas->gc_step, CAIRN_GC_IDLE);
	atomic_store(&cas->collecting, false);
	return status;
}

enum cairn_status cairn_cas_gc(struct cairn_cas *cas, bool (*stop)(void *ctx), void *stop_ctx,
			       struct cairn_gc_report *out)
{
	return gc_begin(cas, false, stop, stop_ctx, out);
}

enum cairn_status cairn_cas_sweep(struct cairn_cas *cas, bool (*stop)(void *ctx), void *stop_ctx,
				  struct cairn_gc_report *out)
{
	return gc_begin(cas, true, stop, stop_ctx, out);
}
