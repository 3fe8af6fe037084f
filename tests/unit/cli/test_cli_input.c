/* A file that the command maps, and how the command ends when the file is truncated meanwhile. */
#include "cli/common/cli.h"
#include "cli/common/input.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <stdlib.h>
#include <unistd.h>

static uint8_t first_of_last_page(const struct input *in)
{
	return ((const volatile uint8_t *)in->bytes)[in->len - 1];
}

static void open_two_pages(struct tempdir *dir, struct input *in, char **path)
{
	static uint8_t bytes[8192] = {[8191] = 7};
	tempdir_write(dir, "file", bytes, sizeof(bytes));
	*path = tempdir_path(dir, "file");
	ck_assert_int_eq(input_open(in, *path, NULL), CAIRN_OK);
	ck_assert_uint_eq(in->len, sizeof(bytes));
}

START_TEST(a_file_is_read)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(tempdir_textp) char *path = NULL;
	CLEANUP(input_fini) struct input in = {0};
	open_two_pages(&dir, &in, &path);
	ck_assert_uint_eq(first_of_last_page(&in), 7);
}
END_TEST

/* The command exits with 74. No signal ends it, so there is no core. */
START_TEST(a_file_is_cut_while_it_is_read)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(tempdir_textp) char *path = NULL;
	CLEANUP(input_fini) struct input in = {0};
	open_two_pages(&dir, &in, &path);
	ck_assert_int_eq(truncate(path, 10), 0);
	tempdir_fini(&dir);
	exit(first_of_last_page(&in));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cli_input");
	TCase *t = tcase_create("input");
	tcase_add_test(t, a_file_is_read);
	tcase_add_exit_test(t, a_file_is_cut_while_it_is_read, CLI_EXIT_IO);
	suite_add_tcase(s, t);
	return run_suite(s);
}
