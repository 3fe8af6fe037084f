#include "index/sqlite/write.h"

#include "index/sqlite/chain.h"
#include "index/sqlite/log.h"
#include "index/sqlite/migrate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TX_FILTER_ROWS = 8192,   /* rows of the filter read in one piece: about a millisecond */
	TX_CACHE_COMMITS = 1024, /* commits after which the cache is resized */
	TX_CACHE_SHARE = 64,     /* cache as a share of the file: the B-trees with random inserts, and some more */
	TX_CACHE_MIN_KIB = 8 * 1024,
	TX_CACHE_MAX_KIB = 128 * 1024,
	TX_CACHE_LOCK_KIB = 1024 * 1024, /* place of SQLite's locks in the file */
	TX_SPILL_KIB = 64 * 1024,        /* changed pages beyond it are written before the transaction ends */
};

CAIRN_WRITES(CAIRN_TX_FIND_FILE, "SELECT id FROM file WHERE hash = ?1");
CAIRN_WRITES(CAIRN_TX_DROP_NO_CLAIM, "DELETE FROM file_owner WHERE file = ?1 AND scope = ?2 AND sha256 = x''");
CAIRN_WRITES(CAIRN_TX_DROP_OBJECT, "DELETE FROM object WHERE repo = ?1 AND path = ?2");
CAIRN_WRITES(CAIRN_TX_HAS_OBJECT, "SELECT 1 FROM object WHERE file = ?1 AND repo = ?2 LIMIT 1");
CAIRN_WRITES(CAIRN_TX_FIND_LINE, CAIRN_CHAIN_LINE);
CAIRN_WRITES(CAIRN_TX_FIND_CLAIMED, "SELECT f.id, f.size, w.proof FROM (" CAIRN_CLAIM_LAST(
					    "?2") ") w"
						  " CROSS JOIN file f ON f.id = w.file WHERE w.proof > 0"
						  " ORDER BY w.proof DESC, w.file DESC LIMIT 1");
CAIRN_WRITES(CAIRN_TX_FIND_REF, "SELECT r.line, l.head, r.commit_ FROM ref r CROSS JOIN line l ON l.id = r.line"
				" WHERE r.repo = ?1 AND r.kind = ?2 AND r.name = ?3");
CAIRN_WRITES(CAIRN_TX_ADD_LINE, "INSERT INTO line(repo, parent, fork, depth, head) VALUES(?1, ?2, ?3, ?4, ?3)");
CAIRN_WRITES(CAIRN_TX_SET_LINE_HEAD, "UPDATE line SET head = ?2 WHERE id = ?1");
CAIRN_WRITES(CAIRN_TX_ADD_REF, "INSERT OR IGNORE INTO ref(repo, kind, name, line, commit_) VALUES(?1, ?2, ?3, ?4, ?5)");

static enum cairn_status tx_bind(const struct cairn_tx *tx, const struct cairn_statement *s,
				 const struct cairn_db_args *args)
{
	sqlite3_stmt *stmt = cairn_tx_stmt(tx, s);
	unsigned n = args ? args->n : 0;
	if ((int)n != sqlite3_bind_parameter_count(stmt))
		return CAIRN_E_LIMIT;
	for (unsigned i = 0; i < n; i++)
		cairn_sql_bind(stmt, (int)i + 1, &args->arg[i]);
	return CAIRN_OK;
}

enum cairn_status cairn_tx_run(const struct cairn_tx *tx, const struct cairn_statement *s,
			       const struct cairn_db_args *args)
{
	enum cairn_status status = tx_bind(tx, s, args);
	return status == CAIRN_OK ? cairn_sql_run(cairn_tx_stmt(tx, s)) : status;
}

enum cairn_status cairn_tx_number(const struct cairn_tx *tx, const struct cairn_statement *s,
				  const struct cairn_db_args *args, int64_t *value)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, s);
	bool row = false;
	enum cairn_status status = tx_bind(tx, s, args);
	if (status == CAIRN_OK)
		status = cairn_sql_step(stmt, &row);
	*value = row ? sqlite3_column_int64(stmt, 0) : 0;
	return status;
}

enum cairn_status cairn_tx_has(const struct cairn_tx *tx, const struct cairn_statement *s,
			       const struct cairn_db_args *args, bool *found)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, s);
	enum cairn_status status = tx_bind(tx, s, args);
	*found = false;
	return status == CAIRN_OK ? cairn_sql_step(stmt, found) : status;
}

int64_t cairn_tx_cache_kib(int64_t file_kib)
{
	int64_t kib = file_kib / TX_CACHE_SHARE;
	if (file_kib <= TX_CACHE_LOCK_KIB || kib < TX_CACHE_MIN_KIB)
		return TX_CACHE_MIN_KIB;
	return kib < TX_CACHE_MAX_KIB ? kib : TX_CACHE_MAX_KIB;
}

/* Sets cache and spill size. A batch may change more pages than the cache should keep; pages written early would be
 * read and written again. Changed pages leave the cache at the end of the transaction, so commits scan no more. */
static enum cairn_status tx_size_cache(sqlite3 *db)
{
	int64_t pages = 0;
	enum cairn_status status = cairn_sql_ask(db, "PRAGMA page_count", &pages);
	if (status != CAIRN_OK)
		return status;
	char sql[96];
	(void)snprintf(sql, sizeof(sql), "PRAGMA cache_size = -%" PRId64 "; PRAGMA cache_spill = -%d",
		       cairn_tx_cache_kib(pages * (CAIRN_MIGRATE_PAGE_BYTES / 1024)), TX_SPILL_KIB);
	return cairn_sql_exec(db, sql);
}

/* Sets the pragmas of the connection, at each opening, and reads back the important ones. */
static enum cairn_status tx_set_up(sqlite3 *db, struct cairn_diag *diag)
{
	int64_t synchronous = 0, foreign_keys = 0;
	enum cairn_status status = cairn_sql_exec(db, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
						      "PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY");
	if (status == CAIRN_OK)
		status = tx_size_cache(db);
	if (status == CAIRN_OK)
		status = cairn_sql_ask(db, "PRAGMA synchronous", &synchronous);
	if (status == CAIRN_OK)
		status = cairn_sql_ask(db, "PRAGMA foreign_keys", &foreign_keys);
	if (status != CAIRN_OK)
		return cairn_sql_fail(db, diag, "cannot set up the index");
	if (synchronous == 2 && foreign_keys == 1)
		return CAIRN_OK;
	return cairn_fail(
		diag, CAIRN_E_IO, "index.pragma", CAIRN_NO_OFFSET,
		"this SQLite does not take synchronous=FULL and foreign_keys=ON; build Cairn with another one");
}

static CAIRN_WRITES(TX_STATE, "SELECT collection, files, xorbs, shards, eligible, stored_bytes, frozen FROM state");

static enum cairn_status tx_read_state(struct cairn_tx *tx)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, &TX_STATE);
	bool row;
	enum cairn_status status = cairn_sql_step(stmt, &row);
	if (status != CAIRN_OK || !row)
		return status == CAIRN_OK ? CAIRN_E_DAMAGED : status;
	tx->counts = (struct cairn_index_counts){
		.collection = sqlite3_column_int64(stmt, 0),
		.files = sqlite3_column_int64(stmt, 1),
		.xorbs = sqlite3_column_int64(stmt, 2),
		.shards = sqlite3_column_int64(stmt, 3),
		.eligible = sqlite3_column_int64(stmt, 4),
		.stored_bytes = sqlite3_column_int64(stmt, 5),
	};
	tx->committed = tx->counts;
	tx->frozen = (enum cairn_index_frozen)sqlite3_column_int(stmt, 6);
	return CAIRN_OK;
}

static CAIRN_WRITES(TX_BEGIN, "BEGIN IMMEDIATE");
static CAIRN_WRITES(TX_COMMIT, "COMMIT");

/* Writes once. If the database or its log cannot be opened for writing, SQLite opens it for reading, and each write
 * would fail while the process lives: so it must not start. */
static enum cairn_status tx_try_to_write(struct cairn_tx *tx)
{
	enum cairn_status status = cairn_sql_run(cairn_tx_stmt(tx, &TX_BEGIN));
	if (status == CAIRN_OK)
		status = cairn_records_probe(&tx->records);
	return status == CAIRN_OK ? cairn_sql_run(cairn_tx_stmt(tx, &TX_COMMIT)) : status;
}

enum cairn_status cairn_tx_open(struct cairn_tx *tx, const char *path, struct cairn_diag *diag)
{
	enum cairn_status status = cairn_sql_open(&tx->db, path, SQLITE_OPEN_READWRITE, CAIRN_SQL_LOG_VFS, diag);
	if (status != CAIRN_OK)
		return status;
	/* A refused database stays unchanged: closing must not make a checkpoint. */
	(void)sqlite3_db_config(tx->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	status = cairn_migrate_must_be_latest(tx->db, path, diag);
	if (status != CAIRN_OK)
		return status;
	(void)sqlite3_db_config(tx->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	status = tx_set_up(tx->db, diag);
	if (status != CAIRN_OK)
		return status;
	cairn_sqlite_db_init(&tx->records_db, tx->db, NULL);
	tx->records.db = &tx->records_db.db;
	status = cairn_new_rows_register(tx->db, &tx->new_rows);
	if (status == CAIRN_OK)
		status = cairn_prepare(&tx->stmts, tx->db, cairn_writes());
	if (status == CAIRN_OK)
		status = tx_read_state(tx);
	if (status != CAIRN_OK)
		return cairn_sql_fail(tx->db, diag, "cannot read the index");
	status = tx_try_to_write(tx);
	if (status != CAIRN_OK)
		return cairn_sql_fail(tx->db, diag, "cannot write the index");
	tx->filter_prefix = INT64_MIN;
	tx->filter_scope = -1;
	cairn_filter_init(&tx->filter, (uint64_t)tx->counts.eligible / 4 * 5);
	return CAIRN_OK;
}

static CAIRN_WRITES(
	TX_EACH_PREFIX,
	"SELECT prefix, scope, CASE scope WHEN 0 THEN '' ELSE (SELECT name FROM scope WHERE id = d.scope) END"
	" FROM dedupe d WHERE (prefix, scope) > (?1, ?2) ORDER BY prefix, scope LIMIT ?3");

/* Starts where the last piece ended: a statement left open would keep the log from being restarted. Rows added later
 * after that place enter the filter when they are written. */
bool cairn_tx_fill_filter(struct cairn_tx *tx)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(tx, &TX_EACH_PREFIX);
	sqlite3_bind_int64(stmt, 1, tx->filter_prefix);
	sqlite3_bind_int64(stmt, 2, tx->filter_scope);
	sqlite3_bind_int64(stmt, 3, TX_FILTER_ROWS);
	unsigned n = 0;
	for (bool row = true;; n++) {
		if (cairn_sql_step(stmt, &row) != CAIRN_OK)
			return false;
		if (!row)
			break;
		tx->filter_prefix = sqlite3_column_int64(stmt, 0);
		tx->filter_scope = sqlite3_column_int64(stmt, 1);
		const char *scope = (const char *)sqlite3_column_text(stmt, 2);
		cairn_filter_add(&tx->filter, cairn_filter_key((uint64_t)tx->filter_prefix, scope ? scope : ""));
	}
	if (n == TX_FILTER_ROWS)
		return true;
	cairn_filter_complete(&tx->filter);
	return false;
}

void cairn_tx_close(struct cairn_tx *tx)
{
	cairn_filter_fini(&tx->filter);
	cairn_sqlite_db_fini(&tx->records_db);
	cairn_prepared_fini(&tx->stmts);
	cairn_sql_closep(&tx->db);
}

enum cairn_status cairn_tx_begin(struct cairn_tx *tx)
{
	enum cairn_status status = cairn_sql_run(cairn_tx_stmt(tx, &TX_BEGIN));
	return status == CAIRN_OK ? tx_read_state(tx) : status;
}

static CAIRN_WRITES(TX_SET_STATE,
		    "UPDATE state SET collection = ?1, files = ?2, xorbs = ?3, shards = ?4, eligible = ?5,"
		    " stored_bytes = ?6");

static enum cairn_status tx_write_state(struct cairn_tx *tx)
{
	if (memcmp(&tx->counts, &tx->committed, sizeof(tx->counts)) == 0)
		return CAIRN_OK;
	return cairn_tx_run(tx, &TX_SET_STATE,
			    CAIRN_ARGS(cairn_db_int(tx->counts.collection), cairn_db_int(tx->counts.files),
				       cairn_db_int(tx->counts.xorbs), cairn_db_int(tx->counts.shards),
				       cairn_db_int(tx->counts.eligible), cairn_db_int(tx->counts.stored_bytes)));
}

enum cairn_status cairn_tx_commit(struct cairn_tx *tx)
{
	enum cairn_status status = tx_write_state(tx);
	if (status == CAIRN_OK)
		status = cairn_sql_run(cairn_tx_stmt(tx, &TX_COMMIT));
	if (status != CAIRN_OK)
		return status;
	tx->committed = tx->counts;
	/* If this fails, the commit is still durable, and the cache stays as it is. */
	if (++tx->n_commits % TX_CACHE_COMMITS == 0)
		(void)!tx_size_cache(tx->db);
	return CAIRN_OK;
}

bool cairn_tx_is_open(const struct cairn_tx *tx)
{
	return !sqlite3_get_autocommit(tx->db);
}

static CAIRN_WRITES(TX_ROLLBACK, "ROLLBACK");

void cairn_tx_rollback(struct cairn_tx *tx)
{
	if (cairn_tx_is_open(tx))
		(void)!cairn_sql_run(cairn_tx_stmt(tx, &TX_ROLLBACK));
	tx->counts = tx->committed;
}
