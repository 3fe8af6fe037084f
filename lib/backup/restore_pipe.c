#include "archive/fold/stream.h"
#include "backup/restore_work.h"
#include "base/fd.h"
#include "base/sys.h"
#include "data_dir/data_dir.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

struct restore_pipe {
	struct restore *r;
	int index_fd;
	struct cairn_buf put; /* struct cairn_hash: objects received, which the index may not name */
};

static enum cairn_status restore_pipe_object(void *ctx, const struct cairn_bundle_object *object)
{
	struct restore_pipe *p = ctx;
	uint64_t bytes;
	/* The store keeps the first object, so writing another would be wasted. */
	if (cairn_store_stat(p->r->store, &object->hash, &bytes) == CAIRN_OK)
		return CAIRN_OK;
	cairn_buf_add(&p->put, &object->hash, sizeof(object->hash));
	return p->put.status == CAIRN_OK ? restore_put_object(p->r, object) : p->put.status;
}

/* Restores a chunk by its type: the names come at the end of the stream, and objects come before the index. */
static enum cairn_status restore_pipe_chunk(struct restore_pipe *p, const struct cairn_fold_chunk *c,
					    const struct cairn_fold_data *data)
{
	struct restore *r = p->r;
	if (strcmp(c->ctype, BACKUP_OBJECTS_CTYPE) == 0)
		return cairn_bundle_each(data->bytes, data->len, restore_pipe_object, p, r->diag);
	if (strcmp(c->ctype, BACKUP_INDEX_CTYPE) == 0)
		return cairn_fd_write_all(p->index_fd, data->bytes, data->len) == CAIRN_OK
			       ? CAIRN_OK
			       : restore_io(r, "write", RESTORE_INDEX);
	if (strcmp(c->ctype, BACKUP_SECRET_CTYPE) != 0)
		return CAIRN_OK;
	r->report->has_secret = true;
	return restore_put(r, "secret", data->bytes, data->len);
}

static enum cairn_status restore_pipe_chunks(struct restore_pipe *p, struct cairn_fold_stream *s)
{
	struct restore *r = p->r;
	enum cairn_status status = CAIRN_OK;
	while (status == CAIRN_OK) {
		CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
		struct cairn_fold_chunk chunk;
		status = cairn_fold_stream_next(s, &chunk, &data, r->diag);
		if (status == CAIRN_OK)
			status = restore_pipe_chunk(p, &chunk, &data);
		r->report->done_bytes = cairn_fold_stream_at(s);
		if (status == CAIRN_OK && r->options->progress && !r->options->progress(r->options->ctx, r->report))
			status = CAIRN_E_BUSY;
	}
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* Checks that the index's chunks have the names that belong to the order in which they came. */
static enum cairn_status restore_pipe_names(struct restore *r)
{
	unsigned n = 0;
	for (size_t i = 0; i < r->index->n_chunks; i++) {
		const struct cairn_fold_chunk *c = &r->index->chunks[i];
		char name[BACKUP_NAME_BYTES] = "secret";
		if (strcmp(c->ctype, BACKUP_INDEX_CTYPE) == 0)
			(void)snprintf(name, sizeof(name), BACKUP_INDEX "%06u", n++);
		else if (strcmp(c->ctype, BACKUP_SECRET_CTYPE) != 0)
			continue;
		if (strcmp(c->name, name) != 0)
			return cairn_fail(r->diag, CAIRN_E_FORMAT, "restore.index", c->offset,
					  "a chunk of the backup is called %s where %s was expected", c->name, name);
	}
	return n > 0 ? CAIRN_OK
		     : cairn_fail(r->diag, CAIRN_E_FORMAT, "restore.index", r->index->at, "the backup has no %s000000",
				  BACKUP_INDEX);
}

/* Removes objects that the index does not name: they were collected before the index was backed up. */
static enum cairn_status restore_pipe_sweep(struct restore_pipe *p)
{
	struct restore *r = p->r;
	const struct cairn_hash *hashes = (const struct cairn_hash *)(const void *)p->put.bytes;
	for (size_t i = 0; i < p->put.len / sizeof(*hashes); i++) {
		uint64_t bytes = 0;
		enum cairn_status status = cairn_store_stat(r->store, &hashes[i], &bytes);
		struct restore_row *row = status == CAIRN_OK ? restore_row_of(r, &hashes[i], bytes) : NULL;
		if (row) {
			row->done = true;
			r->report->n_objects++;
			r->report->object_bytes += bytes;
		} else if (status == CAIRN_OK && !restore_names(r, &hashes[i])) {
			status = cairn_store_remove(r->store, &hashes[i], NULL);
		}
		if (status != CAIRN_OK && status != CAIRN_E_NOT_FOUND)
			return cairn_fail(r->diag, status, "restore.file", CAIRN_NO_OFFSET,
					  "an object cannot be looked at, or not removed");
	}
	return CAIRN_OK;
}

static enum cairn_status restore_pipe_all(struct restore_pipe *p, struct cairn_fold_stream *s)
{
	struct restore *r = p->r;
	enum cairn_status status = restore_pipe_chunks(p, s);
	if (status != CAIRN_OK)
		return status;
	r->index = cairn_fold_stream_index(s);
	status = restore_check_kind(r);
	if (status == CAIRN_OK)
		status = restore_pipe_names(r);
	if (status == CAIRN_OK)
		status = restore_end_index(r, p->index_fd);
	if (status == CAIRN_OK)
		status = restore_rows(r);
	if (status == CAIRN_OK)
		status = restore_pipe_sweep(p);
	if (status == CAIRN_OK)
		status = restore_check(r);
	return status == CAIRN_OK ? restore_end(r) : status;
}

enum cairn_status restore_run_pipe(struct restore *r)
{
	struct restore_pipe p = {.r = r, .index_fd = -1, .put = cairn_buf_init(SIZE_MAX)};
	CLEANUP(cairn_fold_stream_closep) struct cairn_fold_stream *s = NULL;
	enum cairn_status status = cairn_fold_stream_open(&s, *r->options->pipe_fd, r->diag);
	if (status == CAIRN_OK)
		status = restore_enter(r);
	if (status == CAIRN_OK)
		status = cairn_data_dir_open_store(&r->store, r->options->data_dir, false, r->diag);
	if (status == CAIRN_OK) {
		r->report->total_bytes = cairn_fold_stream_total(s);
		p.index_fd = cairn_sys_openat(r->dir_fd, RESTORE_INDEX, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		status = p.index_fd < 0 ? restore_io(r, "make", RESTORE_INDEX) : restore_pipe_all(&p, s);
	}
	r->index = NULL; /* the stream owns it */
	cairn_fd_closep(&p.index_fd);
	cairn_buf_fini(&p.put);
	return status;
}
