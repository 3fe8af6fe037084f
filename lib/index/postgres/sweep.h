/* Shared by the files of the sweep. */
#ifndef CAIRN_INDEX_POSTGRES_SWEEP_H
#define CAIRN_INDEX_POSTGRES_SWEEP_H

#include "index/postgres/write.h"

/* A commit that is made in pieces has a line whose head is the time of the last piece: the server's, in seconds,
 * negative. A sweep of any daemon spares that line for an hour, as it does a repository that is being made. When a
 * sweep has begun to remove the line, the head is -1, so that the commit knows that rows are missing. */
#define CAIRN_PG_STAGED_NOW      "-extract(epoch FROM now())::bigint"
#define CAIRN_PG_IS_STAGED(head) "(" head " < " CAIRN_PG_STAGED_NOW " + 3600)"

/** Removes a piece of a line. @param[out] gone  it was the last piece */
CAIRN_MUST_USE enum cairn_status cairn_pg_sweep_line(struct cairn_pg_tx *tx, int64_t line, bool *gone);
/** Removes a piece of a deleted repository, by its number and owner. Does nothing if it does not exist.
 * @param[out] gone  it was the last piece */
CAIRN_MUST_USE enum cairn_status cairn_pg_sweep_repo(struct cairn_pg_tx *tx, int64_t repo, int64_t owner, bool *gone);
/** Removes a piece of a line that no ref and no other line needs, or of its unneeded end. @param[out] more  false: no
 * line is left @param ctx  the transaction */
CAIRN_MUST_USE enum cairn_status cairn_pg_sweep_lines(void *ctx, struct cairn_index_sweep_place *at, bool *more);

#endif
