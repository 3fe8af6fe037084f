#include "cli/common/output.h"

#include "base/fd.h"
#include "base/sys.h"
#include "cli/common/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum cairn_status output_open(struct output *o, const char *path, mode_t mode, struct cairn_diag *diag)
{
	struct stat st;
	*o = (struct output){.fd = -1, .path = path};
	int n = snprintf(o->part, sizeof(o->part), "%s.part", path);
	if (n < 0 || (size_t)n >= sizeof(o->part))
		return cairn_fail(diag, CAIRN_E_USAGE, "file.target", CAIRN_NO_OFFSET, "the path is too long");
	if (cairn_sys_lstat(path, &st) == 0)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "file.target", CAIRN_NO_OFFSET,
				  "%.180s exists already: name another file, or remove it", path);
	o->fd = cairn_sys_open(o->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	return o->fd < 0 ? cli_part_taken(o->part, diag) : CAIRN_OK;
}

enum cairn_status output_commit(struct output *o, struct cairn_diag *diag)
{
	if (cairn_sys_fsync(o->fd) == 0 && cairn_fd_rename_new(AT_FDCWD, o->part, AT_FDCWD, o->path) == CAIRN_OK) {
		o->part[0] = '\0';
		if (cairn_fd_sync_parent(o->path) == CAIRN_OK)
			return CAIRN_OK;
	}
	int error = errno;
	return cairn_fail(diag, error == EEXIST ? CAIRN_E_CONFLICT : cairn_fd_status(error), "file.write",
			  CAIRN_NO_OFFSET, "cannot write %.180s: %s", o->path, strerror(error));
}

void output_fini(struct output *o)
{
	if (o->fd >= 0 && o->part[0])
		(void)cairn_sys_unlink(o->part);
	cairn_fd_closep(&o->fd);
}
