/* Does an index agree with itself: its pages and trees, and the tables that say the same thing twice? */
#ifndef CAIRN_INDEX_EXAMINE_H
#define CAIRN_INDEX_EXAMINE_H

#include "index/index.h"

/** One thing that does not agree with the rest. Borrowed for the time of the call. */
struct cairn_index_fault {
	enum cairn_index_fault_kind {
		CAIRN_INDEX_FAULT_TREE,      /* a page, a tree, or an index that is not what its table says */
		CAIRN_INDEX_FAULT_REFERENCE, /* the table reference is not what the terms of the files say */
		CAIRN_INDEX_FAULT_OFFSETS,   /* the terms of a file name other bytes than the chunk lists */
		CAIRN_INDEX_FAULT_LINK,      /* a row without one that belongs to it */
		CAIRN_INDEX_FAULT_COUNT,     /* the table state counts other than the tables have */
		CAIRN_INDEX_FAULT_CONTENT,   /* the bytes of an inline file are not what its git id says */
	} kind;
	const char *text; /* for a person */
};

enum { CAIRN_INDEX_FAULTS_MAX = 64 }; /* of one kind of look; more are not told */

/** Told of one. */
typedef void cairn_index_visit_fault(void *ctx, const struct cairn_index_fault *fault);

/**
 * Examine all of an index in one snapshot, without writing: what the engine can tell of its own pages, each row that
 * names another, what is counted, `reference` row by row against the terms of the files, these against the chunk
 * lists, and the bytes of inline files against the start of their git ids. Takes 12 s of processor time for half a GiB
 * with a million terms; the log of an index in use grows meanwhile.
 * @return CAIRN_OK, also with faults; CAIRN_E_CONFLICT it is of a newer version, or not Cairn's (index.newer,
 *         index.foreign); as every read (index.h), with the cause in diag
 */
CAIRN_MUST_USE enum cairn_status cairn_index_examine(struct cairn_index *ix, cairn_index_visit_fault *visit, void *ctx,
						     struct cairn_diag *diag);

/** Who knows more of files than an index does. */
struct cairn_index_mender {
	/** Do the terms of the file with this number give its hash? */
	bool (*file_is_right)(void *ctx, int64_t file);
	void *ctx;
};

/**
 * Put right what can be, in one transaction: trees are made anew from their tables, references from the terms of the
 * files, their offsets from the chunk lists, counts from the rows. A reference that no terms speak for goes when its
 * file is gone or surely right. When the trees are not sound after that, all stays as it was.
 * @return CAIRN_OK, which does not say that nothing is left; CAIRN_E_DAMAGED the trees are not sound after all
 *         (index.corrupt); CAIRN_E_USAGE the engine mends by means of its own (index.engine); CAIRN_E_CONFLICT as
 *         cairn_index_examine(); CAIRN_E_IO, CAIRN_E_FULL, CAIRN_E_BUSY with the cause in diag; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_index_mend(struct cairn_index *ix, const struct cairn_index_mender *mender,
						  struct cairn_diag *diag);

/**
 * A look beside the work that goes on: the trees of all tables but the chunk lists, one by one, each in a snapshot of
 * its own, the small ones first. What is not reached within limit_ms is not looked at.
 * @param stop  asked now and then; true ends it early. May be NULL
 * @return CAIRN_OK, also with faults, or ended early; CAIRN_E_IO, CAIRN_E_FULL, CAIRN_E_NOMEM it cannot be opened
 */
CAIRN_MUST_USE enum cairn_status cairn_index_glance(struct cairn_index *ix, int64_t limit_ms, bool (*stop)(void *ctx),
						    void *stop_ctx, cairn_index_visit_fault *visit, void *ctx);

/** Only this: is the table of xorbs what its trees say? 4 s of processor time for a million.
 *  @return as cairn_index_glance() */
CAIRN_MUST_USE enum cairn_status cairn_index_examine_xorbs(struct cairn_index *ix, cairn_index_visit_fault *visit,
							   void *ctx);

#endif
