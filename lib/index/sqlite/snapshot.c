#include "index/rows.h"
#include "index/sqlite/engine.h"
#include "index/sqlite/migrate.h"

#include <stdlib.h>
#include <string.h>

enum snapshot_stmt { SNAPSHOT_XORBS, SNAPSHOT_FILES, SNAPSHOT_XORB_HASH, SNAPSHOT_EXTENT, SNAPSHOT_STMTS };

static const char *const snapshot_sql[SNAPSHOT_STMTS] = {
	[SNAPSHOT_XORBS] =
		"SELECT x.id, x.hash, x.chunks, x.unpacked, x.stored, x.retired, x.at, NULL, 0, l.spans, l.hashes"
		" FROM xorb x CROSS JOIN list l ON l.xorb = x.id WHERE x.id > ?1 ORDER BY x.id",
	[SNAPSHOT_FILES] = "SELECT hash, size, terms, id, at,"
			   " coalesce((SELECT p.sha256 FROM proof p WHERE p.file = f.id),"
			   " (SELECT o.sha256 FROM file_owner o WHERE o.file = f.id AND o.sha256 > x''"
			   " ORDER BY o.scope, o.sha256 LIMIT 1))"
			   " FROM file f WHERE id > ?1 ORDER BY id",
	[SNAPSHOT_XORB_HASH] = "SELECT hash FROM xorb WHERE id = ?1",
	[SNAPSHOT_EXTENT] = "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'xorb'), 0),"
			    " coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'file'), 0),"
			    " coalesce((SELECT sum(chunks) FROM xorb WHERE id > ?1), 0)",
};

/* First and last versions of the schema: at first a file had one SHA-256. Then each owner claimed one, first in a row
 * of its own, later in the owner's row. Now some are proved. */
enum { SNAPSHOT_CLAIMS_SINCE = 4, SNAPSHOT_CLAIMS_UNTIL = 8, SNAPSHOT_PROOF_SINCE = 13 };
static const char snapshot_files_one[] = "SELECT hash, size, terms, id, at, sha256 FROM file WHERE id > ?1 ORDER BY id";
static const char snapshot_files_apart[] =
	"SELECT hash, size, terms, id, at,"
	" (SELECT c.sha256 FROM claim c WHERE c.file = f.id ORDER BY c.scope, c.sha256 LIMIT 1)"
	" FROM file f WHERE id > ?1 ORDER BY id";

static const char snapshot_files_said[] = "SELECT hash, size, terms, id, at,"
					  " (SELECT o.sha256 FROM file_owner o WHERE o.file = f.id AND o.sha256 > x''"
					  " ORDER BY o.scope, o.sha256 LIMIT 1)"
					  " FROM file f WHERE id > ?1 ORDER BY id";

struct sqlite_snapshot {
	struct cairn_index_snapshot snapshot;
	sqlite3 *db;
	sqlite3_stmt *stmt[SNAPSHOT_STMTS];
	size_t term_bytes;
};

static struct sqlite_snapshot *snapshot_of(struct cairn_index_snapshot *snapshot)
{
	return (struct sqlite_snapshot *)snapshot;
}

static enum cairn_status snapshot_begin(struct sqlite_snapshot *s, const char *path, struct cairn_diag *diag)
{
	int64_t version = 0;
	enum cairn_status status = cairn_migrate_judge(s->db, path, &version, diag);
	if (status != CAIRN_OK)
		return status;
	if (version == 0)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "index.foreign", CAIRN_NO_OFFSET, "%s is empty", path);
	const char *sql[SNAPSHOT_STMTS];
	memcpy(sql, snapshot_sql, sizeof(sql));
	s->term_bytes = cairn_rows_term_bytes(version);
	if (version < SNAPSHOT_PROOF_SINCE)
		sql[SNAPSHOT_FILES] = snapshot_files_said;
	if (version <= SNAPSHOT_CLAIMS_UNTIL)
		sql[SNAPSHOT_FILES] = version < SNAPSHOT_CLAIMS_SINCE ? snapshot_files_one : snapshot_files_apart;
	status = cairn_sql_prepare(s->db, sql, s->stmt, SNAPSHOT_STMTS);
	if (status == CAIRN_OK)
		status = cairn_sql_exec(s->db, "BEGIN");
	return status == CAIRN_OK ? CAIRN_OK : cairn_sql_fail(s->db, diag, "cannot read the index");
}

void cairn_sqlite_snapshot_free(struct cairn_index_snapshot *snapshot)
{
	struct sqlite_snapshot *s = snapshot_of(snapshot);
	cairn_sql_finalize(s->stmt, SNAPSHOT_STMTS);
	cairn_sql_closep(&s->db);
	free(s);
}

enum cairn_status cairn_sqlite_snapshot_open(struct cairn_index_snapshot **out, const char *dir,
					     struct cairn_diag *diag)
{
	char path[CAIRN_SQL_PATH_BYTES];
	struct sqlite_snapshot *s = calloc(1, sizeof(*s));
	if (!s)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_sql_index_path(path, dir, diag);
	if (status == CAIRN_OK)
		status = cairn_sql_open(&s->db, path, SQLITE_OPEN_READONLY, NULL, diag);
	if (status == CAIRN_OK)
		status = snapshot_begin(s, path, diag);
	if (status == CAIRN_OK)
		*out = &s->snapshot;
	else
		cairn_sqlite_snapshot_free(&s->snapshot);
	return status;
}

enum cairn_status cairn_sqlite_snapshot_extent(struct cairn_index_snapshot *snapshot, int64_t after_xorb,
					       struct cairn_index_extent *out, struct cairn_diag *diag)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = snapshot_of(snapshot)->stmt[SNAPSHOT_EXTENT];
	bool row;
	sqlite3_bind_int64(stmt, 1, after_xorb);
	if (cairn_sql_step(stmt, &row) != CAIRN_OK || !row)
		return cairn_sql_fail(snapshot_of(snapshot)->db, diag, "cannot read the index");
	*out = (struct cairn_index_extent){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1),
					   (uint64_t)sqlite3_column_int64(stmt, 2)};
	return CAIRN_OK;
}

static enum cairn_status snapshot_damaged(struct cairn_diag *diag, const char *table, int64_t number)
{
	return cairn_fail(diag, CAIRN_E_DAMAGED, "index.row", CAIRN_NO_OFFSET,
			  "row %lld of the index's table %s is damaged", (long long)number, table);
}

enum cairn_status cairn_sqlite_snapshot_xorbs(struct cairn_index_snapshot *snapshot, int64_t after,
					      cairn_index_visit_xorb *visit, void *ctx, struct cairn_diag *diag)
{
	CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = snapshot_of(snapshot)->stmt[SNAPSHOT_XORBS];
	sqlite3_bind_int64(stmt, 1, after);
	for (;;) {
		bool row;
		size_t spans_len, hashes_len;
		struct cairn_index_xorb xorb;
		enum cairn_status status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK)
			return cairn_sql_fail(snapshot_of(snapshot)->db, diag, "cannot read the index");
		if (!row)
			return CAIRN_OK;
		const uint8_t *spans = cairn_sql_blob(stmt, CAIRN_SQLITE_XORB_COLUMNS, &spans_len);
		const uint8_t *hashes = cairn_sql_blob(stmt, CAIRN_SQLITE_XORB_COLUMNS + 1, &hashes_len);
		status = cairn_sqlite_xorb_column(stmt, &xorb)
				 ? cairn_rows_list(&list, spans, spans_len, hashes, hashes_len)
				 : CAIRN_E_DAMAGED;
		if (status == CAIRN_E_DAMAGED)
			return snapshot_damaged(diag, "xorb", xorb.id);
		if (status == CAIRN_OK)
			status = visit(ctx, &xorb, &list);
		if (status != CAIRN_OK)
			return status;
	}
}

enum cairn_status cairn_sqlite_snapshot_files(struct cairn_index_snapshot *snapshot, int64_t after,
					      cairn_index_visit_file *visit, void *ctx, struct cairn_diag *diag)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = snapshot_of(snapshot)->stmt[SNAPSHOT_FILES];
	sqlite3_bind_int64(stmt, 1, after);
	for (;;) {
		bool row;
		size_t len;
		CLEANUP(cairn_index_file_fini) struct cairn_index_file file = {0};
		enum cairn_status status = cairn_sql_step(stmt, &row);
		if (status != CAIRN_OK)
			return cairn_sql_fail(snapshot_of(snapshot)->db, diag, "cannot read the index");
		if (!row)
			return CAIRN_OK;
		int64_t number = sqlite3_column_int64(stmt, 3);
		struct cairn_hash sha256;
		bool has_sha256 = cairn_sql_hash(stmt, 5, &sha256);
		const uint8_t *terms = cairn_sql_blob(stmt, 2, &len);
		status = cairn_sqlite_file_columns(stmt, &file);
		if (status == CAIRN_OK)
			status = cairn_rows_terms(&file.terms, &file.n_terms, terms, len,
						  snapshot_of(snapshot)->term_bytes);
		if (status == CAIRN_E_DAMAGED)
			return snapshot_damaged(diag, "file", number);
		if (status == CAIRN_OK)
			status = visit(ctx, number, sqlite3_column_int64(stmt, 4), has_sha256 ? sha256.b : NULL, &file);
		if (status != CAIRN_OK)
			return status;
	}
}

enum cairn_status cairn_sqlite_snapshot_xorb_hash(struct cairn_index_snapshot *snapshot, int64_t number,
						  struct cairn_hash *out)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = snapshot_of(snapshot)->stmt[SNAPSHOT_XORB_HASH];
	sqlite3_bind_int64(stmt, 1, number);
	enum cairn_status status = cairn_sql_find(stmt);
	if (status != CAIRN_OK)
		return status;
	return cairn_sql_hash(stmt, 0, out) ? CAIRN_OK : CAIRN_E_DAMAGED;
}
