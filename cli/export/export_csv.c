/* Writes tables as CSV: a line of names, then one line for each row. A null value is empty. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cli/export/export.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { CSV_BUFFER_BYTES = 64 * 1024, CSV_LINE_BYTES_MAX = 1024 };

struct csv {
	const struct export_layout *layout;
	int fd;
	struct cairn_buf out;
	uint64_t n_rows;
};

static enum cairn_status csv_flush(struct csv *csv)
{
	enum cairn_status status = csv->out.status;
	if (status == CAIRN_OK)
		status = cairn_fd_write_all(csv->fd, csv->out.bytes, csv->out.len);
	csv->out.len = 0;
	return status;
}

static void csv_put_time(struct cairn_buf *out, int64_t ms)
{
	char text[CAIRN_TIME_TEXT_BYTES];
	cairn_buf_printf(out, "%s", cairn_time_text(text, ms / 1000));
}

static enum cairn_status csv_row(void *ctx, const struct export_value *values)
{
	struct csv *csv = ctx;
	for (uint32_t i = 0; i < csv->layout->n_columns; i++) {
		char hex[65];
		if (i > 0)
			cairn_buf_fill(&csv->out, ',', 1);
		if (values[i].is_null)
			continue;
		switch (csv->layout->columns[i].kind) {
		case EXPORT_HASH:
		case EXPORT_DIGEST:
			cairn_hex_text(hex, values[i].digest, CAIRN_HASH_BYTES);
			cairn_buf_add(&csv->out, hex, 64);
			break;
		case EXPORT_U32:
		case EXPORT_U64:
			cairn_buf_printf(&csv->out, "%" PRIu64, values[i].number);
			break;
		case EXPORT_TIME:
			csv_put_time(&csv->out, (int64_t)values[i].number);
			break;
		}
	}
	cairn_buf_fill(&csv->out, '\n', 1);
	csv->n_rows++;
	return csv->out.len < CSV_BUFFER_BYTES ? csv->out.status : csv_flush(csv);
}

static void csv_fini(struct csv *csv)
{
	cairn_buf_fini(&csv->out);
	cairn_fd_closep(&csv->fd);
}

static enum cairn_status csv_table(struct export *e, enum export_table table, const char *name, struct cairn_diag *diag)
{
	CLEANUP(csv_fini)
	struct csv csv = {.layout = export_layout(table),
			  .fd = cairn_sys_openat(e->work_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666),
			  .out = cairn_buf_init(CSV_BUFFER_BYTES + CSV_LINE_BYTES_MAX)};
	if (csv.fd < 0)
		return export_failed(diag, name);
	for (uint32_t i = 0; i < csv.layout->n_columns; i++)
		cairn_buf_printf(&csv.out, "%s%c", csv.layout->columns[i].name,
				 i + 1 < csv.layout->n_columns ? ',' : '\n');
	enum cairn_status status = export_drain(e, table, csv_row, &csv);
	if (status == CAIRN_OK)
		status = csv_flush(&csv);
	if (status == CAIRN_OK && cairn_sys_fsync(csv.fd) < 0)
		return export_failed(diag, name);
	e->results[table].n_rows = csv.n_rows;
	return status == CAIRN_OK ? status
				  : cairn_fail(diag, status, "export.write", CAIRN_NO_OFFSET,
					       "%s: cannot be written: %s", name, cairn_status_name(status));
}

enum cairn_status export_csv_write(struct export *e, struct cairn_diag *diag)
{
	char names[EXPORT_TABLES][EXPORT_NAME_BYTES];
	for (unsigned i = 0; i < EXPORT_TABLES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "%s.csv", export_layout(i)->name);
		enum cairn_status status = csv_table(e, i, names[i], diag);
		if (status != CAIRN_OK)
			return status;
	}
	for (unsigned i = 0; i < EXPORT_TABLES; i++) {
		if (cairn_sys_renameat(e->work_fd, names[i], e->dir_fd, names[i]) < 0)
			return export_failed(diag, names[i]);
	}
	return cairn_sys_fsync(e->dir_fd) < 0 ? export_failed(diag, e->path) : CAIRN_OK;
}
