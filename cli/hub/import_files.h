/* Lists and opens the files of a snapshot or of a plain folder. Follows no symbolic link, except from a snapshot of a
 * cache to a blob of that cache. */
#ifndef CAIRN_CLI_IMPORT_FILES_H
#define CAIRN_CLI_IMPORT_FILES_H

#include "cli/hub/import_source.h"
#include "cli/push/push_folder.h"

/** Initialize with IMPORT_FILES_NONE. Owns its parts. */
struct import_files {
	struct push_folder folder; /* the list of files */
	bool is_cache;
	int dir;           /* the folder of the files */
	int blobs, shared; /* in a cache: the folder of the repository's blobs, and that of shared blobs; -1: none */
};
#define IMPORT_FILES_NONE                                                                                              \
	(struct import_files)                                                                                          \
	{                                                                                                              \
		.dir = -1, .blobs = -1, .shared = -1                                                                   \
	}
void import_files_fini(struct import_files *f);

/** Lists the files. In a plain folder, leaves out symbolic links and files of tools (.git, .cache/huggingface). @param
 * quiet  do not report what is left out @return as push_folder_read(); CAIRN_E_NOT_FOUND: the snapshot is a symbolic
 * link (folder.read); CAIRN_E_MISMATCH: a link of a snapshot leads to no blob of its cache, or the blob is missing
 * (import.blob) */
CAIRN_MUST_USE enum cairn_status import_files_read(struct import_files *out, const struct import_source *source,
						   const struct import_snapshot *snapshot, bool quiet,
						   struct cairn_diag *diag);

/** An open file. */
struct import_file {
	int fd;
	char blob[2 * CAIRN_SHA256_BYTES + 1]; /* hash in the name of its blob; "": no blob, or no hash */
};

/** Opens a file; the caller closes it. @param i  index in the manifest @return CAIRN_OK; CAIRN_E_NOT_FOUND: the file
 * was removed, or is no longer a regular file (file.open); CAIRN_E_MISMATCH as import_files_read() */
CAIRN_MUST_USE enum cairn_status import_files_open(const struct import_files *f, size_t i, struct import_file *out,
						   struct cairn_diag *diag);

/** Checks a blob against its name, after its file was read: with the SHA-256, or with all bytes. @return CAIRN_OK;
 * CAIRN_E_MISMATCH (import.blob); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status import_file_judge(const struct import_file *file, const char *path,
						   const uint8_t sha256[static CAIRN_SHA256_BYTES],
						   struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status import_file_judge_bytes(const struct import_file *file, const char *path,
							 const void *bytes, size_t len, struct cairn_diag *diag);

/** Reads and checks a blob whose name is a git oid. Accepts any other blob unchecked. @return as import_file_judge();
 * CAIRN_E_IO (file.read) */
CAIRN_MUST_USE enum cairn_status import_file_judge_oid(const struct import_file *file, const char *path,
						       struct cairn_diag *diag);

#endif
