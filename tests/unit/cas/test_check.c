/* Damage of every kind in a real folder: the check finds it, and repairing does what it promises. */
#include "cas/internal.h"
#include "cas/put/put_xorb.h"
#include "cas/serve/plan.h"
#include "cas/serve/query_chunk.h"
#include "support/gc_fixture.h"
#include "support/run.h"

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FOUND_MAX = 8 };

/* Counts the findings of a check. */
struct found {
	unsigned n_index, n_index_repaired; /* findings about the index as a whole */
	enum cairn_check_kind of_index;     /* kind of the last of these */
	unsigned n;
	struct {
		enum cairn_check_kind kind;
		struct cairn_hash hash;
		bool repaired;
	} at[FOUND_MAX];
	struct cairn_check_report report;
};

static void note(void *ctx, const struct cairn_check_problem *problem)
{
	struct found *f = ctx;
	ck_assert(problem->text && *problem->text);
	if (!cairn_check_kind_has_hash(problem->kind)) {
		f->n_index++;
		f->n_index_repaired += problem->repaired;
		f->of_index = problem->kind;
		return;
	}
	ck_assert_uint_lt(f->n, FOUND_MAX);
	f->at[f->n].kind = problem->kind;
	f->at[f->n].repaired = problem->repaired;
	f->at[f->n++].hash = problem->hash;
}

static struct found run_check(struct gc_fixture *g, bool repair, bool skip_data)
{
	struct found f = {0};
	struct cairn_check_options options = {.repair = repair, .skip_data = skip_data, .problem = note, .ctx = &f};
	ck_assert_int_eq(cairn_cas_check(g->f.cas, &options, &f.report), CAIRN_OK);
	ck_assert_uint_eq(f.report.n_problems, f.n + f.n_index);
	return f;
}

static void check_found(const struct found *f, unsigned i, enum cairn_check_kind kind, const struct cairn_hash *hash,
			bool repaired)
{
	ck_assert_uint_lt(i, f->n);
	ck_assert_str_eq(cairn_check_kind_name(f->at[i].kind), cairn_check_kind_name(kind));
	ck_assert(cairn_hash_equal(&f->at[i].hash, hash));
	ck_assert(f->at[i].repaired == repaired);
}

static void stock_is_whole(struct gc_stock *s)
{
	struct found f = run_check(&s->g, false, false);
	ck_assert_uint_eq(f.report.n_problems, 0);
	ck_assert_int_eq(gc_read_back(s->g.f.cas, &s->file.hash), CAIRN_OK);
	ck_assert_int_eq(gc_read_back(s->g.f.cas, &s->other_file.hash), CAIRN_OK);
}

/* The check finds x damaged in this way. After the repair x counts as not stored; its bytes stay or are set aside.
 * After another upload of x everything is as before. */
static void check_mends(struct gc_stock *s, enum cairn_check_kind kind, int n_objects, int n_aside)
{
	uint64_t stored_bytes;
	const struct cairn_answer *answer;
	bool changed;
	struct found f = run_check(&s->g, false, false);
	ck_assert_uint_eq(f.n, 2);
	check_found(&f, 0, kind, &s->x.made.hash, false);
	check_found(&f, 1, CAIRN_CHECK_FILE_LOST, &s->file.hash, false);
	ck_assert_int_eq(tempdir_count(&s->g.f.dir, "damaged"), 0); /* only a repair changes files */

	/* the xorb is offered until the damage is found, unless the query itself finds it */
	if (cairn_cas_query(s->g.f.cas, &CAS_OPERATOR, &s->x.made.list.hashes[0], &answer) == CAIRN_OK)
		cairn_answer_unref(answer);
	f = run_check(&s->g, true, false);
	ck_assert_uint_eq(f.n, 2);
	check_found(&f, 0, kind, &s->x.made.hash, true);
	check_found(&f, 1, CAIRN_CHECK_FILE_LOST, &s->file.hash, false);
	ck_assert_uint_eq(f.report.n_repaired, 1 + f.n_index_repaired);
	ck_assert_int_eq(tempdir_count(&s->g.f.dir, "damaged"), n_aside);
	ck_assert_int_eq(tempdir_count(&s->g.f.dir, "objects"), n_objects);
	for (int again = 0; again < 2; again++) { /* known damage is not reported again, but the file is still lost */
		f = run_check(&s->g, again, false);
		ck_assert_uint_eq(f.n + f.n_index, 1);
		check_found(&f, 0, CAIRN_CHECK_FILE_LOST, &s->file.hash, false);
		ck_assert_int_eq(tempdir_count(&s->g.f.dir, "objects"), n_objects);
	}
	ck_assert_int_eq(cairn_cas_xorb(s->g.f.cas, &s->x.made.hash, &stored_bytes), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_cas_query(s->g.f.cas, &CAS_OPERATOR, &s->x.made.list.hashes[0], &answer),
			 CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(gc_read_back(s->g.f.cas, &s->other_file.hash), CAIRN_OK);

	ck_assert_int_eq(gc_put_xorb(s->g.f.cas, &s->x, &changed), CAIRN_OK);
	ck_assert(changed);
	stock_is_whole(s);
	ck_assert_int_eq(cas_put_shard(s->g.f.cas, &CAS_OPERATOR, &s->file.shard, &changed, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_cas_query(s->g.f.cas, &CAS_OPERATOR, &s->x.made.list.hashes[0], &answer), CAIRN_OK);
	cairn_answer_unref(answer);
}

/* The check finds x damaged in this way, but its object is whole, so repairing loses nothing. */
static void check_cures(struct gc_stock *s, enum cairn_check_kind kind)
{
	struct found f = run_check(&s->g, false, false);
	ck_assert_uint_ge(f.n, 1);
	check_found(&f, 0, kind, &s->x.made.hash, false);
	f = run_check(&s->g, true, false);
	ck_assert_uint_eq(f.n, 1);
	check_found(&f, 0, kind, &s->x.made.hash, true);
	ck_assert_int_eq(tempdir_count(&s->g.f.dir, "damaged"), 0);
	ck_assert_int_eq(tempdir_count(&s->g.f.dir, "objects"), 2);
	stock_is_whole(s);
}

START_TEST(a_whole_store_has_no_problem)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	struct found f = run_check(&s.g, true, false);
	ck_assert_uint_eq(f.n, 0);
	ck_assert_uint_eq(f.report.n_xorbs, 2);
	ck_assert_uint_eq(f.report.n_files, 2);
	ck_assert_uint_eq(f.report.n_objects, 2);
	ck_assert_uint_eq(f.report.bytes_read, s.x.body.len + s.other.body.len);
	stock_is_whole(&s);
}
END_TEST

START_TEST(a_flipped_byte)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	cas_flip_bit(&s.g.f, &s.x.made.hash, 2000);
	ck_assert_uint_eq(run_check(&s.g, false, true).n, 0); /* a check that does not read data misses it */
	check_mends(&s, CAIRN_CHECK_XORB_DAMAGED, 2, 0);
}
END_TEST

START_TEST(a_flipped_byte_of_a_header)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	cas_flip_bit(&s.g.f, &s.x.made.hash, 0);
	check_mends(&s, CAIRN_CHECK_XORB_DAMAGED, 2, 0);
}
END_TEST

START_TEST(a_truncated_object)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	CLEANUP(tempdir_textp) char *path = cas_object_path(&s.g.f, &s.x.made.hash);
	ck_assert_int_eq(truncate(path, (off_t)s.x.body.len - 1), 0);
	struct found f = run_check(&s.g, false, true);
	check_found(&f, 0, CAIRN_CHECK_XORB_DAMAGED, &s.x.made.hash, false); /* the length shows it */
	ck_assert_uint_eq(f.report.bytes_read, 0);
	check_mends(&s, CAIRN_CHECK_XORB_DAMAGED, 2, 0);
}
END_TEST

START_TEST(a_missing_object)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	CLEANUP(tempdir_textp) char *path = cas_object_path(&s.g.f, &s.x.made.hash);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_uint_eq(run_check(&s.g, false, true).n, 2);
	check_mends(&s, CAIRN_CHECK_XORB_MISSING, 1, 0);
}
END_TEST

static void put_object(struct gc_fixture *g, const struct cairn_hash *hash, const struct vec_bytes *body)
{
	struct cairn_store_put *put;
	bool existed;
	ck_assert_int_eq(cairn_store_put_begin(g->f.cas->store, &put), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_write(put, body->bytes, body->len), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_commit(put, hash, &existed), CAIRN_OK);
	ck_assert(!existed);
}

START_TEST(a_whole_object_without_a_row_is_taken_in)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	CLEANUP(gc_xorb_fini) struct gc_xorb alone;
	uint64_t stored_bytes;
	gc_stock_init(&s);
	gc_xorb_init(&alone, 3, 6);
	put_object(&s.g, &alone.made.hash, &alone.body);
	struct found f = run_check(&s.g, false, false);
	ck_assert_uint_eq(f.n, 1);
	check_found(&f, 0, CAIRN_CHECK_OBJECT_ALONE, &alone.made.hash, false);
	f = run_check(&s.g, true, false);
	ck_assert_uint_eq(f.n, 1);
	check_found(&f, 0, CAIRN_CHECK_OBJECT_ALONE, &alone.made.hash, true);
	ck_assert_int_eq(cairn_cas_xorb(s.g.f.cas, &alone.made.hash, &stored_bytes), CAIRN_OK);
	ck_assert_uint_eq(stored_bytes, alone.body.len);
	stock_is_whole(&s);
	ck_assert_uint_eq(gc_collect_all(&s.g).bytes_freed, alone.body.len); /* no file needs it */
}
END_TEST

START_TEST(a_broken_object_without_a_row_is_set_aside)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	CLEANUP(gc_xorb_fini) struct gc_xorb alone;
	gc_stock_init(&s);
	gc_xorb_init(&alone, 3, 6);
	alone.body.len -= 7;
	put_object(&s.g, &alone.made.hash, &alone.body);
	struct found f = run_check(&s.g, true, false);
	ck_assert_uint_eq(f.n, 1);
	check_found(&f, 0, CAIRN_CHECK_OBJECT_ALONE, &alone.made.hash, true);
	ck_assert_int_eq(tempdir_count(&s.g.f.dir, "damaged"), 1);
	ck_assert_int_eq(tempdir_count(&s.g.f.dir, "objects"), 2);
	stock_is_whole(&s);
}
END_TEST

/* Changes rows with the sqlite3 command, while the folder is closed. @return false: this machine lacks the command */
static bool sql(struct gc_stock *s, const char *statement)
{
	cas_fixture_close(&s->g.f);
	CLEANUP(tempdir_textp) char *path = tempdir_path(&s->g.f.dir, "index.sqlite");
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		execlp("sqlite3", "sqlite3", "-bail", path, statement, (char *)NULL);
		_exit(127);
	}
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	cas_fixture_reopen(&s->g.f, gc_fixture_times);
	if (WEXITSTATUS(status) == 127) {
		(void)fprintf(stderr, "skipped: there is no sqlite3 command to damage the index with\n");
		return false;
	}
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	return true;
}

/* the rows of x are the first ones */
START_TEST(a_damaged_list)
{
	static const char *const damages[] = {
		"UPDATE list SET hashes = CAST(zeroblob(32) || substr(hashes, 33) AS BLOB) WHERE xorb = 1",
		"UPDATE list SET hashes = substr(hashes, 1, 33) WHERE xorb = 1",
		"UPDATE list SET spans = substr(spans, 1, 8) WHERE xorb = 1",
		"UPDATE list SET spans = CAST(x'01' || substr(spans, 2) AS BLOB) WHERE xorb = 1",
		"UPDATE list SET spans = substr(spans, 1, 16), hashes = substr(hashes, 1, 64) WHERE xorb = 1",
		"DELETE FROM list WHERE xorb = 1",
		"UPDATE xorb SET chunks = 3 WHERE id = 1",
		"UPDATE xorb SET unpacked = unpacked + 1 WHERE id = 1",
	};
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	if (sql(&s, damages[_i]))
		check_cures(&s, CAIRN_CHECK_XORB_LIST);
}
END_TEST

START_TEST(a_list_with_other_places)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	if (sql(&s, "UPDATE list SET spans = CAST(substr(spans, 1, 4) || x'01' || substr(spans, 6) AS BLOB) WHERE xorb "
		    "= 1"))
		check_cures(&s, CAIRN_CHECK_XORB_DAMAGED);
}
END_TEST

START_TEST(another_length_in_the_row)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	if (sql(&s, "UPDATE xorb SET stored = stored + 1 WHERE id = 1"))
		check_cures(&s, CAIRN_CHECK_XORB_DAMAGED);
}
END_TEST

/* Repairing never changes files. */
START_TEST(a_damaged_file)
{
	static const char *const damages[] = {
		"UPDATE file SET size = size + 1 WHERE id = 1",
		"UPDATE file SET terms = CAST(substr(terms, 1, 8) || x'01' || substr(terms, 10) AS BLOB) WHERE "
		"id = 1", /* start */
		"UPDATE file SET terms = CAST(substr(terms, 1, 10) || x'ff' || substr(terms, 12) AS BLOB) "
		"WHERE id = 1", /* end */
		"UPDATE file SET terms = CAST(substr(terms, 1, 12) || x'01' || substr(terms, 14) AS BLOB) "
		"WHERE id = 1",                                                                 /* bytes */
		"UPDATE file SET terms = CAST(x'02' || substr(terms, 2) AS BLOB) WHERE id = 1", /* xorb */
		"UPDATE file SET terms = substr(terms, 1, 15) WHERE id = 1",
		"UPDATE file SET hash = zeroblob(32) WHERE id = 1",
	};
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	if (!sql(&s, damages[_i]))
		return;
	for (int repair = 0; repair < 2; repair++) {
		struct found f = run_check(&s.g, repair, false);
		ck_assert_uint_eq(f.n, 1);
		check_found(&f, 0, CAIRN_CHECK_FILE_HASH, _i == 6 ? &(struct cairn_hash){{0}} : &s.file.hash, false);
		ck_assert_uint_eq(f.report.n_xorbs, 2);
		ck_assert_uint_eq(f.report.n_files, 2); /* the damaged file does not end the check */
	}
}
END_TEST

/* --- redundant data in the index ---------------------------------------------------------------------------------- */

static const struct doubled {
	enum cairn_check_kind kind;
	bool mended;
	const char *damage;
} doubled[] = {
	{CAIRN_CHECK_INDEX_REFERENCE, true, "DELETE FROM reference WHERE xorb = 1"},
	{CAIRN_CHECK_INDEX_REFERENCE, true, "UPDATE reference SET file = 2 WHERE xorb = 1"},
	{CAIRN_CHECK_INDEX_REFERENCE, true, "UPDATE reference SET file = 77 WHERE xorb = 1"},
	{CAIRN_CHECK_INDEX_REFERENCE, true, "INSERT INTO reference VALUES(2, 1)"},
	{CAIRN_CHECK_INDEX_OFFSETS, true,
	 "UPDATE file SET terms = CAST(substr(terms, 1, 16) || x'01' || substr(terms, 18) AS BLOB) WHERE id = 1"},
	{CAIRN_CHECK_INDEX_OFFSETS, true,
	 "UPDATE file SET terms = CAST(substr(terms, 1, 20) || zeroblob(4) AS BLOB) WHERE id = 1"},
	{CAIRN_CHECK_INDEX_COUNT, true, "UPDATE state SET files = files + 1"},
	{CAIRN_CHECK_INDEX_COUNT, true, "UPDATE state SET xorbs = 0"},
	{CAIRN_CHECK_INDEX_COUNT, true, "UPDATE state SET shards = shards - 1"},
	{CAIRN_CHECK_INDEX_COUNT, true, "UPDATE state SET eligible = eligible - 1"},
	{CAIRN_CHECK_INDEX_COUNT, true, "UPDATE state SET stored_bytes = 7"},
	{CAIRN_CHECK_INDEX_LINK, true, "INSERT INTO mirror_repo VALUES(99, 1, 0, 0, 0, '', 0, 0, 0, 0, 0, '', '')"},
	{CAIRN_CHECK_INDEX_LINK, true, "INSERT INTO mirror_file VALUES(99, 0, 0)"},
	{CAIRN_CHECK_INDEX_LINK, true, "INSERT INTO mirror_part VALUES(99, 0, 1)"},
	{CAIRN_CHECK_INDEX_LINK, true, "INSERT INTO mirror_place VALUES(zeroblob(32), 0, 0, 1, 99, 0)"},
	{CAIRN_CHECK_INDEX_LINK, false, "UPDATE file_owner SET scope = 99 WHERE file = 1"},
	{CAIRN_CHECK_INDEX_LINK, false, "DELETE FROM file_owner WHERE file = 1"},
	{CAIRN_CHECK_INDEX_LINK, false, "UPDATE dedupe SET place = 8191 WHERE xorb = 1"},
	{CAIRN_CHECK_INDEX_LINK, false, "UPDATE dedupe SET scope = 99 WHERE xorb = 1"},
	{CAIRN_CHECK_INDEX_LINK, false, "UPDATE member SET shard = 99 WHERE xorb = 1"},
	{CAIRN_CHECK_INDEX_LINK, false, "UPDATE xorb SET retired = 5 WHERE id = 1"},
	{CAIRN_CHECK_INDEX_LINK, false, "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'xorb'"},
	{CAIRN_CHECK_INDEX_LINK, false, "DELETE FROM sqlite_sequence WHERE name = 'file'"},
};
enum { N_DOUBLED = sizeof(doubled) / sizeof(doubled[0]) };

START_TEST(tables_that_contradict_each_other)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	if (!sql(&s, doubled[_i].damage))
		return;
	for (int repair = 0; repair < 2; repair++) {
		struct found f = run_check(&s.g, repair, false);
		ck_assert_uint_ge(f.n_index, 1);
		ck_assert_str_eq(cairn_check_kind_name(f.of_index), cairn_check_kind_name(doubled[_i].kind));
		ck_assert_uint_eq(f.n, 0);
		ck_assert_uint_eq(f.n_index_repaired, repair && doubled[_i].mended ? f.n_index : 0);
	}
	if (doubled[_i].mended)
		stock_is_whole(&s);
}
END_TEST

/* If the terms of a file are damaged, a reference is kept even if no term names its xorb. */
START_TEST(a_reference_of_a_damaged_file_is_kept)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	if (!sql(&s, "UPDATE file SET terms = CAST(x'02' || substr(terms, 2) AS BLOB) WHERE id = 1"))
		return;
	struct found f = run_check(&s.g, true, false);
	ck_assert_uint_eq(f.n_index, 2);
	ck_assert_uint_eq(f.n_index_repaired, 1); /* the missing reference was added; the other one keeps the xorb */
	ck_assert_uint_eq(gc_collect_all(&s.g).n_swept, 0);
}
END_TEST

/* Only one of two tables says that the xorb is garbage. Nothing is removed, and the daemon is not ready. */
START_TEST(a_collection_refuses_a_damaged_index)
{
	static const char *const damages[] = {
		"DELETE FROM reference WHERE xorb = 1",
		"UPDATE reference SET file = 77, xorb = 2 WHERE xorb = 1",
	};
	CLEANUP(gc_stock_fini) struct gc_stock s;
	struct cairn_diag diag = {0};
	gc_stock_init(&s);
	if (!sql(&s, damages[_i]))
		return;
	ck_assert_int_eq(cairn_cas_ready(s.g.f.cas, &diag), CAIRN_OK);
	for (int i = 0; i < 2; i++) {
		struct cairn_gc_report report;
		gc_pass(&s.g, GC_GRACE_S + 1);
		ck_assert_int_eq(cairn_cas_gc(s.g.f.cas, NULL, NULL, &report), CAIRN_E_DAMAGED);
		ck_assert_str_eq(report.diag.rule, "gc.index");
		ck_assert_uint_eq(report.n_retired + report.n_swept, 0);
	}
	ck_assert_int_eq(cairn_cas_ready(s.g.f.cas, &diag), CAIRN_E_DAMAGED);
	ck_assert_str_eq(diag.rule, "gc.index");
	ck_assert_int_eq(gc_read_back(s.g.f.cas, &s.file.hash), CAIRN_OK);
	ck_assert_int_eq(tempdir_count(&s.g.f.dir, "objects"), 2);
	ck_assert_uint_ge(run_check(&s.g, true, false).n_index_repaired, 1);
	ck_assert_uint_eq(gc_collect_all(&s.g).n_swept, 0);
	stock_is_whole(&s);
}
END_TEST

/* --- a disk that fails -------------------------------------------------------------------------------------------- */

/* While this is 0 or more, that many reads of the index succeed on this thread, and later ones fail. The function
 * replaces the C library's, so that SQLite's reads come here. The index's writer reads, too: it fills its filter, and a
 * check need not notice if that fails. */
static _Thread_local int reads_left = -1;
static int n_reads_failed;

static bool is_index(int fd)
{
	char link[64], path[PATH_MAX];
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	return strstr(path, "/index.sqlite") != NULL;
}

__attribute__((visibility("default"))) ssize_t pread64(int fd, void *buf, size_t nbytes, off64_t offset)
{
	bool counts = reads_left >= 0 && is_index(fd);
	if (counts && reads_left == 0) {
		n_reads_failed++;
		errno = EIO;
		return -1;
	}
	reads_left -= counts;
	return (ssize_t)syscall(SYS_pread64, fd, buf, nbytes, offset);
}

/* Wherever reading the index fails, the check reports the failure and sets nothing aside. */
START_TEST(a_failing_disk)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	bool more = true;
	int n_reads = 0;
	for (; more; n_reads++) {
		struct found f = {0};
		struct cairn_check_options options = {.repair = true, .problem = note, .ctx = &f};
		cas_fixture_reopen(&s.g.f, gc_fixture_times); /* nothing is cached */
		n_reads_failed = 0;
		reads_left = n_reads;
		enum cairn_status status = cairn_cas_check(s.g.f.cas, &options, &f.report);
		bool failed = n_reads_failed > 0;
		reads_left = -1;
		ck_assert_uint_eq(f.report.n_repaired, 0);
		ck_assert_int_eq(tempdir_count(&s.g.f.dir, "damaged"), 0);
		ck_assert_msg(failed ? status == CAIRN_E_IO || f.n + f.n_index > 0
				     : status == CAIRN_OK && f.report.n_problems == 0,
			      "%s after %d reads", cairn_status_name(status), n_reads);
		for (unsigned i = 0; i < f.n; i++)
			ck_assert(f.at[i].kind == CAIRN_CHECK_XORB_UNREAD || f.at[i].kind == CAIRN_CHECK_FILE_LOST);
		more = failed;
	}
	ck_assert_int_gt(n_reads, 10); /* otherwise the failures above never happened */
	stock_is_whole(&s);
}
END_TEST

START_TEST(a_term_without_a_xorb)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	if (!sql(&s, "UPDATE file SET terms = CAST(x'99' || substr(terms, 2) AS BLOB) WHERE id = 1"))
		return;
	struct found f = run_check(&s.g, true, false);
	ck_assert_uint_eq(f.n, 1);
	check_found(&f, 0, CAIRN_CHECK_FILE_LOST, &s.file.hash, false);
}
END_TEST

/* --- progress and reports ----------------------------------------------------------------------------------------- */

struct steps {
	unsigned left, n;
};

static bool count_steps(void *ctx, const struct cairn_check_report *so_far)
{
	struct steps *s = ctx;
	s->n++;
	ck_assert_uint_eq(so_far->n_xorbs + so_far->n_objects + so_far->n_files, s->n);
	return s->left-- > 0;
}

START_TEST(progress_is_told_and_stops)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	gc_stock_init(&s);
	for (unsigned left = 0; left <= 6; left++) {
		struct steps steps = {.left = left};
		struct cairn_check_options options = {.progress = count_steps, .ctx = &steps};
		struct cairn_check_report report;
		ck_assert_int_eq(cairn_cas_check(s.g.f.cas, &options, &report), left < 6 ? CAIRN_E_BUSY : CAIRN_OK);
		ck_assert_uint_eq(steps.n, left < 6 ? left + 1 : 6);
	}
}
END_TEST

/* Only the file whose chunk is damaged is lost. The other file can be read. */
START_TEST(files_without_damage_stay)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	CLEANUP(gc_file_fini) struct gc_file front, back;
	bool added;
	gc_stock_init(&s);
	gc_file_init(&front, &(struct made_term){.xorb = &s.x.made, .start = 0, .end = 3}, 1);
	gc_file_init(&back, &(struct made_term){.xorb = &s.x.made, .start = 2, .end = 4}, 1);
	ck_assert_int_eq(cas_put_shard(s.g.f.cas, &CAS_OPERATOR, &front.shard, &added, NULL), CAIRN_OK);
	ck_assert_int_eq(cas_put_shard(s.g.f.cas, &CAS_OPERATOR, &back.shard, &added, NULL), CAIRN_OK);
	cas_flip_bit(&s.g.f, &s.x.made.hash, 2000); /* in chunk 1 */
	for (int i = 0; i < 3; i++) {
		struct found f = run_check(&s.g, i == 1, false);
		ck_assert_uint_eq(f.n, i < 2 ? 3 : 2);
		check_found(&f, f.n - 2, CAIRN_CHECK_FILE_LOST, &s.file.hash, false);
		check_found(&f, f.n - 1, CAIRN_CHECK_FILE_LOST, &front.hash, false);
		CLEANUP(cairn_plan_fini) struct cairn_plan plan = {0};
		const struct cairn_byte_range all = {.kind = CAIRN_RANGE_ALL};
		ck_assert_int_eq(cairn_cas_plan(s.g.f.cas, NULL, &back.hash, &all, &plan), CAIRN_OK);
		ck_assert_int_eq(tempdir_count(&s.g.f.dir, "objects"), 2);
	}
	ck_assert_int_eq(gc_put_xorb(s.g.f.cas, &s.x, &added), CAIRN_OK);
	ck_assert(added);
	stock_is_whole(&s);
	ck_assert_int_eq(gc_read_back(s.g.f.cas, &front.hash), CAIRN_OK);
}
END_TEST

START_TEST(damage_twice_is_kept_twice)
{
	CLEANUP(gc_stock_fini) struct gc_stock s;
	bool inserted;
	gc_stock_init(&s);
	for (int i = 1; i <= 2; i++) {
		CLEANUP(tempdir_textp) char *path = cas_object_path(&s.g.f, &s.x.made.hash);
		ck_assert_int_eq(chmod(path, 0600), 0);
		ck_assert_int_eq(truncate(path, 0) | truncate(path, (off_t)s.x.body.len), 0); /* no chunk is whole */
		ck_assert_uint_eq(run_check(&s.g, true, false).report.n_repaired, 1);
		ck_assert_int_eq(tempdir_count(&s.g.f.dir, "damaged"), i);
		ck_assert_int_eq(gc_put_xorb(s.g.f.cas, &s.x, &inserted), CAIRN_OK);
	}
	stock_is_whole(&s);
}
END_TEST

START_TEST(every_kind_has_a_name)
{
	for (unsigned a = CAIRN_CHECK_XORB_LIST; a <= CAIRN_CHECK_INDEX_COUNT; a++) {
		ck_assert_str_ne(cairn_check_kind_name((enum cairn_check_kind)a), "unknown");
		for (unsigned b = CAIRN_CHECK_XORB_LIST; b < a; b++)
			ck_assert_str_ne(cairn_check_kind_name((enum cairn_check_kind)a),
					 cairn_check_kind_name((enum cairn_check_kind)b));
	}
}
END_TEST

static Suite *check_suite(void)
{
	Suite *s = suite_create("check");
	TCase *t = tcase_create("check");
	tcase_add_test(t, a_whole_store_has_no_problem);
	tcase_add_test(t, a_flipped_byte);
	tcase_add_test(t, a_flipped_byte_of_a_header);
	tcase_add_test(t, a_truncated_object);
	tcase_add_test(t, a_missing_object);
	tcase_add_test(t, a_whole_object_without_a_row_is_taken_in);
	tcase_add_test(t, a_broken_object_without_a_row_is_set_aside);
	tcase_add_loop_test(t, a_damaged_list, 0, 8);
	tcase_add_test(t, a_list_with_other_places);
	tcase_add_test(t, another_length_in_the_row);
	tcase_add_loop_test(t, a_damaged_file, 0, 7);
	tcase_add_test(t, a_term_without_a_xorb);
	tcase_add_loop_test(t, tables_that_contradict_each_other, 0, N_DOUBLED);
	tcase_add_test(t, a_reference_of_a_damaged_file_is_kept);
	tcase_add_loop_test(t, a_collection_refuses_a_damaged_index, 0, 2);
	tcase_add_test(t, a_failing_disk);
	tcase_add_test(t, progress_is_told_and_stops);
	tcase_add_test(t, files_without_damage_stay);
	tcase_add_test(t, damage_twice_is_kept_twice);
	tcase_add_test(t, every_kind_has_a_name);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(check_suite());
}
