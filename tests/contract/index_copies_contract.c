/* The copy of an object that a row names, and the dead copies that must go. For engines whose rows name copies. */
#include "support/index_fixture.h"
#include "support/run.h"
#include "support/tempdir.h"

#include "base/clock.h"

#include <check.h>
#include <stdlib.h>

static struct tempdir folder;
static struct cairn_index *ix;
static struct fx_xorb x;
static struct cairn_copy_id ONE, TWO;

/* Returns the id of a copy that was made `age_s` seconds ago. */
static struct cairn_copy_id copy_of(int64_t age_s, uint8_t last)
{
	struct cairn_copy_id copy = {0};
	cairn_copy_id_set_unix_ms(&copy, (cairn_clock_unix_s() - age_s) * 1000);
	copy.b[sizeof(copy.b) - 1] = last;
	return copy;
}

static void set_up(void)
{
	folder = tempdir_new();
	ix = fx_open(folder.path);
	x = fx_xorb_new(1, 5);
	ONE = copy_of(0, 1);
	TWO = copy_of(0, 2);
}

static void tear_down(void)
{
	fx_xorb_fini(&x);
	cairn_index_free(ix);
	tempdir_fini(&folder);
}

static enum cairn_status put_copy(const struct cairn_copy_id *copy, bool *added)
{
	struct cairn_index_put_xorb put = {.hash = x.hash, .list = &x.list, .stored_bytes = 2500, .copy = *copy};
	enum cairn_status status = cairn_index_put_xorb(ix, &put);
	*added = status == CAIRN_OK && put.added;
	return status;
}

static enum cairn_status lose_copy(const struct cairn_copy_id *copy)
{
	struct cairn_index_lose_xorb lose = {.hash = x.hash, .copy = *copy};
	return cairn_index_lose_xorb(ix, &lose);
}

static void assert_names(const struct cairn_copy_id *copy)
{
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_xorb(ix, &x.hash, &row), CAIRN_OK);
	ck_assert(cairn_copy_id_equal(&row.copy, copy));
}

struct dead {
	uint32_t n;
	struct cairn_copy_id last;
};

static void note_dead(void *ctx, const struct cairn_hash *hash, const struct cairn_copy_id *copy)
{
	struct dead *dead = ctx;
	ck_assert(cairn_hash_equal(hash, &x.hash));
	dead->n++;
	dead->last = *copy;
}

/* Finds the dead copies after this id, at most n_max. */
static struct dead find_dead(const struct cairn_copy_id *after, uint32_t n_max)
{
	static struct cairn_index_copy found[CAIRN_INDEX_SWEEP_MAX];
	struct dead dead = {0};
	struct cairn_index_find_dead find = {.after = *after, .found = found, .n_max = n_max};
	ck_assert_int_eq(cairn_index_find_dead(ix, &find), CAIRN_OK);
	for (uint32_t i = 0; i < find.n; i++)
		note_dead(&dead, &found[i].hash, &found[i].copy);
	return dead;
}

/* Checks that this copy is the only dead one. @param copy  NULL: there must be none */
static void assert_dead(const struct cairn_copy_id *copy)
{
	uint64_t n;
	struct dead dead = find_dead(&(struct cairn_copy_id){0}, CAIRN_INDEX_SWEEP_MAX);
	ck_assert_uint_eq(dead.n, copy != NULL);
	ck_assert(!copy || cairn_copy_id_equal(&dead.last, copy));
	ck_assert_int_eq(cairn_index_count_dead(ix, &n), CAIRN_OK);
	ck_assert_uint_eq(n, copy != NULL);
}

static void bury(const struct cairn_copy_id *copy)
{
	struct cairn_index_bury request = {.copies = copy, .n = 1};
	ck_assert_int_eq(cairn_index_bury(ix, &request), CAIRN_OK);
}

/* When two copies are put at the same time, the row names the one that was registered first. The other one is dead
 * forever. */
START_TEST(one_of_two_copies_counts)
{
	bool added;
	ck_assert(cairn_index_names_copies(ix));
	ck_assert_int_eq(put_copy(&ONE, &added), CAIRN_OK);
	ck_assert(added);
	ck_assert_int_eq(put_copy(&ONE, &added), CAIRN_OK);
	assert_dead(NULL);
	ck_assert_int_eq(put_copy(&TWO, &added), CAIRN_OK);
	ck_assert(!added);
	assert_names(&ONE);
	assert_dead(&TWO);
	bury(&TWO);
	assert_dead(NULL);
	ck_assert_int_eq(lose_copy(&ONE), CAIRN_OK);
	assert_names(&(struct cairn_copy_id){0});
	ck_assert_int_eq(put_copy(&TWO, &added), CAIRN_E_BUSY);
	assert_names(&(struct cairn_copy_id){0});
}
END_TEST

/* A check of an old copy does not mark a newer copy as lost. */
START_TEST(another_copy_is_not_lost)
{
	bool added;
	ck_assert_int_eq(put_copy(&ONE, &added), CAIRN_OK);
	ck_assert_int_eq(lose_copy(&TWO), CAIRN_E_BUSY);
	ck_assert_int_eq(lose_copy(&(struct cairn_copy_id){0}), CAIRN_E_BUSY);
	assert_names(&ONE);
	ck_assert_int_eq(lose_copy(&ONE), CAIRN_OK);
	ck_assert_int_eq(put_copy(&TWO, &added), CAIRN_OK);
	ck_assert(added);
	assert_names(&TWO);
	ck_assert_int_eq(lose_copy(&ONE), CAIRN_E_BUSY);
	assert_names(&TWO);
	assert_dead(NULL);
}
END_TEST

/* Sweeping a row also marks its copy as dead, in the same transaction. No row names that copy again. */
START_TEST(a_swept_copy_is_dead)
{
	bool added;
	struct cairn_hash swept[CAIRN_INDEX_SWEEP_MAX];
	int64_t now_unix_s = cairn_clock_unix_s();
	struct cairn_index_gc_mark mark = {.now_unix_s = now_unix_s + 10, .grace_s = 1};
	struct cairn_index_gc_sweep sweep = {
		.now_unix_s = now_unix_s + 20, .grace_s = 1, .swept = swept, .n_max = CAIRN_INDEX_SWEEP_MAX};
	ck_assert_int_eq(put_copy(&ONE, &added), CAIRN_OK);
	ck_assert_int_eq(cairn_index_gc_mark(ix, &mark), CAIRN_OK);
	ck_assert_int_eq(cairn_index_gc_sweep(ix, &sweep), CAIRN_OK);
	ck_assert_uint_eq(sweep.n, 1);
	assert_dead(&ONE);
	ck_assert_int_eq(put_copy(&ONE, &added), CAIRN_E_BUSY);
	ck_assert_int_eq(put_copy(&TWO, &added), CAIRN_OK);
	ck_assert(added);
	assert_names(&TWO);
}
END_TEST

/* How many of these copies does no row name? */
static uint32_t n_unnamed(const struct cairn_index_copy *copies, uint32_t n)
{
	struct dead unnamed = {0};
	ck_assert_int_eq(cairn_index_each_unnamed(ix, copies, n, note_dead, &unnamed), CAIRN_OK);
	return unnamed.n;
}

static uint32_t write_off(const struct cairn_index_copy *copies, uint32_t n)
{
	struct cairn_index_write_off off = {.copies = copies, .n = n};
	ck_assert_int_eq(cairn_index_write_off(ix, &off), CAIRN_OK);
	return off.n_dead;
}

/* Writing off a copy notices a row that was added since the copy was found. A written-off copy is dead forever. */
START_TEST(a_left_over_is_written_off)
{
	bool added;
	const struct cairn_index_copy copies[] = {{x.hash, ONE}, {x.hash, TWO}};
	ck_assert_uint_eq(n_unnamed(copies, 0), 0);
	ck_assert_uint_eq(n_unnamed(copies, 2), 2);
	ck_assert_int_eq(put_copy(&ONE, &added), CAIRN_OK);
	ck_assert_uint_eq(write_off(copies, 2), 1);
	assert_names(&ONE);
	assert_dead(&TWO);
	ck_assert_uint_eq(n_unnamed(copies, 2), 0);
	ck_assert_uint_eq(write_off(copies, 2), 0);
	ck_assert_int_eq(lose_copy(&ONE), CAIRN_OK);
	ck_assert_int_eq(put_copy(&TWO, &added), CAIRN_E_BUSY);
	ck_assert_uint_eq(write_off(copies, 0), 0);
}
END_TEST

/* A lost xorb keeps its copies until it is stored again, because some of their bytes may be needed. */
START_TEST(a_lost_xorb_keeps_its_bytes)
{
	bool added;
	struct cairn_copy_id again = copy_of(0, 3);
	const struct cairn_index_copy copies[] = {{x.hash, ONE}, {x.hash, TWO}};
	ck_assert_int_eq(put_copy(&ONE, &added), CAIRN_OK);
	ck_assert_int_eq(lose_copy(&ONE), CAIRN_OK);
	ck_assert_uint_eq(n_unnamed(copies, 2), 0);
	ck_assert_uint_eq(write_off(copies, 2), 0);
	ck_assert_int_eq(put_copy(&again, &added), CAIRN_OK);
	ck_assert_uint_eq(n_unnamed(copies, 2), 2);
	ck_assert_uint_eq(write_off(copies, 2), 2);
	assert_names(&again);
}
END_TEST

/* An abandoned PUT may take effect after its copy is buried. Its object is then found and removed again. */
START_TEST(an_object_arrives_after_its_copy_was_buried)
{
	const struct cairn_index_copy copies[] = {{x.hash, ONE}};
	ck_assert_uint_eq(write_off(copies, 1), 1);
	assert_dead(&ONE);
	bury(&ONE);
	assert_dead(NULL);
	ck_assert_uint_eq(n_unnamed(copies, 1), 1);
	ck_assert_uint_eq(write_off(copies, 1), 1);
	assert_dead(&ONE);
}
END_TEST

/* Dead copies are found in the order of their names. A caller that cannot remove the first can continue after it. */
START_TEST(dead_copies_are_found_in_order)
{
	const struct cairn_index_copy copies[] = {{x.hash, TWO}, {x.hash, ONE}};
	ck_assert_uint_eq(write_off(copies, 2), 2);
	struct dead dead = find_dead(&(struct cairn_copy_id){0}, 1);
	ck_assert_uint_eq(dead.n, 1);
	ck_assert(cairn_copy_id_equal(&dead.last, &ONE));
	dead = find_dead(&ONE, CAIRN_INDEX_SWEEP_MAX);
	ck_assert_uint_eq(dead.n, 1);
	ck_assert(cairn_copy_id_equal(&dead.last, &TWO));
	ck_assert_uint_eq(find_dead(&TWO, CAIRN_INDEX_SWEEP_MAX).n, 0);
}
END_TEST

/* The index forgets a dead copy a week after its object was removed. A writer that slept that long has lost the
 * right to name the copy long before. */
START_TEST(a_copy_named_late_is_refused)
{
	bool added;
	enum { LATE_S = CAIRN_INDEX_COPY_LIFE_S + 60, SOON_S = CAIRN_INDEX_COPY_LIFE_S - 60 };
	struct cairn_copy_id late = copy_of(LATE_S, 1), ahead = copy_of(-LATE_S, 1), in_time = copy_of(SOON_S, 1);
	const struct cairn_index_copy copies[] = {{x.hash, late}};
	ck_assert_uint_eq(write_off(copies, 1), 1);
	bury(&late);
	struct cairn_index_put_xorb put = {.hash = x.hash, .list = &x.list, .stored_bytes = 2500, .copy = late};
	ck_assert_int_eq(cairn_index_put_xorb(ix, &put), CAIRN_E_BUSY);
	ck_assert_str_eq(put.write.diag.rule, "xorb.replaced");
	put.copy = ahead;
	ck_assert_int_eq(cairn_index_put_xorb(ix, &put), CAIRN_E_BUSY);
	ck_assert_str_eq(put.write.diag.rule, "xorb.late");
	put.copy = copy_of(LATE_S, 2);
	ck_assert_int_eq(cairn_index_put_xorb(ix, &put), CAIRN_E_BUSY);
	ck_assert_str_eq(put.write.diag.rule, "xorb.late");
	ck_assert_int_eq(put_copy(&in_time, &added), CAIRN_OK);
	assert_names(&in_time);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_copies_contract");
	TCase *t = tcase_create("copies");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, one_of_two_copies_counts);
	tcase_add_test(t, another_copy_is_not_lost);
	tcase_add_test(t, a_swept_copy_is_dead);
	tcase_add_test(t, a_left_over_is_written_off);
	tcase_add_test(t, dead_copies_are_found_in_order);
	tcase_add_test(t, a_lost_xorb_keeps_its_bytes);
	tcase_add_test(t, an_object_arrives_after_its_copy_was_buried);
	tcase_add_test(t, a_copy_named_late_is_refused);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
