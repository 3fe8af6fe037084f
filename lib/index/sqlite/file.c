/* Changes the terms of a file and its references, for several kinds of writes. */
#include "index/rows.h"
#include "index/sqlite/write.h"

#include "base/sum.h"

#include <stdlib.h>

static void file_terms_freep(struct cairn_index_term **terms)
{
	free(*terms);
}

static CAIRN_WRITES(TX_GET_TERMS, "SELECT terms FROM file WHERE id = ?1");

static enum cairn_status file_terms(struct cairn_tx *tx, int64_t file, struct cairn_index_term **terms, uint32_t *n)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, &TX_GET_TERMS);
	sqlite3_bind_int64(stmt, 1, file);
	bool row;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	if (status != CAIRN_OK || !row)
		return status == CAIRN_OK ? CAIRN_E_DAMAGED : status;
	size_t len;
	const uint8_t *bytes = cairn_sql_blob(stmt, 0, &len);
	return cairn_rows_terms(terms, n, bytes, len, CAIRN_ROWS_TERM_BYTES);
}

static CAIRN_WRITES(TX_DROP_REFERENCE, "DELETE FROM reference WHERE xorb = ?1 AND file = ?2");
/* Scans all references. */
static CAIRN_WRITES(TX_DROP_REFERENCES, "DELETE FROM reference WHERE file = ?1");

/* Drops a file's references. @param read  status of file_terms(): damaged terms do not show which xorbs it needed */
static enum cairn_status file_drop_references(struct cairn_tx *tx, int64_t file, enum cairn_status read,
					      const struct cairn_index_term *terms, uint32_t n)
{
	sqlite3_stmt *reference = cairn_tx_stmt(tx, &TX_DROP_REFERENCE), *all = cairn_tx_stmt(tx, &TX_DROP_REFERENCES);
	enum cairn_status status = read;
	if (read == CAIRN_E_DAMAGED) {
		sqlite3_bind_int64(all, 1, file);
		status = cairn_sql_run(all);
	}
	for (uint32_t i = 0; status == CAIRN_OK && i < n; i++) {
		if (i > 0 && terms[i].xorb_id == terms[i - 1].xorb_id)
			continue;
		sqlite3_bind_int64(reference, 1, terms[i].xorb_id);
		sqlite3_bind_int64(reference, 2, file);
		status = cairn_sql_run(reference);
	}
	return status;
}

static CAIRN_WRITES(TX_DROP_FILE, "DELETE FROM file WHERE id = ?1");

enum cairn_status cairn_tx_drop_file(struct cairn_tx *tx, int64_t file)
{
	CLEANUP(file_terms_freep) struct cairn_index_term *terms = NULL;
	uint32_t n = 0;
	enum cairn_status read = file_terms(tx, file, &terms, &n);
	enum cairn_status status = file_drop_references(tx, file, read, terms, n);
	if (status != CAIRN_OK)
		return status;
	cairn_add(&tx->counts.files, -1);
	return cairn_tx_run(tx, &TX_DROP_FILE, CAIRN_ARGS(cairn_db_int(file)));
}

static CAIRN_WRITES(TX_IS_STORED, "SELECT stored IS NOT NULL FROM xorb WHERE id = ?1");

static enum cairn_status file_xorb_is_stored(struct cairn_tx *tx, int64_t xorb, bool *stored)
{
	int64_t value;
	enum cairn_status status = cairn_tx_number(tx, &TX_IS_STORED, CAIRN_ARGS(cairn_db_int(xorb)), &value);
	*stored = value != 0;
	return status;
}

static CAIRN_WRITES(TX_ADD_REFERENCE, "INSERT OR IGNORE INTO reference(xorb, file) VALUES(?1, ?2)");
static CAIRN_WRITES(TX_ADD_REFERENCES, "INSERT OR IGNORE INTO reference(xorb, file) SELECT a, b FROM new_row");

enum cairn_status cairn_tx_add_references(struct cairn_tx *tx)
{
	const struct cairn_new_rows_stmts stmts = {
		.many = cairn_tx_stmt(tx, &TX_ADD_REFERENCES),
		.one = cairn_tx_stmt(tx, &TX_ADD_REFERENCE),
	};
	uint64_t n_added;
	return cairn_new_rows_add(&tx->new_rows, stmts, &tx->references, &n_added);
}

enum cairn_status cairn_tx_refer(struct cairn_tx *tx, int64_t file, int64_t xorb)
{
	tx->references.row[tx->references.n++] = (struct cairn_new_row){.a = xorb, .b = file};
	return tx->references.n == CAIRN_NEW_ROWS_MAX ? cairn_tx_add_references(tx) : CAIRN_OK;
}

static enum cairn_status file_add_references(struct cairn_tx *tx, int64_t file, const int64_t *xorbs, uint32_t n)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; status == CAIRN_OK && i < n; i++)
		status = cairn_tx_refer(tx, file, xorbs[i]);
	return status == CAIRN_OK ? cairn_tx_add_references(tx) : status;
}

static CAIRN_WRITES(TX_SET_TERMS, "UPDATE file SET terms = ?2 WHERE id = ?1");

enum cairn_status cairn_tx_mend_file(struct cairn_tx *tx, int64_t file, const uint8_t *rows, size_t rows_len,
				     const int64_t *xorbs, uint32_t n_xorbs, bool *mended)
{
	*mended = false;
	CLEANUP(file_terms_freep) struct cairn_index_term *terms = NULL;
	uint32_t n = 0;
	enum cairn_status read = file_terms(tx, file, &terms, &n), status = read;
	bool stored = read != CAIRN_E_DAMAGED;
	if (!stored)
		status = CAIRN_OK;
	for (uint32_t i = 0; status == CAIRN_OK && stored && i < n; i++)
		if (i == 0 || terms[i].xorb_id != terms[i - 1].xorb_id)
			status = file_xorb_is_stored(tx, terms[i].xorb_id, &stored);
	if (status != CAIRN_OK || stored)
		return status;
	stored = true;
	for (uint32_t i = 0; status == CAIRN_OK && stored && i < n_xorbs; i++)
		status = file_xorb_is_stored(tx, xorbs[i], &stored);
	if (status != CAIRN_OK || !stored)
		return status;
	status = file_drop_references(tx, file, read, terms, n);
	if (status != CAIRN_OK)
		return status;
	status = cairn_tx_run(tx, &TX_SET_TERMS, CAIRN_ARGS(cairn_db_int(file), cairn_db_bytes(rows, rows_len)));
	*mended = status == CAIRN_OK;
	return status == CAIRN_OK ? file_add_references(tx, file, xorbs, n_xorbs) : status;
}
