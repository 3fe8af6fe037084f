/* Who is signed in with a browser. Kept in memory, as digests: a session lasts hours, so that one more sign-in after a
 * restart costs less than a row and a commit for each sign-in, and no copy of the index lets anybody in. */
#ifndef CAIRN_SERVER_SESSION_H
#define CAIRN_SERVER_SESSION_H

#include "base/base64.h"
#include "hash/crypto.h"

enum {
	SESSION_RANDOM_BYTES = 32,
	SESSION_TEXT_BYTES = CAIRN_BASE64URL_CHARS(32) + 1, /* a zero behind it */
	SESSION_LIFE_S = 12 * 3600,
	SESSIONS_MAX = 4096,     /* in all; a new one ends the oldest */
	SESSIONS_OF_ONE_MAX = 32 /* likewise of an account with all its keys, or of an operator's key, so that nobody
				  * ends the sessions of others */
};

/** Sessions of a daemon. Any thread. */
struct sessions;

/** @return NULL without memory */
struct sessions *sessions_new(void);
void sessions_free(struct sessions *sessions);

/**
 * Begin one.
 * @param key        digest of the API key that was shown; asked for anew with each request, so that a revoked one is
 *                   refused at once
 * @param account    whose key it is; 0: an operator's
 * @param[out] text  what the browser is to show
 * @return CAIRN_OK; CAIRN_E_IO no random bytes; CAIRN_E_NOMEM
 */
CAIRN_MUST_USE enum cairn_status sessions_begin(struct sessions *sessions, const uint8_t key[static CAIRN_SHA256_BYTES],
						int64_t account, char text[static SESSION_TEXT_BYTES]);

/** Whose session is it? @param text  what a browser shows; anything  @return false: it is none, or its time is over */
bool sessions_find(struct sessions *sessions, const char *text, uint8_t key[static CAIRN_SHA256_BYTES]);

/** End it, if it is one. */
void sessions_end(struct sessions *sessions, const char *text);

#endif
