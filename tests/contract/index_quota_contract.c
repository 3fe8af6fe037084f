/* How much accounts and repositories may hold: counted exactly whatever comes and goes, and refused in the writer.
 * The
 * fixture examines the index at the end of each test: it knows from the rows what each repository holds. */
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"

#include "index/quota.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Bytes that count for a quota: of a repository, of a former name, of any other row, of an entry, of a commit with
 * HX_MESSAGE, of a new model. */
enum {
	REPO = CAIRN_INDEX_REPO_BYTES,
	FORMER = CAIRN_INDEX_FORMER_BYTES,
	ROW = CAIRN_INDEX_ROW_BYTES,
	ENTRY = ROW + 1, /* of a path with one letter */
	COMMIT = ROW + 3 + 8,
	FIRST_BYTES = REPO + 17 + COMMIT + ROW + 14 + ROW + 4, /* .gitattributes, and main */
};

/* As it counts. */
static uint64_t size_of_file(uint64_t number)
{
	struct cairn_index_file file;
	struct cairn_hash hash = fx_hash("file", number);
	ck_assert_int_eq(cairn_index_file(hx_index, &hash, NULL, false, &file), CAIRN_OK);
	return cairn_index_file_counts(file.size_bytes);
}

static void limit(int64_t account, int64_t repo, uint64_t bytes)
{
	struct cairn_index_set_quota set = {.account = account, .repo = repo, .limit_bytes = bytes};
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_OK);
}

static struct cairn_index_quota quota_of(int64_t account, int64_t repo)
{
	struct cairn_index_quota quota;
	ck_assert_int_eq(cairn_index_quota(hx_index, account, repo, &quota), CAIRN_OK);
	return quota;
}

static uint64_t held(int64_t repo)
{
	return quota_of(hx_ann, repo).repo.stored_bytes;
}

/* Upload file `number` under an owner. @return the status, and the rule of a refusal in rule */
static enum cairn_status upload_as(uint64_t number, const char *owner, const char **rule)
{
	struct fx_shard s;
	struct fx_xorb x = fx_xorb_new(number, 4);
	(void)fx_xorb_put(hx_index, &x);
	fx_shard_init(&s, number);
	s.owner = owner;
	fx_shard_xorb(&s, &x, 0);
	fx_shard_file(&s, number, &x, 0, 4);
	enum cairn_status status = fx_shard_put(hx_index, &s);
	fx_xorb_fini(&x);
	*rule = s.diag.rule;
	return status;
}

/* The same for the owner of a repository. */
static enum cairn_status upload(uint64_t number, int64_t repo, const char **rule)
{
	return upload_as(number, hx_owner_of(repo), rule);
}

static void refused(uint64_t number, int64_t repo, const char *rule)
{
	const char *said;
	ck_assert_int_eq(upload(number, repo, &said), CAIRN_E_DENIED);
	ck_assert_str_eq(said, rule);
}

static void taken(uint64_t number, int64_t repo)
{
	const char *said;
	ck_assert_int_eq(upload(number, repo, &said), CAIRN_OK);
}

static enum cairn_status change(int64_t repo, enum cairn_index_change_kind kind, const char *path, uint64_t number,
				int64_t source)
{
	struct cairn_index_change one = {.kind = kind, .path = path, .type = "", .source = source};
	struct cairn_index_change_objects request = {.repo = repo, .changes = &one, .n = 1};
	if (number != 0)
		one.file = fx_hash("file", number);
	enum cairn_status status = cairn_index_change_objects(hx_index, &request);
	if (status == CAIRN_OK)
		ck_assert(!one.failed);
	else
		ck_assert_str_eq(request.write.diag.rule, "quota.account");
	return status;
}

static void forget(uint64_t number, const char *owner)
{
	struct cairn_index_forget_file request = {.hash = fx_hash("file", number), .owner = owner};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &request), CAIRN_OK);
	ck_assert(request.forgotten);
}

static void sweep(void)
{
	struct cairn_index_sweep_repos request = {.grace_s = -10, .more = true};
	while (request.more)
		ck_assert_int_eq(cairn_index_sweep_repos(hx_index, &request), CAIRN_OK);
}

/* --- counting ----------------------------------------------------------------------------------------------------- */

START_TEST(each_file_and_each_text_counts_once)
{
	int64_t one = hx_model("one"), two = hx_model("two");
	ck_assert_uint_eq(held(one), FIRST_BYTES);
	hx_uploaded(1, hx_owner_of(one));
	uint64_t size = size_of_file(1);
	ck_assert_uint_eq(held(one), FIRST_BYTES + size);
	/* The same file again: with another claim, under two paths, and in another repository. */
	hx_uploaded(1, hx_owner_of(one));
	taken(1, one);
	const struct cairn_index_operation some[] = {hx_put_file("a", 1), hx_put_file("b", 1), hx_put("c", "text"),
						     hx_put("d", "text")};
	ck_assert(hx_committed(one, "main", some, 4));
	uint64_t rows = COMMIT + 4 * ENTRY;
	ck_assert_uint_eq(held(one), FIRST_BYTES + size + rows + 4);
	taken(1, two);
	hx_uploaded(1, hx_owner_of(two));
	ck_assert_uint_eq(held(two), FIRST_BYTES + size);
	ck_assert_uint_eq(quota_of(hx_ann, 0).account.stored_bytes, (uint64_t)2 * (FIRST_BYTES + size) + rows + 4);
	ck_assert_int_eq(quota_of(hx_ann, 0).kind, 0);
	/* Files and texts of former commits still count. */
	ck_assert(hx_committed_one(one, "main", hx_drop("c")));
	ck_assert(hx_committed_one(one, "main", hx_drop("a")));
	rows += 2 * (COMMIT + ENTRY);
	ck_assert_uint_eq(held(one), FIRST_BYTES + size + rows + 4);
	forget(1, hx_owner_of(one));
	ck_assert_uint_eq(held(one), FIRST_BYTES + rows + 4);
	ck_assert_uint_eq(held(two), FIRST_BYTES + size);
	forget(1, NULL);
	ck_assert_uint_eq(held(two), FIRST_BYTES);
}
END_TEST

START_TEST(one_shard_with_a_file_twice_counts_it_once)
{
	int64_t one = hx_model("one");
	struct fx_shard s;
	struct fx_xorb x = fx_xorb_new(1, 4);
	(void)fx_xorb_put(hx_index, &x);
	fx_shard_init(&s, 1);
	s.owner = hx_owner_of(one);
	fx_shard_xorb(&s, &x, 0);
	fx_shard_file(&s, 1, &x, 0, 4);
	fx_shard_file(&s, 1, &x, 0, 4);
	ck_assert_int_eq(fx_shard_put(hx_index, &s), CAIRN_OK);
	fx_xorb_fini(&x);
	ck_assert_uint_eq(held(one), FIRST_BYTES + size_of_file(1));
}
END_TEST

START_TEST(removed_objects_free_their_quota)
{
	int64_t one = hx_model("one"), box = hx_bucket("box");
	taken(1, box);
	taken(2, box);
	uint64_t first = size_of_file(1), second = size_of_file(2);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, "a", 1, 0), CAIRN_OK);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, "b", 1, 0), CAIRN_OK);
	ck_assert_uint_eq(held(box), REPO + first + second + 2 * ENTRY);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, "a", 2, 0), CAIRN_OK);
	ck_assert_uint_eq(held(box), REPO + first + second + 2 * ENTRY);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_DROP, "b", 0, 0), CAIRN_OK);
	ck_assert_uint_eq(held(box), REPO + second + ENTRY);
	/* A file that was uploaded but never got a path. */
	taken(3, box);
	ck_assert_uint_eq(held(box), REPO + second + ENTRY + size_of_file(3));
	sweep();
	ck_assert_uint_eq(held(box), REPO + second + ENTRY);
	/* Removing a line that no ref reaches frees its texts. */
	struct cairn_index_commit head = hx_head(one, "main");
	struct cairn_index_add_ref branch = {.repo = one, .kind = CAIRN_INDEX_BRANCH, .name = "dev", .commit = head.id};
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &branch), CAIRN_OK);
	ck_assert(hx_committed_one(one, "dev", hx_put("a", "some text")));
	ck_assert_uint_eq(held(one), FIRST_BYTES + 9 + ROW + 3 + COMMIT + ENTRY);
	struct cairn_index_drop_ref drop_ref = {.repo = one, .kind = CAIRN_INDEX_BRANCH, .name = "dev"};
	ck_assert_int_eq(cairn_index_drop_ref(hx_index, &drop_ref), CAIRN_OK);
	sweep();
	ck_assert_uint_eq(held(one), FIRST_BYTES);
	/* A deleted repository stops counting at once. */
	struct cairn_index_drop_repo drop = {.id = box};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(quota_of(hx_ann, 0).account.stored_bytes, FIRST_BYTES);
	sweep();
}
END_TEST

/* --- refusals ----------------------------------------------------------------------------------------------------- */

START_TEST(up_to_the_last_byte)
{
	int64_t one = hx_model("one"), two = hx_model("two");
	taken(1, two);
	uint64_t size = size_of_file(1), account = (uint64_t)2 * FIRST_BYTES + 2 * size;
	limit(0, one, FIRST_BYTES + size - 1);
	refused(1, one, "quota.repo");
	ck_assert_uint_eq(held(one), FIRST_BYTES);
	limit(0, one, FIRST_BYTES + size);
	limit(hx_ann, 0, account - 1);
	refused(1, one, "quota.account");
	limit(hx_ann, 0, account);
	taken(1, one);
	ck_assert_uint_eq(quota_of(hx_ann, one).account.stored_bytes, account);
	ck_assert_uint_eq(quota_of(hx_ann, one).account.limit_bytes, account);
	/* A full repository accepts a file that it has already. It refuses inline texts, too. */
	taken(1, one);
	hx_refused_one(one, hx_put("a", "1"), "quota.repo");
	hx_refused_one(two, hx_put("a", "1"), "quota.account");
	limit(0, one, CAIRN_INDEX_NO_QUOTA);
	limit(hx_ann, 0, CAIRN_INDEX_NO_QUOTA);
	ck_assert(hx_committed_one(one, "main", hx_put("a", "1")));
}
END_TEST

static enum cairn_status commit_text(int64_t repo, struct cairn_index_operation operation, const char *text)
{
	struct cairn_index_add_commit request = hx_request(repo, "main", &operation, 1);
	request.message.message = text;
	return cairn_index_add_commit(hx_index, &request);
}

/* Attacks that a quota did not see: long texts, long paths to one file, tags, and rows of a branch that are copied. */
START_TEST(rows_count_with_their_texts)
{
	enum { TEXT = 60000, PATH = 900 };
	static char text[TEXT + 1], path[PATH + 1];
	int64_t one = hx_model("one"), box = hx_bucket("box");
	memset(text, 'x', TEXT);
	memset(path, 'p', PATH);
	hx_uploaded(1, hx_owner_of(one));
	uint64_t now = held(one);
	ck_assert_int_eq(commit_text(one, hx_put_file("a", 1), text), CAIRN_OK);
	ck_assert_uint_eq(held(one), now += COMMIT + ENTRY + TEXT);
	ck_assert(hx_committed_one(one, "main", hx_put_file(path, 1)));
	ck_assert_uint_eq(held(one), now += COMMIT + ROW + PATH);
	/* A folder is a row as well; a row that its own commit replaces counts once. */
	const struct cairn_index_operation again[] = {hx_put("f/b", "b"), hx_drop("f/b"), hx_put("f/b", "b"),
						      hx_put("f/b", "c")};
	ck_assert(hx_committed(one, "main", again, 4));
	ck_assert_uint_eq(held(one), now += COMMIT + ENTRY + ENTRY + 1 + 1);
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_TAG, "v1", head.id), CAIRN_OK);
	ck_assert_uint_eq(held(one), now += ROW + 2);
	ck_assert_int_eq(hx_drop_ref(one, CAIRN_INDEX_TAG, "v1"), CAIRN_OK);
	ck_assert_uint_eq(held(one), now -= ROW + 2);
	taken(1, box);
	now = held(box);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, path, 1, 0), CAIRN_OK);
	ck_assert_uint_eq(held(box), now + ROW + PATH);
	forget(1, hx_owner_of(box));
	ck_assert_uint_eq(held(box), REPO);
}
END_TEST

/* Over SQLite it is made in pieces, of which each counts. A refusal takes all of them back. */
START_TEST(a_large_commit_counts_once)
{
	enum { N = CAIRN_INDEX_OPERATIONS_AT_ONCE + 1, NAME = 7 };
	static char path[N][NAME];
	static struct cairn_index_operation all[N];
	int64_t one = hx_model("one");
	uint64_t now = held(one), rows = (uint64_t)N * (ROW + NAME - 1);
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(path[i], NAME, "f%05u", i);
		all[i] = hx_put(path[i], "x");
	}
	limit(0, one, now + rows / 2);
	hx_refused(one, "main", all, N, "quota.repo");
	ck_assert_uint_eq(held(one), now);
	limit(0, one, now + rows + COMMIT + 1);
	ck_assert(hx_committed(one, "main", all, N));
	ck_assert_uint_eq(held(one), now + rows + COMMIT + 1);
}
END_TEST

/* Over SQLite a repository with so many files is made in pieces, and counts for its account when it is there. */
START_TEST(a_large_copy_counts_once)
{
	enum { N = CAIRN_INDEX_OPERATIONS_AT_ONCE + 1, NAME = 7 };
	static char path[N][NAME];
	static struct cairn_index_operation all[N];
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_MODEL,
					   .account = hx_ann,
					   .name = "copy",
					   .first = HX_MESSAGE,
					   .operations = all,
					   .n = N};
	(void)hx_model("one");
	uint64_t now = quota_of(hx_ann, 0).account.stored_bytes, rows = (uint64_t)N * (ROW + NAME - 1);
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(path[i], NAME, "f%05u", i);
		all[i] = hx_put(path[i], "x");
	}
	uint64_t copy = REPO + rows + COMMIT + 1 + ROW + 4;
	limit(hx_ann, 0, now + copy - 1);
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_E_DENIED);
	ck_assert_str_eq(add.write.diag.rule, "quota.account");
	ck_assert_uint_eq(quota_of(hx_ann, 0).account.stored_bytes, now);
	limit(hx_ann, 0, now + copy);
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	ck_assert_uint_eq(quota_of(hx_ann, 0).account.stored_bytes, now + copy);
	ck_assert_uint_eq(held(add.id), copy);
}
END_TEST

START_TEST(pull_requests_count_with_their_texts)
{
	static char text[5001];
	int64_t one = hx_model("one");
	memset(text, 'x', sizeof(text) - 1);
	uint64_t now = held(one), pull = ROW + 1 + ROW + 8 + 5000;
	struct cairn_index_add_ref add = {.repo = one,
					  .kind = CAIRN_INDEX_PULL,
					  .base = "main",
					  .commit = hx_head(one, "main").id,
					  .account = hx_ann,
					  .first = HX_MESSAGE};
	add.first.message = text;
	limit(0, one, now + pull - 1);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_E_DENIED);
	limit(0, one, now + pull);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	ck_assert_uint_eq(held(one), now + pull);
	/* It can be closed although there is no room. */
	struct cairn_index_add_commit close = {
		.repo = one, .kind = CAIRN_INDEX_PULL, .ref = "1", .message = HX_MESSAGE, .ends = true};
	close.message.message = "no";
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &close), CAIRN_OK);
	ck_assert_uint_eq(held(one), now + pull + 2);
}
END_TEST

/* --- by strangers ------------------------------------------------------------------------------------------------- */

static struct cairn_index_add_commit stranger_commit(int64_t repo, int64_t account,
						     const struct cairn_index_operation *operations, uint32_t n)
{
	return (struct cairn_index_add_commit){.repo = repo,
					       .kind = CAIRN_INDEX_PULL,
					       .ref = "1",
					       .message = HX_MESSAGE,
					       .operations = operations,
					       .n = n,
					       .stranger = account};
}

static struct cairn_index_add_commit merge_of_first(int64_t repo, const struct cairn_index_operation *operations,
						    uint32_t n, char head[static CAIRN_GIT_OID_CHARS + 1])
{
	struct cairn_index_commit at;
	ck_assert_int_eq(cairn_index_ref(hx_index, repo, CAIRN_INDEX_PULL, "1", &at), CAIRN_OK);
	cairn_git_oid_text(head, &at.oid);
	struct cairn_index_add_commit merge = hx_request(repo, "main", operations, n);
	merge.merge = (struct cairn_index_merge){.pull = "1", .head = head};
	return merge;
}

/* Bytes of a pull request with HX_MESSAGE and number 1, and with one more letter of a path. */
enum { PULL = ROW + 1 + ROW + 8 };

/* The proposals of a stranger count for the stranger, at full size, until they are merged. */
START_TEST(a_strangers_pull_request_counts_for_the_stranger)
{
	char head[CAIRN_GIT_OID_CHARS + 1];
	int64_t one = hx_model("one"), bob = hx_add_account(CAIRN_INDEX_USER, "bob");
	ck_assert(hx_committed_one(one, "main", hx_put("k", "known")));
	uint64_t now = held(one), of_ann = hx_account_held(hx_ann);
	limit(0, one, now);
	/* Whether the repository has a text already must not show. */
	const struct cairn_index_operation some[] = {hx_put("a", "known"), hx_put("b", "12")}, more = hx_put("c", "3");
	uint64_t first = PULL + COMMIT + 2 * ENTRY + 7, second = COMMIT + ENTRY + 1;
	struct cairn_index_add_ref add = hx_stranger_pull(one, bob, some, 2);
	limit(bob, 0, first - 1);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_E_DENIED);
	ck_assert_str_eq(add.write.diag.rule, "quota.account");
	ck_assert_uint_eq(hx_account_held(bob), 0);
	limit(bob, 0, first);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	ck_assert_uint_eq(hx_account_held(bob), first);
	struct cairn_index_add_commit commit = stranger_commit(one, bob, &more, 1);
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &commit), CAIRN_E_DENIED);
	limit(bob, 0, first + second);
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &commit), CAIRN_OK);
	ck_assert_uint_eq(hx_account_held(bob), first + second);
	/* The repository pays nothing, except where it had the text: then others pay twice for it. */
	ck_assert_uint_eq(held(one), now - strlen("known"));
	ck_assert_uint_eq(hx_account_held(hx_ann), of_ann - strlen("known"));
	/* The merge needs room for all of it, and then nobody else pays. */
	struct cairn_index_add_commit merge = merge_of_first(one, some, 2, head);
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &merge), CAIRN_E_DENIED);
	ck_assert_str_eq(merge.write.diag.rule, "quota.repo");
	ck_assert_uint_eq(hx_account_held(bob), first + second);
	limit(0, one, CAIRN_INDEX_NO_QUOTA);
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &merge), CAIRN_OK);
	ck_assert_uint_eq(hx_account_held(bob), 0);
	ck_assert_uint_ge(held(one), now + first + second - strlen("known") + COMMIT);
	ck_assert_uint_eq(hx_account_held(hx_ann), of_ann + held(one) - now);
}
END_TEST

/* Squashed by somebody who may write, it is the repository's. A closed one still counts for the stranger. */
START_TEST(a_squash_takes_it_over_and_a_close_does_not)
{
	int64_t one = hx_model("one"), bob = hx_add_account(CAIRN_INDEX_USER, "bob");
	const struct cairn_index_operation some = hx_put("a", "12");
	struct cairn_index_add_ref add = hx_stranger_pull(one, bob, &some, 1);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	uint64_t both = hx_account_held(bob), now = held(one);
	struct cairn_index_squash squash = {.repo = one, .kind = CAIRN_INDEX_PULL, .name = "2", .message = HX_MESSAGE};
	ck_assert_int_eq(cairn_index_squash(hx_index, &squash), CAIRN_OK);
	ck_assert_uint_eq(hx_account_held(bob), both / 2);
	ck_assert_uint_gt(held(one), now + both / 2);
	struct cairn_index_add_commit close = stranger_commit(one, bob, NULL, 0);
	close.ends = true;
	close.message.message = "no";
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &close), CAIRN_OK);
	ck_assert_uint_eq(hx_account_held(bob), both / 2 + 2);
}
END_TEST

static void open_and_close(int64_t repo, int64_t account)
{
	char name[24];
	struct cairn_index_add_ref add = hx_stranger_pull(repo, account, NULL, 0);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	(void)snprintf(name, sizeof(name), "%d", (int)add.number);
	struct cairn_index_add_commit close = stranger_commit(repo, account, NULL, 0);
	close.ref = name;
	close.ends = true;
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &close), CAIRN_OK);
}

START_TEST(strangers_open_so_many_and_no_more)
{
	char name[8];
	int64_t one = hx_model("one"), two = hx_model("two"), bob = hx_add_account(CAIRN_INDEX_USER, "bob");
	struct cairn_index_add_ref add = hx_stranger_pull(one, bob, NULL, 0);
	for (int i = 0; i < CAIRN_INDEX_STRANGER_OPEN_MAX; i++)
		ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_E_DENIED);
	ck_assert_str_eq(add.write.diag.rule, "pr.many");
	/* Writers are not counted, and the one repository says nothing of the other. */
	add.is_stranger = false;
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	for (int i = CAIRN_INDEX_STRANGER_OPEN_MAX; i < CAIRN_INDEX_STRANGER_PULLS_MAX; i++)
		open_and_close(two, bob);
	add = hx_stranger_pull(two, bob, NULL, 0);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_E_DENIED);
	for (int i = CAIRN_INDEX_STRANGER_OPEN_MAX; i < CAIRN_INDEX_STRANGERS_OPEN_MAX; i++) {
		(void)snprintf(name, sizeof(name), "x%d", i / CAIRN_INDEX_STRANGER_OPEN_MAX);
		int64_t other =
			i % CAIRN_INDEX_STRANGER_OPEN_MAX == 0 ? hx_add_account(CAIRN_INDEX_USER, name) : add.account;
		add = hx_stranger_pull(one, other, NULL, 0);
		ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	}
	add = hx_stranger_pull(one, hx_add_account(CAIRN_INDEX_USER, "last"), NULL, 0);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_E_DENIED);
	add = hx_stranger_pull(two, add.account, NULL, 0);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
}
END_TEST

/* A pull request that grows and grows ends at a limit of its own, also without a quota. */
START_TEST(a_strangers_pull_request_has_a_limit)
{
	enum { N = CAIRN_INDEX_STRANGER_BYTES_MAX / CAIRN_INDEX_INLINE_MAX };
	static char text[CAIRN_INDEX_INLINE_MAX + 1];
	static char path[N][8];
	static struct cairn_index_operation all[N];
	int64_t one = hx_model("one"), bob = hx_add_account(CAIRN_INDEX_USER, "bob");
	memset(text, 'x', CAIRN_INDEX_INLINE_MAX);
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(path[i], sizeof(path[i]), "f%u", i);
		all[i] = hx_put(path[i], text);
	}
	struct cairn_index_add_ref add = hx_stranger_pull(one, bob, all, N - 1);
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	struct cairn_index_add_commit commit = stranger_commit(one, bob, &all[N - 1], 1);
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &commit), CAIRN_E_LIMIT);
	ck_assert_str_eq(commit.write.diag.rule, "pr.full");
}
END_TEST

START_TEST(copied_rows_count)
{
	char name[8], before[8] = "main";
	int64_t one = hx_model("one");
	ck_assert(hx_committed_one(one, "main", hx_put("a", "1")));
	for (int i = 2; i <= CAIRN_INDEX_LINE_DEPTH_MAX; i++) {
		(void)snprintf(name, sizeof(name), "b%d", i);
		ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, name, hx_head(one, before).id), CAIRN_OK);
		ck_assert(hx_committed_one(one, name, hx_put(name, "1")));
		memcpy(before, name, sizeof(before));
	}
	uint64_t now = held(one), all = ROW + 14 + ENTRY + (CAIRN_INDEX_LINE_DEPTH_MAX - 1) * (ROW + 2);
	limit(hx_ann, 0, quota_of(hx_ann, 0).account.stored_bytes + all + ROW + 4 - 1);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "last", hx_head(one, before).id), CAIRN_E_DENIED);
	limit(hx_ann, 0, CAIRN_INDEX_NO_QUOTA);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "last", hx_head(one, before).id), CAIRN_OK);
	ck_assert_uint_eq(held(one), now + all + ROW + 4);
	/* A squash copies the rows of its branch. The collection takes the former ones away. */
	now = held(one);
	limit(0, one, 1);
	struct cairn_index_squash squash = {
		.repo = one, .kind = CAIRN_INDEX_BRANCH, .name = "last", .message = HX_MESSAGE};
	ck_assert_int_eq(cairn_index_squash(hx_index, &squash), CAIRN_OK);
	ck_assert_uint_eq(held(one), now + all + COMMIT);
	sweep();
	ck_assert_uint_eq(held(one), now + COMMIT);
}
END_TEST

START_TEST(over_the_quota_writes_that_add_nothing_succeed)
{
	static char long_text[2000];
	int64_t one = hx_model("one"), box = hx_bucket("box");
	hx_uploaded(1, hx_owner_of(one));
	ck_assert(hx_committed_one(one, "main", hx_put_file("x", 1)));
	ck_assert(hx_committed_one(one, "main", hx_put("a", "text")));
	taken(2, box);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, "a", 2, 0), CAIRN_OK);
	limit(hx_ann, 0, 0);
	limit(0, one, 0);
	hx_refused_one(one, hx_put("b", "more"), "quota.repo");
	hx_refused_one(one, hx_put("b", "text"), "quota.repo");
	hx_refused_one(one, hx_put_file("y", 1), "quota.repo");
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_TAG, "t", hx_head(one, "main").id), CAIRN_E_DENIED);
	memset(long_text, 'x', sizeof(long_text) - 1);
	ck_assert_int_eq(commit_text(one, hx_drop("x"), long_text), CAIRN_E_DENIED);
	ck_assert(hx_committed_one(one, "main", hx_drop("x")));
	/* A text that is written and dropped by one request makes no commit. */
	const struct cairn_index_operation around[] = {hx_put("z", "a new text"), hx_drop("z")};
	ck_assert(!hx_committed(one, "main", around, 2));
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, "b", 2, 0), CAIRN_E_DENIED);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, "a", 2, 0), CAIRN_OK);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_DROP, "a", 0, 0), CAIRN_OK);
	forget(1, hx_owner_of(one));
	struct cairn_index_add_repo add = {
		.kind = CAIRN_INDEX_MODEL, .account = hx_ann, .name = "text", .first = HX_MESSAGE};
	const struct cairn_index_operation first = hx_put("README.md", "1");
	add.operations = &first;
	add.n = 1;
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_E_DENIED);
	ck_assert_str_eq(add.write.diag.rule, "quota.account");
}
END_TEST

START_TEST(copies_count_for_their_target)
{
	int64_t team = hx_add_account(CAIRN_INDEX_ORGANISATION, "team"), one = hx_model("one");
	int64_t box = hx_bucket("box"), other = hx_bucket("other");
	hx_uploaded(1, hx_owner_of(one));
	taken(1, box);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, "a", 1, 0), CAIRN_OK);
	uint64_t size = size_of_file(1), now = quota_of(hx_ann, 0).account.stored_bytes;
	limit(hx_ann, 0, now + size + ENTRY - 1);
	ck_assert_int_eq(change(other, CAIRN_INDEX_OBJECT_COPY, "a", 1, box), CAIRN_E_DENIED);
	limit(hx_ann, 0, now + size + ENTRY + FIRST_BYTES);
	ck_assert_int_eq(change(other, CAIRN_INDEX_OBJECT_COPY, "a", 1, box), CAIRN_OK);
	ck_assert_uint_eq(held(other), REPO + size + ENTRY);
	/* A repository that is made as a copy of another one. */
	const struct cairn_index_operation operation = hx_put_file("x", 1);
	uint64_t copied = REPO + size + COMMIT + ENTRY + ROW + 4;
	limit(team, 0, copied - 1);
	for (int times = 0; times < 2; times++) {
		struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_MODEL,
						   .account = team,
						   .name = "copy",
						   .first = HX_MESSAGE,
						   .operations = &operation,
						   .n = 1,
						   .source = one};
		ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), times == 0 ? CAIRN_E_DENIED : CAIRN_OK);
		limit(team, 0, copied);
	}
	ck_assert_uint_eq(quota_of(team, 0).account.stored_bytes, copied);
	/* A file that an operator shares with another repository. */
	struct cairn_index_share_file share = {.hash = fx_hash("file", 1), .owner = hx_owner_of(hx_model("two"))};
	ck_assert_int_eq(cairn_index_share_file(hx_index, &share), CAIRN_E_DENIED);
	limit(hx_ann, 0, CAIRN_INDEX_NO_QUOTA);
	ck_assert_int_eq(cairn_index_share_file(hx_index, &share), CAIRN_OK);
	ck_assert(share.shared);
}
END_TEST

START_TEST(a_moved_repository_counts_in_its_new_account)
{
	int64_t team = hx_add_account(CAIRN_INDEX_ORGANISATION, "team"), one = hx_model("one");
	taken(1, one);
	uint64_t size = FIRST_BYTES + size_of_file(1), moved = size + FORMER;
	limit(team, 0, moved - 1);
	struct cairn_index_move_repo move = {.id = one, .account = team, .name = "one"};
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_E_DENIED);
	ck_assert_str_eq(move.write.diag.rule, "quota.account");
	ck_assert_uint_eq(quota_of(hx_ann, 0).account.stored_bytes, size);
	limit(team, 0, moved);
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	ck_assert_uint_eq(quota_of(hx_ann, 0).account.stored_bytes, 0);
	ck_assert_uint_eq(quota_of(team, one).account.stored_bytes, moved);
	ck_assert_int_eq(quota_of(hx_ann, one).kind, 0);
	/* Back under its former name it needs the same room, also where its quota was lowered below its size. */
	limit(0, one, 1);
	limit(hx_ann, 0, moved);
	move.account = hx_ann;
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	ck_assert_uint_eq(held(one), moved);
	ck_assert_uint_eq(quota_of(team, 0).account.stored_bytes, 0);
}
END_TEST

/* --- repositories and names --------------------------------------------------------------------------------------- */

static enum cairn_status add_as(enum cairn_index_repo_kind kind, const char *name, const char **rule)
{
	struct cairn_index_add_repo add = {.kind = kind, .account = hx_ann, .name = name, .first = HX_MESSAGE};
	enum cairn_status status = cairn_index_add_repo(hx_index, &add);
	*rule = add.write.diag.rule;
	return status;
}

static enum cairn_status rename_as(int64_t repo, const char *name, const char **rule)
{
	struct cairn_index_move_repo move = {.id = repo, .account = hx_ann, .name = name};
	enum cairn_status status = cairn_index_move_repo(hx_index, &move);
	*rule = move.write.diag.rule;
	return status;
}

static void renamed(int64_t repo, const char *name)
{
	const char *rule;
	ck_assert_int_eq(rename_as(repo, name, &rule), CAIRN_OK);
}

/* Attack: empty buckets without end, each of which takes rows of the index. */
START_TEST(an_empty_repository_counts)
{
	const char *rule;
	int64_t box = hx_bucket("box");
	ck_assert_uint_eq(held(box), REPO);
	limit(hx_ann, 0, 2 * REPO - 1);
	ck_assert_int_eq(add_as(CAIRN_INDEX_BUCKET, "more", &rule), CAIRN_E_DENIED);
	ck_assert_str_eq(rule, "quota.account");
	limit(hx_ann, 0, 2 * REPO);
	ck_assert_int_eq(add_as(CAIRN_INDEX_BUCKET, "more", &rule), CAIRN_OK);
	limit(hx_ann, 0, 3 * REPO + COMMIT + ROW + 4 - 1);
	ck_assert_int_eq(add_as(CAIRN_INDEX_SPACE, "more", &rule), CAIRN_E_DENIED);
	ck_assert_str_eq(rule, "quota.account");
	/* A repository can be dropped whatever the quota, and gives its bytes back. */
	limit(hx_ann, 0, 0);
	struct cairn_index_drop_repo drop = {.id = box};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(quota_of(hx_ann, 0).account.stored_bytes, REPO);
}
END_TEST

/* Attack: a repository is renamed without end, and each name still leads to it. */
START_TEST(each_former_name_counts_for_its_repository)
{
	const char *rule;
	int64_t box = hx_bucket("box");
	renamed(box, "second");
	renamed(box, "third");
	ck_assert_uint_eq(held(box), REPO + 2 * FORMER);
	limit(0, box, REPO + 3 * FORMER - 1);
	ck_assert_int_eq(rename_as(box, "fourth", &rule), CAIRN_E_DENIED);
	ck_assert_str_eq(rule, "quota.repo");
	limit(0, box, CAIRN_INDEX_NO_QUOTA);
	limit(hx_ann, 0, REPO + 3 * FORMER - 1);
	ck_assert_int_eq(rename_as(box, "fourth", &rule), CAIRN_E_DENIED);
	ck_assert_str_eq(rule, "quota.account");
	ck_assert_uint_eq(held(box), REPO + 2 * FORMER);
	/* Neither a former name of its own nor the same name in other letters is one more. */
	renamed(box, "box");
	renamed(box, "BOX");
	renamed(box, "BOX");
	ck_assert_uint_eq(held(box), REPO + 2 * FORMER);
	/* The name of another repository changes nothing. */
	limit(hx_ann, 0, CAIRN_INDEX_NO_QUOTA);
	(void)hx_bucket("other");
	ck_assert_int_eq(rename_as(box, "other", &rule), CAIRN_E_CONFLICT);
	ck_assert_uint_eq(held(box), REPO + 2 * FORMER);
	struct cairn_index_drop_repo drop = {.id = box};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(quota_of(hx_ann, 0).account.stored_bytes, REPO);
}
END_TEST

START_TEST(a_name_that_is_given_again_gives_its_bytes_back)
{
	enum { N = CAIRN_INDEX_OPERATIONS_AT_ONCE + 1, NAME = 7 };
	static char path[N][NAME];
	static struct cairn_index_operation all[N];
	const char *rule;
	int64_t one = hx_model("one"), other = hx_model("other"), box = hx_bucket("one");
	renamed(one, "second");
	renamed(one, "third");
	renamed(one, "fourth");
	renamed(box, "box");
	ck_assert_uint_eq(held(one), FIRST_BYTES + 3 * FORMER);
	ck_assert_int_eq(add_as(CAIRN_INDEX_MODEL, "One", &rule), CAIRN_OK);
	ck_assert_uint_eq(held(one), FIRST_BYTES + 2 * FORMER);
	renamed(other, "second");
	ck_assert_uint_eq(held(one), FIRST_BYTES + FORMER);
	ck_assert_uint_eq(held(other), FIRST_BYTES + FORMER);
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(path[i], NAME, "f%05u", i);
		all[i] = hx_put(path[i], "x");
	}
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_MODEL,
					   .account = hx_ann,
					   .name = "third",
					   .first = HX_MESSAGE,
					   .operations = all,
					   .n = N};
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	ck_assert_uint_eq(held(one), FIRST_BYTES);
	ck_assert_uint_eq(held(box), REPO + FORMER);
}
END_TEST

/* An organisation's names for what a member took along go with the member. */
START_TEST(names_of_a_former_member_give_their_bytes_back)
{
	int64_t team = hx_add_account(CAIRN_INDEX_ORGANISATION, "team"), one = hx_model("one");
	struct cairn_index_set_member set = {.organisation = "team", .user = "Ann", .role = CAIRN_INDEX_ROLE_ADMIN};
	ck_assert_int_eq(cairn_index_set_member(hx_index, &set), CAIRN_OK);
	struct cairn_index_move_repo move = {.id = one, .account = team, .name = "one"};
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	move.name = "two";
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	move = (struct cairn_index_move_repo){.id = one, .account = hx_ann, .name = "three"};
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	ck_assert_uint_eq(held(one), FIRST_BYTES + 3 * FORMER);
	set.role = CAIRN_INDEX_ROLE_NONE;
	ck_assert_int_eq(cairn_index_set_member(hx_index, &set), CAIRN_OK);
	ck_assert_uint_eq(held(one), FIRST_BYTES + FORMER);
}
END_TEST

struct committer {
	pthread_t thread;
	int64_t repo;
	const char *path;
	enum cairn_status status;
};

static void *committer_run(void *ctx)
{
	struct committer *c = ctx;
	const struct cairn_index_operation operation = hx_put(c->path, c->path);
	struct cairn_index_add_commit request = hx_request(c->repo, "main", &operation, 1);
	c->status = cairn_index_add_commit(hx_index, &request);
	return NULL;
}

/* In whatever batches the commits run. */
START_TEST(of_many_at_once_as_many_pass_as_there_is_room_for)
{
	enum { N = 8, ROOM = 3, BYTES = 2 + ROW + 2 + COMMIT };
	static const char *const PATHS[N] = {"p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"};
	struct committer all[N];
	int64_t repo[2] = {hx_model("one"), hx_model("two")};
	unsigned n_passed = 0;
	limit(hx_ann, 0, 2 * FIRST_BYTES + ROOM * BYTES + 1);
	for (unsigned i = 0; i < N; i++) {
		all[i] = (struct committer){.repo = repo[i % 2], .path = PATHS[i]};
		ck_assert_int_eq(pthread_create(&all[i].thread, NULL, committer_run, &all[i]), 0);
	}
	for (unsigned i = 0; i < N; i++) {
		ck_assert_int_eq(pthread_join(all[i].thread, NULL), 0);
		n_passed += all[i].status == CAIRN_OK;
		ck_assert(all[i].status == CAIRN_OK || all[i].status == CAIRN_E_DENIED);
	}
	ck_assert_uint_eq(n_passed, ROOM);
	ck_assert_uint_eq(quota_of(hx_ann, 0).account.stored_bytes, 2 * FIRST_BYTES + ROOM * BYTES);
}
END_TEST

static void take_room(void *ctx, const struct cairn_index_account *account)
{
	*(struct cairn_index_room *)ctx = account->room;
}

START_TEST(set_told_and_taken_away)
{
	int64_t one = hx_model("one"), next;
	struct cairn_index_room room;
	struct cairn_index_quota quota = quota_of(hx_ann, one);
	ck_assert_uint_eq(quota.account.limit_bytes, CAIRN_INDEX_NO_QUOTA);
	ck_assert_uint_eq(quota.repo.limit_bytes, CAIRN_INDEX_NO_QUOTA);
	ck_assert_str_eq(quota.account_name, "Ann");
	ck_assert_str_eq(quota.repo_name, "one");
	limit(hx_ann, 0, INT64_MAX);
	limit(0, one, 0);
	quota = quota_of(hx_ann, one);
	ck_assert_uint_eq(quota.account.limit_bytes, INT64_MAX);
	ck_assert_uint_eq(quota.repo.limit_bytes, 0);
	ck_assert_int_eq(cairn_index_each_account(hx_index, 0, 100, take_room, &room, &next), CAIRN_OK);
	ck_assert_uint_eq(room.limit_bytes, INT64_MAX);
	ck_assert_uint_eq(room.stored_bytes, FIRST_BYTES);
	struct cairn_index_set_quota set = {.account = 99, .limit_bytes = 1};
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(set.write.diag.rule, "account.unknown");
	set = (struct cairn_index_set_quota){.repo = 99, .limit_bytes = 1};
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(set.write.diag.rule, "repo.unknown");
	ck_assert_int_eq(cairn_index_quota(hx_index, 99, 0, &quota), CAIRN_E_NOT_FOUND);
}
END_TEST

/* --- owners that are no repository of the hub --------------------------------------------------------------------- */

static const char CATS[] = "models/zoe/cats", DOGS[] = "datasets/zoe/dogs";

static void limit_owner(const char *owner, uint64_t bytes)
{
	struct cairn_index_set_quota set = {.owner = owner, .limit_bytes = bytes};
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_OK);
}

static struct cairn_index_room room_of(const char *owner)
{
	struct cairn_index_room room;
	ck_assert_int_eq(cairn_index_owner_quota(hx_index, owner, true, &room), CAIRN_OK);
	return room;
}

static void owner_holds(const char *owner, uint64_t bytes)
{
	ck_assert_uint_eq(room_of(owner).stored_bytes, bytes);
}

START_TEST(an_owner_without_a_repository_has_one_too)
{
	const char *rule;
	struct cairn_index_room room;
	ck_assert_int_eq(cairn_index_owner_quota(hx_index, CATS, false, &room), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(upload_as(1, CATS, &rule), CAIRN_OK);
	uint64_t first = size_of_file(1);
	ck_assert_uint_eq(room_of(CATS).limit_bytes, CAIRN_INDEX_NO_QUOTA);
	owner_holds(CATS, first);
	ck_assert_int_eq(cairn_index_owner_quota(hx_index, CATS, false, &room), CAIRN_OK);
	ck_assert_uint_eq(room.stored_bytes, 0);
	/* Setting the first quota adds up the files that are there. Each file counts once. */
	limit_owner(CATS, first);
	ck_assert_uint_eq(room_of(CATS).limit_bytes, first);
	owner_holds(CATS, first);
	ck_assert_int_eq(upload_as(1, CATS, &rule), CAIRN_OK);
	ck_assert_int_eq(upload_as(2, CATS, &rule), CAIRN_E_DENIED);
	ck_assert_str_eq(rule, "quota.repo");
	owner_holds(CATS, first);
	ck_assert_int_eq(upload_as(2, DOGS, &rule), CAIRN_OK);
	ck_assert_int_eq(upload_as(2, "", &rule), CAIRN_OK);
	uint64_t second = size_of_file(2);
	/* A file counts in full even if others have it, too. */
	limit_owner(CATS, first + second - 1);
	ck_assert_int_eq(upload_as(2, CATS, &rule), CAIRN_E_DENIED);
	limit_owner(CATS, first + second);
	ck_assert_int_eq(upload_as(2, CATS, &rule), CAIRN_OK);
	owner_holds(CATS, first + second);
}
END_TEST

START_TEST(an_owner_regains_the_bytes_of_forgotten_files)
{
	const char *rule;
	limit_owner(CATS, 1 << 30); /* before the owner's first upload */
	owner_holds(CATS, 0);
	for (uint64_t i = 1; i <= 3; i++)
		ck_assert_int_eq(upload_as(i, CATS, &rule), CAIRN_OK);
	ck_assert_int_eq(upload_as(1, DOGS, &rule), CAIRN_OK);
	uint64_t first = size_of_file(1), second = size_of_file(2), third = size_of_file(3);
	owner_holds(CATS, first + second + third);
	forget(1, DOGS);
	owner_holds(CATS, first + second + third);
	forget(1, CATS);
	owner_holds(CATS, second + third);
	forget(2, NULL);
	owner_holds(CATS, third);
	/* A shared file counts, too. */
	struct cairn_index_share_file share = {.hash = fx_hash("file", 3), .owner = DOGS};
	limit_owner(DOGS, third - 1);
	ck_assert_int_eq(cairn_index_share_file(hx_index, &share), CAIRN_E_DENIED);
	ck_assert_str_eq(share.write.diag.rule, "quota.repo");
	owner_holds(DOGS, 0);
	limit_owner(DOGS, third);
	ck_assert_int_eq(cairn_index_share_file(hx_index, &share), CAIRN_OK);
	owner_holds(DOGS, third);
	/* Over its quota an owner takes no more files. Without one nothing is counted; the next quota counts again. */
	limit_owner(CATS, 0);
	ck_assert_int_eq(upload_as(4, CATS, &rule), CAIRN_E_DENIED);
	limit_owner(CATS, CAIRN_INDEX_NO_QUOTA);
	ck_assert_int_eq(upload_as(4, CATS, &rule), CAIRN_OK);
	limit_owner(CATS, 7);
	owner_holds(CATS, third + size_of_file(4));
}
END_TEST

struct told_quotas {
	char text[512];
};

static void told_quota(void *ctx, const char *place, const struct cairn_index_room *room)
{
	struct told_quotas *t = ctx;
	size_t len = strlen(t->text);
	(void)snprintf(t->text + len, sizeof(t->text) - len, "%s %d/%d;", place, (int)room->stored_bytes,
		       (int)room->limit_bytes);
}

static void quotas_are(const char *after, uint32_t limit, bool more, const char *text)
{
	struct told_quotas t = {.text = ""};
	bool further = !more;
	ck_assert_int_eq(cairn_index_each_quota(hx_index, after, limit, told_quota, &t, &further), CAIRN_OK);
	ck_assert_str_eq(t.text, text);
	ck_assert(further == more);
}

START_TEST(all_that_have_one_are_listed)
{
	int64_t one = hx_model("one");
	(void)hx_model("two");
	quotas_are(NULL, 10, false, "");
	limit(hx_ann, 0, 500);
	limit(0, one, 400);
	limit_owner(CATS, 300);
	limit_owner(DOGS, 200);
	limit_owner("models/Ann/one", 100); /* the quota of the hub's repository */
	quotas_are(NULL, 10, false,
		   "Ann 2908/500;datasets/zoe/dogs 0/200;models/Ann/one 1454/400;models/zoe/cats 0/300;");
	quotas_are(NULL, 4, false,
		   "Ann 2908/500;datasets/zoe/dogs 0/200;models/Ann/one 1454/400;models/zoe/cats 0/300;");
	quotas_are(NULL, 2, true, "Ann 2908/500;datasets/zoe/dogs 0/200;");
	quotas_are("datasets/zoe/dogs", 1, true, "models/Ann/one 1454/400;");
	quotas_are("models/Ann/one", 2, false, "models/zoe/cats 0/300;");
	limit_owner(CATS, CAIRN_INDEX_NO_QUOTA);
	struct cairn_index_drop_repo drop = {.id = one};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	quotas_are("Ann", 9, false, "datasets/zoe/dogs 0/200;models/Ann/one 0/100;");
}
END_TEST

START_TEST(the_refusal_names_the_place_and_both_values)
{
	struct cairn_diag diag = {0};
	struct cairn_index_quota quota = {.account_name = "ann",
					  .kind = CAIRN_INDEX_DATASET,
					  .repo_name = "one",
					  .repo = {.limit_bytes = 10, .stored_bytes = 4},
					  .account = {.limit_bytes = CAIRN_INDEX_NO_QUOTA, .stored_bytes = 4}};
	ck_assert_int_eq(cairn_index_quota_check(&quota, 6, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_index_quota_check(&quota, 7, &diag), CAIRN_E_DENIED);
	ck_assert_str_eq(diag.rule, "quota.repo");
	ck_assert_str_eq(diag.text, "Quota exceeded: datasets/ann/one may hold 10 bytes, and would hold 11. Delete "
				    "what is not needed, or ask the operator for more");
	quota.repo.limit_bytes = CAIRN_INDEX_NO_QUOTA;
	ck_assert_int_eq(cairn_index_quota_check(&quota, UINT64_MAX, &diag), CAIRN_OK);
	quota.account.limit_bytes = INT64_MAX;
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(cairn_index_quota_check(&quota, UINT64_MAX, &diag), CAIRN_E_DENIED);
	ck_assert_str_eq(diag.rule, "quota.account");
	ck_assert_str_eq(diag.text,
			 "Quota exceeded: the account ann may hold 9223372036854775807 bytes, and would hold "
			 "18446744073709551615. Delete what is not needed, or ask the operator for more");
}
END_TEST

/* Terms do not count. docs/operations.md says how much of the index they take. */
START_TEST(a_term_takes_24_bytes)
{
	enum { N_TERMS = 16 };
	struct fx_xorb x = fx_xorb_new(1, N_TERMS);
	struct fx_shard s;
	fx_xorb_put(hx_index, &x);
	fx_shard_init(&s, 1);
	s.owner = hx_owner_of(hx_model("one"));
	fx_shard_xorb(&s, &x, 0);
	struct fx_file *file = fx_shard_file(&s, 1, &x, 0, 1);
	for (uint32_t i = 1; i < N_TERMS; i++)
		fx_shard_term(file, &x, i, i + 1);
	ck_assert_int_eq(fx_shard_put(hx_index, &s), CAIRN_OK);
	if (!cairn_index_is_remote(hx_index))
		fx_sql(hx_folder(),
		       "SELECT json(iif((SELECT max(length(terms)) FROM file) = 24 * 16, '1', 'another length'))");
	fx_xorb_fini(&x);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_quota");
	TCase *t = tcase_create("index_quota");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_set_timeout(t, 20); /* for the bounds on strangers, write by write */
	tcase_add_test(t, each_file_and_each_text_counts_once);
	tcase_add_test(t, one_shard_with_a_file_twice_counts_it_once);
	tcase_add_test(t, removed_objects_free_their_quota);
	tcase_add_test(t, up_to_the_last_byte);
	tcase_add_test(t, rows_count_with_their_texts);
	tcase_add_test(t, a_large_commit_counts_once);
	tcase_add_test(t, a_large_copy_counts_once);
	tcase_add_test(t, pull_requests_count_with_their_texts);
	tcase_add_test(t, a_strangers_pull_request_counts_for_the_stranger);
	tcase_add_test(t, a_squash_takes_it_over_and_a_close_does_not);
	tcase_add_test(t, strangers_open_so_many_and_no_more);
	tcase_add_test(t, a_strangers_pull_request_has_a_limit);
	tcase_add_test(t, copied_rows_count);
	tcase_add_test(t, over_the_quota_writes_that_add_nothing_succeed);
	tcase_add_test(t, copies_count_for_their_target);
	tcase_add_test(t, a_moved_repository_counts_in_its_new_account);
	tcase_add_test(t, an_empty_repository_counts);
	tcase_add_test(t, each_former_name_counts_for_its_repository);
	tcase_add_test(t, a_name_that_is_given_again_gives_its_bytes_back);
	tcase_add_test(t, names_of_a_former_member_give_their_bytes_back);
	tcase_add_test(t, of_many_at_once_as_many_pass_as_there_is_room_for);
	tcase_add_test(t, set_told_and_taken_away);
	tcase_add_test(t, an_owner_without_a_repository_has_one_too);
	tcase_add_test(t, an_owner_regains_the_bytes_of_forgotten_files);
	tcase_add_test(t, all_that_have_one_are_listed);
	tcase_add_test(t, the_refusal_names_the_place_and_both_values);
	tcase_add_test(t, a_term_takes_24_bytes);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
