#include "backup/restore.h"

#include "archive/fold/reader.h"
#include "archive/fold/stream.h"
#include "backup/backup_format.h"
#include "backup/backup_set.h"
#include "backup/bundle.h"
#include "base/fd.h"
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
#include <sys/stat.h>
#include <unistd.h>

static const char RESTORE_INDEX[] = "index.sqlite.part";
static const char RESTORE_PIPE[] = "pipe"; /* in the file that says that a restore is not complete */

struct restore_row {
	struct cairn_hash hash;
	uint64_t stored_bytes;
	uint64_t packing; /* 0: not known, any will do */
	bool done;
};

struct restore {
	const struct cairn_restore_options *options;
	struct cairn_restore_report *report;
	struct cairn_diag *diag;
	int fd, dir_fd, lock_fd;
	struct cairn_fold *f;                 /* of a pipe NULL */
	const struct cairn_fold_index *index; /* of f, or of what came from the pipe */
	struct cairn_store *store;
	struct cairn_buf rows;   /* struct restore_row, sorted: what the index names */
	struct cairn_diag fault; /* the first one of the index */
	/* Of a folder. */
	struct cairn_backup_set set;
	struct cairn_buf bundles; /* a byte for each of an archive: is it needed? */
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

/* Which backup is being restored: the hash of its manifest, which of a pipe nobody knows yet. */
static void restore_identity(const struct restore *r, char out[static CAIRN_HASH_TEXT_BYTES])
{
	if (r->index)
		cairn_hex_text(out, r->index->manifest_hash, CAIRN_SHA256_BYTES);
	else
		(void)snprintf(out, CAIRN_HASH_TEXT_BYTES, "%s", RESTORE_PIPE);
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
		return cairn_fail(r->diag, cairn_fd_make_status(errno), "restore.file", CAIRN_NO_OFFSET,
				  "cannot make %s: %s", dir, strerror(errno));
	r->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir_fd < 0)
		return restore_io(r, "open", dir);
	CLEANUP(cairn_fd_closep) int mark_fd = openat(r->dir_fd, CAIRN_DATA_DIR_RESTORING, O_RDONLY | O_CLOEXEC);
	if (mark_fd >= 0) {
		size_t n = 0;
		if (cairn_fd_read_upto(mark_fd, found, sizeof(found) - 1, &n) != CAIRN_OK)
			return restore_io(r, "read", CAIRN_DATA_DIR_RESTORING);
		/* One that was killed between making the file and writing it has done nothing yet. */
		if (n > 0 && (!r->index || strcmp(found, mine) != 0))
			return cairn_fail(r->diag, CAIRN_E_CONFLICT, "restore.folder", CAIRN_NO_OFFSET,
					  "the folder %s is of an interrupted restore of another backup, or from a "
					  "pipe, which cannot go on: remove it",
					  dir);
	} else {
		enum cairn_status status = restore_is_empty(r, &empty);
		if (status != CAIRN_OK)
			return status;
		if (!empty)
			return cairn_fail(r->diag, CAIRN_E_CONFLICT, "restore.folder", CAIRN_NO_OFFSET,
					  "the folder %s is not empty; name another, or move what is in it away", dir);
	}
	enum cairn_status status = restore_put(r, CAIRN_DATA_DIR_RESTORING, mine, strlen(mine));
	return status == CAIRN_OK ? cairn_data_dir_lock(dir, true, &r->lock_fd, r->diag) : status;
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

static enum cairn_status restore_read(struct restore *r, struct cairn_fold *f, const struct cairn_fold_chunk *c,
				      struct cairn_fold_data *data)
{
	enum cairn_status status = cairn_fold_read(f, c, NULL, data, r->diag);
	r->report->n_wrong += data->n_wrong;
	return status;
}

static enum cairn_status restore_tell(struct restore *r, const struct cairn_fold_chunk *c)
{
	r->report->done_bytes += c->comp_len;
	return r->options->progress && !r->options->progress(r->options->ctx, r->report) ? CAIRN_E_BUSY : CAIRN_OK;
}

static enum cairn_status restore_end_index(struct restore *r, int fd)
{
	return fsync(fd) == 0 ? CAIRN_OK : restore_io(r, "write", RESTORE_INDEX);
}

static enum cairn_status restore_index(struct restore *r)
{
	const struct cairn_fold_index *ix = r->index;
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
		enum cairn_status status = restore_read(r, r->f, c, &data);
		if (status == CAIRN_OK && cairn_fd_write_all(fd, data.bytes, data.len) != CAIRN_OK)
			status = restore_io(r, "write", RESTORE_INDEX);
		if (status == CAIRN_OK)
			status = restore_tell(r, c);
		if (status != CAIRN_OK)
			return status;
	}
	return restore_end_index(r, fd);
}

static enum cairn_status restore_note_row(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes,
					  uint64_t packing)
{
	struct restore *r = ctx;
	const struct restore_row row = {.hash = *hash, .stored_bytes = stored_bytes, .packing = packing};
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

/* @return NULL: the index does not name such an object */
static struct restore_row *restore_names(struct restore *r, const struct cairn_hash *hash)
{
	struct restore_row *row = NULL;
	if (r->rows.len > 0)
		row = bsearch(hash, r->rows.bytes, r->rows.len / sizeof(*row), sizeof(*row), restore_compare);
	return row;
}

/* The row that is not filled yet. @return NULL: the index does not name such an object, or it is there */
static struct restore_row *restore_row_of(struct restore *r, const struct cairn_hash *hash, uint64_t len)
{
	struct restore_row *row = restore_names(r, hash);
	return row && row->stored_bytes == len && !row->done ? row : NULL;
}

static enum cairn_status restore_put_object(struct restore *r, const struct cairn_bundle_object *object)
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

/* What the index does not name, or packed otherwise, is left out: it was collected before the index was copied, or is
 * of another moment. In one file there is nothing to choose from: what stands there is taken, and fsck judges it. */
static enum cairn_status restore_object(void *ctx, const struct cairn_bundle_object *object)
{
	struct restore *r = ctx;
	uint64_t bytes = 0, packing = 0;
	struct restore_row *row = restore_row_of(r, &object->hash, object->len);
	if (!row)
		return CAIRN_OK;
	if (r->set.folder && row->packing != 0) {
		enum cairn_status read = cairn_backup_packing(object->bytes, object->len, &packing);
		if (read != CAIRN_OK || packing != row->packing)
			return read == CAIRN_E_NOMEM ? read : CAIRN_OK;
	}
	row->done = true;
	r->report->n_objects++;
	r->report->object_bytes += object->len;
	if (cairn_store_stat(r->store, &object->hash, &bytes) != CAIRN_OK || bytes != object->len)
		return restore_put_object(r, object);
	r->report->n_found++;
	enum cairn_status status = cairn_store_confirm(r->store, &object->hash, 0);
	return status == CAIRN_OK ? CAIRN_OK
				  : cairn_fail(r->diag, status, "restore.file", CAIRN_NO_OFFSET,
					       "an object cannot be written: %s", cairn_status_name(status));
}

static enum cairn_status restore_bundle(struct restore *r, struct cairn_fold *f, const struct cairn_fold_chunk *c)
{
	CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
	enum cairn_status status = restore_read(r, f, c, &data);
	if (status == CAIRN_OK)
		status = cairn_bundle_each(data.bytes, data.len, restore_object, r, r->diag);
	return status == CAIRN_OK ? restore_tell(r, c) : status;
}

static enum cairn_status restore_objects(struct restore *r)
{
	const struct cairn_fold_index *ix = r->index;
	enum cairn_status status = CAIRN_OK;
	for (size_t i = 0; i < ix->n_chunks && status == CAIRN_OK; i++) {
		if (restore_begins(ix->chunks[i].name, BACKUP_OBJECTS))
			status = restore_bundle(r, r->f, &ix->chunks[i]);
	}
	return status;
}

/* --- a folder of archives ----------------------------------------------------------------------------------------- */

static enum cairn_status restore_note_bundle(void *ctx, const struct cairn_backup_item *item)
{
	struct restore *r = ctx;
	const struct restore_row *row = restore_row_of(r, &item->object.hash, item->object.len);
	if (!row || (row->packing != 0 && row->packing != item->object.packing))
		return CAIRN_OK;
	if (item->bundle >= r->bundles.len)
		return cairn_fail(r->diag, CAIRN_E_FORMAT, "backup.catalog", CAIRN_NO_OFFSET,
				  "the catalog names a bundle that is not there");
	r->bundles.bytes[item->bundle] = 1;
	return CAIRN_OK;
}

static enum cairn_status restore_archive(struct restore *r, const struct cairn_backup_archive *archive)
{
	CLEANUP(cairn_backup_file_close) struct cairn_backup_file file = {.fd = -1};
	enum cairn_status status = cairn_backup_file_open(&file, &r->set, archive, r->diag);
	if (status != CAIRN_OK)
		return status;
	const struct cairn_fold_index *ix = cairn_fold_index_of(file.fold);
	r->bundles.len = 0;
	cairn_buf_fill(&r->bundles, 0, ix->n_chunks);
	status = r->bundles.status;
	if (status == CAIRN_OK)
		status = cairn_backup_catalog_each(&file, restore_note_bundle, r, r->diag);
	for (size_t i = 0; i < r->bundles.len && status == CAIRN_OK; i++) {
		char name[BACKUP_NAME_BYTES];
		if (!r->bundles.bytes[i])
			continue;
		(void)snprintf(name, sizeof(name), BACKUP_OBJECTS "%06zu", i);
		const struct cairn_fold_chunk *chunk = cairn_fold_index_find(ix, name);
		if (!chunk)
			return cairn_fail(r->diag, CAIRN_E_FORMAT, "backup.catalog", ix->at,
					  "the catalog names %s, which is not there", name);
		r->report->total_bytes += chunk->comp_len;
		status = restore_bundle(r, file.fold, chunk);
	}
	return status;
}

static bool restore_has_all(const struct restore *r)
{
	return r->report->n_objects == r->rows.len / sizeof(struct restore_row);
}

/* Of the archive, and not of the folder that is made. */
static bool restore_is_damage(enum cairn_status status, const struct cairn_diag *why)
{
	return status == CAIRN_E_FORMAT || status == CAIRN_E_MISMATCH || status == CAIRN_E_LIMIT ||
	       (status == CAIRN_E_IO && !(why->rule && restore_begins(why->rule, "restore.")));
}

/* Those made after the moment, too: what an archive lost was taken again. One that is damaged, or half copied, matters
 * only if it has what no other one has. */
static enum cairn_status restore_archives(struct restore *r)
{
	struct cairn_diag first = {0}, *diag = r->diag;
	enum cairn_status status = CAIRN_OK, damaged = CAIRN_OK;
	for (size_t i = 0; i < r->set.n && status == CAIRN_OK && !restore_has_all(r); i++) {
		struct cairn_diag why = {0};
		if (r->set.archives[i].is_moment)
			continue;
		r->diag = &why;
		status = restore_archive(r, &r->set.archives[i]);
		r->diag = diag;
		if (status != CAIRN_OK)
			cairn_backup_blame(&why, &r->set.archives[i]);
		if (!restore_is_damage(status, &why)) {
			if (status != CAIRN_OK)
				*diag = why;
			continue;
		}
		if (r->report->n_damaged++ == 0) {
			damaged = status;
			first = why;
		}
		status = CAIRN_OK;
	}
	if (status == CAIRN_OK && damaged != CAIRN_OK && !restore_has_all(r)) {
		*diag = first;
		return damaged;
	}
	return status;
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
		return cairn_fail(r->diag, CAIRN_E_MISMATCH, "restore.missing", r->index->at,
				  "the backup's index names object %s, which is not in the backup", text);
	}
	return CAIRN_OK;
}

static enum cairn_status restore_secret(struct restore *r)
{
	CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
	const struct cairn_fold_chunk *c = cairn_fold_index_find(r->index, BACKUP_SECRET);
	if (!c)
		return CAIRN_OK;
	enum cairn_status status = restore_read(r, r->f, c, &data);
	if (status == CAIRN_OK)
		status = restore_put(r, "secret", data.bytes, data.len);
	r->report->has_secret = status == CAIRN_OK;
	return status;
}

/* --- from a file, or a folder ------------------------------------------------------------------------------------- */

static enum cairn_status restore_open_moment(struct restore *r)
{
	const struct cairn_backup_archive *found = NULL;
	enum cairn_status status = cairn_backup_set_open(&r->set, r->options->path, false, r->diag);
	if (status != CAIRN_OK)
		return status;
	for (size_t i = 0; i < r->set.n; i++) {
		const struct cairn_backup_archive *a = &r->set.archives[i];
		if (a->is_moment && (!r->options->until_unix_s || a->at_unix_s <= *r->options->until_unix_s))
			found = a;
	}
	if (!found)
		return cairn_fail(r->diag, CAIRN_E_NOT_FOUND, "restore.moment", CAIRN_NO_OFFSET,
				  "the folder has no backup%s: see cairn backups list",
				  r->options->until_unix_s ? " of that time or before" : "");
	struct cairn_backup_file file;
	status = cairn_backup_file_open(&file, &r->set, found, r->diag);
	r->fd = file.fd;
	r->f = file.fold;
	if (status != CAIRN_OK) {
		cairn_backup_blame(r->diag, found);
		return status;
	}
	(void)snprintf(r->report->moment, sizeof(r->report->moment), "%s", found->time);
	const struct cairn_fold_index *ix = r->index = cairn_fold_index_of(r->f);
	for (size_t i = 0; i < ix->n_chunks; i++)
		r->report->total_bytes += ix->chunks[i].comp_len;
	return CAIRN_OK;
}

/* Is it a backup, and whole? */
static enum cairn_status restore_check_kind(struct restore *r)
{
	char *kind = NULL;
	enum cairn_status status = cairn_fold_index_text(r->index, "kind", &kind);
	if (status == CAIRN_OK && (!kind || strcmp(kind, BACKUP_KIND) != 0 || !r->index->has_manifest))
		status = cairn_fail(r->diag, CAIRN_E_FORMAT, "restore.kind", r->index->at + r->index->metadata.at,
				    "this FOLD file is not a backup of Cairn");
	free(kind);
	return status;
}

static enum cairn_status restore_open(struct restore *r)
{
	struct stat st;
	if (stat(r->options->path, &st) == 0 && S_ISDIR(st.st_mode))
		return restore_open_moment(r);
	if (r->options->until_unix_s)
		return cairn_fail(r->diag, CAIRN_E_USAGE, "restore.time", CAIRN_NO_OFFSET,
				  "a time chooses among the moments of a folder; this is one backup");
	r->fd = open(r->options->path, O_RDONLY | O_CLOEXEC);
	if (r->fd < 0 || fstat(r->fd, &st) < 0)
		return cairn_fail(r->diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "%s", strerror(errno));
	const struct cairn_fold_source source = {.fd = r->fd, .len = (uint64_t)st.st_size};
	enum cairn_status status = cairn_fold_open(&r->f, &source, r->diag);
	if (status != CAIRN_OK)
		return status;
	r->index = cairn_fold_index_of(r->f);
	for (size_t i = 0; i < r->index->n_chunks; i++)
		r->report->total_bytes += r->index->chunks[i].comp_len;
	return restore_check_kind(r);
}

/* The restored store is the one that was backed up, and may go on with its folder of backups. */
static enum cairn_status restore_put_identity(struct restore *r)
{
	char text[CAIRN_IDENTITY_BYTES + 1];
	enum cairn_status status = cairn_backup_identity(text, r->index, r->diag);
	if (status != CAIRN_OK || !text[0])
		return status;
	memcpy(text + CAIRN_IDENTITY_BYTES - 1, "\n", 2);
	return restore_put(r, CAIRN_IDENTITY_FILE, text, CAIRN_IDENTITY_BYTES);
}

static enum cairn_status restore_end(struct restore *r)
{
	enum cairn_status status = restore_put_identity(r);
	if (status != CAIRN_OK)
		return status;
	if (renameat(r->dir_fd, RESTORE_INDEX, r->dir_fd, "index.sqlite") < 0 || fsync(r->dir_fd) < 0 ||
	    unlinkat(r->dir_fd, CAIRN_DATA_DIR_RESTORING, 0) < 0 || fsync(r->dir_fd) < 0)
		return restore_io(r, "end", r->options->data_dir);
	return CAIRN_OK;
}

static enum cairn_status restore_run_file(struct restore *r)
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
		status = r->set.folder ? restore_archives(r) : restore_objects(r);
	if (status == CAIRN_OK)
		status = restore_check(r);
	if (status == CAIRN_OK)
		status = restore_secret(r);
	return status == CAIRN_OK ? restore_end(r) : status;
}

/* --- from a pipe -------------------------------------------------------------------------------------------------- */

struct restore_pipe {
	struct restore *r;
	int index_fd;
	struct cairn_buf put; /* struct cairn_hash: of the objects that came, which the index may not name */
};

static enum cairn_status restore_pipe_object(void *ctx, const struct cairn_bundle_object *object)
{
	struct restore_pipe *p = ctx;
	cairn_buf_add(&p->put, &object->hash, sizeof(object->hash));
	return p->put.status == CAIRN_OK ? restore_put_object(p->r, object) : p->put.status;
}

/* By their types: what names they have is told at the end, and objects come before the index. */
static enum cairn_status restore_pipe_chunk(struct restore_pipe *p, const struct cairn_fold_chunk *c,
					    const struct cairn_fold_data *data)
{
	struct restore *r = p->r;
	if (strcmp(c->ctype, BACKUP_OBJECTS_CTYPE) == 0)
		return cairn_bundle_each(data->bytes, data->len, restore_pipe_object, p, r->diag);
	if (strcmp(c->ctype, BACKUP_INDEX_CTYPE) == 0)
		return cairn_fd_write_all(p->index_fd, data->bytes, data->len) == CAIRN_OK
			       ? CAIRN_OK
			       : restore_io(r, "write", RESTORE_INDEX);
	if (strcmp(c->ctype, BACKUP_SECRET_CTYPE) != 0)
		return CAIRN_OK;
	r->report->has_secret = true;
	return restore_put(r, "secret", data->bytes, data->len);
}

static enum cairn_status restore_pipe_chunks(struct restore_pipe *p, struct cairn_fold_stream *s)
{
	struct restore *r = p->r;
	enum cairn_status status = CAIRN_OK;
	while (status == CAIRN_OK) {
		CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
		struct cairn_fold_chunk chunk;
		status = cairn_fold_stream_next(s, &chunk, &data, r->diag);
		if (status == CAIRN_OK)
			status = restore_pipe_chunk(p, &chunk, &data);
		r->report->done_bytes = cairn_fold_stream_at(s);
		if (status == CAIRN_OK && r->options->progress && !r->options->progress(r->options->ctx, r->report))
			status = CAIRN_E_BUSY;
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* The pieces of the index came in the order in which their types did: are they called so? */
static enum cairn_status restore_pipe_names(struct restore *r)
{
	unsigned n = 0;
	for (size_t i = 0; i < r->index->n_chunks; i++) {
		const struct cairn_fold_chunk *c = &r->index->chunks[i];
		char name[BACKUP_NAME_BYTES] = "secret";
		if (strcmp(c->ctype, BACKUP_INDEX_CTYPE) == 0)
			(void)snprintf(name, sizeof(name), BACKUP_INDEX "%06u", n++);
		else if (strcmp(c->ctype, BACKUP_SECRET_CTYPE) != 0)
			continue;
		if (strcmp(c->name, name) != 0)
			return cairn_fail(r->diag, CAIRN_E_FORMAT, "restore.index", c->offset,
					  "a chunk of the backup is called %s where %s was to come", c->name, name);
	}
	return n > 0 ? CAIRN_OK
		     : cairn_fail(r->diag, CAIRN_E_FORMAT, "restore.index", r->index->at, "the backup has no %s000000",
				  BACKUP_INDEX);
}

/* Collected before the index was copied: left out, as from a file. */
static enum cairn_status restore_pipe_sweep(struct restore_pipe *p)
{
	struct restore *r = p->r;
	const struct cairn_hash *hashes = (const struct cairn_hash *)(const void *)p->put.bytes;
	for (size_t i = 0; i < p->put.len / sizeof(*hashes); i++) {
		uint64_t bytes = 0;
		enum cairn_status status = cairn_store_stat(r->store, &hashes[i], &bytes);
		struct restore_row *row = status == CAIRN_OK ? restore_row_of(r, &hashes[i], bytes) : NULL;
		if (row) {
			row->done = true;
			r->report->n_objects++;
			r->report->object_bytes += bytes;
		} else if (status == CAIRN_OK && !restore_names(r, &hashes[i])) {
			status = cairn_store_remove(r->store, &hashes[i], NULL);
		}
		if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
			return cairn_fail(r->diag, status, "restore.file", CAIRN_NO_OFFSET,
					  "an object cannot be looked at, or not removed");
	}
	return CAIRN_OK;
}

static enum cairn_status restore_pipe_all(struct restore_pipe *p, struct cairn_fold_stream *s)
{
	struct restore *r = p->r;
	enum cairn_status status = restore_pipe_chunks(p, s);
	if (status != CAIRN_OK)
		return status;
	r->index = cairn_fold_stream_index(s);
	status = restore_check_kind(r);
	if (status == CAIRN_OK)
		status = restore_pipe_names(r);
	if (status == CAIRN_OK)
		status = restore_end_index(r, p->index_fd);
	if (status == CAIRN_OK)
		status = restore_rows(r);
	if (status == CAIRN_OK)
		status = restore_pipe_sweep(p);
	if (status == CAIRN_OK)
		status = restore_check(r);
	return status == CAIRN_OK ? restore_end(r) : status;
}

static enum cairn_status restore_run_pipe(struct restore *r)
{
	struct restore_pipe p = {.r = r, .index_fd = -1, .put = cairn_buf_init(SIZE_MAX)};
	CLEANUP(cairn_fold_stream_closep) struct cairn_fold_stream *s = NULL;
	enum cairn_status status = cairn_fold_stream_open(&s, *r->options->pipe_fd, r->diag);
	if (status == CAIRN_OK)
		status = restore_enter(r);
	if (status == CAIRN_OK)
		status = cairn_data_dir_open_store(&r->store, r->options->data_dir, false, r->diag);
	if (status == CAIRN_OK) {
		r->report->total_bytes = cairn_fold_stream_total(s);
		p.index_fd = openat(r->dir_fd, RESTORE_INDEX, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		status = p.index_fd < 0 ? restore_io(r, "make", RESTORE_INDEX) : restore_pipe_all(&p, s);
	}
	r->index = NULL; /* it goes with the stream */
	cairn_fd_closep(&p.index_fd);
	cairn_buf_fini(&p.put);
	return status;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static enum cairn_status restore_run(struct restore *r)
{
	enum cairn_status status = r->options->pipe_fd ? restore_run_pipe(r) : restore_run_file(r);
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
		.set = {.dir_fd = -1, .lock_fd = -1},
		.bundles = cairn_buf_init(SIZE_MAX), /* by the archive's index */
		.rows = cairn_buf_init(SIZE_MAX),    /* bounded by the index */
	};
	enum cairn_status status = restore_run(&r);
	cairn_buf_fini(&r.rows);
	cairn_buf_fini(&r.bundles);
	cairn_backup_set_close(&r.set);
	cairn_store_free(r.store);
	cairn_fold_close(r.f);
	cairn_fd_closep(&r.fd);
	cairn_fd_closep(&r.dir_fd);
	cairn_fd_closep(&r.lock_fd);
	return status;
}
