#include "archive/tiledb/rtree.h"

#include "base/bytes.h"

#include <inttypes.h>
#include <string.h>

bool cairn_tiledb_mbr_read(struct cairn_cur *c, const struct cairn_tiledb_schema *schema, struct cairn_tiledb_mbr *out)
{
	for (uint32_t d = 0; d < schema->n_dims; d++) {
		const struct cairn_tiledb_field *dim = &schema->dims[d];
		uint64_t min_len = cairn_tiledb_cell_bytes(dim), both_len = 2 * min_len;
		if (dim->cell_values == CAIRN_TILEDB_VAR) {
			both_len = cairn_cur_u64le(c);
			min_len = cairn_cur_u64le(c);
		}
		if (c->bad || both_len > c->left || min_len > both_len)
			return false;
		const uint8_t *both = cairn_cur_take(c, (size_t)both_len);
		out->min[d] = (struct cairn_tiledb_view){both, (size_t)min_len};
		out->max[d] = (struct cairn_tiledb_view){both + min_len, (size_t)(both_len - min_len)};
	}
	return true;
}

void cairn_tiledb_mbr_write(struct cairn_buf *out, const struct cairn_tiledb_schema *schema,
			    const struct cairn_tiledb_mbr *mbr)
{
	for (uint32_t d = 0; d < schema->n_dims; d++) {
		if (schema->dims[d].cell_values == CAIRN_TILEDB_VAR) {
			cairn_buf_u64le(out, mbr->min[d].len + mbr->max[d].len);
			cairn_buf_u64le(out, mbr->min[d].len);
		}
		cairn_buf_add(out, mbr->min[d].bytes, mbr->min[d].len);
		cairn_buf_add(out, mbr->max[d].bytes, mbr->max[d].len);
	}
}

static void rtree_widen(const struct cairn_tiledb_schema *schema, struct cairn_tiledb_mbr *a,
			const struct cairn_tiledb_mbr *b)
{
	for (uint32_t d = 0; d < schema->n_dims; d++) {
		const struct cairn_tiledb_type *type = cairn_tiledb_type(schema->dims[d].datatype);
		if (cairn_tiledb_compare(type, b->min[d], a->min[d]) < 0)
			a->min[d] = b->min[d];
		if (cairn_tiledb_compare(type, b->max[d], a->max[d]) > 0)
			a->max[d] = b->max[d];
	}
}

bool cairn_tiledb_mbr_equal(const struct cairn_tiledb_schema *schema, const struct cairn_tiledb_mbr *a,
			    const struct cairn_tiledb_mbr *b)
{
	for (uint32_t d = 0; d < schema->n_dims; d++) {
		const struct cairn_tiledb_type *type = cairn_tiledb_type(schema->dims[d].datatype);
		if (cairn_tiledb_compare(type, a->min[d], b->min[d]) != 0 ||
		    cairn_tiledb_compare(type, a->max[d], b->max[d]) != 0)
			return false;
	}
	return true;
}

static void rtree_level_init(struct cairn_tiledb_rtree_level *level)
{
	level->starts = cairn_buf_init(CAIRN_TILEDB_META_BYTES_MAX);
	level->mbrs = cairn_buf_init(CAIRN_TILEDB_META_BYTES_MAX);
}

void cairn_tiledb_rtree_init(struct cairn_tiledb_rtree *tree)
{
	*tree = (struct cairn_tiledb_rtree){.fanout = CAIRN_TILEDB_FANOUT, .n_levels = 1};
	rtree_level_init(&tree->levels[0]);
}

void cairn_tiledb_rtree_fini(struct cairn_tiledb_rtree *tree)
{
	for (uint32_t i = 0; i < tree->n_levels; i++) {
		cairn_buf_fini(&tree->levels[i].starts);
		cairn_buf_fini(&tree->levels[i].mbrs);
	}
	*tree = (struct cairn_tiledb_rtree){0};
}

uint64_t cairn_tiledb_rtree_count(const struct cairn_tiledb_rtree *tree, uint32_t level)
{
	return tree->levels[level].starts.len / 8;
}

void cairn_tiledb_rtree_at(const struct cairn_tiledb_rtree *tree, const struct cairn_tiledb_schema *schema,
			   uint32_t level, uint64_t i, struct cairn_tiledb_mbr *out)
{
	const struct cairn_tiledb_rtree_level *l = &tree->levels[level];
	struct cairn_cur c = cairn_cur_init(l->mbrs.bytes, l->mbrs.len);
	*out = (struct cairn_tiledb_mbr){0};
	(void)cairn_cur_take(&c, (size_t)cairn_get_u64le(l->starts.bytes + 8 * i));
	(void)cairn_tiledb_mbr_read(&c, schema, out); /* the tree was read or built before */
}

static enum cairn_status rtree_level_add(struct cairn_tiledb_rtree_level *level,
					 const struct cairn_tiledb_schema *schema, const struct cairn_tiledb_mbr *mbr)
{
	cairn_buf_u64le(&level->starts, level->mbrs.len);
	cairn_tiledb_mbr_write(&level->mbrs, schema, mbr);
	return level->starts.status != CAIRN_OK ? level->starts.status : level->mbrs.status;
}

enum cairn_status cairn_tiledb_rtree_add(struct cairn_tiledb_rtree *tree, const struct cairn_tiledb_schema *schema,
					 const struct cairn_tiledb_mbr *mbr)
{
	return rtree_level_add(&tree->levels[tree->n_levels - 1], schema, mbr);
}

/* Computes the union of the children of node i of a level. */
static void rtree_union(const struct cairn_tiledb_rtree *tree, const struct cairn_tiledb_schema *schema, uint32_t level,
			uint64_t i, struct cairn_tiledb_mbr *out)
{
	uint64_t first = i * tree->fanout, n = cairn_tiledb_rtree_count(tree, level + 1);
	cairn_tiledb_rtree_at(tree, schema, level + 1, first, out);
	for (uint64_t child = first + 1; child < n && child - first < tree->fanout; child++) {
		struct cairn_tiledb_mbr mbr;
		cairn_tiledb_rtree_at(tree, schema, level + 1, child, &mbr);
		rtree_widen(schema, out, &mbr);
	}
}

static uint64_t rtree_parents(const struct cairn_tiledb_rtree *tree, uint64_t n)
{
	return n / tree->fanout + (n % tree->fanout != 0);
}

enum cairn_status cairn_tiledb_rtree_build(struct cairn_tiledb_rtree *tree, const struct cairn_tiledb_schema *schema)
{
	for (uint64_t n = cairn_tiledb_rtree_count(tree, 0); n > 1; n = cairn_tiledb_rtree_count(tree, 0)) {
		if (tree->n_levels == CAIRN_TILEDB_LEVELS_MAX)
			return CAIRN_E_LIMIT;
		memmove(&tree->levels[1], &tree->levels[0], tree->n_levels * sizeof(tree->levels[0]));
		tree->n_levels++;
		rtree_level_init(&tree->levels[0]);
		for (uint64_t i = 0; i < rtree_parents(tree, n); i++) {
			struct cairn_tiledb_mbr mbr;
			rtree_union(tree, schema, 0, i, &mbr);
			enum cairn_status status = rtree_level_add(&tree->levels[0], schema, &mbr);
			if (status != CAIRN_OK)
				return status;
		}
	}
	return CAIRN_OK;
}

static enum cairn_status rtree_bad(struct cairn_diag *diag, uint64_t at, const char *what, uint64_t expected,
				   uint64_t actual)
{
	(void)cairn_fail(diag, CAIRN_E_FORMAT, "tiledb.rtree", at, "%s", what);
	cairn_diag_numbers(diag, expected, actual);
	return CAIRN_E_FORMAT;
}

static enum cairn_status rtree_read_level(struct cairn_tiledb_rtree_level *level,
					  const struct cairn_tiledb_schema *schema, struct cairn_cur *c, uint64_t at,
					  struct cairn_diag *diag)
{
	uint64_t n = cairn_cur_u64le(c);
	const uint8_t *first = c->p;
	for (uint64_t i = 0; i < n; i++) {
		struct cairn_tiledb_mbr mbr;
		cairn_buf_u64le(&level->starts, (uint64_t)(c->p - first));
		if (c->bad || !cairn_tiledb_mbr_read(c, schema, &mbr))
			return rtree_bad(diag, at, "the R-tree is shorter than its nodes", n, i);
		if (level->starts.status != CAIRN_OK)
			return level->starts.status;
	}
	if (c->bad)
		return rtree_bad(diag, at, "the R-tree is shorter than its levels", 8, c->left);
	cairn_buf_add(&level->mbrs, first, (size_t)(c->p - first));
	return level->mbrs.status;
}

enum cairn_status cairn_tiledb_rtree_read(struct cairn_tiledb_rtree *tree, const struct cairn_tiledb_schema *schema,
					  struct cairn_tiledb_view block, uint64_t n_tiles, uint64_t at,
					  struct cairn_diag *diag)
{
	struct cairn_cur c = cairn_cur_init(block.bytes, block.len);
	tree->fanout = cairn_cur_u32le(&c);
	uint32_t n_levels = cairn_cur_u32le(&c);
	if (c.bad || tree->fanout < 2)
		return rtree_bad(diag, at, "nodes of the R-tree have fewer than two children", CAIRN_TILEDB_FANOUT,
				 tree->fanout);
	if (n_levels > CAIRN_TILEDB_LEVELS_MAX)
		return rtree_bad(diag, at, "the R-tree has too many levels", CAIRN_TILEDB_LEVELS_MAX, n_levels);
	while (tree->n_levels < n_levels) {
		struct cairn_tiledb_rtree_level *level = &tree->levels[tree->n_levels++];
		rtree_level_init(level);
		enum cairn_status status = rtree_read_level(level, schema, &c, at, diag);
		if (status != CAIRN_OK)
			return status;
	}
	if (c.left > 0)
		return rtree_bad(diag, at, "bytes follow the R-tree", 0, c.left);
	uint64_t n = n_tiles;
	for (uint32_t level = n_levels; level > 0; level--, n = rtree_parents(tree, n)) {
		uint64_t here = cairn_tiledb_rtree_count(tree, level - 1);
		if (here != n || (level == 1 && here != 1))
			return rtree_bad(diag, at, "a level of the R-tree has the wrong number of nodes",
					 level == 1 ? 1 : n, here);
	}
	return n_levels == 0 && n_tiles > 0 && schema->sparse
		       ? rtree_bad(diag, at, "the R-tree of a sparse fragment is empty", n_tiles, 0)
		       : CAIRN_OK;
}

void cairn_tiledb_rtree_write(struct cairn_buf *out, const struct cairn_tiledb_rtree *tree)
{
	cairn_buf_u32le(out, tree->fanout);
	cairn_buf_u32le(out, tree->n_levels);
	for (uint32_t i = 0; i < tree->n_levels; i++) {
		cairn_buf_u64le(out, cairn_tiledb_rtree_count(tree, i));
		cairn_buf_add(out, tree->levels[i].mbrs.bytes, tree->levels[i].mbrs.len);
	}
}

enum cairn_status cairn_tiledb_rtree_verify(const struct cairn_tiledb_rtree *tree,
					    const struct cairn_tiledb_schema *schema, uint64_t at,
					    struct cairn_diag *diag)
{
	for (uint32_t level = 0; level + 1 < tree->n_levels; level++) {
		for (uint64_t i = 0; i < cairn_tiledb_rtree_count(tree, level); i++) {
			struct cairn_tiledb_mbr here, wanted;
			cairn_tiledb_rtree_at(tree, schema, level, i, &here);
			rtree_union(tree, schema, level, i, &wanted);
			if (!cairn_tiledb_mbr_equal(schema, &here, &wanted))
				return cairn_fail(diag, CAIRN_E_MISMATCH, "tiledb.rtree", at,
						  "node %" PRIu64 " of level %" PRIu32
						  " of the R-tree does not cover exactly its children",
						  i, level);
		}
	}
	return CAIRN_OK;
}
