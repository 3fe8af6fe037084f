/* The order in which files of mirrored repositories are evicted. */
#include "mirror/evict.h"
#include "support/run.h"

#include <check.h>

static struct cairn_index_evictable file(int64_t content, int64_t day, uint64_t size_bytes)
{
	return (struct cairn_index_evictable){.content = content, .repo = 1, .day = day, .size_bytes = size_bytes};
}

START_TEST(the_least_recently_read_goes_first_and_of_one_day_the_largest)
{
	struct cairn_index_evictable files[] = {file(1, 9, 100), file(2, 8, 1), file(3, 8, 50), file(4, 8, 50)};
	const int64_t order[] = {3, 4, 2, 1};
	ck_assert_uint_eq(cairn_mirror_evict_choose(files, 4, 1000), 4);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_int_eq(files[i].content, order[i]);
}
END_TEST

START_TEST(no_more_files_are_chosen_than_needed)
{
	struct cairn_index_evictable files[] = {file(1, 9, 100), file(2, 8, 1), file(3, 8, 50)};
	ck_assert_uint_eq(cairn_mirror_evict_choose(files, 3, 0), 0);
	ck_assert_uint_eq(cairn_mirror_evict_choose(files, 3, 1), 1);
	ck_assert_uint_eq(cairn_mirror_evict_choose(files, 3, 50), 1);
	ck_assert_uint_eq(cairn_mirror_evict_choose(files, 3, 51), 2);
	ck_assert_uint_eq(cairn_mirror_evict_choose(files, 3, 52), 3);
	ck_assert_uint_eq(cairn_mirror_evict_choose(NULL, 0, 52), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mirror_evict");
	TCase *t = tcase_create("choice");
	tcase_add_test(t, the_least_recently_read_goes_first_and_of_one_day_the_largest);
	tcase_add_test(t, no_more_files_are_chosen_than_needed);
	suite_add_tcase(s, t);
	return run_suite(s);
}
