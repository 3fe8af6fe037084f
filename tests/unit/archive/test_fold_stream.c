/* FOLD files through pipes: written without seeking, and read from front to back. */
#include "archive/fold/stream.h"
#include "archive/fold/writer.h"
#include "base/fd.h"
#include "support/run.h"
#include "support/tempdir.h"
#include "support/vectors.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const size_t STREAM_LENGTHS[] = {0, 1, 239, 240, 5000, 70000};
enum { STREAM_N = sizeof(STREAM_LENGTHS) / sizeof(STREAM_LENGTHS[0]) };

static void stream_payload(uint8_t *out, size_t i)
{
	uint64_t seed = i;
	for (size_t k = 0; k < STREAM_LENGTHS[i]; k++)
		out[k] = (uint8_t)vec_splitmix64(&seed);
}

static const char *stream_name(char out[static 16], size_t i)
{
	(void)snprintf(out, 16, "chunk %zu", i);
	return out;
}

/* Writes a file as if into a pipe. @param extra  bytes that are announced but never written */
static enum cairn_status stream_write(int fd, unsigned parity, uint64_t extra)
{
	static uint8_t bytes[70000];
	char name[16];
	struct cairn_fold_extent extent = {0};
	for (size_t i = 0; i < STREAM_N; i++)
		cairn_fold_extent_add(&extent, stream_name(name, i), STREAM_LENGTHS[i], parity);
	extent.bytes += extra;
	const struct cairn_fold_writer_options options = {.parity = parity, .extent = &extent};
	CLEANUP(cairn_fold_writer_freep) struct cairn_fold_writer *w = NULL;
	ck_assert_int_eq(cairn_fold_writer_new(&w, fd, &options), CAIRN_OK);
	for (size_t i = 0; i < STREAM_N; i++) {
		stream_payload(bytes, i);
		ck_assert_int_eq(cairn_fold_writer_add(w, stream_name(name, i), "DATA", bytes, STREAM_LENGTHS[i]),
				 CAIRN_OK);
	}
	return cairn_fold_writer_finish(w, "{\"kind\":\"test\"}", "1700000000");
}

/* Reads a file from the front. @param[out] n  chunks read @return the status of the end; NOT_FOUND: whole */
static enum cairn_status stream_read(int fd, size_t *n, struct cairn_diag *diag)
{
	static uint8_t bytes[70000];
	CLEANUP(cairn_fold_stream_closep) struct cairn_fold_stream *s = NULL;
	*diag = (struct cairn_diag){0};
	*n = 0;
	enum cairn_status status = cairn_fold_stream_open(&s, fd, diag);
	while (status == CAIRN_OK) {
		CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
		struct cairn_fold_chunk chunk;
		status = cairn_fold_stream_next(s, &chunk, &data, diag);
		if (status != CAIRN_OK)
			break;
		if (*n < STREAM_N && data.len == STREAM_LENGTHS[*n]) {
			stream_payload(bytes, *n);
			ck_assert(data.len == 0 || memcmp(data.bytes, bytes, data.len) == 0);
		}
		++*n;
	}
	if (status == CAIRN_E_NOT_FOUND) {
		const struct cairn_fold_index *ix = cairn_fold_stream_index(s);
		ck_assert_uint_eq(ix->n_chunks, *n);
		if (!ix->has_manifest || !ix->has_merkle) /* the stream must also accept files without these */
			return cairn_fail(diag, CAIRN_E_MISMATCH, "test.unproved", 0, "nothing vouches for the index");
		ck_assert_uint_eq(cairn_fold_stream_total(s), ix->at);
	}
	return status;
}

struct stream_file {
	struct tempdir dir;
	char *path;
	int fd;
	uint8_t *bytes;
	size_t len;
};

static struct stream_file stream_file_new(unsigned parity)
{
	struct stream_file f = {.dir = tempdir_new()};
	f.path = tempdir_path(&f.dir, "f");
	f.fd = open(f.path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	ck_assert_int_eq(stream_write(f.fd, parity, 0), CAIRN_OK);
	f.len = (size_t)lseek(f.fd, 0, SEEK_END);
	f.bytes = malloc(f.len);
	ck_assert_int_eq(cairn_fd_read_at(f.fd, 0, f.bytes, f.len), CAIRN_OK);
	return f;
}

static void stream_file_fini(struct stream_file *f)
{
	free(f->bytes);
	free(f->path);
	cairn_fd_closep(&f->fd);
	tempdir_fini(&f->dir);
}

/* Replaces the file's bytes and reads them from the front. */
static enum cairn_status stream_read_bytes(struct stream_file *f, const uint8_t *bytes, size_t len, size_t *n,
					   struct cairn_diag *diag)
{
	ck_assert_int_eq(ftruncate(f->fd, 0), 0);
	ck_assert_int_eq(lseek(f->fd, 0, SEEK_SET), 0);
	ck_assert_int_eq(cairn_fd_write_all(f->fd, bytes, len), CAIRN_OK);
	ck_assert_int_eq(lseek(f->fd, 0, SEEK_SET), 0);
	return stream_read(f->fd, n, diag);
}

START_TEST(stream_is_a_file_of_ours)
{
	static const unsigned parities[] = {0, 2, 16, 64, 128};
	for (size_t p = 0; p < sizeof(parities) / sizeof(parities[0]); p++) {
		CLEANUP(stream_file_fini) struct stream_file f = stream_file_new(parities[p]);
		const struct cairn_fold_source source = {.fd = -1, .bytes = f.bytes, .len = f.len};
		CLEANUP(cairn_fold_closep) struct cairn_fold *fold = NULL;
		struct cairn_diag diag = {0};
		size_t n = 0;
		ck_assert_msg(cairn_fold_open(&fold, &source, &diag) == CAIRN_OK, "%s", diag.text);
		const struct cairn_fold_index *ix = cairn_fold_index_of(fold);
		ck_assert(ix->has_manifest && ix->has_merkle && ix->at + ix->text.len == f.len);
		for (size_t i = 0; i < ix->n_chunks; i++) {
			CLEANUP(cairn_fold_data_fini) struct cairn_fold_data data = {0};
			ck_assert_int_eq(cairn_fold_read(fold, &ix->chunks[i], NULL, &data, &diag), CAIRN_OK);
		}
		ck_assert_msg(stream_read_bytes(&f, f.bytes, f.len, &n, &diag) == CAIRN_E_NOT_FOUND, "%s", diag.text);
		ck_assert_uint_eq(n, STREAM_N);
	}
}
END_TEST

START_TEST(stream_refuses_every_truncation)
{
	CLEANUP(stream_file_fini) struct stream_file f = stream_file_new(16);
	struct cairn_diag diag;
	size_t n = 0;
	for (size_t len = 0; len < f.len; len += len < 6000 ? 1 : 997) {
		ck_assert_int_eq(stream_read_bytes(&f, f.bytes, len, &n, &diag), CAIRN_E_FORMAT);
		ck_assert_str_eq(diag.rule, "fold.truncated");
	}
	(void)stream_read_bytes(&f, f.bytes, f.len - 1, &n, &diag);
	ck_assert_uint_eq(n, STREAM_N);
}
END_TEST

/* A flip within parity may go unnoticed, because this reader does not read parity. */
START_TEST(stream_notices_flipped_bits)
{
	CLEANUP(stream_file_fini) struct stream_file f = stream_file_new(0);
	CLEANUP(stream_file_fini) struct stream_file g = stream_file_new(16);
	struct cairn_diag diag;
	size_t n = 0, blanks = f.len;
	while (f.bytes[blanks - 1] == ' ')
		blanks--;
	const uint8_t *created = memmem(f.bytes, f.len, "1700000000", 10);
	ck_assert_ptr_nonnull(created);
	for (size_t at = 0; at < blanks; at += at < 6000 || at > 76000 ? 1 : 499) {
		/* Two flips may pass: in the header's length of the index, as the index may end with any number of
		 * blanks; and in created_at_unix, which no hash covers. */
		bool is_free = (at >= 20 && at < 28) || (f.bytes + at >= created && f.bytes + at < created + 10);
		f.bytes[at] ^= 1;
		bool passed = stream_read_bytes(&f, f.bytes, f.len, &n, &diag) == CAIRN_E_NOT_FOUND;
		ck_assert_msg(is_free || (!passed && diag.rule && diag.text[0]), "byte %zu: %.60s", at,
			      (const char *)f.bytes + at - 30);
		f.bytes[at] ^= 1;
	}
	g.bytes[200] ^= 1;
	ck_assert_int_eq(stream_read_bytes(&g, g.bytes, g.len, &n, &diag), CAIRN_E_MISMATCH);
	ck_assert_str_eq(diag.rule, "fold.crc32c");
	ck_assert(strstr(diag.text, "parity"));
}
END_TEST

/* The writer must get exactly as many bytes as were announced. */
START_TEST(stream_writer_keeps_its_word)
{
	CLEANUP(tempdir_fini) struct tempdir dir = tempdir_new();
	CLEANUP(tempdir_textp) char *path = tempdir_path(&dir, "f");
	CLEANUP(cairn_fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct cairn_fold_extent extent = {.index_bytes = CAIRN_FOLD_INDEX_BYTES_MAX + 1};
	const struct cairn_fold_writer_options options = {.extent = &extent};
	CLEANUP(cairn_fold_writer_freep) struct cairn_fold_writer *w = NULL;
	ck_assert_int_eq(stream_write(fd, 0, 1), CAIRN_E_MISMATCH);
	ck_assert_int_eq(cairn_fold_writer_new(&w, fd, &options), CAIRN_E_LIMIT);
	ck_assert_ptr_null(w);
}
END_TEST

/* Refused are bytes between chunks and index, and chunks in another order than in the index. */
START_TEST(stream_refuses_other_layouts)
{
	CLEANUP(stream_file_fini) struct stream_file f = stream_file_new(0);
	struct cairn_diag diag;
	size_t n = 0;
	f.bytes[19]++; /* changes index_off */
	ck_assert_int_eq(stream_read_bytes(&f, f.bytes, f.len, &n, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "fold.stream");
	f.bytes[19] -= 2;
	ck_assert_int_eq(stream_read_bytes(&f, f.bytes, f.len, &n, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "fold.stream");
	f.bytes[19]++;
	f.bytes[28 + 31] = 1; /* ecc_len of the first chunk, which has no bytes */
	ck_assert_int_eq(stream_read_bytes(&f, f.bytes, f.len, &n, &diag), CAIRN_E_FORMAT);
	ck_assert_str_eq(diag.rule, "fold.stream");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fold_stream");
	TCase *tcase = tcase_create("fold_stream");
	tcase_add_test(tcase, stream_is_a_file_of_ours);
	tcase_add_test(tcase, stream_refuses_every_truncation);
	tcase_add_test(tcase, stream_notices_flipped_bits);
	tcase_add_test(tcase, stream_writer_keeps_its_word);
	tcase_add_test(tcase, stream_refuses_other_layouts);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
