#include "index/postgres/args.h"

#include "base/bytes.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* OIDs of types in pg_type.dat, which never change. */
enum {
	ARGS_BYTEA = 17,
	ARGS_INT8 = 20,
	ARGS_TEXT = 25,
	ARGS_BYTEAS = 1001,
	ARGS_TEXTS = 1009,
	ARGS_INT8S = 1016,
	ARGS_ARRAY_HEAD = 20, /* bytes of an array's head: dimensions, nulls, type, length, first index */
	ARGS_EMPTY = 12,      /* bytes of an empty array, which has no dimension */
};

static void args_put_u64be(uint8_t *p, uint64_t v)
{
	cairn_put_u32be(p, (uint32_t)(v >> 32));
	cairn_put_u32be(p + 4, (uint32_t)v);
}

/* --- arrays ------------------------------------------------------------------------------------------------------- */

static bool args_grow(struct cairn_pg_array *a, size_t more)
{
	size_t want = a->len + more, cap = a->cap ? a->cap : 256;
	while (cap < want)
		cap *= 2;
	if (cap == a->cap)
		return true;
	uint8_t *grown = realloc(a->bytes, cap);
	if (!grown || want > INT_MAX) {
		free(grown ? grown : a->bytes);
		*a = (struct cairn_pg_array){.status = CAIRN_E_NOMEM};
		return false;
	}
	a->bytes = grown;
	a->cap = cap;
	return true;
}

static void args_head(struct cairn_pg_array *a, Oid of)
{
	cairn_put_u32be(a->bytes, a->n > 0);
	cairn_put_u32be(a->bytes + 4, 0);
	cairn_put_u32be(a->bytes + 8, of);
	cairn_put_u32be(a->bytes + 12, a->n);
	cairn_put_u32be(a->bytes + 16, 1);
}

static void args_add(struct cairn_pg_array *a, const void *p, size_t len)
{
	size_t head = a->len == 0 ? ARGS_ARRAY_HEAD : 0;
	if (a->status != CAIRN_OK || !args_grow(a, head + 4 + len))
		return;
	a->len += head;
	cairn_put_u32be(a->bytes + a->len, (uint32_t)len);
	if (len > 0)
		memcpy(a->bytes + a->len + 4, p, len);
	a->len += 4 + len;
	a->n++;
}

void cairn_pg_add_int8(struct cairn_pg_array *a, int64_t value)
{
	uint8_t bytes[8];
	args_put_u64be(bytes, (uint64_t)value);
	args_add(a, bytes, sizeof(bytes));
}

void cairn_pg_add_bytes(struct cairn_pg_array *a, const void *p, size_t len)
{
	args_add(a, p, len);
}

void cairn_pg_array_empty(struct cairn_pg_array *a)
{
	a->len = 0;
	a->n = 0;
}

void cairn_pg_array_fini(struct cairn_pg_array *a)
{
	free(a->bytes);
	*a = (struct cairn_pg_array){0};
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static struct cairn_db_arg args_array(struct cairn_pg_array *a, Oid type, Oid of)
{
	if (a->n == 0 && a->status == CAIRN_OK)
		(void)args_grow(a, ARGS_ARRAY_HEAD);
	if (a->status == CAIRN_OK)
		args_head(a, of);
	return (struct cairn_db_arg){.type = CAIRN_DB_ARRAY,
				     .null = a->status != CAIRN_OK,
				     .number = type,
				     .p = a->bytes,
				     .len = a->n > 0 ? a->len : ARGS_EMPTY};
}

struct cairn_db_arg cairn_pg_int8s(struct cairn_pg_array *a)
{
	return args_array(a, ARGS_INT8S, ARGS_INT8);
}

struct cairn_db_arg cairn_pg_byteas(struct cairn_pg_array *a)
{
	return args_array(a, ARGS_BYTEAS, ARGS_BYTEA);
}

struct cairn_db_arg cairn_pg_texts(struct cairn_pg_array *a)
{
	return args_array(a, ARGS_TEXTS, ARGS_TEXT);
}

struct cairn_db_arg cairn_pg_copy_name(const struct cairn_copy_id *copy)
{
	struct cairn_db_arg arg = cairn_db_bytes(copy->b, sizeof(copy->b));
	arg.null = !cairn_copy_id_is_set(copy);
	return arg;
}

/* @return the encoded value; the argument is not NULL */
static const void *args_encode(const struct cairn_db_arg *arg, uint8_t number[static 8], Oid *type, size_t *len)
{
	*len = arg->len;
	*type = arg->type == CAIRN_DB_TEXT ? ARGS_TEXT : arg->type == CAIRN_DB_ARRAY ? (Oid)arg->number : ARGS_BYTEA;
	if (arg->type != CAIRN_DB_INT)
		return arg->len > 0 ? arg->p : "";
	*type = ARGS_INT8;
	*len = 8;
	args_put_u64be(number, (uint64_t)arg->number);
	return number;
}

enum cairn_status cairn_pg_encode(struct cairn_pg_args *out, const struct cairn_db_args *args)
{
	if (args->n > CAIRN_PG_ARGS_MAX)
		return CAIRN_E_LIMIT;
	for (unsigned i = 0; i < args->n; i++) {
		const struct cairn_db_arg *arg = &args->arg[i];
		size_t len;
		const void *value = args_encode(arg, out->numbers[i], &out->types[i], &len);
		if (arg->null && arg->type == CAIRN_DB_ARRAY)
			return CAIRN_E_NOMEM;
		if (len > INT_MAX)
			return CAIRN_E_LIMIT;
		out->values[i] = arg->null ? NULL : value;
		out->lengths[i] = (int)len;
		out->formats[i] = 1;
	}
	out->n = (int)args->n;
	return CAIRN_OK;
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

int64_t cairn_pg_get_int8(const PGresult *r, int row, int column)
{
	if (PQgetisnull(r, row, column))
		return 0;
	const uint8_t *p = (const uint8_t *)PQgetvalue(r, row, column);
	switch (PQgetlength(r, row, column)) {
	case 1:
		return p[0];
	case 2:
		return (int16_t)(p[0] << 8 | p[1]);
	case 4:
		return (int32_t)cairn_get_u32be(p);
	case 8:
		return (int64_t)cairn_get_u64be(p);
	default:
		return 0;
	}
}

bool cairn_pg_get_hash(const PGresult *r, int row, int column, struct cairn_hash *out)
{
	if (PQgetlength(r, row, column) != (int)sizeof(out->b))
		return false;
	memcpy(out->b, PQgetvalue(r, row, column), sizeof(out->b));
	return true;
}

const uint8_t *cairn_pg_get_bytes(const PGresult *r, int row, int column, size_t *len)
{
	*len = (size_t)PQgetlength(r, row, column);
	return (const uint8_t *)PQgetvalue(r, row, column);
}

bool cairn_pg_get_text(const PGresult *r, int row, int column, char *out, size_t out_bytes)
{
	size_t len = (size_t)PQgetlength(r, row, column);
	if (len >= out_bytes)
		return false;
	memcpy(out, PQgetvalue(r, row, column), len);
	out[len] = '\0';
	return true;
}

enum cairn_status cairn_pg_get_int8s(const PGresult *r, int row, int column, int64_t **out, uint32_t *n)
{
	const uint8_t *p = (const uint8_t *)PQgetvalue(r, row, column);
	size_t len = (size_t)PQgetlength(r, row, column), head = ARGS_ARRAY_HEAD;
	*out = NULL;
	*n = 0;
	if (len <= head)
		return len == ARGS_EMPTY ? CAIRN_OK : CAIRN_E_DAMAGED;
	uint32_t count = cairn_get_u32be(p + 12);
	if (cairn_get_u32be(p) != 1 || (len - head) / 12 != count || (len - head) % 12 != 0)
		return CAIRN_E_DAMAGED;
	*out = malloc(count * sizeof(**out));
	if (!*out)
		return CAIRN_E_NOMEM;
	for (uint32_t i = 0; i < count; i++)
		(*out)[i] = (int64_t)cairn_get_u64be(p + head + (size_t)i * 12 + 4);
	*n = count;
	return CAIRN_OK;
}

void cairn_pg_free_int8s(int64_t **values)
{
	free(*values);
	*values = NULL;
}

bool cairn_pg_get_copy(const PGresult *r, int row, int column, struct cairn_copy_id *out)
{
	size_t len;
	const uint8_t *bytes = cairn_pg_get_bytes(r, row, column, &len);
	*out = (struct cairn_copy_id){0};
	if (PQgetisnull(r, row, column))
		return true;
	if (len != sizeof(out->b))
		return false;
	memcpy(out->b, bytes, sizeof(out->b));
	return true;
}
