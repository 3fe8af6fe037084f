/* The scrub of a running daemon: it reads all stored data, pass after pass, at a rate that leaves the disk to others.
 * Its progress survives a restart. Only one of the daemons that share an index reads at a time. The others know its
 * progress as of two seconds ago, and one of them takes over when it is gone. */
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
	int64_t started_unix_s, ended_unix_s; /* ended 0: under way */
	int64_t within_s;                     /* the time that it should take; it may take more, or less */
	int64_t total_bytes;                  /* stored at its beginning */
	int64_t at;                           /* number of the xorb that was checked last */
	int64_t xorbs, bytes;                 /* checked, read */
	int64_t damaged;                      /* copies that differ from what was uploaded */
	int64_t mended;                       /* xorbs with wrong copies or rows and a sound copy here */
	int64_t lost;                         /* xorbs without a sound copy */
	int64_t unread;                       /* xorbs that could not be read: their state is unknown */
	int64_t whole;                        /* 1: it came to the end of what is stored */
};

/** The state that survives a restart. Plain value. */
struct scrub_kept {
	struct scrub_pass now, last; /* now: zeroed when none is under way */
	int64_t good_unix_s;         /* when a pass that could read all last ended; 0: none */
	int64_t paused;              /* 1: until it is told to start */
};

/** Part of the app; zeroed, then scrub_init(). */
struct scrub {
	pthread_mutex_t lock; /* guards the next two */
	struct scrub_kept kept;
	int64_t version;                   /* of the note in the index, where several daemons share an index */
	atomic_bool holds;                 /* this daemon is the one that reads */
	atomic_bool is_unsaved;            /* a start or a pause is not stored yet */
	_Atomic uint64_t n_xorbs, n_bytes; /* since the start of the daemon */
	/* the thread's */
	struct pace pace;
	struct cairn_index_lease lease; /* the lease that it holds */
	int64_t kept_ms;                /* when the note was written last */
	int64_t hear_ms;                /* when to read the note next */
	bool cannot_keep;               /* writing the note fails, and that was logged */
};

void scrub_init(struct scrub *s);
/** Loads the state that the previous daemon left in the folder, which must be open. */
void scrub_open(struct app *app);
void scrub_fini(struct scrub *s);

/** Checks one xorb if a pass is under way, or begins a pass if it is due. On the thread of housekeeping.
 *  @return true: there is more to do at once */
bool scrub_turn(struct app *app);

/** Stores the progress, so that the next daemon continues there. On the thread of housekeeping, at the end. */
void scrub_leave(struct app *app);

/** The scrub's current activity. */
enum scrub_state {
	SCRUB_OFF,     /* scrub_period is 0, or the bytes are kept elsewhere, and nobody began a pass */
	SCRUB_WAITING, /* until it is time for the next pass */
	SCRUB_RUNNING,
	SCRUB_PAUSED, /* until it is told to start */
};

/** The status of the scrub. Plain value. */
struct scrub_status {
	enum scrub_state state;
	int64_t period_s;
	int64_t next_unix_s;                /* when the next pass begins; 0: that is not known */
	char daemon[CAIRN_INDEX_WHO_BYTES]; /* that reads, where several share an index; empty: none so far, or one has
					     * the index for itself */
	struct scrub_kept kept;
};
void scrub_status(struct app *app, struct scrub_status *out);

/** Continues, or begins a pass if none is under way. Any thread; on a worker where the index is shared.
 * @param within_s  the pass, or its rest, runs at the rate at which a whole pass takes so long; 0: as before, or as the
 * settings say
 * @return CAIRN_OK; where the index is shared, as for a write: nothing has changed */
CAIRN_MUST_USE enum cairn_status scrub_start(struct app *app, int64_t within_s, struct cairn_diag *diag);

/** Pauses until scrub_start(). The next daemon is paused, too, and so are all that share the index. Threads and @return
 * as scrub_start(). */
CAIRN_MUST_USE enum cairn_status scrub_pause(struct app *app, struct cairn_diag *diag);

#endif
