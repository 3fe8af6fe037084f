/* Checkpoints of the write-ahead log: its pages are copied into the database, on a thread of its own beside the
 * commits. */
#ifndef CAIRN_INDEX_SQLITE_CHECKPOINT_H
#define CAIRN_INDEX_SQLITE_CHECKPOINT_H

#include "index/sqlite/util.h"

#include <pthread.h>

enum {
	CAIRN_CHECKPOINT_PAGES = 32000,   /* 125 MiB of log: pages that many uploads change are written once */
	CAIRN_CHECKPOINT_PAGES_MIN = 256, /* on a disk that is nearly full */
	CAIRN_CHECKPOINT_SHARE = 16,      /* of the free space: so much log at most, between the two */
	/* When commits write faster than the thread copies, they wait for it from so many times that on. */
	CAIRN_CHECKPOINT_LATE = 4,
};

/**
 * SQLite begins the log anew only once all of it is in the database, which is never so while commits go on beside the
 * copying. So it goes in rounds: the thread copies and syncs until little is left, and then the writer, between two
 * commits, copies that little itself.
 * When the disk fails at it, that was the last round: pages that the kernel takes for written may be lost, so the log
 * must neither be begun anew nor copied when it is closed. Whoever opens the database next copies all of it again.
 */
struct cairn_checkpoint {
	sqlite3 *writer_db; /* borrowed */
	sqlite3 *db;        /* the thread's, once it runs */
	pthread_t thread;
	bool started;
	const char *path;    /* on the file system that is looked at; borrowed */
	uint64_t keep_bytes; /* of its free space, not to be counted on */
	int round_pages;     /* a round is due after so many; the writer's, as is: */
	int from_pages;      /* the log's length when the last round ended */

	pthread_mutex_t lock; /* over all below */
	pthread_cond_t changed;
	int log_pages; /* the log's length at the writer's last commit */
	enum cairn_checkpoint_state {
		CAIRN_CHECKPOINT_IDLE,
		CAIRN_CHECKPOINT_COPYING, /* the thread is at it */
		CAIRN_CHECKPOINT_REST,    /* what is left is the writer's */
		CAIRN_CHECKPOINT_FAILED,  /* until it is closed */
	} state;
	bool closing;
};

/**
 * Make checkpoints of a database's log from now on, after commits of writer_db. c is zeroed before and needs
 * cairn_checkpoint_close() in any case.
 * @param keep_bytes  of the free space of the path's file system, which the log is to leave
 * @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_checkpoint_open(struct cairn_checkpoint *c, const char *path,
						       uint64_t keep_bytes, sqlite3 *writer_db,
						       struct cairn_diag *diag);

/** Did the disk fail during a checkpoint? Then the log grows until the database is opened anew. Any thread. */
bool cairn_checkpoint_failed(struct cairn_checkpoint *c);

/** The disk is full: copy all of the log now, and give its space back, as far as readers let it. On the thread that
 * commits, between two transactions. @return false: the log is large, and there is no room to copy it */
CAIRN_MUST_USE bool cairn_checkpoint_shrink(struct cairn_checkpoint *c);

/** End the thread; before writer_db is closed, and from the thread that commits, or when that has ended. */
void cairn_checkpoint_close(struct cairn_checkpoint *c);

#endif
