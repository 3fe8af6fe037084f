#include "index/postgres/good_keys.h"

#include <stdlib.h>

/* The first row has the highest id of all keys, good or not. */
const char CAIRN_PG_GOOD_KEYS[] = "SELECT coalesce(max(id), 0), NULL::bigint, true AS head FROM api_key UNION ALL"
				  " SELECT k.id, k.expires, false FROM api_key k LEFT JOIN account a"
				  " ON a.id = k.account WHERE k.revoked IS NULL AND a.disabled IS NULL"
				  " ORDER BY head DESC, 1";

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

enum cairn_status cairn_pg_good_keys_take(struct cairn_pg_good_keys *k, const PGresult *r, int64_t server,
					  int64_t generation)
{
	int n = PQntuples(r) - 1;
	if (n < 0)
		return CAIRN_E_DAMAGED;
	struct cairn_pg_good_key *keys = calloc((size_t)n + 1, sizeof(*keys));
	if (!keys)
		return CAIRN_E_NOMEM;
	for (int i = 0; i < n; i++)
		keys[i] = (struct cairn_pg_good_key){
			.id = cairn_pg_get_int8(r, i + 1, 0),
			.expires_unix_s = cairn_pg_get_int8(r, i + 1, 1),
		};
	pthread_mutex_lock(&k->lock);
	struct cairn_pg_good_key *before = keys;
	if (server != k->server || generation >= k->generation) {
		before = k->keys;
		k->keys = keys;
		k->n = (size_t)n;
		k->server = server;
		k->generation = generation;
		k->last_id = cairn_pg_get_int8(r, 0, 0);
	}
	pthread_mutex_unlock(&k->lock);
	free(before);
	return CAIRN_OK;
}

bool cairn_pg_good_keys_are(struct cairn_pg_good_keys *k, int64_t server, int64_t generation)
{
	pthread_mutex_lock(&k->lock);
	bool same = k->server == server && k->generation == generation;
	pthread_mutex_unlock(&k->lock);
	return same;
}

static int good_keys_compare(const void *id, const void *key)
{
	int64_t a = *(const int64_t *)id, b = ((const struct cairn_pg_good_key *)key)->id;
	return (a > b) - (a < b);
}

bool cairn_pg_good_keys_has(struct cairn_pg_good_keys *k, int64_t id, int64_t now_unix_s, bool *is_new)
{
	pthread_mutex_lock(&k->lock);
	const struct cairn_pg_good_key *key =
		k->n > 0 ? bsearch(&id, k->keys, k->n, sizeof(*k->keys), good_keys_compare) : NULL;
	bool good = key && (key->expires_unix_s == 0 || key->expires_unix_s > now_unix_s);
	*is_new = id > k->last_id;
	pthread_mutex_unlock(&k->lock);
	return good;
}
