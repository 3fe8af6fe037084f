/* Facts that the daemon remembers of an index over PostgreSQL, and how far they hold after a failover. */
#include "index/postgres/engine.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static struct cairn_pg_good_keys keys;

static void setup(void)
{
	cairn_pg_good_keys_init(&keys);
}

static void teardown(void)
{
	cairn_pg_good_keys_fini(&keys);
}

/* Takes an answer of a server, in which this key is the only valid one. */
static void take(int64_t id, int64_t server, int64_t generation)
{
	static char names[] = "a key's column";
	static PGresAttDesc columns[3];
	char text[8];
	PGresult *r = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	ck_assert_ptr_nonnull(r);
	for (int i = 0; i < 3; i++)
		columns[i] = (PGresAttDesc){.name = names, .format = 1};
	ck_assert(PQsetResultAttrs(r, 3, columns));
	for (int i = 0; i < 8; i++)
		text[i] = (char)((uint64_t)id >> (56 - 8 * i));
	for (int row = 0; row < 2; row++) {
		ck_assert(PQsetvalue(r, row, 0, text, sizeof(text)));
		ck_assert(PQsetvalue(r, row, 1, NULL, -1));
	}
	ck_assert_int_eq(cairn_pg_good_keys_take(&keys, r, server, generation), CAIRN_OK);
	PQclear(r);
}

static bool has(int64_t id)
{
	bool is_new;
	return cairn_pg_good_keys_has(&keys, id, 1, &is_new);
}

START_TEST(older_ones_are_not_taken)
{
	take(7, 1, 5);
	take(8, 1, 4);
	ck_assert(has(7) && !has(8));
	take(8, 1, 5); /* the answer may be newer than its number, which was read first */
	ck_assert(has(8) && !has(7));
}
END_TEST

/* Another server may lack changes that the former server counted, and count other changes with the same number. */
START_TEST(keys_of_another_server_are_discarded)
{
	take(7, 1, 5);
	ck_assert(cairn_pg_good_keys_are(&keys, 1, 5) && !cairn_pg_good_keys_are(&keys, 2, 5));
	take(8, 2, 4);
	ck_assert(has(8) && !has(7));
	ck_assert(cairn_pg_good_keys_are(&keys, 2, 4));
}
END_TEST

static uint64_t withdrawn(struct cairn_postgres *p, int64_t server, int64_t withdrawn)
{
	const struct cairn_index_counts counts = {.withdrawn = withdrawn};
	cairn_pg_note_counts(p, &counts, server);
	return cairn_postgres_withdrawn(&p->index);
}

/* Counts from commits and from refreshes arrive in any order. After a failover equal counts may mean other changes. */
START_TEST(counts_of_another_server_are_changes)
{
	static struct cairn_postgres p = {.lock = PTHREAD_MUTEX_INITIALIZER};
	uint64_t told = withdrawn(&p, 1, 5);
	ck_assert_uint_eq(withdrawn(&p, 1, 5), told);
	ck_assert_uint_eq(withdrawn(&p, 1, 4), told);
	ck_assert_uint_eq(withdrawn(&p, 1, 5), told);
	uint64_t before = withdrawn(&p, 1, 6);
	ck_assert_uint_gt(before, told);
	told = withdrawn(&p, 2, 6);
	ck_assert_uint_gt(told, before);
	ck_assert_uint_gt(withdrawn(&p, 2, 7), told);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("failover");
	TCase *c = tcase_create("failover");
	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, older_ones_are_not_taken);
	tcase_add_test(c, keys_of_another_server_are_discarded);
	tcase_add_test(c, counts_of_another_server_are_changes);
	suite_add_tcase(suite, c);
	return run_suite(suite);
}
