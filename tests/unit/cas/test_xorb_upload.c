/* An upload that fails does not hold up other uploads of its xorb, while its own client still waits for the answer. */
#include "cas/cas.h"
#include "cas/internal.h"
#include "cas/put/put_xorb.h"
#include "store/backend.h"
#include "support/cas_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"

#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void nobody_told(void *ctx, enum cairn_status status, bool inserted, const struct cairn_diag *diag)
{
	(void)ctx, (void)status, (void)inserted, (void)diag;
	ck_abort_msg("of a commit that was refused");
}

static struct cairn_xorb_upload *verified_upload(struct cairn_cas *cas, const struct vec_bytes *body,
						 enum cairn_status expected)
{
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB);
	struct cairn_xorb_upload *u = NULL;
	ck_assert_int_eq(cairn_xorb_upload_begin(cas, &CAS_OPERATOR, &hash, body->len, &u, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_xorb_upload_write(u, body->bytes, body->len, NULL), CAIRN_OK);
	ck_assert_int_eq(cas_verify_and_store(u, NULL), expected);
	return u;
}

static void assert_next_is_taken(struct cairn_cas *cas, const struct vec_bytes *body)
{
	bool inserted;
	ck_assert_int_eq(cas_put_xorb(cas, CAS_FIXTURE_XORB, body, &inserted, NULL), CAIRN_OK);
	ck_assert(inserted);
}

START_TEST(a_failed_upload_delays_no_other)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	char path[4200];
	/* puts a file where the object's folder has to be */
	(void)snprintf(path, sizeof(path), "%s/objects/%.2s", f.dir.path, CAS_FIXTURE_XORB);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	close(fd);
	struct cairn_xorb_upload *failed = verified_upload(f.cas, &body, CAIRN_E_IO);
	ck_assert_int_eq(unlink(path), 0);
	assert_next_is_taken(f.cas, &body);
	cairn_xorb_upload_free(failed);
}
END_TEST

/* The writer's thread waits in done() until it is released. */
struct blocked {
	struct cairn_index_renew_xorb renew;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool waits, go_on;
};

static void blocked_done(struct cairn_index_write *write)
{
	struct blocked *b = (struct blocked *)write;
	pthread_mutex_lock(&b->lock);
	b->waits = true;
	pthread_cond_broadcast(&b->changed);
	while (!b->go_on)
		pthread_cond_wait(&b->changed, &b->lock);
	pthread_mutex_unlock(&b->lock);
}

static void queued_done(struct cairn_index_write *write)
{
	(void)write;
}

static const struct cairn_index_renew_xorb NOTHING = {.write.done = queued_done};

START_TEST(an_upload_refused_by_a_full_queue_delays_no_other)
{
	enum { QUEUE_MAX = 4096 };
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct cairn_index *index = f.cas->index;
	struct cairn_xorb_upload *refused = verified_upload(f.cas, &body, CAIRN_OK);

	struct blocked first = {
		.renew = NOTHING, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	first.renew.write.done = blocked_done;
	ck_assert_int_eq(cairn_index_renew_xorb(index, &first.renew), CAIRN_OK);
	pthread_mutex_lock(&first.lock);
	while (!first.waits)
		pthread_cond_wait(&first.changed, &first.lock);
	pthread_mutex_unlock(&first.lock);
	struct cairn_index_renew_xorb *queued = calloc(QUEUE_MAX, sizeof(*queued));
	ck_assert_ptr_nonnull(queued);
	for (unsigned i = 0; i < QUEUE_MAX; i++) {
		queued[i] = NOTHING;
		ck_assert_int_eq(cairn_index_renew_xorb(index, &queued[i]), CAIRN_OK);
	}
	ck_assert_int_eq(cairn_xorb_upload_commit(refused, nobody_told, NULL), CAIRN_E_BUSY);
	pthread_mutex_lock(&first.lock);
	first.go_on = true;
	pthread_cond_broadcast(&first.changed);
	pthread_mutex_unlock(&first.lock);

	ck_assert_int_eq(cairn_index_writable(index), CAIRN_OK); /* all queued writes are done */
	assert_next_is_taken(f.cas, &body);
	cairn_xorb_upload_free(refused);
	free(queued);
}
END_TEST

/* Counts the objects that the store is asked to remove. */
static _Atomic unsigned n_removals;
static const struct cairn_store_backend *asked;

static enum cairn_status counted_remove(struct cairn_store *s, const struct cairn_hash *hash, struct cairn_diag *diag)
{
	n_removals++;
	return asked->remove(s, hash, diag);
}

struct frozen {
	struct cairn_xorb_upload *upload;
	pthread_mutex_t lock;
	pthread_cond_t told;
	bool is_told, is_left;
	unsigned n_removals;
};

static void frozen_done(void *ctx, enum cairn_status status, bool inserted, const struct cairn_diag *diag)
{
	struct frozen *f = ctx;
	ck_assert_int_eq(status, CAIRN_E_BUSY);
	ck_assert_str_eq(diag->rule, "index.frozen");
	ck_assert(!inserted);
	pthread_mutex_lock(&f->lock);
	f->is_told = true;
	f->is_left = cairn_xorb_upload_is_left(f->upload);
	f->n_removals = n_removals;
	pthread_cond_broadcast(&f->told);
	pthread_mutex_unlock(&f->lock);
}

/* A store may be silent for long, and all writes would wait for the writer. */
START_TEST(the_writer_of_a_frozen_index_does_not_ask_the_store)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes body = vec_read("xorbs/" CAS_FIXTURE_XORB);
	struct cairn_hash hash = vec_hash_text(CAS_FIXTURE_XORB);
	CLEANUP(tempdir_textp) char *path = cas_object_path(&f, &hash);
	cas_fixture_close(&f);
	fx_sql(f.dir.path, "UPDATE state SET frozen = 1");
	cas_fixture_reopen(&f, NULL);
	struct frozen frozen = {.lock = PTHREAD_MUTEX_INITIALIZER, .told = PTHREAD_COND_INITIALIZER};
	frozen.upload = verified_upload(f.cas, &body, CAIRN_OK);
	asked = f.cas->store->backend;
	struct cairn_store_backend counted = *asked;
	counted.remove = counted_remove;
	f.cas->store->backend = &counted;

	ck_assert_int_eq(cairn_xorb_upload_commit(frozen.upload, frozen_done, &frozen), CAIRN_OK);
	pthread_mutex_lock(&frozen.lock);
	while (!frozen.is_told)
		pthread_cond_wait(&frozen.told, &frozen.lock);
	pthread_mutex_unlock(&frozen.lock);
	ck_assert_uint_eq(frozen.n_removals, 0);
	ck_assert(frozen.is_left);
	ck_assert_int_eq(access(path, F_OK), 0);
	cairn_xorb_upload_take_back(frozen.upload);
	ck_assert_uint_eq(n_removals, 1);
	ck_assert_int_ne(access(path, F_OK), 0);
	cairn_xorb_upload_free(frozen.upload);
	f.cas->store->backend = asked;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("xorb_upload");
	TCase *t = tcase_create("xorb_upload");
	tcase_add_test(t, a_failed_upload_delays_no_other);
	tcase_add_test(t, an_upload_refused_by_a_full_queue_delays_no_other);
	tcase_add_test(t, the_writer_of_a_frozen_index_does_not_ask_the_store);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
