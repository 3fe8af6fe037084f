/* Objects of buckets: the file at each path. */
#include "index/sqlite/engine.h"

#include "base/clock.h"
#include "base/sum.h"

#include <string.h>

/* A bucket that is being changed, within a transaction. */
struct object_changes {
	struct cairn_tx *tx;
	int64_t repo, scope, now_unix_ms;
	int64_t n_files, bytes; /* growth; may be negative */
	uint32_t n_left;
	int64_t left[CAIRN_INDEX_CHANGES_MAX]; /* files that objects had before */
};

/* A file by its number; 0: the empty one. */
struct object_file {
	int64_t id, size_bytes;
};

static bool object_is_empty_file(const struct cairn_hash *hash)
{
	static const struct cairn_hash NONE;
	return memcmp(hash, &NONE, sizeof(NONE)) == 0;
}

static enum cairn_status object_find_empty(struct object_changes *c, const struct cairn_index_change *change,
					   bool *found)
{
	*found = change->kind == CAIRN_INDEX_OBJECT_SET;
	if (*found)
		return CAIRN_OK;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = c->tx->stmt[CAIRN_TX_HAS_EMPTY];
	sqlite3_bind_int64(stmt, 1, change->source);
	return cairn_sql_step(stmt, found);
}

/* Finds the file of a change, if it may be used. */
static enum cairn_status object_find_file(struct object_changes *c, const struct cairn_index_change *change,
					  bool *found, struct object_file *out)
{
	*out = (struct object_file){0};
	if (object_is_empty_file(&change->file))
		return object_find_empty(c, change, found);
	bool copy = change->kind == CAIRN_INDEX_OBJECT_COPY;
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = c->tx->stmt[copy ? CAIRN_TX_FIND_COPIED : CAIRN_TX_FIND_OWN];
	cairn_sql_bind_hash(stmt, 1, &change->file);
	sqlite3_bind_int64(stmt, 2, copy ? change->source : c->scope);
	enum cairn_status status = cairn_sql_step(stmt, found);
	if (status == CAIRN_OK && *found)
		*out = (struct object_file){sqlite3_column_int64(stmt, 0), sqlite3_column_int64(stmt, 1)};
	return status;
}

/* Subtracts the present object at a path from the counts. @param[out] found  there is one */
static enum cairn_status object_leave(struct object_changes *c, const char *path, bool *found)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = c->tx->stmt[CAIRN_TX_FIND_OBJECT];
	sqlite3_bind_int64(stmt, 1, c->repo);
	cairn_sql_bind_text(stmt, 2, path);
	enum cairn_status status = cairn_sql_step(stmt, found);
	if (status != CAIRN_OK || !*found)
		return status;
	c->n_files--;
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
	sqlite3_stmt *stmt = c->tx->stmt[CAIRN_TX_DROP_OBJECT];
	sqlite3_bind_int64(stmt, 1, c->repo);
	cairn_sql_bind_text(stmt, 2, path);
	return cairn_sql_run(stmt);
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
		status = cairn_tx_own(c->tx, file.id, c->scope, &added);
	if (status != CAIRN_OK)
		return status;
	c->n_files++;
	cairn_add(&c->bytes, file.size_bytes);
	sqlite3_stmt *stmt = c->tx->stmt[CAIRN_TX_SET_OBJECT];
	object_bind(stmt, c, change, file.id);
	return cairn_sql_run(stmt);
}

/* Called at the end, since a later change may use a file that an earlier one left. */
static enum cairn_status object_give_back(struct object_changes *c, int64_t file)
{
	bool used = false;
	sqlite3_stmt *stmt = c->tx->stmt[CAIRN_TX_HAS_OBJECT];
	sqlite3_bind_int64(stmt, 1, file);
	sqlite3_bind_int64(stmt, 2, c->repo);
	enum cairn_status status = cairn_sql_step(stmt, &used);
	(void)sqlite3_reset(stmt);
	return status == CAIRN_OK && !used ? cairn_tx_disown(c->tx, file, c->scope) : status;
}

static enum cairn_status object_count(struct object_changes *c)
{
	sqlite3_stmt *stmt = c->tx->stmt[CAIRN_TX_COUNT_REPO];
	sqlite3_bind_int64(stmt, 1, c->repo);
	sqlite3_bind_int64(stmt, 2, c->n_files);
	sqlite3_bind_int64(stmt, 3, c->bytes);
	sqlite3_bind_int64(stmt, 4, c->now_unix_ms);
	return cairn_sql_run(stmt);
}

enum cairn_status cairn_tx_change_objects(struct cairn_tx *tx, struct cairn_index_change_objects *change)
{
	struct object_changes c = {.tx = tx, .repo = change->repo, .now_unix_ms = cairn_clock_unix_ms()};
	if (change->n > CAIRN_INDEX_CHANGES_MAX)
		return CAIRN_E_LIMIT;
	enum cairn_status status = cairn_records_find_repo(&tx->records, change->repo, &c.scope, &change->write.diag);
	for (uint32_t i = 0; i < change->n && status == CAIRN_OK; i++) {
		struct cairn_index_change *one = &change->changes[i];
		one->failed = false;
		status = one->kind == CAIRN_INDEX_OBJECT_DROP ? object_drop(&c, one->path) : object_set(&c, one);
	}
	for (uint32_t i = 0; i < c.n_left && status == CAIRN_OK; i++)
		status = object_give_back(&c, c.left[i]);
	return status == CAIRN_OK ? object_count(&c) : status;
}

enum cairn_status cairn_tx_drop_objects(struct cairn_tx *tx, int64_t file, const char *owner)
{
	static const enum cairn_tx_stmt STEPS[] = {CAIRN_TX_UNCOUNT_STORED, CAIRN_TX_UNCOUNT_OWNED,
						   CAIRN_TX_UNCOUNT_FILE, CAIRN_TX_DROP_OBJECTS, CAIRN_TX_DROP_BYTES};
	enum cairn_status status = CAIRN_OK;
	for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]) && status == CAIRN_OK; i++) {
		sqlite3_stmt *stmt = tx->stmt[STEPS[i]];
		sqlite3_bind_int64(stmt, 1, file);
		if (owner)
			cairn_sql_bind_text(stmt, 2, owner);
		else
			sqlite3_bind_null(stmt, 2);
		status = cairn_sql_run(stmt);
	}
	return status;
}
