/* Commits of more operations than one transaction takes: they are made in pieces, and others get in between. */
#include "base/workers.h"
#include "index/quota.h"
#include "support/history_fixture.h"
#include "support/index_fixture.h"

#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = CAIRN_INDEX_OPERATIONS_AT_ONCE + 1, N_FOLDER = 500, N_OTHERS = 5 };

static char paths[N][16];
static struct cairn_index_operation operations[N];

/* Operations that put a text into each of N files. */
static const struct cairn_index_operation *all_put(const char *text)
{
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "d%u/%u", i / N_FOLDER, i);
		operations[i] = hx_put(paths[i], text);
	}
	return operations;
}

static void sweep_all(void)
{
	struct cairn_index_sweep_repos request = {.grace_s = 0};
	do
		ck_assert_int_eq(cairn_index_sweep_repos(hx_index, &request), CAIRN_OK);
	while (request.more);
}

/* --- a large commit alone ----------------------------------------------------------------------------------------- */

static bool count_commit(void *ctx, const struct cairn_index_commit *commit, const char *message)
{
	(void)commit, (void)message;
	++*(unsigned *)ctx;
	return true;
}

START_TEST(a_large_commit_is_as_several_small_ones)
{
	int64_t large = hx_model("large"), small = hx_model("small");
	struct cairn_index_entry entry;
	unsigned n_commits = 0;
	ck_assert(hx_committed_one(large, "main", hx_put("d0/old", "1")));
	ck_assert(hx_committed_one(small, "main", hx_put("d0/old", "1")));
	ck_assert(hx_committed(large, "main", all_put("1"), N));
	ck_assert(hx_committed(small, "main", operations, N / 2));
	ck_assert(hx_committed(small, "main", operations + N / 2, N - N / 2));
	struct cairn_index_commit one = hx_head(large, "main"), other = hx_head(small, "main");
	ck_assert(cairn_git_oid_equal(&one.root, &other.root));
	ck_assert(one.n_files == other.n_files && one.bytes == other.bytes && one.number == 3);
	ck_assert(hx_is_there(&one, "d3/1500", &entry));
	ck_assert_int_eq(entry.commit, one.id);
	hx_text_is(&one, "d0/old", "1");
	ck_assert_int_eq(cairn_index_each_commit(hx_index, &one, 0, count_commit, &n_commits), CAIRN_OK);
	ck_assert_uint_eq(n_commits, 3);
	ck_assert(!hx_committed(large, "main", operations, N)); /* nothing differs */
	ck_assert_int_eq(hx_head(large, "main").id, one.id);
	sweep_all();
	ck_assert(hx_committed_one(large, "main", hx_drop("d3/1500")));
	ck_assert_uint_eq(hx_head(large, "main").n_files, one.n_files - 1);
	hx_text_is(&one, "d3/1500", "1");
}
END_TEST

START_TEST(a_large_commit_that_fails_leaves_nothing)
{
	int64_t one = hx_model("one");
	struct cairn_index_quota before, after;
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert_int_eq(cairn_index_quota(hx_index, hx_ann, one, &before), CAIRN_OK);
	(void)all_put("text");
	operations[N - 1] = hx_drop("missing");
	hx_refused(one, "main", operations, N, "entry.unknown");
	ck_assert_int_eq(hx_head(one, "main").id, head.id);
	ck_assert_int_eq(cairn_index_quota(hx_index, hx_ann, one, &after), CAIRN_OK);
	ck_assert_uint_eq(after.repo.stored_bytes, before.repo.stored_bytes);
	ck_assert(hx_committed(one, "main", all_put("text"), N));
}
END_TEST

/* Each large commit is one more line for lookups, up to the limit; then the rows are copied. */
START_TEST(many_large_commits_follow_each_other)
{
	int64_t one = hx_model("one");
	char text[16];
	ck_assert(hx_committed_one(one, "main", hx_put("first", "1")));
	for (unsigned i = 0; i < CAIRN_INDEX_LINE_DEPTH_MAX + 2; i++) {
		(void)snprintf(text, sizeof(text), "%u", i);
		ck_assert(hx_committed(one, "main", all_put(text), N));
		ck_assert(hx_committed_one(one, "main", hx_put("last", text)));
		struct cairn_index_commit head = hx_head(one, "main");
		hx_text_is(&head, "d0/7", text);
		hx_text_is(&head, "first", "1");
		ck_assert_uint_eq(head.n_files, N + 3);
	}
	sweep_all();
	struct cairn_index_commit head = hx_head(one, "main");
	hx_text_is(&head, "d0/7", text);
	hx_text_is(&head, "first", "1");
}
END_TEST

/* --- and others --------------------------------------------------------------------------------------------------- */

/* Blocks the writer until it is released, so that writes are queued in a known order. */
static struct plug {
	struct cairn_index_add_commit commit;
	struct cairn_index_operation operation;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool held, released;
} plug = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void plug_done(struct cairn_index_write *write)
{
	(void)write;
	pthread_mutex_lock(&plug.lock);
	plug.held = true;
	pthread_cond_broadcast(&plug.changed);
	while (!plug.released)
		pthread_cond_wait(&plug.changed, &plug.lock);
	pthread_mutex_unlock(&plug.lock);
}

static void plug_in(int64_t repo)
{
	plug.operation = hx_put("plug", "1");
	plug.commit = hx_request(repo, "main", &plug.operation, 1);
	plug.commit.write.done = plug_done;
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &plug.commit), CAIRN_OK);
	pthread_mutex_lock(&plug.lock);
	while (!plug.held)
		pthread_cond_wait(&plug.changed, &plug.lock);
	pthread_mutex_unlock(&plug.lock);
}

static void plug_out(void)
{
	pthread_mutex_lock(&plug.lock);
	plug.released = true;
	pthread_cond_broadcast(&plug.changed);
	pthread_mutex_unlock(&plug.lock);
}

/* Small writes of another sender. */
static struct others {
	struct cairn_work work;
	int64_t repo;
	char path[N_OTHERS][16];
	struct cairn_index_operation operation[N_OTHERS];
	struct cairn_index_add_commit commit[N_OTHERS];
	struct cairn_index_sweep_repos sweep;
	unsigned n_done, n_done_before;
	bool kills; /* the process, after the last one */
} others;

static void others_done(struct cairn_index_write *write)
{
	ck_assert_int_eq(write->status, CAIRN_OK);
	others.n_done++;
	if (others.kills && others.n_done == N_OTHERS)
		(void)raise(SIGKILL);
}

static void others_commit(struct cairn_work *work)
{
	(void)work;
	for (unsigned i = 0; i < N_OTHERS; i++) {
		(void)snprintf(others.path[i], sizeof(others.path[i]), "other%u", i);
		others.operation[i] = hx_put(others.path[i], "1");
		others.commit[i] = hx_request(others.repo, "main", &others.operation[i], 1);
		others.commit[i].write.done = others_done;
		ck_assert_int_eq(cairn_index_add_commit(hx_index, &others.commit[i]), CAIRN_OK);
	}
}

static void others_sweep(struct cairn_work *work)
{
	(void)work;
	others.sweep.write.done = others_done;
	ck_assert_int_eq(cairn_index_sweep_repos(hx_index, &others.sweep), CAIRN_OK);
}

static void large_done(struct cairn_index_write *write)
{
	(void)write;
	others.n_done_before = others.n_done;
}

/* Queues a large commit, and behind it what another sender does. */
static struct cairn_index_add_commit beside(int64_t large, int64_t repo, void (*run)(struct cairn_work *work))
{
	struct cairn_workers *workers;
	struct cairn_index_add_commit commit = hx_request(large, "main", all_put("1"), N);
	static struct cairn_index_add_commit request;
	request = commit;
	request.write.done = large_done;
	others.repo = repo;
	others.work = (struct cairn_work){.run = run, .turn = 1};
	ck_assert_int_eq(cairn_workers_new(&workers, "test", 1, 0, 1), CAIRN_OK);
	plug_in(repo);
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &request), CAIRN_OK);
	ck_assert_int_eq(cairn_workers_submit(workers, &others.work), CAIRN_OK);
	cairn_workers_free(workers); /* all is queued */
	plug_out();
	ck_assert(cairn_index_flush(hx_index, 100000));
	return request;
}

START_TEST(others_do_not_wait_for_a_large_commit)
{
	int64_t large = hx_model("large"), small = hx_model("small");
	if (cairn_index_is_remote(hx_index))
		return;
	struct cairn_index_add_commit commit = beside(large, small, others_commit);
	ck_assert_int_eq(commit.write.status, CAIRN_OK);
	ck_assert_uint_eq(others.n_done, N_OTHERS);
	ck_assert_uint_eq(others.n_done_before, N_OTHERS);
}
END_TEST

START_TEST(no_commit_to_the_same_branch_is_lost)
{
	int64_t one = hx_model("one");
	struct cairn_index_add_commit commit = beside(one, one, others_commit);
	ck_assert_int_eq(commit.write.status, CAIRN_OK);
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert_uint_eq(head.n_files, N + N_OTHERS + 2);
	ck_assert_uint_eq(head.number, N_OTHERS + 3);
	hx_text_is(&head, "other4", "1");
	hx_text_is(&head, "d0/7", "1");
}
END_TEST

START_TEST(a_collection_does_not_harm_a_large_commit)
{
	int64_t one = hx_model("one");
	struct cairn_index_add_commit commit = beside(one, hx_model("other"), others_sweep);
	ck_assert_int_eq(commit.write.status, CAIRN_OK);
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert_uint_eq(head.n_files, N + 1);
	hx_text_is(&head, "d0/7", "1");
}
END_TEST

/* The process dies when some pieces of the commit are durable. */
START_TEST(a_kill_leaves_the_old_head)
{
	int64_t one = hx_model("one"), small = hx_model("small");
	int state = 0;
	if (cairn_index_is_remote(hx_index))
		return;
	int64_t old = hx_head(one, "main").id;
	cairn_index_free(hx_index);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		hx_index = fx_open(hx_folder());
		others.kills = true;
		(void)beside(one, small, others_commit);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &state, 0), child);
	ck_assert(WIFSIGNALED(state));
	hx_index = fx_open(hx_folder());
	ck_assert_int_eq(hx_head(one, "main").id, old);
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes ");
	ck_assert(hx_committed(one, "main", all_put("2"), N));
	struct cairn_index_commit head = hx_head(one, "main");
	hx_text_is(&head, "d0/7", "2");
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_stage");
	TCase *t = tcase_create("index_stage");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_set_timeout(t, 300);
	tcase_add_test(t, a_large_commit_is_as_several_small_ones);
	tcase_add_test(t, a_large_commit_that_fails_leaves_nothing);
	tcase_add_test(t, many_large_commits_follow_each_other);
	tcase_add_test(t, others_do_not_wait_for_a_large_commit);
	tcase_add_test(t, no_commit_to_the_same_branch_is_lost);
	tcase_add_test(t, a_collection_does_not_harm_a_large_commit);
	tcase_add_test(t, a_kill_leaves_the_old_head);
	suite_add_tcase(suite, t);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
