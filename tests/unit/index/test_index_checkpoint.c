/* The disk fails during a checkpoint of the index. The kernel treats a page that could not be written as written, so
 * only the log still has it. */
#include "cas/internal.h"
#include "index/sqlite/engine.h"
#include "index/sqlite/migrate.h"
#include "support/cas_fixture.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cas_fixture f;
static struct cairn_index *ix;
static struct tempdir disk; /* the database as it was after the last successful sync */

static void set_up(void)
{
	f = cas_fixture_new();
	disk = tempdir_new();
	ix = f.cas->index;
}

static void tear_down(void)
{
	tempdir_fini(&disk);
	cas_fixture_fini(&f);
}

/* Replaces the C library's functions, so that SQLite's syncs come here. */
static atomic_int syncs_to_fail;

static int sync_file(long number, int fd)
{
	char link[64], path[PATH_MAX];
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	const char *name = strrchr(path, '/');
	if (syncs_to_fail > 0 && name && strcmp(name, "/index.sqlite") == 0) {
		syncs_to_fail--;
		errno = EIO;
		return -1;
	}
	return (int)syscall(number, fd);
}

__attribute__((visibility("default"))) int fsync(int fd)
{
	return sync_file(SYS_fsync, fd);
}

__attribute__((visibility("default"))) int fdatasync(int fildes)
{
	return sync_file(SYS_fdatasync, fildes);
}

static void copy_file(const struct tempdir *from, const char *name)
{
	CLEANUP(tempdir_textp) char *in_path = tempdir_path(from, name);
	CLEANUP(tempdir_textp) char *out_path = tempdir_path(&disk, name);
	static char block[1 << 16];
	int in = open(in_path, O_RDONLY), out = open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_ge(in, 0);
	ck_assert_int_ge(out, 0);
	for (ssize_t n; (n = read(in, block, sizeof(block))) > 0;)
		ck_assert_int_eq(write(out, block, (size_t)n), n);
	close(in);
	close(out);
}

/* Lets the next sync of the database fail, and drops the data that it was to write. A child process does this, because
 * closing the file here would drop SQLite's locks on it. */
static void lose_next_sync(void)
{
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		copy_file(&f.dir, "index.sqlite");
		_exit(0);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	syncs_to_fail = 1;
}

static void put_file(uint64_t number)
{
	struct fx_shard s;
	fx_shard_init(&s, number);
	fx_shard_file(&s, number, NULL, 0, 0);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
}

/* Lengthens the log by n commits of one page each. All change the same page, so the round is short. */
static void fill_log_pages(int n)
{
	CLEANUP(cairn_sql_closep) sqlite3 *db = NULL;
	char path[CAIRN_SQL_PATH_BYTES];
	ck_assert_int_eq(cairn_sql_index_path(path, f.dir.path, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_sql_open(&db, path, SQLITE_OPEN_READWRITE, NULL, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_sql_exec(db, "PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = OFF"), CAIRN_OK);
	for (int i = 0; i < n; i++)
		ck_assert_int_eq(cairn_sql_exec(db, "UPDATE state SET probes = probes + 1"), CAIRN_OK);
}

/* Returns the length of the log, if it was never restarted. */
static int log_pages(void)
{
	enum { LOG_HEAD_BYTES = 32, FRAME_BYTES = 24 + CAIRN_MIGRATE_PAGE_BYTES };
	CLEANUP(tempdir_textp) char *path = tempdir_path(&f.dir, "index.sqlite-wal");
	struct stat st;
	ck_assert_int_eq(stat(path, &st), 0);
	return (int)((st.st_size - LOG_HEAD_BYTES) / FRAME_BYTES);
}

/* Fills the log until the next commit makes a checkpoint due. */
static void fill_log(void)
{
	fill_log_pages(CAIRN_CHECKPOINT_PAGES + 1);
}

/* Commits, and waits for the checkpoint round that this begins. */
static enum cairn_checkpoint_state commit_and_fold(void)
{
	struct cairn_checkpoint *c = &cairn_sqlite(ix)->checkpoint;
	ck_assert_int_eq(cairn_index_writable(ix), CAIRN_OK);
	pthread_mutex_lock(&c->lock);
	while (c->state == CAIRN_CHECKPOINT_COPYING)
		pthread_cond_wait(&c->changed, &c->lock);
	enum cairn_checkpoint_state state = c->state;
	pthread_mutex_unlock(&c->lock);
	return state;
}

/* Opens a snapshot, which keeps later commits from being copied. */
static void hold(sqlite3 **reader)
{
	char path[CAIRN_SQL_PATH_BYTES];
	int64_t n;
	ck_assert_int_eq(cairn_sql_index_path(path, f.dir.path, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_sql_open(reader, path, SQLITE_OPEN_READONLY, NULL, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_sql_exec(*reader, "BEGIN"), CAIRN_OK);
	ck_assert_int_eq(cairn_sql_ask(*reader, "SELECT count(*) FROM file", &n), CAIRN_OK);
}

/* Where the sync fails: after a part of the log was copied, after all of it, or when the writer copies the rest. */
enum { IN_A_PART, AT_THE_END, IN_THE_REST, WAYS };

static void fail_one_sync(int way)
{
	CLEANUP(cairn_sql_closep) sqlite3 *reader = NULL;
	if (way == IN_A_PART)
		hold(&reader);
	fill_log();
	if (way == IN_THE_REST)
		ck_assert_int_eq(commit_and_fold(), CAIRN_CHECKPOINT_REST);
	lose_next_sync();
	(void)commit_and_fold();
	ck_assert_int_eq(syncs_to_fail, 0);
}

static void not_ready(void)
{
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_cas_ready(f.cas, &diag), CAIRN_E_IO);
	ck_assert_str_eq(diag.rule, "index.checkpoint");
}

START_TEST(a_lost_page_is_still_in_the_log)
{
	put_file(1);
	fail_one_sync(_i);
	not_ready();
	/* from now on all syncs succeed, and the log is long enough for another round and a restart after it */
	put_file(2);
	fill_log();
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(commit_and_fold(), CAIRN_CHECKPOINT_FAILED);
	put_file(3);
	not_ready();
	cas_fixture_close(&f);
	copy_file(&f.dir, "index.sqlite-wal");
	struct cairn_index *after = fx_open(disk.path);
	for (uint64_t number = 1; number <= 3; number++)
		ck_assert(fx_sees(after, NULL, number));
	cairn_index_free(after);
}
END_TEST

START_TEST(a_restart_folds_it_in_again)
{
	put_file(1);
	fail_one_sync(IN_A_PART);
	cas_fixture_reopen(&f, NULL);
	ix = f.cas->index;
	ck_assert_int_eq(cairn_cas_ready(f.cas, NULL), CAIRN_OK);
	ck_assert_int_eq(commit_and_fold(), CAIRN_CHECKPOINT_IDLE); /* ends the round that /ready began, and its rest */
	put_file(2);
	cas_fixture_close(&f);
	copy_file(&f.dir, "index.sqlite"); /* copies only the database: the log is lost */
	struct cairn_index *after = fx_open(disk.path);
	ck_assert(fx_sees(after, NULL, 1) && fx_sees(after, NULL, 2));
	cairn_index_free(after);
}
END_TEST

/* Bytes of the shared-memory file that SQLite locks. */
enum { CHECKPOINT_LOCK = 121, READER_LOCK = 124 };

/* Lets another process take a lock of this type. @return the process */
static pid_t lock_elsewhere(short type, off_t byte_of_file)
{
	CLEANUP(tempdir_textp) char *path = tempdir_path(&f.dir, "index.sqlite-shm");
	int ends[2];
	char byte = 0;
	ck_assert_int_eq(pipe(ends), 0);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte_of_file, .l_len = 1};
		int fd = open(path, O_RDWR);
		if (fd < 0 || fcntl(fd, F_SETLK, &lock) != 0 || write(ends[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ends[1]);
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return child;
}

static void end_elsewhere(pid_t other)
{
	ck_assert_int_eq(kill(other, SIGKILL), 0);
	ck_assert_int_eq(waitpid(other, NULL, 0), other);
}

START_TEST(a_busy_log_is_no_failure)
{
	fill_log();
	pid_t other = lock_elsewhere(F_WRLCK, CHECKPOINT_LOCK);
	ck_assert_int_eq(commit_and_fold(), CAIRN_CHECKPOINT_REST);
	ck_assert_int_eq(commit_and_fold(), CAIRN_CHECKPOINT_IDLE);
	ck_assert_int_eq(cairn_cas_ready(f.cas, NULL), CAIRN_OK);
	end_elsewhere(other);
	fill_log();
	ck_assert_int_eq(commit_and_fold(), CAIRN_CHECKPOINT_REST);
	ck_assert_int_eq(commit_and_fold(), CAIRN_CHECKPOINT_IDLE);
}
END_TEST

/* Runs a round of checkpoints, as short as on a nearly full disk. @return the name of the reader that holds the log */
static const char *round_held_by(void)
{
	static struct cairn_index_stats stats;
	cairn_sqlite(ix)->checkpoint.keep_bytes = UINT64_MAX;
	cairn_sqlite(ix)->checkpoint.round_pages = CAIRN_CHECKPOINT_PAGES_MIN;
	fill_log_pages(CAIRN_CHECKPOINT_PAGES_MIN + 1);
	ck_assert_int_eq(commit_and_fold(), CAIRN_CHECKPOINT_REST);
	ck_assert_int_eq(commit_and_fold(), CAIRN_CHECKPOINT_IDLE);
	cairn_index_stats(ix, &stats);
	ck_assert_uint_gt(stats.log.bytes, 0);
	ck_assert(stats.log.holder[0] || stats.log.held_ms == 0);
	return stats.log.holder;
}

START_TEST(a_read_of_the_daemon_that_goes_on_is_named)
{
	struct cairn_reader *r;
	put_file(1);
	ck_assert_int_eq(cairn_sqlite_take(ix, &r), CAIRN_OK);
	ck_assert_int_eq(cairn_sql_exec(r->db, "BEGIN; SELECT count(*) FROM file"), CAIRN_OK);
	ck_assert_str_eq(round_held_by(), "");
	put_file(2); /* other reads come and go meanwhile */
	ck_assert(fx_sees(ix, NULL, 2));
	ck_assert_ptr_nonnull(strstr(round_held_by(), "this daemon, in "));
	ck_assert_ptr_nonnull(strstr(round_held_by(), __func__));
	ck_assert_int_eq(cairn_sql_exec(r->db, "COMMIT"), CAIRN_OK);
	cairn_pool_givep(&r);
	ck_assert_str_eq(round_held_by(), "");
}
END_TEST

/* A read of this process outside the pool holds the log. A child could not take SQLite's locks. */
START_TEST(a_process_that_goes_on_reading_is_named)
{
	CLEANUP(cairn_sql_closep) sqlite3 *reader = NULL;
	char name[32];
	put_file(1);
	hold(&reader);
	(void)round_held_by();
	ck_assert_str_eq(round_held_by(), "");
	pid_t other = lock_elsewhere(F_RDLCK, READER_LOCK);
	(void)snprintf(name, sizeof(name), "process %d", (int)other);
	ck_assert_str_eq(round_held_by(), name);
	end_elsewhere(other);
	ck_assert_str_eq(round_held_by(), "");
}
END_TEST

/* Holds one pass of the thread at the place of SQLite's WAL-reset bug. There the pass has read the header of the log,
 * but has no lock yet that keeps the log from being restarted. SQLite calls xUnfetch at this place. */
static struct {
	const sqlite3_io_methods *before; /* the methods that the file had */
	sqlite3_io_methods methods;
	int pass, held_pass; /* number of the current pass, and of the pass to hold */
	bool held, opened;   /* guarded by the checkpoint's lock */
} gate;

static int gate_unfetch(sqlite3_file *file, sqlite3_int64 offset, void *page)
{
	struct cairn_checkpoint *c = &cairn_sqlite(ix)->checkpoint;
	(void)file;
	(void)offset;
	if (page || ++gate.pass != gate.held_pass)
		return SQLITE_OK;
	pthread_mutex_lock(&c->lock);
	gate.held = true;
	pthread_cond_broadcast(&c->changed);
	while (!gate.opened)
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
	return SQLITE_OK;
}

/* The index's xSync looks up the system's methods by those of the file. */
static int gate_sync(sqlite3_file *file, int flags)
{
	file->pMethods = gate.before;
	int rc = gate.before->xSync(file, flags);
	file->pMethods = &gate.methods;
	return rc;
}

static void gate_set(int pass)
{
	sqlite3_file *file = NULL;
	sqlite3 *db = cairn_sqlite(ix)->checkpoint.db;
	ck_assert_int_eq(sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file), SQLITE_OK);
	gate.before = file->pMethods;
	gate.methods = *gate.before;
	gate.methods.xUnfetch = gate_unfetch;
	gate.methods.xSync = gate_sync;
	gate.held_pass = pass;
	file->pMethods = &gate.methods;
}

/* Waits until the pass is at the gate. @return false: the round ended without that pass */
static bool gate_wait(void)
{
	struct cairn_checkpoint *c = &cairn_sqlite(ix)->checkpoint;
	pthread_mutex_lock(&c->lock);
	while (c->state == CAIRN_CHECKPOINT_COPYING && !gate.held)
		pthread_cond_wait(&c->changed, &c->lock);
	bool held = gate.held;
	pthread_mutex_unlock(&c->lock);
	return held;
}

static void gate_open(void)
{
	struct cairn_checkpoint *c = &cairn_sqlite(ix)->checkpoint;
	pthread_mutex_lock(&c->lock);
	gate.opened = true;
	pthread_cond_broadcast(&c->changed);
	while (c->state == CAIRN_CHECKPOINT_COPYING)
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

static void sees_files(uint64_t n)
{
	for (uint64_t number = 1; number <= n; number++)
		ck_assert_msg(fx_sees(ix, NULL, number), "file %d was committed and is lost", (int)number);
}

/* Loops over the first passes of a round. A commit happens while the pass is held. */
START_TEST(a_commit_during_a_pass_is_kept)
{
	struct cairn_checkpoint *c = &cairn_sqlite(ix)->checkpoint;
	put_file(1);
	/* a round of so many pages needs another pass, and the writer does not wait for the end of the round */
	fill_log_pages(1003 - log_pages());
	/* rounds are short, as on a nearly full disk, but the log's file keeps its length */
	c->keep_bytes = UINT64_MAX;
	c->round_pages = CAIRN_CHECKPOINT_PAGES_MIN;
	gate_set(_i);
	ck_assert_int_eq(cairn_index_writable(ix), CAIRN_OK); /* begins a round */
	bool held = gate_wait();
	ck_assert(held || _i > 1);
	put_file(2);
	gate_open();
	sees_files(2);
	ck_assert_int_ne(c->state, CAIRN_CHECKPOINT_FAILED);
	put_file(3);
	fill_log_pages(2000); /* longer than the log was in the first round */
	ck_assert_int_eq(commit_and_fold(), CAIRN_CHECKPOINT_REST);
	ck_assert_int_eq(commit_and_fold(), CAIRN_CHECKPOINT_IDLE);
	put_file(4);
	sees_files(4);
	cas_fixture_reopen(&f, NULL);
	ix = f.cas->index;
	sees_files(4);
}
END_TEST

START_TEST(versions_with_the_bug_are_known)
{
	static const struct {
		int version;
		bool loses;
	} VERSIONS[] = {
		{3006023, false}, {3007000, true},  {3040001, true},  {3044005, true},  {3044006, false},
		{3045000, true},  {3046001, true},  {3050006, true},  {3050007, false}, {3051000, true},
		{3051002, true},  {3051003, false}, {3052000, false}, {4000000, false},
	};
	for (size_t i = 0; i < sizeof(VERSIONS) / sizeof(VERSIONS[0]); i++)
		ck_assert_msg(cairn_sql_loses_commits(VERSIONS[i].version) == VERSIONS[i].loses, "%d",
			      VERSIONS[i].version);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("index_checkpoint");
	TCase *t = tcase_create("checkpoint");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, a_lost_page_is_still_in_the_log, 0, WAYS);
	tcase_add_test(t, a_restart_folds_it_in_again);
	tcase_add_test(t, a_busy_log_is_no_failure);
	tcase_add_test(t, a_read_of_the_daemon_that_goes_on_is_named);
	tcase_add_test(t, a_process_that_goes_on_reading_is_named);
	suite_add_tcase(s, t);
	t = tcase_create("commit_during_pass");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, a_commit_during_a_pass_is_kept, 1, 3);
	tcase_add_test(t, versions_with_the_bug_are_known);
	suite_add_tcase(s, t);
	return run_suite(s);
}
