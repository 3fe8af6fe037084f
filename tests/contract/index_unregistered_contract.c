/* Xorbs that were uploaded and that no file needs yet. They count for the account of their repository, or for another
 * owner, until a file needs them or a collection removes them. */
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"

#include "index/quota.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_CHUNKS = 4, CHUNK_BYTES = 128 };

/* Returns how many bytes a xorb counts. */
static uint64_t bytes_of(uint64_t number)
{
	struct fx_xorb x = fx_xorb_new(number, N_CHUNKS);
	uint64_t stored = x.list.spans[x.list.n - 1].end, unpacked = cairn_chunk_list_bytes(&x.list, 0, x.list.n);
	uint64_t counts = (stored < unpacked ? stored : unpacked) + N_CHUNKS * CHUNK_BYTES;
	fx_xorb_fini(&x);
	return counts > 4096 ? counts : 4096;
}

static uint32_t large_bytes; /* length of the first chunk of the next xorbs; 0: the usual one */

/* Stores a xorb. @param[out] rule  of a refusal, else NULL */
static enum cairn_status put(uint64_t number, const char *owner, uint64_t max, const char **rule)
{
	struct fx_xorb x = fx_xorb_new(number, N_CHUNKS);
	struct cairn_index_put_xorb request = {.hash = x.hash,
					       .list = &x.list,
					       .stored_bytes = x.list.spans[x.list.n - 1].end,
					       .owner = owner,
					       .unregistered_max = max};
	if (large_bytes > 0)
		x.list.spans[0].unpacked_bytes = (uint32_t)(request.stored_bytes = large_bytes);
	enum cairn_status status = cairn_index_put_xorb(hx_index, &request);
	*rule = status != CAIRN_OK ? request.write.diag.rule : NULL;
	fx_xorb_fini(&x);
	return status;
}

static void is_taken(uint64_t number, const char *owner, uint64_t max)
{
	const char *rule;
	enum cairn_status status = put(number, owner, max, &rule);
	ck_assert_msg(status == CAIRN_OK, "%s", rule ? rule : "");
}

static void is_refused(uint64_t number, const char *owner, uint64_t max, const char *expected)
{
	const char *rule;
	struct fx_xorb x = fx_xorb_new(number, N_CHUNKS);
	struct cairn_index_xorb row;
	ck_assert_int_eq(put(number, owner, max, &rule), CAIRN_E_DENIED);
	ck_assert_str_eq(rule, expected);
	ck_assert_int_eq(cairn_index_xorb(hx_index, &x.hash, &row), CAIRN_E_NOT_FOUND);
	fx_xorb_fini(&x);
}

/* Registers a shard that describes a xorb, with or without a file of it. */
static void describe(uint64_t number, const char *owner, bool with_file)
{
	struct fx_xorb x = fx_xorb_new(number, N_CHUNKS);
	struct fx_shard s;
	fx_shard_init(&s, 2 * number + with_file);
	s.owner = owner;
	fx_shard_xorb(&s, &x, 0);
	if (with_file)
		(void)fx_shard_file(&s, number, &x, 0, 1);
	ck_assert_int_eq(fx_shard_put(hx_index, &s), CAIRN_OK);
	fx_xorb_fini(&x);
}

static void collect(void)
{
	struct cairn_hash swept[64];
	int64_t now = 4102444800; /* a time in 2100 */
	struct cairn_index_gc_mark mark = {.now_unix_s = now, .grace_s = 1};
	do {
		mark.from_id = mark.next_id;
		ck_assert_int_eq(cairn_index_gc_mark(hx_index, &mark), CAIRN_OK);
	} while (mark.next_id != 0);
	struct cairn_index_gc_sweep sweep = {.now_unix_s = now + 2, .grace_s = 1, .swept = swept, .n_max = 64};
	do
		ck_assert_int_eq(cairn_index_gc_sweep(hx_index, &sweep), CAIRN_OK);
	while (sweep.more);
}

static void limit(int64_t account, const char *owner, uint64_t bytes)
{
	struct cairn_index_set_quota set = {.account = account, .owner = owner, .limit_bytes = bytes};
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_OK);
}

START_TEST(they_have_a_limit_for_each_account)
{
	char one[CAIRN_INDEX_OWNER_BYTES], two[CAIRN_INDEX_OWNER_BYTES];
	uint64_t max = bytes_of(1) + bytes_of(2);
	(void)snprintf(one, sizeof(one), "%s", hx_owner_of(hx_model("one")));
	(void)snprintf(two, sizeof(two), "%s", hx_owner_of(hx_model("two")));
	is_taken(1, one, max);
	is_taken(2, two, max);
	is_refused(3, one, max, "quota.unregistered");
	is_refused(3, two, max, "quota.unregistered");
	is_taken(1, one, max); /* the xorb is known already */
	is_taken(3, "models/other/one", max);
	is_taken(4, two, 0); /* this one is not counted */
	is_taken(5, NULL, max);
	is_taken(6, "", max);
	is_refused(7, one, max, "quota.unregistered");
}
END_TEST

START_TEST(xorbs_stop_counting_once_a_file_needs_them)
{
	const char *one = hx_owner_of(hx_model("one"));
	uint64_t max = bytes_of(1);
	is_taken(1, one, max);
	describe(1, one, false); /* no file needs it */
	is_refused(2, one, max, "quota.unregistered");
	describe(1, one, true);
	is_taken(2, one, max);
	is_refused(3, one, max, "quota.unregistered");
	/* a file of another owner ends the counting, too */
	describe(2, "models/other/one", true);
	is_taken(3, one, max);
}
END_TEST

/* Several shards at the same time; PostgreSQL joins the simple ones. */
START_TEST(xorbs_stop_counting_once_joined_shards_need_them)
{
	enum { N = 4 };
	const char *one = hx_owner_of(hx_model("one"));
	struct fx_xorb x[N];
	struct fx_shard s[N];
	struct cairn_index_put_shard request[N];
	uint64_t max = 0;
	for (unsigned i = 0; i < N; i++)
		max += bytes_of(i + 1);
	for (unsigned i = 0; i < N; i++) {
		is_taken(i + 1, one, max);
		x[i] = fx_xorb_new(i + 1, N_CHUNKS);
		fx_shard_init(&s[i], i + 1);
		s[i].owner = one;
		fx_shard_xorb(&s[i], &x[i], 0);
		(void)fx_shard_file(&s[i], i + 1, &x[i], 0, N_CHUNKS);
		request[i] = fx_shard_request(&s[i]);
	}
	is_refused(N + 1, one, max, "quota.unregistered");
	for (unsigned i = 0; i < N; i++)
		ck_assert_int_eq(cairn_index_put_shard(hx_index, &request[i]), CAIRN_OK);
	for (unsigned i = 0; i < N; i++)
		fx_xorb_fini(&x[i]);
	is_taken(N + 1, one, bytes_of(N + 1));
	is_refused(N + 2, one, bytes_of(N + 1), "quota.unregistered");
}
END_TEST

START_TEST(a_collection_ends_it)
{
	const char *one = hx_owner_of(hx_model("one"));
	is_taken(1, one, bytes_of(1));
	is_refused(2, one, bytes_of(1), "quota.unregistered");
	collect();
	is_taken(2, one, bytes_of(2));
}
END_TEST

/* Two xorbs of this size fit into the free space, three do not. */
enum { LARGE = 400 << 20 };

static void are_limited_by_a_quota(int64_t account, const char *owner, const char *quota_of)
{
	const uint64_t three = 3 * (LARGE + (uint64_t)N_CHUNKS * CHUNK_BYTES);
	large_bytes = LARGE;
	limit(account, quota_of, 1);
	is_taken(1, owner, UINT64_MAX / 4);
	is_taken(2, owner, UINT64_MAX / 4);
	is_refused(3, owner, UINT64_MAX / 4, "quota.unregistered");
	limit(account, quota_of, three - 1);
	is_refused(3, owner, UINT64_MAX / 4, "quota.unregistered");
	limit(account, quota_of, three);
	is_taken(3, owner, UINT64_MAX / 4);
}

/* Unregistered xorbs may take as much as the quota, in addition to what the account has. */
START_TEST(a_quota_of_the_account_limits_them)
{
	are_limited_by_a_quota(hx_ann, hx_owner_of(hx_model("one")), NULL);
}
END_TEST

START_TEST(a_quota_of_another_owner_limits_them)
{
	are_limited_by_a_quota(0, "models/other/one", "models/other/one");
}
END_TEST

/* A xorb's chunk list takes space in the index, even if each chunk has only one byte. */
START_TEST(their_chunks_count)
{
	enum { MANY = 8192, COUNTS = MANY * (1 + CHUNK_BYTES) };
	struct fx_xorb x = {0};
	for (uint32_t i = 0; i < MANY; i++) {
		struct cairn_hash chunk = fx_hash("tiny", i);
		ck_assert_int_eq(cairn_chunk_list_add(&x.list, &chunk, (struct cairn_span){1, 10 * (i + 1)}), CAIRN_OK);
	}
	cairn_chunk_list_root(&x.list, &x.hash);
	struct cairn_index_put_xorb request = {.hash = x.hash,
					       .list = &x.list,
					       .stored_bytes = x.list.spans[MANY - 1].end,
					       .owner = hx_owner_of(hx_model("one")),
					       .unregistered_max = COUNTS - 1};
	ck_assert_int_eq(cairn_index_put_xorb(hx_index, &request), CAIRN_E_DENIED);
	ck_assert_str_eq(request.write.diag.rule, "quota.unregistered");
	request.unregistered_max = COUNTS;
	ck_assert_int_eq(cairn_index_put_xorb(hx_index, &request), CAIRN_OK);
	fx_xorb_fini(&x);
}
END_TEST

/* They still count after the repository is deleted. */
START_TEST(they_outlive_their_repository)
{
	char two[CAIRN_INDEX_OWNER_BYTES];
	int64_t one = hx_model("one");
	struct cairn_index_drop_repo drop = {.id = one};
	struct cairn_index_sweep_repos sweep = {.more = true};
	is_taken(1, hx_owner_of(one), bytes_of(1));
	(void)snprintf(two, sizeof(two), "%s", hx_owner_of(hx_model("two")));
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	while (sweep.more)
		ck_assert_int_eq(cairn_index_sweep_repos(hx_index, &sweep), CAIRN_OK);
	is_refused(2, two, bytes_of(1), "quota.unregistered");
}
END_TEST

START_TEST(their_number_is_limited)
{
	char many[512];
	const char *one = hx_owner_of(hx_model("one"));
	if (cairn_index_is_remote(hx_index))
		return;
	(void)snprintf(many, sizeof(many),
		       "WITH RECURSIVE n(n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM n LIMIT %d)"
		       " INSERT INTO unregistered(xorb, holder, bytes) SELECT n, %lld, 1 FROM n",
		       CAIRN_INDEX_UNREGISTERED_MAX - 1, (long long)hx_ann);
	fx_sql(hx_folder(), many);
	is_taken(1, one, UINT64_MAX / 4);
	is_refused(2, one, UINT64_MAX / 4, "quota.unregistered");
	fx_sql(hx_folder(), "DELETE FROM unregistered WHERE bytes = 1");
	is_taken(2, one, UINT64_MAX / 4);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_unregistered");
	TCase *t = tcase_create("index_unregistered");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, they_have_a_limit_for_each_account);
	tcase_add_test(t, xorbs_stop_counting_once_a_file_needs_them);
	tcase_add_test(t, xorbs_stop_counting_once_joined_shards_need_them);
	tcase_add_test(t, a_collection_ends_it);
	tcase_add_test(t, a_quota_of_the_account_limits_them);
	tcase_add_test(t, a_quota_of_another_owner_limits_them);
	tcase_add_test(t, their_chunks_count);
	tcase_add_test(t, they_outlive_their_repository);
	tcase_add_test(t, their_number_is_limited);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
