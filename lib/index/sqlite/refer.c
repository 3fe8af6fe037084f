/* Finds the places of a chunk. */
#include "index/refer.h"

#include "base/bytes.h"
#include "index/rows.h"
#include "index/sqlite/engine.h"

static uint32_t refer_limit(uint32_t limit)
{
	return limit == 0 || limit > CAIRN_INDEX_PAGE_MAX ? CAIRN_INDEX_PAGE_MAX : limit;
}

/* Is the chunk at the row's place? The prefix proves little. @param[out] out  except for the scope */
static enum cairn_status refer_prove(struct cairn_reader *r, sqlite3_stmt *found, const struct cairn_hash *chunk,
				     struct cairn_chunk_list *list, struct cairn_index_place *out, bool *proved)
{
	int64_t place = sqlite3_column_int64(found, 1);
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, &CAIRN_READ_LIST_BY_ID);
	sqlite3_bind_int64(stmt, 1, sqlite3_column_int64(found, 0));
	enum cairn_status status = cairn_sql_find(stmt);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_E_DAMAGED : status;
	size_t spans_len, hashes_len;
	const uint8_t *spans = cairn_sql_blob(stmt, 0, &spans_len);
	const uint8_t *hashes = cairn_sql_blob(stmt, 1, &hashes_len);
	status = cairn_rows_list(list, spans, spans_len, hashes, hashes_len);
	if (status != CAIRN_OK || place < 0 || place >= list->n || !cairn_hash_equal(&list->hashes[place], chunk))
		return status;
	out->at = (uint32_t)place;
	out->unpacked_bytes = list->spans[place].unpacked_bytes;
	*proved = true;
	return cairn_sql_hash(found, 2, &out->xorb) ? CAIRN_OK : CAIRN_E_DAMAGED;
}

static CAIRN_READS(READ_PLACES,
		   "SELECT d.xorb, d.place, x.hash, s.name FROM dedupe d CROSS JOIN xorb x ON x.id = d.xorb"
		   " CROSS JOIN scope s ON s.id = d.scope WHERE d.prefix = ?1 ORDER BY d.xorb, s.name");

enum cairn_status cairn_sqlite_each_place(struct cairn_index *ix, const struct cairn_hash *chunk, uint32_t limit,
					  void (*visit)(void *ctx, const struct cairn_index_place *place), void *ctx,
					  bool *more)
{
	*more = false;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_read_stmt(r, &READ_PLACES);
	sqlite3_bind_int64(stmt, 1, (int64_t)cairn_get_u64le(chunk->b));
	for (uint32_t n = 0;;) {
		struct cairn_index_place place;
		bool row, proved = false;
		status = cairn_sql_step(stmt, &row);
		*more = row && n == refer_limit(limit);
		if (status != CAIRN_OK || !row || *more)
			return status;
		status = refer_prove(r, stmt, chunk, &list, &place, &proved);
		place.scope = (const char *)sqlite3_column_text(stmt, 3);
		if (status != CAIRN_OK || !place.scope)
			return status != CAIRN_OK ? status : CAIRN_E_NOMEM;
		if (proved) {
			visit(ctx, &place);
			n++;
		}
	}
}
