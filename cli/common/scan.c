#include "cli/common/scan.h"

#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct scan {
	int fd;
	struct cairn_cutter *cutter; /* owned */
	cairn_cutter_visit *visit;
	void *ctx;
	uint64_t bytes;
};

static void scan_fini(struct scan *s)
{
	cairn_fd_closep(&s->fd);
	cairn_cutter_free(s->cutter);
}

static enum cairn_status scan_chunk(void *ctx, const struct cairn_hash *hash, const uint8_t *raw, size_t len,
				    struct cairn_diag *diag)
{
	struct scan *s = ctx;
	s->bytes += len;
	if (s->bytes > SCAN_FILE_BYTES_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "file.size", CAIRN_NO_OFFSET, "longer than 1 TiB; split it");
	return s->visit ? s->visit(s->ctx, hash, raw, len, diag) : CAIRN_OK;
}

enum cairn_status scan_fd(int fd, cairn_cutter_visit *visit, void *ctx, struct cairn_cutter_file *out,
			  struct cairn_diag *diag)
{
	CLEANUP(scan_fini) struct scan s = {.fd = fd, .cutter = cairn_cutter_new(), .visit = visit, .ctx = ctx};
	*out = (struct cairn_cutter_file){0};
	if (!s.cutter)
		return CAIRN_E_NOMEM;
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	for (bool ended = false; !ended;) {
		size_t n = 0, room;
		uint8_t *at = cairn_cutter_room(s.cutter, &room);
		if (cairn_fd_read_upto(fd, at, room, &n) != CAIRN_OK)
			return cairn_fail(diag, CAIRN_E_IO, "file.read", s.bytes, "%s", strerror(errno));
		ended = n < room;
		enum cairn_status status = cairn_cutter_take(s.cutter, n, ended, scan_chunk, &s, diag);
		if (status != CAIRN_OK)
			return status;
	}
	cairn_cutter_end(s.cutter, out);
	return CAIRN_OK;
}

enum cairn_status scan_file(const char *path, cairn_cutter_visit *visit, void *ctx, struct cairn_cutter_file *out,
			    struct cairn_diag *diag)
{
	struct stat st;
	*out = (struct cairn_cutter_file){0};
	int fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0 || cairn_sys_fstat(fd, &st) < 0) {
		(void)cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "%s", strerror(errno));
		cairn_fd_closep(&fd);
		return CAIRN_E_NOT_FOUND;
	}
	if (S_ISDIR(st.st_mode)) {
		cairn_fd_closep(&fd);
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "is a folder; name its files");
	}
	return scan_fd(fd, visit, ctx, out, diag);
}
