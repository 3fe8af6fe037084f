/* Computes minimum, maximum, sum and nulls of the cells of one field, in a tile or in a whole fragment. Writer and
 * verifier share this code, so both compute the same. */
#ifndef CAIRN_ARCHIVE_TILEDB_STATS_H
#define CAIRN_ARCHIVE_TILEDB_STATS_H

#include "archive/tiledb/schema.h"

/** Statistics of a field. For one thread at a time. */
struct cairn_tiledb_stats {
	const struct cairn_tiledb_type *type;
	bool has_minmax, has_sum;
	bool any;                  /* there was a cell that is not null */
	struct cairn_buf min, max; /* minimum and maximum, if `any`; they keep an error of memory */
	uint64_t sum;              /* stays at the highest number on overflow; not computed for floats */
	uint64_t n_nulls;
};

/** Begins statistics of the field in this slot. */
struct cairn_tiledb_stats cairn_tiledb_stats_init(const struct cairn_tiledb_schema *schema, uint32_t slot);
void cairn_tiledb_stats_fini(struct cairn_tiledb_stats *stats);

/** Adds one cell. @param value its bytes; ignored if is_null */
void cairn_tiledb_stats_add(struct cairn_tiledb_stats *stats, struct cairn_tiledb_view value, bool is_null);

/** Adds the statistics of a tile. Sums are added tile by tile, as TileDB does. */
void cairn_tiledb_stats_merge(struct cairn_tiledb_stats *stats, const struct cairn_tiledb_stats *other);

/** Returns minimum or maximum as a whole fragment stores it. If there are no numbers, the minimum is the highest value
 * of the type and the maximum the lowest. @param scratch  the result may point to it */
struct cairn_tiledb_view cairn_tiledb_stats_total(const struct cairn_tiledb_stats *stats, bool is_min,
						  uint8_t scratch[static 8]);

/** Forgets all cells, but keeps the memory. */
void cairn_tiledb_stats_reset(struct cairn_tiledb_stats *stats);

#endif
