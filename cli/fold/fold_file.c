#include "base/fd.h"
#include "base/sys.h"
#include "cli/common/cli.h"
#include "cli/fold/fold.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum cairn_status fold_file_open(struct fold_file *file, const char *path, struct cairn_diag *diag)
{
	struct stat st;
	*file = (struct fold_file){.fd = cairn_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0)};
	if (file->fd < 0 || cairn_sys_fstat(file->fd, &st) < 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "%s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "not a regular file");
	const struct cairn_fold_source source = {.fd = file->fd, .len = (uint64_t)st.st_size};
	enum cairn_status status = cairn_fold_open(&file->f, &source, diag);
	for (size_t i = 0; status == CAIRN_OK && i < cairn_fold_index_of(file->f)->n_chunks; i++)
		file->total_bytes += cairn_fold_chunk_bytes(&cairn_fold_index_of(file->f)->chunks[i]);
	return status;
}

void fold_file_fini(struct fold_file *file)
{
	cairn_fold_closep(&file->f);
	cairn_fd_closep(&file->fd);
}

void fold_print_chunk(const char *word, const struct cairn_fold_chunk *c, enum cairn_status status, uint64_t n_wrong,
		      const struct cairn_diag *diag)
{
	(void)printf("%s ", status == CAIRN_OK ? word : "lost");
	cli_put_text(stdout, c->name);
	if (status == CAIRN_OK) {
		(void)printf(": %" PRIu64 " wrong bytes\n", n_wrong);
		return;
	}
	(void)fputs(": ", stdout);
	cli_put_text(stdout, diag->text);
	(void)printf(" [%s, offset %" PRIu64 "]\n", diag->rule, diag->offset);
}
