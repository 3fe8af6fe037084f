/* The changes of a bucket since a client's last request. */
#ifndef CAIRN_HUB_FEED_H
#define CAIRN_HUB_FEED_H

#include "hub/repo.h"
#include "index/hub/feed.h"

enum { CAIRN_HUB_FEED_BATCHES_MAX = 16 }; /* batches in one answer */

/** The place where a client continues. */
struct cairn_hub_feed_from {
	bool has_cursor, has_since; /* neither: only future changes */
	int64_t at_unix_ms;         /* the cursor: the time of the last batch it received; or since when it asks */
};

/** How the answer ends. */
struct cairn_hub_feed_end {
	bool is_reset;  /* changes may be missing: the client must list the bucket again */
	bool is_ready;  /* these were all changes */
	int64_t cursor; /* where the client continues; 0: at the same place */
};

/** Visits the next batches of changes of a bucket that was found with CAIRN_HUB_READ; visit() must not call the index.
 * Their paths are never empty. Before a reset some batches may be missing. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_hub_read_feed(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
						     const struct cairn_hub_feed_from *from,
						     void (*visit)(void *ctx,
								   const struct cairn_index_feed_batch *batch),
						     void *ctx, struct cairn_hub_feed_end *end);

/** Parses a time such as "2026-11-03T14:05:06.000Z". Pure. @return false: not such a time */
bool cairn_hub_feed_time(const char *text, int64_t *unix_ms);

#endif
