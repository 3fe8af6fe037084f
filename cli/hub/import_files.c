#include "cli/hub/import_files.h"

#include "base/fd.h"
#include "base/sys.h"
#include "hash/git_object.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_TARGET_BYTES_MAX = PATH_MAX };

void import_files_fini(struct import_files *f)
{
	push_folder_fini(&f->folder);
	cairn_fd_closep(&f->dir);
	cairn_fd_closep(&f->blobs);
	cairn_fd_closep(&f->shared);
}

static int files_open_folder(int dir, const char *name)
{
	return cairn_sys_openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
}

/* Opens the folder of a path below dir. @param[out] name  last part of the path @return a descriptor; -1 with errno */
static int files_enter(int dir, const char *path, const char **name)
{
	char part[NAME_MAX + 1];
	int at = files_open_folder(dir, ".");
	for (const char *slash = strchr(path, '/'); at >= 0 && slash; slash = strchr(path, '/')) {
		size_t len = (size_t)(slash - path);
		int next = -1;
		if (len <= NAME_MAX) {
			memcpy(part, path, len);
			part[len] = '\0';
			next = files_open_folder(at, part);
		} else {
			errno = ENAMETOOLONG;
		}
		int error = errno;
		cairn_fd_closep(&at);
		errno = error;
		at = next;
		path = slash + 1;
	}
	*name = path;
	return at;
}

/* Opens a regular file. Never waits for the writer of a FIFO. @return -1 with errno: ELOOP for a link */
static int files_open_regular(int dir, const char *name)
{
	struct stat st;
	int fd = cairn_sys_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	if (fd >= 0 && (cairn_sys_fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		cairn_fd_closep(&fd);
		errno = EINVAL;
	}
	return fd;
}

/* Reads a link. @return its target; "": not a link, or the target is longer than stated */
static const char *files_read_link(int dir, const char *name, char target[static FILES_TARGET_BYTES_MAX])
{
	ssize_t n = cairn_sys_readlinkat(dir, name, target, FILES_TARGET_BYTES_MAX - 1);
	target[n > 0 && n < FILES_TARGET_BYTES_MAX - 1 ? n : 0] = '\0';
	return target;
}

/* --- links of a cache --------------------------------------------------------------------------------------------- */

static const char *files_without(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);
	return text && strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

/* Finds the blob of a link. Follows only links as huggingface_hub makes them: relative and direct. @param path  of the
 * link in its snapshot @return name of the blob; NULL: the link leads elsewhere */
static const char *files_blob_name(const char *path, const char *target)
{
	const char *rest = files_without(target, "../../");
	for (const char *p = strchr(path, '/'); p && rest; p = strchr(p + 1, '/'))
		rest = files_without(rest, "../");
	rest = files_without(rest, "blobs/");
	return rest && !strchr(rest, '/') && manifest_path_is_safe(rest) ? rest : NULL;
}

/* Opens a shared blob. Newer clients share large blobs among the repositories of a cache, by links. */
static int files_open_shared(const struct import_files *f, const char *blob)
{
	char target[FILES_TARGET_BYTES_MAX];
	const char *name, *rest = files_without(files_read_link(f->blobs, blob, target), "../../blobs/");
	if (f->shared < 0 || !rest || !manifest_path_is_safe(rest)) {
		errno = ELOOP;
		return -1;
	}
	CLEANUP(cairn_fd_closep) int dir = files_enter(f->shared, rest, &name);
	return dir < 0 ? -1 : files_open_regular(dir, name);
}

/* Is the name of a blob a SHA-256 or a git oid? */
static bool files_is_hash(const char *name)
{
	size_t n = strspn(name, "0123456789abcdef");
	return name[n] == '\0' && (n == (size_t)2 * CAIRN_SHA256_BYTES || n == (size_t)2 * CAIRN_SHA1_BYTES);
}

static enum cairn_status files_follow(const struct import_files *f, int dir, const char *name, const char *path,
				      struct import_file *out, struct cairn_diag *diag)
{
	char target[FILES_TARGET_BYTES_MAX];
	const char *blob = files_blob_name(path, files_read_link(dir, name, target));
	if (!blob)
		return cairn_fail(diag, CAIRN_E_MISMATCH, "import.blob", CAIRN_NO_OFFSET,
				  "%.150s is a link to %.150s, which is no blob of this cache", path, target);
	errno = ENOTDIR;
	out->fd = f->blobs < 0 ? -1 : files_open_regular(f->blobs, blob);
	if (out->fd < 0 && errno == ELOOP)
		out->fd = files_open_shared(f, blob);
	if (out->fd < 0)
		return cairn_fail(diag, CAIRN_E_MISMATCH, "import.blob", CAIRN_NO_OFFSET,
				  "%.150s is the blob %.100s, which is not in this cache: %s", path, blob,
				  errno == EINVAL  ? "no regular file"
				  : errno == ELOOP ? "a link to elsewhere"
						   : strerror(errno));
	(void)snprintf(out->blob, sizeof(out->blob), "%s", files_is_hash(blob) ? blob : "");
	return CAIRN_OK;
}

static enum cairn_status files_open_path(const struct import_files *f, const char *path, struct import_file *out,
					 struct cairn_diag *diag)
{
	const char *name = path;
	*out = (struct import_file){.fd = -1};
	CLEANUP(cairn_fd_closep) int dir = files_enter(f->dir, path, &name);
	if (dir >= 0)
		out->fd = files_open_regular(dir, name);
	if (dir >= 0 && out->fd < 0 && errno == ELOOP && f->is_cache)
		return files_follow(f, dir, name, path, out, diag);
	if (out->fd >= 0)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "cannot read %.150s: %s", path,
			  errno == EINVAL  ? "no regular file"
			  : errno == ELOOP ? "a symbolic link"
					   : strerror(errno));
}

enum cairn_status import_files_open(const struct import_files *f, size_t i, struct import_file *out,
				    struct cairn_diag *diag)
{
	return files_open_path(f, f->folder.manifest.files[i].path, out, diag);
}

static bool files_is_left_out(const char *path)
{
	static const char CACHE[] = ".cache/huggingface";
	size_t len = sizeof(CACHE) - 1;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	return strcasecmp(name, ".git") == 0 || (strncmp(path, CACHE, len) == 0 && (!path[len] || path[len] == '/'));
}

static enum cairn_status files_measure_link(void *ctx, const char *path, struct stat *st, struct cairn_diag *diag)
{
	struct import_file file;
	enum cairn_status status = files_open_path(ctx, path, &file, diag);
	if (status == CAIRN_OK && cairn_sys_fstat(file.fd, st) != 0)
		status = cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "cannot look at %.150s: %s",
				    path, strerror(errno));
	cairn_fd_closep(&file.fd);
	return status;
}

/* Opens the folder of a snapshot. @param root  the folder of the repository in the cache */
static int files_open_snapshot(struct import_files *f, int root, const struct import_snapshot *snapshot)
{
	f->blobs = files_open_folder(root, "blobs");
	f->shared = files_open_folder(root, "../blobs");
	if (f->shared >= 0 &&
	    cairn_sys_faccessat(f->shared, ".huggingface-shared-blobs", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		cairn_fd_closep(&f->shared);
	CLEANUP(cairn_fd_closep) int snapshots = files_open_folder(root, "snapshots");
	return snapshots < 0 ? -1 : files_open_folder(snapshots, snapshot->id);
}

enum cairn_status import_files_read(struct import_files *out, const struct import_source *source,
				    const struct import_snapshot *snapshot, bool quiet, struct cairn_diag *diag)
{
	*out = IMPORT_FILES_NONE;
	out->is_cache = source->is_cache;
	CLEANUP(cairn_fd_closep) int root = cairn_sys_open(source->folder, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (root >= 0 && source->inner) {
		int inner = files_open_folder(root, source->inner);
		int error = errno;
		cairn_fd_closep(&root);
		errno = error;
		root = inner;
	}
	if (root >= 0)
		out->dir = source->is_cache ? files_open_snapshot(out, root, snapshot) : files_open_folder(root, ".");
	if (out->dir < 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "folder.read", CAIRN_NO_OFFSET, "cannot open %.150s: %s",
				  snapshot->path,
				  errno == ENOTDIR ? "not a folder, or a symbolic link" : strerror(errno));
	const struct push_folder_rules rules = {.dir = out->dir,
						.is_left_out = source->is_cache ? NULL : files_is_left_out,
						.measure_link = source->is_cache ? files_measure_link : NULL,
						.ctx = out,
						.quiet = quiet};
	return push_folder_read(&out->folder, snapshot->path, &rules, diag);
}

static enum cairn_status files_judge(const struct import_file *file, const char *path, const char *found,
				     struct cairn_diag *diag)
{
	if (strcmp(file->blob, found) == 0)
		return CAIRN_OK;
	return cairn_fail(diag, CAIRN_E_MISMATCH, "import.blob", CAIRN_NO_OFFSET,
			  "%.90s: its blob %s is damaged: its bytes are %s", path, file->blob, found);
}

enum cairn_status import_file_judge(const struct import_file *file, const char *path,
				    const uint8_t sha256[static CAIRN_SHA256_BYTES], struct cairn_diag *diag)
{
	char found[2 * CAIRN_SHA256_BYTES + 1];
	if (strlen(file->blob) != (size_t)2 * CAIRN_SHA256_BYTES)
		return CAIRN_OK;
	cairn_hex_text(found, sha256, CAIRN_SHA256_BYTES);
	return files_judge(file, path, found, diag);
}

enum cairn_status import_file_judge_bytes(const struct import_file *file, const char *path, const void *bytes,
					  size_t len, struct cairn_diag *diag)
{
	uint8_t sha256[CAIRN_SHA256_BYTES];
	char found[CAIRN_GIT_OID_CHARS + 1];
	struct cairn_git_oid oid;
	if (!file->blob[0])
		return CAIRN_OK;
	if (strlen(file->blob) != CAIRN_GIT_OID_CHARS)
		return cairn_sha256_of(sha256, bytes, len) == CAIRN_OK ? import_file_judge(file, path, sha256, diag)
								       : CAIRN_E_NOMEM;
	if (cairn_git_blob(&oid, bytes, len) != CAIRN_OK)
		return CAIRN_E_NOMEM;
	cairn_git_oid_text(found, &oid);
	return files_judge(file, path, found, diag);
}

struct files_reader {
	int fd;
	uint64_t at;
};

static enum cairn_status files_read_next(void *ctx, uint8_t *out, size_t len)
{
	struct files_reader *r = ctx;
	enum cairn_status status = cairn_fd_read_at(r->fd, r->at, out, len);
	r->at += len;
	return status;
}

enum cairn_status import_file_judge_oid(const struct import_file *file, const char *path, struct cairn_diag *diag)
{
	struct stat st;
	struct cairn_git_oid oid;
	struct files_reader reader = {.fd = file->fd};
	char found[CAIRN_GIT_OID_CHARS + 1];
	if (strlen(file->blob) != CAIRN_GIT_OID_CHARS)
		return CAIRN_OK;
	if (cairn_sys_fstat(file->fd, &st) != 0)
		return cairn_fail(diag, CAIRN_E_IO, "file.read", CAIRN_NO_OFFSET, "%.150s: %s", path, strerror(errno));
	enum cairn_status status = cairn_git_blob_read(&oid, files_read_next, &reader, (uint64_t)st.st_size);
	if (status == CAIRN_E_NOMEM)
		return status;
	if (status != CAIRN_OK)
		return cairn_fail(diag, CAIRN_E_IO, "file.read", CAIRN_NO_OFFSET,
				  "%.150s: it was cut while it was read, or its disk failed", path);
	cairn_git_oid_text(found, &oid);
	return files_judge(file, path, found, diag);
}
