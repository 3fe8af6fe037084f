#include "index/sqlite/reader.h"

#include "base/clock.h"

#include <stdlib.h>

static void pool_close(struct cairn_reader *r)
{
	cairn_sqlite_db_fini(&r->records);
	cairn_prepared_fini(&r->stmts);
	cairn_sql_closep(&r->db);
	free(r);
}

static void pool_give(struct cairn_sqlite_db *records)
{
	struct cairn_reader *r = (struct cairn_reader *)records;
	cairn_pool_givep(&r);
}

static enum cairn_status pool_open(struct cairn_pool *pool, struct cairn_reader **out)
{
	struct cairn_reader *r = calloc(1, sizeof(*r));
	if (!r)
		return CAIRN_E_NOMEM;
	r->pool = pool;
	enum cairn_status status = cairn_sql_open(&r->db, pool->path, pool->open_flags, NULL, NULL);
	if (status == CAIRN_OK)
		status = cairn_sql_exec(r->db, "PRAGMA query_only = ON");
	if (status == CAIRN_OK)
		status = cairn_prepare(&r->stmts, r->db, cairn_reads());
	if (status != CAIRN_OK) {
		pool_close(r);
		return status;
	}
	cairn_sqlite_db_init(&r->records, r->db, pool_give);
	*out = r;
	return CAIRN_OK;
}

void cairn_pool_init(struct cairn_pool *pool, const char *path)
{
	*pool = (struct cairn_pool){.path = path, .open_flags = SQLITE_OPEN_READONLY};
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->back, NULL);
}

void cairn_pool_fini(struct cairn_pool *pool)
{
	for (struct cairn_reader *r = pool->idle, *next; r; r = next) {
		next = r->next;
		pool_close(r);
	}
	pool->idle = NULL;
	pthread_cond_destroy(&pool->back);
	pthread_mutex_destroy(&pool->lock);
}

/* Records who borrows a reader. Called with the lock. */
static void pool_lend(struct cairn_pool *pool, struct cairn_reader *r, const char *call)
{
	r->call = call;
	r->since_ms = cairn_clock_mono_ms();
	r->next = pool->lent;
	r->from = &pool->lent;
	if (r->next)
		r->next->from = &r->next;
	pool->lent = r;
}

enum cairn_status cairn_pool_take(struct cairn_pool *pool, const char *call, struct cairn_reader **out)
{
	*out = NULL;
	pthread_mutex_lock(&pool->lock);
	while (!pool->idle && pool->n_open == CAIRN_POOL_CONNECTIONS_MAX)
		pthread_cond_wait(&pool->back, &pool->lock);
	struct cairn_reader *r = pool->idle;
	if (r) {
		pool->idle = r->next;
		pool_lend(pool, r, call);
	} else {
		pool->n_open++;
	}
	pthread_mutex_unlock(&pool->lock);
	*out = r;
	if (r)
		return CAIRN_OK;
	enum cairn_status status = pool_open(pool, out);
	pthread_mutex_lock(&pool->lock);
	if (status == CAIRN_OK) {
		pool_lend(pool, *out, call);
	} else {
		pool->n_open--;
		pthread_cond_signal(&pool->back);
	}
	pthread_mutex_unlock(&pool->lock);
	return status;
}

void cairn_pool_givep(struct cairn_reader **reader)
{
	struct cairn_reader *r = *reader;
	if (!r)
		return;
	struct cairn_pool *pool = r->pool;
	pthread_mutex_lock(&pool->lock);
	*r->from = r->next;
	if (r->next)
		r->next->from = r->from;
	r->next = pool->idle;
	pool->idle = r;
	pthread_cond_signal(&pool->back);
	pthread_mutex_unlock(&pool->lock);
	*reader = NULL;
}

const char *cairn_pool_oldest(struct cairn_pool *pool, int64_t *since_ms)
{
	const char *call = NULL;
	pthread_mutex_lock(&pool->lock);
	for (const struct cairn_reader *r = pool->lent; r; r = r->next) { /* the oldest is the last */
		call = r->call;
		*since_ms = r->since_ms;
	}
	pthread_mutex_unlock(&pool->lock);
	return call;
}
