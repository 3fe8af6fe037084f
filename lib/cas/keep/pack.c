#include "cas/keep/pack.h"

#include "base/clock.h"
#include "cas/internal.h"
#include "cas/room.h"
#include "index/operate.h"

#include <stdlib.h>

enum { PACK_PAGE = 256 };

struct packing {
	struct cairn_cas *cas;
	const struct cairn_pack_options *options;
	struct cairn_pack_report *report;
	struct cairn_store_packing *store;
	int64_t arrived_before_unix_s;
	uint32_t n_page;
	struct cairn_hash page[PACK_PAGE]; /* xorbs that may be old enough */
	uint64_t page_bytes[PACK_PAGE];
};

static bool packing_wants(const struct packing *p, const struct cairn_index_xorb *xorb)
{
	return xorb->stored_bytes > 0 && !xorb->retired && xorb->at_unix_s <= p->arrived_before_unix_s;
}

static void packing_note(void *ctx, const struct cairn_index_xorb *xorb)
{
	struct packing *p = ctx;
	if (!packing_wants(p, xorb))
		return;
	p->page_bytes[p->n_page] = xorb->stored_bytes;
	p->page[p->n_page++] = xorb->hash;
}

static enum cairn_status packing_step(const struct packing *p)
{
	return !p->options->progress || p->options->progress(p->options->ctx, p->report) ? CAIRN_OK : CAIRN_E_BUSY;
}

/* Visits the xorbs in the order of their arrival, a page at a time. */
static enum cairn_status packing_walk(struct packing *p, enum cairn_status (*each)(struct packing *p))
{
	int64_t from_id = 0;
	do {
		p->n_page = 0;
		enum cairn_status status =
			cairn_index_each_xorb(p->cas->index, from_id, PACK_PAGE, packing_note, p, &from_id);
		if (status == CAIRN_OK)
			status = each(p);
		if (status != CAIRN_OK)
			return status;
	} while (from_id != 0);
	return CAIRN_OK;
}

static enum cairn_status packing_sum(struct packing *p)
{
	for (uint32_t i = 0; i < p->n_page; i++)
		if (cairn_store_packing_wants(p->store, &p->page[i], p->page_bytes[i]))
			p->report->total_bytes += p->page_bytes[i];
	return CAIRN_OK;
}

/* Copies a xorb into the pack. Under the guard no other thread stores or removes this xorb. Its row may have changed
 * since the page was read. */
static enum cairn_status packing_copy_one(struct packing *p, const struct cairn_hash *hash)
{
	struct cairn_guard guard;
	struct cairn_index_xorb row;
	bool added = false;
	cairn_guard_take(&p->cas->guards, &guard, hash);
	enum cairn_status status = cairn_index_xorb(p->cas->index, hash, &row);
	if (status == CAIRN_OK && packing_wants(p, &row))
		status = cairn_store_packing_add(p->store, hash, row.stored_bytes, &added);
	cairn_guard_release(&p->cas->guards, &guard);
	if (added) {
		p->report->n_packed++;
		p->report->bytes_packed += row.stored_bytes;
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status packing_copy(struct packing *p)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < p->n_page && status == CAIRN_OK; i++) {
		status = packing_copy_one(p, &p->page[i]);
		if (status == CAIRN_OK)
			status = packing_step(p);
	}
	return status;
}

static enum cairn_status packing_drop(void *ctx, const struct cairn_hash *hash, uint64_t bytes)
{
	struct packing *p = ctx;
	struct cairn_guard guard;
	(void)bytes;
	cairn_guard_take(&p->cas->guards, &guard, hash);
	enum cairn_status status = cairn_store_packing_drop(p->store, hash);
	cairn_guard_release(&p->cas->guards, &guard);
	p->report->n_moved += status == CAIRN_OK;
	return status == CAIRN_OK ? packing_step(p) : status;
}

static enum cairn_status packing_run(struct packing *p, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_store_packing_begin(p->cas->store, p->options->name, &p->store, diag);
	if (status == CAIRN_OK)
		status = packing_walk(p, packing_sum);
	if (status == CAIRN_OK)
		status = cas_check_space(p->cas, p->report->total_bytes, diag);
	if (status == CAIRN_OK)
		status = packing_walk(p, packing_copy);
	if (status == CAIRN_E_LIMIT)
		status = CAIRN_OK; /* the pack is full; the next one gets the rest */
	if (status != CAIRN_OK || p->report->n_packed == 0)
		return status;
	status = cairn_store_packing_commit(p->store, diag);
	p->report->durable = status == CAIRN_OK;
	return status;
}

/* Removes packed objects from the folder. A collection may run meanwhile: under the guard it removes an object from the
 * folder, the pack or both. An object that it took out of the pack stays as it is. */
static enum cairn_status packing_remove(struct packing *p)
{
	enum cairn_status status = packing_step(p);
	return status == CAIRN_OK ? cairn_store_packing_each(p->store, packing_drop, p) : status;
}

enum cairn_status cairn_cas_pack(struct cairn_cas *cas, const struct cairn_pack_options *options,
				 struct cairn_pack_report *report, struct cairn_diag *diag)
{
	*report = (struct cairn_pack_report){0};
	/* A collection removes objects, and an object that is being copied would return with the pack. */
	if (atomic_exchange(&cas->collecting, true))
		return cairn_fail(diag, CAIRN_E_BUSY, "gc.running", CAIRN_NO_OFFSET,
				  "a collection or a packing is under way; try again later");
	struct packing *p = calloc(1, sizeof(*p));
	enum cairn_status status = p ? CAIRN_OK : CAIRN_E_NOMEM;
	if (p) {
		*p = (struct packing){.cas = cas,
				      .options = options,
				      .report = report,
				      .arrived_before_unix_s = cairn_clock_unix_s() - options->older_than_s};
		status = packing_run(p, diag);
	}
	atomic_store(&cas->collecting, false);
	if (p && report->durable)
		status = packing_remove(p);
	if (p)
		cairn_store_packing_free(p->store);
	free(p);
	return status;
}

bool cairn_cas_is_pack_name(const char *name)
{
	return cairn_store_is_pack_name(name);
}

enum cairn_status cairn_cas_each_pack(struct cairn_cas *cas,
				      void (*visit)(void *ctx, const struct cairn_store_pack *pack), void *ctx)
{
	return cairn_store_each_pack(cas->store, visit, ctx);
}
