/* Between the files of the sweep. */
#ifndef CAIRN_INDEX_POSTGRES_SWEEP_H
#define CAIRN_INDEX_POSTGRES_SWEEP_H

#include "index/postgres/write.h"

/** Remove a piece of a line. @param[out] gone  that was the last */
CAIRN_MUST_USE enum cairn_status cairn_pg_sweep_line(struct cairn_pg_tx *tx, int64_t line, bool *gone);
/** Remove a piece of a line that nothing comes from, or of the end of one. @param[out] more  false: there is no line
 * any more @param ctx  the transaction */
CAIRN_MUST_USE enum cairn_status cairn_pg_sweep_lines(void *ctx, struct cairn_index_sweep_place *at, bool *more);

#endif
