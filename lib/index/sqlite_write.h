/* The writing connection: one transaction at a time, many writes in it. Owned by the writer's thread. */
#ifndef CAIRN_INDEX_SQLITE_WRITE_H
#define CAIRN_INDEX_SQLITE_WRITE_H

#include "index/filter.h"
#include "index/index.h"
#include "index/sqlite_util.h"

enum {
	CAIRN_TX_XORBS = 1024, /* xorbs named by the write at hand that are remembered */
};

/* The statements of the writer; sqlite_write.c has their text. */
enum cairn_tx_stmt {
	CAIRN_TX_BEGIN,
	CAIRN_TX_COMMIT,
	CAIRN_TX_ROLLBACK,
	CAIRN_TX_SAVE,
	CAIRN_TX_RELEASE,
	CAIRN_TX_UNDO,
	CAIRN_TX_STATE,
	CAIRN_TX_SET_STATE,
	CAIRN_TX_PROBE,
	CAIRN_TX_FIND_SCOPE,
	CAIRN_TX_ADD_SCOPE,
	CAIRN_TX_FIND_SHARD,
	CAIRN_TX_ADD_SHARD,
	CAIRN_TX_RENEW_SHARD,
	CAIRN_TX_ADD_MEMBER,
	CAIRN_TX_FIND_XORB,
	CAIRN_TX_ADD_XORB,
	CAIRN_TX_RENEW_XORB,
	CAIRN_TX_STORE_XORB,
	CAIRN_TX_ADD_LIST,
	CAIRN_TX_GET_LIST,
	CAIRN_TX_EACH_PREFIX,
	CAIRN_TX_SET_LIST,
	CAIRN_TX_ADD_DEDUPE,
	CAIRN_TX_FIND_FILE,
	CAIRN_TX_ADD_FILE,
	CAIRN_TX_SET_SHA256,
	CAIRN_TX_ADD_FILE_OWNER,
	CAIRN_TX_ADD_REFERENCE,
	CAIRN_TX_GET_TERMS,
	CAIRN_TX_SET_TERMS,
	CAIRN_TX_IS_STORED, /* a xorb, by id */
	CAIRN_TX_DROP_FILE_OWNER,
	CAIRN_TX_DROP_FILE_OWNERS,
	CAIRN_TX_HAS_FILE_OWNER,
	CAIRN_TX_DROP_REFERENCE,
	CAIRN_TX_DROP_REFERENCES, /* of a file: looks at all of them */
	CAIRN_TX_DROP_FILE,
	CAIRN_TX_LOSE_XORB,
	CAIRN_TX_MARK_PAGE,
	CAIRN_TX_RETIRE_XORB,
	CAIRN_TX_SWEEP_PAGE,
	CAIRN_TX_HAS_REFERENCE,
	CAIRN_TX_DROP_DEDUPE,
	CAIRN_TX_FIND_MEMBER,
	CAIRN_TX_DROP_MEMBER,
	CAIRN_TX_DROP_SHARD, /* if no member is left */
	CAIRN_TX_DROP_LIST,
	CAIRN_TX_DROP_XORB,
	CAIRN_TX_FIND_KEY,
	CAIRN_TX_ADD_KEY,
	CAIRN_TX_REVOKE_KEY,
	CAIRN_TX_ADD_TELEMETRY,
	CAIRN_TX_DROP_TELEMETRY,
	CAIRN_TX_STMTS,
};

/** What the index holds, kept in its state row so that opening need not count. */
struct cairn_tx_counts {
	int64_t collection; /* how often a file or a xorb was removed: shards accepted before that are not known any
			       more */
	int64_t files, xorbs, shards, eligible, stored_bytes;
};

/** A xorb that the write at hand named. */
struct cairn_tx_xorb {
	struct cairn_hash hash;
	int64_t id;
	uint32_t n_chunks;
	uint64_t of_write; /* which write filled this slot; another's is stale */
	uint64_t of_file;  /* which file of that write has named it already; 0: none */
};

struct cairn_tx {
	sqlite3 *db;
	sqlite3_stmt *stmt[CAIRN_TX_STMTS];
	struct cairn_tx_counts counts;       /* of the transaction; after a commit, of the database */
	struct cairn_tx_counts committed;    /* as last read or written */
	uint64_t n_applied;                  /* writes so far: names the write at hand */
	uint64_t n_commits;                  /* so far */
	struct cairn_tx_xorb *xorbs;         /* CAIRN_TX_XORBS, by the first bytes of the hash */
	struct cairn_filter filter;          /* prefixes of eligible chunks; readers ask it from their own threads */
	int64_t filter_prefix, filter_scope; /* row up to which it is filled */
};

/** Open for writing, make or migrate the database. tx is zeroed before and needs cairn_tx_close() in any case.
 *  @return as cairn_index_open() */
CAIRN_MUST_USE enum cairn_status cairn_tx_open(struct cairn_tx *tx, const char *path, struct cairn_diag *diag);
void cairn_tx_close(struct cairn_tx *tx);

/** @return CAIRN_OK; CAIRN_E_IO, CAIRN_E_FULL, CAIRN_E_NOMEM: call cairn_tx_rollback() */
CAIRN_MUST_USE enum cairn_status cairn_tx_begin(struct cairn_tx *tx);
/** On return with CAIRN_OK all of it is durable. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_tx_commit(struct cairn_tx *tx);
void cairn_tx_rollback(struct cairn_tx *tx);

/**
 * Size of the writer's page cache for an index of this size. Each upload adds rows at random places of the trees of
 * hashes, a hundredth of the file; a cache that holds them saves a read of each. Up to 1 GiB it is 8 MiB all the same:
 * a split of a page goes through the number of the page that SQLite keeps its locks in, and as long as that lies beyond
 * the end of the file SQLite looks at every cached page when it commits: half of an upload's time, with 64 MiB.
 */
int64_t cairn_tx_cache_kib(int64_t file_kib);

/** Fill the filter with a piece of what is in the index, between two batches. Until all of it is there, and when that
 * fails, the filter rules nothing out. @return there is more */
bool cairn_tx_fill_filter(struct cairn_tx *tx);

/** Is a transaction open? Some failures end it by themselves. */
bool cairn_tx_is_open(const struct cairn_tx *tx);

/** Do one write within the transaction, and set its status, added and diag. @return false: it failed, and may have left
 *  some of it in the transaction, which must be rolled back */
bool cairn_tx_apply(struct cairn_tx *tx, struct cairn_index_write *write);

/** The same, but a write that fails is undone by itself. Slower by a sixth. @return false: the transaction itself
 * cannot go on (the disk is full, say), with everything in it; status says so only if this write was the cause */
bool cairn_tx_apply_alone(struct cairn_tx *tx, struct cairn_index_write *write);

/* --- between the files of the writing side ------------------------------------------------------------------------ */

/** cairn_tx_apply() of one kind. @return as write->status */
CAIRN_MUST_USE enum cairn_status cairn_tx_put_xorb(struct cairn_tx *tx, struct cairn_index_write *write);
CAIRN_MUST_USE enum cairn_status cairn_tx_put_shard(struct cairn_tx *tx, struct cairn_index_write *write);
/** Say that a file needs these xorbs. */
CAIRN_MUST_USE enum cairn_status cairn_tx_add_references(struct cairn_tx *tx, int64_t file, const int64_t *xorbs,
							 uint32_t n);
/** Drop a file that nobody owns, and with its references what kept its xorbs. */
CAIRN_MUST_USE enum cairn_status cairn_tx_drop_file(struct cairn_tx *tx, int64_t file);
/** A known file came again. When its terms are damaged or a xorb of them is not stored any more, and all of the new
 * ones are, it takes the new terms (rows as they are kept), and can be read again. */
CAIRN_MUST_USE enum cairn_status cairn_tx_mend_file(struct cairn_tx *tx, int64_t file, const uint8_t *rows,
						    size_t rows_len, const int64_t *xorbs, uint32_t n_xorbs,
						    bool *mended);
CAIRN_MUST_USE enum cairn_status cairn_tx_forget_file(struct cairn_tx *tx, struct cairn_index_write *write);
CAIRN_MUST_USE enum cairn_status cairn_tx_share_file(struct cairn_tx *tx, struct cairn_index_write *write);
CAIRN_MUST_USE enum cairn_status cairn_tx_promise_xorb(struct cairn_tx *tx, struct cairn_index_write *write);
CAIRN_MUST_USE enum cairn_status cairn_tx_lose_xorb(struct cairn_tx *tx, struct cairn_index_write *write);
CAIRN_MUST_USE enum cairn_status cairn_tx_mark(struct cairn_tx *tx, struct cairn_index_write *write);
CAIRN_MUST_USE enum cairn_status cairn_tx_sweep(struct cairn_tx *tx, struct cairn_index_write *write);
CAIRN_MUST_USE enum cairn_status cairn_tx_add_key(struct cairn_tx *tx, struct cairn_index_write *write);
CAIRN_MUST_USE enum cairn_status cairn_tx_revoke_key(struct cairn_tx *tx, struct cairn_index_write *write);
CAIRN_MUST_USE enum cairn_status cairn_tx_add_telemetry(struct cairn_tx *tx, struct cairn_index_write *write);

/** The number of a name, made when it has none. */
CAIRN_MUST_USE enum cairn_status cairn_tx_scope(struct cairn_tx *tx, const char *name, int64_t *id);

/** A row of xorb. */
struct cairn_tx_known {
	int64_t id; /* 0: there is none */
	uint32_t n_chunks;
	bool stored, retired;
	int64_t stored_bytes;
};
CAIRN_MUST_USE enum cairn_status cairn_tx_find_xorb(struct cairn_tx *tx, const struct cairn_hash *hash,
						    struct cairn_tx_known *known);

/** Add a xorb and its list. @param stored_bytes  NULL: kept elsewhere */
CAIRN_MUST_USE enum cairn_status cairn_tx_add_xorb(struct cairn_tx *tx, const struct cairn_hash *hash,
						   const struct cairn_chunk_list *list, const uint64_t *stored_bytes,
						   int64_t *id);

/** It is wanted again: its grace time starts anew, and it is not retired any more. */
CAIRN_MUST_USE enum cairn_status cairn_tx_renew_xorb(struct cairn_tx *tx, int64_t id);

/** Read a list into list, whose arrays are reused. */
CAIRN_MUST_USE enum cairn_status cairn_tx_list(struct cairn_tx *tx, int64_t xorb, struct cairn_chunk_list *list);

#endif
