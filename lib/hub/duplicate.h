/* Copies of a repository, or of files of it, which share the bytes: none is copied. */
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
 * @return as cairn_hub_make_repo(), cairn_hub_duplicate_files(); CAIRN_E_LIMIT more than CAIRN_INDEX_OPERATIONS_MAX
 * files, or more text (repo.duplicate); CAIRN_E_CONFLICT a file of it has no bytes any more, with *out all zero
 * (commit.bytes); CAIRN_E_DENIED it may not be public (repo.guarded)
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_duplicate(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						     const struct cairn_index_repo *source,
						     const struct cairn_hub_new_repo *copy, const bool *is_private,
						     struct cairn_index_repo *out, struct cairn_diag *diag);

/**
 * May files of a repository get into another one? Files that members alone may have get into nothing that everybody may
 * have, unless an admin of their repository does it. A target that is not everybody's takes the guard of the source, so
 * that nobody else opens it later. Waits for the index's writer then.
 * @param source  found with CAIRN_HUB_READ  @param target  found with CAIRN_HUB_WRITE
 * @return CAIRN_OK; CAIRN_E_DENIED (repo.guarded); CAIRN_E_NOT_FOUND the target was deleted or opened meanwhile
 *         (repo.unknown); as a write
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_guard_copy(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						      const struct cairn_index_repo *source,
						      const struct cairn_index_repo *target, struct cairn_diag *diag);

/**
 * Let another repository have files of one, so that a commit there can name them: no byte is copied. Waits for the
 * index's writer.
 * @param source  found with CAIRN_HUB_READ
 * @param target  found with CAIRN_HUB_WRITE; not a bucket, as the source
 * @param files   at most CAIRN_INDEX_ADOPTED_MAX; which of them could not be given is set
 * @return CAIRN_OK; as cairn_hub_guard_copy(); CAIRN_E_DENIED (quota.repo, quota.account); CAIRN_E_NOT_FOUND one of
 * them was deleted meanwhile (repo.unknown); as a write
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_duplicate_files(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
							   const struct cairn_index_repo *source,
							   const struct cairn_index_repo *target,
							   struct cairn_index_adopted *files, uint32_t n,
							   struct cairn_diag *diag);

#endif
