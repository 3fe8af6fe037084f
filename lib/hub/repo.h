/* Repositories: who sees them, and who may change them. A repository that an asker may not see is answered as one that
 * does not exist. */
#ifndef CAIRN_HUB_REPO_H
#define CAIRN_HUB_REPO_H

#include "hub/may.h"
#include "index/history.h"
#include "token/token.h"

/** The namespace that stands for the asker's own. */
#define CAIRN_HUB_ME "me"

/** What the asker may do with the repositories of an account. It can be asked for account 0, of which there is none, so
 *  that what is not there takes as long as what may not be seen. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_access_in(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						     int64_t account, enum cairn_hub_access *out);

/**
 * Find a repository that the asker may treat so.
 * @param need  CAIRN_HUB_SEE: for what is said about it; CAIRN_HUB_READ: for its files, which everybody may have of a
 *              public one without a gate
 * @param[out] out  of a git-like one that was moved, and is asked for by the name from before, with the name of today
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is none, or none that the asker may see (repo.unknown); CAIRN_E_DENIED the
 * asker may see it, but not have its files (repo.gated), or no more than that (repo.denied); as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_repo(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						     enum cairn_index_repo_kind kind, const char *account,
						     const char *name, enum cairn_hub_access need,
						     struct cairn_index_repo *out, struct cairn_diag *diag);

/** What a new repository is to be. Borrowed. */
struct cairn_hub_new_repo {
	enum cairn_index_repo_kind kind;
	const char *account; /* CAIRN_HUB_ME: the asker's own */
	const char *name;
	bool is_private;
	const char *sdk; /* of a space; NULL: none */
	/* Of a git-like one: what its first commit has besides .gitattributes, and the README.md of a space. */
	const struct cairn_index_operation *operations;
	uint32_t n;     /* at most CAIRN_HUB_FIRST_FILES_MAX */
	int64_t source; /* a repository that it is a copy of: then the operations are all of its files. 0: none */
	int64_t guard;  /* who decides whether the copy is public, as in struct cairn_index_repo */
};
enum { CAIRN_HUB_FIRST_FILES_MAX = 100 };

/**
 * Make a repository, and find it. Waits for the index's writer.
 * @param[out] out  also with CAIRN_E_CONFLICT, if it can still be found: the one that has the name
 * @return CAIRN_OK; CAIRN_E_USAGE the name is none (repo.name); CAIRN_E_CONFLICT it is taken (repo.known), or as
 *         cairn_hub_commit(); CAIRN_E_DENIED the asker may make none there, or there is no such account
 *         (account.denied); CAIRN_E_LIMIT too many files (commit.lines); as a write
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_make_repo(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						     const struct cairn_hub_new_repo *new_repo,
						     struct cairn_index_repo *out, struct cairn_diag *diag);

/** Say who may see a repository that was found with CAIRN_HUB_ADMIN, and who may have its files; NULL leaves that as it
 *  is, whatever somebody else makes it meanwhile. Waits for the index's writer. @return CAIRN_OK; CAIRN_E_NOT_FOUND
 * (repo.unknown); CAIRN_E_DENIED it is a copy of what not everybody may have, and the asker is not who decides about
 * that (repo.guarded); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_set_repo(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						    const struct cairn_index_repo *repo, const bool *is_private,
						    const enum cairn_index_gate *gate, struct cairn_diag *diag);

/** Give a repository that was found with CAIRN_HUB_ADMIN another name, also in another account where the asker may make
 * one. Waits for the index's writer. @return as cairn_hub_make_repo(), and CAIRN_E_NOT_FOUND (repo.unknown) */
CAIRN_MUST_USE enum cairn_status cairn_hub_move_repo(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						     const struct cairn_index_repo *repo, const char *account,
						     const char *name, struct cairn_diag *diag);

/** Delete a repository that was found with CAIRN_HUB_ADMIN: nobody finds it from now on, tokens for it open nothing,
 * and what it had goes with the next collection. Waits for the index's writer. @return as cairn_hub_set_repo() */
CAIRN_MUST_USE enum cairn_status cairn_hub_drop_repo(struct cairn_cas *cas, const struct cairn_index_repo *repo,
						     struct cairn_diag *diag);

enum { CAIRN_HUB_REPOS_MAX = 500 }; /* of one page */

/**
 * Visit the repositories of a kind and an account that the asker may see, a page at a time.
 * @param account  CAIRN_HUB_ME: the asker's own
 * @param search   letters that a name has, in any case; NULL: all
 * @param from_id  0, then *next_id, which is 0 when there are no more
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no such account (account.unknown); CAIRN_E_DENIED a client without a key
 * has none of its own (account.denied); as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_repo(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						     enum cairn_index_repo_kind kind, const char *account,
						     const char *search, int64_t from_id, cairn_index_visit_repo *visit,
						     void *ctx, int64_t *next_id, struct cairn_diag *diag);

/** Which repositories are listed. Borrowed. */
struct cairn_hub_repo_list {
	enum cairn_index_repo_kind kind; /* 0: any */
	const char *author;              /* whose, by name; NULL: anybody's */
	int64_t account;                 /* whose, by number; 0: anybody's, or the author's */
	const char *search;              /* letters that "account/name" has, in any case; NULL: any */
	enum cairn_index_repo_sort sort;
	bool ascending;
	const char *cursor; /* "", then as it was left; what is none begins at the beginning */
	uint32_t limit;     /* 1 to CAIRN_INDEX_REPOS_MAX */
};
enum { CAIRN_HUB_CURSOR_BYTES = 160 };

/** Visit a page of the repositories that the asker may see. Takes notes only. Of a key that is for one repository only
 * public ones are listed. @param[out] next  CAIRN_HUB_CURSOR_BYTES: the cursor of the next page; "" when there is none
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_list_repos(struct cairn_cas *cas, const struct cairn_hub_asker *asker,
						      const struct cairn_hub_repo_list *list,
						      cairn_index_visit_repo *visit, void *ctx,
						      char next[static CAIRN_HUB_CURSOR_BYTES]);

/** What a token for a repository says: as long as the key is good with which it is asked for, it reads the repository's
 * files, or registers some. Uploads to a private one share dedupe with nobody else. */
void cairn_hub_token_claims(const struct cairn_hub_asker *asker, const struct cairn_index_repo *repo, bool write,
			    struct cairn_token_claims *out);

#endif
