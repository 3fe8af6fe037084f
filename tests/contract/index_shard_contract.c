/* What a shard registers: files, who may read them, what is refused. */
#include "support/index_fixture.h"
#include "support/tempdir.h"

#include "base/bytes.h"
#include "index/refer.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tempdir folder;
static struct cairn_index *ix;
static struct fx_xorb a, b;

static void set_up(void)
{
	folder = tempdir_new();
	ix = fx_open(folder.path);
	a = fx_xorb_new(1, 20);
	b = fx_xorb_new(2, 30);
	fx_xorb_put(ix, &a);
	fx_xorb_put(ix, &b);
}

static void tear_down(void)
{
	fx_xorb_fini(&a);
	fx_xorb_fini(&b);
	cairn_index_free(ix);
	tempdir_fini(&folder);
}

static int64_t xorb_id(const struct fx_xorb *x)
{
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_xorb(ix, &x->hash, &row), CAIRN_OK);
	return row.id;
}

START_TEST(all_of_it_comes_back)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &a, 1, 5);
	struct fx_file *file = fx_shard_file(&s, 1, &a, 0, 20);
	fx_shard_term(file, &b, 3, 30);
	fx_shard_term(file, &a, 19, 20);
	file->file.has_sha256 = true;
	memset(file->file.sha256, 0x5a, 32);
	fx_shard_file(&s, 2, NULL, 0, 0); /* the empty file */
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert(s.added);

	struct cairn_index_file got;
	ck_assert_int_eq(cairn_index_file(ix, &file->file.hash, NULL, true, &got), CAIRN_OK);
	ck_assert(cairn_hash_equal(&got.hash, &file->file.hash));
	ck_assert_uint_eq(got.size_bytes, file->file.size_bytes);
	ck_assert_uint_eq(got.n_terms, 3);
	ck_assert_int_eq(got.terms[0].xorb_id, xorb_id(&a));
	ck_assert_int_eq(got.terms[1].xorb_id, xorb_id(&b));
	ck_assert_uint_eq(got.terms[1].start, 3);
	ck_assert_uint_eq(got.terms[1].end, 30);
	ck_assert_uint_eq(got.terms[1].unpacked_bytes, file->terms[1].term.unpacked_bytes);
	cairn_index_file_fini(&got);
	ck_assert_int_eq(cairn_index_file(ix, &file->file.hash, NULL, false, &got), CAIRN_OK);
	ck_assert_uint_eq(got.n_terms, 3);
	ck_assert_ptr_null(got.terms);
	ck_assert_int_eq(cairn_index_file_by_sha256(ix, file->file.sha256, NULL, &got), CAIRN_OK);
	ck_assert(cairn_hash_equal(&got.hash, &file->file.hash));
	ck_assert_uint_eq(got.size_bytes, file->file.size_bytes);

	struct cairn_hash empty = fx_hash("file", 2), nothing = fx_hash("file", 3);
	ck_assert_int_eq(cairn_index_file(ix, &empty, NULL, true, &got), CAIRN_OK);
	ck_assert_uint_eq(got.n_terms, 0);
	ck_assert_uint_eq(got.size_bytes, 0);
	ck_assert_int_eq(cairn_index_file(ix, &nothing, NULL, true, &got), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(again_is_not_added)
{
	struct fx_shard s;
	bool known;
	struct cairn_index_registered registered;
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &a, 1, 5);
	fx_shard_file(&s, 1, &a, 0, 20);
	ck_assert_int_eq(fx_shard_known(ix, &s.body, "", "", &known, &registered), CAIRN_OK);
	ck_assert(!known);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert(s.added);
	ck_assert_int_eq(fx_shard_known(ix, &s.body, "", "", &known, &registered), CAIRN_OK);
	ck_assert(known);
	fx_shard_fail(&s); /* it is not even looked at */
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert(!s.added);
	s.n_files--;
	/* Another body with the same contents adds nothing either. */
	s.body = fx_hash("shard", 2);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert(!s.added);
	/* Another owner, or another scope, does. */
	s.owner = "model/me/repo";
	ck_assert_int_eq(fx_shard_known(ix, &s.body, "", "model/me/repo", &known, &registered), CAIRN_OK);
	ck_assert(!known);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert(s.added);
	ck_assert_int_eq(fx_shard_known(ix, &s.body, "", "model/me/repo", &known, &registered), CAIRN_OK);
	ck_assert(known);
	s.scope = "me";
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert(s.added);
	struct cairn_index_stats stats;
	cairn_index_stats(ix, &stats);
	ck_assert_uint_eq(stats.n_files, 1);
	ck_assert_uint_eq(stats.n_shards, 4);
	ck_assert_uint_eq(stats.n_eligible, 4); /* place 5 and the file's first chunk, in two scopes */
}
END_TEST

START_TEST(only_its_owners_read_a_file)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	s.owner = "model/me/repo";
	fx_shard_file(&s, 1, &a, 0, 20)->file.has_sha256 = true;
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert(fx_sees(ix, NULL, 1));
	ck_assert(fx_sees(ix, "model/me/repo", 1));
	ck_assert(!fx_sees(ix, "model/me/other", 1));
	ck_assert(!fx_sees(ix, "", 1));
	struct cairn_index_file got;
	static const uint8_t zeros[32];
	ck_assert_int_eq(cairn_index_file_by_sha256(ix, zeros, "model/me/other", &got), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_file_by_sha256(ix, zeros, "model/me/repo", &got), CAIRN_OK);

	s.owner = "model/me/other";
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert(fx_sees(ix, "model/me/other", 1));
	ck_assert(!fx_sees(ix, "model/you/repo", 1));

	s.owner = ""; /* the operator's: everybody's */
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert(fx_sees(ix, "model/you/repo", 1));
	ck_assert(fx_sees(ix, "", 1));
}
END_TEST

/* Register file `number` under an owner who says that its SHA-256 is 32 times `digit`. @return whether that was new */
static bool claim(const char *owner, unsigned number, uint8_t digit)
{
	static uint64_t bodies = 1000;
	struct fx_shard s;
	fx_shard_init(&s, bodies++);
	s.owner = owner;
	struct fx_file *file = fx_shard_file(&s, number, &a, number, 20);
	file->file.has_sha256 = true;
	memset(file->file.sha256, digit, sizeof(file->file.sha256));
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	return s.added;
}

/* @return the number of the file that a viewer finds, below 10; 0: none */
static unsigned found(const char *viewer, uint8_t digit)
{
	uint8_t digest[32];
	struct cairn_index_file got;
	memset(digest, digit, sizeof(digest));
	enum cairn_status status = cairn_index_file_by_sha256(ix, digest, viewer, &got);
	if (status == CAIRN_E_NOT_FOUND)
		return 0;
	ck_assert_int_eq(status, CAIRN_OK);
	for (unsigned number = 1; number < 10; number++) {
		struct cairn_hash hash = fx_hash("file", number);
		if (cairn_hash_equal(&got.hash, &hash))
			return number;
	}
	ck_abort_msg("a file that nobody registered");
	return 0;
}

START_TEST(a_claim_is_its_owners)
{
	ck_assert(claim("mallory", 1, 0xbd));
	ck_assert(claim("ann", 1, 1));
	ck_assert_uint_eq(found("ann", 1), 1);
	ck_assert_uint_eq(found("ann", 0xbd), 0);
	ck_assert_uint_eq(found("mallory", 0xbd), 1);
	ck_assert_uint_eq(found("mallory", 1), 0);
	ck_assert_uint_eq(found("nobody", 1), 0);
	ck_assert_uint_eq(found("", 1) + found(NULL, 1), 0);
	/* The operator's is for all, behind their own. */
	ck_assert(claim("", 2, 1));
	ck_assert_uint_eq(found("ann", 1), 1);
	ck_assert_uint_eq(found("mallory", 1), 2);
	ck_assert_uint_eq(found("nobody", 1), 2);
	ck_assert_uint_eq(found(NULL, 1), 2);
	ck_assert_uint_eq(found("", 1), 2);
}
END_TEST

START_TEST(of_several_files_the_newest)
{
	for (unsigned number = 1; number <= 3; number++)
		ck_assert(claim("ann", number, 7));
	ck_assert_uint_eq(found("ann", 7), 3);
	ck_assert(!claim("ann", 1, 7));
	ck_assert_uint_eq(found("ann", 7), 3);
}
END_TEST

START_TEST(few_claims_for_a_file)
{
	for (unsigned i = 0; i < CAIRN_INDEX_CLAIMS_MAX; i++) {
		ck_assert(claim("ann", 1, (uint8_t)i));
		ck_assert(!claim("ann", 1, (uint8_t)i));
	}
	ck_assert(!claim("ann", 1, 0x77)); /* the file is registered, but this is not kept */
	ck_assert_uint_eq(found("ann", 0x77), 0);
	for (unsigned i = 0; i < CAIRN_INDEX_CLAIMS_MAX; i++)
		ck_assert_uint_eq(found("ann", (uint8_t)i), 1);
	/* Of another file, and of another owner, they are counted by themselves. */
	ck_assert(claim("ann", 2, 0x77));
	ck_assert(claim("", 1, 0x77));
	ck_assert_uint_eq(found("ann", 0x77), 2);
	ck_assert_uint_eq(found("mallory", 0x77), 1);
}
END_TEST

static bool share(const char *owner)
{
	struct cairn_index_share_file request = {.hash = fx_hash("file", 1), .owner = owner};
	ck_assert_int_eq(cairn_index_share_file(ix, &request), CAIRN_OK);
	return request.shared;
}

static bool forget(const char *owner)
{
	struct cairn_index_forget_file request = {.hash = fx_hash("file", 1), .owner = owner};
	ck_assert_int_eq(cairn_index_forget_file(ix, &request), CAIRN_OK);
	return request.forgotten;
}

START_TEST(a_claim_goes_with_its_owner)
{
	ck_assert(claim("mallory", 1, 1));
	ck_assert(claim("ann", 1, 1));
	ck_assert(share("bob"));
	ck_assert_uint_eq(found("bob", 1), 0); /* what was shared is the file, not the word */
	ck_assert(forget("mallory"));
	ck_assert_uint_eq(found("mallory", 1), 0);
	ck_assert_uint_eq(found("ann", 1), 1);
	ck_assert(share("mallory"));
	ck_assert_uint_eq(found("mallory", 1), 0);
	ck_assert(forget(NULL));
	ck_assert_uint_eq(found("ann", 1), 0);
	ck_assert(claim("ann", 1, 2));
	ck_assert_uint_eq(found("ann", 1), 0);
	ck_assert_uint_eq(found("ann", 2), 1);
}
END_TEST

static void assert_absent(const struct fx_shard *s)
{
	bool known;
	struct cairn_index_registered registered;
	struct cairn_index_stats stats;
	cairn_index_stats(ix, &stats);
	ck_assert_uint_eq(stats.n_files, 0);
	ck_assert_uint_eq(stats.n_shards, 0);
	ck_assert_uint_eq(stats.n_eligible, 0);
	ck_assert_int_eq(fx_shard_known(ix, &s->body, "", "", &known, &registered), CAIRN_OK);
	ck_assert(!known);
	for (unsigned i = 1; i <= s->n_files; i++)
		ck_assert(!fx_sees(ix, NULL, i));
}

START_TEST(unknown_xorb_conflicts)
{
	struct fx_xorb gone = fx_xorb_new(9, 5);
	struct fx_shard s;
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &a, 1, 5);
	fx_shard_xorb(&s, &gone, 0);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_E_CONFLICT);
	ck_assert_str_eq(s.diag.rule, "xorb.gone");
	assert_absent(&s);
	fx_shard_init(&s, 1);
	fx_shard_file(&s, 1, &a, 0, 20);
	fx_shard_file(&s, 2, &gone, 0, 5);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_E_CONFLICT);
	ck_assert_str_eq(s.diag.rule, "xorb.gone");
	assert_absent(&s);
	fx_xorb_put(ix, &gone);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert(fx_sees(ix, NULL, 1) && fx_sees(ix, NULL, 2));
	fx_xorb_fini(&gone);
}
END_TEST

/* What was verified by one row is not registered by another, even if that is of the same xorb. */
START_TEST(another_row_conflicts)
{
	struct fx_shard s;
	for (int described = 0; described < 2; described++) {
		fx_shard_init(&s, 1);
		if (described)
			fx_shard_xorb(&s, &a, 1, 5);
		fx_shard_file(&s, 1, &a, 0, 20);
		struct cairn_index_put_shard put = fx_shard_request(&s);
		s.records.xorbs[0].id = xorb_id(&a) + 1000;
		ck_assert_int_eq(cairn_index_put_shard(ix, &put), CAIRN_E_CONFLICT);
		ck_assert_str_eq(put.write.diag.rule, "xorb.gone");
		assert_absent(&s);
	}
	struct cairn_index_put_shard put = fx_shard_request(&s);
	s.records.xorbs[0].id = xorb_id(&a);
	ck_assert_int_eq(cairn_index_put_shard(ix, &put), CAIRN_OK);
	ck_assert(fx_sees(ix, NULL, 1));
}
END_TEST

static enum cairn_status has_spans(void *ctx, const struct cairn_index_spans *places)
{
	*(bool *)ctx = places->spans != NULL;
	return CAIRN_OK;
}

/* A shard that was verified before its xorb was stored does not know where the bytes lie: its list does. */
START_TEST(a_xorb_stored_meanwhile_is_planned_by_its_list)
{
	static const uint32_t NONE[2] = {UINT32_MAX, UINT32_MAX};
	int64_t id = xorb_id(&a);
	struct fx_shard s;
	bool has;
	ck_assert_int_eq(cairn_index_spans(ix, &id, 1, NONE, has_spans, &has), CAIRN_OK);
	ck_assert(!has);
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &a, 1, 5);
	s.xorbs[0].list = &a.list;
	fx_shard_file(&s, 1, &a, 0, 20);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert_int_eq(cairn_index_spans(ix, &id, 1, NONE, has_spans, &has), CAIRN_OK);
	ck_assert(has);
}
END_TEST

/* Asks for the file's xorbs, in the order of its terms. */
struct planner {
	struct cairn_index_planner planner; /* first */
	enum cairn_status choice;
	uint32_t n_chosen; /* of the terms' xorbs, at most 2 */
	int64_t ids[2];
	unsigned n_told, n_visited;
	struct cairn_hash visited[2];
};

static enum cairn_status planner_choose(struct cairn_index_planner *planner, const struct cairn_index_file *file,
					const int64_t **ids, uint32_t *n, uint32_t with_spans[static 2])
{
	struct planner *p = (struct planner *)planner;
	ck_assert_uint_eq(with_spans[0], UINT32_MAX);
	ck_assert_uint_eq(with_spans[1], UINT32_MAX);
	p->n_told++;
	for (uint32_t i = 0; i < p->n_chosen; i++)
		p->ids[i] = file->terms[i].xorb_id;
	*ids = p->ids;
	*n = p->n_chosen;
	with_spans[0] = 1;
	return p->choice;
}

static enum cairn_status planner_visit(void *planner, const struct cairn_index_spans *places)
{
	struct planner *p = planner;
	ck_assert_int_eq(places->spans != NULL, p->n_visited == 1);
	p->visited[p->n_visited++] = places->xorb;
	return CAIRN_OK;
}

static enum cairn_status plan(struct planner *p, uint64_t file, const char *viewer, enum cairn_status choice,
			      uint32_t n_chosen)
{
	struct cairn_hash hash = fx_hash("file", file);
	struct cairn_index_file got;
	*p = (struct planner){.planner = {2, planner_choose, planner_visit}, .choice = choice, .n_chosen = n_chosen};
	enum cairn_status status = cairn_index_plan(ix, &hash, viewer, &p->planner, &got);
	cairn_index_file_fini(&got);
	return status;
}

START_TEST(a_plan_reads_a_file_and_its_xorbs)
{
	struct fx_shard s;
	struct planner p;
	fx_shard_init(&s, 1);
	s.owner = "model/me/repo";
	struct fx_file *file = fx_shard_file(&s, 1, &b, 0, 20);
	fx_shard_term(file, &a, 3, 9);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);

	ck_assert_int_eq(plan(&p, 1, "model/me/repo", CAIRN_OK, 2), CAIRN_OK);
	ck_assert_uint_eq(p.n_told, 1);
	ck_assert_uint_eq(p.n_visited, 2);
	ck_assert(cairn_hash_equal(&p.visited[0], &b.hash) && cairn_hash_equal(&p.visited[1], &a.hash));
	ck_assert_int_eq(plan(&p, 1, NULL, CAIRN_OK, 0), CAIRN_OK);
	ck_assert_uint_eq(p.n_told, 1);
	ck_assert_uint_eq(p.n_visited, 0);
	ck_assert_int_eq(plan(&p, 1, NULL, CAIRN_E_LIMIT, 2), CAIRN_E_LIMIT);
	ck_assert_uint_eq(p.n_visited, 0);
	ck_assert_int_eq(plan(&p, 2, NULL, CAIRN_OK, 2), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(plan(&p, 1, "model/me/other", CAIRN_OK, 2), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(p.n_told, 0);

	/* One term more than is wanted. */
	fx_shard_init(&s, 2);
	file = fx_shard_file(&s, 2, &b, 0, 20);
	fx_shard_term(file, &a, 3, 9);
	fx_shard_term(file, &b, 1, 2);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert_int_eq(plan(&p, 2, NULL, CAIRN_OK, 2), CAIRN_E_BUSY);
	ck_assert_uint_eq(p.n_told, 0);
}
END_TEST

START_TEST(places_past_the_xorb_conflict)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	fx_shard_file(&s, 1, &a, 0, 20);
	s.files[0].terms[0].term.end = 21;
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_E_CONFLICT);
	s.files[0].terms[0].term.start = s.files[0].terms[0].term.end = 20;
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_E_CONFLICT);
	ck_assert_str_eq(s.diag.rule, "xorb.differs");
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &a, 1, 19);
	s.eligible[0][0].place = 20;
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_E_CONFLICT);
	fx_shard_file(&s, 1, &a, 0, 20);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_E_CONFLICT);
	assert_absent(&s);
}
END_TEST

START_TEST(what_fails_leaves_nothing)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	s.scope = "new scope";
	fx_shard_xorb(&s, &a, 1, 5);
	fx_shard_file(&s, 1, &a, 0, 20);
	fx_shard_file(&s, 2, &b, 0, 20);
	fx_shard_fail(&s);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_E_CONFLICT);
	ck_assert_ptr_nonnull(s.diag.rule);
	ck_assert(!s.added);
	assert_absent(&s);
	s.n_files--;
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert(fx_sees(ix, NULL, 2));
}
END_TEST

/* Xorbs kept elsewhere come with the shard; their bytes may arrive later. */
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
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_xorb(ix, &x.hash, &row), CAIRN_OK);
	ck_assert_uint_eq(row.stored_bytes, 0);
	s.body = fx_hash("shard", 2);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	ck_assert(!s.added);

	s.body = fx_hash("shard", 3);
	described.spans[11].unpacked_bytes++;
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_E_CONFLICT);
	ck_assert_str_eq(s.diag.rule, "xorb.differs");
	described.spans[11].unpacked_bytes--;
	described.hashes[0].b[0] ^= 1;
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_E_CONFLICT);
	described.hashes[0].b[0] ^= 1;
	described.n--;
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_E_CONFLICT);
	described.n++;

	ck_assert(fx_xorb_put(ix, &x));
	ck_assert_int_eq(cairn_index_spans(ix, &row.id, 1, FX_SPANS, fx_spans_are, &x), CAIRN_OK);
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	cairn_chunk_list_fini(&described);
	fx_xorb_fini(&x);
}
END_TEST

/* A xorb that was rolled back leaves its number to the next one, but nothing that was remembered of it. */
START_TEST(nothing_is_remembered_of_what_failed)
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
		ck_assert_int_eq(fx_shard_put(ix, &s), i == 0 ? CAIRN_E_CONFLICT : CAIRN_OK);
	}
	struct fx_answer answer = {0};
	ck_assert_int_eq(fx_query(ix, "", &next.list.hashes[1], &answer), CAIRN_OK);
	ck_assert_int_eq(fx_query(ix, "", &failed.list.hashes[1], &answer), CAIRN_E_NOT_FOUND);
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_xorb(ix, &failed.hash, &row), CAIRN_E_NOT_FOUND);
	fx_xorb_fini(&failed);
	fx_xorb_fini(&next);
}
END_TEST

/* One file over more xorbs than a write remembers at once, each named in turn and then again. */
enum { MANY = 1100, MANY_TERMS = 3 * MANY };
static struct fx_xorb many[MANY];

static void ignore_done(struct cairn_index_write *write)
{
	ck_assert_int_eq(write->status, CAIRN_OK);
}

START_TEST(many_xorbs_in_a_file)
{
	static struct cairn_index_put_xorb writes[MANY];
	for (unsigned i = 0; i < MANY; i++) {
		many[i] = fx_xorb_new(100 + i, 2);
		writes[i] = (struct cairn_index_put_xorb){
			.write.done = ignore_done, .hash = many[i].hash, .list = &many[i].list, .stored_bytes = 1};
		ck_assert_int_eq(cairn_index_put_xorb(ix, &writes[i]), CAIRN_OK);
	}
	struct fx_shard s;
	fx_shard_init(&s, 1);
	static struct cairn_index_new_xorb named[MANY];
	static struct cairn_index_new_term terms[MANY_TERMS];
	struct cairn_index_new_file file = {.hash = fx_hash("file", 1), .size_bytes = 1, .n_terms = MANY_TERMS};
	for (unsigned i = 0; i < MANY; i++)
		named[i].hash = many[i].hash;
	for (unsigned i = 0; i < MANY_TERMS; i++)
		terms[i] = (struct cairn_index_new_term){.xorb = i % MANY, .unpacked_bytes = 2001, .end = 2};
	const struct cairn_index_new_shard shard = {
		.xorbs = named, .n_xorbs = MANY, .n_files = 1, .files = &file, .terms = terms};
	struct cairn_index_put_shard put = fx_shard_request(&s);
	put.shard = &shard;
	ck_assert_int_eq(cairn_index_put_shard(ix, &put), CAIRN_OK);
	struct cairn_index_file got;
	ck_assert_int_eq(cairn_index_file(ix, &file.hash, NULL, true, &got), CAIRN_OK);
	ck_assert_uint_eq(got.n_terms, MANY_TERMS);
	for (unsigned i = 0; i < MANY_TERMS; i++)
		ck_assert_int_eq(got.terms[i].xorb_id, xorb_id(&many[i % MANY]));
	cairn_index_file_fini(&got);
	for (unsigned i = 0; i < MANY; i++) {
		struct cairn_index_xorb row;
		ck_assert_int_eq(cairn_index_xorb(ix, &many[i].hash, &row), CAIRN_OK);
		ck_assert(row.referenced);
		fx_xorb_fini(&many[i]);
	}
}
END_TEST

/* More files than are added together, and in between some that came before, which bring another word of their SHA-256.
 */
enum { FILES = 1300, FILES_AGAIN = 7 /* every so many */ };

static unsigned files_number(unsigned i)
{
	return i % FILES_AGAIN == FILES_AGAIN - 1 ? i - 1 : i;
}

static void files_sha256(unsigned i, uint8_t out[static 32])
{
	struct cairn_hash word = fx_hash("word", i % 2 == 0 ? i : files_number(i));
	memcpy(out, word.b, 32);
}

START_TEST(many_files_in_a_shard)
{
	struct fx_xorb x = fx_xorb_new(3, FILES);
	static struct cairn_index_new_file files[FILES];
	static struct cairn_index_new_term terms[FILES];
	struct cairn_index_stats before, after;
	struct fx_shard s;
	fx_xorb_put(ix, &x);
	for (unsigned i = 0; i < FILES; i++) {
		unsigned number = files_number(i);
		files[i] = (struct cairn_index_new_file){
			.hash = fx_hash("file", 1000 + number),
			.size_bytes = 1 + number,
			.first_chunk = cairn_get_u64le(x.list.hashes[number].b),
			.n_terms = 1,
			.has_sha256 = true,
		};
		files_sha256(i, files[i].sha256);
		terms[i] = (struct cairn_index_new_term){.start = number, .end = number + 1, .unpacked_bytes = 1};
	}
	const struct cairn_index_new_xorb described = {.hash = x.hash};
	struct cairn_index_new_shard shard = {
		.xorbs = &described, .n_xorbs = 1, .n_described = 1, .files = files, .terms = terms};
	cairn_index_stats(ix, &before);
	/* All new but for those that are there twice; then some of which the first ones are known; then none new. */
	static const uint32_t sizes[] = {FILES_AGAIN - 1, FILES / 3, FILES, FILES};
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		shard.n_files = sizes[i];
		fx_shard_init(&s, 1 + i);
		struct cairn_index_put_shard put = fx_shard_request(&s);
		put.shard = &shard;
		ck_assert_int_eq(cairn_index_put_shard(ix, &put), CAIRN_OK);
		ck_assert(put.added == (i < 3));
	}
	cairn_index_stats(ix, &after);
	ck_assert_uint_eq(after.n_files - before.n_files, FILES - FILES / FILES_AGAIN);
	ck_assert_uint_eq(after.n_eligible - before.n_eligible, FILES - FILES / FILES_AGAIN);
	for (unsigned i = 0; i < FILES; i++) {
		struct cairn_index_file got;
		ck_assert_int_eq(cairn_index_file_by_sha256(ix, files[i].sha256, NULL, &got), CAIRN_OK);
		ck_assert(cairn_hash_equal(&got.hash, &files[i].hash));
		ck_assert_int_eq(cairn_index_file(ix, &files[i].hash, NULL, true, &got), CAIRN_OK);
		ck_assert_uint_eq(got.n_terms, 1);
		ck_assert_uint_eq(got.terms[0].start, files_number(i));
		cairn_index_file_fini(&got);
	}
	fx_xorb_fini(&x);
}
END_TEST

/* --- lists -------------------------------------------------------------------------------------------------------- */

struct listed {
	char text[512]; /* "number owner sha;" for each */
};

static void listed_take(void *ctx, const struct cairn_index_owned *file)
{
	struct listed *l = ctx;
	size_t len = strlen(l->text);
	ck_assert_int_gt(file->at_unix_s, 0);
	(void)snprintf(l->text + len, sizeof(l->text) - len, "%llu %s %c;", (unsigned long long)file->size_bytes,
		       file->owner[0] ? file->owner : "-", file->has_sha256 ? "0123456789"[file->sha256[0]] : '-');
}

static void listed_page(const char *owner, const struct cairn_index_owned_after *after, uint32_t limit,
			struct listed *out, bool *more)
{
	*out = (struct listed){{0}};
	ck_assert_int_eq(cairn_index_each_owned(ix, owner, after, limit, listed_take, out, more), CAIRN_OK);
}

/* Files of 1, 2 and 3 bytes under hashes 1, 2 and 3, whose first bytes say so. @return whether that was new */
static bool listed_put(const char *owner, unsigned number, unsigned sha)
{
	static uint64_t bodies = 2000;
	struct fx_shard s;
	fx_shard_init(&s, bodies++);
	s.owner = owner;
	fx_shard_xorb(&s, &a, 0);
	struct fx_file *file = fx_shard_file(&s, number, &a, 0, number);
	memset(&file->file.hash, (int)number, sizeof(file->file.hash));
	file->file.size_bytes = number;
	file->file.has_sha256 = sha != 0;
	memset(file->file.sha256, (int)sha, sizeof(file->file.sha256));
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	return s.added;
}

START_TEST(files_of_an_owner_by_their_hashes)
{
	struct listed l;
	bool more;
	const struct cairn_index_owned_after begin = {0};
	listed_put("ann/cat", 3, 5);
	listed_put("ann/cat", 1, 0);
	listed_put("bob/dog", 1, 7);
	listed_put("", 2, 9);
	listed_page("ann/cat", &begin, 10, &l, &more);
	ck_assert_str_eq(l.text, "1 ann/cat -;3 ann/cat 5;"); /* not as they came, and no word of bob's */
	ck_assert(!more);
	listed_page("ann/cat", &begin, 1, &l, &more);
	ck_assert_str_eq(l.text, "1 ann/cat -;");
	ck_assert(more);
	struct cairn_hash one;
	memset(&one, 1, sizeof(one));
	listed_page("ann/cat", &(struct cairn_index_owned_after){.hash = &one}, 1, &l, &more);
	ck_assert_str_eq(l.text, "3 ann/cat 5;");
	ck_assert(!more);
	listed_page("", &begin, 10, &l, &more);
	ck_assert_str_eq(l.text, "2 - 9;");
	listed_page("ann", &begin, 10, &l, &more); /* nobody of that name */
	ck_assert_str_eq(l.text, "");
	ck_assert(!more);
}
END_TEST

START_TEST(files_of_all_owners)
{
	struct listed l;
	bool more;
	struct cairn_hash one, zero = {{0}};
	memset(&one, 1, sizeof(one));
	listed_put("bob/dog", 1, 7);
	listed_put("ann/cat", 1, 0);
	listed_put("", 2, 9);
	listed_put("ann/cat", 3, 5);
	listed_page(NULL, &(struct cairn_index_owned_after){0}, 2, &l, &more);
	ck_assert_str_eq(l.text, "1 ann/cat -;1 bob/dog 7;");
	ck_assert(more);
	listed_page(NULL, &(struct cairn_index_owned_after){.hash = &one, .owner = "ann/cat"}, 2, &l, &more);
	ck_assert_str_eq(l.text, "1 bob/dog 7;2 - 9;");
	ck_assert(more);
	listed_page(NULL, &(struct cairn_index_owned_after){.hash = &one}, 2, &l, &more);
	ck_assert_str_eq(l.text, "2 - 9;3 ann/cat 5;");
	ck_assert(!more);
	listed_page(NULL, &(struct cairn_index_owned_after){.hash = &zero}, 0, &l, &more);
	ck_assert_str_eq(l.text, "1 ann/cat -;1 bob/dog 7;2 - 9;3 ann/cat 5;");
}
END_TEST

/* A list has a file once, whatever its owner says of it, and whenever. */
START_TEST(a_word_that_is_given_later)
{
	struct listed l;
	bool more;
	const struct cairn_index_owned_after begin = {0};
	ck_assert(listed_put("ann", 3, 0));
	ck_assert(!listed_put("ann", 3, 0));
	listed_page("ann", &begin, 10, &l, &more);
	ck_assert_str_eq(l.text, "3 ann -;");
	ck_assert(listed_put("ann", 3, 7));
	ck_assert(listed_put("ann", 3, 5));
	ck_assert(!listed_put("ann", 3, 0));
	ck_assert(!listed_put("ann", 3, 7));
	listed_page("ann", &begin, 10, &l, &more);
	ck_assert_str_eq(l.text, "3 ann 5;");
	listed_page(NULL, &begin, 10, &l, &more);
	ck_assert_str_eq(l.text, "3 ann 5;");
	ck_assert(!more);
	struct cairn_hash hash;
	memset(&hash, 3, sizeof(hash));
	struct cairn_index_forget_file forget = {.hash = hash, .owner = "ann"};
	ck_assert_int_eq(cairn_index_forget_file(ix, &forget), CAIRN_OK);
	ck_assert(forget.forgotten);
	listed_page(NULL, &begin, 10, &l, &more);
	ck_assert_str_eq(l.text, "");
}
END_TEST

/* --- who refers to what ------------------------------------------------------------------------------------------- */

static void match_is(const char *owner, enum cairn_index_match match, const uint8_t *name, uint32_t limit,
		     const char *text, bool more)
{
	struct listed l = {{0}};
	bool got_more;
	ck_assert_int_eq(cairn_index_each_match(ix, owner, match, name, limit, listed_take, &l, &got_more), CAIRN_OK);
	ck_assert_str_eq(l.text, text);
	ck_assert_int_eq(got_more, more);
}

START_TEST(files_by_what_they_are_and_need)
{
	uint8_t file[32], sha256[32], nothing[32];
	memset(file, 1, sizeof(file));
	memset(sha256, 7, sizeof(sha256));
	memset(nothing, 4, sizeof(nothing));
	listed_put("bob/dog", 1, 7);
	listed_put("ann/cat", 1, 0);
	listed_put("ann/cat", 3, 7);
	listed_put("", 2, 9);
	match_is(NULL, CAIRN_INDEX_MATCH_FILE, file, 10, "1 ann/cat -;1 bob/dog 7;", false);
	match_is(NULL, CAIRN_INDEX_MATCH_FILE, file, 1, "1 ann/cat -;", true);
	match_is("bob/dog", CAIRN_INDEX_MATCH_FILE, file, 10, "1 bob/dog 7;", false);
	match_is("", CAIRN_INDEX_MATCH_FILE, file, 10, "", false);
	match_is(NULL, CAIRN_INDEX_MATCH_SHA256, sha256, 10, "1 bob/dog 7;3 ann/cat 7;", false);
	match_is("ann/cat", CAIRN_INDEX_MATCH_SHA256, sha256, 10, "3 ann/cat 7;", false);
	match_is(NULL, CAIRN_INDEX_MATCH_XORB, a.hash.b, 10, "1 ann/cat -;1 bob/dog 7;2 - 9;3 ann/cat 7;", false);
	match_is("ann/cat", CAIRN_INDEX_MATCH_XORB, a.hash.b, 10, "1 ann/cat -;3 ann/cat 7;", false);
	match_is("ann/cat", CAIRN_INDEX_MATCH_XORB, a.hash.b, 1, "1 ann/cat -;", true);
	match_is("carl/none", CAIRN_INDEX_MATCH_XORB, a.hash.b, 10, "", false);
	for (int match = 0; match < CAIRN_INDEX_MATCHES; match++) {
		match_is(NULL, (enum cairn_index_match)match, nothing, 10, "", false);
		match_is("ann/cat", (enum cairn_index_match)match, nothing, 10, "", false);
	}
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_shard_contract");
	TCase *t = tcase_create("shard");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, all_of_it_comes_back);
	tcase_add_test(t, files_by_what_they_are_and_need);
	tcase_add_test(t, again_is_not_added);
	tcase_add_test(t, only_its_owners_read_a_file);
	tcase_add_test(t, a_claim_is_its_owners);
	tcase_add_test(t, of_several_files_the_newest);
	tcase_add_test(t, few_claims_for_a_file);
	tcase_add_test(t, a_claim_goes_with_its_owner);
	tcase_add_test(t, unknown_xorb_conflicts);
	tcase_add_test(t, another_row_conflicts);
	tcase_add_test(t, a_xorb_stored_meanwhile_is_planned_by_its_list);
	tcase_add_test(t, a_plan_reads_a_file_and_its_xorbs);
	tcase_add_test(t, places_past_the_xorb_conflict);
	tcase_add_test(t, what_fails_leaves_nothing);
	tcase_add_test(t, external_xorbs);
	tcase_add_test(t, nothing_is_remembered_of_what_failed);
	tcase_add_test(t, many_xorbs_in_a_file);
	tcase_add_test(t, many_files_in_a_shard);
	tcase_add_test(t, files_of_an_owner_by_their_hashes);
	tcase_add_test(t, files_of_all_owners);
	tcase_add_test(t, a_word_that_is_given_later);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
