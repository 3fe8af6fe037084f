/* Rows of mirrored repositories: namespaces, aliases, and contents whose bytes come later. */
#include "index/hub/alias.h"
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include <check.h>
#include <inttypes.h>
#include <string.h>

static struct cairn_index_operation absent(const char *path, const char *text)
{
	struct cairn_index_operation o = {.kind = CAIRN_INDEX_PUT_ABSENT, .path = path, .size_bytes = strlen(text)};
	ck_assert_int_eq(cairn_git_blob(&o.oid, text, strlen(text)), CAIRN_OK);
	return o;
}

static struct cairn_index_operation absent_file(const char *path, uint64_t number, uint64_t size_bytes)
{
	struct cairn_index_operation o = hx_put_file(path, number);
	o.kind = CAIRN_INDEX_PUT_ABSENT;
	o.has_pointer = true;
	o.size_bytes = size_bytes;
	return o;
}

/* Makes a repository whose first commit has the id 0x11… and these files. */
static int64_t mirrored(const char *name, const struct cairn_index_operation *operations, uint32_t n)
{
	struct cairn_git_oid id;
	memset(id.b, 0x11, sizeof(id.b));
	struct cairn_index_add_account account = {
		.kind = CAIRN_INDEX_ORGANISATION, .name = "Far", .fullname = "", .email = "", .is_mirrored = true};
	ck_assert_int_eq(cairn_index_add_account(hx_index, &account), CAIRN_OK);
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_MODEL,
					   .account = account.id,
					   .name = name,
					   .first = HX_MESSAGE,
					   .first_id = &id,
					   .operations = operations,
					   .n = n};
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	struct cairn_index_commit head = hx_head(add.id, "main");
	ck_assert_mem_eq(head.oid.b, id.b, sizeof(id.b));
	return add.id;
}

static struct cairn_index_entry entry_of(int64_t repo, const char *path)
{
	struct cairn_index_commit head = hx_head(repo, "main");
	struct cairn_index_entry entry;
	ck_assert(hx_is_there(&head, path, &entry));
	return entry;
}

static enum cairn_status fill(int64_t repo, const char *path, const char *text)
{
	struct cairn_index_fill_content request = {.repo = repo,
						   .content = entry_of(repo, path).content,
						   .bytes = (const uint8_t *)text,
						   .len = strlen(text)};
	return cairn_index_fill_content(hx_index, &request);
}

static enum cairn_status fill_file(int64_t repo, const char *path, uint64_t number)
{
	struct cairn_index_fill_content request = {.repo = repo, .content = entry_of(repo, path).content};
	memcpy(request.sha256, hx_put_file(path, number).sha256, sizeof(request.sha256));
	return cairn_index_fill_content(hx_index, &request);
}

START_TEST(a_namespace_says_that_it_is_mirrored)
{
	struct cairn_index_account account;
	struct cairn_index_repo repo;
	const struct cairn_index_operation o = absent("a", "text");
	(void)mirrored("model", &o, 1);
	ck_assert_int_eq(cairn_index_account(hx_index, "far", &account), CAIRN_OK);
	ck_assert(account.is_mirrored);
	ck_assert_int_eq(cairn_index_account(hx_index, "ann", &account), CAIRN_OK);
	ck_assert(!account.is_mirrored);
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "FAR", "Model", &repo), CAIRN_OK);
	ck_assert(repo.is_mirrored);
	(void)hx_model("own");
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "own", &repo), CAIRN_OK);
	ck_assert(!repo.is_mirrored);
}
END_TEST

START_TEST(a_text_comes_later)
{
	const struct cairn_index_operation two[] = {absent("a", "text"), absent("b/empty", "")};
	int64_t repo = mirrored("model", two, 2);
	struct cairn_index_entry entry = entry_of(repo, "a");
	struct cairn_index_commit head = hx_head(repo, "main");
	ck_assert_uint_eq(head.bytes, 4);
	ck_assert(entry.is_absent && entry.kind == CAIRN_INDEX_INLINE);
	ck_assert_uint_eq(entry.size_bytes, 4);
	ck_assert_mem_eq(entry.oid.b, two[0].oid.b, sizeof(entry.oid.b));
	ck_assert_int_eq(fill(repo, "a", "longer"), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(fill(repo, "a", "text"), CAIRN_OK);
	ck_assert_int_eq(fill(repo, "a", "next"), CAIRN_OK); /* bytes that are there stay */
	ck_assert_int_eq(fill(repo, "b/empty", ""), CAIRN_OK);
	hx_text_is(&head, "a", "text");
	hx_text_is(&head, "b/empty", "");
	entry = entry_of(repo, "a");
	ck_assert(!entry.is_absent);
	struct cairn_index_fill_content other = {
		.repo = repo + 1, .content = entry.content, .bytes = (const uint8_t *)"text", .len = 4};
	ck_assert_int_eq(cairn_index_fill_content(hx_index, &other), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(a_file_of_the_store_comes_later)
{
	const struct cairn_index_operation one = absent("own", "");
	int64_t repo = mirrored("model", &one, 1);
	hx_uploaded(7, hx_owner_of(repo));
	struct cairn_index_operation stored = hx_put_file("stored", 7);
	ck_assert(hx_committed_one(repo, "main", stored));
	uint64_t size_bytes = entry_of(repo, "stored").size_bytes;
	struct cairn_index_operation plain = absent("plain", "");
	plain.size_bytes = size_bytes;
	memset(plain.oid.b, 0x22, sizeof(plain.oid.b));
	const struct cairn_index_operation two[] = {absent_file("pointed", 7, size_bytes), plain};
	ck_assert(hx_committed(repo, "main", two, 2));
	struct cairn_index_entry entry = entry_of(repo, "pointed");
	ck_assert(entry.is_absent && entry.kind == CAIRN_INDEX_XET && !entry.has_file);
	ck_assert_mem_eq(entry.oid.b, entry_of(repo, "stored").oid.b, sizeof(entry.oid.b));
	ck_assert_int_eq(fill_file(repo, "pointed", 8), CAIRN_E_NOT_FOUND); /* was not uploaded */
	ck_assert_int_eq(fill_file(repo, "pointed", 7), CAIRN_OK);
	ck_assert_int_eq(fill_file(repo, "plain", 7), CAIRN_OK);
	entry = entry_of(repo, "pointed");
	ck_assert(!entry.is_absent && entry.has_file);
	entry = entry_of(repo, "plain");
	ck_assert(!entry.is_absent && entry.has_file && entry.kind == CAIRN_INDEX_PLAIN);
	ck_assert_mem_eq(entry.file.b, entry_of(repo, "stored").file.b, sizeof(entry.file.b));
	ck_assert_mem_eq(entry.oid.b, plain.oid.b, sizeof(entry.oid.b));
}
END_TEST

START_TEST(a_new_commit_keeps_bytes_that_are_here)
{
	const struct cairn_index_operation two[] = {absent("a", "text"), absent("b", "old")};
	int64_t repo = mirrored("model", two, 2);
	ck_assert_int_eq(fill(repo, "a", "text"), CAIRN_OK);
	ck_assert_int_eq(fill(repo, "b", "old"), CAIRN_OK);
	const struct cairn_index_operation next[] = {absent("a", "text"), absent("b", "new"), absent("c", "more")};
	ck_assert(hx_committed(repo, "main", next, 3));
	ck_assert(!entry_of(repo, "a").is_absent);
	ck_assert(entry_of(repo, "b").is_absent && entry_of(repo, "c").is_absent);
	struct cairn_index_commit head = hx_head(repo, "main");
	hx_text_is(&head, "a", "text");
	ck_assert_uint_eq(head.bytes, 11);
	ck_assert(!hx_committed(repo, "main", next, 3));
}
END_TEST

START_TEST(an_alias_is_kept_and_replaced)
{
	char target[CAIRN_INDEX_ALIAS_MAX + 1];
	struct cairn_index_add_alias add = {.kind = CAIRN_INDEX_MODEL, .name = "gpt2", .target = "old/gpt2"};
	ck_assert_int_eq(cairn_index_alias(hx_index, CAIRN_INDEX_MODEL, "gpt2", target), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_add_alias(hx_index, &add), CAIRN_OK);
	struct cairn_index_add_alias again = {
		.kind = CAIRN_INDEX_MODEL, .name = "GPT2", .target = "openai-community/gpt2"};
	ck_assert_int_eq(cairn_index_add_alias(hx_index, &again), CAIRN_OK);
	ck_assert_int_eq(cairn_index_alias(hx_index, CAIRN_INDEX_MODEL, "Gpt2", target), CAIRN_OK);
	ck_assert_str_eq(target, "openai-community/gpt2");
	ck_assert_int_eq(cairn_index_alias(hx_index, CAIRN_INDEX_DATASET, "gpt2", target), CAIRN_E_NOT_FOUND);
	struct cairn_index_add_alias bad = {.kind = CAIRN_INDEX_MODEL, .name = "", .target = "a/b"};
	ck_assert_int_eq(cairn_index_add_alias(hx_index, &bad), CAIRN_E_CONFLICT);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_mirrored_contract");
	TCase *t = tcase_create("mirrored");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, a_namespace_says_that_it_is_mirrored);
	tcase_add_test(t, a_text_comes_later);
	tcase_add_test(t, a_file_of_the_store_comes_later);
	tcase_add_test(t, a_new_commit_keeps_bytes_that_are_here);
	tcase_add_test(t, an_alias_is_kept_and_replaced);
	suite_add_tcase(s, t);
	return run_suite(s);
}
