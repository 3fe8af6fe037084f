/* Pull requests by strangers: people who may read a repository but not write in it. Their proposals count for their own
 * accounts until the merge, and are limited (index/hub/history.h). */
#ifndef CAIRN_HUB_STRANGER_H
#define CAIRN_HUB_STRANGER_H

#include "hub/commit.h"

/** Checks whether the asker may propose changes to a repository that was found with CAIRN_HUB_READ.
 * @param access    the asker's access; CAIRN_HUB_WRITE allows proposing
 * @param revision  "refs/pr/N": to this pull request, if the asker opened it; NULL: by a new one
 * @return CAIRN_OK; CAIRN_E_DENIED (repo.denied: also for any other revision, existing or not); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_may_propose(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						       const struct cairn_index_repo *repo,
						       enum cairn_hub_access access, const char *revision,
						       struct cairn_diag *diag);

/** Finds a repository by a pull request that the asker opened in it, whether or not they may read it now; only to close
 * that pull request.
 * @param revision  "refs/pr/N" @param[out] out  set with CAIRN_OK
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no such repository, or the asker opened no pull request with this number
 *         in it; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_own_proposal(const struct cairn_hub *hub,
							     const struct cairn_hub_asker *asker,
							     enum cairn_index_repo_kind kind, const char *account,
							     const char *name, const char *revision,
							     struct cairn_index_repo *out);

/** Checks the proposal of a stranger. Pure. @return CAIRN_OK; CAIRN_E_DENIED the repository accepts none from strangers
 * (pr.closed); CAIRN_E_LIMIT too many operations (commit.lines) */
CAIRN_MUST_USE enum cairn_status cairn_hub_check_proposal(const struct cairn_index_repo *repo,
							  const struct cairn_hub_commit *commit,
							  struct cairn_diag *diag);

/** Finds the bucket to which a stranger uploads files for pull requests of a repository, and makes it if needed. It is
 * private, counts for the stranger's account, and is not found by its name. A commit by the stranger finds files only
 * there. May wait for the index's writer.
 * @return CAIRN_OK; CAIRN_E_DENIED (pr.closed); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_proposals(const struct cairn_hub *hub,
							  const struct cairn_hub_asker *asker,
							  const struct cairn_index_repo *repo,
							  struct cairn_index_repo *out, struct cairn_diag *diag);

/** Sets whether strangers may propose changes to a repository that was found with CAIRN_HUB_ADMIN. Waits for the
 * index's writer. @return CAIRN_OK; CAIRN_E_NOT_FOUND (repo.unknown); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_close_to_strangers(const struct cairn_hub *hub,
							      const struct cairn_index_repo *repo, bool closed,
							      struct cairn_diag *diag);

#endif
