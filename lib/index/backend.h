/* The functions that an engine of the index implements. Only for this folder and the engines' rooms in it. */
#ifndef CAIRN_INDEX_BACKEND_H
#define CAIRN_INDEX_BACKEND_H

#include "index/copy.h"
#include "index/examine.h"
#include "index/history.h"
#include "index/lease.h"
#include "index/operate.h"
#include "index/proof.h"
#include "index/quota.h"
#include "index/records.h"
#include "index/refer.h"
#include "index/session.h"
#include "index/snapshot.h"
#include "index/transfer.h"
#include "index/writer.h"

/** The calls of this folder's headers, with the same contracts. `where` is an URL behind its scheme. An engine's struct
 * begins with struct cairn_index, that of its snapshots with struct cairn_index_snapshot. */
struct cairn_index_backend {
	bool remote; /* on another machine, so calls may block for long */

	enum cairn_status (*migrate)(const char *where, struct cairn_diag *diag, int *from, int *to);
	enum cairn_status (*version)(const char *where, int *version, int *latest, struct cairn_diag *diag);
	/* NULL: connecting needs nothing of the system. */
	enum cairn_status (*reach)(const char *where, struct cairn_index_reach *out, struct cairn_diag *diag);
	/* See cairn_index_open(). The writer thread does not run yet. */
	enum cairn_status (*open)(struct cairn_index **out, const char *where,
				  const struct cairn_index_options *options, struct cairn_diag *diag);
	const char *(*reset_bug)(void); /* NULL: the engine is not SQLite */
	/* Called after the writer thread has ended. */
	void (*free)(struct cairn_index *ix);

	/* For records.h. take() lends a connection for reading, which returns to its pool with its rows. tx() returns
	 * the transaction at hand; only the writer's thread calls it. */
	enum cairn_status (*take)(struct cairn_index *ix, struct cairn_db **out);
	struct cairn_index_tx *(*tx)(struct cairn_index *ix);

	/* --- reading: any thread ---------------------------------------------------------------------------------- */

	enum cairn_status (*xorb)(struct cairn_index *ix, const struct cairn_hash *hash, struct cairn_index_xorb *out);
	/* NULL: xorb() and then chunk_list() are as cheap. */
	enum cairn_status (*xorb_and_list)(struct cairn_index *ix, const struct cairn_hash *hash,
					   struct cairn_index_xorb *out, struct cairn_chunk_list *list);
	enum cairn_status (*xorb_by_id)(struct cairn_index *ix, int64_t id, struct cairn_index_xorb *out);
	enum cairn_status (*chunk_list)(struct cairn_index *ix, const struct cairn_hash *xorb,
					struct cairn_chunk_list *list);
	enum cairn_status (*chunk_list_by_id)(struct cairn_index *ix, int64_t id, struct cairn_chunk_list *list);
	bool (*may_dedupe)(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk);
	bool (*screen)(struct cairn_index *ix, struct cairn_index_screen *screen); /* NULL: it never waits */
	void (*finish_screens)(struct cairn_index *ix);                            /* NULL with screen */
	enum cairn_status (*dedupe)(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk,
				    bool (*visit)(void *ctx, const struct cairn_index_dedupe_xorb *xorb), void *ctx);
	enum cairn_status (*file)(struct cairn_index *ix, const struct cairn_hash *hash, const char *viewer,
				  bool with_terms, struct cairn_index_file *out);
	enum cairn_status (*file_by_sha256)(struct cairn_index *ix, const uint8_t sha256[static CAIRN_SHA256_BYTES],
					    const char *viewer, struct cairn_index_file *out);
	enum cairn_status (*spans)(struct cairn_index *ix, const int64_t *xorb_ids, uint32_t n,
				   const uint32_t with_spans[static 2],
				   enum cairn_status (*visit)(void *ctx, const struct cairn_index_spans *places),
				   void *ctx);
	/* NULL: file() and spans() are called instead */
	enum cairn_status (*plan)(struct cairn_index *ix, const struct cairn_hash *hash, const char *viewer,
				  struct cairn_index_planner *planner, struct cairn_index_file *out);
	enum cairn_status (*look_at_shard)(struct cairn_index *ix, struct cairn_index_look *look);
	enum cairn_status (*each_xorb)(struct cairn_index *ix, int64_t from_id, uint32_t limit,
				       void (*visit)(void *ctx, const struct cairn_index_xorb *xorb), void *ctx,
				       int64_t *next_id);
	enum cairn_status (*each_file)(struct cairn_index *ix, int64_t from_id, uint32_t limit, bool with_terms,
				       void (*visit)(void *ctx, const struct cairn_index_file *file), void *ctx,
				       int64_t *next_id);
	enum cairn_status (*each_owned)(struct cairn_index *ix, const char *owner,
					const struct cairn_index_owned_after *after, uint32_t limit,
					void (*visit)(void *ctx, const struct cairn_index_owned *file), void *ctx,
					bool *more);
	enum cairn_status (*each_match)(struct cairn_index *ix, const char *owner, enum cairn_index_match match,
					const uint8_t name[static CAIRN_HASH_BYTES], uint32_t limit,
					void (*visit)(void *ctx, const struct cairn_index_owned *file), void *ctx,
					bool *more);
	enum cairn_status (*each_place)(struct cairn_index *ix, const struct cairn_hash *chunk, uint32_t limit,
					void (*visit)(void *ctx, const struct cairn_index_place *place), void *ctx,
					bool *more);
	uint64_t (*withdrawn)(struct cairn_index *ix);   /* NULL: one process writes, and knows */
	bool (*is_shared)(const struct cairn_index *ix); /* NULL: never; no leases, no sessions */
	bool (*clock_is_off)(struct cairn_index *ix, struct cairn_diag *diag);
	void (*job_state)(struct cairn_index *ix, enum cairn_index_job job, struct cairn_index_job_state *out);
	enum cairn_status (*note)(struct cairn_index *ix, enum cairn_index_job job, struct cairn_index_note *out);
	/* Starts (on) or stops renewing a lease. */
	void (*renew_lease)(struct cairn_index *ix, const struct cairn_index_lease *lease, bool on);
	enum cairn_status (*session)(struct cairn_index *ix, const uint8_t digest[static CAIRN_SHA256_BYTES],
				     int64_t now_unix_s, struct cairn_index_session *out);
	/* NULL: rows of this engine name no copies. */
	enum cairn_status (*count_dead)(struct cairn_index *ix, uint64_t *n);
	enum cairn_status (*each_unnamed)(struct cairn_index *ix, const struct cairn_index_copy *copies, uint32_t n,
					  cairn_index_visit_copy *visit, void *ctx); /* NULL with count_dead */
	enum cairn_status (*totals)(struct cairn_index *ix, struct cairn_index_totals *out);
	/* NULL: the key is looked up in the database. */
	enum cairn_status (*key_is_good)(struct cairn_index *ix, int64_t id, bool *good);
	enum cairn_status (*each_owned_file)(struct cairn_index *ix, int64_t from_id,
					     cairn_index_visit_owned_file *visit, void *ctx, int64_t *next_id);
	enum cairn_status (*entry)(struct cairn_index *ix, const struct cairn_index_commit *commit, const char *path,
				   struct cairn_index_entry *out);
	enum cairn_status (*each_entry)(struct cairn_index *ix, const struct cairn_index_commit *commit,
					const struct cairn_index_listing *listing,
					bool (*visit)(void *ctx, const struct cairn_index_entry *entry), void *ctx);
	enum cairn_status (*each_due)(struct cairn_index *ix, int64_t after_owner, int64_t now_unix_s, uint32_t limit,
				      void (*visit)(void *ctx, const struct cairn_index_due *due), void *ctx);
	enum cairn_status (*each_lie)(struct cairn_index *ix, const struct cairn_index_lie *after, uint32_t limit,
				      cairn_index_visit_lie *visit, void *ctx, bool *more);
	enum cairn_status (*claims)(struct cairn_index *ix, struct cairn_index_claims *out);
	enum cairn_status (*last_xorb)(struct cairn_index *ix, int64_t *id); /* the highest number; 0: there is none */
	/* Fills in all but n_commits, n_writes and n_queued. */
	void (*describe)(struct cairn_index *ix, struct cairn_index_stats *out);
	enum cairn_status (*upkeep)(struct cairn_index *ix, struct cairn_diag *diag);

	/* --- whole or damaged: any thread --------------------------------------------------------------------------
	 */

	enum cairn_status (*examine)(struct cairn_index *ix, cairn_index_visit_fault *visit, void *ctx,
				     struct cairn_diag *diag);
	enum cairn_status (*examine_xorbs)(struct cairn_index *ix, cairn_index_visit_fault *visit, void *ctx);
	enum cairn_status (*glance)(struct cairn_index *ix, int64_t limit_ms, bool (*stop)(void *ctx), void *stop_ctx,
				    cairn_index_visit_fault *visit, void *ctx);
	enum cairn_status (*mend)(struct cairn_index *ix, const struct cairn_index_mender *mender,
				  struct cairn_diag *diag);
	enum cairn_status (*references_agree)(struct cairn_index *ix, bool *agree); /* cairn_index_needs_agree() */

	/* --- writing: the writer's thread --------------------------------------------------------------------------
	 */

	/** @return CAIRN_OK, or as a write that failed: then roll_back() follows */
	enum cairn_status (*begin)(struct cairn_index *ix, struct cairn_diag *diag);
	/** Is the index frozen, as the transaction at hand sees it? */
	enum cairn_index_frozen (*frozen)(const struct cairn_index *ix);
	/** Called before each write of the transaction; forgets earlier failures of the database. @param lease  the
	 * write must hold it; NULL: any. @return CAIRN_OK; CAIRN_E_CONFLICT another daemon holds the lease; as a write
	 * that failed. The function is NULL where there are no leases */
	enum cairn_status (*begin_write)(struct cairn_index *ix, const struct cairn_index_lease *lease,
					 struct cairn_diag *diag);
	/** Savepoints of one write. undo() rolls back to the savepoint; release() follows. @return CAIRN_OK; as
	 * begin() */
	enum cairn_status (*save)(struct cairn_index *ix);
	enum cairn_status (*undo)(struct cairn_index *ix);
	enum cairn_status (*release)(struct cairn_index *ix);
	/** Did the database itself fail? False when Cairn refused the write. */
	bool (*has_failed)(struct cairn_index *ix);
	/** Record the last failure of the database, in its words: index.database, or index.corrupt when it is damaged.
	 * @return its status */
	enum cairn_status (*fail)(struct cairn_index *ix, struct cairn_diag *diag);
	/** Is the transaction still open? Some failures end the transaction by themselves. */
	bool (*is_open)(const struct cairn_index *ix);
	/** Commits the transaction. After CAIRN_OK all its writes are durable. @return as begin() */
	enum cairn_status (*commit)(struct cairn_index *ix, struct cairn_diag *diag);
	/** Commits a transaction ahead, in which put_shards() has applied all writes, none for a repository of the hub.
	 * Readers see it from then on. settle() must make it durable before any write is answered. NULL: the engine has
	 * neither this nor settle() */
	enum cairn_status (*commit_ahead)(struct cairn_index *ix, struct cairn_diag *diag);
	void (*roll_back)(struct cairn_index *ix);
	/** Called after a failed transaction was rolled back. @return true: the cause was temporary and nothing was
	 * committed, so retry the transaction. NULL: never retry */
	bool (*again)(struct cairn_index *ix);

	enum cairn_status (*put_xorb)(struct cairn_index *ix, struct cairn_index_put_xorb *put);
	enum cairn_status (*put_shard)(struct cairn_index *ix, struct cairn_index_put_shard *put);
	/* Registers several shards together, and marks those that it took as applied. A failure fails the whole
	 * transaction. NULL: registering shards together is no cheaper than one by one. @param ahead  if all shards are
	 * taken, only commit_ahead() follows; statements not yet sent may go with that call, and fail there */
	enum cairn_status (*put_shards)(struct cairn_index *ix, struct cairn_index_put_shard *const *puts, unsigned n,
					bool ahead, struct cairn_diag *diag);
	enum cairn_status (*forget_file)(struct cairn_index *ix, struct cairn_index_forget_file *forget);
	enum cairn_status (*share_file)(struct cairn_index *ix, struct cairn_index_share_file *share);
	enum cairn_status (*settle_claims)(struct cairn_index *ix, struct cairn_index_settle_claims *settle);
	enum cairn_status (*prove_file)(struct cairn_index *ix, struct cairn_index_prove_file *prove);
	enum cairn_status (*renew_xorb)(struct cairn_index *ix, struct cairn_index_renew_xorb *renew);
	enum cairn_status (*lose_xorb)(struct cairn_index *ix, struct cairn_index_lose_xorb *lose);
	enum cairn_status (*gc_mark)(struct cairn_index *ix, struct cairn_index_gc_mark *mark);
	enum cairn_status (*gc_sweep)(struct cairn_index *ix, struct cairn_index_gc_sweep *sweep);
	enum cairn_status (*find_dead)(struct cairn_index *ix,
				       struct cairn_index_find_dead *find);               /* NULL with count_dead */
	enum cairn_status (*bury)(struct cairn_index *ix, struct cairn_index_bury *bury); /* optional */
	enum cairn_status (*write_off)(struct cairn_index *ix, struct cairn_index_write_off *off); /* optional */
	enum cairn_status (*begin_lease)(struct cairn_index *ix, struct cairn_index_begin_lease *begin);
	enum cairn_status (*end_lease)(struct cairn_index *ix, struct cairn_index_end_lease *end);
	enum cairn_status (*put_note)(struct cairn_index *ix, struct cairn_index_put_note *put);
	enum cairn_status (*begin_session)(struct cairn_index *ix, struct cairn_index_begin_session *begin);
	enum cairn_status (*end_session)(struct cairn_index *ix, struct cairn_index_end_session *end);
	/* Makes the branch main and the first commit of a new repository. @param scope the repository's owner */
	enum cairn_status (*begin_repo)(struct cairn_index *ix, struct cairn_index_add_repo *add, int64_t scope);
	enum cairn_status (*add_commit)(struct cairn_index *ix, struct cairn_index_add_commit *commit);
	enum cairn_status (*adopt_files)(struct cairn_index *ix, struct cairn_index_adopt_files *adopt);
	enum cairn_status (*add_ref)(struct cairn_index *ix, struct cairn_index_add_ref *add);
	enum cairn_status (*squash)(struct cairn_index *ix, struct cairn_index_squash *squash);
	enum cairn_status (*drop_ref)(struct cairn_index *ix, struct cairn_index_drop_ref *drop);
	enum cairn_status (*sweep_repos)(struct cairn_index *ix, struct cairn_index_sweep_repos *sweep);
	enum cairn_status (*change_objects)(struct cairn_index *ix, struct cairn_index_change_objects *change);
	enum cairn_status (*probe)(struct cairn_index *ix); /* changes nothing that can be seen, but is written */

	/** For the settler's thread. Marks which of these writes can be seen; with CAIRN_OK those are durable. `n` may
	 * be 0, which only tests that the engine answers.
	 * @return CAIRN_OK; as begin() */
	enum cairn_status (*settle)(struct cairn_index *ix, struct cairn_index_settling *all, unsigned n,
				    struct cairn_diag *diag);

	/** A write found the disk full and was undone: free what disk space can be freed. */
	void (*make_room)(struct cairn_index *ix);
	/** The next transaction frees space or withdraws a right, so it may use the reserve of disk space. */
	void (*use_reserve)(struct cairn_index *ix);
	/** Writes find room again: refill the reserve. */
	void (*keep_reserve)(struct cairn_index *ix);
	/** Does a piece of background work, between two batches or while no write waits. @return there is more */
	bool (*idle_work)(struct cairn_index *ix);

	/* --- beside a process that may have it open -----------------------------------------------------------------
	 */

	enum cairn_status (*copy)(const char *where, const char *path, struct cairn_diag *diag);
	enum cairn_status (*copy_each)(const char *path,
				       enum cairn_status (*visit)(void *ctx, const struct cairn_hash *xorb,
								  uint64_t stored_bytes, uint64_t layout),
				       void *ctx, struct cairn_diag *diag);
	enum cairn_status (*copy_examine)(const char *path, cairn_index_visit_fault *visit, void *ctx,
					  struct cairn_diag *diag);

	enum cairn_status (*snapshot_open)(struct cairn_index_snapshot **out, const char *where,
					   struct cairn_diag *diag);
	void (*snapshot_free)(struct cairn_index_snapshot *snapshot);
	enum cairn_status (*snapshot_extent)(struct cairn_index_snapshot *snapshot, int64_t after_xorb,
					     struct cairn_index_extent *out, struct cairn_diag *diag);
	enum cairn_status (*snapshot_xorbs)(struct cairn_index_snapshot *snapshot, int64_t after,
					    cairn_index_visit_xorb *visit, void *ctx, struct cairn_diag *diag);
	enum cairn_status (*snapshot_files)(struct cairn_index_snapshot *snapshot, int64_t after,
					    cairn_index_visit_file *visit, void *ctx, struct cairn_diag *diag);
	enum cairn_status (*snapshot_xorb_hash)(struct cairn_index_snapshot *snapshot, int64_t number,
						struct cairn_hash *out);

	enum cairn_status (*transfer_open)(struct cairn_index_transfer **out, const char *where, bool writes,
					   struct cairn_diag *diag);
	void (*transfer_free)(struct cairn_index_transfer *t);
	enum cairn_status (*transfer_page)(struct cairn_index_transfer *t, enum cairn_index_table table,
					   const struct cairn_index_rows *after, uint32_t row, uint32_t limit,
					   struct cairn_index_rows *out, struct cairn_diag *diag);
	enum cairn_status (*transfer_state)(struct cairn_index_transfer *t, struct cairn_index_state *out,
					    struct cairn_diag *diag);
	enum cairn_status (*transfer_last)(struct cairn_index_transfer *t, enum cairn_index_table table,
					   int64_t *number, struct cairn_diag *diag);
	enum cairn_status (*transfer_freeze)(struct cairn_index_transfer *t, enum cairn_index_frozen frozen,
					     struct cairn_diag *diag);
	enum cairn_status (*transfer_write)(struct cairn_index_transfer *t, const struct cairn_index_rows *const *drop,
					    const struct cairn_index_rows *const *put, size_t n,
					    struct cairn_diag *diag);
	enum cairn_status (*transfer_begin)(struct cairn_index_transfer *t, struct cairn_diag *diag);
	enum cairn_status (*transfer_end)(struct cairn_index_transfer *t, const struct cairn_index_state *state,
					  const int64_t *last, struct cairn_diag *diag);
};

struct cairn_index_transfer {
	const struct cairn_index_backend *backend;
};

struct cairn_index {
	const struct cairn_index_backend *backend;
	struct cairn_writer writer;
	char who[CAIRN_INDEX_WHO_BYTES]; /* where this daemon runs, for leases; empty: not set */
};

struct cairn_index_snapshot {
	const struct cairn_index_backend *backend;
};

#endif
