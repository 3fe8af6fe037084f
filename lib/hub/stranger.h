/* Pull requests by strangers: people who may read a repository but not write in it. Their proposals count for their
 * own accounts until the merge, and are bounded (index/hub/history.h). */
#ifndef CAIRN_HUB_STRANGER_H
#define CAIRN_HUB_STRANGER_H

#include "hub/commit.h"

/** Checks whether the asker may propose changes to a repository that was found with CAIRN_HUB_READ.
 *  @param revision  "refs/pr/N": to this pull request, which a stranger may if they opened it; NULL: by a new one
 *  @param[out] is_stranger  whether the asker may only propose
 *  @return CAIRN_OK; CAIRN_E_DENIED (repo.denied: also for any other revision, whether it exists or not); as index and
 *  store */
CAIRN_MUST_USE enum cairn_status cairn_hub_may_propose(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						       const struct cairn_index_repo *repo, const char *revision,
						       bool *is_stranger, struct cairn_diag *diag);

/** Checks what a stranger proposes. Pure. @return CAIRN_OK; CAIRN_E_DENIED the repository takes none from strangers
 * (pr.closed), or a file is to be kept in the store (pr.files); CAIRN_E_LIMIT too many operations (commit.lines) */
CAIRN_MUST_USE enum cairn_status cairn_hub_check_proposal(const struct cairn_index_repo *repo,
							  const struct cairn_hub_commit *commit,
							  struct cairn_diag *diag);

/** Refuses a file of a stranger that is to be kept in the store. @return CAIRN_E_DENIED (pr.files) */
enum cairn_status cairn_hub_refuse_files(struct cairn_diag *diag);

/** Sets whether strangers may propose changes to a repository that was found with CAIRN_HUB_ADMIN. Waits for the
 * index's writer. @return CAIRN_OK; CAIRN_E_NOT_FOUND (repo.unknown); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_close_to_strangers(const struct cairn_hub *hub,
							      const struct cairn_index_repo *repo, bool closed,
							      struct cairn_diag *diag);

#endif
