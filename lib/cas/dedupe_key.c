#include "cas/dedupe_key.h"

#include "base/bytes.h"
#include "hash/crypto.h"

#include <string.h>

void cairn_dedupe_keys_init(struct cairn_dedupe_keys *keys, const struct cairn_secret *secret)
{
	*keys = (struct cairn_dedupe_keys){.secret = secret};
	pthread_mutex_init(&keys->lock, NULL);
}

void cairn_dedupe_keys_fini(struct cairn_dedupe_keys *keys)
{
	pthread_mutex_destroy(&keys->lock);
	explicit_bzero(&keys->last, sizeof(keys->last));
}

static enum cairn_status dedupe_derive(const struct cairn_secret *secret, const char *scope, uint64_t epoch,
				       struct cairn_hash *out)
{
	/* Only the scope, which comes last, has a variable length, so no two inputs have the same bytes. */
	static const char LABEL[] = "cairn dedupe key 1";
	uint8_t info[sizeof(LABEL) + 8 + 256];
	size_t scope_len = strnlen(scope, 256);
	memcpy(info, LABEL, sizeof(LABEL));
	cairn_put_u64le(info + sizeof(LABEL), epoch);
	memcpy(info + sizeof(LABEL) + 8, scope, scope_len);
	enum cairn_status status = cairn_hkdf_sha256(out->b, sizeof(out->b), secret->bytes, secret->len, info,
						     sizeof(LABEL) + 8 + scope_len);
	if (status == CAIRN_OK && cairn_hash_is_zero(out))
		out->b[0] = 1; /* zero would mean "not keyed"; the probability is 2^-256 */
	return status;
}

static bool dedupe_is_last(struct cairn_dedupe_keys *keys, const char *scope, uint64_t epoch, struct cairn_hash *out)
{
	pthread_mutex_lock(&keys->lock);
	bool is_last = !cairn_hash_is_zero(&keys->last) && keys->epoch == epoch && strcmp(keys->scope, scope) == 0;
	if (is_last)
		*out = keys->last;
	pthread_mutex_unlock(&keys->lock);
	return is_last;
}

static void dedupe_keep(struct cairn_dedupe_keys *keys, const char *scope, uint64_t epoch, const struct cairn_hash *key)
{
	size_t scope_bytes = strlen(scope) + 1;
	if (scope_bytes > sizeof(keys->scope))
		return;
	pthread_mutex_lock(&keys->lock);
	memcpy(keys->scope, scope, scope_bytes);
	keys->epoch = epoch;
	keys->last = *key;
	pthread_mutex_unlock(&keys->lock);
}

enum cairn_status cairn_dedupe_key(struct cairn_dedupe_keys *keys, const char *scope, uint64_t epoch,
				   struct cairn_hash *out)
{
	if (dedupe_is_last(keys, scope, epoch, out))
		return CAIRN_OK;
	enum cairn_status status = dedupe_derive(keys->secret, scope, epoch, out);
	if (status == CAIRN_OK)
		dedupe_keep(keys, scope, epoch, out);
	return status;
}
