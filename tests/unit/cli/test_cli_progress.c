/* The text of a long command's progress bar, at a given time and width. */
#include "cli/common/progress.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

static struct progress ten_seconds_ago(uint64_t total_bytes)
{
	return (struct progress){.total_bytes = total_bytes,
				 .verb = "sent",
				 .name = "model.bin",
				 .marks = {{.at_ms = 1000, .bytes = 0}, {.at_ms = 9000, .bytes = 80 * MIB}}};
}

static const char *line_of(const struct progress *p, uint64_t done, size_t columns)
{
	static char line[512];
	ck_assert_uint_eq(progress_line(p, 11000, done, 50 * MIB, columns, line, sizeof(line)), strlen(line));
	return line;
}

START_TEST(a_wide_terminal_shows_the_whole_line)
{
	struct progress p = ten_seconds_ago(400 * MIB);
	ck_assert_str_eq(
		line_of(&p, 100 * MIB, 200),
		"[#######                       ] 100.0 MiB of 400.0 MiB, 50.0 MiB sent, 10.0 MiB/s, 30 s left, "
		"model.bin");
	p.total_bytes = UINT64_C(100) * 1024 * MIB;
	ck_assert_ptr_nonnull(strstr(line_of(&p, 100 * MIB, 200), ", 2 h 50 min left, "));
	p.total_bytes = 10 * 1024 * MIB;
	ck_assert_ptr_nonnull(strstr(line_of(&p, 100 * MIB, 200), ", 17 min left, "));
}
END_TEST

START_TEST(never_wider_than_the_terminal)
{
	struct progress p = ten_seconds_ago(400 * MIB);
	p.name = "b\xc3\xa4r/\x1b[2J/and/a/name/that/goes/on/and/on/and/on/and/on/and/on/and/on/and/on/and/on/and/on";
	for (size_t columns = 10; columns < 190; columns++) {
		size_t wide = 0;
		for (const char *c = line_of(&p, 100 * MIB, columns); *c; c++)
			wide += ((unsigned char)*c & 0xC0U) != 0x80U;
		ck_assert_uint_le(wide, columns);
	}
	ck_assert_ptr_null(strchr(line_of(&p, 100 * MIB, 150), '\x1b')); /* the line has no escape sequences */
	p.name = "model.bin";
	ck_assert_str_eq(line_of(&p, 100 * MIB, 79),
			 "[####            ] 100.0 MiB of 400.0 MiB, 50.0 MiB sent, 10.0 MiB/s, 30 s left");
}
END_TEST

START_TEST(unknown_figures_are_not_shown)
{
	struct progress p = ten_seconds_ago(0);
	ck_assert_str_eq(line_of(&p, 100 * MIB, 79), "100.0 MiB, 50.0 MiB sent, 10.0 MiB/s, model.bin");
	p.verb = NULL;
	p.name = NULL;
	p.marks[0].at_ms = 10900; /* too short a time to measure a rate */
	ck_assert_str_eq(line_of(&p, 100 * MIB, 79), "100.0 MiB");
	p.total_bytes = 400 * MIB;
	memset(p.marks, 0, sizeof(p.marks)); /* nothing was drawn so far */
	ck_assert_str_eq(line_of(&p, 500 * MIB, 79),
			 "[##############################] 500.0 MiB of 500.0 MiB"); /* the file has grown */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cli_progress");
	TCase *tc = tcase_create("cli_progress");
	tcase_add_test(tc, a_wide_terminal_shows_the_whole_line);
	tcase_add_test(tc, never_wider_than_the_terminal);
	tcase_add_test(tc, unknown_figures_are_not_shown);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
