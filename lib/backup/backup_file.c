#include "backup/backup_work.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum cairn_status backup_io(struct backup *b, const char *what, const char *path)
{
	return cairn_fail(b->diag, cairn_fd_status(errno), "backup.file", CAIRN_NO_OFFSET, "cannot %s %s: %s", what,
			  path, strerror(errno));
}

bool backup_goes_on(struct backup *b)
{
	b->report->file_bytes = b->w ? cairn_fold_writer_bytes(b->w) : 0;
	return !b->options->progress || b->options->progress(b->options->ctx, b->report);
}

enum cairn_status backup_wrote(struct backup *b, enum cairn_status status)
{
	if (status == CAIRN_E_LIMIT)
		return cairn_fail(b->diag, status, "backup.limit", CAIRN_NO_OFFSET,
				  "the store is larger than one FOLD file can hold");
	return status == CAIRN_OK ? CAIRN_OK
				  : cairn_fail(b->diag, status, "backup.file", CAIRN_NO_OFFSET, "cannot write %s: %s",
					       b->part, cairn_status_name(status));
}

enum cairn_status backup_open(struct backup *b, uint64_t *part_bytes)
{
	struct stat st;
	b->fd = cairn_sys_open(b->part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (b->fd < 0)
		return cairn_fail(b->diag, cairn_fd_make_status(errno), "backup.file", CAIRN_NO_OFFSET,
				  "cannot make %s: %s", b->part, strerror(errno));
	if (cairn_sys_flock(b->fd, LOCK_EX | LOCK_NB) < 0)
		return errno != EWOULDBLOCK ? backup_io(b, "lock", b->part)
					    : cairn_fail(b->diag, CAIRN_E_CONFLICT, "backup.in_use", CAIRN_NO_OFFSET,
							 "%s is being written by another process", b->part);
	if (cairn_sys_fstat(b->fd, &st) < 0)
		return backup_io(b, "open", b->part);
	*part_bytes = (uint64_t)st.st_size;
	if (*part_bytes > 0) {
		/* Do not overwrite a file that is no FOLD file. */
		uint8_t head[CAIRN_FOLD_MAGIC_BYTES];
		if (cairn_fd_read_at(b->fd, 0, head, sizeof(head)) != CAIRN_OK || !cairn_fold_is(head, sizeof(head)))
			return cairn_fail(b->diag, CAIRN_E_CONFLICT, "backup.part", CAIRN_NO_OFFSET,
					  "%s is there and is not of an interrupted backup: remove it", b->part);
	}
	const struct cairn_fold_writer_options options = {.zstd_level = b->options->zstd_level,
							  .parity = b->options->parity};
	return backup_wrote(b, cairn_fold_writer_new(&b->w, b->fd, &options));
}

enum cairn_status backup_index(struct backup *b, uint64_t *index_bytes)
{
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(b->index, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return backup_io(b, "open", b->index);
	for (unsigned i = 0;; i++) {
		char name[BACKUP_NAME_BYTES];
		size_t n = 0;
		b->data.len = 0;
		uint8_t *bytes = cairn_buf_extend(&b->data, CAIRN_BACKUP_PIECE_BYTES);
		if (!bytes)
			return CAIRN_E_NOMEM;
		if (cairn_fd_read_upto(fd, bytes, CAIRN_BACKUP_PIECE_BYTES, &n) != CAIRN_OK)
			return backup_io(b, "read", b->index);
		if (n == 0)
			return CAIRN_OK;
		(void)snprintf(name, sizeof(name), BACKUP_INDEX "%06u", i);
		enum cairn_status status =
			backup_wrote(b, cairn_fold_writer_add(b->w, name, BACKUP_INDEX_CTYPE, bytes, n));
		if (status != CAIRN_OK)
			return status;
		b->report->n_chunks++;
		*index_bytes += n;
		if (!backup_goes_on(b))
			return CAIRN_E_BUSY;
	}
}

enum cairn_status backup_load_secret(struct backup *b, struct cairn_secret *secret)
{
	char path[BACKUP_PATH_BYTES];
	int n = snprintf(path, sizeof(path), "%s/secret", b->options->data_dir);
	if (n < 0 || (size_t)n >= sizeof(path))
		return cairn_fail(b->diag, CAIRN_E_USAGE, "secret.path", CAIRN_NO_OFFSET, "the path is too long");
	return cairn_secret_load(secret, b->options->secret_file ? b->options->secret_file : path, false, b->diag);
}

enum cairn_status backup_secret(struct backup *b)
{
	struct cairn_secret secret = {0};
	if (!b->options->with_secret)
		return CAIRN_OK;
	enum cairn_status status = backup_load_secret(b, &secret);
	if (status == CAIRN_OK)
		status = backup_wrote(
			b, cairn_fold_writer_add(b->w, BACKUP_SECRET, BACKUP_SECRET_CTYPE, secret.bytes, secret.len));
	explicit_bzero(&secret, sizeof(secret));
	b->report->n_chunks++;
	return status;
}

enum cairn_status backup_finish(struct backup *b, const char *kind, const char *name, uint64_t index_bytes)
{
	char metadata[CAIRN_BACKUP_METADATA_BYTES], created[32];
	const struct cairn_backup_metadata m = {.kind = kind,
						.identity = b->identity,
						.time = strcmp(kind, BACKUP_KIND_MOMENT) == 0 ? b->report->moment
											      : NULL,
						.n_objects = b->report->n_objects,
						.object_bytes = b->report->object_bytes,
						.index_bytes = index_bytes};
	cairn_backup_metadata_text(metadata, &m);
	(void)snprintf(created, sizeof(created), "%" PRId64, cairn_clock_unix_s());
	enum cairn_status status = backup_wrote(b, cairn_fold_writer_finish(b->w, metadata, created));
	if (status != CAIRN_OK)
		return status;
	b->report->file_bytes = cairn_fold_writer_bytes(b->w);
	if (b->options->pipe_fd)
		return CAIRN_OK;
	if (cairn_fd_rename_new(AT_FDCWD, b->part, AT_FDCWD, name) != CAIRN_OK)
		return backup_io(b, "name", name);
	char folder[BACKUP_PATH_BYTES];
	(void)snprintf(folder, sizeof(folder), "%s", name);
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	return fd >= 0 && cairn_sys_fsync(fd) == 0 ? CAIRN_OK : backup_io(b, "make durable", name);
}
