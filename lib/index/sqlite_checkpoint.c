#include "index/sqlite_checkpoint.h"

#include "index/sqlite_migrate.h"

#include <stdio.h>

enum {
	CHECKPOINT_REST_PAGES = 1000, /* so much the writer may find when it is its turn */
	CHECKPOINT_PASSES_MAX = 6,    /* of a round: against commits that never let it come down to that */
};

/* Sync the database, so that whoever folds in the last of the log finds little to wait for: SQLite itself syncs only
 * then. */
static int checkpoint_sync(sqlite3 *db)
{
	sqlite3_file *file = NULL;
	int rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
	if (rc != SQLITE_OK || !file || !file->pMethods)
		return rc;
	return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
}

/* The kernel tells a failed write once, and then takes the page for written: a later sync that succeeds says nothing
 * about it. Busy, or no room for more, is nothing of the kind. */
static bool checkpoint_failed(int rc)
{
	return (rc & 0xff) == SQLITE_IOERR;
}

/* One round of the thread. What a reader still needs is left for the next. */
static int checkpoint_fold(sqlite3 *db)
{
	int pages = 0, folded = 0, before = 0;
	for (int pass = 0; pass < CHECKPOINT_PASSES_MAX; pass++) {
		int rc = sqlite3_wal_checkpoint_v2(db, "main", SQLITE_CHECKPOINT_PASSIVE, &pages, &folded);
		if (rc == SQLITE_OK)
			rc = checkpoint_sync(db);
		if (rc != SQLITE_OK || folded - before <= CHECKPOINT_REST_PAGES)
			return rc;
		before = folded;
	}
	return SQLITE_OK;
}

static void *checkpoint_loop(void *arg)
{
	struct cairn_checkpoint *c = arg;
	pthread_mutex_lock(&c->lock);
	for (;;) {
		while (c->state != CAIRN_CHECKPOINT_FOLDING && !c->closing)
			pthread_cond_wait(&c->changed, &c->lock);
		if (c->closing)
			break;
		pthread_mutex_unlock(&c->lock);
		int rc = checkpoint_fold(c->db);
		pthread_mutex_lock(&c->lock);
		c->state = checkpoint_failed(rc) ? CAIRN_CHECKPOINT_FAILED : CAIRN_CHECKPOINT_REST;
		pthread_cond_broadcast(&c->changed);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* After each commit of the writer, on its thread. */
static int checkpoint_committed(void *ctx, sqlite3 *db, const char *name, int pages)
{
	struct cairn_checkpoint *c = ctx;
	if (pages < c->from_pages)
		c->from_pages = 0; /* the log was begun anew */
	int more = pages - c->from_pages;
	pthread_mutex_lock(&c->lock);
	while (c->state == CAIRN_CHECKPOINT_FOLDING && more >= CAIRN_CHECKPOINT_PAGES_MAX)
		pthread_cond_wait(&c->changed, &c->lock);
	if (c->state == CAIRN_CHECKPOINT_IDLE && more >= CAIRN_CHECKPOINT_PAGES) {
		c->state = CAIRN_CHECKPOINT_FOLDING;
		pthread_cond_broadcast(&c->changed);
	}
	bool rest = c->state == CAIRN_CHECKPOINT_REST;
	pthread_mutex_unlock(&c->lock);
	if (!rest)
		return SQLITE_OK;
	/* Whatever comes of it: the commit is durable, and the log is still there. */
	int rc = sqlite3_wal_checkpoint_v2(db, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	c->from_pages = pages;
	pthread_mutex_lock(&c->lock);
	c->state = checkpoint_failed(rc) ? CAIRN_CHECKPOINT_FAILED : CAIRN_CHECKPOINT_IDLE;
	pthread_mutex_unlock(&c->lock);
	return SQLITE_OK;
}

/* A connection that has read nothing does not know yet that there is a log. And the writer cuts the log's file to a
 * round's length when it has become longer. */
static enum cairn_status checkpoint_set_up(sqlite3 *db, sqlite3 *writer_db)
{
	int64_t value;
	char limit[64];
	(void)snprintf(limit, sizeof(limit), "PRAGMA journal_size_limit = %d",
		       CAIRN_CHECKPOINT_PAGES * CAIRN_MIGRATE_PAGE_BYTES);
	enum cairn_status status = cairn_sql_ask(writer_db, limit, &value);
	if (status == CAIRN_OK)
		status = cairn_sql_exec(db, "PRAGMA synchronous = FULL");
	return status == CAIRN_OK ? cairn_sql_ask(db, "PRAGMA schema_version", &value) : status;
}

enum cairn_status cairn_checkpoint_open(struct cairn_checkpoint *c, const char *path, sqlite3 *writer_db,
					struct cairn_diag *diag)
{
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	enum cairn_status status = cairn_sql_open(&c->db, path, SQLITE_OPEN_READWRITE, NULL, diag);
	if (status != CAIRN_OK)
		return status;
	status = checkpoint_set_up(c->db, writer_db);
	if (status != CAIRN_OK)
		return cairn_sql_fail(c->db, diag, "cannot read the index");
	if (pthread_create(&c->thread, NULL, checkpoint_loop, c) != 0)
		return cairn_fail(
			diag, CAIRN_E_NOMEM, "index.thread", CAIRN_NO_OFFSET,
			"the thread that folds the index's log cannot be started; raise the limit on threads");
	c->started = true;
	c->writer_db = writer_db;
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
