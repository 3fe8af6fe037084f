/* Duplicates a repository, or some of its files. Both repositories share the stored bytes. */
#ifndef CAIRN_HUB_DUPLICATE_H
#define CAIRN_HUB_DUPLICATE_H

#include "hub/repo.h"

/** Limit of all inline text of a copy, which is held in memory. */
enum { CAIRN_HUB_DUPLICATE_TEXT_BYTES_MAX = 64 << 20 };

/** Makes a repository whose first commit has the files of the source's main. Waits for the index's writer.
 * @param source      found with CAIRN_HUB_READ
 * @param copy        kind, account, name; the other members are set here
 * @param is_private  NULL: private if the source is private or has a gate. Only an admin of such a source may make the
 *                    copy public
 * @return as cairn_hub_make_repo(), cairn_hub_duplicate_files(); CAIRN_E_LIMIT more than CAIRN_INDEX_OPERATIONS_MAX
 *         files, or more text (repo.duplicate); CAIRN_E_CONFLICT the bytes of a file were deleted; *out is all zero
 *         (commit.bytes); CAIRN_E_DENIED the copy may not be public (repo.guarded) */
CAIRN_MUST_USE enum cairn_status cairn_hub_duplicate(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						     const struct cairn_index_repo *source,
						     const struct cairn_hub_new_repo *copy, const bool *is_private,
						     struct cairn_index_repo *out, struct cairn_diag *diag);

/** Checks whether files of one repository may be copied to another. Files that only members may read never get into a
 * public repository, unless an admin of the source copies them. A target that is not public takes the guard of the
 * source, so that nobody else can make it public later. Only that step waits for the index's writer.
 * @param source  found with CAIRN_HUB_READ
 * @param[in,out] target  found with CAIRN_HUB_WRITE; gets the guard that was written
 * @return CAIRN_OK; CAIRN_E_DENIED (repo.guarded); CAIRN_E_NOT_FOUND the target was deleted or published meanwhile
 *         (repo.unknown); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_guard_copy(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						      const struct cairn_index_repo *source,
						      struct cairn_index_repo *target, struct cairn_diag *diag);

/** Registers files of one repository for another, so that a commit there can name them. Copies no bytes. Waits for the
 * index's writer.
 * @param source  found with CAIRN_HUB_READ; not a bucket
 * @param target  found with CAIRN_HUB_WRITE; not a bucket
 * @param files   at most CAIRN_INDEX_ADOPTED_MAX; each that could not be registered is marked
 * @return CAIRN_OK; as cairn_hub_guard_copy(); CAIRN_E_DENIED (quota.repo, quota.account); CAIRN_E_NOT_FOUND one of the
 *         repositories was deleted meanwhile (repo.unknown); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_duplicate_files(
	const struct cairn_hub *hub, const struct cairn_hub_asker *asker, const struct cairn_index_repo *source,
	const struct cairn_index_repo *target, struct cairn_index_adopted *files, uint32_t n, struct cairn_diag *diag);

#endif
