/* Listing folders: readdir() and fstatat() fail at each call in turn. Every user of a folder reports the failure,
 * and does not continue with the names read so far. */
#include "archive/tiledb/folder.h"
#include "backup/backup_set.h"
#include "base/fd.h"
#include "base/folder.h"
#include "cli/export/export.h"
#include "cli/hub/import_source.h"
#include "cli/push/push_folder.h"
#include "support/run.h"
#include "support/store_fixture.h"
#include "token/token.h"

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How many calls until one fails; 0: no call fails. */
static struct fault {
	int at, error;
} read_fault, look_fault;

static bool fault_hits(struct fault *fault)
{
	if (fault->at == 0 || --fault->at > 0)
		return false;
	errno = fault->error;
	return true;
}

struct dirent *__real_readdir64(DIR *dir);
struct dirent *__wrap_readdir64(DIR *dir);
int __real_fstatat64(int dir_fd, const char *path, struct stat *out, int flags);
int __wrap_fstatat64(int dir_fd, const char *path, struct stat *out, int flags);

struct dirent *__wrap_readdir64(DIR *dir)
{
	return fault_hits(&read_fault) ? NULL : __real_readdir64(dir);
}

int __wrap_fstatat64(int dir_fd, const char *path, struct stat *out, int flags)
{
	return fault_hits(&look_fault) ? -1 : __real_fstatat64(dir_fd, path, out, flags);
}

static void setup(void)
{
	read_fault = look_fault = (struct fault){0};
}

static void make_folder(const struct tempdir *dir, const char *name)
{
	CLEANUP(tempdir_textp) char *path = tempdir_path(dir, name);
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

static int open_folder(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void make_three(const struct tempdir *dir)
{
	tempdir_write(dir, "b", "", 0);
	tempdir_write(dir, "a", "", 0);
	make_folder(dir, ".c");
}

static enum cairn_status count(const char *path, int *n)
{
	CLEANUP(cairn_folder_close) struct cairn_folder folder = {0};
	enum cairn_status status = cairn_folder_open(&folder, open_folder(path));
	const char *name = NULL;
	*n = 0;
	while (status == CAIRN_OK && (status = cairn_folder_next(&folder, &name)) == CAIRN_OK && name)
		++*n;
	return status;
}

START_TEST(all_names_come)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_folder_names_fini) struct cairn_folder_names names = {0};
	int n;
	make_three(&dir);
	ck_assert_int_eq(count(dir.path, &n), CAIRN_OK);
	ck_assert_int_eq(n, 3);
	ck_assert_int_eq(cairn_folder_list(&names, open_folder(dir.path), NULL), CAIRN_OK);
	ck_assert_uint_eq(names.n, 3);
	ck_assert_str_eq(names.items[0], ".c");
	ck_assert_str_eq(names.items[1], "a");
	ck_assert_str_eq(names.items[2], "b");
}
END_TEST

START_TEST(an_error_is_no_end)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	int n;
	make_three(&dir);
	for (int at = 1; at <= 6; at++) { /* counts "." and "..", and the end */
		CLEANUP(cairn_folder_names_fini) struct cairn_folder_names names = {0};
		read_fault = (struct fault){at, EIO};
		ck_assert_int_eq(count(dir.path, &n), CAIRN_E_IO);
		ck_assert_int_eq(errno, EIO);
		read_fault = (struct fault){at, EIO};
		ck_assert_int_eq(cairn_folder_list(&names, open_folder(dir.path), NULL), CAIRN_E_IO);
		ck_assert_uint_eq(names.n, 0);
		read_fault = (struct fault){at, EINTR};
		ck_assert_int_eq(count(dir.path, &n), CAIRN_OK);
		ck_assert_int_eq(n, 3);
	}
}
END_TEST

START_TEST(absent_folders_and_files_are_refused)
{
	struct cairn_folder folder = {0};
	ck_assert_int_eq(cairn_folder_open(&folder, open_folder("/nowhere")), CAIRN_E_IO);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(cairn_folder_open(&folder, open("/dev/null", O_RDONLY | O_CLOEXEC)), CAIRN_E_IO);
	ck_assert_int_eq(errno, ENOTDIR);
	cairn_folder_close(&folder);
}
END_TEST

START_TEST(a_look_tells_gone_from_failed)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_fd_closep) int fd = open_folder(dir.path);
	struct stat st;
	make_three(&dir);
	ck_assert_int_eq(symlinkat("nowhere", fd, "link"), 0);
	ck_assert_int_eq(cairn_folder_stat(fd, "a", &st), CAIRN_OK);
	ck_assert(S_ISREG(st.st_mode));
	ck_assert_int_eq(cairn_folder_stat(fd, "link", &st), CAIRN_OK);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_int_eq(cairn_folder_stat(fd, "gone", &st), CAIRN_E_NOT_FOUND);
	look_fault = (struct fault){1, EIO};
	ck_assert_int_eq(cairn_folder_stat(fd, "a", &st), CAIRN_E_IO);
	ck_assert_int_eq(errno, EIO);
}
END_TEST

/* --- users of folders --------------------------------------------------------------------------------------------- */

static void make_backups(const struct tempdir *dir)
{
	tempdir_write(dir, "20260101T000000Z.objects.fold", "x", 1);
	tempdir_write(dir, "20260102T000000Z.moment.fold", "x", 1);
	tempdir_write(dir, "other", "x", 1);
}

static enum cairn_status read_backups(const struct tempdir *dir, size_t *n)
{
	struct cairn_diag diag = {0};
	CLEANUP(cairn_backup_set_close) struct cairn_backup_set set = {0};
	enum cairn_status status = cairn_backup_set_open(&set, dir->path, false, &diag);
	*n = set.n;
	return status;
}

static void make_array(const struct tempdir *dir)
{
	make_folder(dir, "__fragments");
	tempdir_write(dir, "__fragments/one", "", 0);
	tempdir_write(dir, "__fragments/two", "", 0);
}

static enum cairn_status read_array(const struct tempdir *dir, size_t *n)
{
	struct cairn_diag diag = {0};
	struct cairn_tiledb_names names = {0};
	CLEANUP(cairn_fd_closep) int fd = open_folder(dir->path);
	enum cairn_status status = cairn_tiledb_folder_list(&names, fd, "__fragments", &diag);
	*n = names.n;
	cairn_tiledb_names_fini(&names);
	return status;
}

static void make_keys(const struct tempdir *dir)
{
	for (int i = 0; i < 2; i++) {
		CLEANUP(tempdir_textp) char *path = tempdir_path(dir, i ? "a.key" : "b.key");
		ck_assert_int_eq(cairn_token_key_make(path, NULL), CAIRN_OK);
	}
}

static enum cairn_status read_keys(const struct tempdir *dir, size_t *n)
{
	struct cairn_diag diag = {0};
	CLEANUP(cairn_token_keys_freep) struct cairn_token_keys *keys = NULL;
	enum cairn_status status = cairn_token_keys_load(&keys, dir->path, &diag);
	*n = 2;
	return status;
}

static enum cairn_status open_store(struct cairn_store **out, const struct tempdir *dir)
{
	struct cairn_diag diag = {0};
	char url[4096];
	(void)snprintf(url, sizeof(url), "files:%s", dir->path);
	return cairn_store_open(out, url, NULL, &diag);
}

static void make_objects(const struct tempdir *dir)
{
	CLEANUP(cairn_store_freep) struct cairn_store *store = NULL;
	ck_assert_int_eq(open_store(&store, dir), CAIRN_OK);
	store_put_new(store, "one", "1");
	store_put_new(store, "two", "2");
	tempdir_write(dir, "packs/none.shard", "", 0); /* this pack is listed, but not served */
}

static enum cairn_status count_object(void *ctx, const struct cairn_hash *hash, uint64_t bytes)
{
	(void)hash;
	(void)bytes;
	++*(size_t *)ctx;
	return CAIRN_OK;
}

/* Starts a store, which removes temporary files and lists packs, and then lists objects. */
static enum cairn_status read_objects(const struct tempdir *dir, size_t *n)
{
	CLEANUP(cairn_store_freep) struct cairn_store *store = NULL;
	*n = 0;
	enum cairn_status status = open_store(&store, dir);
	return status == CAIRN_OK ? cairn_store_each(store, count_object, n) : status;
}

static void make_cache(const struct tempdir *dir)
{
	static const char ONE[] = "0123456789012345678901234567890123456789";
	char name[96];
	make_folder(dir, "models--team--model");
	make_folder(dir, "models--team--model/snapshots");
	make_folder(dir, "models--team--model/refs");
	make_folder(dir, "models--team--model/refs/v");
	for (int i = 0; i < 2; i++) {
		(void)snprintf(name, sizeof(name), "models--team--model/snapshots/%.39s%c", ONE, "09"[i]);
		make_folder(dir, name);
	}
	tempdir_write(dir, "models--team--model/refs/v/1", ONE, 40);
	tempdir_write(dir, "models--team--model/refs/main", ONE, 40);
}

static enum cairn_status read_cache(const struct tempdir *dir, size_t *n)
{
	struct cairn_diag diag = {0};
	CLEANUP(import_source_fini) struct import_source source = {0};
	enum cairn_status status = import_source_read(&source, dir->path, "models", "team/model", &diag);
	*n = source.n > 0 ? source.snapshots[0].n_tags + source.snapshots[source.n - 1].n_tags + source.n : 0;
	return status;
}

/* A folder with nothing but other caches is imported in another way. */
static enum cairn_status read_other_cache(const struct tempdir *dir, size_t *n)
{
	struct cairn_diag diag = {0};
	CLEANUP(import_source_fini) struct import_source source = {0};
	enum cairn_status status = import_source_read(&source, dir->path, "models", "team/other", &diag);
	*n = diag.rule && strcmp(diag.rule, "import.source") == 0;
	return *n == 1 ? CAIRN_OK : status;
}

static void make_tree(const struct tempdir *dir)
{
	make_folder(dir, "a");
	tempdir_write(dir, "a/one", "1", 1);
	tempdir_write(dir, "two", "2", 1);
}

static enum cairn_status read_tree(const struct tempdir *dir, size_t *n)
{
	struct cairn_diag diag = {0};
	CLEANUP(push_folder_fini) struct push_folder folder = {0};
	enum cairn_status status = push_folder_read(&folder, dir->path, NULL, &diag);
	*n = folder.manifest.n;
	return status;
}

static enum cairn_status remove_tree(const struct tempdir *dir, size_t *n)
{
	CLEANUP(cairn_fd_closep) int fd = open_folder(dir->path);
	enum cairn_status status = export_remove(fd, "a");
	*n = 0;
	return status;
}

static const struct {
	void (*make)(const struct tempdir *dir);
	enum cairn_status (*read)(const struct tempdir *dir, size_t *n); /* @param[out] n  number of names found */
	size_t n;
	int reads; /* readdir() is called at least so often */
} USERS[] = {
	{make_backups, read_backups, 2, 4},  {make_array, read_array, 2, 4}, {make_keys, read_keys, 2, 4},
	{make_objects, read_objects, 2, 12}, {make_cache, read_cache, 3, 8}, {make_cache, read_other_cache, 1, 1},
	{make_tree, read_tree, 2, 6},        {make_tree, remove_tree, 0, 3},
};

/* Each call of one kind fails once. The user must return an error, whatever else it read. */
static int sweep(int user, struct fault *fault)
{
	for (int at = 1;; at++) {
		CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
		size_t n;
		USERS[user].make(&dir);
		*fault = (struct fault){at, EIO};
		enum cairn_status status = USERS[user].read(&dir, &n);
		bool fired = fault->at == 0;
		*fault = (struct fault){0};
		if (!fired) {
			ck_assert_int_eq(status, CAIRN_OK);
			ck_assert_uint_eq(n, USERS[user].n);
			return at - 1;
		}
		ck_assert_msg(status != CAIRN_OK, "user %d, call %d: no error", user, at);
	}
}

START_TEST(users_report_a_folder_that_cannot_be_read)
{
	ck_assert_int_ge(sweep(_i, &read_fault), USERS[_i].reads);
}
END_TEST

START_TEST(users_report_an_entry_that_cannot_be_looked_at)
{
	(void)sweep(_i, &look_fault);
}
END_TEST

int main(void)
{
	enum { N_USERS = sizeof(USERS) / sizeof(USERS[0]) };
	Suite *suite = suite_create("folder");
	TCase *tc = tcase_create("folder");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, all_names_come);
	tcase_add_test(tc, an_error_is_no_end);
	tcase_add_test(tc, absent_folders_and_files_are_refused);
	tcase_add_test(tc, a_look_tells_gone_from_failed);
	tcase_add_loop_test(tc, users_report_a_folder_that_cannot_be_read, 0, N_USERS);
	tcase_add_loop_test(tc, users_report_an_entry_that_cannot_be_looked_at, 0, N_USERS);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
