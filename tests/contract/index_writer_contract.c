/* Group commit: batches, the queue's bound, many threads, a process that is killed. */
#include "base/workers.h"
#include "support/index_fixture.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct tempdir folder;

static void set_up(void)
{
	folder = tempdir_new();
}

static void tear_down(void)
{
	tempdir_fini(&folder);
}

/* A write that blocks the writer's thread until it is released. Writes that are queued meanwhile form one batch. */
struct plug {
	struct fx_shard shard;
	struct cairn_index_put_shard put;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool held, released;
};

static void plug_done(struct cairn_index_write *write)
{
	struct plug *plug = (struct plug *)(void *)((char *)write - offsetof(struct plug, put));
	ck_assert_int_eq(write->status, CAIRN_E_CONFLICT);
	pthread_mutex_lock(&plug->lock);
	plug->held = true;
	pthread_cond_broadcast(&plug->changed);
	while (!plug->released)
		pthread_cond_wait(&plug->changed, &plug->lock);
	pthread_mutex_unlock(&plug->lock);
}

static void plug_queue(struct plug *plug, struct cairn_index *ix)
{
	*plug = (struct plug){0};
	pthread_mutex_init(&plug->lock, NULL);
	pthread_cond_init(&plug->changed, NULL);
	fx_shard_init(&plug->shard, 999999);
	fx_shard_fail(&plug->shard); /* a write that fails is not counted */
	plug->put = fx_shard_request(&plug->shard);
	plug->put.write.done = plug_done;
	ck_assert_int_eq(cairn_index_put_shard(ix, &plug->put), CAIRN_OK);
}

static void plug_in(struct plug *plug, struct cairn_index *ix)
{
	plug_queue(plug, ix);
	pthread_mutex_lock(&plug->lock);
	while (!plug->held)
		pthread_cond_wait(&plug->changed, &plug->lock);
	pthread_mutex_unlock(&plug->lock);
}

static void plug_out(struct plug *plug)
{
	pthread_mutex_lock(&plug->lock);
	plug->released = true;
	pthread_cond_broadcast(&plug->changed);
	pthread_mutex_unlock(&plug->lock);
}

static atomic_uint n_done;

static void count_done(struct cairn_index_write *write)
{
	(void)write;
	atomic_fetch_add(&n_done, 1);
}

enum { BATCH = 10 };

START_TEST(a_bad_write_does_not_fail_its_batch)
{
	struct cairn_index *ix = fx_open(folder.path);
	struct fx_xorb x = fx_xorb_new(1, 20), gone = fx_xorb_new(2, 20);
	fx_xorb_put(ix, &x);
	struct cairn_index_stats before, after;
	cairn_index_stats(ix, &before);
	static struct plug plug;
	static struct fx_shard s[BATCH];
	static struct cairn_index_put_shard w[BATCH];
	plug_in(&plug, ix);
	for (unsigned i = 0; i < BATCH; i++) {
		fx_shard_init(&s[i], i % 8); /* the last two repeat the first two */
		fx_shard_file(&s[i], i % 8, &x, i % 8, 20);
		if (i == 4)
			fx_shard_file(&s[i], 100, &gone, 0, 1);
		if (i == 6)
			fx_shard_fail(&s[i]);
		w[i] = fx_shard_request(&s[i]);
		w[i].write.done = count_done;
		ck_assert_int_eq(cairn_index_put_shard(ix, &w[i]), CAIRN_OK);
	}
	cairn_index_stats(ix, &after);
	ck_assert_uint_eq(after.n_queued, BATCH);
	plug_out(&plug);
	ck_assert_int_eq(cairn_index_writable(ix), CAIRN_OK); /* comes after all queued writes */
	ck_assert_uint_eq(atomic_load(&n_done), BATCH);
	for (unsigned i = 0; i < BATCH; i++) {
		ck_assert_int_eq(w[i].write.status, i == 4 || i == 6 ? CAIRN_E_CONFLICT : CAIRN_OK);
		ck_assert((w[i].write.status == CAIRN_OK && w[i].added) == (i < 8 && i != 4 && i != 6));
		ck_assert(fx_sees(ix, NULL, i % 8) == (i != 4 && i != 6));
	}
	cairn_index_stats(ix, &after);
	ck_assert_uint_eq(after.n_commits - before.n_commits, 1);
	ck_assert_uint_eq(after.n_writes - before.n_writes, BATCH - 2);
	ck_assert_uint_eq(after.n_files, 6);
	cairn_index_free(ix);
	fx_xorb_fini(&x);
	fx_xorb_fini(&gone);
}
END_TEST

/* Returns how many commits n waiting shards take whose records have these sizes. */
static uint64_t commits_of(const uint64_t *sizes, unsigned n)
{
	enum { N_MAX = 24 };
	struct cairn_index *ix = fx_open(folder.path);
	static struct plug plug;
	static struct fx_shard s[N_MAX];
	static struct cairn_index_put_shard w[N_MAX];
	struct cairn_index_stats before, after;
	cairn_index_stats(ix, &before);
	plug_in(&plug, ix);
	for (unsigned i = 0; i < n; i++) {
		fx_shard_init(&s[i], i);
		fx_shard_file(&s[i], i, NULL, 0, 0);
		w[i] = fx_shard_request(&s[i]);
		w[i].records_bytes = sizes[i];
		w[i].write.done = count_done;
		ck_assert_int_eq(cairn_index_put_shard(ix, &w[i]), CAIRN_OK);
	}
	plug_out(&plug);
	ck_assert(cairn_index_flush(ix, 20000));
	ck_assert_uint_eq(atomic_load(&n_done), n);
	cairn_index_stats(ix, &after);
	cairn_index_free(ix);
	return after.n_commits - before.n_commits;
}

START_TEST(a_heavy_write_is_a_batch_of_its_own)
{
	static const uint64_t sizes[] = {1, 256 << 10, 2, (256 << 10) + 1, 3, 4};
	ck_assert_uint_eq(commits_of(sizes, 6), 3); /* three shards, then the heavy one, then two */
}
END_TEST

START_TEST(a_batch_is_bounded_in_bytes)
{
	uint64_t sizes[17];
	for (unsigned i = 0; i < 17; i++)
		sizes[i] = 256 << 10;
	ck_assert_uint_eq(commits_of(sizes, 17), 2); /* shards of 4 MiB together, then the last one */
}
END_TEST

/* A write that a worker queues for a sender. */
struct sent {
	struct cairn_work work;
	struct cairn_index *ix;
	struct fx_shard shard;
	struct cairn_index_put_shard put;
	unsigned *n_before, n_mine; /* number of writes that were done before this one */
};

static void sent_done(struct cairn_index_write *write)
{
	struct sent *sent = (struct sent *)(void *)((char *)write - offsetof(struct sent, put));
	sent->n_mine = (*sent->n_before)++;
}

static void sent_run(struct cairn_work *work)
{
	struct sent *sent = (struct sent *)work;
	ck_assert_int_eq(cairn_index_put_shard(sent->ix, &sent->put), CAIRN_OK);
}

/* Mallory queues heavy writes, and then Ann queues one. Ann waits for one heavy write, not for all. */
START_TEST(senders_take_turns)
{
	enum { N = 6 };
	struct cairn_index *ix = fx_open(folder.path);
	struct cairn_workers *workers;
	static struct plug plug;
	static struct sent sent[N];
	unsigned n_done_before = 0;
	ck_assert_int_eq(cairn_workers_new(&workers, "test", 1, 0, N), CAIRN_OK);
	plug_in(&plug, ix);
	for (unsigned i = 0; i < N; i++) {
		sent[i] = (struct sent){.work = {.run = sent_run, .turn = i < N - 1 ? 1 : 2}, .ix = ix};
		sent[i].n_before = &n_done_before;
		fx_shard_init(&sent[i].shard, i);
		fx_shard_file(&sent[i].shard, i, NULL, 0, 0);
		sent[i].put = fx_shard_request(&sent[i].shard);
		sent[i].put.records_bytes = i < N - 1 ? 64 << 20 : 1;
		sent[i].put.write.done = sent_done;
		ck_assert_int_eq(cairn_workers_submit(workers, &sent[i].work), CAIRN_OK);
	}
	cairn_workers_free(workers); /* all writes are queued */
	plug_out(&plug);
	ck_assert(cairn_index_flush(ix, 20000));
	ck_assert_uint_eq(n_done_before, N);
	ck_assert_uint_eq(sent[N - 1].n_mine, 1);
	cairn_index_free(ix);
}
END_TEST

START_TEST(the_queue_is_bounded)
{
	struct cairn_index_options options = {.queue_max = 3, .batch_max = 2};
	struct cairn_index *ix = fx_open_with(folder.path, &options);
	static struct plug plug;
	static struct fx_shard s[4];
	static struct cairn_index_put_shard w[4];
	plug_in(&plug, ix);
	for (unsigned i = 0; i < 4; i++) {
		fx_shard_init(&s[i], i);
		fx_shard_file(&s[i], i, NULL, 0, 0);
		w[i] = fx_shard_request(&s[i]);
		w[i].write.done = count_done;
		ck_assert_int_eq(cairn_index_put_shard(ix, &w[i]), i < 3 ? CAIRN_OK : CAIRN_E_BUSY);
	}
	struct cairn_index_put_shard late = fx_shard_request(&s[3]);
	ck_assert_int_eq(cairn_index_put_shard(ix, &late), CAIRN_E_BUSY);
	ck_assert_int_eq(cairn_index_writable(ix), CAIRN_E_BUSY); /* reports in time that the writer is stuck */
	plug_out(&plug);
	cairn_index_free(ix); /* finishes all queued writes */
	ck_assert_uint_eq(atomic_load(&n_done), 3);
	ix = fx_open(folder.path);
	for (unsigned i = 0; i < 4; i++)
		ck_assert(fx_sees(ix, NULL, i) == (i < 3));
	cairn_index_free(ix);
}
END_TEST

struct prober {
	struct cairn_index *ix;
	pthread_t thread;
	enum cairn_status status;
};

static void *probe(void *arg)
{
	struct prober *p = arg;
	p->status = cairn_index_writable(p->ix);
	return NULL;
}

static void begin_probe(struct prober *p, struct cairn_index *ix)
{
	p->ix = ix;
	ck_assert_int_eq(pthread_create(&p->thread, NULL, probe, p), 0);
}

static void still_waits(const struct prober *p)
{
	struct timespec soon;
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec += (soon.tv_nsec + 100000000) / 1000000000;
	soon.tv_nsec = (soon.tv_nsec + 100000000) % 1000000000;
	ck_assert_int_eq(pthread_timedjoin_np(p->thread, NULL, &soon), ETIMEDOUT);
}

/* A probe that follows a queued write is answered only after that write, even if another probe came earlier. */
START_TEST(a_probe_waits_for_earlier_writes)
{
	struct cairn_index_options options = {.batch_max = 1};
	struct cairn_index *ix = fx_open_with(folder.path, &options);
	static struct plug first, second;
	struct prober early, late;
	plug_in(&first, ix);
	begin_probe(&early, ix);
	still_waits(&early);
	plug_queue(&second, ix);
	begin_probe(&late, ix);
	still_waits(&late);
	plug_out(&first);
	ck_assert_int_eq(pthread_join(early.thread, NULL), 0);
	ck_assert_int_eq(early.status, CAIRN_OK);
	still_waits(&late);
	plug_out(&second);
	ck_assert_int_eq(pthread_join(late.thread, NULL), 0);
	ck_assert_int_eq(late.status, CAIRN_OK);
	cairn_index_free(ix);
}
END_TEST

struct uploader {
	struct cairn_index *ix;
	unsigned number;
	unsigned n_missing;
};
enum { UPLOADERS = 32, UPLOADS = 12 };

/* Uploads shards, and reads its own and another thread's files. */
static void *upload(void *arg)
{
	struct uploader *u = arg;
	for (unsigned i = 0; i < UPLOADS; i++) {
		uint64_t number = u->number * 1000 + i;
		struct fx_xorb x = fx_xorb_new(number, 50);
		struct fx_shard s;
		struct fx_answer answer = {0};
		fx_xorb_put(u->ix, &x);
		fx_shard_init(&s, number);
		fx_shard_xorb(&s, &x, 1, 7);
		fx_shard_file(&s, number, &x, 0, 50);
		fx_shard_file(&s, number + 500, &x, 7, 50);
		u->n_missing += fx_shard_put(u->ix, &s) != CAIRN_OK || !s.added;
		/* an acknowledged shard is there at once, with all its files */
		u->n_missing += !fx_sees(u->ix, NULL, number) || !fx_sees(u->ix, NULL, number + 500);
		u->n_missing += fx_query(u->ix, "", &x.list.hashes[7], &answer) != CAIRN_OK;
		/* another thread's shard is there with all its files or none: never the second without the first */
		uint64_t other = (u->number + 1) % UPLOADERS * 1000 + i;
		u->n_missing += fx_sees(u->ix, NULL, other + 500) && !fx_sees(u->ix, NULL, other);
		fx_xorb_fini(&x);
	}
	return NULL;
}

START_TEST(many_threads)
{
	struct cairn_index *ix = fx_open(folder.path);
	pthread_t threads[UPLOADERS];
	struct uploader u[UPLOADERS];
	for (unsigned i = 0; i < UPLOADERS; i++) {
		u[i] = (struct uploader){ix, i, 0};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, upload, &u[i]), 0);
	}
	for (unsigned i = 0; i < UPLOADERS; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_uint_eq(u[i].n_missing, 0);
	}
	struct cairn_index_stats stats;
	cairn_index_stats(ix, &stats);
	ck_assert_uint_eq(stats.n_xorbs, UPLOADERS * UPLOADS);
	ck_assert_uint_eq(stats.n_files, 2 * UPLOADERS * UPLOADS);
	ck_assert_uint_eq(stats.n_shards, UPLOADERS * UPLOADS);
	ck_assert_uint_eq(stats.n_writes, 2 * UPLOADERS * UPLOADS);
	ck_assert_uint_lt(stats.n_commits * 4, stats.n_writes); /* the writes were grouped */
	cairn_index_free(ix);
	ix = fx_open(folder.path);
	struct cairn_index_stats again;
	cairn_index_stats(ix, &again);
	ck_assert_uint_eq(again.n_files, stats.n_files);
	ck_assert_uint_eq(again.n_eligible, stats.n_eligible);
	cairn_index_free(ix);
}
END_TEST

static int acknowledged; /* writing end of a pipe */

static void *upload_forever(void *arg)
{
	struct uploader *u = arg;
	for (uint64_t number = u->number;; number += UPLOADERS) {
		struct fx_xorb x = fx_xorb_new(number, 10);
		struct fx_shard s;
		fx_xorb_put(u->ix, &x);
		fx_shard_init(&s, number);
		fx_shard_xorb(&s, &x, 1, 7);
		fx_shard_file(&s, number, &x, 0, 10);
		if (fx_shard_put(u->ix, &s) == CAIRN_OK &&
		    write(acknowledged, &number, sizeof(number)) != sizeof(number))
			_exit(1);
		fx_xorb_fini(&x);
	}
	return NULL;
}

static void upload_until_killed(unsigned round)
{
	struct cairn_index *ix = fx_open(folder.path);
	for (unsigned i = 0; i < 8; i++) {
		static struct uploader u[8];
		pthread_t thread;
		u[i] = (struct uploader){ix, round * 1000000 + i, 0};
		if (pthread_create(&thread, NULL, upload_forever, &u[i]) != 0)
			_exit(1);
	}
	for (;;)
		pause();
}

static void assert_whole(struct cairn_index *ix, uint64_t number)
{
	struct fx_xorb x = fx_xorb_new(number, 10);
	struct cairn_hash body = fx_hash("shard", number);
	struct fx_answer answer = {0};
	bool known;
	struct cairn_index_registered registered;
	ck_assert_int_eq(fx_shard_known(ix, &body, "", "", &known, &registered), CAIRN_OK);
	ck_assert(known);
	ck_assert(fx_sees(ix, NULL, number));
	ck_assert_int_eq(fx_query(ix, "", &x.list.hashes[7], &answer), CAIRN_OK);
	fx_xorb_fini(&x);
}

/* The process is killed during commits. Afterwards all acknowledged shards are there, and the rows agree. */
START_TEST(killed)
{
	for (unsigned round = 1; round <= 5; round++) {
		int ends[2];
		ck_assert_int_eq(pipe(ends), 0);
		pid_t child = fork();
		ck_assert_int_ge(child, 0);
		if (child == 0) {
			close(ends[0]);
			acknowledged = ends[1];
			upload_until_killed(round);
		}
		close(ends[1]);
		uint64_t numbers[1000], number;
		unsigned n = 0;
		while (n < 100 * round && read(ends[0], &number, sizeof(number)) == sizeof(number))
			numbers[n++] = number;
		kill(child, SIGKILL);
		ck_assert_int_eq(waitpid(child, NULL, 0), child);
		while (n < 1000 && read(ends[0], &number, sizeof(number)) == sizeof(number))
			numbers[n++] = number;
		close(ends[0]);
		ck_assert_uint_ge(n, 100 * round);
		struct cairn_index *ix = fx_open(folder.path);
		for (unsigned i = 0; i < n; i++)
			assert_whole(ix, numbers[i]);
		cairn_index_free(ix);
	}
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_writer_contract");
	TCase *t = tcase_create("writer");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_bad_write_does_not_fail_its_batch);
	tcase_add_test(t, a_batch_is_bounded_in_bytes);
	tcase_add_test(t, a_heavy_write_is_a_batch_of_its_own);
	tcase_add_test(t, senders_take_turns);
	tcase_add_test(t, the_queue_is_bounded);
	tcase_add_test(t, a_probe_waits_for_earlier_writes);
	tcase_add_test(t, many_threads);
	tcase_add_test(t, killed);
	suite_add_tcase(s, t);
	return run_suite(s);
}
