/* Concurrent puts into folders that are not durable yet. No put waits for the sync of another, or fails with it. */
#include "store/store.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CROWD = 8, SYNCS_OF_A_PUT = 4 /* syncs of the bytes, ab/cd, ab, and objects */ };

static pthread_barrier_t crowd;
static unsigned n_rounds;            /* so many first syncs of each thread happen together with those of all others */
static atomic_uint n_syncs;          /* number of syncs of all threads */
static _Thread_local unsigned n_own; /* number of syncs of this thread */
static _Thread_local unsigned fails_at; /* which sync of the thread fails; 0: none */
static _Thread_local int fails_with;

/* Replaces fsync(). If a put held a lock in its sync, others could not reach theirs, and this would never return. */
__attribute__((visibility("default"))) int fsync(int fd)
{
	atomic_fetch_add(&n_syncs, 1);
	if (++n_own <= n_rounds)
		(void)pthread_barrier_wait(&crowd);
	if (n_own != fails_at)
		return (int)syscall(SYS_fsync, fd);
	errno = fails_with;
	return -1;
}

struct fixture {
	struct tempdir dir;
	struct cairn_store *store;
};

static struct fixture fixture_new(void)
{
	struct fixture f = {.dir = tempdir_new()};
	char url[4096];
	(void)snprintf(url, sizeof(url), "files:%s", f.dir.path);
	ck_assert_int_eq(cairn_store_open(&f.store, url, NULL, NULL), CAIRN_OK);
	atomic_store(&n_syncs, 0);
	n_own = fails_at = n_rounds = 0;
	return f;
}

static void fixture_fini(struct fixture *f)
{
	cairn_store_freep(&f->store);
	tempdir_fini(&f->dir);
}

/* Returns a hash whose object is in objects/<outer>/<inner>. */
static struct cairn_hash object_in(uint8_t outer, uint8_t inner, uint8_t which)
{
	return (struct cairn_hash){.b = {[0] = which, [6] = inner, [7] = outer}};
}

static enum cairn_status put(struct cairn_store *s, const struct cairn_hash *hash)
{
	struct cairn_store_put *p = NULL;
	bool existed = true;
	ck_assert_int_eq(cairn_store_put_begin(s, &p), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_write(p, (const uint8_t *)"hello", 5), CAIRN_OK);
	return cairn_store_put_commit(p, hash, &existed);
}

static unsigned syncs_of_put(struct cairn_store *s, const struct cairn_hash *hash)
{
	unsigned before = atomic_load(&n_syncs);
	ck_assert_int_eq(put(s, hash), CAIRN_OK);
	return atomic_load(&n_syncs) - before;
}

struct member {
	struct cairn_store *store;
	struct cairn_hash hash;
	unsigned fails_at;
	int fails_with;
	enum cairn_status status;
};

static void *member_run(void *arg)
{
	struct member *m = arg;
	fails_at = m->fails_at;
	fails_with = m->fails_with;
	m->status = put(m->store, &m->hash);
	return NULL;
}

static void run_together(struct member *members, unsigned rounds)
{
	pthread_t threads[CROWD];
	n_rounds = rounds;
	ck_assert_int_eq(pthread_barrier_init(&crowd, NULL, CROWD), 0);
	for (unsigned i = 0; i < CROWD; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, member_run, &members[i]), 0);
	for (unsigned i = 0; i < CROWD; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	(void)pthread_barrier_destroy(&crowd);
	n_rounds = 0;
}

static void crowd_of(struct fixture *f, struct member members[static CROWD])
{
	for (unsigned i = 0; i < CROWD; i++)
		members[i] = (struct member){.store = f->store, .hash = object_in((uint8_t)i, 1, 1)};
}

/* Eight puts, each in a folder of its own, take four rounds of syncs, as a single put does. */
START_TEST(a_crowd_takes_the_rounds_of_one)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	struct member members[CROWD];
	crowd_of(&f, members);
	run_together(members, SYNCS_OF_A_PUT);
	for (unsigned i = 0; i < CROWD; i++)
		ck_assert_int_eq(members[i].status, CAIRN_OK);
	ck_assert_uint_eq(atomic_load(&n_syncs), SYNCS_OF_A_PUT * CROWD);
}
END_TEST

/* The same in one folder. No put relies on the unfinished sync of another. */
START_TEST(a_crowd_in_one_folder_does_not_wait_either)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	struct member members[CROWD];
	crowd_of(&f, members);
	for (unsigned i = 0; i < CROWD; i++)
		members[i].hash = object_in(7, 7, (uint8_t)i);
	run_together(members, 2); /* the bytes and the folder itself; who comes first decides how many more follow */
	for (unsigned i = 0; i < CROWD; i++)
		ck_assert_int_eq(members[i].status, CAIRN_OK);
	ck_assert_uint_ge(atomic_load(&n_syncs), 2 * CROWD + 2);
}
END_TEST

START_TEST(a_failed_sync_fails_its_put_alone)
{
	static const struct {
		int error;
		enum cairn_status status;
	} FAILURES[] = {{EIO, CAIRN_E_IO}, {ENOSPC, CAIRN_E_FULL}};
	const unsigned at = (unsigned)_i % SYNCS_OF_A_PUT + 1, how = (unsigned)_i / SYNCS_OF_A_PUT;
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	struct member members[CROWD];
	crowd_of(&f, members);
	members[3].fails_at = at;
	members[3].fails_with = FAILURES[how].error;
	run_together(members, at);
	for (unsigned i = 0; i < CROWD; i++)
		ck_assert_int_eq(members[i].status, i == 3 ? FAILURES[how].status : CAIRN_OK);
	ck_assert_int_eq(put(f.store, &members[3].hash), CAIRN_OK);
}
END_TEST

/* A folder that is known to be durable is not synced again by the same process; a folder whose sync failed is. */
START_TEST(a_folder_is_synced_until_it_is_durable)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	struct cairn_hash hash = object_in(1, 1, 1);
	for (unsigned at = SYNCS_OF_A_PUT; at > 2; at--) {
		n_own = 0;
		fails_at = at;
		fails_with = EIO;
		hash = object_in((uint8_t)at, 1, 1);
		ck_assert_int_eq(put(f.store, &hash), CAIRN_E_IO);
		fails_at = 0;
		/* the syncs after the failed one were not reached */
		ck_assert_uint_eq(syncs_of_put(f.store, &hash), at == SYNCS_OF_A_PUT ? 3 : SYNCS_OF_A_PUT);
	}
	hash = object_in(3, 1, 2);
	ck_assert_uint_eq(syncs_of_put(f.store, &hash), 2);
	hash = object_in(3, 2, 1);
	ck_assert_uint_eq(syncs_of_put(f.store, &hash), 3);
	hash = object_in(9, 2, 1);
	ck_assert_uint_eq(syncs_of_put(f.store, &hash), SYNCS_OF_A_PUT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("homes");
	TCase *tc = tcase_create("crowd");
	tcase_add_test(tc, a_crowd_takes_the_rounds_of_one);
	tcase_add_test(tc, a_crowd_in_one_folder_does_not_wait_either);
	tcase_add_loop_test(tc, a_failed_sync_fails_its_put_alone, 0, 2 * SYNCS_OF_A_PUT);
	tcase_add_test(tc, a_folder_is_synced_until_it_is_durable);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
