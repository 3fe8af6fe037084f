/* Stores by URL, and tests of the store of files alone. tests/contract/store_contract.c has that of all stores. */
#include "base/fd.h"
#include "store/tmpfile.h"
#include "support/run.h"
#include "support/store_fixture.h"

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void fixture_open(struct store_fixture *f)
{
	char url[4096];
	(void)snprintf(url, sizeof(url), "files:%s", f->dir.path);
	ck_assert_int_eq(cairn_store_open(&f->store, url, NULL, NULL), CAIRN_OK);
}

static struct store_fixture fixture_new(void)
{
	struct store_fixture f = {.dir = tempdir_new()};
	fixture_open(&f);
	return f;
}

START_TEST(unknown_urls_are_refused_by_name)
{
	static const char *const URLS[] = {"swift://bucket", "", "files", "/var/lib/cairn", "memory:here"};
	for (size_t i = 0; i < sizeof(URLS) / sizeof(URLS[0]); i++) {
		struct cairn_store *store = NULL;
		struct cairn_diag diag = {0};
		ck_assert_int_eq(cairn_store_open(&store, URLS[i], NULL, &diag), CAIRN_E_USAGE);
		ck_assert_ptr_null(store);
		ck_assert_str_eq(diag.rule, "store.url");
	}
	struct cairn_store *store = NULL;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_store_open(&store, "swift://bucket", NULL, &diag), CAIRN_E_USAGE);
	ck_assert_ptr_nonnull(strstr(diag.text, "swift://bucket"));
}
END_TEST

START_TEST(an_aborted_put_leaves_no_file)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	CLEANUP(cairn_store_put_abortp) struct cairn_store_put *p = NULL;
	bool existed = false;
	ck_assert_int_eq(cairn_store_put_begin(f.store, &p), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_write(p, (const uint8_t *)"hello", 5), CAIRN_OK);
	cairn_store_put_abortp(&p);
	ck_assert_int_eq(tempdir_count(&f.dir, "."), 0);
	store_put_new(f.store, "a", "packed one way");
	ck_assert_int_eq(store_put(f.store, "a", "packed", &existed), CAIRN_OK);
	ck_assert(existed);
	ck_assert_int_eq(tempdir_count(&f.dir, "."), 1);
}
END_TEST

/* After a failed write, a put cannot be committed, whatever is written later. */
START_TEST(a_failed_write_is_not_forgotten)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	struct cairn_store_put *p = NULL;
	struct cairn_hash hash = store_hash_of("a");
	struct rlimit all, few;
	bool existed = false;
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &all), 0);
	few = (struct rlimit){.rlim_cur = 2, .rlim_max = all.rlim_max};
	ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	ck_assert_int_eq(cairn_store_put_begin(f.store, &p), CAIRN_OK);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &few), 0);
	enum cairn_status status = cairn_store_put_write(p, (const uint8_t *)"hello", 5);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &all), 0);
	ck_assert_int_ne(status, CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_write(p, (const uint8_t *)" world", 6), status);
	ck_assert_int_eq(cairn_store_put_commit(p, &hash, &existed), status);
	ck_assert_uint_eq(store_sum(f.store), 0);
	ck_assert_int_eq(tempdir_count(&f.dir, "."), 0);
}
END_TEST

START_TEST(objects_set_aside_are_kept)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	struct cairn_hash hash = store_hash_of("a");
	for (int i = 1; i <= 3; i++) {
		store_put_new(f.store, "a", "damaged");
		ck_assert_int_eq(cairn_store_set_aside(f.store, &hash), CAIRN_OK);
		ck_assert_int_eq(tempdir_count(&f.dir, "damaged"), i);
	}
}
END_TEST

START_TEST(objects_outlive_the_handle)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	store_put_new(f.store, "a", "hello");
	cairn_store_freep(&f.store);
	fixture_open(&f);
	store_object_is(f.store, "a", "hello");
	bool existed = false;
	ck_assert_int_eq(store_put(f.store, "a", "hello", &existed), CAIRN_OK);
	ck_assert(existed);
}
END_TEST

START_TEST(objects_lie_at_the_documented_path)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	store_put_new(f.store, "a", "hello");
	struct cairn_hash hash = store_hash_of("a");
	char text[CAIRN_HASH_TEXT_BYTES], path[128];
	cairn_hash_text(text, &hash);
	(void)snprintf(path, sizeof(path), "objects/%.2s/%.2s/%s", text, text + 2, text);
	CLEANUP(tempdir_textp) char *full = tempdir_path(&f.dir, path);
	struct stat st;
	ck_assert_int_eq(stat(full, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(tempdir_count(&f.dir, "."), 1);
}
END_TEST

START_TEST(other_files_are_not_objects)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	store_put_new(f.store, "a", "hello");
	tempdir_write(&f.dir, "objects/stray", "x", 1);
	tempdir_write(&f.dir, "objects/.hidden", "x", 1);
	CLEANUP(tempdir_textp) char *folder = tempdir_path(&f.dir, "objects/zz");
	CLEANUP(tempdir_textp) char *inner = tempdir_path(&f.dir, "objects/zz/zz");
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	ck_assert_int_eq(mkdir(inner, 0700), 0);
	tempdir_write(&f.dir, "objects/zz/zz/short", "x", 1);
	char text[CAIRN_HASH_TEXT_BYTES], path[128];
	struct cairn_hash hash = store_hash_of("a");
	cairn_hash_text(text, &hash);
	(void)snprintf(path, sizeof(path), "objects/zz/zz/%s", text);
	tempdir_write(&f.dir, path, "x", 1);
	ck_assert_uint_eq(store_sum(f.store), 1005);
}
END_TEST

START_TEST(a_killed_put_leaves_nothing)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		struct cairn_store_put *p = NULL;
		if (cairn_store_put_begin(f.store, &p) == CAIRN_OK &&
		    cairn_store_put_write(p, (const uint8_t *)"hello", 5) == CAIRN_OK)
			(void)raise(SIGKILL);
		_exit(1);
	}
	int how = 0;
	ck_assert_int_eq(waitpid(child, &how, 0), child);
	ck_assert(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
	/* a file as it remains on a file system without unnamed files */
	tempdir_write(&f.dir, "tmp/0123456789abcdef", "hello", 5);
	cairn_store_freep(&f.store);
	fixture_open(&f);
	ck_assert_uint_eq(store_sum(f.store), 0);
	ck_assert_int_eq(tempdir_count(&f.dir, "."), 0);
}
END_TEST

START_TEST(an_unusable_folder_is_explained)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	tempdir_write(&dir, "file", "x", 1);
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "file");
	struct cairn_store *store = NULL;
	struct cairn_diag diag = {0};
	char url[4096];
	(void)snprintf(url, sizeof(url), "files:%s", path);
	ck_assert_int_eq(cairn_store_open(&store, url, NULL, &diag), CAIRN_E_IO);
	ck_assert_ptr_null(store);
	ck_assert_str_eq(diag.rule, "store.folder");
	ck_assert_ptr_nonnull(strstr(diag.text, path));
	ck_assert_ptr_nonnull(strstr(diag.text, "Not a directory"));
}
END_TEST

START_TEST(named_temporary_files_work_alike)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	int dir_fd = open(dir.path, O_RDONLY | O_DIRECTORY);
	ck_assert_int_ge(dir_fd, 0);
	bool existed = true;
	for (int i = 0; i < 2; i++) {
		CLEANUP(cairn_tmpfile_fini) struct cairn_tmpfile t = CAIRN_TMPFILE_NONE;
		ck_assert_int_eq(cairn_tmpfile_open_named(&t, dir_fd), CAIRN_OK);
		ck_assert_int_eq(tempdir_count(&dir, "."), 1 + i);
		ck_assert_int_eq(cairn_tmpfile_link(&t, dir_fd, "name", &existed), CAIRN_OK);
		ck_assert_int_eq(existed, i == 1);
	}
	ck_assert_int_eq(tempdir_count(&dir, "."), 1);
	(void)close(dir_fd);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("store");
	TCase *tc = tcase_create("files");
	tcase_add_test(tc, unknown_urls_are_refused_by_name);
	tcase_add_test(tc, an_aborted_put_leaves_no_file);
	tcase_add_test(tc, a_failed_write_is_not_forgotten);
	tcase_add_test(tc, objects_set_aside_are_kept);
	tcase_add_test(tc, objects_outlive_the_handle);
	tcase_add_test(tc, objects_lie_at_the_documented_path);
	tcase_add_test(tc, other_files_are_not_objects);
	tcase_add_test(tc, a_killed_put_leaves_nothing);
	tcase_add_test(tc, an_unusable_folder_is_explained);
	tcase_add_test(tc, named_temporary_files_work_alike);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
