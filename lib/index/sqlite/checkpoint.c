#include "index/sqlite/checkpoint.h"

#include "base/clock.h"
#include "index/sqlite/migrate.h"
#include "index/sqlite/reserve.h"

#include <stdio.h>

enum {
	CHECKPOINT_REST_PAGES = 1000, /* pages that the thread may leave to the writer */
	CHECKPOINT_PASSES_MAX = 6, /* of a round; with a steady stream of commits, the rest may never get that short */
	CHECKPOINT_READER_MS = 50, /* wait for readers when shrinking the log */
	CHECKPOINT_AGAIN_MS = 10000, /* time to the next round after one that left pages to a reader */
	CHECKPOINT_HELD_ROUNDS = 2,  /* so many such rounds in a row: a reader holds the log */
};

/* Syncs the database, so that copying the last pages, after which SQLite itself syncs, takes little time. */
static int checkpoint_sync(sqlite3 *db)
{
	sqlite3_file *file = NULL;
	int rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	if (rc != SQLITE_OK || !file || !file->pMethods)
		return rc;
	return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
}

/* Did the disk fail? The kernel reports a failed write once and then treats the page as written, so a later successful
 * sync proves nothing. A busy database or a full disk is not such a failure. */
static bool checkpoint_failed(int rc)
{
	return (rc & 0xff) == SQLITE_IOERR;
}

/* Have commits put pages into the log that the last pass did not copy? */
static bool checkpoint_has_more(struct cairn_checkpoint *c, int copied)
{
	pthread_mutex_lock(&c->lock);
	bool more = c->log_pages > copied;
	pthread_mutex_unlock(&c->lock);
	return more;
}

/* A round of the thread. Pages that a reader still needs are left for the next round. No pass begins on a log that is
 * copied completely: a commit could restart the log during the pass, and SQLite up to 3.51.2 then loses that commit
 * (its "WAL-reset bug"; ../README.md shows why this order prevents it). */
static int checkpoint_copy(struct cairn_checkpoint *c)
{
	int pages = 0, copied = 0, before = 0;
	for (int pass = 0; pass < CHECKPOINT_PASSES_MAX; pass++) {
		int rc = sqlite3_wal_checkpoint_v2(c->db, "main", SQLITE_CHECKPOINT_PASSIVE, &pages, &copied);
		if (rc == SQLITE_OK)
			rc = checkpoint_sync(c->db);
		if (rc != SQLITE_OK || copied - before <= CHECKPOINT_REST_PAGES || !checkpoint_has_more(c, copied))
			return rc;
		before = copied;
	}
	return SQLITE_OK;
}

static void *checkpoint_loop(void *arg)
{
	struct cairn_checkpoint *c = arg;
	(void)pthread_setname_np(pthread_self(), "checkpoint");
	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (c->state != CAIRN_CHECKPOINT_COPYING && !c->closing)
			pthread_cond_wait(&c->changed, &c->lock);
		if (c->closing)
			break;
		pthread_mutex_unlock(&c->lock);
		int rc = checkpoint_copy(c);
		pthread_mutex_lock(&c->lock);
		c->state = checkpoint_failed(rc) ? CAIRN_CHECKPOINT_FAILED : CAIRN_CHECKPOINT_REST;
		pthread_cond_broadcast(&c->changed);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* Returns the present limit of the log, in pages. */
static int checkpoint_pages(const struct cairn_checkpoint *c)
{
	uint64_t free_bytes = cairn_reserve_free_bytes(c->path);
	uint64_t room = free_bytes > c->keep_bytes ? free_bytes - c->keep_bytes : 0;
	uint64_t pages = room / CAIRN_CHECKPOINT_SHARE / CAIRN_MIGRATE_PAGE_BYTES;
	if (pages < CAIRN_CHECKPOINT_PAGES_MIN)
		return CAIRN_CHECKPOINT_PAGES_MIN;
	return pages < CAIRN_CHECKPOINT_PAGES ? (int)pages : CAIRN_CHECKPOINT_PAGES;
}

/* Limits the log between two rounds. Its file is truncated to the limit when the log is restarted. */
static void checkpoint_bound(struct cairn_checkpoint *c)
{
	int pages = checkpoint_pages(c);
	int64_t value;
	char limit[64];
	if (pages == c->round_pages)
		return;
	c->round_pages = pages;
	(void)snprintf(limit, sizeof(limit), "PRAGMA journal_size_limit = %d", pages * CAIRN_MIGRATE_PAGE_BYTES);
	/* If this fails, the file stays longer for a while. */
	(void)!cairn_sql_ask(c->writer_db, limit, &value);
}

/* Is a round due? Called with the lock. @param more  pages since the last round */
static bool checkpoint_is_due(const struct cairn_checkpoint *c, int more)
{
	return more >= c->round_pages || (c->n_held > 0 && cairn_clock_mono_ms() - c->round_ms >= CHECKPOINT_AGAIN_MS);
}

/* Records since when checkpoints have not copied the whole log. A round that copies all of it, or fails, ends the
 * count. Called with the lock. */
static void checkpoint_note(struct cairn_checkpoint *c, int rc, int pages, int copied)
{
	if (rc != SQLITE_OK || copied >= pages) {
		c->n_held = 0;
		return;
	}
	c->held_until_ms = cairn_clock_mono_ms();
	if (c->n_held++ == 0)
		c->held_since_ms = c->held_until_ms;
}

/* Called after each commit of the writer, on its thread. */
static int checkpoint_committed(void *ctx, sqlite3 *db, const char *name, int pages)
{
	struct cairn_checkpoint *c = ctx;
	if (pages < c->from_pages)
		c->from_pages = 0; /* the log was restarted */
	int more = pages - c->from_pages;
	if (more >= CAIRN_CHECKPOINT_PAGES_MIN)
		checkpoint_bound(c);
	pthread_mutex_lock(&c->lock);
	c->log_pages = pages;
	while (c->state == CAIRN_CHECKPOINT_COPYING && more >= CAIRN_CHECKPOINT_LATE * c->round_pages)
		pthread_cond_wait(&c->changed, &c->lock);
	if (c->state == CAIRN_CHECKPOINT_IDLE && checkpoint_is_due(c, more)) {
		c->state = CAIRN_CHECKPOINT_COPYING;
		c->round_ms = cairn_clock_mono_ms();
		pthread_cond_broadcast(&c->changed);
	}
	bool rest = c->state == CAIRN_CHECKPOINT_REST;
	pthread_mutex_unlock(&c->lock);
	if (!rest)
		return SQLITE_OK;
	/* Even if this fails, the commit is durable, and the log remains. */
	int in_log = 0, copied = 0;
	int rc = sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, &in_log, &copied);
	c->from_pages = pages;
	pthread_mutex_lock(&c->lock);
	checkpoint_note(c, rc, in_log, copied);
	c->state = checkpoint_failed(rc) ? CAIRN_CHECKPOINT_FAILED : CAIRN_CHECKPOINT_IDLE;
	pthread_mutex_unlock(&c->lock);
	return SQLITE_OK;
}

/* Reads once: a connection that has read nothing does not see the log. */
static enum cairn_status checkpoint_set_up(sqlite3 *db)
{
	int64_t value;
	enum cairn_status status = cairn_sql_exec(db, "PRAGMA synchronous = FULL");
	return status == CAIRN_OK ? cairn_sql_ask(db, "PRAGMA schema_version", &value) : status;
}

enum cairn_status cairn_checkpoint_open(struct cairn_checkpoint *c, const char *path, uint64_t keep_bytes,
					sqlite3 *writer_db, struct cairn_diag *diag)
{
	c->path = path;
	c->keep_bytes = keep_bytes;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	enum cairn_status status = cairn_sql_open(&c->db, path, SQLITE_OPEN_READWRITE, NULL, diag);
	if (status != CAIRN_OK)
		return status;
	status = checkpoint_set_up(c->db);
	if (status != CAIRN_OK)
		return cairn_sql_fail(c->db, diag, "cannot read the index");
	if (pthread_create(&c->thread, NULL, checkpoint_loop, c) != 0)
		return cairn_fail(
			diag, CAIRN_E_NOMEM, "index.thread", CAIRN_NO_OFFSET,
			"the thread for checkpoints of the index's log cannot be started; raise the limit on threads");
	c->started = true;
	c->writer_db = writer_db;
	checkpoint_bound(c);
	(void)sqlite3_wal_hook(writer_db, checkpoint_committed, c);
	return CAIRN_OK;
}

bool cairn_checkpoint_failed(struct cairn_checkpoint *c)
{
	pthread_mutex_lock(&c->lock);
	bool failed = c->state == CAIRN_CHECKPOINT_FAILED;
	pthread_mutex_unlock(&c->lock);
	return failed;
}

bool cairn_checkpoint_is_held(struct cairn_checkpoint *c, int64_t *since_ms, int64_t *until_ms)
{
	pthread_mutex_lock(&c->lock);
	bool held = c->n_held >= CHECKPOINT_HELD_ROUNDS;
	*since_ms = c->held_since_ms;
	*until_ms = c->held_until_ms;
	pthread_mutex_unlock(&c->lock);
	return held;
}

/* Returns the size of the log's file, used or not. */
static int64_t checkpoint_log_bytes(sqlite3 *db)
{
	sqlite3_file *file = NULL;
	sqlite3_int64 bytes = 0;
	int rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
	if (rc == SQLITE_OK && file && file->pMethods && file->pMethods->xFileSize(file, &bytes) == SQLITE_OK)
		return bytes;
	return 0;
}

bool cairn_checkpoint_shrink(struct cairn_checkpoint *c)
{
	pthread_mutex_lock(&c->lock);
	while (c->state == CAIRN_CHECKPOINT_COPYING)
		pthread_cond_wait(&c->changed, &c->lock);
	bool failed = c->state == CAIRN_CHECKPOINT_FAILED;
	pthread_mutex_unlock(&c->lock);
	if (failed)
		return true;
	/* A lookup is faster than that; commits must not wait for a longer read. */
	sqlite3_busy_timeout(c->writer_db, CHECKPOINT_READER_MS);
	int rc = sqlite3_wal_checkpoint_v2(c->writer_db, "main", SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(c->writer_db, CAIRN_SQL_BUSY_MS);
	pthread_mutex_lock(&c->lock);
	c->state = checkpoint_failed(rc) ? CAIRN_CHECKPOINT_FAILED : CAIRN_CHECKPOINT_IDLE;
	pthread_mutex_unlock(&c->lock);
	return rc != SQLITE_FULL ||
	       checkpoint_log_bytes(c->writer_db) < (int64_t)CAIRN_CHECKPOINT_PAGES_MIN * CAIRN_MIGRATE_PAGE_BYTES;
}

void cairn_checkpoint_close(struct cairn_checkpoint *c)
{
	if (!c->db)
		return;
	if (c->writer_db)
		(void)sqlite3_wal_hook(c->writer_db, NULL, NULL);
	pthread_mutex_lock(&c->lock);
	c->closing = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	if (c->started)
		pthread_join(c->thread, NULL);
	if (c->writer_db && c->state == CAIRN_CHECKPOINT_FAILED)
		(void)sqlite3_db_config(c->writer_db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	cairn_sql_closep(&c->db);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
}
