/* A VFS over the system's files that repeats calls interrupted by a signal (base/sys.h). SQLite repeats its own reads
 * and writes, but treats an interrupted fsync() as a failed disk. */
#ifndef CAIRN_INDEX_SQLITE_SYS_VFS_H
#define CAIRN_INDEX_SQLITE_SYS_VFS_H

/** Makes the VFS the default; cairn_sql_open() does so, once. Without memory, the system's VFS stays. */
void cairn_sql_sys_register(void);

#endif
