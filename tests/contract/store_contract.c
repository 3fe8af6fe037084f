/* The contract of store.h, for any store. Usage: store_contract URL. A * in the URL is a new folder for each test. */
#include "base/clock.h"
#include "base/fd.h"
#include "store/pack.h"
#include "support/run.h"
#include "support/store_fixture.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_THREADS = 8 };

static const char *url_given;

static struct store_fixture fixture_new(void)
{
	struct store_fixture f = {.dir = tempdir_new()};
	struct cairn_diag diag = {0};
	char url[4096];
	size_t before = strcspn(url_given, "*");
	const char *after = url_given[before] ? url_given + before + 1 : "";
	(void)snprintf(url, sizeof(url), "%.*s%s%s", (int)before, url_given, url_given[before] ? f.dir.path : "",
		       after);
	const struct cairn_store_options options = {
		.scratch = f.dir.path, .owner = "0123456789abcdef0123456789abcdef", .is_new = true};
	ck_assert_msg(cairn_store_open(&f.store, url, &options, &diag) == CAIRN_OK, "%s", diag.text);
	return f;
}

static enum cairn_status size_of(struct cairn_store *s, const char *name, uint64_t *bytes)
{
	struct cairn_hash hash = store_hash_of(name);
	return cairn_store_stat(s, &hash, bytes);
}

START_TEST(stored_objects_can_be_read)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	store_put_new(f.store, "a", "hello world");
	store_object_is(f.store, "a", "hello world");
	uint64_t bytes = 0;
	ck_assert_int_eq(size_of(f.store, "a", &bytes), CAIRN_OK);
	ck_assert_uint_eq(bytes, 11);
	store_put_new(f.store, "empty", "");
	store_object_is(f.store, "empty", "");
	struct cairn_store_room room;
	cairn_store_room(f.store, &room);
	ck_assert_uint_gt(room.bytes, 0);
	ck_assert_uint_gt(room.files, 0);
	ck_assert_uint_ge(room.files_capacity, room.files);
}
END_TEST

START_TEST(reads_stay_within_the_object)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	store_put_new(f.store, "a", "0123456789");
	struct cairn_hash hash = store_hash_of("a");
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *o = NULL;
	ck_assert_int_eq(cairn_store_get(f.store, &hash, &o), CAIRN_OK);
	uint8_t got[16];
	ck_assert_int_eq(cairn_store_object_read(o, 7, got, 3), CAIRN_OK);
	ck_assert_mem_eq(got, "789", 3);
	ck_assert_int_eq(cairn_store_object_read(o, 10, got, 0), CAIRN_OK);
	ck_assert_int_eq(cairn_store_object_read(o, 7, got, 4), CAIRN_E_IO);
	ck_assert_int_eq(cairn_store_object_read(o, 11, got, 0), CAIRN_E_IO);
	ck_assert_int_eq(cairn_store_object_read(o, UINT64_MAX, got, 1), CAIRN_E_IO);
}
END_TEST

/* A remote store has no descriptor to give. The object can still be read. */
START_TEST(a_descriptor_reads_the_object)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	store_put_new(f.store, "a", "0123456789");
	struct cairn_hash hash = store_hash_of("a");
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *o = NULL;
	uint64_t offset = 1;
	uint8_t got[10];
	ck_assert_int_eq(cairn_store_get(f.store, &hash, &o), CAIRN_OK);
	CLEANUP(cairn_fd_closep) int fd = cairn_store_object_take_fd(o, &offset);
	ck_assert_int_eq(fd < 0, cairn_store_is_remote(f.store));
	enum cairn_status status = fd >= 0 ? cairn_fd_read_at(fd, offset, got, sizeof(got))
					   : cairn_store_object_read(o, 0, got, sizeof(got));
	ck_assert_int_eq(status, CAIRN_OK);
	ck_assert_mem_eq(got, "0123456789", sizeof(got));
	ck_assert_int_eq(cairn_store_object_take_fd(o, &offset), -1);
}
END_TEST

START_TEST(absent_objects_are_not_found)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	store_put_new(f.store, "a", "hello");
	struct cairn_hash hash = store_hash_of("b");
	struct cairn_store_object *o = NULL;
	uint64_t bytes = 7;
	ck_assert_int_eq(cairn_store_get(f.store, &hash, &o), CAIRN_E_NOT_FOUND);
	ck_assert_ptr_null(o);
	ck_assert_int_eq(cairn_store_stat(f.store, &hash, &bytes), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_store_remove(f.store, &hash, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_store_set_aside(f.store, &hash), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(the_first_of_two_is_kept)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	bool existed = false;
	store_put_new(f.store, "a", "packed one way");
	ck_assert_int_eq(store_put(f.store, "a", "packed", &existed), CAIRN_OK);
	ck_assert(existed);
	store_object_is(f.store, "a", "packed one way");
	ck_assert_uint_eq(store_sum(f.store), 1014);
}
END_TEST

START_TEST(an_aborted_put_leaves_nothing)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	CLEANUP(cairn_store_put_abortp) struct cairn_store_put *p = NULL;
	ck_assert_int_eq(cairn_store_put_begin(f.store, &p), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_write(p, (const uint8_t *)"hello", 5), CAIRN_OK);
	cairn_store_put_abortp(&p);
	ck_assert_uint_eq(store_sum(f.store), 0);
	cairn_store_put_abort(NULL);
}
END_TEST

START_TEST(nothing_is_visible_before_commit)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	CLEANUP(cairn_store_put_abortp) struct cairn_store_put *p = NULL;
	ck_assert_int_eq(cairn_store_put_begin(f.store, &p), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_write(p, (const uint8_t *)"hello", 5), CAIRN_OK);
	ck_assert_uint_eq(store_sum(f.store), 0);
}
END_TEST

/* Checks an object that was "hello". A remote store cannot keep it, but must not return other bytes for it. */
static void ck_still_readable_or_gone(const struct cairn_store *s, struct cairn_store_object *o)
{
	uint8_t got[5];
	enum cairn_status status = cairn_store_object_read(o, 0, got, sizeof(got));
	if (status == CAIRN_E_NOT_FOUND && cairn_store_is_remote(s))
		return;
	ck_assert_int_eq(status, CAIRN_OK);
	ck_assert_mem_eq(got, "hello", sizeof(got));
}

START_TEST(open_objects_stay_readable_after_removal)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	store_put_new(f.store, "a", "hello");
	store_put_new(f.store, "b", "other");
	struct cairn_hash hash = store_hash_of("a");
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *o = NULL;
	uint64_t bytes;
	ck_assert_int_eq(cairn_store_get(f.store, &hash, &o), CAIRN_OK);
	ck_assert_int_eq(cairn_store_remove(f.store, &hash, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_store_remove(f.store, &hash, NULL), CAIRN_OK);
	ck_assert_int_eq(size_of(f.store, "a", &bytes), CAIRN_E_NOT_FOUND);
	ck_still_readable_or_gone(f.store, o);
	store_object_is(f.store, "b", "other");
	store_put_new(f.store, "a", "again");
	store_object_is(f.store, "a", "again");
	ck_still_readable_or_gone(f.store, o);
}
END_TEST

START_TEST(set_aside_objects_are_no_longer_found)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	struct cairn_hash hash = store_hash_of("a");
	for (int i = 0; i < 3; i++) {
		store_put_new(f.store, "a", "damaged");
		ck_assert_int_eq(cairn_store_set_aside(f.store, &hash), CAIRN_OK);
		ck_assert_uint_eq(store_sum(f.store), 0);
	}
	store_put_new(f.store, "a", "whole");
	store_object_is(f.store, "a", "whole");
}
END_TEST

/* Objects that were opened before are cached, and some share a slot of the cache. */
START_TEST(opened_objects_are_found_as_they_are_now)
{
	enum { N = 24 };
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	char name[24], bytes[48];
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < N; i++) {
			(void)snprintf(name, sizeof(name), "object %d", i);
			(void)snprintf(bytes, sizeof(bytes), "of round %d: %d", round, i);
			store_put_new(f.store, name, bytes);
			store_object_is(f.store, name, bytes);
		}
		for (int i = 0; i < N; i++) {
			(void)snprintf(name, sizeof(name), "object %d", i);
			(void)snprintf(bytes, sizeof(bytes), "of round %d: %d", round, i);
			store_object_is(f.store, name, bytes);
			struct cairn_hash hash = store_hash_of(name);
			enum cairn_status gone = round == 1 ? cairn_store_set_aside(f.store, &hash)
							    : cairn_store_remove(f.store, &hash, NULL);
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
	return cairn_store_remove(ctx, hash, NULL);
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
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	char name[8];
	for (int i = 0; i < 40; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		store_put_new(f.store, name, "12345");
	}
	ck_assert_uint_eq(store_sum(f.store), 40 * 1005);
	int n = 0;
	ck_assert_int_eq(cairn_store_each(f.store, give_up, &n), CAIRN_E_BUSY);
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(cairn_store_each(f.store, remove_object, f.store), CAIRN_OK);
	ck_assert_uint_eq(store_sum(f.store), 0);
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
	struct cairn_hash hash = store_hash_of("contended");
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
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
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
	store_object_is(f.store, "contended", "same bytes");
}
END_TEST

/* The identity shows which bytes were opened. */
START_TEST(an_identity_is_of_the_bytes)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	struct cairn_hash hash = store_hash_of("a");
	uint64_t identity[3];
	for (int i = 0; i < 3; i++) {
		CLEANUP(cairn_store_object_freep) struct cairn_store_object *o = NULL;
		if (i != 1)
			store_put_new(f.store, "a", i == 0 ? "packed one way" : "packed");
		ck_assert_int_eq(cairn_store_get(f.store, &hash, &o), CAIRN_OK);
		identity[i] = cairn_store_object_identity(o);
		if (i == 1)
			ck_assert_int_eq(cairn_store_remove(f.store, &hash, NULL), CAIRN_OK);
	}
	ck_assert_uint_eq(identity[0], identity[1]);
	ck_assert_uint_ne(identity[0], identity[2]);
}
END_TEST

START_TEST(stored_objects_can_be_confirmed)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	struct cairn_hash hash = store_hash_of("a"), other = store_hash_of("b");
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *o = NULL;
	store_put_new(f.store, "a", "hello");
	ck_assert_int_eq(cairn_store_confirm(f.store, &hash, 0), CAIRN_OK);
	ck_assert_int_eq(cairn_store_confirm(f.store, &hash, 1), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_store_confirm(f.store, &other, 0), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_store_get_copy(f.store, &hash, 1, &o), CAIRN_E_NOT_FOUND);
}
END_TEST

static struct cairn_copy_id put_copy(struct cairn_store *s, const char *name, const char *bytes)
{
	struct cairn_store_put *p = NULL;
	struct cairn_hash hash = store_hash_of(name);
	struct cairn_copy_id copy;
	ck_assert_int_eq(cairn_store_put_begin(s, &p), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_write(p, (const uint8_t *)bytes, strlen(bytes)), CAIRN_OK);
	ck_assert_int_eq(cairn_store_put_copy(p, &hash, &copy), CAIRN_OK);
	ck_assert(cairn_copy_id_is_set(&copy));
	return copy;
}

static enum cairn_status read_named(struct cairn_store *s, const struct cairn_copy_id *copy, const char *want)
{
	struct cairn_hash hash = store_hash_of("a");
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *o = NULL;
	enum cairn_status status = cairn_store_get_named(s, &hash, copy, &o);
	if (status != CAIRN_OK)
		return status;
	uint8_t got[64] = {0};
	struct cairn_copy_id name = cairn_store_object_copy(o);
	ck_assert(cairn_copy_id_equal(&name, copy));
	ck_assert_uint_eq(cairn_store_object_bytes(o), strlen(want));
	ck_assert_int_eq(cairn_store_object_read(o, 0, got, strlen(want)), CAIRN_OK);
	ck_assert_mem_eq(got, want, strlen(want));
	return CAIRN_OK;
}

struct copies_seen {
	uint32_t n;
	struct cairn_copy_id at[8];
};

static enum cairn_status see_copy(void *ctx, const struct cairn_hash *hash, const struct cairn_copy_id *copy)
{
	struct copies_seen *seen = ctx;
	struct cairn_hash want = store_hash_of("a");
	ck_assert(cairn_hash_equal(hash, &want));
	ck_assert_uint_lt(seen->n, 8);
	seen->at[seen->n++] = *copy;
	return CAIRN_OK;
}

/* All copies in the store, in the order of their names. */
static void assert_copies(struct cairn_store *s, const struct cairn_copy_id *const *want, uint32_t n)
{
	struct copies_seen seen = {0};
	ck_assert_int_eq(cairn_store_each_copy(s, NULL, see_copy, &seen), CAIRN_OK);
	ck_assert_uint_eq(seen.n, n);
	for (uint32_t i = 0; i < n; i++)
		ck_assert(cairn_copy_id_equal(&seen.at[i], want[i]));
}

static enum cairn_status see_enough(void *ctx, const struct cairn_hash *hash, const struct cairn_copy_id *copy)
{
	(void)see_copy(ctx, hash, copy);
	return CAIRN_E_LIMIT;
}

/* Several copies of an object can exist, and each is removed alone. A store without named copies says so. */
START_TEST(copies_have_names)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	struct cairn_hash hash = store_hash_of("a");
	struct cairn_copy_id copy = {{1}};
	if (!cairn_store_names_copies(f.store)) {
		struct cairn_store_put *p = NULL;
		ck_assert_int_eq(cairn_store_put_begin(f.store, &p), CAIRN_OK);
		ck_assert_int_eq(cairn_store_put_copy(p, &hash, &copy), CAIRN_E_USAGE);
		ck_assert(!cairn_copy_id_is_set(&copy));
		ck_assert_int_eq(cairn_store_remove_copy(f.store, &hash, &copy, NULL), CAIRN_E_USAGE);
		ck_assert_int_eq(cairn_store_each_copy(f.store, NULL, see_copy, NULL), CAIRN_E_USAGE);
		ck_assert_uint_eq(store_sum(f.store), 0);
		return;
	}
	ck_assert_int_eq(read_named(f.store, &copy, ""), CAIRN_E_NOT_FOUND);
	struct cairn_copy_id one = put_copy(f.store, "a", "one"), two = put_copy(f.store, "a", "the second");
	ck_assert(!cairn_copy_id_equal(&one, &two));
	int64_t age_ms = cairn_clock_unix_ms() - cairn_copy_id_unix_ms(&one);
	ck_assert_int_ge(age_ms, 0);
	ck_assert_int_lt(age_ms, 60000);
	ck_assert_int_lt(cairn_copy_id_unix_ms(&one), cairn_copy_id_unix_ms(&two));
	assert_copies(f.store, (const struct cairn_copy_id *[]){&one, &two}, 2);
	struct copies_seen seen = {0};
	ck_assert_int_eq(cairn_store_each_copy(f.store, NULL, see_enough, &seen), CAIRN_E_LIMIT);
	ck_assert_uint_eq(seen.n, 1);
	/* lists from this hash on, from the hash before it, and from the hash after it */
	for (int n = -1; n <= 1; n++) {
		struct cairn_hash from = hash;
		from.b[24] = (uint8_t)(from.b[24] + n); /* the digit with which the text of the hash ends */
		seen.n = 0;
		ck_assert_int_eq(cairn_store_each_copy(f.store, &from, see_copy, &seen), CAIRN_OK);
		ck_assert_uint_eq(seen.n, n <= 0 ? 2 : 0);
	}
	ck_assert_int_eq(read_named(f.store, &one, "one"), CAIRN_OK);
	ck_assert_int_eq(read_named(f.store, &two, "the second"), CAIRN_OK);
	ck_assert_int_eq(cairn_store_remove_copy(f.store, &hash, &two, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_store_remove_copy(f.store, &hash, &two, NULL), CAIRN_OK);
	ck_assert_int_eq(read_named(f.store, &two, ""), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(read_named(f.store, &one, "one"), CAIRN_OK);
	assert_copies(f.store, (const struct cairn_copy_id *[]){&one}, 1);
	ck_assert_int_eq(cairn_store_set_aside(f.store, &hash), CAIRN_OK);
	assert_copies(f.store, NULL, 0);
}
END_TEST

static void count_pack(void *ctx, const struct cairn_store_pack *pack)
{
	(void)pack;
	++*(int *)ctx;
}

/* A store has packs, or reports that it has none and lists none. */
START_TEST(packs_are_there_or_declined)
{
	CLEANUP(store_fixture_fini) struct store_fixture f = fixture_new();
	CLEANUP(cairn_store_packing_freep) struct cairn_store_packing *p = NULL;
	struct cairn_hash hash = store_hash_of("a");
	struct cairn_diag diag = {0};
	int n = 0;
	bool added = false;
	store_put_new(f.store, "a", "hello");
	enum cairn_status status = cairn_store_packing_begin(f.store, "old.shard", &p, &diag);
	if (status == CAIRN_OK) {
		ck_assert(cairn_store_packing_wants(p, &hash, 5));
		ck_assert_int_eq(cairn_store_packing_add(p, &hash, 5, &added), CAIRN_OK);
		ck_assert(added);
		ck_assert_int_eq(cairn_store_packing_commit(p, &diag), CAIRN_OK);
		ck_assert_int_eq(cairn_store_packing_drop(p, &hash), CAIRN_OK);
	} else {
		ck_assert_int_eq(status, CAIRN_E_USAGE);
		ck_assert_str_eq(diag.rule, "pack.none");
		ck_assert_ptr_null(p);
	}
	ck_assert_int_eq(cairn_store_each_pack(f.store, count_pack, &n), CAIRN_OK);
	ck_assert_int_eq(n, status == CAIRN_OK);
	ck_assert_int_eq(cairn_store_tidy_packs(f.store), CAIRN_OK);
	store_object_is(f.store, "a", "hello");
	ck_assert_uint_eq(store_sum(f.store), 1005);
}
END_TEST

int main(int argc, char **argv)
{
	if (argc != 2) {
		(void)fprintf(stderr, "usage: %s URL\n", argv[0]);
		return EXIT_FAILURE;
	}
	url_given = argv[1];
	Suite *suite = suite_create(url_given);
	TCase *tc = tcase_create("contract");
	tcase_add_test(tc, stored_objects_can_be_read);
	tcase_add_test(tc, reads_stay_within_the_object);
	tcase_add_test(tc, a_descriptor_reads_the_object);
	tcase_add_test(tc, absent_objects_are_not_found);
	tcase_add_test(tc, the_first_of_two_is_kept);
	tcase_add_test(tc, an_aborted_put_leaves_nothing);
	tcase_add_test(tc, nothing_is_visible_before_commit);
	tcase_add_test(tc, open_objects_stay_readable_after_removal);
	tcase_add_test(tc, set_aside_objects_are_no_longer_found);
	tcase_add_test(tc, opened_objects_are_found_as_they_are_now);
	tcase_add_test(tc, each_visits_all_once);
	tcase_add_test(tc, one_of_many_concurrent_puts_wins);
	tcase_add_test(tc, an_identity_is_of_the_bytes);
	tcase_add_test(tc, stored_objects_can_be_confirmed);
	tcase_add_test(tc, copies_have_names);
	tcase_add_test(tc, packs_are_there_or_declined);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
