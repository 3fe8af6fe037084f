/* A database as its records see it: statements and their arguments, several in one exchange, and the rows that come
 * back. Drivers are struct cairn_db_driver. Values never get into a statement's text.
 *
 * A connection is one thread's at a time. What is queued is done in its order: by a server when it is exchanged, by a
 * library at once. So what is queued must not hang on what something before it in the same exchange has answered, and
 * what has several rows is queued last. */
#ifndef CAIRN_DB_DB_H
#define CAIRN_DB_DB_H

#include "hash/hash.h"

/** A statement with parameters $1, $2 ..., in each engine's words. Static: connections know it by its address, and
 * prepare it when it is first asked. */
struct cairn_sql {
	const char *sqlite, *postgres;
};
/* One text for all, or one for each. */
#define CAIRN_SQL(name, text)                                                                                          \
	static const struct cairn_sql name __attribute__((section("cairn_sql"), used)) = {text, text}
#define CAIRN_SQL_OF(name, in_sqlite, in_postgres)                                                                     \
	static const struct cairn_sql name __attribute__((section("cairn_sql"), used)) = {in_sqlite, in_postgres}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

enum { CAIRN_DB_ARGS_MAX = 13 };

/** An argument: a number, a text, or bytes; borrowed until its rows have ended. */
struct cairn_db_arg {
	enum cairn_db_type { CAIRN_DB_INT, CAIRN_DB_TEXT, CAIRN_DB_BYTES, CAIRN_DB_PATH } type;
	bool null;
	int64_t number;
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
/** NULL where the number is 0. */
static inline struct cairn_db_arg cairn_db_int_or_null(int64_t number)
{
	return cairn_db_int_if(number != 0, number);
}
/** @param text  NULL is NULL */
struct cairn_db_arg cairn_db_text(const char *text);
/** Of a column of paths or names of refs, whose bytes count: text, or bytes where text has rules. */
struct cairn_db_arg cairn_db_path(const char *path);
static inline struct cairn_db_arg cairn_db_bytes(const void *p, size_t len)
{
	return (struct cairn_db_arg){.type = CAIRN_DB_BYTES, .p = p, .len = len};
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

/** A connection: the first member of a driver's. */
struct cairn_db {
	const struct cairn_db_driver *driver;
};

/** What a statement answers. Zeroed: nothing was asked. Ended by CLEANUP(cairn_db_end). */
struct cairn_db_rows {
	struct cairn_db *db;
	bool lent;    /* the connection goes back when they end */
	bool damaged; /* a column of this row is not what it must be */
	/* the driver's */
	void *at;
	int row;
	unsigned place;
	int64_t changed;
};

/** Queue a statement. Failures are told by the exchange, and nothing behind them is done.
 *  @param rows  until the next exchange after the one that answers, or the end; NULL: nobody asks @param args  NULL:
 * none */
void cairn_db_queue(struct cairn_db *db, struct cairn_db_rows *rows, const struct cairn_sql *sql,
		    const struct cairn_db_args *args);
/** Have all that is queued done. @return CAIRN_OK; CAIRN_E_BUSY a server is silent; CAIRN_E_LIMIT; CAIRN_E_NOMEM;
 *  otherwise what the engine says of what failed first */
CAIRN_MUST_USE enum cairn_status cairn_db_exchange(struct cairn_db *db);
/** Both. @return likewise */
CAIRN_MUST_USE enum cairn_status cairn_db_ask(struct cairn_db *db, struct cairn_db_rows *rows,
					      const struct cairn_sql *sql, const struct cairn_db_args *args);
/** Likewise, and step to the first row. @return likewise; CAIRN_E_NOT_FOUND there is none */
CAIRN_MUST_USE enum cairn_status cairn_db_find(struct cairn_db *db, struct cairn_db_rows *rows,
					       const struct cairn_sql *sql, const struct cairn_db_args *args);
/** Ask for a change. @param[out] n  of how many rows; may be NULL @return as cairn_db_exchange() */
CAIRN_MUST_USE enum cairn_status cairn_db_run(struct cairn_db *db, const struct cairn_sql *sql,
					      const struct cairn_db_args *args, int64_t *n);

/** What is queued behind this is a page of rows in the order of an index: they are read in that order rather than
 *  sorted. Until the transaction ends. */
void cairn_db_in_order(struct cairn_db *db);

/* --- rows, after the exchange ------------------------------------------------------------------------------------- */

/** Step to the first row, then to the next. @return CAIRN_OK; CAIRN_E_NOT_FOUND there is none; CAIRN_E_DAMAGED a column
 *  of the row before was not what it must be; as cairn_db_exchange() */
CAIRN_MUST_USE enum cairn_status cairn_db_next(struct cairn_db_rows *rows);
void cairn_db_end(struct cairn_db_rows *rows);

/** Columns of the row. */
bool cairn_db_is_null(const struct cairn_db_rows *rows, int column);
int64_t cairn_db_get_int(const struct cairn_db_rows *rows, int column); /* 0: NULL */
const uint8_t *cairn_db_get_bytes(const struct cairn_db_rows *rows, int column,
				  size_t *len);                                 /* borrowed until the next row */
const char *cairn_db_borrow_text(const struct cairn_db_rows *rows, int column); /* likewise; NULL is "" */
/** Copy a text, or bytes of a fixed number. What does not fit is damaged: cairn_db_whole(). */
void cairn_db_get_text(struct cairn_db_rows *rows, int column, char *out, size_t size);
void cairn_db_get_fixed(struct cairn_db_rows *rows, int column, void *out, size_t len);
/** After the columns of a row: @return CAIRN_OK; CAIRN_E_DAMAGED */
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
	void (*in_order)(struct cairn_db *db); /* NULL: it does so by itself */
	bool (*is_null)(const struct cairn_db_rows *rows, int column);
	int64_t (*get_int)(const struct cairn_db_rows *rows, int column);
	const uint8_t *(*get_bytes)(const struct cairn_db_rows *rows, int column, size_t *len);
	const char *(*get_text)(const struct cairn_db_rows *rows, int column);
};

/** All statements that there are, for a test that has each prepared. */
const struct cairn_sql *cairn_db_statements(size_t *n);

#endif
