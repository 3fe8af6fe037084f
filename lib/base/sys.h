/* System calls, repeated if a signal interrupts them (EINTR). Calls on files may be interrupted, too, for instance on
 * FUSE, whatever signals are masked. A lint keeps other code from using the system calls directly.
 *
 * Otherwise each function is the system call of its name: -1 with errno on failure. close() is missing, because it must
 * not be repeated: it closes the descriptor even if interrupted. */
#ifndef CAIRN_BASE_SYS_H
#define CAIRN_BASE_SYS_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

/* --- names -------------------------------------------------------------------------------------------------------- */

/** @param mode  mode of a new file; 0 if none is created */
int cairn_sys_open(const char *path, int flags, mode_t mode);
int cairn_sys_openat(int dir_fd, const char *path, int flags, mode_t mode);
int cairn_sys_mkostemp(char *path, int flags);
int cairn_sys_mkdir(const char *path, mode_t mode);
int cairn_sys_mkdirat(int dir_fd, const char *path, mode_t mode);
int cairn_sys_rmdir(const char *path);
int cairn_sys_unlink(const char *path);
int cairn_sys_unlinkat(int dir_fd, const char *path, int flags);
int cairn_sys_rename(const char *from, const char *to);
int cairn_sys_renameat(int from_fd, const char *from, int to_fd, const char *to);
int cairn_sys_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);
int cairn_sys_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags);
ssize_t cairn_sys_readlinkat(int dir_fd, const char *path, char *out, size_t size);
int cairn_sys_access(const char *path, int mode);
int cairn_sys_faccessat(int dir_fd, const char *path, int mode, int flags);
int cairn_sys_chmod(const char *path, mode_t mode);
int cairn_sys_stat(const char *path, struct stat *out);
int cairn_sys_lstat(const char *path, struct stat *out);
int cairn_sys_fstatat(int dir_fd, const char *path, struct stat *out, int flags);
int cairn_sys_statvfs(const char *path, struct statvfs *out);

/* --- files -------------------------------------------------------------------------------------------------------- */

ssize_t cairn_sys_read(int fd, void *out, size_t len);
ssize_t cairn_sys_pread(int fd, void *out, size_t len, off_t offset);
ssize_t cairn_sys_write(int fd, const void *bytes, size_t len); /* may be called in a signal handler */
ssize_t cairn_sys_pwrite(int fd, const void *bytes, size_t len, off_t offset);
ssize_t cairn_sys_copy_file_range(int from, off_t *from_at, int to, off_t *to_at, size_t len, unsigned flags);
int cairn_sys_fsync(int fd);
int cairn_sys_fdatasync(int fd);
int cairn_sys_syncfs(int fd);
int cairn_sys_ftruncate(int fd, off_t len);
int cairn_sys_fallocate(int fd, int mode, off_t offset, off_t len);
int cairn_sys_posix_fallocate(int fd, off_t offset, off_t len); /* returns the error number */
int cairn_sys_fstat(int fd, struct stat *out);
int cairn_sys_fstatvfs(int fd, struct statvfs *out);
int cairn_sys_fchmod(int fd, mode_t mode);
int cairn_sys_flock(int fd, int operation);

/* --- sockets and waiting ------------------------------------------------------------------------------------------ */

int cairn_sys_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags);
/** Waits for an interrupted connect(), which continues in the background, and returns as connect() would. */
int cairn_sys_connect(int fd, const struct sockaddr *address, socklen_t len);
ssize_t cairn_sys_send(int fd, const void *bytes, size_t len, int flags);
ssize_t cairn_sys_recv(int fd, void *out, size_t len, int flags);
/** Interruptions do not make the wait longer. */
int cairn_sys_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
/** Sleeps the whole time, in spite of interruptions. */
void cairn_sys_sleep_ms(int64_t ms);
ssize_t cairn_sys_getrandom(void *out, size_t len, unsigned flags);

#endif
