/* Arbitrary bytes as files of a TileDB array. The first byte selects: a schema, the metadata of a fragment of our
 * exports' schema, or a tile after the description of its filters. */
#include "archive/tiledb/fragment.h"
#include "fuzz.h"

enum { FUZZ_SCHEMA, FUZZ_FRAGMENT, FUZZ_TILE, FUZZ_KINDS };
enum { FUZZ_TEXTS = 0x10000 }; /* added to a tile's length: the tile holds texts packed with RLE */

static void fuzz_judge(enum cairn_status status, const struct cairn_diag *diag, size_t len)
{
	fuzz_must(status != CAIRN_OK || !diag->rule);
	fuzz_must(status == CAIRN_OK || status == CAIRN_E_NOMEM || status == CAIRN_E_LIMIT || diag->rule);
	fuzz_must(!diag->has_offset || diag->offset <= len);
}

static void fuzz_schema(struct cairn_tiledb_codec *codec, struct cairn_tiledb_view file)
{
	CLEANUP(cairn_tiledb_schema_fini) struct cairn_tiledb_schema schema;
	struct cairn_diag diag = {0};
	enum cairn_status status = cairn_tiledb_schema_read(&schema, codec, file, &diag);
	fuzz_judge(status, &diag, file.len);
	for (uint32_t i = 0; status == CAIRN_OK && i < cairn_tiledb_schema_slots(&schema); i++) {
		const struct cairn_tiledb_field *field = cairn_tiledb_schema_field(&schema, i);
		fuzz_must((field == NULL) == (i == schema.n_attrs));
		fuzz_must(!field || cairn_tiledb_schema_find(&schema, field->name) <= i);
	}
}

/* Sets up the fields of tests/data/archive/tiledb/ours_plain_meta. */
static void fuzz_own_schema(struct cairn_tiledb_schema *s)
{
	static const uint8_t types[] = {CAIRN_TILEDB_CHAR,   CAIRN_TILEDB_UINT32, CAIRN_TILEDB_UINT64,
					CAIRN_TILEDB_UINT32, CAIRN_TILEDB_UINT32, CAIRN_TILEDB_DATETIME_MS};
	*s = (struct cairn_tiledb_schema){.version = 22, .sparse = true, .capacity = 4, .n_attrs = 6, .n_dims = 1};
	s->attrs = calloc(6, sizeof(*s->attrs));
	s->dims = calloc(1, sizeof(*s->dims));
	fuzz_must(s->attrs && s->dims);
	for (unsigned i = 0; i < 6; i++) {
		s->attrs[i].datatype = types[i];
		s->attrs[i].cell_values = i == 0 ? 64 : 1;
	}
	s->dims[0].datatype = CAIRN_TILEDB_ASCII;
	s->dims[0].cell_values = CAIRN_TILEDB_VAR;
}

/* Reads every part of an accepted fragment. */
static void fuzz_look(const struct cairn_tiledb_fragment *f, const struct cairn_tiledb_schema *schema)
{
	struct cairn_tiledb_mbr mbr;
	struct cairn_tiledb_view value;
	for (uint32_t level = 0; level < f->rtree.n_levels; level++) {
		for (uint64_t i = 0; i < cairn_tiledb_rtree_count(&f->rtree, level); i++)
			cairn_tiledb_rtree_at(&f->rtree, schema, level, i, &mbr);
	}
	(void)!cairn_tiledb_rtree_verify(&f->rtree, schema, 0, NULL);
	for (uint64_t tile = 0; tile < f->n_tiles; tile++) {
		fuzz_must(cairn_tiledb_tile_cells(f, schema, tile) <= schema->capacity);
		for (uint32_t i = 0; i < schema->n_attrs; i++) {
			fuzz_must(cairn_tiledb_vector_at(&f->slots[i], CAIRN_TILEDB_OFFSETS, tile) <
				  f->slots[i].file_bytes[CAIRN_TILEDB_FILE_FIXED]);
			if (cairn_tiledb_has_minmax(schema, i) &&
			    cairn_tiledb_minmax_at(f, schema, i, CAIRN_TILEDB_MAXS, tile, &value))
				fuzz_must(value.len == cairn_tiledb_cell_bytes(&schema->attrs[i]));
		}
	}
}

static void fuzz_fragment(struct cairn_tiledb_codec *codec, struct cairn_tiledb_view file)
{
	CLEANUP(cairn_tiledb_schema_fini) struct cairn_tiledb_schema schema;
	CLEANUP(cairn_tiledb_fragment_fini) struct cairn_tiledb_fragment f;
	struct cairn_diag diag = {0};
	fuzz_own_schema(&schema);
	enum cairn_status status = cairn_tiledb_fragment_read(&f, codec, &schema, 22, file, &diag);
	fuzz_judge(status, &diag, file.len);
	if (status == CAIRN_OK)
		fuzz_look(&f, &schema);
}

static void fuzz_tile(struct cairn_tiledb_codec *codec, struct cairn_tiledb_view file)
{
	CLEANUP(cairn_buf_fini) struct cairn_buf out = cairn_buf_init(1 << 20);
	CLEANUP(cairn_buf_fini) struct cairn_buf starts = cairn_buf_init(1 << 20);
	struct cairn_cur c = cairn_cur_init(file.bytes, file.len);
	struct cairn_tiledb_pipeline pipeline;
	struct cairn_diag diag = {0};
	uint32_t choice = cairn_cur_u32le(&c), expected = choice & 0xffff;
	enum cairn_status status = cairn_tiledb_pipeline_read(&c, &pipeline, &diag);
	const struct cairn_tiledb_view tile = {c.p, c.left};
	if (status == CAIRN_OK && choice & FUZZ_TEXTS)
		status = cairn_tiledb_tile_unpack_texts(codec, &out, &starts, tile, &pipeline, expected, &diag);
	else if (status == CAIRN_OK)
		status = cairn_tiledb_tile_unpack(codec, &out, tile, &pipeline, 1 + expected % 9, expected, &diag);
	fuzz_judge(status, &diag, file.len);
	fuzz_must(status != CAIRN_OK || out.len == expected);
	fuzz_must(starts.len % 8 == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	static struct cairn_tiledb_codec *codec; /* used for all inputs, as a reader uses it for all tiles */
	if (!codec)
		codec = cairn_tiledb_codec_new();
	if (!codec || len == 0)
		return 0;
	struct cairn_tiledb_view file = {bytes + 1, len - 1};
	switch (bytes[0] % FUZZ_KINDS) {
	case FUZZ_SCHEMA:
		fuzz_schema(codec, file);
		break;
	case FUZZ_FRAGMENT:
		fuzz_fragment(codec, file);
		break;
	default:
		fuzz_tile(codec, file);
		break;
	}
	return 0;
}
