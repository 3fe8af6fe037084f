/* The scrub of a running daemon reads all stored data, pass after pass, at a rate that leaves the disk to other work.
 * Its progress survives a restart. Only one of the daemons that share an index reads at a time. The others know its
 * progress of up to two seconds ago, and one of them takes over if it disappears. */
#ifndef CAIRN_SERVER_SCRUB_H
#define CAIRN_SERVER_SCRUB_H

#include "cas/service/jobs.h"
#include "server/pace.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <pthread.h>

struct app;

/** A pass. Plain value; zeroed: there is none. */
struct scrub_pass {
	int64_t started_unix_s, ended_unix_s; /* ended_unix_s 0: the pass is under way */
	int64_t within_s;                     /* intended duration; it may take more, or less */
	int64_t total_bytes;                  /* bytes stored when it began */
	int64_t at;                           /* number of the xorb that was checked last */
	int64_t xorbs, bytes;                 /* that were checked; that were read */
	int64_t damaged;                      /* copies that differ from what was uploaded */
	int64_t mended;                       /* xorbs with wrong copies or rows and a sound copy here */
	int64_t lost;                         /* xorbs without a sound copy */
	int64_t unread;                       /* xorbs that could not be read: their state is unknown */
	int64_t whole;                        /* 1: it read everything that is stored */
};

/** The state that survives a restart. Plain value. */
struct scrub_kept {
	struct scrub_pass now, last; /* now: zeroed when no pass is under way */
	int64_t good_unix_s;         /* end of the last pass that could read everything; 0: none */
	int64_t paused;              /* 1: paused until an operator starts it */
};

/** A member of struct app; zeroed, then scrub_init(). */
struct scrub {
	pthread_mutex_t lock; /* guards the next two */
	struct scrub_kept kept;
	int64_t version;                   /* version of the note in the index, where several daemons share it */
	atomic_bool holds;                 /* this daemon is the one that reads */
	atomic_bool is_unsaved;            /* a start or a pause has not been stored yet */
	_Atomic uint64_t n_xorbs, n_bytes; /* since the start of the daemon */
	/* used by the thread alone */
	struct pace pace;
	struct cairn_index_lease lease; /* the lease that this daemon holds */
	int64_t kept_ms;                /* when the note was last written */
	int64_t hear_ms;                /* when to read the note next */
	bool cannot_keep;               /* writing the note fails, and this was logged */
};

void scrub_init(struct scrub *s);
/** Loads the state that the previous daemon left. The data folder must be open. */
void scrub_open(struct app *app);
void scrub_fini(struct scrub *s);

/** Checks one xorb if a pass is under way; begins a pass if it is due. On the thread of housekeeping. @return true:
 * there is more to do at once */
bool scrub_turn(struct app *app);

/** Stores the progress, so that the next daemon continues there. On the thread of housekeeping, at the end. */
void scrub_leave(struct app *app);

/** The scrub's current activity. */
enum scrub_state {
	SCRUB_OFF,     /* scrub_period is 0, or the bytes are kept elsewhere, and nobody began a pass by hand */
	SCRUB_WAITING, /* waiting for the time of the next pass */
	SCRUB_RUNNING,
	SCRUB_PAUSED, /* paused until an operator starts it */
};

/** The status of the scrub. Plain value. */
struct scrub_status {
	enum scrub_state state;
	int64_t period_s;
	int64_t next_unix_s;                /* when the next pass begins; 0: unknown */
	char daemon[CAIRN_INDEX_WHO_BYTES]; /* which of several daemons reads; empty: none so far, or not shared */
	struct scrub_kept kept;
};
void scrub_status(struct app *app, struct scrub_status *out);

/** Continues a pass, or begins one if none is under way. Any thread; on a worker where the index is shared. @param
 * within_s  the pass, or its rest, runs at the rate at which a whole pass takes this time; 0: as before, or as the
 * settings say @return CAIRN_OK; where the index is shared, as for a write: then nothing has changed */
CAIRN_MUST_USE enum cairn_status scrub_start(struct app *app, int64_t within_s, struct cairn_diag *diag);

/** Pauses the scrub until scrub_start(), in all daemons that share the index and in those that start later. Threads and
 * @return as for scrub_start(). */
CAIRN_MUST_USE enum cairn_status scrub_pause(struct app *app, struct cairn_diag *diag);

#endif
