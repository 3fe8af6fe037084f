#include "index/tables.h"
#include "index/transfer.h"

#include <stdlib.h>
#include <string.h>

void cairn_index_rows_init(struct cairn_index_rows *rows, enum cairn_index_table table)
{
	*rows = (struct cairn_index_rows){
		.table = table,
		.n_columns = CAIRN_INDEX_TABLES[table].n_columns,
		.bytes = cairn_buf_init(CAIRN_INDEX_ROWS_BYTES_MAX),
	};
}

void cairn_index_rows_fini(struct cairn_index_rows *rows)
{
	free(rows->values);
	cairn_buf_fini(&rows->bytes);
	*rows = (struct cairn_index_rows){0};
}

void cairn_index_rows_empty(struct cairn_index_rows *rows)
{
	rows->n = 0;
	rows->bytes.len = 0;
	rows->bytes.status = CAIRN_OK;
	rows->status = CAIRN_OK;
}

uint32_t cairn_index_rows_add(struct cairn_index_rows *rows)
{
	size_t want = ((size_t)rows->n + 1) * rows->n_columns;
	if (want > rows->n_room) {
		size_t room = want * 2;
		struct cairn_value *grown = realloc(rows->values, room * sizeof(*grown));
		if (!grown) {
			rows->status = CAIRN_E_NOMEM;
			return 0;
		}
		rows->values = grown;
		rows->n_room = room;
	}
	memset(rows->values + want - rows->n_columns, 0, rows->n_columns * sizeof(*rows->values));
	return rows->n++;
}

static struct cairn_value *rows_last(struct cairn_index_rows *rows, unsigned column)
{
	if (rows->status != CAIRN_OK || rows->n == 0)
		return NULL;
	return &rows->values[((size_t)rows->n - 1) * rows->n_columns + column];
}

void cairn_index_rows_number(struct cairn_index_rows *rows, unsigned column, int64_t number)
{
	struct cairn_value *value = rows_last(rows, column);
	if (value)
		*value = (struct cairn_value){.kind = CAIRN_VALUE_NUMBER, .number = number};
}

void cairn_index_rows_bytes(struct cairn_index_rows *rows, unsigned column, const void *bytes, size_t len)
{
	struct cairn_value *value = rows_last(rows, column);
	if (!value)
		return;
	*value = (struct cairn_value){.kind = CAIRN_VALUE_BYTES, .at = rows->bytes.len, .len = len};
	if (len > 0)
		cairn_buf_add(&rows->bytes, bytes, len);
	if (rows->bytes.status != CAIRN_OK)
		rows->status = rows->bytes.status;
}

void cairn_index_rows_copy(struct cairn_index_rows *rows, const struct cairn_index_rows *from, uint32_t row)
{
	(void)cairn_index_rows_add(rows);
	for (unsigned c = 0; c < rows->n_columns; c++) {
		const struct cairn_value *value = cairn_index_rows_value(from, row, c);
		if (value->kind == CAIRN_VALUE_NUMBER)
			cairn_index_rows_number(rows, c, value->number);
		else if (value->kind == CAIRN_VALUE_BYTES)
			cairn_index_rows_bytes(rows, c, cairn_index_rows_at(from, value), value->len);
	}
}

const struct cairn_value *cairn_index_rows_value(const struct cairn_index_rows *rows, uint32_t row, unsigned column)
{
	return &rows->values[(size_t)row * rows->n_columns + column];
}

const uint8_t *cairn_index_rows_at(const struct cairn_index_rows *rows, const struct cairn_value *value)
{
	return value->len > 0 ? rows->bytes.bytes + value->at : (const uint8_t *)"";
}

static int rows_compare_values(const struct cairn_index_rows *a, const struct cairn_value *x,
			       const struct cairn_index_rows *b, const struct cairn_value *y)
{
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->kind == CAIRN_VALUE_NUMBER)
		return x->number < y->number ? -1 : x->number > y->number;
	size_t shorter = x->len < y->len ? x->len : y->len;
	int order = shorter > 0 ? memcmp(cairn_index_rows_at(a, x), cairn_index_rows_at(b, y), shorter) : 0;
	return order != 0 ? order : x->len < y->len ? -1 : x->len > y->len;
}

int cairn_index_rows_compare(const struct cairn_index_rows *a, uint32_t i, const struct cairn_index_rows *b, uint32_t j)
{
	int order = 0;
	unsigned n = cairn_table_keys(&CAIRN_INDEX_TABLES[a->table]);
	for (unsigned c = 0; c < n && order == 0; c++)
		order = rows_compare_values(a, cairn_index_rows_value(a, i, c), b, cairn_index_rows_value(b, j, c));
	return order;
}

bool cairn_index_rows_equal(const struct cairn_index_rows *a, uint32_t i, const struct cairn_index_rows *b, uint32_t j)
{
	const struct cairn_table *table = &CAIRN_INDEX_TABLES[a->table];
	for (unsigned c = 0; c < table->n_columns; c++)
		if (table->columns[c].type != CAIRN_COLUMN_COPY &&
		    rows_compare_values(a, cairn_index_rows_value(a, i, c), b, cairn_index_rows_value(b, j, c)) != 0)
			return false;
	return true;
}
