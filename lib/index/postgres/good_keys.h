/* A cache of the good API keys. Each request whose token was obtained with a key looks here, on a thread that must not
 * wait for a server. The cache is renewed with each commit of this process that changes a key, and up to a second after
 * commits of others (refresh.h). */
#ifndef CAIRN_INDEX_POSTGRES_GOOD_KEYS_H
#define CAIRN_INDEX_POSTGRES_GOOD_KEYS_H

#include "index/postgres/args.h"

#include <pthread.h>

/** The query whose answer cairn_pg_good_keys_take() reads. */
extern const char CAIRN_PG_GOOD_KEYS[];

struct cairn_pg_good_key {
	int64_t id, expires_unix_s; /* 0: it does not expire */
};

struct cairn_pg_good_keys {
	pthread_mutex_t lock;
	struct cairn_pg_good_key *keys; /* sorted by id; 16 bytes each */
	size_t n;
	int64_t server;     /* the server that had these keys: after a failover, another may use the same generation for
			       other changes */
	int64_t generation; /* number of changes of keys before this state */
	int64_t last_id;    /* the highest id of all keys, good or not */
};

void cairn_pg_good_keys_init(struct cairn_pg_good_keys *k);
void cairn_pg_good_keys_fini(struct cairn_pg_good_keys *k);

/** Replaces the cache, unless it has newer keys of the same server.
 * @param server  as cairn_pg.server @param generation  that of the keys read, or an earlier one
 * @return CAIRN_OK; CAIRN_E_NOMEM: the cache is unchanged */
CAIRN_MUST_USE enum cairn_status cairn_pg_good_keys_take(struct cairn_pg_good_keys *k, const PGresult *r,
							 int64_t server, int64_t generation);
/** Was the cache read from this server at this generation? */
bool cairn_pg_good_keys_are(struct cairn_pg_good_keys *k, int64_t server, int64_t generation);

/** Is the key good according to the cache? Any thread. @param[out] is_new  the key is newer than the cache */
bool cairn_pg_good_keys_has(struct cairn_pg_good_keys *k, int64_t id, int64_t now_unix_s, bool *is_new);

#endif
