/* The wrapped calls. The real calls are made as system calls, to bypass the wrappers of any other library. */
#include "support/faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FAULTS_EXPORTED __attribute__((visibility("default")))

enum { FAULTS_SHORT = 1000, FAULTS_KILL, FAULTS_HOLD, FAULTS_TWICE }; /* actions other than error numbers */

/* Shared with the test. Calls are counted from 1, if the bit of their kind is set in `kinds`. free_bytes: what the disk
 * says that is free; 0: the truth. */
static struct faults_control {
	atomic_uint_fast64_t kinds, first, last, action, seen, fired, given_up, free_bytes;
} * control;
static int control_fd;
static const char *folder;
static size_t folder_len;

__attribute__((constructor)) static void faults_begin(void)
{
	const char *path = getenv("FAULTS_CONTROL");
	int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0) : -1;
	void *at =
		fd < 0 ? MAP_FAILED
		       : (void *)syscall(SYS_mmap, NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	folder = getenv("FAULTS_FOLDER");
	if (at == MAP_FAILED || !folder)
		_exit(EXIT_FAILURE);
	folder_len = strlen(folder);
	control_fd = fd;
	faults_trace_begin();
	control = at;
}

bool faults_path(char out[static FAULTS_PATH_BYTES], int fd, const char *path)
{
	char link[64], full[2 * FAULTS_PATH_BYTES] = "";
	if (!path || path[0] != '/') {
		(void)snprintf(link, sizeof(link), fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", fd);
		ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, full, FAULTS_PATH_BYTES - 1);
		if (n < 0)
			return false;
		full[n] = '\0';
		if (path && strcmp(path, ".") != 0)
			(void)snprintf(full + n, sizeof(full) - (size_t)n, "/%s", path);
	} else {
		(void)snprintf(full, sizeof(full), "%s", path);
	}
	if (strncmp(full, folder, folder_len) != 0 || (full[folder_len] != '/' && full[folder_len] != '\0'))
		return false;
	(void)snprintf(out, FAULTS_PATH_BYTES, "%.4000s", full + folder_len + (full[folder_len] == '/'));
	return true;
}

/* Waits until the test releases its lock. All threads lock through one descriptor, so the first unlock releases it for
 * all, which does no harm: the lock is only needed for waiting. */
static ssize_t faults_held(size_t len)
{
	int before = errno;
	(void)syscall(SYS_flock, control_fd, LOCK_SH);
	(void)syscall(SYS_flock, control_fd, LOCK_UN);
	errno = before;
	return (ssize_t)len;
}

/* Interrupts every call once. The thread must make the same call again, before any other counted call.
 * @return whether the call may proceed */
static bool faults_twice(enum faults_call call, int fd, const char *name)
{
	static _Thread_local struct {
		bool pending;
		enum faults_call call;
		char name[FAULTS_PATH_BYTES];
	} interrupted;
	bool again = interrupted.pending && interrupted.call == call && strcmp(interrupted.name, name) == 0;
	if (interrupted.pending && !again && atomic_fetch_add(&control->given_up, 1) < 20)
		dprintf(STDERR_FILENO, "faults: call %d of %s was not made again; next: %d of %s (%d)\n",
			(int)interrupted.call, interrupted.name, (int)call, name, fd);
	interrupted.pending = !again;
	interrupted.call = call;
	memcpy(interrupted.name, name, strlen(name) + 1);
	return again;
}

/* Decides on a call. @return how many of len bytes may be transferred; -1 with errno: the call fails */
static ssize_t faults_judge(enum faults_call call, int fd, const char *path, size_t len)
{
	char name[FAULTS_PATH_BYTES];
	int before = errno;
	if (!control || !(atomic_load(&control->kinds) & UINT64_C(1) << call) || !faults_path(name, fd, path)) {
		errno = before;
		return (ssize_t)len;
	}
	uint64_t at = atomic_fetch_add(&control->seen, 1) + 1;
	uint64_t action = atomic_load(&control->action);
	errno = before;
	if (at < atomic_load(&control->first) || at > atomic_load(&control->last))
		return (ssize_t)len;
	atomic_fetch_add(&control->fired, 1);
	if (action == FAULTS_KILL)
		(void)raise(SIGKILL);
	if (action == FAULTS_HOLD)
		return faults_held(len);
	if (action == FAULTS_TWICE && faults_twice(call, fd, name)) {
		errno = before;
		return (ssize_t)len;
	}
	if (action == FAULTS_SHORT)
		return (ssize_t)(len > 1 ? len / 2 : len);
	errno = action == FAULTS_TWICE ? EINTR : (int)action;
	return -1;
}

bool faults_memory_is_armed(void)
{
	return control && (atomic_load(&control->kinds) & UINT64_C(1) << FAULTS_MALLOC) != 0;
}

bool faults_no_memory(void)
{
	uint64_t at = atomic_fetch_add(&control->seen, 1) + 1;
	if (at < atomic_load(&control->first) || at > atomic_load(&control->last))
		return false;
	atomic_fetch_add(&control->fired, 1);
	errno = ENOMEM;
	return true;
}

static bool faults_fails(enum faults_call call, int fd, const char *path)
{
	return faults_judge(call, fd, path, 0) < 0;
}

static ssize_t faults_write_at(int fd, const void *bytes, size_t len, off_t offset, bool moves)
{
	char path[FAULTS_PATH_BYTES];
	ssize_t n = faults_judge(moves ? FAULTS_WRITE : FAULTS_PWRITE, fd, NULL, len);
	if (n < 0)
		return n;
	faults_trace_lock();
	off_t at = moves ? (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR) : offset;
	n = moves ? syscall(SYS_write, fd, bytes, n) : syscall(SYS_pwrite64, fd, bytes, n, offset);
	int error = errno;
	/* the log was not created by a record, so its inode number may have been another file's */
	if (n > 0 && fd != STDERR_FILENO && faults_path(path, fd, NULL))
		faults_trace(FAULTS_WRITTEN, fd, at, NULL, bytes, (size_t)n);
	faults_trace_unlock();
	errno = error;
	return n;
}

FAULTS_EXPORTED ssize_t write(int fd, const void *bytes, size_t len)
{
	return faults_write_at(fd, bytes, len, 0, true);
}

FAULTS_EXPORTED ssize_t pwrite64(int fd, const void *bytes, size_t len, off_t offset)
{
	return faults_write_at(fd, bytes, len, offset, false);
}

FAULTS_EXPORTED ssize_t pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
	return faults_write_at(fd, bytes, len, offset, false);
}

FAULTS_EXPORTED ssize_t read(int fd, void *bytes, size_t len)
{
	ssize_t n = faults_judge(FAULTS_READ, fd, NULL, len);
	return n < 0 ? n : syscall(SYS_read, fd, bytes, n);
}

FAULTS_EXPORTED ssize_t pread64(int fd, void *bytes, size_t len, off_t offset)
{
	ssize_t n = faults_judge(FAULTS_PREAD, fd, NULL, len);
	return n < 0 ? n : syscall(SYS_pread64, fd, bytes, n, offset);
}

FAULTS_EXPORTED ssize_t pread(int fd, void *bytes, size_t len, off_t offset)
{
	return pread64(fd, bytes, len, offset);
}

FAULTS_EXPORTED ssize_t sendfile64(int out_fd, int in_fd, off_t *offset, size_t len)
{
	ssize_t n = faults_judge(FAULTS_SENDFILE, in_fd, NULL, len);
	return n < 0 ? n : syscall(SYS_sendfile, out_fd, in_fd, offset, n);
}

FAULTS_EXPORTED ssize_t sendfile(int out_fd, int in_fd, off_t *offset, size_t len)
{
	return sendfile64(out_fd, in_fd, offset, len);
}

FAULTS_EXPORTED int ftruncate64(int fd, off_t len)
{
	char path[FAULTS_PATH_BYTES];
	if (faults_fails(FAULTS_TRUNCATE, fd, NULL))
		return -1;
	faults_trace_lock();
	int rc = (int)syscall(SYS_ftruncate, fd, len);
	if (rc == 0 && faults_path(path, fd, NULL))
		faults_trace(FAULTS_TRUNCATED, fd, len, NULL, NULL, 0);
	faults_trace_unlock();
	return rc;
}

FAULTS_EXPORTED int ftruncate(int fd, off_t len)
{
	return ftruncate64(fd, len);
}

static int faults_sync(enum faults_call call, long number, int fd)
{
	char path[FAULTS_PATH_BYTES], callers[FAULTS_CALLERS_BYTES];
	struct stat st;
	if (faults_fails(call, fd, NULL))
		return -1;
	size_t n_callers = faults_trace_callers(callers);
	faults_trace_lock();
	int rc = (int)syscall(number, fd);
	if (rc == 0 && faults_path(path, fd, NULL) && fstat(fd, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			faults_trace(FAULTS_DIR_SYNCED, -1, 0, path, callers, n_callers);
		else
			faults_trace(FAULTS_SYNCED, fd, 0, path, callers, n_callers);
	}
	faults_trace_unlock();
	return rc;
}

FAULTS_EXPORTED int flock(int fd, int operation)
{
	return faults_fails(FAULTS_FLOCK, fd, NULL) ? -1 : (int)syscall(SYS_flock, fd, operation);
}

FAULTS_EXPORTED int fsync(int fd)
{
	return faults_sync(FAULTS_FSYNC, SYS_fsync, fd);
}

FAULTS_EXPORTED int fdatasync(int fd)
{
	return faults_sync(FAULTS_FDATASYNC, SYS_fdatasync, fd);
}

FAULTS_EXPORTED int syncfs(int fd)
{
	char path[FAULTS_PATH_BYTES], callers[FAULTS_CALLERS_BYTES];
	if (faults_fails(FAULTS_FSYNC, fd, NULL))
		return -1;
	size_t n_callers = faults_trace_callers(callers);
	faults_trace_lock();
	int rc = (int)syscall(SYS_syncfs, fd);
	if (rc == 0 && faults_path(path, fd, NULL))
		faults_trace(FAULTS_ALL_SYNCED, -1, 0, path, callers, n_callers);
	faults_trace_unlock();
	return rc;
}

/* Records a range as writes of the resulting bytes. Here fallocate() only makes holes, and copy_file_range() only
 * copies whole files. */
static void faults_trace_range(int fd, off_t offset, size_t len)
{
	char path[FAULTS_PATH_BYTES];
	int error = errno;
	uint8_t *bytes =
		(uint8_t *)syscall(SYS_mmap, NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED)
		_exit(EXIT_FAILURE);
	faults_trace_lock();
	ssize_t n = syscall(SYS_pread64, fd, bytes, len, offset);
	if (n > 0 && faults_path(path, fd, NULL))
		faults_trace(FAULTS_WRITTEN, fd, offset, NULL, bytes, (size_t)n);
	faults_trace_unlock();
	(void)syscall(SYS_munmap, bytes, len);
	errno = error;
}

FAULTS_EXPORTED int fallocate64(int fd, int mode, off_t offset, off_t len)
{
	int rc = faults_fails(FAULTS_WRITE, fd, NULL) ? -1 : (int)syscall(SYS_fallocate, fd, mode, offset, len);
	if (rc == 0)
		faults_trace_range(fd, offset, (size_t)len);
	return rc;
}

FAULTS_EXPORTED int fallocate(int fd, int mode, off_t offset, off_t len)
{
	return fallocate64(fd, mode, offset, len);
}

FAULTS_EXPORTED ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t len, unsigned flags)
{
	off_t at = to_at ? *to_at : (off_t)syscall(SYS_lseek, to, 0, SEEK_CUR);
	if (faults_fails(FAULTS_WRITE, to, NULL))
		return -1;
	ssize_t n = syscall(SYS_copy_file_range, from, from_at, to, to_at, len, flags);
	if (n > 0)
		faults_trace_range(to, at, (size_t)n);
	return n;
}

FAULTS_EXPORTED void *mmap64(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
	if (fd >= 0 && faults_fails(FAULTS_MMAP, fd, NULL))
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, at, len, protection, flags, fd, offset);
}

FAULTS_EXPORTED void *mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
	return mmap64(at, len, protection, flags, fd, offset);
}

FAULTS_EXPORTED int statvfs64(const char *path, struct statvfs64 *out)
{
	static _Atomic(void *) real;
	void *found = atomic_load(&real);
	int (*ask)(const char *, struct statvfs64 *);
	if (!found)
		atomic_store(&real, found = dlsym(RTLD_NEXT, "statvfs64"));
	memcpy(&ask, &found, sizeof(ask));
	int rc = ask(path, out);
	uint64_t free_bytes = control ? atomic_load(&control->free_bytes) : 0;
	if (rc == 0 && free_bytes > 0)
		out->f_bavail = free_bytes / out->f_frsize;
	return rc;
}

FAULTS_EXPORTED int fstatvfs64(int fd, struct statvfs64 *out)
{
	char path[64];
	if (faults_fails(FAULTS_STAT, fd, NULL))
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return statvfs64(path, out);
}

FAULTS_EXPORTED int fstatat64(int fd, const char *path, struct stat64 *out, int flags)
{
	return faults_fails(FAULTS_STAT, fd, path) ? -1 : (int)syscall(SYS_newfstatat, fd, path, out, flags);
}

/* Calls the C library's function, because one system call reads many entries. */
FAULTS_EXPORTED struct dirent64 *readdir64(DIR *dir)
{
	static _Atomic(void *) real;
	void *found = atomic_load(&real);
	struct dirent64 *(*next)(DIR *);
	if (!found)
		atomic_store(&real, found = dlsym(RTLD_NEXT, "readdir64"));
	memcpy(&next, &found, sizeof(next));
	return faults_fails(FAULTS_READDIR, dirfd(dir), NULL) ? NULL : next(dir);
}

static int faults_open(int dir_fd, const char *path, int flags, mode_t mode)
{
	char name[FAULTS_PATH_BYTES];
	if (faults_fails(FAULTS_OPEN, dir_fd, path))
		return -1;
	faults_trace_lock();
	bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
	bool is_new = nameless || ((flags & O_CREAT) && syscall(SYS_faccessat, dir_fd, path, F_OK) != 0);
	int fd = (int)syscall(SYS_openat, dir_fd, path, flags, mode);
	int error = errno;
	if (fd >= 0 && faults_path(name, dir_fd, path)) {
		if (is_new)
			faults_trace(FAULTS_CREATED, fd, 0, nameless ? "" : name, NULL, 0);
		else if (flags & O_TRUNC)
			faults_trace(FAULTS_TRUNCATED, fd, 0, NULL, NULL, 0);
	}
	faults_trace_unlock();
	errno = error;
	return fd;
}

#define FAULTS_MODE(flags, mode)                                                                                       \
	mode_t mode = 0;                                                                                               \
	if (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE) {                                                   \
		va_list ap;                                                                                            \
		va_start(ap, flags);                                                                                   \
		(mode) = va_arg(ap, mode_t);                                                                           \
		va_end(ap);                                                                                            \
	}

FAULTS_EXPORTED int open64(const char *path, int flags, ...)
{
	FAULTS_MODE(flags, mode)
	return faults_open(AT_FDCWD, path, flags, mode);
}

FAULTS_EXPORTED int open(const char *path, int flags, ...)
{
	FAULTS_MODE(flags, mode)
	return faults_open(AT_FDCWD, path, flags, mode);
}

FAULTS_EXPORTED int openat64(int dir_fd, const char *path, int flags, ...)
{
	FAULTS_MODE(flags, mode)
	return faults_open(dir_fd, path, flags, mode);
}

FAULTS_EXPORTED int openat(int dir_fd, const char *path, int flags, ...)
{
	FAULTS_MODE(flags, mode)
	return faults_open(dir_fd, path, flags, mode);
}

/* The C library's version opens the file by a call of its own, which is not wrapped. */
FAULTS_EXPORTED int mkostemp64(char *path, int flags)
{
	static atomic_uint n;
	size_t len = strlen(path);
	(void)snprintf(path + len - 6, 7, "%06x", ((unsigned)getpid() * 256 + atomic_fetch_add(&n, 1)) & 0xffffff);
	int fd = faults_open(AT_FDCWD, path, flags | O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 && errno == EINTR)
		(void)atomic_fetch_sub(&n, 1); /* the repeated call must have the same name */
	return fd;
}

FAULTS_EXPORTED int mkostemp(char *path, int flags)
{
	return mkostemp64(path, flags);
}

FAULTS_EXPORTED int mkdirat(int dir_fd, const char *path, mode_t mode)
{
	char name[FAULTS_PATH_BYTES];
	if (faults_fails(FAULTS_MKDIR, dir_fd, path))
		return -1;
	faults_trace_lock();
	int rc = (int)syscall(SYS_mkdirat, dir_fd, path, mode);
	int error = errno;
	if (rc == 0 && faults_path(name, dir_fd, path))
		faults_trace(FAULTS_DIR_MADE, -1, 0, name, NULL, 0);
	faults_trace_unlock();
	errno = error;
	return rc;
}

FAULTS_EXPORTED int mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

FAULTS_EXPORTED int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	char name[FAULTS_PATH_BYTES];
	if (faults_fails(FAULTS_LINK, to_fd, to))
		return -1;
	faults_trace_lock();
	int rc = (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
	int error = errno;
	if (rc == 0 && faults_path(name, to_fd, to)) {
		int fd = (int)syscall(SYS_openat, to_fd, to, O_RDONLY | O_CLOEXEC, 0);
		faults_trace(FAULTS_LINKED, fd, 0, name, NULL, 0);
		(void)close(fd);
	}
	faults_trace_unlock();
	errno = error;
	return rc;
}

FAULTS_EXPORTED int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	char name[FAULTS_PATH_BYTES], new_name[FAULTS_PATH_BYTES];
	if (faults_fails(FAULTS_RENAME, to_fd, to))
		return -1;
	faults_trace_lock();
	int rc = (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
	int error = errno;
	if (rc == 0 && faults_path(name, from_fd, from) && faults_path(new_name, to_fd, to))
		faults_trace(FAULTS_RENAMED, -1, 0, name, new_name, strlen(new_name));
	faults_trace_unlock();
	errno = error;
	return rc;
}

FAULTS_EXPORTED int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return renameat2(from_fd, from, to_fd, to, 0);
}

FAULTS_EXPORTED int rename(const char *from, const char *to)
{
	return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

FAULTS_EXPORTED int unlinkat(int dir_fd, const char *path, int flags)
{
	char name[FAULTS_PATH_BYTES];
	if (faults_fails(FAULTS_UNLINK, dir_fd, path))
		return -1;
	faults_trace_lock();
	int rc = (int)syscall(SYS_unlinkat, dir_fd, path, flags);
	int error = errno;
	if (rc == 0 && faults_path(name, dir_fd, path))
		faults_trace(FAULTS_UNLINKED, -1, 0, name, NULL, 0);
	faults_trace_unlock();
	errno = error;
	return rc;
}

FAULTS_EXPORTED int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}
