/* The list of system calls that the daemon may make. All others fail with ENOSYS, as on an older kernel, so that a
 * newer C library uses older calls instead. */
#include "server/sandbox/sandbox_parts.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The list leaves out execve, fork, socket, connect (but see below), bind, ptrace, mount, unshare, setuid and their
 * like, bpf, userfaultfd, io_uring, keyrings and modules. The listening socket is already open. Some architectures lack
 * some of the calls. */
static const char *const CALLS[] = {
	/* memory; mmap and mprotect have rules of their own */
	"brk", "madvise", "membarrier", "mremap", "msync", "munmap",
	/* threads; clone has its own rule; clone3 hides its flags from a filter, and the C library works without it */
	"exit", "exit_group", "futex", "get_robust_list", "gettid", "getcpu", "rseq", "sched_getaffinity",
	"sched_yield", "set_robust_list", "set_tid_address",
	/* signals */
	"restart_syscall", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend",
	"rt_sigtimedwait", "sigaltstack",
	/* clocks */
	"clock_getres", "clock_gettime", "clock_nanosleep", "gettimeofday", "nanosleep", "time",
	/* files: Landlock decides which ones */
	"access", "close", "copy_file_range", "dup", "dup2", "dup3", "faccessat", "faccessat2", "fadvise64",
	"fallocate", "fchmod", "fchmodat", "fchown", "fcntl", "fdatasync", "flock", "fstat", "fstatfs", "fsync",
	"ftruncate", "getcwd", "getdents64", "link", "linkat", "lseek", "lstat", "mkdir", "mkdirat", "newfstatat",
	"open", "openat", "pread64", "preadv", "pwrite64", "pwritev", "read", "readlink", "readlinkat", "readv",
	"rename", "renameat", "renameat2", "rmdir", "stat", "statfs", "statx", "sync_file_range", "syncfs", "umask",
	"unlink", "unlinkat", "write", "writev",
	/* connections */
	"accept", "accept4", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_wait", "eventfd2", "getpeername",
	"getsockname", "getsockopt", "poll", "ppoll", "pselect6", "recvfrom", "recvmsg", "select", "sendfile",
	"setsockopt", "shutdown", "socketpair",
	/* the process itself */
	"getegid", "geteuid", "getgid", "getpid", "getrandom", "getrlimit", "getrusage", "getuid", "sysinfo", "times",
	"uname"};

/* Calls with which sanitizers stop other threads, search for leaks and write reports. */
static const char *const CALLS_OF_SANITIZERS[] = {
	"clone", "execve",           "getdents", "getppid",           "kill",  "personality", "pipe", "pipe2",
	"prctl", "process_vm_readv", "ptrace",   "sched_setaffinity", "vfork", "wait4"};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CALLS_OF_SANITIZERS_TOO = 1 };
#else
enum { CALLS_OF_SANITIZERS_TOO = 0 };
#endif

static int calls_allow(scmp_filter_ctx filter, const char *name, unsigned n, const struct scmp_arg_cmp *args)
{
	int number = seccomp_syscall_resolve_name(name);
	return number < 0 ? 0 : seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, number, n, args);
}

static int calls_allow_all(scmp_filter_ctx filter, const char *const *names, size_t n)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = calls_allow(filter, names[i], 0, NULL);
	return rc;
}

/* Allows mapping memory that is writable or executable, but not both, and that never becomes executable later. */
static int calls_allow_memory(scmp_filter_ctx filter)
{
	static const int PROTECTIONS[] = {0, PROT_WRITE, PROT_EXEC};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < sizeof(PROTECTIONS) / sizeof(PROTECTIONS[0]); i++) {
		struct scmp_arg_cmp arg =
			SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_WRITE | PROT_EXEC, (scmp_datum_t)PROTECTIONS[i]);
		rc = calls_allow(filter, "mmap", 1, &arg);
	}
	struct scmp_arg_cmp not_executable = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	return rc != 0 ? rc : calls_allow(filter, "mprotect", 1, &not_executable);
}

/* Allows creating threads but no processes, sending signals to the process itself (abort), changing its own limits,
 * naming threads, and sending on existing connections: MSG_FASTOPEN would make new ones. */
static int calls_allow_some(scmp_filter_ctx filter)
{
	const scmp_datum_t self = (scmp_datum_t)getpid();
	const struct {
		const char *name;
		struct scmp_arg_cmp arg;
	} some[] = {
		{"clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)},
		{"kill", SCMP_A0(SCMP_CMP_EQ, self)},
		{"tgkill", SCMP_A0(SCMP_CMP_EQ, self)},
		{"prlimit64", SCMP_A0(SCMP_CMP_EQ, 0)},
		{"prlimit64", SCMP_A0(SCMP_CMP_EQ, self)},
		{"prctl", SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)},
		{"ioprio_set", SCMP_A1(SCMP_CMP_EQ, 0)},  /* only for its own threads */
		{"setpriority", SCMP_A1(SCMP_CMP_EQ, 0)}, /* only for its own threads */
		{"sendto", SCMP_A3(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0)},
		{"sendmsg", SCMP_A2(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0)},
	};
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < sizeof(some) / sizeof(some[0]); i++)
		rc = calls_allow(filter, some[i].name, 1, &some[i].arg);
	return rc;
}

/* Allows connecting to a store or an index elsewhere, and to name servers; Landlock limits the ports. Refuses other
 * families such as netlink, without which the C library works, and Unix sockets unless they are needed. */
static int calls_allow_connecting(scmp_filter_ctx filter, const struct sandbox_options *options)
{
	static const char *const NAMES[] = {"connect", "recvmmsg"};
	const struct {
		int family;
		bool wanted;
	} sockets[] = {
		{AF_INET, options->n_ports > 0}, {AF_INET6, options->n_ports > 0}, {AF_UNIX, options->by_socket}};
	int rc = calls_allow_all(filter, NAMES, sizeof(NAMES) / sizeof(NAMES[0]));
	for (size_t i = 0; rc == 0 && i < sizeof(sockets) / sizeof(sockets[0]); i++) {
		struct scmp_arg_cmp arg = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)sockets[i].family);
		rc = sockets[i].wanted ? calls_allow(filter, "socket", 1, &arg) : 0;
	}
	struct scmp_arg_cmp readable = SCMP_A1(SCMP_CMP_EQ, FIONREAD);
	struct scmp_arg_cmp connected = SCMP_A3(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, 0);
	if (rc == 0)
		rc = calls_allow(filter, "ioctl", 1, &readable);
	return rc != 0 ? rc : calls_allow(filter, "sendmmsg", 1, &connected);
}

int sandbox_calls(const struct sandbox_options *options)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	if (!filter)
		return ENOMEM;
	/* Compile the filter to a tree of comparisons, not a list, because it runs for each call. (Since 2.5.) */
	int rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (rc == 0)
		rc = calls_allow_all(filter, CALLS, sizeof(CALLS) / sizeof(CALLS[0]));
	if (rc == 0 && CALLS_OF_SANITIZERS_TOO)
		rc = calls_allow_all(filter, CALLS_OF_SANITIZERS,
				     sizeof(CALLS_OF_SANITIZERS) / sizeof(CALLS_OF_SANITIZERS[0]));
	if (rc == 0)
		rc = calls_allow_memory(filter);
	if (rc == 0)
		rc = calls_allow_some(filter);
	if (rc == 0 && (options->n_ports > 0 || options->by_socket))
		rc = calls_allow_connecting(filter, options);
	if (rc == 0)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return rc < 0 ? -rc : rc;
}
