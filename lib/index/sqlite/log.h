/* The writer's view of files: as the system's, except that the write-ahead log is written in large pieces, and that
 * what is sorted spills to files in the data folder. */
#ifndef CAIRN_INDEX_SQLITE_LOG_H
#define CAIRN_INDEX_SQLITE_LOG_H

/** For cairn_sql_open(). */
#define CAIRN_SQL_LOG_VFS "cairn-log"

/**
 * Make the VFS known; cairn_sql_open() does so, once.
 *
 * SQLite writes a page of the log in two calls, 24 bytes and 4096, so that a commit of a hundred pages is two hundred
 * calls. A connection opened with this VFS gathers them: what is written one after the other goes out when the log is
 * synced or read, when something is written elsewhere, or when 64 KiB have come together.
 *
 * Only for a connection with synchronous=FULL: there the log is synced before a commit is shown to others. Its failures
 * are what the late write or the sync failed with, and undo the transaction, as SQLite's own would; a disk or a quota
 * that is used up is SQLITE_FULL in either.
 */
void cairn_sql_log_register(void);

/**
 * Where this thread's connections with the VFS put what does not fit into their memory while they sort: beside the
 * database at path, in files without a name. NULL: where SQLite wants them, in folders of the system that the daemon's
 * sandbox closes.
 */
void cairn_sql_log_spill(const char *path);

#endif
