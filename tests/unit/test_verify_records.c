/* What the verifier hands on for the index to register. */
#include "base/bytes.h"
#include "shard/records.h"
#include "support/verify_fixture.h"

static void give_places(struct made_xorb *x, uint32_t step)
{
	for (uint32_t i = 0; i < x->list.n; i++)
		x->list.spans[i].end = (i + 1) * step;
}

/* Of what test_records() sends: the eligible chunks of the described xorb. */
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

/* Likewise: the files with their terms. */
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
		ck_assert_uint_eq(s->files[f].size_bytes, size_bytes);
	}
}

/* All that the index is to register, whether a xorb is described in the shard or only named. */
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
	static const int64_t IDS[] = {3, 1, 2}; /* as made_resolver() numbers them */
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

/* Of a xorb that nobody has yet its list is handed on, without places. */
START_TEST(test_records_of_unknown_xorbs)
{
	CLEANUP(cairn_verified_fini) struct cairn_verified got = {0};
	struct cairn_verify_options options = external_options();
	const struct made_term terms[] = {{&v.xorbs[0], 3, 5}, {&v.xorbs[2], 7, 9}};
	options.records = &got;
	v.store.n = 1;
	give_places(&v.xorbs[0], 100);
	made_write_file(&v.w, terms, 2, WITH_ALL);
	made_write_xorb(&v.w, &v.xorbs[0]);
	made_write_xorb(&v.w, &v.xorbs[2]);
	ck_assert_int_eq(verify_made(&options), CAIRN_OK);
	ck_assert_int_eq(got.shard.xorbs[0].id, 1);
	ck_assert_ptr_null(got.shard.xorbs[0].list);
	ck_assert_int_eq(got.shard.xorbs[1].id, 0);
	ck_assert_uint_eq(got.shard.xorbs[1].list->n, 300);
	ck_assert_mem_eq(got.shard.xorbs[1].list->hashes, v.xorbs[2].list.hashes, 300 * sizeof(struct cairn_hash));
	ck_assert_uint_eq(got.shard.xorbs[1].list->spans[9].end, 0);
	ck_assert_uint_eq(got.shard.terms[0].end_byte, 500);
	ck_assert_uint_eq(got.shard.terms[1].end_byte, 0);
}
END_TEST

/* What is refused leaves none. */
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
	ck_assert_uint_eq(got.shard.n_xorbs, 0);
}
END_TEST

/* Where the hashes of stored xorbs are not at hand: descriptions are hashed instead. */
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
	tcase_add_test(c, test_records_of_unknown_xorbs);
	tcase_add_test(c, test_no_records);
	return verify_run("verify_records", c, places_tests());
}
