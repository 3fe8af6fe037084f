#include "backup/backup.h"

#include "backup/backup_work.h"
#include "base/fd.h"
#include "base/sys.h"
#include "data_dir/hold.h"
#include "index/backup.h"
#include "index/examine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The FOLD index takes up to 570 bytes per chunk, and is limited to 100 MiB. So bundles grow with the store to keep
 * their number near this, or twice this if each object is longer than half a bundle. */
enum { BACKUP_BUNDLES = 80000 };

static void backup_note_fault(void *ctx, const struct cairn_index_fault *fault)
{
	struct backup *b = ctx;
	if (fault->kind == CAIRN_INDEX_FAULT_CONTENT) {
		/* No repair restores this file, and the backup is still good for all other files. */
		b->report->n_contents_damaged++;
		return;
	}
	(void)!cairn_fail(b->diag, CAIRN_E_MISMATCH, "backup.index", CAIRN_NO_OFFSET,
			  "the index is damaged, and a backup would be, too; stop the daemon and run cairn fsck "
			  "--repair: %s",
			  fault->text);
	b->n_faults++;
}

/* Examines the backed-up index: otherwise its damage would show only when the backup is needed. */
static enum cairn_status backup_examine(struct backup *b)
{
	enum cairn_status status = cairn_index_backup_examine(b->index_url, b->index, backup_note_fault, b, b->diag);
	return status == CAIRN_OK && b->n_faults > 0 ? CAIRN_E_MISMATCH : status;
}

static enum cairn_status backup_paths(struct backup *b)
{
	const char *out = b->options->out, *part = b->options->incremental ? "/next" : "";
	struct stat st;
	int n = snprintf(b->part, sizeof(b->part), "%s%s.part", out, part);
	int m = snprintf(b->index, sizeof(b->index), "%s%s.index", out, part);
	if (n < 0 || (size_t)n >= sizeof(b->part) || m < 0 || (size_t)m >= sizeof(b->index) ||
	    strlen(out) + 1 + CAIRN_BACKUP_FILE_BYTES > sizeof(b->part))
		return cairn_fail(b->diag, CAIRN_E_USAGE, "backup.file", CAIRN_NO_OFFSET, "the path is too long");
	if (!b->options->incremental && cairn_sys_lstat(out, &st) == 0)
		return cairn_fail(b->diag, CAIRN_E_CONFLICT, "backup.exists", CAIRN_NO_OFFSET,
				  "%s is there already; name another file, or remove it", out);
	return CAIRN_OK;
}

static void backup_size_bundles(struct backup *b)
{
	uint64_t bytes = b->report->total_bytes / BACKUP_BUNDLES;
	b->bundle_bytes = bytes > CAIRN_BACKUP_PIECE_BYTES ? bytes : CAIRN_BACKUP_PIECE_BYTES;
	if (b->options->bundle_bytes > 0)
		b->bundle_bytes = b->options->bundle_bytes;
	if (b->bundle_bytes > CAIRN_FOLD_CHUNK_BYTES_MAX / 2)
		b->bundle_bytes = CAIRN_FOLD_CHUNK_BYTES_MAX / 2;
	/* A single object may be longer than a bundle's limit. */
	b->data = cairn_buf_init(CAIRN_FOLD_CHUNK_BYTES_MAX);
	b->entries = cairn_buf_init(CAIRN_FOLD_CHUNK_BYTES_MAX);
	b->kept = cairn_buf_init(SIZE_MAX);
}

static enum cairn_status backup_objects(struct backup *b, uint64_t part_bytes)
{
	enum cairn_status status = b->options->pipe_fd ? backup_open_pipe(b) : backup_resume(b, part_bytes);
	if (status == CAIRN_OK)
		status = cairn_index_backup_each(b->index_url, b->index, backup_visit, b, b->diag);
	return status == CAIRN_OK ? backup_flush(b) : status;
}

static enum cairn_status backup_begin(struct backup *b, uint64_t *part_bytes)
{
	int version, latest;
	const char *data_dir = b->options->data_dir;
	/* Block garbage collection before the index is backed up, so that no object which it names is removed. */
	enum cairn_status status = cairn_hold_take(data_dir, &b->hold_fd, b->diag);
	if (status == CAIRN_OK)
		status = cairn_data_dir_open_store(&b->store, data_dir, true, b->diag);
	if (status == CAIRN_OK)
		status = cairn_data_dir_index_url(b->index_url, data_dir, b->diag);
	if (status == CAIRN_OK) /* before creating a file that would stay empty */
		status = cairn_index_version(b->index_url, &version, &latest, b->diag);
	if (status == CAIRN_OK)
		status = cairn_identity_get(b->identity, data_dir, b->diag);
	if (status == CAIRN_OK)
		status = b->options->pipe_fd ? backup_make_spool(b) : backup_paths(b);
	if (status == CAIRN_OK)
		status = backup_enter_folder(b);
	return status == CAIRN_OK && !b->options->pipe_fd ? backup_open(b, part_bytes) : status;
}

/* Removes the temporary index if this process made it; otherwise it may be another process's. */
static void backup_drop_copy(struct backup *b)
{
	if (b->w || b->at_unix_s > 0 || b->spool[0])
		(void)cairn_sys_unlink(b->index);
	if (b->spool[0])
		(void)cairn_sys_rmdir(b->spool);
}

static enum cairn_status backup_run(struct backup *b)
{
	uint64_t part_bytes = 0, index_bytes = 0;
	enum cairn_status status = backup_begin(b, &part_bytes);
	if (status == CAIRN_OK)
		status = cairn_index_backup(b->index_url, b->index, b->diag);
	if (status == CAIRN_OK && !b->options->with_mirror)
		status = cairn_index_backup_unmirror(b->index_url, b->index, &b->report->n_mirrored,
						     &b->report->mirrored_bytes, b->diag);
	if (status == CAIRN_OK)
		status = backup_examine(b);
	if (status == CAIRN_OK)
		status = cairn_index_backup_each(b->index_url, b->index, backup_count, b, b->diag);
	if (status != CAIRN_OK)
		return status;
	backup_size_bundles(b);
	if (!backup_goes_on(b)) /* the totals are known now */
		return CAIRN_E_BUSY;
	status = backup_objects(b, part_bytes);
	if (status == CAIRN_OK && b->options->incremental)
		status = backup_end_objects(b);
	/* Give no name to a backup with missing objects: it could not be restored, and would be the newest. */
	if (status == CAIRN_OK)
		status = backup_damage(b);
	if (status == CAIRN_OK && b->options->incremental)
		return backup_moment(b);
	if (status == CAIRN_OK)
		status = backup_index(b, &index_bytes);
	if (status == CAIRN_OK)
		status = backup_secret(b);
	return status == CAIRN_OK ? backup_finish(b, BACKUP_KIND, b->options->out, index_bytes) : status;
}

enum cairn_status cairn_backup(const struct cairn_backup_options *options, struct cairn_backup_report *report,
			       struct cairn_diag *diag)
{
	struct backup *b = calloc(1, sizeof(*b));
	*report = (struct cairn_backup_report){0};
	if (!b)
		return CAIRN_E_NOMEM;
	b->options = options;
	b->report = report;
	b->diag = diag;
	b->fd = b->hold_fd = b->set.dir_fd = b->set.lock_fd = -1;
	b->known = cairn_buf_init(SIZE_MAX);
	b->catalog = cairn_buf_init(CAIRN_FOLD_CHUNK_BYTES_MAX);
	enum cairn_status status = backup_run(b);
	backup_drop_copy(b);
	cairn_fold_writer_free(b->w);
	cairn_store_free(b->store);
	cairn_buf_fini(&b->data);
	cairn_buf_fini(&b->entries);
	cairn_buf_fini(&b->kept);
	cairn_buf_fini(&b->known);
	cairn_buf_fini(&b->catalog);
	cairn_backup_set_close(&b->set);
	cairn_fd_closep(&b->fd);
	cairn_fd_closep(&b->hold_fd);
	free(b);
	return status;
}
