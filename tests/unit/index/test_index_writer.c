/* How the SQLite engine writes: full disks and quotas, the growth of its log, its cache. */
#include "index/backend.h"
#include "index/sqlite/checkpoint.h"
#include "index/sqlite/write.h"
#include "index/writer.h"
#include "support/index_fixture.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

/* A write that fails, and counts how often it is tried. */
struct failing {
	struct cairn_index_write write;
	unsigned n_applied;
};

static enum cairn_status fail_applied(struct cairn_index *ix, struct cairn_index_write *write)
{
	(void)ix;
	((struct failing *)write)->n_applied++;
	return cairn_fail(&write->diag, CAIRN_E_CONFLICT, "test.failing", CAIRN_NO_OFFSET, "it always fails");
}

START_TEST(a_bad_write_by_itself_is_not_tried_again)
{
	static const struct cairn_index_kind KIND = {.apply = fail_applied};
	struct cairn_index *ix = fx_open(folder.path);
	struct failing failing = {0};
	ck_assert_int_eq(cairn_writer_submit(&ix->writer, &failing.write, &KIND), CAIRN_E_CONFLICT);
	ck_assert_str_eq(failing.write.diag.rule, "test.failing");
	ck_assert_uint_eq(failing.n_applied, 1);
	cairn_index_free(ix);
}
END_TEST

/* When the disk is full, uploads are refused and reads continue. When space is free again, uploads succeed. */
START_TEST(a_full_disk_refuses_writes_until_there_is_room)
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

/* Replaces the C library's functions, so that SQLite's calls come here. */
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

/* Tests the health alone, with a made-up clock. */
START_TEST(a_failure_is_reported_until_a_write_succeeds)
{
	struct cairn_health h = {0};
	static const struct cairn_index_kind UPLOAD = {.frees = false}, PROBE = {.probes = true};
	struct cairn_index_write good = {.kind = &UPLOAD}, probe = {.kind = &PROBE};
	struct cairn_index_write bad = {.kind = &UPLOAD, .status = CAIRN_E_FULL};
	cairn_health_note(&h, &bad, 1000); /* not a failure of the database */
	ck_assert_int_eq(h.status, CAIRN_OK);
	bad.diag.rule = "index.database";
	cairn_health_note(&h, &bad, 1000);
	ck_assert_int_eq(h.status, CAIRN_E_FULL);
	cairn_health_note(&h, &probe, 1000 + CAIRN_HEALTH_HOLD_MS - 1);
	ck_assert_int_eq(h.status, CAIRN_E_FULL);
	cairn_health_note(&h, &probe, 1000 + CAIRN_HEALTH_HOLD_MS);
	ck_assert_int_eq(h.status, CAIRN_OK);
	cairn_health_note(&h, &bad, 2000);
	good.next = &bad; /* in a batch, the failed write counts */
	cairn_health_note(&h, &good, 2001);
	ck_assert_int_eq(h.status, CAIRN_E_FULL);
	good.next = NULL;
	cairn_health_note(&h, &good, 2002);
	ck_assert_int_eq(h.status, CAIRN_OK);
	bad.status = CAIRN_E_BUSY;
	bad.diag.rule = "index.silent";
	cairn_health_note(&h, &bad, 2500);
	ck_assert_int_eq(h.status, CAIRN_E_BUSY);
	cairn_health_note(&h, &probe, 2501); /* a server that answers is healthy again */
	ck_assert_int_eq(h.status, CAIRN_OK);
	bad.status = CAIRN_E_IO;
	bad.diag.rule = "index.corrupt";
	cairn_health_note(&h, &bad, 3000);
	cairn_health_note(&h, &good, 3001);
	cairn_health_note(&h, &probe, 3001 + CAIRN_HEALTH_HOLD_MS);
	ck_assert_int_eq(h.status, CAIRN_E_IO); /* damage is not forgotten */
	ck_assert_str_eq(h.diag.rule, "index.corrupt");
}
END_TEST

START_TEST(a_quota_is_used_up_as_a_disk_is)
{
	static const int errors[] = {ENOSPC, EDQUOT, EIO};
	enum cairn_status expected = errors[_i] == EIO ? CAIRN_E_IO : CAIRN_E_FULL;
	struct cairn_index *ix = fx_open(folder.path);
	struct fx_shard s;
	fx_shard_init(&s, 1);
	fx_shard_file(&s, 1, NULL, 0, 0);
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_index_health(ix, &diag), CAIRN_OK);
	sync_error = errors[_i];
	ck_assert_int_eq(fx_shard_put(ix, &s), expected);
	sync_error = 0;
	ck_assert_int_eq(cairn_index_health(ix, &diag), expected);
	ck_assert_str_eq(diag.rule, "index.database");
	write_error = errors[_i];
	ck_assert_int_eq(fx_shard_put(ix, &s), expected);
	write_error = 0;
	ck_assert_int_eq(cairn_index_writable(ix), CAIRN_OK);
	ck_assert_int_eq(cairn_index_health(ix, &diag), expected); /* a successful probe shows little */
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert_int_eq(cairn_index_health(ix, &diag), CAIRN_OK);
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

enum { LISTS = 5, CHUNKS = 8192 };

static struct fx_xorb lists[LISTS]; /* static, because making them takes long */

static struct fx_xorb xorb_of_log(uint64_t i)
{
	struct fx_xorb x = lists[i % LISTS];
	x.hash = fx_hash("xorb of the log", i);
	return x;
}

/* Adds xorbs, one in each commit. @return the length of the log after the longest commit */
static int64_t fill_log(struct cairn_index *ix, uint64_t n_xorbs)
{
	int64_t longest = 0;
	for (uint64_t i = 0; i < LISTS; i++)
		lists[i] = fx_xorb_new(i, CHUNKS);
	for (uint64_t i = 0; i < n_xorbs; i++) {
		struct fx_xorb x = xorb_of_log(i);
		ck_assert(fx_xorb_put(ix, &x));
		int64_t now = pages_of("index.sqlite-wal");
		longest = now > longest ? now : longest;
	}
	return longest;
}

static void check_and_end_log(struct cairn_index *ix, uint64_t n_xorbs)
{
	cairn_index_free(ix);
	ix = fx_open(folder.path);
	for (uint64_t i = 0; i < n_xorbs; i += 7) {
		CLEANUP(cairn_chunk_list_fini) struct cairn_chunk_list list = {0};
		struct fx_xorb x = xorb_of_log(i);
		ck_assert_int_eq(cairn_index_chunk_list(ix, &x.hash, &list), CAIRN_OK);
		ck_assert_uint_eq(list.n, CHUNKS);
		ck_assert_mem_eq(list.hashes, x.list.hashes, CHUNKS * sizeof(*list.hashes));
	}
	for (unsigned i = 0; i < LISTS; i++)
		fx_xorb_fini(&lists[i]);
	cairn_index_free(ix);
}

/* How far the log grows in one round depends on the disk. The next test checks that there is a limit. */
START_TEST(many_commits_go_into_the_log_before_it_is_folded_in)
{
	enum { XORBS = 600 };
	struct cairn_index *ix = fx_open(folder.path);
	ck_assert_int_ge(fill_log(ix, XORBS), CAIRN_CHECKPOINT_PAGES);
	check_and_end_log(ix, XORBS);
}
END_TEST

/* When rounds are as short as on a nearly full disk, commits that are faster than the checkpoint thread wait for it. */
START_TEST(the_log_is_folded_in_beside_the_commits)
{
	enum { XORBS = 100, COMMIT_PAGES = 128 };
	struct cairn_index_options full = {.keep_bytes = UINT64_MAX};
	struct cairn_index *ix = fx_open_with(folder.path, &full);
	int64_t log_pages = fill_log(ix, XORBS);
	ck_assert_int_ge(log_pages, CAIRN_CHECKPOINT_PAGES_MIN);
	ck_assert_int_le(log_pages, CAIRN_CHECKPOINT_LATE * CAIRN_CHECKPOINT_PAGES_MIN + COMMIT_PAGES);
	ck_assert_int_ge(pages_of("index.sqlite"), 2 * CAIRN_CHECKPOINT_LATE * CAIRN_CHECKPOINT_PAGES_MIN);
	check_and_end_log(ix, XORBS);
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

/* Grows the database to 2 GiB, a hole except for the first pages. Its header has the number of pages, big endian. */
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
	cairn_index_free(fx_open(folder.path));
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

/* The changes of a transaction stay in memory until its end, up to 64 MiB. Here they take 32, four times the cache. */
START_TEST(a_large_transaction_writes_its_pages_once)
{
	char path[512];
	(void)snprintf(path, sizeof(path), "%s/index.sqlite", folder.path);
	struct cairn_tx tx;
	int spilled = -1, highest = 0;
	cairn_index_free(fx_open(folder.path));
	open_tx(&tx, path);
	ck_assert_int_eq(cairn_tx_begin(&tx), CAIRN_OK);
	for (unsigned i = 0; i < 512; i++)
		ck_assert_int_eq(cairn_sql_exec(tx.db, "INSERT INTO telemetry(at, sender, body)"
						       " VALUES(1, '', zeroblob(65536))"),
				 CAIRN_OK);
	ck_assert_int_eq(sqlite3_db_status(tx.db, SQLITE_DBSTATUS_CACHE_SPILL, &spilled, &highest, 0), SQLITE_OK);
	ck_assert_int_eq(spilled, 0);
	ck_assert_int_eq(cairn_tx_commit(&tx), CAIRN_OK);
	cairn_tx_close(&tx);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("index_writer");
	TCase *t = tcase_create("writer");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_bad_write_by_itself_is_not_tried_again);
	tcase_add_test(t, a_full_disk_refuses_writes_until_there_is_room);
	tcase_add_loop_test(t, a_quota_is_used_up_as_a_disk_is, 0, 3);
	tcase_add_test(t, many_commits_go_into_the_log_before_it_is_folded_in);
	tcase_add_test(t, the_log_is_folded_in_beside_the_commits);
	tcase_add_test(t, a_failure_is_reported_until_a_write_succeeds);
	tcase_add_test(t, the_cache_is_a_share_of_a_large_file);
	tcase_add_test(t, the_cache_is_sized_when_it_is_opened_and_while_it_grows);
	tcase_add_test(t, a_large_transaction_writes_its_pages_once);
	suite_add_tcase(s, t);
	return run_suite(s);
}
