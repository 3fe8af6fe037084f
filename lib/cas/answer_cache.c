#include "cas/answer_cache.h"
#include "cas/answer.h"
#include "cas/stats.h"

#include "base/bytes.h"
#include "hash/crypto.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* The public part comes first, so a pointer to it is also a pointer to the whole. */
struct counted_answer {
	struct cairn_answer answer;
	_Atomic unsigned refs;
	_Atomic(struct cairn_answer_kept *) kept; /* NULL: no data is attached */
};

/* The fields that a lookup reads come first. */
struct entry {
	struct entry *bucket_next;
	struct cairn_hash chunk;
	int64_t made_unix_s;
	const struct cairn_answer *answer;
	uint64_t used; /* n_puts of the part at the last lookup, or at the put */
	size_t bucket;
	TAILQ_ENTRY(entry) by_use;
	char scope[]; /* zero-terminated */
};

/* A part has the entries whose places fall into it. Each part has its own lock: with a single lock, eight processors
 * spent a sixth of their time waiting. */
struct cache_part {
	_Alignas(64) pthread_mutex_t lock; /* guards the members below */
	struct entry **buckets;
	uint64_t hits, misses; /* the members up to here share one cache line, the only one that most hits write to */
	uint64_t n_puts, bytes, n_entries;
	TAILQ_HEAD(entries_by_use, entry) by_use; /* newest first; in no order if used between the same two puts */
};

enum {
	KEPT_BYTES = 1280, /* estimated bytes attached to an answer */
	ENTRY_OVERHEAD_BYTES = sizeof(struct entry) + sizeof(struct counted_answer) + KEPT_BYTES,
	PART_BUCKETS_MIN = 64,
	PART_BUCKETS_MAX = 1 << 12,
	PART_ANSWERS_MIN = 4,     /* an answer is not cached if its part could not hold this many of its length */
	PART_BYTES_MIN = 4 << 20, /* a smaller part has no room for PART_ANSWERS_MIN answers with the most chunks */
	PARTS_MAX = 16,
	KEYS = 1 + sizeof(struct cairn_hash) / 4 + CAIRN_INDEX_SCOPE_TEXT_MAX,
};

struct cairn_answer_cache {
	uint64_t part_bytes_max;
	_Atomic uint64_t generation; /* incremented by each clear */
	uint64_t keys[KEYS]; /* random; they place entries, so that nobody can choose chunks that share a bucket */
	size_t n_buckets;    /* buckets of each part; a power of two, like the number of parts */
	unsigned n_parts;
	struct cache_part parts[PARTS_MAX];
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
	free((void *)(uintptr_t)answer->xorbs);
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

static bool cache_make_parts(struct cairn_answer_cache *c)
{
	bool made = true;
	for (unsigned i = 0; i < c->n_parts; i++) {
		pthread_mutex_init(&c->parts[i].lock, NULL);
		TAILQ_INIT(&c->parts[i].by_use);
		c->parts[i].buckets = calloc(c->n_buckets, sizeof(struct entry *));
		made = made && c->parts[i].buckets;
	}
	return made;
}

struct cairn_answer_cache *cairn_answer_cache_new(uint64_t bytes_max, uint64_t answer_bytes_max)
{
	struct cairn_answer_cache *c = aligned_alloc(_Alignof(struct cairn_answer_cache), sizeof(*c));
	if (!c)
		return NULL;
	memset(c, 0, sizeof(*c));
	c->n_parts = 1;
	while (c->n_parts < PARTS_MAX && bytes_max / c->n_parts / 2 >= PART_BYTES_MIN &&
	       bytes_max / c->n_parts / 2 / PART_ANSWERS_MIN >= answer_bytes_max)
		c->n_parts *= 2;
	c->part_bytes_max = bytes_max / c->n_parts;
	c->n_buckets = PART_BUCKETS_MIN;
	while (c->n_buckets < PART_BUCKETS_MAX && c->n_buckets * 4096 < c->part_bytes_max)
		c->n_buckets *= 2;
	atomic_init(&c->generation, 0);
	if (!cache_make_parts(c) || cairn_random((uint8_t *)c->keys, sizeof(c->keys)) != CAIRN_OK) {
		cairn_answer_cache_free(c);
		return NULL;
	}
	return c;
}

/* Places an entry. With external xorbs, clients choose the chunk hashes; and slow lookups must not show a scope which
 * chunks another scope asked for. So this is multilinear hashing: without the keys, any two texts collide as rarely as
 * random ones (Lemire and Kaser, Strongly universal string hashing is fast, 2014). Called before a lock is taken.
 * @return 32 bits: the lowest ones select the part, those above the bucket */
static uint64_t cache_place(const struct cairn_answer_cache *c, const char *scope, const struct cairn_hash *chunk)
{
	const uint64_t *key = c->keys;
	uint64_t sum = *key++;
	for (size_t i = 0; i < sizeof(chunk->b); i += 4)
		sum += *key++ * cairn_get_u32le(chunk->b + i);
	for (size_t i = 0; i < CAIRN_INDEX_SCOPE_TEXT_MAX && scope[i]; i++)
		sum += *key++ * (uint8_t)scope[i];
	return sum >> 32;
}

static struct cache_part *cache_lock(struct cairn_answer_cache *c, uint64_t place)
{
	struct cache_part *part = &c->parts[place & (c->n_parts - 1)];
	pthread_mutex_lock(&part->lock);
	return part;
}

static size_t cache_bucket(const struct cairn_answer_cache *c, uint64_t place)
{
	return place / c->n_parts & (c->n_buckets - 1);
}

static struct entry **part_find(const struct cache_part *part, size_t bucket, const char *scope,
				const struct cairn_hash *chunk)
{
	struct entry **at = &part->buckets[bucket];
	while (*at && !(cairn_hash_equal(&(*at)->chunk, chunk) && strcmp((*at)->scope, scope) == 0))
		at = &(*at)->bucket_next;
	return at;
}

static void part_link_newest(struct cache_part *part, struct entry *e)
{
	e->used = part->n_puts;
	TAILQ_INSERT_HEAD(&part->by_use, e, by_use);
}

/* Makes an entry the newest. Only a put evicts entries, so an entry used since the last put is already newer than all
 * others and stays in place. Else each hit would take its neighbours' cache lines in the list from other processors. */
static void part_use(struct cache_part *part, struct entry *e)
{
	if (e->used == part->n_puts)
		return;
	TAILQ_REMOVE(&part->by_use, e, by_use);
	part_link_newest(part, e);
}

static uint64_t entry_bytes(const struct entry *e)
{
	const struct cairn_answer *a = e->answer;
	return a->len + a->n_xorbs * sizeof(a->xorbs[0]) + strlen(e->scope) + ENTRY_OVERHEAD_BYTES;
}

static void part_drop(struct cache_part *part, struct entry **at)
{
	struct entry *e = *at;
	assert(e); /* callers pass an entry of part_find() */
	*at = e->bucket_next;
	TAILQ_REMOVE(&part->by_use, e, by_use);
	part->bytes -= entry_bytes(e);
	part->n_entries--;
	cairn_answer_unref(e->answer);
	free(e);
}

/* @param bytes  most bytes that may stay */
static void part_drop_oldest(struct cache_part *part, uint64_t bytes)
{
	const struct entry *oldest;
	while (part->bytes > bytes && (oldest = TAILQ_LAST(&part->by_use, entries_by_use)))
		part_drop(part, part_find(part, oldest->bucket, oldest->scope, &oldest->chunk));
}

const struct cairn_answer *cairn_answer_cache_get(struct cairn_answer_cache *c, const char *scope,
						  const struct cairn_hash *chunk, int64_t made_unix_s)
{
	const struct cairn_answer *found = NULL;
	uint64_t place = cache_place(c, scope, chunk);
	struct cache_part *part = cache_lock(c, place);
	struct entry **at = part_find(part, cache_bucket(c, place), scope, chunk);
	if (*at && (*at)->made_unix_s != made_unix_s) {
		part_drop(part, at);
	} else if (*at) {
		part_use(part, *at);
		found = answer_ref((*at)->answer);
	}
	found ? part->hits++ : part->misses++;
	pthread_mutex_unlock(&part->lock);
	return found;
}

static void part_put(struct cache_part *part, struct entry *e)
{
	struct entry **at = part_find(part, e->bucket, e->scope, &e->chunk);
	if (*at)
		part_drop(part, at);
	e->bucket_next = part->buckets[e->bucket];
	part->buckets[e->bucket] = e;
	part->n_puts++;
	part_link_newest(part, e);
	part->bytes += entry_bytes(e);
	part->n_entries++;
}

void cairn_answer_cache_put(struct cairn_answer_cache *c, uint64_t generation, const char *scope,
			    const struct cairn_hash *chunk, int64_t made_unix_s, const struct cairn_answer *answer)
{
	size_t scope_bytes = strlen(scope) + 1;
	struct entry *e =
		answer->len <= c->part_bytes_max / PART_ANSWERS_MIN ? calloc(1, sizeof(*e) + scope_bytes) : NULL;
	if (!e)
		return;
	uint64_t place = cache_place(c, scope, chunk);
	e->answer = answer_ref(answer);
	e->made_unix_s = made_unix_s;
	e->bucket = cache_bucket(c, place);
	e->chunk = *chunk;
	memcpy(e->scope, scope, scope_bytes);

	struct cache_part *part = cache_lock(c, place);
	/* A clear increments the generation before it drops entries. So an entry of an older generation is either
	 * rejected here, or dropped by the clear. */
	bool cleared = atomic_load(&c->generation) != generation;
	if (!cleared) {
		part_put(part, e);
		part_drop_oldest(part, c->part_bytes_max);
	}
	pthread_mutex_unlock(&part->lock);
	if (cleared) {
		cairn_answer_unref(answer);
		free(e);
	}
}

uint64_t cairn_answer_cache_generation(const struct cairn_answer_cache *c)
{
	return atomic_load(&c->generation);
}

void cairn_answer_cache_clear(struct cairn_answer_cache *c)
{
	atomic_fetch_add(&c->generation, 1);
	for (unsigned i = 0; i < c->n_parts; i++) {
		pthread_mutex_lock(&c->parts[i].lock);
		part_drop_oldest(&c->parts[i], 0);
		pthread_mutex_unlock(&c->parts[i].lock);
	}
}

void cairn_answer_cache_free(struct cairn_answer_cache *c)
{
	if (!c)
		return;
	cairn_answer_cache_clear(c);
	for (unsigned i = 0; i < c->n_parts; i++) {
		pthread_mutex_destroy(&c->parts[i].lock);
		free(c->parts[i].buckets);
	}
	free(c);
}

void cairn_answer_cache_stats(struct cairn_answer_cache *c, struct cairn_cas_stats *out)
{
	out->cache_hits = out->cache_misses = out->cache_bytes = out->cache_entries = 0;
	for (unsigned i = 0; i < c->n_parts; i++) {
		struct cache_part *part = &c->parts[i];
		pthread_mutex_lock(&part->lock);
		out->cache_hits += part->hits;
		out->cache_misses += part->misses;
		out->cache_bytes += part->bytes;
		out->cache_entries += part->n_entries;
		pthread_mutex_unlock(&part->lock);
	}
}
