/* Between the files of the sweep of what nobody can reach. */
#ifndef CAIRN_INDEX_SQLITE_SWEEP_H
#define CAIRN_INDEX_SQLITE_SWEEP_H

#include "index/sqlite/commit.h"

/** Remove a piece of a line. @param[out] gone  all of it is */
CAIRN_MUST_USE enum cairn_status cairn_tx_sweep_line(struct cairn_tx *tx, int64_t line, bool *gone);

/** Look at the next line, and remove a piece of what is behind the last commit that a ref or another line comes from;
 *  where none does of all of it. A line with a branch or a pull request ends at its head. @param[in,out] at  its line
 *  @param[out] more  false: there was none
 *  @param ctx  the transaction */
CAIRN_MUST_USE enum cairn_status cairn_tx_sweep_lines(void *ctx, struct cairn_index_sweep_place *at, bool *more);

#endif
