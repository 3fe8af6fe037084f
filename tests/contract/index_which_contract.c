/* Finding out which of several repositories have a file, a xorb, a chunk or a commit. */
#include "index/hub/which.h"
#include "support/history_fixture.h"
#include "support/index_fixture.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static int64_t repos[4];
static struct fx_xorb xorb;

/* Makes four repositories. The second and the third own file 7, and offer its first chunk in scopes of their own. */
static void set_up(void)
{
	static const char *const NAMES[] = {"a", "b", "c", "d"};
	hx_set_up();
	xorb = fx_xorb_new(7, 4);
	(void)fx_xorb_put(hx_index, &xorb);
	for (unsigned i = 0; i < 4; i++)
		repos[i] = hx_model(NAMES[i]);
	for (unsigned i = 1; i < 3; i++) {
		struct fx_shard s;
		fx_shard_init(&s, i);
		s.scope = s.owner = hx_owner_of(repos[i]);
		fx_shard_xorb(&s, &xorb, 1, 0);
		struct fx_file *file = fx_shard_file(&s, 7, &xorb, 0, 4);
		const struct cairn_hash sha256 = fx_hash("sha256", 7);
		file->file.has_sha256 = true;
		memcpy(file->file.sha256, sha256.b, sizeof(file->file.sha256));
		ck_assert_int_eq(fx_shard_put(hx_index, &s), CAIRN_OK);
	}
}

static void tear_down(void)
{
	fx_xorb_fini(&xorb);
	hx_tear_down();
}

static char visited[64];

static void note(void *ctx, uint32_t at)
{
	size_t len = strlen(visited);
	(void)ctx;
	(void)snprintf(visited + len, sizeof(visited) - len, "%u ", at);
}

/* Returns the places of the repositories that have something, in a list of the last n. */
static const char *which(uint32_t n, enum cairn_index_which what, struct cairn_hash hash)
{
	visited[0] = '\0';
	ck_assert_int_eq(cairn_index_which(hx_index, repos + 4 - n, n, what, hash.b, note, NULL), CAIRN_OK);
	return visited;
}

START_TEST(each_kind_is_found)
{
	const struct cairn_hash named[] = {
		[CAIRN_INDEX_WHICH_FILE] = fx_hash("file", 7),
		[CAIRN_INDEX_WHICH_SHA256] = fx_hash("sha256", 7),
		[CAIRN_INDEX_WHICH_XORB] = xorb.hash,
		[CAIRN_INDEX_WHICH_CHUNK] = xorb.list.hashes[0],
	};
	enum cairn_index_which what = (enum cairn_index_which)_i;
	ck_assert_str_eq(which(4, what, named[_i]), "1 2 ");
	ck_assert_str_eq(which(2, what, named[_i]), "0 ");
	ck_assert_str_eq(which(1, what, named[_i]), "");
	ck_assert_str_eq(which(4, what, fx_hash("nothing", 1)), "");
	ck_assert_str_eq(which(0, what, named[_i]), "");
	struct cairn_index_drop_repo drop = {.id = repos[1]};
	ck_assert_int_eq(cairn_index_drop_repo(hx_index, &drop), CAIRN_OK);
	ck_assert_str_eq(which(4, what, named[_i]), "2 ");
}
END_TEST

static const char *which_commit(const char *prefix)
{
	visited[0] = '\0';
	ck_assert_int_eq(cairn_index_which_commit(hx_index, repos, 4, prefix, note, NULL), CAIRN_OK);
	return visited;
}

START_TEST(a_commit_is_found_by_its_first_digits)
{
	char text[CAIRN_GIT_OID_CHARS + 1];
	ck_assert(hx_committed_one(repos[3], "main", hx_put("f", "text")));
	struct cairn_index_commit head = hx_head(repos[3], "main");
	cairn_git_oid_text(text, &head.oid);
	ck_assert_str_eq(which_commit(text), "3 ");
	text[20] = '\0';
	ck_assert_str_eq(which_commit(text), "3 ");
	ck_assert_str_eq(which_commit("no digits"), "");
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_which_contract");
	TCase *t = tcase_create("which");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, each_kind_is_found, 0, CAIRN_INDEX_WHICH_CHUNK + 1);
	tcase_add_test(t, a_commit_is_found_by_its_first_digits);
	suite_add_tcase(s, t);
	return run_suite(s);
}
