/* The operations of a commit, each applied to the entries of its line. */
#include "index/sqlite/commit.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

/* --- entries ------------------------------------------------------------------------------------------------------ */

enum cairn_status cairn_tx_edit_find(struct cairn_tx_edit *edit, const char *folder, const char *name,
				     struct cairn_tx_entry *out)
{
	*out = (struct cairn_tx_entry){0};
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = edit->tx->stmt[CAIRN_TX_FIND_ENTRY];
	enum cairn_status status = cairn_chain_find(stmt, &edit->chain, folder, name);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	out->found = true;
	out->since = sqlite3_column_int64(stmt, CAIRN_CHAIN_SINCE);
	out->content = sqlite3_column_int64(stmt, CAIRN_CHAIN_CONTENT);
	out->size_bytes = sqlite3_column_int64(stmt, CAIRN_CHAIN_MORE);
	return cairn_chain_oid(stmt, CAIRN_CHAIN_OID, &out->oid) ? CAIRN_OK : CAIRN_E_DAMAGED;
}

static enum cairn_status edit_use(struct cairn_tx *tx, int64_t content, int64_t more)
{
	sqlite3_stmt *use = tx->stmt[CAIRN_TX_USE_CONTENT];
	sqlite3_bind_int64(use, 1, content);
	sqlite3_bind_int64(use, 2, more);
	return cairn_sql_run(use);
}

/* A content goes, unless an entry has it. */
static enum cairn_status edit_drop_content(struct cairn_tx *tx, int64_t content)
{
	int64_t scope, inline_bytes;
	bool dropped;
	{
		CLEANUP(cairn_sql_resetp) sqlite3_stmt *drop = tx->stmt[CAIRN_TX_DROP_CONTENT];
		sqlite3_bind_int64(drop, 1, content);
		enum cairn_status status = cairn_sql_step(drop, &dropped);
		if (status != CAIRN_OK || !dropped)
			return status;
		scope = sqlite3_column_int64(drop, 0);
		inline_bytes = sqlite3_column_int64(drop, 1);
	}
	return cairn_tx_count_stored(tx, scope, -inline_bytes);
}

enum cairn_status cairn_tx_drop_use(struct cairn_tx *tx, int64_t content)
{
	enum cairn_status status = edit_use(tx, content, -1);
	return status == CAIRN_OK ? edit_drop_content(tx, content) : status;
}

enum cairn_status cairn_tx_edit_write(struct cairn_tx_edit *edit, const char *folder, const char *name,
				      const struct cairn_tx_entry *before, const struct cairn_git_oid *oid,
				      int64_t content)
{
	sqlite3_stmt *set = edit->tx->stmt[CAIRN_TX_SET_ENTRY];
	sqlite3_bind_int64(set, 1, edit->line);
	cairn_sql_bind_text(set, 2, folder);
	cairn_sql_bind_text(set, 3, name);
	sqlite3_bind_int64(set, 4, edit->commit);
	if (oid)
		cairn_chain_bind_oid(set, 5, oid);
	else
		sqlite3_bind_null(set, 5);
	if (content != 0)
		sqlite3_bind_int64(set, 6, content);
	else
		sqlite3_bind_null(set, 6);
	enum cairn_status status = cairn_sql_run(set);
	if (status == CAIRN_OK && content != 0)
		status = edit_use(edit->tx, content, 1);
	/* The row of an operation before this one was written over. */
	if (status == CAIRN_OK && before->since == edit->commit && before->content != 0)
		status = cairn_tx_drop_use(edit->tx, before->content);
	return status;
}

/* --- folders ------------------------------------------------------------------------------------------------------ */

void cairn_tx_edit_fini(struct cairn_tx_edit *edit)
{
	for (size_t i = 0; i < edit->n_folders; i++)
		free(edit->folders[i]);
	free(edit->folders);
}

/* Something changed in this folder. */
static enum cairn_status edit_touch(struct cairn_tx_edit *edit, const char *folder)
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

static enum cairn_status edit_conflict(struct cairn_tx_edit *edit, const char *path, const char *what)
{
	return cairn_fail(edit->diag, CAIRN_E_CONFLICT, "commit.path", CAIRN_NO_OFFSET, "\"%.150s\" is a %s", path,
			  what);
}

static enum cairn_status edit_limit(struct cairn_tx_edit *edit, int max, const char *what)
{
	return cairn_fail(edit->diag, CAIRN_E_LIMIT, "commit.rows", CAIRN_NO_OFFSET,
			  "more than %d %s; make several commits", max, what);
}

static enum cairn_status edit_count(struct cairn_tx_edit *edit)
{
	return edit->n_changed++ < CAIRN_INDEX_COMMIT_ROWS_MAX
		       ? CAIRN_OK
		       : edit_limit(edit, CAIRN_INDEX_COMMIT_ROWS_MAX, "files change");
}

static enum cairn_status edit_limit_folders(struct cairn_tx_edit *edit, uint32_t n)
{
	return n <= CAIRN_INDEX_COMMIT_FOLDERS_MAX ? CAIRN_OK
						   : edit_limit(edit, CAIRN_INDEX_COMMIT_FOLDERS_MAX, "folders change");
}

/* A file needs a folder to be in, and that one, too. Such as are not there are made, without an id until the end. */
static enum cairn_status edit_make_folder(struct cairn_tx_edit *edit, const char *path)
{
	static const struct cairn_git_oid NONE;
	char at[CAIRN_INDEX_PATH_MAX + 1], folder[CAIRN_INDEX_PATH_MAX + 1];
	enum cairn_status status = edit_touch(edit, path);
	(void)memccpy(at, path, '\0', sizeof(at));
	while (status == CAIRN_OK && at[0]) {
		struct cairn_tx_entry entry;
		const char *name = cairn_chain_split(at, folder);
		status = cairn_tx_edit_find(edit, folder, name, &entry);
		if (status == CAIRN_OK && entry.found)
			return entry.content == 0 ? CAIRN_OK : edit_conflict(edit, at, "file");
		if (status == CAIRN_OK)
			status = edit_limit_folders(edit, ++edit->n_folder_rows);
		if (status == CAIRN_OK)
			status = cairn_tx_edit_write(edit, folder, name, &entry, &NONE, 0);
		(void)memccpy(at, folder, '\0', sizeof(at));
	}
	return status;
}

/* --- deleting ----------------------------------------------------------------------------------------------------- */

static enum cairn_status edit_drop(struct cairn_tx_edit *edit, const char *folder, const char *name,
				   const struct cairn_tx_entry *entry)
{
	if (entry->content != 0) {
		edit->n_files--;
		edit->bytes -= entry->size_bytes;
	}
	enum cairn_status status = edit_touch(edit, folder);
	return status == CAIRN_OK ? cairn_tx_edit_write(edit, folder, name, entry, NULL, 0) : status;
}

/* Paths of what is in a folder. */
struct edit_paths {
	char **all; /* owned */
	size_t n, cap;
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

/* What is below a folder: first what is in it, then what is in the folders below, which sort elsewhere. */
struct edit_below {
	char first[CAIRN_INDEX_PATH_MAX + 2], last[CAIRN_INDEX_PATH_MAX + 3];
};

static void edit_set_below(struct edit_below *below, const char *path)
{
	size_t len = strlen(path);
	memcpy(below->first, path, len);
	memcpy(below->first + len, "/", 2);
	memcpy(below->last, path, len);
	memcpy(below->last + len, "/\xff", 3); /* behind all UTF-8 */
}

/* The rows of what was deleted in a folder stay, and each look into it reads them again. So no scan begins when there
 * were too many, but one that began goes to its end: whatever a folder has, it can be deleted. */
static enum cairn_status edit_may_scan(struct cairn_tx_edit *edit)
{
	return edit->n_scanned <= CAIRN_INDEX_COMMIT_SCAN_MAX
		       ? CAIRN_OK
		       : edit_limit(edit, CAIRN_INDEX_COMMIT_SCAN_MAX, "rows of folders are read");
}

/* What is in a folder, up to the end of the last one, is noted first and changed afterwards. */
static enum cairn_status edit_collect(struct cairn_tx_edit *edit, const char *folder, const char *last_folder,
				      struct edit_paths *paths)
{
	struct cairn_chain_scan scan = {.chain = &edit->chain, .stmts = &edit->tx->stmt[CAIRN_TX_SCAN]};
	enum cairn_status status = CAIRN_OK;
	cairn_chain_begin(&scan, folder, "", last_folder);
	while (status == CAIRN_OK) {
		sqlite3_stmt *row;
		status = cairn_chain_next(&scan, &row);
		if (status != CAIRN_OK || !row)
			break;
		bool is_file = sqlite3_column_int64(row, CAIRN_CHAIN_CONTENT) != 0;
		status = is_file ? edit_count(edit) : edit_limit_folders(edit, ++edit->n_folder_rows);
		if (status == CAIRN_OK)
			status = edit_paths_add(paths, scan.folder, scan.name);
	}
	edit->n_scanned += scan.n_rows;
	cairn_chain_end(&scan);
	return status;
}

static enum cairn_status edit_drop_folder(struct cairn_tx_edit *edit, const char *path, const char *folder,
					  const char *name, const struct cairn_tx_entry *entry)
{
	CLEANUP(edit_paths_fini) struct edit_paths paths = {0};
	char in[CAIRN_INDEX_PATH_MAX + 1];
	struct edit_below below;
	edit_set_below(&below, path);
	enum cairn_status status = edit_may_scan(edit);
	if (status == CAIRN_OK)
		status = edit_collect(edit, path, path, &paths);
	if (status == CAIRN_OK)
		status = edit_collect(edit, below.first, below.last, &paths);
	for (size_t i = 0; i < paths.n && status == CAIRN_OK; i++) {
		struct cairn_tx_entry one;
		const char *one_name = cairn_chain_split(paths.all[i], in);
		status = one_name ? cairn_tx_edit_find(edit, in, one_name, &one) : CAIRN_E_DAMAGED;
		if (status == CAIRN_OK)
			status = edit_drop(edit, in, one_name, &one);
	}
	return status == CAIRN_OK ? edit_drop(edit, folder, name, entry) : status;
}

static enum cairn_status edit_delete(struct cairn_tx_edit *edit, const struct cairn_index_operation *o,
				     const char *folder, const char *name)
{
	struct cairn_tx_entry entry;
	enum cairn_status status = cairn_tx_edit_find(edit, folder, name, &entry);
	if (status != CAIRN_OK)
		return status;
	bool is_file = entry.found && entry.content != 0;
	if (!entry.found || (is_file && o->kind == CAIRN_INDEX_DELETE_FOLDER))
		return cairn_fail(edit->diag, CAIRN_E_NOT_FOUND, "entry.unknown", CAIRN_NO_OFFSET,
				  "A file with this name doesn't exist: \"%.150s\"", o->path);
	if (!is_file)
		return edit_drop_folder(edit, o->path, folder, name, &entry);
	status = edit_count(edit);
	return status == CAIRN_OK ? edit_drop(edit, folder, name, &entry) : status;
}

/* --- putting ------------------------------------------------------------------------------------------------------ */

/* What a file is to have. */
struct edit_content {
	int64_t id, size_bytes;
	struct cairn_git_oid oid;
};

static enum cairn_status edit_add_content(struct cairn_tx_edit *edit, const struct cairn_index_operation *o,
					  int64_t file, struct edit_content *out)
{
	bool is_inline = o->kind == CAIRN_INDEX_PUT_INLINE;
	sqlite3_stmt *add = edit->tx->stmt[CAIRN_TX_ADD_CONTENT];
	(void)sqlite3_clear_bindings(add);
	sqlite3_bind_int64(add, 1, edit->repo);
	sqlite3_bind_int64(add, 2, out->size_bytes);
	if (is_inline) {
		sqlite3_bind_int64(add, 3, (int64_t)cairn_get_u64le(o->oid.b));
		cairn_sql_bind_blob(add, 4, o->bytes, o->len);
	} else {
		cairn_sql_bind_blob(add, 5, o->sha256, sizeof(o->sha256));
		sqlite3_bind_int64(add, 6, file);
	}
	enum cairn_status status = cairn_sql_run(add);
	out->id = sqlite3_last_insert_rowid(edit->tx->db);
	return status == CAIRN_OK && is_inline ? cairn_tx_count_stored(edit->tx, edit->scope, out->size_bytes) : status;
}

/* @param[out] id  0: the repository has no such content yet */
static enum cairn_status edit_known_content(sqlite3_stmt *bound, int64_t *id)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *stmt = bound;
	enum cairn_status status = cairn_sql_find(stmt);
	*id = status == CAIRN_OK ? sqlite3_column_int64(stmt, 0) : 0;
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status edit_inline(struct cairn_tx_edit *edit, const struct cairn_index_operation *o,
				     struct edit_content *out)
{
	sqlite3_stmt *find = edit->tx->stmt[CAIRN_TX_FIND_INLINE];
	out->oid = o->oid;
	out->size_bytes = (int64_t)o->len;
	sqlite3_bind_int64(find, 1, edit->repo);
	sqlite3_bind_int64(find, 2, (int64_t)cairn_get_u64le(o->oid.b));
	cairn_sql_bind_blob(find, 3, o->bytes, o->len);
	enum cairn_status status = edit_known_content(find, &out->id);
	return status == CAIRN_OK && out->id == 0 ? edit_add_content(edit, o, 0, out) : status;
}

/* The file that was uploaded to the repository as one of this SHA-256. */
static enum cairn_status edit_claimed(struct cairn_tx_edit *edit, const struct cairn_index_operation *o, int64_t *file,
				      int64_t *size_bytes)
{
	CLEANUP(cairn_sql_resetp) sqlite3_stmt *find = edit->tx->stmt[CAIRN_TX_FIND_CLAIMED];
	cairn_sql_bind_blob(find, 1, o->sha256, sizeof(o->sha256));
	sqlite3_bind_int64(find, 2, edit->scope);
	enum cairn_status status = cairn_sql_find(find);
	if (status == CAIRN_E_NOT_FOUND)
		return cairn_fail(edit->diag, CAIRN_E_CONFLICT, "commit.sha256", CAIRN_NO_OFFSET,
				  "the content of \"%.100s\" was not uploaded to this repository: upload it", o->path);
	if (status != CAIRN_OK)
		return status;
	*file = sqlite3_column_int64(find, 0);
	*size_bytes = sqlite3_column_int64(find, 1);
	return CAIRN_OK;
}

static enum cairn_status edit_file(struct cairn_tx_edit *edit, const struct cairn_index_operation *o,
				   struct edit_content *out)
{
	char pointer[CAIRN_LFS_POINTER_BYTES_MAX];
	int64_t file = 0;
	enum cairn_status status = edit_claimed(edit, o, &file, &out->size_bytes);
	if (status != CAIRN_OK)
		return status;
	size_t len = cairn_lfs_pointer(pointer, o->sha256, (uint64_t)out->size_bytes);
	status = cairn_git_blob(&out->oid, pointer, len);
	if (status != CAIRN_OK)
		return status;
	sqlite3_stmt *find = edit->tx->stmt[CAIRN_TX_FIND_STORED];
	sqlite3_bind_int64(find, 1, edit->repo);
	sqlite3_bind_int64(find, 2, file);
	cairn_sql_bind_blob(find, 3, o->sha256, sizeof(o->sha256));
	status = edit_known_content(find, &out->id);
	return status == CAIRN_OK && out->id == 0 ? edit_add_content(edit, o, file, out) : status;
}

static enum cairn_status edit_find_file(struct cairn_tx_edit *edit, const char *folder, const char *last_folder,
					bool *found)
{
	struct cairn_chain_scan scan = {.chain = &edit->chain, .stmts = &edit->tx->stmt[CAIRN_TX_SCAN]};
	sqlite3_stmt *row = NULL;
	enum cairn_status status;
	cairn_chain_begin(&scan, folder, "", last_folder);
	do {
		status = cairn_chain_next(&scan, &row);
		*found = status == CAIRN_OK && row && sqlite3_column_int64(row, CAIRN_CHAIN_CONTENT) != 0;
	} while (status == CAIRN_OK && row && !*found);
	edit->n_scanned += scan.n_rows;
	cairn_chain_end(&scan);
	return status;
}

/* A folder makes room for a file when there is no file below it any more. Rows of folders below go only at the end, or
 * here: what comes into them afterwards would not find that they are below a file. */
static enum cairn_status edit_make_room(struct cairn_tx_edit *edit, const char *path, const char *folder,
					const char *name, struct cairn_tx_entry *entry)
{
	struct edit_below below;
	bool found = false;
	edit_set_below(&below, path);
	enum cairn_status status = edit_may_scan(edit);
	if (status == CAIRN_OK)
		status = edit_find_file(edit, path, path, &found);
	if (status == CAIRN_OK && !found)
		status = edit_find_file(edit, below.first, below.last, &found);
	if (status == CAIRN_OK && found)
		return edit_conflict(edit, path, "folder");
	if (status == CAIRN_OK)
		status = edit_drop_folder(edit, path, folder, name, entry);
	return status == CAIRN_OK ? cairn_tx_edit_find(edit, folder, name, entry) : status;
}

/* The path has this content already, maybe without its bytes, which were deleted for good: here they are again. */
static enum cairn_status edit_revive(struct cairn_tx_edit *edit, int64_t content, int64_t same)
{
	sqlite3_stmt *revive = edit->tx->stmt[CAIRN_TX_REVIVE_CONTENT];
	sqlite3_bind_int64(revive, 1, content);
	sqlite3_bind_int64(revive, 2, same);
	enum cairn_status status = cairn_sql_run(revive);
	return status == CAIRN_OK ? edit_drop_content(edit->tx, same) : status;
}

static enum cairn_status edit_put(struct cairn_tx_edit *edit, const struct cairn_index_operation *o, const char *folder,
				  const char *name)
{
	struct edit_content content = {0};
	struct cairn_tx_entry before;
	enum cairn_status status = cairn_tx_edit_find(edit, folder, name, &before);
	if (status == CAIRN_OK && before.found && before.content == 0)
		status = edit_make_room(edit, o->path, folder, name, &before);
	if (status == CAIRN_OK)
		status = o->kind == CAIRN_INDEX_PUT_INLINE ? edit_inline(edit, o, &content)
							   : edit_file(edit, o, &content);
	if (status != CAIRN_OK || (before.found && before.content == content.id))
		return status;
	bool replaces = before.found && before.content != 0;
	if (replaces && cairn_git_oid_equal(&before.oid, &content.oid))
		return edit_revive(edit, before.content, content.id);
	edit->n_files += replaces ? 0 : 1;
	edit->bytes += content.size_bytes - (replaces ? before.size_bytes : 0);
	status = edit_count(edit);
	if (status == CAIRN_OK)
		status = edit_make_folder(edit, folder);
	return status == CAIRN_OK ? cairn_tx_edit_write(edit, folder, name, &before, &content.oid, content.id) : status;
}

enum cairn_status cairn_tx_edit_one(struct cairn_tx_edit *edit, const struct cairn_index_operation *operation)
{
	char folder[CAIRN_INDEX_PATH_MAX + 1];
	unsigned depth = 1;
	const char *name = cairn_chain_split(operation->path, folder);
	for (const char *p = operation->path; *p; p++)
		depth += *p == '/';
	if (!name || depth > CAIRN_INDEX_PATH_DEPTH_MAX)
		return cairn_fail(edit->diag, CAIRN_E_LIMIT, "commit.depth", CAIRN_NO_OFFSET,
				  "a path has at most %d names and %d bytes", CAIRN_INDEX_PATH_DEPTH_MAX,
				  CAIRN_INDEX_PATH_MAX);
	bool put = operation->kind == CAIRN_INDEX_PUT_INLINE || operation->kind == CAIRN_INDEX_PUT_FILE;
	return put ? edit_put(edit, operation, folder, name) : edit_delete(edit, operation, folder, name);
}

/* --- ids of folders ----------------------------------------------------------------------------------------------- */

static enum cairn_status edit_tree(struct cairn_tx_edit *edit, struct cairn_git_tree *tree, const char *folder,
				   uint32_t *n)
{
	struct cairn_chain_scan scan = {.chain = &edit->chain, .stmts = &edit->tx->stmt[CAIRN_TX_SCAN]};
	struct cairn_git_oid oid;
	enum cairn_status status = CAIRN_OK;
	cairn_git_tree_begin(tree);
	cairn_chain_begin(&scan, folder, "", folder);
	for (*n = 0; status == CAIRN_OK && *n <= CAIRN_INDEX_NAMES_MAX; (*n)++) {
		sqlite3_stmt *row;
		status = cairn_chain_next(&scan, &row);
		if (status != CAIRN_OK || !row)
			break;
		bool is_folder = sqlite3_column_int64(row, CAIRN_CHAIN_CONTENT) == 0;
		if (!cairn_chain_oid(row, CAIRN_CHAIN_OID, &oid))
			status = CAIRN_E_DAMAGED;
		cairn_git_tree_add(tree, scan.name, is_folder, &oid);
	}
	cairn_chain_end(&scan);
	if (status == CAIRN_OK && *n > CAIRN_INDEX_NAMES_MAX)
		return cairn_fail(edit->diag, CAIRN_E_LIMIT, "commit.names", CAIRN_NO_OFFSET,
				  "the folder \"%.100s\" would have more than %d names; use several folders", folder,
				  CAIRN_INDEX_NAMES_MAX);
	return status;
}

/* A folder that is empty now may have made room for a file. */
static enum cairn_status edit_settle(struct cairn_tx_edit *edit, const char *path, const struct cairn_git_oid *oid)
{
	struct cairn_tx_entry entry;
	char folder[CAIRN_INDEX_PATH_MAX + 1];
	const char *name = cairn_chain_split(path, folder);
	enum cairn_status status = cairn_tx_edit_find(edit, folder, name, &entry);
	bool is_folder = entry.found && entry.content == 0;
	if (status != CAIRN_OK || (!oid && !is_folder) || (oid && is_folder && cairn_git_oid_equal(oid, &entry.oid)))
		return status;
	return cairn_tx_edit_write(edit, folder, name, &entry, oid, 0);
}

static int edit_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)b, *(char *const *)a);
}

static int edit_compare_forward(const void *a, const void *b)
{
	return edit_compare(b, a);
}

/* Is the path in this folder, at whatever depth? */
static bool edit_is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);
	return strncmp(path, folder, len) == 0 && path[len] == '/';
}

/* Also those above have changed. What is in one folder is together in order, so that each is noted once: when the path
 * before is in it, too, all from there on were. */
static enum cairn_status edit_touch_above(struct cairn_tx_edit *edit)
{
	char folder[CAIRN_INDEX_PATH_MAX + 1];
	enum cairn_status status = edit_touch(edit, "");
	size_t n = edit->n_folders;
	if (status == CAIRN_OK)
		qsort(edit->folders, n, sizeof(*edit->folders), edit_compare_forward);
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

enum cairn_status cairn_tx_edit_root(struct cairn_tx_edit *edit, struct cairn_git_oid *root)
{
	enum cairn_status status = edit_touch_above(edit);
	if (status != CAIRN_OK)
		return status;
	CLEANUP(cairn_git_tree_freep) struct cairn_git_tree *tree = cairn_git_tree_new();
	if (!tree)
		return CAIRN_E_NOMEM;
	/* Backwards, a folder comes behind all that are in it. */
	qsort(edit->folders, edit->n_folders, sizeof(*edit->folders), edit_compare);
	uint32_t n_distinct = 0;
	for (size_t i = 0; i < edit->n_folders && status == CAIRN_OK; i++) {
		const char *folder = edit->folders[i];
		uint32_t n = 0;
		if (i > 0 && strcmp(edit->folders[i - 1], folder) == 0)
			continue;
		status = edit_limit_folders(edit, ++n_distinct);
		if (status == CAIRN_OK)
			status = edit_tree(edit, tree, folder, &n);
		if (status == CAIRN_OK)
			status = cairn_git_tree_end(tree, root);
		if (status == CAIRN_OK && folder[0])
			status = edit_settle(edit, folder, n > 0 ? root : NULL);
	}
	return status;
}
