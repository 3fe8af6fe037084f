/* Between the files that restore a backup. One thread.
 *
 * restore_target.c is the data folder that is made, and what the index in it names; restore_pipe.c reads what comes
 * once, from front to back; restore.c reads a file, or a folder of archives, and is the order of it all.
 *
 * Each call that says nothing else answers as cairn_restore(), with diag. */
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
	uint64_t layout; /* 0: not known, any will do */
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

/* --- restore_target.c --------------------------------------------------------------------------------------------- */

/** Say what errno means. @return it, as a status */
CAIRN_MUST_USE enum cairn_status restore_io(struct restore *r, const char *what, const char *path);

/** Make the folder this restore's own: it must be empty, or half of what this backup makes. */
CAIRN_MUST_USE enum cairn_status restore_enter(struct restore *r);

/** Write a small file durably. */
CAIRN_MUST_USE enum cairn_status restore_put(struct restore *r, const char *name, const void *bytes, size_t len);

/** Is r->index that of a backup, and whole? */
CAIRN_MUST_USE enum cairn_status restore_check_kind(struct restore *r);

/** RESTORE_INDEX is written. @param fd  its file */
CAIRN_MUST_USE enum cairn_status restore_end_index(struct restore *r, int fd);

/** Learn what it names. */
CAIRN_MUST_USE enum cairn_status restore_rows(struct restore *r);

/** @return NULL: the index does not name such an object */
struct restore_row *restore_names(struct restore *r, const struct cairn_hash *hash);

/** The row that is not filled yet. @return NULL: the index does not name such an object, or it is there */
struct restore_row *restore_row_of(struct restore *r, const struct cairn_hash *hash, uint64_t len);

/** Whatever the index says of it. */
CAIRN_MUST_USE enum cairn_status restore_put_object(struct restore *r, const struct cairn_bundle_object *object);

/** Every object that the index names must be there. */
CAIRN_MUST_USE enum cairn_status restore_check(struct restore *r);

/** The index gets its name, and the folder is one that may be opened. */
CAIRN_MUST_USE enum cairn_status restore_end(struct restore *r);

/* --- restore_pipe.c ----------------------------------------------------------------------------------------------- */

/** All of it. */
CAIRN_MUST_USE enum cairn_status restore_run_pipe(struct restore *r);

#endif
