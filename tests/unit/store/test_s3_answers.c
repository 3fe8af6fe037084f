/* A store in an S3 service, with prepared answers that a real service gives only rarely. */
#include "base/buf.h"
#include "base/fd.h"
#include "hash/hash.h"
#include "store/store.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <arpa/inet.h>
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OWNER "00112233445566778899aabbccddeeff"
#define OTHER "ffeeddccbbaa99887766554433221100"

#define GONE "<Error><Code>NoSuchKey</Code></Error>"

enum { REQUEST_BYTES = 8192, STEPS_MAX = 8, SEEN_BYTES = 32 };

/* An expected request, and the answer to it. */
struct step {
	const char *begins; /* how its first line begins */
	const char *has;    /* a text within it; NULL: any request */
	int code;
	const char *body;
	const char *header; /* NULL: the correct header */
};

static struct tempdir dir;
static struct cairn_store *store;
static struct cairn_diag diag;
static pthread_t thread;
static int listener;
static struct sockaddr_in address;
static struct step steps[STEPS_MAX];
static size_t n_steps, n_taken;
static char *pages[STEPS_MAX]; /* pages that some steps answer with; owned */
static size_t n_pages;

/* Reads a request. @return false: none came */
static bool take_request(int fd, char request[static REQUEST_BYTES])
{
	size_t len = 0, whole = REQUEST_BYTES;
	while (len < whole) {
		ssize_t n = read(fd, request + len, REQUEST_BYTES - 1 - len);
		if (n == 0 && len == 0)
			return false;
		ck_assert_int_gt(n, 0);
		len += (size_t)n;
		request[len] = '\0';
		const char *end = strstr(request, "\r\n\r\n"), *body = strcasestr(request, "content-length: ");
		if (end)
			whole = (size_t)(end + 4 - request) + (body ? strtoul(body + 16, NULL, 10) : 0);
	}
	return true;
}

static void *serve(void *ctx)
{
	(void)ctx;
	for (n_taken = 0;; n_taken++) {
		char request[REQUEST_BYTES], answer[REQUEST_BYTES + 128];
		CLEANUP(cairn_fd_closep) int fd = accept(listener, NULL, NULL);
		ck_assert_int_ge(fd, 0);
		if (!take_request(fd, request))
			return NULL;
		ck_assert_msg(n_taken < n_steps, "one too many: %s", request);
		const struct step *step = &steps[n_taken];
		ck_assert_msg(strncmp(request, step->begins, strlen(step->begins)) == 0, "step %zu: %s", n_taken,
			      request);
		ck_assert_msg(!step->has || strcasestr(request, step->has), "step %zu: %s", n_taken, request);
		char range[64];
		(void)snprintf(range, sizeof(range), "Content-Range: bytes 0-%zu/%zu", strlen(step->body) - 1,
			       strlen(step->body));
		const char *header = step->header ? step->header : step->code == 206 ? range : "ETag: \"tag\"";
		int n = snprintf(answer, sizeof(answer),
				 "HTTP/1.1 %d x\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n\r\n%s",
				 step->code, strlen(step->body), header, step->body);
		ck_assert_int_eq(cairn_fd_write_all(fd, answer, (size_t)n), CAIRN_OK);
	}
}

static void listen_here(void)
{
	address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(listener, 0);
	ck_assert_int_eq(bind(listener, (const struct sockaddr *)&address, len), 0);
	ck_assert_int_eq(listen(listener, STEPS_MAX), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &len), 0);
}

static void setup(void)
{
	dir = tempdir_new();
	store = NULL;
	diag = (struct cairn_diag){0};
	n_steps = n_pages = 0;
	ck_assert_int_eq(setenv("AWS_ACCESS_KEY_ID", "key", 1), 0);
	ck_assert_int_eq(setenv("AWS_SECRET_ACCESS_KEY", "secret", 1), 0);
	listen_here();
}

static void teardown(void)
{
	cairn_store_free(store);
	cairn_fd_closep(&listener);
	tempdir_fini(&dir);
}

static void expect(const char *begins, const char *has, int code, const char *body)
{
	steps[n_steps++] = (struct step){begins, has, code, body, NULL};
}

static void expect_strange(const char *begins, int code, const char *header, const char *body)
{
	steps[n_steps++] = (struct step){begins, NULL, code, body, header};
}

/* Begins to serve the steps. Until end(), each of them must be requested, and no other. */
static void begin(void)
{
	ck_assert_int_eq(pthread_create(&thread, NULL, serve, NULL), 0);
}

static void end(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	cairn_fd_closep(&fd);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_eq(n_taken, n_steps);
	n_steps = 0;
	while (n_pages > 0)
		free(pages[--n_pages]);
}

static enum cairn_status open_store(bool is_new, bool beside)
{
	char url[128];
	const struct cairn_store_options options = {
		.scratch = dir.path, .owner = OWNER, .is_new = is_new, .beside = beside};
	(void)snprintf(url, sizeof(url), "s3://bucket/p?endpoint=http://127.0.0.1:%u", ntohs(address.sin_port));
	begin();
	enum cairn_status status = cairn_store_open(&store, url, &options, &diag);
	end();
	return status;
}

START_TEST(a_claim_is_read_back)
{
	expect("GET /bucket/p/owner ", NULL, 404, GONE);
	expect("PUT /bucket/p/owner ", "\r\nif-none-match: *\r\n", 200, "");
	expect("GET /bucket/p/owner ", NULL, 206, OWNER);
	ck_assert_msg(open_store(true, false) == CAIRN_OK, "%s", diag.text);
}
END_TEST

START_TEST(another_claim_in_between_wins)
{
	expect("GET /bucket/p/owner ", NULL, 404, GONE);
	expect("PUT /bucket/p/owner ", NULL, 412, "<Error><Code>PreconditionFailed</Code></Error>");
	expect("GET /bucket/p/owner ", NULL, 206, OTHER);
	ck_assert_int_eq(open_store(true, false), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, "store.owner");
}
END_TEST

/* If the service ignores the condition, the last claim wins. */
START_TEST(another_claim_afterwards_wins)
{
	expect("GET /bucket/p/owner ", NULL, 404, GONE);
	expect("PUT /bucket/p/owner ", NULL, 200, "");
	expect("GET /bucket/p/owner ", NULL, 206, OTHER);
	ck_assert_int_eq(open_store(true, false), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, "store.owner");
}
END_TEST

/* the first try got a bad answer, but took effect */
START_TEST(a_repeated_claim_of_the_same_folder_succeeds)
{
	expect("GET /bucket/p/owner ", NULL, 404, GONE);
	expect("PUT /bucket/p/owner ", NULL, 500, "");
	expect("PUT /bucket/p/owner ", NULL, 412, "<Error><Code>PreconditionFailed</Code></Error>");
	expect("GET /bucket/p/owner ", NULL, 206, OWNER);
	ck_assert_msg(open_store(true, false) == CAIRN_OK, "%s", diag.text);
}
END_TEST

START_TEST(a_service_without_conditions_takes_a_claim)
{
	expect("GET /bucket/p/owner ", NULL, 404, GONE);
	for (unsigned i = 0; i < 2; i++)
		expect("PUT /bucket/p/owner ", "\r\nif-none-match: *\r\n", 501,
		       "<Error><Code>NotImplemented</Code></Error>");
	expect("PUT /bucket/p/owner ", NULL, 200, "");
	expect("GET /bucket/p/owner ", NULL, 206, OWNER);
	ck_assert_msg(open_store(true, false) == CAIRN_OK, "%s", diag.text);
}
END_TEST

START_TEST(a_claim_missing_when_read_back_is_not_made)
{
	expect("GET /bucket/p/owner ", NULL, 404, GONE);
	expect("PUT /bucket/p/owner ", NULL, 200, "");
	expect("GET /bucket/p/owner ", NULL, 404, GONE);
	ck_assert_int_eq(open_store(true, false), CAIRN_E_BUSY);
}
END_TEST

/* --- answers of somebody else on the way -------------------------------------------------------------------------- */

static struct cairn_hash first_hash(void)
{
	char text[CAIRN_HASH_TEXT_BYTES];
	struct cairn_hash hash;
	(void)snprintf(text, sizeof(text), "01%062x", 0U);
	ck_assert_int_eq(cairn_hash_parse(&hash, text, sizeof(text) - 1), CAIRN_OK);
	return hash;
}

#define PAGE "<html><body>Sign in to go on</body></html>"

/* A strange answer does not show whether the object exists. */
START_TEST(a_strange_answer_to_a_read_says_nothing)
{
	static const struct step ANSWERS[] = {
		{NULL, NULL, 200, OWNER, NULL},
		{NULL, NULL, 200, PAGE, NULL},
		{NULL, NULL, 404, PAGE, NULL},
		{NULL, NULL, 404, "", NULL},
		{NULL, NULL, 206, OWNER, "X-Nothing: 1"},
		{NULL, NULL, 206, OWNER, "Content-Range: bytes 1-32/33"},
		{NULL, NULL, 206, OWNER, "Content-Range: bytes 0-31/31"},
		{NULL, NULL, 206, OWNER, "Content-Range: bytes 0-31/-1"},
		{NULL, NULL, 206, OWNER, "Content-Range: bytes 0-30/32"},
		{NULL, NULL, 206, "0123456789", "Content-Range: bytes 0-9/32"},
		{NULL, NULL, 206, OWNER "more", NULL},
	};
	for (size_t i = 0; i < sizeof(ANSWERS) / sizeof(ANSWERS[0]); i++) {
		diag = (struct cairn_diag){0};
		expect_strange("GET /bucket/p/owner ", ANSWERS[i].code, ANSWERS[i].header, ANSWERS[i].body);
		ck_assert_msg(open_store(false, false) == CAIRN_E_BUSY, "%zu", i);
		ck_assert_str_eq(diag.rule, "store.answer");
	}
}
END_TEST

/* A put that was not stored is not acknowledged. */
START_TEST(a_strange_answer_to_a_put_says_nothing)
{
	expect("GET /bucket/p/owner ", NULL, 404, GONE);
	expect_strange("PUT /bucket/p/owner ", 200, "Content-Type: text/html", PAGE);
	ck_assert_int_eq(open_store(true, false), CAIRN_E_BUSY);
	ck_assert_str_eq(diag.rule, "store.answer");
}
END_TEST

#define CLASH "<Error><Code>ConditionalRequestConflict</Code></Error>"

/* Another request for the same name was under way, so the service has not decided this one. */
START_TEST(a_claim_that_met_another_is_sent_again)
{
	expect("GET /bucket/p/owner ", NULL, 404, GONE);
	expect("PUT /bucket/p/owner ", "if-none-match: *", 409, CLASH);
	expect("PUT /bucket/p/owner ", "if-none-match: *", 200, "");
	expect("GET /bucket/p/owner ", NULL, 206, OWNER);
	ck_assert_msg(open_store(true, false) == CAIRN_OK, "%s", diag.text);
}
END_TEST

START_TEST(a_claim_that_meets_others_again_and_again_says_nothing)
{
	expect("GET /bucket/p/owner ", NULL, 404, GONE);
	expect("PUT /bucket/p/owner ", NULL, 409, CLASH);
	expect("PUT /bucket/p/owner ", NULL, 409, CLASH);
	ck_assert_int_eq(open_store(true, false), CAIRN_E_BUSY);
	ck_assert_str_eq(diag.rule, "store.busy");
}
END_TEST

/* Some services answer 304 where others answer 412. */
START_TEST(not_modified_says_that_there_is_one)
{
	expect("GET /bucket/p/owner ", NULL, 404, GONE);
	expect("PUT /bucket/p/owner ", "if-none-match: *", 304, "");
	expect("GET /bucket/p/owner ", NULL, 206, OWNER);
	ck_assert_msg(open_store(true, false) == CAIRN_OK, "%s", diag.text);
}
END_TEST

/* A copy that is missing in a list may exist, because lists may be late. */
START_TEST(a_copy_missing_in_a_list_is_requested_itself)
{
	struct cairn_hash hash = first_hash();
	const struct cairn_copy_id copy = {{1}};
	CLEANUP(cairn_store_object_freep) struct cairn_store_object *object = NULL;
	ck_assert_msg(open_store(false, true) == CAIRN_OK, "%s", diag.text);
	expect("GET /bucket/p/x/01/01", "\r\nrange: bytes=0-0\r\n", 404, GONE);
	expect("GET /bucket/p/x/01/01", "\r\nrange: bytes=0-0\r\n", 404, PAGE);
	expect_strange("GET /bucket/p/x/01/01", 206, "Content-Range: bytes 0-0/1234", "a");
	begin();
	ck_assert_int_eq(cairn_store_get_named(store, &hash, &copy, &object), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_store_get_named(store, &hash, &copy, &object), CAIRN_E_BUSY);
	ck_assert_int_eq(cairn_store_get_named(store, &hash, &copy, &object), CAIRN_OK);
	end();
	ck_assert_uint_eq(cairn_store_object_bytes(object), 1234);
}
END_TEST

/* --- lists in pages ----------------------------------------------------------------------------------------------- */

static void add_name(struct cairn_buf *out, unsigned hash, unsigned copy, const char *aside, unsigned bytes)
{
	cairn_buf_printf(out, "<Contents><Key>p/x/%02x/%02x%062x.%032x%s</Key><Size>%u</Size></Contents>", hash, hash,
			 0U, copy, aside, bytes);
}

/* Makes a page of a list. @param names  two characters each: "1a" is copy 10 of hash 1 (with 10 bytes), "1A" the name
 * that sets this copy aside */
static char *page(const char *names, bool truncated)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf out = cairn_buf_init(REQUEST_BYTES);
	cairn_buf_printf(&out, "<ListBucketResult><IsTruncated>%s</IsTruncated>", truncated ? "true" : "false");
	for (; *names; names += 2) {
		unsigned copy = (unsigned)(names[1] | 0x20) - 'a' + 10;
		add_name(&out, (unsigned)(names[0] - '0'), copy, names[1] < 'a' ? ".aside" : "",
			 names[1] < 'a' ? 0 : copy);
	}
	cairn_buf_printf(&out, "</ListBucketResult>");
	cairn_buf_add(&out, "", 1);
	ck_assert_int_eq(out.status, CAIRN_OK);
	return strdup((const char *)out.bytes);
}

static void expect_page(const char *names, bool truncated, const char *has)
{
	pages[n_pages] = page(names, truncated);
	expect("GET /bucket?list-type=2", has, 200, pages[n_pages++]);
}

/* Calls cairn_store_stat() for hash 1. */
static enum cairn_status stat_first(uint64_t *bytes)
{
	struct cairn_hash hash = first_hash();
	begin();
	enum cairn_status status = cairn_store_stat(store, &hash, bytes);
	end();
	return status;
}

/* Notes hash and copy of each visited object, in the notation of page(). */
static enum cairn_status note_visit(void *ctx, const struct cairn_hash *hash, uint64_t bytes)
{
	char *seen = ctx, text[CAIRN_HASH_TEXT_BYTES];
	size_t len = strlen(seen);
	cairn_hash_text(text, hash);
	ck_assert_uint_lt(len, SEEN_BYTES - 2);
	seen[len] = text[1];
	seen[len + 1] = (char)('a' + bytes - 10);
	return CAIRN_OK;
}

static enum cairn_status visit_all(char seen[static SEEN_BYTES])
{
	memset(seen, 0, SEEN_BYTES);
	begin();
	enum cairn_status status = cairn_store_each(store, note_visit, seen);
	end();
	return status;
}

START_TEST(a_copy_on_a_later_page_counts)
{
	uint64_t bytes;
	ck_assert_msg(open_store(false, true) == CAIRN_OK, "%s", diag.text);
	expect_page("1a", true, NULL);
	expect_page("1b1c", true, "start-after=p%2Fx%2F01%2F");
	expect_page("1C", false, "start-after=p%2Fx%2F01%2F");
	ck_assert_int_eq(stat_first(&bytes), CAIRN_OK);
	ck_assert_uint_eq(bytes, 11);
}
END_TEST

START_TEST(a_truncated_list_proves_nothing)
{
	uint64_t bytes;
	ck_assert_msg(open_store(false, true) == CAIRN_OK, "%s", diag.text);
	expect_page("", true, NULL);
	ck_assert_int_eq(stat_first(&bytes), CAIRN_E_BUSY);
	expect_page("1a", true, NULL);
	expect_page("1a", true, NULL);
	ck_assert_int_eq(stat_first(&bytes), CAIRN_E_BUSY);
	expect_page("", false, NULL);
	ck_assert_int_eq(stat_first(&bytes), CAIRN_E_NOT_FOUND);
}
END_TEST

/* The answer may come from a cache that ignores the query, so nothing is deleted because of it. */
START_TEST(a_list_of_other_names_is_refused)
{
	static const char *const LISTS[] = {"2a", "1a2a", "1b1a", "1a1a"};
	struct cairn_hash hash = first_hash();
	ck_assert_msg(open_store(false, true) == CAIRN_OK, "%s", diag.text);
	for (size_t i = 0; i < sizeof(LISTS) / sizeof(LISTS[0]); i++) {
		uint64_t bytes;
		diag = (struct cairn_diag){0};
		expect_page(LISTS[i], false, "prefix=p%2Fx%2F01%2F01");
		begin();
		ck_assert_msg(cairn_store_remove(store, &hash, &diag) == CAIRN_E_BUSY, "%s", LISTS[i]);
		end();
		ck_assert_str_eq(diag.rule, "store.answer");
		expect_page(LISTS[i], false, NULL);
		ck_assert_msg(stat_first(&bytes) == CAIRN_E_BUSY, "%s", LISTS[i]);
	}
}
END_TEST

START_TEST(a_list_that_repeats_a_page_fails)
{
	char seen[SEEN_BYTES];
	ck_assert_msg(open_store(false, true) == CAIRN_OK, "%s", diag.text);
	expect_page("1a2a", true, NULL);
	expect_page("2a3a", false, "start-after=p%2Fx%2F02%2F");
	ck_assert_int_eq(visit_all(seen), CAIRN_E_BUSY);
}
END_TEST

START_TEST(all_are_visited_once)
{
	char seen[SEEN_BYTES];
	ck_assert_msg(open_store(false, true) == CAIRN_OK, "%s", diag.text);
	expect_page("1a2a2b", true, NULL);
	expect_page("2B3c", true, "start-after=p%2Fx%2F02%2F");
	expect_page("3d4a4A", true, "start-after=p%2Fx%2F03%2F");
	expect_page("5a", false, "start-after=p%2Fx%2F04%2F");
	ck_assert_int_eq(visit_all(seen), CAIRN_OK);
	ck_assert_str_eq(seen, "1a2a3d5a");
	expect_page("1a2a", true, NULL);
	expect_page("", true, NULL);
	ck_assert_int_eq(visit_all(seen), CAIRN_E_BUSY);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("s3_answers");
	TCase *claim = tcase_create("claim");
	tcase_add_checked_fixture(claim, setup, teardown);
	tcase_add_test(claim, a_claim_is_read_back);
	tcase_add_test(claim, another_claim_in_between_wins);
	tcase_add_test(claim, another_claim_afterwards_wins);
	tcase_add_test(claim, a_repeated_claim_of_the_same_folder_succeeds);
	tcase_add_test(claim, a_service_without_conditions_takes_a_claim);
	tcase_add_test(claim, a_claim_missing_when_read_back_is_not_made);
	tcase_add_test(claim, a_claim_that_met_another_is_sent_again);
	tcase_add_test(claim, a_claim_that_meets_others_again_and_again_says_nothing);
	tcase_add_test(claim, not_modified_says_that_there_is_one);
	suite_add_tcase(suite, claim);
	TCase *strange = tcase_create("strange");
	tcase_add_checked_fixture(strange, setup, teardown);
	tcase_add_test(strange, a_strange_answer_to_a_read_says_nothing);
	tcase_add_test(strange, a_strange_answer_to_a_put_says_nothing);
	tcase_add_test(strange, a_copy_missing_in_a_list_is_requested_itself);
	suite_add_tcase(suite, strange);
	TCase *lists = tcase_create("lists");
	tcase_add_checked_fixture(lists, setup, teardown);
	tcase_add_test(lists, a_copy_on_a_later_page_counts);
	tcase_add_test(lists, a_truncated_list_proves_nothing);
	tcase_add_test(lists, a_list_of_other_names_is_refused);
	tcase_add_test(lists, a_list_that_repeats_a_page_fails);
	tcase_add_test(lists, all_are_visited_once);
	suite_add_tcase(suite, lists);
	return run_suite(suite);
}
