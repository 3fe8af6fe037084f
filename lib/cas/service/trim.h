/* Deletes old rows that are kept for a limited time: ended keys, and telemetry. */
#ifndef CAIRN_CAS_SERVICE_TRIM_H
#define CAIRN_CAS_SERVICE_TRIM_H

#include "cas/cas.h"
#include "index/daemon/telemetry.h"

/** Deletes rows older than before_unix_s. Waits for the index's writer, piece by piece; for workers. @param stop
 * called before each piece; true stops
 * @param[out] n_dropped  also on failure
 * @return CAIRN_OK, also if stopped; as a write */
CAIRN_MUST_USE enum cairn_status cairn_cas_trim(struct cairn_cas *cas, enum cairn_index_trimmed what,
						int64_t before_unix_s, bool (*stop)(void *ctx), void *stop_ctx,
						uint64_t *n_dropped);

#endif
