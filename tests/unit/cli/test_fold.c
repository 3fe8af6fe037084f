/* FOLD files: the peer's in both dialects, our own, damaged ones, and repaired ones. */
#include "archive/fold/reader.h"
#include "archive/fold/writer.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "hash/hash.h"
#include "support/run.h"
#include "support/tempdir.h"
#include "support/vectors.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum cairn_status fold_open_bytes(struct cairn_fold **f, const struct vec_bytes *b, struct cairn_diag *diag)
{
	struct cairn_fold_source source = {.fd = -1, .bytes = b->bytes, .len = b->len};
	*diag = (struct cairn_diag){0};
	return cairn_fold_open(f, &source, diag);
}

/* Opens the file and reads every chunk. @return the first failure */
static enum cairn_status fold_read_all(const struct vec_bytes *b, struct cairn_diag *diag)
{
	CLEANUP(cairn_fold_closep) struct cairn_fold *f = NULL;
	enum cairn_status status = fold_open_bytes(&f, b, diag);
	for (size_t i = 0; status == CAIRN_OK && i < cairn_fold_index_of(f)->n_chunks; i++) {
		CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
		status = cairn_fold_read(f, &cairn_fold_index_of(f)->chunks[i], NULL, &data, diag);
	}
	return status;
}

static void fold_sha256_text(char out[static CAIRN_HASH_TEXT_BYTES], const void *bytes, size_t len)
{
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *d = cairn_sha256_new();
	uint8_t sha256[CAIRN_SHA256_BYTES];
	ck_assert_ptr_nonnull(d);
	cairn_sha256_add(d, bytes, len);
	cairn_sha256_end(d, sha256);
	cairn_hex_text(out, sha256, sizeof(sha256));
}

static struct cairn_fold_data fold_get(struct cairn_fold *f, const char *name, bool check_parity)
{
	const struct cairn_fold_read_options options = {.check_parity = check_parity, .keep_comp = true};
	struct cairn_fold_data data = {0};
	struct cairn_diag diag = {0};
	const struct cairn_fold_chunk *c = cairn_fold_index_find(cairn_fold_index_of(f), name);
	ck_assert_msg(c, "no chunk %s", name);
	ck_assert_msg(cairn_fold_read(f, c, &options, &data, &diag) == CAIRN_OK, "%s: %s", name, diag.text);
	return data;
}

/* Returns a file of these chunks, as bytes. */
static struct vec_bytes fold_write(const struct cairn_fold_writer_options *options, const struct vec_bytes *payloads,
				   size_t n, const char *metadata)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "f");
	CLEANUP(cairn_fold_writer_freep) struct cairn_fold_writer *w = NULL;
	CLEANUP(cairn_fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(cairn_fold_writer_new(&w, fd, options), CAIRN_OK);
	for (size_t i = 0; i < n; i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "chunk %zu", i);
		ck_assert_int_eq(cairn_fold_writer_add(w, name, "DATA", payloads[i].bytes, payloads[i].len), CAIRN_OK);
	}
	ck_assert_int_eq(cairn_fold_writer_finish(w, metadata, "1700000000.5"), CAIRN_OK);
	off_t len = lseek(fd, 0, SEEK_END);
	struct vec_bytes b = {.bytes = malloc((size_t)len), .len = (size_t)len};
	ck_assert_int_eq(cairn_fd_read_at(fd, 0, b.bytes, b.len), CAIRN_OK);
	return b;
}

static struct vec_bytes fold_random(size_t len, uint64_t seed, unsigned mask)
{
	struct vec_bytes b = vec_copy((const uint8_t *)"", 0);
	free(b.bytes);
	b = (struct vec_bytes){.bytes = malloc(len + 1), .len = len};
	for (size_t i = 0; i < len; i++)
		b.bytes[i] = (uint8_t)(vec_splitmix64(&seed) & mask);
	return b;
}

START_TEST(fold_reads_golden_files)
{
	CLEANUP(vec_json_freep) json_t *expected = vec_json("archive/fold/expected.json");
	const char *file, *name;
	json_t *facts, *chunk;
	unsigned n_files = 0;
	json_object_foreach(expected, file, facts)
	{
		CLEANUP(vec_bytes_fini) struct vec_bytes b = vec_read("archive/fold/%s", file);
		CLEANUP(cairn_fold_closep) struct cairn_fold *f = NULL;
		struct cairn_diag diag;
		ck_assert_msg(fold_open_bytes(&f, &b, &diag) == CAIRN_OK, "%s: %s", file, diag.text);
		const struct cairn_fold_index *ix = cairn_fold_index_of(f);
		char text[CAIRN_HASH_TEXT_BYTES];
		cairn_hex_text(text, ix->manifest_hash, CAIRN_SHA256_BYTES);
		ck_assert_str_eq(text, vec_string(facts, "manifest_hash"));
		ck_assert(ix->has_manifest);
		ck_assert_int_eq(ix->has_prefix, strncmp(file, "later_", 6) == 0);
		uint64_t n_wrong = 0;
		json_t *chunks = json_object_get(facts, "chunks");
		ck_assert_uint_eq(json_object_size(chunks), ix->n_chunks);
		json_object_foreach(chunks, name, chunk)
		{
			CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = fold_get(f, name, true);
			ck_assert_str_eq(cairn_fold_index_find(ix, name)->ctype, vec_string(chunk, "ctype"));
			ck_assert_uint_eq(data.len, vec_u64(chunk, "size"));
			fold_sha256_text(text, data.bytes, data.len);
			ck_assert_msg(strcmp(text, vec_string(chunk, "sha256")) == 0, "%s %s", file, name);
			n_wrong += data.n_wrong;
		}
		ck_assert_msg((n_wrong > 0) == (strstr(file, "damaged") != NULL), "%s", file);
		n_files++;
	}
	ck_assert_uint_ge(n_files, 18);
}
END_TEST

START_TEST(fold_finds_layouts)
{
	static const struct {
		const char *file, *name;
		enum cairn_fold_layout layout;
	} cases[] = {
		{"peer_rs16_long.fold", "data", CAIRN_FOLD_PLAIN},
		{"peer_rs16_short.fold", "manifest", CAIRN_FOLD_PLAIN},
		{"ours_rs16_interleaved.fold", "data", CAIRN_FOLD_WOVEN},
		{"ours_rs64_damaged_repairable.fold", "data", CAIRN_FOLD_WOVEN},
		{"later_merkle_rs16.fold", "y", CAIRN_FOLD_PLAIN},
		{"later_rs16_damaged_repairable.fold", "a\u00e7\u00e3o", CAIRN_FOLD_APART},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes b = vec_read("archive/fold/%s", cases[i].file);
		CLEANUP(cairn_fold_closep) struct cairn_fold *f = NULL;
		struct cairn_diag diag;
		ck_assert_int_eq(fold_open_bytes(&f, &b, &diag), CAIRN_OK);
		CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = fold_get(f, cases[i].name, false);
		ck_assert_msg(data.layout == cases[i].layout, "%s: layout %d", cases[i].file, (int)data.layout);
	}
}
END_TEST

START_TEST(fold_refuses_damaged_files)
{
	CLEANUP(vec_json_freep) json_t *list = vec_json_lines("archive/fold/bad.jsonl");
	size_t i;
	json_t *bad;
	ck_assert_uint_ge(json_array_size(list), 28);
	json_array_foreach(list, i, bad)
	{
		const char *file = vec_string(bad, "file");
		CLEANUP(vec_bytes_fini) struct vec_bytes b = vec_read("archive/fold/%s", file);
		struct cairn_diag diag;
		enum cairn_status status = fold_read_all(&b, &diag);
		ck_assert_msg(status != CAIRN_OK, "%s was accepted", file);
		ck_assert_msg(diag.rule && strcmp(diag.rule, vec_string(bad, "rule")) == 0, "%s: %s: %s", file,
			      diag.rule ? diag.rule : "no rule", diag.text);
		ck_assert_msg(diag.has_offset && diag.offset <= 109951162777, "%s: offset", file);
	}
}
END_TEST

START_TEST(fold_refuses_every_truncation)
{
	static const char *const files[] = {"peer_zstd.fold", "ours_rs16_interleaved.fold", "peer_no_chunks.fold"};
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes whole = vec_read("archive/fold/%s", files[i]);
		for (size_t len = 0; len < whole.len; len++) {
			CLEANUP(vec_bytes_fini) struct vec_bytes b = vec_copy(whole.bytes, len);
			struct cairn_diag diag;
			ck_assert_int_eq(fold_read_all(&b, &diag), CAIRN_E_FORMAT);
			ck_assert_str_eq(diag.rule, "fold.truncated");
		}
	}
}
END_TEST

START_TEST(fold_ignores_bytes_behind_the_index)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes whole = vec_read("archive/fold/ours_plain.fold");
	CLEANUP(vec_bytes_fini) struct vec_bytes longer = {.bytes = calloc(1, whole.len + 100), .len = whole.len + 100};
	struct cairn_diag diag;
	memcpy(longer.bytes, whole.bytes, whole.len);
	ck_assert_int_eq(fold_read_all(&longer, &diag), CAIRN_OK);
}
END_TEST

#define HASH "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" /* the hash of empty input */
#define ENTRY(name, offset, fields)                                                                                    \
	"{\"name\":\"" name "\",\"ctype\":\"DATA\",\"flags\":0,\"offset\":" offset                                     \
	",\"header_len\":32,\"uncomp_len\":0,\"crc32c\":0,\"sha256\":\"" HASH "\"," fields "}"
#define EMPTY              "\"comp_len\":0,\"ecc_algo\":\"none\",\"ecc_len\":0"
#define INDEX_OF(entries)  "{\"format\":\"fold\",\"chunks\":[" entries "]}"
#define INDEX_WITH(member) "{\"format\":\"fold\",\"chunks\":[" ENTRY("a", "28", EMPTY) "]," member "}"

/* Returns a file with an empty chunk header at 28 and one at 60, and this index at 92. */
static struct vec_bytes fold_with_index(const char *index)
{
	size_t len = strlen(index);
	struct vec_bytes b = {.bytes = calloc(1, 92 + len), .len = 92 + len};
	memcpy(b.bytes, CAIRN_FOLD_MAGIC, 8);
	b.bytes[11] = 28;
	b.bytes[19] = 92;
	cairn_put_u64be(b.bytes + 20, len);
	memcpy(b.bytes + 28, "DATA", 4);
	memcpy(b.bytes + 60, "DATA", 4);
	memcpy(b.bytes + 92, index, len);
	return b;
}

START_TEST(fold_checks_the_index)
{
	static const struct {
		const char *index, *rule; /* NULL: accepted */
	} cases[] = {
		{INDEX_OF(""), NULL},
		{INDEX_OF(ENTRY("a", "28", EMPTY)), NULL},
		{INDEX_OF(ENTRY("a", "60", EMPTY) "," ENTRY("b", "28", EMPTY)), NULL},
		{INDEX_WITH("\"future\":[1,{\"x\":null}]"), NULL},
		{INDEX_WITH("\"version\":\"1.1.0\""), NULL},
		{INDEX_WITH("\"metadata\":{\"n\":123456789012345678901234567890,\"f\":1e400}"), NULL},
		{"", "fold.index"},
		{"[]", "fold.index"},
		{"{}", "fold.format"},
		{INDEX_OF("") " x", "fold.index"},
		{"{\"format\":\"fold\"}", "fold.format"},
		{"{\"format\":\"fold\",\"format\":\"fold\",\"chunks\":[]}", "fold.index"},
		{INDEX_WITH("\"version\":\"2.0.0\""), "fold.version"},
		{INDEX_WITH("\"version\":1"), "fold.index"},
		{INDEX_WITH("\"metadata\":[]"), "fold.metadata"},
		{INDEX_WITH("\"metadata\":{\"a\":1,\"a\":2}"), "fold.metadata"},
		{INDEX_WITH("\"metadata\":{\"chunk_hashes\":{}}"), "fold.chunk_hashes"},
		{INDEX_WITH("\"metadata\":{\"chunk_hashes\":{\"a\":\"" HASH "\",\"b\":\"" HASH "\"}}"),
		 "fold.chunk_hashes"},
		{INDEX_WITH("\"metadata\":{\"chunk_hashes\":{\"a\":\"x\"}}"), "fold.chunk_hashes"},
		{INDEX_WITH("\"metadata\":{\"manifest_hash\":\"" HASH "\"}"), "fold.manifest"},
		{INDEX_WITH("\"metadata\":{\"manifest_hash\":7}"), "fold.manifest"},
		{INDEX_WITH("\"merkle_root\":\"" HASH "\""), "fold.merkle"},
		{INDEX_WITH("\"merkle_root\":\"x\""), "fold.entry"},
		{INDEX_OF(ENTRY("a", "27", EMPTY)), "fold.extent"},
		{INDEX_OF(ENTRY("a", "61", EMPTY)), "fold.extent"},
		{INDEX_OF(ENTRY("a", "1152921504606846976", EMPTY)), "fold.extent"},
		{INDEX_OF(ENTRY("a", "28.0", EMPTY)), "fold.index"},
		{INDEX_OF(ENTRY("a", "-28", EMPTY)), "fold.index"},
		{INDEX_OF(ENTRY("a", "9223372036854775808", EMPTY)), "fold.index"},
		{INDEX_OF(ENTRY("a", "28", EMPTY) "," ENTRY("b", "28", EMPTY)), "fold.extent"},
		{INDEX_OF(ENTRY("a", "28", EMPTY) "," ENTRY("b", "59", EMPTY)), "fold.extent"},
		{INDEX_OF(ENTRY("a", "28", EMPTY) "," ENTRY("a", "60", EMPTY)), "fold.name"},
		{INDEX_OF(ENTRY("a\\u0000", "28", EMPTY)), "fold.name"},
		{INDEX_OF(ENTRY("\\ud800", "28", EMPTY)), "fold.index"},
		{INDEX_OF(ENTRY("a", "28", "\"comp_len\":0,\"ecc_algo\":\"none\"")), "fold.entry"},
		{INDEX_OF(ENTRY("a", "28", EMPTY ",\"name\":\"b\"")), "fold.entry"},
		{INDEX_OF(ENTRY("a", "28", "\"comp_len\":0,\"ecc_algo\":\"rs(0)\",\"ecc_len\":0")), "fold.ecc_algo"},
		{INDEX_OF(ENTRY("a", "28", "\"comp_len\":0,\"ecc_algo\":\"rs(255)\",\"ecc_len\":0")), "fold.ecc_algo"},
		{INDEX_OF(ENTRY("a", "28", "\"comp_len\":0,\"ecc_algo\":\"rs(016)\",\"ecc_len\":0")), "fold.ecc_algo"},
		{INDEX_OF(ENTRY("a", "28", "\"comp_len\":0,\"ecc_algo\":\"xor\",\"ecc_len\":0")), "fold.ecc_algo"},
		{INDEX_OF(ENTRY("a", "28", "\"comp_len\":0,\"ecc_algo\":\"rs(254)\",\"ecc_len\":0")), NULL},
		{INDEX_OF(ENTRY("a", "28", "\"comp_len\":0,\"ecc_algo\":\"rs(16)\",\"ecc_len\":16")), "fold.ecc_len"},
		{INDEX_OF(ENTRY("a", "28", "\"comp_len\":0,\"ecc_algo\":\"none\",\"ecc_len\":1")), "fold.ecc_len"},
		{INDEX_OF(ENTRY("a", "28", "\"comp_len\":2147483649,\"ecc_algo\":\"none\",\"ecc_len\":0")),
		 "fold.chunk_bytes"},
		{INDEX_OF(ENTRY("a", "28", "\"comp_len\":2147483648,\"ecc_algo\":\"none\",\"ecc_len\":0")),
		 "fold.extent"},
		{INDEX_OF(ENTRY("a", "28", "\"comp_len\":1,\"ecc_algo\":\"none\",\"ecc_len\":0")), "fold.chunk_header"},
		{INDEX_OF(ENTRY("a", "28", EMPTY ",\"encrypted\":true")), "fold.encrypted"},
		{INDEX_OF(ENTRY("a", "28", EMPTY ",\"encrypted\":false")), NULL},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes b = fold_with_index(cases[i].index);
		struct cairn_diag diag;
		enum cairn_status status = fold_read_all(&b, &diag);
		if (!cases[i].rule)
			ck_assert_msg(status == CAIRN_OK, "%s: %s", cases[i].index, diag.text);
		else
			ck_assert_msg(status != CAIRN_OK && diag.rule && strcmp(diag.rule, cases[i].rule) == 0 &&
					      diag.has_offset,
				      "%s: %s: %s", cases[i].index, diag.rule, diag.text);
	}
}
END_TEST

START_TEST(fold_reads_back_written_chunks)
{
	static const size_t lengths[] = {0, 1, 190, 191, 192, 223, 224, 238, 239, 240, 478, 479, 5000, 200000, 1000000};
	enum { N = sizeof(lengths) / sizeof(lengths[0]) };
	static const struct cairn_fold_writer_options options[] = {{0, 0, NULL},  {1, 0, NULL},  {0, 16, NULL},
								   {3, 64, NULL}, {19, 2, NULL}, {1, 254, NULL}};
	struct vec_bytes payloads[N];
	for (size_t i = 0; i < N; i++)
		payloads[i] = fold_random(lengths[i], i, i % 3 == 0 ? 15 : 255);
	for (size_t o = 0; o < sizeof(options) / sizeof(options[0]); o++) {
		CLEANUP(vec_bytes_fini)
		struct vec_bytes b =
			fold_write(&options[o], payloads, N, "{\"kind\":\"a\\u00e7\\u007f\\ud83d\\ude00\\n\"}");
		CLEANUP(cairn_fold_closep) struct cairn_fold *f = NULL;
		struct cairn_diag diag;
		ck_assert_msg(fold_open_bytes(&f, &b, &diag) == CAIRN_OK, "%s", diag.text);
		ck_assert(cairn_fold_index_of(f)->has_manifest && cairn_fold_index_of(f)->has_merkle);
		for (size_t i = 0; i < N; i++) {
			char name[16];
			(void)snprintf(name, sizeof(name), "chunk %zu", i);
			CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = fold_get(f, name, true);
			ck_assert_uint_eq(data.len, payloads[i].len);
			ck_assert(data.len == 0 || memcmp(data.bytes, payloads[i].bytes, data.len) == 0);
			ck_assert_uint_eq(data.n_wrong, 0);
		}
		char *kind = NULL;
		ck_assert_int_eq(cairn_fold_index_text(cairn_fold_index_of(f), "kind", &kind), CAIRN_OK);
		ck_assert_str_eq(kind, "a\u00e7\x7f\U0001F600\n");
		free(kind);
	}
	for (size_t i = 0; i < N; i++)
		vec_bytes_fini(&payloads[i]);
}
END_TEST

/* The chunks of another implementation's file, written again, give the same bytes. */
START_TEST(fold_weaves_as_others_do)
{
	for (unsigned n = 16; n <= 64; n *= 2) {
		CLEANUP(vec_bytes_fini) struct vec_bytes b = vec_read("archive/fold/ours_rs%u_interleaved.fold", n);
		CLEANUP(cairn_fold_closep) struct cairn_fold *f = NULL;
		struct cairn_diag diag;
		ck_assert_int_eq(fold_open_bytes(&f, &b, &diag), CAIRN_OK);
		const struct cairn_fold_index *ix = cairn_fold_index_of(f);
		CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
		CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "f");
		CLEANUP(cairn_fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		CLEANUP(cairn_fold_writer_freep) struct cairn_fold_writer *w = NULL;
		const struct cairn_fold_writer_options options = {.parity = n};
		ck_assert_int_eq(cairn_fold_writer_new(&w, fd, &options), CAIRN_OK);
		for (size_t i = 0; i < ix->n_chunks; i++) {
			CLEANUP(cairn_fold_data_fini)
			struct cairn_fold_data data = fold_get(f, ix->chunks[i].name, false);
			ck_assert_int_eq(cairn_fold_writer_add_packed(w, &ix->chunks[i], data.comp), CAIRN_OK);
		}
		ck_assert_uint_eq(cairn_fold_writer_bytes(w), ix->at);
		CLEANUP(vec_bytes_fini) struct vec_bytes ours = {.bytes = malloc(ix->at), .len = ix->at};
		ck_assert_int_eq(cairn_fd_read_at(fd, 0, ours.bytes, ours.len), CAIRN_OK);
		ck_assert_mem_eq(ours.bytes + 28, b.bytes + 28, ix->at - 28);
	}
}
END_TEST

/* Damages n bytes of every code word of a chunk. */
static void fold_damage(struct vec_bytes *b, const struct cairn_fold_chunk *c, unsigned n)
{
	uint8_t *area = b->bytes + c->offset + CAIRN_FOLD_CHUNK_HEADER_BYTES;
	uint64_t len = c->comp_len + c->ecc_len;
	for (uint64_t at = 0; at < len; at += 255)
		for (unsigned k = 0; k < n; k++) {
			uint64_t word = len - at < 255 ? len - at : 255;
			area[at + (k * 7 + at / 255) % word] ^= (uint8_t)(k + 1);
		}
}

START_TEST(fold_repairs_damage)
{
	for (unsigned n = 2; n <= 64; n *= 2) {
		const struct cairn_fold_writer_options options = {.parity = n};
		CLEANUP(vec_bytes_fini) struct vec_bytes payload = fold_random(10000, n, 255);
		CLEANUP(vec_bytes_fini) struct vec_bytes b = fold_write(&options, &payload, 1, NULL);
		for (unsigned n_wrong = n / 2; n_wrong <= n / 2 + 1; n_wrong++) {
			CLEANUP(vec_bytes_fini) struct vec_bytes bad = vec_copy(b.bytes, b.len);
			CLEANUP(cairn_fold_closep) struct cairn_fold *f = NULL;
			CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
			struct cairn_diag diag;
			ck_assert_int_eq(fold_open_bytes(&f, &bad, &diag), CAIRN_OK);
			const struct cairn_fold_chunk *c = &cairn_fold_index_of(f)->chunks[0];
			fold_damage(&bad, c, n_wrong);
			enum cairn_status status = cairn_fold_read(f, c, NULL, &data, &diag);
			if (n_wrong > n / 2) {
				ck_assert_int_eq(status, CAIRN_E_MISMATCH);
				ck_assert_ptr_null(data.bytes);
				continue;
			}
			ck_assert_msg(status == CAIRN_OK, "rs(%u): %s", n, diag.text);
			ck_assert_uint_eq(data.n_wrong, n_wrong * ((c->comp_len + c->ecc_len + 254) / 255));
			ck_assert_mem_eq(data.bytes, payload.bytes, payload.len);
		}
	}
}
END_TEST

START_TEST(fold_sees_damaged_parity)
{
	const struct cairn_fold_writer_options options = {.parity = 16};
	CLEANUP(vec_bytes_fini) struct vec_bytes payload = fold_random(1000, 1, 255);
	CLEANUP(vec_bytes_fini) struct vec_bytes b = fold_write(&options, &payload, 1, NULL);
	CLEANUP(cairn_fold_closep) struct cairn_fold *f = NULL;
	struct cairn_diag diag;
	b.bytes[28 + 32 + 240] ^= 1; /* in the parity of the first code word */
	ck_assert_int_eq(fold_open_bytes(&f, &b, &diag), CAIRN_OK);
	CLEANUP(cairn_fold_data_fini) struct cairn_fold_data blind = fold_get(f, "chunk 0", false);
	CLEANUP(cairn_fold_data_fini) struct cairn_fold_data seen = fold_get(f, "chunk 0", true);
	ck_assert_uint_eq(blind.n_wrong, 0);
	ck_assert_uint_eq(seen.n_wrong, 1);
}
END_TEST

START_TEST(fold_writer_refuses)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "f");
	CLEANUP(cairn_fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CLEANUP(cairn_fold_writer_freep) struct cairn_fold_writer *w = NULL;
	const struct cairn_fold_writer_options options = {0};
	ck_assert_int_eq(cairn_fold_writer_new(&w, fd, &options), CAIRN_OK);
	ck_assert_int_eq(cairn_fold_writer_add(w, "a", "DATA", (const uint8_t *)"", CAIRN_FOLD_CHUNK_BYTES_MAX + 1),
			 CAIRN_E_LIMIT);
	ck_assert_int_eq(cairn_fold_writer_finish(w, "[]", "0"), CAIRN_E_FORMAT);
	ck_assert_int_eq(cairn_fold_writer_finish(w, "{\"a\":}", "0"), CAIRN_E_FORMAT);
	/* The index is limited to 100 MiB. Long names reach the limit sooner. */
	char name[4001];
	memset(name, 'x', 4000);
	name[4000] = 0;
	enum cairn_status status = CAIRN_OK;
	int n = 0;
	for (; status == CAIRN_OK && n < 10000; n++) {
		(void)snprintf(name, sizeof(name), "%d%3990s", n, "x");
		status = cairn_fold_writer_add(w, name, "DATA", (const uint8_t *)"", 0);
	}
	ck_assert_int_eq(status, CAIRN_E_LIMIT);
	ck_assert_int_ge(n, 2000);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fold");
	TCase *tcase = tcase_create("fold");
	tcase_add_test(tcase, fold_reads_golden_files);
	tcase_add_test(tcase, fold_finds_layouts);
	tcase_add_test(tcase, fold_refuses_damaged_files);
	tcase_add_test(tcase, fold_refuses_every_truncation);
	tcase_add_test(tcase, fold_ignores_bytes_behind_the_index);
	tcase_add_test(tcase, fold_checks_the_index);
	tcase_add_test(tcase, fold_reads_back_written_chunks);
	tcase_add_test(tcase, fold_weaves_as_others_do);
	tcase_add_test(tcase, fold_repairs_damage);
	tcase_add_test(tcase, fold_sees_damaged_parity);
	tcase_add_test(tcase, fold_writer_refuses);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
