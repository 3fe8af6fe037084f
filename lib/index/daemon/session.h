/* Sessions of browsers, for a shared index (lease.h): any of its daemons may get a session's next request. A single
 * process keeps sessions in memory, and its index has none. */
#ifndef CAIRN_INDEX_DAEMON_SESSION_H
#define CAIRN_INDEX_DAEMON_SESSION_H

#include "index/index.h"

/** A session. Plain value. */
struct cairn_index_session {
	uint8_t digest[CAIRN_SHA256_BYTES]; /* SHA-256 of the token that the browser sends */
	uint8_t key[CAIRN_SHA256_BYTES];    /* of the API key used to sign in */
	int64_t account;                    /* account of the key; 0: an operator */
	int64_t ends_unix_s;                /* invalid from then on */
};

/** Returns the session with this digest, if it has not ended.
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read (index.h) */
CAIRN_MUST_USE enum cairn_status cairn_index_session(struct cairn_index *ix,
						     const uint8_t digest[static CAIRN_SHA256_BYTES],
						     int64_t now_unix_s, struct cairn_index_session *out);

/** Stores a session. Removes ended ones, and the oldest ones if there are too many. */
struct cairn_index_begin_session {
	struct cairn_index_write write;
	struct cairn_index_session session;
	int64_t now_unix_s;
	uint32_t n_max;        /* most sessions of all, with this one */
	uint32_t n_of_one_max; /* most sessions of one account, or of an operator's key */
};
CAIRN_MUST_USE enum cairn_status cairn_index_begin_session(struct cairn_index *ix,
							   struct cairn_index_begin_session *begin);

/** Ends a session, if it exists. */
struct cairn_index_end_session {
	struct cairn_index_write write;
	uint8_t digest[CAIRN_SHA256_BYTES];
};
CAIRN_MUST_USE enum cairn_status cairn_index_end_session(struct cairn_index *ix, struct cairn_index_end_session *end);

#endif
