/* Makes commits within a transaction: reads the head of a ref, applies operations, and writes the new head. */
#ifndef CAIRN_INDEX_POSTGRES_COMMIT_H
#define CAIRN_INDEX_POSTGRES_COMMIT_H

#include "index/hub/commits.h"
#include "index/hub/edit.h"
#include "index/postgres/write.h"

#define CAIRN_PG_HEAD "c.id, c.parent, c.line, c.number, c.files, c.bytes, c.oid, c.root"
/** Reads the columns of a head, from this one on. @return CAIRN_OK; CAIRN_E_DAMAGED */
CAIRN_MUST_USE enum cairn_status cairn_pg_head(const PGresult *r, int row, int column, struct cairn_commits_head *out);

/** Adds a commit to a line. @return CAIRN_OK; as cairn_index_add_commit(); as cairn_pg_ask() */
CAIRN_MUST_USE enum cairn_status cairn_pg_commit_to(struct cairn_pg_tx *tx, struct cairn_commits_new *commit,
						    struct cairn_diag *diag);
/** Makes a line without a parent, with a first commit that may be empty. @return as cairn_pg_commit_to() */
CAIRN_MUST_USE enum cairn_status cairn_pg_first_line(struct cairn_pg_tx *tx, struct cairn_commits_new *commit,
						     struct cairn_diag *diag);
/** Adds a commit with the number, the files and the bytes of an edit, and makes it the line's head. Sends queued
 * statements, too. @param edit  only its numbers and diag are read  @return as cairn_pg_commit_to() */
CAIRN_MUST_USE enum cairn_status cairn_pg_add_commit_row(struct cairn_pg_tx *tx, struct cairn_commits_new *commit,
							 const struct cairn_edit *edit,
							 const struct cairn_git_oid *root);
/** Queues an increase of the bytes counted for a repository's rows. cairn_records_grow() records the growth. */
void cairn_pg_queue_count_rows(struct cairn_pg_tx *tx, int64_t repo, int64_t bytes);
/** Queues a query for the number of the next commit. */
unsigned cairn_pg_queue_next_commit(struct cairn_pg_tx *tx);

/** Creates or moves a branch, a tag or a pull request. */
void cairn_pg_queue_set_ref(struct cairn_pg_tx *tx, int64_t repo, enum cairn_index_ref_kind kind, const char *name,
			    int64_t line, int64_t commit);
/** Copies the counts of main to its repository, and sets the time of its update. */
void cairn_pg_queue_count_main(struct cairn_pg_tx *tx, int64_t repo);

/** Reads the head of a commit. @param[out] depth  lines that a lookup at the commit reads; may be NULL @return
 * CAIRN_OK; CAIRN_E_NOT_FOUND (revision.unknown); as cairn_pg_ask(); CAIRN_E_DAMAGED */
CAIRN_MUST_USE enum cairn_status cairn_pg_read_head(struct cairn_pg_tx *tx, int64_t commit,
						    struct cairn_commits_head *out, int64_t *depth,
						    struct cairn_diag *diag);
/** Reads the repository's owner, and the line and head of the ref to commit to. @param checks  compare the head with
 * the parent that the request names @return as cairn_index_add_commit() */
CAIRN_MUST_USE enum cairn_status cairn_pg_find_commit(struct cairn_pg_tx *tx, const struct cairn_index_add_commit *add,
						      bool checks, struct cairn_commits_new *c,
						      struct cairn_diag *diag);
/** Ends the pull request that the commit just made merges. If the branch already had all changes of the pull request,
 * the pull request ends with the branch's head. @return as cairn_index_add_commit() */
CAIRN_MUST_USE enum cairn_status cairn_pg_end_merged(struct cairn_pg_tx *tx, const struct cairn_index_add_commit *add,
						     struct cairn_diag *diag);
/** Finds the branch or pull request to squash. @param[out] line  the ref's line @return as cairn_index_squash() */
CAIRN_MUST_USE enum cairn_status cairn_pg_find_squashed(struct cairn_pg_tx *tx, const struct cairn_index_squash *squash,
							int64_t *owner, int64_t *line, struct cairn_commits_head *head,
							struct cairn_diag *diag);
/** Makes the branch main of a new repository, with this line. @return as cairn_pg_ask() */
CAIRN_MUST_USE enum cairn_status cairn_pg_add_main(struct cairn_pg_tx *tx, int64_t repo, int64_t owner, int64_t line);
/** Makes a line that leaves another at the commit that the new ref names. @return as cairn_index_add_ref() */
CAIRN_MUST_USE enum cairn_status cairn_pg_fork(struct cairn_pg_tx *tx, struct cairn_index_add_ref *add, int64_t owner,
					       int64_t *line);
/** Gives a pull request its number, its row and its ref. @return as cairn_pg_ask() */
CAIRN_MUST_USE enum cairn_status cairn_pg_name_pull(struct cairn_pg_tx *tx, struct cairn_index_add_ref *add,
						    int64_t owner, int64_t line);
/** Gives a repository the files of another owner that these operations name. Skips a file that the source lacks: its
 * commit reports it. @return as cairn_pg_ask() */
CAIRN_MUST_USE enum cairn_status cairn_pg_adopt_operations(struct cairn_pg_tx *tx,
							   const struct cairn_index_operation *operations, uint32_t n,
							   int64_t source, int64_t owner);

/* Each makes its commit in the current transaction. @param[out] in_pieces  too large for one transaction, because of
 * deleted or changed folders; nothing was changed @return as the request */
CAIRN_MUST_USE enum cairn_status cairn_pg_commit_at_once(struct cairn_pg_tx *tx, struct cairn_index_add_commit *add,
							 bool *in_pieces);
CAIRN_MUST_USE enum cairn_status cairn_pg_add_ref_at_once(struct cairn_pg_tx *tx, struct cairn_index_add_ref *add,
							  bool *in_pieces);
CAIRN_MUST_USE enum cairn_status cairn_pg_begin_repo_at_once(struct cairn_pg_tx *tx, struct cairn_index_add_repo *add,
							     int64_t owner);

/* --- the files of a commit while it is made (hub_edit.c) ---------------------------------------------------------- */

/** Changes of a line's entries for a commit that is made afterwards. Reads the paths of operations in advance, some
 * thousands at a time. Keeps writes in memory, and sends them before the next scan. */
struct cairn_pg_edit {
	struct cairn_edit edit; /* its engine is CAIRN_PG_EDIT, its ctx this struct */
	struct cairn_pg_tx *tx;
	int64_t repo, owner, line;
	int64_t holder;     /* as in struct cairn_commits_new */
	uint32_t page_rows; /* entries that a scan reads at once; 0: the default */
	/* borrowed: operations whose paths and contents were read in advance */
	const struct cairn_index_operation *looked;
	struct cairn_pg_edit_content *contents; /* owned: contents of these operations */

	void *paths;                      /* owned, of search.h: paths read or written */
	struct cairn_pg_edit_path **sent; /* owned: paths to be sent */
	size_t n_sent, sent_cap;
	struct cairn_pg_array used, times;    /* changes in the number of entries of contents: which, and by how much */
	struct cairn_pg_array revived, sames; /* contents that may lack their bytes, and equal ones that have them */

	char *const *folders;      /* borrowed: the folders scanned next */
	size_t n_folders, n_begun; /* number of these folders; how many were begun */
	size_t first, end;         /* range of the folders that were read */
	PGresult *page;            /* owned: a page of entries of the folders */
	int row;                   /* index of the page's next row */
};
extern const struct cairn_edit_engine CAIRN_PG_EDIT;

/** Reads the paths and contents of the next operations in advance. Sends queued statements, too. Before the first call,
 * edit is zeroed except for its first members. @param operations  borrowed until the next call
 * @return as cairn_pg_ask(); CAIRN_E_DAMAGED; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_pg_edit_prefetch(struct cairn_pg_edit *edit,
							const struct cairn_index_operation *operations, uint32_t n);
/** Queues the remaining writes. @param changed  false: only those of contents  @param[out] used  for cairn_pg_used()
 * @return as cairn_pg_edit_prefetch() */
CAIRN_MUST_USE enum cairn_status cairn_pg_edit_queue(struct cairn_pg_edit *edit, bool changed, unsigned *used);
/** Writes the remaining changes, and removes contents of operations that were not applied, so that the transaction can
 * end.
 * @return as cairn_pg_edit_prefetch() */
CAIRN_MUST_USE enum cairn_status cairn_pg_edit_flush(struct cairn_pg_edit *edit);
void cairn_pg_edit_fini(struct cairn_pg_edit *edit);

#endif
