/* Copies rows on a connection of its own; another process may have the index open. Each statement carries arrays of
 * rows and is sent alone: a pipeline would gain nothing. */
#include "index/tables.h"

#include "index/postgres/engine.h"
#include "index/postgres/migrate.h"

#include "base/bytes.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* OIDs of types in pg_type.dat, which never change. */
enum { TRANSFER_BYTEA = 17, TRANSFER_INT8 = 20, TRANSFER_TEXT = 25 };
enum { TRANSFER_BYTEAS = 1001, TRANSFER_TEXTS = 1009, TRANSFER_INT8S = 1016 };
enum { TRANSFER_SQL_BYTES_MAX = 4096, TRANSFER_ARRAY_BYTES_MAX = 1 << 30 };

struct postgres_transfer {
	struct cairn_index_transfer transfer; /* first */
	struct cairn_pg_place place;
	struct cairn_pg pg;
};

static struct postgres_transfer *transfer_of(struct cairn_index_transfer *t)
{
	return (struct postgres_transfer *)t;
}

/* --- rows that conflict with new ones ----------------------------------------------------------------------------- */

/* Finds rows that conflict with a unique value of the new rows (u), and no longer exist at the source. */
static const char *const TRANSFER_RIVALS[CAIRN_TABLES] = {
	[CAIRN_TABLE_SCOPE] = "t.name = u.name",
	[CAIRN_TABLE_ACCOUNT] = "lower(t.name) = lower(u.name)",
	[CAIRN_TABLE_API_KEY] = "t.digest = u.digest",
	[CAIRN_TABLE_REPO] = "t.account = u.account AND t.kind = u.kind AND lower(t.name) = lower(u.name)"
			     " AND t.dropped IS NULL AND u.dropped IS NULL",
	[CAIRN_TABLE_FORMER] = "t.kind = u.kind AND t.account = u.account AND lower(t.name) = lower(u.name)",
	[CAIRN_TABLE_MIRROR_ALIAS] = "t.kind = u.kind AND lower(t.name) = lower(u.name)",
	[CAIRN_TABLE_XORB] = "t.hash = u.hash",
	[CAIRN_TABLE_SHARD] = "t.hash = u.hash AND t.scope = u.scope AND t.owner = u.owner",
	[CAIRN_TABLE_FILE] = "t.hash = u.hash",
	[CAIRN_TABLE_COMMIT] = "(t.repo = u.repo AND t.oid = u.oid) OR (t.line = u.line AND t.number = u.number)",
};

/* Records the copies of removed xorbs as dead. */
static const char TRANSFER_KILL[] =
	"INSERT INTO dead(copy, hash, at) SELECT copy, hash, extract(epoch FROM now())::bigint FROM xorb"
	" WHERE id = ANY($1::bigint[]) AND copy IS NOT NULL ON CONFLICT DO NOTHING";

/* --- arguments ---------------------------------------------------------------------------------------------------- */

/* Columns of rows as arrays, the arguments $1 and so on. */
struct transfer_args {
	int n;
	Oid types[CAIRN_COLUMNS_MAX + 1];
	struct cairn_buf arrays[CAIRN_COLUMNS_MAX + 1]; /* owned */
};

static void transfer_args_fini(struct transfer_args *args)
{
	for (int i = 0; i < args->n; i++)
		cairn_buf_fini(&args->arrays[i]);
}

static void transfer_be32(struct cairn_buf *b, uint32_t v)
{
	uint8_t bytes[4];
	cairn_put_u32be(bytes, v);
	cairn_buf_add(b, bytes, sizeof(bytes));
}

static bool transfer_is_number(const struct cairn_column *column)
{
	return column->type == CAIRN_COLUMN_NUMBER || column->type == CAIRN_COLUMN_LOGICAL;
}

static void transfer_add_value(struct cairn_buf *b, const struct cairn_column *column,
			       const struct cairn_index_rows *rows, const struct cairn_value *value)
{
	if (value->kind == CAIRN_VALUE_NULL) {
		transfer_be32(b, UINT32_MAX);
	} else if (transfer_is_number(column)) {
		transfer_be32(b, 8);
		transfer_be32(b, (uint32_t)((uint64_t)value->number >> 32));
		transfer_be32(b, (uint32_t)value->number);
	} else {
		transfer_be32(b, (uint32_t)value->len);
		cairn_buf_add(b, cairn_index_rows_at(rows, value), value->len);
	}
}

static void transfer_add_column(struct transfer_args *args, const struct cairn_index_rows *rows, unsigned c)
{
	const struct cairn_column *column = &CAIRN_INDEX_TABLES[rows->table].columns[c];
	bool number = transfer_is_number(column), text = column->type == CAIRN_COLUMN_TEXT;
	struct cairn_buf *b = &args->arrays[args->n];
	*b = cairn_buf_init(TRANSFER_ARRAY_BYTES_MAX);
	args->types[args->n++] = number ? TRANSFER_INT8S : text ? TRANSFER_TEXTS : TRANSFER_BYTEAS;
	transfer_be32(b, 1); /* dimensions */
	transfer_be32(b, 1); /* there may be NULLs */
	transfer_be32(b, number ? TRANSFER_INT8 : text ? TRANSFER_TEXT : TRANSFER_BYTEA);
	transfer_be32(b, rows->n);
	transfer_be32(b, 1); /* index of the first value */
	for (uint32_t i = 0; i < rows->n; i++)
		transfer_add_value(b, column, rows, cairn_index_rows_value(rows, i, c));
}

/* --- statements --------------------------------------------------------------------------------------------------- */

static enum cairn_status transfer_fail(struct postgres_transfer *s, const PGresult *r, struct cairn_diag *diag)
{
	const char *text = r ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	const char *sqlstate = r ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
	(void)snprintf(s->pg.sqlstate, sizeof(s->pg.sqlstate), "%s", sqlstate ? sqlstate : "");
	(void)snprintf(s->pg.message, sizeof(s->pg.message), "%s", text ? text : PQerrorMessage(s->pg.conn));
	s->pg.message[strcspn(s->pg.message, "\n")] = '\0';
	return cairn_pg_fail(&s->pg, diag, "the rows of the index");
}

/* @param result  owned by the caller; NULL: not needed */
static enum cairn_status transfer_ask(struct postgres_transfer *s, const char *sql, const struct transfer_args *args,
				      PGresult **result, struct cairn_diag *diag)
{
	const char *values[CAIRN_COLUMNS_MAX + 1] = {0};
	int lengths[CAIRN_COLUMNS_MAX + 1] = {0}, formats[CAIRN_COLUMNS_MAX + 1] = {0};
	int n = args ? args->n : 0;
	for (int i = 0; i < n; i++) {
		const struct cairn_buf *b = &args->arrays[i];
		if (b->status != CAIRN_OK || b->len > INT_MAX)
			return b->status != CAIRN_OK ? b->status : CAIRN_E_LIMIT;
		values[i] = (const char *)b->bytes;
		lengths[i] = (int)b->len;
		formats[i] = 1;
	}
	CLEANUP(cairn_pg_clearp)
	PGresult *r = PQexecParams(s->pg.conn, sql, n, args ? args->types : NULL, values, lengths, formats, 1);
	ExecStatusType got = PQresultStatus(r);
	if (got != PGRES_COMMAND_OK && got != PGRES_TUPLES_OK)
		return transfer_fail(s, r, diag);
	if (result) {
		*result = r;
		r = NULL;
	}
	return CAIRN_OK;
}

/* Commits. A warning means that the standbys may not have the commit (write.c). */
static enum cairn_status transfer_commit(struct postgres_transfer *s, struct cairn_diag *diag)
{
	s->pg.warned = false;
	enum cairn_status status = transfer_ask(s, "COMMIT", NULL, NULL, diag);
	if (status != CAIRN_OK || !s->pg.warned)
		return status;
	return cairn_fail(diag, CAIRN_E_BUSY, "index.silent", CAIRN_NO_OFFSET,
			  "what was committed may be on no standby: PostgreSQL: %s", s->pg.message);
}

/* Ends the transaction. @return status */
static enum cairn_status transfer_end(struct postgres_transfer *s, enum cairn_status status, struct cairn_diag *diag)
{
	if (status == CAIRN_OK)
		status = transfer_commit(s, diag);
	if (status != CAIRN_OK && PQtransactionStatus(s->pg.conn) != PQTRANS_IDLE)
		(void)!transfer_ask(s, "ROLLBACK", NULL, NULL, NULL);
	return status;
}

/* --- opening ------------------------------------------------------------------------------------------------------ */

void cairn_postgres_transfer_free(struct cairn_index_transfer *t)
{
	struct postgres_transfer *s = transfer_of(t);
	cairn_pg_close(&s->pg);
	cairn_pg_place_fini(&s->place);
	free(s);
}

static enum cairn_status transfer_connect(struct postgres_transfer *s, struct cairn_diag *diag)
{
	int version;
	if (cairn_pg_open(&s->pg) != CAIRN_OK)
		return cairn_pg_fail(&s->pg, diag, "cannot open the index");
	enum cairn_status status = cairn_pg_judge(&s->pg, &version, diag);
	if (status == CAIRN_OK && version != cairn_pg_migrate_latest)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "index.older", CAIRN_NO_OFFSET,
				  "the index is of schema version %d, this program's is %d: bring it forward first",
				  version, cairn_pg_migrate_latest);
	if (status == CAIRN_OK && (PQexitPipelineMode(s->pg.conn) != 1 || PQsetnonblocking(s->pg.conn, 0) != 0))
		status = transfer_fail(s, NULL, diag);
	return status;
}

enum cairn_status cairn_postgres_transfer_open(struct cairn_index_transfer **out, const char *where, bool writes,
					       struct cairn_diag *diag)
{
	struct postgres_transfer *s = calloc(1, sizeof(*s));
	if (!s)
		return CAIRN_E_NOMEM;
	s->pg = (struct cairn_pg){.place = &s->place, .reads_only = !writes};
	enum cairn_status status = cairn_pg_place(&s->place, where, diag);
	if (status == CAIRN_OK)
		status = transfer_connect(s, diag);
	if (status == CAIRN_OK)
		*out = &s->transfer;
	else
		cairn_postgres_transfer_free(&s->transfer);
	return status;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void transfer_columns(struct cairn_buf *sql, const struct cairn_table *table, unsigned n, const char *of)
{
	for (unsigned c = 0; c < n; c++)
		cairn_buf_printf(sql, "%s%s%s", c > 0 ? ", " : "", of, table->columns[c].name);
}

/* Builds a query for rows. The keys of a row are passed as arrays of one value. */
static void transfer_select(struct cairn_buf *sql, const struct cairn_table *table, bool behind, uint32_t limit)
{
	unsigned n_keys = cairn_table_keys(table);
	cairn_buf_printf(sql, "SELECT ");
	transfer_columns(sql, table, table->n_columns, "");
	cairn_buf_printf(sql, " FROM %s", table->name);
	if (behind) {
		cairn_buf_printf(sql, " WHERE (");
		transfer_columns(sql, table, n_keys, "");
		cairn_buf_printf(sql, ") > (");
		for (unsigned c = 0; c < n_keys; c++)
			cairn_buf_printf(sql, "%s$%u[1]", c > 0 ? ", " : "", c + 1);
		cairn_buf_printf(sql, ")");
	}
	cairn_buf_printf(sql, " ORDER BY ");
	transfer_columns(sql, table, n_keys, "");
	cairn_buf_printf(sql, " LIMIT %u", limit);
	cairn_buf_add(sql, "", 1);
}

static void transfer_take(struct cairn_index_rows *out, const PGresult *r, int row)
{
	const struct cairn_table *table = &CAIRN_INDEX_TABLES[out->table];
	(void)cairn_index_rows_add(out);
	for (unsigned c = 0; c < out->n_columns; c++) {
		size_t len;
		if (PQgetisnull(r, row, (int)c))
			continue;
		const uint8_t *bytes = cairn_pg_get_bytes(r, row, (int)c, &len);
		if (transfer_is_number(&table->columns[c]))
			cairn_index_rows_number(out, c, cairn_pg_get_int8(r, row, (int)c));
		else
			cairn_index_rows_bytes(out, c, bytes, len);
	}
}

enum cairn_status cairn_postgres_transfer_page(struct cairn_index_transfer *t, enum cairn_index_table table,
					       const struct cairn_index_rows *after, uint32_t row, uint32_t limit,
					       struct cairn_index_rows *out, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf sql = cairn_buf_init(TRANSFER_SQL_BYTES_MAX);
	CLEANUP(transfer_args_fini) struct transfer_args args = {.n = 0};
	CLEANUP(cairn_index_rows_fini) struct cairn_index_rows key;
	CLEANUP(cairn_pg_clearp) PGresult *r = NULL;
	cairn_index_rows_init(&key, table);
	if (after)
		cairn_index_rows_copy(&key, after, row);
	for (unsigned c = 0; after && c < cairn_table_keys(&CAIRN_INDEX_TABLES[table]); c++)
		transfer_add_column(&args, &key, c);
	transfer_select(&sql, &CAIRN_INDEX_TABLES[table], after != NULL, limit);
	if (sql.status != CAIRN_OK || key.status != CAIRN_OK)
		return CAIRN_E_NOMEM;
	enum cairn_status status = transfer_ask(transfer_of(t), (const char *)sql.bytes, &args, &r, diag);
	for (int i = 0; status == CAIRN_OK && i < PQntuples(r); i++)
		transfer_take(out, r, i);
	return status;
}

enum cairn_status cairn_postgres_transfer_state(struct cairn_index_transfer *t, struct cairn_index_state *out,
						struct cairn_diag *diag)
{
	CLEANUP(cairn_pg_clearp) PGresult *r = NULL;
	enum cairn_status status = transfer_ask(
		transfer_of(t), "SELECT frozen, collection, files, xorbs, shards, eligible, stored_bytes FROM state",
		NULL, &r, diag);
	if (status != CAIRN_OK || PQntuples(r) != 1)
		return status != CAIRN_OK ? status : CAIRN_E_DAMAGED;
	*out = (struct cairn_index_state){
		.frozen = (enum cairn_index_frozen)cairn_pg_get_int8(r, 0, 0),
		.collection = cairn_pg_get_int8(r, 0, 1),
		.n_files = cairn_pg_get_int8(r, 0, 2),
		.n_xorbs = cairn_pg_get_int8(r, 0, 3),
		.n_shards = cairn_pg_get_int8(r, 0, 4),
		.n_eligible = cairn_pg_get_int8(r, 0, 5),
		.stored_bytes = cairn_pg_get_int8(r, 0, 6),
	};
	return CAIRN_OK;
}

enum cairn_status cairn_postgres_transfer_last(struct cairn_index_transfer *t, enum cairn_index_table table,
					       int64_t *number, struct cairn_diag *diag)
{
	char sql[256];
	CLEANUP(cairn_pg_clearp) PGresult *r = NULL;
	const char *name = CAIRN_INDEX_TABLES[table].name;
	(void)snprintf(
		sql, sizeof(sql),
		"SELECT greatest(coalesce(pg_sequence_last_value(pg_get_serial_sequence('%s', 'id')::regclass), 0),"
		" coalesce((SELECT max(id) FROM %s), 0))",
		name, name);
	enum cairn_status status = transfer_ask(transfer_of(t), sql, NULL, &r, diag);
	*number = status == CAIRN_OK ? cairn_pg_get_int8(r, 0, 0) : 0;
	return status;
}

/* --- writing rows ------------------------------------------------------------------------------------------------- */

static const char *transfer_array_type(const struct cairn_column *column)
{
	return transfer_is_number(column) ? "bigint[]" : column->type == CAIRN_COLUMN_TEXT ? "text[]" : "bytea[]";
}

/* Appends unnest($1::bigint[], ...) u(id, ...). */
static void transfer_unnest(struct cairn_buf *sql, const struct cairn_table *table, unsigned n)
{
	cairn_buf_printf(sql, "unnest(");
	for (unsigned c = 0; c < n; c++)
		cairn_buf_printf(sql, "%s$%u::%s", c > 0 ? ", " : "", c + 1, transfer_array_type(&table->columns[c]));
	cairn_buf_printf(sql, ") u(");
	transfer_columns(sql, table, n, "");
	cairn_buf_printf(sql, ")");
}

static void transfer_insert(struct cairn_buf *sql, const struct cairn_table *table)
{
	cairn_buf_printf(sql, "INSERT INTO %s(", table->name);
	transfer_columns(sql, table, table->n_columns, "");
	cairn_buf_printf(sql, ") SELECT ");
	for (unsigned c = 0; c < table->n_columns; c++) {
		bool logical = table->columns[c].type == CAIRN_COLUMN_LOGICAL;
		cairn_buf_printf(sql, "%su.%s%s", c > 0 ? ", " : "", table->columns[c].name, logical ? " <> 0" : "");
	}
	cairn_buf_printf(sql, " FROM ");
	transfer_unnest(sql, table, table->n_columns);
}

enum transfer_stmt { TRANSFER_DROP, TRANSFER_DROP_RIVALS, TRANSFER_PUT };

/* Runs one statement for several rows. */
static enum cairn_status transfer_do(struct postgres_transfer *s, const struct cairn_index_rows *rows,
				     enum transfer_stmt which, struct cairn_diag *diag)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf sql = cairn_buf_init(TRANSFER_SQL_BYTES_MAX);
	CLEANUP(transfer_args_fini) struct transfer_args args = {.n = 0};
	const struct cairn_table *table = &CAIRN_INDEX_TABLES[rows->table];
	unsigned n_keys = cairn_table_keys(table), n = which == TRANSFER_DROP ? n_keys : table->n_columns;
	for (unsigned c = 0; c < n; c++)
		transfer_add_column(&args, rows, c);
	if (which == TRANSFER_PUT) {
		transfer_insert(&sql, table);
	} else {
		cairn_buf_printf(&sql, "DELETE FROM %s t USING ", table->name);
		transfer_unnest(&sql, table, n);
		cairn_buf_printf(&sql, " WHERE ");
		if (which == TRANSFER_DROP_RIVALS)
			cairn_buf_printf(&sql, "%s", TRANSFER_RIVALS[rows->table]);
		for (unsigned c = 0; which == TRANSFER_DROP && c < n_keys; c++)
			cairn_buf_printf(&sql, "%st.%s = u.%s", c > 0 ? " AND " : "", table->columns[c].name,
					 table->columns[c].name);
	}
	cairn_buf_add(&sql, "", 1);
	return sql.status == CAIRN_OK ? transfer_ask(s, (const char *)sql.bytes, &args, NULL, diag) : sql.status;
}

static enum cairn_status transfer_drop(struct postgres_transfer *s, const struct cairn_index_rows *rows,
				       struct cairn_diag *diag)
{
	enum cairn_status status = CAIRN_OK;
	if (rows->n == 0)
		return CAIRN_OK;
	if (rows->table == CAIRN_TABLE_XORB) {
		CLEANUP(transfer_args_fini) struct transfer_args args = {.n = 0};
		transfer_add_column(&args, rows, CAIRN_XORB_ID);
		status = transfer_ask(s, TRANSFER_KILL, &args, NULL, diag);
	}
	return status == CAIRN_OK ? transfer_do(s, rows, TRANSFER_DROP, diag) : status;
}

static enum cairn_status transfer_put(struct postgres_transfer *s, const struct cairn_index_rows *rows,
				      struct cairn_diag *diag)
{
	if (rows->n == 0)
		return CAIRN_OK;
	enum cairn_status status = transfer_do(s, rows, TRANSFER_DROP, diag);
	if (status == CAIRN_OK && TRANSFER_RIVALS[rows->table])
		status = transfer_do(s, rows, TRANSFER_DROP_RIVALS, diag);
	return status == CAIRN_OK ? transfer_do(s, rows, TRANSFER_PUT, diag) : status;
}

enum cairn_status cairn_postgres_transfer_write(struct cairn_index_transfer *t,
						const struct cairn_index_rows *const *drop,
						const struct cairn_index_rows *const *put, size_t n,
						struct cairn_diag *diag)
{
	struct postgres_transfer *s = transfer_of(t);
	enum cairn_status status = transfer_ask(s, "BEGIN", NULL, NULL, diag);
	for (size_t i = 0; i < n && status == CAIRN_OK; i++)
		status = transfer_drop(s, drop[i], diag);
	for (size_t i = 0; i < n && status == CAIRN_OK; i++)
		status = transfer_put(s, put[i], diag);
	return transfer_end(s, status, diag);
}

/* --- beginning and end -------------------------------------------------------------------------------------------- */

enum cairn_status cairn_postgres_transfer_freeze(struct cairn_index_transfer *t, enum cairn_index_frozen frozen,
						 struct cairn_diag *diag)
{
	char sql[64];
	struct postgres_transfer *s = transfer_of(t);
	(void)snprintf(sql, sizeof(sql), "UPDATE state SET frozen = %d", (int)frozen);
	enum cairn_status status = transfer_ask(s, "BEGIN", NULL, NULL, diag);
	if (status == CAIRN_OK)
		status = transfer_ask(s, sql, NULL, NULL, diag);
	return transfer_end(s, status, diag);
}

/* Runs the statements that a query returns as rows, in order. */
static enum cairn_status transfer_do_each(struct postgres_transfer *s, const char *sql, struct cairn_diag *diag)
{
	CLEANUP(cairn_pg_clearp) PGresult *r = NULL;
	enum cairn_status status = transfer_ask(s, sql, NULL, &r, diag);
	for (int i = 0; status == CAIRN_OK && i < PQntuples(r); i++)
		status = transfer_ask(s, PQgetvalue(r, i, 0), NULL, NULL, diag);
	return status;
}

enum cairn_status cairn_postgres_transfer_begin(struct cairn_index_transfer *t, struct cairn_diag *diag)
{
	static const char NOTE[] =
		"INSERT INTO rule_off(relation, name, definition) SELECT c.relname, k.conname, pg_get_constraintdef(k.oid)"
		" FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid WHERE k.contype = 'f'"
		" AND k.connamespace = quote_ident(current_schema())::regnamespace ON CONFLICT DO NOTHING";
	static const char DROP[] =
		"SELECT format('ALTER TABLE %I DROP CONSTRAINT IF EXISTS %I', relation, name) FROM rule_off";
	struct postgres_transfer *s = transfer_of(t);
	char freeze[64];
	(void)snprintf(freeze, sizeof(freeze), "UPDATE state SET frozen = %d", CAIRN_INDEX_FILLING);
	enum cairn_status status = transfer_ask(s, "BEGIN", NULL, NULL, diag);
	if (status == CAIRN_OK)
		status = transfer_ask(s, freeze, NULL, NULL, diag);
	if (status == CAIRN_OK)
		status = transfer_ask(s, NOTE, NULL, NULL, diag);
	if (status == CAIRN_OK)
		status = transfer_do_each(s, DROP, diag);
	for (unsigned i = 0; i < CAIRN_INDEX_OWN_TABLES && status == CAIRN_OK; i++)
		status = transfer_ask(s, CAIRN_INDEX_EMPTY_OWN[i], NULL, NULL, diag);
	if (status == CAIRN_OK)
		status = transfer_ask(s, "DELETE FROM mirror_lease", NULL, NULL, diag);
	return transfer_end(s, status, diag);
}

static enum cairn_status transfer_set_last(struct postgres_transfer *s, enum cairn_index_table table, int64_t last,
					   struct cairn_diag *diag)
{
	char sql[256];
	(void)snprintf(sql, sizeof(sql), "SELECT setval(pg_get_serial_sequence('%s', 'id'), greatest(%lld, 1), %s)",
		       CAIRN_INDEX_TABLES[table].name, (long long)last, last > 0 ? "true" : "false");
	return transfer_ask(s, sql, NULL, NULL, diag);
}

/* Adds the constraints again, for which the server checks each row. */
static enum cairn_status transfer_restore_rules(struct postgres_transfer *s, struct cairn_diag *diag)
{
	struct cairn_diag why = {0};
	enum cairn_status status = transfer_do_each(
		s,
		"SELECT format('ALTER TABLE %I ADD CONSTRAINT %I %s', relation, name, definition) FROM rule_off"
		" ORDER BY relation, name",
		&why);
	if (status == CAIRN_OK)
		return transfer_ask(s, "DELETE FROM rule_off", NULL, NULL, diag);
	if (strcmp(s->pg.sqlstate, "23503") == 0)
		return cairn_fail(diag, CAIRN_E_DAMAGED, "index.rows", CAIRN_NO_OFFSET,
				  "rows name others that are not there (%.200s): check the index that they are from",
				  s->pg.message);
	if (diag)
		*diag = why;
	return status;
}

enum cairn_status cairn_postgres_transfer_end(struct cairn_index_transfer *t, const struct cairn_index_state *state,
					      const int64_t *last, struct cairn_diag *diag)
{
	char set[256];
	struct postgres_transfer *s = transfer_of(t);
	(void)snprintf(set, sizeof(set),
		       "UPDATE state SET collection = %lld, files = %lld, xorbs = %lld, shards = %lld, eligible = %lld,"
		       " stored_bytes = %lld, keys = keys + 1, withdrawn = withdrawn + 1",
		       (long long)state->collection, (long long)state->n_files, (long long)state->n_xorbs,
		       (long long)state->n_shards, (long long)state->n_eligible, (long long)state->stored_bytes);
	enum cairn_status status = transfer_ask(s, "BEGIN", NULL, NULL, diag);
	if (status == CAIRN_OK)
		status = transfer_ask(s, CAIRN_PG_SCAN, NULL, NULL, diag);
	if (status == CAIRN_OK)
		status = transfer_ask(s,
				      "DELETE FROM list WHERE NOT EXISTS(SELECT 1 FROM xorb WHERE xorb.id = list.xorb)",
				      NULL, NULL, diag);
	if (status == CAIRN_OK)
		status = transfer_ask(s, set, NULL, NULL, diag);
	for (int i = 0; i < CAIRN_TABLES && status == CAIRN_OK; i++)
		if (CAIRN_INDEX_TABLES[i].has_numbers)
			status = transfer_set_last(s, i, last[i], diag);
	if (status == CAIRN_OK)
		status = transfer_restore_rules(s, diag);
	return transfer_end(s, status, diag);
}
