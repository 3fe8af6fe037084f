#include "base/clock.h"
#include "cas/service/keys.h"
#include "server/http/auth.h"
#include "support/cas_fixture.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct tempdir dir;
static char *key_path;
static struct auth_options options;

static void auth_make_key(void)
{
	ck_assert_int_eq(cairn_token_key_make(key_path, NULL), CAIRN_OK);
}

static void auth_setup(void)
{
	dir = tempdir_new();
	key_path = tempdir_path(&dir, "key");
	auth_make_key();
	options = (struct auth_options){0};
	ck_assert_int_eq(auth_keys_open(&options.keys, key_path, NULL), CAIRN_OK);
}

static void auth_teardown(void)
{
	auth_keys_free(options.keys);
	free(key_path);
	tempdir_fini(&dir);
}

/* Makes "Bearer TOKEN", signed with the current key of the file. It expires in an hour unless claims say otherwise. */
static char *auth_header(struct cairn_token_claims claims)
{
	struct cairn_token_keys *keys;
	struct cairn_diag diag = {0};
	char *token, *header;
	int64_t now = cairn_clock_unix_s();
	if (claims.expires_unix_s == 0)
		claims.expires_unix_s = now + 3600;
	ck_assert_int_eq(cairn_token_keys_load(&keys, key_path, &diag), CAIRN_OK);
	int64_t minted = claims.expires_unix_s < now ? claims.expires_unix_s - 10 : now;
	ck_assert_msg(cairn_token_mint(keys, &options.binding, &claims, minted, &token, &diag) == CAIRN_OK, "%s",
		      diag.text);
	ck_assert_int_gt(asprintf(&header, "Bearer %s", token), 0);
	cairn_token_keys_free(keys);
	free(token);
	return header;
}

static struct auth_identity auth_must_pass(const char *header, unsigned scope)
{
	struct auth_identity who;
	struct cairn_diag diag = {0};
	unsigned code = 0;
	ck_assert_msg(auth_check(&options, header, scope, &who, &code, &diag), "%u %s: %s", code, diag.rule, diag.text);
	return who;
}

static void auth_must_fail(const char *header, unsigned scope, unsigned code, const char *rule)
{
	struct auth_identity who;
	struct cairn_diag diag = {0};
	unsigned got = 0;
	ck_assert_msg(!auth_check(&options, header, scope, &who, &got, &diag), "passed: %s", header);
	ck_assert_uint_eq(got, code);
	ck_assert_str_eq(diag.rule, rule);
	ck_assert_str_ne(diag.text, "");
	ck_assert(!auth_check(&options, header, scope, &who, &got, NULL)); /* without a diagnosis */
}

START_TEST(everybody_is_the_operator_without_keys)
{
	auth_keys_free(options.keys);
	options.keys = NULL;
	struct auth_identity who = auth_must_pass(NULL, CAIRN_TOKEN_ADMIN);
	ck_assert_uint_eq(who.scopes, CAIRN_TOKEN_READ | CAIRN_TOKEN_WRITE | CAIRN_TOKEN_ADMIN);
	ck_assert_str_eq(who.subject, "operator");
	struct cairn_cas_who as = auth_cas_identity(&who);
	ck_assert_str_eq(as.scope, "");
	ck_assert_str_eq(as.owner, "");
	ck_assert_ptr_null(as.viewer);
	(void)auth_must_pass("Bearer whatever", CAIRN_TOKEN_WRITE); /* clients send whatever token they have */
}
END_TEST

START_TEST(routes_without_scope_need_no_token)
{
	struct auth_identity who = auth_must_pass(NULL, 0);
	ck_assert_uint_eq(who.scopes, 0);
	who = auth_must_pass("Bearer nonsense", 0);
	ck_assert_str_eq(who.subject, "");
}
END_TEST

START_TEST(forms_of_the_header)
{
	char *header = auth_header((struct cairn_token_claims){.scopes = CAIRN_TOKEN_READ, .subject = "ann"});
	char *token = header + strlen("Bearer ");
	/* text before the token, and after it */
	static const char *const GOOD[][2] = {
		{"Bearer ", ""}, {"bearer ", ""}, {"BEARER   ", ""}, {"Bearer ", " "}, {"Bearer ", "\t "}};
	static const char *const SCHEMES[][2] = {{"", ""},         {"Basic ", ""},   {"Bearer", ""},
						 {" Bearer ", ""}, {"Bearer\t", ""}, {"Token ", ""}};
	static const char *const BAD[][2] = {
		{"Bearer ", " x"}, {"Bearer ", ","}, {"Bearer \"", "\""}, {"Bearer ", "\n"}, {"Bearer ,", ""}};
	char text[1024];
	for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++) {
		(void)snprintf(text, sizeof(text), "%s%s%s", GOOD[i][0], token, GOOD[i][1]);
		ck_assert_str_eq(auth_must_pass(text, CAIRN_TOKEN_READ).subject, "ann");
	}
	for (size_t i = 0; i < sizeof(SCHEMES) / sizeof(SCHEMES[0]); i++) {
		(void)snprintf(text, sizeof(text), "%s%s%s", SCHEMES[i][0], token, SCHEMES[i][1]);
		auth_must_fail(text, CAIRN_TOKEN_READ, 401, "auth.scheme");
	}
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		(void)snprintf(text, sizeof(text), "%s%s%s", BAD[i][0], token, BAD[i][1]);
		auth_must_fail(text, CAIRN_TOKEN_READ, 401, "auth.malformed");
	}
	auth_must_fail("Bearer", CAIRN_TOKEN_READ, 401, "auth.malformed");
	auth_must_fail("Bearer ", CAIRN_TOKEN_READ, 401, "auth.malformed");
	auth_must_fail("", CAIRN_TOKEN_READ, 401, "auth.scheme");
	auth_must_fail(NULL, CAIRN_TOKEN_READ, 401, "auth.missing");
	free(header);
}
END_TEST

START_TEST(length_of_a_token)
{
	char *text = malloc(9000);
	memset(text, 'a', 9000);
	memcpy(text, "Bearer ", 7);
	text[7 + 8192] = 0;
	auth_must_fail(text, CAIRN_TOKEN_READ, 401, "token.malformed"); /* the header is read, but contains no token */
	text[7 + 8192] = 'a';
	text[7 + 8193] = 0;
	auth_must_fail(text, CAIRN_TOKEN_READ, 401, "auth.length");
	free(text);
}
END_TEST

START_TEST(scopes)
{
	static const unsigned HELD[] = {CAIRN_TOKEN_READ, CAIRN_TOKEN_WRITE, CAIRN_TOKEN_ADMIN};
	for (unsigned held = 0; held < 3; held++) {
		char *header = auth_header((struct cairn_token_claims){.scopes = HELD[held]});
		for (unsigned needed = 0; needed < 3; needed++) {
			if (needed <= held)
				(void)auth_must_pass(header, HELD[needed]);
			else
				auth_must_fail(header, HELD[needed], 403, "token.scope");
		}
		free(header);
	}
}
END_TEST

START_TEST(a_scope_that_is_too_narrow_is_named)
{
	struct auth_identity who;
	struct cairn_diag diag = {0};
	unsigned code;
	char *header = auth_header((struct cairn_token_claims){.scopes = CAIRN_TOKEN_READ});
	ck_assert(!auth_check(&options, header, CAIRN_TOKEN_WRITE, &who, &code, &diag));
	ck_assert_str_eq(diag.expected, "write");
	ck_assert_str_eq(diag.actual, "read");
	free(header);
}
END_TEST

/* An operator's route is about all repositories, so a token for one repository is not enough. */
START_TEST(a_repository_s_token_is_no_operator_s)
{
	struct auth_identity who;
	struct cairn_diag diag = {0};
	unsigned code;
	char *header = auth_header((struct cairn_token_claims){.scopes = CAIRN_TOKEN_ADMIN, .repo = "ann/cat"});
	(void)auth_must_pass(header, CAIRN_TOKEN_READ);
	(void)auth_must_pass(header, CAIRN_TOKEN_WRITE);
	auth_must_fail(header, CAIRN_TOKEN_ADMIN, 403, "token.repo");
	ck_assert(!auth_check(&options, header, CAIRN_TOKEN_ADMIN, &who, &code, &diag));
	ck_assert_ptr_nonnull(strstr(diag.text, "models/ann/cat"));
	free(header);
}
END_TEST

START_TEST(expired)
{
	int64_t now = cairn_clock_unix_s();
	char *header =
		auth_header((struct cairn_token_claims){.scopes = CAIRN_TOKEN_READ, .expires_unix_s = now - 120});
	auth_must_fail(header, CAIRN_TOKEN_READ, 401, "token.expired");
	free(header);
}
END_TEST

START_TEST(wrong_signature)
{
	char *header = auth_header((struct cairn_token_claims){.scopes = CAIRN_TOKEN_READ});
	char *last = header + strlen(header) - 5;
	*last = *last == 'A' ? 'B' : 'A';
	auth_must_fail(header, CAIRN_TOKEN_READ, 401, "token.signature");
	free(header);
}
END_TEST

static const struct {
	const char *repo;
	int claimed; /* repository in the dedupe claim; -1: none */
	enum cairn_dedupe_scope unsaid;
	const char *owner, *scope;
} DEDUPE[] = {
	{"", -1, CAIRN_DEDUPE_REPOSITORY, "", ""},
	{"", CAIRN_DEDUPE_GLOBAL, CAIRN_DEDUPE_REPOSITORY, "", ""},
	{"ann/cat", -1, CAIRN_DEDUPE_GLOBAL, "models/ann/cat", ""},
	{"ann/cat", -1, CAIRN_DEDUPE_NAMESPACE, "models/ann/cat", "ann"},
	{"ann/cat", -1, CAIRN_DEDUPE_REPOSITORY, "models/ann/cat", "models/ann/cat"},
	{"models/ann/cat", -1, CAIRN_DEDUPE_REPOSITORY, "models/ann/cat", "models/ann/cat"},
	{"datasets/ann/cat", -1, CAIRN_DEDUPE_NAMESPACE, "datasets/ann/cat", "ann"},
	{"spaces/ann/cat", -1, CAIRN_DEDUPE_REPOSITORY, "spaces/ann/cat", "spaces/ann/cat"},
	{"ann/cat", CAIRN_DEDUPE_GLOBAL, CAIRN_DEDUPE_REPOSITORY, "models/ann/cat", ""},
	{"ann/cat", CAIRN_DEDUPE_NAMESPACE, CAIRN_DEDUPE_GLOBAL, "models/ann/cat", "ann"},
	{"ann/cat", CAIRN_DEDUPE_REPOSITORY, CAIRN_DEDUPE_GLOBAL, "models/ann/cat", "models/ann/cat"},
	{"models/cat", CAIRN_DEDUPE_NAMESPACE, CAIRN_DEDUPE_GLOBAL, "models/models/cat", "models"},
};

START_TEST(dedupe_scope_of_a_token)
{
	struct cairn_token_claims claims = {.scopes = CAIRN_TOKEN_WRITE};
	(void)snprintf(claims.repo, sizeof(claims.repo), "%s", DEDUPE[_i].repo);
	claims.has_dedupe = DEDUPE[_i].claimed >= 0;
	if (claims.has_dedupe)
		claims.dedupe = (enum cairn_dedupe_scope)DEDUPE[_i].claimed;
	options.dedupe = DEDUPE[_i].unsaid;
	char *header = auth_header(claims);
	struct auth_identity identity = auth_must_pass(header, CAIRN_TOKEN_WRITE);
	struct cairn_cas_who who = auth_cas_identity(&identity);
	ck_assert_str_eq(who.owner, DEDUPE[_i].owner);
	ck_assert_str_eq(who.scope, DEDUPE[_i].scope);
	if (DEDUPE[_i].owner[0])
		ck_assert_str_eq(who.viewer, DEDUPE[_i].owner);
	else
		ck_assert_ptr_null(who.viewer);
	free(header);
}
END_TEST

/* The longest repository of a claim fits together with its type. */
START_TEST(longest_repository)
{
	struct cairn_token_claims claims = {.scopes = CAIRN_TOKEN_READ, .has_dedupe = true};
	claims.dedupe = CAIRN_DEDUPE_REPOSITORY;
	memset(claims.repo, 'r', sizeof(claims.repo) - 1);
	claims.repo[1] = '/';
	char *header = auth_header(claims);
	struct auth_identity who = auth_must_pass(header, CAIRN_TOKEN_READ);
	ck_assert_uint_eq(strlen(who.repo), strlen("models/") + 199);
	ck_assert_str_eq(who.dedupe, who.repo);
	free(header);
}
END_TEST

START_TEST(rotation)
{
	char *old = auth_header((struct cairn_token_claims){.scopes = CAIRN_TOKEN_READ});
	ck_assert_int_eq(unlink(key_path), 0);
	auth_make_key();
	char *fresh = auth_header((struct cairn_token_claims){.scopes = CAIRN_TOKEN_READ});
	(void)auth_must_pass(old, CAIRN_TOKEN_READ);
	auth_must_fail(fresh, CAIRN_TOKEN_READ, 401, "token.signature");
	ck_assert_int_eq(auth_keys_reload(options.keys, NULL), CAIRN_OK);
	(void)auth_must_pass(fresh, CAIRN_TOKEN_READ);
	auth_must_fail(old, CAIRN_TOKEN_READ, 401, "token.signature");
	free(old);
	free(fresh);
}
END_TEST

START_TEST(keys_stay_when_a_reload_fails)
{
	struct cairn_diag diag = {0};
	char *header = auth_header((struct cairn_token_claims){.scopes = CAIRN_TOKEN_READ});
	ck_assert_int_eq(unlink(key_path), 0);
	ck_assert_int_ne(auth_keys_reload(options.keys, &diag), CAIRN_OK);
	ck_assert_ptr_nonnull(diag.rule);
	(void)auth_must_pass(header, CAIRN_TOKEN_READ);
	free(header);
}
END_TEST

static const char *auth_shared_header;

static void *auth_check_often(void *count)
{
	unsigned *n = count;
	for (unsigned i = 0; i < 500; i++) {
		struct auth_identity who;
		unsigned code;
		*n += auth_check(&options, auth_shared_header, CAIRN_TOKEN_READ, &who, &code, NULL);
	}
	return NULL;
}

/* The key stays the same, so every check succeeds whichever set of keys it uses. */
START_TEST(rotation_under_load)
{
	pthread_t threads[2];
	unsigned passed[2] = {0};
	char *header = auth_header((struct cairn_token_claims){.scopes = CAIRN_TOKEN_READ});
	auth_shared_header = header;
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, auth_check_often, &passed[i]), 0);
	for (int i = 0; i < 200; i++)
		ck_assert_int_eq(auth_keys_reload(options.keys, NULL), CAIRN_OK);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
		ck_assert_uint_eq(passed[i], 500);
	}
	free(header);
}
END_TEST

static atomic_bool auth_flooded;

static void *auth_check_for_ever(void *header)
{
	while (!atomic_load(&auth_flooded)) {
		struct auth_identity who;
		unsigned code;
		(void)auth_check(&options, header, CAIRN_TOKEN_READ, &who, &code, NULL);
	}
	return NULL;
}

/* Some thread is always verifying, and a reload still gets its turn. */
START_TEST(rotation_under_a_flood_of_bad_tokens)
{
	enum { FLOOD = 16 };
	pthread_t threads[FLOOD];
	char *header = auth_header((struct cairn_token_claims){.scopes = CAIRN_TOKEN_READ});
	header[strlen(header) - 5] = header[strlen(header) - 5] == 'A' ? 'B' : 'A';
	for (int i = 0; i < FLOOD; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, auth_check_for_ever, header), 0);
	for (int i = 0; i < 30; i++)
		ck_assert_int_eq(auth_keys_reload(options.keys, NULL), CAIRN_OK);
	atomic_store(&auth_flooded, true);
	for (int i = 0; i < FLOOD; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	free(header);
}
END_TEST

static int64_t auth_add_api_key(void)
{
	const struct cairn_key key = {.name = "ci", .repo = "", .scopes = "read"};
	char repo[CAIRN_KEY_NAME_MAX + 1], text[CAIRN_KEY_TEXT_BYTES];
	int64_t id;
	ck_assert_int_eq(cairn_cas_make_key(options.cas, &key, repo, text, &id), CAIRN_OK);
	return id;
}

START_TEST(a_token_is_as_good_as_its_api_key)
{
	struct cas_fixture f = cas_fixture_new();
	options.cas = f.cas;
	int64_t first = auth_add_api_key(), second = auth_add_api_key();
	char *of_first = auth_header((struct cairn_token_claims){.scopes = CAIRN_TOKEN_READ, .api_key = first});
	char *of_second = auth_header((struct cairn_token_claims){.scopes = CAIRN_TOKEN_READ, .api_key = second});
	char *of_none = auth_header((struct cairn_token_claims){.scopes = CAIRN_TOKEN_READ, .api_key = 999});
	bool revoked;
	ck_assert_int_eq(auth_must_pass(of_first, CAIRN_TOKEN_READ).api_key, first);
	auth_must_fail(of_none, CAIRN_TOKEN_READ, 401, "token.revoked");
	ck_assert_int_eq(cairn_cas_revoke_key(options.cas, first, &revoked), CAIRN_OK);
	auth_must_fail(of_first, CAIRN_TOKEN_READ, 401, "token.revoked");
	ck_assert_int_eq(auth_must_pass(of_second, CAIRN_TOKEN_READ).api_key, second);
	cas_fixture_fini(&f);
	free(of_first);
	free(of_second);
	free(of_none);
}
END_TEST

/* All keys of one account count as one client. Another account is another client. */
START_TEST(keys_of_one_account_count_as_one)
{
	struct cairn_hash all[4], senders[4];
	const struct auth_identity who[] = {
		{.by_token = true, .api_key = 1, .account = 7},
		{.by_token = true, .api_key = 2, .account = 7},
		{.api_key = 7},
		{.by_token = true, .api_key = 1, .account = 8},
	};
	for (int i = 0; i < 4; i++) {
		ck_assert(auth_is_somebody(&who[i]));
		auth_bearer(&who[i], "Bearer x", &all[i]);
		auth_sender(&who[i], "Bearer x", &senders[i]);
	}
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < 4; j++) {
			bool same = i == j || i + j == 1;
			ck_assert(cairn_hash_equal(&all[i], &all[j]) == same);
			ck_assert(cairn_hash_equal(&senders[i], &senders[j]) == same);
		}
	ck_assert(!auth_is_somebody(&(struct auth_identity){.subject = CAIRN_TOKEN_ANYBODY, .by_token = true}));
	ck_assert(auth_is_somebody(&(struct auth_identity){.subject = "", .by_token = true}));
	ck_assert(!auth_is_somebody(&(struct auth_identity){.subject = "operator"}));
}
END_TEST

START_TEST(tokens_of_one_api_key_count_as_one)
{
	struct cas_fixture f = cas_fixture_new();
	options.cas = f.cas;
	int64_t key = auth_add_api_key(), other = auth_add_api_key();
	const int64_t of[] = {key, key, other, 0, 0};
	char *headers[5];
	struct cairn_hash names[5];
	struct auth_identity who[5];
	for (int i = 0; i < 5; i++) {
		struct cairn_token_claims claims = {.scopes = CAIRN_TOKEN_READ, .api_key = of[i]};
		(void)snprintf(claims.subject, sizeof(claims.subject), "%d", i);
		headers[i] = auth_header(claims);
		who[i] = auth_must_pass(headers[i], CAIRN_TOKEN_READ);
		auth_bearer(&who[i], headers[i], &names[i]);
	}
	for (int i = 0; i < 5; i++) {
		for (int j = 0; j < 5; j++) {
			bool same = cairn_hash_equal(&names[i], &names[j]);
			ck_assert_msg(same == (i == j || i + j == 1), "%d and %d", i, j);
		}
	}
	cas_fixture_fini(&f);
	for (int i = 0; i < 5; i++)
		free(headers[i]);
}
END_TEST

START_TEST(tokens_for_another_service)
{
	char *header = auth_header((struct cairn_token_claims){.scopes = CAIRN_TOKEN_READ});
	options.binding = (struct cairn_token_binding){"cas", "hub"};
	auth_must_fail(header, CAIRN_TOKEN_READ, 401, "token.audience");
	options.binding = (struct cairn_token_binding){NULL, "hub"};
	auth_must_fail(header, CAIRN_TOKEN_READ, 401, "token.issuer");
	free(header);
}
END_TEST

START_TEST(missing_keys_are_reported)
{
	struct auth_keys *keys;
	struct cairn_diag diag = {0};
	ck_assert_int_ne(auth_keys_open(&keys, "/nonexistent/key", &diag), CAIRN_OK);
	ck_assert_ptr_null(keys);
	ck_assert_ptr_nonnull(diag.rule);
	auth_keys_free(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("auth");
	TCase *t = tcase_create("auth");
	tcase_add_checked_fixture(t, auth_setup, auth_teardown);
	tcase_add_test(t, everybody_is_the_operator_without_keys);
	tcase_add_test(t, routes_without_scope_need_no_token);
	tcase_add_test(t, forms_of_the_header);
	tcase_add_test(t, length_of_a_token);
	tcase_add_test(t, scopes);
	tcase_add_test(t, a_scope_that_is_too_narrow_is_named);
	tcase_add_test(t, a_repository_s_token_is_no_operator_s);
	tcase_add_test(t, expired);
	tcase_add_test(t, wrong_signature);
	tcase_add_loop_test(t, dedupe_scope_of_a_token, 0, sizeof(DEDUPE) / sizeof(DEDUPE[0]));
	tcase_add_test(t, longest_repository);
	tcase_add_test(t, rotation);
	tcase_add_test(t, rotation_under_load);
	tcase_add_test(t, rotation_under_a_flood_of_bad_tokens);
	tcase_add_test(t, keys_stay_when_a_reload_fails);
	tcase_add_test(t, a_token_is_as_good_as_its_api_key);
	tcase_add_test(t, keys_of_one_account_count_as_one);
	tcase_add_test(t, tokens_of_one_api_key_count_as_one);
	tcase_add_test(t, tokens_for_another_service);
	tcase_add_test(t, missing_keys_are_reported);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
