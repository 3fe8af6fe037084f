/* The writing connection: one transaction at a time, with many writes. The writer's thread owns it.
 *
 * Functions return CAIRN_OK, as cairn_sql_status(), CAIRN_E_DAMAGED for a malformed row, and CAIRN_E_NOMEM, unless
 * another list is given; functions for a request also as in index.h, operate.h, hub.h and history.h. */
#ifndef CAIRN_INDEX_SQLITE_WRITE_H
#define CAIRN_INDEX_SQLITE_WRITE_H

#include "index/backend.h"
#include "index/sqlite/driver.h"
#include "index/sqlite/filter.h"
#include "index/sqlite/new_rows.h"
#include "index/sqlite/quota.h"
#include "index/sqlite/statement.h"

/* Statements that several files use, in write.c. */
extern const struct cairn_statement CAIRN_TX_FIND_FILE, CAIRN_TX_DROP_NO_CLAIM, CAIRN_TX_DROP_OBJECT,
	CAIRN_TX_HAS_OBJECT, CAIRN_TX_FIND_LINE, CAIRN_TX_FIND_CLAIMED, CAIRN_TX_FIND_REF, CAIRN_TX_ADD_LINE,
	CAIRN_TX_SET_LINE_HEAD, CAIRN_TX_ADD_REF;

struct cairn_tx {
	sqlite3 *db;
	struct cairn_prepared stmts;
	struct cairn_index_counts counts;    /* counts of the transaction; after a commit, of the database */
	struct cairn_index_counts committed; /* counts as last read or written */
	enum cairn_index_frozen frozen;      /* of the transaction: if frozen, writes are refused */
	uint64_t n_commits;                  /* number of commits since opening */
	struct cairn_filter filter;          /* prefixes of eligible chunks; readers use it on their own threads */
	int64_t filter_prefix, filter_scope; /* last rows that the filter has */
	struct cairn_new_rows_source new_rows;
	struct cairn_new_rows dedupe, files, references, owners; /* rows of the current write, to be added together */
	struct cairn_index_tx records;                           /* this transaction, as records see it */
	struct cairn_sqlite_db records_db;                       /* this transaction's connection, as records see it */
};

/** Returns a statement of cairn_writes(). */
static inline sqlite3_stmt *cairn_tx_stmt(const struct cairn_tx *tx, const struct cairn_statement *s)
{
	return *cairn_prepared_at(&tx->stmts, s);
}

/** Executes a change. @param args  ?1, ?2 ... @return CAIRN_OK; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_tx_run(const struct cairn_tx *tx, const struct cairn_statement *s,
					      const struct cairn_db_args *args);
/** Reads the number in the first column of the first row. @param args  NULL: none @param[out] value  0: no row @return
 * as cairn_tx_run() */
CAIRN_MUST_USE enum cairn_status cairn_tx_number(const struct cairn_tx *tx, const struct cairn_statement *s,
						 const struct cairn_db_args *args, int64_t *value);
/** Executes a query. @param[out] found  there is a row @return as cairn_tx_run() */
CAIRN_MUST_USE enum cairn_status cairn_tx_has(const struct cairn_tx *tx, const struct cairn_statement *s,
					      const struct cairn_db_args *args, bool *found);

/** Opens a database of this version for writing. tx is zeroed before and needs cairn_tx_close() in any case.
 *  @return as cairn_index_open() */
CAIRN_MUST_USE enum cairn_status cairn_tx_open(struct cairn_tx *tx, const char *path, struct cairn_diag *diag);
void cairn_tx_close(struct cairn_tx *tx);

/** Begins a transaction. @return CAIRN_OK; CAIRN_E_IO, CAIRN_E_FULL, CAIRN_E_NOMEM: call cairn_tx_rollback() */
CAIRN_MUST_USE enum cairn_status cairn_tx_begin(struct cairn_tx *tx);
/** Commits. After CAIRN_OK all writes are durable. @return as cairn_tx_begin() */
CAIRN_MUST_USE enum cairn_status cairn_tx_commit(struct cairn_tx *tx);
void cairn_tx_rollback(struct cairn_tx *tx);

/** Returns the size of the writer's page cache for an index of this size. Each upload adds rows at random places of the
 * B-trees of hashes, a hundredth of the file: a cache that holds these saves a read for each row. Up to 1 GiB the
 * cache is 8 MiB: splitting a page uses the number of SQLite's lock page, and while that lies beyond the end of the
 * file, each commit scans every cached page, half of an upload's time with 64 MiB. */
int64_t cairn_tx_cache_kib(int64_t file_kib);

/** Adds a piece of the index's prefixes to the filter, between two batches. The filter rules nothing out until it has
 * all prefixes, or after a failure. @return there is more */
bool cairn_tx_fill_filter(struct cairn_tx *tx);

/** Is a transaction open? Some failures end it by themselves. */
bool cairn_tx_is_open(const struct cairn_tx *tx);

/* --- calls between the writer's files ----------------------------------------------------------------------------- */

/* Each makes a write within the transaction; results are in the request. @return its status */
#define TX_WRITE(name)                                                                                                 \
	CAIRN_MUST_USE enum cairn_status cairn_tx_##name(struct cairn_tx *tx, struct cairn_index_##name *request);
CAIRN_ENGINE_WRITES(TX_WRITE, CAIRN_ENGINE_LACKS)
#undef TX_WRITE

/** Records that a file needs a xorb; cairn_tx_add_references() writes it at the latest. */
CAIRN_MUST_USE enum cairn_status cairn_tx_refer(struct cairn_tx *tx, int64_t file, int64_t xorb);
CAIRN_MUST_USE enum cairn_status cairn_tx_add_references(struct cairn_tx *tx);
/** Removes a file without an owner, and its references, which kept its xorbs. */
CAIRN_MUST_USE enum cairn_status cairn_tx_drop_file(struct cairn_tx *tx, int64_t file);
/** Repairs a known file that comes again, if its terms are damaged or name a lost xorb: if all xorbs of the new terms
 * are stored, the file gets the new terms (rows as stored). */
CAIRN_MUST_USE enum cairn_status cairn_tx_mend_file(struct cairn_tx *tx, int64_t file, const uint8_t *rows,
						    size_t rows_len, const int64_t *xorbs, uint32_t n_xorbs,
						    bool *mended);
CAIRN_MUST_USE enum cairn_status cairn_tx_begin_repo(struct cairn_tx *tx, struct cairn_index_add_repo *add,
						     int64_t owner);
/** Gives a file to an owner, unless it has it. @param[out] added  the owner did not have it */
CAIRN_MUST_USE enum cairn_status cairn_tx_own(struct cairn_tx *tx, int64_t file, int64_t owner, bool *added);
/** Does what cairn_tx_own() does, and adds the owner's claim of the SHA-256. Beyond the limit the first claims stay:
 * shards that count as known must keep theirs. @param[out] added  the file or the claim is new */
CAIRN_MUST_USE enum cairn_status cairn_tx_claim(struct cairn_tx *tx, int64_t file, int64_t owner,
						const uint8_t sha256[static CAIRN_SHA256_BYTES], bool *added);
/** Does what cairn_tx_claim() does, with the claim and belief of the owner from whom the file is adopted. */
CAIRN_MUST_USE enum cairn_status cairn_tx_copy_claim(struct cairn_tx *tx, int64_t file, int64_t owner,
						     const uint8_t sha256[static CAIRN_SHA256_BYTES],
						     enum cairn_index_belief belief);
/** Called when an owner's file is proved to have a SHA-256: entries of its repository with this SHA-256 by an unproved
 * claim get the file. Does nothing without such a proof. */
CAIRN_MUST_USE enum cairn_status cairn_tx_follow_proof(struct cairn_tx *tx, int64_t file, int64_t owner,
						       const uint8_t sha256[static CAIRN_SHA256_BYTES]);
/** Removes an owner's hold on a file. A file without an owner is removed. */
CAIRN_MUST_USE enum cairn_status cairn_tx_disown(struct cairn_tx *tx, int64_t file, int64_t owner);
/** Call it after an owner has lost a file: a file without an owner is removed. */
CAIRN_MUST_USE enum cairn_status cairn_tx_was_disowned(struct cairn_tx *tx, int64_t file);
/** Call it before this owner (NULL: each) loses a file. Takes the file out of counts, rows of buckets, and contents. */
CAIRN_MUST_USE enum cairn_status cairn_tx_drop_objects(struct cairn_tx *tx, int64_t file, const char *owner);

/** A row of xorb. */
struct cairn_tx_xorb_state {
	int64_t id; /* 0: it does not exist */
	uint32_t n_chunks;
	bool stored;
	bool retired; /* or withdrawn */
	int64_t stored_bytes;
};
CAIRN_MUST_USE enum cairn_status cairn_tx_find_xorb(struct cairn_tx *tx, const struct cairn_hash *hash,
						    struct cairn_tx_xorb_state *state);
/** Does what cairn_tx_find_xorb() does, by the xorb's number. */
CAIRN_MUST_USE enum cairn_status cairn_tx_find_xorb_by_id(struct cairn_tx *tx, int64_t id,
							  struct cairn_tx_xorb_state *state);

/** Marks a xorb as repacked: the byte ranges in terms no longer count. */
CAIRN_MUST_USE enum cairn_status cairn_tx_set_repacked(struct cairn_tx *tx, int64_t id);

/** Adds a xorb and its list. @param stored_bytes  NULL: stored elsewhere @param withdrawn  from the beginning */
CAIRN_MUST_USE enum cairn_status cairn_tx_add_xorb(struct cairn_tx *tx, const struct cairn_hash *hash,
						   const struct cairn_chunk_list *list, const uint64_t *stored_bytes,
						   bool withdrawn, int64_t *id);

/** Restarts the grace time of a xorb that is needed again, and ends its retirement.
 * @param stays_withdrawn  false: the xorb is offered again */
CAIRN_MUST_USE enum cairn_status cairn_tx_keep_xorb(struct cairn_tx *tx, int64_t id, bool stays_withdrawn);

/** Reads a chunk list into list, whose arrays are reused. */
CAIRN_MUST_USE enum cairn_status cairn_tx_list(struct cairn_tx *tx, int64_t xorb, struct cairn_chunk_list *list);

#endif
