/* Encodes statements' arguments in PostgreSQL's binary format (numbers, bytes, arrays of them), and decodes columns. */
#ifndef CAIRN_INDEX_POSTGRES_ARGS_H
#define CAIRN_INDEX_POSTGRES_ARGS_H

#include "db/db.h"
#include "hash/copy_id.h"

#include <libpq-fe.h>

enum { CAIRN_PG_ARGS_MAX = 17 };

/** An array for $n, with values as they are sent. Zeroed is empty. */
struct cairn_pg_array {
	uint8_t *bytes;
	size_t len, cap;
	uint32_t n;
	enum cairn_status status; /* CAIRN_OK; CAIRN_E_NOMEM: values are missing */
};

/** Appends a value. The first value decides the type, which all values must have. @param p  copied */
void cairn_pg_add_int8(struct cairn_pg_array *a, int64_t value);
void cairn_pg_add_bytes(struct cairn_pg_array *a, const void *p, size_t len);
/** Removes the values, and keeps the memory. */
void cairn_pg_array_empty(struct cairn_pg_array *a);
void cairn_pg_array_fini(struct cairn_pg_array *a);

/* Arguments that db.h does not have. The values of an array are borrowed until the statement is queued. */
struct cairn_db_arg cairn_pg_int8s(struct cairn_pg_array *a);
struct cairn_db_arg cairn_pg_byteas(struct cairn_pg_array *a);
/** Passes the bytes as text. */
struct cairn_db_arg cairn_pg_texts(struct cairn_pg_array *a);
/** Makes an argument of a copy id; NULL if the copy has none. */
struct cairn_db_arg cairn_pg_copy_name(const struct cairn_copy_id *copy);

/** Arguments as they are sent. */
struct cairn_pg_args {
	int n;
	Oid types[CAIRN_PG_ARGS_MAX];
	const char *values[CAIRN_PG_ARGS_MAX];
	int lengths[CAIRN_PG_ARGS_MAX], formats[CAIRN_PG_ARGS_MAX];
	uint8_t numbers[CAIRN_PG_ARGS_MAX][8];
};
/** @param args  borrowed by out  @return CAIRN_OK; CAIRN_E_NOMEM an array lacks values; CAIRN_E_LIMIT too many */
CAIRN_MUST_USE enum cairn_status cairn_pg_encode(struct cairn_pg_args *out, const struct cairn_db_args *args);

/* Columns of an answer. */
int64_t cairn_pg_get_int8(const PGresult *r, int row, int column); /* 0: NULL. Reads bool and int4, too */
/** Reads a hash. @return false: the value is not a hash */
bool cairn_pg_get_hash(const PGresult *r, int row, int column, struct cairn_hash *out);
const uint8_t *cairn_pg_get_bytes(const PGresult *r, int row, int column, size_t *len);
/** Reads a copy id; NULL: a copy without an id. @return false: damaged */
bool cairn_pg_get_copy(const PGresult *r, int row, int column, struct cairn_copy_id *out);
/** Reads an array. @param[out] out  *n values, owned; NULL: none @return CAIRN_OK; CAIRN_E_DAMAGED; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_pg_get_int8s(const PGresult *r, int row, int column, int64_t **out, uint32_t *n);
void cairn_pg_free_int8s(int64_t **values);
/** Reads a text. @return false: it does not fit */
bool cairn_pg_get_text(const PGresult *r, int row, int column, char *out, size_t out_bytes);

#endif
