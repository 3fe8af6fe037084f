#include "archive/tiledb/stats.h"

#include <string.h>

struct cairn_tiledb_stats cairn_tiledb_stats_init(const struct cairn_tiledb_schema *schema, uint32_t slot)
{
	const struct cairn_tiledb_field *field = cairn_tiledb_schema_field(schema, slot);
	const struct cairn_tiledb_type *type = cairn_tiledb_type(field->datatype);
	return (struct cairn_tiledb_stats){
		.type = type,
		.has_minmax = cairn_tiledb_has_minmax(schema, slot),
		.has_sum = cairn_tiledb_has_sum(schema, slot) && type->kind != CAIRN_TILEDB_KIND_FLOAT,
		.min = cairn_buf_init(CAIRN_TILEDB_TILE_BYTES_MAX),
		.max = cairn_buf_init(CAIRN_TILEDB_TILE_BYTES_MAX),
	};
}

void cairn_tiledb_stats_fini(struct cairn_tiledb_stats *stats)
{
	cairn_buf_fini(&stats->min);
	cairn_buf_fini(&stats->max);
}

static void stats_take(struct cairn_buf *out, struct cairn_tiledb_view value)
{
	out->len = 0;
	cairn_buf_add(out, value.bytes, value.len);
}

static void stats_see(struct cairn_tiledb_stats *stats, struct cairn_tiledb_view value)
{
	const struct cairn_tiledb_view min = {stats->min.bytes, stats->min.len},
				       max = {stats->max.bytes, stats->max.len};
	if (!stats->any || cairn_tiledb_compare(stats->type, value, min) < 0)
		stats_take(&stats->min, value);
	if (!stats->any || cairn_tiledb_compare(stats->type, value, max) > 0)
		stats_take(&stats->max, value);
}

void cairn_tiledb_stats_add(struct cairn_tiledb_stats *stats, struct cairn_tiledb_view value, bool is_null)
{
	if (is_null) {
		stats->n_nulls++;
		return;
	}
	if (stats->has_minmax)
		stats_see(stats, value);
	if (stats->has_sum)
		stats->sum =
			cairn_tiledb_add(stats->type->kind, stats->sum, cairn_tiledb_integer(stats->type, value.bytes));
	stats->any = true;
}

void cairn_tiledb_stats_merge(struct cairn_tiledb_stats *stats, const struct cairn_tiledb_stats *other)
{
	stats->n_nulls += other->n_nulls;
	if (!other->any)
		return;
	if (stats->has_minmax) {
		stats_see(stats, (struct cairn_tiledb_view){other->min.bytes, other->min.len});
		stats->any = true;
		stats_see(stats, (struct cairn_tiledb_view){other->max.bytes, other->max.len});
	}
	if (stats->has_sum)
		stats->sum = cairn_tiledb_add(stats->type->kind, stats->sum, other->sum);
	stats->any = true;
}

void cairn_tiledb_stats_reset(struct cairn_tiledb_stats *stats)
{
	stats->any = false;
	stats->min.len = 0;
	stats->max.len = 0;
	stats->sum = 0;
	stats->n_nulls = 0;
}

struct cairn_tiledb_view cairn_tiledb_stats_total(const struct cairn_tiledb_stats *stats, bool is_min,
						  uint8_t scratch[static 8])
{
	const struct cairn_buf *own = is_min ? &stats->min : &stats->max;
	enum cairn_tiledb_kind kind = stats->type->kind;
	bool is_number = kind == CAIRN_TILEDB_KIND_SIGNED || kind == CAIRN_TILEDB_KIND_UNSIGNED;
	if (stats->any || !stats->has_minmax || !is_number)
		return (struct cairn_tiledb_view){own->bytes, own->len};
	bool is_signed = kind == CAIRN_TILEDB_KIND_SIGNED;
	memset(scratch, is_min ? 0xff : 0, 8);
	if (is_signed)
		scratch[stats->type->bytes - 1] = is_min ? 0x7f : 0x80;
	return (struct cairn_tiledb_view){scratch, stats->type->bytes};
}
