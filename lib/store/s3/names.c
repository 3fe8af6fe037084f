#include "store/s3/names.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* 5 MiB, for 4 TB of xorbs of the usual size. */
enum { NAMES_SETS = 1 << 14, NAMES_WAYS = 4 };

struct names_set {
	uint32_t version; /* rises with each change except learning */
	uint8_t next;     /* the next entry to evict */
	bool used[NAMES_WAYS];
	struct s3_copy ways[NAMES_WAYS];
};

struct s3_names {
	pthread_mutex_t lock;
	struct names_set sets[NAMES_SETS];
};

struct s3_names *s3_names_new(void)
{
	struct s3_names *names = calloc(1, sizeof(*names));
	if (names)
		pthread_mutex_init(&names->lock, NULL);
	return names;
}

void s3_names_free(struct s3_names *names)
{
	if (!names)
		return;
	pthread_mutex_destroy(&names->lock);
	free(names);
}

static struct names_set *names_set_of(struct s3_names *names, const struct cairn_hash *hash)
{
	return &names->sets[(hash->b[0] | (unsigned)hash->b[1] << 8) % NAMES_SETS];
}

/* @return the hash's place; NAMES_WAYS: not cached */
static unsigned names_way(const struct names_set *set, const struct cairn_hash *hash)
{
	unsigned way = 0;
	while (way < NAMES_WAYS && !(set->used[way] && cairn_hash_equal(&set->ways[way].hash, hash)))
		way++;
	return way;
}

static void names_put(struct names_set *set, const struct s3_copy *copy)
{
	unsigned way = names_way(set, &copy->hash);
	if (way == NAMES_WAYS)
		way = set->next++ % NAMES_WAYS;
	set->used[way] = true;
	set->ways[way] = *copy;
}

bool s3_names_find(struct s3_names *names, const struct cairn_hash *hash, struct s3_copy *copy, uint32_t *ticket)
{
	struct names_set *set = names_set_of(names, hash);
	pthread_mutex_lock(&names->lock);
	unsigned way = names_way(set, hash);
	if (way < NAMES_WAYS)
		*copy = set->ways[way];
	*ticket = set->version;
	pthread_mutex_unlock(&names->lock);
	return way < NAMES_WAYS;
}

void s3_names_learn(struct s3_names *names, const struct s3_copy *copy, uint32_t ticket)
{
	struct names_set *set = names_set_of(names, &copy->hash);
	pthread_mutex_lock(&names->lock);
	if (set->version == ticket)
		names_put(set, copy);
	pthread_mutex_unlock(&names->lock);
}

void s3_names_set(struct s3_names *names, const struct s3_copy *copy)
{
	struct names_set *set = names_set_of(names, &copy->hash);
	pthread_mutex_lock(&names->lock);
	set->version++;
	names_put(set, copy);
	pthread_mutex_unlock(&names->lock);
}

void s3_names_forget(struct s3_names *names, const struct cairn_hash *hash)
{
	struct names_set *set = names_set_of(names, hash);
	pthread_mutex_lock(&names->lock);
	set->version++;
	unsigned way = names_way(set, hash);
	if (way < NAMES_WAYS)
		set->used[way] = false;
	pthread_mutex_unlock(&names->lock);
}
