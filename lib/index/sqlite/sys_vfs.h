/* The system's files for SQLite, with the calls repeated that a signal interrupts (base/sys.h). SQLite repeats its own
 * reads and writes, but takes an interrupted fsync() for a disk that failed. */
#ifndef CAIRN_INDEX_SQLITE_SYS_VFS_H
#define CAIRN_INDEX_SQLITE_SYS_VFS_H

/** Makes the VFS the default; cairn_sql_open() does so, once. Without memory the system's own stays. */
void cairn_sql_sys_register(void);

#endif
