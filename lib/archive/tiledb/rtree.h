/* The R-tree of a sparse fragment: the lowest and highest value of each dimension for each tile, for ten tiles
 * together, for a hundred, and so on. */
#ifndef CAIRN_ARCHIVE_TILEDB_RTREE_H
#define CAIRN_ARCHIVE_TILEDB_RTREE_H

#include "archive/tiledb/schema.h"

/** A minimum bounding rectangle: borrowed views. */
struct cairn_tiledb_mbr {
	struct cairn_tiledb_view min[CAIRN_TILEDB_DIMS_MAX], max[CAIRN_TILEDB_DIMS_MAX];
};

/** Reads an MBR. @return false: cut off, or of impossible lengths */
bool cairn_tiledb_mbr_read(struct cairn_cur *c, const struct cairn_tiledb_schema *schema, struct cairn_tiledb_mbr *out);
void cairn_tiledb_mbr_write(struct cairn_buf *out, const struct cairn_tiledb_schema *schema,
			    const struct cairn_tiledb_mbr *mbr);
bool cairn_tiledb_mbr_equal(const struct cairn_tiledb_schema *schema, const struct cairn_tiledb_mbr *a,
			    const struct cairn_tiledb_mbr *b);

struct cairn_tiledb_rtree_level {
	struct cairn_buf starts; /* u64 each: start of an MBR in mbrs */
	struct cairn_buf mbrs;   /* the MBRs as stored */
};

/** The tree. Level 0 is the root, the last level has the tiles; a dense fragment has none. Zeroed is empty. */
struct cairn_tiledb_rtree {
	uint32_t fanout, n_levels;
	struct cairn_tiledb_rtree_level levels[CAIRN_TILEDB_LEVELS_MAX];
};

/** Begins a tree with one empty level. Add the tiles, then build the other levels. */
void cairn_tiledb_rtree_init(struct cairn_tiledb_rtree *tree);
void cairn_tiledb_rtree_fini(struct cairn_tiledb_rtree *tree);

uint64_t cairn_tiledb_rtree_count(const struct cairn_tiledb_rtree *tree, uint32_t level);
/** Returns MBR i of a level; both numbers must be in range. */
void cairn_tiledb_rtree_at(const struct cairn_tiledb_rtree *tree, const struct cairn_tiledb_schema *schema,
			   uint32_t level, uint64_t i, struct cairn_tiledb_mbr *out);

/** Appends a tile. @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_rtree_add(struct cairn_tiledb_rtree *tree,
							const struct cairn_tiledb_schema *schema,
							const struct cairn_tiledb_mbr *mbr);
/** Builds the levels above the tiles. @return CAIRN_OK; CAIRN_E_NOMEM; CAIRN_E_LIMIT */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_rtree_build(struct cairn_tiledb_rtree *tree,
							  const struct cairn_tiledb_schema *schema);

/** Reads the block without filters. Each level must have as many nodes as the level below needs, the last level
 * n_tiles.
 * @param at  offset of the block in its file, for error messages
 * @return CAIRN_OK; CAIRN_E_FORMAT; CAIRN_E_LIMIT; CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_rtree_read(struct cairn_tiledb_rtree *tree,
							 const struct cairn_tiledb_schema *schema,
							 struct cairn_tiledb_view block, uint64_t n_tiles, uint64_t at,
							 struct cairn_diag *diag);
void cairn_tiledb_rtree_write(struct cairn_buf *out, const struct cairn_tiledb_rtree *tree);

/** Checks that each node is the union of its children. @return CAIRN_OK; CAIRN_E_MISMATCH */
CAIRN_MUST_USE enum cairn_status cairn_tiledb_rtree_verify(const struct cairn_tiledb_rtree *tree,
							   const struct cairn_tiledb_schema *schema, uint64_t at,
							   struct cairn_diag *diag);

#endif
