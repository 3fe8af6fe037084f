/* Internal interface of the files that restore a backup. Single-threaded.
 *
 * restore_target.c makes the data folder and lists the objects that its index names; restore_pipe.c reads a pipe;
 * restore.c reads a file or a folder of archives, and runs the steps in order.
 *
 * A function returns a status of cairn_restore() and fills diag, unless it has another @return. */
#ifndef CAIRN_BACKUP_RESTORE_WORK_H
#define CAIRN_BACKUP_RESTORE_WORK_H

#include "archive/fold/reader.h"
#include "backup/backup_format.h"
#include "backup/backup_set.h"
#include "backup/bundle.h"
#include "backup/restore.h"
#include "store/store.h"

#define RESTORE_INDEX "index.sqlite.part"

struct restore_row {
	struct cairn_hash hash;
	uint64_t stored_bytes;
	uint64_t layout; /* 0: unknown; any layout is accepted */
	bool done;
};

struct restore {
	const struct cairn_restore_options *options;
	struct cairn_restore_report *report;
	struct cairn_diag *diag;
	int fd, dir_fd, lock_fd;
	struct cairn_fold *f;                 /* NULL for a pipe */
	const struct cairn_fold_index *index; /* index of f, or of the pipe */
	struct cairn_store *store;
	struct cairn_buf rows;   /* struct restore_row, sorted: objects that the index names */
	struct cairn_diag fault; /* the first fault of the index */
	/* Only for a folder of archives. */
	struct cairn_backup_set set;
	struct cairn_buf bundles; /* a byte for each bundle of an archive: is it needed? */
};

/* --- restore_target.c --------------------------------------------------------------------------------------------- */

/** Reports errno in diag. @return errno as a status */
CAIRN_MUST_USE enum cairn_status restore_io(struct restore *r, const char *what, const char *path);

/** Claims the folder for this restore: it must be empty, or hold an interrupted restore of the same backup. */
CAIRN_MUST_USE enum cairn_status restore_enter(struct restore *r);

/** Writes a small file durably. */
CAIRN_MUST_USE enum cairn_status restore_put(struct restore *r, const char *name, const void *bytes, size_t len);

/** Checks that r->index belongs to a complete backup. */
CAIRN_MUST_USE enum cairn_status restore_check_kind(struct restore *r);

/** Makes RESTORE_INDEX durable after it is written. @param fd  descriptor of its file */
CAIRN_MUST_USE enum cairn_status restore_end_index(struct restore *r, int fd);

/** Fills r->rows with the objects that RESTORE_INDEX names. */
CAIRN_MUST_USE enum cairn_status restore_rows(struct restore *r);

/** Returns the row of an object. @return NULL: the index does not name it */
struct restore_row *restore_names(struct restore *r, const struct cairn_hash *hash);

/** Returns the row of a missing object. @return NULL: the index does not name it with this length, or it is restored */
struct restore_row *restore_row_of(struct restore *r, const struct cairn_hash *hash, uint64_t len);

/** Stores an object, whether or not the index names it. */
CAIRN_MUST_USE enum cairn_status restore_put_object(struct restore *r, const struct cairn_bundle_object *object);

/** Checks that all objects that the index names are restored. */
CAIRN_MUST_USE enum cairn_status restore_check(struct restore *r);

/** Gives the index its name, and marks the folder as complete. */
CAIRN_MUST_USE enum cairn_status restore_end(struct restore *r);

/* --- restore_pipe.c ----------------------------------------------------------------------------------------------- */

/** Restores a whole backup from a pipe. */
CAIRN_MUST_USE enum cairn_status restore_run_pipe(struct restore *r);

#endif
