/* The files of a snapshot, or of a plain folder: which there are, and each of them opened. No way to a file leads
 * through a symbolic link, but from a snapshot of a cache to a blob of that cache. */
#ifndef CAIRN_CLI_IMPORT_FILES_H
#define CAIRN_CLI_IMPORT_FILES_H

#include "cli/hub/import_source.h"
#include "cli/push/push_folder.h"

/** Begin it with IMPORT_FILES_NONE. Owns all. */
struct import_files {
	struct push_folder folder; /* which there are */
	bool is_cache;
	int dir;           /* the folder that they are in */
	int blobs, shared; /* of a cache, the folders of blobs: of the repository, and of all; -1: there is none */
};
#define IMPORT_FILES_NONE                                                                                              \
	(struct import_files)                                                                                          \
	{                                                                                                              \
		.dir = -1, .blobs = -1, .shared = -1                                                                   \
	}
void import_files_fini(struct import_files *f);

/**
 * Find them. What tools leave in a plain folder (.git, .cache/huggingface) is left out, as are its symbolic links.
 * @param quiet  what is left out is not mentioned
 * @return as push_folder_read(); CAIRN_E_NOT_FOUND the snapshot is a symbolic link (folder.read); CAIRN_E_MISMATCH a
 *         link of a snapshot leads to no blob of its cache, or the blob is not there (import.blob)
 */
CAIRN_MUST_USE enum cairn_status import_files_read(struct import_files *out, const struct import_source *source,
						   const struct import_snapshot *snapshot, bool quiet,
						   struct cairn_diag *diag);

/** A file that is open. */
struct import_file {
	int fd;
	char blob[2 * CAIRN_SHA256_BYTES +
		  1]; /* the hash that its blob is called by; "": it is none, or has no such name */
};

/**
 * Open a file. It is the caller's to close.
 * @param i  of the manifest
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND it is not there any more, or is no regular file now (file.open);
 *         CAIRN_E_MISMATCH as above
 */
CAIRN_MUST_USE enum cairn_status import_files_open(const struct import_files *f, size_t i, struct import_file *out,
						   struct cairn_diag *diag);

/** Is a blob what it is called by? To be asked with what was read of the file: its SHA-256, or all its bytes.
 *  @return CAIRN_OK; CAIRN_E_MISMATCH (import.blob); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status import_file_judge(const struct import_file *file, const char *path,
						   const uint8_t sha256[static CAIRN_SHA256_BYTES],
						   struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status import_file_judge_bytes(const struct import_file *file, const char *path,
							 const void *bytes, size_t len, struct cairn_diag *diag);

/** Likewise of one that is called by a git oid, which is read for it; any other passes.
 *  @return as above; CAIRN_E_IO (file.read) */
CAIRN_MUST_USE enum cairn_status import_file_judge_oid(const struct import_file *file, const char *path,
						       struct cairn_diag *diag);

#endif
