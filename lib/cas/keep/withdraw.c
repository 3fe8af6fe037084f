#include "cas/keep/withdraw.h"

#include "base/clock.h"
#include "cas/internal.h"
#include "cas/keep/garbage.h"
#include "index/hub/mirror_offers.h"

struct withdrawing {
	struct cairn_cas *cas;
	int64_t now_unix_s, arrived_before_unix_s, before_day;
	int64_t xorb[CAIRN_INDEX_OFFERS_MAX];
	uint32_t n;
};

static enum cairn_status withdraw_write(struct withdrawing *w)
{
	struct cairn_index_withdraw_xorbs withdraw = {.xorbs = w->xorb,
						      .n = w->n,
						      .now_unix_s = w->now_unix_s,
						      .arrived_before_unix_s = w->arrived_before_unix_s,
						      .before_day = w->before_day};
	w->n = 0;
	if (withdraw.n == 0)
		return CAIRN_OK;
	enum cairn_status status = cairn_index_withdraw_xorbs(w->cas->index, &withdraw);
	if (withdraw.n_withdrawn > 0)
		cairn_answer_cache_clear(w->cas->cache);
	return status;
}

/* Reads the row first: a write costs more, and most xorbs were withdrawn by an earlier call. */
static enum cairn_status withdraw_note(struct withdrawing *w, int64_t id)
{
	struct cairn_index_xorb row;
	enum cairn_status status = cairn_index_xorb_by_id(w->cas->index, id, &row);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	if (row.retired || row.withdrawn_unix_s != 0 || row.at_unix_s > w->arrived_before_unix_s)
		return CAIRN_OK;
	w->xorb[w->n++] = id;
	return w->n == CAIRN_INDEX_OFFERS_MAX ? withdraw_write(w) : CAIRN_OK;
}

enum cairn_status cairn_cas_withdraw(struct cairn_cas *cas, const struct cairn_hash *file, int64_t before_day)
{
	CLEANUP(cairn_index_file_fini) struct cairn_index_file found = {0};
	int64_t now_unix_s = cairn_clock_unix_s();
	struct withdrawing w = {.cas = cas,
				.now_unix_s = now_unix_s,
				.arrived_before_unix_s = now_unix_s - (int64_t)cas->options.gc_grace_s / 2,
				.before_day = before_day};
	enum cairn_status status = cairn_index_file(cas->index, file, NULL, true, &found);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	for (uint32_t i = 0; i < found.n_terms && status == CAIRN_OK; i++)
		if (i == 0 || found.terms[i].xorb_id != found.terms[i - 1].xorb_id)
			status = withdraw_note(&w, found.terms[i].xorb_id);
	return status == CAIRN_OK ? withdraw_write(&w) : status;
}

/* --- offering again ----------------------------------------------------------------------------------------------- */

struct offering {
	struct cairn_cas *cas;
	int64_t before_unix_s; /* xorbs withdrawn up to then are free */
	uint64_t left_bytes;
	int64_t xorb[CAIRN_INDEX_OFFERS_MAX];
	uint32_t n, n_seen;
};

/* A xorb that was withdrawn lately is bound anyway. */
static void offering_note(void *ctx, const struct cairn_index_unoffered *x)
{
	struct offering *o = ctx;
	uint64_t bytes = x->withdrawn_unix_s <= o->before_unix_s ? x->stored_bytes : 0;
	o->n_seen++;
	if (bytes > o->left_bytes || o->n >= CAIRN_INDEX_OFFERS_MAX)
		return;
	o->left_bytes -= bytes;
	o->xorb[o->n++] = x->xorb;
}

static enum cairn_status offering_run(struct offering *o, int64_t before_day, bool (*stop)(void *ctx), void *stop_ctx)
{
	do {
		o->n = o->n_seen = 0;
		enum cairn_status status = cairn_index_each_needed(o->cas->index, before_day, offering_note, o);
		struct cairn_index_offer_xorbs offer = {.xorbs = o->xorb, .n = o->n};
		if (status == CAIRN_OK && o->n > 0)
			status = cairn_index_offer_xorbs(o->cas->index, &offer);
		if (status != CAIRN_OK)
			return status;
	} while (o->n > 0 && o->n_seen == CAIRN_INDEX_OFFERS_MAX && !stop(stop_ctx));
	return CAIRN_OK;
}

static int64_t withdraw_free_unix_s(const struct cairn_cas *cas)
{
	return cairn_clock_unix_s() - (int64_t)cas->options.gc_grace_s;
}

enum cairn_status cairn_cas_offer_again(struct cairn_cas *cas, int64_t before_day, uint64_t bytes,
					bool (*stop)(void *ctx), void *stop_ctx)
{
	struct offering o = {.cas = cas, .before_unix_s = withdraw_free_unix_s(cas), .left_bytes = UINT64_MAX};
	enum cairn_status status = offering_run(&o, INT64_MAX, stop, stop_ctx);
	if (status != CAIRN_OK || stop(stop_ctx))
		return status;
	o.left_bytes = bytes;
	return offering_run(&o, before_day, stop, stop_ctx);
}

enum cairn_status cairn_cas_sum_unoffered(struct cairn_cas *cas, struct cairn_index_unoffered_sum *out)
{
	return cairn_index_unoffered_sum(cas->index, withdraw_free_unix_s(cas), out);
}

/* --- evicting ----------------------------------------------------------------------------------------------------- */

static enum cairn_status evict_retire(struct cairn_cas *cas, const struct cairn_index_file *file, uint32_t keep_s)
{
	int64_t xorb[CAIRN_INDEX_OFFERS_MAX];
	struct cairn_index_retire_xorbs retire = {.xorbs = xorb,
						  .now_unix_s = cairn_clock_unix_s(),
						  .grace_s = cas->options.gc_grace_s,
						  .keep_s = keep_s};
	enum cairn_status status = CAIRN_OK;
	bool some = false;
	for (uint32_t i = 0; i < file->n_terms && status == CAIRN_OK; i++) {
		if (i == 0 || file->terms[i].xorb_id != file->terms[i - 1].xorb_id)
			xorb[retire.n++] = file->terms[i].xorb_id;
		if (retire.n < CAIRN_INDEX_OFFERS_MAX && i + 1 < file->n_terms)
			continue;
		retire.write = (struct cairn_index_write){.done = NULL};
		status = cairn_index_retire_xorbs(cas->index, &retire);
		some = some || retire.n_retired > 0;
		retire.n = 0;
	}
	if (some)
		cairn_answer_cache_clear(cas->cache);
	return status;
}

enum cairn_status cairn_cas_evict(struct cairn_cas *cas, const struct cairn_hash *file, const char *owner,
				  uint32_t keep_s)
{
	CLEANUP(cairn_index_file_fini) struct cairn_index_file found = {0};
	bool forgotten;
	enum cairn_status status = cairn_index_file(cas->index, file, NULL, true, &found);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	status = cairn_cas_forget(cas, file, owner, &forgotten);
	return status == CAIRN_OK && forgotten ? evict_retire(cas, &found, keep_s) : status;
}
