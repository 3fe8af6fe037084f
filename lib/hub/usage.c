#include "hub/usage.h"

#include "base/clock.h"
#include "hub/usage_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A stretch of a xorb that a file of some owners has. */
struct usage_piece {
	int64_t xorb;
	uint16_t start, end;    /* chunks, for where the places are not those that the term keeps */
	uint32_t first, behind; /* bytes */
	uint32_t set;           /* of owners */
};

/* An owner while it is counted. */
struct usage_row {
	int64_t number;
	struct cairn_usage_owner owner;
};

struct usage_work {
	struct cairn_index *index;
	enum cairn_status status;
	struct usage_row *rows; /* by number; owned, as all below */
	uint32_t n_rows, rows_cap;
	struct usage_sets sets;
	uint32_t *members; /* of a set that is looked for */
	size_t members_cap;
	struct usage_piece *pieces;
	uint32_t n_pieces, pieces_max;
	int64_t from_xorb, to_xorb; /* of this round; to_xorb 0: no end */
	bool first_round;
	uint64_t held_bytes;
};

/* --- owners ------------------------------------------------------------------------------------------------------- */

static void usage_take_owner(void *ctx, int64_t number, const char *name)
{
	struct usage_work *w = ctx;
	if (w->status != CAIRN_OK || cairn_index_owner_is_gone(name))
		return;
	if (w->n_rows == w->rows_cap) {
		uint32_t cap = w->rows_cap ? 2 * w->rows_cap : 64;
		struct usage_row *grown = realloc(w->rows, cap * sizeof(*grown));
		if (!grown) {
			w->status = CAIRN_E_NOMEM;
			return;
		}
		w->rows = grown;
		w->rows_cap = cap;
	}
	struct usage_row row = {
		.number = number, .owner.name = strdup(name), .owner.repo = cairn_index_owner_repo(name)};
	if (row.owner.name)
		w->rows[w->n_rows++] = row;
	else
		w->status = CAIRN_E_NOMEM;
}

static int usage_by_number(const void *a, const void *b)
{
	int64_t x = ((const struct usage_row *)a)->number, y = ((const struct usage_row *)b)->number;
	return (x > y) - (x < y);
}

/* The set of a file's owners. @return false: it has none that counts */
static bool usage_set_of(struct usage_work *w, const int64_t *owners, uint32_t n, uint32_t *set)
{
	uint32_t n_members = 0;
	if (n > w->members_cap) {
		uint32_t *grown = realloc(w->members, n * sizeof(*grown));
		if (!grown) {
			w->status = CAIRN_E_NOMEM;
			return false;
		}
		w->members = grown;
		w->members_cap = n;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct usage_row wanted = {.number = owners[i]},
				       *row = bsearch(&wanted, w->rows, w->n_rows, sizeof(wanted), usage_by_number);
		if (row)
			w->members[n_members++] = (uint32_t)(row - w->rows);
	}
	if (n_members > 0)
		w->status = usage_sets_find(&w->sets, w->members, n_members, set);
	return n_members > 0 && w->status == CAIRN_OK;
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

static int usage_by_place(const void *a, const void *b)
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

/* In order, each once. */
static void usage_sort(struct usage_work *w)
{
	uint32_t n = 0;
	qsort(w->pieces, w->n_pieces, sizeof(*w->pieces), usage_by_place);
	for (uint32_t i = 0; i < w->n_pieces; i++)
		if (n == 0 || usage_by_place(&w->pieces[n - 1], &w->pieces[i]) != 0)
			w->pieces[n++] = w->pieces[i];
	w->n_pieces = n;
}

/* Half of the xorbs go into the next round. */
static void usage_make_room(struct usage_work *w)
{
	usage_sort(w);
	uint32_t cut = w->n_pieces / 2;
	if (w->n_pieces <= w->pieces_max / 2)
		return;
	while (cut > 0 && w->pieces[cut - 1].xorb == w->pieces[cut].xorb)
		cut--;
	if (cut == 0) /* one xorb has all of the first half: it alone stays */
		while (cut < w->n_pieces && w->pieces[cut].xorb == w->pieces[0].xorb)
			cut++;
	if (cut == w->n_pieces) {
		w->status = cut == w->pieces_max ? CAIRN_E_LIMIT : CAIRN_OK;
		return;
	}
	w->to_xorb = w->pieces[cut].xorb;
	w->n_pieces = cut;
}

static void usage_take_terms(struct usage_work *w, const struct cairn_index_file *file, uint32_t set)
{
	for (uint32_t i = 0; i < file->n_terms && w->status == CAIRN_OK; i++) {
		const struct cairn_index_term *t = &file->terms[i];
		if (w->n_pieces == w->pieces_max)
			usage_make_room(w);
		if (t->xorb_id < w->from_xorb || (w->to_xorb != 0 && t->xorb_id >= w->to_xorb) || w->status != CAIRN_OK)
			continue;
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

static void usage_take_file(void *ctx, const struct cairn_index_file *file, const int64_t *owners, uint32_t n)
{
	struct usage_work *w = ctx;
	uint32_t set;
	if (w->status != CAIRN_OK || !usage_set_of(w, owners, n, &set))
		return;
	const struct usage_set *found = &w->sets.all[set];
	for (uint32_t i = 0; i < found->n && w->first_round; i++) {
		struct cairn_usage_owner *owner = &w->rows[w->sets.members[found->at + i]].owner;
		owner->n_files++;
		owner->seen_bytes += file->size_bytes;
	}
	usage_take_terms(w, file, set);
}

/* --- one xorb ----------------------------------------------------------------------------------------------------- */

/* Where the pieces of a set begin or end. */
struct usage_edge {
	uint32_t at, set;
	int32_t more; /* pieces of the set, from here on: 1 or -1 */
};

static int usage_by_edge(const void *a, const void *b)
{
	const struct usage_edge *x = a, *y = b;
	return (x->at > y->at) - (x->at < y->at);
}

/* A set that is there now, by how many pieces. */
struct usage_active {
	uint32_t set;
	int32_t n;
};

struct usage_sweep {
	struct usage_work *w;
	struct usage_piece *pieces;
	uint32_t n_pieces;
	struct usage_edge *edges;    /* two for each piece; owned */
	struct usage_active *active; /* no more than pieces; owned */
	uint32_t n_active;
	uint64_t stored_bytes;
};

static int usage_by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* The owners of all sets that are there. */
static enum cairn_status usage_union(struct usage_sweep *s, uint32_t *set)
{
	const struct usage_sets *sets = &s->w->sets;
	size_t n = 0, unique = 0;
	if (s->n_active == 1) {
		*set = s->active[0].set;
		return CAIRN_OK;
	}
	for (uint32_t i = 0; i < s->n_active; i++)
		n += sets->all[s->active[i].set].n;
	uint32_t *members = malloc(n * sizeof(*members));
	if (!members)
		return CAIRN_E_NOMEM;
	n = 0;
	for (uint32_t i = 0; i < s->n_active; i++) {
		const struct usage_set *one = &sets->all[s->active[i].set];
		memcpy(members + n, sets->members + one->at, one->n * sizeof(*members));
		n += one->n;
	}
	qsort(members, n, sizeof(*members), usage_by_value);
	for (size_t i = 0; i < n; i++)
		if (unique == 0 || members[unique - 1] != members[i])
			members[unique++] = members[i];
	enum cairn_status status = usage_sets_find(&s->w->sets, members, (uint32_t)unique, set);
	free(members);
	return status;
}

/* @return whether another set is there now than before, or one is not any more */
static bool usage_turn(struct usage_sweep *s, const struct usage_edge *edge)
{
	uint32_t i = 0;
	while (i < s->n_active && s->active[i].set != edge->set)
		i++;
	if (i == s->n_active) {
		s->active[s->n_active++] = (struct usage_active){edge->set, edge->more};
		return true;
	}
	s->active[i].n += edge->more;
	if (s->active[i].n != 0)
		return false;
	s->active[i] = s->active[--s->n_active];
	return true;
}

/* Between two edges that are not at one place, the bytes belong to all owners of the sets that are there. */
static enum cairn_status usage_count_bytes(struct usage_sweep *s)
{
	enum cairn_status status = CAIRN_OK;
	uint32_t set = 0;
	bool known = false;
	for (uint32_t i = 0; i < 2 * s->n_pieces && status == CAIRN_OK; i++) {
		if (i > 0 && s->edges[i].at > s->edges[i - 1].at && s->n_active > 0) {
			if (!known)
				status = usage_union(s, &set);
			known = status == CAIRN_OK;
			if (known)
				s->w->sets.all[set].bytes += s->edges[i].at - s->edges[i - 1].at;
		}
		if (usage_turn(s, &s->edges[i]))
			known = false;
	}
	return status;
}

/* A xorb goes as a whole, when nobody has any of it. */
static enum cairn_status usage_count_whole(struct usage_sweep *s)
{
	uint32_t set;
	s->n_active = 0;
	for (uint32_t i = 0; i < s->n_pieces; i++)
		(void)usage_turn(s, &(struct usage_edge){.set = s->pieces[i].set, .more = 1});
	enum cairn_status status = usage_union(s, &set);
	if (status == CAIRN_OK && s->w->sets.all[set].n == 1)
		s->w->rows[s->w->sets.members[s->w->sets.all[set].at]].owner.frees_bytes += s->stored_bytes;
	return status;
}

static enum cairn_status usage_take_places(void *ctx, const struct cairn_index_spans *places)
{
	struct usage_sweep *s = ctx;
	s->stored_bytes = places->stored_bytes;
	for (uint32_t i = 0; i < s->n_pieces; i++) {
		struct usage_piece *p = &s->pieces[i];
		if (places->spans && p->end > 0 && p->end <= places->n_chunks) {
			p->first = p->start > 0 ? places->spans[p->start - 1].end : 0;
			p->behind = places->spans[p->end - 1].end;
		}
		s->edges[(size_t)2 * i] = (struct usage_edge){p->first, p->set, 1};
		s->edges[(size_t)2 * i + 1] = (struct usage_edge){p->behind, p->set, -1};
	}
	qsort(s->edges, (size_t)2 * s->n_pieces, sizeof(*s->edges), usage_by_edge);
	return CAIRN_OK;
}

static enum cairn_status usage_count_xorb(struct usage_work *w, struct usage_piece *pieces, uint32_t n)
{
	static const uint32_t NONE[2] = {1, 1};
	struct usage_sweep s = {.w = w, .pieces = pieces, .n_pieces = n};
	s.edges = malloc((size_t)2 * n * sizeof(*s.edges));
	s.active = malloc((size_t)n * sizeof(*s.active));
	enum cairn_status status = s.edges && s.active ? CAIRN_OK : CAIRN_E_NOMEM;
	if (status == CAIRN_OK)
		status = cairn_index_spans(w->index, &pieces->xorb, 1, NONE, usage_take_places, &s);
	if (status == CAIRN_OK)
		status = usage_count_bytes(&s);
	if (status == CAIRN_OK)
		status = usage_count_whole(&s);
	free(s.edges);
	free(s.active);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status; /* its last file went meanwhile */
}

/* --- rounds ------------------------------------------------------------------------------------------------------- */

static enum cairn_status usage_read(struct usage_work *w, bool (*stop)(void *ctx), void *stop_ctx)
{
	int64_t from_id = 0;
	w->n_pieces = 0;
	w->to_xorb = 0;
	do {
		if (stop && stop(stop_ctx))
			return CAIRN_E_BUSY;
		enum cairn_status status = cairn_index_each_owned_file(w->index, from_id, usage_take_file, w, &from_id);
		if (status == CAIRN_OK)
			status = w->status;
		if (status != CAIRN_OK)
			return status;
	} while (from_id != 0);
	usage_sort(w);
	w->first_round = false;
	return CAIRN_OK;
}

static enum cairn_status usage_count(struct usage_work *w, bool (*stop)(void *ctx), void *stop_ctx)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t from = 0, to; from < w->n_pieces && status == CAIRN_OK; from = to) {
		to = from + 1;
		while (to < w->n_pieces && w->pieces[to].xorb == w->pieces[from].xorb)
			to++;
		status = stop && stop(stop_ctx) ? CAIRN_E_BUSY : usage_count_xorb(w, w->pieces + from, to - from);
	}
	return status;
}

/* --- what comes of it --------------------------------------------------------------------------------------------- */

static void usage_sum(struct usage_work *w)
{
	for (uint32_t i = 0; i < w->sets.n; i++) {
		const struct usage_set *set = &w->sets.all[i];
		w->held_bytes += set->bytes;
		for (uint32_t k = 0; k < set->n; k++) {
			struct cairn_usage_owner *owner = &w->rows[w->sets.members[set->at + k]].owner;
			*(set->n == 1 ? &owner->only_bytes : &owner->shared_bytes) += set->bytes;
		}
	}
}

static void usage_name_repo(void *ctx, const struct cairn_index_repo *repo)
{
	static const char *const KINDS[] = {[CAIRN_INDEX_MODEL] = "models/",
					    [CAIRN_INDEX_DATASET] = "datasets/",
					    [CAIRN_INDEX_SPACE] = "spaces/",
					    [CAIRN_INDEX_BUCKET] = "buckets/",
					    [CAIRN_INDEX_KERNEL] = "kernels/"};
	struct usage_work *w = ctx;
	for (uint32_t i = 0; i < w->n_rows; i++) {
		char *name;
		if (w->rows[i].owner.repo != repo->id)
			continue;
		if (asprintf(&name, "%s%s/%s", KINDS[repo->kind], repo->account_name, repo->name) < 0) {
			w->status = CAIRN_E_NOMEM;
			return;
		}
		free(w->rows[i].owner.name);
		w->rows[i].owner.name = name;
	}
}

/* Those that hold most first. */
static int usage_by_held(const void *a, const void *b)
{
	const struct usage_row *x = *(struct usage_row *const *)a, *y = *(struct usage_row *const *)b;
	uint64_t p = x->owner.only_bytes + x->owner.shared_bytes, q = y->owner.only_bytes + y->owner.shared_bytes;
	if (p != q)
		return p < q ? 1 : -1;
	return strcmp(x->owner.name, y->owner.name);
}

static int usage_by_pair(const void *a, const void *b)
{
	const struct cairn_usage_pair *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->a != y->a ? (x->a > y->a ? 1 : -1) : (x->b > y->b) - (x->b < y->b);
}

/* places: of each row among the owners. */
static void usage_pair_up(const struct usage_work *w, const uint32_t *places, struct cairn_usage *out)
{
	enum { N = CAIRN_USAGE_PAIRS_OF_MAX };
	uint64_t sums[N][N] = {{0}};
	for (uint32_t i = 0; i < w->sets.n; i++) {
		const struct usage_set *set = &w->sets.all[i];
		uint32_t near[N], n = 0;
		for (uint32_t k = 0; k < set->n; k++)
			if (places[w->sets.members[set->at + k]] < N)
				near[n++] = places[w->sets.members[set->at + k]];
		for (uint32_t k = 0; k < n; k++)
			for (uint32_t l = 0; l < n; l++)
				sums[near[k]][near[l]] += set->bytes;
	}
	for (uint32_t a = 0; a < N; a++)
		for (uint32_t b = a + 1; b < N; b++)
			if (sums[a][b] > 0)
				out->pairs[out->n_pairs++] = (struct cairn_usage_pair){a, b, sums[a][b]};
	qsort(out->pairs, out->n_pairs, sizeof(*out->pairs), usage_by_pair);
}

static enum cairn_status usage_hand_out(struct usage_work *w, struct cairn_usage *out)
{
	struct usage_row **order = calloc((size_t)w->n_rows + 1, sizeof(void *));
	uint32_t *places = calloc((size_t)w->n_rows + 1, sizeof(*places));
	out->owners = calloc((size_t)w->n_rows + 1, sizeof(*out->owners));
	out->pairs = calloc((size_t)CAIRN_USAGE_PAIRS_OF_MAX * CAIRN_USAGE_PAIRS_OF_MAX, sizeof(*out->pairs));
	bool ok = order && places && out->owners && out->pairs;
	for (uint32_t i = 0; i < w->n_rows && ok; i++)
		order[i] = &w->rows[i];
	if (ok)
		qsort((void *)order, w->n_rows, sizeof(void *), usage_by_held);
	for (uint32_t i = 0; i < w->n_rows && ok; i++) {
		places[order[i] - w->rows] = i;
		out->owners[i] = order[i]->owner;
		order[i]->owner.name = NULL; /* the owner's now */
		out->n_owners++;
	}
	if (ok)
		usage_pair_up(w, places, out);
	free(order);
	free(places);
	return ok ? CAIRN_OK : CAIRN_E_NOMEM;
}

static void usage_work_fini(struct usage_work *w)
{
	for (uint32_t i = 0; i < w->n_rows; i++)
		free(w->rows[i].owner.name);
	free(w->rows);
	free(w->members);
	free(w->pieces);
	usage_sets_fini(&w->sets);
}

static enum cairn_status usage_run(struct usage_work *w, bool (*stop)(void *ctx), void *stop_ctx)
{
	struct cairn_index_repo_list all = {
		.all = true, .sort = CAIRN_INDEX_BY_CREATION, .limit = CAIRN_INDEX_REPOS_MAX};
	bool more = true;
	enum cairn_status status = cairn_index_each_owner(w->index, usage_take_owner, w);
	if (status == CAIRN_OK)
		status = w->status;
	if (status != CAIRN_OK)
		return status;
	if (w->n_rows > 0)
		qsort(w->rows, w->n_rows, sizeof(*w->rows), usage_by_number);
	do {
		status = usage_read(w, stop, stop_ctx);
		if (status == CAIRN_OK)
			status = usage_count(w, stop, stop_ctx);
		w->from_xorb = w->to_xorb;
	} while (status == CAIRN_OK && w->to_xorb != 0);
	usage_sum(w);
	while (status == CAIRN_OK && more)
		status = cairn_index_list_repos(w->index, &all, usage_name_repo, w, &more);
	return status == CAIRN_OK ? w->status : status;
}

enum cairn_status cairn_usage_compute(struct cairn_usage **out, struct cairn_index *index, uint32_t pieces_max,
				      bool (*stop)(void *ctx), void *stop_ctx, struct cairn_diag *diag)
{
	CLEANUP(cairn_usage_freep) struct cairn_usage *usage = calloc(1, sizeof(*usage));
	CLEANUP(usage_work_fini)
	struct usage_work w = {.index = index, .pieces_max = pieces_max, .first_round = true};
	int64_t began_ms = cairn_clock_mono_ms();
	*out = NULL;
	w.pieces = malloc((size_t)pieces_max * sizeof(*w.pieces));
	if (!usage || !w.pieces)
		return CAIRN_E_NOMEM;
	enum cairn_status status = usage_run(&w, stop, stop_ctx);
	if (status == CAIRN_OK)
		status = usage_hand_out(&w, usage);
	if (status == CAIRN_E_LIMIT)
		return cairn_fail(diag, status, "usage.limit", CAIRN_NO_OFFSET,
				  "more than %d different sets of repositories share files, or more than %u different "
				  "terms name one xorb",
				  (int)USAGE_SETS_MAX, pieces_max);
	if (status != CAIRN_OK)
		return status;
	usage->held_bytes = w.held_bytes;
	usage->at_unix_s = cairn_clock_unix_s();
	usage->took_ms = (uint64_t)(cairn_clock_mono_ms() - began_ms);
	*out = usage;
	usage = NULL;
	return CAIRN_OK;
}

void cairn_usage_free(struct cairn_usage *usage)
{
	if (!usage)
		return;
	for (uint32_t i = 0; i < usage->n_owners; i++)
		free(usage->owners[i].name);
	free(usage->owners);
	free(usage->pairs);
	free(usage);
}

void cairn_usage_freep(struct cairn_usage **usage)
{
	cairn_usage_free(*usage);
}

const struct cairn_usage_owner *cairn_usage_of_repo(const struct cairn_usage *usage, int64_t repo)
{
	for (uint32_t i = 0; i < usage->n_owners; i++)
		if (usage->owners[i].repo == repo)
			return &usage->owners[i];
	return NULL;
}
