/* What the files of this folder share. */
#ifndef CAIRN_CAS_INTERNAL_H
#define CAIRN_CAS_INTERNAL_H

#include "cas/answer_cache.h"
#include "cas/cas.h"
#include "cas/hash_guard.h"
#include "cas/secret.h"

#include <stdatomic.h>

enum { CAS_PROVED_MAX = 1 << 16 };

/** Members are set at opening and then only read, but for the atomics and what guards itself. */
struct cairn_cas {
	struct cairn_cas_options options; /* data_dir and secret_file are not kept */
	char *data_dir, *tmp_dir;
	int lock_fd; /* holds the folder */
	struct cairn_secret secret;
	uint8_t fetch_key[32]; /* signs fetch grants; derived from the secret */
	struct cairn_index *index;
	struct cairn_store *store;
	struct cairn_answer_cache *cache;
	struct cairn_guards guards; /* over the object and the row of a xorb together */
	_Atomic uint64_t *proved;   /* CAS_PROVED_MAX marks of ranges that were found right: prove.c */
	_Atomic bool collecting;    /* one collection at a time */
	_Atomic uint64_t spool_bytes;
	_Atomic uint64_t chunks_verified;
	_Atomic uint64_t xorbs_stored, xorb_bytes_stored;
};

/**
 * Set bytes aside for a body in flight, within spool_bytes_max and above the reserve of free space.
 * @return CAIRN_OK: give them back with cas_release_bytes(); CAIRN_E_BUSY; CAIRN_E_FULL
 */
CAIRN_MUST_USE enum cairn_status cas_reserve_bytes(struct cairn_cas *cas, uint64_t bytes, struct cairn_diag *diag);
void cas_release_bytes(struct cairn_cas *cas, uint64_t bytes);

/** Is there room for so many bytes more, above the reserve? @return CAIRN_OK; CAIRN_E_FULL with the numbers in diag */
CAIRN_MUST_USE enum cairn_status cas_check_space(struct cairn_cas *cas, uint64_t in_flight, struct cairn_diag *diag);

/**
 * Is a xorb stored: do its row and its object agree? One that is retired may be.
 * @param[out] row  zeroed when there is none
 * @return CAIRN_OK with *stored set; CAIRN_E_IO
 */
CAIRN_MUST_USE enum cairn_status cas_xorb_look(struct cairn_cas *cas, const struct cairn_hash *hash,
					       struct cairn_index_xorb *row, bool *stored);

#endif
