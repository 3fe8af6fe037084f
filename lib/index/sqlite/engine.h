/* The engine over SQLite: read connections, the writing one, and background work. */
#ifndef CAIRN_INDEX_SQLITE_ENGINE_H
#define CAIRN_INDEX_SQLITE_ENGINE_H

#include "index/sqlite/checkpoint.h"
#include "index/sqlite/reader.h"
#include "index/sqlite/reserve.h"
#include "index/sqlite/sqlite.h"
#include "index/sqlite/write.h"

struct cairn_sqlite {
	struct cairn_index index; /* first */
	char *path;               /* of the database */
	char *log_path;           /* of its write-ahead log */
	char *uri;                /* the name that readers use for an index opened for reading only; else NULL */
	struct cairn_pool pool;
	struct cairn_tx tx;           /* used only by the writer's thread, once it runs */
	struct cairn_reserve reserve; /* used only by the writer's thread, too */
	struct cairn_checkpoint checkpoint;
	pthread_mutex_t lock;          /* over: */
	struct cairn_tx_counts counts; /* as of the last commit */
};

static inline struct cairn_sqlite *cairn_sqlite(struct cairn_index *ix)
{
	return (struct cairn_sqlite *)ix;
}

/** Borrows a reader. @return as cairn_pool_take() */
CAIRN_MUST_USE static inline enum cairn_status cairn_sqlite_take(struct cairn_index *ix, struct cairn_reader **out)
{
	return cairn_pool_take(&cairn_sqlite(ix)->pool, out);
}

/** Opens a separate connection for reading, outside the pool. @return as cairn_sql_open() */
CAIRN_MUST_USE static inline enum cairn_status cairn_sqlite_open_beside(struct cairn_index *ix, sqlite3 **db,
									struct cairn_diag *diag)
{
	const struct cairn_pool *pool = &cairn_sqlite(ix)->pool;
	return cairn_sql_open(db, pool->path, pool->open_flags, NULL, diag);
}

/* The first columns of a reader's statements for xorbs. */
enum { CAIRN_SQLITE_XORB_COLUMNS = 8 };

/** Reads a xorb from these columns. @return false: damaged */
bool cairn_sqlite_xorb_column(sqlite3_stmt *row, struct cairn_index_xorb *out);

/** Reads a file from columns hash, size. @return CAIRN_OK; CAIRN_E_DAMAGED */
CAIRN_MUST_USE enum cairn_status cairn_sqlite_file_columns(sqlite3_stmt *row, struct cairn_index_file *out);

/** Binds the start and the length of a page to parameters 1 and 2. @return the length, at most the maximum */
uint32_t cairn_sqlite_page(sqlite3_stmt *stmt, int64_t from_id, uint32_t limit);

/* --- the calls of struct cairn_index_backend ---------------------------------------------------------------------- */

CAIRN_MUST_USE enum cairn_status cairn_sqlite_version(const char *dir, int *version, int *latest,
						      struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_migrate(const char *dir, struct cairn_diag *diag, int *from, int *to);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_open(struct cairn_index **out, const char *dir,
						   const struct cairn_index_options *options, struct cairn_diag *diag);
void cairn_sqlite_free(struct cairn_index *ix);
void cairn_sqlite_describe(struct cairn_index *ix, struct cairn_index_stats *out);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_xorb(struct cairn_index *ix, const struct cairn_hash *hash,
						   struct cairn_index_xorb *out);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_xorb_by_id(struct cairn_index *ix, int64_t id,
							 struct cairn_index_xorb *out);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_chunk_list(struct cairn_index *ix, const struct cairn_hash *xorb,
							 struct cairn_chunk_list *list);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_chunk_list_by_id(struct cairn_index *ix, int64_t id,
							       struct cairn_chunk_list *list);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_spans(
	struct cairn_index *ix, const int64_t *xorb_ids, uint32_t n, const uint32_t with_spans[static 2],
	enum cairn_status (*visit)(void *ctx, const struct cairn_index_spans *places), void *ctx);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_plan(struct cairn_index *ix, const struct cairn_hash *hash,
						   const char *viewer, struct cairn_index_planner *planner,
						   struct cairn_index_file *out);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_file(struct cairn_index *ix, const struct cairn_hash *hash,
						   const char *viewer, bool with_terms, struct cairn_index_file *out);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_file_by_sha256(struct cairn_index *ix,
							     const uint8_t sha256[static CAIRN_SHA256_BYTES],
							     const char *viewer, struct cairn_index_file *out);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_look_at_shard(struct cairn_index *ix, struct cairn_index_look *look);
bool cairn_sqlite_may_dedupe(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_dedupe(
	struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk,
	bool (*visit)(void *ctx, const struct cairn_index_dedupe_xorb *xorb), void *ctx);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_each_xorb(struct cairn_index *ix, int64_t from_id, uint32_t limit,
							void (*visit)(void *ctx, const struct cairn_index_xorb *xorb),
							void *ctx, int64_t *next_id);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_each_file(struct cairn_index *ix, int64_t from_id, uint32_t limit,
							bool with_terms,
							void (*visit)(void *ctx, const struct cairn_index_file *file),
							void *ctx, int64_t *next_id);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_each_due(struct cairn_index *ix, int64_t after_owner, int64_t now_unix_s,
						       uint32_t limit,
						       void (*visit)(void *ctx, const struct cairn_index_due *due),
						       void *ctx);
enum cairn_status cairn_sqlite_each_lie(struct cairn_index *ix, const struct cairn_index_lie *after, uint32_t limit,
					cairn_index_visit_lie *visit, void *ctx, bool *more);
enum cairn_status cairn_sqlite_claims(struct cairn_index *ix, struct cairn_index_claims *out);
enum cairn_status cairn_sqlite_totals(struct cairn_index *ix, struct cairn_index_totals *out);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_last_xorb(struct cairn_index *ix, int64_t *id);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_each_owned_file(struct cairn_index *ix, int64_t from_id,
							      cairn_index_visit_owned_file *visit, void *ctx,
							      int64_t *next_id);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_entry(struct cairn_index *ix, const struct cairn_index_commit *commit,
						    const char *path, struct cairn_index_entry *out);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_each_entry(
	struct cairn_index *ix, const struct cairn_index_commit *commit, const struct cairn_index_listing *listing,
	bool (*visit)(void *ctx, const struct cairn_index_entry *entry), void *ctx);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_each_owned(struct cairn_index *ix, const char *owner,
							 const struct cairn_index_owned_after *after, uint32_t limit,
							 void (*visit)(void *ctx, const struct cairn_index_owned *file),
							 void *ctx, bool *more);
/** Visits rows of files as owners have them: hash, size, at, SHA-256, owner. @param stmt  bound except for 3, the
 * limit */
CAIRN_MUST_USE enum cairn_status cairn_sqlite_visit_owned(sqlite3_stmt *stmt, uint32_t page,
							  void (*visit)(void *ctx,
									const struct cairn_index_owned *file),
							  void *ctx, bool *more);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_each_match(struct cairn_index *ix, const char *owner,
							 enum cairn_index_match match,
							 const uint8_t name[static CAIRN_HASH_BYTES], uint32_t limit,
							 void (*visit)(void *ctx, const struct cairn_index_owned *file),
							 void *ctx, bool *more);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_each_place(
	struct cairn_index *ix, const struct cairn_hash *chunk, uint32_t limit,
	void (*visit)(void *ctx, const struct cairn_index_place *place), void *ctx, bool *more);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_examine(struct cairn_index *ix, cairn_index_visit_fault *visit, void *ctx,
						      struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_examine_xorbs(struct cairn_index *ix, cairn_index_visit_fault *visit,
							    void *ctx);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_glance(struct cairn_index *ix, int64_t limit_ms, bool (*stop)(void *ctx),
						     void *stop_ctx, cairn_index_visit_fault *visit, void *ctx);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_copy_examine(const char *path, cairn_index_visit_fault *visit, void *ctx,
							   struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_mend(struct cairn_index *ix, const struct cairn_index_mender *mender,
						   struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_references_agree(struct cairn_index *ix, bool *agree);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_copy(const char *dir, const char *path, struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_copy_each(
	const char *path,
	enum cairn_status (*visit)(void *ctx, const struct cairn_hash *xorb, uint64_t stored_bytes, uint64_t layout),
	void *ctx, struct cairn_diag *diag);

CAIRN_MUST_USE enum cairn_status cairn_sqlite_snapshot_open(struct cairn_index_snapshot **out, const char *dir,
							    struct cairn_diag *diag);
void cairn_sqlite_snapshot_free(struct cairn_index_snapshot *snapshot);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_snapshot_extent(struct cairn_index_snapshot *snapshot, int64_t after_xorb,
							      struct cairn_index_extent *out, struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_snapshot_xorbs(struct cairn_index_snapshot *snapshot, int64_t after,
							     cairn_index_visit_xorb *visit, void *ctx,
							     struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_snapshot_files(struct cairn_index_snapshot *snapshot, int64_t after,
							     cairn_index_visit_file *visit, void *ctx,
							     struct cairn_diag *diag);
CAIRN_MUST_USE enum cairn_status cairn_sqlite_snapshot_xorb_hash(struct cairn_index_snapshot *snapshot, int64_t number,
								 struct cairn_hash *out);

enum cairn_status cairn_sqlite_transfer_open(struct cairn_index_transfer **out, const char *where, bool writes,
					     struct cairn_diag *diag);
void cairn_sqlite_transfer_free(struct cairn_index_transfer *t);
enum cairn_status cairn_sqlite_transfer_page(struct cairn_index_transfer *t, enum cairn_index_table table,
					     const struct cairn_index_rows *after, uint32_t row, uint32_t limit,
					     struct cairn_index_rows *out, struct cairn_diag *diag);
enum cairn_status cairn_sqlite_transfer_state(struct cairn_index_transfer *t, struct cairn_index_state *out,
					      struct cairn_diag *diag);
enum cairn_status cairn_sqlite_transfer_last(struct cairn_index_transfer *t, enum cairn_index_table table,
					     int64_t *number, struct cairn_diag *diag);
enum cairn_status cairn_sqlite_transfer_freeze(struct cairn_index_transfer *t, enum cairn_index_frozen frozen,
					       struct cairn_diag *diag);
enum cairn_status cairn_sqlite_transfer_write(struct cairn_index_transfer *t,
					      const struct cairn_index_rows *const *drop,
					      const struct cairn_index_rows *const *put, size_t n,
					      struct cairn_diag *diag);
enum cairn_status cairn_sqlite_transfer_begin(struct cairn_index_transfer *t, struct cairn_diag *diag);
enum cairn_status cairn_sqlite_transfer_end(struct cairn_index_transfer *t, const struct cairn_index_state *state,
					    const int64_t *last, struct cairn_diag *diag);

#endif
