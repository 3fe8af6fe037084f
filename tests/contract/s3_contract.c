/* Checks the promises of s3/client.h on a real service. Usage: s3_contract URL. The * in the URL stands for a new
 * prefix for each test. Credentials are in the environment, and CAIRN_S3_SERVICE names the service. */
#include "hash/crypto.h"
#include "hash/hash.h"
#include "store/s3/client.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *url_given;

struct fixture {
	struct tempdir dir; /* its name is used by nobody else */
	struct s3_client *client;
};

static void fixture_fini(struct fixture *f)
{
	s3_client_free(f->client);
	tempdir_fini(&f->dir);
}

static struct fixture fixture_new(const char *bucket)
{
	struct fixture f = {.dir = tempdir_new()};
	struct s3_place place;
	char url[4096];
	size_t before = strcspn(url_given, "*");
	(void)snprintf(url, sizeof(url), "%.*s%s%s", (int)before, url_given, f.dir.path, url_given + before + 1);
	ck_assert_int_eq(strncmp(url, "s3:", 3), 0);
	ck_assert_int_eq(s3_place_parse(&place, url + 3, NULL), CAIRN_OK);
	if (bucket)
		(void)snprintf(place.bucket, sizeof(place.bucket), "%s", bucket);
	ck_assert_int_eq(s3_client_new(&f.client, &place, NULL, NULL), CAIRN_OK);
	return f;
}

static enum cairn_status put(struct fixture *f, const char *name, const char *text, const char *claimed)
{
	uint8_t digest[CAIRN_SHA256_BYTES];
	char sha256[S3_HEX_SHA256_BYTES];
	ck_assert_int_eq(cairn_sha256_of(digest, claimed, strlen(claimed)), CAIRN_OK);
	cairn_hex_text(sha256, digest, sizeof(digest));
	return s3_put(f->client, name, (const uint8_t *)text, -1, strlen(text), sha256, NULL, NULL);
}

/* Does the service ignore the condition? Garage does. Callers that rely on it read the object back. */
static bool service_passes_conditions_over(void)
{
	const char *service = getenv("CAIRN_S3_SERVICE");
	return service && strcmp(service, "garage") == 0;
}

START_TEST(a_new_name_is_taken_once)
{
	static const char *const TEXTS[] = {"first", "other"};
	CLEANUP(fixture_fini) struct fixture f = fixture_new(NULL);
	uint8_t digest[CAIRN_SHA256_BYTES], got[5];
	char sha256[S3_HEX_SHA256_BYTES];
	bool replaced = service_passes_conditions_over();
	for (size_t i = 0; i < 2; i++) {
		ck_assert_int_eq(cairn_sha256_of(digest, TEXTS[i], 5), CAIRN_OK);
		cairn_hex_text(sha256, digest, sizeof(digest));
		ck_assert_int_eq(s3_put_new(f.client, "a", (const uint8_t *)TEXTS[i], 5, sha256, NULL),
				 i == 0 || replaced ? CAIRN_OK : CAIRN_E_CONFLICT);
	}
	ck_assert_int_eq(s3_get(f.client, "a", NULL, 0, got, sizeof(got), NULL), CAIRN_OK);
	ck_assert_mem_eq(got, TEXTS[replaced], sizeof(got));
}
END_TEST

struct seen {
	unsigned n;
	char last[64];
};

static void note(void *ctx, const char *name, uint64_t bytes)
{
	struct seen *seen = ctx;
	ck_assert_uint_eq(bytes, 5);
	(void)snprintf(seen->last, sizeof(seen->last), "%s", name);
	seen->n++;
}

START_TEST(another_body_than_was_signed_is_refused)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(NULL);
	uint8_t got[5];
	ck_assert_int_eq(put(&f, "a", "hello", "other"), CAIRN_E_MISMATCH);
	ck_assert_int_eq(s3_get(f.client, "a", NULL, 0, got, sizeof(got), NULL), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(put(&f, "a", "hello", "hello"), CAIRN_OK);
	ck_assert_int_eq(s3_get(f.client, "a", NULL, 0, got, sizeof(got), NULL), CAIRN_OK);
	ck_assert_mem_eq(got, "hello", sizeof(got));
}
END_TEST

START_TEST(a_range_is_whole_or_none)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(NULL);
	uint8_t got[5] = {0};
	ck_assert_int_eq(put(&f, "a", "hello", "hello"), CAIRN_OK);
	ck_assert_int_eq(s3_get(f.client, "a", NULL, 1, got, 4, NULL), CAIRN_OK);
	ck_assert_mem_eq(got, "ello", 4);
	ck_assert_int_eq(s3_get(f.client, "a", NULL, 1, got, 5, NULL), CAIRN_E_IO);
	ck_assert_int_eq(s3_get(f.client, "a", NULL, 5, got, 1, NULL), CAIRN_E_IO);
	ck_assert_int_eq(s3_delete(f.client, "a", NULL), CAIRN_OK);
	ck_assert_int_eq(s3_delete(f.client, "a", NULL), CAIRN_OK);
	ck_assert_int_eq(s3_get(f.client, "a", NULL, 1, got, 4, NULL), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(a_changed_object_has_another_identity)
{
	static const char *const CHANGES[] = {"hallo", "hell", "hello!", ""};
	CLEANUP(fixture_fini) struct fixture f = fixture_new(NULL);
	struct s3_state before, now;
	uint8_t got[4];
	ck_assert_int_eq(put(&f, "a", "hello", "hello"), CAIRN_OK);
	ck_assert_int_eq(s3_read_state(f.client, "a", &before, NULL), CAIRN_OK);
	ck_assert_uint_eq(before.bytes, 5);
	ck_assert(before.etag != 0 && before.modified != 0);
	ck_assert_int_eq(s3_get(f.client, "a", &before, 0, got, sizeof(got), NULL), CAIRN_OK);
	for (size_t i = 0; i < sizeof(CHANGES) / sizeof(CHANGES[0]); i++) {
		ck_assert_int_eq(put(&f, "a", CHANGES[i], CHANGES[i]), CAIRN_OK);
		ck_assert_int_eq(s3_get(f.client, "a", &before, 0, got, sizeof(got), NULL), CAIRN_E_CONFLICT);
		ck_assert_int_eq(s3_read_state(f.client, "a", &now, NULL), CAIRN_OK);
		ck_assert_uint_eq(now.bytes, strlen(CHANGES[i]));
		ck_assert(!s3_state_agrees(&before, &now));
	}
}
END_TEST

START_TEST(lists_come_in_pages)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(NULL);
	static const char *const NAMES[] = {"x/c", "x/a", "y/d", "x/b"};
	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(put(&f, NAMES[i], "hello", "hello"), CAIRN_OK);
	struct seen seen = {0};
	struct s3_xml_list list = {.visit = note, .ctx = &seen};
	ck_assert_int_eq(s3_list(f.client, "x/", "", 2, &list, NULL), CAIRN_OK);
	ck_assert_uint_eq(seen.n, 2);
	ck_assert_str_eq(seen.last, "x/b");
	ck_assert(list.truncated);
	ck_assert_int_eq(s3_list(f.client, "x/", "x/b", 2, &list, NULL), CAIRN_OK);
	ck_assert_uint_eq(seen.n, 3);
	ck_assert_str_eq(seen.last, "x/c");
	ck_assert(!list.truncated);
}
END_TEST

START_TEST(a_missing_bucket_is_reported)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new("no-such-bucket");
	struct seen seen = {0};
	struct s3_xml_list list = {.visit = note, .ctx = &seen};
	ck_assert_int_eq(s3_list(f.client, "", "", 2, &list, NULL), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(put(&f, "a", "hello", "hello"), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(a_wrong_secret_key_is_refused)
{
	struct cairn_diag diag = {0};
	uint8_t got[5];
	ck_assert_int_eq(setenv("AWS_SECRET_ACCESS_KEY", "wrong", 1), 0);
	CLEANUP(fixture_fini) struct fixture f = fixture_new(NULL);
	ck_assert_int_eq(s3_get(f.client, "a", NULL, 0, got, 5, &diag), CAIRN_E_BUSY);
	ck_assert_str_eq(diag.rule, "store.refused");
}
END_TEST

int main(int argc, char **argv)
{
	if (argc != 2 || !strchr(argv[1], '*')) {
		(void)fprintf(stderr, "usage: %s URL\n", argv[0]);
		return EXIT_FAILURE;
	}
	url_given = argv[1];
	Suite *suite = suite_create(url_given);
	TCase *tc = tcase_create("service");
	tcase_add_test(tc, another_body_than_was_signed_is_refused);
	tcase_add_test(tc, a_range_is_whole_or_none);
	tcase_add_test(tc, a_new_name_is_taken_once);
	tcase_add_test(tc, a_changed_object_has_another_identity);
	tcase_add_test(tc, lists_come_in_pages);
	tcase_add_test(tc, a_missing_bucket_is_reported);
	tcase_add_test(tc, a_wrong_secret_key_is_refused);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
