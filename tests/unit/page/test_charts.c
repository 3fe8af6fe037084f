#include "server/page/charts.h"
#include "support/run.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 60 };

/* Returns the text with a zero at its end; the caller frees it. */
static char *text_of(struct cairn_buf *b)
{
	cairn_buf_add(b, "", 1);
	ck_assert_int_eq(b->status, CAIRN_OK);
	return (char *)b->bytes;
}

static unsigned count(const char *text, const char *piece)
{
	unsigned n = 0;
	for (const char *at = text; (at = strstr(at, piece)); at += strlen(piece))
		n++;
	return n;
}

/* Returns the area of all fields. Checks that each field is within the map. */
static double area_of(const char *svg)
{
	double sum = 0;
	for (const char *at = svg; (at = strstr(at, "<rect class=\"t")); at++) {
		double x, y, width, height;
		unsigned colour;
		ck_assert_int_eq(sscanf(at, "<rect class=\"t%u\" x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"/>",
					&colour, &x, &y, &width, &height),
				 5);
		ck_assert_uint_le(colour, CHARTS_COLOURS);
		ck_assert(x >= 0 && y >= 0 && x + width <= 1000.3 && y + height <= 380.3);
		sum += width * height;
	}
	return sum;
}

static char *map_of(const struct chart_part *parts, size_t n)
{
	struct cairn_buf b = cairn_buf_init(1 << 20);
	chart_put_treemap(&b, "title", "others", parts, n);
	return text_of(&b);
}

START_TEST(covers_all)
{
	struct chart_part parts[N + 1];
	for (unsigned n = 1; n <= N; n++) {
		parts[0] = (struct chart_part){.name = "all"};
		for (unsigned i = 1; i <= n; i++) { /* equal bytes, falling bytes, fast falling bytes */
			parts[i] = (struct chart_part){"name", 0,
						       _i == 0   ? 7
						       : _i == 1 ? 1000 - i
								 : UINT64_MAX / N / 2 >> i};
			parts[0].bytes += parts[i].bytes;
		}
		char *svg = map_of(parts, n + 1);
		ck_assert_double_eq_tol(area_of(svg), 380000, 12000);
		ck_assert_uint_le(count(svg, "<rect"), CHARTS_PARTS_MAX + 1);
		ck_assert_int_eq(strstr(svg, ">others:") != NULL, n > CHARTS_PARTS_MAX);
		free(svg);
	}
}
END_TEST

START_TEST(leaves_out_empty_parts)
{
	const struct chart_part parts[] = {{"all", 0, 5}, {"a", 0, 5}, {"b", 0, 0}},
				none[] = {{"all", 0, 0}, {"b", 0, 0}};
	char *svg = map_of(parts, 3);
	ck_assert_uint_eq(count(svg, "<rect"), 1);
	free(svg);
	struct cairn_buf b = cairn_buf_init(64);
	chart_put_treemap(&b, "title", "others", none, 2);
	chart_put_treemap(&b, "title", "others", parts, 1);
	chart_put_treemap(&b, "title", "others", parts, 0);
	ck_assert_uint_eq(b.len, 0);
}
END_TEST

static void place_of(const char *svg, const char *title, double at[static 4])
{
	char start[64];
	unsigned colour;
	(void)snprintf(start, sizeof(start), "<title>%s: ", title);
	const char *text = strstr(svg, start);
	ck_assert_msg(text, "no %s", title);
	text = strstr(text, "<rect");
	ck_assert_int_eq(sscanf(text, "<rect class=\"t%u\" x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"/>", &colour,
				&at[0], &at[1], &at[2], &at[3]),
			 5);
}

/* The contents of a folder lie within its field and have its colour. The rest of the folder is a field, too. */
START_TEST(follows_folders)
{
	const struct chart_part parts[] = {{"all", 0, 100}, {"a", 0, 60},   {"b", 0, 30},
					   {"a/x", 1, 25},  {"a/y", 1, 25}, {"a/x/z", 3, 25}};
	static const char *const INNER[] = {"a/x", "a/y", "rest"};
	double a[4], in[4];
	struct cairn_buf b = cairn_buf_init(1 << 20);
	chart_put_treemap(&b, "title", "rest", parts, 6);
	char *svg = text_of(&b);
	place_of(svg, "a", a);
	for (unsigned i = 0; i < 2; i++) {
		place_of(svg, INNER[i], in);
		ck_assert(in[0] >= a[0] && in[1] > a[1] && in[0] + in[2] <= a[0] + a[2] &&
			  in[1] + in[3] <= a[1] + a[3]);
	}
	ck_assert_double_eq_tol(a[2] * a[3], 0.6 * 380000, 500);
	ck_assert_uint_eq(count(svg, "<title>rest: 10 B"), 2); /* one is the rest of all, one the rest of folder a */
	ck_assert_uint_eq(count(svg, "class=\"t0\""), 5);      /* a and everything within it */
	ck_assert_uint_eq(count(svg, "class=\"t1\""), 1);
	free(svg);
}
END_TEST

/* A field is shown only together with its folder, however many or however deep the folders are. */
START_TEST(is_bounded)
{
	struct chart_part *parts = calloc(4000, sizeof(*parts));
	ck_assert_ptr_nonnull(parts);
	for (unsigned i = 0, bytes = 4096; i < 4000; i++) { /* each half as large, or each within the one before */
		bytes >>= _i == 0 && i > 0 && (i & (i + 1)) == 0;
		parts[i] = (struct chart_part){"name", i == 0 ? 0 : _i == 0 ? (i + 1) / 2 - 1 : i - 1, bytes};
	}
	char *svg = map_of(parts, 4000);
	ck_assert_uint_le(count(svg, "<rect"), 2 * CHARTS_PARTS_MAX + 1);
	ck_assert_uint_lt(strlen(svg), 20000);
	(void)area_of(svg);
	free(svg);
	free(parts);
}
END_TEST

START_TEST(escapes_names)
{
	static const char *const NAMES[] = {"</title><script>alert(1)</script>", "\" onload=\"x"};
	const struct chart_part parts[] = {{"all", 0, 15}, {NAMES[0], 0, 5}, {NAMES[1], 0, 5}};
	const uint64_t bytes[] = {0, 5, 5, 0};
	struct cairn_buf b = cairn_buf_init(1 << 20);
	chart_put_treemap(&b, NAMES[1], NAMES[0], parts, 3);
	chart_put_matrix(&b, NAMES[1], NAMES, 2, bytes);
	char *svg = text_of(&b);
	ck_assert_ptr_null(strstr(svg, "<script>"));
	ck_assert_ptr_null(strstr(svg, "\" onload"));
	ck_assert_ptr_nonnull(strstr(svg, "&lt;script&gt;"));
	free(svg);
}
END_TEST

/* The largest value is darkest. Each step is a quarter of the one before. */
START_TEST(is_the_darker_the_more)
{
	static const char *const NAMES[] = {"a", "b", "c"};
	const uint64_t bytes[] = {9, 1000, 249, 1000, 9, 0, 249, 0, 9};
	struct cairn_buf b = cairn_buf_init(1 << 20);
	chart_put_matrix(&b, "title", NAMES, 3, bytes);
	char *svg = text_of(&b);
	ck_assert_uint_eq(count(svg, "class=\"self\""), 3);
	ck_assert_uint_eq(count(svg, "class=\"h5\""), 2);
	ck_assert_uint_eq(count(svg, "class=\"h4\""), 2);
	ck_assert_uint_eq(count(svg, "class=\"h0\""), 2);
	free(svg);
}
END_TEST

/* The newest day is on the right. The highest column has the full height. A day without data has no column. */
START_TEST(shows_days)
{
	const int64_t bytes[] = {1000, -1, 500, 0};
	struct cairn_buf b = cairn_buf_init(1 << 20);
	chart_put_days(&b, "title", bytes, 4, 3);
	char *svg = text_of(&b);
	ck_assert_uint_eq(count(svg, "class=\"day\""), 3);
	ck_assert_ptr_nonnull(strstr(svg,
				     "1970-01-04 00:00 UTC: 1.0 kB</title><rect class=\"day\" x=\"751.0\" y=\"0.0\" "
				     "width=\"248.0\" height=\"80.0\"/>"));
	ck_assert_ptr_nonnull(strstr(svg, "x=\"251.0\" y=\"40.0\""));
	ck_assert_ptr_nonnull(strstr(svg, "x=\"1.0\" y=\"79.0\""));
	free(svg);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("charts");
	TCase *c = tcase_create("charts");
	tcase_add_loop_test(c, covers_all, 0, 3);
	tcase_add_test(c, leaves_out_empty_parts);
	tcase_add_test(c, follows_folders);
	tcase_add_loop_test(c, is_bounded, 0, 2);
	tcase_add_test(c, escapes_names);
	tcase_add_test(c, is_the_darker_the_more);
	tcase_add_test(c, shows_days);
	suite_add_tcase(s, c);
	return run_suite(s);
}
