/* What is known about files, xorbs and eligible chunks. An interface of few calls, behind which any engine
 * can stand (backend.h). */
#ifndef CAIRN_INDEX_INDEX_H
#define CAIRN_INDEX_INDEX_H

#include "hash/copy.h"
#include "index/new_shard.h"

/*
 * Names used here
 *   scope   who shares dedupe: "" (everybody), "namespace" or "type/namespace/name". Eligible chunks are found only by
 *           askers of the same scope, or in the shared one.
 *   owner   the repository under which an upload registers its files; "" is the operator's, which everybody may read.
 *   viewer  the repository on whose behalf a file is read; NULL: all files may be read.
 * Threads: every call may come from any thread, except opening and closing. Reads see whole commits only.
 *
 * Statuses. "As every read" is said of the calls of this room that answer a status and write nothing. Besides what each
 * says itself, it may answer
 *   CAIRN_E_IO       the engine or its disk failed
 *   CAIRN_E_DAMAGED  a row, or a page of the engine, is malformed
 *   CAIRN_E_FULL     the engine has no room for what it needs beside its rows, as for the memory that a log shares
 *   CAIRN_E_NOMEM
 *   CAIRN_E_BUSY     the engine is on another machine, and silent: nothing is known
 *   CAIRN_E_FORMAT, CAIRN_E_LIMIT  likewise: a text is not UTF-8, or the question is too long
 *
 * What a write may answer is said in struct cairn_index_write.
 */
struct cairn_index;
struct cairn_index_needs; /* needs.h */
struct cairn_index_kind;  /* of a write: the index's own */

/* Files of an owner with one SHA-256: the best of the last so many counts. In words of SQL. */
#define CAIRN_INDEX_SAME_MAX "64"

enum {
	CAIRN_INDEX_SCOPE_TEXT_MAX = 255, /* bytes of a scope's or owner's name */
	CAIRN_INDEX_PROBE_MS = 2000,      /* the longest that cairn_index_writable() waits */
	CAIRN_INDEX_OWNER_BYTES_MAX = 64,
	CAIRN_INDEX_CLAIMS_MAX = 4, /* SHA-256 that an owner may give for a file; further ones are not kept */
	CAIRN_INDEX_LIES_MAX = 16,  /* further ones that were proved false; once there are so many, none is taken */
};

/** How to open an index. Zeroed: to write, with defaults. */
struct cairn_index_options {
	unsigned batch_max;  /* writes in one transaction; 0: 64 */
	unsigned queue_max;  /* writes waiting; 0: 4096 */
	uint64_t keep_bytes; /* of the disk's free space, which an engine that writes there should leave to others */
	/** To read only: nothing is changed, and each write is answered CAIRN_E_BUSY. Nobody may have it open for
	 * writing. */
	bool read_only;
	/** To write, and on another machine: whose it must be, by a name that the data folder keeps. One that has no
	 * rows and belongs to nobody is taken. NULL: not looked at. */
	const char *owner;
	/** Likewise: other daemons that say the same may write it, too. Their commits are known here a second later. */
	bool shared;
};

/**
 * Bring an index forward to this program's version, or make it when there is none.
 * @param url  as below
 * @param[out] from  its version before; 0: it was made
 * @param[out] to    its version now
 * @return CAIRN_OK; otherwise as cairn_index_open()
 */
CAIRN_MUST_USE enum cairn_status cairn_index_migrate(const char *url, struct cairn_diag *diag, int *from, int *to);

/** Which version is an index of, and would this program open or migrate it? Changes nothing; another process may have
 * it open. Where it is a file, that must be there.
 * @param[out] version  0: there is none, and no file that could be one
 * @param[out] latest  this program's version
 * @return as cairn_index_open(), except that an older one is no failure */
CAIRN_MUST_USE enum cairn_status cairn_index_version(const char *url, int *version, int *latest,
						     struct cairn_diag *diag);

enum { CAIRN_INDEX_REACH_PORTS = 8, CAIRN_INDEX_REACH_FILES = 12, CAIRN_INDEX_REACH_PATH_BYTES = 1024 };

/** What connecting to an index takes of the system. Zeroed: nothing. Plain value. */
struct cairn_index_reach {
	uint16_t ports[CAIRN_INDEX_REACH_PORTS]; /* of TCP */
	size_t n_ports;
	bool by_socket;                                                    /* through a socket of the file system */
	char files[CAIRN_INDEX_REACH_FILES][CAIRN_INDEX_REACH_PATH_BYTES]; /* and folders, that are read each time */
	size_t n_files;
};

/** For a sandbox, which gives up all else. @return CAIRN_OK; CAIRN_E_USAGE no engine has such a URL (index.url), or it
 * has a password (index.password), which diag does not repeat; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_index_reach(const char *url, struct cairn_index_reach *out,
						   struct cairn_diag *diag);

/**
 * Open an index by its URL.
 * - "sqlite:DIR": in DIR/index.sqlite, and files beside it. (To read only, after a process that was killed, its log is
 *   read along, and SQLite then makes its scratch file index.sqlite-shm.)
 * - "postgres://...", as libpq understands it, and schema=NAME among its parameters. Whoever opens it to write has it
 *   alone until it is closed; what asks a server that does not answer is told CAIRN_E_BUSY (index.silent) within 5 s.
 * @param[out] out  owned by the caller, cairn_index_free()
 * @param options  NULL: defaults
 * @return CAIRN_OK
 *         CAIRN_E_USAGE  no engine has such a URL (index.url), or it has a password (index.password)
 *         CAIRN_E_CONFLICT  it is of a newer version, or not Cairn's: refused by name, not touched; of an older one:
 *                           index.older says what to do; another's (index.owner), or in use (index.taken)
 *         CAIRN_E_FULL  the disk is full, and so is the space that is kept for opening (index.full)
 *         CAIRN_E_DAMAGED, CAIRN_E_IO, CAIRN_E_BUSY (index.silent) with the cause in diag
 *         CAIRN_E_NOMEM  also: no thread can be started (index.thread)
 */
CAIRN_MUST_USE enum cairn_status cairn_index_open(struct cairn_index **out, const char *url,
						  const struct cairn_index_options *options, struct cairn_diag *diag);

/** Is it on another machine? What asks it may wait for long then, so it is for no thread that others wait for. */
bool cairn_index_is_remote(const struct cairn_index *ix);

/** Returns the version of SQLite if it has the WAL-reset bug, which loses commits unless checkpoints keep to an order
 * (docs/design.md). @return NULL: it does not, or the engine is another one; lives as long as the process */
const char *cairn_index_reset_bug(const struct cairn_index *ix);

/** Finish the writes that wait, then close. NULL is harmless. */
void cairn_index_free(struct cairn_index *ix);
void cairn_index_freep(struct cairn_index **ix);

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct cairn_index_xorb {
	int64_t id;
	struct cairn_hash hash;
	uint32_t n_chunks;
	uint64_t unpacked_bytes;
	uint64_t stored_bytes;  /* of the object; 0: its bytes are kept elsewhere */
	int64_t at_unix_s;      /* when it arrived, or was last renewed */
	bool referenced;        /* a file needs it */
	bool retired;           /* no file needs it; it may be removed when its grace time is over */
	struct cairn_copy copy; /* of its object; not named where rows name none */
};

/** Do rows say which copy of an object is theirs? Several daemons may share a store then; see "copies" below. */
bool cairn_index_names_copies(const struct cairn_index *ix);

/** The row of a xorb. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_xorb(struct cairn_index *ix, const struct cairn_hash *hash,
						  struct cairn_index_xorb *out);

/** Likewise by its number, as a term has it. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_index_xorb_by_id(struct cairn_index *ix, int64_t id,
							struct cairn_index_xorb *out);

/** The row, and its chunks where one question tells both: else, or when they cannot be read, they are left empty.
 *  @param[in,out] list  empty; owned by the caller @return as cairn_index_xorb() */
CAIRN_MUST_USE enum cairn_status cairn_index_xorb_and_list(struct cairn_index *ix, const struct cairn_hash *hash,
							   struct cairn_index_xorb *out, struct cairn_chunk_list *list);

/** Its chunks. @param[out] list  owned by the caller, cairn_chunk_list_fini()
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_chunk_list(struct cairn_index *ix, const struct cairn_hash *xorb,
							struct cairn_chunk_list *list);

/** Likewise by its number, for whoever has its row. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_index_chunk_list_by_id(struct cairn_index *ix, int64_t id,
							      struct cairn_chunk_list *list);

/** One xorb of a dedupe answer. Borrowed for the time of the call. */
struct cairn_index_dedupe_xorb {
	struct cairn_index_xorb xorb;
	const struct cairn_chunk_list *list;
	const uint32_t *eligible; /* places of its eligible chunks in this scope, ascending */
	uint32_t n_eligible;
};

/** Most chunk queries are misses, and this tells most of them in memory. @return false: cairn_index_dedupe() would find
 *  nothing; true: it may (a chunk that is not tracked gets this answer once in some hundred times). Any thread. */
bool cairn_index_may_dedupe(struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk);

/** A chunk query that is told from misses without a wait: its first three members set. Whoever asks keeps it until
 * done() has been called. */
struct cairn_index_screen {
	const char *scope; /* borrowed likewise */
	struct cairn_hash chunk;
	void (*done)(struct cairn_index_screen *screen); /* on a thread of the index, others wait for it */
	enum cairn_status status; /* out: CAIRN_OK cairn_index_dedupe() may find it; CAIRN_E_NOT_FOUND it would find
				     nothing; as every read */
	struct cairn_index_screen *next; /* the index's */
};

/** Screen a chunk query where the index is on another machine: what many ask at once goes there as one question. Any
 * thread. @return false: done() will not be called; cairn_index_may_dedupe() answers on the spot */
bool cairn_index_screen(struct cairn_index *ix, struct cairn_index_screen *screen);
/** Wait until done() has been called for all. */
void cairn_index_finish_screens(struct cairn_index *ix);

/**
 * Answer a chunk query within one snapshot: first the xorb that holds the chunk, then its neighbours (xorbs of the same
 * shard), retired and damaged ones left out. Those whose bytes are lost or kept elsewhere have stored_bytes 0.
 * @param visit  @return false to stop
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND not tracked in this scope or the shared one; as every read
 */
CAIRN_MUST_USE enum cairn_status cairn_index_dedupe(
	struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk,
	bool (*visit)(void *ctx, const struct cairn_index_dedupe_xorb *xorb), void *ctx);

/** A term as it is kept. */
struct cairn_index_term {
	int64_t xorb_id;
	uint16_t start, end; /* chunks */
	uint32_t unpacked_bytes;
	uint32_t first_byte, end_byte; /* where they lie in the xorb's object, end exclusive; both 0 while it has none.
					* They count unless the xorb was repacked */
};

/** How much an owner's word that a file has a certain SHA-256 is believed (proof.h). The values are the rows'. */
enum cairn_index_belief {
	CAIRN_INDEX_FALSE = 0,  /* the bytes have another */
	CAIRN_INDEX_COPIED = 1, /* another owner's word, which came with the files: it spares nobody an upload */
	CAIRN_INDEX_SAID = 2,
	CAIRN_INDEX_PROVED = 3, /* the bytes were read */
};

/** A file. Zeroed is empty. */
struct cairn_index_file {
	int64_t id; /* where a walk over all files hands it out; else 0 */
	struct cairn_hash hash;
	uint64_t size_bytes;
	enum cairn_index_belief belief; /* where it was asked for by its SHA-256 */
	uint32_t n_terms;
	struct cairn_index_term *terms; /* owned; NULL when not asked for */
};
void cairn_index_file_fini(struct cairn_index_file *file);

/** A file. @param with_terms  also read the terms (24 bytes each)
 *  @param[out] out  cairn_index_file_fini()
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND unknown, or not the viewer's to read; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_file(struct cairn_index *ix, const struct cairn_hash *hash,
						  const char *viewer, bool with_terms, struct cairn_index_file *out);

/**
 * The file that has this SHA-256 by its uploader's word, without terms. The viewer's word counts, and after it the
 * operator's, which alone counts for NULL; for a repository of the hub (hub.h) only its own. Of several files of one
 * owner the one that is believed most is found, then the one that came last; never one that was proved false.
 * @param sha256  plain byte order  @return as cairn_index_file()
 */
CAIRN_MUST_USE enum cairn_status cairn_index_file_by_sha256(struct cairn_index *ix,
							    const uint8_t sha256[static CAIRN_SHA256_BYTES],
							    const char *viewer, struct cairn_index_file *out);

/** What a plan asks of a xorb. Borrowed for the time of the call. */
struct cairn_index_spans {
	struct cairn_hash xorb;
	uint64_t stored_bytes; /* of the object; 0: its bytes are kept elsewhere */
	struct cairn_copy copy;
	uint32_t n_chunks;
	/** The places of its n_chunks chunks; NULL: they were not asked for, and those that terms keep are right. */
	const struct cairn_span *spans;
};

/**
 * Visit n xorbs within one snapshot, in the order of their ids in the call.
 * @param with_spans  two places among them (they may be equal, or past the end: none) whose spans are wanted. Those of
 *                    a xorb that was repacked, or whose bytes are not here, come unasked
 * @param visit       any status but CAIRN_OK ends the call with it
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND one of them is gone; what visit answered; as every read
 */
CAIRN_MUST_USE enum cairn_status cairn_index_spans(
	struct cairn_index *ix, const int64_t *xorb_ids, uint32_t n, const uint32_t with_spans[static 2],
	enum cairn_status (*visit)(void *ctx, const struct cairn_index_spans *places), void *ctx);

/** What reads a file and its xorbs at once, for a plan. */
struct cairn_index_planner {
	uint32_t n_terms_max; /* at least 1: of a file that has more nothing is read */
	/** The file was found: which xorbs are wanted of it? *ids stay as they are until the end of the call;
	 * with_spans as of cairn_index_spans(), none so far. @return any status but CAIRN_OK ends the call with it */
	enum cairn_status (*choose)(struct cairn_index_planner *planner, const struct cairn_index_file *file,
				    const int64_t **ids, uint32_t *n, uint32_t with_spans[static 2]);
	/** As visit() of cairn_index_spans(). */
	enum cairn_status (*visit)(void *planner, const struct cairn_index_spans *places);
};

/**
 * cairn_index_file() with its terms and then cairn_index_spans() of what is chosen, within one snapshot where the index
 * is on this machine; else one after the other.
 * @return as both, or what the planner answered; CAIRN_E_BUSY: the file has more terms
 */
CAIRN_MUST_USE enum cairn_status cairn_index_plan(struct cairn_index *ix, const struct cairn_hash *hash,
						  const char *viewer, struct cairn_index_planner *planner,
						  struct cairn_index_file *out);

/** When a shard was registered last. Zeroed where nothing is shown that is not durable. Plain value. */
struct cairn_index_registered {
	int64_t collection; /* so many removals came before */
	int64_t at_unix_s;
};

/** What a look has found out about a shard, so that registering it need not look again. Zeroed: it must. Plain value.
 */
struct cairn_index_seen {
	bool plain;           /* all of it is new but its xorbs, and these are stored */
	int64_t collection;   /* so many removals came before the look */
	int64_t server;       /* whoever was asked: numbers of rows are one server's own */
	int64_t scope, owner; /* numbers of rows */
};

/** A xorb of a shard that was looked at. */
struct cairn_index_seen_xorb {
	int64_t id; /* 0: it is not stored, or retired, or was not found out */
	/** Owned by whoever gave the array: the places of its chunks and no hashes, of one that the shard describes. */
	struct cairn_chunk_list places;
};

enum {
	CAIRN_INDEX_LOOK_XORBS_MAX = 64, /* as many as a stock client fills before it sends a shard */
	CAIRN_INDEX_LOOK_FILES_MAX = 1000,
};

/** A look at a shard that is not verified yet, in one exchange where the index is on another machine. Nothing of it is
 * told to whoever sent it but that it is known. */
struct cairn_index_look {
	struct cairn_hash body; /* identity of the upload */
	const char *scope;      /* borrowed, as the rest */
	const char *owner;
	/* What it names; a shard that names more is looked at without. */
	const struct cairn_hash *xorbs; /* the described ones first */
	const struct cairn_hash *files;
	uint32_t n_xorbs, n_described, n_files;

	bool known; /* result; this very body was accepted from this owner for this scope (a repository's: within the
		     * hour) */
	struct cairn_index_registered registered; /* likewise; of one that is known, for cairn_index_confirm_shard() */
	struct cairn_index_seen seen;             /* likewise; of one that is not, for cairn_index_put_shard() */
	struct cairn_index_seen_xorb *found;      /* room for n_xorbs of them, zeroed */
};

/** @return CAIRN_OK; as every read. An index that finds xorbs as fast one by one leaves them and seen as they are */
CAIRN_MUST_USE enum cairn_status cairn_index_look_at_shard(struct cairn_index *ix, struct cairn_index_look *look);

struct cairn_index_stats {
	uint64_t n_files, n_xorbs, n_shards, n_eligible; /* rows, as of the last commit */
	uint64_t stored_bytes;                           /* of all xorbs' objects */
	uint64_t file_bytes;                             /* what it takes on the disk */
	uint64_t n_commits, n_writes;                    /* since opening: transactions, and the writes in them */
	uint64_t n_queued;                               /* writes waiting now, also for a standby */
	uint64_t filter_bytes;                           /* memory that most misses are answered from */
	bool filter_complete;                            /* false: it is still being filled, and rules nothing out */
	uint64_t n_asked, n_asked_failed, asked_ms;      /* of a server: exchanges, and what they took together */
	int64_t clock_ahead_ms; /* this machine's, of the server's; 0 where one process writes the index */
};
void cairn_index_stats(struct cairn_index *ix, struct cairn_index_stats *out);

/** Can the index be written now? A real write takes its turn behind those that wait. @return CAIRN_OK; as a write that
 *  changes nothing: CAIRN_E_IO, CAIRN_E_DAMAGED, CAIRN_E_FULL, CAIRN_E_NOMEM; CAIRN_E_BUSY no answer within
 *  CAIRN_INDEX_PROBE_MS, or its server is silent */
CAIRN_MUST_USE enum cairn_status cairn_index_writable(struct cairn_index *ix);

/** Wait until all writes that were queued before are done, well or not. @param timeout_ms  whole seconds count
 *  @return false: they are not, by then */
bool cairn_index_flush(struct cairn_index *ix, int64_t timeout_ms);

/** Grows whenever a xorb is offered no longer, by whichever daemon: what was answered before may offer it. Told from
 * memory, a second late where others write. */
uint64_t cairn_index_withdrawn(struct cairn_index *ix);

/** Does the engine's work beside the writes go well? Told from memory. @return CAIRN_OK; CAIRN_E_IO with what to do in
 *  diag: nothing is lost and writes go on, but not for ever. */
CAIRN_MUST_USE enum cairn_status cairn_index_upkeep(struct cairn_index *ix, struct cairn_diag *diag);

/**
 * What the last writes say: from the first one on that disk or engine refuses until it is over (health.h). Told from
 * memory.
 * @return CAIRN_OK; CAIRN_E_FULL, CAIRN_E_IO, CAIRN_E_DAMAGED, CAIRN_E_BUSY, CAIRN_E_NOMEM with what was said in diag
 */
CAIRN_MUST_USE enum cairn_status cairn_index_health(struct cairn_index *ix, struct cairn_diag *diag);

/** The index was found damaged: cairn_index_health() says so until it is opened anew. */
void cairn_index_condemn(struct cairn_index *ix, const struct cairn_diag *diag);

/*
 * Garbage. A xorb that no file needs goes in two steps, each in pieces of a few milliseconds so that uploads wait no
 * longer: gc_mark   not referenced, and neither new nor renewed within the grace time: retired, and not offered any
 * more; gc_sweep  retired for longer than the grace time, and still not referenced: its rows are gone and durably so.
 * Only then may its object be removed, by whoever asked; a crash in between leaves an object without a row. A client
 * that was told "it is here" (an answer to a chunk query, HEAD, a grant) may refer to it for as long as that answer is
 * good. No such answer is given for a retired xorb, and of another it needs no write: it must first be retired, and
 * then stays for the sweep's grace time, which must be longer than any answer lives. So looking keeps no garbage, and
 * every query is a read. Bytes that arrive again are an upload that was acknowledged: they send renew_xorb, and the
 * xorb is as if it had just come. That, and a shard that names it, end its retirement. Whoever removes the object must
 * keep a put of the same xorb from slipping between its row and its object: hold that hash from gc_sweep's done() to
 * the removal, or ask cairn_index_xorb() again while holding it. Whatever removes a file or a xorb, or withdraws what
 * clients may ask about, makes every shard accepted before it unknown, so that it is registered anew if it comes again.
 */
enum {
	CAIRN_INDEX_GC_MS = 5,       /* statements of one gc_mark or gc_sweep */
	CAIRN_INDEX_SWEEP_MAX = 512, /* xorbs of one gc_sweep */
};

/*
 * Copies, where rows name them. The bytes of a xorb are put under a name that is used once, and its row says which name
 * that is. So daemons that share a store need no lock over it: each PUTs its own copy, the row that is committed first
 * says which one counts, and a DELETE meets the copy that it is meant for and no other. Dead is a copy that no row
 * names, and none ever will: that of a xorb that was swept, and one whose upload found the xorb registered by another.
 * It is said in the same transaction, and by that alone an object is removed: find_dead tells of those that wait for
 * it, and bury, after their objects are gone, that they do not any more. A row that is to name a dead copy is refused
 * (CAIRN_E_BUSY, xorb.replaced).
 *
 * An upload that is killed between its PUT and its commit leaves a copy that no row names. Whoever lists the store asks
 * each_unnamed which of them those are, and writes them off: they are dead from then on, unless a row has named them
 * meanwhile. That a copy is dead is known for seven days after its object is gone; so that nobody can sleep that long
 * and name it then, a row that is to name a copy is refused (CAIRN_E_BUSY, xorb.late) when the date in its name is
 * further from the time of the index's server than CAIRN_INDEX_COPY_LIFE_S.
 */
enum { CAIRN_INDEX_COPY_LIFE_S = 24 * 3600 };

/** A copy, and what it is one of. Plain value. */
struct cairn_index_copy {
	struct cairn_hash hash;
	struct cairn_copy copy;
};

typedef void cairn_index_visit_copy(void *ctx, const struct cairn_hash *hash, const struct cairn_copy *copy);

/** How many dead copies wait for their objects to be removed? For people: nothing is removed by it.
 *  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_count_dead(struct cairn_index *ix, uint64_t *n);

/** Visit those of n copies that no row names, unless they wait as dead ones. Those of a xorb that is lost are left out:
 *  some of their bytes may be needed. @param n  at most CAIRN_INDEX_SWEEP_MAX @return as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_unnamed(struct cairn_index *ix, const struct cairn_index_copy *copies,
							  uint32_t n, cairn_index_visit_copy *visit, void *ctx);

/* --- writing: group commit ---------------------------------------------------------------------------------------- */

/**
 * A write on its way: the head of each of the requests below. A request is its caller's, with all that it borrows, and
 * must live until the write is done.
 *
 * Each call queues its request and answers CAIRN_OK, or CAIRN_E_BUSY when the queue is full or the index was opened to
 * read only: then done() will not be called. Without done (NULL) the call waits for the write instead, and answers its
 * status, or CAIRN_E_BUSY.
 */
struct cairn_index_write {
	/** Called once on a thread of the index, when the write is durable or has failed. May free the request. */
	void (*done)(struct cairn_index_write *write);
	const struct cairn_index_lease *lease; /* borrowed; refused without this one, see lease.h. NULL: without any */

	/* results; those of a request itself are only set when status is CAIRN_OK */
	/** CAIRN_OK. In all other cases nothing of it was written, unless a server fell silent during the commit:
	 *   CAIRN_E_CONFLICT  a xorb it relies on was removed meanwhile, or is known otherwise; and as the request says
	 *   CAIRN_E_NOT_FOUND, CAIRN_E_DENIED, CAIRN_E_LIMIT, CAIRN_E_USAGE  only of requests that say so
	 *   CAIRN_E_BUSY      no writes are taken (index.frozen), another daemon has the lease now (lease.over), or
	 *                     the engine is silent (index.silent); and as the request says
	 *   CAIRN_E_FULL, CAIRN_E_IO, CAIRN_E_DAMAGED, CAIRN_E_NOMEM  of the engine (index.database, index.corrupt)
	 *   CAIRN_E_FORMAT    the engine cannot keep a text of it: it is not UTF-8 */
	enum cairn_status status;
	struct cairn_diag diag;

	/* the index's */
	const struct cairn_index_kind *kind;
	struct cairn_index_write *next;
	uint64_t place; /* in the order in which writes were queued */
	void *waiting;
	bool applied; /* to the transaction at hand, with others */
};

/** A xorb whose bytes are stored. CAIRN_E_CONFLICT: it is known with other chunks; CAIRN_E_BUSY: the copy is dead
 * (xorb.replaced) or too old to be named (xorb.late). */
struct cairn_index_put_xorb {
	struct cairn_index_write write;
	struct cairn_hash hash;
	const struct cairn_chunk_list *list; /* borrowed */
	uint64_t stored_bytes;
	struct cairn_copy copy; /* that was stored; see "copies" */
	/* The copy was not put for this: it was found in the store and read, so it may be of any date. Whoever says so
	 * looks whether it is there once the row names it, and says that the xorb is lost if it is not. */
	bool found;
	bool added; /* result; false: it was known, and stored */
};
CAIRN_MUST_USE enum cairn_status cairn_index_put_xorb(struct cairn_index *ix, struct cairn_index_put_xorb *put);

/** Everything that a verified shard registers; all of it becomes visible at once, and with an engine on another machine
 * before it is done. CAIRN_E_DENIED: the owner is that of a repository of the hub that is not there (repo.gone; hub.h),
 * or holds too much (quota.repo, quota.account; quota.h). CAIRN_E_BUSY also: what could be seen of it was lost again
 * (index.silent). */
struct cairn_index_put_shard {
	struct cairn_index_write write;
	struct cairn_hash body; /* identity of the upload */
	const char *scope;      /* borrowed, as the rest */
	const char *owner;
	const struct cairn_index_new_shard *shard;
	uint64_t records_bytes; /* how long they are: a large one is committed alone */
	/* Of a look before, whose numbers of xorbs the records have. Zeroed: there was none. */
	struct cairn_index_seen seen;
	bool added; /* result; false: everything was known already, maybe from other uploads */
	struct cairn_index_registered registered; /* the index's */
};
CAIRN_MUST_USE enum cairn_status cairn_index_put_shard(struct cairn_index *ix, struct cairn_index_put_shard *put);

/** Take a file from an owner, or from all; with the last one it is gone. */
struct cairn_index_forget_file {
	struct cairn_index_write write;
	struct cairn_hash hash;
	const char *owner; /* borrowed; NULL: all of them */
	bool forgotten;    /* result; false: there is no such file, or it was not the owner's */
};
CAIRN_MUST_USE enum cairn_status cairn_index_forget_file(struct cairn_index *ix,
							 struct cairn_index_forget_file *forget);

/** Give a file to one more owner. CAIRN_E_NOT_FOUND: there is no such file (file.unknown), or the owner is that of a
 * repository that is gone (repo.gone); CAIRN_E_DENIED: it holds too much (quota.repo, quota.account). */
struct cairn_index_share_file {
	struct cairn_index_write write;
	struct cairn_hash hash;
	const char *owner; /* borrowed */
	bool shared;       /* result; false: it was the owner's */
};
CAIRN_MUST_USE enum cairn_status cairn_index_share_file(struct cairn_index *ix, struct cairn_index_share_file *share);

/** Afterwards, all writes that were committed before are decided, also one whose end was not told. */
struct cairn_index_confirm {
	struct cairn_index_write write;
};
CAIRN_MUST_USE enum cairn_status cairn_index_confirm(struct cairn_index *ix, struct cairn_index_confirm *confirm);

/** A shard that cairn_index_look_at_shard() knows is durable, too. Reads may see a commit that still waits for a
 * standby and perhaps never gets there: a client is told "known already" only after this. CAIRN_E_BUSY also: it is not
 * known any more (index.silent). */
struct cairn_index_confirm_shard {
	struct cairn_index_write write;
	struct cairn_hash body;
	const char *scope, *owner;                /* borrowed */
	struct cairn_index_registered registered; /* as it was read */
};
CAIRN_MUST_USE enum cairn_status cairn_index_confirm_shard(struct cairn_index *ix,
							   struct cairn_index_confirm_shard *confirm);

/** A xorb is as if it had just come; a retired one is not any more. CAIRN_E_NOT_FOUND: it is gone, don't promise it. */
struct cairn_index_renew_xorb {
	struct cairn_index_write write;
	struct cairn_hash hash;
	int64_t now_unix_s;
};
CAIRN_MUST_USE enum cairn_status cairn_index_renew_xorb(struct cairn_index *ix, struct cairn_index_renew_xorb *renew);

/** A xorb's object is missing or damaged: it is not offered any more, and counts as kept elsewhere until it is put
 * again. CAIRN_E_NOT_FOUND: there is no such xorb; CAIRN_E_BUSY: its row names another copy by now. */
struct cairn_index_lose_xorb {
	struct cairn_index_write write;
	struct cairn_hash hash;
	struct cairn_copy copy; /* the one that was looked at, as its row named it */
};
CAIRN_MUST_USE enum cairn_status cairn_index_lose_xorb(struct cairn_index *ix, struct cairn_index_lose_xorb *lose);

/** See "garbage" above. */
struct cairn_index_gc_mark {
	struct cairn_index_write write;
	const struct cairn_index_needs *needs; /* borrowed; NULL: not asked */
	int64_t now_unix_s;
	int64_t grace_s;    /* since it arrived or was renewed */
	int64_t from_id;    /* 0: from the first */
	int64_t next_id;    /* result: where to go on; 0: all were looked at */
	uint32_t n_retired; /* result */
	uint32_t n_doubted; /* result: spared, since only needs speaks for them */
};
CAIRN_MUST_USE enum cairn_status cairn_index_gc_mark(struct cairn_index *ix, struct cairn_index_gc_mark *mark);

/** See "garbage" above. */
struct cairn_index_gc_sweep {
	struct cairn_index_write write;
	const struct cairn_index_needs *needs; /* as above */
	int64_t now_unix_s;
	int64_t grace_s;          /* since it was retired */
	struct cairn_hash *swept; /* borrowed, n_max of them; result: n */
	uint32_t n_max;           /* at most CAIRN_INDEX_SWEEP_MAX count */
	uint32_t n;               /* result: these rows are gone */
	uint32_t n_doubted;       /* result: as above; they are not retired any more */
	bool more;                /* result: there may be more to sweep */
};
CAIRN_MUST_USE enum cairn_status cairn_index_gc_sweep(struct cairn_index *ix, struct cairn_index_gc_sweep *sweep);

/** See "copies" above: those whose objects may still be there, in the order of their names. A write that changes
 * nothing, so that what it found is as durable as a write, of the server that leads, and told to whoever holds the
 * lease. Only where rows name copies. */
struct cairn_index_find_dead {
	struct cairn_index_write write;
	struct cairn_copy after;        /* behind this name; not named: from the first */
	struct cairn_index_copy *found; /* borrowed, n_max of them; result: n */
	uint32_t n_max;                 /* at most CAIRN_INDEX_SWEEP_MAX count */
	uint32_t n;
};
CAIRN_MUST_USE enum cairn_status cairn_index_find_dead(struct cairn_index *ix, struct cairn_index_find_dead *find);

/** See "copies" above: the objects of these are gone. Only where rows name copies. */
struct cairn_index_bury {
	struct cairn_index_write write;
	const struct cairn_copy *copies; /* borrowed */
	uint32_t n;
};
CAIRN_MUST_USE enum cairn_status cairn_index_bury(struct cairn_index *ix, struct cairn_index_bury *bury);

/** See "copies" above: these were found unnamed. Those that still are, are dead. Only where rows name copies. */
struct cairn_index_write_off {
	struct cairn_index_write write;
	const struct cairn_index_copy *copies; /* borrowed */
	uint32_t n;
	uint32_t n_dead; /* result: of them */
};
CAIRN_MUST_USE enum cairn_status cairn_index_write_off(struct cairn_index *ix, struct cairn_index_write_off *off);

#endif
