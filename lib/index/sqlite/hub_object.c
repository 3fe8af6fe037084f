/* Files of buckets, each at a path. */
#include "index/sqlite/engine.h"

#include "base/clock.h"
#include "base/sum.h"

#include <string.h>

/* A bucket that is being changed, within a transaction. */
struct object_changes {
	struct cairn_tx *tx;
	int64_t repo, owner, now_unix_ms;
	int64_t n_files, bytes, row_bytes; /* growth; may be negative */
	uint32_t n_left;
	int64_t left[CAIRN_INDEX_CHANGES_MAX]; /* files whose paths were changed or removed */
	struct cairn_feed_note feed;
};

/* A file by its number; 0: the empty file. */
struct object_file {
	int64_t id, size_bytes;
};

static bool object_is_empty_file(const struct cairn_hash *hash)
{
	static const struct cairn_hash NONE;
	return memcmp(hash, &NONE, sizeof(NONE)) == 0;
}

static CAIRN_WRITES(TX_HAS_EMPTY, "SELECT 1 FROM object WHERE file IS NULL AND repo = ?1 LIMIT 1");

static enum cairn_status object_find_empty(struct object_changes *c, const struct cairn_index_change *change,
					   bool *found)
{
	*found = change->kind == CAIRN_INDEX_OBJECT_SET;
	if (*found)
		return CAIRN_OK;
	return cairn_tx_has(c->tx, &TX_HAS_EMPTY, CAIRN_ARGS(cairn_db_int(change->source)), found);
}

/* Finds a file that an owner or the operator has. */
static CAIRN_WRITES(TX_FIND_OWN, "SELECT f.id, f.size FROM file f WHERE f.hash = ?1"
				 " AND EXISTS(SELECT 1 FROM file_owner o WHERE o.file = f.id AND o.scope IN (0, ?2))");
/* Finds a file that has a path in a bucket, or that another repository owns. */
static CAIRN_WRITES(
	TX_FIND_COPIED,
	"SELECT f.id, f.size FROM file f WHERE f.hash = ?1"
	" AND (EXISTS(SELECT 1 FROM object o WHERE o.file = f.id AND o.repo = ?2) OR EXISTS(SELECT 1 FROM repo p"
	" JOIN file_owner w ON w.file = f.id AND w.scope = p.scope WHERE p.id = ?2 AND p.kind <> 4"
	" AND p.dropped IS NULL))");

/* Finds the file of a change, if it may be used. */
static enum cairn_status object_find_file(struct object_changes *c, const struct cairn_index_change *change,
					  bool *found, struct object_file *out)
{
	*out = (struct object_file){0};
	if (object_is_empty_file(&change->file))
		return object_find_empty(c, change, found);
	bool copy = change->kind == CAIRN_INDEX_OBJECT_COPY;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(c->tx, copy ? &TX_FIND_COPIED : &TX_FIND_OWN);
	cairn_sql_bind_hash(stmt, 1, &change->file);
	sqlite3_bind_int64(stmt, 2, copy ? change->source : c->owner);
	enum cairn_status status = cairn_sql_step(stmt, found);
	if (status == CAIRN_OK && *found)
		*out = (struct object_file){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1)};
	return status;
}

static CAIRN_WRITES(TX_FIND_OBJECT, "SELECT o.file, coalesce(f.size, 0) FROM object o LEFT JOIN file f ON f.id = o.file"
				    " WHERE o.repo = ?1 AND o.path = ?2");

static int64_t object_counts(const char *path)
{
	return CAIRN_INDEX_ROW_BYTES + (int64_t)strlen(path);
}

/* Subtracts the present file at a path from the counts. @param[out] found  the path has one */
static enum cairn_status object_leave(struct object_changes *c, const char *path, bool *found)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = cairn_tx_stmt(c->tx, &TX_FIND_OBJECT);
	sqlite3_bind_int64(stmt, 1, c->repo);
	cairn_sql_bind_text(stmt, 2, path);
	enum cairn_status status = cairn_sql_step(stmt, found);
	if (status != CAIRN_OK || !*found)
		return status;
	c->n_files--;
	c->row_bytes = cairn_difference(c->row_bytes, object_counts(path));
	c->bytes = cairn_difference(c->bytes, sqlite3_column_int64(stmt, 1));
	if (sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		c->left[c->n_left++] = sqlite3_column_int64(stmt, 0);
	return CAIRN_OK;
}

static enum cairn_status object_drop(struct object_changes *c, const char *path)
{
	bool found;
	enum cairn_status status = object_leave(c, path, &found);
	if (status != CAIRN_OK || !found)
		return status;
	cairn_records_note_change(&c->feed, 'd', path);
	return cairn_tx_run(c->tx, &CAIRN_TX_DROP_OBJECT, CAIRN_ARGS(cairn_db_int(c->repo), cairn_db_text(path)));
}

static void object_bind(sqlite3_stmt *stmt, const struct object_changes *c, const struct cairn_index_change *change,
			int64_t file)
{
	sqlite3_bind_int64(stmt, 1, c->repo);
	cairn_sql_bind_text(stmt, 2, change->path);
	if (file != 0)
		sqlite3_bind_int64(stmt, 3, file);
	else
		sqlite3_bind_null(stmt, 3);
	if (change->has_mtime)
		sqlite3_bind_int64(stmt, 4, change->mtime_unix_ms);
	else
		sqlite3_bind_null(stmt, 4);
	sqlite3_bind_int64(stmt, 5, c->now_unix_ms);
	cairn_sql_bind_text(stmt, 6, change->type);
}

static CAIRN_WRITES(TX_SET_OBJECT,
		    "INSERT INTO object(repo, path, file, mtime, uploaded, type) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"
		    " ON CONFLICT DO UPDATE SET file = ?3, mtime = ?4, uploaded = ?5, type = ?6");

static enum cairn_status object_set(struct object_changes *c, struct cairn_index_change *change)
{
	struct object_file file;
	bool found, added;
	enum cairn_status status = object_find_file(c, change, &found, &file);
	change->failed = !found;
	if (status != CAIRN_OK || !found)
		return status;
	status = object_leave(c, change->path, &found);
	if (status == CAIRN_OK && file.id != 0)
		status = cairn_tx_own(c->tx, file.id, c->owner, &added);
	if (status != CAIRN_OK)
		return status;
	c->n_files++;
	cairn_add(&c->row_bytes, object_counts(change->path));
	cairn_add(&c->bytes, file.size_bytes);
	cairn_records_note_change(&c->feed, found ? 'u' : 'a', change->path);
	sqlite3_stmt *stmt = cairn_tx_stmt(c->tx, &TX_SET_OBJECT);
	object_bind(stmt, c, change, file.id);
	return cairn_sql_run(stmt);
}

/* Takes a pathless file from the bucket. At the end, because a later change may use a file that an earlier one left. */
static enum cairn_status object_give_back(struct object_changes *c, int64_t file)
{
	bool used;
	enum cairn_status status =
		cairn_tx_has(c->tx, &CAIRN_TX_HAS_OBJECT, CAIRN_ARGS(cairn_db_int(file), cairn_db_int(c->repo)), &used);
	return status == CAIRN_OK && !used ? cairn_tx_disown(c->tx, file, c->owner) : status;
}

/* Batches within a millisecond get later times than the clock's. Clients continue from the bucket's time, so it must
 * not be before the time of a batch. */
static CAIRN_WRITES(TX_COUNT_REPO,
		    "UPDATE repo SET files = files + ?2, bytes = bytes + ?3,"
		    " updated = max(?4, coalesce((SELECT max(at) FROM feed WHERE repo = ?1), 0)) WHERE id = ?1");

static enum cairn_status object_count(struct object_changes *c)
{
	enum cairn_status status = cairn_tx_run(c->tx, &TX_COUNT_REPO,
						CAIRN_ARGS(cairn_db_int(c->repo), cairn_db_int(c->n_files),
							   cairn_db_int(c->bytes), cairn_db_int(c->now_unix_ms)));
	return status == CAIRN_OK ? cairn_tx_count_rows(c->tx, c->owner, c->row_bytes, true) : status;
}

enum cairn_status cairn_tx_change_objects(struct cairn_tx *tx, struct cairn_index_change_objects *change)
{
	if (change->n > CAIRN_INDEX_CHANGES_MAX)
		return CAIRN_E_LIMIT;
	struct object_changes c = {.tx = tx, .repo = change->repo, .now_unix_ms = cairn_clock_unix_ms()};
	enum cairn_status status = cairn_records_find_repo(&tx->records, change->repo, &c.owner, &change->write.diag);
	for (uint32_t i = 0; i < change->n && status == CAIRN_OK; i++) {
		struct cairn_index_change *one = &change->changes[i];
		one->failed = false;
		status = one->kind == CAIRN_INDEX_OBJECT_DROP ? object_drop(&c, one->path) : object_set(&c, one);
	}
	for (uint32_t i = 0; i < c.n_left && status == CAIRN_OK; i++)
		status = object_give_back(&c, c.left[i]);
	if (status != CAIRN_OK)
		return status;
	cairn_records_queue_feed(&tx->records, c.repo, c.now_unix_ms, &c.feed);
	status = cairn_db_exchange(tx->records.db);
	return status == CAIRN_OK ? object_count(&c) : status;
}

static CAIRN_WRITES(
	TX_UNCOUNT_FILE,
	"UPDATE repo SET files = files - (SELECT count(*) FROM object o WHERE o.file = ?1 AND o.repo = "
	"repo.id),"
	" bytes = bytes - (SELECT count(*) FROM object o WHERE o.file = ?1 AND o.repo = repo.id)"
	" * (SELECT size FROM file WHERE id = ?1), stored = stored - (SELECT coalesce(sum(" CAIRN_SQL_OBJECT_COUNTS(
		SQLITE) "), 0) FROM object o WHERE o.file = ?1 AND o.repo = repo.id) WHERE id IN (SELECT repo FROM object WHERE file = ?1)"
			" AND (?2 IS NULL OR scope = (SELECT id FROM scope WHERE name = ?2))");
static CAIRN_WRITES(
	TX_UNCOUNT_STORED,
	"UPDATE repo SET stored = stored - (SELECT " CAIRN_SQLITE_FILE_COUNTS(
		"size") " FROM file WHERE id = ?1) WHERE scope IN"
			" (SELECT scope FROM file_owner WHERE file = ?1 AND (?2 IS NULL OR scope = (SELECT id FROM scope"
			" WHERE name = ?2)))");
static CAIRN_WRITES(TX_UNCOUNT_OWNED,
		    "UPDATE scope SET stored = stored - (SELECT " CAIRN_SQLITE_FILE_COUNTS(
			    "size") " FROM file WHERE id = ?1) WHERE quota IS NOT NULL AND id"
				    " IN (SELECT scope FROM file_owner WHERE file = ?1) AND (?2 IS NULL OR name = ?2)");
static CAIRN_WRITES(TX_DROP_OBJECTS,
		    "DELETE FROM object WHERE file = ?1 AND (?2 IS NULL OR repo IN (SELECT id FROM repo WHERE scope ="
		    " (SELECT id FROM scope WHERE name = ?2)))");
static CAIRN_WRITES(
	TX_DROP_BYTES,
	"UPDATE content SET file = NULL WHERE file = ?1 AND (?2 IS NULL OR repo IN (SELECT id FROM repo WHERE"
	" scope = (SELECT id FROM scope WHERE name = ?2)))");

static CAIRN_WRITES(TX_DROP_PARTS,
		    "DELETE FROM mirror_part WHERE file = ?1 AND (?2 IS NULL OR EXISTS(SELECT 1 FROM content c"
		    " CROSS JOIN repo r WHERE c.id = mirror_part.content AND r.id = c.repo"
		    " AND r.scope = (SELECT id FROM scope WHERE name = ?2)))");

/* Removes the bytes from pull requests that name the owner's file, in repositories that do not have it themselves. */
static CAIRN_WRITES(TX_DROP_PROPOSED_BYTES,
		    "UPDATE content SET file = NULL WHERE file = ?1 AND repo IN (SELECT r.id FROM proposed p"
		    " CROSS JOIN repo r ON r.scope = p.scope WHERE p.file = ?1"
		    " AND p.holder = (SELECT id FROM scope WHERE name = ?2)"
		    " AND NOT EXISTS(SELECT 1 FROM file_owner o WHERE o.file = ?1 AND o.scope = p.scope))");

enum cairn_status cairn_tx_drop_objects(struct cairn_tx *tx, int64_t file, const char *owner)
{
	static const struct cairn_statement *const STEPS[] = {
		&TX_UNCOUNT_STORED, &TX_UNCOUNT_OWNED, &TX_UNCOUNT_FILE,       &TX_DROP_OBJECTS,
		&TX_DROP_BYTES,     &TX_DROP_PARTS,    &TX_DROP_PROPOSED_BYTES};
	enum cairn_status status = CAIRN_OK;
	for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]) && status == CAIRN_OK; i++) {
		sqlite3_stmt *stmt = cairn_tx_stmt(tx, STEPS[i]);
		sqlite3_bind_int64(stmt, 1, file);
		if (owner)
			cairn_sql_bind_text(stmt, 2, owner);
		else
			sqlite3_bind_null(stmt, 2);
		status = cairn_sql_run(stmt);
	}
	return status;
}
