/* Files whose bytes are lost: a xorb that they need is gone, or damaged in every copy. They are kept in memory, so that
 * lists can mark them at no cost. One thread looks for them now and then; all else may be called by any thread. */
#ifndef CAIRN_CAS_LOSSES_H
#define CAIRN_CAS_LOSSES_H

#include "cas/cas.h"

enum {
	CAIRN_LOSSES_XORBS_MAX = 1 << 20,  /* that one look takes note of: 8 MiB */
	CAIRN_LOSSES_FILES_MAX = 1 << 18,  /* that are kept: 10 MiB */
	CAIRN_LOSSES_OWNERS_MAX = 1 << 12, /* likewise: 2 MiB */
	CAIRN_LOSSES_OWNER_BYTES = 256,    /* of an owner's name with its end */
};

/** What is lost of all that files need. Plain value. */
struct cairn_losses_sum {
	bool is_known;                /* false: nobody has looked so far */
	bool more;                    /* more is lost than is kept here, so that the other figures are too low */
	uint64_t n_xorbs, xorb_bytes; /* content of xorbs without a sound copy */
	uint64_t n_files, file_bytes; /* files that need one of them */
	uint64_t n_owners;            /* who have such files */
};
void cairn_losses_sum(struct cairn_cas *cas, struct cairn_losses_sum *out);

/** Was this file lost when somebody looked last? Told from memory. */
bool cairn_losses_has(struct cairn_cas *cas, const struct cairn_hash *file);

/** How many lost files an owner has. Told from memory. @param owner  "" is the operator */
uint64_t cairn_losses_of_owner(struct cairn_cas *cas, const char *owner);

/** Likewise a repository of the hub. */
uint64_t cairn_losses_of_repo(struct cairn_cas *cas, int64_t repo);

/** Whose files are lost. Plain value. */
struct cairn_losses_owner {
	char owner[CAIRN_LOSSES_OWNER_BYTES]; /* "" is the operator */
	char shown[CAIRN_LOSSES_OWNER_BYTES]; /* of a repository of the hub: "models/ann/cats"; else as owner */
	bool in_hub;                          /* it is such a repository */
	uint64_t n_files, file_bytes;
};
/** The owners with most lost files, in falling order. @return how many were copied, at most max */
size_t cairn_losses_owners(struct cairn_cas *cas, struct cairn_losses_owner *out, size_t max);

/** Lost files in the order of their hashes. @param after  behind this one; NULL: from the first
 *  @return how many were copied, at most max; fewer than max: there are no more */
size_t cairn_losses_files(struct cairn_cas *cas, const struct cairn_hash *after, struct cairn_hash *out, size_t max);

/**
 * Look for what is lost, if it may be other than when somebody looked last. Reads the rows of all xorbs, and of all
 * files if a xorb is lost. For one background thread.
 * @param stop  asked now and then; true ends it early, and what was known stays. May be NULL
 * @return CAIRN_OK, also if there was no reason to look; CAIRN_E_BUSY stopped; CAIRN_E_NOMEM; as index
 */
CAIRN_MUST_USE enum cairn_status cairn_losses_look(struct cairn_cas *cas, bool (*stop)(void *ctx), void *ctx);

#endif
