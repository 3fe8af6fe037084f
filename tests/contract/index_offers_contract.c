/* Xorbs of mirrored files that are evicted next: they are withdrawn, offered again, and removed. */
#include "index/hub/mirror_files.h"
#include "index/hub/mirror_list.h"
#include "index/hub/mirror_offers.h"
#include "index/operate.h"
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/index_sqlite.h"
#include "support/run.h"

#include "base/clock.h"

#include <check.h>
#include <string.h>

enum { GRACE_S = 1000, OLD = 7, NEW = 8, NEVER = 1000 * 1000 };

static struct fx_xorb old, new; /* the xorbs of two files of the mirrored repository */
static int64_t far, now_unix_s;
static int64_t tomorrow; /* the day after today's files were read */
static bool stays;       /* stays_withdrawn of the next uploads */

static struct cairn_index_entry entry_of(const char *path)
{
	struct cairn_index_commit head = hx_head(far, "main");
	struct cairn_index_entry entry;
	ck_assert(hx_is_there(&head, path, &entry));
	return entry;
}

static bool put_xorb(const struct fx_xorb *x)
{
	struct cairn_index_put_xorb put = {.hash = x->hash,
					   .list = &x->list,
					   .stored_bytes = x->list.spans[x->list.n - 1].end,
					   .stays_withdrawn = stays};
	ck_assert_int_eq(cairn_index_put_xorb(hx_index, &put), CAIRN_OK);
	return put.added;
}

static enum cairn_status put_shard(struct fx_shard *s)
{
	struct cairn_index_put_shard put = fx_shard_request(s);
	put.stays_withdrawn = stays;
	return cairn_index_put_shard(hx_index, &put);
}

/* Registers a file of the repository whose xorb has an eligible chunk, and gives its bytes to a path. */
static void mirrored_file(const char *path, uint64_t number, const struct fx_xorb *x)
{
	struct fx_shard s;
	struct cairn_index_operation o = hx_put_file(path, number);
	(void)put_xorb(x);
	fx_shard_init(&s, number);
	s.owner = hx_owner_of(far);
	fx_shard_xorb(&s, x, 1, 0);
	struct fx_file *file = fx_shard_file(&s, number, x, 0, 4);
	file->file.has_sha256 = true;
	memcpy(file->file.sha256, o.sha256, sizeof(file->file.sha256));
	ck_assert_int_eq(put_shard(&s), CAIRN_OK);
	o.kind = CAIRN_INDEX_PUT_ABSENT;
	o.has_pointer = true;
	o.size_bytes = file->file.size_bytes;
	ck_assert(hx_committed_one(far, "main", o));
	struct cairn_index_fill_content fill = {.repo = far, .content = entry_of(path).content};
	memcpy(fill.sha256, o.sha256, sizeof(fill.sha256));
	ck_assert_int_eq(cairn_index_fill_content(hx_index, &fill), CAIRN_OK);
}

static void offers_set_up(void)
{
	hx_set_up();
	stays = false;
	struct cairn_index_add_repo add = {
		.kind = CAIRN_INDEX_MODEL, .account = hx_add_mirrored(hx_index), .name = "model", .first = HX_MESSAGE};
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	far = add.id;
	old = fx_xorb_new(OLD, 4);
	new = fx_xorb_new(NEW, 4);
	mirrored_file("old", OLD, &old);
	mirrored_file("new", NEW, &new);
	now_unix_s = cairn_clock_unix_s();
	tomorrow = now_unix_s / 86400 + 2;
}

static void offers_tear_down(void)
{
	fx_xorb_fini(&old);
	fx_xorb_fini(&new);
	hx_tear_down();
}

static struct cairn_index_xorb row_of(const struct fx_xorb *x)
{
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_xorb(hx_index, &x->hash, &row), CAIRN_OK);
	return row;
}

/* Withdraws the xorbs that arrived before a time. @return how many */
static uint32_t withdrawn_of(const struct fx_xorb *x, int64_t arrived_before_unix_s, int64_t before_day)
{
	int64_t id = row_of(x).id;
	struct cairn_index_withdraw_xorbs request = {.xorbs = &id,
						     .n = 1,
						     .now_unix_s = now_unix_s,
						     .arrived_before_unix_s = arrived_before_unix_s,
						     .before_day = before_day};
	ck_assert_int_eq(cairn_index_withdraw_xorbs(hx_index, &request), CAIRN_OK);
	return request.n_withdrawn;
}

static uint32_t withdraw(const struct fx_xorb *x)
{
	return withdrawn_of(x, INT64_MAX, tomorrow);
}

struct needed {
	int64_t xorb[CAIRN_INDEX_OFFERS_MAX];
	uint32_t n;
};

static void note_needed(void *ctx, const struct cairn_index_unoffered *xorb)
{
	struct needed *needed = ctx;
	needed->xorb[needed->n++] = xorb->xorb;
}

/* Offers the needed xorbs again. @return how many */
static uint32_t offer_needed(int64_t before_day)
{
	struct needed needed = {.n = 0};
	ck_assert_int_eq(cairn_index_each_needed(hx_index, before_day, note_needed, &needed), CAIRN_OK);
	struct cairn_index_offer_xorbs offer = {.xorbs = needed.xorb, .n = needed.n};
	ck_assert_int_eq(cairn_index_offer_xorbs(hx_index, &offer), CAIRN_OK);
	return needed.n;
}

static uint32_t offer_again(void)
{
	return offer_needed(tomorrow);
}

static bool offered(const struct fx_xorb *x)
{
	struct fx_answer answer = {0};
	enum cairn_status status = fx_query(hx_index, "", &x->list.hashes[0], &answer);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_NOT_FOUND);
	return status == CAIRN_OK;
}

static void read_on(const char *path, int64_t day)
{
	struct cairn_index_use_content use = {.content = entry_of(path).content, .day = day};
	ck_assert_int_eq(cairn_index_use_content(hx_index, &use), CAIRN_OK);
}

static void evict(const char *path)
{
	struct cairn_index_forget_file forget = {.hash = entry_of(path).file, .owner = hx_owner_of(far)};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &forget), CAIRN_OK);
	ck_assert(forget.forgotten);
}

static uint32_t mark_and_keep(int64_t at_unix_s, int64_t keep_s)
{
	struct cairn_index_gc_mark request = {.now_unix_s = at_unix_s, .grace_s = GRACE_S, .keep_s = keep_s};
	ck_assert_int_eq(cairn_index_gc_mark(hx_index, &request), CAIRN_OK);
	ck_assert_int_eq(request.next_id, 0);
	return request.n_retired;
}

static uint32_t mark(int64_t at_unix_s)
{
	return mark_and_keep(at_unix_s, 0);
}

static uint32_t sweep(int64_t at_unix_s)
{
	struct cairn_hash gone[4];
	struct cairn_index_gc_sweep request = {.now_unix_s = at_unix_s, .grace_s = GRACE_S, .swept = gone, .n_max = 4};
	ck_assert_int_eq(cairn_index_gc_sweep(hx_index, &request), CAIRN_OK);
	return request.n;
}

static bool is_withdrawn(const struct fx_xorb *x)
{
	return row_of(x).withdrawn_unix_s != 0;
}

/* Registers another owner's file that needs the first chunks of a xorb. */
static enum cairn_status upload(uint64_t number, const struct fx_xorb *x)
{
	struct fx_shard s;
	fx_shard_init(&s, number);
	s.owner = "ann/own";
	(void)fx_shard_file(&s, number, x, 0, 2);
	return put_shard(&s);
}

START_TEST(nobody_is_offered_what_was_withdrawn)
{
	ck_assert(offered(&old) && offered(&new));
	uint64_t counted = cairn_index_withdrawn(hx_index);
	ck_assert_uint_eq(withdraw(&old), 1);
	ck_assert(!offered(&old) && offered(&new));
	ck_assert_int_ge(row_of(&old).withdrawn_unix_s, now_unix_s);
	ck_assert(row_of(&old).referenced && !row_of(&old).retired);
	ck_assert(!cairn_index_names_copies(hx_index) || cairn_index_withdrawn(hx_index) != counted);
	ck_assert_uint_eq(withdraw(&old), 0);
	ck_assert_uint_eq(offer_again(), 0);
}
END_TEST

START_TEST(neither_as_a_neighbour)
{
	struct fx_shard s;
	struct fx_answer answer = {0};
	struct fx_xorb third = fx_xorb_new(9, 4);
	ck_assert(fx_xorb_put(hx_index, &third));
	fx_shard_init(&s, 9);
	s.owner = hx_owner_of(far);
	fx_shard_xorb(&s, &third, 1, 0);
	fx_shard_xorb(&s, &old, 1, 0);
	(void)fx_shard_file(&s, 9, &third, 0, 4);
	ck_assert_int_eq(fx_shard_put(hx_index, &s), CAIRN_OK);
	ck_assert_int_eq(fx_query(hx_index, "", &third.list.hashes[0], &answer), CAIRN_OK);
	ck_assert_uint_eq(answer.n, 2);
	ck_assert_uint_eq(withdraw(&old), 1);
	answer = (struct fx_answer){0};
	ck_assert_int_eq(fx_query(hx_index, "", &third.list.hashes[0], &answer), CAIRN_OK);
	ck_assert_uint_eq(answer.n, 1);
	fx_xorb_fini(&third);
}
END_TEST

/* A client looks up the xorbs of its shard again. */
START_TEST(earlier_shards_become_unknown)
{
	struct cairn_index_registered registered;
	struct cairn_hash body = fx_hash("shard", 20);
	bool known;
	ck_assert_int_eq(upload(20, &new), CAIRN_OK);
	ck_assert_int_eq(fx_shard_known(hx_index, &body, "", "ann/own", &known, &registered), CAIRN_OK);
	ck_assert(known);
	ck_assert_uint_eq(withdraw(&new), 0);
	ck_assert_int_eq(fx_shard_known(hx_index, &body, "", "ann/own", &known, &registered), CAIRN_OK);
	ck_assert(known);
	ck_assert_uint_eq(withdraw(&old), 1);
	ck_assert_int_eq(fx_shard_known(hx_index, &body, "", "ann/own", &known, &registered), CAIRN_OK);
	ck_assert(!known);
}
END_TEST

/* Times of arrival in these tests come from the clock. */
START_TEST(what_arrived_lately_stays_offered)
{
	ck_assert_uint_eq(withdrawn_of(&old, row_of(&old).at_unix_s - 1, tomorrow), 0);
	ck_assert_uint_eq(withdrawn_of(&old, row_of(&old).at_unix_s, tomorrow), 1);
}
END_TEST

START_TEST(what_was_read_lately_stays_offered)
{
	ck_assert_uint_eq(withdrawn_of(&old, INT64_MAX, tomorrow - 2), 0);
	read_on("old", tomorrow);
	ck_assert_uint_eq(withdraw(&old), 0);
	ck_assert_uint_eq(withdraw(&new), 1);
	ck_assert_uint_eq(offer_again(), 0);
	read_on("new", tomorrow);
	ck_assert_uint_eq(offer_again(), 1);
	ck_assert(offered(&new) && !is_withdrawn(&new));
}
END_TEST

START_TEST(what_somebody_has_stays_offered)
{
	ck_assert_int_eq(upload(20, &old), CAIRN_OK);
	ck_assert_uint_eq(withdraw(&old), 0);
	/* another owner has the file, too */
	ck_assert_uint_eq(withdraw(&new), 1);
	struct cairn_index_share_file share = {.hash = entry_of("new").file, .owner = hx_owner_of(hx_model("own"))};
	ck_assert_int_eq(cairn_index_share_file(hx_index, &share), CAIRN_OK);
	ck_assert_uint_eq(offer_again(), 1);
	ck_assert_uint_eq(withdraw(&new), 0);
}
END_TEST

START_TEST(what_a_part_needs_stays_offered)
{
	struct fx_shard s;
	fx_shard_init(&s, 21);
	s.owner = hx_owner_of(far);
	(void)fx_shard_file(&s, 21, &old, 0, 2);
	ck_assert_int_eq(fx_shard_put(hx_index, &s), CAIRN_OK);
	ck_assert_uint_eq(withdraw(&old), 0);
}
END_TEST

START_TEST(what_the_operator_keeps_stays_offered)
{
	ck_assert_uint_eq(withdraw(&new), 1);
	struct cairn_index_set_mirror_state state = {.repo = far, .state = CAIRN_INDEX_MIRROR_THERE};
	ck_assert_int_eq(cairn_index_set_mirror_state(hx_index, &state), CAIRN_OK);
	struct cairn_index_set_ahead set = {.repo = far, .ahead.keeps = true};
	ck_assert_int_eq(cairn_index_set_ahead(hx_index, &set), CAIRN_OK);
	ck_assert_uint_eq(withdraw(&old), 0);
	ck_assert_uint_eq(offer_again(), 1);
}
END_TEST

/* A client still has an answer from before. */
START_TEST(a_shard_that_names_it_offers_it_again)
{
	ck_assert_uint_eq(withdraw(&old), 1);
	ck_assert_int_eq(upload(20, &old), CAIRN_OK);
	ck_assert(offered(&old) && !is_withdrawn(&old));
	evict("old");
	ck_assert_uint_eq(mark(now_unix_s + NEVER), 0);
}
END_TEST

START_TEST(an_upload_of_it_offers_it_again)
{
	ck_assert_uint_eq(withdraw(&old), 1);
	ck_assert(!fx_xorb_put(hx_index, &old));
	ck_assert(offered(&old));
	ck_assert_uint_eq(withdraw(&new), 1);
	struct cairn_index_renew_xorb renew = {.hash = new.hash, .now_unix_s = now_unix_s};
	ck_assert_int_eq(cairn_index_renew_xorb(hx_index, &renew), CAIRN_OK);
	ck_assert(offered(&new));
}
END_TEST

/* No client can still have an answer that offers the xorb, so one collection removes it. */
START_TEST(one_collection_removes_what_was_withdrawn_long_ago)
{
	ck_assert_uint_eq(withdraw(&old), 1);
	int64_t since = row_of(&old).withdrawn_unix_s;
	ck_assert_uint_eq(mark(since + GRACE_S), 0); /* the file of the xorb is stored here */
	evict("old");
	evict("new");
	ck_assert_uint_eq(mark(since + GRACE_S), 2);
	ck_assert(row_of(&old).retired && row_of(&new).retired && !is_withdrawn(&old));
	ck_assert_uint_eq(sweep(since + GRACE_S - 1), 0);
	ck_assert_uint_eq(sweep(since + GRACE_S), 1);
	struct cairn_index_xorb row;
	ck_assert_int_eq(cairn_index_xorb(hx_index, &old.hash, &row), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(sweep(since + 2 * GRACE_S), 1);
}
END_TEST

/* Plans, and the index of a backup, may name it. */
START_TEST(what_was_withdrawn_long_ago_stays_for_a_while)
{
	ck_assert_uint_eq(withdraw(&old), 1);
	int64_t later = row_of(&old).withdrawn_unix_s + 2 * GRACE_S;
	evict("old");
	evict("new");
	ck_assert_uint_eq(mark_and_keep(later, 100), 2);
	ck_assert_uint_eq(sweep(later + 99), 0);
	ck_assert_uint_eq(sweep(later + 100), 1);
	ck_assert_uint_eq(sweep(later + GRACE_S - 1), 0); /* never withdrawn */
	ck_assert_uint_eq(sweep(later + GRACE_S), 1);
}
END_TEST

START_TEST(nothing_stays_for_longer_than_the_grace_time)
{
	ck_assert_uint_eq(withdraw(&old), 1);
	int64_t later = row_of(&old).withdrawn_unix_s + 2 * GRACE_S;
	evict("old");
	ck_assert_uint_eq(mark_and_keep(later, 2 * GRACE_S), 1);
	ck_assert_uint_eq(sweep(later + GRACE_S - 1), 0);
	ck_assert_uint_eq(sweep(later + GRACE_S), 1);
}
END_TEST

/* The clock was set back since then. */
START_TEST(a_time_to_come_counts_as_now)
{
	ck_assert_uint_eq(withdraw(&old), 1);
	int64_t since = row_of(&old).withdrawn_unix_s;
	evict("old");
	if (cairn_index_is_remote(hx_index))
		return;
	fx_sql(hx_folder(),
	       "UPDATE xorb SET at = at - 100000, withdrawn = withdrawn + 100000 WHERE withdrawn IS NOT NULL");
	ck_assert_uint_eq(mark(since), 1);
	ck_assert_uint_eq(sweep(since + GRACE_S), 1);
}
END_TEST

static bool note_found(void *ctx, const struct cairn_index_dedupe_xorb *xorb)
{
	*(bool *)ctx = true;
	return xorb == NULL;
}

/* Does the mirror find the xorb, whether it is offered or not? */
static bool found_by_mirror(const struct fx_xorb *x)
{
	bool found = false;
	(void)!cairn_index_dedupe(hx_index, "", &x->list.hashes[0], true, note_found, &found);
	return found;
}

static uint32_t retire(const struct fx_xorb *x, int64_t at_unix_s, int64_t keep_s)
{
	int64_t id = row_of(x).id;
	struct cairn_index_retire_xorbs request = {
		.xorbs = &id, .n = 1, .now_unix_s = at_unix_s, .grace_s = GRACE_S, .keep_s = keep_s};
	ck_assert_int_eq(cairn_index_retire_xorbs(hx_index, &request), CAIRN_OK);
	return request.n_retired;
}

START_TEST(what_is_withdrawn_from_the_beginning_is_never_offered)
{
	struct fx_xorb x = fx_xorb_new(9, 4);
	stays = true;
	mirrored_file("third", 9, &x);
	ck_assert(!offered(&x) && found_by_mirror(&x));
	ck_assert_int_eq(row_of(&x).withdrawn_unix_s, CAIRN_INDEX_NEVER_OFFERED);
	ck_assert(!put_xorb(&x));
	struct cairn_index_renew_xorb renew = {.hash = x.hash, .now_unix_s = now_unix_s, .stays_withdrawn = true};
	ck_assert_int_eq(cairn_index_renew_xorb(hx_index, &renew), CAIRN_OK);
	mirrored_file("same", 10, &x);
	ck_assert_int_eq(row_of(&x).withdrawn_unix_s, CAIRN_INDEX_NEVER_OFFERED);
	ck_assert(!offered(&x));
	stays = false;
	ck_assert_int_eq(upload(11, &x), CAIRN_OK);
	ck_assert(offered(&x) && !is_withdrawn(&x));
	fx_xorb_fini(&x);
}
END_TEST

/* The mirror uses them, too. */
START_TEST(what_is_offered_stays_offered)
{
	stays = true;
	ck_assert(!put_xorb(&old));
	ck_assert_int_eq(upload(12, &old), CAIRN_OK);
	ck_assert(offered(&old) && !is_withdrawn(&old));
}
END_TEST

START_TEST(what_was_retired_is_withdrawn_since_then)
{
	evict("old");
	ck_assert_uint_eq(mark(now_unix_s + NEVER), 1);
	stays = true;
	ck_assert(!put_xorb(&old));
	ck_assert(!row_of(&old).retired);
	ck_assert_int_eq(row_of(&old).withdrawn_unix_s, now_unix_s + NEVER);
	ck_assert(!offered(&old));
}
END_TEST

/* The file was read today, but nobody but the mirror needs it. */
START_TEST(only_what_others_need_must_be_offered)
{
	struct fx_xorb x = fx_xorb_new(9, 4);
	stays = true;
	mirrored_file("third", 9, &x);
	ck_assert_uint_eq(offer_needed(INT64_MAX), 0);
	struct cairn_index_share_file share = {.hash = entry_of("third").file, .owner = hx_owner_of(hx_model("own"))};
	ck_assert_int_eq(cairn_index_share_file(hx_index, &share), CAIRN_OK);
	ck_assert_uint_eq(offer_needed(INT64_MAX), 1);
	ck_assert(offered(&x));
	fx_xorb_fini(&x);
}
END_TEST

START_TEST(what_was_never_offered_goes_soon)
{
	struct fx_xorb x = fx_xorb_new(9, 4);
	stays = true;
	mirrored_file("third", 9, &x);
	ck_assert_uint_eq(retire(&x, now_unix_s, 100), 0); /* a file needs it */
	evict("third");
	ck_assert_uint_eq(retire(&x, now_unix_s, 100), 1);
	ck_assert(row_of(&x).retired && !is_withdrawn(&x) && !found_by_mirror(&x));
	ck_assert_uint_eq(retire(&x, now_unix_s, 100), 0);
	ck_assert_uint_eq(sweep(now_unix_s + 99), 0);
	ck_assert_uint_eq(sweep(now_unix_s + 100), 1);
	fx_xorb_fini(&x);
}
END_TEST

/* A client may rely on an answer. */
START_TEST(what_was_offered_lately_stays)
{
	int64_t later = now_unix_s + GRACE_S; /* the xorbs arrived long before */
	evict("old");
	evict("new");
	ck_assert_uint_eq(retire(&old, later, 100), 1);
	ck_assert(!offered(&old));
	ck_assert_uint_eq(sweep(later + GRACE_S - 1), 0);
	ck_assert_int_eq(upload(20, &old), CAIRN_OK);
	ck_assert_uint_eq(sweep(later + GRACE_S), 0);
	ck_assert_uint_eq(retire(&new, later, 100), 1);
	ck_assert_uint_eq(sweep(later + GRACE_S), 1);
}
END_TEST

/* A client sends a xorb that it was not offered, and does not send it again when it goes on with its upload weeks
 * later. Meanwhile the file is evicted, fetched again and evicted. */
START_TEST(what_somebody_sent_lately_stays_for_longer)
{
	struct fx_xorb x = fx_xorb_new(9, 4);
	stays = true;
	mirrored_file("third", 9, &x);
	stays = false;
	ck_assert(!put_xorb(&x));
	int64_t at = row_of(&x).at_unix_s;
	evict("third");
	ck_assert_uint_eq(retire(&x, at, 100), 1);
	ck_assert_uint_eq(sweep(at + GRACE_S + GRACE_S / 2 - 1), 0);
	stays = true;
	ck_assert(!put_xorb(&x));
	ck_assert_uint_eq(retire(&x, at, 100), 1);
	ck_assert_uint_eq(sweep(at + GRACE_S + GRACE_S / 2 - 1), 0);
	ck_assert_uint_eq(sweep(at + GRACE_S + GRACE_S / 2), 1);
	fx_xorb_fini(&x);
}
END_TEST

/* The clock was set back since then. */
START_TEST(a_time_of_arrival_to_come_counts_as_now)
{
	int64_t past = now_unix_s - NEVER;
	evict("old");
	ck_assert_uint_eq(retire(&old, past, 100), 1);
	ck_assert_uint_eq(sweep(past + GRACE_S + GRACE_S / 2 - 1), 0);
	ck_assert_uint_eq(sweep(past + GRACE_S + GRACE_S / 2), 1);
}
END_TEST

/* The fetch failed before a shard named it. */
START_TEST(a_collection_retires_what_was_never_offered)
{
	struct fx_xorb x = fx_xorb_new(9, 4);
	stays = true;
	(void)put_xorb(&x);
	int64_t at = row_of(&x).at_unix_s;
	ck_assert_uint_eq(mark_and_keep(at + 99, 100), 0);
	ck_assert_uint_eq(mark_and_keep(at + 100, 100), 1);
	ck_assert_uint_eq(sweep(at + 199), 0);
	ck_assert_uint_eq(sweep(at + 200), 1);
	fx_xorb_fini(&x);
}
END_TEST

START_TEST(bytes_that_are_not_offered_are_summed_up)
{
	struct fx_xorb x = fx_xorb_new(9, 4);
	struct cairn_index_unoffered_sum sum;
	stays = true;
	mirrored_file("third", 9, &x);
	ck_assert_uint_eq(withdraw(&old), 1);
	evict("new");
	ck_assert_uint_eq(retire(&new, now_unix_s, 100), 1);
	ck_assert_int_eq(cairn_index_unoffered_sum(hx_index, now_unix_s - 1, &sum), CAIRN_OK);
	ck_assert_uint_eq(sum.withdrawn_bytes, row_of(&x).stored_bytes + row_of(&old).stored_bytes);
	ck_assert_uint_eq(sum.free_bytes, row_of(&x).stored_bytes);
	ck_assert_uint_eq(sum.retired_bytes, row_of(&new).stored_bytes);
	ck_assert_uint_eq(sum.due_bytes, 0);
	ck_assert_int_eq(cairn_index_unoffered_sum(hx_index, INT64_MAX, &sum), CAIRN_OK);
	ck_assert_uint_eq(sum.free_bytes, sum.withdrawn_bytes);
	ck_assert_uint_eq(sum.retired_bytes, 0);
	ck_assert_uint_eq(sum.due_bytes, row_of(&new).stored_bytes);
	fx_xorb_fini(&x);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_offers_contract");
	TCase *t = tcase_create("offers");
	tcase_add_checked_fixture(t, offers_set_up, offers_tear_down);
	tcase_add_test(t, nobody_is_offered_what_was_withdrawn);
	tcase_add_test(t, neither_as_a_neighbour);
	tcase_add_test(t, earlier_shards_become_unknown);
	tcase_add_test(t, what_arrived_lately_stays_offered);
	tcase_add_test(t, what_was_read_lately_stays_offered);
	tcase_add_test(t, what_somebody_has_stays_offered);
	tcase_add_test(t, what_a_part_needs_stays_offered);
	tcase_add_test(t, what_the_operator_keeps_stays_offered);
	tcase_add_test(t, a_shard_that_names_it_offers_it_again);
	tcase_add_test(t, an_upload_of_it_offers_it_again);
	tcase_add_test(t, one_collection_removes_what_was_withdrawn_long_ago);
	tcase_add_test(t, what_was_withdrawn_long_ago_stays_for_a_while);
	tcase_add_test(t, nothing_stays_for_longer_than_the_grace_time);
	tcase_add_test(t, a_time_to_come_counts_as_now);
	tcase_add_test(t, what_is_withdrawn_from_the_beginning_is_never_offered);
	tcase_add_test(t, what_is_offered_stays_offered);
	tcase_add_test(t, what_was_retired_is_withdrawn_since_then);
	tcase_add_test(t, only_what_others_need_must_be_offered);
	tcase_add_test(t, what_was_never_offered_goes_soon);
	tcase_add_test(t, what_was_offered_lately_stays);
	tcase_add_test(t, what_somebody_sent_lately_stays_for_longer);
	tcase_add_test(t, a_time_of_arrival_to_come_counts_as_now);
	tcase_add_test(t, a_collection_retires_what_was_never_offered);
	tcase_add_test(t, bytes_that_are_not_offered_are_summed_up);
	suite_add_tcase(s, t);
	return run_suite(s);
}
