/* Loops and error mappings of file descriptors, for all users of files. */
#ifndef CAIRN_BASE_FD_H
#define CAIRN_BASE_FD_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Closes the descriptor unless negative, and sets it to -1. For CLEANUP(); a durable file's errors show in fsync. */
void cairn_fd_closep(int *fd);

/** Opens those of the descriptors 0, 1 and 2 that are closed. Otherwise the first file opened would get the number, and
 * receive printed or logged text. Reads of the new descriptors find nothing and writes fail (EBADF), so that writing
 * to a closed output is still an error. Call it before any thread is started.
 * @return false, with errno: there is no /dev/null */
CAIRN_MUST_USE bool cairn_fd_keep_standard(void);

/** Maps an errno. @return CAIRN_E_FULL the disk or a quota is full; CAIRN_E_NOMEM; CAIRN_E_IO any other errno */
enum cairn_status cairn_fd_status(int error);

/** Maps an errno of creating a file or folder that a person asked for. @return CAIRN_E_CONFLICT if the place is
 * unsuitable (missing, not writable, of another type, too long a name); otherwise as cairn_fd_status() */
enum cairn_status cairn_fd_make_status(int error);

/** Writes all len bytes at the file's position. @return CAIRN_OK; CAIRN_E_FULL; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_fd_write_all(int fd, const void *bytes, size_t len);

/** Reads up to len bytes, fewer only at the end of the file. @return CAIRN_OK; CAIRN_E_IO with errno set */
CAIRN_MUST_USE enum cairn_status cairn_fd_read_upto(int fd, void *out, size_t len, size_t *n_read);

/** Reads exactly len bytes at offset. @return CAIRN_OK; CAIRN_E_IO also if the file is shorter */
CAIRN_MUST_USE enum cairn_status cairn_fd_read_at(int fd, uint64_t offset, void *out, size_t len);

/** Writes exactly len bytes at offset. @return CAIRN_OK; CAIRN_E_FULL; CAIRN_E_IO; both with errno set */
CAIRN_MUST_USE enum cairn_status cairn_fd_write_at(int fd, uint64_t offset, const void *bytes, size_t len);

/** Makes a name durable by syncing its folder. @return CAIRN_OK; CAIRN_E_IO with errno; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fd_sync_parent(const char *path);

/** Renames a file to a new name, as renameat2() does with RENAME_NOREPLACE. On file systems without it (NFS, FUSE and
 * others), the file has both names for a moment.
 * @return CAIRN_OK; as cairn_fd_status() otherwise, with errno: EEXIST the name is taken */
CAIRN_MUST_USE enum cairn_status cairn_fd_rename_new(int from_dir, const char *from, int to_dir, const char *to);

/** Creates a folder (mode 0700) with a durable name. Accepts an existing folder: another process may have created it
 * and died, so its name is synced, too, if the parent folder may be opened.
 * @param[out] made  it did not exist before
 * @return CAIRN_OK; CAIRN_E_IO with errno; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fd_make_folder(const char *path, bool *made);

#endif
