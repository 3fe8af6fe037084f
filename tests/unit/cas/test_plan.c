/* Reconstruction plans, grants, and their JSON, checked against the terms of a captured upload. */
#include "cas/internal.h"
#include "cas/object/fetch_grant.h"
#include "cas/serve/plan.h"
#include "cas/stats.h"
#include "server/route/plan_json.h"
#include "shard/reader.h"
#include "support/cas_fixture.h"
#include "support/index_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The file of shards/medium that has three terms over chunks 67-71, 68-70 and 71-..., which overlap. */
#define THREE_TERMS "1ec691635870c7b5fc35292119e96964ea5dc8d30d2945d98831d3279b57600d"

static const struct cairn_byte_range ALL = {.kind = CAIRN_RANGE_ALL};

static struct cairn_byte_range from_to(uint64_t first, uint64_t last)
{
	return (struct cairn_byte_range){.kind = CAIRN_RANGE_FROM_TO, .first = first, .last = last};
}

static struct cairn_plan plan_of(struct cairn_cas *cas, const char *file, struct cairn_byte_range range)
{
	struct cairn_plan plan;
	struct cairn_hash hash = vec_hash_text(file);
	ck_assert_int_eq(cairn_cas_plan(cas, NULL, &hash, &range, &plan), CAIRN_OK);
	return plan;
}

static uint64_t terms_bytes(const struct cairn_plan *plan)
{
	uint64_t bytes = 0;
	for (uint32_t i = 0; i < plan->n_terms; i++)
		bytes += plan->terms[i].unpacked_bytes;
	return bytes;
}

/* Checks that each term lies within one range of its xorb, and that ranges ascend and do not touch. */
static void check_ranges(const struct cairn_plan *plan)
{
	for (uint32_t x = 0; x < plan->n_xorbs; x++) {
		const struct cairn_plan_range *r = &plan->ranges[plan->xorbs[x].first_range];
		for (uint32_t i = 0; i < plan->xorbs[x].n_ranges; i++) {
			ck_assert_uint_lt(r[i].start, r[i].end);
			ck_assert_uint_lt(r[i].first_byte, r[i].end_byte);
			ck_assert(i == 0 || (r[i - 1].end < r[i].start && r[i - 1].end_byte < r[i].first_byte));
		}
	}
	for (uint32_t t = 0; t < plan->n_terms; t++) {
		const struct cairn_plan_xorb *x = &plan->xorbs[plan->terms[t].xorb];
		unsigned holders = 0;
		for (uint32_t i = 0; i < x->n_ranges; i++) {
			const struct cairn_plan_range *r = &plan->ranges[x->first_range + i];
			holders += plan->terms[t].start >= r->start && plan->terms[t].end <= r->end;
		}
		ck_assert_uint_eq(holders, 1);
	}
}

START_TEST(a_whole_file)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	CLEANUP(cairn_plan_fini) struct cairn_plan plan = plan_of(f.cas, THREE_TERMS, ALL);
	ck_assert_uint_eq(plan.n_terms, 3);
	ck_assert_uint_eq(plan.n_xorbs, 1);
	ck_assert_uint_eq(plan.offset_into_first_range, 0);
	ck_assert_uint_eq(terms_bytes(&plan), plan.file_bytes);
	/* 67-71, 68-70 and 71-72 overlap or touch, so they make one range. */
	ck_assert_uint_eq(plan.n_ranges, 1);
	ck_assert_uint_eq(plan.ranges[0].start, 67);
	check_ranges(&plan);
}
END_TEST

/* Every range of a file of few terms, in steps. The plan must have just enough bytes. */
START_TEST(ranges_are_cut_to_the_chunks_they_touch)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	CLEANUP(cairn_plan_fini) struct cairn_plan whole = plan_of(f.cas, THREE_TERMS, ALL);
	const uint64_t step = 13007;
	for (uint64_t first = 0; first < whole.file_bytes; first += step) {
		for (uint64_t last = first; last < whole.file_bytes + step; last += 2 * step) {
			CLEANUP(cairn_plan_fini)
			struct cairn_plan plan = plan_of(f.cas, THREE_TERMS, from_to(first, last));
			uint64_t end = last < whole.file_bytes ? last + 1 : whole.file_bytes;
			uint64_t covered = terms_bytes(&plan), wanted = end - first;
			check_ranges(&plan);
			ck_assert_uint_le(plan.offset_into_first_range + wanted, covered);
			ck_assert_uint_lt(plan.offset_into_first_range, CAIRN_CHUNK_BYTES_MAX);
			ck_assert_uint_lt(covered - plan.offset_into_first_range - wanted, CAIRN_CHUNK_BYTES_MAX);
		}
	}
}
END_TEST

START_TEST(a_suffix_and_an_open_end)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	CLEANUP(cairn_plan_fini) struct cairn_plan whole = plan_of(f.cas, THREE_TERMS, ALL);
	struct cairn_byte_range suffix = {.kind = CAIRN_RANGE_SUFFIX, .suffix_bytes = 100};
	CLEANUP(cairn_plan_fini) struct cairn_plan tail = plan_of(f.cas, THREE_TERMS, suffix);
	CLEANUP(cairn_plan_fini)
	struct cairn_plan open = plan_of(f.cas, THREE_TERMS, from_to(whole.file_bytes - 100, UINT64_MAX));
	ck_assert_uint_eq(tail.n_terms, 1);
	ck_assert_uint_eq(tail.terms[0].start, open.terms[0].start);
	ck_assert_uint_eq(tail.offset_into_first_range, open.offset_into_first_range);
	ck_assert_uint_eq(tail.terms[0].unpacked_bytes - tail.offset_into_first_range, 100);
	suffix.suffix_bytes = whole.file_bytes + 1;
	CLEANUP(cairn_plan_fini) struct cairn_plan more = plan_of(f.cas, THREE_TERMS, suffix);
	ck_assert_uint_eq(more.n_terms, whole.n_terms);
}
END_TEST

START_TEST(past_the_end_unknown_and_empty)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	CLEANUP(cairn_plan_fini) struct cairn_plan whole = plan_of(f.cas, THREE_TERMS, ALL);
	struct cairn_plan plan;
	struct cairn_hash hash = vec_hash_text(THREE_TERMS), empty = {0};
	struct cairn_byte_range at_end = from_to(whole.file_bytes, whole.file_bytes + 5), zero = from_to(0, 0);
	struct cairn_byte_range one = from_to(1, 5), last = {.kind = CAIRN_RANGE_SUFFIX, .suffix_bytes = 5};
	ck_assert_int_eq(cairn_cas_plan(f.cas, NULL, &hash, &at_end, &plan), CAIRN_E_LIMIT);
	ck_assert_uint_eq(plan.file_bytes, whole.file_bytes);
	ck_assert_int_eq(cairn_cas_plan(f.cas, NULL, &empty, &zero, &plan), CAIRN_OK);
	ck_assert_uint_eq(plan.n_terms, 0);
	ck_assert_int_eq(cairn_cas_plan(f.cas, NULL, &empty, &last, &plan), CAIRN_OK);
	ck_assert_int_eq(cairn_cas_plan(f.cas, NULL, &empty, &one, &plan), CAIRN_E_LIMIT);
	hash.b[0] ^= 1;
	ck_assert_int_eq(cairn_cas_plan(f.cas, NULL, &hash, &ALL, &plan), CAIRN_E_NOT_FOUND);
}
END_TEST

/* A bit is flipped in the terms of a file. No term may reach beyond the chunk list, or backwards. */
START_TEST(damaged_terms_are_a_conflict)
{
	static const char *const terms[] = {
		"x'00000000'",                /* an empty term */
		"x'04000300'",                /* a term that goes backwards */
		"x'ffff0000'", "x'00000500'", /* terms beyond the list */
	};
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	struct cairn_hash file = fx_put_four_chunks(f.cas->index, "");
	struct cairn_plan plan;
	char sql[160];
	(void)snprintf(sql, sizeof(sql),
		       "UPDATE file SET terms = CAST(substr(terms, 1, 8) || %s || substr(terms, 13) AS BLOB)",
		       terms[_i]);
	fx_sql(f.dir.path, sql);
	ck_assert_int_eq(cairn_cas_plan(f.cas, NULL, &file, &ALL, &plan), CAIRN_E_CONFLICT);
	struct cairn_byte_range range = from_to(1000, 1000);
	ck_assert_int_eq(cairn_cas_plan(f.cas, NULL, &file, &range, &plan), CAIRN_E_CONFLICT);
}
END_TEST

/* If the size in the row is too small, a reader would take a part of the file for the whole. */
START_TEST(a_damaged_size_is_a_conflict)
{
	static const char *const sizes[] = {"0", "1", "size - 1", "size + 1"};
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	struct cairn_hash file = fx_put_four_chunks(f.cas->index, "");
	struct cairn_plan plan;
	char sql[160];
	(void)snprintf(sql, sizeof(sql), "UPDATE file SET size = %s", sizes[_i]);
	fx_sql(f.dir.path, sql);
	ck_assert_int_eq(cairn_cas_plan(f.cas, NULL, &file, &ALL, &plan), CAIRN_E_CONFLICT);
	ck_assert_int_eq(cairn_cas_plan_small(f.cas, NULL, &file, &plan), CAIRN_E_CONFLICT);
}
END_TEST

/* The offsets that a term records must lie within the object. */
START_TEST(damaged_offsets_are_a_conflict)
{
	static const char *const offsets[] = {
		"x'0000000000000000'", /* an empty span */
		"x'0500000004000000'", /* a span that goes backwards */
		"x'00000000ffff0000'", /* a span past the end */
	};
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	struct cairn_hash file = fx_put_four_chunks(f.cas->index, "");
	struct cairn_plan plan;
	char sql[160];
	(void)snprintf(sql, sizeof(sql), "UPDATE file SET terms = CAST(substr(terms, 1, 16) || %s AS BLOB)",
		       offsets[_i]);
	fx_sql(f.dir.path, sql);
	ck_assert_int_eq(cairn_cas_plan(f.cas, NULL, &file, &ALL, &plan), CAIRN_E_CONFLICT);
}
END_TEST

static void lose_xorb(struct cairn_index *ix, const struct cairn_hash *hash)
{
	struct cairn_index_lose_xorb lose = {.hash = *hash};
	ck_assert_int_eq(cairn_index_lose_xorb(ix, &lose), CAIRN_OK);
}

static void check_bytes(struct cairn_cas *cas, const struct cairn_hash *file, const struct fx_xorb *x)
{
	CLEANUP(cairn_plan_fini) struct cairn_plan plan = {0};
	ck_assert_int_eq(cairn_cas_plan(cas, NULL, file, &ALL, &plan), CAIRN_OK);
	ck_assert_uint_eq(plan.n_ranges, 2);
	ck_assert_uint_eq(plan.ranges[0].first_byte, x->list.spans[0].end);
	ck_assert_uint_eq(plan.ranges[0].end_byte, x->list.spans[3].end);
	ck_assert_uint_eq(plan.ranges[1].first_byte, x->list.spans[5].end);
	ck_assert_uint_eq(plan.ranges[1].end_byte, x->list.spans[6].end);
}

/* The same chunks may be stored again in another layout. Then the offsets in the terms are out of date. */
START_TEST(a_xorb_that_was_repacked_is_planned_by_its_list)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	struct cairn_index *ix = f.cas->index;
	struct fx_xorb x = fx_xorb_new(1, 8);
	struct fx_shard s;
	fx_xorb_put(ix, &x);
	fx_shard_init(&s, 1);
	struct fx_file *file = fx_shard_file(&s, 1, &x, 1, 3);
	fx_shard_term(file, &x, 6, 7);
	fx_shard_term(file, &x, 2, 4);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	check_bytes(f.cas, &file->file.hash, &x);

	lose_xorb(ix, &x.hash); /* stored again as before */
	ck_assert(fx_xorb_put(ix, &x));
	check_bytes(f.cas, &file->file.hash, &x);

	lose_xorb(ix, &x.hash);
	for (uint32_t i = 0; i < x.list.n; i++)
		x.list.spans[i].end += 9 * (i + 1);
	ck_assert(fx_xorb_put(ix, &x));
	check_bytes(f.cas, &file->file.hash, &x);

	fx_shard_init(&s, 2); /* a file registered now gets the same plans as before */
	file = fx_shard_file(&s, 2, &x, 1, 4);
	fx_shard_term(file, &x, 6, 7);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	check_bytes(f.cas, &file->file.hash, &x);
	fx_xorb_fini(&x);
}
END_TEST

START_TEST(a_viewer_reads_only_files_of_its_repository)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	const struct cairn_cas_who tenant = {.scope = "", .owner = "a/b", .viewer = "a/b"};
	struct cairn_hash hash = vec_hash_text(THREE_TERMS);
	struct cairn_plan plan;
	cas_put_medium(f.cas, &tenant);
	ck_assert_int_eq(cairn_cas_plan(f.cas, "a/c", &hash, &ALL, &plan), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_cas_plan(f.cas, "a/b", &hash, &ALL, &plan), CAIRN_OK);
	cairn_plan_fini(&plan);
	ck_assert_int_eq(cairn_cas_plan(f.cas, NULL, &hash, &ALL, &plan), CAIRN_OK);
	cairn_plan_fini(&plan);
}
END_TEST

START_TEST(a_grant_holds_until_it_expires_and_as_it_was_signed)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	struct cairn_hash xorb = vec_hash_text(CAS_FIXTURE_XORB), other = xorb;
	char sign[CAIRN_FETCH_SIGNATURE_TEXT_BYTES];
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_fetch_sign(f.cas, &xorb, "0-9,20-29", 1000, sign), CAIRN_OK);
	ck_assert_int_eq(cairn_fetch_check(f.cas, &xorb, "0-9,20-29", "1000", sign, 999, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_fetch_check(f.cas, &xorb, "0-9,20-29", "1000", sign, 1000, &diag), CAIRN_E_DENIED);
	ck_assert_str_eq(diag.rule, "fetch.expired");
	other.b[31] ^= 1;
	ck_assert_int_eq(cairn_fetch_check(f.cas, &other, "0-9,20-29", "1000", sign, 999, NULL), CAIRN_E_DENIED);
	ck_assert_int_eq(cairn_fetch_check(f.cas, &xorb, "0-9,20-30", "1000", sign, 999, NULL), CAIRN_E_DENIED);
	ck_assert_int_eq(cairn_fetch_check(f.cas, &xorb, "0-9,20-29", "1001", sign, 999, NULL), CAIRN_E_DENIED);
	sign[5] = sign[5] == '0' ? '1' : '0';
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(cairn_fetch_check(f.cas, &xorb, "0-9,20-29", "1000", sign, 999, &diag), CAIRN_E_DENIED);
	ck_assert_str_eq(diag.rule, "fetch.signature");
	ck_assert_int_eq(cairn_fetch_check(f.cas, &xorb, "", "", "", 0, NULL), CAIRN_E_DENIED);
}
END_TEST

START_TEST(ranges_of_a_grant_are_read_strictly)
{
	struct cairn_fetch_range r[2];
	ck_assert_uint_eq(cairn_fetch_ranges_parse(r, 2, "0-9,20-29"), 2);
	ck_assert_uint_eq(r[1].first, 20);
	ck_assert_uint_eq(r[1].last, 29);
	static const char *const BAD[] = {
		"", "0", "0-", "-9", "9-0", "0-9,", ",0-9", "0-9 ,1-2", "0-9,1-2,3-4", "0-999999999999999999", "x-9"};
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++)
		ck_assert_msg(cairn_fetch_ranges_parse(r, 2, BAD[i]) == 0, "%s", BAD[i]);
}
END_TEST

static json_t *written(struct cairn_spill *out)
{
	json_error_t error;
	ck_assert_int_eq(out->status, CAIRN_OK);
	ck_assert_ptr_null(out->spool);
	json_t *value = json_loadb((const char *)out->buf.bytes, out->buf.len, 0, &error);
	ck_assert_msg(value, "%s", error.text);
	return value;
}

static json_t *json_of(struct cas_fixture *f, const struct cairn_plan *plan,
		       void (*write)(struct cairn_spill *, const struct cairn_plan *, const struct plan_urls *),
		       unsigned ranges_max)
{
	struct plan_urls urls = {.cas = f->cas, .base = "http://h:1", .expires_unix_s = 99, .ranges_max = ranges_max};
	CLEANUP(cairn_spill_fini) struct cairn_spill out;
	cairn_spill_init(&out, f->cas, &CAS_OPERATOR.sender, 1 << 20);
	write(&out, plan, &urls);
	return written(&out);
}

START_TEST(both_forms_name_the_same_ranges)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	struct cairn_plan_range ranges[3] = {{1, 2, 10, 20}, {4, 6, 40, 60}, {8, 9, 80, 90}};
	struct cairn_plan_term terms[1] = {{0, 1, 2, 77}};
	struct cairn_plan_xorb xorb = {.hash = vec_hash_text(CAS_FIXTURE_XORB), .n_ranges = 3};
	struct cairn_plan plan = {.offset_into_first_range = 5,
				  .n_terms = 1,
				  .n_ranges = 3,
				  .n_xorbs = 1,
				  .terms = terms,
				  .ranges = ranges,
				  .xorbs = &xorb};
	CLEANUP(vec_json_freep) json_t *v1 = json_of(&f, &plan, plan_write_v1, 2);
	CLEANUP(vec_json_freep) json_t *v2 = json_of(&f, &plan, plan_write_v2, 2);
	ck_assert_uint_eq(vec_u64(v1, "offset_into_first_range"), 5);
	ck_assert_int_eq(json_equal(vec_get(v1, "terms"), vec_get(v2, "terms")), 1);
	const json_t *fetches = vec_get(vec_get(v1, "fetch_info"), CAS_FIXTURE_XORB);
	const json_t *groups = vec_get(vec_get(v2, "xorbs"), CAS_FIXTURE_XORB);
	ck_assert_uint_eq(json_array_size(fetches), 3);
	ck_assert_uint_eq(json_array_size(groups), 2); /* two ranges in the first URL, one in the second */
	const json_t *second = vec_get(json_array_get(groups, 0), "ranges");
	ck_assert_uint_eq(json_array_size(second), 2);
	ck_assert_uint_eq(vec_u64(vec_get(json_array_get(second, 1), "bytes"), "end"), 59);
	ck_assert_uint_eq(vec_u64(vec_get(json_array_get(fetches, 1), "url_range"), "end"), 59);
	ck_assert_ptr_nonnull(strstr(vec_string(json_array_get(groups, 0), "url"), "ranges=10-19,40-59&"));
}
END_TEST

START_TEST(a_batch_names_a_shared_xorb_once)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_put_medium(f.cas, &CAS_OPERATOR);
	struct cairn_plan plans[2] = {plan_of(f.cas, THREE_TERMS, ALL), plan_of(f.cas, THREE_TERMS, from_to(0, 9))};
	struct cairn_hash files[2] = {vec_hash_text(THREE_TERMS), {{1}}};
	struct plan_urls urls = {.cas = f.cas, .base = "http://h:1", .expires_unix_s = 99, .ranges_max = 1};
	CLEANUP(cairn_spill_fini) struct cairn_spill out;
	cairn_spill_init(&out, f.cas, &CAS_OPERATOR.sender, 1 << 20);
	plan_write_batch(&out, files, plans, 2, true, &urls);
	CLEANUP(vec_json_freep) json_t *batch = written(&out);
	ck_assert_uint_eq(json_object_size(vec_get(batch, "files")), 2);
	ck_assert_uint_eq(json_object_size(vec_get(batch, "offsets_into_first_range")), 2);
	ck_assert_uint_eq(json_object_size(vec_get(batch, "fetch_info")), 1);
	ck_assert_uint_eq(json_array_size(vec_get(vec_get(batch, "fetch_info"), CAS_FIXTURE_XORB)), 1);
	cairn_plan_fini(&plans[0]);
	cairn_plan_fini(&plans[1]);
}
END_TEST

enum { LONG_PLAN_TERMS = 20000 };

/* The caller frees the plan with cairn_spill_fini(). */
static struct cairn_spill long_plan(struct cas_fixture *f, uint64_t bytes_max)
{
	struct cairn_plan_term *terms = calloc(LONG_PLAN_TERMS, sizeof(*terms));
	struct cairn_plan_range range = {0, 1, 0, 10};
	struct cairn_plan_xorb xorb = {.n_ranges = 1};
	struct cairn_plan plan = {.n_terms = LONG_PLAN_TERMS,
				  .n_ranges = 1,
				  .n_xorbs = 1,
				  .terms = terms,
				  .ranges = &range,
				  .xorbs = &xorb};
	struct plan_urls urls = {.cas = f->cas, .base = "http://h:1", .expires_unix_s = 99, .ranges_max = 1};
	struct cairn_spill out;
	cairn_spill_init(&out, f->cas, &CAS_OPERATOR.sender, bytes_max);
	plan_write_v2(&out, &plan, &urls);
	cairn_spill_finish(&out);
	free(terms);
	return out;
}

START_TEST(a_long_plan_goes_to_a_file)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	CLEANUP(cairn_spill_fini) struct cairn_spill out = long_plan(&f, 1 << 30);
	ck_assert_int_eq(out.status, CAIRN_OK);
	ck_assert_ptr_nonnull(out.spool);
	ck_assert_uint_gt(cairn_spool_bytes(out.spool), 100 * LONG_PLAN_TERMS);
	ck_assert_uint_le(out.buf.cap, 1 << 20);
	CLEANUP(cairn_spill_fini) struct cairn_spill over = long_plan(&f, 1 << 20);
	ck_assert_int_eq(over.status, CAIRN_E_LIMIT);
}
END_TEST

static void small_spool(struct cairn_cas_options *options)
{
	options->spool_bytes_max = 3 << 20;
	options->shard_bytes_max = options->xorb_bytes_max = 1 << 20;
}

static void large_reserve(struct cairn_cas_options *options)
{
	options->reserve_bytes = UINT64_C(1) << 60;
}

START_TEST(the_file_of_a_long_plan_counts_as_the_askers)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	struct cairn_cas_stats stats;
	{
		CLEANUP(cairn_spill_fini) struct cairn_spill out = long_plan(&f, 1 << 30);
		cairn_cas_stats(f.cas, &stats);
		ck_assert_uint_eq(stats.spool_bytes, cairn_spool_bytes(out.spool));
	}
	cairn_cas_stats(f.cas, &stats);
	ck_assert_uint_eq(stats.spool_bytes, 0);

	cas_fixture_reopen(&f, small_spool);
	CLEANUP(cairn_spill_fini) struct cairn_spill over = long_plan(&f, 1 << 30);
	ck_assert_int_eq(over.status, CAIRN_E_BUSY);
	ck_assert_str_eq(over.diag.rule, "spool.share");
}
END_TEST

START_TEST(a_long_plan_leaves_the_reserve)
{
	CLEANUP(cas_fixture_fini) struct cas_fixture f = cas_fixture_new();
	cas_fixture_reopen(&f, large_reserve);
	CLEANUP(cairn_spill_fini) struct cairn_spill out = long_plan(&f, 1 << 30);
	ck_assert_int_eq(out.status, CAIRN_E_FULL);
	ck_assert_str_eq(out.diag.rule, "disk.reserve");
}
END_TEST

static Suite *plan_suite(void)
{
	Suite *s = suite_create("plan");
	TCase *t = tcase_create("plan");
	tcase_add_test(t, a_whole_file);
	tcase_add_test(t, ranges_are_cut_to_the_chunks_they_touch);
	tcase_add_test(t, a_suffix_and_an_open_end);
	tcase_add_test(t, past_the_end_unknown_and_empty);
	tcase_add_loop_test(t, damaged_terms_are_a_conflict, 0, 4);
	tcase_add_loop_test(t, a_damaged_size_is_a_conflict, 0, 4);
	tcase_add_loop_test(t, damaged_offsets_are_a_conflict, 0, 3);
	tcase_add_test(t, a_xorb_that_was_repacked_is_planned_by_its_list);
	tcase_add_test(t, a_viewer_reads_only_files_of_its_repository);
	tcase_add_test(t, a_grant_holds_until_it_expires_and_as_it_was_signed);
	tcase_add_test(t, ranges_of_a_grant_are_read_strictly);
	tcase_add_test(t, both_forms_name_the_same_ranges);
	tcase_add_test(t, a_batch_names_a_shared_xorb_once);
	tcase_add_test(t, a_long_plan_goes_to_a_file);
	tcase_add_test(t, the_file_of_a_long_plan_counts_as_the_askers);
	tcase_add_test(t, a_long_plan_leaves_the_reserve);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return run_suite(plan_suite());
}
