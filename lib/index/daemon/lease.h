/* Leases of the jobs that one daemon at a time does for all that write an index: collecting, proving, scrubbing, adding
 * up usage.
 *
 * A lease lasts CAIRN_INDEX_LEASE_S by the clock of the index's server, and a thread of the index renews it each
 * second. A daemon that hangs does not renew its lease, and another takes it over. Taking over increases the lease's
 * fence. A write under a lease (write.lease) checks the fence in its own transaction, and is refused if it is stale. So
 * a daemon that wakes up after a month changes nothing. With a single writing process there are no leases, and every
 * call succeeds. */
#ifndef CAIRN_INDEX_DAEMON_LEASE_H
#define CAIRN_INDEX_DAEMON_LEASE_H

#include "index/index.h"

enum {
	CAIRN_INDEX_LEASE_S = 10,
	CAIRN_INDEX_WHO_BYTES = 192,
	CAIRN_INDEX_NOTE_BYTES = 2048,
};

/** In the order of the names in the table job. */
enum cairn_index_job { CAIRN_INDEX_COLLECT, CAIRN_INDEX_PROVE, CAIRN_INDEX_SCRUB, CAIRN_INDEX_USAGE, CAIRN_INDEX_JOBS };

/** Plain value. */
struct cairn_index_lease {
	enum cairn_index_job job;
	int64_t fence; /* a fencing token, column epoch of its job; 0: there are no leases */
};

/** May several daemons write this index? Then none knows what the others keep in memory. */
bool cairn_index_is_shared(const struct cairn_index *ix);

/** Sets where this daemon runs, for people: later leases record it. Call it before threads use the index.
 *  @param who  copied, cut to fit, with '?' for characters that are not printable ASCII @return the copy */
const char *cairn_index_introduce(struct cairn_index *ix, const char *who);

/** Does this machine's clock differ too much from the server's to judge ages? As of a second ago; always false where
 * one process writes the index. @param[out] diag  why: index.clock, with both numbers */
bool cairn_index_clock_is_off(struct cairn_index *ix, struct cairn_diag *diag);

/** The state of a job, as of a second ago. Plain value; zeroed where the index is not shared. */
struct cairn_index_job_state {
	bool taken;                      /* by any daemon */
	char who[CAIRN_INDEX_WHO_BYTES]; /* where its holder runs, or the last holder */
	int64_t since_unix_s;            /* when it was last taken, by the server's clock; 0: never */
	int64_t ran_unix_s, good_unix_s; /* when the job last ended, and last succeeded, at any daemon; 0: never */
};
void cairn_index_job_state(struct cairn_index *ix, enum cairn_index_job job, struct cairn_index_job_state *out);

/** A note for the daemon that does the job next: its progress, and messages to it. Plain value. */
struct cairn_index_note {
	int64_t version;                   /* grows with each note that is stored */
	char text[CAIRN_INDEX_NOTE_BYTES]; /* in the job's own words; empty: there is none */
};

/** Returns the present note of a job, in a shared index.
 *  @return as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_note(struct cairn_index *ix, enum cairn_index_job job,
						  struct cairn_index_note *out);

/** Takes the lease of a job. @return CAIRN_OK: then cairn_index_give_lease() follows; CAIRN_E_CONFLICT another daemon
 * holds it (lease.taken), or the clocks differ too much (index.clock); as a write */
CAIRN_MUST_USE enum cairn_status cairn_index_take_lease(struct cairn_index *ix, enum cairn_index_job job,
							struct cairn_index_lease *out, struct cairn_diag *diag);

/** Returns a lease. If another daemon has taken it over, that is no failure. @param ran_unix_s, good_unix_s  0:
 * unchanged
 *  @return CAIRN_OK; as a write: the lease then expires after CAIRN_INDEX_LEASE_S */
CAIRN_MUST_USE enum cairn_status cairn_index_give_lease(struct cairn_index *ix, const struct cairn_index_lease *lease,
							int64_t ran_unix_s, int64_t good_unix_s);
/** Returns a lease without waiting, after a failure: the next write might wait for the server as long as the last one
 * did. If the server does not answer soon, the lease expires after CAIRN_INDEX_LEASE_S. */
void cairn_index_leave_lease(struct cairn_index *ix, const struct cairn_index_lease *lease);

/* --- the writes of these ------------------------------------------------------------------------------------------ */

struct cairn_index_begin_lease {
	struct cairn_index_write write;
	struct cairn_index_lease lease;  /* the job; result: its fence */
	char who[CAIRN_INDEX_WHO_BYTES]; /* where this daemon runs */
};
CAIRN_MUST_USE enum cairn_status cairn_index_begin_lease(struct cairn_index *ix, struct cairn_index_begin_lease *begin);

struct cairn_index_end_lease {
	struct cairn_index_write write;
	struct cairn_index_lease lease;
	int64_t ran_unix_s, good_unix_s;
};
CAIRN_MUST_USE enum cairn_status cairn_index_end_lease(struct cairn_index *ix, struct cairn_index_end_lease *end);

/** Replaces a note that was read. CAIRN_E_CONFLICT: another note was stored meanwhile. The daemon that does the job
 * writes under its lease; one that leaves it a message writes without. */
struct cairn_index_put_note {
	struct cairn_index_write write;
	enum cairn_index_job job;
	struct cairn_index_note note; /* with the version that was read; stored with the next one. Not changed, since a
					 request may be retried */
};
CAIRN_MUST_USE enum cairn_status cairn_index_put_note(struct cairn_index *ix, struct cairn_index_put_note *put);

#endif
