/* Parts of long files of the mirrored hub. */
#include "index/hub/parts.h"
#include "index/backend.h"
#include "index/records.h"

CAIRN_SQL(PARTS_FIND, "SELECT p.first, f.size, f.hash FROM mirror_part p CROSS JOIN file f WHERE p.content = $1"
		      " AND p.first <= $2 AND f.id = p.file ORDER BY p.first DESC LIMIT 1");
CAIRN_SQL(PARTS_ALL,
	  "SELECT p.first, f.size FROM mirror_part p CROSS JOIN file f WHERE p.content = $1 AND f.id = p.file"
	  " ORDER BY p.first");
CAIRN_SQL(PARTS_CONTENT, "SELECT CASE WHEN file IS NULL AND body IS NULL THEN 1 ELSE 0 END FROM content WHERE id = $1"
			 " AND repo = $2");
CAIRN_SQL(PARTS_FILE, "SELECT f.id FROM file f CROSS JOIN repo r WHERE f.hash = $1 AND r.id = $2"
		      " AND EXISTS(SELECT 1 FROM file_owner w WHERE w.file = f.id AND w.scope = r.scope)");
CAIRN_SQL(PARTS_ADD, "INSERT INTO mirror_part(content, first, file) VALUES($1, $2, $3)");
/* Compares the repository, too: the content may be gone, and its number reused by SQLite for another repository. */
#define PARTS_FROM "mirror_part WHERE content = (SELECT id FROM content WHERE id = $1 AND repo = $3) AND first >= $2"
/* Marks the files as old, so that the next sweep removes those without a path. This write does not remove them, because
 * they may be many. */
CAIRN_SQL(PARTS_AGE, "UPDATE file_owner SET at = 0 WHERE scope = (SELECT scope FROM repo WHERE id = $3)"
		     " AND file IN (SELECT file FROM " PARTS_FROM ")");
CAIRN_SQL(PARTS_DROP, "DELETE FROM " PARTS_FROM);

/* Reads all parts. They are few: a file's parts are dropped when it is complete. */
CAIRN_SQL(PARTS_IDLE,
	  "SELECT c.repo, c.id, CAST(sum(f.size) AS bigint) FROM mirror_part p CROSS JOIN content c CROSS JOIN repo r"
	  " CROSS JOIN file f CROSS JOIN file_owner w WHERE c.id = p.content AND r.id = c.repo AND f.id = p.file"
	  " AND w.file = p.file AND w.scope = r.scope AND NOT EXISTS(SELECT 1 FROM mirror_repo k"
	  " WHERE k.repo = c.repo AND k.keep = 1) GROUP BY c.repo, c.id HAVING max(w.at) < $1"
	  " ORDER BY max(w.at), c.id LIMIT $2");

enum cairn_status cairn_index_each_idle_parts(struct cairn_index *ix, int64_t before_unix_s, uint32_t limit,
					      void (*visit)(void *ctx, const struct cairn_index_idle_parts *parts),
					      void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status =
		cairn_records_find(ix, &rows, &PARTS_IDLE,
				   CAIRN_ARGS(cairn_db_int(before_unix_s), cairn_db_int(cairn_records_page(limit))));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows)) {
		const struct cairn_index_idle_parts parts = {.repo = cairn_db_get_int(&rows, 0),
							     .content = cairn_db_get_int(&rows, 1),
							     .bytes = (uint64_t)cairn_db_get_int(&rows, 2)};
		if (cairn_db_whole(&rows) == CAIRN_OK)
			visit(ctx, &parts);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_index_part(struct cairn_index *ix, int64_t content, uint64_t at, struct cairn_index_part *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(ix, &rows, &PARTS_FIND,
						      CAIRN_ARGS(cairn_db_int(content), cairn_db_int((int64_t)at)));
	if (status != CAIRN_OK)
		return status;
	out->first = (uint64_t)cairn_db_get_int(&rows, 0);
	out->end = out->first + (uint64_t)cairn_db_get_int(&rows, 1);
	cairn_db_get_fixed(&rows, 2, out->file.b, sizeof(out->file.b));
	return cairn_db_whole(&rows);
}

enum cairn_status cairn_index_parts_end(struct cairn_index *ix, int64_t content, uint64_t *end)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	*end = 0;
	enum cairn_status status = cairn_records_find(ix, &rows, &PARTS_ALL, CAIRN_ARGS(cairn_db_int(content)));
	/* A part whose file was removed leaves a gap. */
	while (status == CAIRN_OK && (uint64_t)cairn_db_get_int(&rows, 0) == *end) {
		*end += (uint64_t)cairn_db_get_int(&rows, 1);
		status = cairn_db_next(&rows);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

void cairn_records_queue_drop_parts(struct cairn_index_tx *tx, int64_t repo, int64_t content, uint64_t from)
{
	cairn_db_queue(tx->db, NULL, &PARTS_AGE,
		       CAIRN_ARGS(cairn_db_int(content), cairn_db_int((int64_t)from), cairn_db_int(repo)));
	cairn_db_queue(tx->db, NULL, &PARTS_DROP,
		       CAIRN_ARGS(cairn_db_int(content), cairn_db_int((int64_t)from), cairn_db_int(repo)));
}

enum cairn_status cairn_records_add_part(struct cairn_index_tx *tx, struct cairn_index_add_part *add)
{
	int64_t is_absent = 0, file = 0;
	enum cairn_status status = cairn_records_number(
		tx, &PARTS_CONTENT, CAIRN_ARGS(cairn_db_int(add->content), cairn_db_int(add->repo)), &is_absent);
	if (status == CAIRN_OK && is_absent == 0)
		return CAIRN_OK;
	if (status == CAIRN_OK)
		status = cairn_records_number(tx, &PARTS_FILE,
					      CAIRN_ARGS(cairn_db_hash(&add->file), cairn_db_int(add->repo)), &file);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? cairn_records_content_unknown(&add->write.diag) : status;
	cairn_records_queue_drop_parts(tx, add->repo, add->content, add->first);
	return cairn_db_run(
		tx->db, &PARTS_ADD,
		CAIRN_ARGS(cairn_db_int(add->content), cairn_db_int((int64_t)add->first), cairn_db_int(file)), NULL);
}

enum cairn_status cairn_records_drop_parts(struct cairn_index_tx *tx, struct cairn_index_drop_parts *drop)
{
	cairn_records_queue_drop_parts(tx, drop->repo, drop->content, 0);
	return cairn_db_exchange(tx->db);
}
