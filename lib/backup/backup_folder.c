#include "backup/backup_work.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum cairn_status backup_note_object(void *ctx, const struct cairn_backup_item *item)
{
	struct backup *b = ctx;
	cairn_backup_objects_add(&b->known, &item->object);
	return b->known.status;
}

/* Refuses a folder inside the data folder: both have a lock, and a daemon cleans its own folder. */
static enum cairn_status backup_check_folder(struct backup *b)
{
	if (!cairn_data_dir_has(b->options->data_dir, b->options->out))
		return CAIRN_OK;
	return cairn_fail(b->diag, CAIRN_E_USAGE, "backup.folder", CAIRN_NO_OFFSET,
			  "%s is in the folder that is backed up: name another one, on another disk", b->options->out);
}

/* Checks the store of an archive: the rules of pruning look only at the times of moments, not at their stores. */
static enum cairn_status backup_check_store(struct backup *b, const struct cairn_backup_file *file)
{
	char theirs[CAIRN_IDENTITY_BYTES];
	enum cairn_status status = cairn_backup_identity(theirs, cairn_fold_index_of(file->fold), b->diag);
	if (status != CAIRN_OK || !theirs[0] || strcmp(theirs, b->identity) == 0)
		return status;
	return cairn_fail(b->diag, CAIRN_E_CONFLICT, "backup.store", CAIRN_NO_OFFSET,
			  "it is a backup of store %s, and %s is store %s: name another folder, or, if it is the same "
			  "store, put its file " CAIRN_IDENTITY_FILE " back",
			  theirs, b->options->data_dir, b->identity);
}

/* Reads which objects an existing archive has. Reads only the last moment, to learn its store, and ignores it if it is
 * damaged: the new backup does not depend on it. */
static enum cairn_status backup_know(struct backup *b, const struct cairn_backup_archive *archive)
{
	CLEANUP(cairn_backup_file_close) struct cairn_backup_file file = {.fd = -1};
	if (archive->is_moment && archive != &b->set.archives[b->set.n - 1])
		return CAIRN_OK;
	struct cairn_diag *diag = archive->is_moment ? NULL : b->diag;
	enum cairn_status status = cairn_backup_file_open(&file, &b->set, archive, diag);
	if (archive->is_moment && (status == CAIRN_E_FORMAT || status == CAIRN_E_MISMATCH || status == CAIRN_E_LIMIT))
		return CAIRN_OK;
	if (status == CAIRN_OK)
		status = backup_check_store(b, &file);
	if (status == CAIRN_OK && !archive->is_moment)
		status = cairn_backup_catalog_each(&file, backup_note_object, b, b->diag);
	if (status != CAIRN_OK)
		cairn_backup_blame(b->diag, archive);
	return status;
}

enum cairn_status backup_enter_folder(struct backup *b)
{
	if (!b->options->incremental)
		return CAIRN_OK;
	enum cairn_status status = backup_check_folder(b);
	if (status != CAIRN_OK)
		return status;
	status = cairn_backup_set_open(&b->set, b->options->out, true, b->diag);
	for (size_t i = 0; i < b->set.n && status == CAIRN_OK; i++)
		status = backup_know(b, &b->set.archives[i]);
	cairn_backup_objects_sort(&b->known);
	if (status != CAIRN_OK)
		return status;
	b->at_unix_s = cairn_clock_unix_s();
	return cairn_backup_set_name(&b->set, &b->at_unix_s, b->report->moment, b->diag);
}

static void backup_close_file(struct backup *b)
{
	cairn_fold_writer_free(b->w);
	b->w = NULL;
	cairn_fd_closep(&b->fd);
}

enum cairn_status backup_end_objects(struct backup *b)
{
	char name[BACKUP_PATH_BYTES], file[CAIRN_BACKUP_FILE_BYTES];
	enum cairn_status status = CAIRN_OK;
	cairn_backup_file_name(file, b->report->moment, false);
	(void)snprintf(name, sizeof(name), "%s/%s", b->options->out, file);
	if (b->catalog.len > 0) {
		status = backup_wrote(b, cairn_fold_writer_add(b->w, BACKUP_CATALOG, BACKUP_CATALOG_CTYPE,
							       b->catalog.bytes, b->catalog.len));
		b->report->n_chunks++;
		if (status == CAIRN_OK)
			status = backup_finish(b, BACKUP_KIND_OBJECTS, name, 0);
	} else if (cairn_sys_unlink(b->part) < 0) {
		status = backup_io(b, "remove", b->part);
	}
	backup_close_file(b);
	return status;
}

/* Writes the moment. Starts moment.part again: the remains of a killed backup are useless. */
enum cairn_status backup_moment(struct backup *b)
{
	char name[BACKUP_PATH_BYTES], file[CAIRN_BACKUP_FILE_BYTES];
	uint64_t index_bytes = 0, part_bytes = 0, objects_bytes = b->report->file_bytes;
	cairn_backup_file_name(file, b->report->moment, true);
	(void)snprintf(name, sizeof(name), "%s/%s", b->options->out, file);
	(void)snprintf(b->part, sizeof(b->part), "%s/moment.part", b->options->out);
	if (cairn_sys_unlink(b->part) < 0 && errno != ENOENT)
		return backup_io(b, "remove", b->part);
	enum cairn_status status = backup_open(b, &part_bytes);
	if (status == CAIRN_OK)
		status = backup_index(b, &index_bytes);
	if (status == CAIRN_OK)
		status = backup_secret(b);
	if (status == CAIRN_OK)
		status = backup_finish(b, BACKUP_KIND_MOMENT, name, index_bytes);
	b->report->file_bytes += b->catalog.len > 0 ? objects_bytes : 0;
	return status;
}
