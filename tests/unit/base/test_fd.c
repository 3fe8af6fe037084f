/* Files on file systems that lack some calls. */
#include "base/fd.h"
#include "support/run.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refuse; /* errno of a file system that lacks RENAME_NOREPLACE; 0: it has it */

/* Replaces the C library's function in this program. */
int renameat2(int oldfd, const char *old, int newfd, const char *new, unsigned flags)
{
	if (refuse && flags) {
		errno = refuse;
		return -1;
	}
	return (int)syscall(SYS_renameat2, oldfd, old, newfd, new, flags);
}

static char folder[] = "/tmp/cairn-fd-XXXXXX";
static int dir;

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dir, 0);
}

static void teardown(void)
{
	(void)unlinkat(dir, "from", 0);
	(void)unlinkat(dir, "to", 0);
	(void)close(dir);
	(void)rmdir(folder);
}

static void make(const char *name, const char *text)
{
	CLEANUP(cairn_fd_closep) int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ck_assert_int_eq(cairn_fd_write_all(fd, text, 1), CAIRN_OK);
}

static int first_byte(const char *name)
{
	CLEANUP(cairn_fd_closep) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	char c;
	return fd >= 0 && cairn_fd_read_at(fd, 0, &c, 1) == CAIRN_OK ? c : -1;
}

START_TEST(rename_new_moves_and_never_replaces)
{
	static const int REFUSALS[] = {0, EINVAL, ENOSYS, EOPNOTSUPP};
	refuse = REFUSALS[_i];
	make("from", "a");
	ck_assert_int_eq(cairn_fd_rename_new(dir, "from", dir, "to"), CAIRN_OK);
	ck_assert_int_eq(first_byte("from"), -1);
	ck_assert_int_eq(first_byte("to"), 'a');
	make("from", "b");
	ck_assert_int_eq(cairn_fd_rename_new(dir, "from", dir, "to"), CAIRN_E_IO);
	ck_assert_int_eq(errno, EEXIST);
	ck_assert_int_eq(first_byte("from"), 'b');
	ck_assert_int_eq(first_byte("to"), 'a');
	(void)unlinkat(dir, "to", 0);
	(void)unlinkat(dir, "from", 0);
	ck_assert_int_eq(cairn_fd_rename_new(dir, "from", dir, "to"), CAIRN_E_IO);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(other_refusals_are_told)
{
	refuse = ENOSPC;
	make("from", "a");
	ck_assert_int_eq(cairn_fd_rename_new(dir, "from", dir, "to"), CAIRN_E_FULL);
	ck_assert_int_eq(first_byte("from"), 'a');
	ck_assert_int_eq(first_byte("to"), -1);
}
END_TEST

/* _i: one bit for each standard descriptor: it is closed */
START_TEST(no_file_becomes_standard_output)
{
	char c = 'x';
	for (int fd = 0; fd < 3; fd++)
		if (_i >> fd & 1)
			(void)close(fd);
	bool kept = cairn_fd_keep_standard();
	make("from", "a");
	ssize_t read_0 = _i & 1 ? read(0, &c, 1) : -1, written_1 = _i & 2 ? write(1, &c, 1) : -1,
		written_2 = _i & 4 ? write(2, &c, 1) : -1;
	CLEANUP(cairn_fd_closep) int next = openat(dir, "from", O_RDONLY | O_CLOEXEC);
	ck_assert(kept);
	ck_assert_int_eq(read_0, -1);
	ck_assert_int_eq(written_1, -1);
	ck_assert_int_eq(written_2, -1);
	ck_assert_int_gt(next, 2);
	ck_assert_int_eq(first_byte("from"), 'a');
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fd");
	TCase *tc = tcase_create("fd");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, rename_new_moves_and_never_replaces, 0, 4);
	tcase_add_test(tc, other_refusals_are_told);
	tcase_add_loop_test(tc, no_file_becomes_standard_output, 0, 8);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
