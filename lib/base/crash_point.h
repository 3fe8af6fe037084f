/* Points at which a test kills the process as kill -9 does, stops it as a paused machine is, or holds single threads
 * (tests/clients/failures/test_crash_points.py, tests/world/faults). Builds without -Dcrash_points=true have none. */
#ifndef CAIRN_BASE_CRASH_POINT_H
#define CAIRN_BASE_CRASH_POINT_H

#include <stddef.h>

/** In the order of a store's life: its folder is opened, filled, collected, repaired. crash_point.c has the names. */
enum cairn_crash_point {
	CAIRN_CRASH_FOLDER_LOCKED,   /* the lock file exists, nothing else yet */
	CAIRN_CRASH_SECRET_WRITTEN,  /* the secret is durable, but not under its name */
	CAIRN_CRASH_SECRET_NAMED,    /* the secret's name is not durable */
	CAIRN_CRASH_FOLDERS_MADE,    /* objects, tmp, damaged; not durable */
	CAIRN_CRASH_MIGRATE_BEGUN,   /* the transaction of a new schema version is open */
	CAIRN_CRASH_MIGRATE_RUN,     /* the version's script has run */
	CAIRN_CRASH_MIGRATE_STAMPED, /* the version's number is set */
	CAIRN_CRASH_MIGRATE_DONE,    /* committed; the next version may follow */

	CAIRN_CRASH_PUT_BEGUN,       /* the object's nameless file is open */
	CAIRN_CRASH_PUT_WRITTEN,     /* some of its bytes are written */
	CAIRN_CRASH_XORB_VERIFIED,   /* the whole body is verified; nothing is durable */
	CAIRN_CRASH_XORB_DISOWNED,   /* a row that vouched for lost bytes no longer does */
	CAIRN_CRASH_XORB_CLEARED,    /* an object that no row vouches for is removed */
	CAIRN_CRASH_PUT_FOLDER_MADE, /* objects/ab or ab/cd is made; not durable */
	CAIRN_CRASH_PUT_SYNCED,      /* the bytes are durable, without a name */
	CAIRN_CRASH_PUT_LINKED,      /* the object has its name; not durable */
	CAIRN_CRASH_PUT_DURABLE,     /* the name is durable, too */
	CAIRN_CRASH_XORB_STORED,     /* the xorb will be handed to the index */

	CAIRN_CRASH_SHARD_SPOOLED,  /* the body has arrived */
	CAIRN_CRASH_SHARD_VERIFIED, /* the shard will be handed to the index */

	CAIRN_CRASH_COMMIT_EDITED,   /* the files of a hub's commit are written; its transaction is open */
	CAIRN_CRASH_PULL_OPENED,     /* a pull request has its row, but no files; the transaction is open */
	CAIRN_CRASH_MERGE_COMMITTED, /* main has a merge, and its pull request is still open; the transaction is open */
	CAIRN_CRASH_INDEX_BEGUN,     /* a transaction of the index is open */
	CAIRN_CRASH_INDEX_APPLIED,   /* a write of the transaction is applied */
	CAIRN_CRASH_INDEX_AHEAD,     /* visible, perhaps on no standby; unanswered */
	CAIRN_CRASH_INDEX_COMMITTED, /* durable, but unanswered */
	CAIRN_CRASH_INDEX_ANSWERED,  /* a caller got an answer */

	CAIRN_CRASH_GC_MARKED,       /* xorbs are retired, durably */
	CAIRN_CRASH_GC_LISTED,       /* copies without a row were found; nothing is recorded yet */
	CAIRN_CRASH_GC_SWEPT,        /* rows are durably removed; objects all exist */
	CAIRN_CRASH_REMOVE_UNLINKED, /* an object's name is removed; not durable */
	CAIRN_CRASH_GC_REMOVED,      /* the object's name is removed, durably */
	CAIRN_CRASH_ASIDE_MOVED,     /* a damaged object is in its new place; not durable */
	CAIRN_CRASH_ASIDE_DURABLE,   /* the damaged object is in its new place, durably */

	CAIRN_CRASH_PACK_COPIED,  /* a xorb is in the pack; nothing is durable */
	CAIRN_CRASH_PACK_WRITTEN, /* the pack is durable, without a name */
	CAIRN_CRASH_PACK_LINKED,  /* the pack has its name; not durable */
	CAIRN_CRASH_PACK_DURABLE, /* the name is durable, too; all xorbs are in both places */
	CAIRN_CRASH_PACK_MOVED,   /* a xorb has left the object folder */
	CAIRN_CRASH_PACK_BURIED,  /* a packed object is deleted, but its bytes are not zeroed yet */
	CAIRN_CRASH_PACK_ZEROED,  /* its bytes are zeroed, too; not durable */

	CAIRN_CRASH_PRUNE_WRITTEN, /* the needed objects of old archives are in a durable archive without a name */
	CAIRN_CRASH_PRUNE_NAMED,   /* the new archive has its name; not durable */
	CAIRN_CRASH_PRUNE_REMOVED, /* an archive was removed; not durable */

	CAIRN_CRASH_MOVE_OBJECT, /* an object is in the target store, and no row there names it */
	CAIRN_CRASH_MOVE_ROWS,   /* some rows are in the target, durably */
	CAIRN_CRASH_MOVE_FROZEN, /* the source refuses writes, durably; the target is not complete */
	CAIRN_CRASH_MOVE_ENDED,  /* the target is complete, and not in use yet */

	CAIRN_CRASH_CHECK_ROW, /* fsck has read a xorb's row and list, but not its object */

	CAIRN_CRASH_NOTE_WRITTEN /* a note is durable, but not under its name */
};

/** Kills the process here by SIGKILL if the file that CAIRND_CRASH_FILE names has the name of this step. The file is
 * read at each call: "put-linked", or "put-linked:3" for the third time from then on that any thread reaches this
 * step. "put-linked:1:stop" stops it there, by SIGSTOP, until SIGCONT. "put-linked:0:stop" does so every time. "hold
 * put-linked gc-swept" holds each thread that reaches one of these steps while the test has an exclusive lock (flock)
 * on the file. "delay 10 50" lets every tenth call wait up to 50 ms. Any thread. */
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
