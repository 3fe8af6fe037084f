/* The writer makes the same bytes as golden arrays from their rows, and refuses bad input. */
#include "archive/tiledb/folder.h"
#include "archive/tiledb/writer.h"
#include "base/fd.h"
#include "support/run.h"
#include "support/tempdir.h"
#include "support/vectors.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARRAYS TEST_DATA "/archive/tiledb/"

enum { FIELDS = 7 };

/* Passes every row of a fragment to a writer. */
static void copy_rows(struct cairn_tiledb_reader *r, struct cairn_tiledb_writer *w)
{
	struct cairn_tiledb_column columns[FIELDS] = {0};
	struct cairn_tiledb_cell row[FIELDS];
	uint32_t n_attrs = r->schema.n_attrs;
	for (uint64_t tile = 0; tile < r->fragment.n_tiles; tile++) {
		for (uint32_t i = 0; i <= n_attrs; i++)
			ck_assert_int_eq(
				cairn_tiledb_reader_column(r, tile, i < n_attrs ? i : i + 1, &columns[i], NULL),
				CAIRN_OK);
		for (uint64_t cell = 0; cell < columns[0].n_cells; cell++) {
			for (uint32_t i = 0; i <= n_attrs; i++)
				row[i].value = cairn_tiledb_column_value(&columns[i], cell, &row[i].is_null);
			ck_assert_int_eq(cairn_tiledb_writer_add(w, row, NULL), CAIRN_OK);
		}
	}
	for (uint32_t i = 0; i < FIELDS; i++)
		cairn_tiledb_column_fini(&columns[i]);
}

/* Writes the array again, into dir/name, with its original names. */
static void rewrite(struct tempdir *dir, const char *name, struct cairn_tiledb_reader *r)
{
	char path[64];
	struct cairn_diag diag = {0};
	CLEANUP(cairn_fd_closep) int parent = open(dir->path, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(cairn_tiledb_array_make(parent, name, &r->schema, r->array->schema_name, &diag), CAIRN_OK);
	(void)snprintf(path, sizeof(path), "%s/__fragments", name);
	CLEANUP(cairn_fd_closep) int fragments = openat(parent, path, O_RDONLY | O_DIRECTORY);
	CLEANUP(cairn_fd_closep) int array = openat(parent, name, O_RDONLY | O_DIRECTORY);
	CLEANUP(cairn_tiledb_writer_freep) struct cairn_tiledb_writer *w = NULL;
	ck_assert_int_eq(cairn_tiledb_writer_open(&w, fragments, r->name, &r->schema, r->array->schema_name, &diag),
			 CAIRN_OK);
	copy_rows(r, w);
	ck_assert_int_eq(cairn_tiledb_writer_end(w, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_tiledb_commit(array, r->name, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_tiledb_commit(array, r->name, &diag), CAIRN_E_CONFLICT);
}

static void expect_same_file(const char *a, const char *b)
{
	char command[1300];
	(void)snprintf(command, sizeof(command), "cmp '%s' '%s' >&2", a, b);
	ck_assert_int_eq(system(command), 0); /* NOLINT: all names in the command are ours */
}

/* Compares numbers and lengths of chunks, tile by tile: another version of zstd may make other frames. */
static void expect_same_chunks(const char *name, const char *own_path)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes a = vec_read("archive/tiledb/%s", name);
	CLEANUP(cairn_buf_fini) struct cairn_buf b = cairn_buf_init(1 << 24);
	ck_assert_int_eq(cairn_tiledb_file_read(&b, AT_FDCWD, own_path, 1 << 24, NULL), CAIRN_OK);
	struct cairn_cur x = cairn_cur_init(a.bytes, a.len), y = cairn_cur_init(b.bytes, b.len);
	while (x.left > 0) {
		uint64_t n = cairn_cur_u64le(&x);
		ck_assert_uint_eq(n, cairn_cur_u64le(&y));
		for (; n > 0; n--) {
			ck_assert_uint_eq(cairn_cur_u32le(&x), cairn_cur_u32le(&y));
			uint32_t x_len = cairn_cur_u32le(&x), y_len = cairn_cur_u32le(&y);
			ck_assert(cairn_cur_take(&x, (size_t)x_len + cairn_cur_u32le(&x)));
			ck_assert(cairn_cur_take(&y, (size_t)y_len + cairn_cur_u32le(&y)));
		}
	}
	ck_assert_uint_eq(y.left, 0);
}

static void expect_same_buf(const struct cairn_buf *a, const struct cairn_buf *b)
{
	ck_assert_uint_eq(a->len, b->len);
	if (a->len)
		ck_assert_mem_eq(a->bytes, b->bytes, a->len);
}

/* Compares all metadata, whatever filters were applied to it. */
static void expect_same_meta(const struct cairn_tiledb_fragment *a, const struct cairn_tiledb_fragment *b,
			     bool same_frames)
{
	ck_assert_uint_eq(a->n_tiles, b->n_tiles);
	ck_assert_uint_eq(a->last_tile_cells, b->last_tile_cells);
	ck_assert_uint_eq(a->n_slots, b->n_slots);
	expect_same_buf(&a->domain, &b->domain);
	ck_assert_uint_eq(a->rtree.fanout, b->rtree.fanout);
	ck_assert_uint_eq(a->rtree.n_levels, b->rtree.n_levels);
	for (uint32_t i = 0; i < a->rtree.n_levels; i++)
		expect_same_buf(&a->rtree.levels[i].mbrs, &b->rtree.levels[i].mbrs);
	for (uint32_t i = 0; i < a->n_slots; i++) {
		const struct cairn_tiledb_slot *x = &a->slots[i], *y = &b->slots[i];
		if (same_frames)
			ck_assert_mem_eq(x->file_bytes, y->file_bytes, sizeof(x->file_bytes));
		for (unsigned v = same_frames ? 0 : CAIRN_TILEDB_VAR_SIZES; v < CAIRN_TILEDB_VECTORS; v++)
			expect_same_buf(&x->vectors[v], &y->vectors[v]);
		expect_same_buf(&x->var_min, &y->var_min);
		expect_same_buf(&x->var_max, &y->var_max);
		expect_same_buf(&x->min, &y->min);
		expect_same_buf(&x->max, &y->max);
		ck_assert_uint_eq(x->sum, y->sum);
		ck_assert_uint_eq(x->n_nulls, y->n_nulls);
	}
}

static const char *const REWRITTEN[] = {"ours_plain_meta", "peer_zstd", "peer_nofilter",
					"peer_one_row",    "peer_1300", "peer_rtree3"};

START_TEST(same_bytes)
{
	const char *name = REWRITTEN[_i];
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_tiledb_array_fini) struct cairn_tiledb_array array;
	CLEANUP(cairn_tiledb_reader_fini) struct cairn_tiledb_reader r, own_r;
	CLEANUP(cairn_tiledb_array_fini) struct cairn_tiledb_array own;
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, name);
	char a[600], b[600];
	struct cairn_diag diag = {0};
	(void)snprintf(a, sizeof(a), ARRAYS "%s", name);
	ck_assert_int_eq(cairn_tiledb_array_open(&array, a, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_tiledb_reader_open(&r, &array, array.fragments[0], NULL), CAIRN_OK);
	rewrite(&dir, name, &r);
	ck_assert_int_eq(cairn_tiledb_array_open(&own, path, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_tiledb_reader_open(&own_r, &own, own.fragments[0], &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_tiledb_verify(&own_r, NULL, NULL, &diag), CAIRN_OK);
	bool same_frames = strcmp(name, "peer_1300") != 0;
	expect_same_meta(&r.fragment, &own_r.fragment, same_frames);
	for (uint32_t i = 0; i < cairn_tiledb_schema_slots(&r.schema); i++) {
		for (unsigned file = 0; file < CAIRN_TILEDB_FILES; file++) {
			char data[CAIRN_TILEDB_FILE_NAME_BYTES];
			if (r.fragment.slots[i].file_bytes[file] == 0)
				continue;
			cairn_tiledb_file_name(data, &r.schema, i, file);
			(void)snprintf(a, sizeof(a), "%s/__fragments/%s/%s", name, r.name, data);
			(void)snprintf(b, sizeof(b), "%s/__fragments/%s/%s", path, r.name, data);
			expect_same_chunks(a, b);
			(void)snprintf(a, sizeof(a), ARRAYS "%s/__fragments/%s/%s", name, r.name, data);
			if (same_frames)
				expect_same_file(a, b);
		}
	}
	if (_i > 0)
		return; /* TileDB compresses its metadata with gzip; ours may not be */
	(void)snprintf(a, sizeof(a), ARRAYS "%s/__fragments/%s/__fragment_metadata.tdb", name, r.name);
	(void)snprintf(b, sizeof(b), "%s/__fragments/%s/__fragment_metadata.tdb", path, r.name);
	expect_same_file(a, b);
	(void)snprintf(a, sizeof(a), ARRAYS "%s/__schema/%s", name, array.schema_name);
	(void)snprintf(b, sizeof(b), "%s/__schema/%s", path, array.schema_name);
	expect_same_file(a, b);
}
END_TEST

/* Makes a schema with every kind of field that is written. */
static void make_schema(struct cairn_tiledb_schema *s, bool checksums)
{
	const struct cairn_tiledb_pipeline zstd = {CAIRN_TILEDB_CHUNK_BYTES,
						   checksums ? 2 : 1,
						   {{CAIRN_TILEDB_FILTER_ZSTD, 3}, {CAIRN_TILEDB_FILTER_SHA256, 0}}};
	*s = (struct cairn_tiledb_schema){.version = 22,
					  .sparse = true,
					  .allows_duplicates = true,
					  .capacity = 4,
					  .coords = {CAIRN_TILEDB_CHUNK_BYTES, 0, {{0}}},
					  .offsets = zstd,
					  .validity = zstd,
					  .checksums = checksums,
					  .n_attrs = 3,
					  .n_dims = 1};
	s->attrs = calloc(3, sizeof(*s->attrs));
	s->dims = calloc(1, sizeof(*s->dims));
	ck_assert(s->attrs && s->dims);
	s->attrs[0] = (struct cairn_tiledb_field){"size", CAIRN_TILEDB_UINT64, 1, true, zstd};
	s->attrs[1] = (struct cairn_tiledb_field){"when", CAIRN_TILEDB_DATETIME_MS, 1, false, zstd};
	s->attrs[2] = (struct cairn_tiledb_field){"text", CAIRN_TILEDB_ASCII, CAIRN_TILEDB_VAR, true, zstd};
	s->dims[0] = (struct cairn_tiledb_field){"key", CAIRN_TILEDB_ASCII, CAIRN_TILEDB_VAR, false, zstd};
}

static struct cairn_tiledb_cell cell(const void *bytes, size_t len, bool is_null)
{
	return (struct cairn_tiledb_cell){{bytes, len}, is_null};
}

static struct cairn_tiledb_cell text_cell(const char *text)
{
	return cell(text, strlen(text), false);
}

/* A fragment that is being written, in a folder of its own. */
struct one {
	struct tempdir dir;
	int fd;
	struct cairn_tiledb_schema schema;
	struct cairn_tiledb_writer *w;
};

static void one_fini(struct one *o)
{
	cairn_tiledb_writer_freep(&o->w);
	cairn_tiledb_schema_fini(&o->schema);
	cairn_fd_closep(&o->fd);
	tempdir_fini(&o->dir);
}

static void one_open(struct one *o, bool checksums)
{
	*o = (struct one){.dir = tempdir_new()};
	o->fd = open(o->dir.path, O_RDONLY | O_DIRECTORY);
	make_schema(&o->schema, checksums);
	ck_assert_int_eq(
		cairn_tiledb_array_make(o->fd, "a", &o->schema, "__1_1_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL),
		CAIRN_OK);
	ck_assert_int_eq(
		cairn_tiledb_array_make(o->fd, "a", &o->schema, "__1_1_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL),
		CAIRN_E_CONFLICT);
	CLEANUP(cairn_fd_closep) int fragments = openat(o->fd, "a/__fragments", O_RDONLY | O_DIRECTORY);
	/* The writer borrows the folder's descriptor. o->fd stays open until one_fini(), so point it to __fragments. */
	ck_assert_int_eq(dup2(fragments, o->fd), o->fd);
	ck_assert_int_eq(cairn_tiledb_writer_open(&o->w, o->fd, "__2_2_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb_22", &o->schema,
						  "__1_1_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL),
			 CAIRN_OK);
}

/* Nulls, a tile of only nulls, values of any length, negative times, a sum that saturates. */
START_TEST(nulls_and_extremes)
{
	const bool checksums = _i;
	CLEANUP(one_fini) struct one o;
	static const uint8_t big[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, small[8] = {2};
	one_open(&o, checksums);
	for (unsigned i = 0; i < 10; i++) {
		char key[8];
		(void)snprintf(key, sizeof(key), "k%u", i / 2);
		bool is_null = i < 4 || i == 6; /* the first tile is all null */
		const struct cairn_tiledb_cell row[] = {cell(i % 2 ? big : small, 8, is_null), cell(big, 8, false),
							is_null ? cell("", 0, true) : text_cell(key + 1),
							text_cell(key)};
		ck_assert_int_eq(cairn_tiledb_writer_add(o.w, row, NULL), CAIRN_OK);
	}
	ck_assert_int_eq(cairn_tiledb_writer_end(o.w, NULL), CAIRN_OK);
	CLEANUP(tempdir_textp) char *path = tempdir_path(&o.dir, "a");
	CLEANUP(cairn_fd_closep) int array_fd = open(path, O_RDONLY | O_DIRECTORY);
	CLEANUP(cairn_tiledb_array_fini) struct cairn_tiledb_array array;
	CLEANUP(cairn_tiledb_reader_fini) struct cairn_tiledb_reader r = {.dir_fd = -1};
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_tiledb_array_open(&array, path, &diag), CAIRN_OK);
	ck_assert_uint_eq(array.n_fragments, 0); /* the fragment is not committed */
	ck_assert_uint_eq(array.n_ignored, 1);
	cairn_tiledb_array_fini(&array);
	ck_assert_int_eq(cairn_tiledb_commit(array_fd, "__2_2_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb_22", &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_tiledb_array_open(&array, path, &diag), CAIRN_OK);
	ck_assert_int_eq(cairn_tiledb_reader_open(&r, &array, array.fragments[0], &diag), CAIRN_OK);
	ck_assert_msg(cairn_tiledb_verify(&r, NULL, NULL, &diag) == CAIRN_OK, "%s", diag.text);
	ck_assert_uint_eq(r.fragment.slots[0].sum, UINT64_MAX);
	ck_assert_uint_eq(r.fragment.slots[0].n_nulls, 5);
	ck_assert_int_eq((int64_t)r.fragment.slots[1].sum, -10);
	ck_assert_uint_eq(cairn_tiledb_vector_at(&r.fragment.slots[0], CAIRN_TILEDB_NULLS, 0), 4);
	ck_assert_uint_eq(cairn_tiledb_vector_at(&r.fragment.slots[0], CAIRN_TILEDB_SUMS, 0), 0);
}
END_TEST

static enum cairn_status read_all(const char *path)
{
	CLEANUP(cairn_tiledb_array_fini) struct cairn_tiledb_array array;
	CLEANUP(cairn_tiledb_reader_fini) struct cairn_tiledb_reader r = {.dir_fd = -1};
	enum cairn_status status = cairn_tiledb_array_open(&array, path, NULL);
	if (status == CAIRN_OK)
		status = array.n_fragments == 1 ? cairn_tiledb_reader_open(&r, &array, array.fragments[0], NULL)
						: CAIRN_E_NOT_FOUND;
	return status == CAIRN_OK ? cairn_tiledb_verify(&r, NULL, NULL, NULL) : status;
}

/* Flips each bit in turn, and checks that each flip is found. @return the number of bits */
static unsigned flip_each_bit(const char *array, const char *name)
{
	char path[700];
	(void)snprintf(path, sizeof(path), "%s/%s", array, name);
	CLEANUP(cairn_fd_closep) int fd = open(path, O_RDWR);
	ck_assert_msg(fd >= 0, "%s", path);
	unsigned n = 0;
	uint8_t byte;
	for (off_t at = 0; pread(fd, &byte, 1, at) == 1; at++) {
		for (unsigned bit = 0; bit < 8; bit++, n++) {
			uint8_t flipped = (uint8_t)(byte ^ 1U << bit);
			ck_assert_int_eq(pwrite(fd, &flipped, 1, at), 1);
			ck_assert_msg(read_all(array) != CAIRN_OK, "%s: bit %u of byte %ld", name, bit, (long)at);
		}
		ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
	}
	return n;
}

START_TEST(any_flipped_bit_is_found)
{
	static const char *const files[] = {
		"__fragment_metadata.tdb", "a0.tdb", "a0_validity.tdb", "a1.tdb", "a2.tdb", "a2_var.tdb",
		"a2_validity.tdb",         "d0.tdb", "d0_var.tdb"};
	CLEANUP(one_fini) struct one o;
	static const uint8_t number[8] = {5};
	one_open(&o, true);
	for (unsigned i = 0; i < 5; i++) { /* makes two tiles */
		char key[8];
		(void)snprintf(key, sizeof(key), "k%u", i);
		const struct cairn_tiledb_cell row[] = {cell(number, 8, i == 2), cell(number, 8, false), text_cell(key),
							text_cell(key)};
		ck_assert_int_eq(cairn_tiledb_writer_add(o.w, row, NULL), CAIRN_OK);
	}
	ck_assert_int_eq(cairn_tiledb_writer_end(o.w, NULL), CAIRN_OK);
	CLEANUP(tempdir_textp) char *path = tempdir_path(&o.dir, "a");
	CLEANUP(cairn_fd_closep) int array_fd = open(path, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(cairn_tiledb_commit(array_fd, "__2_2_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb_22", NULL), CAIRN_OK);
	ck_assert_int_eq(read_all(path), CAIRN_OK);
	ck_assert_uint_gt(flip_each_bit(path, "__schema/__1_1_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), 0);
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char name[100];
		(void)snprintf(name, sizeof(name), "__fragments/__2_2_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb_22/%s",
			       files[i]);
		ck_assert_uint_gt(flip_each_bit(path, name), 0);
	}
	ck_assert_int_eq(read_all(path), CAIRN_OK);
}
END_TEST

START_TEST(unsorted)
{
	CLEANUP(one_fini) struct one o;
	static const uint8_t zeros[8] = {0};
	struct cairn_tiledb_cell row[] = {cell(zeros, 8, false), cell(zeros, 8, false), text_cell("x"), text_cell("b")};
	one_open(&o, false);
	ck_assert_int_eq(cairn_tiledb_writer_add(o.w, row, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_tiledb_writer_add(o.w, row, NULL), CAIRN_OK);
	row[3] = text_cell("a");
	ck_assert_int_eq(cairn_tiledb_writer_add(o.w, row, NULL), CAIRN_E_USAGE);
}
END_TEST

/* An abandoned fragment leaves nothing behind. */
START_TEST(given_up)
{
	CLEANUP(one_fini) struct one o;
	static const uint8_t zeros[8] = {0};
	struct cairn_tiledb_cell row[] = {cell(zeros, 8, false), cell(zeros, 8, false), text_cell("x"), text_cell("b")};
	one_open(&o, false);
	ck_assert_int_eq(cairn_tiledb_writer_end(o.w, NULL), CAIRN_E_USAGE); /* there are no rows */
	for (unsigned i = 0; i < 5; i++)
		ck_assert_int_eq(cairn_tiledb_writer_add(o.w, row, NULL), CAIRN_OK);
	ck_assert_int_gt(tempdir_count(&o.dir, "a/__fragments"), 0);
	cairn_tiledb_writer_freep(&o.w);
	ck_assert_int_eq(tempdir_count(&o.dir, "a/__fragments"), 0);
	ck_assert_int_eq(tempdir_count(&o.dir, "a/__fragments/__2_2_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb_22"), -1);
}
END_TEST

/* Cells of every size around the size of a chunk, alone, together and last. Unpacking restores the packed bytes. */
START_TEST(chunks_of_any_length)
{
	static const size_t sizes[] = {1, 32768, 32769, 65535, 65536, 65537, 98304, 98305, 200000};
	const struct cairn_tiledb_pipeline none = {.chunk_bytes = CAIRN_TILEDB_CHUNK_BYTES};
	CLEANUP(cairn_tiledb_codec_freep) struct cairn_tiledb_codec *codec = cairn_tiledb_codec_new();
	enum { N = sizeof(sizes) / sizeof(sizes[0]) };
	for (unsigned i = 0; i < N * N * N; i++) {
		CLEANUP(cairn_buf_fini)
		struct cairn_buf raw = cairn_buf_init(1 << 20), packed = cairn_buf_init(1 << 21),
				 back = cairn_buf_init(1 << 20);
		const size_t cells[] = {sizes[i % N], sizes[i / N % N], sizes[i / N / N]};
		uint64_t starts[3];
		for (unsigned c = 0; c < 3; c++) {
			starts[c] = raw.len;
			cairn_buf_fill(&raw, (uint8_t)('a' + c), cells[c]);
		}
		ck_assert_int_eq(cairn_tiledb_tile_pack(codec, &packed, (struct cairn_tiledb_view){raw.bytes, raw.len},
							&none, 1, starts, 3),
				 CAIRN_OK);
		ck_assert_int_eq(cairn_tiledb_tile_unpack(codec, &back,
							  (struct cairn_tiledb_view){packed.bytes, packed.len}, &none,
							  1, raw.len, NULL),
				 CAIRN_OK);
		ck_assert_mem_eq(back.bytes, raw.bytes, raw.len);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tiledb_writer");
	TCase *t = tcase_create("all");
	tcase_add_loop_test(t, same_bytes, 0, sizeof(REWRITTEN) / sizeof(REWRITTEN[0]));
	tcase_add_loop_test(t, nulls_and_extremes, 0, 2);
	tcase_add_test(t, any_flipped_bit_is_found);
	tcase_add_test(t, unsorted);
	tcase_add_test(t, given_up);
	tcase_add_test(t, chunks_of_any_length);
	suite_add_tcase(s, t);
	return run_suite(s);
}
