#include "server/page/markdown.h"
#include "support/run.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const struct markdown_base BASE = {"/ann/m/blob/main/", "/ann/m/resolve/main/"};

/* Returns the HTML with a zero at its end; the caller frees it. */
static char *made_of(const char *text, size_t len)
{
	struct cairn_buf b = cairn_buf_init((size_t)4 << 20);
	markdown_put(&b, text, len, &BASE);
	cairn_buf_add(&b, "", 1);
	ck_assert_int_eq(b.status, CAIRN_OK);
	return (char *)b.bytes;
}

static const struct {
	const char *text, *html;
} CASES[] = {
	{"", ""},
	{"# A\n\n## B\n\n###### C\n", "<h2>A</h2>\n<h3>B</h3>\n<h6>C</h6>\n"},
	{"a *b* **c** `d` ~~e~~", "<p>a <em>b</em> <strong>c</strong> <code>d</code> <del>e</del></p>\n"},
	{"a  \nb\nc", "<p>a<br>\nb\nc</p>\n"},
	{"- [x] a\n- [ ] b\n", "<ul>\n<li class=\"task\">☑ a</li>\n<li class=\"task\">☐ b</li>\n</ul>\n"},
	{"3. a\n", "<ol start=\"3\">\n<li>a</li>\n</ol>\n"},
	{"```py\na<b\n```\n", "<pre tabindex=\"0\"><code>a&lt;b\n</code></pre>\n"},
	{"|a|b|\n|---|--:|\n|1|2|\n",
	 "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr><th>a</th><th class=\"num\">b</th></tr>\n</thead>\n"
	 "<tbody><tr><td>1</td><td class=\"num\">2</td></tr>\n</tbody>\n</table></div>\n"},
	{"---\nlicense: <mit>\r\n---\r\nx",
	 "<details class=\"front\"><summary>Metadata</summary><pre tabindex=\"0\">license: &lt;mit&gt;\xef\xbf\xbd\n"
	 "</pre></details>\n<p>x</p>\n"},
	/* addresses */
	{"[a](https://x.example/?a=1&b=2)",
	 "<p><a rel=\"nofollow noreferrer\" href=\"https://x.example/?a=1&amp;b=2\">a</a></p>\n"},
	{"[a](sub/b.md)", "<p><a href=\"/ann/m/blob/main/sub/b.md\">a</a></p>\n"},
	{"[a](sub/)", "<p><a href=\"/ann/m/blob/main/sub\">a</a></p>\n"},
	{"[a](/bob/other)", "<p><a href=\"/bob/other\">a</a></p>\n"},
	{"[](https://x.example)", "<p><a rel=\"nofollow noreferrer\" href=\"https://x.example\">link</a></p>\n"},
	{"[a](#part)", "<p>a</p>\n"},
	{"*www.a.b* <https://x.example>",
	 "<p><em>www.a.b</em> <a rel=\"nofollow noreferrer\" href=\"https://x.example\">https://x.example</a></p>\n"},
	{"![a *b*](c.png)", "<p><img src=\"/ann/m/resolve/main/c.png\" alt=\"a b\"></p>\n"},
	{"![a \"b](c.png)", "<p><img src=\"/ann/m/resolve/main/c.png\" alt=\"a &quot;b\"></p>\n"},
	{"![a](https://x.example/c.png)",
	 "<p><a rel=\"nofollow noreferrer\" href=\"https://x.example/c.png\">a</a></p>\n"},
	{"[![](https://x.example/c.png)](https://y.example)",
	 "<p><a rel=\"nofollow noreferrer\" href=\"https://y.example\">picture</a></p>\n"},
	{"[![a](c.png)](d.md)",
	 "<p><a href=\"/ann/m/blob/main/d.md\"><img src=\"/ann/m/resolve/main/c.png\" alt=\"a\"></a></p>\n"},
	/* attacks */
	{"<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"},
	{"a <img src=x onerror=alert(1)>", "<p>a &lt;img src=x onerror=alert(1)&gt;</p>\n"},
	{"<!-- -->\n<div>", "<p>&lt;!-- --&gt;\n&lt;div&gt;</p>\n"},
	{"[a](javascript:alert(1))", "<p>a</p>\n"},
	{"[a](JaVaScRiPt:alert(1))", "<p>a</p>\n"},
	{"[a](java&#10;script:alert(1))", "<p>a</p>\n"},
	{"[a](java&Tab;script:alert(1))", "<p>a</p>\n"},
	{"[a](&#1;javascript:alert(1))", "<p>a</p>\n"},
	{"[a](<&#32;javascript:alert(1)>)", "<p>a</p>\n"},
	{"[a](&#106;avascript:alert(1))", "<p>a</p>\n"},
	{"[a](javascript&colon;alert(1))",
	 /* stays on this server */
	 "<p><a href=\"/ann/m/blob/main/javascript&amp;colon;alert(1)\">a</a></p>\n"},
	{"[a](data:text/html,x)", "<p>a</p>\n"},
	{"[a](vbscript:x)", "<p>a</p>\n"},
	{"<javascript:alert(1)>", "<p>javascript:alert(1)</p>\n"},
	{"[a](//x.example)", "<p>a</p>\n"},
	{"[a](/\\x.example)", "<p>a</p>\n"},
	{"![a](javascript:alert(1))", "<p>a</p>\n"},
	{"![a](data:image/svg+xml,x)", "<p>a</p>\n"},
	{"[a](x\" onclick=\"y)", "<p>[a](x&quot; onclick=&quot;y)</p>\n"},
	{"[a](<x\"onclick=\"y>)", "<p><a href=\"/ann/m/blob/main/x&quot;onclick=&quot;y\">a</a></p>\n"},
	{"[a](x 'title\" onclick=\"y')", "<p><a href=\"/ann/m/blob/main/x\">a</a></p>\n"},
	{"&lt;b&gt; &#60;i&#62; &bogus; &#0; &#x202e; &#xd800;",
	 "<p>&lt;b&gt; &lt;i&gt; &amp;bogus; \xef\xbf\xbd \xef\xbf\xbd \xef\xbf\xbd</p>\n"},
	{"``` \" onclick=x\na\n```\n", "<pre tabindex=\"0\"><code>a\n</code></pre>\n"},
	{"\xe2\x80\xaex\xff", "<p>\xef\xbf\xbdx\xef\xbf\xbd</p>\n"},
};

START_TEST(renders_each_case)
{
	char *html = made_of(CASES[_i].text, strlen(CASES[_i].text));
	ck_assert_str_eq(html, CASES[_i].html);
	free(html);
}
END_TEST

/* The converter reads nothing past the end of a text. The text is copied, because sanitizers do not notice reads inside
 * the library. */
START_TEST(ends_at_each_length)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *room = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(room, MAP_FAILED);
	ck_assert_int_eq(mprotect(room + page, page, PROT_NONE), 0);
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++)
		for (size_t len = 0; len <= strlen(CASES[i].text); len++) {
			memcpy(room + page - len, CASES[i].text, len);
			free(made_of(room + page - len, len));
		}
	munmap(room, 2 * page);
}
END_TEST

/* Bytes follow the text: a bracket there turned the first into a link, and the library read far past the end. */
START_TEST(bytes_behind_the_text_are_not_read)
{
	char *html = made_of("[a](x)", 5);
	ck_assert_str_eq(html, "<p>[a](x</p>\n");
	free(html);
}
END_TEST

START_TEST(takes_zero_bytes)
{
	char *html = made_of("a\0b", 3);
	ck_assert_str_eq(html, "<p>a\xef\xbf\xbd"
			       "b</p>\n");
	free(html);
}
END_TEST

/* Returns how often a piece occurs in the text. */
static unsigned count(const char *text, const char *piece)
{
	unsigned n = 0;
	for (const char *at = text; (at = strstr(at, piece)); at += strlen(piece))
		n++;
	return n;
}

START_TEST(nests_so_deep)
{
	char text[4001];
	memset(text, '>', 4000);
	text[4000] = 'x';
	char *html = made_of(text, sizeof(text));
	ck_assert_uint_eq(count(html, "<blockquote>"), MARKDOWN_DEPTH_MAX);
	ck_assert_uint_eq(count(html, "</blockquote>"), MARKDOWN_DEPTH_MAX);
	free(html);
}
END_TEST

/* A table of n columns and n rows can be written in 2 n bytes. */
START_TEST(a_table_that_would_be_too_long_becomes_text)
{
	enum { N = 100, ROWS = 3000 };
	struct cairn_buf text = cairn_buf_init(1 << 20);
	for (unsigned i = 0; i < N; i++)
		cairn_buf_add(&text, "|a", 2);
	cairn_buf_add(&text, "|\n", 2);
	for (unsigned i = 0; i < N; i++)
		cairn_buf_add(&text, "|---", 4);
	cairn_buf_add(&text, "|\n", 2);
	for (unsigned i = 0; i < ROWS; i++)
		cairn_buf_add(&text, "|\n", 2);
	char *html = made_of((const char *)text.bytes, text.len);
	ck_assert_int_eq(strncmp(html, "<pre tabindex=\"0\">|a|a", 22), 0);
	ck_assert_uint_lt(strlen(html), MARKDOWN_BYTES_MAX);
	ck_assert_uint_eq(count(html, "<"), 2);
	free(html);
	cairn_buf_fini(&text);
}
END_TEST

/* Long patterns that are slow in other parsers. The time limit of the test decides. */
START_TEST(is_not_slow)
{
	static const char *const PIECES[] = {"[",      "![", "*a ", "_a__ ", "`a``", "<",   "<!--",    "[a](",
					     "[a](<b", "> ", "- ",  "&",     "|a",   "](x", "**a _b ", "\\"};
	for (size_t i = 0; i < sizeof(PIECES) / sizeof(PIECES[0]); i++) {
		struct cairn_buf text = cairn_buf_init(1 << 20);
		while (text.len < 60000)
			cairn_buf_add(&text, PIECES[i], strlen(PIECES[i]));
		free(made_of((const char *)text.bytes, text.len));
		cairn_buf_fini(&text);
	}
}
END_TEST

/* Elements are nested deeper than the limit. All text is shown, and no tag or attribute stays open. */
START_TEST(cut_elements_are_closed)
{
	static const char *const SHAPES[][3] = {{"[x ", "![", "](b)"}, {"", "![", "](c)"}, {"[x ", "[", "](b)"}};
	const char *const *shape = SHAPES[_i];
	for (int n = 250; n < 262; n++) {
		struct cairn_buf text = cairn_buf_init(1 << 20);
		cairn_buf_printf(&text, "%s", shape[0]);
		for (int i = 0; i < n; i++)
			cairn_buf_printf(&text, "%s", shape[1]);
		cairn_buf_printf(&text, _i == 1 ? "[a](b)" : "a");
		for (int i = 0; i < n; i++)
			cairn_buf_printf(&text, "%s", shape[2]);
		cairn_buf_printf(&text, "](http://example.org/)");
		char *html = made_of((const char *)text.bytes, text.len);
		size_t opened = 0, ended = 0, quotes = 0;
		for (const char *c = html; *c; c++) {
			opened += strncmp(c, "<a ", 3) == 0;
			ended += strncmp(c, "</a>", 4) == 0;
			quotes += *c == '"';
		}
		ck_assert_uint_eq(opened, ended);
		ck_assert_uint_eq(quotes % 2, 0);
		free(html);
		cairn_buf_fini(&text);
	}
}
END_TEST

static double cpu_s_of(const struct cairn_buf *text)
{
	struct timespec before, after;
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
	free(made_of((const char *)text->bytes, text->len));
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
	return (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
}

/* Inputs for which the parser takes quadratic time: a reference whose address each use repeats, and containers on each
 * line. Without limits they took 1 to 3 seconds. */
START_TEST(the_time_is_not_quadratic)
{
	static const struct {
		const char *first, *again, *then, *last;
		unsigned n_again, n_last;
	} SHAPES[] = {
		{"[a]: ", "&lt;", "\n\n", "[a]", 7000, 12500},
		{"", "* ", "```\n", "\n", 16000, 33000},
		{"", "> ", "<div>\n", "\n", 16000, 33000},
	};
	struct cairn_buf text = cairn_buf_init(1 << 20);
	cairn_buf_printf(&text, "%s", SHAPES[_i].first);
	for (unsigned i = 0; i < SHAPES[_i].n_again; i++)
		cairn_buf_printf(&text, "%s", SHAPES[_i].again);
	cairn_buf_printf(&text, "%s", SHAPES[_i].then);
	for (unsigned i = 0; i < SHAPES[_i].n_last; i++)
		cairn_buf_printf(&text, "%s", SHAPES[_i].last);
	ck_assert_double_lt(cpu_s_of(&text), 0.4);
	cairn_buf_fini(&text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("markdown");
	TCase *c = tcase_create("markdown");
	tcase_add_loop_test(c, renders_each_case, 0, sizeof(CASES) / sizeof(CASES[0]));
	tcase_add_test(c, ends_at_each_length);
	tcase_add_test(c, bytes_behind_the_text_are_not_read);
	tcase_add_test(c, takes_zero_bytes);
	tcase_add_test(c, nests_so_deep);
	tcase_add_test(c, a_table_that_would_be_too_long_becomes_text);
	tcase_add_test(c, is_not_slow);
	tcase_add_loop_test(c, cut_elements_are_closed, 0, 3);
	tcase_add_loop_test(c, the_time_is_not_quadratic, 0, 3);
	suite_add_tcase(s, c);
	return run_suite(s);
}
