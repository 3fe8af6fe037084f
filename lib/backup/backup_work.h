/* Between the files that make a backup. One thread.
 *
 * backup_file.c is the file on its way, and what is in it beside objects; backup_objects.c fills bundles, and goes
 * on with an interrupted file; backup_pipe.c counts beforehand what a pipe will get; backup_folder.c knows what a
 * folder has already; backup.c is the order of it all.
 *
 * Each call that says nothing else answers as cairn_backup(), with diag. */
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
	char spool[BACKUP_PATH_BYTES];            /* of a pipe: the folder that index is in, which goes with it */
	char index_url[CAIRN_DATA_DIR_URL_BYTES]; /* of what is copied to index */
	int fd, hold_fd;
	struct cairn_store *store;
	struct cairn_fold_writer *w;
	uint64_t bundle_bytes;
	struct cairn_buf data, entries; /* the bundle on its way */
	struct cairn_buf kept;          /* struct cairn_backup_object: what an interrupted one had written, sorted */
	unsigned n_bundles, n_faults;
	struct cairn_hash damaged; /* the first object that is, when report counts one */
	char identity[CAIRN_IDENTITY_BYTES];
	/* Into a folder. */
	struct cairn_backup_set set;
	struct cairn_buf known;   /* struct cairn_backup_object: what the archives there have, sorted */
	struct cairn_buf catalog; /* of what is new */
	int64_t at_unix_s;
};

/* --- backup_file.c: each status as cairn_backup() has it ---------------------------------------------------------- */

/** Say what errno means. @return it, as a status */
CAIRN_MUST_USE enum cairn_status backup_io(struct backup *b, const char *what, const char *path);

/** Say what the writer's failure means. @return status */
CAIRN_MUST_USE enum cairn_status backup_wrote(struct backup *b, enum cairn_status status);

/** Tell how far it is. @return false: it is stopped */
bool backup_goes_on(struct backup *b);

/** Make or open b->part, which an interrupted one may have begun, and lock it. @param[out] part_bytes  its length */
CAIRN_MUST_USE enum cairn_status backup_open(struct backup *b, uint64_t *part_bytes);

/** The copied index, in pieces. @param index_bytes  its length is added */
CAIRN_MUST_USE enum cairn_status backup_index(struct backup *b, uint64_t *index_bytes);

/** The caller clears it. */
CAIRN_MUST_USE enum cairn_status backup_load_secret(struct backup *b, struct cairn_secret *secret);
/** Where it is wanted. */
CAIRN_MUST_USE enum cairn_status backup_secret(struct backup *b);

/** The end of the file; then it gets its name, durably. @param name  of nothing yet; a pipe has none */
CAIRN_MUST_USE enum cairn_status backup_finish(struct backup *b, const char *kind, const char *name,
					       uint64_t index_bytes);

/* --- backup_objects.c --------------------------------------------------------------------------------------------- */

/** Does an object go into the bundle that has so much? */
bool backup_fits(const struct backup *b, uint64_t data_bytes, uint64_t entries_bytes, uint64_t stored_bytes);

/** Visits of cairn_index_copy_each(), ctx the backup: count it; and take it into a bundle, unless it is there. */
CAIRN_MUST_USE enum cairn_status backup_count(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes,
					      uint64_t layout);
CAIRN_MUST_USE enum cairn_status backup_visit(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes,
					      uint64_t layout);

/** Was there any object that is damaged? @return CAIRN_OK; CAIRN_E_MISMATCH */
CAIRN_MUST_USE enum cairn_status backup_damage(struct backup *b);

/** Write the bundle that is under way. */
CAIRN_MUST_USE enum cairn_status backup_flush(struct backup *b);

/** Take over the bundles of an interrupted one that are whole and still true. @param len  of its file */
CAIRN_MUST_USE enum cairn_status backup_resume(struct backup *b, uint64_t len);

/* --- backup_pipe.c ------------------------------------------------------------------------------------------------ */

/** A folder for the copy of the index. */
CAIRN_MUST_USE enum cairn_status backup_make_spool(struct backup *b);

/** After the index was copied, which has the length of every object. */
CAIRN_MUST_USE enum cairn_status backup_open_pipe(struct backup *b);

/* --- backup_folder.c ---------------------------------------------------------------------------------------------- */

/** Lock it, learn what its archives have, and choose a name for the new ones. */
CAIRN_MUST_USE enum cairn_status backup_enter_folder(struct backup *b);

/** The archive of what is new gets its name; without anything new there is none. */
CAIRN_MUST_USE enum cairn_status backup_end_objects(struct backup *b);

/** The archive of the moment. All that it names is durable. */
CAIRN_MUST_USE enum cairn_status backup_moment(struct backup *b);

#endif
