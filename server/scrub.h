/* The scrub of a running daemon: pass after pass over all that is stored, at a rate that leaves the disk to others. How
 * far it is outlasts the daemon. Of daemons that share an index one at a time reads, whichever was told; each knows how
 * far it is, as of two seconds ago, and goes on with it when that one is gone. */
#ifndef CAIRN_SERVER_SCRUB_H
#define CAIRN_SERVER_SCRUB_H

#include "cas/jobs.h"
#include "server/pace.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <pthread.h>

struct app;

/** A pass. Plain value; zeroed: there is none. */
struct scrub_pass {
	int64_t started_unix_s, ended_unix_s; /* ended 0: under way */
	int64_t within_s;                     /* how long it may take; what is stored may want more, or less */
	int64_t total_bytes;                  /* stored at its beginning */
	int64_t at;                           /* number of the xorb that was looked at last */
	int64_t xorbs, bytes;                 /* looked at, read */
	int64_t damaged;                      /* copies that are not what was uploaded */
	int64_t mended; /* xorbs whose copies or rows were wrong, and of which a sound copy is here */
	int64_t lost;   /* xorbs without a sound copy */
	int64_t unread; /* xorbs that could not be read: nothing is known of these */
	int64_t whole;  /* 1: it came to the end of what is stored */
};

/** What outlasts the daemon. Plain value. */
struct scrub_kept {
	struct scrub_pass now, last; /* now: zeroed when none is under way */
	int64_t good_unix_s;         /* when a pass last ended that could read all; 0: none */
	int64_t paused;              /* 1: until it is told to start */
};

/** Of the app; zeroed, then scrub_init(). */
struct scrub {
	pthread_mutex_t lock; /* over the next two */
	struct scrub_kept kept;
	int64_t version;                   /* of the index's note that it is, where several daemons share an index */
	atomic_bool holds;                 /* of those this one reads */
	atomic_bool told;                  /* to start or to pause, which is not written down so far */
	_Atomic uint64_t n_xorbs, n_bytes; /* since the start of the daemon */
	/* the thread's */
	struct pace pace;
	struct cairn_index_lease lease; /* that it holds */
	int64_t kept_ms;                /* when the note was written last */
	int64_t hear_ms;                /* when it is to be read next */
	bool cannot_keep;               /* which was logged */
};

void scrub_init(struct scrub *s);
/** Take up what the last daemon left in the folder, which must be open. */
void scrub_open(struct app *app);
void scrub_fini(struct scrub *s);

/** On the thread of housekeeping: look at one xorb if a pass is under way, or begin one if it is time.
 *  @return true: there is more to do at once */
bool scrub_turn(struct app *app);

/** On that thread, at the end: write down how far it is, so that the next daemon goes on there. */
void scrub_leave(struct app *app);

/** What it does. */
enum scrub_state {
	SCRUB_OFF,     /* scrub_period is 0, or the bytes are kept elsewhere, and nobody began a pass */
	SCRUB_WAITING, /* until it is time for the next pass */
	SCRUB_RUNNING,
	SCRUB_PAUSED, /* until it is told to start */
};

/** How it stands. Plain value. */
struct scrub_status {
	enum scrub_state state;
	int64_t period_s;
	int64_t next_unix_s;                /* when the next pass begins; 0: that is not known */
	char daemon[CAIRN_INDEX_WHO_BYTES]; /* that reads, where several share an index; empty: none so far, or one has
					     * the index for itself */
	struct scrub_kept kept;
};
void scrub_status(struct app *app, struct scrub_status *out);

/**
 * Go on, or begin a pass if none is under way. Any thread; on a worker where the index is shared.
 * @param within_s  the pass, or what is left of it, goes on at a rate with which a whole one takes so long; 0: as
 *                  before, or as the settings say
 * @return CAIRN_OK; where the index is shared as a write: nothing has changed
 */
CAIRN_MUST_USE enum cairn_status scrub_start(struct app *app, int64_t within_s, struct cairn_diag *diag);

/** Stop reading, until scrub_start(): also the next daemon does, and all that share the index. Likewise. */
CAIRN_MUST_USE enum cairn_status scrub_pause(struct app *app, struct cairn_diag *diag);

#endif
