/* Shared by the files of the sweep, which removes unreachable rows. */
#ifndef CAIRN_INDEX_SQLITE_SWEEP_H
#define CAIRN_INDEX_SQLITE_SWEEP_H

#include "index/sqlite/commit.h"

/** Removes a piece of a line. @param[out] gone  it was the last piece */
CAIRN_MUST_USE enum cairn_status cairn_tx_sweep_line(struct cairn_tx *tx, int64_t line, bool *gone);

/** Removes a piece of a deleted repository, by its number and owner. Does nothing if it does not exist.
 * @param[out] gone  it was the last piece */
CAIRN_MUST_USE enum cairn_status cairn_tx_sweep_repo(struct cairn_tx *tx, int64_t repo, int64_t owner, bool *gone);

/** Removes a piece of the next line: commits after the last one that a ref or another line needs, or all commits. A
 * line with a branch or a pull request ends at its head. @param[in,out] at  the line
 * @param[out] more  false: no line was left
 * @param ctx  the transaction */
CAIRN_MUST_USE enum cairn_status cairn_tx_sweep_lines(void *ctx, struct cairn_index_sweep_place *at, bool *more);

#endif
