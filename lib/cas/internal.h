/* What the files of this folder share. */
#ifndef CAIRN_CAS_INTERNAL_H
#define CAIRN_CAS_INTERNAL_H

#include "cas/answer_cache.h"
#include "cas/budget.h"
#include "cas/cas.h"
#include "cas/hash_guard.h"
#include "cas/proved_lists.h"

#include <stdatomic.h>

enum {
	CAS_PROVED_MAX = 1 << 18,                  /* 2 MiB, for what stands in 128 GiB of objects */
	CAS_PROVED_LISTS_BYTES = 16 * 1024 * 1024, /* 50 lists of the greatest length; 400 of usual ones: 25 GB */
};

/** Members are set at opening and then only read, but for the atomics and what guards itself. */
struct cairn_cas {
	struct cairn_cas_options options;
	char *data_dir, *tmp_dir;
	struct cairn_secret secret;
	uint8_t fetch_key[32];     /* signs fetch grants; derived from the secret */
	struct cairn_index *index; /* borrowed, as the store is */
	struct cairn_store *store;
	struct cairn_answer_cache *cache;
	struct cairn_guards guards; /* over the object and the row of a xorb together */
	_Atomic uint64_t *proved;   /* CAS_PROVED_MAX words: prove.c */
	struct cas_proved_lists *proved_lists;
	_Atomic bool collecting;    /* one collection at a time */
	struct cairn_budget budget; /* of bodies and long answers under way */
	_Atomic uint64_t chunks_verified;
	_Atomic uint64_t xorbs_stored, xorb_bytes_stored;
	_Atomic uint64_t objects_damaged, xorbs_lost, xorbs_found;
};

/** What the index answered to a look at a xorb or a file: its own damage would be taken for that of the object. */
static inline enum cairn_status cas_index_status(enum cairn_status status)
{
	return status == CAIRN_E_DAMAGED ? CAIRN_E_IO : status;
}

/**
 * Is a xorb stored: do its row and its object agree? One that is retired may be.
 * @param[out] row  zeroed when there is none
 * @return CAIRN_OK with *stored set; CAIRN_E_IO
 */
CAIRN_MUST_USE enum cairn_status cas_xorb_look(struct cairn_cas *cas, const struct cairn_hash *hash,
					       struct cairn_index_xorb *row, bool *stored);

/** Is there an object of this length? @return CAIRN_OK with *there set; CAIRN_E_IO */
CAIRN_MUST_USE enum cairn_status cas_object_there(struct cairn_cas *cas, const struct cairn_hash *hash, uint64_t bytes,
						  bool *there);

#endif
