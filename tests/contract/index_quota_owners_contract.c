/* Quotas of owners that are no repository of the hub, and the list of all quotas. */
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/index_quota_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const char CATS[] = "models/zoe/cats", DOGS[] = "datasets/zoe/dogs";

static void limit_owner(const char *owner, uint64_t bytes)
{
	struct cairn_index_set_quota set = {.owner = owner, .limit_bytes = bytes};
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_OK);
}

static struct cairn_index_room room_of(const char *owner)
{
	struct cairn_index_room room;
	ck_assert_int_eq(cairn_index_owner_quota(hx_index, owner, true, &room), CAIRN_OK);
	return room;
}

static void owner_holds(const char *owner, uint64_t bytes)
{
	ck_assert_uint_eq(room_of(owner).stored_bytes, bytes);
}

START_TEST(an_owner_without_a_repository_has_one_too)
{
	const char *rule;
	struct cairn_index_room room;
	ck_assert_int_eq(cairn_index_owner_quota(hx_index, CATS, false, &room), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(fx_upload(hx_index, 1, CATS, &rule), CAIRN_OK);
	uint64_t first = qx_size_of_file(1);
	ck_assert_uint_eq(room_of(CATS).limit_bytes, CAIRN_INDEX_NO_QUOTA);
	owner_holds(CATS, first);
	ck_assert_int_eq(cairn_index_owner_quota(hx_index, CATS, false, &room), CAIRN_OK);
	ck_assert_uint_eq(room.stored_bytes, 0);
	/* setting the first quota adds up the files that are there, each of them once */
	limit_owner(CATS, first);
	ck_assert_uint_eq(room_of(CATS).limit_bytes, first);
	owner_holds(CATS, first);
	ck_assert_int_eq(fx_upload(hx_index, 1, CATS, &rule), CAIRN_OK);
	ck_assert_int_eq(fx_upload(hx_index, 2, CATS, &rule), CAIRN_E_DENIED);
	ck_assert_str_eq(rule, "quota.repo");
	owner_holds(CATS, first);
	ck_assert_int_eq(fx_upload(hx_index, 2, DOGS, &rule), CAIRN_OK);
	ck_assert_int_eq(fx_upload(hx_index, 2, "", &rule), CAIRN_OK);
	uint64_t second = qx_size_of_file(2);
	/* A file counts in full even if others have it, too. */
	limit_owner(CATS, first + second - 1);
	ck_assert_int_eq(fx_upload(hx_index, 2, CATS, &rule), CAIRN_E_DENIED);
	limit_owner(CATS, first + second);
	ck_assert_int_eq(fx_upload(hx_index, 2, CATS, &rule), CAIRN_OK);
	owner_holds(CATS, first + second);
}
END_TEST

START_TEST(an_owner_regains_the_bytes_of_forgotten_files)
{
	const char *rule;
	limit_owner(CATS, 1 << 30); /* the quota is set before the owner's first upload */
	owner_holds(CATS, 0);
	for (uint64_t i = 1; i <= 3; i++)
		ck_assert_int_eq(fx_upload(hx_index, i, CATS, &rule), CAIRN_OK);
	ck_assert_int_eq(fx_upload(hx_index, 1, DOGS, &rule), CAIRN_OK);
	uint64_t first = qx_size_of_file(1), second = qx_size_of_file(2), third = qx_size_of_file(3);
	owner_holds(CATS, first + second + third);
	qx_forget(1, DOGS);
	owner_holds(CATS, first + second + third);
	qx_forget(1, CATS);
	owner_holds(CATS, second + third);
	qx_forget(2, NULL);
	owner_holds(CATS, third);
	/* A shared file counts, too. */
	struct cairn_index_share_file share = {.hash = fx_hash("file", 3), .owner = DOGS};
	limit_owner(DOGS, third - 1);
	ck_assert_int_eq(cairn_index_share_file(hx_index, &share), CAIRN_E_DENIED);
	ck_assert_str_eq(share.write.diag.rule, "quota.repo");
	owner_holds(DOGS, 0);
	limit_owner(DOGS, third);
	ck_assert_int_eq(cairn_index_share_file(hx_index, &share), CAIRN_OK);
	owner_holds(DOGS, third);
	/* an owner over the quota gets no more files; without a quota nothing is counted; a new quota counts again */
	limit_owner(CATS, 0);
	ck_assert_int_eq(fx_upload(hx_index, 4, CATS, &rule), CAIRN_E_DENIED);
	limit_owner(CATS, CAIRN_INDEX_NO_QUOTA);
	ck_assert_int_eq(fx_upload(hx_index, 4, CATS, &rule), CAIRN_OK);
	limit_owner(CATS, 7);
	owner_holds(CATS, third + qx_size_of_file(4));
}
END_TEST

struct told_quotas {
	char text[512];
};

static void told_quota(void *ctx, const char *place, const struct cairn_index_room *room)
{
	struct told_quotas *t = ctx;
	size_t len = strlen(t->text);
	(void)snprintf(t->text + len, sizeof(t->text) - len, "%s %d/%d;", place, (int)room->stored_bytes,
		       (int)room->limit_bytes);
}

static void quotas_are(const char *after, uint32_t limit, bool more, const char *text)
{
	struct told_quotas t = {.text = ""};
	bool further = !more;
	ck_assert_int_eq(cairn_index_each_quota(hx_index, after, limit, told_quota, &t, &further), CAIRN_OK);
	ck_assert_str_eq(t.text, text);
	ck_assert(further == more);
}

START_TEST(every_place_with_a_quota_is_listed)
{
	int64_t one = hx_model("one");
	(void)hx_model("two");
	quotas_are(NULL, 10, false, "");
	qx_limit(hx_ann, 0, 500);
	qx_limit(0, one, 400);
	limit_owner(CATS, 300);
	limit_owner(DOGS, 200);
	limit_owner("models/Ann/one", 100); /* the quota of the hub's repository */
	quotas_are(NULL, 10, false,
		   "Ann 2908/500;datasets/zoe/dogs 0/200;models/Ann/one 1454/400;models/zoe/cats 0/300;");
	quotas_are(NULL, 4, false,
		   "Ann 2908/500;datasets/zoe/dogs 0/200;models/Ann/one 1454/400;models/zoe/cats 0/300;");
	quotas_are(NULL, 2, true, "Ann 2908/500;datasets/zoe/dogs 0/200;");
	quotas_are("datasets/zoe/dogs", 1, true, "models/Ann/one 1454/400;");
	quotas_are("models/Ann/one", 2, false, "models/zoe/cats 0/300;");
	limit_owner(CATS, CAIRN_INDEX_NO_QUOTA);
	struct cairn_index_drop_repo drop = {.id = one};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	quotas_are("Ann", 9, false, "datasets/zoe/dogs 0/200;models/Ann/one 0/100;");
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *suite = suite_create("index_quota_owners");
	TCase *t = tcase_create("index_quota_owners");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, an_owner_without_a_repository_has_one_too);
	tcase_add_test(t, an_owner_regains_the_bytes_of_forgotten_files);
	tcase_add_test(t, every_place_with_a_quota_is_listed);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
