#include "data_dir/secret.h"

#include "base/crash_point.h"
#include "base/sys.h"
#include "hash/crypto.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum cairn_status secret_io(struct cairn_diag *diag, const char *what, const char *path)
{
	return cairn_fail(diag, CAIRN_E_IO, "secret.io", CAIRN_NO_OFFSET, "cannot %s the secret %s: %s", what, path,
			  strerror(errno));
}

/* Writes and then renames, so that the name appears only after the bytes are durable. The next opening of the store
 * makes the name durable, together with the folder's other names. */
static enum cairn_status secret_write(const char *path, const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	char temp[4200];
	int n = snprintf(temp, sizeof(temp), "%s.new", path);
	if (n < 0 || (size_t)n >= sizeof(temp))
		return cairn_fail(diag, CAIRN_E_USAGE, "secret.path", CAIRN_NO_OFFSET,
				  "the path of the secret is too long");
	int fd = cairn_sys_open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return secret_io(diag, "make", temp);
	bool ok = cairn_sys_write(fd, bytes, len) == (ssize_t)len && cairn_sys_fsync(fd) == 0;
	(void)close(fd); /* the bytes are durable already */
	cairn_crash_point(CAIRN_CRASH_SECRET_WRITTEN);
	ok = ok && cairn_sys_rename(temp, path) == 0;
	cairn_crash_point(CAIRN_CRASH_SECRET_NAMED);
	return ok ? CAIRN_OK : secret_io(diag, "write", path);
}

static enum cairn_status secret_make(const char *path, struct cairn_diag *diag)
{
	uint8_t bytes[CAIRN_SECRET_BYTES_MIN];
	if (cairn_random(bytes, sizeof(bytes)) != CAIRN_OK)
		return cairn_fail(diag, CAIRN_E_IO, "secret.random", CAIRN_NO_OFFSET,
				  "the system gives no random bytes");
	return secret_write(path, bytes, sizeof(bytes), diag);
}

enum cairn_status cairn_secret_keep(const struct cairn_secret *secret, const char *path, struct cairn_diag *diag)
{
	return cairn_sys_access(path, F_OK) == 0 ? CAIRN_OK : secret_write(path, secret->bytes, secret->len, diag);
}

static enum cairn_status secret_check(const struct stat *st, const char *path, struct cairn_diag *diag)
{
	if (!S_ISREG(st->st_mode))
		return cairn_fail(diag, CAIRN_E_USAGE, "secret.file", CAIRN_NO_OFFSET,
				  "the secret %s is not a regular file: put it back from a backup", path);
	if ((st->st_mode & 077) != 0)
		return cairn_fail(diag, CAIRN_E_USAGE, "secret.mode", CAIRN_NO_OFFSET,
				  "the secret %s can be read by others (mode %03o): run chmod 600 on it", path,
				  (unsigned)(st->st_mode & 0777));
	if (st->st_size < CAIRN_SECRET_BYTES_MIN || st->st_size > CAIRN_SECRET_BYTES_MAX)
		return cairn_fail(diag, CAIRN_E_USAGE, "secret.size", CAIRN_NO_OFFSET,
				  "the secret %s has %lld bytes; it must have %d to %d", path, (long long)st->st_size,
				  CAIRN_SECRET_BYTES_MIN, CAIRN_SECRET_BYTES_MAX);
	return CAIRN_OK;
}

enum cairn_status cairn_secret_load(struct cairn_secret *out, const char *path, bool make, struct cairn_diag *diag)
{
	int fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0 && errno == ENOENT && make) {
		enum cairn_status made = secret_make(path, diag);
		if (made != CAIRN_OK)
			return made;
		fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	}
	if (fd < 0)
		return secret_io(diag, "open", path);
	struct stat st;
	enum cairn_status status =
		cairn_sys_fstat(fd, &st) == 0 ? secret_check(&st, path, diag) : secret_io(diag, "read", path);
	if (status == CAIRN_OK) {
		ssize_t n = cairn_sys_read(fd, out->bytes, sizeof(out->bytes));
		out->len = n > 0 ? (size_t)n : 0;
		if (n != st.st_size)
			status = secret_io(diag, "read", path);
	}
	close(fd);
	return status;
}
