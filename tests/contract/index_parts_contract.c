/* Parts of a long file of the mirrored hub: they are kept until the whole file is here. */
#include "base/clock.h"
#include "index/daemon/lease.h"
#include "index/hub/parts.h"
#include "index/operate.h"
#include "support/index_mirrored_fixture.h"
#include "support/run.h"

#include <check.h>

/* Uploads a file without a SHA-256. @return its hash */
static struct cairn_hash uploaded_part(int64_t repo, uint64_t number)
{
	ck_assert_int_eq(fx_upload(hx_index, number, hx_owner_of(repo), NULL), CAIRN_OK);
	return fx_hash("file", number);
}

static enum cairn_status add_part(int64_t repo, int64_t content, uint64_t first, struct cairn_hash file)
{
	struct cairn_index_add_part add = {.repo = repo, .content = content, .first = first, .file = file};
	return cairn_index_add_part(hx_index, &add);
}

static uint64_t parts_end(int64_t content)
{
	uint64_t end;
	ck_assert_int_eq(cairn_index_parts_end(hx_index, content, &end), CAIRN_OK);
	return end;
}

/* Makes a repository with an absent file "long", whose parts are files 1, 2 and 3. @return the length of each part */
static uint64_t in_parts(int64_t *repo, int64_t *content)
{
	const struct cairn_index_operation o = mx_absent_file("long", 7, 4096);
	struct cairn_index_part part;
	*repo = mx_mirrored("model", &o, 1);
	*content = mx_entry(*repo, "long").content;
	ck_assert_uint_eq(parts_end(*content), 0);
	ck_assert_int_eq(cairn_index_part(hx_index, *content, 0, &part), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(add_part(*repo, *content, 0, uploaded_part(*repo, 1)), CAIRN_OK);
	uint64_t len = parts_end(*content);
	ck_assert_uint_gt(len, 0);
	ck_assert_int_eq(add_part(*repo, *content, len, uploaded_part(*repo, 2)), CAIRN_OK);
	ck_assert_int_eq(add_part(*repo, *content, 2 * len, uploaded_part(*repo, 3)), CAIRN_OK);
	ck_assert_uint_eq(parts_end(*content), 3 * len);
	return len;
}

static void sees_parts(int64_t repo, bool first, bool second, bool third)
{
	const char *owner = hx_owner_of(repo);
	ck_assert(fx_sees(hx_index, owner, 1) == first && fx_sees(hx_index, owner, 2) == second &&
		  fx_sees(hx_index, owner, 3) == third);
}

START_TEST(parts_are_found_by_their_bytes)
{
	int64_t repo, content;
	struct cairn_index_part part;
	uint64_t len = in_parts(&repo, &content);
	const uint64_t at[] = {0, len - 1, len, 3 * len, 1 << 30}, number[] = {1, 1, 2, 3, 3};
	for (unsigned i = 0; i < 5; i++) {
		struct cairn_hash file = uploaded_part(repo, number[i]);
		ck_assert_int_eq(cairn_index_part(hx_index, content, at[i], &part), CAIRN_OK);
		ck_assert_uint_eq(part.first, (number[i] - 1) * len);
		ck_assert_uint_eq(part.end, part.first + len);
		ck_assert(cairn_hash_equal(&part.file, &file));
	}
	ck_assert_int_eq(add_part(repo, content + 1, 0, part.file), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(add_part(repo + 1, content, 0, part.file), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(add_part(repo, content, 0, fx_hash("file", 99)), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(parts_end(content), 3 * len);
}
END_TEST

/* A sweep keeps the files of parts, however old they are, and removes files that no longer are parts. */
START_TEST(a_sweep_keeps_parts)
{
	int64_t repo, content;
	uint64_t len = in_parts(&repo, &content);
	hx_sweep_all(-3600);
	sees_parts(repo, true, true, true);
	(void)uploaded_part(repo, 4); /* a part that has come, but has no row */
	hx_sweep_all(3600);
	ck_assert(fx_sees(hx_index, hx_owner_of(repo), 4));
	hx_sweep_all(-3600);
	ck_assert(!fx_sees(hx_index, hx_owner_of(repo), 4));
	/* another second part replaces all parts from the second on */
	ck_assert_int_eq(add_part(repo, content, len, uploaded_part(repo, 5)), CAIRN_OK);
	ck_assert_uint_eq(parts_end(content), 2 * len);
	hx_sweep_all(3600);
	sees_parts(repo, true, false, false);
	ck_assert(fx_sees(hx_index, hx_owner_of(repo), 5));
	struct cairn_index_drop_parts drop = {.repo = repo, .content = content};
	ck_assert_int_eq(cairn_index_drop_parts(hx_index, &drop), CAIRN_OK);
	ck_assert_int_eq(cairn_index_drop_parts(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(parts_end(content), 0);
	hx_sweep_all(3600);
	sees_parts(repo, false, false, false);
}
END_TEST

/* The content's number may belong to another content by now. */
START_TEST(parts_stay_when_another_repository_drops_them)
{
	int64_t repo, content;
	uint64_t len = in_parts(&repo, &content);
	struct cairn_index_drop_parts drop = {.repo = hx_model("other"), .content = content};
	(void)uploaded_part(drop.repo, 1);
	ck_assert_int_eq(cairn_index_drop_parts(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(parts_end(content), 3 * len);
	sees_parts(repo, true, true, true);
}
END_TEST

static struct cairn_index_idle_parts idle;
static unsigned n_idle;

static void note_idle(void *ctx, const struct cairn_index_idle_parts *parts)
{
	(void)ctx;
	idle = *parts;
	n_idle++;
}

static unsigned idle_before(int64_t unix_s)
{
	n_idle = 0;
	ck_assert_int_eq(cairn_index_each_idle_parts(hx_index, unix_s, 10, note_idle, NULL), CAIRN_OK);
	return n_idle;
}

START_TEST(parts_to_which_none_was_added_for_long_are_found)
{
	int64_t repo, content, now = cairn_clock_unix_s();
	ck_assert_uint_eq(idle_before(now + 100), 0);
	uint64_t len = in_parts(&repo, &content);
	ck_assert_uint_eq(idle_before(now - 1), 0);
	ck_assert_uint_eq(idle_before(now + 100), 1);
	ck_assert_int_eq(idle.repo, repo);
	ck_assert_int_eq(idle.content, content);
	ck_assert_uint_eq(idle.bytes, 3 * len);
}
END_TEST

START_TEST(parts_go_when_the_whole_is_here)
{
	int64_t repo, content;
	(void)in_parts(&repo, &content);
	hx_uploaded(7, hx_owner_of(repo));
	struct cairn_index_operation stored = hx_put_file("stored", 7);
	ck_assert(hx_committed_one(repo, "main", stored));
	const struct cairn_index_operation again = mx_absent_file("long", 7, mx_entry(repo, "stored").size_bytes);
	ck_assert(hx_committed_one(repo, "main", again));
	content = mx_entry(repo, "long").content;
	ck_assert_int_eq(add_part(repo, content, 0, uploaded_part(repo, 8)), CAIRN_OK);
	ck_assert_int_eq(mx_fill_file(repo, "long", 7), CAIRN_OK);
	ck_assert_uint_eq(parts_end(content), 0);
	ck_assert_int_eq(add_part(repo, content, 0, uploaded_part(repo, 9)),
			 CAIRN_OK); /* a write of another daemon, which comes too late */
	ck_assert_uint_eq(parts_end(content), 0);
	hx_sweep_all(3600);
	ck_assert(!fx_sees(hx_index, hx_owner_of(repo), 8) && fx_sees(hx_index, hx_owner_of(repo), 7));
}
END_TEST

START_TEST(parts_go_with_their_content)
{
	int64_t repo, content;
	(void)in_parts(&repo, &content);
	ck_assert(hx_committed_one(repo, "main", hx_drop("long")));
	struct cairn_index_squash squash = {
		.repo = repo, .kind = CAIRN_INDEX_BRANCH, .name = "main", .message = HX_MESSAGE};
	ck_assert_int_eq(cairn_index_squash(hx_index, &squash), CAIRN_OK);
	hx_sweep_all(-3600);
	ck_assert_uint_eq(parts_end(content), 0);
	sees_parts(repo, false, false, false);
}
END_TEST

START_TEST(parts_go_with_their_repository)
{
	int64_t repo, content;
	(void)in_parts(&repo, &content);
	struct cairn_index_drop_repo drop = {.id = repo};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	hx_sweep_all(3600);
	ck_assert_uint_eq(parts_end(content), 0);
	ck_assert(!fx_sees(hx_index, NULL, 1) && !fx_sees(hx_index, NULL, 2) && !fx_sees(hx_index, NULL, 3));
}
END_TEST

/* postgres_daemons_contract.c has the leases of daemons that share an index. */
START_TEST(a_single_daemon_fetches_without_a_lease)
{
	int64_t repo, content;
	struct cairn_diag diag = {0};
	struct cairn_index_lease one, two;
	struct cairn_index_fetch fetch;
	(void)in_parts(&repo, &content);
	ck_assert_int_eq(cairn_index_take_fetch(hx_index, content, &one, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_index_take_fetch(hx_index, content, &two, &diag), CAIRN_OK);
	ck_assert(one.fence == 0 && two.fence == 0 && one.content == content);
	ck_assert_int_eq(cairn_index_fetch(hx_index, repo, content, &fetch), CAIRN_OK);
	ck_assert(!fetch.is_taken && !fetch.is_here);
	struct cairn_index_drop_parts drop = {.write.lease = &one, .repo = repo, .content = content};
	ck_assert_int_eq(cairn_index_drop_parts(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(parts_end(content), 0);
	cairn_index_leave_lease(hx_index, &one);
	cairn_index_leave_lease(hx_index, &two);
}
END_TEST

/* Parts that follow a forgotten file do not count. */
START_TEST(a_forgotten_part_leaves_a_gap)
{
	int64_t repo, content;
	uint64_t len = in_parts(&repo, &content);
	struct cairn_index_forget_file one = {.hash = uploaded_part(repo, 2), .owner = hx_owner_of(repo)};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &one), CAIRN_OK);
	ck_assert(one.forgotten);
	ck_assert_uint_eq(parts_end(content), len);
	struct cairn_index_forget_file first = {.hash = uploaded_part(repo, 1)};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &first), CAIRN_OK);
	ck_assert_uint_eq(parts_end(content), 0);
}
END_TEST

START_TEST(idle_parts_of_a_kept_repository_stay)
{
	int64_t repo, content, later = cairn_clock_unix_s() + 100;
	(void)in_parts(&repo, &content);
	ck_assert_int_eq(mx_set_state(repo, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	ck_assert_uint_eq(idle_before(later), 1);
	ck_assert_int_eq(mx_set_ahead(repo, CAIRN_INDEX_AHEAD_ONCE_S, true, ""), CAIRN_OK);
	ck_assert_uint_eq(idle_before(later), 0);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_parts_contract");
	TCase *t = tcase_create("parts");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, parts_are_found_by_their_bytes);
	tcase_add_test(t, a_sweep_keeps_parts);
	tcase_add_test(t, parts_stay_when_another_repository_drops_them);
	tcase_add_test(t, parts_to_which_none_was_added_for_long_are_found);
	tcase_add_test(t, parts_go_when_the_whole_is_here);
	tcase_add_test(t, parts_go_with_their_content);
	tcase_add_test(t, parts_go_with_their_repository);
	tcase_add_test(t, a_single_daemon_fetches_without_a_lease);
	tcase_add_test(t, a_forgotten_part_leaves_a_gap);
	tcase_add_test(t, idle_parts_of_a_kept_repository_stay);
	suite_add_tcase(s, t);
	return run_suite(s);
}
