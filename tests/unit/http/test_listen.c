#include "server/http/listen.h"
#include "support/run.h"

#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct listen_address parse(const char *text)
{
	struct listen_address a;
	struct cairn_diag diag = {0};
	ck_assert_msg(listen_parse(text, &a, &diag) == CAIRN_OK, "%s: %s", text, diag.text);
	return a;
}

START_TEST(addresses_read_and_write)
{
	static const struct {
		const char *text, *as;
		bool loopback;
	} CASES[] = {
		{"127.0.0.1:8080", "127.0.0.1:8080", true},
		{"127.9.9.9:1", "127.9.9.9:1", true},
		{"localhost:80", "127.0.0.1:80", true},
		{"[::1]:65535", "[::1]:65535", true},
		{"[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", true},
		{"0.0.0.0:0", "0.0.0.0:0", false},
		{"[::]:8080", "[::]:8080", false},
		{"128.0.0.1:80", "128.0.0.1:80", false},
		{"[::ffff:10.0.0.1]:1", "[::ffff:10.0.0.1]:1", false},
		{"[2001:db8::1]:00080", "[2001:db8::1]:80", false},
		{"[2001:db8:1111:2222:3333:4444:5555:6666]:65535", "[2001:db8:1111:2222:3333:4444:5555:6666]:65535",
		 false},
	};
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		char text[LISTEN_TEXT_BYTES];
		struct listen_address a = parse(CASES[i].text);
		listen_text(&a, text);
		ck_assert_str_eq(text, CASES[i].as);
		ck_assert_msg(listen_is_loopback(&a) == CASES[i].loopback, "%s", CASES[i].text);
	}
}
END_TEST

START_TEST(invalid_addresses_are_refused)
{
	static const char *const TEXTS[] = {
		"",
		":",
		"8080",
		":8080",
		"127.0.0.1",
		"127.0.0.1:",
		"127.0.0.1:65536",
		"127.0.0.1:-1",
		"127.0.0.1:+1",
		"127.0.0.1:80x",
		"127.0.0.1:99999999999999999999",
		"127.0.0:80",
		"127.0.0.256:80",
		"example.org:80",
		"::1:80",
		"[::1]",
		"[::1]:",
		"[::1]80",
		"[]:80",
		"[127.0.0.1]:80",
		"[::g]:80",
		"[::1:80",
		"::1]:80",
		"[2001:db8:1111:2222:3333:4444:5555:6666:7777:8888:9999]:80",
		"*:80",
		" 127.0.0.1:80",
		"unix:",
		"unix:/",
		"unix:relative",
		"unix:/"
		"1234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
		"8901234567890",
	};
	for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
		struct listen_address a;
		struct cairn_diag diag = {0};
		ck_assert_msg(listen_parse(TEXTS[i], &a, &diag) == CAIRN_E_USAGE, "%s", TEXTS[i]);
		ck_assert_str_eq(diag.rule, "listen.address");
	}
}
END_TEST

/* Opens a socket that listens at the address in text. @param[out] port  the actual port */
static int open_at(const char *text, unsigned *port)
{
	int fd;
	char bound[LISTEN_TEXT_BYTES];
	struct listen_address a = parse(text);
	ck_assert_int_eq(listen_open(&a, &fd, NULL), CAIRN_OK);
	ck_assert_int_eq(listen_address_of(fd, &a), CAIRN_OK);
	listen_text(&a, bound);
	*port = (unsigned)strtoul(strrchr(bound, ':') + 1, NULL, 10);
	ck_assert_uint_gt(*port, 0);
	ck_assert_int_ne(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
	ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	return fd;
}

static bool can_connect(const char *host, unsigned port)
{
	char text[LISTEN_TEXT_BYTES];
	(void)snprintf(text, sizeof(text), "%s:%u", host, port);
	struct listen_address a = parse(text);
	int fd = socket(a.addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(fd, 0);
	const struct sockaddr_storage to = a.addr;
	bool ok = connect(fd, (const struct sockaddr *)&to, a.len) == 0;
	close(fd);
	return ok;
}

START_TEST(a_free_port_is_found_and_told)
{
	unsigned port;
	int fd = open_at("127.0.0.1:0", &port);
	ck_assert(can_connect("127.0.0.1", port));
	close(fd);
	ck_assert(!can_connect("127.0.0.1", port));
}
END_TEST

START_TEST(all_addresses_means_both_families)
{
	unsigned port;
	int fd = open_at("[::]:0", &port);
	ck_assert(can_connect("127.0.0.1", port));
	ck_assert(can_connect("[::1]", port));
	close(fd);
}
END_TEST

START_TEST(a_port_in_use_is_refused_by_name)
{
	unsigned port;
	int first = open_at("127.0.0.1:0", &port), second = 7;
	char text[LISTEN_TEXT_BYTES];
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u", port);
	struct listen_address a = parse(text);
	struct cairn_diag diag = {0};
	ck_assert_int_eq(listen_open(&a, &second, &diag), CAIRN_E_IO);
	ck_assert_int_eq(second, -1);
	ck_assert_ptr_nonnull(strstr(diag.text, text));
	ck_assert_ptr_nonnull(strstr(diag.text, "in use"));
	close(first);
}
END_TEST

/* Sets up what systemd passes: descriptor 3, and two variables. */
static enum cairn_status inherit(int fd3, const char *pid, const char *n_fds, int *fd)
{
	if (fd3 >= 0)
		(void)dup2(fd3, 3);
	(void)setenv("LISTEN_PID", pid, 1);
	(void)setenv("LISTEN_FDS", n_fds, 1);
	return listen_inherited(fd, NULL);
}

/* Runs in a child, because descriptor 3 is in use here. @return number of the first check that fails; 0: none */
static int inherit_all(int listening)
{
	char me[32];
	int fd = 9;
	(void)snprintf(me, sizeof(me), "%d", (int)getpid());
	if (listen_inherited(&fd, NULL) != CAIRN_OK || fd != -1)
		return 1;
	if (inherit(listening, "1", "1", &fd) != CAIRN_OK || fd != -1)
		return 2; /* the variables are for another process */
	if (inherit(listening, me, "0", &fd) != CAIRN_OK || fd != -1)
		return 3;
	if (inherit(listening, me, "1", &fd) != CAIRN_OK || fd != 3)
		return 4;
	if ((fcntl(3, F_GETFD) & FD_CLOEXEC) == 0 || (fcntl(3, F_GETFL) & O_NONBLOCK) == 0)
		return 5;
	if (inherit(listening, me, "2", &fd) != CAIRN_E_USAGE || fd != -1)
		return 6;
	if (inherit(open("/dev/null", O_RDONLY | O_CLOEXEC), me, "1", &fd) != CAIRN_E_USAGE)
		return 7;
	if (inherit(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), me, "1", &fd) != CAIRN_E_USAGE)
		return 8;
	return 0;
}

START_TEST(a_socket_may_be_handed_over)
{
	unsigned port;
	int listening = open_at("127.0.0.1:0", &port);
	ck_assert_int_eq(unsetenv("LISTEN_PID"), 0);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(inherit_all(listening));
	int status;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	close(listening);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("listen");
	TCase *tc = tcase_create("listen");
	tcase_add_test(tc, addresses_read_and_write);
	tcase_add_test(tc, invalid_addresses_are_refused);
	tcase_add_test(tc, a_free_port_is_found_and_told);
	tcase_add_test(tc, all_addresses_means_both_families);
	tcase_add_test(tc, a_port_in_use_is_refused_by_name);
	tcase_add_test(tc, a_socket_may_be_handed_over);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
