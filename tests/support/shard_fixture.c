#include "support/shard_fixture.h"
#include "support/run.h"

TCase *sx_tests(void)
{
	TCase *t = tcase_create("shard");
	tcase_add_checked_fixture(t, fx_set_up_two, fx_tear_down);
	return t;
}

int sx_run(int argc, char **argv, const char *suite_name, TCase *t)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create(suite_name);
	suite_add_tcase(s, t);
	return run_suite(s);
}

int64_t sx_xorb_id(const struct fx_xorb *x)
{
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_xorb(fx_index, &x->hash, &row), CAIRN_OK);
	return row.id;
}
