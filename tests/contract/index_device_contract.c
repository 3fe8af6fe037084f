/* Programs that wait for a person's approval: limits, the first answer, one key. */
#include "support/index_fixture.h"
#include "support/run.h"

#include "index/daemon/device.h"
#include "index/hub/hub.h"

#include <check.h>
#include <string.h>

enum { NOW = 1000000, LIFE = 600, ALL_MAX = 6, ONE_MAX = 3 };

static void digest(uint8_t out[static CAIRN_SHA256_BYTES], const char *what, uint64_t number)
{
	struct cairn_hash hash = fx_hash(what, number);
	memcpy(out, hash.b, CAIRN_SHA256_BYTES);
}

/* Begins program number n, of this sender. */
static enum cairn_status begin(uint64_t n, uint64_t sender, int64_t now, struct cairn_diag *diag)
{
	struct cairn_index_add_device add = {.address = "192.0.2.1",
					     .now_unix_s = now,
					     .ends_unix_s = now + LIFE,
					     .n_max = ALL_MAX,
					     .n_of_one_max = ONE_MAX};
	digest(add.device, "device", n);
	digest(add.code, "code", n);
	digest(add.sender, "sender", sender);
	enum cairn_status status = cairn_index_add_device(fx_index, &add);
	*diag = add.write.diag;
	return status;
}

static void begins(uint64_t n, uint64_t sender)
{
	struct cairn_diag diag;
	ck_assert_int_eq(begin(n, sender, NOW, &diag), CAIRN_OK);
}

static enum cairn_status answer(uint64_t n, bool allowed, int64_t account, int64_t parent, int64_t now)
{
	struct cairn_index_answer_device a = {.now_unix_s = now,
					      .allowed = allowed,
					      .account = account,
					      .parent = parent,
					      .name = "laptop",
					      .scopes = "write",
					      .expires_unix_s = 4000000000};
	digest(a.code, "code", n);
	enum cairn_status status = cairn_index_answer_device(fx_index, &a);
	if (status == CAIRN_E_NOT_FOUND)
		ck_assert_str_eq(a.write.diag.rule, "device.unknown");
	return status;
}

static enum cairn_status take(uint64_t n, int64_t now, struct cairn_diag *diag)
{
	struct cairn_index_take_device t = {.now_unix_s = now, .good_max = 2, .kept_max = 9};
	digest(t.device, "device", n);
	digest(t.digest, "key", n);
	enum cairn_status status = cairn_index_take_device(fx_index, &t);
	*diag = t.write.diag;
	if (status == CAIRN_OK)
		ck_assert_int_eq(t.expires_unix_s, 4000000000);
	return status;
}

/* Returns the state of program number n; -1: there is none. */
static int state(uint64_t n, int64_t now)
{
	struct cairn_index_device by_device, by_code;
	uint8_t device[CAIRN_SHA256_BYTES], code[CAIRN_SHA256_BYTES];
	digest(device, "device", n);
	digest(code, "code", n);
	enum cairn_status status = cairn_index_device(fx_index, device, now, &by_device);
	ck_assert_int_eq(cairn_index_device_by_code(fx_index, code, now, &by_code), status);
	if (status != CAIRN_OK) {
		ck_assert_int_eq(status, CAIRN_E_NOT_FOUND);
		return -1;
	}
	ck_assert_int_eq(by_device.id, by_code.id);
	ck_assert_int_eq(by_device.made_unix_s, NOW);
	ck_assert_int_eq(by_device.ends_unix_s, NOW + LIFE);
	ck_assert_str_eq(by_device.address, "192.0.2.1");
	return (int)by_code.state;
}

static int64_t user(const char *name)
{
	struct cairn_index_add_account add = {.kind = CAIRN_INDEX_USER, .name = name, .fullname = "", .email = ""};
	ck_assert_int_eq(cairn_index_add_account(fx_index, &add), CAIRN_OK);
	return add.id;
}

START_TEST(one_key_for_the_first_answer)
{
	struct cairn_diag diag;
	struct cairn_index_key key;
	int64_t ann = user("ann"), bob = user("bob");
	begins(1, 1);
	ck_assert_int_eq(state(1, NOW), CAIRN_INDEX_DEVICE_WAITS);
	ck_assert_int_eq(take(1, NOW, &diag), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(diag.rule, "device.ended");
	ck_assert_int_eq(answer(2, true, ann, 0, NOW), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(answer(1, true, ann, 0, NOW), CAIRN_OK);
	ck_assert_int_eq(answer(1, true, bob, 0, NOW), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(answer(1, false, 0, 0, NOW), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(state(1, NOW), CAIRN_INDEX_DEVICE_ALLOWED);
	ck_assert_int_eq(take(1, NOW, &diag), CAIRN_OK);
	ck_assert_int_eq(take(1, NOW, &diag), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(state(1, NOW), -1);
	struct cairn_hash digest_of_key = fx_hash("key", 1);
	ck_assert_int_eq(cairn_index_key(fx_index, digest_of_key.b, &key), CAIRN_OK);
	ck_assert_int_eq(key.account, ann);
	ck_assert_str_eq(key.name, "laptop");
	ck_assert_str_eq(key.scopes, "write");
	ck_assert_int_eq(key.parent, 0);
}
END_TEST

START_TEST(a_denied_code_stays_denied)
{
	struct cairn_diag diag;
	int64_t ann = user("ann");
	begins(1, 1);
	ck_assert_int_eq(answer(1, false, ann, 0, NOW), CAIRN_OK);
	ck_assert_int_eq(answer(1, true, ann, 0, NOW), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(state(1, NOW), CAIRN_INDEX_DEVICE_DENIED);
	ck_assert_int_eq(take(1, NOW, &diag), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(time_ends)
{
	struct cairn_diag diag;
	int64_t ann = user("ann");
	begins(1, 1);
	begins(2, 1);
	ck_assert_int_eq(answer(1, true, ann, 0, NOW + LIFE - 1), CAIRN_OK);
	ck_assert_int_eq(answer(2, true, ann, 0, NOW + LIFE), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(take(1, NOW + LIFE, &diag), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(state(1, NOW + LIFE), -1);
	ck_assert_int_eq(state(1, NOW + LIFE - 1), CAIRN_INDEX_DEVICE_ALLOWED);
	ck_assert_int_eq(begin(3, 2, NOW + LIFE, &diag), CAIRN_OK);
	ck_assert_int_eq(state(1, NOW), -1); /* the program was removed */
}
END_TEST

START_TEST(as_many_wait_as_may)
{
	struct cairn_diag diag;
	uint8_t sender[CAIRN_SHA256_BYTES];
	uint32_t n, n_of_one;
	for (uint64_t i = 0; i < ALL_MAX; i++)
		begins(i, i / ONE_MAX);
	ck_assert_int_eq(begin(10, 0, NOW, &diag), CAIRN_E_BUSY);
	ck_assert_str_eq(diag.rule, "device.many");
	ck_assert_int_eq(begin(10, 9, NOW, &diag), CAIRN_E_BUSY);
	digest(sender, "sender", 1);
	ck_assert_int_eq(cairn_index_count_devices(fx_index, sender, NOW, &n, &n_of_one), CAIRN_OK);
	ck_assert_uint_eq(n, ALL_MAX);
	ck_assert_uint_eq(n_of_one, ONE_MAX);
	ck_assert_int_eq(cairn_index_count_devices(fx_index, sender, NOW + LIFE, &n, &n_of_one), CAIRN_OK);
	ck_assert_uint_eq(n + n_of_one, 0);
	ck_assert_int_eq(begin(10, 0, NOW + LIFE, &diag), CAIRN_OK);
	ck_assert_int_eq(begin(10, 1, NOW + LIFE, &diag), CAIRN_E_BUSY); /* the code is already in use */
}
END_TEST

/* A key that could not be added leaves the program as it was. */
START_TEST(a_key_too_many)
{
	struct cairn_diag diag;
	int64_t ann = user("ann");
	for (uint64_t i = 0; i < ONE_MAX; i++) {
		begins(i, 1);
		ck_assert_int_eq(answer(i, true, ann, 0, NOW), CAIRN_OK);
		ck_assert_int_eq(take(i, NOW, &diag), i < 2 ? CAIRN_OK : CAIRN_E_CONFLICT);
	}
	ck_assert_str_eq(diag.rule, "key.many");
	ck_assert_int_eq(state(2, NOW), CAIRN_INDEX_DEVICE_ALLOWED);
	struct cairn_index_key key;
	struct cairn_hash first = fx_hash("key", 0);
	ck_assert_int_eq(cairn_index_key(fx_index, first.b, &key), CAIRN_OK);
	struct cairn_index_revoke_key revoke = {.id = key.id};
	ck_assert_int_eq(cairn_index_revoke_key(fx_index, &revoke), CAIRN_OK);
	ck_assert_int_eq(take(2, NOW, &diag), CAIRN_OK);
}
END_TEST

START_TEST(the_key_of_the_session_was_revoked)
{
	struct cairn_diag diag;
	struct cairn_index_key key;
	struct cairn_hash parent = fx_hash("parent", 1);
	int64_t ann = user("ann");
	struct cairn_index_add_key add = {.name = "first", .repo = "", .scopes = "write", .account = ann};
	memcpy(add.digest, parent.b, sizeof(add.digest));
	ck_assert_int_eq(cairn_index_add_key(fx_index, &add), CAIRN_OK);
	begins(1, 1);
	begins(2, 1);
	ck_assert_int_eq(answer(1, true, ann, add.id, NOW), CAIRN_OK);
	ck_assert_int_eq(answer(2, true, ann, add.id, NOW), CAIRN_OK);
	ck_assert_int_eq(take(1, NOW, &diag), CAIRN_OK);
	struct cairn_index_revoke_key revoke = {.id = add.id};
	ck_assert_int_eq(cairn_index_revoke_key(fx_index, &revoke), CAIRN_OK);
	ck_assert_int_eq(take(2, NOW, &diag), CAIRN_E_DENIED);
	struct cairn_hash child = fx_hash("key", 1);
	ck_assert_int_eq(cairn_index_key(fx_index, child.b, &key), CAIRN_OK);
	ck_assert_int_eq(key.parent, add.id);
	ck_assert_int_ne(key.revoked_unix_s, 0);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_device_contract");
	TCase *t = tcase_create("device");
	tcase_add_checked_fixture(t, fx_set_up, fx_tear_down);
	tcase_add_test(t, one_key_for_the_first_answer);
	tcase_add_test(t, a_denied_code_stays_denied);
	tcase_add_test(t, time_ends);
	tcase_add_test(t, as_many_wait_as_may);
	tcase_add_test(t, a_key_too_many);
	tcase_add_test(t, the_key_of_the_session_was_revoked);
	suite_add_tcase(s, t);
	return run_suite(s);
}
