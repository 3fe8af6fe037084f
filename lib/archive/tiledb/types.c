#include "archive/tiledb/types.h"

#include "base/bytes.h"
#include "hash/hash.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define TIME(name)                                                                                                     \
	{                                                                                                              \
		name, 8, CAIRN_TILEDB_KIND_SIGNED                                                                      \
	}
static const struct cairn_tiledb_type tiledb_types[] = {
	{"INT32", 4, CAIRN_TILEDB_KIND_SIGNED},
	{"INT64", 8, CAIRN_TILEDB_KIND_SIGNED},
	{"FLOAT32", 4, CAIRN_TILEDB_KIND_FLOAT},
	{"FLOAT64", 8, CAIRN_TILEDB_KIND_FLOAT},
	{"CHAR", 1, CAIRN_TILEDB_KIND_TEXT},
	{"INT8", 1, CAIRN_TILEDB_KIND_SIGNED},
	{"UINT8", 1, CAIRN_TILEDB_KIND_UNSIGNED},
	{"INT16", 2, CAIRN_TILEDB_KIND_SIGNED},
	{"UINT16", 2, CAIRN_TILEDB_KIND_UNSIGNED},
	{"UINT32", 4, CAIRN_TILEDB_KIND_UNSIGNED},
	{"UINT64", 8, CAIRN_TILEDB_KIND_UNSIGNED},
	{"STRING_ASCII", 1, CAIRN_TILEDB_KIND_TEXT},
	{"STRING_UTF8", 1, CAIRN_TILEDB_KIND_OPAQUE},
	{"STRING_UTF16", 2, CAIRN_TILEDB_KIND_OPAQUE},
	{"STRING_UTF32", 4, CAIRN_TILEDB_KIND_OPAQUE},
	{"STRING_UCS2", 2, CAIRN_TILEDB_KIND_OPAQUE},
	{"STRING_UCS4", 4, CAIRN_TILEDB_KIND_OPAQUE},
	{"ANY", 1, CAIRN_TILEDB_KIND_OPAQUE},
	TIME("DATETIME_YEAR"),
	TIME("DATETIME_MONTH"),
	TIME("DATETIME_WEEK"),
	TIME("DATETIME_DAY"),
	TIME("DATETIME_HR"),
	TIME("DATETIME_MIN"),
	TIME("DATETIME_SEC"),
	TIME("DATETIME_MS"),
	TIME("DATETIME_US"),
	TIME("DATETIME_NS"),
	TIME("DATETIME_PS"),
	TIME("DATETIME_FS"),
	TIME("DATETIME_AS"),
	TIME("TIME_HR"),
	TIME("TIME_MIN"),
	TIME("TIME_SEC"),
	TIME("TIME_MS"),
	TIME("TIME_US"),
	TIME("TIME_NS"),
	TIME("TIME_PS"),
	TIME("TIME_FS"),
	TIME("TIME_AS"),
	{"BLOB", 1, CAIRN_TILEDB_KIND_OPAQUE},
	{"BOOL", 1, CAIRN_TILEDB_KIND_UNSIGNED},
	{"GEOM_WKB", 1, CAIRN_TILEDB_KIND_OPAQUE},
	{"GEOM_WKT", 1, CAIRN_TILEDB_KIND_OPAQUE},
};
#undef TIME

const struct cairn_tiledb_type *cairn_tiledb_type(uint8_t code)
{
	return code < sizeof(tiledb_types) / sizeof(tiledb_types[0]) ? &tiledb_types[code] : NULL;
}

uint64_t cairn_tiledb_integer(const struct cairn_tiledb_type *type, const uint8_t *bytes)
{
	uint64_t v = 0;
	for (unsigned i = type->bytes; i > 0; i--)
		v = v << 8 | bytes[i - 1];
	if (type->kind == CAIRN_TILEDB_KIND_SIGNED && type->bytes < 8 && (bytes[type->bytes - 1] & 0x80))
		v |= UINT64_MAX << (8 * type->bytes);
	return v;
}

static double tiledb_float(const struct cairn_tiledb_type *type, const uint8_t *bytes)
{
	if (type->bytes == 8) {
		uint64_t bits = cairn_get_u64le(bytes);
		double v;
		memcpy(&v, &bits, sizeof(v));
		return v;
	}
	uint32_t bits = cairn_get_u32le(bytes);
	float v;
	memcpy(&v, &bits, sizeof(v));
	return (double)v;
}

static int tiledb_compare_text(struct cairn_tiledb_view a, struct cairn_tiledb_view b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int order = n ? memcmp(a.bytes, b.bytes, n) : 0;
	if (order != 0)
		return order;
	return a.len < b.len ? -1 : a.len > b.len;
}

int cairn_tiledb_compare(const struct cairn_tiledb_type *type, struct cairn_tiledb_view a, struct cairn_tiledb_view b)
{
	switch (type->kind) {
	case CAIRN_TILEDB_KIND_SIGNED: {
		int64_t x = (int64_t)cairn_tiledb_integer(type, a.bytes);
		int64_t y = (int64_t)cairn_tiledb_integer(type, b.bytes);
		return x < y ? -1 : x > y;
	}
	case CAIRN_TILEDB_KIND_UNSIGNED: {
		uint64_t x = cairn_tiledb_integer(type, a.bytes), y = cairn_tiledb_integer(type, b.bytes);
		return x < y ? -1 : x > y;
	}
	case CAIRN_TILEDB_KIND_FLOAT: {
		double x = tiledb_float(type, a.bytes), y = tiledb_float(type, b.bytes);
		return x < y ? -1 : x > y;
	}
	case CAIRN_TILEDB_KIND_TEXT:
	case CAIRN_TILEDB_KIND_OPAQUE:
		break;
	}
	return tiledb_compare_text(a, b);
}

uint64_t cairn_tiledb_add(enum cairn_tiledb_kind kind, uint64_t a, uint64_t b)
{
	uint64_t sum = a + b;
	if (kind != CAIRN_TILEDB_KIND_SIGNED)
		return sum < a ? UINT64_MAX : sum;
	int64_t x = (int64_t)a, y = (int64_t)b;
	if (x > 0 && y > INT64_MAX - x)
		return INT64_MAX;
	if (x < 0 && y < INT64_MIN - x)
		return (uint64_t)INT64_MIN;
	return sum;
}

void cairn_tiledb_value_text(char out[static CAIRN_TILEDB_VALUE_TEXT_BYTES], const struct cairn_tiledb_type *type,
			     struct cairn_tiledb_view value)
{
	bool is_number = value.len == type->bytes;
	size_t n = value.len < CAIRN_TILEDB_VALUE_TEXT_BYTES ? value.len : CAIRN_TILEDB_VALUE_TEXT_BYTES - 1;
	if (is_number && type->kind == CAIRN_TILEDB_KIND_SIGNED) {
		(void)snprintf(out, CAIRN_TILEDB_VALUE_TEXT_BYTES, "%" PRIi64,
			       (int64_t)cairn_tiledb_integer(type, value.bytes));
	} else if (is_number && type->kind == CAIRN_TILEDB_KIND_UNSIGNED) {
		(void)snprintf(out, CAIRN_TILEDB_VALUE_TEXT_BYTES, "%" PRIu64, cairn_tiledb_integer(type, value.bytes));
	} else if (is_number && type->kind == CAIRN_TILEDB_KIND_FLOAT) {
		(void)snprintf(out, CAIRN_TILEDB_VALUE_TEXT_BYTES, "%.17g", tiledb_float(type, value.bytes));
	} else if (type->kind == CAIRN_TILEDB_KIND_TEXT) {
		for (size_t i = 0; i < n; i++)
			out[i] = isprint(value.bytes[i]) ? (char)value.bytes[i] : '.';
		out[n] = '\0';
	} else {
		n = n < (CAIRN_TILEDB_VALUE_TEXT_BYTES - 1) / 2 ? n : (CAIRN_TILEDB_VALUE_TEXT_BYTES - 1) / 2;
		cairn_hex_text(out, value.bytes, n);
	}
}
