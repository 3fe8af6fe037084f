/* Owners' claims about their files, and lists of these files. */
#include "support/shard_fixture.h"

#include "index/refer.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* Registers file `number` under an owner who claims that its SHA-256 is 32 times `digit`. @return true: it was new */
static bool claim(const char *owner, unsigned number, uint8_t digit)
{
	static uint64_t bodies = 1000;
	struct fx_shard s;
	fx_shard_init(&s, bodies++);
	s.owner = owner;
	struct fx_file *file = fx_shard_file(&s, number, &fx_a, number, 20);
	file->file.has_sha256 = true;
	memset(file->file.sha256, digit, sizeof(file->file.sha256));
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
	return s.added;
}

/* Returns the number of the file that a viewer finds, below 10; 0: none. */
static unsigned found(const char *viewer, uint8_t digit)
{
	uint8_t digest[32];
	struct cairn_index_file got;
	memset(digest, digit, sizeof(digest));
	enum cairn_status status = cairn_index_file_by_sha256(fx_index, digest, viewer, &got);
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
	/* everybody finds the operator's file, unless they have claimed one themselves */
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
	ck_assert(!claim("ann", 1, 0x77)); /* the file is registered, but the claim is not kept */
	ck_assert_uint_eq(found("ann", 0x77), 0);
	for (unsigned i = 0; i < CAIRN_INDEX_CLAIMS_MAX; i++)
		ck_assert_uint_eq(found("ann", (uint8_t)i), 1);
	/* claims of another file or of another owner count separately */
	ck_assert(claim("ann", 2, 0x77));
	ck_assert(claim("", 1, 0x77));
	ck_assert_uint_eq(found("ann", 0x77), 2);
	ck_assert_uint_eq(found("mallory", 0x77), 1);
}
END_TEST

static bool share(const char *owner)
{
	struct cairn_index_share_file request = {.hash = fx_hash("file", 1), .owner = owner};
	ck_assert_int_eq(cairn_index_share_file(fx_index, &request), CAIRN_OK);
	return request.shared;
}

static bool forget(const char *owner)
{
	struct cairn_index_forget_file request = {.hash = fx_hash("file", 1), .owner = owner};
	ck_assert_int_eq(cairn_index_forget_file(fx_index, &request), CAIRN_OK);
	return request.forgotten;
}

START_TEST(a_claim_goes_with_its_owner)
{
	ck_assert(claim("mallory", 1, 1));
	ck_assert(claim("ann", 1, 1));
	ck_assert(share("bob"));
	ck_assert_uint_eq(found("bob", 1), 0); /* sharing the file does not share the claim */
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
	ck_assert_int_eq(cairn_index_each_owned(fx_index, owner, after, limit, listed_take, out, more), CAIRN_OK);
}

/* Adds a file of 1, 2 or 3 bytes, whose hash begins with that number. @return true: it was new */
static bool listed_put(const char *owner, unsigned number, unsigned sha)
{
	static uint64_t bodies = 2000;
	struct fx_shard s;
	fx_shard_init(&s, bodies++);
	s.owner = owner;
	fx_shard_xorb(&s, &fx_a, 0);
	struct fx_file *file = fx_shard_file(&s, number, &fx_a, 0, number);
	memset(&file->file.hash, (int)number, sizeof(file->file.hash));
	file->file.size_bytes = number;
	file->file.has_sha256 = sha != 0;
	memset(file->file.sha256, (int)sha, sizeof(file->file.sha256));
	ck_assert_int_eq(fx_shard_put(fx_index, &s), CAIRN_OK);
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
	ck_assert_str_eq(l.text, "1 ann/cat -;3 ann/cat 5;"); /* in order of hashes, without bob's claim */
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
	listed_page("ann", &begin, 10, &l, &more); /* this owner does not exist */
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

/* A list shows a file once, whatever its owner claims about it later. */
START_TEST(a_list_shows_a_file_once_after_a_later_claim)
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
	ck_assert_int_eq(cairn_index_forget_file(fx_index, &forget), CAIRN_OK);
	ck_assert(forget.forgotten);
	listed_page(NULL, &begin, 10, &l, &more);
	ck_assert_str_eq(l.text, "");
}
END_TEST

static void match_is(const char *owner, enum cairn_index_match match, const uint8_t *name, uint32_t limit,
		     const char *text, bool more)
{
	struct listed l = {{0}};
	bool got_more;
	ck_assert_int_eq(cairn_index_each_match(fx_index, owner, match, name, limit, listed_take, &l, &got_more),
			 CAIRN_OK);
	ck_assert_str_eq(l.text, text);
	ck_assert_int_eq(got_more, more);
}

START_TEST(files_are_found_by_hash_sha256_and_xorb)
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
	match_is(NULL, CAIRN_INDEX_MATCH_XORB, fx_a.hash.b, 10, "1 ann/cat -;1 bob/dog 7;2 - 9;3 ann/cat 7;", false);
	match_is("ann/cat", CAIRN_INDEX_MATCH_XORB, fx_a.hash.b, 10, "1 ann/cat -;3 ann/cat 7;", false);
	match_is("ann/cat", CAIRN_INDEX_MATCH_XORB, fx_a.hash.b, 1, "1 ann/cat -;", true);
	match_is("carl/none", CAIRN_INDEX_MATCH_XORB, fx_a.hash.b, 10, "", false);
	for (int match = 0; match < CAIRN_INDEX_MATCHES; match++) {
		match_is(NULL, (enum cairn_index_match)match, nothing, 10, "", false);
		match_is("ann/cat", (enum cairn_index_match)match, nothing, 10, "", false);
	}
}
END_TEST

int main(int argc, char **argv)
{
	TCase *t = sx_tests();
	tcase_add_test(t, a_claim_is_its_owners);
	tcase_add_test(t, of_several_files_the_newest);
	tcase_add_test(t, few_claims_for_a_file);
	tcase_add_test(t, a_claim_goes_with_its_owner);
	tcase_add_test(t, files_of_an_owner_by_their_hashes);
	tcase_add_test(t, files_of_all_owners);
	tcase_add_test(t, a_list_shows_a_file_once_after_a_later_claim);
	tcase_add_test(t, files_are_found_by_hash_sha256_and_xorb);
	return sx_run(argc, argv, "index_owned_contract", t);
}
