#include "hub/stretches.h"

#include <stdlib.h>

void cairn_stretches_init(struct cairn_stretches *stretches, struct cairn_index *index,
			  const struct cairn_index_repo *repo)
{
	*stretches = (struct cairn_stretches){.index = index};
	cairn_index_repo_owner(stretches->owner, repo->id);
}

void cairn_stretches_fini(struct cairn_stretches *stretches)
{
	free(stretches->all);
	stretches->all = NULL;
	stretches->n = stretches->room = 0;
}

static enum cairn_status stretches_make_room(struct cairn_stretches *stretches, uint32_t n)
{
	uint32_t room = 2 * (stretches->n + n);
	if (stretches->n + n <= stretches->room)
		return CAIRN_OK;
	struct cairn_stretch *grown = realloc(stretches->all, room * sizeof(*grown));
	if (!grown)
		return CAIRN_E_NOMEM;
	stretches->all = grown;
	stretches->room = room;
	return CAIRN_OK;
}

enum cairn_status cairn_stretches_add(struct cairn_stretches *stretches, const struct cairn_hash *hash, uint32_t file)
{
	CLEANUP(cairn_index_file_fini) struct cairn_index_file found = {0};
	if (stretches->unknown)
		return CAIRN_OK;
	enum cairn_status status = cairn_index_file(stretches->index, hash, stretches->owner, true, &found);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	stretches->unknown = found.n_terms > CAIRN_STRETCHES_MAX - stretches->n;
	if (!stretches->unknown)
		status = stretches_make_room(stretches, found.n_terms);
	for (uint32_t i = 0; status == CAIRN_OK && !stretches->unknown && i < found.n_terms; i++)
		stretches->all[stretches->n++] = (struct cairn_stretch){
			.xorb = found.terms[i].xorb_id,
			.file = file,
			.bytes = found.terms[i].unpacked_bytes,
			.start = found.terms[i].start,
			.end = found.terms[i].end,
		};
	return status;
}

static int stretches_compare(const void *a, const void *b)
{
	const struct cairn_stretch *x = a, *y = b;
	if (x->xorb != y->xorb)
		return x->xorb > y->xorb ? 1 : -1;
	if (x->file != y->file)
		return x->file > y->file ? 1 : -1;
	return (x->start > y->start) - (x->start < y->start);
}

enum cairn_status cairn_stretches_each(struct cairn_stretches *stretches,
				       enum cairn_status (*visit)(void *ctx, const struct cairn_stretch *of_xorb,
								  uint32_t n),
				       void *ctx)
{
	enum cairn_status status = CAIRN_OK;
	if (stretches->n > 0)
		qsort(stretches->all, stretches->n, sizeof(*stretches->all), stretches_compare);
	for (uint32_t from = 0, to; from < stretches->n && status == CAIRN_OK; from = to) {
		for (to = from + 1; to < stretches->n && stretches->all[to].xorb == stretches->all[from].xorb;)
			to++;
		status = visit(ctx, stretches->all + from, to - from);
	}
	return status;
}
