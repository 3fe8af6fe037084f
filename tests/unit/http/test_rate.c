/* Budgets of requests: which requests are allowed, how long others must wait, and which clients a full table evicts. */
#include "server/http/rate.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND_US = 1000000 };

static struct rate *r;

static void setup(void)
{
	ck_assert_int_eq(rate_new(&r, 10, 2), CAIRN_OK);
}

static void teardown(void)
{
	rate_free(r);
	rate_free(NULL);
}

static uint64_t take(const char *who, int64_t now_us)
{
	return rate_take(r, who, strlen(who), now_us);
}

/* Returns how many requests in a row are allowed at one moment. */
static unsigned take_all(const char *who, int64_t now_us)
{
	unsigned n = 0;
	while (n < 1000 && take(who, now_us) == 0)
		n++;
	return n;
}

START_TEST(a_burst_then_a_steady_rate)
{
	ck_assert_uint_eq(take_all("a", 5), 20);
	ck_assert_uint_eq(take("a", 5), 100);
	ck_assert_uint_eq(take("a", 5 + SECOND_US / 20), 50);
	ck_assert_uint_eq(take("a", 5 + SECOND_US / 10), 0);
	ck_assert_uint_eq(take("a", 5 + SECOND_US / 10), 100);
	ck_assert_uint_eq(take_all("a", 5 + SECOND_US), 9);
	ck_assert_uint_eq(take_all("a", 100 * SECOND_US), 20); /* one burst at most */
	ck_assert_uint_eq(rate_refused(r), 6);
}
END_TEST

START_TEST(refused_requests_cost_nothing)
{
	ck_assert_uint_eq(take_all("a", 0), 20);
	for (int i = 0; i < 1000; i++)
		ck_assert_uint_gt(take("a", i), 0);
	ck_assert_uint_eq(take("a", SECOND_US / 10), 0);
}
END_TEST

START_TEST(clients_are_told_apart)
{
	char longer[600];
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	ck_assert_uint_eq(take_all("a", 0), 20);
	ck_assert_uint_eq(take_all("b", 0), 20);
	ck_assert_uint_eq(take_all(longer, 0), 20);
	longer[sizeof(longer) - 2] = 'y'; /* tokens may differ only near their end */
	ck_assert_uint_eq(take_all(longer, 0), 20);
}
END_TEST

/* A client with very many addresses gets no new budget from them, neither for itself nor for another limited client. */
START_TEST(a_full_table_keeps_blocked_clients)
{
	char who[32];
	int64_t now_us = 0;
	ck_assert_uint_eq(take_all("a", 0), 20);
	for (unsigned i = 0; i < 10 * RATE_CLIENTS; i++) {
		(void)snprintf(who, sizeof(who), "other %u", i);
		ck_assert_uint_eq(take(who, now_us++), 0);
	}
	ck_assert_int_lt(now_us, SECOND_US);
	ck_assert_uint_le(take_all("a", now_us), 2); /* as many as were earned in these microseconds */
}
END_TEST

START_TEST(the_slowest_and_the_fastest_rate)
{
	teardown();
	ck_assert_int_eq(rate_new(&r, 1, 1), CAIRN_OK);
	ck_assert_uint_eq(take_all("a", 0), 1);
	ck_assert_uint_eq(take("a", 0), 1000);
	teardown();
	ck_assert_int_eq(rate_new(&r, 1000000, 1), CAIRN_OK);
	ck_assert_uint_eq(take_all("a", 0), 1000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rate");
	TCase *tcase = tcase_create("rate");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_burst_then_a_steady_rate);
	tcase_add_test(tcase, refused_requests_cost_nothing);
	tcase_add_test(tcase, clients_are_told_apart);
	tcase_add_test(tcase, a_full_table_keeps_blocked_clients);
	tcase_add_test(tcase, the_slowest_and_the_fastest_rate);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
