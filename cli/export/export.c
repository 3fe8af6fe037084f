#include "cli/export/export.h"

#include "base/fd.h"
#include "base/folder.h"
#include "base/sys.h"
#include "data_dir/data_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT_WORK ".export.tmp"

enum cairn_status export_failed(struct cairn_diag *diag, const char *name)
{
	return cairn_fail(diag, errno == EEXIST ? CAIRN_E_CONFLICT : cairn_fd_status(errno), "export.write",
			  CAIRN_NO_OFFSET, "%.100s: %s", name, strerror(errno));
}

enum cairn_status export_remove(int dir_fd, const char *name)
{
	if (cairn_sys_unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
		return CAIRN_OK;
	if (errno != EISDIR && errno != EPERM)
		return cairn_fd_status(errno);
	CLEANUP(cairn_folder_close) struct cairn_folder folder = {0};
	const char *entry = NULL;
	int fd = cairn_sys_openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	enum cairn_status status = cairn_folder_open(&folder, fd);
	while (status == CAIRN_OK && (status = cairn_folder_next(&folder, &entry)) == CAIRN_OK && entry)
		status = export_remove(fd, entry);
	if (status == CAIRN_OK && cairn_sys_unlinkat(dir_fd, name, AT_REMOVEDIR) < 0)
		status = cairn_fd_status(errno);
	return status;
}

enum cairn_status export_open(struct export *e, const char *path, struct cairn_diag *diag)
{
	*e = (struct export){.path = path, .dir_fd = -1, .work_fd = -1};
	e->made = cairn_sys_mkdir(path, 0777) == 0;
	if (!e->made && errno != EEXIST)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "export.folder", CAIRN_NO_OFFSET, "cannot be made: %s",
				  strerror(errno));
	if (cairn_fd_sync_parent(path) != CAIRN_OK && e->made)
		return export_failed(diag, path);
	e->dir_fd = cairn_sys_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (e->dir_fd < 0)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "export.folder", CAIRN_NO_OFFSET, "%s", strerror(errno));
	if (cairn_sys_flock(e->dir_fd, LOCK_EX | LOCK_NB) < 0)
		return errno != EWOULDBLOCK ? export_failed(diag, path)
					    : cairn_fail(diag, CAIRN_E_CONFLICT, "export.in_use", CAIRN_NO_OFFSET,
							 "another export writes to this folder");
	/* a killed export may have left its work folder */
	if (export_remove(e->dir_fd, EXPORT_WORK) != CAIRN_OK || cairn_sys_mkdirat(e->dir_fd, EXPORT_WORK, 0777) < 0)
		return export_failed(diag, EXPORT_WORK);
	e->work_fd = cairn_sys_openat(e->dir_fd, EXPORT_WORK, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	return e->work_fd < 0 ? export_failed(diag, EXPORT_WORK) : CAIRN_OK;
}

void export_fini(struct export *e)
{
	for (unsigned i = 0; i < EXPORT_TABLES; i++)
		cairn_sorter_freep(&e->rows[i]);
	if (e->work_fd >= 0)
		(void)export_remove(e->dir_fd, EXPORT_WORK);
	cairn_fd_closep(&e->work_fd);
	cairn_fd_closep(&e->dir_fd);
	if (e->made)
		(void)cairn_sys_rmdir(e->path); /* removes the folder only if the folder is empty */
}

struct export_walk {
	struct export *e;
	struct cairn_index_snapshot *snapshot;
	int64_t last_xorb; /* number and hash of the last xorb that was visited */
	struct cairn_hash last_hash;
	struct cairn_diag *diag;
};

static enum cairn_status export_add(struct export *e, enum export_table table, const struct export_value *values)
{
	uint8_t record[EXPORT_RECORD_BYTES_MAX];
	export_put(record, export_layout(table), values);
	e->done_bytes += export_record_bytes(export_layout(table));
	return cairn_sorter_add(e->rows[table], record);
}

static enum cairn_status export_chunks(struct export *e, const struct cairn_index_xorb *xorb,
				       const struct cairn_chunk_list *list)
{
	struct export_value row[EXPORT_COLUMNS_MAX] = {[1] = export_hash(&xorb->hash),
						       [6] = export_time(xorb->at_unix_s),
						       [7] = export_number((uint64_t)xorb->id)};
	enum cairn_status status = CAIRN_OK;
	uint64_t offset = 0;
	uint32_t stored_at = 0;
	for (uint32_t i = 0; i < list->n && status == CAIRN_OK; i++) {
		const struct cairn_span *span = &list->spans[i];
		row[0] = export_hash(&list->hashes[i]);
		row[2] = export_number(i);
		row[3] = export_number(offset);
		row[4] = export_number(span->unpacked_bytes);
		row[5] = export_number(span->end == 0 ? 0 : span->end - stored_at);
		row[5].is_null = span->end == 0; /* unknown here if the objects are in another store */
		offset += span->unpacked_bytes;
		stored_at = span->end;
		status = export_add(e, EXPORT_CHUNKS, row);
	}
	return status;
}

static enum cairn_status export_visit_xorb(void *ctx, const struct cairn_index_xorb *xorb,
					   const struct cairn_chunk_list *list)
{
	struct export_walk *walk = ctx;
	struct export *e = walk->e;
	struct export_value row[EXPORT_COLUMNS_MAX] = {
		export_hash(&xorb->hash),          export_number(xorb->n_chunks), export_number(xorb->unpacked_bytes),
		export_number(xorb->stored_bytes), export_time(xorb->at_unix_s),  export_number((uint64_t)xorb->id)};
	enum cairn_status status = CAIRN_OK;
	row[3].is_null = xorb->stored_bytes == 0;
	if (xorb->id > e->after[EXPORT_XORBS])
		status = export_add(e, EXPORT_XORBS, row);
	if (status == CAIRN_OK && xorb->id > e->after[EXPORT_CHUNKS])
		status = export_chunks(e, xorb, list);
	progress_draw(&e->progress, e->done_bytes, e->done_bytes);
	return status;
}

static enum cairn_status export_terms(struct export_walk *walk, int64_t number, const struct cairn_index_file *file)
{
	struct export_value row[EXPORT_COLUMNS_MAX] = {
		[0] = export_hash(&file->hash), [6] = export_number((uint64_t)number)};
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < file->n_terms && status == CAIRN_OK; i++) {
		const struct cairn_index_term *term = &file->terms[i];
		if (term->xorb_id != walk->last_xorb) {
			status = cairn_index_snapshot_xorb_hash(walk->snapshot, term->xorb_id, &walk->last_hash);
			if (status != CAIRN_OK)
				return cairn_fail(walk->diag, CAIRN_E_DAMAGED, "index.row", CAIRN_NO_OFFSET,
						  "file %lld of the index names xorb %lld, which is not there",
						  (long long)number, (long long)term->xorb_id);
			walk->last_xorb = term->xorb_id;
		}
		row[1] = export_hash(&walk->last_hash);
		row[2] = export_number(i);
		row[3] = export_number(term->start);
		row[4] = export_number(term->end);
		row[5] = export_number(term->unpacked_bytes);
		status = export_add(walk->e, EXPORT_REFERENCES, row);
	}
	return status;
}

static enum cairn_status export_visit_file(void *ctx, int64_t number, int64_t at_unix_s, const uint8_t *sha256,
					   const struct cairn_index_file *file)
{
	struct export_walk *walk = ctx;
	struct export *e = walk->e;
	struct export_value row[EXPORT_COLUMNS_MAX] = {
		export_hash(&file->hash),     {.is_null = !sha256},   export_number(file->size_bytes),
		export_number(file->n_terms), export_time(at_unix_s), export_number((uint64_t)number)};
	enum cairn_status status = CAIRN_OK;
	if (sha256)
		memcpy(row[1].digest, sha256, sizeof(row[1].digest));
	if (number > e->after[EXPORT_FILES])
		status = export_add(e, EXPORT_FILES, row);
	if (status == CAIRN_OK && number > e->after[EXPORT_REFERENCES])
		status = export_terms(walk, number, file);
	progress_draw(&e->progress, e->done_bytes, e->done_bytes);
	return status;
}

static int64_t export_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Checks that this is the index of earlier exports. Numbers only rise: if an export has higher ones, it is of another
 * index, or this one was restored from a backup. */
static enum cairn_status export_check_extent(const struct export *e, const struct cairn_index_extent *extent,
					     struct cairn_diag *diag)
{
	for (unsigned i = 0; i < EXPORT_TABLES; i++) {
		int64_t last = i == EXPORT_CHUNKS || i == EXPORT_XORBS ? extent->last_xorb : extent->last_file;
		if (e->after[i] <= last)
			continue;
		(void)cairn_fail(
			diag, CAIRN_E_CONFLICT, "export.older", CAIRN_NO_OFFSET,
			"%s has rows that this index never had: it is of another index, or of a later state of it; "
			"export to a new folder",
			export_layout(i)->name);
		cairn_diag_numbers(diag, (uint64_t)last, (uint64_t)e->after[i]);
		return CAIRN_E_CONFLICT;
	}
	return CAIRN_OK;
}

enum cairn_status export_gather(struct export *e, const char *data_dir, struct cairn_diag *diag)
{
	CLEANUP(cairn_index_snapshot_freep) struct cairn_index_snapshot *snapshot = NULL;
	struct cairn_index_extent extent;
	int64_t after_xorb = export_least(e->after[EXPORT_CHUNKS], e->after[EXPORT_XORBS]);
	int64_t after_file = export_least(e->after[EXPORT_FILES], e->after[EXPORT_REFERENCES]);
	char url[CAIRN_DATA_DIR_URL_BYTES], store[CAIRN_DATA_DIR_URL_BYTES];
	enum cairn_status status = cairn_data_dir_places(data_dir, url, store, diag);
	if (status == CAIRN_OK)
		status = cairn_index_snapshot_open(&snapshot, url, diag);
	if (status == CAIRN_OK)
		status = cairn_index_snapshot_extent(snapshot, after_xorb, &extent, diag);
	if (status == CAIRN_OK)
		status = export_check_extent(e, &extent, diag);
	for (unsigned i = 0; i < EXPORT_TABLES && status == CAIRN_OK; i++) {
		const struct cairn_sorter_options options = {e->work_fd, export_record_bytes(export_layout(i)), 32,
							     EXPORT_RUN_BYTES};
		status = cairn_sorter_new(&e->rows[i], &options);
	}
	if (status != CAIRN_OK)
		return status;
	/* Each row counts twice, for going into the sorter and out of it. Only chunks count: most rows are chunks. */
	e->progress.total_bytes = 2 * extent.n_chunks * export_record_bytes(export_layout(EXPORT_CHUNKS));
	struct export_walk walk = {.e = e, .snapshot = snapshot, .diag = diag};
	status = cairn_index_snapshot_xorbs(snapshot, after_xorb, export_visit_xorb, &walk, diag);
	if (status == CAIRN_OK)
		status = cairn_index_snapshot_files(snapshot, after_file, export_visit_file, &walk, diag);
	if (status == CAIRN_E_LIMIT)
		return cairn_fail(diag, status, "export.rows", CAIRN_NO_OFFSET,
				  "the index has too many rows to be sorted");
	if ((status == CAIRN_E_FULL || status == CAIRN_E_IO) && diag && !diag->rule)
		return cairn_fail(diag, status, "export.write", CAIRN_NO_OFFSET,
				  "rows cannot be set aside in the folder");
	return status;
}

enum cairn_status export_drain(struct export *e, enum export_table table,
			       enum cairn_status (*visit)(void *ctx, const struct export_value *values), void *ctx)
{
	struct export_value values[EXPORT_COLUMNS_MAX];
	const struct export_layout *layout = export_layout(table);
	for (;;) {
		const uint8_t *record;
		enum cairn_status status = cairn_sorter_next(e->rows[table], &record);
		if (status != CAIRN_OK || !record) {
			cairn_sorter_freep(&e->rows[table]);
			return status;
		}
		export_get(record, layout, values);
		status = visit(ctx, values);
		if (status != CAIRN_OK)
			return status;
		e->done_bytes += export_record_bytes(layout);
		progress_draw(&e->progress, e->done_bytes, e->done_bytes);
	}
}
