/* Makes a large commit in pieces, one piece a transaction, so other writes run in between. A new line, which leaves the
 * branch at its head, gets the entries. No ref names that line, so it is invisible, and after a crash a sweep removes
 * it. The last piece lets the branch name it. For both engines; staged_writes.c has the kinds of write. */
#ifndef CAIRN_INDEX_HUB_STAGED_H
#define CAIRN_INDEX_HUB_STAGED_H

#include "index/hub/commits.h"
#include "index/records.h"
#include "index/stage.h"

enum cairn_staged_step {
	CAIRN_STAGED_BEGIN,
	CAIRN_STAGED_COPY,
	CAIRN_STAGED_EDIT,
	CAIRN_STAGED_ROOT,
	CAIRN_STAGED_SHOW,
	CAIRN_STAGED_UNDO /* remove the line, which was not needed */
};

/** The state of the new line. */
enum cairn_staged_line {
	CAIRN_STAGED_WHOLE, /* has all rows written */
	CAIRN_STAGED_SWEPT, /* a sweep has begun to remove it */
	CAIRN_STAGED_GONE, /* nothing to remove: the line is gone, a ref names it, or its number belongs to another line
			      because the transaction that made it failed */
};

struct cairn_staged;

/** Functions of an engine. Each @param tx  the engine's transaction @return CAIRN_OK; as the write's request */
struct cairn_staged_engine {
	uint32_t writes_max; /* most rows written in a piece; some 4 ms on SQLite */
	uint32_t rows_max;   /* most rows copied, or read for the ids of folders, in a piece */

	/** Returns a zeroed state with `edit` and `stage.free` set. NULL: no memory */
	struct cairn_staged *(*make)(void);
	/** Frees the memory of the edit, and zeroes it. */
	void (*reset)(struct cairn_staged *s);
	struct cairn_index_tx *(*records)(void *tx);
	/** Reserves the number of the commit, makes the line, and begins the edit. Sets `c.line` and `copies`. */
	enum cairn_status (*begin)(void *tx, struct cairn_staged *s);
	/** Reads the state of the line, and marks it as in use. */
	enum cairn_status (*line)(void *tx, const struct cairn_staged *s, enum cairn_staged_line *out);
	/** Copies the next entries of `seen` to the line. @param[out] done  there are no more */
	enum cairn_status (*copy)(void *tx, struct cairn_staged *s, bool *done);
	/** Announces the next `n` operations, from `n_applied` on. */
	enum cairn_status (*look)(void *tx, struct cairn_staged *s, uint32_t n);
	/** Writes the rest of a piece, and counts its rows (`edit->row_bytes`) for the quota. */
	enum cairn_status (*end_piece)(void *tx, struct cairn_staged *s);
	/** Removes some rows of a line, or of a repository that counts as deleted. @param[out] gone  no row is left */
	enum cairn_status (*sweep_line)(void *tx, int64_t line, bool *gone);
	enum cairn_status (*sweep_repo)(void *tx, int64_t repo, int64_t owner, bool *gone);

	/** Makes a commit in the current transaction, unless it is too large. @param[out] in_pieces  it is too large,
	 * and nothing was changed */
	enum cairn_status (*commit_at_once)(void *tx, struct cairn_index_add_commit *add, bool *in_pieces);
	enum cairn_status (*ref_at_once)(void *tx, struct cairn_index_add_ref *add, bool *in_pieces);
	enum cairn_status (*repo_at_once)(void *tx, struct cairn_index_add_repo *add, int64_t owner);

	/** Finds the repository's owner, the line of the ref and its head. @param checks  compare the head with the
	 * parent that the request names */
	enum cairn_status (*find_commit)(void *tx, const struct cairn_index_add_commit *add, bool checks,
					 struct cairn_commits_new *c, struct cairn_diag *diag);
	/** Finds the owner, the line and the head for a squash. */
	enum cairn_status (*find_squashed)(void *tx, const struct cairn_index_squash *squash, int64_t *owner,
					   int64_t *line, struct cairn_commits_head *head, struct cairn_diag *diag);
	enum cairn_status (*read_head)(void *tx, int64_t commit, struct cairn_commits_head *out,
				       struct cairn_diag *diag);
	/** Adds the commit `c` with the counts of the edit, and makes it the line's head. */
	enum cairn_status (*add_commit)(void *tx, struct cairn_staged *s, const struct cairn_git_oid *root);
	/** Lets an existing ref name another line. */
	enum cairn_status (*set_ref)(void *tx, int64_t repo, enum cairn_index_ref_kind kind, const char *name,
				     int64_t line);
	/** Makes a line for a pull request without a commit of its own. */
	enum cairn_status (*fork)(void *tx, struct cairn_index_add_ref *add, int64_t owner, int64_t *line);
	/** Gives a pull request its number, its row and its ref. */
	enum cairn_status (*name_pull)(void *tx, struct cairn_index_add_ref *add, int64_t owner, int64_t line);
	/** Ends the pull request that a commit merges. */
	enum cairn_status (*end_merged)(void *tx, const struct cairn_index_add_commit *add, struct cairn_diag *diag);
	/** Makes the branch main of a new repository. */
	enum cairn_status (*add_main)(void *tx, int64_t repo, int64_t owner, int64_t line);
	/** Copies the counts of main to its repository. */
	enum cairn_status (*count_main)(void *tx, int64_t repo);
};

/** The steps in which the kinds of write differ. Each @return as the functions above */
struct cairn_staged_kind {
	/** Finds the ref, the commit's parent and its line. Called at the beginning, and again after another write has
	 * moved the ref. Sets `c` and the members of struct cairn_staged under "set by find()". */
	enum cairn_status (*find)(void *tx, struct cairn_index_write *write, struct cairn_staged *s);
	/** Makes the last piece: adds the commit and points the ref to its line, which makes the commit visible. If the
	 * ref was changed meanwhile, calls cairn_staged_again() instead. */
	enum cairn_status (*show)(void *tx, struct cairn_index_write *write, struct cairn_staged *s);
	/** Removes a piece of the rows that this kind of write made outside the line. NULL: it makes none
	 * @param[out] gone  no row is left */
	enum cairn_status (*undo)(void *tx, const struct cairn_staged *s, bool *gone);
};

/** The state of a commit that is made in pieces. The engine's own struct begins with it. */
struct cairn_staged {
	struct cairn_index_stage stage; /* first */
	const struct cairn_staged_engine *engine;
	const struct cairn_staged_kind *kind;
	enum cairn_staged_step step;
	struct cairn_commits_new c; /* the commit; its line is new, and its head is the parent. Set by find() */
	struct cairn_edit *edit;    /* belongs to the engine */
	struct cairn_git_oid root;
	uint32_t n_applied; /* operations applied */
	unsigned n_again;
	bool begins_again; /* restart when all its rows are removed */

	/* Set by find(). show() compares the first two with the ref. */
	int64_t ref_line;               /* the line that the ref names */
	struct cairn_commits_head seen; /* the ref's head */
	int64_t adopts;                 /* owner whose files the operations may name, too; 0: none */
	bool once;                      /* restart only after a failed transaction */
	bool copies_all;                /* copy the entries of `seen`, as if this commit had added all of them */

	bool copies; /* entries must be copied before the operations are applied */
	/* The last path copied so far. */
	char folder[CAIRN_INDEX_PATH_MAX + 1], name[CAIRN_INDEX_PATH_MAX + 1];
};

/** Makes the first or the next piece of a commit. @return as the write's request */
CAIRN_MUST_USE enum cairn_status cairn_staged_write(const struct cairn_staged_engine *engine, void *tx,
						    struct cairn_index_write *write,
						    const struct cairn_staged_kind *kind);
/** Called by show() if the ref was changed: restarts the commit at the ref's new head. @return CAIRN_OK;
 * CAIRN_E_CONFLICT (commit.parent): it may not restart, or did too often */
CAIRN_MUST_USE enum cairn_status cairn_staged_again(struct cairn_index_write *write, struct cairn_staged *s);

/* The writes, each made at once or in pieces. @return as its request */
CAIRN_MUST_USE enum cairn_status cairn_staged_add_commit(const struct cairn_staged_engine *engine, void *tx,
							 struct cairn_index_add_commit *add);
CAIRN_MUST_USE enum cairn_status cairn_staged_add_ref(const struct cairn_staged_engine *engine, void *tx,
						      struct cairn_index_add_ref *add);
CAIRN_MUST_USE enum cairn_status cairn_staged_begin_repo(const struct cairn_staged_engine *engine, void *tx,
							 struct cairn_index_add_repo *add, int64_t owner);
CAIRN_MUST_USE enum cairn_status cairn_staged_squash(const struct cairn_staged_engine *engine, void *tx,
						     struct cairn_index_squash *squash);

#endif
