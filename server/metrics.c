#include "server/metrics.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Statuses with counters of their own; the rest count as "other". 0: the client left before the reply. */
static const unsigned METRICS_CODES[] = {0,   200, 201, 202, 204, 206, 207, 304, 400, 401, 403,
					 404, 405, 408, 409, 410, 411, 412, 413, 414, 415, 416,
					 417, 429, 431, 500, 501, 502, 503, 504, 505, 507};
enum { METRICS_LABEL_BYTES = 80, METRICS_SLOW_US = 1000000 };
enum { METRICS_SHARDS = 8 };
enum {
	METRICS_N_CODES = sizeof(METRICS_CODES) / sizeof(METRICS_CODES[0]),
	METRICS_CODE_OTHER = METRICS_N_CODES,
};

/* Upper bounds of the buckets of a duration, as printed; the last bucket has none. */
static const struct metrics_bound {
	uint64_t us;
	const char *text;
} METRICS_BOUNDS[] = {
	{500, "0.0005"}, {1000, "0.001"},  {2500, "0.0025"}, {5000, "0.005"},  {10000, "0.01"}, {25000, "0.025"},
	{50000, "0.05"}, {100000, "0.1"},  {250000, "0.25"}, {500000, "0.5"},  {1000000, "1"},  {2500000, "2.5"},
	{5000000, "5"},  {10000000, "10"}, {30000000, "30"}, {60000000, "60"},
};
enum { METRICS_N_BOUNDS = sizeof(METRICS_BOUNDS) / sizeof(METRICS_BOUNDS[0]) };
_Static_assert(METRICS_BUCKETS == METRICS_N_BOUNDS + 1, "a bucket for each bound, and one behind them");

/* Counters of some of the threads. They are sharded: threads that add to one counter contend for its cache line. */
struct metrics_shard {
	/* in this order, short requests write to two cache lines, not three */
	_Atomic uint64_t duration_us, request_bytes, reply_bytes;
	_Atomic uint64_t buckets[METRICS_N_BOUNDS + 1]; /* not cumulative; summed up when written */
	_Atomic uint64_t codes[METRICS_N_CODES + 1];
	char apart[64];
};

struct metrics_route {
	struct metrics_shard shards[METRICS_SHARDS];
};

/* The sums over the shards of a route. */
struct metrics_counts {
	uint64_t codes[METRICS_N_CODES + 1];
	uint64_t buckets[METRICS_N_BOUNDS + 1];
	uint64_t duration_us, request_bytes, reply_bytes;
};

struct metrics {
	size_t n_routes;
	const char **names; /* owned, in one array for a fast search; each name is borrowed */
	char apart[64];     /* keeps read-only members off the cache lines that are written */
	_Atomic uint64_t queued_buckets[METRICS_N_BOUNDS + 1], queued_us;
	struct metrics_route routes[]; /* the last one is "none" */
};

/* Is the route already counted? Several methods of a resource share its name. */
static bool metrics_has_route(const struct metrics *m, const char *route)
{
	for (size_t i = 0; i < m->n_routes; i++)
		if (strcmp(m->names[i], route) == 0)
			return true;
	return false;
}

struct metrics *metrics_new(const char *const *routes)
{
	size_t n = 0;
	while (routes[n])
		n++;
	struct metrics *m = calloc(1, sizeof(*m) + (n + 1) * sizeof(m->routes[0]));
	const char **names = calloc(n + 1, sizeof(*names));
	if (!m || !names) {
		free(m);
		free(names);
		return NULL;
	}
	m->names = names;
	for (size_t i = 0; i < n; i++)
		if (!metrics_has_route(m, routes[i]))
			m->names[m->n_routes++] = routes[i];
	m->names[m->n_routes++] = "none";
	return m;
}

void metrics_free(struct metrics *m)
{
	if (m)
		free(m->names);
	free(m);
}

/* Finds a route by its name. Names are usually the very pointers given to metrics_new(), so compares pointers first. */
static struct metrics_route *metrics_find(struct metrics *m, const char *route)
{
	for (size_t i = 0; i < m->n_routes; i++)
		if (m->names[i] == route)
			return &m->routes[i];
	for (size_t i = 0; i < m->n_routes; i++)
		if (strcmp(m->names[i], route) == 0)
			return &m->routes[i];
	return &m->routes[m->n_routes - 1];
}

/* Adds to a counter, unless n is 0: most requests have no body. */
static void metrics_add(_Atomic uint64_t *counter, uint64_t n)
{
	if (n > 0)
		atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t metrics_get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Returns the calling thread's shard. Threads get shards in turn. */
static struct metrics_shard *metrics_own(struct metrics_route *r)
{
	static atomic_uint n_threads;
	static _Thread_local unsigned own; /* the thread's number, from 1 on; 0: none so far */
	if (own == 0)
		own = 1 + atomic_fetch_add(&n_threads, 1) % METRICS_SHARDS;
	return &r->shards[own - 1];
}

static void metrics_sum_array(uint64_t *sums, const _Atomic uint64_t *counters, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sums[i] += metrics_get(&counters[i]);
}

static struct metrics_counts metrics_counts_of(const struct metrics_route *r)
{
	struct metrics_counts out = {0};
	for (const struct metrics_shard *s = r->shards; s < r->shards + METRICS_SHARDS; s++) {
		metrics_sum_array(out.codes, s->codes, METRICS_N_CODES + 1);
		metrics_sum_array(out.buckets, s->buckets, METRICS_N_BOUNDS + 1);
		out.duration_us += metrics_get(&s->duration_us);
		out.request_bytes += metrics_get(&s->request_bytes);
		out.reply_bytes += metrics_get(&s->reply_bytes);
	}
	return out;
}

static size_t metrics_bucket(uint64_t us)
{
	size_t b = 0;
	while (b < METRICS_N_BOUNDS && us > METRICS_BOUNDS[b].us)
		b++;
	return b;
}

void metrics_queued(struct metrics *m, uint64_t queued_us)
{
	metrics_add(&m->queued_buckets[metrics_bucket(queued_us)], 1);
	metrics_add(&m->queued_us, queued_us);
}

void metrics_request(struct metrics *m, const char *route, unsigned code, uint64_t request_bytes, uint64_t reply_bytes,
		     uint64_t duration_us)
{
	struct metrics_shard *s = metrics_own(metrics_find(m, route));
	size_t c = 0;
	while (c < METRICS_N_CODES && METRICS_CODES[c] != code)
		c++;
	metrics_add(&s->codes[c], 1);
	metrics_add(&s->buckets[metrics_bucket(duration_us)], 1);
	metrics_add(&s->duration_us, duration_us);
	metrics_add(&s->request_bytes, request_bytes);
	metrics_add(&s->reply_bytes, reply_bytes);
}

static uint64_t metrics_failed(const struct metrics_counts *counts)
{
	uint64_t failed = 0;
	for (size_t c = 0; c < METRICS_N_CODES; c++)
		failed += METRICS_CODES[c] >= 500 ? counts->codes[c] : 0;
	return failed;
}

void metrics_each(const struct metrics *m, void (*visit)(void *ctx, const struct metrics_sum *sum), void *ctx)
{
	for (size_t i = 0; i < m->n_routes; i++) {
		struct metrics_counts counts = metrics_counts_of(&m->routes[i]);
		struct metrics_sum sum = {
			.route = m->names[i], .failed = metrics_failed(&counts), .duration_us = counts.duration_us};
		for (size_t c = 0; c <= METRICS_N_CODES; c++)
			sum.n += counts.codes[c];
		for (size_t b = metrics_bucket(METRICS_SLOW_US + 1); b <= METRICS_N_BOUNDS; b++)
			sum.slow += counts.buckets[b];
		if (sum.n > 0)
			visit(ctx, &sum);
	}
}

void metrics_sum_up(const struct metrics *m, struct metrics_total *out)
{
	*out = (struct metrics_total){0};
	for (size_t i = 0; i < m->n_routes; i++) {
		struct metrics_counts counts = metrics_counts_of(&m->routes[i]);
		out->failed += metrics_failed(&counts);
		for (size_t b = 0; b <= METRICS_N_BOUNDS; b++)
			out->buckets[b] += counts.buckets[b];
	}
}

uint64_t metrics_bound_us(size_t bucket)
{
	return bucket < METRICS_N_BOUNDS ? METRICS_BOUNDS[bucket].us : 0;
}

static void metrics_family(struct cairn_buf *out, const char *name, size_t name_len, const char *type, const char *help)
{
	cairn_buf_printf(out, "# HELP %.*s %s\n# TYPE %.*s %s\n", (int)name_len, name, help, (int)name_len, name, type);
}

static void metrics_write_codes(struct metrics *m, struct cairn_buf *out)
{
	static const char NAME[] = "cairn_http_requests_total";
	metrics_family(out, NAME, sizeof(NAME) - 1, "counter", "Ended requests; status gone: the client left first.");
	for (size_t i = 0; i < m->n_routes; i++) {
		struct metrics_counts counts = metrics_counts_of(&m->routes[i]);
		for (size_t c = 0; c <= METRICS_N_CODES; c++) {
			char code[16] = "gone";
			uint64_t n = counts.codes[c];
			if (n == 0)
				continue;
			if (c == METRICS_CODE_OTHER)
				memcpy(code, "other", sizeof("other"));
			else if (METRICS_CODES[c] != 0)
				(void)snprintf(code, sizeof(code), "%u", METRICS_CODES[c]);
			cairn_buf_printf(out, "%s{route=\"%s\",status=\"%s\"} %" PRIu64 "\n", NAME, m->names[i], code,
					 n);
		}
	}
}

/* Writes a histogram. @param label  one label without braces, or "" */
static void metrics_write_histogram(struct cairn_buf *out, const char *name, const char *label,
				    const uint64_t buckets[static METRICS_N_BOUNDS + 1], uint64_t us)
{
	const char *comma = *label ? "," : "", *open = *label ? "{" : "", *close = *label ? "}" : "";
	uint64_t n = 0;
	for (size_t b = 0; b <= METRICS_N_BOUNDS; b++) {
		n += buckets[b];
		cairn_buf_printf(out, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", name, label, comma,
				 b < METRICS_N_BOUNDS ? METRICS_BOUNDS[b].text : "+Inf", n);
	}
	/* The count repeats the last bucket, because the two must agree in one scrape. */
	cairn_buf_printf(out, "%s_sum%s%s%s %" PRIu64 ".%06" PRIu64 "\n", name, open, label, close, us / 1000000,
			 us % 1000000);
	cairn_buf_printf(out, "%s_count%s%s%s %" PRIu64 "\n", name, open, label, close, n);
}

static void metrics_write_queued(const struct metrics *m, struct cairn_buf *out)
{
	static const char NAME[] = "cairn_http_request_queue_seconds";
	metrics_family(out, NAME, sizeof(NAME) - 1, "histogram",
		       "How long a request waited for a worker, if it waited.");
	uint64_t buckets[METRICS_N_BOUNDS + 1] = {0};
	metrics_sum_array(buckets, m->queued_buckets, METRICS_N_BOUNDS + 1);
	metrics_write_histogram(out, NAME, "", buckets, metrics_get(&m->queued_us));
}

static void metrics_write_durations(struct metrics *m, struct cairn_buf *out)
{
	static const char NAME[] = "cairn_http_request_duration_seconds";
	metrics_family(out, NAME, sizeof(NAME) - 1, "histogram",
		       "Duration from the head of a request to the end of its reply.");
	for (size_t i = 0; i < m->n_routes; i++) {
		struct metrics_counts counts = metrics_counts_of(&m->routes[i]);
		char label[METRICS_LABEL_BYTES];
		(void)snprintf(label, sizeof(label), "route=\"%s\"", m->names[i]);
		metrics_write_histogram(out, NAME, label, counts.buckets, counts.duration_us);
	}
}

static void metrics_write_bytes(struct metrics *m, struct cairn_buf *out)
{
	static const char IN[] = "cairn_http_request_bytes_total", OUT[] = "cairn_http_response_bytes_total";
	metrics_family(out, IN, sizeof(IN) - 1, "counter", "Bytes of request bodies received.");
	for (size_t i = 0; i < m->n_routes; i++)
		cairn_buf_printf(out, "%s{route=\"%s\"} %" PRIu64 "\n", IN, m->names[i],
				 metrics_counts_of(&m->routes[i]).request_bytes);
	metrics_family(out, OUT, sizeof(OUT) - 1, "counter", "Bytes of reply bodies, as announced.");
	for (size_t i = 0; i < m->n_routes; i++)
		cairn_buf_printf(out, "%s{route=\"%s\"} %" PRIu64 "\n", OUT, m->names[i],
				 metrics_counts_of(&m->routes[i]).reply_bytes);
}

void metrics_write(struct metrics *m, struct cairn_buf *out, const struct metrics_gauge *gauges, size_t n_gauges)
{
	metrics_write_codes(m, out);
	metrics_write_durations(m, out);
	metrics_write_queued(m, out);
	metrics_write_bytes(m, out);
	for (size_t i = 0; i < n_gauges; i++) {
		const struct metrics_gauge *g = &gauges[i];
		size_t len = strcspn(g->name, "{");
		bool goes_on = i > 0 && strcspn(gauges[i - 1].name, "{") == len &&
			       memcmp(gauges[i - 1].name, g->name, len) == 0;
		if (!goes_on)
			metrics_family(out, g->name, len, g->type, g->help);
		cairn_buf_printf(out, "%s %.15g\n", g->name, g->value);
	}
}
