/* Shards that must not be registered: nothing of them may remain. */
#include "support/shard_fixture.h"

#include <check.h>

static void assert_absent(const struct fx_shard *s)
{
	bool known;
	struct cairn_index_registered registered;
	struct cairn_index_stats stats;
	cairn_index_stats(fx_index, &stats);
	ck_assert_uint_eq(stats.n_files, 0);
	ck_assert_uint_eq(stats.n_shards, 0);
	ck_assert_uint_eq(stats.n_eligible, 0);
	ck_assert_int_eq(fx_shard_known(fx_index, &s->body, "", "", &known, &registered), CAIRN_OK);
	ck_assert(!known);
	for (unsigned i = 1; i <= s->n_files; i++)
		ck_assert(!fx_sees(fx_index, NULL, i));
}

START_TEST(unknown_xorb_conflicts)
{
	struct fx_xorb gone = fx_xorb_new(9, 5);
	struct fx_shard s;
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &fx_a, 1, 5);
	fx_shard_xorb(&s, &gone, 0);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_E_CONFLICT);
	ck_assert_str_eq(s.diag.rule, "xorb.gone");
	assert_absent(&s);
	fx_shard_init(&s, 1);
	fx_shard_file(&s, 1, &fx_a, 0, 20);
	fx_shard_file(&s, 2, &gone, 0, 5);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_E_CONFLICT);
	ck_assert_str_eq(s.diag.rule, "xorb.gone");
	assert_absent(&s);
	fx_xorb_put(fx_index, &gone);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert(fx_sees(fx_index, NULL, 1) && fx_sees(fx_index, NULL, 2));
	fx_xorb_fini(&gone);
}
END_TEST

/* A shard that was verified against one row is not registered with another row, even of the same xorb. */
START_TEST(another_row_conflicts)
{
	struct fx_shard s;
	for (int described = 0; described < 2; described++) {
		fx_shard_init(&s, 1);
		if (described)
			fx_shard_xorb(&s, &fx_a, 1, 5);
		fx_shard_file(&s, 1, &fx_a, 0, 20);
		struct cairn_index_put_shard put = fx_shard_request(&s);
		s.records.xorbs[0].id = sx_xorb_id(&fx_a) + 1000;
		ck_assert_int_eq(cairn_index_put_shard(fx_index, &put), CAIRN_E_CONFLICT);
		ck_assert_str_eq(put.write.diag.rule, "xorb.gone");
		assert_absent(&s);
	}
	struct cairn_index_put_shard put = fx_shard_request(&s);
	s.records.xorbs[0].id = sx_xorb_id(&fx_a);
	ck_assert_int_eq(cairn_index_put_shard(fx_index, &put), CAIRN_OK);
	ck_assert(fx_sees(fx_index, NULL, 1));
}
END_TEST

START_TEST(places_past_the_xorb_conflict)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	fx_shard_file(&s, 1, &fx_a, 0, 20);
	s.files[0].terms[0].term.end = 21;
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_E_CONFLICT);
	s.files[0].terms[0].term.start = s.files[0].terms[0].term.end = 20;
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_E_CONFLICT);
	ck_assert_str_eq(s.diag.rule, "xorb.differs");
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &fx_a, 1, 19);
	s.eligible[0][0].place = 20;
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_E_CONFLICT);
	fx_shard_file(&s, 1, &fx_a, 0, 20);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_E_CONFLICT);
	assert_absent(&s);
}
END_TEST

START_TEST(a_refused_shard_leaves_nothing)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	s.scope = "new scope";
	fx_shard_xorb(&s, &fx_a, 1, 5);
	fx_shard_file(&s, 1, &fx_a, 0, 20);
	fx_shard_file(&s, 2, &fx_b, 0, 20);
	fx_shard_fail(&s);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_E_CONFLICT);
	ck_assert_ptr_nonnull(s.diag.rule);
	ck_assert(!s.added);
	assert_absent(&s);
	s.n_files--;
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert(fx_sees(fx_index, NULL, 2));
}
END_TEST

/* A shard may name xorbs that are kept elsewhere. Their bytes may arrive later. */
START_TEST(external_xorbs)
{
	struct fx_xorb x = fx_xorb_new(5, 12);
	struct cairn_chunk_list described = {0};
	for (uint32_t i = 0; i < x.list.n; i++)
		ck_assert_int_eq(cairn_chunk_list_add(&described, &x.list.hashes[i],
						      (struct cairn_span){x.list.spans[i].unpacked_bytes, 0}),
				 CAIRN_OK);
	struct fx_shard s;
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &x, 1, 3);
	fx_shard_file(&s, 1, &x, 1, 12);
	s.xorbs[0].list = &described;
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_xorb(fx_index, &x.hash, &row), CAIRN_OK);
	ck_assert_uint_eq(row.stored_bytes, 0);
	s.body = fx_hash("shard", 2);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert(!s.added);

	s.body = fx_hash("shard", 3);
	described.spans[11].unpacked_bytes++;
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_E_CONFLICT);
	ck_assert_str_eq(s.diag.rule, "xorb.differs");
	described.spans[11].unpacked_bytes--;
	described.hashes[0].b[0] ^= 1;
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_E_CONFLICT);
	described.hashes[0].b[0] ^= 1;
	described.n--;
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_E_CONFLICT);
	described.n++;

	ck_assert(fx_xorb_put(fx_index, &x));
	ck_assert_int_eq(cairn_index_spans(fx_index, &row.id, 1, FX_SPANS, fx_spans_are, &x), CAIRN_OK);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	cairn_chunk_list_fini(&described);
	fx_xorb_fini(&x);
}
END_TEST

/* A xorb that was rolled back leaves its number to the next one. No other trace of it remains. */
START_TEST(a_rolled_back_xorb_leaves_only_its_number)
{
	struct fx_xorb failed = fx_xorb_new(5, 12), next = fx_xorb_new(6, 12);
	struct fx_shard s;
	for (unsigned i = 0; i < 2; i++) {
		const struct fx_xorb *x = i == 0 ? &failed : &next;
		fx_shard_init(&s, i);
		fx_shard_xorb(&s, x, 0);
		s.xorbs[0].list = &x->list;
		fx_shard_file(&s, 1, x, 1, 12);
		fx_shard_file(&s, 2, x, 2, 12);
		if (i == 0)
			fx_shard_fail(&s);
		ck_assert_int_eq(fx_shard_put(fx_index, &s), i == 0 ? CAIRN_E_CONFLICT : CAIRN_OK);
	}
	struct fx_answer answer = {0};
	ck_assert_int_eq(fx_query(fx_index, "", &next.list.hashes[1], &answer), CAIRN_OK);
	ck_assert_int_eq(fx_query(fx_index, "", &failed.list.hashes[1], &answer), CAIRN_E_NOT_FOUND);
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_xorb(fx_index, &failed.hash, &row), CAIRN_E_NOT_FOUND);
	fx_xorb_fini(&failed);
	fx_xorb_fini(&next);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *t = sx_tests();
	tcase_add_test(t, unknown_xorb_conflicts);
	tcase_add_test(t, another_row_conflicts);
	tcase_add_test(t, places_past_the_xorb_conflict);
	tcase_add_test(t, a_refused_shard_leaves_nothing);
	tcase_add_test(t, external_xorbs);
	tcase_add_test(t, a_rolled_back_xorb_leaves_only_its_number);
	return sx_run(argc, argv, "index_refusal_contract", t);
}
