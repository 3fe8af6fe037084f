#include "index/records.h"

#include "index/backend.h"

#include <inttypes.h>

CAIRN_SQL(SCOPE_FIND, "SELECT id FROM scope WHERE name = $1");
CAIRN_SQL(SCOPE_ADD, "INSERT INTO scope(name) VALUES($1) RETURNING id");

/* "one" is the savepoint of the current write: there is never a second one. */
CAIRN_SQL(TX_SAVE, "SAVEPOINT one");
CAIRN_SQL(TX_UNDO, "ROLLBACK TO SAVEPOINT one");
CAIRN_SQL(TX_RELEASE, "RELEASE SAVEPOINT one");
CAIRN_SQL(TX_PROBE, "UPDATE state SET probes = probes + 1");

enum cairn_status cairn_records_take(struct cairn_index *ix, struct cairn_db_rows *rows)
{
	enum cairn_status status = ix->backend->lend(ix, &rows->db);
	rows->lent = status == CAIRN_OK;
	return status;
}

enum cairn_status cairn_records_find(struct cairn_index *ix, struct cairn_db_rows *rows, const struct cairn_sql *sql,
				     const struct cairn_db_args *args)
{
	enum cairn_status status = cairn_records_take(ix, rows);
	return status == CAIRN_OK ? cairn_db_find(rows->db, rows, sql, args) : status;
}

enum cairn_status cairn_records_scan(struct cairn_index *ix, struct cairn_db_rows *rows, enum cairn_db_advice advice,
				     const struct cairn_sql *sql)
{
	enum cairn_status status = cairn_records_take(ix, rows);
	if (status != CAIRN_OK)
		return status;
	cairn_db_advise(rows->db, advice);
	return cairn_db_find(rows->db, rows, sql, NULL);
}

uint32_t cairn_records_page(uint32_t limit)
{
	return limit == 0 || limit > CAIRN_INDEX_PAGE_MAX ? CAIRN_INDEX_PAGE_MAX : limit;
}

enum cairn_status cairn_records_paged(enum cairn_status status, uint32_t n, uint32_t page, int64_t last,
				      int64_t *next_id)
{
	*next_id = status == CAIRN_E_NOT_FOUND && n == page ? last : 0;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_records_numbers(struct cairn_buf *out, const int64_t *numbers, uint32_t n)
{
	cairn_buf_add(out, "[", 1);
	for (uint32_t i = 0; i < n; i++)
		cairn_buf_printf(out, "%s%" PRId64, i > 0 ? "," : "", numbers[i]);
	cairn_buf_add(out, "]", 2);
	return out->status;
}

enum cairn_status cairn_records_number(struct cairn_index_tx *tx, const struct cairn_sql *sql,
				       const struct cairn_db_args *args, int64_t *number)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_db_find(tx->db, &rows, sql, args);
	*number = status == CAIRN_OK ? cairn_db_get_int(&rows, 0) : 0;
	return status;
}

/* Never makes the owner of a repository, which is made with the repository: a token may outlive its repository. */
enum cairn_status cairn_records_scope(struct cairn_index_tx *tx, const char *name, int64_t *id)
{
	*id = 0;
	if (name[0] == '\0')
		return CAIRN_OK;
	enum cairn_status status = cairn_records_number(tx, &SCOPE_FIND, CAIRN_ARGS(cairn_db_text(name)), id);
	if (status == CAIRN_E_NOT_FOUND && !cairn_index_is_repo_owner(name))
		status = cairn_records_number(tx, &SCOPE_ADD, CAIRN_ARGS(cairn_db_text(name)), id);
	return status;
}

/* Saves. A server gets the savepoint with the first statements of the write. */
enum cairn_status cairn_records_save(struct cairn_index_tx *tx)
{
	tx->saved = *tx->counts;
	cairn_db_queue(tx->db, NULL, &TX_SAVE, NULL);
	return tx->ix->backend->remote ? CAIRN_OK : cairn_db_exchange(tx->db);
}

enum cairn_status cairn_records_undo(struct cairn_index_tx *tx)
{
	*tx->counts = tx->saved;
	return cairn_db_run(tx->db, &TX_UNDO, NULL, NULL);
}

enum cairn_status cairn_records_release(struct cairn_index_tx *tx)
{
	return cairn_db_run(tx->db, &TX_RELEASE, NULL, NULL);
}

enum cairn_status cairn_records_probe(struct cairn_index_tx *tx)
{
	return cairn_db_run(tx->db, &TX_PROBE, NULL, NULL);
}

enum cairn_status cairn_records_content_unknown(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "content.unknown", CAIRN_NO_OFFSET,
			  "the mirrored repository has no content of that number and length, or no file for it");
}
