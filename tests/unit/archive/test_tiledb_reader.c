/* Arrays written by TileDB, and by another writer that follows our notes on the format. Tests every value of every
 * golden array, every refusal of damaged ones, and truncation at every length. */
#include "archive/tiledb/array.h"
#include "archive/tiledb/rle.h"
#include "base/bytes.h"
#include "hash/crypto.h"
#include "support/run.h"
#include "support/tempdir.h"
#include "support/vectors.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAYS TEST_DATA "/archive/tiledb/"

/* The rows of all fragments as lines of text. */
struct lines {
	char **items;
	size_t n;
};

static void lines_fini(struct lines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		free(lines->items[i]);
	free(lines->items);
}

static int lines_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void lines_add(struct lines *lines, const char *text, size_t len)
{
	lines->items = realloc(lines->items, (lines->n + 1) * sizeof(*lines->items));
	ck_assert_ptr_nonnull(lines->items);
	lines->items[lines->n++] = strndup(text, len);
}

/* Appends a value: texts as they are, numbers in digits. */
static void put_value(struct cairn_buf *line, const struct cairn_tiledb_column *c, uint64_t cell)
{
	bool is_null;
	char text[CAIRN_TILEDB_VALUE_TEXT_BYTES];
	const struct cairn_tiledb_type *type = cairn_tiledb_type(c->field->datatype);
	struct cairn_tiledb_view value = cairn_tiledb_column_value(c, cell, &is_null);
	if (is_null) {
		cairn_buf_printf(line, "null");
	} else if (type->kind == CAIRN_TILEDB_KIND_TEXT || type->kind == CAIRN_TILEDB_KIND_OPAQUE) {
		/* a text may be padded */
		cairn_buf_add(line, value.bytes, strnlen((const char *)value.bytes, value.len));
	} else {
		cairn_tiledb_value_text(text, type, value);
		cairn_buf_printf(line, "%s", text);
	}
}

/* Reads the rows of all fragments. @param order  names of fields, in this order; NULL-terminated */
static enum cairn_status read_rows(struct lines *out, struct cairn_tiledb_reader *r, const char *const *order,
				   struct cairn_diag *diag)
{
	struct cairn_tiledb_column columns[16] = {0};
	enum cairn_status status = CAIRN_OK;
	size_t n = 0;
	for (uint64_t tile = 0; tile < r->fragment.n_tiles && status == CAIRN_OK; tile++) {
		for (n = 0; order[n] && status == CAIRN_OK; n++)
			status = cairn_tiledb_reader_column(r, tile, cairn_tiledb_schema_find(&r->schema, order[n]),
							    &columns[n], diag);
		for (uint64_t cell = 0; cell < columns[0].n_cells && status == CAIRN_OK; cell++) {
			CLEANUP(cairn_buf_fini) struct cairn_buf line = cairn_buf_init(1 << 20);
			for (size_t i = 0; i < n; i++) {
				if (i > 0)
					cairn_buf_printf(&line, "\t");
				put_value(&line, &columns[i], cell);
			}
			lines_add(out, (const char *)line.bytes, line.len);
		}
	}
	for (size_t i = 0; i < 16; i++)
		cairn_tiledb_column_fini(&columns[i]);
	return status;
}

/* Reads an array. @return its first refusal: when it is opened, when all rows are read, or when it is verified */
static enum cairn_status read_array(struct lines *out, const char *path, const char *const *order, bool verify,
				    struct cairn_diag *diag)
{
	CLEANUP(cairn_tiledb_array_fini) struct cairn_tiledb_array array;
	enum cairn_status status = cairn_tiledb_array_open(&array, path, diag);
	for (uint32_t i = 0; status == CAIRN_OK && i < array.n_fragments; i++) {
		CLEANUP(cairn_tiledb_reader_fini) struct cairn_tiledb_reader r;
		status = cairn_tiledb_reader_open(&r, &array, array.fragments[i], diag);
		if (status == CAIRN_OK)
			status = read_rows(out, &r, order, diag);
		if (status == CAIRN_OK && verify)
			status = cairn_tiledb_verify(&r, NULL, NULL, diag);
	}
	return status;
}

static const char *const CHUNK_FIELDS[] = {"chunk_hash", "xorb_hash", "chunk_index", "offset",
					   "length",     "flags",     "time",        NULL};

static void digest_lines(struct lines *lines, char out[static 65])
{
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *sha256 = cairn_sha256_new();
	uint8_t digest[CAIRN_SHA256_BYTES];
	if (lines->n)
		qsort(lines->items, lines->n, sizeof(*lines->items), lines_compare);
	for (size_t i = 0; i < lines->n; i++) {
		cairn_sha256_add(sha256, lines->items[i], strlen(lines->items[i]));
		cairn_sha256_add(sha256, "\n", 1);
	}
	cairn_sha256_end(sha256, digest);
	cairn_hex_text(out, digest, sizeof(digest));
}

static void expect_columns(struct lines *lines, const json_t *columns, const char *const *order)
{
	/* a dense tile is stored whole, even if no row was written after the last one */
	size_t n = json_array_size(json_object_get(columns, order[0]));
	ck_assert_uint_ge(lines->n, n);
	for (size_t i = 0; i < n; i++) {
		CLEANUP(cairn_buf_fini) struct cairn_buf line = cairn_buf_init(4096);
		for (size_t c = 0; order[c]; c++) {
			const json_t *value = json_array_get(json_object_get(columns, order[c]), i);
			cairn_buf_printf(&line, c ? "\t" : "");
			if (json_is_integer(value))
				cairn_buf_printf(&line, "%lld", (long long)json_integer_value(value));
			else
				cairn_buf_printf(&line, "%s", json_is_null(value) ? "null" : json_string_value(value));
		}
		ck_assert_uint_eq(line.len, strlen(lines->items[i]));
		ck_assert_mem_eq(lines->items[i], line.bytes, line.len);
	}
}

START_TEST(golden)
{
	CLEANUP(vec_json_freep) json_t *all = vec_json("archive/tiledb/expected.json");
	const char *name;
	json_t *want;
	json_object_foreach(all, name, want)
	{
		static const char *const mixed[] = {"c", "k", "w", NULL}, *const dense[] = {"h", "v", NULL};
		CLEANUP(lines_fini) struct lines lines = {0};
		struct cairn_diag diag = {0};
		char path[512], digest[65];
		const json_t *columns = json_object_get(want, "columns");
		const char *const *order = !columns ? CHUNK_FIELDS : json_object_get(columns, "h") ? dense : mixed;
		(void)snprintf(path, sizeof(path), ARRAYS "%s", name);
		enum cairn_status status = read_array(&lines, path, order, true, &diag);
		if (json_object_get(want, "refuse")) {
			ck_assert_int_eq(status, CAIRN_E_FORMAT);
			ck_assert_str_eq(diag.rule, "tiledb.unsupported");
			continue;
		}
		ck_assert_msg(status == CAIRN_OK, "%s: %s %s %s %s", name, diag.rule, diag.text, diag.expected,
			      diag.actual);
		if (columns) {
			expect_columns(&lines, columns, order);
			continue;
		}
		ck_assert_uint_eq(lines.n, vec_u64(want, "rows"));
		digest_lines(&lines, digest);
		ck_assert_str_eq(digest, vec_string(want, "tsv_sha256"));
	}
}
END_TEST

/* Damaged files of arrays, and the rules that refuse them. */
static const struct {
	const char *array, *file, *rule;
} DAMAGED[] = {
	{"bad_a0_size", "a0.tdb", "tiledb.size"},
	{"bad_data_len", "a2.tdb", "tiledb.chunk"},
	{"bad_data_zstd", "a1.tdb", "tiledb.compressed"},
	{"bad_dense", "__fragment_metadata.tdb", "tiledb.footer"},
	{"bad_footer_len", "__fragment_metadata.tdb", "tiledb.footer"},
	{"bad_footer_len_short", "__fragment_metadata.tdb", "tiledb.version"},
	{"bad_gt_chunks", "__fragment_metadata.tdb", "tiledb.chunk"},
	{"bad_gt_persisted", "__fragment_metadata.tdb", "tiledb.truncated"},
	{"bad_gt_size", "__fragment_metadata.tdb", "tiledb.tile"},
	{"bad_last_tile", ".tdb", "tiledb.tile"},
	{"bad_no_column", "a3.tdb", "tiledb.missing"},
	{"bad_no_meta", "__fragment_metadata.tdb", "tiledb.missing"},
	{"bad_no_schema", "", "tiledb.array"},
	{"bad_offsets", "d0.tdb", "tiledb.chunk"},
	{"bad_rtree_levels", "__fragment_metadata.tdb", "tiledb.rtree"},
	{"bad_rtree_off", "__fragment_metadata.tdb", "tiledb.footer"},
	{"bad_schema_attrs", "__schema/", "tiledb.truncated"},
	{"bad_schema_name", "__schema/", "tiledb.missing"},
	{"bad_schema_ver", "__schema/", "tiledb.version"},
	{"bad_sparse_tiles", "__fragment_metadata.tdb", "tiledb.rtree"},
	{"bad_tile_off", "__fragment_metadata.tdb", "tiledb.tiles"},
	{"bad_unsorted", "__fragment_metadata.tdb", "tiledb.order"},
	{"bad_varsz", "d0_var.tdb", "tiledb.tile"},
	{"bad_version", "__fragment_metadata.tdb", "tiledb.version"},
};

START_TEST(damaged)
{
	CLEANUP(lines_fini) struct lines lines = {0};
	struct cairn_diag diag = {0};
	char path[512];
	(void)snprintf(path, sizeof(path), ARRAYS "%s", DAMAGED[_i].array);
	enum cairn_status status = read_array(&lines, path, CHUNK_FIELDS, true, &diag);
	ck_assert_int_ne(status, CAIRN_OK);
	ck_assert_ptr_nonnull(diag.rule);
	ck_assert_msg(strcmp(diag.rule, DAMAGED[_i].rule) == 0 && strstr(diag.text, DAMAGED[_i].file),
		      "%s: %s [%s %" PRIu64 "]", DAMAGED[_i].array, diag.text, diag.rule, diag.offset);
}
END_TEST

START_TEST(not_committed)
{
	CLEANUP(cairn_tiledb_array_fini) struct cairn_tiledb_array array;
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_tiledb_array_open(&array, ARRAYS "bad_no_commit", &diag), CAIRN_OK);
	ck_assert_uint_eq(array.n_fragments, 0);
	ck_assert_uint_eq(array.n_ignored, 1);
}
END_TEST

START_TEST(not_an_array)
{
	struct cairn_tiledb_array array;
	struct cairn_diag diag = {0};
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(tempdir_textp) char *absent = tempdir_path(&dir, "absent");
	ck_assert_int_eq(cairn_tiledb_array_open(&array, absent, NULL), CAIRN_E_NOT_FOUND);
	cairn_tiledb_array_fini(&array);
	ck_assert_int_eq(cairn_tiledb_array_open(&array, dir.path, &diag), CAIRN_E_NOT_FOUND);
	cairn_tiledb_array_fini(&array);
	ck_assert_str_eq(diag.rule, "tiledb.array");
	ck_assert(!cairn_tiledb_is_array(dir.path));
	ck_assert(cairn_tiledb_is_array(ARRAYS "peer_zstd"));
}
END_TEST

/* Checks every field of the tree that TileDB wrote with 120 rows, ten to a node. */
START_TEST(tree_and_statistics)
{
	CLEANUP(cairn_tiledb_array_fini) struct cairn_tiledb_array array;
	CLEANUP(cairn_tiledb_reader_fini) struct cairn_tiledb_reader r;
	static const uint64_t counts[] = {1, 2, 12, 120};
	struct cairn_tiledb_view value;
	ck_assert_int_eq(cairn_tiledb_array_open(&array, ARRAYS "peer_rtree3", NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_tiledb_reader_open(&r, &array, array.fragments[0], NULL), CAIRN_OK);
	ck_assert_uint_eq(r.fragment.rtree.n_levels, 4);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_uint_eq(cairn_tiledb_rtree_count(&r.fragment.rtree, i), counts[i]);
	ck_assert_uint_eq(cairn_tiledb_cells(&r.fragment, &r.schema), 120);
	uint32_t length = cairn_tiledb_schema_find(&r.schema, "length");
	ck_assert_uint_eq(cairn_tiledb_schema_find(&r.schema, "none"), UINT32_MAX);
	ck_assert(cairn_tiledb_minmax_at(&r.fragment, &r.schema, length, CAIRN_TILEDB_MINS, 0, &value));
	ck_assert_uint_eq(value.len, 4);
	uint64_t sum = 0;
	for (uint64_t i = 0; i < r.fragment.n_tiles; i++)
		sum += cairn_tiledb_vector_at(&r.fragment.slots[length], CAIRN_TILEDB_SUMS, i);
	ck_assert_uint_eq(sum, r.fragment.slots[length].sum);
}
END_TEST

static struct cairn_tiledb_view view_of(const struct vec_bytes *b, size_t len)
{
	return (struct cairn_tiledb_view){b->bytes, len};
}

static const struct {
	const char *schema, *meta;
} CUT[] = {
	{"ours_plain_meta/__schema/__1700000000000_1700000000000_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	 "ours_plain_meta/__fragments/__1700000000001_1700000000001_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb_22/"
	 "__fragment_metadata.tdb"},
	{"ours_gzip_meta/__schema/__1700000000000_1700000000000_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	 "ours_gzip_meta/__fragments/__1700000000001_1700000000001_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb_22/"
	 "__fragment_metadata.tdb"},
};

/* Files cut at every length, and one with an extra byte, are refused. The offset of the refusal is within the bytes. */
START_TEST(truncated)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes schema_file = vec_read("archive/tiledb/%s", CUT[_i].schema);
	CLEANUP(vec_bytes_fini) struct vec_bytes meta = vec_read("archive/tiledb/%s", CUT[_i].meta);
	CLEANUP(cairn_tiledb_codec_freep) struct cairn_tiledb_codec *codec = cairn_tiledb_codec_new();
	CLEANUP(cairn_tiledb_schema_fini) struct cairn_tiledb_schema schema;
	for (size_t len = 0; len < schema_file.len; len++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes cut = vec_copy(schema_file.bytes, len);
		struct cairn_diag diag = {0};
		ck_assert_int_ne(cairn_tiledb_schema_read(&schema, codec, view_of(&cut, len), &diag), CAIRN_OK);
		ck_assert(diag.rule && diag.has_offset && diag.offset <= len);
		cairn_tiledb_schema_fini(&schema);
	}
	ck_assert_int_eq(cairn_tiledb_schema_read(&schema, codec, view_of(&schema_file, schema_file.len), NULL),
			 CAIRN_OK);
	for (size_t len = 0; len <= meta.len; len++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes cut = vec_copy(meta.bytes, len);
		CLEANUP(cairn_tiledb_fragment_fini) struct cairn_tiledb_fragment f;
		struct cairn_diag diag = {0};
		enum cairn_status status =
			cairn_tiledb_fragment_read(&f, codec, &schema, 22, view_of(&cut, len), &diag);
		ck_assert((status == CAIRN_OK) == (len == meta.len));
		ck_assert(status == CAIRN_OK || (diag.rule && diag.has_offset && diag.offset <= len));
	}
}
END_TEST

/* libtiledb's chunk of aa (5 times), bbb (twice), nothing, c (3 times). */
START_TEST(runs_of_texts)
{
	static const uint8_t in[] = "\5\2aa\2\3bbb\1\0\3\1c";
	const size_t in_len = sizeof(in) - 1;
	uint8_t notes[22] = {0, 0, 0, 0, 1, 0, 0, 0, 19, 0, 0, 0, 14, 0, 0, 0, 88, 0, 0, 0, 1, 1};
	CLEANUP(cairn_buf_fini) struct cairn_buf texts = cairn_buf_init(1000), starts = cairn_buf_init(1000);
	struct cairn_tiledb_view all = {in, in_len}, told = {notes, sizeof(notes)};
	ck_assert_int_eq(cairn_tiledb_rle_texts(&texts, &starts, 100, told, all, NULL), CAIRN_OK);
	ck_assert_uint_eq(texts.len, 19);
	ck_assert_mem_eq(texts.bytes, "aaaaaaaaaabbbbbbccc", 19);
	static const uint8_t from[11] = {0, 2, 4, 6, 8, 10, 13, 16, 16, 17, 18};
	ck_assert_uint_eq(starts.len, 8 * sizeof(from));
	for (size_t i = 0; i < sizeof(from); i++)
		ck_assert_uint_eq(cairn_get_u64le(starts.bytes + 8 * i), 100U + from[i]);

	/* A cut chunk is refused even if the filter's metadata gives the cut length. */
	for (size_t len = 0; len < in_len; len++) {
		notes[12] = (uint8_t)len;
		ck_assert_int_eq(
			cairn_tiledb_rle_texts(&texts, &starts, 0, told, (struct cairn_tiledb_view){in, len}, NULL),
			CAIRN_E_FORMAT);
		starts.len = 0;
	}
	notes[12] = (uint8_t)in_len;
	for (size_t bit = 0; bit < 8 * sizeof(notes); bit++) {
		notes[bit / 8] ^= (uint8_t)(1U << bit % 8);
		ck_assert_int_eq(cairn_tiledb_rle_texts(&texts, &starts, 0, told, all, NULL), CAIRN_E_FORMAT);
		notes[bit / 8] ^= (uint8_t)(1U << bit % 8);
		starts.len = 0;
	}
	for (size_t len = 0; len < sizeof(notes); len++)
		ck_assert_int_eq(
			cairn_tiledb_rle_texts(&texts, &starts, 0, (struct cairn_tiledb_view){notes, len}, all, NULL),
			CAIRN_E_FORMAT);
	struct cairn_buf few = cairn_buf_init(80);
	ck_assert_int_eq(cairn_tiledb_rle_texts(&texts, &few, 0, told, all, NULL), CAIRN_E_LIMIT);
	cairn_buf_fini(&few);
}
END_TEST

START_TEST(names)
{
	struct cairn_tiledb_name n;
	char text[CAIRN_TILEDB_NAME_TEXT_BYTES];
	static const uint8_t uuid[CAIRN_TILEDB_UUID_BYTES] = {0xbb, 1};
	ck_assert(cairn_tiledb_name_parse(&n, "__1_20_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb_22"));
	ck_assert(n.first_ms == 1 && n.last_ms == 20 && n.version == 22);
	cairn_tiledb_name_text(text, 7, uuid, 22);
	ck_assert_str_eq(text, "__7_7_bb010000000000000000000000000000_22");
	ck_assert(cairn_tiledb_name_parse(&n, text));
	cairn_tiledb_name_text(text, 7, uuid, 0);
	ck_assert(cairn_tiledb_name_parse(&n, text) && n.version == 0);
	static const char *const bad[] = {"",
					  "__",
					  "__1_2",
					  "_1_2_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
					  "__2_1_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
					  "__1_2_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
					  "__1_2_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
					  "__1_2_bbbbbbbbbbbbbbbb-bbbbbbbbbbbbbbb",
					  "__1_2_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb_",
					  "__1_2_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb_0",
					  "__1_2_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb_22x",
					  "__99999999999999999999_2_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!cairn_tiledb_name_parse(&n, bad[i]), "%s", bad[i]);
}
END_TEST

static uint64_t integer(uint8_t type, const char *bytes)
{
	return cairn_tiledb_integer(cairn_tiledb_type(type), (const uint8_t *)bytes);
}

START_TEST(numbers)
{
	ck_assert_int_eq((int64_t)integer(0, "\xfe\xff\xff\xff"), -2);
	ck_assert_uint_eq(integer(9, "\xfe\xff\xff\xff"), 0xfffffffe);
	ck_assert_uint_eq(cairn_tiledb_add(CAIRN_TILEDB_KIND_UNSIGNED, UINT64_MAX, 2), UINT64_MAX);
	ck_assert_int_eq((int64_t)cairn_tiledb_add(CAIRN_TILEDB_KIND_SIGNED, (uint64_t)INT64_MAX, 1), INT64_MAX);
	ck_assert_int_eq((int64_t)cairn_tiledb_add(CAIRN_TILEDB_KIND_SIGNED, (uint64_t)INT64_MIN, (uint64_t)-1),
			 INT64_MIN);
	ck_assert_int_eq((int64_t)cairn_tiledb_add(CAIRN_TILEDB_KIND_SIGNED, (uint64_t)-5, 3), -2);
	const struct cairn_tiledb_view a = {(const uint8_t *)"ab", 2}, b = {(const uint8_t *)"abc", 3};
	ck_assert_int_lt(cairn_tiledb_compare(cairn_tiledb_type(CAIRN_TILEDB_ASCII), a, b), 0);
	ck_assert_str_eq(cairn_tiledb_type(CAIRN_TILEDB_DATETIME_MS)->name, "DATETIME_MS");
	ck_assert_str_eq(cairn_tiledb_type(39)->name, "TIME_AS");
	ck_assert_ptr_null(cairn_tiledb_type(44));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tiledb_reader");
	TCase *t = tcase_create("all");
	tcase_add_test(t, golden);
	tcase_add_loop_test(t, damaged, 0, sizeof(DAMAGED) / sizeof(DAMAGED[0]));
	tcase_add_test(t, not_committed);
	tcase_add_test(t, not_an_array);
	tcase_add_test(t, tree_and_statistics);
	tcase_add_loop_test(t, truncated, 0, sizeof(CUT) / sizeof(CUT[0]));
	tcase_add_test(t, runs_of_texts);
	tcase_add_test(t, names);
	tcase_add_test(t, numbers);
	suite_add_tcase(s, t);
	return run_suite(s);
}
