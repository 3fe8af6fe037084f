/* The newest changes of each bucket, for clients that follow them. Each write to a bucket adds one batch of changes, in
 * its transaction. Its time identifies a batch, and is later than that of the batch before. Only the newest batches are
 * kept: a client that asks for older ones lists the bucket anew. */
#ifndef CAIRN_INDEX_FEED_H
#define CAIRN_INDEX_FEED_H

#include "index/index.h"

enum {
	CAIRN_INDEX_FEED_BATCHES = 32,      /* batches kept of each bucket */
	CAIRN_INDEX_FEED_BYTES_MAX = 65536, /* bytes of the paths of a batch; of a longer batch only the time is kept */
};

/** The range of batches that are kept of a bucket. */
struct cairn_index_feed_state {
	int64_t first_unix_ms, last_unix_ms; /* times of the oldest and the newest batch; 0: there is none */
	int64_t updated_unix_ms;             /* time of the bucket's last change */
	bool is_whole;                       /* no batch was dropped yet */
};
CAIRN_MUST_USE enum cairn_status cairn_index_feed_state(struct cairn_index *ix, int64_t repo,
							struct cairn_index_feed_state *out);

/** A batch of changes. Borrowed for the time of the visit. */
struct cairn_index_feed_batch {
	int64_t at_unix_ms;
	/* For each change a letter (a: added, u: updated, d: deleted), the path, and a zero byte. Empty: not kept. */
	const char *paths;
	size_t len;
};

/** Visits batches of a bucket, the oldest first; visit() must not call the index. @param since_unix_ms  skips earlier
 * batches
 * @return CAIRN_OK; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_each_feed_batch(
	struct cairn_index *ix, int64_t repo, int64_t since_unix_ms, uint32_t limit,
	void (*visit)(void *ctx, const struct cairn_index_feed_batch *batch), void *ctx);

#endif
