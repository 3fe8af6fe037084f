/* Stores reports of clients about their transfers: the newest rows, for operators. */
#ifndef CAIRN_CAS_SERVICE_TELEMETRY_H
#define CAIRN_CAS_SERVICE_TELEMETRY_H

#include "cas/budget.h"
#include "cas/cas.h"

enum { CAIRN_TELEMETRY_PAGE_MAX = 512 }; /* rows of one call of cairn_cas_each_telemetry() */

/** Adds a row without waiting, because telemetry must not delay a client. Drops rows that are too long, or that arrive
 * while the disk is full or the index busy: a client could do nothing about it.
 * @param sender, body  copied; body is a JSON object that was parsed
 * @param who  number of the sender, who may have an eighth of the rows; 0: all rows @param rows_max  most rows stored,
 *             with this one; 0: none
 * @param use  use of the budget by the body; owned from now on, and ended when the row is written */
void cairn_cas_keep_telemetry(struct cairn_cas *cas, const char *sender, uint64_t who, const uint8_t *body, size_t len,
			      uint32_t rows_max, struct cairn_use *use);

/** A row of telemetry. Borrowed during the call. */
struct cairn_telemetry {
	int64_t id, at_unix_s;
	const char *sender;
	const uint8_t *body;
	size_t body_len;
};

/** Visits rows, the newest first.
 * @param before_id  0: from the newest; else *next_id of an earlier call
 * @param limit      at most CAIRN_TELEMETRY_PAGE_MAX
 * @param[out] next_id  0: there are no more
 * @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_each_telemetry(struct cairn_cas *cas, int64_t before_id, uint32_t limit,
							  void (*visit)(void *ctx, const struct cairn_telemetry *row),
							  void *ctx, int64_t *next_id);

#endif
