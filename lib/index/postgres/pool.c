#include "index/postgres/pool.h"

#include "base/cond.h"

#include <stdlib.h>

void cairn_pg_pool_init(struct cairn_pg_pool *pool, const struct cairn_pg_place *place, struct cairn_pg_watch *watch)
{
	*pool = (struct cairn_pg_pool){.place = place, .watch = watch};
	pthread_mutex_init(&pool->lock, NULL);
	cairn_cond_init(&pool->back);
}

static void pool_close(struct cairn_pg_reader *r)
{
	cairn_pg_close(&r->pg);
	free(r);
}

void cairn_pg_pool_fini(struct cairn_pg_pool *pool)
{
	for (struct cairn_pg_reader *r = pool->idle, *next; r; r = next) {
		next = r->next;
		pool_close(r);
	}
	pool->idle = NULL;
	pthread_cond_destroy(&pool->back);
	pthread_mutex_destroy(&pool->lock);
}

/* @param[out] out  an idle reader; NULL: another may be opened @return false: timed out */
static bool pool_wait(struct cairn_pg_pool *pool, struct cairn_pg_reader **out)
{
	const struct timespec until = cairn_cond_in_ms(CAIRN_PG_SILENCE_MS);
	bool waits = true;
	pthread_mutex_lock(&pool->lock);
	while (!pool->idle && pool->n_open == CAIRN_PG_POOL_MAX && waits)
		waits = cairn_cond_wait_until(&pool->back, &pool->lock, &until);
	*out = pool->idle;
	bool had = *out || pool->n_open < CAIRN_PG_POOL_MAX;
	if (*out)
		pool->idle = (*out)->next;
	else if (had)
		pool->n_open++;
	pthread_mutex_unlock(&pool->lock);
	return had;
}

static void pool_lose(struct cairn_pg_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->n_open--;
	pthread_cond_signal(&pool->back);
	pthread_mutex_unlock(&pool->lock);
}

enum cairn_status cairn_pg_take(struct cairn_pg_pool *pool, struct cairn_pg_reader **out)
{
	*out = NULL;
	struct cairn_pg_reader *r;
	if (!pool_wait(pool, &r))
		return CAIRN_E_BUSY;
	if (!r) {
		r = calloc(1, sizeof(*r));
		if (!r) {
			pool_lose(pool);
			return CAIRN_E_NOMEM;
		}
		r->pool = pool;
		r->pg.place = pool->place;
		r->pg.watch = pool->watch;
		r->pg.reads_only = true;
		r->pg.answers_soon = true;
	}
	enum cairn_status status = cairn_pg_is_alive(&r->pg) ? CAIRN_OK : cairn_pg_open(&r->pg);
	if (status != CAIRN_OK) {
		pool_close(r);
		pool_lose(pool);
		return status;
	}
	*out = r;
	return CAIRN_OK;
}

void cairn_pg_givep(struct cairn_pg_reader **reader)
{
	struct cairn_pg_reader *r = *reader;
	*reader = NULL;
	if (!r)
		return;
	struct cairn_pg_pool *pool = r->pool;
	bool lost = !r->pg.conn;
	if (lost) {
		pool_close(r);
		pool_lose(pool);
		return;
	}
	pthread_mutex_lock(&pool->lock);
	r->next = pool->idle;
	pool->idle = r;
	pthread_cond_signal(&pool->back);
	pthread_mutex_unlock(&pool->lock);
}
