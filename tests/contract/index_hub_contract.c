/* Calls of the index for a hub: accounts and memberships. */
#include "support/index_fixture.h"
#include "support/run.h"

#include "base/clock.h"
#include "index/daemon/keys.h"
#include "index/hub/hub.h"
#include "index/operate.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static enum cairn_status add(enum cairn_index_account_kind kind, const char *name, int64_t *id)
{
	struct cairn_index_add_account request = {.kind = kind, .name = name, .fullname = "Full", .email = "a@b.c"};
	enum cairn_status status = cairn_index_add_account(fx_index, &request);
	*id = request.id;
	return status;
}

static enum cairn_status set_role(const char *organisation, const char *user, enum cairn_index_role role, bool *changed)
{
	struct cairn_index_set_member request = {.organisation = organisation, .user = user, .role = role};
	enum cairn_status status = cairn_index_set_member(fx_index, &request);
	*changed = status == CAIRN_OK && request.changed;
	return status;
}

static enum cairn_status disable(const char *name, bool disabled, bool *changed)
{
	struct cairn_index_disable_account request = {.name = name, .disabled = disabled};
	enum cairn_status status = cairn_index_disable_account(fx_index, &request);
	*changed = status == CAIRN_OK && request.changed;
	return status;
}

START_TEST(a_name_is_taken_once_in_any_case)
{
	int64_t ann, team, id, now = cairn_clock_unix_s();
	struct cairn_index_account account;
	ck_assert_int_eq(add(CAIRN_INDEX_USER, "Ann", &ann), CAIRN_OK);
	ck_assert_int_eq(add(CAIRN_INDEX_ORGANISATION, "team", &team), CAIRN_OK);
	ck_assert_int_eq(add(CAIRN_INDEX_ORGANISATION, "aNN", &id), CAIRN_E_CONFLICT);
	ck_assert_int_eq(cairn_index_account(fx_index, "ann", &account), CAIRN_OK);
	ck_assert_int_eq(account.id, ann);
	ck_assert_int_eq(account.kind, CAIRN_INDEX_USER);
	ck_assert_str_eq(account.name, "Ann");
	ck_assert_str_eq(account.fullname, "Full");
	ck_assert_str_eq(account.email, "a@b.c");
	ck_assert_int_ge(account.created_unix_s, now);
	ck_assert_int_eq(account.disabled_unix_s, 0);
	ck_assert_int_eq(cairn_index_account_by_id(fx_index, team, &account), CAIRN_OK);
	ck_assert_str_eq(account.name, "team");
	ck_assert_int_eq(cairn_index_account(fx_index, "bob", &account), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_account_by_id(fx_index, 99, &account), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(names_at_their_limits)
{
	char name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 2];
	struct cairn_index_account account;
	int64_t id;
	memset(name, 'n', sizeof(name));
	name[CAIRN_INDEX_ACCOUNT_NAME_MAX + 1] = '\0';
	ck_assert_int_eq(add(CAIRN_INDEX_USER, name, &id), CAIRN_E_CONFLICT);
	ck_assert_int_eq(add(CAIRN_INDEX_USER, "", &id), CAIRN_E_CONFLICT);
	ck_assert_int_eq(add(CAIRN_INDEX_USER, name + 1, &id), CAIRN_OK);
	ck_assert_int_eq(cairn_index_account(fx_index, name + 1, &account), CAIRN_OK);
	ck_assert_str_eq(account.name, name + 1);
}
END_TEST

/* The limit is in bytes: 200 letters of two bytes each are too many, although 200 letters of one byte fit. */
START_TEST(a_full_name_is_measured_in_bytes)
{
	char fullname[2 * 200 + 1] = "";
	struct cairn_index_account account;
	struct cairn_index_add_account add = {
		.kind = CAIRN_INDEX_USER, .name = "ann", .fullname = fullname, .email = ""};
	for (unsigned i = 0; i < 200; i++)
		memcpy(fullname + 2 * (size_t)i, "\xc3\xa9", 2);
	ck_assert_int_eq(cairn_index_add_account(fx_index, &add), CAIRN_E_CONFLICT);
	ck_assert_str_eq(add.write.diag.rule, "account.known");
	fullname[CAIRN_INDEX_ACCOUNT_TEXT_MAX - 1] = '\0';
	ck_assert_int_eq(cairn_index_add_account(fx_index, &add), CAIRN_OK);
	ck_assert_int_eq(cairn_index_account(fx_index, "ann", &account), CAIRN_OK);
	ck_assert_str_eq(account.fullname, fullname);
}
END_TEST

START_TEST(a_disabled_account_s_keys_are_not_good)
{
	int64_t ann;
	bool changed, good;
	struct cairn_index_account account;
	ck_assert_int_eq(add(CAIRN_INDEX_USER, "ann", &ann), CAIRN_OK);
	struct cairn_index_add_key key = {.name = "laptop", .repo = "", .scopes = "read", .account = ann};
	struct cairn_hash digest = fx_hash("key", 1);
	memcpy(key.digest, digest.b, sizeof(key.digest));
	ck_assert_int_eq(cairn_index_add_key(fx_index, &key), CAIRN_OK);
	struct cairn_index_key read;
	ck_assert_int_eq(cairn_index_key(fx_index, digest.b, &read), CAIRN_OK);
	ck_assert_int_eq(read.account, ann);
	ck_assert_str_eq(read.account_name, "ann");
	ck_assert_int_eq(disable("ANN", true, &changed), CAIRN_OK);
	ck_assert(changed);
	ck_assert_int_eq(disable("ann", true, &changed), CAIRN_OK);
	ck_assert(!changed);
	ck_assert_int_eq(cairn_index_account(fx_index, "ann", &account), CAIRN_OK);
	ck_assert_int_ne(account.disabled_unix_s, 0);
	ck_assert_int_eq(cairn_index_key_is_good(fx_index, key.id, &good), CAIRN_OK);
	ck_assert(!good);
	ck_assert_int_eq(disable("ann", false, &changed), CAIRN_OK);
	ck_assert(changed);
	ck_assert_int_eq(cairn_index_key_is_good(fx_index, key.id, &good), CAIRN_OK);
	ck_assert(good);
	ck_assert_int_eq(disable("bob", true, &changed), CAIRN_E_NOT_FOUND);
}
END_TEST

static void take_members(void *ctx, const struct cairn_index_account *account, enum cairn_index_role role)
{
	char *text = ctx;
	size_t at = strlen(text);
	ck_assert_uint_lt(at + strlen(account->name) + 3, 64);
	(void)snprintf(text + at, 64 - at, "%s%d ", account->name, (int)role);
}

static void take_accounts(void *ctx, const struct cairn_index_account *account)
{
	take_members(ctx, account, (enum cairn_index_role)account->kind);
}

START_TEST(members_of_organisations)
{
	int64_t ann, bob, team, other, next;
	bool changed;
	enum cairn_index_role role;
	ck_assert_int_eq(add(CAIRN_INDEX_USER, "ann", &ann), CAIRN_OK);
	ck_assert_int_eq(add(CAIRN_INDEX_ORGANISATION, "team", &team), CAIRN_OK);
	ck_assert_int_eq(add(CAIRN_INDEX_USER, "bob", &bob), CAIRN_OK);
	ck_assert_int_eq(add(CAIRN_INDEX_ORGANISATION, "other", &other), CAIRN_OK);
	ck_assert_int_eq(set_role("team", "ann", CAIRN_INDEX_ROLE_WRITE, &changed), CAIRN_OK);
	ck_assert(changed);
	ck_assert_int_eq(set_role("team", "ann", CAIRN_INDEX_ROLE_WRITE, &changed), CAIRN_OK);
	ck_assert(!changed);
	ck_assert_int_eq(set_role("TEAM", "ANN", CAIRN_INDEX_ROLE_ADMIN, &changed), CAIRN_OK);
	ck_assert(changed);
	ck_assert_int_eq(set_role("team", "bob", CAIRN_INDEX_ROLE_READ, &changed), CAIRN_OK);
	ck_assert_int_eq(set_role("other", "ann", CAIRN_INDEX_ROLE_READ, &changed), CAIRN_OK);
	ck_assert_int_eq(cairn_index_role(fx_index, team, ann, &role), CAIRN_OK);
	ck_assert_int_eq(role, CAIRN_INDEX_ROLE_ADMIN);
	ck_assert_int_eq(cairn_index_role(fx_index, other, bob, &role), CAIRN_OK);
	ck_assert_int_eq(role, CAIRN_INDEX_ROLE_NONE);
	char text[64] = "";
	ck_assert_int_eq(cairn_index_each_member(fx_index, team, 0, take_members, text, &next), CAIRN_OK);
	ck_assert_str_eq(text, "ann3 bob1 ");
	ck_assert_int_eq(next, 0);
	text[0] = '\0';
	ck_assert_int_eq(cairn_index_each_organisation(fx_index, ann, 0, take_members, text, &next), CAIRN_OK);
	ck_assert_str_eq(text, "team3 other1 ");
	ck_assert_int_eq(set_role("team", "ann", CAIRN_INDEX_ROLE_NONE, &changed), CAIRN_OK);
	ck_assert(changed);
	ck_assert_int_eq(set_role("team", "ann", CAIRN_INDEX_ROLE_NONE, &changed), CAIRN_OK);
	ck_assert(!changed);
	ck_assert_int_eq(cairn_index_role(fx_index, team, ann, &role), CAIRN_OK);
	ck_assert_int_eq(role, CAIRN_INDEX_ROLE_NONE);
	text[0] = '\0';
	ck_assert_int_eq(cairn_index_each_account(fx_index, 0, 3, take_accounts, text, &next), CAIRN_OK);
	ck_assert_int_eq(next, bob);
	ck_assert_int_eq(cairn_index_each_account(fx_index, next, 3, take_accounts, text, &next), CAIRN_OK);
	ck_assert_str_eq(text, "ann1 team2 bob1 other2 ");
	ck_assert_int_eq(next, 0);
}
END_TEST

static enum cairn_status keep_admin(const char *user, enum cairn_index_role role)
{
	struct cairn_index_set_member request = {
		.organisation = "team", .user = user, .role = role, .keeps_admin = true};
	enum cairn_status status = cairn_index_set_member(fx_index, &request);
	if (status != CAIRN_OK)
		ck_assert_str_eq(request.write.diag.rule, "member.last_admin");
	return status;
}

START_TEST(the_last_admin_stays_one)
{
	int64_t id;
	bool changed;
	ck_assert_int_eq(add(CAIRN_INDEX_ORGANISATION, "team", &id), CAIRN_OK);
	ck_assert_int_eq(add(CAIRN_INDEX_USER, "ann", &id), CAIRN_OK);
	ck_assert_int_eq(add(CAIRN_INDEX_USER, "bob", &id), CAIRN_OK);
	ck_assert_int_eq(keep_admin("ann", CAIRN_INDEX_ROLE_NONE), CAIRN_OK); /* ann is not a member */
	ck_assert_int_eq(keep_admin("ann", CAIRN_INDEX_ROLE_ADMIN), CAIRN_OK);
	ck_assert_int_eq(keep_admin("bob", CAIRN_INDEX_ROLE_WRITE), CAIRN_OK);
	ck_assert_int_eq(keep_admin("Ann", CAIRN_INDEX_ROLE_NONE), CAIRN_E_CONFLICT);
	ck_assert_int_eq(keep_admin("ann", CAIRN_INDEX_ROLE_WRITE), CAIRN_E_CONFLICT);
	ck_assert_int_eq(keep_admin("ann", CAIRN_INDEX_ROLE_ADMIN), CAIRN_OK);
	ck_assert_int_eq(keep_admin("bob", CAIRN_INDEX_ROLE_ADMIN), CAIRN_OK);
	ck_assert_int_eq(disable("bob", true, &changed), CAIRN_OK);
	ck_assert_int_eq(keep_admin("ann", CAIRN_INDEX_ROLE_NONE), CAIRN_E_CONFLICT);
	ck_assert_int_eq(disable("bob", false, &changed), CAIRN_OK);
	ck_assert_int_eq(keep_admin("ann", CAIRN_INDEX_ROLE_NONE), CAIRN_OK);
	ck_assert_int_eq(set_role("team", "bob", CAIRN_INDEX_ROLE_NONE, &changed), CAIRN_OK);
}
END_TEST

START_TEST(only_users_are_members_of_organisations)
{
	int64_t id;
	bool changed;
	ck_assert_int_eq(add(CAIRN_INDEX_USER, "ann", &id), CAIRN_OK);
	ck_assert_int_eq(add(CAIRN_INDEX_ORGANISATION, "team", &id), CAIRN_OK);
	ck_assert_int_eq(set_role("ann", "ann", CAIRN_INDEX_ROLE_READ, &changed), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(set_role("team", "team", CAIRN_INDEX_ROLE_READ, &changed), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(set_role("none", "ann", CAIRN_INDEX_ROLE_READ, &changed), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(set_role("team", "none", CAIRN_INDEX_ROLE_READ, &changed), CAIRN_E_NOT_FOUND);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_hub_contract");
	TCase *t = tcase_create("accounts");
	tcase_add_checked_fixture(t, fx_set_up, fx_tear_down);
	tcase_add_test(t, a_name_is_taken_once_in_any_case);
	tcase_add_test(t, names_at_their_limits);
	tcase_add_test(t, a_full_name_is_measured_in_bytes);
	tcase_add_test(t, a_disabled_account_s_keys_are_not_good);
	tcase_add_test(t, members_of_organisations);
	tcase_add_test(t, the_last_admin_stays_one);
	tcase_add_test(t, only_users_are_members_of_organisations);
	suite_add_tcase(s, t);
	return run_suite(s);
}
