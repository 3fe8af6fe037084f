/* Minimum, maximum, sum and nulls of the cells of one field: of a tile, or of a whole fragment. Writer and verifier
 * share it, so that what is written is what is checked. */
#ifndef CAIRN_ARCHIVE_TILEDB_STATS_H
#define CAIRN_ARCHIVE_TILEDB_STATS_H

#include "archive/tiledb/schema.h"

/** Owned by one thread at a time. */
struct cairn_tiledb_stats {
	const struct cairn_tiledb_type *type;
	bool has_minmax, has_sum;
	bool any;                  /* a cell that is not null was seen */
	struct cairn_buf min, max; /* the values, when any; they have the errors of memory */
	uint64_t sum;              /* saturating; of floats not kept */
	uint64_t n_nulls;
};

/** Nothing seen yet, of the field in this slot. */
struct cairn_tiledb_stats cairn_tiledb_stats_init(const struct cairn_tiledb_schema *schema, uint32_t slot);
/** For CLEANUP(). */
void cairn_tiledb_stats_fini(struct cairn_tiledb_stats *stats);

/** See one cell. @param value  its bytes; of no account when is_null */
void cairn_tiledb_stats_add(struct cairn_tiledb_stats *stats, struct cairn_tiledb_view value, bool is_null);

/** See all that another one has seen; sums are added sum by sum, as TileDB adds those of tiles. */
void cairn_tiledb_stats_merge(struct cairn_tiledb_stats *stats, const struct cairn_tiledb_stats *other);

/** Minimum or maximum as a whole fragment has it: of numbers of which there was none, the highest of the type as
 * minimum and the lowest as maximum. @param scratch  may be pointed to by the result */
struct cairn_tiledb_view cairn_tiledb_stats_total(const struct cairn_tiledb_stats *stats, bool is_min,
						  uint8_t scratch[static 8]);

/** Forget all, but keep the memory. */
void cairn_tiledb_stats_reset(struct cairn_tiledb_stats *stats);

#endif
