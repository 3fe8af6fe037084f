/* Removing what the rules do not keep from a folder of backups, and giving back what of the rest nobody needs. */
#ifndef CAIRN_BACKUP_BACKUP_PRUNE_H
#define CAIRN_BACKUP_BACKUP_PRUNE_H

#include "backup/backup_keep.h"

/** What becomes of an archive. */
enum cairn_backup_fate {
	CAIRN_BACKUP_KEPT,
	CAIRN_BACKUP_REMOVED,
	CAIRN_BACKUP_REWRITTEN, /* what is needed of it goes into a new one, and it goes */
};

struct cairn_backup_prune_options {
	struct cairn_backup_rules rules;
	unsigned max_unused_percent; /* of an archive's objects, by length: if no kept moment needs more, it is
				      * rewritten. 100: none is */
	bool dry_run;                /* only tell */
	/** Told of each archive, before anything is removed. @param unused_bytes  of its objects, that nobody needs */
	void (*visit)(void *ctx, const struct cairn_backup_archive *archive, enum cairn_backup_fate fate,
		      uint64_t unused_bytes);
	bool (*progress)(void *ctx, uint64_t done_bytes,
			 uint64_t total_bytes); /* of rewriting. @return false to stop */
	void *ctx;
};

struct cairn_backup_prune_report {
	uint64_t n_kept, n_dropped;                                         /* moments */
	uint64_t n_archives_kept, n_archives_dropped, n_archives_rewritten; /* of objects */
	uint64_t freed_bytes;  /* with dry_run what of the archives that would be rewritten is not needed, by their
				  length */
	uint64_t left_bytes;   /* of all archives that are there then */
	uint64_t unused_bytes; /* of objects in them, that nobody needs */
};

/**
 * Remove the moments that the rules do not keep, and the archives of objects that no kept moment needs anything of;
 * then take over what is needed of those that are needed for little into a new archive, verify that, and remove them.
 * Where a kept moment cannot be read nothing is removed; for lack of room, what an interrupted backup left goes first.
 * At any time each moment that is there has all that it names. Memory: 50 bytes an object of the kept ones, and three
 * bundles.
 * @param set  open to write; not up to date afterwards
 * @return CAIRN_OK; CAIRN_E_CONFLICT "backup.rules" they would keep none; as cairn_backup_moment_needs(),
 *         cairn_backup_rewrite(), cairn_backup_archive_verify()
 */
CAIRN_MUST_USE enum cairn_status cairn_backup_prune(struct cairn_backup_set *set,
						    const struct cairn_backup_prune_options *options,
						    struct cairn_backup_prune_report *report, struct cairn_diag *diag);

#endif
