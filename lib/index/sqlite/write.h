/* The writing connection: one transaction at a time, with many writes. Owned by the writer's thread.
 *
 * Unless said otherwise, functions return CAIRN_OK; as cairn_sql_status(); CAIRN_E_DAMAGED a row is malformed;
 * CAIRN_E_NOMEM; functions for a request also as in index.h, operate.h, hub.h and history.h. */
#ifndef CAIRN_INDEX_SQLITE_WRITE_H
#define CAIRN_INDEX_SQLITE_WRITE_H

#include "index/backend.h"
#include "index/sqlite/driver.h"
#include "index/sqlite/filter.h"
#include "index/sqlite/new_rows.h"
#include "index/sqlite/quota.h"
#include "index/sqlite/statement.h"

/* Statements that two files use: write.c. */
extern const struct cairn_statement CAIRN_TX_FIND_FILE, CAIRN_TX_DROP_NO_CLAIM, CAIRN_TX_DROP_OBJECT,
	CAIRN_TX_HAS_OBJECT, CAIRN_TX_FIND_LINE, CAIRN_TX_FIND_CLAIMED, CAIRN_TX_FIND_REF, CAIRN_TX_ADD_LINE,
	CAIRN_TX_SET_LINE_HEAD, CAIRN_TX_ADD_REF;

struct cairn_tx {
	sqlite3 *db;
	struct cairn_prepared stmts;
	struct cairn_index_counts counts;    /* of the transaction; after a commit, of the database */
	struct cairn_index_counts committed; /* as last read or written */
	enum cairn_index_frozen frozen;      /* of the transaction: writes are refused */
	uint64_t n_commits;                  /* so far */
	struct cairn_filter filter;          /* prefixes of eligible chunks; readers use it on their own threads */
	int64_t filter_prefix, filter_scope; /* row up to which it is filled */
	struct cairn_new_rows_source new_rows;
	struct cairn_new_rows dedupe, files, references, owners; /* rows of the write at hand, to be added together */
	struct cairn_index_tx records;                           /* this transaction, for records */
	struct cairn_sqlite_db records_db;                       /* this transaction's connection, for records */
};

/** Returns one of cairn_writes(). */
static inline sqlite3_stmt *cairn_tx_stmt(const struct cairn_tx *tx, const struct cairn_statement *s)
{
	return *cairn_prepared_at(&tx->stmts, s);
}

/** Executes a change. @param args  ?1, ?2 ... @return CAIRN_OK; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_tx_run(const struct cairn_tx *tx, const struct cairn_statement *s,
					      const struct cairn_db_args *args);
/** Reads the number in the first column of the first row. @param args  NULL: none @param[out] value  0: no row
 *  @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_tx_number(const struct cairn_tx *tx, const struct cairn_statement *s,
						 const struct cairn_db_args *args, int64_t *value);
/** @param[out] found  there is a row @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_tx_has(const struct cairn_tx *tx, const struct cairn_statement *s,
					      const struct cairn_db_args *args, bool *found);

/** Opens a database of this version for writing. tx is zeroed before and needs cairn_tx_close() in any case.
 *  @return as cairn_index_open() */
CAIRN_MUST_USE enum cairn_status cairn_tx_open(struct cairn_tx *tx, const char *path, struct cairn_diag *diag);
void cairn_tx_close(struct cairn_tx *tx);

/** @return CAIRN_OK; CAIRN_E_IO, CAIRN_E_FULL, CAIRN_E_NOMEM: call cairn_tx_rollback() */
CAIRN_MUST_USE enum cairn_status cairn_tx_begin(struct cairn_tx *tx);
/** Commits. After CAIRN_OK all writes are durable. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_tx_commit(struct cairn_tx *tx);
void cairn_tx_rollback(struct cairn_tx *tx);

/** Returns the size of the writer's page cache for an index of this size. Each upload adds rows at random places of the
 * trees of hashes, a hundredth of the file. A cache that holds these trees saves a read for each row. Up to 1 GiB the
 * cache is 8 MiB. Reason: splitting a page uses the number of SQLite's lock page. While that lies beyond the end of the
 * file, each commit scans every cached page: half of an upload's time with 64 MiB. */
int64_t cairn_tx_cache_kib(int64_t file_kib);

/** Adds a piece of the index's prefixes to the filter, between two batches. Until the filter has all, and after a
 * failure, it rules nothing out. @return there is more */
bool cairn_tx_fill_filter(struct cairn_tx *tx);

/** Is a transaction open? Some failures end it by themselves. */
bool cairn_tx_is_open(const struct cairn_tx *tx);

/* --- between the files of the writing side ------------------------------------------------------------------------ */

/* Each applies a write within the transaction; results are in the request. @return its status */
#define TX_WRITE(name)                                                                                                 \
	CAIRN_MUST_USE enum cairn_status cairn_tx_##name(struct cairn_tx *tx, struct cairn_index_##name *request);
CAIRN_ENGINE_WRITES(TX_WRITE, CAIRN_ENGINE_LACKS)
#undef TX_WRITE

/** Records that a file needs a xorb, at the latest in cairn_tx_add_references(). */
CAIRN_MUST_USE enum cairn_status cairn_tx_refer(struct cairn_tx *tx, int64_t file, int64_t xorb);
CAIRN_MUST_USE enum cairn_status cairn_tx_add_references(struct cairn_tx *tx);
/** Removes a file without an owner, and its references, which kept its xorbs. */
CAIRN_MUST_USE enum cairn_status cairn_tx_drop_file(struct cairn_tx *tx, int64_t file);
/** Called when a known file comes again. Its terms may be damaged, or name a lost xorb. If all xorbs of the new terms
 * are stored, the file then gets these (rows as stored), and can be read again. */
CAIRN_MUST_USE enum cairn_status cairn_tx_mend_file(struct cairn_tx *tx, int64_t file, const uint8_t *rows,
						    size_t rows_len, const int64_t *xorbs, uint32_t n_xorbs,
						    bool *mended);
CAIRN_MUST_USE enum cairn_status cairn_tx_begin_repo(struct cairn_tx *tx, struct cairn_index_add_repo *add,
						     int64_t owner);
/** Gives a file to an owner, unless it has it. @param[out] added  it had not */
CAIRN_MUST_USE enum cairn_status cairn_tx_own(struct cairn_tx *tx, int64_t file, int64_t owner, bool *added);
/** Does what cairn_tx_own() does, and adds the owner's claim of the SHA-256. Keeps the first few claims, because shards
 * that count as known must not lose theirs. @param[out] added  the file or the claim is new */
CAIRN_MUST_USE enum cairn_status cairn_tx_claim(struct cairn_tx *tx, int64_t file, int64_t owner,
						const uint8_t sha256[static CAIRN_SHA256_BYTES], bool *added);
/** Does what cairn_tx_claim() does, with the claim and belief of the owner who gave the file. */
CAIRN_MUST_USE enum cairn_status cairn_tx_copy_claim(struct cairn_tx *tx, int64_t file, int64_t owner,
						     const uint8_t sha256[static CAIRN_SHA256_BYTES],
						     enum cairn_index_belief belief);
/** An owner's file is proved to have a SHA-256: the entries of its repository that have this SHA-256 by an unproved
 * claim get the file. Without such a proof nothing changes. */
CAIRN_MUST_USE enum cairn_status cairn_tx_follow_proof(struct cairn_tx *tx, int64_t file, int64_t owner,
						       const uint8_t sha256[static CAIRN_SHA256_BYTES]);
/** Takes a file from an owner. Without another owner it is removed. */
CAIRN_MUST_USE enum cairn_status cairn_tx_disown(struct cairn_tx *tx, int64_t file, int64_t owner);
/** Call it after a file was taken from an owner: without another owner it is removed. */
CAIRN_MUST_USE enum cairn_status cairn_tx_was_disowned(struct cairn_tx *tx, int64_t file);
/** Call before a file is taken from this owner (NULL: from all). Takes it out of counts, objects and contents. */
CAIRN_MUST_USE enum cairn_status cairn_tx_drop_objects(struct cairn_tx *tx, int64_t file, const char *owner);

/** A row of xorb. */
struct cairn_tx_xorb_state {
	int64_t id; /* 0: there is none */
	uint32_t n_chunks;
	bool stored, retired;
	int64_t stored_bytes;
};
CAIRN_MUST_USE enum cairn_status cairn_tx_find_xorb(struct cairn_tx *tx, const struct cairn_hash *hash,
						    struct cairn_tx_xorb_state *state);
/** Does what cairn_tx_find_xorb() does, by the xorb's number. */
CAIRN_MUST_USE enum cairn_status cairn_tx_find_xorb_by_id(struct cairn_tx *tx, int64_t id,
							  struct cairn_tx_xorb_state *state);

/** Marks a xorb as repacked: the byte ranges in terms no longer count. */
CAIRN_MUST_USE enum cairn_status cairn_tx_set_repacked(struct cairn_tx *tx, int64_t id);

/** Adds a xorb and its list. @param stored_bytes  NULL: kept elsewhere */
CAIRN_MUST_USE enum cairn_status cairn_tx_add_xorb(struct cairn_tx *tx, const struct cairn_hash *hash,
						   const struct cairn_chunk_list *list, const uint64_t *stored_bytes,
						   int64_t *id);

/** Restarts the grace time of a xorb that is needed again, and ends its retirement. */
CAIRN_MUST_USE enum cairn_status cairn_tx_keep_xorb(struct cairn_tx *tx, int64_t id);

/** Reads a chunk list into list, whose arrays are reused. */
CAIRN_MUST_USE enum cairn_status cairn_tx_list(struct cairn_tx *tx, int64_t xorb, struct cairn_chunk_list *list);

#endif
