#include "cli/hub/import_source.h"

#include "base/fd.h"
#include "cli/common/cli.h"
#include "hub/revision.h"

#include <dirent.h>
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

static void source_closep(DIR **dir)
{
	if (*dir)
		(void)closedir(*dir);
}

static bool source_is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
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

/* --- snapshots ---------------------------------------------------------------------------------------------------- */

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
	if (stat(one->path, &st) == 0)
		one->at_unix_s = (int64_t)st.st_mtime;
	return CAIRN_OK;
}

static enum cairn_status source_snapshots(struct import_source *source, const char *folder, struct cairn_diag *diag)
{
	CLEANUP(source_closep) DIR *dir = opendir(folder);
	if (!dir)
		return source_unreadable(folder, diag);
	enum cairn_status status = CAIRN_OK;
	for (const struct dirent *e = readdir(dir); e && status == CAIRN_OK; e = readdir(dir))
		if (source_is_id(e->d_name))
			status = source_add(source, folder, e->d_name, diag);
	if (status == CAIRN_OK && source->n == 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "import.source", CAIRN_NO_OFFSET,
				  "the cache has no snapshot in %.120s", folder);
	return status;
}

/* --- refs --------------------------------------------------------------------------------------------------------- */

static enum cairn_status source_add_tag(struct import_snapshot *one, const char *name, struct cairn_diag *diag)
{
	if (!cairn_hub_ref_is_good(name)) {
		cli_error("%s of the cache can be no name of a tag, and is left out", name);
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

/* A ref that says which commit it is. What a pull request was is not kept. */
static enum cairn_status source_take_ref(struct import_source *source, const char *path, const char *name,
					 struct cairn_diag *diag)
{
	char id[IMPORT_ID_CHARS + 2] = "";
	size_t n = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return CAIRN_OK;
	if (cairn_fd_read_upto(fd, id, IMPORT_ID_CHARS + 1, &n) != CAIRN_OK)
		n = 0;
	cairn_fd_closep(&fd);
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

/* @param prefix  of the names in it: "", or "feature/" */
static enum cairn_status source_refs(struct import_source *source, const char *folder, const char *prefix,
				     unsigned depth, struct cairn_diag *diag)
{
	CLEANUP(source_closep) DIR *dir = opendir(folder);
	enum cairn_status status = CAIRN_OK;
	struct stat st;
	if (!dir || depth > SOURCE_REF_DEPTH_MAX)
		return CAIRN_OK; /* a snapshot has a name without them, too */
	for (const struct dirent *e = readdir(dir); e && status == CAIRN_OK; e = readdir(dir)) {
		char *path = NULL, *name = NULL;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (asprintf(&path, "%s/%s", folder, e->d_name) < 0)
			return CAIRN_E_NOMEM;
		bool is_folder = lstat(path, &st) == 0 && S_ISDIR(st.st_mode); /* a link may lead around */
		if (asprintf(&name, "%s%s%s", prefix, e->d_name, is_folder ? "/" : "") < 0) {
			name = NULL;
			status = CAIRN_E_NOMEM;
		} else if (is_folder) {
			status = source_refs(source, path, name, depth + 1, diag);
		} else {
			status = source_take_ref(source, path, name, diag);
		}
		free(name);
		free(path);
	}
	return status;
}

/* --- a cache ------------------------------------------------------------------------------------------------------ */

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
	source->snapshots[source->n - 1].is_main = true; /* none is called so: the newest */
	return CAIRN_OK;
}

static bool source_has_snapshots(const char *folder)
{
	char *snapshots = NULL;
	bool has = asprintf(&snapshots, "%s/snapshots", folder) >= 0 && source_is_folder(snapshots);
	free(snapshots);
	return has;
}

/* Does a cache of several repositories look so? */
static bool source_is_cache_of_several(const char *folder)
{
	CLEANUP(source_closep) DIR *dir = opendir(folder);
	bool found = false;
	for (const struct dirent *e = dir ? readdir(dir) : NULL; e && !found; e = readdir(dir))
		found = strncmp(e->d_name, "models--", 8) == 0 || strncmp(e->d_name, "datasets--", 10) == 0 ||
			strncmp(e->d_name, "spaces--", 8) == 0;
	return found;
}

static enum cairn_status source_in_cache(struct import_source *out, const char *folder, struct cairn_diag *diag)
{
	char *path = NULL;
	if (asprintf(&path, "%s/%s", folder, out->inner) < 0)
		return CAIRN_E_NOMEM;
	enum cairn_status status = source_read_cache(out, path, diag);
	free(path);
	return status;
}

enum cairn_status import_source_read(struct import_source *out, const char *folder, const char *prefix,
				     const char *repository, struct cairn_diag *diag)
{
	const char *slash = strchr(repository, '/');
	char *path = NULL;
	*out = (struct import_source){.folder = strdup(folder)};
	if (!out->folder)
		return CAIRN_E_NOMEM;
	errno = ENOTDIR; /* of a file, stat() leaves it */
	if (!source_is_folder(folder))
		return source_unreadable(folder, diag);
	if (source_has_snapshots(folder))
		return source_read_cache(out, folder, diag);
	if (asprintf(&out->inner, "%s--%.*s--%s", prefix, (int)(slash - repository), repository, slash + 1) < 0) {
		out->inner = NULL;
		return CAIRN_E_NOMEM;
	}
	if (asprintf(&path, "%s/%s", folder, out->inner) < 0)
		return CAIRN_E_NOMEM;
	bool is_there = source_has_snapshots(path);
	free(path);
	if (is_there)
		return source_in_cache(out, folder, diag);
	free(out->inner);
	out->inner = NULL;
	if (source_is_cache_of_several(folder))
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "import.source", CAIRN_NO_OFFSET,
				  "this cache has nothing of %.100s: name the folder of a repository in it "
				  "(%s--TEAM--NAME)",
				  repository, prefix);
	return source_add(out, folder, "", diag);
}
