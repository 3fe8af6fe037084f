/* Reads the files of buckets. */
#include "index/backend.h"
#include "index/records.h"

#include <string.h>

enum { OBJECT_PAGE = 1000 };

#define OBJECT                                                                                                         \
	"SELECT o.path, o.file, f.hash, coalesce(f.size, 0), o.mtime, o.uploaded, o.type FROM object o"                \
	" LEFT JOIN file f ON f.id = o.file WHERE o.repo = $1"
CAIRN_SQL(OBJECT_FIND, OBJECT " AND o.path = $2");
/* Files from path $2 on, or after it if $3 is not 0. */
CAIRN_SQL(OBJECT_EACH, OBJECT " AND o.path >= $2 AND ($3 = 0 OR o.path > $2) ORDER BY o.path LIMIT $4");
/* @param path  buffer for the path */
static enum cairn_status object_row(struct cairn_db_rows *row, char path[static CAIRN_INDEX_PATH_MAX + 1],
				    struct cairn_index_object *out)
{
	*out = (struct cairn_index_object){
		.path = path,
		.size_bytes = (uint64_t)cairn_db_get_int(row, 3),
		.has_mtime = !cairn_db_is_null(row, 4),
		.mtime_unix_ms = cairn_db_get_int(row, 4),
		.uploaded_unix_ms = cairn_db_get_int(row, 5),
	};
	cairn_db_get_text(row, 0, path, CAIRN_INDEX_PATH_MAX + 1);
	if (!cairn_db_is_null(row, 1))
		cairn_db_get_fixed(row, 2, out->file.b, sizeof(out->file.b));
	cairn_db_get_text(row, 6, out->type, sizeof(out->type));
	return cairn_db_whole(row);
}

enum cairn_status cairn_index_object(struct cairn_index *ix, int64_t repo, const char *path,
				     struct cairn_index_object *out)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	char found[CAIRN_INDEX_PATH_MAX + 1];
	enum cairn_status status =
		cairn_records_find(ix, &rows, &OBJECT_FIND, CAIRN_ARGS(cairn_db_int(repo), cairn_db_path(path)));
	if (status != CAIRN_OK)
		return status;
	status = object_row(&rows, found, out);
	out->path = NULL;
	return status;
}

/* Visits a page, from the path in `at` on. @param[in,out] at  the last path that was read @param[out] more  there may
 * be another page, and the visitor did not stop */
static enum cairn_status object_page(struct cairn_db_rows *rows, int64_t repo, const char *prefix, bool behind,
				     int64_t page, char at[static CAIRN_INDEX_PATH_MAX + 1],
				     bool (*visit)(void *ctx, const struct cairn_index_object *object), void *ctx,
				     bool *more)
{
	char from[CAIRN_INDEX_PATH_MAX + 1];
	int64_t n = 0;
	memcpy(from, at, sizeof(from));
	*more = true;
	enum cairn_status status = cairn_db_find(
		rows->db, rows, &OBJECT_EACH,
		CAIRN_ARGS(cairn_db_int(repo), cairn_db_path(from), cairn_db_int(behind), cairn_db_int(page)));
	for (; status == CAIRN_OK; status = cairn_db_next(rows), n++) {
		struct cairn_index_object object;
		status = object_row(rows, at, &object);
		if (status != CAIRN_OK)
			return status;
		*more = strncmp(at, prefix, strlen(prefix)) == 0 && visit(ctx, &object);
		if (!*more)
			return CAIRN_OK;
	}
	*more = n == page;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

enum cairn_status cairn_index_each_object(struct cairn_index *ix, int64_t repo, const char *prefix, const char *from,
					  bool (*visit)(void *ctx, const struct cairn_index_object *object), void *ctx)
{
	CLEANUP(cairn_db_end) struct cairn_db_rows rows = {0};
	char at[CAIRN_INDEX_PATH_MAX + 1] = "";
	const char *first = strcmp(from, prefix) > 0 ? from : prefix;
	size_t len = strlen(first);
	if (len > CAIRN_INDEX_PATH_MAX)
		return CAIRN_OK;
	memcpy(at, first, len);
	enum cairn_status status = cairn_records_take(ix, &rows);
	bool more = true, behind = false;
	/* The first page is small: the visitor may need only one row. */
	for (int64_t page = OBJECT_PAGE / 8; status == CAIRN_OK && more; page = OBJECT_PAGE, behind = true)
		status = object_page(&rows, repo, prefix, behind, page, at, visit, ctx, &more);
	return status;
}
