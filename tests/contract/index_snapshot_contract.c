/* Snapshots of the index at one moment, while later writes continue. */
#include "index/snapshot.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Adds a xorb and a file of two terms on it, in a shard of its own. */
static void put(uint64_t number, uint32_t n_chunks)
{
	struct fx_xorb x = fx_xorb_new(number, n_chunks);
	struct fx_shard s;
	ck_assert(fx_xorb_put(fx_index, &x));
	fx_shard_init(&s, number);
	fx_shard_xorb(&s, &x, 1, 0);
	fx_shard_term(fx_shard_file(&s, number, &x, 0, 1), &x, 1, 2);
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	fx_xorb_fini(&x);
}

struct seen {
	struct cairn_index_snapshot *snapshot;
	unsigned n_xorbs, n_files;
	int64_t last;
	int sha256;               /* first byte of the SHA-256 of the last file; -1: no SHA-256 */
	enum cairn_status answer; /* what the second visit answers */
};

static enum cairn_status see_xorb(void *ctx, const struct cairn_index_xorb *xorb, const struct cairn_chunk_list *list)
{
	struct seen *seen = ctx;
	struct cairn_hash hash;
	ck_assert_int_gt(xorb->id, seen->last);
	ck_assert_uint_eq(list->n, xorb->n_chunks);
	ck_assert_uint_eq(cairn_chunk_list_bytes(list, 0, list->n), xorb->unpacked_bytes);
	ck_assert_int_eq(cairn_index_snapshot_xorb_hash(seen->snapshot, xorb->id, &hash), CAIRN_OK);
	ck_assert(cairn_hash_equal(&hash, &xorb->hash));
	seen->last = xorb->id;
	return ++seen->n_xorbs == 2 ? seen->answer : CAIRN_OK;
}

static enum cairn_status see_file(void *ctx, int64_t number, int64_t at_unix_s, const uint8_t *sha256,
				  const struct cairn_index_file *file)
{
	struct seen *seen = ctx;
	ck_assert_int_gt(number, 0);
	ck_assert_int_gt(at_unix_s, 0);
	ck_assert_uint_eq(file->n_terms, 2);
	ck_assert_uint_eq(file->terms[1].start, 1);
	seen->n_files++;
	seen->sha256 = sha256 ? sha256[0] : -1;
	return CAIRN_OK;
}

static void walk(struct seen *seen, int64_t after)
{
	seen->last = after;
	ck_assert_int_eq(cairn_index_snapshot_xorbs(seen->snapshot, after, see_xorb, seen, NULL), seen->answer);
	ck_assert_int_eq(cairn_index_snapshot_files(seen->snapshot, after, see_file, seen, NULL), CAIRN_OK);
}

START_TEST(one_moment)
{
	CLEANUP(cairn_index_snapshot_freep) struct cairn_index_snapshot *snapshot = NULL;
	struct cairn_index_extent extent;
	struct cairn_hash hash;
	put(1, 5);
	put(2, 7);
	ck_assert_int_eq(cairn_index_snapshot_open(&snapshot, fx_url(fx_folder.path).text, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_index_snapshot_extent(snapshot, 0, &extent, NULL), CAIRN_OK);
	put(3, 9);
	ck_assert_int_eq(cairn_index_snapshot_extent(snapshot, 1, &extent, NULL), CAIRN_OK);
	ck_assert_int_eq(extent.last_xorb, 2);
	ck_assert_int_eq(extent.last_file, 2);
	ck_assert_uint_eq(extent.n_chunks, 7);
	struct seen all = {.snapshot = snapshot}, later = {.snapshot = snapshot};
	walk(&all, 0);
	ck_assert(all.n_xorbs == 2 && all.n_files == 2);
	walk(&later, 1);
	ck_assert(later.n_xorbs == 1 && later.n_files == 1);
	ck_assert_int_eq(cairn_index_snapshot_xorb_hash(snapshot, 3, &hash), CAIRN_E_NOT_FOUND);
	cairn_index_snapshot_freep(&snapshot);
	ck_assert_int_eq(cairn_index_snapshot_open(&snapshot, fx_url(fx_folder.path).text, NULL), CAIRN_OK);
	struct seen stopped = {.snapshot = snapshot, .answer = CAIRN_E_BUSY};
	walk(&stopped, 0);
	ck_assert(stopped.n_xorbs == 2 && stopped.n_files == 3);
}
END_TEST

static void claim(const char *owner, uint8_t digit)
{
	struct fx_xorb x = fx_xorb_new(1, 5);
	struct fx_shard s;
	fx_shard_init(&s, 100 + digit);
	s.owner = owner;
	struct fx_file *file = fx_shard_file(&s, 1, &x, 0, 1);
	fx_shard_term(file, &x, 1, 2);
	file->file.has_sha256 = true;
	memset(file->file.sha256, digit, sizeof(file->file.sha256));
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	fx_xorb_fini(&x);
}

static void assert_sha256(int digit)
{
	CLEANUP(cairn_index_snapshot_freep) struct cairn_index_snapshot *snapshot = NULL;
	ck_assert_int_eq(cairn_index_snapshot_open(&snapshot, fx_url(fx_folder.path).text, NULL), CAIRN_OK);
	struct seen seen = {.snapshot = snapshot};
	walk(&seen, 0);
	ck_assert_uint_eq(seen.n_files, 1);
	ck_assert_int_eq(seen.sha256, digit);
}

/* A snapshot shows some owner's claim. The operator's claim takes precedence, whichever came first. */
START_TEST(one_claim_of_several)
{
	put(1, 5);
	assert_sha256(-1);
	claim("mallory", 9);
	assert_sha256(9);
	claim("ann", 3);
	assert_sha256(9);
	claim("", 7);
	assert_sha256(7);
	claim("", 6);
	assert_sha256(6);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_snapshot_contract");
	TCase *t = tcase_create("all");
	tcase_add_checked_fixture(t, fx_set_up, fx_tear_down);
	tcase_add_test(t, one_moment);
	tcase_add_test(t, one_claim_of_several);
	suite_add_tcase(s, t);
	return run_suite(s);
}
