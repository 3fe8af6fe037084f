#include "cli/hub/import_source.h"

#include "base/fd.h"
#include "base/folder.h"
#include "base/sys.h"
#include "cli/common/cli.h"
#include "hub/revision.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SOURCE_REF_DEPTH_MAX = 8 };

void import_source_fini(struct import_source *source)
{
	for (size_t i = 0; i < source->n; i++) {
		struct import_snapshot *one = &source->snapshots[i];
		for (size_t tag = 0; tag < one->n_tags; tag++)
			free(one->tags[tag]);
		free(one->tags);
		free(one->path);
	}
	free(source->snapshots);
	free(source->folder);
	free(source->inner);
	*source = (struct import_source){0};
}

static bool source_is_id(const char *text)
{
	return strlen(text) == IMPORT_ID_CHARS && strspn(text, "0123456789abcdef") == IMPORT_ID_CHARS;
}

static enum cairn_status source_unreadable(const char *path, struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "folder.read", CAIRN_NO_OFFSET, "cannot read %.120s: %s", path,
			  strerror(errno));
}

/* Is there a folder of this name, or a link to one? Reports failures other than ENOENT. */
static enum cairn_status source_is_folder(const char *path, bool *is_folder, struct cairn_diag *diag)
{
	struct stat st;
	*is_folder = false;
	if (cairn_sys_stat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ? CAIRN_OK : source_unreadable(path, diag);
	*is_folder = S_ISDIR(st.st_mode);
	return CAIRN_OK;
}

static int source_open(const char *folder)
{
	return cairn_sys_open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
}

static enum cairn_status source_add(struct import_source *source, const char *folder, const char *id,
				    struct cairn_diag *diag)
{
	struct stat st;
	if (source->n == IMPORT_SNAPSHOTS_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "import.snapshots", CAIRN_NO_OFFSET,
				  "the cache has more than %d snapshots", IMPORT_SNAPSHOTS_MAX);
	void *more = realloc(source->snapshots, (source->n + 1) * sizeof(*source->snapshots));
	if (!more)
		return CAIRN_E_NOMEM;
	source->snapshots = more;
	struct import_snapshot *one = &source->snapshots[source->n];
	*one = (struct import_snapshot){.is_main = *id == '\0'};
	(void)snprintf(one->id, sizeof(one->id), "%s", id);
	if (asprintf(&one->path, "%s%s%s", folder, *id ? "/" : "", id) < 0)
		return CAIRN_E_NOMEM;
	source->n++;
	if (cairn_sys_stat(one->path, &st) < 0)
		return source_unreadable(one->path, diag);
	one->at_unix_s = (int64_t)st.st_mtime;
	return CAIRN_OK;
}

static enum cairn_status source_snapshots(struct import_source *source, const char *folder, struct cairn_diag *diag)
{
	CLEANUP(cairn_folder_close) struct cairn_folder dir = {0};
	const char *name = NULL;
	if (cairn_folder_open(&dir, source_open(folder)) != CAIRN_OK)
		return source_unreadable(folder, diag);
	do {
		if (cairn_folder_next(&dir, &name) != CAIRN_OK)
			return source_unreadable(folder, diag);
		enum cairn_status status =
			name && source_is_id(name) ? source_add(source, folder, name, diag) : CAIRN_OK;
		if (status != CAIRN_OK)
			return status;
	} while (name);
	if (source->n == 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "import.source", CAIRN_NO_OFFSET,
				  "the cache has no snapshot in %.120s", folder);
	return CAIRN_OK;
}

static enum cairn_status source_add_tag(struct import_snapshot *one, const char *name, struct cairn_diag *diag)
{
	if (!cairn_hub_ref_is_good(name)) {
		cli_error("%s of the cache cannot be the name of a tag, and is left out", name);
		return CAIRN_OK;
	}
	if (one->n_tags == IMPORT_SNAPSHOTS_MAX)
		return cairn_fail(diag, CAIRN_E_LIMIT, "import.snapshots", CAIRN_NO_OFFSET,
				  "the cache has more than %d refs of %s", IMPORT_SNAPSHOTS_MAX, one->id);
	void *more = realloc(one->tags, (one->n_tags + 1) * sizeof(*one->tags));
	if (!more)
		return CAIRN_E_NOMEM;
	one->tags = more;
	one->tags[one->n_tags] = strdup(name);
	if (!one->tags[one->n_tags])
		return CAIRN_E_NOMEM;
	one->n_tags++;
	return CAIRN_OK;
}

/* Reads a branch or tag that names a commit. Ignores refs of pull requests. */
static enum cairn_status source_take_ref(struct import_source *source, const char *path, const char *name,
					 struct cairn_diag *diag)
{
	char id[IMPORT_ID_CHARS + 2] = "";
	size_t n = 0;
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0 || cairn_fd_read_upto(fd, id, IMPORT_ID_CHARS + 1, &n) != CAIRN_OK)
		return source_unreadable(path, diag);
	id[n < IMPORT_ID_CHARS ? n : IMPORT_ID_CHARS] = '\0';
	for (size_t i = 0; i < source->n; i++) {
		struct import_snapshot *one = &source->snapshots[i];
		if (strcmp(one->id, id) != 0)
			continue;
		if (strcmp(name, "main") == 0)
			one->is_main = true;
		else if (strncmp(name, "refs/", 5) != 0 && !source_is_id(name))
			return source_add_tag(one, name, diag);
	}
	return CAIRN_OK;
}

static enum cairn_status source_refs(struct import_source *source, const char *folder, const char *prefix,
				     unsigned depth, struct cairn_diag *diag);

/* Reads an entry of a folder of refs. Skips links, because they may form a loop. */
static enum cairn_status source_ref_entry(struct import_source *source, const char *path, const char *name,
					  unsigned depth, struct cairn_diag *diag)
{
	struct stat st;
	char *inner = NULL;
	enum cairn_status status = cairn_folder_stat(AT_FDCWD, path, &st);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : source_unreadable(path, diag);
	if (S_ISREG(st.st_mode))
		return source_take_ref(source, path, name, diag);
	if (!S_ISDIR(st.st_mode))
		return CAIRN_OK;
	if (asprintf(&inner, "%s/", name) < 0)
		return CAIRN_E_NOMEM;
	status = source_refs(source, path, inner, depth + 1, diag);
	free(inner);
	return status;
}

/* Reads a folder of refs. @param prefix  beginning of its names: "", or "feature/" */
static enum cairn_status source_refs(struct import_source *source, const char *folder, const char *prefix,
				     unsigned depth, struct cairn_diag *diag)
{
	CLEANUP(cairn_folder_close) struct cairn_folder dir = {0};
	enum cairn_status status = CAIRN_OK;
	const char *entry = NULL;
	if (depth > SOURCE_REF_DEPTH_MAX)
		return CAIRN_OK; /* a snapshot without refs is named by its id */
	if (cairn_folder_open(&dir, source_open(folder)) != CAIRN_OK)
		return errno == ENOENT || errno == ENOTDIR ? CAIRN_OK : source_unreadable(folder, diag);
	while (status == CAIRN_OK) {
		char *path = NULL, *name = NULL;
		if (cairn_folder_next(&dir, &entry) != CAIRN_OK)
			return source_unreadable(folder, diag);
		if (!entry)
			break;
		if (asprintf(&path, "%s/%s", folder, entry) < 0)
			return CAIRN_E_NOMEM;
		if (asprintf(&name, "%s%s", prefix, entry) < 0) {
			name = NULL;
			status = CAIRN_E_NOMEM;
		} else {
			status = source_ref_entry(source, path, name, depth, diag);
		}
		free(name);
		free(path);
	}
	return status;
}

static int source_compare(const void *a, const void *b)
{
	const struct import_snapshot *one = a, *other = b;
	if (one->is_main != other->is_main)
		return one->is_main ? 1 : -1;
	if (one->at_unix_s != other->at_unix_s)
		return one->at_unix_s < other->at_unix_s ? -1 : 1;
	return strcmp(one->id, other->id);
}

static enum cairn_status source_read_cache(struct import_source *source, const char *folder, struct cairn_diag *diag)
{
	char *snapshots = NULL, *refs = NULL;
	enum cairn_status status = CAIRN_E_NOMEM;
	source->is_cache = true;
	if (asprintf(&snapshots, "%s/snapshots", folder) < 0)
		snapshots = NULL;
	if (asprintf(&refs, "%s/refs", folder) < 0)
		refs = NULL;
	if (snapshots && refs)
		status = source_snapshots(source, snapshots, diag);
	if (status == CAIRN_OK)
		status = source_refs(source, refs, "", 1, diag);
	free(snapshots);
	free(refs);
	if (status != CAIRN_OK)
		return status;
	qsort(source->snapshots, source->n, sizeof(*source->snapshots), source_compare);
	source->snapshots[source->n - 1].is_main = true; /* there is no snapshot of main: take the newest */
	return CAIRN_OK;
}

static enum cairn_status source_has_snapshots(const char *folder, bool *has, struct cairn_diag *diag)
{
	char *snapshots = NULL;
	if (asprintf(&snapshots, "%s/snapshots", folder) < 0)
		return CAIRN_E_NOMEM;
	enum cairn_status status = source_is_folder(snapshots, has, diag);
	free(snapshots);
	return status;
}

/* Does a folder look like a cache of several repositories? */
static enum cairn_status source_is_cache_of_several(const char *folder, bool *is_cache, struct cairn_diag *diag)
{
	CLEANUP(cairn_folder_close) struct cairn_folder dir = {0};
	const char *name = NULL;
	enum cairn_status status = cairn_folder_open(&dir, source_open(folder));
	*is_cache = false;
	while (status == CAIRN_OK && !*is_cache && (status = cairn_folder_next(&dir, &name)) == CAIRN_OK && name)
		*is_cache = strncmp(name, "models--", 8) == 0 || strncmp(name, "datasets--", 10) == 0 ||
			    strncmp(name, "spaces--", 8) == 0;
	return status == CAIRN_OK ? CAIRN_OK : source_unreadable(folder, diag);
}

/* Finds the folder of this repository in a cache of several. */
static enum cairn_status source_in_cache(struct import_source *out, const char *folder, bool *is_there,
					 struct cairn_diag *diag)
{
	char *path = NULL;
	if (asprintf(&path, "%s/%s", folder, out->inner) < 0)
		return CAIRN_E_NOMEM;
	enum cairn_status status = source_has_snapshots(path, is_there, diag);
	if (status == CAIRN_OK && *is_there)
		status = source_read_cache(out, path, diag);
	free(path);
	return status;
}

enum cairn_status import_source_read(struct import_source *out, const char *folder, const char *prefix,
				     const char *repository, struct cairn_diag *diag)
{
	const char *slash = strchr(repository, '/');
	bool is_there;
	*out = (struct import_source){.folder = strdup(folder)};
	if (!out->folder)
		return CAIRN_E_NOMEM;
	CLEANUP(cairn_fd_closep) int fd = source_open(folder);
	if (fd < 0)
		return source_unreadable(folder, diag);
	enum cairn_status status = source_has_snapshots(folder, &is_there, diag);
	if (status != CAIRN_OK || is_there)
		return status == CAIRN_OK ? source_read_cache(out, folder, diag) : status;
	if (asprintf(&out->inner, "%s--%.*s--%s", prefix, (int)(slash - repository), repository, slash + 1) < 0) {
		out->inner = NULL;
		return CAIRN_E_NOMEM;
	}
	status = source_in_cache(out, folder, &is_there, diag);
	if (status != CAIRN_OK || is_there)
		return status;
	free(out->inner);
	out->inner = NULL;
	status = source_is_cache_of_several(folder, &is_there, diag);
	if (status != CAIRN_OK)
		return status;
	if (is_there)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "import.source", CAIRN_NO_OFFSET,
				  "this cache has nothing of %.100s: name the folder of a repository in it "
				  "(%s--TEAM--NAME)",
				  repository, prefix);
	return source_add(out, folder, "", diag);
}
