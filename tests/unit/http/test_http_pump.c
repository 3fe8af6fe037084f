#include "server/http/http_pump.h"
#include "support/run.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { BODY_BYTES = 2 * HTTP_PUMP_BYTES + 100 };

/* Simulates a connection, and what its thread is waiting for. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned n_pauses, n_wakes;
	unsigned n_begun, n_ended; /* how often the source made it wait */
	bool closing, left;
} conn;

static struct {
	pthread_t reader; /* the thread that read the last block */
	size_t most;      /* the largest read of the source */
	uint64_t fails_at;
	uint64_t comes_to; /* offset up to which bytes have come */
	bool comes_at_once;
	struct http_waiter *waiter;
	unsigned n_waits, n_released;
} source;

static struct http_waits waits;
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

static void conn_wait_begins(void *ctx)
{
	ck_assert_ptr_eq(ctx, &conn);
	conn.n_begun++;
}

static void conn_wait_ends(void *ctx)
{
	ck_assert_ptr_eq(ctx, &conn);
	conn.n_ended++;
}

static bool conn_is_left(void *ctx)
{
	ck_assert_ptr_eq(ctx, &conn);
	return conn.left;
}

static const struct http_pump_ops OPS = {{conn_pause, conn_wake}, conn_wait_begins, conn_wait_ends, conn_is_left};

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
	if (pos >= source.comes_to)
		return HTTP_NOT_YET;
	max = source.comes_to - pos < max ? (size_t)(source.comes_to - pos) : max;
	size_t n = max > 1000 ? max - 1 : max; /* a source may return fewer bytes than asked for */
	for (size_t i = 0; i < n; i++)
		out[i] = byte_at(pos + i);
	return (ssize_t)n;
}

static bool source_wait(void *ctx, uint64_t pos, struct http_waiter *waiter)
{
	ck_assert_ptr_eq(ctx, &source);
	ck_assert_uint_eq(pos, source.comes_to);
	if (source.comes_at_once) {
		source.comes_to = UINT64_MAX;
		return false;
	}
	pthread_mutex_lock(&conn.lock);
	source.waiter = waiter;
	source.n_waits++;
	pthread_cond_signal(&conn.changed);
	pthread_mutex_unlock(&conn.lock);
	return true;
}

static bool source_leave(void *ctx, struct http_waiter *waiter)
{
	ck_assert_ptr_eq(ctx, &source);
	bool kept = source.waiter == waiter;
	source.waiter = NULL;
	return kept;
}

static void await_wait(unsigned n)
{
	pthread_mutex_lock(&conn.lock);
	while (source.n_waits < n)
		pthread_cond_wait(&conn.changed, &conn.lock);
	pthread_mutex_unlock(&conn.lock);
}

/* Lets more bytes come, up to an offset. */
static void bytes_come(uint64_t to)
{
	struct http_waiter *waiter = source.waiter;
	source.waiter = NULL;
	source.comes_to = to;
	waiter->wake(waiter);
}

static void source_release(void *ctx)
{
	ck_assert_ptr_eq(ctx, &source);
	source.n_released++;
}

static void setup(void)
{
	const struct http_source from = {source_read, source_wait, source_leave, source_release, &source, BODY_BYTES};
	pthread_mutex_init(&conn.lock, NULL);
	pthread_cond_init(&conn.changed, NULL);
	source.fails_at = source.comes_to = UINT64_MAX;
	http_waits_init(&waits, 8);
	ck_assert_int_eq(cairn_workers_new(&workers, "test", 2, 0, 8), CAIRN_OK);
	pump = http_pump_new(&OPS, &conn, &from, workers, &waits, 1);
	ck_assert_ptr_nonnull(pump);
}

static void teardown(void)
{
	http_pump_free(pump);
	ck_assert_uint_eq(source.n_released, 1);
	ck_assert_uint_eq(conn.n_begun, conn.n_ended);
	ck_assert_uint_eq(http_waits_count(&waits), 0);
	http_waits_fini(&waits);
	cairn_workers_free(workers);
}

/* Reads the body. @return the number of bytes */
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

/* No block is read in advance for a client that reads nothing. */
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

static void read_to_the_wait(void)
{
	uint8_t out[10];
	size_t n;
	ck_assert_int_eq(http_pump_read(pump, source.comes_to, out, sizeof(out), &n), HTTP_STREAM_PAUSED);
	await_wait(1);
	ck_assert_uint_eq(http_waits_count(&waits), 1);
	ck_assert_uint_eq(conn.n_wakes, 0);
}

/* No thread waits, so the workers have no work. */
START_TEST(a_body_waits_for_its_bytes)
{
	enum http_stream_read end;
	source.comes_to = 0;
	read_to_the_wait();
	while (cairn_workers_pending(workers) > 0)
		(void)sched_yield();
	bytes_come(UINT64_MAX);
	conn_wait();
	ck_assert_uint_eq(read_all(&end), BODY_BYTES);
	ck_assert_int_eq(end, HTTP_STREAM_END);
}
END_TEST

START_TEST(bytes_that_come_meanwhile_are_read)
{
	enum http_stream_read end;
	source.comes_to = 1000;
	source.comes_at_once = true;
	ck_assert_uint_eq(read_all(&end), BODY_BYTES);
	ck_assert_int_eq(end, HTTP_STREAM_END);
	ck_assert_uint_eq(conn.n_begun, 1);
}
END_TEST

START_TEST(a_wait_ends_with_the_source)
{
	enum http_stream_read end;
	source.comes_to = 0;
	read_to_the_wait();
	source.fails_at = 0;
	bytes_come(0);
	conn_wait();
	ck_assert_uint_eq(read_all(&end), 0);
	ck_assert_int_eq(end, HTTP_STREAM_FAILED);
}
END_TEST

START_TEST(a_wait_ends_when_the_client_leaves)
{
	enum http_stream_read end;
	source.comes_to = 0;
	read_to_the_wait();
	http_waits_sweep(&waits);
	ck_assert_uint_eq(conn.n_wakes, 0);
	conn.left = true;
	http_waits_sweep(&waits);
	conn_wait();
	ck_assert_ptr_null(source.waiter);
	ck_assert_uint_eq(read_all(&end), 0);
	ck_assert_int_eq(end, HTTP_STREAM_FAILED);
}
END_TEST

/* The source has released the waiter and is about to wake it, so only the source ends the wait. */
START_TEST(a_wait_that_is_being_ended_is_left_alone)
{
	enum http_stream_read end;
	source.comes_to = 0;
	read_to_the_wait();
	struct http_waiter *waiter = source.waiter;
	source.waiter = NULL;
	conn.left = true;
	http_waits_sweep(&waits);
	http_waits_stop(&waits);
	ck_assert_uint_eq(conn.n_wakes, 0);
	source.comes_to = UINT64_MAX;
	waiter->wake(waiter);
	conn_wait();
	ck_assert_uint_eq(read_all(&end), BODY_BYTES);
	ck_assert_int_eq(end, HTTP_STREAM_END);
}
END_TEST

START_TEST(a_stop_ends_all_waits)
{
	enum http_stream_read end;
	source.comes_to = 0;
	read_to_the_wait();
	http_waits_stop(&waits);
	conn_wait();
	ck_assert_uint_eq(read_all(&end), 0);
	ck_assert_int_eq(end, HTTP_STREAM_FAILED);
}
END_TEST

START_TEST(after_a_stop_nobody_waits)
{
	enum http_stream_read end;
	source.comes_to = 1000;
	http_waits_stop(&waits);
	ck_assert_uint_lt(read_all(&end), BODY_BYTES);
	ck_assert_int_eq(end, HTTP_STREAM_FAILED);
	ck_assert_ptr_null(source.waiter); /* the waiter was taken back */
}
END_TEST

START_TEST(a_woken_body_without_a_worker_ends)
{
	enum http_stream_read end;
	source.comes_to = 0;
	read_to_the_wait();
	cairn_workers_close(workers);
	bytes_come(UINT64_MAX);
	conn_wait();
	ck_assert_uint_eq(read_all(&end), 0);
	ck_assert_int_eq(end, HTTP_STREAM_FAILED);
}
END_TEST

START_TEST(places_are_counted_by_sender)
{
	struct http_place places[10] = {{0}};
	struct http_waits w;
	http_waits_init(&w, 6);
	for (int i = 0; i < 2; i++)
		ck_assert(http_waits_take(&w, &places[i], 1));
	ck_assert(!http_waits_take(&w, &places[2], 1));
	ck_assert(http_waits_take(&w, &places[3], 2));
	ck_assert(http_waits_take(&w, &places[4], 2));
	ck_assert(http_waits_take(&w, &places[5], 3));
	ck_assert(http_waits_take(&w, &places[6], 4));
	ck_assert(!http_waits_take(&w, &places[7], 5));
	http_waits_give(&w, &places[7]); /* this place was not taken */
	http_waits_give(&w, &places[0]);
	http_waits_give(&w, &places[0]);
	ck_assert(http_waits_take(&w, &places[8], 1));
	ck_assert(!http_waits_take(&w, &places[9], 1));
	http_waits_fini(&w);
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
	tc = tcase_create("not yet");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_body_waits_for_its_bytes);
	tcase_add_test(tc, bytes_that_come_meanwhile_are_read);
	tcase_add_test(tc, a_wait_ends_with_the_source);
	tcase_add_test(tc, a_wait_ends_when_the_client_leaves);
	tcase_add_test(tc, a_wait_that_is_being_ended_is_left_alone);
	tcase_add_test(tc, a_stop_ends_all_waits);
	tcase_add_test(tc, after_a_stop_nobody_waits);
	tcase_add_test(tc, a_woken_body_without_a_worker_ends);
	tcase_add_test(tc, places_are_counted_by_sender);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
