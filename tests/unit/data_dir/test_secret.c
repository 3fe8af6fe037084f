/* The secret's file, and the keys that are derived from the secret. */
#include "cas/dedupe_key.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <string.h>
#include <sys/stat.h>

static struct tempdir dir;
static char *path;
static struct cairn_secret secret;
static struct cairn_diag diag;

static void setup(void)
{
	dir = tempdir_new();
	path = tempdir_path(&dir, "secret");
	diag = (struct cairn_diag){0};
}

static void teardown(void)
{
	tempdir_textp(&path);
	tempdir_fini(&dir);
}

START_TEST(made_once)
{
	struct cairn_secret again;
	struct stat st;
	ck_assert_int_eq(cairn_secret_load(&secret, path, true, &diag), CAIRN_OK);
	ck_assert_uint_eq(secret.len, CAIRN_SECRET_BYTES_MIN);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(st.st_size, CAIRN_SECRET_BYTES_MIN);
	ck_assert_int_eq(tempdir_count(&dir, "."), 1); /* no temporary file is left */
	ck_assert_int_eq(cairn_secret_load(&again, path, true, &diag), CAIRN_OK);
	ck_assert_mem_eq(secret.bytes, again.bytes, secret.len);
	ck_assert_int_eq(cairn_secret_load(&again, path, false, &diag), CAIRN_OK);
	ck_assert_mem_eq(secret.bytes, again.bytes, secret.len);
}
END_TEST

START_TEST(two_are_not_alike)
{
	struct cairn_secret other;
	CLEANUP(tempdir_textp) char *other_path = tempdir_path(&dir, "other");
	ck_assert_int_eq(cairn_secret_load(&secret, path, true, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_secret_load(&other, other_path, true, &diag), CAIRN_OK);
	ck_assert_mem_ne(secret.bytes, other.bytes, secret.len);
}
END_TEST

START_TEST(a_given_one_is_not_made)
{
	ck_assert_int_eq(cairn_secret_load(&secret, path, false, &diag), CAIRN_E_IO);
	ck_assert_str_eq(diag.rule, "secret.io");
	ck_assert_ptr_nonnull(strstr(diag.text, path));
	ck_assert_int_eq(tempdir_count(&dir, "."), 0);
}
END_TEST

START_TEST(lengths)
{
	static const uint8_t bytes[CAIRN_SECRET_BYTES_MAX + 1] = {1, 2, 3};
	static const struct {
		size_t len;
		enum cairn_status status;
	} cases[] = {
		{0, CAIRN_E_USAGE},
		{CAIRN_SECRET_BYTES_MIN - 1, CAIRN_E_USAGE},
		{CAIRN_SECRET_BYTES_MIN, CAIRN_OK},
		{CAIRN_SECRET_BYTES_MAX, CAIRN_OK},
		{CAIRN_SECRET_BYTES_MAX + 1, CAIRN_E_USAGE},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		diag = (struct cairn_diag){0};
		tempdir_write(&dir, "secret", bytes, cases[i].len);
		ck_assert_int_eq(cairn_secret_load(&secret, path, true, &diag), cases[i].status);
		if (cases[i].status == CAIRN_OK) {
			ck_assert_uint_eq(secret.len, cases[i].len);
			ck_assert_mem_eq(secret.bytes, bytes, secret.len);
		} else {
			ck_assert_str_eq(diag.rule, "secret.size");
		}
	}
}
END_TEST

START_TEST(modes)
{
	static const struct {
		mode_t mode;
		enum cairn_status status;
	} cases[] = {{0600, CAIRN_OK},      {0400, CAIRN_OK},      {0640, CAIRN_E_USAGE}, {0604, CAIRN_E_USAGE},
		     {0620, CAIRN_E_USAGE}, {0601, CAIRN_E_USAGE}, {0644, CAIRN_E_USAGE}};
	ck_assert_int_eq(cairn_secret_load(&secret, path, true, &diag), CAIRN_OK);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		diag = (struct cairn_diag){0};
		ck_assert_int_eq(chmod(path, cases[i].mode), 0);
		ck_assert_int_eq(cairn_secret_load(&secret, path, true, &diag), cases[i].status);
		if (cases[i].status != CAIRN_OK) {
			ck_assert_str_eq(diag.rule, "secret.mode");
			ck_assert_ptr_nonnull(strstr(diag.text, "chmod 600"));
		}
	}
}
END_TEST

START_TEST(keys_differ)
{
	static const struct {
		const char *scope;
		uint64_t epoch;
	} inputs[] = {{"", 0}, {"", 1}, {"", 256}, {"alice", 0}, {"alice", 1}, {"models/a/b", 1}, {"models/a", 1}};
	enum { N = sizeof(inputs) / sizeof(inputs[0]) };
	struct cairn_hash keys[N], again;
	struct cairn_dedupe_keys dedupe;
	ck_assert_int_eq(cairn_secret_load(&secret, path, true, &diag), CAIRN_OK);
	cairn_dedupe_keys_init(&dedupe, &secret);
	for (unsigned i = 0; i < N; i++) {
		ck_assert_int_eq(cairn_dedupe_key(&dedupe, inputs[i].scope, inputs[i].epoch, &keys[i]), CAIRN_OK);
		ck_assert(!cairn_hash_is_zero(&keys[i]));
		for (unsigned k = 0; k < i; k++)
			ck_assert(!cairn_hash_equal(&keys[i], &keys[k]));
	}
	ck_assert_int_eq(cairn_dedupe_key(&dedupe, "alice", 1, &again), CAIRN_OK);
	ck_assert(cairn_hash_equal(&again, &keys[4]));
	secret.bytes[secret.len - 1] ^= 1;
	ck_assert_int_eq(cairn_dedupe_key(&dedupe, "alice", 1, &again), CAIRN_OK);
	ck_assert(cairn_hash_equal(&again, &keys[4])); /* kept, not derived again */
	cairn_dedupe_keys_fini(&dedupe);
	cairn_dedupe_keys_init(&dedupe, &secret);
	ck_assert_int_eq(cairn_dedupe_key(&dedupe, "alice", 1, &again), CAIRN_OK);
	ck_assert(!cairn_hash_equal(&again, &keys[4]));
	cairn_dedupe_keys_fini(&dedupe);
}
END_TEST

/* Names of the greatest length that differ only in their last byte. */
START_TEST(long_scopes)
{
	char a[256] = {0}, b[256] = {0};
	struct cairn_hash key_a, key_b;
	struct cairn_dedupe_keys dedupe;
	memset(a, 'x', 255);
	memset(b, 'x', 254);
	b[254] = 'y';
	ck_assert_int_eq(cairn_secret_load(&secret, path, true, &diag), CAIRN_OK);
	cairn_dedupe_keys_init(&dedupe, &secret);
	ck_assert_int_eq(cairn_dedupe_key(&dedupe, a, 1, &key_a), CAIRN_OK);
	ck_assert_int_eq(cairn_dedupe_key(&dedupe, b, 1, &key_b), CAIRN_OK);
	ck_assert(!cairn_hash_equal(&key_a, &key_b));
	cairn_dedupe_keys_fini(&dedupe);
}
END_TEST

static Suite *secret_suite(void)
{
	Suite *s = suite_create("secret");
	TCase *t = tcase_create("secret");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, made_once);
	tcase_add_test(t, two_are_not_alike);
	tcase_add_test(t, a_given_one_is_not_made);
	tcase_add_test(t, lengths);
	tcase_add_test(t, modes);
	tcase_add_test(t, keys_differ);
	tcase_add_test(t, long_scopes);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(secret_suite());
}
