/* The stages of a sweep, for the engines. Each transaction removes pieces for a limited time. */
#ifndef CAIRN_INDEX_HUB_SWEEP_H
#define CAIRN_INDEX_HUB_SWEEP_H

#include "index/records.h"

/** The functions of an engine, within its transaction. Each @param[out] more  false: nothing of the kind is left */
struct cairn_sweep_engine {
	/** Removes a piece of a deleted repository. */
	enum cairn_status (*dropped)(void *tx, bool *more);
	/** Removes a piece of a line, or of its end, from which nothing comes. */
	enum cairn_status (*lines)(void *tx, struct cairn_index_sweep_place *at, bool *more);
	/** The transaction, for records. */
	struct cairn_index_tx *(*records)(void *tx);
	/** Removes a page of one bucket's files that came before then and that no object names. */
	enum cairn_status (*unnamed)(void *tx, struct cairn_index_sweep_place *at, int64_t before_unix_s, bool *more);
};

/** Continues where the last call ended. @return CAIRN_OK; as the engine's calls */
CAIRN_MUST_USE enum cairn_status cairn_sweep_repos(const struct cairn_sweep_engine *engine, void *tx,
						   struct cairn_index_sweep_repos *sweep);

#endif
