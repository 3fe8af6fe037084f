/* What is known about files, xorbs and eligible chunks. An interface of few calls with no SQL and no path beyond the
 * opening, so that another engine can stand behind it. */
#ifndef CAIRN_INDEX_INDEX_H
#define CAIRN_INDEX_INDEX_H

#include "hash/chunk_list.h"

/*
 * Names used here
 *   scope   who shares dedupe: "" (everybody), "namespace" or "type/namespace/name". Eligible chunks are found only by
 *           askers of the same scope, or in the shared one.
 *   owner   the repository under which an upload registers its files; "" is the operator's, which everybody may read.
 *   viewer  the repository on whose behalf a file is read; NULL: all files may be read.
 * Threads: every call may come from any thread, but for opening and closing. Reads see whole commits only.
 */
struct cairn_index;
struct cairn_writer; /* the index's */

enum {
	CAIRN_INDEX_SCOPE_TEXT_MAX = 255, /* bytes of a scope's or owner's name */
	CAIRN_INDEX_PROBE_MS = 2000,      /* the longest that cairn_index_writable() waits */
};

struct cairn_index_options {
	unsigned batch_max; /* writes in one transaction; 0: 64 */
	unsigned queue_max; /* writes waiting; 0: 4096 */
};

/**
 * Open the index in DIR/index.sqlite, made when missing, migrated forward when older.
 * @param options  NULL: defaults
 * @return CAIRN_OK
 *         CAIRN_E_CONFLICT  it is of a newer version, or not Cairn's: refused by name, not touched
 *         CAIRN_E_IO with the cause in diag; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_index_open(struct cairn_index **out, const char *dir,
						  const struct cairn_index_options *options, struct cairn_diag *diag);

/** Finish the writes that wait, then close. NULL is harmless. */
void cairn_index_free(struct cairn_index *ix);
void cairn_index_freep(struct cairn_index **ix);

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct cairn_index_xorb {
	int64_t id;
	struct cairn_hash hash;
	uint32_t n_chunks;
	uint64_t unpacked_bytes;
	uint64_t stored_bytes; /* of the object; 0: its bytes are kept elsewhere */
	int64_t at_unix_s;     /* when it arrived, or was last renewed */
	bool referenced;       /* a file needs it */
	bool retired;          /* no file needs it; it may be removed when its grace time is over */
};

/** @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_index_xorb(struct cairn_index *ix, const struct cairn_hash *hash,
						  struct cairn_index_xorb *out);

/** Likewise by its number, as a term has it. */
CAIRN_MUST_USE enum cairn_status cairn_index_xorb_by_id(struct cairn_index *ix, int64_t id,
							struct cairn_index_xorb *out);

/** Its chunks. @param[out] list  owned by the caller, cairn_chunk_list_fini()
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_index_chunk_list(struct cairn_index *ix, const struct cairn_hash *xorb,
							struct cairn_chunk_list *list);

/** Likewise by its number, for whoever has its row. */
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

/**
 * Answer a chunk query within one snapshot: first the xorb that holds the chunk, then its neighbours (xorbs of the same
 * shard), retired and damaged ones left out. Those whose bytes are lost or kept elsewhere have stored_bytes 0.
 * @param visit  @return false to stop
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND not tracked in this scope or the shared one; CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_index_dedupe(
	struct cairn_index *ix, const char *scope, const struct cairn_hash *chunk,
	bool (*visit)(void *ctx, const struct cairn_index_dedupe_xorb *xorb), void *ctx);

/** A term as it is kept. */
struct cairn_index_term {
	int64_t xorb_id;
	uint32_t start, end; /* chunks */
	uint32_t unpacked_bytes;
};

/** A file. Zeroed is empty. */
struct cairn_index_file {
	struct cairn_hash hash;
	uint64_t size_bytes;
	bool has_sha256;
	uint8_t sha256[32]; /* the uploader's word, plain byte order */
	uint32_t n_terms;
	struct cairn_index_term *terms; /* owned; NULL when not asked for */
};
void cairn_index_file_fini(struct cairn_index_file *file);

/** @param with_terms  also read the terms (16 bytes each)
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND unknown, or not the viewer's to read; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_index_file(struct cairn_index *ix, const struct cairn_hash *hash,
						  const char *viewer, bool with_terms, struct cairn_index_file *out);

/** The newest file that was registered with this SHA-256, likewise, without terms. */
CAIRN_MUST_USE enum cairn_status cairn_index_file_by_sha256(struct cairn_index *ix, const uint8_t sha256[static 32],
							    const char *viewer, struct cairn_index_file *out);

/** The places of a xorb's chunks, without their hashes. Borrowed for the time of the call. */
struct cairn_index_spans {
	struct cairn_hash xorb;
	uint64_t stored_bytes; /* of the object; 0: its bytes are kept elsewhere */
	uint32_t n_chunks;
	const struct cairn_span *spans; /* n_chunks of them */
};

/**
 * Visit the places of n xorbs within one snapshot, in the order of their ids in the call.
 * @param visit  any status but CAIRN_OK ends the call with it
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND one of them is gone; CAIRN_E_IO; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_index_spans(struct cairn_index *ix, const int64_t *xorb_ids, uint32_t n,
						   enum cairn_status (*visit)(void *ctx,
									      const struct cairn_index_spans *places),
						   void *ctx);

/** Has this very body been accepted from this owner for this scope? @return CAIRN_OK; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cairn_index_shard_known(struct cairn_index *ix, const struct cairn_hash *body,
							 const char *scope, const char *owner, bool *known);

struct cairn_index_stats {
	uint64_t n_files, n_xorbs, n_shards, n_eligible; /* rows, as of the last commit */
	uint64_t stored_bytes;                           /* of all xorbs' objects */
	uint64_t file_bytes;                             /* the database and its log */
	uint64_t n_commits, n_writes;                    /* since opening: transactions, and the writes in them */
	uint64_t n_queued;                               /* writes waiting now */
	uint64_t filter_bytes;                           /* memory that most misses are answered from */
	bool filter_complete;                            /* false: it is still being filled, and rules nothing out */
};
void cairn_index_stats(struct cairn_index *ix, struct cairn_index_stats *out);

/** Can the index be written now? A real write takes its turn behind those that wait. @return CAIRN_OK; CAIRN_E_IO;
 *  CAIRN_E_FULL; CAIRN_E_BUSY no answer within CAIRN_INDEX_PROBE_MS */
CAIRN_MUST_USE enum cairn_status cairn_index_writable(struct cairn_index *ix);

/** Is the index's log folded into its database? Told from memory. @return CAIRN_OK; CAIRN_E_IO with what to do in diag:
 *  the disk failed at it. Nothing is lost and writes go on, but the log grows until the index is opened anew. */
CAIRN_MUST_USE enum cairn_status cairn_index_folds(struct cairn_index *ix, struct cairn_diag *diag);

/*
 * Garbage. A xorb that no file needs goes in two steps, each in pieces of a few milliseconds so that uploads wait no
 * longer: GC_MARK   not referenced, and neither new nor renewed within the grace time: retired, and not offered any
 * more; GC_SWEEP  retired for longer than the grace time, and still not referenced: its rows are gone and durably so.
 * Only then may its object be removed, by whoever asked; a crash in between leaves an object without a row. A client
 * that was told "it is here" (an answer to a chunk query, HEAD, a grant, "known already") may refer to it for as long
 * as that answer is good. So the grace time of the sweep must be longer than any answer lives, and who gives such an
 * answer for a xorb that is not referenced sends RENEW_XORB first: needed when it is retired or its at_unix_s is old. A
 * shard that names a retired xorb, its bytes arriving again and RENEW_XORB end its retirement. Whoever removes the
 * object must keep a put of the same xorb from slipping between its row and its object: hold that hash from GC_SWEEP's
 * done() to the removal, or ask cairn_index_xorb() again while holding it. Whatever removes a file or a xorb makes
 * every shard accepted before it unknown, so that it is registered anew if it comes again.
 */
enum {
	CAIRN_INDEX_GC_MS = 5,       /* statements of one GC_MARK or GC_SWEEP */
	CAIRN_INDEX_SWEEP_MAX = 512, /* xorbs of one GC_SWEEP */
	CAIRN_INDEX_TELEMETRY_BYTES_MAX = 65536,
};

/* --- writing: group commit ---------------------------------------------------------------------------------------- */

/** A chunk of a described xorb that clients may ask about. */
struct cairn_index_eligible {
	struct cairn_hash chunk;
	uint32_t place;
};

/** A xorb that a shard describes, as the source hands it out. Borrowed until the source's next call. */
struct cairn_index_described {
	struct cairn_hash hash;
	const struct cairn_index_eligible *eligible; /* ascending places */
	uint32_t n_eligible;
	const struct cairn_chunk_list *list; /* only when xorbs are kept elsewhere, to be recorded; else NULL */
};

/** A file of a shard, likewise. Its terms are asked for one by one. */
struct cairn_index_new_file {
	struct cairn_hash hash;
	uint64_t size_bytes;
	bool has_sha256;
	uint8_t sha256[32];
	uint32_t n_terms;
	uint64_t first_chunk; /* first 8 bytes of its first chunk's hash, LE; of a file with terms */
};
struct cairn_index_new_term {
	struct cairn_hash xorb;
	uint32_t start, end, unpacked_bytes;
};

/** Where the writer takes a verified shard from, so that no copy of it need be in memory. Called on the writer's
 * thread. A transaction may be tried again: rewind() comes first each time. Any status but CAIRN_OK fails this write
 * alone. */
struct cairn_index_source {
	void *ctx;
	enum cairn_status (*rewind)(void *ctx);
	enum cairn_status (*next_xorb)(void *ctx, struct cairn_index_described *out,
				       bool *more); /* all, before files */
	enum cairn_status (*next_file)(void *ctx, struct cairn_index_new_file *out, bool *more);
	void (*term)(void *ctx, uint32_t i, struct cairn_index_new_term *out); /* of the file handed out last */
};

/** A write on its way. Embedded in what asked for it, and owned by that; it must live until done() is called. */
struct cairn_index_write {
	enum cairn_index_write_kind {
		CAIRN_INDEX_PUT_XORB,  /* a xorb whose bytes are stored */
		CAIRN_INDEX_PUT_SHARD, /* everything a verified shard registers; all of it becomes visible at once */
		CAIRN_INDEX_PROBE, /* changes nothing that can be seen, but is written; for cairn_index_writable() */

		/* Files. NOT_FOUND only where it is said; added tells whether anything changed. */
		CAIRN_INDEX_FORGET_FILE, /* file: take it from an owner, or from all; with the last one it is gone */
		CAIRN_INDEX_SHARE_FILE,  /* file: give it to one more owner. CAIRN_E_NOT_FOUND */

		/* Xorbs that are promised, missing, or no longer needed: see "garbage" above. */
		CAIRN_INDEX_RENEW_XORB, /* promise: as if it had just come; a retired one is not any more.
					 * CAIRN_E_NOT_FOUND: it is gone, don't promise it */
		CAIRN_INDEX_LOSE_XORB,  /* promise: its object is missing or damaged. It is not offered any more, and
					 * counts as kept  elsewhere until it is put again. CAIRN_E_NOT_FOUND */
		CAIRN_INDEX_GC_MARK,    /* mark */
		CAIRN_INDEX_GC_SWEEP,   /* sweep */

		/* See operate.h. */
		CAIRN_INDEX_ADD_KEY,       /* key. CAIRN_E_CONFLICT: there is one with this digest */
		CAIRN_INDEX_REVOKE_KEY,    /* key, by its id. CAIRN_E_NOT_FOUND */
		CAIRN_INDEX_ADD_TELEMETRY, /* telemetry */
	} kind;
	union {
		struct {
			struct cairn_hash hash;
			const struct cairn_chunk_list *list; /* borrowed */
			uint64_t stored_bytes;
		} xorb;
		struct {
			struct cairn_hash body; /* identity of the upload */
			const char *scope;      /* borrowed, as the rest */
			const char *owner;
			struct cairn_index_source source;
			uint64_t body_bytes; /* how long it is: large ones are not made to wait for each other */
		} shard;
		struct {
			struct cairn_hash hash;
			const char *owner; /* borrowed; FORGET_FILE: NULL for all of them */
		} file;
		struct {
			struct cairn_hash hash;
			int64_t now_unix_s;
		} promise;
		struct {
			int64_t now_unix_s;
			int64_t grace_s;    /* since it arrived or was renewed */
			int64_t from_id;    /* 0: from the first */
			int64_t next_id;    /* result: where to go on; 0: all were looked at */
			uint32_t n_retired; /* result */
		} mark;
		struct {
			int64_t now_unix_s;
			int64_t grace_s;          /* since it was retired */
			struct cairn_hash *swept; /* borrowed, n_max of them; result: n */
			uint32_t n_max;           /* at most CAIRN_INDEX_SWEEP_MAX count */
			uint32_t n;               /* result: these rows are gone */
			bool more;                /* result: there may be more to sweep */
		} sweep;
		struct {
			uint8_t digest[32];               /* SHA-256 of the key */
			const char *name, *repo, *scopes; /* borrowed; struct cairn_index_key */
			int64_t id;                       /* ADD_KEY: result */
		} key;
		struct {
			const char *sender; /* borrowed */
			const void *body;   /* borrowed, at most CAIRN_INDEX_TELEMETRY_BYTES_MAX */
			size_t body_len;
			uint32_t keep_max; /* rows kept, this one counted; at least 1 */
		} telemetry;
		struct {
			struct cairn_writer *writer;
		} probe; /* the index's */
	};
	/** Called once on the writer's thread, when the write is durable or has failed. May free the write. */
	void (*done)(struct cairn_index_write *write);

	/* results, for done() */
	enum cairn_status status; /* CAIRN_OK
				   * CAIRN_E_CONFLICT a xorb it relies on was removed meanwhile, or is known otherwise
				   * CAIRN_E_NOT_FOUND of the kinds that say so
				   * CAIRN_E_FULL, CAIRN_E_IO, CAIRN_E_NOMEM nothing of it was written */
	bool added;               /* false: everything was known already, if from other uploads */
	struct cairn_diag diag;

	struct cairn_index_write *next; /* the index's */
};

/** Queue a write. @return CAIRN_OK; CAIRN_E_BUSY the queue is full: done() will not be called */
CAIRN_MUST_USE enum cairn_status cairn_index_submit(struct cairn_index *ix, struct cairn_index_write *write);

/** Queue a write and wait for it; done is set by the call. @return write->status, or CAIRN_E_BUSY */
CAIRN_MUST_USE enum cairn_status cairn_index_write(struct cairn_index *ix, struct cairn_index_write *write);

#endif
