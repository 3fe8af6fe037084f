/* Points at which a test kills the process as kill -9 would, stops it as a paused machine, or holds single threads
 * (tests/clients/failures/test_crash_points.py, tests/world/faults). Builds without -Dcrash_points=true contain none.
 */
#ifndef CAIRN_BASE_CRASH_POINT_H
#define CAIRN_BASE_CRASH_POINT_H

#include <stddef.h>

/** In the order of a store's life: a folder is opened, filled, collected, repaired. crash_point.c has the names. */
enum cairn_crash_point {
	CAIRN_CRASH_FOLDER_LOCKED,   /* the lock file is there, nothing else yet */
	CAIRN_CRASH_SECRET_WRITTEN,  /* durable, but not under its name */
	CAIRN_CRASH_SECRET_NAMED,    /* its name is not durable */
	CAIRN_CRASH_FOLDERS_MADE,    /* objects, tmp, damaged; not durable */
	CAIRN_CRASH_MIGRATE_BEGUN,   /* the transaction of a new schema version is open */
	CAIRN_CRASH_MIGRATE_RUN,     /* the version's script has run */
	CAIRN_CRASH_MIGRATE_STAMPED, /* the version's number is set */
	CAIRN_CRASH_MIGRATE_DONE,    /* committed; the next may follow */

	CAIRN_CRASH_PUT_BEGUN,       /* the object's nameless file is open */
	CAIRN_CRASH_PUT_WRITTEN,     /* some of its bytes are written */
	CAIRN_CRASH_XORB_VERIFIED,   /* the whole body is verified; nothing is durable */
	CAIRN_CRASH_XORB_DISOWNED,   /* a row that vouched for lost bytes no longer does */
	CAIRN_CRASH_XORB_CLEARED,    /* an object that no row vouches for is removed */
	CAIRN_CRASH_PUT_FOLDER_MADE, /* objects/ab or ab/cd is made; not durable */
	CAIRN_CRASH_PUT_SYNCED,      /* the bytes are durable, without a name */
	CAIRN_CRASH_PUT_LINKED,      /* the object has its name; not durable */
	CAIRN_CRASH_PUT_DURABLE,     /* also the name is */
	CAIRN_CRASH_XORB_STORED,     /* about to be handed to the index */

	CAIRN_CRASH_SHARD_SPOOLED,  /* the body has arrived */
	CAIRN_CRASH_SHARD_VERIFIED, /* about to be handed to the index */

	CAIRN_CRASH_COMMIT_EDITED,   /* the files of a hub's commit are written; its transaction is open */
	CAIRN_CRASH_PULL_OPENED,     /* a pull request has its row, but no files; the transaction is open */
	CAIRN_CRASH_MERGE_COMMITTED, /* main has a merge, and its pull request is still open; the transaction is open */
	CAIRN_CRASH_INDEX_BEGUN,     /* the transaction is open */
	CAIRN_CRASH_INDEX_APPLIED,   /* a write of the transaction is applied */
	CAIRN_CRASH_INDEX_AHEAD,     /* visible, perhaps on no standby; unanswered */
	CAIRN_CRASH_INDEX_COMMITTED, /* durable; unanswered */
	CAIRN_CRASH_INDEX_ANSWERED,  /* a caller got its answer */

	CAIRN_CRASH_GC_MARKED,       /* retired, durably */
	CAIRN_CRASH_GC_LISTED,       /* copies without a row were found; nothing is recorded yet */
	CAIRN_CRASH_GC_SWEPT,        /* rows are durably removed; objects all exist */
	CAIRN_CRASH_REMOVE_UNLINKED, /* an object's name is removed; not durable */
	CAIRN_CRASH_GC_REMOVED,      /* also durably */
	CAIRN_CRASH_ASIDE_MOVED,     /* a damaged object is in its new place; not durable */
	CAIRN_CRASH_ASIDE_DURABLE,   /* also durably */

	CAIRN_CRASH_PACK_COPIED,  /* a xorb is copied; nothing is durable */
	CAIRN_CRASH_PACK_WRITTEN, /* the pack is durable, without a name */
	CAIRN_CRASH_PACK_LINKED,  /* it has its name; not durable */
	CAIRN_CRASH_PACK_DURABLE, /* also the name is; all xorbs are in both places */
	CAIRN_CRASH_PACK_MOVED,   /* a xorb has left the object folder */
	CAIRN_CRASH_PACK_BURIED,  /* a packed object is gone, and its bytes are still there */
	CAIRN_CRASH_PACK_ZEROED,  /* also they are gone; not durably */

	CAIRN_CRASH_PRUNE_WRITTEN, /* what is needed of old archives of a folder of backups is in a durable one, without
				      a name */
	CAIRN_CRASH_PRUNE_NAMED,   /* it has its name; not durable */
	CAIRN_CRASH_PRUNE_REMOVED, /* an archive is gone; not durably */

	CAIRN_CRASH_MOVE_OBJECT, /* an object is in the store that another is moved to; no row there names it */
	CAIRN_CRASH_MOVE_ROWS,   /* some rows are there, durably */
	CAIRN_CRASH_MOVE_FROZEN, /* the store that is moved takes nothing new, durably; the other is not whole */
	CAIRN_CRASH_MOVE_ENDED,  /* all is there, and nobody may use it yet */

	CAIRN_CRASH_CHECK_ROW, /* fsck has read a xorb's row and list, and not looked at its object */

	CAIRN_CRASH_NOTE_WRITTEN /* a note is durable, but not under its name */
};

/** Die here by SIGKILL when the file named by the environment's CAIRND_CRASH_FILE says so, which is read at each call:
 * "put-linked", or "put-linked:3" for the third time from then on that any thread comes by. "put-linked:1:stop" stops
 * it there, by SIGSTOP, until SIGCONT. "hold put-linked gc-swept" holds each thread that comes by one of these, while
 * the test has an exclusive lock (flock) on the file. "delay 10 50" lets every
 * tenth call wait up to 50 ms. Any thread.
 */
#ifdef CAIRN_CRASH_POINTS
void cairn_crash_point(enum cairn_crash_point point);
/** Returns the path of that file, which a sandbox must leave readable; NULL: none. */
const char *cairn_crash_point_file(void);
#else
static inline void cairn_crash_point(enum cairn_crash_point point)
{
	(void)point;
}
static inline const char *cairn_crash_point_file(void)
{
	return NULL;
}
#endif

#endif
