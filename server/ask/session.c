#include "server/ask/session.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct session {
	uint8_t digest[CAIRN_SHA256_BYTES]; /* of the session's text */
	uint8_t key[CAIRN_SHA256_BYTES];
	int64_t account;     /* 0: no account (an operator) */
	int64_t ends_unix_s; /* 0: the slot is free */
};

struct sessions {
	struct cairn_cas *cas; /* NULL: sessions are in memory only */
	pthread_mutex_t lock;  /* guards the other members */
	struct session all[SESSIONS_MAX];
};

struct sessions *sessions_new(struct cairn_cas *cas)
{
	struct sessions *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->cas = cas && cairn_cas_keeps_sessions(cas) ? cas : NULL;
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

void sessions_free(struct sessions *sessions)
{
	if (!sessions)
		return;
	pthread_mutex_destroy(&sessions->lock);
	free(sessions);
}

static enum cairn_status session_digest(const char *text, uint8_t out[static CAIRN_SHA256_BYTES])
{
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *d = cairn_sha256_new();
	if (!d)
		return CAIRN_E_NOMEM;
	cairn_sha256_add(d, text, strlen(text));
	cairn_sha256_end(d, out);
	return CAIRN_OK;
}

static bool session_is_of_same(const struct session *one, const struct session *other)
{
	return one->account == other->account &&
	       (one->account != 0 || memcmp(one->key, other->key, CAIRN_SHA256_BYTES) == 0);
}

/* Returns a slot for one more session: the same person's oldest if they have too many, else a free one, else the
 * oldest. A free slot ends at 0, so it is older than any. */
static struct session *session_place(struct sessions *s, const struct session *begun)
{
	struct session *oldest = &s->all[0], *oldest_own = NULL;
	unsigned n_own = 0;
	for (struct session *one = s->all; one < s->all + SESSIONS_MAX; one++) {
		if (one->ends_unix_s < oldest->ends_unix_s)
			oldest = one;
		if (one->ends_unix_s == 0 || !session_is_of_same(one, begun))
			continue;
		n_own++;
		if (!oldest_own || one->ends_unix_s < oldest_own->ends_unix_s)
			oldest_own = one;
	}
	return n_own >= SESSIONS_OF_ONE_MAX ? oldest_own : oldest;
}

static enum cairn_status session_keep(struct sessions *sessions, const struct session *begun, struct cairn_diag *diag)
{
	struct cairn_index_session row = {.account = begun->account, .ends_unix_s = begun->ends_unix_s};
	if (sessions->cas) {
		memcpy(row.digest, begun->digest, sizeof(row.digest));
		memcpy(row.key, begun->key, sizeof(row.key));
		return cairn_cas_begin_session(sessions->cas, &row, SESSIONS_MAX, SESSIONS_OF_ONE_MAX, diag);
	}
	pthread_mutex_lock(&sessions->lock);
	*session_place(sessions, begun) = *begun;
	pthread_mutex_unlock(&sessions->lock);
	return CAIRN_OK;
}

enum cairn_status sessions_begin(struct sessions *sessions, const uint8_t key[static CAIRN_SHA256_BYTES],
				 int64_t account, char text[static SESSION_TEXT_BYTES], struct cairn_diag *diag)
{
	uint8_t random[SESSION_RANDOM_BYTES];
	struct session begun = {.account = account, .ends_unix_s = cairn_clock_unix_s() + SESSION_LIFE_S};
	enum cairn_status status = cairn_random(random, sizeof(random));
	if (status != CAIRN_OK)
		return status;
	cairn_base64url_encode(text, random, sizeof(random));
	explicit_bzero(random, sizeof(random));
	status = session_digest(text, begun.digest);
	if (status != CAIRN_OK)
		return status;
	memcpy(begun.key, key, sizeof(begun.key));
	return session_keep(sessions, &begun, diag);
}

/* Finds the session of a text's digest. Compares digests, so that the duration reveals nothing about a text. Call with
 * the lock held. @return NULL: none */
static struct session *session_of(struct sessions *s, const uint8_t digest[static CAIRN_SHA256_BYTES])
{
	int64_t now_unix_s = cairn_clock_unix_s();
	for (struct session *one = s->all; one < s->all + SESSIONS_MAX; one++)
		if (one->ends_unix_s > now_unix_s && memcmp(one->digest, digest, CAIRN_SHA256_BYTES) == 0)
			return one;
	return NULL;
}

static enum cairn_status session_find_in_index(struct cairn_cas *cas, const uint8_t digest[static CAIRN_SHA256_BYTES],
					       uint8_t key[static CAIRN_SHA256_BYTES], struct cairn_diag *diag)
{
	struct cairn_index_session row;
	enum cairn_status status = cairn_cas_session(cas, digest, &row, diag);
	if (status == CAIRN_OK)
		memcpy(key, row.key, CAIRN_SHA256_BYTES);
	return status;
}

enum cairn_status sessions_find(struct sessions *sessions, const char *text, uint8_t key[static CAIRN_SHA256_BYTES],
				struct cairn_diag *diag)
{
	uint8_t digest[CAIRN_SHA256_BYTES];
	if (strlen(text) != SESSION_TEXT_BYTES - 1)
		return CAIRN_E_NOT_FOUND;
	enum cairn_status status = session_digest(text, digest);
	if (status != CAIRN_OK || sessions->cas)
		return status == CAIRN_OK ? session_find_in_index(sessions->cas, digest, key, diag) : status;
	pthread_mutex_lock(&sessions->lock);
	const struct session *found = session_of(sessions, digest);
	if (found)
		memcpy(key, found->key, CAIRN_SHA256_BYTES);
	pthread_mutex_unlock(&sessions->lock);
	return found ? CAIRN_OK : CAIRN_E_NOT_FOUND;
}

enum cairn_status sessions_end(struct sessions *sessions, const char *text, struct cairn_diag *diag)
{
	uint8_t digest[CAIRN_SHA256_BYTES];
	enum cairn_status status = session_digest(text, digest);
	if (status != CAIRN_OK || sessions->cas)
		return status == CAIRN_OK ? cairn_cas_end_session(sessions->cas, digest, diag) : status;
	pthread_mutex_lock(&sessions->lock);
	struct session *found = session_of(sessions, digest);
	if (found)
		*found = (struct session){0};
	pthread_mutex_unlock(&sessions->lock);
	return CAIRN_OK;
}
