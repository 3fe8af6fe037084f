#include "cas/restore.h"

#include "archive/fold/reader.h"
#include "base/fd.h"
#include "cas/backup_format.h"
#include "cas/bundle.h"
#include "data_dir/data_dir.h"
#include "index/copy.h"
#include "index/examine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char RESTORE_INDEX[] = "index.sqlite.part";

struct restore_row {
	struct cairn_hash hash;
	uint64_t stored_bytes;
};

struct restore {
	const struct cairn_restore_options *options;
	struct cairn_restore_report *report;
	struct cairn_diag *diag;
	int fd, dir_fd, lock_fd;
	struct cairn_fold *f;
	struct cairn_store *store;
	struct cairn_buf rows;   /* struct restore_row, sorted: what the index names */
	struct cairn_diag fault; /* the first one of the index */
};

static enum cairn_status restore_io(struct restore *r, const char *what, const char *path)
{
	return cairn_fail(r->diag, cairn_fd_status(errno), "restore.file", CAIRN_NO_OFFSET, "cannot %s %s: %s", what,
			  path, strerror(errno));
}

static bool restore_begins(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* --- the folder --------------------------------------------------------------------------------------------------- */

/* Which backup is being restored: the hash of its manifest. */
static void restore_identity(const struct restore *r, char out[static CAIRN_HASH_TEXT_BYTES])
{
	cairn_hex_text(out, cairn_fold_index_of(r->f)->manifest_hash, CAIRN_SHA256_BYTES);
}

static enum cairn_status restore_is_empty(struct restore *r, bool *empty)
{
	int fd = openat(r->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		cairn_fd_closep(&fd);
		return restore_io(r, "list", r->options->data_dir);
	}
	*empty = true;
	for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
		*empty = *empty && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0);
	(void)closedir(dir);
	return CAIRN_OK;
}

/* Write a small file durably. */
static enum cairn_status restore_put(struct restore *r, const char *name, const void *bytes, size_t len)
{
	CLEANUP(cairn_fd_closep) int fd = openat(r->dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || cairn_fd_write_all(fd, bytes, len) != CAIRN_OK || fsync(fd) < 0 || fsync(r->dir_fd) < 0)
		return restore_io(r, "write", name);
	return CAIRN_OK;
}

/* Is it empty, or half of what this backup makes? */
static enum cairn_status restore_enter(struct restore *r)
{
	const char *dir = r->options->data_dir;
	char mine[CAIRN_HASH_TEXT_BYTES], found[CAIRN_HASH_TEXT_BYTES] = "";
	bool empty = false;
	restore_identity(r, mine);
	bool made;
	if (cairn_fd_make_folder(dir, &made) != CAIRN_OK)
		return restore_io(r, "make", dir);
	r->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir_fd < 0)
		return restore_io(r, "open", dir);
	CLEANUP(cairn_fd_closep) int mark_fd = openat(r->dir_fd, CAIRN_DATA_DIR_RESTORING, O_RDONLY | O_CLOEXEC);
	if (mark_fd >= 0) {
		size_t n = 0;
		if (cairn_fd_read_upto(mark_fd, found, sizeof(found) - 1, &n) != CAIRN_OK)
			return restore_io(r, "read", CAIRN_DATA_DIR_RESTORING);
		/* One that was killed between making the file and writing it has done nothing yet. */
		if (n > 0 && strcmp(found, mine) != 0)
			return cairn_fail(r->diag, CAIRN_E_CONFLICT, "restore.folder", CAIRN_NO_OFFSET,
					  "the folder %s is of an interrupted restore of another backup", dir);
	} else {
		enum cairn_status status = restore_is_empty(r, &empty);
		if (status != CAIRN_OK)
			return status;
		if (!empty)
			return cairn_fail(r->diag, CAIRN_E_CONFLICT, "restore.folder", CAIRN_NO_OFFSET,
					  "the folder %s is not empty; name another, or move what is in it away", dir);
	}
	enum cairn_status status = restore_put(r, CAIRN_DATA_DIR_RESTORING, mine, strlen(mine));
	if (status != CAIRN_OK)
		return status;
	r->lock_fd = openat(r->dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (r->lock_fd < 0)
		return restore_io(r, "make", "lock");
	if (flock(r->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return cairn_fail(r->diag, CAIRN_E_CONFLICT, "data_dir.in_use", CAIRN_NO_OFFSET,
				  "the data folder %s is in use by another process", dir);
	return CAIRN_OK;
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

static enum cairn_status restore_read(struct restore *r, const struct cairn_fold_chunk *c, struct cairn_fold_data *data)
{
	enum cairn_status status = cairn_fold_read(r->f, c, NULL, data, r->diag);
	r->report->n_wrong += data->n_wrong;
	return status;
}

static enum cairn_status restore_tell(struct restore *r, const struct cairn_fold_chunk *c)
{
	r->report->done_bytes += c->comp_len;
	return r->options->progress && !r->options->progress(r->options->ctx, r->report) ? CAIRN_E_BUSY : CAIRN_OK;
}

static enum cairn_status restore_index(struct restore *r)
{
	const struct cairn_fold_index *ix = cairn_fold_index_of(r->f);
	CLEANUP(cairn_fd_closep)
	int fd = openat(r->dir_fd, RESTORE_INDEX, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return restore_io(r, "make", RESTORE_INDEX);
	for (unsigned i = 0;; i++) {
		CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
		char name[BACKUP_NAME_BYTES];
		(void)snprintf(name, sizeof(name), BACKUP_INDEX "%06u", i);
		const struct cairn_fold_chunk *c = cairn_fold_index_find(ix, name);
		if (!c && i == 0)
			return cairn_fail(r->diag, CAIRN_E_FORMAT, "restore.index", ix->at, "the backup has no %s",
					  name);
		if (!c)
			break;
		enum cairn_status status = restore_read(r, c, &data);
		if (status == CAIRN_OK && cairn_fd_write_all(fd, data.bytes, data.len) != CAIRN_OK)
			status = restore_io(r, "write", RESTORE_INDEX);
		if (status == CAIRN_OK)
			status = restore_tell(r, c);
		if (status != CAIRN_OK)
			return status;
	}
	return fsync(fd) == 0 ? CAIRN_OK : restore_io(r, "write", RESTORE_INDEX);
}

static enum cairn_status restore_note_row(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes)
{
	struct restore *r = ctx;
	const struct restore_row row = {.hash = *hash, .stored_bytes = stored_bytes};
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
	(void)!cairn_fail(&r->fault, CAIRN_E_MISMATCH, "restore.damaged", CAIRN_NO_OFFSET,
			  "all is restored, but the index was damaged when the backup was made; run cairn fsck "
			  "--repair, or restore an older one: %s",
			  fault->text);
}

static enum cairn_status restore_rows(struct restore *r)
{
	char path[BACKUP_PATH_BYTES], url[CAIRN_DATA_DIR_URL_BYTES];
	int n = snprintf(path, sizeof(path), "%s/%s", r->options->data_dir, RESTORE_INDEX);
	if (n < 0 || (size_t)n >= sizeof(path))
		return cairn_fail(r->diag, CAIRN_E_USAGE, "data_dir.path", CAIRN_NO_OFFSET, "the path is too long");
	enum cairn_status status = cairn_data_dir_index_url(url, r->options->data_dir, r->diag);
	if (status == CAIRN_OK)
		status = cairn_index_copy_examine(url, path, restore_note_fault, r, r->diag);
	if (status == CAIRN_OK)
		status = cairn_index_copy_each(url, path, restore_note_row, r, r->diag);
	if (status == CAIRN_OK && r->rows.len > 0)
		qsort(r->rows.bytes, r->rows.len / sizeof(struct restore_row), sizeof(struct restore_row),
		      restore_compare);
	return status;
}

/* What the index does not name, or in another length, is left out: it was collected before the index was copied. */
static enum cairn_status restore_object(void *ctx, const struct cairn_bundle_object *object)
{
	struct restore *r = ctx;
	const struct restore_row *row = NULL;
	uint64_t bytes = 0;
	bool existed;
	if (r->rows.len > 0)
		row = bsearch(&object->hash, r->rows.bytes, r->rows.len / sizeof(*row), sizeof(*row), restore_compare);
	if (!row || row->stored_bytes != object->len)
		return CAIRN_OK;
	r->report->n_objects++;
	r->report->object_bytes += object->len;
	enum cairn_status status;
	if (cairn_store_stat(r->store, &object->hash, &bytes) == CAIRN_OK && bytes == object->len) {
		r->report->n_found++;
		status = cairn_store_confirm(r->store, &object->hash, 0);
		return status == CAIRN_OK ? CAIRN_OK
					  : cairn_fail(r->diag, status, "restore.file", CAIRN_NO_OFFSET,
						       "an object cannot be written");
	}
	CLEANUP(cairn_store_put_abortp) struct cairn_store_put *put = NULL;
	status = cairn_store_put_begin(r->store, &put);
	if (status == CAIRN_OK)
		status = cairn_store_put_write(put, object->bytes, object->len);
	if (status != CAIRN_OK)
		return cairn_fail(r->diag, status, "restore.file", CAIRN_NO_OFFSET, "an object cannot be written");
	status = cairn_store_put_commit(put, &object->hash, &existed);
	put = NULL;
	return status == CAIRN_OK
		       ? CAIRN_OK
		       : cairn_fail(r->diag, status, "restore.file", CAIRN_NO_OFFSET, "an object cannot be written");
}

static enum cairn_status restore_objects(struct restore *r)
{
	const struct cairn_fold_index *ix = cairn_fold_index_of(r->f);
	for (size_t i = 0; i < ix->n_chunks; i++) {
		CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
		const struct cairn_fold_chunk *c = &ix->chunks[i];
		if (!restore_begins(c->name, BACKUP_OBJECTS))
			continue;
		enum cairn_status status = restore_read(r, c, &data);
		if (status == CAIRN_OK)
			status = cairn_bundle_each(data.bytes, data.len, restore_object, r, r->diag);
		if (status == CAIRN_OK)
			status = restore_tell(r, c);
		if (status != CAIRN_OK)
			return status;
	}
	return CAIRN_OK;
}

/* Every object that the index names must be there. */
static enum cairn_status restore_check(struct restore *r)
{
	const struct restore_row *rows = (const struct restore_row *)(const void *)r->rows.bytes;
	for (size_t i = 0; i < r->rows.len / sizeof(*rows); i++) {
		char text[CAIRN_HASH_TEXT_BYTES];
		uint64_t bytes = 0;
		if (cairn_store_stat(r->store, &rows[i].hash, &bytes) == CAIRN_OK && bytes == rows[i].stored_bytes)
			continue;
		cairn_hash_text(text, &rows[i].hash);
		return cairn_fail(r->diag, CAIRN_E_MISMATCH, "restore.missing", cairn_fold_index_of(r->f)->at,
				  "the backup's index names object %s, which is not in the backup", text);
	}
	return CAIRN_OK;
}

static enum cairn_status restore_secret(struct restore *r)
{
	CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
	const struct cairn_fold_chunk *c = cairn_fold_index_find(cairn_fold_index_of(r->f), BACKUP_SECRET);
	if (!c)
		return CAIRN_OK;
	enum cairn_status status = restore_read(r, c, &data);
	if (status == CAIRN_OK)
		status = restore_put(r, "secret", data.bytes, data.len);
	r->report->has_secret = status == CAIRN_OK;
	return status;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static enum cairn_status restore_open(struct restore *r)
{
	struct stat st;
	char *kind = NULL;
	r->fd = open(r->options->path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0 || fstat(r->fd, &st) < 0)
		return cairn_fail(r->diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "%s", strerror(errno));
	const struct cairn_fold_source source = {.fd = r->fd, .len = (uint64_t)st.st_size};
	enum cairn_status status = cairn_fold_open(&r->f, &source, r->diag);
	if (status == CAIRN_OK)
		status = cairn_fold_metadata_text(r->f, "kind", &kind);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_fold_index *ix = cairn_fold_index_of(r->f);
	if (!kind || strcmp(kind, BACKUP_KIND) != 0 || !ix->has_manifest)
		status = cairn_fail(r->diag, CAIRN_E_FORMAT, "restore.kind", ix->at + ix->metadata.at,
				    "this FOLD file is not a backup of Cairn");
	free(kind);
	for (size_t i = 0; i < ix->n_chunks; i++)
		r->report->total_bytes += ix->chunks[i].comp_len;
	return status;
}

static enum cairn_status restore_end(struct restore *r)
{
	if (renameat(r->dir_fd, RESTORE_INDEX, r->dir_fd, "index.sqlite") < 0 || fsync(r->dir_fd) < 0 ||
	    unlinkat(r->dir_fd, CAIRN_DATA_DIR_RESTORING, 0) < 0 || fsync(r->dir_fd) < 0)
		return restore_io(r, "end", r->options->data_dir);
	return CAIRN_OK;
}

static enum cairn_status restore_run(struct restore *r)
{
	enum cairn_status status = restore_open(r);
	if (status == CAIRN_OK)
		status = restore_enter(r);
	if (status == CAIRN_OK)
		status = cairn_data_dir_open_store(&r->store, r->options->data_dir, false, r->diag);
	if (status == CAIRN_OK)
		status = restore_index(r);
	if (status == CAIRN_OK)
		status = restore_rows(r);
	if (status == CAIRN_OK)
		status = restore_objects(r);
	if (status == CAIRN_OK)
		status = restore_check(r);
	if (status == CAIRN_OK)
		status = restore_secret(r);
	if (status == CAIRN_OK)
		status = restore_end(r);
	if (status != CAIRN_OK || !r->fault.rule)
		return status;
	*r->diag = r->fault;
	return CAIRN_E_MISMATCH;
}

enum cairn_status cairn_restore(const struct cairn_restore_options *options, struct cairn_restore_report *report,
				struct cairn_diag *diag)
{
	*report = (struct cairn_restore_report){0};
	struct restore r = {
		.options = options,
		.report = report,
		.diag = diag,
		.fd = -1,
		.dir_fd = -1,
		.lock_fd = -1,
		.rows = cairn_buf_init(SIZE_MAX), /* bounded by the index */
	};
	enum cairn_status status = restore_run(&r);
	cairn_buf_fini(&r.rows);
	cairn_store_free(r.store);
	cairn_fold_close(r.f);
	cairn_fd_closep(&r.fd);
	cairn_fd_closep(&r.dir_fd);
	cairn_fd_closep(&r.lock_fd);
	return status;
}
