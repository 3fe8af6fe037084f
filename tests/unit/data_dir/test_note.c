/* Notes: a written note can be read, and files that are not notes are refused. */
#include "data_dir/note.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tempdir dir;
static int64_t a, b;

static void setup(void)
{
	dir = tempdir_new();
	CLEANUP(tempdir_textp) char *tmp = tempdir_path(&dir, "tmp"); /* every data folder has a folder tmp */
	ck_assert_int_eq(mkdir(tmp, 0700), 0);
	a = 1;
	b = 2;
}

static void teardown(void)
{
	tempdir_fini(&dir);
}

static enum cairn_status read_both(void)
{
	const struct cairn_note_field fields[] = {{"a", &a}, {"longer_2", &b}};
	return cairn_note_read(dir.path, "n", fields, 2);
}

static void write_both(int64_t first, int64_t second)
{
	const struct cairn_note_field fields[] = {{"a", &first}, {"longer_2", &second}};
	ck_assert_int_eq(cairn_note_write(dir.path, "n", fields, 2), CAIRN_OK);
}

static void put(const char *text)
{
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "notes/n");
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

START_TEST(a_note_is_read_as_it_was_written)
{
	ck_assert_int_eq(read_both(), CAIRN_E_NOT_FOUND);
	write_both(INT64_MIN, INT64_MAX);
	ck_assert_int_eq(read_both(), CAIRN_OK);
	ck_assert_int_eq(a, INT64_MIN);
	ck_assert_int_eq(b, INT64_MAX);
	write_both(0, -7);
	ck_assert_int_eq(read_both(), CAIRN_OK);
	ck_assert_int_eq(a, 0);
	ck_assert_int_eq(b, -7);
	ck_assert_int_eq(tempdir_count(&dir, "notes"), 1);
}
END_TEST

START_TEST(others_fields)
{
	write_both(3, 4);
	put("c 5\na 6\n");
	ck_assert_int_eq(read_both(), CAIRN_OK);
	ck_assert_int_eq(a, 6);
	ck_assert_int_eq(b, 2);
}
END_TEST

START_TEST(malformed_notes_are_ignored)
{
	static const char *const BAD[] = {"",         "a 3",       "a 3\nlonger_2", "a\n",
					  "a 3\nx\n", "a 3 4\n",   "a three\n",     "a 3\na 9223372036854775808\n",
					  "a \n",     "a 3\n\n\n", "a 3\n ",        NULL};
	write_both(3, 4);
	for (size_t i = 0; BAD[i]; i++) {
		put(BAD[i]);
		ck_assert_msg(read_both() == CAIRN_E_NOT_FOUND, "%s", BAD[i]);
		ck_assert_int_eq(a, 1);
		ck_assert_int_eq(b, 2);
	}
}
END_TEST

START_TEST(a_file_in_place_of_the_notes_folder_is_an_error)
{
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "notes");
	const struct cairn_note_field field = {"a", &a};
	FILE *f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(cairn_note_write(dir.path, "n", &field, 1), CAIRN_E_IO);
	ck_assert_int_eq(read_both(), CAIRN_E_IO);
}
END_TEST

/* root writes notes into a folder where another user may put links. */
START_TEST(links_are_not_followed)
{
	static const char *const LINKS[] = {"tmp/n", "notes/n", "tmp", "notes"};
	CLEANUP(tempdir_textp) char *outside = tempdir_path(&dir, "outside");
	CLEANUP(tempdir_textp) char *victim = tempdir_path(&dir, "outside/n");
	CLEANUP(tempdir_textp) char *moved = tempdir_path(&dir, "moved");
	ck_assert_int_eq(mkdir(outside, 0700), 0);
	for (size_t i = 0; i < 4; i++) {
		struct stat st;
		const struct cairn_note_field field = {"a", &a};
		bool folder = !strchr(LINKS[i], '/');
		CLEANUP(tempdir_textp) char *link = tempdir_path(&dir, LINKS[i]);
		write_both(3, 4);
		tempdir_write(&dir, "outside/n", "precious", 8);
		if (folder)
			ck_assert_int_eq(rename(link, moved), 0);
		else
			(void)!unlink(link);
		ck_assert_int_eq(symlink(folder ? outside : victim, link), 0);
		if (strncmp(LINKS[i], "notes", 5) == 0) {
			tempdir_write(&dir, "outside/n", "a 5\nb 6\n", 8);
			ck_assert_int_eq(read_both(), CAIRN_E_IO);
		}
		ck_assert_int_eq(cairn_note_write(dir.path, "n", &field, 1), folder ? CAIRN_E_IO : CAIRN_OK);
		ck_assert_int_eq(stat(victim, &st), 0);
		ck_assert_int_eq(st.st_size, 8);
		ck_assert_int_eq(tempdir_count(&dir, "outside"), 1);
		if (folder) {
			ck_assert_int_eq(unlink(link), 0);
			ck_assert_int_eq(rename(moved, link), 0);
		}
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("note");
	TCase *tc = tcase_create("note");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_note_is_read_as_it_was_written);
	tcase_add_test(tc, others_fields);
	tcase_add_test(tc, malformed_notes_are_ignored);
	tcase_add_test(tc, a_file_in_place_of_the_notes_folder_is_an_error);
	tcase_add_test(tc, links_are_not_followed);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
