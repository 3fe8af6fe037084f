/* How a mirror reads the pages of a tree. */
#include "mirror/hub/ask_tree.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define OID    "0123456789abcdef0123456789abcdef01234567"
#define SHA256 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct mirror_tree tree;
static struct cairn_diag diag;

static void forget(void)
{
	mirror_tree_fini(&tree);
}

/* Reads a page. @return the rule of the refusal; "": none */
static const char *read_page(const char *link, const char *body)
{
	struct mirror_call call = {.code = 200, .body = cairn_buf_init(MIRROR_TREE_BYTES_MAX)};
	(void)snprintf(call.link, sizeof(call.link), "%s", link);
	cairn_buf_add(&call.body, body, strlen(body));
	cairn_diag_clear(&diag);
	enum cairn_status status = mirror_read_tree(&tree, &call, &diag);
	mirror_call_fini(&call);
	ck_assert_int_eq(status == CAIRN_OK, !diag.rule);
	return diag.rule ? diag.rule : "";
}

static const char *next_of(const char *link)
{
	mirror_tree_fini(&tree);
	ck_assert_str_eq(read_page(link, "[{\"type\":\"directory\",\"path\":\"x\",\"size\":0,\"oid\":\"" OID "\"}]"),
			 "");
	ck_assert_uint_eq(tree.n, 0);
	return tree.next;
}

START_TEST(files)
{
	ck_assert_str_eq(read_page("", "[{\"type\":\"file\",\"path\":\"a\",\"size\":3,\"oid\":\"" OID "\",\"more\":[]},"
				       "{\"type\":\"directory\",\"path\":\"b\",\"size\":0,\"oid\":\"" OID "\"},"
				       "{\"type\":\"file\",\"path\":\"b/c\",\"size\":9000000000,\"oid\":\"" OID
				       "\",\"lfs\":{\"oid\":\"" SHA256 "\",\"size\":9000000000}}]"),
			 "");
	ck_assert_uint_eq(tree.n, 2);
	ck_assert_str_eq(tree.all[0].path, "a");
	ck_assert(!tree.all[0].has_pointer && tree.all[0].size_bytes == 3 && tree.all[0].oid.b[1] == 0x23);
	ck_assert(tree.all[1].has_pointer && tree.all[1].size_bytes == 9000000000 && tree.all[1].sha256[31] == 0xef);
	ck_assert_str_eq(read_page("", "[]"), "");
	ck_assert_uint_eq(tree.n, 2);
}
END_TEST

START_TEST(pages_go_on)
{
	ck_assert_str_eq(next_of("<https://hub/api/models/a/b/tree/x?cursor=1%3D>; rel=\"next\""),
			 "/api/models/a/b/tree/x?cursor=1%3D");
	ck_assert_str_eq(next_of("</api/x>; rel=\"next\""), "/api/x");
	ck_assert_str_eq(next_of(""), "");
	ck_assert_str_eq(next_of("<https://hub/api/x>; rel=\"prev\""), "");
	ck_assert_str_eq(next_of("<https://hub/other>; rel=\"next\""), "");
	ck_assert_str_eq(next_of("<https://hub/api/ x>; rel=\"next\""), "");
	ck_assert_str_eq(next_of("https://hub/api/x>; rel=\"next\""), "");
	ck_assert_str_eq(next_of("<https://hub/api/x; rel=\"next\""), "");
	ck_assert_str_eq(next_of("<https://>/api/x; rel=\"next\""), "");
}
END_TEST

/* The reader gives up if the pages of an upstream lead to each other without end. */
START_TEST(endless_pages_are_refused)
{
	static const char PAGE[] = "[{\"type\":\"directory\",\"path\":\"x\",\"size\":0,\"oid\":\"" OID "\"}]";
	for (unsigned i = 0; i < MIRROR_TREE_PAGES_MAX; i++)
		ck_assert_str_eq(read_page("</api/x>; rel=\"next\"", PAGE), "");
	ck_assert_str_eq(read_page("</api/x>; rel=\"next\"", PAGE), "mirror.tree");
}
END_TEST

START_TEST(malformed_trees_are_refused)
{
	static const char *const ALL[] = {
		"",
		"{}",
		"[1]",
		"[{}]",
		"[{\"type\":\"file\",\"size\":1,\"oid\":\"" OID "\"}]",
		"[{\"type\":\"file\",\"path\":\"a\",\"oid\":\"" OID "\"}]",
		"[{\"type\":\"file\",\"path\":\"a\",\"size\":-1,\"oid\":\"" OID "\"}]",
		"[{\"type\":\"file\",\"path\":\"a\",\"size\":9000000000000000000,\"oid\":\"" OID "\"}]",
		"[{\"type\":\"file\",\"path\":\"a\",\"size\":1,\"oid\":\"0123\"}]",
		"[{\"type\":\"file\",\"path\":\"a\",\"size\":1}]",
		"[{\"type\":\"link\",\"path\":\"a\",\"size\":1,\"oid\":\"" OID "\"}]",
		"[{\"type\":\"file\",\"path\":\"a\",\"size\":1,\"oid\":\"" OID "\",\"lfs\":{}}]",
		"[{\"type\":\"file\",\"path\":\"a\",\"size\":1,\"oid\":\"" OID "\",\"lfs\":{\"oid\":\"0123\"}}]",
	};
	for (size_t i = 0; i < sizeof(ALL) / sizeof(ALL[0]); i++)
		ck_assert_msg(strcmp(read_page("", ALL[i]), "mirror.answer") == 0, "%s", ALL[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ask_tree");
	TCase *tcase = tcase_create("ask_tree");
	tcase_add_checked_fixture(tcase, NULL, forget);
	tcase_add_test(tcase, files);
	tcase_add_test(tcase, pages_go_on);
	tcase_add_test(tcase, endless_pages_are_refused);
	tcase_add_test(tcase, malformed_trees_are_refused);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
