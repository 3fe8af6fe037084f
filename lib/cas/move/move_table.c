/* Holds the rows of a table that are yet to be written. */
#include "cas/move/move_table.h"
#include "base/crash_point.h"

#include <stdlib.h>
#include <string.h>

bool move_ids_have(const struct move_ids *set, int64_t id)
{
	size_t low = 0, high = set->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (set->ids[middle] == id)
			return true;
		if (set->ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

enum cairn_status move_ids_add(struct move_ids *set, int64_t id)
{
	if (set->n == set->room) {
		size_t room = set->room ? 2 * set->room : 64;
		int64_t *grown = realloc(set->ids, room * sizeof(*grown));
		if (!grown)
			return CAIRN_E_NOMEM;
		set->ids = grown;
		set->room = room;
	}
	set->ids[set->n++] = id;
	return CAIRN_OK;
}

void move_table_fini(struct move_table *w)
{
	cairn_index_rows_fini(&w->drop);
	cairn_index_rows_fini(&w->put);
	cairn_index_rows_fini(&w->drop_list);
	cairn_index_rows_fini(&w->put_list);
	cairn_index_rows_fini(&w->there);
	cairn_sha256_freep(&w->digest);
}

int64_t move_number(const struct cairn_index_rows *rows, uint32_t row, unsigned column)
{
	return cairn_index_rows_value(rows, row, column)->number;
}

static bool move_goes_on(struct move *m)
{
	return !m->options->progress || m->options->progress(m->options->ctx, m->report);
}

/* Removes the objects of xorbs whose rows are gone, if the target knows objects only by their hash. */
static enum cairn_status move_drop_objects(struct move_table *w)
{
	struct cairn_hash hash;
	for (uint32_t i = 0; w->table == CAIRN_TABLE_XORB && !w->m->names_target && i < w->drop.n; i++) {
		const struct cairn_value *value = cairn_index_rows_value(&w->drop, i, CAIRN_XORB_HASH);
		bool comes_again = false;
		if (value->len != sizeof(hash.b))
			continue;
		memcpy(hash.b, cairn_index_rows_at(&w->drop, value), sizeof(hash.b));
		for (uint32_t k = 0; k < w->put.n && !comes_again; k++)
			comes_again = memcmp(cairn_index_rows_at(&w->put,
								 cairn_index_rows_value(&w->put, k, CAIRN_XORB_HASH)),
					     hash.b, sizeof(hash.b)) == 0;
		enum cairn_status status = comes_again ? CAIRN_OK : cairn_store_remove(w->m->target, &hash, NULL);
		if (status != CAIRN_OK)
			return cairn_fail(w->m->diag, status, "move.object", CAIRN_NO_OFFSET,
					  "an object that is not needed any more cannot be removed");
	}
	return CAIRN_OK;
}

enum cairn_status move_write(struct move_table *w)
{
	const struct cairn_index_rows *const drop[] = {&w->drop, &w->drop_list}, *const put[] = {&w->put, &w->put_list};
	uint64_t n = (uint64_t)w->drop.n + w->put.n;
	enum cairn_status status = CAIRN_OK;
	if (n > 0) {
		status = cairn_index_transfer_write(w->m->to, drop, put, 2, w->m->diag);
		cairn_crash_point(CAIRN_CRASH_MOVE_ROWS);
	}
	if (status == CAIRN_OK)
		status = move_drop_objects(w);
	w->m->report->n_dropped += w->drop.n;
	w->m->report->n_put += w->put.n;
	w->m->n_changed += n;
	cairn_index_rows_empty(&w->drop);
	cairn_index_rows_empty(&w->put);
	cairn_index_rows_empty(&w->drop_list);
	cairn_index_rows_empty(&w->put_list);
	cairn_index_rows_empty(&w->there);
	if (status == CAIRN_OK && !move_goes_on(w->m))
		return cairn_fail(w->m->diag, CAIRN_E_BUSY, "move.stopped", CAIRN_NO_OFFSET, "it was stopped");
	return status;
}
