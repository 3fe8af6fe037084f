#include "archive/tiledb/writer.h"

#include "archive/tiledb/folder.h"
#include "archive/tiledb/stats.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A field of the current tile, and its files. */
struct writer_field {
	uint32_t slot;
	const struct cairn_tiledb_field *field;
	int fds[CAIRN_TILEDB_FILES]; /* -1: the field has no such file */
	struct cairn_buf fixed;      /* values of fixed length */
	struct cairn_buf var;        /* values of any length */
	struct cairn_buf validity;
	uint64_t *starts; /* starts of values of any length; [capacity] */
	struct cairn_tiledb_stats tile, total;
};

struct cairn_tiledb_writer {
	int parent_fd, dir_fd;
	char name[CAIRN_TILEDB_NAME_TEXT_BYTES];
	const struct cairn_tiledb_schema *schema;
	struct cairn_tiledb_codec *codec;
	struct cairn_tiledb_fragment fragment;
	uint32_t n_fields;
	struct writer_field *fields; /* attributes, then the dimension */
	uint64_t n_cells;            /* rows in the current tile */
	struct cairn_buf packed;
	struct cairn_buf last; /* value of the dimension in the previous row */
	bool ended;
};

/* --- folders ------------------------------------------------------------------------------------------------------ */

static enum cairn_status writer_failed(struct cairn_diag *diag, const char *name)
{
	enum cairn_status status = errno == EEXIST ? CAIRN_E_CONFLICT : cairn_fd_status(errno);
	return cairn_fail(diag, status, "tiledb.write", CAIRN_NO_OFFSET, "%.100s: %s", name, strerror(errno));
}

/* Writes a whole new file, durable except for its name. */
static enum cairn_status writer_put_file(int dir_fd, const char *path, const struct cairn_buf *bytes,
					 struct cairn_diag *diag)
{
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_openat(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 || cairn_fd_write_all(fd, bytes->bytes, bytes->len) != CAIRN_OK || cairn_sys_fsync(fd) < 0)
		return writer_failed(diag, path);
	return CAIRN_OK;
}

static enum cairn_status writer_sync_folder(int dir_fd, const char *name, struct cairn_diag *diag)
{
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	return fd < 0 || cairn_sys_fsync(fd) < 0 ? writer_failed(diag, name) : CAIRN_OK;
}

enum cairn_status cairn_tiledb_array_make(int parent_fd, const char *name, const struct cairn_tiledb_schema *schema,
					  const char *schema_name, struct cairn_diag *diag)
{
	static const char *const folders[] = {CAIRN_TILEDB_SCHEMA_DIR, CAIRN_TILEDB_FRAGMENTS_DIR,
					      CAIRN_TILEDB_COMMITS_DIR};
	CLEANUP(cairn_buf_fini) struct cairn_buf file = cairn_buf_init(CAIRN_TILEDB_SCHEMA_BYTES_MAX);
	char path[CAIRN_TILEDB_PATH_BYTES];
	if (cairn_sys_mkdirat(parent_fd, name, 0777) < 0)
		return writer_failed(diag, name);
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return writer_failed(diag, name);
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (cairn_sys_mkdirat(fd, folders[i], 0777) < 0)
			return writer_failed(diag, folders[i]);
	}
	cairn_tiledb_schema_write(&file, schema);
	if (file.status != CAIRN_OK)
		return file.status;
	cairn_tiledb_path(path, CAIRN_TILEDB_SCHEMA_DIR, schema_name);
	enum cairn_status status = writer_put_file(fd, path, &file, diag);
	if (status == CAIRN_OK)
		status = writer_sync_folder(fd, CAIRN_TILEDB_SCHEMA_DIR, diag);
	return status == CAIRN_OK ? writer_sync_folder(fd, ".", diag) : status;
}

enum cairn_status cairn_tiledb_commit(int array_fd, const char *fragment, struct cairn_diag *diag)
{
	const struct cairn_buf nothing = {0};
	char path[CAIRN_TILEDB_PATH_BYTES];
	(void)snprintf(path, sizeof(path), "%s/%s.wrt", CAIRN_TILEDB_COMMITS_DIR, fragment);
	enum cairn_status status = writer_sync_folder(array_fd, CAIRN_TILEDB_FRAGMENTS_DIR, diag);
	if (status == CAIRN_OK)
		status = writer_put_file(array_fd, path, &nothing, diag);
	if (status == CAIRN_OK)
		status = writer_sync_folder(array_fd, CAIRN_TILEDB_COMMITS_DIR, diag);
	if (status != CAIRN_OK && status != CAIRN_E_CONFLICT) /* keep a folder that existed before */
		(void)cairn_sys_unlinkat(array_fd, path, 0);  /* the caller removes the fragment */
	return status;
}

/* --- opening and closing ------------------------------------------------------------------------------------------ */

static bool writer_has_file(const struct cairn_tiledb_field *field, enum cairn_tiledb_file file)
{
	if (file == CAIRN_TILEDB_FILE_FIXED)
		return true;
	return file == CAIRN_TILEDB_FILE_VAR ? field->cell_values == CAIRN_TILEDB_VAR : field->nullable;
}

static enum cairn_status writer_open_field(struct cairn_tiledb_writer *w, struct writer_field *f,
					   struct cairn_diag *diag)
{
	f->field = cairn_tiledb_schema_field(w->schema, f->slot);
	f->fixed = cairn_buf_init(CAIRN_TILEDB_TILE_BYTES_MAX);
	f->var = cairn_buf_init(CAIRN_TILEDB_TILE_BYTES_MAX);
	f->validity = cairn_buf_init(CAIRN_TILEDB_TILE_BYTES_MAX);
	f->tile = cairn_tiledb_stats_init(w->schema, f->slot);
	f->total = cairn_tiledb_stats_init(w->schema, f->slot);
	f->starts = calloc(w->schema->capacity, sizeof(*f->starts));
	if (!f->starts)
		return CAIRN_E_NOMEM;
	for (unsigned file = 0; file < CAIRN_TILEDB_FILES; file++) {
		char name[CAIRN_TILEDB_FILE_NAME_BYTES];
		if (!writer_has_file(f->field, file))
			continue;
		cairn_tiledb_file_name(name, w->schema, f->slot, file);
		f->fds[file] = cairn_sys_openat(w->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (f->fds[file] < 0)
			return writer_failed(diag, name);
	}
	return CAIRN_OK;
}

static enum cairn_status writer_open(struct cairn_tiledb_writer *w, const char *schema_name, struct cairn_diag *diag)
{
	w->codec = cairn_tiledb_codec_new();
	w->fields = calloc(w->n_fields, sizeof(*w->fields));
	if (!w->codec || !w->fields)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < w->n_fields; i++) {
		w->fields[i].slot = i < w->schema->n_attrs ? i : i + 1; /* an unused slot precedes the dimension */
		for (unsigned file = 0; file < CAIRN_TILEDB_FILES; file++)
			w->fields[i].fds[file] = -1;
	}
	enum cairn_status status = cairn_tiledb_fragment_init(&w->fragment, cairn_tiledb_schema_slots(w->schema));
	if (status != CAIRN_OK)
		return status;
	w->fragment.version = CAIRN_TILEDB_VERSION;
	(void)snprintf(w->fragment.schema_name, sizeof(w->fragment.schema_name), "%s", schema_name);
	cairn_tiledb_rtree_init(&w->fragment.rtree);
	if (cairn_sys_mkdirat(w->parent_fd, w->name, 0777) < 0)
		return writer_failed(diag, w->name);
	w->dir_fd = cairn_sys_openat(w->parent_fd, w->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (w->dir_fd < 0)
		return writer_failed(diag, w->name);
	for (uint32_t i = 0; i < w->n_fields && status == CAIRN_OK; i++)
		status = writer_open_field(w, &w->fields[i], diag);
	return status;
}

enum cairn_status cairn_tiledb_writer_open(struct cairn_tiledb_writer **out, int parent_fd, const char *name,
					   const struct cairn_tiledb_schema *schema, const char *schema_name,
					   struct cairn_diag *diag)
{
	*out = NULL;
	CLEANUP(cairn_tiledb_writer_freep) struct cairn_tiledb_writer *w = calloc(1, sizeof(*w));
	if (!w)
		return CAIRN_E_NOMEM;
	w->parent_fd = parent_fd;
	w->dir_fd = -1;
	w->schema = schema;
	w->n_fields = schema->n_attrs + schema->n_dims;
	w->packed = cairn_buf_init(2 * CAIRN_TILEDB_TILE_BYTES_MAX);
	w->last = cairn_buf_init(CAIRN_TILEDB_TILE_BYTES_MAX);
	(void)snprintf(w->name, sizeof(w->name), "%s", name);
	enum cairn_status status = writer_open(w, schema_name, diag);
	if (status != CAIRN_OK)
		return status;
	*out = w;
	w = NULL;
	return CAIRN_OK;
}

static void writer_remove(struct cairn_tiledb_writer *w)
{
	for (uint32_t i = 0; i < w->n_fields; i++) {
		for (unsigned file = 0; file < CAIRN_TILEDB_FILES; file++) {
			char name[CAIRN_TILEDB_FILE_NAME_BYTES];
			cairn_tiledb_file_name(name, w->schema, w->fields[i].slot, file);
			if (w->fields[i].fds[file] >= 0)
				(void)cairn_sys_unlinkat(w->dir_fd, name, 0);
		}
	}
	(void)cairn_sys_unlinkat(w->dir_fd, CAIRN_TILEDB_META_FILE, 0);
	(void)cairn_sys_unlinkat(w->parent_fd, w->name, AT_REMOVEDIR);
}

void cairn_tiledb_writer_freep(struct cairn_tiledb_writer **writer)
{
	struct cairn_tiledb_writer *w = *writer;
	if (!w)
		return;
	if (!w->ended && w->dir_fd >= 0)
		writer_remove(w);
	for (uint32_t i = 0; w->fields && i < w->n_fields; i++) {
		struct writer_field *f = &w->fields[i];
		for (unsigned file = 0; file < CAIRN_TILEDB_FILES; file++)
			cairn_fd_closep(&f->fds[file]);
		cairn_buf_fini(&f->fixed);
		cairn_buf_fini(&f->var);
		cairn_buf_fini(&f->validity);
		free(f->starts);
		cairn_tiledb_stats_fini(&f->tile);
		cairn_tiledb_stats_fini(&f->total);
	}
	free(w->fields);
	cairn_tiledb_fragment_fini(&w->fragment);
	cairn_tiledb_codec_freep(&w->codec);
	cairn_buf_fini(&w->packed);
	cairn_buf_fini(&w->last);
	cairn_fd_closep(&w->dir_fd);
	free(w);
	*writer = NULL;
}

/* --- tiles -------------------------------------------------------------------------------------------------------- */

/* Stores w->packed as the next tile of a file, and records its offset. */
static enum cairn_status writer_store(struct cairn_tiledb_writer *w, struct writer_field *f,
				      enum cairn_tiledb_file file, enum cairn_tiledb_vector offsets,
				      struct cairn_diag *diag)
{
	struct cairn_tiledb_slot *slot = &w->fragment.slots[f->slot];
	cairn_buf_u64le(&slot->vectors[offsets], slot->file_bytes[file]);
	enum cairn_status status = cairn_fd_write_all(f->fds[file], w->packed.bytes, w->packed.len);
	if (status != CAIRN_OK)
		return writer_failed(diag, w->name);
	slot->file_bytes[file] += w->packed.len;
	w->packed.len = 0;
	return CAIRN_OK;
}

static enum cairn_status writer_store_var(struct cairn_tiledb_writer *w, struct writer_field *f,
					  struct cairn_diag *diag)
{
	struct cairn_tiledb_view starts = {f->fixed.bytes, f->fixed.len}, values = {f->var.bytes, f->var.len};
	enum cairn_status status =
		cairn_tiledb_tile_pack(w->codec, &w->packed, starts, &w->schema->offsets, 8, NULL, 0);
	if (status == CAIRN_OK)
		status = writer_store(w, f, CAIRN_TILEDB_FILE_FIXED, CAIRN_TILEDB_OFFSETS, diag);
	if (status == CAIRN_OK)
		status = cairn_tiledb_tile_pack(w->codec, &w->packed, values,
						cairn_tiledb_schema_pipeline(w->schema, f->slot), 1, f->starts,
						w->n_cells);
	if (status == CAIRN_OK)
		status = writer_store(w, f, CAIRN_TILEDB_FILE_VAR, CAIRN_TILEDB_VAR_OFFSETS, diag);
	cairn_buf_u64le(&w->fragment.slots[f->slot].vectors[CAIRN_TILEDB_VAR_SIZES], f->var.len);
	return status;
}

static enum cairn_status writer_store_fixed(struct cairn_tiledb_writer *w, struct writer_field *f,
					    struct cairn_diag *diag)
{
	struct cairn_tiledb_slot *slot = &w->fragment.slots[f->slot];
	enum cairn_status status = cairn_tiledb_tile_pack(
		w->codec, &w->packed, (struct cairn_tiledb_view){f->fixed.bytes, f->fixed.len},
		cairn_tiledb_schema_pipeline(w->schema, f->slot), cairn_tiledb_cell_bytes(f->field), NULL, 0);
	cairn_buf_u64le(&slot->vectors[CAIRN_TILEDB_VAR_OFFSETS], 0);
	cairn_buf_u64le(&slot->vectors[CAIRN_TILEDB_VAR_SIZES], 0);
	return status == CAIRN_OK ? writer_store(w, f, CAIRN_TILEDB_FILE_FIXED, CAIRN_TILEDB_OFFSETS, diag) : status;
}

static enum cairn_status writer_store_validity(struct cairn_tiledb_writer *w, struct writer_field *f,
					       struct cairn_diag *diag)
{
	if (!f->field->nullable) {
		cairn_buf_u64le(&w->fragment.slots[f->slot].vectors[CAIRN_TILEDB_VALIDITY_OFFSETS], 0);
		return CAIRN_OK;
	}
	enum cairn_status status = cairn_tiledb_tile_pack(
		w->codec, &w->packed, (struct cairn_tiledb_view){f->validity.bytes, f->validity.len},
		&w->schema->validity, 1, NULL, 0);
	if (status != CAIRN_OK)
		return status;
	return writer_store(w, f, CAIRN_TILEDB_FILE_VALIDITY, CAIRN_TILEDB_VALIDITY_OFFSETS, diag);
}

/* Adds a minimum or maximum of a tile. If all cells are null, it is zero, or empty for a text of any length. */
static void writer_put_minmax(struct writer_field *f, const struct cairn_buf *value, struct cairn_buf *fixed,
			      struct cairn_buf *var)
{
	if (f->field->cell_values == CAIRN_TILEDB_VAR) {
		cairn_buf_u64le(fixed, var->len);
		cairn_buf_add(var, value->bytes, value->len);
	} else if (f->tile.any) {
		cairn_buf_add(fixed, value->bytes, value->len);
	} else {
		cairn_buf_fill(fixed, 0, cairn_tiledb_cell_bytes(f->field));
	}
}

static void writer_put_stats(struct cairn_tiledb_writer *w, struct writer_field *f)
{
	struct cairn_tiledb_slot *slot = &w->fragment.slots[f->slot];
	if (f->tile.has_minmax) {
		writer_put_minmax(f, &f->tile.min, &slot->vectors[CAIRN_TILEDB_MINS], &slot->var_min);
		writer_put_minmax(f, &f->tile.max, &slot->vectors[CAIRN_TILEDB_MAXS], &slot->var_max);
	}
	if (f->tile.has_sum)
		cairn_buf_u64le(&slot->vectors[CAIRN_TILEDB_SUMS], f->tile.sum);
	if (f->field->nullable)
		cairn_buf_u64le(&slot->vectors[CAIRN_TILEDB_NULLS], f->tile.n_nulls);
	cairn_tiledb_stats_merge(&f->total, &f->tile);
	cairn_tiledb_stats_reset(&f->tile);
}

/* Adds zeros for the unused slot between attributes and dimension, which has entries, too. */
static void writer_put_dead_slot(struct cairn_tiledb_writer *w)
{
	struct cairn_tiledb_slot *slot = &w->fragment.slots[w->schema->n_attrs];
	for (unsigned v = CAIRN_TILEDB_OFFSETS; v <= CAIRN_TILEDB_VALIDITY_OFFSETS; v++)
		cairn_buf_u64le(&slot->vectors[v], 0);
	cairn_buf_fill(&slot->vectors[CAIRN_TILEDB_MINS], 0, 1);
	cairn_buf_fill(&slot->vectors[CAIRN_TILEDB_MAXS], 0, 1);
}

static enum cairn_status writer_flush(struct cairn_tiledb_writer *w, struct cairn_diag *diag)
{
	const struct writer_field *dim = &w->fields[w->n_fields - 1];
	/* Rows are sorted, so the first and the last are the lowest and the highest. */
	uint64_t second = w->n_cells > 1 ? dim->starts[1] : dim->var.len, last = dim->starts[w->n_cells - 1];
	struct cairn_tiledb_mbr mbr = {.min = {{dim->var.bytes, (size_t)second}},
				       .max = {{dim->var.bytes + last, (size_t)(dim->var.len - last)}}};
	enum cairn_status status = cairn_tiledb_rtree_add(&w->fragment.rtree, w->schema, &mbr);
	for (uint32_t i = 0; i < w->n_fields && status == CAIRN_OK; i++) {
		struct writer_field *f = &w->fields[i];
		bool is_var = f->field->cell_values == CAIRN_TILEDB_VAR;
		status = is_var ? writer_store_var(w, f, diag) : writer_store_fixed(w, f, diag);
		if (status == CAIRN_OK)
			status = writer_store_validity(w, f, diag);
		writer_put_stats(w, f);
		f->fixed.len = 0;
		f->var.len = 0;
		f->validity.len = 0;
	}
	writer_put_dead_slot(w);
	w->fragment.n_tiles++;
	w->fragment.last_tile_cells = w->n_cells;
	w->n_cells = 0;
	return status;
}

static enum cairn_status writer_check_order(struct cairn_tiledb_writer *w, struct cairn_tiledb_view value,
					    struct cairn_diag *diag)
{
	const struct cairn_tiledb_type *type = cairn_tiledb_type(w->schema->dims[0].datatype);
	struct cairn_tiledb_view last = {w->last.bytes, w->last.len};
	if (w->fragment.n_tiles + w->n_cells > 0 && cairn_tiledb_compare(type, value, last) < 0)
		return cairn_fail(diag, CAIRN_E_USAGE, "tiledb.order", CAIRN_NO_OFFSET, "rows are not sorted");
	w->last.len = 0;
	cairn_buf_add(&w->last, value.bytes, value.len);
	return w->last.status;
}

enum cairn_status cairn_tiledb_writer_add(struct cairn_tiledb_writer *w, const struct cairn_tiledb_cell *row,
					  struct cairn_diag *diag)
{
	enum cairn_status status = writer_check_order(w, row[w->n_fields - 1].value, diag);
	for (uint32_t i = 0; i < w->n_fields && status == CAIRN_OK; i++) {
		struct writer_field *f = &w->fields[i];
		struct cairn_tiledb_view value = row[i].value;
		if (f->field->cell_values == CAIRN_TILEDB_VAR) {
			f->starts[w->n_cells] = f->var.len;
			cairn_buf_u64le(&f->fixed, f->var.len);
			cairn_buf_add(&f->var, value.bytes, value.len);
		} else {
			cairn_buf_add(&f->fixed, value.bytes, value.len);
		}
		if (f->field->nullable)
			cairn_buf_fill(&f->validity, !row[i].is_null, 1);
		cairn_tiledb_stats_add(&f->tile, value, row[i].is_null);
		status = f->fixed.status != CAIRN_OK ? f->fixed.status : f->var.status;
	}
	if (status == CAIRN_OK && ++w->n_cells == w->schema->capacity)
		status = writer_flush(w, diag);
	return status;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static void writer_put_totals(struct cairn_tiledb_writer *w)
{
	for (uint32_t i = 0; i < w->n_fields; i++) {
		const struct cairn_tiledb_stats *total = &w->fields[i].total;
		struct cairn_tiledb_slot *slot = &w->fragment.slots[w->fields[i].slot];
		uint8_t scratch[8];
		struct cairn_tiledb_view value = cairn_tiledb_stats_total(total, true, scratch);
		cairn_buf_add(&slot->min, value.bytes, value.len);
		value = cairn_tiledb_stats_total(total, false, scratch);
		cairn_buf_add(&slot->max, value.bytes, value.len);
		slot->sum = total->sum;
		slot->n_nulls = total->n_nulls;
	}
	cairn_buf_fill(&w->fragment.slots[w->schema->n_attrs].min, 0, 1);
	cairn_buf_fill(&w->fragment.slots[w->schema->n_attrs].max, 0, 1);
}

static enum cairn_status writer_sync(struct cairn_tiledb_writer *w, struct cairn_diag *diag)
{
	for (uint32_t i = 0; i < w->n_fields; i++) {
		for (unsigned file = 0; file < CAIRN_TILEDB_FILES; file++) {
			if (w->fields[i].fds[file] >= 0 && cairn_sys_fsync(w->fields[i].fds[file]) < 0)
				return writer_failed(diag, w->name);
		}
	}
	return cairn_sys_fsync(w->dir_fd) < 0 ? writer_failed(diag, w->name) : CAIRN_OK;
}

enum cairn_status cairn_tiledb_writer_end(struct cairn_tiledb_writer *w, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf file = cairn_buf_init(CAIRN_TILEDB_META_BYTES_MAX);
	struct cairn_tiledb_mbr root;
	enum cairn_status status = w->n_cells > 0 ? writer_flush(w, diag) : CAIRN_OK;
	if (status == CAIRN_OK && w->fragment.n_tiles == 0)
		return CAIRN_E_USAGE;
	if (status == CAIRN_OK)
		status = cairn_tiledb_rtree_build(&w->fragment.rtree, w->schema);
	if (status != CAIRN_OK)
		return status;
	writer_put_totals(w);
	cairn_tiledb_rtree_at(&w->fragment.rtree, w->schema, 0, 0, &root);
	w->fragment.has_domain = true;
	cairn_tiledb_mbr_write(&w->fragment.domain, w->schema, &root);
	status = cairn_tiledb_fragment_write(&file, &w->fragment, w->schema->checksums);
	if (status == CAIRN_OK)
		status = writer_put_file(w->dir_fd, CAIRN_TILEDB_META_FILE, &file, diag);
	if (status == CAIRN_OK)
		status = writer_sync(w, diag);
	w->ended = status == CAIRN_OK;
	return status;
}
