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
#include "index/sqlite/util.h"

/* The statements of the writer; write.c has their text. */
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
	CAIRN_TX_FIND_SHARD,
	CAIRN_TX_ADD_SHARD,
	CAIRN_TX_RENEW_SHARD,
	CAIRN_TX_ADD_MEMBER,
	CAIRN_TX_FIND_XORB,
	CAIRN_TX_FIND_XORB_BY_ID,
	CAIRN_TX_ADD_XORB,
	CAIRN_TX_RENEW_XORB,
	CAIRN_TX_STORE_XORB,
	CAIRN_TX_SET_REPACKED,
	CAIRN_TX_ADD_LIST,
	CAIRN_TX_GET_LIST,
	CAIRN_TX_EACH_PREFIX,
	CAIRN_TX_SET_LIST,
	CAIRN_TX_ADD_DEDUPE,
	CAIRN_TX_ADD_DEDUPES, /* for new_rows.h, as the other pairs */
	CAIRN_TX_FIND_FILE,
	CAIRN_TX_LAST_FILE, /* the highest number that was given */
	CAIRN_TX_ADD_FILE,
	CAIRN_TX_ADD_FILES,
	CAIRN_TX_ADD_FIRST_OWNER, /* of a new file */
	CAIRN_TX_ADD_FIRST_OWNERS,
	CAIRN_TX_ADD_OWNER,     /* without a claim, unless the file has this owner */
	CAIRN_TX_ADD_CLAIM,     /* unless the owner has reached the limit of claims on that file */
	CAIRN_TX_DROP_NO_CLAIM, /* the row that ADD_OWNER added */
	CAIRN_TX_FIND_OWNED,
	CAIRN_TX_ADD_PROOF,
	CAIRN_TX_SETTLE_CLAIM,
	CAIRN_TX_PUT_OFF_CLAIM,
	CAIRN_TX_ADD_PROVED,
	CAIRN_TX_FOLLOW_PROOF,
	CAIRN_TX_ADD_COPIED,
	CAIRN_TX_RENEW_FILE_OWNER,
	CAIRN_TX_ADD_REFERENCE,
	CAIRN_TX_ADD_REFERENCES,
	CAIRN_TX_GET_TERMS,
	CAIRN_TX_SET_TERMS,
	CAIRN_TX_IS_STORED, /* a xorb, by id */
	CAIRN_TX_DROP_FILE_OWNER,
	CAIRN_TX_DROP_FILE_OWNERS,
	CAIRN_TX_HAS_FILE_OWNER,
	CAIRN_TX_DROP_REFERENCE,
	CAIRN_TX_DROP_REFERENCES, /* of a file: scans all references */
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
	CAIRN_TX_COUNT_STORED, /* of the repository with this owner */
	CAIRN_TX_COUNT_OWNED,  /* of an owner with a quota */
	CAIRN_TX_FILE_SIZE,
	CAIRN_TX_COUNT_REPO,
	CAIRN_TX_FIND_DROPPED_REPO,
	CAIRN_TX_FORGET_REPO,
	CAIRN_TX_FIND_OBJECT,
	CAIRN_TX_SET_OBJECT,
	CAIRN_TX_DROP_OBJECT,
	CAIRN_TX_OBJECT_PAGE,
	CAIRN_TX_HAS_OBJECT,     /* of a file, in a repository */
	CAIRN_TX_HAS_EMPTY,      /* an object of the empty file */
	CAIRN_TX_FIND_OWN,       /* a file by its hash that an owner or the operator has */
	CAIRN_TX_FIND_COPIED,    /* a file by its hash that an object of a bucket or another repository has */
	CAIRN_TX_DISOWN,         /* DROP_FILE_OWNER by the owner's number */
	CAIRN_TX_OWNED_PAGE,     /* files of an owner; one with several claims comes more than once */
	CAIRN_TX_UNCOUNT_FILE,   /* subtracts the objects of a file from their repositories' counts */
	CAIRN_TX_UNCOUNT_STORED, /* subtracts the objects of a file from their stored sizes */
	CAIRN_TX_UNCOUNT_OWNED,  /* and from those of other owners */
	CAIRN_TX_DROP_OBJECTS,   /* of a file */
	CAIRN_TX_DROP_BYTES,     /* removes a file from the contents that have it */
	CAIRN_TX_FIND_LINE,
	CAIRN_TX_FIND_ENTRY,
	CAIRN_TX_SCAN, /* one for each line of a chain */
	CAIRN_TX_SCAN_LAST = CAIRN_TX_SCAN + CAIRN_INDEX_LINE_DEPTH_MAX - 1,
	CAIRN_TX_SET_ENTRY,
	CAIRN_TX_FIND_INLINE,  /* a content by its bytes */
	CAIRN_TX_FIND_STORED,  /* a content by its file and SHA-256 */
	CAIRN_TX_FIND_CLAIMED, /* the best claim of an owner on a SHA-256 */
	CAIRN_TX_FIND_CLAIM,   /* the claim of an owner on this file, unless it is false */
	CAIRN_TX_ADD_CONTENT,
	CAIRN_TX_USE_CONTENT,
	CAIRN_TX_DROP_CONTENT, /* unless an entry has it; returns its owner, and its size if it was inline */
	CAIRN_TX_REVIVE_CONTENT,
	CAIRN_TX_SAVE_COMMIT,
	CAIRN_TX_RELEASE_COMMIT,
	CAIRN_TX_UNDO_COMMIT,
	CAIRN_TX_FIND_REF,
	CAIRN_TX_FIND_COMMIT,
	CAIRN_TX_LAST_COMMIT, /* the highest number that was given */
	CAIRN_TX_HAS_COMMIT,  /* by its id in git */
	CAIRN_TX_ADD_COMMIT,
	CAIRN_TX_ADD_LINE,
	CAIRN_TX_SET_LINE_HEAD,
	CAIRN_TX_COUNT_LINE, /* rows of a line up to a commit, counted up to a limit */
	CAIRN_TX_COPY_LINE,
	CAIRN_TX_COPY_NEWEST,    /* the entries of a line at a commit, as if another commit had made them */
	CAIRN_TX_DROP_DELETIONS, /* of such a copy */
	CAIRN_TX_USE_COPIED,
	CAIRN_TX_COUNT_MAIN,
	CAIRN_TX_NESTED_REF, /* a ref whose name is a folder of this one, or the other way round */
	CAIRN_TX_ADD_REF,
	CAIRN_TX_SET_REF,
	CAIRN_TX_END_PULL,
	CAIRN_TX_DROP_REF,
	CAIRN_TX_LAST_PULL,
	CAIRN_TX_SWEEP_LINE,   /* the highest line below a number, its head, and the last commit that something needs */
	CAIRN_TX_REPO_LINE,    /* the highest line of a repository */
	CAIRN_TX_DROP_REFS,    /* of a repository */
	CAIRN_TX_DROP_COMMITS, /* some of a line */
	CAIRN_TX_DROP_ENTRIES, /* removes some entries of a line; returns their contents */
	CAIRN_TX_DROP_NEWER_COMMITS, /* some commits of a line after one, the newest first */
	CAIRN_TX_ENTRY_PAGE,         /* some of a line's entries after a path */
	CAIRN_TX_DROP_NEWER_ENTRIES, /* those of such a page from commits after one; returns their contents */
	CAIRN_TX_DROP_LINE,
	CAIRN_TX_NEXT_REPO,
	CAIRN_TX_UNNAMED_PAGE, /* files of an owner, each old and unnamed or not */
	CAIRN_TX_STMTS,
};

/** Counts of the index, stored in its state row so that opening need not count. */
struct cairn_tx_counts {
	int64_t collection; /* number of removals of files or xorbs, and of retirements: shards accepted before one are
			       no longer known */
	int64_t files, xorbs, shards, eligible, stored_bytes;
};

struct cairn_tx {
	sqlite3 *db;
	sqlite3_stmt *stmt[CAIRN_TX_STMTS];
	struct cairn_tx_counts counts;       /* of the transaction; after a commit, of the database */
	struct cairn_tx_counts committed;    /* as last read or written */
	struct cairn_tx_counts saved;        /* at the savepoint */
	enum cairn_index_frozen frozen;      /* of the transaction: writes are refused */
	uint64_t n_commits;                  /* so far */
	struct cairn_filter filter;          /* prefixes of eligible chunks; readers use it on their own threads */
	int64_t filter_prefix, filter_scope; /* row up to which it is filled */
	struct cairn_new_rows_source new_rows;
	struct cairn_new_rows dedupe, files, references, owners; /* rows of the write at hand, to be added together */
	struct cairn_index_tx records;                           /* this transaction, for records */
	struct cairn_sqlite_db records_db;                       /* this transaction's connection, for records */
};

/** Opens a database of this version for writing. tx is zeroed before and needs cairn_tx_close() in any case.
 *  @return as cairn_index_open() */
CAIRN_MUST_USE enum cairn_status cairn_tx_open(struct cairn_tx *tx, const char *path, struct cairn_diag *diag);
void cairn_tx_close(struct cairn_tx *tx);

/** @return CAIRN_OK; CAIRN_E_IO, CAIRN_E_FULL, CAIRN_E_NOMEM: call cairn_tx_rollback() */
CAIRN_MUST_USE enum cairn_status cairn_tx_begin(struct cairn_tx *tx);
/** Commits. After CAIRN_OK all writes are durable. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_tx_commit(struct cairn_tx *tx);
void cairn_tx_rollback(struct cairn_tx *tx);

/**
 * Returns the size of the writer's page cache for an index of this size. Each upload adds rows at random places of the
 * trees of hashes, a hundredth of the file. A cache that holds these trees saves a read for each row. Up to 1 GiB the
 * cache is 8 MiB. Reason: splitting a page uses the number of SQLite's lock page. While that lies beyond the end of the
 * file, each commit scans every cached page: half of an upload's time with 64 MiB.
 */
int64_t cairn_tx_cache_kib(int64_t file_kib);

/** Adds a piece of the index's prefixes to the filter, between two batches. Until the filter has all, and after a
 * failure, it rules nothing out. @return there is more */
bool cairn_tx_fill_filter(struct cairn_tx *tx);

/** Is a transaction open? Some failures end it by themselves. */
bool cairn_tx_is_open(const struct cairn_tx *tx);

/** Sets a savepoint: later writes can be undone alone, until release(). SQLite then copies each changed page: slower by
 * a sixth. @return CAIRN_OK; as cairn_sql_status() */
CAIRN_MUST_USE enum cairn_status cairn_tx_save(struct cairn_tx *tx);
CAIRN_MUST_USE enum cairn_status cairn_tx_undo(struct cairn_tx *tx);
CAIRN_MUST_USE enum cairn_status cairn_tx_release(struct cairn_tx *tx);

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
						     int64_t scope);
/** Gives a file to an owner, unless it has it. @param[out] added  it had not */
CAIRN_MUST_USE enum cairn_status cairn_tx_own(struct cairn_tx *tx, int64_t file, int64_t scope, bool *added);
/** Does what cairn_tx_own() does, and adds the owner's claim of the SHA-256. Keeps the first few claims, because shards
 * that count as known must not lose theirs. @param[out] added  the file or the claim is new */
CAIRN_MUST_USE enum cairn_status cairn_tx_claim(struct cairn_tx *tx, int64_t file, int64_t scope,
						const uint8_t sha256[static CAIRN_SHA256_BYTES], bool *added);
/** Does what cairn_tx_claim() does, with the claim and belief of the owner who gave the file. */
CAIRN_MUST_USE enum cairn_status cairn_tx_copy_claim(struct cairn_tx *tx, int64_t file, int64_t scope,
						     const uint8_t sha256[static CAIRN_SHA256_BYTES],
						     enum cairn_index_belief belief);
/** An owner's file is proved to have a SHA-256: the entries of its repository that have this SHA-256 by an unproved
 * claim get the file. Without such a proof nothing changes. */
CAIRN_MUST_USE enum cairn_status cairn_tx_follow_proof(struct cairn_tx *tx, int64_t file, int64_t scope,
						       const uint8_t sha256[static CAIRN_SHA256_BYTES]);
/** Takes a file from an owner. Without another owner it is removed. */
CAIRN_MUST_USE enum cairn_status cairn_tx_disown(struct cairn_tx *tx, int64_t file, int64_t scope);
/** Call it after a file was taken from an owner: without another owner it is removed. */
CAIRN_MUST_USE enum cairn_status cairn_tx_was_disowned(struct cairn_tx *tx, int64_t file);
/** Call it before a file is taken from this owner (NULL: from all). Subtracts it from counts, and removes it from
 * objects and contents. */
CAIRN_MUST_USE enum cairn_status cairn_tx_drop_objects(struct cairn_tx *tx, int64_t file, const char *owner);
/** A write without visible effect. */
CAIRN_MUST_USE enum cairn_status cairn_tx_probe(struct cairn_tx *tx);

/** A row of xorb. */
struct cairn_tx_known {
	int64_t id; /* 0: there is none */
	uint32_t n_chunks;
	bool stored, retired;
	int64_t stored_bytes;
};
CAIRN_MUST_USE enum cairn_status cairn_tx_find_xorb(struct cairn_tx *tx, const struct cairn_hash *hash,
						    struct cairn_tx_known *known);
/** Does what cairn_tx_find_xorb() does, by the xorb's number. */
CAIRN_MUST_USE enum cairn_status cairn_tx_find_xorb_by_id(struct cairn_tx *tx, int64_t id,
							  struct cairn_tx_known *known);

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
