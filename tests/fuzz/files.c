#include "fuzz/files.h"

#include "base/fd.h"
#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

static char files_path[200];

const char *files_folder(void)
{
	const char *parent = getenv("TMPDIR");
	(void)snprintf(files_path, sizeof(files_path), "%s/cairn-fuzz-XXXXXX", parent ? parent : "/tmp");
	fuzz_must(mkdtemp(files_path) != NULL);
	return files_path;
}

static int files_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void files_remove(void)
{
	enum { OPEN_FOLDERS = 8 };
	fuzz_must(nftw(files_path, files_remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS) == 0);
}

static int files_open(const char *folder, const char *name, int flags)
{
	char path[400];
	int n = snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = n > 0 && (size_t)n < sizeof(path) ? open(path, flags | O_CLOEXEC, 0600) : -1;
	fuzz_must(fd >= 0);
	return fd;
}

void files_write(const char *name, const void *bytes, size_t len)
{
	CLEANUP(cairn_fd_closep) int fd = files_open(files_path, name, O_WRONLY | O_CREAT | O_TRUNC);
	fuzz_must(cairn_fd_write_all(fd, bytes, len) == CAIRN_OK);
}

void files_add_data(struct cairn_buf *out, const char *name)
{
	CLEANUP(cairn_fd_closep) int fd = files_open(TEST_DATA, name, O_RDONLY);
	off_t len = lseek(fd, 0, SEEK_END);
	uint8_t *at = cairn_buf_extend(out, (size_t)len);
	fuzz_must(at && pread(fd, at, (size_t)len, 0) == len);
}
