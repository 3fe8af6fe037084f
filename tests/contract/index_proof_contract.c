/* Claims of SHA-256: whose turn it is to be proved, what a verdict changes, and which claims answer a lookup. */
#include "support/index_fixture.h"
#include "support/run.h"
#include "support/tempdir.h"

#include "index/proof.h"
#include "index/refer.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tempdir folder;
static struct cairn_index *ix;
static struct fx_xorb a;

enum { NOW = 1000, LATER = NOW + CAIRN_INDEX_PUT_OFF_S };

static void set_up(void)
{
	folder = tempdir_new();
	ix = fx_open(folder.path);
	a = fx_xorb_new(1, 40);
	fx_xorb_put(ix, &a);
}

static void tear_down(void)
{
	fx_xorb_fini(&a);
	cairn_index_free(ix);
	tempdir_fini(&folder);
}

/* Registers file `number` under an owner who claims that its SHA-256 is 32 times `digit`; 0: without a claim. @return
 * true: the file was new */
static bool claim(const char *owner, unsigned number, uint8_t digit)
{
	static uint64_t bodies = 1000;
	struct fx_shard s;
	fx_shard_init(&s, bodies++);
	s.owner = owner;
	struct fx_file *file = fx_shard_file(&s, number, &a, number, 40);
	file->file.has_sha256 = digit != 0;
	memset(file->file.sha256, digit, sizeof(file->file.sha256));
	ck_assert_int_eq(fx_shard_put(ix, &s), CAIRN_OK);
	return s.added;
}

static unsigned number_of(const struct cairn_hash *file)
{
	for (unsigned number = 1; number < 40; number++) {
		struct cairn_hash hash = fx_hash("file", number);
		if (cairn_hash_equal(file, &hash))
			return number;
	}
	ck_abort_msg("a file that nobody registered");
	return 0;
}

/* Returns the number of the file that a viewer finds; 0: none. @param[out] belief  may be NULL */
static unsigned found(const char *viewer, uint8_t digit, enum cairn_index_belief *belief)
{
	uint8_t digest[32];
	struct cairn_index_file got;
	memset(digest, digit, sizeof(digest));
	enum cairn_status status = cairn_index_file_by_sha256(ix, digest, viewer, &got);
	if (status == CAIRN_E_NOT_FOUND)
		return 0;
	ck_assert_int_eq(status, CAIRN_OK);
	if (belief)
		*belief = got.belief;
	return number_of(&got.hash);
}

struct turn {
	char text[512]; /* "number owner said[=proof];" */
	int64_t owner;  /* -1: no turn */
	uint32_t n;
	struct cairn_index_outcome outcomes[16];
};

static void turn_take(void *ctx, const struct cairn_index_due *due)
{
	struct turn *t = ctx;
	size_t len = strlen(t->text);
	struct cairn_index_outcome *o = &t->outcomes[t->n++];
	*o = (struct cairn_index_outcome){.file_id = due->file_id, .owner_id = due->owner_id, .file = due->file};
	memcpy(o->said, due->said, sizeof(o->said));
	t->owner = due->owner_id;
	char known[8] = "";
	if (due->is_known)
		(void)snprintf(known, sizeof(known), "=%x", due->proof[31]);
	(void)snprintf(t->text + len, sizeof(t->text) - len, "%u %s %x%s;", number_of(&due->file), due->owner,
		       due->said[0], known);
}

static void turn_at(struct turn *t, int64_t after_owner, int64_t now, uint32_t limit)
{
	*t = (struct turn){.owner = -1};
	ck_assert_int_eq(cairn_index_each_due(ix, after_owner, now, limit, turn_take, t), CAIRN_OK);
}

/* Returns all due claims, in turns of at most `limit` claims. */
static const char *due_now(int64_t now, uint32_t limit)
{
	static char all[2048];
	struct turn t = {.owner = -1};
	size_t len = 0;
	all[0] = '\0';
	for (unsigned turns = 0; turns < 20; turns++) {
		turn_at(&t, t.owner, now, limit);
		if (t.owner < 0)
			return all;
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s", t.text);
	}
	ck_abort_msg("turns without an end");
	return NULL;
}

/* Records outcomes of all due claims: the SHA-256 of each file is its number, repeated; or the file cannot be read. */
static void record_all(bool unread)
{
	struct turn t = {.owner = -1};
	for (;;) {
		turn_at(&t, -1, NOW, 16);
		if (t.owner < 0)
			return;
		char *rest = t.text;
		for (uint32_t i = 0; i < t.n; i++) {
			unsigned number = (unsigned)strtoul(rest, NULL, 10);
			memset(t.outcomes[i].proof, (int)number, sizeof(t.outcomes[i].proof));
			t.outcomes[i].is_unread = unread;
			rest = strchr(rest, ';') + 1;
		}
		struct cairn_index_record_outcomes record = {.outcomes = t.outcomes, .n = t.n, .again_unix_s = LATER};
		ck_assert_int_eq(cairn_index_record_outcomes(ix, &record), CAIRN_OK);
	}
}

static void claims_are(uint64_t n_due, uint64_t n_false)
{
	struct cairn_index_claims claims;
	ck_assert_int_eq(cairn_index_claims(ix, &claims), CAIRN_OK);
	ck_assert_uint_eq(claims.n_due, n_due);
	ck_assert_uint_eq(claims.n_false, n_false);
	ck_assert(n_due > 0 ? claims.due_bytes > 0 : claims.due_bytes == 0);
}

START_TEST(owners_take_turns)
{
	ck_assert(claim("ann", 1, 1));
	ck_assert(claim("bob", 5, 5));
	ck_assert(claim("ann", 2, 2));
	ck_assert(claim("ann", 3, 3));
	ck_assert(claim("", 4, 4));
	ck_assert(claim("bob", 6, 0)); /* without a claim there is nothing to prove */
	ck_assert_str_eq(due_now(NOW, 16), "4  4;1 ann 1;2 ann 2;3 ann 3;5 bob 5;");
	ck_assert_str_eq(due_now(NOW, 2), "4  4;1 ann 1;2 ann 2;5 bob 5;");
	ck_assert_str_eq(due_now(-1, 16), "");
	claims_are(5, 0);
	record_all(false);
	ck_assert_str_eq(due_now(NOW, 16), "");
	claims_are(0, 0);
}
END_TEST

START_TEST(an_unreadable_claim_is_put_off)
{
	enum cairn_index_belief belief = CAIRN_INDEX_FALSE;
	ck_assert(claim("ann", 1, 1));
	record_all(true);
	ck_assert_str_eq(due_now(NOW, 16), "");
	claims_are(1, 0);
	ck_assert_uint_eq(found("ann", 1, &belief), 1);
	ck_assert_int_eq(belief, CAIRN_INDEX_SAID);
	ck_assert_str_eq(due_now(LATER, 16), "1 ann 1;");
	ck_assert_str_eq(due_now(NOW - 1, 16), "1 ann 1;"); /* the clock was ahead before */
}
END_TEST

START_TEST(a_true_claim_is_proved)
{
	enum cairn_index_belief belief = CAIRN_INDEX_FALSE;
	ck_assert(claim("ann", 1, 1));
	ck_assert_uint_eq(found("ann", 1, &belief), 1);
	ck_assert_int_eq(belief, CAIRN_INDEX_SAID);
	record_all(false);
	ck_assert_uint_eq(found("ann", 1, &belief), 1);
	ck_assert_int_eq(belief, CAIRN_INDEX_PROVED);
	ck_assert(!claim("ann", 1, 1));
	ck_assert_str_eq(due_now(NOW, 16), ""); /* it is due only once */
}
END_TEST

struct told {
	char text[512];
};

static void told_lie(void *ctx, const struct cairn_index_lie *lie)
{
	struct told *t = ctx;
	size_t len = strlen(t->text);
	(void)snprintf(t->text + len, sizeof(t->text) - len, "%u %s %x=%x;", number_of(&lie->file), lie->owner,
		       lie->said[0], lie->proof[0]);
}

struct last_lie {
	struct told *told;
	struct cairn_index_lie lie;
	char owner[CAIRN_INDEX_SCOPE_TEXT_MAX + 1];
};

static void told_last_lie(void *ctx, const struct cairn_index_lie *lie)
{
	struct last_lie *last = ctx;
	told_lie(last->told, lie);
	last->lie = *lie;
	(void)snprintf(last->owner, sizeof(last->owner), "%s", lie->owner);
}

static void lies_are(uint32_t limit, const char *text)
{
	struct told t = {.text = ""};
	bool more;
	ck_assert_int_eq(cairn_index_each_lie(ix, NULL, limit, told_lie, &t, &more), CAIRN_OK);
	ck_assert_str_eq(t.text, text);
}

/* Does what lies_are() does, reading one row at a time. */
static void lies_by_one_are(const char *text)
{
	struct told t = {.text = ""};
	struct cairn_index_lie after = {0};
	char owner[CAIRN_INDEX_SCOPE_TEXT_MAX + 1] = "";
	bool more = true;
	for (bool first = true; more; first = false) {
		struct last_lie last = {.told = &t};
		ck_assert_int_eq(cairn_index_each_lie(ix, first ? NULL : &after, 1, told_last_lie, &last, &more),
				 CAIRN_OK);
		memcpy(owner, last.owner, sizeof(owner));
		after = last.lie;
		after.owner = owner;
	}
	ck_assert_str_eq(t.text, text);
}

static void told_owned(void *ctx, const struct cairn_index_owned *file)
{
	struct told *t = ctx;
	size_t len = strlen(t->text);
	(void)snprintf(t->text + len, sizeof(t->text) - len, "%u %s ", number_of(&file->hash), file->owner);
	len = strlen(t->text);
	if (file->has_sha256)
		(void)snprintf(t->text + len, sizeof(t->text) - len, "%x/%d;", file->sha256[0], (int)file->belief);
	else
		(void)snprintf(t->text + len, sizeof(t->text) - len, "-;");
}

static void owned_are(const char *owner, const char *text)
{
	struct told t = {.text = ""};
	bool more;
	const struct cairn_index_owned_after from = {.hash = NULL};
	ck_assert_int_eq(cairn_index_each_owned(ix, owner, &from, 0, told_owned, &t, &more), CAIRN_OK);
	ck_assert_str_eq(t.text, text);
}

static void matches_are(const char *owner, enum cairn_index_match match, const uint8_t name[static 32],
			const char *text)
{
	struct told t = {.text = ""};
	bool more;
	ck_assert_int_eq(cairn_index_each_match(ix, owner, match, name, 16, told_owned, &t, &more), CAIRN_OK);
	ck_assert_str_eq(t.text, text);
}

START_TEST(a_false_claim_answers_nobody)
{
	uint8_t said[32];
	memset(said, 9, sizeof(said));
	struct cairn_hash file = fx_hash("file", 1);
	ck_assert(claim("mallory", 1, 9));
	owned_are("mallory", "1 mallory 9/2;");
	matches_are("mallory", CAIRN_INDEX_MATCH_SHA256, said, "1 mallory 9/2;");
	record_all(false);
	ck_assert_uint_eq(found("mallory", 9, NULL), 0);
	ck_assert_uint_eq(found("mallory", 1, NULL), 0); /* nobody claimed this */
	ck_assert(fx_sees(ix, "mallory", 1));
	owned_are("mallory", "1 mallory -;");
	owned_are(NULL, "1 mallory -;");
	for (unsigned all = 0; all < 2; all++) {
		const char *owner = all ? NULL : "mallory";
		matches_are(owner, CAIRN_INDEX_MATCH_SHA256, said, "");
		matches_are(owner, CAIRN_INDEX_MATCH_FILE, file.b, "1 mallory -;");
		matches_are(owner, CAIRN_INDEX_MATCH_XORB, a.hash.b, "1 mallory -;");
	}
	lies_are(16, "1 mallory 9=1;");
	claims_are(0, 1);
	/* repeating a false claim changes nothing, and the file is not read again */
	ck_assert(!claim("mallory", 1, 9));
	ck_assert_uint_eq(found("mallory", 9, NULL), 0);
	ck_assert_str_eq(due_now(NOW, 16), "");
	/* A true claim is accepted. */
	ck_assert(claim("mallory", 1, 1));
	ck_assert_uint_eq(found("mallory", 1, NULL), 1);
	owned_are("mallory", "1 mallory 1/2;");
	owned_are(NULL, "1 mallory 1/2;");
	record_all(false);
	owned_are(NULL, "1 mallory 1/3;");
}
END_TEST

START_TEST(false_claims_are_listed_a_page_after_the_other)
{
	ck_assert(claim("mallory", 1, 9));
	ck_assert(claim("mallory", 1, 8));
	ck_assert(claim("ann", 1, 9));
	ck_assert(claim("", 2, 9));
	ck_assert(claim("bob", 3, 7));
	record_all(false);
	static const char ALL[] = "3 bob 7=3;2  9=2;1 ann 9=1;1 mallory 8=1;1 mallory 9=1;";
	lies_are(16, ALL);
	lies_are(5, ALL);
	lies_are(2, "3 bob 7=3;2  9=2;");
	lies_by_one_are(ALL);
}
END_TEST

START_TEST(the_operators_false_claim_answers_nobody)
{
	ck_assert(claim("", 1, 9));
	ck_assert_uint_eq(found("ann", 9, NULL), 1);
	ck_assert_uint_eq(found(NULL, 9, NULL), 1);
	record_all(false);
	ck_assert_uint_eq(found("ann", 9, NULL), 0);
	ck_assert_uint_eq(found(NULL, 9, NULL), 0);
}
END_TEST

/* Reading a file for one owner decides no claim of another owner: each claim has its own turn. */
START_TEST(each_claim_has_its_turn)
{
	enum cairn_index_belief belief = CAIRN_INDEX_FALSE;
	ck_assert(claim("ann", 1, 1));
	record_all(false);
	ck_assert(claim("mallory", 1, 9));
	ck_assert(claim("bob", 1, 1));
	ck_assert_uint_eq(found("mallory", 9, &belief), 1);
	ck_assert_int_eq(belief, CAIRN_INDEX_SAID);
	ck_assert_uint_eq(found("bob", 1, &belief), 1);
	ck_assert_int_eq(belief, CAIRN_INDEX_SAID);
	ck_assert_str_eq(due_now(NOW, 16), "1 mallory 9=1;1 bob 1=1;");
	record_all(false);
	lies_are(16, "1 mallory 9=1;");
	ck_assert_uint_eq(found("bob", 1, &belief), 1);
	ck_assert_int_eq(belief, CAIRN_INDEX_PROVED);
}
END_TEST

START_TEST(proved_claims_go_before_said_ones)
{
	ck_assert(claim("ann", 7, 7));
	record_all(false);
	ck_assert(claim("ann", 8, 7));
	ck_assert_uint_eq(found("ann", 7, NULL), 7);
	ck_assert(claim("bob", 7, 7));
	ck_assert(claim("bob", 8, 7));
	ck_assert_uint_eq(found("bob", 7, NULL), 8); /* bob claimed both files */
}
END_TEST

START_TEST(lies_leave_room_for_the_truth)
{
	for (unsigned i = 0; i < CAIRN_INDEX_CLAIMS_MAX; i++)
		ck_assert(claim("ann", 1, (uint8_t)(50 + i)));
	ck_assert(!claim("ann", 1, 1));
	record_all(false);
	ck_assert(claim("ann", 1, 1));
	ck_assert_uint_eq(found("ann", 1, NULL), 1);
	/* the number of new claims is limited */
	unsigned n = CAIRN_INDEX_CLAIMS_MAX;
	while (claim("ann", 1, (uint8_t)(50 + n))) {
		record_all(false);
		n++;
	}
	ck_assert_uint_eq(n, CAIRN_INDEX_LIES_MAX);
	ck_assert(claim("bob", 1, 50));
}
END_TEST

START_TEST(a_proof_goes_with_its_file)
{
	struct cairn_index_forget_file forget = {.hash = fx_hash("file", 1)};
	struct turn t;
	ck_assert(claim("ann", 1, 9));
	turn_at(&t, -1, NOW, 16);
	record_all(false);
	ck_assert_int_eq(cairn_index_forget_file(ix, &forget), CAIRN_OK);
	lies_are(16, "");
	claims_are(0, 0);
	ck_assert(claim("ann", 1, 9));
	ck_assert_str_eq(due_now(NOW, 16), "1 ann 9;");
	/* a verdict on the former file does not apply to this one */
	memset(t.outcomes[0].proof, 9, sizeof(t.outcomes[0].proof));
	struct cairn_index_record_outcomes record = {.outcomes = t.outcomes, .n = 1};
	ck_assert_int_eq(cairn_index_record_outcomes(ix, &record), CAIRN_OK);
	ck_assert_str_eq(due_now(NOW, 16), "1 ann 9;");
}
END_TEST

/* After a failover the new server can assign numbers again that were lost with the old one. */
START_TEST(an_outcome_belongs_to_the_file_not_to_its_number)
{
	struct turn t;
	ck_assert(claim("ann", 1, 9));
	turn_at(&t, -1, NOW, 16);
	t.outcomes[0].file = fx_hash("file", 2);
	memset(t.outcomes[0].proof, 7, sizeof(t.outcomes[0].proof));
	struct cairn_index_record_outcomes record = {.outcomes = t.outcomes, .n = 1, .again_unix_s = LATER};
	ck_assert_int_eq(cairn_index_record_outcomes(ix, &record), CAIRN_OK);
	ck_assert_str_eq(due_now(NOW, 16), "1 ann 9;");
	t.outcomes[0].is_unread = true;
	ck_assert_int_eq(cairn_index_record_outcomes(ix, &record), CAIRN_OK);
	ck_assert_str_eq(due_now(NOW, 16), "1 ann 9;");
	lies_are(16, "");
}
END_TEST

/* --- proofs by the daemon ----------------------------------------------------------------------------------------- */

static enum cairn_status prove(const char *owner, unsigned number)
{
	struct cairn_index_prove_file request = {.hash = fx_hash("file", number), .owner = owner};
	memset(request.sha256, (int)number, sizeof(request.sha256));
	return cairn_index_prove_file(ix, &request);
}

START_TEST(a_file_hashed_here_is_proved)
{
	enum cairn_index_belief belief = CAIRN_INDEX_FALSE;
	for (unsigned i = 0; i < CAIRN_INDEX_CLAIMS_MAX; i++)
		ck_assert(claim("ann", 1, (uint8_t)(50 + i)));
	ck_assert_int_eq(prove("ann", 1), CAIRN_OK);
	ck_assert_uint_eq(found("ann", 1, &belief), 1);
	ck_assert_int_eq(belief, CAIRN_INDEX_PROVED);
	ck_assert_int_eq(prove("ann", 1), CAIRN_OK);
	ck_assert(claim("ann", 2, 2));
	ck_assert_int_eq(prove("ann", 2), CAIRN_OK);
	ck_assert(claim("ann", 3, 0));
	ck_assert_int_eq(prove("ann", 3), CAIRN_OK);
	owned_are("ann", "3 ann 3/3;1 ann 1/3;2 ann 2/3;");
	ck_assert_str_eq(due_now(NOW, 16), "1 ann 32=1;1 ann 33=1;1 ann 34=1;1 ann 35=1;");
	ck_assert_int_eq(prove("bob", 1), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(prove("ann", 9), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(it_outlasts_the_index)
{
	ck_assert(claim("ann", 1, 9));
	ck_assert(claim("ann", 2, 2));
	record_all(false);
	ck_assert(claim("ann", 3, 3));
	cairn_index_free(ix);
	ix = fx_open(folder.path);
	lies_are(16, "1 ann 9=1;");
	ck_assert_uint_eq(found("ann", 9, NULL), 0);
	ck_assert_str_eq(due_now(NOW, 16), "3 ann 3;");
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_proof_contract");
	TCase *t = tcase_create("proof");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, owners_take_turns);
	tcase_add_test(t, an_unreadable_claim_is_put_off);
	tcase_add_test(t, a_true_claim_is_proved);
	tcase_add_test(t, a_false_claim_answers_nobody);
	tcase_add_test(t, false_claims_are_listed_a_page_after_the_other);
	tcase_add_test(t, the_operators_false_claim_answers_nobody);
	tcase_add_test(t, each_claim_has_its_turn);
	tcase_add_test(t, proved_claims_go_before_said_ones);
	tcase_add_test(t, lies_leave_room_for_the_truth);
	tcase_add_test(t, a_proof_goes_with_its_file);
	tcase_add_test(t, an_outcome_belongs_to_the_file_not_to_its_number);
	tcase_add_test(t, a_file_hashed_here_is_proved);
	tcase_add_test(t, it_outlasts_the_index);
	suite_add_tcase(s, t);
	return run_suite(s);
}
