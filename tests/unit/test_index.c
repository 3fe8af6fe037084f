/* Opening and reopening, versions, what is not ours; xorbs and their lists. */
#include "support/index_fixture.h"
#include "support/tempdir.h"

#include "index/sqlite_migrate.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tempdir folder;
static char path[256];

static void set_up(void)
{
	folder = tempdir_new();
	(void)snprintf(path, sizeof(path), "%s/index.sqlite", folder.path);
}

static void tear_down(void)
{
	tempdir_fini(&folder);
}

static void run_sql(const char *sql)
{
	sqlite3 *db;
	ck_assert_int_eq(cairn_sql_open(&db, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL, NULL), CAIRN_OK);
	ck_assert_msg(cairn_sql_exec(db, sql) == CAIRN_OK, "%s", sqlite3_errmsg(db));
	cairn_sql_closep(&db);
}

static int64_t ask(const char *sql)
{
	sqlite3 *db;
	int64_t value = -1;
	ck_assert_int_eq(cairn_sql_open(&db, path, SQLITE_OPEN_READONLY, NULL, NULL), CAIRN_OK);
	ck_assert_msg(cairn_sql_ask(db, sql, &value) == CAIRN_OK, "%s", sqlite3_errmsg(db));
	cairn_sql_closep(&db);
	return value;
}

static struct cairn_hash file_digest(const char *name)
{
	char *bytes = NULL;
	size_t len = 0;
	FILE *f = fopen(name, "rb");
	ck_assert_ptr_nonnull(f);
	FILE *all = open_memstream(&bytes, &len);
	for (int c; (c = getc(f)) != EOF;)
		putc(c, all);
	fclose(all);
	fclose(f);
	struct cairn_hash hash;
	cairn_hash_body(&hash, bytes, len);
	free(bytes);
	return hash;
}

static void refused(const char *rule)
{
	struct cairn_hash before = file_digest(path), after;
	struct cairn_index *ix;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_index_open(&ix, folder.path, NULL, &diag), CAIRN_E_CONFLICT);
	ck_assert_ptr_null(ix);
	ck_assert_str_eq(diag.rule, rule);
	ck_assert_ptr_nonnull(strstr(diag.text, "index.sqlite"));
	after = file_digest(path);
	ck_assert(cairn_hash_equal(&before, &after));
}

/* It would take a lock over all connections at each allocation. Only what is said before the first use of SQLite
 * counts, so this is about the order in which an index is opened; the test runs in a process of its own. */
START_TEST(sqlite_does_not_count_its_memory)
{
	struct cairn_index *ix = fx_open(folder.path);
	ck_assert_int_eq(sqlite3_memory_used(), 0);
	cairn_index_free(ix);
}
END_TEST

START_TEST(opened_new_and_again)
{
	struct cairn_index *ix = fx_open(folder.path);
	struct cairn_index_stats stats;
	cairn_index_stats(ix, &stats);
	ck_assert_uint_eq(stats.n_files + stats.n_xorbs + stats.n_shards + stats.n_eligible + stats.n_commits, 0);
	ck_assert_uint_ge(stats.file_bytes, 4096);
	ck_assert_int_eq(cairn_index_writable(ix), CAIRN_OK);
	cairn_index_freep(&ix);
	ck_assert_ptr_null(ix);
	cairn_index_free(NULL);
	ck_assert_int_eq(ask("PRAGMA application_id"), CAIRN_MIGRATE_APPLICATION_ID);
	ck_assert_int_eq(ask("PRAGMA user_version"), cairn_migrate_latest);
	ck_assert_int_eq(ask("PRAGMA page_size"), 4096);
	ck_assert_int_eq(ask("SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'"), 1);
	ix = fx_open(folder.path);
	cairn_index_free(ix);
}
END_TEST

START_TEST(no_folder)
{
	struct cairn_index *ix;
	struct cairn_diag diag = {0};
	char missing[300];
	(void)snprintf(missing, sizeof(missing), "%s/missing", folder.path);
	ck_assert_int_eq(cairn_index_open(&ix, missing, NULL, &diag), CAIRN_E_IO);
	ck_assert_ptr_null(ix);
	ck_assert_ptr_nonnull(strstr(diag.text, missing));
}
END_TEST

START_TEST(newer_version_refused)
{
	cairn_index_free(fx_open(folder.path));
	char sql[64];
	(void)snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", cairn_migrate_latest + 1);
	run_sql(sql);
	refused("index.newer");
}
END_TEST

START_TEST(newer_version_in_the_log_refused)
{
	/* A process that was killed leaves what it committed in the log; refusing must not fold it into the file. */
	cairn_index_free(fx_open(folder.path));
	sqlite3 *db;
	ck_assert_int_eq(cairn_sql_open(&db, path, SQLITE_OPEN_READWRITE, NULL, NULL), CAIRN_OK);
	ck_assert_int_eq(sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL), SQLITE_OK);
	ck_assert_int_eq(cairn_sql_exec(db, "PRAGMA user_version = 99"), CAIRN_OK);
	cairn_sql_closep(&db);
	refused("index.newer");
}
END_TEST

START_TEST(another_application_refused)
{
	run_sql("PRAGMA application_id = 7; CREATE TABLE theirs(a)");
	refused("index.foreign");
}
END_TEST

START_TEST(unnamed_database_refused)
{
	run_sql("CREATE TABLE theirs(a)");
	refused("index.foreign");
}
END_TEST

START_TEST(no_database_refused)
{
	FILE *f = fopen(path, "wb");
	ck_assert_ptr_nonnull(f);
	for (int i = 0; i < 1000; i++)
		fputs("not a database\n", f);
	fclose(f);
	refused("index.foreign");
}
END_TEST

START_TEST(empty_file_is_new)
{
	fclose(fopen(path, "wb"));
	cairn_index_free(fx_open(folder.path));
	ck_assert_int_eq(ask("PRAGMA user_version"), cairn_migrate_latest);
	ck_assert_int_eq(ask("PRAGMA page_size"), 4096);
}
END_TEST

/* Every earlier version, built from its scripts, comes forward and keeps what it holds. */
START_TEST(migrated_from_each_version)
{
	for (int version = 1; version <= cairn_migrate_latest; version++) {
		run_sql("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL");
		for (int i = 0; i < version; i++)
			run_sql(cairn_migrate_scripts[i]);
		char sql[512];
		(void)snprintf(sql, sizeof(sql),
			       "PRAGMA user_version = %d; INSERT INTO scope(name) VALUES('kept');"
			       "INSERT INTO xorb VALUES(7, zeroblob(32), 5, 10, 10, 1, NULL);"
			       "INSERT INTO dedupe VALUES(-1, 0, 7, 4, 1)",
			       version);
		run_sql(sql);
		cairn_index_free(fx_open(folder.path));
		ck_assert_int_eq(ask("PRAGMA user_version"), cairn_migrate_latest);
		ck_assert_int_eq(ask("SELECT count(*) FROM scope WHERE name = 'kept'"), 1);
		ck_assert_int_eq(ask("SELECT place FROM dedupe WHERE xorb = 7"), 4);
		ck_assert_int_eq(ask("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
		unlink(path);
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
		struct cairn_index_xorb by_id;
		ck_assert_int_eq(cairn_index_xorb_by_id(ix, row.id, &by_id), CAIRN_OK);
		ck_assert(cairn_hash_equal(&by_id.hash, &x.hash));
		ck_assert_int_eq(cairn_index_spans(ix, &row.id, 1, fx_spans_are, &x), CAIRN_OK);
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
	ck_assert_int_eq(cairn_index_spans(ix, &id, 1, fx_spans_are, NULL), CAIRN_E_NOT_FOUND);
	cairn_index_free(ix);
}
END_TEST

struct visited {
	uint32_t n;
	enum cairn_status answer; /* of the second visit */
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
	ck_assert_int_eq(cairn_index_spans(ix, ids, 3, visit, &v), CAIRN_OK);
	ck_assert_uint_eq(v.n, 3);
	ck_assert(cairn_hash_equal(&v.seen[0], &b.hash) && cairn_hash_equal(&v.seen[1], &a.hash) &&
		  cairn_hash_equal(&v.seen[2], &b.hash));
	v = (struct visited){.answer = CAIRN_E_CONFLICT};
	ck_assert_int_eq(cairn_index_spans(ix, ids, 3, visit, &v), CAIRN_E_CONFLICT);
	ck_assert_uint_eq(v.n, 2);
	v = (struct visited){0};
	ck_assert_int_eq(cairn_index_spans(ix, ids, 4, visit, &v), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(v.n, 3);
	/* No snapshot is left behind: what is written now is seen. */
	struct fx_xorb c = fx_xorb_new(3, 2);
	fx_xorb_put(ix, &c);
	ck_assert_int_eq(cairn_index_xorb(ix, &c.hash, &row), CAIRN_OK);
	fx_xorb_fini(&a);
	fx_xorb_fini(&b);
	fx_xorb_fini(&c);
	cairn_index_free(ix);
}
END_TEST

/* Damage that SQLite cannot see is named, not passed on as a shorter or longer list. */
START_TEST(damaged_list)
{
	struct cairn_index *ix = fx_open(folder.path);
	struct fx_xorb x = fx_xorb_new(1, 10);
	fx_xorb_put(ix, &x);
	cairn_index_freep(&ix);
	run_sql("UPDATE list SET spans = zeroblob(79)");
	ix = fx_open(folder.path);
	struct cairn_chunk_list list;
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_chunk_list(ix, &x.hash, &list), CAIRN_E_DAMAGED);
	ck_assert_int_eq(cairn_index_xorb(ix, &x.hash, &row), CAIRN_OK);
	ck_assert_int_eq(cairn_index_spans(ix, &row.id, 1, fx_spans_are, &x), CAIRN_E_DAMAGED);
	cairn_index_free(ix);
	fx_xorb_fini(&x);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("index");
	TCase *t = tcase_create("open");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, sqlite_does_not_count_its_memory);
	tcase_add_test(t, opened_new_and_again);
	tcase_add_test(t, no_folder);
	tcase_add_test(t, newer_version_refused);
	tcase_add_test(t, newer_version_in_the_log_refused);
	tcase_add_test(t, another_application_refused);
	tcase_add_test(t, unnamed_database_refused);
	tcase_add_test(t, no_database_refused);
	tcase_add_test(t, empty_file_is_new);
	tcase_add_test(t, migrated_from_each_version);
	suite_add_tcase(s, t);
	t = tcase_create("xorbs");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, xorb_and_list_come_back);
	tcase_add_test(t, unknown_xorb);
	tcase_add_test(t, spans_of_many);
	tcase_add_test(t, damaged_list);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
