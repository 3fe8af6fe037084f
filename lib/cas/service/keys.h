/* API keys: long-lived secrets of people and programs, exchanged for short-lived tokens. Only the SHA-256 is stored. */
#ifndef CAIRN_CAS_SERVICE_KEYS_H
#define CAIRN_CAS_SERVICE_KEYS_H

#include "base/base64.h"
#include "cas/cas.h"
#include "hash/crypto.h"

enum {
	CAIRN_KEY_RANDOM_CHARS = 43, /* letters and digits: 256 bits */
	CAIRN_KEY_CHECKSUM_CHARS = 6,
	CAIRN_KEY_TEXT_BYTES = 3 + CAIRN_KEY_RANDOM_CHARS + CAIRN_KEY_CHECKSUM_CHARS + 1, /* "hf_"; a zero */
	CAIRN_KEY_NAME_MAX = 255, /* bytes of a key's name, and of its repository's */
	CAIRN_KEY_KEPT_DAYS = 90, /* how long a key is kept after it was revoked or expired */
};

/** The properties of a key that may be shown: all but the key itself. Borrowed strings. */
struct cairn_key {
	int64_t id;
	const char *name;   /* for people; need not be unique */
	const char *repo;   /* full name of the only repository that it opens; empty: any */
	const char *scopes; /* what it allows: some of the words read, write, admin, separated by blanks */
	int64_t created_unix_s;
	int64_t expires_unix_s; /* the key is refused from then on; 0: never */
	int64_t used_unix_s;    /* when it was last used, to about an hour; 0: not known */
	bool revoked;
	const char *account; /* name of its account; empty: the operator */
	int64_t parent;      /* key that it was made with, and is revoked with; 0: none */
};

/** Makes a new random key: "hf_", letters and digits, and a checksum (CRC-32C, six digits in base 62). Clients such
 * as @huggingface/hub and llama.cpp refuse keys of another form. Waits for the index's writer.
 * @param key  name, not empty; repo, with or without its type; scopes, at least one; account; expires_unix_s; parent.
 *             The other members are ignored
 * @param[out] repo  full name of key->repo
 * @param[out] text  the key itself, which is not stored
 * @return CAIRN_OK; CAIRN_E_USAGE a member is wrong or too long; CAIRN_E_NOT_FOUND no such account (account.unknown);
 *         CAIRN_E_IO there are no random bytes; otherwise as a write (cas.h) */
CAIRN_MUST_USE enum cairn_status cairn_cas_make_key(struct cairn_cas *cas, const struct cairn_key *key,
						    char repo[static CAIRN_KEY_NAME_MAX + 1],
						    char text[static CAIRN_KEY_TEXT_BYTES], int64_t *id);

/** Makes the text of a new random key, and the digest by which it is stored, without storing it.
 *  @return CAIRN_OK; CAIRN_E_IO there are no random bytes; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_key_new_text(char text[static CAIRN_KEY_TEXT_BYTES],
						    uint8_t digest[static CAIRN_SHA256_BYTES]);

/** How many keys an account may have. */
struct cairn_key_limits {
	uint32_t good_max; /* keys that are neither revoked nor expired */
	uint32_t kept_max; /* all keys, revoked and expired ones included */
};

/** Makes a key as cairn_cas_make_key() does, unless its account has reached the limits. Concurrent calls are safe.
 * @return as cairn_cas_make_key(); CAIRN_E_CONFLICT (key.many) */
CAIRN_MUST_USE enum cairn_status cairn_cas_make_limited_key(struct cairn_cas *cas, const struct cairn_key *key,
							    const struct cairn_key_limits *limits,
							    char repo[static CAIRN_KEY_NAME_MAX + 1],
							    char text[static CAIRN_KEY_TEXT_BYTES], int64_t *id,
							    struct cairn_diag *diag);

/** Revokes a key, and the keys made with it, so that tokens obtained with them are refused. Waits for the index's
 * writer.
 * @param[out] revoked  false: it was revoked before
 * @return CAIRN_OK; CAIRN_E_NOT_FOUND (key.unknown); as a write */
CAIRN_MUST_USE enum cairn_status cairn_cas_revoke_key(struct cairn_cas *cas, int64_t id, bool *revoked);

/** Visits all keys, revoked ones too, in the order in which they were made. @return CAIRN_OK; as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_each_key(struct cairn_cas *cas,
						    void (*visit)(void *ctx, const struct cairn_key *key), void *ctx);

/** Computes the digest under which a key is stored. A key has 256 random bits, so a plain digest is as good as a slow
 * one. Accepts keys of earlier forms, too: "hf_cairn_" or "cairn_", and 32 bytes in base64url. The digest is the same
 * with and without "hf_", because the first keys had none.
 * @return CAIRN_OK; CAIRN_E_FORMAT the text is not a key of Cairn; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_key_digest(const char *text, uint8_t out[static CAIRN_SHA256_BYTES]);

/** Returns bits of enum cairn_token_scope for a text such as "read write"; 0: it is empty or has an unknown word. */
unsigned cairn_key_scopes(const char *words);

/** Adds the scopes that these imply: admin implies write and read, write implies read. */
unsigned cairn_key_allows(const char *words);

struct cairn_index_key;

/** Finds the key with this digest, if it may be used. Records its use once an hour at most, not waiting for the write.
 * @return CAIRN_OK; CAIRN_E_DENIED unknown or revoked (key.unknown), or expired (key.expired); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_use_key(struct cairn_cas *cas,
						   const uint8_t digest[static CAIRN_SHA256_BYTES],
						   struct cairn_index_key *out, struct cairn_diag *diag);

/** The number and name of a key. */
struct cairn_key_holder {
	int64_t id;
	char name[CAIRN_KEY_NAME_MAX + 1];
};

/** Checks that the key with this digest allows the scopes for a repository that is not of the hub. Write includes read,
 * admin both.
 * @param scopes  bits of enum cairn_token_scope
 * @param repo    full name
 * @return CAIRN_OK; CAIRN_E_DENIED as cairn_cas_use_key(); CAIRN_E_CONFLICT it allows less (key.scope), or is for
 *         another repository (key.repo); CAIRN_E_NOT_FOUND it belongs to an account, which has only repositories of the
 *         hub (repo.unknown); as index and store */
CAIRN_MUST_USE enum cairn_status cairn_cas_check_key(struct cairn_cas *cas,
						     const uint8_t digest[static CAIRN_SHA256_BYTES], unsigned scopes,
						     const char *repo, struct cairn_key_holder *out,
						     struct cairn_diag *diag);

/** Checks that a key is still good, and thus the tokens obtained with it. Cheap; any thread.
 * @return CAIRN_OK; CAIRN_E_DENIED unknown, revoked or expired (token.revoked); as index and store (token.api_key) */
CAIRN_MUST_USE enum cairn_status cairn_cas_check_key_id(struct cairn_cas *cas, int64_t id, struct cairn_diag *diag);

#endif
