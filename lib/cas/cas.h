/* The use cases of the store, without HTTP: receive a xorb, receive a shard, answer a chunk query. */
#ifndef CAIRN_CAS_CAS_H
#define CAIRN_CAS_CAS_H

#include "base/buf.h"
#include "data_dir/secret.h"
#include "index/index.h"
#include "store/store.h"
#include "verify/verify.h"
#include "xorb/verifier.h"

/* Statuses, for all headers of this folder. "As index and store" stands for the failures that any call of index or
 * store may return:
 *   CAIRN_E_IO       the disk, the engine or the service failed
 *   CAIRN_E_DAMAGED  a row of the index is malformed
 *   CAIRN_E_FULL     no space is left
 *   CAIRN_E_BUSY     a server does not answer: nothing is known, so draw no conclusion from it
 *   CAIRN_E_FORMAT, CAIRN_E_LIMIT  a server refuses the query: a text is not UTF-8, or it is too long
 *   CAIRN_E_NOMEM
 * "As a write" stands for all statuses of struct cairn_index_write, and for CAIRN_E_BUSY of a full queue. */

/** The use cases over one index and one store. Any thread may call. */
struct cairn_cas;

struct cairn_data_dir;
struct cairn_use; /* budget.h */

/** The index, store and folder that a cairn_cas uses. Borrowed: their opener closes them, after cairn_cas_free(). */
struct cairn_cas_parts {
	struct cairn_index *index;
	struct cairn_store *store;
	const char *data_dir;              /* spooled bodies are in DIR/tmp; DIR/hold blocks collections */
	const struct cairn_secret *secret; /* NULL: cannot sign answers, as for checks */
};

/** Returns the parts of an open data folder. */
struct cairn_cas_parts cairn_cas_parts_of(const struct cairn_data_dir *d);

/** A finding about stored bytes; each is reported once. Borrowed during the call. */
struct cairn_cas_notice {
	enum cairn_cas_notice_kind {
		CAIRN_CAS_OBJECT_DAMAGED,  /* this copy differs from the upload: rule, text and offset say how */
		CAIRN_CAS_XORB_LOST,       /* no copy is sound: the xorb counts as not stored until it has one */
		CAIRN_CAS_XORB_FOUND,      /* a lost xorb has a sound copy again */
		CAIRN_CAS_CONTENT_DAMAGED, /* a file in the index differs from the commit: see rule and text */
	} kind;
	struct cairn_hash xorb;  /* for the first three kinds */
	const char *rule, *text; /* NULL: none */
	uint64_t offset;
};

struct cairn_cas_options {
	bool xorbs_external; /* only an index: the bytes of xorbs are stored elsewhere */
	bool strict;         /* refuse uploads that the newer format document forbids, though stock clients make them */
	uint64_t shard_bytes_max;                 /* bytes of one upload */
	uint64_t xorb_bytes_max;                  /* serialized bytes, without a footer */
	uint32_t xorb_chunks_max;                 /* at most CAIRN_XORB_CHUNKS_MAX */
	uint32_t files_max, terms_max, xorbs_max; /* most of each in a shard */
	uint64_t term_chunks_max;                 /* chunks that the terms of a shard cover together */
	uint64_t list_chunks_max;                 /* chunks in the stored lists that verifying a shard may read */
	uint64_t edit_chunks_max;     /* chunks that planning an edit may pass and read in lists, together */
	uint64_t spool_bytes_max;     /* bytes of all bodies in flight; above it uploads are answered 503 */
	unsigned spool_share_percent; /* share of spool_bytes_max for one sender, at least one upload of full size */
	uint64_t reserve_bytes;       /* free space below which uploads are refused */
	uint64_t answer_bytes_max;    /* bytes of a dedupe answer; the queried xorb is always whole */
	uint64_t cache_bytes_max;     /* bytes of built answers in memory */
	uint32_t epoch_s;             /* how long a key is used; answers expire at the end of the following epoch */
	uint32_t gc_grace_s; /* how long a xorb without a file is kept; at least two epochs, the life of an answer */
	uint64_t
		unregistered_bytes_max; /* bytes of xorbs of one account that no file needs yet; 0: they do not count */
	uint32_t upload_grace_s;        /* how long a file uploaded to a hub's repository may stay without a path */
	void (*noticed)(void *ctx, const struct cairn_cas_notice *notice); /* called on any thread; may be NULL */
	void *noticed_ctx;
};

/** The documented defaults. */
extern const struct cairn_cas_options CAIRN_CAS_DEFAULTS;

enum { CAIRN_CAS_OWNER_TEXT_MAX = CAIRN_INDEX_SCOPE_TEXT_MAX }; /* bytes of the name of a scope or owner */

/** On whose behalf a call acts. Borrowed strings, which index.h defines. */
struct cairn_cas_who {
	const char *scope;        /* dedupe scope; "" is the shared one */
	const char *owner;        /* repository that uploads register under; "" is the operator's */
	const char *viewer;       /* repository that reads; NULL: all files */
	struct cairn_hash sender; /* identifies the sender whose bytes in flight are counted */
	bool is_daemon;           /* the daemon makes the shard, which the option strict does not concern */
	bool finds_withdrawn;     /* uses withdrawn xorbs, too, as the mirror does (index/hub/mirror_offers.h) */
	bool stays_withdrawn;     /* xorbs that it makes, or uses, are not offered for its sake */
	struct cairn_use *room;   /* lends its reservation to the upload of a shard (cairn_use_borrow()); NULL: none */
};

/** Checks that the options fit together. Call it before opening the folder, so that a refusal creates no folder.
 * @return CAIRN_OK; CAIRN_E_USAGE gc_grace_s below two epochs, with diag */
CAIRN_MUST_USE enum cairn_status cairn_cas_options_check(const struct cairn_cas_options *options,
							 struct cairn_diag *diag);

/** Opens it. @param[out] out  the caller's, cairn_cas_free()
 * @return CAIRN_OK; CAIRN_E_USAGE as cairn_cas_options_check(); CAIRN_E_IO there are no random bytes; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_cas_open(struct cairn_cas **out, const struct cairn_cas_parts *parts,
						const struct cairn_cas_options *options, struct cairn_diag *diag);

/** Frees it. All calls and all uploads, with their callbacks, must have ended. NULL is harmless. */
void cairn_cas_free(struct cairn_cas *cas);
void cairn_cas_freep(struct cairn_cas **cas);

const struct cairn_cas_options *cairn_cas_options_of(const struct cairn_cas *cas);

/** Returns the index, for code that uses both (lib/hub). Borrowed. */
struct cairn_index *cairn_cas_index(struct cairn_cas *cas);

/** Reports and counts a file stored in the index that differs from the commit.
 * @param diag  the fault */
void cairn_cas_report_content(struct cairn_cas *cas, const struct cairn_diag *diag);

/** Is the index or the store on another machine? Then all calls that use them may take long and belong on workers, even
 * those that are cheap according to their comments. */
bool cairn_cas_is_remote(const struct cairn_cas *cas);

/** Checks that uploads can be accepted: the index is writable, its checkpoints succeed, there is room above the
 * reserve, and the store answers.
 * @return CAIRN_OK; CAIRN_E_FULL, with the numbers in diag; CAIRN_E_BUSY the index did not answer in time;
 *         CAIRN_E_CONFLICT this machine's clock is off (index.clock); as cairn_index_health(), cairn_index_writable(),
 *         cairn_index_upkeep(), cairn_store_ready() */
CAIRN_MUST_USE enum cairn_status cairn_cas_ready(struct cairn_cas *cas, struct cairn_diag *diag);

/** Reads the store's credentials again. @return as cairn_store_reload() */
CAIRN_MUST_USE enum cairn_status cairn_cas_reload(struct cairn_cas *cas, struct cairn_diag *diag);

#endif
