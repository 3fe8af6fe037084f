#include "index/hub/mirror_files.h"
#include "index/backend.h"
#include "index/operate.h"
#include "index/records.h"

CAIRN_SQL(MIRROR_SUM, "SELECT (SELECT CAST(coalesce(sum(r.stored), 0) AS bigint) FROM account a CROSS JOIN repo r"
		      " WHERE a.mirrored = 1 AND r.account = a.id AND r.dropped IS NULL),"
		      " (SELECT count(*) FROM mirror_file)");
CAIRN_SQL(MIRROR_ABSENT, "SELECT k.oid, c.path, c.size FROM content c CROSS JOIN commit_ k WHERE c.repo = $1"
			 " AND c.sha256 = $2 AND c.path IS NOT NULL AND c.file IS NULL AND k.id = c.since"
			 " ORDER BY c.id DESC LIMIT 1");
CAIRN_SQL(MIRROR_USE, "INSERT INTO mirror_file(content, used, repo) SELECT id, CAST($2 AS bigint), repo FROM content"
		      " WHERE id = $1 AND (file IS NOT NULL OR $3 <> 0) ON CONFLICT(content)"
		      " DO UPDATE SET used = excluded.used WHERE mirror_file.used < excluded.used");
CAIRN_SQL(MIRROR_USE_REPO, "UPDATE mirror_repo SET used = CAST($2 AS bigint) WHERE used < CAST($2 AS bigint)"
			   " AND repo = (SELECT repo FROM mirror_file WHERE content = $1)");
CAIRN_SQL(MIRROR_FORGET_USE, "DELETE FROM mirror_file WHERE content = $1"
			     " AND NOT EXISTS(SELECT 1 FROM content WHERE id = $1 AND file IS NOT NULL)");
CAIRN_SQL(
	MIRROR_FORGET_REPO,
	"UPDATE mirror_repo SET used = coalesce((SELECT max(f.used) FROM mirror_file f WHERE f.repo = mirror_repo.repo), 0)"
	" WHERE repo = (SELECT repo FROM content WHERE id = $1)");
/* r has no row for owners that are not repositories, or were deleted. */
CAIRN_SQL(MIRROR_EVICTABLE,
	  "SELECT m.content, c.repo, m.used, f.size, f.hash FROM mirror_file m CROSS JOIN content c CROSS JOIN file f"
	  " WHERE (m.used, m.content) > ($1, $2) AND m.used < $3 AND c.id = m.content AND f.id = c.file"
	  " AND NOT EXISTS(SELECT 1 FROM mirror_repo k WHERE k.repo = c.repo AND k.keep = 1)"
	  " AND NOT EXISTS(SELECT 1 FROM file_owner w WHERE w.file = f.id AND NOT EXISTS(SELECT 1 FROM repo r"
	  " CROSS JOIN account a WHERE r.scope = w.scope AND r.dropped IS NULL AND a.id = r.account"
	  " AND a.mirrored = 1)) ORDER BY m.used, m.content LIMIT $4");

enum cairn_status cairn_index_mirror_sum(struct cairn_index *ix, uint64_t *bytes, uint64_t *n_files)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(ix, &rows, &MIRROR_SUM, NULL);
	*bytes = status == CAIRN_OK ? (uint64_t)cairn_db_get_int(&rows, 0) : 0;
	*n_files = status == CAIRN_OK ? (uint64_t)cairn_db_get_int(&rows, 1) : 0;
	return status;
}

enum cairn_status cairn_index_find_absent(struct cairn_index *ix, int64_t repo,
					  const uint8_t sha256[static CAIRN_SHA256_BYTES],
					  struct cairn_index_absent *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_records_find(
		ix, &rows, &MIRROR_ABSENT, CAIRN_ARGS(cairn_db_int(repo), cairn_db_bytes(sha256, CAIRN_SHA256_BYTES)));
	if (status != CAIRN_OK)
		return status;
	cairn_db_get_fixed(&rows, 0, out->commit.b, sizeof(out->commit.b));
	cairn_db_get_text(&rows, 1, out->path, sizeof(out->path));
	out->size_bytes = (uint64_t)cairn_db_get_int(&rows, 2);
	return cairn_db_whole(&rows);
}

void cairn_records_queue_use(struct cairn_index_tx *tx, int64_t content, int64_t day, bool gets_file)
{
	cairn_db_queue(tx->db, NULL, &MIRROR_USE,
		       CAIRN_ARGS(cairn_db_int(content), cairn_db_int(day), cairn_db_int(gets_file)));
	cairn_db_queue(tx->db, NULL, &MIRROR_USE_REPO, CAIRN_ARGS(cairn_db_int(content), cairn_db_int(day)));
}

enum cairn_status cairn_records_use_content(struct cairn_index_tx *tx, struct cairn_index_use_content *use)
{
	cairn_records_queue_use(tx, use->content, use->day, false);
	return cairn_db_exchange(tx->db);
}

enum cairn_status cairn_records_forget_use(struct cairn_index_tx *tx, struct cairn_index_forget_use *forget)
{
	cairn_db_queue(tx->db, NULL, &MIRROR_FORGET_USE, CAIRN_ARGS(cairn_db_int(forget->content)));
	return cairn_db_run(tx->db, &MIRROR_FORGET_REPO, CAIRN_ARGS(cairn_db_int(forget->content)), NULL);
}

enum cairn_status cairn_index_each_evictable(struct cairn_index *ix, const struct cairn_index_evictable *after,
					     int64_t before_day, uint32_t limit,
					     void (*visit)(void *ctx, const struct cairn_index_evictable *file),
					     void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status =
		cairn_records_find(ix, &rows, &MIRROR_EVICTABLE,
				   CAIRN_ARGS(cairn_db_int(after->day), cairn_db_int(after->content),
					      cairn_db_int(before_day), cairn_db_int(cairn_records_page(limit))));
	for (; status == CAIRN_OK; status = cairn_db_next(&rows)) {
		struct cairn_index_evictable file = {.content = cairn_db_get_int(&rows, 0),
						     .repo = cairn_db_get_int(&rows, 1),
						     .day = cairn_db_get_int(&rows, 2),
						     .size_bytes = (uint64_t)cairn_db_get_int(&rows, 3)};
		cairn_db_get_fixed(&rows, 4, file.file.b, sizeof(file.file.b));
		if (cairn_db_whole(&rows) == CAIRN_OK)
			visit(ctx, &file);
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}
