/* Writes of others beside one that is made in pieces: none waits for it, and none is lost. */
#include "base/workers.h"
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/index_sqlite.h"
#include "support/index_stage_fixture.h"
#include "support/run.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_OTHERS = 5 };

/* Blocks the writer until it is released, so that the order of queued writes is known. */
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

static void counted(struct cairn_index_write *write)
{
	ck_assert_int_eq(write->status, CAIRN_OK);
}

/* A write of unknown length shares no transaction with other writes. */
START_TEST(a_write_that_may_be_long_is_a_batch_of_its_own)
{
	enum { N_WRITES = 4 };
	int64_t one = hx_model("one");
	struct cairn_index_operation each[N_WRITES] = {hx_put("b", "1"), hx_drop_folder("a"), hx_put("c", "1"),
						       hx_drop("c")};
	struct cairn_index_add_commit commit[N_WRITES];
	struct cairn_index_stats before, after;
	ck_assert(hx_committed_one(one, "main", hx_put("a/b", "1")));
	struct cairn_index_add_ref branch = {
		.repo = one, .kind = CAIRN_INDEX_BRANCH, .name = "new", .commit = hx_head(one, "main").id};
	plug_in(one);
	cairn_index_stats(hx_index, &before);
	for (unsigned i = 0; i < N_WRITES; i++) {
		commit[i] = hx_request(one, "main", &each[i], 1);
		commit[i].write.done = counted;
		ck_assert_int_eq(cairn_index_add_commit(hx_index, &commit[i]), CAIRN_OK);
	}
	branch.write.done = counted;
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &branch), CAIRN_OK);
	plug_out();
	ck_assert(cairn_index_flush(hx_index, 100000));
	cairn_index_stats(hx_index, &after);
	ck_assert_uint_eq(after.n_commits - before.n_commits, N_WRITES + 1);
}
END_TEST

/* Small writes by another sender. */
static struct others {
	struct cairn_work work;
	int64_t repo;
	char path[N_OTHERS][16];
	struct cairn_index_operation operation[N_OTHERS];
	struct cairn_index_add_commit commit[N_OTHERS];
	struct cairn_index_sweep_repos sweep;
	unsigned n_done, n_done_before;
	bool kills; /* kill the process after the last write */
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

static bool large_is_done;

static void large_done(struct cairn_index_write *write)
{
	(void)write;
	others.n_done_before = others.n_done;
	large_is_done = true;
}

/* Queues a large write, and after it the writes of another sender. */
static void beside(sx_send *send, int64_t large, int64_t repo, void (*run)(struct cairn_work *work))
{
	struct cairn_workers *workers;
	others.repo = repo;
	others.work = (struct cairn_work){.run = run, .turn = 1};
	ck_assert_int_eq(cairn_workers_new(&workers, "test", 1, 0, 1), CAIRN_OK);
	plug_in(repo);
	ck_assert_int_eq(send(large, large_done), CAIRN_OK);
	ck_assert_int_eq(cairn_workers_submit(workers, &others.work), CAIRN_OK);
	cairn_workers_free(workers); /* all writes are queued */
	plug_out();
	ck_assert(cairn_index_flush(hx_index, 100000));
}

/* Makes the repository that a kind of large write needs. */
static int64_t prepare(sx_send *send)
{
	int64_t large = hx_model("large");
	if (send == sx_send_copy)
		hx_uploaded(7, hx_owner_of(large));
	if (send == sx_send_squash || send == sx_send_drop)
		ck_assert(hx_committed(large, "main", sx_put_all("1"), SX_FILES));
	if (send == sx_send_pull || send == sx_send_merge)
		ck_assert_int_eq(sx_new_pull(large), 1);
	return large;
}

static sx_send *const LARGE[] = {sx_send_commit, sx_send_copy, sx_send_squash, sx_send_pull,
				 sx_send_merge,  sx_send_drop, sx_send_open};
enum { N_LARGE = sizeof(LARGE) / sizeof(LARGE[0]) };

static enum cairn_status large_status(sx_send *send)
{
	return send == sx_send_copy     ? sx_copy.write.status
	       : send == sx_send_squash ? sx_squash.write.status
	       : send == sx_send_open   ? sx_opened.write.status
					: sx_commit.write.status;
}

START_TEST(others_do_not_wait_for_a_large_write)
{
	sx_send *send = LARGE[_i];
	int64_t large = prepare(send), small = hx_model("small");
	beside(send, large, small, others_commit);
	ck_assert_int_eq(large_status(send), CAIRN_OK);
	ck_assert_uint_eq(others.n_done, N_OTHERS);
	ck_assert_uint_eq(others.n_done_before, N_OTHERS);
}
END_TEST

enum { N_DEEP = 1000 };
static char deep[N_DEEP][64];

/* Sends a commit of few files in deep folders, which have many rows. */
static enum cairn_status send_deep(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	for (unsigned i = 0; i < N_DEEP; i++) {
		(void)snprintf(deep[i], sizeof(deep[i]), "%u/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p", i);
		sx_operations[i] = hx_put(deep[i], "1");
	}
	sx_commit = hx_request(repo, "main", sx_operations, N_DEEP);
	sx_commit.write.done = done;
	return cairn_index_add_commit(hx_index, &sx_commit);
}

START_TEST(others_do_not_wait_for_deep_folders)
{
	int64_t large = hx_model("large"), small = hx_model("small");
	beside(send_deep, large, small, others_commit);
	ck_assert_int_eq(sx_commit.write.status, CAIRN_OK);
	ck_assert_uint_eq(others.n_done_before, N_OTHERS);
	struct cairn_index_commit head = hx_head(large, "main");
	hx_text_is(&head, deep[7], "1");
}
END_TEST

START_TEST(no_commit_to_the_same_branch_is_lost)
{
	int64_t one = hx_model("one");
	beside(sx_send_commit, one, one, others_commit);
	ck_assert_int_eq(sx_commit.write.status, CAIRN_OK);
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert_uint_eq(head.n_files, SX_FILES + N_OTHERS + 2);
	ck_assert_uint_eq(head.number, N_OTHERS + 3);
	hx_text_is(&head, "other4", "1");
	hx_text_is(&head, "d0/7", "1");
}
END_TEST

START_TEST(no_commit_to_a_branch_is_lost_by_a_squash)
{
	int64_t one = prepare(sx_send_squash);
	beside(sx_send_squash, one, one, others_commit);
	ck_assert_int_eq(sx_squash.write.status, CAIRN_OK);
	struct cairn_index_commit head = hx_head(one, "main");
	ck_assert_uint_eq(head.n_files, SX_FILES + N_OTHERS + 2);
	hx_text_is(&head, "other4", "1");
	hx_text_is(&head, "d0/7", "1");
}
END_TEST

/* Gives another repository the name of the copy while the copy is made. */
static void others_take_name(struct cairn_work *work)
{
	static struct cairn_index_add_repo add;
	(void)work;
	add = (struct cairn_index_add_repo){
		.kind = CAIRN_INDEX_MODEL, .account = hx_ann, .name = "Copy", .first = HX_MESSAGE};
	add.write.done = others_done;
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
}

START_TEST(the_first_with_a_name_has_it)
{
	int64_t large = prepare(sx_send_copy), other = hx_model("other");
	beside(sx_send_copy, large, other, others_take_name);
	ck_assert_int_eq(sx_copy.write.status, CAIRN_E_CONFLICT);
	ck_assert_str_eq(sx_copy.write.diag.rule, "repo.known");
	ck_assert(sx_copy_is_there());
	sx_is_tidy();
}
END_TEST

START_TEST(a_collection_does_not_harm_a_large_write)
{
	sx_send *send = LARGE[_i];
	int64_t large = prepare(send);
	beside(send, large, hx_model("other"), others_sweep);
	ck_assert_int_eq(large_status(send), CAIRN_OK);
	if (send == sx_send_copy)
		sx_copy_is_whole();
	bool pull = send == sx_send_pull || send == sx_send_open;
	struct cairn_index_commit head = pull                   ? sx_pull_head(large, "1")
					 : send == sx_send_copy ? hx_head(sx_copy.id, "main")
								: hx_head(large, "main");
	ck_assert_uint_eq(head.n_files, send == sx_send_drop ? 1 : send == sx_send_copy ? SX_FILES : SX_FILES + 1);
	if (send != sx_send_drop)
		hx_text_is(&head, "d0/7", "1");
}
END_TEST

/* The writer takes one piece of the large write, then one small commit, and so on. In `done` of each small commit the
 * writer waits until the next one is queued. */
enum { PACED = 30 };
static struct pacer {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned n_queued, n_done;
	struct cairn_index_operation operation[PACED];
	struct cairn_index_add_commit commit[PACED];
} pacer = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void pacer_done(struct cairn_index_write *write)
{
	ck_assert_int_eq(write->status, CAIRN_OK);
	ck_assert(!large_is_done);
	pthread_mutex_lock(&pacer.lock);
	pacer.n_done++;
	pthread_cond_broadcast(&pacer.changed);
	while (pacer.n_queued == pacer.n_done)
		pthread_cond_wait(&pacer.changed, &pacer.lock);
	pthread_mutex_unlock(&pacer.lock);
}

/* Waits until n_done small commits are done. */
static void pacer_wait(unsigned n_done)
{
	pthread_mutex_lock(&pacer.lock);
	while (pacer.n_done < n_done)
		pthread_cond_wait(&pacer.changed, &pacer.lock);
	pthread_mutex_unlock(&pacer.lock);
}

static void pacer_queued(void)
{
	pthread_mutex_lock(&pacer.lock);
	pacer.n_queued++;
	pthread_cond_broadcast(&pacer.changed);
	pthread_mutex_unlock(&pacer.lock);
}

/* Sweeps, and ends when a part of the staged line is removed. */
static void others_sweep_a_part(struct cairn_work *work)
{
	(void)work;
	for (unsigned i = 0; i < PACED; i++) {
		pacer.operation[i] = hx_put("other", i % 2 ? "1" : "2");
		pacer.commit[i] = hx_request(others.repo, "main", &pacer.operation[i], 1);
		pacer.commit[i].write.done = pacer_done;
		if (i > 0)
			pacer_wait(i);
		ck_assert_int_eq(cairn_index_add_commit(hx_index, &pacer.commit[i]), CAIRN_OK);
		pacer_queued();
		if (i == 0)
			plug_out();
	}
	pacer_wait(PACED);
	others_sweep(work);
	pacer_queued();
}

START_TEST(a_partly_swept_line_begins_again)
{
	int64_t large = hx_model("large"), other = hx_model("other");
	if (cairn_index_is_remote(hx_index))
		return;
	hx_sweep_all(0);
	beside(sx_send_commit, large, other, others_sweep_a_part);
	ck_assert_int_eq(sx_commit.write.status, CAIRN_OK);
	ck_assert(others.sweep.more); /* the time limit passed before it removed everything */
	struct cairn_index_commit head = hx_head(large, "main");
	ck_assert_uint_eq(head.n_files, SX_FILES + 1);
	for (unsigned i = 0; i < SX_FILES; i += SX_FOLDER)
		hx_text_is(&head, sx_paths[i], "1");
	hx_sweep_all(0);
	sx_is_tidy();
}
END_TEST

static void *ask_readiness(void *ctx)
{
	*(enum cairn_status *)ctx = cairn_index_writable(hx_index);
	return NULL;
}

static void queue_paced(unsigned i)
{
	pacer.operation[i] = hx_put("other", i % 2 ? "1" : "2");
	pacer.commit[i] = hx_request(others.repo, "main", &pacer.operation[i], 1);
	pacer.commit[i].write.done = pacer_done;
	ck_assert_int_eq(cairn_index_add_commit(hx_index, &pacer.commit[i]), CAIRN_OK);
	pacer_queued();
}

/* Waits until two writes are queued: the next piece, and the readiness check. */
static void wait_until_asked(void)
{
	struct cairn_index_stats stats;
	do {
		(void)sched_yield();
		cairn_index_stats(hx_index, &stats);
	} while (stats.n_queued < 2);
}

static enum cairn_status readiness;

/* While the readiness check waits, only a piece and a small commit are made. */
static void others_ask_readiness(struct cairn_work *work)
{
	pthread_t asker;
	(void)work;
	queue_paced(0);
	plug_out();
	pacer_wait(1);
	ck_assert_int_eq(pthread_create(&asker, NULL, ask_readiness, &readiness), 0);
	wait_until_asked();
	queue_paced(1);
	ck_assert_int_eq(pthread_join(asker, NULL), 0);
	pacer_queued();
}

START_TEST(the_index_is_ready_during_a_large_write)
{
	int64_t large = hx_model("large"), other = hx_model("other");
	readiness = CAIRN_E_IO;
	beside(sx_send_commit, large, other, others_ask_readiness);
	ck_assert_int_eq(readiness, CAIRN_OK);
	ck_assert_int_eq(sx_commit.write.status, CAIRN_OK);
}
END_TEST

/* Begins a large write, and kills the process when some pieces are durable. */
static void die_in(sx_send *send, int64_t repo, int64_t small)
{
	int state = 0;
	cairn_index_free(hx_index);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		hx_index = fx_open(hx_folder());
		others.kills = true;
		beside(send, repo, small, others_commit);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &state, 0), child);
	ck_assert(WIFSIGNALED(state));
	hx_index = fx_open(hx_folder());
}

START_TEST(a_kill_leaves_the_old_head)
{
	int64_t one = hx_model("one"), small = hx_model("small");
	int64_t old = hx_head(one, "main").id;
	die_in(sx_send_commit, one, small);
	ck_assert_int_eq(hx_head(one, "main").id, old);
	ck_assert_str_eq(hx_all(one, "main"), ".gitattributes ");
	ck_assert(hx_committed(one, "main", sx_put_all("2"), SX_FILES));
	struct cairn_index_commit head = hx_head(one, "main");
	hx_text_is(&head, "d0/7", "2");
}
END_TEST

START_TEST(a_kill_leaves_no_copy)
{
	int64_t source = prepare(sx_send_copy), small = hx_model("small");
	if (cairn_index_is_remote(hx_index))
		return;
	die_in(sx_send_copy, source, small);
	ck_assert(!sx_copy_is_there());
	ck_assert_int_eq(sx_send_copy(source, NULL), CAIRN_OK);
	fx_sql(hx_folder(), "UPDATE repo SET dropped = 1 WHERE dropped IS NOT NULL"); /* an hour later */
	hx_sweep_all(0);
	sx_is_tidy();
	sx_copy_is_whole();
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_beside");
	TCase *t = tcase_create("index_beside");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_loop_test(t, others_do_not_wait_for_a_large_write, 0, N_LARGE);
	tcase_add_test(t, a_write_that_may_be_long_is_a_batch_of_its_own);
	tcase_add_test(t, others_do_not_wait_for_deep_folders);
	tcase_add_test(t, no_commit_to_the_same_branch_is_lost);
	tcase_add_test(t, no_commit_to_a_branch_is_lost_by_a_squash);
	tcase_add_test(t, the_first_with_a_name_has_it);
	tcase_add_loop_test(t, a_collection_does_not_harm_a_large_write, 0, N_LARGE);
	tcase_add_test(t, a_partly_swept_line_begins_again);
	tcase_add_test(t, the_index_is_ready_during_a_large_write);
	tcase_add_test(t, a_kill_leaves_the_old_head);
	tcase_add_test(t, a_kill_leaves_no_copy);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
