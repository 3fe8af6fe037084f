/* URLs of S3 stores, and files of credentials. */
#include "store/s3/credentials.h"
#include "store/s3/instance.h"
#include "store/s3/place.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

START_TEST(urls_have_parts)
{
	struct s3_place place;
	ck_assert_int_eq(s3_place_parse(&place, "//bucket", NULL), CAIRN_OK);
	ck_assert_str_eq(place.bucket, "bucket");
	ck_assert_str_eq(place.prefix, "");
	ck_assert_str_eq(place.endpoint, "https://s3.us-east-1.amazonaws.com");
	ck_assert_str_eq(place.host, "s3.us-east-1.amazonaws.com");
	ck_assert_uint_eq(place.port, 443);
	ck_assert_int_eq(
		s3_place_parse(&place, "//b.c-1/a/b//?region=eu-west-1&endpoint=https://s3.example:8443/", NULL),
		CAIRN_OK);
	ck_assert_str_eq(place.prefix, "a/b/");
	ck_assert_str_eq(place.region, "eu-west-1");
	ck_assert_str_eq(place.endpoint, "https://s3.example:8443");
	ck_assert_str_eq(place.host, "s3.example:8443");
	ck_assert_uint_eq(place.port, 8443);
	ck_assert_int_eq(s3_place_parse(&place, "//b?endpoint=http://[::1]:9000", NULL), CAIRN_OK);
	ck_assert_uint_eq(place.port, 9000);
	ck_assert_int_eq(s3_place_parse(&place, "//b?endpoint=http://localhost", NULL), CAIRN_OK);
	ck_assert_uint_eq(place.port, 80);
	ck_assert_str_eq(place.ca, "");
	ck_assert_int_eq(s3_place_parse(&place, "//b?endpoint=https://h&ca=/etc/ca-1/s3_a.pem", NULL), CAIRN_OK);
	ck_assert_str_eq(place.ca, "/etc/ca-1/s3_a.pem");
}
END_TEST

START_TEST(other_urls_are_refused)
{
	static const char *const BAD[] = {
		"",
		"bucket",
		"//",
		"///prefix",
		"//Bucket",
		"//bucket/a b",
		"//bucket/a%20b",
		"//user:key@bucket",
		"//bucket?endpoint=",
		"//bucket?endpoint=ftp://host",
		"//bucket?endpoint=https://",
		"//bucket?endpoint=https://:80",
		"//bucket?endpoint=https://host/path",
		"//bucket?endpoint=https://user@host",
		"//bucket?endpoint=https://host:0",
		"//bucket?endpoint=https://host:65536",
		"//bucket?endpoint=https://host:1x",
		"//bucket?region=EU",
		"//bucket?region=",
		"//bucket?secret=1",
		"//bucket?ca=",
		"//bucket?ca=ca.pem",
		"//bucket?ca=/a%20b",
		"//bucket?",
	};
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		struct s3_place place;
		struct cairn_diag diag = {0};
		ck_assert_msg(s3_place_parse(&place, BAD[i], &diag) == CAIRN_E_USAGE, "%s", BAD[i]);
		ck_assert_str_eq(diag.rule, "store.url");
	}
}
END_TEST

START_TEST(plain_http_stays_on_this_machine)
{
	static const char *const BAD[] = {"//b?endpoint=http://s3.example", "//b?endpoint=http://localhost.example:80",
					  "//b?endpoint=http://127.0.0.1.example", "//b?endpoint=http://10.0.0.1"};
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		struct s3_place place;
		struct cairn_diag diag = {0};
		ck_assert_int_eq(s3_place_parse(&place, BAD[i], &diag), CAIRN_E_USAGE);
		ck_assert_str_eq(diag.rule, "store.insecure");
	}
}
END_TEST

/* Calls s3_credentials_read() with a file of that text. */
static enum cairn_status read_text(struct s3_credentials *out, const char *text)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "credentials");
	tempdir_write(&dir, "credentials", text, strlen(text));
	return s3_credentials_read(out, path, NULL);
}

START_TEST(credentials_are_read_from_a_file)
{
	struct s3_credentials got;
	ck_assert_int_eq(read_text(&got, "# mine\n[default]\naws_access_key_id = AK\r\n\taws_secret_access_key=S/+=\n"
					 "region = eu\n[other]\naws_session_token = other\n"),
			 CAIRN_OK);
	ck_assert_str_eq(got.id, "AK");
	ck_assert_str_eq(got.secret, "S/+=");
	ck_assert_str_eq(got.token, "");
	ck_assert_int_eq(read_text(&got, "aws_access_key_id=a\naws_secret_access_key=b\naws_session_token=c"),
			 CAIRN_OK);
	ck_assert_str_eq(got.token, "c");
	ck_assert_int_eq(read_text(&got, "aws_access_key_id=a\n"), CAIRN_E_USAGE);
	ck_assert_int_eq(read_text(&got, ""), CAIRN_E_USAGE);
	ck_assert_int_eq(read_text(&got, "aws_access_key_id=a b\naws_secret_access_key=b\n"), CAIRN_E_USAGE);
	ck_assert_int_eq(read_text(&got, "aws_access_key_id=a\raws\naws_secret_access_key=b\n"), CAIRN_E_USAGE);
	ck_assert_int_eq(s3_credentials_read(&got, "/nowhere", NULL), CAIRN_E_IO);
}
END_TEST

START_TEST(credentials_are_read_from_the_environment)
{
	struct s3_credentials got;
	ck_assert_int_eq(unsetenv("AWS_SHARED_CREDENTIALS_FILE"), 0);
	ck_assert_int_eq(setenv("AWS_ACCESS_KEY_ID", "AK", 1), 0);
	ck_assert_int_eq(unsetenv("AWS_SECRET_ACCESS_KEY"), 0);
	ck_assert_int_eq(s3_credentials_read(&got, NULL, NULL), CAIRN_E_USAGE);
	ck_assert_int_eq(setenv("AWS_SECRET_ACCESS_KEY", "secret", 1), 0);
	ck_assert_int_eq(setenv("AWS_SESSION_TOKEN", "token", 1), 0);
	ck_assert_int_eq(s3_credentials_read(&got, NULL, NULL), CAIRN_OK);
	ck_assert_str_eq(got.id, "AK");
	ck_assert_str_eq(got.secret, "secret");
	ck_assert_str_eq(got.token, "token");
	ck_assert_int_eq(setenv("AWS_SESSION_TOKEN", "to\nken", 1), 0);
	ck_assert_int_eq(s3_credentials_read(&got, NULL, NULL), CAIRN_E_USAGE);
}
END_TEST

/* Calls s3_instance_parse(). */
static enum cairn_status parse_service(struct s3_instance *out, const char *credentials, const char *relative,
				       const char *full, const char *machine)
{
	const char *const variables[][2] = {{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", relative},
					    {"AWS_CONTAINER_CREDENTIALS_FULL_URI", full},
					    {"AWS_EC2_METADATA_SERVICE_ENDPOINT", machine}};
	for (size_t i = 0; i < 3; i++)
		if (variables[i][1])
			ck_assert_int_eq(setenv(variables[i][0], variables[i][1], 1), 0);
		else
			ck_assert_int_eq(unsetenv(variables[i][0]), 0);
	return s3_instance_parse(out, credentials, NULL);
}

START_TEST(services_hand_out_keys)
{
	struct s3_instance got;
	ck_assert(s3_instance_is_named("instance") && s3_instance_is_named("http://a") &&
		  s3_instance_is_named("https://a"));
	ck_assert(!s3_instance_is_named(NULL) && !s3_instance_is_named("/etc/cairn/s3") &&
		  !s3_instance_is_named("instance/file"));
	ck_assert_int_eq(parse_service(&got, "instance", NULL, NULL, NULL), CAIRN_OK);
	ck_assert_str_eq(got.url, "http://169.254.169.254");
	ck_assert(got.is_machine && got.port == 80);
	ck_assert_int_eq(parse_service(&got, "instance", NULL, NULL, "http://[fd00:ec2::254]:8080/"), CAIRN_OK);
	ck_assert_str_eq(got.url, "http://[fd00:ec2::254]:8080");
	ck_assert_int_eq(got.port, 8080);
	ck_assert_int_eq(parse_service(&got, NULL, NULL, NULL, NULL), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(parse_service(&got, NULL, "", "", ""), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(parse_service(&got, NULL, "/v2/id", "http://127.0.0.1/not-this", NULL), CAIRN_OK);
	ck_assert_str_eq(got.url, "http://169.254.170.2/v2/id");
	ck_assert(!got.is_machine && got.port == 80);
	ck_assert_int_eq(parse_service(&got, NULL, NULL, "https://keys.example:444/a?b=c", NULL), CAIRN_OK);
	ck_assert_int_eq(got.port, 444);
	ck_assert_int_eq(parse_service(&got, "https://keys.example", NULL, NULL, NULL), CAIRN_OK);
	ck_assert_int_eq(got.port, 443);
}
END_TEST

START_TEST(keys_come_from_near_or_by_tls)
{
	static const char *const NEAR[] = {"http://127.0.0.1",      "http://127.8.9.10:1/a", "http://localhost/a",
					   "http://[::1]:8080",     "http://169.254.170.2",  "http://169.254.170.23/a",
					   "http://[fd00:ec2::23]", "http://169.254.169.254"};
	static const char *const FAR[] = {"http://keys.example",
					  "http://10.0.0.1",
					  "http://127.0.0.1.example/",
					  "http://127.example",
					  "http://169.254.170.22",
					  "http://[fd00:ec2::24]",
					  "http://[::1",
					  "http://a@127.0.0.1",
					  "http://127.0.0.1@a/",
					  "http://127.0.0.1:0",
					  "http://127.0.0.1:65536",
					  "http://127.0.0.1:x",
					  "http://",
					  "https://",
					  "http://127.",
					  "ftp://127.0.0.1"};
	struct s3_instance got;
	for (size_t i = 0; i < sizeof(NEAR) / sizeof(NEAR[0]); i++)
		ck_assert_msg(parse_service(&got, NULL, NULL, NEAR[i], NULL) == CAIRN_OK, "%s", NEAR[i]);
	for (size_t i = 0; i < sizeof(FAR) / sizeof(FAR[0]); i++)
		ck_assert_msg(parse_service(&got, NULL, NULL, FAR[i], NULL) == CAIRN_E_USAGE, "%s", FAR[i]);
	ck_assert_int_eq(parse_service(&got, NULL, "v2/id", NULL, NULL), CAIRN_E_USAGE);
	ck_assert_int_eq(parse_service(&got, NULL, "@keys.example/", NULL, NULL), CAIRN_E_USAGE);
	ck_assert_int_eq(parse_service(&got, "instance", NULL, NULL, "http://keys.example"), CAIRN_E_USAGE);
	char url[S3_INSTANCE_URL_BYTES + 32] = "https://a/";
	memset(url + 10, 'x', S3_INSTANCE_URL_BYTES - 11);
	ck_assert_int_eq(parse_service(&got, url, NULL, NULL, NULL), CAIRN_OK);
	url[S3_INSTANCE_URL_BYTES - 1] = 'x';
	ck_assert_int_eq(parse_service(&got, url, NULL, NULL, NULL), CAIRN_E_USAGE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("s3_place");
	TCase *tc = tcase_create("where and who");
	tcase_add_test(tc, urls_have_parts);
	tcase_add_test(tc, other_urls_are_refused);
	tcase_add_test(tc, plain_http_stays_on_this_machine);
	tcase_add_test(tc, credentials_are_read_from_a_file);
	tcase_add_test(tc, credentials_are_read_from_the_environment);
	tcase_add_test(tc, services_hand_out_keys);
	tcase_add_test(tc, keys_come_from_near_or_by_tls);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
