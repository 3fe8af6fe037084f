#include "backup/backup_work.h"
#include "backup/bundle.h"
#include "base/fd.h"
#include "base/sys.h"
#include "index/backup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Makes a folder for the index, because a pipe has no file next to which it could lie. */
enum cairn_status backup_make_spool(struct backup *b)
{
	int n = snprintf(b->spool, sizeof(b->spool), "%s/cairn-backup-XXXXXX", b->options->spool);
	bool fits = n >= 0 && (size_t)n < sizeof(b->spool) && (size_t)n + sizeof("/index") <= sizeof(b->index);
	if (!fits || !mkdtemp(b->spool)) {
		b->spool[0] = '\0';
		return cairn_fail(b->diag, fits ? cairn_fd_status(errno) : CAIRN_E_USAGE, "backup.file",
				  CAIRN_NO_OFFSET, "cannot make a folder in %s for a copy of the index: %s",
				  b->options->spool, fits ? strerror(errno) : "the path is too long");
	}
	memcpy(b->index, b->spool, (size_t)n);
	memcpy(b->index + n, "/index", sizeof("/index"));
	(void)snprintf(b->part, sizeof(b->part), "%s", b->options->out);
	return CAIRN_OK;
}

/* The planned chunks: the bundles that backup_visit() will make, computed without reading objects. */
struct backup_plan {
	struct backup *b;
	struct cairn_fold_extent extent;
	uint64_t data_bytes, entries_bytes; /* lengths of the current bundle */
	unsigned n_bundles;
};

static void backup_plan_chunk(struct backup_plan *p, const char *prefix, unsigned number, uint64_t len)
{
	char name[BACKUP_NAME_BYTES];
	(void)snprintf(name, sizeof(name), "%s%06u", prefix, number);
	cairn_fold_extent_add(&p->extent, name, len, p->b->options->parity);
}

static void backup_plan_flush(struct backup_plan *p)
{
	if (p->entries_bytes > 0)
		backup_plan_chunk(p, BACKUP_OBJECTS, p->n_bundles++,
				  p->data_bytes + p->entries_bytes + CAIRN_BUNDLE_END_BYTES);
	p->data_bytes = p->entries_bytes = 0;
}

static enum cairn_status backup_plan_visit(void *ctx, const struct cairn_hash *hash, uint64_t stored_bytes,
					   uint64_t layout)
{
	struct backup_plan *p = ctx;
	(void)hash;
	(void)layout;
	if (!backup_fits(p->b, p->data_bytes, p->entries_bytes, stored_bytes))
		backup_plan_flush(p);
	p->data_bytes += stored_bytes;
	p->entries_bytes += CAIRN_BUNDLE_ENTRY_BYTES;
	return CAIRN_OK;
}

static enum cairn_status backup_plan_rest(struct backup_plan *p)
{
	struct backup *b = p->b;
	struct stat st;
	if (cairn_sys_stat(b->index, &st) < 0)
		return backup_io(b, "open", b->index);
	uint64_t left = (uint64_t)st.st_size;
	for (unsigned i = 0; left > 0; i++) {
		uint64_t piece = left < CAIRN_BACKUP_PIECE_BYTES ? left : CAIRN_BACKUP_PIECE_BYTES;
		backup_plan_chunk(p, BACKUP_INDEX, i, piece);
		left -= piece;
	}
	if (!b->options->with_secret)
		return CAIRN_OK;
	struct cairn_secret secret = {0};
	enum cairn_status status = backup_load_secret(b, &secret);
	if (status == CAIRN_OK)
		cairn_fold_extent_add(&p->extent, BACKUP_SECRET, secret.len, b->options->parity);
	explicit_bzero(&secret, sizeof(secret));
	return status;
}

enum cairn_status backup_open_pipe(struct backup *b)
{
	struct backup_plan plan = {.b = b};
	enum cairn_status status = cairn_index_backup_each(b->index_url, b->index, backup_plan_visit, &plan, b->diag);
	backup_plan_flush(&plan);
	if (status == CAIRN_OK)
		status = backup_plan_rest(&plan);
	const struct cairn_fold_writer_options options = {.parity = b->options->parity, .extent = &plan.extent};
	return status == CAIRN_OK ? backup_wrote(b, cairn_fold_writer_new(&b->w, *b->options->pipe_fd, &options))
				  : status;
}
