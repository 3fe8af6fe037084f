/* Files of buckets, each at a path. Rows for all changes are read together, changed in memory in order, and written. */
#include "index/postgres/own.h"

#include "base/clock.h"
#include "base/sum.h"

#include <stdlib.h>
#include <string.h>

static const char OBJECT_PATHS[] =
	"SELECT k.n, o.file, coalesce(f.size, 0) FROM unnest($2::bytea[]) WITH ORDINALITY k(path, n)"
	" CROSS JOIN LATERAL (SELECT file FROM object WHERE repo = $1 AND path = k.path LIMIT 1) o"
	" LEFT JOIN LATERAL (SELECT size FROM file WHERE id = o.file LIMIT 1) f ON true";
/* Finds the files that the changes may use: those of the source of a copy, else those of the bucket or the operator.
 * The empty file has no hash and the number 0; a missing file has -1. */
static const char OBJECT_FILES[] =
	"SELECT k.n, coalesce(f.id, CASE WHEN k.hash = '' THEN 0 ELSE -1 END), coalesce(f.size, 0), CASE"
	" WHEN k.source = 0 THEN k.hash = '' OR (SELECT true FROM file_owner w WHERE w.file = f.id"
	" AND w.scope IN (0, (SELECT scope FROM repo WHERE id = $1)) LIMIT 1) IS NOT NULL"
	" WHEN k.hash = '' THEN (SELECT true FROM object o WHERE o.file IS NULL AND o.repo = k.source LIMIT 1) IS NOT NULL"
	" ELSE (SELECT true FROM object o WHERE o.file = f.id AND o.repo = k.source LIMIT 1) IS NOT NULL"
	" OR (SELECT true FROM file_owner w WHERE w.file = f.id AND w.scope = (SELECT p.scope FROM repo p"
	" WHERE p.id = k.source AND p.kind <> 4 AND " CAIRN_REPO_KEPT(
		"p") ") LIMIT 1) IS NOT NULL END"
		     " FROM unnest($2::bytea[], $3::bigint[]) WITH ORDINALITY k(hash, source, n)"
		     " LEFT JOIN LATERAL (SELECT id, size FROM file WHERE hash = k.hash LIMIT 1) f ON true";
static const char OBJECT_SET[] =
	"INSERT INTO object(repo, path, file, mtime, uploaded, type) SELECT $1, k.path, nullif(k.file, 0),"
	" CASE WHEN k.has_mtime <> 0 THEN k.mtime END, $2, k.type"
	" FROM unnest($3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[])"
	" k(path, file, has_mtime, mtime, type) ON CONFLICT(repo, path) DO UPDATE SET file = excluded.file,"
	" mtime = excluded.mtime, uploaded = excluded.uploaded, type = excluded.type";
static const char OBJECT_DROP[] = "DELETE FROM object WHERE repo = $1 AND path = ANY($2)";

/* Batches within a millisecond get later times than the clock's. Clients continue from the bucket's time, so it must
 * not be before the time of a batch. */
static const char OBJECT_COUNT[] =
	"UPDATE repo SET files = files + $2, bytes = bytes + $3,"
	" updated = greatest($4, coalesce((SELECT max(at) FROM feed WHERE repo = $1), 0)), stored = stored + $5 WHERE id = $1";

/* --- changes in memory -------------------------------------------------------------------------------------------- */

/* The row at a path, after the earlier changes. */
struct object_path {
	const char *path;
	bool there;
	int64_t file, size_bytes; /* 0: the empty file */
	bool changed;             /* changed since the last write */
	const struct cairn_index_change *last;
};

/* The file of a change. */
struct object_file {
	bool found; /* the file exists, and the bucket may use it */
	int64_t id, size_bytes;
};

/* A bucket that is being changed, within a transaction. */
struct object_changes {
	struct cairn_pg_tx *tx;
	struct cairn_index_change_objects *request;
	int64_t repo, owner, now_unix_ms;
	int64_t n_files, bytes, row_bytes; /* growth; may be negative */
	struct object_path paths[CAIRN_INDEX_CHANGES_MAX];
	uint32_t n_paths, n_left, n_used;
	struct object_file files[CAIRN_INDEX_CHANGES_MAX]; /* files of the changes */
	int64_t left[CAIRN_INDEX_CHANGES_MAX];             /* files whose paths were changed or removed */
	int64_t used[CAIRN_INDEX_CHANGES_MAX];             /* files that got a path */
	struct cairn_feed_note feed;
};

static int object_path_compare(const void *a, const void *b)
{
	return strcmp(((const struct object_path *)a)->path, ((const struct object_path *)b)->path);
}

static struct object_path *object_path_of(struct object_changes *c, const char *path)
{
	const struct object_path key = {.path = path};
	return bsearch(&key, c->paths, c->n_paths, sizeof(c->paths[0]), object_path_compare);
}

static bool object_has(const int64_t *ids, uint32_t n, int64_t id)
{
	uint32_t i = 0;
	while (i < n && ids[i] != id)
		i++;
	return i < n;
}

static void object_gather_paths(struct object_changes *c)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->request->n; i++)
		c->paths[i] = (struct object_path){.path = c->request->changes[i].path};
	qsort(c->paths, c->request->n, sizeof(c->paths[0]), object_path_compare);
	for (uint32_t i = 0; i < c->request->n; i++)
		if (n == 0 || strcmp(c->paths[n - 1].path, c->paths[i].path) != 0)
			c->paths[n++] = c->paths[i];
	c->n_paths = n;
}

static unsigned object_queue_paths(struct object_changes *c)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array paths = {0};
	for (uint32_t i = 0; i < c->n_paths; i++)
		cairn_pg_add_bytes(&paths, c->paths[i].path, strlen(c->paths[i].path));
	return cairn_pg_queue(&c->tx->pg, OBJECT_PATHS, CAIRN_ARGS(cairn_db_int(c->repo), cairn_pg_byteas(&paths)));
}

static bool object_is_empty_file(const struct cairn_hash *hash)
{
	static const struct cairn_hash NONE;
	return memcmp(hash, &NONE, sizeof(NONE)) == 0;
}

/* Queues a query for the files of some changes. */
static unsigned object_queue_files(struct object_changes *c, uint32_t first, uint32_t n)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array hashes = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array sources = {0};
	for (uint32_t i = first; i < first + n; i++) {
		const struct cairn_index_change *change = &c->request->changes[i];
		int64_t source = change->source != 0 ? change->source : -1;
		cairn_pg_add_bytes(&hashes, change->file.b,
				   object_is_empty_file(&change->file) ? 0 : sizeof(change->file.b));
		cairn_pg_add_int8(&sources, change->kind == CAIRN_INDEX_OBJECT_COPY ? source : 0);
	}
	return cairn_pg_queue(&c->tx->pg, OBJECT_FILES,
			      CAIRN_ARGS(cairn_db_int(c->repo), cairn_pg_byteas(&hashes), cairn_pg_int8s(&sources)));
}

static void object_took_files(struct object_changes *c, uint32_t first, const PGresult *r)
{
	for (int i = 0; i < PQntuples(r); i++)
		c->files[first + (uint32_t)cairn_pg_get_int8(r, i, 0) - 1] = (struct object_file){
			.id = cairn_pg_get_int8(r, i, 1),
			.size_bytes = cairn_pg_get_int8(r, i, 2),
			.found = cairn_pg_get_int8(r, i, 3) != 0,
		};
}

static enum cairn_status object_look_up(struct object_changes *c)
{
	struct cairn_pg *pg = &c->tx->pg;
	object_gather_paths(c);
	unsigned repo = cairn_pg_queue_find_repo(c->tx, c->repo);
	unsigned paths = object_queue_paths(c);
	unsigned files = object_queue_files(c, 0, c->request->n);
	enum cairn_status status = cairn_pg_exchange(pg);
	if (status == CAIRN_OK)
		status = cairn_pg_found_repo(c->tx, repo, &c->owner, &c->request->write.diag);
	if (status != CAIRN_OK)
		return status;
	const PGresult *r = pg->results[paths];
	for (int i = 0; i < PQntuples(r); i++) {
		struct object_path *at = &c->paths[cairn_pg_get_int8(r, i, 0) - 1];
		at->there = true;
		at->file = cairn_pg_get_int8(r, i, 1);
		at->size_bytes = cairn_pg_get_int8(r, i, 2);
	}
	object_took_files(c, 0, pg->results[files]);
	return CAIRN_OK;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

struct object_rows {
	struct cairn_pg_array dropped, paths, files, has_mtime, mtimes, types;
};

static void object_rows_fini(struct object_rows *rows)
{
	cairn_pg_array_fini(&rows->dropped);
	cairn_pg_array_fini(&rows->paths);
	cairn_pg_array_fini(&rows->files);
	cairn_pg_array_fini(&rows->has_mtime);
	cairn_pg_array_fini(&rows->mtimes);
	cairn_pg_array_fini(&rows->types);
}

static void object_add_row(struct object_rows *rows, const struct object_path *at)
{
	if (!at->there) {
		cairn_pg_add_bytes(&rows->dropped, at->path, strlen(at->path));
		return;
	}
	cairn_pg_add_bytes(&rows->paths, at->path, strlen(at->path));
	cairn_pg_add_int8(&rows->files, at->file);
	cairn_pg_add_int8(&rows->has_mtime, at->last->has_mtime);
	cairn_pg_add_int8(&rows->mtimes, at->last->mtime_unix_ms);
	cairn_pg_add_bytes(&rows->types, at->last->type, strlen(at->last->type));
}

static void object_queue_rows(struct object_changes *c)
{
	CLEANUP(object_rows_fini) struct object_rows rows = {0};
	for (uint32_t i = 0; i < c->n_paths; i++) {
		if (c->paths[i].changed)
			object_add_row(&rows, &c->paths[i]);
		c->paths[i].changed = false;
	}
	(void)cairn_pg_queue(&c->tx->pg, OBJECT_SET,
			     CAIRN_ARGS(cairn_db_int(c->repo), cairn_db_int(c->now_unix_ms),
					cairn_pg_byteas(&rows.paths), cairn_pg_int8s(&rows.files),
					cairn_pg_int8s(&rows.has_mtime), cairn_pg_int8s(&rows.mtimes),
					cairn_pg_texts(&rows.types)));
	(void)cairn_pg_queue(&c->tx->pg, OBJECT_DROP,
			     CAIRN_ARGS(cairn_db_int(c->repo), cairn_pg_byteas(&rows.dropped)));
}

static void object_add_ids(struct cairn_pg_array *out, const int64_t *ids, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (ids[i] != 0)
			cairn_pg_add_int8(out, ids[i]);
}

/* Writes the rows, the ownership of files, and the bucket's counts. Files without a path are determined last, because a
 * later change may use a file that an earlier one left. */
static enum cairn_status object_finish(struct object_changes *c)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array used = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array left = {0};
	object_add_ids(&used, c->used, c->n_used);
	object_add_ids(&left, c->left, c->n_left);
	object_queue_rows(c);
	unsigned owned = cairn_pg_queue_own(c->tx, c->owner, &used);
	struct cairn_pg_disowning disowned = cairn_pg_queue_disown(c->tx, c->owner, &left, c->repo);
	cairn_records_queue_feed(&c->tx->records, c->repo, c->now_unix_ms, &c->feed);
	(void)cairn_pg_queue(&c->tx->pg, OBJECT_COUNT,
			     CAIRN_ARGS(cairn_db_int(c->repo), cairn_db_int(c->n_files), cairn_db_int(c->bytes),
					cairn_db_int(c->now_unix_ms), cairn_db_int(c->row_bytes)));
	enum cairn_status status = cairn_pg_exchange(&c->tx->pg);
	if (status != CAIRN_OK)
		return status;
	(void)cairn_pg_owned(c->tx, owned, c->owner);
	(void)cairn_pg_disowned(c->tx, disowned, c->owner);
	cairn_records_grow(&c->tx->records, c->owner, c->row_bytes);
	return CAIRN_OK;
}

/* --- one change --------------------------------------------------------------------------------------------------- */

static int64_t object_counts(const char *path)
{
	return CAIRN_INDEX_ROW_BYTES + (int64_t)strlen(path);
}

/* Subtracts the present row at a path from the counts. */
static void object_leave(struct object_changes *c, struct object_path *at)
{
	if (!at->there)
		return;
	c->n_files--;
	c->row_bytes = cairn_difference(c->row_bytes, object_counts(at->path));
	c->bytes = cairn_difference(c->bytes, at->size_bytes);
	c->left[c->n_left++] = at->file;
	at->there = false;
	at->changed = true;
}

/* Looks the file up again: the bucket is itself the source of this copy, so earlier changes count. */
static enum cairn_status object_look_up_again(struct object_changes *c, uint32_t i)
{
	struct object_file *file = &c->files[i];
	file->found = file->found || object_has(c->used, c->n_used, file->id);
	if (!object_has(c->left, c->n_left, file->id))
		return CAIRN_OK;
	object_queue_rows(c);
	unsigned queued = object_queue_files(c, i, 1);
	enum cairn_status status = cairn_pg_exchange(&c->tx->pg);
	if (status == CAIRN_OK)
		object_took_files(c, i, c->tx->pg.results[queued]);
	return status;
}

static enum cairn_status object_change(struct object_changes *c, uint32_t i)
{
	struct cairn_index_change *change = &c->request->changes[i];
	struct object_path *at = object_path_of(c, change->path);
	enum cairn_status status = CAIRN_OK;
	change->failed = false;
	if (change->kind == CAIRN_INDEX_OBJECT_DROP) {
		if (at->there)
			cairn_records_note_change(&c->feed, 'd', change->path);
		object_leave(c, at);
		return CAIRN_OK;
	}
	if (change->kind == CAIRN_INDEX_OBJECT_COPY && change->source == c->repo)
		status = object_look_up_again(c, i);
	const struct object_file *file = &c->files[i];
	change->failed = !file->found;
	if (status != CAIRN_OK || change->failed)
		return status;
	cairn_records_note_change(&c->feed, at->there ? 'u' : 'a', change->path);
	object_leave(c, at);
	at->there = at->changed = true;
	at->file = file->id;
	at->size_bytes = file->size_bytes;
	at->last = change;
	c->used[c->n_used++] = file->id;
	c->n_files++;
	cairn_add(&c->row_bytes, object_counts(at->path));
	cairn_add(&c->bytes, file->size_bytes);
	return CAIRN_OK;
}

static void object_changes_free(struct object_changes **c)
{
	free(*c);
}

enum cairn_status cairn_pg_change_objects(struct cairn_pg_tx *tx, struct cairn_index_change_objects *change)
{
	if (change->n > CAIRN_INDEX_CHANGES_MAX)
		return CAIRN_E_LIMIT;
	CLEANUP(object_changes_free) struct object_changes *c = calloc(1, sizeof(*c));
	if (!c)
		return CAIRN_E_NOMEM;
	c->tx = tx;
	c->request = change;
	c->repo = change->repo;
	c->now_unix_ms = cairn_clock_unix_ms();
	enum cairn_status status = object_look_up(c);
	for (uint32_t i = 0; i < change->n && status == CAIRN_OK; i++)
		status = object_change(c, i);
	return status == CAIRN_OK ? object_finish(c) : status;
}
