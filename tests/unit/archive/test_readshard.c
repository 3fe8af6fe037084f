/* Read Shards: those of two other writers, byte for byte; damaged ones; deleting. */
#include "archive/readshard/delete.h"
#include "archive/readshard/reader.h"
#include "archive/readshard/writer.h"
#include "base/bytes.h"
#include "base/fd.h"
#include "hash/crypto.h"
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

enum { KEY = CAIRN_READSHARD_KEY_BYTES };

static void sha256_of(uint8_t out[static CAIRN_SHA256_BYTES], const void *bytes, size_t len)
{
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *d = cairn_sha256_new();
	ck_assert_ptr_nonnull(d);
	cairn_sha256_add(d, bytes, len);
	cairn_sha256_end(d, out);
}

static int open_file(const struct tempdir *dir, const char *name)
{
	CLEANUP(tempdir_textp) char *path = tempdir_path(dir, name);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_ge(fd, 0);
	return fd;
}

static struct vec_bytes bytes_of(int fd)
{
	off_t len = lseek(fd, 0, SEEK_END);
	ck_assert_int_ge(len, 0);
	struct vec_bytes b = {.bytes = malloc((size_t)len + 1), .len = (size_t)len};
	ck_assert_ptr_nonnull(b.bytes);
	ck_assert_int_eq(cairn_fd_read_at(fd, 0, b.bytes, b.len), CAIRN_OK);
	return b;
}

static void ck_object(const struct cairn_readshard *s, const uint8_t *key, const void *bytes, size_t len)
{
	struct cairn_readshard_slot slot;
	uint8_t *got = malloc(len + 1);
	ck_assert_int_eq(cairn_readshard_find(s, key, &slot, NULL), CAIRN_OK);
	ck_assert_uint_eq(slot.bytes, len);
	ck_assert_int_eq(cairn_readshard_read(s, slot.bytes_at, got, len, NULL), CAIRN_OK);
	ck_assert_mem_eq(got, bytes, len);
	free(got);
}

static void ck_missing(const struct cairn_readshard *s, const uint8_t *key)
{
	struct cairn_readshard_slot slot;
	ck_assert_int_eq(cairn_readshard_find(s, key, &slot, NULL), CAIRN_E_NOT_FOUND);
	ck_assert(!slot.is_live);
}

/* The five objects of peer_five and ours_five. Their keys are their SHA-256. */
struct five {
	uint8_t keys[5][KEY];
	uint8_t bytes[5][5000];
	size_t len[5];
};

static struct five *five_new(void)
{
	struct five *f = calloc(1, sizeof(*f));
	ck_assert_ptr_nonnull(f);
	const size_t len[5] = {0, 5, 500, 256, 5000};
	memcpy(f->len, len, sizeof(len));
	memcpy(f->bytes[1], "hello", 5);
	for (int i = 0; i < 500; i++)
		f->bytes[2][i] = (uint8_t) "world"[i % 5];
	for (int i = 0; i < 256; i++)
		f->bytes[3][i] = (uint8_t)i;
	memset(f->bytes[4], 'x', 5000);
	for (int i = 0; i < 5; i++)
		sha256_of(f->keys[i], f->bytes[i], f->len[i]);
	return f;
}

static void five_freep(struct five **f)
{
	free(*f);
}

static void write_five(int fd, const struct five *f)
{
	CLEANUP(cairn_readshard_writer_freep) struct cairn_readshard_writer *w = NULL;
	ck_assert_int_eq(cairn_readshard_writer_new(&w, fd), CAIRN_OK);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(cairn_readshard_writer_add(w, f->keys[i], f->bytes[i], f->len[i]), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_writer_end(w, NULL), CAIRN_OK);
}

/* Makes key number i of a made-up set. */
static void made_key(uint8_t out[static KEY], uint64_t i)
{
	uint64_t state = i;
	for (int at = 0; at < KEY; at += 8)
		cairn_put_u64le(out + at, vec_splitmix64(&state));
}

/* Writes n objects. Object number i has i % 37 bytes of value i. */
static void write_made(int fd, uint32_t n)
{
	CLEANUP(cairn_readshard_writer_freep) struct cairn_readshard_writer *w = NULL;
	ck_assert_int_eq(cairn_readshard_writer_new(&w, fd), CAIRN_OK);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t key[KEY], bytes[37];
		made_key(key, i);
		memset(bytes, (int)(i & 0xff), sizeof(bytes));
		ck_assert_int_eq(cairn_readshard_writer_add(w, key, bytes, i % 37), CAIRN_OK);
	}
	ck_assert_int_eq(cairn_readshard_writer_end(w, NULL), CAIRN_OK);
}

static const char *const GOLDEN[] = {
	"ours_empty.shard",          "ours_five.shard", "peer_300.shard",
	"peer_deleted.shard",        "peer_five.shard", "peer_five_overallocated.shard",
	"peer_old_zero_slots.shard", "peer_one.shard",  "peer_zero_key.shard",
};
enum { N_GOLDEN = sizeof(GOLDEN) / sizeof(GOLDEN[0]) };

START_TEST(golden_files_hold_the_expected_objects)
{
	CLEANUP(vec_json_freep) json_t *all = vec_json("archive/readshard/expected.json");
	CLEANUP(vec_bytes_fini) struct vec_bytes file = vec_read("archive/readshard/%s", GOLDEN[_i]);
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = NULL;
	struct cairn_readshard_summary sum;
	struct cairn_diag diag = {0};
	ck_assert_msg(cairn_readshard_open_bytes(&s, file.bytes, file.len, &diag) == CAIRN_OK, "%s", diag.text);
	ck_assert_msg(cairn_readshard_verify(s, &sum, &diag) == CAIRN_OK, "%s", diag.text);
	const json_t *objects = vec_get(all, GOLDEN[_i]);
	ck_assert_uint_eq(sum.n_objects, json_object_size(objects));
	ck_assert_uint_eq(sum.n_deleted, strcmp(GOLDEN[_i], "peer_deleted.shard") == 0);
	ck_assert_uint_eq(sum.trailing_bytes, strcmp(GOLDEN[_i], "peer_five_overallocated.shard") == 0 ? 1000 : 0);
	const char *text;
	json_t *object;
	json_object_foreach((json_t *)(uintptr_t)objects, text, object)
	{
		uint8_t key[KEY], sha[CAIRN_SHA256_BYTES];
		char sha_text[2 * CAIRN_SHA256_BYTES + 1];
		struct cairn_readshard_slot slot;
		ck_assert_int_eq(cairn_hex_parse(key, KEY, text, strlen(text)), CAIRN_OK);
		ck_assert_int_eq(cairn_readshard_find(s, key, &slot, NULL), CAIRN_OK);
		ck_assert_uint_eq(slot.bytes, vec_u64(object, "size"));
		sha256_of(sha, file.bytes + slot.bytes_at, slot.bytes);
		cairn_hex_text(sha_text, sha, sizeof(sha));
		ck_assert_str_eq(sha_text, vec_string(object, "sha256"));
	}
	uint8_t other[KEY] = {1, 2, 3};
	ck_missing(s, other);
}
END_TEST

/* Damaged files, with the rule that each violates, and the offset. */
static const struct {
	const char *name, *rule;
	uint64_t offset;
} BAD[] = {
	{"magic", "readshard.magic", 0},
	{"version", "readshard.version", 32},
	{"op", "readshard.layout", 48},
	{"osize", "readshard.layout", 56},
	{"ip", "readshard.layout", 64},
	{"isize_mod", "readshard.layout", 72},
	{"isize_huge", "readshard.layout", 72},
	{"hp", "readshard.layout", 80},
	{"slot_key", "readshard.slot", 6313 + 160},
	{"slot_off", "readshard.offset", 6313 + 192},
	{"slot_off_hdr", "readshard.offset", 6313 + 192},
	{"obj_size", "readshard.size", 520},
	{"cmph_name", "readshard.function", 6753},
	{"cmph_hslen", "readshard.function", 6753 + 11},
	{"cmph_n0", "readshard.function", 6832 - 8},
	{"cmph_nb0", "readshard.function", 6832 - 4},
	{"cmph_csn", "readshard.function", 6753 + 27},
	{"cmph_size", "readshard.function", 0},
	{"trunc_hdr", "readshard.short", 60},
	{"trunc_idx", "readshard.layout", 72},
	{"trunc_hash", "readshard.function", 0},
	{"empty_file", "readshard.short", 0},
};
enum { N_BAD = sizeof(BAD) / sizeof(BAD[0]) };

static enum cairn_status judge(const uint8_t *bytes, size_t len, struct cairn_diag *diag)
{
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = NULL;
	struct cairn_readshard_summary sum;
	enum cairn_status status = cairn_readshard_open_bytes(&s, bytes, len, diag);
	return status == CAIRN_OK ? cairn_readshard_verify(s, &sum, diag) : status;
}

START_TEST(damaged_files_are_refused_by_rule_and_place)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes file = vec_read("archive/readshard/bad_%s.shard", BAD[_i].name);
	struct cairn_diag diag = {0};
	ck_assert_int_eq(judge(file.bytes, file.len, &diag), CAIRN_E_FORMAT);
	ck_assert_msg(strcmp(diag.rule, BAD[_i].rule) == 0 && diag.has_offset &&
			      (diag.offset == BAD[_i].offset || BAD[_i].offset == 0),
		      "%s: %s at %lu: %s", BAD[_i].name, diag.rule, (unsigned long)diag.offset, diag.text);
}
END_TEST

START_TEST(every_listed_file_is_judged)
{
	CLEANUP(vec_json_freep) json_t *list = vec_json_lines("archive/readshard/bad.jsonl");
	ck_assert_uint_eq(json_array_size(list), N_BAD + 2);
	/* A count one too high looks like a deletion. A changed byte of an object shows only in its contents. */
	static const char *const LEGAL[] = {"count", "obj_data"};
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes file = vec_read("archive/readshard/bad_%s.shard", LEGAL[i]);
		ck_assert_int_eq(judge(file.bytes, file.len, NULL), CAIRN_OK);
	}
}
END_TEST

START_TEST(cut_at_any_length_it_is_refused)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes file = vec_read("archive/readshard/peer_five.shard");
	for (size_t len = 0; len < file.len; len++) {
		CLEANUP(vec_bytes_fini) struct vec_bytes cut = vec_copy(file.bytes, len);
		struct cairn_diag diag = {0};
		ck_assert_int_eq(judge(cut.bytes, cut.len, &diag), CAIRN_E_FORMAT);
		ck_assert_ptr_nonnull(diag.rule);
		ck_assert(diag.has_offset && diag.offset <= file.len);
	}
}
END_TEST

START_TEST(changed_bytes_never_lead_astray)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes file = vec_read("archive/readshard/peer_one.shard");
	for (size_t at = 0; at < file.len; at++) {
		uint8_t kept = file.bytes[at];
		for (int bit = 0; bit < 8; bit++) {
			CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = NULL;
			file.bytes[at] = (uint8_t)(kept ^ 1 << bit);
			struct cairn_diag diag = {0};
			(void)judge(file.bytes, file.len, &diag);
			if (cairn_readshard_open_bytes(&s, file.bytes, file.len, NULL) != CAIRN_OK)
				continue;
			for (uint32_t i = 0; i < 50; i++) {
				struct cairn_readshard_slot slot;
				uint8_t key[KEY];
				made_key(key, i);
				ck_assert_uint_lt(cairn_readshard_slot_of(s, key), cairn_readshard_n_slots(s));
				ck_assert_int_ne(cairn_readshard_find(s, key, &slot, NULL), CAIRN_OK);
			}
		}
		file.bytes[at] = kept;
	}
}
END_TEST

/* Judges a copy of ours_five with one number of the header changed. */
static enum cairn_status judge_changed(uint64_t at, uint64_t value, struct cairn_diag *diag)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes file = vec_read("archive/readshard/ours_five.shard");
	cairn_put_u64be(file.bytes + at, value);
	return judge(file.bytes, file.len, diag);
}

START_TEST(sections_and_counts_must_agree)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes file = vec_read("archive/readshard/ours_five.shard");
	uint64_t objects_bytes = cairn_get_u64be(file.bytes + CAIRN_READSHARD_OBJECTS_BYTES_AT);
	struct cairn_diag diag = {0};
	ck_assert_int_eq(judge_changed(CAIRN_READSHARD_COUNT_AT, 5, &diag), CAIRN_OK);
	ck_assert_int_eq(judge_changed(CAIRN_READSHARD_COUNT_AT, 4, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "readshard.count");
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(judge_changed(CAIRN_READSHARD_OBJECTS_BYTES_AT, objects_bytes - 1, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "readshard.gap");
	ck_assert_str_eq(diag.expected, "6312");
	ck_assert_str_eq(diag.actual, "6313");
}
END_TEST

/* Returns the slot of the object that begins at this offset of the file. */
static uint64_t slot_of_object(const struct vec_bytes *file, uint64_t at)
{
	uint64_t index_at = cairn_get_u64be(file->bytes + CAIRN_READSHARD_INDEX_AT);
	for (uint64_t slot = index_at;; slot += CAIRN_READSHARD_SLOT_BYTES) {
		ck_assert_uint_lt(slot, file->len);
		if (cairn_get_u64be(file->bytes + slot + KEY) == at)
			return slot;
	}
}

START_TEST(objects_must_not_overlap_nor_leave_gaps)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes file = vec_read("archive/readshard/ours_five.shard");
	struct cairn_diag diag = {0};
	/* the second object (of empty, 5 bytes, 500 ...) shrinks by one, so that the third begins within its place */
	cairn_put_u64be(file.bytes + 520, 4);
	ck_assert_int_eq(judge(file.bytes, file.len, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "readshard.sum");
	cairn_put_u64be(file.bytes + 520, 5);
	cairn_put_u64be(file.bytes + slot_of_object(&file, 533) + KEY, 520);
	diag = (struct cairn_diag){0};
	ck_assert_int_eq(judge(file.bytes, file.len, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "readshard.overlap");
	ck_assert_uint_eq(diag.offset, 520);
}
END_TEST

START_TEST(a_folder_is_refused)
{
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = NULL;
	CLEANUP(cairn_fd_closep) int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_readshard_open(&s, fd, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "readshard.read");
}
END_TEST

/* The file is truncated under an open shard, as on a failing disk: the lookup fails, and the process survives. */
START_TEST(a_file_that_is_cut_while_it_is_open_is_an_error)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(five_freep) struct five *f = five_new();
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = NULL;
	CLEANUP(cairn_fd_closep) int fd = open_file(&dir, "five");
	struct cairn_readshard_slot slot;
	struct cairn_diag diag = {0};
	uint32_t *slots, n;
	write_five(fd, f);
	ck_assert_int_eq(cairn_readshard_open(&s, fd, NULL), CAIRN_OK);
	ck_assert_int_eq(ftruncate(fd, CAIRN_READSHARD_OBJECTS_START), 0);
	ck_assert_int_eq(cairn_readshard_find(s, f->keys[4], &slot, &diag), CAIRN_E_IO);
	ck_assert_str_eq(diag.rule, "readshard.read");
	ck_assert_uint_eq(diag.offset, cairn_readshard_slot_at(s, cairn_readshard_slot_of(s, f->keys[4])));
	ck_assert_int_eq(cairn_readshard_list(s, &slots, &n, NULL), CAIRN_E_IO);
	ck_assert_int_eq(cairn_readshard_verify(s, &(struct cairn_readshard_summary){0}, NULL), CAIRN_E_IO);
}
END_TEST

static void must_have_bytes_of(int fd, const char *name)
{
	CLEANUP(vec_bytes_fini) struct vec_bytes made = bytes_of(fd);
	CLEANUP(vec_bytes_fini) struct vec_bytes golden = vec_read("archive/readshard/%s", name);
	ck_assert_uint_eq(made.len, golden.len);
	ck_assert_mem_eq(made.bytes, golden.bytes, golden.len);
}

START_TEST(five_objects_give_the_golden_bytes)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(five_freep) struct five *f = five_new();
	CLEANUP(cairn_fd_closep) int fd = open_file(&dir, "five");
	write_five(fd, f);
	must_have_bytes_of(fd, "ours_five.shard");
}
END_TEST

START_TEST(no_objects_give_the_golden_bytes)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_fd_closep) int fd = open_file(&dir, "empty");
	write_made(fd, 0);
	must_have_bytes_of(fd, "ours_empty.shard");
}
END_TEST

START_TEST(a_file_is_written_as_it_was_read)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(vec_bytes_fini) struct vec_bytes file = vec_read("archive/readshard/peer_300.shard");
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = NULL, *again = NULL;
	CLEANUP(cairn_readshard_writer_freep) struct cairn_readshard_writer *w = NULL;
	CLEANUP(cairn_fd_closep) int fd = open_file(&dir, "copy");
	uint32_t *slots, n, *slots_again, n_again;
	ck_assert_int_eq(cairn_readshard_open_bytes(&s, file.bytes, file.len, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_list(s, &slots, &n, NULL), CAIRN_OK);
	ck_assert_uint_eq(n, 300);
	ck_assert_int_eq(cairn_readshard_writer_new(&w, fd), CAIRN_OK);
	for (uint32_t i = 0; i < n; i++) {
		struct cairn_readshard_slot slot;
		ck_assert_int_eq(cairn_readshard_slot(s, slots[i], &slot, NULL), CAIRN_OK);
		ck_assert_int_eq(cairn_readshard_writer_add(w, slot.key, file.bytes + slot.bytes_at, slot.bytes),
				 CAIRN_OK);
	}
	ck_assert_int_eq(cairn_readshard_writer_end(w, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_open(&again, fd, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_list(again, &slots_again, &n_again, NULL), CAIRN_OK);
	/* Only the seeds differ. Header and objects are the same. */
	CLEANUP(vec_bytes_fini) struct vec_bytes made = bytes_of(fd);
	ck_assert_uint_eq(n_again, n);
	ck_assert_mem_eq(made.bytes, file.bytes, cairn_readshard_header_of(s)->index_at);
	free(slots);
	free(slots_again);
}
END_TEST

static const uint32_t SIZES[] = {1, 2, 3, 4, 10, 11, 99, 100, 127, 128, 1000, 4099, 60000};
enum { N_SIZES = sizeof(SIZES) / sizeof(SIZES[0]) };

START_TEST(any_number_of_objects_is_found_again)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = NULL;
	CLEANUP(cairn_fd_closep) int fd = open_file(&dir, "made");
	struct cairn_readshard_summary sum;
	write_made(fd, SIZES[_i]);
	ck_assert_int_eq(cairn_readshard_open(&s, fd, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_verify(s, &sum, NULL), CAIRN_OK);
	ck_assert_uint_eq(sum.n_objects, SIZES[_i]);
	ck_assert_uint_eq(sum.n_deleted, 0);
	for (uint32_t i = 0; i < 2 * SIZES[_i]; i++) {
		uint8_t key[KEY], bytes[37];
		made_key(key, i);
		memset(bytes, (int)(i & 0xff), sizeof(bytes));
		if (i < SIZES[_i])
			ck_object(s, key, bytes, i % 37);
		else
			ck_missing(s, key);
	}
}
END_TEST

START_TEST(long_objects_are_copied_from_files)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = NULL;
	CLEANUP(cairn_readshard_writer_freep) struct cairn_readshard_writer *w = NULL;
	CLEANUP(cairn_fd_closep) int from = open_file(&dir, "from"), to = open_file(&dir, "to");
	const size_t len[] = {3 * 1024 * 1024 + 7, 64 * 1024, 64 * 1024 - 1, 10, 0};
	uint8_t *bytes = malloc(len[0]), key[KEY];
	uint64_t state = 1;
	for (size_t i = 0; i < len[0]; i++)
		bytes[i] = (uint8_t)vec_splitmix64(&state);
	ck_assert_int_eq(cairn_fd_write_all(from, bytes, len[0]), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_writer_new(&w, to), CAIRN_OK);
	for (uint32_t i = 0; i < 5; i++) {
		made_key(key, i);
		ck_assert_int_eq(cairn_readshard_writer_add_fd(w, key, from, len[i]), CAIRN_OK);
	}
	ck_assert_int_eq(cairn_readshard_writer_end(w, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_open(&s, to, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_verify(s, &(struct cairn_readshard_summary){0}, NULL), CAIRN_OK);
	for (uint32_t i = 0; i < 5; i++) {
		made_key(key, i);
		ck_object(s, key, bytes, len[i]);
	}
	free(bytes);
}
END_TEST

START_TEST(a_short_source_ends_the_writing)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_readshard_writer_freep) struct cairn_readshard_writer *w = NULL;
	CLEANUP(cairn_fd_closep) int from = open_file(&dir, "from"), to = open_file(&dir, "to");
	uint8_t key[KEY] = {1};
	ck_assert_int_eq(cairn_fd_write_all(from, "hello", 5), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_writer_new(&w, to), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_writer_add_fd(w, key, from, 100000), CAIRN_E_IO);
	ck_assert_int_eq(cairn_readshard_writer_add(w, key, (const uint8_t *)"x", 1), CAIRN_E_IO);
	ck_assert_int_eq(cairn_readshard_writer_end(w, NULL), CAIRN_E_IO);
	CLEANUP(vec_bytes_fini) struct vec_bytes made = bytes_of(to);
	ck_assert_int_eq(judge(made.bytes, made.len, NULL), CAIRN_E_FORMAT);
}
END_TEST

/* Two equal keys among few are refused, and so are equal keys that fill whole buckets. */
START_TEST(equal_keys_are_refused)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(cairn_readshard_writer_freep) struct cairn_readshard_writer *w = NULL;
	CLEANUP(cairn_fd_closep) int fd = open_file(&dir, "made");
	struct cairn_diag diag = {0};
	uint8_t key[KEY];
	ck_assert_int_eq(cairn_readshard_writer_new(&w, fd), CAIRN_OK);
	for (uint32_t i = 0; i < 100; i++) {
		made_key(key, _i == 0 ? i % 99 : 7);
		ck_assert_int_eq(cairn_readshard_writer_add(w, key, (const uint8_t *)"x", 1), CAIRN_OK);
	}
	ck_assert_int_eq(cairn_readshard_writer_end(w, &diag), CAIRN_E_CONFLICT);
	ck_assert_str_eq(diag.rule, "readshard.duplicate");
	ck_assert_uint_eq(diag.offset, _i == 0 ? 512 + 99 * 9 : 512 + 9);
}
END_TEST

START_TEST(deleting_leaves_the_bytes_that_the_peer_leaves)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(five_freep) struct five *f = five_new();
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = NULL;
	CLEANUP(vec_bytes_fini) struct vec_bytes before = vec_read("archive/readshard/peer_five.shard");
	CLEANUP(vec_bytes_fini) struct vec_bytes golden = vec_read("archive/readshard/peer_deleted.shard");
	tempdir_write(&dir, "five", before.bytes, before.len);
	CLEANUP(cairn_fd_closep) int fd = open_file(&dir, "five");
	bool zeroed = false;
	ck_assert_int_eq(cairn_readshard_open(&s, fd, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_delete(s, fd, f->keys[2], &zeroed, NULL), CAIRN_OK);
	ck_assert(zeroed);
	ck_assert_int_eq(cairn_readshard_delete(s, fd, f->keys[2], &zeroed, NULL), CAIRN_E_NOT_FOUND);
	ck_missing(s, f->keys[2]);
	for (int i = 0; i < 5; i++)
		if (i != 2)
			ck_object(s, f->keys[i], f->bytes[i], f->len[i]);
	CLEANUP(vec_bytes_fini) struct vec_bytes after = bytes_of(fd);
	ck_assert_uint_eq(after.len, golden.len);
	ck_assert_mem_eq(after.bytes, golden.bytes, golden.len);
}
END_TEST

START_TEST(held_bytes_are_zeroed_later)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(five_freep) struct five *f = five_new();
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = NULL;
	CLEANUP(cairn_fd_closep) int fd = open_file(&dir, "five");
	write_five(fd, f);
	struct cairn_readshard_slot slot;
	uint8_t got[5000];
	const uint8_t zeros[5000] = {0};
	bool zeroed = true;
	ck_assert_int_eq(cairn_readshard_open(&s, fd, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_find(s, f->keys[4], &slot, NULL), CAIRN_OK);
	int reader = open_file(&dir, "five");
	cairn_readshard_hold(reader, &slot);
	ck_assert_int_eq(cairn_readshard_delete(s, fd, f->keys[4], &zeroed, NULL), CAIRN_OK);
	ck_assert(!zeroed);
	ck_missing(s, f->keys[4]);
	ck_assert_int_eq(cairn_readshard_scrub(s, fd, &zeroed, NULL), CAIRN_OK);
	ck_assert(!zeroed);
	ck_assert_int_eq(cairn_fd_read_at(reader, slot.bytes_at, got, slot.bytes), CAIRN_OK);
	ck_assert_mem_eq(got, f->bytes[4], 5000);
	(void)close(reader);
	ck_assert_int_eq(cairn_readshard_scrub(s, fd, &zeroed, NULL), CAIRN_OK);
	ck_assert(zeroed);
	ck_assert_int_eq(cairn_fd_read_at(fd, slot.bytes_at, got, slot.bytes), CAIRN_OK);
	ck_assert_mem_eq(got, zeros, 5000);
	for (int i = 0; i < 4; i++)
		ck_object(s, f->keys[i], f->bytes[i], f->len[i]);
	ck_assert_int_eq(cairn_readshard_verify(s, &(struct cairn_readshard_summary){0}, NULL), CAIRN_OK);
}
END_TEST

/* The length of a live object is damaged and too small: the end of the object looks like space left by a deletion. */
START_TEST(a_damaged_length_is_no_gap)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(five_freep) struct five *f = five_new();
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = NULL;
	CLEANUP(cairn_fd_closep) int fd = open_file(&dir, "five");
	write_five(fd, f);
	struct cairn_readshard_slot slot;
	bool zeroed = false;
	ck_assert_int_eq(cairn_readshard_open(&s, fd, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_find(s, f->keys[4], &slot, NULL), CAIRN_OK);
	uint8_t shorter[CAIRN_READSHARD_SIZE_BYTES], got[5000];
	cairn_put_u64be(shorter, slot.bytes - 4096);
	ck_assert_int_eq(pwrite(fd, shorter, sizeof(shorter), (off_t)slot.at), sizeof(shorter));
	ck_assert_int_eq(cairn_readshard_scrub(s, fd, &zeroed, NULL), CAIRN_OK);
	ck_assert(zeroed);
	ck_assert_int_eq(cairn_fd_read_at(fd, slot.bytes_at, got, sizeof(got)), CAIRN_OK);
	ck_assert_mem_eq(got, f->bytes[4], sizeof(got));
}
END_TEST

/* A slot leads into another object, by a wrong offset or length. Neither a deletion nor a scrub removes the bytes of
 * that object, or the bytes to which only the right offset leads. */
START_TEST(a_wrong_slot_takes_no_other_object_along)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(five_freep) struct five *f = five_new();
	CLEANUP(cairn_readshard_freep) struct cairn_readshard *s = NULL;
	CLEANUP(cairn_fd_closep) int fd = open_file(&dir, "five");
	write_five(fd, f);
	struct cairn_readshard_slot wrong, other;
	struct cairn_diag diag = {0}, scrub_diag = {0};
	uint8_t number[8];
	bool zeroed = true;
	ck_assert_int_eq(cairn_readshard_open(&s, fd, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_find(s, f->keys[2], &wrong, NULL), CAIRN_OK);
	ck_assert_int_eq(cairn_readshard_find(s, f->keys[4], &other, NULL), CAIRN_OK);
	uint64_t at = wrong.at;
	if (_i == 0) {
		at = cairn_readshard_slot_at(s, cairn_readshard_slot_of(s, f->keys[2])) + KEY;
		cairn_put_u64be(number, other.at);
	} else {
		cairn_put_u64be(number, other.bytes_at - wrong.bytes_at + 100);
	}
	ck_assert_int_eq(cairn_fd_write_at(fd, at, number, sizeof(number)), CAIRN_OK);
	if (_i == 0) {
		/* an earlier deletion has left bytes to scrub */
		ck_assert_int_eq(cairn_readshard_delete(s, fd, f->keys[1], &zeroed, NULL), CAIRN_OK);
		ck_assert_int_eq(cairn_readshard_scrub(s, fd, &zeroed, &scrub_diag), CAIRN_E_FORMAT);
		ck_assert_str_eq(scrub_diag.rule, "readshard.overlap");
	}
	ck_assert_int_eq(cairn_readshard_delete(s, fd, f->keys[2], &zeroed, &diag), CAIRN_OK);
	ck_assert(!zeroed);
	ck_assert_str_eq(diag.rule, "readshard.overlap");
	ck_missing(s, f->keys[2]);
	ck_object(s, f->keys[4], f->bytes[4], f->len[4]);
	ck_object(s, f->keys[3], f->bytes[3], f->len[3]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("readshard");
	TCase *tc = tcase_create("reading");
	tcase_add_loop_test(tc, golden_files_hold_the_expected_objects, 0, N_GOLDEN);
	tcase_add_loop_test(tc, damaged_files_are_refused_by_rule_and_place, 0, N_BAD);
	tcase_add_test(tc, every_listed_file_is_judged);
	tcase_add_test(tc, cut_at_any_length_it_is_refused);
	tcase_add_test(tc, changed_bytes_never_lead_astray);
	tcase_add_test(tc, sections_and_counts_must_agree);
	tcase_add_test(tc, objects_must_not_overlap_nor_leave_gaps);
	tcase_add_test(tc, a_file_that_is_cut_while_it_is_open_is_an_error);
	tcase_add_test(tc, a_folder_is_refused);
	suite_add_tcase(suite, tc);
	tc = tcase_create("writing");
	tcase_add_test(tc, five_objects_give_the_golden_bytes);
	tcase_add_test(tc, no_objects_give_the_golden_bytes);
	tcase_add_test(tc, a_file_is_written_as_it_was_read);
	tcase_add_loop_test(tc, any_number_of_objects_is_found_again, 0, N_SIZES);
	tcase_add_test(tc, long_objects_are_copied_from_files);
	tcase_add_test(tc, a_short_source_ends_the_writing);
	tcase_add_loop_test(tc, equal_keys_are_refused, 0, 2);
	suite_add_tcase(suite, tc);
	tc = tcase_create("deleting");
	tcase_add_test(tc, deleting_leaves_the_bytes_that_the_peer_leaves);
	tcase_add_test(tc, held_bytes_are_zeroed_later);
	tcase_add_loop_test(tc, a_wrong_slot_takes_no_other_object_along, 0, 2);
	tcase_add_test(tc, a_damaged_length_is_no_gap);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
