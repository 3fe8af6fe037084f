#include "base/sys.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static bool sys_interrupted(int64_t rc)
{
	return rc < 0 && errno == EINTR;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

int cairn_sys_open(const char *path, int flags, mode_t mode)
{
	return cairn_sys_openat(AT_FDCWD, path, flags, mode);
}

int cairn_sys_openat(int dir_fd, const char *path, int flags, mode_t mode)
{
	return (int)TEMP_FAILURE_RETRY(openat(dir_fd, path, flags, mode));
}

/* A failed attempt puts a name in place of the pattern. */
int cairn_sys_mkostemp(char *path, int flags)
{
	char *pattern = strrchr(path, '\0') - 6;
	int fd = mkostemp(path, flags);
	while (sys_interrupted(fd)) {
		memcpy(pattern, "XXXXXX", 6);
		fd = mkostemp(path, flags);
	}
	return fd;
}

int cairn_sys_mkdir(const char *path, mode_t mode)
{
	return cairn_sys_mkdirat(AT_FDCWD, path, mode);
}

int cairn_sys_mkdirat(int dir_fd, const char *path, mode_t mode)
{
	return (int)TEMP_FAILURE_RETRY(mkdirat(dir_fd, path, mode));
}

int cairn_sys_rmdir(const char *path)
{
	return cairn_sys_unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int cairn_sys_unlink(const char *path)
{
	return cairn_sys_unlinkat(AT_FDCWD, path, 0);
}

int cairn_sys_unlinkat(int dir_fd, const char *path, int flags)
{
	return (int)TEMP_FAILURE_RETRY(unlinkat(dir_fd, path, flags));
}

int cairn_sys_rename(const char *from, const char *to)
{
	return cairn_sys_renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int cairn_sys_renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return (int)TEMP_FAILURE_RETRY(renameat(from_fd, from, to_fd, to));
}

int cairn_sys_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	return (int)TEMP_FAILURE_RETRY(renameat2(from_fd, from, to_fd, to, flags));
}

int cairn_sys_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	return (int)TEMP_FAILURE_RETRY(linkat(from_fd, from, to_fd, to, flags));
}

ssize_t cairn_sys_readlinkat(int dir_fd, const char *path, char *out, size_t size)
{
	return TEMP_FAILURE_RETRY(readlinkat(dir_fd, path, out, size));
}

int cairn_sys_access(const char *path, int mode)
{
	return cairn_sys_faccessat(AT_FDCWD, path, mode, 0);
}

int cairn_sys_faccessat(int dir_fd, const char *path, int mode, int flags)
{
	return (int)TEMP_FAILURE_RETRY(faccessat(dir_fd, path, mode, flags));
}

int cairn_sys_chmod(const char *path, mode_t mode)
{
	return (int)TEMP_FAILURE_RETRY(chmod(path, mode));
}

int cairn_sys_stat(const char *path, struct stat *out)
{
	return cairn_sys_fstatat(AT_FDCWD, path, out, 0);
}

int cairn_sys_lstat(const char *path, struct stat *out)
{
	return cairn_sys_fstatat(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}

int cairn_sys_fstatat(int dir_fd, const char *path, struct stat *out, int flags)
{
	return (int)TEMP_FAILURE_RETRY(fstatat(dir_fd, path, out, flags));
}

int cairn_sys_statvfs(const char *path, struct statvfs *out)
{
	return (int)TEMP_FAILURE_RETRY(statvfs(path, out));
}

/* --- files -------------------------------------------------------------------------------------------------------- */

ssize_t cairn_sys_read(int fd, void *out, size_t len)
{
	return TEMP_FAILURE_RETRY(read(fd, out, len));
}

ssize_t cairn_sys_pread(int fd, void *out, size_t len, off_t offset)
{
	return TEMP_FAILURE_RETRY(pread(fd, out, len, offset));
}

ssize_t cairn_sys_write(int fd, const void *bytes, size_t len)
{
	return TEMP_FAILURE_RETRY(write(fd, bytes, len));
}

ssize_t cairn_sys_pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
	return TEMP_FAILURE_RETRY(pwrite(fd, bytes, len, offset));
}

ssize_t cairn_sys_copy_file_range(int from, off_t *from_at, int to, off_t *to_at, size_t len, unsigned flags)
{
	return TEMP_FAILURE_RETRY(copy_file_range(from, from_at, to, to_at, len, flags));
}

int cairn_sys_fsync(int fd)
{
	return (int)TEMP_FAILURE_RETRY(fsync(fd));
}

int cairn_sys_fdatasync(int fd)
{
	return (int)TEMP_FAILURE_RETRY(fdatasync(fd));
}

int cairn_sys_syncfs(int fd)
{
	return (int)TEMP_FAILURE_RETRY(syncfs(fd));
}

int cairn_sys_ftruncate(int fd, off_t len)
{
	return (int)TEMP_FAILURE_RETRY(ftruncate(fd, len));
}

int cairn_sys_fallocate(int fd, int mode, off_t offset, off_t len)
{
	return (int)TEMP_FAILURE_RETRY(fallocate(fd, mode, offset, len));
}

int cairn_sys_posix_fallocate(int fd, off_t offset, off_t len)
{
	int error;
	do
		error = posix_fallocate(fd, offset, len);
	while (error == EINTR);
	return error;
}

int cairn_sys_fstat(int fd, struct stat *out)
{
	return (int)TEMP_FAILURE_RETRY(fstat(fd, out));
}

int cairn_sys_fstatvfs(int fd, struct statvfs *out)
{
	return (int)TEMP_FAILURE_RETRY(fstatvfs(fd, out));
}

int cairn_sys_fchmod(int fd, mode_t mode)
{
	return (int)TEMP_FAILURE_RETRY(fchmod(fd, mode));
}

int cairn_sys_flock(int fd, int operation)
{
	return (int)TEMP_FAILURE_RETRY(flock(fd, operation));
}

/* --- sockets and waiting ------------------------------------------------------------------------------------------ */

int cairn_sys_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
	return (int)TEMP_FAILURE_RETRY(accept4(fd, address, len, flags));
}

int cairn_sys_connect(int fd, const struct sockaddr *address, socklen_t len)
{
	int rc = connect(fd, address, len), error = 0;
	socklen_t error_bytes = sizeof(error);
	while (sys_interrupted(rc))
		rc = connect(fd, address, len);
	if (rc < 0 && errno == EISCONN)
		return 0; /* the first call has connected meanwhile */
	if (rc == 0 || errno != EALREADY)
		return rc;
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	if (cairn_sys_poll(&p, 1, -1) < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_bytes) < 0)
		return -1;
	errno = error;
	return error == 0 ? 0 : -1;
}

ssize_t cairn_sys_send(int fd, const void *bytes, size_t len, int flags)
{
	return TEMP_FAILURE_RETRY(send(fd, bytes, len, flags));
}

ssize_t cairn_sys_recv(int fd, void *out, size_t len, int flags)
{
	return TEMP_FAILURE_RETRY(recv(fd, out, len, flags));
}

int cairn_sys_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	int64_t end_ms = timeout_ms > 0 ? cairn_clock_mono_ms() + timeout_ms : 0;
	int rc = poll(fds, n, timeout_ms);
	while (sys_interrupted(rc)) {
		int64_t left_ms = timeout_ms > 0 ? end_ms - cairn_clock_mono_ms() : timeout_ms;
		rc = poll(fds, n, timeout_ms > 0 && left_ms < 0 ? 0 : (int)left_ms);
	}
	return rc;
}

void cairn_sys_sleep_ms(int64_t ms)
{
	struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
	while (sys_interrupted(nanosleep(&left, &left)))
		;
}

ssize_t cairn_sys_getrandom(void *out, size_t len, unsigned flags)
{
	return TEMP_FAILURE_RETRY(getrandom(out, len, flags));
}
