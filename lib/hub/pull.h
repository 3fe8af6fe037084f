/* Pull requests: commits under refs/pr/NUMBER that are proposed to a branch. */
#ifndef CAIRN_HUB_PULL_H
#define CAIRN_HUB_PULL_H

#include "hub/commit.h"
#include "index/hub/pulls.h"

enum {
	CAIRN_HUB_PULLS_MAX = 10000,               /* pull requests listed: the newest */
	CAIRN_HUB_MERGE_TEXT_BYTES_MAX = 64 << 20, /* bytes of inline text that a merge changes, held in memory */
};

/** A pull request. Zeroed: none. */
struct cairn_hub_pull {
	struct cairn_index_pull about;
	char *texts; /* owned: message and comment of about */
	struct cairn_index_commit head;
	bool has_start; /* the commit where it left its branch still exists */
	struct cairn_index_commit start;
};
void cairn_hub_pull_fini(struct cairn_hub_pull *pull);

/** Makes a pull request for a branch that begins at a commit. Waits for the index's writer.
 * @param is_stranger  the asker may only propose (stranger.h) @param[out] number
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND (repo.unknown, revision.unknown: the commit is gone); CAIRN_E_LIMIT
 *         (commit.limit: the title or the description is too long); for a stranger as cairn_hub_check_proposal(), and
 *         CAIRN_E_DENIED (pr.many, quota.account); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_add_pull(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						    const struct cairn_index_repo *repo, const char *base,
						    const struct cairn_index_commit *start, const char *title,
						    const char *description, bool is_stranger, int64_t *number,
						    struct cairn_diag *diag);

/** Makes a pull request with a commit of files, in one write. @param revision  the branch to merge into
 * @param commit  has title and message; if it has a parent, the pull request begins there
 * @return as cairn_hub_add_pull() and cairn_hub_commit(); CAIRN_E_USAGE (pr.base). On failure none is made. */
CAIRN_MUST_USE enum cairn_status cairn_hub_commit_pull(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						       const struct cairn_index_repo *repo, const char *revision,
						       const struct cairn_hub_commit *commit, int64_t *number,
						       struct cairn_git_oid *oid, struct cairn_diag *diag);

/** Finds a pull request. @param[out] out  none unless CAIRN_OK @return CAIRN_OK; CAIRN_E_NOT_FOUND (pr.unknown); as
 * index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_pull(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						     int64_t number, struct cairn_hub_pull *out,
						     struct cairn_diag *diag);

/** Visits a page of the list, the newest first; visit() must not call the index. @param[out] n  number of pull requests
 * on all pages, at most CAIRN_HUB_PULLS_MAX  @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_pull(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						     const struct cairn_index_pull_list *list,
						     cairn_index_visit_pull *visit, void *ctx, uint32_t *n);

/** Closes a pull request, so that it accepts no more commits; refs/pr/NUMBER still names the last. Waits for the
 * index's writer. @param comment  "": none @param is_stranger  the asker opened it as a stranger
 * @return CAIRN_OK; CAIRN_E_CONFLICT (pr.ended; commit.parent: it got another commit), and as cairn_hub_add_pull() */
CAIRN_MUST_USE enum cairn_status cairn_hub_close_pull(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						      const struct cairn_index_repo *repo,
						      const struct cairn_hub_pull *pull, const char *comment,
						      bool is_stranger, struct cairn_diag *diag);

/** Commits the changes of a pull request to its branch, file by file, and closes it as merged, in one write. Waits for
 * the index's writer. For workers: the time grows with the changes.
 * @param[out] oid  the new commit of the branch
 * @return as cairn_hub_close_pull(); CAIRN_E_NOT_FOUND (revision.unknown) the branch was deleted; CAIRN_E_CONFLICT
 *         (commit.parent: the branch got another commit meanwhile), a file was changed there, too (pr.conflict), or the
 *         commit where it began is gone (pr.start); CAIRN_E_LIMIT it changes more than CAIRN_INDEX_OPERATIONS_MAX
 *         files, or more text (pr.large); as cairn_hub_commit() */
CAIRN_MUST_USE enum cairn_status cairn_hub_merge_pull(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						      const struct cairn_index_repo *repo,
						      const struct cairn_hub_pull *pull, const char *comment,
						      struct cairn_git_oid *oid, struct cairn_diag *diag);

#endif
