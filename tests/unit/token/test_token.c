/* Tokens: those of another implementation, in tests/data/tokens/tokens.json, and own ones, signed and verified with
 * each kind of key. */
#include "support/run.h"
#include "support/tempdir.h"
#include "support/vectors.h"
#include "token/token.h"
#include "token/token_claims.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { TOKEN_TEXT_MAX = 8 * 1024 };

static const char *const SIGNING_KEYS[] = {"HS256", "RS256", "ES256", "EdDSA"};
enum { N_SIGNING_KEYS = sizeof(SIGNING_KEYS) / sizeof(SIGNING_KEYS[0]) };
static const int64_t NOW = 1700000000;
static const struct cairn_token_binding UNBOUND;

struct fixture {
	struct tempdir dir;
	json_t *data;
	struct cairn_token_keys *keys;
};

static struct fixture fixture_new(void)
{
	return (struct fixture){.dir = tempdir_new(), .data = vec_json("tokens/tokens.json")};
}

static void fixture_fini(struct fixture *f)
{
	cairn_token_keys_freep(&f->keys);
	vec_json_freep(&f->data);
	tempdir_fini(&f->dir);
}

/* Writes one form of a test key (0: secret or private, 1: public) into a file of the folder. */
static void add_key(const struct fixture *f, const char *key, size_t form, const char *file)
{
	const json_t *forms = vec_get(vec_get(f->data, "keys"), key);
	const char *text = json_string_value(json_array_get(forms, form));
	ck_assert_ptr_nonnull(text);
	tempdir_write(&f->dir, file, text, strlen(text));
}

static enum cairn_status load(struct fixture *f, struct cairn_diag *diag)
{
	cairn_token_keys_freep(&f->keys);
	return cairn_token_keys_load(&f->keys, f->dir.path, diag);
}

static void use_key(struct fixture *f, const char *key, size_t form)
{
	add_key(f, key, form, "key");
	struct cairn_diag diag = {0};
	ck_assert_msg(load(f, &diag) == CAIRN_OK, "%s: %s", key, diag.text);
}

static enum cairn_status verify(const struct fixture *f, const char *token, struct cairn_token_claims *claims,
				struct cairn_diag *diag)
{
	*diag = (struct cairn_diag){0};
	return cairn_token_verify(f->keys, &UNBOUND, token, NOW, claims, diag);
}

static char *mint(const struct fixture *f, const struct cairn_token_claims *claims)
{
	char *token = NULL;
	struct cairn_diag diag = {0};
	ck_assert_msg(cairn_token_mint(f->keys, &UNBOUND, claims, NOW, &token, &diag) == CAIRN_OK, "%s", diag.text);
	ck_assert_ptr_nonnull(token);
	return token;
}

static const struct cairn_token_claims CLAIMS = {
	.scopes = CAIRN_TOKEN_READ | CAIRN_TOKEN_WRITE,
	.repo = "datasets/ns/name",
	.subject = "bob \"the\" b\xc3\xb6ttcher",
	.has_dedupe = true,
	.dedupe = CAIRN_DEDUPE_NAMESPACE,
	.expires_unix_s = 1700003600,
	.api_key = 7,
};

/* --- tokens of another implementation ----------------------------------------------------------------------------- */

static void ck_want(const char *name, const json_t *want, const struct cairn_token_claims *got)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)want, key, value)
	{
		if (strcmp(key, "sub") == 0)
			ck_assert_str_eq(got->subject, json_string_value(value));
		else if (strcmp(key, "repo") == 0)
			ck_assert_str_eq(got->repo, json_string_value(value));
		else if (strcmp(key, "scopes") == 0)
			ck_assert_msg(got->scopes == json_integer_value(value), "%s: scopes %u", name, got->scopes);
		else if (strcmp(key, "exp") == 0)
			ck_assert_msg(got->expires_unix_s == json_integer_value(value), "%s: exp", name);
		else if (strcmp(key, "dedupe") == 0)
			ck_assert_msg(got->has_dedupe && got->dedupe == json_integer_value(value), "%s: dedupe", name);
		else
			ck_abort_msg("%s: unknown expectation %s", name, key);
	}
}

START_TEST(tokens_of_another_implementation)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	const json_t *cases = vec_get(f.data, "cases");
	ck_assert_uint_gt(json_array_size(cases), 60);
	for (size_t i = 0; i < json_array_size(cases); i++) {
		const json_t *c = json_array_get(cases, i);
		const char *name = vec_string(c, "name"), *key = vec_string(c, "key");
		const char *rule = json_string_value(json_object_get(c, "rule"));
		struct cairn_token_claims claims;
		struct cairn_diag diag;
		use_key(&f, key, strncmp(key, "HS", 2) == 0 ? 0 : 1);
		enum cairn_status status = verify(&f, vec_string(c, "token"), &claims, &diag);
		ck_assert_msg(status == (rule ? CAIRN_E_DENIED : CAIRN_OK), "%s: %s %s", name,
			      cairn_status_name(status), diag.text);
		if (rule)
			ck_assert_msg(strcmp(diag.rule, rule) == 0, "%s: %s, not %s", name, diag.rule, rule);
		else
			ck_want(name, vec_get(c, "want"), &claims);
	}
}
END_TEST

START_TEST(minted_then_verified)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	struct cairn_token_claims got;
	struct cairn_diag diag;
	use_key(&f, SIGNING_KEYS[_i], 0);
	char *token = mint(&f, &CLAIMS);
	ck_assert_int_eq(verify(&f, token, &got, &diag), CAIRN_OK);
	ck_assert_uint_eq(got.scopes, CLAIMS.scopes);
	ck_assert_str_eq(got.repo, CLAIMS.repo);
	ck_assert_str_eq(got.subject, CLAIMS.subject);
	ck_assert(got.has_dedupe && got.dedupe == CLAIMS.dedupe);
	ck_assert_int_eq(got.expires_unix_s, CLAIMS.expires_unix_s);
	ck_assert_int_eq(got.api_key, CLAIMS.api_key);
	/* the public half verifies, but cannot sign */
	if (strcmp(SIGNING_KEYS[_i], "HS256") != 0) {
		char *none = NULL;
		use_key(&f, SIGNING_KEYS[_i], 1);
		ck_assert_int_eq(verify(&f, token, &got, &diag), CAIRN_OK);
		ck_assert_int_eq(cairn_token_mint(f.keys, &UNBOUND, &CLAIMS, NOW, &none, &diag), CAIRN_E_USAGE);
		ck_assert_ptr_null(none);
	}
	free(token);
}
END_TEST

START_TEST(no_changed_character_passes)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	struct cairn_token_claims got;
	struct cairn_diag diag;
	use_key(&f, SIGNING_KEYS[_i], 0);
	char *token = mint(&f, &CLAIMS);
	for (size_t i = 0; token[i]; i++) {
		char was = token[i];
		token[i] = was == 'A' ? 'B' : 'A';
		ck_assert_msg(verify(&f, token, &got, &diag) == CAIRN_E_DENIED, "character %zu", i);
		token[i] = '\0';
		ck_assert_msg(verify(&f, token, &got, &diag) == CAIRN_E_DENIED, "cut at %zu", i);
		token[i] = was;
	}
	ck_assert_int_eq(verify(&f, token, &got, &diag), CAIRN_OK);
	free(token);
}
END_TEST

START_TEST(tokens_of_one_kind_do_not_pass_for_another)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	struct cairn_token_claims got;
	struct cairn_diag diag;
	for (size_t i = 0; i < N_SIGNING_KEYS; i++) {
		use_key(&f, SIGNING_KEYS[i], 0);
		char *token = mint(&f, &CLAIMS);
		for (size_t j = 0; j < N_SIGNING_KEYS; j++) {
			use_key(&f, SIGNING_KEYS[j], 0);
			ck_assert_int_eq(verify(&f, token, &got, &diag), i == j ? CAIRN_OK : CAIRN_E_DENIED);
		}
		free(token);
	}
}
END_TEST

START_TEST(rotation)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	struct cairn_token_claims got;
	struct cairn_diag diag;
	add_key(&f, "HS256", 0, "2-old.key");
	ck_assert_int_eq(load(&f, NULL), CAIRN_OK);
	char *old_token = mint(&f, &CLAIMS);
	add_key(&f, "HS256-other", 0, "1-new.key");
	add_key(&f, "EdDSA", 1, "0-public.pem"); /* this key comes first, but cannot sign */
	tempdir_write(&f.dir, ".hidden", "not a key", 9);
	ck_assert_int_eq(load(&f, NULL), CAIRN_OK);
	char *new_token = mint(&f, &CLAIMS);
	ck_assert_int_eq(verify(&f, old_token, &got, &diag), CAIRN_OK);
	ck_assert_int_eq(verify(&f, new_token, &got, &diag), CAIRN_OK);
	use_key(&f, "HS256-other", 0); /* adds the file "key" with the same key */
	CLEANUP(tempdir_textp) char *old_path = tempdir_path(&f.dir, "2-old.key");
	ck_assert_int_eq(remove(old_path), 0);
	ck_assert_int_eq(load(&f, NULL), CAIRN_OK);
	ck_assert_int_eq(verify(&f, old_token, &got, &diag), CAIRN_E_DENIED);
	ck_assert_str_eq(diag.rule, "token.signature");
	ck_assert_int_eq(verify(&f, new_token, &got, &diag), CAIRN_OK);
	free(old_token);
	free(new_token);
}
END_TEST

START_TEST(a_token_of_more_than_8_kib_is_refused_unread)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	struct cairn_token_claims got;
	struct cairn_diag diag;
	static char token[TOKEN_TEXT_MAX + 2];
	use_key(&f, "HS256", 0);
	memset(token, 'A', TOKEN_TEXT_MAX);
	/* A token of the greatest length is read: a valid header, and claims that nobody signed. */
	memcpy(token, "eyJhbGciOiJIUzI1NiJ9.", 21);
	memcpy(token + TOKEN_TEXT_MAX - 5, ".AAAA", 5);
	ck_assert_int_eq(verify(&f, token, &got, &diag), CAIRN_E_DENIED);
	ck_assert_str_eq(diag.rule, "token.signature");
	token[TOKEN_TEXT_MAX] = 'A';
	ck_assert_int_eq(verify(&f, token, &got, &diag), CAIRN_E_DENIED);
	ck_assert_str_eq(diag.rule, "token.malformed");
}
END_TEST

static const char AUDIENCE[] = "https://cas.example", ISSUER[] = "hub";

/* Claims besides scope and expiry, as checked by a service of this audience and issuer. rule NULL: they are valid. */
static const struct {
	const char *audience, *issuer, *claims, *rule;
} BOUND[] = {
	{NULL, NULL, "", NULL},
	{NULL, NULL, ",\"iss\":\"anybody\"", NULL},
	{NULL, NULL, ",\"aud\":\"https://other.example\"", "token.audience"},
	{NULL, NULL, ",\"aud\":[\"https://other.example\"]", "token.audience"},
	{NULL, NULL, ",\"aud\":[]", "token.audience"},
	{NULL, NULL, ",\"aud\":\"\"", "token.audience"},
	{NULL, NULL, ",\"aud\":null", "token.audience"},
	{CAIRN_TOKEN_ANY, CAIRN_TOKEN_ANY, "", NULL},
	{CAIRN_TOKEN_ANY, CAIRN_TOKEN_ANY, ",\"aud\":\"https://other.example\",\"iss\":\"anybody\"", NULL},
	{AUDIENCE, NULL, "", "token.audience"},
	{AUDIENCE, NULL, ",\"aud\":\"https://cas.example\"", NULL},
	{AUDIENCE, NULL, ",\"aud\":[\"https://other.example\",\"https://cas.example\"]", NULL},
	{AUDIENCE, NULL, ",\"aud\":\"https://other.example\"", "token.audience"},
	{AUDIENCE, NULL, ",\"aud\":\"https://cas.example/\"", "token.audience"},
	{AUDIENCE, NULL, ",\"aud\":\"HTTPS://cas.example\"", "token.audience"},
	{AUDIENCE, NULL, ",\"aud\":\"any\"", "token.audience"},
	{AUDIENCE, NULL, ",\"aud\":[]", "token.audience"},
	{AUDIENCE, NULL, ",\"aud\":[7,null]", "token.audience"},
	{AUDIENCE, NULL, ",\"aud\":{\"https://cas.example\":1}", "token.audience"},
	{NULL, ISSUER, "", "token.issuer"},
	{NULL, ISSUER, ",\"iss\":\"hub\"", NULL},
	{NULL, ISSUER, ",\"iss\":\"hub2\"", "token.issuer"},
	{NULL, ISSUER, ",\"iss\":[\"hub\"]", "token.issuer"},
	{AUDIENCE, ISSUER, ",\"aud\":\"https://cas.example\",\"iss\":\"hub\"", NULL},
	{AUDIENCE, ISSUER, ",\"aud\":\"https://cas.example\"", "token.issuer"},
	{NULL, NULL, ",\"repo\":\"\"", "token.malformed"},
	{NULL, NULL, ",\"repo\":null", "token.malformed"},
	{NULL, NULL, ",\"cairn_key\":7", NULL},
	{NULL, NULL, ",\"cairn_key\":0", "token.malformed"},
	{NULL, NULL, ",\"cairn_key\":-7", "token.malformed"},
	{NULL, NULL, ",\"cairn_key\":\"7\"", "token.malformed"},
	{NULL, NULL, ",\"cairn_key\":null", "token.malformed"},
};

START_TEST(audience_and_issuer_of_claims)
{
	const struct cairn_token_binding binding = {BOUND[_i].audience, BOUND[_i].issuer};
	struct cairn_token_claims got;
	struct cairn_diag diag = {0};
	char json[512];
	int n = snprintf(json, sizeof(json), "{\"scope\":\"read\",\"exp\":%lld%s}", (long long)NOW + 60,
			 BOUND[_i].claims);
	enum cairn_status status = cairn_token_claims_read(&got, &binding, json, (size_t)n, NOW, &diag);
	ck_assert_msg(status == (BOUND[_i].rule ? CAIRN_E_DENIED : CAIRN_OK), "%s: %s", json, diag.text);
	if (BOUND[_i].rule)
		ck_assert_str_eq(diag.rule, BOUND[_i].rule);
}
END_TEST

START_TEST(minted_for_a_service_by_an_issuer)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	const struct cairn_token_binding ours = {AUDIENCE, ISSUER}, theirs = {"https://other.example", ISSUER},
					 any = {CAIRN_TOKEN_ANY, CAIRN_TOKEN_ANY};
	struct cairn_token_claims got;
	struct cairn_diag diag = {0};
	char *token = NULL, *free_one = NULL;
	use_key(&f, SIGNING_KEYS[_i], 0);
	ck_assert_int_eq(cairn_token_mint(f.keys, &ours, &CLAIMS, NOW, &token, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_token_verify(f.keys, &ours, token, NOW, &got, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_token_verify(f.keys, &any, token, NOW, &got, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_token_verify(f.keys, &UNBOUND, token, NOW, &got, NULL), CAIRN_E_DENIED);
	ck_assert_int_eq(cairn_token_verify(f.keys, &theirs, token, NOW, &got, &diag), CAIRN_E_DENIED);
	ck_assert_str_eq(diag.rule, "token.audience");
	ck_assert_str_eq(diag.expected, "https://other.example");
	ck_assert_str_eq(diag.actual, AUDIENCE);
	ck_assert_int_eq(cairn_token_mint(f.keys, &any, &CLAIMS, NOW, &free_one, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_token_verify(f.keys, &UNBOUND, free_one, NOW, &got, NULL), CAIRN_OK);
	free(token);
	free(free_one);
}
END_TEST

START_TEST(invalid_claims_are_not_minted)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	struct cairn_token_claims bad[5] = {CLAIMS, CLAIMS, CLAIMS, CLAIMS, CLAIMS};
	bad[0].scopes = 0;
	bad[1].scopes = 8;
	bad[2].expires_unix_s = NOW;
	(void)snprintf(bad[3].repo, sizeof(bad[3].repo), "no slash");
	bad[4].repo[0] = '\0';
	use_key(&f, "HS256", 0);
	for (size_t i = 0; i < 5; i++) {
		char *token = NULL;
		struct cairn_diag diag = {0};
		ck_assert_int_eq(cairn_token_mint(f.keys, &UNBOUND, &bad[i], NOW, &token, &diag), CAIRN_E_USAGE);
		ck_assert_ptr_null(token);
		ck_assert_str_eq(diag.rule, "token.claim");
	}
}
END_TEST

START_TEST(a_made_key_signs_and_is_not_overwritten)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	CLEANUP(tempdir_textp) char *path = tempdir_path(&f.dir, "new.key");
	struct cairn_token_claims got;
	struct cairn_diag diag = {0};
	struct stat st;
	ck_assert_int_eq(cairn_token_key_make(path, &diag), CAIRN_OK);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(st.st_size, 44);
	ck_assert_int_eq(cairn_token_keys_load(&f.keys, path, &diag), CAIRN_OK);
	char *token = mint(&f, &CLAIMS);
	ck_assert_int_eq(cairn_token_key_make(path, &diag), CAIRN_E_CONFLICT);
	ck_assert_ptr_nonnull(strstr(diag.text, "exists"));
	ck_assert_int_eq(load(&f, NULL), CAIRN_OK);
	ck_assert_int_eq(verify(&f, token, &got, &diag), CAIRN_OK);
	free(token);
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(cairn_token_key_make("/nowhere/key", &diag), CAIRN_E_CONFLICT);
}
END_TEST

START_TEST(a_secret_that_everybody_can_read_is_refused)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	CLEANUP(tempdir_textp) char *path = tempdir_path(&f.dir, "key");
	static const struct {
		const char *key;
		size_t form;
		mode_t mode;
		enum cairn_status want;
	} cases[] = {
		{"HS256", 0, 0604, CAIRN_E_USAGE}, {"HS256", 0, 0640, CAIRN_OK}, {"EdDSA", 0, 0644, CAIRN_E_USAGE},
		{"EdDSA", 0, 0600, CAIRN_OK},      {"EdDSA", 1, 0644, CAIRN_OK}, {"RS256", 1, 0666, CAIRN_OK},
		{"ES256", 0, 0602, CAIRN_E_USAGE},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cairn_diag diag = {0};
		add_key(&f, cases[i].key, cases[i].form, "key");
		ck_assert_int_eq(chmod(path, cases[i].mode), 0);
		ck_assert_msg(load(&f, &diag) == cases[i].want, "case %zu: %s", i, diag.text);
		if (cases[i].want != CAIRN_OK)
			ck_assert_ptr_nonnull(strstr(diag.text, "chmod"));
		ck_assert_int_eq(chmod(path, 0600), 0);
	}
}
END_TEST

static void ck_refused(struct fixture *f, const char *bytes, size_t len, const char *why)
{
	struct cairn_diag diag = {0};
	tempdir_write(&f->dir, "key", bytes, len);
	ck_assert_int_eq(load(f, &diag), CAIRN_E_USAGE);
	ck_assert_ptr_null(f->keys);
	ck_assert_str_eq(diag.rule, "token.key");
	ck_assert_msg(strstr(diag.text, why) != NULL, "%s: %s", why, diag.text);
}

START_TEST(files_without_a_key_are_refused)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	struct cairn_diag diag = {0};
	static char large[16 * 1024 + 1];
	ck_assert_int_eq(load(&f, &diag), CAIRN_E_USAGE);
	ck_assert_ptr_nonnull(strstr(diag.text, "no token key"));
	ck_refused(&f, "", 0, "base64url");
	ck_refused(&f, "c2hvcnQ", 7, "base64url");
	ck_refused(&f, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 42, "base64url"); /* only 31 bytes */
	ck_refused(&f, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA!", 43, "base64url");
	ck_refused(&f, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB", 43, "base64url"); /* there are bits left over */
	ck_refused(&f, "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", 55, "PEM key");
	ck_refused(&f, large, sizeof(large), "longer than");
	add_key(&f, "ES384", 0, "key");
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(load(&f, &diag), CAIRN_E_USAGE);
	ck_assert_ptr_nonnull(strstr(diag.text, "P-256"));
	add_key(&f, "RSA-1024", 1, "key");
	ck_assert_int_eq(load(&f, NULL), CAIRN_E_USAGE);
	tempdir_write(&f.dir, "key", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n", 45); /* 32 bytes */
	ck_assert_int_eq(load(&f, NULL), CAIRN_OK);
	diag = (struct cairn_diag){0};
	cairn_token_keys_freep(&f.keys);
	ck_assert_int_eq(cairn_token_keys_load(&f.keys, "/nowhere/key", &diag), CAIRN_E_USAGE);
	ck_assert_ptr_nonnull(strstr(diag.text, "--new-key /nowhere/key"));
}
END_TEST

START_TEST(too_many_keys)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new();
	struct cairn_diag diag = {0};
	char name[16];
	for (int i = 0; i < 64; i++) {
		(void)snprintf(name, sizeof(name), "%03d", i);
		add_key(&f, "HS256", 0, name);
	}
	ck_assert_int_eq(load(&f, NULL), CAIRN_OK);
	add_key(&f, "HS256", 0, "064");
	ck_assert_int_eq(load(&f, &diag), CAIRN_E_USAGE);
	ck_assert_ptr_nonnull(strstr(diag.text, "more than 64"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("token");
	TCase *tc = tcase_create("token");
	tcase_add_test(tc, tokens_of_another_implementation);
	tcase_add_loop_test(tc, minted_then_verified, 0, N_SIGNING_KEYS);
	tcase_add_loop_test(tc, no_changed_character_passes, 0, N_SIGNING_KEYS);
	tcase_add_test(tc, tokens_of_one_kind_do_not_pass_for_another);
	tcase_add_test(tc, rotation);
	tcase_add_test(tc, a_token_of_more_than_8_kib_is_refused_unread);
	tcase_add_loop_test(tc, audience_and_issuer_of_claims, 0, sizeof(BOUND) / sizeof(BOUND[0]));
	tcase_add_loop_test(tc, minted_for_a_service_by_an_issuer, 0, N_SIGNING_KEYS);
	tcase_add_test(tc, invalid_claims_are_not_minted);
	tcase_add_test(tc, a_made_key_signs_and_is_not_overwritten);
	tcase_add_test(tc, a_secret_that_everybody_can_read_is_refused);
	tcase_add_test(tc, files_without_a_key_are_refused);
	tcase_add_test(tc, too_many_keys);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
