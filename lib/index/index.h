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
 * Threads: any thread may make any call but opening and closing. Reads see whole commits only.
 *
 * Statuses. "As every read" names the statuses that any function of this folder may return if it writes nothing:
 *   CAIRN_E_IO       the engine or its disk failed
 *   CAIRN_E_DAMAGED  a row, or a page of the engine, is malformed
 *   CAIRN_E_FULL     the engine lacks room for its working data, such as the shared memory of a log
 *   CAIRN_E_NOMEM
 *   CAIRN_E_BUSY     the engine is on another machine and silent, so nothing is known
 *   CAIRN_E_FORMAT, CAIRN_E_LIMIT  from such an engine: a text is not UTF-8, or the query is too long
 *
 * For the statuses of writes see struct cairn_index_write. */
struct cairn_index;
struct cairn_index_needs; /* needs.h */
struct cairn_index_kind;  /* kind of a write: internal */

/* The best of this many latest files of an owner with one SHA-256 counts. A text for SQL statements. */
#define CAIRN_INDEX_SAME_MAX "64"

enum {
	CAIRN_INDEX_SCOPE_TEXT_MAX = 255, /* bytes of a scope's or owner's name */
	CAIRN_INDEX_PROBE_MS = 2000,      /* longest time that cairn_index_writable() waits */
	CAIRN_INDEX_OWNER_BYTES_MAX = 64,
	/* claims of a SHA-256 that an owner may make for a file; further ones are dropped */
	CAIRN_INDEX_CLAIMS_MAX = 4,
	/* claims proved false, kept in addition; at this number further claims are refused */
	CAIRN_INDEX_LIES_MAX = 16,
};

/** How to open an index. Zeroed: to write, with defaults. */
struct cairn_index_options {
	unsigned batch_max;  /* writes in one transaction; 0: 64 */
	unsigned queue_max;  /* writes that wait; 0: 4096 */
	uint64_t keep_bytes; /* free disk space that an engine on this machine should leave */
	/** Open for reading only: each write returns CAIRN_E_BUSY. No process may have the index open for writing. */
	bool read_only;
	/** The name of the owner that an index on another machine must have to be written; the data folder stores the
	 * name. An index without rows and owner gets it. NULL: not checked. */
	const char *owner;
	/** Other daemons write the index on another machine, too. Their commits are seen a second later. */
	bool shared;
};

/** Migrates an index to this program's version, or creates it.
 * @param url  as below
 * @param[out] from  version before; 0: created
 * @param[out] to    version now
 * @return CAIRN_OK; otherwise as cairn_index_open() */
CAIRN_MUST_USE enum cairn_status cairn_index_migrate(const char *url, struct cairn_diag *diag, int *from, int *to);

/** Returns the version of an index, and checks whether this program would open or migrate it. Changes nothing; another
 * process may have it open. If the index is a file, the file must exist.
 * @param[out] version  0: there is no index, and no file that could be an index
 * @param[out] latest  this program's version
 * @return as cairn_index_open(), except that an older version is no error */
CAIRN_MUST_USE enum cairn_status cairn_index_version(const char *url, int *version, int *latest,
						     struct cairn_diag *diag);

enum { CAIRN_INDEX_REACH_PORTS = 8, CAIRN_INDEX_REACH_FILES = 12, CAIRN_INDEX_REACH_PATH_BYTES = 1024 };

/** The ports and files that a process needs to connect to an index. Zeroed: none. Plain value. */
struct cairn_index_reach {
	uint16_t ports[CAIRN_INDEX_REACH_PORTS]; /* ports of TCP */
	size_t n_ports;
	bool by_socket; /* reached by a Unix socket */
	/* files and folders, read at each connection */
	char files[CAIRN_INDEX_REACH_FILES][CAIRN_INDEX_REACH_PATH_BYTES];
	size_t n_files;
};

/** Finds the ports and files that an index needs, for the sandbox. @return CAIRN_OK; CAIRN_E_USAGE no engine has such a
 * URL (index.url), or it has a password (index.password), which diag does not repeat; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_index_reach(const char *url, struct cairn_index_reach *out,
						   struct cairn_diag *diag);

/** Opens an index by its URL.
 * - "sqlite:DIR": in DIR/index.sqlite and other files of DIR. (An index opened for reading only includes the log that a
 *   killed process left; SQLite then makes its scratch file index.sqlite-shm.)
 * - "postgres://...", as libpq understands it, and schema=NAME among its parameters. Only one process has it open for
 *   writing. If the server does not answer, calls return CAIRN_E_BUSY (index.silent) within 5 s.
 * @param[out] out  owned by the caller, cairn_index_free()
 * @param options  NULL: defaults
 * @return CAIRN_OK
 *         CAIRN_E_USAGE  no engine has such a URL (index.url), or it has a password (index.password)
 *         CAIRN_E_CONFLICT  made by a newer version (index.newer) or not Cairn's (index.foreign), and not changed;
 *         made by an older version (index.older); it belongs to another data folder (index.owner), or is in use
 *         (index.taken)
 *         CAIRN_E_FULL  the disk is full, and so is the reserve for opening (index.full)
 *         CAIRN_E_DAMAGED, CAIRN_E_IO, CAIRN_E_BUSY (index.silent) with the cause in diag
 *         CAIRN_E_NOMEM  also if no thread can be started (index.thread) */
CAIRN_MUST_USE enum cairn_status cairn_index_open(struct cairn_index **out, const char *url,
						  const struct cairn_index_options *options, struct cairn_diag *diag);

/** Is the index on another machine? Then calls may block for long: do not call it on a thread that others wait for. */
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
	uint64_t stored_bytes;     /* length of the object; 0: the bytes are stored elsewhere */
	int64_t at_unix_s;         /* when it arrived, or was last renewed */
	int64_t withdrawn_unix_s;  /* since when it is not offered, although files need it; 0: it is offered */
	bool referenced;           /* a file needs this xorb */
	bool retired;              /* no file needs it; it is removed when its grace time is over */
	struct cairn_copy_id copy; /* copy id of its object; unset if rows name no copies */
};

/** Do rows name the copy of their object? Then several daemons may share a store; see "Copies" below. */
bool cairn_index_names_copies(const struct cairn_index *ix);

/** Returns the row of a xorb. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_xorb(struct cairn_index *ix, const struct cairn_hash *hash,
						  struct cairn_index_xorb *out);

/** Does what cairn_index_xorb() does, by the number in a term. */
CAIRN_MUST_USE enum cairn_status cairn_index_xorb_by_id(struct cairn_index *ix, int64_t id,
							struct cairn_index_xorb *out);

/** Returns the row, and the chunks if the engine reads both in one query. Otherwise, or on failure, the list stays
 * empty.
 * @param[in,out] list  empty; owned by the caller @return as cairn_index_xorb() */
CAIRN_MUST_USE enum cairn_status cairn_index_xorb_and_list(struct cairn_index *ix, const struct cairn_hash *hash,
							   struct cairn_index_xorb *out, struct cairn_chunk_list *list);

/** Returns the chunks of a xorb. @param[out] list  owned by the caller, cairn_chunk_list_fini()
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_chunk_list(struct cairn_index *ix, const struct cairn_hash *xorb,
							struct cairn_chunk_list *list);

/** Does what cairn_index_chunk_list() does, by the number in the xorb's row. */
CAIRN_MUST_USE enum cairn_status cairn_index_chunk_list_by_id(struct cairn_index *ix, int64_t id,
							      struct cairn_chunk_list *list);

/** A xorb of a dedupe answer. Borrowed during the call. */
struct cairn_index_dedupe_xorb {
	struct cairn_index_xorb xorb;
	const struct cairn_chunk_list *list;
	const uint32_t *eligible; /* places of its eligible chunks in this scope, ascending */
	uint32_t n_eligible;
};

/** Recognizes in memory most chunk queries that find nothing, as most queries do. @return false: cairn_index_dedupe()
 * would find nothing; true: it may (one untracked chunk in some hundred gets this answer). Any thread. */
bool cairn_index_may_dedupe(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk);

/** A chunk query to screen without waiting. The caller sets the first three members, and keeps it until done(). */
struct cairn_index_screen {
	const char *scope; /* borrowed until done() */
	struct cairn_hash chunk;
	void (*done)(struct cairn_index_screen *screen); /* called on a thread of the index; must not block */
	enum cairn_status status; /* result: CAIRN_OK cairn_index_dedupe() may find the chunk; CAIRN_E_NOT_FOUND it
				     would find nothing; as every read */
	struct cairn_index_screen *next; /* used by the index */
};

/** Screens a chunk query if the index is on another machine. Concurrent queries are sent together. Any thread. @return
 * false: done() will not be called; cairn_index_may_dedupe() answers without waiting */
bool cairn_index_screen(struct cairn_index *ix, struct cairn_index_screen *screen);
/** Waits until done() has been called for all screens. */
void cairn_index_finish_screens(struct cairn_index *ix);

/** Answers a chunk query in one snapshot: first the xorb that holds the chunk, then its neighbours (xorbs of the same
 * shard), without retired and damaged ones. Xorbs whose bytes are lost or stored elsewhere have stored_bytes 0.
 * @param withdrawn  also finds withdrawn xorbs (hub/mirror_offers.h), which must be offered to nobody
 * @param visit  @return false to stop
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the chunk is not tracked in this scope or the shared one; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_dedupe(
	struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk, bool withdrawn,
	bool (*visit)(void *ctx, const struct cairn_index_dedupe_xorb *xorb), void *ctx);

/** A term as stored. */
struct cairn_index_term {
	int64_t xorb_id;
	uint16_t start, end; /* chunks */
	uint32_t unpacked_bytes;
	uint32_t first_byte, end_byte; /* bytes in the xorb's object, end exclusive; both 0 while it has none. Not valid
					  if the xorb was repacked */
};

/** How much an owner's claim of a file's SHA-256 is believed (proof.h). Rows store these values. */
enum cairn_index_belief {
	CAIRN_INDEX_FALSE = 0,  /* the bytes have another SHA-256 */
	CAIRN_INDEX_COPIED = 1, /* another owner's claim, adopted with the file: no upload is skipped because of it */
	CAIRN_INDEX_SAID = 2,
	CAIRN_INDEX_PROVED = 3, /* the bytes were read and have this SHA-256 */
};

/** A file. Zeroed is empty. */
struct cairn_index_file {
	int64_t id; /* set when all files are listed; else 0 */
	struct cairn_hash hash;
	uint64_t size_bytes;
	enum cairn_index_belief belief; /* set by lookups by SHA-256 */
	uint32_t n_terms;
	struct cairn_index_term *terms; /* owned; NULL if not requested */
};
void cairn_index_file_fini(struct cairn_index_file *file);

/** Returns a file. @param with_terms  also read the terms (24 bytes each)
 * @param[out] out  cairn_index_file_fini()
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND unknown, or the viewer may not read it; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_file(struct cairn_index *ix, const struct cairn_hash *hash,
						  const char *viewer, bool with_terms, struct cairn_index_file *out);

/** Returns the file with this SHA-256 by a claim, without terms. The viewer's claim counts first, then the operator's.
 * For viewer NULL only the operator's counts, and for a repository of the hub (hub.h) only its own. If an owner has
 * several such files, returns the most believed, then the latest; never one proved false.
 * @param sha256  in plain byte order  @return as cairn_index_file() */
CAIRN_MUST_USE enum cairn_status cairn_index_file_by_sha256(struct cairn_index *ix,
							    const uint8_t sha256[static CAIRN_SHA256_BYTES],
							    const char *viewer, struct cairn_index_file *out);

/** The data of a xorb that a plan needs. Borrowed during the call. */
struct cairn_index_spans {
	struct cairn_hash xorb;
	uint64_t stored_bytes; /* length of the object; 0: the bytes are stored elsewhere */
	struct cairn_copy_id copy;
	uint32_t n_chunks;
	/** The places of its n_chunks chunks; NULL: not requested, and the offsets in terms are right. */
	const struct cairn_span *spans;
};

/** Visits n xorbs within one snapshot, in the order of their ids in the call.
 * @param with_spans  two indexes of ids (they may be equal, or past the end: none) whose spans are requested. Spans of
 *                    a xorb that was repacked, or whose bytes are elsewhere, always come
 * @param visit       any status but CAIRN_OK ends the call with it
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND a xorb does not exist; what visit returned; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_spans(
	struct cairn_index *ix, const int64_t *xorb_ids, uint32_t n, const uint32_t with_spans[static 2],
	enum cairn_status (*visit)(void *ctx, const struct cairn_index_spans *places), void *ctx);

/** Callbacks to read a file and its xorbs at once, for a plan. */
struct cairn_index_planner {
	uint32_t n_terms_max; /* at least 1; a file with more terms is not read */
	/** Called when the file was found, to choose some of its xorbs. *ids must stay valid until the call ends;
	 * with_spans is as for cairn_index_spans(), at first none. @return any status but CAIRN_OK ends the call with
	 * it */
	enum cairn_status (*choose)(struct cairn_index_planner *planner, const struct cairn_index_file *file,
				    const int64_t **ids, uint32_t *n, uint32_t with_spans[static 2]);
	/** See visit() of cairn_index_spans(). */
	enum cairn_status (*visit)(void *planner, const struct cairn_index_spans *places);
};

/** Calls cairn_index_file() with terms, and then cairn_index_spans() for the chosen xorbs. Both see one snapshot if the
 * index is on this machine.
 * @return as both, or the planner's status; CAIRN_E_BUSY: the file has more terms than n_terms_max */
CAIRN_MUST_USE enum cairn_status cairn_index_plan(struct cairn_index *ix, const struct cairn_hash *hash,
						  const char *viewer, struct cairn_index_planner *planner,
						  struct cairn_index_file *out);

/** When a shard was last registered. Zeroed if readers never see a commit that is not durable. Plain value. */
struct cairn_index_registered {
	int64_t collection; /* number of removals before it */
	int64_t at_unix_s;
};

/** Results of a lookup of a shard, which registering need not look up again. Zeroed: it must. Plain value. */
struct cairn_index_seen {
	bool plain;           /* nothing of the shard is known except its xorbs, which are stored */
	int64_t collection;   /* number of removals before the lookup */
	int64_t server;       /* the server that answered: each server numbers rows by itself */
	int64_t scope, owner; /* numbers of rows */
};

/** A xorb of a shard that was looked up. */
struct cairn_index_seen_xorb {
	int64_t id; /* 0: not stored, retired, or unknown */
	/** Places of the chunks without hashes, if the shard describes the xorb. Owned with the array. */
	struct cairn_chunk_list places;
};

enum {
	CAIRN_INDEX_LOOKUP_XORBS_MAX = 64, /* as many as a stock client fills before it sends a shard */
	CAIRN_INDEX_LOOKUP_FILES_MAX = 1000,
};

/** A lookup of a shard before it is verified, in one exchange. The sender may learn only that the shard is known. */
struct cairn_index_shard_lookup {
	struct cairn_hash body; /* identity of the upload */
	const char *scope;      /* borrowed, as all pointers here */
	const char *owner;
	/* The shard's xorbs and files; left out if they exceed the limits. */
	const struct cairn_hash *xorbs; /* the described xorbs first */
	const struct cairn_hash *files;
	uint32_t n_xorbs, n_described, n_files;

	bool known; /* result; this owner's body was accepted in this scope (in a repository: within the last hour) */
	struct cairn_index_registered registered; /* result, if known; for cairn_index_confirm_shard() */
	struct cairn_index_seen seen;             /* result, if not known; for cairn_index_put_shard() */
	struct cairn_index_seen_xorb *found;      /* buffer for n_xorbs, zeroed */
};

/** Looks up a shard. Engines that find xorbs as fast singly set neither `found` nor `seen`. @return as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_look_up_shard(struct cairn_index *ix,
							   struct cairn_index_shard_lookup *lookup);

enum { CAIRN_INDEX_HOLDER_BYTES = 96 };

/** The log of commits, if the engine has one on this machine. A read that does not end keeps the log from being
 * restarted, so it grows. Plain value. */
struct cairn_index_log {
	uint64_t bytes;                        /* its size on disk */
	int64_t held_ms;                       /* how long a read has held it, by the last checkpoint */
	char holder[CAIRN_INDEX_HOLDER_BYTES]; /* names the reader, for people; empty: no read holds it */
};

struct cairn_index_stats {
	uint64_t n_files, n_xorbs, n_shards, n_eligible; /* rows, as of the last commit */
	uint64_t stored_bytes;                           /* of all xorbs' objects */
	uint64_t file_bytes;                             /* its size on disk, with the log */
	struct cairn_index_log log;
	uint64_t n_commits, n_writes;               /* since opening: transactions, and the writes in them */
	uint64_t n_queued;                          /* writes that wait now, also for a standby */
	uint64_t filter_bytes;                      /* memory of the filter that answers most misses */
	bool filter_complete;                       /* false: it is still being filled, so it rules nothing out */
	uint64_t n_asked, n_asked_failed, asked_ms; /* exchanges with a server, and their total time */
	int64_t clock_ahead_ms; /* this clock minus the server's; 0 where one process writes the index */
	/* The version of SQLite if it has the WAL-reset bug, which loses commits unless checkpoints keep to an order
	 * (README.md). NULL: it has not, or the engine is not SQLite. Lives as long as the process. */
	const char *reset_bug;
};
void cairn_index_stats(struct cairn_index *ix, struct cairn_index_stats *out);

/** Tests whether the index can be written, by a real write queued behind the others. @return CAIRN_OK; as a write that
 * changes nothing: CAIRN_E_IO, CAIRN_E_DAMAGED, CAIRN_E_FULL, CAIRN_E_NOMEM; CAIRN_E_BUSY no answer and no commit
 * within CAIRN_INDEX_PROBE_MS, or the server is silent */
CAIRN_MUST_USE enum cairn_status cairn_index_writable(struct cairn_index *ix);

/** Waits until all writes queued before have succeeded or failed. @param timeout_ms  rounded to whole seconds
 * @return false: timed out */
bool cairn_index_flush(struct cairn_index *ix, int64_t timeout_ms);

/** Returns a number that grows when any daemon stops offering a xorb; earlier answers may still offer it. Read from
 * memory; up to a second late if other daemons write. */
uint64_t cairn_index_withdrawn(struct cairn_index *ix);

/** Does the engine's background work succeed? Read from memory. @return CAIRN_OK; CAIRN_E_IO with advice in diag:
 * nothing is lost, and writes continue for some time. */
CAIRN_MUST_USE enum cairn_status cairn_index_upkeep(struct cairn_index *ix, struct cairn_diag *diag);

/** Reports the health of the index without asking it: a failure of disk or engine counts from the first failed write
 * until it is over (health.h).
 * @return CAIRN_OK; CAIRN_E_FULL, CAIRN_E_IO, CAIRN_E_DAMAGED, CAIRN_E_BUSY, CAIRN_E_NOMEM with the cause in diag */
CAIRN_MUST_USE enum cairn_status cairn_index_health(struct cairn_index *ix, struct cairn_diag *diag);

/** Marks the index as damaged: cairn_index_health() reports it until the index is opened again. */
void cairn_index_condemn(struct cairn_index *ix, const struct cairn_diag *diag);

/* Garbage. A xorb that no file needs is removed in two steps, each in pieces of a few milliseconds so that uploads wait
 * no longer. gc_mark retires a xorb that is not referenced, and neither new nor renewed within the grace time; it is no
 * longer offered. gc_sweep durably removes the rows of a xorb that has been retired for longer than the grace time and
 * is still not referenced. Only then may the caller remove its object; a crash in between leaves an object without a
 * row. A client may refer to a xorb that an answer (to a chunk query, HEAD, a grant) has offered, for as long as that
 * answer is good. A retired xorb gets no such answer. Neither does a withdrawn one (hub/mirror_offers.h), which gc_mark
 * retires as of the time when it was withdrawn, so that it stays for keep_s at least. Any other xorb must first be
 * retired, and then stays for the sweep's grace time, which must be longer than any answer lives. So an answer needs no
 * write: every query is a read, and queries keep no garbage. An acknowledged upload of the same bytes sends
 * renew_xorb: the xorb is as if it had just come. Renewal, and a shard that names the xorb, end its retirement. Before
 * an object is removed, no put of the same xorb may slip between its row and its object. So hold the hash from
 * gc_sweep's done() to the removal, or call cairn_index_xorb() again while holding it. Every removal of a file, a xorb
 * or an eligible chunk makes all earlier shards unknown. So they are registered anew if they come again. */
enum {
	CAIRN_INDEX_NEVER_OFFERED = 1, /* as the time of a withdrawal: from the beginning */
	CAIRN_INDEX_GC_MS = 5,         /* statements of one gc_mark or gc_sweep */
	CAIRN_INDEX_SWEEP_MAX = 512,   /* xorbs of one gc_sweep */
};

/* Copies, if rows name them. The bytes of a xorb are stored under a name that is used once, and its row has that name.
 * So daemons that share a store need no lock over it. Each PUTs its own copy, the row committed first decides which
 * copy counts, and a DELETE removes exactly the copy it means. A copy is dead if no row names it and none ever will:
 * its xorb was swept, or its upload found the xorb registered by another. The same transaction records the copy as
 * dead, and only such copies' objects are removed: find_dead lists them, and bury records that their objects are gone.
 * A row that would name a dead copy is refused (CAIRN_E_BUSY, xorb.replaced).
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

/** Counts the dead copies whose objects are not removed yet, for people.
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_count_dead(struct cairn_index *ix, uint64_t *n);

/** Visits those of n copies that no row names and that are not recorded as dead. Skips copies of a lost xorb: their
 * bytes may be needed. @param n  at most CAIRN_INDEX_SWEEP_MAX @return as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_unnamed(struct cairn_index *ix, const struct cairn_index_copy *copies,
							  uint32_t n, cairn_index_visit_copy *visit, void *ctx);

/* --- writing: group commit ---------------------------------------------------------------------------------------- */

/**
 * A queued write: the head of each request below. The caller owns a request and all values that it borrows, and must
 * keep both until the write is done.
 *
 * Each call queues its request and returns CAIRN_OK. It returns CAIRN_E_BUSY when the queue is full or the index was
 * opened for reading only; then done() will not be called. If done is NULL, the call waits for the write, and returns
 * its status or CAIRN_E_BUSY. */
struct cairn_index_write {
	/** Called once on a thread of the index, when the write is durable or has failed. May free the request. */
	void (*done)(struct cairn_index_write *write);
	const struct cairn_index_lease *lease; /* borrowed; the write is refused if this lease is lost; NULL: none */

	/* results; the other results of a request are set only with CAIRN_OK */
	/** CAIRN_OK. Otherwise nothing was written, unless a server fell silent during the commit:
	 *   CAIRN_E_CONFLICT  a xorb it relies on was removed meanwhile, or differs; and as the request says
	 *   CAIRN_E_NOT_FOUND, CAIRN_E_DENIED, CAIRN_E_LIMIT, CAIRN_E_USAGE  only if the request says so
	 *   CAIRN_E_BUSY      writes are refused (index.frozen), another daemon has the lease now (lease.over), or the
	 *                     engine is silent (index.silent); and as the request says
	 *   CAIRN_E_FULL, CAIRN_E_IO, CAIRN_E_DAMAGED, CAIRN_E_NOMEM  of the engine (index.database, index.corrupt)
	 *   CAIRN_E_FORMAT    a text is not UTF-8, and the engine cannot keep it */
	enum cairn_status status;
	struct cairn_diag diag;

	/* used by the index */
	const struct cairn_index_kind *kind;
	struct cairn_index_write *next;
	struct cairn_writer_turn *turn; /* turn of its sender */
	/* of a write that takes several transactions; NULL: it does not, or has not begun */
	struct cairn_index_stage *stage;
	uint64_t place; /* number in the order of the queue */
	void *waiting;
	bool applied; /* it was applied already, together with other writes of the transaction */
};

/** A xorb whose bytes are stored. CAIRN_E_CONFLICT: it is known with other chunks; CAIRN_E_BUSY: the copy is dead
 * (xorb.replaced) or too old to be named (xorb.late); CAIRN_E_DENIED: the owner uploaded too many xorbs that no file
 * needs (quota.unregistered). */
struct cairn_index_put_xorb {
	struct cairn_index_write write;
	struct cairn_hash hash;
	const struct cairn_chunk_list *list; /* borrowed */
	uint64_t stored_bytes;
	struct cairn_copy_id copy; /* copy id of the stored object; see "Copies" */
	/* The copy was found in the store and read, not put for this request, so its date does not count. When the row
	 * names it, the caller checks that it still exists, and else marks the xorb as lost. */
	bool found;
	/* The repository of the upload. A new xorb counts for its account, or for another owner, until a file needs it.
	 * Borrowed; NULL: it does not count. */
	const char *owner;
	uint64_t unregistered_max; /* most bytes that may count in this way; 0: this xorb does not count */
	bool stays_withdrawn;      /* a new xorb is withdrawn from the beginning (hub/mirror_offers.h) */
	bool added;                /* result; false: the xorb was known and stored */
};
CAIRN_MUST_USE enum cairn_status cairn_index_put_xorb(struct cairn_index *ix, struct cairn_index_put_xorb *put);

/** Registers a verified shard. All of it becomes visible at once; with an engine on another machine, before the write
 * is done. CAIRN_E_DENIED: the owner is a repository of the hub that does not exist (repo.gone; hub.h), or would
 * exceed a quota (quota.repo, quota.account; quota.h). CAIRN_E_BUSY also: the commit was visible, and was then lost
 * (index.silent). */
struct cairn_index_put_shard {
	struct cairn_index_write write;
	struct cairn_hash body; /* identity of the upload */
	const char *scope;      /* borrowed, as all pointers here */
	const char *owner;
	const struct cairn_index_new_shard *shard;
	uint64_t records_bytes; /* bytes of its records: a large shard is committed alone */
	/* The lookup whose xorb numbers the records use. Zeroed: none. */
	struct cairn_index_seen seen;
	bool stays_withdrawn;                     /* withdrawn xorbs that it names stay so (hub/mirror_offers.h) */
	bool added;                               /* result; false: all was known already, maybe from other uploads */
	struct cairn_index_registered registered; /* used by the index */
};
CAIRN_MUST_USE enum cairn_status cairn_index_put_shard(struct cairn_index *ix, struct cairn_index_put_shard *put);

/** Removes a file from an owner, or from all owners. A file without an owner is deleted. */
struct cairn_index_forget_file {
	struct cairn_index_write write;
	struct cairn_hash hash;
	const char *owner; /* borrowed; NULL: all owners */
	bool forgotten;    /* result; false: no such file, or not the owner's */
};
CAIRN_MUST_USE enum cairn_status cairn_index_forget_file(struct cairn_index *ix,
							 struct cairn_index_forget_file *forget);

/** Gives a file to one more owner. CAIRN_E_NOT_FOUND: there is no such file (file.unknown), or the owner's repository
 * is gone (repo.gone); CAIRN_E_DENIED: the owner would exceed a quota (quota.repo, quota.account). */
struct cairn_index_share_file {
	struct cairn_index_write write;
	struct cairn_hash hash;
	const char *owner; /* borrowed */
	bool shared;       /* result; false: the owner had it */
};
CAIRN_MUST_USE enum cairn_status cairn_index_share_file(struct cairn_index *ix, struct cairn_index_share_file *share);

/** Waits until the outcome of all earlier commits is final, even of one whose answer was lost. */
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
	struct cairn_index_registered registered; /* as cairn_index_look_up_shard() returned it */
};
CAIRN_MUST_USE enum cairn_status cairn_index_confirm_shard(struct cairn_index *ix,
							   struct cairn_index_confirm_shard *confirm);

/** Renews a xorb, and ends its retirement. CAIRN_E_NOT_FOUND: it does not exist; do not promise it. */
struct cairn_index_renew_xorb {
	struct cairn_index_write write;
	struct cairn_hash hash;
	int64_t now_unix_s;
	bool stays_withdrawn; /* if it is not offered, it stays so (hub/mirror_offers.h) */
};
CAIRN_MUST_USE enum cairn_status cairn_index_renew_xorb(struct cairn_index *ix, struct cairn_index_renew_xorb *renew);

/** Marks a xorb as lost because its object is missing or damaged. It is no longer offered, and counts as stored
 * elsewhere until it is put again. CAIRN_E_NOT_FOUND: no such xorb; CAIRN_E_BUSY: its row names another copy now. */
struct cairn_index_lose_xorb {
	struct cairn_index_write write;
	struct cairn_hash hash;
	struct cairn_copy_id copy; /* the examined copy, as the row named it */
};
CAIRN_MUST_USE enum cairn_status cairn_index_lose_xorb(struct cairn_index *ix, struct cairn_index_lose_xorb *lose);

struct cairn_index_gc_mark {
	struct cairn_index_write write;
	const struct cairn_index_needs *needs; /* borrowed; NULL: not used */
	int64_t now_unix_s;
	int64_t grace_s; /* seconds since arrival or renewal */
	/* A withdrawn xorb stays for so long at least after it arrived, and again once it is retired, or for grace_s if
	 * shorter. */
	int64_t keep_s;
	int64_t from_id;    /* 0: from the first xorb */
	int64_t next_id;    /* result: from_id of the next call; 0: all xorbs were visited */
	uint32_t n_retired; /* result */
	uint32_t n_doubted; /* result: xorbs kept because only `needs` has them */
};
CAIRN_MUST_USE enum cairn_status cairn_index_gc_mark(struct cairn_index *ix, struct cairn_index_gc_mark *mark);

struct cairn_index_gc_sweep {
	struct cairn_index_write write;
	const struct cairn_index_needs *needs; /* borrowed: xorbs that files need; NULL: only references are checked */
	int64_t now_unix_s;
	int64_t grace_s;          /* a xorb is swept so long after it was retired */
	struct cairn_hash *swept; /* borrowed: buffer for n_max hashes; result: n of them */
	uint32_t n_max;           /* size of the buffer; at most CAIRN_INDEX_SWEEP_MAX count */
	uint32_t n;               /* result: number of removed rows */
	uint32_t n_doubted;       /* result: further hashes in swept, of xorbs whose retirement ended */
	bool more;                /* result: there may be more to sweep */
};
CAIRN_MUST_USE enum cairn_status cairn_index_gc_sweep(struct cairn_index *ix, struct cairn_index_gc_sweep *sweep);

/** Lists the dead copies whose objects may still exist, by name; see "copies" above. It is a write that changes
 * nothing, so that its result is durable and only the holder of the lease gets it. Only where rows name copies. */
struct cairn_index_find_dead {
	struct cairn_index_write write;
	struct cairn_copy_id after;     /* returns only names after this one; unset: from the first */
	struct cairn_index_copy *found; /* borrowed: buffer for n_max copies; result: n of them */
	uint32_t n_max;                 /* size of the buffer; at most CAIRN_INDEX_SWEEP_MAX count */
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

/** Records as dead those of these copies that no row names; see "Copies" above. Only if rows name copies. */
struct cairn_index_write_off {
	struct cairn_index_write write;
	const struct cairn_index_copy *copies; /* borrowed */
	uint32_t n;
	uint32_t n_dead; /* result: new dead copies */
};
CAIRN_MUST_USE enum cairn_status cairn_index_write_off(struct cairn_index *ix, struct cairn_index_write_off *off);

#endif
