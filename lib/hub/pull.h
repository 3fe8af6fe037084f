/* Pull requests: commits under refs/pr/NUMBER that are proposed to main. Each is a line of commits: the first says what
 * is proposed and changes nothing, the last, once it has ended, says what became of it. */
#ifndef CAIRN_HUB_PULL_H
#define CAIRN_HUB_PULL_H

#include "hub/commit.h"

enum {
	CAIRN_HUB_PULLS_MAX = 10000,               /* that are listed: the newest */
	CAIRN_HUB_MERGE_TEXT_BYTES_MAX = 64 << 20, /* what a merge changes in the index: it is held in memory */
};

enum cairn_hub_pull_state {
	CAIRN_HUB_PULL_OPEN,
	CAIRN_HUB_PULL_CLOSED,
	CAIRN_HUB_PULL_MERGED,
};

/** One of them. Zeroed is none. */
struct cairn_hub_pull {
	int64_t number;
	enum cairn_hub_pull_state state;
	struct cairn_index_commit first, head; /* the parent of the first is where it left main */
	char *description;                     /* owned: what the first says behind its title */
	struct cairn_git_oid merged;           /* of MERGED: the commit of main that has it */
};
void cairn_hub_pull_fini(struct cairn_hub_pull *pull);

/** Make one that begins at a commit. Waits for the index's writer. @param[out] number
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND (repo.unknown, revision.unknown: the commit is gone); CAIRN_E_LIMIT
 *          (commit.limit: the title or the description is too long); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_add_pull(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						    const struct cairn_index_repo *repo,
						    const struct cairn_index_commit *start, const char *title,
						    const char *description, int64_t *number, struct cairn_diag *diag);

/** Makes one with files, by one write. @param revision  main, which it is for
 *  @param commit  whose title and message it has; with a parent it begins there
 *  @return as cairn_hub_add_pull() and cairn_hub_commit(); CAIRN_E_USAGE (pr.base). Without CAIRN_OK nothing is made.
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_commit_pull(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						       const struct cairn_index_repo *repo, const char *revision,
						       const struct cairn_hub_commit *commit, int64_t *number,
						       struct cairn_git_oid *oid, struct cairn_diag *diag);

/** @param[out] out  none unless CAIRN_OK @return CAIRN_OK; CAIRN_E_NOT_FOUND (pr.unknown); as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_pull(struct cairn_cas *cas, const struct cairn_index_repo *repo,
						     int64_t number, struct cairn_hub_pull *out,
						     struct cairn_diag *diag);

/** Which are listed. */
struct cairn_hub_pull_list {
	bool is_open, is_ended; /* both: all */
	const char *author;     /* NULL: anybody's */
	uint32_t skip, limit;
};
/** Visit a page of them, the newest first. @param[out] n  how many there are on all pages
 *  @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_pull(struct cairn_cas *cas, const struct cairn_index_repo *repo,
						     const struct cairn_hub_pull_list *list,
						     void (*visit)(void *ctx, const struct cairn_hub_pull *pull),
						     void *ctx, uint32_t *n);

/** Close one that was found: it takes no more commits, and refs/pr/NUMBER names its last one. Waits for the index's
 *  writer. @param comment  "": none
 *  @return CAIRN_OK; CAIRN_E_CONFLICT (pr.ended; commit.parent: it was committed to meanwhile), and as
 *          cairn_hub_add_pull() */
CAIRN_MUST_USE enum cairn_status cairn_hub_close_pull(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						      const struct cairn_index_repo *repo,
						      const struct cairn_hub_pull *pull, const char *comment,
						      struct cairn_diag *diag);

/** Commits to main what one that was found changes, file by file, and closes it as merged: both by one write, or
 *  neither. Waits for the index's writer. For workers: takes time with what is changed.
 *  @param[out] oid  the commit of main that has it
 *  @return as cairn_hub_close_pull(); CAIRN_E_CONFLICT (commit.parent: main was committed to meanwhile), or a file was
 * changed on main, too (pr.conflict); CAIRN_E_LIMIT it changes more than CAIRN_INDEX_OPERATIONS_MAX files, or more text
 * (pr.large); as cairn_hub_commit() */
CAIRN_MUST_USE enum cairn_status cairn_hub_merge_pull(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						      const struct cairn_index_repo *repo,
						      const struct cairn_hub_pull *pull, const char *comment,
						      struct cairn_git_oid *oid, struct cairn_diag *diag);

#endif
