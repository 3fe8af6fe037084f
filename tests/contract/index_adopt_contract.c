/* Files that a repository adopts from another: which ones, how they count, and how far their SHA-256 is believed. */
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include "index/proof.h"
#include "index/quota.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Returns file `number` with 32 times `digit` as its SHA-256. */
static struct cairn_index_adopted file_as(uint64_t number, uint8_t digit)
{
	struct cairn_index_adopted file = {.file = fx_hash("file", number)};
	memset(file.sha256, digit, sizeof(file.sha256));
	return file;
}

/* Returns the file as the fixture uploads it. */
static struct cairn_index_adopted file_of(uint64_t number)
{
	struct cairn_index_adopted file = {.file = fx_hash("file", number)};
	const struct cairn_index_operation put = hx_put_file("x", number);
	memcpy(file.sha256, put.sha256, sizeof(file.sha256));
	return file;
}

static enum cairn_status adopt(int64_t source, int64_t repo, struct cairn_index_adopted *files, uint32_t n)
{
	struct cairn_index_adopt_files request = {.source = source, .repo = repo, .files = files, .n = n};
	return cairn_index_adopt_files(hx_index, &request);
}

/* Adopts a file from one repository into another. @return true: the file was adopted */
static bool adopted(int64_t source, int64_t repo, struct cairn_index_adopted file)
{
	ck_assert_int_eq(adopt(source, repo, &file, 1), CAIRN_OK);
	return !file.failed;
}

/* Registers file `number` under an owner who claims that its SHA-256 is 32 times `digit`. */
static void claim(const char *owner, uint64_t number, uint8_t digit)
{
	static uint64_t bodies = 5000;
	struct fx_shard s;
	struct fx_xorb x = fx_xorb_new(number, 4);
	(void)fx_xorb_put(hx_index, &x);
	fx_shard_init(&s, bodies++);
	s.owner = owner;
	fx_shard_xorb(&s, &x, 0);
	struct fx_file *file = fx_shard_file(&s, number, &x, 0, 4);
	file->file.has_sha256 = true;
	memset(file->file.sha256, digit, sizeof(file->file.sha256));
	ck_assert_int_eq(fx_shard_put(hx_index, &s), CAIRN_OK);
	fx_xorb_fini(&x);
}

static void prove(const char *owner, uint64_t number, uint8_t digit)
{
	struct cairn_index_prove_file request = {.hash = fx_hash("file", number), .owner = owner};
	memset(request.sha256, digit, sizeof(request.sha256));
	ck_assert_int_eq(cairn_index_prove_file(hx_index, &request), CAIRN_OK);
}

/* Returns the belief in an owner's claim of 32 times a digit; -1: the owner has claimed nothing. */
static int belief(int64_t repo, uint8_t digit)
{
	uint8_t sha256[32];
	struct cairn_index_file found;
	memset(sha256, digit, sizeof(sha256));
	enum cairn_status status = cairn_index_file_by_sha256(hx_index, sha256, hx_owner_of(repo), &found);
	return status == CAIRN_OK ? (int)found.belief : -1;
}

START_TEST(files_of_the_source_are_adopted)
{
	int64_t one = hx_model("one"), two = hx_model("two"), other = hx_model("other");
	hx_uploaded(1, hx_owner_of(one));
	hx_uploaded(2, hx_owner_of(other));
	struct cairn_index_adopted files[] = {file_of(1), file_of(2), file_of(9), file_of(1)};
	files[3].sha256[0] ^= 1;
	ck_assert_int_eq(adopt(one, two, files, 4), CAIRN_OK);
	ck_assert(!files[0].failed);
	for (int i = 1; i < 4; i++)
		ck_assert_msg(files[i].failed, "%d", i);
	ck_assert(fx_sees(hx_index, hx_owner_of(two), 1));
	ck_assert(!fx_sees(hx_index, hx_owner_of(two), 2));
	ck_assert(hx_committed_one(two, "main", hx_put_file("x", 1)));
	hx_refused_one(two, hx_put_file("y", 2), "commit.sha256");
	/* adopting the file again changes nothing, and the adopted file outlasts its source */
	ck_assert(adopted(one, two, file_of(1)));
	struct cairn_index_drop_repo drop = {.id = one};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert(fx_sees(hx_index, hx_owner_of(two), 1));
	struct cairn_index_adopted again = file_of(1);
	ck_assert_int_eq(adopt(one, two, &again, 1), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(adopt(two, one, &again, 1), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(adopt(two, other, NULL, 0), CAIRN_OK);
}
END_TEST

/* A file that the target already has does not show that the source has it, too. */
START_TEST(a_file_of_the_target_shows_nothing_of_the_source)
{
	int64_t one = hx_model("one"), two = hx_model("two");
	hx_uploaded(1, hx_owner_of(two));
	ck_assert(!adopted(one, two, file_of(1)));
	ck_assert(adopted(two, two, file_of(1)));
}
END_TEST

START_TEST(it_is_believed_as_much_as_before)
{
	int64_t one = hx_model("one"), two = hx_model("two"), three = hx_model("three");
	claim(hx_owner_of(one), 1, 5);
	ck_assert(adopted(one, two, file_as(1, 5)));
	ck_assert_int_eq(belief(two, 5), CAIRN_INDEX_COPIED);
	/* A weaker copied claim does not lower the owner's own claim. */
	claim(hx_owner_of(three), 1, 5);
	ck_assert(adopted(one, three, file_as(1, 5)));
	ck_assert_int_eq(belief(three, 5), CAIRN_INDEX_SAID);
	prove(hx_owner_of(one), 1, 5);
	ck_assert(adopted(one, two, file_as(1, 5)));
	ck_assert(adopted(one, three, file_as(1, 5)));
	ck_assert_int_eq(belief(two, 5), CAIRN_INDEX_PROVED);
	ck_assert_int_eq(belief(three, 5), CAIRN_INDEX_PROVED);
}
END_TEST

static void record_first(void *ctx, const struct cairn_index_due *due)
{
	struct cairn_index_outcome *o = ctx;
	*o = (struct cairn_index_outcome){.file_id = due->file_id, .owner_id = due->owner_id, .file = due->file};
	memcpy(o->said, due->said, sizeof(o->said));
}

START_TEST(a_false_claim_is_not_adopted)
{
	int64_t one = hx_model("one"), two = hx_model("two");
	struct cairn_index_outcome outcome;
	claim(hx_owner_of(one), 1, 5);
	ck_assert_int_eq(cairn_index_each_due(hx_index, -1, 1000, 1, record_first, &outcome), CAIRN_OK);
	memset(outcome.proof, 6, sizeof(outcome.proof));
	struct cairn_index_record_outcomes record = {.outcomes = &outcome, .n = 1};
	ck_assert_int_eq(cairn_index_record_outcomes(hx_index, &record), CAIRN_OK);
	ck_assert(!adopted(one, two, file_as(1, 5)));
	ck_assert(!fx_sees(hx_index, hx_owner_of(two), 1));
}
END_TEST

/* Does the entry "x" of main have this file? */
static bool has_file(int64_t repo, uint64_t number)
{
	struct cairn_index_entry entry;
	struct cairn_index_commit head = hx_head(repo, "main");
	struct cairn_hash hash = fx_hash("file", number);
	ck_assert(hx_is_there(&head, "x", &entry) && entry.has_file);
	return cairn_hash_equal(&entry.file, &hash);
}

static struct cairn_index_operation put_as(uint8_t digit)
{
	struct cairn_index_operation put = {.kind = CAIRN_INDEX_PUT_FILE, .path = "x"};
	memset(put.sha256, digit, sizeof(put.sha256));
	return put;
}

/* Makes a model with an entry that has file 1 by a false copied claim: file 2 has that SHA-256. */
static int64_t misled(const char *source, const char *name)
{
	int64_t one = hx_model(source), two = hx_model(name);
	claim(hx_owner_of(one), 1, 5);
	ck_assert(adopted(one, two, file_as(1, 5)));
	ck_assert(hx_committed_one(two, "main", put_as(5)));
	ck_assert(has_file(two, 1));
	return two;
}

/* A proof of the bytes takes precedence over a copied claim, also in committed entries. */
START_TEST(entries_follow_a_proof)
{
	int64_t two = misled("one", "two"), three = misled("other", "three");
	claim(hx_owner_of(two), 2, 5);
	ck_assert(has_file(two, 1));
	prove(hx_owner_of(two), 2, 5);
	ck_assert(has_file(two, 2));
	ck_assert(has_file(three, 1));
	/* The file that was proved first stays. */
	claim(hx_owner_of(two), 3, 5);
	prove(hx_owner_of(two), 3, 5);
	ck_assert(has_file(two, 2));
	/* a proof is copied with the file */
	ck_assert(adopted(two, three, file_as(2, 5)));
	ck_assert(has_file(three, 2));
}
END_TEST

struct all_due {
	struct cairn_index_outcome all[8];
	uint32_t n;
};

static void take_due(void *ctx, const struct cairn_index_due *due)
{
	struct all_due *d = ctx;
	struct cairn_index_outcome *o = &d->all[d->n++];
	struct cairn_hash good = fx_hash("file", 2);
	ck_assert_uint_le(d->n, 8);
	*o = (struct cairn_index_outcome){.file_id = due->file_id, .owner_id = due->owner_id, .file = due->file};
	memcpy(o->said, due->said, sizeof(o->said));
	memset(o->proof, cairn_hash_equal(&due->file, &good) ? 5 : 6, sizeof(o->proof));
}

/* Entries also follow a proof that is found later, by reading the bytes. */
START_TEST(entries_follow_a_later_proof)
{
	int64_t two = misled("one", "two");
	struct all_due due = {.n = 0};
	claim(hx_owner_of(two), 2, 5);
	for (int64_t owner = -1; owner < 16; owner++)
		if (due.n < 3)
			ck_assert_int_eq(cairn_index_each_due(hx_index, owner, 1000, 8, take_due, &due), CAIRN_OK);
	struct cairn_index_record_outcomes record = {.outcomes = due.all, .n = due.n};
	ck_assert_int_eq(cairn_index_record_outcomes(hx_index, &record), CAIRN_OK);
	ck_assert(has_file(two, 2));
}
END_TEST

/* An owner keeps a limited number of claims, however many sources they come from. Proved files still have room. */
START_TEST(claims_of_an_owner_are_limited)
{
	static const char *const NAMES[] = {"a", "b", "c", "d", "e", "f"};
	int64_t two = hx_model("two");
	_Static_assert(sizeof(NAMES) / sizeof(NAMES[0]) > CAIRN_INDEX_CLAIMS_MAX + 1, "more than are kept");
	for (int i = 0; i <= CAIRN_INDEX_CLAIMS_MAX; i++) {
		int64_t source = hx_model(NAMES[i]);
		claim(hx_owner_of(source), 1, (uint8_t)(10 + i));
		ck_assert_int_eq(adopted(source, two, file_as(1, (uint8_t)(10 + i))), i < CAIRN_INDEX_CLAIMS_MAX);
	}
	int64_t source = hx_model("f");
	claim(hx_owner_of(source), 1, 1);
	prove(hx_owner_of(source), 1, 1);
	ck_assert(adopted(source, two, file_as(1, 1)));
	struct cairn_index_adopted *many = calloc(CAIRN_INDEX_ADOPTED_MAX + 1, sizeof(*many));
	ck_assert_ptr_nonnull(many);
	ck_assert_int_eq(adopt(source, two, many, CAIRN_INDEX_ADOPTED_MAX + 1), CAIRN_E_LIMIT);
	ck_assert_int_eq(adopt(source, two, many, CAIRN_INDEX_ADOPTED_MAX), CAIRN_OK);
	ck_assert(many[0].failed && many[CAIRN_INDEX_ADOPTED_MAX - 1].failed);
	free(many);
}
END_TEST

static uint64_t held(int64_t repo)
{
	struct cairn_index_quota quota;
	ck_assert_int_eq(cairn_index_quota(hx_index, hx_ann, repo, &quota), CAIRN_OK);
	return quota.repo.stored_bytes;
}

START_TEST(an_adopted_file_counts_for_its_target)
{
	int64_t one = hx_model("one"), two = hx_model("two");
	hx_uploaded(1, hx_owner_of(one));
	hx_uploaded(2, hx_owner_of(one));
	uint64_t before = held(two), both = held(one) - before;
	struct cairn_index_adopted files[] = {file_of(1), file_of(2), file_of(1)};
	struct cairn_index_set_quota set = {.account = 0, .repo = two, .limit_bytes = before + both - 1};
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_OK);
	ck_assert_int_eq(adopt(one, two, files, 3), CAIRN_E_DENIED);
	ck_assert_uint_eq(held(two), before);
	ck_assert(!fx_sees(hx_index, hx_owner_of(two), 1));
	set.limit_bytes++;
	ck_assert_int_eq(cairn_index_set_quota(hx_index, &set), CAIRN_OK);
	for (int times = 0; times < 2; times++) {
		ck_assert_int_eq(adopt(one, two, files, 3), CAIRN_OK);
		ck_assert_uint_eq(held(two), before + both);
	}
}
END_TEST

static bool copied(int64_t repo, uint64_t number, int64_t source)
{
	struct cairn_index_change one = {.kind = CAIRN_INDEX_OBJECT_COPY, .path = "x", .type = "", .source = source};
	struct cairn_index_change_objects request = {.repo = repo, .changes = &one, .n = 1};
	if (number != 0)
		one.file = fx_hash("file", number);
	ck_assert_int_eq(cairn_index_change_objects(hx_index, &request), CAIRN_OK);
	return !one.failed;
}

START_TEST(a_bucket_gets_copies_of_files_of_a_repository)
{
	int64_t one = hx_model("one"), box = hx_bucket("box"), other = hx_bucket("other");
	hx_uploaded(1, hx_owner_of(one));
	hx_uploaded(2, hx_owner_of(other));
	hx_uploaded(3, "");
	ck_assert(copied(box, 1, one));
	ck_assert(fx_sees(hx_index, hx_owner_of(box), 1));
	for (uint64_t number = 2; number < 5; number++)
		ck_assert_msg(!copied(box, number, one), "%u", (unsigned)number);
	ck_assert(!copied(box, 0, one));
	/* Nobody can copy a file that was uploaded to a bucket but has no path. */
	ck_assert(!copied(box, 2, other));
	struct cairn_index_drop_repo drop = {.id = one};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert(!copied(other, 1, one));
	ck_assert(copied(other, 1, box));
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_adopt_contract");
	TCase *t = tcase_create("adopt");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, files_of_the_source_are_adopted);
	tcase_add_test(t, a_file_of_the_target_shows_nothing_of_the_source);
	tcase_add_test(t, it_is_believed_as_much_as_before);
	tcase_add_test(t, a_false_claim_is_not_adopted);
	tcase_add_test(t, entries_follow_a_proof);
	tcase_add_test(t, entries_follow_a_later_proof);
	tcase_add_test(t, claims_of_an_owner_are_limited);
	tcase_add_test(t, an_adopted_file_counts_for_its_target);
	tcase_add_test(t, a_bucket_gets_copies_of_files_of_a_repository);
	suite_add_tcase(s, t);
	return run_suite(s);
}
