#include "support/shard_fixture.h"

#include "support/tempdir.h"

#include <stdlib.h>

struct shard_fixture sx;

static struct tempdir folder;

static void set_up(void)
{
	folder = tempdir_new();
	sx = (struct shard_fixture){.ix = fx_open(folder.path), .a = fx_xorb_new(1, 20), .b = fx_xorb_new(2, 30)};
	fx_xorb_put(sx.ix, &sx.a);
	fx_xorb_put(sx.ix, &sx.b);
}

static void tear_down(void)
{
	fx_xorb_fini(&sx.a);
	fx_xorb_fini(&sx.b);
	cairn_index_free(sx.ix);
	tempdir_fini(&folder);
}

TCase *sx_tests(void)
{
	TCase *t = tcase_create("shard");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	return t;
}

int sx_run(int argc, char **argv, const char *suite_name, TCase *t)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create(suite_name);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int64_t sx_xorb_id(const struct fx_xorb *x)
{
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_xorb(sx.ix, &x->hash, &row), CAIRN_OK);
	return row.id;
}
