/* The use cases of the store, without HTTP: receive a xorb, receive a shard, answer a chunk query. */
#ifndef CAIRN_CAS_CAS_H
#define CAIRN_CAS_CAS_H

#include "base/buf.h"
#include "data_dir/secret.h"
#include "index/index.h"
#include "store/store.h"
#include "verify/verify.h"
#include "xorb/verifier.h"

/*
 * Statuses, for all headers of this folder. "As index and store" stands for the failures that any call of index or
 * store may return:
 *   CAIRN_E_IO       the disk, the engine or the service failed
 *   CAIRN_E_DAMAGED  a row of the index is malformed
 *   CAIRN_E_FULL     no space is left
 *   CAIRN_E_BUSY     a server does not answer: nothing is known, so draw no conclusion from it
 *   CAIRN_E_FORMAT, CAIRN_E_LIMIT  a server cannot be asked this: a text is not UTF-8, or the question is too long
 *   CAIRN_E_NOMEM
 * "As a write" stands for all that struct cairn_index_write lists, and for CAIRN_E_BUSY of a full queue.
 */

/** The use cases over one index and one store. Any thread may call. */
struct cairn_cas;

struct cairn_data_dir;
struct cairn_use; /* budget.h */

/** The index, store and folder that a cairn_cas uses. Borrowed: the opener closes them, after cairn_cas_free(). */
struct cairn_cas_parts {
	struct cairn_index *index;
	struct cairn_store *store;
	const char *data_dir;              /* bodies wait in DIR/tmp; DIR/hold holds off collections */
	const struct cairn_secret *secret; /* NULL: cannot sign answers, as for checking only */
};

/** Returns the parts of an open data folder. */
struct cairn_cas_parts cairn_cas_parts_of(const struct cairn_data_dir *d);

/** A finding about stored bytes; each is reported once. Borrowed during the call. */
struct cairn_cas_notice {
	enum cairn_cas_notice_kind {
		CAIRN_CAS_OBJECT_DAMAGED,  /* this copy is not what was uploaded: rule, text and offset say why */
		CAIRN_CAS_XORB_LOST,       /* no sound copy is left: the xorb counts as not stored until there is one */
		CAIRN_CAS_XORB_FOUND,      /* a lost xorb has a sound copy again */
		CAIRN_CAS_CONTENT_DAMAGED, /* a file kept in the index is not as committed: rule and text say why */
	} kind;
	struct cairn_hash xorb;  /* of the first three */
	const char *rule, *text; /* NULL: none */
	uint64_t offset;
};

struct cairn_cas_options {
	bool xorbs_external;      /* index only: xorb bytes live elsewhere */
	bool strict;              /* refuse what the newer format document forbids and stock clients do */
	uint64_t shard_bytes_max; /* of one upload */
	uint64_t xorb_bytes_max;  /* serialized, without a footer */
	uint32_t xorb_chunks_max; /* at most CAIRN_XORB_CHUNKS_MAX */
	uint32_t files_max, terms_max, xorbs_max; /* in a shard */
	uint64_t term_chunks_max;                 /* that the terms of a shard run over */
	uint64_t list_chunks_max;                 /* of the lists after which verifying a shard reads no more of them */
	uint64_t edit_chunks_max;                 /* that planning an edit walks over, and reads in lists, together */
	uint64_t spool_bytes_max;                 /* of all bodies in flight; above it uploads are told to retry */
	unsigned spool_share_percent;             /* share of it for one sender, at least one upload of full size */
	uint64_t reserve_bytes;                   /* free space below which uploads are refused */
	uint64_t answer_bytes_max;                /* of a dedupe answer; the queried xorb is whole in any case */
	uint64_t cache_bytes_max;                 /* of built answers kept in memory */
	uint32_t epoch_s; /* how long one key lasts; answers expire at the end of the following epoch */
	uint32_t
		gc_grace_s; /* how long a xorb that no file needs is kept; at least two epochs, the life of an answer */
	uint32_t upload_grace_s; /* how long a file that was uploaded to a hub's repository may stay without a path */
	void (*noticed)(void *ctx, const struct cairn_cas_notice *notice); /* from any thread; may be NULL */
	void *noticed_ctx;
};

/** Documented defaults. */
extern const struct cairn_cas_options CAIRN_CAS_DEFAULTS;

enum { CAIRN_CAS_OWNER_TEXT_MAX = CAIRN_INDEX_SCOPE_TEXT_MAX }; /* bytes of the name of a scope or owner */

/** On whose behalf a call acts. Borrowed strings, which index.h defines. */
struct cairn_cas_who {
	const char *scope;        /* dedupe scope; "" is the shared one */
	const char *owner;        /* repository that uploads register under; "" is the operator's */
	const char *viewer;       /* repository that reads; NULL: all files */
	struct cairn_hash sender; /* identifies the sender whose bytes in flight are counted */
	struct cairn_use *room; /* that the upload of a shard borrows (cairn_use_borrow()); NULL: it reserves its own */
};

/** Checks that the options fit together. Call it before opening the folder, so that no folder is made in vain.
 *  @return CAIRN_OK; CAIRN_E_USAGE gc_grace_s below two epochs, with diag */
CAIRN_MUST_USE enum cairn_status cairn_cas_options_check(const struct cairn_cas_options *options,
							 struct cairn_diag *diag);

/** @param[out] out  the caller's, cairn_cas_free()
 *  @return CAIRN_OK; CAIRN_E_USAGE as cairn_cas_options_check(); CAIRN_E_IO there are no random bytes; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_cas_open(struct cairn_cas **out, const struct cairn_cas_parts *parts,
						const struct cairn_cas_options *options, struct cairn_diag *diag);

/** Frees it. All uploads must have ended, with their callbacks, and all other calls. NULL is harmless. */
void cairn_cas_free(struct cairn_cas *cas);
void cairn_cas_freep(struct cairn_cas **cas);

const struct cairn_cas_options *cairn_cas_options_of(const struct cairn_cas *cas);

/** Returns the index, for parts that use both (lib/hub). Borrowed. */
struct cairn_index *cairn_cas_index(struct cairn_cas *cas);

/** Reports and counts a file kept in the index that is not what was committed.
 *  @param diag  what is wrong */
void cairn_cas_tell_content(struct cairn_cas *cas, const struct cairn_diag *diag);

/** Is the index or the store on another machine? Calls that use them may then wait long and belong on workers, also
 * those that are said to be cheap. */
bool cairn_cas_is_remote(const struct cairn_cas *cas);

/** Returns what cairn_index_reset_bug() returns. */
const char *cairn_cas_reset_bug(const struct cairn_cas *cas);

/** Checks that uploads can be accepted: index writable and its checkpoints whole, room above the reserve, store there.
 *  @return CAIRN_OK; CAIRN_E_FULL, of the reserve with the numbers in diag; CAIRN_E_BUSY the index did not answer in
 *          time; CAIRN_E_CONFLICT this machine's clock is off (index.clock); as cairn_index_health(),
 *          cairn_index_writable(), cairn_index_upkeep(), cairn_store_ready() */
CAIRN_MUST_USE enum cairn_status cairn_cas_ready(struct cairn_cas *cas, struct cairn_diag *diag);

/** Reads the store's credentials again. @return as cairn_store_reload() */
CAIRN_MUST_USE enum cairn_status cairn_cas_reload(struct cairn_cas *cas, struct cairn_diag *diag);

/* --- xorbs -------------------------------------------------------------------------------------------------------- */

/** A xorb that is being received, verified and written in pieces of half a MiB. For one thread at a time. */
struct cairn_xorb_upload;

/** @param sender  as in struct cairn_cas_who
 *  @return CAIRN_OK; CAIRN_E_BUSY over a limit of bytes under way; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_begin(struct cairn_cas *cas, const struct cairn_hash *sender,
							 const struct cairn_hash *hash, uint64_t bytes_expected,
							 struct cairn_xorb_upload **out, struct cairn_diag *diag);
/** Adds bytes. @return as cairn_use_add(), cairn_xorb_verifier_feed() and cairn_store_put_write(), the latter two maybe
 *  for bytes of an earlier call */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_write(struct cairn_xorb_upload *u, const uint8_t *bytes, size_t len,
							 struct cairn_diag *diag);
/** Is a write of len bytes likely to wait, because the disk is slow now? */
bool cairn_xorb_upload_waits(const struct cairn_xorb_upload *u, size_t len);
/** Checks that the xorb is complete and has its hash. On a worker.
 *  @param[out] bytes  number of its bytes to store
 *  @return as cairn_xorb_upload_write(), cairn_xorb_verifier_end() */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_verify(struct cairn_xorb_upload *u, uint64_t *bytes,
							  struct cairn_diag *diag);
/** Makes the bytes of a verified xorb durable. Waits for the disk, and for uploads of the same hash: on a worker.
 *  @return as cairn_store_put_commit(), cairn_store_put_copy(); CAIRN_E_BUSY, CAIRN_E_CONFLICT it was stored or lost
 *          meanwhile, so the client must send it again; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_store(struct cairn_xorb_upload *u, struct cairn_diag *diag);
/** Registers the xorb. done(ctx, status, was_inserted, diag) is called once, when the row is durable: by the index's
 * writer, or by this call if nothing is to be written. After the call of done, u may be freed. @return CAIRN_OK;
 * CAIRN_E_BUSY: done will not be called. If done is NULL the call waits, and returns the status: as
 * cairn_index_put_xorb() */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_commit(
	struct cairn_xorb_upload *u,
	void (*done)(void *ctx, enum cairn_status status, bool was_inserted, const struct cairn_diag *diag), void *ctx);
/** Has a frozen index refused the row, so that no row names the stored object? Not before done() is called. Other
 * uploads of the xorb then wait until cairn_xorb_upload_take_back() or cairn_xorb_upload_free(). */
bool cairn_xorb_upload_is_left(const struct cairn_xorb_upload *u);
/** Removes this object. If it cannot be removed now, a collection removes it later. Waits for the store: on a worker.
 */
void cairn_xorb_upload_take_back(struct cairn_xorb_upload *u);
/** Frees it. If it was not stored, nothing is left behind. NULL is harmless. */
void cairn_xorb_upload_free(struct cairn_xorb_upload *u);

/** Checks whether a verified xorb is stored, with its object, so that a client need not send it. A xorb that garbage
 * collection has retired counts as not stored; uploading it revives it.
 *  @param[out] stored_bytes  size of its object
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_xorb(struct cairn_cas *cas, const struct cairn_hash *hash,
						uint64_t *stored_bytes);

/** Returns the longest body of a xorb's upload: the xorb, and a footer, which is not stored. */
uint64_t cairn_cas_xorb_body_max(const struct cairn_cas *cas);

/** A xorb that this process makes of chunks that it cut and hashed. Compresses and writes each chunk when it is added.
 * Takes 1 MiB, and 40 bytes a chunk. For one worker at a time, because each call may wait for the disk. */
struct cairn_xorb_making;

/** Begins a xorb. @param room  borrowed until the xorb is freed (cairn_use_borrow()). More than that is counted as it
 *  comes @param[out] out  the caller's, cairn_xorb_making_free()
 *  @return CAIRN_OK; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_xorb_making_begin(struct cairn_cas *cas, struct cairn_use *room,
							 struct cairn_xorb_making **out);
/** Returns the most bytes that a xorb of so many bytes of content can have. */
uint64_t cairn_xorb_making_bytes_max(uint64_t content_bytes);
/** Appends a chunk. @param raw  as cairn_xorb_writer_add()
 *  @return as cairn_xorb_making_begin(), cairn_xorb_writer_add(); CAIRN_E_LIMIT it does not fit */
CAIRN_MUST_USE enum cairn_status cairn_xorb_making_add(struct cairn_xorb_making *m, const struct cairn_hash *chunk,
						       const uint8_t *raw, size_t len, struct cairn_diag *diag);
/** Stores and registers the xorb durably. @param hash  of its chunks
 *  @return as cairn_xorb_upload_store(), cairn_xorb_upload_commit() */
CAIRN_MUST_USE enum cairn_status cairn_xorb_making_end(struct cairn_xorb_making *m, const struct cairn_hash *hash,
						       struct cairn_diag *diag);
/** Frees it. If it was not stored, nothing is left behind. NULL is harmless. */
void cairn_xorb_making_free(struct cairn_xorb_making *m);

/* --- shards ------------------------------------------------------------------------------------------------------- */

/** A shard that is being received: spooled, verified on a worker, committed in a group. For one thread at a time. */
struct cairn_shard_upload;

/** @param who  its strings are copied
 *  @param footer_may_be_cut  as in struct cairn_verify_options
 *  @return CAIRN_OK; CAIRN_E_BUSY over a limit of bytes under way; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_shard_upload_begin(struct cairn_cas *cas, const struct cairn_cas_who *who,
							  uint64_t bytes_expected, bool footer_may_be_cut,
							  struct cairn_shard_upload **out, struct cairn_diag *diag);
/** Adds bytes. @return CAIRN_OK; CAIRN_E_LIMIT past shard_bytes_max; as cairn_use_add(), cairn_spool_write() */
CAIRN_MUST_USE enum cairn_status cairn_shard_upload_write(struct cairn_shard_upload *u, const uint8_t *bytes,
							  size_t len, struct cairn_diag *diag);
/** Is a write likely to wait, because the disk is slow now? */
bool cairn_shard_upload_waits(const struct cairn_shard_upload *u);
/**
 * Verifies the whole shard. Takes long: on a worker.
 * @param progress  as in struct cairn_verify_options; may be NULL
 * @return as cairn_verify_shard(), cairn_spool_read(); as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_shard_upload_verify(struct cairn_shard_upload *u,
							   bool (*progress)(void *ctx, uint64_t verified,
									    uint64_t total),
							   void *progress_ctx, struct cairn_diag *diag);
/** Returns what cairn_shard_upload_verify() counted. */
const struct cairn_verify_summary *cairn_shard_upload_summary(const struct cairn_shard_upload *u);
/** Registers the shard. added is false if all of it was known ("result":0). @return as cairn_xorb_upload_commit(); the
 * status of the write as cairn_index_put_shard() */
CAIRN_MUST_USE enum cairn_status cairn_shard_upload_commit(struct cairn_shard_upload *u,
							   void (*done)(void *ctx, enum cairn_status status, bool added,
									const struct cairn_diag *diag),
							   void *ctx);
/** Returns why a commit that waited did not register the shard. */
const struct cairn_diag *cairn_shard_upload_diag(const struct cairn_shard_upload *u);
void cairn_shard_upload_free(struct cairn_shard_upload *u);

/* --- chunk queries ------------------------------------------------------------------------------------------------ */

/** A xorb that an answer offers. */
struct cairn_answer_xorb {
	struct cairn_hash hash;
	uint64_t stored_bytes;
};

/** A built answer. Immutable, shared, counted: release with cairn_answer_unref(). Any thread. */
struct cairn_answer {
	const uint8_t *bytes; /* a footered shard with keyed chunk hashes */
	size_t len;
	int64_t expires_unix_s;    /* the footer's key expiry */
	int64_t epoch_ends_unix_s; /* until then the same query gives the same bytes, if nothing is added */
	const struct cairn_answer_xorb *xorbs;
	size_t n_xorbs;
	char etag[2 + 32 + 1]; /* quoted, strong: of the bytes */
};

/** Finds an answer that is in memory. Never waits for an index or a store on another machine.
 *  @return the answer, to be released; NULL: none is in memory */
const struct cairn_answer *cairn_cas_query_kept(struct cairn_cas *cas, const struct cairn_cas_who *who,
						const struct cairn_hash *chunk);

/** Finds out, as cairn_index_screen() does, whether a query is a miss or needs cairn_cas_query(). @param screen  with
 *  done set @param who  its strings are borrowed until done is called */
bool cairn_cas_screen(struct cairn_cas *cas, const struct cairn_cas_who *who, const struct cairn_hash *chunk,
		      struct cairn_index_screen *screen);
/** Waits until done was called for all screens. */
void cairn_cas_finish_screens(struct cairn_cas *cas);

/** Answers a chunk query. @param[out] out  to be released, cairn_answer_unref()
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND not tracked; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_query(struct cairn_cas *cas, const struct cairn_cas_who *who,
						 const struct cairn_hash *chunk, const struct cairn_answer **out);
void cairn_answer_unref(const struct cairn_answer *answer);

/** Data that a caller derived from an answer and keeps with it. Freed with the answer, by free(). */
struct cairn_answer_kept {
	void (*free)(struct cairn_answer_kept *kept);
};
/** Returns what is kept with an answer, borrowed while the answer is held. NULL: nothing is kept. */
struct cairn_answer_kept *cairn_answer_kept(const struct cairn_answer *answer);
/** Keeps something with an answer. If another thread came first, frees kept. @return what is kept from now on */
struct cairn_answer_kept *cairn_answer_keep(const struct cairn_answer *answer, struct cairn_answer_kept *kept);

/** Visits the xorbs that the answer would offer, for callers that cut content themselves. The first one has the chunk.
 *  @param visit  returns false to stop; list is borrowed during the call
 *  @return CAIRN_OK, also when there is none; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_each_offered(
	struct cairn_cas *cas, const struct cairn_cas_who *who, const struct cairn_hash *chunk,
	bool (*visit)(void *ctx, const struct cairn_hash *xorb, const struct cairn_chunk_list *list), void *ctx);

#endif
