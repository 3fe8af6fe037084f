#include "server/traffic.h"

enum { TRAFFIC_STEP_MS = TRAFFIC_STEP_S * 1000, TRAFFIC_HALF = 50, TRAFFIC_MOST = 95 };

void traffic_init(struct traffic *t)
{
	pthread_mutex_init(&t->lock, NULL);
}

void traffic_fini(struct traffic *t)
{
	pthread_mutex_destroy(&t->lock);
}

/* Finds the bound of this many of 100 requests. @return false: longer than the last bound, which is set */
static bool traffic_bound(const struct metrics_total *counted, uint64_t n, unsigned percent, uint64_t *us)
{
	uint64_t sum = 0;
	for (size_t b = 0; b < METRICS_BUCKETS - 1; b++) {
		sum += counted->buckets[b];
		*us = metrics_bound_us(b);
		if (sum * 100 >= n * percent)
			return true;
	}
	return false;
}

/* Returns the requests between two samples. The counters are read one after the other while requests end. A step counts
 * the requests that were seen, and counts none twice. */
static struct traffic_step traffic_between(const struct metrics_total *begin, const struct metrics_total *end,
					   uint32_t n_steps)
{
	struct metrics_total counted = {.failed = end->failed - begin->failed};
	struct traffic_step out = {.n_steps = n_steps};
	uint64_t n = 0;
	for (size_t b = 0; b < METRICS_BUCKETS; b++) {
		counted.buckets[b] = end->buckets[b] - begin->buckets[b];
		n += counted.buckets[b];
	}
	if (n == 0)
		return out;
	out.n = (n + n_steps - 1) / n_steps; /* rounds up: one request must not become none */
	out.failed = (counted.failed + n_steps - 1) / n_steps;
	(void)traffic_bound(&counted, n, TRAFFIC_HALF, &out.half_us);
	out.is_over = !traffic_bound(&counted, n, TRAFFIC_MOST, &out.most_us);
	return out;
}

void traffic_sample(struct traffic *t, const struct metrics *m, int64_t mono_ms)
{
	int64_t step = mono_ms / TRAFFIC_STEP_MS;
	pthread_mutex_lock(&t->lock);
	if (!t->sampled || step > t->step) {
		struct metrics_total now;
		int64_t passed = t->sampled ? step - t->step : 0;
		uint32_t n = passed < TRAFFIC_STEPS ? (uint32_t)passed : TRAFFIC_STEPS;
		metrics_sum_up(m, &now);
		for (uint32_t i = 0; i < n; i++)
			t->steps[t->n++ % TRAFFIC_STEPS] = traffic_between(&t->begin, &now, n);
		t->begin = now;
		t->step = step;
		t->sampled = true;
	}
	pthread_mutex_unlock(&t->lock);
}

unsigned traffic_read(struct traffic *t, const struct metrics *m, int64_t mono_ms,
		      struct traffic_step out[static TRAFFIC_STEPS], int64_t *begun_ms)
{
	struct metrics_total now;
	unsigned n = 0;
	pthread_mutex_lock(&t->lock);
	if (t->sampled) {
		metrics_sum_up(m, &now);
		out[n++] = traffic_between(&t->begin, &now, 1);
		while (n < TRAFFIC_STEPS && n <= t->n) {
			out[n] = t->steps[(t->n - n) % TRAFFIC_STEPS];
			n++;
		}
		*begun_ms = mono_ms - t->step * TRAFFIC_STEP_MS;
	}
	pthread_mutex_unlock(&t->lock);
	return n;
}
