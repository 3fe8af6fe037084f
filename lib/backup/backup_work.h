/* Internal interface of the files that make a backup. Single-threaded.
 *
 * backup_file.c writes the file and its chunks other than bundles; backup_objects.c fills bundles and continues an
 * interrupted file; backup_pipe.c computes in advance the lengths that a pipe needs; backup_folder.c reads which
 * objects a folder already has; backup.c runs these steps in order.
 *
 * A function returns a status of cairn_backup() and fills diag, unless it has another @return. */
#ifndef CAIRN_BACKUP_BACKUP_WORK_H
#define CAIRN_BACKUP_BACKUP_WORK_H

#include "archive/fold/writer.h"
#include "backup/backup.h"
#include "backup/backup_format.h"
#include "backup/backup_set.h"
#include "data_dir/data_dir.h"
#include "data_dir/identity.h"
#include "store/store.h"

struct backup {
	const struct cairn_backup_options *options;
	struct cairn_backup_report *report;
	struct cairn_diag *diag;
	char part[BACKUP_PATH_BYTES], index[BACKUP_PATH_BYTES];
	char spool[BACKUP_PATH_BYTES];            /* for a pipe: the folder of `index`, removed with it */
	char index_url[CAIRN_DATA_DIR_URL_BYTES]; /* URL of the index that is backed up to `index` */
	int fd, hold_fd;
	struct cairn_store *store;
	struct cairn_fold_writer *w;
	uint64_t bundle_bytes;
	struct cairn_buf data, entries; /* the bundle being filled */
	struct cairn_buf kept; /* struct cairn_backup_object, sorted: objects that an interrupted backup has written */
	unsigned n_bundles, n_faults;
	struct cairn_hash damaged; /* the first damaged object, if report counts any */
	char identity[CAIRN_IDENTITY_BYTES];
	/* Only for a folder. */
	struct cairn_backup_set set;
	struct cairn_buf known;   /* struct cairn_backup_object, sorted: objects in the folder's archives */
	struct cairn_buf catalog; /* catalog of the new objects */
	int64_t at_unix_s;
};

/* --- backup_file.c ------------------------------------------------------------------------------------------------ */

/** Reports errno in diag. @return errno as a status */
CAIRN_MUST_USE enum cairn_status backup_io(struct backup *b, const char *what, const char *path);

/** Reports a failure of the writer in diag. @return status */
CAIRN_MUST_USE enum cairn_status backup_wrote(struct backup *b, enum cairn_status status);

/** Reports progress. @return false: the caller wants to stop */
bool backup_goes_on(struct backup *b);

/** Creates b->part, or opens the file of an interrupted backup, and locks it. @param[out] part_bytes  its length */
CAIRN_MUST_USE enum cairn_status backup_open(struct backup *b, uint64_t *part_bytes);

/** Writes the backed-up index in chunks. @param index_bytes  increased by its length */
CAIRN_MUST_USE enum cairn_status backup_index(struct backup *b, uint64_t *index_bytes);

/** Loads the server's secret; the caller clears it. */
CAIRN_MUST_USE enum cairn_status backup_load_secret(struct backup *b, struct cairn_secret *secret);
/** Writes the server's secret if the options ask for it. */
CAIRN_MUST_USE enum cairn_status backup_secret(struct backup *b);

/** Ends the file and gives it its name, durably. @param name  must not exist; ignored for a pipe */
CAIRN_MUST_USE enum cairn_status backup_finish(struct backup *b, const char *kind, const char *name,
					       uint64_t index_bytes);

/* --- backup_objects.c --------------------------------------------------------------------------------------------- */

/** Returns whether an object fits into a bundle of these lengths. */
bool backup_fits(const struct backup *b, uint64_t data_bytes, uint64_t entries_bytes, uint64_t stored_bytes);

/** Visitors of objects; ctx is the backup: the first counts an object, the second bundles it if the backup lacks it. */
CAIRN_MUST_USE enum cairn_status backup_count(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes,
					      uint64_t layout);
CAIRN_MUST_USE enum cairn_status backup_visit(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes,
					      uint64_t layout);

/** Reports damaged objects, if any. @return CAIRN_OK; CAIRN_E_MISMATCH */
CAIRN_MUST_USE enum cairn_status backup_damage(struct backup *b);

/** Writes the bundle being filled. */
CAIRN_MUST_USE enum cairn_status backup_flush(struct backup *b);

/** Keeps the bundles of an interrupted backup that are whole and match the store. @param len  length of its file */
CAIRN_MUST_USE enum cairn_status backup_resume(struct backup *b, uint64_t len);

/* --- backup_pipe.c ------------------------------------------------------------------------------------------------ */

/** Creates a folder for the index. */
CAIRN_MUST_USE enum cairn_status backup_make_spool(struct backup *b);

/** Starts writing to the pipe. Call it when the index is backed up, because that has the length of every object. */
CAIRN_MUST_USE enum cairn_status backup_open_pipe(struct backup *b);

/* --- backup_folder.c ---------------------------------------------------------------------------------------------- */

/** Locks the folder, reads its catalogs, and chooses a name for the new archives. */
CAIRN_MUST_USE enum cairn_status backup_enter_folder(struct backup *b);

/** Ends the archive of new objects and gives it its name; without new objects there is no archive. */
CAIRN_MUST_USE enum cairn_status backup_end_objects(struct backup *b);

/** Writes the archive of the moment. All objects that it names must be durable. */
CAIRN_MUST_USE enum cairn_status backup_moment(struct backup *b);

#endif
