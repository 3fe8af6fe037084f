#include "base/fd.h"
#include "base/sys.h"
#include "data_dir/data_dir_work.h"
#include "data_dir/elsewhere.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Requires an index that is a file: backups support no other. */
static enum cairn_status data_dir_must_have_files(const char *path, struct cairn_diag *diag)
{
	struct elsewhere e;
	enum cairn_status status = elsewhere_read(&e, ELSEWHERE_INDEX, path, diag);
	if (status != CAIRN_OK || !e.url[0])
		return status;
	return cairn_fail(diag, CAIRN_E_CONFLICT, "data_dir.index", CAIRN_NO_OFFSET,
			  "its index is in %s: back that up as PostgreSQL does and copy the objects after it "
			  "(docs/scale.md says how), or move both into a folder with cairn migrate-store; "
			  "backup and restore work on folders only",
			  e.url);
}

enum cairn_status cairn_data_dir_index_url(char out[static CAIRN_DATA_DIR_URL_BYTES], const char *path,
					   struct cairn_diag *diag)
{
	enum cairn_status status = data_dir_must_have_files(path, diag);
	return status == CAIRN_OK ? data_dir_url(out, "sqlite:", path, diag) : status;
}

enum cairn_status cairn_data_dir_places(const char *path, char index[static CAIRN_DATA_DIR_URL_BYTES],
					char store[static CAIRN_DATA_DIR_URL_BYTES], struct cairn_diag *diag)
{
	struct elsewhere i, s;
	enum cairn_status status = elsewhere_read(&i, ELSEWHERE_INDEX, path, diag);
	if (status == CAIRN_OK)
		status = elsewhere_read(&s, ELSEWHERE_STORE, path, diag);
	if (status == CAIRN_OK)
		status = data_dir_url(index, i.url[0] ? "" : "sqlite:", i.url[0] ? i.url : path, diag);
	return status == CAIRN_OK ? data_dir_url(store, s.url[0] ? "" : "files:", s.url[0] ? s.url : path, diag)
				  : status;
}

enum cairn_status cairn_data_dir_index_reach(const char *index, struct cairn_index_reach *out, struct cairn_diag *diag)
{
	*out = (struct cairn_index_reach){.n_ports = 0};
	return index ? cairn_index_reach(index, out, diag) : CAIRN_OK;
}

enum cairn_status cairn_data_dir_store_reach(const char *store, const char *credentials, struct cairn_store_reach *out,
					     struct cairn_diag *diag)
{
	return cairn_store_reach(store, credentials, out, diag);
}

/* Checks that a missing folder could be created in its parent. */
static enum cairn_status data_dir_check_parent(const char *path, bool as_root, struct cairn_diag *diag)
{
	char parent[DATA_DIR_PATH_BYTES];
	struct stat st;
	size_t len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len > 0 && path[len - 1] != '/')
		len--;
	int n = snprintf(parent, sizeof(parent), "%.*s", len > 0 ? (int)len : 1, len > 0 ? path : ".");
	enum cairn_status status = data_dir_must_fit(n, sizeof(parent), diag);
	if (status != CAIRN_OK)
		return status;
	int error = cairn_sys_stat(parent, &st) != 0        ? errno
		    : !S_ISDIR(st.st_mode)                  ? ENOTDIR
		    : as_root                               ? 0
		    : cairn_sys_access(parent, W_OK | X_OK) ? errno
							    : 0;
	return error == 0 ? CAIRN_OK
			  : cairn_fail(diag, CAIRN_E_IO, "data_dir.make", CAIRN_NO_OFFSET,
				       "cannot make the data folder %s: %s", path, strerror(error));
}

static enum cairn_status data_dir_inspect_lock(const char *path, bool *in_use, struct cairn_diag *diag)
{
	char lock[DATA_DIR_PATH_BYTES];
	enum cairn_status status = data_dir_name(lock, path, "lock", diag);
	CLEANUP(cairn_fd_closep)
	int fd = status == CAIRN_OK ? cairn_sys_open(lock, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0) : -1;
	if (status == CAIRN_OK && fd < 0 && errno != ENOENT)
		return cairn_fail(diag, CAIRN_E_IO, "data_dir.lock", CAIRN_NO_OFFSET, "cannot open %s: %s", lock,
				  strerror(errno));
	*in_use = fd >= 0 && cairn_sys_flock(fd, LOCK_SH | LOCK_NB) != 0;
	if (*in_use && errno != EWOULDBLOCK)
		return cairn_fail(diag, CAIRN_E_IO, "data_dir.lock", CAIRN_NO_OFFSET, "cannot lock %s: %s", lock,
				  strerror(errno));
	return status;
}

static enum cairn_status data_dir_inspect_secret(const char *path, const char *given, struct cairn_diag *diag)
{
	char own[DATA_DIR_PATH_BYTES];
	struct cairn_secret secret;
	enum cairn_status status = data_dir_name(own, path, "secret", diag);
	if (status != CAIRN_OK || (!given && cairn_sys_access(own, F_OK) != 0))
		return status;
	status = cairn_secret_load(&secret, given ? given : own, false, diag);
	explicit_bzero(&secret, sizeof(secret));
	return status;
}

enum cairn_status cairn_data_dir_inspect(const char *path, const char *secret_file, const char *index, bool as_root,
					 struct cairn_data_dir_sight *out, struct cairn_diag *diag)
{
	struct stat st;
	*out = (struct cairn_data_dir_sight){.exists = cairn_sys_stat(path, &st) == 0};
	if (!out->exists && errno == ENOENT) {
		enum cairn_status status = data_dir_check_parent(path, as_root, diag);
		return status == CAIRN_OK && secret_file ? data_dir_inspect_secret(path, secret_file, diag) : status;
	}
	int error = !out->exists || cairn_sys_access(path, R_OK | W_OK | X_OK) != 0 ? errno
		    : S_ISDIR(st.st_mode)                                           ? 0
										    : ENOTDIR;
	if (error != 0)
		return cairn_fail(diag, CAIRN_E_IO, "data_dir.make", CAIRN_NO_OFFSET,
				  "cannot use the data folder %s: %s", path, strerror(error));
	enum cairn_status status = data_dir_refuse_half_restored(path, diag);
	if (status == CAIRN_OK)
		status = data_dir_inspect_lock(path, &out->in_use, diag);
	if (status == CAIRN_OK)
		status = data_dir_inspect_secret(path, secret_file, diag);
	return status == CAIRN_OK ? data_dir_inspect_inside(path, index, out, diag) : status;
}

bool cairn_data_dir_has(const char *dir, const char *path)
{
	char real[PATH_MAX], there[PATH_MAX], parent[DATA_DIR_PATH_BYTES];
	(void)snprintf(parent, sizeof(parent), "%s", path);
	if (!realpath(dir, real) || (!realpath(path, there) && !realpath(dirname(parent), there)))
		return false;
	size_t n = strlen(real);
	return strncmp(there, real, n) == 0 && (there[n] == '/' || there[n] == '\0');
}

enum cairn_status cairn_data_dir_find(const char *path, struct cairn_diag *diag)
{
	struct stat st;
	struct elsewhere e;
	char index[DATA_DIR_PATH_BYTES];
	enum cairn_status status = data_dir_name(index, path, "index.sqlite", diag);
	if (status == CAIRN_OK)
		status = elsewhere_read(&e, ELSEWHERE_INDEX, path, diag);
	if (status != CAIRN_OK || e.url[0])
		return status;
	if (cairn_sys_stat(path, &st) < 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "data_dir.missing", CAIRN_NO_OFFSET,
				  "cannot open this folder, which should be the data folder of a daemon: %s",
				  strerror(errno));
	if (cairn_sys_stat(index, &st) < 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "data_dir.missing", CAIRN_NO_OFFSET,
				  "is not the data folder of a daemon: it has no index.sqlite");
	return CAIRN_OK;
}
