/* Shared by the files of the sweep. */
#ifndef CAIRN_INDEX_POSTGRES_SWEEP_H
#define CAIRN_INDEX_POSTGRES_SWEEP_H

#include "index/postgres/write.h"

/** Removes a piece of a line. @param[out] gone  it was the last piece */
CAIRN_MUST_USE enum cairn_status cairn_pg_sweep_line(struct cairn_pg_tx *tx, int64_t line, bool *gone);
/** Removes a piece of a line, or of its end, from which nothing comes. @param[out] more  false: no line is left @param
 * ctx  the transaction */
CAIRN_MUST_USE enum cairn_status cairn_pg_sweep_lines(void *ctx, struct cairn_index_sweep_place *at, bool *more);

#endif
