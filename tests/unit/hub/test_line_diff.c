#include "hub/line_diff.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 12, ROUNDS = 2000, TEXT = 4096 };

struct told {
	char text[TEXT]; /* "-3 a" for each line */
	unsigned n_other;
	unsigned stop_after; /* stop after this many lines; 0: never */
	unsigned n;
};

static bool take(void *ctx, const struct cairn_diff_line *line)
{
	struct told *told = ctx;
	size_t len = strlen(told->text);
	ck_assert_int_lt(snprintf(told->text + len, TEXT - len, "%c%u,%u %.*s|", " -+"[line->kind], line -> before,
				  line -> after, (int)line -> len, line -> text),
			 (int)(TEXT - len));
	told->n_other += line->kind != CAIRN_LINE_SAME;
	return ++told->n != told->stop_after;
}

static void is_told(const char *before, const char *after, uint32_t context, const char *expected)
{
	struct told told = {0};
	ck_assert_int_eq(cairn_line_diff(before, strlen(before), after, strlen(after), context, take, &told), CAIRN_OK);
	ck_assert_str_eq(told.text, expected);
}

START_TEST(differing_lines_are_reported)
{
	is_told("", "", 3, "");
	is_told("a\nb\n", "a\nb\n", 3, "");
	is_told("a\nb\n", "a\nb", 3, ""); /* a missing end of the last line does not count */
	is_told("", "a\nb", 3, "+1,1 a|+1,2 b|");
	is_told("a\n\nb\n", "", 3, "-1,1 a|-2,1 |-3,1 b|");
	is_told("a\nb\nc\n", "a\nx\nc\n", 3, " 1,1 a|-2,2 b|+3,2 x| 3,3 c|");
	is_told("a\nb\nc\n", "a\nx\nc\n", 0, "-2,2 b|+3,2 x|");
	is_told("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\nx\n4\n5\n6\n7\n8\ny\n", 1,
		" 2,2 2|-3,3 3|+4,3 x| 4,4 4| 8,8 8|-9,9 9|+10,9 y|");
	is_told("1\n2\n3\n4\n", "x\n2\n3\ny\n", 1, "-1,1 1|+2,1 x| 2,2 2| 3,3 3|-4,4 4|+5,4 y|");
}
END_TEST

START_TEST(a_visitor_ends_it)
{
	struct told told = {.stop_after = 2};
	ck_assert_int_eq(cairn_line_diff("a\nb\nc\n", 6, "", 0, 3, take, &told), CAIRN_OK);
	ck_assert_uint_eq(told.n, 2);
}
END_TEST

/* Returns the number of edits of the shortest way, from the full table. */
static unsigned shortest(const char *a, unsigned n_a, const char *b, unsigned n_b)
{
	unsigned table[LINES + 1][LINES + 1];
	for (unsigned i = 0; i <= n_a; i++)
		for (unsigned j = 0; j <= n_b; j++) {
			if (i == 0 || j == 0)
				table[i][j] = i + j;
			else if (a[i - 1] == b[j - 1])
				table[i][j] = table[i - 1][j - 1];
			else
				table[i][j] =
					1 + (table[i - 1][j] < table[i][j - 1] ? table[i - 1][j] : table[i][j - 1]);
		}
	return table[n_a][n_b];
}

static unsigned letters(char *out, char *text)
{
	unsigned n = (unsigned)(rand() % (LINES + 1));
	for (unsigned i = 0; i < n; i++) {
		out[i] = (char)('a' + rand() % 3);
		text[2 * i] = out[i];
		text[2 * i + 1] = '\n';
	}
	return n;
}

/* When all lines are reported, those not removed are the second text, and those not added the first. */
START_TEST(the_way_is_right_and_shortest)
{
	srand(7);
	for (unsigned round = 0; round < ROUNDS; round++) {
		char a[LINES], b[LINES], text_a[2 * LINES], text_b[2 * LINES], got_a[LINES + 1], got_b[LINES + 1];
		unsigned n_a = letters(a, text_a), n_b = letters(b, text_b), at_a = 0, at_b = 0;
		struct told told = {0};
		ck_assert_int_eq(cairn_line_diff(text_a, 2 * n_a, text_b, 2 * n_b, 2 * LINES, take, &told), CAIRN_OK);
		ck_assert_uint_eq(told.n_other, shortest(a, n_a, b, n_b));
		if (told.n_other == 0)
			continue;
		for (const char *at = told.text; *at; at = strchr(at, '|') + 1) {
			char letter = strchr(at, '|')[-1];
			if (*at != '+')
				got_a[at_a++] = letter;
			if (*at != '-')
				got_b[at_b++] = letter;
		}
		ck_assert_uint_eq(at_a, n_a);
		ck_assert_uint_eq(at_b, n_b);
		ck_assert_mem_eq(got_a, a, n_a);
		ck_assert_mem_eq(got_b, b, n_b);
	}
}
END_TEST

static bool count(void *ctx, const struct cairn_diff_line *line)
{
	unsigned *n = ctx;
	n[line->kind]++;
	return true;
}

/* Beyond the maximum of edits, all lines in between are reported as changed, even lines that are in both texts. */
START_TEST(many_edits)
{
	for (unsigned edits = CAIRN_LINE_DIFF_EDITS_MAX; edits <= CAIRN_LINE_DIFF_EDITS_MAX + 2; edits += 2) {
		char a[8 * CAIRN_LINE_DIFF_EDITS_MAX] = "", b[8 * CAIRN_LINE_DIFF_EDITS_MAX] = "";
		size_t len_a = 0, len_b = 0;
		unsigned n[3] = {0};
		for (unsigned i = 0; i < edits / 2; i++) {
			len_a += (size_t)snprintf(a + len_a, sizeof(a) - len_a, "a%u\nx\n", i);
			len_b += (size_t)snprintf(b + len_b, sizeof(b) - len_b, "b%u\nx\n", i);
		}
		ck_assert_int_eq(cairn_line_diff(a, len_a, b, len_b, 0, count, n), CAIRN_OK);
		bool all = edits > CAIRN_LINE_DIFF_EDITS_MAX;
		ck_assert_uint_eq(n[CAIRN_LINE_ADDED], all ? edits - 1 : edits / 2);
		ck_assert_uint_eq(n[CAIRN_LINE_REMOVED], n[CAIRN_LINE_ADDED]);
	}
}
END_TEST

START_TEST(too_long)
{
	char *text = calloc(1, CAIRN_LINE_DIFF_BYTES_MAX + 1);
	unsigned n[3] = {0};
	ck_assert_ptr_nonnull(text);
	memset(text, '\n', CAIRN_LINE_DIFF_BYTES_MAX);
	ck_assert_int_eq(cairn_line_diff(text, CAIRN_LINE_DIFF_BYTES_MAX, "", 0, 0, count, n), CAIRN_OK);
	ck_assert_uint_eq(n[CAIRN_LINE_REMOVED], CAIRN_LINE_DIFF_BYTES_MAX);
	ck_assert_int_eq(cairn_line_diff(text, CAIRN_LINE_DIFF_BYTES_MAX, "a", 1, 0, count, n), CAIRN_E_LIMIT);
	ck_assert_int_eq(cairn_line_diff(text, CAIRN_LINE_DIFF_BYTES_MAX + 1, "", 0, 0, count, n), CAIRN_E_LIMIT);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("line_diff");
	TCase *tcase = tcase_create("line_diff");
	tcase_add_test(tcase, differing_lines_are_reported);
	tcase_add_test(tcase, a_visitor_ends_it);
	tcase_add_test(tcase, the_way_is_right_and_shortest);
	tcase_add_test(tcase, many_edits);
	tcase_add_test(tcase, too_long);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
