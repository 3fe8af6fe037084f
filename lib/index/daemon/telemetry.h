/* Stores the reports that clients send, and removes old reports and old API keys. */
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
/** Visits the reports of clients, the newest first. @param before_id  0: from the newest; else *next_id of the last
 * page
 * @return as cairn_index_each_xorb() */
CAIRN_MUST_USE enum cairn_status cairn_index_each_telemetry(struct cairn_index *ix, int64_t before_id, uint32_t limit,
							    void (*visit)(void *ctx,
									  const struct cairn_index_telemetry *row),
							    void *ctx, int64_t *next_id);

/** Stores a client's report, and deletes the oldest beyond keep_max and the sender's oldest beyond share_max, perhaps
 * only after a few more reports. CAIRN_E_LIMIT: the report is too long (telemetry.bytes). */
struct cairn_index_add_telemetry {
	struct cairn_index_write write;
	const char *sender; /* borrowed */
	const void *body;   /* borrowed, at most CAIRN_INDEX_TELEMETRY_BYTES_MAX */
	size_t body_len;
	uint32_t keep_max;  /* most rows kept, with this one; at least 1 */
	uint32_t share_max; /* most rows kept of this sender, with this one; 0: keep_max */
	uint64_t who;       /* number of the sender, if share_max is not 0 */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_telemetry(struct cairn_index *ix,
							   struct cairn_index_add_telemetry *add);

/** Removes some of the rows that are older than a time. */
struct cairn_index_trim {
	struct cairn_index_write write;
	enum cairn_index_trimmed {
		/* keys revoked or expired before then. The newest key stays: daemons compare it to learn of keys that
		 * they have not cached */
		CAIRN_INDEX_TRIM_KEYS,
		CAIRN_INDEX_TRIM_TELEMETRY, /* the oldest reports */
	} what;
	int64_t before_unix_s;
	uint32_t n_dropped; /* result; 0: no such row is left */
};
CAIRN_MUST_USE enum cairn_status cairn_index_trim(struct cairn_index *ix, struct cairn_index_trim *trim);

#endif
