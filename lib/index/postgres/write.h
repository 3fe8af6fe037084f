/* The writing connection: one transaction at a time, with many writes. The writer's thread owns it.
 *
 * Functions return as cairn_pg_ask(), CAIRN_E_DAMAGED for a malformed row, and CAIRN_E_NOMEM, unless another list is
 * given; functions for a request also as in index.h, operate.h, hub.h and history.h. */
#ifndef CAIRN_INDEX_POSTGRES_WRITE_H
#define CAIRN_INDEX_POSTGRES_WRITE_H

#include "index/backend.h"
#include "index/postgres/clocks.h"
#include "index/postgres/ending.h"

/** Is a registered shard still known? Not if rows were removed since, or if it came to a repository an hour ago: the
 * grace time of files without a path begins with their last upload. @param collection  present value */
bool cairn_pg_registration_counts(const struct cairn_index_registered *registered, int64_t collection,
				  const char *owner);

/* The columns for cairn_pg_get_counts(). */
#define CAIRN_PG_COUNTS "collection, files, xorbs, shards, eligible, stored_bytes, keys, withdrawn"
void cairn_pg_get_counts(const PGresult *r, struct cairn_index_counts *out);

struct cairn_pg_tx {
	struct cairn_pg pg;
	struct cairn_pg_ending ending;
	struct cairn_pg_tries tries;
	bool shared;                         /* other daemons may write the index, too */
	struct cairn_pg_clock *clock;        /* borrowed; NULL: not shared */
	struct cairn_index_counts counts;    /* counts of the transaction */
	struct cairn_index_counts committed; /* counts when it began */
	bool counted;                        /* a queued statement changes the row of state and returns it */
	unsigned counted_at;                 /* index of that statement's result */
	enum cairn_index_frozen frozen;      /* of the transaction: if frozen, writes are refused */
	struct cairn_index_tx records;       /* as records see it; keys_changed: since good_keys.h last read the keys */
	unsigned keys;                       /* in a commit, the index of the result with the keys */
};

/** Locks the index for writing, alone or shared, while the connection is open.
 * @return CAIRN_OK; CAIRN_E_CONFLICT another process writes it (index.taken), or its last transaction has not ended;
 *         CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_pg_lock_writer(struct cairn_pg *pg, bool shared, struct cairn_diag *diag);

/* See backend.h. */
CAIRN_MUST_USE enum cairn_status cairn_pg_begin(struct cairn_pg_tx *tx, struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status cairn_pg_commit(struct cairn_pg_tx *tx, struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status cairn_pg_commit_ahead(struct cairn_pg_tx *tx, struct cairn_diag *diag);
void cairn_pg_roll_back(struct cairn_pg_tx *tx);
bool cairn_pg_is_open(const struct cairn_pg_tx *tx);
bool cairn_pg_again(struct cairn_pg_tx *tx);

/* --- calls between the writer's files ----------------------------------------------------------------------------- */

/** A row of xorb. */
struct cairn_pg_xorb_state {
	int64_t id; /* 0: it does not exist */
	uint32_t n_chunks;
	bool stored;
	bool retired; /* or withdrawn */
	int64_t stored_bytes;
	struct cairn_copy_id copy; /* set by cairn_pg_find_xorb() only */
};
/** @param which  first of the columns id, chunks, stored, retired */
void cairn_pg_get_xorb_state(const PGresult *r, int row, int column, struct cairn_pg_xorb_state *out);
CAIRN_MUST_USE enum cairn_status cairn_pg_find_xorb(struct cairn_pg_tx *tx, const struct cairn_hash *hash,
						    struct cairn_pg_xorb_state *out);
/** Adds a xorb and its list. @param stored_bytes  NULL: stored elsewhere @param copy  copy id of its object */
CAIRN_MUST_USE enum cairn_status cairn_pg_add_xorb(struct cairn_pg_tx *tx, const struct cairn_hash *hash,
						   const struct cairn_chunk_list *list, const uint64_t *stored_bytes,
						   const struct cairn_copy_id *copy, bool withdrawn, int64_t *id);
/** May a row name this copy? @param found  the object was just found, so that its age does not matter @return CAIRN_OK;
 * CAIRN_E_BUSY the copy is or may have been dead; as cairn_pg_ask() */
CAIRN_MUST_USE enum cairn_status cairn_pg_must_live(struct cairn_pg_tx *tx, const struct cairn_copy_id *copy,
						    bool found, struct cairn_diag *diag);
/** Records a copy as dead: from now on no row names it. */
CAIRN_MUST_USE enum cairn_status cairn_pg_kill_copy(struct cairn_pg_tx *tx, const struct cairn_copy_id *copy,
						    const struct cairn_hash *hash);
/** Queues the same for copies of xorbs whose rows are removed in this exchange. */
void cairn_pg_kill_copies_of(struct cairn_pg_tx *tx, struct cairn_pg_array *xorbs);
/** Reads a list into list, whose arrays are reused. */
CAIRN_MUST_USE enum cairn_status cairn_pg_list(struct cairn_pg_tx *tx, int64_t xorb, struct cairn_chunk_list *list);
/** Restarts the grace time of xorbs that are needed again, and ends their retirement.
 * @param stay_withdrawn  false: the xorbs are offered again */
CAIRN_MUST_USE enum cairn_status cairn_pg_keep_xorbs(struct cairn_pg_tx *tx, struct cairn_pg_array *ids,
						     bool stay_withdrawn);

/* Each makes a write within the transaction; results are in the request. @return its status */
#define PG_WRITE(name)                                                                                                 \
	CAIRN_MUST_USE enum cairn_status cairn_pg_##name(struct cairn_pg_tx *tx, struct cairn_index_##name *request);
CAIRN_ENGINE_WRITES(PG_WRITE, PG_WRITE)
#undef PG_WRITE
/** Registers simple shards together and marks them as applied; leaves the others.
 * @param ahead  if none is left, only a commit follows, so only queue the last statements
 * @return CAIRN_OK; as cairn_pg_ask() and cairn_records_check_quota(): the transaction has failed */
CAIRN_MUST_USE enum cairn_status cairn_pg_put_shards(struct cairn_pg_tx *tx, struct cairn_index_put_shard *const *puts,
						     unsigned n, bool ahead, struct cairn_diag *diag);
/** @param lease  NULL: none @return CAIRN_OK; CAIRN_E_BUSY another daemon holds it (lease.over); as cairn_pg_ask() */
CAIRN_MUST_USE enum cairn_status cairn_pg_must_hold(struct cairn_pg_tx *tx, const struct cairn_index_lease *lease,
						    struct cairn_diag *diag);

#endif
