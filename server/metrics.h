/* Counters and histograms, and their text for Prometheus. */
#ifndef CAIRN_SERVER_METRICS_H
#define CAIRN_SERVER_METRICS_H

#include "base/buf.h"

#include <stdint.h>

/** The metrics of one server. Any thread; counting takes no lock. */
struct metrics;

/** Makes a set of metrics. @param routes  names of the routes, NULL-terminated, repeats allowed, borrowed forever;
 * other names count as "none" @return NULL without memory */
struct metrics *metrics_new(const char *const *routes);
void metrics_free(struct metrics *m);

/** Counts an ended request. */
void metrics_request(struct metrics *m, const char *route, unsigned code, uint64_t request_bytes, uint64_t reply_bytes,
		     uint64_t duration_us);

/** Counts the time that an ended request waited for a worker. */
void metrics_queued(struct metrics *m, uint64_t queued_us);

/** The counts of a route since the start. */
struct metrics_sum {
	const char *route;
	uint64_t n, failed, slow; /* requests; those with a status of 500 or more; those over a second */
	uint64_t duration_us;     /* sum over all these requests */
};

/** Visits the routes that had requests. */
void metrics_each(const struct metrics *m, void (*visit)(void *ctx, const struct metrics_sum *sum), void *ctx);

/** The counts of all routes together, since the start. */
enum { METRICS_BUCKETS = 17 };
struct metrics_total {
	uint64_t failed;                   /* answered with a status of 500 or more */
	uint64_t buckets[METRICS_BUCKETS]; /* requests by their duration; each bucket counts only its own */
};
void metrics_sum_up(const struct metrics *m, struct metrics_total *out);

/** Returns the upper bound of a bucket's durations. @return 0: the last bucket, which has none */
uint64_t metrics_bound_us(size_t bucket);

/** A current value that another part keeps, written after the counters. Values of one family must be adjacent. */
struct metrics_gauge {
	const char *name; /* "cairn_index_files", or with labels: "cairn_build_info{version=\"1\"}" */
	const char *type; /* Prometheus type: "gauge" or "counter" */
	const char *help;
	double value;
};

/** Appends the text exposition format (version 0.0.4). */
void metrics_write(struct metrics *m, struct cairn_buf *out, const struct metrics_gauge *gauges, size_t n_gauges);

#endif
