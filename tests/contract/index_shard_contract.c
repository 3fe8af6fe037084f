/* Registering shards: files, their terms, and who may read them. */
#include "support/shard_fixture.h"

#include "base/bytes.h"

#include <check.h>
#include <string.h>

START_TEST(all_of_it_comes_back)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &fx_a, 1, 5);
	struct fx_file *file = fx_shard_file(&s, 1, &fx_a, 0, 20);
	fx_shard_term(file, &fx_b, 3, 30);
	fx_shard_term(file, &fx_a, 19, 20);
	file->file.has_sha256 = true;
	memset(file->file.sha256, 0x5a, 32);
	fx_shard_file(&s, 2, NULL, 0, 0); /* the empty file */
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert(s.added);

	struct cairn_index_file got;
	ck_assert_int_eq(cairn_index_file(fx_index, &file->file.hash, NULL, true, &got), CAIRN_OK);
	ck_assert(cairn_hash_equal(&got.hash, &file->file.hash));
	ck_assert_uint_eq(got.size_bytes, file->file.size_bytes);
	ck_assert_uint_eq(got.n_terms, 3);
	ck_assert_int_eq(got.terms[0].xorb_id, sx_xorb_id(&fx_a));
	ck_assert_int_eq(got.terms[1].xorb_id, sx_xorb_id(&fx_b));
	ck_assert_uint_eq(got.terms[1].start, 3);
	ck_assert_uint_eq(got.terms[1].end, 30);
	ck_assert_uint_eq(got.terms[1].unpacked_bytes, file->terms[1].term.unpacked_bytes);
	cairn_index_file_fini(&got);
	ck_assert_int_eq(cairn_index_file(fx_index, &file->file.hash, NULL, false, &got), CAIRN_OK);
	ck_assert_uint_eq(got.n_terms, 3);
	ck_assert_ptr_null(got.terms);
	ck_assert_int_eq(cairn_index_file_by_sha256(fx_index, file->file.sha256, NULL, &got), CAIRN_OK);
	ck_assert(cairn_hash_equal(&got.hash, &file->file.hash));
	ck_assert_uint_eq(got.size_bytes, file->file.size_bytes);

	struct cairn_hash empty = fx_hash("file", 2), nothing = fx_hash("file", 3);
	ck_assert_int_eq(cairn_index_file(fx_index, &empty, NULL, true, &got), CAIRN_OK);
	ck_assert_uint_eq(got.n_terms, 0);
	ck_assert_uint_eq(got.size_bytes, 0);
	ck_assert_int_eq(cairn_index_file(fx_index, &nothing, NULL, true, &got), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(again_is_not_added)
{
	struct fx_shard s;
	bool known;
	struct cairn_index_registered registered;
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &fx_a, 1, 5);
	fx_shard_file(&s, 1, &fx_a, 0, 20);
	ck_assert_int_eq(fx_shard_known(fx_index, &s.body, "", "", &known, &registered), CAIRN_OK);
	ck_assert(!known);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert(s.added);
	ck_assert_int_eq(fx_shard_known(fx_index, &s.body, "", "", &known, &registered), CAIRN_OK);
	ck_assert(known);
	fx_shard_fail(&s); /* the failing shard is not even read */
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert(!s.added);
	s.n_files--;
	/* another body with the same contents adds nothing, either */
	s.body = fx_hash("shard", 2);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert(!s.added);
	/* another owner or another scope adds rows */
	s.owner = "model/me/repo";
	ck_assert_int_eq(fx_shard_known(fx_index, &s.body, "", "model/me/repo", &known, &registered), CAIRN_OK);
	ck_assert(!known);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert(s.added);
	ck_assert_int_eq(fx_shard_known(fx_index, &s.body, "", "model/me/repo", &known, &registered), CAIRN_OK);
	ck_assert(known);
	s.scope = "me";
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert(s.added);
	struct cairn_index_stats stats;
	cairn_index_stats(fx_index, &stats);
	ck_assert_uint_eq(stats.n_files, 1);
	ck_assert_uint_eq(stats.n_shards, 4);
	ck_assert_uint_eq(stats.n_eligible, 4); /* chunk 5 and the first chunk of the file, in two scopes */
}
END_TEST

START_TEST(only_its_owners_read_a_file)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	s.owner = "model/me/repo";
	fx_shard_file(&s, 1, &fx_a, 0, 20)->file.has_sha256 = true;
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert(fx_sees(fx_index, NULL, 1));
	ck_assert(fx_sees(fx_index, "model/me/repo", 1));
	ck_assert(!fx_sees(fx_index, "model/me/other", 1));
	ck_assert(!fx_sees(fx_index, "", 1));
	struct cairn_index_file got;
	static const uint8_t zeros[32];
	ck_assert_int_eq(cairn_index_file_by_sha256(fx_index, zeros, "model/me/other", &got), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_file_by_sha256(fx_index, zeros, "model/me/repo", &got), CAIRN_OK);

	s.owner = "model/me/other";
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert(fx_sees(fx_index, "model/me/other", 1));
	ck_assert(!fx_sees(fx_index, "model/you/repo", 1));

	s.owner = ""; /* the operator's file, which everybody may read */
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert(fx_sees(fx_index, "model/you/repo", 1));
	ck_assert(fx_sees(fx_index, "", 1));
}
END_TEST

static enum cairn_status has_spans(void *ctx, const struct cairn_index_spans *places)
{
	*(bool *)ctx = places->spans != NULL;
	return CAIRN_OK;
}

/* A shard that was verified before its xorb was stored has no byte offsets. The list of the xorb has them. */
START_TEST(a_xorb_stored_meanwhile_is_planned_by_its_list)
{
	static const uint32_t NONE[2] = {UINT32_MAX, UINT32_MAX};
	int64_t id = sx_xorb_id(&fx_a);
	struct fx_shard s;
	bool has;
	ck_assert_int_eq(cairn_index_spans(fx_index, &id, 1, NONE, has_spans, &has), CAIRN_OK);
	ck_assert(!has);
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &fx_a, 1, 5);
	s.xorbs[0].list = &fx_a.list;
	fx_shard_file(&s, 1, &fx_a, 0, 20);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert_int_eq(cairn_index_spans(fx_index, &id, 1, NONE, has_spans, &has), CAIRN_OK);
	ck_assert(has);
}
END_TEST

/* Asks for the xorbs of a file, in the order of its terms. */
struct planner {
	struct cairn_index_planner planner; /* must be the first member */
	enum cairn_status choice;
	uint32_t n_chosen; /* xorbs of the terms, at most 2 */
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
	enum cairn_status status = cairn_index_plan(fx_index, &hash, viewer, &p->planner, &got);
	cairn_index_file_fini(&got);
	return status;
}

START_TEST(a_plan_reads_a_file_and_its_xorbs)
{
	struct fx_shard s;
	struct planner p;
	fx_shard_init(&s, 1);
	s.owner = "model/me/repo";
	struct fx_file *file = fx_shard_file(&s, 1, &fx_b, 0, 20);
	fx_shard_term(file, &fx_a, 3, 9);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);

	ck_assert_int_eq(plan(&p, 1, "model/me/repo", CAIRN_OK, 2), CAIRN_OK);
	ck_assert_uint_eq(p.n_told, 1);
	ck_assert_uint_eq(p.n_visited, 2);
	ck_assert(cairn_hash_equal(&p.visited[0], &fx_b.hash) && cairn_hash_equal(&p.visited[1], &fx_a.hash));
	ck_assert_int_eq(plan(&p, 1, NULL, CAIRN_OK, 0), CAIRN_OK);
	ck_assert_uint_eq(p.n_told, 1);
	ck_assert_uint_eq(p.n_visited, 0);
	ck_assert_int_eq(plan(&p, 1, NULL, CAIRN_E_LIMIT, 2), CAIRN_E_LIMIT);
	ck_assert_uint_eq(p.n_visited, 0);
	ck_assert_int_eq(plan(&p, 2, NULL, CAIRN_OK, 2), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(plan(&p, 1, "model/me/other", CAIRN_OK, 2), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(p.n_told, 0);

	/* a file with one term more than the planner accepts */
	fx_shard_init(&s, 2);
	file = fx_shard_file(&s, 2, &fx_b, 0, 20);
	fx_shard_term(file, &fx_a, 3, 9);
	fx_shard_term(file, &fx_b, 1, 2);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert_int_eq(plan(&p, 2, NULL, CAIRN_OK, 2), CAIRN_E_BUSY);
	ck_assert_uint_eq(p.n_told, 0);
}
END_TEST

/* a file over more xorbs than a write remembers at a time; each xorb is named once, and then again */
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
		ck_assert_int_eq(cairn_index_put_xorb(fx_index, &writes[i]), CAIRN_OK);
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
	ck_assert_int_eq(cairn_index_put_shard(fx_index, &put), CAIRN_OK);
	struct cairn_index_file got;
	ck_assert_int_eq(cairn_index_file(fx_index, &file.hash, NULL, true, &got), CAIRN_OK);
	ck_assert_uint_eq(got.n_terms, MANY_TERMS);
	for (unsigned i = 0; i < MANY_TERMS; i++)
		ck_assert_int_eq(got.terms[i].xorb_id, sx_xorb_id(&many[i % MANY]));
	cairn_index_file_fini(&got);
	for (unsigned i = 0; i < MANY; i++) {
		struct cairn_index_xorb row;
		ck_assert_int_eq(cairn_index_xorb(fx_index, &many[i].hash, &row), CAIRN_OK);
		ck_assert(row.referenced);
		fx_xorb_fini(&many[i]);
	}
}
END_TEST

/* More files than are added together. Some in between occur twice and claim another SHA-256 the second time. */
enum { FILES = 1300, FILES_AGAIN = 7 /* every seventh */ };

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
	fx_xorb_put(fx_index, &x);
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
	cairn_index_stats(fx_index, &before);
	/* first all files are new except repeated ones, then some are known, then none is new */
	static const uint32_t sizes[] = {FILES_AGAIN - 1, FILES / 3, FILES, FILES};
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		shard.n_files = sizes[i];
		fx_shard_init(&s, 1 + i);
		struct cairn_index_put_shard put = fx_shard_request(&s);
		put.shard = &shard;
		ck_assert_int_eq(cairn_index_put_shard(fx_index, &put), CAIRN_OK);
		ck_assert(put.added == (i < 3));
	}
	cairn_index_stats(fx_index, &after);
	ck_assert_uint_eq(after.n_files - before.n_files, FILES - FILES / FILES_AGAIN);
	ck_assert_uint_eq(after.n_eligible - before.n_eligible, FILES - FILES / FILES_AGAIN);
	for (unsigned i = 0; i < FILES; i++) {
		struct cairn_index_file got;
		ck_assert_int_eq(cairn_index_file_by_sha256(fx_index, files[i].sha256, NULL, &got), CAIRN_OK);
		ck_assert(cairn_hash_equal(&got.hash, &files[i].hash));
		ck_assert_int_eq(cairn_index_file(fx_index, &files[i].hash, NULL, true, &got), CAIRN_OK);
		ck_assert_uint_eq(got.n_terms, 1);
		ck_assert_uint_eq(got.terms[0].start, files_number(i));
		cairn_index_file_fini(&got);
	}
	fx_xorb_fini(&x);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *t = sx_tests();
	tcase_add_test(t, all_of_it_comes_back);
	tcase_add_test(t, again_is_not_added);
	tcase_add_test(t, only_its_owners_read_a_file);
	tcase_add_test(t, a_xorb_stored_meanwhile_is_planned_by_its_list);
	tcase_add_test(t, a_plan_reads_a_file_and_its_xorbs);
	tcase_add_test(t, many_xorbs_in_a_file);
	tcase_add_test(t, many_files_in_a_shard);
	return sx_run(argc, argv, "index_shard_contract", t);
}
