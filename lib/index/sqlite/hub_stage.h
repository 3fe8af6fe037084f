/* Commits that are made in pieces (hub_stage.c), for the writes that make them (hub_staged.c). */
#ifndef CAIRN_INDEX_SQLITE_HUB_STAGE_H
#define CAIRN_INDEX_SQLITE_HUB_STAGE_H

#include "index/sqlite/commit.h"
#include "index/stage.h"

enum cairn_tx_stage_step { CAIRN_STAGE_COPY, CAIRN_STAGE_EDIT, CAIRN_STAGE_ROOT, CAIRN_STAGE_SHOW };

struct cairn_tx_stage;

/** Differs between the kinds of write. Each @return CAIRN_OK; as the write's request */
struct cairn_tx_stage_kind {
	/** Finds what the commit is to be, and where it is to be added. Called at the beginning, and again when others
	 * have changed that. Sets `c`, and the members that are said to be its. */
	enum cairn_status (*find)(struct cairn_tx *tx, struct cairn_index_write *write, struct cairn_tx_stage *s);
	/** Makes the commit, and lets a ref name its line: the last piece. Or calls cairn_tx_stage_again(). */
	enum cairn_status (*show)(struct cairn_tx *tx, struct cairn_index_write *write, struct cairn_tx_stage *s);
	/** Removes a piece of what was made beside the line. NULL: there is no more than the line
	 * @param[out] gone  it was the last piece */
	enum cairn_status (*undo)(struct cairn_tx *tx, const struct cairn_tx_stage *s, bool *gone);
};

/** The state of a commit that is made in pieces. */
struct cairn_tx_stage {
	struct cairn_index_stage stage; /* first */
	const struct cairn_tx_stage_kind *kind;
	enum cairn_tx_stage_step step;
	struct cairn_commits_new c; /* its line is the new one; its head is the commit before. find()'s */
	struct cairn_tx_edit edit;
	struct cairn_git_oid root;
	uint32_t n_applied; /* operations */
	unsigned n_again;
	bool begins_again; /* when all is removed */

	int64_t ref_line;               /* find()'s, for show(): the line that the ref names */
	struct cairn_commits_head seen; /* find()'s, for show(): the ref's head */
	int64_t adopts;                 /* find()'s: an owner whose files the operations may name, too; 0: none */
	bool once;                      /* find()'s: it never begins again */
	bool copies_all; /* find()'s: the entries of `seen` are copied, as if this commit had made them all */

	/* The lines to copy, if lookups would read too many otherwise, and the last path that was copied. */
	struct cairn_chain source;
	char folder[CAIRN_INDEX_PATH_MAX + 1], name[CAIRN_INDEX_PATH_MAX + 1];
};

/** Begins a write that makes a commit in pieces, or does its next piece. @return as the write's request */
CAIRN_MUST_USE enum cairn_status cairn_tx_stage(struct cairn_tx *tx, struct cairn_index_write *write,
						const struct cairn_tx_stage_kind *kind);
/** Called by show(): others have changed the ref. The commit begins again, if it may. @return CAIRN_OK;
 *  CAIRN_E_CONFLICT (commit.parent) */
CAIRN_MUST_USE enum cairn_status cairn_tx_stage_again(struct cairn_index_write *write, struct cairn_tx_stage *s);

#endif
