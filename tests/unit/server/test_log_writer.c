/* The log with its thread: which lines come to standard error, and when, whether or not somebody reads it. */
#include "base/clock.h"
#include "server/log/log.h"
#include "server/log/log_ring.h"
#include "server/log/log_writer.h"
#include "support/run.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { INTERVAL_MS = 100, PATIENCE_MS = 20000, THREADS = 4, LINES = 300 };

/* Redirects standard error to a file. @return the file, for reading */
static int log_to_file(void)
{
	char path[] = "/tmp/cairn_log_XXXXXX";
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	int reader = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(reader, 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_eq(log_start(), CAIRN_OK);
	return reader;
}

/* Redirects standard error to a pipe. @return the end to read */
static int log_to_pipe(void)
{
	int ends[2];
	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
	ck_assert_int_eq(close(ends[1]), 0);
	ck_assert_int_eq(log_start(), CAIRN_OK);
	return ends[0];
}

/* Returns the whole file as text. */
static const char *log_text(int fd)
{
	static char text[4 << 20];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	return text;
}

static unsigned text_lines(const char *text)
{
	unsigned n = 0;
	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

/* Waits until a file has this many lines, within a deadline. */
static void log_must_have(int fd, unsigned lines)
{
	int64_t until_ms = cairn_clock_mono_ms() + PATIENCE_MS;
	while (text_lines(log_text(fd)) < lines) {
		ck_assert_msg(cairn_clock_mono_ms() < until_ms, "%u lines, not %u", text_lines(log_text(fd)), lines);
		(void)poll(NULL, 0, 1);
	}
}

static uint64_t log_dropped_lines(void)
{
	uint64_t lines, dropped;
	log_writer_counts(&lines, &dropped);
	return dropped;
}

/* --- a reader that keeps up --------------------------------------------------------------------------------------- */

static void *log_many(void *arg)
{
	unsigned thread = *(unsigned *)arg;
	for (unsigned i = 0; i < LINES; i++)
		LOG(LOG_INFO, "line", LOG_N("thread", thread), LOG_N("number", i));
	return NULL;
}

/* The last line is logged just before the end. */
START_TEST(all_is_written_in_order_at_the_end)
{
	int fd = log_to_file();
	pthread_t threads[THREADS];
	unsigned numbers[THREADS], next[THREADS] = {0};
	for (unsigned i = 0; i < THREADS; i++) {
		numbers[i] = i;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, log_many, &numbers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	log_event(LOG_INFO, "stopped", NULL, 0);
	log_stop();
	const char *line = log_text(fd);
	ck_assert_uint_eq(text_lines(line), THREADS * LINES + 1);
	for (unsigned i = 0; i < THREADS * LINES; i++, line = strchr(line, '\n') + 1) {
		unsigned thread, number;
		const char *fields = strstr(line, "\"event\"");
		ck_assert_ptr_nonnull(fields);
		ck_assert_int_eq(sscanf(fields, "\"event\":\"line\",\"thread\":%u,\"number\":%u}\n", &thread, &number),
				 2);
		ck_assert_uint_eq(number, next[thread]++);
	}
	ck_assert_ptr_nonnull(strstr(line, "\"event\":\"stopped\"}\n"));
	ck_assert_uint_eq(log_dropped_lines(), 0);
}
END_TEST

/* A line is written even if no other follows, because the thread sleeps again each time. */
START_TEST(a_line_is_written_after_an_interval)
{
	int fd = log_to_file();
	for (unsigned i = 1; i <= 3; i++) {
		log_event(LOG_INFO, "line", NULL, 0);
		log_must_have(fd, i);
	}
	log_stop();
}
END_TEST

/* Logs a line of that level. @return milliseconds until the file has `lines` lines, including the new one */
static int64_t log_wait_ms(int fd, enum log_level level, unsigned lines)
{
	int64_t began_ms = cairn_clock_mono_ms();
	log_event(level, "line", NULL, 0);
	log_must_have(fd, lines);
	return cairn_clock_mono_ms() - began_ms;
}

/* Other lines wait for up to an interval. Both kinds alternate, so that a busy machine delays them alike. */
START_TEST(a_warning_is_written_at_once)
{
	enum { N = 20 };
	int fd = log_to_file();
	int64_t usual_ms = 0, warning_ms = 0;
	for (unsigned i = 1; i <= N; i++) {
		usual_ms += log_wait_ms(fd, LOG_INFO, 2 * i - 1);
		warning_ms += log_wait_ms(fd, _i == 0 ? LOG_WARNING : LOG_ERROR, 2 * i);
	}
	ck_assert_int_gt(usual_ms - warning_ms, N * INTERVAL_MS / 4);
	log_stop();
}
END_TEST

START_TEST(a_refusal_keeps_its_place)
{
	int fd = log_to_file();
	log_event(LOG_INFO, "before", NULL, 0);
	log_refusal("no\nmore");
	log_event(LOG_INFO, "after", NULL, 0);
	log_stop();
	const char *text = log_text(fd), *refusal = strstr(text, "\ncairnd: no\\x0amore\n");
	ck_assert_msg(refusal != NULL, "%s", text);
	ck_assert(strstr(text, "before") < refusal);
	ck_assert(strstr(text, "after") > refusal);
}
END_TEST

START_TEST(a_flush_waits_until_all_is_written)
{
	int fd = log_to_file();
	for (unsigned i = 1; i <= 100; i++) {
		log_event(LOG_INFO, "line", NULL, 0);
		log_flush();
		ck_assert_uint_eq(text_lines(log_text(fd)), i);
	}
	log_stop();
	log_flush(); /* harmless without the thread; the next line needs no thread */
	log_event(LOG_INFO, "line", NULL, 0);
	ck_assert_uint_eq(text_lines(log_text(fd)), 101);
	log_stop();
}
END_TEST

/* --- a reader that stops ------------------------------------------------------------------------------------------ */

static char long_text[1001];

static void log_more_than_fits(void)
{
	memset(long_text, 'x', sizeof(long_text) - 1);
	for (unsigned i = 0; i < 2 * LOG_RING_CELLS; i++)
		LOG(i % 1000 == 0 ? LOG_ERROR : LOG_INFO, "line", LOG_T("text", long_text));
}

/* A reader that stops reading blocks neither the logging threads nor the end. */
START_TEST(a_reader_that_stands_still_stops_nobody)
{
	(void)log_to_pipe();
	log_more_than_fits();
	ck_assert_uint_gt(log_dropped_lines(), 0);
	log_flush();
	log_stop();
}
END_TEST

/* The log then says how many lines are missing. No line is torn. */
START_TEST(a_returning_reader_learns_how_many_lines_are_missing)
{
	int fd = log_to_pipe();
	static char line[LOG_LINE_BYTES_MAX];
	unsigned n = 0;
	int64_t missing = 0;
	log_more_than_fits();
	uint64_t dropped = log_dropped_lines();
	FILE *in = fdopen(fd, "r");
	ck_assert_ptr_nonnull(in);
	while (missing == 0 && fgets(line, sizeof(line), in)) {
		const char *told = strstr(line, "\"event\":\"log_dropped\",\"lines\":");
		ck_assert_msg(strncmp(line, "{\"time\":", 8) == 0 && strstr(line, "}\n"), "torn: %s", line);
		if (told)
			missing = strtoll(told + 30, NULL, 10);
		else
			n++;
	}
	ck_assert_int_eq(missing, (int64_t)dropped);
	ck_assert_uint_eq(n + dropped, 2 * LOG_RING_CELLS);
	log_stop();
	ck_assert_int_eq(fclose(in), 0);
}
END_TEST

START_TEST(a_reader_that_has_gone_stops_nobody)
{
	int fd = log_to_pipe();
	(void)signal(SIGPIPE, SIG_IGN);
	ck_assert_int_eq(close(fd), 0);
	for (unsigned i = 1; i <= 10; i++) {
		log_event(LOG_ERROR, "wrong", NULL, 0);
		log_flush();
		ck_assert_uint_eq(log_dropped_lines(), i);
	}
	log_stop();
}
END_TEST

static void file_limit(rlim_t bytes)
{
	struct rlimit limit;
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The first text that is written when space is free again begins on a new line. */
START_TEST(a_full_disk_tears_no_line_that_comes_later)
{
	(void)signal(SIGXFSZ, SIG_IGN);
	int fd = log_to_file();
	file_limit(20);
	log_event(LOG_ERROR, "lost", NULL, 0);
	log_event(LOG_ERROR, "lost", NULL, 0);
	log_flush();
	ck_assert_uint_eq(log_dropped_lines(), 2);
	ck_assert_uint_eq(strlen(log_text(fd)), 20);
	file_limit(RLIM_INFINITY);
	log_event(LOG_ERROR, "found", NULL, 0);
	log_stop();
	const char *text = log_text(fd);
	ck_assert_uint_eq(text_lines(text), 3);
	ck_assert_msg(text[20] == '\n' && text[21] == '{' && strstr(text, "\"event\":\"found\"}\n"), "%s", text);
	ck_assert_msg(strstr(text, "\"event\":\"log_dropped\",\"lines\":2}\n") != NULL, "%s", text);
}
END_TEST

/* Another process with the same standard error may have made it non-blocking. */
START_TEST(standard_error_need_not_block)
{
	int fd = log_to_pipe(), flags = fcntl(STDERR_FILENO, F_GETFL);
	static char text[64 * 1024];
	ck_assert_int_eq(fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK), 0);
	unsigned n = 0;
	memset(long_text, 'x', sizeof(long_text) - 1);
	for (unsigned i = 0; i < LOG_RING_CELLS / 4; i++)
		LOG(LOG_INFO, "line", LOG_T("text", long_text));
	while (n < LOG_RING_CELLS / 4) {
		ssize_t got = read(fd, text, sizeof(text) - 1);
		ck_assert_int_gt(got, 0);
		text[got] = '\0';
		n += text_lines(text);
	}
	log_stop();
	ck_assert_uint_eq(log_dropped_lines(), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("log_writer");
	TCase *t = tcase_create("log_writer");
	tcase_add_test(t, all_is_written_in_order_at_the_end);
	tcase_add_test(t, a_line_is_written_after_an_interval);
	tcase_add_loop_test(t, a_warning_is_written_at_once, 0, 2);
	tcase_add_test(t, a_refusal_keeps_its_place);
	tcase_add_test(t, a_flush_waits_until_all_is_written);
	tcase_add_test(t, a_reader_that_stands_still_stops_nobody);
	tcase_add_test(t, a_returning_reader_learns_how_many_lines_are_missing);
	tcase_add_test(t, a_reader_that_has_gone_stops_nobody);
	tcase_add_test(t, a_full_disk_tears_no_line_that_comes_later);
	tcase_add_test(t, standard_error_need_not_block);
	suite_add_tcase(suite, t);
	return run_suite(suite);
}
