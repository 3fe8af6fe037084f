/* Commits: checks, ids and messages that all engines share. */
#ifndef CAIRN_INDEX_HUB_COMMITS_H
#define CAIRN_INDEX_HUB_COMMITS_H

#include "index/hub/edit.h"
#include "index/hub/history.h"

enum {
	/* most seconds by which a commit's date is moved to get an id that no other commit has */
	CAIRN_COMMITS_SECONDS_MAX = 3600,
	CAIRN_COMMITS_FREE_TEXT_MAX = 1024, /* most bytes of title and message of a deletion that no quota refuses */
	CAIRN_COMMITS_NO_HOLDER = -1,       /* no scope: it has no files */
};

/** The newest commit of a line; zeroed where there is none yet. */
struct cairn_commits_head {
	int64_t commit, parent; /* ids in the index */
	int64_t line;           /* of the commit */
	int64_t number, n_files, bytes;
	struct cairn_git_oid oid, root;
};

struct cairn_commits_new {
	int64_t repo, owner, line;
	struct cairn_commits_head head;
	int64_t holder; /* scope whose files the operations name; 0: the owner's */
	bool few;       /* as in struct cairn_edit */
	bool only_same; /* fail if the operations change anything in the head */
	bool must_pass; /* no quota refuses the commit, because it frees space */
	/* result: the commit is too large for one transaction. Then nothing was changed, and CAIRN_OK returned. NULL:
	 * make it all the same */
	bool *in_pieces;
	const struct cairn_git_oid *id; /* the commit's id; NULL: computed as git does */
	const struct cairn_index_message *message;
	const struct cairn_index_operation *operations;
	uint32_t n;
	struct cairn_git_oid oid; /* result: id of the new commit, or of the head */
	bool added;               /* result: a commit was made */
	int64_t counts;           /* result: bytes of its rows, as a quota counts them */
};

/** Translates the request to add a commit; the request must outlive the result. The engine sets the other members. */
struct cairn_commits_new cairn_commits_asked(const struct cairn_index_add_commit *add);
/** Does the same for the first commit of a new repository whose id is known. */
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

/** Returns the bytes that a quota counts for the rows of a commit and of its edit. */
int64_t cairn_commits_count(const struct cairn_index_message *message, const struct cairn_edit *edit);
/** Returns the bytes that a quota counts for a new commit with its texts, even if the repository had equal texts. */
int64_t cairn_commits_full_count(const struct cairn_commits_new *commit);
/** Returns the bytes that a quota counts for the row of a ref. */
int64_t cairn_commits_ref_counts(const char *name);
/** May a quota refuse this commit? Not if it deletes, squashes or closes: an account over its quota can still free
 * space. Its bytes count, so the next commit that adds something is refused. */
bool cairn_commits_may_be_refused(const struct cairn_commits_new *commit, const struct cairn_edit *edit);

/** Makes a commit that was just made the head, so that another can follow. */
void cairn_commits_made(struct cairn_commits_new *commit, int64_t number, const struct cairn_git_oid *root,
			int64_t n_files, int64_t bytes);
/** Fills in the request that ends a pull request after its merge. @param made  the commit just made on the branch
 * @param[out] text  buffer for its id; `last` points to it */
void cairn_commits_merged(struct cairn_index_add_commit *last, const struct cairn_index_add_commit *merge,
			  const struct cairn_git_oid *made, char text[static CAIRN_GIT_OID_CHARS + 1]);

/** Fails: there is no such revision. @return CAIRN_E_NOT_FOUND (revision.unknown) */
enum cairn_status cairn_commits_unknown(struct cairn_diag *diag);
/** Fails: the branch has moved. @return CAIRN_E_CONFLICT (commit.parent) */
enum cairn_status cairn_commits_conflict(struct cairn_diag *diag);
/** Fails: another commit has this id. @return CAIRN_E_CONFLICT (commit.known) */
enum cairn_status cairn_commits_id_is_taken(struct cairn_diag *diag);
/** Fails: the pull request has ended. @return CAIRN_E_CONFLICT (pr.ended) */
enum cairn_status cairn_commits_ended(struct cairn_diag *diag);
/** Fails: the branch has too many files to be squashed. @return CAIRN_E_LIMIT (commit.rows) */
enum cairn_status cairn_commits_too_many(struct cairn_diag *diag);

/** Fails: a new branch from so deep a branch would copy too many rows. @return CAIRN_E_LIMIT (ref.depth) */
enum cairn_status cairn_commits_too_deep(struct cairn_diag *diag);

/** Fails: a branch or tag with this name exists. @return CAIRN_E_CONFLICT (ref.known) */
enum cairn_status cairn_commits_ref_is_taken(struct cairn_diag *diag, enum cairn_index_ref_kind kind, const char *name);
/** Fails: one of the names is a folder of the other. @return CAIRN_E_USAGE (ref.nested) */
enum cairn_status cairn_commits_ref_nested(struct cairn_diag *diag, const char *there, const char *name);
/** Fails: main cannot be deleted. @return CAIRN_E_DENIED (ref.main) */
enum cairn_status cairn_commits_ref_main(struct cairn_diag *diag);

#endif
