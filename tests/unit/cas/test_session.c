#include "server/ask/session.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t ANN[CAIRN_SHA256_BYTES] = {1}, BOB[CAIRN_SHA256_BYTES] = {2};

static struct cairn_diag unsaid; /* not used, because nothing fails */

static bool is_anns(struct sessions *s, const char *text)
{
	uint8_t key[CAIRN_SHA256_BYTES] = {0};
	bool found = sessions_find(s, text, key, &unsaid) == CAIRN_OK;
	ck_assert(!found || memcmp(key, ANN, sizeof(key)) == 0 || memcmp(key, BOB, sizeof(key)) == 0);
	return found && memcmp(key, ANN, sizeof(key)) == 0;
}

START_TEST(begins_and_ends)
{
	struct sessions *s = sessions_new(NULL);
	char one[SESSION_TEXT_BYTES], two[SESSION_TEXT_BYTES];
	ck_assert_int_eq(sessions_begin(s, ANN, 0, one, &unsaid), CAIRN_OK);
	ck_assert_int_eq(sessions_begin(s, BOB, 0, two, &unsaid), CAIRN_OK);
	ck_assert_uint_eq(strlen(one), SESSION_TEXT_BYTES - 1);
	ck_assert_str_ne(one, two);
	ck_assert(is_anns(s, one) && !is_anns(s, two) && !is_anns(s, "") && !is_anns(s, "x"));
	two[0] ^= 1;
	uint8_t key[CAIRN_SHA256_BYTES];
	ck_assert_int_eq(sessions_find(s, two, key, &unsaid), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(sessions_end(s, "no such", &unsaid), CAIRN_OK);
	ck_assert(is_anns(s, one));
	ck_assert_int_eq(sessions_end(s, one, &unsaid), CAIRN_OK);
	ck_assert(!is_anns(s, one));
	sessions_free(s);
	sessions_free(NULL);
}
END_TEST

/* The number of sessions of each key is limited. Sessions of other keys stay. */
START_TEST(one_key_ends_its_own)
{
	struct sessions *s = sessions_new(NULL);
	char first[SESSION_TEXT_BYTES], more[SESSION_TEXT_BYTES], anns[SESSION_TEXT_BYTES];
	uint8_t key[CAIRN_SHA256_BYTES];
	ck_assert_int_eq(sessions_begin(s, ANN, 0, anns, &unsaid), CAIRN_OK);
	ck_assert_int_eq(sessions_begin(s, BOB, 0, first, &unsaid), CAIRN_OK);
	for (int i = 1; i < SESSIONS_OF_ONE_MAX; i++)
		ck_assert_int_eq(sessions_begin(s, BOB, 0, more, &unsaid), CAIRN_OK);
	ck_assert_int_eq(sessions_find(s, first, key, &unsaid), CAIRN_OK);
	for (int i = 0; i < SESSIONS_OF_ONE_MAX; i++)
		ck_assert_int_eq(sessions_begin(s, BOB, 0, more, &unsaid), CAIRN_OK);
	ck_assert_int_eq(sessions_find(s, more, key, &unsaid), CAIRN_OK);
	ck_assert(is_anns(s, anns));
	sessions_free(s);
}
END_TEST

/* An account can make many keys, so the sessions of all its keys together are limited. */
START_TEST(one_account_ends_its_own)
{
	enum { ANN_ID = 1, BOB_ID };
	struct sessions *s = sessions_new(NULL);
	char text[SESSION_TEXT_BYTES], anns[SESSION_TEXT_BYTES];
	uint8_t key[CAIRN_SHA256_BYTES] = {0};
	ck_assert_int_eq(sessions_begin(s, ANN, ANN_ID, anns, &unsaid), CAIRN_OK);
	for (unsigned i = 0; i < SESSIONS_MAX + 3; i++) {
		memcpy(key + 4, &i, sizeof(i));
		ck_assert_int_eq(sessions_begin(s, key, BOB_ID, text, &unsaid), CAIRN_OK);
	}
	ck_assert_int_eq(sessions_find(s, text, key, &unsaid), CAIRN_OK);
	ck_assert(is_anns(s, anns));
	sessions_free(s);
}
END_TEST

START_TEST(full_of_others)
{
	struct sessions *s = sessions_new(NULL);
	char text[SESSION_TEXT_BYTES];
	uint8_t key[CAIRN_SHA256_BYTES] = {0};
	for (unsigned i = 0; i < SESSIONS_MAX + 3; i++) {
		memcpy(key, &i, sizeof(i));
		ck_assert_int_eq(sessions_begin(s, key, i + 1, text, &unsaid), CAIRN_OK);
	}
	ck_assert_int_eq(sessions_find(s, text, key, &unsaid), CAIRN_OK);
	sessions_free(s);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("session");
	TCase *c = tcase_create("session");
	tcase_add_test(c, begins_and_ends);
	tcase_add_test(c, one_key_ends_its_own);
	tcase_add_test(c, one_account_ends_its_own);
	tcase_add_test(c, full_of_others);
	suite_add_tcase(s, c);
	return run_suite(s);
}
