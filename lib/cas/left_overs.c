#include "cas/left_overs.h"

#include "base/clock.h"
#include "base/crash_point.h"
#include "cas/internal.h"

#include <stdlib.h>

struct left_overs_walk {
	struct cas_left_overs *l;
	int64_t before_unix_ms; /* what was made later may be of an upload that goes on */
	bool stopped;
	uint32_t n, n_unnamed;
	struct cairn_index_copy found[CAIRN_INDEX_SWEEP_MAX];
	struct cairn_index_copy unnamed[CAIRN_INDEX_SWEEP_MAX]; /* of those found */
};

/* --- where rows name copies --------------------------------------------------------------------------------------- */

static void left_overs_note(void *ctx, const struct cairn_hash *hash, const struct cairn_copy *copy)
{
	struct left_overs_walk *w = ctx;
	w->unnamed[w->n_unnamed++] = (struct cairn_index_copy){*hash, *copy};
}

/* Most are named, which is only read: the transactions of others do not wait for it. */
static enum cairn_status left_overs_write_off(struct left_overs_walk *w)
{
	struct cas_left_overs *l = w->l;
	w->n_unnamed = 0;
	enum cairn_status status = cairn_index_each_unnamed(l->cas->index, w->found, w->n, left_overs_note, w);
	if (status == CAIRN_E_BUSY)
		return cas_index_is_silent(&l->diag);
	if (status != CAIRN_OK || w->n_unnamed == 0)
		return status;
	cairn_crash_point(CAIRN_CRASH_GC_LISTED);
	struct cairn_index_write_off off = {.write.lease = l->lease, .copies = w->unnamed, .n = w->n_unnamed};
	status = cairn_index_write_off(l->cas->index, &off);
	if (status != CAIRN_OK)
		l->diag = off.write.diag;
	else
		l->n += off.n_dead;
	return status;
}

/* --- where they do not: this process alone writes the store ------------------------------------------------------- */

/* Under the guard no upload of this xorb is between its PUT and its row, and of several copies the last one counts. */
static enum cairn_status left_overs_judge(struct cairn_cas *cas, const struct cairn_index_copy *copy, bool *unneeded)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *last = NULL;
	struct cairn_index_xorb row;
	*unneeded = false;
	enum cairn_status status = cairn_index_xorb(cas->index, &copy->hash, &row);
	if (status == CAIRN_E_NOT_FOUND) {
		*unneeded = true;
		return CAIRN_OK;
	}
	if (status != CAIRN_OK || row.stored_bytes == 0)
		return status;
	status = cairn_store_get(cas->store, &copy->hash, &last);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	struct cairn_copy name = cairn_store_object_copy(last);
	*unneeded = !cairn_copy_equal(&name, &copy->copy);
	return CAIRN_OK;
}

static enum cairn_status left_overs_remove(struct cas_left_overs *l, const struct cairn_index_copy *copy)
{
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
	bool unneeded;
	enum cairn_status status = left_overs_judge(l->cas, copy, &unneeded);
	if (status != CAIRN_OK || !unneeded)
		return status;
	status = cairn_store_get_named(l->cas->store, &copy->hash, &copy->copy, &object);
	if (status == CAIRN_OK)
		status = cairn_store_remove_copy(l->cas->store, &copy->hash, &copy->copy);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	l->n++;
	l->bytes += cairn_store_object_bytes(object);
	return CAIRN_OK;
}

static enum cairn_status left_overs_remove_all(struct left_overs_walk *w)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < w->n && status == CAIRN_OK; i++) {
		struct cairn_guard guard;
		cairn_guard_take(&w->l->cas->guards, &guard, &w->found[i].hash);
		status = left_overs_remove(w->l, &w->found[i]);
		cairn_guard_release(&w->l->cas->guards, &guard);
	}
	return status;
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

static enum cairn_status left_overs_settle(struct left_overs_walk *w)
{
	enum cairn_status status = cas_names_copies(w->l->cas) ? left_overs_write_off(w) : left_overs_remove_all(w);
	w->n = 0;
	return status;
}

static enum cairn_status left_overs_visit(void *ctx, const struct cairn_hash *hash, const struct cairn_copy *copy)
{
	struct left_overs_walk *w = ctx;
	w->stopped = w->l->stop && w->l->stop(w->l->stop_ctx);
	if (w->stopped)
		return CAIRN_E_BUSY;
	if (cairn_copy_unix_ms(copy) >= w->before_unix_ms)
		return CAIRN_OK;
	w->found[w->n++] = (struct cairn_index_copy){*hash, *copy};
	return w->n == CAIRN_INDEX_SWEEP_MAX ? left_overs_settle(w) : CAIRN_OK;
}

enum cairn_status cas_settle_left_overs(struct cas_left_overs *l)
{
	struct cairn_cas *cas = l->cas;
	int64_t age_s = cas->options.gc_grace_s;
	l->n = l->bytes = 0;
	if (!cairn_store_names_copies(cas->store) || cas->options.xorbs_external)
		return CAIRN_OK;
	if (age_s < CAIRN_INDEX_COPY_LIFE_S)
		age_s = CAIRN_INDEX_COPY_LIFE_S;
	struct left_overs_walk *w = calloc(1, sizeof(*w));
	if (!w)
		return CAIRN_E_NOMEM;
	w->l = l;
	w->before_unix_ms = (cairn_clock_unix_s() - age_s) * 1000;
	enum cairn_status status = cairn_store_each_copy(cas->store, left_overs_visit, w);
	if (status == CAIRN_OK)
		status = left_overs_settle(w);
	if (status == CAIRN_E_BUSY && !w->stopped)
		status = cas_store_is_silent(&l->diag);
	if (w->stopped)
		status = CAIRN_OK;
	free(w);
	return status;
}
