/* Replies whose bytes have not come yet, over real connections. test_http_pump.c tests the pump alone. */
#include "base/workers.h"
#include "server/http/http_waits.h"
#include "support/http_fixture.h"
#include "support/run.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BODY_BYTES = 8000, FIRST_BYTES = 1000, WAITERS_MAX = 64 };

/* The bytes of all bodies, which come at the same time. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t come;
	struct http_waiter *waiters[WAITERS_MAX];
	unsigned n_waiters, n_sources;
	struct cairn_workers *workers;
} late = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static ssize_t late_read(void *ctx, uint64_t pos, uint8_t *out, size_t max)
{
	ck_assert_ptr_eq(ctx, &late);
	pthread_mutex_lock(&late.lock);
	uint64_t come = late.come;
	pthread_mutex_unlock(&late.lock);
	if (pos >= come)
		return HTTP_NOT_YET;
	size_t n = come - pos < max ? (size_t)(come - pos) : max;
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)('a' + (pos + i) % 26);
	return (ssize_t)n;
}

static bool late_wait(void *ctx, uint64_t pos, struct http_waiter *waiter)
{
	ck_assert_ptr_eq(ctx, &late);
	pthread_mutex_lock(&late.lock);
	bool waits = pos >= late.come;
	if (waits)
		late.waiters[late.n_waiters++] = waiter;
	pthread_cond_broadcast(&late.changed);
	pthread_mutex_unlock(&late.lock);
	return waits;
}

static bool late_leave(void *ctx, struct http_waiter *waiter)
{
	ck_assert_ptr_eq(ctx, &late);
	bool kept = false;
	pthread_mutex_lock(&late.lock);
	for (unsigned i = 0; i < late.n_waiters && !kept; i++) {
		kept = late.waiters[i] == waiter;
		if (kept)
			late.waiters[i] = late.waiters[--late.n_waiters];
	}
	pthread_mutex_unlock(&late.lock);
	return kept;
}

static void late_release(void *ctx)
{
	ck_assert_ptr_eq(ctx, &late);
	pthread_mutex_lock(&late.lock);
	late.n_sources--;
	pthread_cond_broadcast(&late.changed);
	pthread_mutex_unlock(&late.lock);
}

static void route_late(struct http_request *req)
{
	const struct http_source source = {late_read, late_wait, late_leave, late_release, &late, BODY_BYTES};
	if (!http_may_wait(req)) {
		http_reply_error(req, 429, "full", "too many wait", NULL);
		return;
	}
	pthread_mutex_lock(&late.lock);
	late.n_sources++;
	pthread_mutex_unlock(&late.lock);
	http_reply_pumped(req, 200, "text/plain", &source, late.workers);
}

static void route_now(struct http_request *req)
{
	http_reply_json(req, 200, "{}");
}

static const struct http_route ROUTES[] = {
	{.method = "GET", .pattern = "/late", .name = "late", .done = route_late},
	{.method = "GET", .pattern = "/now", .name = "now", .done = route_now},
	{.method = NULL},
};
static const struct http_route *const TABLES[] = {ROUTES, NULL};

static void begin(struct http_server_options o)
{
	o.routes = TABLES;
	late.come = FIRST_BYTES;
	ck_assert_int_eq(cairn_workers_new(&late.workers, "late", 2, 0, WAITERS_MAX), CAIRN_OK);
	fixture_start(&o);
}

static void end(void)
{
	http_server_drain(fixture_server(), 0);
	cairn_workers_free(late.workers);
	fixture_stop();
	ck_assert_uint_eq(late.n_sources, 0);
}

static void await_waiters(unsigned n)
{
	pthread_mutex_lock(&late.lock);
	while (late.n_waiters < n)
		pthread_cond_wait(&late.changed, &late.lock);
	pthread_mutex_unlock(&late.lock);
}

static void await_sources(unsigned n)
{
	pthread_mutex_lock(&late.lock);
	while (late.n_sources > n)
		pthread_cond_wait(&late.changed, &late.lock);
	pthread_mutex_unlock(&late.lock);
}

static void bytes_come(uint64_t to)
{
	struct http_waiter *waiters[WAITERS_MAX];
	pthread_mutex_lock(&late.lock);
	unsigned n = late.n_waiters;
	memcpy(waiters, late.waiters, sizeof(waiters));
	late.n_waiters = 0;
	late.come = to;
	pthread_mutex_unlock(&late.lock);
	for (unsigned i = 0; i < n; i++)
		waiters[i]->wake(waiters[i]);
}

/* Sends a request. @return a connection that has got the head, and the bytes that have come */
static int ask(void)
{
	char first[FIRST_BYTES + 5] = "\r\n\r\n";
	for (size_t i = 0; i < FIRST_BYTES; i++)
		first[4 + i] = (char)('a' + i % 26);
	int fd = client_connect();
	client_send(fd, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
	client_read_until(fd, first);
	return fd;
}

static void read_rest(int fd, size_t n)
{
	static char bytes[BODY_BYTES];
	size_t n_wrong = 0;
	for (size_t at = 0; at < n;) {
		ssize_t k = read(fd, bytes + at, n - at);
		ck_assert_int_gt(k, 0);
		at += (size_t)k;
	}
	for (size_t i = 0; i < n; i++)
		n_wrong += bytes[i] != (char)('a' + (FIRST_BYTES + i) % 26);
	ck_assert_uint_eq(n_wrong, 0);
}

static unsigned waiting_now(void)
{
	struct http_server_stats stats;
	http_server_stats(fixture_server(), &stats);
	return stats.waiting;
}

START_TEST(bytes_are_sent_when_they_come)
{
	begin(fixture_options());
	int fd = ask();
	for (uint64_t come = FIRST_BYTES; come < BODY_BYTES; come += 1500) {
		await_waiters(1);
		bytes_come(come + 1500 < BODY_BYTES ? come + 1500 : BODY_BYTES);
	}
	read_rest(fd, BODY_BYTES - FIRST_BYTES);
	client_send(fd, "GET /now HTTP/1.1\r\nHost: h\r\n\r\n");
	client_read_until(fd, "{}");
	close(fd);
	end();
}
END_TEST

/* More requests wait than there are workers and threads, and other requests are still served. */
START_TEST(many_wait_and_hold_nobody_up)
{
	enum { CLIENTS = 40 };
	int fds[CLIENTS];
	static struct client_reply reply;
	struct http_server_options o = fixture_options();
	o.connections_max = 200;
	begin(o);
	for (int i = 0; i < CLIENTS; i++)
		fds[i] = ask();
	await_waiters(CLIENTS);
	ck_assert_uint_eq(waiting_now(), CLIENTS);
	client_ask(&reply, "GET", "GET /now HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
	ck_assert_uint_eq(reply.code, 200);
	bytes_come(BODY_BYTES);
	for (int i = 0; i < CLIENTS; i++) {
		read_rest(fds[i], BODY_BYTES - FIRST_BYTES);
		close(fds[i]);
	}
	await_sources(0);
	end();
}
END_TEST

/* The source is released, although its bytes never come. */
START_TEST(a_client_that_leaves_is_let_go)
{
	begin(fixture_options());
	int closed = ask(), reset = ask(), stays = ask();
	await_waiters(3);
	close(closed);
	client_reset(reset);
	await_sources(1);
	(void)fixture_await_end(2);
	ck_assert_uint_eq(waiting_now(), 1);
	bytes_come(BODY_BYTES);
	read_rest(stays, BODY_BYTES - FIRST_BYTES);
	close(stays);
	end();
}
END_TEST

/* request_timeout_s limits how long a client may take to read, and not how long the client waits for the server. */
START_TEST(waiting_does_not_count_as_slow_reading)
{
	struct http_server_options o = fixture_options();
	o.request_timeout_s = o.idle_timeout_s = 1;
	begin(o);
	int fd = ask();
	await_waiters(1);
	for (int i = 0; i < 3; i++) /* 8000 bytes may take 1 s */
		fixture_await_tick();
	bytes_come(BODY_BYTES);
	read_rest(fd, BODY_BYTES - FIRST_BYTES);
	close(fd);
	end();
}
END_TEST

START_TEST(a_stop_cuts_waiting_bodies)
{
	begin(fixture_options());
	int fd = ask();
	await_waiters(1);
	end();
	ck_assert_uint_eq(client_await_close(fd), 0);
	close(fd);
}
END_TEST

/* A source from which the waiter is taken while the server stops. */
static struct {
	bool has_woken; /* it no longer has the waiter, and is about to call wake() */
	struct http_waiter *waiter;
	unsigned n_ended;
} left;

static bool left_wait(void *ctx, uint64_t pos, struct http_waiter *waiter)
{
	(void)ctx, (void)pos;
	left.waiter = waiter;
	return true;
}

static bool left_leave(void *ctx, struct http_waiter *waiter)
{
	(void)ctx;
	ck_assert_ptr_eq(waiter, left.waiter);
	return !left.has_woken;
}

static void left_ended(struct http_wait *wait, bool has_bytes)
{
	(void)wait;
	ck_assert(has_bytes);
	left.n_ended++;
}

START_TEST(a_source_that_wakes_while_the_server_stops_finds_the_wait)
{
	const struct http_source source = {.wait = left_wait, .leave = left_leave};
	struct http_wait wait = {.source = &source, .ended = left_ended};
	struct http_waits waits;
	http_waits_init(&waits, 1);
	http_waits_stop(&waits);
	ck_assert_int_eq(http_waits_begin(&waits, &wait, 0), HTTP_WAIT_STOPPED);
	ck_assert_uint_eq(http_waits_count(&waits), 0);
	left.has_woken = true;
	ck_assert_int_eq(http_waits_begin(&waits, &wait, 0), HTTP_WAIT_BEGUN);
	ck_assert_uint_eq(left.n_ended, 0);
	left.waiter->wake(left.waiter);
	ck_assert_uint_eq(left.n_ended, 1);
	ck_assert_uint_eq(http_waits_count(&waits), 0);
	http_waits_fini(&waits);
}
END_TEST

/* With 64 connections, 48 bodies may wait, 16 of them for one sender. */
START_TEST(one_sender_has_some_places_only)
{
	enum { PLACES = 16 };
	int fds[PLACES];
	static struct client_reply reply;
	begin(fixture_options());
	for (int i = 0; i < PLACES; i++)
		fds[i] = ask();
	await_waiters(PLACES);
	client_ask(&reply, "GET", "GET /late HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
	ck_assert_uint_eq(reply.code, 429);
	close(fds[0]);
	await_sources(PLACES - 1);
	(void)fixture_await_end(2);
	close(ask());
	for (int i = 1; i < PLACES; i++)
		close(fds[i]);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("http_waits");
	TCase *tc = tcase_create("waits");
	tcase_add_test(tc, bytes_are_sent_when_they_come);
	tcase_add_test(tc, many_wait_and_hold_nobody_up);
	tcase_add_test(tc, a_client_that_leaves_is_let_go);
	tcase_add_test(tc, waiting_does_not_count_as_slow_reading);
	tcase_add_test(tc, a_stop_cuts_waiting_bodies);
	tcase_add_test(tc, a_source_that_wakes_while_the_server_stops_finds_the_wait);
	tcase_add_test(tc, one_sender_has_some_places_only);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
