/* Tests what the sandbox allows and forbids. Each test enters it in a process of its own, because Check itself makes
 * forbidden calls after a test. If the kernel lacks a part of the sandbox, its tests check nothing. */
#include "server/sandbox/sandbox.h"

#include "support/run.h"
#include "support/tempdir.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct tempdir root;
static char *data, *keys, *key, *other;
static struct sandbox_report report;

/* Runs outside the sandbox, once for all tests. */
static void setup(void)
{
	root = tempdir_new();
	data = tempdir_path(&root, "data");
	keys = tempdir_path(&root, "keys");
	key = tempdir_path(&root, "keys/key");
	other = tempdir_path(&root, "other");
	ck_assert_int_eq(mkdir(data, 0700), 0);
	ck_assert_int_eq(mkdir(keys, 0700), 0);
	tempdir_write(&root, "keys/key", "one", 3);
	tempdir_write(&root, "other", "not mine", 8);
}

static void teardown(void)
{
	tempdir_textp(&data);
	tempdir_textp(&keys);
	tempdir_textp(&key);
	tempdir_textp(&other);
	tempdir_fini(&root);
}

static uint16_t ports[1];
static size_t n_ports;
static bool by_socket;

static enum cairn_status enter(enum sandbox_mode mode, struct cairn_diag *diag)
{
	const char *const readable[] = {NULL, key};
	const struct sandbox_options options = {mode, data, readable, 2, ports, n_ports, by_socket};
	return sandbox_enter(&options, &report, diag);
}

/* Tries to open a file. @return 0, or the errno */
static int opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	(void)close(fd);
	return 0;
}

static void files_of_its_own_alone(void)
{
	CLEANUP(tempdir_textp) char *a = tempdir_path(&root, "data/a");
	CLEANUP(tempdir_textp) char *b = tempdir_path(&root, "data/objects/b");
	CLEANUP(tempdir_textp) char *folder = tempdir_path(&root, "data/objects");
	ck_assert_int_eq(enter(SANDBOX_AUTO, NULL), CAIRN_OK);
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	ck_assert_int_eq(opens(a, O_RDWR | O_CREAT), 0);
	ck_assert_int_eq(opens(a, O_RDWR | O_TRUNC), 0);
	ck_assert_int_eq(opens(data, O_RDWR | O_TMPFILE), 0);
	ck_assert_int_eq(link(a, b), 0); /* a link from one folder to another */
	ck_assert_int_eq(rename(b, a), 0);
	ck_assert_int_eq(unlink(a), 0);
	if (!report.files)
		return;
	ck_assert_int_eq(opens(other, O_RDONLY), EACCES);
	ck_assert_int_eq(opens(other, O_WRONLY), EACCES);
	ck_assert_int_eq(opens("/etc/passwd", O_RDONLY), EACCES);
	ck_assert_int_eq(opens(keys, O_RDWR | O_TMPFILE), EACCES);
	ck_assert_int_eq(opens(key, O_RDWR), EACCES);
	ck_assert_int_eq(unlink(key), -1);
	ck_assert_int_eq(link(other, a), -1);
	ck_assert_int_eq(opens("/dev/urandom", O_RDONLY), 0);
}

/* On SIGHUP the daemon reads keys, which are new files with the old names. */
static void keys_that_are_exchanged_are_read(void)
{
	CLEANUP(tempdir_textp) char *fresh = tempdir_path(&root, "fresh");
	char trigger;
	int tell[2];
	ck_assert_int_eq(pipe2(tell, O_CLOEXEC), 0);
	pid_t outside = fork();
	if (outside == 0) {
		ssize_t n = read(tell[0], &trigger, 1);
		tempdir_write(&root, "fresh", "two", 3);
		_exit(n == 1 && rename(fresh, key) == 0 ? 0 : 1);
	}
	ck_assert_int_gt(outside, 0);
	struct stat before, after;
	ck_assert_int_eq(stat(key, &before), 0);
	ck_assert_int_eq(enter(SANDBOX_AUTO, NULL), CAIRN_OK);
	ck_assert_int_eq(write(tell[1], "x", 1), 1);
	do { /* the poll ends by itself; Check's time limit bounds the loop */
		ck_assert_int_eq(stat(key, &after), 0);
	} while (before.st_ino == after.st_ino);
	ck_assert_int_eq(opens(key, O_RDONLY), 0);
}

static void *thread_main(void *arg)
{
	*(bool *)arg = true;
	return NULL;
}

static void calls_that_serving_needs(void)
{
	pthread_t thread;
	bool ran = false;
	ck_assert_int_eq(enter(SANDBOX_AUTO, NULL), CAIRN_OK);
	ck_assert_int_eq(pthread_create(&thread, NULL, thread_main, &ran), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(ran);
	void *heap = malloc(64 << 20);
	ck_assert_ptr_nonnull(heap);
	free(heap);
	ck_assert_int_eq(kill(getpid(), 0), 0);
	ck_assert_int_eq((int)syscall(SYS_tgkill, getpid(), gettid(), 0), 0);
	struct rlimit files;
	ck_assert_int_eq(prlimit(getpid(), RLIMIT_NOFILE, NULL, &files), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
}

/* A socket made before the sandbox (an intruder finds the listening one) cannot connect, or send to an address. */
static void calls_that_connect_by_sending(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = 1};
	char byte = 'x';
	struct iovec one = {&byte, 1};
	struct msghdr message = {.msg_name = &any, .msg_namelen = sizeof(any), .msg_iov = &one, .msg_iovlen = 1};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), pair[2];
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(enter(SANDBOX_AUTO, NULL), CAIRN_OK);
	ck_assert_int_eq(sendto(pair[0], &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0), 1);
	message.msg_name = NULL;
	ck_assert_int_eq(sendmsg(pair[0], &message, MSG_NOSIGNAL | MSG_MORE), 1);
	if (!report.calls)
		return;
	message.msg_name = &any;
	ck_assert_int_eq(sendto(fd, &byte, 1, MSG_FASTOPEN, (const struct sockaddr *)&any, sizeof(any)), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(sendto(fd, &byte, 1, MSG_FASTOPEN | MSG_NOSIGNAL, (const struct sockaddr *)&any, sizeof(any)),
			 -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(sendmsg(fd, &message, MSG_FASTOPEN), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(sendmmsg(fd, &(struct mmsghdr){.msg_hdr = message}, 1, MSG_FASTOPEN), -1);
	ck_assert_int_eq(errno, ENOSYS);
}

/* Makes a listening socket, on a port of its own. */
static int listening(struct sockaddr_in *address)
{
	socklen_t len = sizeof(*address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)address, sizeof(*address)), 0);
	ck_assert_int_eq(listen(fd, 1), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)address, &len), 0);
	return fd;
}

/* Tries to connect. @return 0, or the errno */
static int connects(const struct sockaddr_in *address)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	int error = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ? 0 : errno;
	(void)close(fd);
	return error;
}

/* Connections to a store on another machine are allowed, and no others. */
static void connections_to_the_store_alone(void)
{
	struct sockaddr_in store, stranger;
	char byte = 'x';
	struct iovec one = {&byte, 1};
	struct mmsghdr message = {
		.msg_hdr = {.msg_name = &stranger, .msg_namelen = sizeof(stranger), .msg_iov = &one, .msg_iovlen = 1}};
	int a = listening(&store), b = listening(&stranger);
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
	ports[0] = ntohs(store.sin_port);
	n_ports = 1;
	ck_assert_int_eq(enter(SANDBOX_AUTO, NULL), CAIRN_OK);
	ck_assert_int_eq(connects(&store), 0);
	if (report.files && abi >= 4)
		ck_assert_int_eq(connects(&stranger), EACCES);
	if (!report.calls)
		return;
	ck_assert_int_eq(socket(AF_UNIX, SOCK_STREAM, 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(socket(AF_NETLINK, SOCK_RAW, 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(bind(a, (const struct sockaddr *)&store, sizeof(store)), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(sendmmsg(b, &message, 1, MSG_FASTOPEN), -1);
	ck_assert_int_eq(errno, ENOSYS);
}

/* Connections to a Unix socket are allowed, and none to a port. */
static void connections_by_socket_alone(void)
{
	struct sockaddr_un local = {.sun_family = AF_UNIX};
	(void)snprintf(local.sun_path, sizeof(local.sun_path), "%s/socket", root.path);
	int a = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(a, (const struct sockaddr *)&local, sizeof(local)), 0);
	ck_assert_int_eq(listen(a, 1), 0);
	by_socket = true;
	ck_assert_int_eq(enter(SANDBOX_AUTO, NULL), CAIRN_OK);
	int b = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(b, 0);
	ck_assert_int_eq(connect(b, (const struct sockaddr *)&local, sizeof(local)), 0);
	if (!report.calls)
		return;
	ck_assert_int_eq(socket(AF_INET, SOCK_STREAM, 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
}

static void calls_on_other_processes(void)
{
	struct rlimit files;
	ck_assert_int_eq(enter(SANDBOX_AUTO, NULL), CAIRN_OK);
	if (!report.calls)
		return;
	ck_assert_int_eq((int)syscall(SYS_tgkill, getppid(), getppid(), 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(prlimit(getppid(), RLIMIT_NOFILE, NULL, &files), -1);
	ck_assert_int_eq(errno, ENOSYS);
}

static void calls_that_only_an_intruder_needs(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(enter(SANDBOX_AUTO, NULL), CAIRN_OK);
	if (!report.calls)
		return;
	ck_assert_int_eq(socket(AF_INET, SOCK_STREAM, 0), -1);
	ck_assert_int_eq(errno, ENOSYS);
	ck_assert_int_eq(bind(fd, (const struct sockaddr *)&any, sizeof(any)), -1);
	ck_assert_int_eq(connect(fd, (const struct sockaddr *)&any, sizeof(any)), -1);
	/* not setuid(): the C library makes all threads call it, even a sanitizer's thread */
	ck_assert_int_eq((int)syscall(SYS_setuid, getuid()), -1);
	ck_assert_int_eq(unshare(CLONE_NEWUSER), -1);
	ck_assert_int_eq(chmod(data, 0777), -1);
	ck_assert_int_eq((int)syscall(SYS_keyctl, 0, 0), -1);
	ck_assert_int_eq((int)syscall(SYS_io_uring_setup, 1, NULL), -1);
	ck_assert_int_eq(errno, ENOSYS);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	char *const argv[] = {(char[]){"true"}, NULL};
	ck_assert_int_eq(execve("/bin/true", argv, argv + 1), -1);
	ck_assert_int_eq(fork(), -1);
	ck_assert_int_eq(kill(getppid(), 0), -1);
#endif
}

static void memory_is_not_written_and_then_run(void)
{
	ck_assert_int_eq(enter(SANDBOX_AUTO, NULL), CAIRN_OK);
	if (!report.code)
		return;
	const int map = MAP_PRIVATE | MAP_ANONYMOUS;
	ck_assert_ptr_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, map, -1, 0), MAP_FAILED);
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, map, -1, 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	ck_assert_int_eq(mprotect(page, 4096, PROT_READ | PROT_EXEC), -1);
	ck_assert_int_eq(mprotect(page, 4096, PROT_READ), 0);
	ck_assert_int_eq(munmap(page, 4096), 0);
}

static void off_is_off(void)
{
	ck_assert_int_eq(enter(SANDBOX_OFF, NULL), CAIRN_OK);
	ck_assert_str_eq(report.text, "off");
	ck_assert(!report.files && !report.calls && !report.code && report.missing[0] == 0);
	ck_assert_int_eq(opens(other, O_RDONLY), 0);
}

/* Forbids a call, as a container's runtime does; or lets it fail, as on an older kernel. */
static void forbid(const char *name, int error)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	ck_assert_ptr_nonnull(filter);
	ck_assert_int_eq(
		seccomp_rule_add(filter, SCMP_ACT_ERRNO((unsigned)error), seccomp_syscall_resolve_name(name), 0), 0);
	ck_assert_int_eq(seccomp_load(filter), 0);
	seccomp_release(filter);
}

static void auto_does_without_what_is_not_let_in(void)
{
	forbid("landlock_create_ruleset", ENOSYS);
	ck_assert_int_eq(enter(SANDBOX_AUTO, NULL), CAIRN_OK);
	ck_assert(!report.files);
	ck_assert_ptr_nonnull(strstr(report.missing, "files (Landlock): Function not implemented"));
	ck_assert_int_eq(opens(other, O_RDONLY), 0);
}

static void on_does_not_do_without(void)
{
	struct cairn_diag diag = {0};
	forbid("landlock_create_ruleset", EPERM);
	ck_assert_int_eq(enter(SANDBOX_ON, &diag), CAIRN_E_IO);
	ck_assert_str_eq(diag.rule, "sandbox");
	ck_assert_ptr_nonnull(strstr(diag.text, "files (Landlock): Operation not permitted"));
}

static void nothing_at_all_is_let_in(void)
{
	forbid("prctl", EPERM);
	ck_assert_int_eq(enter(SANDBOX_AUTO, NULL), CAIRN_OK);
	ck_assert_str_eq(report.text, "none");
}

static void (*const TESTS[])(void) = {
	files_of_its_own_alone,
	keys_that_are_exchanged_are_read,
	calls_that_serving_needs,
	calls_that_only_an_intruder_needs,
	calls_that_connect_by_sending,
	connections_to_the_store_alone,
	connections_by_socket_alone,
	calls_on_other_processes,
	memory_is_not_written_and_then_run,
	off_is_off,
	auto_does_without_what_is_not_let_in,
	on_does_not_do_without,
	nothing_at_all_is_let_in,
};

START_TEST(in_a_process_of_its_own)
{
	int status = 0;
	pid_t inside = fork();
	if (inside == 0) {
		TESTS[_i]();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(inside, &status, 0), inside);
	ck_assert_msg(status == 0, "test %d: wait status %d", _i, status);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sandbox");
	TCase *tcase = tcase_create("sandbox");
	tcase_add_unchecked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, in_a_process_of_its_own, 0, sizeof(TESTS) / sizeof(TESTS[0]));
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
