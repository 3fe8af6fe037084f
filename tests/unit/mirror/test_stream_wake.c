/* Tests which readers of a long file are woken. */
#include "mirror/mirror.h"
#include "mirror/stream.h"
#include "support/run.h"

#include <check.h>

#define MB (UINT64_C(1) << 20)

static struct cairn_mirror mirror;
static struct mirror_stream stream;
static struct cairn_mirror_reader reader;
static unsigned n_woken;

static void wake(void *ctx)
{
	(void)ctx;
	n_woken++;
}

/* A stream of 8 MiB of which the first ones have come. */
static void came(uint64_t bytes)
{
	stream = (struct mirror_stream){.m = &mirror, .readers = &reader};
	mirror_blocks_init(&stream.blocks, 8 * MB);
	mirror_blocks_have(&stream.blocks, bytes);
}

static bool wakes(struct cairn_mirror_reader r)
{
	reader = r;
	reader.s = &stream;
	reader.wake = wake;
	reader.end = 8 * MB;
	n_woken = 0;
	mirror_stream_wake(&stream, false);
	return n_woken == 1;
}

START_TEST(a_reader_of_parts_is_woken_for_bytes_that_it_may_have)
{
	came(8 * MB - 1);
	stream.kept = stream.parts_end = 8 * MB - 1;
	ck_assert(wakes((struct cairn_mirror_reader){.at = 0, .holds_back = true}));
	ck_assert(!wakes((struct cairn_mirror_reader){.at = 8 * MB - MIRROR_HELD_BACK, .holds_back = true}));
	ck_assert(!wakes((struct cairn_mirror_reader){.at = 8 * MB - 1}));
}
END_TEST

START_TEST(a_reader_is_woken_if_its_bytes_have_left_the_spool)
{
	came(2 * MB);
	stream.kept = 2 * MB;
	stream.parts_end = MB;
	ck_assert(wakes((struct cairn_mirror_reader){.at = MB, .has_read = true}));
	ck_assert(!wakes((struct cairn_mirror_reader){.at = 2 * MB, .has_read = true}));
}
END_TEST

int main(void)
{
	pthread_mutex_init(&mirror.lock, NULL);
	Suite *s = suite_create("mirror_stream_wake");
	TCase *t = tcase_create("readers");
	tcase_add_test(t, a_reader_of_parts_is_woken_for_bytes_that_it_may_have);
	tcase_add_test(t, a_reader_is_woken_if_its_bytes_have_left_the_spool);
	suite_add_tcase(s, t);
	return run_suite(s);
}
