/* Finds and lists registered files and their owners. */
#ifndef CAIRN_CAS_FILE_H
#define CAIRN_CAS_FILE_H

#include "cas/cas.h"

struct cairn_cas_file {
	struct cairn_hash hash;
	uint64_t size_bytes;
	bool sha256_is_proved; /* if the file was found by its SHA-256 */
};

/** Finds a file. @return CAIRN_OK; CAIRN_E_NOT_FOUND unknown, or the viewer may not read it; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_file(struct cairn_cas *cas, const struct cairn_cas_who *who,
						const struct cairn_hash *hash, struct cairn_cas_file *out);

/** Finds the file that an uploader claimed to have this SHA-256. Claims of the viewer's repository count first, then
 * the operator's (not for a repository of the hub), and no others. @param sha256  in plain byte order
 * @return as cairn_cas_file() */
CAIRN_MUST_USE enum cairn_status cairn_cas_file_by_sha256(struct cairn_cas *cas, const struct cairn_cas_who *who,
							  const uint8_t sha256[static CAIRN_SHA256_BYTES],
							  struct cairn_cas_file *out);

enum { CAIRN_FILES_PAGE_MAX = 512 }; /* rows of one call of cairn_cas_each_file() */

/** A file of a repository. Borrowed during the call. */
struct cairn_cas_owned {
	struct cairn_hash hash;
	uint64_t size_bytes;
	int64_t at_unix_s; /* when the first owner uploaded the file */
	const char *owner; /* "" is the operator */
	const char *shown; /* as owner; in a list of all, for a repository of the hub: "models/ann/cats" */
	bool has_sha256, sha256_is_proved;
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* SHA-256 that the owner claims, in plain byte order */
};

/** The row after which a page begins. */
struct cairn_cas_files_after {
	const struct cairn_hash *hash; /* NULL: at the beginning */
	const char *owner;             /* in a list of all repositories: owner of the row; else NULL */
};

/** Visits the files of a repository, or of all, in the order of their hashes. The order reveals nothing about the order
 * of uploads. The caller checks permissions.
 * @param owner  NULL: all
 * @param limit  at most CAIRN_FILES_PAGE_MAX
 * @param[out] more  there are more files
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_each_file(struct cairn_cas *cas, const char *owner,
						     const struct cairn_cas_files_after *after, uint32_t limit,
						     void (*visit)(void *ctx, const struct cairn_cas_owned *file),
						     void *ctx, bool *more);

#endif
