/* Stores the scrub's state across restarts: in a note of the data folder, or of an index that several daemons share. */
#ifndef CAIRN_SERVER_SCRUB_KEPT_H
#define CAIRN_SERVER_SCRUB_KEPT_H

#include "server/app.h"

/** A change of the kept state. It is applied to the current state, and again if another daemon changed that. */
struct scrub_change {
	void (*apply)(struct scrub_kept *kept, struct scrub_change *change);
	struct scrub_pass pass; /* argument of apply() */
	int64_t within_s;
	bool began; /* result of a start: a new pass began */
};

/** Loads the state that the previous daemon left. */
void scrub_kept_open(struct app *app);

/** Reads changes by other daemons, if a read is due. On the scrub's thread. Does nothing where one daemon has the index
 * alone. @param now  read at once  @return false: the index did not answer */
bool scrub_kept_hear(struct app *app, bool now);

/** Changes the state: in memory, or durably where the index is shared. @param lease  a lease to take with the change;
 * NULL: none @return CAIRN_OK; where the index is shared, as for a write: then nothing has changed */
CAIRN_MUST_USE enum cairn_status scrub_kept_change(struct app *app, const struct cairn_index_lease *lease,
						   struct scrub_change *change, struct cairn_diag *diag);

/** Stores the progress. On the scrub's thread. @return false: another daemon has taken over */
bool scrub_kept_keep(struct app *app);

/** Returns the state as this daemon knows it. */
struct scrub_kept scrub_kept_copy(struct scrub *s);

#endif
