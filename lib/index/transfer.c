#include "index/transfer.h"

#include "index/backend.h"
#include "index/tables.h"

void cairn_index_transfer_freep(struct cairn_index_transfer **t)
{
	if (*t)
		(*t)->backend->transfer_free(*t);
	*t = NULL;
}

enum cairn_status cairn_index_transfer_page(struct cairn_index_transfer *t, enum cairn_index_table table,
					    const struct cairn_index_rows *after, uint32_t row, uint32_t limit,
					    struct cairn_index_rows *out, struct cairn_diag *diag)
{
	cairn_index_rows_empty(out);
	enum cairn_status status = t->backend->transfer_page(t, table, after, row, limit, out, diag);
	if (status == CAIRN_OK && out->status != CAIRN_OK)
		return cairn_fail(diag, out->status, "index.rows", CAIRN_NO_OFFSET, "rows of the table %s: %s",
				  cairn_index_table_name(table), cairn_status_name(out->status));
	return status;
}

enum cairn_status cairn_index_transfer_state(struct cairn_index_transfer *t, struct cairn_index_state *out,
					     struct cairn_diag *diag)
{
	return t->backend->transfer_state(t, out, diag);
}

enum cairn_status cairn_index_transfer_last(struct cairn_index_transfer *t, enum cairn_index_table table,
					    int64_t *number, struct cairn_diag *diag)
{
	*number = 0;
	return CAIRN_INDEX_TABLES[table].has_numbers ? t->backend->transfer_last(t, table, number, diag) : CAIRN_OK;
}

enum cairn_status cairn_index_transfer_freeze(struct cairn_index_transfer *t, enum cairn_index_frozen frozen,
					      struct cairn_diag *diag)
{
	return t->backend->transfer_freeze(t, frozen, diag);
}

enum cairn_status cairn_index_transfer_write(struct cairn_index_transfer *t, const struct cairn_index_rows *const *drop,
					     const struct cairn_index_rows *const *put, size_t n,
					     struct cairn_diag *diag)
{
	for (size_t i = 0; i < n; i++) {
		enum cairn_status status = drop[i]->status != CAIRN_OK ? drop[i]->status : put[i]->status;
		if (status != CAIRN_OK)
			return status;
	}
	return t->backend->transfer_write(t, drop, put, n, diag);
}

enum cairn_status cairn_index_transfer_begin(struct cairn_index_transfer *t, struct cairn_diag *diag)
{
	return t->backend->transfer_begin(t, diag);
}

enum cairn_status cairn_index_transfer_end(struct cairn_index_transfer *t, const struct cairn_index_state *state,
					   const int64_t last[static CAIRN_TABLES], struct cairn_diag *diag)
{
	return t->backend->transfer_end(t, state, last, diag);
}

enum cairn_status cairn_index_ask_frozen(const char *url, enum cairn_index_frozen *out, struct cairn_diag *diag)
{
	CLEANUP(cairn_index_transfer_freep) struct cairn_index_transfer *t = NULL;
	struct cairn_index_state state = {.frozen = CAIRN_INDEX_THAWED};
	enum cairn_status status = cairn_index_transfer_open(&t, url, false, diag);
	if (status == CAIRN_OK)
		status = cairn_index_transfer_state(t, &state, diag);
	*out = state.frozen;
	return status;
}
