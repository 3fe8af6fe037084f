#include "index/sqlite/quota.h"

#include "index/sqlite/engine.h"

#include "base/sum.h"

static CAIRN_WRITES(TX_COUNT_STORED, "UPDATE repo SET stored = stored + ?2 WHERE scope = ?1");
static CAIRN_WRITES(TX_COUNT_OWNED, "UPDATE scope SET stored = stored + ?2 WHERE id = ?1 AND quota IS NOT NULL");

enum cairn_status cairn_tx_count_stored(struct cairn_tx *tx, int64_t owner, int64_t bytes)
{
	static const struct cairn_statement *const OF[] = {&TX_COUNT_STORED, &TX_COUNT_OWNED};
	bool counted = false;
	if (owner == 0 || bytes == 0 || owner == tx->records.growth.uncounted)
		return CAIRN_OK;
	for (size_t i = 0; i < sizeof(OF) / sizeof(OF[0]) && !counted; i++) {
		enum cairn_status status =
			cairn_tx_run(tx, OF[i], CAIRN_ARGS(cairn_db_int(owner), cairn_db_int(bytes)));
		if (status != CAIRN_OK)
			return status;
		counted = sqlite3_changes(tx->db) > 0;
	}
	if (!counted) {
		tx->records.growth.uncounted = owner;
		return CAIRN_OK;
	}
	cairn_records_grow(&tx->records, owner, bytes);
	return CAIRN_OK;
}

enum cairn_status cairn_tx_count_rows(struct cairn_tx *tx, int64_t owner, int64_t bytes, bool may_be_refused)
{
	const struct cairn_index_growth before = tx->records.growth;
	enum cairn_status status = cairn_tx_count_stored(tx, owner, bytes);
	if (!may_be_refused)
		tx->records.growth = before;
	return status;
}

static CAIRN_WRITES(TX_FILE_SIZE, "SELECT size FROM file WHERE id = ?1");

enum cairn_status cairn_tx_count_file(struct cairn_tx *tx, int64_t owner, int64_t file, int times)
{
	int64_t size_bytes;
	if (owner == 0 || owner == tx->records.growth.uncounted)
		return CAIRN_OK;
	{
		CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, &TX_FILE_SIZE);
		sqlite3_bind_int64(stmt, 1, file);
		enum cairn_status status = cairn_sql_find(stmt);
		if (status != CAIRN_OK)
			return status == CAIRN_E_NOT_FOUND ? CAIRN_E_DAMAGED : status;
		size_bytes = (int64_t)cairn_index_file_counts((uint64_t)sqlite3_column_int64(stmt, 0));
	}
	return cairn_tx_count_stored(tx, owner, times < 0 ? cairn_difference(0, size_bytes) : size_bytes);
}
