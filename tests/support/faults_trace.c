/* The file of records. A record is five u64 (kind, inode, offset, length of the path, length of the bytes), the path,
 * and the bytes. Each record is written by one call, to a file to which the test also appends. */
#include "support/faults.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int trace_fd = -1;
static pthread_mutex_t trace_mutex = PTHREAD_MUTEX_INITIALIZER;

void faults_trace_begin(void)
{
	const char *path = getenv("FAULTS_TRACE");
	if (path)
		trace_fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
	if (path && trace_fd < 0)
		_exit(EXIT_FAILURE);
	void *warm[1];
	(void)backtrace(warm, 1); /* the first call opens a library, which a sandbox may forbid later */
}

size_t faults_trace_callers(char out[static FAULTS_CALLERS_BYTES])
{
	void *frames[FAULTS_CALLERS];
	size_t len = 0;
	Dl_info info;
	if (trace_fd < 0)
		return 0;
	int n = backtrace(frames, FAULTS_CALLERS);
	for (int i = 1; i < n; i++) {
		if (!dladdr(frames[i], &info))
			continue;
		size_t offset = (size_t)((char *)frames[i] - (char *)info.dli_fbase);
		int wrote = snprintf(out + len, FAULTS_CALLERS_BYTES - len, "%.400s %zx\n", info.dli_fname, offset);
		len += wrote > 0 && len + (size_t)wrote < FAULTS_CALLERS_BYTES ? (size_t)wrote : 0;
	}
	return len;
}

void faults_trace_lock(void)
{
	if (trace_fd >= 0)
		pthread_mutex_lock(&trace_mutex);
}

void faults_trace_unlock(void)
{
	if (trace_fd >= 0)
		pthread_mutex_unlock(&trace_mutex);
}

void faults_trace(enum faults_record kind, int file, off_t offset, const char *path, const void *bytes, size_t len)
{
	struct stat st = {0};
	if (trace_fd < 0)
		return;
	if (file >= 0)
		(void)fstat(file, &st);
	uint64_t head[5] = {(uint64_t)kind, st.st_ino, (uint64_t)offset, path ? strlen(path) : 0, len};
	struct iovec parts[] = {
		{head, sizeof(head)},
		{(void *)(uintptr_t)path, head[3]},
		{(void *)(uintptr_t)bytes, len},
	};
	if (writev(trace_fd, parts, 3) != (ssize_t)(sizeof(head) + head[3] + len))
		_exit(EXIT_FAILURE);
}
