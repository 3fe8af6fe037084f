#include "cli/pull/pull_target.h"

#include "base/fd.h"
#include "base/sys.h"
#include "cli/common/scan.h"
#include "cli/pull/pull_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TARGET_COPY_BYTES = 64 * 1024 };

void pull_target_fini(struct pull_target *t)
{
	cairn_fd_closep(&t->part_fd);
	cairn_fd_closep(&t->state_fd);
	free(t->name);
	free(t->part);
	free(t->state);
	*t = (struct pull_target){.dir_fd = -1, .part_fd = -1, .state_fd = -1};
}

static enum cairn_status target_fail(struct cairn_diag *diag, const char *what, const char *name)
{
	int error = errno;
	return cairn_fail(diag, cairn_fd_make_status(error), "file.target", CAIRN_NO_OFFSET, "cannot %s %.120s: %s",
			  what, name, strerror(error));
}

static int target_unnamed(void)
{
	const char *folder = getenv("TMPDIR");
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/cairn-XXXXXX", folder && *folder ? folder : "/tmp");
	if (n < 0 || (size_t)n >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	int fd = cairn_sys_mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		(void)cairn_sys_unlink(path);
	return fd;
}

static enum cairn_status target_open_unnamed(struct pull_target *t, struct cairn_diag *diag)
{
	t->part_fd = target_unnamed();
	t->state_fd = t->part_fd < 0 ? -1 : target_unnamed();
	return t->state_fd < 0 ? target_fail(diag, "make", "a temporary file in $TMPDIR") : CAIRN_OK;
}

static enum cairn_status target_open_one(struct pull_target *t, const char *name, int *fd, uint64_t *bytes,
					 struct cairn_diag *diag)
{
	struct stat st;
	*fd = cairn_sys_openat(t->dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666);
	if (*fd < 0 || cairn_sys_fstat(*fd, &st) < 0)
		return target_fail(diag, "open", name);
	if (!S_ISREG(st.st_mode))
		return cairn_fail(diag, CAIRN_E_CONFLICT, "file.target", CAIRN_NO_OFFSET,
				  "%.120s is not a regular file; remove it", name);
	*bytes = (uint64_t)st.st_size;
	return CAIRN_OK;
}

static enum cairn_status target_taken(const struct pull_target *t, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_CONFLICT, "file.exists", CAIRN_NO_OFFSET,
			  "%.120s exists and has another content: name another file, or give --force", t->name);
}

static enum cairn_status target_check_name(const struct pull_target *t, bool force, struct cairn_diag *diag)
{
	struct stat st;
	if (cairn_sys_fstatat(t->dir_fd, t->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? CAIRN_OK : target_fail(diag, "look at", t->name);
	if (S_ISREG(st.st_mode))
		return force ? CAIRN_OK : target_taken(t, diag);
	return cairn_fail(diag, CAIRN_E_CONFLICT, "file.target", CAIRN_NO_OFFSET,
			  "%.120s is there and is not a regular file; name another one, or - for standard output",
			  t->name);
}

/* Makes the names. If the endings would make a name too long, the part is named after the file's hash. */
static bool target_name(struct pull_target *t, const struct pull_job *job)
{
	char hash[CAIRN_HASH_TEXT_BYTES];
	bool is_long = strlen(job->name) + strlen(".part.state") > NAME_MAX && strlen(job->name) <= NAME_MAX;
	cairn_hash_text(hash, &job->file);
	const char *before = is_long ? ".cairn-" : "", *stem = is_long ? hash : job->name;
	t->name = strdup(job->name);
	if (asprintf(&t->part, "%s%s.part", before, stem) < 0)
		t->part = NULL;
	if (asprintf(&t->state, "%s%s.part.state", before, stem) < 0)
		t->state = NULL;
	return t->name && t->part && t->state;
}

enum cairn_status pull_target_open(struct pull_target *t, const struct pull_job *job, struct cairn_diag *diag)
{
	uint64_t part_bytes = 0, state_bytes = 0;
	*t = (struct pull_target){.dir_fd = job->dir_fd, .part_fd = -1, .state_fd = -1};
	if (job->dir_fd < 0)
		return target_open_unnamed(t, diag);
	if (!target_name(t, job))
		return CAIRN_E_NOMEM;
	enum cairn_status status = target_check_name(t, job->force, diag);
	/* Open the state first: a part without a state is somebody else's file. */
	if (status == CAIRN_OK)
		status = target_open_one(t, t->state, &t->state_fd, &state_bytes, diag);
	if (status == CAIRN_OK)
		status = target_open_one(t, t->part, &t->part_fd, &part_bytes, diag);
	if (status != CAIRN_OK)
		return status;
	if (cairn_sys_flock(t->state_fd, LOCK_EX | LOCK_NB) != 0)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "file.in_use", CAIRN_NO_OFFSET,
				  "another pull writes %.120s; wait for it", t->part);
	t->resumes = pull_state_matches(t->state_fd, &job->file, job->first, job->end);
	if (part_bytes > 0 && state_bytes < PULL_STATE_HEADER_BYTES) {
		(void)cairn_sys_unlinkat(t->dir_fd, t->state, 0);
		return cairn_fail(diag, CAIRN_E_CONFLICT, "file.part", CAIRN_NO_OFFSET,
				  "%.120s exists and was not made by a pull: remove it, or name another target",
				  t->part);
	}
	return CAIRN_OK;
}

int pull_target_find(const struct pull_job *job, const uint8_t *sha256)
{
	struct stat st;
	struct cairn_cutter_file result;
	int fd = cairn_sys_openat(job->dir_fd, job->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
	bool same = fd >= 0 && cairn_sys_fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		    (uint64_t)st.st_size == job->file_bytes;
	int scan = same ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	same = scan >= 0 && scan_fd(scan, NULL, NULL, &result, NULL) == CAIRN_OK &&
	       (cairn_hash_equal(&result.hash, &job->file) ||
		(sha256 && memcmp(result.sha256, sha256, sizeof(result.sha256)) == 0));
	if (!same)
		cairn_fd_closep(&fd);
	return fd;
}

enum cairn_status pull_target_finish(struct pull_target *t, const struct pull_job *job, struct cairn_diag *diag)
{
	if (t->dir_fd < 0)
		return CAIRN_OK;
	if (cairn_sys_ftruncate(t->part_fd, (off_t)(job->end - job->first)) != 0 || cairn_sys_fsync(t->part_fd) != 0)
		return target_fail(diag, "complete", t->part);
	/* Set permissions after the long sync: a kill in it could leave a read-only part, which no pull continues. */
	if (job->has_mode && cairn_sys_fchmod(t->part_fd, (mode_t)job->mode) != 0)
		return target_fail(diag, "complete", t->part);
	if (job->force && cairn_sys_renameat(t->dir_fd, t->part, t->dir_fd, t->name) != 0)
		return target_fail(diag, "make", t->name);
	if (!job->force) {
		enum cairn_status status = cairn_fd_rename_new(t->dir_fd, t->part, t->dir_fd, t->name);
		if (status != CAIRN_OK)
			return errno == EEXIST ? target_taken(t, diag) : target_fail(diag, "make", t->name);
	}
	if (cairn_sys_fsync(t->dir_fd) != 0)
		return target_fail(diag, "complete", t->name);
	(void)cairn_sys_unlinkat(t->dir_fd, t->state, 0);
	return CAIRN_OK;
}

void pull_target_drop(struct pull_target *t)
{
	if (t->dir_fd < 0)
		return;
	(void)cairn_sys_unlinkat(t->dir_fd, t->part, 0);
	(void)cairn_sys_unlinkat(t->dir_fd, t->state, 0);
}

enum cairn_status pull_target_print(struct pull_target *t, uint64_t len, struct cairn_diag *diag)
{
	uint8_t bytes[TARGET_COPY_BYTES];
	for (uint64_t at = 0; at < len;) {
		size_t n = len - at < sizeof(bytes) ? (size_t)(len - at) : sizeof(bytes);
		if (cairn_fd_read_at(t->part_fd, at, bytes, n) != CAIRN_OK)
			return target_fail(diag, "read", "the temporary file");
		if (cairn_fd_write_all(STDOUT_FILENO, bytes, n) != CAIRN_OK)
			return target_fail(diag, "write", "standard output");
		at += n;
	}
	return CAIRN_OK;
}
