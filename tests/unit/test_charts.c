#include "server/page/charts.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 60 };

/* Ended by a zero; the caller's. */
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

/* The area of all fields, each of which is within the map. */
static double area_of(const char *svg)
{
	double sum = 0;
	for (const char *at = svg; (at = strstr(at, "<rect class=\"t")); at++) {
		double x, y, width, height;
		unsigned colour;
		ck_assert_int_eq(sscanf(at, "<rect class=\"t%u\" x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"/>",
					&colour, &x, &y, &width, &height),
				 5);
		ck_assert_uint_lt(colour, CHARTS_COLOURS);
		ck_assert(x >= 0 && y >= 0 && x + width <= 1000.3 && y + height <= 380.3);
		sum += width * height;
	}
	return sum;
}

static char *map_of(const struct chart_part *parts, size_t n)
{
	struct cairn_buf b = cairn_buf_init(1 << 20);
	chart_put_treemap(&b, "title", parts, n);
	return text_of(&b);
}

START_TEST(covers_all)
{
	struct chart_part parts[N];
	for (unsigned i = 0; i < N; i++) /* alike, falling, and falling fast */
		parts[i] = (struct chart_part){"name", "group", _i == 0 ? 7 : _i == 1 ? 1000 - i : UINT64_MAX / N >> i};
	for (unsigned n = 1; n <= N; n++) {
		char *svg = map_of(parts, n);
		ck_assert_double_eq_tol(area_of(svg), 380000, 12000);
		ck_assert_uint_le(count(svg, "<rect"), CHARTS_PARTS_MAX);
		ck_assert_int_eq(strstr(svg, ">others:") != NULL, n > CHARTS_PARTS_MAX);
		free(svg);
	}
}
END_TEST

START_TEST(leaves_out_what_is_empty)
{
	const struct chart_part parts[] = {{"a", "a", 5}, {"b", "b", 0}};
	char *svg = map_of(parts, 2);
	ck_assert_uint_eq(count(svg, "<rect"), 1);
	free(svg);
	struct cairn_buf b = cairn_buf_init(64);
	chart_put_treemap(&b, "title", parts + 1, 1);
	chart_put_treemap(&b, "title", parts, 0);
	ck_assert_uint_eq(b.len, 0);
}
END_TEST

START_TEST(escapes_names)
{
	static const char *const NAMES[] = {"</title><script>alert(1)</script>", "\" onload=\"x"};
	const struct chart_part parts[] = {{NAMES[0], NAMES[0], 5}, {NAMES[1], NAMES[1], 5}};
	const uint64_t bytes[] = {0, 5, 5, 0};
	struct cairn_buf b = cairn_buf_init(1 << 20);
	chart_put_treemap(&b, NAMES[1], parts, 2);
	chart_put_matrix(&b, NAMES[1], NAMES, 2, bytes);
	char *svg = text_of(&b);
	ck_assert_ptr_null(strstr(svg, "<script>"));
	ck_assert_ptr_null(strstr(svg, "\" onload"));
	ck_assert_ptr_nonnull(strstr(svg, "&lt;script&gt;"));
	free(svg);
}
END_TEST

/* The most is darkest; each step is a quarter of the one before. */
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

/* The newest on the right; the highest has all the height; a day that nobody saw has no column. */
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
	tcase_add_test(c, leaves_out_what_is_empty);
	tcase_add_test(c, escapes_names);
	tcase_add_test(c, is_the_darker_the_more);
	tcase_add_test(c, shows_days);
	suite_add_tcase(s, c);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
