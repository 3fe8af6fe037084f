/* Waits with a deadline. They end when signalled, or at the deadline and not before, on a monotonic clock. */
#include "base/clock.h"
#include "base/cond.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>

enum { SHORT_MS = 30, LONG_MS = 60 * 1000 };

struct box {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool full;
};

static void box_init(struct box *box)
{
	pthread_mutex_init(&box->lock, NULL);
	cairn_cond_init(&box->changed);
	box->full = false;
}

static void box_fini(struct box *box)
{
	pthread_cond_destroy(&box->changed);
	pthread_mutex_destroy(&box->lock);
}

/* Waits for the box. @return true: it is full */
static bool box_wait(struct box *box, const struct timespec *until)
{
	pthread_mutex_lock(&box->lock);
	while (!box->full && cairn_cond_wait_until(&box->changed, &box->lock, until))
		continue;
	bool full = box->full;
	pthread_mutex_unlock(&box->lock);
	return full;
}

static void *box_fill(void *arg)
{
	struct box *box = arg;
	pthread_mutex_lock(&box->lock);
	box->full = true;
	pthread_cond_signal(&box->changed);
	pthread_mutex_unlock(&box->lock);
	return NULL;
}

static int64_t ns_of(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

/* Deadlines are exact, whatever fraction of the current second has passed. */
START_TEST(moments_are_as_far_ahead_as_asked)
{
	static const int64_t AHEAD_US[] = {0, 1, 999999, 1000000, 1000001, 3599999999};
	for (size_t i = 0; i < sizeof(AHEAD_US) / sizeof(AHEAD_US[0]); i++) {
		struct timespec before, after;
		clock_gettime(CLOCK_MONOTONIC, &before);
		const struct timespec t = cairn_cond_in_us(AHEAD_US[i]);
		clock_gettime(CLOCK_MONOTONIC, &after);
		ck_assert(t.tv_nsec >= 0 && t.tv_nsec < 1000000000);
		ck_assert_int_ge(ns_of(&t), ns_of(&before) + AHEAD_US[i] * 1000);
		ck_assert_int_le(ns_of(&t), ns_of(&after) + AHEAD_US[i] * 1000);
	}
	const struct timespec before = cairn_cond_in_us(7000000), ms = cairn_cond_in_ms(7000);
	const struct timespec after = cairn_cond_in_us(7000000);
	ck_assert_int_ge(ns_of(&ms), ns_of(&before));
	ck_assert_int_le(ns_of(&ms), ns_of(&after));
}
END_TEST

START_TEST(a_wait_ends_with_its_limit_and_not_before)
{
	struct box box;
	box_init(&box);
	int64_t began_ms = cairn_clock_mono_ms();
	const struct timespec until = cairn_cond_in_ms(SHORT_MS);
	ck_assert(!box_wait(&box, &until));
	ck_assert_int_ge(cairn_clock_mono_ms() - began_ms, SHORT_MS);
	ck_assert_int_lt(cairn_clock_mono_ms() - began_ms, LONG_MS);
	ck_assert(!box_wait(&box, &until)); /* a deadline in the past ends the wait at once */
	box_fini(&box);
}
END_TEST

START_TEST(a_signal_ends_a_wait)
{
	struct box box;
	pthread_t thread;
	int64_t began_ms = cairn_clock_mono_ms();
	box_init(&box);
	const struct timespec until = cairn_cond_in_ms(LONG_MS);
	ck_assert_int_eq(pthread_create(&thread, NULL, box_fill, &box), 0);
	ck_assert(box_wait(&box, &until));
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_lt(cairn_clock_mono_ms() - began_ms, LONG_MS);
	box_fini(&box);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cond");
	TCase *tc = tcase_create("waits");
	tcase_add_test(tc, moments_are_as_far_ahead_as_asked);
	tcase_add_test(tc, a_wait_ends_with_its_limit_and_not_before);
	tcase_add_test(tc, a_signal_ends_a_wait);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
