#include "store/files/loose.h"

#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

void store_fs_path(char out[static STORE_FS_PATH_BYTES], const struct cairn_hash *hash)
{
	char *text = out + 6;
	cairn_hash_text(text, hash);
	memcpy(out, (char[]){text[0], text[1], '/', text[2], text[3], '/'}, 6);
}

static enum cairn_status store_fs_missing(int error)
{
	return error == ENOENT ? CAIRN_E_NOT_FOUND : CAIRN_E_IO;
}

/* Counts anything that is no regular file as an object of length 0: it is listed and set aside like a damaged one. */
static void store_fs_judge(struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		st->st_size = 0;
}

enum cairn_status store_fs_open_loose(const struct store_fs *fs, const struct cairn_hash *hash, int *fd,
				      struct stat *st)
{
	char path[STORE_FS_PATH_BYTES];
	store_fs_path(path, hash);
	/* O_NONBLOCK: opening a FIFO would wait. */
	*fd = cairn_sys_openat(fs->objects_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (*fd < 0 && (errno == ELOOP || errno == ENXIO)) /* a link, a socket */
		*fd = cairn_sys_openat(fs->objects_fd, path, O_PATH | O_CLOEXEC | O_NOFOLLOW, 0);
	if (*fd < 0)
		return store_fs_missing(errno);
	if (cairn_sys_fstat(*fd, st) < 0) {
		cairn_fd_closep(fd);
		return CAIRN_E_IO;
	}
	store_fs_judge(st);
	return CAIRN_OK;
}

enum cairn_status store_fs_stat_loose(const struct store_fs *fs, const struct cairn_hash *hash, uint64_t *bytes)
{
	char path[STORE_FS_PATH_BYTES];
	store_fs_path(path, hash);
	struct stat st;
	if (cairn_sys_fstatat(fs->objects_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return store_fs_missing(errno);
	store_fs_judge(&st);
	*bytes = (uint64_t)st.st_size;
	return CAIRN_OK;
}

bool store_fs_unlink_loose(struct store_fs *fs, const struct cairn_hash *hash)
{
	char path[STORE_FS_PATH_BYTES];
	store_fs_path(path, hash);
	int rc = cairn_sys_unlinkat(fs->objects_fd, path, 0), error = errno;
	store_open_files_forget(&fs->opened, hash); /* after the unlink, so that nobody opens it again */
	errno = error;
	return rc == 0;
}
