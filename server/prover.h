/* Proof of SHA-256 in a running daemon: one thread that reads what owners claim, at a rate that leaves the disk to
 * others. */
#ifndef CAIRN_SERVER_PROVER_H
#define CAIRN_SERVER_PROVER_H

#include "cas/cas.h"

#include <stdatomic.h>
#include <stdint.h>

/** The thread. */
struct prover;

/** What came of it. Of the app. */
struct prover_counts {
	_Atomic uint64_t n_proved, n_false, n_unread, read_bytes; /* since the start of the daemon */
	_Atomic int64_t counted_unix_s;                           /* when the next three were; 0: never */
	_Atomic uint64_t due, due_bytes, lies;                    /* of the index */
};

/** Begin. Signals must be blocked. @param rate  bytes a second, 0: off; looked at again and again
 *  @param counts  what it comes to. All are borrowed until the end @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status prover_start(struct prover **out, struct cairn_cas *cas, const _Atomic uint64_t *rate,
					      struct prover_counts *counts);

/** Tell it to end, without waiting. NULL is harmless. */
void prover_end(struct prover *p);

/** Wait until it has ended, and free it. NULL is harmless. */
void prover_stop(struct prover *p);

#endif
