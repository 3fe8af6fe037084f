/* API keys: their text, their scopes, and their repositories. */
#include "cas/service/keys.h"
#include "cas/service/repo.h"
#include "index/daemon/keys.h"
#include "support/cas_fixture.h"
#include "support/run.h"
#include "token/token.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct cas_fixture f;

static void setup(void)
{
	f = cas_fixture_new();
}

static void teardown(void)
{
	cas_fixture_fini(&f);
}

static enum cairn_status make(const char *name, const char *repo, const char *scopes,
			      char text[static CAIRN_KEY_TEXT_BYTES], int64_t *id)
{
	const struct cairn_key key = {.name = name, .repo = repo, .scopes = scopes};
	char full[CAIRN_KEY_NAME_MAX + 1];
	return cairn_cas_make_key(f.cas, &key, full, text, id);
}

START_TEST(keys_are_random_and_of_one_form)
{
	char a[CAIRN_KEY_TEXT_BYTES], b[CAIRN_KEY_TEXT_BYTES];
	int64_t first, second;
	ck_assert_int_eq(make("a", "", "read", a, &first), CAIRN_OK);
	ck_assert_int_eq(make("a", "", "read", b, &second), CAIRN_OK);
	ck_assert_int_ne(first, second);
	ck_assert_str_ne(a, b);
	ck_assert_uint_eq(strlen(a), CAIRN_KEY_TEXT_BYTES - 1);
	ck_assert_int_eq(strncmp(a, "hf_", 3), 0);
	ck_assert_uint_eq(strspn(a + 3, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"), 49);
}
END_TEST

/* Keys have only these characters because some programs refuse others. The checksum distinguishes a mistyped key from
 * an unknown one without reading the index. */
START_TEST(a_checksum_tells_a_key_that_was_changed)
{
	static const char CHARS[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
	char text[CAIRN_KEY_TEXT_BYTES];
	uint8_t digest[CAIRN_SHA256_BYTES];
	int64_t id;
	ck_assert_int_eq(make("a", "", "read", text, &id), CAIRN_OK);
	for (size_t i = 0; i < strlen(text); i++) {
		char kept = text[i];
		for (const char *c = CHARS; *c; c++) {
			text[i] = *c;
			ck_assert_int_eq(cairn_key_digest(text, digest), *c == kept ? CAIRN_OK : CAIRN_E_FORMAT);
		}
		text[i] = kept;
	}
	ck_assert_int_eq(cairn_key_digest(text + 3, digest), CAIRN_E_FORMAT);
}
END_TEST

/* The checksums were computed by another program. */
START_TEST(a_checksum_is_the_crc_of_the_text)
{
	uint8_t digest[CAIRN_SHA256_BYTES];
	ck_assert_int_eq(cairn_key_digest("hf_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg4HWwpz", digest), CAIRN_OK);
}
END_TEST

static enum cairn_status check(const char *text, unsigned scopes, const char *repo);

/* Keys of earlier versions, which people still have in their files. */
START_TEST(a_key_of_the_first_forms_stays_good)
{
	static const char *const KEYS[] = {"cairn_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
					   "hf_cairn_-_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
	for (size_t i = 0; i < 2; i++) {
		struct cairn_index_add_key add = {.name = "old", .repo = "", .scopes = "read"};
		ck_assert_int_eq(cairn_key_digest(KEYS[i], add.digest), CAIRN_OK);
		ck_assert_int_eq(cairn_index_add_key(cairn_cas_index(f.cas), &add), CAIRN_OK);
		ck_assert_int_eq(check(KEYS[i], CAIRN_TOKEN_READ, "models/a/b"), CAIRN_OK);
	}
}
END_TEST

START_TEST(invalid_key_requests_are_refused)
{
	char text[CAIRN_KEY_TEXT_BYTES], name[CAIRN_KEY_NAME_MAX + 2], full[CAIRN_KEY_NAME_MAX + 1];
	int64_t id;
	memset(name, 'n', sizeof(name));
	name[CAIRN_KEY_NAME_MAX + 1] = '\0';
	ck_assert_int_eq(make("", "", "read", text, &id), CAIRN_E_USAGE);
	ck_assert_int_eq(make(name, "", "read", text, &id), CAIRN_E_USAGE);
	ck_assert_int_eq(make("n", "no", "read", text, &id), CAIRN_E_USAGE);
	ck_assert_int_eq(make("n", "a/b", "", text, &id), CAIRN_E_USAGE);
	ck_assert_int_eq(make("n", "a/b", "read all", text, &id), CAIRN_E_USAGE);
	ck_assert_int_eq(make(name + 1, "", "read", text, &id), CAIRN_OK);
	const struct cairn_key key = {.name = "n", .repo = "a/b", .scopes = "read"};
	ck_assert_int_eq(cairn_cas_make_key(f.cas, &key, full, text, &id), CAIRN_OK);
	ck_assert_str_eq(full, "models/a/b");
}
END_TEST

static enum cairn_status check(const char *text, unsigned scopes, const char *repo)
{
	uint8_t digest[CAIRN_SHA256_BYTES];
	struct cairn_key_holder holder;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_key_digest(text, digest), CAIRN_OK);
	return cairn_cas_check_key(f.cas, digest, scopes, repo, &holder, &diag);
}

START_TEST(a_key_allows_implied_scopes_in_its_repository_only)
{
	char any[CAIRN_KEY_TEXT_BYTES], one[CAIRN_KEY_TEXT_BYTES];
	int64_t id;
	ck_assert_int_eq(make("any", "", "admin", any, &id), CAIRN_OK);
	ck_assert_int_eq(make("one", "a/b", "write", one, &id), CAIRN_OK);
	ck_assert_int_eq(check(any, CAIRN_TOKEN_READ | CAIRN_TOKEN_WRITE, "spaces/x/y"), CAIRN_OK);
	ck_assert_int_eq(check(one, CAIRN_TOKEN_READ, "models/a/b"), CAIRN_OK);
	ck_assert_int_eq(check(one, CAIRN_TOKEN_READ, "models/a/c"), CAIRN_E_CONFLICT);
	ck_assert_int_eq(check(one, CAIRN_TOKEN_ADMIN, "models/a/b"), CAIRN_E_CONFLICT);
}
END_TEST

static void count_revoked(void *ctx, const struct cairn_key *key)
{
	unsigned *n = ctx;
	n[key->revoked]++;
}

START_TEST(a_revoked_key_is_listed_and_good_for_nothing)
{
	char text[CAIRN_KEY_TEXT_BYTES];
	int64_t id;
	bool revoked;
	unsigned n[2] = {0};
	struct cairn_diag diag = {0};
	ck_assert_int_eq(make("n", "", "read", text, &id), CAIRN_OK);
	ck_assert_int_eq(cairn_cas_check_key_id(f.cas, id, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_cas_revoke_key(f.cas, id, &revoked), CAIRN_OK);
	ck_assert(revoked);
	ck_assert_int_eq(cairn_cas_revoke_key(f.cas, id, &revoked), CAIRN_OK);
	ck_assert(!revoked);
	ck_assert_int_eq(cairn_cas_revoke_key(f.cas, id + 1, &revoked), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(check(text, CAIRN_TOKEN_READ, ""), CAIRN_E_DENIED);
	ck_assert_int_eq(cairn_cas_check_key_id(f.cas, id, &diag), CAIRN_E_DENIED);
	ck_assert_str_eq(diag.rule, "token.revoked");
	ck_assert_int_eq(cairn_cas_each_key(f.cas, count_revoked, n), CAIRN_OK);
	ck_assert_uint_eq(n[0], 0);
	ck_assert_uint_eq(n[1], 1);
}
END_TEST

/* The digest was computed with sha256sum from the text after "hf_". */
START_TEST(a_digest_is_the_sha256_of_the_text)
{
	static const char *const KEYS[] = {"cairn_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
					   "hf_cairn_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"};
	static const uint8_t DIGEST[CAIRN_SHA256_BYTES] = {
		0xa3, 0x0b, 0xb2, 0xe4, 0x97, 0x59, 0x62, 0x8d, 0xf4, 0x55, 0xae, 0x99, 0x67, 0x5a, 0xd9, 0xf0,
		0x7d, 0xb0, 0x9c, 0x92, 0x59, 0xf1, 0x94, 0xb0, 0x9e, 0xe4, 0x29, 0x62, 0xfc, 0xed, 0x9b, 0xb1};
	uint8_t digest[CAIRN_SHA256_BYTES];
	for (size_t i = 0; i < 2; i++) {
		memset(digest, 0, sizeof(digest));
		ck_assert_int_eq(cairn_key_digest(KEYS[i], digest), CAIRN_OK);
		ck_assert_mem_eq(digest, DIGEST, sizeof(DIGEST));
	}
}
END_TEST

START_TEST(malformed_keys_are_refused)
{
	static const char *const texts[] = {
		"",
		"cairn_",
		"cairn_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",   /* one character too short */
		"cairn_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", /* one character too long */
		"Cairn_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"hf_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"hf_hf_cairn_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
	};
	uint8_t digest[CAIRN_SHA256_BYTES];
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		ck_assert_int_eq(cairn_key_digest(texts[i], digest), CAIRN_E_FORMAT);
}
END_TEST

START_TEST(scopes)
{
	static const struct {
		const char *text;
		unsigned bits;
	} cases[] = {
		{"read", CAIRN_TOKEN_READ},
		{"write", CAIRN_TOKEN_WRITE},
		{"admin", CAIRN_TOKEN_ADMIN},
		{"read write", CAIRN_TOKEN_READ | CAIRN_TOKEN_WRITE},
		{"write  read", CAIRN_TOKEN_READ | CAIRN_TOKEN_WRITE},
		{"admin read write", CAIRN_TOKEN_READ | CAIRN_TOKEN_WRITE | CAIRN_TOKEN_ADMIN},
		{"", 0},
		{" ", 0},
		{"rea", 0},
		{"reads", 0},
		{"Read", 0},
		{"read,write", 0},
		{"read delete", 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(cairn_key_scopes(cases[i].text) == cases[i].bits, "\"%s\"", cases[i].text);
}
END_TEST

START_TEST(repositories)
{
	static const struct {
		const char *text, *full; /* NULL: not a valid name */
	} cases[] = {
		{"", ""},
		{"a/b", "models/a/b"},
		{"models/a/b", "models/a/b"},
		{"datasets/a/b", "datasets/a/b"},
		{"spaces/A-1_2.x/b.c", "spaces/A-1_2.x/b.c"},
		{"models/b", "models/models/b"}, /* the namespace is called "models" */
		{"a", NULL},
		{"/", NULL},
		{"a/", NULL},
		{"/b", NULL},
		{"a/b/c", NULL},
		{"models/a/b/c", NULL},
		{"models//b", NULL},
		{"models/a/", NULL},
		{"things/a/b", NULL},
		{"a/..", NULL},
		{"./b", NULL},
		{"a/b c", NULL},
		{"a/b%2f", NULL},
		{"a/\xc3\xa4", NULL},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char out[64];
		bool ok = cairn_repo_full_name(out, sizeof(out), cases[i].text);
		ck_assert_msg(ok == (cases[i].full != NULL), "\"%s\"", cases[i].text);
		if (ok)
			ck_assert_str_eq(out, cases[i].full);
	}
}
END_TEST

START_TEST(a_repository_must_fit)
{
	char out[sizeof("models/a/b")];
	ck_assert(cairn_repo_full_name(out, sizeof(out), "a/b"));
	ck_assert_str_eq(out, "models/a/b");
	ck_assert(!cairn_repo_full_name(out, sizeof(out), "a/bc"));
}
END_TEST

static Suite *keys_suite(void)
{
	Suite *s = suite_create("keys");
	TCase *t = tcase_create("keys");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, keys_are_random_and_of_one_form);
	tcase_add_test(t, a_checksum_tells_a_key_that_was_changed);
	tcase_add_test(t, a_checksum_is_the_crc_of_the_text);
	tcase_add_test(t, a_key_of_the_first_forms_stays_good);
	tcase_add_test(t, invalid_key_requests_are_refused);
	tcase_add_test(t, a_key_allows_implied_scopes_in_its_repository_only);
	tcase_add_test(t, a_revoked_key_is_listed_and_good_for_nothing);
	tcase_add_test(t, a_digest_is_the_sha256_of_the_text);
	tcase_add_test(t, malformed_keys_are_refused);
	tcase_add_test(t, scopes);
	tcase_add_test(t, repositories);
	tcase_add_test(t, a_repository_must_fit);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(keys_suite());
}
