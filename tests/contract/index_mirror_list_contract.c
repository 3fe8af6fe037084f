/* Lists of mirrored repositories, and the operator's settings for each. */
#include "index/hub/mirror_files.h"
#include "index/hub/mirror_list.h"
#include "index/hub/mirror_state.h"
#include "support/index_mirrored_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

struct listed {
	struct cairn_index_mirrored all[8];
	unsigned n;
};

static void note_listed(void *ctx, const struct cairn_index_mirrored *mirrored)
{
	struct listed *l = ctx;
	ck_assert_uint_lt(l->n, 8);
	l->all[l->n++] = *mirrored;
}

/* Lists a page of mirrored repositories. @param[in,out] from  where this page begins; then where the next one does */
static struct listed listed(int64_t *from, bool ahead_only, uint32_t limit)
{
	struct listed l = {.n = 0};
	ck_assert_int_eq(cairn_index_each_mirrored(hx_index, *from, ahead_only, limit, note_listed, &l, from),
			 CAIRN_OK);
	return l;
}

START_TEST(mirrored_repositories_are_listed)
{
	struct cairn_index_mirrored one;
	const struct cairn_index_operation o = mx_absent("a", "text");
	int64_t first = mx_mirrored("model", &o, 1), own = hx_model("own"), from = 0;
	struct cairn_index_account far;
	ck_assert_int_eq(cairn_index_account(hx_index, "far", &far), CAIRN_OK);
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_DATASET,
					   .account = far.id,
					   .name = "words",
					   .first = HX_MESSAGE,
					   .operations = &o,
					   .n = 1};
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	ck_assert_uint_eq(listed(&from, false, 8).n, 0);
	const int64_t all[] = {first, own, add.id};
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(mx_set_state(all[i], CAIRN_INDEX_MIRROR_THERE, 7 + i), CAIRN_OK);
	struct listed page = listed(&from, false, 1);
	ck_assert(page.n == 1 && page.all[0].repo.id == first && from == first);
	page = listed(&from, false, 8);
	ck_assert(page.n == 1 && page.all[0].repo.id == add.id && from == 0);
	ck_assert_str_eq(page.all[0].repo.account_name, "Far");
	ck_assert_str_eq(page.all[0].repo.name, "words");
	ck_assert(page.all[0].looked_unix_s == 9 && page.all[0].repo.is_mirrored && page.all[0].repo.n_files == 1);
	ck_assert_uint_gt(page.all[0].stored_bytes, 0);
	ck_assert_int_eq(cairn_index_mirrored(hx_index, first, &one), CAIRN_OK);
	ck_assert(one.looked_unix_s == 7 && one.ahead.every_s == 0 && !one.ahead.keeps && !one.ahead.include[0]);
	ck_assert_int_eq(cairn_index_mirrored(hx_index, own, &one), CAIRN_E_NOT_FOUND);
	struct cairn_index_drop_repo drop = {.id = first};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_int_eq(cairn_index_mirrored(hx_index, first, &one), CAIRN_E_NOT_FOUND);
	from = 0;
	ck_assert_uint_eq(listed(&from, false, 8).n, 1);
}
END_TEST

static struct listed top(enum cairn_index_top order, uint32_t limit)
{
	struct listed l = {.n = 0};
	ck_assert_int_eq(cairn_index_each_top(hx_index, order, limit, note_listed, &l), CAIRN_OK);
	return l;
}

START_TEST(the_largest_and_the_oldest_are_found)
{
	const struct cairn_index_operation o = mx_absent("a", "text");
	int64_t large = mx_mirrored_with_files(), none_here = mx_mirrored_too("words", &o, 1), own = hx_model("own");
	int64_t one = mx_entry(large, "one").content, two = mx_entry(large, "two").content;
	const int64_t all[] = {large, none_here, own};
	ck_assert_uint_eq(top(CAIRN_INDEX_TOP_LARGEST, 8).n, 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(mx_set_state(all[i], CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	struct listed best = top(CAIRN_INDEX_TOP_LARGEST, 8);
	ck_assert(best.n == 2 && best.all[0].repo.id == large && best.all[1].repo.id == none_here);
	ck_assert_uint_gt(best.all[0].stored_bytes, best.all[1].stored_bytes);
	ck_assert_uint_eq(top(CAIRN_INDEX_TOP_LARGEST, 1).n, 1);
	ck_assert_uint_eq(top(CAIRN_INDEX_TOP_OLDEST, 8).n, 0); /* no file was read since the state was set */
	mx_use(one, 40000);
	mx_use(two, 40002);
	mx_use(two, 40001);
	best = top(CAIRN_INDEX_TOP_OLDEST, 8);
	ck_assert(best.n == 1 && best.all[0].repo.id == large && best.all[0].used_day == 40002);
	struct cairn_index_forget_file forget = {.hash = mx_entry(large, "two").file, .owner = hx_owner_of(large)};
	struct cairn_index_forget_use drop = {.content = two};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &forget), CAIRN_OK);
	ck_assert_int_eq(cairn_index_forget_use(hx_index, &drop), CAIRN_OK);
	ck_assert_int_eq(top(CAIRN_INDEX_TOP_OLDEST, 8).all[0].used_day, 40000);
	forget.hash = mx_entry(large, "one").file;
	drop.content = one;
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &forget), CAIRN_OK);
	ck_assert_int_eq(cairn_index_forget_use(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(top(CAIRN_INDEX_TOP_OLDEST, 8).n, 0);
	struct cairn_index_drop_repo gone = {.id = large};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &gone), CAIRN_OK);
	best = top(CAIRN_INDEX_TOP_LARGEST, 8);
	ck_assert(best.n == 1 && best.all[0].repo.id == none_here);
}
END_TEST

START_TEST(the_oldest_come_in_the_order_of_their_days)
{
	const struct cairn_index_operation text = mx_absent("text", "text");
	int64_t first = mx_mirrored_with_files(), second = mx_mirrored_too("words", &text, 1);
	ck_assert_int_eq(mx_set_state(first, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	ck_assert_int_eq(mx_set_state(second, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	mx_add_file(second, "three", 9);
	mx_use(mx_entry(first, "one").content, 40002);
	struct listed best = top(CAIRN_INDEX_TOP_OLDEST, 8);
	ck_assert(best.n == 2 && best.all[0].repo.id == second && best.all[1].repo.id == first);
	mx_use(mx_entry(second, "three").content, 40003);
	best = top(CAIRN_INDEX_TOP_OLDEST, 1);
	ck_assert(best.n == 1 && best.all[0].repo.id == first);
}
END_TEST

static struct cairn_index_mirrored one_of(int64_t repo)
{
	struct cairn_index_mirrored one;
	ck_assert_int_eq(cairn_index_mirrored(hx_index, repo, &one), CAIRN_OK);
	return one;
}

/* Notes the end of a round. @return whether the note counts */
static bool note_ahead(const struct cairn_index_mirrored *of, int64_t at_unix_s, uint64_t n_failed, const char *rule)
{
	struct cairn_index_note_ahead note = {
		.repo = of->repo.id, .now = {.asked = of->fetched.asked, .at_unix_s = at_unix_s, .n_failed = n_failed}};
	(void)snprintf(note.now.rule, sizeof(note.now.rule), "%s", rule);
	(void)snprintf(note.now.message, sizeof(note.now.message), "%s", rule[0] ? "f\xc3\xbcr" : "");
	ck_assert_int_eq(cairn_index_note_ahead(hx_index, &note), CAIRN_OK);
	return note.is_current;
}

START_TEST(it_is_kept_what_is_fetched_ahead)
{
	static const char INCLUDE[] = "*.json\n@x";
	const struct cairn_index_operation o = mx_absent("a", "text");
	int64_t repo = mx_mirrored("model", &o, 1), from = 0;
	ck_assert_int_eq(mx_set_ahead(repo, 60, true, ""), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(mx_set_state(repo, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	ck_assert_uint_eq(listed(&from, true, 8).n, 0);
	ck_assert_int_eq(mx_set_ahead(repo, CAIRN_INDEX_AHEAD_ONCE_S, true, INCLUDE), CAIRN_OK);
	ck_assert_int_eq(mx_set_state(repo, CAIRN_INDEX_MIRROR_GONE, 8), CAIRN_OK);
	struct cairn_index_mirrored one = listed(&from, true, 8).all[0];
	ck_assert(one.repo.id == repo && one.ahead.keeps && one.ahead.every_s == CAIRN_INDEX_AHEAD_ONCE_S);
	ck_assert_str_eq(one.ahead.include, INCLUDE);
	ck_assert(note_ahead(&one, 77, 0, ""));
	one = one_of(repo);
	ck_assert(one.ahead.every_s == 0 && one.ahead.keeps && one.fetched.at_unix_s == 77);
	ck_assert_uint_eq(listed(&from, true, 8).n, 0);
	ck_assert_int_eq(mx_set_ahead(repo, 60, false, INCLUDE), CAIRN_OK);
	ck_assert_int_eq(one_of(repo).fetched.at_unix_s, 0);
	ck_assert(!note_ahead(&one, 78, 0, "")); /* it was set again since */
	ck_assert_int_eq(one_of(repo).fetched.at_unix_s, 0);
	one = one_of(repo);
	ck_assert(note_ahead(&one, 79, 0, ""));
	ck_assert(one_of(repo).ahead.every_s == 60 && one_of(repo).fetched.at_unix_s == 79);
	ck_assert_uint_eq(listed(&from, true, 8).n, 1); /* it is fetched again and again */
}
END_TEST

START_TEST(it_is_noted_how_fetching_ahead_has_come)
{
	const struct cairn_index_operation o = mx_absent("a", "text");
	int64_t repo = mx_mirrored("model", &o, 1);
	ck_assert_int_eq(mx_set_state(repo, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	ck_assert_int_eq(mx_set_ahead(repo, CAIRN_INDEX_AHEAD_ONCE_S, false, ""), CAIRN_OK);
	struct cairn_index_mirrored one = one_of(repo);
	ck_assert(!one.fetched.is_going && one.fetched.n_failed == 0 && !one.fetched.rule[0]);
	struct cairn_index_note_ahead begin = {.repo = repo, .now = {.asked = one.fetched.asked, .is_going = true}};
	ck_assert_int_eq(cairn_index_note_ahead(hx_index, &begin), CAIRN_OK);
	ck_assert(begin.is_current && one_of(repo).fetched.is_going);
	ck_assert(note_ahead(&one, 0, 3, "mirror.unreachable")); /* it is tried again */
	one = one_of(repo);
	ck_assert(!one.fetched.is_going && one.fetched.n_failed == 3 && one.fetched.at_unix_s == 0);
	ck_assert_str_eq(one.fetched.rule, "mirror.unreachable");
	ck_assert_str_eq(one.fetched.message, "f\xc3\xbcr");
	ck_assert_int_eq(one.ahead.every_s, CAIRN_INDEX_AHEAD_ONCE_S);
	ck_assert_int_eq(mx_set_ahead(repo, 60, false, ""), CAIRN_OK);
	ck_assert(one_of(repo).fetched.n_failed == 0 && !one_of(repo).fetched.rule[0]);
	ck_assert_int_gt(one_of(repo).fetched.asked, one.fetched.asked);
	struct cairn_index_drop_repo drop = {.id = repo};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	begin.repo = repo + 1000;
	ck_assert_int_eq(cairn_index_note_ahead(hx_index, &begin), CAIRN_OK);
	ck_assert(!begin.is_current);
}
END_TEST

START_TEST(only_so_many_repositories_are_fetched_ahead)
{
	const struct cairn_index_operation o = mx_absent("a", "text");
	int64_t first = mx_mirrored("model", &o, 1), second = mx_mirrored_too("words", &o, 1);
	struct cairn_index_set_ahead set = {.repo = second, .ahead.every_s = 60, .n_max = 1};
	ck_assert_int_eq(mx_set_state(first, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	ck_assert_int_eq(mx_set_state(second, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	ck_assert_int_eq(mx_set_ahead(first, 60, false, ""), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_ahead(hx_index, &set), CAIRN_E_CONFLICT);
	ck_assert_str_eq(set.write.diag.rule, "mirror.ahead");
	ck_assert_int_eq(one_of(second).ahead.every_s, 0);
	set = (struct cairn_index_set_ahead){.repo = first, .ahead.every_s = 90, .n_max = 1};
	ck_assert_int_eq(cairn_index_set_ahead(hx_index, &set), CAIRN_OK);
	struct cairn_index_drop_repo drop = {.id = first};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	set = (struct cairn_index_set_ahead){.repo = second, .ahead.every_s = 60, .n_max = 1};
	ck_assert_int_eq(cairn_index_set_ahead(hx_index, &set), CAIRN_OK);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_mirror_list_contract");
	TCase *t = tcase_create("lists");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, mirrored_repositories_are_listed);
	tcase_add_test(t, the_largest_and_the_oldest_are_found);
	tcase_add_test(t, the_oldest_come_in_the_order_of_their_days);
	tcase_add_test(t, it_is_kept_what_is_fetched_ahead);
	tcase_add_test(t, it_is_noted_how_fetching_ahead_has_come);
	tcase_add_test(t, only_so_many_repositories_are_fetched_ahead);
	suite_add_tcase(s, t);
	return run_suite(s);
}
