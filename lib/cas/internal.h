/* Types and calls that the files of lib/cas share. */
#ifndef CAIRN_CAS_INTERNAL_H
#define CAIRN_CAS_INTERNAL_H

#include "cas/answer_cache.h"
#include "cas/budget.h"
#include "cas/cas.h"
#include "cas/dedupe_key.h"
#include "cas/slow_disk.h"
#include "cas/verified_lists.h"
#include "hash/hash_guard.h"
#include "store/pack.h"
#include "store/spool.h"

#include <stdatomic.h>

enum {
	CAS_COPIES_MAX = CAIRN_STORE_PACKS_MAX + 1,  /* copies of a xorb: in the object folder, and in each pack */
	CAS_VERIFIED_MAX = 1 << 18,                  /* 2 MiB, for 128 GiB of objects */
	CAS_KEYS_USED = 256,                         /* slots for API keys whose use was recorded lately */
	CAS_VERIFIED_LISTS_BYTES = 16 * 1024 * 1024, /* 50 lists of the greatest length; 400 usual ones: 25 GB */
};

/** The members are set at opening and then only read, except for atomics and members with locks of their own. */
struct cairn_cas {
	struct cairn_cas_options options;
	char *data_dir, *tmp_dir;
	struct cairn_secret secret;
	struct cairn_dedupe_keys dedupe_keys;
	uint8_t fetch_key[CAIRN_HASH_BYTES];  /* signs fetch grants; derived from the secret */
	uint8_t public_key[CAIRN_HASH_BYTES]; /* hides numbers (public_id.c); derived from the secret */
	uint8_t code_key[CAIRN_HASH_BYTES];   /* for digests of short codes (public_id.c); derived from the secret */
	struct cairn_index *index;            /* borrowed, like the store */
	struct cairn_store *store;
	struct cairn_answer_cache *cache;
	struct cairn_guards guards; /* guards the object and the row of a xorb together */
	_Atomic uint64_t *verified; /* CAS_VERIFIED_MAX words: verify_read.c */
	struct cas_verified_lists *verified_lists;
	struct cas_losses *losses;
	_Atomic int64_t keys_used[CAS_KEYS_USED]; /* the hour and key last written: keys.c */
	_Atomic bool collecting;                  /* one collection at a time */
	_Atomic uint32_t gc_step;                 /* enum cairn_gc_step: progress, for other threads to read */
	_Atomic uint64_t gc_done, gc_total;
	_Atomic int64_t gc_started_unix_s;
	struct cairn_copy_id dead_from; /* where the last collection gave up removing; the next one starts after it */
	_Atomic uint64_t withdrawn;     /* cairn_index_withdrawn() when the cache was last cleared */
	struct cairn_budget budget;     /* budget of bodies and long answers in progress */
	struct cairn_slow_disk slow_disk;
	_Atomic uint64_t chunks_verified;
	_Atomic uint64_t xorbs_stored, xorb_bytes_stored;
	_Atomic uint64_t objects_damaged, xorbs_lost, xorbs_found, contents_damaged;
};

/** Allocates the state of losses.h. @return NULL without memory */
struct cas_losses *cas_losses_new(void);
void cas_losses_free(struct cas_losses *losses);

/** Calls cairn_spool_write(), and records how long it took if the spool is a file. */
CAIRN_MUST_USE enum cairn_status cas_spool_write(struct cairn_cas *cas, struct cairn_spool *spool, const uint8_t *bytes,
						 size_t len);

/** Reports a notice to options.noticed, and counts it. @param diag  the damage; NULL: none */
void cas_notify(struct cairn_cas *cas, enum cairn_cas_notice_kind kind, const struct cairn_hash *xorb,
		const struct cairn_diag *diag);

/** Fills diag after a store returned CAIRN_E_BUSY without a text. @return CAIRN_E_BUSY */
static inline enum cairn_status cas_store_is_silent(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_BUSY, "store.silent", CAIRN_NO_OFFSET,
			  "the object store does not answer; try again in a few seconds");
}

/** Fills diag after an index returned CAIRN_E_BUSY. @return CAIRN_E_BUSY */
static inline enum cairn_status cas_index_is_silent(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_BUSY, "index.silent", CAIRN_NO_OFFSET,
			  "the index does not answer; try again in a few seconds");
}

/** Maps the index's CAIRN_E_DAMAGED to CAIRN_E_IO, so that callers do not mistake it for damage of an object. */
static inline enum cairn_status cas_index_status(enum cairn_status status)
{
	return status == CAIRN_E_DAMAGED ? CAIRN_E_IO : status;
}

/** Do the rows of the index name the copies of the store? Then a row can be trusted until its object is read, because
 * no other copy ever replaces that. */
static inline bool cas_names_copies(const struct cairn_cas *cas)
{
	return cairn_index_names_copies(cas->index) && cairn_store_names_copies(cas->store);
}

struct cairn_cas_owned;
struct cairn_index_owned;

/** A list of files as their owners have them. */
struct cas_owned_walk {
	void (*visit)(void *ctx, const struct cairn_cas_owned *file);
	void *ctx;
};
/** Passes a row to the list. @param ctx  struct cas_owned_walk */
void cas_visit_owned(void *ctx, const struct cairn_index_owned *row);

#endif
