/* API keys, of which only the digests are stored. */
#ifndef CAIRN_INDEX_DAEMON_KEYS_H
#define CAIRN_INDEX_DAEMON_KEYS_H

#include "index/hub/hub.h"
#include "index/operate.h"

enum { CAIRN_INDEX_KEY_SCOPES_MAX = 63 }; /* bytes of a key's scopes */

/** An API key as stored: only its SHA-256, which does not reveal the key. */
struct cairn_index_key {
	int64_t id;
	uint8_t digest[CAIRN_SHA256_BYTES];
	char name[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];   /* for people; need not be unique */
	char repo[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];   /* the only repository the key is valid for; empty: any */
	char scopes[CAIRN_INDEX_KEY_SCOPES_MAX + 1]; /* what it allows, as in a token */
	int64_t created_unix_s;
	int64_t revoked_unix_s; /* 0: not revoked */
	int64_t expires_unix_s; /* the key is refused from then on; 0: never */
	int64_t used_unix_s;    /* last use, to about an hour; 0: not known */
	int64_t account;        /* account that owns the key; 0: the operator */
	int64_t parent;         /* key that it was made with; 0: none */
	char account_name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1];
};

/** Returns the key with this digest, also a revoked one. @return CAIRN_OK; CAIRN_E_NOT_FOUND; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_key(struct cairn_index *ix,
						 const uint8_t digest[static CAIRN_SHA256_BYTES],
						 struct cairn_index_key *out);
/** Is there a key with this number that is neither revoked nor expired, and whose account is enabled? Threads of
 * connections call this, so a remote engine answers from a cache, at most a second old.
 * @param[out] good  false on failure
 * @return CAIRN_OK; CAIRN_E_BUSY the cache is too old, or the key may be newer than the cache; as every read */
CAIRN_MUST_USE enum cairn_status cairn_index_key_is_good(struct cairn_index *ix, int64_t id, bool *good);
/** Visits all keys, a page at a time. @return as cairn_index_each_xorb() */
CAIRN_MUST_USE enum cairn_status cairn_index_each_key(struct cairn_index *ix, int64_t from_id, uint32_t limit,
						      void (*visit)(void *ctx, const struct cairn_index_key *key),
						      void *ctx, int64_t *next_id);

/** Stores a key of an existing account. CAIRN_E_CONFLICT: the digest exists (key.known); too many keys (key.many). */
struct cairn_index_add_key {
	struct cairn_index_write write;
	uint8_t digest[CAIRN_SHA256_BYTES]; /* SHA-256 of the key */
	const char *name, *repo, *scopes;   /* borrowed; struct cairn_index_key */
	int64_t account;                    /* account that owns the key; 0: the operator */
	int64_t expires_unix_s;             /* the key is refused from then on; 0: never */
	int64_t parent;                     /* key that makes this one, and must not be revoked; 0: none */
	uint32_t good_max;                  /* refuse unless its account has fewer good keys; 0: any number */
	uint32_t kept_max;                  /* refuse unless it has fewer keys of any kind; 0: any number */
	int64_t id;                         /* result */
};
CAIRN_MUST_USE enum cairn_status cairn_index_add_key(struct cairn_index *ix, struct cairn_index_add_key *add);

/** Revokes a key and the keys that were made with it. CAIRN_E_NOT_FOUND: no key has this number (key.unknown). */
struct cairn_index_revoke_key {
	struct cairn_index_write write;
	int64_t id;
	bool revoked; /* result; false: it was revoked before */
};
CAIRN_MUST_USE enum cairn_status cairn_index_revoke_key(struct cairn_index *ix, struct cairn_index_revoke_key *revoke);

/** Records the use of a key. A missing key is no error. */
struct cairn_index_use_key {
	struct cairn_index_write write;
	int64_t id, used_unix_s;
};
CAIRN_MUST_USE enum cairn_status cairn_index_use_key(struct cairn_index *ix, struct cairn_index_use_key *use);

#endif
