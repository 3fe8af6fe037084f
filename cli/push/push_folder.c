#include "cli/push/push_folder.h"

#include "base/fd.h"
#include "base/folder.h"
#include "base/sys.h"
#include "cli/common/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOLDER_DEPTH_MAX = 64 };

void push_folder_fini(struct push_folder *f)
{
	for (size_t i = 0; f->paths && i < f->manifest.n; i++)
		free(f->paths[i]);
	free(f->paths);
	manifest_fini(&f->manifest);
	*f = (struct push_folder){0};
}

struct folder_read {
	struct manifest *manifest;
	const struct push_folder_rules *rules;
};

static enum cairn_status folder_walk(const struct folder_read *f, int dir_fd, const char *prefix, unsigned depth,
				     struct cairn_diag *diag);

static enum cairn_status folder_add(const struct folder_read *f, const char *path, const struct stat *st,
				    struct cairn_diag *diag)
{
	if (!manifest_path_is_writable(path))
		return cairn_fail(diag, CAIRN_E_FORMAT, "manifest.path", CAIRN_NO_OFFSET,
				  "a manifest cannot hold the name of %.120s: it must be UTF-8 and at most %d bytes; "
				  "rename the file",
				  path, MANIFEST_PATH_BYTES_MAX);
	struct manifest_file file = {.size_bytes = (uint64_t)st->st_size, .mode = st->st_mode & 0777U};
	char *copy = strdup(path);
	if (!copy)
		return CAIRN_E_NOMEM;
	file.path = copy;
	enum cairn_status status = manifest_add(f->manifest, &file, diag);
	free(copy);
	return status;
}

static enum cairn_status folder_entry(const struct folder_read *f, int dir_fd, const char *name, const char *path,
				      unsigned depth, struct cairn_diag *diag)
{
	struct stat st;
	enum cairn_status looked = cairn_folder_stat(dir_fd, name, &st);
	if (looked == CAIRN_E_NOT_FOUND)
		return CAIRN_OK; /* the file was removed after its name was read */
	if (looked != CAIRN_OK)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "folder.read", CAIRN_NO_OFFSET, "cannot look at %.120s: %s",
				  path, strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		int fd = cairn_sys_openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
		if (fd < 0)
			return cairn_fail(diag, CAIRN_E_NOT_FOUND, "folder.read", CAIRN_NO_OFFSET,
					  "cannot open %.120s: %s", path, strerror(errno));
		return folder_walk(f, fd, path, depth + 1, diag);
	}
	if (S_ISLNK(st.st_mode) && f->rules->measure_link) {
		enum cairn_status status = f->rules->measure_link(f->rules->ctx, path, &st, diag);
		return status == CAIRN_OK ? folder_add(f, path, &st, diag) : status;
	}
	if (S_ISREG(st.st_mode))
		return folder_add(f, path, &st, diag);
	if (!f->rules->quiet)
		cli_error("%s is left out: it is %s", path,
			  S_ISLNK(st.st_mode) ? "a symbolic link" : "no regular file");
	return CAIRN_OK;
}

/* Lists a folder and those below it. Takes dir_fd over. */
static enum cairn_status folder_walk(const struct folder_read *f, int dir_fd, const char *prefix, unsigned depth,
				     struct cairn_diag *diag)
{
	CLEANUP(cairn_folder_close) struct cairn_folder folder = {0};
	const char *name = NULL;
	enum cairn_status status = cairn_folder_open(&folder, dir_fd);
	if (status != CAIRN_OK)
		return status;
	if (depth > FOLDER_DEPTH_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "folder.depth", CAIRN_NO_OFFSET,
				  "folders are nested deeper than %d", FOLDER_DEPTH_MAX);
	while ((status = cairn_folder_next(&folder, &name)) == CAIRN_OK && name) {
		char *path = NULL;
		if (asprintf(&path, "%s%s%s", prefix, *prefix ? "/" : "", name) < 0)
			return CAIRN_E_NOMEM;
		if (!f->rules->is_left_out || !f->rules->is_left_out(path))
			status = folder_entry(f, dir_fd, name, path, depth, diag);
		free(path);
		if (status != CAIRN_OK)
			return status;
	}
	return status == CAIRN_OK ? CAIRN_OK
				  : cairn_fail(diag, CAIRN_E_NOT_FOUND, "folder.read", CAIRN_NO_OFFSET,
					       "cannot read %.120s: %s", *prefix ? prefix : ".", strerror(errno));
}

enum cairn_status push_folder_read(struct push_folder *out, const char *folder, const struct push_folder_rules *rules,
				   struct cairn_diag *diag)
{
	static const struct push_folder_rules NONE = {0};
	const struct folder_read read = {.manifest = &out->manifest, .rules = rules ? rules : &NONE};
	*out = (struct push_folder){0};
	int fd = cairn_sys_openat(rules ? rules->dir : AT_FDCWD, rules ? "." : folder,
				  O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "folder.read", CAIRN_NO_OFFSET, "%s", strerror(errno));
	enum cairn_status status = folder_walk(&read, fd, "", 1, diag);
	if (status != CAIRN_OK)
		return status;
	manifest_sort(&out->manifest);
	out->paths = calloc(out->manifest.n + 1, sizeof(*out->paths));
	if (!out->paths)
		return CAIRN_E_NOMEM;
	for (size_t i = 0; i < out->manifest.n; i++)
		if (asprintf(&out->paths[i], "%s/%s", folder, out->manifest.files[i].path) < 0) {
			out->paths[i] = NULL;
			return CAIRN_E_NOMEM;
		}
	return CAIRN_OK;
}

enum cairn_status push_folder_may_write(const char *path, struct cairn_diag *diag)
{
	struct stat st;
	bool is_new = cairn_sys_lstat(path, &st) != 0;
	/* refuse a device, a pipe or a link, which a rename would replace by a file */
	if (!is_new && !S_ISREG(st.st_mode))
		return cairn_fail(diag, CAIRN_E_CONFLICT, "manifest.write", CAIRN_NO_OFFSET,
				  "%.120s is there and is not a regular file; name another one", path);
	char *copy = strdup(path);
	if (!copy)
		return CAIRN_E_NOMEM;
	bool can = (!is_new || errno == ENOENT) && cairn_sys_access(dirname(copy), W_OK | X_OK) == 0;
	free(copy);
	return can ? CAIRN_OK
		   : cairn_fail(diag, CAIRN_E_CONFLICT, "manifest.write", CAIRN_NO_OFFSET,
				"cannot make the manifest %.120s: %s", path, strerror(errno));
}

static enum cairn_status folder_write_file(const char *path, const struct cairn_buf *json, struct cairn_diag *diag)
{
	char *temporary = NULL;
	if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
		return CAIRN_E_NOMEM;
	enum cairn_status status = CAIRN_OK;
	mode_t mask = umask(0);
	(void)umask(mask);
	int fd = cairn_sys_mkostemp(temporary, O_CLOEXEC);
	if (fd < 0) {
		status = CAIRN_E_CONFLICT;
	} else {
		status = cairn_fd_write_all(fd, json->bytes, json->len);
		if (status == CAIRN_OK && (cairn_sys_fchmod(fd, 0666 & ~mask) != 0 || cairn_sys_fsync(fd) != 0))
			status = CAIRN_E_IO;
		if (status == CAIRN_OK && cairn_sys_rename(temporary, path) != 0)
			status = CAIRN_E_CONFLICT;
		else if (status == CAIRN_OK)
			status = cairn_fd_sync_parent(path);
		int error = errno;
		if (status != CAIRN_OK)
			(void)cairn_sys_unlink(temporary);
		cairn_fd_closep(&fd);
		errno = error;
	}
	free(temporary);
	if (status != CAIRN_OK)
		return cairn_fail(diag, status, "manifest.write", CAIRN_NO_OFFSET,
				  "cannot write the manifest %.120s: %s", path, strerror(errno));
	return CAIRN_OK;
}

enum cairn_status push_folder_write(const struct push_folder *f, const char *path, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf json = cairn_buf_init(MANIFEST_BYTES_MAX);
	manifest_write(&json, &f->manifest);
	if (json.status != CAIRN_OK)
		return json.status;
	if (path)
		return folder_write_file(path, &json, diag);
	if (fwrite(json.bytes, 1, json.len, stdout) != json.len || fflush(stdout) != 0)
		return cairn_fail(diag, CAIRN_E_IO, "manifest.write", CAIRN_NO_OFFSET,
				  "cannot write to standard output");
	return CAIRN_OK;
}
