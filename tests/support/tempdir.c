#include "support/tempdir.h"

#include "base/fd.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMPDIR_OPEN_FOLDERS = 8 };

struct tempdir tempdir_new(void)
{
	const char *parent = getenv("TMPDIR");
	struct tempdir dir = {NULL};
	ck_assert_int_gt(asprintf(&dir.path, "%s/cairn-test-XXXXXX", parent ? parent : "/tmp"), 0);
	ck_assert_ptr_nonnull(mkdtemp(dir.path));
	return dir;
}

static int tempdir_remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void tempdir_fini(struct tempdir *dir)
{
	if (dir->path)
		ck_assert_int_eq(nftw(dir->path, tempdir_remove, TEMPDIR_OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS), 0);
	free(dir->path);
	dir->path = NULL;
}

char *tempdir_path(const struct tempdir *dir, const char *name)
{
	char *text = NULL;
	ck_assert_int_gt(asprintf(&text, "%s/%s", dir->path, name), 0);
	return text;
}

void tempdir_textp(char **text)
{
	free(*text);
	*text = NULL;
}

static int tempdir_n_files;

static int tempdir_count_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)path;
	(void)st;
	(void)ftw;
	tempdir_n_files += type == FTW_F;
	return 0;
}

int tempdir_count(const struct tempdir *dir, const char *name)
{
	CLEANUP(tempdir_textp) char *path = tempdir_path(dir, name);
	tempdir_n_files = 0;
	return nftw(path, tempdir_count_one, TEMPDIR_OPEN_FOLDERS, FTW_PHYS) == 0 ? tempdir_n_files : -1;
}

void tempdir_write(const struct tempdir *dir, const char *name, const void *bytes, size_t len)
{
	CLEANUP(tempdir_textp) char *path = tempdir_path(dir, name);
	CLEANUP(cairn_fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(cairn_fd_write_all(fd, bytes, len), CAIRN_OK);
}

void tempdir_flip_bit(const char *path, off_t at)
{
	uint8_t byte;
	ck_assert_int_eq(chmod(path, 0600), 0);
	CLEANUP(cairn_fd_closep) int fd = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 0x10;
	ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
}
