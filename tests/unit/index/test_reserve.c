#include "index/sqlite/reserve.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <sys/stat.h>
#include <unistd.h>

static struct stat reserve_of(const struct tempdir *dir)
{
	CLEANUP(tempdir_textp) char *path = tempdir_path(dir, "index.reserve");
	struct stat st;
	ck_assert_int_eq(stat(path, &st), 0);
	return st;
}

START_TEST(space_is_taken_once)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_reserve_close) struct cairn_reserve r;
	cairn_reserve_open(&r, dir.path);
	ck_assert(r.held);
	struct stat st = reserve_of(&dir);
	ck_assert_uint_eq((uint64_t)st.st_size, r.bytes);
	ck_assert_uint_ge((uint64_t)st.st_blocks * 512, r.bytes);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_uint_ge(r.bytes, CAIRN_RESERVE_BYTES_MIN);
	ck_assert_uint_le(r.bytes, CAIRN_RESERVE_BYTES_MAX);
	cairn_reserve_close(&r);
	cairn_reserve_open(&r, dir.path);
	ck_assert(r.held);
}
END_TEST

START_TEST(space_is_given_back_and_taken_again)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_reserve_close) struct cairn_reserve r;
	cairn_reserve_open(&r, dir.path);
	ck_assert(cairn_reserve_release(&r));
	ck_assert_int_eq(reserve_of(&dir).st_blocks, 0);
	ck_assert(!cairn_reserve_release(&r));
	cairn_reserve_take(&r, false);
	ck_assert(r.held);
	ck_assert_uint_ge((uint64_t)reserve_of(&dir).st_blocks * 512, r.bytes);
	ck_assert(cairn_reserve_release(&r));
	cairn_reserve_take(&r, true);
	ck_assert(r.held);
}
END_TEST

/* A reserve that a kill left incomplete is completed. */
START_TEST(an_incomplete_reserve_is_completed)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "index.reserve");
	CLEANUP(cairn_reserve_close) struct cairn_reserve r;
	cairn_reserve_open(&r, dir.path);
	ck_assert_int_eq(truncate(path, 4096), 0);
	cairn_reserve_close(&r);
	cairn_reserve_open(&r, dir.path);
	ck_assert(r.held);
	ck_assert_uint_ge((uint64_t)reserve_of(&dir).st_blocks * 512, r.bytes);
}
END_TEST

START_TEST(without_a_folder_there_is_none)
{
	struct cairn_reserve r;
	cairn_reserve_open(&r, "/proc/none");
	ck_assert(!r.held);
	ck_assert(!cairn_reserve_release(&r));
	cairn_reserve_take(&r, true);
	ck_assert(!r.held);
	cairn_reserve_close(&r);
}
END_TEST

static Suite *reserve_suite(void)
{
	Suite *s = suite_create("reserve");
	TCase *t = tcase_create("reserve");
	tcase_add_test(t, space_is_taken_once);
	tcase_add_test(t, space_is_given_back_and_taken_again);
	tcase_add_test(t, an_incomplete_reserve_is_completed);
	tcase_add_test(t, without_a_folder_there_is_none);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(reserve_suite());
}
