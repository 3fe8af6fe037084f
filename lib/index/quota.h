/* How much an account, or one of its repositories, may hold: what its repositories store counts, each file and each
 * inline content once a repository, whatever other repositories have of it. Likewise an owner that is no repository of
 * the hub, by its name alone. */
#ifndef CAIRN_INDEX_QUOTA_H
#define CAIRN_INDEX_QUOTA_H

#include "index/hub.h"

/** Of an account and a repository of its. Plain value. */
struct cairn_index_quota {
	char account_name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];
	struct cairn_index_room account; /* all of its repositories that are not deleted */
	enum cairn_index_repo_kind kind; /* 0: of an account alone; then the next two are unset */
	char repo_name[CAIRN_INDEX_REPO_NAME_MAX + 1];
	struct cairn_index_room repo;
};

/** What an account and one of its repositories may hold, and do.
 *  @param repo  0: of the account alone, as when the repository is not the account's
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no such account; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_quota(struct cairn_index *ix, int64_t account, int64_t repo,
						   struct cairn_index_quota *out);

/** Visit the sizes of the files that a repository has, each file once. A reader of the index is held meanwhile: takes
 * notes only. 0.3 s for 500,000. @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_owned_size(struct cairn_index *ix, int64_t repo,
							     void (*visit)(void *ctx, uint64_t size_bytes), void *ctx);

/** Of an owner that is no repository of the hub.
 *  @param adds_up  what one without a quota holds is not kept: add it up, 0.3 s for 500,000 files; else it is told as 0
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND nobody has heard of it; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_owner_quota(struct cairn_index *ix, const char *owner, bool adds_up,
							 struct cairn_index_room *out);

/** Borrowed for the time of the call. @param place  as operators name it: "ann", "models/ann/cats" */
typedef void cairn_index_visit_quota(void *ctx, const char *place, const struct cairn_index_room *room);

/** Visit all that have a quota, in the order of their places. Of a repository of the hub and another owner of one name
 * the former is meant. Looks at all accounts, repositories and owners, whatever the page.
 *  @param after  the place behind which a page begins; NULL: at the beginning
 *  @param limit  rows of this page, at most CAIRN_INDEX_PAGE_MAX count (operate.h)
 *  @param[out] more  there are further ones
 *  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_quota(struct cairn_index *ix, const char *after, uint32_t limit,
							cairn_index_visit_quota *visit, void *ctx, bool *more);

/** Would so many bytes more be too many? The writer asks the same of all that makes a repository hold more, in its own
 * transaction. Pure. @return CAIRN_OK; CAIRN_E_DENIED (quota.repo, quota.account): both values are in diag */
CAIRN_MUST_USE enum cairn_status cairn_index_quota_check(const struct cairn_index_quota *quota, uint64_t more_bytes,
							 struct cairn_diag *diag);

/** Likewise of a place alone. Pure. @return CAIRN_OK; CAIRN_E_DENIED (quota.repo) */
CAIRN_MUST_USE enum cairn_status cairn_index_room_check(const char *place, const struct cairn_index_room *room,
							uint64_t more_bytes, struct cairn_diag *diag);

/** "models", as operators name a kind: before "/account/name". */
const char *cairn_index_kind_name(enum cairn_index_repo_kind kind);

/** Say how much an account, a repository, or an owner that is none may hold. It may hold more than that already: then
 * it only cannot get more. An owner's first quota adds up what it has, which takes the writer 0.3 s for 500,000 files.
 * CAIRN_E_NOT_FOUND: none has this number (account.unknown, repo.unknown). */
struct cairn_index_set_quota {
	struct cairn_index_write write;
	int64_t account, repo; /* one of them; the other is 0 */
	const char *owner;     /* with both 0: whoever has this name, or will have it; borrowed */
	uint64_t limit_bytes;  /* at most INT64_MAX, or CAIRN_INDEX_NO_QUOTA */
};
CAIRN_MUST_USE enum cairn_status cairn_index_set_quota(struct cairn_index *ix, struct cairn_index_set_quota *set);

#endif
