#include "hash/hash_guard.h"

void cairn_guards_init(struct cairn_guards *guards)
{
	pthread_mutex_init(&guards->lock, NULL);
	pthread_cond_init(&guards->freed, NULL);
	guards->first = NULL;
}

void cairn_guards_fini(struct cairn_guards *guards)
{
	pthread_cond_destroy(&guards->freed);
	pthread_mutex_destroy(&guards->lock);
}

static bool guards_have(const struct cairn_guards *guards, const struct cairn_hash *hash)
{
	const struct cairn_guard *g = guards->first;
	while (g && !cairn_hash_equal(&g->hash, hash))
		g = g->next;
	return g;
}

void cairn_guard_take(struct cairn_guards *guards, struct cairn_guard *guard, const struct cairn_hash *hash)
{
	pthread_mutex_lock(&guards->lock);
	while (guards_have(guards, hash))
		pthread_cond_wait(&guards->freed, &guards->lock);
	guard->hash = *hash;
	guard->held = true;
	guard->next = guards->first;
	guards->first = guard;
	pthread_mutex_unlock(&guards->lock);
}

void cairn_guard_release(struct cairn_guards *guards, struct cairn_guard *guard)
{
	if (!guard->held)
		return;
	pthread_mutex_lock(&guards->lock);
	struct cairn_guard **at = &guards->first;
	while (*at != guard)
		at = &(*at)->next;
	*at = guard->next;
	guard->held = false;
	pthread_cond_broadcast(&guards->freed);
	pthread_mutex_unlock(&guards->lock);
}
