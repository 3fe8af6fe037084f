#include "data_dir/identity.h"

#include "base/fd.h"
#include "base/sys.h"
#include "hash/crypto.h"
#include "hash/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { IDENTITY_PATH_BYTES = 4200 };

bool cairn_identity_is(const char *text)
{
	return strlen(text) == CAIRN_IDENTITY_BYTES - 1 && strspn(text, "0123456789abcdef") == CAIRN_IDENTITY_BYTES - 1;
}

static enum cairn_status identity_io(const char *what, const char *path, struct cairn_diag *diag)
{
	return cairn_fail(diag, cairn_fd_status(errno), "data_dir.identity", CAIRN_NO_OFFSET, "cannot %s %s: %s", what,
			  path, strerror(errno));
}

static enum cairn_status identity_make(char out[static CAIRN_IDENTITY_BYTES], int fd, const char *path,
				       struct cairn_diag *diag)
{
	uint8_t bytes[(CAIRN_IDENTITY_BYTES - 1) / 2];
	char text[CAIRN_IDENTITY_BYTES + 1];
	if (cairn_random(bytes, sizeof(bytes)) != CAIRN_OK)
		return identity_io("make a name for", path, diag);
	cairn_hex_text(out, bytes, sizeof(bytes));
	int n = snprintf(text, sizeof(text), "%s\n", out);
	if (lseek(fd, 0, SEEK_SET) < 0 || cairn_fd_write_all(fd, text, (size_t)n) != CAIRN_OK ||
	    cairn_sys_fsync(fd) != 0 || cairn_fd_sync_parent(path) != CAIRN_OK)
		return identity_io("write", path, diag);
	return CAIRN_OK;
}

enum cairn_status cairn_identity_get(char out[static CAIRN_IDENTITY_BYTES], const char *data_dir,
				     struct cairn_diag *diag)
{
	char path[IDENTITY_PATH_BYTES], text[CAIRN_IDENTITY_BYTES + 2] = "";
	size_t n = 0;
	int len = snprintf(path, sizeof(path), "%s/" CAIRN_IDENTITY_FILE, data_dir);
	if (len < 0 || (size_t)len >= sizeof(path))
		return cairn_fail(diag, CAIRN_E_USAGE, "data_dir.identity", CAIRN_NO_OFFSET, "the path is too long");
	CLEANUP(cairn_fd_closep)
	int fd = cairn_sys_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0 || cairn_sys_flock(fd, LOCK_EX) < 0)
		return identity_io("open", path, diag);
	if (cairn_fd_read_upto(fd, text, sizeof(text) - 1, &n) != CAIRN_OK)
		return identity_io("read", path, diag);
	/* A killed process left the empty file, and has reported no identity yet. */
	if (n == 0)
		return identity_make(out, fd, path, diag);
	text[strcspn(text, "\n")] = '\0';
	if (n > CAIRN_IDENTITY_BYTES || !cairn_identity_is(text))
		return cairn_fail(
			diag, CAIRN_E_FORMAT, "data_dir.identity", CAIRN_NO_OFFSET,
			"%s is not 32 hexadecimal digits: put it back from a backup, or remove it if there is "
			"none",
			path);
	memcpy(out, text, CAIRN_IDENTITY_BYTES);
	return CAIRN_OK;
}
