/* Telemetry rows whose writes nobody waits for. Reading the rows by HTTP is tested with the clients. */
#include "cas/service/telemetry.h"
#include "index/daemon/telemetry.h"
#include "support/cas_fixture.h"
#include "support/run.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { WAIT_NS = 200 * 1000 * 1000 };

/* Blocks the index's writer until another thread has closed the cas, or had enough time to do so. */
struct plug {
	struct cairn_index_add_telemetry add;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool closed;
	atomic_bool released;
};

static void plug_done(struct cairn_index_write *write)
{
	struct plug *plug = (struct plug *)write;
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (until.tv_nsec + WAIT_NS) / 1000000000;
	until.tv_nsec = (until.tv_nsec + WAIT_NS) % 1000000000;
	pthread_mutex_lock(&plug->lock);
	int error = 0;
	while (!plug->closed && error != ETIMEDOUT)
		error = pthread_cond_timedwait(&plug->changed, &plug->lock, &until);
	atomic_store(&plug->released, true);
	pthread_mutex_unlock(&plug->lock);
}

static void plug_close(struct plug *plug)
{
	pthread_mutex_lock(&plug->lock);
	plug->closed = true;
	pthread_cond_broadcast(&plug->changed);
	pthread_mutex_unlock(&plug->lock);
}

START_TEST(a_row_on_its_way_is_waited_for)
{
	static const uint8_t BODY[] = "{}";
	static const struct cairn_hash SENDER = {.b = {1}};
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	struct plug plug = {
		.add = {.write.done = plug_done, .sender = "plug", .body = BODY, .body_len = 2, .keep_max = 9},
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	ck_assert_int_eq(cairn_index_add_telemetry(cairn_data_dir_index(f.data), &plug.add), CAIRN_OK);
	struct cairn_use use;
	ck_assert_int_eq(cairn_use_begin(&use, f.cas, &SENDER, 2, true, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_use_add(&use, 2, NULL), CAIRN_OK);
	cairn_cas_keep_telemetry(f.cas, "ann", 0, BODY, 2, 9, &use);
	cairn_cas_freep(&f.cas);
	ck_assert(atomic_load(&plug.released));
	plug_close(&plug);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("telemetry");
	tcase_add_test(tc, a_row_on_its_way_is_waited_for);
	Suite *suite = suite_create("telemetry");
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
