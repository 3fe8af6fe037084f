/* Loaded before the C library (LD_PRELOAD): counts fdatasync() and fsync(). BENCH_SYNC_MS makes each last at least
 * that long, as on a slower disk. A negative value skips them, for preparations that are not measured. The counts
 * are at the start of the file BENCH_SYNC_FILE, as two u64. */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SYNCS_EXPORTED __attribute__((visibility("default")))

static struct syncs_counts {
	atomic_uint_fast64_t fdatasyncs, fsyncs;
} * counts;
static int64_t least_ns;

__attribute__((constructor)) static void syncs_begin(void)
{
	const char *path = getenv("BENCH_SYNC_FILE"), *ms = getenv("BENCH_SYNC_MS");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	if (fd < 0 || ftruncate(fd, sizeof(*counts)) != 0)
		_exit(EXIT_FAILURE);
	void *at = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		_exit(EXIT_FAILURE);
	counts = at;
	least_ns = ms ? (int64_t)(strtod(ms, NULL) * 1e6) : 0;
	close(fd);
}

static int64_t syncs_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int syncs_call(long number, int fd, atomic_uint_fast64_t *count)
{
	int64_t began_ns = syncs_now_ns();
	int rc = least_ns < 0 ? 0 : (int)syscall(number, fd);
	int64_t left_ns = least_ns - (syncs_now_ns() - began_ns);
	atomic_fetch_add(count, 1);
	if (left_ns > 0)
		nanosleep(&(struct timespec){0, left_ns}, NULL);
	return rc;
}

SYNCS_EXPORTED int fdatasync(int fd)
{
	return syncs_call(SYS_fdatasync, fd, &counts->fdatasyncs);
}

SYNCS_EXPORTED int fsync(int fd)
{
	return syncs_call(SYS_fsync, fd, &counts->fsyncs);
}
