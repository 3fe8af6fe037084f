/* Registers a stored xorb; reads and writes rows of xorbs and lists. */
#include "index/postgres/write.h"
#include "index/rows.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/sum.h"

#include <string.h>

static const char XORB_FIND[] =
	"SELECT id, chunks, stored, coalesce(retired, withdrawn), copy FROM xorb WHERE hash = $1";
static const char XORB_ADD[] = "WITH x AS (INSERT INTO xorb(hash, chunks, unpacked, stored, at, copy, withdrawn)"
			       " VALUES($1, $2, $3, $4, $5, $8, $9) RETURNING id)"
			       " INSERT INTO list(xorb, spans, hashes) SELECT id, $6, $7 FROM x RETURNING xorb";
static const char XORB_STORE[] = "UPDATE xorb SET retired = NULL, withdrawn = " CAIRN_STAYS_WITHDRAWN(
	"$8 <> 0") ", at = $2, stored = $3, chunks = $4, unpacked = $5,"
		   " repacked = repacked OR $6 <> 0, copy = $7 WHERE id = $1";
static const char XORB_KEEP[] =
	"UPDATE xorb SET retired = NULL, withdrawn = " CAIRN_STAYS_WITHDRAWN("$3 <> 0") ", at = $2 WHERE id = ANY($1)";
static const char XORB_LIST[] = "SELECT spans, hashes FROM list WHERE xorb = $1";
static const char XORB_SET_LIST[] = "INSERT INTO list(xorb, spans, hashes) VALUES($1, $2, $3)"
				    " ON CONFLICT(xorb) DO UPDATE SET spans = $2, hashes = $3";

void cairn_pg_get_xorb_state(const PGresult *r, int row, int column, struct cairn_pg_xorb_state *out)
{
	out->id = cairn_pg_get_int8(r, row, column);
	out->n_chunks = (uint32_t)cairn_pg_get_int8(r, row, column + 1);
	out->stored = PQgetisnull(r, row, column + 2) == 0;
	out->stored_bytes = cairn_pg_get_int8(r, row, column + 2);
	out->retired = PQgetisnull(r, row, column + 3) == 0;
}

enum cairn_status cairn_pg_find_xorb(struct cairn_pg_tx *tx, const struct cairn_hash *hash,
				     struct cairn_pg_xorb_state *out)
{
	const PGresult *r;
	*out = (struct cairn_pg_xorb_state){0};
	enum cairn_status status = cairn_pg_ask(&tx->pg, XORB_FIND, CAIRN_ARGS(cairn_db_hash(hash)), &r);
	if (status != CAIRN_OK || PQntuples(r) == 0)
		return status;
	cairn_pg_get_xorb_state(r, 0, 0, out);
	return cairn_pg_get_copy(r, 0, 4, &out->copy) ? CAIRN_OK : CAIRN_E_DAMAGED;
}

static enum cairn_status put_xorb_encode(struct cairn_buf *spans, const struct cairn_chunk_list *list)
{
	uint8_t *bytes = cairn_buf_extend(spans, (size_t)list->n * CAIRN_ROWS_SPAN_BYTES);
	if (!bytes)
		return CAIRN_E_NOMEM;
	cairn_rows_put_spans(bytes, list);
	return CAIRN_OK;
}

enum cairn_status cairn_pg_add_xorb(struct cairn_pg_tx *tx, const struct cairn_hash *hash,
				    const struct cairn_chunk_list *list, const uint64_t *stored_bytes,
				    const struct cairn_copy_id *copy, bool withdrawn, int64_t *id)
{
	CLEANUP(cairn_buf_fini)
	struct cairn_buf spans = cairn_buf_init((size_t)CAIRN_XORB_CHUNKS_MAX * CAIRN_ROWS_SPAN_BYTES);
	const PGresult *r;
	enum cairn_status status = put_xorb_encode(&spans, list);
	if (status != CAIRN_OK)
		return status;
	status = cairn_pg_ask(&tx->pg, XORB_ADD,
			      CAIRN_ARGS(cairn_db_hash(hash), cairn_db_int(list->n),
					 cairn_db_int((int64_t)cairn_chunk_list_bytes(list, 0, list->n)),
					 cairn_db_int_if(stored_bytes, stored_bytes ? (int64_t)*stored_bytes : 0),
					 cairn_db_int(cairn_clock_unix_s()), cairn_db_bytes(spans.bytes, spans.len),
					 cairn_db_bytes(list->hashes, (size_t)list->n * sizeof(*list->hashes)),
					 cairn_pg_copy_name(copy),
					 cairn_db_int_if(withdrawn, CAIRN_INDEX_NEVER_OFFERED)),
			      &r);
	if (status != CAIRN_OK)
		return status;
	*id = cairn_pg_get_int8(r, 0, 0);
	cairn_add(&tx->counts.xorbs, 1);
	cairn_add(&tx->counts.stored_bytes, stored_bytes ? (int64_t)*stored_bytes : 0);
	return CAIRN_OK;
}

enum cairn_status cairn_pg_keep_xorbs(struct cairn_pg_tx *tx, struct cairn_pg_array *ids, bool stay_withdrawn)
{
	return cairn_pg_run(
		&tx->pg, XORB_KEEP,
		CAIRN_ARGS(cairn_pg_int8s(ids), cairn_db_int(cairn_clock_unix_s()), cairn_db_int(stay_withdrawn)),
		NULL);
}

enum cairn_status cairn_pg_list(struct cairn_pg_tx *tx, int64_t xorb, struct cairn_chunk_list *list)
{
	const PGresult *r;
	enum cairn_status status = cairn_pg_ask(&tx->pg, XORB_LIST, CAIRN_ARGS(cairn_db_int(xorb)), &r);
	if (status != CAIRN_OK || PQntuples(r) == 0)
		return status == CAIRN_OK ? CAIRN_E_DAMAGED : status;
	size_t spans_len, hashes_len;
	const uint8_t *spans = cairn_pg_get_bytes(r, 0, 0, &spans_len);
	const uint8_t *hashes = cairn_pg_get_bytes(r, 0, 1, &hashes_len);
	return cairn_rows_list(list, spans, spans_len, hashes, hashes_len);
}

/* Have earlier terms wrong byte ranges now? If the list was unreadable, they got none. */
static enum cairn_status put_xorb_is_repacked(struct cairn_pg_tx *tx, int64_t id, const struct cairn_chunk_list *list,
					      bool *repacked)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list before = {0};
	enum cairn_status status = cairn_pg_list(tx, id, &before);
	*repacked = status != CAIRN_OK || !cairn_chunk_list_same_places(&before, list);
	return status == CAIRN_E_DAMAGED ? CAIRN_OK : status;
}

/* Stores the bytes of a xorb that was only described, or lost. The verified list repairs a damaged row, too. */
static enum cairn_status put_xorb_store(struct cairn_pg_tx *tx, int64_t id, const struct cairn_index_put_xorb *put)
{
	const struct cairn_chunk_list *list = put->list;
	CLEANUP(cairn_buf_fini)
	struct cairn_buf spans = cairn_buf_init((size_t)CAIRN_XORB_CHUNKS_MAX * CAIRN_ROWS_SPAN_BYTES);
	bool repacked = false;
	enum cairn_status status = put_xorb_encode(&spans, list);
	if (status == CAIRN_OK)
		status = put_xorb_is_repacked(tx, id, list, &repacked);
	if (status != CAIRN_OK)
		return status;
	cairn_add(&tx->counts.stored_bytes, (int64_t)put->stored_bytes);
	(void)cairn_pg_queue(&tx->pg, XORB_STORE,
			     CAIRN_ARGS(cairn_db_int(id), cairn_db_int(cairn_clock_unix_s()),
					cairn_db_int((int64_t)put->stored_bytes), cairn_db_int(list->n),
					cairn_db_int((int64_t)cairn_chunk_list_bytes(list, 0, list->n)),
					cairn_db_int(repacked), cairn_pg_copy_name(&put->copy),
					cairn_db_int(put->stays_withdrawn)));
	return cairn_pg_run(&tx->pg, XORB_SET_LIST,
			    CAIRN_ARGS(cairn_db_int(id), cairn_db_bytes(spans.bytes, spans.len),
				       cairn_db_bytes(list->hashes, (size_t)list->n * sizeof(*list->hashes))),
			    NULL);
}

enum cairn_status cairn_pg_put_xorb(struct cairn_pg_tx *tx, struct cairn_index_put_xorb *put)
{
	const struct cairn_chunk_list *list = put->list;
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array id = {0};
	struct cairn_pg_xorb_state state;
	bool named = cairn_copy_id_is_set(&put->copy);
	put->added = false;
	enum cairn_status status = named ? cairn_pg_must_live(tx, &put->copy, put->found, &put->write.diag) : CAIRN_OK;
	if (status == CAIRN_OK)
		status = cairn_pg_find_xorb(tx, &put->hash, &state);
	if (status != CAIRN_OK)
		return status;
	put->added = state.id == 0 || !state.stored;
	if (state.id == 0) {
		status = cairn_pg_add_xorb(tx, &put->hash, list, &put->stored_bytes, &put->copy, put->stays_withdrawn,
					   &state.id);
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
	/* Another upload was faster, and the row names the other upload's copy. */
	if (named && !cairn_copy_id_equal(&state.copy, &put->copy))
		status = cairn_pg_kill_copy(tx, &put->copy, &put->hash);
	cairn_pg_add_int8(&id, state.id);
	return status == CAIRN_OK ? cairn_pg_keep_xorbs(tx, &id, put->stays_withdrawn) : status;
}
