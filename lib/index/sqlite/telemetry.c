/* What clients tell of themselves: the newest so many rows. */
#include "index/operate.h"
#include "index/sqlite/engine.h"

#include "base/clock.h"

enum cairn_status cairn_tx_add_telemetry(struct cairn_tx *tx, struct cairn_index_add_telemetry *add)
{
	if (add->body_len > CAIRN_INDEX_TELEMETRY_BYTES_MAX)
		return cairn_fail(&add->write.diag, CAIRN_E_LIMIT, "telemetry.bytes", CAIRN_NO_OFFSET,
				  "telemetry is kept up to %d bytes", CAIRN_INDEX_TELEMETRY_BYTES_MAX);
	sqlite3_stmt *insert = tx->stmt[CAIRN_TX_ADD_TELEMETRY];
	sqlite3_bind_int64(insert, 1, cairn_clock_unix_s());
	cairn_sql_bind_text(insert, 2, add->sender);
	cairn_sql_bind_blob(insert, 3, add->body, add->body_len);
	enum cairn_status status = cairn_sql_run(insert);
	if (status != CAIRN_OK)
		return status;
	sqlite3_stmt *drop = tx->stmt[CAIRN_TX_DROP_TELEMETRY];
	sqlite3_bind_int64(drop, 1, sqlite3_last_insert_rowid(tx->db) - (int64_t)add->keep_max);
	return cairn_sql_run(drop);
}

enum cairn_status cairn_sqlite_each_telemetry(struct cairn_index *ix, int64_t before_id, uint32_t limit,
					      void (*visit)(void *ctx, const struct cairn_index_telemetry *row),
					      void *ctx, int64_t *next_id)
{
	*next_id = 0;
	CLEANUP(cairn_pool_givep) struct cairn_reader *r = NULL;
	enum cairn_status status = cairn_sqlite_take(ix, &r);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = r->stmt[CAIRN_READ_TELEMETRY];
	uint32_t page = cairn_sqlite_page(stmt, before_id == 0 ? INT64_MAX : before_id, limit);
	struct cairn_index_telemetry out = {0};
	for (uint32_t n = 0; n < page; n++) {
		bool row;
		status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK || !row)
			return status;
		out.id = sqlite3_column_int64(stmt, 0);
		out.at_unix_s = sqlite3_column_int64(stmt, 1);
		out.sender = (const char *)sqlite3_column_text(stmt, 2);
		out.body = cairn_sql_blob(stmt, 3, &out.body_len);
		visit(ctx, &out);
	}
	*next_id = out.id;
	return CAIRN_OK;
}
