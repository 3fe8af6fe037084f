/* Counts bytes under way: bodies that come in, and answers too long for memory. All of them together have a limit, and
 * so has each sender, so that nobody can hold all of it. A body that says how long it will be gets that room at its
 * beginning, so it is refused there or not at all. A body that does not say so holds no more than it has sent. */
#ifndef CAIRN_CAS_BUDGET_H
#define CAIRN_CAS_BUDGET_H

#include "hash/hash.h"

#include <pthread.h>

struct cairn_cas;
struct cairn_share;

enum { CAIRN_BUDGET_BUCKETS = 1024 };

/** Of a data folder. Any thread. */
struct cairn_budget {
	uint64_t bytes_max, share_bytes_max; /* set at opening */
	pthread_mutex_t lock;                /* over all below */
	uint64_t bytes;                      /* that have come */
	uint64_t reserved;                   /* that were announced, and have not come */
	unsigned n_uses;
	pthread_cond_t unused;                            /* n_uses has become 0 */
	struct cairn_share *shares[CAIRN_BUDGET_BUCKETS]; /* of those who have something under way, and of nobody else
							   */
};

/** What one body or answer has of it. Zeroed: nothing. May be moved; one thread at a time. */
struct cairn_use {
	struct cairn_cas *cas;
	struct cairn_share *share;
	bool on_disk;
	uint64_t bytes;
	uint64_t reserved;     /* that may come and have room */
	uint64_t looked_bytes; /* when the free space was last looked at */
};

void cairn_budget_init(struct cairn_budget *b, uint64_t bytes_max, uint64_t share_bytes_max);
/** Waits until every use has ended: nobody waits for a row of telemetry, which may be on its way to the index. */
void cairn_budget_fini(struct cairn_budget *b);
/** @param[out] reserved  bytes that were announced, and have not come @return those that have */
uint64_t cairn_budget_bytes(struct cairn_budget *b, uint64_t *reserved);

/**
 * Begin to count.
 * @param sender  tells senders apart: a hash of what names them
 * @param bytes_expected  how much it will be: these bytes are reserved until cairn_use_end(); UINT64_MAX: not known
 * @param on_disk  it must also leave reserve_bytes of free space, beside all that others have reserved
 * @return CAIRN_OK; CAIRN_E_BUSY over a limit, which is named in diag; CAIRN_E_FULL; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status cairn_use_begin(struct cairn_use *u, struct cairn_cas *cas,
						 const struct cairn_hash *sender, uint64_t bytes_expected, bool on_disk,
						 struct cairn_diag *diag);

/** So many bytes more have come; they take what is reserved first. @return CAIRN_OK; CAIRN_E_BUSY; CAIRN_E_FULL: they
 * are not counted, as above */
CAIRN_MUST_USE enum cairn_status cairn_use_add(struct cairn_use *u, uint64_t bytes, struct cairn_diag *diag);

/** From now on it is on the disk. @return CAIRN_OK; CAIRN_E_FULL: it would not leave reserve_bytes of free space */
CAIRN_MUST_USE enum cairn_status cairn_use_to_disk(struct cairn_use *u, struct cairn_diag *diag);

/** All of it is gone. Harmless when it was not begun. */
void cairn_use_end(struct cairn_use *u);

#endif
