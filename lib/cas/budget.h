/* Counts bytes in flight: bodies being received, and answers too long for memory. Both all senders together and each
 * sender have a limit, so that no sender can use all. A body with an announced length reserves it at the beginning, and
 * is refused then or never. A body without occupies only the bytes sent. */
#ifndef CAIRN_CAS_BUDGET_H
#define CAIRN_CAS_BUDGET_H

#include "hash/hash.h"

#include <pthread.h>

struct cairn_cas;
struct cairn_share;

enum { CAIRN_BUDGET_BUCKETS = 1024 };

/** The budget of a data folder. Any thread. */
struct cairn_budget {
	uint64_t bytes_max, share_bytes_max; /* set at opening */
	pthread_mutex_t lock;                /* guards the members below */
	uint64_t bytes;                      /* bytes received */
	uint64_t reserved;                   /* bytes announced, but not yet received */
	unsigned n_uses;
	pthread_cond_t unused;                            /* signals that n_uses is 0 */
	struct cairn_share *shares[CAIRN_BUDGET_BUCKETS]; /* only senders with bytes in flight */
};

/** The part of the budget that one body or answer uses. Zeroed: none. It may be moved; one thread at a time. */
struct cairn_use {
	struct cairn_cas *cas;
	struct cairn_share *share;
	struct cairn_use *lender; /* NULL: none */
	uint64_t lent;            /* bytes of the lender's reservation, returned at the end */
	bool on_disk;
	uint64_t bytes;
	uint64_t reserved;     /* bytes announced and reserved */
	uint64_t looked_bytes; /* value of bytes when the free space was last read */
};

void cairn_budget_init(struct cairn_budget *b, uint64_t bytes_max, uint64_t share_bytes_max);
/** Waits until every use has ended, even one for which nobody waits, such as a telemetry row's. */
void cairn_budget_fini(struct cairn_budget *b);
/** Returns the bytes received. @param[out] reserved  bytes announced, but not yet received */
uint64_t cairn_budget_bytes(struct cairn_budget *b, uint64_t *reserved);

/** Begins a use.
 * @param sender  identifies the sender: a hash of its name
 * @param bytes_expected  its length, reserved until cairn_use_end(); UINT64_MAX: unknown
 * @param on_disk  the disk must also have reserve_bytes free, besides all bytes reserved
 * @return CAIRN_OK; CAIRN_E_BUSY over a limit, named in diag; CAIRN_E_FULL; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_use_begin(struct cairn_use *u, struct cairn_cas *cas,
						 const struct cairn_hash *sender, uint64_t bytes_expected, bool on_disk,
						 struct cairn_diag *diag);

/** Begins a use with the whole reservation of another use, so that bytes announced once are not refused later.
 * @param lender  gets the reservation back by cairn_use_end(); until then not moved or ended; on the same thread
 * @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_use_borrow(struct cairn_use *u, struct cairn_use *lender);

/** Returns the limit for one sender. */
uint64_t cairn_budget_share_max(struct cairn_cas *cas);

/** Counts more received bytes, first against the reservation. @return CAIRN_OK; CAIRN_E_BUSY, CAIRN_E_FULL as
 * cairn_use_begin(): they are not counted */
CAIRN_MUST_USE enum cairn_status cairn_use_add(struct cairn_use *u, uint64_t bytes, struct cairn_diag *diag);

/** Records that the bytes move to the disk. @return CAIRN_OK; CAIRN_E_FULL: they would not leave reserve_bytes free */
CAIRN_MUST_USE enum cairn_status cairn_use_to_disk(struct cairn_use *u, struct cairn_diag *diag);

/** Ends the use and releases its bytes. Harmless if it was not begun. */
void cairn_use_end(struct cairn_use *u);

#endif
