#include "server/recent.h"

#include <stdlib.h>

void recent_init(struct recent *r)
{
	pthread_mutex_init(&r->lock, NULL);
}

void recent_fini(struct recent *r)
{
	pthread_mutex_destroy(&r->lock);
}

static void recent_put(struct recent_ring *ring, const struct recent_request *request)
{
	ring->kept[ring->n++ % RECENT_KEPT] = *request;
}

void recent_add(struct recent *r, const struct recent_request *request)
{
	bool failed = request->code >= RECENT_FAILED, slow = request->duration_us >= RECENT_SLOW_US;
	if (!recent_is_kept(request->code, request->duration_us))
		return;
	pthread_mutex_lock(&r->lock);
	if (failed)
		recent_put(&r->failed, request);
	if (slow)
		recent_put(&r->slow, request);
	pthread_mutex_unlock(&r->lock);
}

/* Copies the kept requests, the newest first. */
static void recent_take(struct recent *r, const struct recent_ring *ring, int64_t now_unix_s, struct recent_list *out)
{
	out->n = 0;
	pthread_mutex_lock(&r->lock);
	uint64_t kept = ring->n < RECENT_KEPT ? ring->n : RECENT_KEPT;
	for (uint64_t i = 1; i <= kept; i++) {
		const struct recent_request *one = &ring->kept[(ring->n - i) % RECENT_KEPT];
		if (now_unix_s - one->at_unix_s < RECENT_SPAN_S)
			out->all[out->n++] = *one;
	}
	out->more = out->n == RECENT_KEPT && ring->n > RECENT_KEPT;
	pthread_mutex_unlock(&r->lock);
}

void recent_failed(struct recent *r, int64_t now_unix_s, struct recent_list *out)
{
	recent_take(r, &r->failed, now_unix_s, out);
}

static int recent_order(const void *a, const void *b)
{
	const struct recent_request *x = a, *y = b;
	return x->duration_us > y->duration_us ? -1 : x->duration_us < y->duration_us;
}

void recent_slow(struct recent *r, int64_t now_unix_s, struct recent_list *out)
{
	recent_take(r, &r->slow, now_unix_s, out);
	qsort(out->all, out->n, sizeof(out->all[0]), recent_order);
}
