/* Calls of the index for a hub: names, lists and settings of repositories. */
#include "index/hub/card.h"
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take_name(void *ctx, const struct cairn_index_repo *repo)
{
	char *text = ctx;
	size_t at = strlen(text);
	(void)snprintf(text + at, HX_TEXT_MAX - at, "%s/%s ", repo->account_name, repo->name);
}

static const char *repos(struct cairn_index_repo_list list)
{
	static char text[HX_TEXT_MAX];
	bool more = true;
	text[0] = '\0';
	while (more)
		ck_assert_int_eq(cairn_index_list_repos(hx_index, &list, take_name, text, &more), CAIRN_OK);
	return text;
}

START_TEST(repositories_are_listed_in_any_order)
{
	int64_t team = hx_add_account(CAIRN_INDEX_ORGANISATION, "team");
	(void)hx_model("bb");
	(void)hx_model("aa");
	int64_t hidden = hx_model("Cc");
	struct cairn_index_set_repo hide = {.id = hidden, .is_private = true};
	struct cairn_index_move_repo move = {.id = hidden, .account = team, .name = "Cc"};
	struct cairn_index_set_member member = {.organisation = "team", .user = "Ann", .role = CAIRN_INDEX_ROLE_READ};
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &hide), CAIRN_OK);
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	struct cairn_index_repo_list by_name = {.sort = CAIRN_INDEX_BY_NAME, .ascending = true, .limit = 1};
	ck_assert_str_eq(repos(by_name), "Ann/aa Ann/bb ");
	by_name.all = true;
	ck_assert_str_eq(repos(by_name), "Ann/aa Ann/bb team/Cc ");
	by_name.all = false;
	by_name.reader = hx_ann;
	ck_assert_str_eq(repos(by_name), "Ann/aa Ann/bb ");
	ck_assert_int_eq(cairn_index_set_member(hx_index, &member), CAIRN_OK);
	ck_assert_str_eq(repos(by_name), "Ann/aa Ann/bb team/Cc ");
	by_name.ascending = false;
	ck_assert_str_eq(repos(by_name), "team/Cc Ann/bb Ann/aa ");
	struct cairn_index_repo_list list = {.all = true, .limit = 2};
	list.sort = CAIRN_INDEX_BY_CREATION;
	ck_assert_str_eq(repos(list), "team/Cc Ann/aa Ann/bb ");
	list.search = "M/c";
	ck_assert_str_eq(repos(list), "team/Cc ");
	list.search = "";
	list.account = hx_ann;
	ck_assert_str_eq(repos(list), "Ann/aa Ann/bb ");
	list.kind = CAIRN_INDEX_DATASET;
	ck_assert_str_eq(repos(list), "");
	list = (struct cairn_index_repo_list){.all = true, .limit = 1, .kind = CAIRN_INDEX_MODEL};
	ck_assert_str_eq(repos(list), "team/Cc Ann/aa Ann/bb ");
}
END_TEST

static void is_added(struct cairn_index_write *write)
{
	ck_assert_int_eq(write->status, CAIRN_OK);
}

/* Hidden repositories do not shorten a page. A viewer who sees them gets a page after a limited number of rows. */
START_TEST(a_page_skips_hidden_repositories)
{
	enum { HIDDEN = CAIRN_INDEX_REPOS_LOOKED_MAX + 1 };
	static struct cairn_index_add_repo add[HIDDEN];
	static char names[HIDDEN][16];
	char text[HX_TEXT_MAX] = "";
	bool more;
	(void)hx_model("shown");
	for (unsigned i = 0; i < HIDDEN; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "hidden%u", i);
		add[i] = (struct cairn_index_add_repo){.write = {.done = is_added},
						       .kind = CAIRN_INDEX_BUCKET,
						       .account = hx_ann,
						       .name = names[i],
						       .is_private = true};
		ck_assert_int_eq(cairn_index_add_repo(hx_index, &add[i]), CAIRN_OK);
	}
	ck_assert(cairn_index_flush(hx_index, 100000));
	for (int sort = CAIRN_INDEX_BY_UPDATE; sort <= CAIRN_INDEX_BY_NAME; sort++) {
		for (int account = 0; account < 2; account++) {
			struct cairn_index_repo_list list = {.search = "SHOWN",
							     .sort = (enum cairn_index_repo_sort)sort,
							     .ascending = sort == CAIRN_INDEX_BY_NAME,
							     .account = account ? hx_ann : 0,
							     .limit = 1000};
			struct cairn_index_repo_list all = list;
			text[0] = '\0';
			ck_assert_int_eq(cairn_index_list_repos(hx_index, &list, take_name, text, &more), CAIRN_OK);
			ck_assert_str_eq(text, "Ann/shown ");
			ck_assert(!more);
			all.all = true;
			text[0] = '\0';
			ck_assert_int_eq(cairn_index_list_repos(hx_index, &all, take_name, text, &more), CAIRN_OK);
			ck_assert_str_eq(text, "");
			ck_assert(more);
			ck_assert_int_eq(cairn_index_list_repos(hx_index, &all, take_name, text, &more), CAIRN_OK);
			ck_assert_str_eq(text, "Ann/shown ");
			ck_assert(!more);
			list.after_id = 0;
			list.reader = hx_ann;
			list.is_private = CAIRN_INDEX_WITHOUT;
			text[0] = '\0';
			ck_assert_int_eq(cairn_index_list_repos(hx_index, &list, take_name, text, &more), CAIRN_OK);
			ck_assert_str_eq(text, "Ann/shown ");
			ck_assert(!more);
		}
	}
}
END_TEST

/* Two clients each change one setting, and neither change reverts the other. */
START_TEST(a_change_keeps_the_other_settings)
{
	struct cairn_index_repo repo;
	int64_t one = hx_model("one");
	struct cairn_index_set_repo hide = {.id = one, .is_private = true, .keeps_gate = true};
	struct cairn_index_set_repo gate = {.id = one, .keeps_private = true, .gate = CAIRN_INDEX_GATE_AUTO};
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &hide), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &gate), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &hide), CAIRN_OK);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "one", &repo), CAIRN_OK);
	ck_assert(repo.is_private && repo.gate == CAIRN_INDEX_GATE_AUTO);
}
END_TEST

static int64_t guard_of(const char *name)
{
	struct cairn_index_repo repo;
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", name, &repo), CAIRN_OK);
	return repo.guard;
}

static enum cairn_status guard(int64_t repo, int64_t by)
{
	struct cairn_index_guard_repo request = {.id = repo, .guard = by};
	return cairn_index_guard_repo(hx_index, &request);
}

/* The first guard counts. Once there is a second one, only an operator decides about access. */
START_TEST(a_copy_of_restricted_files_keeps_its_first_guard)
{
	int64_t one = hx_model("one"), bob = hx_add_account(CAIRN_INDEX_USER, "bob");
	struct cairn_index_set_repo hide = {.id = one, .keeps_gate = true, .is_private = true};
	ck_assert_int_eq(guard(one, bob), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(guard_of("one"), 0);
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &hide), CAIRN_OK);
	for (int times = 0; times < 2; times++) {
		ck_assert_int_eq(guard(one, bob), CAIRN_OK);
		ck_assert_int_eq(guard_of("one"), bob);
	}
	ck_assert_int_eq(guard(one, hx_ann), CAIRN_OK);
	ck_assert_int_eq(guard_of("one"), CAIRN_INDEX_NO_ACCOUNT);
	ck_assert_int_eq(guard(one, bob), CAIRN_OK);
	ck_assert_int_eq(guard_of("one"), CAIRN_INDEX_NO_ACCOUNT);
	ck_assert_int_eq(guard(99, bob), CAIRN_E_NOT_FOUND);
}
END_TEST

/* A former name leads to the repository until another repository gets that name. */
START_TEST(found_by_a_name_from_before)
{
	int64_t one = hx_model("one"), other;
	struct cairn_index_repo repo;
	struct cairn_index_move_repo move = {.id = one, .account = hx_ann, .name = "two"};
	struct cairn_index_set_repo set = {.id = one, .gate = CAIRN_INDEX_GATE_MANUAL};
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &set), CAIRN_OK);
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "ONE", &repo), CAIRN_OK);
	ck_assert_int_eq(repo.id, one);
	ck_assert_str_eq(repo.name, "two");
	ck_assert_int_eq(repo.gate, CAIRN_INDEX_GATE_MANUAL);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_DATASET, "ann", "one", &repo), CAIRN_E_NOT_FOUND);
	other = hx_model("one");
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "one", &repo), CAIRN_OK);
	ck_assert_int_eq(repo.id, other);
	struct cairn_index_drop_repo drop_other = {.id = other}, drop_one = {.id = one};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop_other), CAIRN_OK);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "one", &repo), CAIRN_E_NOT_FOUND);
	move.name = "three";
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "two", &repo), CAIRN_OK);
	ck_assert_int_eq(repo.id, one);
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop_one), CAIRN_OK);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "two", &repo), CAIRN_E_NOT_FOUND);
}
END_TEST

static const struct cairn_index_card CARD = {.task = "fill-mask",
					     .library = "peft",
					     .tags = "[\"a\",\"B\"]",
					     .data = "{\"x\":1}",
					     .config = "",
					     .words = "[\"a\",\"b\",\"license:mit\",\"a\"]"};

static int64_t head_of(int64_t repo)
{
	return hx_head(repo, "main").id;
}

static bool set_card(int64_t repo, int64_t commit, uint8_t source, const struct cairn_index_card *card)
{
	struct cairn_index_set_card set = {.repo = repo, .commit = commit, .card = card};
	memset(&set.source, source, sizeof(set.source));
	ck_assert_int_eq(cairn_index_set_card(hx_index, &set), CAIRN_OK);
	return set.kept;
}

static const char *having(const char *one, const char *other)
{
	const char *words[] = {one, other};
	struct cairn_index_repo_list list = {.limit = 1, .words = words, .n_words = other ? 2 : 1, .all = true};
	return repos(list);
}

static void is_card(void *ctx, const struct cairn_index_card *card)
{
	*(bool *)ctx = strcmp(card->task, CARD.task) == 0 && strcmp(card->library, CARD.library) == 0 &&
		       strcmp(card->tags, CARD.tags) == 0 && strcmp(card->data, CARD.data) == 0 && !card->config[0];
}

START_TEST(a_card_is_kept_of_the_head_alone)
{
	int64_t one = hx_model("one"), first = head_of(one);
	struct cairn_index_card_source source;
	bool same = false;
	ck_assert_int_eq(cairn_index_card(hx_index, one, is_card, &same), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_card_source(hx_index, one, &source), CAIRN_OK);
	ck_assert_int_eq(source.config.b[0], 0);
	ck_assert(set_card(one, first, 7, &CARD));
	ck_assert_int_eq(cairn_index_card(hx_index, one, is_card, &same), CAIRN_OK);
	ck_assert(same);
	ck_assert_int_eq(cairn_index_card_source(hx_index, one, &source), CAIRN_OK);
	ck_assert_int_eq(source.readme.b[19], 7);
	ck_assert_int_eq(source.config.b[0], 7);
	ck_assert(hx_committed_one(one, "main", hx_put("a", "x")));
	struct cairn_index_card other = CARD;
	other.words = "[\"late\"]";
	ck_assert(!set_card(one, first, 8, &other));
	ck_assert_str_eq(having("late", NULL), "");
	ck_assert(set_card(one, head_of(one), 8, &other));
	ck_assert_str_eq(having("late", NULL), "Ann/one ");
	ck_assert_str_eq(having("a", NULL), "");
	ck_assert(!set_card(one + 100, first, 8, &other));
}
END_TEST

START_TEST(lists_find_cards_by_their_words)
{
	int64_t one = hx_model("one"), two = hx_model("two");
	struct cairn_index_card other = CARD;
	other.words = "[\"a\"]";
	ck_assert(set_card(one, head_of(one), 1, &CARD));
	ck_assert(set_card(two, head_of(two), 1, &other));
	(void)hx_model("bare");
	ck_assert_str_eq(having("a", NULL), "Ann/two Ann/one ");
	ck_assert_str_eq(having("a", "license:mit"), "Ann/one ");
	ck_assert_str_eq(having("license", NULL), "");
	struct cairn_index_set_repo gate = {.id = two, .is_private = true, .gate = CAIRN_INDEX_GATE_AUTO};
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &gate), CAIRN_OK);
	struct cairn_index_repo_list list = {.limit = 5, .all = true, .gated = CAIRN_INDEX_WITH};
	ck_assert_str_eq(repos(list), "Ann/two ");
	list.is_private = CAIRN_INDEX_WITHOUT;
	ck_assert_str_eq(repos(list), "");
	list.gated = CAIRN_INDEX_WITHOUT;
	list.sort = CAIRN_INDEX_BY_NAME;
	list.ascending = true;
	ck_assert_str_eq(repos(list), "Ann/bare Ann/one ");
}
END_TEST

/* Adds public models without words, in batches. */
static void add_bare_models(unsigned n)
{
	static struct cairn_index_add_repo add[CAIRN_INDEX_REPOS_LOOKED_MAX];
	static char names[CAIRN_INDEX_REPOS_LOOKED_MAX][16];
	ck_assert_uint_le(n, CAIRN_INDEX_REPOS_LOOKED_MAX);
	for (unsigned i = 0; i < n; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "m%u", i);
		add[i] = (struct cairn_index_add_repo){.write = {.done = is_added},
						       .kind = CAIRN_INDEX_MODEL,
						       .account = hx_ann,
						       .name = names[i],
						       .first = HX_MESSAGE};
		ck_assert_int_eq(cairn_index_add_repo(hx_index, &add[i]), CAIRN_OK);
	}
	ck_assert(cairn_index_flush(hx_index, 100000));
}

/* Returns the names of the models that have a word, as one page lists them. */
static const char *page_with(const char *word, int64_t reader, enum cairn_index_repo_sort sort)
{
	static char text[HX_TEXT_MAX];
	struct cairn_index_repo_list list = {.kind = CAIRN_INDEX_MODEL,
					     .words = &word,
					     .n_words = 1,
					     .reader = reader,
					     .sort = sort,
					     .ascending = sort == CAIRN_INDEX_BY_NAME,
					     .limit = 10};
	bool more;
	text[0] = '\0';
	ck_assert_int_eq(cairn_index_list_repos(hx_index, &list, take_name, text, &more), CAIRN_OK);
	ck_assert(!more);
	return text;
}

/* A page finds all repositories that have a rare word, however many lack it. It lists private ones only for those who
 * may read them. */
START_TEST(a_rare_word_is_found_at_once)
{
	int64_t one = hx_model("one"), two = hx_model("two"), bob = hx_add_account(CAIRN_INDEX_USER, "bob");
	struct cairn_index_set_repo hide = {.id = two, .is_private = true, .keeps_gate = true};
	struct cairn_index_set_repo gate = {.id = two, .keeps_private = true, .gate = CAIRN_INDEX_GATE_AUTO};
	struct cairn_index_drop_repo drop = {.id = one};
	ck_assert(set_card(one, head_of(one), 1, &CARD));
	ck_assert(set_card(two, head_of(two), 1, &CARD));
	add_bare_models(CAIRN_INDEX_REPOS_LOOKED_MAX);
	for (int sort = CAIRN_INDEX_BY_UPDATE; sort <= CAIRN_INDEX_BY_NAME; sort++)
		ck_assert_str_eq(page_with("license:mit", bob, (enum cairn_index_repo_sort)sort),
				 sort == CAIRN_INDEX_BY_NAME ? "Ann/one Ann/two " : "Ann/two Ann/one ");
	ck_assert_str_eq(page_with("license", bob, CAIRN_INDEX_BY_UPDATE), "");
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &hide), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &gate), CAIRN_OK);
	ck_assert_str_eq(page_with("b", bob, CAIRN_INDEX_BY_UPDATE), "Ann/one ");
	ck_assert_str_eq(page_with("b", hx_ann, CAIRN_INDEX_BY_NAME), "Ann/one Ann/two ");
	ck_assert(set_card(two, head_of(two), 2, &CARD));
	ck_assert_str_eq(page_with("b", bob, CAIRN_INDEX_BY_UPDATE), "Ann/one ");
	hide.is_private = false;
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &hide), CAIRN_OK);
	ck_assert_str_eq(page_with("b", bob, CAIRN_INDEX_BY_NAME), "Ann/one Ann/two ");
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert(set_card(one, head_of(one), 2, &CARD));
	ck_assert_str_eq(page_with("b", bob, CAIRN_INDEX_BY_NAME), "Ann/two ");
}
END_TEST

static void take_card(void *ctx, const struct cairn_index_repo *repo)
{
	char *text = ctx;
	size_t at = strlen(text);
	(void)snprintf(text + at, HX_TEXT_MAX - at, "%s %s%s%s %d ", repo->name, repo->card->task, repo->card->tags,
		       repo->card->data, repo->head->b[0] + repo->head->b[1] + repo->head->b[2] > 0);
}

START_TEST(lists_show_cards_and_heads)
{
	char text[HX_TEXT_MAX] = "";
	struct cairn_index_repo_list list = {.limit = 5, .cards = true, .heads = true};
	bool more;
	int64_t one = hx_model("one");
	ck_assert(set_card(one, head_of(one), 1, &CARD));
	(void)hx_model("bare");
	ck_assert_int_eq(cairn_index_list_repos(hx_index, &list, take_card, text, &more), CAIRN_OK);
	ck_assert_str_eq(text, "bare  1 one fill-mask[\"a\",\"B\"]{\"x\":1} 1 ");
}
END_TEST

static void take_id(void *ctx, const struct cairn_index_repo *repo)
{
	*(int64_t *)ctx = repo->id * 10 + (int64_t)repo->kind;
}

START_TEST(a_card_goes_with_its_repository)
{
	int64_t one = hx_model("one"), seen = 0, next;
	bool same = false;
	struct cairn_index_drop_repo drop = {.id = one};
	ck_assert(set_card(one, head_of(one), 1, &CARD));
	ck_assert_int_eq(cairn_index_each_described(hx_index, 0, take_id, &seen, &next), CAIRN_OK);
	ck_assert_int_eq(seen, one * 10 + CAIRN_INDEX_MODEL);
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_str_eq(having("a", NULL), "");
	seen = 0;
	ck_assert_int_eq(cairn_index_each_described(hx_index, 0, take_id, &seen, &next), CAIRN_OK);
	ck_assert_int_eq(seen, 0);
	struct cairn_index_sweep_repos sweep = {.grace_s = 0};
	do
		ck_assert_int_eq(cairn_index_sweep_repos(hx_index, &sweep), CAIRN_OK);
	while (sweep.more);
	ck_assert_int_eq(cairn_index_card(hx_index, one, is_card, &same), CAIRN_E_NOT_FOUND);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_repo");
	TCase *t = tcase_create("index_repo");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, repositories_are_listed_in_any_order);
	tcase_add_test(t, a_page_skips_hidden_repositories);
	tcase_add_test(t, a_change_keeps_the_other_settings);
	tcase_add_test(t, a_copy_of_restricted_files_keeps_its_first_guard);
	tcase_add_test(t, found_by_a_name_from_before);
	tcase_add_test(t, a_card_is_kept_of_the_head_alone);
	tcase_add_test(t, lists_find_cards_by_their_words);
	tcase_add_test(t, a_rare_word_is_found_at_once);
	tcase_add_test(t, lists_show_cards_and_heads);
	tcase_add_test(t, a_card_goes_with_its_repository);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
