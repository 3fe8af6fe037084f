/* The values are from AWS's documentation of Signature Version 4 for S3 ("Examples: Signature Calculations"). */
#include "store/s3/sigv4.h"

#include "base/clock.h"
#include "support/run.h"

#include <check.h>
#include <string.h>

#define ID     "AKIAIOSFODNN7EXAMPLE"
#define SECRET "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define DATE   "20130524T000000Z"
#define HOST   "examplebucket.s3.amazonaws.com"
#define EMPTY  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static struct sigv4_key key_of_example(void)
{
	struct sigv4_key key;
	ck_assert_int_eq(sigv4_key_make(&key, SECRET, "us-east-1", DATE), CAIRN_OK);
	ck_assert_str_eq(key.scope, "20130524/us-east-1/s3/aws4_request");
	return key;
}

static void ck_signature(const struct sigv4_request *r, const char *want)
{
	char got[SIGV4_SIGNATURE_BYTES];
	const struct sigv4_key key = key_of_example();
	ck_assert_int_eq(sigv4_sign(got, &key, r), CAIRN_OK);
	ck_assert_str_eq(got, want);
}

START_TEST(a_range_of_an_object)
{
	const struct sigv4_header headers[] = {
		{"host", HOST}, {"range", "bytes=0-9"}, {"x-amz-content-sha256", EMPTY}, {"x-amz-date", DATE}};
	const struct sigv4_request r = {"GET", "/test.txt", "", headers, 4, EMPTY, DATE};
	ck_signature(&r, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}
END_TEST

START_TEST(an_upload)
{
	static const char BODY[] = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
	const struct sigv4_header headers[] = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
					       {"host", HOST},
					       {"x-amz-content-sha256", BODY},
					       {"x-amz-date", DATE},
					       {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
	const struct sigv4_request r = {"PUT", "/test%24file.text", "", headers, 5, BODY, DATE};
	ck_signature(&r, "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}
END_TEST

START_TEST(a_parameter_without_a_value)
{
	const struct sigv4_header headers[] = {{"host", HOST}, {"x-amz-content-sha256", EMPTY}, {"x-amz-date", DATE}};
	const struct sigv4_request r = {"GET", "/", "lifecycle=", headers, 3, EMPTY, DATE};
	ck_signature(&r, "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}
END_TEST

START_TEST(a_list)
{
	const struct sigv4_header headers[] = {{"host", HOST}, {"x-amz-content-sha256", EMPTY}, {"x-amz-date", DATE}};
	const struct sigv4_request r = {"GET", "/", "max-keys=2&prefix=J", headers, 3, EMPTY, DATE};
	CLEANUP(cairn_buf_fini) struct cairn_buf line = cairn_buf_init(1024);
	const struct sigv4_key key = key_of_example();
	static const char WANT[] = "AWS4-HMAC-SHA256 Credential=" ID "/20130524/us-east-1/s3/aws4_request,"
				   "SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature="
				   "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
	ck_assert_int_eq(sigv4_add_authorization(&line, ID, &key, &r), CAIRN_OK);
	ck_assert_uint_eq(line.len, strlen(WANT));
	ck_assert_mem_eq(line.bytes, WANT, line.len);
}
END_TEST

START_TEST(a_presigned_address)
{
	const struct sigv4_header headers[] = {{"host", HOST}};
	const struct sigv4_request r = {"GET",
					"/test.txt",
					"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=" ID
					"%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=" DATE
					"&X-Amz-Expires=86400&X-Amz-SignedHeaders=host",
					headers,
					1,
					"UNSIGNED-PAYLOAD",
					DATE};
	ck_signature(&r, "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}
END_TEST

START_TEST(dates)
{
	char date[CAIRN_TIME_BASIC_BYTES];
	(void)cairn_time_basic(date, 1369353600);
	ck_assert_str_eq(date, DATE);
}
END_TEST

START_TEST(long_keys_and_regions_are_refused)
{
	struct sigv4_key key;
	char secret[300];
	memset(secret, 'a', sizeof(secret) - 1);
	secret[sizeof(secret) - 1] = '\0';
	ck_assert_int_eq(sigv4_key_make(&key, secret, "us-east-1", DATE), CAIRN_E_LIMIT);
	ck_assert_int_eq(sigv4_key_make(&key, SECRET, secret, DATE), CAIRN_E_LIMIT);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sigv4");
	TCase *tc = tcase_create("published values");
	tcase_add_test(tc, a_range_of_an_object);
	tcase_add_test(tc, an_upload);
	tcase_add_test(tc, a_parameter_without_a_value);
	tcase_add_test(tc, a_list);
	tcase_add_test(tc, a_presigned_address);
	tcase_add_test(tc, dates);
	tcase_add_test(tc, long_keys_and_regions_are_refused);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
