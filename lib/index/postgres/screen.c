#include "index/postgres/screen.h"

#include "base/bytes.h"
#include "index/postgres/engine.h"

#include <sched.h>
#include <string.h>

/* Reads no rows of other scopes, so that the time does not reveal whether there are any. Looks each prefix up in the
 * database index alone, whatever the planner estimates: a join could read the whole table. */
static const char SCREEN_SHARED[] =
	"SELECT k.n FROM unnest($1::bigint[]) WITH ORDINALITY k(prefix, n)"
	" JOIN LATERAL (SELECT 1 FROM dedupe d WHERE d.prefix = k.prefix AND d.scope = 0 LIMIT 1) f ON true";
static const char SCREEN_OWN[] = "SELECT k.n FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY k(prefix, scope, n)"
				 " JOIN LATERAL (SELECT 1 FROM dedupe d WHERE d.prefix = k.prefix AND d.scope ="
				 " (SELECT s.id FROM scope s WHERE s.name = k.scope AND s.id <> 0) LIMIT 1) f ON true";

/* The queries of one exchange. */
struct screen_batch {
	struct cairn_index_screen *all[CAIRN_PG_SCREEN_MAX];
	struct cairn_index_screen *own[CAIRN_PG_SCREEN_MAX]; /* those of them with a scope of their own */
	uint32_t n, n_own;
};

/* Called with the lock. */
static void screen_take(struct cairn_pg_screens *s, struct screen_batch *batch)
{
	batch->n = batch->n_own = 0;
	while (s->head && batch->n < CAIRN_PG_SCREEN_MAX) {
		batch->all[batch->n++] = s->head;
		s->head = s->head->next;
	}
	if (!s->head)
		s->tail = &s->head;
}

static void screen_found(const PGresult *r, struct cairn_index_screen *const *of, uint32_t n)
{
	for (int i = 0; i < PQntuples(r); i++) {
		int64_t place = cairn_pg_get_int8(r, i, 0);
		if (place >= 1 && place <= n)
			of[place - 1]->status = CAIRN_OK;
	}
}

static enum cairn_status screen_ask(struct cairn_postgres *p, struct screen_batch *batch)
{
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array prefixes = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array own = {0};
	CLEANUP(cairn_pg_array_fini) struct cairn_pg_array names = {0};
	CLEANUP(cairn_pg_givep) struct cairn_pg_reader *reader = NULL;
	for (uint32_t i = 0; i < batch->n; i++) {
		struct cairn_index_screen *screen = batch->all[i];
		int64_t prefix = (int64_t)cairn_get_u64le(screen->chunk.b);
		screen->status = CAIRN_E_NOT_FOUND;
		cairn_pg_add_int8(&prefixes, prefix);
		if (screen->scope[0] == '\0')
			continue;
		batch->own[batch->n_own++] = screen;
		cairn_pg_add_int8(&own, prefix);
		cairn_pg_add_bytes(&names, screen->scope, strlen(screen->scope));
	}
	enum cairn_status status = cairn_pg_take(&p->pool, &reader);
	if (status != CAIRN_OK)
		return status;
	unsigned shared = cairn_pg_queue(&reader->pg, SCREEN_SHARED, CAIRN_ARGS(cairn_pg_int8s(&prefixes))),
		 owned = shared;
	if (batch->n_own > 0) {
		owned = cairn_pg_queue(&reader->pg, SCREEN_OWN,
				       CAIRN_ARGS(cairn_pg_int8s(&own), cairn_pg_texts(&names)));
	}
	status = cairn_pg_exchange(&reader->pg);
	if (status != CAIRN_OK)
		return status;
	screen_found(reader->pg.results[shared], batch->all, batch->n);
	if (batch->n_own > 0)
		screen_found(reader->pg.results[owned], batch->own, batch->n_own);
	return CAIRN_OK;
}

static void screen_serve(struct cairn_postgres *p, struct screen_batch *batch)
{
	enum cairn_status status = screen_ask(p, batch);
	for (uint32_t i = 0; i < batch->n; i++) {
		if (status != CAIRN_OK)
			batch->all[i]->status = status;
		batch->all[i]->done(batch->all[i]); /* the caller may free it then */
	}
}

static void *screen_loop(void *arg)
{
	struct cairn_postgres *p = arg;
	struct cairn_pg_screens *s = &p->screens;
	struct screen_batch batch;
	(void)pthread_setname_np(pthread_self(), "index-screen");
	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (!s->head && !s->ending)
			pthread_cond_wait(&s->work, &s->lock);
		if (!s->head)
			break;
		/* If processors are scarce, other threads run first and add queries; otherwise this does not wait. */
		pthread_mutex_unlock(&s->lock);
		(void)sched_yield();
		pthread_mutex_lock(&s->lock);
		screen_take(s, &batch);
		s->asking = true;
		pthread_mutex_unlock(&s->lock);
		screen_serve(p, &batch);
		pthread_mutex_lock(&s->lock);
		s->asking = false;
		if (!s->head)
			pthread_cond_broadcast(&s->done);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

enum cairn_status cairn_pg_screens_start(struct cairn_postgres *index, struct cairn_diag *diag)
{
	struct cairn_pg_screens *s = &index->screens;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->work, NULL);
	pthread_cond_init(&s->done, NULL);
	s->tail = &s->head;
	if (pthread_create(&s->thread, NULL, screen_loop, index) == 0) {
		s->index = index;
		return CAIRN_OK;
	}
	pthread_cond_destroy(&s->done);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	return cairn_fail(diag, CAIRN_E_NOMEM, "index.thread", CAIRN_NO_OFFSET,
			  "the thread that asks the index about chunks cannot be started; raise the limit on threads");
}

void cairn_pg_screens_stop(struct cairn_pg_screens *s)
{
	if (!s->index)
		return;
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_cond_signal(&s->work);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->done);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
}

bool cairn_postgres_screen(struct cairn_index *ix, struct cairn_index_screen *screen)
{
	struct cairn_pg_screens *s = &cairn_postgres(ix)->screens;
	if (!s->index)
		return false;
	screen->next = NULL;
	pthread_mutex_lock(&s->lock);
	bool idle = !s->head && !s->asking;
	*s->tail = screen;
	s->tail = &screen->next;
	pthread_mutex_unlock(&s->lock);
	if (idle)
		pthread_cond_signal(&s->work);
	return true;
}

void cairn_postgres_finish_screens(struct cairn_index *ix)
{
	struct cairn_pg_screens *s = &cairn_postgres(ix)->screens;
	if (!s->index)
		return;
	pthread_mutex_lock(&s->lock);
	while (s->head || s->asking)
		pthread_cond_wait(&s->done, &s->lock);
	pthread_mutex_unlock(&s->lock);
}
