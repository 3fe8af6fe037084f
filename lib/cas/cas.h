/* The use cases of the store, without HTTP: take a xorb, take a shard, answer a chunk query. */
#ifndef CAIRN_CAS_CAS_H
#define CAIRN_CAS_CAS_H

#include "base/buf.h"
#include "data_dir/secret.h"
#include "index/index.h"
#include "store/store.h"
#include "verify/verify.h"
#include "xorb/verifier.h"

/*
 * Statuses, for all headers of this room. "As index and store" stands for what these answer when they cannot do their
 * work, whatever was asked of them:
 *   CAIRN_E_IO       the disk, the engine or the service failed
 *   CAIRN_E_DAMAGED  a row of the index is malformed
 *   CAIRN_E_FULL     no space is left
 *   CAIRN_E_BUSY     a server does not answer: nothing is known, and nothing may be judged by it
 *   CAIRN_E_FORMAT, CAIRN_E_LIMIT  a server cannot be asked this: a text is not UTF-8, or the question is too long
 *   CAIRN_E_NOMEM
 * "As a write" stands for all that struct cairn_index_write lists, and for CAIRN_E_BUSY of a full queue.
 */

/** The use cases over one index and one store. Any thread may call. */
struct cairn_cas;

struct cairn_data_dir;

/** What it works on. Borrowed: whoever opened it closes it, after cairn_cas_free(). */
struct cairn_cas_parts {
	struct cairn_index *index;
	struct cairn_store *store;
	const char *data_dir;              /* bodies wait in DIR/tmp; DIR/hold holds off collections */
	const struct cairn_secret *secret; /* NULL: there are no answers to sign then, for checking */
};

/** What an open folder has. */
struct cairn_cas_parts cairn_cas_parts_of(const struct cairn_data_dir *d);

/** What was found out about stored bytes, each once. Borrowed for the time of the call. */
struct cairn_cas_notice {
	enum cairn_cas_notice_kind {
		CAIRN_CAS_OBJECT_DAMAGED,  /* this copy is not what was uploaded: rule, text and offset say why */
		CAIRN_CAS_XORB_LOST,       /* no sound copy is left: it counts as not stored until there is one */
		CAIRN_CAS_XORB_FOUND,      /* a sound copy of one that was lost is here again */
		CAIRN_CAS_CONTENT_DAMAGED, /* a file that the index keeps itself is not what was committed: likewise */
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
	uint64_t spool_bytes_max;     /* bodies in flight, all together; over it uploads are told to come again */
	unsigned spool_share_percent; /* of that, what one sender may have; a largest upload in any case */
	uint64_t reserve_bytes;       /* free space below which uploads are refused */
	uint64_t answer_bytes_max;    /* of a dedupe answer; the queried xorb is whole in any case */
	uint64_t cache_bytes_max;     /* of built answers kept in memory */
	uint32_t epoch_s;             /* how long one key lasts; answers expire at the end of the following epoch */
	uint32_t
		gc_grace_s; /* how long a xorb that no file needs is kept; at least two epochs, the life of an answer */
	uint32_t upload_grace_s; /* how long a file that was uploaded to a hub's repository may stay without a path */
	void (*noticed)(void *ctx, const struct cairn_cas_notice *notice); /* from any thread; NULL: nobody listens */
	void *noticed_ctx;
};

/** Documented defaults. */
extern const struct cairn_cas_options CAIRN_CAS_DEFAULTS;

enum { CAIRN_CAS_OWNER_TEXT_MAX = CAIRN_INDEX_SCOPE_TEXT_MAX }; /* bytes of the name of a scope or owner */

/** On whose behalf. Borrowed strings; the meaning is index.h's. */
struct cairn_cas_who {
	const char *scope;        /* dedupe scope; "" is the shared one */
	const char *owner;        /* repository that uploads register under; "" is the operator's */
	const char *viewer;       /* repository that reads; NULL: all files */
	struct cairn_hash sender; /* tells senders apart where what each has under way is counted */
};

/** Do the options go together? Asked before the folder is opened, so that none is made in vain.
 *  @return CAIRN_OK; CAIRN_E_USAGE gc_grace_s below two epochs, with diag */
CAIRN_MUST_USE enum cairn_status cairn_cas_options_check(const struct cairn_cas_options *options,
							 struct cairn_diag *diag);

/** @param[out] out  the caller's, cairn_cas_free()
 *  @return CAIRN_OK; CAIRN_E_USAGE as cairn_cas_options_check(); CAIRN_E_IO there are no random bytes; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_cas_open(struct cairn_cas **out, const struct cairn_cas_parts *parts,
						const struct cairn_cas_options *options, struct cairn_diag *diag);

/** Every upload must have been told of its end, and every other call be over. NULL is harmless. */
void cairn_cas_free(struct cairn_cas *cas);
void cairn_cas_freep(struct cairn_cas **cas);

const struct cairn_cas_options *cairn_cas_options_of(const struct cairn_cas *cas);

/** Its index, for the parts that stand on both (lib/hub). Borrowed. */
struct cairn_index *cairn_cas_index(struct cairn_cas *cas);

/** A file that the index keeps itself was read and is not what was committed: tell whoever listens, and count it.
 *  @param diag  what is wrong */
void cairn_cas_tell_content(struct cairn_cas *cas, const struct cairn_diag *diag);

/** Is its index or its store on another machine? What asks them may wait for long then, so it is for workers: the calls
 * that say they are cheap, too. */
bool cairn_cas_is_remote(const struct cairn_cas *cas);

/** As cairn_index_reset_bug(). */
const char *cairn_cas_reset_bug(const struct cairn_cas *cas);

/** Can uploads be taken: index writable and its checkpoints whole, room above the reserve, the store there?
 *  @return CAIRN_OK; CAIRN_E_FULL, of the reserve with the numbers in diag; CAIRN_E_BUSY the index did not answer in
 *          time; CAIRN_E_CONFLICT this machine's clock is off (index.clock); as cairn_index_health(),
 *          cairn_index_writable(), cairn_index_upkeep(), cairn_store_ready() */
CAIRN_MUST_USE enum cairn_status cairn_cas_ready(struct cairn_cas *cas, struct cairn_diag *diag);

/** Read the store's credentials again. @return as cairn_store_reload() */
CAIRN_MUST_USE enum cairn_status cairn_cas_reload(struct cairn_cas *cas, struct cairn_diag *diag);

/* --- xorbs -------------------------------------------------------------------------------------------------------- */

/** A xorb on its way in: verified and written while it streams, half a MiB at a time. One thread at a time. */
struct cairn_xorb_upload;

/** @param sender  as in struct cairn_cas_who
 *  @return CAIRN_OK; CAIRN_E_BUSY over a limit of bytes under way; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_begin(struct cairn_cas *cas, const struct cairn_hash *sender,
							 const struct cairn_hash *hash, uint64_t bytes_expected,
							 struct cairn_xorb_upload **out, struct cairn_diag *diag);
/** Take bytes. @return as cairn_use_add(), cairn_xorb_verifier_feed() and cairn_store_put_write(), the latter two maybe
 *  for bytes of an earlier call */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_write(struct cairn_xorb_upload *u, const uint8_t *bytes, size_t len,
							 struct cairn_diag *diag);
/** Is a write of so many bytes likely to wait for a disk that is slow just now? */
bool cairn_xorb_upload_waits(const struct cairn_xorb_upload *u, size_t len);
/** Check that it is whole and is what its hash says. On a worker.
 *  @param[out] bytes  of it that are to be stored
 *  @return as cairn_xorb_upload_write(), cairn_xorb_verifier_end() */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_verify(struct cairn_xorb_upload *u, uint64_t *bytes,
							  struct cairn_diag *diag);
/** Make the bytes of one that was verified durable. Waits for the disk, and for others with the same hash: on a worker.
 *  @return as cairn_store_put_commit(), cairn_store_put_copy(); CAIRN_E_BUSY, CAIRN_E_CONFLICT it was stored or lost
 *          meanwhile: to be sent again; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_store(struct cairn_xorb_upload *u, struct cairn_diag *diag);
/** Register it. done(ctx, status, was_inserted, diag) is called once, when that is durable: on the index's writer, or
 * by this call where nothing is to be written. u may be freed from there on. @return CAIRN_OK; CAIRN_E_BUSY: done will
 * not be called. Without done (NULL) the call waits, and answers the status: as cairn_index_put_xorb() */
CAIRN_MUST_USE enum cairn_status cairn_xorb_upload_commit(
	struct cairn_xorb_upload *u,
	void (*done)(void *ctx, enum cairn_status status, bool was_inserted, const struct cairn_diag *diag), void *ctx);
/** Drop it; nothing is left behind if it was not stored. NULL is harmless. */
void cairn_xorb_upload_free(struct cairn_xorb_upload *u);

/** Is the verified xorb stored, so that a client need not send it? One that garbage collection has retired counts as
 * not stored: sent again, it lives again. The object itself is looked for, too.
 *  @param[out] stored_bytes  of its object
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_xorb(struct cairn_cas *cas, const struct cairn_hash *hash,
						uint64_t *stored_bytes);

/** The longest body of a xorb's upload: the xorb, and a footer, which is not kept. */
uint64_t cairn_cas_xorb_body_max(const struct cairn_cas *cas);

/** A xorb that is made here, of chunks that were cut and hashed here: compressed and written while they come. Takes 1
 * MiB, and 40 bytes a chunk. One thread at a time; each call may wait for the disk, so it is for workers. */
struct cairn_xorb_making;

/** Begin one. @param[out] out  the caller's, cairn_xorb_making_free()
 *  @return CAIRN_OK; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM; CAIRN_E_BUSY over a limit of bytes under way */
CAIRN_MUST_USE enum cairn_status cairn_xorb_making_begin(struct cairn_cas *cas, const struct cairn_hash *sender,
							 struct cairn_xorb_making **out, struct cairn_diag *diag);
/** Append a chunk. @param raw  as cairn_xorb_writer_add()
 *  @return as cairn_xorb_making_begin(), cairn_xorb_writer_add(); CAIRN_E_LIMIT it does not fit */
CAIRN_MUST_USE enum cairn_status cairn_xorb_making_add(struct cairn_xorb_making *m, const struct cairn_hash *chunk,
						       const uint8_t *raw, size_t len, struct cairn_diag *diag);
/** Store and register it; both are durable then. @param hash  of its chunks
 *  @return as cairn_xorb_upload_store(), cairn_xorb_upload_commit() */
CAIRN_MUST_USE enum cairn_status cairn_xorb_making_end(struct cairn_xorb_making *m, const struct cairn_hash *hash,
						       struct cairn_diag *diag);
/** Drop it; nothing is left behind if it was not stored. NULL is harmless. */
void cairn_xorb_making_free(struct cairn_xorb_making *m);

/* --- shards ------------------------------------------------------------------------------------------------------- */

/** A shard on its way in: spooled, verified on a worker, committed in a group. One thread at a time. */
struct cairn_shard_upload;

/** @param who  its strings are copied
 *  @param footer_may_be_cut  as in struct cairn_verify_options
 *  @return CAIRN_OK; CAIRN_E_BUSY over a limit of bytes under way; CAIRN_E_FULL; CAIRN_E_IO; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_shard_upload_begin(struct cairn_cas *cas, const struct cairn_cas_who *who,
							  uint64_t bytes_expected, bool footer_may_be_cut,
							  struct cairn_shard_upload **out, struct cairn_diag *diag);
/** Take bytes. @return CAIRN_OK; CAIRN_E_LIMIT past shard_bytes_max; as cairn_use_add(), cairn_spool_write() */
CAIRN_MUST_USE enum cairn_status cairn_shard_upload_write(struct cairn_shard_upload *u, const uint8_t *bytes,
							  size_t len, struct cairn_diag *diag);
/** Is a write likely to wait for a disk that is slow just now? */
bool cairn_shard_upload_waits(const struct cairn_shard_upload *u);
/**
 * Verify all of it; long: on a worker.
 * @param progress  as in struct cairn_verify_options; may be NULL
 * @return as cairn_verify_shard(), cairn_spool_read(); as index and store
 */
CAIRN_MUST_USE enum cairn_status cairn_shard_upload_verify(struct cairn_shard_upload *u,
							   bool (*progress)(void *ctx, uint64_t verified,
									    uint64_t total),
							   void *progress_ctx, struct cairn_diag *diag);
/** What the verification counted. Valid after it. */
const struct cairn_verify_summary *cairn_shard_upload_summary(const struct cairn_shard_upload *u);
/** Register it. added false: all of it was known ("result":0). @return as cairn_xorb_upload_commit(); the status of the
 *  write as cairn_index_put_shard() */
CAIRN_MUST_USE enum cairn_status cairn_shard_upload_commit(struct cairn_shard_upload *u,
							   void (*done)(void *ctx, enum cairn_status status, bool added,
									const struct cairn_diag *diag),
							   void *ctx);
/** Why it was not registered, after a commit that waited. */
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
	int64_t epoch_ends_unix_s; /* the same query gives the same bytes until then, as long as nothing is added */
	const struct cairn_answer_xorb *xorbs;
	size_t n_xorbs;
	char etag[2 + 32 + 1]; /* quoted, strong: of the bytes */
};

/** Is there an answer in memory? Waits for nobody where the index or the store is on another machine.
 *  @return the answer, to be released; NULL */
const struct cairn_answer *cairn_cas_query_kept(struct cairn_cas *cas, const struct cairn_cas_who *who,
						const struct cairn_hash *chunk);

/** As cairn_index_screen(): tells a miss from what cairn_cas_query() may answer. @param screen  its done set
 *  @param who  what it points to is borrowed until that is called */
bool cairn_cas_screen(struct cairn_cas *cas, const struct cairn_cas_who *who, const struct cairn_hash *chunk,
		      struct cairn_index_screen *screen);
/** Wait until all have been told. */
void cairn_cas_finish_screens(struct cairn_cas *cas);

/** Answer a chunk query. @param[out] out  to be released, cairn_answer_unref()
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND not tracked; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_query(struct cairn_cas *cas, const struct cairn_cas_who *who,
						 const struct cairn_hash *chunk, const struct cairn_answer **out);
void cairn_answer_unref(const struct cairn_answer *answer);

/** What whoever serves an answer has made of it: goes with the answer, by free(). */
struct cairn_answer_kept {
	void (*free)(struct cairn_answer_kept *kept);
};
/** Borrowed for as long as the answer is held. NULL: nothing is kept. */
struct cairn_answer_kept *cairn_answer_kept(const struct cairn_answer *answer);
/** Keep it. @return what is kept from now on: another may have come first, and this one was freed then */
struct cairn_answer_kept *cairn_answer_keep(const struct cairn_answer *answer, struct cairn_answer_kept *kept);

/** Visit the xorbs that would be in the answer, for whoever cuts content here: the first of them has the chunk.
 *  @param visit  answers false to end it there. list is borrowed for the time of the call
 *  @return CAIRN_OK, also when there is none; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_each_offered(
	struct cairn_cas *cas, const struct cairn_cas_who *who, const struct cairn_hash *chunk,
	bool (*visit)(void *ctx, const struct cairn_hash *xorb, const struct cairn_chunk_list *list), void *ctx);

#endif
