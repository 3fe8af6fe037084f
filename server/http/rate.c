#include "server/http/rate.h"

#include "hash/crypto.h"
#include "hash/hash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Each budget is one number: the time at which the budget is full again. A request moves that time forward by the cost
 * of one request. The request is refused if the time would be more than a burst in the future (GCRA, ITU-T I.371). */
enum { RATE_WAYS = 8, RATE_SETS = RATE_CLIENTS / RATE_WAYS, RATE_LOCKS = 64 };

struct rate_client {
	uint64_t key;    /* hash of the client; 0: the slot is free */
	int64_t full_us; /* when its budget is full again; in the past: it is full */
};

struct rate {
	int64_t request_us, burst_us;
	struct cairn_hash key; /* secret, so that nobody can aim at a set of the table, or at another client's budget */
	_Atomic uint64_t refused;
	pthread_mutex_t locks[RATE_LOCKS]; /* each lock guards every RATE_LOCKS-th set */
	struct rate_client clients[RATE_SETS][RATE_WAYS];
};

enum cairn_status rate_new(struct rate **out, uint64_t per_s, uint64_t burst_s)
{
	*out = NULL;
	struct rate *r = calloc(1, sizeof(*r));
	if (!r)
		return CAIRN_E_NOMEM;
	enum cairn_status status = cairn_random(r->key.b, sizeof(r->key.b));
	if (status != CAIRN_OK) {
		free(r);
		return status;
	}
	r->request_us = per_s < 1000000 ? (int64_t)(1000000 / per_s) : 1;
	r->burst_us = (int64_t)burst_s * 1000000;
	for (size_t i = 0; i < RATE_LOCKS; i++)
		pthread_mutex_init(&r->locks[i], NULL);
	*out = r;
	return CAIRN_OK;
}

void rate_free(struct rate *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < RATE_LOCKS; i++)
		pthread_mutex_destroy(&r->locks[i]);
	free(r);
}

static uint64_t rate_key(const struct rate *r, const void *who, size_t len)
{
	struct cairn_hash name = {{0}}, key;
	uint64_t word;
	if (len <= sizeof(name.b))
		memcpy(name.b, who, len);
	else
		cairn_hash_body(&name, who, len);
	cairn_hash_keyed(&key, &r->key, &name);
	memcpy(&word, key.b, sizeof(word));
	return word ? word : 1;
}

/* Returns the client's slot. If the client has none, returns the slot to evict. */
static struct rate_client *rate_find(struct rate_client *set, uint64_t key)
{
	struct rate_client *fullest = set;
	for (struct rate_client *c = set; c < set + RATE_WAYS; c++) {
		if (c->key == key)
			return c;
		if (c->full_us < fullest->full_us)
			fullest = c;
	}
	*fullest = (struct rate_client){.key = key};
	return fullest;
}

uint64_t rate_take(struct rate *r, const void *who, size_t len, int64_t now_us)
{
	uint64_t key = rate_key(r, who, len);
	size_t set = key % RATE_SETS;
	pthread_mutex_t *lock = &r->locks[set % RATE_LOCKS];
	pthread_mutex_lock(lock);
	struct rate_client *c = rate_find(r->clients[set], key);
	int64_t full_us = (c->full_us > now_us ? c->full_us : now_us) + r->request_us;
	int64_t early_us = full_us - now_us - r->burst_us;
	if (early_us <= 0)
		c->full_us = full_us;
	pthread_mutex_unlock(lock);
	if (early_us <= 0)
		return 0;
	atomic_fetch_add_explicit(&r->refused, 1, memory_order_relaxed);
	return (uint64_t)(early_us + 999) / 1000;
}

uint64_t rate_refused(const struct rate *r)
{
	return atomic_load_explicit(&r->refused, memory_order_relaxed);
}
