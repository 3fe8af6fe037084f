/* The newest changes of each bucket, for clients that follow them. Each write to a bucket adds one batch of changes, in
 * its transaction. A batch is known by its time, which is later than that of the one before. Only the newest batches
 * are kept: a client that asks for older ones lists the bucket anew. */
#ifndef CAIRN_INDEX_FEED_H
#define CAIRN_INDEX_FEED_H

#include "index/index.h"

enum {
	CAIRN_INDEX_FEED_BATCHES = 32,      /* kept, of each bucket */
	CAIRN_INDEX_FEED_BYTES_MAX = 65536, /* of the paths of a batch; of a longer one only the time is kept */
};

/** The batches that are kept of a bucket. */
struct cairn_index_feed_state {
	int64_t first_unix_ms, last_unix_ms; /* of the oldest and the newest batch; 0: there is none */
	int64_t updated_unix_ms;             /* of the bucket */
	bool is_whole;                       /* no batch was dropped yet */
};
CAIRN_MUST_USE enum cairn_status cairn_index_feed_state(struct cairn_index *ix, int64_t repo,
							struct cairn_index_feed_state *out);

/** A batch of changes. Borrowed for the time of the visit. */
struct cairn_index_feed_batch {
	int64_t at_unix_ms;
	/* For each change: a letter (a: added, u: updated, d: deleted), its path, and a zero byte. Empty: what changed
	 * is not kept. */
	const char *paths;
	size_t len;
};

/** Visits batches of a bucket, the oldest first; visit() only takes notes. @param since_unix_ms  those from then on
 *  @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_feed_batch(
	struct cairn_index *ix, int64_t repo, int64_t since_unix_ms, uint32_t limit,
	void (*visit)(void *ctx, const struct cairn_index_feed_batch *batch), void *ctx);

#endif
