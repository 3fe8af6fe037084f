#include "server/http/http_stream.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* The reading side, instead of a connection. */
static struct {
	unsigned n_pauses, n_wakes;
	bool closing;
} conn;

static bool conn_pause(void *ctx)
{
	ck_assert_ptr_eq(ctx, &conn);
	conn.n_pauses++;
	return !conn.closing;
}

static void conn_wake(void *ctx)
{
	ck_assert_ptr_eq(ctx, &conn);
	conn.n_wakes++;
}

static const struct http_stream_ops OPS = {conn_pause, conn_wake};
static struct http_stream *stream;

static void setup(void)
{
	stream = http_stream_new(&OPS, &conn);
	ck_assert_ptr_nonnull(stream);
}

static bool frame(const char *text)
{
	return http_stream_frame(stream, text, strlen(text));
}

static void must_read(size_t max, const char *text)
{
	uint8_t out[64];
	size_t n;
	ck_assert_int_eq(http_stream_read(stream, out, max, &n), HTTP_STREAM_BYTES);
	ck_assert_uint_eq(n, strlen(text));
	ck_assert_mem_eq(out, text, n);
}

static void must_be(enum http_stream_read what)
{
	uint8_t out[64];
	size_t n = 9;
	ck_assert_int_eq(http_stream_read(stream, out, sizeof(out), &n), what);
	ck_assert_uint_eq(n, 0);
}

START_TEST(frames_pass_in_order)
{
	ck_assert(frame("one"));
	must_read(64, "one");
	ck_assert(frame("two"));
	must_read(64, "two");
	http_stream_finish(stream, "end", 3);
	must_read(64, "end");
	must_be(HTTP_STREAM_END);
	ck_assert_uint_eq(conn.n_pauses + conn.n_wakes, 0);
	http_stream_gone(stream);
}
END_TEST

START_TEST(a_reader_is_woken_once_for_each_pause)
{
	must_be(HTTP_STREAM_PAUSED);
	ck_assert_uint_eq(conn.n_pauses, 1);
	ck_assert(frame("one"));
	ck_assert(frame("two"));
	ck_assert_uint_eq(conn.n_wakes, 1);
	must_read(64, "two");
	must_be(HTTP_STREAM_PAUSED);
	http_stream_finish(stream, "end", 3);
	ck_assert_uint_eq(conn.n_wakes, 2);
	must_read(64, "end");
	must_be(HTTP_STREAM_END);
	http_stream_gone(stream);
}
END_TEST

START_TEST(an_unsent_frame_is_replaced_but_never_a_started_one)
{
	ck_assert(frame("first"));
	ck_assert(frame("second"));
	must_read(3, "sec");
	ck_assert(frame("third"));
	ck_assert(frame("fourth"));
	ck_assert(frame(""));
	must_read(64, "ondfourth");
	ck_assert(frame("fifth"));
	http_stream_finish(stream, "end", 3); /* the last frame does not replace earlier ones */
	must_read(64, "fifthend");
	must_be(HTTP_STREAM_END);
	http_stream_gone(stream);
}
END_TEST

START_TEST(a_feeder_learns_that_the_client_has_gone)
{
	ck_assert(frame("one"));
	http_stream_gone(stream);
	ck_assert(!frame("two"));
	http_stream_finish(stream, "end", 3);
	ck_assert_uint_eq(conn.n_wakes, 0);
}
END_TEST

START_TEST(a_closing_server_does_not_wait)
{
	conn.closing = true;
	must_be(HTTP_STREAM_FAILED);
	ck_assert(frame("one"));
	ck_assert_uint_eq(conn.n_wakes, 0);
	must_read(64, "one");
	must_be(HTTP_STREAM_FAILED);
	http_stream_gone(stream);
	http_stream_finish(stream, "end", 3);
}
END_TEST

START_TEST(waiting_bytes_at_the_limit_and_over)
{
	static char most[HTTP_STREAM_BYTES_MAX + 1];
	static uint8_t out[sizeof(most)];
	size_t n;
	memset(most, 'f', sizeof(most));
	http_stream_finish(stream, most, HTTP_STREAM_BYTES_MAX);
	ck_assert_int_eq(http_stream_read(stream, out, sizeof(out), &n), HTTP_STREAM_BYTES);
	ck_assert_uint_eq(n, HTTP_STREAM_BYTES_MAX);
	must_be(HTTP_STREAM_END);
	http_stream_gone(stream);
	setup();
	http_stream_finish(stream, most, HTTP_STREAM_BYTES_MAX + 1);
	must_be(HTTP_STREAM_FAILED); /* the stream is cut rather than ended with a partial frame */
	http_stream_gone(stream);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("http_stream");
	TCase *tc = tcase_create("http_stream");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, frames_pass_in_order);
	tcase_add_test(tc, a_reader_is_woken_once_for_each_pause);
	tcase_add_test(tc, an_unsent_frame_is_replaced_but_never_a_started_one);
	tcase_add_test(tc, a_feeder_learns_that_the_client_has_gone);
	tcase_add_test(tc, a_closing_server_does_not_wait);
	tcase_add_test(tc, waiting_bytes_at_the_limit_and_over);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
