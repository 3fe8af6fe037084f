/* The index of files, xorbs and eligible chunks: an interface that any engine can implement (backend.h). */
#ifndef CAIRN_INDEX_INDEX_H
#define CAIRN_INDEX_INDEX_H

#include "hash/copy_id.h"
#include "index/new_shard.h"

/* Names used here
 *   scope   who shares dedupe: "" (everybody), "namespace" or "type/namespace/name". A query finds eligible chunks of
 *           its own scope and of the shared one only.
 *   owner   the repository under which an upload registers its files; "" is the operator's, which everybody may read.
 *   viewer  the repository on whose behalf a file is read; NULL: all files may be read.
 * Threads: every call may come from any thread, except opening and closing. Reads see whole commits only.
 *
 * Statuses. "As every read" names the statuses that any function of this folder may return if it writes nothing:
 *   CAIRN_E_IO       the engine or its disk failed
 *   CAIRN_E_DAMAGED  a row, or a page of the engine, is malformed
 *   CAIRN_E_FULL     the engine lacks room for its working data, as for the shared memory of a log
 *   CAIRN_E_NOMEM
 *   CAIRN_E_BUSY     the engine is on another machine and silent, so nothing is known
 *   CAIRN_E_FORMAT, CAIRN_E_LIMIT  of such an engine: a text is not UTF-8, or the query is too long
 *
 * For the statuses of writes see struct cairn_index_write. */
struct cairn_index;
struct cairn_index_needs; /* needs.h */
struct cairn_index_kind;  /* of a write: internal */

/* Among this many latest files of an owner with one SHA-256, the best one counts. A text for SQL statements. */
#define CAIRN_INDEX_SAME_MAX "64"

enum {
	CAIRN_INDEX_SCOPE_TEXT_MAX = 255, /* bytes of a scope's or owner's name */
	CAIRN_INDEX_PROBE_MS = 2000,      /* the longest that cairn_index_writable() waits */
	CAIRN_INDEX_OWNER_BYTES_MAX = 64,
	CAIRN_INDEX_CLAIMS_MAX = 4, /* SHA-256 claims that an owner may make for a file; further ones are not kept */
	CAIRN_INDEX_LIES_MAX = 16,  /* claims proved false, kept besides; at that number further claims are refused */
};

/** How to open an index. Zeroed: to write, with defaults. */
struct cairn_index_options {
	unsigned batch_max;  /* writes in one transaction; 0: 64 */
	unsigned queue_max;  /* writes waiting; 0: 4096 */
	uint64_t keep_bytes; /* of the disk's free space, which an engine writing there should leave free */
	/** Open for reading only: each write returns CAIRN_E_BUSY. Nobody may have the index open for writing. */
	bool read_only;
	/** For writing to an index on another machine: the owner it must have, by a name that the data folder keeps. An
	 * index without rows and owner gets this one. NULL: not checked. */
	const char *owner;
	/** For writing to an index on another machine beside other writers, whose commits are seen a second later. */
	bool shared;
};

/** Migrates an index to this program's version, or creates it.
 * @param url  as below
 * @param[out] from  its version before; 0: created
 * @param[out] to    its version now
 * @return CAIRN_OK; otherwise as cairn_index_open() */
CAIRN_MUST_USE enum cairn_status cairn_index_migrate(const char *url, struct cairn_diag *diag, int *from, int *to);

/** Returns the version of an index, and checks whether this program would open or migrate it. Changes nothing; another
 * process may have it open. If the index is a file, the file must exist.
 * @param[out] version  0: there is no index, and no file that could be one
 * @param[out] latest  this program's version
 * @return as cairn_index_open(), except that an older version is no failure */
CAIRN_MUST_USE enum cairn_status cairn_index_version(const char *url, int *version, int *latest,
						     struct cairn_diag *diag);

enum { CAIRN_INDEX_REACH_PORTS = 8, CAIRN_INDEX_REACH_FILES = 12, CAIRN_INDEX_REACH_PATH_BYTES = 1024 };

/** The ports and files that a process needs to connect to an index. Zeroed: none. Plain value. */
struct cairn_index_reach {
	uint16_t ports[CAIRN_INDEX_REACH_PORTS]; /* of TCP */
	size_t n_ports;
	bool by_socket;                                                    /* by a Unix socket */
	char files[CAIRN_INDEX_REACH_FILES][CAIRN_INDEX_REACH_PATH_BYTES]; /* and folders, read at each connection */
	size_t n_files;
};

/** For a sandbox, which gives up everything else. @return CAIRN_OK; CAIRN_E_USAGE no engine has such a URL (index.url),
 * or it has a password (index.password), which diag does not repeat; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_index_reach(const char *url, struct cairn_index_reach *out,
						   struct cairn_diag *diag);

/** Open an index by its URL.
 * - "sqlite:DIR": in DIR/index.sqlite, and files beside it. (For reading only, the log that a killed process left is
 *   read, too; SQLite then makes its scratch file index.sqlite-shm.)
 * - "postgres://...", as libpq understands it, and schema=NAME among its parameters. Only one process has it open for
 *   writing. If the server does not answer, calls return CAIRN_E_BUSY (index.silent) within 5 s.
 * @param[out] out  owned by the caller, cairn_index_free()
 * @param options  NULL: defaults
 * @return CAIRN_OK
 *         CAIRN_E_USAGE  no engine has such a URL (index.url), or it has a password (index.password)
 *         CAIRN_E_CONFLICT  of a newer version, or not Cairn's: refused by name, not touched; of an older version:
 *                           index.older says what to do; another's (index.owner), or in use (index.taken)
 *         CAIRN_E_FULL  the disk is full, and so is the space that is kept for opening (index.full)
 *         CAIRN_E_DAMAGED, CAIRN_E_IO, CAIRN_E_BUSY (index.silent) with the cause in diag
 *         CAIRN_E_NOMEM  also: no thread can be started (index.thread) */
CAIRN_MUST_USE enum cairn_status cairn_index_open(struct cairn_index **out, const char *url,
						  const struct cairn_index_options *options, struct cairn_diag *diag);

/** Is the index on another machine? Then calls may block for long: use no thread that others wait for. */
bool cairn_index_is_remote(const struct cairn_index *ix);

/** Finishes the queued writes, then closes the index. NULL is harmless. */
void cairn_index_free(struct cairn_index *ix);
void cairn_index_freep(struct cairn_index **ix);

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct cairn_index_xorb {
	int64_t id;
	struct cairn_hash hash;
	uint32_t n_chunks;
	uint64_t unpacked_bytes;
	uint64_t stored_bytes;     /* of the object; 0: its bytes are kept elsewhere */
	int64_t at_unix_s;         /* when it arrived, or was last renewed */
	bool referenced;           /* a file needs this xorb */
	bool retired;              /* no file needs it; removable once its grace time is over */
	struct cairn_copy_id copy; /* of its object; unset where rows name no copies */
};

/** Do rows name the copy of their object? Then several daemons may share a store; see "copies" below. */
bool cairn_index_names_copies(const struct cairn_index *ix);

/** Returns the row of a xorb. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_xorb(struct cairn_index *ix, const struct cairn_hash *hash,
						  struct cairn_index_xorb *out);

/** Does what cairn_index_xorb() does, by the number in a term. */
CAIRN_MUST_USE enum cairn_status cairn_index_xorb_by_id(struct cairn_index *ix, int64_t id,
							struct cairn_index_xorb *out);

/** Returns the row, and its chunks if the engine reads both in one query. Otherwise, or on failure, the list stays
 * empty.
 *  @param[in,out] list  empty; owned by the caller @return as cairn_index_xorb() */
CAIRN_MUST_USE enum cairn_status cairn_index_xorb_and_list(struct cairn_index *ix, const struct cairn_hash *hash,
							   struct cairn_index_xorb *out, struct cairn_chunk_list *list);

/** Returns the chunks of a xorb. @param[out] list  owned by the caller, cairn_chunk_list_fini()
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_chunk_list(struct cairn_index *ix, const struct cairn_hash *xorb,
							struct cairn_chunk_list *list);

/** Does what cairn_index_chunk_list() does, by the number in the xorb's row. */
CAIRN_MUST_USE enum cairn_status cairn_index_chunk_list_by_id(struct cairn_index *ix, int64_t id,
							      struct cairn_chunk_list *list);

/** A xorb of a dedupe answer. Borrowed for the time of the call. */
struct cairn_index_dedupe_xorb {
	struct cairn_index_xorb xorb;
	const struct cairn_chunk_list *list;
	const uint32_t *eligible; /* places of its eligible chunks in this scope, ascending */
	uint32_t n_eligible;
};

/** Recognizes most misses of chunk queries in memory; most queries are misses. @return false: cairn_index_dedupe()
 *  would find nothing; true: it may (one untracked chunk in some hundred gets this answer). Any thread. */
bool cairn_index_may_dedupe(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk);

/** A chunk query to screen without waiting. The caller sets the first three members. Lives until done() is called. */
struct cairn_index_screen {
	const char *scope; /* borrowed likewise */
	struct cairn_hash chunk;
	void (*done)(struct cairn_index_screen *screen); /* on a thread of the index; must not block */
	enum cairn_status status; /* out: CAIRN_OK cairn_index_dedupe() may find it; CAIRN_E_NOT_FOUND it would find
				     nothing; as every read */
	struct cairn_index_screen *next; /* the index's */
};

/** Screens a chunk query if the index is on another machine. Concurrent queries go there as one. Any thread. @return
 * false: done() will not be called; cairn_index_may_dedupe() answers without waiting */
bool cairn_index_screen(struct cairn_index *ix, struct cairn_index_screen *screen);
/** Waits until done() has been called for all screens. */
void cairn_index_finish_screens(struct cairn_index *ix);

/** Answers a chunk query in one snapshot: first the xorb that holds the chunk, then its neighbours (xorbs of the same
 * shard), without retired and damaged ones. Xorbs whose bytes are lost or kept elsewhere have stored_bytes 0.
 * @param visit  @return false to stop
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND not tracked in this scope or the shared one; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_dedupe(
	struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk,
	bool (*visit)(void *ctx, const struct cairn_index_dedupe_xorb *xorb), void *ctx);

/** A term as stored. */
struct cairn_index_term {
	int64_t xorb_id;
	uint16_t start, end; /* chunks */
	uint32_t unpacked_bytes;
	uint32_t first_byte, end_byte; /* where they lie in the xorb's object, end exclusive; both 0 while it has none.
					* They count unless the xorb was repacked */
};

/** How much an owner's claim of a file's SHA-256 is believed (proof.h). Rows keep these values. */
enum cairn_index_belief {
	CAIRN_INDEX_FALSE = 0,  /* the bytes have another SHA-256 */
	CAIRN_INDEX_COPIED = 1, /* another owner's claim, adopted with the file: no upload is skipped for it */
	CAIRN_INDEX_SAID = 2,
	CAIRN_INDEX_PROVED = 3, /* the bytes were read */
};

/** A file. Zeroed is empty. */
struct cairn_index_file {
	int64_t id; /* set by walks over all files; else 0 */
	struct cairn_hash hash;
	uint64_t size_bytes;
	enum cairn_index_belief belief; /* set by lookups by SHA-256 */
	uint32_t n_terms;
	struct cairn_index_term *terms; /* owned; NULL when not asked for */
};
void cairn_index_file_fini(struct cairn_index_file *file);

/** Returns a file. @param with_terms  also read the terms (24 bytes each)
 *  @param[out] out  cairn_index_file_fini()
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND unknown, or not the viewer's to read; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_file(struct cairn_index *ix, const struct cairn_hash *hash,
						  const char *viewer, bool with_terms, struct cairn_index_file *out);

/** Returns the file with this SHA-256 by its uploader's claim, without terms. The viewer's claim counts first, then the
 * operator's. For viewer NULL only the operator's counts, and for a repository of the hub (hub.h) only its own. If an
 * owner has several such files, returns the most believed one, then the latest; never one proved false.
 * @param sha256  plain byte order  @return as cairn_index_file() */
CAIRN_MUST_USE enum cairn_status cairn_index_file_by_sha256(struct cairn_index *ix,
							    const uint8_t sha256[static CAIRN_SHA256_BYTES],
							    const char *viewer, struct cairn_index_file *out);

/** The data of a xorb that a plan needs. Borrowed for the time of the call. */
struct cairn_index_spans {
	struct cairn_hash xorb;
	uint64_t stored_bytes; /* of the object; 0: its bytes are kept elsewhere */
	struct cairn_copy_id copy;
	uint32_t n_chunks;
	/** The places of its n_chunks chunks; NULL: not wanted, and the offsets in terms are right. */
	const struct cairn_span *spans;
};

/** Visit n xorbs within one snapshot, in the order of their ids in the call.
 * @param with_spans  two places among them (they may be equal, or past the end: none) whose spans are wanted. Spans of
 *                    a xorb that was repacked, or whose bytes are elsewhere, always come
 * @param visit       any status but CAIRN_OK ends the call with it
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND one of them is gone; what visit answered; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_spans(
	struct cairn_index *ix, const int64_t *xorb_ids, uint32_t n, const uint32_t with_spans[static 2],
	enum cairn_status (*visit)(void *ctx, const struct cairn_index_spans *places), void *ctx);

/** Callbacks to read a file and its xorbs at once, for a plan. */
struct cairn_index_planner {
	uint32_t n_terms_max; /* at least 1; a file with more terms is not read */
	/** Called when the file was found, to choose xorbs of it. *ids must stay valid until the call ends; with_spans
	 * as of cairn_index_spans(), none so far. @return any status but CAIRN_OK ends the call with it */
	enum cairn_status (*choose)(struct cairn_index_planner *planner, const struct cairn_index_file *file,
				    const int64_t **ids, uint32_t *n, uint32_t with_spans[static 2]);
	/** See visit() of cairn_index_spans(). */
	enum cairn_status (*visit)(void *planner, const struct cairn_index_spans *places);
};

/** Calls cairn_index_file() with terms and then cairn_index_spans() of the chosen xorbs. Both see one snapshot if the
 * index is on this machine.
 * @return as both, or the planner's status; CAIRN_E_BUSY: the file has more terms than n_terms_max */
CAIRN_MUST_USE enum cairn_status cairn_index_plan(struct cairn_index *ix, const struct cairn_hash *hash,
						  const char *viewer, struct cairn_index_planner *planner,
						  struct cairn_index_file *out);

/** When a shard was last registered. Zeroed if readers never see a commit that is not durable. Plain value. */
struct cairn_index_registered {
	int64_t collection; /* removals before it */
	int64_t at_unix_s;
};

/** The results of a lookup of a shard, which registering need not look up again. Zeroed: it must. Plain value. */
struct cairn_index_seen {
	bool plain;           /* all is new except its xorbs, which are stored */
	int64_t collection;   /* number of removals before the lookup */
	int64_t server;       /* the server that answered: each has row numbers of its own */
	int64_t scope, owner; /* numbers of rows */
};

/** A xorb of a shard that was looked up. */
struct cairn_index_seen_xorb {
	int64_t id; /* 0: not stored, retired, or unknown */
	/** Places of the chunks without hashes, if the shard describes the xorb. Owned by the owner of the array. */
	struct cairn_chunk_list places;
};

enum {
	CAIRN_INDEX_LOOKUP_XORBS_MAX = 64, /* as many as a stock client fills before it sends a shard */
	CAIRN_INDEX_LOOKUP_FILES_MAX = 1000,
};

/** A lookup of a shard before it is verified: one exchange. The sender may learn only that the shard is known. */
struct cairn_index_shard_lookup {
	struct cairn_hash body; /* identity of the upload */
	const char *scope;      /* borrowed, as the rest */
	const char *owner;
	/* The shard's xorbs and files; left out if they exceed the limits. */
	const struct cairn_hash *xorbs; /* the described ones first */
	const struct cairn_hash *files;
	uint32_t n_xorbs, n_described, n_files;

	bool known; /* result; this owner's body was accepted in this scope (of a repository: within the hour) */
	struct cairn_index_registered registered; /* result, if known; for cairn_index_confirm_shard() */
	struct cairn_index_seen seen;             /* result, if not known; for cairn_index_put_shard() */
	struct cairn_index_seen_xorb *found;      /* room for n_xorbs of them, zeroed */
};

/** @return CAIRN_OK; as every read. An engine that finds xorbs as fast one by one sets neither `found` nor `seen` */
CAIRN_MUST_USE enum cairn_status cairn_index_look_up_shard(struct cairn_index *ix,
							   struct cairn_index_shard_lookup *lookup);

enum { CAIRN_INDEX_HOLDER_BYTES = 96 };

/** The log of commits, if the engine keeps one on this machine. A read that does not end keeps the log from being used
 * anew, so it grows. Plain value. */
struct cairn_index_log {
	uint64_t bytes;                        /* its size on disk */
	int64_t held_ms;                       /* for how long a read has held it, by the last checkpoint */
	char holder[CAIRN_INDEX_HOLDER_BYTES]; /* who reads, for people; empty: nobody holds it */
};

struct cairn_index_stats {
	uint64_t n_files, n_xorbs, n_shards, n_eligible; /* rows, as of the last commit */
	uint64_t stored_bytes;                           /* of all xorbs' objects */
	uint64_t file_bytes;                             /* its size on disk, the log included */
	struct cairn_index_log log;
	uint64_t n_commits, n_writes;               /* since opening: transactions, and the writes in them */
	uint64_t n_queued;                          /* writes waiting now, also for a standby */
	uint64_t filter_bytes;                      /* memory of the filter that answers most misses */
	bool filter_complete;                       /* false: still being filled, so it rules nothing out */
	uint64_t n_asked, n_asked_failed, asked_ms; /* exchanges with a server, and their total time */
	int64_t clock_ahead_ms; /* this clock minus the server's; 0 where one process writes the index */
	/* The version of SQLite if it has the WAL-reset bug, which loses commits unless checkpoints keep to an order
	   (README.md). NULL: it does not, or the engine is another one. Lives as long as the process. */
	const char *reset_bug;
};
void cairn_index_stats(struct cairn_index *ix, struct cairn_index_stats *out);

/** Tests whether the index can be written, by a real write queued behind the others. @return CAIRN_OK; as a write that
 *  changes nothing: CAIRN_E_IO, CAIRN_E_DAMAGED, CAIRN_E_FULL, CAIRN_E_NOMEM; CAIRN_E_BUSY no answer and no commit
 * within CAIRN_INDEX_PROBE_MS, or its server is silent */
CAIRN_MUST_USE enum cairn_status cairn_index_writable(struct cairn_index *ix);

/** Waits until all writes queued before have succeeded or failed. @param timeout_ms  whole seconds count
 *  @return false: timed out */
bool cairn_index_flush(struct cairn_index *ix, int64_t timeout_ms);

/** Grows whenever any daemon stops offering a xorb; earlier answers may still offer it. Read from memory; up to a
 * second late where others write. */
uint64_t cairn_index_withdrawn(struct cairn_index *ix);

/** Does the engine's background work succeed? Read from memory. @return CAIRN_OK; CAIRN_E_IO with what to do in diag:
 *  nothing is lost, and writes go on for some time. */
CAIRN_MUST_USE enum cairn_status cairn_index_upkeep(struct cairn_index *ix, struct cairn_diag *diag);

/** The health of the index: a failure of disk or engine is reported from the first failed write until it is over
 * (health.h). Read from memory.
 * @return CAIRN_OK; CAIRN_E_FULL, CAIRN_E_IO, CAIRN_E_DAMAGED, CAIRN_E_BUSY, CAIRN_E_NOMEM with the cause in diag */
CAIRN_MUST_USE enum cairn_status cairn_index_health(struct cairn_index *ix, struct cairn_diag *diag);

/** Marks the index as damaged: cairn_index_health() reports it until the index is opened again. */
void cairn_index_condemn(struct cairn_index *ix, const struct cairn_diag *diag);

/* Garbage. A xorb that no file needs is removed in two steps, each in pieces of a few milliseconds so that uploads wait
 * no longer. gc_mark retires a xorb that is not referenced, and neither new nor renewed within the grace time; it is no
 * longer offered. gc_sweep durably removes the rows of a xorb that has been retired for longer than the grace time and
 * is still not referenced. Only then may the caller remove its object; a crash in between leaves an object without a
 * row. A client may refer to a xorb that an answer (to a chunk query, HEAD, a grant) has offered, for as long as that
 * answer is good. A retired xorb gets no such answer. Any other xorb must first be retired, and then stays for the
 * sweep's grace time, which must be longer than any answer lives. So an answer needs no write: every query is a read,
 * and queries keep no garbage. An acknowledged upload of the same bytes sends renew_xorb: the xorb is as if it had just
 * come. Renewal, and a shard that names the xorb, end its retirement. Before an object is removed, no put of the same
 * xorb may slip between its row and its object. So hold the hash from gc_sweep's done() to the removal, or call
 * cairn_index_xorb() again while holding it. Every removal of a file, a xorb or an eligible chunk makes all earlier
 * shards unknown. So they are registered anew if they come again. */
enum {
	CAIRN_INDEX_GC_MS = 5,       /* statements of one gc_mark or gc_sweep */
	CAIRN_INDEX_SWEEP_MAX = 512, /* xorbs of one gc_sweep */
};

/* Copies, where rows name them. The bytes of a xorb are stored under a name that is used once, and its row has that
 * name. So daemons that share a store need no lock over it. Each PUTs its own copy, the row committed first decides
 * which copy counts, and a DELETE removes exactly the copy it means. A copy is dead if no row names it and none ever
 * will: its xorb was swept, or its upload found the xorb registered by another. The same transaction records the copy
 * as dead, and only such copies' objects are removed: find_dead lists them, and bury records that their objects are
 * gone. A row that would name a dead copy is refused (CAIRN_E_BUSY, xorb.replaced).
 *
 * An upload killed between its PUT and its commit leaves a copy that no row names. A caller that lists the store finds
 * these with each_unnamed and writes them off: they are dead, unless a row has named them meanwhile. A dead copy stays
 * recorded for seven days after its object is gone. So that no upload can sleep that long and name it then, a row may
 * name only a recent copy. It is refused (CAIRN_E_BUSY, xorb.late) when the date in the copy's name differs from the
 * server's time by more than CAIRN_INDEX_COPY_LIFE_S. */
enum { CAIRN_INDEX_COPY_LIFE_S = 24 * 3600 };

/** A copy, and the xorb it belongs to. Plain value. */
struct cairn_index_copy {
	struct cairn_hash hash;
	struct cairn_copy_id copy;
};

typedef void cairn_index_visit_copy(void *ctx, const struct cairn_hash *hash, const struct cairn_copy_id *copy);

/** Counts the dead copies whose objects are still to be removed. For information only.
 *  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_count_dead(struct cairn_index *ix, uint64_t *n);

/** Visits those of n copies that no row names and that are not recorded as dead. Copies of a lost xorb are left out:
 *  their bytes may be needed. @param n  at most CAIRN_INDEX_SWEEP_MAX @return as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_unnamed(struct cairn_index *ix, const struct cairn_index_copy *copies,
							  uint32_t n, cairn_index_visit_copy *visit, void *ctx);

/* --- writing: group commit ---------------------------------------------------------------------------------------- */

/**
 * A queued write: the head of each request below. The caller owns a request and all that it borrows, and must keep both
 * until the write is done.
 *
 * Each call queues its request and returns CAIRN_OK. It returns CAIRN_E_BUSY when the queue is full or the index was
 * opened for reading only; then done() will not be called. If done is NULL, the call waits for the write, and returns
 * its status or CAIRN_E_BUSY. */
struct cairn_index_write {
	/** Called once on a thread of the index, when the write is durable or has failed. May free the request. */
	void (*done)(struct cairn_index_write *write);
	const struct cairn_index_lease *lease; /* borrowed; refused if this lease is lost; NULL: none */

	/* results; the other results of a request are set only with CAIRN_OK */
	/** CAIRN_OK. Otherwise nothing was written, unless a server fell silent during the commit:
	 *   CAIRN_E_CONFLICT  a xorb it relies on was removed meanwhile, or differs; and as the request says
	 *   CAIRN_E_NOT_FOUND, CAIRN_E_DENIED, CAIRN_E_LIMIT, CAIRN_E_USAGE  only of requests that say so
	 *   CAIRN_E_BUSY      no writes are taken (index.frozen), another daemon has the lease now (lease.over), or the
	 *                     engine is silent (index.silent); and as the request says
	 *   CAIRN_E_FULL, CAIRN_E_IO, CAIRN_E_DAMAGED, CAIRN_E_NOMEM  of the engine (index.database, index.corrupt)
	 *   CAIRN_E_FORMAT    a text is not UTF-8, and the engine cannot keep it */
	enum cairn_status status;
	struct cairn_diag diag;

	/* the index's */
	const struct cairn_index_kind *kind;
	struct cairn_index_write *next;
	struct cairn_writer_turn *turn;  /* its sender's */
	struct cairn_index_stage *stage; /* of a write that takes several transactions; NULL: of none, or not begun */
	uint64_t place;                  /* in the queue's order */
	void *waiting;
	bool applied; /* already, together with other writes of the transaction */
};

/** A xorb whose bytes are stored. CAIRN_E_CONFLICT: it is known with other chunks; CAIRN_E_BUSY: the copy is dead
 * (xorb.replaced) or too old to be named (xorb.late); CAIRN_E_DENIED: too much that the owner uploaded is needed by no
 * file (quota.unregistered). */
struct cairn_index_put_xorb {
	struct cairn_index_write write;
	struct cairn_hash hash;
	const struct cairn_chunk_list *list; /* borrowed */
	uint64_t stored_bytes;
	struct cairn_copy_id copy; /* the stored copy; see "copies" */
	/* The copy was found in the store and read, not put for this request, so it may be of any date. The caller then
	 * checks that the copy still exists once the row names it, and otherwise marks the xorb as lost. */
	bool found;
	/* The repository of the upload. A new xorb counts for its account, or for another owner, until a file needs it.
	 * Borrowed; NULL: it does not count. */
	const char *owner;
	uint64_t unregistered_max; /* bytes that may count so; 0: this one does not count */
	bool added;                /* result; false: it was known and stored */
};
CAIRN_MUST_USE enum cairn_status cairn_index_put_xorb(struct cairn_index *ix, struct cairn_index_put_xorb *put);

/** Registers a verified shard. All of it becomes visible at once; with an engine on another machine, before the write
 * is done. CAIRN_E_DENIED: the owner is a repository of the hub that does not exist (repo.gone; hub.h), or holds too
 * much (quota.repo, quota.account; quota.h). CAIRN_E_BUSY also: the visible commit was lost again (index.silent). */
struct cairn_index_put_shard {
	struct cairn_index_write write;
	struct cairn_hash body; /* identity of the upload */
	const char *scope;      /* borrowed, as the rest */
	const char *owner;
	const struct cairn_index_new_shard *shard;
	uint64_t records_bytes; /* size of its records: a large shard is committed alone */
	/* The lookup whose xorb numbers the records use. Zeroed: none. */
	struct cairn_index_seen seen;
	bool added;                               /* result; false: all was known already, maybe from other uploads */
	struct cairn_index_registered registered; /* the index's */
};
CAIRN_MUST_USE enum cairn_status cairn_index_put_shard(struct cairn_index *ix, struct cairn_index_put_shard *put);

/** Removes a file from an owner, or from all. The file is deleted with its last owner. */
struct cairn_index_forget_file {
	struct cairn_index_write write;
	struct cairn_hash hash;
	const char *owner; /* borrowed; NULL: all of them */
	bool forgotten;    /* result; false: no such file, or not the owner's */
};
CAIRN_MUST_USE enum cairn_status cairn_index_forget_file(struct cairn_index *ix,
							 struct cairn_index_forget_file *forget);

/** Gives a file to one more owner. CAIRN_E_NOT_FOUND: there is no such file (file.unknown), or the owner's repository
 * is gone (repo.gone); CAIRN_E_DENIED: the owner holds too much (quota.repo, quota.account). */
struct cairn_index_share_file {
	struct cairn_index_write write;
	struct cairn_hash hash;
	const char *owner; /* borrowed */
	bool shared;       /* result; false: it was the owner's */
};
CAIRN_MUST_USE enum cairn_status cairn_index_share_file(struct cairn_index *ix, struct cairn_index_share_file *share);

/** When it is done, the outcome of all earlier commits is final, even of one whose answer was lost. */
struct cairn_index_confirm {
	struct cairn_index_write write;
};
CAIRN_MUST_USE enum cairn_status cairn_index_confirm(struct cairn_index *ix, struct cairn_index_confirm *confirm);

/** Waits until a shard that cairn_index_look_up_shard() knows is durable. Readers may see a commit that still waits for
 * a standby and may never get there, so answer "known already" only after this. CAIRN_E_BUSY also: the shard is no
 * longer known (index.silent). */
struct cairn_index_confirm_shard {
	struct cairn_index_write write;
	struct cairn_hash body;
	const char *scope, *owner;                /* borrowed */
	struct cairn_index_registered registered; /* as it was read */
};
CAIRN_MUST_USE enum cairn_status cairn_index_confirm_shard(struct cairn_index *ix,
							   struct cairn_index_confirm_shard *confirm);

/** Renews a xorb, as if it had just come, and ends its retirement. CAIRN_E_NOT_FOUND: it is gone, don't promise it. */
struct cairn_index_renew_xorb {
	struct cairn_index_write write;
	struct cairn_hash hash;
	int64_t now_unix_s;
};
CAIRN_MUST_USE enum cairn_status cairn_index_renew_xorb(struct cairn_index *ix, struct cairn_index_renew_xorb *renew);

/** Marks a xorb as lost because its object is missing or damaged. It is no longer offered, and counts as kept elsewhere
 * until it is put again. CAIRN_E_NOT_FOUND: no such xorb; CAIRN_E_BUSY: its row names another copy by now. */
struct cairn_index_lose_xorb {
	struct cairn_index_write write;
	struct cairn_hash hash;
	struct cairn_copy_id copy; /* the examined copy, as the row named it */
};
CAIRN_MUST_USE enum cairn_status cairn_index_lose_xorb(struct cairn_index *ix, struct cairn_index_lose_xorb *lose);

struct cairn_index_gc_mark {
	struct cairn_index_write write;
	const struct cairn_index_needs *needs; /* borrowed; NULL: not asked */
	int64_t now_unix_s;
	int64_t grace_s;    /* since arrival or renewal */
	int64_t from_id;    /* 0: from the first */
	int64_t next_id;    /* result: from_id of the next call; 0: all are done */
	uint32_t n_retired; /* result */
	uint32_t n_doubted; /* result: kept because only `needs` has them */
};
CAIRN_MUST_USE enum cairn_status cairn_index_gc_mark(struct cairn_index *ix, struct cairn_index_gc_mark *mark);

struct cairn_index_gc_sweep {
	struct cairn_index_write write;
	const struct cairn_index_needs *needs; /* borrowed: what files need; NULL: only references are checked */
	int64_t now_unix_s;
	int64_t grace_s;          /* a xorb is swept so long after it was retired */
	struct cairn_hash *swept; /* borrowed, n_max of them; result: n */
	uint32_t n_max;           /* at most CAIRN_INDEX_SWEEP_MAX count */
	uint32_t n;               /* result: these rows are gone */
	uint32_t n_doubted;       /* result: as above; their retirement ended */
	bool more;                /* result: there may be more to sweep */
};
CAIRN_MUST_USE enum cairn_status cairn_index_gc_sweep(struct cairn_index *ix, struct cairn_index_gc_sweep *sweep);

/** Lists the dead copies whose objects may still exist, by name; see "copies" above. A write that changes nothing, so
 * its result is durable and goes only to the holder of the lease. Only where rows name copies. */
struct cairn_index_find_dead {
	struct cairn_index_write write;
	struct cairn_copy_id after;     /* only names after this one; unset: from the first */
	struct cairn_index_copy *found; /* borrowed, n_max of them; result: n */
	uint32_t n_max;                 /* at most CAIRN_INDEX_SWEEP_MAX count */
	uint32_t n;
};
CAIRN_MUST_USE enum cairn_status cairn_index_find_dead(struct cairn_index *ix, struct cairn_index_find_dead *find);

/** Records that the objects of these copies are gone; see "copies" above. Only where rows name copies. */
struct cairn_index_bury {
	struct cairn_index_write write;
	const struct cairn_copy_id *copies; /* borrowed */
	uint32_t n;
};
CAIRN_MUST_USE enum cairn_status cairn_index_bury(struct cairn_index *ix, struct cairn_index_bury *bury);

/** Records as dead those of these copies that no row names; see "copies" above. Only where rows name copies. */
struct cairn_index_write_off {
	struct cairn_index_write write;
	const struct cairn_index_copy *copies; /* borrowed */
	uint32_t n;
	uint32_t n_dead; /* result: new dead copies */
};
CAIRN_MUST_USE enum cairn_status cairn_index_write_off(struct cairn_index *ix, struct cairn_index_write_off *off);

#endif
