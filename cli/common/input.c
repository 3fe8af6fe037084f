#include "cli/common/input.h"

#include "base/fd.h"
#include "base/sys.h"
#include "cli/common/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Ends the program on SIGBUS: the mapped file was cut, or a page is unreadable, and no call can return an error. */
static void input_cut(int signal)
{
	static const char TEXT[] = "cairn: a file that was being read was cut, or its disk failed [file.read]\n";
	(void)signal;
	(void)!cairn_fd_write_all(STDERR_FILENO, TEXT, sizeof(TEXT) - 1);
	_exit(CLI_EXIT_IO);
}

enum cairn_status input_open(struct input *in, const char *path, struct cairn_diag *diag)
{
	static const uint8_t nothing[1];
	struct stat st;
	*in = (struct input){.bytes = nothing};
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	if (fd < 0 || cairn_sys_fstat(fd, &st) < 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "is not a regular file");
	if (st.st_size == 0)
		return CAIRN_OK;
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return cairn_fail(diag, CAIRN_E_IO, "file.read", CAIRN_NO_OFFSET, "%s", strerror(errno));
	const struct sigaction cut = {.sa_handler = input_cut};
	(void)sigaction(SIGBUS, &cut, NULL);
	*in = (struct input){.bytes = map, .len = (size_t)st.st_size, .map = map};
	return CAIRN_OK;
}

void input_fini(struct input *in)
{
	if (in->map)
		(void)munmap(in->map, in->len);
	*in = (struct input){0};
}
