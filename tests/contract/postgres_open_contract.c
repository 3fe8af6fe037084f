/* Opening an index in PostgreSQL: which roles may open it, and with which URLs and names. */
#include "postgres_fixture.h"

#include "index/examine.h"
#include "index/hub/hub.h"
#include "index/quota.h"

#include <stdio.h>
#include <string.h>

START_TEST(one_writer)
{
	struct cairn_index *second = NULL;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_index_open(&second, fx_url(pg.folder.path).text, NULL, &diag), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, "index.taken");
	ck_assert_ptr_null(second);
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
}
END_TEST

static void assert_refused(const char *rule)
{
	struct cairn_index *second = NULL;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_index_open(&second, fx_url(pg.folder.path).text, NULL, &diag), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, rule);
}

START_TEST(other_versions_and_other_schemas)
{
	pgfx_enter_schema();
	(void)pgfx_sql("UPDATE cluster SET version = 999");
	assert_refused("index.newer");
	(void)pgfx_sql("UPDATE cluster SET application = 'another'");
	assert_refused("index.foreign");
	(void)pgfx_sql("DROP TABLE cluster");
	assert_refused("index.foreign");
	int from, to;
	ck_assert_int_eq(cairn_index_migrate(fx_url(pg.folder.path).text, NULL, &from, &to), CAIRN_E_CONFLICT);
}
END_TEST

START_TEST(an_older_one_is_brought_forward)
{
	int from, to;
	struct cairn_index_add_account add = {.kind = CAIRN_INDEX_USER, .name = "ann", .fullname = "", .email = ""};
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	cairn_index_free(pg.ix);
	pg.ix = NULL;
	pgfx_enter_schema();
	(void)pgfx_sql("DROP TABLE mirror_repo, mirror_file, mirror_part, mirror_place, mirror_lease");
	(void)pgfx_sql(
		"DROP TABLE access_request, card, tag, feed, pull, entry, content, ref, commit_, line, object, former, repo, membership");
	(void)pgfx_sql("ALTER TABLE account DROP COLUMN quota");
	(void)pgfx_sql("DROP TABLE dead");
	(void)pgfx_sql("ALTER TABLE xorb DROP COLUMN copy, DROP COLUMN withdrawn");
	(void)pgfx_sql("ALTER TABLE state DROP COLUMN keys, DROP COLUMN withdrawn, DROP COLUMN frozen");
	(void)pgfx_sql("DROP TABLE session, job, rule_off");
	(void)pgfx_sql("DROP TABLE proof");
	(void)pgfx_sql("ALTER TABLE file_owner DROP COLUMN proof, DROP COLUMN due");
	(void)pgfx_sql("ALTER TABLE scope DROP COLUMN quota, DROP COLUMN stored");
	(void)pgfx_sql("DROP INDEX file_owner_sha256, file_owner_claim");
	(void)pgfx_sql("CREATE INDEX file_owner_claim ON file_owner(scope, sha256, file)");
	(void)pgfx_sql("DROP TABLE unregistered, proposed, mirror_alias");
	(void)pgfx_sql("ALTER TABLE account DROP COLUMN mirrored");
	(void)pgfx_sql("DROP TABLE device_code");
	(void)pgfx_sql("DROP INDEX api_key_account");
	(void)pgfx_sql("ALTER TABLE api_key DROP COLUMN parent");
	(void)pgfx_sql("ALTER TABLE telemetry DROP COLUMN who");
	(void)pgfx_sql("UPDATE cluster SET version = 1");
	assert_refused("index.older");
	ck_assert_int_eq(cairn_index_migrate(fx_url(pg.folder.path).text, NULL, &from, &to), CAIRN_OK);
	ck_assert_int_eq(from, 1);
	ck_assert_int_gt(to, 1);
	pg.ix = fx_open(pg.folder.path);
	ck_assert(!fx_xorb_put(pg.ix, &pg.x)); /* the xorb is known */
	ck_assert_int_eq(cairn_index_add_account(pg.ix, &add), CAIRN_OK);
}
END_TEST

static void count_fault(void *ctx, const struct cairn_index_fault *fault)
{
	ck_assert_ptr_nonnull(strstr(fault->text, "other bytes for their quota"));
	(*(unsigned *)ctx)++;
}

/* Since version 26, a repository and its former names count for its quota. */
START_TEST(a_migration_counts_repositories_and_names)
{
	int from, to;
	unsigned n_faults = 0;
	struct cairn_index_quota quota;
	struct cairn_index_add_account ann = {.kind = CAIRN_INDEX_USER, .name = "ann", .fullname = "", .email = ""};
	ck_assert_int_eq(cairn_index_add_account(pg.ix, &ann), CAIRN_OK);
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_BUCKET, .account = ann.id, .name = "one"};
	ck_assert_int_eq(cairn_index_add_repo(pg.ix, &add), CAIRN_OK);
	struct cairn_index_move_repo move = {.id = add.id, .account = ann.id, .name = "two"};
	ck_assert_int_eq(cairn_index_move_repo(pg.ix, &move), CAIRN_OK);
	cairn_index_freep(&pg.ix);
	pgfx_enter_schema();
	(void)pgfx_sql("UPDATE repo SET stored = 7");
	(void)pgfx_sql("INSERT INTO former SELECT kind, account, 'TWO', id FROM repo");
	(void)pgfx_sql("DROP TABLE mirror_repo, mirror_file, mirror_part, mirror_place, mirror_lease");
	(void)pgfx_sql("DROP INDEX mirror_alias_target");
	(void)pgfx_sql("ALTER TABLE xorb DROP COLUMN withdrawn");
	(void)pgfx_sql("ALTER TABLE repo DROP COLUMN mirrored");
	(void)pgfx_sql("ALTER TABLE content DROP COLUMN since, DROP COLUMN path");
	(void)pgfx_sql("DELETE FROM job WHERE name = 'ahead'");
	(void)pgfx_sql("UPDATE cluster SET version = 25");
	ck_assert_int_eq(cairn_index_migrate(fx_url(pg.folder.path).text, NULL, &from, &to), CAIRN_OK);
	pg.ix = fx_open(pg.folder.path);
	ck_assert_int_eq(cairn_index_quota(pg.ix, ann.id, add.id, &quota), CAIRN_OK);
	ck_assert_uint_eq(quota.repo.stored_bytes, 7 + CAIRN_INDEX_REPO_BYTES + CAIRN_INDEX_FORMER_BYTES);
	ck_assert_int_eq(cairn_index_examine(pg.ix, count_fault, &n_faults, NULL), CAIRN_OK);
	ck_assert_uint_eq(n_faults, 1);
	(void)pgfx_sql("UPDATE repo SET stored = stored - 7");
	ck_assert_int_eq(cairn_index_examine(pg.ix, count_fault, &n_faults, NULL), CAIRN_OK);
	ck_assert_uint_eq(n_faults, 1);
}
END_TEST

static enum cairn_status open_for(const char *owner, struct cairn_diag *diag)
{
	const struct cairn_index_options options = {.owner = owner};
	cairn_index_freep(&pg.ix);
	return cairn_index_open(&pg.ix, fx_url(pg.folder.path).text, &options, diag);
}

/* An index without rows belongs to the owner that opens it first. An index with rows but no owner is refused. */
START_TEST(owners)
{
	struct cairn_diag diag = {0};
	ck_assert_int_eq(open_for("one", NULL), CAIRN_OK);
	ck_assert_int_eq(open_for("two", &diag), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, "index.owner");
	ck_assert_int_eq(open_for("one", NULL), CAIRN_OK);
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	char text[256];
	(void)snprintf(text, sizeof(text), "UPDATE \"%s\".cluster SET owner = ''", pg.folder.path);
	(void)pgfx_sql(text);
	ck_assert_int_eq(open_for("one", NULL), CAIRN_E_CONFLICT);
	ck_assert_int_eq(open_for(NULL, NULL), CAIRN_OK);
}
END_TEST

START_TEST(urls)
{
	static const char *const URLS[] = {
		"postgres:///x?schema=",
		"postgres:///x?schema=a%20b",
		("postgres:///x?schema=0123456789012345678901234567890123456789"
		 "012345678901234567890123"),
	};
	struct cairn_index *second;
	struct cairn_diag diag;
	for (size_t i = 0; i < sizeof(URLS) / sizeof(URLS[0]); i++) {
		diag = (struct cairn_diag){0};
		ck_assert_int_eq(cairn_index_open(&second, URLS[i], NULL, &diag), CAIRN_E_USAGE);
		ck_assert_str_eq(diag.rule, "index.url");
	}
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(cairn_index_open(&second, "postgres://127.0.0.1:1/x", NULL, &diag), CAIRN_E_BUSY);
	ck_assert_ptr_nonnull(strstr(diag.text, "PostgreSQL"));
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(cairn_index_open(&second, "postgres://127.0.0.1:1/x?nonsense=1", NULL, &diag), CAIRN_E_USAGE);
	ck_assert_ptr_nonnull(strstr(diag.text, "nonsense"));
}
END_TEST

/* A password is refused anywhere in a URL, and the message does not repeat it. */
START_TEST(passwords_in_urls)
{
	static const char *const URLS[] = {
		"postgres://me:s3cret@127.0.0.1:1/x",         "postgres://127.0.0.1:1/x?password=s3cret",
		"postgres://127.0.0.1:1/x?pass%77ord=s3cret", "postgres://127.0.0.1:1/x?sslpassword=s3cret",
		"postgres://me:s3cret%zz@127.0.0.1:1/x",
	};
	struct cairn_index_reach reach;
	for (size_t i = 0; i < sizeof(URLS) / sizeof(URLS[0]); i++) {
		struct cairn_diag diag = {0};
		ck_assert_int_eq(cairn_index_reach(URLS[i], &reach, &diag), CAIRN_E_USAGE);
		ck_assert_str_eq(diag.rule, "index.password");
		ck_assert_ptr_null(strstr(diag.text, "s3cret"));
	}
}
END_TEST

START_TEST(reach_lists_ports_and_files_for_connecting)
{
	struct cairn_index_reach reach;
	ck_assert_int_eq(cairn_index_reach("postgres://a,b:7000/x?passfile=/run/pass", &reach, NULL), CAIRN_OK);
	ck_assert_uint_ge(reach.n_ports, 1);
	ck_assert_uint_eq(reach.ports[reach.n_ports - 1], 7000);
	ck_assert(!reach.by_socket);
	ck_assert_str_eq(reach.files[0], "/run/pass");
	ck_assert_int_eq(cairn_index_reach("postgres:///x?host=/run/postgresql", &reach, NULL), CAIRN_OK);
	ck_assert(reach.by_socket);
	ck_assert_int_eq(cairn_index_reach("sqlite:x", &reach, NULL), CAIRN_OK);
	ck_assert(reach.n_ports == 0 && reach.n_files == 0 && !reach.by_socket);
}
END_TEST

/* Names of scopes and owners come from tokens, and may be invalid text. */
START_TEST(names_without_valid_text_are_refused)
{
	struct fx_shard s;
	bool known;
	struct cairn_index_registered registered;
	fx_shard_init(&s, 1);
	s.owner = "\xff\xfe";
	fx_shard_xorb(&s, &pg.x, 1, 1);
	ck_assert(fx_xorb_put(pg.ix, &pg.x));
	ck_assert_int_ne(fx_shard_put(pg.ix, &s), CAIRN_OK);
	ck_assert_ptr_nonnull(s.diag.rule);
	ck_assert_int_ne(fx_shard_known(pg.ix, &s.body, "", s.owner, &known, &registered), CAIRN_OK);
	ck_assert(!known);
	s.owner = "it's \"me\"; DROP TABLE file --";
	ck_assert_int_eq(fx_shard_put(pg.ix, &s), CAIRN_OK);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *t = tcase_create("open");
	tcase_add_test(t, one_writer);
	tcase_add_test(t, other_versions_and_other_schemas);
	tcase_add_test(t, an_older_one_is_brought_forward);
	tcase_add_test(t, a_migration_counts_repositories_and_names);
	tcase_add_test(t, owners);
	tcase_add_test(t, urls);
	tcase_add_test(t, passwords_in_urls);
	tcase_add_test(t, reach_lists_ports_and_files_for_connecting);
	tcase_add_test(t, names_without_valid_text_are_refused);
	return pgfx_run(argc, argv, t);
}
