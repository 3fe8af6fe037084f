#include "index/sqlite/log.h"

#include "index/sqlite/util.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static struct tempdir dir;
static char path[512];
static sqlite3_file *file;

/* Opens a file of the VFS, of the given kind. */
static void open_file(int kind)
{
	dir = tempdir_new();
	/* make the database first, because its log gets the same permissions */
	(void)snprintf(path, sizeof(path), "%s/db", dir.path);
	FILE *db = fopen(path, "w");
	ck_assert_ptr_nonnull(db);
	(void)fclose(db);
	(void)snprintf(path, sizeof(path), "%s/db-wal", dir.path);
	cairn_sql_log_register();
	sqlite3_vfs *vfs = sqlite3_vfs_find(CAIRN_SQL_LOG_VFS);
	ck_assert_ptr_nonnull(vfs);
	file = calloc(1, (size_t)vfs->szOsFile);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | kind;
	ck_assert_int_eq(vfs->xOpen(vfs, path, file, flags, NULL), SQLITE_OK);
}

static void open_log(void)
{
	open_file(SQLITE_OPEN_WAL);
}

static void close_file(void)
{
	if (file->pMethods)
		ck_assert_int_eq(file->pMethods->xClose(file), SQLITE_OK);
	free(file);
	tempdir_fini(&dir);
}

static void put(const char *text, sqlite3_int64 offset)
{
	ck_assert_int_eq(file->pMethods->xWrite(file, text, (int)strlen(text), offset), SQLITE_OK);
}

static void sync_file(void)
{
	ck_assert_int_eq(file->pMethods->xSync(file, SQLITE_SYNC_NORMAL), SQLITE_OK);
}

/* Returns the size of the file on disk. */
static size_t bytes_on_disk(void)
{
	struct stat st;
	ck_assert_int_eq(stat(path, &st), 0);
	return (size_t)st.st_size;
}

static void disk_has(const char *text)
{
	char got[64] = "";
	FILE *f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fread(got, 1, sizeof(got) - 1, f), strlen(text));
	ck_assert_str_eq(got, text);
	(void)fclose(f);
}

START_TEST(pieces_go_out_together_when_synced)
{
	put("one ", 0);
	put("two ", 4);
	put("three", 8);
	ck_assert_uint_eq(bytes_on_disk(), 0);
	sync_file();
	disk_has("one two three");
	put("TWO", 4);
	sync_file();
	disk_has("one TWO three");
}
END_TEST

START_TEST(a_piece_elsewhere_sends_the_others_out)
{
	put("abcdef", 0);
	put("X", 2); /* overwrites bytes that are still in the buffer */
	disk_has("abcdef");
	put("Y", 3);
	put("Z", 0);
	disk_has("abXYef");
	sync_file();
	disk_has("ZbXYef");
}
END_TEST

START_TEST(written_bytes_are_read_counted_and_cut)
{
	char got[4] = "";
	sqlite3_int64 size;
	put("abcdef", 0);
	ck_assert_int_eq(file->pMethods->xRead(file, got, 3, 2), SQLITE_OK);
	ck_assert_mem_eq(got, "cde", 3);
	put("ghi", 6);
	ck_assert_int_eq(file->pMethods->xFileSize(file, &size), SQLITE_OK);
	ck_assert_int_eq(size, 9);
	put("jkl", 9);
	ck_assert_int_eq(file->pMethods->xTruncate(file, 10), SQLITE_OK);
	disk_has("abcdefghij");
}
END_TEST

START_TEST(closing_writes_gathered_bytes)
{
	put("left", 0);
	ck_assert_int_eq(file->pMethods->xClose(file), SQLITE_OK);
	file->pMethods = NULL;
	disk_has("left");
}
END_TEST

/* Writes that do not fit into the buffer, in pieces of all kinds, and one write longer than the buffer. */
START_TEST(large_writes)
{
	enum { N = 1 << 20, BIG = 100 * 1024 };
	uint8_t *bytes = malloc(N), *back = malloc(N);
	ck_assert_ptr_nonnull(bytes);
	ck_assert_ptr_nonnull(back);
	for (size_t i = 0; i < N; i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	for (int at = 0, n = 1; at < N; at += n) {
		n = at == 0 ? BIG : n % 9000 + 24;
		n = n < N - at ? n : N - at;
		ck_assert_int_eq(file->pMethods->xWrite(file, bytes + at, n, at), SQLITE_OK);
	}
	ck_assert_int_eq(file->pMethods->xRead(file, back, N, 0), SQLITE_OK);
	ck_assert_mem_eq(bytes, back, N);
	free(bytes);
	free(back);
}
END_TEST

/* A late write fails. The next sync reports that, and none of the bytes appears later. */
START_TEST(a_failed_write_is_reported_by_the_next_sync)
{
	struct rlimit before;
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	put("12345678", 0);
	sync_file();
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){8, before.rlim_max}), 0);
	put("9", 8);
	int rc = file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	ck_assert_int_ne(rc, SQLITE_OK);
	sync_file();
	disk_has("12345678");
	put("ABC", 6);
	sync_file();
	disk_has("123456ABC");
}
END_TEST

START_TEST(other_files_are_the_systems_own)
{
	open_file(SQLITE_OPEN_MAIN_DB);
	put("now", 0);
	disk_has("now");
	close_file();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("index_log");
	TCase *log = tcase_create("log"), *other = tcase_create("other");
	tcase_add_checked_fixture(log, open_log, close_file);
	tcase_add_test(log, pieces_go_out_together_when_synced);
	tcase_add_test(log, a_piece_elsewhere_sends_the_others_out);
	tcase_add_test(log, written_bytes_are_read_counted_and_cut);
	tcase_add_test(log, closing_writes_gathered_bytes);
	tcase_add_test(log, large_writes);
	tcase_add_test(log, a_failed_write_is_reported_by_the_next_sync);
	tcase_add_test(other, other_files_are_the_systems_own);
	suite_add_tcase(suite, log);
	suite_add_tcase(suite, other);
	return run_suite(suite);
}
