/* Gives contents of mirrored repositories their bytes. */
#include "index/backend.h"
#include "index/hub/history.h"
#include "index/records.h"

#include "base/clock.h"

enum { MIRRORED_DAY_S = 86400 };

#define MIRRORED_ABSENT " WHERE id = $1 AND repo = $2 AND file IS NULL AND body IS NULL AND size = $3"
CAIRN_SQL(MIRRORED_FIND, "SELECT file IS NULL AND body IS NULL FROM content WHERE id = $1 AND repo = $2 AND size = $3");
CAIRN_SQL(MIRRORED_SET_BODY, "UPDATE content SET body = $4" MIRRORED_ABSENT " AND key IS NOT NULL");
/* Trusts the SHA-256 of a file, because only the mirror adds files to a mirrored repository, and it computes the
 * hash. */
CAIRN_SQL(MIRRORED_FILE, "SELECT f.id, f.size FROM file_owner w CROSS JOIN file f WHERE f.id = w.file AND w.sha256 = $2"
			 " AND w.scope = (SELECT scope FROM repo WHERE id = $1) AND w.proof > 0 LIMIT 1");
CAIRN_SQL(MIRRORED_SET_FILE, "UPDATE content SET file = $4" MIRRORED_ABSENT);

/* Finds a file of the store by its SHA-256. @param[out] size_bytes  its length */
static enum cairn_status mirrored_file(struct cairn_index_tx *tx, struct cairn_index_fill_content *fill, int64_t *file,
				       int64_t *size_bytes)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status =
		cairn_db_find(tx->db, &rows, &MIRRORED_FILE,
			      CAIRN_ARGS(cairn_db_int(fill->repo), cairn_db_bytes(fill->sha256, sizeof(fill->sha256))));
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? cairn_records_content_unknown(&fill->write.diag) : status;
	*file = cairn_db_get_int(&rows, 0);
	*size_bytes = cairn_db_get_int(&rows, 1);
	return CAIRN_OK;
}

/* Finds the content. @param[out] is_absent  the content has no bytes yet */
static enum cairn_status mirrored_find(struct cairn_index_tx *tx, struct cairn_index_fill_content *fill,
				       int64_t size_bytes, bool *is_absent)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_db_find(
		tx->db, &rows, &MIRRORED_FIND,
		CAIRN_ARGS(cairn_db_int(fill->content), cairn_db_int(fill->repo), cairn_db_int(size_bytes)));
	*is_absent = status == CAIRN_OK && cairn_db_get_int(&rows, 0) != 0;
	return status == CAIRN_E_NOT_FOUND ? cairn_records_content_unknown(&fill->write.diag) : status;
}

enum cairn_status cairn_records_fill_content(struct cairn_index_tx *tx, struct cairn_index_fill_content *fill)
{
	int64_t file = 0, size_bytes = (int64_t)fill->len, n = 1;
	bool is_absent = false;
	enum cairn_status status = fill->bytes ? CAIRN_OK : mirrored_file(tx, fill, &file, &size_bytes);
	if (status == CAIRN_OK)
		status = mirrored_find(tx, fill, size_bytes, &is_absent);
	if (status != CAIRN_OK || !is_absent)
		return status;
	if (!fill->bytes) {
		cairn_records_queue_drop_parts(tx, fill->repo, fill->content, 0);
		cairn_records_queue_use(tx, fill->content, cairn_clock_unix_s() / MIRRORED_DAY_S, true);
	}
	status =
		cairn_db_run(tx->db, fill->bytes ? &MIRRORED_SET_BODY : &MIRRORED_SET_FILE,
			     CAIRN_ARGS(cairn_db_int(fill->content), cairn_db_int(fill->repo), cairn_db_int(size_bytes),
					fill->bytes ? cairn_db_bytes(fill->bytes, fill->len) : cairn_db_int(file)),
			     &n);
	return status == CAIRN_OK && n == 0 ? cairn_records_content_unknown(&fill->write.diag) : status;
}
