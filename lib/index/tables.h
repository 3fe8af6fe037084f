/* The tables of an index and their columns, which are the same in all engines. For this folder only. */
#ifndef CAIRN_INDEX_TABLES_H
#define CAIRN_INDEX_TABLES_H

#include "index/transfer.h"

enum cairn_column_type {
	CAIRN_COLUMN_NUMBER,
	CAIRN_COLUMN_LOGICAL, /* stored as 0 or 1 if an engine has no such type */
	CAIRN_COLUMN_TEXT,
	CAIRN_COLUMN_PATH, /* any bytes that clients choose; not a text if the engine's texts have an encoding */
	CAIRN_COLUMN_BYTES,
	CAIRN_COLUMN_COPY, /* bytes; only if rows name copies */
};

struct cairn_column {
	const char *name;
	const char *sqlite_name; /* NULL: the same as name */
	enum cairn_column_type type;
	bool is_key;
};

enum { CAIRN_COLUMNS_MAX = 20 };

struct cairn_table {
	const char *name;
	bool has_numbers; /* the key is a number that is never reused */
	unsigned n_columns;
	struct cairn_column columns[CAIRN_COLUMNS_MAX]; /* keys first */
};

extern const struct cairn_table CAIRN_INDEX_TABLES[CAIRN_TABLES];

/** Statements that empty the tables that a move does not copy, because each index fills its own: codes of waiting
 * programs, cards and tags (made from README.md again), and xorbs that no file needs yet. */
enum { CAIRN_INDEX_OWN_TABLES = 4 };
extern const char *const CAIRN_INDEX_EMPTY_OWN[CAIRN_INDEX_OWN_TABLES];

/** Returns the number of key columns of a table. */
unsigned cairn_table_keys(const struct cairn_table *table);

#endif
