/* What is kept for a time, and then removed. */
#include "index/operate.h"
#include "index/sqlite/engine.h"

enum { TRIM_PIECE = 256 }; /* rows of one write: up to 16 MiB of pages */

enum cairn_status cairn_tx_trim(struct cairn_tx *tx, struct cairn_index_trim *trim)
{
	sqlite3_stmt *stmt =
		tx->stmt[trim->what == CAIRN_INDEX_TRIM_KEYS ? CAIRN_TX_TRIM_KEYS : CAIRN_TX_TRIM_TELEMETRY];
	sqlite3_bind_int64(stmt, 1, trim->before_unix_s);
	sqlite3_bind_int64(stmt, 2, TRIM_PIECE);
	enum cairn_status status = cairn_sql_run(stmt);
	trim->n_dropped = status == CAIRN_OK ? (uint32_t)sqlite3_changes(tx->db) : 0;
	return status;
}
