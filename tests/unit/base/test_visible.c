#include "base/json_text.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* Ranges of characters that control a terminal: the first and the last of each. */
static const uint32_t STEER[][2] = {{0x01, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},
				    {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};

static bool steers(uint32_t c)
{
	for (size_t i = 0; i < sizeof(STEER) / sizeof(STEER[0]); i++)
		if (c >= STEER[i][0] && c <= STEER[i][1])
			return true;
	return false;
}

static const char *shown(struct cairn_buf *b)
{
	cairn_buf_add(b, "", 1);
	ck_assert_int_eq(b->status, CAIRN_OK);
	return (const char *)b->bytes;
}

START_TEST(every_character)
{
	for (uint32_t c = 1; c < 0x3000; c++) {
		char text[8] = "", as_text[16] = "", as_json[24] = "", json[16] = "";
		size_t n = cairn_utf8_encode((uint8_t *)text, c);
		text[n] = '\0';
		CLEANUP(cairn_buf_fini) struct cairn_buf plain = cairn_buf_init(64);
		CLEANUP(cairn_buf_fini) struct cairn_buf quoted = cairn_buf_init(64);
		CLEANUP(cairn_buf_fini) struct cairn_buf again = cairn_buf_init(64);
		(void)snprintf(as_text, sizeof(as_text), "%s", text);
		if (steers(c))
			(void)snprintf(as_text, sizeof(as_text), c < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)c);
		cairn_visible_text(&plain, text);
		ck_assert_str_eq(shown(&plain), as_text);
		if (steers(c))
			(void)snprintf(as_json, sizeof(as_json), "\"\\u%04x\"", (unsigned)c);
		else
			(void)snprintf(as_json, sizeof(as_json), c == '"' || c == '\\' ? "\"\\%s\"" : "\"%s\"", text);
		cairn_json_text(&quoted, text, SIZE_MAX);
		ck_assert_str_eq(shown(&quoted), as_json);
		if (c < 0x20)
			continue; /* JSON that was parsed contains no such character */
		(void)snprintf(json, sizeof(json), c == '"' || c == '\\' ? "\"\\%s\"" : "\"%s\"", text);
		cairn_visible_json(&again, json, strlen(json));
		ck_assert_str_eq(shown(&again), as_json);
	}
}
END_TEST

START_TEST(invalid_utf8_is_escaped)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(64);
	cairn_visible_text(&b, "a\x9b\x31m\xc2 \xe2\x80\xff\xf0\x9f\x98\x80z\xe2\x80");
	ck_assert_str_eq(shown(&b), "a\\x9b1m\\xc2 \\xe2\\x80\\xff\xf0\x9f\x98\x80z\\xe2\\x80");
}
END_TEST

START_TEST(json_keeps_its_space)
{
	static const char JSON[] = "{\n\t\"a\":\"\xe2\x80\xae\"\r\n}\n";
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(64);
	cairn_visible_json(&b, JSON, strlen(JSON));
	ck_assert_str_eq(shown(&b), "{\n\t\"a\":\"\\u202e\"\r\n}\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("visible");
	TCase *t = tcase_create("visible");
	tcase_add_test(t, every_character);
	tcase_add_test(t, invalid_utf8_is_escaped);
	tcase_add_test(t, json_keeps_its_space);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
