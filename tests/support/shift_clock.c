/* Shifts the wall clock of a process that loads this (LD_PRELOAD) by the seconds in the file SHIFT_CLOCK. A test may
 * change its eight bytes while the process runs. Other clocks are not changed. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SHIFT_EXPORTED __attribute__((visibility("default")))

static _Atomic int64_t *shift_s;

__attribute__((constructor)) static void shift_begin(void)
{
	const char *path = getenv("SHIFT_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*shift_s), PROT_READ, MAP_SHARED, fd, 0);
	shift_s = at == MAP_FAILED ? NULL : at;
	if (fd >= 0)
		(void)close(fd);
}

SHIFT_EXPORTED int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
	long failed = syscall(SYS_clock_gettime, clock_id, tp);
	if (failed == 0 && shift_s && (clock_id == CLOCK_REALTIME || clock_id == CLOCK_REALTIME_COARSE))
		tp->tv_sec += atomic_load(shift_s);
	return (int)failed;
}

SHIFT_EXPORTED int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec now;
	(void)tz;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return -1;
	*tv = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
	return 0;
}

SHIFT_EXPORTED time_t time(time_t *timer)
{
	struct timespec now = {0};
	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (timer)
		*timer = now.tv_sec;
	return now.tv_sec;
}
