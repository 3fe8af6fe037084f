/* Checkpoints of the write-ahead log: a thread copies its pages into the database while commits continue. */
#ifndef CAIRN_INDEX_SQLITE_CHECKPOINT_H
#define CAIRN_INDEX_SQLITE_CHECKPOINT_H

#include "index/sqlite/util.h"

#include <pthread.h>

enum {
	CAIRN_CHECKPOINT_PAGES = 32000,   /* 125 MiB of log, so that pages changed by many uploads are written once */
	CAIRN_CHECKPOINT_PAGES_MIN = 256, /* on a disk that is nearly full */
	CAIRN_CHECKPOINT_SHARE = 16,      /* the log's limit between the two, as a share of the free space */
	/* At this many times that length, commits wait for the thread, which copies more slowly than they write. */
	CAIRN_CHECKPOINT_LATE = 4,
};

/** SQLite restarts the log only when all of it is in the database, never while commits go on. So checkpoints run in
 * rounds: the thread copies and syncs until little is left, then the writer copies the rest between two commits. If the
 * disk fails, no further round is made: the kernel may have dropped pages and call them written, so the log must
 * neither be restarted nor copied at closing. The next process to open the database copies all of it again. */
struct cairn_checkpoint {
	sqlite3 *writer_db; /* borrowed */
	sqlite3 *db;        /* used only by the thread, once it runs */
	pthread_t thread;
	bool started;
	const char *path;    /* a path on the file system whose free space counts; borrowed */
	uint64_t keep_bytes; /* free space reserved for other uses */
	int round_pages;     /* pages after which a round is due; used only by the writer, as are: */
	int from_pages;      /* the log's length when the last round ended */
	int64_t round_ms;    /* when the last round began, on the monotonic clock */

	pthread_mutex_t lock; /* guards the members below */
	pthread_cond_t changed;
	int log_pages; /* the log's length at the writer's last commit */
	enum cairn_checkpoint_state {
		CAIRN_CHECKPOINT_IDLE,
		CAIRN_CHECKPOINT_COPYING, /* the thread is copying */
		CAIRN_CHECKPOINT_REST,    /* the writer must copy the rest */
		CAIRN_CHECKPOINT_FAILED,  /* no round until the database is closed */
	} state;
	bool closing;
	/* The last rounds in a row that left pages to a reader: their number, and when the first and the last ended. */
	unsigned n_held;
	int64_t held_since_ms, held_until_ms;
};

/** Starts checkpoints of a database's log, after commits of writer_db. c is zeroed before and needs
 * cairn_checkpoint_close() in any case.
 * @param keep_bytes  free space of the path's file system that the log must leave
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_checkpoint_open(struct cairn_checkpoint *c, const char *path,
						       uint64_t keep_bytes, sqlite3 *writer_db,
						       struct cairn_diag *diag);

/** Did the disk fail during a checkpoint? Then the log grows until the database is opened again. Any thread. */
bool cairn_checkpoint_failed(struct cairn_checkpoint *c);

/** Does a reader keep the log from being restarted? Then the log grows. A lookup may make one round leave pages, so two
 * rounds in a row count. Any thread.
 * @param[out] since_ms, until_ms  ends of the first and the last such round, on the monotonic clock */
bool cairn_checkpoint_is_held(struct cairn_checkpoint *c, int64_t *since_ms, int64_t *until_ms);

/** Copies all of the log now, because the disk is full, and frees its space as far as readers allow. Call it on the
 * thread that commits, between two transactions. @return false: the log is large, and there is no room to copy it */
CAIRN_MUST_USE bool cairn_checkpoint_shrink(struct cairn_checkpoint *c);

/** Ends the thread. Call it before writer_db is closed, from the thread that commits or after that has ended. */
void cairn_checkpoint_close(struct cairn_checkpoint *c);

#endif
