/* Backs up a whole store into one FOLD file, also while a daemon uses the store. docs/formats.md describes it. */
#ifndef CAIRN_BACKUP_BACKUP_H
#define CAIRN_BACKUP_BACKUP_H

#include "base/status.h"

/* Notes (data_dir/note.h) through which a backup reports to the daemon of the folder. */
#define CAIRN_BACKUP_NOTE     "backup"    /* the latest finished backups: ran, good, failed, bytes */
#define CAIRN_BACKUP_RUN_NOTE "backuprun" /* the running backup: started, seen (both times), done, total (bytes) */

enum {
	CAIRN_BACKUP_PIECE_BYTES = 64 << 20, /* length of an index chunk; least limit of a bundle, see backup.c */
};

/** Progress and results of a backup. */
struct cairn_backup_report {
	uint64_t n_objects, object_bytes; /* objects in the file */
	uint64_t n_total, total_bytes;    /* objects that the index names; total_bytes excludes those of n_earlier */
	uint64_t n_kept;                  /* of n_objects: written by an interrupted backup */
	uint64_t n_earlier;               /* of n_total: already in earlier archives of the folder */
	uint64_t n_damaged;               /* of n_total: omitted, because their bytes do not match their hash */
	char moment[24]; /* name of the moment in the folder, as restore accepts it; empty: no folder */
	uint64_t n_chunks, file_bytes;
	uint64_t n_contents_damaged; /* files stored in the index whose bytes are not those committed; at most 64 */
	uint64_t n_mirrored, mirrored_bytes; /* files of mirrored repositories that were omitted */
};

struct cairn_backup_options {
	const char *data_dir;
	const char *out;         /* the file, which must not exist; or the folder, which is created if missing */
	bool incremental;        /* out is a folder (backup_set.h): write only objects that none of its archives has */
	const int *pipe_fd;      /* write to this pipe; needs zstd_level 0, and out only names it. NULL: write to out */
	const char *spool;       /* for a pipe: a folder with room for the index meanwhile */
	int zstd_level;          /* as in cairn_fold_writer_options */
	unsigned parity;         /* as in cairn_fold_writer_options */
	bool with_mirror;        /* include files that only mirrored repositories own */
	bool with_secret;        /* include the server's secret: the backup is then secret, too */
	const char *secret_file; /* NULL: data_dir/secret */
	uint64_t bundle_bytes;   /* limit for the objects in a chunk; 0: chosen by the store's size */
	/** Called when the totals are known, after each chunk, and while a chunk is filled. @return false to stop
	 * (CAIRN_E_BUSY): the next backup continues from what was written */
	bool (*progress)(void *ctx, const struct cairn_backup_report *so_far);
	/** Reports a damaged object and the reason. NULL: no report */
	void (*damaged)(void *ctx, const char *why);
	void *ctx;
};

/** Writes the objects, then the index that names them, as both were at one moment. Unpacks and hashes each object
 * first, and blocks garbage collection meanwhile. Memory: about twice the bundle, and 32 bytes per object. The file
 * grows as OUT.part and gets its name once it is complete and durable. A later call continues an interrupted OUT.part:
 * it reads the chunks and compares them with the store. A folder gets an archive of the new objects, and then one of
 * the moment (backup_set.h); a later call continues FOLDER/next.part. A pipe gets the same file uncompressed: the
 * header states where the index will be, so each chunk's length must be known before. An interrupted backup to a pipe
 * starts again.
 * @return CAIRN_OK
 *         CAIRN_E_CONFLICT  out exists; OUT.part is of another backup, or in use; no index of Cairn
 *         CAIRN_E_MISMATCH  the index is damaged, or names an object that is missing or has another length: run fsck
 *         first. Or objects are damaged: sound ones were written, and a later call continues, but no incomplete file
 *         gets its name. A pipe ends at the first damaged object
 *         CAIRN_E_LIMIT     more than a file can hold
 *         CAIRN_E_USAGE     a path is too long, or the secret cannot be used
 *         CAIRN_E_BUSY      stopped, or the store does not answer
 *         CAIRN_E_FORMAT    an archive of the folder, or its metadata, is not valid (backup.kind, backup.store)
 *         CAIRN_E_NOT_FOUND a folder in a path does not exist
 *         CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_backup(const struct cairn_backup_options *options,
					      struct cairn_backup_report *report, struct cairn_diag *diag);

#endif
