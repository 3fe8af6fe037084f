/* Functions that an engine of the index implements, for this folder and the rooms of the engines only. */
#ifndef CAIRN_INDEX_BACKEND_H
#define CAIRN_INDEX_BACKEND_H

#include "index/backup.h"
#include "index/daemon/device.h"
#include "index/daemon/lease.h"
#include "index/daemon/session.h"
#include "index/examine.h"
#include "index/hub/access.h"
#include "index/hub/history.h"
#include "index/needs.h"
#include "index/operate.h"
#include "index/proof.h"
#include "index/quota.h"
#include "index/records.h"
#include "index/refer.h"
#include "index/snapshot.h"
#include "index/transfer.h"
#include "index/writer.h"

/* The table of an engine's calls. Each call appears three times: as a type, in the list below, and as a function of
 * each engine that has it, cairn_sqlite_NAME() or cairn_postgres_NAME(). The list generates the prototypes of these
 * functions, the members of struct cairn_index_backend and the two tables.
 *
 * The list takes a macro for calls of both engines, one for calls of SQLite alone, and one for calls of PostgreSQL
 * alone. An engine without a call has NULL in its table. */

/* The writes of the interface. An engine makes one within its transaction, on the writer's thread. */
#define CAIRN_ENGINE_WRITES(BOTH, PG)                                                                                  \
	BOTH(put_xorb)                                                                                                 \
	BOTH(put_shard)                                                                                                \
	BOTH(forget_file)                                                                                              \
	BOTH(record_outcomes)                                                                                          \
	BOTH(prove_file)                                                                                               \
	BOTH(gc_mark)                                                                                                  \
	BOTH(gc_sweep)                                                                                                 \
	PG(find_dead)                                                                                                  \
	PG(bury)                                                                                                       \
	PG(write_off)                                                                                                  \
	PG(begin_lease)                                                                                                \
	PG(end_lease)                                                                                                  \
	PG(put_note)                                                                                                   \
	PG(begin_session)                                                                                              \
	PG(end_session)                                                                                                \
	BOTH(add_commit)                                                                                               \
	BOTH(adopt_files)                                                                                              \
	BOTH(add_ref)                                                                                                  \
	BOTH(squash)                                                                                                   \
	BOTH(drop_ref)                                                                                                 \
	BOTH(sweep_repos)                                                                                              \
	BOTH(change_objects)

/* The other calls of the interface, on any thread. `url` comes without its scheme. */
#define CAIRN_ENGINE_INTERFACE(BOTH, LITE, PG)                                                                         \
	BOTH(migrate)                                                                                                  \
	BOTH(version)                                                                                                  \
	PG(reach)  /* NULL: connecting needs no ports or files */                                                      \
	BOTH(open) /* before the writer's thread starts */                                                             \
	BOTH(free) /* after the writer's thread has ended */                                                           \
	BOTH(may_dedupe)                                                                                               \
	PG(screen)                                                                                                     \
	PG(finish_screens)                                                                                             \
	BOTH(dedupe)                                                                                                   \
	BOTH(file)                                                                                                     \
	BOTH(spans)                                                                                                    \
	LITE(plan)                                                                                                     \
	BOTH(look_up_shard)                                                                                            \
	PG(withdrawn)                                                                                                  \
	PG(clock_is_off)                                                                                               \
	PG(job_state)                                                                                                  \
	PG(note)                                                                                                       \
	PG(fetch)                                                                                                      \
	PG(session)                                                                                                    \
	PG(count_dead)                                                                                                 \
	PG(each_unnamed)                                                                                               \
	PG(key_is_good)                                                                                                \
	BOTH(entry)                                                                                                    \
	BOTH(each_entry)                                                                                               \
	LITE(upkeep)                                                                                                   \
	BOTH(examine)                                                                                                  \
	LITE(examine_xorbs)                                                                                            \
	LITE(glance)                                                                                                   \
	LITE(mend)                                                                                                     \
	BOTH(needs_agree)                                                                                              \
	LITE(backup)                                                                                                   \
	LITE(backup_each)                                                                                              \
	LITE(backup_examine)                                                                                           \
	LITE(backup_unmirror)                                                                                          \
	BOTH(snapshot_open)                                                                                            \
	BOTH(snapshot_extent)                                                                                          \
	BOTH(snapshot_xorbs)                                                                                           \
	BOTH(snapshot_files)                                                                                           \
	BOTH(snapshot_xorb_hash)                                                                                       \
	BOTH(transfer_open)                                                                                            \
	BOTH(transfer_page)                                                                                            \
	BOTH(transfer_state)                                                                                           \
	BOTH(transfer_last)                                                                                            \
	BOTH(transfer_freeze)                                                                                          \
	BOTH(transfer_write)                                                                                           \
	BOTH(transfer_begin)                                                                                           \
	BOTH(transfer_end)

/* All calls. The last ones are for this folder alone; their types and contracts follow. */
#define CAIRN_ENGINE_CALLS(BOTH, LITE, PG)                                                                             \
	CAIRN_ENGINE_WRITES(BOTH, PG)                                                                                  \
	CAIRN_ENGINE_INTERFACE(BOTH, LITE, PG)                                                                         \
	BOTH(lend)                                                                                                     \
	PG(renew_lease)                                                                                                \
	BOTH(describe)                                                                                                 \
	BOTH(snapshot_free)                                                                                            \
	BOTH(transfer_free)                                                                                            \
	BOTH(tx)                                                                                                       \
	BOTH(begin)                                                                                                    \
	PG(begin_write)                                                                                                \
	BOTH(explain)                                                                                                  \
	BOTH(is_open)                                                                                                  \
	BOTH(commit)                                                                                                   \
	PG(commit_ahead)                                                                                               \
	BOTH(roll_back)                                                                                                \
	PG(again)                                                                                                      \
	PG(put_shards)                                                                                                 \
	BOTH(begin_repo)                                                                                               \
	PG(settle)                                                                                                     \
	LITE(make_room)                                                                                                \
	LITE(use_reserve)                                                                                              \
	LITE(keep_reserve)                                                                                             \
	LITE(idle_work)

/* Replaces a call that an engine lacks. */
#define CAIRN_ENGINE_LACKS(name)

/* A call of the interface has the type and the contract of the function cairn_index_NAME(). */
#define ENGINE_TYPE(name) typedef __typeof__(cairn_index_##name) cairn_engine_##name;
CAIRN_ENGINE_WRITES(ENGINE_TYPE, ENGINE_TYPE)
CAIRN_ENGINE_INTERFACE(ENGINE_TYPE, ENGINE_TYPE, ENGINE_TYPE)
#undef ENGINE_TYPE

/* --- the types of the other calls: any thread --------------------------------------------------------------------- */

/** For records.h: lends a connection for reading, which returns to its pool when its rows end. */
typedef enum cairn_status cairn_engine_lend(struct cairn_index *ix, struct cairn_db **out);
/** Starts (on) or stops renewing a lease. */
typedef void cairn_engine_renew_lease(struct cairn_index *ix, const struct cairn_index_lease *lease, bool on);
/** Sets all members but n_commits, n_writes and n_queued. */
typedef void cairn_engine_describe(struct cairn_index *ix, struct cairn_index_stats *out);
typedef void cairn_engine_snapshot_free(struct cairn_index_snapshot *snapshot);
typedef void cairn_engine_transfer_free(struct cairn_index_transfer *t);

/* --- a transaction: the writer's thread --------------------------------------------------------------------------- */

/** For records.h: returns the current transaction. */
typedef struct cairn_index_tx *cairn_engine_tx(struct cairn_index *ix);
/** @return CAIRN_OK; as a write that failed: roll_back() must follow */
typedef enum cairn_status cairn_engine_begin(struct cairn_index *ix, struct cairn_diag *diag);
/** Called before each write of the transaction; forgets earlier failures of the database. NULL if there are no leases.
 * @param lease  lease that the write must hold; NULL: none. @return CAIRN_OK; CAIRN_E_CONFLICT another daemon holds
 * the lease; as a write that failed */
typedef enum cairn_status cairn_engine_begin_write(struct cairn_index *ix, const struct cairn_index_lease *lease,
						   struct cairn_diag *diag);
/** Records the last failure of the database with its message: index.database, or index.corrupt if it is damaged.
 * @return false: the database did not fail; Cairn refused the write */
typedef bool cairn_engine_explain(struct cairn_index *ix, struct cairn_diag *diag);
/** Is the transaction still open? Some failures end the transaction by themselves. */
typedef bool cairn_engine_is_open(const struct cairn_index *ix);
/** Commits the transaction. After CAIRN_OK all its writes are durable. @return as begin() */
typedef enum cairn_status cairn_engine_commit(struct cairn_index *ix, struct cairn_diag *diag);
/** Commits a transaction ahead, in which put_shards() has applied all writes, none for a repository of the hub. Readers
 * see it then. settle() must make it durable before any write is answered. An engine has both functions or neither. */
typedef enum cairn_status cairn_engine_commit_ahead(struct cairn_index *ix, struct cairn_diag *diag);
typedef void cairn_engine_roll_back(struct cairn_index *ix);
/** Called after a failed transaction was rolled back. @return true: the cause was temporary and nothing was committed,
 * so retry the transaction. NULL: never retry */
typedef bool cairn_engine_again(struct cairn_index *ix);

/** Registers several shards together, and marks those that it accepted as applied. A failure fails the whole
 * transaction. NULL: registering shards together is no cheaper than one by one. @param ahead  if all shards are
 * accepted, only commit_ahead() follows; unsent statements may be sent, and fail, in that call */
typedef enum cairn_status cairn_engine_put_shards(struct cairn_index *ix, struct cairn_index_put_shard *const *puts,
						  unsigned n, bool ahead, struct cairn_diag *diag);
/** Makes the branch main and the first commit of a new repository. @param owner the repository's owner */
typedef enum cairn_status cairn_engine_begin_repo(struct cairn_index *ix, struct cairn_index_add_repo *add,
						  int64_t owner);

/** For the settler's thread. Marks the writes that are visible; with CAIRN_OK these are durable. `n` may be 0, which
 * only tests that the engine answers. @return CAIRN_OK; as begin() */
typedef enum cairn_status cairn_engine_settle(struct cairn_index *ix, struct cairn_index_settling *all, unsigned n,
					      struct cairn_diag *diag);

/* --- room on the disk, and work between batches: the writer's thread ---------------------------------------------- */

/** Frees all disk space that can be freed, after a write found the disk full and was undone. */
typedef void cairn_engine_make_room(struct cairn_index *ix);
/** Allows the next transaction, which frees space or withdraws a right, to use the reserve of disk space. */
typedef void cairn_engine_use_reserve(struct cairn_index *ix);
/** Refills the reserve, because writes find room again. */
typedef void cairn_engine_keep_reserve(struct cairn_index *ix);
/** Does a piece of background work, between two batches or while no write waits. @return there is more */
typedef bool cairn_engine_idle_work(struct cairn_index *ix);

/** An engine's table. Its struct begins with struct cairn_index, its snapshots' with struct cairn_index_snapshot. */
struct cairn_index_backend {
	bool remote; /* on another machine, so that calls may block for long */
#define ENGINE_MEMBER(name) cairn_engine_##name *(name);
	CAIRN_ENGINE_CALLS(ENGINE_MEMBER, ENGINE_MEMBER, ENGINE_MEMBER)
#undef ENGINE_MEMBER
};

struct cairn_index_transfer {
	const struct cairn_index_backend *backend;
};

struct cairn_index {
	const struct cairn_index_backend *backend;
	struct cairn_writer writer;
	bool shared;                     /* other daemons may write it, too */
	char who[CAIRN_INDEX_WHO_BYTES]; /* where this daemon runs, for leases; empty: not set */
};

struct cairn_index_snapshot {
	const struct cairn_index_backend *backend;
};

#endif
