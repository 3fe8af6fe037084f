/* The tables of an export: their columns, and rows as sortable records. */
#ifndef CAIRN_CLI_EXPORT_TABLE_H
#define CAIRN_CLI_EXPORT_TABLE_H

#include "hash/hash.h"
#include "index/snapshot.h"

enum export_table { EXPORT_CHUNKS, EXPORT_XORBS, EXPORT_FILES, EXPORT_REFERENCES, EXPORT_TABLES };

enum export_kind {
	EXPORT_HASH,   /* 64 digits */
	EXPORT_DIGEST, /* 64 digits in plain byte order: a SHA-256 */
	EXPORT_U32,
	EXPORT_U64,
	EXPORT_TIME, /* a time, in milliseconds since 1970 */
};

struct export_column {
	const char *name;
	enum export_kind kind;
	bool nullable;
};

enum { EXPORT_COLUMNS_MAX = 8, EXPORT_RECORD_BYTES_MAX = 160 };

/** The columns of a table. The first column is the key, a hash by which rows are sorted. The last column is the number
 * of the xorb or file in the index; it shows which rows were exported before. */
struct export_layout {
	const char *name;
	uint32_t n_columns;
	struct export_column columns[EXPORT_COLUMNS_MAX];
};

/** Returns the columns of a table; static. */
const struct export_layout *export_layout(enum export_table table);

/** Returns the length of a record, which ends with a word of null bits. */
size_t export_record_bytes(const struct export_layout *layout);

/** A value in a record. */
struct export_value {
	bool is_null;
	uint64_t number;                  /* U32, U64; TIME: milliseconds, as i64 */
	uint8_t digest[CAIRN_HASH_BYTES]; /* HASH, DIGEST: the bytes in the order of their text */
};

/** Reorders the bytes of a hash as in its text, so that bytes and texts sort alike. */
struct export_value export_hash(const struct cairn_hash *hash);
struct export_value export_number(uint64_t number);
struct export_value export_time(int64_t unix_s);

void export_put(uint8_t out[static EXPORT_RECORD_BYTES_MAX], const struct export_layout *layout,
		const struct export_value *values);
/** Reads the values of a record. @param[out] values  room for layout->n_columns */
void export_get(const uint8_t *record, const struct export_layout *layout, struct export_value *values);

#endif
