/* Shared by the files of the sweep. */
#ifndef CAIRN_INDEX_POSTGRES_SWEEP_H
#define CAIRN_INDEX_POSTGRES_SWEEP_H

#include "index/postgres/write.h"

/* A commit that is made in pieces has a line whose head says when the last piece was made: the server's time in
 * seconds, negative. A sweep of any daemon leaves that line for an hour, as long as a repository that is being made.
 * Once it has begun to remove the line, the head is -1, so that the commit knows that rows are missing. */
#define CAIRN_PG_STAGED_NOW      "-extract(epoch FROM now())::bigint"
#define CAIRN_PG_IS_STAGED(head) "(" head " < " CAIRN_PG_STAGED_NOW " + 3600)"

/** Removes a piece of a line. @param[out] gone  it was the last piece */
CAIRN_MUST_USE enum cairn_status cairn_pg_sweep_line(struct cairn_pg_tx *tx, int64_t line, bool *gone);
/** Removes a piece of a deleted repository, by its number and owner. If there is no such one, nothing is removed.
 * @param[out] gone  it was the last piece */
CAIRN_MUST_USE enum cairn_status cairn_pg_sweep_repo(struct cairn_pg_tx *tx, int64_t repo, int64_t owner, bool *gone);
/** Removes a piece of a line, or of its end, from which nothing comes. @param[out] more  false: no line is left @param
 * ctx  the transaction */
CAIRN_MUST_USE enum cairn_status cairn_pg_sweep_lines(void *ctx, struct cairn_index_sweep_place *at, bool *more);

#endif
