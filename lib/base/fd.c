#include "base/fd.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void cairn_fd_closep(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

bool cairn_fd_keep_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) != -1)
			continue;
		/* Occupies the descriptor. The system uses the lowest free one; the wrong mode makes any use fail. */
		if (cairn_sys_open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY, 0) != fd)
			return false;
	}
	return true;
}

enum cairn_status cairn_fd_status(int error)
{
	if (error == ENOSPC || error == EDQUOT)
		return CAIRN_E_FULL;
	return error == ENOMEM ? CAIRN_E_NOMEM : CAIRN_E_IO;
}

enum cairn_status cairn_fd_make_status(int error)
{
	static const int UNFIT[] = {EACCES, EEXIST, EISDIR, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, EPERM, EROFS};
	for (size_t i = 0; i < sizeof(UNFIT) / sizeof(UNFIT[0]); i++)
		if (error == UNFIT[i])
			return CAIRN_E_CONFLICT;
	return cairn_fd_status(error);
}

enum cairn_status cairn_fd_write_all(int fd, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	while (len > 0) {
		ssize_t n = cairn_sys_write(fd, p, len);
		if (n < 0)
			return cairn_fd_status(errno);
		p += n;
		len -= (size_t)n;
	}
	return CAIRN_OK;
}

enum cairn_status cairn_fd_read_upto(int fd, void *out, size_t len, size_t *n_read)
{
	uint8_t *p = out;
	*n_read = 0;
	while (*n_read < len) {
		ssize_t n = cairn_sys_read(fd, p + *n_read, len - *n_read);
		if (n < 0)
			return CAIRN_E_IO;
		if (n == 0)
			break;
		*n_read += (size_t)n;
	}
	return CAIRN_OK;
}

enum cairn_status cairn_fd_read_at(int fd, uint64_t offset, void *out, size_t len)
{
	uint8_t *p = out;
	if (offset > INT64_MAX || len > INT64_MAX - offset)
		return CAIRN_E_IO;
	while (len > 0) {
		ssize_t n = cairn_sys_pread(fd, p, len, (off_t)offset);
		if (n <= 0)
			return CAIRN_E_IO;
		p += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return CAIRN_OK;
}

enum cairn_status cairn_fd_write_at(int fd, uint64_t offset, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	while (len > 0) {
		ssize_t n = cairn_sys_pwrite(fd, p, len, (off_t)offset);
		if (n < 0)
			return cairn_fd_status(errno);
		p += n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return CAIRN_OK;
}

enum cairn_status cairn_fd_sync_parent(const char *path)
{
	char *copy = strdup(path);
	if (!copy)
		return CAIRN_E_NOMEM;
	CLEANUP(cairn_fd_closep) int dir = cairn_sys_open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	free(copy);
	return dir >= 0 && cairn_sys_fsync(dir) == 0 ? CAIRN_OK : CAIRN_E_IO;
}

enum cairn_status cairn_fd_rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
	int rc = cairn_sys_renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE);
	if (rc < 0 && (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)) {
		rc = cairn_sys_linkat(from_dir, from, to_dir, to, 0); /* fails with EEXIST instead of replacing */
		if (rc == 0)
			rc = cairn_sys_unlinkat(from_dir, from, 0);
	}
	return rc == 0 ? CAIRN_OK : cairn_fd_status(errno);
}

enum cairn_status cairn_fd_make_folder(const char *path, bool *made)
{
	*made = cairn_sys_mkdir(path, 0700) == 0;
	if (!*made && errno != EEXIST)
		return CAIRN_E_IO;
	enum cairn_status status = cairn_fd_sync_parent(path);
	return *made ? status : CAIRN_OK;
}
