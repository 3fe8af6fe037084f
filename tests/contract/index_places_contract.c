/* Places of chunks: where a xorb of the mirrored hub lies in files that are here. */
#include "index/hub/mirror_place.h"
#include "index/operate.h"
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include <check.h>
#include <string.h>

static struct cairn_hash xorb_of(uint8_t number)
{
	struct cairn_hash xorb;
	memset(xorb.b, number, sizeof(xorb.b));
	return xorb;
}

/* Uploads a file. @return its hash */
static struct cairn_hash uploaded(uint64_t number, int64_t repo)
{
	struct cairn_index_file file;
	hx_uploaded(number, hx_owner_of(repo));
	ck_assert_int_eq(
		cairn_index_file_by_sha256(hx_index, hx_put_file("x", number).sha256, hx_owner_of(repo), &file),
		CAIRN_OK);
	return file.hash;
}

static void keep(const struct cairn_hash *file, int64_t repo, const struct cairn_index_chunk_place *all, uint32_t n)
{
	struct cairn_index_keep_places request = {.file = *file, .repo = repo, .all = all, .n = n};
	ck_assert_int_eq(cairn_index_keep_places(hx_index, &request), CAIRN_OK);
}

static struct cairn_index_chunk_place found[CAIRN_INDEX_PLACES_FOUND];

static uint32_t find_places(uint8_t number, int64_t repo)
{
	const struct cairn_hash xorb = xorb_of(number);
	uint32_t n;
	ck_assert_int_eq(cairn_index_find_places(hx_index, &xorb, repo, found, &n), CAIRN_OK);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_mem_eq(found[i].xorb.b, xorb.b, sizeof(xorb.b));
	return n;
}

START_TEST(places_are_found_by_their_xorb)
{
	struct cairn_hash file = uploaded(7, hx_model("one")), none = xorb_of(9);
	const struct cairn_index_chunk_place three[] = {
		{.xorb = xorb_of(1), .first = 0, .past = 8192, .at = 0},
		{.xorb = xorb_of(2), .first = 5, .past = 9, .at = UINT64_C(1) << 40},
		{.xorb = xorb_of(1), .first = 3, .past = 4, .at = 77},
	};
	ck_assert_int_eq(cairn_index_any_place(hx_index, 0), CAIRN_E_NOT_FOUND);
	keep(&none, 0, three, 3);
	keep(&file, 0, three, 0);
	ck_assert_int_eq(cairn_index_any_place(hx_index, 0), CAIRN_E_NOT_FOUND);
	keep(&file, 0, three, 3);
	keep(&file, 0, three, 3);
	ck_assert_int_eq(cairn_index_any_place(hx_index, 0), CAIRN_OK);
	ck_assert_uint_eq(find_places(1, 0), 2);
	ck_assert_uint_eq(find_places(3, 0), 0);
	ck_assert_uint_eq(find_places(2, 0), 1);
	ck_assert_mem_eq(found[0].file.b, file.b, sizeof(file.b));
	ck_assert_uint_eq(found[0].first, 5);
	ck_assert_uint_eq(found[0].past, 9);
	ck_assert_uint_eq(found[0].at, UINT64_C(1) << 40);
}
END_TEST

START_TEST(places_are_for_all_or_for_one_repository)
{
	struct cairn_hash file = uploaded(7, hx_model("one"));
	const struct cairn_index_chunk_place one = {.xorb = xorb_of(1), .first = 0, .past = 3};
	keep(&file, 12, &one, 1);
	ck_assert_uint_eq(find_places(1, 0), 0);
	ck_assert_uint_eq(find_places(1, 13), 0);
	ck_assert_uint_eq(find_places(1, 12), 1);
	ck_assert_int_eq(cairn_index_any_place(hx_index, 0), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_any_place(hx_index, 12), CAIRN_OK);
}
END_TEST

static void set_access(int64_t repo, bool is_private, enum cairn_index_gate gate)
{
	struct cairn_index_set_repo set = {.id = repo, .is_private = is_private, .gate = gate};
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &set), CAIRN_OK);
}

START_TEST(places_are_for_all_while_a_public_repository_owns_the_file)
{
	int64_t repo = hx_model("one"), other;
	struct cairn_hash file = uploaded(7, repo);
	const struct cairn_index_chunk_place one = {.xorb = xorb_of(1), .first = 0, .past = 3};
	keep(&file, 0, &one, 1);
	keep(&file, repo, &one, 1);
	ck_assert_uint_eq(find_places(1, 0), 1);
	set_access(repo, false, CAIRN_INDEX_GATE_MANUAL);
	ck_assert_uint_eq(find_places(1, 0), 0);
	ck_assert_int_eq(cairn_index_any_place(hx_index, 0), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(find_places(1, repo), 1);
	ck_assert_int_eq(cairn_index_any_place(hx_index, repo), CAIRN_OK);
	set_access(repo, true, CAIRN_INDEX_GATE_NONE);
	ck_assert_uint_eq(find_places(1, 0), 0);
	other = hx_model("other");
	(void)uploaded(7, other);
	ck_assert_uint_eq(find_places(1, 0), 1);
	struct cairn_index_drop_repo drop = {.id = other};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(find_places(1, 0), 0);
	set_access(repo, false, CAIRN_INDEX_GATE_NONE);
	ck_assert_uint_eq(find_places(1, 0), 1);
	ck_assert_int_eq(cairn_index_any_place(hx_index, 0), CAIRN_OK);
}
END_TEST

START_TEST(places_of_the_newest_files_are_found)
{
	int64_t repo = hx_model("one");
	static struct cairn_index_chunk_place many[CAIRN_INDEX_PLACES_MAX];
	struct cairn_hash old = uploaded(7, repo), young = uploaded(8, repo);
	for (uint32_t i = 0; i < CAIRN_INDEX_PLACES_MAX; i++)
		many[i] = (struct cairn_index_chunk_place){.xorb = xorb_of(1), .first = 2 * i, .past = 2 * i + 1};
	keep(&old, 0, many, CAIRN_INDEX_PLACES_MAX);
	ck_assert_uint_eq(find_places(1, 0), CAIRN_INDEX_PLACES_FOUND);
	keep(&young, 0, many, 3);
	ck_assert_uint_eq(find_places(1, 0), CAIRN_INDEX_PLACES_FOUND);
	for (int i = 0; i < 3; i++)
		ck_assert_mem_eq(found[i].file.b, young.b, sizeof(young.b));
	ck_assert_mem_eq(found[3].file.b, old.b, sizeof(old.b));
}
END_TEST

START_TEST(places_go_when_they_are_dropped_and_with_their_file)
{
	int64_t repo = hx_model("one");
	struct cairn_hash first = uploaded(7, repo), second = uploaded(8, repo);
	const struct cairn_index_chunk_place one = {.xorb = xorb_of(1), .first = 0, .past = 3};
	keep(&first, 0, &one, 1);
	keep(&second, 0, &one, 1);
	ck_assert_uint_eq(find_places(1, 0), 2);
	struct cairn_index_drop_places drop = {.file = first};
	ck_assert_int_eq(cairn_index_drop_places(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(find_places(1, 0), 1);
	ck_assert_mem_eq(found[0].file.b, second.b, sizeof(second.b));
	struct cairn_index_forget_file forget = {.hash = second};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &forget), CAIRN_OK);
	ck_assert_uint_eq(find_places(1, 0), 0);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_places_contract");
	TCase *t = tcase_create("places");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, places_are_found_by_their_xorb);
	tcase_add_test(t, places_are_for_all_or_for_one_repository);
	tcase_add_test(t, places_are_for_all_while_a_public_repository_owns_the_file);
	tcase_add_test(t, places_of_the_newest_files_are_found);
	tcase_add_test(t, places_go_when_they_are_dropped_and_with_their_file);
	suite_add_tcase(s, t);
	return run_suite(s);
}
