/* Quotas: bytes of accounts and repositories are counted exactly, and the writer refuses more. The fixture examines the
 * index at the end of each test: it computes from the rows how much each repository has. */
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/index_quota_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Does what upload_as() does, for the owner of a repository. */
static enum cairn_status upload(uint64_t number, int64_t repo, const char **rule)
{
	return fx_upload(hx_index, number, hx_owner_of(repo), rule);
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

START_TEST(each_file_and_each_text_counts_once)
{
	int64_t one = hx_model("one"), two = hx_model("two");
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES);
	hx_uploaded(1, hx_owner_of(one));
	uint64_t size = qx_size_of_file(1);
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES + size);
	/* the same file again: with another claim, under two paths, and in another repository */
	hx_uploaded(1, hx_owner_of(one));
	taken(1, one);
	const struct cairn_index_operation some[] = {hx_put_file("a", 1), hx_put_file("b", 1), hx_put("c", "text"),
						     hx_put("d", "text")};
	ck_assert(hx_committed(one, "main", some, 4));
	uint64_t rows = QX_COMMIT + 4 * QX_ENTRY;
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES + size + rows + 4);
	taken(1, two);
	hx_uploaded(1, hx_owner_of(two));
	ck_assert_uint_eq(qx_held(two), QX_FIRST_BYTES + size);
	ck_assert_uint_eq(qx_quota_of(hx_ann, 0).account.stored_bytes,
			  (uint64_t)2 * (QX_FIRST_BYTES + size) + rows + 4);
	ck_assert_int_eq(qx_quota_of(hx_ann, 0).kind, 0);
	/* files and texts of earlier commits still count */
	ck_assert(hx_committed_one(one, "main", hx_drop("c")));
	ck_assert(hx_committed_one(one, "main", hx_drop("a")));
	rows += 2 * (QX_COMMIT + QX_ENTRY);
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES + size + rows + 4);
	qx_forget(1, hx_owner_of(one));
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES + rows + 4);
	ck_assert_uint_eq(qx_held(two), QX_FIRST_BYTES + size);
	qx_forget(1, NULL);
	ck_assert_uint_eq(qx_held(two), QX_FIRST_BYTES);
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
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES + qx_size_of_file(1));
}
END_TEST

START_TEST(removed_objects_free_their_quota)
{
	int64_t one = hx_model("one"), box = hx_bucket("box");
	taken(1, box);
	taken(2, box);
	uint64_t first = qx_size_of_file(1), second = qx_size_of_file(2);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, "a", 1, 0), CAIRN_OK);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, "b", 1, 0), CAIRN_OK);
	ck_assert_uint_eq(qx_held(box), QX_REPO + first + second + 2 * QX_ENTRY);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, "a", 2, 0), CAIRN_OK);
	ck_assert_uint_eq(qx_held(box), QX_REPO + first + second + 2 * QX_ENTRY);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_DROP, "b", 0, 0), CAIRN_OK);
	ck_assert_uint_eq(qx_held(box), QX_REPO + second + QX_ENTRY);
	/* a file that was uploaded but never got a path */
	taken(3, box);
	ck_assert_uint_eq(qx_held(box), QX_REPO + second + QX_ENTRY + qx_size_of_file(3));
	hx_sweep_all(-10);
	ck_assert_uint_eq(qx_held(box), QX_REPO + second + QX_ENTRY);
	/* Removing a line that no ref reaches frees its texts. */
	struct cairn_index_commit head = hx_head(one, "main");
	struct cairn_index_add_ref branch = {.repo = one, .kind = CAIRN_INDEX_BRANCH, .name = "dev", .commit = head.id};
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &branch), CAIRN_OK);
	ck_assert(hx_committed_one(one, "dev", hx_put("a", "some text")));
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES + 9 + QX_ROW + 3 + QX_COMMIT + QX_ENTRY);
	struct cairn_index_drop_ref drop_ref = {.repo = one, .kind = CAIRN_INDEX_BRANCH, .name = "dev"};
	ck_assert_int_eq(cairn_index_drop_ref(hx_index, &drop_ref), CAIRN_OK);
	hx_sweep_all(-10);
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES);
	/* A deleted repository stops counting at once. */
	struct cairn_index_drop_repo drop = {.id = box};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(qx_quota_of(hx_ann, 0).account.stored_bytes, QX_FIRST_BYTES);
	hx_sweep_all(-10);
}
END_TEST

START_TEST(up_to_the_last_byte)
{
	int64_t one = hx_model("one"), two = hx_model("two");
	taken(1, two);
	uint64_t size = qx_size_of_file(1), account = (uint64_t)2 * QX_FIRST_BYTES + 2 * size;
	qx_limit(0, one, QX_FIRST_BYTES + size - 1);
	refused(1, one, "quota.repo");
	ck_assert_uint_eq(qx_held(one), QX_FIRST_BYTES);
	qx_limit(0, one, QX_FIRST_BYTES + size);
	qx_limit(hx_ann, 0, account - 1);
	refused(1, one, "quota.account");
	qx_limit(hx_ann, 0, account);
	taken(1, one);
	ck_assert_uint_eq(qx_quota_of(hx_ann, one).account.stored_bytes, account);
	ck_assert_uint_eq(qx_quota_of(hx_ann, one).account.limit_bytes, account);
	/* a full repository accepts a file that it has already, but no new inline text */
	taken(1, one);
	hx_refused_one(one, hx_put("a", "1"), "quota.repo");
	hx_refused_one(two, hx_put("a", "1"), "quota.account");
	qx_limit(0, one, CAIRN_INDEX_NO_QUOTA);
	qx_limit(hx_ann, 0, CAIRN_INDEX_NO_QUOTA);
	ck_assert(hx_committed_one(one, "main", hx_put("a", "1")));
}
END_TEST

static enum cairn_status commit_text(int64_t repo, struct cairn_index_operation operation, const char *text)
{
	struct cairn_index_add_commit request = hx_request(repo, "main", &operation, 1);
	request.message.message = text;
	return cairn_index_add_commit(hx_index, &request);
}

/* Attacks that a quota must count: long texts, long paths to one file, tags, and copied rows of a branch. */
START_TEST(rows_count_with_their_texts)
{
	enum { TEXT = 60000, PATH = 900 };
	static char text[TEXT + 1], path[PATH + 1];
	int64_t one = hx_model("one"), box = hx_bucket("box");
	memset(text, 'x', TEXT);
	memset(path, 'p', PATH);
	hx_uploaded(1, hx_owner_of(one));
	uint64_t now = qx_held(one);
	ck_assert_int_eq(commit_text(one, hx_put_file("a", 1), text), CAIRN_OK);
	ck_assert_uint_eq(qx_held(one), now += QX_COMMIT + QX_ENTRY + TEXT);
	ck_assert(hx_committed_one(one, "main", hx_put_file(path, 1)));
	ck_assert_uint_eq(qx_held(one), now += QX_COMMIT + QX_ROW + PATH);
	/* A folder is a row as well. A row that its own commit replaces counts once. */
	const struct cairn_index_operation again[] = {hx_put("f/b", "b"), hx_drop("f/b"), hx_put("f/b", "b"),
						      hx_put("f/b", "c")};
	ck_assert(hx_committed(one, "main", again, 4));
	ck_assert_uint_eq(qx_held(one), now += QX_COMMIT + QX_ENTRY + QX_ENTRY + 1 + 1);
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_TAG, "v1", head.id), CAIRN_OK);
	ck_assert_uint_eq(qx_held(one), now += QX_ROW + 2);
	ck_assert_int_eq(hx_drop_ref(one, CAIRN_INDEX_TAG, "v1"), CAIRN_OK);
	ck_assert_uint_eq(qx_held(one), now -= QX_ROW + 2);
	taken(1, box);
	now = qx_held(box);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, path, 1, 0), CAIRN_OK);
	ck_assert_uint_eq(qx_held(box), now + QX_ROW + PATH);
	qx_forget(1, hx_owner_of(box));
	ck_assert_uint_eq(qx_held(box), QX_REPO);
}
END_TEST

/* SQLite makes this commit in pieces, and each piece counts. A refusal undoes all pieces. */
START_TEST(a_large_commit_counts_once)
{
	enum { N = CAIRN_INDEX_OPERATIONS_AT_ONCE + 1, NAME = 7 };
	static char path[N][NAME];
	static struct cairn_index_operation all[N];
	int64_t one = hx_model("one");
	uint64_t now = qx_held(one), rows = (uint64_t)N * (QX_ROW + NAME - 1);
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(path[i], NAME, "f%05u", i);
		all[i] = hx_put(path[i], "x");
	}
	qx_limit(0, one, now + rows / 2);
	hx_refused(one, "main", all, N, "quota.repo");
	ck_assert_uint_eq(qx_held(one), now);
	qx_limit(0, one, now + rows + QX_COMMIT + 1);
	ck_assert(hx_committed(one, "main", all, N));
	ck_assert_uint_eq(qx_held(one), now + rows + QX_COMMIT + 1);
}
END_TEST

/* SQLite makes a repository of this many files in pieces. It counts for its account when it exists. */
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
	uint64_t now = qx_quota_of(hx_ann, 0).account.stored_bytes, rows = (uint64_t)N * (QX_ROW + NAME - 1);
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(path[i], NAME, "f%05u", i);
		all[i] = hx_put(path[i], "x");
	}
	uint64_t copy = QX_REPO + rows + QX_COMMIT + 1 + QX_ROW + 4;
	qx_limit(hx_ann, 0, now + copy - 1);
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_E_DENIED);
	ck_assert_str_eq(add.write.diag.rule, "quota.account");
	ck_assert_uint_eq(qx_quota_of(hx_ann, 0).account.stored_bytes, now);
	qx_limit(hx_ann, 0, now + copy);
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	ck_assert_uint_eq(qx_quota_of(hx_ann, 0).account.stored_bytes, now + copy);
	ck_assert_uint_eq(qx_held(add.id), copy);
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
	uint64_t now = qx_held(one), all = QX_ROW + 14 + QX_ENTRY + (CAIRN_INDEX_LINE_DEPTH_MAX - 1) * (QX_ROW + 2);
	qx_limit(hx_ann, 0, qx_quota_of(hx_ann, 0).account.stored_bytes + all + QX_ROW + 4 - 1);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "last", hx_head(one, before).id), CAIRN_E_DENIED);
	qx_limit(hx_ann, 0, CAIRN_INDEX_NO_QUOTA);
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_BRANCH, "last", hx_head(one, before).id), CAIRN_OK);
	ck_assert_uint_eq(qx_held(one), now + all + QX_ROW + 4);
	/* A squash copies the rows of its branch. The collection removes the former rows. */
	now = qx_held(one);
	qx_limit(0, one, 1);
	struct cairn_index_squash squash = {
		.repo = one, .kind = CAIRN_INDEX_BRANCH, .name = "last", .message = HX_MESSAGE};
	ck_assert_int_eq(cairn_index_squash(hx_index, &squash), CAIRN_OK);
	ck_assert_uint_eq(qx_held(one), now + all + QX_COMMIT);
	hx_sweep_all(-10);
	ck_assert_uint_eq(qx_held(one), now + QX_COMMIT);
}
END_TEST

START_TEST(over_the_quota_only_writes_without_new_bytes_succeed)
{
	static char long_text[2000];
	int64_t one = hx_model("one"), box = hx_bucket("box");
	hx_uploaded(1, hx_owner_of(one));
	ck_assert(hx_committed_one(one, "main", hx_put_file("x", 1)));
	ck_assert(hx_committed_one(one, "main", hx_put("a", "text")));
	taken(2, box);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, "a", 2, 0), CAIRN_OK);
	qx_limit(hx_ann, 0, 0);
	qx_limit(0, one, 0);
	hx_refused_one(one, hx_put("b", "more"), "quota.repo");
	hx_refused_one(one, hx_put("b", "text"), "quota.repo");
	hx_refused_one(one, hx_put_file("y", 1), "quota.repo");
	ck_assert_int_eq(hx_add_ref(one, CAIRN_INDEX_TAG, "t", hx_head(one, "main").id), CAIRN_E_DENIED);
	memset(long_text, 'x', sizeof(long_text) - 1);
	ck_assert_int_eq(commit_text(one, hx_drop("x"), long_text), CAIRN_E_DENIED);
	ck_assert(hx_committed_one(one, "main", hx_drop("x")));
	/* a request that writes a text and removes it again makes no commit */
	const struct cairn_index_operation around[] = {hx_put("z", "a new text"), hx_drop("z")};
	ck_assert(!hx_committed(one, "main", around, 2));
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, "b", 2, 0), CAIRN_E_DENIED);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_SET, "a", 2, 0), CAIRN_OK);
	ck_assert_int_eq(change(box, CAIRN_INDEX_OBJECT_DROP, "a", 0, 0), CAIRN_OK);
	qx_forget(1, hx_owner_of(one));
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
	uint64_t size = qx_size_of_file(1), now = qx_quota_of(hx_ann, 0).account.stored_bytes;
	qx_limit(hx_ann, 0, now + size + QX_ENTRY - 1);
	ck_assert_int_eq(change(other, CAIRN_INDEX_OBJECT_COPY, "a", 1, box), CAIRN_E_DENIED);
	qx_limit(hx_ann, 0, now + size + QX_ENTRY + QX_FIRST_BYTES);
	ck_assert_int_eq(change(other, CAIRN_INDEX_OBJECT_COPY, "a", 1, box), CAIRN_OK);
	ck_assert_uint_eq(qx_held(other), QX_REPO + size + QX_ENTRY);
	/* a repository with the files of another one */
	const struct cairn_index_operation operation = hx_put_file("x", 1);
	uint64_t copied = QX_REPO + size + QX_COMMIT + QX_ENTRY + QX_ROW + 4;
	qx_limit(team, 0, copied - 1);
	for (int times = 0; times < 2; times++) {
		struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_MODEL,
						   .account = team,
						   .name = "copy",
						   .first = HX_MESSAGE,
						   .operations = &operation,
						   .n = 1,
						   .source = one};
		ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), times == 0 ? CAIRN_E_DENIED : CAIRN_OK);
		qx_limit(team, 0, copied);
	}
	ck_assert_uint_eq(qx_quota_of(team, 0).account.stored_bytes, copied);
	/* a file that the operator shares with another repository */
	struct cairn_index_share_file share = {.hash = fx_hash("file", 1), .owner = hx_owner_of(hx_model("two"))};
	ck_assert_int_eq(cairn_index_share_file(hx_index, &share), CAIRN_E_DENIED);
	qx_limit(hx_ann, 0, CAIRN_INDEX_NO_QUOTA);
	ck_assert_int_eq(cairn_index_share_file(hx_index, &share), CAIRN_OK);
	ck_assert(share.shared);
}
END_TEST

START_TEST(a_moved_repository_counts_in_its_new_account)
{
	int64_t team = hx_add_account(CAIRN_INDEX_ORGANISATION, "team"), one = hx_model("one");
	taken(1, one);
	uint64_t size = QX_FIRST_BYTES + qx_size_of_file(1), moved = size + QX_FORMER;
	qx_limit(team, 0, moved - 1);
	struct cairn_index_move_repo move = {.id = one, .account = team, .name = "one"};
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_E_DENIED);
	ck_assert_str_eq(move.write.diag.rule, "quota.account");
	ck_assert_uint_eq(qx_quota_of(hx_ann, 0).account.stored_bytes, size);
	qx_limit(team, 0, moved);
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	ck_assert_uint_eq(qx_quota_of(hx_ann, 0).account.stored_bytes, 0);
	ck_assert_uint_eq(qx_quota_of(team, one).account.stored_bytes, moved);
	ck_assert_int_eq(qx_quota_of(hx_ann, one).kind, 0);
	/* its old name needs the same space again, even if the quota was set below its size */
	qx_limit(0, one, 1);
	qx_limit(hx_ann, 0, moved);
	move.account = hx_ann;
	ck_assert_int_eq(cairn_index_move_repo(hx_index, &move), CAIRN_OK);
	ck_assert_uint_eq(qx_held(one), moved);
	ck_assert_uint_eq(qx_quota_of(team, 0).account.stored_bytes, 0);
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

/* The result does not depend on how the writes are batched. */
START_TEST(of_many_at_once_as_many_pass_as_there_is_room_for)
{
	enum { N = 8, ROOM = 3, BYTES = 2 + QX_ROW + 2 + QX_COMMIT };
	static const char *const PATHS[N] = {"p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"};
	struct committer all[N];
	int64_t repo[2] = {hx_model("one"), hx_model("two")};
	unsigned n_passed = 0;
	qx_limit(hx_ann, 0, 2 * QX_FIRST_BYTES + ROOM * BYTES + 1);
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
	ck_assert_uint_eq(qx_quota_of(hx_ann, 0).account.stored_bytes, 2 * QX_FIRST_BYTES + ROOM * BYTES);
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
	struct cairn_index_quota quota = qx_quota_of(hx_ann, one);
	ck_assert_uint_eq(quota.account.limit_bytes, CAIRN_INDEX_NO_QUOTA);
	ck_assert_uint_eq(quota.repo.limit_bytes, CAIRN_INDEX_NO_QUOTA);
	ck_assert_str_eq(quota.account_name, "Ann");
	ck_assert_str_eq(quota.repo_name, "one");
	qx_limit(hx_ann, 0, INT64_MAX);
	qx_limit(0, one, 0);
	quota = qx_quota_of(hx_ann, one);
	ck_assert_uint_eq(quota.account.limit_bytes, INT64_MAX);
	ck_assert_uint_eq(quota.repo.limit_bytes, 0);
	ck_assert_int_eq(cairn_index_each_account(hx_index, 0, 100, take_room, &room, &next), CAIRN_OK);
	ck_assert_uint_eq(room.limit_bytes, INT64_MAX);
	ck_assert_uint_eq(room.stored_bytes, QX_FIRST_BYTES);
	struct cairn_index_set_quota set = {.account = 99, .limit_bytes = 1};
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(set.write.diag.rule, "account.unknown");
	set = (struct cairn_index_set_quota){.repo = 99, .limit_bytes = 1};
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(set.write.diag.rule, "repo.unknown");
	ck_assert_int_eq(cairn_index_quota(hx_index, 99, 0, &quota), CAIRN_E_NOT_FOUND);
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

/* Terms do not count. docs/operations.md says how much space they take in the index. */
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
	tcase_add_test(t, each_file_and_each_text_counts_once);
	tcase_add_test(t, one_shard_with_a_file_twice_counts_it_once);
	tcase_add_test(t, removed_objects_free_their_quota);
	tcase_add_test(t, up_to_the_last_byte);
	tcase_add_test(t, rows_count_with_their_texts);
	tcase_add_test(t, a_large_commit_counts_once);
	tcase_add_test(t, a_large_copy_counts_once);
	tcase_add_test(t, copied_rows_count);
	tcase_add_test(t, over_the_quota_only_writes_without_new_bytes_succeed);
	tcase_add_test(t, copies_count_for_their_target);
	tcase_add_test(t, a_moved_repository_counts_in_its_new_account);
	tcase_add_test(t, of_many_at_once_as_many_pass_as_there_is_room_for);
	tcase_add_test(t, set_told_and_taken_away);
	tcase_add_test(t, the_refusal_names_the_place_and_both_values);
	tcase_add_test(t, a_term_takes_24_bytes);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
