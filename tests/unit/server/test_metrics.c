#include "server/metrics.h"
#include "support/run.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char *const ROUTES[] = {"shards", "chunks", "shards", NULL};

static char *metrics_text(struct metrics *m, const struct metrics_gauge *gauges, size_t n)
{
	struct cairn_buf out = cairn_buf_init(1 << 18);
	metrics_write(m, &out, gauges, n);
	cairn_buf_add(&out, "", 1);
	ck_assert_int_eq(out.status, CAIRN_OK);
	return (char *)out.bytes;
}

static void metrics_must_have(const char *text, const char *line)
{
	const char *at = strstr(text, line);
	ck_assert_msg(at, "no line: %s\nin:\n%s", line, text);
	ck_assert_msg(at == text || at[-1] == '\n', "not a line of its own: %s", line);
	ck_assert_msg(at[strlen(line)] == '\n', "the line goes on: %s", line);
}

static unsigned metrics_count(const char *text, const char *piece)
{
	unsigned n = 0;
	for (const char *p = text; (p = strstr(p, piece)); p++)
		n++;
	return n;
}

START_TEST(counting)
{
	struct metrics *m = metrics_new(ROUTES);
	char copy[] = "chunks"; /* found by its text, not by the pointer that was given before */
	metrics_request(m, ROUTES[0], 200, 10, 1, 400);
	metrics_request(m, ROUTES[2], 200, 20, 2, 2000000);
	metrics_request(m, copy, 404, 0, 5, 500);
	metrics_request(m, "chunks", 0, 0, 0, 501);
	metrics_request(m, "chunks", 299, 0, 0, 60000000);
	metrics_request(m, "chunks", 503, 0, 0, 60000001);
	metrics_request(m, "made-up", 404, 3, 0, 1);
	char *text = metrics_text(m, NULL, 0);
	metrics_must_have(text, "cairn_http_requests_total{route=\"shards\",status=\"200\"} 2");
	metrics_must_have(text, "cairn_http_requests_total{route=\"chunks\",status=\"404\"} 1");
	metrics_must_have(text, "cairn_http_requests_total{route=\"chunks\",status=\"gone\"} 1");
	metrics_must_have(text, "cairn_http_requests_total{route=\"chunks\",status=\"other\"} 1");
	metrics_must_have(text, "cairn_http_requests_total{route=\"chunks\",status=\"503\"} 1");
	metrics_must_have(text, "cairn_http_requests_total{route=\"none\",status=\"404\"} 1");
	metrics_must_have(text, "cairn_http_request_bytes_total{route=\"shards\"} 30");
	metrics_must_have(text, "cairn_http_response_bytes_total{route=\"shards\"} 3");
	metrics_must_have(text, "cairn_http_request_bytes_total{route=\"none\"} 3");
	ck_assert_uint_eq(metrics_count(text, "cairn_http_requests_total{"), 6);
	ck_assert_ptr_null(strstr(text, "made-up"));
	free(text);
	metrics_free(m);
}
END_TEST

START_TEST(histogram)
{
	struct metrics *m = metrics_new(ROUTES);
	metrics_request(m, "chunks", 200, 0, 0, 0);
	metrics_request(m, "chunks", 200, 0, 0, 500);      /* equal to a bound: counts within it */
	metrics_request(m, "chunks", 200, 0, 0, 501);      /* counts for the next bucket */
	metrics_request(m, "chunks", 200, 0, 0, 60000000); /* the last bound */
	metrics_request(m, "chunks", 200, 0, 0, 60000001); /* above the last bound */
	char *text = metrics_text(m, NULL, 0);
	metrics_must_have(text, "cairn_http_request_duration_seconds_bucket{route=\"chunks\",le=\"0.0005\"} 2");
	metrics_must_have(text, "cairn_http_request_duration_seconds_bucket{route=\"chunks\",le=\"0.001\"} 3");
	metrics_must_have(text, "cairn_http_request_duration_seconds_bucket{route=\"chunks\",le=\"30\"} 3");
	metrics_must_have(text, "cairn_http_request_duration_seconds_bucket{route=\"chunks\",le=\"60\"} 4");
	metrics_must_have(text, "cairn_http_request_duration_seconds_bucket{route=\"chunks\",le=\"+Inf\"} 5");
	metrics_must_have(text, "cairn_http_request_duration_seconds_count{route=\"chunks\"} 5");
	metrics_must_have(text, "cairn_http_request_duration_seconds_sum{route=\"chunks\"} 120.001002");
	metrics_must_have(text, "cairn_http_request_duration_seconds_count{route=\"shards\"} 0");
	free(text);
	metrics_free(m);
}
END_TEST

/* Each family is announced once, before its first sample, and no series comes twice. */
START_TEST(families)
{
	struct metrics *m = metrics_new(ROUTES);
	metrics_request(m, "shards", 200, 0, 0, 0);
	char *text = metrics_text(m, NULL, 0);
	ck_assert_uint_eq(metrics_count(text, "# TYPE cairn_http_requests_total counter\n"), 1);
	ck_assert_uint_eq(metrics_count(text, "# HELP cairn_http_requests_total "), 1);
	ck_assert_uint_eq(metrics_count(text, "# TYPE cairn_http_request_duration_seconds histogram\n"), 1);
	ck_assert_uint_eq(metrics_count(text, "# TYPE cairn_http_request_bytes_total counter\n"), 1);
	ck_assert_uint_eq(metrics_count(text, "# TYPE cairn_http_response_bytes_total counter\n"), 1);
	ck_assert_uint_eq(metrics_count(text, "cairn_http_request_duration_seconds_count{route=\"shards\"}"), 1);
	ck_assert(strstr(text, "# TYPE cairn_http_requests_total") < strstr(text, "cairn_http_requests_total{"));
	ck_assert_int_eq(text[strlen(text) - 1], '\n');
	free(text);
	metrics_free(m);
}
END_TEST

START_TEST(gauges)
{
	struct metrics *m = metrics_new(ROUTES);
	const struct metrics_gauge list[] = {
		{"cairn_index_files", "gauge", "Files.", 123456789012345},
		{"cairn_build_info{version=\"1\"}", "gauge", "Build.", 1},
		{"cairn_ratio", "gauge", "A ratio.", 0.25},
	};
	char *text = metrics_text(m, list, 3);
	metrics_must_have(text, "# HELP cairn_index_files Files.\n# TYPE cairn_index_files gauge\ncairn_index_files "
				"123456789012345");
	metrics_must_have(text, "# TYPE cairn_build_info gauge\ncairn_build_info{version=\"1\"} 1");
	metrics_must_have(text, "cairn_ratio 0.25");
	free(text);
	metrics_free(m);
}
END_TEST

static void *metrics_hammer(void *m)
{
	for (int i = 0; i < 10000; i++)
		metrics_request(m, "chunks", 200, 1, 2, 100);
	return NULL;
}

START_TEST(threads_lose_no_count)
{
	struct metrics *m = metrics_new(ROUTES);
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, metrics_hammer, m), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	char *text = metrics_text(m, NULL, 0);
	metrics_must_have(text, "cairn_http_requests_total{route=\"chunks\",status=\"200\"} 40000");
	metrics_must_have(text, "cairn_http_response_bytes_total{route=\"chunks\"} 80000");
	metrics_must_have(text, "cairn_http_request_duration_seconds_sum{route=\"chunks\"} 4.000000");
	free(text);
	metrics_free(m);
}
END_TEST

START_TEST(no_routes)
{
	struct metrics *m = metrics_new((const char *const[]){NULL});
	metrics_request(m, "x", 200, 0, 0, 0);
	char *text = metrics_text(m, NULL, 0);
	metrics_must_have(text, "cairn_http_requests_total{route=\"none\",status=\"200\"} 1");
	free(text);
	metrics_free(m);
	metrics_free(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("metrics");
	TCase *t = tcase_create("metrics");
	tcase_add_test(t, counting);
	tcase_add_test(t, histogram);
	tcase_add_test(t, families);
	tcase_add_test(t, gauges);
	tcase_add_test(t, threads_lose_no_count);
	tcase_add_test(t, no_routes);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
