/* What one daemon at a time does for all that write one index: collecting, proving, scrubbing, adding up who uses what.
 *
 * Who holds a lease has it for CAIRN_INDEX_LEASE_S by the clock of the index's server, and a thread of the index renews
 * it each second. A daemon that stands still does not renew it, and another takes it over. The fence of the lease grows
 * with that, and each write that is done under a lease (write.lease) is refused in its own transaction when its fence
 * is not the last one: whoever wakes up after a month changes nothing. Where one process writes the index there are no
 * leases, and every call succeeds. */
#ifndef CAIRN_INDEX_LEASE_H
#define CAIRN_INDEX_LEASE_H

#include "index/index.h"

enum {
	CAIRN_INDEX_LEASE_S = 10,
	CAIRN_INDEX_WHO_BYTES = 192,
	CAIRN_INDEX_NOTE_BYTES = 2048,
};

/** By the names in the table job, in their order. */
enum cairn_index_job { CAIRN_INDEX_COLLECT, CAIRN_INDEX_PROVE, CAIRN_INDEX_SCRUB, CAIRN_INDEX_USAGE, CAIRN_INDEX_JOBS };

/** Plain value. */
struct cairn_index_lease {
	enum cairn_index_job job;
	int64_t fence; /* a fencing token, column epoch of its job; 0: there are no leases */
};

/** Do several daemons write this index? Then what one of them keeps in memory the others do not know. */
bool cairn_index_is_shared(const struct cairn_index *ix);

/** Say where this daemon is, for people: each lease that it takes from now on tells it. Before threads use the index.
 *  @param who  copied: what fits, with '?' for what is not printable ASCII @return that */
const char *cairn_index_introduce(struct cairn_index *ix, const char *who);

/** Is this machine's clock too far from that of the index's server to judge what is old? As of a second ago; never
 * where one process writes the index. @param[out] diag  why: index.clock, with both numbers */
bool cairn_index_clock_is_off(struct cairn_index *ix, struct cairn_diag *diag);

/** What is known of a job, as of a second ago. Plain value; zeroed where the index is not shared. */
struct cairn_index_job_state {
	bool taken;                      /* by any daemon */
	char who[CAIRN_INDEX_WHO_BYTES]; /* where that daemon is; where nobody has it: who had it last */
	int64_t since_unix_s;            /* when it was taken last, by the server's clock; 0: it never was */
	int64_t ran_unix_s, good_unix_s; /* when it ended last, at any daemon, and ended well; 0: it never did */
};
void cairn_index_job_state(struct cairn_index *ix, enum cairn_index_job job, struct cairn_index_job_state *out);

/** What is kept of a job for whichever daemon does it next: how far it is, and what was told of it. Plain value. */
struct cairn_index_note {
	int64_t version;                   /* grows with each that is kept */
	char text[CAIRN_INDEX_NOTE_BYTES]; /* in the job's own words; empty: there is none */
};

/** The note as it is now, of an index that is shared.
 *  @return as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_note(struct cairn_index *ix, enum cairn_index_job job,
						  struct cairn_index_note *out);

/** Take the lease of a job. @return CAIRN_OK: then cairn_index_give_lease() follows; CAIRN_E_CONFLICT another daemon
 * holds it (lease.taken), or the clocks differ too much to judge anything by (index.clock); as a write */
CAIRN_MUST_USE enum cairn_status cairn_index_take_lease(struct cairn_index *ix, enum cairn_index_job job,
							struct cairn_index_lease *out, struct cairn_diag *diag);

/** Give it back. One that was taken over is no failure. @param ran_unix_s, good_unix_s  0: nothing is said of that
 *  @return CAIRN_OK; as a write: it is another's in CAIRN_INDEX_LEASE_S all the same */
CAIRN_MUST_USE enum cairn_status cairn_index_give_lease(struct cairn_index *ix, const struct cairn_index_lease *lease,
							int64_t ran_unix_s, int64_t good_unix_s);

/* --- the writes of these ------------------------------------------------------------------------------------------ */

struct cairn_index_begin_lease {
	struct cairn_index_write write;
	struct cairn_index_lease lease;  /* the job; result: its fence */
	char who[CAIRN_INDEX_WHO_BYTES]; /* where this daemon is */
};
CAIRN_MUST_USE enum cairn_status cairn_index_begin_lease(struct cairn_index *ix, struct cairn_index_begin_lease *begin);

struct cairn_index_end_lease {
	struct cairn_index_write write;
	struct cairn_index_lease lease;
	int64_t ran_unix_s, good_unix_s;
};
CAIRN_MUST_USE enum cairn_status cairn_index_end_lease(struct cairn_index *ix, struct cairn_index_end_lease *end);

/** Put a note in the place of one that was read, if no other came meanwhile: CAIRN_E_CONFLICT then. Who goes on with
 * the job does it under its lease, who is told something of it without. */
struct cairn_index_put_note {
	struct cairn_index_write write;
	enum cairn_index_job job;
	struct cairn_index_note note; /* with the version that was read; kept with the next one. A request may be tried
					 again, so it is left as it is */
};
CAIRN_MUST_USE enum cairn_status cairn_index_put_note(struct cairn_index *ix, struct cairn_index_put_note *put);

#endif
