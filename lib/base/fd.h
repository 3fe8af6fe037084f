/* File descriptors: the loops and error mappings that every user of files needs. */
#ifndef CAIRN_BASE_FD_H
#define CAIRN_BASE_FD_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Close unless negative, and set to -1. For CLEANUP(); errors of a file that must be durable show in fsync before. */
void cairn_fd_closep(int *fd);

/**
 * Take up whichever of the descriptors 0, 1 and 2 this process was started without, before the first file is opened:
 * else that file gets the number, and what is printed or logged goes into it. What is taken up gives nothing to read
 * and takes no writes (EBADF), so that writing to a closed output is an error as usual. One thread.
 * @return false, with errno: there is no /dev/null
 */
CAIRN_MUST_USE bool cairn_fd_keep_standard(void);

/** What an errno means. @return CAIRN_E_FULL for a full disk or quota; CAIRN_E_NOMEM; CAIRN_E_IO for all others */
enum cairn_status cairn_fd_status(int error);

/** What it means for a file or folder that somebody asked to be made there. @return CAIRN_E_CONFLICT when the place is
 *  not fit for it (not there, not writable, something else, too long a name); as cairn_fd_status() otherwise */
enum cairn_status cairn_fd_make_status(int error);

/** Write all of it at the file's position. @return CAIRN_OK; CAIRN_E_FULL; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_fd_write_all(int fd, const void *bytes, size_t len);

/** Read up to len bytes, fewer only at the end of the file. @return CAIRN_OK; CAIRN_E_IO with errno set */
CAIRN_MUST_USE enum cairn_status cairn_fd_read_upto(int fd, void *out, size_t len, size_t *n_read);

/** Read exactly len bytes at offset. @return CAIRN_OK; CAIRN_E_IO also when the file is shorter */
CAIRN_MUST_USE enum cairn_status cairn_fd_read_at(int fd, uint64_t offset, void *out, size_t len);

/** Write exactly len bytes at offset. @return CAIRN_OK; CAIRN_E_FULL; CAIRN_E_IO; both with errno set */
CAIRN_MUST_USE enum cairn_status cairn_fd_write_at(int fd, uint64_t offset, const void *bytes, size_t len);

/** Make a name durable: sync the folder that it is in. @return CAIRN_OK; CAIRN_E_IO with errno; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_fd_sync_parent(const char *path);

/**
 * Rename a file to a name that nobody has yet, as renameat2() does with RENAME_NOREPLACE; also on file systems that do
 * not know that (NFS, FUSE and others), where for a moment the file has both names.
 * @return CAIRN_OK; as cairn_fd_status() otherwise, with errno: EEXIST there is such a file
 */
CAIRN_MUST_USE enum cairn_status cairn_fd_rename_new(int from_dir, const char *from, int to_dir, const char *to);

/**
 * Make a folder (mode 0700) whose name is durable. One that is there is taken: another process may have made it and
 * died, so its name is synced as well, unless the folder that it is in is not ours to open.
 * @param[out] made  it was not there before
 * @return CAIRN_OK; CAIRN_E_IO with errno; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_fd_make_folder(const char *path, bool *made);

#endif
