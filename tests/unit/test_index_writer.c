/* Group commit: batches, the queue's bound, many threads, a process that is killed. */
#include "index/sqlite_checkpoint.h"
#include "index/sqlite_write.h"
#include "support/index_fixture.h"
#include "support/tempdir.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

/* A write that holds the writer's thread until it is let go: what is queued meanwhile is one batch. */
struct plug {
	struct fx_shard shard;
	struct cairn_index_write write;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool held, released, done;
	enum cairn_status (*rewind)(void *ctx);
};

static enum cairn_status plug_rewind(void *ctx)
{
	struct plug *plug = ctx;
	pthread_mutex_lock(&plug->lock);
	plug->held = true;
	pthread_cond_broadcast(&plug->changed);
	while (!plug->released)
		pthread_cond_wait(&plug->changed, &plug->lock);
	pthread_mutex_unlock(&plug->lock);
	return CAIRN_E_MISMATCH;
}

static void plug_done(struct cairn_index_write *write)
{
	ck_assert_int_eq(write->status, CAIRN_E_MISMATCH);
}

static void plug_queue(struct plug *plug, struct cairn_index *ix)
{
	*plug = (struct plug){0};
	pthread_mutex_init(&plug->lock, NULL);
	pthread_cond_init(&plug->changed, NULL);
	fx_shard_init(&plug->shard, 999999);
	fx_shard_write(&plug->shard, &plug->write);
	plug->write.shard.source.ctx = plug;
	plug->write.shard.source.rewind = plug_rewind;
	plug->write.done = plug_done;
	ck_assert_int_eq(cairn_index_submit(ix, &plug->write), CAIRN_OK);
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
	static struct cairn_index_write w[BATCH];
	plug_in(&plug, ix);
	for (unsigned i = 0; i < BATCH; i++) {
		fx_shard_init(&s[i], i % 8); /* the last two are the first two again */
		fx_shard_file(&s[i], i % 8, &x, i % 8, 20);
		if (i == 4)
			fx_shard_file(&s[i], 100, &gone, 0, 1);
		if (i == 6)
			s[i].fails = CAIRN_E_IO;
		fx_shard_write(&s[i], &w[i]);
		w[i].done = count_done;
		ck_assert_int_eq(cairn_index_submit(ix, &w[i]), CAIRN_OK);
	}
	cairn_index_stats(ix, &after);
	ck_assert_uint_eq(after.n_queued, BATCH);
	plug_out(&plug);
	ck_assert_int_eq(cairn_index_writable(ix), CAIRN_OK); /* behind them all */
	ck_assert_uint_eq(atomic_load(&n_done), BATCH);
	for (unsigned i = 0; i < BATCH; i++) {
		ck_assert_int_eq(w[i].status, i == 4 ? CAIRN_E_CONFLICT : i == 6 ? CAIRN_E_IO : CAIRN_OK);
		ck_assert(w[i].added == (i < 8 && i != 4 && i != 6));
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

/* One transaction for what is small, others for what is large: its sender alone waits for it. */
START_TEST(a_batch_is_bounded_in_bytes)
{
	enum { KIB = 1024, N = 6 };
	static const uint64_t sizes[N] = {1, 4095 * KIB, 2, 64 * 1024 * KIB, 3, 4};
	struct cairn_index *ix = fx_open(folder.path);
	static struct plug plug;
	static struct fx_shard s[N];
	static struct cairn_index_write w[N];
	struct cairn_index_stats before, after;
	cairn_index_stats(ix, &before);
	plug_in(&plug, ix);
	for (unsigned i = 0; i < N; i++) {
		fx_shard_init(&s[i], i);
		fx_shard_file(&s[i], i, NULL, 0, 0);
		fx_shard_write(&s[i], &w[i]);
		w[i].shard.body_bytes = sizes[i];
		w[i].done = count_done;
		ck_assert_int_eq(cairn_index_submit(ix, &w[i]), CAIRN_OK);
	}
	plug_out(&plug);
	ck_assert_int_eq(cairn_index_writable(ix), CAIRN_OK);
	ck_assert_uint_eq(atomic_load(&n_done), N);
	cairn_index_stats(ix, &after);
	ck_assert_uint_eq(after.n_commits - before.n_commits, 3); /* of three, of the large one, of two */
	cairn_index_free(ix);
}
END_TEST

START_TEST(the_queue_is_bounded)
{
	struct cairn_index *ix;
	struct cairn_index_options options = {.queue_max = 3, .batch_max = 2};
	ck_assert_int_eq(cairn_index_open(&ix, folder.path, &options, NULL), CAIRN_OK);
	static struct plug plug;
	static struct fx_shard s[4];
	static struct cairn_index_write w[4];
	plug_in(&plug, ix);
	for (unsigned i = 0; i < 4; i++) {
		fx_shard_init(&s[i], i);
		fx_shard_file(&s[i], i, NULL, 0, 0);
		fx_shard_write(&s[i], &w[i]);
		w[i].done = count_done;
		ck_assert_int_eq(cairn_index_submit(ix, &w[i]), i < 3 ? CAIRN_OK : CAIRN_E_BUSY);
	}
	struct cairn_index_write late = w[3];
	ck_assert_int_eq(cairn_index_write(ix, &late), CAIRN_E_BUSY);
	ck_assert_int_eq(cairn_index_writable(ix), CAIRN_E_BUSY); /* the writer is stuck: it says so in time */
	plug_out(&plug);
	cairn_index_free(ix); /* finishes what waits */
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

/* Whoever asks after a write was queued is told only when that is done, also when another's probe is ahead of it. */
START_TEST(a_probe_is_behind_all_that_waits)
{
	struct cairn_index *ix;
	struct cairn_index_options options = {.batch_max = 1};
	ck_assert_int_eq(cairn_index_open(&ix, folder.path, &options, NULL), CAIRN_OK);
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

/* A disk that takes no more: uploads are refused, what is there can be read, and with room again all goes on. */
START_TEST(a_disk_that_refuses)
{
	struct cairn_index *ix = fx_open(folder.path);
	struct fx_xorb x = fx_xorb_new(1, 1000);
	struct fx_shard s;
	struct rlimit free_again, tight;
	fx_xorb_put(ix, &x);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &free_again), 0);
	signal(SIGXFSZ, SIG_IGN);
	tight = free_again;
	tight.rlim_cur = 4096;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &x, 1, 7);
	fx_shard_file(&s, 1, &x, 0, 1000);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_E_IO);
	ck_assert_str_eq(s.diag.rule, "index.database");
	ck_assert(!s.added);
	ck_assert_int_eq(cairn_index_writable(ix), CAIRN_E_IO);
	ck_assert(!fx_sees(ix, NULL, 1));
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_xorb(ix, &x.hash, &row), CAIRN_OK);
	struct cairn_index_stats stats;
	cairn_index_stats(ix, &stats);
	ck_assert_uint_eq(stats.n_files, 0);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &free_again), 0);
	ck_assert_int_eq(cairn_index_writable(ix), CAIRN_OK);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert(s.added);
	ck_assert(fx_sees(ix, NULL, 1));
	cairn_index_free(ix);
	fx_xorb_fini(&x);
}
END_TEST

/* SQLite's calls come here, since the program's functions go before a library's. */
static atomic_int sync_error, write_error;

__attribute__((visibility("default"))) int fdatasync(int fildes)
{
	if (sync_error == 0)
		return (int)syscall(SYS_fdatasync, fildes);
	errno = sync_error;
	return -1;
}

__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t offset)
{
	if (write_error == 0)
		return (ssize_t)syscall(SYS_pwrite64, fd, buf, n, offset);
	errno = write_error;
	return -1;
}

START_TEST(a_quota_is_used_up_as_a_disk_is)
{
	static const int errors[] = {ENOSPC, EDQUOT, EIO};
	enum cairn_status expected = errors[_i] == EIO ? CAIRN_E_IO : CAIRN_E_FULL;
	struct cairn_index *ix = fx_open(folder.path);
	struct fx_shard s;
	fx_shard_init(&s, 1);
	fx_shard_file(&s, 1, NULL, 0, 0);
	sync_error = errors[_i];
	ck_assert_int_eq(fx_shard_put(ix, &s), expected);
	sync_error = 0;
	write_error = errors[_i];
	ck_assert_int_eq(fx_shard_put(ix, &s), expected);
	write_error = 0;
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	cairn_index_free(ix);
}
END_TEST

struct uploader {
	struct cairn_index *ix;
	unsigned number;
	unsigned n_missing;
};
enum { UPLOADERS = 32, UPLOADS = 12 };

/* Uploads, and reads what it and others have uploaded. */
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
		/* What was acknowledged is there at once, whole. */
		u->n_missing += !fx_sees(u->ix, NULL, number) || !fx_sees(u->ix, NULL, number + 500);
		u->n_missing += fx_query(u->ix, "", &x.list.hashes[7], &answer) != CAIRN_OK;
		/* Another's is there whole, or not at all: its second file never without its first. */
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
	ck_assert_uint_lt(stats.n_commits * 4, stats.n_writes); /* they were grouped */
	cairn_index_free(ix);
	ix = fx_open(folder.path);
	struct cairn_index_stats again;
	cairn_index_stats(ix, &again);
	ck_assert_uint_eq(again.n_files, stats.n_files);
	ck_assert_uint_eq(again.n_eligible, stats.n_eligible);
	cairn_index_free(ix);
}
END_TEST

static int64_t pages_of(const char *name)
{
	CLEANUP(tempdir_textp) char *path = tempdir_path(&folder, name);
	struct stat st;
	ck_assert_int_eq(stat(path, &st), 0);
	return st.st_size / 4096;
}

/* More pages than two rounds of folding take, while commits go on. */
START_TEST(the_log_is_folded_in_beside_the_commits)
{
	enum { XORBS = 900, CHUNKS = 8192 };
	struct cairn_index *ix = fx_open(folder.path);
	int64_t log_pages = 0;
	for (uint64_t i = 0; i < XORBS; i++) {
		struct fx_xorb x = fx_xorb_new(i % 5, CHUNKS);
		x.hash = fx_hash("xorb of the log", i); /* the lists are what takes the time */
		ck_assert(fx_xorb_put(ix, &x));
		fx_xorb_fini(&x);
		int64_t now = pages_of("index.sqlite-wal");
		log_pages = now > log_pages ? now : log_pages;
	}
	ck_assert_int_ge(log_pages, CAIRN_CHECKPOINT_PAGES);
	ck_assert_int_lt(log_pages, 2 * CAIRN_CHECKPOINT_PAGES);
	ck_assert_int_ge(pages_of("index.sqlite"), CAIRN_CHECKPOINT_PAGES);
	cairn_index_free(ix);
	ix = fx_open(folder.path);
	for (uint64_t i = 0; i < XORBS; i += 7) {
		struct fx_xorb x = fx_xorb_new(i % 5, CHUNKS);
		CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
		struct cairn_hash hash = fx_hash("xorb of the log", i);
		ck_assert_int_eq(cairn_index_chunk_list(ix, &hash, &list), CAIRN_OK);
		ck_assert_uint_eq(list.n, CHUNKS);
		ck_assert_mem_eq(list.hashes, x.list.hashes, CHUNKS * sizeof(*list.hashes));
		fx_xorb_fini(&x);
	}
	cairn_index_free(ix);
}
END_TEST

static int acknowledged; /* a pipe's end */

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
	ck_assert_int_eq(cairn_index_shard_known(ix, &body, "", "", &known), CAIRN_OK);
	ck_assert(known);
	ck_assert(fx_sees(ix, NULL, number));
	ck_assert_int_eq(fx_query(ix, "", &x.list.hashes[7], &answer), CAIRN_OK);
	fx_xorb_fini(&x);
}

/* kill -9 in the middle of commits: all that was acknowledged is there, and the rows agree with each other. */
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

START_TEST(the_cache_is_a_share_of_a_large_file)
{
	enum { MIB = 1024, GIB = 1024 * MIB }; /* in KiB */
	ck_assert_int_eq(cairn_tx_cache_kib(0), 8 * MIB);
	ck_assert_int_eq(cairn_tx_cache_kib(GIB), 8 * MIB);
	ck_assert_int_eq(cairn_tx_cache_kib(GIB + 64), 16 * MIB + 1);
	ck_assert_int_eq(cairn_tx_cache_kib(4 * (int64_t)GIB), 64 * MIB);
	ck_assert_int_eq(cairn_tx_cache_kib(8 * (int64_t)GIB), 128 * MIB);
	ck_assert_int_eq(cairn_tx_cache_kib(400 * (int64_t)GIB), 128 * MIB);
}
END_TEST

static int64_t cache_kib(const struct cairn_tx *tx)
{
	int64_t value = 0;
	ck_assert_int_eq(cairn_sql_ask(tx->db, "PRAGMA cache_size", &value), CAIRN_OK);
	return -value;
}

static void open_tx(struct cairn_tx *tx, const char *path)
{
	struct cairn_diag diag = {0};
	*tx = (struct cairn_tx){0};
	ck_assert_msg(cairn_tx_open(tx, path, &diag) == CAIRN_OK, "%s", diag.text);
}

/* A file of 2 GiB that is a hole but for its first pages; its header has the number of its pages, big endian. */
static void grow(const char *path)
{
	static const uint8_t pages[] = {0, 8, 0, 0};
	enum { HEADER_PAGES = 28 };
	int fd = open(path, O_WRONLY);
	ck_assert_int_eq(pwrite(fd, pages, sizeof(pages), HEADER_PAGES), sizeof(pages));
	ck_assert_int_eq(ftruncate(fd, (off_t)2 << 30), 0);
	close(fd);
}

START_TEST(the_cache_is_sized_when_it_is_opened_and_while_it_grows)
{
	char path[512];
	(void)snprintf(path, sizeof(path), "%s/index.sqlite", folder.path);
	struct cairn_tx tx;
	open_tx(&tx, path);
	ck_assert_int_eq(cache_kib(&tx), 8 * 1024);
	cairn_tx_close(&tx);
	grow(path);
	open_tx(&tx, path);
	ck_assert_int_eq(cache_kib(&tx), 32 * 1024);
	ck_assert_int_eq(cairn_sql_exec(tx.db, "PRAGMA cache_size = -100"), CAIRN_OK);
	for (unsigned i = 0; i < 1024; i++) {
		ck_assert_int_eq(cache_kib(&tx), 100);
		ck_assert_int_eq(cairn_tx_begin(&tx), CAIRN_OK);
		ck_assert_int_eq(cairn_tx_commit(&tx), CAIRN_OK);
	}
	ck_assert_int_eq(cache_kib(&tx), 32 * 1024);
	cairn_tx_close(&tx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("index_writer");
	TCase *t = tcase_create("writer");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 200);
	tcase_add_test(t, a_bad_write_does_not_fail_its_batch);
	tcase_add_test(t, a_batch_is_bounded_in_bytes);
	tcase_add_test(t, the_queue_is_bounded);
	tcase_add_test(t, a_probe_is_behind_all_that_waits);
	tcase_add_test(t, a_disk_that_refuses);
	tcase_add_loop_test(t, a_quota_is_used_up_as_a_disk_is, 0, 3);
	tcase_add_test(t, many_threads);
	tcase_add_test(t, the_log_is_folded_in_beside_the_commits);
	tcase_add_test(t, killed);
	tcase_add_test(t, the_cache_is_a_share_of_a_large_file);
	tcase_add_test(t, the_cache_is_sized_when_it_is_opened_and_while_it_grows);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
