#include "index/postgres/good_keys.h"

#include <stdlib.h>

const char CAIRN_PG_GOOD_KEYS[] = "SELECT k.id, k.expires FROM api_key k LEFT JOIN account a ON a.id = k.account"
				  " WHERE k.revoked IS NULL AND a.disabled IS NULL ORDER BY k.id";

void cairn_pg_good_keys_init(struct cairn_pg_good_keys *k)
{
	*k = (struct cairn_pg_good_keys){.n = 0};
	pthread_mutex_init(&k->lock, NULL);
}

void cairn_pg_good_keys_fini(struct cairn_pg_good_keys *k)
{
	free(k->keys);
	pthread_mutex_destroy(&k->lock);
}

enum cairn_status cairn_pg_good_keys_take(struct cairn_pg_good_keys *k, const PGresult *r)
{
	size_t n = (size_t)PQntuples(r);
	struct cairn_pg_good_key *keys = calloc(n + 1, sizeof(*keys));
	if (!keys)
		return CAIRN_E_NOMEM;
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct cairn_pg_good_key){
			.id = cairn_pg_get_int8(r, (int)i, 0),
			.expires_unix_s = cairn_pg_get_int8(r, (int)i, 1),
		};
	pthread_mutex_lock(&k->lock);
	free(k->keys);
	k->keys = keys;
	k->n = n;
	pthread_mutex_unlock(&k->lock);
	return CAIRN_OK;
}

static int good_keys_compare(const void *id, const void *key)
{
	int64_t a = *(const int64_t *)id, b = ((const struct cairn_pg_good_key *)key)->id;
	return (a > b) - (a < b);
}

bool cairn_pg_good_keys_has(struct cairn_pg_good_keys *k, int64_t id, int64_t now_unix_s)
{
	pthread_mutex_lock(&k->lock);
	const struct cairn_pg_good_key *key =
		k->n > 0 ? bsearch(&id, k->keys, k->n, sizeof(*k->keys), good_keys_compare) : NULL;
	bool good = key && (key->expires_unix_s == 0 || key->expires_unix_s > now_unix_s);
	pthread_mutex_unlock(&k->lock);
	return good;
}
