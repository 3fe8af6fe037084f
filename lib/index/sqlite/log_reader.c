#include "index/sqlite/log_reader.h"

#include "base/clock.h"
#include "base/sys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

/* Range of the bytes that readers lock (https://www.sqlite.org/walformat.html, "WAL Locks"). */
enum { LOG_READER_FIRST = 123, LOG_READER_LAST = 127 };

/* @param[out] process  0: in another container @return false: no other process reads */
static bool log_reader_other(const struct cairn_log_reader *r, pid_t *process)
{
	struct flock lock = {.l_type = F_WRLCK,
			     .l_whence = SEEK_SET,
			     .l_start = LOG_READER_FIRST,
			     .l_len = LOG_READER_LAST - LOG_READER_FIRST + 1};
	if (r->shm_fd < 0 || fcntl(r->shm_fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK)
		return false;
	*process = lock.l_pid;
	return true;
}

bool cairn_log_reader_find(struct cairn_log_reader *r, const char *path, struct cairn_pool *pool, int64_t since_ms,
			   char *out, size_t size)
{
	pid_t process;
	int64_t began_ms = 0;
	/* The descriptor stays open while the process lives: closing it would drop SQLite's locks on the file. */
	if (!r->opened)
		r->shm_fd = cairn_sys_open(path, O_RDWR | O_CLOEXEC, 0);
	r->opened = true;
	if (log_reader_other(r, &process)) {
		(void)snprintf(out, size, process > 0 ? "process %d" : "a process of another container", (int)process);
		return true;
	}
	const char *call = cairn_pool_oldest(pool, &began_ms);
	if (!call || began_ms > since_ms)
		return false;
	(void)snprintf(out, size, "this daemon, in %s for %" PRId64 " s", call,
		       (cairn_clock_mono_ms() - began_ms) / 1000);
	return true;
}
