/* Finds what a hash identifies, and who refers to it. The caller checks who may ask about everybody's files. */
#ifndef CAIRN_CAS_SERVE_INFO_H
#define CAIRN_CAS_SERVE_INFO_H

#include "cas/file.h"

enum { CAIRN_INFO_LIMIT_MAX = CAIRN_FILES_PAGE_MAX }; /* rows of one call */

/** On whose behalf a call asks. */
struct cairn_info_asker {
	const struct cairn_cas_who *who;
	bool all;       /* true: about all files, for the operator; false: about files that `who` owns or may read */
	uint32_t limit; /* rows of each call, 1 to CAIRN_INFO_LIMIT_MAX; `more` is set if rows are omitted */
};

/** A file, by its terms. */
struct cairn_info_file {
	uint64_t size_bytes;
	uint32_t n_terms, n_xorbs;
};

struct cairn_info_xorb {
	struct cairn_hash hash;
	uint32_t n_chunks;
	uint64_t unpacked_bytes, stored_bytes; /* stored: 0 if its bytes are lost, or stored elsewhere */
	int64_t at_unix_s;                     /* when it arrived or was last renewed; shown to the operator only */
	bool retired, withdrawn;               /* shown to the operator only */
};

/** Finds a file that the asker may read. @param visit  receives its first xorbs, each once, in the order of its terms
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND unknown, or the asker may not read it; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_info_file(struct cairn_cas *cas, const struct cairn_info_asker *asker,
						 const struct cairn_hash *hash, struct cairn_info_file *out,
						 void (*visit)(void *ctx, const struct cairn_info_xorb *xorb),
						 void *ctx);

/** Visits a file as its owners have it: all owners, or the asker alone if the asker owns it.
 * @return CAIRN_OK, also for none; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_info_owners(struct cairn_cas *cas, const struct cairn_info_asker *asker,
						   const struct cairn_hash *hash,
						   void (*visit)(void *ctx, const struct cairn_cas_owned *file),
						   void *ctx, bool *more);

/** Visits the files that have a SHA-256: by any owner's claim if the asker may see all, else the file of
 * cairn_cas_file_by_sha256() (without owner and time). @return as cairn_info_owners() */
CAIRN_MUST_USE enum cairn_status cairn_info_sha256(struct cairn_cas *cas, const struct cairn_info_asker *asker,
						   const uint8_t sha256[static CAIRN_SHA256_BYTES],
						   void (*visit)(void *ctx, const struct cairn_cas_owned *file),
						   void *ctx, bool *more);

/** Visits the files that need a xorb, the asker's own or all. The time depends on these files only.
 * @return as cairn_info_owners() */
CAIRN_MUST_USE enum cairn_status cairn_info_needed_by(struct cairn_cas *cas, const struct cairn_info_asker *asker,
						      const struct cairn_hash *xorb,
						      void (*visit)(void *ctx, const struct cairn_cas_owned *file),
						      void *ctx, bool *more);

/** Describes a xorb. The caller shows it only to the operator, and to askers with a file that needs the xorb.
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_info_xorb(struct cairn_cas *cas, const struct cairn_hash *hash,
						 struct cairn_info_xorb *out);

/** A place of a chunk. Borrowed during the call. */
struct cairn_info_place {
	struct cairn_hash xorb;
	uint32_t at, unpacked_bytes;
	const char *scope; /* dedupe scope in which it is offered; NULL: the asker's own, or the shared one */
};

/** Visits the places of a chunk that clients may ask about: in all scopes, or the place in the answer to the asker's
 * chunk queries. @return as cairn_info_owners() */
CAIRN_MUST_USE enum cairn_status cairn_info_places(struct cairn_cas *cas, const struct cairn_info_asker *asker,
						   const struct cairn_hash *chunk,
						   void (*visit)(void *ctx, const struct cairn_info_place *place),
						   void *ctx, bool *more);

#endif
