#include "server/process_stats.h"

#include "base/folder.h"
#include "base/sys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PROCESS_TEXT_BYTES = 1024, PROCESS_STAT_START = 22 }; /* number of the field starttime in /proc/PID/stat */

/* The state of the process; set before any thread starts. */
static struct {
	pthread_mutex_t lock; /* guards fds, because reading the folder moves its position */
	int statm;
	struct cairn_folder fds; /* /proc/self/fd, open since before the sandbox */
	double start_unix_s;
} process = {.lock = PTHREAD_MUTEX_INITIALIZER, .statm = -1};

/* Returns when the process started, in seconds since 1970. The kernel counts ticks since it booted. */
static double process_start(void)
{
	char text[PROCESS_TEXT_BYTES];
	struct timespec now, up;
	int fd = cairn_sys_open("/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
	ssize_t n = fd >= 0 ? cairn_sys_read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		(void)close(fd);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	const char *at = strrchr(text, ')'); /* the name of the process, in the field before, may contain any bytes */
	for (int field = 2; at && field < PROCESS_STAT_START; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)clock_gettime(CLOCK_BOOTTIME, &up);
	double booted = (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) / 1e9;
	return booted + (double)strtoull(at + 1, NULL, 10) / (double)sysconf(_SC_CLK_TCK);
}

void process_stats_open(void)
{
	process.start_unix_s = process_start();
	process.statm = cairn_sys_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
	if (cairn_folder_open(&process.fds, cairn_sys_open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)) !=
	    CAIRN_OK)
		process.fds = (struct cairn_folder){0};
}

static void process_read_memory(struct process_stats *out)
{
	char text[PROCESS_TEXT_BYTES];
	uint64_t pages = (uint64_t)sysconf(_SC_PAGESIZE);
	ssize_t n = process.statm >= 0 ? cairn_sys_pread(process.statm, text, sizeof(text) - 1, 0) : -1;
	if (n <= 0)
		return;
	text[n] = '\0';
	char *rest = text;
	out->virtual_bytes = strtoull(rest, &rest, 10) * pages;
	out->resident_bytes = strtoull(rest, NULL, 10) * pages;
}

/* Counts the open descriptors. @return 0: unknown */
static uint64_t process_count_fds(void)
{
	enum cairn_status status;
	const char *name;
	uint64_t n = 0;
	if (!process.fds.stream)
		return 0;
	pthread_mutex_lock(&process.lock);
	cairn_folder_rewind(&process.fds);
	while ((status = cairn_folder_next(&process.fds, &name)) == CAIRN_OK && name)
		n++;
	pthread_mutex_unlock(&process.lock);
	return status == CAIRN_OK ? n : 0;
}

void process_stats_read(struct process_stats *out)
{
	struct rusage usage;
	struct rlimit limit;
	*out = (struct process_stats){.start_unix_s = process.start_unix_s, .open_fds = process_count_fds()};
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		out->cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		out->max_fds = limit.rlim_cur;
	process_read_memory(out);
}
