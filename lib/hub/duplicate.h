/* A copy of a repository, which shares its files: no byte is copied. */
#ifndef CAIRN_HUB_DUPLICATE_H
#define CAIRN_HUB_DUPLICATE_H

#include "hub/repo.h"

/** What the text of a copy may sum up to: it is held in memory. */
enum { CAIRN_HUB_DUPLICATE_TEXT_BYTES_MAX = 64 << 20 };

/**
 * Make a repository with the files that main of another one has, as its first commit. Waits for the index's writer.
 * @param source      found with CAIRN_HUB_READ
 * @param copy        kind, account, name; the rest is set here
 * @param is_private  NULL: it is if the source is private, or has a gate. That such a one's copy is public only an
 *                    admin of the source may say
 * @return as cairn_hub_make_repo(); CAIRN_E_LIMIT more than CAIRN_INDEX_OPERATIONS_MAX files, or more text
 *         (repo.duplicate); CAIRN_E_CONFLICT a file of it has no bytes any more, with *out all zero (commit.bytes);
 *         CAIRN_E_DENIED it may not be public (repo.guarded)
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_duplicate(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						     const struct cairn_index_repo *source,
						     const struct cairn_hub_new_repo *copy, const bool *is_private,
						     struct cairn_index_repo *out, struct cairn_diag *diag);

#endif
