/* Shared by the files of the sweep, which removes what nobody can reach. */
#ifndef CAIRN_INDEX_SQLITE_SWEEP_H
#define CAIRN_INDEX_SQLITE_SWEEP_H

#include "index/sqlite/commit.h"

/** Removes a piece of a line. @param[out] gone  it was the last piece */
CAIRN_MUST_USE enum cairn_status cairn_tx_sweep_line(struct cairn_tx *tx, int64_t line, bool *gone);

/** Removes a piece of a deleted repository, by its number and owner. If there is no such one, nothing is removed.
 * @param[out] gone  it was the last piece */
CAIRN_MUST_USE enum cairn_status cairn_tx_sweep_repo(struct cairn_tx *tx, int64_t repo, int64_t owner, bool *gone);

/** Removes a piece of the next line: of the commits after the last one from which a ref or another line comes, or of
 *  all if there is no such commit. A line with a branch or a pull request ends at its head. @param[in,out] at  its line
 *  @param[out] more  false: no line was left
 *  @param ctx  the transaction */
CAIRN_MUST_USE enum cairn_status cairn_tx_sweep_lines(void *ctx, struct cairn_index_sweep_place *at, bool *more);

#endif
