/* Registers a stored xorb; reads and writes rows of xorbs and lists. */
#include "index/rows.h"
#include "index/sqlite/write.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/sum.h"

#include <string.h>

/* Reads a xorb's row; state stays zeroed if there is none. @param stmt  bound; the caller resets it */
static enum cairn_status put_xorb_find(sqlite3_stmt *stmt, struct cairn_tx_xorb_state *state)
{
	*state = (struct cairn_tx_xorb_state){0};
	bool row;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	if (status != CAIRN_OK || !row)
		return status;
	state->id = sqlite3_column_int64(stmt, 0);
	state->n_chunks = (uint32_t)sqlite3_column_int64(stmt, 1);
	state->stored = sqlite3_column_type(stmt, 2) != SQLITE_NULL;
	state->stored_bytes = sqlite3_column_int64(stmt, 2);
	state->retired = sqlite3_column_type(stmt, 3) != SQLITE_NULL;
	return CAIRN_OK;
}

static CAIRN_WRITES(TX_FIND_XORB, "SELECT id, chunks, stored, coalesce(retired, withdrawn) FROM xorb WHERE hash = ?1");

enum cairn_status cairn_tx_find_xorb(struct cairn_tx *tx, const struct cairn_hash *hash,
				     struct cairn_tx_xorb_state *state)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, &TX_FIND_XORB);
	cairn_sql_bind_hash(stmt, 1, hash);
	return put_xorb_find(stmt, state);
}

static CAIRN_WRITES(TX_FIND_XORB_BY_ID,
		    "SELECT id, chunks, stored, coalesce(retired, withdrawn) FROM xorb WHERE id = ?1");

enum cairn_status cairn_tx_find_xorb_by_id(struct cairn_tx *tx, int64_t id, struct cairn_tx_xorb_state *state)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, &TX_FIND_XORB_BY_ID);
	sqlite3_bind_int64(stmt, 1, id);
	return put_xorb_find(stmt, state);
}

static CAIRN_WRITES(TX_SET_REPACKED, "UPDATE xorb SET repacked = 1 WHERE id = ?1");

enum cairn_status cairn_tx_set_repacked(struct cairn_tx *tx, int64_t id)
{
	return cairn_tx_run(tx, &TX_SET_REPACKED, CAIRN_ARGS(cairn_db_int(id)));
}

static enum cairn_status put_xorb_encode(struct cairn_buf *spans, const struct cairn_chunk_list *list)
{
	uint8_t *bytes = cairn_buf_extend(spans, (size_t)list->n * CAIRN_ROWS_SPAN_BYTES);
	if (!bytes)
		return CAIRN_E_NOMEM;
	cairn_rows_put_spans(bytes, list);
	return CAIRN_OK;
}

static CAIRN_WRITES(TX_ADD_XORB, "INSERT INTO xorb(hash, chunks, unpacked, stored, at, withdrawn)"
				 " VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
static CAIRN_WRITES(TX_ADD_LIST, "INSERT INTO list(xorb, spans, hashes) VALUES(?1, ?2, ?3)");

enum cairn_status cairn_tx_add_xorb(struct cairn_tx *tx, const struct cairn_hash *hash,
				    const struct cairn_chunk_list *list, const uint64_t *stored_bytes, bool withdrawn,
				    int64_t *id)
{
	CLEANUP(cairn_buf_fini)
	struct cairn_buf spans = cairn_buf_init((size_t)CAIRN_XORB_CHUNKS_MAX * CAIRN_ROWS_SPAN_BYTES);
	enum cairn_status status = put_xorb_encode(&spans, list);
	if (status != CAIRN_OK)
		return status;
	sqlite3_stmt *xorb = cairn_tx_stmt(tx, &TX_ADD_XORB);
	cairn_sql_bind_hash(xorb, 1, hash);
	sqlite3_bind_int64(xorb, 2, list->n);
	sqlite3_bind_int64(xorb, 3, (int64_t)cairn_chunk_list_bytes(list, 0, list->n));
	if (stored_bytes)
		sqlite3_bind_int64(xorb, 4, (int64_t)*stored_bytes);
	else
		sqlite3_bind_null(xorb, 4);
	sqlite3_bind_int64(xorb, 5, cairn_clock_unix_s());
	if (withdrawn)
		sqlite3_bind_int64(xorb, 6, CAIRN_INDEX_NEVER_OFFERED);
	else
		sqlite3_bind_null(xorb, 6);
	status = cairn_sql_run(xorb);
	if (status != CAIRN_OK)
		return status;
	*id = sqlite3_last_insert_rowid(tx->db);
	cairn_add(&tx->counts.xorbs, 1);
	cairn_add(&tx->counts.stored_bytes, stored_bytes ? (int64_t)*stored_bytes : 0);
	return cairn_tx_run(tx, &TX_ADD_LIST,
			    CAIRN_ARGS(cairn_db_int(*id), cairn_db_bytes(spans.bytes, spans.len),
				       cairn_db_bytes(list->hashes, (size_t)list->n * sizeof(*list->hashes))));
}

static CAIRN_WRITES(TX_RENEW_XORB, "UPDATE xorb SET retired = NULL, withdrawn = " CAIRN_STAYS_WITHDRAWN(
					   "?3") ", at = ?2 WHERE id = ?1");

enum cairn_status cairn_tx_keep_xorb(struct cairn_tx *tx, int64_t id, bool stays_withdrawn)
{
	return cairn_tx_run(
		tx, &TX_RENEW_XORB,
		CAIRN_ARGS(cairn_db_int(id), cairn_db_int(cairn_clock_unix_s()), cairn_db_int(stays_withdrawn)));
}

static CAIRN_WRITES(TX_GET_LIST, "SELECT spans, hashes FROM list WHERE xorb = ?1");

enum cairn_status cairn_tx_list(struct cairn_tx *tx, int64_t xorb, struct cairn_chunk_list *list)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, &TX_GET_LIST);
	sqlite3_bind_int64(stmt, 1, xorb);
	bool row;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	if (status != CAIRN_OK)
		return status;
	if (!row)
		return CAIRN_E_DAMAGED;
	size_t spans_len, hashes_len;
	const uint8_t *spans = cairn_sql_blob(stmt, 0, &spans_len);
	const uint8_t *hashes = cairn_sql_blob(stmt, 1, &hashes_len);
	return cairn_rows_list(list, spans, spans_len, hashes, hashes_len);
}

/* Do earlier terms still have the right byte ranges? If the list was unreadable, they got none. */
static enum cairn_status put_xorb_is_repacked(struct cairn_tx *tx, int64_t id, const struct cairn_chunk_list *list,
					      bool *repacked)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list before = {0};
	enum cairn_status status = cairn_tx_list(tx, id, &before);
	*repacked = status != CAIRN_OK || !cairn_chunk_list_same_places(&before, list);
	return status == CAIRN_E_NOMEM ? status : CAIRN_OK;
}

static CAIRN_WRITES(TX_STORE_XORB,
		    "UPDATE xorb SET retired = NULL, withdrawn = " CAIRN_STAYS_WITHDRAWN(
			    "?7") ", at = ?2, stored = ?3, chunks = ?4, unpacked = ?5, repacked = repacked OR ?6"
				  " WHERE id = ?1");
static CAIRN_WRITES(TX_SET_LIST, "INSERT OR REPLACE INTO list(xorb, spans, hashes) VALUES(?1, ?2, ?3)");

/* Stores the bytes of a xorb that was only described, or lost. The verified list repairs a damaged row, too. */
static enum cairn_status put_xorb_store(struct cairn_tx *tx, int64_t id, const struct cairn_index_put_xorb *put)
{
	const struct cairn_chunk_list *list = put->list;
	uint64_t stored_bytes = put->stored_bytes;
	CLEANUP(cairn_buf_fini)
	struct cairn_buf spans = cairn_buf_init((size_t)CAIRN_XORB_CHUNKS_MAX * CAIRN_ROWS_SPAN_BYTES);
	bool repacked = false;
	enum cairn_status status = put_xorb_encode(&spans, list);
	if (status == CAIRN_OK)
		status = put_xorb_is_repacked(tx, id, list, &repacked);
	if (status != CAIRN_OK)
		return status;
	status = cairn_tx_run(tx, &TX_STORE_XORB,
			      CAIRN_ARGS(cairn_db_int(id), cairn_db_int(cairn_clock_unix_s()),
					 cairn_db_int((int64_t)stored_bytes), cairn_db_int(list->n),
					 cairn_db_int((int64_t)cairn_chunk_list_bytes(list, 0, list->n)),
					 cairn_db_int(repacked), cairn_db_int(put->stays_withdrawn)));
	if (status != CAIRN_OK)
		return status;
	cairn_add(&tx->counts.stored_bytes, (int64_t)stored_bytes);
	return cairn_tx_run(tx, &TX_SET_LIST,
			    CAIRN_ARGS(cairn_db_int(id), cairn_db_bytes(spans.bytes, spans.len),
				       cairn_db_bytes(list->hashes, (size_t)list->n * sizeof(*list->hashes))));
}

enum cairn_status cairn_tx_put_xorb(struct cairn_tx *tx, struct cairn_index_put_xorb *put)
{
	const struct cairn_chunk_list *list = put->list;
	struct cairn_tx_xorb_state state;
	enum cairn_status status = cairn_tx_find_xorb(tx, &put->hash, &state);
	if (status != CAIRN_OK)
		return status;
	put->added = state.id == 0 || !state.stored;
	if (state.id == 0) {
		status = cairn_tx_add_xorb(tx, &put->hash, list, &put->stored_bytes, put->stays_withdrawn, &state.id);
		return status == CAIRN_OK ? cairn_records_hold_xorb(&tx->records, put, state.id) : status;
	}
	if (!state.stored)
		return put_xorb_store(tx, state.id, put);
	if (state.n_chunks != list->n) {
		cairn_fail(&put->write.diag, CAIRN_E_CONFLICT, "xorb.differs", CAIRN_NO_OFFSET,
			   "this xorb is known with another number of chunks; the index is damaged, run cairn fsck");
		cairn_diag_numbers(&put->write.diag, state.n_chunks, list->n);
		return CAIRN_E_CONFLICT;
	}
	return cairn_tx_keep_xorb(tx, state.id, put->stays_withdrawn);
}
