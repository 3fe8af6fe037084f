/* Calls that signals interrupt: each is interrupted twice and made three times. */
#include "base/sys.h"
#include "support/run.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags);
ssize_t __wrap_recv(int fd, void *out, size_t len, int flags);
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left);
int __wrap_mkostemp64(char *path, int flags);
int __wrap_posix_fallocate64(int fd, off_t offset, off_t len);

static int n_calls;

static int answer(void)
{
	errno = EINTR;
	return ++n_calls < 3 ? -1 : 7;
}

static int last_timeout_ms;

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	(void)fds;
	(void)n;
	last_timeout_ms = timeout_ms;
	return answer();
}

static int connect_error; /* errno of later calls */

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t len)
{
	(void)fd;
	(void)address;
	(void)len;
	errno = ++n_calls == 1 ? EINTR : connect_error;
	return errno == 0 ? 0 : -1;
}

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *len, int flags)
{
	(void)fd;
	(void)address;
	(void)len;
	(void)flags;
	return answer();
}

ssize_t __wrap_recv(int fd, void *out, size_t len, int flags)
{
	(void)fd;
	(void)out;
	(void)len;
	(void)flags;
	return answer();
}

int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left)
{
	*left = (struct timespec){.tv_sec = wanted->tv_sec - 1, .tv_nsec = wanted->tv_nsec};
	return answer() < 0 ? -1 : 0;
}

int __wrap_mkostemp64(char *path, int flags)
{
	(void)flags;
	ck_assert_str_eq(path, "/tmp/x.XXXXXX");
	memcpy(path + 7, "abcdef", 6);
	return answer();
}

int __wrap_posix_fallocate64(int fd, off_t offset, off_t len)
{
	(void)fd;
	(void)offset;
	(void)len;
	return ++n_calls < 3 ? EINTR : ENOSPC;
}

static void setup(void)
{
	n_calls = 0;
}

START_TEST(calls_are_repeated)
{
	char path[] = "/tmp/x.XXXXXX";
	ck_assert_int_eq(cairn_sys_accept4(3, NULL, NULL, 0), 7);
	ck_assert_int_eq(n_calls, 3);
	n_calls = 0;
	ck_assert_int_eq(cairn_sys_recv(3, NULL, 0, 0), 7);
	ck_assert_int_eq(n_calls, 3);
	n_calls = 0;
	cairn_sys_sleep_ms(5000);
	ck_assert_int_eq(n_calls, 3);
	n_calls = 0;
	ck_assert_int_eq(cairn_sys_mkostemp(path, 0), 7);
	ck_assert_str_eq(path, "/tmp/x.abcdef");
	n_calls = 0;
	ck_assert_int_eq(cairn_sys_posix_fallocate(3, 0, 1), ENOSPC);
	ck_assert_int_eq(n_calls, 3);
}
END_TEST

START_TEST(poll_waits_no_longer)
{
	static const int TIMEOUTS_MS[] = {-1, 0, 1000};
	for (int i = 0; i < 3; i++) {
		n_calls = 0;
		ck_assert_int_eq(cairn_sys_poll(NULL, 0, TIMEOUTS_MS[i]), 7);
		ck_assert_int_eq(n_calls, 3);
		ck_assert_int_le(last_timeout_ms, TIMEOUTS_MS[i]);
		ck_assert_int_ge(last_timeout_ms, TIMEOUTS_MS[i] < 0 ? -1 : 0);
	}
}
END_TEST

/* The first call has begun to connect. The second reports that the socket is connected, or still connecting. */
START_TEST(connect_goes_on)
{
	int pair[2];
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	static const int ERRORS[] = {0, EISCONN, EALREADY};
	for (int i = 0; i < 3; i++) {
		n_calls = 0;
		connect_error = ERRORS[i];
		ck_assert_int_eq(cairn_sys_connect(pair[0], NULL, 0), 0);
	}
	connect_error = ECONNREFUSED;
	n_calls = 0;
	ck_assert_int_eq(cairn_sys_connect(pair[0], NULL, 0), -1);
	ck_assert_int_eq(errno, ECONNREFUSED);
	(void)close(pair[0]);
	(void)close(pair[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sys");
	TCase *tc = tcase_create("sys");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, calls_are_repeated);
	tcase_add_test(tc, poll_waits_no_longer);
	tcase_add_test(tc, connect_goes_on);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
