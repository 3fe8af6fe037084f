#include "base/fd.h"
#include "store/spool.h"
#include "store/spool_memory.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t EXPECTED[] = {10, 7, 0, UINT64_MAX}; /* lengths in memory, moved on the way, and in a file */
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

/* Finds the spool's file, the only file without a name. */
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

START_TEST(a_spool_that_cannot_become_a_file_keeps_its_bytes)
{
	CLEANUP(cairn_spool_freep) struct cairn_spool *s = NULL;
	ck_assert_int_eq(cairn_spool_new(&s, "/nowhere/at/all", 100, 5), CAIRN_OK);
	ck_assert_int_eq(cairn_spool_write(s, (const uint8_t *)"hello", 5), CAIRN_OK);
	ck_assert_int_eq(cairn_spool_write(s, (const uint8_t *)"world", 5), CAIRN_E_IO);
	ck_assert_uint_eq(cairn_spool_bytes(s), 5);
}
END_TEST

static const size_t BORDERS[] = {CAIRN_SPOOL_SHORT_BYTES, CAIRN_SPOOL_LONG_BYTES, CAIRN_SPOOL_MEMORY_BYTES};
enum { N_BORDERS = sizeof(BORDERS) / sizeof(BORDERS[0]), PIECE = 70001 };

static void fill(uint8_t *bytes, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)((i * 2654435761u + seed) >> 13);
}

static void write_and_read(const char *dir, size_t len, unsigned seed)
{
	CLEANUP(cairn_spool_freep) struct cairn_spool *s = NULL;
	uint8_t *bytes = malloc(len);
	const uint8_t *read;
	size_t got;
	fill(bytes, len, seed);
	ck_assert_int_eq(cairn_spool_new(&s, dir, UINT64_MAX, len), CAIRN_OK);
	for (size_t i = 0; i < len; i += PIECE)
		ck_assert_int_eq(cairn_spool_write(s, bytes + i, len - i < PIECE ? len - i : PIECE), CAIRN_OK);
	ck_assert(cairn_spool_is_file(s) == (len > CAIRN_SPOOL_MEMORY_BYTES));
	ck_assert_int_eq(cairn_spool_read(s, &read, &got), CAIRN_OK);
	ck_assert_uint_eq(got, len);
	ck_assert(memcmp(read, bytes, len) == 0);
	free(bytes);
}

/* The second body of each length gets the memory of the first. */
START_TEST(bytes_are_the_same_on_both_sides_of_a_border)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	for (unsigned seed = 0; seed < 2; seed++)
		for (size_t len = BORDERS[_i] - 1; len <= BORDERS[_i] + 1; len++)
			write_and_read(dir.path, len, seed);
}
END_TEST

/* Begins spools of this length in memory until one needs a file, for which there is no folder. */
static unsigned fill_memory(struct cairn_spool **all, unsigned n, uint64_t len)
{
	while (cairn_spool_new(&all[n], "/nowhere", UINT64_MAX, len) == CAIRN_OK)
		n++;
	return n;
}

START_TEST(memory_has_its_limits)
{
	enum {
		N_LONG = CAIRN_SPOOL_MEMORY_BYTES_LONG / CAIRN_SPOOL_MEMORY_BYTES,
		REST = CAIRN_SPOOL_MEMORY_BYTES_ALL - CAIRN_SPOOL_MEMORY_BYTES_LONG,
	};
	struct cairn_spool *all[1000];
	ck_assert_uint_eq(fill_memory(all, 0, CAIRN_SPOOL_MEMORY_BYTES + 1), 0);
	for (int round = 0; round < 2; round++) {
		unsigned n = fill_memory(all, 0, CAIRN_SPOOL_MEMORY_BYTES);
		ck_assert_uint_eq(n, N_LONG);
		ck_assert_uint_eq(fill_memory(all, n, CAIRN_SPOOL_LONG_BYTES + 1), N_LONG);
		n = fill_memory(all, n, CAIRN_SPOOL_LONG_BYTES);
		ck_assert_uint_eq(n, N_LONG + REST / CAIRN_SPOOL_LONG_BYTES);
		ck_assert_uint_eq(fill_memory(all, n, 1), n);
		while (n > 0)
			cairn_spool_free(all[--n]);
	}
}
END_TEST

/* A body that announces few bytes cannot keep a long piece of memory that counts as short. */
START_TEST(all_memory_of_a_body_counts)
{
	struct cairn_spool *all[1000];
	uint64_t len = CAIRN_SPOOL_SHORT_BYTES + 1;
	unsigned n = fill_memory(all, 0, len);
	ck_assert_uint_eq(n, CAIRN_SPOOL_MEMORY_BYTES_ALL / cairn_spool_memory_room(len));
	while (n > 0)
		cairn_spool_free(all[--n]);
}
END_TEST

START_TEST(a_piece_is_at_most_a_quarter_longer_than_its_body)
{
	size_t before = 0;
	for (uint64_t len = 0; len < UINT64_C(1) << 40; len += 1 + len / 1000) {
		size_t room = cairn_spool_memory_room(len);
		ck_assert_uint_ge(room, len > 0 ? len : 1);
		ck_assert_uint_le(room, len + len / 4 + 1);
		ck_assert_uint_ge(room, before);
		if (len > CAIRN_SPOOL_SHORT_BYTES)
			ck_assert_uint_eq(cairn_spool_memory_room(room), room);
		before = room;
	}
	ck_assert_uint_eq(cairn_spool_memory_room(CAIRN_SPOOL_MEMORY_BYTES), CAIRN_SPOOL_MEMORY_BYTES);
	ck_assert_uint_eq(cairn_spool_memory_room(UINT64_MAX), 0);
}
END_TEST

static void use_memory(size_t room)
{
	uint8_t *piece = cairn_spool_memory_take(room);
	ck_assert_ptr_nonnull(piece);
	memset(piece, 7, room);
	cairn_spool_memory_give_back(piece, room);
}

START_TEST(a_body_leaves_its_memory_to_the_next_one)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_spool_freep) struct cairn_spool *s = NULL;
	size_t len = 1000 * 1000, room = cairn_spool_memory_room(len);
	write_and_read(dir.path, len, 1);
	ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), room);
	write_and_read(dir.path, len - 1, 2); /* a body of similar length */
	ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), room);
	ck_assert_int_eq(cairn_spool_new(&s, dir.path, UINT64_MAX, UINT64_MAX), CAIRN_OK);
	ck_assert_int_eq(cairn_spool_write(s, (const uint8_t[1000]){0}, 1000), CAIRN_OK);
	ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), room);
	cairn_spool_freep(&s);
	ck_assert_int_eq(cairn_spool_new(&s, dir.path, UINT64_MAX, len), CAIRN_OK);
	ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), 0);
}
END_TEST

/* The bytes of a file are read into memory that is kept as well. */
START_TEST(a_file_is_read_into_memory_that_is_kept)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	size_t len = CAIRN_SPOOL_MEMORY_BYTES + 1, room = cairn_spool_memory_room(len);
	for (unsigned seed = 0; seed < 3; seed++) {
		write_and_read(dir.path, len, seed);
		ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), room);
	}
}
END_TEST

START_TEST(the_oldest_kept_memory_makes_room)
{
	enum { ROOM = 5 * 1024 * 1024, OTHER = 4 * 1024 * 1024 };
	uint8_t *piece = cairn_spool_memory_take(OTHER);
	use_memory(ROOM);
	for (int i = 0; i < 3; i++) {
		uint8_t *first = cairn_spool_memory_take(ROOM);
		use_memory(ROOM);
		cairn_spool_memory_give_back(first, ROOM);
	}
	ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), 2 * ROOM);
	cairn_spool_memory_give_back(piece, OTHER);
	ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), 2 * ROOM + OTHER);
	use_memory(CAIRN_SPOOL_KEPT_BYTES - OTHER - ROOM); /* removes one piece */
	ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), CAIRN_SPOOL_KEPT_BYTES);
	use_memory(CAIRN_SPOOL_KEPT_BYTES);
	ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), CAIRN_SPOOL_KEPT_BYTES);
	use_memory(CAIRN_SPOOL_KEPT_BYTES + 1); /* too long to be kept */
	ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), CAIRN_SPOOL_KEPT_BYTES);
	use_memory(ROOM);
	ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), ROOM);
}
END_TEST

START_TEST(memory_that_nobody_uses_is_freed)
{
	size_t used = cairn_spool_memory_room(1000 * 1000), unused = cairn_spool_memory_room(3000 * 1000);
	use_memory(unused);
	use_memory(used);
	cairn_spool_memory_trim();
	ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), used + unused);
	use_memory(used);
	cairn_spool_memory_trim();
	ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), used);
	cairn_spool_memory_trim();
	ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), 0);
	cairn_spool_memory_trim();
	use_memory(CAIRN_SPOOL_SHORT_BYTES); /* too short to be kept here */
	ck_assert_uint_eq(cairn_spool_memory_kept_bytes(), 0);
	cairn_spool_memory_give_back(NULL, 0);
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

/* /dev/full is always full. A spool on a full disk returns the status of its writes. */
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
	tcase_add_test(tc, a_spool_that_cannot_become_a_file_keeps_its_bytes);
	tcase_add_loop_test(tc, bytes_are_the_same_on_both_sides_of_a_border, 0, N_BORDERS);
	tcase_add_test(tc, memory_has_its_limits);
	tcase_add_test(tc, all_memory_of_a_body_counts);
	tcase_add_test(tc, a_piece_is_at_most_a_quarter_longer_than_its_body);
	tcase_add_test(tc, a_body_leaves_its_memory_to_the_next_one);
	tcase_add_test(tc, a_file_is_read_into_memory_that_is_kept);
	tcase_add_test(tc, the_oldest_kept_memory_makes_room);
	tcase_add_test(tc, memory_that_nobody_uses_is_freed);
	tcase_add_test(tc, memory_is_used_again);
	tcase_add_test(tc, full_disk_has_its_own_status);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
