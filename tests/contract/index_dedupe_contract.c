/* Chunk queries: which chunks are found, and which neighbours come with them. */
#include "support/index_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdatomic.h>
#include <string.h>

START_TEST(eligible_chunks_only)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &fx_a, 2, 7, 4); /* added in any order, returned in ascending order */
	fx_shard_xorb(&s, &fx_b, 0);
	fx_shard_file(&s, 1, &fx_b, 3, 9); /* the first chunk of the file is eligible too */
	fx_assert_miss(fx_index, "", &fx_a.list.hashes[7]);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	struct fx_answer got = fx_assert_hit(fx_index, "", &fx_a.list.hashes[7], &fx_a);
	ck_assert_uint_eq(got.n, 2);
	ck_assert_uint_eq(got.n_chunks[0], 20);
	ck_assert_uint_eq(got.n_eligible[0], 2);
	ck_assert_uint_eq(got.eligible[0][0], 4);
	ck_assert_uint_eq(got.eligible[0][1], 7);
	ck_assert(cairn_hash_equal(&got.xorb[1], &fx_b.hash));
	ck_assert_uint_eq(got.n_chunks[1], 30);
	ck_assert_uint_eq(got.n_eligible[1], 1);
	ck_assert_uint_eq(got.eligible[1][0], 3);
	got = fx_assert_hit(fx_index, "any/scope", &fx_b.list.hashes[3], &fx_b); /* shared with all scopes */
	ck_assert_uint_eq(got.n, 2);
	ck_assert(cairn_hash_equal(&got.xorb[1], &fx_a.hash));
	fx_assert_miss(fx_index, "", &fx_b.list.hashes[4]);
	fx_assert_miss(fx_index, "", &fx_a.list.hashes[0]);
	fx_assert_miss(fx_index, "", &fx_b.list.hashes[0]);
}
END_TEST

START_TEST(first_chunk_of_a_file_in_a_known_xorb)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	struct fx_file *file = fx_shard_file(&s, 1, &fx_a, 11, 12);
	fx_shard_term(file, &fx_b, 5, 6);
	fx_shard_file(&s, 2, &fx_a, 13, 14);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	ck_assert_uint_eq(fx_assert_hit(fx_index, "", &fx_a.list.hashes[11], &fx_a).n,
			  1); /* the shard described nothing, so there are no neighbours */
	fx_assert_hit(fx_index, "", &fx_a.list.hashes[13], &fx_a);
	fx_assert_miss(fx_index, "", &fx_b.list.hashes[5]);
}
END_TEST

START_TEST(visitor_stops)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &fx_a, 1, 1);
	fx_shard_xorb(&s, &fx_b, 0);
	fx_shard_xorb(&s, &fx_c, 0);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	for (unsigned n = 1; n <= 3; n++) {
		struct fx_answer answer = {.n_max = n};
		ck_assert_int_eq(fx_query(fx_index, "", &fx_a.list.hashes[1], &answer), CAIRN_OK);
		ck_assert_uint_eq(answer.n, n);
	}
}
END_TEST

START_TEST(scopes)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	s.scope = "me";
	fx_shard_xorb(&s, &fx_a, 1, 1);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	fx_assert_hit(fx_index, "me", &fx_a.list.hashes[1], &fx_a);
	fx_assert_miss(fx_index, "", &fx_a.list.hashes[1]);
	fx_assert_miss(fx_index, "you", &fx_a.list.hashes[1]); /* a scope that the index does not know */
	fx_shard_init(&s, 2);
	s.scope = "you";
	fx_shard_xorb(&s, &fx_a, 1, 2);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	fx_assert_miss(fx_index, "you", &fx_a.list.hashes[1]);
	struct fx_answer got = fx_assert_hit(fx_index, "you", &fx_a.list.hashes[2], &fx_a);
	ck_assert_uint_eq(got.n_eligible[0], 1); /* neighbours of other scopes are not counted */
	ck_assert_uint_eq(got.eligible[0][0], 2);
	fx_shard_init(&s, 3);
	fx_shard_xorb(&s, &fx_a, 1, 1);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	got = fx_assert_hit(fx_index, "you", &fx_a.list.hashes[1], &fx_a);
	ck_assert_uint_eq(got.n_eligible[0], 2); /* neighbours of the asker's scope and of the shared one */
	ck_assert_uint_eq(fx_assert_hit(fx_index, "", &fx_a.list.hashes[1], &fx_a).n_eligible[0], 1);
}
END_TEST

/* A tenant's shard describes a xorb first; another tenant's shard describes it again. The second tenant must not get
 * the first shard's neighbours. */
START_TEST(neighbours_of_the_askers_shard)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	s.scope = "tenant-b";
	fx_shard_xorb(&s, &fx_a, 1, 1);
	fx_shard_xorb(&s, &fx_b, 0);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	fx_shard_init(&s, 2);
	s.scope = "tenant-a";
	fx_shard_xorb(&s, &fx_a, 1, 1);
	fx_shard_xorb(&s, &fx_c, 0);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	struct fx_answer got = fx_assert_hit(fx_index, "tenant-a", &fx_a.list.hashes[1], &fx_a);
	ck_assert_uint_eq(got.n, 2);
	ck_assert(cairn_hash_equal(&got.xorb[1], &fx_c.hash));
	got = fx_assert_hit(fx_index, "tenant-b", &fx_a.list.hashes[1], &fx_a);
	ck_assert_uint_eq(got.n, 2);
	ck_assert(cairn_hash_equal(&got.xorb[1], &fx_b.hash));
}
END_TEST

/* Returns hashes that agree in the eight bytes by which the index looks them up. */
START_TEST(equal_prefixes)
{
	enum { N = 9 };
	struct fx_xorb x[N];
	struct fx_shard s;
	for (unsigned i = 0; i < N; i++) {
		x[i] = fx_xorb_new(100 + i, 6);
		memset(x[i].list.hashes[2].b, 0xee, 8);
		cairn_chunk_list_root(&x[i].list, &x[i].hash);
		fx_xorb_put(fx_index, &x[i]);
		fx_shard_init(&s, i);
		fx_shard_xorb(&s, &x[i], 1, 2);
		ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	}
	struct cairn_hash other = x[0].list.hashes[2];
	other.b[31] ^= 1;
	fx_assert_miss(fx_index, "", &other);
	for (unsigned i = 0; i < N - 1; i++)
		fx_assert_hit(fx_index, "", &x[i].list.hashes[2], &x[i]);
	fx_assert_miss(fx_index, "", &x[N - 1].list.hashes[2]); /* only eight candidates are compared */
	/* many rows of the shared scope do not hide a row of the asker's scope */
	fx_shard_init(&s, 50);
	s.scope = "me";
	fx_shard_xorb(&s, &x[N - 1], 1, 2);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	fx_assert_hit(fx_index, "me", &x[N - 1].list.hashes[2], &x[N - 1]);
	for (unsigned i = 0; i < N; i++)
		fx_xorb_fini(&x[i]);
}
END_TEST

START_TEST(a_chunk_in_many_scopes)
{
	struct fx_shard s;
	for (unsigned i = 0; i < 50; i++) {
		char scope[16] = {'s', (char)('0' + i / 10), (char)('0' + i % 10), 0};
		fx_shard_init(&s, i);
		s.scope = scope;
		fx_shard_xorb(&s, &fx_a, 1, 1);
		if (i == 49)
			fx_shard_xorb(&s, &fx_b, 0);
		ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	}
	ck_assert_uint_eq(fx_assert_hit(fx_index, "s49", &fx_a.list.hashes[1], &fx_a).n, 2);
	ck_assert_uint_eq(fx_assert_hit(fx_index, "s00", &fx_a.list.hashes[1], &fx_a).n, 1);
	fx_assert_miss(fx_index, "", &fx_a.list.hashes[1]);
	fx_assert_miss(fx_index, "s50", &fx_a.list.hashes[1]);
}
END_TEST

enum { SCREENS = 3000 }; /* more than one exchange asks for */

static struct cairn_index_screen screens[SCREENS];
static atomic_uint n_screened;

static void screened(struct cairn_index_screen *screen)
{
	(void)screen;
	atomic_fetch_add(&n_screened, 1);
}

/* Everybody can find a third of the chunks; only one scope can find another third. */
static void ask_about(struct cairn_index_screen *screen, unsigned i)
{
	static const char *const NAMES[] = {"", "me", "you", "nobody"};
	*screen = (struct cairn_index_screen){.scope = NAMES[i % 4], .done = screened};
	screen->chunk = i % 3 == 0 ? fx_a.list.hashes[1] : i % 3 == 1 ? fx_a.list.hashes[2] : fx_b.list.hashes[i % 30];
}

/* Screens are for an index on another machine. Any other index answers the query at once, without a screen. */
START_TEST(screens_distinguish_misses)
{
	struct fx_shard s;
	fx_shard_init(&s, 1);
	fx_shard_xorb(&s, &fx_a, 1, 1);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	fx_shard_init(&s, 2);
	s.scope = "me";
	fx_shard_xorb(&s, &fx_a, 1, 2);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	atomic_store(&n_screened, 0);
	ask_about(&screens[0], 0);
	if (!cairn_index_screen(fx_index, &screens[0])) {
		cairn_index_finish_screens(fx_index);
		return;
	}
	for (unsigned i = 1; i < SCREENS; i++) {
		ask_about(&screens[i], i);
		ck_assert(cairn_index_screen(fx_index, &screens[i]));
	}
	cairn_index_finish_screens(fx_index);
	ck_assert_uint_eq(atomic_load(&n_screened), SCREENS);
	for (unsigned i = 0; i < SCREENS; i++) {
		bool there = i % 3 == 0 || (i % 3 == 1 && i % 4 == 1);
		ck_assert_int_eq(screens[i].status, there ? CAIRN_OK : CAIRN_E_NOT_FOUND);
	}
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_dedupe_contract");
	TCase *t = tcase_create("dedupe");
	tcase_add_checked_fixture(t, fx_set_up_three, fx_tear_down);
	tcase_add_test(t, eligible_chunks_only);
	tcase_add_test(t, first_chunk_of_a_file_in_a_known_xorb);
	tcase_add_test(t, visitor_stops);
	tcase_add_test(t, scopes);
	tcase_add_test(t, neighbours_of_the_askers_shard);
	tcase_add_test(t, equal_prefixes);
	tcase_add_test(t, a_chunk_in_many_scopes);
	tcase_add_test(t, screens_distinguish_misses);
	suite_add_tcase(s, t);
	return run_suite(s);
}
