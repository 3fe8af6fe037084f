/* The database as the index's records see it: statements with arguments, the exchange that executes them, and the rows
 * that they return. Each engine implements struct cairn_db_driver. Values are always bound; no text is built at run
 * time.
 *
 * One thread uses a connection at a time. Statements are executed in the order in which they are queued: SQLite
 * executes each at once, PostgreSQL all of them in the next exchange. A statement must therefore not depend on the
 * answer to another statement of the same exchange, and a statement with several rows is queued last. */
#ifndef CAIRN_DB_DB_H
#define CAIRN_DB_DB_H

#include "hash/hash.h"

/** A statement with parameters $1, $2 ..., in the dialect of each engine. Both texts name all of them. It is static:
 * its address identifies it, and a connection prepares it at its first use. */
struct cairn_sql {
	const char *name, *sqlite, *postgres;
};
/* All statements lie in one section, so that a test finds them. Without a fixed alignment the compiler could leave gaps
 * between them. CAIRN_SQL() has one text for both engines, CAIRN_SQL_OF() one for each. */
#define CAIRN_SQL_OF(name, in_sqlite, in_postgres)                                                                     \
	static const struct cairn_sql name                                                                             \
		__attribute__((section("cairn_sql"), used, aligned(8))) = {#name, in_sqlite, in_postgres}
#define CAIRN_SQL(name, text) CAIRN_SQL_OF(name, text, text)

/* --- arguments ---------------------------------------------------------------------------------------------------- */

enum { CAIRN_DB_ARGS_MAX = 16 };

/** An argument of a statement. Its text or bytes are borrowed until the statement's rows end. */
struct cairn_db_arg {
	enum cairn_db_type { CAIRN_DB_INT, CAIRN_DB_TEXT, CAIRN_DB_BYTES, CAIRN_DB_PATH, CAIRN_DB_ARRAY } type;
	bool null;
	int64_t number; /* of an array, which only PostgreSQL has: its type */
	const void *p;
	size_t len;
};
struct cairn_db_args {
	const struct cairn_db_arg *arg;
	unsigned n;
};
#define CAIRN_ARGS(...)                                                                                                \
	&(const struct cairn_db_args)                                                                                  \
	{                                                                                                              \
		(const struct cairn_db_arg[]){__VA_ARGS__},                                                            \
			sizeof((const struct cairn_db_arg[]){__VA_ARGS__}) / sizeof(struct cairn_db_arg)               \
	}

static inline struct cairn_db_arg cairn_db_int_if(bool given, int64_t number)
{
	return (struct cairn_db_arg){.type = CAIRN_DB_INT, .null = !given, .number = number};
}
static inline struct cairn_db_arg cairn_db_int(int64_t number)
{
	return cairn_db_int_if(true, number);
}
/** Binds NULL for the number 0. */
static inline struct cairn_db_arg cairn_db_int_or_null(int64_t number)
{
	return cairn_db_int_if(number != 0, number);
}
/** @param text  NULL: binds NULL */
struct cairn_db_arg cairn_db_text(const char *text);
/** An argument for columns of paths and refs: text in SQLite; bytea in PostgreSQL, whose text refuses some bytes. */
struct cairn_db_arg cairn_db_path(const char *path);
static inline struct cairn_db_arg cairn_db_bytes(const void *p, size_t len)
{
	return (struct cairn_db_arg){.type = CAIRN_DB_BYTES, .p = p, .len = len};
}
static inline struct cairn_db_arg cairn_db_hash(const struct cairn_hash *hash)
{
	return cairn_db_bytes(hash->b, sizeof(hash->b));
}

/* --- running statements ------------------------------------------------------------------------------------------- */

/** A connection; the first member of the driver's own struct. */
struct cairn_db {
	const struct cairn_db_driver *driver;
	uint64_t exchange; /* number of the exchange that is queued or was last done; the driver counts it */
};

/** The rows that a statement returns. Zeroed: no statement was run. End them by CLEANUP(cairn_db_end).
 *
 * Rows are valid until the first statement is queued on their connection after their exchange. After that they are
 * stale: cairn_db_next() and cairn_db_whole() return CAIRN_E_DAMAGED, and columns read as NULL. */
struct cairn_db_rows {
	struct cairn_db *db;
	bool lent;         /* the connection returns to its pool when the rows end */
	bool damaged;      /* a column of this row was not valid, or the rows were stale */
	uint64_t exchange; /* number of their exchange */
	/* The members below are used only by the driver. */
	void *at;
	int row;
	unsigned place;
	int64_t changed;
};

/** Queues a statement. The exchange reports a failure; statements after the failed one are not executed.
 * @param rows  receives the rows; NULL: not needed
 * @param args  NULL: none */
void cairn_db_queue(struct cairn_db *db, struct cairn_db_rows *rows, const struct cairn_sql *sql,
		    const struct cairn_db_args *args);
/** Executes all queued statements. @return CAIRN_OK; CAIRN_E_BUSY the server is silent; CAIRN_E_LIMIT; CAIRN_E_NOMEM;
 *  otherwise the status of the first statement that failed */
CAIRN_MUST_USE enum cairn_status cairn_db_exchange(struct cairn_db *db);
/** Queues a statement and exchanges. @return as cairn_db_exchange() */
CAIRN_MUST_USE enum cairn_status cairn_db_ask(struct cairn_db *db, struct cairn_db_rows *rows,
					      const struct cairn_sql *sql, const struct cairn_db_args *args);
/** Does what cairn_db_ask() does, and takes the first row. @return as cairn_db_exchange(); CAIRN_E_NOT_FOUND no row */
CAIRN_MUST_USE enum cairn_status cairn_db_find(struct cairn_db *db, struct cairn_db_rows *rows,
					       const struct cairn_sql *sql, const struct cairn_db_args *args);
/** Executes a change. @param[out] n  rows changed; may be NULL @return as cairn_db_exchange() */
CAIRN_MUST_USE enum cairn_status cairn_db_run(struct cairn_db *db, const struct cairn_sql *sql,
					      const struct cairn_db_args *args, int64_t *n);

/** Announces to a server what the next statements do. Valid until the transaction ends, or else until the connection
 * returns to its pool. */
enum cairn_db_advice {
	CAIRN_DB_TAKES_LONG, /* usual plans, but a longer timeout */
	CAIRN_DB_SCANS,      /* whole tables are read, with plans and a timeout for that; for the next exchange only */
};
void cairn_db_advise(struct cairn_db *db, enum cairn_db_advice advice);

/* --- rows, after the exchange ------------------------------------------------------------------------------------- */

/** Steps to the first row, then to the next. @return CAIRN_OK; CAIRN_E_NOT_FOUND no more rows; CAIRN_E_DAMAGED a column
 * of the row before was not valid, or the rows are stale; as cairn_db_exchange() */
CAIRN_MUST_USE enum cairn_status cairn_db_next(struct cairn_db_rows *rows);
void cairn_db_end(struct cairn_db_rows *rows);

/* Columns of the row, counted from 0. */
bool cairn_db_is_null(const struct cairn_db_rows *rows, int column);
int64_t cairn_db_get_int(const struct cairn_db_rows *rows, int column); /* 0: NULL */
/* Borrowed until the next row. */
const uint8_t *cairn_db_get_bytes(const struct cairn_db_rows *rows, int column, size_t *len);
const char *cairn_db_borrow_text(const struct cairn_db_rows *rows, int column); /* NULL is "" */
/** Copy a text, or a fixed number of bytes. A value that does not fit marks the row as damaged: cairn_db_whole(). */
void cairn_db_get_text(struct cairn_db_rows *rows, int column, char *out, size_t size);
void cairn_db_get_fixed(struct cairn_db_rows *rows, int column, void *out, size_t len);
/** Checks the columns of a row after they were read. @return CAIRN_OK; CAIRN_E_DAMAGED a column was not valid */
CAIRN_MUST_USE enum cairn_status cairn_db_whole(const struct cairn_db_rows *rows);

/* --- for drivers -------------------------------------------------------------------------------------------------- */

struct cairn_db_driver {
	void (*queue)(struct cairn_db *db, struct cairn_db_rows *rows, const struct cairn_sql *sql,
		      const struct cairn_db_args *args);
	enum cairn_status (*exchange)(struct cairn_db *db);
	enum cairn_status (*next)(struct cairn_db_rows *rows);
	int64_t (*changed)(const struct cairn_db_rows *rows);
	void (*end)(struct cairn_db_rows *rows);
	void (*give)(struct cairn_db *db);
	void (*advise)(struct cairn_db *db, enum cairn_db_advice advice); /* NULL: no advice is needed */
	bool (*is_null)(const struct cairn_db_rows *rows, int column);
	int64_t (*get_int)(const struct cairn_db_rows *rows, int column);
	const uint8_t *(*get_bytes)(const struct cairn_db_rows *rows, int column, size_t *len);
	const char *(*get_text)(const struct cairn_db_rows *rows, int column);
};

/** Returns all statements, for a test that prepares each. @param[out] n  their number */
const struct cairn_sql *cairn_db_statements(size_t *n);

#endif
