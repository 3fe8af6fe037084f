/* Tests how a pull reads untrusted input, plans of a server and the state of an earlier pull, and where it writes. */
#include "cli/pull/pull_plan.h"
#include "cli/pull/pull_state.h"
#include "cli/pull/pull_target.h"
#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define A "1111111111111111111111111111111111111111111111111111111111111111"
#define B "2222222222222222222222222222222222222222222222222222222222222222"

#define TERM(x, n, a, b)        "{\"hash\":\"" x "\",\"unpacked_length\":" #n ",\"range\":{\"start\":" #a ",\"end\":" #b "}}"
#define RANGE(a, b, c, d)       "{\"chunks\":{\"start\":" #a ",\"end\":" #b "},\"bytes\":{\"start\":" #c ",\"end\":" #d "}}"
#define URL(ranges)             "{\"url\":\"http://h/x\",\"ranges\":[" ranges "]}"
#define PLAN(skip, terms, urls) "{\"offset_into_first_range\":" #skip ",\"terms\":[" terms "],\"xorbs\":{" urls "}}"
#define XORB(x, urls)           "\"" x "\":[" urls "]"

static enum cairn_status parse(struct pull_plan *plan, const char *json, uint64_t first, uint64_t end, uint64_t file)
{
	return pull_plan_parse(plan, (const uint8_t *)json, strlen(json), first, end, file, NULL);
}

START_TEST(a_plan_of_two_xorbs)
{
	CLEANUP(pull_plan_fini) struct pull_plan plan = {0};
	const char *json = PLAN(
		10, TERM(B, 300, 5, 8) "," TERM(A, 50, 0, 1) "," TERM(B, 200, 0, 2) "," TERM(B, 100, 6, 7),
		XORB(A, URL(RANGE(0, 1, 0, 40))) "," XORB(B, URL(RANGE(0, 2, 0, 99)) "," URL(RANGE(5, 8, 500, 899))));
	ck_assert_int_eq(parse(&plan, json, 1010, 1600, 1650), CAIRN_OK);
	ck_assert_uint_eq(plan.at, 1000);
	ck_assert_uint_eq(plan.end, 1650);
	ck_assert_uint_eq(plan.n_terms, 4);
	ck_assert_uint_eq(plan.n_chunks, 7);
	ck_assert_uint_eq(plan.n_units, 3);
	ck_assert_uint_eq(plan.terms[2].at, 1350);
	ck_assert_uint_eq(plan.terms[2].slot, 4);
	/* Units are ordered by the hash of the xorb, then as in the plan. Terms 0 and 3 share one unit. */
	ck_assert_uint_eq(plan.units[0].n_uses, 1);
	ck_assert_uint_eq(plan.uses[plan.units[0].first_use], 1);
	ck_assert_uint_eq(plan.uses[plan.units[1].first_use], 2);
	ck_assert_uint_eq(plan.units[2].n_uses, 2);
	ck_assert_uint_eq(plan.units[2].range.first, 500);
	ck_assert_uint_eq(plan.units[2].range.last, 899);
	ck_assert_str_eq(plan.units[2].range.url, "http://h/x");
}
END_TEST

static const struct {
	const char *why, *json;
} BAD_PLANS[] = {
	{"not JSON", "{"},
	{"nothing", "{}"},
	{"terms is no array", "{\"offset_into_first_range\":0,\"terms\":{},\"xorbs\":{}}"},
	{"begins before the file", PLAN(1, TERM(A, 100, 0, 1), XORB(A, URL(RANGE(0, 1, 0, 9))))},
	{"negative offset", PLAN(-1, TERM(A, 100, 0, 1), XORB(A, URL(RANGE(0, 1, 0, 9))))},
	{"too short", PLAN(0, TERM(A, 99, 0, 1), XORB(A, URL(RANGE(0, 1, 0, 9))))},
	{"longer than the file", PLAN(0, TERM(A, 101, 0, 1), XORB(A, URL(RANGE(0, 1, 0, 9))))},
	{"no chunks in a term", PLAN(0, TERM(A, 100, 1, 1), XORB(A, URL(RANGE(0, 1, 0, 9))))},
	{"more chunks than bytes", PLAN(0, TERM(A, 100, 0, 101), XORB(A, URL(RANGE(0, 101, 0, 9))))},
	{"a hash of other length", PLAN(0, TERM("11", 100, 0, 1), XORB("11", URL(RANGE(0, 1, 0, 9))))},
	{"no range for the xorb", PLAN(0, TERM(A, 100, 0, 1), XORB(B, URL(RANGE(0, 1, 0, 9))))},
	{"a range without the chunks", PLAN(0, TERM(A, 100, 0, 2), XORB(A, URL(RANGE(0, 1, 0, 9))))},
	{"a range that begins later", PLAN(0, TERM(A, 100, 0, 2), XORB(A, URL(RANGE(1, 2, 0, 9))))},
	{"a term over two ranges",
	 PLAN(0, TERM(A, 100, 0, 2), XORB(A, URL(RANGE(0, 1, 0, 9) "," RANGE(1, 2, 10, 19))))},
	{"bytes the wrong way round", PLAN(0, TERM(A, 100, 0, 1), XORB(A, URL(RANGE(0, 1, 9, 8))))},
	{"no bytes", PLAN(0, TERM(A, 100, 0, 1), XORB(A, URL("{\"chunks\":{\"start\":0,\"end\":1}}")))},
	{"no ranges", PLAN(0, TERM(A, 100, 0, 1), XORB(A, URL("")))},
	{"no URL", PLAN(0, TERM(A, 100, 0, 1), XORB(A, "{\"ranges\":[" RANGE(0, 1, 0, 9) "]}"))},
};

START_TEST(contradictory_plans_are_refused)
{
	struct pull_plan plan;
	ck_assert_msg(parse(&plan, BAD_PLANS[_i].json, 0, 100, 100) == CAIRN_E_MISMATCH, "%s", BAD_PLANS[_i].why);
	ck_assert_ptr_null(plan.terms); /* nothing remains allocated */
}
END_TEST

START_TEST(a_plan_of_too_many_chunks)
{
	static const struct {
		unsigned n;
		enum cairn_status want;
	} cases[] = {{PULL_PLAN_CHUNKS_MAX, CAIRN_OK}, {PULL_PLAN_CHUNKS_MAX + 1, CAIRN_E_LIMIT}};
	for (size_t i = 0; i < 2; i++) {
		char json[1024];
		CLEANUP(pull_plan_fini) struct pull_plan plan = {0};
		(void)snprintf(json, sizeof(json),
			       "{\"offset_into_first_range\":0,\"terms\":[{\"hash\":\"" A
			       "\",\"unpacked_length\":2000000,\"range\":{\"start\":0,\"end\":%u}}],"
			       "\"xorbs\":{\"" A "\":[{\"url\":\"http://h/x\",\"ranges\":[{\"chunks\":{\"start\":0,"
			       "\"end\":%u},\"bytes\":{\"start\":0,\"end\":9}}]}]}}",
			       cases[i].n, cases[i].n);
		ck_assert_int_eq(parse(&plan, json, 0, 2000000, 2000000), cases[i].want);
	}
}
END_TEST

START_TEST(a_plan_cut_anywhere)
{
	const char *json = PLAN(0, TERM(A, 60, 0, 1) "," TERM(B, 40, 2, 3),
				XORB(A, URL(RANGE(0, 1, 0, 9))) "," XORB(B, URL(RANGE(2, 3, 7, 9))));
	struct pull_plan plan;
	for (size_t len = 0; len < strlen(json); len++)
		ck_assert_int_eq(pull_plan_parse(&plan, (const uint8_t *)json, len, 0, 100, 100, NULL),
				 CAIRN_E_MISMATCH);
}
END_TEST

/* A plan takes memory for each JSON value, even for values that are not used. */
START_TEST(a_plan_of_many_values)
{
	CLEANUP(pull_plan_fini) struct pull_plan plan = {0};
	static const char MORE[] = ",\"more\":[0";
	static const char PLAN_TEXT[] = PLAN(0, TERM(A, 100, 0, 1), XORB(A, URL(RANGE(0, 1, 0, 9))));
	size_t n = PULL_PLAN_VALUES_MAX + 100 * (size_t)_i - 50, len = sizeof(PLAN_TEXT) - 2;
	char *json = malloc(sizeof(PLAN_TEXT) + 2 * n + 16);
	ck_assert_ptr_nonnull(json);
	memcpy(json, PLAN_TEXT, len);
	memcpy(json + len, MORE, sizeof(MORE) - 1);
	len += sizeof(MORE) - 1;
	for (size_t i = 0; i < n; i++, len += 2)
		memcpy(json + len, ",0", 2);
	memcpy(json + len, "]}", 2);
	enum cairn_status status = pull_plan_parse(&plan, (const uint8_t *)json, len + 2, 0, 100, 100, NULL);
	free(json);
	ck_assert_int_eq(status, _i == 0 ? CAIRN_OK : CAIRN_E_MISMATCH);
}
END_TEST

static struct pull_chunk chunk_of(uint64_t at, uint64_t bytes)
{
	struct pull_chunk c = {.at = at, .bytes = bytes};
	memset(c.hash.b, (int)(at % 251), sizeof(c.hash.b));
	return c;
}

struct state_fixture {
	struct tempdir dir;
	char *path;
	struct pull_state s;
	struct cairn_hash file;
};

static void state_fixture_fini(struct state_fixture *f)
{
	close(f->s.fd);
	free(f->path);
	tempdir_fini(&f->dir);
}

static struct state_fixture state_fixture_new(void)
{
	struct state_fixture f = {.dir = tempdir_new(), .file = {{7}}};
	f.path = tempdir_path(&f.dir, "state");
	f.s.fd = open(f.path, O_RDWR | O_CREAT, 0600);
	ck_assert_int_ge(f.s.fd, 0);
	ck_assert_int_eq(pull_state_begin(&f.s, &f.file, 5, 1000, NULL), CAIRN_OK);
	return f;
}

START_TEST(a_state_is_of_one_pull)
{
	CLEANUP(state_fixture_fini) struct state_fixture f = state_fixture_new();
	const struct cairn_hash other = {{8}};
	ck_assert(pull_state_matches(f.s.fd, &f.file, 5, 1000));
	ck_assert(!pull_state_matches(f.s.fd, &other, 5, 1000));
	ck_assert(!pull_state_matches(f.s.fd, &f.file, 4, 1000));
	ck_assert(!pull_state_matches(f.s.fd, &f.file, 5, 1001));
	ck_assert_int_eq(ftruncate(f.s.fd, PULL_STATE_HEADER_BYTES - 1), 0);
	ck_assert(!pull_state_matches(f.s.fd, &f.file, 5, 1000));
}
END_TEST

START_TEST(windows_come_back_sorted)
{
	CLEANUP(state_fixture_fini) struct state_fixture f = state_fixture_new();
	const struct pull_chunk first[] = {chunk_of(100, 50), chunk_of(0, 100), chunk_of(100, 50)},
				second[] = {chunk_of(150, 7)};
	uint64_t next = 0;
	ck_assert_int_eq(pull_state_add(&f.s, first, 3, NULL), CAIRN_OK);
	ck_assert_int_eq(pull_state_end_window(&f.s, 150, NULL), CAIRN_OK);
	ck_assert_int_eq(pull_state_add(&f.s, second, 1, NULL), CAIRN_OK);

	CLEANUP(pull_chunks_fini) struct pull_chunks a = {0}, b = {0}, c = {0};
	ck_assert_int_eq(pull_state_read(&f.s, PULL_STATE_HEADER_BYTES, &a, &next, NULL), CAIRN_OK);
	ck_assert_uint_eq(a.n, 2); /* each offset once */
	ck_assert_uint_eq(a.at[0].at, 0);
	ck_assert_uint_eq(a.at[1].at, 100);
	ck_assert_uint_eq(a.at[1].bytes, 50);
	ck_assert(cairn_hash_equal(&a.at[1].hash, &first[0].hash));
	ck_assert(a.ended);
	ck_assert_uint_eq(a.window_end, 150);
	ck_assert_int_eq(pull_state_read(&f.s, next, &b, &next, NULL), CAIRN_OK);
	ck_assert_uint_eq(b.n, 1);
	ck_assert(!b.ended);
	ck_assert_uint_eq(next, f.s.end);
	ck_assert_int_eq(pull_state_read(&f.s, next, &c, &next, NULL), CAIRN_OK);
	ck_assert_uint_eq(c.n, 0);
	pull_chunks_fini(&b);
	pull_chunks_fini(&c);
}
END_TEST

START_TEST(a_state_torn_anywhere)
{
	CLEANUP(state_fixture_fini) struct state_fixture f = state_fixture_new();
	const struct pull_chunk chunks[] = {chunk_of(0, 10), chunk_of(10, 10), chunk_of(20, 10)};
	ck_assert_int_eq(pull_state_add(&f.s, chunks, 3, NULL), CAIRN_OK);
	for (uint64_t end = f.s.end; end >= PULL_STATE_HEADER_BYTES; end--) {
		CLEANUP(pull_chunks_fini) struct pull_chunks got = {0};
		uint64_t next = 0, n = (end - PULL_STATE_HEADER_BYTES) / PULL_STATE_RECORD_BYTES;
		ck_assert_int_eq(pull_state_cut(&f.s, end, NULL), CAIRN_OK);
		ck_assert_int_eq(pull_state_read(&f.s, PULL_STATE_HEADER_BYTES, &got, &next, NULL), CAIRN_OK);
		ck_assert_uint_eq(got.n, n);
		ck_assert_uint_eq(next, PULL_STATE_HEADER_BYTES + n * PULL_STATE_RECORD_BYTES);
	}
}
END_TEST

START_TEST(a_state_of_many_pages)
{
	CLEANUP(state_fixture_fini) struct state_fixture f = state_fixture_new();
	enum { N = 3000 };
	static struct pull_chunk chunks[N];
	uint64_t next = 0;
	for (size_t i = 0; i < N; i++)
		chunks[i] = chunk_of((N - 1 - i) * 8, 8);
	ck_assert_int_eq(pull_state_add(&f.s, chunks, N, NULL), CAIRN_OK);
	ck_assert_int_eq(pull_state_end_window(&f.s, N * 8, NULL), CAIRN_OK);
	CLEANUP(pull_chunks_fini) struct pull_chunks got = {0};
	ck_assert_int_eq(pull_state_read(&f.s, PULL_STATE_HEADER_BYTES, &got, &next, NULL), CAIRN_OK);
	ck_assert_uint_eq(got.n, N);
	for (size_t i = 0; i < N; i++)
		ck_assert_uint_eq(got.at[i].at, i * 8);
	ck_assert(got.ended);
}
END_TEST

/* Replaces the C library's function: notes which mode a file had when it was synced. */
static mode_t SYNCED[8];
static size_t N_SYNCED;

int fsync(int fd)
{
	struct stat st;
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_lt(N_SYNCED, sizeof(SYNCED) / sizeof(SYNCED[0]));
	if (S_ISREG(st.st_mode))
		SYNCED[N_SYNCED++] = st.st_mode & 0777;
	return (int)syscall(SYS_fsync, fd);
}

/* A kill during the sync of a large file must not leave a partial file that only root can write. */
START_TEST(a_part_is_writable_until_it_is_durable)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(pull_target_fini) struct pull_target t = {.dir_fd = -1, .part_fd = -1, .state_fd = -1};
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "file");
	struct stat st;
	int dir_fd = open(dir.path, O_RDONLY | O_DIRECTORY);
	const struct pull_job job = {
		.dir_fd = dir_fd, .name = "file", .end = 10, .file_bytes = 10, .has_mode = true, .mode = 0444};
	ck_assert_int_eq(pull_target_open(&t, &job, NULL), CAIRN_OK);
	ck_assert_int_eq(pull_target_finish(&t, &job, NULL), CAIRN_OK);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0444);
	ck_assert_uint_eq(N_SYNCED, 1); /* the mode becomes durable with the whole folder */
	ck_assert_int_eq(SYNCED[0] & S_IWUSR, S_IWUSR);
	ck_assert_int_eq(tempdir_count(&dir, ""), 1);
	close(dir_fd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("cli_pull");
	TCase *t = tcase_create("plans, state and target");
	tcase_add_test(t, a_plan_of_two_xorbs);
	tcase_add_loop_test(t, contradictory_plans_are_refused, 0, sizeof(BAD_PLANS) / sizeof(BAD_PLANS[0]));
	tcase_add_test(t, a_plan_of_too_many_chunks);
	tcase_add_test(t, a_plan_cut_anywhere);
	tcase_add_loop_test(t, a_plan_of_many_values, 0, 2);
	tcase_add_test(t, a_state_is_of_one_pull);
	tcase_add_test(t, windows_come_back_sorted);
	tcase_add_test(t, a_state_torn_anywhere);
	tcase_add_test(t, a_state_of_many_pages);
	tcase_add_test(t, a_part_is_writable_until_it_is_durable);
	suite_add_tcase(s, t);
	return run_suite(s);
}
