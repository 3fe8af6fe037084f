/* Repositories: who sees them, and who may change them. Hides repositories that an asker may not see. */
#ifndef CAIRN_HUB_REPO_H
#define CAIRN_HUB_REPO_H

#include "hub/may.h"
#include "index/hub/history.h"
#include "token/token.h"

/** The name that stands for the asker's own namespace. */
#define CAIRN_HUB_ME "me"

/** Finds what the asker may do with the repositories of an account. Account 0, which does not exist, is allowed: so a
 * missing account takes as long as a hidden one. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_access_in(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						     int64_t account, enum cairn_hub_access *out);

/** Finds what the asker may do with a repository. A key for one repository gives no more than WRITE, and only there, by
 * its full name in any case, not by a former name. An account with granted access has READ in a repository with a
 * gate.
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_access_to(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						     const struct cairn_index_repo *repo, enum cairn_hub_access *out);

/** Finds a repository to which the asker has the needed access.
 * @param need  CAIRN_HUB_SEE: to show its metadata; CAIRN_HUB_READ: to read its files, which everybody may do for a
 *              public repository without a gate, and an account with granted access for one with a gate
 * @param[out] out  has the present name, even if name is a former one
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND no such repository, or the asker may not see it (repo.unknown); CAIRN_E_DENIED
 *         the asker may see it, but not read its files (repo.gated, or, after a request for access, access.pending or
 *         access.rejected), or lacks the needed access (repo.denied), or would write in a mirrored one
 *         (mirror.readonly); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_repo(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						     enum cairn_index_repo_kind kind, const char *account,
						     const char *name, enum cairn_hub_access need,
						     struct cairn_index_repo *out, struct cairn_diag *diag);

/** Refuses to write in a namespace of the mirrored hub. @return CAIRN_E_DENIED (mirror.readonly) */
CAIRN_MUST_USE enum cairn_status cairn_hub_refuse_mirrored(struct cairn_diag *diag);

/** Does the same, and returns what the asker may do with it. @param[out] access  set with CAIRN_OK */
CAIRN_MUST_USE enum cairn_status cairn_hub_find_repo_access(const struct cairn_hub *hub,
							    const struct cairn_hub_asker *asker,
							    enum cairn_index_repo_kind kind, const char *account,
							    const char *name, enum cairn_hub_access need,
							    enum cairn_hub_access *access, struct cairn_index_repo *out,
							    struct cairn_diag *diag);

/** The properties of a new repository. Borrowed. */
struct cairn_hub_new_repo {
	enum cairn_index_repo_kind kind;
	const char *account; /* CAIRN_HUB_ME: the asker's own */
	const char *name;
	bool is_private;
	const char *sdk; /* of a space; NULL: none */
	/* Files of the first commit of a git-like repository, besides .gitattributes and the README.md of a space. */
	const struct cairn_index_operation *operations;
	uint32_t n;     /* at most CAIRN_HUB_FIRST_FILES_MAX */
	int64_t source; /* id of the repository that it copies, whose files are all in operations. 0: not a copy */
	int64_t guard;  /* account that decides whether the copy is public, as in struct cairn_index_repo */
};
enum { CAIRN_HUB_FIRST_FILES_MAX = 100 };

/** Makes a repository, and finds it. Waits for the index's writer.
 * @param[out] out  with CAIRN_E_CONFLICT: the repository that has the name, if it still exists
 * @return CAIRN_OK; CAIRN_E_USAGE the name is not valid (repo.name); CAIRN_E_CONFLICT the name is taken (repo.known),
 *         or as cairn_hub_commit(); CAIRN_E_DENIED the asker may not make a repository there, or there is no such
 *         account (account.denied); CAIRN_E_LIMIT too many files (commit.lines); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_make_repo(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						     const struct cairn_hub_new_repo *new_repo,
						     struct cairn_index_repo *out, struct cairn_diag *diag);

/** Sets who may see a repository that was found with CAIRN_HUB_ADMIN, and who may read its files. NULL does not change
 * the setting. Waits for the index's writer. @return CAIRN_OK; CAIRN_E_NOT_FOUND (repo.unknown); CAIRN_E_DENIED it is
 * a copy of a repository that is not public, and the asker is not an admin of its guard (repo.guarded); as a write */
CAIRN_MUST_USE enum cairn_status cairn_hub_set_repo(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						    const struct cairn_index_repo *repo, const bool *is_private,
						    const enum cairn_index_gate *gate, struct cairn_diag *diag);

/** May the asker give the files of a repository to people who are not its members? Otherwise anybody with a copy could
 * publish it by its settings. @return CAIRN_OK; CAIRN_E_DENIED it is a copy of a repository that is not public, and
 * the asker is not an admin of its guard (repo.guarded); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_check_guard(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						       const struct cairn_index_repo *repo, struct cairn_diag *diag);

/** Renames a repository that was found with CAIRN_HUB_ADMIN, maybe into another account in which the asker may make
 * repositories. Waits for the index's writer. @return as cairn_hub_make_repo(), and CAIRN_E_NOT_FOUND (repo.unknown) */
CAIRN_MUST_USE enum cairn_status cairn_hub_move_repo(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						     const struct cairn_index_repo *repo, const char *account,
						     const char *name, struct cairn_diag *diag);

/** Deletes a repository that was found with CAIRN_HUB_ADMIN. It is no longer found, tokens for it are refused, and the
 * next collection removes its content. Waits for the index's writer. @return as cairn_hub_set_repo() */
CAIRN_MUST_USE enum cairn_status cairn_hub_drop_repo(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						     struct cairn_diag *diag);

/** Finds an account. A mirrored namespace is found only by an asker who may see one of its repositories in lists: this
 * reveals no hidden ones.
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND (account.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_see_account(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						       const char *name, struct cairn_index_account *out,
						       struct cairn_diag *diag);

enum { CAIRN_HUB_REPOS_MAX = 500 }; /* repositories of one page */

/** Visits the repositories of a kind and an account that the asker may see, a page at a time. A page may be short or
 * empty before the last one, if few names match.
 * @param account  CAIRN_HUB_ME: the asker's own
 * @param search   a part of the name, in any case; NULL: all
 * @param from_id  0 for the first page, then *next_id, which is 0 after the last page
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND there is no such account (account.unknown); CAIRN_E_DENIED a client without a key
 *         has no account of its own (account.denied); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_each_repo(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						     enum cairn_index_repo_kind kind, const char *account,
						     const char *search, int64_t from_id, cairn_index_visit_repo *visit,
						     void *ctx, int64_t *next_id, struct cairn_diag *diag);

/** Selects the repositories to list. Borrowed. */
struct cairn_hub_repo_list {
	enum cairn_index_repo_kind kind; /* 0: any */
	const char *author;              /* name of the account; NULL: any */
	int64_t account;                 /* id of the account; 0: any, or the author's */
	const char *search;              /* a part of "account/name", in any case; NULL: any */
	enum cairn_index_wanted is_private, gated;
	const char *const *words; /* words in lower case, all of which the card has (hub/metadata.h) */
	uint32_t n_words;         /* at most CAIRN_INDEX_WORDS_ASKED_MAX */
	bool cards, heads;        /* visit cards and heads of main, too */
	enum cairn_index_repo_sort sort;
	bool ascending;
	const char *cursor; /* "" for the first page, then next; malformed: the first page */
	uint32_t limit;     /* 1 to CAIRN_INDEX_REPOS_MAX */
};
enum { CAIRN_HUB_CURSOR_BYTES = 160 };

/** Visits a page of the repositories that the asker may see; visit() must not call the index. A key for one repository
 * lists only public ones. @param[out] next  CAIRN_HUB_CURSOR_BYTES: the cursor of the next page; "" after the last
 * page
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_list_repos(const struct cairn_hub *hub, const struct cairn_hub_asker *asker,
						      const struct cairn_hub_repo_list *list,
						      cairn_index_visit_repo *visit, void *ctx,
						      char next[static CAIRN_HUB_CURSOR_BYTES]);

/** Writes the claims of a token for a repository, with which its files are read or registered. The token is valid as
 * long as the asker's key. Uploads to a private repository share dedupe with no other. */
void cairn_hub_token_claims(const struct cairn_hub_asker *asker, const struct cairn_index_repo *repo, bool write,
			    struct cairn_token_claims *out);

#endif
