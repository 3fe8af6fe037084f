#include "backup/restore.h"

#include "backup/restore_work.h"
#include "base/fd.h"
#include "base/sys.h"
#include "data_dir/data_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool restore_begins(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* --- chunks ------------------------------------------------------------------------------------------------------- */

static enum cairn_status restore_read(struct restore *r, struct cairn_fold *f, const struct cairn_fold_chunk *c,
				      struct cairn_fold_data *data)
{
	enum cairn_status status = cairn_fold_read(f, c, NULL, data, r->diag);
	r->report->n_wrong += data->n_wrong;
	return status;
}

static enum cairn_status restore_report(struct restore *r, const struct cairn_fold_chunk *c)
{
	r->report->done_bytes += c->comp_len;
	return r->options->progress && !r->options->progress(r->options->ctx, r->report) ? CAIRN_E_BUSY : CAIRN_OK;
}

static enum cairn_status restore_index(struct restore *r)
{
	const struct cairn_fold_index *ix = r->index;
	CLEANUP(cairn_fd_closep)
	int fd = cairn_sys_openat(r->dir_fd, RESTORE_INDEX, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
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
			status = restore_report(r, c);
		if (status != CAIRN_OK)
			return status;
	}
	return restore_end_index(r, fd);
}

/* Restores an object from a bundle. Skips an object that the index does not name in this layout: it was collected
 * before the index was backed up, or belongs to another moment. In a folder, it also skips a damaged object, because
 * another archive may have a sound one. A single file has no other, so the object is restored, and fsck judges it. */
static enum cairn_status restore_object(void *ctx, const struct cairn_bundle_object *object)
{
	struct restore *r = ctx;
	uint64_t bytes = 0, layout = 0;
	struct restore_row *row = restore_row_of(r, &object->hash, object->len);
	if (!row)
		return CAIRN_OK;
	if (r->set.folder) {
		enum cairn_status read = cairn_backup_judge(&object->hash, object->bytes, object->len, &layout, NULL);
		r->report->n_damaged_objects += read == CAIRN_E_MISMATCH;
		if (read != CAIRN_OK || (row->layout != 0 && layout != row->layout))
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
	return status == CAIRN_OK ? restore_report(r, c) : status;
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
	if (!row || (row->layout != 0 && row->layout != item->object.layout))
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

/* Is the archive damaged, and not the folder being restored? */
static bool restore_is_damage(enum cairn_status status, const struct cairn_diag *why)
{
	return status == CAIRN_E_FORMAT || status == CAIRN_E_MISMATCH || status == CAIRN_E_LIMIT ||
	       (status == CAIRN_E_IO && !(why->rule && restore_begins(why->rule, "restore.")));
}

/* Restores from all archives, even those made after the moment: lost objects may have been backed up again. A damaged
 * or incomplete archive matters only if no other archive has its objects. */
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
	status = cairn_backup_set_check(&r->set, false, r->diag);
	if (status != CAIRN_OK)
		return status;
	struct cairn_backup_file file;
	status = cairn_backup_file_open(&file, &r->set, found, r->diag);
	if (status == CAIRN_OK)
		status = cairn_backup_check_name(&file, found, r->diag);
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

static enum cairn_status restore_open(struct restore *r)
{
	struct stat st;
	if (cairn_sys_stat(r->options->path, &st) == 0 && S_ISDIR(st.st_mode))
		return restore_open_moment(r);
	if (r->options->until_unix_s)
		return cairn_fail(r->diag, CAIRN_E_USAGE, "restore.time", CAIRN_NO_OFFSET,
				  "a time chooses a moment of a folder of backups; this is a single backup, so leave "
				  "the time out");
	r->fd = cairn_sys_open(r->options->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (r->fd < 0 || cairn_sys_fstat(r->fd, &st) < 0)
		return cairn_fail(r->diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return cairn_fail(r->diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET,
				  "is not a regular file; to read from a pipe, give -");
	const struct cairn_fold_source source = {.fd = r->fd, .len = (uint64_t)st.st_size};
	enum cairn_status status = cairn_fold_open(&r->f, &source, r->diag);
	if (status != CAIRN_OK)
		return status;
	r->index = cairn_fold_index_of(r->f);
	for (size_t i = 0; i < r->index->n_chunks; i++)
		r->report->total_bytes += r->index->chunks[i].comp_len;
	return restore_check_kind(r);
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

/* --- the whole restore -------------------------------------------------------------------------------------------- */

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
		.bundles = cairn_buf_init(SIZE_MAX), /* bounded by the archive's index */
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
