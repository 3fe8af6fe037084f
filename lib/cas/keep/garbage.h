/* Garbage collection: removes xorbs that no file needs, during uploads. */
#ifndef CAIRN_CAS_KEEP_GARBAGE_H
#define CAIRN_CAS_KEEP_GARBAGE_H

#include "cas/cas.h"

/** The counts of a collection. */
struct cairn_gc_report {
	uint64_t n_retired;   /* xorbs retired, so that they are no longer offered */
	uint64_t n_swept;     /* xorbs that were removed */
	uint64_t n_left_over; /* copies that killed uploads left */
	uint64_t n_unremoved; /* objects that the store did not remove: gc.unremoved */
	uint64_t bytes_freed;
	bool held;              /* with CAIRN_E_BUSY: a backup or move of the store blocks it (data_dir/hold.h) */
	struct cairn_diag diag; /* of an error: how the index is damaged */
};

/** Unregisters a file for one owner, or for all (owner NULL). Its xorbs stay until a collection finds that no file
 * needs them.
 * @param[out] forgotten  false: it was not registered for this owner
 * @return CAIRN_OK; as a write */
CAIRN_MUST_USE enum cairn_status cairn_cas_forget(struct cairn_cas *cas, const struct cairn_hash *file,
						  const char *owner, bool *forgotten);

/** Registers a known file for one more owner; "": for everybody. Waits for the index's writer.
 *  @return CAIRN_OK; as cairn_index_share_file() */
CAIRN_MUST_USE enum cairn_status cairn_cas_share(struct cairn_cas *cas, const struct cairn_hash *file,
						 const char *owner, bool *shared, struct cairn_diag *diag);

/** Runs a collection. Removes the content of deleted repositories of the hub. Retires the xorbs that no file refers to
 * and that are older than the grace time. Removes xorbs that have been retired for longer than the grace time. Then
 * removes objects that killed uploads left in a store that names copies (left_overs.h). Takes long; waits for the
 * index's writer and the disk in pieces of a few milliseconds, so that uploads hardly notice. No removal relies on one
 * table: a xorb goes if neither the table reference nor the terms of any file name it. If these contradict each other,
 * or the table of xorbs contradicts its database indexes, the collection is refused.
 *
 * Only one of the daemons that share the index collects. If a daemon is suspended and loses the lease, its next write
 * fails (lease.over), which ends its collection.
 * @param stop  called between pieces; true ends the collection. May be NULL
 * @return CAIRN_OK; CAIRN_E_BUSY a collection runs already, here or elsewhere, or is blocked, or for the reason in
 *         diag; CAIRN_E_CONFLICT this machine's clock is wrong (index.clock); CAIRN_E_DAMAGED the index is damaged,
 *         diag says how; CAIRN_E_IO also if only some objects could not be removed (gc.unremoved); as index and store.
 *         out has the counts, also on failure */
CAIRN_MUST_USE enum cairn_status cairn_cas_gc(struct cairn_cas *cas, bool (*stop)(void *ctx), void *stop_ctx,
					      struct cairn_gc_report *out);

/** Removes the xorbs whose grace time is over, as a collection does, but retires nothing and lists no bucket. It does
 * not count as a collection for the schedule. Otherwise as cairn_cas_gc(). */
CAIRN_MUST_USE enum cairn_status cairn_cas_sweep(struct cairn_cas *cas, bool (*stop)(void *ctx), void *stop_ctx,
						 struct cairn_gc_report *out);

/** The steps of a collection, in order. */
enum cairn_gc_step {
	CAIRN_GC_IDLE,   /* no collection is running */
	CAIRN_GC_REPOS,  /* removes the content of deleted repositories of the hub; total is unknown */
	CAIRN_GC_FILES,  /* reads the terms of all files: done, total are files */
	CAIRN_GC_XORBS,  /* compares the table of xorbs with its database indexes, in one piece */
	CAIRN_GC_RETIRE, /* checks each xorb: done, total are numbers of rows, some unused */
	CAIRN_GC_REMOVE, /* removes xorbs retired long ago: done are xorbs, total is unknown */
	CAIRN_GC_STEPS
};

/** The progress of a collection of this process. Plain value. */
struct cairn_gc_progress {
	enum cairn_gc_step step;
	int64_t started_unix_s;
	uint64_t done, total; /* in this step; total 0: unknown */
};
/** Reads the progress. Any thread. The figures may belong to the step before the named one. */
void cairn_cas_gc_progress(struct cairn_cas *cas, struct cairn_gc_progress *out);

#endif
