/* Makes a large commit in pieces, one piece a transaction, so that other writes run in between (hub_stage.c). The kinds
 * of write that do so are in hub_staged.c. */
#ifndef CAIRN_INDEX_SQLITE_HUB_STAGE_H
#define CAIRN_INDEX_SQLITE_HUB_STAGE_H

#include "index/sqlite/commit.h"
#include "index/stage.h"

enum cairn_tx_stage_step { CAIRN_STAGE_COPY, CAIRN_STAGE_EDIT, CAIRN_STAGE_ROOT, CAIRN_STAGE_SHOW };

struct cairn_tx_stage;

/** The steps that differ between the kinds of write. Each @return CAIRN_OK; as the write's request */
struct cairn_tx_stage_kind {
	/** Finds the ref, the commit's parent and its line. Called at the beginning, and again after another write has
	 * moved the ref. Sets `c` and the members of struct cairn_tx_stage under "set by find()". */
	enum cairn_status (*find)(struct cairn_tx *tx, struct cairn_index_write *write, struct cairn_tx_stage *s);
	/** The last piece: adds the commit and points the ref to its line, which makes the commit visible. If the ref
	 * has moved, calls cairn_tx_stage_again() instead. */
	enum cairn_status (*show)(struct cairn_tx *tx, struct cairn_index_write *write, struct cairn_tx_stage *s);
	/** Removes a piece of the rows that this kind made besides the line's. NULL: it makes none
	 * @param[out] gone  nothing is left to remove */
	enum cairn_status (*undo)(struct cairn_tx *tx, const struct cairn_tx_stage *s, bool *gone);
};

/** The state of a commit that is made in pieces. */
struct cairn_tx_stage {
	struct cairn_index_stage stage; /* first */
	const struct cairn_tx_stage_kind *kind;
	enum cairn_tx_stage_step step;
	struct cairn_commits_new c; /* the commit; its line is new, its head is the parent. Set by find() */
	struct cairn_tx_edit edit;
	struct cairn_git_oid root;
	uint32_t n_applied; /* operations */
	unsigned n_again;
	bool begins_again; /* once all its rows are removed */

	/* Set by find(); show() compares the first two with the ref as it is then. */
	int64_t ref_line;               /* the line that the ref names */
	struct cairn_commits_head seen; /* the ref's head */
	int64_t adopts;                 /* an owner whose files the operations may name, too; 0: none */
	bool once;                      /* it never begins again */
	bool copies_all;                /* the entries of `seen` are copied, as if this commit had added them all */

	/* The lines whose entries are copied into the new line, so that lookups there read few lines. Then the last
	 * path copied so far. */
	struct cairn_chain source;
	char folder[CAIRN_INDEX_PATH_MAX + 1], name[CAIRN_INDEX_PATH_MAX + 1];
};

/** Does the first or the next piece of a commit. @return as the write's request */
CAIRN_MUST_USE enum cairn_status cairn_tx_stage(struct cairn_tx *tx, struct cairn_index_write *write,
						const struct cairn_tx_stage_kind *kind);
/** Called by show() after the ref has moved: begins the commit anew from the ref's new head. @return CAIRN_OK;
 *  CAIRN_E_CONFLICT (commit.parent): it may not, or did so too often */
CAIRN_MUST_USE enum cairn_status cairn_tx_stage_again(struct cairn_index_write *write, struct cairn_tx_stage *s);

#endif
