/* Removes from a folder of backups the moments that the rules drop, and the space that the other moments do not
 * need. */
#ifndef CAIRN_BACKUP_BACKUP_PRUNE_H
#define CAIRN_BACKUP_BACKUP_PRUNE_H

#include "backup/backup_keep.h"

/** The decision of pruning about an archive. */
enum cairn_backup_fate {
	CAIRN_BACKUP_KEPT,
	CAIRN_BACKUP_REMOVED,
	CAIRN_BACKUP_REWRITTEN, /* its needed objects move into a new archive; then it is removed */
};

struct cairn_backup_prune_options {
	struct cairn_backup_rules rules;
	unsigned max_unused_percent; /* the share of an archive's object bytes that may be unneeded; an archive above it
					is rewritten. 100: none is */
	bool dry_run;                /* only report; remove nothing */
	/** Called for each archive before any is removed. @param unused_bytes  of objects that no kept moment needs */
	void (*visit)(void *ctx, const struct cairn_backup_archive *archive, enum cairn_backup_fate fate,
		      uint64_t unused_bytes);
	bool (*progress)(void *ctx, uint64_t done_bytes,
			 uint64_t total_bytes); /* progress of a rewrite. @return false to stop */
	void *ctx;
};

struct cairn_backup_prune_report {
	uint64_t n_kept, n_dropped;                                         /* moments */
	uint64_t n_archives_kept, n_archives_dropped, n_archives_rewritten; /* archives of objects */
	uint64_t freed_bytes;  /* with dry_run: estimated by length for archives to rewrite */
	uint64_t left_bytes;   /* of all archives that remain */
	uint64_t unused_bytes; /* bytes of objects in them that no kept moment needs */
};

/** Removes the moments that the rules do not keep, and the archives whose objects no kept moment needs. Archives with
 * few needed objects are rewritten: a new archive gets those objects, is verified, and replaces the old ones. If a
 * kept moment cannot be read, nothing is removed; if the disk is full, the remains of an interrupted backup are
 * removed first. Every moment in the folder has all its objects at any time. Memory: 50 bytes for each object of the
 * kept moments, and three bundles.
 * @param set  open to write; no longer valid afterwards
 * @return CAIRN_OK; CAIRN_E_CONFLICT "backup.rules": the rules would keep no moment; as cairn_backup_moment_needs(),
 *         cairn_backup_rewrite(), cairn_backup_archive_verify() */
CAIRN_MUST_USE enum cairn_status cairn_backup_prune(struct cairn_backup_set *set,
						    const struct cairn_backup_prune_options *options,
						    struct cairn_backup_prune_report *report, struct cairn_diag *diag);

#endif
