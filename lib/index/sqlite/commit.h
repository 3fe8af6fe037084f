/* Makes commits within a transaction: reads the head of a ref, applies operations, and writes the new head. */
#ifndef CAIRN_INDEX_SQLITE_COMMIT_H
#define CAIRN_INDEX_SQLITE_COMMIT_H

#include "index/hub/commits.h"
#include "index/hub/edit.h"
#include "index/sqlite/chain.h"
#include "index/sqlite/write.h"

/** Reads the head of a commit. @return CAIRN_OK; CAIRN_E_NOT_FOUND (revision.unknown); as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_tx_read_head(struct cairn_tx *tx, int64_t commit, struct cairn_commits_head *out,
						    struct cairn_diag *diag);

struct cairn_tx_edit;

/** Adds a commit to a line. @return CAIRN_OK; as cairn_index_add_commit(); as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_tx_commit_to(struct cairn_tx *tx, struct cairn_commits_new *commit,
						    struct cairn_diag *diag);

/** Makes a line without a parent, with a first commit that may be empty. @return as cairn_tx_commit_to() */
CAIRN_MUST_USE enum cairn_status cairn_tx_first_line(struct cairn_tx *tx, struct cairn_commits_new *commit,
						     struct cairn_diag *diag);

/** Adds a commit with this id and root and the files of an edit, as the line's head. @return as cairn_tx_commit_to() */
CAIRN_MUST_USE enum cairn_status cairn_tx_add_commit_row(struct cairn_tx *tx, struct cairn_commits_new *commit,
							 const struct cairn_tx_edit *edit,
							 const struct cairn_git_oid *root);
/** Returns the number of the next commit. */
CAIRN_MUST_USE enum cairn_status cairn_tx_next_commit(struct cairn_tx *tx, int64_t *id);

/** Gives a new repository the files of its source that its first operations name. @return CAIRN_OK; CAIRN_E_NOT_FOUND
 * (repo.unknown); as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_tx_adopt_named(struct cairn_tx *tx, const struct cairn_index_add_repo *add,
						      int64_t owner, struct cairn_diag *diag);

/** Gives a repository the file that an operation names. Skips a file that the source lacks: its commit reports it.
 * @param source  an owner, too  @return CAIRN_OK; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_tx_adopt_operation(struct cairn_tx *tx,
							  const struct cairn_index_operation *operation, int64_t source,
							  int64_t owner);

/** Makes the branch main of a new repository, with this line. @return as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_tx_add_main(struct cairn_tx *tx, int64_t repo, int64_t owner, int64_t line);

/** Copies the counts of main to its repository, and sets the time of its update. */
CAIRN_MUST_USE enum cairn_status cairn_tx_count_main(struct cairn_tx *tx, int64_t repo);

/** Reads the line and the head of the ref to which a commit is added. @return CAIRN_OK; CAIRN_E_NOT_FOUND
 *  (revision.unknown); CAIRN_E_CONFLICT (pr.ended); as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_tx_find_commit_ref(struct cairn_tx *tx, const struct cairn_index_add_commit *add,
							  struct cairn_commits_new *c, struct cairn_diag *diag);
/** Is the head the parent of the request? @return CAIRN_OK; CAIRN_E_CONFLICT (commit.parent); as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_tx_check_parent(struct cairn_tx *tx, const struct cairn_index_add_commit *add,
						       struct cairn_commits_new *c, struct cairn_diag *diag);

/** Ends the pull request that the commit just made merges. If the branch already had all changes of the pull request,
 * the pull request ends with the branch's head. @return as cairn_index_add_commit() */
CAIRN_MUST_USE enum cairn_status cairn_tx_end_merged(struct cairn_tx *tx, const struct cairn_index_add_commit *add,
						     struct cairn_diag *diag);
/** Finds the head of the branch to squash. @param[out] line  the branch's line
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND (revision.unknown); CAIRN_E_CONFLICT (pr.ended); as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_tx_find_squashed(struct cairn_tx *tx, const struct cairn_index_squash *squash,
							struct cairn_commits_head *out, int64_t *line,
							struct cairn_diag *diag);
/** Lets a branch or a pull request name another line. @return as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_tx_set_ref_line(struct cairn_tx *tx, int64_t repo,
						       enum cairn_index_ref_kind kind, const char *name, int64_t line);

/* Each makes its commit in the current transaction. @return as cairn_index_add_commit(), cairn_index_add_repo(),
 * cairn_index_squash() */
/** Makes a commit, unless deleted or changed folders make it too large for this transaction. @param[out] in_pieces  too
 * large, and nothing was changed: call cairn_tx_stage() */
CAIRN_MUST_USE enum cairn_status cairn_tx_commit_at_once(struct cairn_tx *tx, struct cairn_index_add_commit *add,
							 bool *in_pieces);
CAIRN_MUST_USE enum cairn_status cairn_tx_begin_repo_at_once(struct cairn_tx *tx, struct cairn_index_add_repo *add,
							     int64_t owner);
CAIRN_MUST_USE enum cairn_status cairn_tx_add_ref_at_once(struct cairn_tx *tx, struct cairn_index_add_ref *add,
							  bool *in_pieces);

/** Makes a line that leaves another at the commit that the new ref names. @return as cairn_index_add_ref() */
CAIRN_MUST_USE enum cairn_status cairn_tx_fork(struct cairn_tx *tx, struct cairn_index_add_ref *add, int64_t owner,
					       int64_t *line);
/** Gives a pull request its number, its row and its ref. @return as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_tx_name_pull(struct cairn_tx *tx, struct cairn_index_add_ref *add, int64_t owner,
						    int64_t line);

/* --- the files of a commit while it is made (hub_edit.c) ---------------------------------------------------------- */

/** Changes of a line's entries for a commit that is made afterwards. */
struct cairn_tx_edit {
	struct cairn_edit edit;
	struct cairn_tx *tx;
	int64_t repo, owner, line;
	int64_t holder; /* as in struct cairn_commits_new */
	struct cairn_chain chain;
};

extern const struct cairn_edit_engine CAIRN_TX_EDIT;

/** Records that one more entry uses this content. */
CAIRN_MUST_USE enum cairn_status cairn_tx_use_content(struct cairn_tx *tx, int64_t content);
/** Returns the statements of the writer that scan the lines of a chain (chain.h). */
sqlite3_stmt **cairn_tx_scan_stmts(struct cairn_tx *tx);
/** Records that an entry no longer uses this content. */
CAIRN_MUST_USE enum cairn_status cairn_tx_drop_use(struct cairn_tx *tx, int64_t content);

#endif
