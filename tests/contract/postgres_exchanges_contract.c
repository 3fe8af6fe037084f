/* A ledger of exchanges with PostgreSQL: how many each call of an engine (index/backend.h) takes. An exchange is a
 * round trip to the server. The test fails if a call takes another number than its line says, or has no line.
 * postgres_statements_contract.c counts the calls of records. */
#include "postgres_fixture.h"

#include "base/clock.h"
#include "index/backend.h"
#include "support/history_fixture.h"

#include <stdio.h>
#include <string.h>

#define CALL(name) CALL_##name,
enum call { CAIRN_ENGINE_CALLS(CALL, CAIRN_ENGINE_LACKS, CALL) N_CALLS };

struct line {
	unsigned exchanges;
	const char *left_out; /* why the call is not counted; NULL: it is */
	bool there;
};

#define TAKES(name, n)      [CALL_##name] = {.exchanges = (n), .there = true}
#define LEFT_OUT(name, why) [CALL_##name] = {.left_out = (why), .there = true}

static const char ONCE[] = "once a start, or for a command";
static const char WHOLE[] = "reads or writes a whole index, by a connection of its own";
static const char PART[] = "part of the calls that are counted";

/* A simple read takes one exchange. A write takes one to begin, one to commit, and at least one between. The numbers
 * are those of the calls below, on connections that are open already. If a call takes fewer, lower its number. A change
 * that raises a number must say why. */
static const struct line LEDGER[N_CALLS] = {
	TAKES(put_xorb, 5),
	TAKES(put_shard, 3), /* after a lookup; the settler takes the last one */
	TAKES(forget_file, 4),
	TAKES(record_outcomes, 3),
	TAKES(prove_file, 4),
	TAKES(gc_mark, 4),
	TAKES(gc_sweep, 6),
	TAKES(find_dead, 3),
	TAKES(bury, 3),
	TAKES(write_off, 3),
	TAKES(begin_lease, 3),
	TAKES(end_lease, 3),
	TAKES(put_note, 3),
	TAKES(begin_session, 3),
	TAKES(end_session, 3),
	TAKES(add_commit, 11),
	TAKES(adopt_files, 7),
	TAKES(add_ref, 6),
	TAKES(squash, 17), /* made in pieces: it begins, copies, and shows the copied rows */
	TAKES(drop_ref, 4),
	LEFT_OUT(sweep_repos, "as many as its time allows"),
	TAKES(change_objects, 5),
	LEFT_OUT(migrate, ONCE),
	LEFT_OUT(version, ONCE),
	LEFT_OUT(reach, ONCE),
	LEFT_OUT(open, ONCE),
	LEFT_OUT(free, ONCE),
	TAKES(may_dedupe, 0),
	TAKES(screen, 1),
	TAKES(finish_screens, 0),
	TAKES(dedupe, 4),
	TAKES(file, 1),
	TAKES(spans, 1),
	TAKES(look_up_shard, 1),
	TAKES(withdrawn, 0),
	TAKES(clock_is_off, 0),
	TAKES(job_state, 0),
	TAKES(note, 1),
	TAKES(fetch, 1),
	TAKES(session, 1),
	TAKES(count_dead, 1),
	TAKES(each_unnamed, 1),
	TAKES(key_is_good, 0),
	TAKES(entry, 1),
	TAKES(each_entry, 2),
	LEFT_OUT(examine, WHOLE),
	LEFT_OUT(needs_agree, WHOLE),
	LEFT_OUT(snapshot_open, WHOLE),
	LEFT_OUT(snapshot_extent, WHOLE),
	LEFT_OUT(snapshot_xorbs, WHOLE),
	LEFT_OUT(snapshot_files, WHOLE),
	LEFT_OUT(snapshot_xorb_hash, WHOLE),
	LEFT_OUT(snapshot_free, WHOLE),
	LEFT_OUT(transfer_open, WHOLE),
	LEFT_OUT(transfer_page, WHOLE),
	LEFT_OUT(transfer_state, WHOLE),
	LEFT_OUT(transfer_last, WHOLE),
	LEFT_OUT(transfer_freeze, WHOLE),
	LEFT_OUT(transfer_write, WHOLE),
	LEFT_OUT(transfer_begin, WHOLE),
	LEFT_OUT(transfer_end, WHOLE),
	LEFT_OUT(transfer_free, WHOLE),
	LEFT_OUT(lend, PART),
	LEFT_OUT(renew_lease, "by the thread that asks each second"),
	TAKES(describe, 0),
	LEFT_OUT(tx, PART),
	LEFT_OUT(begin, PART),
	LEFT_OUT(begin_write, PART),
	LEFT_OUT(explain, PART),
	LEFT_OUT(is_open, PART),
	LEFT_OUT(commit, PART),
	LEFT_OUT(commit_ahead, PART),
	LEFT_OUT(roll_back, PART),
	LEFT_OUT(again, PART),
	LEFT_OUT(put_shards, PART),
	LEFT_OUT(begin_repo, "part of adding a repository, which is a record"),
	LEFT_OUT(settle, PART),
};

static bool counted[N_CALLS];
static unsigned n_wrong;
static uint64_t before;

static uint64_t n_asked(void)
{
	struct cairn_index_stats stats;
	cairn_index_stats(pg.ix, &stats);
	return stats.n_asked;
}

static void wrong(const char *name, const char *what, unsigned n, unsigned expected)
{
	(void)fprintf(stderr, "%s %s: %u, not %u\n", name, what, n, expected);
	n_wrong++;
}

static void count(enum call call, const char *name, enum cairn_status status)
{
	unsigned n = (unsigned)(n_asked() - before);
	ck_assert_msg(status == CAIRN_OK, "%s answered %d", name, (int)status);
	counted[call] = true;
	if (LEDGER[call].left_out || n != LEDGER[call].exchanges)
		wrong(name, "took exchanges", n, LEDGER[call].exchanges);
}
#define COUNT(name, call) (before = n_asked(), count(CALL_##name, #name, call))
/* Counts a call that returns no status. */
#define COUNT_PLAIN(name, call) (before = n_asked(), (void)(call), count(CALL_##name, #name, CAIRN_OK))

#define NAME(name) #name,
static const char *const NAMES[] = {CAIRN_ENGINE_CALLS(NAME, CAIRN_ENGINE_LACKS, NAME)};

static void check_ledger(void)
{
	for (int i = 0; i < N_CALLS; i++) {
		if (!LEDGER[i].there)
			wrong(NAMES[i], "has lines in the ledger", 0, 1);
		else if (!LEDGER[i].left_out && !counted[i])
			wrong(NAMES[i], "was counted times", 0, 1);
	}
	ck_assert_uint_eq(n_wrong, 0);
}

enum { LATER_S = 1000 };

static struct fx_shard shard;
static struct cairn_index_put_shard put;
static struct cairn_index_seen_xorb found[2];

static void ignore_copy(void *ctx, const struct cairn_hash *hash, const struct cairn_copy_id *copy)
{
	(void)ctx, (void)hash, (void)copy;
}

static enum cairn_status ignore_spans(void *ctx, const struct cairn_index_spans *spans)
{
	(void)ctx, (void)spans;
	return CAIRN_OK;
}

static bool ignore_dedupe(void *ctx, const struct cairn_index_dedupe_xorb *xorb)
{
	(void)ctx, (void)xorb;
	return true;
}

static struct cairn_index_put_xorb xorb_with_copy(const struct fx_xorb *x, uint8_t number)
{
	struct cairn_index_put_xorb xorb = {
		.hash = x->hash, .list = &x->list, .stored_bytes = x->list.spans[x->list.n - 1].end};
	cairn_copy_id_set_unix_ms(&xorb.copy, cairn_clock_unix_s() * 1000);
	xorb.copy.b[sizeof(xorb.copy.b) - 1] = number;
	return xorb;
}

static enum cairn_status look(void)
{
	struct cairn_index_shard_lookup l = {.body = shard.body, .scope = "", .owner = ""};
	l.xorbs = &pg.x.hash;
	l.files = &shard.files[0].file.hash;
	l.n_xorbs = l.n_described = l.n_files = 1;
	l.found = found;
	enum cairn_status status = cairn_index_look_up_shard(pg.ix, &l);
	cairn_chunk_list_fini(&found[0].places);
	put.seen = l.seen;
	return status;
}

static void screened(struct cairn_index_screen *screen)
{
	(void)screen;
}

static enum cairn_status screen(void)
{
	static struct cairn_index_screen s;
	s = (struct cairn_index_screen){.scope = "", .chunk = pg.x.list.hashes[1], .done = screened};
	ck_assert(cairn_index_screen(pg.ix, &s));
	cairn_index_finish_screens(pg.ix);
	return s.status;
}

static void count_uploads(void)
{
	struct fx_xorb other = fx_xorb_new(2, 3);
	struct cairn_index_put_xorb first = xorb_with_copy(&other, 1), xorb = xorb_with_copy(&pg.x, 2);
	ck_assert_int_eq(cairn_index_put_xorb(pg.ix, &first), CAIRN_OK); /* opens the connection */
	COUNT(put_xorb, cairn_index_put_xorb(pg.ix, &xorb));
	fx_shard_init(&shard, 1);
	fx_shard_xorb(&shard, &pg.x, 1, 1);
	(void)fx_shard_file(&shard, 1, &pg.x, 0, 5);
	hx_uploaded(7, "");                 /* opens the settler's connection */
	ck_assert_int_eq(look(), CAIRN_OK); /* opens the connection */
	COUNT(look_up_shard, look());
	struct cairn_index_seen seen = put.seen;
	ck_assert(seen.plain);
	put = fx_shard_request(&shard);
	put.seen = seen;
	shard.records.xorbs[0].id = found[0].id;
	COUNT(put_shard, cairn_index_put_shard(pg.ix, &put));
	fx_xorb_fini(&other);
}

static void count_store_reads(void)
{
	const struct cairn_hash *chunk = &pg.x.list.hashes[1];
	const struct cairn_index_copy copy = {.hash = fx_hash("xorb", 900)};
	struct cairn_index_file file = {0};
	uint64_t n;
	COUNT_PLAIN(may_dedupe, cairn_index_may_dedupe(pg.ix, "", chunk));
	(void)screen(); /* opens the connection */
	COUNT(screen, screen());
	COUNT_PLAIN(finish_screens, cairn_index_finish_screens(pg.ix));
	COUNT(dedupe, cairn_index_dedupe(pg.ix, "", chunk, false, ignore_dedupe, NULL));
	COUNT(file, cairn_index_file(pg.ix, &shard.files[0].file.hash, NULL, true, &file));
	COUNT(spans, cairn_index_spans(pg.ix, &file.terms[0].xorb_id, 1, FX_SPANS, ignore_spans, NULL));
	cairn_index_file_fini(&file);
	COUNT(count_dead, cairn_index_count_dead(pg.ix, &n));
	COUNT(each_unnamed, cairn_index_each_unnamed(pg.ix, &copy, 1, ignore_copy, NULL));
	COUNT_PLAIN(describe, n_asked());
}

static void note_due(void *ctx, const struct cairn_index_due *due)
{
	struct cairn_index_outcome *out = ctx;
	*out = (struct cairn_index_outcome){.file_id = due->file_id, .owner_id = due->owner_id, .file = due->file};
	memcpy(out->said, due->said, sizeof(out->said));
	memcpy(out->proof, due->said, sizeof(out->proof));
}

static void count_proofs(void)
{
	struct cairn_index_outcome outcome = {0};
	struct cairn_index_prove_file prove = {.hash = fx_hash("file", 7), .owner = ""};
	ck_assert_int_eq(cairn_index_each_due(pg.ix, -1, cairn_clock_unix_s() + LATER_S, 1, note_due, &outcome),
			 CAIRN_OK);
	ck_assert_int_ne(outcome.file_id, 0);
	struct cairn_index_record_outcomes record = {.outcomes = &outcome, .n = 1};
	COUNT(record_outcomes, cairn_index_record_outcomes(pg.ix, &record));
	memcpy(prove.sha256, outcome.said, sizeof(prove.sha256));
	COUNT(prove_file, cairn_index_prove_file(pg.ix, &prove));
}

static void count_collection(void)
{
	struct cairn_index_forget_file forget = {.hash = shard.files[0].file.hash};
	struct cairn_index_gc_mark mark = {.now_unix_s = cairn_clock_unix_s() + LATER_S, .grace_s = 1};
	struct cairn_hash swept[4];
	struct cairn_index_gc_sweep sweep = {
		.now_unix_s = mark.now_unix_s + LATER_S, .grace_s = 1, .swept = swept, .n_max = 4};
	struct cairn_index_copy dead[4];
	struct cairn_index_find_dead find = {.found = dead, .n_max = 4};
	struct cairn_index_bury bury = {.copies = &dead[0].copy, .n = 1};
	struct cairn_index_copy unnamed = {.hash = fx_hash("xorb", 900), .copy.b = {1}};
	struct cairn_index_write_off off = {.copies = &unnamed, .n = 1};
	COUNT(forget_file, cairn_index_forget_file(pg.ix, &forget));
	COUNT(gc_mark, cairn_index_gc_mark(pg.ix, &mark));
	ck_assert_uint_eq(mark.n_retired, 2);
	COUNT(gc_sweep, cairn_index_gc_sweep(pg.ix, &sweep));
	ck_assert_uint_eq(sweep.n, 2);
	COUNT(find_dead, cairn_index_find_dead(pg.ix, &find));
	ck_assert_uint_eq(find.n, 2);
	COUNT(bury, cairn_index_bury(pg.ix, &bury));
	COUNT(write_off, cairn_index_write_off(pg.ix, &off));
	ck_assert_uint_eq(off.n_dead, 1);
}

static void count_shared(void)
{
	struct cairn_index_begin_lease begin = {.lease.job = CAIRN_INDEX_COLLECT, .who = "here"};
	struct cairn_index_put_note put_note = {.job = CAIRN_INDEX_SCRUB, .note.text = "done"};
	struct cairn_index_begin_session session = {
		.session.ends_unix_s = INT64_MAX / 2, .now_unix_s = 1, .n_max = 9, .n_of_one_max = 9};
	struct cairn_index_end_session end_session = {.digest = {0}};
	struct cairn_index_job_state state;
	struct cairn_index_session got;
	struct cairn_index_note note;
	struct cairn_diag diag = {0};
	bool good;
	COUNT(begin_lease, cairn_index_begin_lease(pg.ix, &begin));
	struct cairn_index_end_lease end = {.lease = begin.lease};
	COUNT(end_lease, cairn_index_end_lease(pg.ix, &end));
	COUNT(put_note, cairn_index_put_note(pg.ix, &put_note));
	COUNT(note, cairn_index_note(pg.ix, CAIRN_INDEX_SCRUB, &note));
	COUNT(begin_session, cairn_index_begin_session(pg.ix, &session));
	COUNT(session, cairn_index_session(pg.ix, session.session.digest, 1, &got));
	COUNT(end_session, cairn_index_end_session(pg.ix, &end_session));
	COUNT_PLAIN(withdrawn, cairn_index_withdrawn(pg.ix));
	COUNT_PLAIN(clock_is_off, cairn_index_clock_is_off(pg.ix, &diag));
	COUNT_PLAIN(job_state, cairn_index_job_state(pg.ix, CAIRN_INDEX_COLLECT, &state));
	COUNT(key_is_good, cairn_index_key_is_good(pg.ix, 1, &good));
}

enum { OPERATIONS = 200 };

static bool ignore_entry(void *ctx, const struct cairn_index_entry *entry)
{
	(void)ctx, (void)entry;
	return true;
}

/* A commit of many files in many folders takes no more exchanges than a small one. */
static void count_commits(int64_t repo)
{
	static char paths[OPERATIONS][16];
	static struct cairn_index_operation operations[OPERATIONS];
	for (unsigned i = 0; i < OPERATIONS; i++) {
		(void)snprintf(paths[i], sizeof(paths[i]), "d%u/%u", i / 9, i);
		operations[i] = hx_put(paths[i], "text");
	}
	struct cairn_index_add_commit small = hx_request(repo, "main", operations, 1);
	struct cairn_index_add_commit large = hx_request(repo, "main", operations, OPERATIONS);
	COUNT(add_commit, cairn_index_add_commit(pg.ix, &small));
	COUNT(add_commit, cairn_index_add_commit(pg.ix, &large));
}

static void count_refs(int64_t repo, const struct cairn_index_commit *head)
{
	struct cairn_index_add_ref add = {
		.repo = repo, .kind = CAIRN_INDEX_BRANCH, .name = "dev", .commit = head->id, .first = HX_MESSAGE};
	struct cairn_index_squash squash = {
		.repo = repo, .kind = CAIRN_INDEX_BRANCH, .name = "main", .message = HX_MESSAGE};
	struct cairn_index_drop_ref drop = {.repo = repo, .kind = CAIRN_INDEX_BRANCH, .name = "dev"};
	COUNT(add_ref, cairn_index_add_ref(pg.ix, &add));
	COUNT(squash, cairn_index_squash(pg.ix, &squash));
	COUNT(drop_ref, cairn_index_drop_ref(pg.ix, &drop));
}

static void count_hub(void)
{
	const struct cairn_index_listing all = {.folder = "", .recursive = true, .after = ""};
	struct cairn_index_change change = {.kind = CAIRN_INDEX_OBJECT_SET, .path = "a", .type = ""};
	struct cairn_index_adopted adopted = {.file = fx_hash("file", 8)};
	struct cairn_index_fetch fetch;
	struct cairn_index_entry entry;
	struct cairn_hash sha256 = fx_hash("sha256", 8);
	hx_ann = hx_add_account(CAIRN_INDEX_USER, "Ann");
	int64_t one = hx_model("one"), two = hx_model("two"), bucket = hx_bucket("bucket");
	hx_uploaded(8, hx_owner_of(one));
	count_commits(one);
	struct cairn_index_commit head = hx_head(one, "main");
	COUNT(entry, cairn_index_entry(pg.ix, &head, "d1/10", &entry));
	COUNT(each_entry, cairn_index_each_entry(pg.ix, &head, &all, ignore_entry, NULL));
	COUNT(fetch, pg.ix->backend->fetch(pg.ix, one, entry.content, &fetch));
	count_refs(one, &head);
	memcpy(adopted.sha256, sha256.b, sizeof(adopted.sha256));
	struct cairn_index_adopt_files adopt = {.source = one, .repo = two, .files = &adopted, .n = 1};
	COUNT(adopt_files, cairn_index_adopt_files(pg.ix, &adopt));
	ck_assert(!adopted.failed);
	struct cairn_index_change_objects objects = {.repo = bucket, .changes = &change, .n = 1};
	COUNT(change_objects, cairn_index_change_objects(pg.ix, &objects));
}

START_TEST(calls_take_as_many_exchanges_as_their_lines_say)
{
	hx_index = pg.ix;
	count_uploads();
	count_store_reads();
	count_proofs();
	count_collection();
	count_shared();
	count_hub();
	check_ledger();
}
END_TEST

int main(int argc, char **argv)
{
	TCase *t = tcase_create("exchanges");
	tcase_add_test(t, calls_take_as_many_exchanges_as_their_lines_say);
	return pgfx_run(argc, argv, t);
}
