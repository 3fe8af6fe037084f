#include "index/sqlite/log.h"

#include "base/sys.h"
#include "index/sqlite/util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOG_BYTES = 64 * 1024 }; /* the system's VFS writes less than 128 KiB at once */

/* A file of the VFS. SQLite reserves szOsFile bytes for it; the file of the system's VFS follows it. */
struct log_file {
	sqlite3_file base;
	uint8_t *bytes;       /* room for LOG_BYTES; NULL until the first write */
	size_t len;           /* bytes gathered but not written */
	sqlite3_int64 offset; /* their offset in the file */
};

static sqlite3_vfs log_vfs; /* the system's VFS, with the changes of cairn_sql_log_register() */
static sqlite3_vfs *log_system;
static _Thread_local char log_spill[CAIRN_SQL_PATH_BYTES + 16]; /* empty: the system's choice */

static struct log_file *log_of(sqlite3_file *file)
{
	return (struct log_file *)file;
}

static sqlite3_file *log_real(sqlite3_file *file)
{
	return (sqlite3_file *)(log_of(file) + 1);
}

/* Maps failures. SQLite recognizes a full disk only by ENOSPC of a write, and hides the errno of a failed commit. */
static int log_failure(sqlite3_file *real, int rc)
{
	int error = 0;
	if ((rc & 0xff) == SQLITE_IOERR)
		(void)real->pMethods->xFileControl(real, SQLITE_FCNTL_LAST_ERRNO, &error);
	return error == ENOSPC || error == EDQUOT ? SQLITE_FULL : rc;
}

static int log_put(sqlite3_file *real, const void *bytes, int n, sqlite3_int64 offset)
{
	return log_failure(real, real->pMethods->xWrite(real, bytes, n, offset));
}

/* Writes the gathered bytes. On failure discards them: SQLite undoes the transaction and writes the same places
 * again. */
static int log_flush(sqlite3_file *file)
{
	struct log_file *f = log_of(file);
	int n = (int)f->len;
	f->len = 0;
	return n > 0 ? log_put(log_real(file), f->bytes, n, f->offset) : SQLITE_OK;
}

static int log_close(sqlite3_file *file)
{
	int flushed = log_flush(file);
	int closed = log_real(file)->pMethods->xClose(log_real(file));
	free(log_of(file)->bytes);
	return flushed != SQLITE_OK ? flushed : closed;
}

static int log_read(sqlite3_file *file, void *out, int n, sqlite3_int64 offset)
{
	int rc = log_flush(file);
	return rc != SQLITE_OK ? rc : log_real(file)->pMethods->xRead(log_real(file), out, n, offset);
}

static int log_write(sqlite3_file *file, const void *bytes, int n, sqlite3_int64 offset)
{
	struct log_file *f = log_of(file);
	bool follows = offset == f->offset + (sqlite3_int64)f->len;
	if (!f->bytes)
		f->bytes = malloc(LOG_BYTES);
	if (!follows || f->len + (size_t)n > LOG_BYTES) {
		int rc = log_flush(file);
		if (rc != SQLITE_OK)
			return rc;
	}
	if (!f->bytes || n > LOG_BYTES)
		return log_put(log_real(file), bytes, n, offset);
	if (f->len == 0)
		f->offset = offset;
	memcpy(f->bytes + f->len, bytes, (size_t)n);
	f->len += (size_t)n;
	return SQLITE_OK;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	int rc = log_flush(file);
	return rc != SQLITE_OK ? rc : log_real(file)->pMethods->xTruncate(log_real(file), size);
}

static int log_sync(sqlite3_file *file, int flags)
{
	int rc = log_flush(file);
	return rc != SQLITE_OK ? rc
			       : log_failure(log_real(file), log_real(file)->pMethods->xSync(log_real(file), flags));
}

static int log_size(sqlite3_file *file, sqlite3_int64 *size)
{
	int rc = log_flush(file);
	return rc != SQLITE_OK ? rc : log_real(file)->pMethods->xFileSize(log_real(file), size);
}

static int log_lock(sqlite3_file *file, int level)
{
	return log_real(file)->pMethods->xLock(log_real(file), level);
}

static int log_unlock(sqlite3_file *file, int level)
{
	return log_real(file)->pMethods->xUnlock(log_real(file), level);
}

static int log_is_reserved(sqlite3_file *file, int *reserved)
{
	return log_real(file)->pMethods->xCheckReservedLock(log_real(file), reserved);
}

static int log_control(sqlite3_file *file, int op, void *arg)
{
	return log_real(file)->pMethods->xFileControl(log_real(file), op, arg);
}

static int log_sector_bytes(sqlite3_file *file)
{
	return log_real(file)->pMethods->xSectorSize(log_real(file));
}

static int log_device(sqlite3_file *file)
{
	return log_real(file)->pMethods->xDeviceCharacteristics(log_real(file));
}

static const sqlite3_io_methods LOG_METHODS = {
	.iVersion = 1,
	.xClose = log_close,
	.xRead = log_read,
	.xWrite = log_write,
	.xTruncate = log_truncate,
	.xSync = log_sync,
	.xFileSize = log_size,
	.xLock = log_lock,
	.xUnlock = log_unlock,
	.xCheckReservedLock = log_is_reserved,
	.xFileControl = log_control,
	.xSectorSize = log_sector_bytes,
	.xDeviceCharacteristics = log_device,
};

/* Returns the name of a spill file. SQLite unlinks such a file when it is open, so all can share one name. */
static const char *log_spill_name(void)
{
	if (log_spill[0] == '\0')
		return NULL;
	(void)cairn_sys_unlink(log_spill); /* left by a process that was killed in between */
	return log_spill;
}

/* Opens a file. Files other than the log are the system's own. */
static int log_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *flags_out)
{
	(void)vfs;
	if (!path)
		path = log_spill_name();
	if (!(flags & SQLITE_OPEN_WAL))
		return log_system->xOpen(log_system, path, file, flags, flags_out);
	*log_of(file) = (struct log_file){0};
	int rc = log_system->xOpen(log_system, path, log_real(file), flags, flags_out);
	if (rc == SQLITE_OK)
		file->pMethods = &LOG_METHODS;
	return rc;
}

void cairn_sql_log_spill(const char *path)
{
	log_spill[0] = '\0';
	if (path)
		(void)snprintf(log_spill, sizeof(log_spill), "%s-spill", path);
}

/* If this fails, opening with the VFS fails. */
void cairn_sql_log_register(void)
{
	log_system = sqlite3_vfs_find(NULL);
	if (!log_system)
		return;
	log_vfs = *log_system;
	log_vfs.pNext = NULL;
	log_vfs.zName = CAIRN_SQL_LOG_VFS;
	log_vfs.szOsFile = (int)sizeof(struct log_file) + log_system->szOsFile;
	log_vfs.xOpen = log_open;
	(void)sqlite3_vfs_register(&log_vfs, 0);
}
