#include "server/http/http_conn.h"
#include "support/run.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT = 3 };

static struct http_conns *conns;
static int client, server; /* two ends of one connection */

static void setup(void)
{
	int pair[2];
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	client = pair[0];
	server = pair[1];
	conns = http_conns_new(LIMIT, false);
	ck_assert_ptr_nonnull(conns);
}

static void teardown(void)
{
	ck_assert_uint_eq(http_conns_count(conns), 0);
	http_conns_free(conns);
	http_conns_free(NULL);
	close(client);
	close(server);
}

static struct http_conn *add(const char *address, int64_t deadline_ms)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = 1};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = 2};
	struct sockaddr_storage any = {0};
	if (inet_pton(AF_INET, address, &v4.sin_addr) == 1) {
		memcpy(&any, &v4, sizeof(v4));
	} else {
		ck_assert_int_eq(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
		memcpy(&any, &v6, sizeof(v6));
	}
	struct http_conn *c = http_conns_add(conns, server, (const struct sockaddr *)&any, deadline_ms);
	ck_assert_ptr_nonnull(c);
	return c;
}

/* Returns the bytes that the client has received; "": the end. */
static size_t received(char *out, size_t size)
{
	ssize_t n = recv(client, out, size - 1, MSG_DONTWAIT);
	if (n < 0)
		return SIZE_MAX;
	out[n] = '\0';
	return (size_t)n;
}

static bool is_shut(void)
{
	char c[2];
	return received(c, sizeof(c)) == 0;
}

START_TEST(addresses_are_counted_apart)
{
	struct http_conn *all[20];
	size_t n = 0;
	for (int i = 0; i < LIMIT; i++) {
		all[n++] = add("192.0.2.1", 0);
		all[n++] = add("192.0.2.2", 0);
		all[n++] = add("2001:db8:1:2::1", 0);
	}
	for (size_t i = 0; i < n; i++)
		ck_assert(!all[i]->over_limit);
	ck_assert_str_eq(all[0]->address, "192.0.2.1");
	ck_assert_str_eq(all[2]->address, "2001:db8:1:2::1");
	all[n++] = add("192.0.2.1", 0);
	ck_assert(all[n - 1]->over_limit);
	all[n++] = add("::ffff:192.0.2.2", 0); /* the same address, as a socket of both families sees it */
	ck_assert(all[n - 1]->over_limit);
	ck_assert_str_eq(all[n - 1]->address, "192.0.2.2");
	all[n++] = add("2001:db8:1:2:ffff::9", 0); /* an address of the same network */
	ck_assert(all[n - 1]->over_limit);
	all[n++] = add("2001:db8:1:3::1", 0);
	ck_assert(!all[n - 1]->over_limit);
	ck_assert_uint_eq(http_conns_count(conns), n);
	http_conns_remove(conns, all[0]);
	http_conns_remove(conns, all[9]);
	all[0] = add("192.0.2.1", 0);
	ck_assert(!all[0]->over_limit);
	ck_assert(!is_shut());
	for (size_t i = 0; i < n; i++) {
		if (i != 9)
			http_conns_remove(conns, all[i]);
	}
}
END_TEST

START_TEST(twice_the_limit_is_shut_at_once)
{
	struct http_conn *all[2 * LIMIT + 1];
	for (int i = 0; i < 2 * LIMIT; i++)
		all[i] = add("192.0.2.1", 0);
	ck_assert(!is_shut());
	all[2 * LIMIT] = add("192.0.2.1", 0);
	ck_assert(is_shut());
	for (int i = 0; i <= 2 * LIMIT; i++)
		http_conns_remove(conns, all[i]);
}
END_TEST

START_TEST(unknown_addresses_have_no_limit)
{
	struct http_conn *all[4 * LIMIT];
	for (int i = 0; i < 4 * LIMIT; i++) {
		all[i] = http_conns_add(conns, server, NULL, 0);
		ck_assert(!all[i]->over_limit);
		ck_assert_str_eq(all[i]->address, "-");
	}
	for (int i = 0; i < 4 * LIMIT; i++)
		http_conns_remove(conns, all[i]);
}
END_TEST

START_TEST(a_deadline_cuts_after_it_not_at_it)
{
	struct http_conn *c = add("192.0.2.1", 1000);
	ck_assert_uint_eq(http_conns_sweep(conns, 1000), 0);
	ck_assert_int_eq(http_conn_phase(c), HTTP_CONN_IDLE);
	ck_assert_int_eq(http_conn_deadline_ms(c), 1000);
	ck_assert_uint_eq(http_conns_sweep(conns, 1001), 1);
	ck_assert_int_eq(http_conn_phase(c), HTTP_CONN_CUT);
	ck_assert(atomic_load(&c->timed_out));
	ck_assert(is_shut());
	ck_assert(!http_conn_enter(c, HTTP_CONN_BUSY, 0));
	ck_assert_uint_eq(http_conns_sweep(conns, 9000), 0); /* each connection is cut once */
	http_conns_remove(conns, c);
}
END_TEST

START_TEST(work_and_streams_have_no_deadline)
{
	struct http_conn *c = add("192.0.2.1", 1000);
	ck_assert(http_conn_enter(c, HTTP_CONN_BUSY, 0));
	ck_assert_uint_eq(http_conns_sweep(conns, INT64_MAX >> 4), 0);
	ck_assert(http_conn_enter(c, HTTP_CONN_REPLY, 5000));
	ck_assert_uint_eq(http_conns_sweep(conns, 5001), 1);
	char text[16];
	ck_assert_uint_eq(received(text, sizeof(text)), 0); /* no text may be written into the middle of a reply */
	http_conns_remove(conns, c);
}
END_TEST

START_TEST(a_late_body_is_told_so)
{
	char text[600];
	struct http_conn *c = add("192.0.2.1", 1000);
	memcpy(c->request_id, "my-id", 6);
	ck_assert(http_conn_enter(c, HTTP_CONN_BODY, 2000));
	ck_assert_uint_eq(http_conns_sweep(conns, 2001), 1);
	ck_assert_uint_gt(received(text, sizeof(text)), 0);
	ck_assert_ptr_eq(strstr(text, "HTTP/1.1 408 Request Timeout\r\n"), text);
	ck_assert_ptr_nonnull(strstr(text, "\r\nX-Request-Id: my-id\r\n"));
	ck_assert_ptr_nonnull(strstr(text, "\"http.body_timeout\""));
	ck_assert(is_shut());
	http_conns_remove(conns, c);
}
END_TEST

START_TEST(clients_that_left_are_found)
{
	struct http_conn *c = add("192.0.2.1", 1000);
	ck_assert_int_eq(send(client, "x", 1, MSG_NOSIGNAL), 1);
	ck_assert_int_eq(shutdown(client, SHUT_WR), 0);
	ck_assert(http_conn_enter(c, HTTP_CONN_BODY, 1000));
	ck_assert_uint_eq(http_conns_sweep(conns, 1), 0); /* one byte is still unread */
	char byte;
	ck_assert_int_eq(recv(server, &byte, 1, 0), 1);
	ck_assert(http_conn_enter(c, HTTP_CONN_BUSY, 0));
	ck_assert_uint_eq(http_conns_sweep(conns, 1), 0); /* the client may be waiting for its answer */
	ck_assert(http_conn_enter(c, HTTP_CONN_REPLY, 1000));
	ck_assert_uint_eq(http_conns_sweep(conns, 1), 0);
	ck_assert(http_conn_enter(c, HTTP_CONN_BODY, 1000));
	ck_assert_uint_eq(http_conns_sweep(conns, 1), 0); /* the server may not have processed all of its bytes yet */
	ck_assert(http_conn_enter(c, HTTP_CONN_BODY, 1001));
	ck_assert_uint_eq(http_conns_sweep(conns, 1), 0);
	ck_assert_uint_eq(http_conns_sweep(conns, 1), 1);
	ck_assert(!atomic_load(&c->timed_out));
	ck_assert(is_shut());
	http_conns_remove(conns, c);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("http_conn");
	TCase *tc = tcase_create("http_conn");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, addresses_are_counted_apart);
	tcase_add_test(tc, twice_the_limit_is_shut_at_once);
	tcase_add_test(tc, unknown_addresses_have_no_limit);
	tcase_add_test(tc, a_deadline_cuts_after_it_not_at_it);
	tcase_add_test(tc, work_and_streams_have_no_deadline);
	tcase_add_test(tc, a_late_body_is_told_so);
	tcase_add_test(tc, clients_that_left_are_found);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
