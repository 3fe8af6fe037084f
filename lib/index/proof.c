/* Reads claims of SHA-256 (those due, the false ones), and counts them. */
#include "index/proof.h"

#include "index/backend.h"

CAIRN_SQL_OF(
	PROOF_EACH_DUE,
	"SELECT w.file, w.scope, w.sha256, f.hash, f.size, s.name, p.sha256 FROM file_owner w"
	" INDEXED BY file_owner_due CROSS JOIN file f ON f.id = w.file CROSS JOIN scope s ON s.id = w.scope"
	" LEFT JOIN proof p ON p.file = w.file WHERE w.due IS NOT NULL AND w.sha256 > x'' AND w.due NOT BETWEEN $2 AND $4"
	" AND w.scope = (SELECT scope FROM file_owner INDEXED BY file_owner_due WHERE due IS NOT NULL"
	" AND sha256 > x'' AND due NOT BETWEEN $2 AND $4 AND scope > $1 ORDER BY scope LIMIT 1) ORDER BY w.file LIMIT $3",
	"SELECT w.file, w.scope, w.sha256, f.hash, f.size, s.name, (SELECT sha256 FROM proof WHERE file = w.file)"
	" FROM file_owner w CROSS JOIN LATERAL (SELECT hash, size FROM file WHERE id = w.file LIMIT 1) f"
	" CROSS JOIN LATERAL (SELECT name FROM scope WHERE id = w.scope LIMIT 1) s"
	" WHERE w.due IS NOT NULL AND w.sha256 > '' AND w.due NOT BETWEEN $2 AND $4 AND w.scope ="
	" (SELECT scope FROM file_owner WHERE due IS NOT NULL AND sha256 > '' AND due NOT BETWEEN $2 AND $4"
	" AND scope > $1 ORDER BY scope LIMIT 1) ORDER BY w.file LIMIT $3");
CAIRN_SQL_OF(PROOF_EACH_LIE,
	     "SELECT f.hash, w.sha256, p.sha256, s.name, " CAIRN_SQLITE_SHOWN
	     ", w.file FROM file_owner w INDEXED BY file_owner_false CROSS JOIN file f ON f.id = w.file"
	     " CROSS JOIN proof p ON p.file = w.file CROSS JOIN scope s ON s.id = w.scope"
	     " WHERE w.proof = 0 AND w.file <= $2 AND (w.file < $2 OR (s.name, w.sha256) > ($3, $4))"
	     " ORDER BY w.file DESC, s.name, w.sha256 LIMIT $1",
	     "SELECT f.hash, w.sha256, p.sha256, s.name, " CAIRN_POSTGRES_SHOWN ", w.file FROM file_owner w"
	     " JOIN file f ON f.id = w.file JOIN proof p ON p.file = w.file CROSS JOIN LATERAL"
	     " (SELECT id, name FROM scope WHERE id = w.scope LIMIT 1) s"
	     " WHERE w.proof = 0 AND w.file <= $2 AND (w.file < $2 OR (s.name, w.sha256) > ($3, $4))"
	     " ORDER BY w.file DESC, s.name, w.sha256 LIMIT $1");
/* Few claims are due, but PostgreSQL could read all files for a join. */
CAIRN_SQL_OF(PROOF_CLAIMS,
	     "SELECT count(*), coalesce(sum(f.size), 0), (SELECT count(*) FROM file_owner WHERE proof = 0)"
	     " FROM file_owner w INDEXED BY file_owner_due CROSS JOIN file f ON f.id = w.file"
	     " WHERE w.due IS NOT NULL AND w.sha256 > x''",
	     "SELECT count(*), coalesce(sum((SELECT f.size FROM file f WHERE f.id = w.file)), 0)::bigint,"
	     " (SELECT count(*) FROM file_owner WHERE proof = 0)"
	     " FROM file_owner w WHERE w.due IS NOT NULL AND w.sha256 > ''");

enum cairn_status cairn_index_each_due(struct cairn_index *ix, int64_t after_owner, int64_t now_unix_s, uint32_t limit,
				       void (*visit)(void *ctx, const struct cairn_index_due *due), void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	char owner[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	enum cairn_status status = cairn_records_find(
		ix, &rows, &PROOF_EACH_DUE,
		CAIRN_ARGS(cairn_db_int(after_owner), cairn_db_int(now_unix_s + 1),
			   cairn_db_int(cairn_records_page(limit)), cairn_db_int(now_unix_s + CAIRN_INDEX_PUT_OFF_S)));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows)) {
		struct cairn_index_due due = {
			.file_id = cairn_db_get_int(&rows, 0),
			.owner_id = cairn_db_get_int(&rows, 1),
			.size_bytes = (uint64_t)cairn_db_get_int(&rows, 4),
			.owner = owner,
			.is_known = !cairn_db_is_null(&rows, 6),
		};
		cairn_db_get_fixed(&rows, 2, due.said, sizeof(due.said));
		cairn_db_get_fixed(&rows, 3, due.file.b, sizeof(due.file.b));
		cairn_db_get_text(&rows, 5, owner, sizeof(owner));
		if (due.is_known)
			cairn_db_get_fixed(&rows, 6, due.proof, sizeof(due.proof));
		status = cairn_db_whole(&rows);
		if (status != CAIRN_OK)
			return status;
		visit(ctx, &due);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_index_each_lie(struct cairn_index *ix, const struct cairn_index_lie *after, uint32_t limit,
				       cairn_index_visit_lie *visit, void *ctx, bool *more)
{
	/* all file numbers are below INT64_MAX */
	static const struct cairn_index_lie FIRST = {.file_id = INT64_MAX, .owner = ""};
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	char owner[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
	uint32_t page = cairn_records_page(limit), n = 0;
	if (!after)
		after = &FIRST;
	*more = false;
	enum cairn_status status = cairn_records_find(
		ix, &rows, &PROOF_EACH_LIE,
		CAIRN_ARGS(cairn_db_int((int64_t)page + 1), cairn_db_int(after->file_id), cairn_db_text(after->owner),
			   cairn_db_bytes(after->said, sizeof(after->said))));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows)) {
		*more = n++ == page;
		if (*more)
			return CAIRN_OK;
		struct cairn_index_lie lie = {
			.owner = owner,
			.shown = cairn_db_is_null(&rows, 4) ? NULL : cairn_db_borrow_text(&rows, 4),
			.file_id = cairn_db_get_int(&rows, 5),
		};
		cairn_db_get_fixed(&rows, 0, lie.file.b, sizeof(lie.file.b));
		cairn_db_get_fixed(&rows, 1, lie.said, sizeof(lie.said));
		cairn_db_get_fixed(&rows, 2, lie.proof, sizeof(lie.proof));
		cairn_db_get_text(&rows, 3, owner, sizeof(owner));
		status = cairn_db_whole(&rows);
		if (status != CAIRN_OK)
			return status;
		visit(ctx, &lie);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_index_claims(struct cairn_index *ix, struct cairn_index_claims *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	*out = (struct cairn_index_claims){0};
	/* after a move, all claims may be due */
	enum cairn_status status = cairn_records_scan(ix, &rows, CAIRN_DB_TAKES_LONG, &PROOF_CLAIMS);
	if (status != CAIRN_OK)
		return status;
	*out = (struct cairn_index_claims){
		.n_due = (uint64_t)cairn_db_get_int(&rows, 0),
		.due_bytes = (uint64_t)cairn_db_get_int(&rows, 1),
		.n_false = (uint64_t)cairn_db_get_int(&rows, 2),
	};
	return CAIRN_OK;
}
