#include "hub/usage_work.h"

#include "base/clock.h"
#include "index/daemon/lease.h"
#include "index/operate.h"
#include "index/quota.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- owners ------------------------------------------------------------------------------------------------------- */

static enum cairn_status usage_grow_rows(struct usage_work *w)
{
	if (w->n_rows == w->room->owners_max)
		return CAIRN_E_LIMIT;
	if (w->n_rows < w->rows_cap)
		return CAIRN_OK;
	uint32_t cap = w->rows_cap ? 2 * w->rows_cap : 64;
	struct usage_row *grown = realloc(w->rows, cap * sizeof(*grown));
	if (!grown)
		return CAIRN_E_NOMEM;
	w->rows = grown;
	w->rows_cap = cap;
	return CAIRN_OK;
}

static void usage_take_owner(void *ctx, int64_t number, const char *name)
{
	struct usage_work *w = ctx;
	if (w->status == CAIRN_OK && !cairn_index_owner_is_gone(name))
		w->status = usage_grow_rows(w);
	if (w->status != CAIRN_OK || cairn_index_owner_is_gone(name))
		return;
	struct usage_row row = {
		.number = number, .owner.name = strdup(name), .owner.repo = cairn_index_owner_repo(name)};
	if (row.owner.name)
		w->rows[w->n_rows++] = row;
	else
		w->status = CAIRN_E_NOMEM;
}

/* Finds the owners, in the order of their numbers. */
static enum cairn_status usage_find_owners(struct usage_work *w, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_index_each_owner(w->index, usage_take_owner, w);
	if (status == CAIRN_OK)
		status = w->status;
	if (status == CAIRN_E_LIMIT)
		return cairn_fail(
			diag, status, "usage.limit", CAIRN_NO_OFFSET,
			"more than %u owners have files; there are figures again once some repositories are deleted",
			w->room->owners_max);
	if (status != CAIRN_OK)
		return status;
	size_t n = (size_t)w->n_rows + 1;
	w->members = malloc(n * sizeof(*w->members));
	w->stamps = calloc(n, sizeof(*w->stamps));
	w->met = malloc(n * sizeof(*w->met));
	return w->members && w->stamps && w->met ? CAIRN_OK : CAIRN_E_NOMEM;
}

/* --- the largest owners ------------------------------------------------------------------------------------------- */

static int usage_by_held(const void *a, const void *b)
{
	const struct usage_row *x = *(struct usage_row *const *)a, *y = *(struct usage_row *const *)b;
	uint64_t p = x->owner.only_bytes + x->owner.shared_bytes, q = y->owner.only_bytes + y->owner.shared_bytes;
	if (p != q)
		return p < q ? 1 : -1;
	return strcmp(x->owner.name, y->owner.name);
}

/* The rows in the order of the bytes they hold, and the place of each row in this order. */
struct usage_order {
	struct usage_row **rows; /* owned, like the next array */
	uint32_t *places;
};

static void usage_order_fini(struct usage_order *order)
{
	free((void *)order->rows);
	free(order->places);
}

static enum cairn_status usage_order_init(struct usage_order *order, const struct usage_work *w)
{
	order->rows = calloc((size_t)w->n_rows + 1, sizeof(void *));
	order->places = calloc((size_t)w->n_rows + 1, sizeof(*order->places));
	if (!order->rows || !order->places)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < w->n_rows; i++)
		order->rows[i] = &w->rows[i];
	qsort((void *)order->rows, w->n_rows, sizeof(void *), usage_by_held);
	for (uint32_t i = 0; i < w->n_rows; i++)
		order->places[order->rows[i] - w->rows] = i;
	return CAIRN_OK;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static int usage_by_repo(const void *a, const void *b)
{
	int64_t x = (*(struct usage_row *const *)a)->owner.repo, y = (*(struct usage_row *const *)b)->owner.repo;
	return (x > y) - (x < y);
}

struct usage_names {
	struct usage_row **rows; /* sorted by their repositories' numbers */
	uint32_t n;
	enum cairn_status status;
};

static void usage_name_repo(void *ctx, const struct cairn_index_repo *repo)
{
	struct usage_names *names = ctx;
	struct usage_row wanted = {.owner.repo = repo->id}, *key = &wanted, **found;
	char *name;
	found = bsearch((const void *)&key, (const void *)names->rows, names->n, sizeof(void *), usage_by_repo);
	if (!found)
		return;
	if (asprintf(&name, "%s/%s/%s", cairn_index_kind_name(repo->kind), repo->account_name, repo->name) < 0) {
		names->status = CAIRN_E_NOMEM;
		return;
	}
	free((*found)->owner.name);
	(*found)->owner.name = name;
}

static enum cairn_status usage_name_repos(struct usage_work *w)
{
	struct cairn_index_repo_list all = {
		.all = true, .sort = CAIRN_INDEX_BY_CREATION, .limit = CAIRN_INDEX_REPOS_MAX};
	CLEANUP(usage_order_fini) struct usage_order order = {0};
	bool more = true;
	enum cairn_status status = usage_order_init(&order, w);
	struct usage_names names = {.rows = order.rows, .n = w->n_rows};
	if (status == CAIRN_OK)
		qsort((void *)order.rows, w->n_rows, sizeof(void *), usage_by_repo);
	while (status == CAIRN_OK && more)
		status = cairn_index_list_repos(w->index, &all, usage_name_repo, &names, &more);
	return status == CAIRN_OK ? names.status : status;
}

/* --- the result --------------------------------------------------------------------------------------------------- */

static int usage_by_pair(const void *a, const void *b)
{
	const struct cairn_usage_pair *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->a != y->a ? (x->a > y->a ? 1 : -1) : (x->b > y->b) - (x->b < y->b);
}

/* Reads the index a second time. A write between the two reads may count in only one of them. */
static enum cairn_status usage_pair_up(struct usage_work *w, struct cairn_usage *out, const struct usage_order *order)
{
	enum { N = CAIRN_USAGE_PAIRS_OF_MAX };
	w->sums = calloc(N, sizeof(*w->sums));
	out->pairs = calloc((size_t)N * N, sizeof(*out->pairs));
	if (!w->sums || !out->pairs)
		return CAIRN_E_NOMEM;
	enum cairn_status status = usage_each_xorb(w, order->places, usage_pair_xorb);
	for (uint32_t a = 0; a < N && status == CAIRN_OK; a++)
		for (uint32_t b = a + 1; b < N; b++)
			if (w->sums[a][b] > 0)
				out->pairs[out->n_pairs++] = (struct cairn_usage_pair){a, b, w->sums[a][b]};
	qsort(out->pairs, out->n_pairs, sizeof(*out->pairs), usage_by_pair);
	return status;
}

static enum cairn_status usage_hand_out(struct usage_work *w, struct cairn_usage *out, const struct usage_order *order)
{
	out->owners = calloc((size_t)w->n_rows + 1, sizeof(*out->owners));
	out->by_repo = calloc((size_t)w->n_rows + 1, sizeof(*out->by_repo));
	if (!out->owners || !out->by_repo)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < w->n_rows; i++) {
		out->owners[i] = order->rows[i]->owner;
		order->rows[i]->owner.name = NULL; /* out->owners owns it now */
		out->n_owners++;
	}
	qsort((void *)order->rows, w->n_rows, sizeof(void *), usage_by_repo);
	for (uint32_t i = 0; i < w->n_rows; i++)
		out->by_repo[i] = order->places[order->rows[i] - w->rows];
	out->held_bytes = w->held_bytes;
	return CAIRN_OK;
}

static void usage_work_fini(struct usage_work *w)
{
	for (uint32_t i = 0; i < w->n_rows; i++)
		free(w->rows[i].owner.name);
	free(w->rows);
	free(w->members);
	free(w->stamps);
	free(w->met);
	free(w->pieces);
	free(w->sums);
	usage_sets_fini(&w->sets);
}

static enum cairn_status usage_run(struct usage_work *w, struct cairn_usage *out, struct cairn_diag *diag)
{
	CLEANUP(usage_order_fini) struct usage_order order = {0};
	enum cairn_status status = usage_find_owners(w, diag);
	if (status != CAIRN_OK)
		return status;
	status = usage_each_xorb(w, NULL, usage_count_xorb);
	if (status == CAIRN_OK)
		status = usage_name_repos(w);
	if (status == CAIRN_OK)
		status = usage_order_init(&order, w);
	if (status == CAIRN_OK)
		status = usage_pair_up(w, out, &order);
	if (status == CAIRN_E_LIMIT)
		return cairn_fail(
			diag, status, "usage.limit", CAIRN_NO_OFFSET,
			"files have different stretches of one xorb in more than %u ways, or in common with too "
			"many others; there are figures again once some of these files are deleted",
			w->room->pieces_max);
	return status == CAIRN_OK ? usage_hand_out(w, out, &order) : status;
}

/* Takes the lease: the computation reads the whole index, so only one daemon at a time computes. */
static enum cairn_status usage_take_lease(struct cairn_index *index, struct cairn_index_lease *lease,
					  struct cairn_diag *diag)
{
	struct cairn_diag why = {0};
	enum cairn_status status = cairn_index_take_lease(index, CAIRN_INDEX_USAGE, lease, &why);
	if (status == CAIRN_E_CONFLICT)
		return cairn_fail(diag, CAIRN_E_BUSY, "usage.running", CAIRN_NO_OFFSET,
				  "another daemon is computing the usage now; try again in some seconds");
	if (status != CAIRN_OK)
		*diag = why;
	return status;
}

enum cairn_status cairn_usage_compute(struct cairn_usage **out, struct cairn_index *index,
				      const struct cairn_usage_room *room, bool (*stop)(void *ctx), void *stop_ctx,
				      struct cairn_diag *diag)
{
	CLEANUP(cairn_usage_freep) struct cairn_usage *usage = calloc(1, sizeof(*usage));
	CLEANUP(usage_work_fini)
	struct usage_work w = {.index = index,
			       .room = room,
			       .stop = stop,
			       .stop_ctx = stop_ctx,
			       .sets.members_max = room->members_max,
			       .pieces_max = room->pieces_max,
			       .counts_files = true};
	struct cairn_index_lease lease;
	int64_t began_ms = cairn_clock_mono_ms();
	*out = NULL;
	w.pieces = malloc((size_t)room->pieces_max * sizeof(*w.pieces));
	if (!usage || !w.pieces)
		return CAIRN_E_NOMEM;
	enum cairn_status status = usage_take_lease(index, &lease, diag);
	if (status == CAIRN_OK) {
		status = usage_run(&w, usage, diag);
		(void)!cairn_index_give_lease(index, &lease, 0, 0);
	}
	if (status != CAIRN_OK)
		return status;
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
	free(usage->by_repo);
	free(usage->pairs);
	free(usage);
}

void cairn_usage_freep(struct cairn_usage **usage)
{
	cairn_usage_free(*usage);
}

const struct cairn_usage_owner *cairn_usage_of_repo(const struct cairn_usage *usage, int64_t repo)
{
	uint32_t from = 0, to = usage->n_owners;
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;
		if (usage->owners[usage->by_repo[middle]].repo < repo)
			from = middle + 1;
		else
			to = middle;
	}
	const struct cairn_usage_owner *owner = from < usage->n_owners ? &usage->owners[usage->by_repo[from]] : NULL;
	return owner && owner->repo == repo ? owner : NULL;
}
