/* A VFS for the writer: it writes the log in large pieces, and lets sorts spill to files in the data folder. */
#ifndef CAIRN_INDEX_SQLITE_LOG_H
#define CAIRN_INDEX_SQLITE_LOG_H

/** For cairn_sql_open(). */
#define CAIRN_SQL_LOG_VFS "cairn-log"

/** Registers the VFS; cairn_sql_open() does so, once.
 *
 * SQLite writes a page of the log in two calls, 24 bytes and 4096, so that a commit of a hundred pages is two hundred
 * calls. A connection opened with this VFS gathers consecutive writes. They are written when the log is synced or read,
 * when a write goes elsewhere, or when there are 64 KiB.
 *
 * Only for a connection with synchronous=FULL, which syncs the log before others see a commit. A failure of the late
 * write or of the sync undoes the transaction, as in SQLite. A full disk or exceeded quota is SQLITE_FULL in both. */
void cairn_sql_log_register(void);

/** Makes sorts of this thread's connections with the VFS spill to unnamed files in the folder of the database at path.
 * NULL: to SQLite's choice, system folders that the daemon's sandbox closes. */
void cairn_sql_log_spill(const char *path);

#endif
