/* Uses Landlock by raw system calls: the C library of Debian 12 has no wrappers, and its linux/landlock.h lacks newer
 * features. See Documentation/userspace-api/landlock.rst of the kernel. */
#include "base/sys.h"
#include "server/sandbox/sandbox_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	FILES_ABI_MIN = 2, /* earlier versions forbid links between folders, which are needed to store an object */
	FILES_ABI_TRUNCATE = 3,
	FILES_ABI_NET = 4,
	FILES_ABI_IOCTL = 5,
	FILES_ABI_SCOPE = 6,
};

#define FILES_TRUNCATE  (UINT64_C(1) << 14)
#define FILES_IOCTL_DEV (UINT64_C(1) << 15)
#define FILES_NET_ALL   UINT64_C(3) /* binding and connecting TCP */
#define FILES_CONNECT   UINT64_C(2)
#define FILES_RULE_PORT 2
#define FILES_SCOPE_ALL UINT64_C(3) /* other processes' abstract sockets, and signals to them */
#define FILES_READ      ((uint64_t)(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR))
#define FILES_ALL_V2    ((uint64_t)LANDLOCK_ACCESS_FS_REFER * 2 - 1)
#define FILES_OWN                                                                                                      \
	(FILES_READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REFER | FILES_TRUNCATE)

/* The struct of the newest kernel. Older kernels accept it if the members that they do not know are zero. */
struct files_ruleset {
	uint64_t handled_fs, handled_net, scoped;
};

/* Files that libraries read while the daemon runs: random bytes (SQLite), configuration, the number of processors, and
 * a library that the C library loads to end a thread or a process. */
static const char *const FILES_OF_THE_SYSTEM[] = {
	"/dev/urandom",
	"/dev/null",
	"/etc/ssl",
	"/etc/localtime",
	"/usr/lib",
	"/lib",
	"/lib64",
	"/usr/share/zoneinfo",
	"/sys/devices/system/cpu",
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	"/proc", /* read by the sanitizers' reports */
#endif
};

/* Further files that are read to resolve the name of another machine and to verify its certificate. */
static const char *const FILES_OF_CONNECTIONS[] = {
	"/etc/resolv.conf",
	"/etc/hosts",
	"/etc/nsswitch.conf",
	"/etc/host.conf",
	"/etc/gai.conf",
	"/etc/ld.so.cache",
	"/usr/share/ca-certificates",
	"/usr/local/share/ca-certificates",
	"/etc/services",
	"/run/systemd/resolve",
	"/etc/passwd", /* libpq looks up the user in it */
};

enum { FILES_PORT_OF_NAMES = 53 };

/* The struct of the newest kernel. */
struct files_port_rule {
	uint64_t allowed_access, port;
};

static int files_allow(int ruleset, const char *path, uint64_t rights, uint64_t handled)
{
	struct landlock_path_beneath_attr rule = {.parent_fd = cairn_sys_open(path, O_PATH | O_CLOEXEC, 0)};
	struct stat st;
	if (rule.parent_fd < 0)
		return 0; /* a later attempt to open it fails, too, and is reported */
	rule.allowed_access = rights & handled;
	if (cairn_sys_fstat(rule.parent_fd, &st) == 0 && !S_ISDIR(st.st_mode))
		rule.allowed_access &= ~(uint64_t)LANDLOCK_ACCESS_FS_READ_DIR;
	long rc = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	int error = rc == 0 ? 0 : errno;
	(void)close(rule.parent_fd);
	return error;
}

/* Allows reading a file that may be replaced. The replacement is a new file of the same name, so its folder may be
 * read, and also the folder to which a symbolic link leads. */
static int files_allow_again(int ruleset, const char *path, uint64_t handled)
{
	char copy[PATH_MAX], real[PATH_MAX];
	struct stat st;
	if (strlen(path) >= sizeof(copy) || cairn_sys_stat(path, &st) != 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		return files_allow(ruleset, path, FILES_READ, handled);
	memcpy(copy, path, strlen(path) + 1);
	int error = files_allow(ruleset, dirname(copy), FILES_READ, handled);
	if (error == 0 && realpath(path, real))
		error = files_allow(ruleset, dirname(real), FILES_READ, handled);
	return error;
}

/* Allows TCP connections to a port. UDP, which name lookups use, is not restricted. */
static int files_allow_port(int ruleset, uint64_t port)
{
	const struct files_port_rule rule = {.allowed_access = FILES_CONNECT, .port = port};
	return syscall(SYS_landlock_add_rule, ruleset, FILES_RULE_PORT, &rule, 0) == 0 ? 0 : errno;
}

static int files_allow_connecting(int ruleset, const struct sandbox_options *options, uint64_t handled,
				  uint64_t handled_net)
{
	int error = 0;
	for (size_t i = 0; error == 0 && i < sizeof(FILES_OF_CONNECTIONS) / sizeof(FILES_OF_CONNECTIONS[0]); i++)
		error = files_allow(ruleset, FILES_OF_CONNECTIONS[i], FILES_READ, handled);
	for (size_t i = 0; error == 0 && handled_net != 0 && i < options->n_ports; i++)
		error = files_allow_port(ruleset, options->ports[i]);
	if (error == 0 && handled_net != 0 && options->n_ports > 0)
		error = files_allow_port(ruleset, FILES_PORT_OF_NAMES);
	return error;
}

static int files_allow_all(int ruleset, const struct sandbox_options *options, uint64_t handled)
{
	int error = files_allow(ruleset, options->data_dir, FILES_OWN, handled);
	for (size_t i = 0; error == 0 && i < options->n_readable; i++)
		if (options->readable[i])
			error = files_allow_again(ruleset, options->readable[i], handled);
	for (size_t i = 0; error == 0 && i < sizeof(FILES_OF_THE_SYSTEM) / sizeof(FILES_OF_THE_SYSTEM[0]); i++)
		error = files_allow(ruleset, FILES_OF_THE_SYSTEM[i], FILES_READ, handled);
#ifdef CAIRN_COVERAGE_DIR
	if (error == 0)
		error = files_allow(ruleset, CAIRN_COVERAGE_DIR, FILES_OWN, handled);
#endif
	return error;
}

int sandbox_files(const struct sandbox_options *options)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (abi < 0)
		return errno;
	if (abi < FILES_ABI_MIN)
		return EOPNOTSUPP;
	const struct files_ruleset attr = {
		.handled_fs = FILES_ALL_V2 | (abi >= FILES_ABI_TRUNCATE ? FILES_TRUNCATE : 0) |
			      (abi >= FILES_ABI_IOCTL ? FILES_IOCTL_DEV : 0),
		.handled_net = abi >= FILES_ABI_NET ? FILES_NET_ALL : 0,
		.scoped = abi >= FILES_ABI_SCOPE ? FILES_SCOPE_ALL : 0,
	};
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		return errno;
	int error = files_allow_all(ruleset, options, attr.handled_fs);
	if (error == 0 && (options->n_ports > 0 || options->by_socket))
		error = files_allow_connecting(ruleset, options, attr.handled_fs, attr.handled_net);
	if (error == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
		error = errno;
	(void)close(ruleset);
	return error;
}
