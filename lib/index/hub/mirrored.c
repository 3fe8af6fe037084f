/* Contents of mirrored repositories get their bytes. */
#include "index/backend.h"
#include "index/hub/history.h"
#include "index/records.h"

#define MIRRORED_ABSENT " WHERE id = $1 AND repo = $2 AND file IS NULL AND body IS NULL AND size = $3"
CAIRN_SQL(MIRRORED_FIND, "SELECT file IS NULL AND body IS NULL FROM content WHERE id = $1 AND repo = $2 AND size = $3");
CAIRN_SQL(MIRRORED_SET_BODY, "UPDATE content SET body = $4" MIRRORED_ABSENT " AND key IS NOT NULL");
/* Only the mirror adds files to a mirrored repository, and it computes their SHA-256. */
CAIRN_SQL(MIRRORED_FILE, "SELECT f.id, f.size FROM file_owner w CROSS JOIN file f WHERE f.id = w.file AND w.sha256 = $2"
			 " AND w.scope = (SELECT scope FROM repo WHERE id = $1) AND w.proof > 0 LIMIT 1");
CAIRN_SQL(MIRRORED_SET_FILE, "UPDATE content SET file = $4" MIRRORED_ABSENT);

static enum cairn_status mirrored_unknown(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "content.unknown", CAIRN_NO_OFFSET,
			  "the mirrored repository has no content of that number and length, or no file for it");
}

/* Finds the file of the store. @param[out] size_bytes  its length */
static enum cairn_status mirrored_file(struct cairn_index_tx *tx, struct cairn_index_fill_content *fill, int64_t *file,
				       int64_t *size_bytes)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status =
		cairn_db_find(tx->db, &rows, &MIRRORED_FILE,
			      CAIRN_ARGS(cairn_db_int(fill->repo), cairn_db_bytes(fill->sha256, sizeof(fill->sha256))));
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? mirrored_unknown(&fill->write.diag) : status;
	*file = cairn_db_get_int(&rows, 0);
	*size_bytes = cairn_db_get_int(&rows, 1);
	return CAIRN_OK;
}

/* @param[out] is_absent  the content has no bytes yet */
static enum cairn_status mirrored_find(struct cairn_index_tx *tx, struct cairn_index_fill_content *fill,
				       int64_t size_bytes, bool *is_absent)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	enum cairn_status status = cairn_db_find(
		tx->db, &rows, &MIRRORED_FIND,
		CAIRN_ARGS(cairn_db_int(fill->content), cairn_db_int(fill->repo), cairn_db_int(size_bytes)));
	*is_absent = status == CAIRN_OK && cairn_db_get_int(&rows, 0) != 0;
	return status == CAIRN_E_NOT_FOUND ? mirrored_unknown(&fill->write.diag) : status;
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
	status =
		cairn_db_run(tx->db, fill->bytes ? &MIRRORED_SET_BODY : &MIRRORED_SET_FILE,
			     CAIRN_ARGS(cairn_db_int(fill->content), cairn_db_int(fill->repo), cairn_db_int(size_bytes),
					fill->bytes ? cairn_db_bytes(fill->bytes, fill->len) : cairn_db_int(file)),
			     &n);
	return status == CAIRN_OK && n == 0 ? mirrored_unknown(&fill->write.diag) : status;
}
