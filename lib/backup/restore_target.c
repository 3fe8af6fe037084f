#include "backup/restore_work.h"
#include "base/fd.h"
#include "base/folder.h"
#include "base/sys.h"
#include "data_dir/data_dir.h"
#include "index/backup.h"
#include "index/examine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char RESTORE_PIPE[] = "pipe"; /* content of the marker file of an incomplete restore */

enum cairn_status restore_io(struct restore *r, const char *what, const char *path)
{
	return cairn_fail(r->diag, cairn_fd_status(errno), "restore.file", CAIRN_NO_OFFSET, "cannot %s %s: %s", what,
			  path, strerror(errno));
}

/* --- the folder --------------------------------------------------------------------------------------------------- */

/* Identifies the backup by the hash of its manifest, which is still unknown for a pipe. */
static void restore_identity(const struct restore *r, char out[static CAIRN_HASH_TEXT_BYTES])
{
	if (r->index)
		cairn_hex_text(out, r->index->manifest_hash, CAIRN_SHA256_BYTES);
	else
		(void)snprintf(out, CAIRN_HASH_TEXT_BYTES, "%s", RESTORE_PIPE);
}

/* @param but  a name to ignore; NULL: none */
static enum cairn_status restore_is_empty(struct restore *r, const char *but, bool *empty)
{
	CLEANUP(cairn_folder_close) struct cairn_folder folder = {0};
	const char *name = NULL;
	enum cairn_status status =
		cairn_folder_open(&folder, cairn_sys_openat(r->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
	*empty = true;
	while (status == CAIRN_OK && (status = cairn_folder_next(&folder, &name)) == CAIRN_OK && name)
		*empty = *empty && but && strcmp(name, but) == 0;
	return status == CAIRN_OK ? CAIRN_OK : restore_io(r, "list", r->options->data_dir);
}

enum cairn_status restore_put(struct restore *r, const char *name, const void *bytes, size_t len)
{
	CLEANUP(cairn_fd_closep)
	int fd = cairn_sys_openat(r->dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || cairn_fd_write_all(fd, bytes, len) != CAIRN_OK || cairn_sys_fsync(fd) < 0 ||
	    cairn_sys_fsync(r->dir_fd) < 0)
		return restore_io(r, "write", name);
	return CAIRN_OK;
}

/* @param fd  the marker file of an incomplete restore; below 0: there is none @param mine  identifies this restore */
static enum cairn_status restore_judge_folder(struct restore *r, int fd, const char *mine)
{
	char found[CAIRN_HASH_TEXT_BYTES] = "";
	bool empty = false;
	size_t n = 0;
	if (fd >= 0 && cairn_fd_read_upto(fd, found, sizeof(found) - 1, &n) != CAIRN_OK)
		return restore_io(r, "read", CAIRN_DATA_DIR_RESTORING);
	if (n > 0 && r->index && strcmp(found, mine) == 0)
		return CAIRN_OK;
	if (n > 0)
		return cairn_fail(r->diag, CAIRN_E_CONFLICT, "restore.folder", CAIRN_NO_OFFSET,
				  "the folder %s is of an interrupted restore of another backup, or from a "
				  "pipe, which cannot go on: remove it",
				  r->options->data_dir);
	/* A restore killed between creating the marker and writing it has written nothing else. */
	enum cairn_status status = restore_is_empty(r, fd >= 0 ? CAIRN_DATA_DIR_RESTORING : NULL, &empty);
	return status != CAIRN_OK || empty
		       ? status
		       : cairn_fail(r->diag, CAIRN_E_CONFLICT, "restore.folder", CAIRN_NO_OFFSET,
				    "the folder %s is not empty; name another, or move what is in it away",
				    r->options->data_dir);
}

/* Refuses leftover logs, which SQLite would use for the restored index. Removes logs of RESTORE_INDEX, which a killed
 * restore left that was reading it. */
static enum cairn_status restore_check_logs(struct restore *r)
{
	static const char *const ENDS[] = {"-wal", "-shm", "-journal"};
	for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
		char name[sizeof("index.sqlite.part-journal")];
		struct stat st;
		(void)snprintf(name, sizeof(name), "%s%s", RESTORE_INDEX, ENDS[i]);
		if (cairn_sys_unlinkat(r->dir_fd, name, 0) < 0 && errno != ENOENT)
			return restore_io(r, "remove", name);
		(void)snprintf(name, sizeof(name), "index.sqlite%s", ENDS[i]);
		if (cairn_sys_fstatat(r->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return cairn_fail(r->diag, CAIRN_E_CONFLICT, "restore.folder", CAIRN_NO_OFFSET,
					  "the folder %s has %s, which is of another index: name another folder, or "
					  "move it away",
					  r->options->data_dir, name);
	}
	return CAIRN_OK;
}

enum cairn_status restore_enter(struct restore *r)
{
	const char *dir = r->options->data_dir;
	char mine[CAIRN_HASH_TEXT_BYTES];
	restore_identity(r, mine);
	bool made;
	if (cairn_fd_make_folder(dir, &made) != CAIRN_OK)
		return cairn_fail(r->diag, cairn_fd_make_status(errno), "restore.file", CAIRN_NO_OFFSET,
				  "cannot make %s: %s", dir, strerror(errno));
	r->dir_fd = cairn_sys_open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (r->dir_fd < 0)
		return restore_io(r, "open", dir);
	CLEANUP(cairn_fd_closep)
	int mark_fd = cairn_sys_openat(r->dir_fd, CAIRN_DATA_DIR_RESTORING, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	enum cairn_status status = restore_judge_folder(r, mark_fd, mine);
	if (status == CAIRN_OK)
		status = restore_put(r, CAIRN_DATA_DIR_RESTORING, mine, strlen(mine));
	if (status == CAIRN_OK)
		status = cairn_data_dir_lock(dir, true, &r->lock_fd, r->diag);
	return status == CAIRN_OK ? restore_check_logs(r) : status;
}

/* --- the backup's index ------------------------------------------------------------------------------------------- */

enum cairn_status restore_check_kind(struct restore *r)
{
	char *kind = NULL;
	enum cairn_status status = cairn_fold_index_text(r->index, "kind", &kind);
	if (status == CAIRN_OK && (!kind || strcmp(kind, BACKUP_KIND) != 0 || !r->index->has_manifest))
		status = cairn_fail(r->diag, CAIRN_E_FORMAT, "restore.kind", r->index->at + r->index->metadata.at,
				    "this FOLD file is not a backup of Cairn");
	free(kind);
	return status;
}

enum cairn_status restore_end_index(struct restore *r, int fd)
{
	return cairn_sys_fsync(fd) == 0 ? CAIRN_OK : restore_io(r, "write", RESTORE_INDEX);
}

static enum cairn_status restore_note_row(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes,
					  uint64_t layout)
{
	struct restore *r = ctx;
	const struct restore_row row = {.hash = *hash, .stored_bytes = stored_bytes, .layout = layout};
	cairn_buf_add(&r->rows, &row, sizeof(row));
	return r->rows.status;
}

static int restore_compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct cairn_hash));
}

static void restore_note_fault(void *ctx, const struct cairn_index_fault *fault)
{
	struct restore *r = ctx;
	if (fault->kind == CAIRN_INDEX_FAULT_CONTENT) {
		r->report->n_contents_damaged++;
		return;
	}
	(void)!cairn_fail(&r->fault, CAIRN_E_MISMATCH, "restore.damaged", CAIRN_NO_OFFSET,
			  "all is restored, but the index was damaged when the backup was made; run cairn fsck "
			  "--repair, or restore an older one: %s",
			  fault->text);
}

enum cairn_status restore_rows(struct restore *r)
{
	char path[BACKUP_PATH_BYTES], url[CAIRN_DATA_DIR_URL_BYTES];
	int n = snprintf(path, sizeof(path), "%s/%s", r->options->data_dir, RESTORE_INDEX);
	if (n < 0 || (size_t)n >= sizeof(path))
		return cairn_fail(r->diag, CAIRN_E_USAGE, "data_dir.path", CAIRN_NO_OFFSET, "the path is too long");
	enum cairn_status status = cairn_data_dir_index_url(url, r->options->data_dir, r->diag);
	if (status == CAIRN_OK)
		status = cairn_index_backup_examine(url, path, restore_note_fault, r, r->diag);
	if (status == CAIRN_OK)
		status = cairn_index_backup_each(url, path, restore_note_row, r, r->diag);
	if (status == CAIRN_OK && r->rows.len > 0)
		qsort(r->rows.bytes, r->rows.len / sizeof(struct restore_row), sizeof(struct restore_row),
		      restore_compare);
	return status;
}

struct restore_row *restore_names(struct restore *r, const struct cairn_hash *hash)
{
	struct restore_row *row = NULL;
	if (r->rows.len > 0)
		row = bsearch(hash, r->rows.bytes, r->rows.len / sizeof(*row), sizeof(*row), restore_compare);
	return row;
}

struct restore_row *restore_row_of(struct restore *r, const struct cairn_hash *hash, uint64_t len)
{
	struct restore_row *row = restore_names(r, hash);
	return row && row->stored_bytes == len && !row->done ? row : NULL;
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

enum cairn_status restore_put_object(struct restore *r, const struct cairn_bundle_object *object)
{
	bool existed;
	CLEANUP(cairn_store_put_abortp) struct cairn_store_put *put = NULL;
	enum cairn_status status = cairn_store_put_begin(r->store, &put);
	if (status == CAIRN_OK)
		status = cairn_store_put_write(put, object->bytes, object->len);
	if (status == CAIRN_OK) {
		status = cairn_store_put_commit(put, &object->hash, &existed);
		put = NULL;
	}
	return status == CAIRN_OK ? CAIRN_OK
				  : cairn_fail(r->diag, status, "restore.file", CAIRN_NO_OFFSET,
					       "an object cannot be written: %s", cairn_status_name(status));
}

enum cairn_status restore_check(struct restore *r)
{
	const struct restore_row *rows = (const struct restore_row *)(const void *)r->rows.bytes;
	for (size_t i = 0; i < r->rows.len / sizeof(*rows); i++) {
		char text[CAIRN_HASH_TEXT_BYTES];
		uint64_t bytes = 0;
		if (cairn_store_stat(r->store, &rows[i].hash, &bytes) == CAIRN_OK && bytes == rows[i].stored_bytes)
			continue;
		cairn_hash_text(text, &rows[i].hash);
		return cairn_fail(r->diag, CAIRN_E_MISMATCH, "restore.missing", r->index->at,
				  "the backup's index names object %s, which is not in the backup, or damaged there",
				  text);
	}
	return CAIRN_OK;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

/* Gives the restored store its identity again, so that it can continue its folder of backups. */
static enum cairn_status restore_put_identity(struct restore *r)
{
	char text[CAIRN_IDENTITY_BYTES + 1];
	enum cairn_status status = cairn_backup_identity(text, r->index, r->diag);
	if (status != CAIRN_OK || !text[0])
		return status;
	memcpy(text + CAIRN_IDENTITY_BYTES - 1, "\n", 2);
	return restore_put(r, CAIRN_IDENTITY_FILE, text, CAIRN_IDENTITY_BYTES);
}

enum cairn_status restore_end(struct restore *r)
{
	enum cairn_status status = restore_put_identity(r);
	if (status == CAIRN_OK)
		status = restore_check_logs(r);
	if (status != CAIRN_OK)
		return status;
	if (cairn_sys_renameat(r->dir_fd, RESTORE_INDEX, r->dir_fd, "index.sqlite") < 0 ||
	    cairn_sys_fsync(r->dir_fd) < 0 || cairn_sys_unlinkat(r->dir_fd, CAIRN_DATA_DIR_RESTORING, 0) < 0 ||
	    cairn_sys_fsync(r->dir_fd) < 0)
		return restore_io(r, "end", r->options->data_dir);
	return CAIRN_OK;
}
