/* Creates, migrates, opens and closes an index, and describes it. */
#include "base/percent.h"
#include "base/sys.h"
#include "index/sqlite/engine.h"
#include "index/sqlite/log.h"
#include "index/sqlite/migrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char *open_path(const char *dir, const char *name)
{
	char *path = NULL;
	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

/* Opens nothing: closing any descriptor of the database would drop the locks that this process has on it. */
static uint64_t open_file_bytes(const char *path)
{
	struct stat st;
	return cairn_sys_stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Opens an index with the reserve if needed: opening needs disk space for the log and its shared memory.
 * @param once  called again if the disk is full and there was a reserve */
static enum cairn_status open_with_reserve(struct cairn_reserve *reserve, const char *path,
					   enum cairn_status (*once)(void *ctx, const char *path,
								     struct cairn_diag *diag),
					   void *ctx, struct cairn_diag *diag)
{
	struct cairn_diag why = {0};
	enum cairn_status status = once(ctx, path, &why);
	if (status == CAIRN_E_FULL && cairn_reserve_release(reserve)) {
		why = (struct cairn_diag){0};
		status = once(ctx, path, &why);
	}
	if (status == CAIRN_E_FULL)
		return cairn_fail(diag, status, "index.full", CAIRN_NO_OFFSET,
				  "the disk is full, and no space is left that was kept for the index: free some on "
				  "the file system of %s (%s)",
				  path, why.text);
	if (diag && !diag->rule)
		*diag = why;
	return status;
}

static enum cairn_status open_migrate_once(void *ctx, const char *path, struct cairn_diag *diag)
{
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	enum cairn_status status =
		cairn_sql_open(&db, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, CAIRN_SQL_LOG_VFS, diag);
	if (status != CAIRN_OK)
		return status;
	/* A refused index stays unchanged. An index that needs no migration keeps its log for the next process. */
	int64_t *from = ctx;
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	status = cairn_migrate(db, path, from, diag);
	if (status == CAIRN_OK && *from < cairn_migrate_latest)
		(void)sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
	return status;
}

static enum cairn_status open_check_library(struct cairn_diag *diag)
{
	return sqlite3_threadsafe() ? CAIRN_OK
				    : cairn_fail(diag, CAIRN_E_IO, "index.threads", CAIRN_NO_OFFSET,
						 "this SQLite was built without threads; build Cairn with another one");
}

enum cairn_status cairn_sqlite_migrate(const char *dir, struct cairn_diag *diag, int *from, int *to)
{
	struct cairn_reserve reserve;
	char path[CAIRN_SQL_PATH_BYTES];
	int64_t before = 0;
	enum cairn_status status = open_check_library(diag);
	if (status == CAIRN_OK)
		status = cairn_sql_index_path(path, dir, diag);
	if (status != CAIRN_OK)
		return status;
	cairn_reserve_open(&reserve, dir);
	status = open_with_reserve(&reserve, path, open_migrate_once, &before, diag);
	cairn_reserve_close(&reserve);
	*from = (int)before;
	*to = cairn_migrate_latest;
	return status;
}

static enum cairn_status open_tx_once(void *ctx, const char *path, struct cairn_diag *diag)
{
	struct cairn_tx *tx = ctx;
	cairn_tx_close(tx);
	*tx = (struct cairn_tx){0};
	return cairn_tx_open(tx, path, diag);
}

static enum cairn_status open_to_write(struct cairn_sqlite *s, const char *dir,
				       const struct cairn_index_options *options, struct cairn_diag *diag)
{
	enum cairn_status status = open_check_library(diag);
	if (status != CAIRN_OK)
		return status;
	cairn_reserve_open(&s->reserve, dir);
	status = open_with_reserve(&s->reserve, s->path, open_tx_once, &s->tx, diag);
	if (status == CAIRN_OK)
		status = cairn_checkpoint_open(&s->checkpoint, s->path, options->keep_bytes, s->tx.db, diag);
	s->counts = s->tx.counts;
	return status;
}

/* Encodes a path as a URI for SQLite. */
static char *open_uri(const char *path)
{
	static const char HEAD[] = "file:", TAIL[] = "?immutable=1";
	char *uri = malloc(sizeof(HEAD) + strlen(path) * 3 + sizeof(TAIL));
	if (!uri)
		return NULL;
	memcpy(uri, HEAD, sizeof(HEAD));
	cairn_percent_encode(uri + strlen(uri), path, CAIRN_PERCENT_PATH);
	memcpy(uri + strlen(uri), TAIL, sizeof(TAIL));
	return uri;
}

enum cairn_status cairn_sqlite_version(const char *dir, int *version, int *latest, struct cairn_diag *diag)
{
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	int64_t found = 0;
	char *path = open_path(dir, "index.sqlite"), *log = open_path(dir, "index.sqlite-wal");
	char *uri = path ? open_uri(path) : NULL;
	enum cairn_status status = CAIRN_E_NOMEM;
	if (uri && log && open_file_bytes(log) == 0)
		status = cairn_sql_open(&db, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL, diag);
	else if (uri && log)
		status = cairn_sql_open(&db, path, SQLITE_OPEN_READONLY, NULL, diag);
	if (status == CAIRN_OK)
		status = cairn_migrate_judge(db, path, &found, diag);
	*version = (int)found;
	*latest = cairn_migrate_latest;
	free(uri);
	free(log);
	free(path);
	return status;
}

static enum cairn_status open_read_counts(struct cairn_sqlite *s, sqlite3 *db)
{
	struct cairn_index_counts *c = &s->counts;
	enum cairn_status status = cairn_sql_ask(db, "SELECT stored_bytes FROM state", &c->stored_bytes);
	if (status == CAIRN_OK)
		status = cairn_sql_ask(db, "SELECT xorbs FROM state", &c->xorbs);
	return status == CAIRN_OK ? cairn_sql_ask(db, "SELECT files FROM state", &c->files) : status;
}

static enum cairn_status open_to_read(struct cairn_sqlite *s, struct cairn_diag *diag)
{
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	s->uri = open_uri(s->path);
	if (!s->uri)
		return CAIRN_E_NOMEM;
	/* Without a log, SQLite may assume that nobody writes, and leaves no files. */
	if (open_file_bytes(s->log_path) == 0) {
		s->pool.path = s->uri;
		s->pool.open_flags |= SQLITE_OPEN_URI;
	}
	enum cairn_status status = cairn_sqlite_open_beside(&s->index, &db, diag);
	if (status == CAIRN_OK)
		status = cairn_migrate_must_be_latest(db, s->path, diag);
	if (status == CAIRN_OK)
		(void)!open_read_counts(s, db); /* for display only; an examination reports faults in the counts */
	return status;
}

/* ------------------------------------------------------------------------------------------------------------------ */

enum cairn_status cairn_sqlite_open(struct cairn_index **out, const char *dir,
				    const struct cairn_index_options *options, struct cairn_diag *diag)
{
	struct cairn_sqlite *s = calloc(1, sizeof(*s));
	if (!s)
		return CAIRN_E_NOMEM;
	s->path = open_path(dir, "index.sqlite");
	s->log_path = open_path(dir, "index.sqlite-wal");
	s->shm_path = open_path(dir, "index.sqlite-shm");
	cairn_pool_init(&s->pool, s->path);
	pthread_mutex_init(&s->lock, NULL);
	enum cairn_status status = CAIRN_E_NOMEM;
	if (s->path && s->log_path && s->shm_path)
		status = options->read_only ? open_to_read(s, diag) : open_to_write(s, dir, options, diag);
	if (status == CAIRN_OK)
		*out = &s->index;
	else
		cairn_sqlite_free(&s->index);
	return status;
}

void cairn_sqlite_free(struct cairn_index *ix)
{
	struct cairn_sqlite *s = cairn_sqlite(ix);
	/* Readers close first: the last connection makes a checkpoint, which only the writer may do. */
	cairn_pool_fini(&s->pool);
	cairn_checkpoint_close(&s->checkpoint);
	cairn_tx_close(&s->tx);
	cairn_reserve_close(&s->reserve);
	pthread_mutex_destroy(&s->lock);
	free(s->uri);
	free(s->shm_path);
	free(s->log_path);
	free(s->path);
	free(s);
}

/* Looks for the reader that holds the log only while it is held. An index opened for reading makes no checkpoints. */
static void open_describe_log(struct cairn_sqlite *s, struct cairn_index_log *out)
{
	int64_t since_ms, until_ms;
	out->bytes = open_file_bytes(s->log_path);
	if (!s->checkpoint.started || !cairn_checkpoint_is_held(&s->checkpoint, &since_ms, &until_ms))
		return;
	pthread_mutex_lock(&s->lock);
	if (cairn_log_reader_find(&s->log_reader, s->shm_path, &s->pool, since_ms, out->holder, sizeof(out->holder)))
		out->held_ms = until_ms - since_ms;
	pthread_mutex_unlock(&s->lock);
}

void cairn_sqlite_describe(struct cairn_index *ix, struct cairn_index_stats *out)
{
	struct cairn_sqlite *s = cairn_sqlite(ix);
	pthread_mutex_lock(&s->lock);
	struct cairn_index_counts counts = s->counts;
	pthread_mutex_unlock(&s->lock);
	*out = (struct cairn_index_stats){
		.n_files = (uint64_t)counts.files,
		.n_xorbs = (uint64_t)counts.xorbs,
		.n_shards = (uint64_t)counts.shards,
		.n_eligible = (uint64_t)counts.eligible,
		.stored_bytes = (uint64_t)counts.stored_bytes,
		.filter_bytes = atomic_load(&s->tx.filter.bytes),
		.filter_complete = atomic_load(&s->tx.filter.complete),
		.reset_bug = cairn_sql_loses_commits(sqlite3_libversion_number()) ? sqlite3_libversion() : NULL,
	};
	open_describe_log(s, &out->log);
	out->file_bytes = open_file_bytes(s->path) + out->log.bytes;
}
