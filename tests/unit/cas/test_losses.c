/* When the figures of lost files can be trusted: from a complete count until another loss. */
#include "cas/internal.h"
#include "cas/losses.h"
#include "cas/object/mend.h"
#include "support/cas_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>

static struct cairn_losses_sum sum_of(const struct cas_fixture *f)
{
	struct cairn_losses_sum sum;
	cairn_losses_sum(f->cas, &sum);
	return sum;
}

static void lose(const struct cas_fixture *f)
{
	struct cairn_hash xorb = vec_hash_text(CAS_FIXTURE_XORB);
	ck_assert_int_eq(cas_lose(f->cas, &xorb, &(struct cairn_copy_id){0}), CAIRN_OK);
}

/* Counts again, until a count follows another so closely that it does nothing. */
static void ask_until_fresh(const struct cas_fixture *f)
{
	while (sum_of(f).is_stale)
		ck_assert_int_eq(cairn_losses_search(f->cas, NULL, NULL), CAIRN_OK);
}

static bool stop_now(void *ctx)
{
	(void)ctx;
	return true;
}

START_TEST(figures_are_stale_until_a_look_has_ended)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	ck_assert(sum_of(&f).is_stale);
	ck_assert_int_eq(cairn_losses_search(f.cas, stop_now, NULL), CAIRN_E_BUSY);
	ck_assert(sum_of(&f).is_stale && !sum_of(&f).has_failed);
	ask_until_fresh(&f);
	ck_assert(sum_of(&f).is_known);
}
END_TEST

START_TEST(figures_are_stale_from_a_loss_to_the_next_look)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	ask_until_fresh(&f);
	lose(&f);
	ck_assert(sum_of(&f).is_stale && sum_of(&f).n_xorbs == 0);
	ask_until_fresh(&f);
	ck_assert_uint_eq(sum_of(&f).n_xorbs, 1);
	ck_assert_uint_eq(sum_of(&f).n_files, 6);
}
END_TEST

START_TEST(a_failed_look_makes_them_stale)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	fx_sql(f.dir.path, "ALTER TABLE xorb RENAME TO away");
	ck_assert_int_ne(cairn_losses_search(f.cas, NULL, NULL), CAIRN_OK);
	ck_assert(sum_of(&f).is_stale && sum_of(&f).has_failed);
	fx_sql(f.dir.path, "ALTER TABLE away RENAME TO xorb");
	ask_until_fresh(&f);
	ck_assert(!sum_of(&f).has_failed);
}
END_TEST

/* Keeps the bytes elsewhere: they are not searched. */
static void keep_elsewhere(struct cairn_cas_options *options)
{
	options->xorbs_external = true;
}

START_TEST(external_xorbs_are_not_looked_for)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_fixture_reopen(&f, keep_elsewhere);
	ck_assert_int_eq(cairn_losses_search(f.cas, NULL, NULL), CAIRN_OK);
	ck_assert(!sum_of(&f).is_stale && !sum_of(&f).is_known);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("losses");
	TCase *tc = tcase_create("losses");
	tcase_add_test(tc, figures_are_stale_until_a_look_has_ended);
	tcase_add_test(tc, figures_are_stale_from_a_loss_to_the_next_look);
	tcase_add_test(tc, a_failed_look_makes_them_stale);
	tcase_add_test(tc, external_xorbs_are_not_looked_for);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
