/* Sums with values of damaged rows stop at their limits, as tests/unit/index/test_index_sums.c has it of SQLite.
 * Answers of the index are not checked: PostgreSQL refuses a number that is too large. */
#include "postgres_fixture.h"

#include "support/history_fixture.h"

#include <inttypes.h>
#include <stdio.h>

static void damage(const char *what, int64_t limit)
{
	char text[256];
	(void)snprintf(text, sizeof(text), "UPDATE %s = %" PRId64 " RETURNING 1", what, limit);
	ck_assert_int_eq(pgfx_sql_in(text), 1);
}

static void change(int64_t bucket, int64_t source, enum cairn_index_change_kind kind)
{
	static const char *const PATHS[] = {"a", "b", "c", "d"};
	struct cairn_index_change changes[4] = {{0}};
	struct cairn_index_change_objects request = {.repo = bucket, .changes = changes, .n = 4};
	for (unsigned i = 0; i < 4; i++)
		changes[i] = (struct cairn_index_change){.kind = kind,
							 .path = PATHS[i],
							 .type = "",
							 .file = fx_hash("file", 1 + i % 2),
							 .source = source};
	(void)!cairn_index_change_objects(pg.ix, &request);
}

static void commit(int64_t repo, struct cairn_index_operation *operations, uint32_t n)
{
	struct cairn_index_add_commit add = hx_request(repo, "main", operations, n);
	(void)!cairn_index_add_commit(pg.ix, &add);
}

START_TEST(sums_stop_at_their_limits)
{
	int64_t limit = _i ? INT64_MIN : INT64_MAX;
	hx_index = pg.ix;
	hx_ann = hx_add_account(CAIRN_INDEX_USER, "Ann");
	int64_t model = hx_model("one"), bucket = hx_bucket("two"), other = hx_bucket("three");
	struct cairn_index_operation puts[] = {hx_put("a", "1"), hx_put("b", "2")};
	struct cairn_index_operation others[] = {hx_put("a", "3"), hx_put("b", "4")};
	struct cairn_index_operation drops[] = {hx_drop("a"), hx_drop("b")};
	hx_uploaded(1, hx_owner_of(bucket));
	hx_uploaded(2, hx_owner_of(bucket));
	commit(model, puts, 2);
	pgfx_enter_schema();
	damage("file SET size", limit);
	damage("content SET size", limit);
	damage("commit_ SET bytes", limit);
	damage("commit_ SET files", limit);
	commit(model, others, 2);
	commit(model, drops, 2);
	change(bucket, 0, CAIRN_INDEX_OBJECT_SET);
	damage("file SET size", 1);
	change(bucket, 0, CAIRN_INDEX_OBJECT_SET);
	damage("file SET size", limit);
	change(other, bucket, CAIRN_INDEX_OBJECT_COPY);
	change(bucket, 0, CAIRN_INDEX_OBJECT_DROP);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *t = tcase_create("damaged rows");
	tcase_add_loop_test(t, sums_stop_at_their_limits, 0, 2);
	return pgfx_run(argc, argv, t);
}
