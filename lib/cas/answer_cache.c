#include "cas/answer_cache.h"
#include "cas/stats.h"

#include "base/bytes.h"
#include "hash/crypto.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The public part first, so that a pointer to it is a pointer to the whole. */
struct counted_answer {
	struct cairn_answer answer;
	_Atomic unsigned refs;
	_Atomic(struct cairn_answer_kept *) kept; /* NULL: nothing is */
};

struct entry {
	struct entry *bucket_next;
	struct entry *newer, *older; /* by use */
	const struct cairn_answer *answer;
	uint64_t epoch;
	size_t place; /* of its bucket */
	struct cairn_hash chunk;
	char scope[]; /* zero-terminated */
};

struct cairn_answer_cache {
	pthread_mutex_t lock; /* over everything below */
	uint64_t bytes_max, bytes, hits, misses, n_entries;
	uint64_t generation;   /* how often it was cleared */
	struct cairn_hash key; /* random: places entries, so that nobody can choose chunks that share a bucket */
	struct entry *newest, *oldest;
	size_t n_buckets; /* a power of two */
	struct entry *buckets[];
};

enum {
	KEPT_BYTES = 1024, /* about so much is kept with an answer */
	ENTRY_OVERHEAD_BYTES = sizeof(struct entry) + sizeof(struct counted_answer) + KEPT_BYTES,
	BUCKETS_MAX = 1 << 16,
};

struct cairn_answer *cairn_answer_new(uint8_t *bytes, size_t len)
{
	struct counted_answer *a = calloc(1, sizeof(*a));
	if (!a) {
		free(bytes);
		return NULL;
	}
	a->answer.bytes = bytes;
	a->answer.len = len;
	atomic_init(&a->refs, 1);
	atomic_init(&a->kept, NULL);
	return &a->answer;
}

static struct counted_answer *answer_counted(const struct cairn_answer *answer)
{
	return (struct counted_answer *)(uintptr_t)answer;
}

void cairn_answer_unref(const struct cairn_answer *answer)
{
	if (!answer || atomic_fetch_sub(&answer_counted(answer)->refs, 1) != 1)
		return;
	struct cairn_answer_kept *kept = cairn_answer_kept(answer);
	if (kept)
		kept->free(kept);
	free((void *)(uintptr_t)answer->bytes);
	free(answer_counted(answer));
}

struct cairn_answer_kept *cairn_answer_kept(const struct cairn_answer *answer)
{
	return atomic_load_explicit(&answer_counted(answer)->kept, memory_order_acquire);
}

struct cairn_answer_kept *cairn_answer_keep(const struct cairn_answer *answer, struct cairn_answer_kept *kept)
{
	struct cairn_answer_kept *first = NULL;
	if (atomic_compare_exchange_strong(&answer_counted(answer)->kept, &first, kept))
		return kept;
	kept->free(kept);
	return first;
}

static const struct cairn_answer *answer_ref(const struct cairn_answer *answer)
{
	atomic_fetch_add(&answer_counted(answer)->refs, 1);
	return answer;
}

struct cairn_answer_cache *cairn_answer_cache_new(uint64_t bytes_max)
{
	size_t n_buckets = 64;
	while (n_buckets < BUCKETS_MAX && n_buckets * 4096 < bytes_max)
		n_buckets *= 2;
	struct cairn_answer_cache *c = calloc(1, sizeof(*c) + n_buckets * sizeof(struct entry *));
	if (!c)
		return NULL;
	if (cairn_random(c->key.b, sizeof(c->key.b)) != CAIRN_OK) {
		free(c);
		return NULL;
	}
	pthread_mutex_init(&c->lock, NULL);
	c->bytes_max = bytes_max;
	c->n_buckets = n_buckets;
	return c;
}

/* Where xorbs are kept elsewhere, chunk hashes are what a client says. And what another scope asked for is not to be in
 * the way of this one's look-ups, where it could be noticed. @return its bucket's place. Asked before the lock is taken
 */
static size_t cache_place(const struct cairn_answer_cache *c, const char *scope, const struct cairn_hash *chunk)
{
	uint8_t name[sizeof(chunk->b) + CAIRN_INDEX_SCOPE_TEXT_MAX];
	size_t len = strnlen(scope, CAIRN_INDEX_SCOPE_TEXT_MAX);
	struct cairn_hash placed;
	memcpy(name, chunk->b, sizeof(chunk->b));
	memcpy(name + sizeof(chunk->b), scope, len);
	cairn_hash_mac(&placed, c->key.b, name, sizeof(chunk->b) + len);
	return cairn_get_u64le(placed.b) & (c->n_buckets - 1);
}

static struct entry **cache_find(struct cairn_answer_cache *c, size_t place, const char *scope,
				 const struct cairn_hash *chunk)
{
	struct entry **at = &c->buckets[place];
	while (*at && !(cairn_hash_equal(&(*at)->chunk, chunk) && strcmp((*at)->scope, scope) == 0))
		at = &(*at)->bucket_next;
	return at;
}

static void cache_unlink_use(struct cairn_answer_cache *c, struct entry *e)
{
	*(e->newer ? &e->newer->older : &c->newest) = e->older;
	*(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

static void cache_link_newest(struct cairn_answer_cache *c, struct entry *e)
{
	e->newer = NULL;
	e->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = e;
	c->newest = e;
}

static uint64_t entry_bytes(const struct entry *e)
{
	return e->answer->len + strlen(e->scope) + ENTRY_OVERHEAD_BYTES;
}

static void cache_drop(struct cairn_answer_cache *c, struct entry **at)
{
	struct entry *e = *at;
	assert(e); /* callers hand over what cache_find() found */
	*at = e->bucket_next;
	cache_unlink_use(c, e);
	c->bytes -= entry_bytes(e);
	c->n_entries--;
	cairn_answer_unref(e->answer);
	free(e);
}

static void cache_drop_oldest(struct cairn_answer_cache *c)
{
	cache_drop(c, cache_find(c, c->oldest->place, c->oldest->scope, &c->oldest->chunk));
}

const struct cairn_answer *cairn_answer_cache_get(struct cairn_answer_cache *c, const char *scope,
						  const struct cairn_hash *chunk, uint64_t epoch)
{
	const struct cairn_answer *found = NULL;
	size_t place = cache_place(c, scope, chunk);
	pthread_mutex_lock(&c->lock);
	struct entry **at = cache_find(c, place, scope, chunk);
	if (*at && (*at)->epoch != epoch) {
		cache_drop(c, at);
	} else if (*at) {
		cache_unlink_use(c, *at);
		cache_link_newest(c, *at);
		found = answer_ref((*at)->answer);
	}
	found ? c->hits++ : c->misses++;
	pthread_mutex_unlock(&c->lock);
	return found;
}

void cairn_answer_cache_put(struct cairn_answer_cache *c, uint64_t generation, const char *scope,
			    const struct cairn_hash *chunk, uint64_t epoch, const struct cairn_answer *answer)
{
	size_t scope_bytes = strlen(scope) + 1;
	struct entry *e = answer->len <= c->bytes_max / 8 ? calloc(1, sizeof(*e) + scope_bytes) : NULL;
	if (!e)
		return;
	e->answer = answer_ref(answer);
	e->epoch = epoch;
	e->place = cache_place(c, scope, chunk);
	e->chunk = *chunk;
	memcpy(e->scope, scope, scope_bytes);

	pthread_mutex_lock(&c->lock);
	if (c->generation != generation) {
		pthread_mutex_unlock(&c->lock);
		cairn_answer_unref(answer);
		free(e);
		return;
	}
	struct entry **at = cache_find(c, e->place, scope, chunk);
	if (*at)
		cache_drop(c, at);
	e->bucket_next = c->buckets[e->place];
	c->buckets[e->place] = e;
	cache_link_newest(c, e);
	c->bytes += entry_bytes(e);
	c->n_entries++;
	while (c->bytes > c->bytes_max && c->oldest)
		cache_drop_oldest(c);
	pthread_mutex_unlock(&c->lock);
}

uint64_t cairn_answer_cache_generation(struct cairn_answer_cache *c)
{
	pthread_mutex_lock(&c->lock);
	uint64_t generation = c->generation;
	pthread_mutex_unlock(&c->lock);
	return generation;
}

void cairn_answer_cache_clear(struct cairn_answer_cache *c)
{
	pthread_mutex_lock(&c->lock);
	c->generation++;
	while (c->oldest)
		cache_drop_oldest(c);
	pthread_mutex_unlock(&c->lock);
}

void cairn_answer_cache_free(struct cairn_answer_cache *c)
{
	if (!c)
		return;
	cairn_answer_cache_clear(c);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void cairn_answer_cache_stats(struct cairn_answer_cache *c, struct cairn_cas_stats *out)
{
	pthread_mutex_lock(&c->lock);
	out->cache_hits = c->hits;
	out->cache_misses = c->misses;
	out->cache_bytes = c->bytes;
	out->cache_entries = c->n_entries;
	pthread_mutex_unlock(&c->lock);
}
