#include "archive/tiledb/array.h"

#include "archive/tiledb/folder.h"
#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARRAY_COMMITS_BYTES_MAX = 64 << 20 }; /* most bytes of a list of consolidated commits */

/* --- valid fragments ---------------------------------------------------------------------------------------------- */

/* The content of __commits: committed fragments, and those to skip: replaced by consolidated ones, or ignored. */
struct array_commits {
	struct cairn_tiledb_names committed, gone;
};

static void array_commits_fini(struct array_commits *c)
{
	cairn_tiledb_names_fini(&c->committed);
	cairn_tiledb_names_fini(&c->gone);
}

static bool array_ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);
	return len > n && memcmp(text + len - n, end, n) == 0;
}

/* Reads the last part of each path in a list. @param suffix required end of each path, which is cut off */
static enum cairn_status array_read_list(struct cairn_tiledb_names *out, int dir_fd, const char *path,
					 const char *suffix, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf text = cairn_buf_init(ARRAY_COMMITS_BYTES_MAX);
	enum cairn_status status = cairn_tiledb_file_read(&text, dir_fd, path, ARRAY_COMMITS_BYTES_MAX, diag);
	if (status != CAIRN_OK)
		return status;
	for (size_t at = 0; status == CAIRN_OK && at < text.len;) {
		const char *line = (const char *)text.bytes + at;
		const char *end = memchr(line, '\n', text.len - at);
		size_t len = end ? (size_t)(end - line) : text.len - at;
		const char *slash = memrchr(line, '/', len);
		const char *name = slash ? slash + 1 : line;
		size_t name_len = (size_t)(line + len - name);
		if (*suffix && !array_ends_with(name, name_len, suffix))
			return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.unsupported", at,
					  "%s: a line that names no %s: deletes and updates are not supported", path,
					  suffix);
		if (len > 0)
			status = cairn_tiledb_names_add(out, name, name_len - strlen(suffix));
		at += len + 1;
	}
	return status;
}

static enum cairn_status array_read_commit(struct array_commits *out, int dir_fd, const char *name,
					   struct cairn_diag *diag)
{
	char path[CAIRN_TILEDB_PATH_BYTES];
	size_t len = strlen(name);
	cairn_tiledb_path(path, CAIRN_TILEDB_COMMITS_DIR, name);
	if (array_ends_with(name, len, ".wrt"))
		return cairn_tiledb_names_add(&out->committed, name, len - 4);
	if (array_ends_with(name, len, ".con"))
		return array_read_list(&out->committed, dir_fd, path, ".wrt", diag);
	if (array_ends_with(name, len, ".vac"))
		return array_read_list(&out->gone, dir_fd, path, "", diag);
	if (array_ends_with(name, len, ".ign"))
		return array_read_list(&out->gone, dir_fd, path, ".wrt", diag);
	if (array_ends_with(name, len, ".del") || array_ends_with(name, len, ".upd"))
		return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.unsupported", CAIRN_NO_OFFSET,
				  "%s: deletes and updates are not supported", path);
	return CAIRN_OK; /* written by later versions; TileDB skips such files, too */
}

static enum cairn_status array_add_fragment(struct cairn_tiledb_array *a, const char *name, struct cairn_diag *diag)
{
	struct cairn_tiledb_name parts;
	if (!cairn_tiledb_name_parse(&parts, name) || parts.version == 0)
		return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.name", CAIRN_NO_OFFSET,
				  "%s/%.80s: not the name of a fragment", CAIRN_TILEDB_COMMITS_DIR, name);
	if (parts.version < CAIRN_TILEDB_VERSION_MIN || parts.version > CAIRN_TILEDB_VERSION) {
		(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.version", CAIRN_NO_OFFSET,
				 "%s/%s: the fragment is of a version that is not supported",
				 CAIRN_TILEDB_FRAGMENTS_DIR, name);
		cairn_diag_numbers(diag, CAIRN_TILEDB_VERSION, parts.version);
		return CAIRN_E_FORMAT;
	}
	a->fragments[a->n_fragments] = strdup(name);
	return a->fragments[a->n_fragments] ? (a->n_fragments++, CAIRN_OK) : CAIRN_E_NOMEM;
}

static enum cairn_status array_read_commits(struct cairn_tiledb_array *a, struct cairn_diag *diag)
{
	CLEANUP(array_commits_fini) struct array_commits commits = {0};
	CLEANUP(cairn_tiledb_names_fini) struct cairn_tiledb_names files = {0}, folders = {0};
	enum cairn_status status = cairn_tiledb_folder_list(&files, a->dir_fd, CAIRN_TILEDB_COMMITS_DIR, diag);
	for (uint32_t i = 0; i < files.n && status == CAIRN_OK; i++)
		status = array_read_commit(&commits, a->dir_fd, files.items[i], diag);
	if (status == CAIRN_OK)
		status = cairn_tiledb_folder_list(&folders, a->dir_fd, CAIRN_TILEDB_FRAGMENTS_DIR, diag);
	if (status == CAIRN_E_LIMIT && diag && !diag->rule)
		return cairn_fail(diag, status, "tiledb.limit", CAIRN_NO_OFFSET, "%s: names over %d fragments",
				  CAIRN_TILEDB_COMMITS_DIR, CAIRN_TILEDB_FRAGMENTS_MAX);
	if (status != CAIRN_OK)
		return status;
	cairn_tiledb_names_sort(&commits.committed);
	cairn_tiledb_names_sort(&commits.gone);
	a->fragments = calloc(commits.committed.n ? commits.committed.n : 1, sizeof(*a->fragments));
	if (!a->fragments)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < commits.committed.n && status == CAIRN_OK; i++) {
		if (!cairn_tiledb_names_has(&commits.gone, commits.committed.items[i]))
			status = array_add_fragment(a, commits.committed.items[i], diag);
	}
	for (uint32_t i = 0; i < folders.n; i++)
		a->n_ignored += !cairn_tiledb_names_has(&commits.committed, folders.items[i]) ||
				cairn_tiledb_names_has(&commits.gone, folders.items[i]);
	return status;
}

/* --- schemas ------------------------------------------------------------------------------------------------------ */

static enum cairn_status array_read_schema(struct cairn_tiledb_array *a, const char *name,
					   struct cairn_tiledb_schema *out, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf file = cairn_buf_init(CAIRN_TILEDB_SCHEMA_BYTES_MAX);
	char path[CAIRN_TILEDB_PATH_BYTES];
	cairn_tiledb_path(path, CAIRN_TILEDB_SCHEMA_DIR, name);
	*out = (struct cairn_tiledb_schema){0};
	enum cairn_status status = cairn_tiledb_file_read(&file, a->dir_fd, path, CAIRN_TILEDB_SCHEMA_BYTES_MAX, diag);
	if (status != CAIRN_OK)
		return status;
	struct cairn_tiledb_view view = {file.bytes, file.len};
	return cairn_tiledb_blame(diag, cairn_tiledb_schema_read(out, a->codec, view, diag), path, 0);
}

/* Finds the newest schema: the last name, because names begin with times. */
static enum cairn_status array_find_schema(struct cairn_tiledb_array *a, struct cairn_diag *diag)
{
	CLEANUP(cairn_tiledb_names_fini) struct cairn_tiledb_names names = {0};
	enum cairn_status status = cairn_tiledb_folder_list(&names, a->dir_fd, CAIRN_TILEDB_SCHEMA_DIR, diag);
	if (status != CAIRN_OK)
		return status;
	for (uint32_t i = names.n; i > 0; i--) {
		struct cairn_tiledb_name parts;
		if (!cairn_tiledb_name_parse(&parts, names.items[i - 1]) || parts.version != 0)
			continue; /* the folder __enumerations */
		(void)snprintf(a->schema_name, sizeof(a->schema_name), "%s", names.items[i - 1]);
		return array_read_schema(a, a->schema_name, &a->schema, diag);
	}
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "tiledb.array", CAIRN_NO_OFFSET,
			  "is not a TileDB array: no schema in %s", CAIRN_TILEDB_SCHEMA_DIR);
}

bool cairn_tiledb_is_array(const char *path)
{
	struct stat st;
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	return fd >= 0 && cairn_sys_fstatat(fd, CAIRN_TILEDB_SCHEMA_DIR, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

enum cairn_status cairn_tiledb_array_open(struct cairn_tiledb_array *out, const char *path, struct cairn_diag *diag)
{
	*out = (struct cairn_tiledb_array){.dir_fd = cairn_sys_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)};
	if (out->dir_fd < 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "tiledb.array", CAIRN_NO_OFFSET, "%s", strerror(errno));
	out->codec = cairn_tiledb_codec_new();
	if (!out->codec)
		return CAIRN_E_NOMEM;
	enum cairn_status status = array_find_schema(out, diag);
	return status == CAIRN_OK ? array_read_commits(out, diag) : status;
}

void cairn_tiledb_array_fini(struct cairn_tiledb_array *array)
{
	for (uint32_t i = 0; i < array->n_fragments; i++)
		free(array->fragments[i]);
	free(array->fragments);
	cairn_tiledb_schema_fini(&array->schema);
	cairn_tiledb_codec_freep(&array->codec);
	cairn_fd_closep(&array->dir_fd);
	*array = (struct cairn_tiledb_array){.dir_fd = -1};
}

/* --- a fragment --------------------------------------------------------------------------------------------------- */

static enum cairn_status reader_read_meta(struct cairn_tiledb_reader *r, struct cairn_tiledb_view file,
					  const char *path, struct cairn_diag *diag)
{
	char schema_name[CAIRN_TILEDB_NAME_MAX + 1];
	enum cairn_status status = cairn_tiledb_fragment_schema(file, schema_name, diag);
	if (status != CAIRN_OK)
		return cairn_tiledb_blame(diag, status, path, 0);
	status = array_read_schema(r->array, schema_name, &r->schema, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_tiledb_fragment_read(&r->fragment, r->array->codec, &r->schema, r->when.version, file, diag);
	return cairn_tiledb_blame(diag, status, path, 0);
}

/* Checks that files have exactly the length in the metadata: nobody would read the rest of a longer file. */
static enum cairn_status reader_check_files(struct cairn_tiledb_reader *r, struct cairn_diag *diag)
{
	for (uint32_t i = 0; i < cairn_tiledb_schema_slots(&r->schema); i++) {
		for (unsigned file = 0; file < CAIRN_TILEDB_FILES; file++) {
			char name[CAIRN_TILEDB_FILE_NAME_BYTES];
			enum cairn_status status;
			uint64_t wanted = r->fragment.slots[i].file_bytes[file], len = 0;
			if (wanted == 0 || !cairn_tiledb_schema_field(&r->schema, i))
				continue;
			cairn_tiledb_file_name(name, &r->schema, i, file);
			CLEANUP(cairn_fd_closep) int fd = cairn_tiledb_file_open(r->dir_fd, name, &len, &status, diag);
			if (fd >= 0 && len != wanted) {
				status = cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.size", len,
						    "%s: the file does not have the length in the metadata", name);
				cairn_diag_numbers(diag, wanted, len);
			}
			if (status != CAIRN_OK)
				return status;
		}
	}
	return CAIRN_OK;
}

enum cairn_status cairn_tiledb_reader_open(struct cairn_tiledb_reader *out, struct cairn_tiledb_array *array,
					   const char *name, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf file = cairn_buf_init(CAIRN_TILEDB_META_BYTES_MAX);
	char folder[CAIRN_TILEDB_PATH_BYTES], path[2 * CAIRN_TILEDB_PATH_BYTES];
	*out = (struct cairn_tiledb_reader){.array = array, .dir_fd = -1};
	(void)snprintf(out->name, sizeof(out->name), "%s", name);
	if (!cairn_tiledb_name_parse(&out->when, name))
		return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.name", CAIRN_NO_OFFSET,
				  "%.80s: not the name of a fragment", name);
	cairn_tiledb_path(folder, CAIRN_TILEDB_FRAGMENTS_DIR, name);
	(void)snprintf(path, sizeof(path), "%s/%s", folder, CAIRN_TILEDB_META_FILE);
	out->dir_fd = cairn_sys_openat(array->dir_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (out->dir_fd < 0)
		return cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.missing", CAIRN_NO_OFFSET, "%s: %s", folder,
				  strerror(errno));
	enum cairn_status status =
		cairn_tiledb_file_read(&file, array->dir_fd, path, CAIRN_TILEDB_META_BYTES_MAX, diag);
	if (status != CAIRN_OK)
		return status;
	out->meta_bytes = file.len;
	status = reader_read_meta(out, (struct cairn_tiledb_view){file.bytes, file.len}, path, diag);
	if (status != CAIRN_OK)
		return status;
	return cairn_tiledb_blame(diag, reader_check_files(out, diag), folder, 0);
}

void cairn_tiledb_reader_fini(struct cairn_tiledb_reader *r)
{
	cairn_tiledb_fragment_fini(&r->fragment);
	cairn_tiledb_schema_fini(&r->schema);
	cairn_fd_closep(&r->dir_fd);
	*r = (struct cairn_tiledb_reader){.dir_fd = -1};
}
