#include "cas/service/keys.h"

#include "base/clock.h"
#include "cas/internal.h"
#include "cas/service/repo.h"
#include "hash/crc32c.h"
#include "index/daemon/keys.h"
#include "token/token.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char KEY_HUB[] = "hf_";
static const char KEY_OLD[] = "cairn_"; /* after "hf_", or at the beginning of the oldest keys */
static const char KEY_DIGITS[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
enum {
	KEY_USED_EVERY_S = 3600,
	KEY_N_DIGITS = sizeof(KEY_DIGITS) - 1,
	KEY_HUB_BYTES = sizeof(KEY_HUB) - 1,
	KEY_OLD_BYTES = sizeof(KEY_OLD) - 1,
	KEY_RANDOM_MAX = 256 / KEY_N_DIGITS * KEY_N_DIGITS, /* random bytes from here on would prefer some digits */
	KEY_POOL_BYTES = 64,
};

_Static_assert(CAIRN_KEY_TEXT_BYTES == KEY_HUB_BYTES + KEY_OLD_BYTES + CAIRN_BASE64URL_CHARS(32) + 1,
	       "keys of all forms have one length");

_Static_assert((int)CAIRN_KEY_NAME_MAX == (int)CAIRN_INDEX_SCOPE_TEXT_MAX, "what the index keeps of a name");

/* --- the text of a key -------------------------------------------------------------------------------------------- */

/* Writes random digits. Skips bytes that would make some digits likelier. */
static enum cairn_status key_random(char out[static CAIRN_KEY_RANDOM_CHARS])
{
	uint8_t pool[KEY_POOL_BYTES];
	enum cairn_status status = CAIRN_OK;
	for (size_t n = 0, at = sizeof(pool); n < CAIRN_KEY_RANDOM_CHARS && status == CAIRN_OK;) {
		if (at == sizeof(pool)) {
			status = cairn_random(pool, sizeof(pool));
			at = 0;
		} else if (pool[at++] < KEY_RANDOM_MAX) {
			out[n++] = KEY_DIGITS[pool[at - 1] % KEY_N_DIGITS];
		}
	}
	explicit_bzero(pool, sizeof(pool));
	return status;
}

static void key_checksum(char out[static CAIRN_KEY_CHECKSUM_CHARS], const char random[static CAIRN_KEY_RANDOM_CHARS])
{
	uint32_t sum = cairn_crc32c(0, random, CAIRN_KEY_RANDOM_CHARS);
	for (size_t i = CAIRN_KEY_CHECKSUM_CHARS; i > 0; i--) {
		out[i - 1] = KEY_DIGITS[sum % KEY_N_DIGITS];
		sum /= KEY_N_DIGITS;
	}
}

static enum cairn_status key_text(char out[static CAIRN_KEY_TEXT_BYTES])
{
	char *random = out + KEY_HUB_BYTES;
	memset(out, 0, CAIRN_KEY_TEXT_BYTES);
	memcpy(out, KEY_HUB, KEY_HUB_BYTES);
	enum cairn_status status = key_random(random);
	if (status == CAIRN_OK)
		key_checksum(random + CAIRN_KEY_RANDOM_CHARS, random);
	return status;
}

/* Has the text the form of today's keys? @param own  the text after "hf_" */
static bool key_is_whole(const char *own)
{
	char sum[CAIRN_KEY_CHECKSUM_CHARS];
	if (strlen(own) != CAIRN_KEY_RANDOM_CHARS + CAIRN_KEY_CHECKSUM_CHARS ||
	    strspn(own, KEY_DIGITS) != CAIRN_KEY_RANDOM_CHARS + CAIRN_KEY_CHECKSUM_CHARS)
		return false;
	key_checksum(sum, own);
	return memcmp(sum, own + CAIRN_KEY_RANDOM_CHARS, sizeof(sum)) == 0;
}

/* Is the text a key of an old form? The first keys had no "hf_", later ones "cairn_" after it. */
static bool key_is_old(const char *own)
{
	return strlen(own) == KEY_OLD_BYTES + CAIRN_BASE64URL_CHARS(32) && strncmp(own, KEY_OLD, KEY_OLD_BYTES) == 0;
}

enum cairn_status cairn_key_digest(const char *text, uint8_t out[static CAIRN_SHA256_BYTES])
{
	bool has_hub = strncmp(text, KEY_HUB, KEY_HUB_BYTES) == 0;
	const char *own = has_hub ? text + KEY_HUB_BYTES : text;
	if (!key_is_old(own) && !(has_hub && key_is_whole(own)))
		return CAIRN_E_FORMAT;
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *d = cairn_sha256_new();
	if (!d)
		return CAIRN_E_NOMEM;
	cairn_sha256_add(d, own, strlen(own));
	cairn_sha256_end(d, out);
	return CAIRN_OK;
}

enum cairn_status cairn_key_new_text(char text[static CAIRN_KEY_TEXT_BYTES], uint8_t digest[static CAIRN_SHA256_BYTES])
{
	enum cairn_status status = key_text(text);
	return status == CAIRN_OK ? cairn_key_digest(text, digest) : status;
}

unsigned cairn_key_scopes(const char *words)
{
	static const struct {
		const char *word;
		unsigned bit;
	} known[] = {{"read", CAIRN_TOKEN_READ}, {"write", CAIRN_TOKEN_WRITE}, {"admin", CAIRN_TOKEN_ADMIN}};
	unsigned bits = 0;
	for (const char *p = words; *p;) {
		size_t len = strcspn(p, " "), i = 0;
		while (i < 3 && !(strlen(known[i].word) == len && strncmp(known[i].word, p, len) == 0))
			i++;
		if (i == 3)
			return 0;
		bits |= known[i].bit;
		p += len + strspn(p + len, " ");
	}
	return bits;
}

/* --- making, revoking, listing ------------------------------------------------------------------------------------ */

/* @param name  NULL or empty: the operator. @param[out] id  0: the operator */
static enum cairn_status key_find_account(struct cairn_cas *cas, const char *name, int64_t *id)
{
	struct cairn_index_account account = {0};
	enum cairn_status status = name && name[0] ? cairn_index_account(cas->index, name, &account) : CAIRN_OK;
	*id = account.id;
	return status;
}

enum cairn_status cairn_cas_make_limited_key(struct cairn_cas *cas, const struct cairn_key *key,
					     const struct cairn_key_limits *limits,
					     char repo[static CAIRN_KEY_NAME_MAX + 1],
					     char text[static CAIRN_KEY_TEXT_BYTES], int64_t *id,
					     struct cairn_diag *diag)
{
	struct cairn_index_add_key add = {.good_max = limits->good_max, .kept_max = limits->kept_max};
	if (!key->name[0] || strlen(key->name) > CAIRN_KEY_NAME_MAX || cairn_key_scopes(key->scopes) == 0 ||
	    strlen(key->scopes) > CAIRN_INDEX_KEY_SCOPES_MAX ||
	    !cairn_repo_full_name(repo, CAIRN_KEY_NAME_MAX + 1, key->repo))
		return CAIRN_E_USAGE;
	enum cairn_status status = key_find_account(cas, key->account, &add.account);
	if (status == CAIRN_OK)
		status = cairn_key_new_text(text, add.digest);
	if (status != CAIRN_OK)
		return status;
	add.name = key->name;
	add.repo = repo;
	add.scopes = key->scopes;
	add.expires_unix_s = key->expires_unix_s;
	add.parent = key->parent;
	status = cairn_index_add_key(cas->index, &add);
	*diag = add.write.diag;
	*id = add.id;
	return status;
}

enum cairn_status cairn_cas_make_key(struct cairn_cas *cas, const struct cairn_key *key,
				     char repo[static CAIRN_KEY_NAME_MAX + 1], char text[static CAIRN_KEY_TEXT_BYTES],
				     int64_t *id)
{
	const struct cairn_key_limits none = {0};
	struct cairn_diag unsaid = {0};
	return cairn_cas_make_limited_key(cas, key, &none, repo, text, id, &unsaid);
}

enum cairn_status cairn_cas_revoke_key(struct cairn_cas *cas, int64_t id, bool *revoked)
{
	struct cairn_index_revoke_key revoke = {.id = id};
	enum cairn_status status = cairn_index_revoke_key(cas->index, &revoke);
	*revoked = status == CAIRN_OK && revoke.revoked;
	return status;
}

struct key_walk {
	void (*visit)(void *ctx, const struct cairn_key *key);
	void *ctx;
};

static void key_visit(void *ctx, const struct cairn_index_key *row)
{
	const struct key_walk *walk = ctx;
	const struct cairn_key key = {
		.id = row->id,
		.name = row->name,
		.repo = row->repo,
		.scopes = row->scopes,
		.created_unix_s = row->created_unix_s,
		.expires_unix_s = row->expires_unix_s,
		.used_unix_s = row->used_unix_s,
		.revoked = row->revoked_unix_s != 0,
		.account = row->account_name,
		.parent = row->parent,
	};
	walk->visit(walk->ctx, &key);
}

enum cairn_status cairn_cas_each_key(struct cairn_cas *cas, void (*visit)(void *ctx, const struct cairn_key *key),
				     void *ctx)
{
	struct key_walk walk = {visit, ctx};
	int64_t from_id = 0;
	enum cairn_status status;
	do {
		status = cairn_index_each_key(cas->index, from_id, CAIRN_INDEX_PAGE_MAX, key_visit, &walk, &from_id);
	} while (status == CAIRN_OK && from_id != 0);
	return status;
}

/* --- using keys --------------------------------------------------------------------------------------------------- */

unsigned cairn_key_allows(const char *words)
{
	unsigned scopes = cairn_key_scopes(words);
	if (scopes & CAIRN_TOKEN_ADMIN)
		scopes |= CAIRN_TOKEN_WRITE;
	if (scopes & CAIRN_TOKEN_WRITE)
		scopes |= CAIRN_TOKEN_READ;
	return scopes;
}

static void key_use_written(struct cairn_index_write *write)
{
	free(write);
}

/* Records the use of a key. Keys that share a slot of the table are written more often. If the last-used time cannot be
 * written now, accept the key anyway; it is written an hour later. */
static void key_note_use(struct cairn_cas *cas, const struct cairn_index_key *key, int64_t now_unix_s)
{
	_Atomic int64_t *noted = &cas->keys_used[(uint64_t)key->id % CAS_KEYS_USED];
	int64_t mine = (now_unix_s / KEY_USED_EVERY_S) << 20 | (key->id & 0xfffff);
	bool recent = now_unix_s >= key->used_unix_s && now_unix_s - key->used_unix_s < KEY_USED_EVERY_S;
	if (recent || atomic_exchange(noted, mine) == mine)
		return;
	struct cairn_index_use_key *use = calloc(1, sizeof(*use));
	if (!use)
		return;
	*use = (struct cairn_index_use_key){.write.done = key_use_written, .id = key->id, .used_unix_s = now_unix_s};
	if (cairn_index_use_key(cas->index, use) != CAIRN_OK)
		free(use);
}

enum cairn_status cairn_cas_use_key(struct cairn_cas *cas, const uint8_t digest[static CAIRN_SHA256_BYTES],
				    struct cairn_index_key *out, struct cairn_diag *diag)
{
	int64_t now_unix_s = cairn_clock_unix_s();
	enum cairn_status status = cairn_index_key(cas->index, digest, out);
	if (status == CAIRN_E_NOT_FOUND || (status == CAIRN_OK && out->revoked_unix_s != 0))
		return cairn_fail(diag, CAIRN_E_DENIED, "key.unknown", CAIRN_NO_OFFSET,
				  "this API key is not known here, or was revoked; make one with cairn key");
	if (status == CAIRN_OK && out->expires_unix_s != 0 && now_unix_s >= out->expires_unix_s)
		return cairn_fail(diag, CAIRN_E_DENIED, "key.expired", CAIRN_NO_OFFSET,
				  "this API key has expired; make another with cairn key");
	if (status == CAIRN_OK)
		key_note_use(cas, out, now_unix_s);
	return status;
}

enum cairn_status cairn_cas_check_key(struct cairn_cas *cas, const uint8_t digest[static CAIRN_SHA256_BYTES],
				      unsigned scopes, const char *repo, struct cairn_key_holder *out,
				      struct cairn_diag *diag)
{
	struct cairn_index_key key;
	enum cairn_status status = cairn_cas_use_key(cas, digest, &key, diag);
	if (status != CAIRN_OK)
		return status;
	if (key.account != 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET, "Repository not found");
	if ((cairn_key_allows(key.scopes) & scopes) != scopes)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "key.scope", CAIRN_NO_OFFSET, "this API key allows %s only",
				  key.scopes);
	if (key.repo[0] && strcmp(key.repo, repo) != 0)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "key.repo", CAIRN_NO_OFFSET, "this API key is for %s only",
				  key.repo);
	out->id = key.id;
	memcpy(out->name, key.name, sizeof(out->name));
	return CAIRN_OK;
}

enum cairn_status cairn_cas_check_key_id(struct cairn_cas *cas, int64_t id, struct cairn_diag *diag)
{
	bool good;
	enum cairn_status status = cairn_index_key_is_good(cas->index, id, &good);
	if (status != CAIRN_OK)
		return cairn_fail(diag, status, "token.api_key", CAIRN_NO_OFFSET,
				  "the token's API key could not be checked; try again later");
	return good ? CAIRN_OK
		    : cairn_fail(diag, CAIRN_E_DENIED, "token.revoked", CAIRN_NO_OFFSET,
				 "the API key of this token was revoked, has expired, or is not known here; "
				 "get a token with another key");
}
