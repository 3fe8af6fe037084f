/* Which files are registered, and for whom. */
#ifndef CAIRN_CAS_FILE_H
#define CAIRN_CAS_FILE_H

#include "cas/cas.h"

struct cairn_cas_file {
	struct cairn_hash hash;
	uint64_t size_bytes;
	bool sha256_is_proved; /* where it was asked for by that */
};

/** @return CAIRN_OK; CAIRN_E_NOT_FOUND unknown, or not this viewer's to read; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_file(struct cairn_cas *cas, const struct cairn_cas_who *who,
						const struct cairn_hash *hash, struct cairn_cas_file *out);

/** The file of which an uploader said that it has this SHA-256: the word of the viewer's repository counts, else the
 *  operator's (not for a repository of the hub), and nobody else's. @param sha256  plain byte order  @return likewise
 */
CAIRN_MUST_USE enum cairn_status cairn_cas_file_by_sha256(struct cairn_cas *cas, const struct cairn_cas_who *who,
							  const uint8_t sha256[static CAIRN_SHA256_BYTES],
							  struct cairn_cas_file *out);

enum { CAIRN_FILES_PAGE_MAX = 512 }; /* rows of one call of cairn_cas_each_file() */

/** A file of a repository. Borrowed for the time of the call. */
struct cairn_cas_owned {
	struct cairn_hash hash;
	uint64_t size_bytes;
	int64_t at_unix_s; /* when the file came first, whosever it was */
	const char *owner; /* "" is the operator */
	const char *shown; /* the same; of a repository of the hub, in a list of all: "models/ann/cats" */
	bool has_sha256, sha256_is_proved;
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* the owner's word, plain byte order */
};

/** Behind which row a page begins. */
struct cairn_cas_files_after {
	const struct cairn_hash *hash; /* NULL: at the beginning */
	const char *owner;             /* of a list of all repositories: the row's; else NULL */
};

/**
 * Visit a repository's files in the order of their hashes, or those of all repositories. That order tells nothing of
 * when, or after whose, a file came. Whether the asker may is the caller's to know.
 * @param owner  NULL: all
 * @param limit  at most CAIRN_FILES_PAGE_MAX
 * @param[out] more  there are further ones
 * @return CAIRN_OK; as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_cas_each_file(struct cairn_cas *cas, const char *owner,
						     const struct cairn_cas_files_after *after, uint32_t limit,
						     void (*visit)(void *ctx, const struct cairn_cas_owned *file),
						     void *ctx, bool *more);

#endif
