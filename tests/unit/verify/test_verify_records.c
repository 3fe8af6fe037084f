/* The records that the verifier makes for the index. */
#include "base/bytes.h"
#include "shard/records.h"
#include "support/verify_fixture.h"

#include <string.h>

/* Gives chunks of each xorb another stored length, so that the places of two xorbs differ. */
static void give_places(struct made_xorb *x, uint32_t step)
{
	for (uint32_t i = 0; i < x->list.n; i++)
		x->list.spans[i].end = (i + 1) * step;
}

/* Checks the eligible chunks of the described xorb that test_records() sends. */
static void must_have_recorded_chunks(const struct cairn_index_new_shard *s)
{
	uint32_t n_eligible = 0;
	for (uint32_t i = 0; i < v.xorbs[2].list.n; i++)
		if (cairn_hash_is_eligible(&v.xorbs[2].list.hashes[i])) {
			ck_assert_uint_eq(s->eligible[n_eligible].place, i);
			ck_assert_uint_eq(s->eligible[n_eligible++].prefix,
					  cairn_get_u64le(v.xorbs[2].list.hashes[i].b));
		}
	ck_assert_uint_eq(s->xorbs[0].n_eligible, n_eligible);
}

/* Checks the files of test_records() with their terms. */
static void must_have_recorded_files(const struct cairn_index_new_shard *s)
{
	ck_assert_uint_eq(s->n_files, 4);
	static const struct cairn_index_new_term TERMS[] = {
		{1, 0, 300, 500, 3, 5}, {0, 0, 2100, 2700, 7, 9}, {1, 0, 0, 100, 0, 1},
		{2, 0, 0, 200, 0, 1},   {1, 0, 400, 600, 4, 6},
	};
	static const uint32_t N_TERMS[] = {1, 0, 2, 2};
	const struct cairn_index_new_term *term = s->terms;
	for (unsigned f = 0, t = 0; f < 4; f++) {
		uint64_t size_bytes = 0;
		ck_assert_uint_eq(s->files[f].n_terms, N_TERMS[f]);
		for (uint32_t i = 0; i < N_TERMS[f]; i++, t++, term++) {
			const struct cairn_chunk_list *list = &v.xorbs[s->xorbs[term->xorb].id - 1].list;
			ck_assert_uint_eq(term->xorb, TERMS[t].xorb);
			ck_assert_uint_eq(term->first_byte, TERMS[t].first_byte);
			ck_assert_uint_eq(term->end_byte, TERMS[t].end_byte);
			ck_assert_uint_eq(term->start, TERMS[t].start);
			ck_assert_uint_eq(term->end, TERMS[t].end);
			ck_assert_uint_eq(term->unpacked_bytes, cairn_chunk_list_bytes(list, term->start, term->end));
			size_bytes += term->unpacked_bytes;
			if (i == 0)
				ck_assert_uint_eq(s->files[f].first_chunk,
						  cairn_get_u64le(list->hashes[term->start].b));
		}
		if (N_TERMS[f] == 0)
			ck_assert_uint_eq(s->files[f].first_chunk, 0);
		ck_assert_uint_eq(s->files[f].size_bytes, size_bytes);
	}
}

/* Tests all records for the index, of a xorb that the shard describes and of one that it only names. */
START_TEST(test_records)
{
	CLEANUP(cairn_verified_fini) struct cairn_verified got = {0};
	struct cairn_verify_options options = CAIRN_VERIFY_DEFAULTS;
	const struct made_term one = {&v.xorbs[0], 3, 5}, other[] = {{&v.xorbs[2], 7, 9}, {&v.xorbs[0], 0, 1}};
	const struct made_term third[] = {{&v.xorbs[1], 0, 1}, {&v.xorbs[0], 4, 6}};
	options.records = &got;
	for (unsigned i = 0; i < 3; i++)
		give_places(&v.xorbs[i], 100 * (i + 1));
	made_write_file(&v.w, &one, 1, WITH_ALL);
	made_write_file(&v.w, NULL, 0, WITH_ALL);
	made_write_file(&v.w, other, 2, CAIRN_SHARD_FILE_WITH_VERIFICATION);
	made_write_file(&v.w, third, 2, WITH_ALL);
	made_write_xorb(&v.w, &v.xorbs[2]);
	ck_assert_int_eq(verify_made(&options), CAIRN_OK);

	const struct cairn_index_new_shard *s = &got.shard;
	ck_assert_uint_eq(s->n_described, 1);
	ck_assert_uint_eq(s->n_xorbs, 3);
	static const int64_t IDS[] = {3, 1, 2}; /* the numbers that made_resolver() gives */
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_int_eq(s->xorbs[i].id, IDS[i]);
		ck_assert(cairn_hash_equal(&s->xorbs[i].hash, &v.xorbs[IDS[i] - 1].hash));
		ck_assert_ptr_null(s->xorbs[i].list);
	}
	must_have_recorded_chunks(s);
	must_have_recorded_files(s);
	ck_assert(s->files[0].has_sha256 && !s->files[2].has_sha256);
	ck_assert_uint_gt(got.bytes, 0);
	ck_assert_uint_le(got.bytes, 2 * v.w.buf.len);
}
END_TEST

/* Describes a xorb whose chunks are all eligible. */
static void write_eligible(const struct made_xorb *x)
{
	cairn_shard_write_xorb(&v.w, &x->hash, 0);
	for (uint32_t i = 0; i < x->list.n; i++)
		cairn_shard_write_chunk(&v.w, &x->list.hashes[i], x->list.spans[i].unpacked_bytes,
					CAIRN_SHARD_CHUNK_ELIGIBLE);
}

/* Each described xorb has its own eligible chunks and places, after those of the earlier xorbs. */
START_TEST(test_records_of_several_described)
{
	CLEANUP(cairn_verified_fini) struct cairn_verified got = {0};
	struct cairn_verify_options options = CAIRN_VERIFY_DEFAULTS;
	const struct made_term terms[] = {
		{&v.xorbs[0], 0, 1}, {&v.xorbs[0], 1, 20},  {&v.xorbs[1], 0, 1},
		{&v.xorbs[2], 0, 1}, {&v.xorbs[2], 1, 300},
	};
	options.records = &got;
	made_write_file(&v.w, terms, 5, WITH_ALL);
	for (unsigned i = 0; i < 3; i++) {
		give_places(&v.xorbs[i], 100 * (i + 1));
		write_eligible(&v.xorbs[i]);
	}
	ck_assert_int_eq(verify_made(&options), CAIRN_OK);
	uint32_t n_eligible = 0;
	for (unsigned i = 0; i < 3; i++) {
		ck_assert_uint_eq(got.shard.xorbs[i].first_eligible, n_eligible);
		ck_assert_uint_eq(got.shard.xorbs[i].n_eligible, v.xorbs[i].list.n);
		n_eligible += v.xorbs[i].list.n;
	}
	for (unsigned i = 0; i < 5; i++) {
		const struct cairn_index_new_term *term = &got.shard.terms[i];
		uint32_t step = 100 * (term->xorb + 1);
		ck_assert_ptr_eq(terms[i].xorb, &v.xorbs[term->xorb]);
		ck_assert_uint_eq(term->first_byte, terms[i].start * step);
		ck_assert_uint_eq(term->end_byte, terms[i].end * step);
	}
	ck_assert_uint_gt(got.bytes, n_eligible * sizeof(*got.eligible));
	ck_assert_uint_le(got.bytes, 2 * v.w.buf.len);
}
END_TEST

enum { MANY = 40 }; /* more than fit at first */

/* Writes a file with two terms on each of many stored xorbs: first one of each, then the second in the same order. */
static void write_many(struct made_xorb *many)
{
	struct made_term terms[2 * MANY];
	for (uint32_t i = 0; i < MANY; i++) {
		made_xorb_init(&many[i], 100 + i, 2, 1000);
		give_places(&many[i], 100 + i);
		terms[i] = (struct made_term){&many[i], 0, 1};
		terms[MANY + i] = (struct made_term){&many[i], 1, 2};
	}
	made_write_file(&v.w, terms, 2 * MANY, WITH_ALL);
	v.store = (struct made_store){.xorbs = many, .n = MANY};
}

static void many_fini(struct made_xorb (*many)[MANY])
{
	for (unsigned i = 0; i < MANY; i++)
		made_xorb_fini(&(*many)[i]);
}

/* A xorb that is only named is in the records once. */
START_TEST(test_records_of_many_stored)
{
	CLEANUP(cairn_verified_fini) struct cairn_verified got = {0};
	struct cairn_verify_options options = CAIRN_VERIFY_DEFAULTS;
	options.records = &got;
	CLEANUP(many_fini) struct made_xorb many[MANY];
	write_many(many);
	ck_assert_int_eq(verify_made(&options), CAIRN_OK);
	ck_assert_uint_eq(got.shard.n_described, 0);
	ck_assert_uint_eq(got.shard.n_xorbs, MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		ck_assert_int_eq(got.shard.xorbs[i].id, i + 1);
		ck_assert(cairn_hash_equal(&got.shard.xorbs[i].hash, &many[i].hash));
		const struct cairn_index_new_term *first = &got.shard.terms[i], *second = first + MANY;
		ck_assert_uint_eq(first->xorb, i);
		ck_assert_uint_eq(first->first_byte, 0);
		ck_assert_uint_eq(first->end_byte, 100 + i);
		ck_assert_uint_eq(second->xorb, i);
		ck_assert_uint_eq(second->first_byte, 100 + i);
		ck_assert_uint_eq(second->end_byte, 2 * (100 + i));
	}
	ck_assert_uint_gt(got.bytes, MANY * (sizeof(*got.xorbs) + 2 * sizeof(*got.terms)));
}
END_TEST

/* For each kind of record, memory runs out. */
START_TEST(test_no_memory_for_records)
{
	CLEANUP(cairn_verified_fini) struct cairn_verified got = {0};
	struct cairn_verify_options options = external_options();
	options.records = &got;
	CLEANUP(many_fini) struct made_xorb many[MANY];
	write_many(many);
	write_eligible(&v.xorbs[0]);
	ck_assert_uint_gt(verify_without_memory(&options), 10);
	ck_assert_uint_eq(got.shard.n_xorbs, 1 + MANY);
}
END_TEST

START_TEST(test_records_of_nothing)
{
	CLEANUP(cairn_verified_fini) struct cairn_verified got = {0};
	struct cairn_verify_options options = external_options();
	options.records = &got;
	ck_assert_int_eq(verify_made(&options), CAIRN_OK);
	ck_assert_uint_eq(got.shard.n_files + got.shard.n_xorbs, 0);
}
END_TEST

/* The reference client writes zeros when it has not computed the digest. */
START_TEST(test_records_without_digest)
{
	CLEANUP(cairn_verified_fini) struct cairn_verified got = {0};
	struct cairn_verify_options options = CAIRN_VERIFY_DEFAULTS;
	const struct made_term term = {&v.xorbs[0], 0, 1};
	options.records = &got;
	made_write_file(&v.w, &term, 1, WITH_ALL);
	memset(v.w.buf.bytes + CAIRN_SHARD_HEADER_BYTES + (size_t)3 * CAIRN_SHARD_RECORD_BYTES, 0, CAIRN_HASH_BYTES);
	ck_assert_int_eq(verify_made(&options), CAIRN_OK);
	ck_assert(!got.shard.files[0].has_sha256);
}
END_TEST

/* The list of an unknown xorb is passed on without places. Memory that follows the places of the known xorb must not be
 * taken for places. */
START_TEST(test_records_of_unknown_xorbs)
{
	CLEANUP(cairn_verified_fini) struct cairn_verified got = {0};
	struct cairn_verify_options options = external_options();
	const struct made_term terms[] = {{&v.xorbs[0], 3, 5}, {&v.xorbs[2], 0, 1}, {&v.xorbs[1], 0, 1}};
	options.records = &got;
	v.store.n = 1;
	give_places(&v.xorbs[0], 100);
	v.xorbs[0].list.n = 19;
	cairn_chunk_list_root(&v.xorbs[0].list, &v.xorbs[0].hash);
	made_write_file(&v.w, terms, 3, WITH_ALL);
	made_write_xorb(&v.w, &v.xorbs[0]);
	made_write_xorb(&v.w, &v.xorbs[2]);
	made_write_xorb(&v.w, &v.xorbs[1]);
	ck_assert_int_eq(verify_made(&options), CAIRN_OK);
	ck_assert_int_eq(got.shard.xorbs[0].id, 1);
	ck_assert_ptr_null(got.shard.xorbs[0].list);
	size_t list_bytes = 0;
	for (unsigned i = 1; i < 3; i++) {
		const struct cairn_chunk_list *list = got.shard.xorbs[i].list, *sent = &v.xorbs[3 - i].list;
		ck_assert_int_eq(got.shard.xorbs[i].id, 0);
		ck_assert_uint_eq(list->n, sent->n);
		ck_assert_mem_eq(list->hashes, sent->hashes, sent->n * sizeof(*sent->hashes));
		ck_assert_uint_eq(list->spans[sent->n - 1].end, 0);
		list_bytes += sizeof(*list) + sent->n * (sizeof(*sent->hashes) + sizeof(*sent->spans));
	}
	ck_assert_uint_gt(got.bytes, list_bytes);
	ck_assert_uint_le(got.bytes, 3 * v.w.buf.len);
	ck_assert_uint_eq(got.shard.terms[0].end_byte, 500);
	ck_assert_uint_eq(got.shard.terms[1].end_byte, 0);
	ck_assert_uint_eq(got.shard.terms[2].end_byte, 0);
}
END_TEST

/* A refused shard leaves no records. */
START_TEST(test_no_records)
{
	CLEANUP(cairn_verified_fini) struct cairn_verified got = {0};
	struct cairn_verify_options options = CAIRN_VERIFY_DEFAULTS;
	options.records = &got;
	make_shard(3);
	ck_assert_int_eq(cairn_shard_writer_end(&v.w), CAIRN_OK);
	v.w.buf.bytes[48] ^= 1; /* the hash of the first file */
	ck_assert_int_eq(verify_with(&options), CAIRN_E_MISMATCH);
	ck_assert_ptr_null(got.xorbs);
	ck_assert_ptr_null(got.terms);
	ck_assert_ptr_null(got.shard.xorbs);
	ck_assert_uint_eq(got.shard.n_xorbs, 0);
	v.w.buf.bytes[48] ^= 1;
	v.xorbs[1].list.spans[0].unpacked_bytes++;
	ck_assert_int_eq(verify_with(&options), CAIRN_E_CONFLICT);
	ck_assert_ptr_null(got.xorbs);
}
END_TEST

/* Makes a test case without the hashes of stored xorbs, so that the verifier hashes the descriptions instead. */
static TCase *places_tests(void)
{
	TCase *c = verify_tests_of_places();
	tcase_add_test(c, test_records);
	return c;
}

int main(void)
{
	TCase *c = verify_tests("verify_records");
	tcase_add_test(c, test_records);
	tcase_add_test(c, test_records_of_several_described);
	tcase_add_test(c, test_records_of_many_stored);
	tcase_add_test(c, test_records_of_nothing);
	tcase_add_test(c, test_records_without_digest);
	tcase_add_test(c, test_records_of_unknown_xorbs);
	tcase_add_test(c, test_no_memory_for_records);
	tcase_add_test(c, test_no_records);
	return verify_run("verify_records", c, places_tests());
}
