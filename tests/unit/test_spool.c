#include "base/fd.h"
#include "store/spool.h"
#include "support/tempdir.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t EXPECTED[] = {10, 7, 0, UINT64_MAX}; /* in memory, moved on the way, and in a file */
enum { N_EXPECTED = sizeof(EXPECTED) / sizeof(EXPECTED[0]) };

START_TEST(written_bytes_are_read)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_spool_freep) struct cairn_spool *s = NULL;
	ck_assert_int_eq(cairn_spool_new(&s, dir.path, 10, EXPECTED[_i]), CAIRN_OK);
	ck_assert_int_eq(cairn_spool_write(s, (const uint8_t *)"hello", 5), CAIRN_OK);
	ck_assert_int_eq(cairn_spool_write(s, (const uint8_t *)"world", 5), CAIRN_OK);
	ck_assert_uint_eq(cairn_spool_bytes(s), 10);
	ck_assert(cairn_spool_is_file(s) == (EXPECTED[_i] < 10 || EXPECTED[_i] == UINT64_MAX));
	const uint8_t *bytes = NULL, *again = NULL;
	size_t len = 0;
	ck_assert_int_eq(cairn_spool_read(s, &bytes, &len), CAIRN_OK);
	ck_assert_uint_eq(len, 10);
	ck_assert_mem_eq(bytes, "helloworld", 10);
	ck_assert_int_eq(cairn_spool_read(s, &again, &len), CAIRN_OK);
	ck_assert_ptr_eq(again, bytes);
}
END_TEST

START_TEST(one_byte_past_the_limit_is_refused)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_spool_freep) struct cairn_spool *s = NULL;
	ck_assert_int_eq(cairn_spool_new(&s, dir.path, 4, EXPECTED[_i]), CAIRN_OK);
	ck_assert_int_eq(cairn_spool_write(s, (const uint8_t *)"12345", 5), CAIRN_E_LIMIT);
	ck_assert_uint_eq(cairn_spool_bytes(s), 0);
	ck_assert_int_eq(cairn_spool_write(s, (const uint8_t *)"1234", 4), CAIRN_OK);
	ck_assert_int_eq(cairn_spool_write(s, (const uint8_t *)"5", 1), CAIRN_E_LIMIT);
	ck_assert_int_eq(cairn_spool_write(s, (const uint8_t *)"", 0), CAIRN_OK);
	ck_assert_uint_eq(cairn_spool_bytes(s), 4);
}
END_TEST

START_TEST(empty_reads_as_something)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_spool_freep) struct cairn_spool *s = NULL;
	const uint8_t *bytes = NULL;
	size_t len = 1;
	ck_assert_int_eq(cairn_spool_new(&s, dir.path, 4, EXPECTED[_i]), CAIRN_OK);
	ck_assert_int_eq(cairn_spool_read(s, &bytes, &len), CAIRN_OK);
	ck_assert_ptr_nonnull(bytes);
	ck_assert_uint_eq(len, 0);
}
END_TEST

/* The spool's file is the only file without a name. */
static int spool_fd(size_t len)
{
	struct stat st;
	for (int fd = STDERR_FILENO + 1; fd < 64; fd++)
		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0 && st.st_size == (off_t)len)
			return fd;
	return -1;
}

START_TEST(a_file_that_was_cut_is_an_error)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_spool_freep) struct cairn_spool *s = NULL;
	const uint8_t *bytes = NULL;
	size_t len;
	ck_assert_int_eq(cairn_spool_new(&s, dir.path, 100000, UINT64_MAX), CAIRN_OK);
	ck_assert_int_eq(cairn_spool_write(s, (const uint8_t[12345]){0}, 12345), CAIRN_OK);
	int fd = spool_fd(12345);
	ck_assert_int_eq(ftruncate(fd, 5), 0);
	ck_assert_int_eq(cairn_spool_read(s, &bytes, &len), CAIRN_E_IO);
	ck_assert_ptr_null(bytes);
	ck_assert_int_eq(ftruncate(fd, 12345), 0); /* a failed call is tried again */
	ck_assert_int_eq(cairn_spool_read(s, &bytes, &len), CAIRN_OK);
	ck_assert_uint_eq(len, 12345);
}
END_TEST

START_TEST(nothing_shows_in_the_folder)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	struct cairn_spool *s = NULL;
	ck_assert_int_eq(cairn_spool_new(&s, dir.path, 100, EXPECTED[_i]), CAIRN_OK);
	ck_assert_int_eq(cairn_spool_write(s, (const uint8_t *)"hello", 5), CAIRN_OK);
	ck_assert_int_eq(tempdir_count(&dir, "."), 0);
	cairn_spool_free(s);
	ck_assert_int_eq(tempdir_count(&dir, "."), 0);
	cairn_spool_free(NULL);
}
END_TEST

START_TEST(missing_folder)
{
	struct cairn_spool *s = NULL;
	ck_assert_int_eq(cairn_spool_new(&s, "/nowhere/at/all", 4, UINT64_MAX), CAIRN_E_IO);
	ck_assert_ptr_null(s);
}
END_TEST

START_TEST(what_cannot_move_to_a_file_stays_as_it_was)
{
	CLEANUP(cairn_spool_freep) struct cairn_spool *s = NULL;
	ck_assert_int_eq(cairn_spool_new(&s, "/nowhere/at/all", 100, 5), CAIRN_OK);
	ck_assert_int_eq(cairn_spool_write(s, (const uint8_t *)"hello", 5), CAIRN_OK);
	ck_assert_int_eq(cairn_spool_write(s, (const uint8_t *)"world", 5), CAIRN_E_IO);
	ck_assert_uint_eq(cairn_spool_bytes(s), 5);
}
END_TEST

/* A spool that fits into memory needs no folder. */
START_TEST(memory_has_its_limits)
{
	enum { N = CAIRN_SPOOL_MEMORY_BYTES_ALL / CAIRN_SPOOL_MEMORY_BYTES };
	struct cairn_spool *s[N], *more = NULL;
	ck_assert_int_eq(cairn_spool_new(&more, "/nowhere", UINT64_MAX, CAIRN_SPOOL_MEMORY_BYTES + 1), CAIRN_E_IO);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < N; i++)
			ck_assert_int_eq(cairn_spool_new(&s[i], "/nowhere", UINT64_MAX, CAIRN_SPOOL_MEMORY_BYTES),
					 CAIRN_OK);
		ck_assert_int_eq(cairn_spool_new(&more, "/nowhere", UINT64_MAX, 1), CAIRN_E_IO);
		for (int i = 0; i < N; i++)
			cairn_spool_free(s[i]);
	}
}
END_TEST

/* Memory reused after a longer body does not show that body's bytes. */
START_TEST(memory_is_used_again)
{
	enum { LEN = 300 * 1024 };
	static uint8_t bytes[LEN];
	for (int round = 1; round <= 3; round++) {
		CLEANUP(cairn_spool_freep) struct cairn_spool *s = NULL;
		size_t len = LEN / (size_t)round, got;
		const uint8_t *read;
		memset(bytes, round, sizeof(bytes));
		ck_assert_int_eq(cairn_spool_new(&s, "/nowhere", UINT64_MAX, len), CAIRN_OK);
		ck_assert_int_eq(cairn_spool_write(s, bytes, len - 7), CAIRN_OK);
		ck_assert_int_eq(cairn_spool_write(s, bytes, 7), CAIRN_OK);
		ck_assert_int_eq(cairn_spool_write(s, bytes, 1), CAIRN_E_IO); /* needs a file */
		ck_assert_int_eq(cairn_spool_read(s, &read, &got), CAIRN_OK);
		ck_assert_uint_eq(got, len);
		ck_assert_mem_eq(read, bytes, len);
	}
}
END_TEST

/* /dev/full is always full. A spool on a full disk returns the status of its write loop. */
START_TEST(full_disk_has_its_own_status)
{
	FILE *full = fopen("/dev/full", "w");
	ck_assert_ptr_nonnull(full);
	ck_assert_int_eq(cairn_fd_write_all(fileno(full), "x", 1), CAIRN_E_FULL);
	(void)fclose(full);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("spool");
	TCase *tc = tcase_create("spool");
	tcase_add_loop_test(tc, written_bytes_are_read, 0, N_EXPECTED);
	tcase_add_loop_test(tc, one_byte_past_the_limit_is_refused, 0, N_EXPECTED);
	tcase_add_loop_test(tc, empty_reads_as_something, 0, N_EXPECTED);
	tcase_add_loop_test(tc, nothing_shows_in_the_folder, 0, N_EXPECTED);
	tcase_add_test(tc, a_file_that_was_cut_is_an_error);
	tcase_add_test(tc, missing_folder);
	tcase_add_test(tc, what_cannot_move_to_a_file_stays_as_it_was);
	tcase_add_test(tc, memory_has_its_limits);
	tcase_add_test(tc, memory_is_used_again);
	tcase_add_test(tc, full_disk_has_its_own_status);
	suite_add_tcase(suite, tc);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
