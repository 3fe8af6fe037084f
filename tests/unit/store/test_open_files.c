#include "store/files/open_files.h"

#include "base/fd.h"
#include "support/run.h"

#include <check.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the hash of an object. Objects with the same place share a slot, others do not. */
static struct cairn_hash hash_of(uint8_t place, uint8_t number)
{
	return (struct cairn_hash){{place, 0, 0, 0, 0, 0, 0, 0, number}};
}

static int open_one(void)
{
	int fd = memfd_create("object", MFD_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	return fd;
}

/* Returns the inode number that is cached for the object; 0: it is not cached. */
static ino_t kept(struct store_open_files *files, const struct cairn_hash *hash, uint64_t *n_forgotten)
{
	struct stat st;
	int fd = store_open_files_get(files, hash, n_forgotten);
	if (fd < 0)
		return 0;
	ck_assert_int_eq(fstat(fd, &st), 0);
	cairn_fd_closep(&fd);
	return st.st_ino;
}

/* Does what a caller does that opens an object. */
static ino_t keep(struct store_open_files *files, const struct cairn_hash *hash)
{
	uint64_t n_forgotten;
	struct stat st;
	(void)kept(files, hash, &n_forgotten);
	int fd = open_one();
	ck_assert_int_eq(fstat(fd, &st), 0);
	store_open_files_keep(files, hash, fd, n_forgotten);
	cairn_fd_closep(&fd);
	return st.st_ino;
}

START_TEST(a_kept_file_is_found_until_another_takes_its_place)
{
	struct store_open_files files;
	struct cairn_hash one = hash_of(1, 1), same_place = hash_of(1, 2), other_place = hash_of(2, 1);
	uint64_t n;
	store_open_files_init(&files);
	ck_assert_uint_eq(kept(&files, &one, &n), 0);
	ino_t first = keep(&files, &one), other = keep(&files, &other_place);
	ck_assert_uint_eq(kept(&files, &one, &n), first);
	ck_assert_uint_eq(kept(&files, &same_place, &n), 0);
	ino_t second = keep(&files, &same_place);
	ck_assert_uint_eq(kept(&files, &same_place, &n), second);
	ck_assert_uint_eq(kept(&files, &one, &n), 0);
	ck_assert_uint_eq(kept(&files, &other_place, &n), other);
	store_open_files_fini(&files);
}
END_TEST

START_TEST(a_forgotten_file_is_not_found)
{
	struct store_open_files files;
	struct cairn_hash one = hash_of(1, 1), same_place = hash_of(1, 2);
	uint64_t n;
	store_open_files_init(&files);
	ino_t first = keep(&files, &one);
	store_open_files_forget(&files, &same_place);
	ck_assert_uint_eq(kept(&files, &one, &n), first);
	store_open_files_forget(&files, &one);
	ck_assert_uint_eq(kept(&files, &one, &n), 0);
	store_open_files_fini(&files);
}
END_TEST

/* The object's name existed when it was opened, and has been removed since. */
START_TEST(a_file_forgotten_since_it_was_opened_is_not_kept)
{
	struct store_open_files files;
	struct cairn_hash one = hash_of(1, 1), other_place = hash_of(2, 1);
	uint64_t n;
	store_open_files_init(&files);
	ck_assert_uint_eq(kept(&files, &one, &n), 0);
	int fd = open_one();
	store_open_files_forget(&files, &one);
	store_open_files_keep(&files, &one, fd, n);
	ck_assert_uint_eq(kept(&files, &one, &n), 0); /* n is up to date */
	store_open_files_forget(&files, &other_place);
	store_open_files_keep(&files, &one, fd, n);
	ck_assert_uint_ne(kept(&files, &one, &n), 0);
	cairn_fd_closep(&fd);
	store_open_files_fini(&files);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("open_files");
	TCase *t = tcase_create("open_files");
	tcase_add_test(t, a_kept_file_is_found_until_another_takes_its_place);
	tcase_add_test(t, a_forgotten_file_is_not_found);
	tcase_add_test(t, a_file_forgotten_since_it_was_opened_is_not_kept);
	suite_add_tcase(s, t);
	return run_suite(s);
}
