/* Finds files whose bytes are lost: a xorb that they need is gone, or damaged in every copy. Caches the result, so that
 * lists can mark such files at no cost. A single thread searches; any thread may make the other calls. */
#ifndef CAIRN_CAS_LOSSES_H
#define CAIRN_CAS_LOSSES_H

#include "cas/cas.h"

enum {
	CAIRN_LOSSES_XORBS_MAX = 1 << 20,  /* lost xorbs that one search collects: 8 MiB */
	CAIRN_LOSSES_FILES_MAX = 1 << 18,  /* lost files in memory: 10 MiB */
	CAIRN_LOSSES_OWNERS_MAX = 1 << 12, /* owners of lost files in memory: 2 MiB */
	CAIRN_LOSSES_OWNER_BYTES = 256,    /* bytes of an owner's name, with its zero */
};

/** The sums of all losses. Plain value. */
struct cairn_losses_sum {
	bool is_known;                /* false: no search has ended yet; with external xorbs there is none */
	bool is_stale;                /* no search yet, the last one failed, or a xorb was lost since it began */
	bool has_failed;              /* the last search failed, and was not stopped */
	bool more;                    /* more is lost than is cached, so the other figures are too low */
	uint64_t n_xorbs, xorb_bytes; /* xorbs without a sound copy, and their content */
	uint64_t n_files, file_bytes; /* files that need a lost xorb */
	uint64_t n_owners;            /* owners of these files */
};
void cairn_losses_sum(struct cairn_cas *cas, struct cairn_losses_sum *out);

/** Was this file lost at the last search? Answers from memory. */
bool cairn_losses_has(struct cairn_cas *cas, const struct cairn_hash *file);

/** Returns the number of lost files of an owner, from memory. @param owner  "" is the operator */
uint64_t cairn_losses_of_owner(struct cairn_cas *cas, const char *owner);

/** Returns the number of lost files of a repository of the hub, from memory. */
uint64_t cairn_losses_of_repo(struct cairn_cas *cas, int64_t repo);

/** An owner of lost files. Plain value. */
struct cairn_losses_owner {
	char owner[CAIRN_LOSSES_OWNER_BYTES]; /* "" is the operator */
	char shown[CAIRN_LOSSES_OWNER_BYTES]; /* of a repository of the hub: "models/ann/cats"; else as owner */
	bool in_hub;                          /* the owner is a repository of the hub */
	uint64_t n_files, file_bytes;
};
/** Copies the owners with most lost files, in falling order. @return number copied, at most max */
size_t cairn_losses_owners(struct cairn_cas *cas, struct cairn_losses_owner *out, size_t max);

/** Copies lost files in the order of their hashes. @param after  begin after this one; NULL: at the first
 * @return number copied, at most max; fewer than max: there are no more */
size_t cairn_losses_files(struct cairn_cas *cas, const struct cairn_hash *after, struct cairn_hash *out, size_t max);

/** Searches for losses, if they may have changed since the last search. Reads the rows of all xorbs, and of all files
 * if a xorb is lost. For one background thread.
 * @param stop  called now and then; true ends the search, and the earlier results stay. May be NULL
 * @return CAIRN_OK, also if there was no reason to search; CAIRN_E_BUSY stopped; CAIRN_E_NOMEM; as index */
CAIRN_MUST_USE enum cairn_status cairn_losses_search(struct cairn_cas *cas, bool (*stop)(void *ctx), void *ctx);

#endif
