/* The state of a mirrored repository at the mirrored hub, and who may read it. */
#include "index/hub/mirror_state.h"
#include "support/index_mirrored_fixture.h"
#include "support/run.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

START_TEST(a_state_is_kept_and_replaced)
{
	enum cairn_index_mirror_state state;
	int64_t looked;
	const struct cairn_index_operation o = mx_absent("a", "text");
	int64_t repo = mx_mirrored("model", &o, 1);
	ck_assert_int_eq(cairn_index_mirror_state(hx_index, repo, &state, &looked), CAIRN_OK);
	ck_assert(state == CAIRN_INDEX_MIRROR_THERE && looked == 0);
	ck_assert_int_eq(mx_set_state(repo, CAIRN_INDEX_MIRROR_GONE, 7), CAIRN_OK);
	ck_assert_int_eq(mx_set_state(repo, CAIRN_INDEX_MIRROR_DISABLED, 8), CAIRN_OK);
	ck_assert_int_eq(cairn_index_mirror_state(hx_index, repo, &state, &looked), CAIRN_OK);
	ck_assert(state == CAIRN_INDEX_MIRROR_DISABLED && looked == 8);
	ck_assert_int_eq(mx_set_state(repo + 1000, CAIRN_INDEX_MIRROR_GONE, 7), CAIRN_E_NOT_FOUND);
}
END_TEST

static struct cairn_index_repo repo_named(const char *name)
{
	struct cairn_index_repo repo;
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "far", name, &repo), CAIRN_OK);
	return repo;
}

START_TEST(a_state_comes_with_who_may_read)
{
	enum cairn_index_mirror_state state;
	int64_t looked;
	const struct cairn_index_operation o = mx_absent("a", "text");
	struct cairn_index_set_mirror_state set = {.repo = mx_mirrored("model", &o, 1),
						   .state = CAIRN_INDEX_MIRROR_DISABLED,
						   .looked_unix_s = 7,
						   .sets_access = true,
						   .is_private = true,
						   .gate = CAIRN_INDEX_GATE_MANUAL};
	ck_assert_int_eq(cairn_index_set_mirror_state(hx_index, &set), CAIRN_OK);
	ck_assert(repo_named("model").is_private && repo_named("model").gate == CAIRN_INDEX_GATE_MANUAL);
	ck_assert_int_eq(cairn_index_mirror_state(hx_index, set.repo, &state, &looked), CAIRN_OK);
	ck_assert(state == CAIRN_INDEX_MIRROR_DISABLED && looked == 7);
	ck_assert_int_eq(mx_set_state(set.repo, CAIRN_INDEX_MIRROR_THERE, 8), CAIRN_OK);
	ck_assert(repo_named("model").is_private && repo_named("model").gate == CAIRN_INDEX_GATE_MANUAL);
	set.repo += 1000;
	ck_assert_int_eq(cairn_index_set_mirror_state(hx_index, &set), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(set.write.diag.rule, "repo.unknown");
}
END_TEST

/* Sets the state and who may read, unless the repository differs from what was seen. */
static enum cairn_status set_seen(int64_t repo, const struct cairn_index_mirror_seen *seen, bool is_private,
				  enum cairn_index_gate gate)
{
	struct cairn_index_set_mirror_state set = {.repo = repo,
						   .seen = seen,
						   .state = is_private ? CAIRN_INDEX_MIRROR_PRIVATE
								       : CAIRN_INDEX_MIRROR_THERE,
						   .looked_unix_s = seen->looked_unix_s,
						   .sets_access = true,
						   .is_private = is_private,
						   .gate = gate};
	return cairn_index_set_mirror_state(hx_index, &set);
}

/* The time of a look-up has whole seconds, so it may be the same for both. */
START_TEST(a_slow_look_opens_nothing_that_was_closed_meanwhile)
{
	const struct cairn_index_operation o = mx_absent("a", "text");
	int64_t repo = mx_mirrored("model", &o, 1);
	const struct cairn_index_mirror_seen open = {.state = CAIRN_INDEX_MIRROR_THERE},
					     closed = {.state = CAIRN_INDEX_MIRROR_PRIVATE, .is_private = true};
	ck_assert_int_eq(set_seen(repo, &open, false, CAIRN_INDEX_GATE_NONE), CAIRN_OK);
	ck_assert_int_eq(set_seen(repo, &open, true, CAIRN_INDEX_GATE_NONE), CAIRN_OK);
	ck_assert_int_eq(set_seen(repo, &open, false, CAIRN_INDEX_GATE_NONE), CAIRN_E_CONFLICT);
	ck_assert(repo_named("model").is_private);
	ck_assert_int_eq(set_seen(repo, &open, true, CAIRN_INDEX_GATE_MANUAL), CAIRN_OK); /* closes it further */
	ck_assert_int_eq(set_seen(repo, &closed, true, CAIRN_INDEX_GATE_NONE), CAIRN_E_CONFLICT);
	ck_assert(repo_named("model").is_private && repo_named("model").gate == CAIRN_INDEX_GATE_MANUAL);
	const struct cairn_index_mirror_seen both = {
		.state = CAIRN_INDEX_MIRROR_PRIVATE, .is_private = true, .gate = CAIRN_INDEX_GATE_MANUAL};
	ck_assert_int_eq(set_seen(repo, &both, false, CAIRN_INDEX_GATE_NONE), CAIRN_OK);
	ck_assert(!repo_named("model").is_private && repo_named("model").gate == CAIRN_INDEX_GATE_NONE);
	ck_assert_int_eq(set_seen(repo + 1000, &open, true, CAIRN_INDEX_GATE_NONE), CAIRN_E_NOT_FOUND);
}
END_TEST

/* A state that closes a repository is not replaced, either, nor is a gate that came without a state. */
START_TEST(a_slow_look_replaces_no_state_or_gate)
{
	const struct cairn_index_operation o = mx_absent("a", "text");
	int64_t repo = mx_mirrored("model", &o, 1);
	const struct cairn_index_mirror_seen open = {.state = CAIRN_INDEX_MIRROR_THERE, .looked_unix_s = 7};
	struct cairn_index_set_mirror_state there = {
		.repo = repo, .seen = &open, .state = CAIRN_INDEX_MIRROR_THERE, .looked_unix_s = 9};
	ck_assert_int_eq(mx_set_state(repo, CAIRN_INDEX_MIRROR_THERE, 8), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_mirror_state(hx_index, &there), CAIRN_OK); /* both say the same */
	ck_assert_int_eq(mx_set_state(repo, CAIRN_INDEX_MIRROR_DISABLED, 8), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_mirror_state(hx_index, &there), CAIRN_E_CONFLICT);
	ck_assert_int_eq(mx_set_state(repo, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	struct cairn_index_set_repo gate = {.id = repo, .gate = CAIRN_INDEX_GATE_MANUAL};
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &gate), CAIRN_OK);
	ck_assert_int_eq(set_seen(repo, &open, false, CAIRN_INDEX_GATE_NONE), CAIRN_E_CONFLICT);
	ck_assert(repo_named("model").gate == CAIRN_INDEX_GATE_MANUAL);
}
END_TEST

/* A large repository is made in pieces. */
START_TEST(a_repository_is_made_with_its_gate)
{
	enum { N = CAIRN_INDEX_OPERATIONS_AT_ONCE + 1, NAME = 8 };
	static struct cairn_index_operation many[N];
	static char names[N][NAME];
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_MODEL,
					   .account = hx_add_mirrored(hx_index),
					   .name = "small",
					   .gate = CAIRN_INDEX_GATE_MANUAL,
					   .first = HX_MESSAGE,
					   .operations = many,
					   .n = 1};
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(names[i], NAME, "f%05u", i);
		many[i] = mx_absent(names[i], "text");
	}
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	add.name = "large";
	add.n = N;
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	ck_assert(repo_named("small").gate == CAIRN_INDEX_GATE_MANUAL && !repo_named("small").is_private);
	ck_assert(repo_named("large").gate == CAIRN_INDEX_GATE_MANUAL && !repo_named("large").is_private);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_mirror_state_contract");
	TCase *t = tcase_create("states");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, a_state_is_kept_and_replaced);
	tcase_add_test(t, a_state_comes_with_who_may_read);
	tcase_add_test(t, a_slow_look_opens_nothing_that_was_closed_meanwhile);
	tcase_add_test(t, a_slow_look_replaces_no_state_or_gate);
	tcase_add_test(t, a_repository_is_made_with_its_gate);
	suite_add_tcase(s, t);
	return run_suite(s);
}
