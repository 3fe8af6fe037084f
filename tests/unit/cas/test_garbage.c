/* Forgetting, sharing and collecting over a real folder, with a clock that jumps. */
#include "base/clock.h"
#include "cas/internal.h"
#include "cas/put/put_shard.h"
#include "cas/put/put_xorb.h"
#include "cas/serve/query_chunk.h"
#include "cas/stats.h"
#include "support/gc_fixture.h"
#include "support/run.h"

#include <check.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct cairn_cas_who TENANT = {.scope = "", .owner = "models/a/b", .viewer = "models/a/b"};

static enum cairn_status seen_by(struct gc_fixture *g, const char *viewer, const struct cairn_hash *file)
{
	struct cairn_index_file row = {0};
	return cairn_index_file(g->f.cas->index, file, viewer, false, &row);
}

static bool forget(struct gc_fixture *g, const struct cairn_hash *file, const char *owner)
{
	bool forgotten;
	ck_assert_int_eq(cairn_cas_forget(g->f.cas, file, owner, &forgotten), CAIRN_OK);
	return forgotten;
}

static enum cairn_status xorb_status(struct gc_fixture *g, const struct gc_xorb *x)
{
	uint64_t stored_bytes;
	return cairn_cas_xorb(g->f.cas, &x->made.hash, &stored_bytes);
}

static void check_report_is(struct cairn_gc_report r, uint64_t retired, uint64_t swept, uint64_t freed)
{
	ck_assert_uint_eq(r.n_retired, retired);
	ck_assert_uint_eq(r.n_swept, swept);
	ck_assert_uint_eq(r.bytes_freed, freed);
}

START_TEST(an_owner_forgets_for_itself_alone)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x;
	CLEANUP(gc_file_fini) struct gc_file file;
	bool added;
	gc_fixture_init(&g);
	gc_xorb_init(&x, 1, 3);
	gc_put_whole(g.f.cas, &x, &file);
	ck_assert_int_eq(cas_put_shard(g.f.cas, &TENANT, &file.shard, &added, NULL), CAIRN_OK);
	ck_assert(!forget(&g, &x.made.hash, NULL)); /* no file has this hash */
	ck_assert(!forget(&g, &file.hash, "models/c/d"));
	ck_assert(forget(&g, &file.hash, ""));
	ck_assert(!forget(&g, &file.hash, ""));
	ck_assert_int_eq(seen_by(&g, "models/c/d", &file.hash), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(seen_by(&g, TENANT.viewer, &file.hash), CAIRN_OK);
	ck_assert_int_eq(gc_read_back(g.f.cas, &file.hash), CAIRN_OK);
	ck_assert(forget(&g, &file.hash, NULL));
	ck_assert_int_eq(seen_by(&g, NULL, &file.hash), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(a_file_is_shared_with_one_or_with_all)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x;
	CLEANUP(gc_file_fini) struct gc_file file;
	struct made_term all;
	bool changed;
	struct cairn_diag diag;
	gc_fixture_init(&g);
	gc_xorb_init(&x, 1, 3);
	all = (struct made_term){.xorb = &x.made, .start = 0, .end = 3};
	gc_file_init(&file, &all, 1);
	ck_assert_int_eq(cairn_cas_share(g.f.cas, &file.hash, "", &changed, &diag), CAIRN_E_NOT_FOUND);
	ck_assert(!changed);
	ck_assert_int_eq(gc_put_xorb(g.f.cas, &x, &changed), CAIRN_OK);
	ck_assert_int_eq(cas_put_shard(g.f.cas, &TENANT, &file.shard, &changed, NULL), CAIRN_OK);
	ck_assert_int_eq(seen_by(&g, "models/c/d", &file.hash), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_cas_share(g.f.cas, &file.hash, "models/c/d", &changed, &diag), CAIRN_OK);
	ck_assert(changed);
	ck_assert_int_eq(seen_by(&g, "models/c/d", &file.hash), CAIRN_OK);
	ck_assert_int_eq(seen_by(&g, "models/e/f", &file.hash), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_cas_share(g.f.cas, &file.hash, "", &changed, &diag), CAIRN_OK);
	ck_assert(changed);
	ck_assert_int_eq(seen_by(&g, "models/e/f", &file.hash), CAIRN_OK);
	ck_assert_int_eq(cairn_cas_share(g.f.cas, &file.hash, "", &changed, &diag), CAIRN_OK);
	ck_assert(!changed);
}
END_TEST

/* --- marking and sweeping ----------------------------------------------------------------------------------------- */

START_TEST(an_unneeded_xorb_is_removed_in_two_steps)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb needed, not_needed;
	CLEANUP(gc_file_fini) struct gc_file kept, gone;
	gc_fixture_init(&g);
	gc_xorb_init(&needed, 1, 3);
	gc_xorb_init(&not_needed, 2, 5);
	gc_put_whole(g.f.cas, &needed, &kept);
	gc_put_whole(g.f.cas, &not_needed, &gone);
	ck_assert(forget(&g, &gone.hash, NULL));
	check_report_is(gc_collect(&g), 0, 0, 0); /* the xorb is too young */

	gc_pass(&g, GC_GRACE_S + 1);
	check_report_is(gc_collect(&g), 1, 0, 0);
	ck_assert_int_eq(xorb_status(&g, &not_needed), CAIRN_E_NOT_FOUND); /* HEAD does not report a retired xorb */
	ck_assert_int_eq(tempdir_count(&g.f.dir, "objects"), 2); /* but a client with an older answer can use it */
	check_report_is(gc_collect(&g), 0, 0, 0);

	gc_pass(&g, GC_GRACE_S + 1);
	check_report_is(gc_collect(&g), 0, 1, not_needed.body.len);
	ck_assert_int_eq(tempdir_count(&g.f.dir, "objects"), 1);
	ck_assert_int_eq(xorb_status(&g, &needed), CAIRN_OK);
	ck_assert_int_eq(gc_read_back(g.f.cas, &kept.hash), CAIRN_OK);
	struct cairn_index_stats stats;
	cairn_index_stats(g.f.cas->index, &stats);
	ck_assert_uint_eq(stats.stored_bytes, needed.body.len);
	ck_assert_uint_eq(gc_problems(g.f.cas), 0);
}
END_TEST

START_TEST(a_retired_xorb_that_is_sent_again_lives_again)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x;
	bool inserted;
	struct stat before, after;
	gc_fixture_init(&g);
	gc_xorb_init(&x, 1, 3);
	ck_assert_int_eq(gc_put_xorb(g.f.cas, &x, &inserted), CAIRN_OK);
	CLEANUP(tempdir_textp) char *path = cas_object_path(&g.f, &x.made.hash);
	ck_assert_int_eq(stat(path, &before), 0);
	gc_pass(&g, GC_GRACE_S + 1);
	check_report_is(gc_collect(&g), 1, 0, 0);

	ck_assert_int_eq(gc_put_xorb(g.f.cas, &x, &inserted), CAIRN_OK);
	ck_assert(!inserted);
	ck_assert_int_eq(xorb_status(&g, &x), CAIRN_OK);
	ck_assert_int_eq(stat(path, &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino); /* the object was not written again */
	gc_pass(&g, GC_GRACE_S / 2);
	check_report_is(gc_collect(&g), 0, 0, 0); /* the grace time of the xorb began again, too */
	check_report_is(gc_collect_all(&g), 1, 1, x.body.len);
}
END_TEST

START_TEST(a_xorb_sent_again_restarts_its_grace_time)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x;
	bool inserted;
	gc_fixture_init(&g);
	gc_xorb_init(&x, 1, 3);
	ck_assert_int_eq(gc_put_xorb(g.f.cas, &x, &inserted), CAIRN_OK);
	gc_pass(&g, GC_GRACE_S + 1);
	ck_assert_int_eq(gc_put_xorb(g.f.cas, &x, &inserted), CAIRN_OK);
	ck_assert(!inserted);
	check_report_is(gc_collect(&g), 0, 0, 0);
	ck_assert_int_eq(xorb_status(&g, &x), CAIRN_OK);
	check_report_is(gc_collect_all(&g), 1, 1, x.body.len);
}
END_TEST

/* HEAD need not renew a xorb that is not retired, because such a xorb stays for a grace time from then on. */
START_TEST(a_xorb_promised_to_a_client_stays_for_a_grace_time)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x;
	CLEANUP(gc_file_fini) struct gc_file file;
	struct made_term all;
	bool changed;
	gc_fixture_init(&g);
	gc_xorb_init(&x, 1, 3);
	all = (struct made_term){.xorb = &x.made, .start = 0, .end = 3};
	gc_file_init(&file, &all, 1);
	ck_assert_int_eq(gc_put_xorb(g.f.cas, &x, &changed), CAIRN_OK);
	gc_pass(&g, 100 * GC_GRACE_S);
	ck_assert_int_eq(xorb_status(&g, &x), CAIRN_OK);
	check_report_is(gc_collect(&g), 1, 0, 0);
	gc_pass(&g, GC_GRACE_S - 1);
	check_report_is(gc_collect(&g), 0, 0, 0);
	ck_assert_int_eq(cas_put_shard(g.f.cas, &CAS_OPERATOR, &file.shard, &changed, NULL), CAIRN_OK);
	check_report_is(gc_collect_all(&g), 0, 0, 0);
	ck_assert_int_eq(gc_read_back(g.f.cas, &file.hash), CAIRN_OK);
}
END_TEST

static bool is_offered(struct gc_fixture *g, const struct gc_xorb *x)
{
	const struct cairn_answer *answer = NULL;
	enum cairn_status status = cairn_cas_query(g->f.cas, &CAS_OPERATOR, &x->made.list.hashes[0], &answer);
	if (status == CAIRN_OK)
		cairn_answer_unref(answer);
	return status == CAIRN_OK;
}

/* A xorb that is described but that no file needs can be retired while the shard stays. */
START_TEST(a_retired_xorb_that_comes_again_with_its_shard_is_offered_again)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x, y;
	struct cairn_shard_writer w;
	bool changed;
	gc_fixture_init(&g);
	gc_xorb_init(&x, 1, 3);
	gc_xorb_init(&y, 2, 3);
	const struct made_term term = {.xorb = &x.made, .start = 0, .end = 3};
	cairn_shard_writer_init(&w, 1 << 20);
	made_write_file(&w, &term, 1, CAIRN_SHARD_FILE_WITH_VERIFICATION);
	gc_describe(&w, &x.made);
	gc_describe(&w, &y.made);
	ck_assert_int_eq(cairn_shard_writer_end(&w), CAIRN_OK);
	CLEANUP(vec_bytes_fini) struct vec_bytes shard = vec_copy(w.buf.bytes, w.buf.len);
	cairn_shard_writer_fini(&w);
	ck_assert_int_eq(gc_put_xorb(g.f.cas, &x, &changed), CAIRN_OK);
	ck_assert_int_eq(gc_put_xorb(g.f.cas, &y, &changed), CAIRN_OK);
	ck_assert_int_eq(cas_put_shard(g.f.cas, &CAS_OPERATOR, &shard, &changed, NULL), CAIRN_OK);
	ck_assert(is_offered(&g, &x) && is_offered(&g, &y));

	gc_pass(&g, GC_GRACE_S + 1);
	check_report_is(gc_collect(&g), 1, 0, 0);
	ck_assert(is_offered(&g, &x) && !is_offered(&g, &y));
	ck_assert_int_eq(gc_put_xorb(g.f.cas, &y, &changed), CAIRN_OK);
	ck_assert_int_eq(cas_put_shard(g.f.cas, &CAS_OPERATOR, &shard, &changed, NULL), CAIRN_OK);
	ck_assert(is_offered(&g, &y));
}
END_TEST

/* The bytes of the upload were not kept, because the xorb was stored when they began to arrive. */
START_TEST(a_xorb_lost_while_it_is_sent_again_is_asked_for_once_more)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x;
	struct cairn_xorb_upload *u = NULL;
	struct cairn_diag diag = {0};
	bool inserted;
	gc_fixture_init(&g);
	gc_xorb_init(&x, 1, 3);
	ck_assert_int_eq(gc_put_xorb(g.f.cas, &x, &inserted), CAIRN_OK);
	ck_assert_int_eq(cairn_xorb_upload_begin(g.f.cas, &CAS_OPERATOR, &x.made.hash, x.body.len, &u, &diag),
			 CAIRN_OK);
	ck_assert_int_eq(cairn_xorb_upload_write(u, x.body.bytes, x.body.len, &diag), CAIRN_OK);
	CLEANUP(tempdir_textp) char *path = cas_object_path(&g.f, &x.made.hash);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(cas_verify_and_store(u, &diag), CAIRN_E_BUSY);
	ck_assert_str_eq(diag.rule, "xorb.lost");
	cairn_xorb_upload_free(u);
	ck_assert_int_eq(gc_put_xorb(g.f.cas, &x, &inserted), CAIRN_OK);
	ck_assert(inserted);
}
END_TEST

START_TEST(a_shard_that_names_a_retired_xorb_brings_it_back)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x;
	CLEANUP(gc_file_fini) struct gc_file file, part;
	struct made_term some;
	bool added;
	gc_fixture_init(&g);
	gc_xorb_init(&x, 1, 3);
	gc_put_whole(g.f.cas, &x, &file);
	ck_assert(forget(&g, &file.hash, NULL));
	gc_pass(&g, GC_GRACE_S + 1);
	check_report_is(gc_collect(&g), 1, 0, 0);

	some = (struct made_term){.xorb = &x.made, .start = 1, .end = 3};
	gc_file_init(&part, &some, 1);
	ck_assert_int_eq(cas_put_shard(g.f.cas, &CAS_OPERATOR, &part.shard, &added, NULL), CAIRN_OK);
	ck_assert(added);
	check_report_is(gc_collect_all(&g), 0, 0, 0);
	ck_assert_int_eq(xorb_status(&g, &x), CAIRN_OK);
	ck_assert_int_eq(gc_read_back(g.f.cas, &part.hash), CAIRN_OK);
}
END_TEST

START_TEST(a_forgotten_shard_is_not_known_any_more)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x;
	CLEANUP(gc_file_fini) struct gc_file file;
	bool changed;
	gc_fixture_init(&g);
	gc_xorb_init(&x, 1, 3);
	gc_put_whole(g.f.cas, &x, &file);
	ck_assert(forget(&g, &file.hash, NULL));
	ck_assert_int_eq(cas_put_shard(g.f.cas, &CAS_OPERATOR, &file.shard, &changed, NULL), CAIRN_OK);
	ck_assert(changed);
	ck_assert(forget(&g, &file.hash, NULL));
	check_report_is(gc_collect_all(&g), 1, 1, x.body.len);

	struct cairn_diag diag = {0};
	ck_assert_int_eq(cas_put_shard(g.f.cas, &CAS_OPERATOR, &file.shard, &changed, &diag), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(diag.rule, "xorb.not_stored");
	ck_assert_int_eq(gc_put_xorb(g.f.cas, &x, &changed), CAIRN_OK);
	ck_assert(changed);
	ck_assert_int_eq(cas_put_shard(g.f.cas, &CAS_OPERATOR, &file.shard, &changed, NULL), CAIRN_OK);
	ck_assert(changed);
	ck_assert_int_eq(gc_read_back(g.f.cas, &file.hash), CAIRN_OK);
}
END_TEST

START_TEST(a_retired_xorb_is_not_offered)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x;
	CLEANUP(gc_file_fini) struct gc_file file;
	struct cairn_cas_stats stats;
	gc_fixture_init(&g);
	gc_xorb_init(&x, 1, 3);
	gc_put_whole(g.f.cas, &x, &file);
	const struct cairn_hash *chunk = &x.made.list.hashes[0];
	const struct cairn_answer *answer;
	ck_assert(forget(&g, &file.hash, NULL));
	gc_pass(&g, GC_GRACE_S + 1);
	ck_assert_int_eq(cairn_cas_query(g.f.cas, &CAS_OPERATOR, chunk, &answer), CAIRN_OK);
	cairn_cas_stats(g.f.cas, &stats);
	ck_assert_uint_eq(stats.cache_entries, 1);
	int64_t expires = answer->expires_unix_s;
	cairn_answer_unref(answer);

	ck_assert_int_le(expires, cairn_clock_unix_s() + GC_GRACE_S); /* so the object outlives the answer */
	check_report_is(gc_collect(&g), 1, 0, 0);
	ck_assert_int_eq(cairn_cas_query(g.f.cas, &CAS_OPERATOR, chunk, &answer), CAIRN_E_NOT_FOUND);
	check_report_is(gc_collect_all(&g), 0, 1, x.body.len);
	ck_assert_int_eq(cairn_cas_query(g.f.cas, &CAS_OPERATOR, chunk, &answer), CAIRN_E_NOT_FOUND);
}
END_TEST

struct commit {
	atomic_bool is_told;
	enum cairn_status status;
};

static void commit_done(void *ctx, enum cairn_status status, bool added, const struct cairn_diag *diag)
{
	struct commit *c = ctx;
	(void)added, (void)diag;
	c->status = status;
	atomic_store(&c->is_told, true);
}

static enum cairn_status commit_wait(struct commit *c)
{
	while (!atomic_load(&c->is_told))
		sched_yield();
	return c->status;
}

START_TEST(a_xorb_swept_between_verifying_and_committing_is_a_conflict)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x;
	CLEANUP(gc_file_fini) struct gc_file file;
	struct cairn_shard_upload *u;
	struct commit commit = {0};
	bool changed;
	gc_fixture_init(&g);
	gc_xorb_init(&x, 1, 3);
	gc_put_whole(g.f.cas, &x, &file);
	ck_assert(forget(&g, &file.hash, NULL));
	ck_assert_int_eq(cairn_shard_upload_begin(g.f.cas, &CAS_OPERATOR, file.shard.len, false, &u, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_shard_upload_write(u, file.shard.bytes, file.shard.len, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_shard_upload_verify(u, NULL, NULL, NULL), CAIRN_OK);
	check_report_is(gc_collect_all(&g), 1, 1, x.body.len);
	ck_assert_int_eq(cairn_shard_upload_commit(u, commit_done, &commit), CAIRN_OK);
	ck_assert_int_eq(commit_wait(&commit), CAIRN_E_CONFLICT);
	cairn_shard_upload_free(u);
	ck_assert_int_eq(seen_by(&g, NULL, &file.hash), CAIRN_E_NOT_FOUND);

	ck_assert_int_eq(gc_put_xorb(g.f.cas, &x, &changed), CAIRN_OK);
	ck_assert_int_eq(cas_put_shard(g.f.cas, &CAS_OPERATOR, &file.shard, &changed, NULL), CAIRN_OK);
	ck_assert(changed);
	ck_assert_int_eq(gc_read_back(g.f.cas, &file.hash), CAIRN_OK);
	ck_assert_uint_eq(gc_problems(g.f.cas), 0);
}
END_TEST

/* Stores a xorb that no file needs, and lets a collection retire it. */
static void put_retired(struct gc_fixture *g, struct gc_xorb *x)
{
	bool inserted;
	gc_fixture_init(g);
	gc_xorb_init(x, 1, 3);
	ck_assert_int_eq(gc_put_xorb(g->f.cas, x, &inserted), CAIRN_OK);
	gc_pass(g, GC_GRACE_S + 1);
	check_report_is(gc_collect(g), 1, 0, 0);
}

/* Begins an upload of a xorb whose bytes have all arrived. */
static struct cairn_xorb_upload *written_upload(const struct gc_fixture *g, const struct gc_xorb *x)
{
	struct cairn_xorb_upload *u;
	ck_assert_int_eq(cairn_xorb_upload_begin(g->f.cas, &CAS_OPERATOR, &x->made.hash, x->body.len, &u, NULL),
			 CAIRN_OK);
	ck_assert_int_eq(cairn_xorb_upload_write(u, x->body.bytes, x->body.len, NULL), CAIRN_OK);
	return u;
}

static void end_upload(struct cairn_xorb_upload *u)
{
	struct commit commit = {0};
	ck_assert_int_eq(cairn_xorb_upload_commit(u, commit_done, &commit), CAIRN_OK);
	ck_assert_int_eq(commit_wait(&commit), CAIRN_OK);
	cairn_xorb_upload_free(u);
}

/* A client sends a retired xorb again, but the sweep comes first. */
START_TEST(a_xorb_swept_while_it_arrives_is_stored_anew)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x;
	struct cairn_xorb_upload *u;
	put_retired(&g, &x);
	u = written_upload(&g, &x);
	gc_pass(&g, GC_GRACE_S + 1);
	check_report_is(gc_collect(&g), 0, 1, x.body.len);
	ck_assert_int_eq(cas_verify_and_store(u, NULL), CAIRN_OK);
	end_upload(u);
	ck_assert_int_eq(xorb_status(&g, &x), CAIRN_OK);
	ck_assert_uint_eq(gc_problems(g.f.cas), 0);
}
END_TEST

/* In the other order: the upload comes first, and the sweep has nothing to do. */
START_TEST(a_xorb_renewed_before_the_sweep_stays)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x;
	struct cairn_xorb_upload *u;
	put_retired(&g, &x);
	gc_pass(&g, GC_GRACE_S + 1);
	u = written_upload(&g, &x);
	ck_assert_int_eq(cas_verify_and_store(u, NULL), CAIRN_OK);
	check_report_is(gc_collect(&g), 0, 0, 0);
	end_upload(u);
	ck_assert_int_eq(xorb_status(&g, &x), CAIRN_OK);
}
END_TEST

struct stopper {
	struct gc_fixture *g;
	unsigned n_asked;
};

static bool stop_at_once(void *ctx)
{
	struct stopper *s = ctx;
	struct cairn_gc_report report;
	s->n_asked++;
	ck_assert_int_eq(cairn_cas_gc(s->g->f.cas, NULL, NULL, &report), CAIRN_E_BUSY);
	return true;
}

START_TEST(one_collection_runs_at_a_time_and_can_be_stopped)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x;
	struct cairn_gc_report report;
	bool inserted;
	gc_fixture_init(&g);
	struct stopper stopper = {.g = &g};
	gc_xorb_init(&x, 1, 3);
	ck_assert_int_eq(gc_put_xorb(g.f.cas, &x, &inserted), CAIRN_OK);
	gc_pass(&g, GC_GRACE_S + 1);
	check_report_is(gc_collect(&g), 1, 0, 0);
	gc_pass(&g, GC_GRACE_S + 1);
	ck_assert_int_eq(cairn_cas_gc(g.f.cas, stop_at_once, &stopper, &report), CAIRN_OK);
	ck_assert_uint_ge(stopper.n_asked, 1);
	check_report_is(report, 0, 0, 0);
	check_report_is(gc_collect(&g), 0, 1, x.body.len); /* the next collection continues */
}
END_TEST

/* Watches a collection between its pieces. */
struct watcher {
	struct cairn_cas *cas;
	bool seen[CAIRN_GC_STEPS];
	enum cairn_gc_step last;
	uint64_t n_files;
};

static bool watch(void *ctx)
{
	struct watcher *w = ctx;
	struct cairn_gc_progress p;
	cairn_cas_gc_progress(w->cas, &p);
	ck_assert_int_ne(p.step, CAIRN_GC_IDLE);
	ck_assert_int_ge(p.step, w->last);
	ck_assert_int_gt(p.started_unix_s, 0);
	ck_assert(p.total == 0 || p.done <= p.total);
	if (p.step == CAIRN_GC_FILES)
		w->n_files = p.total;
	if (p.step == CAIRN_GC_RETIRE) /* the higher number of both xorbs */
		ck_assert_uint_ge(p.total, 2);
	w->seen[p.step] = true;
	w->last = p.step;
	return false;
}

START_TEST(how_far_a_collection_is_is_told)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	struct cairn_gc_report report;
	struct cairn_gc_progress p;
	gc_stock_init(&s);
	struct watcher w = {.cas = s.g.f.cas};
	ck_assert_int_eq(cairn_cas_gc(s.g.f.cas, watch, &w, &report), CAIRN_OK);
	ck_assert(w.seen[CAIRN_GC_REPOS] && w.seen[CAIRN_GC_FILES] && w.seen[CAIRN_GC_REMOVE]);
	ck_assert_uint_eq(w.n_files, 2);
	cairn_cas_gc_progress(s.g.f.cas, &p);
	ck_assert_int_eq(p.step, CAIRN_GC_IDLE);
}
END_TEST

static void external(struct cairn_cas_options *options)
{
	gc_fixture_times(options);
	options->xorbs_external = true;
}

START_TEST(an_index_of_xorbs_kept_elsewhere_is_collected_too)
{
	CLEANUP(gc_fixture_fini) struct gc_fixture g;
	CLEANUP(gc_xorb_fini) struct gc_xorb x;
	CLEANUP(gc_file_fini) struct gc_file file;
	struct made_term all;
	bool added;
	gc_fixture_init(&g);
	cas_fixture_reopen(&g.f, external);
	gc_xorb_init(&x, 1, 3);
	all = (struct made_term){.xorb = &x.made, .start = 0, .end = 3};
	gc_file_init(&file, &all, 1);
	ck_assert_int_eq(cas_put_shard(g.f.cas, &CAS_OPERATOR, &file.shard, &added, NULL), CAIRN_OK);
	check_report_is(gc_collect_all(&g), 0, 0, 0);
	ck_assert_uint_eq(gc_problems(g.f.cas), 0);
	ck_assert(forget(&g, &file.hash, NULL));
	check_report_is(gc_collect_all(&g), 1, 1, 0);
}
END_TEST

enum { N_WORKERS = 8, N_XORBS = 16, N_FILES = 3, N_STEPS = 45 };

struct storm {
	struct gc_fixture g;
	struct gc_xorb xorbs[N_XORBS];
	atomic_uint n_conflicts, n_swept, n_uploads;
};

/* Each worker has files of its own. The xorbs are shared. */
struct storm_worker {
	struct storm *storm;
	uint64_t random;
	struct gc_file files[N_FILES];
	bool has[N_FILES]; /* acknowledged, and not forgotten since then */
};

static void storm_upload(struct storm_worker *w, unsigned k)
{
	struct cairn_cas *cas = w->storm->g.f.cas;
	uint64_t stored_bytes;
	bool changed;
	for (uint32_t t = 0; t < w->files[k].n_terms; t++)
		for (unsigned i = 0; i < N_XORBS; i++) {
			const struct gc_xorb *x = &w->storm->xorbs[i];
			if (w->files[k].terms[t].xorb != &x->made ||
			    cairn_cas_xorb(cas, &x->made.hash, &stored_bytes) == CAIRN_OK)
				continue;
			ck_assert_int_eq(gc_put_xorb(cas, x, &changed), CAIRN_OK);
		}
	/* The clock jumps by days, so a xorb may have been swept. The client then gets an error, and begins again. */
	enum cairn_status status = cas_put_shard(cas, &CAS_OPERATOR, &w->files[k].shard, &changed, NULL);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_CONFLICT || status == CAIRN_E_NOT_FOUND);
	if (status == CAIRN_OK)
		w->has[k] = true;
	atomic_fetch_add(status == CAIRN_OK ? &w->storm->n_uploads : &w->storm->n_conflicts, 1);
}

static void storm_collect(struct storm *s)
{
	struct cairn_gc_report report;
	gc_pass(&s->g, GC_GRACE_S / 2);
	enum cairn_status status = cairn_cas_gc(s->g.f.cas, NULL, NULL, &report);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_BUSY);
	atomic_fetch_add(&s->n_swept, (unsigned)report.n_swept);
}

static void storm_query(struct storm *s, unsigned i)
{
	const struct cairn_answer *answer;
	enum cairn_status status =
		cairn_cas_query(s->g.f.cas, &CAS_OPERATOR, &s->xorbs[i].made.list.hashes[0], &answer);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_NOT_FOUND);
	if (status == CAIRN_OK)
		cairn_answer_unref(answer);
}

static void *storm_run(void *arg)
{
	struct storm_worker *w = arg;
	for (unsigned i = 0; i < N_STEPS; i++) {
		uint64_t what = vec_splitmix64(&w->random) % 10;
		unsigned k = (unsigned)(vec_splitmix64(&w->random) % N_FILES);
		if (what < 3) {
			storm_upload(w, k);
		} else if (what < 7) {
			ck_assert(forget(&w->storm->g, &w->files[k].hash, NULL) == w->has[k]);
			w->has[k] = false;
		} else if (what < 8) {
			storm_query(w->storm, k);
		} else if (what < 9) {
			if (w->has[k])
				ck_assert_int_eq(gc_read_back(w->storm->g.f.cas, &w->files[k].hash), CAIRN_OK);
			ck_assert_uint_eq(gc_problems(w->storm->g.f.cas), 0);
		} else {
			storm_collect(w->storm);
		}
	}
	return NULL;
}

/* A file over two xorbs that a few others use, too. The last term makes the file this worker's own. */
static void storm_worker_init(struct storm_worker *w, struct storm *s, unsigned id)
{
	*w = (struct storm_worker){.storm = s, .random = id + 1};
	for (unsigned k = 0; k < N_FILES; k++) {
		const struct made_xorb *a = &s->xorbs[(2 * id + k) % N_XORBS].made,
				       *b = &s->xorbs[(5 * id + 3 * k + 1) % N_XORBS].made;
		struct made_term terms[] = {{.xorb = a, .start = 0, .end = a->list.n},
					    {.xorb = b, .start = k, .end = k + 2},
					    {.xorb = a, .start = id, .end = id + 1}};
		gc_file_init(&w->files[k], terms, 3);
	}
}

START_TEST(collections_among_uploads_lose_nothing)
{
	struct storm *s = calloc(1, sizeof(*s));
	struct storm_worker *workers = calloc(N_WORKERS, sizeof(*workers));
	pthread_t threads[N_WORKERS];
	ck_assert(s && workers);
	gc_fixture_init(&s->g);
	for (unsigned i = 0; i < N_XORBS; i++)
		gc_xorb_init(&s->xorbs[i], i + 1, N_WORKERS + i);
	for (unsigned i = 0; i < N_WORKERS; i++)
		storm_worker_init(&workers[i], s, i);
	for (unsigned i = 0; i < N_WORKERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, storm_run, &workers[i]), 0);
	for (unsigned i = 0; i < N_WORKERS; i++)
		pthread_join(threads[i], NULL);

	ck_assert_uint_gt(s->n_uploads, 0);
	ck_assert_uint_gt(s->n_swept, 0); /* otherwise the test has shown nothing */
	ck_assert_uint_eq(gc_problems(s->g.f.cas), 0);
	for (unsigned i = 0; i < N_WORKERS; i++)
		for (unsigned k = 0; k < N_FILES; k++) {
			const struct cairn_hash *file = &workers[i].files[k].hash;
			ck_assert_int_eq(gc_read_back(s->g.f.cas, file),
					 workers[i].has[k] ? CAIRN_OK : CAIRN_E_NOT_FOUND);
			ck_assert(forget(&s->g, file, NULL) == workers[i].has[k]);
			gc_file_fini(&workers[i].files[k]);
		}
	(void)gc_collect_all(&s->g);
	ck_assert_int_eq(tempdir_count(&s->g.f.dir, "objects"), 0);
	ck_assert_uint_eq(gc_problems(s->g.f.cas), 0);
	for (unsigned i = 0; i < N_XORBS; i++)
		gc_xorb_fini(&s->xorbs[i]);
	gc_fixture_fini(&s->g);
	free(workers);
	free(s);
}
END_TEST

static Suite *garbage_suite(void)
{
	Suite *s = suite_create("garbage");
	TCase *t = tcase_create("garbage");
	tcase_add_test(t, an_owner_forgets_for_itself_alone);
	tcase_add_test(t, a_file_is_shared_with_one_or_with_all);
	tcase_add_test(t, an_unneeded_xorb_is_removed_in_two_steps);
	tcase_add_test(t, a_retired_xorb_that_is_sent_again_lives_again);
	tcase_add_test(t, a_xorb_sent_again_restarts_its_grace_time);
	tcase_add_test(t, a_xorb_promised_to_a_client_stays_for_a_grace_time);
	tcase_add_test(t, a_retired_xorb_that_comes_again_with_its_shard_is_offered_again);
	tcase_add_test(t, a_xorb_lost_while_it_is_sent_again_is_asked_for_once_more);
	tcase_add_test(t, a_shard_that_names_a_retired_xorb_brings_it_back);
	tcase_add_test(t, a_forgotten_shard_is_not_known_any_more);
	tcase_add_test(t, a_retired_xorb_is_not_offered);
	tcase_add_test(t, a_xorb_swept_between_verifying_and_committing_is_a_conflict);
	tcase_add_test(t, a_xorb_swept_while_it_arrives_is_stored_anew);
	tcase_add_test(t, a_xorb_renewed_before_the_sweep_stays);
	tcase_add_test(t, one_collection_runs_at_a_time_and_can_be_stopped);
	tcase_add_test(t, how_far_a_collection_is_is_told);
	tcase_add_test(t, an_index_of_xorbs_kept_elsewhere_is_collected_too);
	tcase_add_test(t, collections_among_uploads_lose_nothing);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(garbage_suite());
}
