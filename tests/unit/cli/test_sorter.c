/* Sorting in memory and through a file. Every record comes once, in order, and equal records keep their order. */
#include "base/bytes.h"
#include "base/fd.h"
#include "cli/export/sorter.h"
#include "support/run.h"
#include "support/tempdir.h"
#include "support/vectors.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD = 100, KEY = 12 };

struct fixture {
	struct tempdir dir;
	int fd;
	struct cairn_sorter *sorter;
};

static void fixture_fini(struct fixture *f)
{
	cairn_sorter_freep(&f->sorter);
	cairn_fd_closep(&f->fd);
	tempdir_fini(&f->dir);
}

static void fixture_init(struct fixture *f)
{
	*f = (struct fixture){.dir = tempdir_new()};
	f->fd = open(f->dir.path, O_RDONLY | O_DIRECTORY);
	const struct cairn_sorter_options options = {f->fd, RECORD, KEY, CAIRN_SORTER_RUN_BYTES_MIN};
	ck_assert_int_eq(cairn_sorter_new(&f->sorter, &options), CAIRN_OK);
}

/* Adds a record. Keys have few values, so that many are equal, also in their first 8 bytes. The number of the record
 * follows the key. */
static void add(struct fixture *f, uint64_t *seed, uint32_t i)
{
	uint8_t record[RECORD] = {0};
	uint64_t random = vec_splitmix64(seed);
	record[0] = (uint8_t)(random % 7);
	record[KEY - 1] = (uint8_t)(random >> 32) % 5;
	cairn_put_u32le(record + KEY, i);
	ck_assert_int_eq(cairn_sorter_add(f->sorter, record), CAIRN_OK);
}

static const uint32_t COUNTS[] = {0, 1, 655, 656, 1310, 1311, 20000};

START_TEST(sorted)
{
	CLEANUP(fixture_fini) struct fixture f;
	uint64_t seed = 1;
	uint8_t last[RECORD] = {0};
	uint32_t n = 0;
	fixture_init(&f);
	for (uint32_t i = 0; i < COUNTS[_i]; i++)
		add(&f, &seed, i);
	char *seen = calloc(COUNTS[_i] + 1, 1);
	for (;; n++) {
		const uint8_t *record;
		ck_assert_int_eq(cairn_sorter_next(f.sorter, &record), CAIRN_OK);
		if (!record)
			break;
		int order = memcmp(last, record, KEY);
		uint32_t number = cairn_get_u32le(record + KEY);
		ck_assert_int_le(order, 0);
		ck_assert(n == 0 || order < 0 || cairn_get_u32le(last + KEY) < number);
		ck_assert(number < COUNTS[_i] && !seen[number]);
		seen[number] = 1;
		memcpy(last, record, RECORD);
	}
	free(seen);
	ck_assert_uint_eq(n, COUNTS[_i]);
	ck_assert_int_eq(tempdir_count(&f.dir, "."), 0); /* the file has no name */
}
END_TEST

START_TEST(too_many)
{
	CLEANUP(fixture_fini) struct fixture f;
	uint64_t seed = 1, max = (uint64_t)CAIRN_SORTER_RUNS_MAX * (CAIRN_SORTER_RUN_BYTES_MIN / RECORD);
	uint8_t record[RECORD] = {0};
	fixture_init(&f);
	for (uint64_t i = 0; i < max + CAIRN_SORTER_RUN_BYTES_MIN / RECORD; i++) {
		cairn_put_u64le(record, vec_splitmix64(&seed));
		ck_assert_int_eq(cairn_sorter_add(f.sorter, record), CAIRN_OK);
	}
	ck_assert_int_eq(cairn_sorter_add(f.sorter, record), CAIRN_E_LIMIT);
}
END_TEST

START_TEST(no_room)
{
	CLEANUP(cairn_fd_closep) int fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
	CLEANUP(cairn_sorter_freep) struct cairn_sorter *sorter = NULL;
	const struct cairn_sorter_options options = {fd, RECORD, KEY, CAIRN_SORTER_RUN_BYTES_MIN};
	uint8_t record[RECORD] = {0};
	enum cairn_status status = CAIRN_OK;
	ck_assert_int_eq(cairn_sorter_new(&sorter, &options), CAIRN_OK);
	for (unsigned i = 0; i <= CAIRN_SORTER_RUN_BYTES_MIN / RECORD && status == CAIRN_OK; i++)
		status = cairn_sorter_add(sorter, record);
	ck_assert_int_eq(status, CAIRN_E_IO);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("sorter");
	TCase *t = tcase_create("all");
	tcase_add_loop_test(t, sorted, 0, sizeof(COUNTS) / sizeof(COUNTS[0]));
	tcase_add_test(t, too_many);
	tcase_add_test(t, no_room);
	suite_add_tcase(s, t);
	return run_suite(s);
}
