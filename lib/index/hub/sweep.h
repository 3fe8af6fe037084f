/* The stages of a sweep, for the engines. Each transaction removes pieces for a limited time. */
#ifndef CAIRN_INDEX_HUB_SWEEP_H
#define CAIRN_INDEX_HUB_SWEEP_H

#include "index/records.h"

/** Functions of an engine, within its transaction. Each @param[out] more  false: no such row is left */
struct cairn_sweep_engine {
	/** Removes a piece of a deleted repository. */
	enum cairn_status (*dropped)(void *tx, bool *more);
	/** Removes a piece of a line that no ref needs, or of the unneeded end of a line. */
	enum cairn_status (*lines)(void *tx, struct cairn_index_sweep_place *at, bool *more);
	/** Returns the transaction as records see it. */
	struct cairn_index_tx *(*records)(void *tx);
	/** Removes a page of one bucket's files that came before a time and have no path. */
	enum cairn_status (*unnamed)(void *tx, struct cairn_index_sweep_place *at, int64_t before_unix_s, bool *more);
};

/** Continues where the last call ended. @return CAIRN_OK; as the engine's functions */
CAIRN_MUST_USE enum cairn_status cairn_sweep_repos(const struct cairn_sweep_engine *engine, void *tx,
						   struct cairn_index_sweep_repos *sweep);

#endif
