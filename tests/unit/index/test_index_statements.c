/* Tests every statement that SQLite gets: how it finds its rows. For statements of the records, tests also the named
 * arguments. For PostgreSQL see tests/contract/postgres_statements_contract.c. */
#include "db/db.h"
#include "index/sqlite/new_rows.h"
#include "index/sqlite/statement.h"
#include "index/sqlite/util.h"
#include "support/index_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3 *db;
static struct cairn_new_rows_source new_rows;

static void open_database(void)
{
	char path[CAIRN_SQL_PATH_BYTES];
	fx_set_up();
	ck_assert_int_eq(cairn_sql_index_path(path, fx_folder.path, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_sql_open(&db, path, SQLITE_OPEN_READONLY, NULL, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_new_rows_register(db, &new_rows), CAIRN_OK);
}

static void close_database(void)
{
	cairn_sql_closep(&db);
	fx_tear_down();
}

/* Returns a bit for each $n in a text; bit 0 for $1. */
static unsigned named_by(const char *text)
{
	unsigned named = 0;
	for (const char *at = strchr(text, '$'); at; at = strchr(at + 1, '$')) {
		long n = strtol(at + 1, NULL, 10);
		ck_assert_msg(n >= 1 && n <= CAIRN_DB_ARGS_MAX, "$%ld in %s", n, text);
		named |= 1U << (n - 1);
	}
	return named;
}

/* Both texts must name all arguments: otherwise PostgreSQL could not infer an argument's type, and SQLite would number
 * the others differently. */
START_TEST(both_texts_name_all_arguments)
{
	size_t n;
	const struct cairn_sql *sql = cairn_db_statements(&n);
	ck_assert_uint_gt(n, 50);
	for (size_t i = 0; i < n; i++) {
		unsigned named = named_by(sql[i].postgres);
		ck_assert_msg((named & (named + 1)) == 0, "%s leaves out an argument: %s", sql[i].name,
			      sql[i].postgres);
		ck_assert_msg(named == named_by(sql[i].sqlite), "the texts of %s name different arguments",
			      sql[i].name);
	}
}
END_TEST

/* Statements that may read a whole table or sort, and how many such steps each may have. */
static const struct known {
	const char *name;
	unsigned steps_max;
} KNOWN[] = {
	/* groups of repositories, each read in the order of an index up to a limit; the rows are sorted afterwards */
	{"LIST_UPDATED_DOWN", 12},
	{"LIST_UPDATED_UP", 12},
	{"LIST_CREATED_DOWN", 12},
	{"LIST_CREATED_UP", 12},
	{"LIST_NAMED_DOWN", 12},
	{"LIST_NAMED_UP", 12},
	/* the words of one list */
	{"LIST_RARE_WORD", 4},
	/* all accounts, and a row for each file, but rarely */
	{"MIRROR_SUM", 2},
	/* the parts of unfinished files, only when the mirror is full */
	{"PARTS_IDLE", 3},
	{"TELEMETRY_TRIM", 1},
	{"TELEMETRY_DROP", 1}, /* only one insert in 64 runs this */
	/* the lines from which a line branched, at most eight; only commits of these lines are sorted */
	{"HISTORY_EACH", 3},
	/* the lines that came from the commit's line, found with an index; only rows of the recursion are scanned */
	{"HISTORY_FIND_REACHED", 2},
	/* lines that came from a pull request's line, found with an index; only rows of the recursion are scanned */
	{"PROPOSED_IS_TAKEN", 4},
	/* an index finds the one row */
	{"PROPOSED_NEXT", 1},
	/* owners of files, for an operator; each owner is looked up in the index of claims */
	{"OWNED_OWNERS", 1},
	/* the claims of one owner; a file counts once */
	{"QUOTA_OWNER", 2},
	{"QUOTA_SET_OWNER", 2},
	{"QUOTA_SIZES", 2},
	/* an operator's list of all quotas */
	{"QUOTA_EACH", 7},
	/* the unregistered xorbs of one account, up to a limit */
	{"UNREGISTERED_SUM", 1},
	/* tables with one row, or with one for each table */
	{"TX_STATE", 1},
	{"TX_SET_STATE", 1},
	{"TX_PROBE", 1},
	{"READ_STATE", 1},
	{"READ_SHARD", 1},
	{"TX_LAST_COMMIT", 1},
	{"TX_TAKE_COMMIT", 1},
	{"TX_LAST_FILE", 1},
	/* the rows that are being added, from a virtual table */
	{"TX_ADD_REFERENCES", 1},
	{"TX_ADD_FILES", 1},
	{"TX_ADD_FIRST_OWNERS", 1},
	{"TX_ADD_DEDUPES", 1},
	/* references are ordered by xorb; used only for a file whose terms cannot be read */
	{"TX_DROP_REFERENCES", 1},
	/* the entries of one line, up to a limit */
	{"TX_COUNT_LINE", 1},
	{"TX_DROP_NEWER_ENTRIES", 1},
	{"TX_USE_COPIED", 2},
	/* a list in an argument: words of one card, places of one file, numbers of some xorbs */
	{"CARD_ADD_TAGS", 1},
	{"PLACE_ADD", 1},
	{"OFFERS_WITHDRAW", 1},
	{"OFFERS_OFFER", 1},
	{"OFFERS_RETIRE", 1},
	{"OFFERS_DROP", 1},
	/* a list in an argument: numbers of some repositories; sorted by their places */
	{"WHICH_FILE", 2},
	{"WHICH_SHA256", 2},
	{"WHICH_XORB", 2},
	{"WHICH_CHUNK", 2},
	{"WHICH_COMMIT", 2},
	/* the places of one xorb, sorted */
	{"PLACE_FIND", 1},
	/* claims of one SHA-256, or rows of one prefix: few, and sorted */
	{"CAIRN_TX_FIND_CLAIMED", 2},
	{"TX_FOLLOW_PROOF", 1},
	{"FILE_BY_SHA256", 4},
	{"OWNED_SHA256", 1},
	{"XORB_PLACES", 1},
	/* the files of one owner, each once */
	{"OWNED_EACH", 3},
	{"OWNED_XORB", 3},
	/* the owners of one file, each once */
	{"FILE_EACH_OWNED", 1},
	/* pages and figures for an operator */
	{"MIRRORED_LARGEST", 1}, /* an index from its end, until it has eight */
	/* the repositories that are fetched ahead, from an index of these alone: at most 1,024 */
	{"AHEAD_OTHERS", 1},
	{"OWNED_EACH_ALL", 1},
	{"OWNED_ALL_FILE", 1},
	{"OWNED_ALL_SHA256", 2},
	{"OWNED_ALL_XORB", 1},
	{"PROOF_CLAIMS", 2},
	{"PROOF_EACH_LIE", 1},
	{"TOTAL_FILES", 1},
	{"TOTAL_UNREFERENCED", 1},
	/* making a key trims old keys, so the table stays small */
	{"KEYS_REVOKE", 2}, /* the revoked keys */
};

static unsigned steps_max(const char *name)
{
	for (size_t i = 0; i < sizeof(KNOWN) / sizeof(KNOWN[0]); i++)
		if (strcmp(KNOWN[i].name, name) == 0)
			return KNOWN[i].steps_max;
	return 0;
}

/* Returns how many steps of a statement read a whole table or sort. */
static unsigned count_steps(const char *name, const char *sql)
{
	unsigned n_steps = 0;
	sqlite3_stmt *plan;
	char *text = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
	int rc = sqlite3_prepare_v2(db, text, -1, &plan, NULL);
	sqlite3_free(text);
	ck_assert_msg(rc == SQLITE_OK, "%s: %s", name, sqlite3_errmsg(db));
	while (sqlite3_step(plan) == SQLITE_ROW) {
		const char *step = (const char *)sqlite3_column_text(plan, 3);
		if (strncmp(step, "SCAN ", 5) == 0 ? strcmp(step, "SCAN CONSTANT ROW") != 0
						   : strstr(step, "TEMP B-TREE") || strstr(step, "AUTOMATIC"))
			n_steps++;
	}
	(void)sqlite3_finalize(plan);
	return n_steps;
}

static void check_steps(const char *name, const char *sql)
{
	unsigned n_steps = count_steps(name, sql), max = steps_max(name);
	ck_assert_msg(n_steps <= max, "%s reads tables whole, or sorts, in %u steps; the list allows %u", name, n_steps,
		      max);
}

START_TEST(records_look_rows_up)
{
	size_t n;
	const struct cairn_sql *sql = cairn_db_statements(&n);
	for (size_t i = 0; i < n; i++)
		check_steps(sql[i].name, sql[i].sqlite);
}
END_TEST

START_TEST(writer_and_readers_look_rows_up)
{
	const struct cairn_statement_list lists[] = {cairn_writes(), cairn_reads()};
	for (size_t l = 0; l < 2; l++) {
		ck_assert_uint_gt(lists[l].n, 20);
		for (size_t i = 0; i < lists[l].n; i++)
			check_steps(lists[l].first[i].name, lists[l].first[i].text);
	}
}
END_TEST

/* Does a statement read a page of a list of repositories? */
static bool lists_repositories(const struct cairn_sql *sql)
{
	return strstr(sql->sqlite, "r.is_listed FROM (") != NULL;
}

static bool is_by_name(const struct cairn_sql *sql)
{
	return strstr(sql->name, "NAMED_") != NULL;
}

static void bind(sqlite3_stmt *stmt, const char *name, int64_t value)
{
	int at = sqlite3_bind_parameter_index(stmt, name);
	if (at > 0)
		ck_assert_int_eq(sqlite3_bind_int64(stmt, at, value), SQLITE_OK);
}

static void bind_text(sqlite3_stmt *stmt, const char *name, const char *text)
{
	int at = sqlite3_bind_parameter_index(stmt, name);
	if (at > 0)
		ck_assert_int_eq(sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC), SQLITE_OK);
}

/* Lists that a stranger asks for: the models of account 2, of all accounts, or those with the word "x". */
static const struct asked {
	int64_t account;
	const char *words, *rare;
} ASKED[] = {{2, "[]", ""}, {0, "[]", ""}, {0, "[\"x\"]", ""}, {0, "[\"x\"]", "x"}};
enum { N_ASKED = sizeof(ASKED) / sizeof(ASKED[0]), N_LISTS = 6 };

/* Returns how many steps SQLite makes for a page. */
static int steps_of_page(const struct cairn_sql *sql, const struct asked *asked)
{
	bool ascending = strstr(sql->name, "_DOWN") == NULL;
	sqlite3_stmt *stmt;
	int rc, n = 0;
	ck_assert_int_eq(sqlite3_prepare_v2(db, sql->sqlite, -1, &stmt, NULL), SQLITE_OK);
	bind(stmt, "$1", 1);
	bind(stmt, "$2", asked->account);
	bind_text(stmt, "$3", "");
	bind(stmt, "$4", 0);
	bind(stmt, "$5", 1);
	bind(stmt, "$6", 5);
	bind(stmt, "$7", ascending ? 0 : INT64_MAX);
	bind(stmt, "$8", 0);
	bind(stmt, "$9", 0);
	bind(stmt, "$10", 3);
	bind_text(stmt, "$11", asked->words);
	bind_text(stmt, "$12", asked->rare);
	if (is_by_name(sql))
		bind_text(stmt, "$13", ascending ? "" : "\x7f");
	else
		bind(stmt, "$13", ascending ? 0 : INT64_MAX);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW)
		n++;
	ck_assert_int_eq(rc, SQLITE_DONE);
	ck_assert_msg(n == (asked->rare[0] ? 2 : 3), "%s for account %lld, words %s, rare '%s': %d rows", sql->name,
		      (long long)asked->account, asked->words, asked->rare, n);
	int steps = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 0);
	ck_assert_int_eq(sqlite3_finalize(stmt), SQLITE_OK);
	return steps;
}

/* Returns how many steps SQLite makes to learn whether few repositories that a stranger sees have the word "x". */
static int steps_of_words(const struct cairn_sql *sql)
{
	sqlite3_stmt *stmt;
	ck_assert_int_eq(sqlite3_prepare_v2(db, sql->sqlite, -1, &stmt, NULL), SQLITE_OK);
	bind_text(stmt, "$1", "[\"x\"]");
	bind(stmt, "$2", 1);
	bind(stmt, "$3", 0);
	bind(stmt, "$4", 2001);
	ck_assert_int_eq(sqlite3_step(stmt), SQLITE_ROW);
	ck_assert_int_eq(sqlite3_step(stmt), SQLITE_DONE);
	int steps = sqlite3_stmt_status(stmt, SQLITE_STMTSTATUS_VM_STEP, 0);
	ck_assert_int_eq(sqlite3_finalize(stmt), SQLITE_OK);
	return steps;
}

/* Adds private models that all have the word "x". */
static void hide_repositories(unsigned from, unsigned to)
{
	char text[768];
	(void)snprintf(text, sizeof(text),
		       "WITH RECURSIVE n(i) AS (SELECT %u UNION ALL SELECT i + 1 FROM n WHERE i < %u)"
		       " INSERT INTO repo(kind, account, name, private, scope, created, updated, files, bytes)"
		       " SELECT 1, 2, 'hidden' || i, 1, 9, 1, i %% 9, 0, 0 FROM n;"
		       " INSERT OR IGNORE INTO tag SELECT id, 'x', 1, 1 FROM repo WHERE private",
		       from, to);
	fx_sql(fx_folder.path, text);
}

/* Counts the steps of all lists of a stranger. */
static void count_lists(int out[static N_LISTS * N_ASKED + 1])
{
	size_t n;
	const struct cairn_sql *sql = cairn_db_statements(&n);
	unsigned n_lists = 0;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(sql[i].name, "LIST_RARE_WORD") == 0)
			out[N_LISTS * N_ASKED] = steps_of_words(&sql[i]);
		if (!lists_repositories(&sql[i]))
			continue;
		for (unsigned a = 0; a < N_ASKED; a++) {
			ck_assert_uint_lt(n_lists, N_LISTS * N_ASKED);
			out[n_lists++] = steps_of_page(&sql[i], &ASKED[a]);
		}
	}
	ck_assert_uint_eq(n_lists, N_LISTS * N_ASKED);
}

/* A stranger does not wait for private repositories, and cannot conclude their number from the time. */
START_TEST(lists_do_not_read_hidden_repositories)
{
	int before[N_LISTS * N_ASKED + 1] = {0}, after[N_LISTS * N_ASKED + 1] = {0};
	fx_sql(fx_folder.path,
	       "INSERT INTO account(id, kind, name, fullname, email, created) VALUES(1, 1, 'ann', '', '', 1),"
	       " (2, 1, 'bob', '', '', 1); INSERT INTO scope(id, name) VALUES(9, 'hub/9');"
	       " INSERT INTO repo(kind, account, name, private, scope, created, updated, files, bytes) VALUES"
	       " (1, 2, 'a', 0, 9, 1, 5, 0, 0), (1, 2, 'bb', 0, 9, 1, 5, 0, 0), (1, 2, 'z', 0, 9, 1, 7, 0, 0);"
	       " INSERT INTO tag SELECT id, 'x', 1, 0 FROM repo WHERE name <> 'z'");
	hide_repositories(1, 50);
	count_lists(before);
	hide_repositories(51, 5000);
	count_lists(after);
	for (unsigned i = 0; i <= N_LISTS * N_ASKED; i++)
		ck_assert_int_eq(before[i], after[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("index_statements");
	TCase *all = tcase_create("all");
	tcase_add_checked_fixture(all, open_database, close_database);
	tcase_add_test(all, both_texts_name_all_arguments);
	tcase_add_test(all, records_look_rows_up);
	tcase_add_test(all, writer_and_readers_look_rows_up);
	tcase_add_test(all, lists_do_not_read_hidden_repositories);
	suite_add_tcase(suite, all);
	return run_suite(suite);
}
