/* The stages of a sweep, in pieces for as long as one transaction may take: for the engines, which remove each piece.
 */
#ifndef CAIRN_INDEX_SWEEP_H
#define CAIRN_INDEX_SWEEP_H

#include "index/hub.h"

/** What an engine does, within its transaction. Each @param[out] more  false: there was nothing of the kind any more */
struct cairn_sweep_engine {
	/** A piece of a deleted repository. */
	enum cairn_status (*dropped)(void *tx, bool *more);
	/** A piece of a line that nothing comes from, or of the end of one. */
	enum cairn_status (*lines)(void *tx, struct cairn_index_sweep_place *at, bool *more);
	/** A page of one bucket's files that came before then, and that nothing names. */
	enum cairn_status (*unnamed)(void *tx, struct cairn_index_sweep_place *at, int64_t before_unix_s, bool *more);
};

/** Go on where the last one has left off. @return CAIRN_OK; as the engine's calls */
CAIRN_MUST_USE enum cairn_status cairn_sweep_repos(const struct cairn_sweep_engine *engine, void *tx,
						   struct cairn_index_sweep_repos *sweep);

#endif
