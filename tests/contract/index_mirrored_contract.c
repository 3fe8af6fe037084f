/* Rows of mirrored repositories: namespaces, aliases, and contents whose bytes come later. index_places_contract.c has
 * the places of chunks. */
#include "base/clock.h"
#include "index/daemon/lease.h"
#include "index/hub/alias.h"
#include "index/hub/mirror_files.h"
#include "index/hub/mirror_list.h"
#include "index/hub/mirror_state.h"
#include "index/hub/parts.h"
#include "index/operate.h"
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
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

/* Makes a repository of an account, whose first commit has the id 0x11… and these files. */
static int64_t mirrored_by(int64_t account, const char *name, const struct cairn_index_operation *operations,
			   uint32_t n)
{
	struct cairn_git_oid id;
	memset(id.b, 0x11, sizeof(id.b));
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_MODEL,
					   .account = account,
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

/* Does the same for a new account of the mirrored hub. */
static int64_t mirrored(const char *name, const struct cairn_index_operation *operations, uint32_t n)
{
	return mirrored_by(hx_add_mirrored(hx_index), name, operations, n);
}

/* Does the same for the account that mirrored() made. */
static int64_t mirrored_too(const char *name, const struct cairn_index_operation *operations, uint32_t n)
{
	struct cairn_index_account far;
	ck_assert_int_eq(cairn_index_account(hx_index, "far", &far), CAIRN_OK);
	return mirrored_by(far.id, name, operations, n);
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
	ck_assert_int_eq(fill(repo, "a", "next"), CAIRN_OK); /* stored bytes stay */
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
	ck_assert_int_eq(fill_file(repo, "pointed", 8), CAIRN_E_NOT_FOUND); /* this file was not uploaded */
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

static enum cairn_status find_absent(int64_t repo, uint64_t number, struct cairn_index_absent *out)
{
	return cairn_index_find_absent(hx_index, repo, hx_put_file("any", number).sha256, out);
}

START_TEST(an_absent_file_is_found_by_its_sha256)
{
	const struct cairn_index_operation two[] = {absent_file("deep/er/a.bin", 7, 4096),
						    absent_file("top.bin", 8, 5)};
	int64_t repo = mirrored("model", two, 2);
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
	ck_assert(hx_committed_one(repo, "main", absent_file("b.bin", 7, 4096)));
	struct cairn_index_commit second = hx_head(repo, "main");
	ck_assert_int_eq(find_absent(repo, 7, &file), CAIRN_OK);
	ck_assert_str_eq(file.path, "b.bin");
	ck_assert_mem_eq(file.commit.b, second.oid.b, sizeof(file.commit.b));
	/* a commit that leaves the file as it is changes nothing */
	ck_assert(hx_committed_one(repo, "main", absent_file("top.bin", 9, 5)));
	ck_assert_int_eq(find_absent(repo, 7, &file), CAIRN_OK);
	ck_assert_mem_eq(file.commit.b, second.oid.b, sizeof(file.commit.b));
}
END_TEST

START_TEST(a_file_that_came_is_not_absent)
{
	const struct cairn_index_operation one = absent("own", "");
	int64_t repo = mirrored("model", &one, 1);
	struct cairn_index_absent file;
	hx_uploaded(7, hx_owner_of(repo));
	ck_assert(hx_committed_one(repo, "main", hx_put_file("stored", 7)));
	uint64_t size_bytes = entry_of(repo, "stored").size_bytes;
	ck_assert_int_eq(find_absent(repo, 7, &file), CAIRN_E_NOT_FOUND); /* uploaded, not mirrored */
	ck_assert(hx_committed_one(repo, "main", absent_file("pointed", 7, size_bytes)));
	ck_assert_int_eq(find_absent(repo, 7, &file), CAIRN_OK);
	ck_assert_int_eq(fill_file(repo, "pointed", 7), CAIRN_OK);
	ck_assert_int_eq(find_absent(repo, 7, &file), CAIRN_E_NOT_FOUND);
	/* an evicted file is absent again */
	struct cairn_index_forget_file forget = {.hash = entry_of(repo, "pointed").file, .owner = hx_owner_of(repo)};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &forget), CAIRN_OK);
	ck_assert_int_eq(find_absent(repo, 7, &file), CAIRN_OK);
	ck_assert_str_eq(file.path, "pointed");
}
END_TEST

/* Uploads a file without a SHA-256. @return its hash */
static struct cairn_hash uploaded_part(int64_t repo, uint64_t number)
{
	struct fx_shard s;
	struct fx_xorb x = fx_xorb_new(number, 4);
	(void)fx_xorb_put(hx_index, &x);
	fx_shard_init(&s, number);
	s.owner = hx_owner_of(repo);
	fx_shard_xorb(&s, &x, 0);
	const struct fx_file *file = fx_shard_file(&s, number, &x, 0, 4);
	struct cairn_hash hash = file->file.hash;
	ck_assert_int_eq(fx_shard_put(hx_index, &s), CAIRN_OK);
	fx_xorb_fini(&x);
	return hash;
}

static enum cairn_status add_part(int64_t repo, int64_t content, uint64_t first, struct cairn_hash file)
{
	struct cairn_index_add_part add = {.repo = repo, .content = content, .first = first, .file = file};
	return cairn_index_add_part(hx_index, &add);
}

static uint64_t parts_end(int64_t content)
{
	uint64_t end;
	ck_assert_int_eq(cairn_index_parts_end(hx_index, content, &end), CAIRN_OK);
	return end;
}

/* Makes a repository with an absent file "long", whose parts are files 1, 2 and 3. @return the length of each part */
static uint64_t in_parts(int64_t *repo, int64_t *content)
{
	const struct cairn_index_operation o = absent_file("long", 7, 4096);
	struct cairn_index_part part;
	*repo = mirrored("model", &o, 1);
	*content = entry_of(*repo, "long").content;
	ck_assert_uint_eq(parts_end(*content), 0);
	ck_assert_int_eq(cairn_index_part(hx_index, *content, 0, &part), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(add_part(*repo, *content, 0, uploaded_part(*repo, 1)), CAIRN_OK);
	uint64_t len = parts_end(*content);
	ck_assert_uint_gt(len, 0);
	ck_assert_int_eq(add_part(*repo, *content, len, uploaded_part(*repo, 2)), CAIRN_OK);
	ck_assert_int_eq(add_part(*repo, *content, 2 * len, uploaded_part(*repo, 3)), CAIRN_OK);
	ck_assert_uint_eq(parts_end(*content), 3 * len);
	return len;
}

static void sees_parts(int64_t repo, bool first, bool second, bool third)
{
	const char *owner = hx_owner_of(repo);
	ck_assert(fx_sees(hx_index, owner, 1) == first && fx_sees(hx_index, owner, 2) == second &&
		  fx_sees(hx_index, owner, 3) == third);
}

START_TEST(parts_are_found_by_their_bytes)
{
	int64_t repo, content;
	struct cairn_index_part part;
	uint64_t len = in_parts(&repo, &content);
	const uint64_t at[] = {0, len - 1, len, 3 * len, 1 << 30}, number[] = {1, 1, 2, 3, 3};
	for (unsigned i = 0; i < 5; i++) {
		struct cairn_hash file = uploaded_part(repo, number[i]);
		ck_assert_int_eq(cairn_index_part(hx_index, content, at[i], &part), CAIRN_OK);
		ck_assert_uint_eq(part.first, (number[i] - 1) * len);
		ck_assert_uint_eq(part.end, part.first + len);
		ck_assert(cairn_hash_equal(&part.file, &file));
	}
	ck_assert_int_eq(add_part(repo, content + 1, 0, part.file), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(add_part(repo + 1, content, 0, part.file), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(add_part(repo, content, 0, fx_hash("file", 99)), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(parts_end(content), 3 * len);
}
END_TEST

/* A sweep keeps the files of parts, however old they are, and removes files that no longer are parts. */
START_TEST(a_sweep_keeps_parts)
{
	int64_t repo, content;
	uint64_t len = in_parts(&repo, &content);
	hx_sweep_all(-3600);
	sees_parts(repo, true, true, true);
	(void)uploaded_part(repo, 4); /* a part that has come, but has no row */
	hx_sweep_all(3600);
	ck_assert(fx_sees(hx_index, hx_owner_of(repo), 4));
	hx_sweep_all(-3600);
	ck_assert(!fx_sees(hx_index, hx_owner_of(repo), 4));
	/* another second part replaces all parts from the second on */
	ck_assert_int_eq(add_part(repo, content, len, uploaded_part(repo, 5)), CAIRN_OK);
	ck_assert_uint_eq(parts_end(content), 2 * len);
	hx_sweep_all(3600);
	sees_parts(repo, true, false, false);
	ck_assert(fx_sees(hx_index, hx_owner_of(repo), 5));
	struct cairn_index_drop_parts drop = {.repo = repo, .content = content};
	ck_assert_int_eq(cairn_index_drop_parts(hx_index, &drop), CAIRN_OK);
	ck_assert_int_eq(cairn_index_drop_parts(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(parts_end(content), 0);
	hx_sweep_all(3600);
	sees_parts(repo, false, false, false);
}
END_TEST

/* The content's number may belong to another content by now. */
START_TEST(parts_stay_when_another_repository_drops_them)
{
	int64_t repo, content;
	uint64_t len = in_parts(&repo, &content);
	struct cairn_index_drop_parts drop = {.repo = hx_model("other"), .content = content};
	(void)uploaded_part(drop.repo, 1);
	ck_assert_int_eq(cairn_index_drop_parts(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(parts_end(content), 3 * len);
	sees_parts(repo, true, true, true);
}
END_TEST

static struct cairn_index_idle_parts idle;
static unsigned n_idle;

static void note_idle(void *ctx, const struct cairn_index_idle_parts *parts)
{
	(void)ctx;
	idle = *parts;
	n_idle++;
}

static unsigned idle_before(int64_t unix_s)
{
	n_idle = 0;
	ck_assert_int_eq(cairn_index_each_idle_parts(hx_index, unix_s, 10, note_idle, NULL), CAIRN_OK);
	return n_idle;
}

START_TEST(parts_to_which_none_was_added_for_long_are_found)
{
	int64_t repo, content, now = cairn_clock_unix_s();
	ck_assert_uint_eq(idle_before(now + 100), 0);
	uint64_t len = in_parts(&repo, &content);
	ck_assert_uint_eq(idle_before(now - 1), 0);
	ck_assert_uint_eq(idle_before(now + 100), 1);
	ck_assert_int_eq(idle.repo, repo);
	ck_assert_int_eq(idle.content, content);
	ck_assert_uint_eq(idle.bytes, 3 * len);
}
END_TEST

START_TEST(parts_go_when_the_whole_is_here)
{
	int64_t repo, content;
	(void)in_parts(&repo, &content);
	hx_uploaded(7, hx_owner_of(repo));
	struct cairn_index_operation stored = hx_put_file("stored", 7);
	ck_assert(hx_committed_one(repo, "main", stored));
	const struct cairn_index_operation again = absent_file("long", 7, entry_of(repo, "stored").size_bytes);
	ck_assert(hx_committed_one(repo, "main", again));
	content = entry_of(repo, "long").content;
	ck_assert_int_eq(add_part(repo, content, 0, uploaded_part(repo, 8)), CAIRN_OK);
	ck_assert_int_eq(fill_file(repo, "long", 7), CAIRN_OK);
	ck_assert_uint_eq(parts_end(content), 0);
	ck_assert_int_eq(add_part(repo, content, 0, uploaded_part(repo, 9)),
			 CAIRN_OK); /* a write of another daemon, which comes too late */
	ck_assert_uint_eq(parts_end(content), 0);
	hx_sweep_all(3600);
	ck_assert(!fx_sees(hx_index, hx_owner_of(repo), 8) && fx_sees(hx_index, hx_owner_of(repo), 7));
}
END_TEST

START_TEST(parts_go_with_their_content)
{
	int64_t repo, content;
	(void)in_parts(&repo, &content);
	ck_assert(hx_committed_one(repo, "main", hx_drop("long")));
	struct cairn_index_squash squash = {
		.repo = repo, .kind = CAIRN_INDEX_BRANCH, .name = "main", .message = HX_MESSAGE};
	ck_assert_int_eq(cairn_index_squash(hx_index, &squash), CAIRN_OK);
	hx_sweep_all(-3600);
	ck_assert_uint_eq(parts_end(content), 0);
	sees_parts(repo, false, false, false);
}
END_TEST

START_TEST(parts_go_with_their_repository)
{
	int64_t repo, content;
	(void)in_parts(&repo, &content);
	struct cairn_index_drop_repo drop = {.id = repo};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	hx_sweep_all(3600);
	ck_assert_uint_eq(parts_end(content), 0);
	ck_assert(!fx_sees(hx_index, NULL, 1) && !fx_sees(hx_index, NULL, 2) && !fx_sees(hx_index, NULL, 3));
}
END_TEST

/* postgres_daemons_contract.c has the leases of daemons that share an index. */
START_TEST(a_single_daemon_fetches_without_a_lease)
{
	int64_t repo, content;
	struct cairn_diag diag = {0};
	struct cairn_index_lease one, two;
	struct cairn_index_fetch fetch;
	(void)in_parts(&repo, &content);
	ck_assert_int_eq(cairn_index_take_fetch(hx_index, content, &one, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_index_take_fetch(hx_index, content, &two, &diag), CAIRN_OK);
	ck_assert(one.fence == 0 && two.fence == 0 && one.content == content);
	ck_assert_int_eq(cairn_index_fetch(hx_index, repo, content, &fetch), CAIRN_OK);
	ck_assert(!fetch.is_taken && !fetch.is_here);
	struct cairn_index_drop_parts drop = {.write.lease = &one, .repo = repo, .content = content};
	ck_assert_int_eq(cairn_index_drop_parts(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(parts_end(content), 0);
	cairn_index_leave_lease(hx_index, &one);
	cairn_index_leave_lease(hx_index, &two);
}
END_TEST

/* Parts that follow a forgotten file do not count. */
START_TEST(a_forgotten_part_leaves_a_gap)
{
	int64_t repo, content;
	uint64_t len = in_parts(&repo, &content);
	struct cairn_index_forget_file one = {.hash = uploaded_part(repo, 2), .owner = hx_owner_of(repo)};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &one), CAIRN_OK);
	ck_assert(one.forgotten);
	ck_assert_uint_eq(parts_end(content), len);
	struct cairn_index_forget_file first = {.hash = uploaded_part(repo, 1)};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &first), CAIRN_OK);
	ck_assert_uint_eq(parts_end(content), 0);
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

static bool leads(const char *name)
{
	char target[CAIRN_INDEX_ALIAS_MAX + 1];
	return cairn_index_alias(hx_index, CAIRN_INDEX_MODEL, name, target) == CAIRN_OK;
}

static int64_t dropped_aliases(const char *account, const char *name)
{
	struct cairn_index_drop_aliases drop = {.kind = CAIRN_INDEX_MODEL, .account = account, .name = name};
	ck_assert_int_eq(cairn_index_drop_aliases(hx_index, &drop), CAIRN_OK);
	return drop.n_dropped;
}

START_TEST(aliases_of_a_repository_or_a_namespace_are_forgotten)
{
	static const char *const ALIASES[][2] = {{"model", "far/model"}, {"old/model", "Far/Model"},
						 {"next", "far/model2"}, {"far/former", "else/where"},
						 {"other", "fa/model"},  {"more", "far0/model"}};
	for (size_t i = 0; i < sizeof(ALIASES) / sizeof(ALIASES[0]); i++) {
		struct cairn_index_add_alias add = {
			.kind = CAIRN_INDEX_MODEL, .name = ALIASES[i][0], .target = ALIASES[i][1]};
		ck_assert_int_eq(cairn_index_add_alias(hx_index, &add), CAIRN_OK);
	}
	ck_assert_int_eq(dropped_aliases("FAR", "model"), 2);
	ck_assert(!leads("model") && !leads("old/model") && leads("next") && leads("far/former"));
	ck_assert_int_eq(dropped_aliases("far", "model"), 0);
	ck_assert_int_eq(dropped_aliases("Far", NULL), 2);
	ck_assert(!leads("next") && !leads("far/former") && leads("other") && leads("more"));
}
END_TEST

static enum cairn_status drop_namespace(const char *name)
{
	struct cairn_index_drop_namespace drop = {.name = name};
	return cairn_index_drop_namespace(hx_index, &drop);
}

static void count_accounts(void *ctx, const struct cairn_index_account *account)
{
	ck_assert_ptr_null(strchr(account->name, '/'));
	++*(unsigned *)ctx;
}

static unsigned n_accounts(void)
{
	unsigned n = 0;
	int64_t next = 0;
	ck_assert_int_eq(cairn_index_each_account(hx_index, 0, 0, count_accounts, &n, &next), CAIRN_OK);
	return n;
}

START_TEST(a_namespace_is_given_up)
{
	const struct cairn_index_operation o = absent("a", "text");
	struct cairn_index_account account, own;
	int64_t repo = mirrored("model", &o, 1);
	unsigned n = n_accounts();
	ck_assert_int_eq(cairn_index_account(hx_index, "far", &account), CAIRN_OK);
	ck_assert_int_eq(drop_namespace("nobody"), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(drop_namespace("ann"), CAIRN_E_NOT_FOUND); /* "ann" is an account of this server */
	ck_assert_int_eq(drop_namespace("far"), CAIRN_E_CONFLICT);
	struct cairn_index_drop_repo drop = {.id = repo};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_int_eq(drop_namespace("FAR"), CAIRN_OK);
	ck_assert_int_eq(drop_namespace("far"), CAIRN_E_NOT_FOUND);
	ck_assert_uint_eq(n_accounts(), n - 1);
	struct cairn_index_add_account add = {.kind = CAIRN_INDEX_USER, .name = "far", .fullname = "", .email = ""};
	ck_assert_int_eq(cairn_index_add_account(hx_index, &add), CAIRN_OK);
	ck_assert_int_eq(cairn_index_account(hx_index, "far", &own), CAIRN_OK);
	ck_assert(!own.is_mirrored && own.id != account.id);
	/* the mirror found the namespace before, and now makes a repository */
	struct cairn_index_add_repo late = {.kind = CAIRN_INDEX_MODEL,
					    .account = account.id,
					    .name = "late",
					    .first = HX_MESSAGE,
					    .operations = &o,
					    .n = 1};
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &late), CAIRN_E_CONFLICT);
	late.account = own.id;
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &late), CAIRN_OK);
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

static void use(int64_t content, int64_t day)
{
	struct cairn_index_use_content request = {.content = content, .day = day};
	ck_assert_int_eq(cairn_index_use_content(hx_index, &request), CAIRN_OK);
}

/* Adds a file of the store whose bytes have come. */
static void add_file(int64_t repo, const char *path, uint64_t number)
{
	hx_uploaded(number, hx_owner_of(repo));
	struct cairn_index_operation stored = hx_put_file("stored", number);
	ck_assert(hx_committed_one(repo, "main", stored));
	struct cairn_index_operation o = absent_file(path, number, entry_of(repo, "stored").size_bytes);
	ck_assert(hx_committed(repo, "main", &o, 1));
	ck_assert_int_eq(fill_file(repo, path, number), CAIRN_OK);
}

/* Makes a mirrored repository with a text and two files of the store. All their bytes have come. */
static int64_t mirrored_with_files(void)
{
	const struct cairn_index_operation text = absent("text", "text");
	int64_t repo = mirrored("model", &text, 1);
	add_file(repo, "one", 7);
	add_file(repo, "two", 8);
	ck_assert_int_eq(fill(repo, "text", "text"), CAIRN_OK);
	return repo;
}

START_TEST(files_that_nobody_read_lately_may_be_evicted)
{
	int64_t repo = mirrored_with_files(), never = INT64_MAX;
	int64_t one = entry_of(repo, "one").content, two = entry_of(repo, "two").content;
	uint64_t bytes, n_files;
	ck_assert_int_eq(cairn_index_mirror_sum(hx_index, &bytes, &n_files), CAIRN_OK);
	ck_assert_uint_eq(n_files, 2);
	ck_assert_uint_ge(bytes, entry_of(repo, "one").size_bytes + entry_of(repo, "two").size_bytes);
	struct evictables files = evictable(never);
	ck_assert_uint_eq(files.n, 2);
	int64_t today = files.file[0].day;
	ck_assert_int_gt(today, 20000);
	use(one, today + 1);
	use(one, today); /* earlier than the noted time */
	files = evictable(never);
	ck_assert_int_eq(files.file[0].content, two);
	ck_assert_int_eq(files.file[1].content, one);
	ck_assert_int_eq(files.file[1].day, today + 1);
	ck_assert_int_eq(files.file[0].repo, repo);
	ck_assert_uint_eq(files.file[0].size_bytes, entry_of(repo, "two").size_bytes);
	ck_assert_mem_eq(files.file[0].file.b, entry_of(repo, "two").file.b, sizeof(files.file[0].file.b));
	ck_assert_uint_eq(evictable(today + 1).n, 1);
	ck_assert_uint_eq(evictable(today).n, 0);
}
END_TEST

START_TEST(a_file_that_somebody_else_has_is_not_evicted)
{
	int64_t repo = mirrored_with_files();
	hx_uploaded(7, "ann");
	struct evictables files = evictable(INT64_MAX);
	ck_assert_uint_eq(files.n, 1);
	ck_assert_int_eq(files.file[0].content, entry_of(repo, "two").content);
}
END_TEST

START_TEST(an_evicted_file_is_absent)
{
	int64_t repo = mirrored_with_files(), content = entry_of(repo, "one").content;
	struct cairn_index_forget_file forget = {.hash = entry_of(repo, "one").file, .owner = hx_owner_of(repo)};
	uint64_t before, after, n_files;
	ck_assert_int_eq(cairn_index_mirror_sum(hx_index, &before, &n_files), CAIRN_OK);
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &forget), CAIRN_OK);
	ck_assert(forget.forgotten);
	struct cairn_index_entry entry = entry_of(repo, "one");
	ck_assert(entry.is_absent && entry.content == content);
	ck_assert_uint_eq(evictable(INT64_MAX).n, 1);
	struct cairn_index_forget_use drop = {.content = content};
	ck_assert_int_eq(cairn_index_forget_use(hx_index, &drop), CAIRN_OK);
	use(content, 30000); /* the content has no file */
	ck_assert_int_eq(cairn_index_mirror_sum(hx_index, &after, &n_files), CAIRN_OK);
	ck_assert_uint_eq(n_files, 1);
	ck_assert_uint_le(after + entry.size_bytes, before);
}
END_TEST

START_TEST(a_file_that_comes_again_while_it_is_evicted_may_be_evicted)
{
	int64_t repo = mirrored_with_files(), content = entry_of(repo, "one").content;
	struct cairn_index_forget_file forget = {.hash = entry_of(repo, "one").file, .owner = hx_owner_of(repo)};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &forget), CAIRN_OK);
	hx_uploaded(7, hx_owner_of(repo));
	ck_assert_int_eq(fill_file(repo, "one", 7), CAIRN_OK);
	struct cairn_index_forget_use drop = {.content = content};
	ck_assert_int_eq(cairn_index_forget_use(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(evictable(INT64_MAX).n, 2);
}
END_TEST

static enum cairn_status set_state(int64_t repo, enum cairn_index_mirror_state state, int64_t looked_unix_s)
{
	struct cairn_index_set_mirror_state set = {.repo = repo, .state = state, .looked_unix_s = looked_unix_s};
	return cairn_index_set_mirror_state(hx_index, &set);
}

START_TEST(a_state_is_kept_and_replaced)
{
	enum cairn_index_mirror_state state;
	int64_t looked;
	const struct cairn_index_operation o = absent("a", "text");
	int64_t repo = mirrored("model", &o, 1);
	ck_assert_int_eq(cairn_index_mirror_state(hx_index, repo, &state, &looked), CAIRN_OK);
	ck_assert(state == CAIRN_INDEX_MIRROR_THERE && looked == 0);
	ck_assert_int_eq(set_state(repo, CAIRN_INDEX_MIRROR_GONE, 7), CAIRN_OK);
	ck_assert_int_eq(set_state(repo, CAIRN_INDEX_MIRROR_DISABLED, 8), CAIRN_OK);
	ck_assert_int_eq(cairn_index_mirror_state(hx_index, repo, &state, &looked), CAIRN_OK);
	ck_assert(state == CAIRN_INDEX_MIRROR_DISABLED && looked == 8);
	ck_assert_int_eq(set_state(repo + 1000, CAIRN_INDEX_MIRROR_GONE, 7), CAIRN_E_NOT_FOUND);
}
END_TEST

static struct cairn_index_repo repo_named(const char *name)
{
	struct cairn_index_repo repo;
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "far", name, &repo), CAIRN_OK);
	return repo;
}

START_TEST(a_state_comes_with_who_may_read)
{
	enum cairn_index_mirror_state state;
	int64_t looked;
	const struct cairn_index_operation o = absent("a", "text");
	struct cairn_index_set_mirror_state set = {.repo = mirrored("model", &o, 1),
						   .state = CAIRN_INDEX_MIRROR_DISABLED,
						   .looked_unix_s = 7,
						   .sets_access = true,
						   .is_private = true,
						   .gate = CAIRN_INDEX_GATE_MANUAL};
	ck_assert_int_eq(cairn_index_set_mirror_state(hx_index, &set), CAIRN_OK);
	ck_assert(repo_named("model").is_private && repo_named("model").gate == CAIRN_INDEX_GATE_MANUAL);
	ck_assert_int_eq(cairn_index_mirror_state(hx_index, set.repo, &state, &looked), CAIRN_OK);
	ck_assert(state == CAIRN_INDEX_MIRROR_DISABLED && looked == 7);
	ck_assert_int_eq(set_state(set.repo, CAIRN_INDEX_MIRROR_THERE, 8), CAIRN_OK);
	ck_assert(repo_named("model").is_private && repo_named("model").gate == CAIRN_INDEX_GATE_MANUAL);
	set.repo += 1000;
	ck_assert_int_eq(cairn_index_set_mirror_state(hx_index, &set), CAIRN_E_NOT_FOUND);
	ck_assert_str_eq(set.write.diag.rule, "repo.unknown");
}
END_TEST

/* Sets the state and who may read, unless the repository differs from what was seen. */
static enum cairn_status set_seen(int64_t repo, const struct cairn_index_mirror_seen *seen, bool is_private,
				  enum cairn_index_gate gate)
{
	struct cairn_index_set_mirror_state set = {.repo = repo,
						   .seen = seen,
						   .state = is_private ? CAIRN_INDEX_MIRROR_PRIVATE
								       : CAIRN_INDEX_MIRROR_THERE,
						   .looked_unix_s = seen->looked_unix_s,
						   .sets_access = true,
						   .is_private = is_private,
						   .gate = gate};
	return cairn_index_set_mirror_state(hx_index, &set);
}

/* The time of a look-up has whole seconds, so it may be the same for both. */
START_TEST(a_slow_look_opens_nothing_that_was_closed_meanwhile)
{
	const struct cairn_index_operation o = absent("a", "text");
	int64_t repo = mirrored("model", &o, 1);
	const struct cairn_index_mirror_seen open = {.state = CAIRN_INDEX_MIRROR_THERE},
					     closed = {.state = CAIRN_INDEX_MIRROR_PRIVATE, .is_private = true};
	ck_assert_int_eq(set_seen(repo, &open, false, CAIRN_INDEX_GATE_NONE), CAIRN_OK);
	ck_assert_int_eq(set_seen(repo, &open, true, CAIRN_INDEX_GATE_NONE), CAIRN_OK);
	ck_assert_int_eq(set_seen(repo, &open, false, CAIRN_INDEX_GATE_NONE), CAIRN_E_CONFLICT);
	ck_assert(repo_named("model").is_private);
	ck_assert_int_eq(set_seen(repo, &open, true, CAIRN_INDEX_GATE_MANUAL), CAIRN_OK); /* closes it further */
	ck_assert_int_eq(set_seen(repo, &closed, true, CAIRN_INDEX_GATE_NONE), CAIRN_E_CONFLICT);
	ck_assert(repo_named("model").is_private && repo_named("model").gate == CAIRN_INDEX_GATE_MANUAL);
	const struct cairn_index_mirror_seen both = {
		.state = CAIRN_INDEX_MIRROR_PRIVATE, .is_private = true, .gate = CAIRN_INDEX_GATE_MANUAL};
	ck_assert_int_eq(set_seen(repo, &both, false, CAIRN_INDEX_GATE_NONE), CAIRN_OK);
	ck_assert(!repo_named("model").is_private && repo_named("model").gate == CAIRN_INDEX_GATE_NONE);
	ck_assert_int_eq(set_seen(repo + 1000, &open, true, CAIRN_INDEX_GATE_NONE), CAIRN_E_NOT_FOUND);
}
END_TEST

/* A state that closes a repository is not replaced, either, nor is a gate that came without a state. */
START_TEST(a_slow_look_replaces_no_state_or_gate)
{
	const struct cairn_index_operation o = absent("a", "text");
	int64_t repo = mirrored("model", &o, 1);
	const struct cairn_index_mirror_seen open = {.state = CAIRN_INDEX_MIRROR_THERE, .looked_unix_s = 7};
	struct cairn_index_set_mirror_state there = {
		.repo = repo, .seen = &open, .state = CAIRN_INDEX_MIRROR_THERE, .looked_unix_s = 9};
	ck_assert_int_eq(set_state(repo, CAIRN_INDEX_MIRROR_THERE, 8), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_mirror_state(hx_index, &there), CAIRN_OK); /* both say the same */
	ck_assert_int_eq(set_state(repo, CAIRN_INDEX_MIRROR_DISABLED, 8), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_mirror_state(hx_index, &there), CAIRN_E_CONFLICT);
	ck_assert_int_eq(set_state(repo, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	struct cairn_index_set_repo gate = {.id = repo, .gate = CAIRN_INDEX_GATE_MANUAL};
	ck_assert_int_eq(cairn_index_set_repo(hx_index, &gate), CAIRN_OK);
	ck_assert_int_eq(set_seen(repo, &open, false, CAIRN_INDEX_GATE_NONE), CAIRN_E_CONFLICT);
	ck_assert(repo_named("model").gate == CAIRN_INDEX_GATE_MANUAL);
}
END_TEST

/* A large repository is made in pieces. */
START_TEST(a_repository_is_made_with_its_gate)
{
	enum { N = CAIRN_INDEX_OPERATIONS_AT_ONCE + 1, NAME = 8 };
	static struct cairn_index_operation many[N];
	static char names[N][NAME];
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_MODEL,
					   .account = hx_add_mirrored(hx_index),
					   .name = "small",
					   .gate = CAIRN_INDEX_GATE_MANUAL,
					   .first = HX_MESSAGE,
					   .operations = many,
					   .n = 1};
	for (unsigned i = 0; i < N; i++) {
		(void)snprintf(names[i], NAME, "f%05u", i);
		many[i] = absent(names[i], "text");
	}
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	add.name = "large";
	add.n = N;
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	ck_assert(repo_named("small").gate == CAIRN_INDEX_GATE_MANUAL && !repo_named("small").is_private);
	ck_assert(repo_named("large").gate == CAIRN_INDEX_GATE_MANUAL && !repo_named("large").is_private);
}
END_TEST

struct listed {
	struct cairn_index_mirrored all[8];
	unsigned n;
};

static void note_listed(void *ctx, const struct cairn_index_mirrored *mirrored)
{
	struct listed *l = ctx;
	ck_assert_uint_lt(l->n, 8);
	l->all[l->n++] = *mirrored;
}

/* Lists a page of mirrored repositories. @param[in,out] from  where this page begins; then where the next one does */
static struct listed listed(int64_t *from, bool ahead_only, uint32_t limit)
{
	struct listed l = {.n = 0};
	ck_assert_int_eq(cairn_index_each_mirrored(hx_index, *from, ahead_only, limit, note_listed, &l, from),
			 CAIRN_OK);
	return l;
}

static enum cairn_status set_ahead(int64_t repo, int64_t every_s, bool keeps, const char *include)
{
	struct cairn_index_set_ahead set = {.repo = repo, .ahead = {.every_s = every_s, .keeps = keeps}};
	memcpy(set.ahead.include, include, strlen(include) + 1);
	return cairn_index_set_ahead(hx_index, &set);
}

START_TEST(mirrored_repositories_are_listed)
{
	struct cairn_index_mirrored one;
	const struct cairn_index_operation o = absent("a", "text");
	int64_t first = mirrored("model", &o, 1), own = hx_model("own"), from = 0;
	struct cairn_index_account far;
	ck_assert_int_eq(cairn_index_account(hx_index, "far", &far), CAIRN_OK);
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_DATASET,
					   .account = far.id,
					   .name = "words",
					   .first = HX_MESSAGE,
					   .operations = &o,
					   .n = 1};
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	ck_assert_uint_eq(listed(&from, false, 8).n, 0);
	const int64_t all[] = {first, own, add.id};
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(set_state(all[i], CAIRN_INDEX_MIRROR_THERE, 7 + i), CAIRN_OK);
	struct listed page = listed(&from, false, 1);
	ck_assert(page.n == 1 && page.all[0].repo.id == first && from == first);
	page = listed(&from, false, 8);
	ck_assert(page.n == 1 && page.all[0].repo.id == add.id && from == 0);
	ck_assert_str_eq(page.all[0].repo.account_name, "Far");
	ck_assert_str_eq(page.all[0].repo.name, "words");
	ck_assert(page.all[0].looked_unix_s == 9 && page.all[0].repo.is_mirrored && page.all[0].repo.n_files == 1);
	ck_assert_uint_gt(page.all[0].stored_bytes, 0);
	ck_assert_int_eq(cairn_index_mirrored(hx_index, first, &one), CAIRN_OK);
	ck_assert(one.looked_unix_s == 7 && one.ahead.every_s == 0 && !one.ahead.keeps && !one.ahead.include[0]);
	ck_assert_int_eq(cairn_index_mirrored(hx_index, own, &one), CAIRN_E_NOT_FOUND);
	struct cairn_index_drop_repo drop = {.id = first};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_int_eq(cairn_index_mirrored(hx_index, first, &one), CAIRN_E_NOT_FOUND);
	from = 0;
	ck_assert_uint_eq(listed(&from, false, 8).n, 1);
}
END_TEST

static struct listed top(enum cairn_index_top order, uint32_t limit)
{
	struct listed l = {.n = 0};
	ck_assert_int_eq(cairn_index_each_top(hx_index, order, limit, note_listed, &l), CAIRN_OK);
	return l;
}

START_TEST(the_largest_and_the_oldest_are_found)
{
	const struct cairn_index_operation o = absent("a", "text");
	int64_t large = mirrored_with_files(), none_here = mirrored_too("words", &o, 1), own = hx_model("own");
	int64_t one = entry_of(large, "one").content, two = entry_of(large, "two").content;
	const int64_t all[] = {large, none_here, own};
	ck_assert_uint_eq(top(CAIRN_INDEX_TOP_LARGEST, 8).n, 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(set_state(all[i], CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	struct listed best = top(CAIRN_INDEX_TOP_LARGEST, 8);
	ck_assert(best.n == 2 && best.all[0].repo.id == large && best.all[1].repo.id == none_here);
	ck_assert_uint_gt(best.all[0].stored_bytes, best.all[1].stored_bytes);
	ck_assert_uint_eq(top(CAIRN_INDEX_TOP_LARGEST, 1).n, 1);
	ck_assert_uint_eq(top(CAIRN_INDEX_TOP_OLDEST, 8).n, 0); /* no file was read since the state was set */
	use(one, 40000);
	use(two, 40002);
	use(two, 40001);
	best = top(CAIRN_INDEX_TOP_OLDEST, 8);
	ck_assert(best.n == 1 && best.all[0].repo.id == large && best.all[0].used_day == 40002);
	struct cairn_index_forget_file forget = {.hash = entry_of(large, "two").file, .owner = hx_owner_of(large)};
	struct cairn_index_forget_use drop = {.content = two};
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &forget), CAIRN_OK);
	ck_assert_int_eq(cairn_index_forget_use(hx_index, &drop), CAIRN_OK);
	ck_assert_int_eq(top(CAIRN_INDEX_TOP_OLDEST, 8).all[0].used_day, 40000);
	forget.hash = entry_of(large, "one").file;
	drop.content = one;
	ck_assert_int_eq(cairn_index_forget_file(hx_index, &forget), CAIRN_OK);
	ck_assert_int_eq(cairn_index_forget_use(hx_index, &drop), CAIRN_OK);
	ck_assert_uint_eq(top(CAIRN_INDEX_TOP_OLDEST, 8).n, 0);
	struct cairn_index_drop_repo gone = {.id = large};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &gone), CAIRN_OK);
	best = top(CAIRN_INDEX_TOP_LARGEST, 8);
	ck_assert(best.n == 1 && best.all[0].repo.id == none_here);
}
END_TEST

START_TEST(the_oldest_come_in_the_order_of_their_days)
{
	const struct cairn_index_operation text = absent("text", "text");
	int64_t first = mirrored_with_files(), second = mirrored_too("words", &text, 1);
	ck_assert_int_eq(set_state(first, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	ck_assert_int_eq(set_state(second, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	add_file(second, "three", 9);
	use(entry_of(first, "one").content, 40002);
	struct listed best = top(CAIRN_INDEX_TOP_OLDEST, 8);
	ck_assert(best.n == 2 && best.all[0].repo.id == second && best.all[1].repo.id == first);
	use(entry_of(second, "three").content, 40003);
	best = top(CAIRN_INDEX_TOP_OLDEST, 1);
	ck_assert(best.n == 1 && best.all[0].repo.id == first);
}
END_TEST

START_TEST(idle_parts_of_a_kept_repository_stay)
{
	int64_t repo, content, later = cairn_clock_unix_s() + 100;
	(void)in_parts(&repo, &content);
	ck_assert_int_eq(set_state(repo, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	ck_assert_uint_eq(idle_before(later), 1);
	ck_assert_int_eq(set_ahead(repo, CAIRN_INDEX_AHEAD_ONCE_S, true, ""), CAIRN_OK);
	ck_assert_uint_eq(idle_before(later), 0);
}
END_TEST

static struct cairn_index_mirrored one_of(int64_t repo)
{
	struct cairn_index_mirrored one;
	ck_assert_int_eq(cairn_index_mirrored(hx_index, repo, &one), CAIRN_OK);
	return one;
}

/* Notes the end of a round. @return whether the note counts */
static bool note_ahead(const struct cairn_index_mirrored *of, int64_t at_unix_s, uint64_t n_failed, const char *rule)
{
	struct cairn_index_note_ahead note = {
		.repo = of->repo.id, .now = {.asked = of->fetched.asked, .at_unix_s = at_unix_s, .n_failed = n_failed}};
	(void)snprintf(note.now.rule, sizeof(note.now.rule), "%s", rule);
	(void)snprintf(note.now.message, sizeof(note.now.message), "%s", rule[0] ? "f\xc3\xbcr" : "");
	ck_assert_int_eq(cairn_index_note_ahead(hx_index, &note), CAIRN_OK);
	return note.is_current;
}

START_TEST(it_is_kept_what_is_fetched_ahead)
{
	static const char INCLUDE[] = "*.json\n@x";
	const struct cairn_index_operation o = absent("a", "text");
	int64_t repo = mirrored("model", &o, 1), from = 0;
	ck_assert_int_eq(set_ahead(repo, 60, true, ""), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(set_state(repo, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	ck_assert_uint_eq(listed(&from, true, 8).n, 0);
	ck_assert_int_eq(set_ahead(repo, CAIRN_INDEX_AHEAD_ONCE_S, true, INCLUDE), CAIRN_OK);
	ck_assert_int_eq(set_state(repo, CAIRN_INDEX_MIRROR_GONE, 8), CAIRN_OK);
	struct cairn_index_mirrored one = listed(&from, true, 8).all[0];
	ck_assert(one.repo.id == repo && one.ahead.keeps && one.ahead.every_s == CAIRN_INDEX_AHEAD_ONCE_S);
	ck_assert_str_eq(one.ahead.include, INCLUDE);
	ck_assert(note_ahead(&one, 77, 0, ""));
	one = one_of(repo);
	ck_assert(one.ahead.every_s == 0 && one.ahead.keeps && one.fetched.at_unix_s == 77);
	ck_assert_uint_eq(listed(&from, true, 8).n, 0);
	ck_assert_int_eq(set_ahead(repo, 60, false, INCLUDE), CAIRN_OK);
	ck_assert_int_eq(one_of(repo).fetched.at_unix_s, 0);
	ck_assert(!note_ahead(&one, 78, 0, "")); /* it was set again since */
	ck_assert_int_eq(one_of(repo).fetched.at_unix_s, 0);
	one = one_of(repo);
	ck_assert(note_ahead(&one, 79, 0, ""));
	ck_assert(one_of(repo).ahead.every_s == 60 && one_of(repo).fetched.at_unix_s == 79);
	ck_assert_uint_eq(listed(&from, true, 8).n, 1); /* it is fetched again and again */
}
END_TEST

START_TEST(it_is_noted_how_fetching_ahead_has_come)
{
	const struct cairn_index_operation o = absent("a", "text");
	int64_t repo = mirrored("model", &o, 1);
	ck_assert_int_eq(set_state(repo, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	ck_assert_int_eq(set_ahead(repo, CAIRN_INDEX_AHEAD_ONCE_S, false, ""), CAIRN_OK);
	struct cairn_index_mirrored one = one_of(repo);
	ck_assert(!one.fetched.is_going && one.fetched.n_failed == 0 && !one.fetched.rule[0]);
	struct cairn_index_note_ahead begin = {.repo = repo, .now = {.asked = one.fetched.asked, .is_going = true}};
	ck_assert_int_eq(cairn_index_note_ahead(hx_index, &begin), CAIRN_OK);
	ck_assert(begin.is_current && one_of(repo).fetched.is_going);
	ck_assert(note_ahead(&one, 0, 3, "mirror.unreachable")); /* it is tried again */
	one = one_of(repo);
	ck_assert(!one.fetched.is_going && one.fetched.n_failed == 3 && one.fetched.at_unix_s == 0);
	ck_assert_str_eq(one.fetched.rule, "mirror.unreachable");
	ck_assert_str_eq(one.fetched.message, "f\xc3\xbcr");
	ck_assert_int_eq(one.ahead.every_s, CAIRN_INDEX_AHEAD_ONCE_S);
	ck_assert_int_eq(set_ahead(repo, 60, false, ""), CAIRN_OK);
	ck_assert(one_of(repo).fetched.n_failed == 0 && !one_of(repo).fetched.rule[0]);
	ck_assert_int_gt(one_of(repo).fetched.asked, one.fetched.asked);
	struct cairn_index_drop_repo drop = {.id = repo};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	begin.repo = repo + 1000;
	ck_assert_int_eq(cairn_index_note_ahead(hx_index, &begin), CAIRN_OK);
	ck_assert(!begin.is_current);
}
END_TEST

START_TEST(only_so_many_repositories_are_fetched_ahead)
{
	const struct cairn_index_operation o = absent("a", "text");
	int64_t first = mirrored("model", &o, 1), second = mirrored_too("words", &o, 1);
	struct cairn_index_set_ahead set = {.repo = second, .ahead.every_s = 60, .n_max = 1};
	ck_assert_int_eq(set_state(first, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	ck_assert_int_eq(set_state(second, CAIRN_INDEX_MIRROR_THERE, 7), CAIRN_OK);
	ck_assert_int_eq(set_ahead(first, 60, false, ""), CAIRN_OK);
	ck_assert_int_eq(cairn_index_set_ahead(hx_index, &set), CAIRN_E_CONFLICT);
	ck_assert_str_eq(set.write.diag.rule, "mirror.ahead");
	ck_assert_int_eq(one_of(second).ahead.every_s, 0);
	set = (struct cairn_index_set_ahead){.repo = first, .ahead.every_s = 90, .n_max = 1};
	ck_assert_int_eq(cairn_index_set_ahead(hx_index, &set), CAIRN_OK);
	struct cairn_index_drop_repo drop = {.id = first};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	set = (struct cairn_index_set_ahead){.repo = second, .ahead.every_s = 60, .n_max = 1};
	ck_assert_int_eq(cairn_index_set_ahead(hx_index, &set), CAIRN_OK);
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
	tcase_add_test(t, an_absent_file_is_found_by_its_sha256);
	tcase_add_test(t, a_file_that_came_is_not_absent);
	tcase_add_test(t, parts_are_found_by_their_bytes);
	tcase_add_test(t, a_sweep_keeps_parts);
	tcase_add_test(t, parts_stay_when_another_repository_drops_them);
	tcase_add_test(t, parts_to_which_none_was_added_for_long_are_found);
	tcase_add_test(t, parts_go_when_the_whole_is_here);
	tcase_add_test(t, parts_go_with_their_content);
	tcase_add_test(t, parts_go_with_their_repository);
	tcase_add_test(t, a_single_daemon_fetches_without_a_lease);
	tcase_add_test(t, a_forgotten_part_leaves_a_gap);
	tcase_add_test(t, an_alias_is_kept_and_replaced);
	tcase_add_test(t, aliases_of_a_repository_or_a_namespace_are_forgotten);
	tcase_add_test(t, a_namespace_is_given_up);
	tcase_add_test(t, files_that_nobody_read_lately_may_be_evicted);
	tcase_add_test(t, a_file_that_somebody_else_has_is_not_evicted);
	tcase_add_test(t, an_evicted_file_is_absent);
	tcase_add_test(t, a_file_that_comes_again_while_it_is_evicted_may_be_evicted);
	tcase_add_test(t, a_state_is_kept_and_replaced);
	tcase_add_test(t, a_state_comes_with_who_may_read);
	tcase_add_test(t, a_slow_look_opens_nothing_that_was_closed_meanwhile);
	tcase_add_test(t, a_slow_look_replaces_no_state_or_gate);
	tcase_add_test(t, a_repository_is_made_with_its_gate);
	tcase_add_test(t, mirrored_repositories_are_listed);
	tcase_add_test(t, the_largest_and_the_oldest_are_found);
	tcase_add_test(t, the_oldest_come_in_the_order_of_their_days);
	tcase_add_test(t, it_is_kept_what_is_fetched_ahead);
	tcase_add_test(t, it_is_noted_how_fetching_ahead_has_come);
	tcase_add_test(t, only_so_many_repositories_are_fetched_ahead);
	tcase_add_test(t, idle_parts_of_a_kept_repository_stay);
	suite_add_tcase(s, t);
	return run_suite(s);
}
