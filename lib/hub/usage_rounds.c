/* Reads all terms, in rounds that fit into the memory. */
#include "hub/usage_work.h"
#include "index/operate.h"

#include <stdlib.h>

enum { ROUNDS_PIECES_MIN = 64 }; /* less room is not tried */

static int rounds_by_place(const void *a, const void *b)
{
	const struct usage_piece *x = a, *y = b;
	if (x->xorb != y->xorb)
		return x->xorb > y->xorb ? 1 : -1;
	if (x->start != y->start)
		return x->start > y->start ? 1 : -1;
	if (x->end != y->end)
		return x->end > y->end ? 1 : -1;
	return (x->set > y->set) - (x->set < y->set);
}

/* Sorts the pieces, and drops duplicates. */
static void rounds_sort(struct usage_work *w)
{
	uint32_t n = 0;
	qsort(w->pieces, w->n_pieces, sizeof(*w->pieces), rounds_by_place);
	for (uint32_t i = 0; i < w->n_pieces; i++)
		if (n == 0 || rounds_by_place(&w->pieces[n - 1], &w->pieces[i]) != 0)
			w->pieces[n++] = w->pieces[i];
	w->n_pieces = n;
}

/* Leaves half of the xorbs to the next round. */
static void rounds_make_room(struct usage_work *w)
{
	rounds_sort(w);
	uint32_t cut = w->n_pieces / 2;
	if (w->n_pieces <= w->pieces_max / 2)
		return;
	while (cut > 0 && w->pieces[cut - 1].xorb == w->pieces[cut].xorb)
		cut--;
	if (cut == 0) /* one xorb fills the first half: it alone stays */
		while (cut < w->n_pieces && w->pieces[cut].xorb == w->pieces[0].xorb)
			cut++;
	if (cut == w->n_pieces) {
		w->status = cut == w->pieces_max ? CAIRN_E_LIMIT : CAIRN_OK;
		return;
	}
	w->to_xorb = w->pieces[cut].xorb;
	w->n_pieces = cut;
}

static int rounds_by_number(const void *a, const void *b)
{
	int64_t x = ((const struct usage_row *)a)->number, y = ((const struct usage_row *)b)->number;
	return (x > y) - (x < y);
}

/* Takes the known owners of a file. Owners added since the start are unknown. */
static void rounds_take_owners(struct usage_work *w, const int64_t *owners, uint32_t n)
{
	w->n_members = 0;
	for (uint32_t i = 0; i < n && w->n_members < w->n_rows; i++) {
		const struct usage_row wanted = {.number = owners[i]};
		const struct usage_row *row = bsearch(&wanted, w->rows, w->n_rows, sizeof(wanted), rounds_by_number);
		if (row)
			w->members[w->n_members++] = (uint32_t)(row - w->rows);
	}
}

static bool rounds_has(const struct usage_work *w, const struct cairn_index_term *term)
{
	return term->xorb_id >= w->from_xorb && (w->to_xorb == 0 || term->xorb_id < w->to_xorb);
}

/* a file without terms in this round needs no set */
static void rounds_take_terms(struct usage_work *w, const struct cairn_index_file *file)
{
	uint32_t set = 0;
	bool known = false;
	for (uint32_t i = 0; i < file->n_terms && w->status == CAIRN_OK; i++) {
		const struct cairn_index_term *t = &file->terms[i];
		if (rounds_has(w, t) && w->n_pieces == w->pieces_max)
			rounds_make_room(w);
		if (w->status != CAIRN_OK || !rounds_has(w, t))
			continue;
		if (!known)
			w->status = usage_sets_find(&w->sets, w->members, w->n_members, &set);
		known = w->status == CAIRN_OK;
		w->sets_are_full = w->status == CAIRN_E_LIMIT;
		if (known)
			w->pieces[w->n_pieces++] = (struct usage_piece){
				.xorb = t->xorb_id,
				.start = t->start,
				.end = t->end,
				.first = t->first_byte,
				.behind = t->end_byte,
				.set = set,
			};
	}
}

static void rounds_take_file(void *ctx, const struct cairn_index_file *file, const int64_t *owners, uint32_t n)
{
	struct usage_work *w = ctx;
	if (w->status != CAIRN_OK)
		return;
	rounds_take_owners(w, owners, n);
	for (uint32_t i = 0; i < w->n_members && w->counts_files; i++) {
		struct cairn_usage_owner *owner = &w->rows[w->members[i]].owner;
		owner->n_files++;
		owner->seen_bytes += file->size_bytes;
	}
	if (w->n_members > 0)
		rounds_take_terms(w, file);
}

static enum cairn_status rounds_read_files(struct usage_work *w)
{
	int64_t from_id = 0;
	do {
		if (usage_stops(w))
			return CAIRN_E_BUSY;
		enum cairn_status status =
			cairn_index_each_owned_file(w->index, from_id, rounds_take_file, w, &from_id);
		if (status == CAIRN_OK)
			status = w->status;
		if (status != CAIRN_OK)
			return status;
	} while (from_id != 0);
	return CAIRN_OK;
}

static void rounds_begin(struct usage_work *w)
{
	usage_sets_fini(&w->sets);
	w->n_pieces = 0;
	w->to_xorb = 0;
	w->status = CAIRN_OK;
	w->sets_are_full = false;
	for (uint32_t i = 0; i < w->n_rows && w->counts_files; i++)
		w->rows[i].owner.n_files = w->rows[i].owner.seen_bytes = 0;
}

/* If the sets have no room for all owners, tries again with fewer pieces: fewer files at once need fewer sets. */
static enum cairn_status rounds_read(struct usage_work *w)
{
	enum cairn_status status;
	for (;;) {
		rounds_begin(w);
		status = rounds_read_files(w);
		if (!w->sets_are_full || w->pieces_max / 2 < ROUNDS_PIECES_MIN)
			break;
		w->pieces_max /= 2;
	}
	if (status == CAIRN_OK)
		rounds_sort(w);
	w->counts_files = false;
	w->is_whole = status == CAIRN_OK && w->from_xorb == 0 && w->to_xorb == 0;
	return status;
}

static enum cairn_status rounds_take_places(void *ctx, const struct cairn_index_spans *places)
{
	struct usage_xorb *xorb = ctx;
	xorb->stored_bytes = places->stored_bytes;
	for (uint32_t i = 0; i < xorb->n_pieces; i++) {
		struct usage_piece *p = &xorb->pieces[i];
		if (places->spans && p->end > 0 && p->end <= places->n_chunks) {
			p->first = p->start > 0 ? places->spans[p->start - 1].end : 0;
			p->behind = places->spans[p->end - 1].end;
		}
	}
	return CAIRN_OK;
}

static enum cairn_status rounds_visit_xorb(struct usage_work *w, struct usage_xorb *xorb, usage_visit_xorb *visit)
{
	static const uint32_t NONE[2] = {1, 1};
	if (usage_stops(w))
		return CAIRN_E_BUSY;
	enum cairn_status status = cairn_index_spans(w->index, &xorb->pieces->xorb, 1, NONE, rounds_take_places, xorb);
	if (status == CAIRN_E_NOT_FOUND) /* the file was deleted meanwhile */
		return CAIRN_OK;
	return status == CAIRN_OK ? visit(w, xorb) : status;
}

static enum cairn_status rounds_visit(struct usage_work *w, usage_visit_xorb *visit)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t from = 0, to; from < w->n_pieces && status == CAIRN_OK; from = to) {
		to = from + 1;
		while (to < w->n_pieces && w->pieces[to].xorb == w->pieces[from].xorb)
			to++;
		struct usage_xorb xorb = {.pieces = w->pieces + from, .n_pieces = to - from};
		status = rounds_visit_xorb(w, &xorb, visit);
	}
	return status;
}

static void rounds_note_top(struct usage_work *w, const uint32_t *top)
{
	for (uint32_t i = 0; top && i < w->sets.n; i++) {
		struct usage_set *set = &w->sets.all[i];
		for (uint32_t k = 0; k < set->n; k++) {
			uint32_t place = top[w->sets.members[set->at + k]];
			if (place < CAIRN_USAGE_PAIRS_OF_MAX)
				set->top |= UINT64_C(1) << place;
		}
	}
}

enum cairn_status usage_each_xorb(struct usage_work *w, const uint32_t *top, usage_visit_xorb *visit)
{
	enum cairn_status status = CAIRN_OK;
	w->from_xorb = w->to_xorb = 0;
	do {
		if (!w->is_whole)
			status = rounds_read(w);
		if (status == CAIRN_OK) {
			rounds_note_top(w, top);
			status = rounds_visit(w, visit);
		}
		w->from_xorb = w->to_xorb;
	} while (status == CAIRN_OK && w->to_xorb != 0);
	return status;
}
