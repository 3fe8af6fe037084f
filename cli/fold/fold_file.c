#include "base/fd.h"
#include "cli/common/cli.h"
#include "cli/fold/fold.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum cairn_status fold_file_open(struct fold_file *file, const char *path, struct cairn_diag *diag)
{
	struct stat st;
	*file = (struct fold_file){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	if (file->fd < 0 || fstat(file->fd, &st) < 0)
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

enum cairn_status fold_output_open(struct fold_output *o, const char *path, struct cairn_diag *diag)
{
	*o = (struct fold_output){.fd = -1, .path = path};
	int n = snprintf(o->part, sizeof(o->part), "%s.part", path);
	if (n < 0 || (size_t)n >= sizeof(o->part))
		return cairn_fail(diag, CAIRN_E_USAGE, "file.target", CAIRN_NO_OFFSET, "the path is too long");
	if (access(path, F_OK) == 0)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "file.target", CAIRN_NO_OFFSET, "%s is there already", path);
	o->fd = open(o->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (o->fd < 0)
		return cli_part_taken(o->part, diag);
	return CAIRN_OK;
}

enum cairn_status fold_output_commit(struct fold_output *o, struct cairn_diag *diag)
{
	char folder[sizeof(o->part)];
	(void)snprintf(folder, sizeof(folder), "%s", o->path);
	if (fsync(o->fd) == 0 && cairn_fd_rename_new(AT_FDCWD, o->part, AT_FDCWD, o->path) == CAIRN_OK) {
		o->part[0] = '\0';
		CLEANUP(cairn_fd_closep) int fd = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && fsync(fd) == 0)
			return CAIRN_OK;
	}
	return cairn_fail(diag, CAIRN_E_IO, "file.write", CAIRN_NO_OFFSET, "cannot write %s: %s", o->path,
			  strerror(errno));
}

void fold_output_fini(struct fold_output *o)
{
	if (o->fd >= 0 && o->part[0])
		(void)unlink(o->part);
	cairn_fd_closep(&o->fd);
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
