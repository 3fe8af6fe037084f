#include "index/sqlite/reserve.h"

#include "base/fd.h"
#include "base/sys.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { RESERVE_PLENTY = 2 }; /* take the reserve if this many times its size is free */

uint64_t cairn_reserve_free_bytes(const char *path)
{
	struct statvfs st;
	return cairn_sys_statvfs(path, &st) == 0 ? (uint64_t)st.f_bavail * st.f_frsize : UINT64_MAX;
}

static uint64_t reserve_bytes(const struct statvfs *st)
{
	uint64_t share = (uint64_t)st->f_blocks * st->f_frsize / CAIRN_RESERVE_SHARE;
	if (share < CAIRN_RESERVE_BYTES_MIN)
		return CAIRN_RESERVE_BYTES_MIN;
	return share < CAIRN_RESERVE_BYTES_MAX ? share & ~(uint64_t)4095 : CAIRN_RESERVE_BYTES_MAX;
}

void cairn_reserve_open(struct cairn_reserve *r, const char *dir)
{
	char *path = NULL;
	struct statvfs st;
	struct stat file;
	*r = (struct cairn_reserve){0};
	if (asprintf(&path, "%s/index.reserve", dir) < 0)
		return;
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	free(path);
	if (fd < 0 || cairn_sys_fstatvfs(fd, &st) < 0 || cairn_sys_fstat(fd, &file) < 0)
		return;
	r->bytes = reserve_bytes(&st);
	r->held = (uint64_t)file.st_size >= r->bytes;
	r->fd = fd;
	fd = -1;
	cairn_reserve_take(r, false);
}

void cairn_reserve_close(struct cairn_reserve *r)
{
	if (r->bytes > 0)
		cairn_fd_closep(&r->fd);
	*r = (struct cairn_reserve){0};
}

void cairn_reserve_take(struct cairn_reserve *r, bool all)
{
	struct statvfs st;
	uint64_t wanted = all ? r->bytes : RESERVE_PLENTY * r->bytes;
	if (r->held || r->bytes == 0 || cairn_sys_fstatvfs(r->fd, &st) < 0 ||
	    (uint64_t)st.f_bavail * st.f_frsize < wanted)
		return;
	r->held = cairn_sys_posix_fallocate(r->fd, 0, (off_t)r->bytes) == 0;
	if (!r->held)
		(void)!cairn_sys_ftruncate(r->fd, 0);
}

bool cairn_reserve_release(struct cairn_reserve *r)
{
	bool given = r->held && cairn_sys_ftruncate(r->fd, 0) == 0;
	r->held = r->held && !given;
	return given;
}
