#include "cli/export/table.h"

#include "base/bytes.h"

#include <string.h>

static const struct export_layout export_layouts[EXPORT_TABLES] = {
	[EXPORT_CHUNKS] = {"chunks",
			   8,
			   {{"chunk_hash", EXPORT_HASH, false},
			    {"xorb_hash", EXPORT_HASH, false},
			    {"chunk_index", EXPORT_U32, false},
			    {"offset", EXPORT_U64, false},
			    {"length", EXPORT_U32, false},
			    {"stored_length", EXPORT_U32, true},
			    {"time", EXPORT_TIME, false},
			    {"xorb_number", EXPORT_U64, false}}},
	[EXPORT_XORBS] = {"xorbs",
			  6,
			  {{"xorb_hash", EXPORT_HASH, false},
			   {"chunks", EXPORT_U32, false},
			   {"length", EXPORT_U64, false},
			   {"stored_length", EXPORT_U64, true},
			   {"time", EXPORT_TIME, false},
			   {"xorb_number", EXPORT_U64, false}}},
	[EXPORT_FILES] = {"files",
			  6,
			  {{"file_hash", EXPORT_HASH, false},
			   {"sha256", EXPORT_DIGEST, true},
			   {"length", EXPORT_U64, false},
			   {"terms", EXPORT_U32, false},
			   {"time", EXPORT_TIME, false},
			   {"file_number", EXPORT_U64, false}}},
	[EXPORT_REFERENCES] = {"references",
			       7,
			       {{"file_hash", EXPORT_HASH, false},
				{"xorb_hash", EXPORT_HASH, false},
				{"term", EXPORT_U32, false},
				{"chunk_start", EXPORT_U32, false},
				{"chunk_end", EXPORT_U32, false},
				{"length", EXPORT_U32, false},
				{"file_number", EXPORT_U64, false}}},
};

const struct export_layout *export_layout(enum export_table table)
{
	return &export_layouts[table];
}

static size_t export_kind_bytes(enum export_kind kind)
{
	if (kind == EXPORT_HASH || kind == EXPORT_DIGEST)
		return 32;
	return kind == EXPORT_U32 ? 4 : 8;
}

size_t export_record_bytes(const struct export_layout *layout)
{
	size_t n = 4;
	for (uint32_t i = 0; i < layout->n_columns; i++)
		n += export_kind_bytes(layout->columns[i].kind);
	return n;
}

struct export_value export_hash(const struct cairn_hash *hash)
{
	struct export_value v = {0};
	for (unsigned i = 0; i < CAIRN_HASH_BYTES; i++)
		v.digest[i] = hash->b[(i & ~7U) + 7 - (i & 7)];
	return v;
}

struct export_value export_number(uint64_t number)
{
	return (struct export_value){.number = number};
}

struct export_value export_time(int64_t unix_s)
{
	return (struct export_value){.number = (uint64_t)unix_s * 1000};
}

void export_put(uint8_t out[static EXPORT_RECORD_BYTES_MAX], const struct export_layout *layout,
		const struct export_value *values)
{
	uint32_t nulls = 0;
	for (uint32_t i = 0; i < layout->n_columns; i++) {
		size_t n = export_kind_bytes(layout->columns[i].kind);
		if (n == 32)
			memcpy(out, values[i].digest, n);
		else if (n == 4)
			cairn_put_u32le(out, (uint32_t)values[i].number);
		else
			cairn_put_u64le(out, values[i].number);
		nulls |= (uint32_t)values[i].is_null << i;
		out += n;
	}
	cairn_put_u32le(out, nulls);
}

void export_get(const uint8_t *record, const struct export_layout *layout, struct export_value *values)
{
	const uint8_t *p = record;
	for (uint32_t i = 0; i < layout->n_columns; i++) {
		size_t n = export_kind_bytes(layout->columns[i].kind);
		if (n == 32)
			memcpy(values[i].digest, p, n);
		else
			values[i].number = n == 4 ? cairn_get_u32le(p) : cairn_get_u64le(p);
		p += n;
	}
	uint32_t nulls = cairn_get_u32le(p);
	for (uint32_t i = 0; i < layout->n_columns; i++)
		values[i].is_null = nulls >> i & 1;
}
