#include "base/workers.h"

#include <pthread.h>
#include <stdlib.h>

struct cairn_workers {
	pthread_mutex_t lock; /* over all below but threads */
	pthread_cond_t wake;
	struct cairn_work *head, **tail;
	size_t n_queued, n_running, queue_max;
	bool closing;
	unsigned n_threads;
	pthread_t threads[];
};

static void *workers_loop(void *arg)
{
	struct cairn_workers *w = arg;
	pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->head && !w->closing)
			pthread_cond_wait(&w->wake, &w->lock);
		struct cairn_work *work = w->head;
		if (!work)
			break;
		w->head = work->next;
		if (!w->head)
			w->tail = &w->head;
		w->n_queued--;
		w->n_running++;
		pthread_mutex_unlock(&w->lock);
		work->run(work);
		pthread_mutex_lock(&w->lock);
		w->n_running--;
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

enum cairn_status cairn_workers_new(struct cairn_workers **out, unsigned n_threads, size_t queue_max)
{
	*out = NULL;
	struct cairn_workers *w = calloc(1, sizeof(*w) + n_threads * sizeof(w->threads[0]));
	if (!w)
		return CAIRN_E_NOMEM;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	w->tail = &w->head;
	w->queue_max = queue_max;
	for (; w->n_threads < n_threads; w->n_threads++) {
		if (pthread_create(&w->threads[w->n_threads], NULL, workers_loop, w) != 0) {
			cairn_workers_free(w);
			return CAIRN_E_NOMEM;
		}
	}
	*out = w;
	return CAIRN_OK;
}

enum cairn_status cairn_workers_submit(struct cairn_workers *w, struct cairn_work *work)
{
	enum cairn_status status = CAIRN_OK;
	pthread_mutex_lock(&w->lock);
	if (w->closing || w->n_queued == w->queue_max) {
		status = CAIRN_E_BUSY;
	} else {
		work->next = NULL;
		*w->tail = work;
		w->tail = &work->next;
		w->n_queued++;
		pthread_cond_signal(&w->wake);
	}
	pthread_mutex_unlock(&w->lock);
	return status;
}

size_t cairn_workers_pending(struct cairn_workers *w)
{
	pthread_mutex_lock(&w->lock);
	size_t n = w->n_queued + w->n_running;
	pthread_mutex_unlock(&w->lock);
	return n;
}

void cairn_workers_close(struct cairn_workers *w)
{
	pthread_mutex_lock(&w->lock);
	w->closing = true;
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->lock);
	for (; w->n_threads > 0; w->n_threads--)
		pthread_join(w->threads[w->n_threads - 1], NULL);
}

void cairn_workers_free(struct cairn_workers *w)
{
	if (!w)
		return;
	cairn_workers_close(w);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
