/* Both backends must pass the same tests; what only files can show comes after. */
#include "base/fd.h"
#include "store/store.h"
#include "store/tmpfile.h"
#include "support/tempdir.h"

#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BACKEND_FS, BACKEND_MEM, N_BACKENDS, N_THREADS = 8 };

struct fixture {
	struct tempdir dir;
	struct cairn_store *store;
};

static void fixture_fini(struct fixture *f)
{
	cairn_store_freep(&f->store);
	tempdir_fini(&f->dir);
}

static struct fixture fixture_new(int backend)
{
	struct fixture f = {.dir = tempdir_new()};
	if (backend == BACKEND_FS)
		ck_assert_int_eq(cairn_store_open_fs(&f.store, f.dir.path, NULL), CAIRN_OK);
	else
		ck_assert_int_eq(cairn_store_open_mem(&f.store, 0), CAIRN_OK);
	return f;
}

static struct cairn_hash name_of(const char *text)
{
	struct cairn_hash hash;
	cairn_hash_chunk(&hash, text, strlen(text));
	return hash;
}

static enum cairn_status put(struct cairn_store *s, const char *name, const char *bytes, bool *existed)
{
	struct cairn_store_put *p = NULL;
	struct cairn_hash hash = name_of(name);
	enum cairn_status status = cairn_store_put_begin(s, &p);
	if (status != CAIRN_OK)
		return status;
	size_t half = strlen(bytes) / 2;
	enum cairn_status a = cairn_store_put_write(p, (const uint8_t *)bytes, half);
	enum cairn_status b = cairn_store_put_write(p, (const uint8_t *)bytes + half, strlen(bytes) - half);
	status = cairn_store_put_commit(p, &hash, existed);
	if (status == CAIRN_OK)
		ck_assert(a == CAIRN_OK && b == CAIRN_OK);
	return status;
}

static void put_new(struct cairn_store *s, const char *name, const char *bytes)
{
	bool existed = true;
	ck_assert_int_eq(put(s, name, bytes, &existed), CAIRN_OK);
	ck_assert(!existed);
}

static enum cairn_status size_of(struct cairn_store *s, const char *name, uint64_t *bytes)
{
	struct cairn_hash hash = name_of(name);
	return cairn_store_stat(s, &hash, bytes);
}

static void ck_object(struct cairn_store *s, const char *name, const char *want)
{
	struct cairn_hash hash = name_of(name);
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *o = NULL;
	ck_assert_int_eq(cairn_store_get(s, &hash, &o), CAIRN_OK);
	ck_assert_uint_eq(cairn_store_object_bytes(o), strlen(want));
	uint8_t got[64] = {0};
	ck_assert_int_eq(cairn_store_object_read(o, 0, got, strlen(want)), CAIRN_OK);
	ck_assert_mem_eq(got, want, strlen(want));
}

static enum cairn_status count_object(void *ctx, const struct cairn_hash *hash, uint64_t bytes)
{
	(void)hash;
	*(uint64_t *)ctx += 1000 + bytes;
	return CAIRN_OK;
}

/* 1000 for each object plus all their bytes. */
static uint64_t sum_of(struct cairn_store *s)
{
	uint64_t sum = 0;
	ck_assert_int_eq(cairn_store_each(s, count_object, &sum), CAIRN_OK);
	return sum;
}

START_TEST(what_was_put_can_be_read)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(_i);
	put_new(f.store, "a", "hello world");
	ck_object(f.store, "a", "hello world");
	uint64_t bytes = 0;
	ck_assert_int_eq(size_of(f.store, "a", &bytes), CAIRN_OK);
	ck_assert_uint_eq(bytes, 11);
	put_new(f.store, "empty", "");
	ck_object(f.store, "empty", "");
	ck_assert_uint_gt(cairn_store_free_bytes(f.store), 0);
}
END_TEST

START_TEST(reads_stay_within_the_object)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(_i);
	put_new(f.store, "a", "0123456789");
	struct cairn_hash hash = name_of("a");
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *o = NULL;
	ck_assert_int_eq(cairn_store_get(f.store, &hash, &o), CAIRN_OK);
	uint8_t got[16];
	ck_assert_int_eq(cairn_store_object_read(o, 7, got, 3), CAIRN_OK);
	ck_assert_mem_eq(got, "789", 3);
	ck_assert_int_eq(cairn_store_object_read(o, 10, got, 0), CAIRN_OK);
	ck_assert_int_eq(cairn_store_object_read(o, 7, got, 4), CAIRN_E_IO);
	ck_assert_int_eq(cairn_store_object_read(o, 11, got, 0), CAIRN_E_IO);
	ck_assert_int_eq(cairn_store_object_read(o, UINT64_MAX, got, 1), CAIRN_E_IO);
	uint64_t offset = 1;
	CLEANUP(cairn_fd_closep) int fd = cairn_store_object_take_fd(o, &offset);
	ck_assert_int_eq(fd >= 0, _i == BACKEND_FS);
	ck_assert_uint_eq(offset, 0);
	ck_assert_int_eq(cairn_store_object_take_fd(o, &offset), -1);
}
END_TEST

START_TEST(absent_objects_are_not_found)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(_i);
	put_new(f.store, "a", "hello");
	struct cairn_hash hash = name_of("b");
	struct cairn_store_object *o = NULL;
	uint64_t bytes = 7;
	ck_assert_int_eq(cairn_store_get(f.store, &hash, &o), CAIRN_E_NOT_FOUND);
	ck_assert_ptr_null(o);
	ck_assert_int_eq(cairn_store_stat(f.store, &hash, &bytes), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_store_remove(f.store, &hash), CAIRN_OK);
	ck_assert_int_eq(cairn_store_set_aside(f.store, &hash), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(the_first_of_two_is_kept)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(_i);
	bool existed = false;
	put_new(f.store, "a", "packed one way");
	ck_assert_int_eq(put(f.store, "a", "packed", &existed), CAIRN_OK);
	ck_assert(existed);
	ck_object(f.store, "a", "packed one way");
	ck_assert_uint_eq(sum_of(f.store), 1014);
	ck_assert_int_le(tempdir_count(&f.dir, "."), 1);
}
END_TEST

START_TEST(an_aborted_put_leaves_nothing)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(_i);
	CLEANUP(cairn_store_put_abortp) struct cairn_store_put *p = NULL;
	ck_assert_int_eq(cairn_store_put_begin(f.store, &p), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_write(p, (const uint8_t *)"hello", 5), CAIRN_OK);
	cairn_store_put_abortp(&p);
	ck_assert_uint_eq(sum_of(f.store), 0);
	ck_assert_int_eq(tempdir_count(&f.dir, "."), 0);
	cairn_store_put_abort(NULL);
}
END_TEST

START_TEST(nothing_is_visible_before_commit)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(_i);
	CLEANUP(cairn_store_put_abortp) struct cairn_store_put *p = NULL;
	ck_assert_int_eq(cairn_store_put_begin(f.store, &p), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_write(p, (const uint8_t *)"hello", 5), CAIRN_OK);
	ck_assert_uint_eq(sum_of(f.store), 0);
}
END_TEST

START_TEST(removed_objects_stay_readable_to_who_has_them_open)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(_i);
	put_new(f.store, "a", "hello");
	put_new(f.store, "b", "other");
	struct cairn_hash hash = name_of("a");
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *o = NULL;
	uint8_t got[5];
	uint64_t bytes;
	ck_assert_int_eq(cairn_store_get(f.store, &hash, &o), CAIRN_OK);
	ck_assert_int_eq(cairn_store_remove(f.store, &hash), CAIRN_OK);
	ck_assert_int_eq(cairn_store_remove(f.store, &hash), CAIRN_OK);
	ck_assert_int_eq(size_of(f.store, "a", &bytes), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_store_object_read(o, 0, got, 5), CAIRN_OK);
	ck_assert_mem_eq(got, "hello", 5);
	ck_object(f.store, "b", "other");
	put_new(f.store, "a", "again");
	ck_object(f.store, "a", "again");
}
END_TEST

START_TEST(set_aside_objects_are_no_longer_found)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(_i);
	struct cairn_hash hash = name_of("a");
	for (int i = 1; i <= 3; i++) {
		put_new(f.store, "a", "damaged");
		ck_assert_int_eq(cairn_store_set_aside(f.store, &hash), CAIRN_OK);
		ck_assert_uint_eq(sum_of(f.store), 0);
		if (_i == BACKEND_FS)
			ck_assert_int_eq(tempdir_count(&f.dir, "damaged"), i); /* not lost */
	}
	put_new(f.store, "a", "whole");
	ck_object(f.store, "a", "whole");
}
END_TEST

/* Objects that were opened before are kept open, and some share a place. */
START_TEST(opened_objects_are_found_as_they_are_now)
{
	enum { N = 24 };
	CLEANUP(fixture_fini) struct fixture f = fixture_new(_i);
	char name[24], bytes[48];
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < N; i++) {
			(void)snprintf(name, sizeof(name), "object %d", i);
			(void)snprintf(bytes, sizeof(bytes), "of round %d: %d", round, i);
			put_new(f.store, name, bytes);
			ck_object(f.store, name, bytes);
		}
		for (int i = 0; i < N; i++) {
			(void)snprintf(name, sizeof(name), "object %d", i);
			(void)snprintf(bytes, sizeof(bytes), "of round %d: %d", round, i);
			ck_object(f.store, name, bytes);
			struct cairn_hash hash = name_of(name);
			enum cairn_status gone =
				round == 1 ? cairn_store_set_aside(f.store, &hash) : cairn_store_remove(f.store, &hash);
			ck_assert_int_eq(gone, CAIRN_OK);
			struct cairn_store_object *o;
			ck_assert_int_eq(cairn_store_get(f.store, &hash, &o), CAIRN_E_NOT_FOUND);
		}
	}
}
END_TEST

static enum cairn_status remove_object(void *ctx, const struct cairn_hash *hash, uint64_t bytes)
{
	(void)bytes;
	return cairn_store_remove(ctx, hash);
}

static enum cairn_status give_up(void *ctx, const struct cairn_hash *hash, uint64_t bytes)
{
	(void)hash;
	(void)bytes;
	++*(int *)ctx;
	return CAIRN_E_BUSY;
}

START_TEST(each_visits_all_once)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(_i);
	char name[8];
	for (int i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		put_new(f.store, name, "12345");
	}
	ck_assert_uint_eq(sum_of(f.store), 40 * 1005);
	int n = 0;
	ck_assert_int_eq(cairn_store_each(f.store, give_up, &n), CAIRN_E_BUSY);
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(cairn_store_each(f.store, remove_object, f.store), CAIRN_OK);
	ck_assert_uint_eq(sum_of(f.store), 0);
}
END_TEST

struct racer {
	struct cairn_store *store;
	pthread_barrier_t *start;
	bool existed;
	enum cairn_status status;
};

static void *race(void *arg)
{
	struct racer *r = arg;
	struct cairn_store_put *p = NULL;
	struct cairn_hash hash = name_of("contended");
	r->status = cairn_store_put_begin(r->store, &p);
	if (r->status == CAIRN_OK)
		r->status = cairn_store_put_write(p, (const uint8_t *)"same bytes", 10);
	pthread_barrier_wait(r->start);
	if (p)
		r->status = cairn_store_put_commit(p, &hash, &r->existed);
	return NULL;
}

START_TEST(one_of_many_concurrent_puts_wins)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(_i);
	pthread_barrier_t start;
	pthread_t threads[N_THREADS];
	struct racer racers[N_THREADS];
	int n_new = 0;
	pthread_barrier_init(&start, NULL, N_THREADS);
	for (int i = 0; i < N_THREADS; i++) {
		racers[i] = (struct racer){.store = f.store, .start = &start};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
	}
	for (int i = 0; i < N_THREADS; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_int_eq(racers[i].status, CAIRN_OK);
		n_new += !racers[i].existed;
	}
	pthread_barrier_destroy(&start);
	ck_assert_int_eq(n_new, 1);
	ck_object(f.store, "contended", "same bytes");
	ck_assert_int_le(tempdir_count(&f.dir, "."), 1);
}
END_TEST

/* --- what only files can show ------------------------------------------------------------------------------------- */

START_TEST(objects_outlive_the_handle)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(BACKEND_FS);
	put_new(f.store, "a", "hello");
	cairn_store_freep(&f.store);
	ck_assert_int_eq(cairn_store_open_fs(&f.store, f.dir.path, NULL), CAIRN_OK);
	ck_object(f.store, "a", "hello");
	bool existed = false;
	ck_assert_int_eq(put(f.store, "a", "hello", &existed), CAIRN_OK);
	ck_assert(existed);
}
END_TEST

START_TEST(objects_lie_where_the_header_says)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(BACKEND_FS);
	put_new(f.store, "a", "hello");
	struct cairn_hash hash = name_of("a");
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
	CLEANUP(fixture_fini) struct fixture f = fixture_new(BACKEND_FS);
	put_new(f.store, "a", "hello");
	tempdir_write(&f.dir, "objects/stray", "x", 1);
	tempdir_write(&f.dir, "objects/.hidden", "x", 1);
	CLEANUP(tempdir_textp) char *folder = tempdir_path(&f.dir, "objects/zz");
	CLEANUP(tempdir_textp) char *inner = tempdir_path(&f.dir, "objects/zz/zz");
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	ck_assert_int_eq(mkdir(inner, 0700), 0);
	tempdir_write(&f.dir, "objects/zz/zz/short", "x", 1);
	char text[CAIRN_HASH_TEXT_BYTES], path[128];
	struct cairn_hash hash = name_of("a");
	cairn_hash_text(text, &hash);
	(void)snprintf(path, sizeof(path), "objects/zz/zz/%s", text);
	tempdir_write(&f.dir, path, "x", 1);
	ck_assert_uint_eq(sum_of(f.store), 1005);
}
END_TEST

START_TEST(a_killed_put_leaves_nothing)
{
	CLEANUP(fixture_fini) struct fixture f = fixture_new(BACKEND_FS);
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
	/* What a file system without unnamed files would leave: */
	tempdir_write(&f.dir, "tmp/0123456789abcdef", "hello", 5);
	cairn_store_freep(&f.store);
	ck_assert_int_eq(cairn_store_open_fs(&f.store, f.dir.path, NULL), CAIRN_OK);
	ck_assert_uint_eq(sum_of(f.store), 0);
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
	ck_assert_int_eq(cairn_store_open_fs(&store, path, &diag), CAIRN_E_IO);
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

/* --- what only memory can show ------------------------------------------------------------------------------------ */

START_TEST(each_writing_call_can_fail)
{
	/* begin, write, write, commit: the n-th one fails and nothing is stored. */
	for (unsigned n = 1; n <= 4; n++) {
		CLEANUP(cairn_store_freep) struct cairn_store *store = NULL;
		bool existed = false;
		ck_assert_int_eq(cairn_store_open_mem(&store, n), CAIRN_OK);
		ck_assert_int_eq(put(store, "a", "hello", &existed), CAIRN_E_IO);
		ck_assert_uint_eq(sum_of(store), 0);
		put_new(store, "a", "hello");
	}
	CLEANUP(cairn_store_freep) struct cairn_store *store = NULL;
	struct cairn_hash hash = name_of("a");
	ck_assert_int_eq(cairn_store_open_mem(&store, 5), CAIRN_OK);
	put_new(store, "a", "hello");
	ck_assert_int_eq(cairn_store_remove(store, &hash), CAIRN_E_IO);
	ck_object(store, "a", "hello");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("store");
	TCase *tc = tcase_create("both");
	tcase_add_loop_test(tc, what_was_put_can_be_read, 0, N_BACKENDS);
	tcase_add_loop_test(tc, reads_stay_within_the_object, 0, N_BACKENDS);
	tcase_add_loop_test(tc, absent_objects_are_not_found, 0, N_BACKENDS);
	tcase_add_loop_test(tc, the_first_of_two_is_kept, 0, N_BACKENDS);
	tcase_add_loop_test(tc, an_aborted_put_leaves_nothing, 0, N_BACKENDS);
	tcase_add_loop_test(tc, nothing_is_visible_before_commit, 0, N_BACKENDS);
	tcase_add_loop_test(tc, removed_objects_stay_readable_to_who_has_them_open, 0, N_BACKENDS);
	tcase_add_loop_test(tc, set_aside_objects_are_no_longer_found, 0, N_BACKENDS);
	tcase_add_loop_test(tc, opened_objects_are_found_as_they_are_now, 0, N_BACKENDS);
	tcase_add_loop_test(tc, each_visits_all_once, 0, N_BACKENDS);
	tcase_add_loop_test(tc, one_of_many_concurrent_puts_wins, 0, N_BACKENDS);
	suite_add_tcase(suite, tc);
	tc = tcase_create("fs");
	tcase_add_test(tc, objects_outlive_the_handle);
	tcase_add_test(tc, objects_lie_where_the_header_says);
	tcase_add_test(tc, other_files_are_not_objects);
	tcase_add_test(tc, a_killed_put_leaves_nothing);
	tcase_add_test(tc, an_unusable_folder_is_explained);
	tcase_add_test(tc, named_temporary_files_work_alike);
	suite_add_tcase(suite, tc);
	tc = tcase_create("mem");
	tcase_add_test(tc, each_writing_call_can_fail);
	suite_add_tcase(suite, tc);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
