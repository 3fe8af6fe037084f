/* Garbage collection: removes xorbs that no file needs, while uploads go on. */
#ifndef CAIRN_CAS_KEEP_GARBAGE_H
#define CAIRN_CAS_KEEP_GARBAGE_H

#include "cas/cas.h"

/** The counts of a collection. */
struct cairn_gc_report {
	uint64_t n_retired;   /* xorbs that are no longer offered from now on */
	uint64_t n_swept;     /* xorbs that were removed */
	uint64_t n_left_over; /* copies that killed uploads had left */
	uint64_t n_unremoved; /* objects that the store did not remove: gc.unremoved */
	uint64_t bytes_freed;
	bool held;              /* with CAIRN_E_BUSY: a copy of the store is being made (data_dir/hold.h) */
	struct cairn_diag diag; /* of a refusal: the index is damaged */
};

/**
 * Unregisters a file for one owner, or for all (owner NULL). Its xorbs stay until a collection finds that no file needs
 * them.
 * @param[out] forgotten  false: it was not registered for this owner
 * @return CAIRN_OK; as a write */
CAIRN_MUST_USE enum cairn_status cairn_cas_forget(struct cairn_cas *cas, const struct cairn_hash *file,
						  const char *owner, bool *forgotten);

/** Registers a known file for one more owner; "": for everybody. Waits for the index's writer.
 *  @return CAIRN_OK; as cairn_index_share_file() */
CAIRN_MUST_USE enum cairn_status cairn_cas_share(struct cairn_cas *cas, const struct cairn_hash *file,
						 const char *owner, bool *shared, struct cairn_diag *diag);

/** Runs a collection. Forgets the content of deleted repositories of the hub. Retires the xorbs that no file refers to
 * and that are older than the grace time. Removes xorbs that have been retired for longer than that, and then the
 * objects that killed uploads left in a store that names copies (left_overs.h). Takes long; waits for the index's
 * writer and the disk, in pieces of a few milliseconds, so that uploads hardly notice. Only one of the daemons that
 * share the index collects; one that lost the lease while it stood still ends with its next write (lease.over).
 * @param stop  called between pieces; true ends the collection early. May be NULL
 * No removal relies on one table: a xorb goes if neither the table reference nor the terms of any file name it. If
 * these contradict each other, or the table of xorbs contradicts its trees, the collection is refused.
 * @return CAIRN_OK; CAIRN_E_BUSY one is running already, here or elsewhere, or held, or as diag says;
 * CAIRN_E_CONFLICT this machine's clock is off (index.clock); CAIRN_E_DAMAGED the index is, diag
 * says how; CAIRN_E_IO also when all went well but for objects that the store does not remove (gc.unremoved); as index
 * and store. out counts what was done, also on failure */
CAIRN_MUST_USE enum cairn_status cairn_cas_gc(struct cairn_cas *cas, bool (*stop)(void *ctx), void *stop_ctx,
					      struct cairn_gc_report *out);

/** The steps of a collection, in order. */
enum cairn_gc_step {
	CAIRN_GC_IDLE,   /* no collection is running */
	CAIRN_GC_REPOS,  /* forgets the content of deleted repositories of the hub; total is not known */
	CAIRN_GC_FILES,  /* reads the terms of all files: done, total are files */
	CAIRN_GC_XORBS,  /* compares the table of xorbs with its trees, in one piece */
	CAIRN_GC_RETIRE, /* checks each xorb: done, total are numbers of rows, some of which are unused */
	CAIRN_GC_REMOVE, /* removes xorbs retired long ago: done are xorbs, total is not known */
	CAIRN_GC_STEPS
};

/** How far a collection of this process is. Plain value. */
struct cairn_gc_progress {
	enum cairn_gc_step step;
	int64_t started_unix_s;
	uint64_t done, total; /* of the step; total 0: not known */
};
/** Reads the progress. Any thread. The figures may belong to the step before the one that is named. */
void cairn_cas_gc_progress(struct cairn_cas *cas, struct cairn_gc_progress *out);

#endif
