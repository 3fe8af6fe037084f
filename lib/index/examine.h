/* Checks an index for damage: its pages and B-trees, and tables that must agree. Repairs some of it. */
#ifndef CAIRN_INDEX_EXAMINE_H
#define CAIRN_INDEX_EXAMINE_H

#include "index/index.h"

/** An inconsistency. Borrowed during the call. */
struct cairn_index_fault {
	enum cairn_index_fault_kind {
		CAIRN_INDEX_FAULT_TREE,      /* a bad page or B-tree, or a database index that differs from its table */
		CAIRN_INDEX_FAULT_REFERENCE, /* the table reference differs from the terms of the files */
		CAIRN_INDEX_FAULT_OFFSETS,   /* the byte ranges in a file's terms differ from the chunk lists */
		CAIRN_INDEX_FAULT_LINK,      /* a row refers to a missing row */
		CAIRN_INDEX_FAULT_COUNT,     /* a count in the table state differs from the tables */
		CAIRN_INDEX_FAULT_CONTENT,   /* the bytes of an inline file do not match its git id */
	} kind;
	const char *text; /* for a person */
};

enum { CAIRN_INDEX_FAULTS_MAX = 64 }; /* faults reported by one kind of check; further ones are not */

typedef void cairn_index_visit_fault(void *ctx, const struct cairn_index_fault *fault);

/** Examines a whole index in one snapshot, without writing: the engine's own check of its pages, references between
 * rows, the counts, `reference` against the terms of the files, the terms against the chunk lists, and the bytes of
 * inline files against the start of their git ids. Takes 12 s of processor time for half a GiB with a million terms.
 * The log of an index in use grows meanwhile.
 * @return CAIRN_OK, also with faults; CAIRN_E_CONFLICT made by a newer version, or not Cairn's (index.newer,
 *         index.foreign); as every read (index.h), with the cause in diag */
CAIRN_MUST_USE enum cairn_status cairn_index_examine(struct cairn_index *ix, cairn_index_visit_fault *visit, void *ctx,
						     struct cairn_diag *diag);

/** Answers questions about files that the index alone cannot. */
struct cairn_index_mender {
	/** Do the terms of the file with this number yield its hash? */
	bool (*file_is_right)(void *ctx, int64_t file);
	void *ctx;
};

/** Repairs all faults that it can in one transaction: rebuilds B-trees from their tables, references from the terms of
 * the files, offsets from the chunk lists, and counts from the rows. A reference without terms is removed only if its
 * file is gone or surely right. If the B-trees are still not sound, the repair is rolled back.
 * @return CAIRN_OK, though faults may be left; CAIRN_E_DAMAGED the B-trees are still not sound (index.corrupt);
 *         CAIRN_E_USAGE the engine has its own means of repair (index.engine); CAIRN_E_CONFLICT as
 *         cairn_index_examine(); CAIRN_E_IO, CAIRN_E_FULL, CAIRN_E_BUSY with the cause in diag; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_index_mend(struct cairn_index *ix, const struct cairn_index_mender *mender,
						  struct cairn_diag *diag);

/** Checks the B-trees of all tables but the chunk lists while the index is in use. Each has a snapshot of its own;
 * small ones come first. Skips those not reached within limit_ms.
 * @param stop  called between pieces; true ends the check early. May be NULL
 * @return CAIRN_OK, also with faults, or ended early; CAIRN_E_IO, CAIRN_E_FULL, CAIRN_E_NOMEM it cannot be opened */
CAIRN_MUST_USE enum cairn_status cairn_index_glance(struct cairn_index *ix, int64_t limit_ms, bool (*stop)(void *ctx),
						    void *stop_ctx, cairn_index_visit_fault *visit, void *ctx);

/** Checks only the table of xorbs against its database indexes. Takes 4 s of processor time for a million xorbs.
 * @return as cairn_index_glance() */
CAIRN_MUST_USE enum cairn_status cairn_index_examine_xorbs(struct cairn_index *ix, cairn_index_visit_fault *visit,
							   void *ctx);

#endif
