/* Repositories: who sees them, and who may change them. What somebody may not see is for him as if it were not there.
 */
#ifndef CAIRN_HUB_REPO_H
#define CAIRN_HUB_REPO_H

#include "hub/may.h"
#include "token/token.h"

/** The namespace that stands for the asker's own. */
#define CAIRN_HUB_ME "me"

/**
 * Find a repository that the asker may treat so.
 * @param need  CAIRN_HUB_READ: of a public one everybody may
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is none, or none that he may see (repo.unknown); CAIRN_E_DENIED he may see
 *         it, and no more than that (repo.denied); CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_repo(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						     const char *account, const char *name, enum cairn_hub_access need,
						     struct cairn_index_repo *out, struct cairn_diag *diag);

/**
 * Make a bucket, and find it. Waits for the index's writer.
 * @param account  CAIRN_HUB_ME: the asker's own
 * @param[out] out  also with CAIRN_E_CONFLICT, if it can still be found: the one that has the name
 * @return CAIRN_OK; CAIRN_E_USAGE the name is none (repo.name); CAIRN_E_CONFLICT it is taken (repo.known);
 *         CAIRN_E_DENIED the asker may make none there, or there is no such account (account.denied); CAIRN_E_BUSY;
 *         CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_make_bucket(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						       const char *account, const char *name, bool is_private,
						       struct cairn_index_repo *out, struct cairn_diag *diag);

/** Say who may see a repository that was found with CAIRN_HUB_ADMIN. Waits for the index's writer.
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND (repo.unknown); CAIRN_E_BUSY; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_hub_set_private(struct cairn_cas *cas, const struct cairn_index_repo *repo,
						       bool is_private, struct cairn_diag *diag);

/** Give a repository that was found with CAIRN_HUB_ADMIN another name, also in another account where the asker may make
 * one. Waits for the index's writer. @return as cairn_hub_make_bucket(), and CAIRN_E_NOT_FOUND (repo.unknown) */
CAIRN_MUST_USE enum cairn_status cairn_hub_move_repo(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						     const struct cairn_index_repo *repo, const char *account,
						     const char *name, struct cairn_diag *diag);

/** Delete a repository that was found with CAIRN_HUB_ADMIN: nobody finds it from now on, tokens for it open nothing,
 * and what it had goes with the next collection. Waits for the index's writer. @return as cairn_hub_set_private() */
CAIRN_MUST_USE enum cairn_status cairn_hub_drop_repo(struct cairn_cas *cas, const struct cairn_index_repo *repo,
						     struct cairn_diag *diag);

enum { CAIRN_HUB_REPOS_MAX = 500 }; /* of one page */

/**
 * Visit the buckets of an account that the asker may see, a page at a time.
 * @param account  CAIRN_HUB_ME: the asker's own
 * @param search   letters that a name has, in any case; NULL: all
 * @param from_id  0, then *next_id, which is 0 when there are no more
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no such account (account.unknown); CAIRN_E_DENIED nobody has none of his
 *         own (account.denied); CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_bucket(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						       const char *account, const char *search, int64_t from_id,
						       cairn_index_visit_repo *visit, void *ctx, int64_t *next_id,
						       struct cairn_diag *diag);

/** What a token for a repository says: as long as the key is good with which it is asked for, it reads the repository's
 * files, or registers some. Uploads to a private one share dedupe with nobody else. */
void cairn_hub_token_claims(const struct cairn_hub_asker *asker, const struct cairn_index_repo *repo, bool write,
			    struct cairn_token_claims *out);

#endif
