/* Makes commits within a transaction: reads the head of a ref, applies operations, and writes the new head. */
#ifndef CAIRN_INDEX_POSTGRES_COMMIT_H
#define CAIRN_INDEX_POSTGRES_COMMIT_H

#include "index/hub/commits.h"
#include "index/hub/edit.h"
#include "index/postgres/write.h"

#define CAIRN_PG_HEAD "c.id, c.parent, c.line, c.number, c.files, c.bytes, c.oid, c.root"
/** Reads the columns of a head, from this one on. @return CAIRN_OK; CAIRN_E_DAMAGED */
CAIRN_MUST_USE enum cairn_status cairn_pg_head(const PGresult *r, int row, int column, struct cairn_commits_head *out);

/** @return CAIRN_OK; as cairn_index_add_commit() for operations; as cairn_pg_ask() */
CAIRN_MUST_USE enum cairn_status cairn_pg_commit_to(struct cairn_pg_tx *tx, struct cairn_commits_new *commit,
						    struct cairn_diag *diag);
/** Makes a line without a parent, with a first commit, which may be empty. @return as cairn_pg_commit_to() */
CAIRN_MUST_USE enum cairn_status cairn_pg_first_line(struct cairn_pg_tx *tx, struct cairn_commits_new *commit,
						     struct cairn_diag *diag);
/** Adds a commit with the number, the files and the bytes of an edit, and makes it the line's head. Exchanges queued
 * statements, too. @param edit  only its numbers and diag are read  @return as cairn_pg_commit_to() */
CAIRN_MUST_USE enum cairn_status cairn_pg_add_commit_row(struct cairn_pg_tx *tx, struct cairn_commits_new *commit,
							 const struct cairn_edit *edit,
							 const struct cairn_git_oid *root);
/** Queues that rows of a repository count so much more for its quota. Growth is noted apart (cairn_records_grow()). */
void cairn_pg_queue_count_rows(struct cairn_pg_tx *tx, int64_t repo, int64_t bytes);
/** Queues a query for the number of the next commit. */
unsigned cairn_pg_queue_next_commit(struct cairn_pg_tx *tx);

/** Creates or moves a branch, a tag or a pull request. */
void cairn_pg_queue_set_ref(struct cairn_pg_tx *tx, int64_t repo, enum cairn_index_ref_kind kind, const char *name,
			    int64_t line, int64_t commit);
/** Copies the counts of main to its repository, and sets the time of its update. */
void cairn_pg_queue_count_main(struct cairn_pg_tx *tx, int64_t repo);

/* --- the files of a commit while it is made (hub_edit.c) ---------------------------------------------------------- */

/** Changes of a line's entries for a commit that is not made yet. Paths of operations are read in advance, some
 * thousands at a time. Writes are kept in memory and sent before the next scan. */
struct cairn_pg_edit {
	struct cairn_edit edit; /* its engine is CAIRN_PG_EDIT, its ctx this */
	struct cairn_pg_tx *tx;
	int64_t repo, owner, line;
	int64_t holder;                                 /* struct cairn_commits_new */
	const struct cairn_index_operation *operations; /* borrowed */
	struct cairn_pg_edit_content *contents;         /* owned: the contents of the operations */

	void *paths;                      /* owned, of search.h: the paths read or written */
	struct cairn_pg_edit_path **sent; /* owned: the paths to be sent */
	size_t n_sent, sent_cap;
	struct cairn_pg_array used, times;    /* contents with a change in their number of entries */
	struct cairn_pg_array revived, sames; /* contents that may lack their bytes, and equal ones that have them */

	char *const *folders;      /* borrowed: the folders scanned next */
	size_t n_folders, n_begun; /* folders; folders begun */
	size_t first, end;         /* the part of them that was read */
	PGresult *page;            /* owned: a page of their entries */
	int row;                   /* the next row of the page */
};
extern const struct cairn_edit_engine CAIRN_PG_EDIT;

/** Reads the next paths in advance. Exchanges queued statements, too. edit is zeroed except for its first members.
 *  @return as cairn_pg_ask(); CAIRN_E_DAMAGED; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_pg_edit_look(struct cairn_pg_edit *edit, uint32_t n);
/** Queues the remaining writes. @param changed  false: only those of contents  @param[out] used  for cairn_pg_used()
 *  @return as cairn_pg_edit_look() */
CAIRN_MUST_USE enum cairn_status cairn_pg_edit_queue(struct cairn_pg_edit *edit, bool changed, unsigned *used);
void cairn_pg_edit_fini(struct cairn_pg_edit *edit);

#endif
