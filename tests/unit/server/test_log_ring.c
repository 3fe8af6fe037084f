#include "server/log/log_ring.h"
#include "support/run.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct log_ring ring; /* too large for a stack */

static void ring_must_give(const void *line, size_t len)
{
	static uint8_t out[LOG_LINE_BYTES_MAX];
	ck_assert_uint_eq(log_ring_next(&ring), len);
	log_ring_take(&ring, out, len);
	ck_assert_int_eq(memcmp(out, line, len), 0);
}

/* Lines of every critical length come out unchanged, several times around the ring. */
START_TEST(lines_come_out_as_they_went_in)
{
	static const size_t LENGTHS[] = {1,    LOG_CELL_TEXT_BYTES - 1, LOG_CELL_TEXT_BYTES, LOG_CELL_TEXT_BYTES + 1,
					 1500, LOG_LINE_BYTES_MAX - 1,  LOG_LINE_BYTES_MAX};
	enum { N = sizeof(LENGTHS) / sizeof(LENGTHS[0]) };
	static uint8_t lines[N][LOG_LINE_BYTES_MAX];
	for (unsigned round = 0; round < 3 * LOG_RING_CELLS / 40; round++) {
		for (size_t i = 0; i < N; i++) {
			for (size_t k = 0; k < LENGTHS[i]; k++)
				lines[i][k] = (uint8_t)(round * 31 + i * 7 + k % 251);
			ck_assert_uint_gt(log_ring_put(&ring, lines[i], LENGTHS[i]), 0);
		}
		for (size_t i = 0; i < N; i++)
			ring_must_give(lines[i], LENGTHS[i]);
		ck_assert_uint_eq(log_ring_next(&ring), 0);
	}
	ck_assert_uint_eq(ring.dropped, 0);
}
END_TEST

START_TEST(a_full_ring_drops_and_counts)
{
	char line[LOG_CELL_TEXT_BYTES + 1];
	memset(line, 'x', sizeof(line));
	for (unsigned i = 0; i < LOG_RING_CELLS; i++)
		ck_assert_uint_eq(log_ring_put(&ring, line, 1 + i % LOG_CELL_TEXT_BYTES), i + 1);
	ck_assert_uint_eq(log_ring_put(&ring, line, 1), 0);
	ck_assert_uint_eq(ring.dropped, 1);
	ring_must_give(line, 1);
	ck_assert_uint_eq(log_ring_put(&ring, line, LOG_CELL_TEXT_BYTES + 1),
			  0); /* one cell is free, but the line needs two */
	ck_assert_uint_eq(log_ring_put(&ring, "y", 1), LOG_RING_CELLS);
	for (unsigned i = 1; i < LOG_RING_CELLS; i++)
		ring_must_give(line, 1 + i % LOG_CELL_TEXT_BYTES);
	ring_must_give("y", 1);
	ck_assert_uint_eq(ring.dropped, 2);
	ck_assert_uint_eq(ring.lines, LOG_RING_CELLS + 3);
}
END_TEST

enum { THREADS = 4, LINES = 40000, PAD_MAX = 1200 };

static unsigned line_make(char *out, unsigned thread, unsigned number)
{
	unsigned pad = (thread * 7919 + number * 104729) % PAD_MAX;
	int head = snprintf(out, 64, "%u %u %u ", thread, number, pad);
	memset(out + head, 'a' + (int)(number % 26), pad);
	return (unsigned)head + pad;
}

static void *ring_feed(void *arg)
{
	char line[PAD_MAX + 64];
	unsigned thread = *(unsigned *)arg;
	for (unsigned i = 0; i < LINES; i++)
		(void)log_ring_put(&ring, line, line_make(line, thread, i));
	return NULL;
}

static void line_check(const char *line, size_t len, int64_t last[THREADS])
{
	unsigned thread, number, pad;
	char want[PAD_MAX + 64];
	ck_assert_int_eq(sscanf(line, "%u %u %u", &thread, &number, &pad), 3);
	ck_assert_uint_lt(thread, THREADS);
	ck_assert_uint_eq(line_make(want, thread, number), len);
	ck_assert_int_eq(memcmp(line, want, len), 0);
	ck_assert_int_gt(number, last[thread]);
	last[thread] = number;
}

/* Lines are complete, those of each thread are in order, and missing lines are counted. */
START_TEST(many_threads_put_at_once)
{
	static char line[LOG_LINE_BYTES_MAX + 1];
	pthread_t threads[THREADS];
	unsigned numbers[THREADS];
	int64_t last[THREADS];
	uint64_t n = 0;
	for (unsigned i = 0; i < THREADS; i++) {
		last[i] = -1;
		numbers[i] = i;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, ring_feed, &numbers[i]), 0);
	}
	while (n + atomic_load(&ring.dropped) < THREADS * LINES) {
		size_t len = log_ring_next(&ring);
		if (len == 0)
			continue;
		log_ring_take(&ring, line, len);
		line[len] = '\0';
		line_check(line, len, last);
		n++;
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(log_ring_next(&ring), 0);
	ck_assert_uint_eq(ring.lines, THREADS * LINES);
	ck_assert_uint_gt(n, LOG_RING_CELLS / 3); /* so many fit in any case */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log_ring");
	TCase *t = tcase_create("log_ring");
	tcase_add_test(t, lines_come_out_as_they_went_in);
	tcase_add_test(t, a_full_ring_drops_and_counts);
	tcase_add_test(t, many_threads_put_at_once);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
