/* Tests which bytes of a planned file are known by their places, and which places a file gives. */
#include "mirror/plan.h"
#include "support/run.h"

#include <check.h>
#include <string.h>

enum { KIB = 1024, XORB_CHUNKS = 100 };

static struct cairn_hash hash_of(uint8_t number)
{
	struct cairn_hash hash;
	memset(hash.b, number, sizeof(hash.b));
	return hash;
}

/* Returns the length of some chunks. Chunk i of each xorb has i + 1 KiB. */
static uint64_t bytes_of(uint32_t first, uint32_t past)
{
	uint64_t bytes = 0;
	for (uint32_t i = first; i < past; i++)
		bytes += (i + 1) * (uint64_t)KIB;
	return bytes;
}

static struct mirror_plan_term term_of(uint8_t xorb, uint32_t first, uint32_t past)
{
	return (struct mirror_plan_term){
		.xorb = hash_of(xorb), .first = first, .past = past, .bytes = (uint32_t)bytes_of(first, past)};
}

static struct cairn_index_chunk_place place_of(uint8_t xorb, uint8_t file, uint32_t first, uint32_t past, uint64_t at)
{
	return (struct cairn_index_chunk_place){hash_of(xorb), hash_of(file), first, past, at};
}

struct known_places {
	const struct cairn_index_chunk_place *all; /* the known places of one xorb */
	uint32_t n;
	uint64_t too_long; /* added to each length */
	bool fails;
};

static uint32_t all_places(void *ctx, const struct cairn_hash *xorb, const struct cairn_index_chunk_place **out)
{
	const struct known_places *known = ctx;
	*out = known->all;
	return known->n > 0 && cairn_hash_equal(&known->all[0].xorb, xorb) ? known->n : 0;
}

static bool measure(void *ctx, const struct cairn_index_chunk_place *place, uint32_t at, uint32_t past,
		    uint64_t *before, uint64_t *bytes)
{
	const struct known_places *known = ctx;
	ck_assert(place->first <= at && at < past && past <= place->past);
	*before = bytes_of(place->first, at);
	*bytes = bytes_of(at, past) + known->too_long;
	return !known->fails;
}

static struct mirror_known_run found[MIRROR_PLAN_TERM_RUNS];

static uint32_t look_up(struct mirror_plan_term term, uint64_t offset, struct known_places known)
{
	struct mirror_plan_sight sight = {
		.ctx = &known, .looks = MIRROR_PLAN_LOOKS_MAX, .places = all_places, .measure = measure};
	return mirror_plan_look_up(&term, offset, &sight, found);
}

static void run_is(uint32_t i, uint64_t first, uint64_t bytes, uint8_t file, uint64_t at)
{
	const struct cairn_hash name = hash_of(file);
	ck_assert_uint_eq(found[i].first, first);
	ck_assert_uint_eq(found[i].end, first + bytes);
	ck_assert_uint_eq(found[i].at, at);
	ck_assert(cairn_hash_equal(&found[i].file, &name));
}

START_TEST(a_term_that_a_place_has)
{
	const struct cairn_index_chunk_place whole = place_of(1, 7, 0, XORB_CHUNKS, 5000);
	ck_assert_uint_eq(look_up(term_of(1, 0, XORB_CHUNKS), 3, (struct known_places){.all = &whole, .n = 1}), 1);
	run_is(0, 3, bytes_of(0, XORB_CHUNKS), 7, 5000);
	ck_assert_uint_eq(look_up(term_of(1, 4, 9), 3, (struct known_places){.all = &whole, .n = 1}), 1);
	run_is(0, 3, bytes_of(4, 9), 7, 5000 + bytes_of(0, 4));
	ck_assert_uint_eq(look_up(term_of(2, 4, 9), 3, (struct known_places){.all = &whole, .n = 1}), 0);
	ck_assert_uint_eq(look_up(term_of(1, 4, 9), 3, (struct known_places){.n = 0}), 0);
}
END_TEST

START_TEST(a_term_that_several_places_have)
{
	const struct cairn_index_chunk_place three[] = {place_of(1, 7, 0, 5, 10), place_of(1, 8, 3, 9, 20),
							place_of(1, 9, 9, 12, 30)};
	ck_assert_uint_eq(look_up(term_of(1, 1, 12), 100, (struct known_places){.all = three, .n = 3}), 3);
	run_is(0, 100, bytes_of(1, 5), 7, 10 + bytes_of(0, 1));
	run_is(1, 100 + bytes_of(1, 5), bytes_of(5, 9), 8, 20 + bytes_of(3, 5));
	run_is(2, 100 + bytes_of(1, 9), bytes_of(9, 12), 9, 30);
}
END_TEST

/* The offset of chunks in the middle of a term does not follow from a plan. */
START_TEST(a_term_that_is_known_at_its_ends)
{
	const struct cairn_index_chunk_place three[] = {place_of(1, 7, 0, 5, 10), place_of(1, 8, 20, 30, 20),
							place_of(1, 9, 40, 60, 30)};
	struct mirror_plan_term term = term_of(1, 2, 50);
	ck_assert_uint_eq(look_up(term, 100, (struct known_places){.all = three, .n = 3}), 2);
	run_is(0, 100, bytes_of(2, 5), 7, 10 + bytes_of(0, 2));
	run_is(1, 100 + bytes_of(2, 40), bytes_of(40, 50), 9, 30);
	ck_assert_uint_eq(look_up(term, 100, (struct known_places){.all = three + 1, .n = 2}), 1);
	run_is(0, 100 + bytes_of(2, 40), bytes_of(40, 50), 9, 30);
	ck_assert_uint_eq(look_up(term, 100, (struct known_places){.all = three + 1, .n = 1}), 0);
}
END_TEST

START_TEST(places_that_contradict_a_term)
{
	const struct cairn_index_chunk_place whole = place_of(1, 7, 0, XORB_CHUNKS, 0);
	struct mirror_plan_term term = term_of(1, 4, 9);
	ck_assert_uint_eq(look_up(term, 0, (struct known_places){.all = &whole, .n = 1, .too_long = 1}), 0);
	ck_assert_uint_eq(look_up(term, 0, (struct known_places){.all = &whole, .n = 1, .fails = true}), 0);
	term.bytes++;
	ck_assert_uint_eq(look_up(term, 0, (struct known_places){.all = &whole, .n = 1}), 0);
	const struct cairn_index_chunk_place two[] = {place_of(1, 7, 0, 6, 0), place_of(1, 8, 6, 9, 0)};
	ck_assert_uint_eq(look_up(term, 0, (struct known_places){.all = two, .n = 2}), 0);
}
END_TEST

START_TEST(looks_are_limited)
{
	const struct cairn_index_chunk_place two[] = {place_of(1, 7, 0, 6, 0), place_of(1, 8, 6, 9, 0)};
	struct known_places known = {.all = two, .n = 2};
	struct mirror_plan_sight sight = {.ctx = &known, .looks = 5, .places = all_places, .measure = measure};
	const struct mirror_plan_term term = term_of(1, 4, 9);
	ck_assert_uint_eq(mirror_plan_look_up(&term, 0, &sight, found), 2);
	ck_assert_uint_eq(sight.looks, 2);
	ck_assert_uint_eq(mirror_plan_look_up(&term, 100, &sight, found), 1);
	run_is(0, 100, bytes_of(4, 6), 7, bytes_of(0, 4));
	ck_assert_uint_eq(sight.looks, 0);
	ck_assert_uint_eq(mirror_plan_look_up(&term, 200, &sight, found), 0);
	ck_assert_uint_eq(sight.looks, 0);
}
END_TEST

START_TEST(a_term_of_very_many_places)
{
	struct cairn_index_chunk_place many[2 * MIRROR_PLAN_TERM_RUNS];
	for (uint32_t i = 0; i < 2 * MIRROR_PLAN_TERM_RUNS; i++)
		many[i] = place_of(1, (uint8_t)i, i, i + 1, 0);
	ck_assert_uint_eq(look_up(term_of(1, 0, 2 * MIRROR_PLAN_TERM_RUNS), 0,
				  (struct known_places){.all = many, .n = 2 * MIRROR_PLAN_TERM_RUNS}),
			  MIRROR_PLAN_TERM_RUNS);
	ck_assert_uint_eq(found[0].first, 0);
	ck_assert_uint_eq(found[MIRROR_PLAN_TERM_RUNS - 1].end, bytes_of(0, MIRROR_PLAN_TERM_RUNS));
}
END_TEST

static void add_run(struct mirror_known_runs *runs, uint64_t first, uint64_t end, uint8_t file, uint64_t at)
{
	const struct mirror_known_run run = {first, end, at, hash_of(file)};
	ck_assert_int_eq(mirror_known_runs_add(runs, &run), CAIRN_OK);
}

START_TEST(runs_are_joined_found_and_dropped)
{
	CLEANUP(mirror_known_runs_fini) struct mirror_known_runs runs = {0};
	ck_assert_ptr_null(mirror_known_runs_find(&runs, 0));
	add_run(&runs, 10, 20, 1, 100);
	add_run(&runs, 20, 30, 1, 110);
	add_run(&runs, 30, 40, 2, 120);
	add_run(&runs, 40, 50, 2, 200);
	add_run(&runs, 60, 70, 2, 220);
	ck_assert_uint_eq(runs.n, 4);
	static const uint64_t FIRST[][2] = {{0, 10}, {10, 10}, {29, 10}, {30, 30}, {49, 40}, {50, 60}, {69, 60}};
	for (size_t i = 0; i < sizeof(FIRST) / sizeof(FIRST[0]); i++)
		ck_assert_uint_eq(mirror_known_runs_find(&runs, FIRST[i][0])->first, FIRST[i][1]);
	ck_assert_ptr_null(mirror_known_runs_find(&runs, 70));
	ck_assert_uint_eq(mirror_known_runs_cover(&runs, 12, 30)->first, 10);
	ck_assert_ptr_null(mirror_known_runs_cover(&runs, 12, 31)); /* the other bytes are elsewhere */
	ck_assert_ptr_null(mirror_known_runs_cover(&runs, 9, 12));
	ck_assert_ptr_null(mirror_known_runs_cover(&runs, 70, 71));
	mirror_known_runs_drop(&runs, 55);
	ck_assert_uint_eq(runs.n, 4);
	mirror_known_runs_drop(&runs, 35);
	ck_assert_uint_eq(runs.n, 3);
	ck_assert_uint_eq(mirror_known_runs_find(&runs, 35)->first, 40);
}
END_TEST

START_TEST(short_runs_are_not_worth_it)
{
	CLEANUP(mirror_known_runs_fini) struct mirror_known_runs runs = {0};
	uint64_t least = MIRROR_PLAN_RUN_BYTES_MIN;
	add_run(&runs, 0, least - 1, 1, 0);
	add_run(&runs, least, 2 * least, 2, 0);
	add_run(&runs, 3 * least, 3 * least + 1, 3, 0);
	mirror_known_runs_thin(&runs);
	ck_assert_uint_eq(runs.n, 1);
	ck_assert_uint_eq(runs.all[0].first, least);
}
END_TEST

static struct mirror_plan plan_of(const struct mirror_plan_term *terms, uint32_t n)
{
	struct mirror_plan plan = {.file_bytes = 0};
	struct cairn_diag diag = {0};
	for (uint32_t i = 0; i < n; i++)
		plan.file_bytes += terms[i].bytes;
	for (uint32_t i = 0; i < n; i++)
		ck_assert_int_eq(mirror_plan_add(&plan, &terms[i], &diag), CAIRN_OK);
	return plan;
}

static enum cairn_status add(struct mirror_plan *plan, struct mirror_plan_term term)
{
	struct cairn_diag diag = {0};
	enum cairn_status status = mirror_plan_add(plan, &term, &diag);
	ck_assert(status == CAIRN_OK || strcmp(diag.rule, "mirror.plan") == 0);
	return status;
}

START_TEST(runs_that_are_shorter_packed)
{
	static const struct {
		uint32_t bytes, packed;
	} TERMS[] = {
		{400 * KIB, 100}, /* useless: it comes before the range, and is not looked up */
		{200 * KIB, 189 * KIB},  {200 * KIB, 100}, {300 * KIB, 0},       {1000 * KIB, 951 * KIB},
		{1000 * KIB, 949 * KIB}, {100 * KIB, 1},   {10 * KIB, 10 * KIB}, {100 * KIB, 1},
	};
	CLEANUP(mirror_plan_fini) struct mirror_plan plan = {.file_bytes = UINT64_MAX};
	CLEANUP(mirror_known_runs_fini) struct mirror_known_runs runs = {0};
	for (size_t i = 0; i < sizeof(TERMS) / sizeof(TERMS[0]); i++) {
		const struct mirror_plan_term term = {hash_of(1), 0, 1, TERMS[i].bytes, TERMS[i].packed};
		ck_assert_int_eq(mirror_plan_add(&plan, &term, NULL), CAIRN_OK);
	}
	ck_assert_int_eq(mirror_plan_packed(&plan, 1, 400 * (uint64_t)KIB, &runs), CAIRN_OK);
	ck_assert_uint_eq(runs.n, 2);
	ck_assert_uint_eq(runs.all[0].first, 400 * (uint64_t)KIB);
	ck_assert_uint_eq(runs.all[0].end, 800 * (uint64_t)KIB);
	ck_assert_uint_eq(runs.all[1].first, 2100 * (uint64_t)KIB);
	ck_assert_uint_eq(runs.all[1].end, 3200 * (uint64_t)KIB);
}
END_TEST

START_TEST(terms_that_no_plan_has)
{
	CLEANUP(mirror_plan_fini) struct mirror_plan plan = {.file_bytes = 100};
	const struct cairn_hash xorb = hash_of(1);
	ck_assert_int_eq(add(&plan, (struct mirror_plan_term){xorb, 1, 1, 5, 0}), CAIRN_E_FORMAT);
	ck_assert_int_eq(add(&plan, (struct mirror_plan_term){xorb, 2, 1, 5, 0}), CAIRN_E_FORMAT);
	ck_assert_int_eq(add(&plan, (struct mirror_plan_term){xorb, 0, 8193, 5, 0}), CAIRN_E_FORMAT);
	ck_assert_int_eq(add(&plan, (struct mirror_plan_term){xorb, 0, 1, 0, 0}), CAIRN_E_FORMAT);
	ck_assert_int_eq(add(&plan, (struct mirror_plan_term){xorb, 0, 1, 101, 0}), CAIRN_E_FORMAT);
	ck_assert_int_eq(add(&plan, (struct mirror_plan_term){xorb, 0, 8192, 99, 0}), CAIRN_OK);
	ck_assert_int_eq(add(&plan, (struct mirror_plan_term){xorb, 0, 1, 2, 0}), CAIRN_E_FORMAT);
	ck_assert_int_eq(add(&plan, (struct mirror_plan_term){xorb, 0, 1, 1, 0}), CAIRN_OK);
	ck_assert_uint_eq(plan.n, 2);
	ck_assert_uint_eq(plan.bytes, 100);
}
END_TEST

START_TEST(too_many_terms)
{
	CLEANUP(mirror_plan_fini) struct mirror_plan plan = {.file_bytes = MIRROR_PLAN_TERMS_MAX + 1};
	for (uint32_t i = 0; i < MIRROR_PLAN_TERMS_MAX; i++)
		ck_assert_int_eq(add(&plan, (struct mirror_plan_term){hash_of(1), 0, 1, 1, 0}), CAIRN_OK);
	ck_assert_int_eq(add(&plan, (struct mirror_plan_term){hash_of(1), 0, 1, 1, 0}), CAIRN_E_LIMIT);
}
END_TEST

/* The chunks of a file, in its order. */
struct chunks {
	uint32_t lengths[2 * XORB_CHUNKS];
	uint32_t n, at;
};

static uint32_t next_chunk(void *ctx)
{
	struct chunks *chunks = ctx;
	return chunks->at < chunks->n ? chunks->lengths[chunks->at++] : 0;
}

static struct chunks chunks_of(const struct mirror_plan_term *terms, uint32_t n)
{
	struct chunks chunks = {.n = 0};
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = terms[i].first; j < terms[i].past; j++)
			chunks.lengths[chunks.n++] = (j + 1) * KIB;
	return chunks;
}

START_TEST(neighbouring_terms_become_one_place)
{
	const struct mirror_plan_term terms[] = {term_of(1, 0, 5), term_of(1, 5, 9), term_of(2, 9, 11),
						 term_of(2, 3, 4), term_of(1, 9, 10)};
	struct cairn_index_chunk_place places[8];
	CLEANUP(mirror_plan_fini) struct mirror_plan plan = plan_of(terms, 5);
	struct chunks chunks = chunks_of(terms, 5);
	ck_assert_uint_eq(mirror_plan_places(&plan, next_chunk, &chunks, places, 8), 4);
	static const uint32_t RANGES[][2] = {{0, 9}, {9, 11}, {3, 4}, {9, 10}};
	uint64_t at = 0;
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_uint_eq(places[i].first, RANGES[i][0]);
		ck_assert_uint_eq(places[i].past, RANGES[i][1]);
		ck_assert_uint_eq(places[i].at, at);
		at += bytes_of(RANGES[i][0], RANGES[i][1]);
	}
	/* With room for two places, the last term must not be taken for the one after the first place. */
	chunks.at = 0;
	ck_assert_uint_eq(mirror_plan_places(&plan, next_chunk, &chunks, places, 2), 2);
	ck_assert_uint_eq(places[0].past, 9);
	ck_assert_uint_eq(places[1].past, 11);
}
END_TEST

START_TEST(a_plan_that_does_not_fit_the_file)
{
	const struct mirror_plan_term terms[] = {term_of(1, 0, 5), term_of(2, 5, 9)};
	struct cairn_index_chunk_place places[8];
	CLEANUP(mirror_plan_fini) struct mirror_plan plan = plan_of(terms, 2);
	struct chunks chunks = chunks_of(terms, 2);
	chunks.lengths[7]++;
	ck_assert_uint_eq(mirror_plan_places(&plan, next_chunk, &chunks, places, 8), 0);
	chunks = chunks_of(terms, 2);
	chunks.n--;
	ck_assert_uint_eq(mirror_plan_places(&plan, next_chunk, &chunks, places, 8), 0);
	chunks = chunks_of(terms, 2);
	plan.file_bytes++; /* makes the plan incomplete */
	ck_assert_uint_eq(mirror_plan_places(&plan, next_chunk, &chunks, places, 8), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan");
	TCase *tcase = tcase_create("plan");
	tcase_add_test(tcase, a_term_that_a_place_has);
	tcase_add_test(tcase, a_term_that_several_places_have);
	tcase_add_test(tcase, a_term_that_is_known_at_its_ends);
	tcase_add_test(tcase, places_that_contradict_a_term);
	tcase_add_test(tcase, looks_are_limited);
	tcase_add_test(tcase, a_term_of_very_many_places);
	tcase_add_test(tcase, runs_are_joined_found_and_dropped);
	tcase_add_test(tcase, short_runs_are_not_worth_it);
	tcase_add_test(tcase, runs_that_are_shorter_packed);
	tcase_add_test(tcase, terms_that_no_plan_has);
	tcase_add_test(tcase, too_many_terms);
	tcase_add_test(tcase, neighbouring_terms_become_one_place);
	tcase_add_test(tcase, a_plan_that_does_not_fit_the_file);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
