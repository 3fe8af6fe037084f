/* Leases of the jobs that one daemon at a time does for all that write an index: collecting garbage, proving,
 * scrubbing, adding up usage, fetching repositories of the mirrored hub ahead of requests, and fetching a long file.
 *
 * A lease lasts CAIRN_INDEX_LEASE_S by the clock of the index's server, and a thread of the index renews it each
 * second. A daemon that hangs does not renew its lease, and another takes it over. Taking over increases the lease's
 * fence. A write under a lease (write.lease) compares the fence in its own transaction, and is refused if the fence is
 * stale. So a daemon that wakes up after a month changes nothing. With a single writing process there are no leases,
 * and every call succeeds. */
#ifndef CAIRN_INDEX_DAEMON_LEASE_H
#define CAIRN_INDEX_DAEMON_LEASE_H

#include "index/index.h"

enum {
	CAIRN_INDEX_LEASE_S = 10,
	CAIRN_INDEX_WHO_BYTES = 192,
	CAIRN_INDEX_NOTE_BYTES = 2048,
};

/** In the order of the names in the table job. */
enum cairn_index_job {
	CAIRN_INDEX_COLLECT,
	CAIRN_INDEX_PROVE,
	CAIRN_INDEX_SCRUB,
	CAIRN_INDEX_USAGE,
	CAIRN_INDEX_AHEAD,
	CAIRN_INDEX_JOBS,
};

/** Plain value. */
struct cairn_index_lease {
	enum cairn_index_job job;
	int64_t fence;   /* a fencing token, column epoch of its job; 0: there are no leases */
	int64_t content; /* content that the daemon fetches from the mirrored hub; 0: the lease is that of job */
};

/** May several daemons write this index? Then no daemon knows what the others have cached. */
bool cairn_index_is_shared(const struct cairn_index *ix);

/** Sets where this daemon runs; leases taken later record it for people. Call it before threads use the index.
 * @param who  copied, cut to fit, with '?' for characters that are not printable ASCII @return the copy */
const char *cairn_index_introduce(struct cairn_index *ix, const char *who);

/** Does this machine's clock differ too much from the server's to judge ages? The answer is up to a second old, and
 * always false where one process writes the index. @param[out] diag  why: index.clock, with both numbers */
bool cairn_index_clock_is_off(struct cairn_index *ix, struct cairn_diag *diag);

/** The state of a job, up to a second old. Plain value; zeroed where the index is not shared. */
struct cairn_index_job_state {
	bool taken;                      /* a daemon holds the lease */
	int64_t fence;                   /* of the last lease; a lease with a lower one is lost */
	char who[CAIRN_INDEX_WHO_BYTES]; /* where its holder runs, or the last holder */
	int64_t since_unix_s;            /* when it was last taken, by the server's clock; 0: never */
	int64_t ran_unix_s, good_unix_s; /* when the job last ended, and last succeeded, at any daemon; 0: never */
};
void cairn_index_job_state(struct cairn_index *ix, enum cairn_index_job job, struct cairn_index_job_state *out);

/** A note that the daemons of a job leave for the one that does it next: its progress, and requests to it. Plain
 * value. */
struct cairn_index_note {
	int64_t version;                   /* grows with each note that is stored */
	char text[CAIRN_INDEX_NOTE_BYTES]; /* in a form that the job defines; empty: none */
};

/** Returns the note of a job in a shared index.
 * @return as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_note(struct cairn_index *ix, enum cairn_index_job job,
						  struct cairn_index_note *out);

/** Takes the lease of a job. @return CAIRN_OK: then cairn_index_give_lease() follows; CAIRN_E_CONFLICT another daemon
 * holds it (lease.taken), or the clocks differ too much (index.clock); as a write */
CAIRN_MUST_USE enum cairn_status cairn_index_take_lease(struct cairn_index *ix, enum cairn_index_job job,
							struct cairn_index_lease *out, struct cairn_diag *diag);

/** Takes the lease of an absent content of a mirrored repository. @return CAIRN_OK: then cairn_index_leave_lease()
 * follows; CAIRN_E_CONFLICT another daemon holds it, or the content is no longer absent (lease.taken); as a write */
CAIRN_MUST_USE enum cairn_status cairn_index_take_fetch(struct cairn_index *ix, int64_t content,
							struct cairn_index_lease *out, struct cairn_diag *diag);

/** The state of a content that another daemon may fetch. Plain value. */
struct cairn_index_fetch {
	bool is_here;  /* the content has its bytes */
	bool is_taken; /* a daemon holds the content's lease */
};
/** Finds the state of a content; all false where the index is not shared.
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND the repository does not have the content; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_fetch(struct cairn_index *ix, int64_t repo, int64_t content,
						   struct cairn_index_fetch *out);

/** Returns a lease. If another daemon has taken it over, that is no failure. @param ran_unix_s, good_unix_s  0:
 * unchanged
 *  @return CAIRN_OK; as a write: the lease then expires after CAIRN_INDEX_LEASE_S */
CAIRN_MUST_USE enum cairn_status cairn_index_give_lease(struct cairn_index *ix, const struct cairn_index_lease *lease,
							int64_t ran_unix_s, int64_t good_unix_s);
/** Returns a lease without waiting, after a failure, because the next write might wait for the server as long as the
 * last one. If the server does not answer soon, the lease expires after CAIRN_INDEX_LEASE_S. */
void cairn_index_leave_lease(struct cairn_index *ix, const struct cairn_index_lease *lease);

/* --- the writes behind the calls above ---------------------------------------------------------------------------- */

struct cairn_index_begin_lease {
	struct cairn_index_write write;
	struct cairn_index_lease lease;  /* the job, or the content; result: its fence */
	char who[CAIRN_INDEX_WHO_BYTES]; /* where this daemon runs */
};
CAIRN_MUST_USE enum cairn_status cairn_index_begin_lease(struct cairn_index *ix, struct cairn_index_begin_lease *begin);

struct cairn_index_end_lease {
	struct cairn_index_write write;
	struct cairn_index_lease lease;
	int64_t ran_unix_s, good_unix_s;
};
CAIRN_MUST_USE enum cairn_status cairn_index_end_lease(struct cairn_index *ix, struct cairn_index_end_lease *end);

/** Replaces a note that was read. CAIRN_E_CONFLICT: another daemon stored one meanwhile. The daemon that does the job
 * writes under its lease; a daemon that sends it a request writes without. */
struct cairn_index_put_note {
	struct cairn_index_write write;
	enum cairn_index_job job;
	struct cairn_index_note note; /* with the version that was read; it is stored with the next version. Not
					 changed, because a request may be retried */
};
CAIRN_MUST_USE enum cairn_status cairn_index_put_note(struct cairn_index *ix, struct cairn_index_put_note *put);

#endif
