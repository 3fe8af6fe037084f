#include "cas/verified_lists.h"

#include "cas/stats.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { LISTS_BUCKETS = 4096 }; /* a power of two; 16 MiB hold twenty lists of one chunk in each */

/* The list comes first, so a pointer to it is also a pointer to the whole. Its arrays follow the struct. */
struct kept_list {
	struct cairn_chunk_list list;
	_Atomic unsigned refs;
	struct kept_list *bucket_next;
	TAILQ_ENTRY(kept_list) by_use;
	struct cairn_hash xorb;
	uint64_t identity; /* identity of the object */
	uint64_t bytes;    /* bytes of the whole block of memory */
};

struct cas_verified_lists {
	pthread_mutex_t lock; /* guards the members below */
	uint64_t bytes_max, bytes, hits, added, n;
	TAILQ_HEAD(kept_by_use, kept_list) by_use; /* newest first */
	struct kept_list *buckets[LISTS_BUCKETS];
};

struct cas_verified_lists *cas_verified_lists_new(uint64_t bytes_max)
{
	struct cas_verified_lists *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	pthread_mutex_init(&c->lock, NULL);
	TAILQ_INIT(&c->by_use);
	c->bytes_max = bytes_max;
	return c;
}

void cas_verified_list_unrefp(const struct cairn_chunk_list **list)
{
	struct kept_list *kept = (struct kept_list *)(uintptr_t)*list;
	*list = NULL;
	if (kept && atomic_fetch_sub(&kept->refs, 1) == 1)
		free(kept);
}

/* Finds a list. Its bucket depends on inode and times, which uploaders cannot choose: nobody can fill a bucket. */
static struct kept_list **lists_find(struct cas_verified_lists *c, const struct cairn_hash *xorb, uint64_t identity)
{
	struct kept_list **at = &c->buckets[identity & (LISTS_BUCKETS - 1)];
	while (*at && !((*at)->identity == identity && cairn_hash_equal(&(*at)->xorb, xorb)))
		at = &(*at)->bucket_next;
	return at;
}

static void lists_drop(struct cas_verified_lists *c, struct kept_list *k)
{
	const struct cairn_chunk_list *list = &k->list;
	*lists_find(c, &k->xorb, k->identity) = k->bucket_next;
	TAILQ_REMOVE(&c->by_use, k, by_use);
	c->bytes -= k->bytes;
	c->n--;
	cas_verified_list_unrefp(&list);
}

void cas_verified_lists_free(struct cas_verified_lists *c)
{
	if (!c)
		return;
	while (!TAILQ_EMPTY(&c->by_use))
		lists_drop(c, TAILQ_FIRST(&c->by_use));
	pthread_mutex_destroy(&c->lock);
	free(c);
}

const struct cairn_chunk_list *cas_verified_lists_get(struct cas_verified_lists *c, const struct cairn_hash *xorb,
						      uint64_t identity)
{
	pthread_mutex_lock(&c->lock);
	struct kept_list *k = *lists_find(c, xorb, identity);
	if (k) {
		TAILQ_REMOVE(&c->by_use, k, by_use);
		TAILQ_INSERT_HEAD(&c->by_use, k, by_use);
		atomic_fetch_add(&k->refs, 1);
	}
	c->hits += k != NULL;
	pthread_mutex_unlock(&c->lock);
	return k ? &k->list : NULL;
}

/* Copies a list with its arrays into one block of memory, to which the cache has the only reference. */
static struct kept_list *lists_copy(const struct cairn_hash *xorb, uint64_t identity,
				    const struct cairn_chunk_list *list)
{
	size_t hashes_bytes = list->n * sizeof(*list->hashes), spans_bytes = list->n * sizeof(*list->spans);
	size_t bytes = sizeof(struct kept_list) + hashes_bytes + spans_bytes;
	struct kept_list *k = malloc(bytes);
	if (!k)
		return NULL;
	*k = (struct kept_list){.xorb = *xorb, .identity = identity, .bytes = bytes};
	atomic_init(&k->refs, 1);
	k->list.n = k->list.cap = list->n;
	k->list.spans = (struct cairn_span *)(k + 1);
	k->list.hashes = (struct cairn_hash *)(k->list.spans + list->n);
	memcpy(k->list.spans, list->spans, spans_bytes);
	memcpy(k->list.hashes, list->hashes, hashes_bytes);
	return k;
}

static void lists_link(struct cas_verified_lists *c, struct kept_list *k)
{
	struct kept_list **bucket = &c->buckets[k->identity & (LISTS_BUCKETS - 1)];
	k->bucket_next = *bucket;
	*bucket = k;
	TAILQ_INSERT_HEAD(&c->by_use, k, by_use);
	c->bytes += k->bytes;
	c->n++;
	c->added++;
}

void cas_verified_lists_put(struct cas_verified_lists *c, const struct cairn_hash *xorb, uint64_t identity,
			    const struct cairn_chunk_list *list)
{
	struct kept_list *k = lists_copy(xorb, identity, list);
	if (!k)
		return;
	pthread_mutex_lock(&c->lock);
	struct kept_list *before = *lists_find(c, xorb, identity);
	if (before)
		lists_drop(c, before);
	if (k->bytes <= c->bytes_max) {
		while (c->bytes + k->bytes > c->bytes_max)
			lists_drop(c, TAILQ_LAST(&c->by_use, kept_by_use));
		lists_link(c, k);
		k = NULL;
	}
	pthread_mutex_unlock(&c->lock);
	free(k);
}

void cas_verified_lists_stats(struct cas_verified_lists *c, struct cairn_cas_stats *out)
{
	pthread_mutex_lock(&c->lock);
	out->verified_lists_hits = c->hits;
	out->verified_lists_added = c->added;
	out->verified_lists_bytes = c->bytes;
	out->verified_lists = c->n;
	pthread_mutex_unlock(&c->lock);
}
