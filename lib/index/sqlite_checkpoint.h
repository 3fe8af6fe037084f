/* Folding the write-ahead log into the database, on a thread of its own beside the commits. */
#ifndef CAIRN_INDEX_SQLITE_CHECKPOINT_H
#define CAIRN_INDEX_SQLITE_CHECKPOINT_H

#include "index/sqlite_util.h"

#include <pthread.h>

enum {
	CAIRN_CHECKPOINT_PAGES = 32000, /* 125 MiB of log: pages that many uploads change are written once */
	/* When commits write faster than the thread folds, they wait for it from here on. */
	CAIRN_CHECKPOINT_PAGES_MAX = 4 * CAIRN_CHECKPOINT_PAGES,
};

/**
 * SQLite begins the log anew only once all of it is in the database, which is never so while commits go on beside the
 * folding. So it goes in rounds: the thread folds and syncs until little is left, and then the writer, between two
 * commits, folds that little in itself.
 * When the disk fails at it, that was the last round: pages that the kernel takes for written may be lost, so the log
 * must neither be begun anew nor folded in when it is closed. Whoever opens the database next folds all of it in again.
 */
struct cairn_checkpoint {
	sqlite3 *writer_db; /* borrowed */
	sqlite3 *db;        /* the thread's, once it runs */
	pthread_t thread;
	bool started;
	int from_pages; /* the log's length when the last round ended; the writer's */

	pthread_mutex_t lock; /* over all below */
	pthread_cond_t changed;
	enum cairn_checkpoint_state {
		CAIRN_CHECKPOINT_IDLE,
		CAIRN_CHECKPOINT_FOLDING, /* the thread is at it */
		CAIRN_CHECKPOINT_REST,    /* what is left is the writer's */
		CAIRN_CHECKPOINT_FAILED,  /* until it is closed */
	} state;
	bool closing;
};

/**
 * Fold the log of a database from now on, after commits of writer_db. c is zeroed before and needs
 * cairn_checkpoint_close() in any case.
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_checkpoint_open(struct cairn_checkpoint *c, const char *path, sqlite3 *writer_db,
						       struct cairn_diag *diag);

/** Did the disk fail while the log was folded in? Then it grows until the database is opened anew. Any thread. */
bool cairn_checkpoint_failed(struct cairn_checkpoint *c);

/** End the thread; before writer_db is closed, and from the thread that commits, or when that has ended. */
void cairn_checkpoint_close(struct cairn_checkpoint *c);

#endif
