/* Removing what no file needs, while uploads go on. */
#ifndef CAIRN_CAS_GARBAGE_H
#define CAIRN_CAS_GARBAGE_H

#include "cas/cas.h"

/** What a collection did. */
struct cairn_gc_report {
	uint64_t n_retired;   /* xorbs that are not offered any more from now on */
	uint64_t n_swept;     /* xorbs that are gone */
	uint64_t n_left_over; /* copies that killed uploads had left */
	uint64_t n_unremoved; /* objects that the store did not remove: gc.unremoved */
	uint64_t bytes_freed;
	bool held;              /* with CAIRN_E_BUSY: somebody copies the store (data_dir/hold.h) */
	struct cairn_diag diag; /* of a refusal: the index is damaged */
};

/**
 * Forget a file under one owner, or under all (owner NULL). Its xorbs stay until a collection finds that nobody needs
 * them.
 * @param[out] forgotten  false: it was not registered so
 * @return CAIRN_OK; as a write
 */
CAIRN_MUST_USE enum cairn_status cairn_cas_forget(struct cairn_cas *cas, const struct cairn_hash *file,
						  const char *owner, bool *forgotten);

/** Register a known file under one more owner; "": for everybody. Waits likewise.
 *  @return CAIRN_OK; as cairn_index_share_file() */
CAIRN_MUST_USE enum cairn_status cairn_cas_share(struct cairn_cas *cas, const struct cairn_hash *file,
						 const char *owner, bool *shared, struct cairn_diag *diag);

/**
 * Collect: forget what deleted repositories of the hub had, retire the xorbs that no file refers to and that are older
 * than the grace time, remove those that have been retired for longer than it, and then what uploads that were killed
 * have left in a store that names copies (left_overs.h). Long; waits for the index's writer
 * and the disk, in pieces of a few milliseconds, so that uploads hardly notice. One at a time, of all daemons that
 * share the index; one that stood still meanwhile ends when it writes next (lease.over).
 * @param stop  looked at between pieces; true ends the collection early. May be NULL
 * Nothing is removed on the word of one table: a xorb goes when neither the table reference nor the terms of any file
 * name it. Where they contradict each other, or the table of xorbs contradicts its trees, the collection is refused.
 * @return CAIRN_OK; CAIRN_E_BUSY one is running already, here or elsewhere, or held, or as diag says;
 * CAIRN_E_CONFLICT this machine's clock is off (index.clock); CAIRN_E_DAMAGED the index is, diag
 * says how; CAIRN_E_IO also when all went well but for objects that the store does not remove (gc.unremoved); as index
 * and store. out counts what was done, also on failure
 */
CAIRN_MUST_USE enum cairn_status cairn_cas_gc(struct cairn_cas *cas, bool (*stop)(void *ctx), void *stop_ctx,
					      struct cairn_gc_report *out);

/** What a collection does, one after the other. */
enum cairn_gc_step {
	CAIRN_GC_IDLE,   /* there is none */
	CAIRN_GC_REPOS,  /* forgets what deleted repositories of the hub had; how much there is, nobody knows */
	CAIRN_GC_FILES,  /* reads the terms of all files: done, total are files */
	CAIRN_GC_XORBS,  /* compares the table of xorbs with its trees, at one go */
	CAIRN_GC_RETIRE, /* looks at each xorb: done, total are numbers of xorbs, of which some have none any more */
	CAIRN_GC_REMOVE, /* removes what was retired long ago: done are xorbs, how many there are is not known */
	CAIRN_GC_STEPS
};

/** How far a collection of this process is. Plain value. */
struct cairn_gc_progress {
	enum cairn_gc_step step;
	int64_t started_unix_s;
	uint64_t done, total; /* of the step; total 0: not known */
};
/** Any thread. What is said about a step is of that step or the one before. */
void cairn_cas_gc_progress(struct cairn_cas *cas, struct cairn_gc_progress *out);

#endif
