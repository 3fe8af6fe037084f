/* Commits within a transaction: the head of a ref, and what operations make of it. */
#ifndef CAIRN_INDEX_POSTGRES_COMMIT_H
#define CAIRN_INDEX_POSTGRES_COMMIT_H

#include "index/commits.h"
#include "index/edit.h"
#include "index/postgres/write.h"

#define CAIRN_PG_HEAD "c.id, c.parent, c.line, c.number, c.files, c.bytes, c.oid, c.root"
/** Read these columns, from this one on. @return CAIRN_OK; CAIRN_E_DAMAGED */
CAIRN_MUST_USE enum cairn_status cairn_pg_head(const PGresult *r, int row, int column, struct cairn_commits_head *out);

/** @return CAIRN_OK; what cairn_index_add_commit() says of operations; as cairn_pg_ask() */
CAIRN_MUST_USE enum cairn_status cairn_pg_commit_to(struct cairn_pg_tx *tx, struct cairn_commits_new *commit,
						    struct cairn_diag *diag);
/** Make a line without a parent, with a first commit, also of nothing. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_pg_first_line(struct cairn_pg_tx *tx, struct cairn_commits_new *commit,
						     struct cairn_diag *diag);
/** Have the line's head be a commit of this number and root, with so many files and bytes. What is queued is exchanged
 * with it. @return as cairn_pg_commit_to() */
CAIRN_MUST_USE enum cairn_status cairn_pg_add_commit_row(struct cairn_pg_tx *tx, struct cairn_commits_new *commit,
							 int64_t number, const struct cairn_git_oid *root,
							 int64_t n_files, int64_t bytes, struct cairn_diag *diag);
/** The number of the next commit. */
unsigned cairn_pg_queue_next_commit(struct cairn_pg_tx *tx);

/** A branch, a tag or a pull request, also one that is there. */
void cairn_pg_queue_set_ref(struct cairn_pg_tx *tx, int64_t repo, enum cairn_index_ref_kind kind, const char *name,
			    int64_t line, int64_t commit);
/** What main has is what its repository counts; and it was updated. */
void cairn_pg_queue_count_main(struct cairn_pg_tx *tx, int64_t repo);

/* --- the files of a commit while it is made (hub_edit.c) ---------------------------------------------------------- */

/** Entries of a line since a commit that is not there yet. What operations name is read in advance, some thousands at a
 * time; what they write is kept, and sent before the next scan. */
struct cairn_pg_edit {
	struct cairn_edit edit; /* its engine is CAIRN_PG_EDIT, its ctx this */
	struct cairn_pg_tx *tx;
	int64_t repo, scope, line, commit;
	const struct cairn_index_operation *operations; /* borrowed */
	struct cairn_pg_edit_content *contents;         /* owned: those of the operations */

	void *paths;                      /* owned, of search.h: what was read or written */
	struct cairn_pg_edit_path **sent; /* owned: which of these are to be sent */
	size_t n_sent, sent_cap;
	struct cairn_pg_array used, times;    /* contents that entries have once more or less */
	struct cairn_pg_array revived, sames; /* contents that may lack their bytes, and such as have them */

	char *const *folders;      /* borrowed: that are scanned next */
	size_t n_folders, n_begun; /* of those */
	size_t first, end;         /* of the piece of them that was asked for */
	PGresult *page;            /* owned: of their entries */
	int row;                   /* of the page, the next */
};
extern const struct cairn_edit_engine CAIRN_PG_EDIT;

/** Read in advance. What is queued is exchanged, too. edit is zeroed except for its first members.
 *  @return as cairn_pg_ask(); CAIRN_E_DAMAGED; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_pg_edit_look(struct cairn_pg_edit *edit, uint32_t n);
/** Queue what is left to be written. @param changed  not only contents  @param[out] used  for cairn_pg_used()
 *  @return as cairn_pg_edit_look() */
CAIRN_MUST_USE enum cairn_status cairn_pg_edit_queue(struct cairn_pg_edit *edit, bool changed, unsigned *used);
void cairn_pg_edit_fini(struct cairn_pg_edit *edit);

#endif
