/* Sessions of browsers, kept as digests, so that a stolen copy of them lets nobody in. A single daemon keeps them in
 * memory: signing in again after a restart costs less than a row and a commit per session. Daemons that share an index
 * keep them there, because any of the daemons may get the next request. */
#ifndef CAIRN_SERVER_SESSION_H
#define CAIRN_SERVER_SESSION_H

#include "base/base64.h"
#include "cas/service/session.h"
#include "hash/crypto.h"

enum {
	SESSION_RANDOM_BYTES = 32,
	SESSION_TEXT_BYTES = CAIRN_BASE64URL_CHARS(32) + 1, /* the text of a session, with its final zero */
	SESSION_LIFE_S = 12 * 3600,
	SESSIONS_MAX = 4096, /* sessions in all; a new one ends the oldest */
	/* of one account or one operator's key, so that nobody ends the sessions of others */
	SESSIONS_OF_ONE_MAX = 32
};

/** Sessions of one daemon, or of several. Any thread. Functions that say "on a worker" may query the index. */
struct sessions;

/** Makes the keeper of sessions. @param cas  borrowed; NULL: sessions are in memory  @return NULL without memory */
struct sessions *sessions_new(struct cairn_cas *cas);
void sessions_free(struct sessions *sessions);

/** Begins a session. On a worker. @param key  digest of the API key; looked up with each request, so that a revoked key
 * is refused at once @param account  the key's owner; 0: an operator @param[out] text  sent by the browser from now on
 * @return CAIRN_OK; CAIRN_E_IO: no random bytes; CAIRN_E_NOMEM; else as cairn_cas_begin_session(), with diag */
CAIRN_MUST_USE enum cairn_status sessions_begin(struct sessions *sessions, const uint8_t key[static CAIRN_SHA256_BYTES],
						int64_t account, char text[static SESSION_TEXT_BYTES],
						struct cairn_diag *diag);

/** Looks up a session. On a worker. @param text  as a browser sent it, unchecked @return CAIRN_OK; CAIRN_E_NOT_FOUND:
 * no session, or an expired one; CAIRN_E_NOMEM; else as cairn_cas_session(): the index cannot be read */
CAIRN_MUST_USE enum cairn_status sessions_find(struct sessions *sessions, const char *text,
					       uint8_t key[static CAIRN_SHA256_BYTES], struct cairn_diag *diag);

/** Ends the session of a text, if there is one. On a worker. @return CAIRN_OK; else as sessions_begin() */
CAIRN_MUST_USE enum cairn_status sessions_end(struct sessions *sessions, const char *text, struct cairn_diag *diag);

#endif
