/* Answers of a radosgw as recorded, except for names and dates. */
#include "store/s3/xml.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static const char LIST[] =
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
	"<Name>cairn</Name><Prefix>x/</Prefix><MaxKeys>2</MaxKeys><IsTruncated>true</IsTruncated>"
	"<Contents><Key>x/ab/one</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
	"<ETag>&quot;5d41402abc4b2a76b9719d911017c592&quot;</ETag><Size>65</Size><StorageClass>STANDARD</StorageClass>"
	"<Owner><ID>cairn</ID><DisplayName>cairn</DisplayName></Owner><Type>Normal</Type></Contents>"
	"<Contents><Key>x/ab/a&amp;b</Key><Size>0</Size></Contents></ListBucketResult>";

struct seen {
	unsigned n;
	char keys[2][32];
	uint64_t bytes[2];
};

static void note(void *ctx, const char *key, uint64_t bytes)
{
	struct seen *seen = ctx;
	ck_assert_uint_lt(seen->n, 2);
	(void)snprintf(seen->keys[seen->n], sizeof(seen->keys[0]), "%s", key);
	seen->bytes[seen->n++] = bytes;
}

START_TEST(a_list_is_read)
{
	struct seen seen = {0};
	struct s3_xml_list list = {.visit = note, .ctx = &seen};
	ck_assert_int_eq(s3_xml_read_list(&list, LIST, strlen(LIST)), CAIRN_OK);
	ck_assert(list.truncated);
	ck_assert_uint_eq(seen.n, 2);
	ck_assert_str_eq(seen.keys[0], "x/ab/one");
	ck_assert_uint_eq(seen.bytes[0], 65);
	ck_assert_str_eq(seen.keys[1], "x/ab/a&b");
	ck_assert_uint_eq(seen.bytes[1], 0);
}
END_TEST

static enum cairn_status read_text(const char *text)
{
	struct seen seen = {0};
	struct s3_xml_list list = {.visit = note, .ctx = &seen};
	return s3_xml_read_list(&list, text, strlen(text));
}

START_TEST(malformed_lists_are_refused)
{
	static const char *const BAD[] = {
		"",
		"<ListBucketResult>",
		"<Other></Other>",
		"<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
		"<ListBucketResult><Contents><Key></Key><Size>1</Size></Contents></ListBucketResult>",
		"<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
		"<!DOCTYPE a [<!ENTITY e \"x\">]><ListBucketResult></ListBucketResult>",
		"<ListBucketResult><Contents><Key>a</Key><Size>1</Size></Contents></ListBucketResult>", /* a cut text */
	};
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
		ck_assert_msg(read_text(BAD[i]) == CAIRN_E_FORMAT, "%s", BAD[i]);
	for (size_t len = 0; len < strlen(LIST); len++) {
		struct seen seen = {0};
		struct s3_xml_list list = {.visit = note, .ctx = &seen};
		ck_assert_int_eq(s3_xml_read_list(&list, LIST, len), CAIRN_E_FORMAT);
	}
}
END_TEST

START_TEST(names_have_a_greatest_length)
{
	char key[1100], text[1300];
	for (size_t len = S3_XML_TEXT_BYTES - 1; len <= S3_XML_TEXT_BYTES; len++) {
		struct s3_xml_list list = {.visit = note, .ctx = &(struct seen){0}};
		memset(key, 'k', len);
		key[len] = '\0';
		int n = snprintf(
			text, sizeof(text),
			"<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>%s</Key><Size>1</Size></Contents>"
			"</ListBucketResult>",
			key);
		ck_assert_int_eq(s3_xml_read_list(&list, text, (size_t)n),
				 len < S3_XML_TEXT_BYTES ? CAIRN_OK : CAIRN_E_FORMAT);
	}
}
END_TEST

START_TEST(the_code_of_an_error_is_read)
{
	char code[S3_XML_TEXT_BYTES];
	static const char TEXT[] =
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>SignatureDoesNotMatch</Code><RequestId>tx0"
		"</RequestId><HostId>a</HostId></Error>";
	s3_xml_read_error(code, TEXT, strlen(TEXT));
	ck_assert_str_eq(code, "SignatureDoesNotMatch");
	s3_xml_read_error(code, "<html>", 6);
	ck_assert_str_eq(code, "");
	s3_xml_read_error(code, "", 0);
	ck_assert_str_eq(code, "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("s3_xml");
	TCase *tc = tcase_create("answers");
	tcase_add_test(tc, a_list_is_read);
	tcase_add_test(tc, malformed_lists_are_refused);
	tcase_add_test(tc, names_have_a_greatest_length);
	tcase_add_test(tc, the_code_of_an_error_is_read);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
