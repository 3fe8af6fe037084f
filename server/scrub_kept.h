/* What outlasts the daemon of its scrub: a note in the data folder or, where several daemons share an index, in that.
 */
#ifndef CAIRN_SERVER_SCRUB_KEPT_H
#define CAIRN_SERVER_SCRUB_KEPT_H

#include "server/app.h"

/** A change of what is kept, made to what it is at that moment: more than once if somebody else changes it, too. */
struct scrub_change {
	void (*apply)(struct scrub_kept *kept, struct scrub_change *change);
	struct scrub_pass pass; /* what it is given */
	int64_t within_s;
	bool began; /* result of a start: a pass begins with it */
};

/** Take up what the last daemon left. */
void scrub_kept_open(struct app *app);

/** Take up what others have changed, if it is time to look again. On the thread; does nothing where one daemon has the
 *  index. @param now  it is time  @return false: the index did not answer */
bool scrub_kept_hear(struct app *app, bool now);

/** Change it: in memory, or, where it is shared, durably. @param lease  that it takes; NULL: none
 *  @return CAIRN_OK; where it is shared as a write: nothing has changed */
CAIRN_MUST_USE enum cairn_status scrub_kept_change(struct app *app, const struct cairn_index_lease *lease,
						   struct scrub_change *change, struct cairn_diag *diag);

/** On the thread: write down how far it is. @return false: another daemon has taken over */
bool scrub_kept_keep(struct app *app);

/** As it is known here. */
struct scrub_kept scrub_kept_copy(struct scrub *s);

#endif
