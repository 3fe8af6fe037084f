#include "server/ask/html.h"
#include "support/run.h"

#include <check.h>
#include <stdint.h>
#include <string.h>

/* Returns the written text with a zero at its end; valid until the next call. */
static const char *text_of(struct cairn_buf *b)
{
	static char text[4096];
	ck_assert_int_eq(b->status, CAIRN_OK);
	ck_assert_uint_lt(b->len, sizeof(text));
	memcpy(text, b->bytes ? b->bytes : (const uint8_t *)"", b->len);
	text[b->len] = '\0';
	cairn_buf_fini(b);
	*b = cairn_buf_init(4096);
	return text;
}

static const struct {
	const char *text, *written;
} TEXTS[] = {
	{"", ""},
	{"plain", "plain"},
	{"<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"},
	{"\"><img src=x>", "&quot;&gt;&lt;img src=x&gt;"},
	{"' onload='x", "&#39; onload=&#39;x"},
	{"&amp;", "&amp;amp;"},
	{"a\nb\tc", "a\nb\tc"},
	{"\x01\x1b[31m\x7f", "\xef\xbf\xbd\xef\xbf\xbd[31m\xef\xbf\xbd"},
	{"caf\xc3\xa9 \xf0\x9f\x98\x80", "caf\xc3\xa9 \xf0\x9f\x98\x80"},
	{"\xff\xfe", "\xef\xbf\xbd\xef\xbf\xbd"},
	{"\xc0\xbc", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* an overlong "<" */
	{"\xf0\x9f\x98", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a truncated character */
	{"\xe2\x80\xaegnp.exe", "\xef\xbf\xbdgnp.exe"},           /* U+202E, which reverses the direction */
	{"\xc2\x85", "\xef\xbf\xbd"},                             /* U+0085 */
	{"\xef\xbf\xbf", "\xef\xbf\xbd"},                         /* U+FFFF */
	{"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", "\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d"}, /* right to left by themselves */
};

START_TEST(escapes_text)
{
	struct cairn_buf b = cairn_buf_init(4096);
	html_text(&b, TEXTS[_i].text);
	ck_assert_str_eq(text_of(&b), TEXTS[_i].written);
	html(&b, "<a title=\"%s\">", TEXTS[_i].text);
	const char *written = text_of(&b);
	ck_assert_uint_eq(strlen(written), strlen(TEXTS[_i].written) + strlen("<a title=\"\">"));
	ck_assert_int_eq(strncmp(written + 10, TEXTS[_i].written, strlen(TEXTS[_i].written)), 0);
	cairn_buf_fini(&b);
}
END_TEST

START_TEST(writes_values)
{
	struct cairn_buf b = cairn_buf_init(4096);
	html(&b, "%s|%d|%u|%zu|%ld|%lu|100%%", "<", -3, 4U, (size_t)5, -6L, UINT64_MAX);
	ck_assert_str_eq(text_of(&b), "&lt;|-3|4|5|-6|18446744073709551615|100%");
	html_name(&b, "<b>");
	ck_assert_str_eq(text_of(&b), "<bdi>&lt;b&gt;</bdi>");
	cairn_buf_fini(&b);
}
END_TEST

START_TEST(escapes_paths)
{
	struct cairn_buf b = cairn_buf_init(4096);
	html_path(&b, "a b/\"<>'&?#%c/\xc3\xa9~-._");
	ck_assert_str_eq(text_of(&b), "a%20b/%22%3C%3E%27%26%3F%23%25c/%C3%A9~-._");
	cairn_buf_fini(&b);
}
END_TEST

START_TEST(moves_local_addresses)
{
	struct cairn_buf b = cairn_buf_init(4096);
	html(&b,
	     "<a href=\"/a/b\">%s</a><img alt=\"x\" src=\"/i\"><form action=\"/\"><a href=\"//h/x\"><a href=\"https://h/\">"
	     "<a href=\"#x\"><p title=\"/t\">",
	     " href=\"/text");
	html_move(&b, "https://host:1/hub");
	ck_assert_str_eq(
		text_of(&b),
		"<a href=\"/hub/a/b\"> href=&quot;/text</a><img alt=\"x\" src=\"/hub/i\"><form action=\"/hub/\">"
		"<a href=\"//h/x\"><a href=\"https://h/\"><a href=\"#x\"><p title=\"/t\">");
	html(&b, "<a href=\"/\"><a href=\"/\">");
	html_move(&b, "https://host");
	ck_assert_str_eq(text_of(&b), "<a href=\"/\"><a href=\"/\">");
	b.max = 32;
	html(&b, "<a href=\"/\"><a href=\"/\">");
	html_move(&b, "https://host/longer/than/fits");
	ck_assert_int_eq(b.status, CAIRN_E_LIMIT);
	cairn_buf_fini(&b);
}
END_TEST

START_TEST(stops_at_the_maximum)
{
	struct cairn_buf b = cairn_buf_init(8);
	html(&b, "%s", "<<<<");
	ck_assert_int_eq(b.status, CAIRN_E_LIMIT);
	cairn_buf_fini(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("html");
	TCase *c = tcase_create("html");
	tcase_add_loop_test(c, escapes_text, 0, sizeof(TEXTS) / sizeof(TEXTS[0]));
	tcase_add_test(c, writes_values);
	tcase_add_test(c, escapes_paths);
	tcase_add_test(c, moves_local_addresses);
	tcase_add_test(c, stops_at_the_maximum);
	suite_add_tcase(s, c);
	return run_suite(s);
}
