/* How a mirror reads the answers of an upstream about a repository. */
#include "mirror/hub/ask_repo.h"
#include "support/run.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define SHA "0123456789abcdef0123456789abcdef01234567"

static struct mirror_repo repo;
static struct cairn_diag diag;

/* Reads an answer. @return the rule of the refusal; "": none */
static const char *read_answer(unsigned code, const char *error_code, const char *location, const char *body)
{
	struct mirror_call call = {.code = code, .body = cairn_buf_init(MIRROR_REPO_BYTES_MAX)};
	(void)snprintf(call.error_code, sizeof(call.error_code), "%s", error_code);
	(void)snprintf(call.location, sizeof(call.location), "%s", location);
	cairn_buf_add(&call.body, body, strlen(body));
	cairn_diag_clear(&diag);
	enum cairn_status status = mirror_read_repo(&repo, &call, &diag);
	mirror_call_fini(&call);
	ck_assert_int_eq(status == CAIRN_OK, !diag.rule);
	return diag.rule ? diag.rule : "";
}

START_TEST(a_repository)
{
	ck_assert_str_eq(read_answer(200, "", "", "{\"id\":\"ann/cats\",\"sha\":\"" SHA "\",\"more\":[{}]}"), "");
	ck_assert_str_eq(repo.id, "ann/cats");
	ck_assert_str_eq(repo.sha, SHA);
	ck_assert_str_eq(read_answer(200, "", "", "{\"sha\":\"" SHA "\",\"id\":\"gpt2\"}"), "");
	ck_assert_str_eq(repo.id, "gpt2");
	ck_assert_int_eq(repo.created_unix_ms, 0);
}
END_TEST

START_TEST(the_time_when_it_was_made)
{
	static const struct {
		const char *text;
		int64_t unix_ms;
	} TIMES[] = {{"2022-03-02T23:29:04.123Z", 1646263744123},
		     {"2022-03-02T23:29:04Z", 1646263744000},
		     {"2022-03-02", 0},
		     {"2022-03-02T23:29:04.-12Z", 0},
		     {"yesterday", 0},
		     {"2022-03-02T23:29:04.123456789123456789Z", 0}};
	char body[200];
	for (size_t i = 0; i < sizeof(TIMES) / sizeof(TIMES[0]); i++) {
		(void)snprintf(body, sizeof(body), "{\"id\":\"a/b\",\"sha\":\"" SHA "\",\"createdAt\":\"%s\"}",
			       TIMES[i].text);
		ck_assert_str_eq(read_answer(200, "", "", body), "");
		ck_assert_int_eq(repo.created_unix_ms, TIMES[i].unix_ms);
	}
}
END_TEST

START_TEST(no_repository)
{
	static const unsigned CODES[] = {401, 403, 404};
	for (size_t i = 0; i < sizeof(CODES) / sizeof(CODES[0]); i++) {
		ck_assert_str_eq(read_answer(CODES[i], "RepoNotFound", "", "{}"), "mirror.unknown");
		ck_assert_str_eq(read_answer(CODES[i], "RevisionNotFound", "", ""), "mirror.unknown");
	}
	ck_assert_str_eq(read_answer(401, "", "", ""), "mirror.denied");
	ck_assert_str_eq(read_answer(403, "GatedRepo", "", ""), "mirror.denied");
}
END_TEST

START_TEST(later)
{
	static const unsigned CODES[] = {429, 500, 502, 503, 504};
	for (size_t i = 0; i < sizeof(CODES) / sizeof(CODES[0]); i++)
		ck_assert_str_eq(read_answer(CODES[i], "RepoNotFound", "", ""), "mirror.busy");
}
END_TEST

/* These answers prove nothing: neither that a repository exists, nor that it does not. */
START_TEST(implausible_answers_prove_nothing)
{
	static const char *const BODIES[] = {
		"",
		"[]",
		"null",
		"{",
		"<html>",
		"{}",
		"{\"id\":\"a/b\"}",
		"{\"sha\":\"" SHA "\"}",
		"{\"id\":1,\"sha\":\"" SHA "\"}",
		"{\"id\":\"a/b\",\"sha\":[]}",
		"{\"id\":\"a/b\",\"sha\":\"" SHA "0\"}",
		"{\"id\":\"a/b\",\"sha\":\"0123456789ABCDEF0123456789abcdef01234567\"}",
		"{\"id\":\"a/b\",\"sha\":\"main\"}",
		"{\"id\":\"\",\"sha\":\"" SHA "\"}",
		"{\"id\":\"/b\",\"sha\":\"" SHA "\"}",
		"{\"id\":\"a/\",\"sha\":\"" SHA "\"}",
		"{\"id\":\"a/b/c\",\"sha\":\"" SHA "\"}",
		"{\"id\":\"a/b\",\"sha\":\"" SHA "\"} {}",
	};
	static const unsigned CODES[] = {100, 201, 204, 206, 400, 404, 405, 501};
	for (size_t i = 0; i < sizeof(BODIES) / sizeof(BODIES[0]); i++)
		ck_assert_msg(strcmp(read_answer(200, "", "", BODIES[i]), "mirror.answer") == 0, "%s", BODIES[i]);
	for (size_t i = 0; i < sizeof(CODES) / sizeof(CODES[0]); i++)
		ck_assert_str_eq(read_answer(CODES[i], "", "", ""), "mirror.answer");
	ck_assert_str_eq(read_answer(404, "EntryNotFound", "", ""), "mirror.answer");
	ck_assert_str_eq(read_answer(302, "RepoNotFound", "https://huggingface.co/x", ""), "mirror.redirect");
	ck_assert_ptr_nonnull(strstr(diag.text, "\"https://huggingface.co/x\""));
}
END_TEST

START_TEST(long_and_deep_answers)
{
	char id[MIRROR_ID_BYTES + 1], text[2 * MIRROR_ID_BYTES + 200];
	memset(id, 'a', sizeof(id));
	id[MIRROR_ID_BYTES - 1] = '\0';
	(void)snprintf(text, sizeof(text), "{\"id\":\"%s\",\"sha\":\"" SHA "\"}", id);
	ck_assert_str_eq(read_answer(200, "", "", text), "");
	id[MIRROR_ID_BYTES - 1] = 'a';
	id[MIRROR_ID_BYTES] = '\0';
	(void)snprintf(text, sizeof(text), "{\"id\":\"%s\",\"sha\":\"" SHA "\"}", id);
	ck_assert_str_eq(read_answer(200, "", "", text), "mirror.answer");
	static char deep[MIRROR_REPO_BYTES_MAX];
	memset(deep, '[', sizeof(deep) - 1);
	ck_assert_str_eq(read_answer(200, "", "", deep), "mirror.answer");
}
END_TEST

/* Returns where an answer redirects a call for models; "": nowhere. */
static const char *moved(unsigned code, const char *location)
{
	static char id[MIRROR_ID_BYTES];
	struct mirror_call call = {.code = code};
	(void)snprintf(call.location, sizeof(call.location), "%s", location);
	return mirror_read_moved(&call, "models", id) ? id : "";
}

START_TEST(a_repository_that_was_renamed)
{
	ck_assert_str_eq(moved(307, "/api/models/ann/cats/revision/main"), "ann/cats");
	ck_assert_str_eq(moved(308, "/api/models/ann/cats"), "ann/cats");
	ck_assert_str_eq(moved(301, "https://hub.example/api/models/ann/cats?x=y"), "ann/cats");
	ck_assert_str_eq(moved(200, "/api/models/ann/cats"), "");
	ck_assert_str_eq(moved(307, "/api/datasets/ann/cats"), "");
	ck_assert_str_eq(moved(307, "/api/models/cats"), "");
	ck_assert_str_eq(moved(307, "/api/models/cats/revision/main"), "");
	ck_assert_str_eq(moved(307, "/api/models/ann/cats/tree/main"), "");
	ck_assert_str_eq(moved(307, "/api/models//cats"), "");
	ck_assert_str_eq(moved(307, "/api/models/ann/"), "");
	ck_assert_str_eq(moved(307, "https://hub.example"), "");
	ck_assert_str_eq(moved(307, "/login"), "");
	ck_assert_str_eq(moved(307, ""), "");
}
END_TEST

START_TEST(who_may_have_a_repository)
{
	ck_assert_str_eq(
		read_answer(200, "", "", "{\"id\":\"a/b\",\"sha\":\"" SHA "\",\"gated\":\"auto\",\"private\":true}"),
		"");
	ck_assert(repo.is_gated && repo.is_private && !repo.is_disabled);
	ck_assert_str_eq(
		read_answer(200, "", "", "{\"id\":\"a/b\",\"sha\":\"" SHA "\",\"gated\":false,\"disabled\":true}"), "");
	ck_assert(!repo.is_gated && !repo.is_private && repo.is_disabled);
	ck_assert_str_eq(read_answer(200, "", "", "{\"id\":\"a/b\",\"sha\":\"" SHA "\",\"gated\":{}}"), "");
	ck_assert(repo.is_gated);
	ck_assert_str_eq(read_answer(200, "", "", "{\"id\":\"a/b\",\"sha\":\"" SHA "\",\"gated\":null}"), "");
	ck_assert(!repo.is_gated);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ask_repo");
	TCase *tcase = tcase_create("answers");
	tcase_add_test(tcase, a_repository);
	tcase_add_test(tcase, the_time_when_it_was_made);
	tcase_add_test(tcase, no_repository);
	tcase_add_test(tcase, later);
	tcase_add_test(tcase, implausible_answers_prove_nothing);
	tcase_add_test(tcase, long_and_deep_answers);
	tcase_add_test(tcase, a_repository_that_was_renamed);
	tcase_add_test(tcase, who_may_have_a_repository);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
