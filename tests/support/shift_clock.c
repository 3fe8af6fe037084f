/* Shifts the wall clock of a process that loads this library (LD_PRELOAD) by the seconds in the file SHIFT_CLOCK. A
 * test may change its eight bytes while the process runs. If SHIFT_THREAD names a thread, only that thread's clocks are
 * shifted, but also its monotonic one: a thread that waits by relative times alone then measures longer waits than
 * there were. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SHIFT_EXPORTED __attribute__((visibility("default")))

static _Atomic int64_t *shift_s;
static const char *shift_thread; /* NULL: all threads */
static _Thread_local int shift_is_thread;

__attribute__((constructor)) static void shift_begin(void)
{
	const char *path = getenv("SHIFT_CLOCK");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*shift_s), PROT_READ, MAP_SHARED, fd, 0);
	shift_s = at == MAP_FAILED ? NULL : at;
	shift_thread = getenv("SHIFT_THREAD");
	if (fd >= 0)
		(void)close(fd);
}

/* Each thread names itself. The sandbox of the daemon forbids to ask for the name later. */
SHIFT_EXPORTED int pthread_setname_np(pthread_t thread, const char *name)
{
	int (*set)(pthread_t, const char *);
	*(void **)&set = dlsym(RTLD_NEXT, "pthread_setname_np");
	shift_is_thread = shift_thread && pthread_equal(thread, pthread_self()) && strcmp(name, shift_thread) == 0;
	return set(thread, name);
}

static int shift_applies(clockid_t clock_id)
{
	int is_wall = clock_id == CLOCK_REALTIME || clock_id == CLOCK_REALTIME_COARSE;
	int is_monotonic = clock_id == CLOCK_MONOTONIC || clock_id == CLOCK_MONOTONIC_COARSE ||
			   clock_id == CLOCK_MONOTONIC_RAW; /* libcurl 8.14, of Debian 13, reads this one */
	return shift_thread ? (is_wall || is_monotonic) && shift_is_thread : is_wall;
}

SHIFT_EXPORTED int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
	long failed = syscall(SYS_clock_gettime, clock_id, tp);
	if (failed == 0 && shift_s && shift_applies(clock_id))
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
