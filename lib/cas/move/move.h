/* Moves a whole store from one pair of engines to another, and back. Copies rows and objects unchanged, and verifies
 * each. README.md says which store is frozen when, and why no data is lost. */
#ifndef CAIRN_CAS_MOVE_MOVE_H
#define CAIRN_CAS_MOVE_MOVE_H

#include "hash/crypto.h"
#include "index/transfer.h"

/** The progress of a move. Counts are of this call alone. */
struct cairn_move_report {
	uint64_t total_bytes;             /* bytes of all objects in the first store */
	uint64_t done_bytes;              /* bytes of the objects whose rows this pass has compared */
	uint64_t n_objects, object_bytes; /* objects that were copied */
	uint64_t n_damaged;               /* objects that differ from their rows, in this pass */
	uint64_t n_rows[CAIRN_TABLES];    /* rows that this pass has compared */
	uint64_t n_put, n_dropped;        /* rows put and dropped */
	/* of the rows of each table, equal in both stores; set at the end */
	uint8_t digests[CAIRN_TABLES][CAIRN_SHA256_BYTES];
	const char *table; /* the table that is being compared */
	unsigned n_passes;
	bool is_finished; /* the second store is in use from now on */
};

struct cairn_move_options {
	const char *from, *to;   /* data folders; daemons may run on the first one, but not on the second */
	const char *index;       /* URL of the second index; NULL: by that folder's record, or a file in it */
	const char *store;       /* URL of the second store; NULL: by that folder's record, or a folder in it */
	const char *secret_file; /* of both; NULL: each has DIR/secret, and the first one's is copied to the second */
	const char *credentials; /* of stores, as in struct cairn_store_options */
	bool finish;             /* freeze the first store now; at the end, the second accepts writes */
	/** Reports an object that cannot be moved. In the second store, its xorb counts as lost. */
	void (*damaged)(void *ctx, const struct cairn_hash *xorb, const char *why);
	bool (*progress)(void *ctx, const struct cairn_move_report *so_far); /* @return false to stop (CAIRN_E_BUSY) */
	void *ctx;
};

/** Compares all rows, and makes the second store equal to the first, with the objects that it lacks. Keeps rows and
 * objects that an earlier call copied: repeat the call after a kill, or when more was added.
 * @return CAIRN_OK also if objects are damaged CAIRN_E_CONFLICT one of the stores cannot be source or target
 *         (move.source, move.target, move.secret), or as cairn_data_dir_open(), cairn_index_transfer_open()
 *         CAIRN_E_DAMAGED   rows contradict each other (index.rows)
 *         CAIRN_E_BUSY      stopped, or an engine does not answer; CAIRN_E_USAGE the second folder is in the first
 *         (move.folder), or as cairn_data_dir_open() CAIRN_E_NOT_FOUND the first does not exist; CAIRN_E_FULL;
 *         CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_move(const struct cairn_move_options *options, struct cairn_move_report *report,
					    struct cairn_diag *diag);

/** Cancels the end of a move: the first store accepts writes again, unless the second one already does.
 * @return as cairn_move(); CAIRN_E_NOT_FOUND also if the second does not exist: none is made */
CAIRN_MUST_USE enum cairn_status cairn_move_cancel(const struct cairn_move_options *options, struct cairn_diag *diag);

/** Lets a store that was moved away, or that was restored from a later backup of it, accept writes again. Does not read
 * the second store: the caller knows that it is not in use.
 * @return as cairn_move(); CAIRN_E_CONFLICT it is being filled (move.source) */
CAIRN_MUST_USE enum cairn_status cairn_move_reopen(const char *data_dir, struct cairn_diag *diag);

/** Is the store of a folder frozen, so that it accepts no writes?
 * @param[out] state  "moved" or "filling", if it is
 * @return for people, to follow "this store": why, and what to do; NULL: it accepts writes, or cannot be asked */
const char *cairn_move_frozen(const char *data_dir, const char **state);

#endif
