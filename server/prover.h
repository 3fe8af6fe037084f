/* Proves claimed SHA-256 values: one thread reads the files, at a rate that leaves the disk to others. */
#ifndef CAIRN_SERVER_PROVER_H
#define CAIRN_SERVER_PROVER_H

#include "cas/cas.h"

#include <stdatomic.h>
#include <stdint.h>

/** The thread that proves. */
struct prover;

/** Figures about claims and proofs. A member of struct app. */
struct prover_counts {
	_Atomic uint64_t n_proved, n_false, n_unread, read_bytes; /* since the start of the daemon */
	_Atomic int64_t counted_unix_s;        /* when the next three figures were counted; 0: never */
	_Atomic uint64_t due, due_bytes, lies; /* figures of the whole index */
};

/** Starts the thread. Signals must be blocked. All arguments are borrowed until the end. @param rate  bytes a second,
 * 0: off; read again and again @param counts  receives the figures @return CAIRN_OK; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status prover_start(struct prover **out, struct cairn_cas *cas, const _Atomic uint64_t *rate,
					      struct prover_counts *counts);

/** Asks the thread to end, without waiting. NULL is harmless. */
void prover_end(struct prover *p);

/** Waits until the thread has ended, and frees it. NULL is harmless. */
void prover_stop(struct prover *p);

#endif
