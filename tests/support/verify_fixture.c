#include "support/verify_fixture.h"
#include "support/run.h"

#include <limits.h>
#include <stdlib.h>

enum { SHARD_BYTES_MAX = 64 * 1024 * 1024 };

struct verify_fixture v;

static void setup(void)
{
	v = (struct verify_fixture){0};
	cairn_shard_writer_init(&v.w, SHARD_BYTES_MAX);
	made_xorb_init(&v.xorbs[0], 1, 20, 70000);
	made_xorb_init(&v.xorbs[1], 2, 1, 500);
	made_xorb_init(&v.xorbs[2], 3, 300, 8192);
	v.store = (struct made_store){.xorbs = v.xorbs, .n = 3};
}

static void setup_places(void)
{
	setup();
	v.store.places_only = true;
}

static void teardown(void)
{
	cairn_shard_writer_fini(&v.w);
	for (int i = 0; i < 3; i++)
		made_xorb_fini(&v.xorbs[i]);
}

TCase *verify_tests(const char *name)
{
	TCase *c = tcase_create(name);
	tcase_add_checked_fixture(c, setup, teardown);
	return c;
}

TCase *verify_tests_of_places(void)
{
	TCase *c = tcase_create("places");
	tcase_add_checked_fixture(c, setup_places, teardown);
	return c;
}

int verify_run(const char *suite_name, TCase *first, TCase *second)
{
	Suite *suite = suite_create(suite_name);
	suite_add_tcase(suite, first);
	if (second)
		suite_add_tcase(suite, second);
	return run_suite(suite);
}

void make_shard(size_t n_described)
{
	struct made_term terms[] = {
		{&v.xorbs[0], 0, 20}, {&v.xorbs[2], 5, 6},     {&v.xorbs[2], 0, 300},
		{&v.xorbs[1], 0, 1},  {&v.xorbs[2], 299, 300},
	};
	made_write_file(&v.w, terms, 5, WITH_ALL);
	made_write_file(&v.w, terms + 1, 1, WITH_ALL);
	for (size_t i = 0; i < n_described; i++)
		made_write_xorb(&v.w, &v.xorbs[i]);
}

void begin_again(void)
{
	cairn_shard_writer_fini(&v.w);
	cairn_shard_writer_init(&v.w, SHARD_BYTES_MAX);
}

enum cairn_status verify_with(const struct cairn_verify_options *options)
{
	struct cairn_verify_resolver resolver = made_resolver(&v.store);
	v.diag = (struct cairn_diag){0};
	return cairn_verify_shard(v.w.buf.bytes, v.w.buf.len, options, &resolver, &v.sum, &v.diag);
}

enum cairn_status verify_made(const struct cairn_verify_options *options)
{
	ck_assert_int_eq(cairn_shard_writer_end(&v.w), CAIRN_OK);
	return verify_with(options);
}

/* Replaces the verifier's allocations, with the linker's --wrap. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static unsigned allocations_left = UINT_MAX; /* allocations until one fails; later ones succeed again */

static bool allocation_fails(void)
{
	return allocations_left != UINT_MAX && allocations_left-- == 0;
}

void *__wrap_malloc(size_t bytes)
{
	return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return allocation_fails() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return allocation_fails() ? NULL : __real_realloc(old, bytes);
}

unsigned verify_without_memory(const struct cairn_verify_options *options)
{
	ck_assert_int_eq(cairn_shard_writer_end(&v.w), CAIRN_OK);
	for (unsigned n = 0;; n++) {
		allocations_left = n;
		v.sum = (struct cairn_verify_summary){0};
		enum cairn_status status = verify_with(options);
		bool one_failed = allocations_left == UINT_MAX;
		allocations_left = UINT_MAX;
		ck_assert_int_eq(status, one_failed ? CAIRN_E_NOMEM : CAIRN_OK);
		if (!one_failed)
			return n;
		ck_assert_uint_eq(v.sum.n_files, 0);
		if (options && options->records)
			ck_assert_ptr_null(options->records->shard.xorbs);
	}
}

struct cairn_verify_options external_options(void)
{
	struct cairn_verify_options external = CAIRN_VERIFY_DEFAULTS;
	external.xorbs_external = true;
	return external;
}

void expect_refused(enum cairn_status status, enum cairn_status expected, const char *rule, uint64_t offset)
{
	ck_assert_int_eq(status, expected);
	ck_assert_ptr_nonnull(v.diag.rule);
	ck_assert_str_eq(v.diag.rule, rule);
	ck_assert_uint_eq(v.diag.offset, offset);
}

void expect_told_nothing(enum cairn_status status, enum cairn_status expected, const char *rule, uint64_t offset)
{
	expect_refused(status, expected, rule, offset);
	ck_assert_str_eq(v.diag.expected, "");
	ck_assert_str_eq(v.diag.actual, "");
}
