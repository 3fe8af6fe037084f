/* Who is signed in with a browser, where several daemons write one index: each of them may be asked next. Where one
 * process does, it knows by itself, and the index keeps none: the calls are for one that is shared (lease.h). */
#ifndef CAIRN_INDEX_SESSION_H
#define CAIRN_INDEX_SESSION_H

#include "index/index.h"

/** A session. Plain value. */
struct cairn_index_session {
	uint8_t digest[CAIRN_SHA256_BYTES]; /* SHA-256 of what the browser shows */
	uint8_t key[CAIRN_SHA256_BYTES];    /* of the API key that was shown */
	int64_t account;                    /* whose key it is; 0: an operator's */
	int64_t ends_unix_s;                /* from then on it is none */
};

/** The session with this digest, if it has not ended.
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read (index.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_session(struct cairn_index *ix,
						     const uint8_t digest[static CAIRN_SHA256_BYTES],
						     int64_t now_unix_s, struct cairn_index_session *out);

/** Keep one more; those that have ended go, and the oldest ones where there are too many. */
struct cairn_index_begin_session {
	struct cairn_index_write write;
	struct cairn_index_session session;
	int64_t now_unix_s;
	uint32_t n_max;        /* in all, this one counted */
	uint32_t n_of_one_max; /* likewise of an account, or of an operator's key */
};
CAIRN_MUST_USE enum cairn_status cairn_index_begin_session(struct cairn_index *ix,
							   struct cairn_index_begin_session *begin);

/** End it, if it is one. */
struct cairn_index_end_session {
	struct cairn_index_write write;
	uint8_t digest[CAIRN_SHA256_BYTES];
};
CAIRN_MUST_USE enum cairn_status cairn_index_end_session(struct cairn_index *ix, struct cairn_index_end_session *end);

#endif
