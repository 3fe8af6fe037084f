/* Who is signed in with a browser, as digests: no copy of them lets anybody in. One daemon keeps them in memory: a
 * session lasts hours, so that one more sign-in after a restart costs less than a row and a commit for each. Several
 * that are one Cairn have them in their index, since any of them may be asked next. */
#ifndef CAIRN_SERVER_SESSION_H
#define CAIRN_SERVER_SESSION_H

#include "base/base64.h"
#include "cas/session.h"
#include "hash/crypto.h"

enum {
	SESSION_RANDOM_BYTES = 32,
	SESSION_TEXT_BYTES = CAIRN_BASE64URL_CHARS(32) + 1, /* a zero behind it */
	SESSION_LIFE_S = 12 * 3600,
	SESSIONS_MAX = 4096,     /* in all; a new one ends the oldest */
	SESSIONS_OF_ONE_MAX = 32 /* likewise of an account with all its keys, or of an operator's key, so that nobody
				  * ends the sessions of others */
};

/** Sessions of a daemon, or of several. Any thread; those below that say so ask the index, and belong on a worker. */
struct sessions;

/** @param cas  borrowed; NULL: they are kept in memory in any case  @return NULL without memory */
struct sessions *sessions_new(struct cairn_cas *cas);
void sessions_free(struct sessions *sessions);

/**
 * Begin one. On a worker.
 * @param key        digest of the API key that was shown; asked for anew with each request, so that a revoked one is
 *                   refused at once
 * @param account    whose key it is; 0: an operator's
 * @param[out] text  what the browser is to show
 * @return CAIRN_OK; CAIRN_E_IO no random bytes; CAIRN_E_NOMEM; of the index, with diag, as cairn_cas_begin_session()
 */
CAIRN_MUST_USE enum cairn_status sessions_begin(struct sessions *sessions, const uint8_t key[static CAIRN_SHA256_BYTES],
						int64_t account, char text[static SESSION_TEXT_BYTES],
						struct cairn_diag *diag);

/** Whose session is it? On a worker. @param text  what a browser shows; anything
 *  @return CAIRN_OK; CAIRN_E_NOT_FOUND it is none, or its time is over; CAIRN_E_NOMEM; else as cairn_cas_session():
 *          the index cannot be asked, and nothing is known */
CAIRN_MUST_USE enum cairn_status sessions_find(struct sessions *sessions, const char *text,
					       uint8_t key[static CAIRN_SHA256_BYTES], struct cairn_diag *diag);

/** End it, if it is one. On a worker. @return CAIRN_OK; as sessions_begin() */
CAIRN_MUST_USE enum cairn_status sessions_end(struct sessions *sessions, const char *text, struct cairn_diag *diag);

#endif
