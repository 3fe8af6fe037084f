#include "server/http/http_pump.h"
#include "support/run.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_BYTES = 2 * HTTP_PUMP_BYTES + 100 };

/* The connection, and what its thread is waiting for. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned n_pauses, n_wakes;
	bool closing;
} conn;

static struct {
	pthread_t reader; /* thread that read the last block */
	size_t most;      /* the most bytes asked for at once */
	uint64_t fails_at;
	unsigned n_released;
} source;

static struct cairn_workers *workers;
static struct http_pump *pump;

static bool conn_pause(void *ctx)
{
	ck_assert_ptr_eq(ctx, &conn);
	conn.n_pauses++;
	return !conn.closing;
}

static void conn_wake(void *ctx)
{
	ck_assert_ptr_eq(ctx, &conn);
	pthread_mutex_lock(&conn.lock);
	conn.n_wakes++;
	pthread_cond_signal(&conn.changed);
	pthread_mutex_unlock(&conn.lock);
}

static void conn_wait(void)
{
	pthread_mutex_lock(&conn.lock);
	while (conn.n_wakes < conn.n_pauses)
		pthread_cond_wait(&conn.changed, &conn.lock);
	pthread_mutex_unlock(&conn.lock);
}

static const struct http_stream_ops OPS = {conn_pause, conn_wake};

static uint8_t byte_at(uint64_t pos)
{
	return (uint8_t)(pos * 7 + (pos >> 8));
}

static ssize_t source_read(void *ctx, uint64_t pos, uint8_t *out, size_t max)
{
	ck_assert_ptr_eq(ctx, &source);
	source.reader = pthread_self();
	source.most = max > source.most ? max : source.most;
	if (pos >= source.fails_at)
		return -1;
	size_t n = max > 1000 ? max - 1 : max; /* a source may return less than asked for */
	for (size_t i = 0; i < n; i++)
		out[i] = byte_at(pos + i);
	return (ssize_t)n;
}

static void source_release(void *ctx)
{
	ck_assert_ptr_eq(ctx, &source);
	source.n_released++;
}

static void setup(void)
{
	const struct http_pump_source from = {source_read, source_release, &source, BODY_BYTES};
	pthread_mutex_init(&conn.lock, NULL);
	pthread_cond_init(&conn.changed, NULL);
	source.fails_at = UINT64_MAX;
	ck_assert_int_eq(cairn_workers_new(&workers, "test", 2, 0, 8), CAIRN_OK);
	pump = http_pump_new(&OPS, &conn, &from, workers, 1);
	ck_assert_ptr_nonnull(pump);
}

static void teardown(void)
{
	http_pump_free(pump);
	ck_assert_uint_eq(source.n_released, 1);
	cairn_workers_free(workers);
}

/* @return how many bytes were read */
static uint64_t read_all(enum http_stream_read *end)
{
	static uint8_t out[10000];
	uint64_t pos = 0;
	size_t n_wrong = 0;
	for (;;) {
		size_t n = 0;
		*end = http_pump_read(pump, pos, out, sizeof(out), &n);
		ck_assert((*end == HTTP_STREAM_BYTES) == (n > 0));
		for (size_t i = 0; i < n; i++)
			n_wrong += out[i] != byte_at(pos + i);
		ck_assert_uint_eq(n_wrong, 0);
		pos += n;
		if (*end == HTTP_STREAM_PAUSED)
			conn_wait();
		else if (*end != HTTP_STREAM_BYTES)
			return pos;
	}
}

START_TEST(a_worker_reads_block_by_block)
{
	enum http_stream_read end;
	ck_assert_uint_eq(read_all(&end), BODY_BYTES);
	ck_assert_int_eq(end, HTTP_STREAM_END);
	ck_assert(!pthread_equal(source.reader, pthread_self()));
	ck_assert_uint_le(source.most, HTTP_PUMP_BYTES);
	ck_assert_uint_eq(conn.n_wakes, conn.n_pauses);
}
END_TEST

/* No block is read ahead for a client that takes nothing. */
START_TEST(the_next_block_waits_for_the_client)
{
	uint8_t out[10];
	size_t n;
	ck_assert_int_eq(http_pump_read(pump, 0, out, sizeof(out), &n), HTTP_STREAM_PAUSED);
	conn_wait();
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(http_pump_read(pump, (uint64_t)i * 10, out, sizeof(out), &n), HTTP_STREAM_BYTES);
		ck_assert_uint_eq(n, sizeof(out));
	}
	ck_assert_uint_eq(conn.n_pauses, 1);
}
END_TEST

START_TEST(a_source_that_fails_ends_the_body)
{
	enum http_stream_read end;
	source.fails_at = HTTP_PUMP_BYTES;
	ck_assert_uint_lt(read_all(&end), BODY_BYTES);
	ck_assert_int_eq(end, HTTP_STREAM_FAILED);
}
END_TEST

START_TEST(without_a_worker_the_body_ends)
{
	enum http_stream_read end;
	cairn_workers_close(workers);
	ck_assert_uint_eq(read_all(&end), 0);
	ck_assert_int_eq(end, HTTP_STREAM_FAILED);
	ck_assert_uint_eq(conn.n_wakes, conn.n_pauses);
}
END_TEST

START_TEST(a_server_that_closes_waits_for_nothing)
{
	enum http_stream_read end;
	conn.closing = true;
	ck_assert_uint_eq(read_all(&end), 0);
	ck_assert_int_eq(end, HTTP_STREAM_FAILED);
	ck_assert_uint_eq(conn.n_wakes, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("http_pump");
	TCase *tc = tcase_create("pump");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_worker_reads_block_by_block);
	tcase_add_test(tc, the_next_block_waits_for_the_client);
	tcase_add_test(tc, a_source_that_fails_ends_the_body);
	tcase_add_test(tc, without_a_worker_the_body_ends);
	tcase_add_test(tc, a_server_that_closes_waits_for_nothing);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
