#include "data_dir/hold.h"

#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

static enum cairn_status hold_lock(const char *data_dir, int operation, int *fd, struct cairn_diag *diag)
{
	char path[4200];
	*fd = -1;
	int n = snprintf(path, sizeof(path), "%s/hold", data_dir);
	if (n < 0 || (size_t)n >= sizeof(path))
		return cairn_fail(diag, CAIRN_E_IO, "data_dir.path", CAIRN_NO_OFFSET,
				  "the data folder's path is too long");
	CLEANUP(cairn_fd_closep) int opened = cairn_sys_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
	int rc = opened < 0 ? -1 : cairn_sys_flock(opened, operation);
	if (rc < 0 && opened >= 0 && errno == EWOULDBLOCK)
		return cairn_fail(diag, CAIRN_E_BUSY, "gc.held", CAIRN_NO_OFFSET,
				  "a backup is being made; nothing is collected until it is done");
	if (rc < 0)
		return cairn_fail(diag, CAIRN_E_IO, "data_dir.lock", CAIRN_NO_OFFSET, "cannot lock %s: %s", path,
				  strerror(errno));
	*fd = opened;
	opened = -1;
	return CAIRN_OK;
}

enum cairn_status cairn_hold_take(const char *data_dir, int *fd, struct cairn_diag *diag)
{
	return hold_lock(data_dir, LOCK_SH, fd, diag);
}

enum cairn_status cairn_hold_exclude(const char *data_dir, int *fd, struct cairn_diag *diag)
{
	return hold_lock(data_dir, LOCK_EX | LOCK_NB, fd, diag);
}

bool cairn_hold_is_held(const char *data_dir)
{
	CLEANUP(cairn_fd_closep) int fd = -1;
	return cairn_hold_exclude(data_dir, &fd, NULL) == CAIRN_E_BUSY;
}
