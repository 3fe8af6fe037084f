/* Files of mirrored repositories whose bytes come later, and are evicted again. index_places_contract.c has the places
 * of chunks. */
#include "index/hub/mirror_files.h"
#include "index/operate.h"
#include "support/index_mirrored_fixture.h"
#include "support/run.h"

#include <check.h>
#include <string.h>

START_TEST(a_text_comes_later)
{
	const struct cairn_index_operation two[] = {mx_absent("a", "text"), mx_absent("b/empty", "")};
	int64_t repo = mx_mirrored("model", two, 2);
	struct cairn_index_entry entry = mx_entry(repo, "a");
	struct cairn_index_commit head = hx_head(repo, "main");
	ck_assert_uint_eq(head.bytes, 4);
	ck_assert(entry.is_absent && entry.kind == CAIRN_INDEX_INLINE);
	ck_assert_uint_eq(entry.size_bytes, 4);
	ck_assert_mem_eq(entry.oid.b, two[0].oid.b, sizeof(entry.oid.b));
	ck_assert_int_eq(mx_fill(repo, "a", "longer"), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(mx_fill(repo, "a", "text"), CAIRN_OK);
	ck_assert_int_eq(mx_fill(repo, "a", "next"), CAIRN_OK); /* stored bytes stay */
	ck_assert_int_eq(mx_fill(repo, "b/empty", ""), CAIRN_OK);
	hx_text_is(&head, "a", "text");
	hx_text_is(&head, "b/empty", "");
	entry = mx_entry(repo, "a");
	ck_assert(!entry.is_absent);
	struct cairn_index_fill_content other = {
		.repo = repo + 1, .content = entry.content, .bytes = (const uint8_t *)"text", .len = 4};
	ck_assert_int_eq(cairn_index_fill_content(hx_index, &other), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(a_file_of_the_store_comes_later)
{
	const struct cairn_index_operation one = mx_absent("own", "");
	int64_t repo = mx_mirrored("model", &one, 1);
	hx_uploaded(7, hx_owner_of(repo));
	struct cairn_index_operation stored = hx_put_file("stored", 7);
	ck_assert(hx_committed_one(repo, "main", stored));
	uint64_t size_bytes = mx_entry(repo, "stored").size_bytes;
	struct cairn_index_operation plain = mx_absent("plain", "");
	plain.size_bytes = size_bytes;
	memset(plain.oid.b, 0x22, sizeof(plain.oid.b));
	const struct cairn_index_operation two[] = {mx_absent_file("pointed", 7, size_bytes), plain};
	ck_assert(hx_committed(repo, "main", two, 2));
	struct cairn_index_entry entry = mx_entry(repo, "pointed");
	ck_assert(entry.is_absent && entry.kind == CAIRN_INDEX_XET && !entry.has_file);
	ck_assert_mem_eq(entry.oid.b, mx_entry(repo, "stored").oid.b, sizeof(entry.oid.b));
	ck_assert_int_eq(mx_fill_file(repo, "pointed", 8), CAIRN_E_NOT_FOUND); /* this file was not uploaded */
	ck_assert_int_eq(mx_fill_file(repo, "pointed", 7), CAIRN_OK);
	ck_assert_int_eq(mx_fill_file(repo, "plain", 7), CAIRN_OK);
	entry = mx_entry(repo, "pointed");
	ck_assert(!entry.is_absent && entry.has_file);
	entry = mx_entry(repo, "plain");
	ck_assert(!entry.is_absent && entry.has_file && entry.kind == CAIRN_INDEX_PLAIN);
	ck_assert_mem_eq(entry.file.b, mx_entry(repo, "stored").file.b, sizeof(entry.file.b));
	ck_assert_mem_eq(entry.oid.b, plain.oid.b, sizeof(entry.oid.b));
}
END_TEST

START_TEST(a_new_commit_keeps_bytes_that_are_here)
{
	const struct cairn_index_operation two[] = {mx_absent("a", "text"), mx_absent("b", "old")};
	int64_t repo = mx_mirrored("model", two, 2);
	ck_assert_int_eq(mx_fill(repo, "a", "text"), CAIRN_OK);
	ck_assert_int_eq(mx_fill(repo, "b", "old"), CAIRN_OK);
	const struct cairn_index_operation next[] = {mx_absent("a", "text"), mx_absent("b", "new"),
						     mx_absent("c", "more")};
	ck_assert(hx_committed(repo, "main", next, 3));
	ck_assert(!mx_entry(repo, "a").is_absent);
	ck_assert(mx_entry(repo, "b").is_absent && mx_entry(repo, "c").is_absent);
	struct cairn_index_commit head = hx_head(repo, "main");
	hx_text_is(&head, "a", "text");
	ck_assert_uint_eq(head.bytes, 11);
	ck_assert(!hx_committed(repo, "main", next, 3));
}
END_TEST

static enum cairn_status find_absent(int64_t repo, uint64_t number, struct cairn_index_absent *out)
{
	return cairn_index_find_absent(hx_index, repo, hx_put_file("any", number).sha256, out);
}

START_TEST(an_absent_file_is_found_by_its_sha256)
{
	const struct cairn_index_operation two[] = {mx_absent_file("deep/er/a.bin", 7, 4096),
						    mx_absent_file("top.bin", 8, 5)};
	int64_t repo = mx_mirrored("model", two, 2);
	struct cairn_index_commit first = hx_head(repo, "main");
	struct cairn_index_absent file;
	ck_assert_int_eq(find_absent(repo, 7, &file), CAIRN_OK);
	ck_assert_str_eq(file.path, "deep/er/a.bin");
	ck_assert_uint_eq(file.size_bytes, 4096);
	ck_assert_mem_eq(file.commit.b, first.oid.b, sizeof(file.commit.b));
	ck_assert_int_eq(find_absent(repo, 8, &file), CAIRN_OK);
	ck_assert_str_eq(file.path, "top.bin");
	ck_assert_int_eq(find_absent(repo, 9, &file), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(find_absent(repo + 1, 7, &file), CAIRN_E_NOT_FOUND);
	/* a later commit has the file, too, at another path */
	ck_assert(hx_committed_one(repo, "main", mx_absent_file("b.bin", 7, 4096)));
	struct cairn_index_commit second = hx_head(repo, "main");
	ck_assert_int_eq(find_absent(repo, 7, &file), CAIRN_OK);
	ck_assert_str_eq(file.path, "b.bin");
	ck_assert_mem_eq(file.commit.b, second.oid.b, sizeof(file.commit.b));
	/* a commit that leaves the file as it is changes nothing */
	ck_assert(hx_committed_one(repo, "main", mx_absent_file("top.bin", 9, 5)));
	ck_assert_int_eq(find_absent(repo, 7, &file), CAIRN_OK);
	ck_assert_mem_eq(file.commit.b, second.oid.b, sizeof(file.commit.b));
}
END_TEST

START_TEST(a_file_that_came_is_not_absent)
{
	const struct cairn_index_operation one = mx_absent("own", "");
	int64_t repo = mx_mirrored("model", &one, 1);
	struct cairn_index_absent file;
	hx_uploaded(7, hx_owner_of(repo));
	ck_assert(hx_committed_one(repo, "main", hx_put_file("stored", 7)));
	uint64_t size_bytes = mx_entry(repo, "stored").size_bytes;
	ck_assert_int_eq(find_absent(repo, 7, &file), CAIRN_E_NOT_FOUND); /* uploaded, not mirrored */
	ck_assert(hx_committed_one(repo, "main", mx_absent_file("pointed", 7, size_bytes)));
	ck_assert_int_eq(find_absent(repo, 7, &file), CAIRN_OK);
	ck_assert_int_eq(mx_fill_file(repo, "pointed", 7), CAIRN_OK);
	ck_assert_int_eq(find_absent(repo, 7, &file), CAIRN_E_NOT_FOUND);
	/* an evicted file is absent again */
	struct cairn_index_forget_file forget = {.hash = mx_entry(repo, "pointed").file, .owner = hx_owner_of(repo)};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &forget), CAIRN_OK);
	ck_assert_int_eq(find_absent(repo, 7, &file), CAIRN_OK);
	ck_assert_str_eq(file.path, "pointed");
}
END_TEST

struct evictables {
	struct cairn_index_evictable file[8];
	unsigned n;
};

static void note_evictable(void *ctx, const struct cairn_index_evictable *file)
{
	struct evictables *files = ctx;
	ck_assert_uint_lt(files->n, 8);
	files->file[files->n++] = *file;
}

static struct evictables evictable(int64_t before_day)
{
	struct evictables files = {.n = 0};
	const struct cairn_index_evictable start = {.content = 0};
	ck_assert_int_eq(cairn_index_each_evictable(hx_index, &start, before_day, 8, note_evictable, &files), CAIRN_OK);
	return files;
}

START_TEST(files_that_nobody_read_lately_may_be_evicted)
{
	int64_t repo = mx_mirrored_with_files(), never = INT64_MAX;
	int64_t one = mx_entry(repo, "one").content, two = mx_entry(repo, "two").content;
	uint64_t bytes, n_files;
	ck_assert_int_eq(cairn_index_mirror_sum(hx_index, &bytes, &n_files), CAIRN_OK);
	ck_assert_uint_eq(n_files, 2);
	ck_assert_uint_ge(bytes, mx_entry(repo, "one").size_bytes + mx_entry(repo, "two").size_bytes);
	struct evictables files = evictable(never);
	ck_assert_uint_eq(files.n, 2);
	int64_t today = files.file[0].day;
	ck_assert_int_gt(today, 20000);
	mx_use(one, today + 1);
	mx_use(one, today); /* earlier than the noted time */
	files = evictable(never);
	ck_assert_int_eq(files.file[0].content, two);
	ck_assert_int_eq(files.file[1].content, one);
	ck_assert_int_eq(files.file[1].day, today + 1);
	ck_assert_int_eq(files.file[0].repo, repo);
	ck_assert_uint_eq(files.file[0].size_bytes, mx_entry(repo, "two").size_bytes);
	ck_assert_mem_eq(files.file[0].file.b, mx_entry(repo, "two").file.b, sizeof(files.file[0].file.b));
	ck_assert_uint_eq(evictable(today + 1).n, 1);
	ck_assert_uint_eq(evictable(today).n, 0);
}
END_TEST

START_TEST(a_file_that_somebody_else_has_is_not_evicted)
{
	int64_t repo = mx_mirrored_with_files();
	hx_uploaded(7, "ann");
	struct evictables files = evictable(INT64_MAX);
	ck_assert_uint_eq(files.n, 1);
	ck_assert_int_eq(files.file[0].content, mx_entry(repo, "two").content);
}
END_TEST

START_TEST(an_evicted_file_is_absent)
{
	int64_t repo = mx_mirrored_with_files(), content = mx_entry(repo, "one").content;
	struct cairn_index_forget_file forget = {.hash = mx_entry(repo, "one").file, .owner = hx_owner_of(repo)};
	uint64_t before, after, n_files;
	ck_assert_int_eq(cairn_index_mirror_sum(hx_index, &before, &n_files), CAIRN_OK);
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &forget), CAIRN_OK);
	ck_assert(forget.forgotten);
	struct cairn_index_entry entry = mx_entry(repo, "one");
	ck_assert(entry.is_absent && entry.content == content);
	ck_assert_uint_eq(evictable(INT64_MAX).n, 1);
	struct cairn_index_forget_use drop = {.content = content};
	ck_assert_int_eq(cairn_index_forget_use(hx_index, &drop), CAIRN_OK);
	mx_use(content, 30000); /* the content has no file */
	ck_assert_int_eq(cairn_index_mirror_sum(hx_index, &after, &n_files), CAIRN_OK);
	ck_assert_uint_eq(n_files, 1);
	ck_assert_uint_le(after + entry.size_bytes, before);
}
END_TEST

START_TEST(a_file_that_comes_again_while_it_is_evicted_may_be_evicted)
{
	int64_t repo = mx_mirrored_with_files(), content = mx_entry(repo, "one").content;
	struct cairn_index_forget_file forget = {.hash = mx_entry(repo, "one").file, .owner = hx_owner_of(repo)};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &forget), CAIRN_OK);
	hx_uploaded(7, hx_owner_of(repo));
	ck_assert_int_eq(mx_fill_file(repo, "one", 7), CAIRN_OK);
	struct cairn_index_forget_use drop = {.content = content};
	ck_assert_int_eq(cairn_index_forget_use(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(evictable(INT64_MAX).n, 2);
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_mirrored_contract");
	TCase *t = tcase_create("mirrored");
	tcase_add_checked_fixture(t, hx_set_up, hx_tear_down);
	tcase_add_test(t, a_text_comes_later);
	tcase_add_test(t, a_file_of_the_store_comes_later);
	tcase_add_test(t, a_new_commit_keeps_bytes_that_are_here);
	tcase_add_test(t, an_absent_file_is_found_by_its_sha256);
	tcase_add_test(t, a_file_that_came_is_not_absent);
	tcase_add_test(t, files_that_nobody_read_lately_may_be_evicted);
	tcase_add_test(t, a_file_that_somebody_else_has_is_not_evicted);
	tcase_add_test(t, an_evicted_file_is_absent);
	tcase_add_test(t, a_file_that_comes_again_while_it_is_evicted_may_be_evicted);
	suite_add_tcase(s, t);
	return run_suite(s);
}
