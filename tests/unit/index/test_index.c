/* A SQLite database as an index: versions, foreign databases, damage. */
#include "support/index_fixture.h"
#include "support/run.h"
#include "support/tempdir.h"

#include "index/proof.h"
#include "index/sqlite/migrate.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	static const struct cairn_index_options TO_WRITE = {0}, TO_READ = {.read_only = true};
	const struct cairn_index_options *options[] = {&TO_WRITE, &TO_READ};
	struct fx_url url = fx_url(folder.path);
	struct cairn_diag diag = {0};
	int from, to;
	ck_assert_int_eq(cairn_index_migrate(url.text, &diag, &from, &to), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, rule);
	ck_assert_ptr_nonnull(strstr(diag.text, "index.sqlite"));
	for (unsigned i = 0; i < 2; i++) {
		struct cairn_index *ix;
		diag = (struct cairn_diag){0};
		ck_assert_int_eq(cairn_index_open(&ix, url.text, options[i], &diag), CAIRN_E_CONFLICT);
		ck_assert_ptr_null(ix);
		ck_assert_str_eq(diag.rule, rule);
	}
	after = file_digest(path);
	ck_assert(cairn_hash_equal(&before, &after));
}

/* Counting memory would take a global lock at each allocation. The setting works only before SQLite's first use, so
 * this also tests the order in which an index is opened. Check runs the test in its own process. */
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
	int from, to;
	(void)snprintf(missing, sizeof(missing), "%s/missing", folder.path);
	ck_assert_int_eq(cairn_index_migrate(fx_url(missing).text, &diag, &from, &to), CAIRN_E_IO);
	ck_assert_ptr_nonnull(strstr(diag.text, missing));
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(cairn_index_open(&ix, fx_url(missing).text, NULL, &diag), CAIRN_E_IO);
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
	/* a killed process leaves its commits in the log, and a refusal must not copy them into the file */
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

/* Builds an index of this version with the scripts of the time, and with some rows. */
static void make_version(int version)
{
	run_sql("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL");
	for (int i = 0; i < version; i++)
		run_sql(cairn_migrate_scripts[i]);
	char sql[512];
	(void)snprintf(sql, sizeof(sql),
		       "PRAGMA user_version = %d; INSERT INTO scope(id, name) VALUES(3, 'kept'), (4, 'too');"
		       "INSERT INTO xorb(id, hash, chunks, unpacked, stored, at) VALUES(7, zeroblob(32), 5, 10, 10, 1);"
		       "INSERT INTO dedupe VALUES(-1, 0, 7, 4, 1)",
		       version);
	run_sql(sql);
}

/* An older index must be migrated first. Opening it changes nothing. */
START_TEST(older_versions_are_not_opened)
{
	static const struct cairn_index_options TO_READ = {.read_only = true};
	for (int version = 1; version < cairn_migrate_latest; version++) {
		struct cairn_diag diag = {0};
		struct cairn_index *ix;
		make_version(version);
		struct cairn_hash before = file_digest(path);
		for (unsigned i = 0; i < 2; i++) {
			diag = (struct cairn_diag){0};
			ck_assert_int_eq(
				cairn_index_open(&ix, fx_url(folder.path).text, i == 0 ? NULL : &TO_READ, &diag),
				CAIRN_E_CONFLICT);
			ck_assert_ptr_null(ix);
			ck_assert_str_eq(diag.rule, "index.older");
		}
		struct cairn_hash after = file_digest(path);
		ck_assert(cairn_hash_equal(&before, &after));
		tear_down();
		set_up();
	}
}
END_TEST

/* Every earlier version is migrated and keeps its contents. */
START_TEST(migrated_from_each_version)
{
	for (int version = 1; version <= cairn_migrate_latest; version++) {
		make_version(version);
		cairn_index_free(fx_open(folder.path));
		ck_assert_int_eq(ask("PRAGMA user_version"), cairn_migrate_latest);
		ck_assert_int_eq(ask("SELECT count(*) FROM scope WHERE name = 'kept'"), 1);
		ck_assert_int_eq(ask("SELECT place FROM dedupe WHERE xorb = 7"), 4);
		ck_assert_int_eq(ask("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
		unlink(path);
	}
}
END_TEST

/* Up to version 3 a file had one SHA-256. Migrating makes it a claim of each owner of the file. */
START_TEST(one_sha256_becomes_the_claim_of_each_owner)
{
	for (int version = 1; version <= 3; version++) {
		make_version(version);
		run_sql("INSERT INTO file VALUES(1, zeroblob(32), randomblob(32), 5, x'00', 1);"
			"INSERT INTO file VALUES(2, randomblob(32), NULL, 5, x'00', 1);"
			"INSERT INTO file VALUES(9, CAST(x'02' || zeroblob(31) AS BLOB), CAST(x'01' || zeroblob(31) AS "
			"BLOB), 6, x'77', 2);"
			"INSERT INTO file_owner VALUES(1, 0), (2, 3), (9, 4), (9, 3);"
			"UPDATE state SET collection = 5, files = 3;"
			"INSERT INTO shard VALUES(1, CAST(x'0a' || zeroblob(31) AS BLOB), 0, 0, 5, 1)");
		struct cairn_index *ix = fx_open(folder.path);
		static const uint8_t sha256[32] = {1};
		struct cairn_hash body = {{10}};
		struct cairn_index_file got;
		ck_assert_int_eq(cairn_index_file_by_sha256(ix, sha256, "kept", &got), CAIRN_OK);
		ck_assert_uint_eq(got.hash.b[0], 2);
		ck_assert_int_eq(cairn_index_file_by_sha256(ix, sha256, "too", &got), CAIRN_OK);
		ck_assert_int_eq(cairn_index_file_by_sha256(ix, sha256, NULL, &got), CAIRN_E_NOT_FOUND);
		bool known = true;
		struct cairn_index_registered registered;
		ck_assert_int_eq(fx_shard_known(ix, &body, "", "", &known, &registered), CAIRN_OK);
		ck_assert(!known); /* its SHA-256 may have been removed */
		cairn_index_free(ix);
		ck_assert_int_eq(ask("SELECT count(*) FROM file_owner WHERE sha256 > x''"), 3);
		ck_assert_int_eq(ask("SELECT count(*) FROM file_owner"), 4);
		ck_assert_int_eq(
			ask("SELECT count(*) FROM file WHERE id = 9 AND size = 6 AND terms = x'77' AND at = 2"), 1);
		ck_assert_int_eq(ask("SELECT count(*) FROM pragma_foreign_key_check WHERE \"table\" = 'file_owner'"),
				 0);
		ck_assert_int_eq(ask("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
		unlink(path);
	}
}
END_TEST

/* Since version 12 each repository has a count of its bytes: each of its files and inline contents once. Since version
 * 21 a file counts at least 4 KiB, and rows count with their texts. Since version 31 a repository and its former names
 * count; a name that now belongs to another repository does not. */
START_TEST(a_migration_counts_the_bytes_of_repositories)
{
	make_version(11);
	run_sql("INSERT INTO account(id, kind, name, fullname, email, created) VALUES(1, 1, 'ann', '', '', 1);"
		"INSERT INTO scope(id, name) VALUES(5, 'hub/1'), (6, 'hub/2');"
		"INSERT INTO repo(id, kind, account, name, private, scope, created, updated, files, bytes)"
		" VALUES(1, 1, 1, 'one', 0, 5, 1, 1, 0, 0), (2, 4, 1, 'two', 0, 6, 1, 1, 0, 0);"
		"INSERT INTO file(id, hash, size, terms, at) VALUES(1, zeroblob(32), 500, x'', 1),"
		"(2, CAST(x'02' || zeroblob(31) AS BLOB), 70, x'', 1);"
		"INSERT INTO file_owner(file, scope, sha256) VALUES(1, 0, x''), (1, 5, zeroblob(32)),"
		"(1, 5, CAST(x'02' || zeroblob(31) AS BLOB)), (2, 5, x''), (2, 6, x'');"
		"INSERT INTO content(repo, uses, size, key, body, sha256, file) VALUES(1, 1, 3, 9, x'616263', NULL, NULL),"
		"(1, 1, 500, NULL, NULL, zeroblob(32), 1);"
		"INSERT INTO file(id, hash, size, terms, at) VALUES(3, CAST(x'03' || zeroblob(31) AS BLOB), 9000, x'', 1);"
		"INSERT INTO file_owner(file, scope, sha256) VALUES(3, 6, x'');"
		"INSERT INTO line(id, repo, fork, depth, head) VALUES(1, 1, 0, 1, 1);"
		"INSERT INTO commit_(repo, line, number, parent, oid, root, at, files, bytes, author, title, message)"
		" VALUES(1, 1, 1, 0, zeroblob(20), zeroblob(20), 1, 1, 3, 'ann', 'a title', 'gr\u00fc\u00df');"
		"INSERT INTO entry(line, folder, name, since, oid, content) VALUES(1, 'f', 'a', 1, zeroblob(20), 1);"
		"INSERT INTO ref(repo, kind, name, line, commit_) VALUES(1, 1, 'main', 1, 0);"
		"INSERT INTO object(repo, path, file, uploaded, type) VALUES(2, 'some/path', 2, 1, '');"
		"INSERT INTO former(kind, account, name, repo) VALUES(1, 1, 'uno', 1), (1, 1, 'eins', 1), (4, 1, 'two', 1)");
	cairn_index_free(fx_open(folder.path));
	ck_assert_int_eq(ask("SELECT stored FROM repo WHERE id = 1"),
			 1024 + 2 * 256 + 2 * 4096 + 3 + (128 + 3 + 7 + 6) + (128 + 2) + (128 + 4));
	ck_assert_int_eq(ask("SELECT stored FROM repo WHERE id = 2"), 1024 + 4096 + 9000 + (128 + 9));
	ck_assert_int_eq(ask("SELECT count(*) FROM former"), 2);
	ck_assert_int_eq(ask("SELECT count(*) FROM repo r JOIN account a WHERE a.quota IS NULL AND r.quota IS NULL"),
			 2);
}
END_TEST

static void note_due(void *ctx, const struct cairn_index_due *due)
{
	(*(int *)ctx)++;
	ck_assert_int_eq(due->file_id, 1);
	ck_assert_str_eq(due->owner, "kept");
}

/* Up to version 12 no claim was verified. After migrating, every claim is due for verification, and nothing else is. */
START_TEST(a_migration_makes_every_claim_due)
{
	for (int version = 9; version <= 12; version++) {
		int n = 0;
		make_version(version);
		run_sql("INSERT INTO file(id, hash, size, terms, at) VALUES(1, zeroblob(32), 5, x'', 1);"
			"INSERT INTO file_owner(file, scope, sha256) VALUES(1, 0, x''), (1, 3, zeroblob(32)),"
			"(1, 3, CAST(x'02' || zeroblob(31) AS BLOB))");
		struct cairn_index *ix = fx_open(folder.path);
		struct cairn_index_file got;
		static const uint8_t sha256[32] = {2};
		ck_assert_int_eq(cairn_index_file_by_sha256(ix, sha256, "kept", &got), CAIRN_OK);
		ck_assert_int_eq(got.belief, CAIRN_INDEX_SAID);
		ck_assert_int_eq(cairn_index_each_due(ix, -1, 1, 9, note_due, &n), CAIRN_OK);
		ck_assert_int_eq(n, 2);
		ck_assert_int_eq(cairn_index_each_due(ix, 3, 1, 9, note_due, &n), CAIRN_OK);
		ck_assert_int_eq(n, 2);
		cairn_index_free(ix);
		ck_assert_int_eq(ask("SELECT count(*) FROM proof"), 0);
		ck_assert_int_eq(ask("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
		unlink(path);
	}
}
END_TEST

/* Up to version 18, the first and the last commit of a pull request said what it was for and how it ended. */
START_TEST(pull_requests_get_rows)
{
	make_version(18);
	run_sql("INSERT INTO account(id, kind, name, fullname, email, created) VALUES(1, 1, 'ann', '', '', 1);"
		"INSERT INTO scope(id, name) VALUES(5, 'hub/1');"
		"INSERT INTO repo(id, kind, account, name, private, scope, created, updated, files, bytes)"
		" VALUES(1, 1, 1, 'one', 0, 5, 1, 1, 0, 0);"
		"INSERT INTO line(id, repo, parent, fork, depth, head) VALUES(1, 1, NULL, 0, 1, 1), (2, 1, 1, 1, 2, 3),"
		" (3, 1, 1, 1, 2, 5), (4, 1, 1, 1, 2, 7);"
		"INSERT INTO commit_(id, repo, line, number, parent, oid, root, at, files, bytes, author, title, message)"
		" VALUES(1, 1, 1, 1, 0, randomblob(20), zeroblob(20), 1, 0, 0, 'ann', 'first', ''),"
		" (2, 1, 2, 2, 1, randomblob(20), zeroblob(20), 2, 0, 0, 'ann', 'One', 'why'),"
		" (3, 1, 2, 3, 2, randomblob(20), zeroblob(20), 3, 0, 0, 'bob', 'files', ''),"
		" (4, 1, 3, 2, 1, randomblob(20), zeroblob(20), 4, 0, 0, 'bob', 'Two', ''),"
		" (5, 1, 3, 3, 4, randomblob(20), zeroblob(20), 5, 0, 0, 'ann', 'Closed', 'no'),"
		" (6, 1, 4, 2, 1, randomblob(20), zeroblob(20), 6, 0, 0, 'ann', 'Three', ''),"
		" (7, 1, 4, 3, 6, randomblob(20), zeroblob(20), 7, 0, 0, 'bob', 'Merged',"
		" '0123456789012345678901234567890123456789');"
		"INSERT INTO ref(repo, kind, name, line, commit_) VALUES(1, 1, 'main', 1, 0), (1, 3, '1', 2, 0),"
		" (1, 3, '2', 3, 5), (1, 3, '10', 4, 7)");
	cairn_index_free(fx_open(folder.path));
	ck_assert_int_eq(ask("SELECT group_concat(concat, ' ') = '1:0:main:1:ann:2:One:why::::"
			     " 2:1:main:1:bob:4:Two::5:ann:no: 10:2:main:1:ann:6:Three::7:bob::0123456789012345678901"
			     "234567890123456789' FROM (SELECT number || ':' || state || ':' || base || ':' || start"
			     " || ':' || author || ':' || at || ':' || title || ':' || message || ':' ||"
			     " coalesce(ended, '') || ':' || ended_by || ':' || comment || ':' || merged AS concat"
			     " FROM pull ORDER BY number)"),
			 1);
	ck_assert_int_eq(ask("SELECT count(*) FROM pull WHERE account IS NULL"), 3);
}
END_TEST

/* Up to version 8 owners' claims were in a table of their own. */
START_TEST(owners_and_their_claims_become_one_table)
{
	static const char OWNERS[] = "INSERT INTO file(id, hash, size, terms, at) VALUES(1, zeroblob(32), 5, x'', 1),"
				     "(2, CAST(x'02' || zeroblob(31) AS BLOB), 5, x'', 1);"
				     "INSERT INTO file_owner VALUES(1, 0), (1, 3), (2, 3), (2, 4);"
				     "INSERT INTO claim(file, scope, sha256) VALUES(1, 3, zeroblob(32)),"
				     "(2, 3, CAST(x'02' || zeroblob(31) AS BLOB)), (2, 3, zeroblob(32))";
	for (int version = 4; version <= 8; version++) {
		make_version(version);
		run_sql(OWNERS);
		cairn_index_free(fx_open(folder.path));
		ck_assert_int_eq(ask("SELECT group_concat(format('%d,%d,%.2s', file, scope, hex(sha256)), ' ') ="
				     " '1,0, 1,3,00 2,3,00 2,3,02 2,4,' FROM (SELECT * FROM file_owner ORDER BY file,"
				     " scope, sha256)"),
				 1);
		ck_assert_int_eq(ask("SELECT count(*) FROM sqlite_schema WHERE name IN ('claim', 'claim_file',"
				     " 'file_owner_scope')"),
				 0);
		ck_assert_int_eq(ask("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
		unlink(path);
	}
}
END_TEST

/* Up to version 4, a term did not record at which offsets its bytes are. */
START_TEST(terms_are_given_their_offsets)
{
	for (int version = 1; version <= 4; version++) {
		make_version(version);
		run_sql("INSERT INTO list VALUES(7, x'02000000030000000200000004000000020000000600000002000000"
			"08000000020000000a000000', zeroblob(160));"
			"INSERT INTO file(id, hash, size, terms, at) VALUES"
			"(1, randomblob(32), 12, "
			"x'0700000000000000000002000400000007000000000000000100050008000000', 1),"
			"(2, randomblob(32), 0, x'', 1),"
			"(3, randomblob(32), 2, x'09000000000000000000010002000000', 1)," /* there is no such xorb */
			"(4, randomblob(32), 2, x'07000000000000000400060004000000', 1)," /* past the end of the xorb */
			"(5, randomblob(32), 2, zeroblob(24), 1),"                        /* damaged */
			"(6, randomblob(32), 2, zeroblob(17), 1)");
		cairn_index_free(fx_open(folder.path));
		ck_assert_int_eq(ask("SELECT count(*) FROM file WHERE id = 1 AND terms ="
				     " x'070000000000000000000200040000000000000004000000"
				     "07000000000000000100050008000000030000000a000000'"),
				 1);
		ck_assert_int_eq(ask("SELECT length(terms) FROM file WHERE id = 2"), 0);
		ck_assert_int_eq(ask("SELECT terms = x'090000000000000000000100020000000000000000000000'"
				     " FROM file WHERE id = 3"),
				 1);
		ck_assert_int_eq(ask("SELECT terms = x'070000000000000004000600040000000000000000000000'"
				     " FROM file WHERE id = 4"),
				 1);
		ck_assert_int_eq(ask("SELECT count(*) FROM file WHERE id > 4 AND length(terms) % 24 <> 0"), 2);
		ck_assert_int_eq(ask("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
		unlink(path);
	}
}
END_TEST

struct between {
	struct cairn_index_planner planner; /* must be the first member */
	int64_t id;
	unsigned n_chunks;
};

/* Another connection writes between the halves of a plan. */
static enum cairn_status between_choose(struct cairn_index_planner *planner, const struct cairn_index_file *file,
					const int64_t **ids, uint32_t *n, uint32_t with_spans[static 2])
{
	struct between *b = (struct between *)planner;
	(void)with_spans;
	run_sql("UPDATE xorb SET chunks = 7");
	b->id = file->terms[0].xorb_id;
	*ids = &b->id;
	*n = 1;
	return CAIRN_OK;
}

static enum cairn_status between_visit(void *planner, const struct cairn_index_spans *places)
{
	((struct between *)planner)->n_chunks = places->n_chunks;
	return CAIRN_OK;
}

/* Adds a file of one term that covers a whole xorb. @return its hash */
static struct cairn_hash put_planned(struct cairn_index *ix)
{
	struct fx_xorb x = fx_xorb_new(1, 10);
	struct fx_shard s;
	fx_xorb_put(ix, &x);
	fx_shard_init(&s, 1);
	fx_shard_file(&s, 1, &x, 0, 10);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	fx_xorb_fini(&x);
	return fx_hash("file", 1);
}

START_TEST(a_plan_is_one_snapshot)
{
	struct cairn_index *ix = fx_open(folder.path);
	struct cairn_hash hash = put_planned(ix);
	struct between b = {.planner = {1, between_choose, between_visit}};
	for (unsigned i = 0; i < 2; i++) { /* the second plan sees the write, so no snapshot was left open */
		struct cairn_index_file file;
		ck_assert_int_eq(cairn_index_plan(ix, &hash, NULL, &b.planner, &file), CAIRN_OK);
		ck_assert_uint_eq(b.n_chunks, i == 0 ? 10 : 7);
		cairn_index_file_fini(&file);
	}
	cairn_index_free(ix);
}
END_TEST

/* Damaged terms may exceed the wanted number by less than one term. They must not look like no terms. */
START_TEST(a_damaged_plan_is_not_an_empty_one)
{
	struct cairn_index *ix = fx_open(folder.path);
	struct cairn_hash hash = put_planned(ix);
	run_sql("UPDATE file SET terms = CAST(terms || x'00' AS BLOB)");
	struct between b = {.planner = {1, between_choose, between_visit}};
	struct cairn_index_file file;
	ck_assert_int_eq(cairn_index_plan(ix, &hash, NULL, &b.planner, &file), CAIRN_E_BUSY);
	b.planner.n_terms_max = UINT32_MAX;
	ck_assert_int_eq(cairn_index_plan(ix, &hash, NULL, &b.planner, &file), CAIRN_E_DAMAGED);
	cairn_index_free(ix);
}
END_TEST

/* Damage that SQLite cannot detect is reported. It must not look like a shorter or longer list. */
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
	ck_assert_int_eq(cairn_index_spans(ix, &row.id, 1, FX_SPANS, fx_spans_are, &x), CAIRN_E_DAMAGED);
	cairn_index_free(ix);
	fx_xorb_fini(&x);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("index");
	TCase *t = tcase_create("open");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, sqlite_does_not_count_its_memory);
	tcase_add_test(t, opened_new_and_again);
	tcase_add_test(t, no_folder);
	tcase_add_test(t, newer_version_refused);
	tcase_add_test(t, newer_version_in_the_log_refused);
	tcase_add_test(t, another_application_refused);
	tcase_add_test(t, unnamed_database_refused);
	tcase_add_test(t, no_database_refused);
	tcase_add_test(t, empty_file_is_new);
	tcase_add_test(t, older_versions_are_not_opened);
	tcase_add_test(t, migrated_from_each_version);
	tcase_add_test(t, one_sha256_becomes_the_claim_of_each_owner);
	tcase_add_test(t, owners_and_their_claims_become_one_table);
	tcase_add_test(t, a_migration_counts_the_bytes_of_repositories);
	tcase_add_test(t, pull_requests_get_rows);
	tcase_add_test(t, a_migration_makes_every_claim_due);
	tcase_add_test(t, terms_are_given_their_offsets);
	suite_add_tcase(s, t);
	t = tcase_create("xorbs");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, damaged_list);
	tcase_add_test(t, a_plan_is_one_snapshot);
	tcase_add_test(t, a_damaged_plan_is_not_an_empty_one);
	suite_add_tcase(s, t);
	return run_suite(s);
}
