/* Creating, migrating and opening an index; xorbs and their chunk lists. */
#include "index/backup.h"
#include "index/snapshot.h"
#include "support/index_fixture.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct tempdir folder;

static void set_up(void)
{
	folder = tempdir_new();
}

static void tear_down(void)
{
	tempdir_fini(&folder);
}

START_TEST(made_migrated_and_opened)
{
	struct fx_url url = fx_url(folder.path);
	struct cairn_index *ix;
	int from = -1, to = -1, again = -1;
	ck_assert_int_ne(cairn_index_open(&ix, url.text, NULL, NULL), CAIRN_OK); /* the index does not exist yet */
	ck_assert_ptr_null(ix);
	ck_assert_int_eq(cairn_index_migrate(url.text, NULL, &from, &to), CAIRN_OK);
	ck_assert_int_eq(from, 0);
	ck_assert_int_gt(to, 0);
	ck_assert_int_eq(cairn_index_migrate(url.text, NULL, &from, &again), CAIRN_OK);
	ck_assert(from == to && again == to);
	ck_assert_int_eq(cairn_index_open(&ix, url.text, NULL, NULL), CAIRN_OK);
	struct cairn_index_stats stats;
	cairn_index_stats(ix, &stats);
	ck_assert_uint_eq(stats.n_files + stats.n_xorbs + stats.n_shards + stats.n_eligible + stats.n_commits, 0);
	ck_assert_int_eq(cairn_index_writable(ix), CAIRN_OK);
	ck_assert_int_eq(cairn_index_upkeep(ix, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_index_health(ix, NULL), CAIRN_OK);
	cairn_index_freep(&ix);
	ck_assert_ptr_null(ix);
	cairn_index_free(NULL);
}
END_TEST

START_TEST(opened_to_read_only)
{
	static const struct cairn_index_options TO_READ = {.read_only = true};
	struct cairn_index *ix = fx_open(folder.path);
	struct fx_xorb x = fx_xorb_new(1, 5);
	struct cairn_index_xorb row;
	fx_xorb_put(ix, &x);
	cairn_index_free(ix);
	ck_assert_int_eq(cairn_index_open(&ix, fx_url(folder.path).text, &TO_READ, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_index_xorb(ix, &x.hash, &row), CAIRN_OK);
	struct cairn_index_lose_xorb lose = {.hash = x.hash};
	ck_assert_int_eq(cairn_index_lose_xorb(ix, &lose), CAIRN_E_BUSY);
	cairn_index_free(ix);
	fx_xorb_fini(&x);
}
END_TEST

START_TEST(unknown_engines_are_refused_by_name)
{
	static const char *const URLS[] = {"oracle:here", "", "sqlite", "/var/lib/cairn"};
	struct cairn_diag diag = {0};
	struct cairn_index *ix;
	struct cairn_index_snapshot *snapshot;
	int from, to;
	for (size_t i = 0; i < sizeof(URLS) / sizeof(URLS[0]); i++) {
		diag = (struct cairn_diag){0};
		ck_assert_int_eq(cairn_index_open(&ix, URLS[i], NULL, &diag), CAIRN_E_USAGE);
		ck_assert_ptr_null(ix);
		ck_assert_str_eq(diag.rule, "index.url");
		ck_assert_ptr_nonnull(strstr(diag.text, URLS[i]));
		ck_assert_ptr_nonnull(strstr(diag.text, "sqlite:"));
		ck_assert_int_eq(cairn_index_migrate(URLS[i], NULL, &from, &to), CAIRN_E_USAGE);
		ck_assert_int_eq(cairn_index_snapshot_open(&snapshot, URLS[i], NULL), CAIRN_E_USAGE);
		ck_assert_ptr_null(snapshot);
		ck_assert_int_eq(cairn_index_backup(URLS[i], "copy", NULL), CAIRN_E_USAGE);
	}
}
END_TEST

START_TEST(xorb_and_list_come_back)
{
	static const uint32_t sizes[] = {1, 2, 1000, CAIRN_XORB_CHUNKS_MAX};
	struct cairn_index *ix = fx_open(folder.path);
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct fx_xorb x = fx_xorb_new(i, sizes[i]);
		ck_assert(fx_xorb_put(ix, &x));
		ck_assert(!fx_xorb_put(ix, &x));
		cairn_index_freep(&ix);
		ix = fx_open(folder.path);
		struct cairn_index_xorb row;
		ck_assert_int_eq(cairn_index_xorb(ix, &x.hash, &row), CAIRN_OK);
		ck_assert(cairn_hash_equal(&row.hash, &x.hash));
		ck_assert_uint_eq(row.n_chunks, sizes[i]);
		ck_assert_uint_eq(row.unpacked_bytes, cairn_chunk_list_bytes(&x.list, 0, sizes[i]));
		ck_assert_uint_eq(row.stored_bytes, x.list.spans[sizes[i] - 1].end);
		ck_assert(!row.retired);
		struct cairn_chunk_list list;
		ck_assert_int_eq(cairn_index_chunk_list(ix, &x.hash, &list), CAIRN_OK);
		ck_assert_uint_eq(list.n, sizes[i]);
		ck_assert_mem_eq(list.hashes, x.list.hashes, sizes[i] * sizeof(struct cairn_hash));
		ck_assert_mem_eq(list.spans, x.list.spans, sizes[i] * sizeof(struct cairn_span));
		cairn_chunk_list_fini(&list);
		ck_assert_int_eq(cairn_index_chunk_list_by_id(ix, row.id, &list), CAIRN_OK);
		ck_assert_uint_eq(list.n, sizes[i]);
		ck_assert_mem_eq(list.hashes, x.list.hashes, sizes[i] * sizeof(struct cairn_hash));
		cairn_chunk_list_fini(&list);
		ck_assert_int_eq(cairn_index_chunk_list_by_id(ix, row.id + 1000, &list), CAIRN_E_NOT_FOUND);
		struct cairn_index_xorb both;
		list = (struct cairn_chunk_list){0};
		ck_assert_int_eq(cairn_index_xorb_and_list(ix, &x.hash, &both, &list), CAIRN_OK);
		ck_assert_int_eq(both.id, row.id);
		if (list.n > 0)
			ck_assert_mem_eq(list.spans, x.list.spans, sizes[i] * sizeof(struct cairn_span));
		cairn_chunk_list_fini(&list);
		struct cairn_index_xorb by_id;
		ck_assert_int_eq(cairn_index_xorb_by_id(ix, row.id, &by_id), CAIRN_OK);
		ck_assert(cairn_hash_equal(&by_id.hash, &x.hash));
		ck_assert_int_eq(cairn_index_spans(ix, &row.id, 1, FX_SPANS, fx_spans_are, &x), CAIRN_OK);
		fx_xorb_fini(&x);
	}
	struct cairn_index_stats stats;
	cairn_index_stats(ix, &stats);
	ck_assert_uint_eq(stats.n_xorbs, 4);
	cairn_index_free(ix);
}
END_TEST

START_TEST(unknown_xorb)
{
	struct cairn_index *ix = fx_open(folder.path);
	struct cairn_hash hash = fx_hash("nothing", 1);
	struct cairn_index_xorb row;
	struct cairn_chunk_list list;
	int64_t id = 1;
	ck_assert_int_eq(cairn_index_xorb(ix, &hash, &row), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_xorb_by_id(ix, id, &row), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_chunk_list(ix, &hash, &list), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(list.n, 0);
	ck_assert_int_eq(cairn_index_spans(ix, &id, 1, FX_SPANS, fx_spans_are, NULL), CAIRN_E_NOT_FOUND);
	cairn_index_free(ix);
}
END_TEST

static const uint32_t NO_SPANS[2] = {UINT32_MAX, UINT32_MAX};

struct visited {
	uint32_t n;
	enum cairn_status answer; /* what the second visit answers */
	struct cairn_hash seen[4];
};

static enum cairn_status visit(void *ctx, const struct cairn_index_spans *places)
{
	struct visited *v = ctx;
	v->seen[v->n++] = places->xorb;
	return v->n == 2 ? v->answer : CAIRN_OK;
}

START_TEST(spans_of_many)
{
	struct cairn_index *ix = fx_open(folder.path);
	struct fx_xorb a = fx_xorb_new(1, 3), b = fx_xorb_new(2, 5);
	struct cairn_index_xorb row;
	int64_t ids[4] = {0};
	fx_xorb_put(ix, &a);
	fx_xorb_put(ix, &b);
	ck_assert_int_eq(cairn_index_xorb(ix, &b.hash, &row), CAIRN_OK);
	ids[0] = ids[2] = row.id;
	ck_assert_int_eq(cairn_index_xorb(ix, &a.hash, &row), CAIRN_OK);
	ids[1] = row.id;

	struct visited v = {0};
	ck_assert_int_eq(cairn_index_spans(ix, ids, 3, NO_SPANS, visit, &v), CAIRN_OK);
	ck_assert_uint_eq(v.n, 3);
	ck_assert(cairn_hash_equal(&v.seen[0], &b.hash) && cairn_hash_equal(&v.seen[1], &a.hash) &&
		  cairn_hash_equal(&v.seen[2], &b.hash));
	v = (struct visited){.answer = CAIRN_E_CONFLICT};
	ck_assert_int_eq(cairn_index_spans(ix, ids, 3, NO_SPANS, visit, &v), CAIRN_E_CONFLICT);
	ck_assert_uint_eq(v.n, 2);
	v = (struct visited){0};
	ck_assert_int_eq(cairn_index_spans(ix, ids, 4, NO_SPANS, visit, &v), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(v.n, 3);
	/* no snapshot is left open: the next read sees later writes */
	struct fx_xorb c = fx_xorb_new(3, 2);
	fx_xorb_put(ix, &c);
	ck_assert_int_eq(cairn_index_xorb(ix, &c.hash, &row), CAIRN_OK);
	fx_xorb_fini(&a);
	fx_xorb_fini(&b);
	fx_xorb_fini(&c);
	cairn_index_free(ix);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_contract");
	TCase *t = tcase_create("open");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, made_migrated_and_opened);
	tcase_add_test(t, opened_to_read_only);
	tcase_add_test(t, unknown_engines_are_refused_by_name);
	suite_add_tcase(s, t);
	t = tcase_create("xorbs");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, xorb_and_list_come_back);
	tcase_add_test(t, unknown_xorb);
	tcase_add_test(t, spans_of_many);
	suite_add_tcase(s, t);
	return run_suite(s);
}
