/* The types of TileDB's values: their lengths, order and statistics. */
#ifndef CAIRN_ARCHIVE_TILEDB_TYPES_H
#define CAIRN_ARCHIVE_TILEDB_TYPES_H

#include "archive/tiledb/format.h"

#include <stdbool.h>

enum cairn_tiledb_kind {
	CAIRN_TILEDB_KIND_SIGNED,
	CAIRN_TILEDB_KIND_UNSIGNED,
	CAIRN_TILEDB_KIND_FLOAT,
	CAIRN_TILEDB_KIND_TEXT,   /* compared byte by byte: CHAR, ASCII */
	CAIRN_TILEDB_KIND_OPAQUE, /* never compared: UTF-8 and wider, BLOB, geometry */
};

struct cairn_tiledb_type {
	const char *name;
	uint8_t bytes; /* bytes of one value */
	enum cairn_tiledb_kind kind;
};

/** Returns a type. @return NULL: no type has this code */
const struct cairn_tiledb_type *cairn_tiledb_type(uint8_t code);

/** Compares two values; numbers must have the length of their type. @return below, equal to or above 0 */
int cairn_tiledb_compare(const struct cairn_tiledb_type *type, struct cairn_tiledb_view a, struct cairn_tiledb_view b);

/** Widens a little-endian integer of 1 to 8 bytes to 8 bytes with its sign. */
uint64_t cairn_tiledb_integer(const struct cairn_tiledb_type *type, const uint8_t *bytes);

/** Adds two sums of this kind of integer as 8 bytes; stays at the limit on overflow, as TileDB does. */
uint64_t cairn_tiledb_add(enum cairn_tiledb_kind kind, uint64_t a, uint64_t b);

/** Writes a value for people, cut to the size of out: digits, texts with dots for unprintable bytes, or hexadecimal. */
enum { CAIRN_TILEDB_VALUE_TEXT_BYTES = 72 };
void cairn_tiledb_value_text(char out[static CAIRN_TILEDB_VALUE_TEXT_BYTES], const struct cairn_tiledb_type *type,
			     struct cairn_tiledb_view value);

#endif
