/* Reports of clients, and the removal of old reports and keys. */
#ifndef CAIRN_INDEX_DAEMON_TELEMETRY_H
#define CAIRN_INDEX_DAEMON_TELEMETRY_H

#include "index/operate.h"

enum { CAIRN_INDEX_TELEMETRY_BYTES_MAX = 16384 };

/** A report of a client. Borrowed. */
struct cairn_index_telemetry {
	int64_t id;
	int64_t at_unix_s;
	const char *sender;
	const uint8_t *body;
	size_t body_len;
};
/** Visits the reports of clients, the newest first. @param before_id  0: from the newest; else *next_id of the page
 * before. Otherwise as cairn_index_each_xorb() */
CAIRN_MUST_USE enum cairn_status cairn_index_each_telemetry(struct cairn_index *ix, int64_t before_id, uint32_t limit,
							    void (*visit)(void *ctx,
									  const struct cairn_index_telemetry *row),
							    void *ctx, int64_t *next_id);

/** Stores a client's report, and deletes the oldest reports beyond keep_max, at the latest when some more have come,
 * and the sender's oldest beyond share_max. CAIRN_E_LIMIT: the report is too long (telemetry.bytes). */
struct cairn_index_add_telemetry {
	struct cairn_index_write write;
	const char *sender; /* borrowed */
	const void *body;   /* borrowed, at most CAIRN_INDEX_TELEMETRY_BYTES_MAX */
	size_t body_len;
	uint32_t keep_max;  /* rows kept, this one included; at least 1 */
	uint32_t share_max; /* rows kept of this sender, this one included; 0: as many as of all */
	uint64_t who;       /* the sender, where share_max is not 0 */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_telemetry(struct cairn_index *ix,
							   struct cairn_index_add_telemetry *add);

/** Removes a piece of the rows from before a time. */
struct cairn_index_trim {
	struct cairn_index_write write;
	enum cairn_index_trimmed {
		/* keys revoked or expired before it; the newest key stays, since it tells daemons which keys they do
		 * not know yet */
		CAIRN_INDEX_TRIM_KEYS,
		CAIRN_INDEX_TRIM_TELEMETRY, /* the oldest reports */
	} what;
	int64_t before_unix_s;
	uint32_t n_dropped; /* result; 0: there are no more */
};
CAIRN_MUST_USE enum cairn_status cairn_index_trim(struct cairn_index *ix, struct cairn_index_trim *trim);

#endif
