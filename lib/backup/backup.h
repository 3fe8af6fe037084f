/* A backup of a whole store in one FOLD file, made beside a daemon that may be running. docs/formats.md has what stands
 * in it. */
#ifndef CAIRN_BACKUP_BACKUP_H
#define CAIRN_BACKUP_BACKUP_H

#include "base/status.h"

/* Notes (data_dir/note.h) by which whoever makes a backup tells the daemon of the folder. */
#define CAIRN_BACKUP_NOTE     "backup"    /* of the last that have ended: ran, good, failed, bytes */
#define CAIRN_BACKUP_RUN_NOTE "backuprun" /* of one under way: started, seen (both times), done, total (bytes) */

enum {
	CAIRN_BACKUP_PIECE_BYTES = 64 << 20, /* of the index; and what a bundle of objects has at most, see backup.c */
};

/** What is written so far. */
struct cairn_backup_report {
	uint64_t n_objects, object_bytes; /* in the file */
	uint64_t n_total, total_bytes;    /* that are to be in it */
	uint64_t n_kept;                  /* of the objects in the file, that an interrupted backup had left */
	uint64_t n_earlier;               /* of all, that earlier archives of the folder have */
	uint64_t n_damaged;               /* of all, that are not what they are called, and so not in the file */
	char moment[24];                  /* name of the moment in the folder, which restore takes; else empty */
	uint64_t n_chunks, file_bytes;
	uint64_t n_contents_damaged; /* files that the index keeps itself and are not what was committed, 64 at most */
};

struct cairn_backup_options {
	const char *data_dir;
	const char *out;    /* the file; it must not be there. Or the folder, made when it is missing */
	bool incremental;   /* into a folder (backup_set.h): only objects that no archive there has */
	const int *pipe_fd; /* there, from front to back, with zstd_level 0; out is what it is called. NULL: to out */
	const char *spool;  /* of a pipe: a folder with room for a copy of the index, while it is written */
	int zstd_level;     /* as in cairn_fold_writer_options */
	unsigned parity;    /* likewise */
	bool with_secret;   /* also the server's secret: then the file is one, too */
	const char *secret_file; /* NULL: data_dir/secret */
	uint64_t bundle_bytes;   /* of objects in a chunk; 0: as the store's size wants it */
	/** Called once the totals are known, after each chunk, and while one is gathered. @return false to stop
	 * (CAIRN_E_BUSY): what was written is kept for the next time */
	bool (*progress)(void *ctx, const struct cairn_backup_report *so_far);
	/** Told of each object that is damaged: which, and why. NULL: nobody is */
	void (*damaged)(void *ctx, const char *why);
	void *ctx;
};

/**
 * Write the file: objects, then the index that names them, as it was at one moment. It grows as OUT.part and gets its
 * name when it is complete and durable; OUT.part of an interrupted backup is gone on with: its chunks are read, and
 * compared with the store. Each object is unpacked and hashed first. No collection removes anything meanwhile. Memory:
 * about twice the bundle, and 32 bytes an object. Into a folder: likewise an archive of what is new, and then one of
 * the moment; see backup_set.h. There FOLDER/next.part is gone on with. A pipe gets the same file, except that nothing
 * in it is compressed: its header says first where the index will be, so the length of each chunk must be known before.
 * An interrupted one begins anew.
 * @return CAIRN_OK
 *         CAIRN_E_CONFLICT  out is there already; OUT.part is of another backup, or in use; no index of Cairn
 *         CAIRN_E_MISMATCH  the index is damaged, or names an object that is not there or has another length: fsck it
 *         first. Or objects are damaged: what is sound was written, and is gone on with; but nothing gets its name
 *         that could not be restored, and a pipe ends at the first
 *         CAIRN_E_LIMIT     more than a file can hold
 *         CAIRN_E_USAGE     a path is too long, or the secret cannot be used
 *         CAIRN_E_BUSY      stopped, or the store does not answer
 *         CAIRN_E_FORMAT    an archive of the folder, or what it says, is not ours (backup.kind, backup.store)
 *         CAIRN_E_NOT_FOUND a folder that is named is not there
 *         CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_backup(const struct cairn_backup_options *options,
					      struct cairn_backup_report *report, struct cairn_diag *diag);

#endif
