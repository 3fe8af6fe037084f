#include "store/tmpfile.h"

#include "base/fd.h"
#include "base/sys.h"
#include "hash/crypto.h"
#include "hash/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { TMPFILE_MODE = 0600, TMPFILE_NAME_TRIES = 16 };

enum cairn_status cairn_tmpfile_open(struct cairn_tmpfile *out, int dir_fd)
{
	*out = CAIRN_TMPFILE_NONE;
	out->dir_fd = dir_fd;
	out->fd = cairn_sys_openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, TMPFILE_MODE);
	if (out->fd >= 0)
		return CAIRN_OK;
	/* The errors by which kernels and file systems report that they have no unnamed files: open(2). */
	if (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT || errno == EINVAL)
		return cairn_tmpfile_open_named(out, dir_fd);
	return cairn_fd_status(errno);
}

enum cairn_status cairn_tmpfile_open_named(struct cairn_tmpfile *out, int dir_fd)
{
	*out = CAIRN_TMPFILE_NONE;
	out->dir_fd = dir_fd;
	for (int i = 0; i < TMPFILE_NAME_TRIES; i++) {
		uint8_t random[16];
		enum cairn_status status = cairn_random(random, sizeof(random));
		if (status != CAIRN_OK)
			return status;
		cairn_hex_text(out->name, random, sizeof(random));
		out->fd = cairn_sys_openat(dir_fd, out->name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, TMPFILE_MODE);
		if (out->fd >= 0)
			return CAIRN_OK;
		if (errno != EEXIST)
			break;
	}
	out->name[0] = '\0';
	return cairn_fd_status(errno);
}

static int tmpfile_link_unnamed(int fd, int dir_fd, const char *name)
{
	char path[32];
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int rc = cairn_sys_linkat(AT_FDCWD, path, dir_fd, name, AT_SYMLINK_FOLLOW);
	/* Works without /proc, but needs a capability that a daemon rarely has; so it comes second. */
	if (rc < 0 && errno == ENOENT)
		rc = cairn_sys_linkat(fd, "", dir_fd, name, AT_EMPTY_PATH);
	return rc;
}

enum cairn_status cairn_tmpfile_link(struct cairn_tmpfile *t, int dir_fd, const char *name, bool *existed)
{
	*existed = false;
	int rc = t->name[0] ? cairn_sys_linkat(t->dir_fd, t->name, dir_fd, name, 0)
			    : tmpfile_link_unnamed(t->fd, dir_fd, name);
	if (rc < 0 && errno != EEXIST)
		return cairn_fd_status(errno);
	*existed = rc < 0;
	return CAIRN_OK;
}

void cairn_tmpfile_unlink(struct cairn_tmpfile *t)
{
	if (t->name[0])
		(void)cairn_sys_unlinkat(t->dir_fd, t->name, 0);
	t->name[0] = '\0';
}

void cairn_tmpfile_fini(struct cairn_tmpfile *t)
{
	cairn_tmpfile_unlink(t);
	cairn_fd_closep(&t->fd);
}
