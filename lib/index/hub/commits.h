/* Commits: checks, ids and messages that all engines share. */
#ifndef CAIRN_INDEX_HUB_COMMITS_H
#define CAIRN_INDEX_HUB_COMMITS_H

#include "index/hub/edit.h"
#include "index/hub/history.h"

enum {
	CAIRN_COMMITS_SECONDS_MAX = 3600,   /* a commit is dated at most so much later, to get an id of its own */
	CAIRN_COMMITS_FREE_TEXT_MAX = 1024, /* bytes of title and message of a deletion that no quota refuses */
	CAIRN_COMMITS_NO_HOLDER = -1,       /* a scope that has no files */
};

/** The newest commit of a line; zeroed where there is none yet. */
struct cairn_commits_head {
	int64_t commit, parent; /* numbers */
	int64_t line;           /* of the commit */
	int64_t number, n_files, bytes;
	struct cairn_git_oid oid, root;
};

struct cairn_commits_new {
	int64_t repo, owner, line;
	struct cairn_commits_head head;
	int64_t holder; /* whose files the operations name; 0: the owner's */
	bool few;       /* as in struct cairn_edit */
	bool only_same; /* fail if the operations change anything in the head */
	bool must_pass; /* no quota refuses it, because less is held afterwards */
	/* Result: it is too large for one transaction. Then nothing was changed, and CAIRN_OK returned. NULL: it is
	 * made in any case */
	bool *in_pieces;
	const struct cairn_git_oid *id; /* the commit's id; NULL: the one that git computes */
	const struct cairn_index_message *message;
	const struct cairn_index_operation *operations;
	uint32_t n;
	struct cairn_git_oid oid; /* result: of the new commit, or of the head */
	bool added;               /* result */
	int64_t counts;           /* result: what its rows count for a quota */
};

/** Returns the commit that a request asks for; the request must outlive it. The index has its other members. */
struct cairn_commits_new cairn_commits_asked(const struct cairn_index_add_commit *add);
/** Returns the first commit of a new repository, whose number is known; likewise. */
struct cairn_commits_new cairn_commits_first(const struct cairn_index_add_repo *add, int64_t owner);
/** Checks a commit against the limits. @return CAIRN_OK; CAIRN_E_LIMIT (commit.limit) */
CAIRN_MUST_USE enum cairn_status cairn_commits_check(const struct cairn_index_message *message, uint32_t n_operations,
						     struct cairn_diag *diag);
/** Computes the commit's id as git does. @param parent  NULL: none  @return as cairn_git_commit() */
CAIRN_MUST_USE enum cairn_status cairn_commits_name(struct cairn_git_oid *out,
						    const struct cairn_index_message *message,
						    const struct cairn_git_oid *root,
						    const struct cairn_git_oid *parent, int64_t at_unix_s);
bool cairn_commits_begins(const struct cairn_git_oid *oid, const char *prefix);

/** Returns what the rows of a commit and of its edit count for a quota. */
int64_t cairn_commits_count(const struct cairn_index_message *message, const struct cairn_edit *edit);
/** Returns what a commit that was made counts for a quota with its texts, also those that the repository had. */
int64_t cairn_commits_full_count(const struct cairn_commits_new *commit);
/** Returns what the row of a ref counts for a quota. */
int64_t cairn_commits_ref_counts(const char *name);
/** Does a quota refuse this commit if there is no room for it? Whoever is over a quota must still be able to delete, to
 * squash and to close: such a commit counts, and the next one that adds something is refused. */
bool cairn_commits_may_be_refused(const struct cairn_commits_new *commit, const struct cairn_edit *edit);

/** Makes a new commit the head, so that another one may follow it. */
void cairn_commits_made(struct cairn_commits_new *commit, int64_t number, const struct cairn_git_oid *root,
			int64_t n_files, int64_t bytes);
/** Fills in the request that ends the pull request of a merge. @param made  the commit of the branch that was just made
 *  @param[out] text  buffer for its id; `last` points to it */
void cairn_commits_merged(struct cairn_index_add_commit *last, const struct cairn_index_add_commit *merge,
			  const struct cairn_git_oid *made, char text[static CAIRN_GIT_OID_CHARS + 1]);

/** @return CAIRN_E_NOT_FOUND (revision.unknown) */
enum cairn_status cairn_commits_unknown(struct cairn_diag *diag);
/** @return CAIRN_E_CONFLICT (commit.parent) */
enum cairn_status cairn_commits_conflict(struct cairn_diag *diag);
/** @return CAIRN_E_CONFLICT (commit.known) */
enum cairn_status cairn_commits_known(struct cairn_diag *diag);
/** @return CAIRN_E_CONFLICT (pr.ended) */
enum cairn_status cairn_commits_ended(struct cairn_diag *diag);
/** @return CAIRN_E_LIMIT (commit.rows): the branch has too many files to be squashed */
enum cairn_status cairn_commits_too_many(struct cairn_diag *diag);

/** @return CAIRN_E_LIMIT (ref.depth): a branch from a branch so deep would copy too many rows */
enum cairn_status cairn_commits_too_deep(struct cairn_diag *diag);

/** @return CAIRN_E_CONFLICT (ref.known) */
enum cairn_status cairn_commits_ref_known(struct cairn_diag *diag, enum cairn_index_ref_kind kind, const char *name);
/** @return CAIRN_E_USAGE (ref.nested) */
enum cairn_status cairn_commits_ref_nested(struct cairn_diag *diag, const char *there, const char *name);
/** @return CAIRN_E_DENIED (ref.main) */
enum cairn_status cairn_commits_ref_main(struct cairn_diag *diag);

#endif
