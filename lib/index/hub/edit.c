#include "index/hub/edit.h"

#include "index/hub/entries.h"
#include "index/quota.h"

#include "base/sum.h"

#include <stdlib.h>
#include <string.h>

enum {
	/* most rows written for the operations of one transaction */
	EDIT_ROWS_AT_ONCE = 2 * CAIRN_INDEX_OPERATIONS_AT_ONCE,
	/* most rows read for the ids of folders in one transaction */
	EDIT_READS_AT_ONCE = 10 * CAIRN_INDEX_OPERATIONS_AT_ONCE,
};

static enum cairn_status edit_find(struct cairn_edit *edit, const char *folder, const char *name,
				   struct cairn_edit_entry *out)
{
	return edit->engine->find(edit->ctx, folder, name, out);
}

/* Counts a new row, unless it replaces a row of this commit. */
static enum cairn_status edit_write(struct cairn_edit *edit, const char *folder, const char *name,
				    const struct cairn_edit_entry *before, const struct cairn_edit_entry *after)
{
	edit->n_written++;
	if (before->since != edit->commit)
		cairn_add(&edit->row_bytes, (int64_t)(CAIRN_INDEX_ROW_BYTES + strlen(folder) + strlen(name)));
	return edit->engine->write(edit->ctx, folder, name, before, after);
}

/* @param oid  NULL: removes the entry */
static enum cairn_status edit_write_folder(struct cairn_edit *edit, const char *folder, const char *name,
					   const struct cairn_edit_entry *before, const struct cairn_git_oid *oid)
{
	struct cairn_edit_entry after = {.found = oid != NULL};
	if (oid)
		after.oid = *oid;
	return edit_write(edit, folder, name, before, &after);
}

/* --- folders ------------------------------------------------------------------------------------------------------ */

void cairn_edit_fini(struct cairn_edit *edit)
{
	for (size_t i = 0; i < edit->n_folders; i++)
		free(edit->folders[i]);
	free(edit->folders);
}

/* Records that an entry of this folder changed. */
static enum cairn_status edit_touch(struct cairn_edit *edit, const char *folder)
{
	if (edit->n_folders > 0 && strcmp(edit->folders[edit->n_folders - 1], folder) == 0)
		return CAIRN_OK;
	if (edit->n_folders == edit->folders_cap) {
		size_t cap = edit->folders_cap ? edit->folders_cap * 2 : 64;
		char **folders = realloc(edit->folders, cap * sizeof(*folders));
		if (!folders)
			return CAIRN_E_NOMEM;
		edit->folders = folders;
		edit->folders_cap = cap;
	}
	char *copy = strdup(folder);
	if (!copy)
		return CAIRN_E_NOMEM;
	edit->folders[edit->n_folders++] = copy;
	return CAIRN_OK;
}

static enum cairn_status edit_conflict(struct cairn_edit *edit, const char *path, const char *what)
{
	return cairn_fail(edit->diag, CAIRN_E_CONFLICT, "commit.path", CAIRN_NO_OFFSET, "\"%.150s\" is a %s", path,
			  what);
}

static enum cairn_status edit_limit(struct cairn_edit *edit, int max, const char *what)
{
	return cairn_fail(edit->diag, CAIRN_E_LIMIT, "commit.rows", CAIRN_NO_OFFSET,
			  "more than %d %s; make several commits", max, what);
}

static enum cairn_status edit_count(struct cairn_edit *edit)
{
	uint32_t max = edit->few ? CAIRN_INDEX_STRANGER_ROWS_MAX : CAIRN_INDEX_COMMIT_ROWS_MAX;
	return edit->n_changed++ < max ? CAIRN_OK : edit_limit(edit, (int)max, "files change");
}

static enum cairn_status edit_limit_folders(struct cairn_edit *edit, uint32_t n)
{
	uint32_t max = edit->few ? CAIRN_INDEX_STRANGER_ROWS_MAX : CAIRN_INDEX_COMMIT_FOLDERS_MAX;
	return n <= max ? CAIRN_OK : edit_limit(edit, (int)max, "folders change");
}

/* Makes the missing folders of a path. They get their ids at the end. */
static enum cairn_status edit_make_folder(struct cairn_edit *edit, const char *path)
{
	static const struct cairn_git_oid NONE;
	char at[CAIRN_INDEX_PATH_MAX + 1], folder[CAIRN_INDEX_PATH_MAX + 1];
	enum cairn_status status = edit_touch(edit, path);
	(void)memccpy(at, path, '\0', sizeof(at));
	while (status == CAIRN_OK && at[0]) {
		struct cairn_edit_entry entry;
		const char *name = cairn_entries_split(at, folder);
		status = edit_find(edit, folder, name, &entry);
		if (status == CAIRN_OK && entry.found)
			return entry.content == 0 ? CAIRN_OK : edit_conflict(edit, at, "file");
		if (status == CAIRN_OK)
			status = edit_limit_folders(edit, ++edit->n_folder_rows);
		if (status == CAIRN_OK)
			status = edit_write_folder(edit, folder, name, &entry, &NONE);
		(void)memccpy(at, folder, '\0', sizeof(at));
	}
	return status;
}

/* --- deleting ----------------------------------------------------------------------------------------------------- */

static enum cairn_status edit_drop(struct cairn_edit *edit, const char *folder, const char *name,
				   const struct cairn_edit_entry *entry)
{
	if (entry->content != 0) {
		edit->n_files--;
		edit->bytes = cairn_difference(edit->bytes, entry->size_bytes);
	}
	enum cairn_status status = edit_touch(edit, folder);
	return status == CAIRN_OK ? edit_write_folder(edit, folder, name, entry, NULL) : status;
}

/* Paths of the entries of a folder. */
struct edit_paths {
	char **all; /* there may be more paths */
	size_t n, cap;
	bool is_full; /* there may be more */
};

static void edit_paths_fini(struct edit_paths *paths)
{
	for (size_t i = 0; i < paths->n; i++)
		free(paths->all[i]);
	free(paths->all);
}

static enum cairn_status edit_paths_add(struct edit_paths *paths, const char *folder, const char *name)
{
	size_t folder_len = strlen(folder), name_len = strlen(name);
	if (paths->n == paths->cap) {
		size_t cap = paths->cap ? paths->cap * 2 : 64;
		char **all = realloc(paths->all, cap * sizeof(*all));
		if (!all)
			return CAIRN_E_NOMEM;
		paths->all = all;
		paths->cap = cap;
	}
	char *path = malloc(folder_len + name_len + 2);
	if (!path)
		return CAIRN_E_NOMEM;
	memcpy(path, folder, folder_len);
	path[folder_len] = '/';
	memcpy(path + folder_len + 1, name, name_len + 1);
	paths->all[paths->n++] = path;
	return CAIRN_OK;
}

/* Begins no scan after too many rows were read: each scan reads the rows of deleted entries again. A scan that began is
 * finished, so that a folder of any size can be deleted. */
static enum cairn_status edit_may_scan(struct cairn_edit *edit)
{
	uint64_t max = edit->few ? CAIRN_INDEX_STRANGER_ROWS_MAX : CAIRN_INDEX_COMMIT_SCAN_MAX;
	return edit->n_scanned <= max ? CAIRN_OK : edit_limit(edit, (int)max, "rows of folders are read");
}

struct edit_collecting {
	struct cairn_edit *edit;
	struct edit_paths *paths;
};

/* Collects a path. Ends the scan at as many paths as one piece deletes. */
static enum cairn_status edit_collect_one(void *ctx, const char *folder, const char *name, bool is_folder,
					  const struct cairn_git_oid *oid)
{
	struct edit_collecting *c = ctx;
	struct cairn_edit *edit = c->edit;
	(void)oid;
	enum cairn_status status = is_folder ? edit_limit_folders(edit, ++edit->n_folder_rows) : edit_count(edit);
	if (status == CAIRN_OK)
		status = edit_paths_add(c->paths, folder, name);
	if (status != CAIRN_OK)
		return status;
	edit->is_large = edit->ends_if_large && edit->n_changed + edit->n_folder_rows > CAIRN_INDEX_OPERATIONS_AT_ONCE;
	c->paths->is_full = c->paths->n == edit->piece_rows;
	(void)memccpy(edit->drop.folder, folder, '\0', sizeof(edit->drop.folder));
	(void)memccpy(edit->drop.name, name, '\0', sizeof(edit->drop.name));
	return edit->is_large || c->paths->is_full ? CAIRN_E_LIMIT : CAIRN_OK;
}

/* Collects the next entries, up to the end of the last folder, before any of them is changed. */
static enum cairn_status edit_collect(struct cairn_edit *edit, const char *last_folder, struct edit_paths *paths)
{
	struct edit_collecting c = {edit, paths};
	const struct cairn_edit_drop from = edit->drop;
	enum cairn_status status = edit->engine->scan(edit->ctx, from.folder, from.name, last_folder, edit_collect_one,
						      &c, &edit->n_scanned);
	return paths->is_full ? CAIRN_OK : status;
}

/* Collects the next entries of a folder that is being deleted: first its own, then those of its subfolders. */
static enum cairn_status edit_collect_next(struct cairn_edit *edit, const char *path, struct edit_paths *paths)
{
	struct cairn_entries_range below;
	struct cairn_edit_drop *drop = &edit->drop;
	enum cairn_status status = CAIRN_OK;
	cairn_entries_below(&below, path);
	if (!drop->is_below)
		status = edit_collect(edit, path, paths);
	if (!drop->is_below && !paths->is_full) {
		drop->is_below = true;
		(void)memccpy(drop->folder, below.folder, '\0', sizeof(drop->folder));
		drop->name[0] = '\0';
	}
	return status == CAIRN_OK && drop->is_below ? edit_collect(edit, below.last_folder, paths) : status;
}

/* Deletes the next entries of a folder, and after the last one the folder itself. */
static enum cairn_status edit_drop_next(struct cairn_edit *edit, const char *path, const char *folder, const char *name)
{
	CLEANUP(edit_paths_fini) struct edit_paths paths = {0};
	char in[CAIRN_INDEX_PATH_MAX + 1];
	struct cairn_edit_entry one;
	enum cairn_status status = edit_collect_next(edit, path, &paths);
	for (size_t i = 0; i < paths.n && status == CAIRN_OK; i++) {
		const char *one_name = cairn_entries_split(paths.all[i], in);
		status = one_name ? edit_find(edit, in, one_name, &one) : CAIRN_E_DAMAGED;
		if (status == CAIRN_OK)
			status = edit_drop(edit, in, one_name, &one);
	}
	edit->drop.goes_on = paths.is_full;
	if (status != CAIRN_OK || paths.is_full)
		return status;
	status = edit_find(edit, folder, name, &one);
	return status == CAIRN_OK ? edit_drop(edit, folder, name, &one) : status;
}

static enum cairn_status edit_drop_folder(struct cairn_edit *edit, const char *path, const char *folder,
					  const char *name)
{
	enum cairn_status status = edit_may_scan(edit);
	edit->drop = (struct cairn_edit_drop){.goes_on = true};
	(void)memccpy(edit->drop.folder, path, '\0', sizeof(edit->drop.folder));
	return status == CAIRN_OK ? edit_drop_next(edit, path, folder, name) : status;
}

static enum cairn_status edit_delete(struct cairn_edit *edit, const struct cairn_index_operation *o, const char *folder,
				     const char *name)
{
	struct cairn_edit_entry entry;
	enum cairn_status status = edit_find(edit, folder, name, &entry);
	if (status != CAIRN_OK)
		return status;
	bool is_file = entry.found && entry.content != 0;
	if (!entry.found && edit->again)
		return CAIRN_OK;
	if (!entry.found || (is_file && o->kind == CAIRN_INDEX_DELETE_FOLDER))
		return cairn_fail(edit->diag, CAIRN_E_NOT_FOUND, "entry.unknown", CAIRN_NO_OFFSET,
				  "A file with this name doesn't exist: \"%.150s\"", o->path);
	if (!is_file)
		return edit_drop_folder(edit, o->path, folder, name);
	status = edit_count(edit);
	return status == CAIRN_OK ? edit_drop(edit, folder, name, &entry) : status;
}

/* --- putting files ------------------------------------------------------------------------------------------------ */

/* Computes the git id of a file that is put, or of its pointer. */
static enum cairn_status edit_oid(const struct cairn_index_operation *o, uint64_t size_bytes, struct cairn_git_oid *out)
{
	char pointer[CAIRN_LFS_POINTER_BYTES_MAX];
	bool is_itself = o->kind == CAIRN_INDEX_PUT_INLINE || (o->kind == CAIRN_INDEX_PUT_ABSENT && !o->has_pointer);
	*out = o->oid;
	return is_itself ? CAIRN_OK : cairn_git_blob(out, pointer, cairn_lfs_pointer(pointer, o->sha256, size_bytes));
}

/* Is an equal file there already? An absent content must not replace one that has bytes. */
static enum cairn_status edit_is_there(const struct cairn_index_operation *o, const struct cairn_edit_entry *before,
				       bool *is_there)
{
	struct cairn_git_oid oid;
	*is_there = false;
	if (o->kind != CAIRN_INDEX_PUT_ABSENT || !before->found || before->content == 0)
		return CAIRN_OK;
	enum cairn_status status = edit_oid(o, o->size_bytes, &oid);
	*is_there = status == CAIRN_OK && cairn_git_oid_equal(&before->oid, &oid);
	return status;
}

static enum cairn_status edit_content(struct cairn_edit *edit, const struct cairn_index_operation *o,
				      struct cairn_edit_content *out)
{
	enum cairn_status status = edit->engine->content(edit->ctx, o, out);
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(edit->diag, CAIRN_E_CONFLICT, "commit.sha256", CAIRN_NO_OFFSET,
				  "the content of \"%.100s\" was not uploaded to this repository: upload it", o->path);
	return status == CAIRN_OK ? edit_oid(o, (uint64_t)out->size_bytes, &out->oid) : status;
}

/* Ends the scan at the first file. */
static enum cairn_status edit_is_file(void *ctx, const char *folder, const char *name, bool is_folder,
				      const struct cairn_git_oid *oid)
{
	(void)folder;
	(void)name;
	(void)oid;
	*(bool *)ctx = !is_folder;
	return is_folder ? CAIRN_OK : CAIRN_E_LIMIT;
}

static enum cairn_status edit_find_file(struct cairn_edit *edit, const char *folder, const char *last_folder,
					bool *found)
{
	enum cairn_status status =
		edit->engine->scan(edit->ctx, folder, "", last_folder, edit_is_file, found, &edit->n_scanned);
	return *found ? CAIRN_OK : status;
}

/* Begins to replace a folder by a file, if no file is left below the folder. Rows of folders below are removed here,
 * not at the end: otherwise a later operation could add files to them, below this file. */
static enum cairn_status edit_make_room(struct cairn_edit *edit, const char *path, const char *folder, const char *name)
{
	struct cairn_entries_range below;
	bool found = false;
	cairn_entries_below(&below, path);
	enum cairn_status status = edit_may_scan(edit);
	if (status == CAIRN_OK)
		status = edit_find_file(edit, path, path, &found);
	if (status == CAIRN_OK && !found)
		status = edit_find_file(edit, below.folder, below.last_folder, &found);
	if (status == CAIRN_OK && found)
		return edit_conflict(edit, path, "folder");
	return status == CAIRN_OK ? edit_drop_folder(edit, path, folder, name) : status;
}

static enum cairn_status edit_put(struct cairn_edit *edit, const struct cairn_index_operation *o, const char *folder,
				  const char *name)
{
	struct cairn_edit_content content = {0};
	struct cairn_edit_entry before;
	bool is_there = false;
	enum cairn_status status = edit_find(edit, folder, name, &before);
	if (status == CAIRN_OK)
		status = edit_is_there(o, &before, &is_there);
	if (is_there)
		return CAIRN_OK;
	if (status == CAIRN_OK && before.found && before.content == 0) {
		status = edit_make_room(edit, o->path, folder, name);
		if (status != CAIRN_OK || edit->drop.goes_on)
			return status;
		status = edit_find(edit, folder, name, &before);
	}
	if (status == CAIRN_OK)
		status = edit_content(edit, o, &content);
	if (status != CAIRN_OK || (before.found && before.content == content.id))
		return status;
	bool replaces = before.found && before.content != 0;
	if (replaces && cairn_git_oid_equal(&before.oid, &content.oid))
		/* A stranger's upload does not give bytes back to contents of other revisions. */
		return edit->engine->revive(edit->ctx, edit->few ? content.id : before.content, content.id);
	edit->n_files += replaces ? 0 : 1;
	cairn_add(&edit->bytes, cairn_difference(content.size_bytes, replaces ? before.size_bytes : 0));
	status = edit_count(edit);
	if (status == CAIRN_OK)
		status = edit_make_folder(edit, folder);
	const struct cairn_edit_entry after = {
		.found = true, .content = content.id, .size_bytes = content.size_bytes, .oid = content.oid};
	edit->puts = true;
	return status == CAIRN_OK ? edit_write(edit, folder, name, &before, &after) : status;
}

enum cairn_status cairn_edit_some(struct cairn_edit *edit, const struct cairn_index_operation *operation)
{
	char folder[CAIRN_INDEX_PATH_MAX + 1];
	unsigned depth = 1;
	const char *name = cairn_entries_split(operation->path, folder);
	for (const char *p = operation->path; *p; p++)
		depth += *p == '/';
	if (!name || depth > CAIRN_INDEX_PATH_DEPTH_MAX)
		return cairn_fail(edit->diag, CAIRN_E_LIMIT, "commit.depth", CAIRN_NO_OFFSET,
				  "a path has at most %d names and %d bytes", CAIRN_INDEX_PATH_DEPTH_MAX,
				  CAIRN_INDEX_PATH_MAX);
	bool put = operation->kind == CAIRN_INDEX_PUT_INLINE || operation->kind == CAIRN_INDEX_PUT_FILE ||
		   operation->kind == CAIRN_INDEX_PUT_ABSENT;
	if (edit->drop.goes_on) {
		enum cairn_status status = edit_drop_next(edit, operation->path, folder, name);
		if (status != CAIRN_OK || edit->drop.goes_on || !put)
			return status;
	}
	return put ? edit_put(edit, operation, folder, name) : edit_delete(edit, operation, folder, name);
}

enum cairn_status cairn_edit_all(struct cairn_edit *edit, const struct cairn_index_operation *operations, uint32_t n)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < n && status == CAIRN_OK; i++)
		status = cairn_edit_some(edit, &operations[i]);
	return status;
}

/* Counts the folders of a path that are not above another path, too. */
static uint32_t edit_n_folders(const char *path, const char *other)
{
	uint32_t n = 0;
	for (bool same = true; *path; path++) {
		same = same && *path == *other++;
		n += *path == '/' && !same;
	}
	return n;
}

bool cairn_edit_is_large(const struct cairn_index_operation *operations, uint32_t n)
{
	uint64_t n_rows = 0;
	for (uint32_t i = 0; i < n; i++) /* each folder is written twice: when it is made, and with its id */
		n_rows += 1 + 2 * (uint64_t)edit_n_folders(operations[i].path, i > 0 ? operations[i - 1].path : "");
	return n > CAIRN_INDEX_OPERATIONS_AT_ONCE || n_rows > EDIT_ROWS_AT_ONCE;
}

/* --- ids of folders ----------------------------------------------------------------------------------------------- */

struct edit_tree {
	struct cairn_git_tree *tree;
	uint32_t n;
};

static enum cairn_status edit_tree_add(void *ctx, const char *folder, const char *name, bool is_folder,
				       const struct cairn_git_oid *oid)
{
	struct edit_tree *t = ctx;
	(void)folder;
	cairn_git_tree_add(t->tree, name, is_folder, oid);
	return ++t->n > CAIRN_INDEX_NAMES_MAX ? CAIRN_E_LIMIT : CAIRN_OK;
}

static enum cairn_status edit_tree(struct cairn_edit *edit, struct cairn_git_tree *tree, const char *folder,
				   uint32_t *n, uint64_t *n_rows)
{
	struct edit_tree t = {.tree = tree};
	cairn_git_tree_begin(tree);
	enum cairn_status status = edit->engine->scan(edit->ctx, folder, "", folder, edit_tree_add, &t, n_rows);
	*n = t.n;
	if (*n > CAIRN_INDEX_NAMES_MAX)
		return cairn_fail(edit->diag, CAIRN_E_LIMIT, "commit.names", CAIRN_NO_OFFSET,
				  "the folder \"%.100s\" would have more than %d names; use several folders", folder,
				  CAIRN_INDEX_NAMES_MAX);
	return status;
}

/* A file may have replaced an empty folder by now. */
static enum cairn_status edit_update_folder(struct cairn_edit *edit, const char *path, const struct cairn_git_oid *oid)
{
	struct cairn_edit_entry entry;
	char folder[CAIRN_INDEX_PATH_MAX + 1];
	const char *name = cairn_entries_split(path, folder);
	enum cairn_status status = edit_find(edit, folder, name, &entry);
	bool is_folder = entry.found && entry.content == 0;
	if (status != CAIRN_OK || (!oid && !is_folder) || (oid && is_folder && cairn_git_oid_equal(oid, &entry.oid)))
		return status;
	return edit_write_folder(edit, folder, name, &entry, oid);
}

static int edit_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns the depth of a folder; 0: the top folder. */
static unsigned edit_depth(const char *folder)
{
	unsigned depth = folder[0] != '\0';
	for (; *folder; folder++)
		depth += *folder == '/';
	return depth;
}

/* Orders folders by depth, the deepest first, so that a folder comes after all folders in it. */
static int edit_compare_depth(const void *a, const void *b)
{
	unsigned da = edit_depth(*(char *const *)a), db = edit_depth(*(char *const *)b);
	return da != db ? (da < db) - (da > db) : edit_compare(a, b);
}

/* Is the path in this folder, at whatever depth? */
static bool edit_is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);
	return strncmp(path, folder, len) == 0 && path[len] == '/';
}

/* Adds the folders above the changed ones. The paths of a folder are adjacent in this order: if the path before is in
 * the folder, too, the folder and those above it were added already. */
static enum cairn_status edit_touch_above(struct cairn_edit *edit)
{
	char folder[CAIRN_INDEX_PATH_MAX + 1];
	enum cairn_status status = edit_touch(edit, "");
	size_t n = edit->n_folders;
	if (status == CAIRN_OK)
		qsort(edit->folders, n, sizeof(*edit->folders), edit_compare);
	for (size_t i = 0; i < n && status == CAIRN_OK; i++) {
		(void)memccpy(folder, edit->folders[i], '\0', sizeof(folder));
		for (char *slash = strrchr(folder, '/'); slash && status == CAIRN_OK; slash = strrchr(folder, '/')) {
			*slash = '\0';
			if (i > 0 && edit_is_below(edit->folders[i - 1], folder))
				break;
			status = edit_touch(edit, folder);
		}
	}
	return status;
}

/* Removes repeated folders, and sorts the rest in the order in which they get their ids. */
static void edit_sort(struct cairn_edit *edit)
{
	size_t n = 0;
	qsort(edit->folders, edit->n_folders, sizeof(*edit->folders), edit_compare_depth);
	for (size_t i = 0; i < edit->n_folders; i++) {
		if (n > 0 && strcmp(edit->folders[n - 1], edit->folders[i]) == 0)
			free(edit->folders[i]);
		else
			edit->folders[n++] = edit->folders[i];
	}
	edit->n_folders = n;
}

/* Computes the ids of the folders of one depth, until enough rows were read. @param[out] root  id of the last folder */
static enum cairn_status edit_level(struct cairn_edit *edit, struct cairn_git_tree *tree, size_t end,
				    uint64_t n_rows_max, uint64_t *n_rows, struct cairn_git_oid *root)
{
	enum cairn_status status = CAIRN_OK;
	if (edit->engine->will_scan)
		status = edit->engine->will_scan(edit->ctx, edit->folders + edit->n_rooted, end - edit->n_rooted);
	while (edit->n_rooted < end && *n_rows < n_rows_max && status == CAIRN_OK) {
		const char *folder = edit->folders[edit->n_rooted++];
		uint32_t n = 0;
		status = edit_tree(edit, tree, folder, &n, n_rows);
		if (status == CAIRN_OK)
			status = cairn_git_tree_end(tree, root);
		if (status == CAIRN_OK && folder[0])
			status = edit_update_folder(edit, folder, n > 0 ? root : NULL);
	}
	return status;
}

/* Lists the folders that need an id. */
static enum cairn_status edit_root_begin(struct cairn_edit *edit)
{
	enum cairn_status status = edit_touch_above(edit);
	if (status != CAIRN_OK)
		return status;
	edit_sort(edit);
	edit->is_sorted = true;
	return edit->n_folders <= CAIRN_INDEX_COMMIT_FOLDERS_MAX
		       ? CAIRN_OK
		       : edit_limit_folders(edit, CAIRN_INDEX_COMMIT_FOLDERS_MAX + 1);
}

enum cairn_status cairn_edit_root_some(struct cairn_edit *edit, uint64_t n_rows_max, struct cairn_git_oid *root,
				       bool *done)
{
	CLEANUP(cairn_git_tree_freep) struct cairn_git_tree *tree = cairn_git_tree_new();
	if (!tree)
		return CAIRN_E_NOMEM;
	enum cairn_status status = edit->is_sorted ? CAIRN_OK : edit_root_begin(edit);
	uint64_t n_rows = 0;
	while (edit->n_rooted < edit->n_folders && n_rows < n_rows_max && status == CAIRN_OK) {
		size_t end = edit->n_rooted;
		while (end < edit->n_folders &&
		       edit_depth(edit->folders[end]) == edit_depth(edit->folders[edit->n_rooted]))
			end++;
		status = edit_level(edit, tree, end, n_rows_max, &n_rows, root);
	}
	*done = edit->n_rooted == edit->n_folders;
	return status;
}

enum cairn_status cairn_edit_root(struct cairn_edit *edit, struct cairn_git_oid *root)
{
	bool done, limited = edit->ends_if_large || edit->few;
	enum cairn_status status = cairn_edit_root_some(edit, limited ? EDIT_READS_AT_ONCE : UINT64_MAX, root, &done);
	if (status != CAIRN_OK || done)
		return status;
	edit->is_large = edit->ends_if_large;
	return edit->is_large ? CAIRN_E_LIMIT : edit_limit(edit, EDIT_READS_AT_ONCE, "rows of folders are read");
}
