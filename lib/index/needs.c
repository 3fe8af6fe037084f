#include "index/needs.h"

#include "index/backend.h"

#include <stdlib.h>

CAIRN_SQL(NEEDS_LAST_XORB, "SELECT coalesce(max(id), 0) FROM xorb");

struct cairn_index_needs {
	int64_t last_xorb;
	uint64_t n_files; /* number of files read */
	uint64_t n_bits;
	uint8_t bits[];
};

static void needs_note(void *ctx, const struct cairn_index_file *file)
{
	struct cairn_index_needs *needs = ctx;
	needs->n_files++;
	for (uint32_t i = 0; i < file->n_terms; i++) {
		uint64_t bit = (uint64_t)file->terms[i].xorb_id % needs->n_bits;
		needs->bits[bit / 8] |= (uint8_t)(1 << bit % 8);
	}
}

static enum cairn_status needs_alloc(struct cairn_index_needs **out, struct cairn_index *ix)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(ix, &rows, &NEEDS_LAST_XORB, NULL);
	if (status != CAIRN_OK)
		return status;
	int64_t last = cairn_db_get_int(&rows, 0);
	uint64_t n_bytes = (uint64_t)last / 8 + 1;
	if (n_bytes > CAIRN_INDEX_NEEDS_BYTES_MAX)
		n_bytes = CAIRN_INDEX_NEEDS_BYTES_MAX;
	*out = calloc(1, sizeof(**out) + n_bytes);
	if (!*out)
		return CAIRN_E_NOMEM;
	(*out)->n_bits = n_bytes * 8;
	(*out)->last_xorb = last;
	return CAIRN_OK;
}

enum cairn_status cairn_index_needs_new(struct cairn_index_needs **out, struct cairn_index *ix,
					_Atomic uint64_t *n_read, bool (*stop)(void *ctx), void *stop_ctx)
{
	CLEANUP(cairn_index_needs_freep) struct cairn_index_needs *needs = NULL;
	int64_t from_id = 0;
	*out = NULL;
	enum cairn_status status = needs_alloc(&needs, ix);
	if (status != CAIRN_OK)
		return status;
	do {
		if (stop && stop(stop_ctx))
			return CAIRN_E_BUSY;
		status = cairn_index_each_file(ix, from_id, 0, true, needs_note, needs, &from_id);
		if (n_read)
			atomic_store(n_read, needs->n_files);
		if (status != CAIRN_OK)
			return status;
	} while (from_id != 0);
	*out = needs;
	needs = NULL;
	return CAIRN_OK;
}

void cairn_index_needs_freep(struct cairn_index_needs **needs)
{
	free(*needs);
	*needs = NULL;
}

int64_t cairn_index_needs_last_xorb(const struct cairn_index_needs *needs)
{
	return needs->last_xorb;
}

bool cairn_index_needs_has(const struct cairn_index_needs *needs, int64_t xorb)
{
	if (!needs)
		return false;
	uint64_t bit = (uint64_t)xorb % needs->n_bits;
	return needs->bits[bit / 8] >> bit % 8 & 1;
}

enum cairn_status cairn_index_needs_agree(struct cairn_index *ix, bool *agree)
{
	return ix->backend->needs_agree(ix, agree);
}
