#include "mirror/plan.h"

#include <stdlib.h>
#include <string.h>

/* --- known bytes -------------------------------------------------------------------------------------------------- */

/* Finds the place that contains a chunk and reaches furthest. @param up  towards the end of the xorb; else towards its
 * beginning @return NULL: no place contains the chunk */
static const struct cairn_index_chunk_place *plan_place_of(const struct cairn_index_chunk_place *all, uint32_t n,
							   uint32_t chunk, bool up)
{
	const struct cairn_index_chunk_place *best = NULL;
	for (uint32_t i = 0; i < n; i++) {
		const struct cairn_index_chunk_place *p = &all[i];
		if (chunk < p->first || chunk >= p->past)
			continue;
		if (!best || (up ? p->past > best->past : p->first < best->first))
			best = p;
	}
	return best;
}

/* The rest of a term that was not found yet: chunks [first, past), at bytes [at, end) of the file. */
struct plan_gap {
	uint32_t first, past;
	uint64_t at, end;
};

/* Uses up one look-up. @return false: none is left */
static bool plan_may_look(struct mirror_plan_sight *sight)
{
	bool may = sight->looks > 0;
	sight->looks -= may;
	return may;
}

/* Cuts chunks that one place has off an end of a gap. @return false: no place has them, or its length contradicts the
 * gap's */
static bool plan_shrink(struct plan_gap *gap, bool up, struct mirror_plan_sight *sight,
			const struct cairn_index_chunk_place *all, uint32_t n, struct mirror_known_run *out)
{
	const struct cairn_index_chunk_place *p = plan_place_of(all, n, up ? gap->first : gap->past - 1, up);
	uint64_t before, bytes;
	if (!p || !plan_may_look(sight))
		return false;
	uint32_t first = p->first > gap->first ? p->first : gap->first;
	uint32_t past = p->past < gap->past ? p->past : gap->past;
	if (!sight->measure(sight->ctx, p, first, past, &before, &bytes) || bytes == 0 || bytes > gap->end - gap->at)
		return false;
	*out = (struct mirror_known_run){
		.first = up ? gap->at : gap->end - bytes, .at = p->at + before, .file = p->file};
	out->end = out->first + bytes;
	if (up) {
		gap->first = past;
		gap->at += bytes;
	} else {
		gap->past = first;
		gap->end -= bytes;
	}
	return true;
}

static int plan_compare(const void *a, const void *b)
{
	const struct mirror_known_run *x = a, *y = b;
	return x->first < y->first ? -1 : x->first > y->first;
}

uint32_t mirror_plan_look_up(const struct mirror_plan_term *term, uint64_t offset, struct mirror_plan_sight *sight,
			     struct mirror_known_run out[static MIRROR_PLAN_TERM_RUNS])
{
	const struct cairn_index_chunk_place *all;
	struct plan_gap gap = {term->first, term->past, offset, offset + term->bytes};
	uint32_t n_places = plan_may_look(sight) ? sight->places(sight->ctx, &term->xorb, &all) : 0, n = 0;
	bool up = true, down = true;
	while (n_places > 0 && n < MIRROR_PLAN_TERM_RUNS && gap.first < gap.past && (up || down)) {
		bool shrunk = plan_shrink(&gap, up, sight, all, n_places, &out[n]);
		n += shrunk;
		if (!shrunk && !up)
			down = false;
		up = up && shrunk;
	}
	if ((gap.first == gap.past) != (gap.at == gap.end))
		return 0;
	qsort(out, n, sizeof(*out), plan_compare);
	return n;
}

/* --- runs --------------------------------------------------------------------------------------------------------- */

void mirror_known_runs_fini(struct mirror_known_runs *runs)
{
	free(runs->all);
	*runs = (struct mirror_known_runs){0};
}

static bool plan_continues(const struct mirror_known_run *last, const struct mirror_known_run *run)
{
	return last->end == run->first && last->at + (last->end - last->first) == run->at &&
	       cairn_hash_equal(&last->file, &run->file);
}

enum cairn_status mirror_known_runs_add(struct mirror_known_runs *runs, const struct mirror_known_run *run)
{
	if (runs->n > 0 && plan_continues(&runs->all[runs->n - 1], run)) {
		runs->all[runs->n - 1].end = run->end;
		return CAIRN_OK;
	}
	if (runs->n == runs->cap) {
		uint32_t cap = runs->cap ? 2 * runs->cap : 64;
		struct mirror_known_run *all = realloc(runs->all, cap * sizeof(*all));
		if (!all)
			return CAIRN_E_NOMEM;
		runs->all = all;
		runs->cap = cap;
	}
	runs->all[runs->n++] = *run;
	return CAIRN_OK;
}

void mirror_known_runs_thin(struct mirror_known_runs *runs)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < runs->n; i++)
		if (runs->all[i].end - runs->all[i].first >= MIRROR_PLAN_RUN_BYTES_MIN)
			runs->all[n++] = runs->all[i];
	runs->n = n;
}

const struct mirror_known_run *mirror_known_runs_find(const struct mirror_known_runs *runs, uint64_t at)
{
	uint32_t low = 0, high = runs->n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (runs->all[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < runs->n ? &runs->all[low] : NULL;
}

const struct mirror_known_run *mirror_known_runs_cover(const struct mirror_known_runs *runs, uint64_t first,
						       uint64_t end)
{
	const struct mirror_known_run *run = mirror_known_runs_find(runs, first);
	return run && run->first <= first && run->end >= end ? run : NULL;
}

void mirror_known_runs_drop(struct mirror_known_runs *runs, uint64_t at)
{
	const struct mirror_known_run *run = mirror_known_runs_find(runs, at);
	if (!run || run->first > at)
		return;
	uint32_t i = (uint32_t)(run - runs->all);
	memmove(&runs->all[i], &runs->all[i + 1], (runs->n - i - 1) * sizeof(*run));
	runs->n--;
}

enum cairn_status mirror_plan_packed(const struct mirror_plan *plan, uint32_t from, uint64_t offset,
				     struct mirror_known_runs *out)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = from; i < plan->n && status == CAIRN_OK; i++) {
		const struct mirror_plan_term *term = &plan->terms[i];
		const struct mirror_known_run run = {.first = offset, .end = offset + term->bytes, .at = offset};
		if (mirror_packed_pays(term->packed, term->bytes))
			status = mirror_known_runs_add(out, &run);
		offset += term->bytes;
	}
	mirror_known_runs_thin(out);
	return status;
}

/* --- places to record --------------------------------------------------------------------------------------------- */

/* Do the next chunks of the file have the term's length? */
static bool plan_fits(const struct mirror_plan_term *term, uint32_t (*next)(void *ctx), void *ctx)
{
	uint64_t bytes = 0;
	for (uint32_t i = term->first; i < term->past; i++) {
		uint32_t len = next(ctx);
		if (len == 0)
			return false;
		bytes += len;
	}
	return bytes == term->bytes;
}

uint32_t mirror_plan_places(const struct mirror_plan *plan, uint32_t (*next)(void *ctx), void *ctx,
			    struct cairn_index_chunk_place *out, uint32_t max)
{
	uint64_t at = 0, last_end = 0;
	uint32_t n = 0;
	for (uint32_t i = 0; i < plan->n; i++) {
		const struct mirror_plan_term *term = &plan->terms[i];
		struct cairn_index_chunk_place *last = n > 0 ? &out[n - 1] : NULL;
		if (!plan_fits(term, next, ctx))
			return 0;
		bool joins = last && last_end == at && last->past == term->first &&
			     cairn_hash_equal(&last->xorb, &term->xorb);
		at += term->bytes;
		if (joins)
			last->past = term->past;
		else if (n < max)
			out[n++] = (struct cairn_index_chunk_place){
				.xorb = term->xorb, .first = term->first, .past = term->past, .at = at - term->bytes};
		else
			continue;
		last_end = at;
	}
	return at == plan->file_bytes ? n : 0;
}
