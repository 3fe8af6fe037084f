/* The tables of an index and their columns, which are the same in all engines. Only for this folder. */
#ifndef CAIRN_INDEX_TABLES_H
#define CAIRN_INDEX_TABLES_H

#include "index/transfer.h"

enum cairn_column_type {
	CAIRN_COLUMN_NUMBER,
	CAIRN_COLUMN_LOGICAL, /* the number 0 or 1 where an engine has no such type */
	CAIRN_COLUMN_TEXT,
	CAIRN_COLUMN_PATH, /* any bytes that clients choose; not a text where the engine's texts have an encoding */
	CAIRN_COLUMN_BYTES,
	CAIRN_COLUMN_COPY, /* bytes; only where rows name copies */
};

struct cairn_column {
	const char *name;
	const char *sqlite_name; /* NULL: the same */
	enum cairn_column_type type;
	bool is_key;
};

enum { CAIRN_COLUMNS_MAX = 19 };

struct cairn_table {
	const char *name;
	bool has_numbers; /* its key is a number that is never reused */
	unsigned n_columns;
	struct cairn_column columns[CAIRN_COLUMNS_MAX]; /* keys first */
};

extern const struct cairn_table CAIRN_INDEX_TABLES[CAIRN_TABLES];

/** Returns the number of key columns of a table. */
unsigned cairn_table_keys(const struct cairn_table *table);

#endif
