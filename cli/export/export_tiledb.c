/* Writes tables as TileDB arrays: one folder for each table, and one fragment for each export with new rows. */
#include "archive/tiledb/writer.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cli/export/export.h"
#include "hash/crypto.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TILEDB_CAPACITY = 10000, TILEDB_ZSTD_LEVEL = 3, TILEDB_PATH_BYTES = 4400 };

static void tiledb_field(struct cairn_tiledb_field *out, const struct export_column *column, bool checksums)
{
	*out = (struct cairn_tiledb_field){.cell_values = 1, .nullable = column->nullable};
	out->pipeline = (struct cairn_tiledb_pipeline){
		CAIRN_TILEDB_CHUNK_BYTES,
		checksums ? 2 : 1,
		{{CAIRN_TILEDB_FILTER_ZSTD, TILEDB_ZSTD_LEVEL}, {CAIRN_TILEDB_FILTER_SHA256, 0}}};
	(void)snprintf(out->name, sizeof(out->name), "%s", column->name);
	switch (column->kind) {
	case EXPORT_HASH:
	case EXPORT_DIGEST:
		/* Not 64 values of CHAR: a filter of libtiledb 2.30 compares only the first of them. */
		out->datatype = CAIRN_TILEDB_ASCII;
		out->cell_values = CAIRN_TILEDB_VAR;
		break;
	case EXPORT_U32:
		out->datatype = CAIRN_TILEDB_UINT32;
		break;
	case EXPORT_U64:
		out->datatype = CAIRN_TILEDB_UINT64;
		break;
	case EXPORT_TIME:
		out->datatype = CAIRN_TILEDB_DATETIME_MS;
		break;
	}
}

static enum cairn_status tiledb_schema(struct cairn_tiledb_schema *out, const struct export_layout *layout,
				       bool checksums)
{
	struct cairn_tiledb_field dim;
	tiledb_field(&dim, &layout->columns[0], checksums);
	*out = (struct cairn_tiledb_schema){.version = CAIRN_TILEDB_VERSION,
					    .sparse = true,
					    .allows_duplicates = true,
					    .capacity = TILEDB_CAPACITY,
					    .coords = {.chunk_bytes = CAIRN_TILEDB_CHUNK_BYTES},
					    .offsets = dim.pipeline,
					    .validity = dim.pipeline,
					    .checksums = checksums};
	out->dims = calloc(1, sizeof(*out->dims));
	out->attrs = calloc(layout->n_columns - 1, sizeof(*out->attrs));
	if (!out->dims || !out->attrs)
		return CAIRN_E_NOMEM;
	out->n_dims = 1;
	out->n_attrs = layout->n_columns - 1;
	out->dims[0] = dim;
	for (uint32_t i = 1; i < layout->n_columns; i++)
		tiledb_field(&out->attrs[i - 1], &layout->columns[i], checksums);
	return CAIRN_OK;
}

/* Do the fields agree? Filters and capacity may differ: the array may be consolidated, or of an older Cairn. */
static bool tiledb_same_fields(const struct cairn_tiledb_schema *a, const struct cairn_tiledb_schema *b)
{
	if (!a->sparse || !a->allows_duplicates || a->n_attrs != b->n_attrs || a->n_dims != b->n_dims)
		return false;
	for (uint32_t i = 0; i < cairn_tiledb_schema_slots(a); i++) {
		const struct cairn_tiledb_field *x = cairn_tiledb_schema_field(a, i),
						*y = cairn_tiledb_schema_field(b, i);
		if (x && (strcmp(x->name, y->name) != 0 || x->datatype != y->datatype ||
			  x->cell_values != y->cell_values || x->nullable != y->nullable))
			return false;
	}
	return true;
}

static bool tiledb_same_filters(const struct cairn_tiledb_pipeline *a, const struct cairn_tiledb_pipeline *b)
{
	bool same = a->n == b->n;
	for (uint32_t i = 0; same && i < a->n; i++)
		same = a->filters[i].type == b->filters[i].type;
	return same;
}

/* Are fields stored alike? Readers use the array's schema for each fragment, so a fragment must be written by it. Only
 * the writer uses a filter's level. */
static bool tiledb_same_storage(const struct cairn_tiledb_schema *a, const struct cairn_tiledb_schema *b)
{
	bool same = a->capacity == b->capacity && tiledb_same_filters(&a->offsets, &b->offsets) &&
		    tiledb_same_filters(&a->validity, &b->validity);
	for (uint32_t i = 0; same && i < cairn_tiledb_schema_slots(a); i++)
		same = !cairn_tiledb_schema_field(a, i) ||
		       tiledb_same_filters(cairn_tiledb_schema_pipeline(a, i), cairn_tiledb_schema_pipeline(b, i));
	return same;
}

static bool tiledb_exists(const struct export *e, enum export_table table)
{
	struct stat st;
	return cairn_sys_fstatat(e->dir_fd, export_layout(table)->name, &st, 0) == 0;
}

/* Finds the highest number in a fragment: the maximum of the last attribute, from its metadata. */
static enum cairn_status tiledb_resume_fragment(struct export *e, enum export_table table,
						struct cairn_tiledb_array *array, const char *name,
						struct cairn_diag *diag)
{
	CLEANUP(cairn_tiledb_reader_fini) struct cairn_tiledb_reader r;
	enum cairn_status status = cairn_tiledb_reader_open(&r, array, name, diag);
	if (status != CAIRN_OK)
		return status;
	if (!tiledb_same_fields(&r.schema, &array->schema))
		return cairn_fail(diag, CAIRN_E_CONFLICT, "export.schema", CAIRN_NO_OFFSET,
				  "fragment %s has other fields than its array", name);
	const struct cairn_buf *max = &r.fragment.slots[r.schema.n_attrs - 1].max;
	uint64_t number = max->len == 8 ? cairn_get_u64le(max->bytes) : UINT64_MAX;
	if (number > INT64_MAX)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "export.schema", CAIRN_NO_OFFSET,
				  "fragment %s does not say which rows it has", name);
	if ((int64_t)number > e->after[table])
		e->after[table] = (int64_t)number;
	if (r.when.last_ms >= e->time_ms)
		e->time_ms = r.when.last_ms + 1;
	return CAIRN_OK;
}

static enum cairn_status tiledb_resume_table(struct export *e, enum export_table table, struct cairn_diag *diag)
{
	CLEANUP(cairn_tiledb_array_fini) struct cairn_tiledb_array array;
	CLEANUP(cairn_tiledb_schema_fini) struct cairn_tiledb_schema own = {0}, bare = {0};
	const struct export_layout *layout = export_layout(table);
	char path[TILEDB_PATH_BYTES];
	(void)snprintf(path, sizeof(path), "%s/%s", e->path, layout->name);
	enum cairn_status status = cairn_tiledb_array_open(&array, path, diag);
	if (status == CAIRN_OK)
		status = tiledb_schema(&own, layout, true);
	if (status == CAIRN_OK)
		status = tiledb_schema(&bare, layout, false);
	if (status != CAIRN_OK)
		return status;
	if (!tiledb_same_fields(&array.schema, &own))
		return cairn_fail(diag, CAIRN_E_CONFLICT, "export.schema", CAIRN_NO_OFFSET,
				  "is an array with other fields than those of an export");
	e->bare[table] = tiledb_same_storage(&array.schema, &bare);
	if (!e->bare[table] && !tiledb_same_storage(&array.schema, &own))
		return cairn_fail(
			diag, CAIRN_E_CONFLICT, "export.schema", CAIRN_NO_OFFSET,
			"is an array with other filters or tiles than those of an export: name another folder");
	(void)snprintf(e->schema_names[table], sizeof(e->schema_names[table]), "%.95s", array.schema_name);
	for (uint32_t i = 0; i < array.n_fragments && status == CAIRN_OK; i++)
		status = tiledb_resume_fragment(e, table, &array, array.fragments[i], diag);
	return status;
}

enum cairn_status export_tiledb_resume(struct export *e, struct cairn_diag *diag)
{
	struct timespec now;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	e->time_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	for (unsigned i = 0; i < EXPORT_TABLES; i++) {
		char text[sizeof(diag->text)];
		enum cairn_status status = tiledb_exists(e, i) ? tiledb_resume_table(e, i, diag) : CAIRN_OK;
		if (status == CAIRN_OK)
			continue;
		(void)snprintf(text, sizeof(text), "%s", diag->text);
		(void)snprintf(diag->text, sizeof(diag->text), "%s/%.200s", export_layout(i)->name, text);
		return status == CAIRN_E_NOT_FOUND ? CAIRN_E_CONFLICT : status;
	}
	return CAIRN_OK;
}

struct tiledb_table {
	struct export *e;
	enum export_table table;
	const struct export_layout *layout;
	int parent_fd; /* folder where the fragment is made */
	struct cairn_tiledb_schema schema;
	struct cairn_tiledb_writer *writer; /* NULL: no row so far */
	struct cairn_diag *diag;
};

static void tiledb_table_fini(struct tiledb_table *t)
{
	cairn_tiledb_writer_freep(&t->writer);
	cairn_tiledb_schema_fini(&t->schema);
	cairn_fd_closep(&t->parent_fd);
}

static enum cairn_status tiledb_begin(struct tiledb_table *t)
{
	uint8_t uuid[CAIRN_TILEDB_UUID_BYTES];
	struct export_result *result = &t->e->results[t->table];
	enum cairn_status status = cairn_random(uuid, sizeof(uuid));
	if (status != CAIRN_OK)
		return status;
	cairn_tiledb_name_text(result->fragment, t->e->time_ms, uuid, CAIRN_TILEDB_VERSION);
	return cairn_tiledb_writer_open(&t->writer, t->parent_fd, result->fragment, &t->schema,
					t->e->schema_names[t->table], t->diag);
}

static enum cairn_status tiledb_row(void *ctx, const struct export_value *values)
{
	struct tiledb_table *t = ctx;
	struct cairn_tiledb_cell row[EXPORT_COLUMNS_MAX];
	char text[EXPORT_COLUMNS_MAX][65];
	uint8_t number[EXPORT_COLUMNS_MAX][8];
	uint32_t n = t->layout->n_columns;
	enum cairn_status status = t->writer ? CAIRN_OK : tiledb_begin(t);
	if (status != CAIRN_OK)
		return status;
	assert(n <= EXPORT_COLUMNS_MAX);
	for (uint32_t i = 0; i < n; i++) {
		struct cairn_tiledb_cell *cell = &row[i == 0 ? n - 1 : i - 1]; /* the dimension is the last cell */
		cell->is_null = values[i].is_null;
		if (t->layout->columns[i].kind == EXPORT_HASH || t->layout->columns[i].kind == EXPORT_DIGEST) {
			cairn_hex_text(text[i], values[i].digest, CAIRN_HASH_BYTES);
			cell->value = (struct cairn_tiledb_view){(const uint8_t *)text[i], 64};
		} else {
			cairn_put_u64le(number[i], values[i].number);
			cell->value =
				(struct cairn_tiledb_view){number[i], t->layout->columns[i].kind == EXPORT_U32 ? 4 : 8};
		}
	}
	t->e->results[t->table].n_rows++;
	return cairn_tiledb_writer_add(t->writer, row, t->diag);
}

/* Makes a place in the work folder: a new array with its schema, or a folder for the fragment of an existing array. */
static enum cairn_status tiledb_make_place(struct tiledb_table *t)
{
	uint8_t uuid[CAIRN_TILEDB_UUID_BYTES];
	char path[EXPORT_NAME_BYTES];
	char *schema_name = t->e->schema_names[t->table];
	bool is_new = schema_name[0] == '\0';
	enum cairn_status status = tiledb_schema(&t->schema, t->layout, !t->e->bare[t->table]);
	if (status == CAIRN_OK && is_new) {
		status = cairn_random(uuid, sizeof(uuid));
		cairn_tiledb_name_text(schema_name, t->e->time_ms, uuid, 0);
		if (status == CAIRN_OK)
			status = cairn_tiledb_array_make(t->e->work_fd, t->layout->name, &t->schema, schema_name,
							 t->diag);
	} else if (status == CAIRN_OK && cairn_sys_mkdirat(t->e->work_fd, t->layout->name, 0777) < 0) {
		return export_failed(t->diag, t->layout->name);
	}
	if (status != CAIRN_OK)
		return status;
	(void)snprintf(path, sizeof(path), "%s%s", t->layout->name, is_new ? "/" CAIRN_TILEDB_FRAGMENTS_DIR : "");
	t->parent_fd = cairn_sys_openat(t->e->work_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	return t->parent_fd < 0 ? export_failed(t->diag, path) : CAIRN_OK;
}

static enum cairn_status tiledb_write_table(struct export *e, enum export_table table, struct cairn_diag *diag)
{
	CLEANUP(tiledb_table_fini)
	struct tiledb_table t = {.e = e, .table = table, .layout = export_layout(table), .parent_fd = -1, .diag = diag};
	enum cairn_status status = tiledb_make_place(&t);
	if (status == CAIRN_OK)
		status = export_drain(e, table, tiledb_row, &t);
	if (status == CAIRN_OK && t.writer)
		status = cairn_tiledb_writer_end(t.writer, diag);
	if (status == CAIRN_OK || (diag && diag->rule))
		return status;
	return cairn_fail(diag, status, "export.write", CAIRN_NO_OFFSET, "%s: cannot be written: %s", t.layout->name,
			  cairn_status_name(status));
}

/* Gives a new array its name when its fragment is committed. */
static enum cairn_status tiledb_publish_array(struct export *e, enum export_table table, struct cairn_diag *diag)
{
	const char *name = export_layout(table)->name;
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_openat(e->work_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	enum cairn_status status = fd < 0 ? export_failed(diag, name) : CAIRN_OK;
	if (status == CAIRN_OK && e->results[table].fragment[0])
		status = cairn_tiledb_commit(fd, e->results[table].fragment, diag);
	if (status == CAIRN_OK && cairn_sys_renameat(e->work_fd, name, e->dir_fd, name) < 0)
		status = export_failed(diag, name);
	return status;
}

/* Adds a fragment: moves it to its place, where readers ignore it, then commits it. */
static enum cairn_status tiledb_publish_fragment(struct export *e, enum export_table table, struct cairn_diag *diag)
{
	const char *name = export_layout(table)->name, *fragment = e->results[table].fragment;
	char from[2 * EXPORT_NAME_BYTES], to[2 * EXPORT_NAME_BYTES];
	(void)snprintf(from, sizeof(from), "%s/%s", name, fragment);
	(void)snprintf(to, sizeof(to), "%s/%s/%s", name, CAIRN_TILEDB_FRAGMENTS_DIR, fragment);
	CLEANUP(cairn_fd_closep) int fd = cairn_sys_openat(e->dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0 || cairn_sys_renameat(e->work_fd, from, e->dir_fd, to) < 0)
		return export_failed(diag, to);
	enum cairn_status status = cairn_tiledb_commit(fd, fragment, diag);
	if (status != CAIRN_OK)
		(void)export_remove(e->dir_fd, to);
	return status;
}

enum cairn_status export_tiledb_write(struct export *e, struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	bool existed[EXPORT_TABLES];
	for (unsigned i = 0; i < EXPORT_TABLES && status == CAIRN_OK; i++) {
		existed[i] = e->schema_names[i][0] != '\0';
		status = tiledb_write_table(e, i, diag);
	}
	for (unsigned i = 0; i < EXPORT_TABLES && status == CAIRN_OK; i++) {
		if (!existed[i])
			status = tiledb_publish_array(e, i, diag);
		else if (e->results[i].fragment[0])
			status = tiledb_publish_fragment(e, i, diag);
	}
	if (status == CAIRN_OK && cairn_sys_fsync(e->dir_fd) < 0)
		return export_failed(diag, e->path);
	return status;
}
