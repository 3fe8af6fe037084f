/* Visits the bytes of one xorb, and counts each stretch for its owners. */
#include "hub/usage_work.h"

#include <stdlib.h>

/* The beginning or end of a piece, and the piece's set. */
struct sweep_edge {
	uint32_t at, set;
	bool begins;
};

struct sweep {
	struct usage_work *w;
	struct sweep_edge *edges; /* owned; two for each piece */
	uint32_t n_edges;
	uint32_t *there; /* owned; the sets with pieces here, at most as many as pieces */
	uint32_t n_there;
};

/* Counts bytes that belong to the owners of all sets in s->there. */
typedef void sweep_take(struct sweep *s, uint64_t bytes);

static int sweep_by_edge(const void *a, const void *b)
{
	const struct sweep_edge *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

static void sweep_fini(struct sweep *s)
{
	free(s->edges);
	free(s->there);
}

static enum cairn_status sweep_init(struct sweep *s, struct usage_work *w, const struct usage_xorb *xorb)
{
	*s = (struct sweep){.w = w, .n_edges = 2 * xorb->n_pieces};
	s->edges = calloc(s->n_edges, sizeof(*s->edges));
	s->there = calloc(xorb->n_pieces, sizeof(*s->there));
	if (!s->edges || !s->there)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < xorb->n_pieces; i++) {
		const struct usage_piece *p = &xorb->pieces[i];
		s->edges[(size_t)2 * i] = (struct sweep_edge){p->first, p->set, true};
		s->edges[(size_t)2 * i + 1] = (struct sweep_edge){p->behind, p->set, false};
	}
	qsort(s->edges, s->n_edges, sizeof(*s->edges), sweep_by_edge);
	return CAIRN_OK;
}

/* Passes an edge. Edges at one place come in any order, so a set may end there before it begins. */
static void sweep_turn(struct sweep *s, const struct sweep_edge *edge)
{
	struct usage_set *all = s->w->sets.all, *set = &all[edge->set];
	bool was = set->n_there != 0;
	set->n_there += edge->begins ? 1 : UINT32_MAX;
	if (was == (set->n_there != 0))
		return;
	if (!was) {
		set->place = s->n_there;
		s->there[s->n_there++] = edge->set;
		return;
	}
	uint32_t last = s->there[--s->n_there];
	s->there[set->place] = last;
	all[last].place = set->place;
}

static enum cairn_status sweep_run(struct usage_work *w, const struct usage_xorb *xorb, sweep_take *take)
{
	CLEANUP(sweep_fini) struct sweep s;
	enum cairn_status status = sweep_init(&s, w, xorb);
	for (uint32_t i = 0; i < s.n_edges && status == CAIRN_OK; i++) {
		uint64_t bytes = i > 0 ? s.edges[i].at - s.edges[i - 1].at : 0;
		if (bytes > 0 && s.n_there > 0) {
			take(&s, bytes);
			status = usage_stops(w) ? CAIRN_E_BUSY : CAIRN_OK;
		}
		sweep_turn(&s, &s.edges[i]);
	}
	return status;
}

static void sweep_count(struct sweep *s, uint64_t bytes)
{
	struct usage_work *w = s->w;
	uint32_t n = 0;
	w->stamp++;
	for (uint32_t i = 0; i < s->n_there; i++) {
		const struct usage_set *set = &w->sets.all[s->there[i]];
		for (uint32_t k = 0; k < set->n; k++) {
			uint32_t row = w->sets.members[set->at + k];
			if (w->stamps[row] != w->stamp)
				w->met[n++] = row;
			w->stamps[row] = w->stamp;
		}
	}
	w->held_bytes += bytes;
	for (uint32_t i = 0; i < n; i++) {
		struct cairn_usage_owner *owner = &w->rows[w->met[i]].owner;
		*(n == 1 ? &owner->only_bytes : &owner->shared_bytes) += bytes;
	}
}

/* Counts the bytes that a deletion frees. A xorb can be removed only as a whole: if one owner has all pieces, its
 * deletion frees all bytes. */
static void sweep_count_whole(struct usage_work *w, const struct usage_xorb *xorb)
{
	const struct usage_sets *sets = &w->sets;
	uint32_t first = sets->members[sets->all[xorb->pieces[0].set].at];
	for (uint32_t i = 0; i < xorb->n_pieces; i++) {
		const struct usage_set *set = &sets->all[xorb->pieces[i].set];
		if (set->n > 1 || sets->members[set->at] != first)
			return;
	}
	w->rows[first].owner.frees_bytes += xorb->stored_bytes;
}

enum cairn_status usage_count_xorb(struct usage_work *w, const struct usage_xorb *xorb)
{
	sweep_count_whole(w, xorb);
	return sweep_run(w, xorb, sweep_count);
}

static void sweep_pair(struct sweep *s, uint64_t bytes)
{
	uint64_t top = 0;
	for (uint32_t i = 0; i < s->n_there; i++)
		top |= s->w->sets.all[s->there[i]].top;
	for (; top; top &= top - 1)
		for (uint64_t rest = top & (top - 1); rest; rest &= rest - 1)
			s->w->sums[__builtin_ctzll(top)][__builtin_ctzll(rest)] += bytes;
}

enum cairn_status usage_pair_xorb(struct usage_work *w, const struct usage_xorb *xorb)
{
	return sweep_run(w, xorb, sweep_pair);
}
