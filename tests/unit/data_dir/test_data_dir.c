/* Opening a daemon's data folder: which files are made, what is refused, and what is closed again. */
#include "base/fd.h"
#include "data_dir/data_dir.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct tempdir dir;
static struct cairn_data_dir *data;
static struct cairn_diag diag;

static void setup(void)
{
	dir = tempdir_new();
	data = NULL;
	diag = (struct cairn_diag){0};
}

static void teardown(void)
{
	cairn_data_dir_freep(&data);
	tempdir_fini(&dir);
}

static enum cairn_status open_as(struct cairn_data_dir_options options)
{
	cairn_data_dir_freep(&data);
	diag = (struct cairn_diag){0};
	options.path = dir.path;
	return cairn_data_dir_open(&data, &options, &diag);
}

static void must_open(struct cairn_data_dir_options options)
{
	ck_assert_msg(open_as(options) == CAIRN_OK, "%s", diag.text);
	ck_assert_ptr_nonnull(cairn_data_dir_index(data));
	ck_assert_ptr_nonnull(cairn_data_dir_store(data));
	ck_assert_str_eq(cairn_data_dir_path(data), dir.path);
}

/* Tries to open the folder. @return the rule of the refusal */
static const char *refusal(struct cairn_data_dir_options options, enum cairn_status expected)
{
	ck_assert_int_eq(open_as(options), expected);
	ck_assert_ptr_null(data);
	return diag.rule;
}

static void put_object(void)
{
	static const struct cairn_hash HASH = {{1}};
	struct cairn_store_put *put;
	bool existed;
	ck_assert_int_eq(cairn_store_put_begin(cairn_data_dir_store(data), &put), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_commit(put, &HASH, &existed), CAIRN_OK);
}

static bool is_there(const char *name)
{
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, name);
	return access(path, F_OK) == 0;
}

static void read_store(char *out, size_t len)
{
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "store");
	FILE *f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	size_t n = fread(out, 1, len - 1, f);
	ck_assert_int_eq(fclose(f), 0);
	out[n] = '\0';
}

START_TEST(the_first_start_makes_all)
{
	must_open((struct cairn_data_dir_options){0});
	ck_assert(is_there("lock") && is_there("secret") && is_there("index.sqlite") && is_there("objects") &&
		  is_there("tmp"));
	struct cairn_secret first = *cairn_data_dir_secret(data);
	must_open((struct cairn_data_dir_options){0});
	ck_assert_mem_eq(first.bytes, cairn_data_dir_secret(data)->bytes, first.len);
}
END_TEST

START_TEST(one_process_has_it)
{
	struct cairn_data_dir *second;
	const struct cairn_data_dir_options to_write = {.path = dir.path},
					    to_read = {.path = dir.path, .read_only = true};
	must_open((struct cairn_data_dir_options){0});
	ck_assert_int_eq(cairn_data_dir_open(&second, &to_write, &diag), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, "data_dir.in_use");
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(cairn_data_dir_open(&second, &to_read, &diag), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, "data_dir.in_use");
	ck_assert_ptr_null(second);
}
END_TEST

START_TEST(whoever_fills_a_folder_locks_it_as_well)
{
	CLEANUP(cairn_fd_closep) int fd = -1;
	int second = -1;
	ck_assert_int_eq(cairn_data_dir_lock(dir.path, false, &fd, &diag), CAIRN_OK);
	ck_assert_int_eq(fd, -1); /* the file does not exist, and is not created */
	ck_assert(!is_there("lock"));
	ck_assert_int_eq(cairn_data_dir_lock(dir.path, true, &fd, &diag), CAIRN_OK);
	ck_assert_int_ge(fd, 0);
	ck_assert_str_eq(refusal((struct cairn_data_dir_options){0}, CAIRN_E_CONFLICT), "data_dir.in_use");
	ck_assert_int_eq(cairn_data_dir_lock(dir.path, true, &second, NULL), CAIRN_E_CONFLICT);
	ck_assert_int_eq(second, -1);
	cairn_fd_closep(&fd);
	must_open((struct cairn_data_dir_options){0});
	ck_assert_int_eq(cairn_data_dir_lock(dir.path, true, &fd, NULL), CAIRN_E_CONFLICT);
}
END_TEST

START_TEST(reading_makes_nothing)
{
	must_open((struct cairn_data_dir_options){0});
	cairn_data_dir_freep(&data);
	CLEANUP(tempdir_textp) char *lock = tempdir_path(&dir, "lock");
	CLEANUP(tempdir_textp) char *secret = tempdir_path(&dir, "secret");
	ck_assert_int_eq(unlink(lock), 0);
	ck_assert_int_eq(unlink(secret), 0);
	must_open((struct cairn_data_dir_options){.read_only = true});
	ck_assert_ptr_null(cairn_data_dir_secret(data));
	ck_assert(!is_there("lock") && !is_there("secret"));
}
END_TEST

START_TEST(half_a_backup_is_refused)
{
	must_open((struct cairn_data_dir_options){0});
	tempdir_write(&dir, CAIRN_DATA_DIR_RESTORING, "", 0);
	ck_assert_str_eq(refusal((struct cairn_data_dir_options){0}, CAIRN_E_CONFLICT), "data_dir.restoring");
	ck_assert_str_eq(refusal((struct cairn_data_dir_options){.read_only = true}, CAIRN_E_CONFLICT),
			 "data_dir.restoring");
}
END_TEST

START_TEST(a_lost_index_is_refused)
{
	must_open((struct cairn_data_dir_options){0});
	cairn_data_dir_freep(&data);
	CLEANUP(tempdir_textp) char *index = tempdir_path(&dir, "index.sqlite");
	ck_assert_int_eq(unlink(index), 0);
	must_open((struct cairn_data_dir_options){0}); /* no object was stored so far, so the index has lost nothing */
	put_object();
	cairn_data_dir_freep(&data);
	ck_assert_int_eq(unlink(index), 0);
	ck_assert_str_eq(refusal((struct cairn_data_dir_options){0}, CAIRN_E_CONFLICT), "data_dir.no_index");
	ck_assert(!is_there("index.sqlite"));
}
END_TEST

START_TEST(a_given_secret_is_not_made)
{
	CLEANUP(tempdir_textp) char *given = tempdir_path(&dir, "given");
	const struct cairn_data_dir_options options = {.secret_file = given};
	ck_assert_str_eq(refusal(options, CAIRN_E_IO), "secret.io");
	tempdir_write(&dir, "given", "0123456789abcdef0123456789abcdef", 32);
	must_open(options);
	ck_assert_mem_eq(cairn_data_dir_secret(data)->bytes, "0123456789abcdef", 16);
	ck_assert(!is_there("secret"));
}
END_TEST

START_TEST(another_store_may_be_named)
{
	must_open((struct cairn_data_dir_options){.store = "memory:"});
	ck_assert(cairn_store_is_remote(cairn_data_dir_store(data)));
	put_object();
	ck_assert(!is_there("objects"));
	ck_assert(is_there("tmp"));
	ck_assert_str_eq(refusal((struct cairn_data_dir_options){.store = "swift://bucket"}, CAIRN_E_USAGE),
			 "store.url");
}
END_TEST

/* If a store did not answer, its name stays in the folder, because the store may have accepted the folder. */
START_TEST(a_store_that_does_not_answer_is_kept)
{
	static const char STORE[] = "s3://bucket/p?endpoint=http://127.0.0.1:9";
	char kept[2][sizeof(STORE) + 64];
	ck_assert_int_eq(setenv("AWS_ACCESS_KEY_ID", "key", 1), 0);
	ck_assert_int_eq(setenv("AWS_SECRET_ACCESS_KEY", "secret", 1), 0);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_str_eq(refusal((struct cairn_data_dir_options){.store = STORE}, CAIRN_E_BUSY),
				 "store.silent");
		ck_assert(is_there("store"));
		read_store(kept[i], sizeof(kept[i]));
	}
	ck_assert_str_eq(kept[0], kept[1]);
	ck_assert_int_eq(strncmp(kept[0], STORE, strlen(STORE)), 0);
}
END_TEST

/* A store that refused has not accepted the folder, so another store may be named. */
START_TEST(a_store_that_refuses_is_not_kept)
{
	ck_assert_int_eq(unsetenv("AWS_ACCESS_KEY_ID") | unsetenv("AWS_SHARED_CREDENTIALS_FILE"), 0);
	ck_assert_str_eq(refusal((struct cairn_data_dir_options){.store = "s3://bucket"}, CAIRN_E_USAGE),
			 "store.credentials");
	ck_assert(!is_there("store"));
	must_open((struct cairn_data_dir_options){0});
}
END_TEST

/* The URL of an index is not stored before the index has answered. */
START_TEST(an_index_that_does_not_answer)
{
	static const char INDEX[] = "postgres://127.0.0.1:1/x";
	ck_assert_str_eq(refusal((struct cairn_data_dir_options){.index = INDEX}, CAIRN_E_BUSY), "index.silent");
	ck_assert(!is_there("index") && !is_there("index.sqlite"));
	must_open((struct cairn_data_dir_options){0});
	ck_assert_str_eq(refusal((struct cairn_data_dir_options){.index = INDEX}, CAIRN_E_CONFLICT), "data_dir.index");
}
END_TEST

/* A folder that names an index elsewhere accepts no other index. */
START_TEST(an_index_elsewhere)
{
	static const char TEXT[] = "postgres://127.0.0.1:1/x\n0123456789abcdef0123456789abcdef\n";
	char url[CAIRN_DATA_DIR_URL_BYTES];
	tempdir_write(&dir, "index", TEXT, sizeof(TEXT) - 1);
	ck_assert_str_eq(refusal((struct cairn_data_dir_options){0}, CAIRN_E_CONFLICT), "data_dir.index");
	ck_assert_str_eq(refusal((struct cairn_data_dir_options){.read_only = true}, CAIRN_E_CONFLICT),
			 "data_dir.index");
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(cairn_data_dir_find(dir.path, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_data_dir_index_url(url, dir.path, &diag), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, "data_dir.index");
	ck_assert(!is_there("index.sqlite"));
	tempdir_write(&dir, "index", TEXT, sizeof(TEXT) - 2);
	ck_assert_str_eq(refusal((struct cairn_data_dir_options){0}, CAIRN_E_FORMAT), "data_dir.index");
}
END_TEST

START_TEST(only_a_daemons_folder_is_found)
{
	CLEANUP(tempdir_textp) char *absent = tempdir_path(&dir, "absent");
	ck_assert_int_eq(cairn_data_dir_find(absent, &diag), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_data_dir_find(dir.path, &diag), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(diag.rule, "data_dir.missing");
	must_open((struct cairn_data_dir_options){0});
	ck_assert_int_eq(cairn_data_dir_find(dir.path, &diag), CAIRN_OK);
}
END_TEST

START_TEST(a_path_may_be_too_long)
{
	char path[6000];
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	const struct cairn_data_dir_options options = {.path = path, .read_only = true};
	ck_assert_int_eq(cairn_data_dir_open(&data, &options, &diag), CAIRN_E_USAGE);
	ck_assert_str_eq(diag.rule, "data_dir.path");
	ck_assert_int_eq(cairn_data_dir_find(path, NULL), CAIRN_E_USAGE);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("data_dir");
	TCase *tc = tcase_create("data_dir");
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_first_start_makes_all);
	tcase_add_test(tc, one_process_has_it);
	tcase_add_test(tc, whoever_fills_a_folder_locks_it_as_well);
	tcase_add_test(tc, reading_makes_nothing);
	tcase_add_test(tc, half_a_backup_is_refused);
	tcase_add_test(tc, a_lost_index_is_refused);
	tcase_add_test(tc, a_given_secret_is_not_made);
	tcase_add_test(tc, another_store_may_be_named);
	tcase_add_test(tc, a_store_that_does_not_answer_is_kept);
	tcase_add_test(tc, a_store_that_refuses_is_not_kept);
	tcase_add_test(tc, an_index_that_does_not_answer);
	tcase_add_test(tc, an_index_elsewhere);
	tcase_add_test(tc, only_a_daemons_folder_is_found);
	tcase_add_test(tc, a_path_may_be_too_long);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
