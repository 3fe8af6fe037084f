#include "index/postgres/watch.h"

#include "base/clock.h"

void cairn_pg_watch_init(struct cairn_pg_watch *w)
{
	*w = (struct cairn_pg_watch){.silent = false};
	pthread_mutex_init(&w->lock, NULL);
}

void cairn_pg_watch_fini(struct cairn_pg_watch *w)
{
	pthread_mutex_destroy(&w->lock);
}

bool cairn_pg_watch_may_try(struct cairn_pg_watch *w)
{
	pthread_mutex_lock(&w->lock);
	bool may = !w->silent || (!w->trying && cairn_clock_mono_ms() >= w->try_at_ms);
	w->trying = w->trying || (may && w->silent);
	pthread_mutex_unlock(&w->lock);
	return may;
}

/* Records that the server is silent, and when one caller may try it again. Called with the lock. */
static void watch_fall_silent(struct cairn_pg_watch *w)
{
	w->silent = true;
	w->try_at_ms = cairn_clock_mono_ms() + CAIRN_PG_RETRY_MS;
	w->n_silences++;
}

void cairn_pg_watch_tried(struct cairn_pg_watch *w, bool connected, int64_t ms)
{
	pthread_mutex_lock(&w->lock);
	w->trying = false;
	w->silent = false;
	w->gone = w->gone && !connected;
	if (!connected && ms >= CAIRN_PG_SLOW_MS)
		watch_fall_silent(w);
	pthread_mutex_unlock(&w->lock);
}

void cairn_pg_watch_asked(struct cairn_pg_watch *w, bool well, bool silent, int64_t ms)
{
	atomic_fetch_add(&w->n_asked, 1);
	atomic_fetch_add(&w->n_failed, !well);
	atomic_fetch_add(&w->asked_ms, (uint64_t)ms);
	if (!silent)
		return;
	pthread_mutex_lock(&w->lock);
	watch_fall_silent(w);
	pthread_mutex_unlock(&w->lock);
}

void cairn_pg_watch_give_up(struct cairn_pg_watch *w)
{
	pthread_mutex_lock(&w->lock);
	w->gone = true;
	pthread_mutex_unlock(&w->lock);
}

bool cairn_pg_watch_is_down(struct cairn_pg_watch *w)
{
	pthread_mutex_lock(&w->lock);
	bool down = w->silent || w->gone;
	pthread_mutex_unlock(&w->lock);
	return down;
}

unsigned cairn_pg_watch_silences(struct cairn_pg_watch *w)
{
	pthread_mutex_lock(&w->lock);
	unsigned n = w->n_silences;
	pthread_mutex_unlock(&w->lock);
	return n;
}
