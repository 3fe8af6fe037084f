/* API keys and telemetry. */
#include "support/index_fixture.h"
#include "support/run.h"

#include "base/clock.h"
#include "index/daemon/keys.h"
#include "index/daemon/telemetry.h"
#include "index/operate.h"

#include <check.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { GOOD_MAX = 4, KEPT_MAX = 8, LIMITED = 12, ENDED = 300 };

static atomic_uint n_limited; /* number of keys whose writes are done */

static enum cairn_status add_key(uint64_t number, const char *name, const char *scopes, int64_t *id)
{
	struct cairn_index_add_key add = {.name = name, .repo = "", .scopes = scopes};
	struct cairn_hash digest = fx_hash("key", number);
	memcpy(add.digest, digest.b, sizeof(add.digest));
	enum cairn_status status = cairn_index_add_key(fx_index, &add);
	*id = add.id;
	return status;
}

static enum cairn_status revoke_key(int64_t id, bool *added)
{
	struct cairn_index_revoke_key revoke = {.id = id};
	enum cairn_status status = cairn_index_revoke_key(fx_index, &revoke);
	*added = status == CAIRN_OK && revoke.revoked;
	return status;
}

static void take_names(void *ctx, const struct cairn_index_key *key)
{
	char *names = ctx;
	size_t at = strlen(names);
	ck_assert_uint_lt(at + 1, 16);
	names[at] = key->revoked_unix_s ? '-' : key->name[0];
}

START_TEST(keys)
{
	int64_t first, second, id, now = cairn_clock_unix_s();
	bool added;
	ck_assert_int_eq(add_key(1, "laptop", "read write", &first), CAIRN_OK);
	ck_assert_int_eq(add_key(2, "ci", "read", &second), CAIRN_OK);
	ck_assert_int_ne(first, second);
	ck_assert_int_eq(add_key(2, "again", "read", &id), CAIRN_E_CONFLICT);

	struct cairn_index_key key;
	struct cairn_hash digest = fx_hash("key", 1), unknown = fx_hash("key", 3);
	ck_assert_int_eq(cairn_index_key(fx_index, unknown.b, &key), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_key(fx_index, digest.b, &key), CAIRN_OK);
	ck_assert_int_eq(key.id, first);
	ck_assert_mem_eq(key.digest, digest.b, 32);
	ck_assert_str_eq(key.name, "laptop");
	ck_assert_str_eq(key.repo, "");
	ck_assert_str_eq(key.scopes, "read write");
	ck_assert_int_ge(key.created_unix_s, now);
	ck_assert_int_eq(key.revoked_unix_s, 0);

	bool good;
	ck_assert_int_eq(cairn_index_key_is_good(fx_index, first, &good), CAIRN_OK);
	ck_assert(good);
	ck_assert_int_eq(cairn_index_key_is_good(fx_index, 99, &good), CAIRN_OK);
	ck_assert(!good);

	ck_assert_int_eq(revoke_key(99, &added), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(revoke_key(first, &added), CAIRN_OK);
	ck_assert(added);
	ck_assert_int_eq(cairn_index_key_is_good(fx_index, first, &good), CAIRN_OK);
	ck_assert(!good);
	ck_assert_int_eq(cairn_index_key_is_good(fx_index, second, &good), CAIRN_OK);
	ck_assert(good);
	ck_assert_int_eq(revoke_key(first, &added), CAIRN_OK);
	ck_assert(!added);
	ck_assert_int_eq(cairn_index_key(fx_index, digest.b, &key), CAIRN_OK);
	ck_assert_int_ge(key.revoked_unix_s, now);

	char names[16] = "";
	int64_t next;
	ck_assert_int_eq(cairn_index_each_key(fx_index, 0, 0, take_names, names, &next), CAIRN_OK);
	ck_assert_str_eq(names, "-c");
	ck_assert_int_eq(next, 0);
	memset(names, 0, sizeof(names));
	ck_assert_int_eq(cairn_index_each_key(fx_index, 0, 1, take_names, names, &next), CAIRN_OK);
	ck_assert_int_eq(next, first);
	ck_assert_int_eq(cairn_index_each_key(fx_index, next, 1, take_names, names, &next), CAIRN_OK);
	ck_assert_str_eq(names, "-c");
}
END_TEST

/* Adds a key. @return its number */
static int64_t add_child(uint64_t number, int64_t parent, enum cairn_status wanted)
{
	struct cairn_index_add_key add = {.name = "child", .repo = "", .scopes = "write", .parent = parent};
	struct cairn_hash digest = fx_hash("key", number);
	memcpy(add.digest, digest.b, sizeof(add.digest));
	ck_assert_int_eq(cairn_index_add_key(fx_index, &add), wanted);
	return add.id;
}

static bool is_good(int64_t id)
{
	bool good;
	ck_assert_int_eq(cairn_index_key_is_good(fx_index, id, &good), CAIRN_OK);
	return good;
}

START_TEST(revoking_a_key_revokes_keys_made_with_it)
{
	int64_t first, other;
	bool revoked;
	ck_assert_int_eq(add_key(1, "first", "write", &first), CAIRN_OK);
	ck_assert_int_eq(add_key(2, "other", "write", &other), CAIRN_OK);
	int64_t child = add_child(3, first, CAIRN_OK), grandchild = add_child(4, child, CAIRN_OK);
	int64_t stranger = add_child(5, other, CAIRN_OK);
	struct cairn_index_key key;
	struct cairn_hash digest = fx_hash("key", 4);
	ck_assert_int_eq(cairn_index_key(fx_index, digest.b, &key), CAIRN_OK);
	ck_assert_int_eq(key.parent, child);
	ck_assert_int_eq(revoke_key(first, &revoked), CAIRN_OK);
	ck_assert(revoked && !is_good(first) && !is_good(child) && !is_good(grandchild));
	ck_assert(is_good(other) && is_good(stranger));
	ck_assert_int_eq(revoke_key(child, &revoked), CAIRN_OK);
	ck_assert(!revoked);
	(void)add_child(6, child, CAIRN_E_DENIED);
	(void)add_child(6, 99, CAIRN_E_DENIED);
	(void)add_child(6, other, CAIRN_OK);
}
END_TEST

START_TEST(key_texts_at_their_limits)
{
	char name[257], scopes[65];
	int64_t id;
	memset(name, 'n', sizeof(name));
	memset(scopes, 's', sizeof(scopes));
	name[256] = scopes[64] = '\0';
	ck_assert_int_eq(add_key(1, name, "read", &id), CAIRN_E_CONFLICT);
	ck_assert_int_eq(add_key(1, "n", scopes, &id), CAIRN_E_CONFLICT);
	name[255] = scopes[63] = '\0';
	ck_assert_int_eq(add_key(1, name, scopes, &id), CAIRN_OK);
	struct cairn_index_key key;
	struct cairn_hash digest = fx_hash("key", 1);
	ck_assert_int_eq(cairn_index_key(fx_index, digest.b, &key), CAIRN_OK);
	ck_assert_str_eq(key.name, name);
	ck_assert_str_eq(key.scopes, scopes);
}
END_TEST

START_TEST(the_life_of_a_key)
{
	struct cairn_hash digest = {{7}};
	struct cairn_index_key key;
	bool good;
	int64_t now = cairn_clock_unix_s();
	struct cairn_index_add_key add = {.name = "k", .repo = "", .scopes = "read", .expires_unix_s = now + 100};
	memcpy(add.digest, digest.b, sizeof(add.digest));
	ck_assert_int_eq(cairn_index_add_key(fx_index, &add), CAIRN_OK);
	ck_assert_int_eq(cairn_index_key(fx_index, digest.b, &key), CAIRN_OK);
	ck_assert_int_eq(key.expires_unix_s, now + 100);
	ck_assert_int_eq(key.used_unix_s, 0);
	ck_assert_int_eq(cairn_index_key_is_good(fx_index, add.id, &good), CAIRN_OK);
	ck_assert(good);
	struct cairn_index_use_key use = {.id = add.id, .used_unix_s = now + 5};
	ck_assert_int_eq(cairn_index_use_key(fx_index, &use), CAIRN_OK);
	ck_assert_int_eq(cairn_index_key(fx_index, digest.b, &key), CAIRN_OK);
	ck_assert_int_eq(key.used_unix_s, now + 5);
	use = (struct cairn_index_use_key){.id = 999, .used_unix_s = now};
	ck_assert_int_eq(cairn_index_use_key(fx_index, &use), CAIRN_OK);
	digest.b[0]++;
	add = (struct cairn_index_add_key){.name = "k", .repo = "", .scopes = "read", .expires_unix_s = now};
	memcpy(add.digest, digest.b, sizeof(add.digest));
	ck_assert_int_eq(cairn_index_add_key(fx_index, &add), CAIRN_OK);
	ck_assert_int_eq(cairn_index_key_is_good(fx_index, add.id, &good), CAIRN_OK);
	ck_assert(!good);
}
END_TEST

static struct cairn_index_add_key limited_key(uint64_t number, int64_t account, int64_t expires_unix_s)
{
	struct cairn_index_add_key add = {.name = "k",
					  .repo = "",
					  .scopes = "read",
					  .account = account,
					  .expires_unix_s = expires_unix_s,
					  .good_max = GOOD_MAX,
					  .kept_max = KEPT_MAX};
	struct cairn_hash digest = fx_hash("limited", number);
	memcpy(add.digest, digest.b, sizeof(add.digest));
	return add;
}

static void limited_done(struct cairn_index_write *write)
{
	(void)write;
	atomic_fetch_add(&n_limited, 1);
}

/* Sends all requests at once, and waits for them. */
static void send_limited(struct cairn_index_add_key *adds, unsigned n)
{
	int64_t until_ms = cairn_clock_mono_ms() + 60000;
	atomic_store(&n_limited, 0);
	for (unsigned i = 0; i < n; i++) {
		adds[i].write.done = limited_done;
		ck_assert_int_eq(cairn_index_add_key(fx_index, &adds[i]), CAIRN_OK);
	}
	while (atomic_load(&n_limited) < n && cairn_clock_mono_ms() < until_ms)
		(void)sched_yield();
	ck_assert_uint_eq(atomic_load(&n_limited), n);
}

/* Each write counts the keys that earlier writes have added. */
START_TEST(an_account_has_so_many_keys_and_no_more)
{
	struct cairn_index_add_account ann = {.kind = CAIRN_INDEX_USER, .name = "ann", .fullname = "", .email = ""};
	struct cairn_index_add_key adds[LIMITED];
	unsigned n_good = 0;
	int64_t now = cairn_clock_unix_s();
	ck_assert_int_eq(cairn_index_add_account(fx_index, &ann), CAIRN_OK);
	struct cairn_index_add_key expired = limited_key(100, ann.id, now - 5);
	ck_assert_int_eq(cairn_index_add_key(fx_index, &expired), CAIRN_OK);
	for (unsigned i = 0; i < LIMITED; i++)
		adds[i] = limited_key(i, ann.id, now + 1000);
	send_limited(adds, LIMITED);
	for (unsigned i = 0; i < LIMITED; i++) {
		n_good += adds[i].write.status == CAIRN_OK;
		ck_assert(adds[i].write.status == CAIRN_OK || strcmp(adds[i].write.diag.rule, "key.many") == 0);
	}
	ck_assert_uint_eq(n_good, GOOD_MAX);
	bool revoked;
	for (unsigned i = 0; i < KEPT_MAX - GOOD_MAX - 1; i++) {
		struct cairn_index_add_key more = limited_key(50 + i, ann.id, now + 1000);
		ck_assert_int_eq(revoke_key(adds[i].id, &revoked), CAIRN_OK);
		ck_assert_int_eq(cairn_index_add_key(fx_index, &more), CAIRN_OK);
	}
	ck_assert_int_eq(revoke_key(adds[GOOD_MAX - 1].id, &revoked), CAIRN_OK);
	struct cairn_index_add_key last = limited_key(60, ann.id, now + 1000);
	ck_assert_int_eq(cairn_index_add_key(fx_index, &last), CAIRN_E_CONFLICT);
	ck_assert_str_eq(last.write.diag.rule, "key.many");
	last.good_max = last.kept_max = 0;
	ck_assert_int_eq(cairn_index_add_key(fx_index, &last), CAIRN_OK);
}
END_TEST

/* Trimming removes ended keys, but keeps valid ones and the last one. */
START_TEST(ended_keys_are_forgotten)
{
	static struct cairn_index_add_key adds[ENDED];
	int64_t now = cairn_clock_unix_s();
	struct cairn_index_trim trim = {.what = CAIRN_INDEX_TRIM_KEYS, .before_unix_s = now - 100};
	struct cairn_index_key key;
	uint32_t n = 0;
	bool revoked;
	for (unsigned i = 0; i < ENDED; i++) {
		adds[i] = limited_key(i, 0, i < 2 ? now + 10000 : now - 50);
		adds[i].good_max = adds[i].kept_max = 0;
	}
	send_limited(adds, ENDED);
	ck_assert_int_eq(revoke_key(adds[0].id, &revoked), CAIRN_OK);
	ck_assert_int_eq(cairn_index_trim(fx_index, &trim), CAIRN_OK);
	ck_assert_uint_eq(trim.n_dropped, 0);
	trim.before_unix_s = now + 100;
	do {
		ck_assert_int_eq(cairn_index_trim(fx_index, &trim), CAIRN_OK);
		n += trim.n_dropped;
	} while (trim.n_dropped > 0);
	ck_assert_uint_eq(n, ENDED - 2);
	ck_assert_int_eq(cairn_index_key(fx_index, adds[0].digest, &key), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_key(fx_index, adds[1].digest, &key), CAIRN_OK);
	ck_assert_int_eq(cairn_index_key(fx_index, adds[2].digest, &key), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_key(fx_index, adds[ENDED - 1].digest, &key), CAIRN_OK);
}
END_TEST

static enum cairn_status tell(const void *body, size_t len, uint32_t keep_max)
{
	struct cairn_index_add_telemetry add = {.sender = "me", .body = body, .body_len = len, .keep_max = keep_max};
	return cairn_index_add_telemetry(fx_index, &add);
}

static void take_bodies(void *ctx, const struct cairn_index_telemetry *row)
{
	char *bodies = ctx;
	size_t at = strlen(bodies);
	ck_assert_uint_lt(at + 1, 16);
	ck_assert_uint_eq(row->body_len, 1);
	ck_assert_str_eq(row->sender, "me");
	bodies[at] = (char)row->body[0];
}

START_TEST(telemetry)
{
	static uint8_t large[CAIRN_INDEX_TELEMETRY_BYTES_MAX + 1];
	for (unsigned i = 0; i < 8; i++)
		ck_assert_int_eq(tell(&"abcdefgh"[i], 1, 5), CAIRN_OK);
	char bodies[16] = "";
	int64_t next;
	ck_assert_int_eq(cairn_index_each_telemetry(fx_index, 0, 3, take_bodies, bodies, &next), CAIRN_OK);
	ck_assert_str_eq(bodies, "hgf");
	ck_assert_int_ne(next, 0);
	ck_assert_int_eq(cairn_index_each_telemetry(fx_index, next, 3, take_bodies, bodies, &next), CAIRN_OK);
	ck_assert_str_eq(bodies, "hgfed"); /* the newest five reports are kept */
	ck_assert_int_eq(next, 0);
	ck_assert_int_eq(tell(large, sizeof(large), 5), CAIRN_E_LIMIT);
	ck_assert_int_eq(tell(large, sizeof(large) - 1, 5), CAIRN_OK);
	ck_assert_int_eq(tell(NULL, 0, 5), CAIRN_OK);
}
END_TEST

/* A sender with many reports displaces only their own reports. */
START_TEST(telemetry_is_shared)
{
	struct cairn_index_add_telemetry few = {
		.sender = "me", .body = "f", .body_len = 1, .keep_max = 8, .share_max = 3, .who = UINT64_MAX};
	struct cairn_index_add_telemetry many = few;
	many.body = "m";
	many.who = 7;
	ck_assert_int_eq(cairn_index_add_telemetry(fx_index, &few), CAIRN_OK);
	for (unsigned i = 0; i < 20; i++)
		ck_assert_int_eq(cairn_index_add_telemetry(fx_index, &many), CAIRN_OK);
	char bodies[16] = "";
	int64_t next;
	ck_assert_int_eq(cairn_index_each_telemetry(fx_index, 0, 9, take_bodies, bodies, &next), CAIRN_OK);
	ck_assert_str_eq(bodies, "mmmf");
}
END_TEST

START_TEST(old_telemetry)
{
	struct cairn_index_trim trim = {.what = CAIRN_INDEX_TRIM_TELEMETRY,
					.before_unix_s = cairn_clock_unix_s() - 100};
	for (unsigned i = 0; i < 300; i++)
		ck_assert_int_eq(tell("a", 1, 1000), CAIRN_OK);
	ck_assert_int_eq(cairn_index_trim(fx_index, &trim), CAIRN_OK);
	ck_assert_uint_eq(trim.n_dropped, 0);
	trim.before_unix_s = cairn_clock_unix_s() + 100;
	uint32_t n = 0;
	do {
		ck_assert_int_eq(cairn_index_trim(fx_index, &trim), CAIRN_OK);
		n += trim.n_dropped;
	} while (trim.n_dropped > 0);
	ck_assert_uint_eq(n, 300);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_operate_contract");
	TCase *t = tcase_create("operate");
	tcase_add_checked_fixture(t, fx_set_up, fx_tear_down);
	tcase_add_test(t, keys);
	tcase_add_test(t, revoking_a_key_revokes_keys_made_with_it);
	tcase_add_test(t, key_texts_at_their_limits);
	tcase_add_test(t, the_life_of_a_key);
	tcase_add_test(t, an_account_has_so_many_keys_and_no_more);
	tcase_add_test(t, ended_keys_are_forgotten);
	tcase_add_test(t, telemetry);
	tcase_add_test(t, telemetry_is_shared);
	tcase_add_test(t, old_telemetry);
	suite_add_tcase(s, t);
	return run_suite(s);
}
