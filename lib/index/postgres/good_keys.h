/* The API keys that are good, in memory: each request with a token that was got with one is judged by them, on a thread
 * that must not wait for a server. They are taken with each commit of this process that changes one, and with those of
 * others a second later (refresh.h). */
#ifndef CAIRN_INDEX_POSTGRES_GOOD_KEYS_H
#define CAIRN_INDEX_POSTGRES_GOOD_KEYS_H

#include "index/postgres/args.h"

#include <pthread.h>

/** The answer that cairn_pg_good_keys_take() takes. */
extern const char CAIRN_PG_GOOD_KEYS[];

struct cairn_pg_good_key {
	int64_t id, expires_unix_s; /* 0: it does not expire */
};

struct cairn_pg_good_keys {
	pthread_mutex_t lock;
	struct cairn_pg_good_key *keys; /* by id; 16 bytes each */
	size_t n;
	int64_t server;     /* of which they were read: after a failover another may count the same changes of others */
	int64_t generation; /* how many changes of keys they are behind */
	int64_t last_id;    /* of all keys that there were, also those that are not good */
};

void cairn_pg_good_keys_init(struct cairn_pg_good_keys *k);
void cairn_pg_good_keys_fini(struct cairn_pg_good_keys *k);

/** Older ones of the same server than those that are here are not taken.
 *  @param server  as cairn_pg.server @param generation  of the state that they were read in, or before
 *  @return CAIRN_OK; CAIRN_E_NOMEM: what was taken before stays */
CAIRN_MUST_USE enum cairn_status cairn_pg_good_keys_take(struct cairn_pg_good_keys *k, const PGresult *r,
							 int64_t server, int64_t generation);
/** Are those that are here of this server, and of this state of it? */
bool cairn_pg_good_keys_are(struct cairn_pg_good_keys *k, int64_t server, int64_t generation);

/** Any thread. @param[out] is_new  it is none of those that there were when they were taken */
bool cairn_pg_good_keys_has(struct cairn_pg_good_keys *k, int64_t id, int64_t now_unix_s, bool *is_new);

#endif
